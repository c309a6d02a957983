//! A village grows: `cargo run --release -p phalanx-schedule --example colony [picture.svg]`.
//!
//! Colonists gather wood, stone and berries, build huts and towers, eat, sleep, and have children. At night wolves come. The
//! program prints the chronicle of the village, and draws it. The first days are run on one thread and on several, with
//! the same result.
//!
//! | file | content |
//! |---|---|
//! | `things.rs` | components, resources, events and relations |
//! | `map.rs` | terrain, an index that observers keep, and ways |
//! | `work.rs` | systems of tasks |
//! | `life.rs` | systems of time, hunger, births, wolves and deaths |
//! | `draw.rs` | the picture |

// The types of queries say what a system touches.
#![allow(clippy::type_complexity)]

mod draw;
mod life;
mod map;
mod things;
mod work;

use phalanx::executor::{Executor, Inline, ThreadPool};
use phalanx::{Entity, World};
use phalanx_schedule::{BuildError, IntoSystemConfig, Schedule, Threads, in_state};
use things::*;

const DAYS: u32 = 24;
const HOURS: u32 = 100;

fn new_world() -> World {
    let mut world = World::new();
    let mut dice = Dice::new(0x5eed_c010);
    map::create(&mut world, &mut dice);
    world.insert_resource(dice);
    world.insert_resource(Clock::default());
    world.insert_resource(Chronicle::default());
    world.insert_resource(Stock { wood: 10, stone: 0, food: 30 });
    world.spawn((map::CENTRE, Building { kind: Kind::Store, work_left: 0 }));
    world.spawn_batch((0..6).map(|n| {
        let at = At { x: map::CENTRE.x - 2 + n % 3, y: map::CENTRE.y + 1 + n / 3 };
        (at, Colonist { name: NAMES[n as usize] }, Hunger(0))
    }));
    world
}

/// What happens in an hour.
fn hour(world: &mut World) -> Result<Schedule, BuildError> {
    Schedule::builder("hour")
        .state(Phase::Day)
        .on_enter(Phase::Day, life::dawn)
        .on_enter(Phase::Day, life::be_born)
        .on_enter(Phase::Day, work::regrow)
        .on_enter(Phase::Night, life::howl)
        .add(life::pass_time)
        .chain((work::plan, work::choose, work::walk, work::work))
        .add(life::get_hungry.after(life::pass_time))
        .add((life::move_in.after(work::work), life::shoot.after(life::pass_time)))
        .add(life::hunt.after(work::walk).after(life::shoot).run_if(in_state(Phase::Night)))
        .add(life::bury.after(life::hunt).after(life::get_hungry))
        .add(life::write_chronicle.after(life::bury).after(work::work))
        .build(world)
}

/// What happens ten times a day.
fn census(world: &mut World) -> Result<Schedule, BuildError> {
    Schedule::builder("census").add(life::count).build(world)
}

/// Runs the village for some days, and returns it.
fn play(days: u32, executor: &dyn Executor, threads: Threads) -> Result<World, Box<dyn std::error::Error>> {
    let mut world = new_world();
    let (mut hour, mut census) = (hour(&mut world)?, census(&mut world)?);
    hour.set_threads(threads);
    world.send(News::Founded(6));
    for number in 0..days * HOURS {
        hour.try_run_on(executor, &mut world)?;
        if number.is_multiple_of(10) {
            census.run(&mut world);
        }
    }
    assert_eq!(hour.skipped_commands().count(), 0);
    Ok(world)
}

/// Everything that can be seen of a village: entities, places, and the chronicle.
fn state(world: &World) -> (Vec<(Entity, At)>, Vec<(String, usize)>) {
    let places = world.query::<(Entity, &At)>().iter().map(|(entity, at)| (entity, *at)).collect();
    (places, world.resource::<Chronicle>().expect("it was inserted").lines.clone())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}\n", hour(&mut new_world())?);
    let (alone, together) = (play(9, &Inline, Threads::Never)?, play(9, &ThreadPool::new(4), Threads::Always)?);
    assert_eq!(state(&alone), state(&together), "the number of threads makes no difference");
    let world = play(DAYS, &Inline, Threads::Never)?;

    let (_, chronicle) = state(&world);
    for (line, count) in &chronicle {
        println!("{line}{}", if *count > 1 { format!(" ({count})") } else { String::new() });
    }
    let (stock, colonists) = (world.resource::<Stock>()?, world.query::<&Colonist>().len());
    println!("\n{colonists} colonists, {} wood, {} stone, {} food", stock.wood, stock.stone, stock.food);

    let path = match std::env::args_os().nth(1) {
        Some(path) => path.into(),
        None => std::env::temp_dir().join("phalanx-colony.svg"),
    };
    std::fs::write(&path, draw::draw(&world)?)?;
    println!("{}", path.display());
    Ok(())
}
