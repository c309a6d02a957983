//! [`EntityPool`]: who is alive.
//!
//! # Representation
//!
//! `words[0..slots]` are initialised: the generation of a slot, with the dead bit while nobody lives there. What a layer above
//! keeps beside a word is its own affair, and may be uninitialised.
//! `free[0..free_len]` is the stack of slots to be used again; it has as much room as there are slots, so that releasing
//! cannot fail. A dead slot that is not on the stack is retired. A live slot with the row bit is no entity: `live` counts
//! the slots without it, `rows` those with it.
//!
//! Reservations through a shared reference only count: the `k`-th takes the `k`-th slot from the top of the stack, or,
//! past its end, the index `slots + pending + k - free_len`. The next operation through an exclusive reference settles
//! them. `pending` counts reserved indices at and above `slots` that could not be made real without memory.
#![allow(unsafe_code)]

mod claim;
mod image;
mod rows;

use crate::error::infallible;
use crate::generation::{self, MAX_SLOTS, RETIRED, ROW, is_dead, is_entity};
use crate::memory::Usage;
use crate::raw::LaneOf;
#[cfg(feature = "serde")]
use crate::serial::{self, Census, Refused, State};
use crate::sync::Counter;
use crate::{AllocError, Entity};
use core::fmt;
use core::iter::FusedIterator;
use core::mem::MaybeUninit;
use core::ops::Range;

/// Makes entities, and knows which of them are alive.
///
/// A slot that is released is used again, the last one first, under the next generation, so that the old entity stays
/// dead. A slot that has used all its 2³⁰ generations is retired. 8 bytes a slot.
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
/// A layer above may keep something of its own beside each slot's word, `P`, which is then found with the same load: see
/// [`carrying`](EntityPool::carrying).
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
}

/// A slot's word, and what a layer above keeps beside it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slot<P: Copy> {
    word: u32,
    with: MaybeUninit<P>,
}

/// What a slot of an [`EntityPool`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// An entity of this generation lives there, or a row.
    Alive {
        /// Its generation.
        generation: u32,
    },
    /// It will be used again.
    Free {
        /// The generation that its next entity will have.
        generation: u32,
        /// The slot that will be used after it, if there is one.
        next: Option<u32>,
    },
    /// It has used all its generations.
    Retired,
}

impl EntityPool {
    /// An empty pool, which allocates nothing.
    #[cfg(not(loom))]
    pub const fn new() -> EntityPool {
        EntityPool::carrying()
    }

    /// An empty pool, which allocates nothing. Not a constant in this build: the model checker's words are not.
    #[cfg(loom)]
    pub fn new() -> EntityPool {
        EntityPool::carrying()
    }

    /// An empty pool with room for `capacity` entities.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> EntityPool {
        let mut pool = EntityPool::new();
        pool.reserve(capacity);
        pool
    }
}

impl<P: Copy> EntityPool<P> {
    /// An empty pool, which allocates nothing, with room for a `P` beside the word of each slot. The pool never looks at
    /// it: it is written and read through [`places`](EntityPool::places).
    #[cfg(not(loom))]
    pub const fn carrying() -> EntityPool<P> {
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
        }
    }

    /// As in other builds, but for the constant.
    #[cfg(loom)]
    pub fn carrying() -> EntityPool<P> {
        let (words, free, reserved) = (LaneOf::new(), LaneOf::new(), Counter::new());
        EntityPool { words, free, slots: 0, free_len: 0, live: 0, rows: 0, room: 0, pending: 0, reserved }
    }

    /// What is kept beside the words, as the pool is now: to be used until the pool is changed in any other way.
    #[inline(always)]
    pub fn places(&self) -> Places<P> {
        Places { slots: self.words.ptr(), count: self.slots as usize }
    }

    /// The word of a slot.
    ///
    /// # Safety
    ///
    /// There is room for the slot.
    #[inline(always)]
    unsafe fn word(&self, index: u32) -> *mut u32 {
        // SAFETY: within the lane's block.
        unsafe { &raw mut (*self.words.at(index)).word }
    }

    /// How many entities are alive.
    #[inline]
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Whether none is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many slots there are, alive, free and retired.
    #[inline]
    pub fn slot_count(&self) -> usize {
        self.slots as usize
    }

    /// How many slots there is room for.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.room as usize
    }

    /// Whether the entity is alive.
    #[inline]
    pub fn contains(&self, entity: Entity) -> bool {
        // SAFETY: the words below `slots` are initialised. A dead word has a bit that no entity's generation has.
        entity.index() < self.slots && unsafe { *self.word(entity.index()) } == entity.generation()
    }

    /// The entity that is alive in this slot.
    #[inline]
    pub fn at(&self, index: u32) -> Option<Entity> {
        let word = self.words().get(index as usize)?.word;
        is_entity(word).then(|| Entity::new(index, word))
    }

    /// Makes an entity.
    #[inline]
    #[track_caller]
    pub fn alloc(&mut self) -> Entity {
        if !self.is_ready() {
            infallible(self.try_make_ready());
        }
        // SAFETY: ready.
        unsafe { self.commit() }
    }

    /// Makes an entity.
    ///
    /// # Errors
    ///
    /// If memory cannot be had, or all indices are used up; nothing changed.
    #[inline]
    pub fn try_alloc(&mut self) -> Result<Entity, AllocError> {
        if !self.is_ready() {
            self.try_make_ready()?;
        }
        // SAFETY: ready.
        Ok(unsafe { self.commit() })
    }

    /// Whether the next [`alloc`](EntityPool::alloc) needs neither memory nor a flush: nothing is reserved, and a slot is
    /// free or has room.
    #[inline(always)]
    pub fn is_ready(&mut self) -> bool {
        self.reserved.get() | self.pending == 0 && (self.free_len > 0 || self.slots < self.room)
    }

    /// As [`alloc`](EntityPool::alloc), without asking for anything.
    ///
    /// # Safety
    ///
    /// The pool [is ready](EntityPool::is_ready).
    #[inline(always)]
    pub unsafe fn alloc_ready(&mut self) -> Entity {
        debug_assert!(self.is_ready());
        // SAFETY: the caller's promise.
        unsafe { self.commit() }
    }

    /// How many entities can be made without memory, if nothing is reserved: of slots that are free or have room.
    #[inline]
    pub fn ready_count(&self) -> usize {
        (self.free_len + (self.room - self.slots)) as usize
    }

    #[cold]
    #[inline(never)]
    fn try_make_ready(&mut self) -> Result<(), AllocError> {
        self.try_flush_beside(1)
    }

    /// # Safety
    ///
    /// The pool is ready.
    #[inline(always)]
    unsafe fn commit(&mut self) -> Entity {
        self.live += 1;
        // SAFETY: the stack holds slots that exist; if it is empty, there is room for one more word.
        unsafe {
            if self.free_len > 0 {
                self.free_len -= 1;
                let index = *self.free.at(self.free_len);
                let generation = generation::generation(*self.word(index));
                self.word(index).write(generation);
                self.words.mark(index);
                return Entity::new(index, generation);
            }
            let index = self.slots;
            self.word(index).write(0);
            self.words.mark(index);
            self.slots += 1;
            Entity::new(index, 0)
        }
    }

    /// Makes `count` entities at once: those that as many calls of [`alloc`](EntityPool::alloc) would make, in that
    /// order. They are all alive when this returns, whether or not they are looked at.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let army: Vec<_> = pool.alloc_many(1000).collect();
    /// assert_eq!(pool.release_many(army.iter().copied()), 1000);
    /// ```
    #[track_caller]
    pub fn alloc_many(&mut self, count: usize) -> Entities<'_, P> {
        infallible(self.try_alloc_many(count))
    }

    /// As [`alloc_many`](EntityPool::alloc_many).
    ///
    /// # Errors
    ///
    /// If memory cannot be had, or there are not so many indices; nothing changed.
    pub fn try_alloc_many(&mut self, count: usize) -> Result<Entities<'_, P>, AllocError> {
        let count = u32::try_from(count).map_err(|_| AllocError::CapacityOverflow)?;
        if self.reserved.get() | self.pending != 0 {
            self.try_flush_beside(count)?;
        }
        let recycled = count.min(self.free_len);
        self.try_grow(count - recycled)?;
        self.revive(recycled);
        Ok(self.append(count - recycled, recycled))
    }

    /// Makes the top `count` slots of the stack alive.
    fn revive(&mut self, count: u32) {
        for at in self.free_len - count..self.free_len {
            // SAFETY: the stack holds slots that exist.
            unsafe {
                let index = *self.free.at(at);
                let word = self.word(index);
                word.write(generation::generation(*word));
                self.words.mark(index);
            }
        }
        self.free_len -= count;
        self.live += count;
    }

    /// Makes `fresh` new slots alive, for which there is room, and lists them after the `recycled` ones that were just
    /// taken from the stack.
    fn append(&mut self, fresh: u32, recycled: u32) -> Entities<'_, P> {
        let start = self.slots;
        for index in start..start + fresh {
            // SAFETY: there is room for so many words.
            unsafe { self.word(index).write(0) };
        }
        // SAFETY: as above.
        unsafe { self.words.mark_rows(start..start + fresh) };
        self.slots += fresh;
        self.live += fresh;
        let recycled = self.free_len..self.free_len + recycled;
        Entities { pool: self, recycled, fresh: start..start + fresh }
    }

    /// Ends an entity. Whether it was alive. Never allocates.
    #[inline]
    pub fn release(&mut self, entity: Entity) -> bool {
        if !self.contains(entity) {
            return false;
        }
        if entity.is_row() {
            return self.release_row(entity);
        }
        self.live -= 1;
        self.vacate(entity.index(), entity.generation());
        true
    }

    /// Frees a slot in which this generation lived.
    #[inline(always)]
    fn vacate(&mut self, index: u32, generation: u32) {
        if self.reserved.get() != 0 {
            self.settle();
        }
        let word = generation::released(generation);
        // SAFETY: the slot exists; the stack has room for all slots, and this one was not on it.
        unsafe {
            self.word(index).write(word);
            self.words.mark(index);
            if word != RETIRED {
                self.free.at(self.free_len).write(index);
                self.free.mark(self.free_len);
                self.free_len += 1;
            }
        }
    }

    /// Ends entities, in order. How many of them were alive; an entity that comes twice counts once.
    pub fn release_many(&mut self, entities: impl IntoIterator<Item = Entity>) -> usize {
        entities.into_iter().filter(|entity| self.release(*entity)).count()
    }

    /// Ends all entities, and all rows. Reservations are flushed first, which may allocate. The lowest slots will be used first.
    #[track_caller]
    pub fn clear(&mut self) {
        infallible(self.try_clear());
    }

    /// As [`clear`](EntityPool::clear).
    ///
    /// # Errors
    ///
    /// If there are reservations and memory for them cannot be had; nothing changed.
    pub fn try_clear(&mut self) -> Result<(), AllocError> {
        self.try_flush()?;
        self.touch();
        self.free_len = 0;
        for index in (0..self.slots).rev() {
            // SAFETY: the slot exists; the stack has room for all slots and was emptied, so each comes to it once.
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

    /// Reserves an entity through a shared reference, from any thread, without a lock. It becomes alive with the next
    /// [`flush`](EntityPool::flush); until then it is not contained and cannot be released.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let reserved = std::thread::scope(|s| s.spawn(|| pool.reserve_entity()).join().unwrap());
    /// assert!(!pool.contains(reserved));
    /// assert!(pool.flush().eq([reserved]));
    /// assert!(pool.contains(reserved));
    /// ```
    ///
    /// # Panics
    ///
    /// If all indices are used up.
    #[track_caller]
    pub fn reserve_entity(&self) -> Entity {
        infallible(self.try_reserve_entity())
    }

    /// As [`reserve_entity`](EntityPool::reserve_entity).
    ///
    /// # Errors
    ///
    /// If all indices are used up.
    pub fn try_reserve_entity(&self) -> Result<Entity, AllocError> {
        let limit = self.free_len.saturating_add(MAX_SLOTS - self.slots - self.pending);
        let k = self.reserved.raise(1, limit).ok_or(AllocError::CapacityOverflow)?;
        if k < self.free_len {
            // SAFETY: the stack holds slots that exist, and does not change while the pool is shared.
            return Ok(unsafe {
                let index = *self.free.at(self.free_len - 1 - k);
                Entity::new(index, generation::generation(*self.word(index)))
            });
        }
        Ok(Entity::new(self.slots + self.pending + (k - self.free_len), 0))
    }

    /// Makes reserved entities alive and returns them: those in recycled slots first, then those in new ones, each in
    /// the order of their reservation.
    ///
    /// [`alloc`](EntityPool::alloc) and [`clear`](EntityPool::clear) do this first, too; and
    /// [`release`](EntityPool::release) makes those alive that need no memory.
    #[track_caller]
    pub fn flush(&mut self) -> Entities<'_, P> {
        infallible(self.try_flush())
    }

    /// As [`flush`](EntityPool::flush).
    ///
    /// # Errors
    ///
    /// If memory cannot be had; the reservations stand.
    pub fn try_flush(&mut self) -> Result<Entities<'_, P>, AllocError> {
        let fresh = self.fresh_for(0)?;
        self.try_grow(fresh)?;
        let recycled = self.reserved.get().min(self.free_len);
        self.revive(recycled);
        self.reserved.reset();
        self.pending = 0;
        Ok(self.append(fresh, recycled))
    }

    /// Makes reserved entities alive if there is room for them and for `count` more; otherwise nothing changes.
    fn try_flush_beside(&mut self, count: u32) -> Result<(), AllocError> {
        let fresh = self.fresh_for(count)?;
        self.try_grow(fresh)?;
        self.try_flush().map(drop)
    }

    /// How many new slots are needed to make all reserved entities alive, and `count` more.
    fn fresh_for(&mut self, count: u32) -> Result<u32, AllocError> {
        let reserved = self.reserved.get();
        let recycled = reserved.min(self.free_len);
        let more = count.saturating_sub(self.free_len - recycled);
        // Reservations stay below the number of indices; what comes on top may not.
        (self.pending + (reserved - recycled)).checked_add(more).ok_or(AllocError::CapacityOverflow)
    }

    /// Settles what reservations there are as far as no memory is needed, so that the stack may change.
    #[cold]
    fn settle(&mut self) {
        let reserved = self.reserved.get();
        let recycled = reserved.min(self.free_len);
        self.revive(recycled);
        self.pending += reserved - recycled;
        self.reserved.reset();
    }

    /// Makes room for `additional` more entities, beside those that are reserved.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        infallible(self.try_reserve(additional));
    }

    /// Makes room for `additional` more entities, beside those that are reserved.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        let additional = u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow)?;
        let fresh = self.fresh_for(additional)?;
        self.try_grow(fresh)
    }

    /// Makes room for `fresh` more slots, on the stack too.
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

    /// Gives back room above the slots that there are. Dead slots stay: they are what keeps old entities dead.
    pub fn shrink_to_fit(&mut self) {
        self.room = self.slots;
        // SAFETY: nothing at or above `slots` is in use, in either lane. What cannot be had smaller stays as it was.
        unsafe {
            let _ = self.words.try_resize(self.slots);
            let _ = self.free.try_resize(self.slots);
        }
    }

    /// The entities that are alive, by index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entity> + Clone + '_ {
        let words = self.words().iter().enumerate();
        let words = words.map(|(index, slot)| (index as u32, slot.word));
        words.filter(|(_, word)| is_entity(*word)).map(|(index, word)| Entity::new(index, word))
    }

    /// The slot that will be used next, if one is free. What is reserved and not settled counts as free here.
    pub fn next_free(&self) -> Option<u32> {
        self.stack().last().copied()
    }

    /// The index of the entity that is made next, if none is reserved.
    #[inline(always)]
    pub fn next_index(&self) -> u32 {
        self.next_free().unwrap_or(self.slots)
    }

    /// Returns the index of the entity that is made after `count` others, if none is reserved and none ends before. Returns
    /// `None` if there are not so many slots.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let [a, _, c] = [pool.alloc(), pool.alloc(), pool.alloc()];
    /// pool.release_many([a, c]);
    /// let expected: Vec<u32> = (0..4).filter_map(|n| pool.nth_index(n)).collect();
    /// assert_eq!(expected, [2, 0, 3, 4]);
    /// assert!(pool.alloc_many(4).map(|e| e.index()).eq(expected));
    /// assert_eq!(pool.nth_index(u32::MAX), None);
    /// ```
    #[inline]
    pub fn nth_index(&self, count: u32) -> Option<u32> {
        match self.free_len.checked_sub(count) {
            Some(left @ 1..) => Some(self.stack()[left as usize - 1]),
            _ => self.slots.checked_add(count - self.free_len).filter(|index| *index < MAX_SLOTS),
        }
    }

    /// Returns the entity that is made after `count` others, if none is reserved and none ends before. Returns `None` if there
    /// are not so many slots.
    pub fn nth_entity(&self, count: u32) -> Option<Entity> {
        let index = self.nth_index(count)?;
        let word = self.words().get(index as usize).map_or(0, |slot| generation::generation(slot.word));
        Some(Entity::new(index, word))
    }

    /// The entity that will have the slot of an entity or row after it; `None` if the slot is retired then.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let first = pool.alloc();
    /// pool.release(first);
    /// assert_eq!(pool.nth_entity(0), EntityPool::<()>::successor(first));
    /// assert_eq!(pool.alloc(), EntityPool::<()>::successor(first).unwrap());
    /// ```
    pub fn successor(entity: Entity) -> Option<Entity> {
        let word = generation::released(entity.generation() & !ROW);
        (word != RETIRED).then(|| Entity::new(entity.index(), generation::generation(word)))
    }

    /// What a slot is; `None` if it was never used. For looking at, not for hot paths: finding a free slot's successor
    /// searches the stack.
    pub fn slot_state(&self, index: u32) -> Option<SlotState> {
        let word = self.words().get(index as usize)?.word;
        Some(match word {
            RETIRED => SlotState::Retired,
            _ if !is_dead(word) => SlotState::Alive { generation: word & !ROW },
            _ => {
                let at = self.stack().iter().position(|i| *i == index)?;
                let next = at.checked_sub(1).map(|below| self.stack()[below]);
                SlotState::Free { generation: generation::generation(word), next }
            }
        })
    }

    /// The same entities with the same future; what is reserved here is reserved there.
    ///
    /// # Errors
    ///
    /// If memory cannot be had.
    pub fn try_clone(&self) -> Result<EntityPool<P>, AllocError> {
        let mut copy = EntityPool::carrying();
        copy.try_grow(self.slots)?;
        let (words, stack) = (self.words(), self.stack());
        // SAFETY: there is room for so many slots, in both lanes.
        unsafe {
            core::ptr::copy_nonoverlapping(words.as_ptr(), copy.words.ptr(), words.len());
            core::ptr::copy_nonoverlapping(stack.as_ptr(), copy.free.ptr(), stack.len());
        }
        (copy.slots, copy.free_len, copy.pending) = (self.slots, self.free_len, self.pending);
        (copy.live, copy.rows) = (self.live, self.rows);
        copy.reserved.raise(self.reserved.now(), u32::MAX);
        Ok(copy)
    }

    /// The bytes that the pool holds from the allocator.
    pub fn memory(&self) -> Usage {
        Usage { values: 0, keys: self.words.bytes(), index: self.free.bytes() }
    }

    /// Checks every invariant of the pool.
    ///
    /// # Errors
    ///
    /// A sentence that says what does not hold. It never does for a pool that was used by safe code alone.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.slots > self.room || self.room > self.words.capacity() || self.room > self.free.capacity() {
            return Err("more slots than room");
        }
        let mut seen = alloc::vec![false; self.slots as usize];
        for &index in self.stack() {
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

    /// Reservations that were not made alive yet.
    pub fn reserved_count(&self) -> usize {
        self.reserved.now() as usize + self.pending as usize
    }

    /// Announces that any word and any free slot may be written.
    fn touch(&mut self) {
        self.words.touch();
        self.free.touch();
    }

    fn words(&self) -> &[Slot<P>] {
        // SAFETY: the words below `slots` are initialised.
        unsafe { self.words.slice(self.slots) }
    }

    /// The free slots, the next to be used last. For layers that save a pool.
    pub fn stack(&self) -> &[u32] {
        // SAFETY: so much of the stack is initialised.
        unsafe { self.free.slice(self.free_len) }
    }
}

/// Why words and free slots are no pool.
#[cfg(feature = "serde")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreError {
    /// Something is wrong with one slot.
    Slot {
        /// The slot.
        slot: u32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Something is wrong with the whole.
    Whole(&'static str),
    /// Memory could not be had.
    Alloc(AllocError),
}

#[cfg(feature = "serde")]
impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::Slot { slot, what } => write!(f, "slot {slot} {what}"),
            RestoreError::Whole(what) => f.write_str(what),
            RestoreError::Alloc(error) => error.fmt(f),
        }
    }
}

#[cfg(feature = "serde")]
impl core::error::Error for RestoreError {}

#[cfg(feature = "serde")]
impl From<Refused> for RestoreError {
    fn from(refused: Refused) -> RestoreError {
        match refused {
            Refused::Slot { slot, what } => RestoreError::Slot { slot, what },
            Refused::Count { .. } => RestoreError::Whole("there are more or fewer free slots listed than there are"),
            Refused::Whole(what) => RestoreError::Whole(what),
            Refused::Alloc(error) => RestoreError::Alloc(error),
        }
    }
}

#[cfg(feature = "serde")]
impl EntityPool {
    /// A pool of slots with these words, none of them a row's, whose free slots will be used in this order.
    pub(crate) fn try_restore(words: &[u32], free: &[u32]) -> Result<Self, Refused> {
        EntityPool::try_restore_from(words, free, (), Census::of(words, MAX_SLOTS)?)
    }

    /// A copy whose reservations are made alive.
    pub(crate) fn try_flushed(&self) -> Result<Self, AllocError> {
        let mut copy = self.try_clone()?;
        copy.try_flush()?;
        Ok(copy)
    }
}

#[cfg(feature = "serde")]
impl<P: Copy> EntityPool<P> {
    /// The words of all slots: the generation, bit 30 in that of a row, bit 31 in that of a dead slot, all ones in that of
    /// a retired one. For layers that save a pool.
    pub fn each_word(&self) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        self.words().iter().map(|slot| slot.word)
    }

    /// A pool of slots with these [words](EntityPool::each_word), rows among them, whose free slots will be used in this
    /// order: the next one first. `with` is kept beside each.
    ///
    /// # Errors
    ///
    /// If a word is none that a slot can have, `free` does not name every free slot once, or memory cannot be had.
    ///
    /// # Safety
    ///
    /// As for [`alloc_row`](EntityPool::alloc_row): the caller keeps the names of rows to itself.
    pub unsafe fn try_restore_with_rows(words: &[u32], free: &[u32], with: P) -> Result<Self, RestoreError> {
        Self::try_restore_from(words, free, with, Census::with_rows(words, MAX_SLOTS)?).map_err(RestoreError::from)
    }

    fn try_restore_from(words: &[u32], free: &[u32], with: P, census: Census) -> Result<Self, Refused> {
        /// Set in the word of a slot that has come up among the free ones; no word of a free slot has it.
        const SEEN: u32 = 1 << 30;
        serial::counted("free slots", free.len(), census.free as usize)?;
        let mut pool = EntityPool::carrying();
        pool.try_grow(words.len() as u32)?;
        // SAFETY: there is room for so many slots, which are written before they are counted.
        let slots = unsafe {
            let (first, with) = (pool.words.ptr(), MaybeUninit::new(with));
            for (at, &word) in words.iter().enumerate() {
                first.add(at).write(Slot { word, with });
            }
            pool.words.slice_mut(words.len() as u32)
        };
        for &slot in free {
            let what = match slots.get_mut(slot as usize).map(|slot| &mut slot.word) {
                None => "is among the free ones and does not exist",
                Some(word) if State::of(*word) != State::Free => "is among the free ones and is not free",
                Some(word) if *word & SEEN != 0 => "is among the free ones twice",
                Some(word) => {
                    *word |= SEEN;
                    continue;
                }
            };
            return Err(Refused::Slot { slot, what });
        }
        for (&slot, at) in free.iter().rev().zip(0..) {
            slots[slot as usize].word &= !SEEN;
            // SAFETY: no slot comes twice, so there are no more than slots, for which the stack has room.
            unsafe { pool.free.at(at).write(slot) };
        }
        (pool.slots, pool.free_len) = (words.len() as u32, free.len() as u32);
        (pool.live, pool.rows) = (census.live, census.rows);
        Ok(pool)
    }
}

impl Default for EntityPool {
    fn default() -> Self {
        EntityPool::new()
    }
}

impl<P: Copy> Clone for EntityPool<P> {
    /// The same entities with the same future; what is reserved here is reserved there.
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

/// What is kept beside the words of an [`EntityPool`].
///
/// A handle without a lifetime, for those who change a pool and what it carries in turn. It is good while the pool that it
/// is of is not changed in any other way than through it.
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
    /// What is kept beside a slot: a pointer, whether or not anything was written there.
    ///
    /// # Safety
    ///
    /// The pool has [room](EntityPool::capacity) for the slot, and has not made or given back any since.
    #[inline(always)]
    pub unsafe fn at(self, index: u32) -> *mut P {
        // SAFETY: within the block of the pool's lane.
        unsafe { (&raw mut (*self.slots.add(index as usize)).with).cast() }
    }

    /// What is kept beside an entity's slot, if it is alive.
    ///
    /// # Safety
    ///
    /// The pool has not changed since, and something was written for every entity that is alive.
    #[inline(always)]
    pub unsafe fn find(self, entity: Entity) -> Option<P> {
        // From the index plus one, as it lies in the entity: the one is taken off the address, which costs nothing.
        let position = entity.position() as usize;
        if position > self.count {
            return None;
        }
        let slot = self.slots.wrapping_add(position).wrapping_sub(1);
        // SAFETY: the slot is one of the pool's, whose words are initialised; what is beside them is where one is alive. A
        // dead word has a bit that no entity's generation has.
        unsafe { if (*slot).word == entity.generation() { Some((*slot).with.assume_init()) } else { None } }
    }
}

/// Entities that were just made, in the order of their making.
#[derive(Clone, Debug)]
pub struct Entities<'a, P: Copy = ()> {
    pool: &'a EntityPool<P>,
    /// Where the recycled ones still lie above the stack, the first at the end.
    recycled: Range<u32>,
    fresh: Range<u32>,
}

impl<P: Copy> Iterator for Entities<'_, P> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        if let Some(at) = self.recycled.next_back() {
            // SAFETY: the entries above the stack that were just taken from it are still there, and name slots.
            return Some(unsafe {
                let index = *self.pool.free.at(at);
                Entity::new(index, *self.pool.word(index))
            });
        }
        self.fresh.next().map(|index| Entity::new(index, 0))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.recycled.len() + self.fresh.len();
        (len, Some(len))
    }

    /// Two plain loops.
    #[inline]
    fn fold<B, F: FnMut(B, Entity) -> B>(mut self, init: B, mut f: F) -> B {
        let fresh = core::mem::replace(&mut self.fresh, 0..0);
        let mut state = init;
        for entity in self {
            state = f(state, entity);
        }
        fresh.fold(state, |state, index| f(state, Entity::new(index, 0)))
    }
}

impl<P: Copy> ExactSizeIterator for Entities<'_, P> {}
impl<P: Copy> FusedIterator for Entities<'_, P> {}
