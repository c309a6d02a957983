//! Entities that move to another world.

use core::alloc::Layout;
use core::ptr::NonNull;
use phalanx::{Changed, Component, ComponentDescriptor, Entity, Key, Role, RowError, World};
use phalanx_testkit::{Counted, Tally, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Enemy;
#[derive(Component)]
struct Value(Counted);
#[derive(Component)]
struct Other(Counted);
#[derive(Component, Debug, PartialEq)]
#[component(entities = "Likes::each")]
struct Likes(Vec<Entity>);
impl Likes {
    fn each(&mut self, f: &mut dyn FnMut(&mut Entity)) {
        self.0.iter_mut().for_each(f);
    }
}
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", entities = "Bond::each")]
struct Bond {
    strength: f32,
    to: Entity,
}
impl Bond {
    fn each(&mut self, f: &mut dyn FnMut(&mut Entity)) {
        f(&mut self.to);
    }
}

#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "column", entities = "Tie::each")]
struct Tie {
    strength: f32,
    to: Entity,
}
impl Tie {
    fn each(&mut self, f: &mut dyn FnMut(&mut Entity)) {
        assert!(self.strength >= 0.0, "a tie that cannot be visited");
        f(&mut self.to);
    }
}

#[test]
fn values_that_arrived_are_changed_even_if_a_visit_panics() {
    for whole in [true, false] {
        let (mut here, mut there) = (World::new(), World::new());
        let a = here.spawn_empty();
        here.insert(a, Tie { strength: if whole { 1.0 } else { -1.0 }, to: a }).unwrap();
        here.spawn(Tie { strength: -1.0, to: a });
        there.spawn(Tie { strength: 2.0, to: a });
        here.clear_trackers();
        there.clear_trackers();
        assert_eq!(there.query_filtered::<Entity, Changed<Tie>>().iter().count(), 0);
        let moved = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| match whole {
            true => here.transfer_all(&mut there).map(drop),
            false => here.entity_mut(a).unwrap().transfer(&mut there).map(drop),
        }));
        assert!(moved.is_err());
        there.validate().unwrap();
        // The tick is that of the column, so all of its values count.
        let changed: Vec<Entity> = there.query_filtered::<Entity, Changed<Tie>>().iter().collect();
        assert_eq!(changed.len(), if whole { 3 } else { 2 });
    }
}

#[test]
fn an_entity_takes_its_values_along() {
    let tally = Tally::new();
    let (mut here, mut there) = (World::new(), World::new());
    // Other ids, another order of columns.
    there.spawn((Other(tally.value(50)), Enemy));
    here.spawn((Position(0.0), Value(tally.value(0)), Other(tally.value(10))));
    let e = here.spawn((Position(1.0), Value(tally.value(1)), Other(tally.value(11))));
    let f = here.spawn((Position(2.0), Value(tally.value(2)), Other(tally.value(12))));
    let live = tally.live();
    let new = here.entity_mut(e).unwrap().transfer(&mut there).unwrap();
    here.validate().unwrap();
    there.validate().unwrap();
    assert_eq!((tally.live(), here.contains(e), here.len(), there.len()), (live, false, 2, 2));
    assert_eq!(there.get::<Position>(new), Ok(&Position(1.0)));
    assert_eq!((there.get::<Value>(new).unwrap().0.key(), there.get::<Other>(new).unwrap().0.key()), (1, 11));
    assert_eq!(here.get::<Value>(f).unwrap().0.key(), 2);
    assert!(
        here.entity_mut(e)
            .map_err(phalanx::StructuralError::from)
            .and_then(|entity| entity.transfer(&mut there))
            .is_err()
    );
    let back = there.entity_mut(new).unwrap().transfer(&mut here).unwrap();
    assert_eq!((back.index(), here.get::<Other>(back).unwrap().0.key()), (e.index(), 11));
    drop((here, there));
    tally.assert_no_leaks();
}

#[test]
fn all_entities_keep_what_they_name() {
    let tally = Tally::new();
    let (mut here, mut there) = (World::new(), World::new());
    there.spawn_batch((0..5).map(|n| Position(n as f32)));
    let gone = here.spawn_empty();
    let all: Vec<_> = (0..10).map(|n| here.spawn((Value(tally.value(n)), Position(n as f32)))).collect();
    here.despawn(gone).unwrap();
    for n in 0..10 {
        here.insert(all[n], Likes(vec![all[(n + 1) % 10], gone])).unwrap();
        if n % 2 == 0 {
            here.insert(all[n], Bond { strength: 1.0, to: all[9 - n] }).unwrap();
        }
    }
    let map = here.transfer_all(&mut there).unwrap();
    here.validate().unwrap();
    there.validate().unwrap();
    assert_eq!((here.len(), there.len(), map.len(), map.get(gone), tally.live()), (0, 15, 10, None, 10));
    for n in 0..10 {
        let new = map.get(all[n]).unwrap();
        assert_eq!(there.get::<Value>(new).unwrap().0.key(), n as u32);
        assert_eq!(there.get::<Likes>(new).unwrap().0, [map.get(all[(n + 1) % 10]).unwrap(), gone]);
        assert_eq!(there.get::<Bond>(new).ok().map(|b| b.to), (n % 2 == 0).then(|| map.get(all[9 - n]).unwrap()));
    }
    here.spawn(Enemy);
    here.validate().unwrap();
    drop((here, there));
    tally.assert_no_leaks();
}

#[test]
#[allow(unsafe_code)]
fn components_of_run_time_are_known_by_what_they_are() {
    let (mut here, mut there) = (World::new(), World::new());
    let descriptor = |name: &'static str| ComponentDescriptor {
        name: name.into(),
        kind: phalanx::layout::Kind::Table,
        layout: Layout::new::<u64>(),
        drop: None,
        clone: None,
    };
    // SAFETY: numbers can be sent and shared, and need no destructor.
    let (a, _, b_there) = unsafe {
        let b_there = there.register_component_with_descriptor(descriptor("transfer b"));
        (
            here.register_component_with_descriptor(descriptor("transfer a")),
            here.register_component_with_descriptor(descriptor("transfer b")),
            b_there,
        )
    };
    let e = here.spawn(Enemy);
    let mut value = 5_u64;
    // SAFETY: a number, as registered.
    unsafe { here.entity_mut(e).map(|mut entity| _ = entity.insert_by_id(a, NonNull::from(&mut value).cast())) }
        .unwrap();
    let new = here.entity_mut(e).unwrap().transfer(&mut there).unwrap();
    assert!(!there.entity(new).unwrap().has_by_id(b_there));
    // SAFETY: numbers can be sent and shared, and need no destructor; the value is there.
    unsafe {
        let a_there = there.register_component_with_descriptor(descriptor("transfer a"));
        assert_eq!(there.entity(new).unwrap().get_by_id(a_there).unwrap().cast::<u64>().read(), 5);
    }
    there.validate().unwrap();
}

fn key(entity: Entity, role: u32) -> Key {
    Key::main(entity).with_role(Role(role))
}

/// What there is of an entity's rows, in the order of their making: component by name, role, values, who is liked.
type Told = Vec<(Option<&'static str>, u32, Option<u32>, Option<u32>, Option<Vec<Entity>>, Option<Entity>)>;

fn told(world: &World, entity: Entity) -> Told {
    let rows = world.rows(entity).unwrap().map(|(key, row)| {
        assert_eq!((world.row(key).map(|row| row.id()), world.row(row).map(|row| row.key())), (Ok(row), Ok(key)));
        (
            key.component.map(|id| world.components().info(id).name()),
            key.role.0,
            world.row(row).and_then(|row| row.get::<Value>()).ok().map(|v| v.0.key()),
            world.row(row).and_then(|row| row.get::<Other>()).ok().map(|v| v.0.key()),
            world.row(row).and_then(|row| row.get::<Likes>()).ok().map(|likes| likes.0.clone()),
            world.row(row).and_then(|row| row.get::<Bond>()).ok().map(|bond| bond.to),
        )
    });
    rows.collect()
}

/// Adds rows to an entity: two in one table under one role, one that was moved, one that was removed and added again.
fn extend(world: &mut World, tally: &Tally, e: Entity, friend: Entity) {
    let about = [world.register_component::<Other>(), world.register_component::<Enemy>()];
    let value = |n| Value(tally.value(n));
    world.add_row(key(e, 1), (value(1), Likes(vec![e, friend]))).unwrap();
    world.add_row(key(e, 2), ()).unwrap();
    world.add_row(key(e, 1).with_component(about[0]), (value(2), Other(tally.value(2)))).unwrap();
    world.add_row(key(e, 1).with_component(about[1]), (value(3), Other(tally.value(3)))).unwrap();
    world.add_row(Key::main(e).with_component(about[0]), Bond { strength: 1.0, to: e }).unwrap();
    world.remove_row(key(e, 1)).unwrap();
    world.add_row(key(e, 1), (value(4), Likes(vec![friend, e]))).unwrap();
    world.row_mut(key(e, 2)).unwrap().insert(Enemy);
}

#[test]
fn an_entity_takes_its_rows_along() {
    let tally = Tally::new();
    let (mut here, mut there) = (World::new(), World::new());
    // Other ids there, and rows in the same tables.
    there.register_component::<Enemy>();
    let native = there.spawn(Position(0.0));
    extend(&mut there, &tally, native, native);
    let [by, e] = [0, 1].map(|n| here.spawn((Value(tally.value(n)), Other(tally.value(n)))));
    extend(&mut here, &tally, by, e);
    extend(&mut here, &tally, e, by);
    let (live, rows) = (tally.live(), told(&here, e));
    let bystanders = (told(&here, by), told(&there, native));
    let handles: Vec<_> = here.rows(e).unwrap().collect();
    let new = here.entity_mut(e).unwrap().transfer(&mut there).unwrap();
    here.validate().unwrap();
    there.validate().unwrap();
    assert_eq!((here.row_count(), there.row_count(), tally.live()), (6, 12, live));
    assert_eq!((told(&here, by), told(&there, native)), bystanders);
    let renamed = |rows: Told, new: Entity| -> Told {
        let of = |entity: Entity| if entity == e { new } else { entity };
        let rename = |likes: Option<Vec<Entity>>| likes.map(|all| all.into_iter().map(of).collect());
        rows.into_iter().map(|(c, r, v, o, likes, bond)| (c, r, v, o, rename(likes), bond.map(of))).collect()
    };
    assert_eq!(told(&there, new), renamed(rows.clone(), new));
    // Nothing of it is left here.
    assert!(handles.iter().all(|(key, row)| here.row(*row).is_err() && here.row(*key).is_err()));
    assert!(matches!(here.row(key(e, 1)), Err(RowError::NoSuchEntity(_))));
    let heir = here.spawn(Enemy);
    assert_eq!(here.rows(heir).unwrap().count(), 1);
    // They can be changed and ended there.
    there.remove_row(key(new, 2)).unwrap();
    there.add_row(key(new, 2), Enemy).unwrap();
    there.validate().unwrap();
    there.despawn(new).unwrap();
    there.validate().unwrap();
    drop((here, there));
    tally.assert_no_leaks();
}

#[test]
fn all_entities_take_their_rows_along() {
    let tally = Tally::new();
    let (mut here, mut there) = (World::new(), World::new());
    there.register_component::<Enemy>();
    let native = there.spawn(Position(0.0));
    extend(&mut there, &tally, native, native);
    let all: Vec<_> = (0..7).map(|n| here.spawn((Value(tally.value(n)), Position(0.0)))).collect();
    for n in [5, 1, 3] {
        extend(&mut here, &tally, all[n], all[n + 1]);
    }
    here.despawn(all[1]).unwrap();
    let (live, rows) = (tally.live(), [3, 5].map(|n| told(&here, all[n])));
    let order: Vec<_> = here.query::<(Key, &Value, &Other)>().iter().map(|(key, v, _)| (key, v.0.key())).collect();
    let before = told(&there, native);
    let map = here.transfer_all(&mut there).unwrap();
    here.validate().unwrap();
    there.validate().unwrap();
    assert_eq!((here.row_count(), there.row_count(), tally.live()), (0, 6 + 6 + 10, live));
    assert_eq!((map.len(), told(&there, native)), (6, before));
    for (mut rows, n) in rows.into_iter().zip([3, 5]) {
        for row in &mut rows {
            row.4.iter_mut().flatten().chain(&mut row.5).for_each(|e| *e = map.get(*e).unwrap());
        }
        assert_eq!(told(&there, map.get(all[n]).unwrap()), rows);
    }
    let arrived = there.query::<(Key, &Value, &Other)>().iter().filter(|(key, ..)| key.entity != native);
    let order = order.into_iter().map(|(key, n)| (map.get(key.entity).unwrap(), n));
    assert!(arrived.map(|(key, v, _)| (key.entity, v.0.key())).eq(order), "rows of a table keep their order");
    let again = here.spawn(Enemy);
    extend(&mut here, &tally, again, again);
    here.validate().unwrap();
    there.clear();
    there.validate().unwrap();
    drop((here, there));
    tally.assert_no_leaks();
}

#[test]
fn rows_that_find_no_memory_stay_with_their_entity() {
    let tally = Tally::new();
    let setup = || {
        let (mut here, mut there) = (World::new(), World::new());
        let all = here.spawn_batch((0..5).map(|_| Enemy));
        for e in &all {
            (1..30).for_each(|n| _ = here.add_row(key(*e, n), Value(tally.value(n))).unwrap());
        }
        let native = there.spawn(Enemy);
        (1..30).for_each(|n| _ = there.add_row(key(native, n), Value(tally.value(n))).unwrap());
        (here, there, all)
    };
    let check = |here: &World, there: &World, moved: usize| {
        here.validate().unwrap();
        there.validate().unwrap();
        assert_eq!((here.len(), here.row_count()), (5 - moved, (5 - moved) * 30));
        assert_eq!((there.len(), there.row_count()), (1 + moved, (1 + moved) * 30));
    };
    let one = for_every_failing_allocation(
        setup,
        |(here, there, all)| here.entity_mut(all[3]).unwrap().transfer(there),
        |(here, there, _), outcome| check(here, there, usize::from(outcome.is_ok())),
    );
    let all = for_every_failing_allocation(
        setup,
        |(here, there, _)| here.transfer_all(there),
        |(here, there, _), outcome| check(here, there, if outcome.is_ok() { 5 } else { 0 }),
    );
    assert!(one > 8 && all > 8, "{one} {all}");
    // Nothing is known beforehand of components, there.
    let cold = || {
        let mut here = World::new();
        let e = here.spawn(Enemy);
        extend(&mut here, &tally, e, e);
        (here, World::new(), e)
    };
    let check = |here: &World, there: &World, moved: bool| {
        here.validate().unwrap();
        there.validate().unwrap();
        assert_eq!((here.row_count(), there.row_count()), if moved { (0, 6) } else { (6, 0) });
    };
    let one = for_every_failing_allocation(
        cold,
        |(here, there, e)| here.entity_mut(*e).unwrap().transfer(there),
        |(here, there, _), outcome| check(here, there, outcome.is_ok()),
    );
    let all = for_every_failing_allocation(
        cold,
        |(here, there, _)| here.transfer_all(there),
        |(here, there, _), outcome| check(here, there, outcome.is_ok()),
    );
    assert!(one > 30 && all > 30, "{one} {all}");
    tally.assert_no_leaks();
}

#[test]
fn a_move_without_memory_does_not_happen() {
    let setup = |tally: &Tally| {
        let (mut here, mut there) = (World::new(), World::new());
        let all = here.spawn_batch((0..10).map(|n| (Value(tally.value(n)), Enemy)));
        there.spawn_batch((0..64).map(|n| (Enemy, Value(tally.value(n)))));
        (here, there, all)
    };
    let check = |here: &mut World, there: &mut World, moved: usize| {
        here.validate().unwrap();
        there.validate().unwrap();
        assert_eq!((here.len(), there.len()), (10 - moved, 64 + moved));
        assert_eq!(there.query_mut::<&Value>().iter().filter(|v| v.0.key() < 64).count(), 64 + moved);
    };
    let tally = Tally::new();
    let one = for_every_failing_allocation(
        || setup(&tally),
        |(here, there, all)| here.entity_mut(all[3]).unwrap().transfer(there),
        |(here, there, _), outcome| check(here, there, usize::from(outcome.is_ok())),
    );
    let all = for_every_failing_allocation(
        || setup(&tally),
        |(here, there, _)| here.transfer_all(there),
        |(here, there, _), outcome| check(here, there, if outcome.is_ok() { 10 } else { 0 }),
    );
    assert!(one > 4 && all > 4);
    tally.assert_no_leaks();
}
