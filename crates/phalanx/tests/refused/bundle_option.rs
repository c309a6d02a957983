use phalanx::{Bundle, Component};

#[derive(Component)]
struct Position(f32);

#[derive(Bundle)]
#[bundle(name = "ship")]
struct Ship {
    position: Position,
}

fn main() {}
