//! Entities with sparse components that are spawned in one operation.

use super::{Burning, Health, Marked, Position};
use phalanx::group::Observed;
use phalanx::{Component, Entity, World};
use phalanx_testkit::{Liar, Lie, Rng, catch, fail_nth, measure};

type Row = (Position, (Burning, Health), Marked);

fn row(n: u32) -> Row {
    (Position(n), (Burning(n.into()), Health(n as u16)), Marked)
}

/// Returns a world with free slots in random order, and entities whose slots are far above those that come next.
fn holed(seed: u64) -> World {
    let mut world = World::new();
    let mut all: Vec<Entity> = (0..200).map(|n| world.spawn(row(n))).collect();
    Rng::new(seed).shuffle(&mut all);
    all[..60].iter().for_each(|e| world.despawn(*e).unwrap());
    all[60..90].iter().for_each(|e| assert!(world.remove::<Burning>(*e).unwrap()));
    world
}

/// Returns all that is seen of the entities: in which order each pool has them, and what they have.
fn seen(world: &mut World) -> String {
    let burning: Vec<_> = world.query_mut::<(Entity, &Burning)>().into_iter().map(|(e, b)| (e, b.0)).collect();
    let marked: Vec<_> = world.query_mut::<(Entity, &Marked)>().into_iter().map(|(e, _)| e).collect();
    let linear: Vec<_> = world.query_mut::<(Entity, &Health)>().into_iter().map(|(e, h)| (e, h.0)).collect();
    let rows: Vec<_> = world.query_mut::<(Entity, &Position)>().into_iter().map(|(e, p)| (e, p.0)).collect();
    format!("{burning:?} {marked:?} {linear:?} {rows:?}")
}

#[test]
fn entities_spawned_together_are_those_spawned_one_by_one() {
    for (seed, count) in [0, 1, 15, 17, 60, 100, 3000].into_iter().enumerate() {
        let mut single = holed(seed as u64);
        let one_by_one: Vec<Entity> = (0..count).map(|n| single.spawn(row(n))).collect();
        let expected = seen(&mut single);
        let mut columns = holed(seed as u64);
        let values = (
            (0..count).map(Position).collect::<Vec<_>>(),
            ((0..count).map(|n| Burning(n.into())).collect(), (0..count).map(|n| Health(n as u16)).collect()),
            vec![Marked; count as usize],
        );
        let made = columns.spawn_columns::<(_, (Vec<Burning>, Vec<Health>), _)>(values).unwrap().to_vec();
        columns.validate().unwrap();
        assert_eq!((made, seen(&mut columns)), (one_by_one.clone(), expected.clone()), "{count} in columns");
        for lie in Lie::ALL {
            let mut batch = holed(seed as u64);
            let made = batch.spawn_batch(Liar::new((0..count).map(row).collect::<Vec<_>>(), lie));
            batch.validate().unwrap();
            assert_eq!((made, seen(&mut batch)), (one_by_one.clone(), expected.clone()), "{count} with {lie:?}");
        }
    }
}

#[test]
fn what_an_iterator_has_yielded_before_it_panics_is_spawned() {
    for count in [0, 1, 16, 17, 300] {
        let (mut world, mut single) = (holed(3), holed(3));
        let panics = |n| if n < count { row(n) } else { panic!("no more") };
        assert!(catch(|| world.spawn_batch((0..1000).map(panics))).is_err());
        world.validate().unwrap();
        (0..count).for_each(|n| _ = single.spawn(row(n)));
        assert_eq!(seen(&mut world), seen(&mut single), "{count}");
        assert_eq!(world.spawn(row(7)), single.spawn(row(7)));
    }
}

#[derive(Clone, Component)]
#[component(layout = "pool", clone)]
struct Numbered<const N: usize>(usize);

macro_rules! with_ten {
    ($world:ident, $($ten:literal)*) => {$(
        $world.spawn((
            (Numbered::<{ $ten * 10 }>(1), Numbered::<{ $ten * 10 + 1 }>(1), Numbered::<{ $ten * 10 + 2 }>(1)),
            (Numbered::<{ $ten * 10 + 3 }>(1), Numbered::<{ $ten * 10 + 4 }>(1), Numbered::<{ $ten * 10 + 5 }>(1)),
            (Numbered::<{ $ten * 10 + 6 }>(1), Numbered::<{ $ten * 10 + 7 }>(1), Numbered::<{ $ten * 10 + 8 }>(1)),
        ));
    )*};
}

#[test]
fn entities_are_spawned_together_into_more_than_64_pools() {
    let mut world = World::new();
    with_ten!(world, 0 1 2 3 4 5 6 7 8 9);
    let made = world.spawn_batch((0..100).map(|n| (Numbered::<3>(n), Numbered::<95>(n + 1), Numbered::<97>(n + 2))));
    world.validate().unwrap();
    for (n, e) in made.iter().enumerate() {
        assert_eq!(world.get::<Numbered<95>>(*e).unwrap().0, n + 1);
        assert!(world.has::<Numbered<3>>(*e) && world.has::<Numbered<97>>(*e) && !world.has::<Numbered<33>>(*e));
    }
    made.iter().for_each(|e| world.despawn(*e).unwrap());
    world.validate().unwrap();
    assert_eq!(world.query_mut::<&Numbered<95>>().into_iter().count(), 1);
}

#[test]
fn reserved_entities_are_not_of_the_batch() {
    let mut world = World::new();
    let reserved = [world.reserve_entity(), world.reserve_entity()];
    let made = world.spawn_batch((0..3).map(Burning));
    world.validate().unwrap();
    assert_eq!(made.len(), 3);
    assert!(made.iter().all(|e| world.has::<Burning>(*e) && !reserved.contains(e)));
    let reserved = world.reserve_entity();
    assert!(!world.spawn_columns((0..3).map(Burning).collect::<Vec<_>>()).unwrap().contains(&reserved));
    world.validate().unwrap();
}

#[test]
fn a_batch_goes_on_where_capacity_for_several_is_refused() {
    // The entities and their rows have capacity, their values have none.
    let ready = || {
        let mut world = World::new();
        world.create_group::<Observed<(Burning, Health)>>().unwrap();
        world.spawn((Burning(0), Health(0)));
        let empty: Vec<Entity> = (0..100).map(|_| world.spawn_empty()).collect();
        empty.iter().for_each(|e| world.despawn(*e).unwrap());
        world
    };
    let batch = |world: &mut World, hint| {
        world.spawn_batch(Liar::new(Vec::from_iter((0..10).map(|n| (Burning(n), Health(n as u16)))), hint))
    };
    let mut world = ready();
    let (made, usage) = measure(|| batch(&mut world, Lie::Unknown));
    assert!(usage.allocations > 8, "{usage:?}");
    // The first allocation is that of the bundles, the last that of the list of entities.
    for (hint, n) in (2..usage.allocations).flat_map(|n| [(Lie::Unknown, n), (Lie::TooMany, n)]) {
        let mut world = ready();
        let (again, fired) = fail_nth(n, || batch(&mut world, hint));
        world.validate().unwrap();
        assert!(fired && again == made, "allocation {n} with {hint:?}");
    }
}
