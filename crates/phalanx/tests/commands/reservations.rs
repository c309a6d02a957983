//! Which entities that a buffer has reserved are still its own when the world was compacted or brought back meanwhile.

use phalanx::timeline::{Timeline, delta};
use phalanx::{CommandBuffer, CommandError, Component, Entity, StructuralError, World};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(serde::Serialize, serde::Deserialize))]
#[component(plain)]
struct Hp(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Mp(u32);

fn reasons(skipped: &[CommandError]) -> Vec<(usize, StructuralError)> {
    skipped.iter().map(|error| (error.position, error.error)).collect()
}

fn lost(entity: Entity) -> StructuralError {
    StructuralError::RolledBack { entity }
}

/// A world with a table that is empty, and entities in others.
fn world() -> World {
    let mut world = World::new();
    let dead = world.spawn((Hp(0), Mp(0)));
    world.despawn(dead).unwrap();
    world.spawn_batch((0..3).map(Hp));
    world
}

/// Drops the empty table.
fn compact(world: &mut World) {
    while world.compact(usize::MAX) > 0 {}
}

#[test]
fn a_world_is_known_again_when_it_was_compacted() {
    let mut world = world();
    let mut commands = CommandBuffer::new();
    commands.reserve_entities(&world, 2);
    let [a, b] = [commands.spawn_with(&world, Hp(7)), commands.spawn_reserved(Mp(8)).unwrap()];
    commands.insert(a, Mp(9));
    compact(&mut world);
    let c = commands.spawn_with(&world, Hp(10));
    assert!(commands.apply(&mut world).is_complete());
    assert_eq!((world.get::<Hp>(a), world.get::<Mp>(a)), (Ok(&Hp(7)), Ok(&Mp(9))));
    assert_eq!((world.get::<Mp>(b), world.get::<Hp>(c)), (Ok(&Mp(8)), Ok(&Hp(10))));
    assert_eq!(world.len(), 6);
    world.validate().unwrap();
}

#[test]
fn a_buffer_may_compact_the_world() {
    let mut world = world();
    let mut commands = CommandBuffer::new();
    commands.reserve_entities(&world, 3);
    let a = commands.spawn_with(&world, Hp(7));
    commands.queue(compact);
    let b = commands.spawn_with(&world, Hp(8));
    commands.try_apply(&mut world).unwrap();
    assert_eq!((world.get::<Hp>(a), world.get::<Hp>(b)), (Ok(&Hp(7)), Ok(&Hp(8))));
    assert_eq!(world.len(), 5, "what was reserved and not used is despawned");
    world.validate().unwrap();
}

#[test]
fn listeners_may_reserve_entities_before_the_world_is_compacted() {
    let mut world = world();
    world.on_add::<Mp>(|_, world, commands| {
        commands.queue(compact);
        commands.spawn_with(world, Hp(1));
    });
    world.spawn(Mp(1));
    assert_eq!(world.len(), 5);
    assert_eq!((world.query::<&Hp>().len(), world.take_signal_errors().0.len()), (4, 0));
}

#[test]
fn a_reservation_made_before_a_checkpoint_is_good_after_the_rollback() {
    // With the entity still reserved, and with it alive, when the checkpoint is made.
    for flushed in [false, true] {
        let mut world = world();
        let mut commands = CommandBuffer::new();
        let e = commands.spawn_with(&world, Hp(7));
        if flushed {
            world.spawn_empty();
        }
        let before = world.checkpoint().unwrap();
        world.spawn_batch((0..10).map(Mp));
        assert!(world.contains(e));
        world.rollback(&before).unwrap();
        compact(&mut world);
        world.rollback(&before).unwrap();
        commands.insert(e, Mp(8));
        assert!(commands.apply(&mut world).is_complete());
        assert_eq!((world.get::<Hp>(e), world.get::<Mp>(e)), (Ok(&Hp(7)), Ok(&Mp(8))));
        world.validate().unwrap();
    }
}

#[test]
fn a_reservation_made_after_a_checkpoint_is_reported_after_the_rollback() {
    // Whether the slot is free since, or another entity has it.
    for taken in [false, true] {
        let mut world = world();
        let before = world.checkpoint().unwrap();
        let mut commands = CommandBuffer::new();
        let e = commands.spawn_with(&world, Hp(7));
        commands.insert(e, Mp(7));
        commands.despawn(e);
        world.rollback(&before).unwrap();
        let other = taken.then(|| world.spawn_empty());
        assert!(other.is_none_or(|other| other == e), "the handle is given out again");
        let report = commands.apply(&mut world);
        assert_eq!(reasons(report.skipped()), [(0, lost(e)), (1, lost(e)), (2, lost(e))]);
        assert_eq!(world.contains(e), taken, "another entity is left alone");
        assert!(!world.has::<Hp>(e) && !world.has::<Mp>(e));
        assert_eq!(world.spawn(Hp(1)).index(), 4 - u32::from(!taken));
        world.validate().unwrap();
    }
}

#[test]
fn reservations_of_one_buffer_are_distinguished() {
    let mut world = world();
    let mut commands = CommandBuffer::new();
    commands.reserve_entities(&world, 1);
    let first = commands.spawn_with(&world, Hp(1));
    let before = world.checkpoint().unwrap();
    let second = commands.spawn_with(&world, Hp(2));
    world.rollback(&before).unwrap();
    // The same handle again, and good now.
    let third = commands.spawn_with(&world, Hp(3));
    assert_eq!(second, third);
    commands.insert(first, Mp(1));
    commands.insert(third, Mp(3));
    let report = commands.apply(&mut world);
    assert_eq!(reasons(report.skipped()), [(1, lost(second))]);
    assert_eq!((world.get::<Hp>(first), world.get::<Mp>(first)), (Ok(&Hp(1)), Ok(&Mp(1))));
    assert_eq!((world.get::<Hp>(third), world.get::<Mp>(third)), (Ok(&Hp(3)), Ok(&Mp(3))));
    assert_eq!(world.len(), 5);
}

#[test]
fn buffers_that_are_joined_keep_their_reservations_apart() {
    let mut world = world();
    let (mut early, mut late, mut named) = (CommandBuffer::new(), CommandBuffer::new(), CommandBuffer::new());
    early.reserve_entities(&world, 2);
    let a = early.spawn_with(&world, Hp(1));
    let before = world.checkpoint().unwrap();
    late.reserve_entities(&world, 2);
    let b = late.spawn_with(&world, Hp(2));
    // Commands that name an entity come before its spawn here.
    named.insert(b, Mp(2));
    named.insert(a, Mp(1));
    world.rollback(&before).unwrap();
    named.append(&mut late);
    named.append(&mut early);
    let c = named.spawn_with(&world, Hp(3));
    assert_eq!(c.index(), a.index() + 1, "what was reserved in the discarded time is not used");
    let report = named.apply(&mut world);
    assert_eq!(reasons(report.skipped()), [(0, lost(b)), (2, lost(b))]);
    assert_eq!((world.get::<Hp>(a), world.get::<Mp>(a)), (Ok(&Hp(1)), Ok(&Mp(1))));
    assert_eq!((world.get::<Hp>(c), world.len()), (Ok(&Hp(3)), 5));
    world.validate().unwrap();
}

#[test]
fn entities_reserved_in_a_discarded_time_are_not_despawned() {
    let mut world = world();
    let before = world.checkpoint().unwrap();
    let mut commands = CommandBuffer::new();
    commands.reserve_entities(&world, 3);
    world.rollback(&before).unwrap();
    // Others have these slots now, without components.
    let others = [(); 3].map(|()| world.spawn_empty());
    assert!(commands.apply(&mut world).is_complete());
    assert!(others.iter().all(|e| world.contains(*e)), "only what was reserved for the buffer is despawned");
    // One that was recorded under such an entity is reported.
    commands.reserve_entities(&world, 1);
    let before = world.checkpoint().unwrap();
    let e = commands.spawn_reserved(Hp(1)).unwrap();
    world.rollback(&before).unwrap();
    assert!(commands.apply(&mut world).is_complete(), "it was reserved before");
    assert_eq!(world.get::<Hp>(e), Ok(&Hp(1)));
}

#[test]
fn a_reservation_is_good_through_several_rollbacks_and_none_of_a_discarded_time_is() {
    let mut world = world();
    let mut commands = CommandBuffer::new();
    let kept = commands.spawn_with(&world, Hp(1));
    let first = world.checkpoint().unwrap();
    let dead = commands.spawn_with(&world, Hp(2));
    let second = world.checkpoint().unwrap();
    let also = commands.spawn_with(&world, Hp(3));
    // Back to the second, where `dead` is reserved; on; back to the first, where it is not; and to the second again.
    world.rollback(&second).unwrap();
    world.spawn_batch((0..4).map(Hp));
    world.rollback(&first).unwrap();
    let other = CommandBuffer::new().spawn_with(&world, Hp(9));
    assert_eq!(other, dead);
    let mut now = CommandBuffer::new();
    let branch = now.spawn_with(&world, Hp(4));
    world.rollback(&second).unwrap();
    commands.append(&mut now);
    let report = commands.apply(&mut world);
    assert_eq!(reasons(report.skipped()), [(2, lost(also)), (3, lost(branch))]);
    assert_eq!((world.get::<Hp>(kept), world.get::<Hp>(dead)), (Ok(&Hp(1)), Ok(&Hp(2))));
    world.validate().unwrap();
}

#[test]
fn reservations_follow_a_timeline() {
    let (mut world, mut timeline) = (world(), Timeline::new(8));
    let mut commands = CommandBuffer::new();
    let mut made = Vec::new();
    for n in 0..4 {
        made.push(commands.spawn_with(&world, Hp(n)));
        timeline.capture(&mut world).unwrap();
        if n == 2 {
            world.spawn(Mp(1));
        }
    }
    made.push(commands.spawn_with(&world, Hp(4)));
    timeline.rewind(&mut world, 2).unwrap();
    let report = commands.apply(&mut world);
    assert_eq!(reasons(report.skipped()), (2..5).map(|n| (n, lost(made[n]))).collect::<Vec<_>>());
    assert_eq!((world.get::<Hp>(made[0]), world.get::<Hp>(made[1])), (Ok(&Hp(0)), Ok(&Hp(1))));
    world.validate().unwrap();
    // And again, to a frame from before all of them.
    let mut commands = CommandBuffer::new();
    timeline.rewind(&mut world, 1).unwrap();
    let e = commands.spawn_with(&world, Hp(9));
    timeline.capture(&mut world).unwrap();
    timeline.rewind(&mut world, 0).unwrap();
    assert!(commands.apply(&mut world).is_complete());
    assert_eq!(world.get::<Hp>(e), Ok(&Hp(9)));
}

#[test]
fn no_reservation_outlives_a_delta() {
    let mut world = world();
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, Hp(7));
    commands.insert(e, Mp(7));
    let base = world.checkpoint().unwrap();
    world.spawn_empty();
    let next = world.checkpoint().unwrap();
    world.rollback(&base).unwrap();
    let bytes = delta(&base, &next).unwrap();
    world.apply_delta(&bytes).unwrap();
    assert!(world.contains(e), "which is the entity of the one who made the delta");
    let report = commands.apply(&mut world);
    assert_eq!(reasons(report.skipped()), [(0, lost(e)), (1, lost(e))]);
    assert!(world.contains(e) && !world.has::<Hp>(e));
    world.validate().unwrap();
}

#[test]
fn a_clone_is_another_world() {
    let mut world = world();
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, Hp(7));
    let mut copy = world.try_clone().unwrap();
    let report = commands.apply(&mut copy);
    assert_eq!(reasons(report.skipped()), [(0, StructuralError::AnotherWorld { entity: e })]);
    // The buffer has not reserved it there: it is alive and stays so.
    copy.spawn_empty();
    assert!(copy.contains(e) && !copy.has::<Hp>(e));
    world.spawn_empty();
    assert!(world.contains(e));
}

/// Listeners' commands that bring the world back, among others.
fn going_back(world: &mut World, back: impl Fn(&mut World) + Send + Sync + Clone + 'static) {
    world.on_set::<Hp>(move |set, world, commands| {
        let back = back.clone();
        commands.insert(set.entity, Mp(1));
        commands.spawn_with(world, Mp(2));
        commands.queue(move |world| back(world));
        commands.insert(set.entity, Mp(3));
        commands.spawn_with(world, Mp(4));
    });
}

/// The same from a listener and from a buffer: everything before is undone, reservations are reported, the rest goes on.
fn check_going_back(back: impl Fn(&mut World) + Send + Sync + Clone + 'static, world: &mut World) {
    let e = world.query_filtered::<Entity, phalanx::With<Hp>>().iter().next().unwrap();
    let answers = |world: &World, mp: u32| world.query::<&Mp>().iter().filter(|found| found.0 == mp).count();
    let mut commands = CommandBuffer::new();
    commands.insert(e, Mp(1));
    commands.spawn_with(world, Mp(2));
    let again = back.clone();
    commands.queue(move |world| again(world));
    commands.insert(e, Mp(3));
    let reserved = commands.spawn_with(world, Mp(4));
    let report = commands.apply(world);
    assert_eq!(reasons(report.skipped()), [(4, lost(reserved))]);
    assert_eq!([1, 2, 3, 4].map(|mp| answers(world, mp)), [0, 0, 1, 0]);
    world.validate().unwrap();
    world.remove::<Mp>(e).unwrap();
    going_back(world, back);
    world.insert(e, Hp(50)).unwrap();
    let (skipped, more) = world.take_signal_errors();
    assert_eq!((skipped.len(), more), (1, 0), "{skipped:?}");
    assert!(matches!(skipped[0].error, StructuralError::RolledBack { .. }) && skipped[0].position == 4);
    assert_eq!([1, 2, 3, 4].map(|mp| answers(world, mp)), [0, 0, 1, 0]);
    world.validate().unwrap();
    // Signals go on.
    world.on_add::<Mp>(|added, _, commands| commands.despawn(added.entity));
    let made = world.spawn(Mp(0));
    assert!(!world.contains(made));
}

#[test]
fn commands_may_roll_the_world_back() {
    let mut world = world();
    let before = std::sync::Arc::new(world.checkpoint().unwrap());
    check_going_back(move |world| world.rollback(&before).unwrap(), &mut world);
}

#[test]
fn commands_may_rewind_the_world() {
    let mut world = world();
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    let timeline = std::sync::Arc::new(std::sync::Mutex::new(timeline));
    check_going_back(move |world| timeline.lock().unwrap().rewind(world, 0).unwrap(), &mut world);
}

#[test]
fn commands_may_apply_a_delta() {
    let mut world = world();
    let before = std::sync::Arc::new(world.checkpoint().unwrap());
    let back = move |world: &mut World| {
        let now = world.checkpoint().unwrap();
        world.apply_delta(&delta(&now, &before).unwrap()).unwrap();
    };
    check_going_back(back, &mut world);
}

#[cfg(feature = "snapshot")]
#[test]
fn commands_may_load_a_world() {
    let mut registry = phalanx::snapshot::Registry::new();
    registry.serde::<Hp>("hp").unwrap();
    let mut saved = Vec::new();
    registry.save(&world(), &mut saved).unwrap();
    let (registry, saved) = (std::sync::Arc::new(registry), std::sync::Arc::new(saved));
    let load = move |world: &mut World| *world = registry.load(&saved[..]).unwrap();
    let mut world = world();
    let mut commands = CommandBuffer::new();
    let again = load.clone();
    commands.spawn(Mp(1));
    commands.queue(move |world| again(world));
    let reserved = commands.spawn_with(&world, Mp(2));
    commands.spawn(Mp(3));
    let report = commands.apply(&mut world);
    assert_eq!(reasons(report.skipped()), [(2, StructuralError::AnotherWorld { entity: reserved })]);
    assert_eq!(world.query::<&Mp>().iter().map(|mp| mp.0).collect::<Vec<_>>(), [3]);
    // From a listener, whose world is dropped with all that it has recorded.
    going_back(&mut world, load);
    let e = world.query_filtered::<Entity, phalanx::With<Hp>>().iter().next().unwrap();
    world.insert(e, Hp(50)).unwrap();
    assert_eq!((world.query::<&Mp>().len(), world.query::<&Hp>().len()), (0, 3));
    world.on_add::<Mp>(|added, _, commands| commands.despawn(added.entity));
    let made = world.spawn(Mp(0));
    assert!(!world.contains(made));
    world.validate().unwrap();
}
