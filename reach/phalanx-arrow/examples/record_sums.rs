//! Records two runs, each with all rows and with changes only, and writes the sums of their columns as typed code computes them:
//! `record_sums FOLDER`.
//!
//! `tests/foreign_readers.py FOLDER` compares them with what other programs read.

use phalanx::reflect::Reflect;
use phalanx::snapshot::Registry;
use phalanx::{Component, Entity, Plain, World};
use phalanx_arrow::Recorder;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::path::PathBuf;

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Position {
    x: f32,
    zone: u32,
    y: f64,
}
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Health(u32);
#[derive(Component, Clone, Copy)]
#[component(layout = "linear", plain)]
struct Velocity([f32; 3]);
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Member {
    of: Entity,
    team: Team,
    is_captain: bool,
    spare: [u8; 6],
}
#[derive(Reflect, Plain, Clone, Copy, Debug)]
#[repr(u8)]
enum Team {
    Red,
    Blue,
}
#[derive(Component, Clone, serde::Serialize, serde::Deserialize)]
struct Title(String);

fn registry() -> Result<Registry, Box<dyn Error>> {
    let mut registry = Registry::new();
    registry.plain::<Position>("position")?;
    registry.plain::<Health>("health")?;
    registry.plain::<Velocity>("velocity")?;
    registry.plain::<Member>("member")?;
    registry.serde::<Title>("title")?;
    Ok(registry)
}

fn add(sums: &mut Map<String, Value>, name: &str, value: f64) {
    let before = sums.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    sums.insert(name.to_owned(), json!(before + value));
}

fn add_frame(world: &World, sums: &mut Map<String, Value>) {
    add(sums, "alive.rows", world.len() as f64);
    for position in world.query::<&Position>().iter() {
        add(sums, "position.x", position.x.into());
        add(sums, "position.y", position.y);
        add(sums, "position.zone", position.zone.into());
        add(sums, "position.rows", 1.0);
    }
    for health in world.query::<&Health>().iter() {
        add(sums, "health.value", health.0.into());
        add(sums, "health.rows", 1.0);
    }
    for velocity in world.query::<&Velocity>().iter() {
        add(sums, "velocity.value", velocity.0.iter().map(|n| f64::from(*n)).sum());
        add(sums, "velocity.rows", 1.0);
    }
    for member in world.query::<&Member>().iter() {
        add(sums, "member.of", member.of.to_bits() as f64);
        add(sums, "member.red", f64::from(u8::from(matches!(member.team, Team::Red))));
        add(sums, "member.is_captain", f64::from(u8::from(member.is_captain)));
        add(sums, "member.rows", 1.0 + f64::from(member.spare[0]));
    }
    for title in world.query::<&Title>().iter() {
        add(sums, "title.value", title.0.chars().count() as f64);
        add(sums, "title.rows", 1.0);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("record_sums FOLDER")?);
    let registry = registry()?;
    let mut all = Map::new();
    for run in 0..2_u32 {
        let mut world = World::new();
        let mut last = world.spawn(());
        for n in 0..2000_u32 {
            let team = if n % 3 == 0 { Team::Red } else { Team::Blue };
            let member = Member { of: last, team, is_captain: n % 11 == 0, spare: [0; 6] };
            last = world.spawn((Position { x: n as f32 / 8.0, zone: n % 7, y: f64::from(run) }, member));
            match n % 4 {
                0 => world.insert(last, Health(n))?,
                1 => world.insert(last, Velocity([1.5, n as f32, -2.0]))?,
                2 => world.insert(last, Title("é".repeat(n as usize % 5)))?,
                _ => {}
            }
        }
        let record = |path| Recorder::create(path, &registry).seed(run.into()).every(2).keyframes(10);
        let mut recorder = record(folder.join(format!("run={run}"))).start()?;
        let mut changes = record(folder.join(format!("changed/run={run}"))).changes().start()?;
        let mut sums = Map::new();
        for frame in 0..25 {
            recorder.frame(&mut world)?;
            changes.frame(&mut world)?;
            if frame % 2 == 0 {
                add_frame(&world, &mut sums);
            }
            world.query_mut::<&mut Position>().for_each(|position| position.x += 0.125);
            world.query_mut::<&mut Health>().for_each(|health| health.0 += u32::from(health.0 % 100 == 4));
            let some: Vec<_> = world.iter().skip(frame).step_by(97).collect();
            some.into_iter().try_for_each(|entity| world.despawn(entity))?;
        }
        recorder.finish()?;
        changes.finish()?;
        all.insert(run.to_string(), Value::Object(sums));
    }
    std::fs::write(folder.join("sums.json"), serde_json::to_string_pretty(&all)?)?;
    Ok(())
}
