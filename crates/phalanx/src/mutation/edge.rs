//! Creating edges and resolving the components of a bundle in a table.
#![allow(unsafe_code)]

use crate::alloc::try_vec;
use crate::bundle::{ABSENT, BundlePtr};
use crate::bundle_info::Edge;
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::signature::Signature;
use crate::storage::Storage;
use crate::storage::table::Column;
use phalanx_store::AllocError;

impl Storage {
    /// Creates the edge between two tables. The components of `bundle` are not moved along.
    pub(crate) fn edge_between(
        &self,
        source: u32,
        target: u32,
        bundle: &Signature,
        columns: Box<[u16]>,
    ) -> Result<Edge, AllocError> {
        let (from, to) = (&self.tables[source as usize], &self.tables[target as usize]);
        let left = || from.columns.iter().filter(|c| bundle.has(c.id)).copied();
        let mut displaced = try_vec::<Column>(left().count())?;
        displaced.extend(left());
        let mut keep = try_vec(from.lane_count())?;
        keep.resize(from.lane_count(), false);
        for column in &displaced {
            keep[column.first as usize..][..column.lanes as usize].fill(true);
        }
        let mut moved = try_vec(keep.iter().filter(|keep| !**keep).count())?;
        for column in from.columns.iter().filter(|c| !bundle.has(c.id)) {
            let to = to.column(column.id).expect("what is not in the bundle is in both tables");
            moved.extend((0..column.lanes).map(|lane| (column.first + lane, to.first + lane)));
        }
        let (sparse_inserts, sparse_removes) = (Box::default(), Box::default());
        let tracked = from.tracked || to.tracked;
        Ok(Edge {
            target,
            moved: moved.into(),
            keep: keep.into(),
            displaced: displaced.into(),
            columns,
            required: Box::default(),
            tracked,
            sparse_inserts,
            sparse_removes,
        })
    }

    /// Returns the first lane of each component in a table. For a sparse component it is the number of sparse components before
    /// it, and [`ABSENT`] for a component that the table or the bundle does not have.
    pub(crate) fn bundle_columns<'i>(
        &self,
        table: u32,
        ids: impl Iterator<Item = &'i ComponentId> + Clone,
    ) -> Result<Box<[u16]>, AllocError> {
        let table = &self.tables[table as usize];
        let (mut columns, mut sparse) = (try_vec(ids.clone().count())?, 0);
        columns.extend(ids.map(|id| match *id {
            ComponentId::UNKNOWN => ABSENT,
            id => match self.components.info(id).kind() {
                Kind::Table => table.column(id).map_or(ABSENT, |column| column.first),
                Kind::Pool | Kind::Linear => {
                    sparse += 1;
                    sparse - 1
                }
            },
        }));
        Ok(columns.into())
    }

    /// Returns the sparse storages of those components that are sparse, in their order. Creates those that do not exist.
    pub(crate) fn register_sparse<'i>(
        &mut self,
        ids: impl Iterator<Item = &'i ComponentId> + Clone,
    ) -> Result<Box<[u32]>, AllocError> {
        let components = &self.components;
        let is_sparse = |id: &&ComponentId| **id != ComponentId::UNKNOWN && components.info(**id).kind() != Kind::Table;
        let mut sparse = try_vec(ids.clone().filter(is_sparse).count())?;
        for id in ids.filter(is_sparse) {
            sparse.push(self.sparse.try_register(*id, components)?);
        }
        Ok(sparse.into())
    }

    /// Returns the destination of a bundle: a row of a table, and the spare positions that were reserved last in sparse storages.
    #[inline(always)]
    pub(crate) fn bundle_ptr(&self, table: u32, columns: *const u16, row: u32) -> BundlePtr {
        let lanes = self.tables[table as usize].lanes();
        BundlePtr {
            lanes,
            columns,
            row: row as usize,
            sparse: self.sparse.insert_ptrs(),
            clock: &raw const self.sparse.clock,
        }
    }
}
