//! [`ResourceCell`]: a resource that can be written through a shared world.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;

/// The value of a resource.
///
/// A system that writes a resource has only a shared world, because other systems run at the same time. So the value is in a
/// cell. The code that runs systems guarantees that no other system uses a resource that one writes; everything else borrows the world
/// as usual, exclusively to write.
pub(crate) struct ResourceCell<R: ?Sized>(UnsafeCell<R>);

// SAFETY: a shared cell gives `&R` to several threads, and a pointer whose users promise not to alias.
unsafe impl<R: Send + Sync> Sync for ResourceCell<R> {}

impl<R> ResourceCell<R> {
    /// Creates a cell.
    pub(crate) fn new(value: R) -> ResourceCell<R> {
        ResourceCell(UnsafeCell::new(value))
    }

    /// Returns the value out of the cell.
    pub(crate) fn into_inner(self) -> R {
        self.0.into_inner()
    }

    /// Returns the value.
    pub(crate) fn get(&self) -> &R {
        // SAFETY: a shared borrow of the cell is one of the world. While the world is shared, only `as_ptr` writes, and its
        // callers promise that no other borrow of the value is in use.
        unsafe { &*self.0.get() }
    }

    /// Returns the value, for writing.
    pub(crate) fn get_mut(&mut self) -> &mut R {
        self.0.get_mut()
    }

    /// Returns a pointer to the value. Who writes through it must know that no borrow of the value is in use meanwhile.
    pub(crate) fn as_ptr(&self) -> *mut R {
        self.0.get()
    }
}
