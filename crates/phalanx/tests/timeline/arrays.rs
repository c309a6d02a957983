//! The arrays of a state, by which two machines compare their worlds.

use crate::plain;
use phalanx::timeline::{ArrayKey, ArrayPart, StateArray, Timeline};
use phalanx::{Component, World};
use phalanx_testkit::Rng;

/// Compares two states as two machines do. Returns the key, chunk and row of the first difference.
fn first_difference(ours: &[StateArray<'_>], theirs: &[StateArray<'_>]) -> Option<(ArrayKey, u32)> {
    let mut keys: Vec<_> = ours.iter().chain(theirs).map(StateArray::key).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let find = |list: &'_ [StateArray<'_>]| list.iter().position(|array| array.key() == key);
        let (Some(a), Some(b)) = (find(ours), find(theirs)) else { return Some((key, 0)) };
        let (a, b) = (&ours[a], &theirs[b]);
        assert_eq!(
            a.sum() == b.sum() && a.rows() == b.rows(),
            (0..a.rows().max(b.rows())).all(|row| a.row(row) == b.row(row))
        );
        let chunks = a.chunks().max(b.chunks());
        if let Some(chunk) = (0..chunks).find(|chunk| a.chunk_sum(*chunk) != b.chunk_sum(*chunk)) {
            let rows = a.rows_of(chunk).start..a.rows_of(chunk).end.max(b.rows_of(chunk).end);
            return rows.into_iter().find(|row| a.row(*row) != b.row(*row)).map(|row| (key, row));
        }
    }
    None
}

#[test]
fn equal_states_have_equal_arrays_whatever_happened_before() {
    for seed in 0..12 {
        let (mut here, mut there, mut rng) = (plain::world(), plain::world(), Rng::new(seed));
        let mut timeline = Timeline::with_sums(1);
        timeline.capture(&mut here).unwrap();
        for _ in 0..20 {
            let count = rng.below(6);
            (0..count).for_each(|_| plain::act(&mut here, |bound| rng.below(bound)));
            timeline.capture(&mut here).unwrap();
            there.apply_delta(&timeline.step(&here, 0).unwrap().unwrap()).unwrap();
            let (ours, theirs) = (here.checkpoint().unwrap(), there.checkpoint().unwrap());
            assert_eq!(first_difference(&ours.arrays(), &theirs.arrays()), None, "seed {seed}");
        }
    }
}

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Height(u32);
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Fire(u32);
#[derive(Component, Clone, Copy)]
#[component(layout = "linear", plain)]
struct Mass(u32);
#[derive(Component, Clone)]
#[component(clone)]
struct Title(#[allow(dead_code)] String);

fn world() -> (World, Vec<phalanx::Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..500).map(|n| (Height(n), Fire(n), Mass(n)))).to_vec();
    (world, all)
}

#[test]
fn the_entity_of_a_row_is_found_in_each_storage() {
    type Flip = fn(&mut World, phalanx::Entity);
    let flips: [(&str, Flip); 3] = [
        ("Height", |world, entity| world.get_mut::<Height>(entity).unwrap().0 ^= 1),
        ("Fire", |world, entity| world.get_mut::<Fire>(entity).unwrap().0 ^= 1),
        ("Mass", |world, entity| world.get_mut::<Mass>(entity).unwrap().0 ^= 1),
    ];
    let (mut world, all) = world();
    world.despawn(all[7]).unwrap();
    let before = world.checkpoint().unwrap();
    for entity in [all[0], all[130], all[499]] {
        for (name, flip) in flips {
            flip(&mut world, entity);
            let after = world.checkpoint().unwrap();
            let after = after.arrays();
            let (key, row) = first_difference(&before.arrays(), &after).unwrap();
            let array = after.iter().find(|array| array.key() == key).unwrap();
            assert_eq!((key.part, array.entity(row)), (ArrayPart::Values, Some(entity)), "{array:?}");
            assert!(array.name().ends_with(name) && array.component().is_some(), "{array:?}");
            flip(&mut world, entity);
        }
    }
}

#[test]
fn structure_and_resources_have_arrays() {
    let (mut world, all) = world();
    world.insert_resource(5_u64);
    world.resources_mut().keep_plain::<u64>();
    let before = world.checkpoint().unwrap();
    let part = |world: &World| {
        let after = world.checkpoint().unwrap();
        first_difference(&before.arrays(), &after.arrays()).map(|(key, _)| key.part)
    };
    assert_eq!(part(&world), None);
    *world.resource_mut::<u64>().unwrap() = 6;
    assert_eq!(part(&world), Some(ArrayPart::Resource));
    world.remove_resource::<u64>().unwrap();
    assert_eq!(part(&world), Some(ArrayPart::Resource));
    world.insert_resource(5_u64);
    assert_eq!(part(&world), None);
    world.remove::<Fire>(all[3]).unwrap();
    assert_eq!(part(&world), Some(ArrayPart::Keys));
    world.insert(all[3], Fire(3)).unwrap();
    world.despawn(all[100]).unwrap();
    assert_eq!(part(&world), Some(ArrayPart::Entities));
    // Values that are not plain have no array.
    world.spawn(Title("Ann".into()));
    assert!(!world.checkpoint().unwrap().arrays().iter().any(|array| array.name().ends_with("Title")));
}

#[test]
fn rows_and_chunks_out_of_range_are_empty() {
    let (world, _) = world();
    let state = world.checkpoint().unwrap();
    for array in state.arrays() {
        assert_eq!(array.row(array.rows()), None);
        assert_eq!(array.row(u32::MAX), None);
        assert_eq!(array.entity(u32::MAX), None);
        assert!(array.rows_of(array.chunks()).is_empty() && array.rows_of(u32::MAX).is_empty());
        let _ = array.chunk_sum(u32::MAX);
    }
}
