//! A front end of the language Ori, formerly Sigil, in its dialect of parentheses.

mod kinds;
pub use kinds::{Kind, View, node};
