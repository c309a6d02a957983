//! Sessions of several players, in memory and in processes of their own.
#![allow(missing_docs)]

#[allow(dead_code)]
#[path = "../../examples/duel/game.rs"]
mod game;

mod desyncs;
mod forged;
mod joining;
mod kit;
mod processes;
mod sessions;
