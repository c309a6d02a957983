//! Filters over what is tracked name the component that is not.
use phalanx::{Added, Changed, Component, QueryState};

#[derive(Component)]
struct Plain(u32);

#[derive(Component)]
#[component(track = "column")]
struct Wide(u32);

fn main() {
    QueryState::<&Plain, Changed<Plain>>::new();
    QueryState::<&Wide, Added<Wide>>::new();
}
