//! Why a row does not match a query.

use crate::component::Component;
use crate::error::ComponentError;
use phalanx_store::Entity;

/// The reason why an entity does not match a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It lacks this component.
    Missing(&'static str),
    /// It has this component, which a filter excludes.
    Excluded(&'static str),
    /// It has this component, whose value has not changed since the last run.
    Unchanged(&'static str),
}

impl Mismatch {
    pub(crate) fn missing<C: Component>() -> Mismatch {
        Mismatch::Missing(core::any::type_name::<C>())
    }

    pub(crate) fn excluded<C: Component>() -> Mismatch {
        Mismatch::Excluded(core::any::type_name::<C>())
    }

    /// Returns the error for an entity that was looked up.
    pub(crate) fn error(self, entity: Entity) -> ComponentError {
        match self {
            Mismatch::Missing(component) => ComponentError::MissingComponent { entity, component },
            Mismatch::Excluded(component) => ComponentError::ExcludedComponent { entity, component },
            Mismatch::Unchanged(component) => ComponentError::UnchangedComponent { entity, component },
        }
    }
}
