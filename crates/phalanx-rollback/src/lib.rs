//! Rollback of a world of [`phalanx`], frame by frame, without networking.
//!
//! A [`Rollback`] has a world and its last frames. [`advance`](Rollback::advance) simulates a frame, and
//! [`load`](Rollback::load) goes back to one. A session of rollback netcode needs no more than that: when an input arrives
//! late, it loads the frame that the input belongs to, and simulates again.
//!
//! ```
//! use phalanx::{Component, World};
//! use phalanx_rollback::Rollback;
//!
//! #[derive(Component, Clone, Copy)]
//! #[component(plain)]
//! struct Position(i32);
//!
//! fn simulate(world: &mut World, input: &i32) {
//!     world.query_mut::<&mut Position>().for_each(|p| p.0 += input);
//! }
//!
//! let mut world = World::new();
//! let hero = world.spawn(Position(0));
//! let mut game = Rollback::new(world, 8)?;
//! for guess in [1, 1, 1] {
//!     game.advance(&guess, simulate)?;
//! }
//! // The second input was 5.
//! game.load(1)?;
//! for input in [5, 1] {
//!     game.advance(&input, simulate)?;
//! }
//! assert_eq!((game.frame(), game.world().get::<Position>(hero).unwrap().0), (3, 7));
//! # Ok::<(), phalanx_rollback::RollbackError>(())
//! ```
//!
//! # Effects
//!
//! A sound cannot be rolled back. [`Effects`] deliver it once, however often its frame is simulated, and retract it if the
//! frame does not repeat it.
//!
//! # Finding desyncs
//!
//! A [`SyncTest`] simulates each frame several times, and compares. Its [report](Desync) names the frame, the entity, the
//! component, and both values.
//!
//! # What must be part of the world
//!
//! A rollback restores entities, components, and the resources that the world [keeps](phalanx::ResourcesMut::keep). What
//! `simulate` reads from anywhere else is not restored: other resources, statics, the clock, values that a closure or a
//! listener has captured, [`Local`](phalanx::system::Local) values of systems. [`Rollback::unrestored`] lists the resources.
//!
//! # Features
//!
//! - `schedule`: `Desync::add_writers` and `SyncFailure::with_writers` name the systems of a schedule that write the component.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod desync;
mod effects;
mod error;
mod rollback;
mod sync_test;

pub use desync::{Desync, FieldDifference};
pub use effects::{Effect, Effects};
pub use error::RollbackError;
pub use rollback::Rollback;
pub use sync_test::{SyncFailure, SyncTest};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
