use phalanx::{Bundle, Component};

#[derive(Component)]
struct Position(f32);

struct Plain;

#[derive(Bundle)]
struct Ship {
    position: Position,
    plain: Plain,
}

fn main() {}
