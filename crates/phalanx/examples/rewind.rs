//! A simulation that goes back 60 frames and runs again, to the same end.
//!
//! `cargo run -p phalanx --example rewind`

use phalanx::timeline::Timeline;
use phalanx::{Component, Entity, World};

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Ball {
    height: f32,
    speed: f32,
}

/// A ball that is about to burst, and when.
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Fuse(u32);

/// Balls fall and bounce; each tenth frame one gets a fuse; one that burns down leaves two smaller ones.
fn frame(world: &mut World, number: u32) {
    world.query_mut::<&mut Ball>().for_each(|ball| {
        ball.speed -= 0.1;
        ball.height += ball.speed;
        if ball.height < 0.0 {
            (ball.height, ball.speed) = (-ball.height, -ball.speed * 0.9);
        }
    });
    if number.is_multiple_of(10)
        && let Some(ball) = world.query::<Entity>().iter().nth(number as usize % world.len())
    {
        world.insert(ball, Fuse(7)).unwrap();
    }
    let mut burst = Vec::new();
    world.query_mut::<(Entity, &mut Fuse, &Ball)>().for_each(|(e, fuse, ball)| {
        fuse.0 -= 1;
        if fuse.0 == 0 {
            burst.push((e, *ball));
        }
    });
    for (e, ball) in burst {
        world.despawn(e).unwrap();
        world.spawn_batch([ball.speed, -ball.speed].map(|speed| Ball { speed, ..ball }));
    }
}

/// A number that depends on every entity, every value and the order of both.
fn checksum(world: &World) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for (e, ball, fuse) in world.query::<(Entity, &Ball, Option<&Fuse>)>().iter() {
        let numbers =
            [e.to_bits(), ball.height.to_bits().into(), ball.speed.to_bits().into(), fuse.map_or(0, |f| f.0).into()];
        numbers.iter().for_each(|n| sum = (sum ^ n).wrapping_mul(0x100_0000_01b3));
    }
    sum
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    world.spawn_batch((0..1000).map(|n| Ball { height: n as f32, speed: 0.0 }));

    let mut timeline = Timeline::new(60);
    for number in 0..200 {
        frame(&mut world, number);
        timeline.capture(&mut world)?;
    }
    let end = checksum(&world);
    println!("frame 200: {} balls, checksum {end:016x}", world.len());
    println!("{} frames are kept in {} KiB", timeline.len(), timeline.memory() / 1024);

    timeline.rewind(&mut world, 60)?;
    println!("frame 140: {} balls, checksum {:016x}", world.len(), checksum(&world));

    for number in 140..200 {
        frame(&mut world, number);
    }
    println!("frame 200: {} balls, checksum {:016x}", world.len(), checksum(&world));
    assert_eq!(checksum(&world), end, "the same operations lead to the same world");
    Ok(())
}
