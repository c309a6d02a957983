//! More component, bundle and query types than the caches by type have slots.

use phalanx::{Component, Entity, World};
use phalanx_testkit::measure;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Clone, Component)]
#[component(clone)]
struct Numbered<const N: usize>(usize);

/// Operations on the component of one number.
struct Case {
    spawn: fn(&mut World, usize) -> Entity,
    get: fn(&World, Entity) -> usize,
    values: fn(&mut World, &mut Vec<usize>),
}

const fn case<const N: usize>() -> Case {
    Case {
        spawn: |world, n| world.spawn(Numbered::<N>(n)),
        get: |world, entity| world.get::<Numbered<N>>(entity).unwrap().0,
        values: |world, out| out.extend(world.query_mut::<&Numbered<N>>().into_iter().map(|numbered| numbered.0)),
    }
}

macro_rules! cases {
    ($($ten:literal)*) => { [$(
        case::<{ $ten * 10 }>(), case::<{ $ten * 10 + 1 }>(), case::<{ $ten * 10 + 2 }>(), case::<{ $ten * 10 + 3 }>(),
        case::<{ $ten * 10 + 4 }>(), case::<{ $ten * 10 + 5 }>(), case::<{ $ten * 10 + 6 }>(), case::<{ $ten * 10 + 7 }>(),
        case::<{ $ten * 10 + 8 }>(), case::<{ $ten * 10 + 9 }>(),
    )*] };
}
static CASES: [Case; 200] = cases!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);

fn values(world: &mut World, case: &Case, out: &mut Vec<usize>) {
    out.clear();
    (case.values)(world, out);
}

#[test]
fn each_type_keeps_its_component_its_bundle_and_its_query() {
    let mut world = World::new();
    let mut found = Vec::with_capacity(4);
    let first: Vec<Entity> = CASES.iter().enumerate().map(|(n, case)| (case.spawn)(&mut world, n)).collect();
    let components = world.components().len();
    // Forwards and backwards, so that types that share a slot displace each other.
    let second: Vec<Entity> =
        CASES.iter().enumerate().rev().map(|(n, case)| (case.spawn)(&mut world, 1000 + n)).collect();
    assert_eq!(world.components().len(), components);
    world.validate().unwrap();
    for (n, case) in CASES.iter().enumerate() {
        values(&mut world, case, &mut found);
        assert_eq!(found, [n, 1000 + n]);
        assert_eq!((case.get)(&world, first[n]), n);
        assert_eq!((case.get)(&world, second[CASES.len() - 1 - n]), 1000 + n);
    }
    // What is known is not made again.
    let (_, used) = measure(|| {
        for (n, case) in CASES.iter().enumerate().rev().chain(CASES.iter().enumerate()) {
            values(&mut world, case, &mut found);
            assert_eq!(found, [n, 1000 + n]);
        }
    });
    assert_eq!(used.allocations, 0);
}

#[test]
fn a_clone_and_a_compacted_world_know_the_same_types() {
    let mut world = World::new();
    let all: Vec<Entity> = CASES.iter().enumerate().map(|(n, case)| (case.spawn)(&mut world, n)).collect();
    let mut copy = world.try_clone().unwrap();
    world.despawn(all[7]).unwrap();
    world.compact(usize::MAX);
    let components = copy.components().len();
    for world in [&mut world, &mut copy] {
        for (n, case) in CASES.iter().enumerate() {
            let entity = (case.spawn)(world, 1000 + n);
            assert_eq!((case.get)(world, entity), 1000 + n);
        }
        assert_eq!(world.components().len(), components);
        world.validate().unwrap();
    }
}
