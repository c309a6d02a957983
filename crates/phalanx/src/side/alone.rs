//! One component of one slot, given and taken by those who know its type: the short way for loops.
//!
//! It is taken where nothing else is concerned: the component is not tracked, no group names it, and all room is there.
//! Otherwise the usual way is.
#![allow(unsafe_code)]

use super::{Removal, Side, Sides, Store};
use crate::component::Component;
use crate::layout::{Layout, mark_row};
use crate::track::Look;
use phalanx_store::Entity;
use phalanx_store::raw::Rows;

/// What became of a value that was to be put the short way.
pub(crate) enum Put<C> {
    /// It is there, in the place of this one.
    Done(Option<C>),
    /// It has to go the usual way.
    Back(C),
}

impl Side {
    /// Whether no group names the component.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.required_by.is_empty() && self.excluded_by.is_empty()
    }
}

impl Sides {
    /// Gives a slot a value of a side.
    ///
    /// # Safety
    ///
    /// The side is the component's, which is not tracked, and the slot is alive.
    #[inline(always)]
    pub(crate) unsafe fn put_alone<C: Component>(&mut self, number: u32, slot: Entity, value: C) -> Put<C> {
        let (index, covered) = (slot.index(), self.covered);
        let side = &mut *self.list[number as usize];
        if !side.is_alone() {
            return Put::Back(value);
        }
        // SAFETY: the side is the component's, so its lanes are; the row of a value that is there is in use, and the one that
        // a value is written to is within the capacity, where nothing lives.
        unsafe {
            let lane = side.values().lane();
            let ptr = C::Layout::ptr(lane, Look::READ);
            match &mut side.store {
                Store::Pool(pool) => {
                    if let Some(position) = pool.position(index) {
                        mark_row::<C>(lane, position as usize);
                        return Put::Done(Some(C::Layout::replace(ptr, position as usize, value)));
                    }
                    if index >= covered || !pool.dense.is_ready(index) {
                        return Put::Back(value);
                    }
                    C::Layout::write(ptr, pool.dense.positions() as usize, value);
                    pool.put(slot);
                    if let Some(bit) = side.bit {
                        self.mark(index, bit, true);
                    }
                }
                Store::Linear(linear) => {
                    if linear.has(index) {
                        mark_row::<C>(lane, index as usize);
                        return Put::Done(Some(C::Layout::replace(ptr, index as usize, value)));
                    }
                    if index >= linear.covered() {
                        return Put::Back(value);
                    }
                    C::Layout::write(ptr, index as usize, value);
                    linear.put(slot);
                }
            }
        }
        Put::Done(None)
    }

    /// Takes the value of a side from a slot: `None` if it has to be taken the usual way, otherwise what there was.
    ///
    /// # Safety
    ///
    /// The side is the component's, which is not tracked, and the slot is alive.
    #[inline(always)]
    pub(crate) unsafe fn take_alone<C: Component>(&mut self, number: u32, slot: Entity) -> Option<Option<C>> {
        let index = slot.index();
        let side = &mut *self.list[number as usize];
        if !side.is_alone() {
            return None;
        }
        let lane = side.values().lane();
        match &mut side.store {
            Store::Pool(pool) => {
                if pool.removal != Removal::Swap {
                    return None;
                }
                let Some(position) = pool.position(index) else { return Some(None) };
                // SAFETY: the position is in use: the value is moved out, and the last one takes its place. The lanes are
                // the component's.
                let value = unsafe {
                    let ptr = C::Layout::ptr(lane, Look::READ);
                    let value = C::Layout::read(ptr, position as usize);
                    let mark = pool.dense.marks()[position as usize];
                    pool.dense.close_swap_by(position, mark, |rows, last, position| {
                        if C::Layout::WHOLE {
                            let values = (*lane).ptr().cast::<C>();
                            values.add(last as usize).copy_to_nonoverlapping(values.add(position as usize), 1);
                        } else {
                            rows.shift(last, position);
                        }
                    });
                    value
                };
                pool.rows -= u32::from(slot.is_row());
                side.gone[0] += 1;
                if let Some(bit) = side.bit {
                    self.mark(index, bit, false);
                }
                Some(Some(value))
            }
            Store::Linear(linear) => {
                let Some(row) = linear.take(slot) else { return Some(None) };
                side.gone[0] += 1;
                // SAFETY: the slot had a value, which is moved out.
                Some(Some(unsafe { C::Layout::read(C::Layout::ptr(lane, Look::READ), row as usize) }))
            }
        }
    }
}
