//! Which tables a query visits.
#![allow(unsafe_code)]

use super::iter::Run;
use super::{QueryData, QueryFilter};
use crate::change_detection::RunTicks;
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

/// The states of a query and of its filter.
pub(super) type States<D, F> = (<D as QueryData>::State, <F as QueryFilter>::State);

/// Returns the states of a query and its filter in a world, with the ticks of a run that has no predecessor.
pub(super) fn states_of<D: QueryData, F: QueryFilter>(world: &World) -> States<D, F> {
    let mut states = (D::state(&world.storage.components), F::state(&world.storage.components));
    set_ticks::<D, F>(&mut states, world.storage.run_ticks());
    states
}

/// Stores the change ticks of a run.
pub(super) fn set_ticks<D: QueryData, F: QueryFilter>((data, filter): &mut States<D, F>, ticks: RunTicks) {
    if D::TRACKS_CHANGES {
        D::set_ticks(data, ticks);
    }
    if F::TRACKS_CHANGES {
        F::set_ticks(filter, ticks);
    }
}

/// Returns `true` if a query or its filter visits extra rows.
#[inline(always)]
pub(super) fn visits_extra_rows<D: QueryData, F: QueryFilter>((data, filter): &States<D, F>) -> bool {
    D::visits_extra_rows(data) || F::visits_extra_rows(filter)
}

/// Returns `true` if the query visits rows of tables with this signature.
#[inline]
pub(super) fn matches_table<D: QueryData, F: QueryFilter>(states: &States<D, F>, signature: &Signature) -> bool {
    (!signature.has(ComponentId::ROW) || visits_extra_rows::<D, F>(states))
        && D::matches(&states.0, signature)
        && F::passes(&states.1, signature)
}

/// Returns `true` if a matching table matches now, as far as columns are tracked as wholes.
#[inline(always)]
pub(super) fn columns_match<D: QueryData, F: QueryFilter>(
    (data, filter): &States<D, F>,
    world: &World,
    table: u32,
) -> bool {
    let table = TableRef { world, table };
    (!D::TRACKS_CHANGES || D::column_matches(data, table)) && (!F::TRACKS_CHANGES || F::column_matches(filter, table))
}

/// Returns the next table after another, or the first, that matches and has rows.
#[inline]
pub(super) fn next_table<D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    after: Option<u32>,
) -> Option<u32> {
    let mut next = world.storage.table_order.next(after);
    while let Some(number) = next {
        let table = &world.storage.tables[number as usize];
        let matches =
            || matches_table::<D, F>(states, &table.signature) && columns_match::<D, F>(states, world, number);
        if table.len > 0 && matches() {
            return Some(number);
        }
        next = world.storage.table_order.next(Some(number));
    }
    None
}

/// Returns the tables after one, or all, that match and have rows.
pub(super) fn tables_after<'a, D: QueryData, F: QueryFilter>(
    world: &'a World,
    states: &'a States<D, F>,
    after: Option<u32>,
) -> impl Iterator<Item = u32> + use<'a, D, F> {
    let first = next_table::<D, F>(world, states, after);
    core::iter::successors(first, |&last| next_table::<D, F>(world, states, Some(last)))
}

/// Returns the next table after another, or the first, that matches and has rows, resolved.
///
/// # Safety
///
/// The query is dense, and the states are the world's.
#[inline(always)]
pub(super) unsafe fn next_run<D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    after: Option<u32>,
) -> Option<(u32, Run<D::Fetch>)> {
    let number = next_table::<D, F>(world, states, after)?;
    // SAFETY: the states are this world's, the query is dense, and the table matches.
    let fetch = unsafe { D::fetch(&states.0, world, number) };
    Some((number, Run { fetch, len: world.storage.tables[number as usize].len }))
}
