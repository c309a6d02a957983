//! A component is no term; the message says how it is asked for.

use phalanx::{Component, World};

#[derive(Component)]
struct A(u32);

fn main() {
    World::new().query_mut::<A>();
    World::new().queries_mut::<(&A, A)>();
}
