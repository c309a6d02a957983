use phalanx::World;
use phalanx_schedule::Schedule;

fn count() -> u32 {
    3
}

fn main() {
    let _ = Schedule::builder("frame").add(count).build(&mut World::new());
}
