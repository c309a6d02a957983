//! What can go wrong, by name.

use crate::component::ComponentId;
use crate::rows::{Key, Row};
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// An entity that is not alive.
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

/// Why a component could not be had.
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
    /// The entity has the component, and the query's filter excludes those that do.
    ExcludedComponent {
        /// The entity.
        entity: Entity,
        /// The component.
        component: &'static str,
    },
    /// The entity has the component, and the query's filter asks for those whose value is new.
    UnchangedComponent {
        /// The entity.
        entity: Entity,
        /// The component.
        component: &'static str,
    },
    /// The component's values lie in several lanes: they have no address.
    NoAddress {
        /// The component.
        component: &'static str,
    },
    /// The entity is named twice where each must be another.
    DuplicateEntity {
        /// The entity.
        entity: Entity,
    },
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
                write!(f, "{component} of {entity} is not new since the last look")
            }
            ComponentError::ExcludedComponent { entity, component } => {
                write!(f, "{entity} has {component}, which the query excludes")
            }
            ComponentError::NoAddress { component } => write!(f, "{component} lies in lanes and has no address"),
            ComponentError::DuplicateEntity { entity } => write!(f, "{entity} is named twice"),
        }
    }
}

/// A bundle that names a component twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateComponent {
    /// The component.
    pub component: &'static str,
}

impl fmt::Display for DuplicateComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a bundle has {} twice", self.component)
    }
}

/// Why the structure of a world could not be changed. Nothing was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// The entity is not alive.
    NoSuchEntity(NoSuchEntity),
    /// The bundle names a component twice.
    Duplicate(DuplicateComponent),
    /// The entity does not have a component that was to be taken.
    Missing {
        /// The entity.
        entity: Entity,
        /// The component.
        component: &'static str,
    },
    /// The entity's slot is not free for it.
    SlotOccupied {
        /// The entity that was to be made.
        entity: Entity,
        /// The entity that lives in its slot; `None` if the slot is past that generation.
        by: Option<Entity>,
    },
    /// Columns of different lengths were to be moved in.
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
    /// The entity was reserved by a command buffer in a state of the world that was discarded since, for example by
    /// [`World::rollback`](crate::World::rollback).
    RolledBack {
        /// The entity.
        entity: Entity,
    },
    /// A [kept](crate::ResourcesMut::keep) resource is taken out by a scope, so that the world cannot be cloned.
    Resource(NoSuchResource),
    /// There is no memory for it.
    Alloc(AllocError),
    /// It could not be done with a row: one that is not there, is there already, or is the main one. What is wrong with
    /// the entity, the bundle or the memory is told by the variants above, of rows too.
    Row(RowError),
}

/// Columns of different lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnequalColumns {
    /// The component of the first column, with its length.
    pub first: (&'static str, usize),
    /// The component of the first column that is longer or shorter, with its length.
    pub other: (&'static str, usize),
}

impl fmt::Display for UnequalColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((first, many), (other, more)) = (self.first, self.other);
        write!(f, "columns of unequal length: {many} of {first}, {more} of {other}")
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::NoSuchEntity(error) => error.fmt(f),
            ChangeError::Duplicate(error) => error.fmt(f),
            ChangeError::Missing { entity, component } => write!(f, "{entity} has no {component}"),
            ChangeError::SlotOccupied { entity, by: Some(by) } => write!(f, "{entity} cannot be made: {by} is alive"),
            ChangeError::SlotOccupied { entity, by: None } => {
                write!(f, "{entity} cannot be made: its slot is past that generation, or there is none")
            }
            ChangeError::UnequalColumns(error) => error.fmt(f),
            ChangeError::NotClone { component } => write!(f, "{component} cannot be cloned"),
            ChangeError::AnotherWorld { entity } => write!(f, "{entity} was reserved in another world"),
            ChangeError::RolledBack { entity } => write!(f, "the reservation of {entity} was rolled back"),
            ChangeError::Resource(error) => error.fmt(f),
            ChangeError::Alloc(error) => error.fmt(f),
            ChangeError::Row(error) => error.fmt(f),
        }
    }
}

impl From<NoSuchEntity> for ChangeError {
    fn from(error: NoSuchEntity) -> Self {
        ChangeError::NoSuchEntity(error)
    }
}
impl From<DuplicateComponent> for ChangeError {
    fn from(error: DuplicateComponent) -> Self {
        ChangeError::Duplicate(error)
    }
}
impl From<UnequalColumns> for ChangeError {
    fn from(error: UnequalColumns) -> Self {
        ChangeError::UnequalColumns(error)
    }
}
impl From<NoSuchResource> for ChangeError {
    fn from(error: NoSuchResource) -> Self {
        ChangeError::Resource(error)
    }
}
impl From<AllocError> for ChangeError {
    fn from(error: AllocError) -> Self {
        ChangeError::Alloc(error)
    }
}
impl From<RowError> for ChangeError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::NoSuchEntity(error) => ChangeError::NoSuchEntity(error),
            RowError::Duplicate(error) => ChangeError::Duplicate(error),
            RowError::Alloc(error) => ChangeError::Alloc(error),
            error => ChangeError::Row(error),
        }
    }
}

impl core::error::Error for NoSuchEntity {}
impl core::error::Error for ComponentError {}
impl core::error::Error for DuplicateComponent {}
impl core::error::Error for UnequalColumns {}
impl core::error::Error for ChangeError {}

/// A resource that a world does not have, or that [`World::resource_scope`](crate::World::resource_scope) has taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchResource {
    /// The type of the resource.
    pub resource: &'static str,
    /// Whether a scope has it.
    pub in_scope: bool,
}

impl fmt::Display for NoSuchResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.in_scope {
            false => write!(f, "the world has no resource {}", self.resource),
            true => write!(f, "the resource {} is taken out of the world, by its resource_scope", self.resource),
        }
    }
}

impl core::error::Error for NoSuchResource {}

/// Why something could not be done with a row. Nothing was.
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
    /// The row has ended.
    Stale {
        /// Its handle.
        row: Row,
    },
    /// The entity has a row under this key already.
    Exists {
        /// The key.
        key: Key,
    },
    /// The key's component is none of this world's.
    NoSuchComponent {
        /// The component.
        component: ComponentId,
    },
    /// The main row ends with its entity, not alone.
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
    /// The row has the component, and the query's filter excludes those that do.
    ExcludedComponent {
        /// The row's key.
        key: Key,
        /// The component.
        component: &'static str,
    },
    /// The row has the component, and the query's filter asks for those whose value is new.
    UnchangedComponent {
        /// The row's key.
        key: Key,
        /// The component.
        component: &'static str,
    },
    /// The bundle names a component twice.
    Duplicate(DuplicateComponent),
    /// There is no memory for it.
    Alloc(AllocError),
}

impl RowError {
    /// What went wrong with the row of this key.
    pub(crate) fn of(key: Key, error: ChangeError) -> RowError {
        match error {
            ChangeError::Duplicate(error) => RowError::Duplicate(error),
            ChangeError::Missing { component, .. } => RowError::MissingComponent { key, component },
            ChangeError::Alloc(error) => RowError::Alloc(error),
            ChangeError::NoSuchEntity(_) => RowError::NoSuchRow { key },
            ChangeError::Row(error) => error,
            // Giving and taking components ends in none of these.
            ChangeError::SlotOccupied { .. }
            | ChangeError::UnequalColumns(_)
            | ChangeError::NotClone { .. }
            | ChangeError::Resource(_)
            | ChangeError::AnotherWorld { .. }
            | ChangeError::RolledBack { .. } => unreachable!("{error}"),
        }
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::NoSuchEntity(error) => error.fmt(f),
            RowError::NoSuchRow { key } => write!(f, "no such row: {key}"),
            RowError::Stale { row } => write!(f, "the {row:?} has ended"),
            RowError::Exists { key } => write!(f, "there is a row {key} already"),
            RowError::NoSuchComponent { component } => write!(f, "no such component: {component:?}"),
            RowError::MainRow { entity } => write!(f, "the main row of {entity} ends with the entity only"),
            RowError::MissingComponent { key, component } => write!(f, "the row {key} has no {component}"),
            RowError::ExcludedComponent { key, component } => {
                write!(f, "the row {key} has {component}, which the query excludes")
            }
            RowError::UnchangedComponent { key, component } => {
                write!(f, "{component} of the row {key} is not new since the last look")
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

/// Unwraps the result of a `try_` form in its plain form. A closure that calls [`panic_change`] would name its own line.
#[inline]
#[track_caller]
pub(crate) fn infallible<T>(result: Result<T, ChangeError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic_change(error),
    }
}

/// What the plain forms do with an error.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn panic_change(error: ChangeError) -> ! {
    match error {
        ChangeError::Alloc(error) => crate::alloc::alloc_failed(error),
        error => panic!("{error}"),
    }
}
