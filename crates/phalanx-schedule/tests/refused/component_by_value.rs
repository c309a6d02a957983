use phalanx::{Component, Query, World};
use phalanx_schedule::Schedule;

#[derive(Component)]
struct Age(u32);

fn grow(_: Query<Age>) {}

fn main() {
    let _ = Schedule::builder("frame").add(grow).build(&mut World::new());
}
