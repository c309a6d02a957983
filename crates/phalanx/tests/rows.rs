//! Rows by key and role: who is where, what is found, what ends when.

mod row_model;

use phalanx::query::{AllRows, ExtraRows, MainRows, QueryState};
use phalanx::{Component, ComponentId, Entity, Has, Key, Role, Row, RowError, With, Without, World};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, for_every_failing_allocation, measure};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Item(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Weight(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Cursed;
#[derive(Component, Debug)]
struct Value(Counted);
#[derive(phalanx::store::Soa, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
struct Spin {
    axis: u8,
    speed: f64,
}
impl Component for Spin {
    type Layout = phalanx::layout::Soa;
}
#[derive(Component, Debug)]
struct Other(#[allow(dead_code)] Counted);

const LEFT: Role = Role(1);
const RIGHT: Role = Role(2);
const BACK: Role = Role(3);

fn key(entity: Entity, role: Role) -> Key {
    Key::main(entity).with_role(role)
}

#[test]
fn an_entity_has_rows_under_keys() {
    let mut world = World::new();
    let e = world.spawn(Item(0));
    let left = world.extend(key(e, LEFT), (Item(1), Weight(1.0))).unwrap();
    let right = world.extend(key(e, RIGHT), Item(2)).unwrap();
    assert_eq!(world.get::<Item>(e), Ok(&Item(0)));
    assert_eq!(world.get_key::<Item>(Key::main(e)), Ok(&Item(0)));
    assert_eq!(world.get_key::<Item>(key(e, LEFT)), Ok(&Item(1)));
    assert_eq!(world.get_row::<Item>(right), Ok(&Item(2)));
    world.get_key_mut::<Item>(key(e, LEFT)).unwrap().0 = 11;
    world.get_row_mut::<Item>(right).unwrap().0 = 22;
    assert_eq!((world.get_row::<Item>(left), world.get_row::<Item>(right)), (Ok(&Item(11)), Ok(&Item(22))));
    assert_eq!((world.len(), world.row_count()), (1, 3));
    assert!(world.iter().eq([e]));
    assert!(!world.has::<Weight>(e), "the main row alone is asked");
    assert_eq!((world.row(key(e, LEFT)), world.key_of(left)), (Ok(left), Ok(key(e, LEFT))));
    assert_eq!(world.key_of(world.row(Key::main(e)).unwrap()), Ok(Key::main(e)));
    let names: Vec<Key> = world.rows(e).unwrap().map(|(key, _)| key).collect();
    assert_eq!(names, [Key::main(e), key(e, LEFT), key(e, RIGHT)]);
    assert!(world.rows(e).unwrap().all(|(key, row)| world.row(key) == Ok(row)));
    world.validate().unwrap();
}

#[test]
fn a_spawned_key_keeps_its_component_and_its_role() {
    let mut world = World::new();
    let about = world.register::<Weight>();
    let made = world.spawn_keyed(about, LEFT, (Item(7), Cursed));
    assert_eq!((made.component, made.role), (Some(about), LEFT));
    assert_eq!(world.get_key::<Item>(made), Ok(&Item(7)));
    assert_eq!(world.components_of(made.entity).unwrap().count(), 0, "the main row is empty");
    let plain = world.spawn_keyed(None, Role::NONE, Item(8));
    assert!(plain.is_main());
    assert_eq!(world.get::<Item>(plain.entity), Ok(&Item(8)));
    assert_eq!((world.len(), world.row_count()), (2, 3));
    // Component and role are parts of the name, each by itself.
    let keys = [key(made.entity, LEFT), Key::main(made.entity).with_component(about)];
    assert_eq!(keys.map(|key| world.contains_key(key)), [false, false]);
    keys.iter().for_each(|key| _ = world.extend(*key, Cursed).unwrap());
    assert_eq!(world.rows(made.entity).unwrap().count(), 4);
    world.validate().unwrap();
}

#[test]
fn errors_name_the_key() {
    let mut world = World::new();
    let [e, dead] = [world.spawn_empty(), world.spawn_empty()];
    world.despawn(dead).unwrap();
    let row = world.extend(key(e, LEFT), Item(1)).unwrap();
    let exists = RowError::Exists { key: key(e, LEFT) };
    assert_eq!(world.extend(key(e, LEFT), Item(2)), Err(exists));
    assert_eq!(exists.to_string(), "the row 0v0 role 1 exists already");
    assert_eq!(world.extend(Key::main(e), Item(2)), Err(RowError::Exists { key: Key::main(e) }));
    assert!(matches!(world.extend(key(dead, LEFT), Item(2)), Err(RowError::NoSuchEntity(_))));
    assert_eq!(world.get_key::<Item>(key(e, RIGHT)), Err(RowError::NoSuchRow { key: key(e, RIGHT) }));
    let missing = world.get_row::<Weight>(row).unwrap_err();
    assert!(matches!(missing, RowError::MissingComponent { key: k, .. } if k == key(e, LEFT)));
    assert!(missing.to_string().starts_with("the row 0v0 role 1 has no "), "{missing}");
    assert_eq!(world.get_row_mut::<Weight>(row).unwrap_err(), missing);
    assert_eq!(world.take_row_components::<Weight>(row).unwrap_err(), missing);
    assert_eq!(world.delete_row(Key::main(e)), Err(RowError::MainRow { entity: e }));
    assert_eq!(world.delete_row(world.row(Key::main(e)).unwrap()), Err(RowError::MainRow { entity: e }));
    for unknown in [0, 1000, u32::MAX].map(ComponentId::from_index) {
        let key = Key::main(e).with_component(unknown);
        assert_eq!(world.extend(key, Item(2)), Err(RowError::NoSuchComponent { component: unknown }));
        assert_eq!(world.row(key), Err(RowError::NoSuchRow { key }));
        let spawned = world.try_spawn_keyed(unknown, LEFT, Item(2));
        assert_eq!(spawned, Err(RowError::NoSuchComponent { component: unknown }));
    }
    assert!(matches!(world.try_extend(key(e, BACK), (Item(1), Item(2))), Err(RowError::Duplicate(_))));
    assert!(matches!(world.try_update(row, (Item(1), Item(2))), Err(RowError::Duplicate(_))));
    assert_eq!((world.len(), world.row_count()), (1, 2));
    world.validate().unwrap();
}

#[test]
fn rows_of_one_entity_in_one_table_are_despawned_together() {
    let mut world = World::new();
    let [a, b] = [world.spawn(Item(0)), world.spawn(Item(1))];
    // a's first row, then b's, then two of a: closing the first swaps in a row of the same entity.
    for (entity, role) in [(a, LEFT), (b, LEFT), (a, RIGHT), (a, BACK)] {
        world.extend(key(entity, role), Item(10 * entity.index() + role.0)).unwrap();
    }
    world.despawn(a).unwrap();
    world.validate().unwrap();
    assert_eq!((world.len(), world.row_count()), (1, 2));
    assert_eq!(world.get_key::<Item>(key(b, LEFT)), Ok(&Item(11)));
    let left: Vec<(Key, Item)> = world.query::<(Key, &Item)>().iter().map(|(key, item)| (key, *item)).collect();
    assert_eq!(left, [(Key::main(b), Item(1)), (key(b, LEFT), Item(11))]);
}

#[test]
fn the_last_row_takes_the_place_of_one_that_ends() {
    let mut world = World::new();
    let e = world.spawn_empty();
    let rows = [LEFT, RIGHT, BACK].map(|role| world.extend(key(e, role), Item(role.0)).unwrap());
    world.delete_row(key(e, LEFT)).unwrap();
    let order: Vec<Row> = world.query_filtered::<Row, ExtraRows>().iter().collect();
    assert_eq!(order, [rows[2], rows[1]]);
    let named: Vec<Row> = world.rows(e).unwrap().skip(1).map(|(_, row)| row).collect();
    assert_eq!(named, [rows[1], rows[2]], "the order of making stays");
    world.validate().unwrap();
    world.delete_row(rows[2]).unwrap();
    world.extend(key(e, LEFT), Item(9)).unwrap();
    let roles: Vec<Role> = world.rows(e).unwrap().map(|(key, _)| key.role).collect();
    assert_eq!(roles, [Role::NONE, RIGHT, LEFT]);
    world.validate().unwrap();
}

#[test]
fn handles_of_rows_go_stale_alone_and_keys_with_their_entity() {
    let mut world = World::new();
    let e = world.spawn_empty();
    let [first, other] = [LEFT, RIGHT].map(|role| world.extend(key(e, role), Item(0)).unwrap());
    world.delete_row(first).unwrap();
    assert_eq!(world.get_row::<Item>(first), Err(RowError::Stale { row: first }));
    assert_eq!(world.delete_row(first), Err(RowError::Stale { row: first }));
    assert_eq!(world.update(first, Item(1)), Err(RowError::Stale { row: first }));
    assert!(world.contains_row(other) && world.contains(e));
    // The same slot, as a row, then as an entity: the handle stays stale.
    let again = world.extend(key(e, LEFT), Item(5)).unwrap();
    assert!(again != first && !world.contains_row(first));
    assert_eq!(world.get_key::<Item>(key(e, LEFT)), Ok(&Item(5)), "a key names whatever has the name");
    world.delete_row(again).unwrap();
    let heir = world.spawn(Item(6));
    assert!(!world.contains_row(again) && world.get_row::<Item>(again).is_err());
    world.despawn(heir).unwrap();
    world.despawn(e).unwrap();
    assert!(!world.contains_row(other));
    let next = world.spawn_empty();
    assert!(matches!(world.row(key(e, RIGHT)), Err(RowError::NoSuchEntity(_))));
    world.extend(key(next, RIGHT), Item(1)).unwrap();
    assert!(!world.contains_key(key(e, RIGHT)));
    world.clear();
    assert!(!world.contains_key(key(next, RIGHT)));
    assert_eq!((world.len(), world.row_count()), (0, 0));
    let fresh = world.spawn_empty();
    assert_eq!(world.rows(fresh).unwrap().count(), 1, "nothing is left of whoever had the index");
    world.validate().unwrap();
}

#[test]
fn rows_change_like_entities() {
    let tally = Tally::new();
    let mut world = World::new();
    let e = world.spawn(Value(tally.value(0)));
    let row = world.extend(key(e, LEFT), Value(tally.value(1))).unwrap();
    world.update(row, (Value(tally.value(2)), Weight(1.0))).unwrap();
    world.update(key(e, LEFT), Weight(2.0)).unwrap();
    assert_eq!((tally.live(), world.get_row::<Value>(row).unwrap().0.key()), (2, 2));
    assert_eq!(world.get_key::<Weight>(key(e, LEFT)), Ok(&Weight(2.0)));
    let taken = world.take_row_components::<(Weight, Value)>(key(e, LEFT)).unwrap();
    assert_eq!((taken.0, taken.1.0.key()), (Weight(2.0), 2));
    world.validate().unwrap();
    assert!(world.contains_row(row), "a row lives on after its last component is gone");
    assert_eq!(world.remove_row_components::<Weight>(row), Ok(false));
    world.update(row, taken).unwrap();
    assert_eq!(world.remove_row_components::<(Value, Item)>(key(e, LEFT)), Ok(true));
    assert_eq!(tally.live(), 1);
    let spin = Spin { axis: 3, speed: 0.5 };
    world.update(row, (spin, Cursed)).unwrap();
    world.update(row, Weight(1.0)).unwrap();
    *world.get_row_mut::<Spin>(row).unwrap().speed += 1.0;
    assert_eq!(world.get_key::<Spin>(key(e, LEFT)), Ok(Spin { speed: 1.5, ..spin }));
    assert!(world.query::<(Key, &Spin)>().iter().eq([(key(e, LEFT), Spin { speed: 1.5, ..spin })]));
    world.update(Key::main(e), (Weight(3.0), Value(tally.value(3)))).unwrap();
    assert_eq!((tally.live(), world.get::<Weight>(e)), (1, Ok(&Weight(3.0))));
    world.validate().unwrap();
    drop(world);
    tally.assert_sound();
    assert_eq!(tally.live(), 0);
}

#[test]
fn rows_are_patched_replaced_and_exchanged_like_entities() {
    let tally = Tally::new();
    let mut world = World::new();
    let e = world.spawn(Value(tally.value(0)));
    let row = world.extend(key(e, LEFT), Value(tally.value(1))).unwrap();
    world.update_with(row, || (Weight(2.0), Cursed)).unwrap();
    assert_eq!(world.patch_row::<Weight, _>(key(e, LEFT), |weight| std::mem::replace(&mut weight.0, 3.0)), Ok(2.0));
    assert_eq!(world.replace_row(row, Value(tally.value(2))).unwrap().0.key(), 1);
    world.exchange_row::<(Cursed, Item), _>(key(e, LEFT), (Item(4), Value(tally.value(5)))).unwrap();
    assert!(world.query_filtered::<Key, With<Cursed>>().is_empty());
    assert_eq!((world.get_row::<Item>(row), world.get_row::<Weight>(row)), (Ok(&Item(4)), Ok(&Weight(3.0))));
    assert_eq!((world.get_row::<Value>(row).unwrap().0.key(), world.get::<Value>(e).unwrap().0.key()), (5, 0));
    // The main row is one of them.
    world.exchange_row::<Value, _>(Key::main(e), Item(6)).unwrap();
    assert_eq!((world.replace_row(Key::main(e), Item(7)), world.get::<Item>(e)), (Ok(Item(6)), Ok(&Item(7))));
    world.validate().unwrap();

    let missing = world.patch_row::<Cursed, _>(row, |_| unreachable!("not there")).unwrap_err();
    assert!(matches!(missing, RowError::MissingComponent { key: k, .. } if k == key(e, LEFT)));
    assert_eq!(world.replace_row(row, Cursed), Err(missing));
    let twice = world.try_exchange_row::<(Item, Item), _>(row, Cursed);
    assert!(matches!(twice, Err(RowError::Duplicate(_))), "{twice:?}");
    assert!(matches!(world.try_update_with(row, || (Cursed, Cursed)), Err(RowError::Duplicate(_))));
    let absent = Err(RowError::NoSuchRow { key: key(e, RIGHT) });
    assert_eq!(world.update_with::<Item>(key(e, RIGHT), || unreachable!("not there")), absent);
    assert_eq!(world.exchange_row::<Item, _>(key(e, RIGHT), Value(tally.value(8))), absent);
    world.delete_row(row).unwrap();
    let stale = RowError::Stale { row };
    assert_eq!(world.exchange_row::<Item, _>(row, Cursed), Err(stale));
    assert_eq!(world.patch_row::<Item, _>(row, |_| unreachable!("not there")), Err::<(), _>(stale));
    assert_eq!(world.replace_row(row, Item(1)), Err(stale));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn queries_that_ask_for_rows_say_whose_they_are() {
    let mut world = World::new();
    let about = world.register::<Item>();
    let a = world.spawn((Item(1), Cursed));
    let b = world.spawn(Item(2));
    let left = Key::main(a).with_role(LEFT).with_component(about);
    let row = world.extend(left, (Item(3), Weight(0.5))).unwrap();
    world.extend(key(b, RIGHT), Cursed).unwrap();
    let all: Vec<(Entity, Key, u32)> =
        world.query::<(Entity, Key, &Item)>().iter().map(|(e, k, i)| (e, k, i.0)).collect();
    assert_eq!(all, [(a, Key::main(a), 1), (b, Key::main(b), 2), (a, left, 3)]);
    let handles: Vec<Row> = world.query_filtered::<Row, With<Weight>>().iter().collect();
    assert_eq!(handles, [row]);
    // Per row: the row with the weight is not cursed, though another of the same entity is.
    let light: Vec<Key> = world.query_filtered::<Key, (With<Weight>, Without<Cursed>)>().iter().collect();
    assert_eq!(light, [left]);
    assert_eq!(world.query::<(&Weight, &Cursed)>().len(), 0);
    assert_eq!(world.query_filtered::<(Key, Has<Cursed>), ExtraRows>().iter().filter(|(_, has)| *has).count(), 1);
    assert!(world.query_filtered::<Key, MainRows>().iter().eq([a, b].map(Key::main)));
    assert_eq!(world.query::<&Item>().get(a), Ok(&Item(1)), "by entity: the main row");
    assert_eq!(world.query::<(Entity, &Item)>().get_row(left), Ok((a, &Item(3))));
    assert!(
        matches!(world.query::<&Cursed>().get_row(row), Err(RowError::MissingComponent { key, .. }) if key == left)
    );
    world.query_mut::<&mut Weight>().get_row_mut(row).unwrap().0 = 0.75;
    assert_eq!(world.query_mut::<&Weight>().get_row(left), Ok(&Weight(0.75)));
    for (keys, owners, rows) in world.query_mut::<(Key, Entity, Row)>().chunks() {
        assert!(keys.iter().map(|key| key.entity).eq(owners.iter().copied()) && keys.owners() == owners);
        assert_eq!((keys.len(), keys.get(keys.len()), keys.is_empty()), (rows.len(), None, false));
        assert_eq!(keys.get(0), keys.iter().next());
    }
    let mut state = QueryState::<(Key, &mut Item)>::new();
    assert_eq!(state.len(&world), 3);
    world.delete_row(row).unwrap();
    assert_eq!(state.len(&world), 2);
    state.iter_mut(&mut world).for_each(|(key, item)| item.0 += key.entity.index());
    assert_eq!(world.get::<Item>(b), Ok(&Item(3)));
}

#[test]
fn a_reserved_entity_can_be_extended() {
    let mut world = World::new();
    let e = world.reserve_entity();
    assert!(matches!(world.row(key(e, LEFT)), Err(RowError::NoSuchEntity(_))));
    let row = world.extend(key(e, LEFT), Item(1)).unwrap();
    let also = world.reserve_entity();
    world.delete_row(row).unwrap();
    assert!(world.contains(e) && world.contains(also) && !world.contains_row(row));
    world.validate().unwrap();
}

#[test]
fn values_end_in_the_order_of_their_rows_and_the_main_row_last() {
    use std::sync::{Arc, Mutex};
    #[derive(Component, Debug)]
    struct Bell(u32, Arc<Mutex<Vec<u32>>>);
    impl Drop for Bell {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    let rung = Arc::new(Mutex::new(Vec::new()));
    let mut world = World::new();
    let e = world.spawn(Bell(0, rung.clone()));
    for role in 1..=5 {
        let row = world.extend(key(e, Role(role)), Bell(role, rung.clone())).unwrap();
        if role % 2 == 0 {
            world.update(row, Weight(0.0)).unwrap();
        }
    }
    world.delete_row(key(e, Role(2))).unwrap();
    world.extend(key(e, Role(2)), Bell(6, rung.clone())).unwrap();
    world.despawn(e).unwrap();
    assert_eq!(*rung.lock().unwrap(), [2, 1, 3, 4, 5, 6, 0]);
    world.validate().unwrap();
}

/// An entity with rows in two tables, and a bystander's between them.
fn crowd(tally: &Tally) -> (World, Entity, Entity) {
    let mut world = World::new();
    let [e, by] = [0, 1].map(|n| world.spawn((Value(tally.value(n)), Other(tally.value(n)))));
    for role in [LEFT, RIGHT, BACK] {
        world.extend(key(e, role), (Value(tally.value(role.0)), Other(tally.value(role.0)))).unwrap();
        world.extend(key(by, role), Value(tally.value(10 + role.0))).unwrap();
    }
    (world, e, by)
}

#[test]
fn a_destructor_that_panics_leaves_the_end_whole() {
    let despawned = PanicSweep::new(Site::Drop).run(
        crowd,
        |(world, e, _), _| world.despawn(*e).unwrap(),
        |(world, e, by), tally, _| {
            world.validate().unwrap();
            assert!(!world.contains(*e) && world.rows(*by).unwrap().count() == 4);
            assert_eq!((world.row_count(), tally.live()), (4, 5));
        },
    );
    assert_eq!(despawned, 8);
    let deleted = PanicSweep::new(Site::Drop).run(
        crowd,
        |(world, e, _), _| world.delete_row(key(*e, LEFT)).unwrap(),
        |(world, e, _), _, _| {
            world.validate().unwrap();
            assert!(!world.contains_key(key(*e, LEFT)) && world.row_count() == 7);
        },
    );
    assert_eq!(deleted, 2);
    let cleared = PanicSweep::new(Site::Drop).run(
        crowd,
        |(world, ..), _| world.clear(),
        |(world, ..), tally, _| {
            world.validate().unwrap();
            assert_eq!((world.row_count(), tally.live()), (0, 0));
        },
    );
    assert_eq!(cleared, 13);
}

#[test]
fn a_failing_allocation_changes_nothing() {
    let tally = Tally::new();
    // Tables, plans and edges are caches, made before.
    let warm = || {
        let mut world = World::new();
        let e = world.spawn_empty();
        let row = world.extend(key(e, LEFT), (Value(tally.value(0)), Item(0))).unwrap();
        world.update(row, Weight(0.0)).unwrap();
        world.remove_row_components::<Weight>(row).unwrap();
        world.delete_row(row).unwrap();
        (world, e)
    };
    let full = || {
        let (mut world, e) = warm();
        let bundle = |n| (Value(tally.value(n)), Item(n));
        let mut rows = 0;
        // Full are the slots, the table and the maps at different numbers of rows: every number is tried below.
        while world.row_count() < 70 {
            rows += 1;
            world.extend(key(e, Role(rows)), bundle(rows)).unwrap();
        }
        (world, e, rows)
    };
    let mut failures = 0;
    for more in 0..=70 {
        let setup = || {
            let (mut world, e) = warm();
            for n in 1..=more {
                world.extend(key(e, Role(n)), (Value(tally.value(n)), Item(n))).unwrap();
            }
            let mut held = QueryState::<(Key, &Item)>::new();
            assert_eq!(held.len(&world), more as usize);
            (world, e, held)
        };
        failures += for_every_failing_allocation(
            setup,
            |(world, e, _)| world.try_extend(key(*e, Role(1000)), (Value(tally.value(0)), Item(0))),
            |(world, e, held), outcome| {
                world.validate().unwrap();
                // Lanes that had grown before another could not have moved.
                let sum: u32 = held.iter(world).filter(|(key, _)| key.entity == *e).map(|(_, item)| item.0).sum();
                assert_eq!(sum, more * (more + 1) / 2);
                assert_eq!(world.contains_key(key(*e, Role(1000))), outcome.is_ok());
                assert_eq!(world.row_count(), 1 + more as usize + usize::from(outcome.is_ok()));
            },
        );
        failures += for_every_failing_allocation(
            setup,
            |(world, ..)| world.try_spawn_keyed(None, LEFT, (Value(tally.value(0)), Item(0))),
            |(world, e, held), outcome| {
                world.validate().unwrap();
                let sum: u32 = held.iter(world).filter(|(key, _)| key.entity == *e).map(|(_, item)| item.0).sum();
                assert_eq!(sum, more * (more + 1) / 2);
                assert_eq!(world.len(), 1 + usize::from(outcome.is_ok()));
            },
        );
    }
    for owners in 0..=20 {
        failures += for_every_failing_allocation(
            || {
                let (mut world, _) = warm();
                (0..owners).for_each(|n| _ = world.spawn_keyed(None, LEFT, (Value(tally.value(n)), Item(n))));
                world
            },
            |world| world.try_spawn_keyed(None, LEFT, (Value(tally.value(0)), Item(0))),
            |world, outcome| {
                world.validate().unwrap();
                assert_eq!(world.len(), 1 + owners as usize + usize::from(outcome.is_ok()));
            },
        );
    }
    failures += for_every_failing_allocation(
        || {
            let (mut world, _) = warm();
            let last = *world.spawn_batch((0..300).map(Item)).last().unwrap();
            (world, last)
        },
        |(world, last)| world.try_extend(key(*last, LEFT), (Value(tally.value(0)), Item(0))),
        |(world, last), outcome| {
            world.validate().unwrap();
            assert_eq!(world.contains_key(key(*last, LEFT)), outcome.is_ok());
        },
    );
    assert!(failures > 10, "{failures}");
    let updates = for_every_failing_allocation(
        || {
            let (mut world, e, _) = full();
            // The target's table is full, too.
            (0..64).for_each(|n| world.update(key(e, Role(n + 1)), Weight(0.0)).unwrap());
            (world, e)
        },
        |(world, e)| world.try_update(key(*e, Role(65)), Weight(1.0)),
        |(world, e), outcome| {
            world.validate().unwrap();
            assert_eq!(world.get_key::<Weight>(key(*e, Role(65))).is_ok(), outcome.is_ok());
        },
    );
    assert!(updates > 0);
    tally.assert_sound();
    assert_eq!(tally.live(), 0);
}

#[test]
fn main_rows_pay_nothing_for_extra_ones() {
    let mut world = World::new();
    let entities = world.spawn_batch((0..1024).map(Item));
    // A word and a place on the stack, a location, an entry in the entity column; and the component.
    assert_eq!(world.memory().total(), 1024 * (4 + 4 + 8 + 8 + 4));
    let ((), usage) = measure(|| entities[..1000].iter().for_each(|e| world.despawn(*e).unwrap()));
    assert_eq!(usage.allocations, 0);
    let owner = entities[1000];
    let made: Vec<Row> = (1..=64).map(|n| world.extend(key(owner, Role(n)), Item(n)).unwrap()).collect();
    let tables = world.memory().total() - 1024 * 28;
    // 24 bytes a row beside the slot and the component, and 16 to 64 in the map.
    assert!((64 * 36..64 * 120).contains(&tables), "{tables}");
    let ((), usage) = measure(|| made.iter().for_each(|row| world.delete_row(*row).unwrap()));
    assert_eq!(usage.allocations, 0);
    world.validate().unwrap();
}

#[test]
fn a_loop_over_arrays_before_and_after_the_last_component_goes() {
    #[derive(Component, Debug, PartialEq)]
    struct Health(u32);
    let update = |world: &mut World| {
        for healths in world.query_filtered_mut::<&mut Health, AllRows>().chunks() {
            healths.iter_mut().for_each(|health| health.0 = 1);
        }
    };
    let mut game = World::new();
    for role in [Role::NONE, LEFT] {
        let player = game.spawn_keyed(None, role, Health(100));
        update(&mut game);
        assert_eq!(game.get_key::<Health>(player), Ok(&Health(1)));
        assert_eq!(game.remove_row_components::<Health>(player), Ok(true));
        update(&mut game);
        assert!(game.contains_key(player), "a row lives on after its last component is gone");
        game.despawn(player.entity).unwrap();
        assert_eq!(game.row_count(), 0);
    }
}

#[test]
fn rows_can_be_sent_and_named_from_other_threads() {
    fn is_plain<T: Send + Sync + Copy>() {}
    is_plain::<(Key, Row, Role, RowError)>();
    let mut world = World::new();
    let made = world.spawn_keyed(None, LEFT, Item(4));
    let read = std::thread::scope(|s| s.spawn(|| world.get_key::<Item>(made).unwrap().0).join().unwrap());
    assert_eq!(read, 4);
}

#[test]
fn a_recorded_despawn_ends_the_extra_rows_too() {
    let tally = Tally::new();
    let mut world = World::new();
    let [e, other] = [1, 2].map(|n| world.spawn(Value(tally.value(n))));
    let rows = [LEFT, RIGHT].map(|role| world.extend(key(e, role), Value(tally.value(role.0))).unwrap());
    world.extend(key(other, LEFT), Value(tally.value(9))).unwrap();
    let mut commands = phalanx::CommandBuffer::new();
    commands.despawn(e);
    commands.insert(other, Item(3));
    commands.try_apply(&mut world).unwrap();
    world.validate().unwrap();
    assert!(rows.iter().all(|row| !world.contains_row(*row)) && !world.contains(e));
    assert_eq!((tally.live(), world.row_count()), (2, 2));
}

#[test]
fn compaction_knows_extra_rows() {
    let mut world = World::new();
    let [gone, e] = [1, 2].map(|n| world.spawn((Item(n), Weight(0.0))));
    let row = world.extend(key(e, LEFT), (Item(7), Weight(1.0))).unwrap();
    world.extend(key(e, RIGHT), Item(8)).unwrap();
    world.extend(key(gone, LEFT), Cursed).unwrap();
    world.despawn(gone).unwrap();

    while world.compact(100) > 0 {}
    world.validate().unwrap();
    assert_eq!(world.get_row::<Item>(row), Ok(&Item(7)));
    assert_eq!(world.row_count(), 3);
    world.extend(key(e, BACK), Item(9)).unwrap();
    world.delete_row(key(e, LEFT)).unwrap();
    world.validate().unwrap();
    world.despawn(e).unwrap();
    while world.compact(100) > 0 {}
    world.validate().unwrap();
    assert_eq!(world.row_count(), 0);
}

#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone)]
struct Label(String);

#[test]
fn a_cloned_world_has_the_same_rows() {
    let mut world = World::new();
    let e = world.spawn(Label("main".into()));
    let row = world.extend(key(e, LEFT), Label("left".into())).unwrap();
    world.extend(key(e, RIGHT), Label("right".into())).unwrap();
    let mut copy = world.clone_world();
    copy.validate().unwrap();
    assert_eq!(copy.get_row::<Label>(row), Ok(&Label("left".into())));
    assert!(copy.rows(e).unwrap().eq(world.rows(e).unwrap()));
    copy.despawn(e).unwrap();
    copy.validate().unwrap();
    assert!(world.contains_row(row) && !copy.contains_row(row));
}
