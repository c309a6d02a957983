//! Signals: what is told, in what order, and what becomes of it when something goes wrong.

mod model;
mod parts;
