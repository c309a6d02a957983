//! Listeners that panic.

use crate::parts::{Lined, Plain, Pooled, Void};
use phalanx::{CommandBuffer, Component, Entity, Key, Role, With, Without, World};
use phalanx_testkit::{Counted, Tally, catch, for_every_panic};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Component, Clone)]
#[component(clone)]
struct InTable(Counted);
#[derive(Component, Clone)]
#[component(layout = "pool", clone)]
struct InPool(Counted);
#[derive(Component, Clone)]
#[component(layout = "linear", clone)]
struct InLine(Counted);

type All = (InTable, InPool, InLine, Plain);

fn all(tally: &Tally, n: u32) -> All {
    (InTable(tally.value(n)), InPool(tally.value(n)), InLine(tally.value(n)), Plain(n))
}

struct Test {
    world: World,
    entities: Vec<Entity>,
    /// How many calls of listeners are left before one panics; none panics at zero.
    fuse: Arc<AtomicU64>,
    calls: Arc<AtomicU64>,
}

fn set_up(tally: &Tally) -> Test {
    let mut world = World::new();
    let entities = world.spawn_batch((0..4).map(|n| all(tally, n)));
    world.add_row(Key::main(entities[0]).with_role(Role(1)), all(tally, 9)).unwrap();
    let (fuse, calls) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    macro_rules! listen {
        ($($on:ident $part:ident)*) => {$({
            let (fuse, calls) = (fuse.clone(), calls.clone());
            world.$on::<$part>(move |event, world, commands| {
                calls.fetch_add(1, Ordering::Relaxed);
                world.validate().unwrap();
                // Never executed if a listener panics.
                commands.insert(event.entity, Pooled(7));
                let left = fuse.load(Ordering::Relaxed);
                if left > 0 {
                    fuse.store(left - 1, Ordering::Relaxed);
                    assert_ne!(left, 1, "this listener was to panic");
                }
            });
        })*};
    }
    listen! {
        on_add InTable on_add InPool on_add InLine on_set InTable on_set InPool on_set InLine
        on_remove InTable on_remove InPool on_remove InLine on_add InTable
    }
    macro_rules! observe {
        ($($on:ident $data:ty, $filter:ty;)*) => {$({
            let (fuse, calls) = (fuse.clone(), calls.clone());
            world.observe::<$data, $filter>().$on(move |event, world, commands| {
                calls.fetch_add(1, Ordering::Relaxed);
                world.validate().unwrap();
                commands.insert(event.entity, Pooled(7));
                let left = fuse.load(Ordering::Relaxed);
                if left > 0 {
                    fuse.store(left - 1, Ordering::Relaxed);
                    assert_ne!(left, 1, "this observer was to panic");
                }
            });
        })*};
    }
    observe! {
        on_enter (&InTable, &InPool), ();
        on_leave (&InTable, &InPool), ();
        on_enter Key, Without<InLine>;
        on_leave Key, Without<InLine>;
    }
    Test { world, entities, fuse, calls }
}

/// An operation, and whether it displaces values.
type Act = (&'static str, fn(&mut Test, &Tally));

const ACTS: [Act; 15] = [
    ("spawn", |t, tally| drop(t.world.spawn(all(tally, 5)))),
    ("spawn_batch", |t, tally| drop(t.world.spawn_batch((0..3).map(|n| all(tally, n))))),
    ("insert, in place", |t, tally| t.world.insert(t.entities[1], all(tally, 5)).unwrap()),
    ("insert, moving", |t, tally| t.world.insert(t.entities[1], (all(tally, 5), Lined(0))).unwrap()),
    ("remove", |t, _| drop(t.world.remove::<All>(t.entities[1]).unwrap())),
    ("take", |t, _| drop(t.world.take::<All>(t.entities[1]).unwrap())),
    ("replace", |t, tally| drop(t.world.replace(t.entities[1], InPool(tally.value(5))).unwrap())),
    ("exchange", |t, tally| t.world.exchange::<InTable, _>(t.entities[1], InPool(tally.value(5))).unwrap()),
    ("despawn", |t, _| t.world.despawn(t.entities[0]).unwrap()),
    ("despawn_batch", |t, _| drop(t.world.despawn_batch(t.entities.clone()))),
    ("clear", |t, _| t.world.clear()),
    ("insert_where", |t, tally| drop(t.world.insert_where::<With<Plain>, _>(all(tally, 5)))),
    ("remove_where", |t, _| drop(t.world.remove_where::<With<Plain>, All>())),
    ("remove_row", |t, _| t.world.remove_row(Key::main(t.entities[0]).with_role(Role(1))).unwrap()),
    ("commands", |t, tally| {
        let mut commands = CommandBuffer::new();
        commands.insert(t.entities[1], all(tally, 5));
        commands.insert(t.entities[1], all(tally, 6));
        commands.remove::<All>(t.entities[2]);
        commands.despawn(t.entities[0]);
        commands.spawn(all(tally, 7));
        commands.try_apply(&mut t.world).unwrap();
    }),
];

/// What the operation makes of a world, whatever listeners do.
fn shape(world: &World) -> Vec<(Entity, Option<u32>, Option<u32>, Option<u32>)> {
    let value_of = |e| {
        let (a, b, c) = (world.get::<InTable>(e), world.get::<InPool>(e), world.get::<InLine>(e));
        (e, a.ok().map(|a| a.0.key()), b.ok().map(|b| b.0.key()), c.ok().map(|c| c.0.key()))
    };
    world.iter().map(value_of).collect()
}

#[test]
fn h54_an_operation_stands_whichever_listener_panics() {
    for (name, act) in ACTS {
        let mut done = None;
        let points = for_every_panic(|k| {
            let tally = Tally::new();
            let mut test = set_up(&tally);
            test.fuse.store(k, Ordering::Relaxed);
            let outcome = catch(|| act(&mut test, &tally));
            test.fuse.store(0, Ordering::Relaxed);
            test.world.validate().unwrap_or_else(|error| panic!("{name}, call {k}: {error}"));
            if outcome.is_err() {
                assert_eq!(test.calls.load(Ordering::Relaxed), k, "{name}: no listener is called after a panic");
                let world = &test.world;
                assert!(!world.iter().any(|e| world.has::<Pooled>(e)), "{name}: nothing recorded is executed");
            }
            let now = shape(&test.world);
            assert_eq!(*done.get_or_insert(now.clone()), now, "{name}, call {k}");
            // The lists are as they were.
            let before = test.calls.load(Ordering::Relaxed);
            let e = test.world.spawn(all(&tally, 0));
            assert_eq!(test.calls.load(Ordering::Relaxed), before + 5, "{name}");
            assert!(test.world.has::<Pooled>(e));
            drop(test);
            tally.assert_no_leaks();
            outcome.is_err()
        });
        assert!(points > 0, "{name} calls no listener");
    }
}

#[test]
fn h54_a_destructor_and_a_listener_that_panic_end_every_value_once() {
    for k in 1..=3 {
        let tally = Tally::new();
        let mut test = set_up(&tally);
        test.fuse.store(k, Ordering::Relaxed);
        tally.arm(phalanx_testkit::Site::Drop, 1);
        assert!(catch(|| test.world.despawn(test.entities[1])).is_err());
        tally.disarm(phalanx_testkit::Site::Drop);
        test.fuse.store(0, Ordering::Relaxed);
        test.world.validate().unwrap();
        assert!(!test.world.contains(test.entities[1]));
        drop(test);
        tally.assert_no_leaks();
    }
}

#[test]
fn what_listeners_recorded_waits_if_a_destructor_panics() {
    let tally = Tally::new();
    let mut test = set_up(&tally);
    tally.arm(phalanx_testkit::Site::Drop, 1);
    assert!(catch(|| test.world.remove::<InTable>(test.entities[1])).is_err());
    assert!(tally.disarm(phalanx_testkit::Site::Drop));
    assert!(!test.world.has::<Pooled>(test.entities[1]));
    test.world.spawn_empty();
    assert!(test.world.has::<Pooled>(test.entities[1]));
}

/// A component without listeners, whose changes take the shortest path.
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", clone)]
struct Silent(#[allow(dead_code)] u32);

#[test]
fn what_listeners_recorded_is_applied_by_a_change_that_has_no_listener() {
    let changes: [fn(&mut World, Entity); 4] = [
        |world, e| world.insert(e, Silent(2)).unwrap(),
        |world, e| assert!(world.remove::<Silent>(e).unwrap()),
        |world, e| assert!(world.component_mut::<Silent>().insert(e, Silent(2)).unwrap().is_some()),
        |world, e| assert!(world.component_mut::<Silent>().remove(e).unwrap().is_some()),
    ];
    for change in changes {
        let tally = Tally::new();
        let mut test = set_up(&tally);
        let silent = test.entities[0];
        test.world.insert(silent, Silent(1)).unwrap();
        tally.arm(phalanx_testkit::Site::Drop, 1);
        assert!(catch(|| test.world.remove::<InTable>(test.entities[1])).is_err());
        assert!(tally.disarm(phalanx_testkit::Site::Drop));
        assert!(!test.world.has::<Pooled>(test.entities[1]));
        change(&mut test.world, silent);
        assert!(test.world.has::<Pooled>(test.entities[1]));
        test.world.validate().unwrap();
    }
}

#[test]
fn h54_listeners_stay_if_their_commands_panic_when_dropped() {
    let tally = Tally::new();
    let mut world = World::new();
    let calls = Arc::new(AtomicU64::new(0));
    let (value, count) = (tally.value(0), calls.clone());
    world.on_add::<Plain>(move |added, _, commands| {
        commands.insert(added.entity, InTable(value.clone()));
        assert_ne!(count.fetch_add(1, Ordering::Relaxed), 0, "the first call panics");
    });
    // The listener panics, then the value in its command, which is dropped.
    tally.arm(phalanx_testkit::Site::Drop, 1);
    let panic = catch(|| world.spawn(Plain(1))).unwrap_err();
    assert!(tally.disarm(phalanx_testkit::Site::Drop), "the value panics");
    assert!(panic.message().contains("the first call panics"), "the first panic goes on");
    world.validate().unwrap();
    let e = world.spawn(Plain(2));
    assert_eq!(calls.load(Ordering::Relaxed), 2, "the listener is connected");
    assert!(world.has::<InTable>(e), "its commands are executed");
    assert_eq!(world.query::<&InTable>().len(), 1, "those of the panicking call are not");
    drop(world);
    tally.assert_no_leaks();
}

/// A way to move one entity or all of them to another world.
type Move = fn(&mut World, Entity, &mut World);
const MOVES: [Move; 2] = [
    |here, e, there| drop(here.entity_mut(e).unwrap().transfer(there).unwrap()),
    |here, _, there| drop(here.transfer_all(there).unwrap()),
];

#[test]
fn a_panic_in_the_source_of_a_move_leaves_nothing_pending_in_the_target() {
    // A listener panics, or a command that a listener has recorded.
    let panicking: [fn(&mut World); 2] = [
        |world| drop(world.on_remove::<Plain>(|_, _, _| panic!("a listener"))),
        |world| drop(world.on_remove::<Plain>(|_, _, commands| commands.queue(|_| panic!("a command")))),
    ];
    for (act, listen) in MOVES.into_iter().flat_map(|act| panicking.map(|listen| (act, listen))) {
        let (mut here, mut there) = (World::new(), World::new());
        let e = here.spawn(Plain(1));
        listen(&mut here);
        there.on_add::<Plain>(|added, _, commands| commands.insert(added.entity, Pooled(1)));
        assert!(catch(|| act(&mut here, e, &mut there)).is_err());
        assert_eq!((here.len(), there.len()), (0, 1));
        assert_eq!(there.query::<(&Plain, &Pooled)>().len(), 1, "the target is complete");
    }
}

#[test]
fn a_panic_in_the_target_of_a_move_leaves_nothing_pending_in_the_source() {
    for (act, both) in MOVES.into_iter().flat_map(|act| [(act, false), (act, true)]) {
        let (mut here, mut there) = (World::new(), World::new());
        let [e, other] = [here.spawn(Plain(1)), here.spawn_empty()];
        here.on_remove::<Plain>(move |_, world, commands| match world.contains(other) {
            true => commands.insert(other, Pooled(1)),
            false => drop(commands.spawn_with(world, Pooled(1))),
        });
        if both {
            here.on_remove::<Plain>(|_, _, _| panic!("the source"));
        }
        there.on_add::<Plain>(|_, _, _| panic!("the target"));
        let panic = catch(|| act(&mut here, e, &mut there)).unwrap_err();
        assert_eq!(panic.message(), if both { "the source" } else { "the target" });
        assert_eq!(here.query::<&Pooled>().len(), usize::from(!both));
        there.validate().unwrap();
        here.spawn_empty();
        assert_eq!(here.query::<&Pooled>().len(), usize::from(!both));
    }
}

#[test]
fn a_spawner_allocates_nothing_while_a_panic_unwinds() {
    /// Without a message, which would be allocated.
    fn panic_plainly() {
        std::panic::resume_unwind(Box::new(()));
    }
    let name = "panics::a_spawner_allocates_nothing_while_a_panic_unwinds";
    let output = phalanx_testkit::in_child(name, || {
        let mut world = World::new();
        let dead = world.spawn((Plain(0), Void));
        world.despawn(dead).unwrap();
        let fuse = Arc::new(AtomicU64::new(0));
        let armed = fuse.clone();
        world.on_add::<Plain>(move |_, _, commands| {
            // The commands make the world forget its bundles, then panic.
            if armed.load(Ordering::Relaxed) == 1 {
                commands.queue(|world| {
                    let ((), _) = phalanx_testkit::fail_nth(u64::MAX, || while world.compact(usize::MAX) > 0 {});
                });
                commands.queue(|_| panic_plainly());
            } else {
                commands.queue(|_| ());
                commands.queue(|_| ());
            }
        });
        let mut spawner = world.spawner::<(Plain, Pooled)>();
        (0..4).for_each(|n| drop(spawner.spawn((Plain(n), Pooled(0)))));
        spawner.reserve(10);
        let (_, plain) = phalanx_testkit::measure(|| catch(panic_plainly).is_err());
        fuse.store(1, Ordering::Relaxed);
        // The next allocation after those of the panic itself fails.
        let run = || catch(|| spawner.spawn((Plain(7), Pooled(7)))).is_err();
        let (panicked, failed) = phalanx_testkit::fail_nth(plain.allocations + 1, run);
        fuse.store(0, Ordering::Relaxed);
        assert!(panicked && !failed);
        let e = spawner.spawn((Plain(8), Pooled(8)));
        world.validate().unwrap();
        assert_eq!((world.len(), world.get::<Pooled>(e).unwrap().0), (6, 8));
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
