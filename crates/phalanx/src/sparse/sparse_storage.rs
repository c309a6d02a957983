//! [`SparseStorage`]: the storage of one component outside tables.
#![allow(unsafe_code)]

use super::{LinearStorage, Removal, SparseSet, Values};
use crate::alloc::{try_box, try_clone_slice};
use crate::bundle::SparsePtr;
use crate::change_detection::Track;
use crate::component::{ComponentId, ComponentInfo};
use crate::layout::Kind;
use crate::links::RelationInfo;
use phalanx_store::raw::{DenseIndex, Lane, Rows};
use phalanx_store::{AllocError, Entity};

/// The values of a sparse component.
#[derive(Debug)]
pub(crate) enum Store {
    Pool(SparseSet),
    Linear(LinearStorage),
}

impl Store {
    fn try_new(info: &ComponentInfo) -> Result<Store, AllocError> {
        match info.kind {
            Kind::Table => unreachable!("components of tables have no sparse storage"),
            Kind::Pool => Ok(Store::Pool(SparseSet::try_new(info)?)),
            Kind::Linear => Ok(Store::Linear(LinearStorage::try_new(info)?)),
        }
    }

    /// Returns the values as bytes with their number and size: the keys of a sparse set, or the presence bits.
    pub(crate) fn key_bytes(&self) -> (*const u8, u32, usize) {
        match self {
            Store::Pool(set) => (set.dense.dense_keys().as_ptr().cast(), set.dense.positions(), size_of::<Entity>()),
            Store::Linear(linear) => (linear.words().as_ptr().cast(), linear.used_words(), size_of::<u64>()),
        }
    }
}

/// Says whether the value of a slot that is despawned must be kept until it is dropped, where there are no listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discards {
    /// It must be kept.
    No,
    /// It need not be kept once the slot has left the groups that require the component.
    AfterLeaving,
    /// It need not be kept. No group names the component.
    Yes,
}

/// A component with a storage of its own.
#[derive(Debug)]
pub(crate) struct SparseStorage {
    pub(crate) id: ComponentId,
    pub(crate) store: Store,
    /// The presence bit of a sparse set in the masks of slots. A linear storage has its own bits.
    pub(crate) bit: Option<u32>,
    /// The presence bit as a word, if it is in the first word of a mask; otherwise zero.
    pub(super) first_word_bit: u64,
    /// Whether the component is tracked by columns.
    pub(super) is_column_tracked: bool,
    /// Says whether removed values must be kept: [`find_discards`](SparseStorage::find_discards), cached.
    pub(super) discards: Discards,
    /// Whether changes by type are [simple](SparseStorage::find_is_simple), cached.
    pub(super) is_simple: bool,
    /// The groups that require the component.
    pub(super) required_by: Vec<u32>,
    /// The groups that exclude the component.
    pub(super) excluded_by: Vec<u32>,
    /// The number of values that were removed from slots that live on, and with their slots, since counting began.
    pub(crate) removed_counts: [u64; 2],
    /// A number that is in the canonical order of components, which does not depend on the order of registration. All order
    /// that a user can observe follows it.
    pub(crate) rank: u32,
    /// The relation, if the values are its records. They belong to no row, and only links change them.
    pub(crate) relation: Option<RelationInfo>,
}

impl SparseStorage {
    /// Creates a storage without values. A sparse set gets a presence bit.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(super) fn try_new(
        id: ComponentId,
        info: &ComponentInfo,
        bit: Option<u32>,
    ) -> Result<Box<SparseStorage>, AllocError> {
        let mut storage = try_box(SparseStorage {
            id,
            store: Store::try_new(info)?,
            bit,
            first_word_bit: bit.filter(|bit| *bit < 64).map_or(0, |bit| 1 << bit),
            is_column_tracked: info.track == Track::Column,
            discards: Discards::No,
            is_simple: false,
            required_by: Vec::new(),
            excluded_by: Vec::new(),
            removed_counts: [0; 2],
            rank: 0,
            relation: info.relation,
        })?;
        storage.update_cached();
        Ok(storage)
    }

    /// Clones the storage with its values, at the same positions. A component with values can be cloned.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    ///
    /// # Panics
    ///
    /// Panics if the storage has values that cannot be cloned.
    pub(super) fn try_clone(&self) -> Result<Box<SparseStorage>, AllocError> {
        let store = match &self.store {
            Store::Pool(set) => Store::Pool(set.try_clone()?),
            Store::Linear(linear) => Store::Linear(linear.try_clone()?),
        };
        let (required_by, excluded_by) = (try_clone_slice(&self.required_by)?, try_clone_slice(&self.excluded_by)?);
        let mut clone = try_box(SparseStorage { store, required_by, excluded_by, removed_counts: [0; 2], ..*self })?;
        clone.update_cached();
        Ok(clone)
    }

    /// Returns the values.
    #[inline(always)]
    pub(crate) fn values(&self) -> &Values {
        match &self.store {
            Store::Pool(set) => set.values(),
            Store::Linear(linear) => linear.values(),
        }
    }

    /// Returns the sparse set of a component that a group owns.
    #[inline(always)]
    pub(super) fn sparse_set(&self) -> &SparseSet {
        match &self.store {
            Store::Pool(set) => set,
            Store::Linear(_) => unreachable!("groups own sparse sets only"),
        }
    }

    /// Returns the sparse set of a component that a group owns, for writing.
    #[inline(always)]
    pub(super) fn sparse_set_mut(&mut self) -> &mut SparseSet {
        match &mut self.store {
            Store::Pool(set) => set,
            Store::Linear(_) => unreachable!("groups own sparse sets only"),
        }
    }

    /// Returns the row of a slot's value.
    #[inline(always)]
    pub(crate) fn row(&self, slot: u32) -> Option<u32> {
        match &self.store {
            Store::Pool(set) => set.position(slot),
            Store::Linear(linear) => linear.has(slot).then_some(slot),
        }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> u32 {
        match &self.store {
            Store::Pool(set) => set.len(),
            Store::Linear(linear) => linear.len(),
        }
    }

    /// Returns the number of bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        let (keys, index) = self.overhead();
        self.values().bytes() + keys + index
    }

    /// Returns the number of bytes of the keys or presence bits, and of the index.
    pub(crate) fn overhead(&self) -> (usize, usize) {
        match &self.store {
            Store::Pool(set) => (set.dense.key_bytes(), set.dense.index().bytes()),
            Store::Linear(linear) => (linear.bit_bytes(), 0),
        }
    }

    /// Returns the name of the layout, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.store {
            Store::Pool(_) => "pool",
            Store::Linear(_) => "linear store",
        }
    }

    /// Returns the number of values that there is capacity for.
    pub(crate) fn capacity(&self) -> u32 {
        match &self.store {
            Store::Pool(set) => set.dense.capacity(),
            Store::Linear(linear) => linear.slots(),
        }
    }

    /// Returns `true` if no group names the component.
    #[inline(always)]
    pub(crate) fn is_ungrouped(&self) -> bool {
        self.required_by.len() | self.excluded_by.len() == 0
    }

    /// Returns whether removed values must be kept.
    ///
    /// They are kept if they need a drop, if the component is tracked by columns, or if a sparse set does not remove by
    /// swapping.
    pub(super) fn find_discards(&self) -> Discards {
        let by_swap = match &self.store {
            Store::Pool(set) => set.removal == Removal::Swap,
            Store::Linear(_) => true,
        };
        match by_swap && !self.is_column_tracked && !self.values().needs_drop() {
            false => Discards::No,
            true if self.is_ungrouped() => Discards::Yes,
            true => Discards::AfterLeaving,
        }
    }

    /// Returns `true` if the change of one value changes nothing else: no group names the component, a sparse set removes by
    /// swapping, and a linear storage has no dirty bits.
    pub(super) fn find_is_simple(&self) -> bool {
        self.is_ungrouped()
            && match &self.store {
                Store::Pool(set) => set.removal == Removal::Swap,
                Store::Linear(linear) => !linear.is_tracked(),
            }
    }

    /// Updates what is cached: after a change of the groups that name the component, of the removal policy, or of which lanes
    /// are tracked.
    pub(crate) fn update_cached(&mut self) {
        (self.discards, self.is_simple) = (self.find_discards(), self.find_is_simple());
    }

    /// Reserves capacity for a value of `slot`, and returns where it is to be written. `FRESH` says that it has none.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no value changes.
    #[inline(always)]
    pub(super) fn try_reserve<const FRESH: bool>(&mut self, slot: u32) -> Result<SparsePtr, AllocError> {
        let (values, row) = match &mut self.store {
            Store::Pool(set) => {
                set.dense.try_ready(slot)?;
                (set.values(), set.dense.positions())
            }
            Store::Linear(linear) => {
                linear.try_cover(slot)?;
                (linear.values(), if FRESH { slot } else { linear.insert_row(slot) })
            }
        };
        Ok(SparsePtr { lane: values.lane(), row: row as usize })
    }

    /// Returns where the next value of `slot` is to be written.
    #[inline(always)]
    pub(super) fn insert_ptr(&self, slot: u32) -> SparsePtr {
        let row = match &self.store {
            Store::Pool(set) => set.dense.positions(),
            Store::Linear(linear) => linear.insert_row(slot),
        };
        SparsePtr { lane: self.values().lane(), row: row as usize }
    }

    /// Makes the value that was written the value of `slot`. Returns the row of the value that it displaces.
    ///
    /// # Safety
    ///
    /// - Capacity was [reserved](SparseStorage::try_reserve), and the value is written there.
    /// - With `FRESH`, the slot has no value here.
    #[inline(always)]
    pub(super) unsafe fn insert<const FRESH: bool>(&mut self, slot: Entity) -> Option<u32> {
        // SAFETY: the slot was made ready or covered by the reservation, and the value is written, by the caller's
        // contract. So is that with `FRESH` the slot has no value.
        unsafe {
            match &mut self.store {
                Store::Pool(set) => set.insert::<FRESH>(slot),
                Store::Linear(linear) => linear.insert::<FRESH>(slot),
            }
        }
    }

    /// Removes the value of a slot that is despawned from a sparse set that no group names, without keeping it. Returns
    /// `false` if the value may still be there.
    #[inline(always)]
    pub(super) fn discard_in_set(&mut self, slot: Entity) -> bool {
        // SAFETY: values can be discarded, and there are no groups to leave.
        self.discards == Discards::Yes && unsafe { self.discard_after_leaving(slot) }
    }

    /// Removes the value of a slot that is despawned from a sparse set, without keeping it. Returns `false` if the value may
    /// still be there.
    ///
    /// # Safety
    ///
    /// The values can be [discarded](Discards). The slot is in no group that requires the component.
    #[inline(always)]
    pub(super) unsafe fn discard_after_leaving(&mut self, slot: Entity) -> bool {
        if slot.is_row() {
            return false;
        }
        // SAFETY: values can be discarded, by the caller's contract: the set removes by swapping, and they need no drop. The slot
        // is not an extra row, as just tested.
        let is_removed = unsafe { self.sparse_set_mut().discard(slot) };
        self.removed_counts[1] += u64::from(is_removed);
        is_removed
    }

    /// Removes the value of a slot that is despawned from a linear storage, without keeping it. Returns `false` if the value
    /// may still be there.
    #[inline(always)]
    pub(super) fn discard_in_linear(&mut self, slot: Entity) -> bool {
        if let (Discards::Yes, Store::Linear(linear)) = (self.discards, &mut self.store) {
            self.removed_counts[1] += u64::from(linear.remove(slot).is_some());
            return true;
        }
        false
    }

    /// Removes all values, which stay initialised, and returns how many rows a sparse set had.
    pub(super) fn release_all(&mut self) -> u32 {
        match &mut self.store {
            Store::Pool(set) => set.release_all(),
            Store::Linear(linear) => {
                linear.release_all();
                0
            }
        }
    }

    /// Returns the slots that have a value and the rows of their values, in the order of the storage.
    pub(crate) fn slots_and_rows(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (set, linear) = match &self.store {
            Store::Pool(set) => (Some(set), None),
            Store::Linear(linear) => (None, Some(linear)),
        };
        let in_set = set
            .into_iter()
            .flat_map(|set| (0..set.dense.positions()).filter_map(|at| Some((set.dense.key_at(at)?.index(), at))));
        in_set.chain(linear.into_iter().flat_map(|linear| linear.iter().map(|slot| (slot, slot))))
    }

    /// Returns the number of values of extra rows. A linear storage does not count them.
    #[cfg(feature = "reflect")]
    pub(crate) fn extra_values(&self) -> Option<u32> {
        match &self.store {
            Store::Pool(set) => Some(set.extra_rows),
            Store::Linear(_) => None,
        }
    }

    /// Returns the rows of a sparse set, if all have the values of entities: there are neither holes nor extra rows.
    #[cfg(feature = "reflect")]
    pub(crate) fn rows_of_entities(&self) -> Option<core::ops::Range<u32>> {
        match &self.store {
            Store::Pool(set) if set.extra_rows == 0 && set.dense.holes() == 0 => Some(0..set.dense.positions()),
            _ => None,
        }
    }

    /// Returns the lane of the keys or presence bits, and the lanes of the values.
    ///
    /// # Safety
    ///
    /// The lanes are not replaced or resized.
    pub(crate) unsafe fn lanes_mut(&mut self) -> (&mut Lane, &mut [Lane]) {
        // SAFETY: the lanes are not replaced or resized, by the caller's contract.
        unsafe {
            match &mut self.store {
                Store::Pool(set) => {
                    let (keys, values) = set.dense.parts_mut();
                    (keys, values.lanes_mut())
                }
                Store::Linear(linear) => linear.lanes_mut(),
            }
        }
    }
}
