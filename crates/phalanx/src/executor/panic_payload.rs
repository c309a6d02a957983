//! Panics that are caught on one thread and resumed on another.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
pub(super) type PanicPayload = Box<dyn Any + Send>;

/// Drops a payload, even if its destructor panics.
pub(super) fn discard(payload: PanicPayload) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Its destructor may panic as well, and so on.
        core::mem::forget(second);
    }
}
