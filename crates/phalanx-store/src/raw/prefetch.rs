//! [`prefetch`]: a hint to the processor.
#![allow(unsafe_code)]

/// Hints to the processor that the memory at an address is needed soon. Does nothing on targets without such a hint.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint is valid for any address; it accesses no memory.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
