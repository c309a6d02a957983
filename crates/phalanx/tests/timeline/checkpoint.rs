//! Checkpoints: the past exactly, and the same future.

use crate::kit::{Burning, Frozen, Mass, Position, Tag, run, seen, world};
use phalanx::group::Owned;
use phalanx::query::QueryState;
use phalanx::timeline::{Timeline, TimelineError};
use phalanx::{Added, Changed, Component, Entity, Without, World};
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
    let lost = world.create_group::<(Owned<Burning>, Without<Frozen>)>().unwrap();
    world.rollback(&checkpoint).unwrap();
    assert!(!lost.is_of(&world));
    let other = world.create_group::<Owned<Burning>>().unwrap();
    assert!(other.is_of(&world) && !lost.is_of(&world));
}

#[test]
fn another_worlds_checkpoint_is_refused() {
    let mut world = World::new();
    world.spawn(Tag);
    let checkpoint = world.checkpoint().unwrap();
    let mut copy = world.try_clone().unwrap();
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

/// A query for changed values, and one for added values.
type States = (QueryState<Entity, Changed<Seen>>, QueryState<Entity, Added<Seen>>);

/// Returns the number of entities that each query matches.
fn news(world: &World, states: &mut States) -> [usize; 2] {
    [states.0.iter(world).count(), states.1.iter(world).count()]
}

#[derive(Component, Clone, Copy)]
#[component(track = "row", plain)]
struct Seen(u32);

#[test]
fn who_looked_before_a_checkpoint_goes_on_from_there() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..10).map(|n| world.spawn(Seen(n))).collect();
    let mut states = (QueryState::new(), QueryState::new());
    assert_eq!(news(&world, &mut states), [10, 10]);
    world.get_mut::<Seen>(all[0]).unwrap().0 += 1;
    let before = world.checkpoint().unwrap();
    let then = world.change_tick();
    for round in 0..20 {
        world.query_mut::<&mut Seen>().for_each(|mut seen| seen.0 += 1);
        world.spawn(Seen(round));
        world.clear_trackers();
        world.rollback(&before).unwrap();
        assert_eq!((world.change_tick(), world.get::<Seen>(all[0]).unwrap().0), (then, 1));
        assert_eq!(world.query_filtered::<&Seen, Changed<Seen>>().len(), 10);
        if round == 0 {
            assert_eq!((states.0.len(&world), states.1.len(&world)), (1, 0));
        }
        world.rollback(&before).unwrap();
    }
    world.get_mut::<Seen>(all[1]).unwrap().0 += 1;
    assert_eq!(news(&world, &mut states), [2, 0]);
    assert_eq!(news(&world, &mut states), [0, 0]);
}

#[test]
fn to_who_looked_in_the_discarded_time_everything_is_new() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..10).map(|n| world.spawn(Seen(n))).collect();
    let before = world.checkpoint().unwrap();
    let mut states = (QueryState::new(), QueryState::new());
    world.get_mut::<Seen>(all[0]).unwrap().0 += 1;
    news(&world, &mut states);
    world.rollback(&before).unwrap();
    // The time in which it looked comes again; what happens in it is no less new.
    world.get_mut::<Seen>(all[3]).unwrap().0 += 1;
    for _ in 0..4 {
        world.clear_trackers();
    }
    assert_eq!(news(&world, &mut states), [10, 10]);
    assert_eq!(news(&world, &mut states), [0, 0]);
}

#[test]
fn one_who_looked_long_ago_and_many_times_back_sees_all_rather_than_too_little() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..10).map(|n| world.spawn(Seen(n))).collect();
    let mut states = (QueryState::new(), QueryState::new());
    news(&world, &mut states);
    for n in 0..80 {
        world.get_mut::<Seen>(all[0]).unwrap().0 += 1;
        let before = world.checkpoint().unwrap();
        world.clear_trackers();
        world.rollback(&before).unwrap();
        assert_eq!(states.0.len(&world), if n < 64 { 1 } else { 10 }, "{n} times back");
    }
}

#[test]
fn marks_of_columns_come_back_with_clones() {
    #[derive(Component, Clone)]
    #[component(layout = "pool", track = "column", clone)]
    struct Noted(String);
    #[derive(Component, Clone)]
    #[component(track = "row", clone)]
    struct Told;
    let mut world = World::new();
    let e = world.spawn((Noted("a".into()), Told));
    world.clear_trackers();
    let (changed, told) = (
        |world: &World| world.query_filtered::<&Noted, Changed<Noted>>().len(),
        |world: &World| world.query_filtered::<&Told, Changed<Told>>().len(),
    );
    let (before, mut timeline) = (world.checkpoint().unwrap(), Timeline::new(3));
    timeline.capture(&mut world).unwrap();
    world.get_mut::<Noted>(e).unwrap().0.push('b');
    world.get_mut::<Told>(e).unwrap().set_changed();
    assert_eq!((changed(&world), told(&world)), (1, 1));
    timeline.capture(&mut world).unwrap();
    timeline.rewind(&mut world, 1).unwrap();
    assert_eq!((changed(&world), told(&world), &*world.get::<Noted>(e).unwrap().0), (0, 0, "a"));
    world.query_mut::<(&mut Noted, &mut Told)>().for_each(|(_, mut told)| told.set_changed());
    timeline.capture(&mut world).unwrap();
    world.rollback(&before).unwrap();
    assert_eq!((changed(&world), told(&world)), (0, 0));
    timeline.rewind(&mut world, 0).unwrap();
    assert_eq!((changed(&world), told(&world)), (1, 1));
}
