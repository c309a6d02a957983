//! Iteration over the rows of a driver, each of which is tested.
#![allow(unsafe_code)]

use super::driver::{Driver, group_of};
use super::table_ref::{States, next_table, visits_extra_rows};
use super::{AlignedStores, Candidate, QueryData, QueryFilter, RowRef};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::prefetch::prefetch;
use crate::sparse::{LinearStorage, SparseSet, Store};
use crate::world::{Location, World};
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
    },
    /// A pool of which some positions are skipped: holes, and extra rows that the query does not visit.
    Holed {
        pool: &'w SparseSet,
        next: u32,
        skips_rows: bool,
    },
    Linear {
        /// Required stores, the driver among them.
        stores: [Option<&'w LinearStorage>; MOST],
        /// The next word.
        next: usize,
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
pub(super) struct SparseIter<'w, 's, D: QueryData> {
    world: &'w World,
    view: D::View,
    /// The component whose store the rows come from.
    driver_id: Option<ComponentId>,
    source: Source<'w, 's, D::Fetch>,
    /// An upper bound of the rows to come.
    max_len: usize,
}

// Rows come from stores and tables of the world, which is borrowed: each of them is in use.
impl<'w, 's, D: QueryData> SparseIter<'w, 's, D> {
    /// Starts at the first row of a driver. `tables` are the matching tables, if they are known.
    ///
    /// # Safety
    ///
    /// The states are the world's. Tables and driver are what was found for them in the world as it is. The world is borrowed
    /// for `'w` as the query needs it, and the query does not alias.
    pub(super) unsafe fn new<F: QueryFilter>(
        world: &'w World,
        states: &States<D, F>,
        (driver, len): (Driver, u64),
        tables: Option<&'s [u32]>,
    ) -> Self {
        let (source, driver_id) = match driver {
            Driver::Empty => (Source::Nothing, None),
            Driver::Tables => {
                let list = tables.map(<[u32]>::iter);
                (Source::Tables { list, table: None, slots: &[], row: 0 }, None)
            }
            Driver::SparseStorage(side) => {
                let source = match &world.storage.sparse.get(side).store {
                    Store::Pool(pool) => {
                        let skips_rows = pool.extra_rows > 0 && !visits_extra_rows::<D, F>(states);
                        match pool.dense.keys() {
                            Some(keys) if !skips_rows => Source::Keys { keys, next: 0 },
                            _ => Source::Holed { pool, next: 0, skips_rows },
                        }
                    }
                    // SAFETY: the caller's promise.
                    Store::Linear(linear) => unsafe { Self::linear::<F>(world, states, side, linear) },
                };
                (source, Some(world.storage.sparse.get(side).id))
            }
            Driver::Group(number) => {
                let group = group_of(world, number);
                // A member is at its position in each pool that is owned; the first one stands for them.
                let driver_id = group.desc.owned.first().map(|side| world.storage.sparse.get(*side).id);
                (Source::Keys { keys: world.storage.sparse.members(group), next: 0 }, driver_id)
            }
        };
        // SAFETY: the caller's promise.
        let view = unsafe { D::view(&states.0, world, driver_id) };
        SparseIter { world, view, driver_id, source, max_len: len as usize }
    }

    /// Returns the source of rows that all required linear stores have, up to [`MOST`] stores.
    ///
    /// # Safety
    ///
    /// The states are the world's, and the store is that of the sparse component `driver`.
    unsafe fn linear<F: QueryFilter>(
        world: &'w World,
        states: &States<D, F>,
        driver: u32,
        linear: &'w LinearStorage,
    ) -> Source<'w, 's, D::Fetch> {
        let (data, filter) = states;
        let (mut stores, mut owned, mut count) = ([None; MOST], [driver; MOST], 1);
        stores[0] = Some(linear);
        let mut each = |id: ComponentId, kind: Kind| {
            if let Some(side) = world.storage.sparse.storage_id(id)
                && let Store::Linear(linear) = &world.storage.sparse.get(side).store
                && kind == Kind::Linear
                && count < MOST
                && !owned[..count].contains(&side)
            {
                (stores[count], owned[count]) = (Some(linear), side);
                count += 1;
            }
        };
        D::required(data, &mut each);
        F::required(filter, &mut each);
        // An extra row that is visited is in all of them.
        let extra = stores.iter().flatten().all(|store| store.extra_rows > 0);
        let skips_rows = extra && !visits_extra_rows::<D, F>(states);
        let owned = &owned[..count];
        let aligned = AlignedStores { world, owned, has: owned, lacks: &[], keys: None, extra };
        // SAFETY: the caller's promise; rows of linear stores lie at their slots.
        let fetch =
            unsafe { D::fetch_aligned(data, &aligned) }.filter(|_| !skips_rows && F::passes_all(filter, &aligned));
        Source::Linear { stores, next: 0, bits: 0, skips_rows, fetch }
    }

    /// Returns the location of a row, for queries that use it.
    ///
    /// # Safety
    ///
    /// The slot is in use.
    #[inline(always)]
    unsafe fn location_unchecked(world: &World, index: u32) -> Location {
        // SAFETY: the slot is in use, so its location is written.
        if D::NEEDS_LOCATION { unsafe { *world.storage.entities.places().at(index) } } else { RowRef::NOWHERE }
    }

    /// Returns the row of a slot.
    ///
    /// # Safety
    ///
    /// The slot is in use.
    #[inline(always)]
    unsafe fn row_of(world: &World, key: Entity, position: u32) -> RowRef {
        // SAFETY: the caller's promise.
        let location = unsafe { Self::location_unchecked(world, key.index()) };
        RowRef { index: key.index(), key: Some(key), position, location }
    }

    /// Returns the row of a slot of which only the index is known.
    ///
    /// # Safety
    ///
    /// The slot is in use.
    #[inline(always)]
    unsafe fn row_at(world: &World, index: u32) -> RowRef {
        // SAFETY: the caller's promise.
        let location = unsafe { Self::location_unchecked(world, index) };
        RowRef { index, key: None, position: index, location }
    }

    /// Returns the next row of the driver.
    #[inline(always)]
    fn step<F: QueryFilter>(&mut self, states: &States<D, F>) -> Option<RowRef> {
        let world = self.world;
        match &mut self.source {
            Source::Keys { keys, next } => {
                let position = *next;
                let key = *keys.get(position)?;
                *next += 1;
                // SAFETY: a slot that a pool has is in use.
                Some(unsafe { Self::row_of(world, key, position as u32) })
            }
            Source::Holed { pool, next, skips_rows } => loop {
                let position = *next;
                if position >= pool.dense.positions() {
                    return None;
                }
                *next += 1;
                if let Some(key) = pool.dense.key_at(position)
                    && !(*skips_rows && key.is_row())
                {
                    // SAFETY: a slot that a pool has is in use.
                    return Some(unsafe { Self::row_of(world, key, position) });
                }
            },
            Source::Linear { stores, next, bits, skips_rows, .. } => loop {
                while *bits == 0 {
                    *bits = word(stores, *next)?;
                    *next += 1;
                }
                let index = (*next as u32 - 1) * 64 + bits.trailing_zeros();
                *bits &= *bits - 1;
                // The slot is in use: if no entity is there, it is an extra row.
                if !*skips_rows || world.storage.entities.get(index).is_some() {
                    // SAFETY: a slot that a linear store has is in use.
                    return Some(unsafe { Self::row_at(world, index) });
                }
            },
            Source::Tables { list, table, slots, row } => loop {
                if let (Some(&key), Some(table)) = (slots.get(*row), *table) {
                    let location = Location { table, row: *row as u32 };
                    *row += 1;
                    return Some(RowRef { index: key.index(), key: Some(key), position: 0, location });
                }
                let next = match list {
                    Some(list) => *list.next()?,
                    None => next_table::<D, F>(world, states, *table)?,
                };
                (*table, *slots, *row) = (Some(next), world.storage.tables[next as usize].slots(), 0);
            },
            Source::Nothing => None,
        }
    }

    /// Returns `true` if a row passes the filter.
    ///
    /// # Safety
    ///
    /// The row is one of the world's.
    #[inline(always)]
    unsafe fn passes<F: QueryFilter>(
        world: &World,
        driver_id: Option<ComponentId>,
        filter: &F::State,
        row: RowRef,
    ) -> bool {
        // SAFETY: the caller's promise.
        F::passes_row(filter, &unsafe { Candidate::new(world, row.index, driver_id) })
    }

    /// Returns the next item.
    ///
    /// # Safety
    ///
    /// The states are those that [`new`](SparseIter::new) was given, or equal to them.
    #[inline]
    pub(super) unsafe fn next<F: QueryFilter>(&mut self, states: &States<D, F>) -> Option<D::Item<'w>> {
        let (data, filter) = states;
        loop {
            let row = self.step::<F>(states)?;
            // SAFETY: the row is the world's.
            if unsafe { Self::passes::<F>(self.world, self.driver_id, filter, row) }
                // SAFETY: the promise of `new`; each row is visited once.
                && let Some(item) = unsafe { D::at(data, self.view, row) }
            {
                return Some(item);
            }
        }
    }

    /// Calls `f` with the items to come.
    ///
    /// # Safety
    ///
    /// The states are those that [`new`](SparseIter::new) was given, or equal to them.
    // Out of line, so that the loop has all registers: the rest of the query is not needed in it.
    #[inline(never)]
    pub(super) unsafe fn fold<F: QueryFilter, B>(
        mut self,
        states: &States<D, F>,
        init: B,
        mut f: impl FnMut(B, D::Item<'w>) -> B,
    ) -> B {
        let (world, view, driver_id) = (self.world, self.view, self.driver_id);
        let (data, filter) = states;
        let mut acc = Some(init);
        let mut visit = |row: RowRef| {
            // SAFETY: the row is the world's.
            if unsafe { Self::passes::<F>(world, driver_id, filter, row) }
                // SAFETY: the promise of `new`; each row is visited once.
                && let Some(item) = unsafe { D::at(data, view, row) }
            {
                acc = acc.take().map(|acc| f(acc, item));
            }
        };
        match &mut self.source {
            Source::Keys { keys, next } => {
                let (keys, first) = (&keys[*next..], *next as u32);
                let far = D::NEEDS_LOCATION && is_far(keys, world.storage.entities.slot_count());
                for (at, &key) in keys.iter().enumerate() {
                    if far {
                        if let Some(key) = keys.get(at + 32) {
                            // SAFETY: the slot is in use.
                            prefetch(unsafe { world.storage.entities.places().at(key.index()) });
                        }
                        if let Some(&key) = keys.get(at + 16) {
                            // SAFETY: the slot is in use; and the promise of `new`.
                            unsafe { D::prefetch(view, Self::row_of(world, key, 0)) };
                        }
                    }
                    // SAFETY: a slot that a pool has is in use.
                    visit(unsafe { Self::row_of(world, key, first + at as u32) });
                }
            }
            &mut Source::Linear { ref stores, next, bits, fetch: Some(fetch), .. } => {
                let (mut at, mut bits) = (next, bits);
                let Some(mut acc) = acc else { unreachable!("nothing was visited") };
                loop {
                    let base = at.wrapping_sub(1).wrapping_mul(64);
                    if bits == u64::MAX {
                        for row in base..base + 64 {
                            // SAFETY: all stores have these rows, and each is visited once.
                            acc = f(acc, unsafe { D::row(fetch, row) });
                        }
                    } else {
                        while bits != 0 {
                            // SAFETY: as above.
                            acc = f(acc, unsafe { D::row(fetch, base + bits.trailing_zeros() as usize) });
                            bits &= bits - 1;
                        }
                    }
                    let Some(word) = word(stores, at) else { return acc };
                    (bits, at) = (word, at + 1);
                }
            }
            _ => {
                while let Some(row) = self.step::<F>(states) {
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
    ///
    /// # Safety
    ///
    /// The states are those that [`new`](SparseIter::new) was given, or equal to them.
    pub(super) unsafe fn matching_rows<F: QueryFilter>(
        &mut self,
        states: &States<D, F>,
    ) -> impl Iterator<Item = RowRef> {
        let (data, filter) = states;
        core::iter::from_fn(move || {
            loop {
                let row = self.step::<F>(states)?;
                // SAFETY: the row is the world's.
                if unsafe { Self::passes::<F>(self.world, self.driver_id, filter, row) }
                    // SAFETY: the promise of `new`.
                    && unsafe { D::matches_row(data, self.view, row) }
                {
                    return Some(row);
                }
            }
        })
    }

    /// Returns an upper bound of the items to come.
    pub(super) fn max_len(&self) -> usize {
        self.max_len
    }

    /// Returns what finds the components of the rows.
    pub(super) fn view(&self) -> D::View {
        self.view
    }
}

/// Returns `true` if visiting these slots jumps through so much memory that prefetching pays.
///
/// That is so in a world that does not fit into the nearer caches, if the slots are few of all or in no order.
fn is_far(keys: &[Entity], slots: usize) -> bool {
    let steps = keys.windows(2).take(16);
    let jumps = steps.clone().filter(|pair| pair[0].index().abs_diff(pair[1].index()) > 16).count();
    slots > 1 << 15 && (keys.len() < slots / 4 || jumps * 2 > steps.len())
}

/// Returns the bits of a word that all stores have, or `None` after the last word.
#[inline(always)]
fn word(stores: &[Option<&LinearStorage>; MOST], at: usize) -> Option<u64> {
    let mut all = u64::MAX;
    for store in stores {
        let Some(store) = store else { break };
        all &= store.words().get(at)?;
    }
    Some(all)
}
