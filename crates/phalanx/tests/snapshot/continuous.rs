//! Snapshots that are loaded into the entities of earlier loads.

use crate::kit::*;
use phalanx::relation::ChildOf;
use phalanx::snapshot::{ContinuousLoader, LoadError, Part, Problem, Registry};
use phalanx::{Component, Entity, Key, Relation, Role, StructuralError, World};
use phalanx_testkit::{AllocationSweep, Rng, catch};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::BTreeMap;

#[derive(Relation)]
#[relation(one_to_one)]
struct DockedAt;

#[derive(Relation)]
#[relation(tree, on_despawn = "refuse")]
struct Holds;

/// Only in the world that loads.
#[derive(Component, Debug, PartialEq)]
struct Sprite(String);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "pool")]
struct Sound(u32);

fn registry() -> Registry {
    let mut registry = new_registry();
    registry.relation::<ChildOf>("child of").unwrap();
    registry.relation::<DockedAt>("docked at").unwrap();
    registry.relation::<Holds>("holds").unwrap();
    registry
}

fn saved(registry: &Registry, world: &World) -> Vec<u8> {
    let mut file = Vec::new();
    registry.save(world, &mut file).unwrap();
    file
}

/// The registered components of a row, with entities changed by a function.
fn row(world: &World, key: Key, map: &dyn Fn(Entity) -> Option<Entity>) -> String {
    let row = world.row(key).unwrap();
    let likes = row.get::<Likes>().ok().map(|likes| likes.0.iter().map(|one| one.map(map)).collect::<Vec<_>>());
    let table = (row.get::<Position>().ok(), row.get::<Velocity>().ok(), row.get::<Name>().ok(), row.has::<Enemy>());
    let pools = (row.get::<Burning>().ok(), row.get::<Title>().ok(), row.has::<Marked>());
    let linear = (row.get::<Health>().ok(), row.get::<Path>().ok(), row.has::<Seen>());
    let armor = row.get::<Armor>().ok().map(|armor| armor.0);
    let rage = row.get::<Rage>().ok().map(|rage| rage.0.clone());
    let tracked = (armor, row.get::<Mana>().ok(), rage, row.get::<Breath>().ok().map(|b| b.0), row.has::<Alert>());
    format!("{likes:?} {table:?} {pools:?} {linear:?} {tracked:?}")
}

/// Checks that the entities of a load are those of the snapshot.
fn check(server: &World, client: &World, loader: &ContinuousLoader) {
    client.validate().unwrap();
    assert_eq!(loader.entities().len(), server.len());
    let here = |e: Entity| loader.get(e).filter(|_| server.contains(e));
    for e in server.iter() {
        let to = here(e).expect("a saved entity that was loaded");
        for (key, _) in server.rows(e).unwrap() {
            let component =
                key.component.map(|id| client.components().find(server.components().info(id).name()).unwrap());
            let at = Key { entity: to, component, role: key.role };
            // A handle of a dead entity means nothing.
            let theirs = row(server, key, &|e| if server.contains(e) { here(e) } else { Some(e) });
            assert_eq!(row(client, at, &Some), theirs, "{key}");
        }
        let children = |world: &World, e| world.relations::<ChildOf>().children(e).collect::<Vec<Entity>>();
        let mine: Vec<_> = children(client, to).into_iter().filter(|e| client.get::<Sound>(*e).is_err()).collect();
        assert_eq!(mine, children(server, e).into_iter().map(|e| here(e).unwrap()).collect::<Vec<_>>());
        assert_eq!(
            client.relations::<DockedAt>().target(to),
            server.relations::<DockedAt>().target(e).map(|e| here(e).unwrap())
        );
    }
}

#[test]
fn a_world_follows_the_snapshots_of_another() {
    let registry = registry();
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let (mut server, mut client) = (World::new(), World::new());
        let mut loader = ContinuousLoader::new();
        let own: Vec<Entity> = (0..5).map(|n| client.spawn((Sound(n), Health(n as u16)))).collect();
        // What the client has added to the entities of the snapshots.
        let mut added: BTreeMap<Entity, String> = BTreeMap::new();
        for round in 0..12 {
            grow(&mut server, &mut rng, 30);
            let all: Vec<Entity> = server.iter().collect();
            for _ in 0..8 {
                let (Some(&a), Some(&b)) = (rng.pick(&all), rng.pick(&all)) else { continue };
                match rng.below(4) {
                    0 | 1 => drop(server.relations_mut::<ChildOf>().link(a, b)),
                    2 => drop(server.relations_mut::<DockedAt>().link(a, b)),
                    _ => drop(server.relations_mut::<ChildOf>().unlink(a)),
                }
            }
            let before = loader.clone();
            let alive = |(_, e): &(Entity, Entity)| client.contains(*e);
            let known = before.entities().iter().filter(alive).count();
            let file = saved(&registry, &server);
            let summary = loader.load(&registry, &mut client, &*file).unwrap();
            check(&server, &client, &loader);
            assert_eq!(summary.spawned + summary.updated, server.len());
            assert_eq!(summary.updated + summary.despawned, known);
            // Entities stay the same as long as they are in the snapshots.
            for (e, here) in before.entities().iter() {
                assert!(!server.contains(e) || loader.get(e) == Some(here) || round > 0 && !added.contains_key(&here));
            }
            assert!((0..5).all(|n| client.get::<Sound>(own[n as usize]) == Ok(&Sound(n))));
            added.retain(|e, _| client.contains(*e));
            for (e, sprite) in &added {
                assert_eq!(client.get::<Sprite>(*e).unwrap().0, *sprite);
                assert!(client.row(Key::main(*e).with_role(Role(77))).is_ok());
            }
            // The same again changes nothing.
            let again = loader.load(&registry, &mut client, &*file).unwrap();
            assert_eq!((again.spawned, again.despawned), (0, 0));
            check(&server, &client, &loader);
            let here: Vec<Entity> = loader.entities().iter().map(|(_, here)| here).collect();
            for _ in 0..4 {
                let Some(&e) = rng.pick(&here) else { continue };
                if !client.contains(e) {
                    continue;
                }
                match rng.below(6) {
                    0 => {
                        client.despawn(e).unwrap();
                        added.retain(|e, _| client.contains(*e));
                    }
                    1 => drop(client.remove::<(Position, Burning, Health)>(e)),
                    2 => {
                        let own = client.spawn(Sound(99));
                        client.relations_mut::<ChildOf>().link(own, e).unwrap();
                    }
                    3 => drop(client.relations_mut::<ChildOf>().link(e, own[1])),
                    _ if added.contains_key(&e) => {}
                    _ => {
                        let sprite = format!("sprite {round}");
                        client.insert(e, Sprite(sprite.clone())).unwrap();
                        client.add_row(Key::main(e).with_role(Role(77)), Sprite(sprite.clone())).unwrap();
                        added.insert(e, sprite);
                    }
                }
            }
        }
        // An empty snapshot: only what is the client's own is left.
        let mut file = Vec::new();
        registry.save_part(&server, &Part::of([]), &mut file).unwrap();
        loader.load(&registry, &mut client, &*file).unwrap();
        client.validate().unwrap();
        assert!(client.iter().all(|e| client.has::<Sound>(e)));
    }
}

#[test]
fn resources_are_replaced() {
    let registry = registry();
    let (mut server, mut client, mut loader) = (World::new(), World::new(), ContinuousLoader::new());
    for n in 0..3 {
        server.insert_resource(Clock(n));
        loader.load(&registry, &mut client, &*saved(&registry, &server)).unwrap();
        assert_eq!(client.resource(), Ok(&Clock(n)));
    }
}

fn problem(error: LoadError) -> StructuralError {
    match error.problem {
        Problem::Merge(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn loads_that_the_world_cannot_follow_are_refused() {
    let registry = registry();
    let (mut server, mut client, mut loader) = (World::new(), World::new(), ContinuousLoader::new());
    let [a, b] = [server.spawn(Health(1)), server.spawn(Health(2))];
    let before = client.checkpoint().unwrap();
    loader.load(&registry, &mut client, &*saved(&registry, &server)).unwrap();
    let [here, there] = [a, b].map(|e| loader.get(e).unwrap());
    // Another world.
    let mut other = World::new();
    let error = loader.load(&registry, &mut other, &*saved(&registry, &server)).unwrap_err();
    assert!(matches!(problem(error), StructuralError::AnotherWorld { entity } if entity == here));
    assert_eq!(other.len(), 0);
    // A despawn that a relation refuses: the rest of the load is not done either.
    client.relations_mut::<Holds>().link(there, here).unwrap();
    let keeper = client.spawn_empty();
    client.relations_mut::<Holds>().link(keeper, there).unwrap();
    server.despawn(b).unwrap();
    server.get_mut::<Health>(a).unwrap().0 = 9;
    server.spawn(Health(5));
    let sum = registry.checksum(&client).unwrap();
    let error = loader.load(&registry, &mut client, &*saved(&registry, &server)).unwrap_err();
    assert!(matches!(problem(error), StructuralError::Relation(_)), "{error:?}");
    assert_eq!((registry.checksum(&client), loader.get(b)), (Ok(sum), Some(there)));
    client.relations_mut::<Holds>().unlink(keeper).unwrap();
    loader.load(&registry, &mut client, &*saved(&registry, &server)).unwrap();
    assert_eq!((client.len(), client.get::<Health>(here)), (3, Ok(&Health(9))));
    // Bytes that are not a snapshot.
    assert!(loader.load(&registry, &mut client, &b"junk"[..]).is_err());
    // A time that was undone.
    client.rollback(&before).unwrap();
    let error = loader.load(&registry, &mut client, &*saved(&registry, &server)).unwrap_err();
    assert!(matches!(problem(error), StructuralError::RolledBack { .. }));
    loader.clear();
    loader.load(&registry, &mut client, &*saved(&registry, &server)).unwrap();
    assert_eq!(client.len(), 2);
}

#[test]
fn a_lack_of_memory_changes_nothing() {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap();
    registry.plain::<Velocity>("velocity").unwrap();
    registry.tag("marked", || Marked).unwrap();
    registry.plain::<Health>("health").unwrap();
    registry.plain::<Armor>("armor").unwrap();
    registry.relation::<ChildOf>("child of").unwrap();
    let mut server = World::new();
    let all: Vec<Entity> =
        (0..6).map(|n| server.spawn((Health(n), Velocity { x: 1.0, y: n }, Armor(n.into())))).collect();
    server.relations_mut::<ChildOf>().link(all[1], all[0]).unwrap();
    server.relations_mut::<ChildOf>().link(all[2], all[0]).unwrap();
    server.add_row(Key::main(all[3]).with_role(Role(1)), (Marked, Health(7))).unwrap();
    let first = saved(&registry, &server);
    server.relations_mut::<ChildOf>().link(all[0], all[5]).unwrap();
    server.relations_mut::<ChildOf>().unlink(all[1]).unwrap();
    server.despawn(all[4]).unwrap();
    server.insert(all[2], (Position { x: 1.0, y: 2.0 }, Marked)).unwrap();
    server.remove::<Velocity>(all[3]).unwrap();
    server.remove_row(Key::main(all[3]).with_role(Role(1))).unwrap();
    server.add_row(Key::main(all[1]).with_role(Role(2)), Health(8)).unwrap();
    (0..3).for_each(|n| drop(server.spawn((Marked, Health(20 + n)))));
    let second = saved(&registry, &server);
    let failures = AllocationSweep::new().run(
        || {
            let (mut client, mut loader) = (World::new(), ContinuousLoader::new());
            client.spawn((Sound(1), Health(90)));
            loader.load(&registry, &mut client, &*first).unwrap();
            let sum = registry.clone_of_checksum(&client);
            (client, loader, sum)
        },
        |(client, loader, _)| loader.load(&registry, client, &*second),
        |(client, loader, sum), outcome| {
            client.validate().unwrap();
            match outcome {
                Ok(summary) => assert_eq!((summary.spawned, summary.updated, summary.despawned), (3, 5, 1)),
                Err(_) => {
                    assert_eq!(registry.clone_of_checksum(client), *sum);
                    assert!(loader.get(all[4]).is_some_and(|e| client.contains(e)));
                }
            }
        },
    );
    assert!(failures > 50, "{failures}");
}

/// The checksum of what is registered: the sounds of the client are not.
trait ChecksumOfPart {
    fn clone_of_checksum(&self, world: &World) -> Vec<u8>;
}

impl ChecksumOfPart for Registry {
    fn clone_of_checksum(&self, world: &World) -> Vec<u8> {
        let mut registry = Registry::new();
        registry.plain::<Position>("position").unwrap();
        registry.plain::<Velocity>("velocity").unwrap();
        registry.tag("marked", || Marked).unwrap();
        registry.plain::<Health>("health").unwrap();
        registry.plain::<Armor>("armor").unwrap();
        registry.relation::<ChildOf>("child of").unwrap();
        registry.skip_unregistered();
        saved(&registry, world)
    }
}

std::thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
    /// The destructor that panics; none, if it is zero.
    static FUSE: Cell<u32> = const { Cell::new(0) };
}

/// A value that is counted, and whose destructor panics on order.
#[derive(Component, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
struct Live(u32);

impl Clone for Live {
    fn clone(&self) -> Live {
        Live::from(self.0)
    }
}
impl From<u32> for Live {
    fn from(n: u32) -> Live {
        LIVE.set(LIVE.get() + 1);
        Live(n)
    }
}
impl From<Live> for u32 {
    fn from(live: Live) -> u32 {
        live.0
    }
}
impl Drop for Live {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
        let left = FUSE.get();
        FUSE.set(left.saturating_sub(1));
        assert!(left != 1 || std::thread::panicking(), "ordered");
    }
}

#[test]
fn values_are_dropped_once_also_if_a_destructor_or_a_listener_panics() {
    let mut registry = Registry::new();
    registry.serde::<Live>("live").unwrap();
    let mut server = World::new();
    let all: Vec<Entity> = (0..4).map(|n| server.spawn(Live::from(n))).collect();
    let first = saved(&registry, &server);
    server.despawn(all[0]).unwrap();
    server.spawn(Live::from(9));
    let second = saved(&registry, &server);
    drop(server);
    assert_eq!(LIVE.get(), 0);
    for fuse in 0..5 {
        for listens in [false, true] {
            let (mut client, mut loader) = (World::new(), ContinuousLoader::new());
            loader.load(&registry, &mut client, &*first).unwrap();
            if listens {
                client.on_add::<Live>(|_, _, _| panic!("a listener"));
            }
            FUSE.set(fuse);
            let panicked = catch(|| loader.load(&registry, &mut client, &*second).map(|_| ()).unwrap()).is_err();
            FUSE.set(0);
            assert_eq!(panicked, listens || fuse > 0);
            client.validate().unwrap();
            // The load stands.
            let mut found: Vec<u32> = client.query::<&Live>().iter().map(|live| live.0).collect();
            found.sort();
            assert_eq!(found, [1, 2, 3, 9]);
            assert_eq!(LIVE.get(), 4);
            drop(client);
            assert_eq!(LIVE.get(), 0);
        }
    }
}

#[test]
fn names_follow_a_snapshot() {
    let mut registry = Registry::new();
    registry.relation::<ChildOf>("child of").unwrap();
    registry.names("name").unwrap();
    let (mut server, mut client) = (World::new(), World::new());
    let mut loader = ContinuousLoader::new();
    let fleet = server.spawn_named("fleet", ()).unwrap();
    let [a, b] = ["a", "b"].map(|name| server.entity_mut(fleet).unwrap().spawn_child_named(name, ()).unwrap());
    let mut load = |server: &World, client: &mut World| {
        let loaded = loader.load(&registry, client, &saved(&registry, server)[..]).map(|_| ());
        client.validate().unwrap();
        (loaded, server.iter().all(|e| loader.get(e).is_some_and(|here| client.path(here) == server.path(e))))
    };
    assert!(matches!(load(&server, &mut client), (Ok(()), true)));
    assert!(client.find("fleet/a").is_some());
    // Two entities swap their names, and one that comes takes the name of one that goes.
    server.entity_mut(a).unwrap().set_name("c").unwrap();
    server.entity_mut(b).unwrap().set_name("a").unwrap();
    server.entity_mut(a).unwrap().set_name("b").unwrap();
    assert!(matches!(load(&server, &mut client), (Ok(()), true)));
    server.despawn(a).unwrap();
    server.entity_mut(fleet).unwrap().spawn_child_named("b", ()).unwrap();
    server.entity_mut(b).unwrap().remove_name().unwrap();
    assert!(matches!(load(&server, &mut client), (Ok(()), true)));
    // A name that an entity of the world itself has is an error, and nothing changes.
    let port = client.spawn_named("port", ()).unwrap();
    server.entity_mut(fleet).unwrap().set_name("port").unwrap();
    let before = client.path(client.find("fleet/b").unwrap());
    let (outcome, _) = load(&server, &mut client);
    assert!(outcome.unwrap_err().to_string().contains(&port.to_string()));
    assert_eq!(client.path(client.find("fleet/b").unwrap()), before);
    client.despawn(port).unwrap();
    assert!(matches!(load(&server, &mut client), (Ok(()), true)));
}
