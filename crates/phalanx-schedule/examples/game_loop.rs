//! A game loop with a fixed timestep, on one thread and on two, with the same result.
//!
//! `cargo run -p phalanx-schedule --example game_loop`. The example `game_loop_by_hand` is the same loop without a schedule.

mod raid;

use phalanx::World;
use phalanx::event::EventReader;
use phalanx::executor::{Executor, Inline, ThreadPool};
use phalanx::system::{Res, ResMut};
use phalanx_schedule::{BuildError, FixedStep, IntoSystemConfig, Schedule, State, SystemSet, Threads, in_state};
use raid::{Death, Hit, Mode, Score, Screen, Sounds};

#[derive(Debug)]
struct Battle;
impl SystemSet for Battle {}

/// The game is over when no life is left.
fn judge(score: Res<Score>, mut mode: ResMut<State<Mode>>) {
    if *mode.get() == Mode::Playing && score.lives == 0 {
        mode.set(Mode::Over);
    }
}

/// Counts what the player hears: each event once, whatever the number of steps and frames.
fn play_sounds(hits: EventReader<Hit>, deaths: EventReader<Death>, mut sounds: ResMut<Sounds>) {
    sounds.hits += hits.into_iter().count();
    sounds.deaths += deaths.into_iter().count();
}

/// What happens in a step of 1/30 s.
fn step_schedule(world: &mut World) -> Result<Schedule, BuildError> {
    Schedule::builder("step")
        .state(Mode::Playing)
        .on_enter(Mode::Playing, raid::build_towers)
        .on_exit(Mode::Playing, raid::pull_down_towers)
        .chain((
            raid::send_raider.in_set(Battle),
            raid::walk,
            raid::shoot.in_set(Battle),
            raid::hit,
            raid::wound,
            raid::bury,
            raid::storm,
            judge,
        ))
        // Nothing says whether `aim` comes before `walk`. It was added later, so that it runs later. It is listed as an ambiguity.
        .add((raid::drop_arrows.before(raid::hit), raid::aim.before(raid::shoot).in_set(Battle)))
        .set(Battle, |set| set.run_if(in_state(Mode::Playing)))
        .build(world)
}

/// What happens in each frame, after none or several steps.
fn frame_schedule(world: &mut World) -> Result<Schedule, BuildError> {
    Schedule::builder("frame").add((play_sounds, raid::draw)).build(world)
}

/// Plays a game, and returns its checksum.
fn play(executor: &dyn Executor, threads: Threads) -> Result<(World, u64), Box<dyn std::error::Error>> {
    let mut world = raid::new_world();
    let mut step = step_schedule(&mut world)?;
    let mut frame = frame_schedule(&mut world)?;
    step.set_threads(threads);
    frame.set_threads(threads);
    let mut clock = FixedStep::from_hz(30);
    for number in 0..raid::FRAMES {
        for _ in 0..clock.advance(raid::frame_nanos(number)).count {
            step.run_on(executor, &mut world);
        }
        frame.run_on(executor, &mut world);
    }
    let checksum = raid::checksum(&world)?;
    Ok((world, checksum))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let step = step_schedule(&mut raid::new_world())?;
    println!("{step}\n\n{}", step.graph().to_mermaid());
    step.ambiguities().iter().for_each(|ambiguity| println!("{ambiguity}"));

    let (world, checksum) = play(&Inline, Threads::Never)?;
    // Such a small game is faster on one thread. `Always` uses both all the same.
    let (_, on_two_threads) = play(&ThreadPool::new(2), Threads::Always)?;
    assert_eq!(checksum, on_two_threads);
    assert_eq!(checksum, raid::CHECKSUM);

    let sounds = world.resource::<Sounds>()?;
    println!("\n{}", world.resource::<Screen>()?.0);
    println!("{} hits and {} deaths were heard", sounds.hits, sounds.deaths);
    println!("checksum on one thread and on two: {checksum:016x}");
    Ok(())
}
