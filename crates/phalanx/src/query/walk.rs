//! Queries over components that are not kept in tables: what leads, and how it is followed.
//!
//! Such a query has a *lead*: the shortest of the stores of components that every item has, of the groups that all items are
//! members of, and of the tables that match taken together. Its rows are visited in its order, and each is asked whether it has the rest.
//!
//! Where the lead is all that the query asks for, its rows are a run like those of a table.
//!
//! Stores may hold values of extra rows, and count how many. A query that does not ask for extra rows skips them, which
//! costs something only in a store that holds some. Groups hold none, so they lead only queries that do not ask for any.
#![allow(unsafe_code)]

use super::iter::Run;
use super::reach::prefetch;
use super::{Aligned, Candidate, Filter, Query, Spot, asks_for_rows};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::side::{Draft, GroupData, Linear, Pool, Store};
use crate::world::{Location, World};
use core::ptr::NonNull;
use phalanx_store::Entity;
use std::borrow::Cow;

/// What leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// The tables that match.
    Tables,
    /// The store of this side.
    Side(u32),
    /// The members of this group, counted in the order of numbers.
    Group(u32),
    /// Nothing: a component that is required never was anybody's.
    Nobody,
}

/// What a query goes through.
#[derive(Clone, Copy)]
pub(super) struct Course<F> {
    pub(super) lead: Lead,
    /// The rows of the lead, if they are the items and nothing needs to be asked.
    pub(super) run: Option<Run<F>>,
    /// How many rows the lead has.
    pub(super) len: u64,
}

impl<F> Course<F> {
    /// Whether the lead is to be followed row by row.
    pub(super) fn walks(&self) -> bool {
        self.run.is_none() && self.len > 0
    }
}

/// The lead of a query, of which these are the tables that match.
pub(super) fn lead<Q: Query, F: Filter>(
    world: &World,
    ids: &(Q::State, F::State),
    tables: impl Iterator<Item = u32>,
) -> (Lead, u64) {
    let (terms, filter) = ids;
    let grouped = !asks_for_rows::<Q, F>(ids);
    let mut best = if grouped { group::<Q, F>(world, (terms, filter), true) } else { None };
    let mut each = |id: ComponentId, kind: Kind| {
        if kind == Kind::Table {
            return;
        }
        let side = world.storage.sides.number(id);
        let (lead, len) =
            side.map_or((Lead::Nobody, 0), |side| (Lead::Side(side), world.storage.sides.get(side).len().into()));
        if best.is_none_or(|(_, least)| len < least) {
            best = Some((lead, len));
        }
    };
    Q::required(terms, &mut each);
    F::required(filter, &mut each);
    if grouped
        && let Some((lead, len)) = group::<Q, F>(world, (terms, filter), false)
        && best.is_none_or(|(_, least)| len < least)
    {
        best = Some((lead, len));
    }
    let mut rows = 0;
    for table in tables {
        rows += u64::from(world.storage.tables[table as usize].len);
        if let Some((lead, least)) = best
            && rows >= least
        {
            return (lead, least);
        }
    }
    best.filter(|(_, least)| rows >= *least).unwrap_or((Lead::Tables, rows))
}

/// The shortest of the groups that all items are members of, among those that own pools or those that do not: groups that
/// require nothing but what the query requires, and exclude nothing but what it excludes. Among equals the one that owns most.
fn group<Q: Query, F: Filter>(
    world: &World,
    (terms, filter): (&Q::State, &F::State),
    owning: bool,
) -> Option<(Lead, u64)> {
    let sides = &world.storage.sides;
    let requires = |side: &u32| {
        let mut found = false;
        let mut each = |id: ComponentId, _| found |= sides.number(id) == Some(*side);
        Q::required(terms, &mut each);
        F::required(filter, &mut each);
        found
    };
    let excludes = |side: &u32| {
        let mut found = false;
        let mut each = |id: ComponentId| found |= sides.number(id) == Some(*side);
        Q::excluded(terms, &mut each);
        F::excluded(filter, &mut each);
        found
    };
    let serves = |what: &Draft| {
        what.owned.is_empty() != owning && what.required.iter().all(requires) && what.excluded.iter().all(excludes)
    };
    let groups = (0..).zip(sides.groups()).filter(|(_, group)| serves(&group.what));
    let best = groups.min_by(|(_, a), (_, b)| {
        let size = |group: &GroupData| (sides.members(group).len(), usize::MAX - group.what.owned.len());
        size(a).cmp(&size(b)).then_with(|| sides.compare_groups(&a.what, &b.what))
    });
    best.map(|(number, group)| (Lead::Group(number), sides.members(group).len() as u64))
}

/// The group of a lead.
pub(super) fn group_of(world: &World, number: u32) -> &GroupData {
    match world.storage.sides.groups().nth(number as usize) {
        Some(group) => group,
        None => unreachable!("the group was there at this epoch"),
    }
}

/// Returns what a query goes through, of which these are the tables that match.
///
/// # Safety
///
/// The ids are the world's.
pub(super) unsafe fn course<Q: Query, F: Filter>(
    world: &World,
    ids: &(Q::State, F::State),
    tables: impl Iterator<Item = u32>,
) -> Course<Q::Fetch> {
    let (lead, len) = lead::<Q, F>(world, ids, tables);
    let run = match lead {
        // SAFETY: the caller's promise.
        Lead::Side(side) => unsafe { run_of_pool::<Q, F>(world, ids, side) },
        // SAFETY: the caller's promise.
        Lead::Group(number) => unsafe { run_of_group::<Q, F>(world, ids, group_of(world, number)) },
        Lead::Tables | Lead::Nobody => None,
    };
    Course { lead, run, len }
}

/// Returns the rows of a pool, if they lie side by side and are the items.
///
/// # Safety
///
/// The ids are the world's.
unsafe fn run_of_pool<Q: Query, F: Filter>(
    world: &World,
    ids: &(Q::State, F::State),
    side: u32,
) -> Option<Run<Q::Fetch>> {
    let Store::Pool(pool) = &world.storage.sides.get(side).store else { return None };
    let (keys, owned, extra) = (pool.dense.keys()?, &[side], pool.rows > 0);
    if extra && !asks_for_rows::<Q, F>(ids) {
        return None;
    }
    // SAFETY: the keys are all of the pool, each at its position; and the caller's promise.
    unsafe { run::<Q, F>(world, ids, keys, (owned, owned, &[]), extra) }
}

/// Returns the rows of the pools that a group owns, if they are the items.
///
/// # Safety
///
/// The ids and the group are the world's.
unsafe fn run_of_group<Q: Query, F: Filter>(
    world: &World,
    ids: &(Q::State, F::State),
    group: &GroupData,
) -> Option<Run<Q::Fetch>> {
    let Draft { owned, required, excluded, .. } = &group.what;
    let keys = world.storage.sides.members(group);
    // SAFETY: members come first in the pools that their group owns, in one order; and the caller's promise.
    unsafe { run::<Q, F>(world, ids, keys, (owned, required, excluded), false) }
}

/// Returns these slots as a run: the first of the pools `owned`, known to be in the sides `has` and not in the sides `lacks`.
/// `extra` tells whether some of them are extra rows.
///
/// # Safety
///
/// The ids are the world's, and what is said of the slots is so.
unsafe fn run<Q: Query, F: Filter>(
    world: &World,
    (terms, filter): &(Q::State, F::State),
    keys: &[Entity],
    (owned, has, lacks): (&[u32], &[u32], &[u32]),
    extra: bool,
) -> Option<Run<Q::Fetch>> {
    let stores = Aligned { world, owned, has, lacks, keys: Some(NonNull::from(keys).cast()), extra };
    // SAFETY: the caller's promise.
    let fetch = unsafe { Q::aligned(terms, &stores) }.filter(|_| !keys.is_empty() && F::settled(filter, &stores))?;
    Some(Run { fetch, len: keys.len() as u32 })
}

/// Linear stores whose bits are taken together.
const MOST: usize = 8;

/// The lead, on the way.
enum Source<'w, 's, F> {
    Tables {
        list: Cow<'s, [u32]>,
        /// The place in the list of the next table.
        next: usize,
        table: u32,
        slots: &'w [Entity],
        row: usize,
    },
    /// The slots of a pool without holes, or the members of a group.
    Keys {
        keys: &'w [Entity],
        next: usize,
    },
    /// A pool of which some positions are skipped: holes, and extra rows that are not asked for.
    Holed {
        pool: &'w Pool,
        next: u32,
        skips_rows: bool,
    },
    Linear {
        /// Required stores, the lead among them.
        stores: [Option<&'w Linear>; MOST],
        /// The next word.
        next: usize,
        /// Those of the word before it that are to come.
        bits: u64,
        /// Whether extra rows are skipped.
        skips_rows: bool,
        /// The stores as runs, if they are all that is asked for.
        fetch: Option<F>,
    },
    Nothing,
}

/// Following a lead.
pub(super) struct Walk<'w, 's, Q: Query> {
    world: &'w World,
    view: Q::View,
    walked: Option<ComponentId>,
    source: Source<'w, 's, Q::Fetch>,
    /// Rows of the lead that are to come, or more.
    most: usize,
}

// The source is one of the world, which is borrowed: each row that it leads to is in use.
impl<'w, 's, Q: Query> Walk<'w, 's, Q> {
    /// # Safety
    ///
    /// The ids are the world's, and the tables all that match them; the course is of this world as it is. The world is
    /// borrowed for `'w` as the query needs it; the query does not alias.
    pub(super) unsafe fn new<F: Filter>(
        world: &'w World,
        ids: &(Q::State, F::State),
        (lead, len): (Lead, u64),
        tables: Cow<'s, [u32]>,
    ) -> Self {
        let (source, walked) = match lead {
            Lead::Nobody => (Source::Nothing, None),
            Lead::Tables => (Source::Tables { list: tables, next: 0, table: 0, slots: &[], row: 0 }, None),
            Lead::Side(side) => {
                let source = match &world.storage.sides.get(side).store {
                    Store::Pool(pool) => {
                        let skips_rows = pool.rows > 0 && !asks_for_rows::<Q, F>(ids);
                        match pool.dense.keys() {
                            Some(keys) if !skips_rows => Source::Keys { keys, next: 0 },
                            _ => Source::Holed { pool, next: 0, skips_rows },
                        }
                    }
                    // SAFETY: the caller's promise.
                    Store::Linear(linear) => unsafe { Self::linear::<F>(world, ids, side, linear) },
                };
                (source, Some(world.storage.sides.get(side).id))
            }
            Lead::Group(number) => {
                let group = group_of(world, number);
                // A member is at its position in each pool that is owned; the first one stands for them.
                let walked = group.what.owned.first().map(|side| world.storage.sides.get(*side).id);
                (Source::Keys { keys: world.storage.sides.members(group), next: 0 }, walked)
            }
        };
        // SAFETY: the caller's promise.
        let view = unsafe { Q::view(&ids.0, world, walked) };
        Walk { world, view, walked, source, most: len as usize }
    }

    /// Returns the words of all linear stores that are required, as far as there is room.
    ///
    /// # Safety
    ///
    /// The ids are the world's, and the store is that of the side `lead`.
    unsafe fn linear<F: Filter>(
        world: &'w World,
        ids: &(Q::State, F::State),
        lead: u32,
        linear: &'w Linear,
    ) -> Source<'w, 's, Q::Fetch> {
        let (terms, filter) = ids;
        let (mut stores, mut owned, mut count) = ([None; MOST], [lead; MOST], 1);
        stores[0] = Some(linear);
        let mut each = |id: ComponentId, kind: Kind| {
            if let Some(side) = world.storage.sides.number(id)
                && let Store::Linear(linear) = &world.storage.sides.get(side).store
                && kind == Kind::Linear
                && count < MOST
                && !owned[..count].contains(&side)
            {
                (stores[count], owned[count]) = (Some(linear), side);
                count += 1;
            }
        };
        Q::required(terms, &mut each);
        F::required(filter, &mut each);
        // An extra row that is visited is in all of them.
        let extra = stores.iter().flatten().all(|store| store.rows > 0);
        let skips_rows = extra && !asks_for_rows::<Q, F>(ids);
        let owned = &owned[..count];
        let aligned = Aligned { world, owned, has: owned, lacks: &[], keys: None, extra };
        // SAFETY: the caller's promise; rows of linear stores lie at their slots.
        let fetch = unsafe { Q::aligned(terms, &aligned) }.filter(|_| !skips_rows && F::settled(filter, &aligned));
        Source::Linear { stores, next: 0, bits: 0, skips_rows, fetch }
    }

    /// Returns where a row is, for queries that look at it.
    ///
    /// # Safety
    ///
    /// The slot is in use.
    #[inline(always)]
    unsafe fn located(world: &World, index: u32) -> Location {
        // SAFETY: the slot is in use, so its location is written.
        if Q::LOCATED { unsafe { *world.storage.entities.places().at(index) } } else { Spot::NOWHERE }
    }

    /// Returns the row of a slot that was at hand.
    ///
    /// # Safety
    ///
    /// The slot is in use.
    #[inline(always)]
    unsafe fn spot(world: &World, key: Entity, position: u32) -> Spot {
        // SAFETY: the caller's promise.
        let location = unsafe { Self::located(world, key.index()) };
        Spot { index: key.index(), key: Some(key), position, location }
    }

    /// Returns the row of a linear store.
    ///
    /// # Safety
    ///
    /// The slot is in use.
    #[inline(always)]
    unsafe fn spot_at(world: &World, index: u32) -> Spot {
        // SAFETY: the caller's promise.
        let location = unsafe { Self::located(world, index) };
        Spot { index, key: None, position: index, location }
    }

    /// The next row of the lead.
    #[inline(always)]
    fn step(&mut self) -> Option<Spot> {
        let world = self.world;
        match &mut self.source {
            Source::Keys { keys, next } => {
                let position = *next;
                let key = *keys.get(position)?;
                *next += 1;
                // SAFETY: a slot that a pool has is in use.
                Some(unsafe { Self::spot(world, key, position as u32) })
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
                    return Some(unsafe { Self::spot(world, key, position) });
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
                    return Some(unsafe { Self::spot_at(world, index) });
                }
            },
            Source::Tables { list, next, table, slots, row } => loop {
                if let Some(&key) = slots.get(*row) {
                    let location = Location { table: *table, row: *row as u32 };
                    *row += 1;
                    return Some(Spot { index: key.index(), key: Some(key), position: 0, location });
                }
                *table = *list.get(*next)?;
                *next += 1;
                (*slots, *row) = (world.storage.tables[*table as usize].slots(), 0);
            },
            Source::Nothing => None,
        }
    }

    /// Returns `true` if a row passes the filter.
    ///
    /// # Safety
    ///
    /// The row is one of the world.
    #[inline(always)]
    unsafe fn passes<F: Filter>(world: &World, walked: Option<ComponentId>, filter: &F::State, spot: Spot) -> bool {
        // SAFETY: the caller's promise.
        F::passes_row(filter, &unsafe { Candidate::new(world, spot.index, walked) })
    }

    /// Returns the next item.
    ///
    /// # Safety
    ///
    /// The ids are those that [`new`](Walk::new) was given, or equal to them.
    #[inline]
    pub(super) unsafe fn next<F: Filter>(&mut self, (terms, filter): &(Q::State, F::State)) -> Option<Q::Item<'w>> {
        loop {
            let spot = self.step()?;
            // SAFETY: the row is the world's.
            if unsafe { Self::passes::<F>(self.world, self.walked, filter, spot) }
                // SAFETY: what `new` was promised; each row comes once.
                && let Some(item) = unsafe { Q::at(terms, self.view, spot) }
            {
                return Some(item);
            }
        }
    }

    /// Calls `f` with the items to come.
    ///
    /// # Safety
    ///
    /// The ids are those that [`new`](Walk::new) was given, or equal to them.
    #[inline]
    pub(super) unsafe fn fold<F: Filter, B>(
        mut self,
        ids: &(Q::State, F::State),
        init: B,
        mut f: impl FnMut(B, Q::Item<'w>) -> B,
    ) -> B {
        let (world, view, walked) = (self.world, self.view, self.walked);
        let (terms, filter) = ids;
        let mut acc = Some(init);
        let mut visit = |spot: Spot| {
            // SAFETY: the row is the world's.
            if unsafe { Self::passes::<F>(world, walked, filter, spot) }
                // SAFETY: what `new` was promised; each row comes once.
                && let Some(item) = unsafe { Q::at(terms, view, spot) }
            {
                acc = acc.take().map(|acc| f(acc, item));
            }
        };
        match &mut self.source {
            Source::Keys { keys, next } => {
                let (keys, first) = (&keys[*next..], *next as u32);
                let far = Q::LOCATED && is_far(keys, world.storage.entities.slot_count());
                for (at, &key) in keys.iter().enumerate() {
                    if far {
                        if let Some(key) = keys.get(at + 32) {
                            // SAFETY: the slot is in use.
                            prefetch(unsafe { world.storage.entities.places().at(key.index()) });
                        }
                        if let Some(&key) = keys.get(at + 16) {
                            // SAFETY: the slot is in use, and what `new` was promised.
                            unsafe { Q::warm(view, Self::spot(world, key, 0)) };
                        }
                    }
                    // SAFETY: a slot that a pool has is in use.
                    visit(unsafe { Self::spot(world, key, first + at as u32) });
                }
            }
            &mut Source::Linear { ref stores, next, bits, fetch: Some(fetch), .. } => {
                let (mut at, mut bits) = (next, bits);
                let Some(mut acc) = acc else { unreachable!("nothing was visited") };
                loop {
                    let base = at.wrapping_sub(1).wrapping_mul(64);
                    if bits == u64::MAX {
                        for row in base..base + 64 {
                            // SAFETY: all stores have these rows, and each comes once.
                            acc = f(acc, unsafe { Q::row(fetch, row) });
                        }
                    } else {
                        while bits != 0 {
                            // SAFETY: as above.
                            acc = f(acc, unsafe { Q::row(fetch, base + bits.trailing_zeros() as usize) });
                            bits &= bits - 1;
                        }
                    }
                    let Some(word) = word(stores, at) else { return acc };
                    (bits, at) = (word, at + 1);
                }
            }
            _ => {
                while let Some(spot) = self.step() {
                    visit(spot);
                }
            }
        }
        match acc {
            Some(acc) => acc,
            None => unreachable!("put back after each item"),
        }
    }

    /// Returns the rows to come whose items there are. Makes none.
    ///
    /// # Safety
    ///
    /// The ids are those that [`new`](Walk::new) was given, or equal to them.
    pub(super) unsafe fn spots<F: Filter>(
        &mut self,
        (terms, filter): &(Q::State, F::State),
    ) -> impl Iterator<Item = Spot> {
        core::iter::from_fn(move || {
            loop {
                let spot = self.step()?;
                // SAFETY: the row is the world's.
                if unsafe { Self::passes::<F>(self.world, self.walked, filter, spot) }
                    // SAFETY: what `new` was promised.
                    && unsafe { Q::holds(terms, self.view, spot) }
                {
                    return Some(spot);
                }
            }
        })
    }

    /// As many items are to come at most.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// What finds the components of its rows.
    pub(super) fn view(&self) -> Q::View {
        self.view
    }
}

/// Whether following these slots jumps through so much memory that it pays to ask for it ahead: in a world that does not fit
/// into the nearer caches, if they are few of all, or in no order.
fn is_far(keys: &[Entity], slots: usize) -> bool {
    let steps = keys.windows(2).take(16);
    let jumps = steps.clone().filter(|pair| pair[0].index().abs_diff(pair[1].index()) > 16).count();
    slots > 1 << 15 && (keys.len() < slots / 4 || jumps * 2 > steps.len())
}

/// The slots of a word that all stores have; none after the last.
#[inline(always)]
fn word(stores: &[Option<&Linear>; MOST], at: usize) -> Option<u64> {
    let mut all = u64::MAX;
    for store in stores {
        let Some(store) = store else { break };
        all &= store.words().get(at)?;
    }
    Some(all)
}
