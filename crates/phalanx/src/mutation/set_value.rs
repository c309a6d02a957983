//! [`Storage::set_value`]: the commit that replaces one value.
#![allow(unsafe_code)]

use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::layout::{Layout, set_row_dirty};
use crate::storage::Storage;
use phalanx_store::raw::Lane;

impl Storage {
    /// Replaces a value, and returns the old one. The caller records the change, when the old value does not move any more.
    ///
    /// # Safety
    ///
    /// The lane is the first of the component, and the row is in use there.
    #[inline(always)]
    pub(crate) unsafe fn set_value<C: Component>(&mut self, lane: *const Lane, row: usize, value: C) -> C {
        // SAFETY: the lanes are those of the component and the row is in use, by the caller's contract. The storage is borrowed
        // exclusively.
        unsafe {
            set_row_dirty::<C, false>(lane, row);
            C::Layout::replace(C::Layout::ptr(lane, RunTicks::of::<C>(&raw const self.sparse.clock)), row, value)
        }
    }
}
