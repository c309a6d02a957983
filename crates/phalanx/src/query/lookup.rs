//! Finding the item of one entity.
#![allow(unsafe_code)]

use super::table_ref::{States, columns_match};
use super::{Candidate, ItemRow, Mismatch, QueryData, QueryFilter, RowRef};
use crate::error::ComponentError;
use crate::world::World;
use phalanx_store::Entity;

/// Returns the row of an entity, or an extra row, for the views of its world.
#[inline(always)]
fn row_of(world: &World, entity: Entity) -> Result<RowRef, ComponentError> {
    let location = world.storage.try_location(entity)?;
    // SAFETY: the entity is alive, at this location; callers pass the row with views of this world, which is borrowed.
    Ok(unsafe { RowRef::new(entity.index(), Some(entity), 0, location) })
}

/// Returns the item of an entity, or of an extra row.
///
/// # Safety
///
/// - The states are the world's.
/// - The world is borrowed for `'w` as the query needs it, the query does not alias, and no other item of the row that lives
///   in `'w` conflicts.
#[inline]
pub(super) unsafe fn item_of<'w, D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    entity: Entity,
) -> Result<D::Item<'w>, ComponentError> {
    #[cfg(feature = "counters")]
    if world.storage.counting {
        world.storage.components.count_lookups::<D>();
    }
    let (data, filter) = states;
    let row = row_of(world, entity)?;
    let location = row.location();
    world.mark_for::<D>(entity.index(), location);
    let candidate = Candidate::of_row(world, row, None);
    let mismatch = || {
        let mismatch = D::mismatch(data, &candidate).or_else(|| F::mismatch(filter, &candidate));
        mismatch.unwrap_or(Mismatch::Missing(core::any::type_name::<D>())).error(entity)
    };
    if !(D::IS_DENSE && F::IS_ARCHETYPAL) {
        let item = || {
            // SAFETY: the states are the world's, which is borrowed, and no item conflicts, by the caller's contract.
            let item = unsafe { D::at(data, D::view(data, world, None), row.item()) }?;
            if D::TRACKS_CHANGES {
                D::set_column_ticks(data, world, Some(location.table));
                D::set_column_ticks(data, world, None);
            }
            Some(item)
        };
        return F::passes_row(filter, &candidate).then(item).flatten().ok_or_else(mismatch);
    }
    if !matches_now::<D, F>(states, world, location.table) {
        return Err(mismatch());
    }
    if D::TRACKS_CHANGES {
        D::set_column_ticks(data, world, Some(location.table));
    }
    // SAFETY: the query is dense, the table matches, and the row is in use; the rest by the caller's contract.
    Ok(unsafe { D::row(D::fetch(data, world, location.table), ItemRow::new(location.row as usize)) })
}

/// Returns `true` if a table matches and its columns match now.
#[inline(always)]
fn matches_now<D: QueryData, F: QueryFilter>(states: &States<D, F>, world: &World, table: u32) -> bool {
    let signature = &world.storage.tables[table as usize].signature;
    D::matches(&states.0, signature) && F::passes(&states.1, signature) && columns_match::<D, F>(states, world, table)
}

/// Returns `true` if an entity is alive and matches.
///
/// # Safety
///
/// The states are the world's.
pub(super) unsafe fn contains<D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    entity: Entity,
) -> bool {
    let (data, filter) = states;
    row_of(world, entity).is_ok_and(|row| {
        if D::IS_DENSE && F::IS_ARCHETYPAL {
            return matches_now::<D, F>(states, world, row.location().table);
        }
        F::passes_row(filter, &Candidate::of_row(world, row, None))
            // SAFETY: the states are the world's, by the caller's contract, and it is borrowed.
            && D::matches_row(data, unsafe { D::view(data, world, None) }, row)
    })
}
