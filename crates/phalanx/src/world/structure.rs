//! Moves between tables: edges, and the move itself.
#![allow(unsafe_code)]

use super::World;
use crate::room::try_copy;
use phalanx_store::AllocError;

impl World {
    /// Makes the edge of a plan from a table, if it was not made before.
    #[inline(always)]
    pub(crate) fn edge(&mut self, plan: usize, source: u32, insert: bool) -> Result<(), AllocError> {
        match self.plans.find_edge(plan, source, insert) {
            Some(_) => Ok(()),
            None => self.make_edge(plan, source, insert),
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
}
