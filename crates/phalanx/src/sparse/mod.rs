//! Components that are not kept in tables: each in a store of its own, found by slot.
//!
//! # Representation
//!
//! A *side* is such a component, numbered in order of registration. Pools have a bit in the *mask* of each slot, so that
//! ending an entity visits the pools that hold it and no others; linear stores, which have a bit already, have none there.
//! `masks` has `stride` words for each of the first `covered` slots; the rest has no pool component.
//!
//! # The phases
//!
//! A change of one slot is [reserved](SparseStorages::try_reserve) first: after that the place of each new value is known, and it is
//! written there, beyond what counts. [`commit`](SparseStorages::commit) then makes it count. Values that were displaced or taken
//! lie in rows that nobody owns, listed in `displaced_values`, until they are ended.
//!
//! Every value that comes or goes passes `commit`, `take_all` or `clear`: there groups are kept, see `groups`. The short ways
//! around them are `short`, `ends` and `fresh`.
#![allow(unsafe_code)]

mod arrivals;
mod build_group;
mod copy;
mod despawn;
mod group_error;
mod groups;
mod image;
mod linear_storage;
mod sparse_inserts;
mod sparse_set;
mod spawn;
mod typed;
mod values;

pub(crate) use arrivals::Arrivals;
pub(crate) use build_group::most_steps;
use copy::clone_value;
pub use group_error::{GroupError, PoolError};
use groups::Groups;
pub(crate) use groups::{Draft, Group as GroupData, GroupId};
pub(crate) use image::{GroupImage, PoolState, Regroup, Sketch};
pub(crate) use linear_storage::Linear;
pub(crate) use sparse_inserts::SparseInserts;
pub(crate) use sparse_set::Pool;
pub use sparse_set::Removal;
pub(crate) use typed::{Put, has_fast_path};
pub(crate) use values::Values;

use crate::alloc::{try_box, try_reserve, try_reserve_at};
use crate::bundle::SparsePtr;
use crate::change_detection::{Clock, Track};
use crate::component::{Component, ComponentId, Components, cache_slot};
use crate::layout::Kind;
use core::any::TypeId;
use phalanx_store::raw::{DenseIndex, LaneOf, Rows};
use phalanx_store::{AllocError, Entity};

/// Where the values of a side are.
#[derive(Debug)]
pub(crate) enum Store {
    Pool(Pool),
    Linear(Linear),
}

/// A component with a store of its own.
#[derive(Debug)]
pub(crate) struct SparseStorage {
    pub(crate) id: ComponentId,
    pub(crate) store: Store,
    /// The bit of a pool in the masks.
    pub(crate) bit: Option<u32>,
    /// The first word of a mask that has this bit alone; none if it is in another.
    flag: u64,
    /// Whether its values are tracked as a whole.
    watched: bool,
    /// Whether values go without anything having to be known of it: see `ends`.
    plain: bool,
    /// The groups whose members have a value here.
    required_by: Vec<u32>,
    /// The groups whose members have none.
    excluded_by: Vec<u32>,
    /// How many values were taken from slots that lived on, and how many went with their slots, since somebody counts.
    pub(crate) gone: [u64; 2],
    /// The position among the sides in the canonical order of their components, which does not depend on which was used
    /// first. Whatever a user can observe goes by it.
    pub(crate) rank: u32,
}

impl SparseStorage {
    #[inline(always)]
    pub(crate) fn values(&self) -> &Values {
        match &self.store {
            Store::Pool(pool) => pool.values(),
            Store::Linear(linear) => linear.values(),
        }
    }

    /// Its pool: of a side that a group owns.
    #[inline(always)]
    fn pool(&self) -> &Pool {
        match &self.store {
            Store::Pool(pool) => pool,
            Store::Linear(_) => unreachable!("groups own pools only"),
        }
    }

    /// Its pool: of a side that a group owns.
    #[inline(always)]
    fn pool_mut(&mut self) -> &mut Pool {
        match &mut self.store {
            Store::Pool(pool) => pool,
            Store::Linear(_) => unreachable!("groups own pools only"),
        }
    }

    /// The row of a slot's value.
    #[inline(always)]
    pub(crate) fn row(&self, slot: u32) -> Option<u32> {
        match &self.store {
            Store::Pool(pool) => pool.position(slot),
            Store::Linear(linear) => linear.has(slot).then_some(slot),
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> u32 {
        match &self.store {
            Store::Pool(pool) => pool.len(),
            Store::Linear(linear) => linear.len(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let (keys, index) = self.overhead();
        self.values().bytes() + keys + index
    }

    /// The bytes of the keys, or of the bits, and those of the index.
    pub(crate) fn overhead(&self) -> (usize, usize) {
        match &self.store {
            Store::Pool(pool) => (pool.dense.key_bytes(), pool.dense.index().bytes()),
            Store::Linear(linear) => (linear.bit_bytes(), 0),
        }
    }

    /// What it is to a reader.
    pub(crate) fn kind(&self) -> &'static str {
        match self.store {
            Store::Pool(_) => "pool",
            Store::Linear(_) => "linear store",
        }
    }

    /// How many values there is room for.
    pub(crate) fn capacity(&self) -> u32 {
        match &self.store {
            Store::Pool(pool) => pool.dense.capacity(),
            Store::Linear(linear) => linear.slots(),
        }
    }

    #[inline(always)]
    pub(crate) fn try_ready(&mut self, slot: u32) -> Result<(), AllocError> {
        match &mut self.store {
            Store::Pool(pool) => pool.try_ready(slot),
            Store::Linear(linear) => linear.try_ready(slot),
        }
    }

    /// Where the next value of a slot is to be written.
    #[inline(always)]
    pub(crate) fn spare(&self, slot: u32) -> SparsePtr {
        let row = match &self.store {
            Store::Pool(pool) => pool.dense.positions(),
            Store::Linear(linear) => linear.spare(slot),
        };
        SparsePtr { lane: self.values().lane(), row: row as usize }
    }
}

/// Ends the retired values of the sides when it goes out of scope.
pub(crate) struct Ends<'a>(&'a mut SparseStorages);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end_retired();
    }
}

/// Ends the values of sides that were emptied, all of them, even if one panics. `displaced_values` says how many rows of each pool.
pub(crate) struct Cleared<'a> {
    sparse: &'a mut SparseStorages,
    next: usize,
}

impl Cleared<'_> {
    fn run(&mut self) {
        while let Some(&DisplacedValue { side, row: rows }) = self.sparse.displaced_values.get(self.next) {
            self.next += 1;
            match &mut self.sparse.list[side as usize].store {
                // SAFETY: the pool has given up these values; each ends once.
                Store::Pool(pool) => unsafe { pool.dense.rows_mut().drop_rows(0..rows) },
                Store::Linear(linear) => linear.end_released(),
            }
        }
        self.sparse.displaced_values.clear();
    }
}

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        /// Goes on after a panic; a second aborts.
        struct Again<'a, 'b>(&'b mut Cleared<'a>);
        impl Drop for Again<'_, '_> {
            fn drop(&mut self) {
                self.0.run();
            }
        }
        let again = Again(self);
        again.0.run();
    }
}

/// A value that nobody owns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplacedValue {
    pub(crate) side: u32,
    pub(crate) row: u32,
}

const NO_STORAGE: u32 = u32::MAX;

const DIRECT: usize = 32;

/// All sides of a world.
#[derive(Debug)]
pub(crate) struct SparseStorages {
    /// In boxes: whoever holds one over a loop finds it where it was.
    #[allow(clippy::vec_box)]
    list: Vec<Box<SparseStorage>>,
    /// By rank: the side.
    order: Vec<u32>,
    /// By component: its side, or none.
    by_component: Vec<u32>,
    /// The side of the type that was registered last under these bits of its id: most look-ups end here.
    direct: [(TypeId, u32); DIRECT],
    /// By bit in the masks: the pool's side.
    by_bit: Vec<u32>,
    /// The sides that are linear stores.
    linear: Vec<u32>,
    masks: LaneOf<u64>,
    covered: u32,
    stride: u32,
    /// The first 64 pools of the slot that ended last: most likely those of the next.
    likely: u64,
    /// Where the values of the change that is reserved are to be written. There is always room for one of each side, and so in
    /// `displaced_values`.
    places: Vec<SparsePtr>,
    /// What the change that was committed has displaced or taken, in its order.
    pub(crate) displaced_values: Vec<DisplacedValue>,
    groups: Groups,
    /// The time of the world: here, because values go here without anybody above being told.
    pub(crate) clock: Clock,
}

impl SparseStorages {
    pub(crate) const fn new() -> SparseStorages {
        SparseStorages {
            list: Vec::new(),
            order: Vec::new(),
            by_component: Vec::new(),
            direct: [(TypeId::of::<SparseStorages>(), NO_STORAGE); DIRECT],
            by_bit: Vec::new(),
            linear: Vec::new(),
            masks: LaneOf::new(),
            covered: 0,
            stride: 1,
            likely: 0,
            places: Vec::new(),
            displaced_values: Vec::new(),
            groups: Groups::new(),
            clock: Clock::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The side of a component, if it is one.
    #[inline(always)]
    pub(crate) fn number(&self, id: ComponentId) -> Option<u32> {
        match self.by_component.get(id.index()) {
            Some(&side) if side != NO_STORAGE => Some(side),
            _ => None,
        }
    }

    /// The side of a component's type, if it is one.
    #[inline(always)]
    pub(crate) fn number_of<C: Component>(&self, components: &Components) -> Option<u32> {
        let key = TypeId::of::<C>();
        let (found, side) = self.direct[cache_slot(&key) % DIRECT];
        if found == key { Some(side) } else { self.number(components.id::<C>()) }
    }

    /// Whether types lead directly to the sides of their components.
    pub(crate) fn leads(&self, components: &Components) -> bool {
        let mut known = self.direct.iter().filter(|(_, side)| *side != NO_STORAGE);
        known.all(|(key, side)| self.number(components.id_of_type(*key)) == Some(*side))
    }

    #[inline(always)]
    pub(crate) fn get(&self, side: u32) -> &SparseStorage {
        &self.list[side as usize]
    }

    /// The side of a component.
    #[inline(always)]
    pub(crate) fn of(&self, id: ComponentId) -> Option<&SparseStorage> {
        self.number(id).map(|side| self.get(side))
    }

    /// A side, for those who fill it themselves.
    #[cfg(feature = "snapshot")]
    pub(crate) fn get_mut(&mut self, side: u32) -> &mut SparseStorage {
        &mut self.list[side as usize]
    }

    /// The first lane of a side, for those who fill it themselves.
    #[cfg(feature = "snapshot")]
    pub(crate) fn lanes_mut(&mut self, side: u32) -> *mut phalanx_store::raw::Lane {
        match &mut self.list[side as usize].store {
            // SAFETY: the lanes stay those of the pool; what is written beyond its rows nobody counts.
            Store::Pool(pool) => unsafe { pool.dense.rows_mut() }.lane_mut(),
            Store::Linear(linear) => linear.values_mut().lane_mut(),
        }
    }

    /// All sides, in order of registration.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &SparseStorage> + Clone {
        self.list.iter().map(|side| &**side)
    }

    /// Returns the sides in the canonical order of their components.
    pub(crate) fn in_order(&self) -> impl ExactSizeIterator<Item = &SparseStorage> + Clone {
        self.numbered_in_order().map(|(_, side)| side)
    }

    /// Returns the sides with their numbers, in the canonical order of their components.
    pub(crate) fn numbered_in_order(&self) -> impl ExactSizeIterator<Item = (u32, &SparseStorage)> + Clone {
        self.order.iter().map(|number| (*number, self.get(*number)))
    }

    /// Counts what goes from here on.
    pub(crate) fn begin_counts(&mut self) {
        self.list.iter_mut().for_each(|side| side.gone = [0; 2]);
    }

    /// Gives a component that is not kept in tables its side.
    pub(crate) fn try_register(&mut self, id: ComponentId, components: &Components) -> Result<u32, AllocError> {
        if let Some(side) = self.number(id) {
            return Ok(side);
        }
        let info = components.info(id);
        let store = match info.kind {
            Kind::Table => unreachable!("components of tables have no side"),
            Kind::Pool => Store::Pool(Pool::try_new(info)?),
            Kind::Linear => Store::Linear(Linear::try_new(info)?),
        };
        let is_pool = info.kind == Kind::Pool;
        try_reserve_at(&mut self.by_component, id.index())?;
        try_reserve(&mut self.list, 1)?;
        try_reserve(&mut self.order, 1)?;
        try_reserve(if is_pool { &mut self.by_bit } else { &mut self.linear }, 1)?;
        // Room for all of them at once: ending an entity takes what it has without asking for memory.
        let sparse = self.list.len() + 1;
        try_reserve(&mut self.displaced_values, sparse)?;
        try_reserve(&mut self.places, sparse)?;
        let bit = is_pool.then_some(self.by_bit.len() as u32);
        let mut side = try_box(SparseStorage {
            id,
            store,
            bit,
            flag: bit.filter(|bit| *bit < 64).map_or(0, |bit| 1 << bit),
            watched: info.track == Track::Column,
            plain: false,
            required_by: Vec::new(),
            excluded_by: Vec::new(),
            gone: [0; 2],
            rank: 0,
        })?;
        side.settle();
        if is_pool && self.by_bit.len() as u32 >= self.stride * 64 {
            self.try_widen()?;
        }
        let number = self.list.len() as u32;
        if is_pool { &mut self.by_bit } else { &mut self.linear }.push(number);
        self.by_component.resize(self.by_component.len().max(id.index() + 1), NO_STORAGE);
        self.by_component[id.index()] = number;
        if let Some(key) = info.type_id {
            self.direct[cache_slot(&key) % DIRECT] = (key, number);
        }
        self.list.push(side);
        let is_before = |other: &u32| components.rank(self.get(*other).id) < components.rank(id);
        let at = self.order.partition_point(is_before);
        self.order.insert(at, number);
        for (rank, number) in (0..).zip(&self.order).skip(at) {
            self.list[*number as usize].rank = rank;
        }
        Ok(number)
    }

    /// Doubles the words of a mask.
    fn try_widen(&mut self) -> Result<(), AllocError> {
        let stride = self.stride * 2;
        let mut masks = LaneOf::<u64>::new();
        masks.try_grow(self.covered.checked_mul(stride).ok_or(AllocError::CapacityOverflow)?)?;
        for slot in 0..self.covered {
            for word in 0..stride {
                // SAFETY: the new lane has room for so many words, and the old ones are initialised.
                unsafe {
                    masks.at(slot * stride + word).write(if word < self.stride { self.word(slot, word) } else { 0 })
                };
            }
        }
        (self.masks, self.stride) = (masks, stride);
        Ok(())
    }

    /// Returns a word of a slot's mask.
    ///
    /// # Safety
    ///
    /// A mask has more than `word` words: the word is that of the bit of a pool, or less than `stride`.
    #[inline(always)]
    unsafe fn word(&self, slot: u32, word: u32) -> u64 {
        debug_assert!(word < self.stride);
        // SAFETY: covered slots have their words, which are initialised, this one among them by the caller's promise.
        if slot < self.covered { unsafe { *self.masks.at(slot * self.stride + word) } } else { 0 }
    }

    /// The mask of a slot.
    #[inline(always)]
    pub(crate) fn mask(&self, slot: u32) -> &[u64] {
        if slot >= self.covered {
            return &[];
        }
        // SAFETY: covered slots have their words, which are initialised.
        unsafe { core::slice::from_raw_parts(self.masks.at(slot * self.stride), self.stride as usize) }
    }

    #[inline(always)]
    fn try_cover(&mut self, slot: u32) -> Result<(), AllocError> {
        if slot < self.covered { Ok(()) } else { self.try_cover_slow(slot) }
    }

    #[cold]
    #[inline(never)]
    fn try_cover_slow(&mut self, slot: u32) -> Result<(), AllocError> {
        let words = (slot + 1).checked_mul(self.stride).ok_or(AllocError::CapacityOverflow)?;
        self.masks.try_grow(words)?;
        let covered = self.masks.capacity() / self.stride;
        for at in self.covered * self.stride..covered * self.stride {
            // SAFETY: there is room for so many words.
            unsafe { self.masks.at(at).write(0) };
        }
        self.covered = covered;
        Ok(())
    }

    /// Notes whether a slot is in the pool with this bit.
    ///
    /// # Safety
    ///
    /// The slot is covered, as every slot is that is or was in a pool. The bit is that of a pool.
    #[inline(always)]
    unsafe fn mark(&mut self, slot: u32, bit: u32, present: bool) {
        debug_assert!(slot < self.covered && bit / 64 < self.stride);
        // SAFETY: covered slots have a word for each bit of a pool.
        let word = unsafe { &mut *self.masks.at(slot * self.stride + bit / 64) };
        *word = *word & !(1 << (bit % 64)) | u64::from(present) << (bit % 64);
    }

    /// Makes room for new values of a slot in the sides `sparse_inserts`, and finds out where they are to be written; and room for
    /// noting what the change displaces or takes.
    ///
    /// Nothing has changed if it fails.
    #[inline]
    pub(crate) fn try_reserve(
        &mut self,
        slot: u32,
        sparse_inserts: &[u32],
        sparse_removes: &[u32],
    ) -> Result<(), AllocError> {
        let count = sparse_inserts.len() + sparse_removes.len();
        try_reserve(&mut self.displaced_values, count)?;
        self.places.clear();
        try_reserve(&mut self.places, sparse_inserts.len())?;
        let mut enters = sparse_removes.iter().any(|number| !self.list[*number as usize].excluded_by.is_empty());
        for &number in sparse_inserts {
            self.try_cover(slot)?;
            let side = &mut self.list[number as usize];
            enters |= !side.required_by.is_empty();
            side.try_ready(slot)?;
            self.places.push(side.spare(slot));
        }
        if enters { self.try_ready_groups(slot, sparse_inserts, sparse_removes) } else { Ok(()) }
    }

    /// Where the values of the change that is reserved are to be written, in the order of its sides.
    #[inline(always)]
    pub(crate) fn places(&self) -> *const SparsePtr {
        self.places.as_ptr()
    }

    /// Where the values lie that were taken, in their order.
    pub(crate) fn places_of_retired(&mut self) -> *const SparsePtr {
        self.places.clear();
        for at in 0..self.displaced_values.len() {
            let DisplacedValue { side, row } = self.displaced_values[at];
            // There is room: no more were taken than there are sides.
            self.places.push(SparsePtr { lane: self.get(side).values().lane(), row: row as usize });
        }
        self.places.as_ptr()
    }

    /// Carries out a change of one slot: takes its values in `sparse_removes`, those that it has, and makes those that were written
    /// for `sparse_inserts` count. What is displaced or taken is listed in `displaced_values`.
    ///
    /// # Safety
    ///
    /// The change was [reserved](SparseStorages::try_reserve), and the values are written. No side is named twice. DisplacedValue values are
    /// ended before the next change.
    #[inline]
    pub(crate) unsafe fn commit(&mut self, slot: Entity, sparse_inserts: &[u32], sparse_removes: &[u32]) {
        let mut enters = false;
        for &number in sparse_removes {
            enters |= !self.list[number as usize].excluded_by.is_empty();
            self.take(slot, number, false);
        }
        for &number in sparse_inserts {
            if !self.list[number as usize].excluded_by.is_empty() {
                self.leave_excluding(slot, number);
            }
            let side = &mut self.list[number as usize];
            enters |= !side.required_by.is_empty();
            let (bit, row) = match &mut side.store {
                // SAFETY: the caller's promise.
                Store::Pool(pool) => (side.bit, unsafe { pool.put(slot) }),
                // SAFETY: the caller's promise.
                Store::Linear(linear) => (None, unsafe { linear.put(slot) }),
            };
            if let Some(row) = row {
                self.displaced_values.push(DisplacedValue { side: number, row });
            } else if let Some(bit) = bit {
                // SAFETY: the slot was covered when the change was reserved.
                unsafe { self.mark(slot.index(), bit, true) };
            }
        }
        if enters {
            // SAFETY: reserved with the rest of the change.
            unsafe { self.enter_groups(slot, sparse_inserts, sparse_removes) };
        }
    }

    /// Takes the value of a slot in a side. It leaves the groups that require it first, while all that it has is there: what
    /// is retired then lies beyond the positions in use, and groups exchange none but these.
    #[inline]
    fn take(&mut self, slot: Entity, number: u32, ends: bool) {
        if !self.list[number as usize].required_by.is_empty() {
            self.leave_requiring(slot, number);
        }
        let side = &mut self.list[number as usize];
        let (bit, row) = match &mut side.store {
            Store::Pool(pool) => (side.bit, pool.take(slot)),
            Store::Linear(linear) => (None, linear.take(slot)),
        };
        let Some(row) = row else { return };
        if side.watched {
            side.values().set_column_tick(&self.clock);
        }
        // In the lines that were written just now: cheaper than to ask whether anybody counts.
        side.gone[usize::from(ends)] += 1;
        if let Some(bit) = bit {
            // SAFETY: the slot was in the pool, so it is covered.
            unsafe { self.mark(slot.index(), bit, false) };
        }
        self.displaced_values.push(DisplacedValue { side: number, row });
    }

    /// Makes room for noting what so many slots have.
    pub(crate) fn try_reserve_ends(&mut self, slots: usize) -> Result<(), AllocError> {
        let count = slots.checked_mul(self.list.len()).ok_or(AllocError::CapacityOverflow)?;
        try_reserve(&mut self.displaced_values, count)
    }

    /// Takes all that a slot has. It is listed in `displaced_values`, where there is room for one slot's at least.
    #[inline]
    pub(crate) fn take_all(&mut self, slot: Entity) {
        let start = self.displaced_values.len();
        for at in 0..self.linear.len() {
            self.take(slot, self.linear[at], true);
        }
        for word in 0..self.stride {
            // SAFETY: the word is less than the stride.
            let mut bits = unsafe { self.word(slot.index(), word) };
            while bits != 0 {
                let bit = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.take(slot, self.pool_of_bit(bit), true);
            }
        }
        self.sort_retired(start);
    }

    /// SparseInserts the retired values of one slot, those from a place in the list on, into canonical order: they are dropped in it.
    #[inline(always)]
    fn sort_retired(&mut self, start: usize) {
        if self.displaced_values.len() - start > 1 {
            let list = &self.list;
            self.displaced_values[start..]
                .sort_unstable_by_key(|displaced_values| list[displaced_values.side as usize].rank);
        }
    }

    /// The side of the pool with this bit.
    #[inline(always)]
    pub(crate) fn pool_of_bit(&self, bit: u32) -> u32 {
        self.by_bit[bit as usize]
    }

    /// Returns the sides that a slot has a value in, in canonical order.
    pub(crate) fn storages_of(&self, slot: u32) -> impl Iterator<Item = &SparseStorage> {
        self.in_order().filter(move |side| side.row(slot).is_some())
    }

    /// Ends the retired values from a place in the list on, all of them, even if one panics.
    pub(crate) fn end_retired(&mut self) {
        if self.displaced_values.is_empty() {
            return;
        }
        struct Rest<'a> {
            sparse: &'a mut SparseStorages,
            next: usize,
        }
        impl Rest<'_> {
            fn run(&mut self) {
                while self.next < self.sparse.displaced_values.len() {
                    self.next += 1;
                    // SAFETY: the value is nobody's, and ends once.
                    unsafe { self.sparse.end_one(self.next - 1) };
                }
                self.sparse.displaced_values.clear();
            }
        }
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Rest { sparse: self, next: 0 }.run();
    }

    /// Ends the retired value at a place in the list.
    ///
    /// # Safety
    ///
    /// It is there, and is not ended again.
    pub(crate) unsafe fn end_one(&self, at: usize) {
        let DisplacedValue { side, row } = self.displaced_values[at];
        // SAFETY: the value is nobody's, and the caller's promise.
        unsafe { self.get(side).values().end(row) };
    }

    /// Ends the retired values when it goes out of scope, also by a panic.
    pub(crate) fn ends(&mut self) -> Ends<'_> {
        Ends(self)
    }

    /// Takes everything from everybody. What is to be ended is in what is returned.
    pub(crate) fn clear(&mut self) -> Cleared<'_> {
        for at in 0..self.covered * self.stride {
            // SAFETY: covered slots have their words.
            unsafe { self.masks.at(at).write(0) };
        }
        self.groups.release_all();
        // There is room for as many as there are sides.
        debug_assert!(self.displaced_values.is_empty());
        for number in 0..self.list.len() as u32 {
            let side = &mut self.list[number as usize];
            side.gone[1] += u64::from(side.len());
            side.values().set_column_tick(&self.clock);
            let row = match &mut self.list[number as usize].store {
                Store::Pool(pool) => pool.release_all(),
                Store::Linear(linear) => linear.release_all(),
            };
            self.displaced_values.push(DisplacedValue { side: number, row });
        }
        self.sort_retired(0);
        Cleared { sparse: self, next: 0 }
    }

    /// Takes the values of one side from everybody, if no group names it: only what the store keeps is looked at. What is to
    /// be ended is in what is returned.
    pub(crate) fn clear_one(&mut self, number: u32) -> Option<Cleared<'_>> {
        if !self.list[number as usize].is_alone() {
            return None;
        }
        debug_assert!(self.displaced_values.is_empty());
        let (covered, stride, masks) = (self.covered, self.stride, &self.masks);
        let side = &mut *self.list[number as usize];
        side.gone[0] += u64::from(side.len());
        side.values().set_column_tick(&self.clock);
        let row = match (&mut side.store, side.bit) {
            (Store::Pool(pool), Some(bit)) => {
                for slot in (0..pool.dense.positions()).filter_map(|at| pool.dense.key_at(at)) {
                    debug_assert!(slot.index() < covered);
                    // SAFETY: a slot that is in a pool is covered, and covered slots have their words.
                    unsafe { *masks.at(slot.index() * stride + bit / 64) &= !(1 << (bit % 64)) };
                }
                pool.release_all()
            }
            (Store::Linear(linear), _) => linear.release_all(),
            (Store::Pool(_), None) => unreachable!("a pool has a bit"),
        };
        // There is room for as many as there are sides.
        self.displaced_values.push(DisplacedValue { side: number, row });
        Some(Cleared { sparse: self, next: 0 })
    }

    /// Checks every side, and that the masks say what the pools hold. `is_alive` says whether a slot is, `slot` which one is
    /// at an index, `shown` whether retired values are being shown to listeners.
    pub(crate) fn validate(
        &self,
        is_alive: impl Fn(Entity) -> bool,
        slot: impl Fn(u32) -> Option<Entity>,
        shown: bool,
    ) -> Result<(), &'static str> {
        if !shown && !self.displaced_values.is_empty() {
            return Err("values that were taken and not ended");
        }
        if self.places.capacity().min(self.displaced_values.capacity()) < self.list.len() {
            return Err("less room for places or for what is retired than there are sides");
        }
        if self.order.len() != self.list.len() || (0..).zip(self.in_order()).any(|(rank, side)| side.rank != rank) {
            return Err("a side that is not at its place in the canonical order");
        }
        let mut marked = 0;
        for (number, side) in (0..).zip(self.iter()) {
            if self.number(side.id) != Some(number) {
                return Err("a side that its component does not lead to");
            }
            if side.plain != side.finds_plain() {
                return Err("a side that does not know how its values go");
            }
            match &side.store {
                Store::Linear(linear) => {
                    linear.validate()?;
                    if !self.linear.contains(&number) {
                        return Err("a linear store that is not listed as one");
                    }
                }
                Store::Pool(pool) => {
                    pool.validate()?;
                    let Some(bit) = side.bit.filter(|bit| self.by_bit.get(*bit as usize) == Some(&number)) else {
                        return Err("a pool without a bit of its own");
                    };
                    for entity in (0..pool.dense.positions()).filter_map(|at| pool.dense.key_at(at)) {
                        marked += 1;
                        if !is_alive(entity) {
                            return Err("a pool that holds an entity that is not alive");
                        }
                        // SAFETY: the bit is that of the pool.
                        if unsafe { self.word(entity.index(), bit / 64) } & 1 << (bit % 64) == 0 {
                            return Err("a mask that lacks a pool");
                        }
                    }
                }
            }
        }
        let bits: u32 = (0..self.covered * self.stride)
            // SAFETY: covered slots have their words, which are initialised.
            .map(|at| unsafe { *self.masks.at(at) }.count_ones())
            .sum();
        if self.linear.len() + self.by_bit.len() != self.list.len() {
            return Err("more linear stores or pools than there are");
        }
        if bits != marked { Err("a mask with a pool that lacks its slot") } else { self.validate_groups(slot) }
    }

    /// Bytes held from the allocator beside those of the stores.
    pub(crate) fn overhead(&self) -> usize {
        self.masks.bytes()
            + self.list.capacity() * size_of::<Box<SparseStorage>>()
            + self.list.len() * size_of::<SparseStorage>()
            + (self.by_component.capacity() + self.order.capacity()) * size_of::<u32>()
            + (self.by_bit.capacity() + self.linear.capacity()) * size_of::<u32>()
            + self.places.capacity() * size_of::<SparsePtr>()
            + self.displaced_values.capacity() * size_of::<DisplacedValue>()
            + self.iter().map(|side| side.required_by.capacity() + side.excluded_by.capacity()).sum::<usize>() * 4
            + self.groups.bytes()
    }
}
