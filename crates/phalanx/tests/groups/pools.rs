//! What becomes of the places of values that are removed.

use crate::kit::{A, B, C, D};
use phalanx::group::{Observed, Owned};
use phalanx::{Entity, Key, Removal, Role, Without, World};
use phalanx_testkit::Rng;

fn values(world: &mut World) -> Vec<u64> {
    world.pool_mut::<A>().values().iter().map(|a| a.0).collect()
}

#[test]
fn ordered_and_deferred_removal_keep_the_order() {
    for removal in [Removal::Ordered, Removal::Deferred] {
        let mut world = World::new();
        world.pool_mut::<A>().set_removal(removal).unwrap();
        let listed = world.create_group::<Observed<A>>().unwrap();
        let entities: Vec<Entity> = (0..100).map(|n| world.spawn(A(n))).collect();
        let mut model: Vec<u64> = (0..100).collect();
        let mut rng = Rng::new(7);
        for step in 0..60 {
            let gone = model.remove(rng.below(model.len()));
            match step % 3 {
                0 => world.despawn(entities[gone as usize]).unwrap(),
                1 => assert!(world.remove::<A>(entities[gone as usize]).unwrap()),
                _ => assert_eq!(world.take::<A>(entities[gone as usize]), Ok(A(gone))),
            }
            let pool = world.pool_mut::<A>();
            assert_eq!((pool.len(), pool.removal()), (model.len(), removal));
            let entities: Vec<Entity> = pool.entities().collect();
            assert!(entities.iter().map(|e| world.get::<A>(*e).unwrap().0).eq(model.iter().copied()));
            assert_eq!((listed.len(&world), world.validate()), (model.len(), Ok(())));
        }
        assert_eq!(values(&mut world), model);
    }
}

#[test]
fn holes_are_closed_a_few_moves_at_a_time() {
    let mut world = World::new();
    world.pool_mut::<A>().set_removal(Removal::Deferred).unwrap();
    let entities: Vec<Entity> = (0..100).map(|n| world.spawn((A(n), B(n.to_string())))).collect();
    entities.iter().step_by(4).for_each(|e| world.despawn(*e).unwrap());
    assert_eq!(world.pool_mut::<A>().holes(), 25);
    let mut total = 0;
    loop {
        let moves = world.pool_mut::<A>().compact(10);
        assert!(moves <= 10);
        world.validate().unwrap();
        total += moves;
        if moves < 10 {
            break;
        }
    }
    assert_eq!((total, world.pool_mut::<A>().holes()), (75, 0));
    assert!(values(&mut world).into_iter().eq((0..100).filter(|n| n % 4 != 0)));
    assert_eq!(world.pool_mut::<B>().compact(10), 0, "nothing to be done where removal leaves no hole");
}

#[test]
fn changing_the_way_of_removal_closes_holes_first() {
    let mut world = World::new();
    world.pool_mut::<A>().set_removal(Removal::Deferred).unwrap();
    let entities: Vec<Entity> = (0..10).map(|n| world.spawn(A(n))).collect();
    entities[2..5].iter().for_each(|e| assert!(world.remove::<A>(*e).unwrap()));
    world.pool_mut::<A>().set_removal(Removal::Swap).unwrap();
    assert_eq!((world.pool_mut::<A>().holes(), world.validate()), (0, Ok(())));
    assert_eq!(values(&mut world), [0, 1, 5, 6, 7, 8, 9]);
    world.remove::<A>(entities[0]).unwrap();
    assert_eq!(values(&mut world), [9, 1, 5, 6, 7, 8]);
    // A component that no entity ever had.
    let mut world = World::new();
    assert_eq!(world.pool_mut::<A>().compact(3), 0);
    world.pool_mut::<A>().set_removal(Removal::Ordered).unwrap();
    assert_eq!(world.pool_mut::<A>().removal(), Removal::Ordered);
}

#[test]
fn a_despawned_member_leaves_its_groups_wherever_it_is_in_the_index() {
    let mut world = World::new();
    let outer = world.create_group::<Owned<(A, C)>>().unwrap();
    let inner = world.create_group::<(Owned<(A, C)>, Without<D>)>().unwrap();
    let all: Vec<Entity> = (0..9000).map(|_| world.spawn_empty()).collect();
    // Most of them are beyond the window of an index with few keys.
    let few = [2, 8999, 5, 8000, 7000, 11].map(|n: usize| all[n]);
    for (n, entity) in (0..).zip(few) {
        world.insert(entity, A(n)).unwrap();
        world.add_row(Key::main(entity).with_role(Role(1)), A(100 + n)).unwrap();
        if n != 2 {
            world.insert(entity, C(1)).unwrap();
        }
        if n % 2 == 1 {
            world.insert(entity, D).unwrap();
        }
    }
    // A member of both groups, one of the outer group, and one of none.
    let lengths = [(4, 1), (3, 1), (3, 1), (2, 1), (1, 0), (0, 0)];
    for (gone, lengths) in [0, 1, 2, 3, 4, 5].map(|n| few[n]).into_iter().zip(lengths) {
        world.despawn(gone).unwrap();
        world.validate().unwrap();
        assert_eq!((outer.len(&world), inner.len(&world)), lengths);
    }
    assert_eq!(world.pool_mut::<A>().len(), 0);
}
