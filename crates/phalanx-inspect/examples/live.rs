//! A small world that moves, with the inspector.
//!
//! ```sh
//! cargo run --release -p phalanx-inspect --example live
//! cargo run --release -p phalanx-inspect --example live -- --entities 1000000
//! ```
//!
//! It ends after `--frames N`, or after 120 frames if input or output is not a terminal.

use phalanx::relation::ChildOf;
use phalanx::{Component, Entity, Plain, World};
use phalanx_inspect::{Flow, Inspector};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Velocity {
    x: f32,
    y: f32,
}

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Health {
    hp: u32,
    max: u32,
}

#[derive(phalanx::reflect::Reflect, Plain, Clone, Copy, Debug)]
#[repr(u8)]
enum Colour {
    Red,
    Green,
    Blue,
}

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Team {
    colour: Colour,
}

#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "pool", plain)]
struct Burning {
    since: u32,
}

#[derive(Component, Clone, Debug)]
#[cfg_attr(feature = "snapshot", derive(serde::Serialize, serde::Deserialize))]
#[component(clone)]
struct Title(String);

#[derive(Component, Clone, Debug)]
#[component(clone)]
struct Route {
    points: Vec<[i32; 2]>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "the inspector shows it")]
struct Weather {
    wind: [f32; 2],
    rain: bool,
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn spawn(world: &mut World, dice: &mut Dice, count: usize) {
    let colours = [Colour::Red, Colour::Green, Colour::Blue];
    let mut make = || {
        let (x, y) = (dice.roll(1000) as f32, dice.roll(1000) as f32);
        let (dx, dy) = (dice.roll(200) as f32 / 100.0 - 1.0, dice.roll(200) as f32 / 100.0 - 1.0);
        let health = Health { hp: dice.roll(100) as u32 + 1, max: 100 };
        let team = Team { colour: colours[dice.roll(3) as usize] };
        (Position { x, y }, Velocity { x: dx, y: dy }, health, team)
    };
    let bodies: Vec<_> = (0..count).map(|_| make()).collect();
    world.spawn_batch(bodies);
}

fn make_world(entities: usize) -> World {
    let (mut world, mut dice) = (World::new(), Dice(7));
    world.insert_resource(Weather { wind: [0.4, -0.1], rain: false });
    let camp = world.spawn_named("camp", Position { x: 500.0, y: 500.0 }).expect("the name is free");
    for (name, title) in [("ann", "Scout"), ("bob", "Smith <forge>"), ("eve", "Guard of the \"gate\"")] {
        let points = vec![[1, 2], [3, 4]];
        let position = Position { x: 1.0, y: 2.0 };
        let bundle = (position, Health { hp: 90, max: 90 }, Title(title.into()), Route { points });
        let hero = world.spawn_named(name, bundle).expect("the name is free");
        world.relations_mut::<ChildOf>().link(hero, camp).expect("a hero is not above the camp");
    }
    spawn(&mut world, &mut dice, entities.saturating_sub(4));
    let burning: Vec<Entity> = world.iter().filter(|_| dice.roll(20) == 0).collect();
    for entity in burning {
        world.insert(entity, Burning { since: 0 }).expect("it is alive");
    }
    world
}

fn step(world: &mut World, frame: u32, dice: &mut Dice) {
    world.query_mut::<(&mut Position, &mut Velocity)>().for_each(|(at, speed)| {
        (at.x, at.y) = (at.x + speed.x, at.y + speed.y);
        if !(0.0..1000.0).contains(&at.x) {
            speed.x = -speed.x;
        }
        if !(0.0..1000.0).contains(&at.y) {
            speed.y = -speed.y;
        }
    });
    if frame.is_multiple_of(30) {
        let cold: Vec<Entity> = world.query::<(Entity, &Burning)>().iter().map(|(e, _)| e).take(3).collect();
        for entity in cold {
            world.remove::<Burning>(entity).expect("it is alive");
        }
        let hot: Vec<Entity> = (0..3).filter_map(|_| world.iter().nth(dice.roll(1000) as usize)).collect();
        for entity in hot {
            world.insert(entity, Burning { since: frame }).expect("it is alive");
        }
    }
}

/// What snapshots are made of.
#[cfg(feature = "snapshot")]
fn registry() -> phalanx::snapshot::Registry {
    let mut registry = phalanx::snapshot::Registry::new();
    let registered = (|| {
        registry.plain::<Position>("position")?;
        registry.plain::<Velocity>("velocity")?;
        registry.plain::<Health>("health")?;
        registry.plain::<Team>("team")?;
        registry.plain::<Burning>("burning")?;
        registry.serde::<Title>("title")?;
        registry.names("name")?;
        registry.relation::<ChildOf>("child of")
    })();
    registered.expect("the names differ");
    // Routes are not saved.
    registry.skip_unregistered();
    registry
}

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

fn main() -> std::io::Result<()> {
    let number = |name: &str| argument(name).and_then(|text| text.parse::<u64>().ok());
    let entities = number("--entities").unwrap_or(2000) as usize;
    let has_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let frames = number("--frames").or_else(|| (!has_terminal).then_some(120));
    let mut world = make_world(entities);
    let mut builder = Inspector::builder()
        .name("live")
        .address(argument("--address").unwrap_or_else(|| "127.0.0.1:7171".into()))
        .resource::<Weather>()
        .plot("entities", |world| world.len() as f64)
        .plot("burning", |world| world.query::<&Burning>().len() as f64)
        .plot("mean height", |world| {
            let query = world.query::<&Position>();
            let (sum, count) = query.iter().take(1000).fold((0.0, 0.0), |(s, n), at| (s + f64::from(at.y), n + 1.0));
            sum / f64::max(count, 1.0)
        })
        .action("spawn 100", |world| spawn(world, &mut Dice(99), 100));
    #[cfg(feature = "snapshot")]
    {
        builder = builder.registry(registry());
    }
    if entities <= 100_000 {
        builder = builder.timeline(600);
    }
    if std::env::args().any(|argument| argument == "--read-only") {
        builder = builder.read_only();
    }
    let mut inspector = builder.serve()?;
    let (mut frame, mut dice) = (0, Dice(3));
    while frames.is_none_or(|frames| u64::from(frame) < frames) {
        let start = Instant::now();
        if inspector.update(&mut world) == Flow::Hold {
            continue;
        }
        step(&mut world, frame, &mut dice);
        frame += 1;
        std::thread::sleep(Duration::from_millis(16).saturating_sub(start.elapsed()));
    }
    println!("{frame} frames, {} entities", world.len());
    Ok(())
}
