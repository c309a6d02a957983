//! Iteration over the rows of a driver, each of which is tested.
#![allow(unsafe_code)]

use super::driver::{Driver, group_of};
use super::driver_rows::{DriverRows, NO_TABLE, Rows, key_of, linear_stores};
use super::span::Span;
use super::table_ref::tables_between;
use super::{AlignedStores, CandidateBlock, Filtered, ItemRow, QueryData, QueryFilter, VisitedRow};
use crate::component::ComponentId;
use crate::sparse::Store;
use crate::world::{Location, World};
use core::ops::Range;
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::prefetch;

/// Rows that were tested in a block: the bit `n` is for row `first + n`. They are rows of the front, which has slots.
#[derive(Clone, Copy)]
struct TestedRows {
    first: usize,
    bits: u64,
    keys: NonNull<Entity>,
    table: u32,
}

impl TestedRows {
    const NONE: TestedRows = TestedRows { first: 0, bits: 0, keys: NonNull::dangling(), table: NO_TABLE };

    /// Takes the first row.
    #[inline(always)]
    fn pop(&mut self) -> Option<usize> {
        let bit = self.bits.trailing_zeros();
        (self.bits != 0).then(|| {
            self.bits &= self.bits - 1;
            self.first + bit as usize
        })
    }

    /// Takes the last row.
    fn pop_back(&mut self) -> Option<usize> {
        let last = self.bits.checked_ilog2()?;
        self.bits ^= 1 << last;
        Some(self.first + last as usize)
    }
}

/// An iterator over the rows of a driver. Each row is tested for what the query asks for.
///
/// Its methods take a state that tells which rows are items. What the items touch is in the view.
pub(super) struct SparseIter<'w, 's, Q: QueryData> {
    world: &'w World,
    /// If the rows of the front, or those that were tested, are rows of a table, it is settled for that table.
    view: Q::View,
    source: DriverRows<'w, 's>,
    /// The rows that were taken from the front and the back of the source. They are in use, and the view is that of their
    /// world.
    front: Rows<'w>,
    back: Rows<'w>,
    /// Rows of the front that were tested in a block. Those of `front` come after them.
    tested: TestedRows,
    /// The component whose store is the driver, if one is.
    driver_id: Option<ComponentId>,
    /// The linear stores, resolved, if they hold all that is asked for. Then rows are not tested.
    aligned: Option<Q::Fetch>,
    /// Whether prefetching pays, if it is known.
    far: Option<bool>,
    /// An upper bound of the rows to come.
    max_len: usize,
}

impl<'w, 's, Q: QueryData> SparseIter<'w, 's, Q> {
    /// Starts at the first row of a driver. `tables` are the matching tables, if they are known.
    ///
    /// # Safety
    ///
    /// - The state is the world's. Tables and driver are what was found for it in the world as it is.
    /// - The world is borrowed for `'w` as the query needs it, the query does not alias, and no other item of the query that
    ///   lives in `'w` conflicts.
    pub(super) unsafe fn new(
        world: &'w World,
        state: &Q::State,
        (driver, len): (Driver, u64),
        tables: Option<&'s [u32]>,
    ) -> Self {
        let sparse = &world.storage.sparse;
        let mut aligned = None;
        let (source, driver_id) = match driver {
            Driver::Empty => (DriverRows::Nothing, None),
            Driver::Tables => (DriverRows::Tables { list: tables, found: [None; 2] }, None),
            Driver::SparseStorage(number) => {
                let source = match &sparse.get(number).store {
                    Store::Pool(pool) => {
                        let skips_rows = pool.extra_rows > 0 && !Q::visits_extra_rows(state);
                        match pool.dense.keys() {
                            Some(keys) if !skips_rows => DriverRows::Keys { keys, next: 0, table: NO_TABLE },
                            _ => DriverRows::Holed { pool, next: 0, end: pool.dense.positions(), skips_rows },
                        }
                    }
                    Store::Linear(linear) => {
                        let (stores, owned) = linear_stores::<Q>(world, state, number, linear);
                        // An extra row that is visited is in all of them.
                        let extra = stores.iter().flatten().all(|store| store.extra_rows > 0);
                        let skips_rows = extra && !Q::visits_extra_rows(state);
                        let (owned, keys) = (&owned[..stores.iter().flatten().count()], None);
                        // Rows of linear stores are at their slots.
                        let all =
                            AlignedStores { world, owned, has: owned, lacks: &[], keys, extra: extra && !skips_rows };
                        // SAFETY: the state is the world's, by the caller's contract.
                        aligned = unsafe { Q::fetch_aligned(state, &all) };
                        let end = stores.iter().flatten().map(|store| store.words().len()).min().unwrap_or(0);
                        DriverRows::Linear { stores, next: 0, end, skips_rows }
                    }
                };
                (source, Some(sparse.get(number).id))
            }
            Driver::Group(number) => {
                let group = group_of(world, number);
                // A member is at its position in each pool that is owned; the first one stands for them.
                let driver_id = group.desc.owned.first().map(|number| sparse.get(*number).id);
                (DriverRows::Keys { keys: sparse.members(group), next: 0, table: NO_TABLE }, driver_id)
            }
        };
        // SAFETY: the state is the world's, by the caller's contract, and it is borrowed while this value exists.
        let view = unsafe { Q::view(state, world, driver_id) };
        let (front, back) = (Rows::EMPTY, Rows::EMPTY);
        let tested = TestedRows::NONE;
        SparseIter { world, view, source, front, back, tested, driver_id, aligned, far: None, max_len: len as usize }
    }

    /// Takes rows from the source, from the front or the back. Returns `false` if it has none.
    #[inline(always)]
    fn refill<const BACK: bool>(&mut self, state: &Q::State) -> bool {
        let mut source = self.source;
        let taken = source.take_rows::<Q, BACK>(self.world, state);
        self.source = source;
        let (to, other) = match BACK {
            false => (&mut self.front, &mut self.back),
            true => (&mut self.back, &mut self.front),
        };
        *to = match taken {
            Some(rows) => rows,
            // What the other end has taken and not visited.
            None => core::mem::replace(other, Rows::EMPTY),
        };
        if Q::NEEDS_LOCATION && !BACK && to.table != NO_TABLE {
            self.view = Q::settle(self.view, self.front.table);
        }
        match BACK {
            false => !self.front.span.is_empty(),
            true => !self.back.span.is_empty(),
        }
    }

    /// Tests the next rows of the front, if they are tested in blocks. Returns `false` if they are not, or there are none.
    #[inline(always)]
    fn test_block(&mut self, state: &Q::State) -> bool {
        let Some(keys) = self.front.keys.filter(|_| Q::TESTS_BLOCKS) else { return false };
        let rows = self.front.span.pop_first(CandidateBlock::LEN);
        let (table, world, driver_id) = (self.front.table, self.world, self.driver_id);
        let is_empty = rows.is_empty();
        let first = rows.start;
        // SAFETY: the rows were taken from the front, so that they are those of these slots, in a table or the driver.
        let bits = if is_empty { 0 } else { unsafe { block_bits::<Q>(world, state, keys, rows, table, driver_id) } };
        self.tested = TestedRows { first, bits, keys, table };
        !is_empty
    }

    /// Returns the item of a row that was taken from the rows that were tested, if it is one.
    ///
    /// # Safety
    ///
    /// The row was taken from `tested`, and was not visited.
    #[inline(always)]
    unsafe fn tested_item(&self, state: &Q::State, row: usize) -> Option<Q::Item<'w>> {
        let TestedRows { keys, table, .. } = self.tested;
        // SAFETY: the row is in use. No item conflicts, by the contract of `new`, and each row is visited once, by the caller's
        // contract.
        unsafe {
            Q::at_tested(state, self.view, Self::visited_key::<true>(self.world, key_of(keys, row), table, row).item())
        }
    }

    /// Returns a row that was taken from the front or the back.
    ///
    /// # Safety
    ///
    /// The row was one of `rows`, which are those of the front or the back. With `SETTLED`, it is passed only with a view that is
    /// settled for their table.
    #[inline(always)]
    unsafe fn visited<const SETTLED: bool>(world: &World, rows: &Rows<'w>, row: usize) -> VisitedRow {
        // SAFETY: the row was one of these, by the caller's contract. So its slot is in use, with this position in its store.
        unsafe {
            match rows.keys {
                Some(keys) => Self::visited_key::<SETTLED>(world, key_of(keys, row), rows.table, row),
                None => VisitedRow::locate::<Q>(world, row as u32, None, row as u32),
            }
        }
    }

    /// Returns the row of a slot, given its position in the driver.
    ///
    /// # Safety
    ///
    /// The slot is in use. It is at this position of its store, or with a table, at this row of the table. With `SETTLED`, the
    /// row of a table is passed only with a view that is settled for the table.
    #[inline(always)]
    unsafe fn visited_key<const SETTLED: bool>(world: &World, key: Entity, table: u32, row: usize) -> VisitedRow {
        // SAFETY: the slot is in use, at this position or location, and the view is settled if it must be, by the caller's
        // contract.
        unsafe {
            if Q::NEEDS_LOCATION && table != NO_TABLE {
                let visited = VisitedRow::new(key.index(), Some(key), 0, Location { table, row: row as u32 });
                return if SETTLED { visited.settled() } else { visited };
            }
            VisitedRow::locate::<Q>(world, key.index(), Some(key), row as u32)
        }
    }

    /// Returns the item of a row that was taken from the front or the back, if it is one.
    ///
    /// # Safety
    ///
    /// The row was taken from the span of `rows`, which is that of the front or the back, and was not visited. `FRONT` says which.
    #[inline(always)]
    unsafe fn item<const FRONT: bool>(&self, state: &Q::State, rows: &Rows<'w>, row: usize) -> Option<Q::Item<'w>> {
        // SAFETY: the row was taken from the span, so it is in use. No item conflicts, by the contract of `new`, and each row is
        // visited once, by the caller's contract.
        unsafe {
            match self.aligned {
                Some(fetch) => Some(Q::row(fetch, ItemRow::new(row))),
                None => Q::at(state, self.view, Self::visited::<FRONT>(self.world, rows, row).item()),
            }
        }
    }

    /// Returns the next item.
    #[inline(always)]
    pub(super) fn next(&mut self, state: &Q::State) -> Option<Q::Item<'w>> {
        loop {
            if Q::TESTS_BLOCKS && self.aligned.is_none() {
                while let Some(row) = self.tested.pop() {
                    // SAFETY: the row was just taken from the tested ones.
                    if let Some(item) = unsafe { self.tested_item(state, row) } {
                        return Some(item);
                    }
                }
                if self.test_block(state) {
                    continue;
                }
            }
            if let Some(row) = self.front.span.pop() {
                // SAFETY: the row was just taken from the span of the front.
                if let Some(item) = unsafe { self.item::<true>(state, &self.front, row) } {
                    return Some(item);
                }
            } else if !self.refill::<false>(state) {
                return None;
            }
        }
    }

    /// Returns the last item.
    pub(super) fn next_back(&mut self, state: &Q::State) -> Option<Q::Item<'w>> {
        loop {
            if let Some(row) = self.back.span.pop_back() {
                // SAFETY: the row was just taken from the span of the back.
                if let Some(item) = unsafe { self.item::<false>(state, &self.back, row) } {
                    return Some(item);
                }
            } else if !self.refill::<true>(state) {
                // What the front has tested and not visited.
                let row = self.tested.pop_back()?;
                // SAFETY: the row was just taken from the tested ones.
                if let Some(item) = unsafe { self.tested_item(state, row) } {
                    return Some(item);
                }
            }
        }
    }

    /// Calls `f` with the items to come.
    #[inline]
    pub(super) fn fold<B>(mut self, state: &Q::State, init: B, mut f: impl FnMut(B, Q::Item<'w>) -> B) -> B {
        self.prepare_parts();
        let mut acc = init;
        while let Some(row) = self.tested.pop() {
            // SAFETY: the row was just taken from the tested ones.
            if let Some(item) = unsafe { self.tested_item(state, row) } {
                acc = f(acc, item);
            }
        }
        loop {
            let rows = core::mem::replace(&mut self.front, Rows::EMPTY);
            acc = match (self.aligned, rows.keys) {
                (Some(fetch), _) => fold_aligned::<Q, B>(fetch, rows, acc, &mut f),
                (None, None) => self.fold_indices(state, rows, acc, &mut f),
                (None, Some(keys)) if Q::NEEDS_LOCATION && rows.table != NO_TABLE => {
                    self.fold_keys::<B, true>(state, rows, keys, acc, &mut f)
                }
                (None, Some(keys)) => self.fold_keys::<B, false>(state, rows, keys, acc, &mut f),
            };
            if !self.refill::<false>(state) {
                return acc;
            }
        }
    }

    /// Calls `f` with the items of rows that were taken and have slots. `TABLE` says that they are rows of a table.
    // Out of line, so that the loop has all registers: the rest of the query is not needed in it.
    #[inline(never)]
    fn fold_keys<B, const TABLE: bool>(
        &self,
        state: &Q::State,
        mut rows: Rows<'w>,
        keys: NonNull<Entity>,
        init: B,
        f: &mut impl FnMut(B, Q::Item<'w>) -> B,
    ) -> B {
        let (world, mut view, driver_id) = (self.world, self.view, self.driver_id);
        let table = if TABLE { rows.table } else { NO_TABLE };
        if TABLE {
            view = Q::settle(view, table);
        }
        let far = Q::NEEDS_LOCATION && !TABLE && self.far.unwrap_or(false);
        let mut acc = init;
        // The rows of slots are consecutive.
        let Some(Range { start, end }) = rows.span.pop_rows() else { return acc };
        if Q::TESTS_BLOCKS && !far {
            for first in (start..end).step_by(CandidateBlock::LEN) {
                let block = first..end.min(first + CandidateBlock::LEN);
                // SAFETY: the rows were taken, and are those of these slots.
                let mut bits = unsafe { block_bits::<Q>(world, state, keys, block, rows.table, driver_id) };
                while bits != 0 {
                    let row = first + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    // SAFETY: the row was taken. No item conflicts, by the contract of `new`, and each row is visited once.
                    let row = unsafe { Self::visited_key::<true>(world, key_of(keys, row), table, row).item() };
                    if let Some(item) = Q::at_tested(state, view, row) {
                        acc = f(acc, item);
                    }
                }
            }
            return acc;
        }
        for row in start..end {
            // SAFETY: all rows before the end were taken. No item conflicts, by the contract of `new`, and each row is visited
            // once.
            let row = unsafe {
                if far {
                    if row + 32 < end {
                        let slot = key_of(keys, row + 32).index();
                        prefetch(world.storage.entities.payloads().slot_address(slot));
                    }
                    if row + 16 < end {
                        Q::prefetch(view, Self::visited_key::<false>(world, key_of(keys, row + 16), table, row + 16));
                    }
                }
                Self::visited_key::<true>(world, key_of(keys, row), table, row).item()
            };
            if let Some(item) = Q::at(state, view, row) {
                acc = f(acc, item);
            }
        }
        acc
    }

    /// Calls `f` with the items of rows that were taken and are indices of slots.
    #[inline(never)]
    fn fold_indices<B>(
        &self,
        state: &Q::State,
        mut rows: Rows<'w>,
        init: B,
        f: &mut impl FnMut(B, Q::Item<'w>) -> B,
    ) -> B {
        let (world, view) = (self.world, self.view);
        let mut acc = init;
        while let Some(row) = rows.span.pop() {
            // SAFETY: the row was taken, and is the index of its slot. No item conflicts, by the contract of `new`, and each row
            // is visited once.
            let row = unsafe { VisitedRow::locate::<Q>(world, row as u32, None, row as u32).item() };
            if let Some(item) = Q::at(state, view, row) {
                acc = f(acc, item);
            }
        }
        acc
    }

    /// Returns the rows to come that match. Makes no item.
    pub(super) fn matching_rows(&mut self, state: &Q::State) -> impl Iterator<Item = VisitedRow> {
        core::iter::from_fn(move || {
            loop {
                let Some(row) = self.front.span.pop() else {
                    if !self.refill::<false>(state) {
                        return None;
                    }
                    continue;
                };
                // SAFETY: the row was just taken from the span of the front.
                let row = unsafe { Self::visited::<false>(self.world, &self.front, row) };
                if Q::matches_row(state, self.view, row) {
                    return Some(row);
                }
            }
        })
    }

    /// Returns an upper bound of the items to come.
    pub(super) fn max_len(&self) -> usize {
        self.max_len
    }

    /// Returns the matching tables that have rows, if tables are the driver. The iterator must not have been advanced.
    pub(super) fn tables(&self, state: &Q::State) -> Option<Vec<u32>> {
        let DriverRows::Tables { list, .. } = &self.source else { return None };
        let has_rows = |table: &u32| self.table_len(*table) > 0;
        Some(match list {
            Some(list) => list.iter().copied().filter(has_rows).collect(),
            None => tables_between::<Q>(self.world, state, [None; 2]).collect(),
        })
    }

    /// Returns the number of rows of a table.
    pub(super) fn table_len(&self, table: u32) -> usize {
        self.world.storage.tables[table as usize].len as usize
    }

    /// Returns the number of positions of the driver, and of which number the bounds of its parts must be multiples.
    ///
    /// If tables are the driver, there are none.
    pub(super) fn positions(&self) -> (usize, usize) {
        match &self.source {
            DriverRows::Keys { keys, .. } => (keys.len(), 1),
            DriverRows::Holed { end, .. } => (*end as usize, 1),
            DriverRows::Linear { end, .. } => (end * 64, 64),
            DriverRows::Tables { .. } | DriverRows::Nothing => (0, 1),
        }
    }

    /// Decides whether prefetching pays, if that is not known: for all parts, since a part is too short to know.
    #[inline(always)]
    pub(super) fn prepare_parts(&mut self) {
        if Q::NEEDS_LOCATION
            && self.far.is_none()
            && let DriverRows::Keys { keys, next, table: NO_TABLE } = &self.source
        {
            self.far = Some(is_far(&keys[*next..], self.world));
        }
    }

    /// Splits off the next `size` positions at most, of one table if tables are the driver. In a linear store, `size` is
    /// rounded up to a multiple of 64.
    pub(super) fn split(&mut self, state: &Q::State, size: usize) -> Option<Self> {
        if let DriverRows::Tables { .. } | DriverRows::Nothing = self.source
            && self.front.span.is_empty()
        {
            self.refill::<false>(state);
        }
        let mut front = Rows::EMPTY;
        let (source, max_len) = if !self.front.span.is_empty() {
            let rows = self.front.span.pop_first(size);
            front = self.front;
            front.span = Span::of_rows(rows.clone());
            (DriverRows::Nothing, rows.len())
        } else {
            match &mut self.source {
                DriverRows::Keys { keys, next, table } => {
                    let (first, end) = (*next, keys.len().min(next.saturating_add(size)));
                    *next = end;
                    (DriverRows::Keys { keys: &keys[..end], next: first, table: *table }, end - first)
                }
                DriverRows::Holed { pool, next, end, skips_rows } => {
                    let size = u32::try_from(size).unwrap_or(u32::MAX);
                    let (first, last) = (*next, (*end).min(next.saturating_add(size)));
                    *next = last;
                    let rows = DriverRows::Holed { pool, next: first, end: last, skips_rows: *skips_rows };
                    (rows, (last - first) as usize)
                }
                DriverRows::Linear { stores, next, end, skips_rows } => {
                    let (first, last) = (*next, (*end).min(next.saturating_add(size.div_ceil(64))));
                    *next = last;
                    let (stores, skips_rows) = (*stores, *skips_rows);
                    (DriverRows::Linear { stores, next: first, end: last, skips_rows }, (last - first) * 64)
                }
                DriverRows::Tables { .. } | DriverRows::Nothing => return None,
            }
        };
        let max_len = max_len.min(self.max_len);
        let (back, tested) = (Rows::EMPTY, TestedRows::NONE);
        (max_len > 0).then_some(SparseIter { source, front, back, tested, max_len, ..*self })
    }

    /// Returns an iterator over some [positions](SparseIter::positions), of an iterator that has not been advanced.
    ///
    /// # Safety
    ///
    /// No other item of these positions that lives in `'w` conflicts.
    pub(super) unsafe fn part(&self, positions: Range<usize>) -> Self {
        let source = match self.source {
            DriverRows::Keys { keys, table, .. } => {
                DriverRows::Keys { keys: &keys[..positions.end], next: positions.start, table }
            }
            DriverRows::Holed { pool, end, skips_rows, .. } => {
                let (first, last) = (positions.start as u32, end.min(positions.end as u32));
                DriverRows::Holed { pool, next: first, end: last, skips_rows }
            }
            DriverRows::Linear { stores, end, skips_rows, .. } => {
                let (first, last) = (positions.start / 64, end.min(positions.end.div_ceil(64)));
                DriverRows::Linear { stores, next: first, end: last, skips_rows }
            }
            DriverRows::Tables { .. } | DriverRows::Nothing => DriverRows::Nothing,
        };
        SparseIter { source, max_len: positions.len(), ..*self }
    }

    /// Returns an iterator over some rows of a matching table, if tables are the driver.
    ///
    /// # Safety
    ///
    /// No other item of these rows that lives in `'w` conflicts.
    pub(super) unsafe fn part_of_table(&self, table: u32, rows: Range<usize>) -> Self {
        let source = match &self.source {
            DriverRows::Tables { .. } => {
                let keys = &self.world.storage.tables[table as usize].slots()[..rows.end];
                DriverRows::Keys { keys, next: rows.start, table }
            }
            _ => DriverRows::Nothing,
        };
        SparseIter { source, max_len: rows.len(), ..*self }
    }
}

impl<D: QueryData, F: QueryFilter> SparseIter<'_, '_, Filtered<D, F>> {
    /// Collects the rows to come that match. Items of them are made without asking the filter again.
    pub(super) fn collect(mut self, state: &(D::State, F::State)) -> SparseRows<D> {
        let rows = self.matching_rows(state).collect();
        SparseRows { state: state.0.clone(), view: self.view.0, rows }
    }
}

/// The rows of a driver that match, of which items are made later.
pub(super) struct SparseRows<D: QueryData> {
    state: D::State,
    view: D::View,
    pub(super) rows: Vec<VisitedRow>,
}

// SAFETY: the state is `Send` and `Sync`. The rest are pointers into a world, of which items are made; by the contract of
// `QueryData` that can be done on any thread.
unsafe impl<D: QueryData> Sync for SparseRows<D> {}

impl<D: QueryData> SparseRows<D> {
    /// Returns the item of a row. It may be none: a filter in the data may answer differently when it is asked again.
    ///
    /// # Safety
    ///
    /// The world is borrowed for `'w` as the query needs it, and no other item of the row that lives in `'w` conflicts.
    #[inline(always)]
    pub(super) unsafe fn item<'w>(&self, row: VisitedRow) -> Option<D::Item<'w>> {
        // SAFETY: the caller's contract is that of `VisitedRow::item`.
        D::at(&self.state, self.view, unsafe { row.item() })
    }
}

/// Returns which rows may match: a bit for each.
///
/// # Safety
///
/// The rows were taken from rows of a driver, with these slots and this table. They are at least one, and 64 at most.
#[inline(always)]
unsafe fn block_bits<Q: QueryData>(
    world: &World,
    state: &Q::State,
    keys: NonNull<Entity>,
    rows: Range<usize>,
    table: u32,
    driver_id: Option<ComponentId>,
) -> u64 {
    // SAFETY: the slots of all rows are there, in use and consecutive, by the caller's contract.
    let block = unsafe {
        let slots = core::slice::from_raw_parts(keys.as_ptr().wrapping_add(rows.start), rows.len());
        CandidateBlock::new(world, slots, rows.start, table, driver_id)
    };
    Q::matches_block(state, &block) & u64::MAX >> (CandidateBlock::LEN - rows.len())
}

/// Calls `f` with the items of rows of linear stores that hold all that is asked for.
#[inline(always)]
fn fold_aligned<'w, Q: QueryData, B>(
    fetch: Q::Fetch,
    mut rows: Rows<'w>,
    init: B,
    f: &mut impl FnMut(B, Q::Item<'w>) -> B,
) -> B {
    let mut acc = init;
    while let Some(taken) = rows.span.pop_rows() {
        for row in taken {
            // SAFETY: the row was taken, so all stores have it. No item conflicts, by the contract of `SparseIter::new`, and each
            // row is visited once.
            acc = f(acc, Q::row(fetch, unsafe { ItemRow::new(row) }));
        }
    }
    acc
}

/// Returns `true` if visiting these slots jumps through so much memory that prefetching pays.
///
/// That is so in a world that does not fit into the nearer caches, if the slots are few of all or in no order.
fn is_far(keys: &[Entity], world: &World) -> bool {
    let slots = world.storage.entities.slot_count();
    let steps = keys.windows(2).take(16);
    let jumps = steps.clone().filter(|pair| pair[0].index().abs_diff(pair[1].index()) > 16).count();
    slots > 1 << 15 && (keys.len() < slots / 4 || jumps * 2 > steps.len())
}
