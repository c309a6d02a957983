//! Timelines: every frame that is kept, exactly.
#![allow(unsafe_code)]

use crate::kit::{Burning, Mass, Pooled, Position, Spin, Tag, Value, run, rush, seen, world};
use phalanx::timeline::{Timeline, TimelineError};
use phalanx::{Entity, With, World};
use phalanx_testkit::{AllocationSweep, PanicSweep, Rng, Site, Tally};

#[test]
fn every_frame_that_is_kept_comes_back_and_goes_on_as_it_did() {
    for seed in 0..24 {
        let tally = Tally::new();
        let (mut world, mut timeline, mut rng) = (world(), Timeline::new(12), Rng::new(seed));
        // What each frame looked like, and how the operations after it were made up.
        let mut frames = Vec::new();
        for _ in 0..60 {
            if rng.chance(1, 8) && !frames.is_empty() {
                let back = rng.below(timeline.len() + 1);
                timeline.rewind(&mut world, back).unwrap();
                world.validate().unwrap();
                frames.truncate(frames.len() - back);
                let last: &(String, Rng) = frames.last().unwrap();
                assert_eq!(seen(&mut world), last.0, "seed {seed}, {back} back");
            }
            let count = [0, 1, 3, 20][rng.below(4)];
            run(&mut world, &mut rng, &tally, count);
            timeline.capture(&mut world).unwrap();
            timeline.validate(&world).unwrap();
            frames.push((seen(&mut world), rng.clone()));
        }
        // The same operations from a frame on give the same frames.
        let back = timeline.len();
        let now = seen(&mut world);
        timeline.rewind(&mut world, back).unwrap();
        assert_eq!(seen(&mut world), frames[frames.len() - 1 - back].0);
        let (mut copy, mut again) = (world.try_clone().unwrap(), Rng::new(seed));
        rush(&mut copy, &mut again.clone(), &tally, 30);
        rush(&mut world, &mut again, &tally, 30);
        assert_eq!(seen(&mut world), seen(&mut copy));
        drop((world, copy, timeline, now));
        tally.assert_no_leaks();
    }
}

#[test]
fn every_frame_that_is_kept_can_be_looked_at() {
    for seed in 0..24 {
        let tally = Tally::new();
        let (mut world, mut timeline, mut rng) = (world(), Timeline::new(12), Rng::new(seed));
        let mut frames: Vec<String> = Vec::new();
        for _ in 0..60 {
            if rng.chance(1, 8) && !frames.is_empty() {
                let back = rng.below(timeline.len() + 1);
                timeline.rewind(&mut world, back).unwrap();
                frames.truncate(frames.len() - back);
            }
            let count = [0, 1, 3, 20][rng.below(4)];
            run(&mut world, &mut rng, &tally, count);
            timeline.capture(&mut world).unwrap();
            frames.push(seen(&mut world));
            // What happens after the capture is not seen.
            if rng.chance(1, 4) {
                run(&mut world, &mut rng, &tally, 3);
            }
            let now = seen(&mut world);
            for back in [0, timeline.len(), rng.below(timeline.len() + 1)] {
                let mut copy = timeline.at(&world, back).unwrap();
                copy.validate().unwrap();
                assert_eq!(seen(&mut copy), frames[frames.len() - 1 - back], "seed {seed}, {back} back");
            }
            assert_eq!(seen(&mut world), now);
            let none = timeline.at(&world, timeline.len() + 1).map(drop);
            assert!(matches!(none, Err(TimelineError::NoSuchFrame { .. })));
        }
        let foreign = timeline.at(&World::new(), 0).map(drop);
        assert!(matches!(foreign, Err(TimelineError::Foreign)));
        drop((world, timeline));
        tally.assert_no_leaks();
    }
}

#[test]
fn a_look_back_that_fails_changes_nothing() {
    // It outlives all values.
    let tally = Tally::new();
    let setup = || {
        let (mut world, mut timeline, mut rng) = (world(), Timeline::new(8), Rng::new(5));
        for _ in 0..6 {
            run(&mut world, &mut rng, &tally, 5);
            timeline.capture(&mut world).unwrap();
        }
        let now = seen(&mut world);
        (world, timeline, now)
    };
    let count = phalanx_testkit::for_every_failing_allocation(
        setup,
        |(world, timeline, _)| timeline.at(world, 4).map(drop),
        |(world, timeline, now), _| {
            assert_eq!(seen(world), *now);
            timeline.validate(world).unwrap();
        },
    );
    assert!(count > 20);
    tally.assert_no_leaks();
}

type Way = Box<dyn Fn(&mut World)>;

#[test]
fn every_way_to_write_is_noticed() {
    let tally = Tally::new();
    let mut world = world();
    let all: Vec<Entity> = (0..300)
        .map(|n| {
            let spin = Spin { axis: 1, speed: f64::from(n) };
            world.spawn((
                Position([n; 3]),
                spin,
                Burning(n),
                Mass(n as u16),
                Pooled(tally.value(n)),
                Value(tally.value(n)),
            ))
        })
        .collect();
    let (e, other) = (all[200], all[3]);
    let ids = [world.component_id::<Position>().unwrap(), world.component_id::<Mass>().unwrap()];
    let ways: Vec<Way> = vec![
        Box::new(move |w| w.entity_mut(e).unwrap().get_mut::<Position>().unwrap().0[0] ^= 1),
        Box::new(move |w| w.component_mut::<Mass>().get_mut(e).unwrap().0 ^= 1),
        Box::new(move |w| w.component_mut::<Burning>().get_many_mut([e]).unwrap()[0].0 ^= 1),
        Box::new(move |w| w.query_mut::<(&mut Position, &mut Mass)>().get_mut(e).unwrap().0.0[1] ^= 1),
        Box::new(move |w| w.query_mut::<&mut Burning>().get_mut(e).unwrap().0 ^= 1),
        Box::new(move |w| w.queries_mut::<(&mut Burning, &mut Spin)>().0.for_each(|b| b.0 ^= 1)),
        Box::new(move |w| w.queries_mut::<(&mut Burning, &mut Spin)>().1.for_each(|s| *s.speed += 1.0)),
        Box::new(move |w| w.query_mut::<&mut Position>().reborrow().get_mut(e).unwrap().0[2] ^= 1),
        Box::new(move |w| w.insert(e, Position([9; 3])).unwrap()),
        Box::new(move |w| _ = w.replace(e, Position([10; 3])).unwrap()),
        Box::new(move |w| _ = w.replace(e, Mass(10)).unwrap()),
        Box::new(move |w| w.patch::<Burning, _>(e, |b| b.0 += 11).unwrap()),
        Box::new(move |w| w.component_mut::<Position>().get_mut(e).unwrap().0[0] += 3),
        Box::new(move |w| w.insert(e, (Burning(9), Mass(9))).unwrap()),
        Box::new(move |w| {
            // SAFETY: the address is that of a `Position`, and the world is borrowed.
            unsafe { w.entity_mut(e).unwrap().get_mut_by_id(ids[0]).unwrap().cast::<Position>().as_mut().0[0] ^= 4 }
        }),
        Box::new(move |w| {
            let query = phalanx::query::DynamicQuery::builder().write(ids[0]).build(w).unwrap();
            for mut table in query.tables_mut(w).unwrap() {
                table.take_mut::<Position>().unwrap().iter_mut().for_each(|p| p.0[1] ^= 2);
            }
        }),
        Box::new(move |w| w.commands_insert(e)),
        Box::new(move |w| {
            let group = w.create_group::<phalanx::group::Observed<(Burning, Mass)>>().unwrap();
            let (burning, mass) = group.get_mut(w, e).unwrap();
            (burning.0, mass.0) = (burning.0 ^ 1, mass.0 ^ 1);
        }),
        Box::new(move |w| w.pool_mut::<Burning>().swap(e, other).unwrap()),
        Box::new(move |w| w.pool_mut::<Burning>().sort_as([e, other]).unwrap()),
        Box::new(move |w| w.pool_mut::<Burning>().sort_first_by(50, |a, b| b.0.cmp(&a.0)).unwrap()),
        Box::new(move |w| {
            let removed = w.pool_mut::<Burning>().retain(|_, burning| {
                burning.0 += 1;
                true
            });
            assert_eq!(removed, Ok(0));
        }),
        Box::new(move |w| {
            assert!(w.pool_mut::<Burning>().retain(|_, burning| !burning.0.is_multiple_of(10)).unwrap() > 0)
        }),
        Box::new(move |w| _ = w.component_mut::<Burning>().insert(e, Burning(12)).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Mass>().insert(e, Mass(12)).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Burning>().remove(e).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Mass>().remove(e).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Burning>().insert(e, Burning(13)).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Mass>().insert(e, Mass(13)).unwrap()),
        Box::new(move |w| _ = w.insert_where::<With<Burning>, _>((Position([14; 3]), Mass(14)))),
        Box::new(move |w| _ = w.component_mut::<Burning>().clear()),
        Box::new(move |w| _ = w.component_mut::<Mass>().clear()),
        Box::new(move |w| {
            w.component_mut::<Mass>().clear();
            w.insert(e, (Mass(16), Burning(16))).unwrap();
        }),
        Box::new(move |w| _ = arriving().transfer_all(w).unwrap()),
        #[cfg(feature = "snapshot")]
        Box::new(merge),
        // With listeners, rows end as a whole, and values are replaced another way.
        Box::new(move |w| {
            w.on_despawn(|_, _, _| {});
            w.despawn(other).unwrap();
        }),
        Box::new(move |w| _ = w.replace(e, Position([15; 3])).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Mass>().insert(e, Mass(15)).unwrap()),
    ];
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    for (at, way) in ways.iter().enumerate() {
        let before = seen(&mut world);
        way(&mut world);
        let after = seen(&mut world);
        assert_ne!(before, after, "way {at}");
        timeline.capture(&mut world).unwrap();
        timeline.rewind(&mut world, 1).unwrap();
        assert_eq!(seen(&mut world), before, "way {at}");
        way(&mut world);
        timeline.capture(&mut world).unwrap();
        timeline.validate(&world).unwrap();
        timeline.rewind(&mut world, 0).unwrap();
        assert_eq!(seen(&mut world), after, "way {at}");
    }
}

/// A world to be joined to another.
fn arriving() -> World {
    let mut world = World::new();
    world.spawn_batch((0..200).map(|n| (Position([n; 3]), Burning(n), Mass(n as u16))));
    world
}

#[cfg(feature = "snapshot")]
fn merge(world: &mut World) {
    let mut registry = phalanx::snapshot::Registry::new();
    registry.serde::<Position>("position").unwrap();
    registry.serde::<Burning>("burning").unwrap();
    registry.serde::<Mass>("mass").unwrap();
    let mut file = Vec::new();
    registry.save(&arriving(), &mut file).unwrap();
    registry.merge(world, &*file).unwrap();
}

trait ByCommand {
    fn commands_insert(&mut self, e: Entity);
}
impl ByCommand for World {
    fn commands_insert(&mut self, e: Entity) {
        let mut commands = phalanx::CommandBuffer::new();
        commands.insert(e, (Position([77; 3]), Burning(77)));
        commands.try_apply(self).unwrap();
    }
}

#[test]
fn two_timelines_of_one_world_do_not_lose_each_others_changes() {
    let mut world = world();
    let e = world.spawn((Position([0; 3]), Burning(0)));
    let (mut one, mut other) = (Timeline::new(9), Timeline::new(9));
    for n in 1..6 {
        one.capture(&mut world).unwrap();
        world.get_mut::<Position>(e).unwrap().0[0] = n;
        other.capture(&mut world).unwrap();
        world.get_mut::<Burning>(e).unwrap().0 = n;
    }
    other.rewind(&mut world, 2).unwrap();
    assert_eq!((world.get::<Position>(e).unwrap().0[0], world.get::<Burning>(e).unwrap().0), (3, 2));
    one.rewind(&mut world, 4).unwrap();
    assert_eq!((world.get::<Position>(e).unwrap().0[0], world.get::<Burning>(e).unwrap().0), (0, 0));
}

#[test]
fn frames_that_are_not_kept_are_an_error() {
    let (mut world, mut timeline) = (world(), Timeline::new(2));
    assert!(matches!(timeline.rewind(&mut world, 0), Err(TimelineError::NoSuchFrame { back: 0, kept: 0 })));
    for _ in 0..5 {
        timeline.capture(&mut world).unwrap();
    }
    assert_eq!(timeline.rewind(&mut world, 3), Err(TimelineError::NoSuchFrame { back: 3, kept: 2 }));
    assert_eq!(timeline.capture(&mut World::new()), Err(TimelineError::Foreign));
    timeline.detach(&mut world);
    assert!(timeline.is_empty());
    world.spawn(Tag);
    timeline.capture(&mut world).unwrap();
}

#[test]
fn h60_a_capture_or_rewind_without_memory_is_an_error_and_changes_nothing() {
    let tally = Tally::new();
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        let mut points = 0;
        for seed in 0..2 {
            points += sweep.run(
                || {
                    let (mut world, mut timeline) = (world(), Timeline::new(3));
                    for frame in 0..3 {
                        rush(&mut world, &mut Rng::new(seed * 10 + frame), &tally, 15);
                        timeline.capture(&mut world).unwrap();
                    }
                    rush(&mut world, &mut Rng::new(100 + seed), &tally, 10);
                    let now = seen(&mut world);
                    (world, timeline, now)
                },
                |(world, timeline, _)| timeline.capture(world).map(|()| true).and_then(|_| timeline.rewind(world, 2)),
                |(world, timeline, before), outcome| {
                    world.validate().unwrap();
                    if let Err(error) = outcome {
                        assert!(matches!(error, TimelineError::Alloc(_)));
                        assert_eq!(seen(world), *before);
                    }
                    // The frames go on from here.
                    let now = seen(world);
                    timeline.capture(world).unwrap();
                    rush(world, &mut Rng::new(9), &tally, 5);
                    timeline.capture(world).unwrap();
                    timeline.rewind(world, 1).unwrap();
                    world.validate().unwrap();
                    assert_eq!(seen(world), now);
                },
            );
        }
        assert!(points > 60, "{points} allocations failed");
    }
    tally.assert_no_leaks();
}

#[test]
fn clones_and_destructors_that_panic_leave_the_frames_whole() {
    for site in [Site::Clone, Site::Drop] {
        let points = PanicSweep::new(site).run(
            |tally| {
                let (mut world, mut timeline) = (world(), Timeline::new(2));
                for frame in 0..4 {
                    rush(&mut world, &mut Rng::new(frame), tally, 20);
                    timeline.capture(&mut world).unwrap();
                }
                rush(&mut world, &mut Rng::new(7), tally, 10);
                (world, timeline)
            },
            |(world, timeline), _| {
                timeline.capture(world).unwrap();
                timeline.rewind(world, 2).unwrap();
            },
            |(world, timeline), tally, _| {
                world.validate().unwrap();
                timeline.capture(world).unwrap();
                let now = seen(world);
                rush(world, &mut Rng::new(8), tally, 10);
                timeline.capture(world).unwrap();
                timeline.rewind(world, 1).unwrap();
                assert_eq!(seen(world), now);
            },
        );
        assert!(points > 5, "{points} panics");
    }
}

#[test]
fn memory_is_what_a_timeline_frees() {
    use crate::plain;
    for seed in 0..4 {
        let (mut world, mut rng) = (plain::world(), Rng::new(seed));
        let mut timeline = if seed % 2 == 0 { Timeline::new(8) } else { Timeline::with_sums(8) };
        for frame in 0..40 {
            (0..6).for_each(|_| plain::act(&mut world, |bound| rng.below(bound)));
            timeline.capture(&mut world).unwrap();
            // Each rewind adds an id of the clock to the frames that follow.
            timeline.rewind(&mut world, frame % 2).unwrap();
        }
        let memory = timeline.memory() as i64;
        let ((), usage) = phalanx_testkit::measure(|| drop(timeline));
        assert_eq!(memory, -usage.bytes_live_delta, "seed {seed}");
    }
}
