//! Finding the item of one entity.
#![allow(unsafe_code)]

use super::table_ref::{States, columns_match};
use super::{Candidate, Mismatch, QueryData, QueryFilter, RowRef};
use crate::error::ComponentError;
use crate::world::World;
use phalanx_store::Entity;

/// Returns the item of an entity, or of an extra row.
///
/// # Safety
///
/// The states are the world's. The world is borrowed for `'w` as the query needs it, and the query does not alias.
#[inline]
pub(super) unsafe fn item_of<'w, D: QueryData, F: QueryFilter>(
    world: &World,
    states: &States<D, F>,
    entity: Entity,
) -> Result<D::Item<'w>, ComponentError> {
    #[cfg(feature = "counters")]
    if world.storage.counting {
        world.count_lookups::<D>();
    }
    let (data, filter) = states;
    let location = world.storage.try_location(entity)?;
    world.storage.touch_row::<D>(entity.index(), location);
    // SAFETY: the entity is alive.
    let row = unsafe { Candidate::new(world, entity.index(), None) };
    let mismatch = || {
        let mismatch = D::mismatch(data, &row).or_else(|| F::mismatch(filter, &row));
        mismatch.unwrap_or(Mismatch::Missing(core::any::type_name::<D>())).error(entity)
    };
    if !(D::IS_DENSE && F::IS_ARCHETYPAL) {
        let row_ref = RowRef { index: entity.index(), key: Some(entity), position: 0, location };
        // SAFETY: the row is the world's; and the caller's promise.
        let item = || unsafe {
            let item = D::at(data, D::view(data, world, None), row_ref)?;
            if D::TRACKS_CHANGES {
                D::mark(data, world, Some(location.table));
                D::mark(data, world, None);
            }
            Some(item)
        };
        return F::passes_row(filter, &row).then(item).flatten().ok_or_else(mismatch);
    }
    let signature = &world.storage.tables[location.table as usize].signature;
    let matches = D::matches(data, signature) && F::passes(filter, signature);
    if !(matches && columns_match::<D, F>(states, world, location.table)) {
        return Err(mismatch());
    }
    if D::TRACKS_CHANGES {
        // SAFETY: the states are this world's.
        unsafe { D::mark(data, world, Some(location.table)) };
    }
    // SAFETY: the query is dense, the table matches, the row is in use; and the caller's promise.
    Ok(unsafe { D::row(D::fetch(data, world, location.table), location.row as usize) })
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
    world.storage.try_location(entity).is_ok_and(|location| {
        if !(D::IS_DENSE && F::IS_ARCHETYPAL) {
            let row = RowRef { index: entity.index(), key: Some(entity), position: 0, location };
            // SAFETY: the states are the world's, by the caller's promise, and the entity is alive and at this location.
            return unsafe {
                F::passes_row(filter, &Candidate::new(world, row.index, None))
                    && D::matches_row(data, D::view(data, world, None), row)
            };
        }
        let signature = &world.storage.tables[location.table as usize].signature;
        D::matches(data, signature)
            && F::passes(filter, signature)
            && columns_match::<D, F>(states, world, location.table)
    })
}
