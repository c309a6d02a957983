//! What is noted while something keeps frames: columns that are opened for writing.
#![allow(unsafe_code)]

use crate::change_detection::Track;
use crate::component::ComponentId;
use crate::query::{Access, QueryData};
use crate::signature::Signature;
use crate::sparse::GroupId;
use crate::world::{Location, World};

impl World {
    /// Notes, if something keeps frames, that all values of a component may be written, beside tables and in those of these
    /// signatures.
    #[inline(always)]
    pub(crate) fn open(&self, id: ComponentId, tables: impl Fn(&Signature) -> bool) {
        if self.storage.tracker.is_some() {
            self.open_all(id, &tables);
        }
    }

    /// As [`open`](World::open), for all that a query writes.
    #[inline(always)]
    pub(crate) fn open_for<D: QueryData>(&self, tables: impl Fn(&Signature) -> bool) {
        if self.storage.tracker.is_some() {
            self.open_written(&Access::of::<D>(), &tables);
        }
    }

    /// As [`open`](World::open), for all that the members of a group have.
    #[inline(always)]
    pub(crate) fn open_group(&self, group: GroupId) {
        if self.storage.tracker.is_some() {
            self.open_required(group);
        }
    }

    /// Notes, if something keeps frames, that what a query writes of one row may be written.
    #[inline(always)]
    pub(crate) fn mark_for<D: QueryData>(&self, slot: u32, at: Location) {
        if self.storage.tracker.is_some() {
            self.mark_accessed(&Access::of::<D>(), slot, at);
        }
    }

    #[cold]
    #[inline(never)]
    fn mark_accessed(&self, access: &Access, slot: u32, at: Location) {
        let table = &self.storage.tables[at.table as usize];
        for id in access.written(&self.storage.components) {
            let found = match self.storage.sparse.of(id) {
                Some(side) => side.row(slot).and_then(|row| Some((side.values().lanes().first()?, row))),
                None => table.column(id).filter(|column| column.lanes > 0).map(|column| {
                    let lane = &table.lane_list()[column.first as usize];
                    (lane, at.row)
                }),
            };
            if let Some((lane, row)) = found {
                // SAFETY: the row is in use, so it is below the capacity. Whoever writes rows of this lane meanwhile does it
                // by a query, too, and marks them here; nobody reads the marks while a query that writes is used.
                unsafe { lane.mark_shared(row) };
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn open_written(&self, access: &Access, tables: &dyn Fn(&Signature) -> bool) {
        access.written(&self.storage.components).for_each(|id| self.open_all(id, tables));
    }

    #[cold]
    #[inline(never)]
    fn open_required(&self, group: GroupId) {
        for &side in self.storage.sparse.group(group).map_or(&[][..], |group| &group.desc.required) {
            self.open_all(self.storage.sparse.get(side).id, &|_| false);
        }
    }

    #[cold]
    #[inline(never)]
    fn open_all(&self, id: ComponentId, tables: &dyn Fn(&Signature) -> bool) {
        let info = self.storage.components.info(id);
        if info.track == Track::Column && info.value_lanes() == 0 {
            // There is nothing to be written, and the version of the only lane is a tick.
            return;
        }
        if let Some(side) = self.storage.sparse.of(id) {
            side.values().lanes().first().into_iter().for_each(|lane| lane.touch());
            return;
        }
        for table in self.storage.tables.iter().filter(|table| table.len > 0 && tables(&table.signature)) {
            let lane = table.column(id).filter(|column| column.lanes > 0).map(|column| column.first as usize);
            lane.into_iter().for_each(|at| table.lane_list()[at].touch());
        }
    }
}
