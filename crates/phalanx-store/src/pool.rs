//! [`EntityPool`]: the allocator of entities.
//!
//! # Representation
//!
//! `words[0..slots]` are initialised: the generation of a slot, with the dead bit while nothing lives there, and the
//! payload. A slot that gets no payload of its own has `default`.
//!
//! `free[0..free_len]` is the free list, a stack of slots to be used again. Its capacity is that of the slots, so
//! releasing cannot fail. A dead slot that is not in the list is retired. A live slot with the row bit is not an entity:
//! `live` counts the slots without it, `rows` those with it.
//!
//! Reservations through a shared reference only count. The `k`-th takes the `k`-th slot from the top of the free list.
//! Past its end, it takes the index `slots + pending + k - free_len`. The next operation through an exclusive reference
//! flushes them. `pending` counts reserved indices at and above `slots` that could not become alive without allocating.
#![allow(unsafe_code)]

mod cancel;
mod claim;
mod entities;
mod free_list;
mod image;
mod next;
mod payload;
mod reservation;
mod restore;
mod rows;

pub use entities::Entities;
pub use free_list::FreeListError;
pub use payload::{Occupants, OccupantsMut, Payloads};
pub use restore::RestoreError;

use crate::error::infallible;
use crate::generation::{self, MAX_SLOTS, RETIRED, ROW, is_dead, is_entity};
use crate::memory::Usage;
use crate::raw::{DropGuard, LaneOf};
use crate::sync::Counter;
use crate::{AllocError, Entity};
use core::fmt;

/// Allocates entities, and knows which of them are alive.
///
/// A released slot is used again under the next generation, so that the old entity stays dead. The slot that was released
/// last is used first. A slot that has used all its 2³⁰ generations is retired. A slot takes 8 bytes.
///
/// ```
/// use phalanx_store::EntityPool;
///
/// let mut pool = EntityPool::new();
/// let [a, b] = [pool.alloc(), pool.alloc()];
/// assert!(pool.release(a));
/// assert!(!pool.release(a));
/// let c = pool.alloc();
/// assert_eq!((c.index(), c.generation()), (a.index(), 1));
/// assert!(!pool.contains(a) && pool.contains(b) && pool.contains(c));
/// ```
///
/// A layer above may keep a payload `P` beside each entity, such as its location, which is read with the same load. See
/// [`with_payload`](EntityPool::with_payload).
#[doc(alias("registry", "allocator", "generational_arena"))]
pub struct EntityPool<P: Copy = ()> {
    words: LaneOf<Slot<P>>,
    free: LaneOf<u32>,
    slots: u32,
    free_len: u32,
    live: u32,
    rows: u32,
    room: u32,
    pending: u32,
    reserved: Counter,
    default: P,
}

/// The word of a slot, and its payload.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slot<P: Copy> {
    word: u32,
    payload: P,
}

/// The state of a slot of an [`EntityPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// An entity or a row lives in the slot.
    Alive {
        /// The generation of the entity or row.
        generation: u32,
    },
    /// The slot will be used again.
    Free {
        /// The generation of the slot's next entity.
        generation: u32,
        /// The slot that is used after this one.
        next: Option<u32>,
    },
    /// The slot has used all its generations.
    Retired,
}

impl EntityPool {
    /// Creates an empty pool without allocating.
    #[cfg(not(loom))]
    pub const fn new() -> EntityPool {
        EntityPool::with_payload(())
    }

    /// Creates an empty pool without allocating. Not `const` in this build, as loom's atomics are not.
    #[cfg(loom)]
    pub fn new() -> EntityPool {
        EntityPool::with_payload(())
    }

    /// Creates an empty pool with capacity for `capacity` entities.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many indices; aborts if allocation fails.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> EntityPool {
        let mut pool = EntityPool::new();
        pool.reserve(capacity);
        pool
    }
}

impl<P: Copy> EntityPool<P> {
    /// Creates an empty pool that keeps a payload beside each entity, without allocating.
    ///
    /// An entity that is made without a payload gets `default`.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::with_payload("nowhere");
    /// let a = pool.alloc_with("here");
    /// let b = pool.alloc();
    /// assert_eq!((pool.payload(a), pool.payload(b)), (Some("here"), Some("nowhere")));
    /// assert_eq!(pool.set(b, "there"), Some("nowhere"));
    /// pool.release(b);
    /// assert_eq!(pool.payload(b), None);
    /// ```
    #[cfg(not(loom))]
    pub const fn with_payload(default: P) -> EntityPool<P> {
        EntityPool {
            words: LaneOf::new(),
            free: LaneOf::new(),
            slots: 0,
            free_len: 0,
            live: 0,
            rows: 0,
            room: 0,
            pending: 0,
            reserved: Counter::new(),
            default,
        }
    }

    /// Creates an empty pool that keeps a payload beside each entity. Not `const` in this build, as loom's atomics are not.
    #[cfg(loom)]
    pub fn with_payload(default: P) -> EntityPool<P> {
        let (words, free, reserved) = (LaneOf::new(), LaneOf::new(), Counter::new());
        EntityPool { words, free, slots: 0, free_len: 0, live: 0, rows: 0, room: 0, pending: 0, reserved, default }
    }

    /// Returns a pointer to the word of a slot.
    ///
    /// # Safety
    ///
    /// There is capacity for the slot.
    #[inline(always)]
    unsafe fn word(&self, index: u32) -> *mut u32 {
        // SAFETY: within the lane's block.
        unsafe { &raw mut (*self.words.at(index)).word }
    }

    /// Returns the number of live entities.
    #[inline]
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Returns `true` if no entity is alive.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns the number of slots: live, free and retired ones.
    #[inline]
    pub fn slot_count(&self) -> usize {
        self.slots as usize
    }

    /// Returns the number of slots that fit without allocating.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.room as usize
    }

    /// Returns `true` if `entity` is alive.
    #[doc(alias("is_alive", "valid"))]
    #[inline]
    pub fn contains(&self, entity: Entity) -> bool {
        // SAFETY: the words below `slots` are initialised. A dead word has a bit that no entity's generation has.
        entity.index() < self.slots && unsafe { *self.word(entity.index()) } == entity.generation()
    }

    /// Returns the live entity with this index.
    #[inline]
    pub fn get(&self, index: u32) -> Option<Entity> {
        let word = self.words().get(index as usize)?.word;
        is_entity(word).then(|| Entity::new(index, word))
    }

    /// Allocates an entity with the default payload.
    ///
    /// # Panics
    ///
    /// Panics if all indices are used up; aborts if allocation fails.
    #[doc(alias("create", "spawn"))]
    #[inline]
    #[track_caller]
    pub fn alloc(&mut self) -> Entity {
        self.alloc_with(self.default)
    }

    /// Allocates an entity with the default payload.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if all indices are used up, or [`AllocError::OutOfMemory`] if allocation
    /// fails. The pool is unchanged then.
    #[inline]
    pub fn try_alloc(&mut self) -> Result<Entity, AllocError> {
        self.try_alloc_with(self.default)
    }

    /// Allocates an entity with this payload.
    ///
    /// # Panics
    ///
    /// Panics if all indices are used up; aborts if allocation fails.
    #[inline]
    #[track_caller]
    pub fn alloc_with(&mut self, payload: P) -> Entity {
        if !self.is_ready() {
            infallible(self.try_make_ready());
        }
        // SAFETY: the pool is ready.
        unsafe { self.alloc_ready_with(payload) }
    }

    /// Allocates an entity with this payload.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if all indices are used up, or [`AllocError::OutOfMemory`] if allocation
    /// fails. The pool is unchanged then.
    #[inline]
    pub fn try_alloc_with(&mut self, payload: P) -> Result<Entity, AllocError> {
        if !self.is_ready() {
            self.try_make_ready()?;
        }
        // SAFETY: the pool is ready.
        Ok(unsafe { self.alloc_ready_with(payload) })
    }

    /// Returns `true` if the next [`alloc`](EntityPool::alloc) neither allocates memory nor flushes reservations.
    #[inline(always)]
    pub fn is_ready(&mut self) -> bool {
        self.reserved.get() | self.pending == 0 && (self.free_len > 0 || self.slots < self.room)
    }

    /// Allocates an entity with the default payload, without checking for capacity.
    ///
    /// # Safety
    ///
    /// The pool [is ready](EntityPool::is_ready).
    #[inline(always)]
    pub unsafe fn alloc_ready(&mut self) -> Entity {
        // SAFETY: the pool is ready, as this method asks for too.
        unsafe { self.alloc_ready_with(self.default) }
    }

    /// Returns the number of entities that can be made without allocating memory, if none is reserved.
    #[inline]
    pub fn ready_count(&self) -> usize {
        (self.free_len + (self.room - self.slots)) as usize
    }

    #[cold]
    #[inline(never)]
    fn try_make_ready(&mut self) -> Result<(), AllocError> {
        self.try_flush_beside(1)
    }

    /// Allocates an entity with this payload, without checking for capacity.
    ///
    /// # Safety
    ///
    /// The pool [is ready](EntityPool::is_ready).
    #[inline(always)]
    pub unsafe fn alloc_ready_with(&mut self, payload: P) -> Entity {
        debug_assert!(self.is_ready());
        self.live += 1;
        // SAFETY: the free list holds slots that exist. If it is empty, there is capacity for one more, as the pool is ready.
        unsafe {
            if self.free_len > 0 {
                self.free_len -= 1;
                let index = *self.free.at(self.free_len);
                let generation = generation::generation(*self.word(index));
                self.words.at(index).write(Slot { word: generation, payload });
                self.words.set_dirty(index);
                return Entity::new(index, generation);
            }
            let index = self.slots;
            self.words.at(index).write(Slot { word: 0, payload });
            self.words.set_dirty(index);
            self.slots += 1;
            Entity::new(index, 0)
        }
    }

    /// Allocates `count` entities at once: those that as many calls of [`alloc`](EntityPool::alloc) would return.
    ///
    /// They are all alive when this returns, whether or not the iterator is used.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let army: Vec<_> = pool.alloc_many(1000).collect();
    /// assert_eq!(pool.release_many(army.iter().copied()), 1000);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if there are not as many indices; aborts if allocation fails.
    #[track_caller]
    pub fn alloc_many(&mut self, count: usize) -> Entities<'_, P> {
        infallible(self.try_alloc_many(count))
    }

    /// Allocates `count` entities at once, like [`alloc_many`](EntityPool::alloc_many).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if there are not as many indices, or [`AllocError::OutOfMemory`] if
    /// allocation fails. No entity is made then.
    pub fn try_alloc_many(&mut self, count: usize) -> Result<Entities<'_, P>, AllocError> {
        let (recycled, fresh) = self.try_ready_for(count)?;
        // SAFETY: at most `free_len` slots are revived, and the pool has grown by the others.
        Ok(unsafe {
            self.revive(recycled);
            self.append(fresh, recycled)
        })
    }

    /// Allocates `count` entities at once, and calls `payload` with each of them for its payload.
    ///
    /// They are those that [`try_alloc_many`](EntityPool::try_alloc_many) would return, in the same order. If `payload` panics,
    /// the entities before the one that it was called with are alive.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if there are not as many indices, or [`AllocError::OutOfMemory`] if
    /// allocation fails. No entity is made then.
    pub fn try_alloc_many_with(
        &mut self,
        count: usize,
        mut payload: impl FnMut(Entity) -> P,
    ) -> Result<(), AllocError> {
        let (recycled, fresh) = self.try_ready_for(count)?;
        for _ in 0..recycled {
            let at = self.free_len - 1;
            // SAFETY: `at` is below the length of the free list, which holds slots that exist.
            unsafe {
                let index = *self.free.at(at);
                let word = generation::generation(*self.word(index));
                let payload = payload(Entity::new(index, word));
                self.words.at(index).write(Slot { word, payload });
                self.words.set_dirty(index);
            }
            self.free_len = at;
            self.live += 1;
        }
        let (start, slots) = (self.slots, self.words.ptr());
        // Counts the slots that are written, also if `payload` panics.
        let mut written = DropGuard::new((self, start), |(pool, end)| {
            // SAFETY: the slots below `end` are within the capacity, and the pool is borrowed exclusively.
            unsafe { pool.words.set_dirty_rows(pool.slots..*end) };
            pool.live += *end - pool.slots;
            pool.slots = *end;
        });
        for index in start..start + fresh {
            let payload = payload(Entity::new(index, 0));
            // SAFETY: the pool has grown by `fresh` slots.
            unsafe { slots.add(index as usize).write(Slot { word: 0, payload }) };
            written.state.1 = index + 1;
        }
        Ok(())
    }

    /// Flushes reservations and reserves capacity for `count` entities. Returns how many of them use slots of the free list,
    /// and how many use new slots.
    fn try_ready_for(&mut self, count: usize) -> Result<(u32, u32), AllocError> {
        let count = u32::try_from(count).map_err(|_| AllocError::CapacityOverflow)?;
        if self.reserved.get() | self.pending != 0 {
            self.try_flush_beside(count)?;
        }
        let recycled = count.min(self.free_len);
        self.try_grow(count - recycled)?;
        Ok((recycled, count - recycled))
    }

    /// Makes the top `count` slots of the free list alive, with the default payload.
    ///
    /// # Safety
    ///
    /// The free list has at least `count` slots.
    unsafe fn revive(&mut self, count: u32) {
        for at in self.free_len - count..self.free_len {
            // SAFETY: `at` is below the length of the free list, which holds slots that exist.
            unsafe {
                let index = *self.free.at(at);
                let word = generation::generation(*self.word(index));
                self.words.at(index).write(Slot { word, payload: self.default });
                self.words.set_dirty(index);
            }
        }
        self.free_len -= count;
        self.live += count;
    }

    /// Appends `fresh` live slots, and lists them after the `recycled` ones that were just taken from the free list.
    ///
    /// # Safety
    ///
    /// There is capacity for `fresh` more slots, and the entries of `recycled` ones lie above the free list.
    unsafe fn append(&mut self, fresh: u32, recycled: u32) -> Entities<'_, P> {
        let start = self.slots;
        debug_assert!(fresh <= self.room - start);
        for index in start..start + fresh {
            // SAFETY: there is capacity for `fresh` slots from `start` on.
            unsafe { self.words.at(index).write(Slot { word: 0, payload: self.default }) };
        }
        // SAFETY: as above, and the pool is borrowed exclusively.
        unsafe { self.words.set_dirty_rows(start..start + fresh) };
        self.slots += fresh;
        self.live += fresh;
        let recycled = self.free_len..self.free_len + recycled;
        Entities { pool: self, recycled, fresh: start..start + fresh }
    }

    /// Releases an entity. Returns `true` if it was alive. Never allocates.
    #[doc(alias("destroy", "free", "despawn", "remove"))]
    #[inline]
    pub fn release(&mut self, entity: Entity) -> bool {
        if !self.contains(entity) {
            return false;
        }
        if entity.is_row() {
            // SAFETY: the row is alive.
            return unsafe { self.release_row(entity) };
        }
        self.live -= 1;
        // SAFETY: the entity is alive, so its slot exists and has its generation.
        unsafe { self.vacate(entity.index(), entity.generation()) };
        true
    }

    /// Frees the slot of an entity or row of this generation.
    ///
    /// # Safety
    ///
    /// The slot exists and is alive, under this generation.
    #[inline(always)]
    unsafe fn vacate(&mut self, index: u32, generation: u32) {
        if self.reserved.get() != 0 {
            self.flush_recycled();
        }
        let word = generation::released(generation);
        // SAFETY: the slot exists. The free list has capacity for all slots, and this one was alive, so not in it.
        unsafe {
            self.word(index).write(word);
            self.words.set_dirty(index);
            if word != RETIRED {
                self.free.at(self.free_len).write(index);
                self.free.set_dirty(self.free_len);
                self.free_len += 1;
            }
        }
    }

    /// Releases entities in order. Returns the number of those that were alive; a repeated entity counts once.
    pub fn release_many(&mut self, entities: impl IntoIterator<Item = Entity>) -> usize {
        entities.into_iter().filter(|entity| self.release(*entity)).count()
    }

    /// Releases all entities and all rows. The lowest slots are used first afterwards.
    ///
    /// Reservations are [flushed](EntityPool::flush) first, which may allocate.
    ///
    /// # Panics
    ///
    /// Aborts if that allocation fails.
    #[track_caller]
    pub fn clear(&mut self) {
        infallible(self.try_clear());
    }

    /// Releases all entities and all rows, like [`clear`](EntityPool::clear).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if memory for reservations cannot be allocated; the pool is unchanged then.
    pub fn try_clear(&mut self) -> Result<(), AllocError> {
        self.try_flush()?;
        self.touch();
        self.free_len = 0;
        for index in (0..self.slots).rev() {
            // SAFETY: the slot exists. The free list has capacity for all slots and was emptied, so each comes to it once.
            unsafe {
                let word = self.word(index);
                if !is_dead(*word) {
                    word.write(generation::released(*word & !ROW));
                }
                if *word != RETIRED {
                    self.free.at(self.free_len).write(index);
                    self.free_len += 1;
                }
            }
        }
        (self.live, self.rows) = (0, 0);
        Ok(())
    }

    /// Reserves capacity for `additional` more entities, beside the reserved ones.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many indices; aborts if allocation fails.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        infallible(self.try_reserve(additional));
    }

    /// Reserves capacity for `additional` more entities, beside the reserved ones.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if there are not as many indices, or [`AllocError::OutOfMemory`] if
    /// allocation fails. No entity changes.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        let additional = u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow)?;
        let fresh = self.fresh_for(additional)?;
        self.try_grow(fresh)
    }

    /// Reserves capacity for `fresh` more slots, in the free list too.
    #[inline]
    fn try_grow(&mut self, fresh: u32) -> Result<(), AllocError> {
        if fresh <= self.room - self.slots { Ok(()) } else { self.try_grow_slow(fresh) }
    }

    #[cold]
    #[inline(never)]
    fn try_grow_slow(&mut self, fresh: u32) -> Result<(), AllocError> {
        let needed = self.slots.checked_add(fresh).filter(|n| generation::countable(*n));
        let needed = needed.ok_or(AllocError::CapacityOverflow)?;
        self.words.try_grow(needed)?;
        self.free.try_grow(needed)?;
        self.room = generation::at_most_countable(self.words.capacity().min(self.free.capacity()));
        Ok(())
    }

    /// Frees capacity above the present slots. Dead slots stay, as they keep old entities dead.
    pub fn shrink_to_fit(&mut self) {
        self.room = self.slots;
        // SAFETY: nothing at or above `slots` is in use, in either lane. If shrinking fails, the larger block stays.
        unsafe {
            let _ = self.words.try_resize(self.slots);
            let _ = self.free.try_resize(self.slots);
        }
    }

    /// Iterates over the live entities, by index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entity> + Clone + '_ {
        let words = self.words().iter().enumerate();
        let words = words.map(|(index, slot)| (index as u32, slot.word));
        words.filter(|(_, word)| is_entity(*word)).map(|(index, word)| Entity::new(index, word))
    }

    /// Clones the pool: the same entities and payloads, the same reservations, the same entities to come.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if allocation fails.
    pub fn try_clone(&self) -> Result<EntityPool<P>, AllocError> {
        let mut copy = EntityPool::with_payload(self.default);
        copy.try_grow(self.slots)?;
        let (words, free) = (self.words(), self.free_list());
        // SAFETY: the copy has capacity for all slots, in both lanes.
        unsafe {
            core::ptr::copy_nonoverlapping(words.as_ptr(), copy.words.ptr(), words.len());
            core::ptr::copy_nonoverlapping(free.as_ptr(), copy.free.ptr(), free.len());
        }
        (copy.slots, copy.free_len, copy.pending) = (self.slots, self.free_len, self.pending);
        (copy.live, copy.rows) = (self.live, self.rows);
        copy.reserved.raise(self.reserved.now(), u32::MAX);
        Ok(copy)
    }

    /// Returns the bytes allocated by the pool.
    pub fn memory(&self) -> Usage {
        Usage { values: 0, keys: self.words.bytes(), index: self.free.bytes() }
    }

    /// Checks every invariant of the pool.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the invariant that does not hold. Safe code cannot cause one.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.slots > self.room || self.room > self.words.capacity() || self.room > self.free.capacity() {
            return Err("more slots than room");
        }
        let mut seen = alloc::vec![false; self.slots as usize];
        for &index in self.free_list() {
            match (self.words().get(index as usize), seen.get_mut(index as usize)) {
                (Some(Slot { word, .. }), Some(seen)) if is_dead(*word) && *word != RETIRED && !*seen => *seen = true,
                _ => return Err("a free slot that is no slot, not free, or free twice"),
            }
        }
        let words = || self.words().iter().map(|slot| slot.word).zip(&seen);
        if words().any(|(word, seen)| is_dead(word) && word != RETIRED && !seen) {
            return Err("a dead slot that is neither free nor retired");
        }
        if words().filter(|(word, _)| is_entity(*word)).count() != self.len() {
            return Err("entities miscounted");
        }
        if words().filter(|(word, _)| !is_dead(*word) && *word & ROW != 0).count() != self.row_count() {
            return Err("rows miscounted");
        }
        match u64::from(self.slots) + u64::from(self.pending) > u64::from(MAX_SLOTS) {
            true => Err("more indices reserved than there are"),
            false => Ok(()),
        }
    }

    /// Raises the versions of both lanes: any word and any free slot may be written.
    fn touch(&mut self) {
        self.words.touch();
        self.free.touch();
    }

    fn words(&self) -> &[Slot<P>] {
        // SAFETY: the words below `slots` are initialised.
        unsafe { self.words.slice(self.slots) }
    }

    /// Returns the free slots. The last one is used next.
    pub fn free_list(&self) -> &[u32] {
        // SAFETY: `free_len` entries are initialised.
        unsafe { self.free.slice(self.free_len) }
    }
}

impl Default for EntityPool {
    fn default() -> Self {
        EntityPool::new()
    }
}

impl<P: Copy> Clone for EntityPool<P> {
    /// Clones the pool: the same entities and payloads, the same reservations, the same entities to come.
    #[track_caller]
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }
}

impl<P: Copy> fmt::Debug for EntityPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
