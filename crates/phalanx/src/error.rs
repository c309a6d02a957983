//! The errors of worlds, entities, components, rows and resources.

use crate::component::ComponentId;
use crate::rows::{Key, Row};
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// The error of an operation on an entity that is not alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchEntity {
    /// The entity.
    pub entity: Entity,
}

impl fmt::Display for NoSuchEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no such entity: {}", self.entity)
    }
}

/// The error of access to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComponentError {
    /// The entity is not alive.
    NoSuchEntity(NoSuchEntity),
    /// The entity does not have the component.
    MissingComponent {
        /// The entity.
        entity: Entity,
        /// The component.
        component: &'static str,
    },
    /// The entity has a component that the query's filter, or the group, excludes.
    ExcludedComponent {
        /// The entity.
        entity: Entity,
        /// The component.
        component: &'static str,
    },
    /// The entity has the component, but its value was not added or changed as the query's filter requires.
    UnchangedComponent {
        /// The entity.
        entity: Entity,
        /// The component.
        component: &'static str,
    },
    /// The values of the component are split into several columns, so they have no address.
    NoAddress {
        /// The component.
        component: &'static str,
    },
    /// An entity occurs twice in a list of distinct entities.
    DuplicateEntity {
        /// The entity.
        entity: Entity,
    },
    /// Allocation failed.
    Alloc(AllocError),
}

impl From<AllocError> for ComponentError {
    fn from(error: AllocError) -> Self {
        ComponentError::Alloc(error)
    }
}

impl From<NoSuchEntity> for ComponentError {
    fn from(error: NoSuchEntity) -> Self {
        ComponentError::NoSuchEntity(error)
    }
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ComponentError::NoSuchEntity(error) => error.fmt(f),
            ComponentError::MissingComponent { entity, component } => write!(f, "{entity} has no {component}"),
            ComponentError::UnchangedComponent { entity, component } => {
                write!(f, "{component} of {entity} has not changed since the last run")
            }
            ComponentError::ExcludedComponent { entity, component } => {
                write!(f, "{entity} has {component}, which is excluded")
            }
            ComponentError::NoAddress { component } => {
                write!(f, "{component} is split into columns and has no address")
            }
            ComponentError::DuplicateEntity { entity } => write!(f, "{entity} occurs twice"),
            ComponentError::Alloc(error) => error.fmt(f),
        }
    }
}

/// The error of a bundle that contains a component twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateComponent {
    /// The component.
    pub component: &'static str,
}

impl fmt::Display for DuplicateComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bundle contains {} twice", self.component)
    }
}

/// The error of a structural change: spawning, despawning, inserting or removing.
///
/// The world is unchanged if an operation returns it, unless the operation says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StructuralError {
    /// The entity is not alive.
    NoSuchEntity(NoSuchEntity),
    /// The bundle contains a component twice.
    Duplicate(DuplicateComponent),
    /// The entity does not have a component that was to be removed.
    Missing {
        /// The entity.
        entity: Entity,
        /// The component.
        component: &'static str,
    },
    /// The slot of the entity is not free.
    SlotOccupied {
        /// The entity that was to be spawned.
        entity: Entity,
        /// The live entity in the slot. `None` if the slot has a later generation, or does not exist.
        by: Option<Entity>,
    },
    /// The columns have different lengths.
    UnequalColumns(UnequalColumns),
    /// The component cannot be cloned.
    NotClone {
        /// The component.
        component: &'static str,
    },
    /// The entity was reserved by a command buffer in another world.
    AnotherWorld {
        /// The entity.
        entity: Entity,
    },
    /// The entity was reserved by a command buffer in a state of the world that was discarded, for example by
    /// [`World::rollback`](crate::World::rollback).
    RolledBack {
        /// The entity.
        entity: Entity,
    },
    /// A [kept](crate::ResourcesMut::keep) resource is borrowed by a scope, so the world cannot be cloned.
    Resource(NoSuchResource),
    /// Allocation failed.
    Alloc(AllocError),
    /// The operation on a link is not possible, or a relation refuses a despawn. Errors of the entity or the allocation have
    /// variants above.
    Relation(RelationError),
    /// The operation on an extra row is not possible. Errors of the entity, the bundle or the allocation have variants above.
    Row(RowError),
}

/// The error of columns with different lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnequalColumns {
    /// The component of the first column, and its length.
    pub first: (&'static str, usize),
    /// The component of the first column with another length, and that length.
    pub other: (&'static str, usize),
}

impl fmt::Display for UnequalColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((first, first_len), (other, other_len)) = (self.first, self.other);
        write!(f, "columns of unequal length: {first_len} of {first}, {other_len} of {other}")
    }
}

impl fmt::Display for StructuralError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StructuralError::NoSuchEntity(error) => error.fmt(f),
            StructuralError::Duplicate(error) => error.fmt(f),
            StructuralError::Missing { entity, component } => write!(f, "{entity} has no {component}"),
            StructuralError::SlotOccupied { entity, by: Some(by) } => {
                write!(f, "{entity} cannot be spawned: {by} is alive in its slot")
            }
            StructuralError::SlotOccupied { entity, by: None } => {
                write!(f, "{entity} cannot be spawned: its slot has a later generation, or does not exist")
            }
            StructuralError::UnequalColumns(error) => error.fmt(f),
            StructuralError::NotClone { component } => write!(f, "{component} cannot be cloned"),
            StructuralError::AnotherWorld { entity } => write!(f, "{entity} was reserved in another world"),
            StructuralError::RolledBack { entity } => write!(f, "the reservation of {entity} was rolled back"),
            StructuralError::Resource(error) => error.fmt(f),
            StructuralError::Alloc(error) => error.fmt(f),
            StructuralError::Row(error) => error.fmt(f),
            StructuralError::Relation(error) => error.fmt(f),
        }
    }
}

impl From<NoSuchEntity> for StructuralError {
    fn from(error: NoSuchEntity) -> Self {
        StructuralError::NoSuchEntity(error)
    }
}
impl From<DuplicateComponent> for StructuralError {
    fn from(error: DuplicateComponent) -> Self {
        StructuralError::Duplicate(error)
    }
}
impl From<UnequalColumns> for StructuralError {
    fn from(error: UnequalColumns) -> Self {
        StructuralError::UnequalColumns(error)
    }
}
impl From<NoSuchResource> for StructuralError {
    fn from(error: NoSuchResource) -> Self {
        StructuralError::Resource(error)
    }
}
impl From<AllocError> for StructuralError {
    fn from(error: AllocError) -> Self {
        StructuralError::Alloc(error)
    }
}
impl From<RowError> for StructuralError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::NoSuchEntity(error) => StructuralError::NoSuchEntity(error),
            RowError::Duplicate(error) => StructuralError::Duplicate(error),
            RowError::Alloc(error) => StructuralError::Alloc(error),
            error => StructuralError::Row(error),
        }
    }
}

impl From<RelationError> for StructuralError {
    fn from(error: RelationError) -> Self {
        match error {
            RelationError::NoSuchEntity(error) => StructuralError::NoSuchEntity(error),
            RelationError::Alloc(error) => StructuralError::Alloc(error),
            error => StructuralError::Relation(error),
        }
    }
}

/// The error of an operation on the links of a [relation](crate::relation). The world is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelationError {
    /// The entity is not alive.
    NoSuchEntity(NoSuchEntity),
    /// The target of the link is its source, or is below it in the tree.
    Cycle {
        /// The relation.
        relation: &'static str,
        /// The source of the link.
        source: Entity,
        /// The target of the link.
        target: Entity,
    },
    /// The target of a one-to-one relation has another source.
    Occupied {
        /// The relation.
        relation: &'static str,
        /// The target of the link.
        target: Entity,
        /// The source that it has.
        by: Entity,
    },
    /// A link was to be placed beside an entity that has another target, or none.
    NotSource {
        /// The relation.
        relation: &'static str,
        /// The entity.
        entity: Entity,
        /// The target.
        target: Entity,
    },
    /// The entity cannot be despawned: it has sources, and the relation refuses to unlink them.
    Refused {
        /// The relation.
        relation: &'static str,
        /// The entity.
        entity: Entity,
        /// The number of sources that would not be despawned with it.
        count: usize,
    },
    /// The entity would have the same [name](crate::Name) as another one with the same parent, or without a parent.
    NameTaken {
        /// The entity.
        entity: Entity,
        /// The entity that has the name.
        holder: Entity,
    },
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for RelationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RelationError::NoSuchEntity(error) => error.fmt(f),
            RelationError::Cycle { relation, source, target } => {
                write!(f, "{source} cannot be linked to {target} by {relation}: that would be a cycle")
            }
            RelationError::Occupied { relation, target, by } => {
                write!(f, "{target} is the target of {by} by {relation} already")
            }
            RelationError::NotSource { relation, entity, target } => {
                write!(f, "{entity} is not linked to {target} by {relation}")
            }
            RelationError::Refused { relation, entity, count } => {
                write!(f, "{entity} cannot be despawned: {count} entities are linked to it by {relation}")
            }
            RelationError::NameTaken { entity, holder } => {
                write!(f, "{entity} cannot have its name there: {holder} has it")
            }
            RelationError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RelationError {}

/// The error of a [name](crate::Name). The world is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty.
    Empty,
    /// The text contains `/`.
    Slash,
    /// The text is longer than [`Name::MAX_LEN`](crate::Name::MAX_LEN).
    TooLong {
        /// The number of bytes.
        len: usize,
    },
    /// The entity is not alive.
    NoSuchEntity(NoSuchEntity),
    /// Another entity with the same parent has the name, or another one without a parent.
    Taken {
        /// The entity that has the name.
        holder: Entity,
    },
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => f.write_str("a name is not empty"),
            NameError::Slash => f.write_str("a name does not contain /"),
            NameError::TooLong { len } => write!(f, "a name has at most 63 bytes, not {len}"),
            NameError::NoSuchEntity(error) => error.fmt(f),
            NameError::Taken { holder } => write!(f, "the name is taken: {holder} has it"),
            NameError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NameError {}

impl From<NoSuchEntity> for NameError {
    fn from(error: NoSuchEntity) -> Self {
        NameError::NoSuchEntity(error)
    }
}
impl From<AllocError> for NameError {
    fn from(error: AllocError) -> Self {
        NameError::Alloc(error)
    }
}

impl From<NoSuchEntity> for RelationError {
    fn from(error: NoSuchEntity) -> Self {
        RelationError::NoSuchEntity(error)
    }
}
impl From<AllocError> for RelationError {
    fn from(error: AllocError) -> Self {
        RelationError::Alloc(error)
    }
}

impl core::error::Error for NoSuchEntity {}
impl core::error::Error for ComponentError {}
impl core::error::Error for DuplicateComponent {}
impl core::error::Error for UnequalColumns {}
impl core::error::Error for StructuralError {}

/// The error of access to a resource that the world does not have, or that
/// [`World::resource_scope`](crate::World::resource_scope) has borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchResource {
    /// The type of the resource.
    pub resource: &'static str,
    /// Whether a scope has borrowed it.
    pub in_scope: bool,
}

impl fmt::Display for NoSuchResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.in_scope {
            false => write!(f, "the world has no resource {}", self.resource),
            true => write!(f, "the resource {} is borrowed by its resource_scope", self.resource),
        }
    }
}

impl core::error::Error for NoSuchResource {}

/// The error of an operation on a row of an entity. The world is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowError {
    /// The entity is not alive.
    NoSuchEntity(NoSuchEntity),
    /// The entity has no row under this key.
    NoSuchRow {
        /// The key.
        key: Key,
    },
    /// The row was removed.
    Stale {
        /// Its handle.
        row: Row,
    },
    /// The entity has a row under this key already.
    Exists {
        /// The key.
        key: Key,
    },
    /// The component of the key is not registered in this world.
    NoSuchComponent {
        /// The component.
        component: ComponentId,
    },
    /// The main row cannot be removed without its entity.
    MainRow {
        /// The entity.
        entity: Entity,
    },
    /// The row does not have the component.
    MissingComponent {
        /// The row's key.
        key: Key,
        /// The component.
        component: &'static str,
    },
    /// The row has a component that the query's filter excludes.
    ExcludedComponent {
        /// The row's key.
        key: Key,
        /// The component.
        component: &'static str,
    },
    /// The row has the component, but its value was not added or changed as the query's filter requires.
    UnchangedComponent {
        /// The row's key.
        key: Key,
        /// The component.
        component: &'static str,
    },
    /// The bundle contains a component twice.
    Duplicate(DuplicateComponent),
    /// Allocation failed.
    Alloc(AllocError),
}

impl RowError {
    /// Converts the error of a structural change of the row `key`.
    pub(crate) fn of(key: Key, error: StructuralError) -> RowError {
        match error {
            StructuralError::Duplicate(error) => RowError::Duplicate(error),
            StructuralError::Missing { component, .. } => RowError::MissingComponent { key, component },
            StructuralError::Alloc(error) => RowError::Alloc(error),
            StructuralError::NoSuchEntity(_) => RowError::NoSuchRow { key },
            StructuralError::Row(error) => error,
            // Inserting and removing components does not return these.
            StructuralError::SlotOccupied { .. }
            | StructuralError::UnequalColumns(_)
            | StructuralError::NotClone { .. }
            | StructuralError::Resource(_)
            | StructuralError::Relation(_)
            | StructuralError::AnotherWorld { .. }
            | StructuralError::RolledBack { .. } => unreachable!("{error}"),
        }
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::NoSuchEntity(error) => error.fmt(f),
            RowError::NoSuchRow { key } => write!(f, "no such row: {key}"),
            RowError::Stale { row } => write!(f, "the {row:?} was removed"),
            RowError::Exists { key } => write!(f, "the row {key} exists already"),
            RowError::NoSuchComponent { component } => write!(f, "no such component: {component:?}"),
            RowError::MainRow { entity } => write!(f, "the main row of {entity} cannot be removed without the entity"),
            RowError::MissingComponent { key, component } => write!(f, "the row {key} has no {component}"),
            RowError::ExcludedComponent { key, component } => {
                write!(f, "the row {key} has {component}, which is excluded")
            }
            RowError::UnchangedComponent { key, component } => {
                write!(f, "{component} of the row {key} has not changed since the last run")
            }
            RowError::Duplicate(error) => error.fmt(f),
            RowError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RowError {}

impl From<NoSuchEntity> for RowError {
    fn from(error: NoSuchEntity) -> Self {
        RowError::NoSuchEntity(error)
    }
}
impl From<AllocError> for RowError {
    fn from(error: AllocError) -> Self {
        RowError::Alloc(error)
    }
}

/// Unwraps the result of a `try_` function. A closure that calls [`panic_change`] would report its own line.
#[inline]
#[track_caller]
pub(crate) fn infallible<T>(result: Result<T, StructuralError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic_change(error),
    }
}

/// Unwraps the result of a `try_` function, but returns the error of an entity that is not alive.
#[inline(always)]
#[track_caller]
pub(crate) fn require_alive<T>(result: Result<T, StructuralError>) -> Result<T, NoSuchEntity> {
    match result {
        Ok(value) => Ok(value),
        Err(StructuralError::NoSuchEntity(error)) => Err(error),
        Err(error) => panic_change(error),
    }
}

/// Panics with the error of a structural change. If allocation failed, calls `handle_alloc_error`.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn panic_change(error: StructuralError) -> ! {
    match error {
        StructuralError::Alloc(error) => crate::alloc::alloc_failed(error),
        error => panic!("{error}"),
    }
}
