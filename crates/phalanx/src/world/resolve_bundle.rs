//! Finds the cached information of bundles and of their edges.

use super::World;
use crate::alloc::{try_clone_slice, try_vec};
use crate::bundle::Bundle;
use crate::bundle_info;
use crate::component::ComponentId;
use crate::error::StructuralError;
use core::any::TypeId;
use phalanx_store::AllocError;

impl World {
    /// Returns the number of a bundle, which is resolved if it is not known yet.
    #[inline(always)]
    pub(crate) fn bundle_id<B: Bundle>(&mut self) -> Result<usize, StructuralError> {
        match self.bundles.find(TypeId::of::<B>()) {
            Some(bundle_id) => Ok(bundle_id),
            None => self.make_bundle::<B>(),
        }
    }

    /// Resolves a bundle that is not known yet.
    #[cold]
    #[inline(never)]
    fn make_bundle<B: Bundle>(&mut self) -> Result<usize, StructuralError> {
        let mut ids = try_vec(B::LEN)?;
        B::ids(&mut self.storage.components, &mut ids)?;
        self.bundle_of(TypeId::of::<B>(), ids)
    }

    /// Adds the information of a bundle with these components, under a type.
    pub(super) fn bundle_of(&mut self, key: TypeId, ids: Vec<ComponentId>) -> Result<usize, StructuralError> {
        let signature = bundle_info::signature(&ids, &self.storage.components)?;
        let table = self.storage.table_of(&signature)?;
        let columns = self.storage.bundle_columns(table, &ids)?;
        let sparse = self.storage.register_sparse(&ids)?;
        Ok(self.bundles.add(key, (table, columns), ids.into(), (signature, sparse))?)
    }

    /// Creates the edge of a bundle from a table, if it does not exist.
    #[inline(always)]
    pub(crate) fn edge(&mut self, bundle_id: usize, source: u32, insert: bool) -> Result<(), AllocError> {
        match self.bundles.find_edge(bundle_id, source, insert) {
            Some(_) => Ok(()),
            None => self.make_edge(bundle_id, source, insert),
        }
    }

    /// Creates the edge of a bundle from a table.
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
