//! [`extra_rows`]: the values of a component in extra rows as a record batch.

use crate::component_table::{ComponentColumns, Origin, entity_array, push_text, too_long, unique};
use crate::error::TableError;
use crate::extract::source_values;
use crate::names::{self, ENTITY};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use phalanx::query::ExtraRows;
use phalanx::snapshot::Registry;
use phalanx::{ComponentId, Key, Row, World};
use std::collections::HashMap;
use std::sync::Arc;

/// Copies the values that a component has in [extra rows](phalanx::Key).
///
/// The first columns are the key of the row: `entity`, `about` and `role`. `about` is the name of the table of the key's component,
/// and null if the key has none. The columns of the fields follow. Fields that only a registry knows have none.
///
/// ```
/// use phalanx::{Component, Key, Role, World};
///
/// #[derive(Component)]
/// struct Item {
///     count: u32,
/// }
///
/// let mut world = World::new();
/// let elf = world.spawn_empty();
/// world.add_row(Key::main(elf).with_role(Role(1)), Item { count: 3 })?;
/// world.add_row(Key::main(elf).with_role(Role(2)), Item { count: 5 })?;
/// let items = phalanx_arrow::extra_rows(&world, None, world.component_id::<Item>().unwrap())?;
/// let names: Vec<_> = items.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
/// assert_eq!((names.join(" ").as_str(), items.num_rows()), ("entity about role count", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`TableError::NoSuchComponent`] if the world does not know the component, or it is that of a relation or of names.
/// - [`TableError::TooLong`] if a column has more than 2 GiB of text.
pub fn extra_rows(
    world: &World,
    registry: Option<&Registry>,
    component: ComponentId,
) -> Result<RecordBatch, TableError> {
    let columns = ComponentColumns::new(world, None, component)?;
    let tables: HashMap<_, _> = names::tables(world, registry).into_iter().map(|(name, id)| (id, name)).collect();
    let origin = Origin { world, registry: None, frozen: None };
    let mut values: Vec<_> = columns.sources.iter().map(|source| source_values(&columns, source)).collect();
    let (mut entities, mut roles, mut about) = (Vec::new(), Vec::new(), StringBuilder::new());
    for (key, row) in world.query_filtered::<(Key, Row), ExtraRows>().iter() {
        let Some(value) = world.row(row).ok().and_then(|row| row.value(component)) else { continue };
        entities.push(key.entity);
        roles.push(key.role.0);
        push_text(&mut about, key.component.and_then(|id| tables.get(&id)).map(String::as_str), "about")?;
        values.iter_mut().try_for_each(|values| values.push(&origin, key.entity, Some(value)))?;
    }
    let fields = [
        Field::new(ENTITY, DataType::UInt64, false),
        Field::new("about", DataType::Utf8, true),
        Field::new("role", DataType::UInt32, false),
    ];
    let of_component = columns.schema.fields().iter().skip(1);
    let fields: Vec<FieldRef> = fields.map(Arc::new).into_iter().chain(of_component.cloned()).collect();
    let names: Vec<String> = fields.iter().skip(3).map(|field| field.name().clone()).collect();
    let mut arrays: Vec<ArrayRef> = vec![
        Arc::new(entity_array(entities.into_iter())),
        Arc::new(about.finish()),
        Arc::new(UInt32Array::from(roles)),
    ];
    for (values, name) in values.into_iter().zip(names) {
        arrays.push(values.finish().ok_or_else(|| too_long(&name))?);
    }
    let schema = Schema::new_with_metadata(unique(fields), columns.schema.metadata().clone());
    Ok(RecordBatch::try_new(Arc::new(schema), arrays)?)
}
