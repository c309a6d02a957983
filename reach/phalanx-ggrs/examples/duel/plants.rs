//! Bugs that make the worlds of two players differ, to see that reports name them.

use crate::game::{Position, Score, Velocity};
use phalanx::{Component, Entity, World};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// The frame from which on a bug has an effect.
pub(crate) const FROM: u64 = 200;

/// What each number plants.
pub(crate) const NAMES: [&str; 11] = [
    "a resource that is not kept",
    "the order of a hash map",
    "the clock",
    "padding, which is not compared",
    "another float result",
    "systems without an order",
    "a listener with state",
    "a static",
    "a retained handle",
    "random numbers from outside of the world",
    "a flipped bit on the machine of player 1",
];

/// A resource that is not kept.
struct Mood(u32);

/// It has three bytes of padding, so it is not plain.
#[derive(Component, Clone, Copy, Debug)]
#[component(clone)]
#[repr(C)]
struct Padded(u8, u32);

/// A bug, and what it keeps outside of the world.
pub(crate) struct Plant {
    number: usize,
    player: usize,
    start: Instant,
    calls: u32,
    heard: Arc<AtomicU32>,
    last: Option<Entity>,
    /// When the effect was first simulated.
    pub(crate) first: Option<Instant>,
}

impl Plant {
    /// Plants a bug in the program of a player: 1 to 11, or 0 for none.
    pub(crate) fn new(number: usize, player: usize, world: &mut World) -> Plant {
        let heard = Arc::new(AtomicU32::new(0));
        if number == 1 {
            world.insert_resource(Mood(0));
        }
        if number == 7 {
            let inside = heard.clone();
            world.on_add::<crate::game::Bullet>(move |_, _, _| {
                inside.fetch_add(1, Ordering::Relaxed);
            });
        }
        Plant { number, player, start: Instant::now(), calls: 0, heard, last: None, first: None }
    }

    /// Has its effect on a frame, after the right simulation of it.
    pub(crate) fn grow(&mut self, world: &mut World) {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let Ok(frame) = world.resource::<Score>().map(|score| score.frame) else { return };
        self.calls += 1;
        if self.number == 0 || frame < FROM {
            return;
        }
        self.first.get_or_insert_with(Instant::now);
        // A stone in the middle of its table.
        let Some(stone) = world.query::<(Entity, &Position, &Velocity)>().iter().nth(150).map(|row| row.0) else {
            return;
        };
        match self.number {
            1 => {
                let mood = world.resource_mut::<Mood>().map_or(0, |mut mood| {
                    mood.0 += 1;
                    mood.0
                });
                set_x(world, stone, mood as f32);
            }
            2 => {
                let all: HashMap<Entity, u32> = world.iter().take(100).map(|entity| (entity, entity.index())).collect();
                let hash = all.values().fold(0u32, |hash, index| hash.wrapping_mul(31).wrapping_add(*index));
                set_x(world, stone, (hash % 100) as f32);
            }
            3 => set_x(world, stone, self.start.elapsed().as_micros() as f32),
            // What is between the two fields is not determined.
            4 => _ = world.insert(stone, Padded(1, 2)),
            5 => {
                let terms = [1e8f32, 1.0, -1e8, 0.25];
                let sum: f32 = if self.player == 1 { terms.iter().rev().sum() } else { terms.iter().sum() };
                set_x(world, stone, sum);
            }
            6 => {
                let (double, add) = (|x: f32| x * 2.0, |x: f32| x + 1.0);
                let x = world.get::<Position>(stone).map_or(0.0, |position| position.x % 50.0);
                set_x(world, stone, if self.calls.is_multiple_of(5) { add(double(x)) } else { double(add(x)) });
            }
            7 => set_x(world, stone, self.heard.load(Ordering::Relaxed) as f32),
            8 => set_x(world, stone, CALLS.fetch_add(1, Ordering::Relaxed) as f32),
            9 => {
                if let Some(position) = self.last.and_then(|entity| world.get_mut::<Position>(entity).ok()) {
                    position.x += 0.5;
                }
                self.last = world.query::<(Entity, &crate::game::Bullet)>().iter().last().map(|row| row.0);
            }
            10 => {
                let seed = std::process::id().wrapping_add(self.calls);
                set_x(world, stone, (seed % 97) as f32);
            }
            _ if self.player == 1 && frame == FROM => {
                if let Ok(position) = world.get_mut::<Position>(stone) {
                    position.y = f32::from_bits(position.y.to_bits() ^ 1);
                }
            }
            _ => {}
        }
    }
}

fn set_x(world: &mut World, entity: Entity, x: f32) {
    if let Ok(position) = world.get_mut::<Position>(entity) {
        position.x = x;
    }
}
