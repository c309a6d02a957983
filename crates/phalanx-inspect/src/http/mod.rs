//! The server: sockets and timers in a thread of their own.

mod files;
mod guard;
mod runtime_file;
mod server;

pub(crate) use server::{Server, ServerOptions};
