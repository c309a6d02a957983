//! Where the values go that a commit displaces.
#![allow(unsafe_code)]

use crate::alloc::try_vec;
use crate::journal::{MovedValues, ValuePtr};
use crate::mutation::stash::Stash;
use crate::sparse::SparseStorages;
use crate::storage::table::{Column, Table};
use crate::storage::{Location, Storage};
use phalanx_store::{AllocError, Entity};

/// Receives the values that a commit displaces. No row owns them any more.
pub(crate) trait Displaced {
    /// Whether the values were moved out before the commit, so that there is nothing to drop and nothing to show.
    const MOVED_OUT: bool = false;

    /// Whether nothing is recorded, because there are no listeners and collectors.
    const UNRECORDED: bool = false;

    /// Receives the values of one row: those of a table row in `columns`, or in all columns, and those that sparse storages list
    /// as displaced.
    ///
    /// # Safety
    ///
    /// The row is initialised in these columns, within the capacity of its table, and owned by no one. Capacity for the values
    /// was reserved in the sink.
    unsafe fn accept(&mut self, storage: &mut Storage, at: Location, columns: Option<&[Column]>);

    /// Returns the values that were received last and where they are, if they are not where they were displaced to.
    fn moved(&mut self) -> Option<&mut MovedValues> {
        None
    }
}

/// Leaves displaced values in place: beyond the last row of their table, and in the displaced positions of sparse storages. The
/// caller drops or reads them before the next commit.
pub(crate) struct InPlace;

impl Displaced for InPlace {
    #[inline(always)]
    unsafe fn accept(&mut self, _: &mut Storage, _: Location, _: Option<&[Column]>) {}
}

/// Leaves displaced values in place like [`InPlace`], in a world without listeners and collectors.
pub(crate) struct Unrecorded;

impl Displaced for Unrecorded {
    const UNRECORDED: bool = true;

    #[inline(always)]
    unsafe fn accept(&mut self, _: &mut Storage, _: Location, _: Option<&[Column]>) {}
}

/// For values that were moved to another world before the commit.
pub(crate) struct MovedOut;

impl Displaced for MovedOut {
    const MOVED_OUT: bool = true;

    unsafe fn accept(&mut self, storage: &mut Storage, _: Location, _: Option<&[Column]>) {
        storage.sparse.displaced_values.clear();
    }
}

/// For values that were moved to another row before the commit.
pub(crate) struct MovedTo<'a> {
    /// The row that has the values now.
    pub(crate) slot: Entity,
    /// The components. Where their values are is found after the commit, which may move them within their storage.
    pub(crate) values: &'a mut MovedValues,
}

impl Displaced for MovedTo<'_> {
    unsafe fn accept(&mut self, storage: &mut Storage, _: Location, _: Option<&[Column]>) {
        storage.sparse.displaced_values.clear();
        for (id, value) in &mut *self.values {
            *value = storage.value_ptr(self.slot, *id).unwrap_or(ValuePtr::None);
        }
    }

    fn moved(&mut self) -> Option<&mut MovedValues> {
        Some(self.values)
    }
}

impl Displaced for Stash {
    #[inline(always)]
    unsafe fn accept(&mut self, storage: &mut Storage, at: Location, columns: Option<&[Column]>) {
        if self.expects_none() {
            storage.sparse.displaced_values.clear();
            return;
        }
        let table = &storage.tables[at.table as usize];
        // SAFETY: the values are initialised and owned by no one, and capacity for them was reserved.
        unsafe {
            self.take(storage, table, at.row, columns.unwrap_or(&table.columns));
            self.take_sparse(&mut storage.sparse, &storage.journal);
        }
    }

    fn moved(&mut self) -> Option<&mut MovedValues> {
        Some(&mut self.shown)
    }
}

/// Remembers removed rows in order, and leaves their values in place until all of them are dropped.
pub(crate) struct RemovedRows {
    /// The location of each row's values, and the number of displaced sparse values by then.
    rows: Vec<(Location, usize)>,
}

impl RemovedRows {
    /// Creates a list with capacity for `count` rows.
    pub(crate) fn try_with_capacity(count: usize) -> Result<RemovedRows, AllocError> {
        Ok(RemovedRows { rows: try_vec(count)? })
    }

    /// Drops the values of all rows: of each those of its table, then its sparse values. Goes on after a panic.
    ///
    /// # Safety
    ///
    /// The rows were removed from this storage, and nothing was committed since.
    pub(crate) unsafe fn drop_values(self, storage: &mut Storage) {
        struct Rest<'a> {
            tables: &'a [Table],
            rows: core::slice::Iter<'a, (Location, usize)>,
            sparse: &'a mut SparseStorages,
            next: usize,
            until: usize,
        }
        impl Rest<'_> {
            fn run(&mut self) {
                loop {
                    while self.next < self.until {
                        self.next += 1;
                        // SAFETY: the value is displaced, and dropped once.
                        unsafe { self.sparse.drop_displaced_at(self.next - 1) };
                    }
                    let Some(&(at, until)) = self.rows.next() else { break };
                    self.until = until;
                    let table = &self.tables[at.table as usize];
                    // SAFETY: the row was removed, and nothing was pushed since; it is dropped once.
                    unsafe { table.drop_row(at.row, &table.columns) };
                }
                self.sparse.displaced_values.clear();
            }
        }
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        let rows = self.rows.iter();
        Rest { tables: &storage.tables, rows, sparse: &mut storage.sparse, next: 0, until: 0 }.run();
    }
}

impl Displaced for RemovedRows {
    unsafe fn accept(&mut self, storage: &mut Storage, at: Location, _: Option<&[Column]>) {
        debug_assert!(self.rows.len() < self.rows.capacity());
        self.rows.push((at, storage.sparse.displaced_values.len()));
    }
}

impl Storage {
    /// Drops the values that the last commit has left [in place](InPlace): those beyond the last row of a table, in these columns
    /// or in all, and the displaced ones of sparse storages. Goes on after a panic.
    ///
    /// # Safety
    ///
    /// They are initialised, and are not dropped again.
    #[inline(always)]
    pub(crate) unsafe fn drop_in_place(&mut self, table: u32, columns: Option<&[Column]>) {
        let Storage { sparse, tables, .. } = self;
        let _sparse = sparse.displaced_guard();
        let table = &tables[table as usize];
        // SAFETY: the values are initialised and dropped once, by the caller's contract.
        unsafe { table.drop_row(table.len, columns.unwrap_or(&table.columns)) };
    }
}
