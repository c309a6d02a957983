use phalanx::Component;

#[derive(Component, Default)]
#[component(requires(Second))]
struct First;

#[derive(Component, Default)]
#[component(requires(Third))]
struct Second;

#[derive(Component, Default)]
#[component(requires(First))]
struct Third;

fn main() {}
