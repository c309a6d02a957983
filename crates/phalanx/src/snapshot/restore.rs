//! A world that is being filled from a snapshot: each step checks what it is told before it believes it.
//!
//! # Invariants
//!
//! Until the last step the world has entities without rows, which nobody sees: it is dropped if anything is wrong. A table
//! counts rows only when all their values are there, and so does a side.
#![allow(unsafe_code)]

use super::column::{Made, Runs};
use super::error::Problem;
use super::save::HOLE;
use crate::alloc::try_vec;
use crate::component::{ComponentId, ComponentInfo};
use crate::group::GroupError;
use crate::rows::{Label, Link, NONE, Role};
use crate::signature::Signature;
use crate::sparse::{GroupDesc, Removal, Store};
use crate::world::{Location, World};
use phalanx_store::{AllocError, Entity, EntityPool};

fn slot_is<T>(slot: u32, what: &'static str) -> Result<T, Problem> {
    Err(Problem::Slot { slot, what })
}

/// Makes the slots: who is alive, who is next.
pub(super) fn slots(world: &mut World, words: &[u32], free: &[u32]) -> Result<(), Problem> {
    // SAFETY: what names a row stays in tables and sides.
    world.storage.entities = unsafe { EntityPool::try_restore_with_rows(words, free, Location::NOWHERE)? };
    Ok(())
}

/// Makes a table, which is without rows.
pub(super) fn table(world: &mut World, signature: &Signature) -> Result<u32, Problem> {
    let number = world.storage.table_of(signature)?;
    // Every table of a snapshot has rows.
    match world.storage.tables[number as usize].len {
        0 => Ok(number),
        _ => Err(Problem::Invalid("a table with the components of another")),
    }
}

/// Makes room for the names of so many rows of a table, if there can be so many: each slot has shown its word.
pub(super) fn rows_room(world: &mut World, number: u32, rows: u32) -> Result<(), Problem> {
    match rows as usize <= world.storage.entities.len() + world.storage.entities.row_count() {
        true => Ok(world.storage.tables[number as usize].entities.try_grow(rows)?),
        false => Ok(()),
    }
}

/// Says whose the next rows of a table are; the table does not count them yet.
pub(super) fn rows(world: &mut World, number: u32, first: u32, slots: &[u32]) -> Result<(), Problem> {
    let table = &mut world.storage.tables[number as usize];
    let extra = table.signature.has(ComponentId::ROW);
    let needed = first.checked_add(slots.len() as u32).ok_or(AllocError::CapacityOverflow)?;
    table.entities.try_grow(needed)?;
    let (places, entities) = (world.storage.entities.places(), table.entities.ptr());
    for (&slot, row) in slots.iter().zip(first..) {
        // SAFETY: what names a row stays in the table.
        let Some(entity) = (unsafe { world.storage.entities.occupant(slot) }) else {
            return slot_is(slot, "has a row in a table and is not alive");
        };
        match (entity.is_row(), extra) {
            (true, false) => return slot_is(slot, "is an extra row in a table of entities"),
            (false, true) => return slot_is(slot, "is an entity in a table of extra rows"),
            _ => {}
        }
        // SAFETY: a slot that is alive has a location; there is room for the row.
        unsafe {
            let location = places.at(slot);
            if *location != Location::NOWHERE {
                return slot_is(slot, "has a row in a table twice");
            }
            *location = Location { table: number, row };
            entities.add(row as usize).write(entity);
        }
    }
    Ok(())
}

/// The place for the values of a column of a table that does not count its rows yet.
pub(super) fn column(world: &World, number: u32, id: ComponentId, rows: u32) -> Result<Made<'static>, Problem> {
    let table = &world.storage.tables[number as usize];
    let Some(column) = table.column(id) else { return Err(Problem::Invalid("a column that its table does not have")) };
    // SAFETY: the lanes are the column's, in a block that stays; the table counts no rows.
    Ok(unsafe {
        Made::new(table.lanes().add(column.first as usize), world.storage.components.info(id), Runs::All(rows))
    })
}

/// Counts the rows of a table, whose values are all there.
///
/// # Safety
///
/// They are, in every column, and the caller gives them up; and so many [`rows`] were named.
pub(super) unsafe fn settle_table(world: &mut World, number: u32, rows: u32) -> Result<(), Problem> {
    let table = &mut world.storage.tables[number as usize];
    if table.signature.has(ComponentId::ROW) {
        for lane in 0..3 {
            // SAFETY: the reserved component's lanes are the first three. They grow.
            unsafe { (*table.lanes().add(lane)).try_resize(rows.max(1))? };
        }
        if let Some(lanes) = table.row_lanes() {
            for row in 0..rows as usize {
                // SAFETY: there is room for so many rows. Until its name is read, a row is its own.
                unsafe {
                    lanes.owners.add(row).write(*table.entities.at(row as u32));
                    lanes.links.add(row).write(Link { prev: NONE, next: NONE });
                }
            }
        }
    }
    table.settle_capacity();
    // SAFETY: the caller's promise; the room is that of all lanes.
    unsafe { table.set_len(rows, &mut world.storage.table_order) };
    world.storage.restructured();
    Ok(())
}

/// Gives an extra row its name: those of one entity in the order of their making, owners ascending.
pub(super) fn name_row(
    world: &mut World,
    last: Option<(u32, u32)>,
    slot: u32,
    owner: u32,
    component: Option<ComponentId>,
    role: u32,
) -> Result<(), Problem> {
    // SAFETY: what names a row stays here.
    let Some(row) = (unsafe { world.storage.entities.occupant(slot) }).filter(|row| row.is_row()) else {
        return slot_is(slot, "has a name of a row and is none");
    };
    let Some(entity) = world.storage.entities.get(owner) else { return slot_is(owner, "owns a row and is no entity") };
    let Some(label) = Label::of(component, Role(role)) else { return slot_is(slot, "has the name of a main row") };
    if last.is_some_and(|(before, _)| before > owner) {
        return slot_is(owner, "owns a row and does not come in its order");
    }
    if world.storage.rows.by_name.contains_key(&(owner, label)) {
        return slot_is(slot, "has the name of another row");
    }
    world.storage.rows.try_reserve(1, 1, world.storage.entities.slot_count())?;
    // SAFETY: every slot that is alive has a location in a table, an extra row in one of extra rows: that was checked when
    // all tables were there.
    let at = unsafe { *world.storage.entities.places().at(slot) };
    let Some(lanes) = world.storage.tables[at.table as usize].row_lanes() else {
        return slot_is(slot, "is an extra row in a table of entities");
    };
    // SAFETY: the row is in use, and nobody else uses the world.
    unsafe {
        if *lanes.owners.add(at.row as usize) != row {
            return slot_is(slot, "has two names");
        }
        lanes.owners.add(at.row as usize).write(entity);
        lanes.labels.add(at.row as usize).write(label);
    }
    world.storage.rows.by_name.insert((owner, label), slot);
    match last.filter(|(before, _)| *before == owner) {
        None => {
            world.storage.rows.begin(owner, slot);
            // SAFETY: an extra row that is in use.
            unsafe { (*link(world, slot)).prev = slot };
        }
        Some((_, before)) => {
            let first = world.storage.rows.first[&owner];
            // SAFETY: extra rows that are in use.
            unsafe {
                (*link(world, before)).next = slot;
                (*link(world, slot)).prev = before;
                (*link(world, first)).prev = slot;
            }
        }
    }
    Ok(())
}

/// # Safety
///
/// The slot is an extra row in a table that counts it.
unsafe fn link(world: &World, slot: u32) -> *mut Link {
    // SAFETY: the caller's promise.
    unsafe {
        let at = *world.storage.entities.places().at(slot);
        let lanes = world.storage.tables[at.table as usize].row_lanes().unwrap_unchecked();
        lanes.links.add(at.row as usize)
    }
}

/// Makes the next side, empty.
pub(super) fn side(world: &mut World, id: ComponentId, number: u32) -> Result<(), Problem> {
    match world.storage.sparse.try_register(id, &world.storage.components)? == number {
        true => Ok(()),
        false => Err(Problem::Invalid("a component with two stores")),
    }
}

/// Checks that the slots with these bits may have values, and counts the extra rows among them.
pub(super) fn alive(world: &World, bits: Runs<'_>) -> Result<u32, Problem> {
    let mut rows = 0;
    for run in bits.iter() {
        for slot in run {
            rows += u32::from(occupant(&world.storage.entities, slot)?.is_row());
        }
    }
    Ok(rows)
}

fn occupant(entities: &EntityPool<Location>, slot: u32) -> Result<Entity, Problem> {
    // SAFETY: what names a row stays in the sides.
    match unsafe { entities.occupant(slot) } {
        Some(entity) => Ok(entity),
        None => slot_is(slot, "has a value and is not alive"),
    }
}

/// Makes room for the values of a pool, in the marks, and in the rows too if there are holes among them.
pub(super) fn pool_room(world: &mut World, side: u32, positions: u32, removal: Removal) -> Result<(), Problem> {
    let Store::Pool(pool) = &mut world.storage.sparse.get_mut(side).store else {
        return Err(Problem::Invalid("a pool for a component that is kept elsewhere"));
    };
    pool.dense.try_reserve(positions)?;
    world.storage.sparse.set_removal(side, removal);
    Ok(())
}

/// Makes room for the values of a linear store up to this slot.
pub(super) fn linear_room(world: &mut World, side: u32, last: u32) -> Result<(), Problem> {
    let Store::Linear(linear) = &mut world.storage.sparse.get_mut(side).store else {
        return Err(Problem::Invalid("a linear store for a component that is kept elsewhere"));
    };
    Ok(linear.try_cover(last)?)
}

/// The place for the values of a side that counts none yet. Set bits have room.
pub(super) fn side_column<'a>(world: &mut World, side: u32, info: &ComponentInfo, runs: Runs<'a>) -> Made<'a> {
    // SAFETY: the lanes are the side's, which counts no values, and stay in their block.
    unsafe { Made::new(world.storage.sparse.lanes_mut(side), info, runs) }
}

/// Counts the values of a pool, which are there, as those of these slots; [`HOLE`]s are among them.
///
/// # Safety
///
/// The values are there, each at the position of its slot in the list, and the caller gives them up, unless it fails.
pub(super) unsafe fn fill_pool(world: &mut World, side: u32, keys: &[u32]) -> Result<(), Problem> {
    let entities = &world.storage.entities;
    let key = |&key: &u32| if key == HOLE { Ok(None) } else { occupant(entities, key).map(Some) };
    // A hole is none of them: one more is zero.
    let slots = keys.iter().fold(0, |most: u32, key| most.max(key.wrapping_add(1)));
    if slots as usize > entities.slot_count() {
        return keys.iter().try_for_each(|slot| key(slot).map(drop));
    }
    let twice = |slot: Entity| Problem::Slot { slot: slot.index(), what: "is in a pool twice" };
    // SAFETY: the caller's promise; the slots are alive, and groups are made later.
    unsafe { world.storage.sparse.try_fill_sparse_set(side, slots, keys.iter().map(key), twice) }
}

/// Counts the values of a linear store at the slots with these bits, `rows` of them extra rows.
///
/// # Safety
///
/// The values are there, with [room](linear_room) for the last, and the caller gives them up.
pub(super) unsafe fn fill_linear(world: &mut World, side: u32, words: &[u64], rows: u32) {
    if let Store::Linear(linear) = &mut world.storage.sparse.get_mut(side).store {
        // SAFETY: the caller's promise.
        unsafe { linear.fill(words, rows) };
    }
}

/// Checks that all that is alive has a row. Nothing has two, and what is not alive has none: so it is a matter of numbers.
pub(super) fn all_placed(world: &World) -> Result<(), Problem> {
    let rows: usize = world.storage.tables.iter().map(|table| table.len as usize).sum();
    if rows == world.row_count() {
        return Ok(());
    }
    for slot in 0..world.storage.entities.slot_count() as u32 {
        // SAFETY: what names a row does not leave; each slot has a location.
        let lost = unsafe {
            world.storage.entities.occupant(slot).is_some()
                && *world.storage.entities.places().at(slot) == Location::NOWHERE
        };
        if lost {
            return slot_is(slot, "is alive and has no row in any table");
        }
    }
    Ok(())
}

/// Makes a group of these sides: owned, required, excluded. One that owns nothing gets its members in this order.
pub(super) fn group(
    world: &mut World,
    [owned, required, excluded]: [Vec<u32>; 3],
    members: &[u32],
) -> Result<(), Problem> {
    let ascending = |list: &[u32]| list.windows(2).all(|pair| pair[0] < pair[1]);
    if [&owned, &required, &excluded].into_iter().any(|list| !ascending(list)) {
        return Err(Problem::Invalid("a group whose components are not in their order"));
    }
    if required.is_empty() || owned.iter().any(|side| !required.contains(side)) {
        return Err(Problem::Invalid("a group that requires nothing, or not what it owns"));
    }
    if excluded.iter().any(|side| required.contains(side)) {
        return Err(Problem::Invalid("a group that excludes what it requires"));
    }
    if owned.iter().any(|side| matches!(world.storage.sparse.get(*side).store, Store::Linear(_))) {
        return Err(Problem::Invalid("a group that owns a linear store"));
    }
    let what = GroupDesc { name: "a group of a snapshot", owned, required, excluded };
    if world.storage.sparse.find_group(&what).is_some() {
        return Err(Problem::Invalid("a group that there is already"));
    }
    let draft = world
        .storage
        .sparse
        .try_build_group(what, &world.storage.components, |slot| world.storage.slot(slot))
        .map_err(|error| match error {
            GroupError::Alloc(error) => Problem::Alloc(error),
            _ => Problem::Invalid("a group that cannot be beside others"),
        })?;
    let id = world.storage.sparse.try_add_group(draft)?;
    let Some(group) = world.storage.sparse.group(id) else { return Ok(()) };
    if !group.desc.owned.is_empty() {
        return match members.is_empty() {
            true => Ok(()),
            false => Err(Problem::Invalid("a group that owns pools and lists its members")),
        };
    }
    let there = world.storage.sparse.members(group);
    if there.len() != members.len() {
        let (found, expected) = (members.len() as u64, there.len() as u64);
        return Err(Problem::Count { what: "members of a group", found, expected });
    }
    let mut order = try_vec(members.len())?;
    let mut seen = try_vec(members.len())?;
    seen.resize(members.len(), false);
    for &slot in members {
        match world.storage.sparse.position_in_group(group, slot) {
            Some(at) if !core::mem::replace(&mut seen[at as usize], true) => order.push(at),
            Some(_) => return slot_is(slot, "is in a group twice"),
            None => return slot_is(slot, "is in a group that it does not belong to"),
        }
    }
    // SAFETY: a permutation of the positions of the group, of which each comes once.
    unsafe { world.storage.sparse.try_reorder_group(id, &mut order)? };
    Ok(())
}
