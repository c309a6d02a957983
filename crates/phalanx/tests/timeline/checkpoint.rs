//! Checkpoints: the past exactly, and the same future.

use crate::kit::{Burning, Frozen, Mass, Position, Tag, run, seen, world};
use phalanx::group::Owned;
use phalanx::query::QueryState;
use phalanx::timeline::{DeltaError, Timeline, TimelineError, delta};
use phalanx::{Component, Entity, Without, World};
use phalanx_testkit::{Rng, Tally};

#[test]
fn a_world_that_was_rolled_back_goes_on_as_one_that_never_went_astray() {
    for seed in 0..24 {
        let tally = Tally::new();
        let (mut astray, mut straight) = (world(), world());
        let mut rng = Rng::new(seed);
        run(&mut astray, &mut rng.clone(), &tally, 60);
        run(&mut straight, &mut rng, &tally, 60);
        let then = seen(&mut astray);
        let checkpoint = astray.checkpoint().unwrap();
        for round in 0..3 {
            run(&mut astray, &mut Rng::new(1000 + seed + round), &tally, 30);
            astray.rollback(&checkpoint).unwrap();
            astray.validate().unwrap();
            assert_eq!(seen(&mut astray), then, "seed {seed}");
        }
        let (mut one, mut other) = (Rng::new(2000 + seed), Rng::new(2000 + seed));
        for _ in 0..40 {
            run(&mut astray, &mut one, &tally, 1);
            run(&mut straight, &mut other, &tally, 1);
            assert_eq!(seen(&mut astray), seen(&mut straight), "seed {seed}");
        }
        drop((astray, straight, checkpoint));
        tally.assert_no_leaks();
    }
}

#[test]
fn entities_of_the_discarded_future_are_made_again() {
    let mut world = World::new();
    let kept = world.spawn(Position([1; 3]));
    let ended = world.spawn(Tag);
    world.despawn(ended).unwrap();
    let checkpoint = world.checkpoint().unwrap();
    let first = world.spawn(Position([2; 3]));
    world.despawn(kept).unwrap();
    world.rollback(&checkpoint).unwrap();
    assert!(world.contains(kept) && !world.contains(first) && !world.contains(ended));
    assert_eq!(world.spawn(Mass(1)), first);
}

#[test]
fn reservations_come_back() {
    let mut world = World::new();
    let reserved = world.reserve_entity();
    let checkpoint = world.checkpoint().unwrap();
    world.spawn(Tag);
    world.despawn(reserved).unwrap();
    world.rollback(&checkpoint).unwrap();
    assert!(!world.contains(reserved));
    world.spawn(Tag);
    assert!(world.contains(reserved));
    world.validate().unwrap();
}

#[test]
fn held_query_states_look_again() {
    let mut world = World::new();
    world.spawn(Position([1; 3]));
    let checkpoint = world.checkpoint().unwrap();
    let mut state = QueryState::<(Entity, &Position)>::new();
    world.spawn((Position([2; 3]), Tag));
    world.spawn((Position([3; 3]), Mass(1)));
    assert_eq!(state.iter(&world).count(), 3);
    world.rollback(&checkpoint).unwrap();
    assert_eq!(state.iter(&world).map(|(_, p)| p.0[0]).collect::<Vec<_>>(), [1]);
    // A table of another signature under the number of one that is gone.
    world.spawn((Mass(1), Burning(2)));
    assert_eq!(state.iter(&world).count(), 1);
    assert_eq!(world.query::<&Position>().iter().count(), 1);
}

#[test]
fn groups_of_the_discarded_future_are_not_mistaken_for_later_ones() {
    let mut world = World::new();
    world.spawn((Burning(1), Mass(2)));
    let checkpoint = world.checkpoint().unwrap();
    let lost = world.make_group::<(Owned<Burning>, Without<Frozen>)>().unwrap();
    world.rollback(&checkpoint).unwrap();
    assert!(!lost.is_of(&world));
    let other = world.make_group::<Owned<Burning>>().unwrap();
    assert!(other.is_of(&world) && !lost.is_of(&world));
}

#[test]
fn another_worlds_checkpoint_is_refused() {
    let mut world = World::new();
    world.spawn(Tag);
    let checkpoint = world.checkpoint().unwrap();
    let mut copy = world.clone_world();
    assert_eq!(copy.rollback(&checkpoint), Err(TimelineError::Foreign));
    assert_eq!(World::new().rollback(&checkpoint), Err(TimelineError::Foreign));
    while world.compact(usize::MAX) > 0 {}
    world.rollback(&checkpoint).unwrap();
}

#[test]
fn components_that_cannot_be_copied_are_named() {
    #[derive(Component)]
    struct Soul;
    #[derive(Component)]
    #[component(layout = "pool")]
    struct Will;
    let mut world = World::new();
    let e = world.spawn((Tag, Soul));
    let error = world.checkpoint().unwrap_err();
    assert!(error.to_string().ends_with("Soul can be neither cloned nor copied"), "{error}");
    world.remove::<Soul>(e).unwrap();
    world.checkpoint().unwrap();
    world.insert(e, Will).unwrap();
    assert!(matches!(world.checkpoint(), Err(TimelineError::NotClone { component }) if component.ends_with("Will")));
}

#[test]
fn components_that_are_tracked_are_named_and_no_state_is_made() {
    #[derive(Component, Clone, Copy)]
    #[component(track = "row", plain)]
    struct Row(u32);
    #[derive(Component, Clone)]
    #[component(track = "column", clone)]
    struct Column;
    #[derive(Component, Clone, Copy)]
    #[component(layout = "pool", track = "row", plain)]
    struct Pooled(u32);
    #[derive(Component, Clone, Copy)]
    #[component(layout = "linear", track = "column", plain)]
    struct Lined(u32);
    fn check<C: Component>(value: C) {
        let (mut world, mut timeline) = (World::new(), Timeline::new(3));
        let (e, other) = (world.spawn(Position([1; 3])), world.spawn_empty());
        let before = world.checkpoint().unwrap();
        timeline.capture(&mut world).unwrap();
        let no_way = delta(&before, &world.checkpoint().unwrap()).unwrap();
        world.insert(e, value).unwrap();
        let component = core::any::type_name::<C>();
        let refused = TimelineError::Tracked { component };
        assert_eq!(world.checkpoint().unwrap_err(), refused);
        assert_eq!(timeline.capture(&mut world), Err(refused));
        assert_eq!(Timeline::new(1).capture(&mut world), Err(refused));
        assert_eq!(world.apply_delta(&no_way), Err(DeltaError::Tracked { component }));
        assert!(refused.to_string().contains("is tracked"), "{refused}");
        // What is written meanwhile is news to whoever looks, and noticed by the next frame.
        world.settle_changes();
        world.query_mut::<&mut Position>().for_each(|p| p.0[0] = 2);
        // Once nobody has it, frames are kept again.
        world.remove::<C>(e).unwrap();
        timeline.capture(&mut world).unwrap();
        timeline.validate(&world).unwrap();
        world.despawn(other).unwrap();
        timeline.rewind(&mut world, 0).unwrap();
        assert!(world.contains(other) && world.get::<Position>(e).unwrap().0[0] == 2);
        // A state that was made before the component came is good.
        world.rollback(&before).unwrap();
        assert!(!world.has::<C>(e) && world.get::<Position>(e).unwrap().0[0] == 1);
        world.validate().unwrap();
    }
    check(Row(1));
    check(Column);
    check(Pooled(1));
    check(Lined(1));
    assert_eq!((Row(1).0, Pooled(1).0, Lined(1).0), (1, 1, 1));
}

#[test]
fn ticks_go_on_when_a_world_is_rolled_back() {
    #[derive(Component, Clone)]
    #[component(track = "row", clone)]
    struct Seen;
    let mut world = World::new();
    let e = world.spawn(Tag);
    let before = world.checkpoint().unwrap();
    let mut added = QueryState::<Entity, phalanx::Added<Seen>>::new();
    world.insert(e, Seen).unwrap();
    assert_eq!(added.iter(&world).count(), 1);
    let then = world.tick();
    world.rollback(&before).unwrap();
    assert_eq!((world.tick(), added.iter(&world).count()), (then, 0));
    world.insert(e, Seen).unwrap();
    assert_eq!(added.iter(&world).count(), 1);
    assert_eq!(added.iter(&world).count(), 0);
}
