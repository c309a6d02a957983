//! The names of entities: how they are found, and how the index is kept. See [the invariants](crate::names).
#![allow(unsafe_code)]

use super::Storage;
use crate::alloc::try_box;
use crate::error::RelationError;
use crate::links::{LinkView, NONE};
use crate::names::{Name, NameIndex, NameOf};
use phalanx_store::{AllocError, Entity};

impl Storage {
    /// Returns the name of the entity at a slot.
    #[inline]
    pub(crate) fn name_at(&self, slot: u32) -> Option<&Name> {
        let storage = self.sparse.get(self.sparse.names()?);
        let row = storage.row(slot)?;
        // SAFETY: the storage is that of `NameOf`, whose values are names, and the row is in use.
        Some(unsafe { &(*storage.values().at(row).cast::<NameOf>()).0 })
    }

    /// Returns the slot of the parent of the entity at a slot, or [`NONE`].
    #[inline]
    pub(crate) fn parent_at(&self, slot: u32) -> u32 {
        self.sparse.links(self.sparse.tree_of_names()).get(slot).target
    }

    /// Returns the number of entities that have a name.
    pub(crate) fn name_count(&self) -> usize {
        self.sparse.names().map_or(0, |names| self.sparse.get(names).len() as usize)
    }

    /// Returns the slot with a name among the children of a slot, or among those without a parent if it is [`NONE`].
    #[inline]
    pub(crate) fn find_named(&self, parent: u32, name: &str) -> Option<u32> {
        if name.len() > Name::MAX_LEN {
            return None;
        }
        let index = self.names.as_ref()?;
        let is_named = |slot: &u32| {
            self.name_at(*slot).is_some_and(|found| found.as_str() == name) && self.parent_at(*slot) == parent
        };
        index.candidates(index.hash(parent, name)).find(is_named)
    }

    /// Returns the slot at the end of a path that begins among the children of a slot, or among those without a parent if it is
    /// [`NONE`].
    #[inline]
    pub(crate) fn find_path(&self, parent: u32, path: &str) -> Option<u32> {
        path.split('/').try_fold(parent, |parent, name| self.find_named(parent, name))
    }

    /// Returns another entity that has a name among the children of a slot, or among those without a parent.
    pub(crate) fn find_holder(&self, slot: u32, parent: u32, name: &str) -> Option<Entity> {
        self.find_named(parent, name).filter(|holder| *holder != slot).and_then(|holder| self.slot(holder))
    }

    /// Checks that an entity can have its name among the children of another slot, or among those without a parent, if the
    /// relation is that of parents. It is found there then, as soon as it is linked.
    ///
    /// # Errors
    ///
    /// [`RelationError::NameTaken`] if one of them has it.
    #[cold]
    #[inline(never)]
    pub(crate) fn claim_name(&mut self, relation: u32, entity: Entity, parent: u32) -> Result<(), RelationError> {
        let named = self.name_at(entity.index()).filter(|_| self.sparse.tree_of_names() == Some(relation));
        let Some(&name) = named else { return Ok(()) };
        if let Some(holder) = self.find_holder(entity.index(), parent, &name) {
            return Err(RelationError::NameTaken { entity, holder });
        }
        // The index may have slots in vain, so it does not matter if the link is not made.
        self.index_name_at(entity.index(), parent, &name);
        Ok(())
    }

    /// Reserves capacity in the index for more names. Nothing else changes.
    pub(crate) fn try_reserve_names(&mut self, more: usize) -> Result<(), AllocError> {
        let count = self.name_count().checked_add(more).ok_or(AllocError::CapacityOverflow)?;
        let capacity = self.names.as_ref().map_or(0, |index| index.capacity());
        if count > capacity { self.try_index_names(count) } else { Ok(()) }
    }

    /// Makes the index again, with capacity for a number of names, at least for those that there are.
    fn try_index_names(&mut self, count: usize) -> Result<(), AllocError> {
        let mut index = try_box(NameIndex::try_new(count)?)?;
        self.fill_index(&mut index);
        self.names = Some(index);
        Ok(())
    }

    /// Adds all names to an empty index, which has capacity for them.
    fn fill_index(&self, index: &mut NameIndex) {
        let Some(names) = self.sparse.names() else { return };
        for (slot, _) in self.sparse.get(names).slots_and_rows() {
            if let Some(name) = self.name_at(slot) {
                let is_added = index.add(index.hash(self.parent_at(slot), name), slot, |_| true);
                debug_assert!(is_added, "an index has capacity for all names");
            }
        }
    }

    /// Adds the entity at a slot to the index, if it has a name. Called when it has got a name, or another parent.
    #[inline]
    pub(crate) fn index_name(&mut self, slot: u32) {
        if self.names.is_some()
            && let Some(name) = self.name_at(slot).copied()
        {
            self.index_name_at(slot, self.parent_at(slot), &name);
        }
    }

    /// Adds the entity at a slot to the index, under a name that it has or is about to get. Capacity is reserved before.
    #[cold]
    #[inline(never)]
    pub(crate) fn index_name_at(&mut self, slot: u32, parent: u32, name: &Name) {
        let Some(mut index) = self.names.take() else { return };
        let hash_of = index.hasher();
        let hash = hash_of(parent, name);
        let has_hash = |slot: u32| self.name_at(slot).map(|name| hash_of(self.parent_at(slot), name)) == Some(hash);
        if !index.add(hash, slot, has_hash) {
            index.clear();
            self.fill_index(&mut index);
            index.add(hash, slot, |_| true);
        }
        self.names = Some(index);
    }

    /// Frees memory of the index that is not needed. Returns the number of names that were indexed again.
    pub(crate) fn shrink_names(&mut self) -> usize {
        let count = self.name_count();
        if count == 0 {
            return usize::from(self.names.take().is_some());
        }
        let is_too_large = self.names.as_ref().is_some_and(|index| index.is_too_large_for(count));
        // If allocation fails, the index stays as it was.
        if is_too_large && self.try_index_names(count).is_ok() { count } else { 0 }
    }

    /// Checks the names and their index, in time linear in their number.
    pub(crate) fn validate_names(&self) -> Result<(), &'static str> {
        let Some(names) = self.sparse.names().filter(|names| self.sparse.get(*names).len() > 0) else { return Ok(()) };
        let Some(index) = &self.names else { return Err("names without an index") };
        index.validate(self.name_count())?;
        for (slot, _) in self.sparse.get(names).slots_and_rows() {
            if self.slot(slot).is_none_or(|entity| entity.is_row()) {
                return Err("a name of what is not a live entity");
            }
            let Some(name) = self.name_at(slot) else { continue };
            match self.find_named(self.parent_at(slot), name) {
                Some(found) if found == slot => {}
                Some(_) => return Err("two entities with the same name and the same parent"),
                None => return Err("a name that the index does not lead to"),
            }
        }
        Ok(())
    }

    /// Returns the slots from an entity up to its root, with their names, the entity first.
    pub(crate) fn names_above(&self, slot: u32) -> impl Iterator<Item = Option<&Name>> + Clone {
        let up = move |slot: &u32| Some(self.parent_at(*slot)).filter(|parent| *parent != NONE);
        core::iter::successors(Some(slot), up).map(|slot| self.name_at(slot))
    }
}
