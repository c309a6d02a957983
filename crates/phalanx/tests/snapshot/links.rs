//! Links of relations in snapshots.

use crate::forge::Forged;
use phalanx::group::{Observed, Owned};
use phalanx::relation::ChildOf;
use phalanx::snapshot::Registry;
use phalanx::{Component, Entity, Relation, Without, World};

#[derive(Component, Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[component(plain)]
struct Number(u32);

#[derive(Relation)]
#[relation(one_to_one)]
struct DockedAt;

#[derive(Relation)]
#[relation(one_to_many, on_despawn = "despawn")]
struct Follows;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Number>("number").unwrap().readable();
    registry.relation::<ChildOf>("child of").unwrap();
    registry.relation::<DockedAt>("docked at").unwrap();
    registry.relation::<Follows>("follows").unwrap();
    registry
}

/// A world with a tree of three levels, a pair and a ring.
fn linked() -> World {
    let mut world = World::new();
    let all: Vec<Entity> = (0..8).map(|n| world.spawn(Number(n))).collect();
    let mut tree = world.relations_mut::<ChildOf>();
    for (child, parent) in [(1, 0), (2, 0), (3, 0), (4, 2), (5, 2)] {
        tree.link(all[child], all[parent]).unwrap();
    }
    world.relations_mut::<DockedAt>().link(all[1], all[6]).unwrap();
    for (source, target) in [(1, 2), (2, 3), (3, 1)] {
        world.relations_mut::<Follows>().link(all[source], all[target]).unwrap();
    }
    world
}

/// Walks all links of a world, and takes it apart.
fn use_up(mut world: World) {
    world.validate().unwrap();
    let all: Vec<Entity> = world.iter().collect();
    for &entity in &all {
        let tree = world.relations::<ChildOf>();
        assert!(tree.descendants(entity).count() < all.len() && tree.ancestors(entity).count() < all.len());
        assert_eq!(tree.ancestors(entity).count(), tree.depth(entity) as usize);
        assert!(world.relations::<DockedAt>().sources(entity).count() < 2);
        assert_eq!(
            world.relations::<Follows>().sources(entity).count(),
            world.relations::<Follows>().sources(entity).len()
        );
    }
    for entity in all {
        // Some are despawned with others.
        drop(world.try_despawn(entity));
        world.validate().unwrap();
    }
    assert!(world.is_empty());
}

#[test]
fn h97_no_bytes_of_a_snapshot_make_links_that_cannot_be() {
    let (registry, world) = (registry(), linked());
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    let forged = Forged::of(&file);
    let (mut loaded, mut refused) = (0, 0);
    for section in 0..forged.sections.len() {
        for at in 0..forged.sections[section].bytes.len().saturating_sub(3) {
            for n in [0, 1, 2, 6, 7, 64, 1 << 31, u32::MAX] {
                let mut other = forged.clone();
                other.sections[section].bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(n));
                match registry.load(&*other.file()) {
                    Ok(world) => {
                        use_up(world);
                        loaded += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > loaded && loaded > 0, "{refused} were refused, {loaded} were not");
    use_up(registry.load(&*file).unwrap());
}

/// Each word of each record, with every value that could mean something.
#[test]
fn h97_records_of_links_that_contradict_each_other_are_refused() {
    let (registry, world) = (registry(), linked());
    let mut json = Vec::new();
    registry.serialize(&world, &mut serde_json::Serializer::new(&mut json)).unwrap();
    let text = String::from_utf8(json).unwrap();
    // A record is a list of seven numbers.
    let is_record = |list: &str| list.split(',').count() == 7 && list.split(',').all(|n| n.parse::<u32>().is_ok());
    let mut records = Vec::new();
    for (at, _) in text.match_indices('[') {
        let list = &text[at + 1..at + text[at..].find(']').unwrap()];
        if is_record(list) {
            records.push((at + 1, list.len(), list.split(',').map(|n| n.parse().unwrap()).collect::<Vec<u32>>()));
        }
    }
    assert_eq!(records.len(), 6 + 2 + 3);
    let mut refused = 0;
    for (at, len, record) in &records {
        for word in 0..7 {
            for n in (0..8).chain([u32::MAX]).filter(|n| *n != record[word]) {
                let mut record = record.clone();
                record[word] = n;
                let list = record.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                let other = format!("{}{list}{}", &text[..*at], &text[at + len..]);
                let mut reader = serde_json::Deserializer::from_str(&other);
                // Any change of one word contradicts another record.
                assert!(registry.deserialize(&mut reader).is_err(), "{list}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, records.len() * 7 * 8);
}

#[test]
fn a_part_with_only_some_components_has_the_links_that_were_chosen() {
    let (registry, world) = (registry(), linked());
    let mut file = Vec::new();
    let part = phalanx::snapshot::Part::all().components(["number", "follows"]);
    let report = registry.save_part(&world, &part, &mut file).unwrap();
    assert_eq!(report.cut_links, 0);
    let loaded = registry.load(&*file).unwrap();
    loaded.validate().unwrap();
    assert!(loaded.relations::<Follows>().iter().eq(world.relations::<Follows>().iter()));
    assert_eq!(loaded.relations::<ChildOf>().iter().count(), 0);
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
struct Lit(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", plain)]
struct Warm(u32);

/// Links change without telling groups, so a group of them would have members that are none.
#[test]
fn h97_a_group_of_links_or_names_is_refused() {
    let mut registry = registry();
    registry.plain::<Lit>("lit").unwrap();
    registry.plain::<Warm>("warm").unwrap();
    registry.names("name").unwrap();
    let mut world = World::new();
    let all = [0, 1].map(|n| world.spawn((Lit(n), Warm(n))));
    world.relations_mut::<ChildOf>().link(all[1], all[0]).unwrap();
    all.iter().for_each(|entity| _ = world.entity_mut(*entity).unwrap().set_name("sun").unwrap());
    world.create_group::<Observed<(Lit, Warm)>>().unwrap();
    world.create_group::<(Owned<Lit>, Without<Warm>)>().unwrap();
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    let forged = Forged::of(&file);
    let (mut refused, mut loaded) = (0, 0);
    for at in (0..forged.clone().section(b"grup", 0).bytes.len()).step_by(4) {
        for n in 0..8 {
            let mut other = forged.clone();
            match registry.load(&*other.put(b"grup", 0, at, n).file()) {
                Ok(mut world) => {
                    world.relations_mut::<ChildOf>().unlink(all[1]).unwrap_err();
                    world.entity_mut(all[1]).unwrap().remove_name().unwrap();
                    world.relations_mut::<ChildOf>().unlink(all[1]).unwrap();
                    world.validate().unwrap();
                    loaded += 1;
                }
                Err(error) => refused += usize::from(error.to_string().contains("a group of links or names")),
            }
        }
    }
    // In both groups, each of two lists can name the links, and the names.
    assert!(refused >= 8 && loaded > 0, "{refused} were refused, {loaded} were not");
}
