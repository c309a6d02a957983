//! Sorting groups and pools.

use crate::kit::{A, B, C, D};
use phalanx::group::{Observed, Owned, PoolError};
use phalanx::{ComponentError, Entity, QueryState, Removal, World};
use phalanx_testkit::{Rng, catch};
use std::cmp::Ordering;

fn scrambled(count: u64) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities = (0..count).map(|n| world.spawn((A(n * 7 % count), C((n * 3 % count) as u8)))).collect();
    (world, entities)
}

#[test]
fn the_pools_of_a_group_are_sorted_together() {
    let (mut world, entities) = scrambled(50);
    world.spawn(A(1000));
    world.spawn(C(255));
    let group = world.create_group::<Owned<(A, C)>>().unwrap();
    group.sort_by(&mut world, |(a, _), (b, _)| a.0.cmp(&b.0));
    assert!(group.slices(&world).0.iter().map(|a| a.0).eq(0..50));
    for (n, e) in entities.iter().enumerate() {
        assert_eq!(world.get::<A>(*e).unwrap().0, n as u64 * 7 % 50);
        assert_eq!(world.get::<C>(*e).unwrap().0, (n * 3 % 50) as u8);
    }
    // Equal ones keep their order.
    group.sort_by_key(&mut world, |(a, _)| a.0 % 5);
    let expected = (0..5).flat_map(|rest| (0..10).map(move |n| n * 5 + rest));
    assert!(group.slices(&world).0.iter().map(|a| a.0).eq(expected));
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn a_family_is_sorted_segment_by_segment() {
    for by_inner in [false, true] {
        let (mut world, entities) = scrambled(40);
        entities.iter().step_by(2).for_each(|e| world.insert(*e, B(e.to_string())).unwrap());
        entities.iter().step_by(4).for_each(|e| world.insert(*e, D).unwrap());
        let outer = world.create_group::<Owned<(A, C)>>().unwrap();
        let middle = world.create_group::<(Owned<(A, C)>, Observed<B>)>().unwrap();
        let inner = world.create_group::<(Owned<(A, D, C)>, Observed<B>)>().unwrap();
        assert_eq!([outer.len(&world), middle.len(&world), inner.len(&world)], [40, 20, 10]);
        let before: Vec<_> = outer.slices(&world).0.to_vec();
        match by_inner {
            true => inner.sort_by_key(&mut world, |((a, _, _), _)| a.0),
            false => outer.sort_by_key(&mut world, |(a, _)| a.0),
        }
        world.validate().unwrap();
        let values = outer.slices(&world).0;
        assert!(values[..10].is_sorted_by_key(|a| a.0));
        match by_inner {
            true => assert_eq!(values[10..], before[10..], "the rest stays as it was"),
            false => {
                assert!(values[10..20].is_sorted_by_key(|a| a.0) && values[20..].is_sorted_by_key(|a| a.0));
            }
        }
    }
}

#[test]
fn pools_are_sorted_by_value_by_index_and_like_others() {
    let (mut world, entities) = scrambled(30);
    world.spawn(C(200));
    world.spawn(C(100));
    entities.iter().step_by(3).for_each(|e| assert!(world.remove::<A>(*e).unwrap()));
    let mut pool = world.pool_mut::<A>();
    pool.sort_by(|x, y| y.0.cmp(&x.0)).unwrap();
    assert!(pool.values().is_sorted_by(|x, y| x.0 > y.0) && pool.len() == 20);
    let order: Vec<Entity> = pool.entities().collect();
    world.pool_mut::<C>().sort_like::<A>().unwrap();
    let like: Vec<Entity> = world.pool_mut::<C>().entities().collect();
    assert_eq!(like[..20], order);
    assert_eq!(world.pool_mut::<C>().values()[30..], [C(200), C(100)], "the rest keeps its order");
    world.pool_mut::<A>().sort_by_index().unwrap();
    assert!(world.pool_mut::<A>().entities().is_sorted());
    world.pool_mut::<A>().sort_by_key(|a| a.0 % 2).unwrap();
    assert!(world.pool_mut::<A>().values().is_sorted_by_key(|a| a.0 % 2));
    // A pool that never had a value has nothing to sort, and no order for another pool to take.
    world.pool_mut::<C>().sort_like::<B>().unwrap();
    world.pool_mut::<B>().sort_by_index().unwrap();
    assert!(world.pool_mut::<B>().is_empty() && world.pool_mut::<B>().values().is_empty());
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn a_pool_that_a_group_owns_is_sorted_by_nobody_else() {
    let (mut world, _) = scrambled(10);
    let group = world.create_group::<(Owned<A>, Observed<C>)>().unwrap();
    let before = world.pool_mut::<A>().values().to_vec();
    let mut pool = world.pool_mut::<A>();
    let errors =
        [pool.sort_by_index(), pool.sort_like::<C>(), pool.sort_by(|_, _| unreachable!("nothing is compared"))];
    for error in errors {
        let PoolError::Owned { group, .. } = error.unwrap_err() else { panic!() };
        assert!(group.contains("Owned<") && group.contains("A>"), "{group}");
    }
    assert_eq!(pool.values(), before);
    world.pool_mut::<C>().sort_by_index().expect("what is only observed can be sorted");
    world.remove_group(group);
    world.pool_mut::<A>().sort_by_index().unwrap();
}

#[test]
fn h20_a_comparison_that_panics_or_is_no_order_leaves_a_permutation() {
    #[derive(Clone, Copy, PartialEq)]
    enum What {
        Pool,
        Owning,
        Listed,
    }
    for what in [What::Pool, What::Owning, What::Listed] {
        let sort = |world: &mut World, compare: &mut dyn FnMut(&A, &A) -> Ordering| match what {
            What::Pool => world.pool_mut::<A>().sort_by(compare).unwrap(),
            What::Owning => {
                let group = world.create_group::<Owned<(A, C)>>().unwrap();
                group.sort_by(world, |(x, _), (y, _)| compare(x, y));
            }
            What::Listed => {
                let group = world.create_group::<Observed<(A, C)>>().unwrap();
                group.sort_by(world, |(x, _), (y, _)| compare(x, y));
            }
        };
        let (mut world, entities) = scrambled(100);
        sort(&mut world, &mut |_, _| Ordering::Equal);
        let before = (world.pool_mut::<A>().values().to_vec(), world.pool_mut::<A>().entities().collect::<Vec<_>>());
        for nth in [1, 2, 50, 300] {
            let mut count = 0;
            let result = catch(|| {
                sort(&mut world, &mut |x, y| {
                    count += 1;
                    assert_ne!(count, nth, "as ordered");
                    x.0.cmp(&y.0)
                })
            });
            assert!(result.is_err());
            assert_eq!((world.pool_mut::<A>().values().to_vec(), world.pool_mut::<A>().entities().collect()), before);
            world.validate().unwrap();
        }
        let mut rng = Rng::new(1);
        // The standard library may notice, and panic.
        let _ = catch(|| sort(&mut world, &mut |_, _| [Ordering::Less, Ordering::Greater][rng.below(2)]));
        world.validate().unwrap();
        for (n, e) in entities.iter().enumerate() {
            assert_eq!(world.get::<A>(*e).unwrap().0, n as u64 * 7 % 100);
        }
    }
}

#[test]
fn holes_are_closed_before_sorting_and_values_without_size_are_sorted_along() {
    let (mut world, entities) = scrambled(20);
    world.pool_mut::<A>().set_removal(Removal::Deferred).unwrap();
    world.pool_mut::<D>().set_removal(Removal::Deferred).unwrap();
    entities.iter().for_each(|e| world.insert(*e, D).unwrap());
    entities.iter().step_by(3).for_each(|e| assert!(world.remove::<(A, D)>(*e).unwrap()));
    assert_eq!((world.pool_mut::<A>().holes(), world.pool_mut::<A>().len()), (7, 13));
    world.pool_mut::<A>().sort_by_key(|a| a.0).unwrap();
    world.pool_mut::<D>().sort_like::<A>().unwrap();
    let sorted: Vec<_> = world.pool_mut::<A>().entities().collect();
    assert!(world.pool_mut::<D>().entities().eq(sorted) && world.pool_mut::<D>().values().len() == 13);
    assert_eq!((world.pool_mut::<A>().holes(), world.validate()), (0, Ok(())));
}

#[test]
fn h56_a_held_state_follows_pools_that_groups_and_sorting_move() {
    let (mut world, entities) = scrambled(10);
    entities[5..].iter().for_each(|e| world.insert(*e, D).unwrap());
    let mut state = QueryState::<(Entity, &'static A, &'static D)>::new();
    let mut seen = |world: &mut World| {
        let mut all: Vec<_> = state.iter_mut(world).map(|(e, a, _)| (e, a.0)).collect();
        all.sort();
        all
    };
    let expected: Vec<_> = (5..10).map(|n| (entities[n], n as u64 * 7 % 10)).collect();
    assert_eq!(seen(&mut world), expected);
    world.pool_mut::<A>().sort_by_key(|a| a.0).unwrap();
    assert_eq!(seen(&mut world), expected);
    let group = world.create_group::<Owned<(D, A)>>().unwrap();
    assert_eq!(seen(&mut world), expected);
    group.sort_by_key(&mut world, |(_, a)| u64::MAX - a.0);
    assert_eq!(seen(&mut world), expected);
    // Who comes and goes moves others.
    world.insert(entities[0], D).unwrap();
    world.remove::<D>(entities[7]).unwrap();
    world.remove::<D>(entities[0]).unwrap();
    world.insert(entities[7], D).unwrap();
    assert_eq!(seen(&mut world), expected);
    world.remove_group(group);
    world.pool_mut::<A>().set_removal(Removal::Deferred).unwrap();
    world.remove::<A>(entities[1]).unwrap();
    assert_eq!(seen(&mut world), expected);
    world.pool_mut::<A>().compact(usize::MAX);
    assert_eq!(seen(&mut world), expected);
}

#[test]
fn groups_and_pools_take_the_order_of_a_list_or_of_another_pool() {
    let (mut world, entities) = scrambled(12);
    let dead = world.spawn((A(0), C(0)));
    world.despawn(dead).unwrap();
    // Named twice, dead, without the components: the rest keeps its order.
    let stranger = world.spawn(D);
    let list = [entities[5], dead, entities[2], entities[5], stranger, entities[9]];
    let named = [5, 2, 9, 0, 1, 3, 4, 6, 7, 8, 10, 11].map(|n| entities[n]);
    world.pool_mut::<A>().sort_as(list).unwrap();
    assert!(world.pool_mut::<A>().entities().eq(named));
    let listed = world.create_group::<Observed<(C, A)>>().unwrap();
    listed.sort_by_entity(&mut world, |a, b| b.cmp(&a));
    assert!(listed.entities(&world).eq(entities.iter().rev().copied()));
    listed.sort_like::<A>(&mut world);
    assert!(listed.entities(&world).eq(named));
    listed.sort_like::<B>(&mut world);
    assert!(listed.entities(&world).eq(named), "nobody is in that pool");
    let owning = world.create_group::<Owned<(A, C)>>().unwrap();
    owning.sort_by_entity(&mut world, |a, b| a.cmp(&b));
    owning.sort_as(&mut world, list);
    assert!(owning.entities(&world).eq(named) && owning.entities(&world).rev().eq(named.into_iter().rev()));
    for (e, (a, c)) in owning.entities(&world).zip(owning.iter(&world)) {
        assert_eq!((world.get::<A>(e), world.get::<C>(e)), (Ok(a), Ok(c)));
    }
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn only_the_first_are_sorted_in_each_segment_of_a_family() {
    for count in [0, 1, 7, 10, 15, 20, 33, 40, 99] {
        let (mut world, entities) = scrambled(40);
        entities.iter().step_by(2).for_each(|e| world.insert(*e, B(e.to_string())).unwrap());
        entities.iter().step_by(4).for_each(|e| world.insert(*e, D).unwrap());
        let outer = world.create_group::<Owned<(A, C)>>().unwrap();
        world.create_group::<(Owned<(A, C)>, Observed<B>)>().unwrap();
        world.create_group::<(Owned<(A, D, C)>, Observed<B>)>().unwrap();
        let mut expected: Vec<u64> = outer.slices(&world).0.iter().map(|a| a.0).collect();
        for segment in [0..10, 10..20, 20..40] {
            expected[segment.start.min(count)..segment.end.min(count)].sort();
        }
        outer.sort_first_by(&mut world, count, |(a, _), (b, _)| a.0.cmp(&b.0));
        assert!(outer.slices(&world).0.iter().map(|a| a.0).eq(expected), "{count}");
        assert_eq!(world.validate(), Ok(()));
        let mut pool: Vec<B> = world.pool_mut::<B>().values().to_vec();
        pool[..count.min(20)].sort_by(|a, b| a.0.cmp(&b.0));
        world.pool_mut::<B>().sort_first_by(count, |a, b| a.0.cmp(&b.0)).unwrap();
        assert_eq!(world.pool_mut::<B>().values(), pool);
    }
}

#[test]
fn the_item_of_one_entity_tells_why_there_is_none() {
    let mut world = World::new();
    let group = world.create_group::<(Owned<A>, Observed<C>, phalanx::Without<D>)>().unwrap();
    let [both, one, out] = [world.spawn((A(1), C(2))), world.spawn(A(3)), world.spawn((A(4), C(5), D))];
    group.get_mut(&mut world, both).unwrap().0.0 += 10;
    assert_eq!(group.get(&world, both).unwrap(), (&A(11), &C(2)));
    let error = |entity| group.get(&world, entity).unwrap_err();
    assert!(matches!(error(one), ComponentError::MissingComponent { component, .. } if component.ends_with('C')));
    assert!(matches!(error(out), ComponentError::ExcludedComponent { component, .. } if component.ends_with('D')));
    assert!(error(out).to_string().ends_with("which is excluded"));
    world.despawn(both).unwrap();
    assert_eq!(group.get(&world, both), Err(ComponentError::NoSuchEntity(phalanx::NoSuchEntity { entity: both })));
}
