//! Cases of shipyard.

use phalanx::query::IsEmpty;
use phalanx::signal::Change;
use phalanx::{Component, Entity, Or, StructuralError, With, Without, World};
use std::sync::{Arc, Mutex};

#[derive(Component, Clone, Debug, PartialEq)]
struct Kept(u32);

over_layouts! {
    fn all_that_have_any_of_some_components_are_despawned(world) {
        let all = [world.spawn(A(0)), world.spawn((A(1), B(1))), world.spawn(B(2)), world.spawn(Kept(3)), world.spawn(())];
        assert_eq!(world.despawn_where::<Or<(With<A>, With<B>)>>(), 3);
        assert_eq!(all.map(|e| world.contains(e)), [false, false, false, true, true]);
        assert_eq!(world.despawn_where::<IsEmpty>(), 1);
        assert_eq!(world.despawn_where::<Without<A>>(), 1);
    }

    fn an_entity_loses_all_components_but_some(world) {
        let e = world.spawn((A(1), B(2), C(3), Kept(4)));
        world.entity_mut(e).unwrap().retain::<(B, Kept)>();
        assert_eq!([world.has::<A>(e), world.has::<B>(e), world.has::<C>(e), world.has::<Kept>(e)], [false, true, false, true]);
        world.entity_mut(e).unwrap().retain::<()>();
        assert!(world.contains(e) && world.orphans().eq([e]));
    }

    fn values_are_kept_by_a_function(world) {
        let all: Vec<Entity> = (0..10).map(|n| world.spawn((A(n), B(n)))).collect();
        assert_eq!(world.component_mut::<A>().retain(|e, a| a.0 % 2 == 0 && e != all[4]), 6);
        let kept: Vec<bool> = all.iter().map(|e| world.has::<A>(*e)).collect();
        assert_eq!(kept, [true, false, true, false, false, false, true, false, true, false]);
        assert_eq!(world.query::<&B>().len(), 10);
    }

    fn two_entities_exchange_their_values(world) {
        let [x, y] = [world.spawn((A(1), Kept(1))), world.spawn(A(2))];
        {
            let mut query = world.query_mut::<&mut A>();
            let [mut a, mut b] = query.get_many_mut([x, y]).unwrap();
            core::mem::swap(&mut *a, &mut *b);
        }
        assert_eq!([x, y].map(|e| world.get::<A>(e).unwrap().0), [2, 1]);
    }

    fn old_handles_get_nothing(world) {
        let old = world.spawn((A(1), B(1)));
        world.despawn(old).unwrap();
        let new = world.spawn((A(2), B(2)));
        assert!(world.insert(old, A(9)).is_err() && world.take::<A>(old).is_err() && world.patch::<A, _>(old, |_| ()).is_err());
        assert!(matches!(world.try_insert(old, (A(8), B(8))), Err(StructuralError::NoSuchEntity(_))));
        assert_eq!((world.get::<A>(new).unwrap().0, world.get::<B>(new).unwrap().0), (2, 2));
    }

    fn removed_and_despawned_values_are_told_apart_and_kept(world) {
        let past = world.collector().set::<A>().removed::<A>().keep_values::<A>();
        let despawned = world.collector().despawned().build();
        let [x, y] = [world.spawn((A(1), B(1))), world.spawn(A(2))];
        world.insert(x, A(3)).unwrap();
        world.remove::<A>(x).unwrap();
        world.despawn(y).unwrap();
        let seen: Vec<_> = past.drain(&mut world).into_iter().map(|past| (past.entity, past.change, past.value.0)).collect();
        assert_eq!(seen, [(x, Change::Set, 1), (x, Change::Removed, 3), (y, Change::Removed, 2)]);
        assert_eq!(despawned.drain(&mut world), [y]);
    }

    fn a_listener_of_removals_also_hears_despawns_and_clears(world) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = heard.clone();
        world.on_remove::<A>(move |removed, _, _| sink.lock().unwrap().push(removed.value.0));
        let all: Vec<Entity> = (0..5).map(|n| world.spawn(A(n))).collect();
        world.despawn(all[2]).unwrap();
        world.remove::<A>(all[0]).unwrap();
        world.component_mut::<A>().clear();
        assert_eq!(world.despawn_batch([all[1], all[1], all[4]]), 2);
        let mut heard = heard.lock().unwrap();
        assert_eq!(heard[..2], [2, 0]);
        heard.sort_unstable();
        assert_eq!(*heard, [0, 1, 2, 3, 4]);
    }

    fn handles_are_made_alive_in_any_order(world) {
        let mut other = World::new();
        let handles: Vec<Entity> = (0..6).map(|_| other.spawn(())).collect();
        for at in [5, 1, 3, 0] {
            world.spawn_at(handles[at], (A(at as u32), B(0))).unwrap();
        }
        assert!([0, 1, 3, 5].iter().all(|at| world.get::<A>(handles[*at]).unwrap().0 == *at as u32));
        let made: Vec<Entity> = (0..3).map(|n| world.spawn(A(n))).collect();
        assert!(made.iter().all(|e| [2, 4, 6].contains(&e.index())), "{made:?}");
        assert_eq!(world.len(), 7);
    }

    fn iterating_with_handles_and_exclusions(world) {
        let all: Vec<Entity> = (0..12)
            .map(|n| match n % 4 {
                0 => world.spawn(A(n)),
                1 => world.spawn((A(n), B(n))),
                2 => world.spawn((A(n), C(n))),
                _ => world.spawn((A(n), B(n), C(n))),
            })
            .collect();
        let mut without: Vec<_> = world.query_filtered::<(Entity, &A), Without<B>>().iter().map(|(e, a)| (e, a.0)).collect();
        without.sort_unstable_by_key(|(_, n)| *n);
        assert_eq!(without, [0, 2, 4, 6, 8, 10].map(|n| (all[n as usize], n)));
        assert_eq!(world.query_filtered::<(&B, &A), With<C>>().iter().map(|(b, a)| b.0 + a.0).sum::<u32>(), 2 * (3 + 7 + 11));
    }

    fn an_operation_on_a_dead_entity_drops_what_it_got(world) {
        let dead = world.spawn(A(1));
        world.despawn(dead).unwrap();
        let value = Arc::new(());
        #[derive(Component)]
        struct Shared(#[allow(dead_code)] Arc<()>);
        assert!(world.insert(dead, (A(1), Shared(value.clone()))).is_err());
        assert!(world.insert_batch([(dead, (B(1), Shared(value.clone())))]).is_err());
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn resources_are_unique_and_come_back_from_a_scope_that_panics() {
    struct Score(u32);
    let mut world = World::new();
    assert!(world.resource::<Score>().is_err());
    assert!(world.insert_resource(Score(1)).is_none());
    assert_eq!(world.insert_resource(Score(2)).map(|old| old.0), Some(1));
    world.resource_mut::<Score>().unwrap().0 += 1;
    let panicked = phalanx_testkit::catch(|| world.resource_scope::<Score, ()>(|_, _| panic!("ordered")));
    assert!(panicked.is_err());
    assert_eq!(world.resource::<Score>().unwrap().0, 3);
    let id = world.resource_id::<Score>().unwrap();
    assert!(world.resource_by_id(id).unwrap().is::<Score>());
    assert_eq!(world.remove_resource::<Score>().unwrap().0, 3);
    assert_eq!(world.resource_or_insert_with(|| Score(9)).0, 9);
    assert_eq!(world.resource_or_insert_with(|| Score(10)).0, 9);
}
