//! Spawns an entity for each bundle of an iterator.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::unwrap_alloc;
use crate::bundle::{Bundle, BundlePtr, Required};
use crate::error::infallible;
use crate::mutation::Reserved;
use phalanx_store::Entity;
use phalanx_store::raw::DropGuard;

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
        if B::SPARSE > 0 || B::OPTIONAL > 0 || !self.storage.allows_bulk() {
            return spawn_each(self, bundles);
        }
        let bundle_id = infallible(self.full_bundle_id::<B>());
        let info = self.bundles.get(bundle_id);
        if !info.sparse.is_empty() {
            return spawn_each(self, bundles);
        }
        let required = info.required.to_vec();
        // The hint may be wrong, so a failure is ignored here: each row is checked again.
        let hint = bundles.size_hint().0.min(1 << 16);
        let _ = self.storage.reserve_spawns(self.bundles.get(bundle_id).table, hint as u32);
        let table = self.bundles.get(bundle_id).table as usize;
        let first = self.storage.tables[table].len as usize;
        let mut batch = Batch { bundle_id, row: 0, end: 0, world: self };
        batch.open();
        let mut ptr = batch.ptr();
        bundles.for_each(|bundle| {
            if batch.row == batch.end {
                ptr = batch.grow();
            }
            let to = BundlePtr { row: batch.row as usize, ..ptr };
            // SAFETY: the row is beyond the last and within the capacity. The columns are the bundle's in its table, then those
            // of the components that it requires.
            unsafe {
                match const { B::REQUIRES } {
                    true => Required::write_with(&required, B::LEN + required.len(), to, |to| bundle.write(to)),
                    false => bundle.write(to),
                }
            };
            batch.row += 1;
        });
        drop(batch);
        self.storage.tables[table].slots()[first..].to_vec()
    }
}

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
struct Batch<'a> {
    world: &'a mut World,
    bundle_id: usize,
    /// The next row. Those from the table's length up to this one are written.
    row: u32,
    /// The row up to which capacity is reserved, for entities too.
    end: u32,
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
    fn open(&mut self) {
        let table = &self.world.storage.tables[self.table() as usize];
        // Nothing is ready while an entity is reserved, as is the case if reserving has failed.
        let ready = if self.world.storage.entities.is_ready() { self.world.storage.entities.ready_count() } else { 0 };
        let ready = u32::try_from(ready).unwrap_or(u32::MAX);
        (self.row, self.end) = (table.len, table.len + ready.min(table.cap - table.len));
    }

    /// Creates the entities of the written rows, and reserves capacity for more rows.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> BundlePtr {
        self.commit();
        unwrap_alloc(self.world.storage.reserve_spawns(self.table(), 1));
        self.open();
        self.ptr()
    }

    /// Creates the entities of the written rows.
    fn commit(&mut self) {
        // SAFETY: capacity for these rows and slots is reserved, and the rows are written.
        unsafe { self.world.storage.spawn_rows(Reserved::new(), self.table(), self.row) };
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.commit();
    }
}
