//! Giving memory back.
//!
//! # Invariants
//!
//! Tables that go away give the tables after them other numbers. Numbers of tables are in locations, in the directory, in
//! plans and their edges, and in the states of queries: the first are rewritten, plans are forgotten, and states start
//! anew because the world has another id. Nothing else remembers them from one operation to the next. The order of the
//! tables that stay does not change, nor does that of their rows.
#![allow(unsafe_code)]

use super::World;
use phalanx_store::Entity;
use std::collections::HashMap;

impl World {
    /// Gives memory back that is not needed: lanes are cut to the rows in use, tables without rows are dropped, holes of
    /// pools are closed, and pools and linear stores are cut to the values in use.
    ///
    /// `budget` is how many rows may be moved or given back; the last step may exceed it. Returns how many there were:
    /// zero when nothing is left to be done. So a frame can be given a little of it at a time:
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
    /// The order of rows, of tables and of pools stays. What remains of an entity that is gone are 16 bytes: they keep its handle dead.
    pub fn compact(&mut self, budget: usize) -> usize {
        let mut done = 0;
        for table in 0..self.storage.tables.len() {
            if done >= budget {
                return done;
            }
            let table = &mut self.storage.tables[table];
            let (kept, freed) = (table.len, table.slack());
            if freed > 0 {
                // What cannot be had smaller stays as it was.
                let shrunk = table.try_resize(kept, &mut self.storage.epoch);
                done += if shrunk.is_ok() { kept as usize + freed as usize } else { 0 };
            }
        }
        if done < budget && !self.storage.sparse.is_empty() {
            self.storage.restructured();
            done += self.storage.sparse.compact(budget - done);
        }
        if done < budget {
            done += self.drop_empty_tables();
        }
        if done < budget {
            done += self.shrink_slots();
        }
        done
    }

    /// Gives back the room of slots that were never used.
    fn shrink_slots(&mut self) -> usize {
        let before = self.storage.entities.capacity();
        self.storage.entities.shrink_to_fit();
        let slots = self.storage.entities.capacity() as u32;
        before - slots as usize
    }

    /// Drops tables without rows, but for the first. How many rows were given another table number, and tables dropped.
    fn drop_empty_tables(&mut self) -> usize {
        let kept = |at: usize, len: u32| at == 0 || len > 0;
        let dropped = self.storage.tables.iter().enumerate().filter(|(at, table)| !kept(*at, table.len)).count();
        if dropped == 0 {
            return 0;
        }
        self.bundles.clear();
        self.queries = None;
        self.storage.rows.bare = None;
        self.id = World::next_id();
        self.storage.restructured();
        let (mut at, mut moved) = (0, 0);
        self.storage.tables.retain(|table| {
            at += 1;
            kept(at - 1, table.len)
        });
        self.storage.tables.shrink_to_fit();
        self.storage.by_signature = HashMap::with_capacity_and_hasher(self.storage.tables.len(), Default::default());
        self.storage.directory.iter_mut().for_each(|lanes| *lanes = Vec::new());
        let mut tables = core::mem::take(&mut self.storage.tables);
        let mut order: Vec<(u64, u32)> = (0..).zip(&tables).map(|(number, table)| (table.stamp, number)).collect();
        order.sort_unstable();
        self.storage.table_order.reset(tables.len());
        for (_, number) in order {
            let table = &mut tables[number as usize];
            (table.number, table.stamp) = (number, 0);
            if table.len > 0 {
                table.stamp = self.storage.table_order.activate(number, false);
            }
        }
        for (number, table) in (0..).zip(&tables) {
            self.storage.by_signature.insert(table.signature.clone(), number);
            self.storage.enter(table, number);
            let stays = |slot: &&Entity| self.storage.entities.payload(**slot).is_some_and(|at| at.table == number);
            moved += table.slots().iter().filter(|slot| !stays(slot)).count();
        }
        self.storage.tables = tables;
        (0..self.storage.tables.len() as u32).for_each(|table| self.storage.set_locations(table, 0));
        self.storage.directory.iter_mut().for_each(Vec::shrink_to_fit);
        moved + dropped
    }
}
