//! Failed allocations: an error, and no listener is called.

use crate::parts::*;
use phalanx::signal::ChangeReader;
use phalanx::{Collector, CommandBuffer, Entity, Key, Role, StructuralError, With, Without, World};
use phalanx_testkit::AllocationSweep;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Test {
    world: World,
    entities: Vec<Entity>,
    collector: Collector,
    reader: ChangeReader,
    calls: Arc<AtomicU64>,
    commands: CommandBuffer,
    /// One without values that allocate when they are cloned.
    plain: Entity,
    other: World,
    /// To be given: made while there is memory.
    d: Option<D>,
    e: Option<E>,
}

fn set_up() -> Test {
    let mut world = World::new();
    let entities = world.spawn_batch((0..64).map(E::of));
    world.add_row(Key::main(entities[0]).with_role(Role(1)), E::of(0)).unwrap();
    world.take::<E>(entities[63]).unwrap();
    world.insert(entities[63], B::of(9)).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    macro_rules! listen {
        ($($part:ident)*) => {$({
            let sink = calls.clone();
            world.on_add::<$part>(move |_, _, _| drop(sink.fetch_add(1, Ordering::Relaxed)));
            let sink = calls.clone();
            world.on_set::<$part>(move |_, _, _| drop(sink.fetch_add(1, Ordering::Relaxed)));
            let sink = calls.clone();
            world.on_remove::<$part>(move |_, _, _| drop(sink.fetch_add(1, Ordering::Relaxed)));
        })*};
    }
    listen! { Plain Owned Split Void Pooled PooledBox PooledVoid Lined LinedBox LinedVoid }
    macro_rules! observe {
        ($($on:ident $data:ty, $filter:ty;)*) => {$({
            let sink = calls.clone();
            world.observe::<$data, $filter>().$on(move |_, _, _| drop(sink.fetch_add(1, Ordering::Relaxed)));
        })*};
    }
    observe! {
        on_enter (&Owned, &Pooled), ();
        on_leave (&Owned, &Pooled), ();
        on_enter Key, Without<Plain>;
        on_leave Key, Without<Plain>;
    }
    let builder = world.collector().added::<Plain>().set::<Split>().set::<Pooled>().removed::<Owned>();
    let collector = builder.added::<LinedBox>().despawned().build();
    let builder = world.collector().added::<Plain>().set::<Split>().set::<Pooled>().removed::<Owned>();
    let reader = builder.added::<LinedBox>().despawned().build_reader();
    let mut commands = CommandBuffer::new();
    commands.insert(entities[1], B::of(1));
    commands.insert(entities[1], E::of(2));
    commands.remove::<E>(entities[2]);
    commands.despawn(entities[0]);
    let plain = entities[63];
    let (other, d, e) = (World::new(), Some(D::of(1)), Some(E::of(1)));
    Test { world, entities, collector, reader, calls, commands, plain, other, d, e }
}

type Act = (&'static str, fn(&mut Test) -> Result<(), StructuralError>);

const ACTS: [Act; 13] = [
    ("try_spawn", |t| t.world.try_spawn(B::of(1)).map(drop)),
    ("try_insert, in place", |t| t.world.try_insert(t.entities[1], t.e.take().unwrap())),
    ("try_insert, moving", |t| t.world.try_insert(t.entities[1], B::of(1))),
    ("try_remove", |t| t.world.try_remove::<E>(t.entities[1]).map(drop)),
    ("take", |t| t.world.take::<E>(t.entities[1]).map(drop)),
    ("exchange", |t| t.world.exchange::<E, D>(t.entities[1], t.d.take().unwrap())),
    ("try_despawn", |t| t.world.try_despawn(t.entities[0])),
    ("try_clear", |t| t.world.try_clear()),
    ("clone_entity", |t| t.world.entity_mut(t.plain).unwrap().clone_entity().map(drop)),
    ("try_insert_where", |t| t.world.try_insert_where::<With<Owned>, B>(B::of(3)).map(drop)),
    ("try_remove_where", |t| t.world.try_remove_where::<With<Owned>, E>().map(drop)),
    ("commands", |t| t.commands.try_apply(&mut t.world).map_err(|error| error.error)),
    ("transfer", |t| t.world.entity_mut(t.entities[0]).unwrap().transfer(&mut t.other).map(drop)),
];

#[test]
fn no_listener_is_called_if_allocation_fails() {
    for (name, act) in ACTS {
        for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
            let points = sweep.run(set_up, act, |test, outcome| {
                test.world.validate().unwrap();
                let (calls, collected) = (test.calls.load(Ordering::Relaxed), test.collector.drain(&mut test.world));
                assert_eq!(calls == 0, outcome.is_err(), "{name}");
                if outcome.is_err() {
                    assert_eq!(collected, [], "{name}");
                    assert_eq!(test.reader.read(&test.world), [], "{name}");
                    assert!(test.entities.iter().all(|e| test.world.contains(*e)));
                } else {
                    assert!(!collected.is_empty(), "{name}");
                    let mut read = test.reader.read(&test.world).to_vec();
                    assert!(collected.iter().all(|e| read.contains(e)), "{name}");
                    read.retain(|e| !collected.contains(e));
                    assert_eq!(read, [], "{name}");
                }
            });
            assert!(points > 0, "{name} asks for no memory");
        }
    }
}
