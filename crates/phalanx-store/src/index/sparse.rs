//! [`Sparse`]: the index of keys that were made elsewhere. It is a flat window over the low indices, with pages beyond it.
//!
//! # Representation
//!
//! The entry of index `i` is `window[i]` for `i < window_len`. Otherwise it is entry `i % 4096` of page `i / 4096`, which
//! hangs from a branch of 512 pages. Pages and branches exist while an entry of theirs is occupied, or was prepared and
//! not linked since. An entry below `window_len` is never in a page.
//!
//! The window grows to a new index if it stays within the size of a page, or at least a quarter of it is occupied then. All
//! keys count, so its size is bounded by theirs. Otherwise the entry goes to a page. So a dense set pays 8 bytes an index
//! and one comparison. One key far away costs a page, a branch and at most 16 KiB of root.
//!
//! A vacant entry has the word [`RETIRED`], which no key's generation equals.
#![allow(unsafe_code)]

use crate::generation::{DEAD, MAX_SLOTS, RETIRED};
use crate::raw::{DenseIndex, LaneOf, cold_path};
use crate::{AllocError, Key};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;

/// The position that a key leads to, and the generation that it must have.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Entry {
    pub(crate) position: u32,
    pub(crate) word: u32,
}

pub(super) const VACANT: Entry = Entry { position: 0, word: RETIRED };

impl Entry {
    pub(crate) fn is_vacant(self) -> bool {
        self.word == RETIRED
    }
}

/// Entries in a page.
const PAGE: usize = 4096;
/// Pages in a branch.
const BRANCH: usize = 512;

type Page = [Entry; PAGE];

/// 512 pages, how many of each one's entries are occupied, and how many pages there are.
struct Branch {
    pages: [Option<Box<Page>>; BRANCH],
    occupied: [u16; BRANCH],
    count: u16,
}

const _: () = assert!(size_of::<Entry>() == 8 && PAGE <= u16::MAX as usize && size_of::<Page>() == 32 << 10);

fn split(index: u32) -> (usize, usize, usize) {
    let page = index as usize / PAGE;
    (page / BRANCH, page % BRANCH, index as usize % PAGE)
}

/// The stored form of a key in a dense container: the key, or a hole that was one.
///
/// It is opaque outside of this crate. A hole has the dead bit, and as a key it would be found in dead slots.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct DenseKey<K>(pub(crate) K);

/// The index of a [`SparseSet`](crate::SparseSet).
pub struct Sparse<K> {
    pub(super) window: LaneOf<Entry>,
    pub(super) window_len: u32,
    root: Vec<Option<Box<Branch>>>,
    branches: u32,
    pages: u32,
    /// Whether empty pages are kept.
    held: bool,
    keys: PhantomData<fn() -> K>,
}

/// A [`Sparse`] index for many look-ups, with its window resolved. A loop that writes elsewhere keeps it in registers.
pub struct SparseLookup<'a, K> {
    window: *const Entry,
    window_len: u32,
    index: &'a Sparse<K>,
}

impl<K> Clone for SparseLookup<'_, K> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for SparseLookup<'_, K> {}

impl<K> fmt::Debug for SparseLookup<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparseLookup({} entries in the window)", self.window_len)
    }
}

impl<K: Key> SparseLookup<'_, K> {
    /// Returns the position of a key, or `None` if it is not linked.
    #[inline(always)]
    pub fn position(self, key: K) -> Option<u32> {
        let index = key.index();
        let entry = match index < self.window_len {
            // SAFETY: `window_len` entries are initialised, and the index is borrowed.
            true => unsafe { *self.window.add(index as usize) },
            false => self.index.far_entry(index),
        };
        (entry.word == key.generation()).then_some(entry.position)
    }

    /// Returns the position that is linked for an index.
    ///
    /// # Safety
    ///
    /// A key with this index is linked.
    #[inline(always)]
    pub unsafe fn position_unchecked(self, index: u32) -> u32 {
        debug_assert!(self.index.position_at(index).is_some());
        if index < self.window_len {
            // SAFETY: `window_len` entries are initialised, and the index is borrowed.
            unsafe { (*self.window.add(index as usize)).position }
        } else {
            self.index.position_in_page(index)
        }
    }
}

impl<K: Key> Sparse<K> {
    /// Creates an empty index without allocating.
    pub const fn new() -> Sparse<K> {
        Sparse {
            window: LaneOf::new(),
            window_len: 0,
            root: Vec::new(),
            branches: 0,
            pages: 0,
            held: false,
            keys: PhantomData,
        }
    }

    /// Returns the entry of an index.
    #[inline(always)]
    pub(crate) fn entry(&self, index: u32) -> Entry {
        if index < self.window_len {
            // SAFETY: `window_len` entries are initialised.
            unsafe { *self.window.at(index) }
        } else {
            self.far_entry(index)
        }
    }

    #[inline]
    fn entry_in_page(&self, index: u32) -> Entry {
        let (branch, page, at) = split(index);
        match self.root.get(branch) {
            Some(Some(branch)) => branch.pages[page].as_ref().map_or(VACANT, |p| p[at]),
            _ => VACANT,
        }
    }

    /// Out of line, to keep the path through the window short.
    #[cold]
    #[inline(never)]
    fn far_entry(&self, index: u32) -> Entry {
        self.entry_in_page(index)
    }

    /// Out of line, to keep the path through the window short.
    #[cold]
    #[inline(never)]
    fn position_in_page(&self, index: u32) -> u32 {
        self.entry_in_page(index).position
    }

    /// Returns the position of a key beyond the window. Out of line, to keep the path through the window short.
    #[inline(never)]
    fn find_in_page(&self, key: K) -> Option<u32> {
        let entry = self.entry_in_page(key.index());
        (entry.word == key.generation()).then_some(entry.position)
    }

    /// Returns `true` if there is an entry for an index, vacant or not.
    pub(crate) fn has_entry(&self, index: u32) -> bool {
        let (branch, page, _) = split(index);
        let in_page = || matches!(self.root.get(branch), Some(Some(branch)) if branch.pages[page].is_some());
        index < self.window_len || in_page()
    }

    /// Returns the key that is linked for an index.
    #[inline]
    pub fn occupant(&self, index: u32) -> Option<K> {
        let entry = self.entry(index);
        // SAFETY: the word of an occupied entry is the generation of its key.
        (!entry.is_vacant()).then(|| unsafe { K::from_parts(index, entry.word) })
    }

    /// Returns the entry of an index for writing, after [`try_prepare`](Sparse::try_prepare).
    ///
    /// # Panics
    ///
    /// Panics if the index has neither an entry in the window nor a page.
    #[inline(always)]
    fn entry_mut(&mut self, index: u32) -> &mut Entry {
        if index < self.window_len {
            // SAFETY: `window_len` entries are initialised, and `self` is borrowed exclusively.
            unsafe { &mut *self.window.at(index) }
        } else {
            self.entry_mut_in_page(index)
        }
    }

    /// Out of line, to keep the path through the window short.
    #[cold]
    #[inline(never)]
    fn entry_mut_in_page(&mut self, index: u32) -> &mut Entry {
        let (branch, page, at) = split(index);
        let page = self.root[branch].as_mut().and_then(|b| b.pages[page].as_mut());
        &mut page.expect("a key in use has a page")[at]
    }

    /// Returns the position that is linked for an index, whatever the generation of its key.
    #[inline(always)]
    pub fn position_at(&self, index: u32) -> Option<u32> {
        let entry = self.entry(index);
        (!entry.is_vacant()).then_some(entry.position)
    }

    /// Returns the index for many look-ups of linked indices, with its window resolved.
    #[inline(always)]
    pub fn lookup(&self) -> SparseLookup<'_, K> {
        SparseLookup { window: self.window.ptr(), window_len: self.window_len, index: self }
    }

    /// Returns the address of an index's entry in the window, for prefetching. It may lie outside, so it is never read.
    #[inline(always)]
    pub fn address(&self, index: u32) -> *const u8 {
        self.window.ptr().wrapping_add(index as usize).cast()
    }

    /// Makes an entry for `index`, in a set that has `live` keys without it. It may be [linked](Sparse::link) later.
    #[inline(always)]
    pub(crate) fn try_prepare(&mut self, index: u32, live: u32) -> Result<(), AllocError> {
        if index < self.window_len { Ok(()) } else { self.try_prepare_slow(index, live, u32::MAX) }
    }

    /// Returns the length to which the window grows at most, for one key beside `live` others.
    pub(super) fn window_limit(live: u32) -> u64 {
        ((u64::from(live) + 1) * 4).max(PAGE as u64)
    }

    #[cold]
    pub(super) fn try_prepare_slow(&mut self, index: u32, live: u32, most: u32) -> Result<(), AllocError> {
        let len = index + 1;
        if u64::from(len) <= Self::window_limit(live) {
            self.window.try_grow(len)?;
            // The whole capacity is used at once, so that the next keys find their entries; up to `most`.
            let len = crate::generation::at_most_countable(self.window.capacity()).min(most.max(len));
            for i in self.window_len..len {
                // SAFETY: there is capacity for `len` entries.
                unsafe { self.window.at(i).write(VACANT) };
            }
            let old = core::mem::replace(&mut self.window_len, len);
            // SAFETY: the window is `len` entries long.
            unsafe { self.absorb(old..len) };
            return Ok(());
        }
        let (branch, page, _) = split(index);
        if self.root.len() <= branch {
            let more = branch + 1 - self.root.len();
            // Its own arithmetic cannot overflow: there are at most 2048 branches.
            let bytes = (branch + 1) * size_of::<usize>();
            let refused = AllocError::OutOfMemory { bytes, align: align_of::<usize>() };
            self.root.try_reserve_exact(more).map_err(|_| refused)?;
        }
        // Both blocks are allocated before anything changes.
        let present = self.root.get(branch).and_then(|b| b.as_ref());
        let new_branch = match present {
            Some(_) => None,
            // SAFETY: `b` is a block for a branch: each field is written in its place.
            None => Some(unsafe {
                try_boxed::<Branch>(|b| {
                    let pages = (&raw mut (*b).pages).cast::<Option<Box<Page>>>();
                    (0..BRANCH).for_each(|i| pages.add(i).write(None));
                    (&raw mut (*b).occupied).write([0; BRANCH]);
                    (&raw mut (*b).count).write(0);
                })?
            }),
        };
        let new_page = match present.is_some_and(|b| b.pages[page].is_some()) {
            true => None,
            // SAFETY: `p` is a block for a page: every entry is written in its place.
            false => Some(unsafe {
                try_boxed::<Page>(|p| {
                    let entries = p.cast::<Entry>();
                    (0..PAGE).for_each(|i| entries.add(i).write(VACANT));
                })?
            }),
        };
        if self.root.len() <= branch {
            self.root.resize_with(branch + 1, || None);
        }
        if let Some(new) = new_branch {
            self.root[branch] = Some(new);
            self.branches += 1;
        }
        if let (Some(new), Some(branch)) = (new_page, &mut self.root[branch]) {
            branch.pages[page] = Some(new);
            branch.count += 1;
            self.pages += 1;
        }
        Ok(())
    }

    /// Moves the entries of these indices, which the window has just reached, out of the pages.
    ///
    /// # Safety
    ///
    /// The indices are below the length of the window.
    unsafe fn absorb(&mut self, indices: core::ops::Range<u32>) {
        let mut index = indices.start;
        while self.pages > 0 && index < indices.end {
            let (branch, page, at) = split(index);
            // The next index that is in another page.
            let next = (index - at as u32).saturating_add(PAGE as u32).min(indices.end);
            let occupied = self.root.get(branch).and_then(|b| b.as_ref()).map_or(0, |b| b.occupied[page]);
            if occupied > 0 {
                for i in index..next {
                    let entry = self.entry_in_page(i);
                    if !entry.is_vacant() {
                        // SAFETY: `i` is below the length of the window.
                        unsafe { self.window.at(i).write(entry) };
                        self.vacate(i);
                    }
                }
            }
            index = next;
        }
    }

    /// Vacates an occupied entry in a page. Frees the page and the branch if they are empty then.
    #[inline(never)]
    fn vacate(&mut self, index: u32) {
        let (at_root, page, at) = split(index);
        let Some(branch) = &mut self.root[at_root] else { return };
        if let Some(page) = &mut branch.pages[page] {
            page[at] = VACANT;
        }
        branch.occupied[page] -= 1;
        if branch.occupied[page] == 0 && !self.held {
            self.free_page(at_root, page);
        }
    }

    /// Frees an empty page, and its branch if that was the last page.
    fn free_page(&mut self, at_root: usize, page: usize) {
        let Some(branch) = &mut self.root[at_root] else { return };
        branch.pages[page] = None;
        branch.count -= 1;
        self.pages -= 1;
        if branch.count == 0 {
            self.root[at_root] = None;
            self.branches -= 1;
            while let Some(None) = self.root.last() {
                self.root.pop();
            }
            if self.root.is_empty() {
                self.root = Vec::new();
            }
        }
    }

    /// Sets whether empty pages are kept, so that prepared entries stay while keys are removed.
    ///
    /// If not, empty pages are freed at once.
    pub fn hold_pages(&mut self, held: bool) {
        self.held = held;
        if held || self.pages == 0 {
            return;
        }
        for at_root in (0..self.root.len()).rev() {
            for page in 0..BRANCH {
                let branch = self.root.get(at_root).and_then(|branch| branch.as_ref());
                if branch.is_some_and(|b| b.pages[page].is_some() && b.occupied[page] == 0) {
                    self.free_page(at_root, page);
                }
            }
        }
    }

    /// Occupies a vacant entry that was [prepared](Sparse::try_prepare).
    #[inline(always)]
    pub(crate) fn link(&mut self, key: K, position: u32) {
        let (index, entry) = (key.index(), Entry { position, word: key.generation() });
        if index < self.window_len {
            // SAFETY: `window_len` entries are initialised.
            unsafe { self.window.at(index).write(entry) };
        } else {
            self.link_in_page(index, entry);
        }
    }

    #[cold]
    #[inline(never)]
    fn link_in_page(&mut self, index: u32, entry: Entry) {
        *self.entry_mut_in_page(index) = entry;
        let (branch, page, _) = split(index);
        if let Some(branch) = &mut self.root[branch] {
            branch.occupied[page] += 1;
        }
    }

    /// Links an occupied entry to a key of the same index and another generation.
    pub(crate) fn relink(&mut self, key: K) {
        self.entry_mut(key.index()).word = key.generation();
    }

    /// Returns `true` if a rebuilt index of these `live` keys may be smaller. It is never true of an index that
    /// [`try_rebuilt`](Sparse::try_rebuilt) made.
    ///
    /// The window ends in a vacant entry, has spare capacity, or is larger than it would have grown for these keys.
    pub(super) fn is_loose(&self, live: u32) -> bool {
        let last = self.window_len.checked_sub(1).map(|last| self.entry(last));
        self.window.capacity() > self.window_len
            || last.is_some_and(Entry::is_vacant)
            || self.window_len > PAGE as u32 && (u64::from(live) + 1) * 4 < u64::from(self.window_len)
    }

    /// Returns the smallest index of the same content: `live` keys.
    ///
    /// A window that the rule asks for is copied as a whole. Otherwise the index is rebuilt.
    pub(crate) fn try_compacted(&self, live: u32) -> Result<Self, AllocError> {
        // SAFETY: `window_len` entries are initialised.
        let window = unsafe { self.window.slice(self.window_len) };
        let len = without_vacant_end(window).len() as u32;
        if self.pages > 0 || u64::from(len) > Self::window_limit(live.saturating_sub(1)) {
            return self.try_rebuilt();
        }
        let mut new = Sparse::new();
        // SAFETY: the new window has no entries. Then it has capacity for `len`, which are initialised here.
        unsafe {
            new.window.try_resize(len)?;
            core::ptr::copy_nonoverlapping(self.window.ptr(), new.window.ptr(), len as usize);
        }
        new.window_len = len;
        Ok(new)
    }

    /// Returns the smallest index of the same content, rebuilt key by key.
    pub(super) fn try_rebuilt(&self) -> Result<Self, AllocError> {
        let mut new = Sparse::new();
        let mut live = 0;
        let mut adopt = |index: u32, entry: Entry| {
            if !entry.is_vacant() {
                // The window gets only the length that the rule asks for.
                if index >= new.window_len {
                    new.try_prepare_slow(index, live, 0)?;
                }
                // SAFETY: the word of an occupied entry is the generation of its key.
                new.link(unsafe { K::from_parts(index, entry.word) }, entry.position);
                live += 1;
            }
            Ok::<(), AllocError>(())
        };
        for index in 0..self.window_len {
            adopt(index, self.entry(index))?;
        }
        for (b, branch) in self.root.iter().enumerate() {
            for (p, page) in branch.iter().flat_map(|b| b.pages.iter().enumerate()) {
                for (at, entry) in page.iter().flat_map(|page| page.iter().enumerate()) {
                    adopt(((b * BRANCH + p) * PAGE + at) as u32, *entry)?;
                }
            }
        }
        // SAFETY: `window_len` entries are initialised.
        new.window_len = unsafe { without_vacant_end(new.window.slice(new.window_len)).len() as u32 };
        // SAFETY: entries at and above `window_len` are not in use.
        unsafe { new.window.try_resize(new.window_len)? };
        Ok(new)
    }
}

impl<K: Key> Default for Sparse<K> {
    fn default() -> Self {
        Sparse::new()
    }
}

/// Returns the entries of a window up to the last one that is occupied.
fn without_vacant_end(mut window: &[Entry]) -> &[Entry] {
    // Without branches, so that several entries are compared at a time. No other word has all bits.
    const { assert!(RETIRED == u32::MAX) };
    while let Some((rest, block)) = window.split_last_chunk::<64>()
        && block.iter().fold(RETIRED, |all, entry| all & entry.word) == RETIRED
    {
        window = rest;
    }
    let last = window.iter().rposition(|entry| !entry.is_vacant());
    &window[..last.map_or(0, |last| last + 1)]
}

/// Allocates a box whose content `init` writes in place, so that no large value crosses the stack.
///
/// # Safety
///
/// `init` initialises the whole value at the address that it gets.
unsafe fn try_boxed<T>(init: impl FnOnce(*mut T)) -> Result<Box<T>, AllocError> {
    const { assert!(size_of::<T>() > 0) };
    let layout = Layout::new::<T>();
    // SAFETY: the size is not zero.
    let block = unsafe { alloc::alloc::alloc(layout) }.cast::<T>();
    if block.is_null() {
        return Err(AllocError::of(layout));
    }
    init(block);
    // SAFETY: allocated by the global allocator with the layout of `T`, and `init` has initialised all of it.
    Ok(unsafe { Box::from_raw(block) })
}

// SAFETY: a position is returned only for a key whose generation equals the word of its index's entry, so for an occupied
// entry. There it is what `link` or `relocate` stored last.
unsafe impl<K: Key> DenseIndex for Sparse<K> {
    type Key = K;
    type DenseKey = DenseKey<K>;
    const MAX: u32 = MAX_SLOTS;

    #[inline(always)]
    fn position(&self, key: K) -> Option<u32> {
        // The index plus one is compared. Then the subtraction becomes part of the address.
        let position = key.position();
        if position <= self.window_len {
            // SAFETY: `window_len` entries are initialised.
            let entry = unsafe { &*self.window.ptr().add(position as usize - 1) };
            return (entry.word == key.generation()).then_some(entry.position);
        }
        // The path through the window is laid out straight.
        cold_path();
        self.find_in_page(key)
    }

    #[inline(always)]
    fn dense_key(key: K) -> DenseKey<K> {
        DenseKey(key)
    }

    #[inline(always)]
    unsafe fn key(&self, dense_key: DenseKey<K>) -> K {
        dense_key.0
    }

    #[inline(always)]
    unsafe fn relocate(&mut self, DenseKey(key): DenseKey<K>, position: u32) {
        self.entry_mut(key.index()).position = position;
    }

    #[inline(always)]
    unsafe fn release(&mut self, DenseKey(key): DenseKey<K>) -> bool {
        if key.index() < self.window_len {
            *self.entry_mut(key.index()) = VACANT;
        } else {
            self.vacate(key.index());
        }
        false
    }

    #[inline(always)]
    unsafe fn on_released(&mut self, _: &mut LaneOf<DenseKey<K>>, _: u32) {}

    fn bytes(&self) -> usize {
        self.window.bytes()
            + self.root.capacity() * size_of::<Option<Box<Branch>>>()
            + self.branches as usize * size_of::<Branch>()
            + self.pages as usize * size_of::<Page>()
    }

    /// Checks the counts, and that nothing is in a page that belongs in the window.
    unsafe fn validate(&self, _: &LaneOf<DenseKey<K>>, _: u32, live: u32) -> Result<(), &'static str> {
        let mut occupied = (0..self.window_len).filter(|i| !self.entry(*i).is_vacant()).count() as u32;
        let (mut branches, mut pages) = (0, 0);
        for (b, branch) in self.root.iter().enumerate() {
            let Some(branch) = branch else { continue };
            branches += 1;
            let mut count = 0;
            for (p, page) in branch.pages.iter().enumerate() {
                let used = page.iter().flat_map(|page| page.iter()).filter(|e| !e.is_vacant()).count();
                if used != branch.occupied[p] as usize || (used > 0 && page.is_none()) {
                    return Err("a page whose occupied entries are miscounted");
                }
                let first = ((b * BRANCH + p) * PAGE) as u32;
                if (first..self.window_len.max(first)).take(PAGE).any(|i| !self.entry_in_page(i).is_vacant()) {
                    return Err("an entry in a page below the window's end");
                }
                count += u16::from(page.is_some());
                occupied += used as u32;
            }
            if count == 0 || count != branch.count {
                return Err("a branch whose pages are miscounted");
            }
            pages += u32::from(count);
        }
        if branches != self.branches || pages != self.pages || matches!(self.root.last(), Some(None)) {
            return Err("branches or pages miscounted");
        }
        if occupied != live {
            return Err("the index has other keys than the container");
        }
        Ok(())
    }

    #[inline(always)]
    fn hole(DenseKey(key): DenseKey<K>) -> DenseKey<K> {
        // SAFETY: only an index takes the key out of a dense key, and never out of a hole, so this one is never looked up.
        DenseKey(unsafe { K::from_parts(key.index(), key.generation() | DEAD) })
    }

    #[inline(always)]
    fn is_hole(DenseKey(key): DenseKey<K>) -> bool {
        key.generation() & DEAD != 0
    }

    #[inline(always)]
    fn filled(DenseKey(key): DenseKey<K>) -> DenseKey<K> {
        // SAFETY: the key that the hole was made of.
        DenseKey(unsafe { K::from_parts(key.index(), key.generation() & !DEAD) })
    }
}

impl<K> fmt::Debug for Sparse<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sparse(window of {}, {} pages)", self.window_len, self.pages)
    }
}
