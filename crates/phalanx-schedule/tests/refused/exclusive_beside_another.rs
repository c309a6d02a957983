use phalanx::World;
use phalanx::system::Commands;
use phalanx_schedule::Schedule;

fn walk(_: &mut World, _: Commands) {}

fn main() {
    let _ = Schedule::builder("frame").add(walk).build(&mut World::new());
}
