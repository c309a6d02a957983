use super::{delta, try_apply};
use crate::group::{Observed, Owned};
use crate::layout::Kind;
use crate::links::{OnDespawn, RelationKind};
use crate::relation::{ChildOf, Relation};
use crate::signature::compared;
use crate::timeline::DeltaError;
use crate::{Component, ComponentDescriptor, Entity, Key, Plain as _, Removal, Role, Signature, World};
use core::alloc::Layout;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Row(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
struct Sparse(u16);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", plain)]
struct Line(u8);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", track = "row", plain)]
struct Owner(u32);

/// A relation in which rings are despawned as a whole.
enum Leads {}

impl Relation for Leads {
    const KIND: RelationKind = RelationKind::OneToMany;
    const ON_DESPAWN: OnDespawn = OnDespawn::Despawn;
}

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Target(Entity);
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Pooled([Entity; 2]);
#[derive(Component, Clone, Copy)]
#[component(layout = "linear", track = "row", plain)]
struct Lined(Entity, [bool; 4], char);
#[derive(phalanx_store::Soa, Component, Clone, Copy)]
#[component(layout = "soa", plain)]
struct Lanes {
    on: bool,
    at: Entity,
}

/// The bytes of a value, which may be no value.
fn bytes_of<T: crate::Plain>(value: &T) -> &[u8] {
    // SAFETY: plain data has no padding. The value is not looked at but by its bytes.
    unsafe { core::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) }
}

/// Entities of extra rows, of no index, flags that are neither true nor false: no bytes make them.
#[test]
fn no_bytes_make_a_value_that_cannot_be() {
    let mut world = World::new();
    world.pool_mut::<Pooled>().set_removal(Removal::Deferred).unwrap();
    let all: Vec<Entity> = (0..4).map(|_| world.spawn_empty()).collect();
    let pooled = |n: usize| Pooled([all[n], all[3 - n]]);
    let lined = |n: usize| Lined(all[n], [true, false, true, n == 0], 'z');
    world.insert(all[0], (Target(all[1]), lined(0), pooled(1))).unwrap();
    world.insert(all[2], (pooled(2), Lanes { on: false, at: all[2] })).unwrap();
    let before = world.checkpoint().unwrap();
    world.insert(all[1], (Target(all[0]), lined(1))).unwrap();
    world.insert(all[2], (Target(all[3]), lined(2), Lanes { on: true, at: all[0] })).unwrap();
    world.insert(all[3], (Lanes { on: true, at: all[1] }, pooled(3))).unwrap();
    // A hole, whose bytes are zeros.
    world.remove::<Pooled>(all[0]).unwrap();
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    let (mut refused, mut applied) = (0, 0);
    for at in 0..bytes.len() {
        for value in [0, 1, 2, 3, 0x10, 0x11, 0x3f, 0x40, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xd7, 0xd8, 0xff] {
            let mut forged = bytes.clone();
            forged[at] = value;
            world.rollback(&before).unwrap();
            match try_apply(&mut world, &forged, false, None) {
                Ok(()) => applied += 1,
                Err(DeltaError::InvalidValue { .. }) => refused += 1,
                Err(_) => {}
            }
            world.validate().unwrap();
            world.query::<&Target>().for_each(|target| assert!(Target::is_valid(bytes_of(target))));
            world.query::<&Pooled>().for_each(|pooled| assert!(Pooled::is_valid(bytes_of(pooled))));
            world.query::<&Lined>().for_each(|lined| assert!(Lined::is_valid(bytes_of(lined))));
            for lanes in world.query::<&Lanes>().chunks() {
                lanes.on.iter().for_each(|on| assert!(bool::is_valid(bytes_of(on))));
                lanes.at.iter().for_each(|at| assert!(Entity::is_valid(bytes_of(at))));
            }
        }
    }
    assert!(refused > 300 && applied > 1000, "{refused} {applied}");
    world.rollback(&before).unwrap();
    try_apply(&mut world, &bytes, true, None).unwrap();
    world.validate().unwrap();
    assert!(!world.has::<Pooled>(all[0]) && world.get::<Target>(all[2]).is_ok_and(|target| target.0 == all[3]));
}

/// Changed bytes with corrected checksums are rejected because of their content.
#[test]
fn no_bytes_make_a_world_that_cannot_be() {
    let mut world = World::new();
    world.pool_mut::<Sparse>().set_removal(Removal::Deferred).unwrap();
    let all: Vec<_> = (0..20).map(|n| world.spawn((Row(n), Sparse(n as u16), Line(n as u8)))).collect();
    world.despawn(all[3]).unwrap();
    let before = world.checkpoint().unwrap();
    for n in [1, 5, 6, 19] {
        world.despawn(all[n]).unwrap();
    }
    world.spawn(Row(7));
    world.remove::<Line>(all[8]).unwrap();
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    try_forged(&mut world, &before, &bytes, 12);
}

/// The same with groups, extra rows, marks and reservations.
#[test]
fn no_bytes_make_groups_rows_or_reservations_that_cannot_be() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..6).map(|n| world.spawn((Owner(n), Line(n as u8)))).collect();
    world.create_group::<Owned<Owner>>().unwrap();
    let row = |n: usize, role| Key::main(all[n]).with_role(Role(role));
    world.add_row(row(1, 1), (Row(1), Line(2))).unwrap();
    world.add_row(row(1, 2), Owner(7)).unwrap();
    world.despawn(all[5]).unwrap();
    let before = world.checkpoint().unwrap();
    world.clear_trackers();
    world.create_group::<Observed<(Owner, Line)>>().unwrap();
    world.add_row(row(1, 3), Row(3)).unwrap();
    world.add_row(row(2, 1), (Owner(1), Line(3))).unwrap();
    world.get_mut::<Owner>(all[2]).unwrap().0 = 9;
    let _reserved = [(); 3].map(|()| world.reserve_entity());
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    try_forged(&mut world, &before, &bytes, 12);
}

/// The same with links of relations.
#[test]
fn h97_no_bytes_of_a_delta_make_links_that_cannot_be() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..8).map(|n| world.spawn((Row(n), Owner(n), Line(n as u8)))).collect();
    let mut tree = world.relations_mut::<ChildOf>();
    for (child, parent) in [(1, 0), (2, 0), (3, 2), (4, 2)] {
        tree.link(all[child], all[parent]).unwrap();
    }
    world.relations_mut::<Leads>().link(all[5], all[6]).unwrap();
    let before = world.checkpoint().unwrap();
    let mut tree = world.relations_mut::<ChildOf>();
    tree.link(all[0], all[7]).unwrap();
    tree.link(all[3], all[0]).unwrap();
    tree.unlink(all[1]).unwrap();
    let mut ring = world.relations_mut::<Leads>();
    ring.link(all[6], all[7]).unwrap();
    ring.link(all[7], all[5]).unwrap();
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    try_forged(&mut world, &before, &bytes, 2);
    assert_eq!(world.relations::<ChildOf>().depth(all[4]), 3);
}

/// Links change without telling groups, so that no group may require or exclude them.
#[test]
fn h97_no_bytes_of_a_delta_make_groups_of_links() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..4).map(|n| world.spawn((Owner(n), Line(n as u8)))).collect();
    world.relations_mut::<ChildOf>().link(all[1], all[0]).unwrap();
    world.entity_mut(all[2]).unwrap().set_name("sun").unwrap();
    let before = world.checkpoint().unwrap();
    world.create_group::<Observed<(Owner, Line)>>().unwrap();
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    let (mut refused, mut applied) = (0, 0);
    for at in 0..bytes.len() {
        for n in 0..8 {
            let mut forged = bytes.clone();
            forged[at] = n;
            world.rollback(&before).unwrap();
            match try_apply(&mut world, &forged, false, None) {
                Ok(()) => {
                    let _ = world.relations_mut::<ChildOf>().unlink(all[1]);
                    world.validate().unwrap();
                    applied += 1;
                }
                Err(error) => refused += usize::from(error.to_string().contains("a group of links or names")),
            }
        }
    }
    assert!(refused >= 2 && applied > 0, "{refused} were refused, {applied} were not");
}

/// The same with names.
#[test]
fn h100_no_bytes_of_a_delta_make_names_that_cannot_be() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..6).map(|n| world.spawn((Row(n), Owner(n), Line(n as u8)))).collect();
    for (n, entity) in all.iter().enumerate() {
        world.entity_mut(*entity).unwrap().set_name(["aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff"][n]).unwrap();
    }
    world.relations_mut::<ChildOf>().link(all[1], all[0]).unwrap();
    let before = world.checkpoint().unwrap();
    world.entity_mut(all[1]).unwrap().set_name("cccc").unwrap();
    world.relations_mut::<ChildOf>().link(all[3], all[0]).unwrap();
    world.entity_mut(all[5]).unwrap().remove_name().unwrap();
    world.entity_mut(all[4]).unwrap().set_name("gggg").unwrap();
    let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
    try_forged(&mut world, &before, &bytes, 2);
    assert_eq!(world.find("aaaa/cccc"), Some(all[1]));
    // The name of one becomes that of its sibling.
    let mut forged = bytes.clone();
    let at = forged.windows(4).position(|text| text == b"gggg").unwrap();
    forged[at..at + 4].fill(b'c');
    world.rollback(&before).unwrap();
    let error = try_apply(&mut world, &forged, false, None).unwrap_err();
    assert!(error.to_string().contains("the same name"), "{error}");
    forged[at + 1] = b'/';
    assert!(try_apply(&mut world, &forged, false, None).is_err());
    assert_eq!(world.find("eeee"), Some(all[4]));
}

/// Applies the bytes with changes: each byte is replaced by another, `times` times.
fn try_forged(world: &mut World, before: &super::Checkpoint, bytes: &[u8], times: usize) {
    let (mut random, mut refused) = (1u64, 0);
    for at in 0..bytes.len() * times {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut forged = bytes.to_vec();
        let value = [0, 1, 2, 0x7f, 0x80, 0xff, 0x40, (random >> 33) as u8];
        forged[at / times] = value[(random >> 50) as usize % 8];
        if at % 3 == 0 {
            let other = (random >> 20) as usize % bytes.len();
            forged[other] = forged[other].wrapping_add(1);
        }
        world.rollback(before).unwrap();
        match try_apply(world, &forged, false, None) {
            Ok(()) => {
                world.spawn((Row(1), Owner(1), Line(1)));
                world.despawn_batch(world.iter().collect::<Vec<_>>().into_iter().take(5))
            }
            Err(_) => {
                refused += 1;
                0
            }
        };
        world.validate().unwrap();
    }
    assert!(refused * 12 > bytes.len() * times, "{refused} were refused");
    world.rollback(before).unwrap();
    try_apply(world, bytes, true, None).unwrap();
    world.validate().unwrap();
}

/// Returns a world with `count` tables, two of which have rows.
fn of_tables(count: u32) -> World {
    let mut world = World::new();
    world.spawn(Row(1));
    let ids = [(); 16].map(|()| {
        let (name, layout) = (format!("number {}", world.components().len()).into(), Layout::new::<u32>());
        let descriptor = ComponentDescriptor { name, layout, kind: Kind::Table, drop: None, clone: None };
        // SAFETY: values are numbers, which need no end.
        unsafe { world.register_component_with_descriptor(descriptor) }
    });
    for n in 1..=count - 2 {
        let chosen = ids.iter().enumerate().filter(|(bit, _)| n >> bit & 1 != 0).map(|(_, id)| *id);
        world.storage.table_of(&Signature::of(chosen)).unwrap();
    }
    assert_eq!(world.storage.tables.len(), count as usize);
    world
}

#[test]
fn signatures_are_compared_a_few_times_for_each_table() {
    for count in [500, 4000] {
        let mut world = of_tables(count);
        let before = world.checkpoint().unwrap();
        world.spawn(Row(2));
        let bytes = delta(&before, &world.checkpoint().unwrap()).unwrap();
        world.rollback(&before).unwrap();
        let compared = compared::during(|| world.apply_delta(&bytes).unwrap());
        assert!(compared < 8 * u64::from(count), "{compared} comparisons for {count} tables");
        world.validate().unwrap();
    }
}
