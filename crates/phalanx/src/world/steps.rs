//! Steps of operations that change many slots: what they need is reserved for all of them, and displaced values go to a
//! stash, where they lie until all steps are done.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::bundle::Place;
use crate::commands::stash::Stash;
use crate::plan::Edge;
use crate::side::{Arrivals, Puts};
use crate::signal::RowName;
use crate::storage::Storage;
use crate::table::{copy_row, row_ptr};
use phalanx_store::{AllocError, Entity};

impl World {
    /// Counts what a step along an edge puts and displaces beside tables, and in its source.
    pub(crate) fn expect_step(
        &self,
        slot: u32,
        edge: &Edge,
        puts: &mut Puts,
        stash: &mut Stash,
    ) -> Result<(), AllocError> {
        stash.expect_row(self, &edge.left)?;
        stash.expect_present(self, slot, &edge.takes)?;
        stash.expect_present(self, slot, &edge.puts)?;
        stash.expect_puts(self, &edge.puts)?;
        puts.try_add(&edge.puts, slot)?;
        puts.try_add_taken(&self.storage.sides, &edge.takes, slot)
    }

    /// Counts values that were written for slots which are there since.
    ///
    /// # Safety
    ///
    /// As for [`Arrivals::commit`].
    pub(crate) unsafe fn receive(&mut self, values: &Arrivals) {
        let Storage { sides, entities, tables, .. } = &mut self.storage;
        // SAFETY: the caller's promise; entities and tables are this world's.
        unsafe { values.commit(sides, |index| World::slot_at(entities, tables, index)) };
    }

    /// Carries out an edge that brings components.
    ///
    /// # Safety
    ///
    /// The slot is at `from`, and the edge is one of that table. There is room for a row in its target and for the values of
    /// its sides, and what it displaces is expected. `write` moves values in, as for [`follow`](World::follow).
    pub(crate) unsafe fn bring(
        &mut self,
        slot: Entity,
        from: Location,
        edge: *const Edge,
        write: impl FnOnce(Place),
        stash: &mut Stash,
    ) {
        // SAFETY: edges are boxed, and made only while resolving. There is room for a row beyond the last of the target, where
        // the new values are written before anything is committed. The values that stay behind are at the tail of the source
        // then, or in the row itself, from where the stash takes them over before the new ones take their place.
        unsafe {
            let Edge { target, left, places, puts, takes, .. } = &*edge;
            self.storage.sides.find_places(slot.index(), puts);
            let table = &self.storage.tables[*target as usize];
            let tail = table.len;
            write(self.place(*target, places.as_ptr(), tail));
            if *target == from.table {
                stash.take(self, table, from.row, left);
                if table.tracked {
                    table.keep_added(tail, left, (table, from.row));
                }
                for lane in left.iter().flat_map(|column| column.first..column.first + column.lanes) {
                    let lane = &*table.lanes().add(lane as usize);
                    copy_row(row_ptr(lane, tail), row_ptr(lane, from.row), lane.row_size());
                }
                table.mark(from.row, left);
            } else {
                self.cross(slot, from, edge);
                let source = &self.storage.tables[from.table as usize];
                stash.take(self, source, source.len, left);
            }
            self.change_sides(slot, puts, takes, stash);
            self.note_carried(slot, from, edge, stash);
        }
    }

    /// Carries out an edge that only takes components.
    ///
    /// # Safety
    ///
    /// As for [`bring`](World::bring).
    pub(crate) unsafe fn take_away(&mut self, slot: Entity, from: Location, edge: *const Edge, stash: &mut Stash) {
        // SAFETY: as above; the target has no lanes but those that went along.
        unsafe {
            if (*edge).target != from.table {
                self.cross(slot, from, edge);
                let source = &self.storage.tables[from.table as usize];
                stash.take(self, source, source.len, &(*edge).left);
            }
            self.change_sides(slot, &[], &(*edge).takes, stash);
            self.note_carried(slot, from, edge, stash);
        }
    }

    /// Notes what a step has changed.
    ///
    /// # Safety
    ///
    /// The edge was followed just now, and the stash shows what it has displaced.
    #[inline(always)]
    unsafe fn note_carried(&mut self, slot: Entity, from: Location, edge: *const Edge, stash: &mut Stash) {
        if self.storage.signals.is_active() {
            // SAFETY: edges are boxed, and made only while resolving.
            self.note_step(slot, from.table, unsafe { &*edge }, &stash.shown);
            stash.shown.clear();
        }
    }

    /// Notes the end of a row in a step, and forgets what the stash shows of it.
    #[inline(always)]
    pub(crate) fn note_carried_end(&mut self, name: RowName, stash: &mut Stash) {
        if self.storage.signals.is_active() {
            self.note_end_step(name, &stash.shown);
            stash.shown.clear();
        }
    }

    /// # Safety
    ///
    /// The values of `puts` are written where their places were found, and what is displaced is expected.
    unsafe fn change_sides(&mut self, slot: Entity, puts: &[u32], takes: &[u32], stash: &mut Stash) {
        if puts.is_empty() && takes.is_empty() {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            self.storage.sides.commit(slot, puts, takes);
            stash.take_retired(&mut self.storage.sides, &self.storage.signals);
        }
        self.restructured();
    }
}
