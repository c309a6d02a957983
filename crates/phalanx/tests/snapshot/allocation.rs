//! Failing allocations: each allocation of a save or a load fails in turn.
//!
//! Values here take no memory of their own: what a value's own deserializer does without memory is its affair.

use crate::kit::*;
use phalanx::group::{Observed, Owned};
use phalanx::snapshot::{Difference, Part, Registry, diff, inspect};
use phalanx::{Component, Key, Removal, Role, Without, World};
use phalanx_testkit::AllocationSweep;
use serde::{Deserialize, Serialize};

#[derive(Component, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
struct Level(u8, bool);
#[derive(Component, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[component(layout = "pool")]
struct Weight(u32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(transparent)]
struct OldLevel(u32);
#[derive(Component)]
struct Secret;
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Weather(u32, f32);

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap();
    registry.plain::<Velocity>("velocity").unwrap();
    registry.tag("enemy", || Enemy).unwrap();
    registry.plain::<Burning>("burning").unwrap();
    registry.tag("marked", || Marked).unwrap();
    registry.plain::<Health>("health").unwrap();
    registry.tag("seen", || Seen).unwrap();
    registry.plain::<Armor>("armor").unwrap();
    registry.plain::<Breath>("breath").unwrap();
    registry.tag("alert", || Alert).unwrap();
    registry.serde::<Level>("level").unwrap().version(1).migrate_plain(0, |OldLevel(n)| Level(n as u8, true));
    registry.serde::<Weight>("weight").unwrap();
    registry.plain_resource::<Clock>("clock").unwrap();
    registry.serde_resource::<Weather>("weather").unwrap();
    registry.skip_unregistered();
    registry
}

/// Some of everything that takes memory to write or to read.
fn scene() -> World {
    let mut world = World::new();
    world.pool_mut::<Burning>().set_removal(Removal::Deferred).unwrap();
    world.create_group::<Owned<Weight>>().unwrap();
    world.create_group::<(Observed<(Weight, Marked)>, Without<Burning>)>().unwrap();
    let mut list = Vec::new();
    for i in 0..6_u8 {
        let position = Position { x: f32::from(i), y: 1.0 };
        list.push(world.spawn((position, Burning(i.into()), Armor(i.into()), Level(i, true))));
        list.push(world.spawn((Velocity { x: 1.0, y: 2 }, Health(7), Weight(i.into()), Marked, Breath(1))));
        list.push(world.spawn((Enemy, Seen, Alert)));
    }
    world.spawn((Secret, Enemy, Seen));
    world.insert(list[1], Secret).unwrap();
    world.remove::<Burning>(list[3]).unwrap();
    world.despawn(list[5]).unwrap();
    for owner in &list[..3] {
        world.add_row(Key::main(*owner).with_role(Role(1)), (Armor(1), Weight(3))).unwrap();
        world.add_row(Key::main(*owner).with_role(Role(2)), Position { x: 0.0, y: 0.0 }).unwrap();
    }
    world.clear_trackers();
    world.get_mut::<Armor>(list[0]).unwrap().0 += 1;
    world.insert_resource(Clock(5));
    world.insert_resource(Weather(1, 2.0));
    world.insert_resource("not registered");
    world.reserve_entity();
    world
}

fn saved(world: &World) -> Vec<u8> {
    let mut file = Vec::new();
    registry().save(world, &mut file).unwrap();
    file
}

/// How many allocations can fail, one by one and all from one on.
#[track_caller]
fn sweep<S, T, E: std::fmt::Debug>(
    mut setup: impl FnMut() -> S,
    mut operation: impl FnMut(&mut S) -> Result<T, E>,
    mut check: impl FnMut(&mut S, &Result<T, E>),
) -> u64 {
    let sweeps = [AllocationSweep::new(), AllocationSweep::new().persistent()];
    sweeps.map(|sweep| sweep.run(&mut setup, &mut operation, &mut check))[0]
}

#[test]
fn h60_every_failing_allocation_of_a_save_is_an_error() {
    let (world, registry) = (scene(), registry());
    let part = Part::of(world.iter().step_by(2)).with_resources();
    let named = Part::all().components(["position", "weight"]);
    let mut file = vec![0; 1 << 16];
    let count = sweep(|| (), |()| registry.save(&world, &mut file[..]), |(), _| {});
    assert!(count > 40, "{count} allocations");
    sweep(|| (), |()| registry.save_part(&world, &part, &mut file[..]), |(), _| {});
    sweep(|| (), |()| registry.save_part(&world, &named, &mut file[..]), |(), _| {});
    sweep(|| (), |()| registry.checksum(&world), |(), _| {});
    let other = scene();
    sweep(|| (), |()| diff(&registry, &world, &other), |(), _| {});
}

#[test]
fn h60_every_failing_allocation_of_a_load_is_an_error() {
    let registry = registry();
    let file = saved(&scene());
    let count = sweep(|| (), |()| registry.load(&*file), |(), _| {});
    assert!(count > 100, "{count} allocations");
    sweep(|| (), |()| inspect(&*file), |(), _| {});
    // Of an older version.
    let mut old = Registry::new();
    old.plain::<OldLevel>("level").unwrap();
    let mut world = World::new();
    (0..5).for_each(|i| drop(world.spawn(OldLevel(i))));
    let mut file = Vec::new();
    old.save(&world, &mut file).unwrap();
    sweep(|| (), |()| registry.load(&*file), |(), _| {});
}

#[test]
fn h65_a_merge_without_memory_leaves_the_world_as_it_was() {
    let registry = registry();
    let file = saved(&scene());
    let targets: [fn() -> World; 2] = [World::new, || {
        let mut world = scene();
        // What is reserved may come alive: it is so already.
        world.spawn_empty();
        world.on_spawn(|_, _, _| {});
        world
    }];
    for target in targets {
        let count = sweep(
            target,
            |world| registry.merge(world, &*file),
            |world, outcome| {
                world.validate().unwrap();
                if outcome.is_err() {
                    // Components, tables and storages may be registered that no entity has.
                    let found = diff(&registry, world, &target());
                    assert!(matches!(found, Ok(None | Some(Difference::Order))), "{found:?}");
                }
                registry.merge(world, &*file).unwrap();
                world.validate().unwrap();
            },
        );
        assert!(count > 150, "{count} allocations");
    }
}
