use phalanx::World;
use phalanx::event::EventReader;
use phalanx_schedule::Schedule;

struct Hit;

fn hear(_: EventReader<Hit>) {}

fn main() {
    let _ = Schedule::builder("frame").add(hear).build(&mut World::new());
}
