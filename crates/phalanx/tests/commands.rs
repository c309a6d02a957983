//! Commands: a buffer does what its commands would do one by one, and every payload is dropped once.

use phalanx::commands::CommandKind;
use phalanx::{CommandBuffer, CommandInbox, Component, DuplicateComponent, Entity, StructuralError, World};
use phalanx_testkit::{Counted, Tally, catch};

#[path = "commands/failures.rs"]
mod failures;
#[path = "commands/inbox.rs"]
mod inbox;
#[path = "commands/model.rs"]
mod model;
#[path = "commands/replaced.rs"]
mod replaced;
#[path = "commands/reservations.rs"]
mod reservations;
#[path = "commands/rows.rs"]
mod rows_by_key;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Small(u8);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Wide([u64; 5]);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Flag;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Aligned(u32);
#[derive(Component, Debug)]
struct Value(Counted);
#[derive(Component, Debug)]
struct Other(Counted);

/// A row as it is seen: the entity and all that it has.
type Row = (Entity, Option<u8>, Option<[u64; 5]>, bool, Option<u32>, Option<u32>, Option<u32>);

/// All rows in the order of iteration.
fn rows(world: &World) -> Vec<Row> {
    let mut rows = Vec::new();
    for e in world.query::<Entity>().iter() {
        rows.push((
            e,
            world.get::<Small>(e).ok().map(|c| c.0),
            world.get::<Wide>(e).ok().map(|c| c.0),
            world.has::<Flag>(e),
            world.get::<Aligned>(e).ok().map(|c| c.0),
            world.get::<Value>(e).ok().map(|c| c.0.key()),
            world.get::<Other>(e).ok().map(|c| c.0.key()),
        ));
    }
    rows
}

#[test]
fn commands_can_change_threads() {
    fn check<T: Send + Sync>() {}
    check::<CommandBuffer>();
    check::<CommandInbox<u32>>();
}

#[test]
fn a_buffer_does_what_was_recorded() {
    let mut world = World::new();
    let a = world.spawn((Small(1), Flag));
    let mut commands = CommandBuffer::new();
    let b = commands.spawn_with(&world, (Small(2), Aligned(7)));
    commands.insert(a, Wide([3; 5]));
    commands.insert(b, Small(4));
    commands.remove::<(Flag, Aligned)>(a);
    commands.queue(move |world| world.insert(b, Flag).unwrap());
    commands.spawn(Aligned(9));
    commands.despawn(a);
    assert_eq!(commands.len(), 7);
    assert!(format!("{commands:?}").starts_with("[Spawn("), "{commands:?}");
    commands.try_apply(&mut world).unwrap();
    assert!(commands.is_empty());
    let all = rows(&world);
    assert_eq!(all.len(), 2);
    assert!(all.contains(&(b, Some(4), None, true, Some(7), None, None)));
    assert!(all.iter().any(|row| row.4 == Some(9)));
    world.validate().unwrap();
}

/// A world with some rows in several tables.
fn populated(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut known: Vec<Entity> = (0..6).map(|n| world.spawn((Small(n), Value(tally.value(n.into()))))).collect();
    known.extend((0..3).map(|n| world.spawn((Flag, Aligned(n)))));
    known.push(world.spawn_empty());
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    known.push(dead);
    (world, known)
}

#[test]
fn the_same_entity_any_number_of_times_and_empty_buffers() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new();
    commands.try_apply(&mut world).unwrap();
    CommandInbox::<()>::new().try_apply(&mut world).unwrap();
    let e = commands.spawn_with(&world, ());
    for n in 0..100 {
        commands.insert(e, Small(n));
        commands.remove::<Small>(e);
        commands.insert(e, (Small(n), Flag));
    }
    commands.despawn(e);
    commands.despawn(e);
    assert_eq!(commands.try_apply(&mut world).unwrap_err().position, 302);
    assert!(world.iter().eq([e]), "the entity stays reserved, and nothing else happened");
    assert!(!world.has::<Small>(e));
    world.validate().unwrap();
}

#[test]
fn despawning_an_entity_that_is_not_alive_is_no_failure() {
    let mut world = World::new();
    let [a, b, dead] = [1, 2, 3].map(|n| world.spawn(Small(n)));
    world.despawn(dead).unwrap();
    let mut commands = CommandBuffer::new();
    [dead, a, a].into_iter().for_each(|e| commands.despawn(e));
    let made = commands.spawn_with(&world, Small(4));
    commands.despawn(made);
    commands.queue(move |world| world.despawn(b).unwrap());
    [b, made].into_iter().for_each(|e| commands.despawn(e));
    let report = commands.apply(&mut world);
    assert_eq!((report.executed(), report.skipped()), (8, &[][..]));
    assert!(report.is_complete() && world.is_empty());
    world.validate().unwrap();
    // The strict form refuses the same.
    commands.despawn(a);
    let error = commands.try_apply(&mut world).unwrap_err();
    assert_eq!((error.position, error.command, error.entity), (0, CommandKind::Despawn, Some(a)));
}

#[test]
fn a_report_names_the_position_the_command_the_entity_and_the_reason() {
    let mut world = World::new();
    let [e, dead] = [world.spawn_empty(), world.spawn_empty()];
    world.despawn(dead).unwrap();
    let key = |e| phalanx::Key::main(e).with_role(phalanx::Role(1));
    let mut commands = CommandBuffer::new();
    commands.insert(e, Small(1));
    commands.insert(dead, Small(1));
    commands.remove::<Small>(dead);
    commands.queue(|_| ());
    commands.spawn((Flag, Flag));
    commands.add_row(key(dead), Flag);
    commands.insert_into_row(key(e), Flag);
    commands.remove_from_row::<Flag>(key(e));
    commands.remove_row(key(e));
    let report = commands.apply(&mut world);
    let named: Vec<_> = report.skipped().iter().map(|error| (error.position, error.command, error.entity)).collect();
    let expected = [
        (1, CommandKind::Insert, Some(dead)),
        (2, CommandKind::Remove, Some(dead)),
        (4, CommandKind::Spawn, None),
        (5, CommandKind::AddRow, Some(dead)),
        (6, CommandKind::InsertIntoRow, Some(e)),
        (7, CommandKind::RemoveFromRow, Some(e)),
        (8, CommandKind::RemoveRow, Some(e)),
    ];
    assert_eq!(named, expected);
    assert!(!report.is_complete());
    assert_eq!(report.executed(), 2);
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 8, "{text}");
    assert_eq!(lines[0], "2 commands executed, 7 skipped:");
    assert_eq!(lines[1], "command 1 (insert, 1v0): no such entity: 1v0");
    assert!(lines[3].starts_with("command 4 (spawn): the bundle contains "), "{text}");
    commands.insert(e, Small(2));
    assert_eq!(commands.apply(&mut world).to_string(), "1 command executed");
}

#[test]
fn a_buffer_reserves_entities_of_one_world() {
    let (mut one, mut two) = (World::new(), World::new());
    let bystander = two.spawn_empty();
    let mut commands = CommandBuffer::new();
    assert_eq!(commands.spawn_with(&one, Small(1)), bystander);
    assert!(catch(|| commands.spawn_with(&two, Small(2))).is_err());
    let error = commands.try_apply(&mut two).unwrap_err();
    assert_eq!(error.error, StructuralError::AnotherWorld { entity: bystander });
    assert!(two.contains(bystander) && !two.has::<Small>(bystander));
    commands.spawn_with(&two, Small(2));
    let mut other = CommandBuffer::new();
    other.spawn_with(&one, Small(1));
    assert!(catch(|| commands.append(&mut other)).is_err());
    let report = other.apply(&mut two);
    commands.try_apply(&mut two).unwrap();
    assert_eq!((report.skipped().len(), two.len(), one.is_empty()), (1, 2, true));
    one.spawn_empty();
    one.validate().unwrap();
    two.validate().unwrap();
}

#[test]
fn a_stale_handle_at_any_command_leaves_the_world_alone() {
    for k in 0..12 {
        let tally = Tally::new();
        let (mut world, known) = populated(&tally);
        let before = rows(&world);
        let stale = *known.last().unwrap();
        let mut commands = CommandBuffer::new();
        let reserved = commands.spawn_with(&world, Value(tally.value(50)));
        for n in 1..12 {
            let target = if n == k { stale } else { known[n % 8] };
            match n % 3 {
                _ if k == 0 && n == 1 => commands.despawn(stale),
                0 => commands.insert(target, (Value(tally.value(n as u32)), Wide([1; 5]))),
                1 => commands.remove::<(Small, Flag)>(target),
                _ => commands.insert(target, Aligned(4)),
            }
        }
        commands.despawn(known[0]);
        let error = commands.try_apply(&mut world).unwrap_err();
        assert_eq!(error.position, k.max(1));
        assert!(matches!(error.error, StructuralError::NoSuchEntity(e) if e.entity == stale), "{error}");
        assert!(error.to_string().starts_with(&format!("command {} (", k.max(1))));
        let reserved = (reserved, None, None, false, None, None, None);
        assert_eq!(rows(&world).into_iter().filter(|row| *row != reserved).collect::<Vec<_>>(), before);
        assert!(world.contains(reserved.0), "what is reserved and not spawned stays reserved");
        assert!(commands.is_empty());
        world.validate().unwrap();
        drop((world, commands));
        tally.assert_no_leaks();
    }
}

#[test]
fn entities_are_followed_within_a_segment() {
    let mut world = World::new();
    let [a, b] = [world.spawn(Small(0)), world.spawn(Small(1))];
    let mut commands = CommandBuffer::new();
    commands.despawn(a);
    commands.spawn(Small(2));
    commands.insert(b, Flag);
    commands.insert(a, Flag);
    assert_eq!(commands.try_apply(&mut world).unwrap_err().position, 3);
    assert!(world.contains(a) && !world.has::<Flag>(b));
    // A closure ends the segment: the changes before it stay.
    commands.insert(b, Flag);
    commands.queue(move |world| world.despawn(a).unwrap());
    commands.remove::<Flag>(b);
    commands.insert(a, Flag);
    assert_eq!(commands.try_apply(&mut world).unwrap_err().position, 3);
    assert!(!world.contains(a) && world.has::<Flag>(b));
    world.validate().unwrap();
}

#[test]
fn a_bundle_with_a_component_twice_is_refused_by_name() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, (Flag, Flag));
    commands.insert(e, Small(1));
    let report = commands.apply(&mut world);
    let skipped: Vec<_> = report.skipped().iter().map(|error| (error.position, error.error)).collect();
    let [(0, StructuralError::Duplicate(DuplicateComponent { component })), (1, StructuralError::NoSuchEntity(_))] =
        skipped[..]
    else {
        panic!("{report}")
    };
    assert!(component.ends_with("Flag"));
    assert!(!world.contains(e) && world.is_empty());
    world.validate().unwrap();
}

#[test]
fn recording_into_reserved_room_needs_no_memory() {
    let mut commands = CommandBuffer::new();
    commands.try_reserve(10, 10 * size_of::<Wide>()).unwrap();
    let ((), usage) = phalanx_testkit::measure(|| (0..10).for_each(|_| commands.spawn(Wide([0; 5]))));
    assert_eq!(usage.allocations, 0);
    assert!(commands.memory() > 10 * size_of::<Wide>());
    assert!(commands.try_reserve(usize::MAX, 0).is_err());
    assert!(commands.try_reserve(0, usize::MAX).is_err());
    assert_eq!(commands.len(), 10);
}

#[test]
fn displaced_values_end_when_the_segment_is_done() {
    struct Probe(std::sync::mpsc::Sender<u32>, u32);
    impl Drop for Probe {
        fn drop(&mut self) {
            let _ = self.0.send(self.1);
        }
    }
    #[derive(Component)]
    struct Held(#[allow(dead_code)] Probe);
    let (send, dropped) = std::sync::mpsc::channel();
    let held = |n| Held(Probe(send.clone(), n));
    let mut world = World::new();
    let [a, b] = [world.spawn(held(1)), world.spawn((held(2), Flag))];
    let mut commands = CommandBuffer::new();
    commands.insert(b, (held(3), Small(0)));
    commands.remove::<Held>(a);
    commands.insert(a, held(4));
    commands.insert(a, held(5));
    commands.despawn(b);
    commands.try_apply(&mut world).unwrap();
    assert_eq!(dropped.try_iter().collect::<Vec<_>>(), [2, 1, 4, 3]);
    drop(world);
    assert_eq!(dropped.try_iter().collect::<Vec<_>>(), [5]);
}

#[test]
fn payloads_of_any_alignment_keep_their_place() {
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[repr(align(256))]
    struct Nothing;
    let (mut world, mut commands, mut tail) = (World::new(), CommandBuffer::new(), CommandBuffer::new());
    for n in 0..20 {
        commands.spawn((Small(n), Nothing));
        commands.spawn(Wide([n.into(); 5]));
        tail.spawn((Page(n), Small(n)));
    }
    commands.append(&mut tail);
    commands.spawn(Nothing);
    commands.try_apply(&mut world).unwrap();
    assert!(world.query::<&Page>().iter().map(|page| page.0).eq(0..20));
    assert!(world.query::<&Wide>().iter().map(|wide| wide.0[4]).eq(0..20));
    assert_eq!(world.query::<&Nothing>().len(), 21);
    world.validate().unwrap();
}

#[test]
fn many_segments_after_a_large_one_take_their_own_time() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..20_000).map(|_| world.spawn_empty()).collect();
    let mut commands = CommandBuffer::new();
    entities.iter().for_each(|e| commands.insert(*e, Small(0)));
    for e in &entities {
        let e = *e;
        commands.queue(move |world| assert!(world.has::<Small>(e)));
        commands.insert(e, Flag);
        commands.remove::<Small>(e);
    }
    commands.try_apply(&mut world).unwrap();
    assert_eq!(world.query_filtered::<Entity, (phalanx::With<Flag>, phalanx::Without<Small>)>().len(), 20_000);
    world.validate().unwrap();
}
