//! [`TypedStorage`]: the fast path that inserts or removes one component of one slot, by type.
//!
//! It is used if there are no reserved entities, the component is untracked, and there is capacity. It removes only by
//! swapping, and only components that no group excludes. Otherwise callers use [`SparseStorages::commit`], which has the
//! same effect. Callers that have listeners dispatch the event.
#![allow(unsafe_code)]

use super::masks::Masks;
use super::{Removal, SparseStorage, SparseStorages, Store, Values};
use crate::change_detection::{RunTicks, Track};
use crate::component::Component;
use crate::layout::{Kind, Layout, set_row_dirty};
use core::marker::PhantomData;
use phalanx_store::Entity;
use phalanx_store::index::KeySlot;
use phalanx_store::raw::Rows;

/// Returns `true` if a component has a fast path: it has a sparse storage and is untracked.
pub(crate) const fn has_fast_path<C: Component>() -> bool {
    !matches!(C::Layout::KIND, Kind::Table) && matches!(C::Layout::TRACK, Track::None) && C::REQUIRES.is_empty()
}

/// The outcome of [`TypedStorage::insert`].
pub(crate) enum FastInsert<C> {
    /// The value was moved into the storage. It has replaced this one.
    Done(Option<C>),
    /// Nothing has changed: the value is where it was, and the general path has to be taken.
    Unavailable,
}

/// The storage of a component that has a fast path, by type.
pub(crate) struct TypedStorage<'a, C> {
    sparse: &'a mut SparseStorages,
    /// The id of a storage that exists, and is that of the component.
    storage_id: u32,
    component: PhantomData<fn(C) -> C>,
}

impl SparseStorages {
    /// Returns the storage of a component by its id.
    ///
    /// # Safety
    ///
    /// The storage exists and is that of the component, which [has a fast path](has_fast_path).
    #[inline(always)]
    pub(crate) unsafe fn typed<C: Component>(&mut self, storage_id: u32) -> TypedStorage<'_, C> {
        debug_assert!(has_fast_path::<C>() && (storage_id as usize) < self.storages.len());
        TypedStorage { sparse: self, storage_id, component: PhantomData }
    }
}

impl<C: Component> TypedStorage<'_, C> {
    /// Returns the storage and the presence bits.
    #[inline(always)]
    fn parts(&mut self) -> (&mut SparseStorage, &mut Masks) {
        let SparseStorages { storages, masks, .. } = &mut *self.sparse;
        // SAFETY: the storage exists, as the constructor asks for.
        let storage = unsafe { storages.get_unchecked_mut(self.storage_id as usize) };
        match (&storage.store, C::Layout::KIND) {
            (Store::Pool(_), Kind::Pool) | (Store::Linear(_), Kind::Linear) => (storage, masks),
            // SAFETY: the storage is that of the component, so it is of the kind that the layout says.
            _ => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// Inserts a value into a slot, if that does not allocate. `is_alive` says whether the slot is alive.
    ///
    /// # Safety
    ///
    /// `value` points to a value, which counts as moved out if it was inserted, or if this panics.
    #[inline(always)]
    pub(crate) unsafe fn insert(
        &mut self,
        slot: Entity,
        value: *const C,
        is_alive: impl Fn() -> bool,
    ) -> FastInsert<C> {
        let (storage, masks) = self.parts();
        match key_slot(storage, masks, slot, is_alive) {
            // SAFETY: the storage is that of the component, the row is in use, and the value is moved out once.
            KeySlot::Occupied(row) => FastInsert::Done(Some(unsafe { replace(storage, row, value) })),
            KeySlot::Vacant if storage.is_simple => {
                // SAFETY: the storage is that of the component and simple, the slot is vacant, and the value is moved out once.
                unsafe { insert_vacant::<C, false>(storage, masks, slot, value) };
                FastInsert::Done(None)
            }
            // SAFETY: the slot is vacant, and the value is moved out once, by the caller's contract.
            KeySlot::Vacant if unsafe { self.insert_elaborate(slot, value) } => FastInsert::Done(None),
            _ => FastInsert::Unavailable,
        }
    }

    /// Inserts a value into a vacant slot of a storage that is not [simple](SparseStorage::find_is_simple). Returns `false` if
    /// a group would allocate; nothing has changed then.
    ///
    /// # Safety
    ///
    /// The [state](key_slot) of the slot is `Vacant`. `value` points to a value, which counts as moved out if this returns
    /// `true`.
    #[inline(never)]
    unsafe fn insert_elaborate(&mut self, slot: Entity, value: *const C) -> bool {
        let has_capacity = |at: &u32| self.sparse.groups.get(*at).has_capacity(slot);
        if !self.sparse.get(self.storage_id).required_by.iter().all(has_capacity) {
            return false;
        }
        if !self.sparse.get(self.storage_id).excluded_by.is_empty() {
            self.sparse.leave_excluding(slot, self.storage_id);
        }
        let (storage, masks) = self.parts();
        // SAFETY: a group that excludes the component does not own it, so leaving such groups does not change its storage
        // and the slot is still vacant. The value is moved out once, by the caller's contract.
        unsafe { insert_vacant::<C, true>(storage, masks, slot, value) };
        self.sparse.enter_requiring(slot, self.storage_id);
        true
    }

    /// Removes the value of a slot. Returns `None` if the general path has to be taken, and otherwise the value, if
    /// there was one. `is_alive` says whether the slot is alive.
    #[inline(always)]
    pub(crate) fn remove(&mut self, slot: Entity, is_alive: impl Fn() -> bool) -> Option<Option<C>> {
        let (storage, masks) = self.parts();
        let row = match key_slot(storage, masks, slot, is_alive) {
            KeySlot::Occupied(row) => row,
            KeySlot::Vacant => return Some(None),
            KeySlot::Stale | KeySlot::Unmapped => return None,
        };
        match storage.is_simple {
            // SAFETY: the storage is that of the component, and simple. The slot has its value in this row.
            true => Some(Some(unsafe { remove_occupied::<C, false>(storage, masks, slot, row) })),
            // SAFETY: the slot has a value.
            false => unsafe { self.remove_elaborate(slot) },
        }
    }

    /// Removes the value of a slot from a storage that is not [simple](SparseStorage::find_is_simple). Returns `None` if the
    /// general path has to be taken.
    ///
    /// # Safety
    ///
    /// The [state](key_slot) of the slot is `Occupied`.
    #[inline(never)]
    unsafe fn remove_elaborate(&mut self, slot: Entity) -> Option<Option<C>> {
        let storage = self.parts().0;
        if let Store::Pool(set) = &storage.store
            && set.removal != Removal::Swap
        {
            return None;
        }
        // Without the component the slot may enter groups that exclude it, and that may allocate.
        if !storage.excluded_by.is_empty() {
            return None;
        }
        self.sparse.leave_requiring(slot, self.storage_id);
        let (storage, masks) = self.parts();
        // Leaving a group moves the values that it owns.
        let row = storage.row(slot.index())?;
        // SAFETY: the storage is that of the component. The slot has its value in this row, and a sparse set removes by swapping.
        // Leaving groups does not change the window of the index, so that the state is still `Occupied`.
        Some(Some(unsafe { remove_occupied::<C, true>(storage, masks, slot, row) }))
    }
}

/// Returns the state of a slot. It is [`KeySlot::Vacant`] if the slot is alive and inserting a value does not allocate.
#[inline(always)]
fn key_slot(storage: &SparseStorage, masks: &Masks, slot: Entity, is_alive: impl Fn() -> bool) -> KeySlot {
    let index = slot.index();
    match &storage.store {
        // The key of a sparse set has a generation, so its slot is alive.
        Store::Pool(set) => match set.dense.key_slot(slot) {
            KeySlot::Vacant if index >= masks.slots() || !is_alive() => KeySlot::Unmapped,
            found => found,
        },
        Store::Linear(linear) if !linear.covers(index) || !is_alive() => KeySlot::Unmapped,
        Store::Linear(linear) if linear.has(index) => KeySlot::Occupied(index),
        Store::Linear(_) => KeySlot::Vacant,
    }
}

/// Replaces the value in a row, and returns the old one.
///
/// # Safety
///
/// The storage is that of the component, and the row is in use. `value` points to a value, which counts as moved out.
#[inline(always)]
unsafe fn replace<C: Component>(storage: &mut SparseStorage, row: u32, value: *const C) -> C {
    let (lane, row) = (storage.values().lane(), row as usize);
    // SAFETY: the lanes are those of the component, the row is in use, and the value is moved out once: all by the caller's
    // contract. The storage is borrowed exclusively.
    unsafe {
        set_row_dirty::<C, false>(lane, row);
        C::Layout::replace(C::Layout::ptr(lane, RunTicks::READ), row, value.read())
    }
}

/// Inserts a value into a slot without one.
///
/// # Safety
///
/// The storage is that of the component, and the [state](key_slot) of the slot is `Vacant`. `value` points to a value, which
/// counts as moved out. Without `TRACKED`, a linear storage is not tracked.
#[inline(always)]
unsafe fn insert_vacant<C: Component, const TRACKED: bool>(
    storage: &mut SparseStorage,
    masks: &mut Masks,
    slot: Entity,
    value: *const C,
) {
    let lane = storage.values().lane();
    let row = match &storage.store {
        Store::Pool(set) => set.dense.positions() as usize,
        Store::Linear(_) => slot.index() as usize,
    };
    // SAFETY: the lanes are those of the component. The slot is vacant, by the caller's contract, so the row is below the
    // capacity and not in use. The value is moved out once.
    unsafe { C::Layout::write(C::Layout::ptr(lane, RunTicks::READ), row, value.read()) };
    match &mut storage.store {
        Store::Pool(set) => {
            // SAFETY: the slot is vacant, by the caller's contract, and so covered. The row was just written. A sparse set has a
            // presence bit.
            unsafe {
                set.insert_vacant(slot);
                masks.set_unchecked(slot.index(), storage.bit.unwrap_unchecked(), true);
            }
        }
        Store::Linear(linear) => {
            // SAFETY: the slot is vacant, so covered, and the row was just written. Without `TRACKED`, the storage is not tracked, by
            // the caller's contract.
            unsafe {
                if TRACKED {
                    set_row_dirty::<C, false>(lane, row);
                }
                linear.set_bit::<true, TRACKED>(slot);
            }
        }
    }
}

/// Moves the value of a slot out of a row.
///
/// # Safety
///
/// The storage is that of the component. The [state](key_slot) of the slot is `Occupied` with this row, and a sparse set removes
/// by swapping. Without `TRACKED`, a linear storage is not tracked.
#[inline(always)]
unsafe fn remove_occupied<C: Component, const TRACKED: bool>(
    storage: &mut SparseStorage,
    masks: &mut Masks,
    slot: Entity,
    row: u32,
) -> C {
    let lane = storage.values().lane();
    // SAFETY: the lanes are those of the component, and the row is in use, by the caller's contract. It counts as moved out
    // from here on.
    let value = unsafe { C::Layout::read(C::Layout::ptr(lane, RunTicks::READ), row as usize) };
    storage.removed_counts[0] += 1;
    match &mut storage.store {
        Store::Pool(set) => {
            // SAFETY: the slot is occupied at this position and removal is by swapping, by the caller's contract; the value is
            // moved out. The rows that are shifted are in use and differ. A slot with a value is covered, and a sparse set has a
            // presence bit.
            unsafe {
                set.swap_remove_with(slot, row, |rows, last, row| shift::<C>(rows, last, row));
                masks.set_unchecked(slot.index(), storage.bit.unwrap_unchecked(), false);
            }
        }
        Store::Linear(linear) => {
            // SAFETY: the slot has a value, which is moved out. Without `TRACKED`, the storage is not tracked. Both are the caller's
            // contract.
            unsafe {
                if TRACKED {
                    set_row_dirty::<C, false>(lane, row as usize);
                }
                linear.set_bit::<false, TRACKED>(slot);
            }
        }
    }
    value
}

/// Moves a value from one row to another: with its size known, if it is whole.
///
/// # Safety
///
/// The values are of the component. Both rows are below the capacity and differ, and `to` is moved out.
#[inline(always)]
unsafe fn shift<C: Component>(values: &mut Values, from: u32, to: u32) {
    // SAFETY: both rows are below the capacity and differ, by the caller's contract. A whole component has one lane,
    // which is an array of values.
    unsafe {
        if C::Layout::WHOLE {
            let first = (*values.lane()).ptr().cast::<C>();
            first.add(from as usize).copy_to_nonoverlapping(first.add(to as usize), 1);
        } else {
            values.shift(from, to);
        }
    }
}
