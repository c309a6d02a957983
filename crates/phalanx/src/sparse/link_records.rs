//! [`LinkRecords`] and [`LinkRecordsMut`]: the records of a relation in its linear storage.
#![allow(unsafe_code)]

use super::{LinearStorage, SparseStorage, SparseStorages, Store, Values};
use crate::change_detection::{Clock, Tick, set_column_tick};
use crate::links::{Link, LinkStore, LinkView, OnDespawn, RelationInfo};
#[cfg(feature = "snapshot")]
use crate::sort::sort_short_by_key;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use phalanx_store::raw::Lane;
use phalanx_store::raw::prefetch;
use phalanx_store::{AllocError, Entity};

/// The records of a relation.
///
/// The storage is that of a relation: its component says so, and only hidden components of relations do.
///
/// # Invariants
///
/// There are as many records as bits in `words`. Those of slots with a bit are initialised.
#[derive(Clone, Copy)]
pub(crate) struct LinkRecords<'a> {
    words: &'a [u64],
    records: &'a [MaybeUninit<Link>],
    /// `None` if the world does not know the relation.
    values: Option<&'a Values>,
}

/// The records of a relation, for writing. Without `TRACKED`, no dirty bits are kept.
///
/// What a loop needs is in fields of its own: records are written by address, and the compiler would read it again after each.
///
/// # Invariants
///
/// There are as many records as bits in `words`. Those of slots with a bit are initialised. Nothing else uses them meanwhile.
pub(crate) struct LinkRecordsMut<'a, const TRACKED: bool = true> {
    words: &'a mut [u64],
    records: NonNull<Link>,
    /// The number of records.
    len: &'a mut u32,
    is_tree: bool,
    /// The lane of the records.
    lane: &'a Lane,
    /// The lane that has their change tick.
    ticks: &'a Lane,
    /// The lane of the words.
    bits: &'a Lane,
}

impl SparseStorages {
    /// Returns the relations that the world knows, with their storage ids, in the canonical order.
    pub(crate) fn relations(&self) -> impl DoubleEndedIterator<Item = (u32, &RelationInfo)> + Clone {
        self.relations.iter().filter_map(|storage_id| Some((*storage_id, self.get(*storage_id).relation.as_ref()?)))
    }

    /// Returns `true` if the world knows a relation.
    #[inline(always)]
    pub(crate) fn has_relations(&self) -> bool {
        !self.relations.is_empty()
    }

    /// Returns the number of relations that the world knows.
    #[inline(always)]
    pub(crate) fn relation_count(&self) -> usize {
        self.relations.len()
    }

    /// Returns the storage id of the relation with this position in the canonical order, and its properties.
    pub(crate) fn relation(&self, at: usize) -> (u32, RelationInfo) {
        let storage_id = self.relations[at];
        let Some(info) = self.get(storage_id).relation else { unreachable!("the storage of a relation") };
        (storage_id, info)
    }

    /// Returns the number of times that links were written.
    pub(crate) fn link_changes(&self) -> u64 {
        self.link_changes
    }

    /// Returns `true` if entities that are despawned together may lose their links in an order in which depths change often.
    ///
    /// In a single tree whose entities are despawned with their targets, all come before their targets.
    pub(crate) fn needs_doom(&self) -> bool {
        let mut trees = self.relations().filter(|(_, info)| info.is_tree());
        let first = trees.next();
        trees.next().is_some() || first.is_some_and(|(_, info)| info.on_despawn != OnDespawn::Despawn)
    }

    /// Returns `true` if a slot has links.
    pub(crate) fn has_links(&self, slot: u32) -> bool {
        self.relations.iter().any(|storage_id| self.get(*storage_id).row(slot).is_some())
    }

    /// Returns the records of the relation with a storage id. Without one there are none.
    #[inline(always)]
    pub(crate) fn links(&self, storage_id: Option<u32>) -> LinkRecords<'_> {
        let linear = storage_id.map(|storage_id| self.get(storage_id)).and_then(|storage| match &storage.store {
            Store::Linear(linear) if storage.relation.is_some() => Some(linear),
            _ => None,
        });
        linear.map_or(LinkRecords { words: &[], records: &[], values: None }, LinkRecords::new)
    }

    /// Returns the records of the relation with a storage id, for writing.
    ///
    /// # Panics
    ///
    /// Panics if it is not the storage of a relation.
    #[inline(always)]
    pub(crate) fn links_mut(&mut self, storage_id: u32) -> LinkRecordsMut<'_> {
        let (links, changes) = self.links_and_changes(storage_id);
        changes.count(&links);
        links
    }

    /// Returns the storage id of the relation with this position in the canonical order.
    #[inline(always)]
    pub(crate) fn relation_id(&self, at: usize) -> u32 {
        self.relations[at]
    }

    /// Returns the records of the relation with a storage id, and what [counts](LinkChanges::count) that they are written.
    ///
    /// # Panics
    ///
    /// Panics if it is not the storage of a relation.
    #[inline(always)]
    pub(crate) fn links_and_changes(&mut self, storage_id: u32) -> (LinkRecordsMut<'_>, LinkChanges<'_>) {
        let SparseStorages { storages, clock, link_changes, .. } = self;
        (LinkRecordsMut::new(&mut storages[storage_id as usize]), LinkChanges { clock, number: link_changes })
    }

    /// Returns the records of the relation with a storage id, and what counts that they are written, if no dirty bits are kept and
    /// slots up to `highest` have capacity.
    #[inline(always)]
    pub(crate) fn ready_links(
        &mut self,
        storage_id: u32,
        highest: u32,
    ) -> Option<(LinkRecordsMut<'_, false>, LinkChanges<'_>)> {
        let SparseStorages { storages, clock, link_changes, .. } = self;
        let links = LinkRecordsMut::<false>::new(&mut storages[storage_id as usize]);
        let is_ready = (highest as usize / 64) < links.words.len() && !links.is_tracked();
        is_ready.then_some((links, LinkChanges { clock, number: link_changes }))
    }

    /// Returns `true` if the record of a slot has capacity.
    #[inline(always)]
    pub(crate) fn covers_link(&self, storage_id: u32, slot: u32) -> bool {
        match &self.get(storage_id).store {
            Store::Linear(linear) => linear.covers(slot),
            Store::Pool(_) => false,
        }
    }

    /// Returns a copy of the storage of a relation without links of slots that are not kept, and the number of those that lead
    /// from a slot that is kept to one that is not, or back.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    #[cfg(feature = "snapshot")]
    pub(crate) fn try_prune_links(
        &self,
        storage_id: u32,
        is_kept: impl Fn(u32) -> bool,
    ) -> Result<(Box<SparseStorage>, usize), AllocError> {
        let mut copy = self.get(storage_id).try_clone()?;
        let mut cut = crate::alloc::try_vec(copy.len() as usize)?;
        let links = self.links(Some(storage_id));
        let mut leading_out = 0;
        let is_slot = |slot: u32| slot != crate::links::NONE;
        for slot in links.slots() {
            let target = links.get(slot).target;
            let kept = (is_kept(slot), is_slot(target) && is_kept(target));
            if is_slot(target) && kept != (true, true) {
                leading_out += usize::from(kept.0 != kept.1);
                cut.push(slot);
            }
        }
        // The deepest first, so that each depth is set once.
        sort_short_by_key(&mut cut, |slot| (core::cmp::Reverse(links.get(*slot).depth), *slot));
        let mut pruned = LinkRecordsMut::<true>::new(&mut copy);
        cut.iter().for_each(|slot| _ = pruned.unlink(*slot));
        Ok((copy, leading_out))
    }

    /// Reserves capacity for the record of a slot. Records may move even if this fails.
    pub(crate) fn try_reserve_link(&mut self, storage_id: u32, slot: u32) -> Result<(), AllocError> {
        match &mut self.get_mut(storage_id).store {
            Store::Linear(linear) => linear.try_cover(slot),
            Store::Pool(_) => unreachable!("the storage of a relation"),
        }
    }
}

/// Counts that links of a relation are written.
pub(crate) struct LinkChanges<'a> {
    clock: &'a Clock,
    number: &'a mut u64,
}

impl LinkChanges<'_> {
    /// Counts that links are written.
    #[inline(always)]
    pub(crate) fn count<const TRACKED: bool>(self, links: &LinkRecordsMut<'_, TRACKED>) {
        *self.number += 1;
        set_column_tick(links.ticks, self.clock.now());
    }
}

/// Returns `true` if a slot has a bit.
#[inline(always)]
fn has(words: &[u64], slot: u32) -> bool {
    words.get(slot as usize / 64).is_some_and(|word| word & 1 << (slot % 64) != 0)
}

/// Returns the first slot from `slot` on that has a bit.
fn next_slot(words: &[u64], slot: u32) -> Option<u32> {
    let first = slot as usize / 64;
    let masked = |(at, word): (usize, &u64)| (at, if at == first { word & (u64::MAX << (slot % 64)) } else { *word });
    let (at, word) = words.iter().enumerate().skip(first).map(masked).find(|(_, word)| *word != 0)?;
    Some(at as u32 * 64 + word.trailing_zeros())
}

impl<'a> LinkRecords<'a> {
    /// Returns the records in the storage of a relation.
    #[inline(always)]
    fn new(linear: &'a LinearStorage) -> LinkRecords<'a> {
        let (words, values) = (linear.words(), linear.values());
        let records = match values.lanes().first() {
            // SAFETY: the first lane of a relation is an array of records, one for each covered slot and more. Records that are
            // not initialised are only shown as such. While the storage is borrowed, none is written.
            Some(lane) if !words.is_empty() => unsafe {
                core::slice::from_raw_parts(lane.ptr().cast().as_ptr(), words.len() * 64)
            },
            _ => &[],
        };
        LinkRecords { words, records, values: Some(values) }
    }

    /// Returns the slots that have a record, ascending.
    pub(crate) fn slots(self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        let next = move |slot: &u32| next_slot(self.words, slot + 1);
        core::iter::successors(next_slot(self.words, 0), next)
    }

    /// Returns the first slot from `slot` on that has a record.
    pub(crate) fn next_slot(self, slot: u32) -> Option<u32> {
        next_slot(self.words, slot)
    }

    /// Returns when a link changed last, or `None` if there was never one.
    pub(crate) fn changed(self) -> Option<Tick> {
        // The clock begins after the tick of a storage that was never changed.
        self.values.and_then(Values::column_tick).filter(|tick| *tick != Tick(0))
    }
}

impl LinkView for LinkRecords<'_> {
    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        prefetch(self.records.as_ptr().wrapping_add(slot as usize));
    }

    #[inline(always)]
    fn get(&self, slot: u32) -> Link {
        match has(self.words, slot) {
            // SAFETY: there is a record for each bit, which is initialised if the bit is set.
            true => unsafe { self.records.get_unchecked(slot as usize).assume_init() },
            false => Link::EMPTY,
        }
    }
}

impl<const TRACKED: bool> LinkView for LinkRecordsMut<'_, TRACKED> {
    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        prefetch(self.records.as_ptr().wrapping_add(slot as usize));
    }

    #[inline(always)]
    fn get(&self, slot: u32) -> Link {
        match self.has(slot) {
            // SAFETY: the slot has a record.
            true => unsafe { self.record(slot).read() },
            false => Link::EMPTY,
        }
    }
}

impl<const TRACKED: bool> LinkStore for LinkRecordsMut<'_, TRACKED> {
    #[inline(always)]
    fn update<T>(&mut self, slot: u32, change: impl FnOnce(&mut Link) -> T) -> T {
        let mut is_empty = false;
        let result = self.update_kept(slot, |link| {
            let result = change(link);
            is_empty = link.is_empty();
            result
        });
        if is_empty {
            self.remove(slot);
        }
        result
    }

    #[inline(always)]
    fn update_kept<T>(&mut self, slot: u32, change: impl FnOnce(&mut Link) -> T) -> T {
        if !self.has(slot) {
            self.insert(slot, Link::EMPTY);
        }
        self.mark(slot);
        // SAFETY: the slot has a record, which nothing else uses.
        unsafe { change(&mut *self.record(slot)) }
    }

    #[inline(always)]
    fn update_source(&mut self, slot: u32, change: impl FnOnce(&mut Link)) {
        if self.has(slot) {
            self.mark(slot);
            // SAFETY: the slot has a record, which nothing else uses.
            unsafe { change(&mut *self.record(slot)) };
        }
    }

    #[inline(always)]
    fn update_target(&mut self, slot: u32, change: impl FnOnce(&mut Link)) {
        let mut is_empty = false;
        self.update_source(slot, |link| {
            change(link);
            is_empty = link.is_empty();
        });
        if is_empty {
            self.remove(slot);
        }
    }

    /// # Panics
    ///
    /// Panics if no capacity is reserved for the record.
    #[inline(always)]
    fn insert(&mut self, slot: u32, link: Link) {
        let Some(word) = self.words.get_mut(slot as usize / 64) else {
            panic!("the capacity for a record is reserved")
        };
        debug_assert!(*word & 1 << (slot % 64) == 0);
        *word |= 1 << (slot % 64);
        *self.len += 1;
        // SAFETY: there is a bit for the slot.
        unsafe { self.record(slot).write(link) };
        self.mark_word(slot);
    }

    /// Does nothing if there is no record.
    #[inline(always)]
    fn remove(&mut self, slot: u32) {
        if self.has(slot) {
            self.words[slot as usize / 64] ^= 1 << (slot % 64);
            *self.len -= 1;
            self.mark_word(slot);
        }
    }
}

impl<'a, const TRACKED: bool> LinkRecordsMut<'a, TRACKED> {
    /// Returns the records of a storage.
    ///
    /// # Panics
    ///
    /// Panics if it is not the storage of a relation.
    #[inline(always)]
    fn new(storage: &'a mut SparseStorage) -> LinkRecordsMut<'a, TRACKED> {
        let Store::Linear(linear) = &mut storage.store else { unreachable!("the storage of a relation") };
        let Some(relation) = &storage.relation else { unreachable!("the storage of a relation") };
        let (values, (words, bits), len) = linear.parts_mut();
        // Records have a size, and are tracked by column.
        let [lane, ticks] = values.lanes() else { unreachable!("a lane of records, and one for their tick") };
        LinkRecordsMut { words, records: lane.ptr().cast(), len, is_tree: relation.is_tree(), lane, ticks, bits }
    }

    /// Returns `true` if dirty bits are kept.
    #[inline(always)]
    fn is_tracked(&self) -> bool {
        self.bits.is_tracked() | self.lane.is_tracked()
    }

    /// Returns `true` if the relation is a tree.
    #[inline(always)]
    pub(crate) fn is_tree(&self) -> bool {
        self.is_tree
    }

    /// Removes the records of entities. No other record names one of them.
    pub(crate) fn remove_all(&mut self, entities: &[Entity]) {
        if TRACKED && self.is_tracked() {
            entities.iter().for_each(|entity| self.remove(entity.index()));
            return;
        }
        // Bits of one word are removed together: entities that are spawned together are often despawned together.
        let (mut at, mut bits, mut removed) = (0, 0, 0);
        let mut remove = |at: usize, bits: u64| {
            if let Some(word) = self.words.get_mut(at) {
                removed += (*word & bits).count_ones();
                *word &= !bits;
            }
        };
        for entity in entities {
            let slot = entity.index();
            if slot as usize / 64 != at {
                remove(at, bits);
                (at, bits) = (slot as usize / 64, 0);
            }
            bits |= 1 << (slot % 64);
        }
        remove(at, bits);
        *self.len -= removed;
    }

    /// Removes all records.
    pub(crate) fn clear(&mut self) {
        let mut next = 0;
        while let Some(slot) = next_slot(self.words, next) {
            next = slot + 1;
            self.remove(slot);
        }
    }

    /// Returns `true` if a slot has a record.
    #[inline(always)]
    fn has(&self, slot: u32) -> bool {
        has(self.words, slot)
    }

    /// Returns the address of the record of a slot.
    ///
    /// # Safety
    ///
    /// There is a bit for the slot.
    #[inline(always)]
    unsafe fn record(&self, slot: u32) -> *mut Link {
        // SAFETY: there is a record for each bit.
        unsafe { self.records.add(slot as usize).as_ptr() }
    }

    /// Sets the dirty bit of a record that is written.
    #[inline(always)]
    fn mark(&self, slot: u32) {
        if TRACKED && slot as usize / 64 < self.words.len() {
            // SAFETY: there is a record for each bit. The storage is borrowed exclusively.
            unsafe { self.lane.set_dirty(slot) };
        }
    }

    /// Sets the dirty bits of a record that is added or removed, and of its bit.
    #[inline(always)]
    fn mark_word(&self, slot: u32) {
        if TRACKED && slot as usize / 64 < self.words.len() {
            self.mark(slot);
            // SAFETY: the word is one of the lane. The storage is borrowed exclusively.
            unsafe { self.bits.set_dirty(slot / 64) };
        }
    }
}
