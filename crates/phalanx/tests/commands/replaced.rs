//! Commands that replace the world they are applied to.

use super::{Flag, Small, Value};
use phalanx::{CommandBuffer, CommandError, Component, Entity, StructuralError, World};
use phalanx_testkit::{Tally, catch};
use std::mem::swap;
use std::sync::{Arc, Mutex};

/// How often a listener's commands were executed for an entity.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Answers(u32);

/// A world in which a listener answers each new `Flag` with a command.
fn answering() -> World {
    let mut world = World::new();
    world.on_add::<Flag>(|added, _, commands| {
        let e = added.entity;
        commands.queue(move |world| {
            if let Ok(answers) = world.get_mut::<Answers>(e) {
                answers.0 += 1;
            } else if world.contains(e) {
                world.insert(e, Answers(1)).unwrap();
            }
        });
    });
    world
}

/// Asserts that the commands of a world's listeners are executed at the end of each operation.
#[track_caller]
fn assert_answers(world: &mut World) {
    let e = world.spawn(Flag);
    assert_eq!(world.get::<Answers>(e), Ok(&Answers(1)));
    world.despawn(e).unwrap();
    world.validate().unwrap();
}

type Shared = Arc<Mutex<World>>;

/// A world elsewhere, for closures to swap with.
fn elsewhere(world: World) -> Shared {
    Arc::new(Mutex::new(world))
}

fn swapping(other: &Shared) -> impl FnOnce(&mut World) + Send + 'static {
    let other = other.clone();
    move |world| swap(world, &mut other.lock().unwrap())
}

fn reasons(skipped: &[CommandError]) -> Vec<(usize, StructuralError)> {
    skipped.iter().map(|error| (error.position, error.error)).collect()
}

#[test]
fn a_closure_may_replace_the_world() {
    let tally = Tally::new();
    let mut world = answering();
    let bystander = world.spawn(Small(0));
    let mut commands = CommandBuffer::new();
    commands.queue(|world| {
        *world = answering();
        // In the slot of the entity that is reserved in the old world.
        world.spawn_batch([Small(10), Small(11)]);
    });
    let reserved = commands.spawn_with(&world, Value(tally.value(1)));
    commands.insert(reserved, Value(tally.value(2)));
    commands.remove::<Small>(reserved);
    commands.despawn(reserved);
    commands.add_row(phalanx::Key::main(reserved).with_role(phalanx::Role(1)), Value(tally.value(3)));
    commands.insert(bystander, Flag);
    commands.insert(Entity::from_bits(99).unwrap(), Value(tally.value(4)));
    commands.spawn(Flag);
    let report = commands.apply(&mut world);
    let foreign = StructuralError::AnotherWorld { entity: reserved };
    let mut expected: Vec<_> = (1..6).map(|position| (position, foreign)).collect();
    expected.push((7, phalanx::NoSuchEntity { entity: Entity::from_bits(99).unwrap() }.into()));
    assert_eq!(reasons(report.skipped()), expected);
    assert_eq!(report.executed(), 3);
    assert_eq!(world.get::<Small>(reserved), Ok(&Small(11)), "the entity in its place is another");
    // Plain handles mean what they mean in the new world.
    assert!(world.has::<Flag>(bystander) && world.get::<Answers>(bystander) == Ok(&Answers(1)));
    assert_eq!(world.len(), 3);
    assert_answers(&mut world);
    commands.spawn_with(&world, Flag);
    assert!(commands.apply(&mut world).is_complete());
    drop((world, commands));
    tally.assert_no_leaks();
}

#[test]
fn the_strict_form_names_the_first_command_of_another_world() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new();
    commands.queue(|world| *world = World::new());
    commands.spawn(Flag);
    commands.queue(|_| ());
    let reserved = commands.spawn_with(&world, Flag);
    let error = commands.try_apply(&mut world).unwrap_err();
    assert_eq!((error.position, error.error), (3, StructuralError::AnotherWorld { entity: reserved }));
    assert_eq!(world.len(), 1);
    world.validate().unwrap();
}

#[test]
fn what_listeners_recorded_goes_with_their_world() {
    let (mut world, other) = (answering(), elsewhere(answering()));
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, Flag);
    commands.queue(swapping(&other));
    commands.spawn(Flag);
    assert!(commands.apply(&mut world).is_complete());
    // The new world has answered its own entity, and nothing of the old world's.
    let made = world.iter().next().unwrap();
    assert_eq!(world.get::<Answers>(made), Ok(&Answers(1)));
    assert_answers(&mut world);
    // The old world answers at its next operation.
    let mut old = other.lock().unwrap();
    assert!(old.has::<Flag>(e) && !old.has::<Answers>(e));
    old.spawn_empty();
    assert_eq!(old.get::<Answers>(e), Ok(&Answers(1)));
    assert_answers(&mut old);
}

#[test]
fn a_world_that_was_swapped_back_answers_at_its_next_operation() {
    let (mut world, other) = (answering(), elsewhere(answering()));
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, Flag);
    commands.queue(swapping(&other));
    assert!(commands.apply(&mut world).is_complete());
    // To the very place in which it was while the commands were applied.
    swap(&mut world, &mut other.lock().unwrap());
    assert!(!world.has::<Answers>(e));
    world.spawn_empty();
    assert_eq!(world.get::<Answers>(e), Ok(&Answers(1)));
    assert_answers(&mut world);
    assert_answers(&mut other.lock().unwrap());
}

#[test]
fn a_world_that_comes_back_within_a_buffer_is_the_one_its_reservations_are_of() {
    let (mut world, other) = (answering(), elsewhere(answering()));
    let mut commands = CommandBuffer::new();
    commands.reserve_entities(&world, 3);
    let first = commands.spawn_with(&world, Flag);
    commands.queue(swapping(&other));
    let second = commands.spawn_with(&world, Flag);
    commands.queue(swapping(&other));
    commands.insert(first, Small(1));
    commands.insert(second, Small(2));
    let report = commands.apply(&mut world);
    assert_eq!(reasons(report.skipped()), [(2, StructuralError::AnotherWorld { entity: second })]);
    assert_eq!((world.get::<Small>(first), world.get::<Small>(second)), (Ok(&Small(1)), Ok(&Small(2))));
    assert_eq!(world.get::<Answers>(first), Ok(&Answers(1)));
    // The third that was reserved is despawned.
    assert!(world.iter().eq([first, second]));
    assert!(other.lock().unwrap().is_empty());
    assert_answers(&mut world);
    assert_answers(&mut other.lock().unwrap());
}

#[test]
fn a_closure_may_change_both_worlds_after_a_swap() {
    let (mut world, other) = (answering(), elsewhere(answering()));
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, Flag);
    let shared = other.clone();
    commands.queue(move |world| {
        let mut old = shared.lock().unwrap();
        swap(world, &mut old);
        let new = old.spawn(Flag);
        // The old world is part of no application any more.
        assert_eq!((old.get::<Answers>(e), old.get::<Answers>(new)), (Ok(&Answers(1)), Ok(&Answers(1))));
        // The new one is, and waits for its end.
        let late = world.spawn(Flag);
        assert!(!world.has::<Answers>(late));
    });
    assert!(commands.apply(&mut world).is_complete());
    assert_eq!(world.query::<&Answers>().iter().copied().collect::<Vec<_>>(), [Answers(1)]);
    assert_answers(&mut world);
    assert_answers(&mut other.lock().unwrap());
}

#[test]
fn buffers_within_buffers_may_replace_the_world() {
    for depth in 1..5 {
        let (mut world, other) = (answering(), elsewhere(answering()));
        let mut commands = CommandBuffer::new();
        commands.queue(swapping(&other));
        for _ in 0..depth {
            let mut outer = CommandBuffer::new();
            outer.spawn(Flag);
            let inner = Mutex::new(commands);
            outer.queue(move |world| {
                world.spawn(Flag);
                assert!(inner.into_inner().unwrap().apply(world).is_complete());
                world.spawn(Flag);
            });
            outer.spawn(Flag);
            commands = outer;
        }
        assert!(commands.apply(&mut world).is_complete());
        // The old world has what was recorded on the way in, and answers when it is changed.
        let mut old = other.lock().unwrap();
        for (world, count) in [(&mut world, 2 * depth), (&mut old, 2 * depth)] {
            assert_eq!(world.query::<&Flag>().len(), count);
            world.spawn_empty();
            assert!(world.query::<(&Flag, &Answers)>().iter().all(|(_, answers)| *answers == Answers(1)));
            assert_eq!(world.query::<&Answers>().len(), count);
            assert_answers(world);
        }
    }
}

#[test]
fn a_closure_that_replaces_the_world_and_panics_leaves_both_in_order() {
    let tally = Tally::new();
    let (mut world, other) = (answering(), elsewhere(answering()));
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, Flag);
    let shared = other.clone();
    commands.queue(move |world| {
        swap(world, &mut shared.lock().unwrap());
        world.spawn(Flag);
        panic!("after the swap");
    });
    let reserved = commands.spawn_with(&world, Value(tally.value(1)));
    assert!(catch(|| commands.apply(&mut world)).is_err());
    other.clear_poison();
    assert!(commands.is_empty());
    tally.assert_no_leaks();
    // Both answer at their next operation. What was reserved in the old world stays, without components.
    let mut old = other.lock().unwrap();
    assert!(old.iter().eq([e, reserved]));
    for world in [&mut world, &mut old] {
        world.spawn_empty();
        assert_eq!(world.query::<&Answers>().iter().copied().collect::<Vec<_>>(), [Answers(1)]);
        assert_answers(world);
    }
}

#[test]
fn a_world_that_a_closure_sends_away_answers_on_the_other_thread() {
    let (mut world, mut commands) = (answering(), CommandBuffer::new());
    let e = commands.spawn_with(&world, Flag);
    commands.queue(move |world| {
        let mut old = std::mem::replace(world, answering());
        let thread = std::thread::spawn(move || {
            old.spawn_empty();
            assert_eq!(old.get::<Answers>(e), Ok(&Answers(1)));
            assert_answers(&mut old);
        });
        thread.join().unwrap();
        let made = world.spawn(Flag);
        assert!(!world.has::<Answers>(made));
    });
    assert!(commands.apply(&mut world).is_complete());
    assert_eq!(world.query::<&Answers>().len(), 1);
}

#[test]
fn what_a_closure_does_on_another_thread_is_part_of_the_application() {
    let (mut world, mut commands) = (answering(), CommandBuffer::new());
    let e = commands.spawn_with(&world, Flag);
    commands.queue(move |world| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                world.spawn(Flag);
                assert_eq!(world.query::<&Answers>().len(), 0);
            });
        });
    });
    assert!(commands.apply(&mut world).is_complete());
    assert_eq!((world.query::<&Answers>().len(), world.get::<Answers>(e)), (2, Ok(&Answers(1))));
}

#[test]
fn a_queue_goes_on_in_the_world_that_a_closure_leaves() {
    let (mut world, other) = (answering(), elsewhere(answering()));
    let mut inbox = phalanx::CommandInbox::new();
    let mut first = CommandBuffer::new();
    first.queue(swapping(&other));
    let mut second = CommandBuffer::new();
    second.spawn(Flag);
    let reserved = second.spawn_with(&world, Flag);
    inbox.submit(1, 0, second).unwrap();
    inbox.submit(0, 0, first).unwrap();
    let report = inbox.apply(&mut world);
    let skipped: Vec<_> = report.skipped().map(|error| (*error.key, error.error.position, error.error.error)).collect();
    assert_eq!(skipped, [(1, 1, StructuralError::AnotherWorld { entity: reserved })]);
    assert_eq!((world.len(), world.query::<&Answers>().len()), (1, 1));
}

/// A world whose listener records a closure before and commands after it, whenever a `Small` is added.
fn replacing(replace: impl Fn(&mut World) + Send + Sync + Clone + 'static, tally: &Arc<Tally>) -> World {
    let mut world = answering();
    let tally = tally.clone();
    world.on_add::<Small>(move |added, world, commands| {
        let (e, replace) = (added.entity, replace.clone());
        commands.insert(e, Flag);
        commands.queue(move |world| replace(world));
        commands.spawn_with(world, Value(tally.value(1)));
        commands.insert(e, Value(tally.value(2)));
    });
    world
}

#[test]
fn a_command_of_a_listener_may_replace_the_world() {
    let tally = Arc::new(Tally::new());
    let mut world = replacing(|world| *world = answering(), &tally);
    let e = world.spawn(Small(1));
    assert!(!world.contains(e) && world.is_empty());
    // What the old world's listeners recorded is dropped with it.
    tally.assert_no_leaks();
    assert_answers(&mut world);
    assert_eq!(world.take_signal_errors(), (vec![], 0));
}

#[test]
fn the_rest_of_what_listeners_recorded_goes_with_their_world() {
    let tally = Arc::new(Tally::new());
    let other = elsewhere(answering());
    let shared = other.clone();
    let mut world = replacing(move |world| swap(world, &mut shared.lock().unwrap()), &tally);
    let e = world.spawn(Small(1));
    assert!(world.is_empty(), "nothing of it is executed in the new world");
    assert_answers(&mut world);
    let mut old = other.lock().unwrap();
    assert!(old.has::<Flag>(e) && !old.has::<Value>(e) && !old.has::<Answers>(e));
    old.spawn_empty();
    assert_eq!(old.get::<Value>(e).unwrap().0.key(), 2);
    assert_eq!(old.query::<&Value>().len(), 2, "the entity that was reserved has its bundle");
    assert_eq!(old.get::<Answers>(e), Ok(&Answers(1)));
    assert_eq!(old.take_signal_errors(), (vec![], 0));
    assert_answers(&mut old);
    // Its listener holds the place that it is in.
    *old = World::new();
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn worlds_that_swap_in_the_commands_of_their_listeners_execute_all_of_them() {
    let tally = Arc::new(Tally::new());
    let other = elsewhere(World::new());
    let swaps = Arc::new(Mutex::new(0));
    let make = || {
        let (shared, swaps) = (other.clone(), swaps.clone());
        let replace = move |world: &mut World| {
            let mut swaps = swaps.lock().unwrap();
            *swaps += 1;
            swap(world, &mut shared.lock().unwrap());
        };
        replacing(replace, &tally)
    };
    let mut world = make();
    *other.lock().unwrap() = make();
    for n in 0..20 {
        world.spawn_batch((0..3).map(Small));
        assert!(*swaps.lock().unwrap() > n);
    }
    // Whatever is pending is executed when both worlds have rested.
    let mut old = std::mem::take(&mut *other.lock().unwrap());
    for _ in 0..200 {
        world.spawn_empty();
        swap(&mut world, &mut old);
        *other.lock().unwrap() = World::new();
    }
    world.validate().unwrap();
    old.validate().unwrap();
    drop((world, old));
    *other.lock().unwrap() = World::new();
    tally.assert_no_leaks();
}

#[test]
fn a_command_of_a_listener_that_replaces_the_world_and_panics_leaves_both_in_order() {
    let tally = Arc::new(Tally::new());
    let other = elsewhere(answering());
    let shared = other.clone();
    let replace = move |world: &mut World| {
        swap(world, &mut shared.lock().unwrap());
        panic!("after the swap");
    };
    let mut world = replacing(replace, &tally);
    assert!(catch(|| world.spawn(Small(1))).is_err());
    other.clear_poison();
    assert_answers(&mut world);
    // The rest is still the old world's.
    let mut old = other.lock().unwrap();
    old.spawn_empty();
    assert_eq!(old.query::<&Value>().len(), 2);
    assert_answers(&mut old);
    // Its listener holds the place that it is in.
    *old = World::new();
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_command_of_a_listener_that_panics_drops_the_commands_after_it() {
    let tally = Arc::new(Tally::new());
    let mut world = replacing(|_| panic!("in place"), &tally);
    assert!(catch(|| world.spawn(Small(1))).is_err());
    world.validate().unwrap();
    assert_eq!((world.len(), world.query::<&Value>().len()), (1, 0), "what was reserved is despawned");
    tally.assert_no_leaks();
    assert_answers(&mut world);
}

#[test]
fn clearing_the_world_ends_what_was_reserved() {
    let mut world = answering();
    let old = world.spawn(Small(0));
    let mut commands = CommandBuffer::new();
    commands.queue(World::clear);
    let reserved = commands.spawn_with(&world, Flag);
    commands.insert(old, Flag);
    commands.despawn(old);
    commands.spawn(Flag);
    let report = commands.apply(&mut world);
    let dead = |entity| StructuralError::from(phalanx::NoSuchEntity { entity });
    assert_eq!(reasons(report.skipped()), [(1, dead(reserved)), (2, dead(old))]);
    assert_eq!((world.len(), world.query::<&Answers>().len()), (1, 1));
    assert_answers(&mut world);
}
