//! Trees of entities: linking children to parents, moving and ending them, and computing values from those of parents.
//!
//! A library is a file here with a type that implements [`Tree`]. Only those that have a relation of children to parents
//! of their own are here.

mod bevy;
mod flecs;
mod limit;
mod phalanx;
mod workloads;

use crate::harness::Ways;
pub use workloads::all;

/// One library.
pub trait Tree: Sized + 'static {
    const NAME: &'static str;
    type Entity: Copy + 'static;

    fn new() -> Self;

    /// Spawns `data::body(i)` without a parent.
    fn spawn_root(&mut self, i: usize) -> Self::Entity;
    /// Spawns `data::body(i)` as the last child of a parent.
    fn spawn_child(&mut self, parent: Self::Entity, i: usize) -> Self::Entity;
    /// Spawns `count` children of the given parents in turn, one call each, with numbers from `first`.
    fn spawn_children(&mut self, parents: &[Self::Entity], first: usize, count: usize) -> Vec<Self::Entity> {
        (0..count).map(|k| self.spawn_child(parents[k % parents.len()], first + k)).collect()
    }
    /// Moves each child to a parent, one by one.
    fn reparent(&mut self, moves: &[(Self::Entity, Self::Entity)]);
    /// Despawns an entity and all below it.
    fn despawn(&mut self, e: Self::Entity);

    /// Spawns a node with `data::local(i)` and room for what is computed from it.
    fn spawn_node(&mut self, parent: Option<Self::Entity>, i: usize) -> Self::Entity;
    /// Called after the last node: libraries with groups or queries make them.
    fn ready(&mut self) {}
    /// Computes the transform of every node in the world from that of its parent, on one thread.
    fn propagate(ways: &mut Ways<Self>);

    /// Of all bodies and their parents.
    fn digest(&mut self) -> u64;
    /// Of all transforms in the world.
    fn digest_nodes(&mut self) -> u64;
}
