//! Enums that cannot be a derived query, and where the message points.

use phalanx::{Component, QueryData, World};

#[derive(Component)]
struct A(u32);

#[derive(QueryData)]
enum Nothing {}

#[derive(QueryData)]
enum Everything {
    Always,
}

#[derive(QueryData)]
enum Unreached<'a> {
    One(&'a A),
    Rest,
    Two { a: &'a A },
    Three(),
}

#[derive(QueryData)]
enum Options {
    #[query(first)]
    One(&'static A),
    Two(#[query(optional)] &'static A),
}

#[derive(QueryData)]
enum Writes {
    One(&'static mut A),
}

fn main() {
    let world = World::new();
    world.query::<Writes>();
}
