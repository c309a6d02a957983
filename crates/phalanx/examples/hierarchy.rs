//! A tree of entities: paths, totals, moves and copies of subtrees: `cargo run -p phalanx --example hierarchy`.

use phalanx::relation::{ChildOf, Depth, IsLeaf, IsRoot, Named, Up};
use phalanx::{Component, Entity, World};

/// The size of a file. Folders have none.
#[derive(Component, Clone)]
#[component(clone)]
struct Size(u64);

/// Who may read a folder, and everything below it that does not say otherwise.
#[derive(Component, Clone)]
#[component(clone)]
struct Readers(&'static str);

/// Creates an entity, and the folders on the way to it.
fn create(world: &mut World, path: &str) -> Result<Entity, Box<dyn std::error::Error>> {
    let mut at = None;
    for name in path.split('/') {
        let found = match at {
            None => world.find(name),
            Some(folder) => world.entity(folder)?.find(name),
        };
        at = Some(match (found, at) {
            (Some(entity), _) => entity,
            (None, Some(folder)) => world.entity_mut(folder)?.spawn_child_named(name, ())?,
            (None, None) => world.spawn_named(name, ())?,
        });
    }
    Ok(at.expect("a text has at least one part"))
}

/// The size of everything from an entity on.
fn total(world: &World, entity: Entity) -> u64 {
    let tree = world.relations::<ChildOf>();
    std::iter::once(entity).chain(tree.descendants(entity)).filter_map(|e| world.get::<Size>(e).ok()).map(|s| s.0).sum()
}

fn print(world: &World) {
    let tree = world.relations::<ChildOf>();
    for root in world.query_filtered::<Entity, IsRoot<ChildOf>>().iter() {
        for entity in std::iter::once(root).chain(tree.descendants(root)) {
            let indent = "  ".repeat(tree.depth(entity) as usize);
            let name = tree.name(entity).map_or("?", |name| name.as_str());
            println!("{:<24}{:>6}", format!("{indent}{name}"), total(world, entity));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    for (path, size) in [
        ("home/ann/letters/april.txt", 12),
        ("home/ann/letters/may.txt", 9),
        ("home/ann/cat.png", 640),
        ("home/bob/notes.txt", 3),
    ] {
        let file = create(&mut world, path)?;
        world.insert(file, Size(size))?;
    }
    print(&world);

    // A property of a folder is found from below.
    let find = |world: &World, path: &str| world.find(path).ok_or(format!("there is no {path}"));
    let (ann, bob) = (find(&world, "home/ann")?, find(&world, "home/bob")?);
    world.insert(ann, Readers("ann"))?;
    world.insert(find(&world, "home")?, Readers("all"))?;
    for (name, readers, depth) in
        world.query_filtered::<(Named, Up<ChildOf, &Readers>, Depth<ChildOf>), IsLeaf<ChildOf>>().iter()
    {
        println!("{} at depth {depth} is for {}", name.as_str(), readers.0);
    }

    // A subtree moves with one link, and paths follow.
    let letters = find(&world, "home/ann/letters")?;
    world.relations_mut::<ChildOf>().link(letters, bob)?;
    println!("{}", world.path(letters).expect("all on the way have names"));
    // A folder cannot be moved into itself, and a name cannot be taken twice.
    println!("{}", world.relations_mut::<ChildOf>().link(bob, letters).unwrap_err());
    println!("{}", world.entity_mut(bob)?.spawn_child_named("letters", ()).unwrap_err());

    // A copy of a subtree, under another name.
    let backup = world.relations_mut::<ChildOf>().clone_tree(bob)?;
    world.entity_mut(backup)?.set_name("backup")?;
    assert_eq!(total(&world, backup), total(&world, bob));

    // Despawning a folder despawns all that is below it.
    world.despawn(bob)?;
    print(&world);
    assert_eq!(world.find("home/backup/letters/may.txt").map(|file| total(&world, file)), Some(9));
    Ok(())
}
