use phalanx::system::{Commands, Local, ParamSet, Res, ResMut};
use phalanx::{Component, Query, World};
use phalanx_schedule::Schedule;

#[derive(Component)]
struct Age(u32);
struct Store(Option<&'static u32>);

fn keep(mut kept: Local<Option<&'static Age>>, ages: Query<&Age>) {
    *kept = ages.iter().next();
}
fn store(mut store: ResMut<Store>, number: Res<u32>) {
    store.0 = Some(number.into_inner());
}
fn later(mut commands: Commands, number: Res<u32>) {
    let number = number.into_inner();
    commands.queue(move |_| drop(number));
}
fn two(mut set: ParamSet<(Query<&mut Age>, Query<&Age>)>) {
    let mut first = set.p0();
    let second = set.p1();
    first.iter_mut().zip(&second).for_each(|(first, second)| first.0 = second.0);
}

fn main() {
    let builder = Schedule::builder("frame").add((keep, store, later, two));
    let _ = builder.build(&mut World::new());
}
