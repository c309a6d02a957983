//! A live inspector in the browser, for worlds of [`phalanx`]. The program `phalanx-top` shows the same in a terminal.
//!
//! ```no_run
//! # use phalanx::World;
//! # fn step(_: &mut World) {}
//! let mut world = World::new();
//! let mut inspector = phalanx_inspect::serve()?; // prints http://127.0.0.1:7171/#key=…
//! loop {
//!     step(&mut world);
//!     inspector.update(&mut world);
//! #   break;
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The page shows entities by [text queries](phalanx::reflect::TextQuery), the values of an entity, tables and sparse stores with
//! their bytes, components, resources, groups, earlier frames, differences, and charts. No component has to be registered:
//! `derive(Component)` says where its fields are. Fields of `#[component(plain)]` components can be edited.
//!
//! # More
//!
//! ```no_run
//! use phalanx::World;
//! use phalanx_inspect::{Flow, Inspector};
//! use std::time::Duration;
//!
//! # fn step(_: &mut World) {}
//! # let mut world = World::new();
//! let mut inspector = Inspector::builder()
//!     .name("boids")
//!     .budget(Duration::from_micros(500)) // loop time for answers, in each update
//!     .timeline(600) // the last 600 frames: look back, compare, return
//!     .plot("alive", |world| world.len() as f64)
//!     .action("clear", |world| world.clear())
//!     .serve()?;
//! loop {
//!     if inspector.update(&mut world) == Flow::Hold {
//!         continue; // paused from the page
//!     }
//!     step(&mut world);
//! #   break;
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Cost
//!
//! A thread owns the sockets. Requests wait in a queue until the loop calls [`update`](Inspector::update), which answers them
//! within a [budget](Builder::budget), 1 ms by default. A long scan goes on in the next frame. Without a request, `update` is a load
//! and a branch. A timeline and plots cost what they record, in each frame.
//!
//! # Security
//!
//! - The server listens on the loopback interface, unless [`expose`](Builder::expose) is called with a key. There is no TLS: for
//!   another machine, use a tunnel of SSH.
//! - Each request carries a key of 128 bits. It is in the fragment of the printed address, which browsers do not send.
//! - Host, origin and the other headers by which browsers tell pages apart are checked. No page of another origin gets an answer.
//! - A client can read all values and edit plain ones, and run the actions that the program names. [`read_only`](Builder::read_only)
//!   refuses edits and actions.
//! - The code of `Debug` runs with a limit on its output, and its panics are caught. Code that takes long is not called again.
//!   Code that neither writes nor returns cannot be stopped: then the server says which component the program waits for.
//! - On Unix, address and key are also in `$XDG_RUNTIME_DIR/phalanx/`, in a file that only the user can read.
//!
//! # Features
//!
//! - `serve` (default): the server and its page.
//! - `answer`: [`Inspector::answer`] without a server, for tests, for the web, or for a server of your own.
//! - `snapshot`: values as JSON by a `Registry`, and snapshots to download, load and compare.
//! - `schedule`: the page of systems, from a `RunReport` of `phalanx-schedule`.
//!
//! Without `serve` and `answer` the types are there, and their methods do nothing. So a release build can keep the lines, with
//! `default-features = false`.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "answer")]
mod answer;
#[cfg(feature = "answer")]
mod budget;
mod builder;
#[cfg(feature = "answer")]
mod column;
#[cfg(feature = "answer")]
mod compare;
#[cfg(feature = "answer")]
mod edit;
mod flow;
#[cfg(feature = "answer")]
mod history;
#[cfg(feature = "serve")]
mod http;
mod inspector;
#[cfg(feature = "answer")]
mod json;
mod key;
#[cfg(feature = "answer")]
mod plot;
#[cfg(feature = "serve")]
mod queue;
#[cfg(feature = "answer")]
mod refusal;
mod request;
mod response;
#[cfg(feature = "answer")]
mod route;
#[cfg(feature = "answer")]
mod scan;
#[cfg(feature = "answer")]
mod state;
#[cfg(feature = "answer")]
mod user_code;
#[cfg(feature = "answer")]
mod value;

pub use builder::Builder;
pub use flow::Flow;
pub use inspector::Inspector;
pub use key::{Key, KeyError};
pub use request::{EntitiesRequest, Moment, MomentError, Request};
pub use response::Response;

/// Starts an inspector at `127.0.0.1:7171`, or at one of the next nine ports, and prints its address.
///
/// # Errors
///
/// Returns an error if no port is free, or if a thread cannot be started.
pub fn serve() -> std::io::Result<Inspector> {
    Inspector::builder().serve()
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
