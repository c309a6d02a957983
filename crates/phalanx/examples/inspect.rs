//! A world that is looked into without knowing its types: `cargo run -p phalanx --features reflect --example inspect [query]`.
//!
//! `cargo run --release -p phalanx-inspect --example live` shows a world in the browser.

use phalanx::reflect::TextQuery;
use phalanx::relation::ChildOf;
use phalanx::{Component, Entity, World};

#[derive(Component, Debug)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Debug)]
struct Health {
    hp: i32,
    max: i32,
}

#[derive(Component, Debug)]
#[component(layout = "pool")]
struct Burning(u32);

fn new_world() -> World {
    let mut world = World::new();
    for (squad, count) in [("red", 5), ("blue", 4)] {
        let leader = world.spawn_named(squad, Position { x: 0.0, y: 0.0 }).expect("names differ");
        for n in 0..count {
            let health = Health { hp: (n * 37 + count * 13) % 40, max: 40 };
            let position = Position { x: n as f32, y: count as f32 };
            let burning = (n % 3 == 1).then_some(Burning(n as u32));
            let unit = world.spawn((position, health, burning));
            world.relations_mut::<ChildOf>().link(unit, leader).expect("both are alive");
        }
    }
    world
}

/// Prints all values of an entity: the names of components and fields come from their derives.
fn print(world: &World, entity: Entity) {
    let entity = world.entity(entity).expect("it was found");
    let path = world.path(entity.id()).unwrap_or_default();
    println!("{} {path}", entity.id());
    for id in entity.component_ids() {
        let name = world.components().info(id).name().rsplit("::").next().unwrap_or_default();
        let value = entity.value(id).expect("the entity has it");
        println!("    {name} {value}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = new_world();
    let given: Vec<String> = std::env::args().skip(1).collect();
    let queries = match given.is_empty() {
        true => ["Health.hp < 20 sort Health.hp", "Burning, in(red)", "Health, !Burning, Position.x > 1 limit 2"]
            .map(String::from)
            .to_vec(),
        false => given,
    };
    for text in queries {
        let query = TextQuery::parse(&text)?.bind(&world)?;
        println!("\n{text}: {} entities", query.count(&world)?);
        query.iter(&world)?.for_each(|entity| print(&world, entity));
    }
    println!("\n{}", TextQuery::parse("Helth.hp < 3")?.bind(&world).unwrap_err());
    println!("\n{}", world.memory());
    Ok(())
}
