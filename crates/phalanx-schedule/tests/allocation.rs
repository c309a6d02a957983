//! What runs of schedules allocate, and what happens if memory runs out.
//!
//! A schedule does not promise more than its parts: commands that are applied, and values that systems record, abort if allocation
//! fails. But a run whose buffers have grown allocates nothing, and an error that a system returns is reported.

use phalanx::event::{EventReader, EventWriter};
use phalanx::system::{Commands, ResMut};
use phalanx::{Changed, Component, Entity, Event, Query, World};
use phalanx_schedule::{Cause, IntoSystemConfig, Schedule};
use phalanx_testkit::{fail_from, fail_nth, measure};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component)]
struct A(u32);
#[derive(Component)]
#[component(track = "row")]
struct Tracked(u32);
#[derive(Event)]
struct Ping(u32);

fn frame(world: &mut World) -> Schedule {
    world.insert_resource(0u32);
    world.spawn_batch((0..100).map(|n| (A(n), Tracked(n))));
    Schedule::builder("frame")
        .add(|a: Query<&mut A>| a.for_each(|a| a.0 += 1))
        .add(|mut tracked: Query<&mut Tracked>| tracked.iter_mut().for_each(|mut tracked| tracked.0 += 1))
        .add(|changed: Query<&Tracked, Changed<Tracked>>, mut sum: ResMut<u32>| *sum += changed.iter().count() as u32)
        .add(|mut pings: EventWriter<Ping>| pings.send_batch((0..10).map(Ping)))
        .add(
            (|mut pings: EventReader<Ping>, mut sum: ResMut<u32>| {
                *sum += pings.read().iter().map(|ping| ping.0).sum::<u32>();
            })
            .run_if(|a: Query<&A>| !a.is_empty()),
        )
        .add(
            (|mut commands: Commands, a: Query<(Entity, &A)>| {
                let (oldest, _) = a.iter().next().unwrap();
                commands.despawn(oldest);
                commands.spawn((A(1), Tracked(1)));
            })
            .named("replace"),
        )
        .build(world)
        .unwrap()
}

#[test]
fn a_run_whose_buffers_have_grown_allocates_nothing() {
    let mut world = World::new();
    let mut schedule = frame(&mut world);
    (0..50).for_each(|_| schedule.run(&mut world));
    let before = *world.resource::<u32>().unwrap();
    let ((), usage) = measure(|| (0..50).for_each(|_| schedule.run(&mut world)));
    assert_eq!(usage.allocations, 0);
    let ((), has_failed) = fail_from(1, || (0..50).for_each(|_| schedule.run(&mut world)));
    assert!(!has_failed);
    assert_eq!(*world.resource::<u32>().unwrap(), before + 100 * 145);
    world.validate().unwrap();
}

#[test]
fn an_error_without_memory_is_reported_at_each_allocation() {
    #[derive(Component)]
    struct Big([u8; 5000]);
    // Made before, so that reporting needs no memory of its own.
    #[derive(Clone, Copy, Debug)]
    struct NoMemory;
    impl std::fmt::Display for NoMemory {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("no memory")
        }
    }
    impl std::error::Error for NoMemory {}
    let fill = |world: &mut World| -> Result<(), NoMemory> {
        let big = world.try_spawn((A(7), Big([1; 5000]))).map_err(|_| NoMemory)?;
        assert_eq!(world.get::<Big>(big).unwrap().0[4999], 1);
        Ok(())
    };
    let mut failures = 0;
    for n in 1.. {
        let mut world = World::new();
        let mut schedule = frame(&mut world);
        (0..50).for_each(|_| schedule.run(&mut world));
        let mut schedule = Schedule::builder("fill").add(fill.named("fill")).build(&mut world).unwrap();
        Schedule::builder("warm").add(|| {}).build(&mut world).unwrap().run(&mut world);
        let len = world.len();
        let (result, has_failed) = fail_nth(n, || schedule.try_run(&mut world));
        world.validate().unwrap();
        match result {
            Ok(()) => assert_eq!(world.len(), len + 1),
            Err(error) => {
                failures += 1;
                assert_eq!(error.system, "fill");
                assert!(matches!(error.cause, Cause::Error(_)));
                assert_eq!(world.len(), len);
                schedule.try_run(&mut world).unwrap();
            }
        }
        if !has_failed {
            break;
        }
    }
    assert!(failures > 0);
}
