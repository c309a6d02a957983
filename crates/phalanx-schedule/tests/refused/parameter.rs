use phalanx::World;
use phalanx_schedule::Schedule;

fn walk(_: u32) {}

fn main() {
    let _ = Schedule::builder("frame").add(walk).build(&mut World::new());
}
