//! Fills the storage of a world from a snapshot. Each step validates its input.
//!
//! # Invariants
//!
//! Until the last step, live entities may lack a row. The world is dropped if a step fails. The length of a table or sparse
//! storage is set when all values are in place.
#![allow(unsafe_code)]

use super::column_builder::ColumnBuilder;
use super::error::Problem;
use super::saver::HOLE;
use crate::alloc::try_vec;
use crate::component::{ComponentId, ComponentInfo};
use crate::group::GroupError;
use crate::rows::{Label, Link, NONE, Role};
use crate::runs::Runs;
use crate::signature::Signature;
use crate::sparse::{GroupDesc, Removal, Store};
use crate::storage::{Location, Storage};
use phalanx_store::{AllocError, Entity, EntityPool};

fn slot_is<T>(slot: u32, what: &'static str) -> Result<T, Problem> {
    Err(Problem::Slot { slot, what })
}

/// Restores the entity allocator from the words of its slots and its free list.
pub(super) fn restore_slots(storage: &mut Storage, words: &[u32], free: &[u32]) -> Result<(), Problem> {
    // SAFETY: the names of extra rows stay in tables and sparse storages.
    storage.entities = unsafe { EntityPool::try_restore_with_rows(words, free, Location::NOWHERE)? };
    Ok(())
}

/// Creates a table without rows, and returns its number.
pub(super) fn create_table(storage: &mut Storage, signature: &Signature) -> Result<u32, Problem> {
    let number = storage.table_of(signature)?;
    // Every table of a snapshot has rows.
    match storage.tables[number as usize].len {
        0 => Ok(number),
        _ => Err(Problem::Invalid("a table with the components of another")),
    }
}

/// Reserves capacity for the slots of a table, unless it declares more rows than there are live slots.
pub(super) fn reserve_slots(storage: &mut Storage, number: u32, rows: u32) -> Result<(), Problem> {
    match rows as usize <= storage.entities.len() + storage.entities.row_count() {
        true => Ok(storage.tables[number as usize].entities.try_grow(rows)?),
        false => Ok(()),
    }
}

/// Sets the slots of the next rows of a table, whose length stays 0.
pub(super) fn push_slots(storage: &mut Storage, number: u32, first: u32, slots: &[u32]) -> Result<(), Problem> {
    let table = &mut storage.tables[number as usize];
    let extra = table.signature.has(ComponentId::ROW);
    let needed = first.checked_add(slots.len() as u32).ok_or(AllocError::CapacityOverflow)?;
    table.entities.try_grow(needed)?;
    for (&slot, row) in slots.iter().zip(first..) {
        let Some(entity) = occupant(&storage.entities, slot) else {
            return slot_is(slot, "has a row in a table and is not alive");
        };
        match (entity.is_row(), extra) {
            (true, false) => return slot_is(slot, "is an extra row in a table of entities"),
            (false, true) => return slot_is(slot, "is an entity in a table of extra rows"),
            _ => {}
        }
        // SAFETY: a live slot has a location. The table has the capacity for the row, which is not in use.
        unsafe {
            if storage.entities.payload_unchecked(slot) != Location::NOWHERE {
                return slot_is(slot, "has a row in a table twice");
            }
            storage.entities.set_unchecked(slot, Location { table: number, row });
            table.entities.at(row).write(entity);
        }
    }
    Ok(())
}

/// Returns the entity or extra row that is alive at a slot.
fn occupant(entities: &EntityPool<Location>, slot: u32) -> Option<Entity> {
    // SAFETY: the names of extra rows stay in tables and sparse storages.
    unsafe { entities.occupant(slot) }
}

/// Returns a builder for a column of a table whose length is 0.
pub(super) fn column_builder(
    storage: &Storage,
    number: u32,
    id: ComponentId,
    rows: u32,
) -> Result<ColumnBuilder<'static>, Problem> {
    let table = &storage.tables[number as usize];
    let Some(column) = table.column(id) else { return Err(Problem::Invalid("a column that its table does not have")) };
    // SAFETY: the lanes are those of the column, and do not move. No row of the table is in use.
    Ok(unsafe {
        ColumnBuilder::new(table.lanes().add(column.first as usize), storage.components.info(id), Runs::All(rows))
    })
}

/// Sets the length of a table, all of whose values are in place.
///
/// # Safety
///
/// All columns have values in `rows` rows, which the caller gives up. As many slots were [added](push_slots).
pub(super) unsafe fn finish_table(storage: &mut Storage, number: u32, rows: u32) -> Result<(), Problem> {
    let table = &mut storage.tables[number as usize];
    table.try_cover(rows)?;
    if table.is_extra() {
        for row in 0..rows {
            // SAFETY: as many slots were added, by the caller's contract.
            let slot = unsafe { *table.entities.at(row) };
            // Until its name is read, a row owns itself.
            table.write_name(row, slot, Label::UNNAMED, Link { prev: NONE, next: NONE });
        }
    }
    // SAFETY: all rows have values, by the caller's contract. The lanes have the capacity.
    unsafe { table.set_len(rows, &mut storage.table_order) };
    storage.restructured();
    Ok(())
}

/// Sets the name of an extra row. Owners come in ascending order, and the rows of one owner in the order of their creation.
pub(super) fn name_row(
    storage: &mut Storage,
    last: Option<(u32, u32)>,
    slot: u32,
    owner: u32,
    component: Option<ComponentId>,
    role: u32,
) -> Result<(), Problem> {
    let Some(row) = occupant(&storage.entities, slot).filter(|row| row.is_row()) else {
        return slot_is(slot, "has a name of a row and is none");
    };
    let Some(entity) = storage.entities.get(owner) else { return slot_is(owner, "owns a row and is not an entity") };
    let Some(label) = Label::of(component, Role(role)) else { return slot_is(slot, "has the name of a main row") };
    if last.is_some_and(|(before, _)| before > owner) {
        return slot_is(owner, "owns a row and does not come in its order");
    }
    if storage.rows.by_name.contains_key(&(owner, label)) {
        return slot_is(slot, "has the name of another row");
    }
    storage.rows.try_reserve(1, 1, storage.entities.slot_count())?;
    let at = storage.entities.payload(row).filter(|at| *at != Location::NOWHERE);
    let table = at.and_then(|at| storage.tables.get_mut(at.table as usize));
    let (Some(at), Some(columns)) = (at, table.and_then(|table| table.row_columns_mut())) else {
        return slot_is(slot, "is an extra row in a table of entities");
    };
    if columns.owners[at.row as usize] != row {
        return slot_is(slot, "has two names");
    }
    (columns.owners[at.row as usize], columns.labels[at.row as usize]) = (entity, label);
    storage.rows.by_name.insert((owner, label), slot);
    match last.filter(|(before, _)| *before == owner) {
        None => {
            storage.rows.begin(owner, slot);
            storage.update_link(slot, |link| link.prev = slot);
        }
        Some((_, before)) => {
            let first = storage.rows.first[&owner];
            storage.update_link(before, |link| link.next = slot);
            storage.update_link(slot, |link| link.prev = before);
            storage.update_link(first, |link| link.prev = slot);
        }
    }
    Ok(())
}

/// Creates an empty sparse storage, which gets the next number.
pub(super) fn create_sparse(storage: &mut Storage, id: ComponentId, number: u32) -> Result<(), Problem> {
    match storage.sparse.try_register(id, &storage.components)? == number {
        true => Ok(()),
        false => Err(Problem::Invalid("a component with two stores")),
    }
}

/// Checks that the slots with a bit are alive, and counts the extra rows among them.
pub(super) fn count_extra_rows(storage: &Storage, bits: &[u64]) -> Result<u32, Problem> {
    let mut rows = 0;
    for (first, &word) in (0..).step_by(64).zip(bits) {
        let mut left = word;
        while left != 0 {
            let slot = first + left.trailing_zeros();
            rows += u32::from(live_slot(&storage.entities, slot)?.is_row());
            left &= left - 1;
        }
    }
    Ok(rows)
}

fn live_slot(entities: &EntityPool<Location>, slot: u32) -> Result<Entity, Problem> {
    match occupant(entities, slot) {
        Some(entity) => Ok(entity),
        None => slot_is(slot, "has a value and is not alive"),
    }
}

/// Reserves capacity for the keys and values of a sparse set, and sets its removal policy.
pub(super) fn reserve_pool(
    storage: &mut Storage,
    number: u32,
    positions: u32,
    removal: Removal,
) -> Result<(), Problem> {
    let Store::Pool(pool) = &mut storage.sparse.get_mut(number).store else {
        return Err(Problem::Invalid("a pool for a component that is kept elsewhere"));
    };
    pool.dense.try_reserve(positions)?;
    storage.sparse.set_removal(number, removal);
    Ok(())
}

/// Reserves capacity for the values of a linear storage up to a slot.
pub(super) fn reserve_linear(storage: &mut Storage, number: u32, last: u32) -> Result<(), Problem> {
    let Store::Linear(linear) = &mut storage.sparse.get_mut(number).store else {
        return Err(Problem::Invalid("a linear store for a component that is kept elsewhere"));
    };
    Ok(linear.try_cover(last)?)
}

/// Returns a builder for the values of an empty sparse storage. It has capacity for rows that are given by bits.
pub(super) fn sparse_builder<'a>(
    storage: &mut Storage,
    number: u32,
    info: &ComponentInfo,
    runs: Runs<'a>,
) -> ColumnBuilder<'a> {
    // SAFETY: the lanes are those of the storage, and do not move. No row is in use. Capacity for bits was reserved.
    unsafe { ColumnBuilder::new(storage.sparse.lanes_mut(number), info, runs) }
}

/// Sets the keys of a sparse set, all of whose values are in place. A hole is [`HOLE`].
///
/// # Safety
///
/// Each key has a value at its position. The caller gives the values up, unless this fails.
pub(super) unsafe fn fill_pool(storage: &mut Storage, number: u32, keys: &[u32]) -> Result<(), Problem> {
    let has_extra_rows = storage.entities.row_count() > 0;
    // SAFETY: the names of extra rows stay in sparse storages.
    let occupants = unsafe { storage.entities.occupants() };
    // `HOLE` plus one is zero. Slots that do not exist are refused below.
    let end = keys.iter().fold(0, |end: u32, slot| end.max(slot.wrapping_add(1)));
    let slots = end.min(storage.entities.slot_count() as u32);
    let keys = keys.iter().map(|slot| match occupants.get(*slot) {
        None if *slot != HOLE => Err(Dead(*slot)),
        occupant => Ok(occupant),
    });
    // SAFETY: each key has a value at its position, by the caller's contract. The slots are alive, and there are no groups
    // yet.
    let filled = unsafe { storage.sparse.try_fill_sparse_set(number, slots, has_extra_rows, keys, NotFilled::Twice) };
    filled.map_err(|error| match error {
        NotFilled::Alloc(error) => error.into(),
        NotFilled::Dead(Dead(slot)) => Problem::Slot { slot, what: "has a value and is not alive" },
        NotFilled::Twice(slot) => Problem::Slot { slot: slot.index(), what: "is in a pool twice" },
    })
}

/// A slot that is not alive. It is small, as a loop over all keys may return it.
struct Dead(u32);

/// Why a sparse set was not filled.
enum NotFilled {
    Alloc(AllocError),
    Dead(Dead),
    Twice(Entity),
}

impl From<Dead> for NotFilled {
    fn from(dead: Dead) -> NotFilled {
        NotFilled::Dead(dead)
    }
}

impl From<AllocError> for NotFilled {
    fn from(error: AllocError) -> NotFilled {
        NotFilled::Alloc(error)
    }
}

/// Sets the presence bits of a linear storage, all of whose values are in place. `rows` of the slots are extra rows.
///
/// # Safety
///
/// Each slot with a bit has a value, within the [reserved](reserve_linear) capacity. The caller gives the values up.
pub(super) unsafe fn fill_linear(storage: &mut Storage, number: u32, words: &[u64], rows: u32) {
    if let Store::Linear(linear) = &mut storage.sparse.get_mut(number).store {
        // SAFETY: each slot with a bit has a value, by the caller's contract.
        unsafe { linear.fill(words, rows) };
    }
}

/// Checks that all live slots have a row. No slot has two rows, and no dead slot has one, so comparing the numbers
/// suffices.
pub(super) fn check_rows(storage: &Storage) -> Result<(), Problem> {
    let rows: usize = storage.tables.iter().map(|table| table.len as usize).sum();
    if rows == storage.row_count() {
        return Ok(());
    }
    for slot in 0..storage.entities.slot_count() as u32 {
        let lost =
            occupant(&storage.entities, slot).is_some_and(|slot| storage.try_location(slot) == Ok(Location::NOWHERE));
        if lost {
            return slot_is(slot, "is alive and has no row in any table");
        }
    }
    Ok(())
}

/// Creates a group of sparse storages: owned, required, excluded. `members` is the order of a group that owns nothing.
pub(super) fn create_group(
    storage: &mut Storage,
    [owned, required, excluded]: [Vec<u32>; 3],
    members: &[u32],
) -> Result<(), Problem> {
    storage.sparse.check_group([&owned, &required, &excluded]).map_err(Problem::Invalid)?;
    let what = GroupDesc { name: "a group of a snapshot", owned, required, excluded };
    if storage.sparse.find_group(&what).is_some() {
        return Err(Problem::Invalid("a group that there is already"));
    }
    let draft =
        storage.sparse.try_build_group(what, &storage.components, |slot| storage.slot(slot)).map_err(|error| {
            match error {
                GroupError::Alloc(error) => Problem::Alloc(error),
                _ => Problem::Invalid("a group that cannot be beside others"),
            }
        })?;
    let id = storage.sparse.try_add_group(draft)?;
    let Some(group) = storage.sparse.group(id) else { return Ok(()) };
    if !group.desc.owned.is_empty() {
        return match members.is_empty() {
            true => Ok(()),
            false => Err(Problem::Invalid("a group that owns pools and lists its members")),
        };
    }
    let there = storage.sparse.members(group);
    if there.len() != members.len() {
        let (found, expected) = (members.len() as u64, there.len() as u64);
        return Err(Problem::Count { what: "members of a group", found, expected });
    }
    let mut order = try_vec(members.len())?;
    let mut seen = try_vec(members.len())?;
    seen.resize(members.len(), false);
    for &slot in members {
        match storage.sparse.position_in_group(group, slot) {
            Some(at) if !core::mem::replace(&mut seen[at as usize], true) => order.push(at),
            Some(_) => return slot_is(slot, "is in a group twice"),
            None => return slot_is(slot, "is in a group that it does not belong to"),
        }
    }
    storage.sparse.try_reorder_group(id, &mut order)?;
    Ok(())
}
