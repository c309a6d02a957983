//! An epidemic: agents walk at random in a square, and infect others near them.

use phalanx::{Component, Entity, World};

#[derive(Component, Clone, Copy)]
#[component(plain)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Component, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Health {
    Susceptible,
    Infected,
    Recovered,
}

/// The frames until an agent recovers. Few agents have it, and it comes and goes: a sparse set.
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
pub(crate) struct Sick {
    pub(crate) left: u32,
}

const AGENTS: usize = 1000;
/// The distance within which agents infect each other, as a part of the square.
const REACH: f32 = 0.02;
const CELLS: usize = 50;
const ILL_FOR: u32 = 40;

/// The same numbers for the same seed, on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }
}

/// The state of one run.
pub(crate) struct Epidemic {
    pub(crate) world: World,
    random: Random,
    infectivity: f32,
}

impl Epidemic {
    pub(crate) fn new(seed: u64, infectivity: f64) -> Epidemic {
        let mut random = Random(seed);
        let mut world = World::new();
        for n in 0..AGENTS {
            let position = Position { x: random.unit(), y: random.unit() };
            if n < 5 {
                world.spawn((position, Health::Infected, Sick { left: ILL_FOR }));
            } else {
                world.spawn((position, Health::Susceptible));
            }
        }
        Epidemic { world, random, infectivity: infectivity as f32 }
    }

    /// Runs one frame.
    pub(crate) fn step(&mut self) {
        let Epidemic { world, random, infectivity } = self;
        world.query_mut::<&mut Position>().for_each(|position| {
            position.x = (position.x + (random.unit() - 0.5) * REACH).rem_euclid(1.0);
            position.y = (position.y + (random.unit() - 0.5) * REACH).rem_euclid(1.0);
        });

        // The sick by cells as large as their reach, so that only those nearby are compared.
        let cell = |at: f32| ((at * CELLS as f32) as usize).min(CELLS - 1);
        let mut cells: Vec<Vec<Position>> = vec![Vec::new(); CELLS * CELLS];
        for (position, _) in world.query::<(&Position, &Sick)>().iter() {
            cells[cell(position.y) * CELLS + cell(position.x)].push(*position);
        }
        let mut infected: Vec<Entity> = Vec::new();
        for (entity, position, health) in world.query::<(Entity, &Position, &Health)>().iter() {
            if *health != Health::Susceptible {
                continue;
            }
            let (column, line) = (cell(position.x), cell(position.y));
            let contacts = (0..9).map(|n| {
                let near = |at: usize, n: usize| (at + CELLS + n - 1) % CELLS;
                let there = &cells[near(line, n / 3) * CELLS + near(column, n % 3)];
                there.iter().filter(|other| is_near(position, other)).count()
            });
            let escape = (1.0 - *infectivity).powi(contacts.sum::<usize>() as i32);
            if random.unit() >= escape {
                infected.push(entity);
            }
        }

        let mut recovered: Vec<Entity> = Vec::new();
        for (entity, sick) in world.query_mut::<(Entity, &mut Sick)>().iter_mut() {
            sick.left -= 1;
            if sick.left == 0 {
                recovered.push(entity);
            }
        }
        for entity in recovered {
            world.remove::<Sick>(entity).expect("the entity is sick");
            world.insert(entity, Health::Recovered).expect("the entity is alive");
        }
        for entity in infected {
            world.insert(entity, (Health::Infected, Sick { left: ILL_FOR })).expect("the entity is alive");
        }
    }
}

/// Whether agents are within reach. The square has no borders.
fn is_near(a: &Position, b: &Position) -> bool {
    let along = |a: f32, b: f32| (a - b).abs().min(1.0 - (a - b).abs());
    let (dx, dy) = (along(a.x, b.x), along(a.y, b.y));
    dx * dx + dy * dy < REACH * REACH
}
