//! Moves between tables: edges, and the move itself.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_clone_slice;
use phalanx_store::AllocError;

impl World {
    /// Makes the edge of a plan from a table, if it was not made before.
    #[inline(always)]
    pub(crate) fn edge(&mut self, bundle_id: usize, source: u32, insert: bool) -> Result<(), AllocError> {
        match self.bundles.find_edge(bundle_id, source, insert) {
            Some(_) => Ok(()),
            None => self.make_edge(bundle_id, source, insert),
        }
    }

    #[cold]
    #[inline(never)]
    fn make_edge(&mut self, bundle_id: usize, source: u32, insert: bool) -> Result<(), AllocError> {
        let (present, bundle) =
            (&self.storage.tables[source as usize].signature, &self.bundles.get(bundle_id).signature);
        let goal = if insert { present.try_merge(bundle)? } else { present.try_difference(bundle)? };
        let target = self.storage.table_of(&goal)?;
        let info = self.bundles.get(bundle_id);
        let columns = self.storage.bundle_columns(if insert { target } else { source }, &info.ids)?;
        let mut edge = self.storage.edge_between(source, target, &info.signature, columns)?;
        *(if insert { &mut edge.sparse_inserts } else { &mut edge.sparse_removes }) =
            try_clone_slice(&info.sparse)?.into();
        self.bundles.add_edge(bundle_id, source, insert, edge)
    }
}
