//! Iteration over the rows of a driver, each of which is tested.
#![allow(unsafe_code)]

use super::driver::{Driver, group_of};
use super::table_ref::{next_table, tables_after};
use super::{AlignedStores, Filtered, ItemRef, ItemRow, QueryData, QueryFilter, VisitedRow};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::prefetch::prefetch;
use crate::sparse::{LinearStorage, SparseSet, Store};
use crate::world::{Location, World};
use core::ops::Range;
use phalanx_store::Entity;

/// The number of linear stores whose bits are combined.
const MOST: usize = 8;

/// The rows of a driver that are to come.
enum Source<'w, 's, F> {
    Tables {
        /// The matching tables to come. Without a list they are found on the way.
        list: Option<core::slice::Iter<'s, u32>>,
        /// The table that is visited.
        table: Option<u32>,
        slots: &'w [Entity],
        row: usize,
    },
    /// The slots of a pool without holes, or the members of a group.
    Keys {
        keys: &'w [Entity],
        next: usize,
        /// Whether prefetching pays, if it is known.
        far: Option<bool>,
    },
    /// A pool of which some positions are skipped: holes, and extra rows that the query does not visit.
    Holed {
        pool: &'w SparseSet,
        next: u32,
        /// The end of the positions to visit.
        end: u32,
        skips_rows: bool,
    },
    Linear {
        /// Required stores, the driver among them.
        stores: [Option<&'w LinearStorage>; MOST],
        /// The next word.
        next: usize,
        /// The end of the words to visit. All stores have the words before it.
        end: usize,
        /// The bits of the word before it that are to come.
        bits: u64,
        /// Whether extra rows are skipped.
        skips_rows: bool,
        /// The stores, resolved, if they hold all that is asked for.
        fetch: Option<F>,
    },
    Nothing,
}

/// An iterator over the rows of a driver. Each row is tested for what the query asks for.
///
/// Its methods take a state that tells which rows are items. What the items touch is in the view.
pub(super) struct SparseIter<'w, 's, Q: QueryData> {
    world: &'w World,
    view: Q::View,
    source: Source<'w, 's, Q::Fetch>,
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
        let (source, driver_id) = match driver {
            Driver::Empty => (Source::Nothing, None),
            Driver::Tables => {
                let list = tables.map(<[u32]>::iter);
                (Source::Tables { list, table: None, slots: &[], row: 0 }, None)
            }
            Driver::SparseStorage(number) => {
                let source = match &sparse.get(number).store {
                    Store::Pool(pool) => {
                        let skips_rows = pool.extra_rows > 0 && !Q::visits_extra_rows(state);
                        match pool.dense.keys() {
                            Some(keys) if !skips_rows => Source::Keys { keys, next: 0, far: None },
                            _ => Source::Holed { pool, next: 0, end: pool.dense.positions(), skips_rows },
                        }
                    }
                    Store::Linear(linear) => {
                        let (stores, owned) = linear_stores::<Q>(world, state, number, linear);
                        // An extra row that is visited is in all of them.
                        let extra = stores.iter().flatten().all(|store| store.extra_rows > 0);
                        let skips_rows = extra && !Q::visits_extra_rows(state);
                        let (owned, keys) = (&owned[..stores.iter().flatten().count()], None);
                        // Rows of linear stores are at their slots.
                        let aligned = AlignedStores { world, owned, has: owned, lacks: &[], keys, extra };
                        // SAFETY: the state is the world's, by the caller's contract.
                        let fetch = unsafe { Q::fetch_aligned(state, &aligned) }.filter(|_| !skips_rows);
                        let end = stores.iter().flatten().map(|store| store.words().len()).min().unwrap_or(0);
                        Source::Linear { stores, next: 0, end, bits: 0, skips_rows, fetch }
                    }
                };
                (source, Some(sparse.get(number).id))
            }
            Driver::Group(number) => {
                let group = group_of(world, number);
                // A member is at its position in each pool that is owned; the first one stands for them.
                let driver_id = group.desc.owned.first().map(|number| sparse.get(*number).id);
                (Source::Keys { keys: sparse.members(group), next: 0, far: None }, driver_id)
            }
        };
        // SAFETY: the state is the world's, by the caller's contract, and it is borrowed while this value exists.
        let view = unsafe { Q::view(state, world, driver_id) };
        SparseIter { world, view, source, max_len: len as usize }
    }

    /// Returns the next row of the driver, for making an item of it.
    #[inline(always)]
    fn step(&mut self, state: &Q::State) -> Option<ItemRef<'w>> {
        let world = self.world;
        let (index, key, position) = match &mut self.source {
            Source::Keys { keys, next, .. } => {
                let position = *next;
                let key = *keys.get(position)?;
                *next += 1;
                (key.index(), Some(key), position as u32)
            }
            Source::Holed { pool, next, end, skips_rows } => loop {
                let position = *next;
                if position >= *end {
                    return None;
                }
                *next += 1;
                if let Some(key) = pool.dense.key_at(position)
                    && !(*skips_rows && key.is_row())
                {
                    break (key.index(), Some(key), position);
                }
            },
            Source::Linear { stores, next, end, bits, skips_rows, .. } => loop {
                while *bits == 0 {
                    *bits = word(stores, *next, *end)?;
                    *next += 1;
                }
                let index = (*next as u32 - 1) * 64 + bits.trailing_zeros();
                *bits &= *bits - 1;
                // The slot is in use: if no entity is there, it is an extra row.
                if !*skips_rows || world.storage.entities.get(index).is_some() {
                    break (index, None, index);
                }
            },
            Source::Tables { list, table, slots, row } => loop {
                if let (Some(&key), Some(table)) = (slots.get(*row), *table) {
                    let location = Location { table, row: *row as u32 };
                    *row += 1;
                    // SAFETY: the slot of a row of a table is in use, at this location, and the view is that of its world. No
                    // item conflicts, by the contract of `new`, and each row is visited once.
                    return Some(unsafe { VisitedRow::new(key.index(), Some(key), 0, location).item() });
                }
                let next = match list {
                    Some(list) => *list.next()?,
                    None => next_table::<Q>(world, state, *table)?,
                };
                (*table, *slots, *row) = (Some(next), world.storage.tables[next as usize].slots(), 0);
            },
            Source::Nothing => return None,
        };
        // SAFETY: a slot that a store has is in use, and the view is that of its world. No item conflicts, by the contract of
        // `new`, and each row is visited once.
        Some(unsafe { VisitedRow::locate::<Q>(world, index, key, position).item() })
    }

    /// Returns the next item.
    #[inline]
    pub(super) fn next(&mut self, state: &Q::State) -> Option<Q::Item<'w>> {
        loop {
            let row = self.step(state)?;
            if let Some(item) = Q::at(state, self.view, row) {
                return Some(item);
            }
        }
    }

    /// Calls `f` with the items to come.
    // Out of line, so that the loop has all registers: the rest of the query is not needed in it.
    #[inline(never)]
    pub(super) fn fold<B>(mut self, state: &Q::State, init: B, mut f: impl FnMut(B, Q::Item<'w>) -> B) -> B {
        let (world, view) = (self.world, self.view);
        let mut acc = Some(init);
        let mut visit = |row: ItemRef<'w>| {
            if let Some(item) = Q::at(state, view, row) {
                acc = acc.take().map(|acc| f(acc, item));
            }
        };
        match &mut self.source {
            Source::Keys { keys, next, far } => {
                let (keys, first) = (&keys[*next..], *next as u32);
                let locate = |at: usize| {
                    // SAFETY: a slot that a pool has is in use, and the view is that of its world.
                    keys.get(at).map(|&key| unsafe {
                        VisitedRow::locate::<Q>(world, key.index(), Some(key), first + at as u32)
                    })
                };
                let far = Q::NEEDS_LOCATION && far.unwrap_or_else(|| is_far(keys, world));
                for at in 0..keys.len() {
                    if far {
                        if let Some(key) = keys.get(at + 32) {
                            prefetch(world.storage.entities.payloads().slot_address(key.index()));
                        }
                        if let Some(row) = locate(at + 16) {
                            Q::prefetch(view, row);
                        }
                    }
                    if let Some(row) = locate(at) {
                        // SAFETY: no item conflicts, by the contract of `new`, and each row is visited once.
                        visit(unsafe { row.item() });
                    }
                }
            }
            &mut Source::Linear { ref stores, next, end, bits, fetch: Some(fetch), .. } => {
                let (mut at, mut bits) = (next, bits);
                let Some(mut acc) = acc else { unreachable!("nothing was visited") };
                loop {
                    let base = at.wrapping_sub(1).wrapping_mul(64);
                    if bits == u64::MAX {
                        for row in base..base + 64 {
                            // SAFETY: all stores have these rows, and each is visited once.
                            acc = f(acc, Q::row(fetch, unsafe { ItemRow::new(row) }));
                        }
                    } else {
                        while bits != 0 {
                            let row = base + bits.trailing_zeros() as usize;
                            // SAFETY: all stores have this row, and it is visited once.
                            acc = f(acc, Q::row(fetch, unsafe { ItemRow::new(row) }));
                            bits &= bits - 1;
                        }
                    }
                    let Some(word) = word(stores, at, end) else { return acc };
                    (bits, at) = (word, at + 1);
                }
            }
            _ => {
                while let Some(row) = self.step(state) {
                    visit(row);
                }
            }
        }
        match acc {
            Some(acc) => acc,
            None => unreachable!("put back after each item"),
        }
    }

    /// Returns the rows to come that match. Makes no item.
    pub(super) fn matching_rows(&mut self, state: &Q::State) -> impl Iterator<Item = VisitedRow> {
        core::iter::from_fn(move || {
            loop {
                let row = self.step(state)?.row();
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
        let Source::Tables { list, .. } = &self.source else { return None };
        let has_rows = |table: &u32| self.table_len(*table) > 0;
        Some(match list {
            Some(list) => list.as_slice().iter().copied().filter(has_rows).collect(),
            None => tables_after::<Q>(self.world, state, None).collect(),
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
            Source::Keys { keys, .. } => (keys.len(), 1),
            Source::Holed { end, .. } => (*end as usize, 1),
            Source::Linear { end, .. } => (end * 64, 64),
            Source::Tables { .. } | Source::Nothing => (0, 1),
        }
    }

    /// Decides for all parts whether prefetching pays. A part is too short to know.
    pub(super) fn prepare_parts(&mut self) {
        if let Source::Keys { keys, far, .. } = &mut self.source {
            *far = Some(Q::NEEDS_LOCATION && is_far(keys, self.world));
        }
    }

    /// Splits off the next `size` positions at most, of one table if tables are the driver. In a linear store, `size` is
    /// rounded up to a multiple of 64.
    pub(super) fn split(&mut self, state: &Q::State, size: usize) -> Option<Self> {
        let world = self.world;
        let (source, max_len) = match &mut self.source {
            Source::Tables { list, table, slots, row } => {
                while *row == slots.len() {
                    let next = match list {
                        Some(list) => *list.next()?,
                        None => next_table::<Q>(world, state, *table)?,
                    };
                    (*table, *slots, *row) = (Some(next), world.storage.tables[next as usize].slots(), 0);
                }
                let (first, end) = (*row, slots.len().min(row.saturating_add(size)));
                *row = end;
                (Source::Tables { list: Some([].iter()), table: *table, slots: &slots[..end], row: first }, end - first)
            }
            Source::Keys { keys, next, far } => {
                let (first, end) = (*next, keys.len().min(next.saturating_add(size)));
                *next = end;
                (Source::Keys { keys: &keys[..end], next: first, far: *far }, end - first)
            }
            Source::Holed { pool, next, end, skips_rows } => {
                let (first, last) = (*next, (*end).min(next.saturating_add(u32::try_from(size).unwrap_or(u32::MAX))));
                *next = last;
                (Source::Holed { pool, next: first, end: last, skips_rows: *skips_rows }, (last - first) as usize)
            }
            Source::Linear { stores, next, end, skips_rows, fetch, .. } => {
                let (first, last) = (*next, (*end).min(next.saturating_add(size.div_ceil(64))));
                *next = last;
                let (stores, skips_rows, fetch) = (*stores, *skips_rows, *fetch);
                (Source::Linear { stores, next: first, end: last, bits: 0, skips_rows, fetch }, (last - first) * 64)
            }
            Source::Nothing => return None,
        };
        (max_len > 0).then(|| SparseIter { world, view: self.view, source, max_len: max_len.min(self.max_len) })
    }

    /// Returns an iterator over some [positions](SparseIter::positions), of an iterator that has not been advanced.
    ///
    /// # Safety
    ///
    /// No other item of these positions that lives in `'w` conflicts.
    pub(super) unsafe fn part(&self, positions: Range<usize>) -> Self {
        let source = match &self.source {
            Source::Keys { keys, far, .. } => {
                Source::Keys { keys: &keys[..positions.end], next: positions.start, far: *far }
            }
            &Source::Holed { pool, end, skips_rows, .. } => {
                let (first, last) = (positions.start as u32, end.min(positions.end as u32));
                Source::Holed { pool, next: first, end: last, skips_rows }
            }
            &Source::Linear { stores, end, skips_rows, fetch, .. } => {
                let (first, last) = (positions.start / 64, end.min(positions.end.div_ceil(64)));
                Source::Linear { stores, next: first, end: last, bits: 0, skips_rows, fetch }
            }
            Source::Tables { .. } | Source::Nothing => Source::Nothing,
        };
        SparseIter { world: self.world, view: self.view, source, max_len: positions.len() }
    }

    /// Returns an iterator over some rows of a matching table, if tables are the driver.
    ///
    /// # Safety
    ///
    /// No other item of these rows that lives in `'w` conflicts.
    pub(super) unsafe fn part_of_table(&self, table: u32, rows: Range<usize>) -> Self {
        let slots = &self.world.storage.tables[table as usize].slots()[..rows.end];
        let source = match &self.source {
            Source::Tables { .. } => {
                Source::Tables { list: Some([].iter()), table: Some(table), slots, row: rows.start }
            }
            _ => Source::Nothing,
        };
        SparseIter { world: self.world, view: self.view, source, max_len: rows.len() }
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

/// Returns the linear stores that all items are in, the driver first, up to [`MOST`], and the numbers of their components.
fn linear_stores<'w, Q: QueryData>(
    world: &'w World,
    state: &Q::State,
    driver: u32,
    linear: &'w LinearStorage,
) -> ([Option<&'w LinearStorage>; MOST], [u32; MOST]) {
    let (mut stores, mut owned, mut count) = ([None; MOST], [driver; MOST], 1);
    stores[0] = Some(linear);
    let mut each = |id: ComponentId, kind: Kind| {
        if let Some(number) = world.storage.sparse.storage_id(id)
            && let Store::Linear(linear) = &world.storage.sparse.get(number).store
            && kind == Kind::Linear
            && count < MOST
            && !owned[..count].contains(&number)
        {
            (stores[count], owned[count]) = (Some(linear), number);
            count += 1;
        }
    };
    Q::required(state, &mut each);
    (stores, owned)
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

/// Returns the bits of a word that all stores have, or `None` from `end` on.
#[inline(always)]
fn word(stores: &[Option<&LinearStorage>; MOST], at: usize, end: usize) -> Option<u64> {
    if at >= end {
        return None;
    }
    let mut all = u64::MAX;
    for store in stores {
        let Some(store) = store else { break };
        all &= store.words().get(at)?;
    }
    Some(all)
}
