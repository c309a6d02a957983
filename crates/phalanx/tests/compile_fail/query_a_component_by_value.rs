//! A component is not a query term. The message says what to write instead.

use phalanx::{Component, World};

#[derive(Component)]
struct A(u32);

fn main() {
    World::new().query_mut::<A>();
    World::new().queries_mut::<(&A, A)>();
}
