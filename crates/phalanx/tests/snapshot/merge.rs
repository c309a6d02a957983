//! Worlds that are joined.

use crate::kit::*;
use phalanx::query::AllRows;
use phalanx::snapshot::Registry;
use phalanx::{Component, Entity, Key, MapEntities, Role, World};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

#[derive(MapEntities, Serialize, Deserialize, Debug, PartialEq, Clone)]
enum Order {
    Wait,
    Follow { leader: Entity, distance: f32 },
    Guard(Vec<Option<Entity>>, [Entity; 2]),
}

#[derive(Component, Serialize, Deserialize, Debug, PartialEq, Clone)]
#[component(entities)]
struct Mind {
    order: Order,
    trust: BTreeMap<Entity, u32>,
    debts: HashMap<String, Box<(Entity, f64)>>,
    #[entities(skip)]
    first_met: Entity,
}

#[test]
fn references_follow_into_every_container() {
    let mut registry = Registry::new();
    registry.serde::<Mind>("mind").unwrap();
    let mut scene = World::new();
    let [a, b, c] = [scene.spawn_empty(), scene.spawn_empty(), scene.spawn_empty()];
    let mind = |[a, b, c]: [Entity; 3], kept: Entity, order: Order| Mind {
        order,
        trust: [(a, 1), (b, 2), (c, 3)].into(),
        debts: [("x".to_string(), Box::new((c, 0.5)))].into(),
        first_met: kept,
    };
    let orders = |[a, b, c]: [Entity; 3]| {
        [Order::Wait, Order::Follow { leader: b, distance: 2.0 }, Order::Guard(vec![None, Some(c)], [a, b])]
    };
    for (e, order) in [a, b, c].into_iter().zip(orders([a, b, c])) {
        scene.insert(e, mind([a, b, c], a, order)).unwrap();
    }
    let mut file = Vec::new();
    registry.save(&scene, &mut file).unwrap();
    let mut world = World::new();
    let gone = world.spawn_empty();
    world.spawn_empty();
    world.despawn(gone).unwrap();
    for _ in 0..2 {
        let map = registry.merge(&mut world, &*file).unwrap();
        world.validate().unwrap();
        let new = [a, b, c].map(|e| map.get(e).unwrap());
        for (e, order) in new.into_iter().zip(orders(new)) {
            assert_eq!(world.get::<Mind>(e), Ok(&mind(new, a, order)));
        }
    }
    assert_eq!(world.len(), 7);
}

#[test]
fn merged_entities_enter_queries_and_so_do_their_extra_rows() {
    let mut scene = World::new();
    let there = scene.spawn((Name("there".into()), Position { x: 1.0, y: 2.0 }));
    scene.spawn(Name("nowhere".into()));
    scene.add_row(Key::main(there).with_role(Role(3)), Position { x: 3.0, y: 4.0 }).unwrap();
    let mut world = World::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    world.observe::<&Position, AllRows>().on_enter(move |entered, _, _| {
        sink.lock().unwrap().push((entered.key(), entered.item.x));
    });
    let map = registry().merge(&mut world, &*bytes(&scene)).unwrap();
    let new = Key::main(map.get(there).unwrap());
    assert_eq!(*seen.lock().unwrap(), [(new, 1.0), (new.with_role(Role(3)), 3.0)]);
}

#[test]
fn merging_leaves_what_is_there() {
    let mut world = World::new();
    let here = world.spawn((Name("here".into()), Position { x: 9.0, y: 9.0 }));
    world.insert_resource(Clock(1));
    let mut scene = World::new();
    let there = scene.spawn((Name("there".into()), Likes(vec![])));
    scene.insert(there, Likes(vec![Some(there), None])).unwrap();
    scene.insert_resource(Clock(2));
    scene.insert_resource(Score(3, "s".into()));
    let map = registry().merge(&mut world, &*bytes(&scene)).unwrap();
    world.validate().unwrap();
    let new = map.get(there).unwrap();
    assert_eq!(world.get::<Likes>(new).unwrap().0, [Some(new), None]);
    assert_eq!(world.get::<Name>(here).unwrap().0, "here");
    assert_eq!((world.resource::<Clock>().unwrap().0, world.resource::<Score>().unwrap().0), (1, 3));
}

#[test]
fn h65_a_failed_merge_leaves_the_world_as_it_was() {
    let mut target = world(1, 80);
    let before = bytes(&target);
    let mut scene = World::new();
    scene.spawn((Name("a".into()), Burning(1), Health(2), Position { x: 0.0, y: 0.0 }));
    let file = bytes(&scene);
    for len in 0..file.len() {
        assert!(registry().merge(&mut target, &file[..len]).is_err());
    }
    target.validate().unwrap();
    assert!(bytes(&target) == before);
}

#[test]
fn everything_of_every_layout_comes_along() {
    for seed in 0..10 {
        let (scene, mut target) = (world(seed, 120), world(seed + 100, 60));
        let before = target.len();
        let map = registry().merge(&mut target, &*bytes(&scene)).unwrap();
        target.validate().unwrap();
        assert_eq!((map.len(), target.len()), (scene.len(), before + scene.len()));
        for (old, new) in map.iter() {
            assert_eq!(scene.get::<Position>(old).ok(), target.get::<Position>(new).ok());
            assert_eq!(scene.get::<Velocity>(old).ok(), target.get::<Velocity>(new).ok());
            assert_eq!(scene.get::<Title>(old).ok(), target.get::<Title>(new).ok());
            assert_eq!(scene.get::<Burning>(old).ok(), target.get::<Burning>(new).ok());
            assert_eq!(scene.get::<Path>(old).ok(), target.get::<Path>(new).ok());
            assert_eq!(scene.get::<Health>(old).ok(), target.get::<Health>(new).ok());
            assert_eq!(scene.has::<Seen>(old), target.has::<Seen>(new));
            assert_eq!(scene.rows(old).unwrap().count(), target.rows(new).unwrap().count());
            let mapped = |likes: &Likes| likes.0.iter().map(|e| e.map(|e| map.get(e).unwrap_or(e))).collect::<Vec<_>>();
            assert_eq!(scene.get::<Likes>(old).ok().map(mapped), target.get::<Likes>(new).ok().map(|l| l.0.clone()));
        }
    }
}

/// Returns a world whose listeners write down the events.
fn listening() -> (World, Arc<Mutex<Vec<String>>>) {
    let (mut world, words) = (World::new(), Arc::new(Mutex::new(Vec::new())));
    let sink = words.clone();
    world.on_spawn(move |spawned, world, _| {
        assert!(world.contains(spawned.entity));
        sink.lock().unwrap().push(format!("spawned {}", spawned.entity.index()));
    });
    let sink = words.clone();
    world.on_add::<Name>(move |added, world, commands| {
        // All of it is there: who comes later, and resources.
        let others = world.query_filtered::<&Name, AllRows>().len();
        let clock = world.resource::<Clock>().map_or(0, |clock| clock.0);
        let line = format!("{} of {} beside {others} at {clock}", added.value.0, added.entity.index());
        sink.lock().unwrap().push(line);
        if added.key().is_main() {
            commands.insert(added.entity, Marked);
        }
    });
    let sink = words.clone();
    world.on_add::<Burning>(move |added, _, _| sink.lock().unwrap().push(format!("burning {}", added.value.0)));
    (world, words)
}

fn taken(words: &Mutex<Vec<String>>) -> Vec<String> {
    core::mem::take(&mut words.lock().unwrap())
}

fn told_scene() -> Vec<u8> {
    let mut scene = World::new();
    let a = scene.spawn(Name("a".into()));
    scene.spawn((Burning(7), Name("b".into())));
    scene.add_row(Key::main(a).with_role(Role(1)), Name("row".into())).unwrap();
    // Of another table than its neighbours.
    scene.spawn((Name("c".into()), Enemy));
    scene.insert_resource(Clock(5));
    bytes(&scene)
}

#[test]
fn listeners_are_told_of_what_is_merged_when_all_is_in_place() {
    let (mut world, words) = listening();
    let file = told_scene();
    assert!(registry().merge(&mut world, &file[..file.len() - 1]).is_err());
    assert!(taken(&words).is_empty());
    let map = registry().merge(&mut world, &*file).unwrap();
    let old = registry().load(&*file).unwrap();
    let new: Vec<_> = old.iter().map(|e| map.get(e).unwrap().index()).collect();
    let told = taken(&words);
    let expected = [
        format!("spawned {}", new[0]),
        format!("a of {} beside 4 at 5", new[0]),
        format!("row of {} beside 4 at 5", new[0]),
        format!("spawned {}", new[1]),
        format!("b of {} beside 4 at 5", new[1]),
        "burning 7".into(),
        format!("spawned {}", new[2]),
        format!("c of {} beside 4 at 5", new[2]),
    ];
    // The components of one row come by their ids.
    assert_eq!(told.len(), expected.len(), "{told:?}");
    assert!(expected.iter().all(|line| told.contains(line)), "{told:?}");
    let spawned = |told: &[String]| told.iter().filter(|line| line.starts_with("spawned")).cloned().collect::<Vec<_>>();
    assert_eq!(spawned(&told), spawned(&expected));
    assert_eq!(told[..3], expected[..3]);
    // What they recorded was carried out.
    assert_eq!(world.query::<&Marked>().len(), 3);
    world.validate().unwrap();
}

#[test]
fn a_quiet_merge_tells_nobody() {
    let (mut world, words) = listening();
    let named = world.collector().added::<Name>().build();
    let reserved = world.reserve_entity();
    let map = registry().merge_silent(&mut world, &*told_scene()).unwrap();
    assert_eq!((map.len(), world.len()), (3, 4));
    // Entities that were reserved before are not part of the merge.
    assert_eq!(taken(&words), [format!("spawned {}", reserved.index())]);
    assert_eq!((named.drain(&mut world).len(), world.query::<&Marked>().len()), (0, 0));
    assert!(registry().merge_silent(&mut world, &b"nothing"[..]).is_err());
    world.spawn(Name("d".into()));
    assert_eq!((taken(&words).len(), named.drain(&mut world).len()), (2, 1));
    world.validate().unwrap();
}

#[test]
fn a_panic_while_merging_leaves_the_listeners_connected() {
    #[derive(Serialize, Deserialize)]
    struct Angry;
    impl Component for Angry {
        type Layout = phalanx::layout::Table;
        const ENTITIES: Option<phalanx::derived::VisitEntities<Angry>> = Some(|_, _| panic!("not me"));
    }
    let mut registry = Registry::new();
    registry.tag("angry", || Angry).unwrap();
    let (mut scene, mut file) = (World::new(), Vec::new());
    scene.spawn(Angry);
    registry.save(&scene, &mut file).unwrap();
    let (mut world, words) = listening();
    let caught = phalanx_testkit::catch(|| registry.merge_silent(&mut world, &*file).map(drop));
    assert!(caught.is_err());
    world.spawn(Name("a".into()));
    assert_eq!(taken(&words).len(), 2);
    world.validate().unwrap();
}
