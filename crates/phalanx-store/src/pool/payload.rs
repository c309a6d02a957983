//! The payload of each entity: checked, unchecked and raw access.
//!
//! # Invariants
//!
//! The payload of every slot below `slots` is initialised, as its word is.
#![allow(unsafe_code)]

use super::{EntityPool, Slot};
use crate::Entity;
use core::fmt;

impl<P: Copy> EntityPool<P> {
    /// Returns the payload of an entity or row, or `None` if it is not alive.
    #[inline]
    pub fn payload(&self, entity: Entity) -> Option<P> {
        // SAFETY: an entity that is contained has a slot.
        self.contains(entity).then(|| unsafe { self.payload_unchecked(entity.index()) })
    }

    /// Replaces the payload of an entity or row. Returns the old payload, or `None` if it is not alive.
    #[inline]
    pub fn set(&mut self, entity: Entity, payload: P) -> Option<P> {
        let old = self.payload(entity)?;
        // SAFETY: an entity that is alive has a slot.
        unsafe { self.set_unchecked(entity.index(), payload) };
        Some(old)
    }

    /// Returns the payload of a slot, alive or dead.
    ///
    /// # Safety
    ///
    /// `index` is below [`slot_count`](EntityPool::slot_count).
    #[inline(always)]
    pub unsafe fn payload_unchecked(&self, index: u32) -> P {
        debug_assert!(index < self.slots);
        // SAFETY: the slots below `slots` are initialised.
        unsafe { (*self.words.at(index)).payload }
    }

    /// Sets the payload of a slot, alive or dead.
    ///
    /// # Safety
    ///
    /// `index` is below [`slot_count`](EntityPool::slot_count).
    #[inline(always)]
    pub unsafe fn set_unchecked(&mut self, index: u32, payload: P) {
        debug_assert!(index < self.slots);
        // SAFETY: the slots below `slots` are within the lane, and the pool is borrowed exclusively.
        unsafe { (*self.words.at(index)).payload = payload };
    }

    /// Returns raw access to the payloads. Any other mutation of the pool invalidates it.
    ///
    /// Prefer [`payload`](EntityPool::payload), [`set`](EntityPool::set) and their unchecked forms.
    #[inline(always)]
    pub fn places(&self) -> Places<P> {
        Places { slots: self.words.ptr(), count: self.slots as usize }
    }
}

/// Raw access to the payloads of an [`EntityPool`], without a lifetime.
///
/// It is valid until the pool is changed in any other way than through it.
pub struct Places<P: Copy> {
    slots: *mut Slot<P>,
    count: usize,
}

impl<P: Copy> Clone for Places<P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Copy> Copy for Places<P> {}

impl<P: Copy> fmt::Debug for Places<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Places({})", self.count)
    }
}

impl<P: Copy> Places<P> {
    /// Returns a pointer to the payload of a slot.
    ///
    /// # Safety
    ///
    /// The slot is below the pool's [capacity](EntityPool::capacity), which has not changed since.
    #[inline(always)]
    pub unsafe fn at(self, index: u32) -> *mut P {
        // SAFETY: the slot is below the capacity, so the pointer is within the block of the pool's lane.
        unsafe { &raw mut (*self.slots.add(index as usize)).payload }
    }

    /// Returns the payload of an entity or row, or `None` if it is not alive.
    ///
    /// # Safety
    ///
    /// The pool has not changed since, except through this access.
    #[inline(always)]
    pub unsafe fn find(self, entity: Entity) -> Option<P> {
        // An entity holds its index plus one. Subtracting it from the address is free.
        let position = entity.position() as usize;
        if position > self.count {
            return None;
        }
        let slot = self.slots.wrapping_add(position).wrapping_sub(1);
        // SAFETY: the slot is one of the pool's, which are initialised. A dead word has a bit that no entity's generation
        // has.
        unsafe { if (*slot).word == entity.generation() { Some((*slot).payload) } else { None } }
    }
}
