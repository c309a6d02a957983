//! [`SparseStorages`]: all sparse storages of a world.
#![allow(unsafe_code)]

use super::groups::Groups;
use super::masks::Masks;
use super::{DisplacedValue, Removal, SparseSet, SparseStorage, Store};
use crate::alloc::{try_reserve, try_reserve_at};
use crate::bundle::SparsePtr;
use crate::change_detection::Clock;
use crate::component::{Component, ComponentId, Components};
use crate::layout::Kind;
use crate::names::NameOf;
use crate::rank;
use crate::sort::sort_short_by_key;
use crate::type_map::type_slot;
use core::any::TypeId;
use phalanx_store::{AllocError, Entity};

/// In `by_component` and `by_type`: no storage.
const NO_STORAGE: u32 = u32::MAX;

/// The number of entries in `by_type`.
const TYPES: usize = 32;

/// The sparse storages of a world. Their ids are assigned in order of registration.
#[derive(Debug)]
pub(crate) struct SparseStorages {
    /// Boxed, so that pointers into them stay valid when another storage is registered.
    #[allow(clippy::vec_box)]
    pub(super) storages: Vec<Box<SparseStorage>>,
    /// The storage ids, in the canonical order of their components.
    pub(super) order: Vec<u32>,
    /// By component: its storage id, or [`NO_STORAGE`].
    pub(super) by_component: Vec<u32>,
    /// A cache by type: the type and storage id that were registered last with these bits of a type id.
    pub(super) by_type: [(TypeId, u32); TYPES],
    /// By presence bit: the storage id of the sparse set.
    pub(super) by_bit: Vec<u32>,
    /// The storage ids of linear storages, without those of relations.
    pub(super) linear: Vec<u32>,
    /// The storage ids of relations, in the canonical order.
    pub(super) relations: Vec<u32>,
    /// The storage id of the relation whose sources have different names.
    pub(super) tree_of_names: Option<u32>,
    /// The storage id of names.
    pub(super) names: Option<u32>,
    /// Whether there are storages of components, not only of relations.
    pub(super) has_components: bool,
    pub(super) masks: Masks,
    /// The first word of the mask that was despawned last: a guess which sparse sets the next despawn reads.
    pub(super) last_despawned: u64,
    /// Where the values of the reserved change are to be written. There is capacity for one value of each storage, here
    /// and in `displaced_values`.
    pub(super) insert_ptrs: Vec<SparsePtr>,
    /// The values that the last change has displaced or removed, in its order.
    pub(crate) displaced_values: Vec<DisplacedValue>,
    pub(super) groups: Groups,
    /// The number of times that links were written.
    pub(super) link_changes: u64,
    /// The clock of the world. It is here because removing a value sets change ticks.
    pub(crate) clock: Clock,
}

impl SparseStorages {
    #[inline(always)]
    pub(crate) fn new(clock_id: u64) -> SparseStorages {
        SparseStorages {
            storages: Vec::new(),
            order: Vec::new(),
            by_component: Vec::new(),
            by_type: [(TypeId::of::<SparseStorages>(), NO_STORAGE); TYPES],
            by_bit: Vec::new(),
            linear: Vec::new(),
            relations: Vec::new(),
            tree_of_names: None,
            names: None,
            has_components: false,
            masks: Masks::new(),
            last_despawned: 0,
            insert_ptrs: Vec::new(),
            displaced_values: Vec::new(),
            groups: Groups::new(),
            link_changes: 0,
            clock: Clock::new(clock_id),
        }
    }

    /// Returns the storage id of names, if the world knows them.
    #[inline(always)]
    pub(crate) fn names(&self) -> Option<u32> {
        self.names
    }

    /// Returns the storage id of the relation whose sources have different names, if the world knows it.
    #[inline(always)]
    pub(crate) fn tree_of_names(&self) -> Option<u32> {
        self.tree_of_names
    }

    /// Returns `true` if there are no storages.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.storages.is_empty()
    }

    /// Returns `true` if there are storages of components, not only of relations.
    #[inline(always)]
    pub(crate) fn has_components(&self) -> bool {
        self.has_components
    }

    /// Returns the storage id of a component, if it has a sparse storage.
    #[inline(always)]
    pub(crate) fn storage_id(&self, id: ComponentId) -> Option<u32> {
        match self.by_component.get(id.index()) {
            Some(&storage_id) if storage_id != NO_STORAGE => Some(storage_id),
            _ => None,
        }
    }

    /// Returns the storage id of a component by its type, if it has a sparse storage.
    #[inline(always)]
    pub(crate) fn storage_id_of<C: Component>(&self, components: &Components) -> Option<u32> {
        let key = TypeId::of::<C>();
        let (found, storage_id) = self.by_type[type_slot(&key) % TYPES];
        let storage_id = if found == key { storage_id } else { self.find_storage_id(key, components) };
        (storage_id != NO_STORAGE).then_some(storage_id)
    }

    /// Returns the storage id of a type, or [`NO_STORAGE`]. Out of line, to keep the path through the cache short.
    #[inline(never)]
    fn find_storage_id(&self, key: TypeId, components: &Components) -> u32 {
        self.storage_id(components.id_of_type(key)).unwrap_or(NO_STORAGE)
    }

    /// Checks that the cache by type has the storages of these types.
    pub(crate) fn has_valid_types(&self, components: &Components) -> bool {
        let mut known = self.by_type.iter().filter(|(_, storage_id)| *storage_id != NO_STORAGE);
        known.all(|(key, storage_id)| self.storage_id(components.id_of_type(*key)) == Some(*storage_id))
    }

    /// Returns a storage by its id.
    #[inline(always)]
    pub(crate) fn get(&self, storage_id: u32) -> &SparseStorage {
        &self.storages[storage_id as usize]
    }

    /// Returns the storage of a component, if it has a sparse storage.
    #[inline(always)]
    pub(crate) fn of(&self, id: ComponentId) -> Option<&SparseStorage> {
        self.storage_id(id).map(|storage_id| self.get(storage_id))
    }

    /// Returns a storage by its id, for writing.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, storage_id: u32) -> &mut SparseStorage {
        &mut self.storages[storage_id as usize]
    }

    /// Returns a pointer to the first lane of a storage, for writing values that it does not have yet.
    #[cfg(feature = "snapshot")]
    pub(crate) fn lanes_mut(&mut self, storage_id: u32) -> *mut phalanx_store::raw::Lane {
        match &mut self.get_mut(storage_id).store {
            // SAFETY: the rows are not exchanged for others. What a pointer to a lane is used for is its user's
            // concern.
            Store::Pool(set) => unsafe { set.dense.rows_mut() }.lane_mut(),
            Store::Linear(linear) => linear.lane_mut(),
        }
    }

    /// Returns the sparse set of a storage that has one.
    #[inline(always)]
    pub(crate) fn sparse_set(&self, storage_id: u32) -> &SparseSet {
        self.get(storage_id).sparse_set()
    }

    /// Returns the sparse set of a storage that has one, for writing.
    #[inline(always)]
    pub(crate) fn sparse_set_mut(&mut self, storage_id: u32) -> &mut SparseSet {
        self.get_mut(storage_id).sparse_set_mut()
    }

    /// Returns all storages, in the order of their ids.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &SparseStorage> + Clone {
        self.storages.iter().map(|storage| &**storage)
    }

    /// Returns all storages, in the order of their ids, for writing.
    pub(crate) fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut SparseStorage> {
        self.storages.iter_mut().map(|storage| &mut **storage)
    }

    /// Returns all storages, in the canonical order of their components.
    pub(crate) fn in_order(&self) -> impl ExactSizeIterator<Item = &SparseStorage> + Clone {
        self.ids_in_order().map(|(_, storage)| storage)
    }

    /// Returns all storages with their ids, in the canonical order of their components.
    pub(crate) fn ids_in_order(&self) -> impl ExactSizeIterator<Item = (u32, &SparseStorage)> + Clone {
        self.order.iter().map(|storage_id| (*storage_id, self.get(*storage_id)))
    }

    /// Returns the storages that have a value of a slot, in the canonical order of their components. Relations are not among
    /// them.
    pub(crate) fn storages_of(&self, slot: u32) -> impl Iterator<Item = &SparseStorage> {
        self.in_order().filter(move |storage| storage.relation.is_none() && storage.row(slot).is_some())
    }

    /// Returns `true` if a slot has no sparse component.
    pub(crate) fn has_none(&self, slot: u32) -> bool {
        let has = |storage_id: &u32| self.get(*storage_id).row(slot).is_some();
        self.masks.get(slot).iter().all(|word| *word == 0) && !self.linear.iter().any(has)
    }

    /// Begins to count removed values.
    pub(crate) fn reset_removed_counts(&mut self) {
        self.iter_mut().for_each(|storage| storage.removed_counts = [0; 2]);
    }

    /// Sets the removal policy of a sparse set.
    ///
    /// # Panics
    ///
    /// Panics if the set has holes and the policy does not allow them, or if a group owns it and the policy is not to swap.
    pub(crate) fn set_removal(&mut self, storage_id: u32, removal: Removal) {
        assert!(removal == Removal::Swap || self.owner(storage_id).is_none());
        let storage = self.get_mut(storage_id);
        assert!(removal == Removal::Deferred || storage.sparse_set_mut().dense.holes() == 0);
        storage.sparse_set_mut().removal = removal;
        storage.update_cached();
    }

    /// Returns the storage id of a component outside tables. Creates the storage if there is none.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no storage is created.
    pub(crate) fn try_register(&mut self, id: ComponentId, components: &Components) -> Result<u32, AllocError> {
        if let Some(storage_id) = self.storage_id(id) {
            return Ok(storage_id);
        }
        let info = components.info(id);
        let (is_set, is_relation) = (info.kind == Kind::Pool, info.relation.is_some());
        let bit = is_set.then_some(self.by_bit.len() as u32);
        let storage = SparseStorage::try_new(id, info, bit)?;
        try_reserve_at(&mut self.by_component, id.index())?;
        try_reserve(&mut self.storages, 1)?;
        try_reserve(&mut self.order, 1)?;
        let SparseStorages { by_bit, linear, relations, .. } = self;
        let list = match (is_set, is_relation) {
            (true, _) => by_bit,
            (false, false) => linear,
            (false, true) => relations,
        };
        try_reserve(list, 1)?;
        // Despawning a slot displaces one value of each storage at most, and does not allocate.
        let count = self.storages.len() + 1;
        try_reserve(&mut self.displaced_values, count)?;
        try_reserve(&mut self.insert_ptrs, count)?;
        if let Some(bit) = bit {
            self.masks.try_add_bit(bit)?;
        }
        let storage_id = self.storages.len() as u32;
        match (is_set, is_relation) {
            (true, _) => self.by_bit.push(storage_id),
            (false, false) => self.linear.push(storage_id),
            (false, true) => self.relations.push(storage_id),
        }
        self.by_component.resize(self.by_component.len().max(id.index() + 1), NO_STORAGE);
        self.by_component[id.index()] = storage_id;
        if let Some(key) = info.type_id {
            self.by_type[type_slot(&key) % TYPES] = (key, storage_id);
        }
        if info.type_id == Some(TypeId::of::<NameOf>()) {
            self.names = Some(storage_id);
        }
        if info.relation.is_some_and(|relation| relation.has_names) {
            self.tree_of_names = Some(storage_id);
        }
        self.storages.push(storage);
        self.has_components |= !is_relation;
        let is_before = |other: &u32| components.rank(self.get(*other).id) < components.rank(id);
        let at = self.order.partition_point(is_before);
        let rank_at = |at: usize| self.order.get(at).map(|other| self.get(*other).rank);
        let rank = rank::between(at.checked_sub(1).and_then(rank_at).unwrap_or(0), rank_at(at));
        self.order.insert(at, storage_id);
        let SparseStorages { relations, storages, order, .. } = self;
        match rank {
            Some(rank) => storages[storage_id as usize].rank = rank,
            None => order.iter().zip(rank::even(order.len())).for_each(|(at, rank)| storages[*at as usize].rank = rank),
        }
        sort_short_by_key(relations, |storage_id| storages[*storage_id as usize].rank);
        Ok(storage_id)
    }

    /// Checks every storage, the masks and the groups. `is_alive` says whether a slot is alive, and `slot` returns the
    /// slot of an index. `is_dispatching` says that listeners are being called, which see displaced values.
    pub(crate) fn validate(
        &self,
        is_alive: impl Fn(Entity) -> bool,
        slot: impl Fn(u32) -> Option<Entity>,
        is_dispatching: bool,
    ) -> Result<(), &'static str> {
        if !is_dispatching && !self.displaced_values.is_empty() {
            return Err("displaced values that were not dropped");
        }
        if self.insert_ptrs.capacity().min(self.displaced_values.capacity()) < self.storages.len() {
            return Err("less capacity for inserted or displaced values than there are sparse storages");
        }
        if self.order.len() != self.storages.len() || !self.in_order().map(|one| one.rank).is_sorted_by(|a, b| a < b) {
            return Err("a sparse storage that is not at its position in the canonical order");
        }
        let mut present = 0;
        for (storage_id, storage) in (0..).zip(self.iter()) {
            if self.storage_id(storage.id) != Some(storage_id) {
                return Err("a sparse storage that is not found by its component");
            }
            if (storage.discards, storage.is_simple) != (storage.find_discards(), storage.find_is_simple()) {
                return Err("a sparse storage that does not know whether it discards values or changes are simple");
            }
            match &storage.store {
                Store::Linear(linear) => {
                    linear.validate()?;
                    let list = if storage.relation.is_some() { &self.relations } else { &self.linear };
                    if !list.contains(&storage_id) {
                        return Err("a linear storage that is not listed as one");
                    }
                }
                Store::Pool(set) => {
                    set.validate()?;
                    let Some(bit) = storage.bit.filter(|bit| self.by_bit.get(*bit as usize) == Some(&storage_id))
                    else {
                        return Err("a sparse set without a presence bit of its own");
                    };
                    for key in set.keys() {
                        present += 1;
                        if !is_alive(key) {
                            return Err("a sparse set with an entity that is not alive");
                        }
                        let word = self.masks.get(key.index()).get(bit as usize / 64).unwrap_or(&0);
                        if word & 1 << (bit % 64) == 0 {
                            return Err("a mask that lacks a sparse set");
                        }
                    }
                }
            }
        }
        if self.linear.len() + self.relations.len() + self.by_bit.len() != self.storages.len() {
            return Err("sparse sets, linear storages or relations miscounted");
        }
        if self.has_components != (self.relations.len() < self.storages.len()) {
            return Err("sparse storages that do not know whether they are of components");
        }
        if self.masks.count() != present {
            return Err("a mask with a sparse set that lacks its slot");
        }
        self.validate_groups(slot)
    }

    /// Returns the number of bytes allocated, without those of the storages.
    pub(crate) fn overhead(&self) -> usize {
        self.masks.bytes()
            + self.storages.capacity() * size_of::<Box<SparseStorage>>()
            + self.storages.len() * size_of::<SparseStorage>()
            + (self.by_component.capacity() + self.order.capacity()) * size_of::<u32>()
            + (self.by_bit.capacity() + self.linear.capacity()) * size_of::<u32>()
            + self.insert_ptrs.capacity() * size_of::<SparsePtr>()
            + self.displaced_values.capacity() * size_of::<DisplacedValue>()
            + self.iter().map(|one| one.required_by.capacity() + one.excluded_by.capacity()).sum::<usize>() * 4
            + self.groups.bytes()
    }
}
