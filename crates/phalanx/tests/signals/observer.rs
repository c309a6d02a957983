//! Observers of queries: when they are called, in what order, and with what.

use crate::parts::*;
use phalanx::query::{QueryFilter, ReadOnlyQueryData};
use phalanx::{
    Changed, CommandBuffer, Component, Components, Entity, Key, ListenerId, Role, Row, Signature, With, Without, World,
};
use phalanx_testkit::catch;
use std::sync::{Arc, Mutex};

type Words = Arc<Mutex<Vec<String>>>;

fn taken(words: &Words) -> Vec<String> {
    core::mem::take(&mut words.lock().unwrap())
}

/// Writes down who enters a query and who leaves it.
fn observe<D: ReadOnlyQueryData + 'static, F: QueryFilter>(
    world: &mut World,
    words: &Words,
    name: &'static str,
) -> [ListenerId; 2] {
    let sink = words.clone();
    let enter = world.observe::<D, F>().on_enter(move |event, _, _| {
        sink.lock().unwrap().push(format!("{} enters {name}", event.key()));
    });
    let sink = words.clone();
    let leave = world.observe::<D, F>().on_leave(move |event, _, _| {
        sink.lock().unwrap().push(format!("{} leaves {name}", event.key()));
    });
    [enter, leave]
}

#[test]
fn a_row_is_told_of_after_its_other_events_what_it_leaves_first() {
    let (mut world, words) = (World::new(), Words::default());
    observe::<&Plain, Without<Pooled>>(&mut world, &words, "lone");
    observe::<Entity, ()>(&mut world, &words, "all");
    observe::<(&Plain, &Pooled), ()>(&mut world, &words, "both");
    let sink = words.clone();
    world.on_add::<Plain>(move |event, _, _| sink.lock().unwrap().push(format!("{} gets plain", event.entity)));
    let sink = words.clone();
    world.on_remove::<Plain>(move |event, _, _| sink.lock().unwrap().push(format!("{} loses plain", event.entity)));
    let sink = words.clone();
    world.on_spawn(move |event, _, _| sink.lock().unwrap().push(format!("{} is spawned", event.entity)));
    let sink = words.clone();
    world.on_despawn(move |event, _, _| sink.lock().unwrap().push(format!("{} is despawned", event.entity)));
    let list = world.spawn_batch([Plain(1), Plain(2)]);
    let expected = [
        "0v0 is spawned",
        "0v0 gets plain",
        "0v0 enters lone",
        "0v0 enters all",
        "1v0 is spawned",
        "1v0 gets plain",
        "1v0 enters lone",
        "1v0 enters all",
    ];
    assert_eq!(taken(&words), expected);
    world.insert(list[1], Pooled(1)).unwrap();
    assert_eq!(taken(&words), ["1v0 leaves lone", "1v0 enters both"]);
    world.despawn_batch([list[1], list[0]]);
    let expected = [
        "1v0 loses plain",
        "1v0 is despawned",
        "1v0 leaves all",
        "1v0 leaves both",
        "0v0 loses plain",
        "0v0 is despawned",
        "0v0 leaves lone",
        "0v0 leaves all",
    ];
    assert_eq!(taken(&words), expected);
}

#[test]
fn a_segment_of_commands_is_one_operation_for_observers() {
    let (mut world, words) = (World::new(), Words::default());
    let e = world.spawn((Plain(1), Pooled(1)));
    observe::<(&Plain, &Pooled), ()>(&mut world, &words, "both");
    observe::<Entity, Without<Lined>>(&mut world, &words, "unlined");
    let mut commands = CommandBuffer::new();
    commands.remove::<Plain>(e);
    commands.insert(e, (Plain(2), Lined(1)));
    commands.remove::<Lined>(e);
    let gone = commands.spawn_with(&world, (Plain(3), Pooled(3)));
    commands.despawn(gone);
    commands.apply(&mut world);
    assert_eq!(taken(&words), [""; 0], "neither has the entity left, nor has the other one come");
    commands.remove::<Plain>(e);
    commands.queue(|_| {});
    commands.insert(e, Plain(2));
    commands.apply(&mut world);
    assert_eq!(taken(&words), ["0v0 leaves both", "0v0 enters both"]);
}

#[test]
fn who_leaves_is_shown_as_it_was_before_the_operation() {
    let mut world = World::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    world.observe::<(&Owned, &PooledBox, Option<&LinedBox>, &Plain), ()>().on_leave(move |left, world, _| {
        let (owned, pooled, lined, plain) = left.item;
        let lined = lined.map(|lined| lined.0[0]);
        sink.lock().unwrap().push((*owned.0, *pooled.0, lined, plain.0, world.contains(left.entity)));
    });
    let e = world.spawn((Owned::of(1), PooledBox::of(2), LinedBox::of(3), Plain(4)));
    let mut commands = CommandBuffer::new();
    commands.insert(e, (Owned::of(10), PooledBox::of(20)));
    commands.insert(e, (Owned::of(11), PooledBox::of(21)));
    commands.remove::<(PooledBox, LinedBox)>(e);
    commands.apply(&mut world);
    assert_eq!(core::mem::take(&mut *seen.lock().unwrap()), [(1, 2, Some(3), 4, true)]);
    world.insert(e, PooledBox::of(5)).unwrap();
    world.despawn(e).unwrap();
    assert_eq!(core::mem::take(&mut *seen.lock().unwrap()), [(11, 5, None, 4, false)]);
}

#[test]
fn extra_rows_are_told_of_if_the_query_visits_them() {
    let (mut world, words) = (World::new(), Words::default());
    observe::<&Plain, ()>(&mut world, &words, "main");
    observe::<(Row, &Plain), ()>(&mut world, &words, "any");
    let e = world.spawn_empty();
    let key = Key::main(e).with_role(Role(7));
    world.add_row(key, Plain(1)).unwrap();
    assert_eq!(taken(&words), ["0v0 role 7 enters any"]);
    world.insert(e, Plain(2)).unwrap();
    assert_eq!(taken(&words), ["0v0 enters main", "0v0 enters any"]);
    let mut commands = CommandBuffer::new();
    commands.remove_row(key);
    commands.add_row(key, Plain(3));
    commands.apply(&mut world);
    assert_eq!(taken(&words), ["0v0 role 7 leaves any", "0v0 role 7 enters any"], "it is another row");
    world.despawn(e).unwrap();
    assert_eq!(taken(&words), ["0v0 role 7 leaves any", "0v0 leaves main", "0v0 leaves any"]);
}

#[test]
fn existing_rows_are_told_of_once_in_the_order_of_the_query() {
    let mut world = World::new();
    let dead = world.spawn((Plain(0), Pooled(0)));
    world.spawn_batch([(Plain(1), Pooled(1)), (Plain(2), Pooled(2))]);
    world.spawn((Plain(3), Pooled(3), Void));
    world.despawn(dead).unwrap();
    // Spawned by an operation that fails; its events come with the next one.
    world.on_spawn(|_, _, _| {});
    let reserved = world.reserve_entity();
    assert!(world.insert(dead, Plain(0)).is_err() && world.contains(reserved));
    let found: Vec<Entity> = world.query::<(Entity, &Plain, &Pooled)>().iter().map(|(e, ..)| e).collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    world.observe::<(&Plain, &Pooled), ()>().existing().on_enter(move |entered, world, commands| {
        assert!(entered.item.0.0 == entered.item.1.0 as u32 && world.contains(entered.entity));
        sink.lock().unwrap().push(entered.entity);
        if entered.item.0.0 < 2 {
            commands.spawn((Plain(9), Pooled(9)));
        }
    });
    let mut seen = core::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen.split_off(3).len(), 1, "what it has recorded is applied, and it is called with it");
    assert_eq!(seen, found);
    let all = Arc::new(Mutex::new(Vec::new()));
    let sink = all.clone();
    world.observe::<Entity, ()>().existing().on_enter(move |entered, _, _| sink.lock().unwrap().push(entered.item));
    let next = world.spawn_empty();
    let mut expected: Vec<Entity> = world.iter().collect();
    let mut all = core::mem::take(&mut *all.lock().unwrap());
    assert_eq!(all.last(), Some(&next));
    all.sort_unstable();
    expected.sort_unstable();
    assert_eq!(all, expected);
}

#[test]
fn reserved_entities_enter_with_the_operation_that_makes_them_alive() {
    let (mut world, words) = (World::new(), Words::default());
    observe::<Entity, ()>(&mut world, &words, "all");
    observe::<Entity, Without<Plain>>(&mut world, &words, "bare");
    let reserved = world.reserve_entity();
    assert_eq!(taken(&words), [""; 0]);
    world.insert(reserved, Plain(1)).unwrap();
    assert_eq!(taken(&words), ["0v0 enters all"], "it was never there without the component");
}

#[test]
fn observers_are_disconnected_like_listeners() {
    let (mut world, words) = (World::new(), Words::default());
    let [enter, leave] = observe::<&Plain, ()>(&mut world, &words, "plain");
    let e = world.spawn(Plain(1));
    assert_eq!(taken(&words), ["0v0 enters plain"]);
    assert!(world.disconnect(enter) && !world.disconnect(enter));
    world.spawn(Plain(2));
    world.despawn(e).unwrap();
    assert_eq!(taken(&words), ["0v0 leaves plain"]);
    assert!(world.disconnect(leave));
    let without = World::new().memory().signals;
    assert_eq!(world.memory().signals, without, "nothing is recorded any more");
    // By itself.
    let own = Arc::new(Mutex::new(None));
    let (id, sink) = (own.clone(), words.clone());
    *own.lock().unwrap() = Some(world.observe::<&Plain, ()>().on_enter(move |_, _, commands| {
        sink.lock().unwrap().push("once".into());
        commands.disconnect(id.lock().unwrap().unwrap());
    }));
    world.spawn(Plain(3));
    world.spawn(Plain(4));
    assert_eq!(taken(&words), ["once"]);
}

#[test]
fn commands_of_observers_are_applied_when_the_operation_is_complete() {
    let mut world = World::new();
    world.observe::<&Plain, Without<Pooled>>().on_enter(|entered, world, commands| {
        assert!(!world.has::<Pooled>(entered.entity));
        commands.insert(entered.entity, Pooled(u64::from(entered.item.0)));
    });
    world.observe::<&Plain, Without<Pooled>>().on_leave(|left, world, commands| {
        assert_eq!(world.get::<Pooled>(left.entity).unwrap().0, 5);
        commands.insert(left.entity, Lined(left.item.0 as u16));
    });
    let e = world.spawn(Plain(5));
    assert_eq!((world.get::<Pooled>(e).unwrap().0, world.get::<Lined>(e).unwrap().0), (5, 5));
}

#[test]
fn an_observer_that_panics_at_existing_rows_is_not_connected() {
    let mut world = World::new();
    world.spawn_batch([Plain(1), Plain(2)]);
    let calls = Arc::new(Mutex::new(0));
    let count = calls.clone();
    let panic = catch(|| {
        world.observe::<&Plain, ()>().existing().on_enter(move |entered, _, commands| {
            *count.lock().unwrap() += 1;
            commands.despawn(entered.entity);
            assert_eq!(entered.item.0, 1, "the second is refused");
        })
    });
    assert!(panic.unwrap_err().message().contains("the second is refused"));
    world.spawn(Plain(3));
    assert_eq!((*calls.lock().unwrap(), world.query::<&Plain>().len()), (2, 3));
}

#[derive(Component)]
#[component(track = "row")]
struct Watched;

/// A filter that could depend on anything.
struct Foreign;

impl QueryFilter for Foreign {
    type State = ();
    fn state(_: &Components) {}
    fn passes((): &(), _: &Signature) -> bool {
        true
    }
}

#[test]
fn queries_that_depend_on_more_than_components_are_refused() {
    fn refusal<D: ReadOnlyQueryData + 'static, F: QueryFilter>() -> String {
        let panic = catch(|| drop(World::new().observe::<D, F>())).unwrap_err();
        panic.message().to_owned()
    }
    let message = refusal::<&Watched, Changed<Watched>>();
    assert!(
        message.contains("cannot be observed") && message.contains("Changed<signals::observer::Watched>"),
        "{message}"
    );
    let message = refusal::<&Watched, (With<Plain>, phalanx::Or<(With<Plain>, phalanx::Added<Watched>)>)>();
    assert!(message.contains("&signals::observer::Watched") && message.contains("Added<"), "{message}");
    assert!(
        refusal::<(Entity, Option<phalanx::query::Filtered<&Plain, Foreign>>), ()>().contains("Foreign depends on")
    );
}

#[test]
fn clones_of_a_world_have_no_observers_and_compaction_keeps_them() {
    let (mut world, words) = (World::new(), Words::default());
    observe::<&Plain, ()>(&mut world, &words, "plain");
    let mut copy = world.try_clone().unwrap();
    copy.spawn(Plain(1));
    assert_eq!(taken(&words), [""; 0]);
    while world.compact(usize::MAX) > 0 {}
    let e = world.spawn(Plain(1));
    world.entity_mut(e).unwrap().clone_entity().unwrap();
    assert_eq!(taken(&words), ["0v0 enters plain", "1v0 enters plain"]);
}

#[test]
fn going_back_in_time_tells_observers_nothing() {
    let (mut world, words) = (World::new(), Words::default());
    observe::<&Plain, ()>(&mut world, &words, "plain");
    let checkpoint = world.checkpoint().unwrap();
    let e = world.spawn(Plain(1));
    assert_eq!(taken(&words), ["0v0 enters plain"]);
    world.rollback(&checkpoint).unwrap();
    assert!(!world.contains(e));
    assert_eq!(taken(&words), [""; 0]);
    world.spawn(Plain(2));
    assert_eq!(taken(&words).len(), 1);
}

#[test]
fn a_rollback_restores_the_spawns_that_observers_were_not_called_with() {
    let (mut world, words) = (World::new(), Words::default());
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    observe::<Entity, ()>(&mut world, &words, "all");
    let reserved = world.reserve_entity();
    assert!(world.insert(dead, Plain(0)).is_err() && world.contains(reserved));
    assert_eq!(taken(&words), [""; 0]);
    let checkpoint = world.checkpoint().unwrap();
    let mut calls = Vec::new();
    for _ in 0..2 {
        world.spawn_empty();
        calls.push(taken(&words));
        world.rollback(&checkpoint).unwrap();
    }
    assert_eq!(calls[0].len(), 2);
    assert_eq!(calls[0][0], format!("{reserved} enters all"));
    assert_eq!(calls[1][0], calls[0][0], "it is told of again in the time after the checkpoint");
}
