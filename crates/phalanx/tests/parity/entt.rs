//! Cases of EnTT.

use phalanx::group::{Observed, Owned};
use phalanx::{Component, Entity, Has, Removal, With, Without, World};
use std::sync::{Arc, Mutex};

#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool")]
struct Depth(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool")]
struct Sprite(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool")]
struct Hidden;

over_layouts! {
    fn values_are_patched_replaced_and_inserted_where_absent(world) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let sink = log.clone();
        world.on_set::<A>(move |event, _, _| sink.lock().unwrap().push(event.new.0));
        let e = world.spawn(A(1));
        assert_eq!(world.patch::<A, _>(e, |mut a| { a.0 += 1; a.0 }).unwrap(), 2);
        assert_eq!(world.replace(e, A(3)), Ok(A(2)));
        assert!(world.replace(e, B(3)).is_err());
        world.insert(e, (A(4), B(4))).unwrap();
        assert_eq!(world.entity_mut(e).unwrap().entry::<C>().or_insert(C(5)).0, 5);
        assert_eq!(*log.lock().unwrap(), [2, 3, 4]);
    }

    fn iterating_from_both_ends_meets_in_the_middle(world) {
        for n in 0..20 {
            match n % 3 {
                0 => _ = world.spawn(A(n)),
                1 => _ = world.spawn((A(n), B(n))),
                _ => _ = world.spawn((B(n), Mark)),
            }
        }
        let forward: Vec<u32> = world.query::<&A>().iter().map(|a| a.0).collect();
        let mut backward: Vec<u32> = world.query::<&A>().iter().rev().map(|a| a.0).collect();
        backward.reverse();
        assert_eq!(forward, backward);
        let query = world.query::<&A>();
        let (mut rows, mut seen) = (query.iter(), Vec::new());
        while let Some(first) = rows.next() {
            seen.push(first.0);
            seen.extend(rows.next_back().map(|a| a.0));
        }
        seen.sort_unstable();
        let mut all = forward.clone();
        all.sort_unstable();
        assert_eq!(seen, all);
    }

    fn clones_of_one_bundle_for_all_that_pass_a_filter(world) {
        let all: Vec<Entity> = (0..6).map(|n| if n % 2 == 0 { world.spawn(A(n)) } else { world.spawn((A(n), B(n))) }).collect();
        assert_eq!(world.insert_where::<(With<A>, Without<B>), _>((C(7), Mark)), 3);
        assert!(all.iter().zip(0..).all(|(e, n)| world.has::<C>(*e) == (n % 2 == 0) && world.has::<Mark>(*e) == (n % 2 == 0)));
        assert_eq!(world.remove_where::<With<C>, (A, Mark)>(), 3);
        assert_eq!((world.query::<&A>().len(), world.query::<Has<C>>().iter().filter(|has| *has).count()), (3, 3));
    }

    fn a_listener_hears_each_entity_of_a_batch(world) {
        let count = Arc::new(Mutex::new(0));
        let sink = count.clone();
        world.on_add::<A>(move |_, world, _| {
            assert_eq!(world.query::<&A>().len(), 5, "the batch is complete");
            *sink.lock().unwrap() += 1;
        });
        let made = world.spawn_batch((0..5).map(|n| (A(n), B(n))));
        assert_eq!((made.len(), *count.lock().unwrap()), (5, 5));
    }

    fn despawning_from_a_list_ignores_the_dead(world) {
        let all: Vec<Entity> = (0..10).map(|n| world.spawn((A(n), C(n)))).collect();
        world.despawn(all[3]).unwrap();
        assert_eq!(world.despawn_batch(all[2..6].iter().copied()), 3);
        assert!(world.query::<&C>().iter().map(|c| c.0).collect::<std::collections::BTreeSet<_>>().into_iter().eq([0, 1, 6, 7, 8, 9]));
    }
}

fn depths(world: &World) -> Vec<u32> {
    world.pool::<Depth>().iter().map(|(_, depth)| depth.0).collect()
}

#[test]
fn pools_are_sorted_wholly_partly_and_like_others() {
    let mut world = World::new();
    let all: Vec<Entity> = [4, 1, 3, 2].into_iter().map(|n| world.spawn((Depth(n), Sprite(10 * n)))).collect();
    let alone = world.spawn(Sprite(5));
    world.pool_mut::<Depth>().sort_by_key(|depth| depth.0).unwrap();
    assert_eq!(depths(&world), [1, 2, 3, 4]);
    world.pool_mut::<Sprite>().sort_like::<Depth>().unwrap();
    let sprites: Vec<Entity> = world.pool_mut::<Sprite>().entities().collect();
    assert_eq!(sprites, [all[1], all[3], all[2], all[0], alone]);
    world.pool_mut::<Depth>().sort_as([all[0], alone, all[2]]).unwrap();
    assert_eq!(depths(&world), [4, 3, 1, 2]);
    world.pool_mut::<Depth>().sort_first_by(3, |a, b| a.0.cmp(&b.0)).unwrap();
    assert_eq!(depths(&world), [1, 3, 4, 2]);
    world.pool_mut::<Depth>().swap(all[1], all[3]).unwrap();
    assert_eq!(depths(&world), [2, 3, 4, 1]);
    assert_eq!(world.get::<Depth>(all[1]).unwrap().0, 1, "positions were exchanged, not values");
    world.validate().unwrap();
}

#[test]
fn removal_in_place_leaves_holes_that_iteration_skips() {
    let mut world = World::new();
    world.pool_mut::<Depth>().set_removal(Removal::Deferred).unwrap();
    let all: Vec<Entity> = (0..8).map(|n| world.spawn(Depth(n))).collect();
    let address = |world: &World| core::ptr::from_ref(world.get::<Depth>(all[5]).unwrap());
    let before = address(&world);
    for at in [0, 3, 4, 6] {
        world.despawn(all[at]).unwrap();
    }
    assert_eq!(address(&world), before, "others do not move");
    assert_eq!(depths(&world), [1, 2, 5, 7]);
    assert!(world.query::<&Depth>().iter().rev().map(|d| d.0).eq([7, 5, 2, 1]));
    assert!(world.pool_mut::<Depth>().holes() > 0);
    world.pool_mut::<Depth>().compact(usize::MAX);
    assert_eq!((world.pool_mut::<Depth>().holes(), depths(&world)), (0, vec![1, 2, 5, 7]));
    world.validate().unwrap();
}

#[test]
fn groups_follow_what_their_members_have() {
    let mut world = World::new();
    let before = world.spawn((Depth(0), Sprite(0)));
    let owning = world.create_group::<(Owned<(Depth, Sprite)>, Without<Hidden>)>().unwrap();
    assert!(owning.contains(&world, before), "entities that existed are members");
    let all: Vec<Entity> = (1..6).map(|n| world.spawn((Sprite(n), Depth(10 - n)))).collect();
    world.insert(all[2], Hidden).unwrap();
    world.remove::<Sprite>(all[0]).unwrap();
    assert_eq!((owning.len(&world), owning.contains(&world, all[2])), (4, false));
    owning.sort_by_key(&mut world, |(_, sprite)| core::cmp::Reverse(sprite.0));
    let sprites: Vec<u32> = owning.iter(&world).map(|(_, sprite)| sprite.0).collect();
    assert_eq!(sprites, [5, 4, 2, 0]);
    assert!(owning.entities(&world).rev().eq([before, all[1], all[3], all[4]]));
    let (depth, sprite) = owning.get_mut(&mut world, all[4]).unwrap();
    (depth.0, sprite.0) = (70, 80);
    assert!(owning.get(&world, all[0]).is_err());
    world.remove::<Hidden>(all[2]).unwrap();
    assert_eq!(owning.len(&world), 5);
    world.validate().unwrap();
    // A second group that owns nothing, over the same pools.
    let observing = world.create_group::<Observed<(Sprite, Hidden)>>().unwrap();
    world.insert(all[3], Hidden).unwrap();
    assert!(observing.entities(&world).eq([all[3]]) && owning.len(&world) == 4);
    world.validate().unwrap();
}

#[cfg(feature = "snapshot")]
#[test]
fn a_snapshot_is_loaded_into_the_entities_of_the_last_one() {
    use phalanx::snapshot::{ContinuousLoader, Registry};
    #[derive(Component, serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    #[component(layout = "pool")]
    struct Saved(u32);
    let mut registry = Registry::new();
    registry.serde::<Saved>("saved").unwrap();
    let save = |world: &World| {
        let mut file = Vec::new();
        registry.save(world, &mut file).unwrap();
        file
    };
    let (mut there, mut here) = (World::new(), World::new());
    here.spawn(Saved(100));
    let [x, y] = [there.spawn(Saved(1)), there.spawn(())];
    let mut loader = ContinuousLoader::new();
    loader.load(&registry, &mut here, &*save(&there)).unwrap();
    assert_eq!((here.len(), here.get::<Saved>(loader.get(x).unwrap()).unwrap().0), (3, 1));
    let orphan = loader.get(y).unwrap();
    there.insert(y, Saved(2)).unwrap();
    there.despawn(x).unwrap();
    loader.load(&registry, &mut here, &*save(&there)).unwrap();
    assert_eq!((here.len(), loader.get(x), here.get::<Saved>(orphan).unwrap().0), (2, None, 2));
    here.validate().unwrap();
}
