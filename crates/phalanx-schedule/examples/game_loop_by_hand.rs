//! The loop of the example `game_loop` without a schedule: the same systems, called one after another.
//!
//! `cargo run -p phalanx-schedule --example game_loop_by_hand`

mod raid;

use phalanx::system::IntoSystem;
use phalanx_schedule::FixedStep;
use raid::{Death, Hit, Mode, Score, Screen, Sounds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = raid::new_world();
    let mut clock = FixedStep::from_hz(30);
    let mut mode = Mode::Playing;

    // Systems keep what their queries match, and which events they have read.
    let mut send_raider = raid::send_raider.into_system();
    let mut drop_arrows = raid::drop_arrows.into_system();
    let mut walk = raid::walk.into_system();
    let mut aim = raid::aim.into_system();
    let mut shoot = raid::shoot.into_system();
    let mut hit = raid::hit.into_system();
    let mut wound = raid::wound.into_system();
    let mut bury = raid::bury.into_system();
    let mut storm = raid::storm.into_system();
    let mut draw = raid::draw.into_system();
    // Readers that do not belong to a system.
    let (mut hits, mut deaths) = (world.event_reader::<Hit>(), world.event_reader::<Death>());

    world.run_system(&mut raid::build_towers.into_system());
    for number in 0..raid::FRAMES {
        for _ in 0..clock.advance(raid::frame_nanos(number)).count {
            if mode == Mode::Playing && world.resource::<Score>()?.lives == 0 {
                world.run_system(&mut raid::pull_down_towers.into_system());
                mode = Mode::Over;
            }
            if mode == Mode::Playing {
                world.run_system(&mut send_raider);
            }
            world.run_system(&mut drop_arrows);
            world.run_system(&mut walk);
            if mode == Mode::Playing {
                world.run_system(&mut aim);
                world.run_system(&mut shoot);
            }
            world.run_system(&mut hit);
            world.run_system(&mut wound);
            world.run_system(&mut bury);
            world.run_system(&mut storm);
        }
        let (new_hits, new_deaths) = (hits.read(&world).len(), deaths.read(&world).len());
        let mut sounds = world.resource_mut::<Sounds>()?;
        sounds.hits += new_hits;
        sounds.deaths += new_deaths;
        world.run_system(&mut draw);
    }

    let checksum = raid::checksum(&world)?;
    assert_eq!(checksum, raid::CHECKSUM);
    println!("{}", world.resource::<Screen>()?.0);
    println!("checksum: {checksum:016x}");
    Ok(())
}
