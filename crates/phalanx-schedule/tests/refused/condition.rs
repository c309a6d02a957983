use phalanx::World;
use phalanx_schedule::{IntoSystemConfig, Schedule};

fn walk() {}
fn is_awake() -> u32 {
    1
}

fn main() {
    let _ = Schedule::builder("frame").add(walk.run_if(is_awake)).build(&mut World::new());
}
