//! Filtering pools, exchanging positions in them, and entities without components.

use crate::kit::{A, B, C, D, L, M, Table};
use phalanx::group::{Observed, Owned, PoolError};
use phalanx::query::{AllRows, IsEmpty};
use phalanx::{Component, ComponentError, Entity, Group, Key, Removal, Role, World};
use phalanx_testkit::{AllocationSweep, Counted, PanicSweep, Site, Tally, catch};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn retain_visits_in_the_order_of_the_pool_and_removes_as_single_removals_do() {
    for removal in [Removal::Swap, Removal::Ordered, Removal::Deferred] {
        let [mut single, mut whole] = [(); 2].map(|()| {
            let mut world = World::new();
            world.pool_mut::<A>().set_removal(removal).unwrap();
            let first = world.spawn_batch((0..20).map(A)).to_vec();
            first.iter().step_by(7).for_each(|e| world.despawn(*e).unwrap());
            world
        });
        let entities: Vec<Entity> = single.pool::<A>().iter().map(|(e, _)| e).collect();
        let mut visited = Vec::new();
        let removed = whole.pool_mut::<A>().retain(|e, a| {
            visited.push(e);
            a.0 += 100;
            !a.0.is_multiple_of(3)
        });
        assert_eq!(visited, entities);
        let (mut count, all) = (0, entities.clone());
        single.pool_mut::<A>().values().iter_mut().for_each(|a| a.0 += 100);
        for e in all {
            if single.get::<A>(e).unwrap().0.is_multiple_of(3) {
                assert!(single.remove::<A>(e).unwrap());
                count += 1;
            }
        }
        assert_eq!(removed, Ok(count));
        assert!(single.pool::<A>().iter().eq(whole.pool::<A>().iter()), "{removal:?}");
        assert_eq!(whole.validate(), Ok(()));
    }
    assert_eq!(World::new().pool_mut::<A>().retain(|_, _| unreachable!()), Ok(0));
}

#[test]
fn listeners_see_the_whole_of_a_retain_and_may_replace_the_world() {
    let mut world = World::new();
    let entities = world.spawn_batch((0..6).map(|n| (A(n), B(n.to_string())))).to_vec();
    world.add_row(Key::main(entities[0]).with_role(Role(1)), A(7)).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let list = heard.clone();
    world.on_remove::<A>(move |removed, world, _| {
        assert_eq!(world.pool::<A>().len(), 3, "all are removed before the first call");
        list.lock().unwrap().push((removed.entity, removed.value.0));
    });
    assert_eq!(world.pool_mut::<A>().retain(|_, a| a.0.is_multiple_of(2)), Ok(4));
    let expected = [(entities[1], 1), (entities[3], 3), (entities[5], 5), (entities[0], 7)];
    assert_eq!(*heard.lock().unwrap(), expected, "in the order of the pool; an extra row by its owner");
    world.validate().unwrap();
    // A command of a listener puts another world in the place of this one, where the pool has another number.
    let mut world = World::new();
    world.spawn_batch((0..3).map(|n| (B(n.to_string()), A(n))));
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    world.on_remove::<A>(move |_, _, commands| {
        if counter.fetch_add(1, Ordering::Relaxed) == 0 {
            commands.queue(|world| *world = World::new());
        }
    });
    let mut pool = world.pool_mut::<A>();
    pool.retain(|_, _| false).unwrap();
    assert_eq!((pool.len(), pool.values().len(), pool.holes()), (0, 0, 0));
    pool.sort_by_index().unwrap();
    assert_eq!((calls.load(Ordering::Relaxed) > 0, world.validate()), (true, Ok(())));
}

#[derive(Component)]
#[component(layout = "pool")]
struct P(Counted);

/// A pool of which a third is removed, by a function that may panic, and two groups that name it.
fn retain_under(site: Site, left_after_panic: usize) {
    type Scene = (World, Group<Owned<P>>, Group<Observed<(P, L)>>);
    let scene = |tally: &Tally| {
        let mut world = World::new();
        let (owning, listed) = (world.create_group().unwrap(), world.create_group().unwrap());
        world.spawn_batch((0..12).map(|n| (P(tally.value(n)), L(0))).collect::<Vec<_>>());
        (world, owning, listed)
    };
    let act = |(world, ..): &mut Scene, tally: &Tally| {
        let keep = |value: &mut P| {
            tally.callback();
            !value.0.key().is_multiple_of(3)
        };
        assert_eq!(world.pool_mut::<P>().retain(|_, value| keep(value)), Ok(4));
    };
    let points = PanicSweep::new(site).run(scene, act, |(world, owning, listed), tally, has_panicked| {
        world.validate().unwrap();
        let left = if has_panicked { left_after_panic } else { 8 };
        assert_eq!((owning.len(world), listed.len(world), tally.live()), (left, left, left as u32));
    });
    assert!(points > 0);
}

#[test]
fn h19_a_predicate_that_panics_removes_nothing() {
    retain_under(Site::Callback, 12);
}

#[test]
fn h15_values_that_a_pool_does_not_retain_survive_panicking_drop() {
    retain_under(Site::Drop, 8);
}

#[test]
fn h60_filtering_and_sorting_without_memory_changes_nothing() {
    let scene = || {
        let mut world = World::new();
        let entities = world.spawn_batch((0..40).map(|n| (A(n), B(n.to_string()), C(n as u8)))).to_vec();
        let listed: Group<Observed<(A, B)>> = world.create_group().unwrap();
        let owning: Group<Owned<C>> = world.create_group().unwrap();
        world.pool_mut::<B>().set_removal(Removal::Ordered).unwrap();
        (world, listed, owning, entities)
    };
    type Scene = (World, Group<Observed<(A, B)>>, Group<Owned<C>>, Vec<Entity>);
    let look = |(world, listed, owning, _): &mut Scene| {
        world.validate().unwrap();
        let (a, b) = (world.pool_mut::<A>().values().to_vec(), world.pool_mut::<B>().values().to_vec());
        (a, b, listed.entities(world).collect::<Vec<_>>(), owning.entities(world).collect::<Vec<_>>())
    };
    type Act = fn(&mut Scene) -> Result<(), PoolError>;
    let acts: [Act; 10] = [
        |(world, ..)| world.pool_mut::<A>().retain(|_, a| a.0.is_multiple_of(2)).map(drop),
        |(world, ..)| world.pool_mut::<B>().retain(|_, b| b.0.len() == 1).map(drop),
        |(world, .., entities)| world.pool_mut::<B>().sort_as(entities.iter().rev().copied()),
        |(world, ..)| world.pool_mut::<B>().sort_by_entity(|a, b| b.cmp(&a)),
        |(world, ..)| world.pool_mut::<A>().sort_first_by(7, |a, b| b.0.cmp(&a.0)),
        |(world, listed, _, entities)| Ok(listed.try_sort_as(world, entities.iter().rev().copied())?),
        |(world, listed, ..)| Ok(listed.try_sort_by_entity(world, |a, b| b.cmp(&a))?),
        |(world, _, owning, entities)| Ok(owning.try_sort_as(world, entities.iter().rev().copied())?),
        |(world, _, owning, _)| Ok(owning.try_sort_first_by(world, 5, |a, b| b.0.cmp(&a.0))?),
        |(world, listed, ..)| {
            world.pool_mut::<A>().sort_by_key(|a| u64::MAX - a.0)?;
            Ok(listed.try_sort_like::<A>(world)?)
        },
    ];
    for (number, act) in acts.into_iter().enumerate() {
        let points = AllocationSweep::new().run(
            || {
                let mut scene = scene();
                let before = look(&mut scene);
                (scene, before)
            },
            |(scene, _)| act(scene),
            |(scene, before), result| {
                // The last is two operations.
                let same = look(scene) == *before;
                assert!(same == result.is_err() || number == 9, "{number}: {result:?}");
            },
        );
        assert!(points > 0, "{number}");
    }
}

#[test]
fn entities_exchange_their_positions_also_beside_holes() {
    let mut world = World::new();
    world.pool_mut::<A>().set_removal(Removal::Deferred).unwrap();
    let entities = world.spawn_batch((0..8).map(|n| (A(n), D))).to_vec();
    world.remove::<A>(entities[3]).unwrap();
    let mut pool = world.pool_mut::<A>();
    pool.swap(entities[1], entities[6]).unwrap();
    pool.swap(entities[2], entities[2]).unwrap();
    assert_eq!(pool.holes(), 1);
    assert!(pool.entities().eq([0, 6, 2, 4, 5, 1, 7].map(|n| entities[n])));
    assert!(
        entities.iter().zip(0..).all(|(e, n)| n == 3 || *pool.get(*e).unwrap() == A(n)),
        "values stay with entities"
    );
    let missing = pool.swap(entities[3], entities[0]).unwrap_err();
    assert!(matches!(missing, PoolError::Component(ComponentError::MissingComponent { .. })), "{missing}");
    world.despawn(entities[7]).unwrap();
    let dead = world.pool_mut::<A>().swap(entities[0], entities[7]).unwrap_err();
    assert!(matches!(dead, PoolError::Component(ComponentError::NoSuchEntity(_))), "{dead}");
    world.create_group::<Owned<D>>().unwrap();
    let owned = world.pool_mut::<D>().swap(entities[0], entities[1]).unwrap_err();
    assert!(matches!(owned, PoolError::Owned { .. }), "{owned}");
    world.pool_mut::<A>().compact(usize::MAX);
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn orphans_have_no_component_of_any_layout() {
    let mut world = World::new();
    let bare: Vec<Entity> = (0..3).map(|_| world.spawn_empty()).collect();
    let others = [world.spawn(A(1)), world.spawn(L(1)), world.spawn(M), world.spawn(Table(1)), world.spawn(D)];
    // A role is not a component of the entity, and a row without components is not an entity.
    world.add_row(Key::main(bare[1]).with_role(Role(1)), ()).unwrap();
    world.add_row(Key::main(bare[2]).with_role(Role(1)), A(3)).unwrap();
    assert!(world.orphans().eq(bare.iter().copied()));
    assert_eq!(world.query_filtered::<Key, (AllRows, IsEmpty)>().len(), 4, "with the row that has none");
    others.iter().for_each(|e| assert!(world.entity_mut(*e).unwrap().remove::<(A, L, M, Table, D)>()));
    assert_eq!(world.orphans().count(), 8);
    assert_eq!(world.insert_where::<IsEmpty, _>(L(9)), 8);
    assert_eq!(world.orphans().count(), 0);
    assert!(world.query_filtered::<(), IsEmpty>().get(others[0]).is_err());
}

#[test]
fn an_iterator_that_panics_leaves_the_order_as_it_was() {
    let mut world = World::new();
    let entities = world.spawn_batch((0..9).map(|n| (A(n), C(0)))).to_vec();
    let group = world.create_group::<Owned<C>>().unwrap();
    let list = || entities.iter().rev().map(|e| if e.index() == 4 { panic!("as ordered") } else { *e });
    assert!(catch(|| world.pool_mut::<A>().sort_as(list())).is_err());
    assert!(catch(|| group.sort_as(&mut world, list())).is_err());
    assert!(world.pool::<A>().iter().map(|(e, _)| e).eq(entities.iter().copied()));
    assert!(group.entities(&world).eq(entities.iter().copied()));
    assert_eq!(world.validate(), Ok(()));
}
