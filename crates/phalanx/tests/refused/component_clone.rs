use phalanx::Component;

#[derive(Component)]
#[component(clone)]
struct Soul;

#[derive(Component, Clone)]
#[component(copy)]
struct Body;

fn main() {}
