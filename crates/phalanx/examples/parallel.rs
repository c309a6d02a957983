//! Two galaxies meet. The loop over the stars runs on several threads, and gives the same result as on one:
//! `cargo run --release -p phalanx --example parallel [picture.svg]`.

use phalanx::executor::{Executor, Inline, ThreadPool};
use phalanx::{Component, World};
use std::fmt::Write;
use std::time::Instant;

const STARS: usize = 500;
const STEPS: usize = 150;
/// How strongly stars attract each other.
const PULL: f32 = 0.5;
const SIZE: f32 = 400.0;

#[derive(Component, Clone, Copy)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Clone, Copy)]
struct Velocity {
    x: f32,
    y: f32,
}

#[derive(Component, Clone, Copy)]
struct Galaxy(usize);

/// Where the middle of a galaxy is, how it moves, and which way it turns.
const GALAXIES: [(Position, Velocity, f32); 2] = [
    (Position { x: 110.0, y: 150.0 }, Velocity { x: 0.5, y: 0.1 }, 1.0),
    (Position { x: 290.0, y: 250.0 }, Velocity { x: -0.5, y: -0.1 }, -1.0),
];

fn new_world() -> World {
    let mut world = World::new();
    world.spawn_batch((0..STARS).map(|n| {
        let (centre, drift, turn) = GALAXIES[n % 2];
        // A spiral: each star a golden angle after the last one.
        let (distance, angle) = (4.0 + 3.2 * (n as f32).sqrt(), n as f32 * 2.399_963 / 2.0);
        // The speed of a circle around all stars that are nearer to the middle.
        let speed = turn * (PULL * distance * STARS as f32 / 2.0).sqrt() / 76.0;
        (
            Position { x: centre.x + distance * angle.cos(), y: centre.y + distance * angle.sin() },
            Velocity { x: drift.x - speed * angle.sin(), y: drift.y + speed * angle.cos() },
            Galaxy(n % 2),
        )
    }));
    world
}

/// Each star is pulled by all others. The loop writes velocities and reads a copy of the positions.
fn step(world: &mut World, threads: &impl Executor) {
    let all: Vec<Position> = world.query::<&Position>().iter().copied().collect();
    world.query_mut::<(&Position, &mut Velocity)>().par_for_each_by_on(threads, 32, |(at, velocity)| {
        for other in &all {
            let (dx, dy) = (other.x - at.x, other.y - at.y);
            let squared = dx * dx + dy * dy + 60.0;
            let pull = PULL / (squared * squared.sqrt());
            velocity.x += dx * pull;
            velocity.y += dy * pull;
        }
    });
    world.query_mut::<(&mut Position, &Velocity)>().par_for_each_on(threads, |(position, velocity)| {
        position.x += velocity.x;
        position.y += velocity.y;
    });
}

/// Runs the simulation, prints how long it took, and returns the world.
fn run(name: &str, threads: &impl Executor) -> World {
    let mut world = new_world();
    let start = Instant::now();
    for _ in 0..STEPS {
        step(&mut world, threads);
    }
    println!("{name}: {STEPS} steps of {STARS} stars in {:.0?}", start.elapsed());
    world
}

/// The bits of all positions, in the order of the query.
fn bits(world: &World) -> Vec<(u32, u32)> {
    world.query::<&Position>().iter().map(|position| (position.x.to_bits(), position.y.to_bits())).collect()
}

fn main() -> std::io::Result<()> {
    let alone = run("one thread", &Inline);
    let world = run("four threads", &ThreadPool::new(4));
    assert_eq!(bits(&alone), bits(&world));
    println!("Both have the same positions, bit for bit.");

    // A fold is the same on any number of threads, too, although the sum of floats depends on the order.
    let fold = |sum: f64, velocity: &Velocity| sum + f64::from(velocity.x * velocity.x + velocity.y * velocity.y);
    let one = world.query::<&Velocity>().par_fold_on(&Inline, || 0.0, fold, |a, b| a + b);
    let four = world.query::<&Velocity>().par_fold_on(&ThreadPool::new(4), || 0.0, fold, |a, b| a + b);
    assert_eq!(one.to_bits(), four.to_bits());
    println!("Their energy is {:.3}.", one / 2.0);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"60 70 270 270\" width=\"{SIZE}\" height=\"{SIZE}\">\
         <rect width=\"{SIZE}\" height=\"{SIZE}\" fill=\"#0b1026\"/>\n"
    );
    for (position, velocity, galaxy) in world.query::<(&Position, &Velocity, &Galaxy)>().iter() {
        let colour = ["#ffd9a0", "#a9c8ff"][galaxy.0];
        let (x, y) = (position.x, position.y);
        let (dx, dy) = (-velocity.x * 4.0, -velocity.y * 4.0);
        writeln!(svg, "<path d=\"M{x:.1} {y:.1} l{dx:.1} {dy:.1}\" stroke=\"{colour}\" stroke-opacity=\".4\"/>")
            .unwrap();
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.3\" fill=\"{colour}\"/>").unwrap();
    }
    svg.push_str("</svg>\n");
    let path = match std::env::args_os().nth(1) {
        Some(path) => path.into(),
        None => std::env::temp_dir().join("phalanx-parallel.svg"),
    };
    std::fs::write(&path, svg)?;
    println!("{}", path.display());
    Ok(())
}
