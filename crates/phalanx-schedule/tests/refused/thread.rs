use phalanx::World;
use phalanx::system::Commands;
use phalanx_schedule::Schedule;
use std::rc::Rc;

fn main() {
    let shared = Rc::new(1);
    let own = move |_: Commands| drop(Rc::clone(&shared));
    let _ = Schedule::builder("frame").add(own).build(&mut World::new());
}
