use phalanx::{Bundle, Component};

#[derive(Component)]
struct Position(f32);

#[derive(Bundle)]
enum Either {
    Here(Position),
    Nowhere,
}

fn main() {}
