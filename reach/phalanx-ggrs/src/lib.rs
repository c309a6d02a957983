//! Peer-to-peer rollback netcode for [`phalanx`] on [`ggrs`].
//!
//! ggrs exchanges inputs, predicts those that are late, and requests to save, load and simulate frames. A [`Driver`] does so with a
//! [`Rollback`](phalanx_rollback::Rollback): the timeline has the states, and ggrs gets their checksums only.
//!
//! ```no_run
//! use ggrs::SessionBuilder;
//! use phalanx::World;
//! use phalanx_ggrs::{Driver, Event, HISTORY, Roster, Socket};
//! use phalanx_rollback::Rollback;
//!
//! fn simulate(world: &mut World, inputs: &[Option<u8>]) {
//!     // The same on all machines.
//! }
//!
//! let socket = Socket::bind("127.0.0.1:7000")?;
//! let roster = Roster::new([None, Some("127.0.0.1:7001".parse()?)]);
//! let mut session = roster.start(SessionBuilder::new().with_input_delay(2), &socket)?;
//! let mut game = Rollback::new(World::new(), HISTORY)?;
//! let mut driver = Driver::new(&socket, roster, &game);
//! loop {
//!     let buttons = 0; // of the local player
//!     driver.advance(&mut session, &mut game, buttons, simulate)?;
//!     for event in driver.events() {
//!         if let Event::Desync(report) = event {
//!             eprintln!("{report}");
//!         }
//!     }
//!     std::thread::sleep(std::time::Duration::from_millis(16));
//! }
//! # #[allow(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Desyncs
//!
//! Players compare the checksums of confirmed frames, every 10 frames. If they differ, the two machines find out what does: by
//! frame, component, table, chunk and row. They send sums only, and the rows of one chunk. Both get the same [`DesyncReport`]. With a
//! [registry](Driver::with_registry) and a [folder](Driver::with_reports), each saves its world of that frame.
//!
//! # Joining later
//!
//! A [`Joining`] program gets a snapshot. As a [`Spectator`] it follows by the confirmed inputs, and no player waits for it. As a player
//! it joins at a frame where all stop, and all start a new session there.
//!
//! # Trust
//!
//! Packets are neither encrypted nor signed. What arrives is bounded and checked before it is used, and snapshots go through
//! [`Registry::load`](phalanx::snapshot::Registry::load). But ggrs trusts the players of a session: one of them can end it.

mod admission;
mod channel;
mod clock;
mod conditioned;
mod datagrams;
mod driver;
mod error;
mod guard;
mod joining;
mod message;
mod report;
mod roster;
mod socket;
mod spectator;
mod walk;
mod watchers;

pub use clock::Clock;
pub use conditioned::{Conditioned, Conditions};
pub use datagrams::{Datagrams, LARGEST_PACKET, MemoryEndpoint, MemoryNetwork};
pub use driver::{Driver, Event, HISTORY, Progress};
pub use error::NetcodeError;
pub use joining::{Joined, Joining};
pub use report::{DesyncReport, FirstDifference};
pub use roster::Roster;
pub use socket::Socket;
pub use spectator::Spectator;

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::SocketAddr;

/// The input of a player in a frame. It is implemented for all types that can be one.
///
/// The default input is that of a player who does nothing.
pub trait Input: Copy + Debug + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<I: Copy + Debug + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static> Input for I {}

/// The types of a session: inputs are repeated to predict them, and states are kept by a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Netcode<I>(PhantomData<fn() -> I>);

impl<I: Input> ggrs::Config for Netcode<I> {
    type Input = I;
    type InputPredictor = ggrs::PredictRepeatLast;
    type State = ();
    type Address = SocketAddr;
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
