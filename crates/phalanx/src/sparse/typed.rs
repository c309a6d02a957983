//! One component of one slot, given and taken by those who know its type: the short way.
//!
//! It is taken where no listener is, the component is not tracked, and all room is there. Otherwise the usual way is; it
//! comes to the same.
#![allow(unsafe_code)]

use super::{Linear, Pool, Removal, SparseStorage, SparseStorages, Store};
use crate::change_detection::{RunTicks, Track};
use crate::component::Component;
use crate::layout::{Kind, Layout, set_row_dirty};
use phalanx_store::Entity;
use phalanx_store::index::KeySlot;
use phalanx_store::raw::Rows;

/// What became of a value that was to be put the short way.
pub(crate) enum Put<C> {
    /// It was moved to its place, where this one was.
    Done(Option<C>),
    /// It is where it was, and has to go the usual way.
    Not,
}

/// Whether there is a short way to a component: if it has a store of its own and is not tracked.
pub(crate) const fn has_fast_path<C: Component>() -> bool {
    !matches!(C::Layout::KIND, Kind::Table) && matches!(C::Layout::TRACK, Track::None)
}

impl SparseStorage {
    /// Whether no group names the component.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.required_by.len() | self.excluded_by.len() == 0
    }

    /// Whether the value of a slot, or that there is none, is at hand, and its place can be closed the short way.
    #[inline(always)]
    fn lets_go(&self, slot: Entity) -> bool {
        match &self.store {
            Store::Pool(pool) => pool.removal == Removal::Swap && pool.dense.key_slot(slot) != KeySlot::Unmapped,
            Store::Linear(_) => true,
        }
    }

    /// # Safety
    ///
    /// It is a pool.
    #[inline(always)]
    unsafe fn as_pool(&mut self) -> &mut Pool {
        match &mut self.store {
            Store::Pool(pool) => pool,
            // SAFETY: the caller's promise.
            Store::Linear(_) => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// # Safety
    ///
    /// It is a linear store.
    #[inline(always)]
    unsafe fn as_linear(&mut self) -> &mut Linear {
        match &mut self.store {
            Store::Linear(linear) => linear,
            // SAFETY: the caller's promise.
            Store::Pool(_) => unsafe { core::hint::unreachable_unchecked() },
        }
    }
}

impl SparseStorages {
    /// The side of this number.
    ///
    /// # Safety
    ///
    /// There is one of this number.
    #[inline(always)]
    unsafe fn at(&mut self, number: u32) -> &mut SparseStorage {
        debug_assert!((number as usize) < self.list.len());
        // SAFETY: the caller's promise.
        unsafe { self.list.get_unchecked_mut(number as usize) }
    }

    /// Gives a slot a value of a side.
    ///
    /// # Safety
    ///
    /// The side is the component's, which [has a short way](has_fast_path). There is a value at the address, which counts as
    /// moved out if it is done, or if this panics. `is_alive` says whether the slot is.
    #[inline(always)]
    pub(crate) unsafe fn insert_fast<C: Component>(
        &mut self,
        number: u32,
        slot: Entity,
        value: *const C,
        is_alive: impl Fn() -> bool,
    ) -> Put<C> {
        debug_assert!(has_fast_path::<C>());
        let index = slot.index();
        // SAFETY: the side is the component's, so it is of this kind and its lanes are the component's; the row of a value
        // that is there is in use, and the one that a value is written to is within the capacity, where nothing lives. Room
        // was found for everything else. Only slots that are alive are in pools.
        unsafe {
            let covered = self.covered;
            let side = self.at(number);
            if !side.is_alone() {
                return if is_alive() { self.put_grouped(number, slot, value) } else { Put::Not };
            }
            if matches!(C::Layout::KIND, Kind::Linear) {
                let linear = side.as_linear();
                if index >= linear.covered() || !is_alive() {
                    return Put::Not;
                }
                let lane = linear.values().lane();
                set_row_dirty::<C>(lane, index as usize);
                let place = C::Layout::ptr(lane, RunTicks::READ);
                if linear.has(index) {
                    return Put::Done(Some(C::Layout::replace(place, index as usize, value.read())));
                }
                C::Layout::write(place, index as usize, value.read());
                linear.count(slot);
                return Put::Done(None);
            }
            let bit = side.bit.unwrap_unchecked();
            let pool = side.as_pool();
            let lane = pool.values().lane();
            match pool.dense.key_slot(slot) {
                KeySlot::Occupied(at) => {
                    set_row_dirty::<C>(lane, at as usize);
                    let old = C::Layout::replace(C::Layout::ptr(lane, RunTicks::READ), at as usize, value.read());
                    return Put::Done(Some(old));
                }
                KeySlot::Vacant if index < covered && is_alive() => {}
                _ => return Put::Not,
            }
            C::Layout::write(C::Layout::ptr(lane, RunTicks::READ), pool.dense.positions() as usize, value.read());
            pool.sit(slot);
            self.mark(index, bit, true);
        }
        Put::Done(None)
    }

    /// As [`insert_fast`](SparseStorages::insert_fast), of a component that groups name: the same, and the groups are kept.
    ///
    /// # Safety
    ///
    /// As there, and the slot is alive.
    #[inline(never)]
    unsafe fn put_grouped<C: Component>(&mut self, number: u32, slot: Entity, value: *const C) -> Put<C> {
        let (side, index) = (self.get(number), slot.index());
        let lane = side.values().lane();
        // SAFETY: as there. Groups were found to have room; those that the slot leaves do not own this side, so that the place
        // of the value stays where it is.
        unsafe {
            if let Some(row) = side.row(index) {
                set_row_dirty::<C>(lane, row as usize);
                let place = C::Layout::ptr(lane, RunTicks::READ);
                return Put::Done(Some(C::Layout::replace(place, row as usize, value.read())));
            }
            let has_room = match &side.store {
                Store::Pool(pool) => pool.dense.key_slot(slot) == KeySlot::Vacant && index < self.covered,
                Store::Linear(linear) => index < linear.covered(),
            };
            let groups_have = |at: &u32| {
                let group = self.groups.get(*at);
                group.owns() || group.list.key_slot(slot) != KeySlot::Unmapped
            };
            if !has_room || !side.required_by.iter().all(groups_have) {
                return Put::Not;
            }
            let row = side.spare(index).row;
            C::Layout::write(C::Layout::ptr(lane, RunTicks::READ), row, value.read());
            if !side.excluded_by.is_empty() {
                self.leave_excluding(slot, number);
            }
            let side = &mut *self.list[number as usize];
            match &mut side.store {
                Store::Pool(pool) => {
                    pool.sit(slot);
                    let bit = side.bit.unwrap_unchecked();
                    self.mark(index, bit, true);
                }
                Store::Linear(linear) => {
                    set_row_dirty::<C>(lane, row);
                    linear.count(slot);
                }
            }
            self.enter_requiring(slot, number);
        }
        Put::Done(None)
    }

    /// Takes the value of a side from a slot: `None` if it has to be taken the usual way, otherwise what there was.
    ///
    /// # Safety
    ///
    /// As for [`insert_fast`](SparseStorages::insert_fast).
    #[inline(always)]
    pub(crate) unsafe fn take_fast<C: Component>(
        &mut self,
        number: u32,
        slot: Entity,
        is_alive: impl Fn() -> bool,
    ) -> Option<Option<C>> {
        debug_assert!(has_fast_path::<C>());
        let index = slot.index();
        // SAFETY: the side is the component's, so it is of this kind and its lanes are the component's. A value that is there
        // is moved out, and in a pool the last one takes its place. Only slots that are alive are in pools.
        unsafe {
            let side = self.at(number);
            if !side.is_alone() {
                // Groups are left when nothing is in the way any more: the usual way may fail, and then nothing has happened.
                if !side.excluded_by.is_empty() || !side.lets_go(slot) || !is_alive() {
                    return None;
                }
                self.leave_requiring(slot, number);
            }
            let side = self.at(number);
            if matches!(C::Layout::KIND, Kind::Linear) {
                let linear = side.as_linear();
                if !is_alive() {
                    return None;
                }
                if !linear.has(index) {
                    return Some(None);
                }
                let lane = linear.values().lane();
                set_row_dirty::<C>(lane, index as usize);
                linear.discount(slot);
                side.gone[0] += 1;
                return Some(Some(C::Layout::read(C::Layout::ptr(lane, RunTicks::READ), index as usize)));
            }
            let bit = side.bit.unwrap_unchecked();
            let pool = side.as_pool();
            let position = match pool.dense.key_slot(slot) {
                KeySlot::Occupied(position) => position,
                KeySlot::Vacant if is_alive() => return Some(None),
                _ => return None,
            };
            if pool.removal != Removal::Swap {
                return None;
            }
            let lane = pool.values().lane();
            let value = C::Layout::read(C::Layout::ptr(lane, RunTicks::READ), position as usize);
            pool.dense.swap_remove_with(slot, position, |rows, last, position| {
                if C::Layout::WHOLE {
                    let values = (*lane).ptr().cast::<C>();
                    values.add(last as usize).copy_to_nonoverlapping(values.add(position as usize), 1);
                } else {
                    rows.shift(last, position);
                }
            });
            if slot.is_row() {
                pool.rows -= 1;
            }
            side.gone[0] += 1;
            self.mark(index, bit, false);
            Some(Some(value))
        }
    }
}
