//! Records which values may be written between two captures of a timeline.
//!
//! A tracked lane has a dirty bit for each chunk of rows. A lane that is opened for writing as a whole gets a new version.
#![allow(unsafe_code)]

use crate::change_detection::Track;
use crate::component::ComponentId;
use crate::query::{Access, QueryData};
use crate::signature::Signature;
use crate::sparse::GroupId;
use crate::storage::{Location, Storage};
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// # Writes
///
/// These functions do nothing unless a timeline captures the world.
impl Storage {
    /// Records that all values of a sparse component may be written, or those of a table component in the chosen tables.
    #[inline(always)]
    pub(crate) fn touch_component(&self, id: ComponentId, tables: impl Fn(&Signature) -> bool) {
        if self.tracker.is_some() {
            self.touch_lanes(id, &tables);
        }
    }

    /// Records that all components that a query writes may be written in the chosen tables, and in sparse storages.
    #[inline(always)]
    pub(crate) fn touch_written<D: QueryData>(&self, tables: impl Fn(&Signature) -> bool) {
        if self.tracker.is_some() {
            self.touch_access(&Access::of_data::<D>(), &tables);
        }
    }

    /// Records that the components that a group requires may be written.
    #[inline(always)]
    pub(crate) fn touch_group(&self, group: GroupId) {
        if self.tracker.is_some() {
            self.touch_required(group);
        }
    }

    /// Records that the components that a group requires may be written in one slot.
    #[inline(always)]
    pub(crate) fn touch_member(&mut self, group: GroupId, slot: u32) {
        if self.tracker.is_some() {
            self.touch_required_of(group, slot);
        }
    }

    /// Records that the components that a query writes may be written in one row.
    #[inline(always)]
    pub(crate) fn touch_row<D: QueryData>(&self, slot: u32, at: Location) {
        if self.tracker.is_some() {
            self.set_dirty(&Access::of_data::<D>(), slot, at);
        }
    }

    #[cold]
    #[inline(never)]
    fn set_dirty(&self, access: &Access, slot: u32, at: Location) {
        let table = &self.tables[at.table as usize];
        for id in access.written(&self.components) {
            let found = match self.sparse.of(id) {
                Some(storage) => storage.row(slot).and_then(|row| Some((storage.values().lanes().first()?, row))),
                None => table.column(id).filter(|column| column.lanes > 0).map(|column| {
                    let lane = &table.lane_list()[column.first as usize];
                    (lane, at.row)
                }),
            };
            if let Some((lane, row)) = found {
                // SAFETY: the row is in use, so it is below the capacity. Other threads that write rows of this lane set
                // dirty bits by this function too. No thread reads the dirty bits while a query that writes is in use.
                unsafe { lane.set_dirty_shared(row) };
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn touch_access(&self, access: &Access, tables: &dyn Fn(&Signature) -> bool) {
        access.written(&self.components).for_each(|id| self.touch_lanes(id, tables));
    }

    #[cold]
    #[inline(never)]
    fn touch_required(&self, group: GroupId) {
        for &storage in self.sparse.group(group).map_or(&[][..], |group| &group.desc.required) {
            self.touch_lanes(self.sparse.get(storage).id, &|_| false);
        }
    }

    #[cold]
    #[inline(never)]
    fn touch_required_of(&mut self, group: GroupId, slot: u32) {
        for &storage in self.sparse.group(group).map_or(&[][..], |group| &group.desc.required) {
            let storage = self.sparse.get(storage);
            if let Some(row) = storage.row(slot) {
                // SAFETY: the row is in use, so it is below the capacity, and the storage is borrowed exclusively.
                unsafe { storage.values().mark_dirty(row) };
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn touch_lanes(&self, id: ComponentId, tables: &dyn Fn(&Signature) -> bool) {
        let info = self.components.info(id);
        if info.track == Track::Column && info.value_lanes() == 0 {
            // There are no values, and the version of the only lane is a change tick.
            return;
        }
        if let Some(storage) = self.sparse.of(id) {
            storage.values().lanes().first().into_iter().for_each(Lane::touch);
            return;
        }
        for table in self.tables.iter().filter(|table| table.len > 0 && tables(&table.signature)) {
            if let Some(column) = table.column(id).filter(|column| column.lanes > 0) {
                table.lane_list()[column.first as usize].touch();
            }
        }
    }
}

/// A change to the dirty bits of all tracked lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tracking {
    /// Gives dirty bits to the lanes that have none.
    Start,
    /// Clears all dirty bits.
    Clear,
    /// Removes all dirty bits.
    Stop,
}

impl Tracking {
    fn apply(self, lane: &mut Lane) -> Result<(), AllocError> {
        match self {
            Tracking::Start if lane.is_tracked() => Ok(()),
            Tracking::Start => lane.try_track(),
            Tracking::Clear => {
                lane.dirty_mut().fill(0);
                Ok(())
            }
            Tracking::Stop => {
                lane.untrack();
                Ok(())
            }
        }
    }
}

impl Storage {
    /// Changes the dirty bits of the lanes that a timeline compares.
    ///
    /// These are the slots and the free list, the entities of each table, the first lane of each column, and the keys and the
    /// first lane of each sparse storage.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails, for [`Tracking::Start`] only. Lanes that have dirty bits keep them.
    pub(crate) fn try_set_tracking(&mut self, tracking: Tracking) -> Result<(), AllocError> {
        // SAFETY: `apply` changes the dirty bits of a lane. It neither replaces nor resizes it. The lanes of a column are those
        // of its table, which is borrowed exclusively.
        unsafe {
            for lane in self.entities.lanes_mut() {
                tracking.apply(lane)?;
            }
            for table in &mut self.tables {
                tracking.apply(table.entities.erased())?;
                for column in table.columns.iter().filter(|column| column.lanes > 0) {
                    tracking.apply(&mut *table.lanes().add(column.first as usize))?;
                }
            }
            for storage in self.sparse.iter_mut() {
                let (keys, values) = storage.lanes_mut();
                let mut lanes = core::iter::once(keys).chain(values.first_mut());
                let outcome = lanes.try_for_each(|lane| tracking.apply(lane));
                storage.update_cached();
                outcome?;
            }
        }
        Ok(())
    }

    /// Clears the dirty bits: what is written from now on sets them again.
    pub(crate) fn clear_dirty_bits(&mut self) {
        let cleared = self.try_set_tracking(Tracking::Clear);
        debug_assert!(cleared.is_ok());
    }
}
