//! The commands of the program, a file for each.

pub(crate) mod advice;
pub(crate) mod drill;
pub(crate) mod measure;
pub(crate) mod parse;
pub(crate) mod run;
mod signals;
pub(crate) mod snapshot;
