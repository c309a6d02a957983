//! [`Payloads`]: the payload of each entity, checked and unchecked.
//!
//! # Invariants
//!
//! The payload of every slot below `slots` is initialised, as its word is.
#![allow(unsafe_code)]

use super::{EntityPool, Slot};
use crate::Entity;
use crate::generation::is_dead;
use core::fmt;

impl<P: Copy> EntityPool<P> {
    /// Returns the payload of an entity or row, or `None` if it is not alive.
    #[inline(always)]
    pub fn payload(&self, entity: Entity) -> Option<P> {
        self.payloads().get(entity)
    }

    /// Returns the payload of a slot, alive or dead, or `None` if there is no such slot.
    #[inline(always)]
    pub fn payload_at(&self, index: u32) -> Option<P> {
        self.payloads().slots.get(index as usize).map(|slot| slot.payload)
    }

    /// Returns the payloads of all slots, resolved once: for loops over entities.
    #[inline(always)]
    pub fn payloads(&self) -> Payloads<'_, P> {
        // SAFETY: the slots below `slots` are initialised, and do not change while the pool is borrowed.
        Payloads { slots: unsafe { self.words.slice(self.slots) } }
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
}

/// The payloads of an [`EntityPool`]: [`EntityPool::payloads`].
pub struct Payloads<'a, P: Copy> {
    slots: &'a [Slot<P>],
}

impl<P: Copy> Clone for Payloads<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Copy> Copy for Payloads<'_, P> {}

impl<P: Copy> fmt::Debug for Payloads<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payloads({})", self.slots.len())
    }
}

impl<P: Copy> Payloads<'_, P> {
    /// Returns the payload of an entity or row, or `None` if it is not alive.
    #[inline(always)]
    pub fn get(&self, entity: Entity) -> Option<P> {
        // An entity holds its index plus one. Subtracting it from the address is free.
        let position = entity.position() as usize;
        if position > self.slots.len() {
            return None;
        }
        let slot = self.slots.as_ptr().wrapping_add(position).wrapping_sub(1);
        // SAFETY: a position is above zero, so the slot is one of the slice. A dead word has a bit that no entity's generation
        // has.
        unsafe { if (*slot).word == entity.generation() { Some((*slot).payload) } else { None } }
    }

    /// Returns the address of a slot, for a prefetch. There may be no such slot.
    #[inline(always)]
    pub fn slot_address(&self, index: u32) -> *const () {
        self.slots.as_ptr().wrapping_add(index as usize).cast()
    }
}

/// The slots of an [`EntityPool`], for many look-ups of live entities and rows: [`EntityPool::occupants`]. A loop that writes
/// elsewhere keeps their address in a register.
pub struct Occupants<'a, P: Copy> {
    slots: &'a [Slot<P>],
}

impl<P: Copy> Clone for Occupants<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Copy> Copy for Occupants<'_, P> {}

impl<P: Copy> fmt::Debug for Occupants<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Occupants({} slots)", self.slots.len())
    }
}

impl<P: Copy> Occupants<'_, P> {
    /// Returns the live entity or row with this index.
    #[inline(always)]
    pub fn get(self, index: u32) -> Option<Entity> {
        let word = self.slots.get(index as usize)?.word;
        (!is_dead(word)).then(|| Entity::new(index, word))
    }
}

/// The slots of an [`EntityPool`], for writing many payloads: [`EntityPool::occupants_mut`].
pub struct OccupantsMut<'a, P: Copy> {
    slots: &'a mut [Slot<P>],
}

impl<P: Copy> fmt::Debug for OccupantsMut<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OccupantsMut({} slots)", self.slots.len())
    }
}

impl<P: Copy> OccupantsMut<'_, P> {
    /// Returns the live entity or row with this index, and its payload.
    #[inline(always)]
    pub fn get(&mut self, index: u32) -> Option<(Entity, &mut P)> {
        let Slot { word, payload } = self.slots.get_mut(index as usize)?;
        (!is_dead(*word)).then(|| (Entity::new(index, *word), payload))
    }
}

impl<P: Copy> EntityPool<P> {
    /// Returns the live entities and rows by their indices.
    ///
    /// # Safety
    ///
    /// The caller hands the name of a row to no code outside, as for [`alloc_row`](EntityPool::alloc_row).
    pub unsafe fn occupants(&self) -> Occupants<'_, P> {
        Occupants { slots: self.words() }
    }

    /// Returns the live entities and rows by their indices, with their payloads.
    ///
    /// # Safety
    ///
    /// The caller hands the name of a row to no code outside, as for [`alloc_row`](EntityPool::alloc_row).
    pub unsafe fn occupants_mut(&mut self) -> OccupantsMut<'_, P> {
        // SAFETY: the slots below `slots` are initialised, and the pool is borrowed exclusively.
        OccupantsMut { slots: unsafe { self.words.slice_mut(self.slots) } }
    }
}
