//! Which tables a query visits.
#![allow(unsafe_code)]

use super::QueryData;
use super::iter::Run;
use crate::component::ComponentId;
use crate::signature::Signature;
use crate::storage::table::Table;
use crate::world::World;

/// A table whose columns may be tracked as wholes.
///
/// Users see nothing but the signature: the values of the table may be borrowed for writing.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TableRef<'w> {
    pub(super) world: &'w World,
    pub(super) table: u32,
}

impl<'w> TableRef<'w> {
    pub(crate) fn new(world: &'w World, table: u32) -> Self {
        TableRef { world, table }
    }

    /// Returns the components of the table.
    pub fn signature(&self) -> &'w Signature {
        &self.table().signature
    }

    /// Returns the table.
    pub(super) fn table(&self) -> &'w Table {
        &self.world.storage.tables[self.table as usize]
    }

    /// Returns `true` if query data match the table.
    pub(super) fn matches<D: QueryData>(self, state: &D::State) -> bool {
        D::matches(state, self.signature()) && (!D::TRACKS_CHANGES || D::column_matches(state, self))
    }
}

/// Returns the state of a query in a world, with the ticks of a run that has no predecessor.
pub(super) fn state_of<Q: QueryData>(world: &World) -> Q::State {
    let mut state = Q::state(&world.storage.components);
    if Q::TRACKS_CHANGES {
        Q::set_ticks(&mut state, world.storage.run_ticks());
    }
    state
}

/// Returns `true` if the query visits rows of tables with this signature.
#[inline]
pub(super) fn matches_table<Q: QueryData>(state: &Q::State, signature: &Signature) -> bool {
    (!signature.has(ComponentId::ROW) || Q::visits_extra_rows(state)) && Q::matches(state, signature)
}

/// Returns `true` if a matching table matches now, as far as columns are tracked as wholes.
#[inline(always)]
pub(super) fn columns_match<Q: QueryData>(state: &Q::State, world: &World, table: u32) -> bool {
    !Q::TRACKS_CHANGES || Q::column_matches(state, TableRef { world, table })
}

/// Returns `true` if a table has rows, and the query visits them now.
#[inline(always)]
fn is_visited<Q: QueryData>(world: &World, state: &Q::State, number: u32) -> bool {
    let table = &world.storage.tables[number as usize];
    table.len > 0 && matches_table::<Q>(state, &table.signature) && columns_match::<Q>(state, world, number)
}

/// Returns the first table that matches and has rows, of those after one and before another, or of all.
// A filter may answer differently each time. So it decides which tables are visited, and never where iteration ends.
#[inline]
pub(super) fn next_table<Q: QueryData>(
    world: &World,
    state: &Q::State,
    [after, before]: [Option<u32>; 2],
) -> Option<u32> {
    let mut next = world.storage.table_order.next(after);
    while next != before {
        let number = next?;
        if is_visited::<Q>(world, state, number) {
            return Some(number);
        }
        next = world.storage.table_order.next(Some(number));
    }
    None
}

/// Returns the last table that matches and has rows, of those after one and before another, or of all.
pub(super) fn previous_table<Q: QueryData>(
    world: &World,
    state: &Q::State,
    [after, before]: [Option<u32>; 2],
) -> Option<u32> {
    let mut previous = world.storage.table_order.previous(before);
    while previous != after {
        let number = previous?;
        if is_visited::<Q>(world, state, number) {
            return Some(number);
        }
        previous = world.storage.table_order.previous(Some(number));
    }
    None
}

/// Returns the tables that match and have rows, of those after one and before another, or of all.
pub(super) fn tables_between<'a, Q: QueryData>(
    world: &'a World,
    state: &'a Q::State,
    [after, before]: [Option<u32>; 2],
) -> impl Iterator<Item = u32> + use<'a, Q> {
    let next = move |after| next_table::<Q>(world, state, [after, before]);
    core::iter::successors(next(after), move |&last| next(Some(last)))
}

/// Returns the rows of a table that matches, resolved.
///
/// # Safety
///
/// The query is dense, or no row has one of its sides. The state is the world's, and the table is one of its tables and matches.
#[inline(always)]
pub(super) unsafe fn run_of<Q: QueryData>(world: &World, state: &Q::State, table: u32) -> Run<Q::Fetch> {
    // SAFETY: the caller's contract is that of the fetch. Without sides, all rows lack them.
    let fetch = unsafe {
        match Q::IS_DENSE {
            true => Some(Q::fetch(state, world, table)),
            false => Q::fetch_rows(state, TableRef { world, table }, None),
        }
    };
    let Some(fetch) = fetch else { unreachable!("rows that lack all sides match") };
    Run { fetch, first: 0, len: world.storage.tables[table as usize].len }
}
