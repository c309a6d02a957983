//! A game is saved, its types change, and the old file is loaded:
//! `cargo run -p phalanx --features snapshot --example snapshots`.

use phalanx::relation::ChildOf;
use phalanx::snapshot::{Part, Registry, RegistryError, diff_all};
use phalanx::{Component, With, World};
use serde::{Deserialize, Serialize};
use std::error::Error;

/// The types of the first release.
mod v1 {
    use super::*;

    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    pub(super) struct Position {
        pub(super) x: f32,
        pub(super) y: f32,
    }

    #[derive(Component, Serialize, Deserialize)]
    pub(super) struct Health(pub(super) u8);

    pub(super) fn registry() -> Result<Registry, RegistryError> {
        let mut registry = Registry::new();
        registry.plain::<Position>("position")?;
        registry.serde::<Health>("health")?;
        registry.serde::<super::Title>("title")?;
        registry.tag("player", || super::Player)?;
        registry.serde_resource::<super::Level>("level")?;
        registry.relation::<ChildOf>("child of")?;
        Ok(registry)
    }
}

#[derive(Component, Serialize, Deserialize)]
struct Title(String);
#[derive(Component)]
struct Player;
#[derive(Serialize, Deserialize, Debug)]
struct Level(u32);

/// A third coordinate: the bytes have another form.
#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
    height: f32,
}

/// Health has a maximum now.
#[derive(Component, Serialize, Deserialize, Debug)]
struct Health {
    now: u32,
    most: u32,
}

/// The registry of the present release reads both. A component of an older version is converted while it is loaded.
fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::new();
    registry.plain::<Position>("position")?.version(1).migrate_plain::<v1::Position>(0, |old| Position {
        x: old.x,
        y: old.y,
        height: 0.0,
    });
    registry
        .serde::<Health>("health")?
        .version(1)
        .migrate_serde(0, |v1::Health(now)| Health { now: now.into(), most: 100 });
    registry.serde::<Title>("title")?;
    registry.tag("player", || Player)?;
    registry.serde_resource::<Level>("level")?;
    registry.relation::<ChildOf>("child of")?;
    Ok(registry)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Last year:
    let mut old = World::new();
    let ann = old.spawn((v1::Position { x: 1.0, y: 2.0 }, v1::Health(80), Title("Ann".into()), Player));
    let horse = old.entity_mut(ann)?.spawn_child((v1::Position { x: 1.0, y: 2.5 }, Title("Horse".into())));
    old.insert_resource(Level(3));
    let mut file = Vec::new();
    println!("{:?}", v1::registry()?.save(&old, &mut file)?);

    // Today:
    let registry = registry()?;
    let mut world = registry.load(&*file)?;
    println!("{:?} of {:?}", world.get::<Position>(ann)?, world.get::<Title>(ann)?.0);
    println!("{:?}, {:?}", world.get::<Health>(ann)?, world.resource::<Level>()?);
    assert_eq!((world.get::<Health>(ann)?.now, world.get::<Health>(ann)?.most), (80, 100));
    assert_eq!(world.relations::<ChildOf>().parent(horse), Some(ann)); // handles and links are those of the file

    // Two worlds that differ:
    let copy = registry.load_bytes(&{
        let mut bytes = Vec::new();
        registry.save(&world, &mut bytes)?;
        bytes
    })?;
    assert_eq!(registry.checksum(&copy)?, registry.checksum(&world)?);
    world.get_mut::<Health>(ann)?.now -= 5;
    for difference in diff_all(&registry, &copy, &world, 10)?.list {
        println!("{difference}");
    }

    // A part, merged into another world, which has other handles:
    let mut bytes = Vec::new();
    registry.save_part(&world, &Part::matching::<With<Player>>(&world), &mut bytes)?;
    let mut other = World::new();
    other.spawn_batch([(), ()]);
    let map = registry.merge(&mut other, &*bytes)?;
    println!("Ann was {ann}, and is {} there.", map.get(ann).expect("she was saved"));

    // Readable text, for people:
    let mut text = Vec::new();
    let mut names = Registry::new();
    names.serde::<Title>("title")?;
    names.skip_unregistered();
    names.serialize(&world, &mut serde_json::Serializer::new(&mut text))?;
    println!("{}", String::from_utf8(text)?);

    // A damaged file is an error that says what is wrong and where.
    let middle = file.len() / 2;
    file[middle] ^= 1;
    println!("{}", registry.load(&*file).unwrap_err());
    Ok(())
}
