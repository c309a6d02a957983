//! Single cases that random programs, or a close look, have found.

use phalanx::World;
use phalanx::relation::ChildOf;
use phalanx::timeline::Timeline;

#[test]
fn a_timeline_sees_that_a_link_was_cut() {
    let mut world = World::new();
    let [parent, child] = [(); 2].map(|()| world.spawn_empty());
    world.relations_mut::<ChildOf>().link(child, parent).unwrap();
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    world.relations_mut::<ChildOf>().unlink(child).unwrap();
    timeline.capture(&mut world).unwrap();
    world.relations_mut::<ChildOf>().link(child, parent).unwrap();
    timeline.rewind(&mut world, 0).unwrap();
    world.validate().unwrap();
    assert_eq!(world.relations::<ChildOf>().parent(child), None);
    timeline.rewind(&mut world, 1).unwrap();
    world.validate().unwrap();
    assert_eq!(world.relations::<ChildOf>().parent(child), Some(parent));
}
