use phalanx::system::{Commands, Local};
use phalanx::{Component, Query, World};
use phalanx_schedule::Schedule;

#[derive(Component)]
struct Age(u32);

fn world(_: &'static World) {}
fn query(_: Query<'static, 'static, &'static Age>) {}
fn thread(_: Local<std::rc::Rc<u32>>, _: Commands) {}

fn main() {
    let builder = Schedule::builder("frame").add(world).add(query).add(thread);
    let _ = builder.build(&mut World::new());
}
