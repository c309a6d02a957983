//! Iterators, filters and row types of the user's that panic or lie.

use crate::kit::{A, Name, Position, Rude, Tag, Velocity, structure};
use phalanx::query::{QueryFilter, QueryState};
use phalanx::{Component, Components, Entity, Signature, With, Without, World};
use phalanx_testkit::{Counted, Dial, Liar, Lie, PanicSweep, Site, Tally, catch, for_every_panic};
use std::cell::Cell;

#[test]
fn h21_entities_made_before_an_iterator_panics_are_there() {
    let points = PanicSweep::new(Site::Callback).run(
        |tally| {
            let mut world = World::new();
            world.spawn(A::new(tally, 100));
            world
        },
        |world, tally| {
            let bundles = (0..6).map(|key| {
                tally.callback();
                (A::new(tally, key), Tag)
            });
            world.spawn_batch(bundles);
        },
        |world, tally, _| {
            world.validate().unwrap();
            let made = world.query_filtered::<(Entity, &A), phalanx::With<Tag>>().iter();
            assert!(made.map(|(_, a)| a.0.key()).eq(0..tally.made() - 1), "the rows before the panic, and no other");
            // Usable as before.
            let e = world.spawn((A::new(tally, 7), Tag));
            assert_eq!(world.get::<A>(e).unwrap().0.key(), 7);
        },
    );
    assert_eq!(points, 6);
}

#[test]
fn h21_entities_despawned_before_an_iterator_panics_are_gone() {
    PanicSweep::new(Site::Callback).run(
        |tally| {
            let mut world = World::new();
            let entities = world.spawn_batch((0..6).map(|key| A::new(tally, key)));
            (world, entities)
        },
        |(world, entities), tally| {
            let count = world.despawn_batch(entities.iter().map(|e| {
                tally.callback();
                *e
            }));
            assert_eq!(count, 6);
        },
        |(world, entities), tally, _| {
            world.validate().unwrap();
            assert_eq!(world.len() as u32, tally.live());
            let gone = entities.len() - world.len();
            assert!(entities.iter().enumerate().all(|(at, e)| world.contains(*e) == (at >= gone)));
        },
    );
}

#[test]
fn h22_lying_size_hints_do_no_harm() {
    for lie in Lie::ALL {
        let tally = Tally::new();
        let mut world = World::new();
        let entities = world.spawn_batch(Liar::new((0..20).map(|key| (A::new(&tally, key), Position(1.0))), lie));
        world.validate().unwrap();
        assert_eq!((entities.len(), world.len()), (20, 20), "{lie:?}");
        assert!(world.query::<&A>().iter().map(|a| a.0.key()).eq(0..20), "{lie:?}");
        assert_eq!(world.despawn_batch(Liar::new(entities, lie)), 20);
        drop(world);
        tally.assert_no_leaks();
    }
}

#[test]
fn h22_a_boast_that_no_memory_can_hold_is_only_a_boast() {
    let mut world = World::new();
    #[derive(Component)]
    struct Huge([u8; 1 << 14]);
    let entities = world.spawn_batch(Liar::new([0_u8].into_iter().map(|n| Huge([n; 1 << 14])), Lie::Endless));
    assert_eq!(world.get::<Huge>(entities[0]).unwrap().0[9], 0);
    world.validate().unwrap();
}

#[test]
fn h59_empty_batches_and_the_same_entity_twice() {
    let tally = Tally::new();
    let mut world = World::new();
    assert!(world.spawn_batch(core::iter::empty::<(A, Tag)>()).is_empty());
    assert_eq!(world.despawn_batch([]), 0);
    world.validate().unwrap();
    let [a, b] = [1, 2].map(|key| world.spawn(A::new(&tally, key)));
    assert_eq!(world.despawn_batch([a, b, a, b, a]), 2);
    assert_eq!((world.len(), tally.live()), (0, 0));
    assert_eq!(world.spawn_batch([(), (), ()]).len(), 3);
    world.validate().unwrap();
}

/// A filter that panics at its n-th table.
struct Moody;

thread_local! {
    static MOOD: Cell<u32> = const { Cell::new(0) };
}

impl QueryFilter for Moody {
    type State = ();
    fn state(_: &Components) {
        tick();
    }
    fn passes((): &(), _: &Signature) -> bool {
        tick();
        true
    }
}

fn tick() {
    let left = MOOD.get();
    MOOD.set(left.saturating_sub(1));
    assert!(left != 1, "moody");
}

#[test]
fn h26_a_filter_that_panics_leaves_no_table_twice_in_a_held_state() {
    let mut points = 0;
    for k in 1.. {
        MOOD.set(0);
        let (mut world, mut other) = (World::new(), World::new());
        world.spawn(Position(0.0));
        world.spawn((Position(0.0), Velocity(0.0)));
        world.spawn((Position(0.0), Tag));
        other.spawn(Velocity(0.0));
        other.spawn((Velocity(0.0), Position(1.0)));
        for start_elsewhere in [false, true] {
            let mut state = QueryState::<&mut Position, Moody>::new();
            if start_elsewhere {
                assert_eq!(state.iter_mut(&mut other).count(), 1);
            }
            MOOD.set(k);
            let outcome = catch(|| state.iter_mut(&mut world).count());
            MOOD.set(0);
            points += u32::from(outcome.is_err());
            let two: Vec<&mut Position> = state.iter_mut(&mut other).collect();
            assert_eq!(two.len(), 1);
            other.spawn(Tag);
            assert_eq!(state.iter_mut(&mut other).count(), 1);
            // Each row once: twice would be two exclusive references to one value.
            let rows: Vec<&mut Position> = state.iter_mut(&mut world).collect();
            assert_eq!(rows.len(), 3);
            // The state that the world keeps for itself.
            MOOD.set(k);
            let _ = catch(|| world.query_filtered_mut::<&mut Position, Moody>().iter_mut().count());
            MOOD.set(0);
            assert_eq!(world.query_filtered_mut::<&mut Position, Moody>().iter_mut().count(), 3);
        }
        if points > 0 && k > 12 {
            break;
        }
    }
    assert!(points >= 8, "{points}");
}

#[derive(Component, Clone)]
struct Before(#[allow(dead_code)] Counted);
#[derive(Component, Clone)]
struct After(#[allow(dead_code)] Counted);

#[derive(phalanx::Bundle)]
struct Around {
    before: Before,
    rude: Rude,
    after: After,
}

#[test]
fn h26_a_row_type_that_panics_leaves_no_half_made_row() {
    static DIAL: Dial = Dial::off();
    type Act = fn(&mut World, &[Entity], &Tally);
    let acts: [(&str, Act); 18] = [
        ("spawn", |world, _, tally| drop(world.spawn((A::new(tally, 1), Rude(&DIAL, "new"), Name("n"))))),
        ("spawn, derived", |world, _, tally| {
            world.spawn(Around {
                before: Before(tally.value(1)),
                rude: Rude(&DIAL, "new"),
                after: After(tally.value(2)),
            });
        }),
        ("spawn_batch", |world, _, tally| {
            let bundles = (0..3).map(|n| (A::new(tally, n), Name("n"), Rude(&DIAL, "new"), After(tally.value(n))));
            world.spawn_batch(bundles);
        }),
        ("insert, moving", |world, e, tally| {
            world.insert(e[0], (A::new(tally, 2), Rude(&DIAL, "new"), Name("n"))).unwrap();
        }),
        ("insert, in place", |world, e, tally| {
            world.insert(e[1], (A::new(tally, 3), Rude(&DIAL, "other"))).unwrap();
        }),
        ("replace", |world, e, _| drop(world.replace(e[1], Rude(&DIAL, "other")).unwrap())),
        ("take", |world, e, _| drop(world.take::<(A, Rude)>(e[1]).unwrap())),
        ("take, first", |world, e, _| drop(world.take::<((Rude, A), After)>(e[1]).unwrap())),
        ("take, derived", |world, e, _| drop(world.take::<Around>(e[1]).unwrap())),
        ("exchange", |world, e, _| world.exchange::<Position, _>(e[0], (Rude(&DIAL, "new"), Name("n"))).unwrap()),
        ("spawn_columns", |world, _, _| {
            let columns = (vec![Name("n"), Name("n")], vec![Rude(&DIAL, "new"), Rude(&DIAL, "other")]);
            assert_eq!(world.spawn_columns(columns).unwrap().len(), 2);
        }),
        ("insert_where, moving", |world, _, _| {
            world.insert_where::<Without<Rude>, _>((Rude(&DIAL, "new"), Name("n")));
        }),
        ("insert_where, over tables", |world, _, tally| {
            world.insert_where::<With<A>, _>((Before(tally.value(4)), Rude(&DIAL, "new"), After(tally.value(5))));
        }),
        ("insert_where, in place", |world, _, _| {
            world.insert_where::<With<Rude>, _>((Position(7.0), Rude(&DIAL, "other")));
        }),
        ("commands", |world, e, _| {
            let mut commands = phalanx::CommandBuffer::new();
            commands.insert(e[1], Rude(&DIAL, "other"));
            commands.try_apply(world).unwrap();
        }),
        ("add_row", |world, e, _| {
            world.add_row(phalanx::Key::main(e[0]).with_role(phalanx::Role(1)), Rude(&DIAL, "new")).unwrap();
        }),
        ("get", |world, e, _| drop(world.get::<Rude>(e[1]).unwrap())),
        ("query", |world, _, _| drop(world.query::<&Rude>().iter().count())),
    ];
    for (name, act) in acts {
        let points = for_every_panic(|k| {
            DIAL.set(0);
            let tally = Tally::new();
            let mut world = World::new();
            let e = [
                world.spawn((Position(1.0), A::new(&tally, 8))),
                world.spawn((
                    A::new(&tally, 9),
                    Rude(&DIAL, "old"),
                    Position(2.0),
                    After(tally.value(10)),
                    Before(tally.value(11)),
                )),
            ];
            // Another table that batches move, with several rows.
            world.spawn_batch((0..2).map(|n| (A::new(&tally, n), Tag, After(tally.value(n)))));
            let before = structure(&world);
            DIAL.set(k);
            let outcome = catch(|| act(&mut world, &e, &tally));
            let fired = DIAL.stop();
            assert_eq!(outcome.is_err(), fired, "{name}");
            world.validate().unwrap();
            // Batches change a table, or a row, at a time.
            let partly = [
                "take",
                "take, first",
                "take, derived",
                "spawn_batch",
                "insert_where, moving",
                "insert_where, over tables",
            ];
            if fired && !partly.contains(&name) {
                assert_eq!(structure(&world), before, "{name}: did not happen");
            }
            for (e, text) in world.query_mut::<(Entity, &mut Rude)>() {
                assert!(["old", "new", "other"].contains(text), "{name}: {e}");
            }
            assert!(world.query::<&Name>().iter().all(|n| n.0 == "n"));
            assert_eq!(world.query::<&A>().iter().filter(|a| a.0.key() < 100).count(), world.query::<&A>().len());
            drop(world);
            tally.assert_sound();
            tally.assert_no_leaks();
            fired
        });
        assert!(points > 0, "{name} runs code of the row type");
    }
}

/// A world, and a buffer of commands that give, replace, make and end, the fifth and the seventh of which run code of the
/// row type.
fn recorded(tally: &Tally, dial: &'static Dial) -> (World, phalanx::CommandBuffer) {
    let mut world = World::new();
    let e = [0, 1, 2].map(|n| world.spawn((Position(1.0), A::new(tally, n))));
    let row = |n: u32| phalanx::Key::main(e[2]).with_role(phalanx::Role(n));
    world.add_row(row(1), A::new(tally, 3)).unwrap();
    let mut commands = phalanx::CommandBuffer::new();
    commands.insert(e[0], A::new(tally, 10));
    commands.spawn_with(&world, A::new(tally, 11));
    commands.insert_into_row(row(1), A::new(tally, 12));
    commands.add_row(row(2), A::new(tally, 13));
    commands.insert(e[1], (A::new(tally, 14), Rude(dial, "new")));
    commands.despawn(e[2]);
    commands.spawn((Rude(dial, "new"), A::new(tally, 15)));
    commands.insert(e[0], A::new(tally, 16));
    (world, commands)
}

#[test]
fn h58_a_buffer_that_panics_half_way_ends_each_payload_once() {
    static DIAL: Dial = Dial::off();
    let points = for_every_panic(|k| {
        let tally = Tally::new();
        let (mut world, mut commands) = recorded(&tally, &DIAL);
        DIAL.set(k);
        let outcome = catch(|| commands.try_apply(&mut world).unwrap());
        let fired = DIAL.stop();
        assert_eq!(outcome.is_err(), fired);
        world.validate().unwrap();
        assert!(commands.is_empty());
        // What was displaced has ended; the values that are left are those in rows.
        assert!(world.query::<&A>().len() as u32 <= tally.live());
        // The buffer is as good as new.
        commands.spawn(A::new(&tally, 20));
        commands.try_apply(&mut world).unwrap();
        world.validate().unwrap();
        drop((world, commands));
        tally.assert_sound();
        fired
    });
    assert_eq!(points, 2);
}

#[test]
fn h58_a_buffer_that_is_never_run_ends_each_payload_once() {
    static DIAL: Dial = Dial::off();
    let tally = Tally::new();
    let (world, commands) = recorded(&tally, &DIAL);
    assert_eq!(tally.live(), 11);
    drop(commands);
    assert_eq!(tally.live(), 4);
    world.validate().unwrap();
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn h54_what_an_operation_noted_that_panicked_is_not_told_later() {
    static DIAL: Dial = Dial::off();
    let tally = Tally::new();
    let mut world = World::new();
    let [a, b] = [1, 2].map(|key| world.spawn(A::new(&tally, key)));
    let told = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let sum = told.clone();
    world.on_set::<A>(move |set, _, _| {
        // A value that has ended would panic here.
        let key = set.old.map_or(0, |old| old.0.key());
        sum.fetch_add(key + set.new.0.key(), std::sync::atomic::Ordering::Relaxed);
    });
    let set = world.collector().set::<A>().build();
    let mut commands = phalanx::CommandBuffer::new();
    commands.insert(a, A::new(&tally, 10));
    commands.insert(b, (A::new(&tally, 20), Rude(&DIAL, "taken apart")));
    DIAL.set(1);
    assert!(catch(|| commands.try_apply(&mut world)).is_err());
    DIAL.stop();
    world.validate().unwrap();
    world.spawn(());
    assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 0);
    // What was carried out was collected.
    assert_eq!(set.drain(&mut world), [a]);
    world.insert(b, A::new(&tally, 30)).unwrap();
    assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 32);
}
