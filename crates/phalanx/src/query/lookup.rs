//! Finding the item of one entity.
#![allow(unsafe_code)]

use super::{Candidate, Filtered, ItemRow, Mismatch, QueryData, QueryFilter, ReadOnlyQueryData, TableRef, VisitedRow};
use crate::error::ComponentError;
use crate::world::World;
use phalanx_store::Entity;

/// Returns the row of an entity, or an extra row, for the views of its world.
#[inline(always)]
fn row_of(world: &World, entity: Entity) -> Result<VisitedRow, ComponentError> {
    let location = world.storage.try_location(entity)?;
    // SAFETY: the entity is alive, at this location. Callers pass the row with views of this world, which is borrowed; these have
    // no driver, so that the position is not used.
    Ok(unsafe { VisitedRow::new(entity.index(), Some(entity), 0, location) })
}

/// Returns the item of an entity, or of an extra row.
///
/// # Safety
///
/// - The state is the world's.
/// - The world is borrowed for `'w` as the query needs it, the query does not alias, and no other item of the row that lives
///   in `'w` conflicts.
#[inline]
pub(super) unsafe fn item_of<'w, D: QueryData, F: QueryFilter>(
    world: &World,
    state: &(D::State, F::State),
    entity: Entity,
) -> Result<D::Item<'w>, ComponentError> {
    #[cfg(feature = "counters")]
    if world.storage.counting {
        world.storage.components.count_lookups::<D>();
    }
    let row = row_of(world, entity)?;
    let location = row.location();
    world.storage.touch_row::<D>(entity.index(), location);
    let mismatch = || {
        let mismatch = Filtered::<D, F>::mismatch(state, &Candidate::of_row(world, row, None));
        mismatch.unwrap_or(Mismatch::Missing(core::any::type_name::<D>())).error(entity)
    };
    if !Filtered::<D, F>::IS_DENSE {
        // SAFETY: the state is the world's, which is borrowed, and no item conflicts, by the caller's contract.
        let item = unsafe { Filtered::<D, F>::at(state, Filtered::<D, F>::view(state, world, None), row.item()) }
            .ok_or_else(mismatch)?;
        if Filtered::<D, F>::TRACKS_CHANGES {
            Filtered::<D, F>::set_column_ticks(state, world, Some(location.table));
            Filtered::<D, F>::set_column_ticks(state, world, None);
        }
        return Ok(item);
    }
    if !(TableRef { world, table: location.table }.matches::<Filtered<D, F>>(state)) {
        return Err(mismatch());
    }
    if Filtered::<D, F>::TRACKS_CHANGES {
        Filtered::<D, F>::set_column_ticks(state, world, Some(location.table));
    }
    // SAFETY: the query is dense, the table matches, and the row is in use; the rest by the caller's contract.
    Ok(unsafe {
        Filtered::<D, F>::row(
            Filtered::<D, F>::fetch(state, world, location.table),
            ItemRow::new(location.row as usize),
        )
    })
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
