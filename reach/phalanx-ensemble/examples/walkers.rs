//! Random walkers, recorded: `cargo run --release --example walkers -- --jobs 2` writes a folder `runs`.

use phalanx::snapshot::Registry;
use phalanx::{Component, Plain, World};
use phalanx_arrow::Recorder;
use phalanx_ensemble::{Ensemble, Run};
use std::error::Error;
use std::process::ExitCode;

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
}

/// The state of the random numbers is part of the world, so that a run that was killed goes on as it would have.
#[derive(Clone, Copy, Plain)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

fn new_world(run: &Run) -> World {
    let mut world = World::new();
    world.insert_resource(Random(run.seed()));
    world.spawn_batch((0..200).map(|_| Position { x: 0.0, y: 0.0 }));
    world
}

fn walk(run: Run) -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::new();
    registry.plain::<Position>("position")?;
    registry.plain_resource::<Random>("random")?;
    let speed: f32 = run.parameter("speed");
    let (mut world, mut recorder) = match Recorder::resume(run.folder(), &registry)? {
        Some((world, recorder)) => (world, recorder.start()?),
        None => {
            let recorder = Recorder::create(run.folder(), &registry).seed(run.seed()).parameter("speed", speed);
            (new_world(&run), recorder.keyframes(100).start()?)
        }
    };
    for _ in recorder.next_frame()..1000 {
        recorder.frame(&mut world)?;
        let mut random = *world.resource::<Random>()?;
        world.query_mut::<&mut Position>().for_each(|position| {
            position.x += speed * random.next();
            position.y += speed * random.next();
        });
        *world.resource_mut::<Random>()? = random;
    }
    recorder.finish()?;
    let distances = world.query::<&Position>().iter().map(|at| f64::from(at.x.hypot(at.y))).sum::<f64>();
    run.set_result("distance", distances / world.len() as f64);
    Ok(())
}

fn main() -> ExitCode {
    Ensemble::new("runs").grid("speed", [0.5, 1.0, 2.0]).seeds(0..20).main(walk)
}
