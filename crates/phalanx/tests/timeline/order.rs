//! Orders that are part of a state, and what sums and lists of differences say of them.

use phalanx::group::Observed;
use phalanx::relation::ChildOf;
use phalanx::system::StageStart;
use phalanx::timeline::{Difference, Timeline, differences};
use phalanx::{Component, Entity, Key, Plain, Removal, Role, World};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Sword(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Shield(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(track = "column", plain)]
struct Speed(u64);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
struct Fire(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", plain)]
struct Mass(u32);

/// A world with free slots, and the entities that these have next.
fn with_free_slots() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all: Vec<Entity> = (0..6).map(|_| world.spawn_empty()).collect();
    world.despawn_batch(all[..4].iter().copied());
    let free = world.free_entities().collect();
    (world, free)
}

/// Checks that a capture and a rewind notice a change of the free list.
fn assert_noticed(mut world: World, change: impl Fn(&mut World)) {
    let mut timeline = Timeline::with_sums(4);
    timeline.capture(&mut world).unwrap();
    let (free, sums) = (world.free_entities().collect::<Vec<_>>(), timeline.sums(0).unwrap().clone());
    change(&mut world);
    assert!(!world.free_entities().eq(free.iter().copied()));
    timeline.rewind(&mut world, 0).unwrap();
    world.validate().unwrap();
    timeline.validate(&world).unwrap();
    assert!(world.free_entities().eq(free.iter().copied()), "a rewind");
    change(&mut world);
    let changed: Vec<Entity> = world.free_entities().collect();
    timeline.capture(&mut world).unwrap();
    timeline.validate(&world).unwrap();
    assert_ne!(timeline.sums(0), Some(&sums));
    assert!(timeline.at(&world, 0).unwrap().free_entities().eq(changed.iter().copied()), "a capture");
    timeline.rewind(&mut world, 1).unwrap();
    assert!(world.free_entities().eq(free.iter().copied()), "an earlier frame");
}

#[test]
fn an_order_of_free_entities_that_is_set_is_noticed() {
    let (world, free) = with_free_slots();
    assert_noticed(world, |world| {
        let order: Vec<Entity> = free.iter().rev().copied().collect();
        world.set_free_entities(&order).unwrap();
    });
}

#[test]
fn the_order_of_free_entities_after_a_clear_is_noticed() {
    let (mut world, _) = with_free_slots();
    world.on_despawn(|_, _, _| {});
    world.despawn_batch(world.iter().collect::<Vec<_>>());
    assert_noticed(world, World::clear);
}

#[test]
fn reservations_that_are_canceled_are_noticed() {
    let (mut world, free) = with_free_slots();
    let mut timeline = Timeline::with_sums(2);
    timeline.capture(&mut world).unwrap();
    // The second of four reserved entities is used, the others are not.
    let stage = StageStart::new(&mut world, 1, 4);
    stage.finish(&mut world, &[0..1, 2..4]);
    timeline.capture(&mut world).unwrap();
    timeline.validate(&world).unwrap();
    let mut then = timeline.at(&world, 0).unwrap();
    for world in [&mut then, &mut world] {
        let next = world.spawn_empty();
        assert!(world.contains(free[1]) && next == free[0]);
        world.validate().unwrap();
    }
    timeline.rewind(&mut world, 1).unwrap();
    world.validate().unwrap();
    assert!(world.free_entities().eq(free));
}

#[test]
fn sums_tell_apart_the_names_of_extra_rows_in_two_tables() {
    let sums = [[1, 2], [2, 1]].map(|roles| {
        let mut world = World::new();
        let elf = world.spawn_empty();
        world.add_row(Key::main(elf).with_role(Role(roles[0])), Sword(1)).unwrap();
        world.add_row(Key::main(elf).with_role(Role(roles[1])), Shield(1)).unwrap();
        let mut timeline = Timeline::with_sums(0);
        timeline.capture(&mut world).unwrap();
        timeline.sums(0).unwrap().clone()
    });
    assert_ne!(sums[0].entities(), sums[1].entities());
    assert_ne!(sums[0].world(), sums[1].world());
}

#[test]
fn values_that_are_tracked_by_columns_are_compared() {
    let mut world = World::new();
    let hare = world.spawn(Speed(1));
    let before = world.checkpoint().unwrap();
    world.query_mut::<&mut Speed>().for_each(|speed| speed.0 = 2);
    let found = differences(&before, &world.checkpoint().unwrap(), 9);
    assert!(matches!(&found[..], [Difference::Value { entity, .. }] if *entity == hare), "{found:?}");
}

/// Returns the differences that an operation makes.
fn differences_of(world: &mut World, change: impl FnOnce(&mut World)) -> Vec<Difference> {
    let before = world.checkpoint().unwrap();
    change(world);
    differences(&before, &world.checkpoint().unwrap(), 9)
}

#[test]
fn extra_rows_and_groups_are_compared() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..3).map(|n| world.spawn((Fire(n), Mass(n)))).collect();
    let key = Key::main(all[0]).with_role(Role(1));
    world.add_row(key, (Sword(1), Fire(1), Mass(1))).unwrap();
    let group = world.create_group::<Observed<(Fire, Mass)>>().unwrap();
    assert_eq!(differences_of(&mut world, |_| {}), []);
    let row = |world: &mut World| _ = world.row_mut(key).unwrap().insert(Sword(2));
    assert_eq!(differences_of(&mut world, row), [Difference::Order]);
    let row = |world: &mut World| _ = world.row_mut(key).unwrap().insert(Fire(2));
    assert_eq!(differences_of(&mut world, row), [Difference::Order]);
    let row = |world: &mut World| _ = world.row_mut(key).unwrap().insert(Mass(2));
    assert_eq!(differences_of(&mut world, row), [Difference::Order]);
    let sort = |world: &mut World| group.sort_by(world, |(a, _), (b, _)| b.0.cmp(&a.0));
    assert_eq!(differences_of(&mut world, sort), [Difference::Order]);
    let remove = |world: &mut World| world.pool_mut::<Fire>().set_removal(Removal::Ordered).unwrap();
    assert_eq!(differences_of(&mut world, remove), [Difference::Order]);
}

#[test]
fn holes_are_the_same_whatever_was_there() {
    let mut world = World::new();
    world.pool_mut::<Fire>().set_removal(Removal::Deferred).unwrap();
    let all: Vec<Entity> = (0..3).map(|_| world.spawn_empty()).collect();
    let empty = world.checkpoint().unwrap();
    let states = [0, 1].map(|first| {
        world.rollback(&empty).unwrap();
        world.insert(all[first], Fire(1)).unwrap();
        world.insert(all[2], Fire(2)).unwrap();
        world.remove::<Fire>(all[first]).unwrap();
        assert_eq!(world.pool::<Fire>().holes(), 1);
        world.checkpoint().unwrap()
    });
    assert_eq!(differences(&states[0], &states[1], 9), []);
}

#[test]
fn a_resource_that_one_state_has_is_a_difference_either_way() {
    #[derive(Plain, Clone, Copy)]
    struct Score(u32);
    let mut world = World::new();
    let before = world.checkpoint().unwrap();
    world.resources_mut().keep_plain::<Score>();
    world.insert_resource(Score(7));
    let after = world.checkpoint().unwrap();
    for (first, second) in [(&before, &after), (&after, &before)] {
        let found = differences(first, second, 9);
        assert!(matches!(&found[..], [Difference::Resource { .. }]), "{found:?}");
    }
}

#[test]
fn links_of_the_discarded_time_have_never_changed() {
    let mut world = World::new();
    let [a, b] = [world.spawn_empty(), world.spawn_empty()];
    let mut timeline = Timeline::new(1);
    timeline.capture(&mut world).unwrap();
    world.relations_mut::<ChildOf>().link(a, b).unwrap();
    assert!(world.relations::<ChildOf>().last_changed().is_some());
    timeline.rewind(&mut world, 0).unwrap();
    assert_eq!(world.relations::<ChildOf>().last_changed(), None);
    assert_eq!(timeline.at(&world, 0).unwrap().relations::<ChildOf>().last_changed(), None);
}
