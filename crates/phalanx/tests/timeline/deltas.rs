//! Deltas: from one state to the next, in another world.

use crate::kit::{Burning, Mass, Position, Tag};
use phalanx::group::{Observed, Owned};
use phalanx::timeline::{DeltaError, delta};
use phalanx::{Component, Entity, Removal, World};
use phalanx_testkit::{AllocationSweep, Rng};

fn fresh() -> World {
    let mut world = World::new();
    world.register_component::<Position>();
    world.register_component::<Tag>();
    world.register_component::<Burning>();
    world.register_component::<Mass>();
    world
}

/// One operation with plain components, made up.
fn act(world: &mut World, rng: &mut Rng) {
    let (n, len) = (rng.below(1 << 16) as u32, world.len());
    let Some(e) = world.iter().nth(rng.below(len.max(1))) else {
        world.spawn_batch((0..300).map(|n| (Position([n; 3]), Burning(n))));
        return;
    };
    match rng.below(12) {
        0 => drop(world.spawn((Position([n; 3]), Mass(n as u16)))),
        1 => drop(world.spawn((Tag, Burning(n)))),
        2 => world.despawn(e).unwrap(),
        3 => world.insert(e, (Burning(n), Mass(1))).unwrap(),
        4 => world.insert(e, Tag).unwrap(),
        5 => drop(world.remove::<Burning>(e)),
        6 => drop(world.remove::<(Mass, Tag)>(e)),
        7 => world.get_mut::<Position>(e).into_iter().for_each(|p| p.0[0] = n),
        8 => world.query_mut::<&mut Mass>().for_each(|m| m.0 += 1),
        9 => drop(world.pool_mut::<Burning>().set_removal(if n % 2 == 0 { Removal::Deferred } else { Removal::Swap })),
        10 => drop(world.compact(if n % 8 == 0 { usize::MAX } else { 0 })),
        _ => drop(world.spawn_batch((0..n % 50).map(|n| Position([n; 3])))),
    }
}

type Seen = (Vec<(Entity, Option<Position>, bool, Option<Mass>)>, Vec<(Entity, Burning)>);

fn seen(world: &World) -> Seen {
    let rows = world.query::<(Entity, Option<&Position>, Option<&Tag>, Option<&Mass>)>();
    let rows = rows.iter().map(|(e, p, t, m)| (e, p.copied(), t.is_some(), m.copied())).collect();
    (rows, world.pool::<Burning>().iter().map(|(e, b)| (e, *b)).collect())
}

#[test]
fn a_world_elsewhere_follows_by_deltas() {
    for seed in 0..30 {
        let (mut here, mut there, mut rng) = (fresh(), fresh(), Rng::new(seed));
        let mut last = here.checkpoint().unwrap();
        for _ in 0..40 {
            (0..rng.below(6)).for_each(|_| act(&mut here, &mut rng));
            let now = here.checkpoint().unwrap();
            there.apply_delta(&delta(&last, &now).unwrap()).unwrap();
            there.validate().unwrap();
            assert_eq!(seen(&there), seen(&here), "seed {seed}");
            last = now;
        }
        // And has the same future.
        assert_eq!(here.spawn(Tag), there.spawn(Tag));
    }
}

#[test]
fn one_row_of_a_hundred_takes_three_bytes_of_a_hundred_at_most() {
    let mut world = fresh();
    let all = world.spawn_batch((0..100_000).map(|n| (Position([n; 3]), Burning(n)))).to_vec();
    let (before, size) = (world.checkpoint().unwrap(), world.memory().total());
    for e in &all[40_000..41_000] {
        world.get_mut::<Position>(*e).unwrap().0[1] = 7;
        world.get_mut::<Burning>(*e).unwrap().0 = 7;
    }
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    assert!(bytes.len() * 100 <= size * 3, "{} bytes for a world of {size}", bytes.len());
}

#[test]
fn damaged_bytes_are_errors_and_the_world_is_as_it_was() {
    let mut world = fresh();
    let mut rng = Rng::new(1);
    (0..40).for_each(|_| act(&mut world, &mut rng));
    let before = world.checkpoint().unwrap();
    (0..10).for_each(|_| act(&mut world, &mut rng));
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    world.rollback(&before).unwrap();
    let then = seen(&world);
    for len in (0..bytes.len()).step_by(1 + bytes.len() / 400) {
        assert!(world.apply_delta(&bytes[..len]).is_err());
    }
    for _ in 0..600 {
        let mut damaged = bytes.clone();
        let at = rng.below(damaged.len());
        damaged[at] ^= 1 << rng.below(8);
        assert!(world.apply_delta(&damaged).is_err(), "byte {at}");
        assert_eq!(seen(&world), then);
    }
    let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    assert!(matches!(world.apply_delta(&longer), Err(DeltaError::Damaged { .. })));
    world.spawn(Tag);
    assert_eq!(world.apply_delta(&bytes), Err(DeltaError::OtherBase));
    world.rollback(&before).unwrap();
    world.apply_delta(&bytes).unwrap();
}

#[test]
fn what_has_no_deltas_is_named() {
    #[derive(Component, Clone)]
    #[component(clone)]
    struct Name(String);
    let mut world = fresh();
    let empty = world.checkpoint().unwrap();
    let e = world.spawn(Name("Ann".into()));
    assert_eq!(world.get::<Name>(e).unwrap().0, "Ann");
    let error = delta(&empty, &world.checkpoint().unwrap()).unwrap_err();
    assert!(error.to_string().ends_with("Name is not plain data"), "{error}");
    world.despawn(e).unwrap();
    world.spawn(Burning(1));
    let now = world.checkpoint().unwrap();
    assert!(delta(&now, &now).is_ok());
    assert_eq!(delta(&now, &fresh().checkpoint().unwrap()), Err(DeltaError::Foreign));
    let mut other = World::new();
    other.register_component::<Mass>();
    let bytes = delta(&empty, &now).unwrap();
    assert_eq!(other.apply_delta(&bytes), Err(DeltaError::OtherComponents));
}

#[test]
fn h60_a_delta_without_memory_is_an_error_and_changes_nothing() {
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        let points = sweep.run(
            || {
                let (mut world, mut rng) = (fresh(), Rng::new(3));
                (0..30).for_each(|_| act(&mut world, &mut rng));
                let before = world.checkpoint().unwrap();
                (0..10).for_each(|_| act(&mut world, &mut rng));
                let after = world.checkpoint().unwrap();
                world.rollback(&before).unwrap();
                let then = seen(&world);
                (world, before, after, then)
            },
            |(world, before, after, _)| world.apply_delta(&delta(before, after)?),
            |(world, _, _, then), outcome| {
                world.validate().unwrap();
                if outcome.is_err() {
                    assert_eq!(seen(world), *then);
                }
            },
        );
        assert!(points > 20, "{points} allocations failed");
    }
}

/// Back over the end of a group: it is there again, and nothing tells how it came.
#[test]
fn a_delta_back_over_a_dropped_group_leads_to_the_same_state() {
    type Both = Observed<(Burning, Mass)>;
    let mut world = fresh();
    for n in 0..20 {
        world.spawn((Burning(n), Mass(n as u16)));
    }
    // Not in the order of their components, nor of what they own.
    let masses = world.create_group::<Observed<Mass>>().unwrap();
    let first = world.create_group::<Both>().unwrap();
    first.sort_by(&mut world, |(a, _), (b, _)| b.0.cmp(&a.0));
    world.create_group::<Owned<Burning>>().unwrap();
    let mut copy = world.try_clone().unwrap();
    let (gone, stays) = (copy.create_group::<Both>().unwrap(), copy.create_group::<Owned<Burning>>().unwrap());
    let whole = world.checkpoint().unwrap();
    world.remove_group(masses);
    world.remove_group(first);
    let forth = delta(&whole, &world.checkpoint().unwrap()).unwrap();
    let back = delta(&world.checkpoint().unwrap(), &whole).unwrap();
    copy.apply_delta(&forth).unwrap();
    copy.apply_delta(&back).unwrap();
    copy.validate().unwrap();
    world.rollback(&whole).unwrap();
    #[cfg(feature = "snapshot")]
    {
        let registry = registry();
        assert_eq!(registry.checksum(&copy), registry.checksum(&world));
        assert_eq!(saved(&copy, &registry), saved(&world, &registry));
    }
    assert!(!gone.is_of(&copy) && stays.is_of(&copy));
    // The next delta leads from the same state, and the future is the same.
    for world in [&mut world, &mut copy] {
        let (first, second) = (world.create_group::<Both>().unwrap(), world.create_group::<Owned<Burning>>().unwrap());
        assert_eq!(first.entities(world).count(), 20);
        assert_eq!(world.get::<Burning>(first.entities(world).next().unwrap()).unwrap().0, 19);
        assert_eq!(second.entities(world).count(), 20);
    }
    assert_eq!(seen(&copy), seen(&world));
    world.spawn((Burning(7), Mass(7)));
    let next = delta(&whole, &world.checkpoint().unwrap()).unwrap();
    copy.apply_delta(&next).unwrap();
    copy.validate().unwrap();
    assert_eq!(seen(&copy), seen(&world));
    copy.apply_delta(&delta(&world.checkpoint().unwrap(), &whole).unwrap()).unwrap();
    copy.apply_delta(&forth).unwrap();
}

#[cfg(feature = "snapshot")]
fn registry() -> phalanx::snapshot::Registry {
    let mut registry = phalanx::snapshot::Registry::new();
    registry.serde::<Position>("position").unwrap();
    registry.serde::<Burning>("burning").unwrap();
    registry.serde::<Mass>("mass").unwrap();
    registry
}

#[cfg(feature = "snapshot")]
fn saved(world: &World, registry: &phalanx::snapshot::Registry) -> Vec<u8> {
    let mut bytes = Vec::new();
    registry.save(world, &mut bytes).unwrap();
    bytes
}

/// Holes say nothing of the values that were there.
#[cfg(feature = "snapshot")]
#[test]
fn a_copy_from_a_snapshot_follows_through_holes() {
    let registry = registry();
    for seed in 0..20 {
        let (mut here, mut rng) = (World::new(), Rng::new(seed));
        here.pool_mut::<Burning>().set_removal(Removal::Deferred).unwrap();
        let all = here.spawn_batch((0..40).map(|n| (Position([n; 3]), Burning(n + 1), Mass(n as u16)))).to_vec();
        for e in &all {
            match rng.below(5) {
                0 => drop(here.remove::<Burning>(*e).unwrap()),
                1 => here.despawn(*e).unwrap(),
                2 => drop(here.remove::<Mass>(*e).unwrap()),
                _ => {}
            }
        }
        assert!(here.pool::<Burning>().holes() > 0);
        let mut there = registry.load(&*saved(&here, &registry)).unwrap();
        assert_eq!(there.pool::<Burning>().holes(), here.pool::<Burning>().holes());
        for _ in 0..6 {
            let before = here.checkpoint().unwrap();
            for _ in 0..rng.below(6) {
                let len = here.len();
                let Some(e) = here.iter().nth(rng.below(len.max(1))) else { continue };
                match rng.below(5) {
                    0 => drop(here.remove::<Burning>(e)),
                    1 => here.insert(e, Burning(100)).unwrap(),
                    2 => here.despawn(e).unwrap(),
                    3 => here.get_mut::<Burning>(e).into_iter().for_each(|burning| burning.0 += 1),
                    _ => drop(here.pool_mut::<Burning>().compact(1)),
                }
            }
            there.apply_delta(&delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
            there.validate().unwrap();
            assert_eq!(seen(&there), seen(&here), "seed {seed}");
            assert!(saved(&there, &registry) == saved(&here, &registry), "seed {seed}");
        }
    }
}

#[test]
fn a_replica_follows_the_steps_of_a_timeline() {
    use crate::plain;
    use phalanx::timeline::Timeline;
    for seed in 0..8 {
        let (mut here, mut there, mut rng) = (plain::world(), plain::world(), phalanx_testkit::Rng::new(seed));
        let nothing = [here.checkpoint().unwrap(), there.checkpoint().unwrap()];
        let mut timeline = Timeline::with_sums(3);
        assert_eq!(timeline.step(&here, 0), Ok(None));
        timeline.capture(&mut here).unwrap();
        let mut steps = Vec::new();
        for _ in 0..25 {
            let count = rng.below(8);
            (0..count).for_each(|_| plain::act(&mut here, |bound| rng.below(bound)));
            timeline.capture(&mut here).unwrap();
            steps.push(timeline.step(&here, 0).unwrap().unwrap());
            if let [.., before, _] = &mut steps[..] {
                // The step before can still be made, from two frames that are both earlier than the last.
                let again = timeline.step(&here, 1).unwrap().unwrap();
                *before = again;
            }
        }
        for step in &steps {
            there.apply_delta(step).unwrap();
            there.validate().unwrap();
        }
        assert!(plain::whole(&there, &nothing[1]) == plain::whole(&here, &nothing[0]), "seed {seed}");
        let mut other = Timeline::with_sums(0);
        other.capture(&mut there).unwrap();
        assert_eq!(other.sums(0), timeline.sums(0), "seed {seed}");
    }
}
