//! The sums of an image: which arrays have them, and how they are added up.
//!
//! Each array has a key that depends on its component, lane and table, not on numbers of the world. So the sums are a
//! function of the state, whatever happened before. Change ticks have no sums. The labels of extra rows have numbers of
//! components, so they are summed by the fingerprints of these.

use super::column::Column;
use super::{ComponentId, ComponentImage, Image, SparseImage, SparseState, TableImage, fingerprint, scatter};
use crate::component::{ComponentInfo, Components};
use crate::signature::Signature;
use crate::storage::Storage;
use crate::timeline::frame_sums::FrameSums;
use phalanx_store::AllocError;

/// The parts of a state beside the values of components.
#[derive(Clone, Copy)]
enum Part {
    Words = 1,
    FreeList,
    Slots,
    Keys,
    Order,
    Labels,
}

/// Returns the key of a part.
const fn part(part: Part) -> u64 {
    scatter(part as u64)
}

/// Returns a number that identifies a set of components in other worlds.
fn signature_key(signature: &Signature, components: &Components) -> u64 {
    let ids = signature.iter().map(|id| scatter(fingerprint(components.info(id))));
    scatter(ids.fold(1, u64::wrapping_add))
}

impl Column {
    /// Computes the sums of the lanes of values. `table` identifies the table or storage.
    fn try_keep_sums(&mut self, id: ComponentId, info: &ComponentInfo, table: u64) -> Result<(), AllocError> {
        let lanes = match id {
            // The owners and the links. Between them are the labels.
            ComponentId::ROW => [true, false, true],
            _ => [true; 3],
        };
        for (lane, array) in self.arrays_mut().iter_mut().take(info.value_lanes()).enumerate() {
            if lanes.get(lane) != Some(&false) {
                array.try_keep_sums(scatter(table ^ scatter(fingerprint(info).wrapping_add(lane as u64))), false)?;
            }
        }
        Ok(())
    }

    /// Returns the sum of all values, or 0 if sums are not kept.
    fn sum(&self) -> u64 {
        self.arrays().iter().fold(0, |sum, array| sum.wrapping_add(array.sum()))
    }
}

impl TableImage {
    pub(super) fn try_keep_sums(&mut self, components: &Components) -> Result<(), AllocError> {
        let key = signature_key(&self.signature, components);
        self.slots.try_keep_sums(scatter(key ^ part(Part::Slots)), false)?;
        for image in &mut self.columns {
            image.column.try_keep_sums(image.id, components.info(image.id), key)?;
        }
        Ok(())
    }

    /// Returns the sum of the labels of extra rows.
    fn label_sum(&self, components: &[ComponentImage]) -> u64 {
        let Some(column) = self.columns.first().filter(|image| image.id == ComponentId::ROW) else { return 0 };
        let ids = self.signature.iter().map(|id| scatter(components[id.index()].fingerprint));
        let table = scatter(ids.fold(1, u64::wrapping_add) ^ part(Part::Labels));
        let labels = column.column.arrays().get(1).into_iter().flat_map(|labels| labels.pairs()).zip(1u64..);
        labels.fold(0, |sum, ([component, role], row)| {
            let component = components.get(component as usize).map_or(0, |info| info.fingerprint);
            let label = scatter(component ^ scatter(u64::from(role)));
            sum.wrapping_add(scatter(label ^ scatter(table.wrapping_add(row))))
        })
    }
}

impl SparseImage {
    pub(super) fn try_keep_sums(&mut self, components: &Components) -> Result<(), AllocError> {
        let info = components.info(self.id);
        let has_holes = matches!(self.state, SparseState::Pool(_));
        self.keys.try_keep_sums(scatter(fingerprint(info) ^ part(Part::Keys)), has_holes)?;
        self.column.try_keep_sums(self.id, info, part(Part::Keys))
    }
}

impl Image {
    /// Computes the sums of all chunks, and keeps them from now on.
    pub(in crate::timeline) fn try_keep_sums(&mut self, components: &Components) -> Result<(), AllocError> {
        self.words.try_keep_sums(part(Part::Words), false)?;
        self.free_list.try_keep_sums(part(Part::FreeList), false)?;
        self.tables.iter_mut().try_for_each(|table| table.try_keep_sums(components))?;
        self.sparse.iter_mut().try_for_each(|sparse| sparse.try_keep_sums(components))?;
        self.keeps_sums = true;
        Ok(())
    }

    /// Adds the sums of the image, which equals the world, to those of a frame. Allocates nothing.
    pub(in crate::timeline) fn add_sums(&self, storage: &Storage, sums: &mut FrameSums) {
        let mut entities = self.words.sum().wrapping_add(self.free_list.sum());
        let mut add = |sum: u64| entities = entities.wrapping_add(sum);
        let [reserved, pending] = self.reserved.map(u64::from);
        add(scatter(reserved << 32 | pending));
        let filled = |number: &u32| self.tables.get(*number as usize).is_some_and(|table| table.slots.rows() > 0);
        for (at, number) in (1u64..).zip(storage.table_order.iter().filter(filled)) {
            let ids = self.tables[number as usize].signature.iter();
            let key = ids.fold(at, |sum, id| sum.wrapping_add(scatter(self.components[id.index()].fingerprint)));
            add(scatter(key ^ part(Part::Order)));
        }
        for table in self.tables.iter().filter(|table| table.slots.rows() > 0) {
            add(table.slots.sum());
            add(table.label_sum(&self.components));
            for image in &table.columns {
                match image.id {
                    ComponentId::ROW => add(image.column.sum()),
                    id => sums.add(id, &self.components[id.index()], image.column.covered_sum()),
                }
            }
        }
        for sparse in self.sparse.iter().filter(|sparse| sparse.keys.rows() > 0) {
            let info = &self.components[sparse.id.index()];
            let removal = match &sparse.state {
                SparseState::Pool(state) => state.removal as u64,
                SparseState::Linear { .. } => 0,
            };
            add(sparse.keys.sum().wrapping_add(scatter(info.fingerprint ^ scatter(removal))));
            sums.add(sparse.id, info, sparse.column.covered_sum());
        }
        add(storage.sparse.group_sum(|id| self.components[id.index()].fingerprint));
        sums.set_entities(entities);
    }

    /// Returns `true` if the sums that are kept are those of the present bytes.
    pub(in crate::timeline) fn has_valid_sums(&mut self) -> bool {
        let mut is_valid = true;
        self.for_each_array(|array| is_valid &= array.has_valid_sums());
        is_valid
    }
}

impl Column {
    /// Returns the sum of all values, or `None` if they are clones, which have none.
    fn covered_sum(&self) -> Option<u64> {
        match self {
            Column::Plain(_) => Some(self.sum()),
            Column::Cloned(_) => None,
        }
    }
}
