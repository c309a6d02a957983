//! Frees memory that is not needed.
//!
//! # Invariants
//!
//! Dropping a table changes the numbers of the tables after it. Numbers of tables are stored in locations, in the directory, in
//! bundles and their edges, and in the states of queries. Locations and the directory are rewritten, and bundles are removed.
//! Query states are resolved again, because the id of the world changes. Nothing else stores them from one operation to the
//! next. The order of the remaining tables and of their rows does not change.
#![allow(unsafe_code)]

use super::World;
use crate::sort::sort_short;
use phalanx_store::Entity;

impl World {
    /// Frees memory that is not needed, and returns the number of rows that were moved or freed. Zero means that nothing is left
    /// to do.
    ///
    /// Columns, pools and linear storages are shrunk to the values in use, holes of pools are closed, and tables without rows are
    /// dropped. `budget` limits the number of rows; the last step may exceed it. So the work can be spread over frames:
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Spark([f32; 4]);
    ///
    /// let mut world = World::new();
    /// let sparks = world.spawn_batch((0..10_000).map(|_| Spark([0.0; 4])));
    /// world.despawn_batch(sparks);
    /// let before = world.memory().total();
    /// while world.compact(1000) > 0 {}
    /// assert!(world.memory().total() < before / 2);
    /// ```
    ///
    /// The order of rows, of tables and of pools stays. Of a despawned entity 16 bytes remain, so that its handle stays invalid.
    #[doc(alias = "shrink_to_fit")]
    pub fn compact(&mut self, budget: usize) -> usize {
        let mut done = 0;
        for table in 0..self.storage.tables.len() {
            if done >= budget {
                return done;
            }
            let table = &mut self.storage.tables[table];
            let (kept, freed) = (table.len, table.slack());
            if freed > 0 {
                // If allocation fails, the columns stay as they were.
                let shrunk = table.try_resize(kept, &mut self.storage.epoch);
                done += if shrunk.is_ok() { kept as usize + freed as usize } else { 0 };
            }
        }
        if done < budget && !self.storage.sparse.is_empty() {
            self.storage.restructured();
            done += self.storage.sparse.compact(budget - done);
        }
        if done < budget && self.storage.names.is_some() {
            done += self.storage.shrink_names();
        }
        if done < budget {
            done += self.drop_empty_tables();
        }
        if done < budget {
            let before = self.storage.entities.capacity();
            self.storage.entities.shrink_to_fit();
            done += before - self.storage.entities.capacity();
        }
        done
    }

    /// Drops tables without rows, except the first. Returns the number of rows with another table number, plus the number of
    /// dropped tables.
    fn drop_empty_tables(&mut self) -> usize {
        let kept = |at: usize, len: u32| at == 0 || len > 0;
        let dropped = self.storage.tables.iter().enumerate().filter(|(at, table)| !kept(*at, table.len)).count();
        if dropped == 0 {
            return 0;
        }
        self.bundles.clear();
        self.queries = None;
        self.storage.rows.bare = None;
        self.id = super::next_id();
        self.storage.restructured();
        let (mut at, mut moved) = (0, 0);
        self.storage.tables.retain(|table| {
            at += 1;
            kept(at - 1, table.len)
        });
        self.storage.tables.shrink_to_fit();
        self.storage.directory.iter_mut().for_each(|lanes| *lanes = Vec::new());
        let mut tables = core::mem::take(&mut self.storage.tables);
        let mut order: Vec<(u64, u32)> = (0..).zip(&tables).map(|(number, table)| (table.stamp, number)).collect();
        sort_short(&mut order);
        self.storage.table_order.reset(tables.len());
        for (_, number) in order {
            let table = &mut tables[number as usize];
            (table.number, table.stamp) = (number, 0);
            if table.len > 0 {
                table.stamp = self.storage.table_order.activate(number, false);
            }
        }
        for (number, table) in (0..).zip(&tables) {
            self.storage.enter(table, number);
            let stays = |slot: &&Entity| self.storage.entities.payload(**slot).is_some_and(|at| at.table == number);
            moved += table.slots().iter().filter(|slot| !stays(slot)).count();
        }
        self.storage.by_signature.reset(&tables);
        self.storage.tables = tables;
        (0..self.storage.tables.len() as u32).for_each(|table| self.storage.set_locations(table, 0));
        self.storage.directory.iter_mut().for_each(Vec::shrink_to_fit);
        moved + dropped
    }
}
