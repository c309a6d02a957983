//! Values go to Arrow and back without a changed bit.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use phalanx::query::ExtraRows;
use phalanx::reflect::Reflect;
use phalanx::snapshot::Registry;
use phalanx::store::Soa;
use phalanx::{Component, Entity, Key, Plain, Removal, Role, World};
use phalanx_arrow::{FrozenWorld, Mapping, extract, extract_with, spawn};
use phalanx_testkit::{Rng, measure};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Reflect, Plain, Clone, Copy, Debug, PartialEq)]
#[repr(i8)]
enum Gait {
    Walk = -3,
    Run = 7,
}

#[derive(Reflect, Plain, Clone, Copy, Debug, PartialEq)]
struct Inner {
    x: i16,
    y: u16,
}

/// The fields of all layouts, as bits that can be compared.
macro_rules! all {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        struct $name {
            wide: u128,
            id: u64,
            sum: i64,
            exact: f64,
            friend: Entity,
            mass: f32,
            letter: char,
            at: [f32; 3],
            inner: Inner,
            level: u8,
            on: bool,
            gait: Gait,
            small: i8,
            bits: [bool; 8],
            entity: u16,
            count: i16,
            spare: [u8; 8],
        }

        impl $name {
            fn random(rng: &mut Rng, friend: Entity) -> $name {
                let mut float = || f32::from_bits(rng.next_u64() as u32);
                let at = [float(), float(), float()];
                let mass = float();
                let n = rng.next_u64();
                $name {
                    wide: u128::from(n) << 64 | u128::from(rng.next_u64()),
                    id: rng.next_u64(),
                    sum: rng.next_u64() as i64,
                    exact: f64::from_bits(rng.next_u64()),
                    friend,
                    mass,
                    letter: char::from_u32(n as u32 % 0xD800).unwrap(),
                    at,
                    inner: Inner { x: n as i16, y: (n >> 16) as u16 },
                    level: n as u8,
                    on: n & 1 == 1,
                    gait: if n & 2 == 2 { Gait::Walk } else { Gait::Run },
                    small: (n >> 8) as i8,
                    bits: std::array::from_fn(|at| n >> at & 1 == 1),
                    entity: (n >> 32) as u16,
                    count: (n >> 40) as i16,
                    spare: [7; 8],
                }
            }

            fn key(&self) -> String {
                format!(
                    "{} {} {} {:x} {} {:x} {:?} {:x?} {:?} {} {} {:?} {} {:?} {} {}",
                    self.wide, self.id, self.sum, self.exact.to_bits(), self.friend.to_bits(), self.mass.to_bits(),
                    self.letter, self.at.map(f32::to_bits), (self.inner.x, self.inner.y), self.level, self.on, self.gait,
                    self.small, self.bits, self.entity, self.count,
                )
            }
        }
    };
}
all!(
    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    #[repr(C)]
    InTable
);
all!(
    #[derive(Component, Soa, Clone, Copy)]
    #[component(layout = "soa", plain)]
    Lanes
);
all!(
    #[derive(Component, Clone, Copy)]
    #[component(layout = "pool", plain)]
    #[repr(C)]
    InPool
);
all!(
    #[derive(Component, Clone, Copy)]
    #[component(layout = "linear", plain)]
    #[repr(C)]
    Linear
);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Other(u8);

/// Reads the rows of a batch as the keys above.
fn keys(batch: &RecordBatch) -> Vec<(u64, String)> {
    let column = |name: &str| batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}"));
    let bits = |array: &dyn Array, row: usize| array.as_primitive::<Float32Type>().value(row).to_bits();
    (0..batch.num_rows())
        .map(|row| {
            let at = column("at").as_fixed_size_list().value(row);
            let flags = column("bits").as_fixed_size_list().value(row);
            let inner = column("inner").as_struct();
            let wide = column("wide").as_fixed_size_binary().value(row).try_into().unwrap();
            let gait = column("gait").as_dictionary::<Int32Type>();
            let key = format!(
                "{} {} {} {:x} {} {:x} {:?} {:x?} {:?} {} {} {} {} {:?} {} {}",
                u128::from_ne_bytes(wide),
                column("id").as_primitive::<UInt64Type>().value(row),
                column("sum").as_primitive::<Int64Type>().value(row),
                column("exact").as_primitive::<Float64Type>().value(row).to_bits(),
                column("friend").as_primitive::<UInt64Type>().value(row),
                bits(column("mass"), row),
                char::from_u32(column("letter").as_primitive::<UInt32Type>().value(row)).unwrap(),
                [0, 1, 2].map(|n| bits(&at, n)),
                (
                    inner.column(0).as_primitive::<Int16Type>().value(row),
                    inner.column(1).as_primitive::<UInt16Type>().value(row)
                ),
                column("level").as_primitive::<UInt8Type>().value(row),
                column("on").as_boolean().value(row),
                gait.values().as_string::<i32>().value(gait.key(row).unwrap()),
                column("small").as_primitive::<Int8Type>().value(row),
                [0, 1, 2, 3, 4, 5, 6, 7].map(|n| flags.as_boolean().value(n)),
                // A field whose name is taken has another one.
                column("entity_").as_primitive::<UInt16Type>().value(row),
                column("count").as_primitive::<Int16Type>().value(row),
            );
            (column("entity").as_primitive::<UInt64Type>().value(row), key)
        })
        .collect()
}

/// A world in which entities were spawned and despawned, with several tables, gaps, holes and extra rows.
fn random_world(seed: u64) -> World {
    let mut rng = Rng::new(seed);
    let mut world = World::new();
    let mut entities = Vec::new();
    let none = world.spawn(());
    world.spawn(Linear::random(&mut rng, none));
    world.spawn(InPool::random(&mut rng, none));
    world.pool_mut::<InPool>().set_removal(Removal::Deferred).unwrap();
    for _ in 0..rng.below(300) {
        let friend = *entities.get(rng.below(entities.len().max(1))).unwrap_or(&none);
        match rng.below(8) {
            0 => entities.push(world.spawn(InTable::random(&mut rng, friend))),
            1 => entities.push(world.spawn((InTable::random(&mut rng, friend), Other(1)))),
            2 => entities.push(world.spawn((Lanes::random(&mut rng, friend), InPool::random(&mut rng, friend)))),
            3 => entities.push(world.spawn((Linear::random(&mut rng, friend), Other(2)))),
            4 => world.insert(friend, InPool::random(&mut rng, friend)).unwrap(),
            5 => drop(world.remove::<InPool>(friend)),
            6 if friend != none => {
                entities.retain(|entity| *entity != friend);
                world.despawn(friend).unwrap();
            }
            _ => {
                let row = (InTable::random(&mut rng, friend), InPool::random(&mut rng, friend));
                let _ = world.add_row(Key::main(friend).with_role(Role(1 + rng.below(3) as u32)), row);
            }
        }
    }
    world
}

fn sorted(mut rows: Vec<(u64, String)>) -> Vec<(u64, String)> {
    rows.sort();
    rows
}

macro_rules! check_layout {
    ($world:expr, $name:ident, $get:expr) => {{
        let world: World = $world;
        let get: fn(&World, Entity) -> Option<String> = $get;
        let expected: Vec<_> =
            world.iter().filter_map(|entity| Some((entity.to_bits(), get(&world, entity)?))).collect();
        let expected = sorted(expected);
        if world.component_id::<$name>().is_some() {
            // A living world is copied; with conditions, row by row.
            let name = stringify!($name);
            let mapping = Mapping::new().component::<$name>().named(&phalanx_snake(name));
            for query in [name.to_owned(), format!("{name}, {name}.level >= 0"), format!("{name} sort {name}.id")] {
                let batch = extract(&world, &query).unwrap();
                let mut other = World::new();
                let made = spawn(&mut other, &batch, &mapping).unwrap();
                let old = batch.column(0).as_primitive::<UInt64Type>().values();
                let rows = made.iter().zip(old).map(|(entity, old)| (*old, get(&other, *entity).unwrap()));
                assert_eq!(sorted(rows.collect()), expected, "{query}");
            }
        }
        let frozen = FrozenWorld::new(world);
        let batches = frozen.component::<$name>().unwrap();
        assert_eq!(sorted(batches.iter().flat_map(keys).collect()), expected);
        // Rows and columns can be chosen.
        if let Some(id) = frozen.world().component_id::<$name>() {
            let table = frozen.table(id).unwrap();
            assert_eq!((table.len(), table.parts()), (expected.len(), batches.len()));
            for (part, batch) in batches.iter().enumerate() {
                let half = batch.num_rows() / 2;
                let rest = table.batch(part, None, half..batch.num_rows()).unwrap();
                assert_eq!(keys(&rest), keys(&batch.slice(half, batch.num_rows() - half)));
                let two = table.batch(part, Some(&[3, 0]), 0..half).unwrap();
                assert_eq!((two.num_columns(), two.num_rows()), (2, half));
                assert_eq!(two.column(1), &batch.column(0).slice(0, half));
            }
        }
        // The import has the same bits, in any layout.
        let mut other = World::new();
        for batch in &batches {
            let made = spawn(&mut other, batch, &Mapping::new().component::<$name>()).unwrap();
            let values: Vec<_> = made.iter().map(|entity| get(&other, *entity).unwrap()).collect();
            assert_eq!(values, keys(batch).into_iter().map(|(_, key)| key).collect::<Vec<_>>());
        }
        drop(batches);
        frozen.thaw().unwrap()
    }};
}

fn phalanx_snake(name: &str) -> String {
    match name {
        "InTable" => "in_table".into(),
        "InPool" => "in_pool".into(),
        name => name.to_lowercase(),
    }
}

#[test]
fn all_scalars_of_all_layouts_have_their_bits() {
    for seed in 0..30 {
        let world = random_world(seed);
        let world = check_layout!(world, InTable, |world, e| world.get::<InTable>(e).ok().map(|v| v.key()));
        let world = check_layout!(world, Lanes, |world, e| world.get::<Lanes>(e).ok().map(|v| v.key()));
        let world = check_layout!(world, InPool, |world, e| world.get::<InPool>(e).ok().map(|v| v.key()));
        let world = check_layout!(world, Linear, |world, e| world.get::<Linear>(e).ok().map(|v| v.key()));
        world.validate().unwrap();
    }
}

/// Joins by text query agree with typed queries, and what is asked for with `?` is null where it is missing.
#[test]
fn extracts_join_components() {
    for seed in 0..10 {
        let world = random_world(seed);
        if world.component_id::<Other>().is_none() || world.component_id::<InTable>().is_none() {
            continue;
        }
        let batch = extract(&world, "Other, ?InTable, ?Lanes, !InPool").unwrap();
        let entities = batch.column(0).as_primitive::<UInt64Type>();
        let expected: BTreeMap<u64, _> = world
            .query_filtered::<(Entity, &Other, Option<&InTable>), phalanx::Without<InPool>>()
            .iter()
            .map(|(entity, other, value)| (entity.to_bits(), (other.0, value.map(|value| value.sum))))
            .collect();
        assert_eq!(batch.num_rows(), expected.len());
        let sums = batch.column_by_name("in_table_sum").unwrap().as_primitive::<Int64Type>();
        let lists = batch.column_by_name("in_table_at").unwrap();
        for row in 0..batch.num_rows() {
            let (other, sum) = expected[&entities.value(row)];
            assert_eq!(batch.column_by_name("other").unwrap().as_primitive::<UInt8Type>().value(row), other);
            assert_eq!((sums.is_valid(row).then(|| sums.value(row)), lists.is_valid(row)), (sum, sum.is_some()));
        }
        if let Some(lanes) = batch.column_by_name("lanes_inner") {
            assert_eq!(lanes.null_count(), batch.num_rows());
        }
    }
}

#[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Person {
    name: String,
    tags: Vec<String>,
    age: Option<u32>,
    gait: Pace,
    home: (f32, f64),
}
#[derive(Reflect, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Pace {
    Slow,
    Fast,
}
#[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[component(layout = "pool")]
struct Path(Vec<[f32; 2]>);
#[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Bag {
    items: Vec<u16>,
}
#[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Label {
    text: String,
}
#[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Nested(Inside);
#[derive(Reflect, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Inside {
    at: Only,
    list: Vec<u8>,
}
#[derive(Reflect, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Only {
    n: u8,
}
#[derive(Component, Clone, Debug, PartialEq)]
struct Unknown(Vec<u8>, u8);

/// Structs with one field have its name, newtypes do not, and the readable form is followed through both.
#[test]
fn structs_with_one_field_have_its_name() {
    let mut registry = Registry::new();
    registry.serde::<Bag>("bag").unwrap();
    registry.serde::<Label>("label").unwrap();
    registry.serde::<Nested>("nested").unwrap();
    let registry = Arc::new(registry);
    let values =
        (Bag { items: vec![1, 2] }, Label { text: "x".into() }, Nested(Inside { at: Only { n: 5 }, list: vec![7] }));
    let mut world = World::new();
    world.spawn(values.clone());
    let joined = extract_with(&world, &registry, "Bag, Label, Nested").unwrap();
    let names: Vec<_> = joined.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["entity", "bag_items", "label_text", "nested_at", "nested_list"]);
    assert_eq!(joined.column(1).as_string::<i32>().value(0), "[1,2]");
    assert_eq!(joined.column(4).as_string::<i32>().value(0), "[7]");
    let mapping =
        Mapping::new().registry(&registry).component::<Bag>().named("bag").component::<Label>().named("label");
    let mapping = mapping.component::<Nested>().named("nested");
    let mut other = World::new();
    let made = spawn(&mut other, &joined, &mapping).unwrap();
    let read = (other.get::<Bag>(made[0]), other.get::<Label>(made[0]), other.get::<Nested>(made[0]));
    assert_eq!((read.0.unwrap(), read.1.unwrap(), read.2.unwrap()), (&values.0, &values.1, &values.2));
}

#[test]
fn texts_are_texts_and_what_serde_knows_is_json() {
    let mut registry = Registry::new();
    registry.serde::<Person>("person").unwrap();
    registry.serde::<Path>("walked path").unwrap();
    let registry = Arc::new(registry);
    let mut world = World::new();
    let people: Vec<_> = (0..50)
        .map(|n| Person {
            name: "né ".repeat(n),
            tags: (0..n % 4).map(|n| format!("tag \"{n}\"")).collect(),
            age: (n % 3 > 0).then_some(n as u32),
            gait: if n % 2 == 0 { Pace::Slow } else { Pace::Fast },
            home: (f32::NAN, n as f64),
        })
        .collect();
    for (n, person) in people.iter().enumerate() {
        let e = world.spawn((person.clone(), Unknown(vec![1], 2)));
        if n % 5 == 0 {
            world.insert(e, Path(vec![[1.0, n as f32]])).unwrap();
        }
    }
    let joined = extract_with(&world, &registry, "Person, ?Path").unwrap();
    assert_eq!(joined.column_by_name("walked_path").unwrap().null_count(), 40);
    let frozen = FrozenWorld::with_registry(world, registry.clone());
    assert!(frozen.components().iter().map(|(name, _)| name.as_str()).eq(["person", "unknown", "walked_path"]));
    let batch = frozen.component::<Person>().unwrap().remove(0);
    assert_eq!(batch.column_by_name("name").unwrap().as_string::<i32>().value(2), "né né ");
    assert_eq!(batch.column_by_name("tags").unwrap().as_string::<i32>().value(2), r#"["tag \"0\"","tag \"1\""]"#);
    assert_eq!(batch.column_by_name("age").unwrap().as_string::<i32>().value(3), "null");
    let paths = frozen.component::<Path>().unwrap().remove(0);
    assert_eq!(paths.column_by_name("value").unwrap().as_string::<i32>().value(1), "[[1.0,5.0]]");
    // Nothing is known of the first field of the last component: it is named, and left out.
    let unknown = frozen.component::<Unknown>().unwrap().remove(0);
    assert_eq!(unknown.num_columns(), 2);
    assert_eq!(unknown.schema().metadata()["phalanx.opaque"], "0");

    let mut other = World::new();
    let mapping = Mapping::new().component::<Person>().registry(&registry);
    let made = spawn(&mut other, &batch, &mapping).unwrap();
    for (entity, person) in made.iter().zip(&people) {
        let read = other.get::<Person>(*entity).unwrap();
        assert!(read.home.0.is_nan());
        assert_eq!(format!("{read:?}"), format!("{person:?}"));
    }
    let mapping = Mapping::new().component::<Path>().registry(&registry);
    let made = spawn(&mut other, &paths, &mapping).unwrap();
    assert_eq!(other.get::<Path>(made[1]).unwrap(), &Path(vec![[1.0, 5.0]]));
}

#[derive(Component, Clone, Copy)]
struct Speed(f32);
#[derive(Component, Clone, Copy)]
struct At([f32; 3]);
#[derive(Component, Soa, Clone, Copy)]
#[component(layout = "soa")]
struct Split {
    x: f64,
    n: u32,
}
#[derive(Component)]
struct Tag;

/// What has the layout of Arrow is not copied: nothing is allocated that grows with the rows.
#[test]
fn memory_is_lent_where_its_layout_is_that_of_arrow() {
    let mut world = World::new();
    world.spawn_batch((0..100_000).map(|n| (Speed(n as f32), At([n as f32; 3]), Split { x: 1.0, n }, Tag)));
    let frozen = FrozenWorld::new(world);
    let ids = [
        frozen.world().component_id::<Speed>().unwrap(),
        frozen.world().component_id::<At>().unwrap(),
        frozen.world().component_id::<Split>().unwrap(),
    ];
    for id in ids {
        let table = frozen.table(id).unwrap();
        let fields: Vec<_> = (1..table.schema().fields().len()).collect();
        let (batch, usage) = measure(|| table.batch(0, Some(&fields), 0..100_000).unwrap());
        assert!(usage.bytes_allocated < 4096, "{} bytes for {id:?}", usage.bytes_allocated);
        assert_eq!(batch.num_rows(), 100_000);
    }
    // Entities are converted once for each table.
    let first = frozen.component::<Tag>().unwrap().remove(0);
    assert_eq!((first.num_columns(), first.num_rows()), (1, 100_000));
    let (_, usage) = measure(|| frozen.component::<Speed>().unwrap());
    assert!(usage.bytes_allocated < 8192, "{} bytes", usage.bytes_allocated);
    // A batch keeps the world, also when all else is gone and on another thread.
    let speeds = frozen.component::<Speed>().unwrap().remove(0);
    drop((frozen, first));
    let sum = std::thread::spawn(move || speeds.column(1).as_primitive::<Float32Type>().values().iter().sum::<f32>());
    assert!(sum.join().unwrap() > 0.0);
}

#[test]
fn a_world_in_use_is_not_thawed() {
    let mut world = World::new();
    world.spawn(Speed(1.0));
    let frozen = FrozenWorld::new(world);
    let slice = frozen.component::<Speed>().unwrap().remove(0).column(1).slice(0, 1);
    let error = frozen.thaw().unwrap_err();
    assert!(error.to_string().contains("still used by 1"), "{error}");
    let frozen = error.into_inner();
    let clone = frozen.clone();
    drop(slice);
    let frozen = frozen.thaw().unwrap_err().into_inner();
    drop(clone);
    assert_eq!(frozen.thaw().unwrap().len(), 1);
}

#[test]
fn extra_rows_have_their_keys_and_values() {
    #[derive(Component, Clone, Copy)]
    struct Item {
        count: u32,
        role: u8,
        at: [f32; 2],
    }
    #[derive(Component, Clone, Copy)]
    #[component(layout = "pool")]
    struct Charm(u64);
    #[derive(Component, Clone, Copy)]
    #[component(layout = "linear")]
    struct Age(u16);

    let mut world = World::new();
    let entities: Vec<_> = (0..10).map(|n| world.spawn((Age(n), Charm(1)))).collect();
    let item = world.register_component::<Item>();
    for (n, entity) in entities.iter().enumerate() {
        let key = Key::main(*entity);
        let value = Item { count: n as u32, role: 7, at: [n as f32, f32::NAN] };
        world.add_row(key.with_role(Role(2)), (value, Charm(n as u64))).unwrap();
        if n % 3 == 0 {
            world.add_row(key.with_component(item).with_role(Role(5)), (value, Age(n as u16))).unwrap();
        }
    }
    world.despawn(entities[4]).unwrap();
    let [items, charms, ages] = [item, world.component_id::<Charm>().unwrap(), world.component_id::<Age>().unwrap()]
        .map(|id| phalanx_arrow::extra_rows(&world, None, id).unwrap());
    let names: Vec<_> = items.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["entity", "about", "role", "count", "role_", "at"]);
    let text = |batch: &RecordBatch, row: usize| {
        let about = batch.column(1).as_string::<i32>();
        about.is_valid(row).then(|| about.value(row).to_owned())
    };
    let number = |batch: &RecordBatch, column: usize, row: usize| as_u64(batch.column(column), row);
    let keys = |batch: &RecordBatch, value: usize| {
        let mut rows: Vec<_> = (0..batch.num_rows())
            .map(|row| (number(batch, 0, row), text(batch, row), number(batch, 2, row), number(batch, value, row)))
            .collect();
        rows.sort();
        rows
    };
    let about = |key: Key| key.component.map(|_| "item".to_owned());
    let expect = |mut rows: Vec<_>| {
        rows.sort();
        rows
    };
    let key = |key: Key, value: u64| (key.entity.to_bits(), about(key), u64::from(key.role.0), value);
    let typed = world.query_filtered::<(Key, &Item), ExtraRows>();
    assert_eq!(keys(&items, 3), expect(typed.iter().map(|(k, item)| key(k, item.count.into())).collect()));
    let typed = world.query_filtered::<(Key, &Charm), ExtraRows>();
    assert_eq!(keys(&charms, 3), expect(typed.iter().map(|(k, charm)| key(k, charm.0)).collect()));
    let typed = world.query_filtered::<(Key, &Age), ExtraRows>();
    assert_eq!(keys(&ages, 3), expect(typed.iter().map(|(k, age)| key(k, age.0.into())).collect()));
    assert_eq!((items.num_rows(), charms.num_rows(), ages.num_rows()), (9 + 4, 9, 4));
    let at = items.column(5).as_fixed_size_list().value(0);
    assert!(at.as_primitive::<Float32Type>().value(1).is_nan());
    // The tables of the components have main rows only.
    let frozen = FrozenWorld::new(world);
    assert_eq!(frozen.component::<Charm>().unwrap()[0].num_rows(), 9);
    assert!(frozen.component::<Item>().unwrap().is_empty());
}

/// Returns a number of any width.
fn as_u64(column: &ArrayRef, row: usize) -> u64 {
    match column.data_type() {
        DataType::UInt16 => column.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into(),
        _ => column.as_primitive::<UInt64Type>().value(row),
    }
}
