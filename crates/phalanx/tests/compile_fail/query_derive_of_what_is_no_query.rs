//! What cannot be a derived query, and where the message points.

use phalanx::{Component, QueryData};

#[derive(Component)]
struct A(u32);

#[derive(QueryData)]
union Overlay {
    a: &'static A,
}

#[derive(QueryData)]
struct Tuple(&'static A, &'static mut A);

#[derive(QueryData)]
struct Unit;

#[derive(QueryData)]
struct Empty {}

#[derive(QueryData)]
#[query(table)]
struct Option1 {
    a: &'static A,
}

#[derive(QueryData)]
struct Option2 {
    #[query(optional)]
    a: &'static A,
}

fn main() {}
