//! Functions on slices that the minimum Rust version lacks.
#![allow(unsafe_code)]

use super::DropGuard;
use core::mem::MaybeUninit;
use core::{ptr, slice};

/// Returns bytes as memory that may be uninitialised, to copy them into such memory.
#[inline(always)]
pub const fn as_uninit(bytes: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: the layout is the same, and any byte is allowed.
    unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Clones values to unused memory. If a clone panics, the values that were cloned are dropped.
///
/// # Safety
///
/// `to` is aligned and valid for writes of as many values as `from` has, which are not part of `from`.
#[inline]
pub(crate) unsafe fn clone_to<T: Clone>(from: &[T], to: *mut T) {
    let mut cloned = DropGuard::new(0, |cloned| {
        // SAFETY: that many values were written, and nothing refers to them.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(to, *cloned)) }
    });
    for value in from {
        let value = value.clone();
        // SAFETY: there are as many positions as values, by the caller's contract.
        unsafe { to.add(cloned.state).write(value) };
        cloned.state += 1;
    }
    cloned.dismiss();
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::rc::Rc;
    use alloc::vec::Vec;

    #[test]
    fn values_are_cloned_in_order_to_unused_memory() {
        let from = [Rc::new(1), Rc::new(2)];
        let mut to: Vec<Rc<i32>> = Vec::with_capacity(2);
        // SAFETY: the memory has capacity for both, and the length is set when they are written.
        unsafe {
            clone_to(&from, to.as_mut_ptr());
            to.set_len(2);
        }
        assert!(from.iter().zip(&to).all(|(a, b)| Rc::ptr_eq(a, b) && Rc::strong_count(a) == 2));
        assert_eq!(as_uninit(&[1, 2, 3]).len(), 3);
    }
}
