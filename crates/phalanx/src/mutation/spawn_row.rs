//! [`Storage::spawn_row`]: the commit that adds rows.
//!
//! A row is written beyond the last row of its table before the commit, which makes it the row of a slot.
#![allow(unsafe_code)]

use super::reserve::Reserved;
use crate::rows::{Label, Link, NONE, Row};
use crate::sparse::Arrivals;
use crate::storage::{Location, Storage};
use phalanx_store::Entity;

impl Storage {
    /// Allocates a slot, and makes the row that was written beyond the last of a table its row. The sparse storages `sparse`
    /// count the values that were written for it.
    ///
    /// With `RECORD`, the journal records that the slot was spawned. Otherwise the caller records it, when all values of the slot
    /// are there.
    ///
    /// # Safety
    ///
    /// - The capacity for a slot of the pool, the row and the sparse values is reserved, and no entity is reserved.
    /// - The lanes of the row are written, and so are the values of `sparse` in the positions that were reserved for them.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    #[inline(always)]
    pub(crate) unsafe fn spawn_row<const RECORD: bool>(
        &mut self,
        reserved: Reserved,
        table: u32,
        sparse: &[u32],
    ) -> Entity {
        let row = self.tables[table as usize].len;
        // SAFETY: the pool is ready, because a slot is reserved and no entity is. The row and the values are written, by the
        // caller's contract.
        unsafe {
            let slot = self.entities.alloc_ready_with(Location { table, row });
            self.push_row::<RECORD>(reserved, slot, table, sparse);
            slot
        }
    }

    /// Makes the row that was written beyond the last of a table the row of a slot that has none, like
    /// [`spawn_row`](Storage::spawn_row).
    ///
    /// # Safety
    ///
    /// - The slot is alive, and has no row and no sparse value.
    /// - The lanes of the row are written, and so are the values of `sparse` in the positions that were reserved for them.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    #[inline(always)]
    pub(crate) unsafe fn spawn_row_of<const RECORD: bool>(
        &mut self,
        reserved: Reserved,
        slot: Entity,
        table: u32,
        sparse: &[u32],
    ) {
        let row = self.tables[table as usize].len;
        // SAFETY: the slot is alive, and the row and the values are written, by the caller's contract.
        unsafe {
            self.set_location(slot, Location { table, row });
            self.push_row::<RECORD>(reserved, slot, table, sparse);
        }
    }

    /// Counts the row beyond the last of a table, for a slot whose location is set.
    ///
    /// # Safety
    ///
    /// - The slot is alive, and has no other row and no sparse value.
    /// - The lanes of the row are written, and so are the values of `sparse` in the positions that were reserved for them.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    #[inline(always)]
    unsafe fn push_row<const RECORD: bool>(&mut self, _: Reserved, slot: Entity, table: u32, sparse: &[u32]) {
        // SAFETY: the capacity for the row is reserved. The row and the values are written, by the caller's contract.
        unsafe {
            self.tables[table as usize].push(slot, &mut self.table_order);
            if !sparse.is_empty() {
                self.sparse.commit::<true>(slot, sparse, &[]);
            }
        }
        self.restructured();
        if RECORD {
            self.record_spawn(slot);
        }
    }

    /// Allocates slots for the rows that were written beyond the last of a table, up to `end`. Records nothing.
    ///
    /// # Safety
    ///
    /// - The lanes of the rows are written.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    pub(crate) unsafe fn spawn_rows(&mut self, _: Reserved, number: u32, end: u32) {
        let table = &mut self.tables[number as usize];
        let first = table.len;
        let mut row = first;
        let entities = table.entities.ptr();
        let allocated = self.entities.try_alloc_many_with((end - first) as usize, |entity| {
            // SAFETY: the row is below `end`, and so within the capacity that is reserved.
            unsafe { entities.add(row as usize).write(entity) };
            row += 1;
            Location { table: number, row: row - 1 }
        });
        debug_assert!(allocated.is_ok(), "slots are reserved");
        // SAFETY: the rows are within the capacity, and written by the caller's contract.
        unsafe {
            table.entities.set_dirty_rows(first..row);
            table.set_len(row, &mut self.table_order);
        }
        self.restructured();
    }

    /// Makes the row that was written beyond the last of a table an extra row of an entity, under a label.
    ///
    /// # Safety
    ///
    /// - The lanes of the row are written, except those of the reserved component. So are the values of `sparse` in the
    ///   positions that were reserved for them.
    /// - The table is one of extra rows. The entity is alive and has no row with this label.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    pub(crate) unsafe fn spawn_extra_row<const RECORD: bool>(
        &mut self,
        reserved: Reserved,
        owner: Entity,
        label: Label,
        table: u32,
        sparse: &[u32],
    ) -> Row {
        // SAFETY: handles of extra rows stay in tables and in `Row`, which does not show them.
        let slot = unsafe { self.entities.alloc_row() };
        let (index, owner_index) = (slot.index(), owner.index());
        let rows = &mut self.tables[table as usize];
        rows.write_name(rows.len, owner, label, Link { prev: index, next: NONE });
        // SAFETY: the slot was allocated above, and all lanes of the row are written.
        unsafe { self.spawn_row_of::<false>(reserved, slot, table, sparse) };
        self.rows.by_name.insert((owner_index, label), index);
        match self.rows.first.get(&owner_index).and_then(|first| self.find_extra_row(*first)) {
            None => self.rows.begin(owner_index, index),
            Some(first) => {
                let last = first.link.prev;
                self.update_link(last, |last| last.next = index);
                self.update_link(first.row.0.index(), |first| first.prev = index);
                self.update_link(index, |new| new.prev = last);
            }
        }
        if RECORD {
            self.record_spawn(slot);
        }
        Row(slot)
    }

    /// Counts sparse values that were written for slots which have been spawned since.
    ///
    /// # Safety
    ///
    /// The contract of [`Arrivals::commit`] holds for the sparse storages.
    pub(crate) unsafe fn receive(&mut self, values: &Arrivals) {
        let Storage { sparse, entities, tables, .. } = self;
        // SAFETY: the contract of `commit` holds, by the caller's contract.
        unsafe { values.commit(sparse, |index| Storage::slot_at(entities, tables, index)) };
    }
}
