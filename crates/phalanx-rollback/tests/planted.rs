//! Ten classes of bugs that make a simulation differ from itself, each planted. The report names each of them.
#![allow(missing_docs, unsafe_code)]

use phalanx::{Component, Entity, World};
use phalanx_rollback::{Desync, SyncTest};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Position(f32, f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Velocity(f32, f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
struct Health(u32);
/// There are three bytes of padding.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
#[repr(C)]
struct Padded(u8, u32);

#[derive(Clone, Copy, Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as u32
    }
}

fn world() -> World {
    let mut world = World::new();
    for n in 0..300 {
        let n = n as f32;
        world.spawn((Position(n, -n), Velocity(1.0, 0.5 * n), Health(100)));
    }
    world
}

fn target(world: &World) -> Entity {
    world.iter().nth(140).unwrap()
}

/// Moves everything. This alone is right.
fn step(world: &mut World, input: &u32) {
    world.query_mut::<(&mut Position, &Velocity)>().for_each(|(p, v)| (p.0, p.1) = (p.0 + v.0, p.1 + v.1));
    world.query_mut::<&mut Health>().for_each(|health| health.0 = health.0.wrapping_add(*input));
    if input.is_multiple_of(7) {
        let last = world.iter().next_back().unwrap();
        world.despawn(last).unwrap();
        world.spawn((Position(0.0, 0.0), Velocity(*input as f32, 1.0), Health(*input)));
    }
}

fn input(frame: u64) -> u32 {
    (frame * 31 % 13) as u32
}

/// Runs a simulation with a bug in it, and returns the report.
fn find(world: World, mut simulate: impl FnMut(&mut World, &u32)) -> Desync {
    let test = SyncTest::new(world).distance(5).frames(60);
    let failure = test.run(input, |world, input| {
        step(world, input);
        simulate(world, input);
    });
    let report = failure.unwrap_err().desync().unwrap().clone();
    println!("{report}");
    report
}

/// Checks that a report names an entity, a component, and both values.
fn assert_named(report: &Desync, entity: Entity, component: &str) {
    let text = report.to_string();
    assert_eq!(report.differences[0].entity(), Some(entity), "{text}");
    assert!(report.differences[0].name().unwrap().ends_with(component), "{text}");
    assert!(report.differing.iter().any(|name| name.ends_with(component)), "{text}");
    assert!(text.contains(&format!("frame {}", report.frame)) && text.contains(component), "{text}");
    assert!(text.contains(&format!("last equal: frame {}", report.last_equal)), "{text}");
}

#[test]
fn a_simulation_without_bugs_passes() {
    let end = SyncTest::new(world()).distance(7).frames(120).run(input, step).unwrap();
    let mut alone = world();
    (0..120).for_each(|frame| step(&mut alone, &input(frame)));
    assert!(end.query::<(Entity, &Position)>().iter().eq(alone.query::<(Entity, &Position)>().iter()));
}

#[test]
fn a_resource_that_is_not_kept_is_named() {
    let mut world = world();
    world.insert_resource(Dice(1));
    let hurt = target(&world);
    let report = find(world, |world, _| {
        let roll = world.resource_mut::<Dice>().unwrap().roll();
        world.get_mut::<Health>(hurt).unwrap().0 ^= roll;
    });
    assert_named(&report, hurt, "Health");
    assert!(report.unrestored.iter().any(|name| name.ends_with("Dice")), "{report}");
    assert!(report.to_string().contains("Dice"));
}

#[test]
fn a_resource_that_is_kept_is_no_bug() {
    let mut world = world();
    world.insert_resource(Dice(1));
    world.resources_mut().keep::<Dice>();
    let hurt = target(&world);
    let run = |world: &mut World, input: &u32| {
        step(world, input);
        let roll = world.resource_mut::<Dice>().unwrap().roll();
        world.get_mut::<Health>(hurt).unwrap().0 ^= roll;
    };
    SyncTest::new(world).distance(5).frames(60).run(input, run).unwrap();
}

#[test]
fn the_order_of_a_hash_map_is_named() {
    let world = world();
    let first = target(&world);
    let report = find(world, |world, _| {
        let all: HashMap<Entity, u32> = world.iter().take(200).map(|entity| (entity, entity.index())).collect();
        // Each map has a seed of its own.
        let hash = all.values().fold(0u32, |hash, index| hash.wrapping_mul(31).wrapping_add(*index));
        world.get_mut::<Health>(first).unwrap().0 = hash;
    });
    assert_named(&report, first, "Health");
}

#[test]
fn the_clock_is_named() {
    let world = world();
    let entity = target(&world);
    let start = std::time::Instant::now();
    let report = find(world, |world, _| {
        world.get_mut::<Position>(entity).unwrap().1 = start.elapsed().as_nanos() as f32;
    });
    assert_named(&report, entity, "Position");
}

#[test]
fn padding_is_not_compared_and_its_component_is_listed() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut world = world();
    let entity = target(&world);
    world.insert(entity, Padded(1, 2)).unwrap();
    // The byte between the fields differs each time. The value does not: this is not a desync.
    let fill = |world: &mut World, input: &u32| {
        step(world, input);
        let padded: *mut Padded = world.get_mut::<Padded>(entity).unwrap();
        // SAFETY: the second byte of the value is padding, so that any byte may be written there.
        unsafe { padded.cast::<u8>().add(1).write(CALLS.fetch_add(1, Ordering::Relaxed) as u8) };
    };
    let mut world = SyncTest::new(world).distance(5).frames(60).run(input, fill).unwrap();
    // If something else differs, the report lists what it could not compare.
    world.get_mut::<Health>(entity).unwrap().0 = 0;
    let report = find(world, |world, _| {
        world.get_mut::<Health>(entity).unwrap().0 = CALLS.fetch_add(1, Ordering::Relaxed);
    });
    assert_named(&report, entity, "Health");
    assert!(report.uncovered.iter().any(|name| name.ends_with("Padded")), "{report}");
}

#[test]
fn another_float_result_is_named_with_its_bits() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let world = world();
    let entity = target(&world);
    let report = find(world, |world, _| {
        // A sum in another order, as threads or another float mode would give.
        let terms = [1e8f32, 1.0, -1e8, 0.25];
        let backwards = CALLS.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let sum: f32 = if backwards { terms.iter().rev().sum() } else { terms.iter().sum() };
        world.get_mut::<Velocity>(entity).unwrap().1 = sum;
    });
    assert_named(&report, entity, "Velocity");
    let phalanx::timeline::Difference::Value { offset, bytes, .. } = &report.differences[0] else {
        panic!("{report}");
    };
    assert!((4..8).contains(offset) && bytes[0] != bytes[1], "{report}");
    let field = report.field.as_ref().unwrap();
    let [phalanx::reflect::ScalarValue::F32(first), phalanx::reflect::ScalarValue::F32(second)] = field.values.unwrap()
    else {
        panic!("{report}")
    };
    assert!(field.path == "1" && first != second, "{report}");
    assert!(report.to_string().contains(&format!("field 1: {first:?} / {second:?}")), "{report}");
}

#[test]
fn a_listener_with_state_is_named() {
    let mut world = world();
    let entity = target(&world);
    let count = Arc::new(AtomicU64::new(0));
    let inside = count.clone();
    world.on_remove::<Health>(move |_, _, _| {
        inside.fetch_add(1, Ordering::Relaxed);
    });
    let report = find(world, |world, _| {
        world.get_mut::<Position>(entity).unwrap().0 = count.load(Ordering::Relaxed) as f32;
    });
    assert_named(&report, entity, "Position");
}

#[test]
fn a_static_is_named() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let world = world();
    let entity = target(&world);
    let report = find(world, |world, _| {
        world.get_mut::<Health>(entity).unwrap().0 = CALLS.fetch_add(1, Ordering::Relaxed);
    });
    assert_named(&report, entity, "Health");
}

#[test]
fn a_retained_handle_is_named() {
    let mut last: Option<Entity> = None;
    let report = find(world(), move |world, _| {
        // The handle of the entity that the last simulated frame has spawned, kept outside of the world.
        if let Some(entity) = last.filter(|entity| world.contains(*entity)) {
            world.get_mut::<Health>(entity).unwrap().0 ^= 0x8000;
        }
        last = world.iter().next_back();
    });
    assert!(report.differences[0].entity().is_some(), "{report}");
    assert!(report.differing.iter().any(|name| name.ends_with("Health")), "{report}");
}

#[test]
fn random_numbers_from_outside_are_named() {
    let world = world();
    let entity = target(&world);
    let dice = Mutex::new(Dice(7));
    let report = find(world, |world, _| {
        world.get_mut::<Velocity>(entity).unwrap().0 = dice.lock().unwrap().roll() as f32;
    });
    assert_named(&report, entity, "Velocity");
}

#[cfg(feature = "schedule")]
#[test]
fn an_unordered_system_is_named_with_its_writers() {
    use phalanx::Query;
    use phalanx_schedule::{IntoSystemConfig, Schedule};

    fn grow(mut all: Query<&mut Health>) {
        all.iter_mut().for_each(|health| health.0 = health.0.wrapping_mul(3));
    }
    fn bleed(mut all: Query<&mut Health>) {
        all.iter_mut().for_each(|health| health.0 = health.0.wrapping_add(1));
    }
    fn drift(mut all: Query<&mut Position>) {
        all.iter_mut().for_each(|position| position.0 += 1.0);
    }

    let mut world = world();
    let first = world.iter().next().unwrap();
    let build = |world: &mut World, swapped: bool| {
        let builder = Schedule::builder("frame").add(drift);
        match swapped {
            false => builder.add(grow).add(bleed.after(grow)).build(world).unwrap(),
            true => builder.add(bleed).add(grow.after(bleed)).build(world).unwrap(),
        }
    };
    let mut schedules = [build(&mut world, false), build(&mut world, true)];
    let mut calls = 0;
    let failure = SyncTest::new(world).distance(4).frames(40).run(input, |world, _| {
        calls += 1;
        schedules[usize::from(calls % 5 == 0)].run(world);
    });
    let failure = failure.unwrap_err().with_writers(&schedules[0]);
    let report = failure.desync().unwrap();
    println!("{report}");
    assert_named(report, first, "Health");
    assert_eq!(report.writers.len(), 2, "{report}");
    let text = report.to_string();
    assert!(text.contains("grow") && text.contains("bleed") && !text.contains("drift"), "{text}");
}
