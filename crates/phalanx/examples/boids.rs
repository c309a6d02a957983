//! A flock that finds itself, and a picture of where it flew: `cargo run --release -p phalanx --example boids [picture.svg]`.

use phalanx::{Component, World};
use std::fmt::Write;

const SIZE: f32 = 400.0;
const STEPS: usize = 240;

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

/// Where a bird has been: only those that have one are drawn with a tail.
#[derive(Component, Default)]
struct Trail(Vec<Position>);

fn main() -> std::io::Result<()> {
    let mut world = World::new();
    let mut random = random_numbers();
    for n in 0..150 {
        let bird = world.spawn((
            Position { x: random() * SIZE, y: random() * SIZE },
            Velocity { x: random() * 4.0 - 2.0, y: random() * 4.0 - 2.0 },
        ));
        if n % 10 == 0 {
            world.insert(bird, Trail::default()).expect("the bird was hatched just now");
        }
    }

    for _ in 0..STEPS {
        steer(&mut world);
        for (position, velocity) in world.query_mut::<(&mut Position, &Velocity)>() {
            position.x = (position.x + velocity.x).rem_euclid(SIZE);
            position.y = (position.y + velocity.y).rem_euclid(SIZE);
        }
        world.query_mut::<(&mut Trail, &Position)>().for_each(|(trail, position)| trail.0.push(*position));
    }

    let path = match std::env::args_os().nth(1) {
        Some(path) => path.into(),
        None => std::env::temp_dir().join("phalanx-boids.svg"),
    };
    std::fs::write(&path, picture(&world))?;
    println!("{} birds after {STEPS} steps: {}", world.query::<&Position>().len(), path.display());
    Ok(())
}

/// Birds keep apart, fly along, and stay together, each by what it sees of the others.
fn steer(world: &mut World) {
    let flock: Vec<(Position, Velocity)> =
        world.query::<(&Position, &Velocity)>().iter().map(|(p, v)| (*p, *v)).collect();
    for (me, velocity) in world.query_mut::<(&Position, &mut Velocity)>() {
        let (mut near, mut apart, mut along, mut middle) = (0.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0));
        for (other, its) in &flock {
            let (dx, dy) = (other.x - me.x, other.y - me.y);
            let distance = dx.hypot(dy);
            if distance > 0.0 && distance < 40.0 {
                near += 1.0;
                along = (along.0 + its.x, along.1 + its.y);
                middle = (middle.0 + dx, middle.1 + dy);
                if distance < 10.0 {
                    apart = (apart.0 - dx / distance, apart.1 - dy / distance);
                }
            }
        }
        if near > 0.0 {
            velocity.x += 0.15 * apart.0 + 0.08 * (along.0 / near - velocity.x) + 0.004 * middle.0 / near;
            velocity.y += 0.15 * apart.1 + 0.08 * (along.1 / near - velocity.y) + 0.004 * middle.1 / near;
        }
        let speed = velocity.x.hypot(velocity.y).max(0.01);
        let wanted = speed.clamp(1.0, 2.5);
        velocity.x *= wanted / speed;
        velocity.y *= wanted / speed;
    }
}

/// The flock as an SVG picture.
fn picture(world: &World) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\">\n\
         <rect width=\"{SIZE}\" height=\"{SIZE}\" fill=\"#10161f\"/>\n"
    );
    for trail in world.query::<&Trail>().iter() {
        // Over the edge of the world a new line begins.
        for part in trail.0.chunk_by(|a, b| (a.x - b.x).abs() < 10.0 && (a.y - b.y).abs() < 10.0) {
            let points: Vec<String> = part.iter().map(|p| format!("{:.1},{:.1}", p.x, p.y)).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"#4c7fb0\" stroke-opacity=\"0.6\" stroke-width=\"0.8\"/>",
                points.join(" ")
            );
        }
    }
    for (p, v) in world.query::<(&Position, &Velocity)>().iter() {
        let angle = v.y.atan2(v.x).to_degrees();
        let _ = writeln!(
            svg,
            "<path d=\"M4 0 L-3 2 L-2 0 L-3 -2 Z\" fill=\"#f2c46d\" transform=\"translate({:.1} {:.1}) rotate({angle:.0})\"/>",
            p.x, p.y
        );
    }
    svg + "</svg>\n"
}

/// Numbers below one, the same in every run.
fn random_numbers() -> impl FnMut() -> f32 {
    let mut state = 0x9E37_79B9_u32;
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32
    }
}
