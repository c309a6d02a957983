//! Plain worlds of every layout, with groups, extra rows, marks and reservations: to the byte.

use crate::plain::{Aim, Dead, Fire, Health, Heat, Known, Load, Place, Rank, Speed, Told, Wound};
use crate::plain::{act, everything, whole, world};
use phalanx::group::{Observed, Owned};
use phalanx::timeline::{FrameSums, Timeline, delta};
use phalanx::{Added, Changed, Entity, Key, QueryState, Role, Without, World};
use phalanx_testkit::{AllocationSweep, Rng};

fn rush(world: &mut World, rng: &mut Rng, count: usize) {
    (0..count).for_each(|_| act(world, |bound| rng.below(bound)));
}

#[test]
fn every_frame_comes_back_to_the_byte() {
    for seed in 0..16 {
        let (mut world, mut timeline, mut rng) = (world(), Timeline::with_sums(12), Rng::new(seed));
        let nothing = world.checkpoint().unwrap();
        let mut frames: Vec<Vec<u8>> = Vec::new();
        let mut sums: Vec<FrameSums> = Vec::new();
        for _ in 0..50 {
            if rng.chance(1, 6) && !frames.is_empty() {
                let back = rng.below(timeline.len() + 1);
                timeline.rewind(&mut world, back).unwrap();
                world.validate().unwrap();
                timeline.validate(&world).unwrap();
                frames.truncate(frames.len() - back);
                sums.truncate(frames.len());
                assert!(everything(&world, &nothing) == *frames.last().unwrap(), "seed {seed}, {back} back");
                assert_eq!(timeline.sums(0), sums.last());
                assert_eq!(timeline.frame(), Some(frames.len() as u64 - 1));
            }
            let count = [0, 1, 3, 12][rng.below(4)];
            rush(&mut world, &mut rng, count);
            world.validate().unwrap();
            timeline.capture(&mut world).unwrap();
            timeline.validate(&world).unwrap();
            frames.push(everything(&world, &nothing));
            sums.push(timeline.sums(0).unwrap().clone());
            // The sums are a function of the state, whatever the way to it was.
            let mut other = Timeline::with_sums(0);
            other.capture(&mut world.try_clone().unwrap()).unwrap();
            assert_eq!(other.sums(0), sums.last(), "seed {seed}");
            if !rng.chance(1, 4) {
                continue;
            }
            // Each frame can be looked at, and pinned. A whole restore gives the same state as one in place.
            let back = rng.below(timeline.len() + 1);
            let at = frames.len() - 1 - back;
            let pinned = timeline.pin(&world, back).unwrap();
            let mut then = timeline.at(&world, back).unwrap();
            then.validate().unwrap();
            let mut other = Timeline::with_sums(0);
            other.capture(&mut then).unwrap();
            assert_eq!(other.sums(0), Some(&sums[at]), "seed {seed}, {back} back");
            assert!(frames[at].starts_with(&delta(&nothing, &pinned).unwrap()), "seed {seed}, {back} back");
            assert_eq!(timeline.sums(back), Some(&sums[at]));
            if rng.chance(1, 3) {
                world.rollback(&pinned).unwrap();
                world.validate().unwrap();
                assert!(everything(&world, &nothing) == frames[at], "seed {seed}, {back} back");
                timeline.rewind(&mut world, 0).unwrap();
                assert!(everything(&world, &nothing) == *frames.last().unwrap(), "seed {seed}");
            }
        }
    }
}

#[test]
fn a_world_elsewhere_follows_by_deltas_to_the_byte() {
    for seed in 0..16 {
        let (mut here, mut there, mut rng) = (world(), world(), Rng::new(seed));
        let (nothing_here, nothing_there) = (here.checkpoint().unwrap(), there.checkpoint().unwrap());
        let mut last = here.checkpoint().unwrap();
        for _ in 0..30 {
            let count = rng.below(8);
            rush(&mut here, &mut rng, count);
            let now = here.checkpoint().unwrap();
            there.apply_delta(&delta(&last, &now).unwrap()).unwrap();
            there.validate().unwrap();
            assert!(whole(&there, &nothing_there) == whole(&here, &nothing_here), "seed {seed}");
            last = now;
        }
        // And has the same future.
        rush(&mut here, &mut rng.clone(), 30);
        rush(&mut there, &mut rng, 30);
        assert!(whole(&there, &nothing_there) == whole(&here, &nothing_here), "seed {seed}");
    }
}

#[test]
fn every_changed_byte_of_a_delta_is_refused() {
    for seed in 0..6 {
        let (mut world, mut rng) = (world(), Rng::new(seed));
        let nothing = world.checkpoint().unwrap();
        rush(&mut world, &mut rng, 30);
        let (before, then) = (world.checkpoint().unwrap(), whole(&world, &nothing));
        rush(&mut world, &mut rng, 12);
        let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
        world.rollback(&before).unwrap();
        for _ in 0..400 {
            let (mut damaged, at) = (bytes.clone(), rng.below(bytes.len()));
            damaged[at] ^= 1 << rng.below(8);
            assert!(world.apply_delta(&damaged).is_err(), "seed {seed}, byte {at}");
        }
        assert!(whole(&world, &nothing) == then);
        world.apply_delta(&bytes).unwrap();
    }
}

#[test]
fn groups_that_were_there_are_the_same_after_a_delta_and_new_ones_are_found() {
    type Burning = (Owned<Fire>, Without<Dead>);
    type Loaded = Observed<(Load, Fire)>;
    let (mut here, mut there) = (world(), world());
    let both = [&mut here, &mut there].map(|world| world.create_group::<Burning>().unwrap());
    let before = here.checkpoint().unwrap();
    let all: Vec<Entity> = (0..20).map(|n| here.spawn((Fire(n), Load(n as u16), Place([n; 3])))).collect();
    here.insert(all[3], Dead).unwrap();
    let loaded = here.create_group::<Loaded>().unwrap();
    loaded.sort_by(&mut here, |(a, _), (b, _)| b.0.cmp(&a.0));
    there.apply_delta(&delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
    assert!(both[1].is_of(&there));
    let slices: Vec<Fire> = both[1].slices_mut(&mut there).to_vec();
    assert_eq!(slices, both[0].slices_mut(&mut here).to_vec());
    assert_eq!(slices.len(), 19);
    let found = there.create_group::<Loaded>().unwrap();
    assert_eq!(found.entities(&there).collect::<Vec<_>>(), loaded.entities(&here).collect::<Vec<_>>());
    assert_eq!(found.entities(&there).next(), Some(all[19]));
    // One that was dropped and made again is another.
    let before = here.checkpoint().unwrap();
    here.remove_group(both[0]);
    here.create_group::<Burning>().unwrap();
    there.apply_delta(&delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
    assert!(!both[1].is_of(&there) && there.create_group::<Burning>().unwrap().is_of(&there));
    there.validate().unwrap();
}

#[test]
fn extra_rows_and_reservations_arrive() {
    let (mut here, mut there) = (world(), world());
    let before = here.checkpoint().unwrap();
    let e = here.spawn(Place([1; 3]));
    let keys: Vec<Key> = (1..5).map(|role| Key::main(e).with_role(Role(role))).collect();
    for (n, key) in (0..).zip(&keys) {
        here.add_row(*key, (Fire(n), Load(7), Health(n))).unwrap();
    }
    here.remove_row(keys[1]).unwrap();
    let reserved = here.reserve_entity();
    there.apply_delta(&delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
    assert_eq!(there.rows(e).unwrap().map(|(key, _)| key.role.0).collect::<Vec<_>>(), [0, 1, 3, 4]);
    assert_eq!(there.row(keys[3]).unwrap().get::<Fire>().unwrap(), &Fire(3));
    assert!(!there.contains(reserved));
    there.spawn_empty();
    assert!(there.contains(reserved));
    there.despawn(e).unwrap();
    assert_eq!(there.row_count(), 2);
    there.validate().unwrap();
}

/// A delta is an operation as any other: what it adds or changes is new, and nothing else is.
#[test]
fn what_a_delta_brought_is_new_and_nothing_else() {
    let mut here = world();
    let e = here.spawn((Health(1), Wound(1), Heat(1), Speed(1)));
    let moved = here.spawn((Health(2), Wound(2), Heat(2)));
    let gone = here.spawn((Health(3), Wound(3), Heat(3), Speed(3)));
    let mut there = here.try_clone().unwrap();
    // Who looked there, and how often, makes no difference; nor do other ids.
    let mut changed = QueryState::<Entity, Changed<Health>>::new();
    let mut added = QueryState::<Entity, Added<Heat>>::new();
    assert_eq!((changed.iter(&there).count(), added.iter(&there).count()), (3, 3));
    there.query_mut::<&mut Wound>().for_each(drop);
    there.clear_trackers();
    let before = here.checkpoint().unwrap();
    here.get_mut::<Health>(e).unwrap().0 = 5;
    here.insert(moved, Place([1; 3])).unwrap();
    here.despawn(gone).unwrap();
    let new = here.spawn((Health(7), Heat(7)));
    there.apply_delta(&delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
    there.validate().unwrap();
    let seen: Vec<_> = changed.iter(&there).collect();
    assert_eq!(seen, [e, new], "{e} {moved} {gone} {new}");
    assert!(added.iter(&there).eq([new]));
    assert_eq!((changed.iter(&there).count(), added.iter(&there).count()), (0, 0));
    assert!(there.query_filtered::<Entity, Changed<Health>>().iter().eq([e, new]));
    assert!(there.query_filtered::<Entity, Changed<Wound>>().is_empty());
    // A row went from the column of the speeds.
    assert!(there.query_filtered::<Entity, Changed<Speed>>().iter().eq([e]));
}

type Way = Box<dyn Fn(&mut World)>;

#[test]
fn every_way_to_write_what_is_tracked_is_noticed() {
    let mut world = world();
    let nothing = world.checkpoint().unwrap();
    let all: Vec<Entity> =
        (0..300).map(|n| world.spawn((Health(n), Heat(1), Wound(n), Speed(2), Aim(3), Rank(4), Told, Known))).collect();
    let (e, other) = (all[200], all[3]);
    world.clear_trackers();
    let ways: Vec<Way> = vec![
        Box::new(move |w| w.get_mut::<Health>(e).unwrap().0 ^= 1),
        Box::new(move |w| w.get_mut::<Heat>(e).unwrap().set_changed()),
        Box::new(move |w| w.get_mut::<Wound>(e).unwrap().bypass_change_detection().0 ^= 1),
        Box::new(move |w| w.get_mut::<Told>(e).unwrap().set_changed()),
        Box::new(move |w| w.get_mut::<Speed>(e).unwrap().0 ^= 1),
        Box::new(move |w| _ = w.get_mut::<Aim>(e).unwrap()),
        Box::new(move |w| _ = w.get_mut::<Known>(e).unwrap()),
        Box::new(move |w| w.entity_mut(e).unwrap().get_mut::<Health>().unwrap().set_changed()),
        Box::new(move |w| w.component_mut::<Wound>().get_mut(e).unwrap().set_changed()),
        Box::new(move |w| w.component_mut::<Heat>().get_many_mut([e]).unwrap()[0].0 ^= 1),
        Box::new(move |w| w.query_mut::<(&mut Health, &mut Rank)>().get_mut(e).unwrap().0.0 ^= 1),
        Box::new(move |w| w.query_mut::<&mut Told>().get_mut(e).unwrap().set_changed()),
        Box::new(move |w| w.queries_mut::<(&mut Heat, &mut Aim)>().1.for_each(|a| a.0 ^= 1)),
        Box::new(move |w| w.query_mut::<&mut Health>().reborrow().get_mut(e).unwrap().0 ^= 1),
        Box::new(move |w| w.query_mut::<&mut Health>().chunks().for_each(|mut h| h.all()[0].0 ^= 1)),
        Box::new(move |w| w.query_mut::<&mut Told>().for_each(|mut t| t.set_changed())),
        Box::new(move |w| QueryState::<&mut Speed>::new().iter_mut(w).for_each(|s| s.0 += 1)),
        Box::new(move |w| w.insert(e, (Health(9), Heat(9), Wound(9), Speed(9), Aim(9), Rank(9), Told, Known)).unwrap()),
        Box::new(move |w| _ = w.replace(e, Health(10)).unwrap()),
        Box::new(move |w| _ = w.replace(e, Wound(10)).unwrap()),
        Box::new(move |w| w.patch::<Heat, _>(e, |mut h| h.0 += 11).unwrap()),
        Box::new(move |w| w.component_mut::<Health>().get_mut(e).unwrap().0 += 3),
        Box::new(move |w| _ = w.component_mut::<Wound>().insert(e, Wound(12)).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Heat>().remove(e).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Heat>().insert(e, Heat(13)).unwrap()),
        Box::new(move |w| {
            let group = w.create_group::<(Owned<Heat>, Observed<Wound>)>().unwrap();
            group.for_each(w, |(mut heat, mut wound)| (heat.0, wound.0) = (heat.0 + 1, wound.0 + 1));
        }),
        Box::new(move |w| w.despawn(other).unwrap()),
        Box::new(move |w| _ = w.component_mut::<Wound>().clear()),
        Box::new(move |w| _ = w.component_mut::<Aim>().clear()),
        Box::new(move |w| w.clear_trackers()),
    ];
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    for (at, way) in ways.iter().enumerate() {
        let before = everything(&world, &nothing);
        way(&mut world);
        let after = everything(&world, &nothing);
        assert!(before != after, "way {at}");
        timeline.capture(&mut world).unwrap();
        timeline.rewind(&mut world, 1).unwrap();
        assert!(everything(&world, &nothing) == before, "way {at}");
        way(&mut world);
        timeline.capture(&mut world).unwrap();
        timeline.validate(&world).unwrap();
        timeline.rewind(&mut world, 0).unwrap();
        assert!(everything(&world, &nothing) == after, "way {at}");
        // What is marked now is marked with another tick than what is written next.
        world.clear_trackers();
        timeline.capture(&mut world).unwrap();
    }
}

#[test]
fn the_order_of_groups_is_noticed() {
    let mut world = world();
    let nothing = world.checkpoint().unwrap();
    for n in 0..300 {
        world.spawn((Fire(n * 7919 % 300), Heat((n * 31 % 300) as u16), Load(n as u16), Wound(n * 17 % 300)));
    }
    let burning = world.create_group::<Owned<(Fire, Heat)>>().unwrap();
    let loaded = world.create_group::<Observed<(Load, Wound)>>().unwrap();
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    let ways: [Way; 2] = [
        Box::new(move |w| loaded.sort_by(w, |(_, a), (_, b)| a.0.cmp(&b.0))),
        Box::new(move |w| burning.sort_by(w, |(a, _), (b, _)| a.0.cmp(&b.0))),
    ];
    for (at, way) in ways.iter().enumerate() {
        let before = whole(&world, &nothing);
        way(&mut world);
        let after = whole(&world, &nothing);
        assert!(before != after, "way {at}");
        timeline.capture(&mut world).unwrap();
        timeline.validate(&world).unwrap();
        timeline.rewind(&mut world, 0).unwrap();
        assert!(whole(&world, &nothing) == after, "way {at}");
        timeline.rewind(&mut world, 1).unwrap();
        assert!(whole(&world, &nothing) == before, "way {at}");
        way(&mut world);
        timeline.capture(&mut world).unwrap();
        world.validate().unwrap();
    }
}

#[test]
fn h60_a_delta_of_groups_and_rows_without_memory_changes_nothing() {
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        let points = sweep.run(
            || {
                let (mut world, mut rng) = (world(), Rng::new(5));
                let nothing = world.checkpoint().unwrap();
                rush(&mut world, &mut rng, 60);
                let before = world.checkpoint().unwrap();
                rush(&mut world, &mut rng, 20);
                let after = world.checkpoint().unwrap();
                world.rollback(&before).unwrap();
                let then = whole(&world, &nothing);
                (world, before, after, nothing, then)
            },
            |(world, before, after, ..)| world.apply_delta(&delta(before, after)?),
            |(world, _, _, nothing, then), outcome| {
                world.validate().unwrap();
                if outcome.is_err() {
                    assert!(whole(world, nothing) == *then);
                }
            },
        );
        assert!(points > 60, "{points} allocations failed");
    }
}
