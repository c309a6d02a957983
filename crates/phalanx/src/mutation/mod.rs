//! Structural changes.

mod commit;
mod edge;
mod reserve;
