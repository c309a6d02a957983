//! [`diff`] and [`diff_all`]: find the differences between two worlds.

use super::column_rows::ColumnRows;
use super::error::SaveError;
use super::field_difference::{Differences, FieldDifference, FoundDifference};
use super::part::Part;
use super::registry::{Entry, Registry};
use super::saver::{Saver, try_collect};
use crate::alloc::try_reserve;
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::rows::{Key, Row};
use crate::runs::Runs;
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;

/// A difference between two worlds, as [`diff`] finds it.
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
    let found = Differ::new(registry, a, b, None).run()?;
    Ok(found.list.first().map(|first| first.difference))
}

/// Returns the differences between two worlds, up to a limit.
///
/// They have the order of [`diff`]. With the feature `reflect`, different values of a component are listed field by field.
///
/// ```
/// use phalanx::snapshot::{Registry, diff_all};
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Health { now: u32, most: u32 }
///
/// let mut registry = Registry::new();
/// registry.plain::<Health>("health")?;
/// let (mut a, mut b) = (World::new(), World::new());
/// for n in 0..10 {
///     a.spawn(Health { now: n, most: 10 });
///     b.spawn(Health { now: n.min(7), most: 10 });
/// }
/// let found = diff_all(&registry, &a, &b, 100)?;
/// assert!(found.is_complete && found.list.len() == 2);
/// # #[cfg(feature = "reflect")]
/// assert_eq!(found.list[0].to_string(), "health of 8v0 differs: now is 8 in the first and 7 in the second");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`Registry::checksum`].
pub fn diff_all(registry: &Registry, a: &World, b: &World, limit: usize) -> Result<Differences, SaveError> {
    Differ::new(registry, a, b, Some(limit)).run()
}

/// Finds the differences between two worlds.
struct Differ<'a> {
    registry: &'a Registry,
    a: &'a World,
    b: &'a World,
    /// The number of differences to list. Without it, the first is found, without its fields.
    limit: Option<usize>,
    found: Differences,
}

/// The list is as long as it may be.
struct Full;

impl<'a> Differ<'a> {
    fn new(registry: &'a Registry, a: &'a World, b: &'a World, limit: Option<usize>) -> Differ<'a> {
        Differ { registry, a, b, limit, found: Differences { list: Vec::new(), is_complete: true } }
    }

    fn run(mut self) -> Result<Differences, SaveError> {
        let whole = Part::whole();
        for world in [self.a, self.b] {
            Saver::new(world, self.registry, &whole)?.check_canonical()?;
        }
        if self.compare()?.is_err() {
            self.found.is_complete = false;
        }
        Ok(self.found)
    }

    /// Adds a difference. Returns [`Full`] if no more can be added.
    fn add(
        &mut self,
        difference: Difference,
        fields: impl FnOnce() -> Vec<FieldDifference>,
    ) -> Result<Result<(), Full>, SaveError> {
        if self.limit.is_some_and(|limit| self.found.list.len() >= limit) {
            return Ok(Err(Full));
        }
        try_reserve(&mut self.found.list, 1)?;
        let fields = if self.limit.is_some() { fields() } else { Vec::new() };
        self.found.list.push(FoundDifference { difference, fields });
        Ok(if self.limit.is_some() { Ok(()) } else { Err(Full) })
    }

    fn compare(&mut self) -> Result<Result<(), Full>, SaveError> {
        macro_rules! add {
            ($difference:expr, $fields:expr) => {
                if self.add($difference, $fields)?.is_err() {
                    return Ok(Err(Full));
                }
            };
            ($difference:expr) => {
                add!($difference, Vec::new)
            };
        }
        let (registry, a, b) = (self.registry, self.a, self.b);
        let ids = |world: &World| {
            let id = |entry: &Entry| world.storage.components.iter().skip(1).find(|(_, info)| entry.is_of(info));
            try_collect(registry.entries.iter().map(|entry| id(entry).map(|(id, _)| id)))
        };
        let (of_a, of_b) = (ids(a)?, ids(b)?);
        let mut bytes = (Vec::new(), Vec::new());
        for slot in 0..a.storage.entities.slot_count().max(b.storage.entities.slot_count()) as u32 {
            let (in_a, in_b) = (a.storage.entities.get(slot), b.storage.entities.get(slot));
            let entity = match (in_a, in_b) {
                (Some(entity), Some(other)) if entity == other => entity,
                _ => {
                    if let Some(entity) = in_a {
                        add!(Difference::Entity { entity, in_first: true });
                    }
                    if let Some(entity) = in_b {
                        add!(Difference::Entity { entity, in_first: false });
                    }
                    continue;
                }
            };
            let (Ok(rows_a), Ok(rows_b)) = (a.rows(entity), b.rows(entity)) else { continue };
            let [rows_a, rows_b]: [Vec<(Key, Row)>; 2] = [try_collect(rows_a)?, try_collect(rows_b)?];
            let name =
                |world: &World, key: &Key| (key.component.map(|id| world.storage.components.info(id).name()), key.role);
            if !rows_a.iter().map(|(key, _)| name(a, key)).eq(rows_b.iter().map(|(key, _)| name(b, key))) {
                add!(Difference::Rows { entity });
            }
            for (key_a, row_a) in &rows_a {
                // Rows that only one of the worlds has are not compared.
                let Some((_, row_b)) = rows_b.iter().find(|(key, _)| name(b, key) == name(a, key_a)) else { continue };
                for (at, entry) in registry.entries.iter().enumerate() {
                    let component = entry.name;
                    let values = (value_of(a, row_a.0, of_a[at], entry), value_of(b, row_b.0, of_b[at], entry));
                    let (value_a, value_b) = match values {
                        (None, None) => continue,
                        (Some(value_a), Some(value_b)) => (value_a, value_b),
                        (in_a, _) => {
                            add!(Difference::Component { entity, component, in_first: in_a.is_some() });
                            continue;
                        }
                    };
                    for (value, bytes) in [(value_a, &mut bytes.0), (value_b, &mut bytes.1)] {
                        bytes.clear();
                        let done = entry.column.encode(value, bytes);
                        done.map_err(|error| SaveError::Codec { name: component, error })?;
                    }
                    if bytes.0 != bytes.1 {
                        let fields = || FieldDifference::list((a, row_a.0, of_a[at]), (b, row_b.0, of_b[at]));
                        add!(Difference::Value { entity, component }, fields);
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
                add!(Difference::Resource { name: entry.name });
            }
        }
        if self.found.list.is_empty() && registry.checksum(a)? != registry.checksum(b)? {
            add!(Difference::Order);
        }
        Ok(Ok(()))
    }
}

/// Returns the value of a slot, if it has one.
pub(super) fn value_of<'a>(
    world: &'a World,
    slot: Entity,
    id: Option<ComponentId>,
    entry: &Entry,
) -> Option<ColumnRows<'a>> {
    let (id, storage) = (id?, &world.storage);
    if entry.kind != Kind::Table {
        let sparse = storage.sparse.of(id)?;
        let row = sparse.row(slot.index())?;
        return Some(ColumnRows::of_sparse(&storage.components, sparse, Runs::One(row)));
    }
    let at = storage.try_location(slot).ok()?;
    ColumnRows::of_table(storage, at.table, id, Runs::One(at.row))
}
