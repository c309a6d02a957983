//! What a query that is not dense iterates over.
//!
//! Such a query has a *driver*: the shortest of the stores of components that every item has, of the groups that all items
//! are members of, and of the matching tables together. Its rows are visited in its order, and each is tested for the rest.
//!
//! If the driver holds all that the query asks for, its rows are a run like those of a table.
//!
//! Stores may hold values of extra rows, and count them. A query that does not visit extra rows skips them, which costs
//! something only in a store that holds some. Groups hold none, so they drive only queries that do not visit any.
#![allow(unsafe_code)]

use super::iter::Run;
use super::table_ref::{States, visits_extra_rows};
use super::{AlignedStores, QueryData, QueryFilter};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::sparse::{GroupData, GroupDesc, Store};
use crate::world::World;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// What a query that is not dense iterates over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    /// The tables that match.
    Tables,
    /// The store of this sparse component.
    SparseStorage(u32),
    /// The members of this group, by its position among all groups.
    Group(u32),
    /// Nothing: a required component has no store, because no entity ever had it.
    Empty,
}

/// The driver of a query, resolved.
#[derive(Clone, Copy)]
pub(super) struct DriverPlan<F> {
    pub(super) driver: Driver,
    /// The rows of the driver, if each of them is an item and needs no test.
    pub(super) run: Option<Run<F>>,
    /// The number of rows of the driver.
    pub(super) len: u64,
}

impl<F> DriverPlan<F> {
    /// Returns `true` if the rows of the driver must be tested one by one.
    pub(super) fn is_sparse(&self) -> bool {
        self.run.is_none() && self.len > 0
    }
}

/// Returns the driver of a query and the number of its rows, given the matching tables.
pub(super) fn choose_driver<D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    tables: impl Iterator<Item = u32>,
) -> (Driver, u64) {
    let (data, filter) = states;
    let grouped = !visits_extra_rows::<D, F>(states);
    let mut best = if grouped { group::<D, F>(world, (data, filter), true) } else { None };
    let mut each = |id: ComponentId, kind: Kind| {
        if kind == Kind::Table {
            return;
        }
        let side = world.storage.sparse.storage_id(id);
        let (driver, len) = side.map_or((Driver::Empty, 0), |side| {
            (Driver::SparseStorage(side), world.storage.sparse.get(side).len().into())
        });
        if best.is_none_or(|(_, least)| len < least) {
            best = Some((driver, len));
        }
    };
    D::required(data, &mut each);
    F::required(filter, &mut each);
    if grouped
        && let Some((driver, len)) = group::<D, F>(world, (data, filter), false)
        && best.is_none_or(|(_, least)| len < least)
    {
        best = Some((driver, len));
    }
    let mut rows = 0;
    for table in tables {
        rows += u64::from(world.storage.tables[table as usize].len);
        if let Some((driver, least)) = best
            && rows >= least
        {
            return (driver, least);
        }
    }
    best.filter(|(_, least)| rows >= *least).unwrap_or((Driver::Tables, rows))
}

/// Returns the shortest of the groups that all items are members of, among those that own pools or those that do not.
///
/// Such a group requires nothing but what the query requires, and excludes nothing but what it excludes. Among equals the
/// one that owns most is taken.
fn group<D: QueryData, F: QueryFilter>(
    world: &World,
    (data, filter): (&D::State, &F::State),
    owning: bool,
) -> Option<(Driver, u64)> {
    let sparse = &world.storage.sparse;
    let requires = |side: &u32| {
        let mut found = false;
        let mut each = |id: ComponentId, _| found |= sparse.storage_id(id) == Some(*side);
        D::required(data, &mut each);
        F::required(filter, &mut each);
        found
    };
    let excludes = |side: &u32| {
        let mut found = false;
        let mut each = |id: ComponentId| found |= sparse.storage_id(id) == Some(*side);
        D::excluded(data, &mut each);
        F::excluded(filter, &mut each);
        found
    };
    let serves = |what: &GroupDesc| {
        what.owned.is_empty() != owning && what.required.iter().all(requires) && what.excluded.iter().all(excludes)
    };
    let groups = (0..).zip(sparse.groups()).filter(|(_, group)| serves(&group.desc));
    let best = groups.min_by(|(_, a), (_, b)| {
        let size = |group: &GroupData| (sparse.members(group).len(), usize::MAX - group.desc.owned.len());
        size(a).cmp(&size(b)).then_with(|| sparse.compare_groups(&a.desc, &b.desc))
    });
    best.map(|(number, group)| (Driver::Group(number), sparse.members(group).len() as u64))
}

/// Returns the group of a driver.
pub(super) fn group_of(world: &World, number: u32) -> &GroupData {
    match world.storage.sparse.groups().nth(number as usize) {
        Some(group) => group,
        None => unreachable!("the group was there at this epoch"),
    }
}

/// Returns the driver of a query, resolved, given the matching tables.
///
/// # Safety
///
/// The states are the world's.
pub(super) unsafe fn plan_driver<D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    tables: impl Iterator<Item = u32>,
) -> DriverPlan<D::Fetch> {
    let (driver, len) = choose_driver::<D, F>(world, states, tables);
    let run = match driver {
        // SAFETY: the caller's promise.
        Driver::SparseStorage(side) => unsafe { run_of_pool::<D, F>(world, states, side) },
        // SAFETY: the caller's promise.
        Driver::Group(number) => unsafe { run_of_group::<D, F>(world, states, group_of(world, number)) },
        Driver::Tables | Driver::Empty => None,
    };
    DriverPlan { driver, run, len }
}

/// Returns the rows of a pool, if they lie side by side and are the items.
///
/// # Safety
///
/// The states are the world's.
unsafe fn run_of_pool<D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    side: u32,
) -> Option<Run<D::Fetch>> {
    let Store::Pool(pool) = &world.storage.sparse.get(side).store else { return None };
    let (keys, owned, extra) = (pool.dense.keys()?, &[side], pool.extra_rows > 0);
    if extra && !visits_extra_rows::<D, F>(states) {
        return None;
    }
    // SAFETY: the keys are all of the pool, each at its position; and the caller's promise.
    unsafe { run::<D, F>(world, states, keys, (owned, owned, &[]), extra) }
}

/// Returns the rows of the pools that a group owns, if they are the items.
///
/// # Safety
///
/// The states and the group are the world's.
unsafe fn run_of_group<D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    group: &GroupData,
) -> Option<Run<D::Fetch>> {
    let GroupDesc { owned, required, excluded, .. } = &group.desc;
    let keys = world.storage.sparse.members(group);
    // SAFETY: members come first in the pools that their group owns, in one order; and the caller's promise.
    unsafe { run::<D, F>(world, states, keys, (owned, required, excluded), false) }
}

/// Returns these slots as a run: the first of the pools `owned`, known to be in the sides `has` and not in the sides `lacks`.
/// `extra` tells whether some of them are extra rows.
///
/// # Safety
///
/// The states are the world's, and what is said of the slots is so.
unsafe fn run<D: QueryData, F: QueryFilter>(
    world: &World,
    (data, filter): &States<D, F>,
    keys: &[Entity],
    (owned, has, lacks): (&[u32], &[u32], &[u32]),
    extra: bool,
) -> Option<Run<D::Fetch>> {
    let stores = AlignedStores { world, owned, has, lacks, keys: Some(NonNull::from(keys).cast()), extra };
    // SAFETY: the caller's promise.
    let fetch =
        unsafe { D::fetch_aligned(data, &stores) }.filter(|_| !keys.is_empty() && F::passes_all(filter, &stores))?;
    Some(Run { fetch, len: keys.len() as u32 })
}
