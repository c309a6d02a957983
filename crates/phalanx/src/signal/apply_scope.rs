//! The calls under way that apply commands, each identified by the address of its world.
//!
//! What listeners record during such a call is applied at its end. A closure among the commands has exclusive access to the
//! world: it can move the world elsewhere and leave another in its place. So a counter in the world would be raised in one world
//! and lowered in another. The address does not change: it is borrowed for the whole call. A world that is moved away is not
//! part of the call any more, and the world at its old address is.
//!
//! # Invariants
//!
//! Each pointer of the list is to a [`Call`] in a stack frame of [`run`] that has not returned. Calls are added and removed
//! under the lock, and `next` pointers are read and written under it.
#![allow(unsafe_code)]

use crate::world::World;
use core::cell::Cell;
use core::ptr::null;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call under way.
struct Call {
    /// The address of the world. It is only compared.
    world: *const World,
    next: Cell<*const Call>,
}

/// The calls under way on all threads, as a linked list.
struct Calls(*const Call);

// SAFETY: other threads reach a call only under the lock. It does not move before it is removed from the list.
unsafe impl Send for Calls {}

static CALLS: Mutex<Calls> = Mutex::new(Calls(null()));

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Calls {
    /// Iterates over the calls.
    fn iter(&self) -> impl Iterator<Item = &Call> {
        let mut next = self.0;
        core::iter::from_fn(move || {
            // SAFETY: the pointer is null, or to a call in the list, which is locked.
            let call = unsafe { next.as_ref()? };
            next = call.next.get();
            Some(call)
        })
    }
}

/// Runs a function that applies commands to a world.
pub(crate) fn run<R>(world: &mut World, body: impl FnOnce(&mut World) -> R) -> R {
    /// A call in the list. It is removed when this is dropped.
    struct Entered<'a>(&'a Call);
    impl Drop for Entered<'_> {
        fn drop(&mut self) {
            let mut calls = calls();
            let next = self.0.next.get();
            if core::ptr::eq(calls.0, self.0) {
                calls.0 = next;
            } else if let Some(before) = calls.iter().find(|call| core::ptr::eq(call.next.get(), self.0)) {
                before.next.set(next);
            }
        }
    }
    let call = Call { world, next: Cell::new(null()) };
    // Dropped before the call that it borrows.
    let _entered = {
        let mut calls = calls();
        call.next.set(calls.0);
        calls.0 = &raw const call;
        Entered(&call)
    };
    body(world)
}

/// Returns `true` if a call that applies commands to a world at this address is under way.
pub(crate) fn contains(world: &World) -> bool {
    calls().iter().any(|call| core::ptr::eq(call.world, world))
}
