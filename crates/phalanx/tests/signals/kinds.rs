//! Listeners of one entity, of several components, by id, with what exists, of replacements, and called once.

use crate::parts::*;
use phalanx::query::AllRows;
use phalanx::signal::Change;
use phalanx::{CommandBuffer, Component, Entity, Key, ListenerId, Role, With, Without, World};
use phalanx_testkit::{catch, for_every_failing_allocation};
use std::sync::{Arc, Mutex};

type Words = Arc<Mutex<Vec<String>>>;

fn taken(words: &Words) -> Vec<String> {
    core::mem::take(&mut words.lock().unwrap())
}

fn push(words: &Words, word: impl Into<String>) {
    words.lock().unwrap().push(word.into());
}

#[test]
fn a_listener_of_an_entity_is_called_in_the_order_of_connection_with_those_of_all() {
    let (mut world, words) = (World::new(), Words::default());
    let [a, b] = [world.spawn(Plain(0)), world.spawn(Plain(0))];
    for (name, entities) in
        [("all", vec![]), ("a", vec![a]), ("both", vec![b, a, b]), ("all again", vec![]), ("b", vec![b])]
    {
        let sink = words.clone();
        let mut listener = world.listen();
        for entity in entities {
            listener = listener.entity(entity);
        }
        listener.on_set::<Plain>(move |_, _, _| push(&sink, name));
    }
    world.insert(a, Plain(1)).unwrap();
    assert_eq!(taken(&words), ["all", "a", "both", "all again"]);
    world.insert_where::<With<Plain>, _>(Plain(2));
    assert_eq!(taken(&words), ["all", "a", "both", "all again", "all", "both", "all again", "b"]);
    // Extra rows count for their entity, and another entity at the same index is another entity.
    let key = Key::main(a).with_role(Role(1));
    world.add_row(key, Plain(3)).unwrap();
    world.row_mut(key).unwrap().insert(Plain(4));
    assert_eq!(taken(&words), ["all", "a", "both", "all again"]);
    world.despawn(a).unwrap();
    let next = world.spawn(Plain(0));
    assert_eq!(next.index(), a.index());
    world.insert(next, Plain(1)).unwrap();
    assert_eq!(taken(&words), ["all", "all again"]);
}

#[test]
fn listeners_of_despawned_entities_are_removed_on_demand_and_come_back_with_a_rollback() {
    let (mut world, words) = (World::new(), Words::default());
    let [a, b] = [world.spawn(Plain(0)), world.spawn(Plain(0))];
    for entity in [a, b] {
        let sink = words.clone();
        world.listen().entity(entity).on_set::<Plain>(move |set, _, _| push(&sink, format!("set {}", set.new.0)));
        let sink = words.clone();
        world.listen().entity(entity).observe::<Entity, With<Plain>>().on_leave(move |_, _, _| push(&sink, "left"));
        let sink = words.clone();
        world.listen().entity(entity).on_despawn(move |_, _, _| push(&sink, "despawned"));
    }
    let before = world.checkpoint().unwrap();
    world.despawn(a).unwrap();
    assert_eq!(taken(&words), ["despawned", "left"]);
    world.rollback(&before).unwrap();
    world.insert(a, Plain(1)).unwrap();
    assert_eq!(taken(&words), ["set 1"]);
    world.despawn(a).unwrap();
    taken(&words);
    assert_eq!((world.disconnect_despawned(), world.disconnect_despawned()), (3, 0));
    world.rollback(&before).unwrap();
    world.insert(a, Plain(2)).unwrap();
    world.insert(b, Plain(3)).unwrap();
    assert_eq!(taken(&words), ["set 3"]);
}

#[test]
fn a_listener_that_is_called_once_misses_the_other_events_of_its_operation() {
    let (mut world, words) = (World::new(), Words::default());
    let connect = |world: &mut World| {
        let sink = words.clone();
        let id = world.listen().once().on_add::<Plain>(move |added, _, _| push(&sink, format!("{}", added.value.0)));
        let sink = words.clone();
        world.listen().once().observe::<&Plain, Without<Void>>().on_leave(move |left, _, _| {
            push(&sink, format!("left {}", left.item.0));
        });
        id
    };
    let id = connect(&mut world);
    let entities = world.spawn_batch([Plain(1), Plain(2)]);
    assert_eq!(taken(&words), ["1"]);
    assert!(!world.disconnect(id), "it is gone");
    world.despawn_batch(entities);
    assert_eq!(taken(&words), ["left 1"]);
    world.despawn_batch([]);
    world.spawn(Plain(3));
    assert_eq!(taken(&words), [""; 0]);
    assert_eq!(world.memory().signals, 0, "nothing is recorded any more");
    // Of several components, the first event of any is the only one.
    let sink = words.clone();
    let both = world.listen().once().components::<(Plain, Void)>();
    both.call(move |event, _, _| push(&sink, event.name()));
    world.spawn((Void, Plain(4)));
    assert_eq!(taken(&words).len(), 1);
    assert_eq!(world.memory().signals, 0);
}

#[test]
fn a_listener_that_is_called_once_is_dropped_when_its_operation_is_complete() {
    #[derive(Component)]
    struct Noisy(Words);
    impl Drop for Noisy {
        fn drop(&mut self) {
            push(&self.0, "old value dropped");
        }
    }
    struct Guard(Words);
    impl Drop for Guard {
        fn drop(&mut self) {
            push(&self.0, "listener dropped");
        }
    }
    let (mut world, words) = (World::new(), Words::default());
    let e = world.spawn(Noisy(words.clone()));
    let guard = Guard(words.clone());
    world.listen().once().on_remove::<Noisy>(move |_, _, commands| {
        push(&guard.0, "called");
        let sink = guard.0.clone();
        commands.queue(move |_| push(&sink, "command"));
    });
    world.remove::<Noisy>(e).unwrap();
    assert_eq!(taken(&words), ["called", "old value dropped", "listener dropped", "command"]);
}

#[test]
fn h54_a_listener_that_is_called_once_and_panics_is_not_called_again() {
    struct Bomb(Words);
    impl Drop for Bomb {
        fn drop(&mut self) {
            push(&self.0, "dropped");
            panic!("a listener that is dropped")
        }
    }
    let (mut world, words) = (World::new(), Words::default());
    let sink = words.clone();
    world.listen().once().on_add::<Plain>(move |_, _, _| {
        push(&sink, "once");
        panic!("the only call")
    });
    let sink = words.clone();
    world.listen().once().observe::<&Plain, ()>().on_enter(move |_, _, _| {
        push(&sink, "enter");
        panic!("the only call")
    });
    for expected in ["once", "enter"] {
        assert!(catch(|| world.spawn(Plain(0))).is_err());
        world.validate().unwrap();
        assert_eq!(taken(&words), [expected]);
    }
    world.spawn(Plain(0));
    assert_eq!((taken(&words), world.memory().signals), (vec![], 0));
    // Its own destructor panics: it is gone, and the next operation applies the commands.
    let bomb = Bomb(words.clone());
    world.listen().once().on_add::<Plain>(move |added, _, commands| {
        push(&bomb.0, "armed");
        commands.insert(added.entity, Void);
    });
    assert!(catch(|| world.spawn(Plain(0))).is_err());
    assert_eq!(taken(&words), ["armed", "dropped"]);
    world.spawn(Plain(1));
    assert_eq!(world.query::<(&Plain, &Void)>().len(), 1);
    world.validate().unwrap();
    assert_eq!(world.memory().signals, 0);
}

#[test]
fn h53_listeners_that_disconnect_themselves_or_despawn_their_entity_leave_the_others_in_order() {
    let (mut world, words) = (World::new(), Words::default());
    let own = Arc::new(Mutex::new(None::<ListenerId>));
    let e = world.spawn(Plain(0));
    let (sink, id) = (words.clone(), own.clone());
    let first = world.listen().entity(e).on_set::<Plain>(move |set, _, commands| {
        push(&sink, format!("first {}", set.new.0));
        commands.disconnect(id.lock().unwrap().unwrap());
        commands.despawn(set.entity);
    });
    *own.lock().unwrap() = Some(first);
    let sink = words.clone();
    world.listen().entity(e).on_set::<Plain>(move |set, _, _| push(&sink, format!("second {}", set.new.0)));
    let mut commands = CommandBuffer::new();
    commands.insert(e, Plain(1));
    commands.insert(e, Plain(2));
    commands.apply(&mut world);
    assert_eq!(taken(&words), ["first 1", "second 1", "first 2", "second 2"]);
    assert!(!world.contains(e) && !world.disconnect(first));
    assert_eq!(world.disconnect_despawned(), 1);
    assert_eq!(world.take_signal_errors().0.len(), 0, "despawning twice is no error");
}

#[test]
fn existing_components_come_in_the_order_of_a_query() {
    let (mut world, words) = (World::new(), Words::default());
    let a = world.spawn((Plain(1), Pooled(1)));
    let b = world.spawn((Void, Pooled(2), Plain(2)));
    world.add_row(Key::main(a).with_role(Role(1)), (Pooled(3), Plain(3))).unwrap();
    world.remove::<Pooled>(a).unwrap();
    world.insert(a, Pooled(4)).unwrap();
    let sink = words.clone();
    world.listen().existing().on_add::<Plain>(move |added, world, _| {
        assert_eq!(value_of(world, added.key(), Plain::NUMBER), Some(added.value.0));
        push(&sink, format!("{}", added.value.0));
    });
    let order =
        |world: &World| world.query_filtered::<&Plain, AllRows>().iter().map(|p| p.0.to_string()).collect::<Vec<_>>();
    assert_eq!(taken(&words), order(&world));
    let sink = words.clone();
    world.listen().existing().on_add::<Pooled>(move |added, _, _| push(&sink, format!("{}", added.value.0)));
    let order: Vec<_> = world.query_filtered::<&Pooled, AllRows>().iter().map(|p| p.0.to_string()).collect();
    assert_eq!(taken(&words), order);
    // Of certain entities, in their order; those that are not alive have nothing.
    world.despawn(b).unwrap();
    let sink = words.clone();
    world
        .listen()
        .existing()
        .entity(b)
        .entity(a)
        .on_add::<Plain>(move |added, _, _| push(&sink, format!("{}", added.value.0)));
    assert_eq!(taken(&words), ["1", "3"]);
    let sink = words.clone();
    world.listen().existing().on_spawn(move |spawned, _, _| push(&sink, format!("{:?}", spawned.entity)));
    assert_eq!(taken(&words), [format!("{a:?}")]);
    // By id, component by component, and once.
    let ids = register(&mut world);
    let sink = words.clone();
    let all = world.listen().existing().component_ids(&[ids[Pooled::NUMBER], ids[Plain::NUMBER]]);
    let added = move |event: phalanx::signal::ComponentEvent<'_>, _: &World, _: &mut CommandBuffer| {
        assert_eq!(event.change, Change::Added);
        push(
            &sink,
            format!("{:?}{:?}", event.new_value::<Pooled>().map(|p| p.0), event.new_value::<Plain>().map(|p| p.0)),
        );
    };
    all.call(added);
    assert_eq!(taken(&words), ["Some(3)None", "Some(4)None", "NoneSome(1)", "NoneSome(3)"]);
    let sink = words.clone();
    let id = world.listen().existing().once().on_add::<Plain>(move |_, _, _| push(&sink, "once"));
    assert_eq!((taken(&words), world.disconnect(id)), (vec!["once".into()], false));
}

#[test]
fn commands_for_what_exists_are_applied_and_a_panic_connects_nothing() {
    let mut world = World::new();
    let entities = world.spawn_batch([Plain(1), Plain(2)]);
    world.listen().existing().on_add::<Plain>(|added, _, commands| commands.insert(added.entity, Void));
    assert!(entities.iter().all(|e| world.has::<Void>(*e)));
    let words = Words::default();
    let sink = words.clone();
    assert!(
        catch(|| {
            world.listen().existing().on_add::<Plain>(move |added, _, commands| {
                commands.despawn(added.entity);
                push(&sink, "called");
                assert!(added.value.0 != 2, "the second one");
            })
        })
        .is_err()
    );
    world.validate().unwrap();
    assert_eq!((world.len(), taken(&words).len()), (2, 2));
    world.spawn(Plain(3));
    assert_eq!(taken(&words), [""; 0]);
}

#[test]
fn replacements_are_seen_with_both_values_before_the_old_one_is_dropped() {
    let (mut world, words) = (World::new(), Words::default());
    let e = world.spawn((Owned(Box::new(1)), Split { a: 1, b: 1, c: 1 }));
    let sink = words.clone();
    world.listen().on_replace::<Owned>(move |replaced, world, _| {
        assert_eq!(*world.get::<Owned>(replaced.entity).unwrap().0, *replaced.new.0);
        push(&sink, format!("{} {}", replaced.old.0, replaced.new.0));
    });
    let sink = words.clone();
    world.listen().once().on_replace::<Split>(move |replaced, _, _| {
        push(&sink, format!("split {} {}", replaced.old.b, replaced.new.b));
    });
    // A value that is patched, added or removed replaces none, and is not the one call.
    world.patch::<Split, _>(e, |split| *split.b = 1).unwrap();
    world.patch::<Owned, _>(e, |owned| *owned.0 = 2).unwrap();
    world.insert(e, (Split { a: 2, b: 2, c: 2 }, Owned(Box::new(3)))).unwrap();
    assert_eq!(taken(&words), ["2 3", "split 1 2"]);
    assert_eq!(*world.replace(e, Owned(Box::new(4))).unwrap().0, 3);
    world.replace(e, Split { a: 5, b: 5, c: 5 }).unwrap();
    world.remove::<Owned>(e).unwrap();
    world.insert(e, Owned(Box::new(5))).unwrap();
    assert_eq!(taken(&words), ["3 4"]);
}

#[test]
fn a_listener_of_several_components_is_one_listener() {
    let (mut world, words) = (World::new(), Words::default());
    let connect = |world: &mut World, name: &'static str| {
        let sink = words.clone();
        let builder = world.listen().components::<(Plain, Pooled)>().components::<Plain>().added().added().removed();
        builder.call(move |event, _, _| push(&sink, format!("{name} {:?}", event.change)))
    };
    let first = connect(&mut world, "first");
    connect(&mut world, "second");
    let e = world.spawn((Plain(1), Void, Pooled(1)));
    assert_eq!(taken(&words), ["first Added", "first Added", "second Added", "second Added"]);
    world.insert(e, Plain(2)).unwrap();
    world.remove::<Pooled>(e).unwrap();
    assert_eq!(taken(&words), ["first Removed", "second Removed"]);
    assert!(world.disconnect(first) && !world.disconnect(first));
    world.despawn(e).unwrap();
    assert_eq!(taken(&words), ["second Removed"]);
}

#[test]
fn ids_of_no_component_are_refused() {
    let mut world = World::new();
    let mut other = World::new();
    let id = register(&mut other)[3];
    assert!(
        catch(|| world.listen().component_ids(&[id]).call(|_, _, _| ()))
            .unwrap_err()
            .message()
            .contains("no component")
    );
}

#[test]
fn ten_thousand_listeners_of_entities_are_connected_called_and_removed() {
    let mut world = World::new();
    let count = Arc::new(Mutex::new(0));
    let n = if cfg!(miri) { 20 } else { 10_000 };
    let entities = world.spawn_batch((0..n).map(Plain));
    for e in &entities {
        let count = count.clone();
        world.listen().entity(*e).once().on_remove::<Plain>(move |_, _, _| *count.lock().unwrap() += 1);
    }
    world.despawn_batch(entities.iter().copied().take(n as usize / 2));
    for e in &entities[n as usize / 2..] {
        world.despawn(*e).unwrap();
    }
    assert_eq!((*count.lock().unwrap(), world.memory().signals), (n, 0));
}

#[test]
fn no_failing_allocation_of_an_operation_loses_a_call() {
    let points = for_every_failing_allocation(
        || {
            let (mut world, calls) = (World::new(), Arc::new(Mutex::new(0)));
            let e = world.spawn((Plain(0), Pooled(0)));
            for _ in 0..3 {
                let calls = calls.clone();
                let count = move |_: phalanx::signal::Removed<'_, Plain>, _: &World, _: &mut CommandBuffer| {
                    *calls.lock().unwrap() += 1
                };
                world.listen().entity(e).once().on_remove::<Plain>(count);
            }
            (world, e, calls)
        },
        |(world, e, _)| world.try_remove::<(Plain, Pooled)>(*e),
        |(world, e, calls), outcome| {
            assert_eq!(*calls.lock().unwrap(), if outcome.is_ok() { 3 } else { 0 });
            assert_eq!(world.has::<Plain>(*e), outcome.is_err());
            world.validate().unwrap();
        },
    );
    assert!(points > 0);
}
