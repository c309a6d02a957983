//! [`MadeRequired`]: values of required components that are created before an operation of several commits begins.
//!
//! Creating a value is user code and may panic. An operation with one commit creates the values where they go, beyond the last
//! row. An operation with several creates all of them before the first commit, so that a panic leaves nothing changed.
//!
//! # Invariants
//!
//! `values` are in the order in which the commits need them. Those from `next` up to `made` are owned, each at its offset in the
//! arena. There are none outside of [`Made`].
#![allow(unsafe_code)]

use super::arena::Arena;
use crate::alloc::try_reserve;
use crate::bundle::{BundlePtr, Required, WrittenRequired};
use crate::component::Requirement;
use phalanx_store::AllocError;
use phalanx_store::raw::drop_all;

/// Values of required components, which are expected first, then created, then moved to where they go.
#[derive(Debug, Default)]
pub(crate) struct MadeRequired {
    /// What is created, and the offset of its value.
    values: Vec<(Requirement, usize)>,
    arena: Arena,
    /// The number of values that were created.
    made: usize,
    /// The number of values that were moved out.
    next: usize,
    /// The bytes of the expected values with padding, and their greatest alignment.
    bytes: usize,
    align: usize,
}

impl MadeRequired {
    /// Returns the bytes held from the allocator.
    pub(crate) fn held(&self) -> usize {
        self.values.capacity() * size_of::<(Requirement, usize)>() + self.arena.bytes()
    }

    /// Starts to expect values.
    pub(crate) fn begin(&mut self) {
        self.values.clear();
        self.arena.clear();
        (self.made, self.next, self.bytes, self.align) = (0, 0, 0, 1);
    }

    /// Counts the values that a commit needs, after those of the commits before it.
    pub(crate) fn try_expect(&mut self, list: &[Required]) -> Result<(), AllocError> {
        try_reserve(&mut self.values, list.len())?;
        for Required { requirement, .. } in list {
            let layout = requirement.layout();
            // With the largest possible padding before it.
            let bytes = layout.size().checked_add(layout.align() - 1).and_then(|bytes| bytes.checked_add(self.bytes));
            self.bytes = bytes.ok_or(AllocError::CapacityOverflow)?;
            self.align = self.align.max(layout.align());
            self.values.push((*requirement, 0));
        }
        Ok(())
    }

    /// Reserves memory for the expected values.
    pub(crate) fn try_reserve(&mut self) -> Result<(), AllocError> {
        self.arena.try_reserve(self.bytes, self.align)
    }

    /// Creates the expected values, for which memory is [reserved](MadeRequired::try_reserve).
    ///
    /// This is user code. If it panics, the values that were created are dropped.
    pub(crate) fn make(&mut self) -> Made<'_> {
        debug_assert!(self.made == 0 && self.next == 0);
        Made(Some(self)).create()
    }

    /// Returns the address of a value.
    fn at(&self, (requirement, offset): (Requirement, usize)) -> *mut u8 {
        // SAFETY: the arena placed the value at this offset, and is cleared with the list.
        unsafe { self.arena.at(offset, requirement.layout()) }
    }
}

/// Values that were created, and are dropped with this unless a commit has moved them out.
pub(crate) struct Made<'a>(Option<&'a mut MadeRequired>);

impl Made<'_> {
    /// Returns no values, for commits without required components.
    pub(crate) fn none() -> Self {
        Made(None)
    }

    /// Creates all values.
    fn create(mut self) -> Self {
        if let Made(Some(all)) = &mut self {
            while let Some(&(requirement, _)) = all.values.get(all.made) {
                let Ok(offset) = all.arena.try_place(requirement.layout()) else { unreachable!("reserved") };
                all.values[all.made].1 = offset;
                // SAFETY: the arena has just given out this block, with the layout of the value.
                unsafe { requirement.create(all.at((requirement, offset))) };
                all.made += 1;
            }
        }
        self
    }

    /// Writes the values of a bundle by `write`, and the next values for a list of required components behind them.
    ///
    /// `columns` is the number of all of these components.
    ///
    /// # Safety
    ///
    /// - The list was [expected](MadeRequired::try_expect) after those of the commits before.
    /// - The pointer is valid for the components of the bundle and then for those of the list, and no values are there. If `write`
    ///   panics, it has dropped its values.
    #[inline(always)]
    pub(crate) unsafe fn write_with(
        &mut self,
        list: &[Required],
        columns: usize,
        to: BundlePtr,
        write: impl FnOnce(BundlePtr),
    ) {
        match list.is_empty() {
            true => write(to),
            false => {
                // SAFETY: the pointer is valid for the components of the list, behind those of the bundle, by the caller's contract.
                let written = unsafe { self.write_next(list, to.skip(columns - list.len())) };
                write(to);
                written.release();
            }
        }
    }

    /// Moves the next values to `to`.
    ///
    /// # Safety
    ///
    /// As for [`write_with`](Made::write_with); the pointer is valid for the list.
    #[cold]
    #[inline(never)]
    unsafe fn write_next<'l>(&mut self, list: &'l [Required], to: BundlePtr) -> WrittenRequired<'l> {
        let Some(all) = &mut self.0 else { unreachable!("required components are expected") };
        // SAFETY: the values are of these components, in their order, since the list was expected. Each is moved out once: one that
        // cannot be split counts as moved out, too.
        unsafe {
            Required::write_all_by(list, to, |required, lanes, row| {
                let value = all.values[all.next];
                debug_assert_eq!(value.0.type_id(), required.requirement.type_id());
                assert!(all.next < all.made, "a value for each component");
                all.next += 1;
                required.requirement.write_made(lanes, row, all.at(value), to.clock);
            })
        }
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        let Some(all) = &mut self.0 else { return };
        let left = all.next..core::mem::replace(&mut all.made, 0);
        all.next = 0;
        drop_all(left, |at| {
            let (requirement, _) = all.values[at];
            // SAFETY: the value was created and not moved out. It is dropped once.
            unsafe { requirement.drop_made(all.at(all.values[at])) };
        });
    }
}
