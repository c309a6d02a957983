//! Reserves what the commands of a segment need, before the first of them is executed.
#![allow(unsafe_code)]

use super::resolver::Resolver;
use crate::mutation::Reserved;
use crate::world::World;
use phalanx_store::AllocError;

impl Resolver {
    /// Reserves everything that the segment needs: phase 2. On error, returns the position of a
    /// command: of the one that needed the most rows of a table, of the first that spawns, or of the first of the segment.
    pub(super) fn reserve(&mut self, world: &mut World, first: usize) -> Result<Reserved, (usize, AllocError)> {
        let at = |position| move |error: AllocError| (position, error);
        if self.slots > 0 {
            world.storage.reserve_entities(self.slots).map_err(at(self.slots_position))?;
        }
        if self.extra_rows > 0 {
            let (rows, slots) = (self.extra_rows, world.storage.entities.capacity());
            world.storage.rows.try_reserve(rows, rows, slots).map_err(at(self.slots_position))?;
        }
        if self.named > 0 {
            world.storage.try_reserve_names(self.named).map_err(at(first))?;
        }
        for (table, demand) in (0..).zip(&self.demands).filter(|(_, demand)| demand.max > 0) {
            let rows = u32::try_from(demand.max).map_err(|_| AllocError::CapacityOverflow);
            rows.and_then(|rows| world.storage.reserve_table(table, rows)).map_err(at(demand.position))?;
        }
        // Values may move even if this fails.
        world.storage.restructured();
        for &(relation, slot, position) in self.linked() {
            world.storage.sparse.try_reserve_link(relation, slot).map_err(at(position))?;
        }
        world.storage.sparse.try_reserve_all(&self.sparse_inserts).map_err(at(first))?;
        world.storage.reserve_linked_entries(self.entries).map_err(at(first))?;
        if let Some(made) = &mut self.made {
            made.try_reserve().map_err(at(first))?;
        }
        self.stash.try_reserve().map_err(at(first))?;
        // SAFETY: the commands of the segment were counted while they were resolved, and everything is reserved.
        Ok(unsafe { Reserved::new() })
    }
}
