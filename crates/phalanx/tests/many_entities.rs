//! Items of several entities at once, sorted iteration, and batches.

use phalanx::query::{DynamicError, DynamicQuery, QueryFilter};
use phalanx::{
    Changed, Component, ComponentError, Entity, Key, Query, QueryData, QueryState, Role, With, Without, World,
};
use phalanx_testkit::{catch, for_every_failing_allocation};
use std::cmp::Ordering;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct Table(u32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "pool")]
struct Pool(u32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "linear")]
struct Line(u32);
#[derive(phalanx::store::Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: u32,
    speed: u64,
}
#[derive(Component)]
#[component(track = "row")]
struct Tracked(u32);
#[derive(Component)]
struct Odd;
#[derive(Component)]
#[component(layout = "pool")]
struct Third;

/// A world of entities in several tables; every second is odd, every third is in a small pool.
fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = (0..150)
        .map(|n| {
            let e = world.spawn((Table(n), Pool(n), Line(n), Spin { axis: n, speed: 0 }, Tracked(n)));
            if n % 2 == 1 {
                world.insert(e, Odd).unwrap();
            }
            if n % 3 == 0 {
                world.insert(e, Third).unwrap();
            }
            e
        })
        .collect::<Vec<_>>();
    world.add_row(Key::main(all[0]).with_role(Role(1)), (Table(9), Pool(9), Line(9))).unwrap();
    (world, all)
}

#[test]
fn items_of_different_entities_are_used_at_once() {
    let (mut world, all) = world();
    let mut query = world.query_mut::<(&mut Table, &mut Pool, &mut Line, Option<&mut Third>)>();
    // Of one table and of two, near and far.
    for [a, b] in [[all[0], all[2]], [all[1], all[2]], [all[149], all[0]]] {
        let [(t, p, l, _), (u, q, m, _)] = query.get_many_mut([a, b]).unwrap();
        std::mem::swap(t, u);
        std::mem::swap(p, q);
        std::mem::swap(l, m);
    }
    // 0 ↔ 2, then 1 ↔ 2, then 149 ↔ 0.
    for (e, value) in [(0, 149), (1, 0), (2, 1), (149, 2)] {
        let entity = world.entity(all[e]).unwrap();
        assert_eq!(entity.get::<Table>().unwrap().0, value);
        assert_eq!((entity.get::<Pool>().unwrap().0, entity.get::<Line>().unwrap().0), (value, value));
    }
    let [a, b, c] = world.query::<&Table>().get_many([all[5], all[6], all[5]]).unwrap();
    assert_eq!((a, b, c), (&Table(5), &Table(6), &Table(5)), "what is read may repeat");
    assert_eq!(world.query::<&Table>().get_many([]), Ok([]));
    assert!(world.query_mut::<&mut Table>().get_many_mut([]).is_ok());
}

#[test]
fn soa_and_tracked_items_are_used_at_once() {
    let (mut world, all) = world();
    let mut changed = QueryState::<Entity, Changed<Tracked>>::new();
    assert_eq!(changed.iter(&world).count(), 150);
    let mut state = QueryState::<(&mut Spin, &mut Tracked)>::new();
    let mut query = state.query_mut(&mut world);
    let [(a, mut t), (b, u)] = query.get_many_mut([all[3], all[4]]).unwrap();
    (*a.axis, *b.axis) = (*b.axis, *a.axis);
    t.0 = u.0;
    assert_eq!((world.get::<Spin>(all[3]).unwrap().axis, world.get::<Spin>(all[4]).unwrap().axis), (4, 3));
    assert!(changed.iter(&world).eq([all[3]]), "only what was written has changed");
}

#[test]
fn the_first_entity_that_is_wrong_is_named() {
    let (mut world, all) = world();
    let dead = all[7];
    world.despawn(dead).unwrap();
    let mut query = world.query_filtered_mut::<&mut Table, (With<Third>, Without<Odd>)>();
    let mut error = |list: [Entity; 3]| {
        let one = query.get_many_mut(list).map(drop).unwrap_err();
        let other = query.collect_many_mut(list).map(drop).unwrap_err();
        assert_eq!(one, other);
        one
    };
    let duplicate = |entity| ComponentError::DuplicateEntity { entity };
    assert_eq!(error([all[0], all[6], all[0]]), duplicate(all[0]));
    assert_eq!(error([all[0], all[0], dead]), duplicate(all[0]));
    assert!(matches!(error([all[0], dead, all[0]]), ComponentError::NoSuchEntity(e) if e.entity == dead));
    assert!(matches!(error([all[1], dead, dead]), ComponentError::MissingComponent { entity, .. } if entity == all[1]));
    assert!(
        matches!(error([all[6], all[3], all[6]]), ComponentError::ExcludedComponent { entity, .. } if entity == all[3])
    );
    // Of two that repeat, the one whose second occurrence comes first.
    let mixed = [all[0], all[6], all[12], all[6], all[0]];
    assert_eq!(query.get_many_mut(mixed).map(drop), Err(duplicate(all[6])));
    assert_eq!(query.collect_many_mut(mixed).map(drop), Err(duplicate(all[6])));
    assert!(query.get_many_mut([all[0], all[6], all[12]]).is_ok());
}

#[test]
fn a_list_of_entities_is_collected_in_its_order() {
    let (mut world, all) = world();
    let mut query = world.query_mut::<(&mut Table, &mut Pool)>();
    let mut items = query.collect_many_mut(all.iter().copied().rev()).unwrap();
    assert!(items.iter().map(|(table, _)| table.0).eq((0..150).rev()));
    items.iter_mut().for_each(|(table, pool)| (table.0, pool.0) = (pool.0 + 1, 0));
    assert!(world.query::<&Table>().iter().map(|table| table.0).sum::<u32>() == (1..151).sum());
    assert!(world.query_mut::<&mut Table>().collect_many_mut([]).unwrap().is_empty());
}

#[test]
fn a_list_without_memory_is_an_error() {
    for_every_failing_allocation(
        || {
            let (mut world, all) = world();
            assert_eq!(world.query_mut::<&mut Table>().len(), 150, "the world knows the query");
            (world, all)
        },
        |(world, all)| {
            let mut query = world.query_mut::<&mut Table>();
            let items = query.collect_many_mut(all.iter().copied())?;
            items.into_iter().for_each(|table| table.0 = 7);
            Ok::<_, ComponentError>(())
        },
        |(world, _), outcome| {
            let all_are_new = world.query::<&Table>().iter().all(|table| table.0 == 7);
            assert_eq!(all_are_new, outcome.is_ok());
            assert!(outcome.is_ok() || matches!(outcome, Err(ComponentError::Alloc(_))));
        },
    );
}

#[test]
fn rows_of_run_time_queries_are_taken_at_once() {
    let (mut world, all) = world();
    let [table, pool] = [world.component_id::<Table>().unwrap(), world.component_id::<Pool>().unwrap()];
    let query = DynamicQuery::builder().write(table).write(pool).build(&world).unwrap();
    let [mut a, mut b] = query.get_many_mut(&mut world, [all[0], all[1]]).unwrap();
    std::mem::swap(a.take_mut::<Table>().unwrap(), b.take_mut::<Table>().unwrap());
    std::mem::swap(a.take_mut::<Pool>().unwrap(), b.take_mut::<Pool>().unwrap());
    assert_eq!((world.get::<Table>(all[0]).unwrap().0, world.get::<Pool>(all[1]).unwrap().0), (1, 0));
    let error = query.get_many_mut(&mut world, [all[0], all[0]]).map(drop).unwrap_err();
    assert_eq!(error, DynamicError::Entity(ComponentError::DuplicateEntity { entity: all[0] }));
}

#[test]
fn sorted_items_are_all_items_and_equal_ones_keep_their_order() {
    fn check<F: QueryFilter>() {
        let (mut world, _) = world();
        let plain: Vec<(Entity, u32)> =
            world.query_filtered::<(Entity, &Table), F>().iter().map(|(e, table)| (e, table.0)).collect();
        let mut expected = plain.clone();
        expected.sort_by_key(|(_, n)| n % 7);
        let items = |(e, table): (Entity, &Table)| (e, table.0);
        let query = world.query_filtered::<(Entity, &Table), F>();
        assert!(query.iter().sort_by_key(|(_, table)| table.0 % 7).map(items).eq(expected.iter().copied()));
        let by = |(_, a): &(Entity, &Table), (_, b): &(Entity, &Table)| (a.0 % 7).cmp(&(b.0 % 7));
        assert!(query.iter().sort_by(by).map(items).eq(expected.iter().copied()));
        assert!(query.iter().sort_by(|_, _| Ordering::Equal).map(items).eq(plain.iter().copied()));
        let mut descending = query.iter().sort().rev();
        assert_eq!(descending.len(), plain.len());
        assert_eq!(descending.next().map(items), plain.iter().copied().max());
        // The rest of an iterator.
        let mut rest = query.iter();
        rest.next();
        assert_eq!(rest.sort().len(), plain.len() - 1);
        // For writing.
        let mut query = world.query_filtered_mut::<(&mut Table, &mut Pool), F>();
        (0..).zip(query.iter_mut().sort_by_key(|(table, _)| std::cmp::Reverse(table.0))).for_each(
            |(n, (table, pool))| {
                (table.0, pool.0) = (n, n);
            },
        );
        assert!(world.query_filtered::<(&Table, &Pool), F>().iter().all(|(table, pool)| table.0 == pool.0));
    }
    check::<()>();
    check::<With<Odd>>();
    check::<With<Third>>();
    check::<(Without<Third>, Without<Odd>)>();
}

#[test]
fn sorting_without_memory_is_an_error() {
    for_every_failing_allocation(
        || world().0,
        |world| {
            let query = world.query_filtered::<&Table, With<Third>>();
            let by_key = query.iter().try_sort_by_key(|table| std::cmp::Reverse(table.0))?.count();
            query.iter().try_sort_by(|a, b| a.cmp(b)).map(|sorted| sorted.count() + by_key)
        },
        |_, outcome| assert!(outcome.is_err() || *outcome == Ok(100)),
    );
}

#[test]
fn a_comparison_may_panic_or_be_wrong() {
    let (mut world, _) = world();
    let mut calls = 0;
    let mut query = world.query_mut::<&mut Table>();
    let caught = catch(|| {
        query.iter_mut().sort_by(|_, _| {
            calls += 1;
            if calls == 100 { panic!("enough") } else { Ordering::Less }
        });
    });
    assert!(caught.is_err());
    // No total order: it panics, or yields every item once.
    let mut calls = 0;
    let mut found = None;
    let caught = catch(|| {
        let items = query.iter_mut().sort_by(|_, _| {
            calls += 1;
            [Ordering::Less, Ordering::Greater, Ordering::Less, Ordering::Equal][calls % 4]
        });
        found = Some(items.map(|table| table.0).collect::<Vec<_>>());
    });
    if caught.is_ok() {
        let mut found = found.unwrap();
        found.sort_unstable();
        assert!(found.into_iter().eq(0..150));
    }
    assert_eq!(world.validate(), Ok(()));
}

/// Compares the batches of a query with its items, for several sizes and through every entry point.
fn batches_agree<D: QueryData + phalanx::query::ReadOnlyQueryData, F: QueryFilter>() {
    let name = std::any::type_name::<(D, F)>();
    let (mut world, _) = world();
    let all: Vec<Entity> = world.query_filtered::<(Entity, D), F>().iter().map(|(e, _)| e).collect();
    assert!(!all.is_empty(), "{name}");
    for size in [0, 1, 7, 64, 65, 1000, usize::MAX] {
        let mut state = QueryState::<(Entity, D), F>::new();
        let bound = size.max(1).checked_next_multiple_of(64).unwrap_or(usize::MAX);
        let check = |query: Query<(Entity, D), F>| {
            let batches: Vec<Vec<Entity>> = query.batches(size).map(|batch| batch.map(|(e, _)| e).collect()).collect();
            assert!(batches.iter().all(|batch| batch.len() <= bound), "{name}, {size}");
            assert_eq!(batches.concat(), all, "{name}, {size}");
            // Item by item instead of in one loop, and some of them not at all.
            let some = query.batches(size).step_by(2).map(|mut batch| std::iter::from_fn(move || batch.next()).count());
            let expected = batches.iter().step_by(2).map(Vec::len);
            assert!(some.eq(expected), "{name}, {size}");
        };
        check(world.query_filtered());
        check(world.query_filtered_mut());
        check(state.query(&world));
    }
}

#[test]
fn batches_have_each_item_once_and_in_order() {
    batches_agree::<&Table, ()>();
    batches_agree::<&Table, With<Odd>>();
    batches_agree::<&Pool, ()>();
    batches_agree::<&Line, ()>();
    batches_agree::<(&Line, &Pool), ()>();
    batches_agree::<&Table, With<Third>>();
    batches_agree::<&Table, Without<Third>>();
    batches_agree::<(Key, &Line), ()>();
    batches_agree::<(Key, &Pool), ()>();
    batches_agree::<Option<&Third>, ()>();
}

#[test]
fn batches_of_a_pool_with_holes_skip_them() {
    let (mut world, all) = world();
    world.pool_mut::<Pool>().set_removal(phalanx::Removal::Deferred).unwrap();
    all.iter().step_by(5).for_each(|e| assert_eq!(world.remove::<Pool>(*e), Ok(true)));
    let expected: Vec<Entity> = world.query::<(Entity, &Pool)>().iter().map(|(e, _)| e).collect();
    let found: Vec<Entity> = world.query::<(Entity, &Pool)>().batches(8).flatten().map(|(e, _)| e).collect();
    assert_eq!((found.len(), found), (120, expected));
}

#[test]
fn batches_run_on_threads_of_their_own() {
    let (mut world, _) = world();
    std::thread::scope(|scope| {
        for batch in world.query_filtered_mut::<(&mut Table, &mut Pool, &mut Line), With<Third>>().batches(16) {
            scope.spawn(move || batch.for_each(|(table, pool, line)| (table.0, pool.0, line.0) = (1000, 1000, 1000)));
        }
    });
    let changed = |n: u32| n == 1000;
    assert_eq!(world.query::<&Table>().iter().filter(|table| changed(table.0)).count(), 50);
    assert_eq!(world.query::<&Line>().iter().filter(|line| changed(line.0)).count(), 50);
    assert!(
        world.query::<(&Table, &Pool, &Line)>().iter().all(|(t, p, l)| changed(t.0) == (changed(p.0) && changed(l.0)))
    );
}
