//! Inserts and removes a bundle slot by slot, as one operation.
//!
//! Everything is reserved before the first slot is changed. Listeners are called and displaced values are dropped after the last.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::bundle::Bundle;
use crate::error::StructuralError;
use crate::mutation::stash::{DropStash, Stash};
use crate::mutation::{Made, MadeRequired, Reserved};
use crate::signal::dispatch_catch;
use crate::sparse::SparseInserts;
use phalanx_store::{AllocError, Entity};

/// Inserts bundles into live slots that differ, one by one.
pub(super) fn insert_each<B: Bundle>(
    world: &mut World,
    slots: Vec<Entity>,
    bundles: Vec<B>,
) -> Result<(), StructuralError> {
    let mut stash = Stash::default();
    // Bundles of one type may have different optional components, and slots may lack different required ones.
    let mut bundle_ids = try_vec(slots.len())?;
    for (slot, bundle) in slots.iter().zip(&bundles) {
        let bundle_id = world.bundle_id_of(bundle)?;
        bundle_ids.push(world.bundle_for_slot(bundle_id, slot.index())?);
    }
    let moves = slots.iter().zip(&bundle_ids).map(|(slot, bundle_id)| (*slot, *bundle_id, true));
    reserve_each(world, moves, &mut stash)?;
    let mut required = MadeRequired::default();
    let mut made = make_required(world, slots.iter().copied().zip(bundle_ids.iter().copied()), &mut required)?;
    world.storage.begin_linked_entries();
    // Displaced values are dropped also if splitting a value panics.
    let mut ending = DropStash::new(&mut stash);
    for ((slot, bundle), bundle_id) in slots.into_iter().zip(bundles).zip(bundle_ids) {
        let from = world.storage.try_location(slot)?;
        let edge = world.bundles.edge(bundle_id, from.table, true);
        // SAFETY: the slot is at `from`, its edge for this bundle exists, and everything is reserved.
        unsafe {
            let write = |ptr| bundle.write(ptr);
            world.storage.move_row_with(Reserved::new(), (slot, from), edge, write, &mut made, ending.stash());
        };
    }
    drop(made);
    world.storage.sparse.release_pages();
    finish_each(world, ending);
    Ok(())
}

/// Removes a bundle from live slots that differ, one by one. Returns the number of slots that had any of its components.
pub(super) fn remove_each(world: &mut World, bundle_id: usize, slots: Vec<Entity>) -> Result<usize, StructuralError> {
    let (mut stash, mut count) = (Stash::default(), 0);
    reserve_each(world, slots.iter().map(|slot| (*slot, bundle_id, false)), &mut stash)?;
    world.storage.begin_linked_entries();
    for slot in slots {
        let from = world.storage.try_location(slot)?;
        let edge = world.bundles.edge(bundle_id, from.table, false);
        let has = |number: &u32| world.storage.sparse.get(*number).row(slot.index()).is_some();
        count += usize::from(edge.target != from.table || edge.sparse_removes.iter().any(has));
        // SAFETY: the slot is at `from`, its edge for this bundle exists, and everything is reserved.
        unsafe {
            world.storage.move_row_with(Reserved::new(), (slot, from), edge, |_| (), &mut Made::none(), &mut stash);
        }
    }
    world.storage.sparse.release_pages();
    finish_each(world, DropStash::new(&mut stash));
    Ok(count)
}

/// Creates the values of required components for the insertion of bundles into slots that differ. Their edges exist.
///
/// This is user code, and changes nothing.
pub(super) fn make_required<'m>(
    world: &World,
    inserts: impl Iterator<Item = (Entity, usize)>,
    required: &'m mut MadeRequired,
) -> Result<Made<'m>, StructuralError> {
    required.begin();
    for (slot, bundle_id) in inserts {
        let from = world.storage.try_location(slot)?;
        required.try_expect(&world.bundles.edge(bundle_id, from.table, true).required)?;
    }
    required.try_reserve()?;
    Ok(required.make())
}

/// Dispatches the changes of a batch, and drops the displaced values.
pub(super) fn finish_each(world: &mut World, mut ending: DropStash<'_>) {
    world.storage.link_entries();
    dispatch_catch!(world).resume();
    ending.run();
    drop(ending);
    world.apply_deferred();
}

/// Reserves everything that moving slots along the edges of bundles needs. With `true` the bundle is inserted into the slot,
/// otherwise removed from it.
pub(super) fn reserve_each(
    world: &mut World,
    moves: impl Iterator<Item = (Entity, usize, bool)> + Clone,
    stash: &mut Stash,
) -> Result<(), StructuralError> {
    for (slot, bundle_id, insert) in moves.clone() {
        world.edge(bundle_id, world.storage.try_location(slot)?.table, insert)?;
    }
    stash.begin();
    let World { bundles, storage, .. } = world;
    let mut entries = 0;
    let (mut sparse_inserts, mut needs) = (SparseInserts::new(), try_vec::<(u32, u32)>(storage.tables.len())?);
    needs.resize(storage.tables.len(), (0, 0));
    for (slot, bundle_id, insert) in moves {
        let source = storage.try_location(slot)?.table;
        let edge = bundles.edge(bundle_id, source, insert);
        storage.expect_move(slot.index(), edge, &mut sparse_inserts, stash)?;
        entries += storage.entries_of_edge(edge);
        let (rows, spare) = &mut needs[edge.target as usize];
        match edge.target == source {
            // A value that replaces another is written beyond the last row first.
            true => *spare = 1,
            false => *rows = rows.checked_add(1).ok_or(AllocError::CapacityOverflow)?,
        }
    }
    for (table, (rows, spare)) in (0..).zip(needs) {
        storage.reserve_table(table, rows.checked_add(spare).ok_or(AllocError::CapacityOverflow)?)?;
    }
    storage.reserve_linked_entries(entries)?;
    stash.try_reserve()?;
    // Values may move, even if one of several storages cannot grow.
    storage.restructured();
    let reserved = storage.sparse.try_reserve_all(&sparse_inserts);
    if reserved.is_err() {
        storage.sparse.release_pages();
    }
    Ok(reserved?)
}
