//! The names of entities: how they are found, and how the index is kept. See [the invariants](crate::names).
#![allow(unsafe_code)]

use super::Storage;
use crate::alloc::try_box;
use crate::error::RelationError;
use crate::links::{LinkView, NONE};
use crate::names::{Name, NameIndex, NameOf, PathName};
use crate::seeded::Seeded;
use crate::sparse::{LinkRecords, SparseStorage};
use phalanx_store::{AllocError, Entity};

/// The names of a storage: the values of [`NameOf`].
#[derive(Clone, Copy)]
struct Names<'a>(&'a SparseStorage);

impl<'a> Names<'a> {
    /// Returns the names of a storage that knows names.
    #[inline]
    fn of(storage: &'a Storage) -> Option<Names<'a>> {
        storage.sparse.names().map(|names| Names(storage.sparse.get(names)))
    }

    /// Returns the name of the entity at a slot.
    #[inline]
    fn get(self, slot: u32) -> Option<&'a Name> {
        let row = self.0.row(slot)?;
        // SAFETY: the storage is that of `NameOf`, whose values are names, and the row is in use.
        Some(unsafe { &(*self.0.values().at(row).cast::<NameOf>()).0 })
    }

    /// Returns the slots that have a name.
    fn slots(self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.slots_and_rows().map(|(slot, _)| slot)
    }
}

/// What finds entities by their names.
struct NameLookup<'a> {
    index: &'a NameIndex,
    names: Names<'a>,
    links: LinkRecords<'a>,
}

impl<'a> NameLookup<'a> {
    /// Returns what finds entities by their names, if there may be any.
    #[inline]
    fn new(storage: &'a Storage) -> Option<NameLookup<'a>> {
        let links = storage.sparse.links(storage.sparse.tree_of_names());
        Some(NameLookup { index: storage.names.as_deref()?, names: Names::of(storage)?, links })
    }

    /// Returns the slot with a name of a path among the children of a slot, or among those without a parent if it is [`NONE`].
    #[inline]
    fn find(&self, parent: u32, name: PathName<'_>) -> Option<u32> {
        let is_named = |slot: &u32| {
            // Both are read at once.
            let is_child = self.links.get(*slot).target == parent;
            self.names.get(*slot).is_some_and(|found| found.as_bytes() == name.text) && is_child
        };
        self.index.candidates(name.hash).find(is_named)
    }
}

impl Storage {
    /// Returns the name of the entity at a slot.
    #[inline]
    pub(crate) fn name_at(&self, slot: u32) -> Option<&Name> {
        Names::of(self)?.get(slot)
    }

    /// Returns the slot of the parent of the entity at a slot, or [`NONE`].
    #[inline]
    pub(crate) fn parent_at(&self, slot: u32) -> u32 {
        self.sparse.links(self.sparse.tree_of_names()).get(slot).target
    }

    /// Returns the hash of the parent of a slot and its name.
    fn hash_at(&self, seeded: Seeded, slot: u32, name: &Name) -> u32 {
        PathName::whole(seeded, self.parent_at(slot), name).hash
    }

    /// Returns the number of entities that have a name.
    pub(crate) fn name_count(&self) -> usize {
        Names::of(self).map_or(0, |names| names.0.len() as usize)
    }

    /// Returns the slot with a name among the children of a slot, or among those without a parent if it is [`NONE`].
    #[inline]
    pub(crate) fn find_named(&self, parent: u32, name: &Name) -> Option<u32> {
        let names = NameLookup::new(self)?;
        names.find(parent, PathName::whole(names.index.seeded(), parent, name))
    }

    /// Returns the slot at the end of a path that begins among the children of a slot, or among those without a parent if it is
    /// [`NONE`].
    #[inline]
    pub(crate) fn find_path(&self, mut parent: u32, path: &str) -> Option<u32> {
        let (names, mut start) = (NameLookup::new(self)?, 0);
        loop {
            let name = PathName::new(names.index.seeded(), parent, path.as_bytes(), start)?;
            parent = names.find(parent, name)?;
            match name.next {
                Some(next) => start = next,
                None => return Some(parent),
            }
        }
    }

    /// Returns another entity that has a name among the children of a slot, or among those without a parent.
    pub(crate) fn find_holder(&self, slot: u32, parent: u32, name: &Name) -> Option<Entity> {
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

    /// Replaces the index by an empty one with capacity for all names, and adds them.
    pub(crate) fn replace_name_index(&mut self, mut index: Box<NameIndex>) {
        self.fill_index(&mut index);
        self.names = Some(index);
    }

    /// Adds all names to an empty index, which has capacity for them.
    fn fill_index(&self, index: &mut NameIndex) {
        let Some(names) = Names::of(self) else { return };
        for slot in names.slots() {
            if let Some(name) = names.get(slot) {
                let is_added = index.add(self.hash_at(index.seeded(), slot, name), slot, |_| true);
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
        let (seeded, hash) = (index.seeded(), PathName::whole(index.seeded(), parent, name).hash);
        let has_hash = |slot: u32| self.name_at(slot).is_some_and(|name| self.hash_at(seeded, slot, name) == hash);
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
        let Some(names) = Names::of(self).filter(|names| names.0.len() > 0) else { return Ok(()) };
        let Some(index) = &self.names else { return Err("names without an index") };
        index.validate(self.name_count())?;
        for slot in names.slots() {
            if self.slot(slot).is_none_or(|entity| entity.is_row()) {
                return Err("a name of what is not a live entity");
            }
            let Some(name) = names.get(slot) else { continue };
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
