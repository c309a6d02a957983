//! Worlds: making entities, walking over them, reading, changing and ending them.
//!
//! A library is a file here with a type that implements [`Ecs`]: a world, and whatever the library lets a program keep
//! between frames. Each function is the shortest idiomatic program in that library; loops over given entities may take
//! a view out of the loop, as systems do. Where a library has several ways, each is a row. What it cannot do has no row.

mod bevy;
mod flecs;
mod hecs;
mod legion;
mod limit;
mod off_path;
mod optional;
mod phalanx;
mod pools;
pub mod scaling;
mod schedules;
mod shipyard;
mod sparsey;
mod specs;
mod tracked;
mod workloads;

use crate::harness::{Ways, Workload};
pub use off_path::all as off_path;
pub use schedules::all as schedules;
pub use workloads::all;

/// The workloads of queries: what is off the main path of iteration.
pub fn queries() -> impl Iterator<Item = Workload> {
    optional::all().into_iter().chain(tracked::all()).chain(pools::all())
}

/// What a world will hold. Libraries that register components or declare groups ahead do so for these only: pools that
/// nobody uses slow down despawning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Transform, position, rotation, velocity.
    Four,
    /// Position, velocity.
    Moving,
    /// Position, velocity, extra.
    Join,
    /// A, B.
    AddRemove,
    /// The letters and data.
    Fragments,
    /// A to E.
    Schedule,
}

/// A world, entities of it in random order, and what was found so far.
pub struct Reading<W: Ecs> {
    pub world: W,
    pub order: Vec<W::Entity>,
    pub sum: f64,
}

/// A world whose positions are read, and what was found so far.
pub struct Field<W> {
    pub world: W,
    /// The bits of all `x` that were read, added up: a sum that is the same in every order.
    pub sum: u32,
}

/// Adds to or removes from each of some entities, one by one.
pub type Change<W> = fn(&mut W, &[<W as Ecs>::Entity]);

/// One library.
pub trait Ecs: Sized + 'static {
    const NAME: &'static str;
    type Entity: Copy + 'static;

    fn new(program: Program) -> Self;

    /// Spawns `data::row(i)`.
    fn spawn_four(&mut self, i: usize) -> Self::Entity;
    /// Spawns an entity with a position.
    fn spawn_still(&mut self, i: usize);
    /// Spawns an entity with a position and a velocity.
    fn spawn_moving(&mut self, i: usize) -> Self::Entity;
    /// Spawns an entity with a position, a velocity and an extra.
    fn spawn_extra(&mut self, i: usize);
    /// Spawns an entity with `A`.
    fn spawn_a(&mut self, v: f32) -> Self::Entity;
    /// Spawns 20 entities of each letter, with `Data { v: 1.0 }`.
    fn spawn_fragments(&mut self);
    fn despawn(&mut self, e: Self::Entity);
    /// Adds `B { v: 2.0 }` to each, one by one.
    fn add_b(&mut self, order: &[Self::Entity]);
    /// Removes `B` from each, one by one.
    fn remove_b(&mut self, order: &[Self::Entity]);
    /// The ways to add and remove `B`, each a row.
    fn changes() -> Vec<(&'static str, Change<Self>, Change<Self>)> {
        vec![("", Self::add_b, Self::remove_b)]
    }

    /// Spawns the first 10k rows into an empty world, one call each.
    fn insert_each(ways: &mut Ways<Self>) {
        ways.add("", |w| (0..10_000).for_each(|i| _ = w.spawn_four(i)));
    }
    /// The same in bulk.
    fn insert_bulk(_ways: &mut Ways<Self>) {}
    /// `position += velocity` by internal iteration, and over slices.
    fn integrate(ways: &mut Ways<Self>);
    /// The same by a `for` loop over items.
    fn integrate_for(_ways: &mut Ways<Self>) {}
    /// `data::join` of position, velocity and extra.
    fn join(ways: &mut Ways<Self>);
    /// Doubles every `Data`.
    fn double(ways: &mut Ways<Self>);
    /// `data::heavy` of transform and position.
    fn heavy(ways: &mut Ways<Self>);
    /// The same on several threads.
    fn heavy_parallel(_ways: &mut Ways<Self>) {}
    /// Adds up `position.x` of given entities.
    fn get(ways: &mut Ways<Reading<Self>>);
    /// Adds up the bits of all `position.x`.
    fn field(ways: &mut Ways<Field<Self>>);

    /// 10k each of (A B), (A B C), (A B C D), (A B C E), with values 0 to 4.
    fn spawn_schedule(&mut self) {}
    /// Swaps A and B, C and D, C and E, through the library's scheduler.
    fn schedule(_ways: &mut Ways<Self>) {}

    /// Of all positions.
    fn digest(&mut self) -> u64;
    /// Of all `Data`.
    fn digest_data(&mut self) -> u64;
    /// Of A, C, D and E.
    fn digest_schedule(&mut self) -> u64 {
        0
    }
    /// How many have both `A` and `B`.
    fn count_ab(&mut self) -> u64;
}
