//! Finding the item of one entity.
#![allow(unsafe_code)]

use super::iter::StateRef;
use super::{Candidate, Filtered, ItemRow, Mismatch, QueryData, QueryFilter, ReadOnlyQueryData, TableRef, VisitedRow};
use crate::error::ComponentError;
use crate::world::World;
use phalanx_store::Entity;

/// Returns the row of an entity, or an extra row, for the views of its world.
#[inline(always)]
pub(super) fn row_of(world: &World, entity: Entity) -> Result<VisitedRow, ComponentError> {
    let location = world.storage.try_location(entity)?;
    // SAFETY: the entity is alive, at this location. Callers pass the row with views of this world, which is borrowed; these have
    // no driver, so that the position is not used.
    Ok(unsafe { VisitedRow::new(entity.index(), Some(entity), 0, location) })
}

/// Returns the item of an entity, or of an extra row. With `WRITES`, timelines count it as written.
///
/// # Safety
///
/// - Without `WRITES`, the data only read.
/// - The state is the world's.
/// - The world is borrowed for `'w` as the query needs it, the query does not alias, and no other item of the row that lives
///   in `'w` conflicts.
#[inline]
pub(super) unsafe fn item_of<'w, D: QueryData, F: QueryFilter, const WRITES: bool>(
    world: &World,
    state: &(D::State, F::State),
    entity: Entity,
) -> Result<D::Item<'w>, ComponentError> {
    count_lookup::<D>(world);
    let row = row_of(world, entity)?;
    // SAFETY: the caller's contract is the same.
    unsafe { item_at::<D, F, WRITES>(world, state, row) }.ok_or_else(|| {
        let mismatch = Filtered::<D, F>::mismatch(state, &Candidate::of_row(world, row, None));
        mismatch.unwrap_or(Mismatch::Missing(core::any::type_name::<D>())).error(entity)
    })
}

/// Counts that a query is asked for one entity, if the world counts accesses.
#[inline(always)]
fn count_lookup<D: QueryData>(_world: &World) {
    #[cfg(feature = "counters")]
    if _world.storage.counting {
        _world.storage.components.count_lookups::<D>();
    }
}

/// Returns the item of a row, if it matches. With `WRITES`, timelines count it as written.
///
/// # Safety
///
/// Like [`item_of`].
#[inline(always)]
unsafe fn item_at<'w, D: QueryData, F: QueryFilter, const WRITES: bool>(
    world: &World,
    state: &(D::State, F::State),
    row: VisitedRow,
) -> Option<D::Item<'w>> {
    let location = row.location();
    if WRITES {
        world.storage.touch_row::<D>(row.index(), location);
    }
    if !Filtered::<D, F>::IS_DENSE {
        // SAFETY: the state is the world's, which is borrowed, and no item conflicts, by the caller's contract.
        let item = unsafe { Filtered::<D, F>::at(state, Filtered::<D, F>::view(state, world, None), row.item())? };
        if Filtered::<D, F>::TRACKS_CHANGES {
            Filtered::<D, F>::set_column_ticks(state, world, Some(location.table));
            Filtered::<D, F>::set_column_ticks(state, world, None);
        }
        return Some(item);
    }
    if !(TableRef { world, table: location.table }.matches::<Filtered<D, F>>(state)) {
        return None;
    }
    if Filtered::<D, F>::TRACKS_CHANGES {
        Filtered::<D, F>::set_column_ticks(state, world, Some(location.table));
    }
    // SAFETY: the query is dense, the table matches, and the row is in use; the rest by the caller's contract.
    Some(unsafe {
        Filtered::<D, F>::row(
            Filtered::<D, F>::fetch(state, world, location.table),
            ItemRow::new(location.row as usize),
        )
    })
}

/// A query whose items are found one by one.
pub(crate) struct Lookup<'w, 's, D: QueryData, F: QueryFilter> {
    world: &'w World,
    state: StateRef<'s, (D::State, F::State)>,
}

impl<'w, 's, D: QueryData, F: QueryFilter> Lookup<'w, 's, D, F> {
    /// # Safety
    ///
    /// The state is the world's. The world is borrowed for `'w` as the query needs it, and the query does not alias.
    pub(super) unsafe fn new(world: &'w World, state: StateRef<'s, (D::State, F::State)>) -> Self {
        Lookup { world, state }
    }

    /// Returns the world of the query.
    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    /// Returns the item of an entity, if it is alive and matches.
    ///
    /// # Safety
    ///
    /// No other item of the entity that lives in `'w` conflicts.
    #[inline]
    pub(crate) unsafe fn item(&self, entity: Entity) -> Option<D::Item<'w>> {
        count_lookup::<D>(self.world);
        let row = row_of(self.world, entity).ok()?;
        // SAFETY: the contract of `new`, and that of the caller.
        unsafe { item_at::<D, F, true>(self.world, self.state.get(), row) }
    }
}

/// Returns the item of an entity, or of an extra row, if it is alive and matches. Unlike [`item_of`], it is not counted.
///
/// # Safety
///
/// The state is the world's, and the world is borrowed for `'w` as the query needs it.
pub(super) unsafe fn find_item<'w, Q: ReadOnlyQueryData>(
    world: &'w World,
    state: &Q::State,
    entity: Entity,
) -> Option<Q::Item<'w>> {
    let row = row_of(world, entity).ok()?;
    // SAFETY: the state is the world's, by the caller's contract. The world is borrowed for `'w`, and the query only reads.
    unsafe { Q::at(state, Q::view(state, world, None), row.item()) }
}

/// Returns `true` if an entity is alive and matches.
///
/// # Safety
///
/// The state is the world's.
pub(super) unsafe fn contains<Q: QueryData>(world: &World, state: &Q::State, entity: Entity) -> bool {
    row_of(world, entity).is_ok_and(|row| match Q::IS_DENSE {
        true => TableRef { world, table: row.location().table }.matches::<Q>(state),
        // SAFETY: the state is the world's, by the caller's contract, and it is borrowed.
        false => Q::matches_row(state, unsafe { Q::view(state, world, None) }, row),
    })
}
