//! A small simulation whose frames are a function of the seed.

use phalanx::snapshot::Registry;
use phalanx::{Component, Plain, World};
use phalanx_testkit::Rng;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) z: f32,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
pub(crate) struct Health(pub(crate) u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
pub(crate) struct Burning {
    pub(crate) since: u64,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", plain)]
pub(crate) struct Mood(pub(crate) [f32; 2]);

/// The state of the random numbers is part of the world, so that a run goes on as it would have.
#[derive(Clone, Copy, Plain)]
pub(crate) struct Seed(pub(crate) u64);

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap();
    registry.plain::<Health>("health").unwrap();
    registry.plain::<Burning>("burning").unwrap();
    registry.plain::<Mood>("mood").unwrap();
    registry.plain_resource::<Seed>("seed").unwrap();
    registry
}

pub(crate) fn new_world(seed: u64, entities: usize) -> World {
    let mut world = World::new();
    world.insert_resource(Seed(seed));
    world.resources_mut().keep_plain::<Seed>();
    for n in 0..entities {
        world.spawn((Position { x: n as f32, y: 0.0, z: 1.0 }, Health(n as u32)));
    }
    world
}

/// Keeps the seed in deltas, also in a world that was loaded.
pub(crate) fn keep(world: &mut World) {
    world.resources_mut().keep_plain::<Seed>();
}

pub(crate) fn step(world: &mut World) {
    let mut rng = Rng::new(world.resource::<Seed>().unwrap().0);
    let random = |rng: &mut Rng| rng.next_u64();
    world.query_mut::<&mut Position>().for_each(|position| {
        position.x += 0.5;
        position.y -= position.x;
    });
    let entities: Vec<_> = world.iter().collect();
    for _ in 0..3 {
        let entity = entities[rng.below(entities.len())];
        match rng.below(5) {
            0 => drop(world.spawn((Position { x: 1.0, y: f32::NAN, z: 0.0 }, Mood([1.0, 2.0])))),
            1 if world.len() > 5 => drop(world.despawn(entity).is_ok()),
            2 if world.contains(entity) => world.insert(entity, Burning { since: random(&mut rng) }).unwrap(),
            3 if world.contains(entity) => drop(world.remove::<Burning>(entity)),
            _ if world.contains(entity) => world.insert(entity, Health(random(&mut rng) as u32)).unwrap(),
            _ => {}
        }
    }
    world.resource_mut::<Seed>().unwrap().0 = rng.next_u64();
}

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("phalanx-recording-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the files below a folder with their bytes, by their paths.
pub(crate) fn files(folder: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    fn visit(folder: &Path, root: &Path, files: &mut std::collections::BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                visit(&path, root, files);
            } else {
                files.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    let mut list = std::collections::BTreeMap::new();
    visit(folder, folder, &mut list);
    list
}
