//! Bad input gets an error that names it, and changes nothing.

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, LargeStringArray, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use phalanx::reflect::Reflect;
use phalanx::{Component, Entity, Plain, World};
use phalanx_arrow::{FrozenWorld, ImportError, Mapping, TableError, extract, spawn};
use std::num::NonZero;
use std::sync::Arc;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Count(NonZero<u32>);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Letter(char);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Target(Entity);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Mood(Feeling);
#[derive(Reflect, Plain, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Feeling {
    Glad,
    Sad,
}
#[derive(Component)]
struct Text(#[allow(dead_code)] String);

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn refused(batch: &RecordBatch, mapping: &Mapping<'_>) -> ImportError {
    let mut world = World::new();
    let error = spawn(&mut world, batch, mapping).unwrap_err();
    assert_eq!(world.len(), 0, "{error}");
    error
}

#[test]
fn batches_that_are_no_components_are_refused() {
    let position = Mapping::new().component::<Position>();
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0]));
    let error = refused(&batch(vec![("x", x.clone())]), &position);
    assert!(matches!(&error, ImportError::MissingColumn { column, .. } if column == "y"), "{error}");
    let wide: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let error = refused(&batch(vec![("x", x.clone()), ("y", wide)]), &position);
    assert_eq!(error.to_string(), "column \"y\" has the type Float64, and not Float32");
    let holes: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.0), None]));
    let error = refused(&batch(vec![("x", x.clone()), ("y", holes)]), &position);
    assert_eq!(error.to_string(), "row 1 of y: there is no value");
    let both = batch(vec![("x", x.clone()), ("y", x.clone())]);
    let error = refused(&both, &Mapping::new().component::<Position>().component::<Position>());
    assert!(error.to_string().contains("twice"), "{error}");
    let error = refused(&both, &Mapping::new().component::<Position>().named("position"));
    assert!(matches!(&error, ImportError::MissingColumn { column, .. } if column == "position_x"), "{error}");
    let texts = batch(vec![("value", Arc::new(StringArray::from(vec!["a"])))]);
    let error = refused(&texts, &Mapping::new().component::<Text>());
    assert!(matches!(error, ImportError::NotImportable { .. }), "{error}");
}

#[test]
fn values_that_a_type_does_not_have_are_refused() {
    for (numbers, mapping) in
        [(vec![3, 0], Mapping::new().component::<Count>()), (vec![65, 0xD800], Mapping::new().component::<Letter>())]
    {
        let error = refused(&batch(vec![("value", Arc::new(UInt32Array::from(numbers)))]), &mapping);
        assert!(matches!(error, ImportError::WrongValue { row: 1, .. }), "{error}");
    }
    let entities = batch(vec![("value", Arc::new(UInt64Array::from(vec![0, u64::MAX])))]);
    let error = refused(&entities, &Mapping::new().component::<Target>());
    assert!(error.to_string().contains("is not an entity"), "{error}");
    // A file may have texts where a world has an enum.
    let mood = Mapping::new().component::<Mood>();
    let moods = batch(vec![("value", Arc::new(LargeStringArray::from(vec!["Sad", "Glad"])))]);
    let mut world = World::new();
    let made = spawn(&mut world, &moods, &mood).unwrap();
    assert_eq!(world.get::<Mood>(made[0]).unwrap(), &Mood(Feeling::Sad));
    let moods = batch(vec![("value", Arc::new(StringArray::from(vec!["Sad", "Mad"])))]);
    assert!(refused(&moods, &mood).to_string().contains("\"Mad\" is not a variant"));
    let moods = batch(vec![("value", Arc::new(Int32Array::from(vec![0])))]);
    assert!(matches!(refused(&moods, &mood), ImportError::WrongType { .. }));
}

#[test]
fn tables_have_the_parts_and_columns_that_they_say() {
    let mut world = World::new();
    world.spawn_batch((0..10).map(|n| Position { x: n as f32, y: 0.0 }));
    assert!(matches!(extract(&world, "Positron"), Err(TableError::Query(_))));
    let frozen = FrozenWorld::new(world);
    let table = frozen.table(frozen.world().component_id::<Position>().unwrap()).unwrap();
    assert!(matches!(table.batch(1, None, 0..1), Err(TableError::OutOfRange { what: "part", at: 1, len: 1 })));
    assert!(matches!(table.batch(0, None, 5..11), Err(TableError::OutOfRange { what: "row", at: 11, len: 10 })));
    assert!(matches!(table.batch(0, Some(&[9]), 0..1), Err(TableError::Arrow(_))));
    assert!(frozen.component::<Count>().unwrap().is_empty());
    // The component of extra rows has a number, but no table.
    let ids: Vec<_> = frozen.world().components().iter().map(|(id, _)| id).collect();
    assert!(matches!(frozen.table(ids[0]), Err(TableError::NoSuchComponent { .. })));
    let error = World::new();
    assert!(matches!(FrozenWorld::new(error).table(ids[1]), Err(TableError::NoSuchComponent { .. })));
}
