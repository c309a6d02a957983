//! Moves between tables: edges, and the move itself.
#![allow(unsafe_code)]

use super::World;
use crate::plan::Edge;
use crate::room::try_copy;
use phalanx_store::AllocError;

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
        let target = self.storage.table_of(&goal)?;
        let plan_ref = self.plans.get(plan);
        let places = self.storage.places(if insert { target } else { source }, &plan_ref.ids)?;
        let mut edge = self.storage.edge_between(source, target, &plan_ref.signature, places)?;
        *(if insert { &mut edge.puts } else { &mut edge.takes }) = try_copy(&plan_ref.sides)?.into();
        self.plans.add_edge(plan, source, insert, edge)
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
