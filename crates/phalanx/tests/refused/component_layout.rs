use phalanx::Component;

#[derive(Component)]
#[component(layout = "pol")]
struct Burning;

#[derive(Component)]
#[component(layout = "pool")]
struct Pooled;

#[derive(Component)]
#[component(layout = "linear")]
struct Placed;

fn main() {}
