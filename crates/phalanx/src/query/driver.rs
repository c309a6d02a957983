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
use super::visited_row::ColumnPtr;
use super::{AlignedStores, QueryData};
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::sparse::{GroupData, GroupDesc, Store};
use crate::world::World;

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
pub(super) fn choose_driver<Q: QueryData>(
    world: &World,
    state: &Q::State,
    tables: impl Iterator<Item = u32>,
) -> (Driver, u64) {
    let uses_groups = !Q::visits_extra_rows(state);
    let mut best = if uses_groups { group::<Q>(world, state, true) } else { None };
    let mut each = |id: ComponentId, kind: Kind| {
        if kind == Kind::Table {
            return;
        }
        let number = world.storage.sparse.storage_id(id);
        let (driver, len) = number.map_or((Driver::Empty, 0), |number| {
            (Driver::SparseStorage(number), world.storage.sparse.get(number).len().into())
        });
        if best.is_none_or(|(_, least)| len < least) {
            best = Some((driver, len));
        }
    };
    Q::required(state, &mut each);
    if uses_groups
        && let Some((driver, len)) = group::<Q>(world, state, false)
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
fn group<Q: QueryData>(world: &World, state: &Q::State, owning: bool) -> Option<(Driver, u64)> {
    let sparse = &world.storage.sparse;
    let requires = |number: &u32| {
        let mut found = false;
        Q::required(state, &mut |id, _| found |= sparse.storage_id(id) == Some(*number));
        found
    };
    let excludes = |number: &u32| {
        let mut found = false;
        Q::excluded(state, &mut |id| found |= sparse.storage_id(id) == Some(*number));
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
/// The state is the world's.
pub(super) unsafe fn plan_driver<Q: QueryData>(
    world: &World,
    state: &Q::State,
    tables: impl Iterator<Item = u32>,
) -> DriverPlan<Q::Fetch> {
    let (driver, len) = choose_driver::<Q>(world, state, tables);
    let run = aligned_rows(world, &driver, Q::visits_extra_rows(state)).and_then(|(stores, len)| {
        // SAFETY: the state is the world's, by the caller's contract.
        Some(Run { fetch: unsafe { Q::fetch_aligned(state, &stores) }?, first: 0, len })
    });
    DriverPlan { driver, run, len }
}

/// Returns the rows of a driver and their number, if they have the same positions in all stores that the driver owns.
///
/// Those are a pool, or the pools that a group owns: members come first in them, in one order. There must be rows, and extra
/// rows among them must be visited.
fn aligned_rows<'a>(world: &'a World, driver: &'a Driver, extra_rows: bool) -> Option<(AlignedStores<'a>, u32)> {
    let sparse = &world.storage.sparse;
    let (keys, stores) = match driver {
        Driver::Tables | Driver::Empty => return None,
        Driver::SparseStorage(number) => {
            let Store::Pool(pool) = &sparse.get(*number).store else { return None };
            let owned = core::slice::from_ref(number);
            (
                pool.dense.keys()?,
                AlignedStores { world, owned, has: owned, lacks: &[], keys: None, extra: pool.extra_rows > 0 },
            )
        }
        Driver::Group(number) => {
            let group = group_of(world, *number);
            let GroupDesc { owned, required: has, excluded: lacks, .. } = &group.desc;
            (sparse.members(group), AlignedStores { world, owned, has, lacks, keys: None, extra: false })
        }
    };
    let stores = AlignedStores { keys: Some(ColumnPtr::new(keys)), ..stores };
    (!keys.is_empty() && (extra_rows || !stores.extra)).then_some((stores, keys.len() as u32))
}
