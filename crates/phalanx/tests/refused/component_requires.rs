use phalanx::Component;

#[derive(Component, Default)]
struct Position(f32);

struct Plain;

#[derive(Component)]
struct NoDefault;

fn position() -> u32 {
    7
}

#[derive(Component)]
#[component(requires(Itself))]
struct Itself;

#[derive(Component)]
#[component(requires(Position, Position = Position(1.0)))]
struct Twice;

#[derive(Component)]
#[component(requires(NoDefault))]
struct NeedsDefault;

#[derive(Component)]
#[component(requires(Plain = Plain))]
struct NeedsPlain;

#[derive(Component)]
#[component(requires(Position(position)))]
struct NeedsOther;

#[derive(Component)]
#[component(requires(Position = 7))]
struct NeedsNumber;

#[derive(Component)]
#[component(requires(Position(position, position)))]
struct NeedsTwo;

#[derive(Component)]
#[component(requires = "Position")]
struct NeedsText;

fn main() {}
