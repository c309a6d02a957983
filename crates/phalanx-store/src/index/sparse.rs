//! The index of keys that were made elsewhere: a flat window over the low indices, pages beyond it.
//!
//! # Representation
//!
//! The entry of index `i` is `window[i]` for `i < window_len`, otherwise entry `i % 4096` of a page that hangs, by
//! `i / 4096`, from a branch of 512 pages. Pages and branches exist while an entry of theirs is occupied, or was prepared and
//! not linked since. An entry below `window_len` is never in a page.
//!
//! The window grows to a new index while it would be no larger than a page, or at least a quarter of it would be occupied
//! (counting all keys, so that its size is bounded by theirs); otherwise the entry goes to a page. So a dense set pays 8
//! bytes an index and one comparison, and one key far away costs a page, a branch and at most 16 KiB of root.
//!
//! A vacant entry has the word [`RETIRED`], which no key's generation equals.
#![allow(unsafe_code)]

use crate::generation::{DEAD, MAX_SLOTS, RETIRED};
use crate::raw::{Dense, DenseIndex, LaneOf, Rows};
use crate::{AllocError, Key};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;

/// Where a key leads, and the generation that it must have.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Entry {
    pub(crate) position: u32,
    pub(crate) word: u32,
}

const VACANT: Entry = Entry { position: 0, word: RETIRED };

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

/// What a dense container stores of a key: the key, or a hole that was one.
///
/// Not the key itself, and not to be read as one outside: a hole has the dead bit, and as a key it would be found in
/// dead slots.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Mark<K>(pub(crate) K);

/// The index of a [`SparseSet`](crate::SparseSet).
pub struct Sparse<K> {
    pub(super) window: LaneOf<Entry>,
    pub(super) window_len: u32,
    root: Vec<Option<Box<Branch>>>,
    branches: u32,
    pages: u32,
    /// Whether pages stay when nothing is left in them.
    held: bool,
    keys: PhantomData<fn() -> K>,
}

impl<K: Key> Sparse<K> {
    /// An index of no keys, which allocates nothing.
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

    /// The entry of an index.
    #[inline(always)]
    pub(crate) fn entry(&self, index: u32) -> Entry {
        if index < self.window_len {
            // SAFETY: `window_len` entries are initialised.
            unsafe { *self.window.at(index) }
        } else {
            self.entry_in_page(index)
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

    /// The key that is known for an index, if there is one.
    #[inline]
    pub fn occupant(&self, index: u32) -> Option<K> {
        let entry = self.entry(index);
        // SAFETY: the word of an occupied entry is the generation of its key.
        (!entry.is_vacant()).then(|| unsafe { K::from_parts(index, entry.word) })
    }

    /// The place of an index that [`try_prepare`](Sparse::try_prepare) has made.
    ///
    /// # Panics
    ///
    /// If there is no such place: the caller's bookkeeping is wrong.
    #[inline(always)]
    fn place(&mut self, index: u32) -> &mut Entry {
        if index < self.window_len {
            // SAFETY: `window_len` entries are initialised, and `self` is borrowed exclusively.
            unsafe { &mut *self.window.at(index) }
        } else {
            self.place_in_page(index)
        }
    }

    /// By itself: it would be in the way of those who write to the window.
    #[cold]
    #[inline(never)]
    fn place_in_page(&mut self, index: u32) -> &mut Entry {
        let (branch, page, at) = split(index);
        let page = self.root[branch].as_mut().and_then(|b| b.pages[page].as_mut());
        &mut page.expect("a key in use has a page")[at]
    }

    /// The position that is known for an index, whatever the generation of its key: for those who know that it is alive.
    #[inline(always)]
    pub fn position_at(&self, index: u32) -> Option<u32> {
        let entry = self.entry(index);
        (!entry.is_vacant()).then_some(entry.position)
    }

    /// Where the entry of an index would be in the window: an address to be announced to the processor, and never read.
    #[inline(always)]
    pub fn address(&self, index: u32) -> *const u8 {
        self.window.ptr().wrapping_add(index as usize).cast()
    }

    /// Makes a place for `index`, in a set that has `live` keys without it. The place is [linked](Sparse::link) later, or
    /// not: an empty page is no harm.
    #[inline(always)]
    pub(crate) fn try_prepare(&mut self, index: u32, live: u32) -> Result<(), AllocError> {
        if index < self.window_len { Ok(()) } else { self.try_prepare_slow(index, live, u32::MAX) }
    }

    #[cold]
    pub(super) fn try_prepare_slow(&mut self, index: u32, live: u32, most: u32) -> Result<(), AllocError> {
        let len = index + 1;
        if len <= PAGE as u32 || (u64::from(live) + 1) * 4 >= u64::from(len) {
            self.window.try_grow(len)?;
            // All the room is used at once, so that the next keys find their places; as far as it is wanted.
            let len = crate::generation::at_most_countable(self.window.capacity()).min(most.max(len));
            for i in self.window_len..len {
                // SAFETY: there is room for `len` entries.
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
        // Both blocks are had before anything is changed.
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
                        // SAFETY: the window is that long, by the caller's promise.
                        unsafe { self.window.at(i).write(entry) };
                        self.vacate(i);
                    }
                }
            }
            index = next;
        }
    }

    /// Takes an occupied entry out of its page, and the page and the branch with it when nothing is left in them.
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

    /// Gives up a page in which nothing is left, and the branch with it when it was the last.
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

    /// Whether pages stay when nothing is left in them, so that places that were made ready stay while keys go. Without it
    /// empty pages are given up at once.
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

    /// Occupies a vacant entry, whose place was made before.
    #[inline(always)]
    pub(crate) fn link(&mut self, key: K, position: u32) {
        let (index, entry) = (key.index(), Entry { position, word: key.generation() });
        if index < self.window_len {
            // SAFETY: there are so many entries.
            unsafe { self.window.at(index).write(entry) };
        } else {
            self.link_in_page(index, entry);
        }
    }

    #[cold]
    #[inline(never)]
    fn link_in_page(&mut self, index: u32, entry: Entry) {
        *self.place_in_page(index) = entry;
        let (branch, page, _) = split(index);
        if let Some(branch) = &mut self.root[branch] {
            branch.occupied[page] += 1;
        }
    }

    /// Hands an occupied entry over to a key of the same index and another generation.
    pub(crate) fn rename(&mut self, key: K) {
        self.place(key.index()).word = key.generation();
    }

    /// Whether a new index of these `live` keys may be smaller: the window ends in a vacant entry, has spare room, or is larger
    /// than it would have grown for them. Never of an index that was built anew.
    fn is_loose(&self, live: u32) -> bool {
        let last = self.window_len.checked_sub(1).map(|last| self.entry(last));
        self.window.capacity() > self.window_len
            || last.is_some_and(Entry::is_vacant)
            || self.window_len > PAGE as u32 && (u64::from(live) + 1) * 4 < u64::from(self.window_len)
    }

    /// The smallest index of the same content, built anew.
    pub(crate) fn try_compacted(&self) -> Result<Self, AllocError> {
        let mut new = Sparse::new();
        let mut live = 0;
        let mut adopt = |index: u32, entry: Entry| {
            if !entry.is_vacant() {
                // Only as much of the window as the rule asks for.
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
        let last = (0..new.window_len).rev().find(|i| !new.entry(*i).is_vacant());
        new.window_len = last.map_or(0, |i| i + 1);
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

/// What a container has for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// A row, at this position.
    Taken(u32),
    /// None, and all the room that it takes.
    Free,
    /// None, and another key of the same index has one.
    Lost,
    /// Nothing that is at hand: the index is beyond the window, or room has to be made.
    Far,
}

/// What a dense container of keys from elsewhere can do, typed or erased.
impl<K: Key, R: Rows> Dense<Sparse<K>, R> {
    /// Takes the position after the last for a key, and returns it: the caller writes the row there.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    ///
    /// # Safety
    ///
    /// The key's index [has no occupant](Sparse::occupant), and the row is written before anything else happens.
    #[inline(always)]
    pub unsafe fn try_admit(&mut self, key: K) -> Result<u32, AllocError> {
        if self.len == self.marks.capacity() || self.len == self.rows.capacity() {
            self.try_grow_by_one()?;
        }
        self.index.try_prepare(key.index(), self.live())?;
        self.index.link(key, self.len);
        // SAFETY: there is room in rows and marks; the key was made known at this position; the row is the caller's.
        Ok(unsafe { self.push(Mark(key)) })
    }

    #[cold]
    #[inline(never)]
    fn try_grow_by_one(&mut self) -> Result<(), AllocError> {
        self.try_reserve(1)
    }

    /// Makes room for one more row, and a place for the key of this index: [`admit`](Dense::admit) cannot fail then.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed but the room.
    #[inline(always)]
    pub fn try_ready(&mut self, index: u32) -> Result<(), AllocError> {
        if self.len == self.marks.capacity() || self.len == self.rows.capacity() {
            self.try_grow_by_one()?;
        }
        self.index.try_prepare(index, self.live())
    }

    /// Makes a place for the key of this index, which comes after `ahead` others that are still to be admitted. Room for the
    /// rows is [reserved](Dense::try_reserve) by itself.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed but the room.
    pub fn try_prepare(&mut self, index: u32, ahead: u32) -> Result<(), AllocError> {
        self.index.try_prepare(index, self.live().saturating_add(ahead))
    }

    /// Whether pages of the index stay when nothing is left in them: [`Sparse::hold_pages`].
    pub fn hold_pages(&mut self, held: bool) {
        self.index.hold_pages(held);
    }

    /// Gives back all room that is not needed, also in the index. The container has no holes. What cannot be had smaller
    /// stays as it was.
    pub fn shrink_to_fit(&mut self) {
        if let Ok(index) = self.index.try_compacted() {
            self.index = index;
        }
        // SAFETY: this index uses no marks of its own.
        let _ = unsafe { self.try_shrink(self.len) };
    }

    /// Whether [`shrink_to_fit`](Dense::shrink_to_fit) may find room to give back.
    pub fn is_loose(&self) -> bool {
        let room = self.marks.capacity() > self.len || self.rows.capacity() > self.len && self.rows.bytes() > 0;
        room || self.index.is_loose(self.live())
    }

    /// The same keys at the same positions, holes among them, over other rows.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; the rows are dropped, as they are.
    ///
    /// # Safety
    ///
    /// The rows have room for all positions, and are initialised at all that are no holes.
    pub unsafe fn try_clone_over(&self, rows: R) -> Result<Self, AllocError> {
        let mut marks = LaneOf::new();
        marks.try_grow(self.len)?;
        // SAFETY: so many marks are initialised here, and there is room for them there.
        unsafe { core::ptr::copy_nonoverlapping(self.marks.ptr(), marks.ptr(), self.len as usize) };
        let index = self.index.try_compacted()?;
        Ok(Dense { index, marks, rows, len: self.len, holes: self.holes, gap: self.gap.clone(), low: self.low })
    }

    /// What there is for a key.
    #[inline(always)]
    pub fn seat(&self, key: K) -> Seat {
        if key.index() >= self.index.window_len {
            return Seat::Far;
        }
        // SAFETY: `window_len` entries are initialised.
        let entry = unsafe { *self.index.window.at(key.index()) };
        if entry.word == key.generation() {
            Seat::Taken(entry.position)
        } else if !entry.is_vacant() {
            Seat::Lost
        } else if self.len < self.marks.capacity() && self.len < self.rows.capacity() {
            Seat::Free
        } else {
            Seat::Far
        }
    }

    /// As [`admit`](Dense::admit), of a key whose seat is free.
    ///
    /// # Safety
    ///
    /// The [seat](Dense::seat) of the key is free, and the row is written, now or before anything else happens.
    #[inline(always)]
    pub unsafe fn sit(&mut self, key: K) {
        // SAFETY: a free seat has an entry in the window, and there is room for a mark.
        unsafe {
            self.index.window.at(key.index()).write(Entry { position: self.len, word: key.generation() });
            self.push(Mark(key));
        }
    }

    /// Ends a key, whose row is moved out already, and closes its place with the last row, which `shift` copies:
    /// from the first position to the second.
    ///
    /// # Safety
    ///
    /// The [seat](Dense::seat) of the key is taken, at this position; its row counts as moved out, and there are no holes.
    #[inline(always)]
    pub unsafe fn stand_up(&mut self, key: K, position: u32, shift: impl FnOnce(&mut R, u32, u32)) {
        debug_assert_eq!(self.holes, 0);
        let last = self.len - 1;
        // SAFETY: a seat that is taken has an entry in the window; both positions are in use and, there being no holes,
        // their marks alive.
        unsafe {
            self.index.window.at(key.index()).write(VACANT);
            if position != last {
                let moved = *self.marks.at(last);
                shift(&mut self.rows, last, position);
                self.set_mark(position, moved);
                self.index.relocate(moved, position);
            }
        }
        self.len = last;
    }

    /// Takes the position after the last for a key, and returns it. The row there is in use from now on.
    ///
    /// # Safety
    ///
    /// The key's index [has no occupant](Sparse::occupant); since it was [made ready](Dense::try_ready) no key was
    /// released, or [pages are held](Sparse::hold_pages); there is room for a row, and it is written, now or before anything else happens.
    #[inline(always)]
    pub unsafe fn admit(&mut self, key: K) -> u32 {
        self.index.link(key, self.len);
        // SAFETY: there is room in rows and marks; the key was made known at this position; the row is the caller's.
        unsafe { self.push(Mark(key)) }
    }

    /// The keys in use, by position: a slice of them, unless there are holes.
    #[inline(always)]
    pub fn keys(&self) -> Option<&[K]> {
        // SAFETY: a mark that is no hole is its key, and the two have the same representation.
        (self.holes == 0).then(|| unsafe { core::mem::transmute::<&[Mark<K>], &[K]>(self.marks()) })
    }

    /// The key at a position in use; `None` for a hole.
    #[inline(always)]
    pub fn key_at(&self, position: u32) -> Option<K> {
        let mark = *self.marks().get(position as usize)?;
        (!<Sparse<K> as DenseIndex>::is_hole(mark)).then_some(mark.0)
    }

    /// Retires the row at `position` to the tail and moves the rows after it down by one, so that their order stays. The
    /// row lies at the position after the last then, owned by nobody until the next row is pushed. Returns that position.
    ///
    /// # Safety
    ///
    /// The position is in use, and there are no holes.
    pub unsafe fn retire_shift(&mut self, position: u32) -> u32 {
        debug_assert_eq!(self.holes, 0);
        let last = self.len - 1;
        // SAFETY: both positions are in use and, there being no holes, alive.
        unsafe {
            self.index.release(*self.marks.at(position));
            self.marks.touch();
            self.rows.rotate(position, self.len);
            core::ptr::copy(self.marks.at(position + 1), self.marks.at(position), (last - position) as usize);
            self.len = last;
            for at in position..last {
                self.index.relocate(*self.marks.at(at), at);
            }
        }
        last
    }

    /// Hands the row at a position over to another key of the same index, and ends the key that had it.
    ///
    /// # Safety
    ///
    /// The position is in use and no hole, and its key has the index of this one.
    #[inline(always)]
    pub unsafe fn take_over(&mut self, position: u32, key: K) {
        self.index.rename(key);
        // SAFETY: the position is in use, so within the marks.
        unsafe { self.set_mark(position, Mark(key)) };
    }

    /// The same keys at the same positions, holes among them, as a container had whose marks these bytes are, over other
    /// rows.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; the rows are dropped, as they are.
    ///
    /// # Safety
    ///
    /// There are the bytes of `len` marks, of such a container. The rows get room for all positions, and are initialised at all that are no holes, before anything else happens.
    pub unsafe fn try_rebuild(rows: R, marks: *const u8, len: u32) -> Result<Self, AllocError> {
        let mut dense = Dense::new(Sparse::new(), rows);
        dense.marks.try_grow(len)?;
        // SAFETY: so many marks are there, and there is room for them here.
        unsafe { core::ptr::copy_nonoverlapping(marks, dense.marks.ptr().cast::<u8>(), len as usize * size_of::<K>()) };
        for at in 0..len {
            // SAFETY: so many marks were written just now.
            let mark = unsafe { *dense.marks.at(at) };
            if <Sparse<K> as DenseIndex>::is_hole(mark) {
                dense.holes += 1;
                continue;
            }
            dense.index.try_prepare(mark.0.index(), at - dense.holes)?;
            dense.index.link(mark.0, at);
        }
        dense.len = len;
        Ok(dense)
    }
}

/// Returns a box whose content `init` writes in its place, so that no large value crosses the stack.
///
/// # Safety
///
/// `init` initialises all of the value that it is given the address of.
unsafe fn try_boxed<T>(init: impl FnOnce(*mut T)) -> Result<Box<T>, AllocError> {
    const { assert!(size_of::<T>() > 0) };
    let layout = Layout::new::<T>();
    // SAFETY: the size is not zero.
    let block = unsafe { alloc::alloc::alloc(layout) }.cast::<T>();
    if block.is_null() {
        return Err(AllocError::of(layout));
    }
    init(block);
    // SAFETY: allocated by the global allocator with the layout of `T`, and initialised, by the caller's promise.
    Ok(unsafe { Box::from_raw(block) })
}

// SAFETY: a position is returned only for a key whose generation equals the word of its index's entry, so for an entry
// that is occupied; there it is what `link` or `relocate` stored last.
unsafe impl<K: Key> DenseIndex for Sparse<K> {
    type Key = K;
    type Mark = Mark<K>;
    const MAX: u32 = MAX_SLOTS;

    #[inline(always)]
    fn position(&self, key: K) -> Option<u32> {
        let entry = self.entry(key.index());
        (entry.word == key.generation()).then_some(entry.position)
    }

    #[inline(always)]
    fn mark(key: K) -> Mark<K> {
        Mark(key)
    }

    #[inline(always)]
    unsafe fn key(&self, mark: Mark<K>) -> K {
        mark.0
    }

    #[inline(always)]
    unsafe fn relocate(&mut self, Mark(key): Mark<K>, position: u32) {
        self.place(key.index()).position = position;
    }

    #[inline(always)]
    unsafe fn release(&mut self, Mark(key): Mark<K>) -> bool {
        if key.index() < self.window_len {
            *self.place(key.index()) = VACANT;
        } else {
            self.vacate(key.index());
        }
        false
    }

    #[inline(always)]
    unsafe fn settle(&mut self, _: &mut LaneOf<Mark<K>>, _: u32) {}

    fn bytes(&self) -> usize {
        self.window.bytes()
            + self.root.capacity() * size_of::<Option<Box<Branch>>>()
            + self.branches as usize * size_of::<Branch>()
            + self.pages as usize * size_of::<Page>()
    }

    /// Checks the counts, and that nothing is in a page that belongs in the window.
    unsafe fn validate(&self, _: &LaneOf<Mark<K>>, _: u32, live: u32) -> Result<(), &'static str> {
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
    fn hole(Mark(key): Mark<K>) -> Mark<K> {
        // SAFETY: nobody but an index can take a key out of a mark, and it never does of a hole.
        Mark(unsafe { K::from_parts(key.index(), key.generation() | DEAD) })
    }

    #[inline(always)]
    fn is_hole(Mark(key): Mark<K>) -> bool {
        key.generation() & DEAD != 0
    }

    #[inline(always)]
    fn filled(Mark(key): Mark<K>) -> Mark<K> {
        // SAFETY: the key that the hole was made of.
        Mark(unsafe { K::from_parts(key.index(), key.generation() & !DEAD) })
    }
}

impl<K> fmt::Debug for Sparse<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sparse(window of {}, {} pages)", self.window_len, self.pages)
    }
}
