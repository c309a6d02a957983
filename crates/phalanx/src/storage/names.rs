//! The names of entities: how they are found, and how the index is kept. See [the invariants](crate::names).
#![allow(unsafe_code)]

use super::Storage;
use crate::alloc::{try_box, try_reserve_map};
use crate::error::RelationError;
use crate::links::LinkView;
use crate::names::{Name, NameIndex, NameOf, hash_name};
use core::ops::ControlFlow;
use phalanx_store::{AllocError, Entity};
use std::collections::HashMap;

/// The names and parents of slots, as they are or as they would be.
pub(crate) trait NameView {
    /// Returns the name of a slot.
    fn name(&self, slot: u32) -> Option<&Name>;

    /// Returns the slot of the parent of a slot, or [`NONE`](crate::links::NONE).
    fn parent(&self, slot: u32) -> u32;

    /// Returns `true` if a slot has this parent and this name.
    fn is_named(&self, slot: u32, parent: u32, name: &Name) -> bool {
        self.name(slot) == Some(name) && self.parent(slot) == parent
    }

    /// Returns `true` if the parent and the name of a slot have this hash.
    fn has_hash(&self, slot: u32, hash: u32) -> bool {
        self.name(slot).is_some_and(|name| hash_name(self.parent(slot), name) == hash)
    }
}

impl NameView for &Storage {
    #[inline]
    fn name(&self, slot: u32) -> Option<&Name> {
        let storage = self.sparse.get(self.sparse.storage_id_of::<NameOf>(&self.components)?);
        let row = storage.row(slot)?;
        // SAFETY: the storage is that of `NameOf`, whose values are names, and the row is in use.
        Some(unsafe { &(*storage.values().at(row).cast::<NameOf>()).0 })
    }

    #[inline]
    fn parent(&self, slot: u32) -> u32 {
        self.sparse.links(self.sparse.relation_with_names()).get(slot).target
    }
}

impl Storage {
    /// Returns the name of the entity at a slot.
    #[inline]
    pub(crate) fn name_at(&self, slot: u32) -> Option<&Name> {
        let storage = self.sparse.get(self.sparse.storage_id_of::<NameOf>(&self.components)?);
        let row = storage.row(slot)?;
        // SAFETY: the storage is that of `NameOf`, whose values are names, and the row is in use.
        Some(unsafe { &(*storage.values().at(row).cast::<NameOf>()).0 })
    }

    /// Returns the entity with a name among the children of a slot, or without a parent if it is
    /// [`NONE`](crate::links::NONE).
    #[inline]
    pub(crate) fn find_named(&self, parent: u32, name: &Name) -> Option<Entity> {
        let index = self.names.as_ref()?;
        let found = index.candidates(hash_name(parent, name)).find(|slot| self.is_named(*slot, parent, name))?;
        self.slot(found)
    }

    /// Checks that an entity can have a name among the children of a slot.
    ///
    /// # Errors
    ///
    /// [`RelationError::NameTaken`] if another entity has it.
    pub(crate) fn check_name(&self, entity: Entity, parent: u32, name: &Name) -> Result<(), RelationError> {
        match self.find_named(parent, name) {
            Some(holder) if holder != entity => Err(RelationError::NameTaken { entity, holder }),
            _ => Ok(()),
        }
    }

    /// Checks that an entity can have its name among the children of another slot.
    ///
    /// # Errors
    ///
    /// [`RelationError::NameTaken`] if one of them has it.
    #[inline]
    pub(crate) fn check_name_below(&self, entity: Entity, parent: u32) -> Result<(), RelationError> {
        match self.name_at(entity.index()).filter(|_| self.names.is_some()) {
            Some(name) => self.check_name(entity, parent, name),
            None => Ok(()),
        }
    }
}
