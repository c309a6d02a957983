use phalanx::Component;

#[derive(phalanx::store::Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "row")]
struct Velocity {
    x: f32,
}

#[derive(Component)]
#[component(track = "entity")]
struct Position(f32);

#[derive(Component)]
#[component(track = "row", track = "column")]
struct Mass(f32);

fn main() {}
