//! Spawns an entity for each bundle of an iterator.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::unwrap_alloc;
use crate::bundle::{Bundle, BundlePtr, Required};
use crate::error::infallible;
use crate::mutation::Reserved;
use crate::sparse::SpawnedValues;
use phalanx_store::raw::DropGuard;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Spawns an entity for each bundle, and returns the entities.
    ///
    /// If the iterator panics, the entities exist whose bundles it has yielded. [Listeners](crate::signal) are called once, at
    /// the end, also if it panics.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn spawn_batch<B: Bundle>(&mut self, bundles: impl IntoIterator<Item = B>) -> Vec<Entity> {
        let bundles = bundles.into_iter();
        if B::OPTIONAL > 0 || !self.storage.allows_bulk() {
            return spawn_each(self, bundles);
        }
        let bundle_id = infallible(self.full_bundle_id::<B>());
        let info = self.bundles.get(bundle_id);
        let (required, has_sparse) = (info.required.to_vec(), !info.sparse.is_empty());
        let (table, hint) = (info.table, bundles.size_hint().0.min(MAX_HINT) as u32);
        // Reserved entities come first: they may get rows of the same table.
        unwrap_alloc(self.storage.flush());
        let first = self.storage.tables[table as usize].len as usize;
        // The hint may be wrong, so a failure is ignored here: each row is checked again.
        let _ = self.storage.reserve_spawns(table, hint);
        let mut batch = Batch { bundle_id, row: 0, end: 0, values: SpawnedValues::default(), world: self };
        match has_sparse {
            true => _ = batch.open_values(hint),
            false => batch.open_rows(),
        }
        let mut ptr = batch.ptr();
        bundles.for_each(|bundle| {
            if batch.row == batch.end {
                ptr = batch.grow();
            }
            let sparse = if has_sparse { batch.values.ptrs() } else { ptr.sparse };
            let to = BundlePtr { row: batch.row as usize, sparse, ..ptr };
            // SAFETY: the row is beyond the last and within the capacity. The columns are the bundle's in its table, then those
            // of the components that it requires. Sparse values are written where the next slot will have them.
            unsafe {
                match const { B::REQUIRES } {
                    true => Required::write_with(&required, B::LEN + required.len(), to, |to| bundle.write(to)),
                    false => bundle.write(to),
                }
            };
            batch.row += 1;
            if has_sparse {
                batch.values.advance();
            }
        });
        drop(batch);
        self.storage.tables[table as usize].slots()[first..].to_vec()
    }
}

/// The largest hint of an iterator that is trusted.
const MAX_HINT: usize = 1 << 16;

/// Spawns an entity for each bundle, one after another, and calls listeners at the end.
#[track_caller]
fn spawn_each<B: Bundle>(world: &mut World, bundles: impl Iterator<Item = B>) -> Vec<Entity> {
    world.storage.journal.begin_deferral();
    // Dispatches what was recorded, also if the iterator panics.
    let held = DropGuard::new(world, |world| {
        world.storage.journal.end_deferral();
        world.dispatch();
    });
    let mut spawner = held.state.spawner::<B>();
    let mut entities = Vec::new();
    bundles.for_each(|bundle| entities.push(spawner.spawn(bundle)));
    // Before the list is returned: it is dropped if a listener panics.
    drop(held);
    entities
}

/// Written rows of one table whose entities are created later, all at once: when the capacity is used up, or when the batch is
/// dropped, also while a panic unwinds.
///
/// If the bundle has sparse components, their values are written with the rows, where the slots of the entities will have them.
struct Batch<'a> {
    world: &'a mut World,
    bundle_id: usize,
    /// The next row. Those from the table's length up to this one are written.
    row: u32,
    /// The row up to which capacity is reserved, for entities too.
    end: u32,
    /// Where the sparse values of these rows are written.
    values: SpawnedValues,
}

impl Batch<'_> {
    /// Returns the number of the bundle's table.
    fn table(&self) -> u32 {
        self.world.bundles.get(self.bundle_id).table
    }

    /// Returns the columns that the bundle is written to.
    fn ptr(&self) -> BundlePtr {
        self.world.storage.bundle_ptr(self.table(), self.world.bundles.get(self.bundle_id).columns.as_ptr(), self.row)
    }

    /// Counts the rows for which capacity is reserved.
    fn open_rows(&mut self) {
        let table = &self.world.storage.tables[self.table() as usize];
        // Nothing is ready while an entity is reserved, as is the case if reserving has failed.
        let ready = if self.world.storage.entities.is_ready() { self.world.storage.entities.ready_count() } else { 0 };
        let ready = u32::try_from(ready).unwrap_or(u32::MAX);
        (self.row, self.end) = (table.len, table.len + ready.min(table.cap - table.len));
    }

    /// Counts the rows for which capacity is reserved, `most` at most, and reserves capacity for their sparse values. There are
    /// none if that fails.
    fn open_values(&mut self, most: u32) -> Result<(), AllocError> {
        self.open_rows();
        let count = (self.end - self.row).min(most);
        self.end = self.row;
        let World { storage, bundles, .. } = &mut *self.world;
        storage.reserve_spawned_values(&bundles.get(self.bundle_id).sparse, count, &mut self.values)?;
        self.end = self.row + count;
        Ok(())
    }

    /// Creates the entities of the written rows, and reserves capacity for more rows.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> BundlePtr {
        // Twice as many as before, so that an iterator without a hint does not commit every entity by itself.
        let count = (self.values.slots().len() * 2).clamp(16, MAX_HINT) as u32;
        self.commit();
        unwrap_alloc(self.world.storage.reserve_spawns(self.table(), 1));
        match self.world.bundles.get(self.bundle_id).sparse.is_empty() {
            true => self.open_rows(),
            // Capacity for one is enough to go on.
            false => unwrap_alloc(self.open_values(count).or_else(|_| self.open_values(1))),
        }
        debug_assert!(self.row < self.end, "capacity for a row is reserved");
        self.ptr()
    }

    /// Creates the entities of the written rows.
    fn commit(&mut self) {
        let World { storage, bundles, .. } = &mut *self.world;
        let info = bundles.get(self.bundle_id);
        let first = storage.tables[info.table as usize].len;
        // SAFETY: capacity for these rows and slots is reserved, and the rows are written.
        unsafe { storage.spawn_rows(Reserved::new(), info.table, self.row) };
        if !info.sparse.is_empty() {
            let slots = &storage.tables[info.table as usize].slots()[first as usize..];
            debug_assert!(slots.iter().map(|slot| slot.index()).eq(self.values.slots()[..slots.len()].iter().copied()));
            // SAFETY: the slots are new, and are those for which capacity is reserved. Their values are written in the same order.
            unsafe { storage.sparse.commit_spawns(&info.sparse, slots) };
            storage.sparse.release_pages();
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.commit();
    }
}
