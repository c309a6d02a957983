//! The commands of the program, a file for each.

pub(crate) mod advice;
pub(crate) mod demo;
pub(crate) mod drill;
pub(crate) mod parse;
pub(crate) mod snapshot;
