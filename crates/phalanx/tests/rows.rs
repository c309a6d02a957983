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
    let left = world.add_row(key(e, LEFT), (Item(1), Weight(1.0))).unwrap();
    let right = world.add_row(key(e, RIGHT), Item(2)).unwrap();
    assert_eq!(world.get::<Item>(e), Ok(&Item(0)));
    assert_eq!(world.row(Key::main(e)).and_then(|row| row.get::<Item>()), Ok(&Item(0)));
    assert_eq!(world.row(key(e, LEFT)).and_then(|row| row.get::<Item>()), Ok(&Item(1)));
    assert_eq!(world.row(right).and_then(|row| row.get::<Item>()), Ok(&Item(2)));
    world.row_mut(key(e, LEFT)).unwrap().get_mut::<Item>().unwrap().0 = 11;
    world.row_mut(right).unwrap().get_mut::<Item>().unwrap().0 = 22;
    assert_eq!(
        (world.row(left).and_then(|row| row.get::<Item>()), world.row(right).and_then(|row| row.get::<Item>())),
        (Ok(&Item(11)), Ok(&Item(22)))
    );
    assert_eq!((world.len(), world.row_count()), (1, 3));
    assert!(world.iter().eq([e]));
    assert!(!world.has::<Weight>(e), "the main row alone is asked");
    assert_eq!(
        (world.row(key(e, LEFT)).map(|row| row.id()), world.row(left).map(|row| row.key())),
        (Ok(left), Ok(key(e, LEFT)))
    );
    assert_eq!(world.row(Key::main(e)).unwrap().key(), Key::main(e));
    let names: Vec<Key> = world.rows(e).unwrap().map(|(key, _)| key).collect();
    assert_eq!(names, [Key::main(e), key(e, LEFT), key(e, RIGHT)]);
    assert!(world.rows(e).unwrap().all(|(key, row)| world.row(key).unwrap().id() == row));
    world.validate().unwrap();
}

#[test]
fn a_spawned_key_keeps_its_component_and_its_role() {
    let mut world = World::new();
    let about = world.register_component::<Weight>();
    let made = world.spawn_keyed(about, LEFT, (Item(7), Cursed)).unwrap();
    assert_eq!((made.component, made.role), (Some(about), LEFT));
    assert_eq!(world.row(made).and_then(|row| row.get::<Item>()), Ok(&Item(7)));
    assert_eq!(world.entity(made.entity).unwrap().component_names().count(), 0, "the main row is empty");
    let plain = world.spawn_keyed(None, Role::NONE, Item(8)).unwrap();
    assert!(plain.is_main());
    assert_eq!(world.get::<Item>(plain.entity), Ok(&Item(8)));
    assert_eq!((world.len(), world.row_count()), (2, 3));
    // Component and role are parts of the name, each by itself.
    let keys = [key(made.entity, LEFT), Key::main(made.entity).with_component(about)];
    assert_eq!(keys.map(|key| world.row(key).is_ok()), [false, false]);
    keys.iter().for_each(|key| _ = world.add_row(*key, Cursed).unwrap());
    assert_eq!(world.rows(made.entity).unwrap().count(), 4);
    world.validate().unwrap();
}

#[test]
fn errors_name_the_key() {
    let mut world = World::new();
    let [e, dead] = [world.spawn_empty(), world.spawn_empty()];
    world.despawn(dead).unwrap();
    let row = world.add_row(key(e, LEFT), Item(1)).unwrap();
    let exists = RowError::Exists { key: key(e, LEFT) };
    assert_eq!(world.add_row(key(e, LEFT), Item(2)), Err(exists));
    assert_eq!(exists.to_string(), "the row 0v0 role 1 exists already");
    assert_eq!(world.add_row(Key::main(e), Item(2)), Err(RowError::Exists { key: Key::main(e) }));
    assert!(matches!(world.add_row(key(dead, LEFT), Item(2)), Err(RowError::NoSuchEntity(_))));
    assert_eq!(
        world.row(key(e, RIGHT)).and_then(|row| row.get::<Item>()),
        Err(RowError::NoSuchRow { key: key(e, RIGHT) })
    );
    let missing = world.row(row).and_then(|row| row.get::<Weight>()).unwrap_err();
    assert!(matches!(missing, RowError::MissingComponent { key: k, .. } if k == key(e, LEFT)));
    assert!(missing.to_string().starts_with("the row 0v0 role 1 has no "), "{missing}");
    assert_eq!(world.row_mut(row).unwrap().get_mut::<Weight>().unwrap_err(), missing);
    assert_eq!(world.row_mut(row).and_then(|mut row| row.take::<Weight>()).unwrap_err(), missing);
    assert_eq!(world.remove_row(Key::main(e)), Err(RowError::MainRow { entity: e }));
    assert_eq!(world.remove_row(world.row(Key::main(e)).unwrap().id()), Err(RowError::MainRow { entity: e }));
    for unknown in [0, 1000, u32::MAX].map(ComponentId::from_index) {
        let key = Key::main(e).with_component(unknown);
        assert_eq!(world.add_row(key, Item(2)), Err(RowError::NoSuchComponent { component: unknown }));
        assert_eq!(world.row(key).map(|row| row.id()), Err(RowError::NoSuchRow { key }));
        let spawned = world.spawn_keyed(unknown, LEFT, Item(2));
        assert_eq!(spawned, Err(RowError::NoSuchComponent { component: unknown }));
    }
    assert!(matches!(world.try_add_row(key(e, BACK), (Item(1), Item(2))), Err(RowError::Duplicate(_))));
    assert!(matches!(
        world.row_mut(row).and_then(|mut row| row.try_insert((Item(1), Item(2)))),
        Err(RowError::Duplicate(_))
    ));
    assert_eq!((world.len(), world.row_count()), (1, 2));
    world.validate().unwrap();
}

#[test]
fn rows_of_one_entity_in_one_table_are_despawned_together() {
    let mut world = World::new();
    let [a, b] = [world.spawn(Item(0)), world.spawn(Item(1))];
    // a's first row, then b's, then two of a: closing the first swaps in a row of the same entity.
    for (entity, role) in [(a, LEFT), (b, LEFT), (a, RIGHT), (a, BACK)] {
        world.add_row(key(entity, role), Item(10 * entity.index() + role.0)).unwrap();
    }
    world.despawn(a).unwrap();
    world.validate().unwrap();
    assert_eq!((world.len(), world.row_count()), (1, 2));
    assert_eq!(world.row(key(b, LEFT)).and_then(|row| row.get::<Item>()), Ok(&Item(11)));
    let left: Vec<(Key, Item)> = world.query::<(Key, &Item)>().iter().map(|(key, item)| (key, *item)).collect();
    assert_eq!(left, [(Key::main(b), Item(1)), (key(b, LEFT), Item(11))]);
}

#[test]
fn the_last_row_takes_the_place_of_one_that_ends() {
    let mut world = World::new();
    let e = world.spawn_empty();
    let rows = [LEFT, RIGHT, BACK].map(|role| world.add_row(key(e, role), Item(role.0)).unwrap());
    world.remove_row(key(e, LEFT)).unwrap();
    let order: Vec<Row> = world.query_filtered::<Row, ExtraRows>().iter().collect();
    assert_eq!(order, [rows[2], rows[1]]);
    let named: Vec<Row> = world.rows(e).unwrap().skip(1).map(|(_, row)| row).collect();
    assert_eq!(named, [rows[1], rows[2]], "the order of making stays");
    world.validate().unwrap();
    world.remove_row(rows[2]).unwrap();
    world.add_row(key(e, LEFT), Item(9)).unwrap();
    let roles: Vec<Role> = world.rows(e).unwrap().map(|(key, _)| key.role).collect();
    assert_eq!(roles, [Role::NONE, RIGHT, LEFT]);
    world.validate().unwrap();
}

#[test]
fn handles_of_rows_go_stale_alone_and_keys_with_their_entity() {
    let mut world = World::new();
    let e = world.spawn_empty();
    let [first, other] = [LEFT, RIGHT].map(|role| world.add_row(key(e, role), Item(0)).unwrap());
    world.remove_row(first).unwrap();
    assert_eq!(world.row(first).and_then(|row| row.get::<Item>()), Err(RowError::Stale { row: first }));
    assert_eq!(world.remove_row(first), Err(RowError::Stale { row: first }));
    assert_eq!(world.row_mut(first).and_then(|mut row| row.try_insert(Item(1))), Err(RowError::Stale { row: first }));
    assert!(world.row(other).is_ok() && world.contains(e));
    // The same slot, as a row, then as an entity: the handle stays stale.
    let again = world.add_row(key(e, LEFT), Item(5)).unwrap();
    assert!(again != first && world.row(first).is_err());
    assert_eq!(
        world.row(key(e, LEFT)).and_then(|row| row.get::<Item>()),
        Ok(&Item(5)),
        "a key names whatever has the name"
    );
    world.remove_row(again).unwrap();
    let heir = world.spawn(Item(6));
    assert!(world.row(again).is_err() && world.row(again).and_then(|row| row.get::<Item>()).is_err());
    world.despawn(heir).unwrap();
    world.despawn(e).unwrap();
    assert!(world.row(other).is_err());
    let next = world.spawn_empty();
    assert!(matches!(world.row(key(e, RIGHT)), Err(RowError::NoSuchEntity(_))));
    world.add_row(key(next, RIGHT), Item(1)).unwrap();
    assert!(world.row(key(e, RIGHT)).is_err());
    world.clear();
    assert!(world.row(key(next, RIGHT)).is_err());
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
    let row = world.add_row(key(e, LEFT), Value(tally.value(1))).unwrap();
    world.row_mut(row).unwrap().insert((Value(tally.value(2)), Weight(1.0)));
    world.row_mut(key(e, LEFT)).unwrap().insert(Weight(2.0));
    assert_eq!((tally.live(), world.row(row).unwrap().get::<Value>().unwrap().0.key()), (2, 2));
    assert_eq!(world.row(key(e, LEFT)).and_then(|row| row.get::<Weight>()), Ok(&Weight(2.0)));
    let taken = world.row_mut(key(e, LEFT)).unwrap().take::<(Weight, Value)>().unwrap();
    assert_eq!((taken.0, taken.1.0.key()), (Weight(2.0), 2));
    world.validate().unwrap();
    assert!(world.row(row).is_ok(), "a row lives on after its last component is gone");
    assert_eq!(world.row_mut(row).and_then(|mut row| row.try_remove::<Weight>()), Ok(false));
    world.row_mut(row).unwrap().insert(taken);
    assert_eq!(world.row_mut(key(e, LEFT)).and_then(|mut row| row.try_remove::<(Value, Item)>()), Ok(true));
    assert_eq!(tally.live(), 1);
    let spin = Spin { axis: 3, speed: 0.5 };
    world.row_mut(row).unwrap().insert((spin, Cursed));
    world.row_mut(row).unwrap().insert(Weight(1.0));
    *world.row_mut(row).unwrap().get_mut::<Spin>().unwrap().speed += 1.0;
    assert_eq!(world.row(key(e, LEFT)).and_then(|row| row.get::<Spin>()), Ok(Spin { speed: 1.5, ..spin }));
    assert!(world.query::<(Key, &Spin)>().iter().eq([(key(e, LEFT), Spin { speed: 1.5, ..spin })]));
    world.row_mut(Key::main(e)).unwrap().insert((Weight(3.0), Value(tally.value(3))));
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
    let row = world.add_row(key(e, LEFT), Value(tally.value(1))).unwrap();
    world.row_mut(row).unwrap().try_insert((Weight(2.0), Cursed)).unwrap();
    assert_eq!(
        world
            .row_mut(key(e, LEFT))
            .and_then(|mut row| row.patch::<Weight, _>(|weight| std::mem::replace(&mut weight.0, 3.0))),
        Ok(2.0)
    );
    assert_eq!(world.row_mut(row).unwrap().replace(Value(tally.value(2))).unwrap().0.key(), 1);
    world.row_mut(key(e, LEFT)).unwrap().exchange::<(Cursed, Item), _>((Item(4), Value(tally.value(5)))).unwrap();
    assert!(world.query_filtered::<Key, With<Cursed>>().is_empty());
    assert_eq!(
        (world.row(row).and_then(|row| row.get::<Item>()), world.row(row).and_then(|row| row.get::<Weight>())),
        (Ok(&Item(4)), Ok(&Weight(3.0)))
    );
    assert_eq!(
        (world.row(row).unwrap().get::<Value>().unwrap().0.key(), world.get::<Value>(e).unwrap().0.key()),
        (5, 0)
    );
    // The main row is one of them.
    world.row_mut(Key::main(e)).unwrap().exchange::<Value, _>(Item(6)).unwrap();
    assert_eq!(
        (world.row_mut(Key::main(e)).and_then(|mut row| row.replace(Item(7))), world.get::<Item>(e)),
        (Ok(Item(6)), Ok(&Item(7)))
    );
    world.validate().unwrap();

    let missing =
        world.row_mut(row).and_then(|mut row| row.patch::<Cursed, _>(|_| unreachable!("not there"))).unwrap_err();
    assert!(matches!(missing, RowError::MissingComponent { key: k, .. } if k == key(e, LEFT)));
    assert_eq!(world.row_mut(row).and_then(|mut row| row.replace(Cursed)), Err(missing));
    let twice = world.row_mut(row).and_then(|mut row| row.exchange::<(Item, Item), _>(Cursed));
    assert!(matches!(twice, Err(RowError::Duplicate(_))), "{twice:?}");
    assert!(matches!(
        world.row_mut(row).and_then(|mut row| row.try_insert((Cursed, Cursed))),
        Err(RowError::Duplicate(_))
    ));
    let absent = Err(RowError::NoSuchRow { key: key(e, RIGHT) });
    assert_eq!(world.row_mut(key(e, RIGHT)).and_then(|mut row| row.try_insert(Cursed)), absent);
    assert_eq!(world.row_mut(key(e, RIGHT)).and_then(|mut row| row.exchange::<Item, _>(Value(tally.value(8)))), absent);
    world.remove_row(row).unwrap();
    let stale = RowError::Stale { row };
    assert_eq!(world.row_mut(row).and_then(|mut row| row.exchange::<Item, _>(Cursed)), Err(stale));
    assert_eq!(
        world.row_mut(row).and_then(|mut row| row.patch::<Item, _>(|_| unreachable!("not there"))),
        Err::<(), _>(stale)
    );
    assert_eq!(world.row_mut(row).and_then(|mut row| row.replace(Item(1))), Err(stale));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn queries_that_ask_for_rows_say_whose_they_are() {
    let mut world = World::new();
    let about = world.register_component::<Item>();
    let a = world.spawn((Item(1), Cursed));
    let b = world.spawn(Item(2));
    let left = Key::main(a).with_role(LEFT).with_component(about);
    let row = world.add_row(left, (Item(3), Weight(0.5))).unwrap();
    world.add_row(key(b, RIGHT), Cursed).unwrap();
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
    world.remove_row(row).unwrap();
    assert_eq!(state.len(&world), 2);
    state.iter_mut(&mut world).for_each(|(key, item)| item.0 += key.entity.index());
    assert_eq!(world.get::<Item>(b), Ok(&Item(3)));
}

#[test]
fn a_reserved_entity_can_be_extended() {
    let mut world = World::new();
    let e = world.reserve_entity();
    assert!(matches!(world.row(key(e, LEFT)), Err(RowError::NoSuchEntity(_))));
    let row = world.add_row(key(e, LEFT), Item(1)).unwrap();
    let also = world.reserve_entity();
    world.remove_row(row).unwrap();
    assert!(world.contains(e) && world.contains(also) && world.row(row).is_err());
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
        let row = world.add_row(key(e, Role(role)), Bell(role, rung.clone())).unwrap();
        if role % 2 == 0 {
            world.row_mut(row).unwrap().insert(Weight(0.0));
        }
    }
    world.remove_row(key(e, Role(2))).unwrap();
    world.add_row(key(e, Role(2)), Bell(6, rung.clone())).unwrap();
    world.despawn(e).unwrap();
    assert_eq!(*rung.lock().unwrap(), [2, 1, 3, 4, 5, 6, 0]);
    world.validate().unwrap();
}

/// An entity with rows in two tables, and a bystander's between them.
fn crowd(tally: &Tally) -> (World, Entity, Entity) {
    let mut world = World::new();
    let [e, by] = [0, 1].map(|n| world.spawn((Value(tally.value(n)), Other(tally.value(n)))));
    for role in [LEFT, RIGHT, BACK] {
        world.add_row(key(e, role), (Value(tally.value(role.0)), Other(tally.value(role.0)))).unwrap();
        world.add_row(key(by, role), Value(tally.value(10 + role.0))).unwrap();
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
        |(world, e, _), _| world.remove_row(key(*e, LEFT)).unwrap(),
        |(world, e, _), _, _| {
            world.validate().unwrap();
            assert!(world.row(key(*e, LEFT)).is_err() && world.row_count() == 7);
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
        let row = world.add_row(key(e, LEFT), (Value(tally.value(0)), Item(0))).unwrap();
        world.row_mut(row).unwrap().insert(Weight(0.0));
        world.row_mut(row).unwrap().remove::<Weight>();
        world.remove_row(row).unwrap();
        (world, e)
    };
    let full = || {
        let (mut world, e) = warm();
        let bundle = |n| (Value(tally.value(n)), Item(n));
        let mut rows = 0;
        // Full are the slots, the table and the maps at different numbers of rows: every number is tried below.
        while world.row_count() < 70 {
            rows += 1;
            world.add_row(key(e, Role(rows)), bundle(rows)).unwrap();
        }
        (world, e, rows)
    };
    let mut failures = 0;
    for more in 0..=70 {
        let setup = || {
            let (mut world, e) = warm();
            for n in 1..=more {
                world.add_row(key(e, Role(n)), (Value(tally.value(n)), Item(n))).unwrap();
            }
            let mut held = QueryState::<(Key, &Item)>::new();
            assert_eq!(held.len(&world), more as usize);
            (world, e, held)
        };
        failures += for_every_failing_allocation(
            setup,
            |(world, e, _)| world.try_add_row(key(*e, Role(1000)), (Value(tally.value(0)), Item(0))),
            |(world, e, held), outcome| {
                world.validate().unwrap();
                // Lanes that had grown before another could not have moved.
                let sum: u32 = held.iter(world).filter(|(key, _)| key.entity == *e).map(|(_, item)| item.0).sum();
                assert_eq!(sum, more * (more + 1) / 2);
                assert_eq!(world.row(key(*e, Role(1000))).is_ok(), outcome.is_ok());
                assert_eq!(world.row_count(), 1 + more as usize + usize::from(outcome.is_ok()));
            },
        );
        failures += for_every_failing_allocation(
            setup,
            |(world, ..)| world.spawn_keyed(None, LEFT, (Value(tally.value(0)), Item(0))),
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
            |world| world.spawn_keyed(None, LEFT, (Value(tally.value(0)), Item(0))),
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
        |(world, last)| world.try_add_row(key(*last, LEFT), (Value(tally.value(0)), Item(0))),
        |(world, last), outcome| {
            world.validate().unwrap();
            assert_eq!(world.row(key(*last, LEFT)).is_ok(), outcome.is_ok());
        },
    );
    assert!(failures > 10, "{failures}");
    let updates = for_every_failing_allocation(
        || {
            let (mut world, e, _) = full();
            // The target's table is full, too.
            (0..64).for_each(|n| _ = world.row_mut(key(e, Role(n + 1))).unwrap().insert(Weight(0.0)));
            (world, e)
        },
        |(world, e)| world.row_mut(key(*e, Role(65))).and_then(|mut row| row.try_insert(Weight(1.0))),
        |(world, e), outcome| {
            world.validate().unwrap();
            assert_eq!(world.row(key(*e, Role(65))).and_then(|row| row.get::<Weight>()).is_ok(), outcome.is_ok());
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
    let made: Vec<Row> = (1..=64).map(|n| world.add_row(key(owner, Role(n)), Item(n)).unwrap()).collect();
    let tables = world.memory().total() - 1024 * 28;
    // 24 bytes a row beside the slot and the component, and 16 to 64 in the map.
    assert!((64 * 36..64 * 120).contains(&tables), "{tables}");
    let ((), usage) = measure(|| made.iter().for_each(|row| world.remove_row(*row).unwrap()));
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
        let player = game.spawn_keyed(None, role, Health(100)).unwrap();
        update(&mut game);
        assert_eq!(game.row(player).and_then(|row| row.get::<Health>()), Ok(&Health(1)));
        assert_eq!(game.row_mut(player).and_then(|mut row| row.try_remove::<Health>()), Ok(true));
        update(&mut game);
        assert!(game.row(player).is_ok(), "a row lives on after its last component is gone");
        game.despawn(player.entity).unwrap();
        assert_eq!(game.row_count(), 0);
    }
}

#[test]
fn rows_can_be_sent_and_named_from_other_threads() {
    fn is_plain<T: Send + Sync + Copy>() {}
    is_plain::<(Key, Row, Role, RowError)>();
    let mut world = World::new();
    let made = world.spawn_keyed(None, LEFT, Item(4)).unwrap();
    let read = std::thread::scope(|s| s.spawn(|| world.row(made).unwrap().get::<Item>().unwrap().0).join().unwrap());
    assert_eq!(read, 4);
}

#[test]
fn a_recorded_despawn_ends_the_extra_rows_too() {
    let tally = Tally::new();
    let mut world = World::new();
    let [e, other] = [1, 2].map(|n| world.spawn(Value(tally.value(n))));
    let rows = [LEFT, RIGHT].map(|role| world.add_row(key(e, role), Value(tally.value(role.0))).unwrap());
    world.add_row(key(other, LEFT), Value(tally.value(9))).unwrap();
    let mut commands = phalanx::CommandBuffer::new();
    commands.despawn(e);
    commands.insert(other, Item(3));
    commands.try_apply(&mut world).unwrap();
    world.validate().unwrap();
    assert!(rows.iter().all(|row| world.row(*row).is_err()) && !world.contains(e));
    assert_eq!((tally.live(), world.row_count()), (2, 2));
}

#[test]
fn compaction_knows_extra_rows() {
    let mut world = World::new();
    let [gone, e] = [1, 2].map(|n| world.spawn((Item(n), Weight(0.0))));
    let row = world.add_row(key(e, LEFT), (Item(7), Weight(1.0))).unwrap();
    world.add_row(key(e, RIGHT), Item(8)).unwrap();
    world.add_row(key(gone, LEFT), Cursed).unwrap();
    world.despawn(gone).unwrap();

    while world.compact(100) > 0 {}
    world.validate().unwrap();
    assert_eq!(world.row(row).and_then(|row| row.get::<Item>()), Ok(&Item(7)));
    assert_eq!(world.row_count(), 3);
    world.add_row(key(e, BACK), Item(9)).unwrap();
    world.remove_row(key(e, LEFT)).unwrap();
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
    let row = world.add_row(key(e, LEFT), Label("left".into())).unwrap();
    world.add_row(key(e, RIGHT), Label("right".into())).unwrap();
    let mut copy = world.try_clone().unwrap();
    copy.validate().unwrap();
    assert_eq!(copy.row(row).and_then(|row| row.get::<Label>()), Ok(&Label("left".into())));
    assert!(copy.rows(e).unwrap().eq(world.rows(e).unwrap()));
    copy.despawn(e).unwrap();
    copy.validate().unwrap();
    assert!(world.row(row).is_ok() && copy.row(row).is_err());
}

/// A listener's commands may remove the row that a handle is of, and use its slot for something else.
#[test]
fn a_handle_of_a_row_that_a_listener_removes_returns_errors() {
    #[derive(Component)]
    struct Poison;
    #[derive(Component)]
    struct Other(#[allow(dead_code)] u32);
    for replaces in [false, true] {
        let mut world = World::new();
        let key = world.spawn_keyed(None, Role(1), Other(0)).unwrap();
        world.on_add::<Poison>(move |added, _, commands| {
            if replaces {
                return commands.queue(|world| *world = World::new());
            }
            commands.despawn(added.entity);
            commands.spawn(Other(1));
            commands.spawn(Other(2));
        });
        let mut row = world.row_mut(key).unwrap();
        row.insert(Poison);
        assert_eq!((row.key(), format!("{row:?}")), (key, key.to_string()));
        assert!(row.get::<Other>().is_err() && row.get_mut::<Other>().is_err() && !row.has::<Other>());
        assert!(row.try_insert(Other(3)).is_err());
        assert!(row.try_remove::<Other>().is_err());
        assert!(row.take::<Other>().is_err());
        assert!(row.exchange::<Other, _>(Poison).is_err());
        world.validate().unwrap();
    }
}
