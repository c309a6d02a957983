//! The message is about the field, and says how a component is asked for.

use phalanx::{Component, Query};

#[derive(Component, Debug)]
struct A(u32);

#[derive(Query)]
struct NoTerm {
    a: &'static A,
    b: A,
}

fn main() {}
