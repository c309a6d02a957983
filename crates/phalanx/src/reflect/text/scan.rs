//! [`Scan`]: the matches of a query, 64 rows at a time, and [`Cursor`]: where a scan stopped.

use super::bound_query::BoundQuery;
use super::filter::FilterContext;
use crate::query::dynamic_scan::{ScanDriver, group_members};
use crate::sparse::Store;
use crate::storage::table::{Epoch, Table};
use crate::world::World;
use phalanx_store::Entity;

/// Where a scan stopped: [`BoundQuery::cursor`].
///
/// It remembers the world and its last structural change. If the structure of the world has changed when a scan goes on, rows may
/// have moved. Then the scan goes on as well as it can: it may miss entities or visit them twice, and the cursor [says
/// so](Cursor::is_torn).
#[derive(Clone, Debug)]
pub struct Cursor {
    /// The world, and what changes when its tables get other numbers.
    identity: u64,
    id: u64,
    epoch: Epoch,
    driver: ScanDriver,
    /// The table, by its stamp.
    stamp: u64,
    /// The next row of the table or position of the driver.
    row: usize,
    visited: u64,
    pub(super) found: usize,
    pub(super) is_done: bool,
    is_torn: bool,
}

impl Cursor {
    pub(super) fn new(query: &BoundQuery, world: &World) -> Cursor {
        Cursor {
            identity: world.identity(),
            id: world.id(),
            epoch: world.storage.epoch(),
            driver: query.query.scan_driver(world),
            stamp: 0,
            row: 0,
            visited: 0,
            found: 0,
            is_done: false,
            is_torn: false,
        }
    }

    /// Returns `true` if the scan has visited all rows, or has found as many as the query's `limit`.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns `true` if the structure of the world changed during the scan: entities were spawned or despawned, or components
    /// inserted or removed. Changed values do not count.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Returns the number of rows that were looked at.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// Returns the number of matches so far.
    pub fn found(&self) -> usize {
        self.found
    }

    pub(super) fn is_of(&self, world: &World) -> bool {
        self.identity == world.identity()
    }

    /// Goes on in a world that may have changed.
    pub(super) fn resume(&mut self, world: &World) {
        if (self.id, self.epoch) != (world.id(), world.storage.epoch()) {
            (self.id, self.epoch, self.is_torn) = (world.id(), world.storage.epoch(), true);
        }
    }
}

/// Goes through the rows of a driver, from a cursor on.
pub(super) struct Scan<'q, 'w> {
    pub(super) query: &'q BoundQuery,
    pub(super) context: FilterContext<'w>,
}

impl<'w> Scan<'_, 'w> {
    /// Visits up to 64 rows per step until a number of rows was looked at, or `each` returns `false`. A step is visited as a whole.
    pub(super) fn run(&self, cursor: &mut Cursor, max_rows: u64, mut each: impl FnMut(Entity) -> bool) {
        let (storage, end) = (&self.context.world.storage, cursor.visited.saturating_add(max_rows));
        if cursor.driver != ScanDriver::Tables {
            return self.run_driver(cursor, end, each);
        }
        let matching = storage.tables_in_order().map(|(_, table)| table);
        for table in matching.filter(|table| self.query.query.matches_table(&table.signature)) {
            if table.stamp < cursor.stamp {
                continue;
            }
            if table.stamp > cursor.stamp {
                (cursor.stamp, cursor.row) = (table.stamp, 0);
            }
            while cursor.row < table.len as usize {
                if cursor.visited >= end {
                    return;
                }
                let rows = cursor.row..(cursor.row + 64).min(table.len as usize);
                cursor.visited += rows.len() as u64;
                let (start, mut bits) = (rows.start, self.test_rows(table, rows.clone()));
                cursor.row = rows.end;
                while bits != 0 {
                    let at = start + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if !each(table.slots()[at]) {
                        return;
                    }
                }
            }
        }
        cursor.is_done = true;
    }

    /// Returns which of up to 64 rows of a table match.
    fn test_rows(&self, table: &Table, rows: core::ops::Range<usize>) -> u64 {
        let (query, context) = (self.query, self.context);
        let mut bits = u64::MAX >> (64 - rows.len());
        if query.query.tests_rows() {
            for (bit, slot) in table.slots()[rows.clone()].iter().enumerate() {
                let matches = query.query.matches_slot(context.world, slot.index(), &table.signature);
                bits &= !(u64::from(!matches) << bit);
            }
        }
        query.filter.test_rows(context, table, rows, bits)
    }

    /// Visits the rows of a sparse storage or group.
    fn run_driver(&self, cursor: &mut Cursor, end: u64, mut each: impl FnMut(Entity) -> bool) {
        let world = self.context.world;
        loop {
            if cursor.visited >= end {
                return;
            }
            let mut buffer = [None; 64];
            let Some((taken, next)) = take_keys(world, cursor.driver, cursor.row, &mut buffer) else { break };
            cursor.row = next;
            cursor.visited += taken as u64;
            for key in buffer[..taken].iter().flatten() {
                if self.matches(*key) && !each(*key) {
                    return;
                }
            }
        }
        cursor.is_done = true;
    }

    /// Returns `true` if an entity matches.
    pub(super) fn matches(&self, entity: Entity) -> bool {
        let storage = &self.context.world.storage;
        let Some(at) = storage.find_location(entity) else { return false };
        let Some(table) = storage.tables.get(at.table as usize).filter(|table| !table.is_extra()) else { return false };
        let query = &self.query.query;
        let matches_slot = || query.matches_slot(self.context.world, entity.index(), &table.signature);
        matches_slot() && self.query.filter.test(self.context, entity)
    }
}

/// Takes the entities of a storage or group from a position on. Returns how many positions were looked at and the next position,
/// or `None` at the end. Extra rows and holes are `None`.
fn take_keys(
    world: &World,
    driver: ScanDriver,
    from: usize,
    keys: &mut [Option<Entity>; 64],
) -> Option<(usize, usize)> {
    let storage = &world.storage;
    let count = |len: usize| Some(len.saturating_sub(from).min(64)).filter(|count| *count > 0);
    let main = |slot: Entity| Some(slot).filter(|slot| !slot.is_row());
    match driver {
        ScanDriver::Tables | ScanDriver::Empty => None,
        ScanDriver::Group(number) => {
            let members = group_members(world, number);
            let count = count(members.len())?;
            keys.iter_mut().zip(&members[from..from + count]).for_each(|(key, member)| *key = main(*member));
            Some((count, from + count))
        }
        ScanDriver::Store(id) => match &storage.sparse.of(id)?.store {
            Store::Pool(set) => {
                let count = count(set.dense.positions() as usize)?;
                for (key, at) in keys.iter_mut().zip(from..from + count) {
                    *key = set.dense.key_at(at as u32).and_then(main);
                }
                Some((count, from + count))
            }
            Store::Linear(linear) => {
                let count = count(linear.slots() as usize)?;
                for (key, slot) in keys.iter_mut().zip(from as u32..) {
                    *key = storage.entities.get(slot).filter(|_| linear.has(slot));
                }
                keys[count..].fill(None);
                Some((count, from + count))
            }
        },
    }
}
