//! Inserts and removes components of all entities that pass a filter: whole tables are moved.
//!
//! # Invariants
//!
//! No table is both a source and a target of the same batch. An insertion leads to tables that have all of the bundle, from tables
//! that lack some of it. A removal leads to tables that have none of it. So removed values stay untouched in rows that their
//! table has given up, until they are dropped.
//!
//! A bundle with sparse components is inserted or removed slot by slot, like a segment of commands. So is any bundle if the filter
//! tests sparse components. A bundle with optional or required components is inserted so, too.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::alloc::{try_reserve, try_vec};
use crate::bundle::{Bundle, BundleGuard, BundlePtr};
use crate::component::ComponentId;
use crate::error::{StructuralError, infallible};
use crate::mutation::Reserved;
use crate::mutation::stash::{DropStash, Stash};
use crate::query::{Candidate, QueryFilter, TableRef};
use crate::signal::{apply_deferred, dispatch_catch};
use crate::sparse::SparseInserts;
use crate::storage::Storage;
use crate::storage::table::Column;
use core::marker::PhantomData;
use phalanx_store::raw::drop_all;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Inserts clones of a bundle into all entities that pass a filter, and returns their number. Components that they already
    /// have are overwritten, and the old values are dropped at the end.
    ///
    /// All clones are made before anything changes. Rows of a table keep their order. [Extra
    /// rows](crate::query#extra-rows) are changed only if the filter asks for them.
    ///
    /// ```
    /// use phalanx::{Component, With, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    /// #[derive(Component, Clone)]
    /// struct Alerted(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(|_| Enemy));
    /// assert_eq!(world.insert_where::<With<Enemy>, _>(Alerted(3)), 10);
    /// assert_eq!(world.remove_where::<With<Enemy>, Alerted>(), 10);
    /// ```
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn insert_where<F: QueryFilter, B: Bundle + Clone>(&mut self, bundle: B) -> usize {
        infallible(self.try_insert_where::<F, B>(bundle))
    }

    /// Inserts clones of a bundle, like [`insert_where`](World::insert_where), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn try_insert_where<F: QueryFilter, B: Bundle + Clone>(&mut self, bundle: B) -> Result<usize, StructuralError> {
        self.storage.flush()?;
        if B::SPARSE > 0 || B::OPTIONAL > 0 || B::REQUIRES || !F::IS_ARCHETYPAL || !self.storage.allows_bulk() {
            // A bundle that contains a component twice is refused, also if no entity passes.
            self.bundle_id_of(&bundle)?;
            let slots = passing_slots::<F>(self)?;
            return insert_each(self, slots, bundle);
        }
        let bundle_id = self.full_bundle_id::<B>()?;
        let (sources, count) = passing_tables::<F>(self)?;
        if count == 0 {
            return Ok(0);
        }
        let (mut replaced, mut lens) = (0, try_vec(sources.len())?);
        for &source in &sources {
            // As they are before rows come from other tables of the batch.
            lens.push(self.storage.tables[source as usize].len);
            self.edge(bundle_id, source, true)?;
            let target = self.bundles.edge(bundle_id, source, true).target;
            replaced += if target == source { self.storage.tables[source as usize].len as usize } else { 0 };
        }
        let (mut fresh, mut old) = (try_vec::<B>(count)?, try_vec::<B>(replaced)?);
        let left = try_vec(sources.len())?;
        reserve_targets(self, &sources, bundle_id, true)?;
        fresh.extend((1..count).map(|_| bundle.clone()));
        fresh.push(bundle);
        let mut fresh = fresh.into_iter();
        let World { bundles, storage, .. } = self;
        let mut removed = Removed { storage, left };
        let Removed { storage, left } = &mut removed;
        for (&source, rows) in sources.iter().zip(lens) {
            let edge = bundles.edge(bundle_id, source, true);
            let (target, places) = (edge.target, edge.columns.as_ptr());
            let tail = storage.tables[target as usize].len;
            // Splitting a value may be user code, so each is written beyond the last row first: all values of a table that is
            // moved, before its rows; otherwise one after another.
            if target != source {
                let ptr = storage.bundle_ptr(target, places, tail);
                let mut written = Written::<B> { ptr, rows: tail..tail, bundle: PhantomData };
                for (row, value) in (tail..tail + rows).zip(fresh.by_ref()) {
                    // SAFETY: capacity for these rows is reserved in the target, and the columns are the bundle's there.
                    unsafe { value.write(storage.bundle_ptr(target, places, row)) };
                    written.rows.end = row + 1;
                }
                core::mem::forget(written);
                left.push((source, rows, &edge.displaced));
                // SAFETY: capacity is reserved in the target, and the bundle's values are written.
                unsafe { storage.move_rows(Reserved::new(), source, edge) };
                continue;
            }
            for (row, value) in (0..rows).zip(fresh.by_ref()) {
                // SAFETY: capacity for a row beyond the last is reserved. The new values are exchanged with those of the row, which
                // are moved out.
                unsafe {
                    let ptr = storage.bundle_ptr(target, places, tail);
                    value.write(ptr);
                    storage.replace_in_row(Location { table: target, row }, edge);
                    old.push(B::read(ptr));
                }
            }
        }
        storage.restructured();
        drop(old);
        drop(removed);
        Ok(count)
    }

    /// Removes the components of `B` from all entities that pass a filter, and drops them. Returns the number of entities that had
    /// any. [Extra rows](crate::query#extra-rows) are changed only if the filter asks for them.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn remove_where<F: QueryFilter, B: Bundle>(&mut self) -> usize {
        infallible(self.try_remove_where::<F, B>())
    }

    /// Removes components, like [`remove_where`](World::remove_where), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn try_remove_where<F: QueryFilter, B: Bundle>(&mut self) -> Result<usize, StructuralError> {
        let bundle_id = self.full_bundle_id::<B>()?;
        self.storage.flush()?;
        if B::SPARSE > 0 || !F::IS_ARCHETYPAL || !self.storage.allows_bulk() {
            let slots = passing_slots::<F>(self)?;
            return remove_each(self, bundle_id, slots);
        }
        let (mut sources, _) = passing_tables::<F>(self)?;
        sources.retain(|table| {
            self.storage.tables[*table as usize].signature.intersects(&self.bundles.get(bundle_id).signature)
        });
        let left = try_vec(sources.len())?;
        for &source in &sources {
            self.edge(bundle_id, source, false)?;
        }
        reserve_targets(self, &sources, bundle_id, false)?;
        let World { bundles, storage, .. } = self;
        let mut count = 0;
        let mut removed = Removed { storage, left };
        for &source in &sources {
            let edge = bundles.edge(bundle_id, source, false);
            removed.left.push((source, removed.storage.tables[source as usize].len, &*edge.displaced));
            // SAFETY: capacity is reserved in the target, all of whose lanes come along.
            count += unsafe { removed.storage.move_rows(Reserved::new(), source, edge) } as usize;
        }
        removed.storage.restructured();
        drop(removed);
        Ok(count)
    }
}

/// Returns the tables with rows that pass a filter, or may if the filter tests each row, and the number of their rows. Tables of
/// extra rows are among them if the filter asks for them.
fn passing_tables<F: QueryFilter>(world: &World) -> Result<(Vec<u32>, usize), StructuralError> {
    let storage = &world.storage;
    let mut filter = F::state(&storage.components);
    F::set_ticks(&mut filter, storage.run_ticks());
    let passing = || {
        storage.tables_in_order().filter(|(number, table)| {
            let visited = F::visits_extra_rows(&filter) || !table.signature.has(ComponentId::ROW);
            visited && F::passes(&filter, &table.signature) && F::column_matches(&filter, TableRef::new(world, *number))
        })
    };
    let mut sources = try_vec(passing().count())?;
    // A filter may answer differently the second time: the list counts.
    for (number, _) in passing() {
        try_reserve(&mut sources, 1)?;
        sources.push(number);
    }
    let count = sources.iter().map(|table| storage.tables[*table as usize].len as usize).sum();
    Ok((sources, count))
}

/// Returns the slots that pass a filter, in the order of their tables and rows.
fn passing_slots<F: QueryFilter>(world: &World) -> Result<Vec<Entity>, StructuralError> {
    let (mut filter, (sources, count)) = (F::state(&world.storage.components), passing_tables::<F>(world)?);
    F::set_ticks(&mut filter, world.storage.run_ticks());
    let mut slots = try_vec(count)?;
    for slot in sources.iter().flat_map(|table| world.storage.tables[*table as usize].slots()) {
        let passes = || Candidate::find(world, *slot).is_some_and(|row| F::passes_row(&filter, &row));
        if F::IS_ARCHETYPAL || passes() {
            slots.push(*slot);
        }
    }
    Ok(slots)
}

/// Inserts clones of a bundle into live slots, one by one. Everything is reserved before the first, and old values are dropped
/// after the last.
fn insert_each<B: Bundle + Clone>(world: &mut World, slots: Vec<Entity>, bundle: B) -> Result<usize, StructuralError> {
    if slots.is_empty() {
        return Ok(0);
    }
    let mut stash = Stash::default();
    let mut fresh = try_vec::<B>(slots.len())?;
    fresh.extend((1..slots.len()).map(|_| bundle.clone()));
    fresh.push(bundle);
    // A clone may have other optional components.
    let mut bundle_ids = try_vec(slots.len())?;
    for (slot, value) in slots.iter().zip(&fresh) {
        let bundle_id = world.bundle_id_of(value)?;
        bundle_ids.push(world.bundle_for_slot(bundle_id, slot.index())?);
    }
    reserve_each(world, &bundle_ids, &slots, true, &mut stash)?;
    world.storage.begin_linked_entries();
    // Displaced values are dropped also if splitting a value panics, or creating a required one.
    let mut ending = DropStash::new(&mut stash);
    for ((&slot, value), &bundle_id) in slots.iter().zip(fresh).zip(&bundle_ids) {
        let from = world.storage.try_location(slot)?;
        let edge = world.bundles.edge(bundle_id, from.table, true);
        // SAFETY: the slot is at `from`, its edge for this bundle exists, and everything is reserved.
        unsafe {
            world.storage.move_row_with(Reserved::new(), slot, from, edge, |ptr| value.write(ptr), ending.stash())
        };
    }
    world.storage.sparse.release_pages();
    finish_each(world, ending);
    Ok(slots.len())
}

/// Removes a bundle from live slots, like [`insert_each`]. Returns the number of slots that had any of its components.
fn remove_each(world: &mut World, bundle_id: usize, slots: Vec<Entity>) -> Result<usize, StructuralError> {
    let (mut stash, mut count) = (Stash::default(), 0);
    let mut bundle_ids = try_vec(slots.len())?;
    bundle_ids.resize(slots.len(), bundle_id);
    reserve_each(world, &bundle_ids, &slots, false, &mut stash)?;
    world.storage.begin_linked_entries();
    for slot in slots {
        let from = world.storage.try_location(slot)?;
        let edge = world.bundles.edge(bundle_id, from.table, false);
        let has = |number: &u32| world.storage.sparse.get(*number).row(slot.index()).is_some();
        count += usize::from(edge.target != from.table || edge.sparse_removes.iter().any(has));
        // SAFETY: the slot is at `from`, its edge for this bundle exists, and everything is reserved.
        unsafe { world.storage.move_row_with(Reserved::new(), slot, from, edge, |_| (), &mut stash) };
    }
    world.storage.sparse.release_pages();
    finish_each(world, DropStash::new(&mut stash));
    Ok(count)
}

/// Dispatches the changes of a batch, and drops the displaced values.
fn finish_each(world: &mut World, mut ending: DropStash<'_>) {
    world.storage.link_entries();
    dispatch_catch!(world).resume();
    ending.run();
    drop(ending);
    apply_deferred(world);
}

/// Reserves everything that moving these slots along the edges of their bundles needs.
fn reserve_each(
    world: &mut World,
    bundle_ids: &[usize],
    slots: &[Entity],
    insert: bool,
    stash: &mut Stash,
) -> Result<(), StructuralError> {
    for (slot, &bundle_id) in slots.iter().zip(bundle_ids) {
        world.edge(bundle_id, world.storage.try_location(*slot)?.table, insert)?;
    }
    stash.begin();
    let World { bundles, storage, .. } = world;
    let mut entries = 0;
    let (mut sparse_inserts, mut needs) = (SparseInserts::new(), try_vec::<(u32, u32)>(storage.tables.len())?);
    needs.resize(storage.tables.len(), (0, 0));
    for (slot, &bundle_id) in slots.iter().zip(bundle_ids) {
        let source = storage.try_location(*slot)?.table;
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

/// Reserves capacity for the rows of the sources in the tables that the edges of a bundle lead to.
fn reserve_targets(world: &mut World, sources: &[u32], bundle_id: usize, insert: bool) -> Result<(), StructuralError> {
    let mut needs: Vec<(u32, u32)> = try_vec(sources.len())?;
    for &source in sources {
        let target = world.bundles.edge(bundle_id, source, insert).target;
        let rows = world.storage.tables[source as usize].len;
        // A value that replaces another is written beyond the last row first.
        let rows = if target == source { 1 } else { rows };
        match needs.iter_mut().find(|(table, _)| *table == target) {
            Some((_, needed)) => *needed = needed.checked_add(rows).ok_or(AllocError::CapacityOverflow)?,
            None => needs.push((target, rows)),
        }
    }
    for (target, rows) in needs {
        world.storage.reserve_table(target, rows)?;
    }
    Ok(())
}

/// The removed values of a batch, which are dropped with this: all of them, even if one panics.
struct Removed<'s, 'e> {
    storage: &'s mut Storage,
    /// Tables, the number of rows that each has given up, and the columns that have removed values there.
    left: Vec<(u32, u32, &'e [Column])>,
}

impl Drop for Removed<'_, '_> {
    fn drop(&mut self) {
        let tables = &self.storage.tables;
        let rows = self.left.iter().flat_map(|&(table, rows, columns)| (0..rows).map(move |row| (table, row, columns)));
        // SAFETY: the tables have given up those rows, and the listed columns have values there.
        drop_all(rows, |(table, row, columns)| unsafe { tables[table as usize].drop_row(row, columns) });
    }
}

/// Rows beyond the last of a table that have the values of a bundle, which are dropped with this.
struct Written<B: Bundle> {
    /// The columns, in any row.
    ptr: BundlePtr,
    rows: core::ops::Range<u32>,
    bundle: PhantomData<B>,
}

impl<B: Bundle> Drop for Written<B> {
    fn drop(&mut self) {
        for row in self.rows.clone() {
            // SAFETY: the values were written there, and nothing else uses them.
            drop(unsafe { BundleGuard::<B>::new(BundlePtr { row: row as usize, ..self.ptr }) });
        }
    }
}
