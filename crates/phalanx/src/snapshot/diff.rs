//! [`diff`]: finds the first difference between two worlds.

use super::column_rows::ColumnRows;
use super::error::SaveError;
use super::part::Part;
use super::registry::{Entry, Registry};
use super::runs::Runs;
use super::saver::{Saver, try_collect};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::rows::{Key, Row};
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;

/// The first difference between two worlds, as [`diff`] finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// An entity is alive in one world only.
    Entity {
        /// The entity.
        entity: Entity,
        /// Whether it is alive in the first world.
        in_first: bool,
    },
    /// A row of an entity has a component in one world only.
    Component {
        /// The entity.
        entity: Entity,
        /// The name of the component.
        component: &'static str,
        /// Whether it is present in the first world.
        in_first: bool,
    },
    /// A component has different values.
    Value {
        /// The entity.
        entity: Entity,
        /// The name of the component.
        component: &'static str,
    },
    /// An entity has different extra rows, or in another order.
    Rows {
        /// The entity.
        entity: Entity,
    },
    /// A resource is present in one world only, or has different values.
    Resource {
        /// The name of the resource.
        name: &'static str,
    },
    /// All values are equal. An order, the free list, or the empty tables, sparse sets and groups differ.
    Order,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = |first: &bool| if *first { "first" } else { "second" };
        match self {
            Difference::Entity { entity, in_first } => write!(f, "{entity} is alive in the {} only", which(in_first)),
            Difference::Component { entity, component, in_first } => {
                write!(f, "{entity} has {component} in the {} only", which(in_first))
            }
            Difference::Value { entity, component } => write!(f, "{component} of {entity} differs"),
            Difference::Rows { entity } => write!(f, "the extra rows of {entity} differ"),
            Difference::Resource { name } => write!(f, "the resource {name} differs"),
            Difference::Order => f.write_str("the values are equal, but not an order, or the handles to come"),
        }
    }
}

/// Returns the first difference between two worlds, or `None` if they are equal.
///
/// Worlds are compared by entity, then by component in the order of registration, then by resource, then by order. [Change
/// ticks](crate::change_detection) do not affect the result.
///
/// ```
/// use phalanx::snapshot::{Difference, Registry, diff};
/// use phalanx::{Component, World};
///
/// #[derive(Component, serde::Serialize, serde::Deserialize)]
/// struct Health(u32);
///
/// let mut registry = Registry::new();
/// registry.serde::<Health>("health")?;
/// let (mut a, mut b) = (World::new(), World::new());
/// let (e, _) = (a.spawn(Health(1)), b.spawn(Health(2)));
/// assert_eq!(diff(&registry, &a, &b)?, Some(Difference::Value { entity: e, component: "health" }));
/// b.get_mut::<Health>(e)?.0 = 1;
/// assert_eq!(diff(&registry, &a, &b)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`Registry::checksum`].
pub fn diff(registry: &Registry, a: &World, b: &World) -> Result<Option<Difference>, SaveError> {
    let whole = Part::whole();
    for world in [a, b] {
        Saver::new(world, registry, &whole)?.check_canonical()?;
    }
    let ids = |world: &World| {
        let id = |entry: &Entry| world.storage.components.iter().skip(1).find(|(_, info)| entry.is_of(info));
        try_collect(registry.entries.iter().map(|entry| id(entry).map(|(id, _)| id)))
    };
    let (of_a, of_b) = (ids(a)?, ids(b)?);
    let mut bytes = (Vec::new(), Vec::new());
    for slot in 0..a.storage.entities.slot_count().max(b.storage.entities.slot_count()) as u32 {
        let (in_a, in_b) = (a.storage.entities.get(slot), b.storage.entities.get(slot));
        let entity = match (in_a, in_b) {
            (None, None) => continue,
            (Some(entity), other) if other != Some(entity) => {
                return Ok(Some(Difference::Entity { entity, in_first: true }));
            }
            (None, Some(entity)) => return Ok(Some(Difference::Entity { entity, in_first: false })),
            (Some(entity), _) => entity,
        };
        let (Ok(rows_a), Ok(rows_b)) = (a.rows(entity), b.rows(entity)) else { continue };
        let [rows_a, rows_b]: [Vec<(Key, Row)>; 2] = [try_collect(rows_a)?, try_collect(rows_b)?];
        let name =
            |world: &World, key: &Key| (key.component.map(|id| world.storage.components.info(id).name()), key.role);
        if !rows_a.iter().map(|(key, _)| name(a, key)).eq(rows_b.iter().map(|(key, _)| name(b, key))) {
            return Ok(Some(Difference::Rows { entity }));
        }
        for ((_, row_a), (_, row_b)) in rows_a.iter().zip(&rows_b) {
            for (at, entry) in registry.entries.iter().enumerate() {
                let component = entry.name;
                let values = (value_of(a, row_a.0, of_a[at], entry), value_of(b, row_b.0, of_b[at], entry));
                let (value_a, value_b) = match values {
                    (None, None) => continue,
                    (Some(value_a), Some(value_b)) => (value_a, value_b),
                    (in_a, _) => {
                        let in_first = in_a.is_some();
                        return Ok(Some(Difference::Component { entity, component, in_first }));
                    }
                };
                for (value, bytes) in [(value_a, &mut bytes.0), (value_b, &mut bytes.1)] {
                    bytes.clear();
                    let done = entry.column.encode(value, bytes);
                    done.map_err(|error| SaveError::Codec { name: component, error })?;
                }
                if bytes.0 != bytes.1 {
                    return Ok(Some(Difference::Value { entity, component }));
                }
            }
        }
    }
    for entry in &registry.resources {
        let value = |world: &World| {
            let there = world.resources.types().any(|(type_id, _)| type_id == entry.type_id);
            let mut bytes = Vec::new();
            let done = if there { entry.value.encode(world, &mut bytes) } else { Ok(()) };
            done.map(|()| (there, bytes)).map_err(|error| SaveError::Codec { name: entry.name, error })
        };
        if value(a)? != value(b)? {
            return Ok(Some(Difference::Resource { name: entry.name }));
        }
    }
    Ok((registry.checksum(a)? != registry.checksum(b)?).then_some(Difference::Order))
}

/// Returns the value of a slot, if it has one.
fn value_of<'a>(world: &'a World, slot: Entity, id: Option<ComponentId>, entry: &Entry) -> Option<ColumnRows<'a>> {
    let (id, storage) = (id?, &world.storage);
    if entry.kind != Kind::Table {
        let sparse = storage.sparse.of(id)?;
        let row = sparse.row(slot.index())?;
        return Some(ColumnRows::of_sparse(&storage.components, sparse, Runs::One(row)));
    }
    let at = storage.try_location(slot).ok()?;
    ColumnRows::of_table(storage, at.table, id, Runs::One(at.row))
}
