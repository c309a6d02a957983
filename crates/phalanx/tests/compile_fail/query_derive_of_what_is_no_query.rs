//! What cannot be a derived query, and where the message points.

use phalanx::{Component, Query};

#[derive(Component)]
struct A(u32);

#[derive(Query)]
enum Either {
    A(&'static A),
}

#[derive(Query)]
union Overlay {
    a: &'static A,
}

#[derive(Query)]
struct Tuple(&'static A, &'static mut A);

#[derive(Query)]
struct Unit;

#[derive(Query)]
struct Empty {}

#[derive(Query)]
#[query(table)]
struct Option1 {
    a: &'static A,
}

#[derive(Query)]
struct Option2 {
    #[query(optional)]
    a: &'static A,
}

fn main() {}
