//! Orders that name several systems at once.

use phalanx::World;
use phalanx_schedule::{IntoSystemConfig, Schedule, SystemSet};

#[derive(Debug)]
struct Physics;
impl SystemSet for Physics {}

fn load() {}
fn walk() {}
fn fall() {}
fn draw() {}

#[test]
fn an_order_names_a_tuple_of_functions_sets_and_names() {
    let mut world = World::new();
    let after = Schedule::builder("frame")
        .add(draw.after((load, (Physics, String::from("walk")))))
        .add((walk, fall.in_set(Physics), load))
        .build(&mut world)
        .unwrap();
    assert!(after.systems().eq(["walk", "fall", "load", "draw"]));
    let before = Schedule::builder("frame")
        .add((walk, fall.in_set(Physics), draw))
        .add(load.before((walk, Physics, "draw")))
        .build(&mut world)
        .unwrap();
    assert!(before.systems().eq(["load", "walk", "fall", "draw"]));
    let unsynced =
        Schedule::builder("frame").add(draw.after_unsynced((walk, fall))).add((fall, walk)).build(&mut world).unwrap();
    assert!(unsynced.systems().eq(["fall", "walk", "draw"]));
}

#[test]
fn a_set_is_ordered_after_a_tuple() {
    let schedule = Schedule::builder("frame")
        .add((draw.in_set(Physics), walk, load))
        .set(Physics, |set| set.after((walk, load)))
        .build(&mut World::new())
        .unwrap();
    assert!(schedule.systems().eq(["walk", "load", "draw"]));
}

#[test]
fn a_cycle_through_a_tuple_is_refused() {
    let built = Schedule::builder("frame")
        .add(walk.after((load, draw)))
        .add(draw.after(walk))
        .add(load)
        .build(&mut World::new());
    assert!(built.unwrap_err().to_string().contains("walk"));
}
