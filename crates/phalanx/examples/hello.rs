//! A world, a few entities, a query: `cargo run -p phalanx --example hello`.

use phalanx::{Component, Entity, With, Without, World};

#[derive(Component, Debug)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component)]
struct Velocity {
    x: f32,
    y: f32,
}

#[derive(Component)]
struct Name(&'static str);

/// A tag: no data, no memory.
#[derive(Component)]
struct Asleep;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();

    // An entity is a handle; what it has is up to you.
    let ann = world.spawn((Name("Ann"), Position { x: 0.0, y: 0.0 }, Velocity { x: 1.0, y: 0.5 }));
    let bob = world.spawn((Name("Bob"), Position { x: 9.0, y: 2.0 }, Velocity { x: -1.0, y: 0.0 }));
    world.spawn((Name("a rock"), Position { x: 4.0, y: 4.0 }));

    // Components can be inserted and removed at any time.
    world.insert(bob, Asleep)?;

    // A query visits the entities that have the components it names: here, those that move and are awake.
    for _ in 0..3 {
        for (position, velocity) in world.query_filtered_mut::<(&mut Position, &Velocity), Without<Asleep>>() {
            position.x += velocity.x;
            position.y += velocity.y;
        }
    }

    for (name, position, moves) in world.query::<(&Name, &Position, Option<&Velocity>)>().iter() {
        println!(
            "{} is at ({}, {}){}",
            name.0,
            position.x,
            position.y,
            if moves.is_some() { "" } else { ", and stays" }
        );
    }

    // One entity, by its handle.
    assert_eq!(world.get::<Position>(ann)?.x, 3.0);

    // Despawn the entities that are asleep. Using their handles is an error from then on.
    let sleepers: Vec<Entity> = world.query_filtered::<Entity, With<Asleep>>().iter().collect();
    for entity in sleepers {
        world.despawn(entity)?;
    }
    println!("{}", world.get::<Position>(bob).unwrap_err());
    Ok(())
}
