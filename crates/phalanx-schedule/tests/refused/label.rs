use phalanx::World;
use phalanx_schedule::{IntoSystemConfig, Schedule};

#[derive(Debug)]
struct Physics;
fn walk() {}

fn main() {
    let _ = Schedule::builder("frame").add(walk.after(3)).build(&mut World::new());
    let _ = Schedule::builder("frame").add(walk.in_set(Physics)).build(&mut World::new());
}
