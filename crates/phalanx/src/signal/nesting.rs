//! The calls that execute commands, each known by the place of its world.
//!
//! What listeners record while such a call is under way waits for its end. Closures among the commands get the world by
//! `&mut`: they may move it elsewhere and leave another in its place, and so a count in the world would be lowered in another
//! world than it was raised in. The place stays: it is borrowed for the whole call. A world that is moved away is part of
//! no call from then on, and the one in its place is.
//!
//! # What must stay true
//!
//! Each pointer of the list is to a [`Call`] in a stack frame of [`run`] that has not returned. It is entered and removed
//! under the lock, and so are `next` pointers read and written.
#![allow(unsafe_code)]

use crate::world::World;
use core::cell::Cell;
use core::ptr::null;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call that is under way.
struct Call {
    /// The address of the world, which is not read through it.
    place: *const World,
    next: Cell<*const Call>,
}

/// The first of the calls that are under way, on all threads.
struct Calls(*const Call);

// SAFETY: calls are reached by other threads only under the lock, and stay where they are until they are removed.
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
            // SAFETY: null, or a call that is under way and stays while the list is locked.
            let call = unsafe { next.as_ref()? };
            next = call.next.get();
            Some(call)
        })
    }
}

/// Runs a call that executes commands.
pub(crate) fn run<R>(world: &mut World, body: impl FnOnce(&mut World) -> R) -> R {
    /// A call in the list, which it leaves when this is dropped.
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
    let call = Call { place: world, next: Cell::new(null()) };
    // Dropped before the call it borrows.
    let _entered = {
        let mut calls = calls();
        call.next.set(calls.0);
        calls.0 = &raw const call;
        Entered(&call)
    };
    body(world)
}

/// Returns `true` if the world is in the place of a call that is under way.
pub(crate) fn is_within(world: &World) -> bool {
    calls().iter().any(|call| core::ptr::eq(call.place, world))
}
