//! Several queries of one world at once: which are accepted, which are refused, and on which threads they run.

use phalanx::query::{Access, Filtered, Or, QueryFilter};
use phalanx::{Changed, Component, Entity, Has, Query, QueryData, With, Without, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Debug, PartialEq, Clone, Copy)]
struct Value(u64);
#[derive(Component)]
struct Other;
#[derive(Component)]
struct InTable;
#[derive(Component)]
#[component(layout = "pool")]
struct InPool;
#[derive(Component)]
#[component(layout = "linear")]
struct InLinear(#[allow(dead_code)] u8);
#[derive(Component)]
#[component(track = "row")]
struct Tracked(u64);
#[derive(Component)]
#[component(layout = "pool")]
struct PoolValue(u64);

/// A world in which every second entity has all of the markers.
fn world() -> World {
    let mut world = World::new();
    for n in 0..200 {
        let e = world.spawn((Value(n), Tracked(n), PoolValue(n), Other));
        if n % 2 == 0 {
            world.insert(e, (InTable, InPool, InLinear(0))).unwrap();
        }
    }
    world
}

/// Checks that two queries of the same component visit different rows, and that both can hold all of their items.
fn disjoint<F: QueryFilter, G: QueryFilter>() {
    let mut world = world();
    let (mut with, mut without) =
        world.queries_mut::<(Query<(Entity, &mut Value, &mut PoolValue), F>, Query<(Entity, &mut Value, &mut PoolValue), G>)>();
    let (with, without): (Vec<_>, Vec<_>) = (with.iter_mut().collect(), without.iter_mut().collect());
    assert_eq!((with.len(), without.len()), (100, 100));
    for ((a, left, one), (b, right, two)) in with.into_iter().zip(without) {
        assert_ne!(a, b);
        std::mem::swap(left, right);
        std::mem::swap(one, two);
    }
    // Markers were on entities with even values.
    assert!(
        world.query_filtered::<(&Value, &PoolValue), With<InTable>>().iter().all(|(a, b)| a.0 % 2 == 1 && b.0 % 2 == 1)
    );
    world.validate().unwrap();
}

#[test]
fn with_and_without_make_queries_disjoint() {
    disjoint::<With<InTable>, Without<InTable>>();
    disjoint::<Without<InTable>, With<InTable>>();
    disjoint::<With<InPool>, Without<InPool>>();
    disjoint::<Without<InLinear>, With<InLinear>>();
    disjoint::<(With<Other>, With<InPool>), (Without<InPool>, With<Value>)>();
    disjoint::<((With<InLinear>, ()), With<InTable>), ((), (Without<InLinear>,))>();
}

#[test]
fn entities_of_the_other_query_are_not_found() {
    let mut world = world();
    let all: Vec<Entity> = world.iter().collect();
    let (mut with, mut without) =
        world.queries_mut::<(Query<&mut Value, With<InPool>>, Query<&mut Value, Without<InPool>>)>();
    let (even, odd) = (with.get_mut(all[0]).unwrap(), without.get_mut(all[1]).unwrap());
    std::mem::swap(even, odd);
    assert!(with.get_mut(all[1]).is_err() && without.get_mut(all[0]).is_err());
    assert!(with.contains(all[0]) && !without.contains(all[0]));
}

#[derive(QueryData)]
struct Marked<'a> {
    value: &'a mut Value,
    #[allow(dead_code)]
    marker: &'a InTable,
}

#[test]
fn a_table_component_in_the_data_makes_queries_disjoint() {
    let mut world = world();
    let (mut with, mut without) =
        world.queries_mut::<(Query<(&mut Value, &InTable)>, Query<&mut Value, Without<InTable>>)>();
    let (with, without): (Vec<_>, Vec<_>) = (with.iter_mut().collect(), without.iter_mut().collect());
    assert_eq!((with.len(), without.len()), (100, 100));
    with.into_iter().zip(without).for_each(|((a, _), b)| std::mem::swap(a, b));
    assert!(world.query_filtered::<&Value, With<InTable>>().iter().all(|value| value.0 % 2 == 1));

    let all: Vec<Entity> = world.iter().collect();
    let (mut marked, mut others) = world.queries_mut::<(Marked, Query<(Entity, &mut Value), Without<InTable>>)>();
    let (one, two) = (marked.get_mut(all[0]).unwrap(), others.get_mut(all[1]).unwrap());
    std::mem::swap(one.value, two.1);
    assert!(marked.get_mut(all[1]).is_err() && others.get_mut(all[0]).is_err());

    let pair = |a: Access, b: Access| {
        assert_eq!(a.is_disjoint(&b), b.is_disjoint(&a));
        a.is_disjoint(&b)
    };
    let without = || Access::try_of_filtered::<&mut Value, Without<InTable>>().unwrap();
    assert!(pair(Access::of::<(&mut Value, (Entity, &mut InTable))>(), without()));
    assert!(pair(Access::of::<Filtered<&mut Value, With<InTable>>>(), without()));
    assert!(pair(Access::of::<Filtered<&mut Value, Without<InTable>>>(), Access::of::<(&mut Value, &InTable)>()));
    assert!(!pair(Access::of::<(&mut Value, Option<&InTable>)>(), without()));
    assert!(!pair(Access::of::<(&mut Value, Or<(&InTable, &Other)>)>(), without()));
    assert!(!pair(Access::of::<(&mut Value, Has<InTable>)>(), without()));
    assert!(!pair(Access::of::<(&mut Value, Option<Filtered<(), With<InTable>>>)>(), without()));
    // With a component outside of tables, members are made one after another.
    assert!(!pair(Access::of::<(&mut Value, &InTable, &PoolValue)>(), without()));
    assert!(!pair(Access::try_of_filtered::<(&mut Value, &InTable), With<InPool>>().unwrap(), without()));
}

fn refused<D: QueryData, F: QueryFilter, E: QueryData, G: QueryFilter>() {
    let name = std::any::type_name::<(F, G)>();
    let mut world = world();
    let run = |world: &mut World| {
        let _ = world.queries_mut::<(Query<D, F>, Query<E, G>)>();
    };
    assert!(catch_unwind(AssertUnwindSafe(|| run(&mut world))).is_err(), "{name}");
    let [one, two] = [Access::try_of_filtered::<D, F>().unwrap(), Access::try_of_filtered::<E, G>().unwrap()];
    assert!(!one.is_disjoint(&two) && !two.is_disjoint(&one), "{name}");
}

#[test]
fn queries_that_may_meet_are_refused() {
    refused::<&mut Value, (), &Value, ()>();
    refused::<&mut Value, With<InTable>, &mut Value, With<InTable>>();
    refused::<&mut Value, Without<InTable>, &mut Value, Without<InTable>>();
    refused::<&mut Value, With<InTable>, &mut Value, Without<InPool>>();
    refused::<&mut Value, With<InTable>, &mut Value, ()>();
    // One of several says nothing about each row.
    refused::<&mut Value, Or<(With<InTable>, With<InPool>)>, &mut Value, Without<InTable>>();
    // Terms are made one after another, so the data say nothing.
    refused::<(&mut Value, &InPool), (), &mut Value, Without<InPool>>();
    refused::<(&mut Value, Filtered<(), With<InPool>>), (), &mut Value, Without<InPool>>();
    // A filter reads the ticks of rows that it rejects.
    refused::<(), (Changed<Tracked>, With<InPool>), &mut Tracked, Without<InPool>>();
    refused::<Filtered<&Tracked, Changed<Tracked>>, With<InPool>, &mut Tracked, Without<InPool>>();
}

#[test]
fn a_query_that_aliases_itself_is_refused_whatever_its_filter() {
    let run = |world: &mut World| {
        let _ = world.queries_mut::<(Query<(&mut Value, &Value), With<InTable>>, Entity)>();
    };
    assert!(catch_unwind(AssertUnwindSafe(|| run(&mut world()))).is_err());
}

#[test]
fn queries_run_on_two_threads() {
    let mut world = world();
    let (values, tracked) = world.queries_mut::<(&mut Value, &mut Tracked)>();
    std::thread::scope(|scope| {
        scope.spawn(move || values.for_each(|value| value.0 += 1));
        scope.spawn(move || tracked.into_iter().for_each(|mut tracked| tracked.0 += 2));
    });
    assert!(world.query::<(&PoolValue, &Value, &Tracked)>().iter().all(|(n, a, b)| (a.0, b.0) == (n.0 + 1, n.0 + 2)));

    // The same components, and rows of the same table.
    type Both<'a> = (Entity, &'a mut Tracked, &'a mut Value);
    let (mut with, mut without) = world.queries_mut::<(Query<Both, With<InPool>>, Query<Both, Without<InPool>>)>();
    std::thread::scope(|scope| {
        let items = with.iter_mut();
        scope.spawn(move || items.for_each(|(_, mut tracked, value)| (tracked.0, value.0) = (1, 1)));
        scope.spawn(|| {
            let entities: Vec<Entity> = without.iter_mut().map(|(e, ..)| e).collect();
            for e in entities {
                *without.get_mut(e).unwrap().2 = Value(2);
            }
        });
    });
    assert_eq!(world.query::<&Value>().iter().map(|value| value.0).sum::<u64>(), 300);

    // A shared query on several threads.
    let query = world.query::<&Value>();
    std::thread::scope(|scope| {
        let sums: Vec<_> = (0..3).map(|_| scope.spawn(|| query.iter().map(|value| value.0).sum::<u64>())).collect();
        assert!(sums.into_iter().all(|sum| sum.join().unwrap() == 300));
    });
}

#[test]
fn queries_are_values() {
    fn total(query: Query<&Value>) -> u64 {
        query.iter().map(|value| value.0).sum()
    }
    fn add<C: Component>(mut query: Query<&mut C>, mut f: impl FnMut(phalanx::query::WriteItem<'_, C>)) {
        for item in &mut query {
            f(item);
        }
    }
    fn first<'w, D: phalanx::query::ReadOnlyQueryData>(world: &'w World) -> Option<D::Item<'w>> {
        world.query::<D>().iter().next()
    }
    fn count<D: QueryData, F: QueryFilter>(world: &mut World) -> usize {
        world.query_filtered_mut::<D, F>().len()
    }
    let mut world = world();
    assert_eq!(total(world.query()), 19_900);
    assert_eq!(total(world.query_mut()), 19_900);
    let mut query = world.query_mut::<&mut Value>();
    add(query.reborrow(), |value| value.0 += 1);
    add(query, |value| value.0 += 1);
    add::<Tracked>(world.query_mut(), |mut tracked| tracked.0 += 1);
    assert_eq!(total(world.query()), 20_300);
    assert_eq!(first::<(&Value, &Tracked)>(&world).map(|(a, b)| (a.0, b.0)), Some((2, 1)));
    assert_eq!(count::<&mut Value, With<InPool>>(&mut world), 100);
    let e = first::<Entity>(&world).unwrap();
    let (value, _) = world.query_one_mut::<(&mut Value, &Other)>(e).unwrap();
    value.0 = 0;
    assert!(world.query_one_mut::<(&mut Value, &Absent)>(e).is_err());
    let query = world.query::<&Value>();
    let copy = query;
    assert_eq!((&query).into_iter().count() + copy.chunks().flatten().count(), 400);
    assert_eq!(query.chunks().len(), copy.explain().tables.len());
}

#[derive(Component)]
struct Absent;
