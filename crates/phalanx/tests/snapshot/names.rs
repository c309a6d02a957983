//! Names of entities in snapshots.

use crate::forge::Forged;
use phalanx::relation::ChildOf;
use phalanx::snapshot::{Part, Problem, Registry, SaveError};
use phalanx::{Entity, NameError, RelationError, StructuralError, World};

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.relation::<ChildOf>("child of").unwrap();
    registry.names("name").unwrap();
    registry
}

/// Two ships, each with a gun and a mast.
fn ships() -> (World, Vec<Entity>) {
    let (mut world, mut all) = (World::new(), Vec::new());
    for name in ["bounty", "argo"] {
        let ship = world.spawn_named(name, ()).unwrap();
        all.push(ship);
        for name in ["gun", "mast"] {
            all.push(world.entity_mut(ship).unwrap().spawn_child_named(name, ()).unwrap());
        }
    }
    (world, all)
}

fn saved(world: &World) -> Vec<u8> {
    let mut file = Vec::new();
    registry().save(world, &mut file).unwrap();
    file
}

#[test]
fn names_are_saved_and_loaded() {
    let (world, all) = ships();
    let mut loaded = registry().load(&*saved(&world)).unwrap();
    loaded.validate().unwrap();
    assert_eq!((loaded.find("argo/mast"), loaded.find("mast")), (Some(all[5]), None));
    assert_eq!(loaded.spawn_named("argo", ()), Err(NameError::Taken { holder: all[3] }));
    let mut json = Vec::new();
    registry().serialize(&world, &mut serde_json::Serializer::new(&mut json)).unwrap();
    let text = String::from_utf8(json).unwrap();
    assert!(text.contains("\"bounty\""), "{text}");
    let read = registry().deserialize(&mut serde_json::Deserializer::from_str(&text)).unwrap();
    assert_eq!(saved(&read), saved(&world));
}

#[test]
fn names_that_are_not_registered_are_an_error() {
    let (world, _) = ships();
    let mut registry = Registry::new();
    registry.relation::<ChildOf>("child of").unwrap();
    let error = registry.save(&world, std::io::sink()).unwrap_err();
    assert!(matches!(error, SaveError::Unregistered { .. }), "{error}");
    registry.skip_unregistered();
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    assert_eq!(registry.load(&*file).unwrap().find("argo"), None);
}

#[test]
fn a_part_in_which_siblings_have_the_same_name_is_refused() {
    let ((world, all), registry) = (ships(), registry());
    // Without their ships, both guns are without a parent.
    let guns = Part::of([all[1], all[4]]);
    let error = registry.save_part(&world, &guns, std::io::sink()).unwrap_err();
    assert_eq!(error, SaveError::NameTaken { entity: all[4], holder: all[1] });
    assert_eq!(registry.save_part(&world, &Part::all().components(["name"]), std::io::sink()), Err(error));
    let mut file = Vec::new();
    registry.save_part(&world, &Part::of([all[1], all[5], all[3]]), &mut file).unwrap();
    let part = registry.load(&*file).unwrap();
    assert_eq!((part.find("gun"), part.find("argo/mast")), (Some(all[1]), Some(all[5])));
    part.validate().unwrap();
}

#[test]
fn a_merge_that_makes_a_clash_is_refused_and_names_the_holder() {
    let ((world, all), registry) = (ships(), registry());
    let mut other = World::new();
    let argo = other.spawn_named("argo", ()).unwrap();
    let error = registry.merge(&mut other, &*saved(&world)).unwrap_err();
    let taken = RelationError::NameTaken { entity: all[3], holder: argo };
    assert_eq!(error.problem, Problem::Merge(StructuralError::Relation(taken)));
    assert_eq!(other.len(), 1);
    other.validate().unwrap();
    other.entity_mut(argo).unwrap().set_name("fleet").unwrap();
    let map = registry.merge(&mut other, &*saved(&world)).unwrap();
    assert_eq!(other.find("argo/gun"), map.get(all[4]));
    other.validate().unwrap();
}

#[test]
fn h100_names_that_are_none_or_are_taken_are_refused() {
    let ((world, _), registry) = (ships(), registry());
    let mut json = Vec::new();
    registry.serialize(&world, &mut serde_json::Serializer::new(&mut json)).unwrap();
    let text = String::from_utf8(json).unwrap();
    let load = |text: &str| registry.deserialize(&mut serde_json::Deserializer::from_str(text)).map(drop);
    load(&text).unwrap();
    let long = "x".repeat(64);
    for (old, new) in [("argo", "bounty"), ("mast", "gun"), ("gun", ""), ("gun", "a/b"), ("gun", &long)] {
        let [old, new] = [old, new].map(|name| format!("\"{name}\""));
        assert!(load(&text.replacen(&old, &new, 1)).is_err(), "{old} {new}");
    }
    load(&text.replacen("\"mast\"", "\"argo\"", 1)).unwrap();
}

#[test]
fn h100_no_bytes_of_a_snapshot_make_names_that_cannot_be() {
    let ((world, _), registry) = (ships(), registry());
    let forged = Forged::of(&saved(&world));
    let (mut loaded, mut refused) = (0, 0);
    for section in 0..forged.sections.len() {
        for at in 0..forged.sections[section].bytes.len() {
            for n in [0, 1, 3, 64, b'/', b'g', 0xff] {
                let mut other = forged.clone();
                other.sections[section].bytes[at] = n;
                let Ok(mut world) = registry.load(&*other.file()) else {
                    refused += 1;
                    continue;
                };
                world.validate().unwrap();
                loaded += 1;
                for entity in world.iter().collect::<Vec<_>>() {
                    if let Some(path) = world.path(entity) {
                        assert_eq!(world.find(&path), Some(entity));
                    }
                    drop(world.try_despawn(entity));
                    world.validate().unwrap();
                }
            }
        }
    }
    assert!(refused > 0 && loaded > 0, "{refused} were refused, {loaded} were not");
}
