//! Two machines play a game over a slow network, and stay equal: `cargo run -p phalanx-rollback --example two_players`.
//!
//! Each machine knows the inputs of its own player at once, and those of the other one some frames later. Until then it
//! repeats the last input that it knows. When a guess was wrong, it goes back and simulates again. The network is a queue in
//! this program; a session library would be in its place.

use phalanx::{Component, Entity, World};
use phalanx_rollback::{Effect, Effects, Rollback, RollbackError, SyncTest};
use std::collections::VecDeque;

const FRAMES: u64 = 300;
/// Frames that can be simulated again.
const WINDOW: usize = 12;

/// What a player presses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Input {
    step: i8,
    fire: bool,
}

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Tank {
    x: i32,
    lives: u32,
    cooldown: u32,
    player: u32,
}

#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Shell {
    x: i32,
    speed: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sound {
    Shot,
    Hit,
}

/// One frame. It depends on nothing but the world and the inputs.
fn simulate(world: &mut World, inputs: &[Input; 2]) {
    let mut sounds = Vec::new();
    let mut shots = Vec::new();
    world.query_mut::<&mut Tank>().for_each(|tank| {
        let input = inputs[tank.player as usize];
        tank.x = (tank.x + i32::from(input.step)).clamp(0, 100);
        tank.cooldown = tank.cooldown.saturating_sub(1);
        if input.fire && tank.cooldown == 0 {
            tank.cooldown = 9;
            let direction = if tank.player == 0 { 1 } else { -1 };
            shots.push(Shell { x: tank.x + 3 * direction, speed: 2 * direction });
            sounds.push(Sound::Shot);
        }
    });
    world.spawn_batch(shots);

    let mut gone: Vec<Entity> = Vec::new();
    let (shells, tanks) = world.queries_mut::<((Entity, &mut Shell), &mut Tank)>();
    let mut tanks: Vec<&mut Tank> = tanks.into_iter().collect();
    for (entity, shell) in shells {
        shell.x += shell.speed;
        if let Some(tank) = tanks.iter_mut().find(|tank| (tank.x - shell.x).abs() < 2) {
            tank.lives = tank.lives.saturating_sub(1);
            sounds.push(Sound::Hit);
            gone.push(entity);
        } else if !(0..=100).contains(&shell.x) {
            gone.push(entity);
        }
    }
    world.despawn_batch(gone);
    if let Ok(mut effects) = world.resource_mut::<Effects<Sound>>() {
        sounds.into_iter().for_each(|sound| effects.send(sound));
    }
}

fn new_world() -> World {
    let mut world = World::new();
    world.spawn_batch([(0, 10), (1, 90)].map(|(player, x)| Tank { x, lives: 99, cooldown: 0, player }));
    world
}

/// What a player does, as a function of the frame.
fn played(player: u64, frame: u64) -> Input {
    let phase = frame / 7 + player * 3;
    Input { step: [1, 0, -1, 1, -1][(phase % 5) as usize], fire: (frame + player * 5) % 11 < 3 }
}

/// One of the two machines.
struct Machine {
    player: usize,
    game: Rollback,
    /// The inputs of both players for each frame: those that arrived, and guesses for the rest.
    inputs: Vec<[Input; 2]>,
    /// Frames of the other player's inputs that have arrived.
    arrived: u64,
    simulated: u64,
    rollbacks: u64,
    played: usize,
    retracted: usize,
}

impl Machine {
    fn new(player: usize) -> Result<Machine, RollbackError> {
        let game = Rollback::new(new_world(), WINDOW)?.with_effects::<Sound>();
        let inputs = Vec::new();
        Ok(Machine { player, game, inputs, arrived: 0, simulated: 0, rollbacks: 0, played: 0, retracted: 0 })
    }

    /// Notes an input of the other player. Returns the frame to go back to, if the guess for it was wrong.
    fn receive(&mut self, frame: u64, input: Input) -> Option<u64> {
        let other = 1 - self.player;
        self.arrived = frame + 1;
        let is_wrong = self.inputs.get(frame as usize).is_some_and(|inputs| inputs[other] != input);
        // It is the guess for all later frames, too.
        self.inputs.iter_mut().skip(frame as usize).for_each(|inputs| inputs[other] = input);
        is_wrong.then_some(frame)
    }

    fn advance(&mut self, until: u64) -> Result<(), RollbackError> {
        while self.game.frame() < until {
            let frame = self.game.frame() as usize;
            if self.inputs.len() == frame {
                let mut inputs = self.inputs.last().copied().unwrap_or_default();
                inputs[self.player] = played(self.player as u64, frame as u64);
                self.inputs.push(inputs);
            }
            self.game.advance(&self.inputs[frame], simulate)?;
            self.simulated += 1;
        }
        for effect in self.game.drain::<Sound>() {
            match effect {
                Effect::Play { .. } => self.played += 1,
                Effect::Retract { .. } => self.retracted += 1,
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Without a network: is the simulation fit for rollback at all?
    SyncTest::new(new_world())
        .distance(WINDOW - 1)
        .frames(FRAMES)
        .run(|frame| [played(0, frame), played(1, frame)], simulate)?;
    println!("{FRAMES} frames, simulated several times each, are the same each time.");

    let mut machines = [Machine::new(0)?, Machine::new(1)?];
    // Inputs on the way to the other machine: when they arrive, their frame, and the input.
    let mut network: [VecDeque<(u64, u64, Input)>; 2] = Default::default();
    for now in 0..FRAMES + WINDOW as u64 {
        for (machine, incoming) in machines.iter_mut().zip(&mut network) {
            let mut back: Option<u64> = None;
            while incoming.front().is_some_and(|(arrival, ..)| *arrival <= now) {
                let (_, frame, input) = incoming.pop_front().expect("there is one");
                let wrong = machine.receive(frame, input);
                back = back.or(wrong);
            }
            if let Some(frame) = back {
                machine.rollbacks += 1;
                machine.game.load(frame)?;
            }
            machine.advance((now + 1).min(FRAMES))?;
        }
        if now < FRAMES {
            for player in 0..2 {
                let delay = 3 + (now * 7 + player * 5) % 5; // the network is slower at times, and keeps the order
                let earliest = network[1 - player as usize].back().map_or(0, |(arrival, ..)| *arrival);
                network[1 - player as usize].push_back(((now + delay).max(earliest), now, played(player, now)));
            }
        }
    }
    for machine in &machines {
        assert_eq!(machine.arrived, FRAMES);
        println!(
            "player {}: {} rollbacks, {} simulations of {FRAMES} frames, {} sounds, {} of them retracted",
            machine.player, machine.rollbacks, machine.simulated, machine.played, machine.retracted
        );
    }
    let [first, second] = machines.each_ref().map(|machine| machine.game.sums().world());
    println!("checksums: {first:016x} and {second:016x}");
    assert_eq!(first, second, "both machines have the same world");
    for tank in machines[0].game.world().query::<&Tank>().iter() {
        println!("the tank of player {} is at {}, with {} lives", tank.player, tank.x, tank.lives);
    }
    Ok(())
}
