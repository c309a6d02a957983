//! [`TypedStorage`]: the fast path that inserts or removes one component of one slot, by type.
//!
//! It is used if there are no listeners, the component is untracked, and there is capacity. Otherwise callers use
//! [`SparseStorages::commit`], which has the same effect.
#![allow(unsafe_code)]

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
    !matches!(C::Layout::KIND, Kind::Table) && matches!(C::Layout::TRACK, Track::None)
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
    /// Returns the storage.
    #[inline(always)]
    fn storage(&mut self) -> &mut SparseStorage {
        // SAFETY: the storage exists, as the constructor asks for.
        let storage = unsafe { self.sparse.storages.get_unchecked_mut(self.storage_id as usize) };
        match (&storage.store, C::Layout::KIND) {
            (Store::Pool(_), Kind::Pool) | (Store::Linear(_), Kind::Linear) => storage,
            // SAFETY: the storage is that of the component, so it is of the kind that the layout says.
            _ => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    #[inline(always)]
    fn values(&mut self) -> &Values {
        self.storage().values()
    }

    /// Returns the state of a slot. It is [`KeySlot::Vacant`] if the slot is alive and inserting a value does not
    /// allocate.
    #[inline(always)]
    fn key_slot(&mut self, slot: Entity, is_alive: impl Fn() -> bool) -> KeySlot {
        let (index, covered) = (slot.index(), self.sparse.masks.slots());
        match &self.storage().store {
            // The key of a sparse set has a generation, so its slot is alive.
            Store::Pool(set) => match set.dense.key_slot(slot) {
                KeySlot::Vacant if index >= covered || !is_alive() => KeySlot::Unmapped,
                found => found,
            },
            Store::Linear(linear) if index >= linear.slots() || !is_alive() => KeySlot::Unmapped,
            Store::Linear(linear) if linear.has(index) => KeySlot::Occupied(index),
            Store::Linear(_) => KeySlot::Vacant,
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
        match self.key_slot(slot, is_alive) {
            // SAFETY: the row is in use, and the value is moved out once, by the caller's contract.
            KeySlot::Occupied(row) => FastInsert::Done(Some(unsafe { self.replace(row, value) })),
            KeySlot::Vacant => {
                let is_ungrouped = self.storage().is_ungrouped();
                // SAFETY: the slot is vacant, and the value is moved out once, by the caller's contract.
                let inserted = unsafe {
                    match is_ungrouped {
                        true => self.insert_vacant(slot, value),
                        false => self.insert_grouped(slot, value),
                    }
                };
                if inserted { FastInsert::Done(None) } else { FastInsert::Unavailable }
            }
            KeySlot::Stale | KeySlot::Unmapped => FastInsert::Unavailable,
        }
    }

    /// Replaces the value in a row, and returns the old one.
    ///
    /// # Safety
    ///
    /// The row is in use. `value` points to a value, which counts as moved out.
    #[inline(always)]
    unsafe fn replace(&mut self, row: u32, value: *const C) -> C {
        let (lane, row) = (self.values().lane(), row as usize);
        // SAFETY: the lanes are those of the component. The row is in use and the value is moved out once, by the
        // caller's contract; the storage is borrowed exclusively.
        unsafe {
            set_row_dirty::<C>(lane, row);
            C::Layout::replace(C::Layout::ptr(lane, RunTicks::READ), row, value.read())
        }
    }

    /// Inserts a value into a slot without one. Returns `true`.
    ///
    /// # Safety
    ///
    /// The [state](TypedStorage::key_slot) of the slot is `Vacant`. `value` points to a value, which counts as moved
    /// out.
    #[inline(always)]
    unsafe fn insert_vacant(&mut self, slot: Entity, value: *const C) -> bool {
        let storage = self.storage();
        let (bit, lane) = (storage.bit, storage.values().lane());
        let row = match &storage.store {
            Store::Pool(set) => set.dense.positions() as usize,
            Store::Linear(_) => slot.index() as usize,
        };
        // SAFETY: the lanes are those of the component. The slot is vacant, by the caller's contract, so the row is
        // below the capacity and not in use. The value is moved out once.
        unsafe { C::Layout::write(C::Layout::ptr(lane, RunTicks::READ), row, value.read()) };
        match &mut storage.store {
            Store::Pool(set) => {
                // SAFETY: the slot is vacant, by the caller's contract, and the row was just written. A vacant slot is
                // covered.
                unsafe {
                    set.insert_vacant(slot);
                    self.set_presence_bit(slot.index(), bit, true);
                }
            }
            Store::Linear(linear) => {
                // SAFETY: the slot is vacant, so covered, and the row was just written.
                unsafe {
                    set_row_dirty::<C>(lane, row);
                    linear.add_bit(slot);
                }
            }
        }
        true
    }

    /// Like [`insert_vacant`](TypedStorage::insert_vacant), for a component that groups name. Returns `false` if a
    /// group would allocate; nothing has changed then.
    ///
    /// # Safety
    ///
    /// As for [`insert_vacant`](TypedStorage::insert_vacant); the value counts as moved out if this returns `true`.
    #[inline(never)]
    unsafe fn insert_grouped(&mut self, slot: Entity, value: *const C) -> bool {
        let has_capacity = |at: &u32| self.sparse.groups.get(*at).has_capacity(slot);
        if !self.sparse.get(self.storage_id).required_by.iter().all(has_capacity) {
            return false;
        }
        self.sparse.leave_excluding(slot, self.storage_id);
        // SAFETY: leaving groups that exclude the component does not change its storage, so the slot is still vacant.
        unsafe { self.insert_vacant(slot, value) };
        self.sparse.enter_requiring(slot, self.storage_id);
        true
    }

    /// Removes the value of a slot. Returns `None` if the general path has to be taken, and otherwise the value, if
    /// there was one. `is_alive` says whether the slot is alive.
    #[inline(always)]
    pub(crate) fn remove(&mut self, slot: Entity, is_alive: impl Fn() -> bool) -> Option<Option<C>> {
        let mut row = match self.key_slot(slot, is_alive) {
            KeySlot::Occupied(row) => row,
            KeySlot::Vacant => return Some(None),
            KeySlot::Stale | KeySlot::Unmapped => return None,
        };
        if let Store::Pool(set) = &self.storage().store
            && set.removal != Removal::Swap
        {
            return None;
        }
        if !self.storage().is_ungrouped() {
            // Without the component the slot may enter groups that exclude it, and that may allocate.
            if !self.storage().excluded_by.is_empty() {
                return None;
            }
            self.sparse.leave_requiring(slot, self.storage_id);
            // Leaving a group moves the values that it owns.
            row = self.storage().row(slot.index())?;
        }
        // SAFETY: the slot has its value in this row, and a sparse set removes by swapping.
        Some(Some(unsafe { self.remove_occupied(slot, row) }))
    }

    /// Moves the value of a slot out of a row.
    ///
    /// # Safety
    ///
    /// The slot has its value in this row, and its [state](TypedStorage::key_slot) is `Occupied`. A sparse set removes
    /// by swapping.
    #[inline(always)]
    unsafe fn remove_occupied(&mut self, slot: Entity, row: u32) -> C {
        let storage = self.storage();
        let (bit, lane) = (storage.bit, storage.values().lane());
        // SAFETY: the lanes are those of the component, and the row is in use, by the caller's contract. It counts as
        // moved out from here on.
        let value = unsafe { C::Layout::read(C::Layout::ptr(lane, RunTicks::READ), row as usize) };
        storage.removed_counts[0] += 1;
        match &mut storage.store {
            Store::Pool(set) => {
                // SAFETY: the slot is occupied at this position and removal is by swapping, by the caller's contract;
                // the value is moved out. The rows that are shifted are in use and differ. A slot with a value is
                // covered.
                unsafe {
                    set.swap_remove_with(slot, row, |rows, last, row| shift::<C>(rows, last, row));
                    self.set_presence_bit(slot.index(), bit, false);
                }
            }
            Store::Linear(linear) => {
                // SAFETY: the slot has a value, by the caller's contract, which is moved out.
                unsafe {
                    set_row_dirty::<C>(lane, row as usize);
                    linear.remove_bit(slot);
                }
            }
        }
        value
    }

    /// Sets or clears the presence bit of a slot in the masks.
    ///
    /// # Safety
    ///
    /// The slot is covered. The bit is that of the storage, which is a sparse set.
    #[inline(always)]
    unsafe fn set_presence_bit(&mut self, slot: u32, bit: Option<u32>, present: bool) {
        // SAFETY: a sparse set has a presence bit, and the slot is covered, by the caller's contract.
        unsafe { self.sparse.masks.set_unchecked(slot, bit.unwrap_unchecked(), present) };
    }
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
