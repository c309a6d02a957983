//! [`Required`]: the components that the components of a bundle require, in one world.
#![allow(unsafe_code)]

use super::BundlePtr;
use crate::alloc::try_reserve;
use crate::component::{ComponentId, Components, Requirement};
use crate::signature::Signature;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// A component that is inserted with a bundle, unless the row has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Required {
    pub(crate) id: ComponentId,
    pub(crate) requirement: Requirement,
}

impl Required {
    /// Returns all components that these components require, without those that are among them. Registers them.
    ///
    /// The order is breadth-first: what the components require in their order, then what those require, and so on. If several
    /// require the same component, the first requirement in this order counts.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails. Components that were registered before it stay registered.
    pub(crate) fn try_of(ids: &[ComponentId], components: &mut Components) -> Result<Box<[Required]>, AllocError> {
        let mut list: Vec<Required> = Vec::new();
        let known = || ids.iter().copied().filter(|id| *id != ComponentId::UNKNOWN);
        if known().all(|id| components.info(id).requires().is_empty()) {
            return Ok(Box::default());
        }
        let (mut seen, mut next) = (Signature::try_of(known())?, 0);
        let mut queue = known();
        loop {
            let id = match queue.next() {
                Some(id) => id,
                None if next < list.len() => {
                    next += 1;
                    list[next - 1].id
                }
                None => break,
            };
            for requirement in components.info(id).requires() {
                let id = requirement.register(components)?;
                if !seen.has(id) {
                    seen.try_insert(id)?;
                    try_reserve(&mut list, 1)?;
                    list.push(Required { id, requirement: *requirement });
                }
            }
        }
        Ok(list.into())
    }

    /// Creates the values of components, and moves them to `to`.
    ///
    /// The functions that create them are user code and may panic. The values that were written by then are dropped.
    ///
    /// # Safety
    ///
    /// The pointer is valid for the components in their order, and no values are there. It stays valid as long as what is
    /// returned.
    pub(crate) unsafe fn write_all(list: &[Required], to: BundlePtr) -> WrittenRequired<'_> {
        // SAFETY: the contract is the same. The lanes are those of the component, whose row has no value.
        unsafe {
            Required::write_all_by(list, to, |required, lanes, row| required.requirement.write(lanes, row, to.clock))
        }
    }

    /// Moves the values of components to `to`, each by a function that gets its first lane and its row.
    ///
    /// If the function panics, the values that were written by then are dropped.
    ///
    /// # Safety
    ///
    /// - The pointer is valid for the components in their order, and no values are there. It stays valid as long as what is
    ///   returned.
    /// - The function writes a value of the component there.
    pub(crate) unsafe fn write_all_by(
        list: &[Required],
        to: BundlePtr,
        mut write: impl FnMut(&Required, *mut Lane, usize),
    ) -> WrittenRequired<'_> {
        let mut written = WrittenRequired { list, count: 0, to };
        for (at, required) in list.iter().enumerate() {
            // SAFETY: the pointer is valid for more than `at` components, by the caller's contract.
            let (lanes, row) = unsafe { to.lane(at, required.requirement.kind()) };
            write(required, lanes, row);
            written.count += 1;
        }
        written
    }

    /// Writes the values of a bundle by `write`, and those of required components behind them.
    ///
    /// `columns` is the number of all of these components.
    ///
    /// # Safety
    ///
    /// The pointer is valid for the components of the bundle and then for those of the list, and no values are there. If `write`
    /// panics, it has dropped its values.
    #[inline(always)]
    pub(crate) unsafe fn write_with(list: &[Required], columns: usize, to: BundlePtr, write: impl FnOnce(BundlePtr)) {
        match list.is_empty() {
            true => write(to),
            // SAFETY: the contract is the same.
            false => unsafe { Required::write_with_some(list, columns, to, write) },
        }
    }

    /// Writes the values of a bundle and of required components, like [`write_with`](Required::write_with).
    ///
    /// # Safety
    ///
    /// The contract is that of [`write_with`](Required::write_with).
    #[cold]
    #[inline(never)]
    unsafe fn write_with_some(list: &[Required], columns: usize, to: BundlePtr, write: impl FnOnce(BundlePtr)) {
        // SAFETY: the pointer is valid for the components of the list, behind those of the bundle, by the caller's contract.
        let written = unsafe { Required::write_all(list, to.skip(columns - list.len())) };
        write(to);
        written.release();
    }
}

/// Values of required components, which are dropped with this unless they are released.
pub(crate) struct WrittenRequired<'a> {
    list: &'a [Required],
    /// The number of values that are written.
    count: usize,
    to: BundlePtr,
}

impl WrittenRequired<'_> {
    /// Leaves the values at their location.
    pub(crate) fn release(self) {
        core::mem::forget(self);
    }
}

impl Drop for WrittenRequired<'_> {
    fn drop(&mut self) {
        let to = self.to;
        phalanx_store::raw::drop_all(self.list[..self.count].iter().enumerate(), |(at, required)| {
            // SAFETY: the pointer is valid for the components, by the contract of `write_all`. The value was written, and is
            // dropped once.
            unsafe {
                let (lanes, row) = to.lane(at, required.requirement.kind());
                required.requirement.drop(lanes, row);
            }
        });
    }
}
