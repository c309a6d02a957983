//! Listeners: their order, what they may record, and when that is applied.

use crate::parts::*;
use phalanx::{CommandBuffer, Component, Entity, ListenerId, StructuralError, World};
use std::sync::{Arc, Mutex};

type Words = Arc<Mutex<Vec<String>>>;

fn taken(words: &Words) -> Vec<String> {
    core::mem::take(&mut words.lock().unwrap())
}

#[test]
fn listeners_are_called_in_the_order_of_their_connection() {
    let (mut world, words) = (World::new(), Words::default());
    for n in 0..4 {
        let words = words.clone();
        world.on_add::<Plain>(move |_, _, _| words.lock().unwrap().push(format!("{n}")));
    }
    world.spawn(Plain(0));
    assert_eq!(taken(&words), ["0", "1", "2", "3"]);
}

#[test]
fn what_listeners_record_is_applied_in_order_when_the_operation_is_complete() {
    #[derive(Component)]
    struct Noisy(Words);
    impl Drop for Noisy {
        fn drop(&mut self) {
            self.0.lock().unwrap().push("dropped".into());
        }
    }
    let (mut world, words) = (World::new(), Words::default());
    let sink = words.clone();
    world.on_remove::<Noisy>(move |removed, world, commands| {
        assert!(!world.has::<Noisy>(removed.entity));
        sink.lock().unwrap().push("removed".into());
        commands.insert(removed.entity, Pooled(1));
        commands.insert(removed.entity, Plain(1));
    });
    let sink = words.clone();
    world.on_add::<Pooled>(move |added, world, commands| {
        // The segment that brought both is complete.
        assert!(world.has::<Plain>(added.entity));
        sink.lock().unwrap().push("pooled".into());
        commands.remove::<Plain>(added.entity);
    });
    let sink = words.clone();
    world.on_add::<Plain>(move |_, _, _| sink.lock().unwrap().push("plain".into()));
    let sink = words.clone();
    world.on_remove::<Plain>(move |_, _, _| sink.lock().unwrap().push("plain again".into()));
    let e = world.spawn(Noisy(words.clone()));
    world.remove::<Noisy>(e).unwrap();
    assert_eq!(taken(&words), ["removed", "dropped", "pooled", "plain", "plain again"]);
    assert!(world.has::<Pooled>(e) && !world.has::<Plain>(e));
    assert_eq!(world.take_signal_errors().0, []);
}

#[test]
fn commands_are_one_operation_for_what_listeners_record() {
    let mut world = World::new();
    world.on_add::<Plain>(|added, _, commands| commands.insert(added.entity, Pooled(0)));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let mut commands = CommandBuffer::new();
    commands.spawn(Plain(0));
    commands.queue(move |world| {
        world.spawn(Plain(1));
        sink.lock().unwrap().push(world.iter().filter(|e| world.has::<Pooled>(*e)).count());
    });
    commands.try_apply(&mut world).unwrap();
    seen.lock().unwrap().push(world.iter().filter(|e| world.has::<Pooled>(*e)).count());
    assert_eq!(*seen.lock().unwrap(), [0, 2]);
}

#[test]
fn errors_of_what_listeners_record_are_kept() {
    let mut world = World::new();
    world.on_despawn(|despawned, _, commands| commands.insert(despawned.entity, Plain(0)));
    let entities = world.spawn_batch((0..70).map(Plain));
    for e in &entities {
        world.despawn(*e).unwrap();
    }
    let (errors, more) = world.take_signal_errors();
    assert_eq!((errors.len(), more), (64, 6));
    assert!(matches!(errors[3].error, StructuralError::NoSuchEntity(error) if error.entity == entities[3]));
    assert_eq!(world.take_signal_errors(), (vec![], 0));
}

#[test]
fn h53_listeners_that_connect_and_disconnect_are_heard_from_the_next_operation_on() {
    let (mut world, words) = (World::new(), Words::default());
    let own = Arc::new(Mutex::new(None::<ListenerId>));
    let (sink, id) = (words.clone(), own.clone());
    let first = world.on_spawn(move |_, _, commands| {
        sink.lock().unwrap().push("first".into());
        let own = id.lock().unwrap().unwrap();
        commands.disconnect(own);
        let sink = sink.clone();
        commands.queue(move |world| {
            world.on_spawn(move |_, _, _| sink.lock().unwrap().push("second".into()));
        });
    });
    *own.lock().unwrap() = Some(first);
    world.spawn_batch([Plain(0), Plain(1)]);
    // Both entities are one operation, at whose end the first is removed, and the second there twice.
    assert_eq!(taken(&words), ["first", "first"]);
    assert!(!world.disconnect(first));
    world.spawn(Plain(2));
    assert_eq!(taken(&words), ["second", "second"]);
}

#[test]
fn h53_listeners_that_change_their_entities_keep_the_order() {
    let (mut world, words) = (World::new(), Words::default());
    let sink = words.clone();
    world.on_add::<Plain>(move |added, world, commands| {
        sink.lock().unwrap().push(format!("added {}", added.value.0));
        if added.value.0 < 3 {
            let made = commands.spawn_with(world, Plain(added.value.0 + 1));
            commands.despawn(added.entity);
            assert_ne!(made, added.entity);
        }
    });
    let sink = words.clone();
    world.on_remove::<Plain>(move |removed, _, _| sink.lock().unwrap().push(format!("removed {}", removed.value.0)));
    world.spawn(Plain(0));
    let expected = ["added 0", "added 1", "removed 0", "added 2", "removed 1", "added 3", "removed 2"];
    assert_eq!(taken(&words), expected);
    assert_eq!(world.len(), 1);
    world.validate().unwrap();
}

#[test]
fn h53_a_listener_that_destroys_its_entity_leaves_later_listeners_their_values() {
    let (mut world, log) = (World::new(), Log::default());
    register(&mut world);
    world.on_add::<Plain>(|added, _, commands| commands.despawn(added.entity));
    record(&mut world, &log);
    let e = world.spawn((Plain(1), PooledBox(Box::new(2)), LinedBox(vec![3])));
    assert!(!world.contains(e));
    let key = phalanx::Key::main(e);
    let expected = [
        Event::Spawned(e),
        Event::Added(key, 0, 1),
        Event::Added(key, 5, 2),
        Event::Added(key, 8, 3),
        Event::Removed(key, 0, 1),
        Event::Removed(key, 5, 2),
        Event::Removed(key, 8, 3),
        Event::Despawned(e, vec![(0, 1), (5, 2), (8, 3)]),
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn entities_of_columns_are_those_that_were_made_whatever_listeners_do() {
    let mut world = World::new();
    world.on_add::<Plain>(|added, _, commands| match added.value.0 {
        0 => commands.despawn(added.entity),
        _ => commands.insert(added.entity, Void),
    });
    let made = world.spawn_columns(vec![Plain(0), Plain(1), Plain(2)]).unwrap().to_vec();
    let alive: Vec<bool> = made.iter().map(|e| world.contains(*e)).collect();
    assert_eq!(alive, [false, true, true]);
    assert_eq!(world.get::<Plain>(made[2]).unwrap().0, 2);
}

#[test]
fn exclusive_access_tells_nothing() {
    let (mut world, log) = (World::new(), Log::default());
    record(&mut world, &log);
    let e = world.spawn((Plain(0), Pooled(0)));
    log.lock().unwrap().clear();
    world.get_mut::<Plain>(e).unwrap().0 = 1;
    world.query_mut::<(&mut Plain, &mut Pooled)>().for_each(|(plain, pooled)| (plain.0, pooled.0) = (2, 2));
    assert_eq!(*log.lock().unwrap(), []);
}

#[test]
fn clones_of_a_world_have_no_listeners_and_compaction_keeps_them() {
    let (mut world, log) = (World::new(), Log::default());
    record(&mut world, &log);
    let e = world.spawn(Plain(0));
    world.despawn(e).unwrap();
    log.lock().unwrap().clear();
    let mut copy = world.try_clone().unwrap();
    copy.spawn(Plain(1));
    assert_eq!(*log.lock().unwrap(), []);
    while world.compact(usize::MAX) > 0 {}
    world.spawn(Plain(2));
    assert_eq!(log.lock().unwrap().len(), 2);
}

#[test]
fn reserved_entities_are_spawned_before_the_operation_that_makes_them_alive() {
    let (mut world, log) = (World::new(), Log::default());
    record(&mut world, &log);
    let reserved: Vec<Entity> = (0..2).map(|_| world.reserve_entity()).collect();
    assert_eq!(*log.lock().unwrap(), []);
    let e = world.spawn(Plain(0));
    let spawned: Vec<Event> = reserved.into_iter().chain([e]).map(Event::Spawned).collect();
    assert_eq!(log.lock().unwrap()[..3], spawned);
}

#[test]
fn an_operation_that_fails_keeps_the_signals_of_reserved_entities_for_the_next() {
    let (mut world, log) = (World::new(), Log::default());
    record(&mut world, &log);
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    log.lock().unwrap().clear();
    let reserved = world.reserve_entity();
    assert!(world.insert(dead, Plain(0)).is_err() && world.contains(reserved));
    assert_eq!(*log.lock().unwrap(), []);
    let e = world.spawn_empty();
    assert_eq!(*log.lock().unwrap(), [Event::Spawned(reserved), Event::Spawned(e)]);
}

#[test]
fn h53_listeners_that_compact_the_world_do_not_mislead_who_holds_it() {
    let mut world = World::new();
    let old = world.spawn((Void, Owned(Box::new(1))));
    world.despawn(old).unwrap();
    world.on_add::<Plain>(|_, _, commands| commands.queue(|world| while world.compact(usize::MAX) > 0 {}));
    world.on_remove::<Plain>(|_, _, commands| commands.queue(|world| while world.compact(usize::MAX) > 0 {}));
    let mut spawner = world.spawner::<(Plain, Void)>();
    let made: Vec<_> = (0..4).map(|n| spawner.spawn((Plain(n), Void))).collect();
    let mut plains = world.component_mut::<Plain>();
    for e in &made {
        assert!(plains.remove(*e).unwrap().is_some());
        assert!(plains.insert(*e, Plain(7)).unwrap().is_none());
    }
    world.validate().unwrap();
    assert!(made.iter().all(|e| world.get::<Plain>(*e).unwrap().0 == 7 && world.has::<Void>(*e)));
}

#[test]
fn commands_that_fail_call_no_listener() {
    let (mut world, log) = (World::new(), Log::default());
    record(&mut world, &log);
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    log.lock().unwrap().clear();
    let mut commands = CommandBuffer::new();
    commands.reserve_entities(&world, 2);
    let reserved = commands.spawn_with(&world, Plain(1));
    commands.insert(dead, Plain(2));
    assert_eq!(commands.try_apply(&mut world).unwrap_err().position, 1);
    assert_eq!(*log.lock().unwrap(), []);
    // The entities stay reserved, and are spawned by the next operation.
    assert!(world.contains(reserved) && !world.has::<Plain>(reserved));
    let next = world.spawn_empty();
    let spawned: Vec<Event> = log.lock().unwrap().drain(..).collect();
    let aside = commands.spawn_with(&world, Plain(3));
    assert_eq!(spawned, [reserved, aside, next].map(Event::Spawned));
    assert!(commands.apply(&mut world).is_complete());
    assert_eq!(world.get::<Plain>(aside).unwrap().0, 3);
    // What came before the failing segment stands, and what it made listeners record is executed.
    world.on_add::<Void>(|added, _, commands| commands.insert(added.entity, Pooled(1)));
    log.lock().unwrap().clear();
    commands.insert(aside, Void);
    commands.queue(|_| ());
    let reserved = commands.spawn_with(&world, Plain(4));
    commands.despawn(dead);
    assert_eq!(commands.try_apply(&mut world).unwrap_err().position, 3);
    assert!(world.has::<Pooled>(aside) && !world.has::<Plain>(reserved));
}

#[test]
fn what_listeners_record_and_is_skipped_is_named() {
    let mut world = World::new();
    world.on_remove::<Pooled>(|removed, world, commands| {
        // The entity is not alive, which the second command does not report.
        commands.insert(removed.entity, Plain(0));
        commands.despawn(removed.entity);
        commands.spawn_with(world, (Void, Void));
    });
    let e = world.spawn(Pooled(1));
    world.despawn(e).unwrap();
    let (skipped, more) = world.take_signal_errors();
    let named: Vec<_> = skipped.iter().map(|error| (error.position, error.command)).collect();
    use phalanx::commands::CommandKind::{Insert, Spawn};
    assert_eq!((named, more), (vec![(0, Insert), (2, Spawn)], 0));
    assert_eq!(skipped[0].entity, Some(e));
    assert!(matches!(skipped[0].error, StructuralError::NoSuchEntity(error) if error.entity == e));
    assert!(matches!(skipped[1].error, StructuralError::Duplicate(_)));
}
