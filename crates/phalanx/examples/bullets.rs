//! Bullets by the thousands come and go, and some burn: `cargo run --release -p phalanx --example bullets [picture.svg]`.
//!
//! Everything a bullet has is in pools: a new one is appended, the last takes the place of one that ends, and a fire that
//! starts or goes out touches no other component. A group keeps positions and velocities in the same order, so the loop that
//! moves all bullets runs over two slices.

use phalanx::group::Owned;
use phalanx::{Component, Entity, Has, World};
use std::f32::consts::TAU;
use std::fmt::Write;

const SIZE: f32 = 400.0;
const FRAMES: usize = 150;
/// Bullets a frame.
const SHOTS: usize = 70;

#[derive(Component, Clone, Copy)]
#[component(layout = "pool")]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Clone, Copy)]
#[component(layout = "pool")]
struct Velocity {
    x: f32,
    y: f32,
}

/// What flies through fire, burns for a while.
#[derive(Component)]
#[component(layout = "pool")]
struct Burning(u32);

/// Where it burns: middle and radius.
const FIRES: [(f32, f32, f32); 3] = [(105.0, 130.0, 34.0), (300.0, 110.0, 26.0), (225.0, 310.0, 42.0)];

fn main() -> std::io::Result<()> {
    let mut world = World::new();
    let flying = world.create_group::<Owned<(Position, Velocity)>>().expect("nobody else owns these pools");
    let (mut shot, mut ended, mut burnt) = (0, 0, 0);

    for frame in 0..FRAMES {
        // Three guns turn and fire.
        for n in 0..SHOTS {
            let gun = (n % 3) as f32;
            let turn = frame as f32 * 0.021 * (1.0 + gun * 0.3) + gun;
            let angle = turn + (n / 3) as f32 * 3.0 / SHOTS as f32 * TAU;
            let speed = 2.0 + 0.5 * (n % 2) as f32;
            world.spawn((
                Position { x: 200.0 + 24.0 * (gun * TAU / 3.0).cos(), y: 200.0 + 24.0 * (gun * TAU / 3.0).sin() },
                Velocity { x: angle.cos() * speed, y: angle.sin() * speed },
            ));
            shot += 1;
        }

        // All that fly, as two slices in step.
        let (positions, velocities) = flying.slices_mut(&mut world);
        for (position, velocity) in positions.iter_mut().zip(velocities) {
            position.x += velocity.x;
            position.y += velocity.y;
            velocity.y += 0.012;
        }

        // Who catches fire, who has left.
        let (mut caught, mut gone) = (Vec::new(), Vec::new());
        world.query::<(Entity, &Position, Has<Burning>)>().for_each(|(bullet, p, burns)| {
            if !(0.0..SIZE).contains(&p.x) || !(0.0..SIZE).contains(&p.y) {
                gone.push(bullet);
            } else if !burns && FIRES.iter().any(|(x, y, radius)| (p.x - x).hypot(p.y - y) < *radius) {
                caught.push(bullet);
            }
        });
        // Only those that burn are looked at: the pool is short.
        world.query_mut::<(Entity, &mut Burning, &mut Velocity)>().for_each(|(bullet, burning, velocity)| {
            burning.0 -= 1;
            velocity.y -= 0.05;
            if burning.0 == 0 {
                gone.push(bullet);
            }
        });
        burnt += caught.len();
        for bullet in caught {
            world.insert(bullet, Burning(45)).expect("it flies");
        }
        ended += world.despawn_batch(gone);
    }

    let path = match std::env::args_os().nth(1) {
        Some(path) => path.into(),
        None => std::env::temp_dir().join("phalanx-bullets.svg"),
    };
    std::fs::write(&path, picture(&world))?;
    let (left, fires) = (flying.len(&world), world.query::<&Burning>().len());
    assert_eq!(shot, ended + left);
    println!("{shot} bullets, {burnt} caught fire, {left} still fly, {fires} burn: {}", path.display());
    Ok(())
}

/// The sky as an SVG picture: a stroke for each bullet, along its flight.
fn picture(world: &World) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\">\n\
         <defs><radialGradient id=\"fire\"><stop offset=\"0\" stop-color=\"#ff7a2f\" stop-opacity=\"0.55\"/>\
         <stop offset=\"1\" stop-color=\"#ff7a2f\" stop-opacity=\"0\"/></radialGradient></defs>\n\
         <rect width=\"{SIZE}\" height=\"{SIZE}\" fill=\"#10161f\"/>\n"
    );
    for (x, y, radius) in FIRES {
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{:.0}\" fill=\"url(#fire)\"/>", radius * 1.3);
    }
    for (p, v, burning) in world.query::<(&Position, &Velocity, Option<&Burning>)>().iter() {
        // Young fires are bright.
        let (colour, width, tail) = match burning {
            Some(Burning(left)) if *left > 25 => ("#ffd27a", 1.5, 2.6),
            Some(_) => ("#e2571e", 1.3, 3.2),
            None => ("#6fa8dc", 0.8, 1.8),
        };
        let (x, y) = (p.x - v.x * tail, p.y - v.y * tail);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linecap=\"round\"/>",
            p.x, p.y
        );
    }
    svg + "</svg>\n"
}
