//! Moves between tables: edges, and the move itself.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::bundle::Place;
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::plan::Edge;
use crate::room::{try_copy, try_list};
use crate::signature::Signature;
use crate::table::{Column, copy_row, row_ptr};
use phalanx_store::{AllocError, Entity};

impl World {
    /// Makes sure that a plan knows where its components lead from a table: with them, or without them.
    #[inline(always)]
    pub(crate) fn edge(&mut self, plan: usize, source: u32, insert: bool) -> Result<(), AllocError> {
        let plan_ref = self.plans.get(plan);
        let edges = if insert { &plan_ref.inserts } else { &plan_ref.removes };
        match edges.get(source as usize) {
            Some(Some(_)) => Ok(()),
            _ => self.make_edge(plan, source, insert),
        }
    }

    #[cold]
    #[inline(never)]
    fn make_edge(&mut self, plan: usize, source: u32, insert: bool) -> Result<(), AllocError> {
        let (present, bundle) = (&self.storage.tables[source as usize].signature, &self.plans.get(plan).signature);
        let goal = if insert { present.try_merge(bundle)? } else { present.try_difference(bundle)? };
        let target = self.table_of(&goal)?;
        let plan_ref = self.plans.get(plan);
        let places = self.places(if insert { target } else { source }, &plan_ref.ids)?;
        let mut edge = self.edge_between(source, target, &plan_ref.signature, places)?;
        *(if insert { &mut edge.puts } else { &mut edge.takes }) = try_copy(&plan_ref.sides)?.into();
        self.plans.add_edge(plan, source, insert, edge)
    }

    /// The move from a table to another, in which the components of `bundle` stay behind.
    pub(super) fn edge_between(
        &self,
        source: u32,
        target: u32,
        bundle: &Signature,
        places: Box<[u16]>,
    ) -> Result<Edge, AllocError> {
        let (from, to) = (&self.storage.tables[source as usize], &self.storage.tables[target as usize]);
        let staying = || from.columns.iter().filter(|c| bundle.has(c.id)).copied();
        let mut left = try_list::<Column>(staying().count())?;
        left.extend(staying());
        let mut keep = try_list(from.lane_count())?;
        keep.resize(from.lane_count(), false);
        for column in &left {
            keep[column.first as usize..][..column.lanes as usize].fill(true);
        }
        let mut moved = try_list(keep.iter().filter(|keep| !**keep).count())?;
        for column in from.columns.iter().filter(|c| !bundle.has(c.id)) {
            let to = to.column(column.id).expect("what is not in the bundle is in both tables");
            moved.extend((0..column.lanes).map(|lane| (column.first + lane, to.first + lane)));
        }
        let (puts, takes) = (Box::default(), Box::default());
        let tracked = from.tracked || to.tracked;
        Ok(Edge { target, moved: moved.into(), keep: keep.into(), left: left.into(), places, tracked, puts, takes })
    }

    /// The first lane of each component in a table that has them; for one that is not kept in tables, how many such come
    /// before it.
    pub(super) fn places(&self, table: u32, ids: &[ComponentId]) -> Result<Box<[u16]>, AllocError> {
        let table = &self.storage.tables[table as usize];
        let (mut places, mut sides) = (try_list(ids.len())?, 0);
        places.extend(ids.iter().map(|id| match self.storage.components.info(*id).kind() {
            Kind::Table => table.column(*id).map_or(0, |column| column.first),
            Kind::Pool | Kind::Linear => {
                sides += 1;
                sides - 1
            }
        }));
        Ok(places.into())
    }

    /// The sides of those components that are not kept in tables, in their order; made if there are none.
    pub(crate) fn sides(&mut self, ids: &[ComponentId]) -> Result<Box<[u32]>, AllocError> {
        let components = &self.storage.components;
        let on_side = |id: &&ComponentId| components.info(**id).kind() != Kind::Table;
        let mut sides = try_list(ids.iter().filter(on_side).count())?;
        for id in ids.iter().filter(on_side) {
            sides.push(self.storage.sides.try_register(*id, components)?);
        }
        Ok(sides.into())
    }

    /// A row of a table as the place of a bundle, beside the places of the change of sides that was reserved last.
    #[inline(always)]
    pub(crate) fn place(&self, table: u32, places: *const u16, row: u32) -> Place {
        let lanes = self.storage.tables[table as usize].lanes();
        Place { lanes, places, row: row as usize, sides: self.storage.sides.places(), clock: &raw const self.storage.sides.clock }
    }

    /// Carries out an edge for the entity at `from`: its row goes to the target, and what stays behind lies at the
    /// source's tail. The row is the first beyond the target's last, whose other lanes the caller has written.
    ///
    /// # Safety
    ///
    /// The entity is at `from`, the edge is one of that table to another, there is room in the target, and the lanes of its
    /// first row beyond the last that do not come from the source are written.
    #[inline(always)]
    pub(crate) unsafe fn cross(&mut self, entity: Entity, from: Location, edge: *const Edge) {
        // SAFETY: edges are boxed and made only while resolving; tables are not added or dropped here.
        let edge = unsafe { &*edge };
        let target = &mut self.storage.tables[edge.target as usize];
        // SAFETY: there is room, by the caller's promise.
        let (row, to) = unsafe { (target.push(entity, &mut self.storage.table_order), target.lanes()) };
        if edge.tracked {
            // SAFETY: the source's row is in use, and the target's is written.
            unsafe { self.mark_cross(from.table, from.row..from.row + 1, edge, row) };
        }
        let source = &mut self.storage.tables[from.table as usize];
        // SAFETY: the source's row is in use, the target's was made just now; the lanes of a pair belong to the same
        // component. The values that went along count as moved out of the source.
        unsafe {
            for &(a, b) in &edge.moved {
                let (a, b) = (&*source.lanes().add(a as usize), &*to.add(b as usize));
                copy_row(row_ptr(a, from.row), row_ptr(b, row), a.row_size());
            }
            if let Some(moved) = source.close(from.row, &edge.keep) {
                self.storage.entities.places().at(moved.index()).write(from);
            }
            self.storage.entities.places().at(entity.index()).write(Location { table: edge.target, row });
        }
        if self.storage.counting {
            self.note_crossing(edge, 1);
        }
        self.restructured();
    }

    /// Notes that rows are about to go from one table to another, where the first comes to lie in `row`.
    ///
    /// # Safety
    ///
    /// The edge is one of that table to another. The rows are in use, and those of the target have the values in them that do
    /// not come along.
    #[cold]
    pub(super) unsafe fn mark_cross(&self, source: u32, rows: core::ops::Range<u32>, edge: &Edge, row: u32) {
        let (from, to) = (&self.storage.tables[source as usize], &self.storage.tables[edge.target as usize]);
        from.mark_columns(self.tick());
        to.mark_columns(self.tick());
        for (old, row) in rows.zip(row..) {
            // SAFETY: the caller's promise.
            unsafe { to.keep_added(row, &edge.left, (from, old)) };
        }
    }

    /// Notes that rows of a table have gone.
    #[inline(always)]
    pub(crate) fn mark_gone(&self, table: u32) {
        let table = &self.storage.tables[table as usize];
        if table.tracked {
            table.mark_columns(self.tick());
        }
    }

    pub(crate) fn edge_of(&self, plan: usize, source: u32, insert: bool) -> *const Edge {
        let plan = self.plans.get(plan);
        let edges = if insert { &plan.inserts } else { &plan.removes };
        match edges.get(source as usize) {
            Some(Some(edge)) => &raw const **edge,
            _ => unreachable!("an edge is made before it is used"),
        }
    }
}
