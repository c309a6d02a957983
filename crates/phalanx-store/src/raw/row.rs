//! Moving rows of lanes as bytes.
#![allow(unsafe_code)]

use super::Lane;
use core::mem::MaybeUninit;

/// Returns a pointer to a row of a lane.
///
/// # Safety
///
/// The row is not above the capacity of the lane.
#[inline(always)]
pub unsafe fn row_ptr(lane: &Lane, row: u32) -> *mut u8 {
    // SAFETY: within the block, or one past its end.
    unsafe { lane.ptr().as_ptr().add(row as usize * lane.row_size()) }
}

/// Copies a row. Common sizes are copied without a call.
///
/// # Safety
///
/// Both are `size` bytes, of different rows.
#[inline(always)]
pub unsafe fn copy_row(from: *const u8, to: *mut u8, size: usize) {
    /// Copies `N` bytes, initialised or not.
    unsafe fn exactly<const N: usize>(from: *const u8, to: *mut u8) {
        // SAFETY: both are `N` bytes of different rows. Arrays of bytes have no alignment.
        unsafe { core::ptr::copy_nonoverlapping(from.cast::<MaybeUninit<[u8; N]>>(), to.cast(), 1) };
    }
    // SAFETY: both are `size` bytes of different rows, by the caller's contract.
    unsafe {
        match size {
            4 => exactly::<4>(from, to),
            8 => exactly::<8>(from, to),
            12 => exactly::<12>(from, to),
            16 => exactly::<16>(from, to),
            24 => exactly::<24>(from, to),
            64 => exactly::<64>(from, to),
            _ => core::ptr::copy_nonoverlapping(from, to, size),
        }
    }
}

/// Exchanges two rows.
///
/// # Safety
///
/// Both are `size` bytes, of different rows.
#[inline(always)]
pub unsafe fn swap_row(a: *mut u8, b: *mut u8, size: usize) {
    /// Exchanges `N` bytes, initialised or not.
    #[inline(always)]
    unsafe fn exactly<const N: usize>(a: *mut u8, b: *mut u8) {
        let (a, b) = (a.cast::<MaybeUninit<[u8; N]>>(), b.cast::<MaybeUninit<[u8; N]>>());
        // SAFETY: both are `N` bytes of different rows. Arrays of bytes have no alignment.
        unsafe {
            let value = a.read();
            a.copy_from_nonoverlapping(b, 1);
            b.write(value);
        }
    }
    /// Exchanges `size` bytes. Not inlined: its loops take many registers.
    #[inline(never)]
    unsafe fn of_any_size(a: *mut u8, b: *mut u8, size: usize) {
        // SAFETY: both are `size` bytes of different rows, which may be uninitialised.
        unsafe { core::ptr::swap_nonoverlapping(a.cast::<MaybeUninit<u8>>(), b.cast::<MaybeUninit<u8>>(), size) };
    }
    // SAFETY: both are `size` bytes of different rows, by the caller's contract. They may be uninitialised.
    unsafe {
        match size {
            4 => exactly::<4>(a, b),
            8 => exactly::<8>(a, b),
            12 => exactly::<12>(a, b),
            16 => exactly::<16>(a, b),
            24 => exactly::<24>(a, b),
            64 => exactly::<64>(a, b),
            _ => of_any_size(a, b, size),
        }
    }
}
