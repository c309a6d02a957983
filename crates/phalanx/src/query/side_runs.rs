//! Tables divided by their sides: rows that have a sparse component and rows that lack it.
//!
//! A query over tables may ask for sparse components that its rows need not have: `Option<&C>`, `Has<C>`, `Without<C>`. These are
//! its *sides*. If few rows have one, tables are divided: rows that lack all sides are one run from each row that has a side to
//! the next, and each of the others is a run by itself. So no row is tested.
#![allow(unsafe_code)]

use super::iter::Run;
use super::table_ref::columns_match;
use super::{QueryData, TableRef, VisitedRow};
use crate::world::{Location, World};

/// How many times as many rows as values of sides there must be, so that dividing tables pays.
const FEW: u64 = 16;

/// Returns the number of values of all sides, or `None` if rows must be tested one by one.
fn count_sides<Q: QueryData>(world: &World, state: &Q::State) -> Option<u64> {
    let mut values = 0;
    let each = &mut |id| values += world.storage.sparse.of(id).map_or(0, |store| u64::from(store.len()));
    Q::sides(state, each).then_some(values)
}

/// Returns `true` if no row needs a test, because none has a side.
pub(super) fn has_no_sides<Q: QueryData>(world: &World, state: &Q::State) -> bool {
    count_sides::<Q>(world, state) == Some(0)
}

/// Adds the rows of matching tables, which are `rows` together, if few of them have a side. Otherwise it returns `false`.
///
/// # Safety
///
/// The state is the world's, and the tables are tables of it that match.
pub(super) unsafe fn push_side_runs<Q: QueryData>(
    world: &World,
    state: &Q::State,
    tables: &[u32],
    rows: u64,
    runs: &mut Vec<Run<Q::Fetch>>,
) -> bool {
    let Some(values) = count_sides::<Q>(world, state) else { return false };
    if values.saturating_mul(FEW) > rows {
        return false;
    }
    let places = if values == 0 { Vec::new() } else { places::<Q>(world, state, values as usize) };
    let mut places = places.as_slice();
    for &number in tables {
        let (table, at) = (&world.storage.tables[number as usize], TableRef { world, table: number });
        // The places of tables that do not match are left out. Both lists have the tables in the same order.
        let before = places.partition_point(|place| place.0 < table.stamp);
        let here = places[before..].partition_point(|place| place.0 == table.stamp);
        let with_side;
        (with_side, places) = places[before..].split_at(here);
        if !columns_match::<Q>(state, world, number) {
            continue;
        }
        // SAFETY: the sides are known, the state is the world's, and the table matches, by the caller's contract. The fetch is
        // used for rows that are not listed as having a side.
        let Some(fetch) = (unsafe { Q::fetch_rows(state, at, None) }) else {
            unreachable!("rows that lack all sides match")
        };
        let mut first = 0;
        for &(_, row, slot) in with_side {
            if first < row {
                runs.push(Run { fetch, first, len: row - first });
            }
            first = row + 1;
            // SAFETY: the slot is in use, at this location. The row is used with this world, which is borrowed.
            let visited = unsafe { VisitedRow::new(slot, None, 0, Location { table: number, row }) };
            // SAFETY: as above. The row is one of the table, and the fetch is used for it alone.
            if let Some(fetch) = unsafe { Q::fetch_rows(state, at, Some(visited)) } {
                runs.push(Run { fetch, first: row, len: 1 });
            }
        }
        if first < table.len {
            runs.push(Run { fetch, first, len: table.len - first });
        }
    }
    true
}

/// Returns where the rows are that have a side, in the order of tables and rows: the stamp of the table, the row and its slot.
fn places<Q: QueryData>(world: &World, state: &Q::State, values: usize) -> Vec<(u64, u32, u32)> {
    let mut places = Vec::with_capacity(values);
    Q::sides(state, &mut |id| {
        let store = world.storage.sparse.of(id);
        let slots = store.into_iter().flat_map(|store| store.slots_and_rows()).map(|(slot, _)| slot);
        places.extend(slots.map(|slot| {
            // SAFETY: a slot that has a value is in use, so its location is written.
            let at = unsafe { world.storage.entities.payload_unchecked(slot) };
            (world.storage.tables[at.table as usize].stamp, at.row, slot)
        }));
    });
    places.sort_unstable();
    places.dedup();
    places
}
