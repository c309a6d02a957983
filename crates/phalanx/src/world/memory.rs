//! Where a world's bytes are.

use super::{Location, World};
use crate::layout::Kind;
use crate::storage::Storage;
use crate::storage::table::{Column, Table};
use core::fmt;
use phalanx_store::raw::{Lane, Rows};

/// The bytes that a world holds from the allocator for entities and components: [`World::memory`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Who is alive: 8 bytes a slot.
    pub entities: usize,
    /// Where they are: 8 bytes a slot.
    pub locations: usize,
    /// What leads to extra rows, by name and by owner.
    pub rows: usize,
    /// The tables, in order of creation.
    pub tables: Vec<TableMemory>,
    /// The components that are not kept in tables, in order of first use.
    pub sparse: Vec<SparseMemory>,
    /// Which pools hold which slot: 8 bytes a slot for each 64 pools, and what leads from components to their stores.
    pub masks: usize,
    /// What listeners and collectors need, without what the listeners hold themselves.
    pub signals: usize,
}

/// The bytes of a component that is not kept in tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseMemory {
    /// The component.
    pub component: &'static str,
    /// A pool or a linear store.
    pub kind: Kind,
    /// How many values there are.
    pub len: usize,
    /// How many there is room for: side by side in a pool, at as many slots in a linear store.
    pub capacity: usize,
    /// Bytes of the values and of room for them.
    pub values: usize,
    /// Bytes of the keys of a pool, or of the bits of a linear store that say which slots have a value.
    pub keys: usize,
    /// Bytes of the index that leads from slots to the values of a pool.
    pub index: usize,
}

impl SparseMemory {
    /// All bytes.
    pub fn total(&self) -> usize {
        self.values + self.keys + self.index
    }
}

/// The bytes of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMemory {
    /// How many rows are in use.
    pub rows: usize,
    /// How many there is room for.
    pub capacity: usize,
    /// Bytes of the entity column.
    pub entities: usize,
    /// The components, with data and without, by id.
    pub columns: Vec<ColumnMemory>,
}

/// The bytes of a component in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMemory {
    /// The component.
    pub component: &'static str,
    /// Its lanes: one, or one a field; none for a component without data.
    pub lanes: Vec<LaneMemory>,
}

/// The bytes of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneMemory {
    /// Bytes in a row.
    pub row: usize,
    /// Rows there is room for.
    pub capacity: usize,
    /// Bytes in all.
    pub bytes: usize,
}

impl ColumnMemory {
    /// Bytes in all lanes.
    pub fn total(&self) -> usize {
        self.lanes.iter().map(|lane| lane.bytes).sum()
    }
}

impl TableMemory {
    /// Bytes in all columns.
    pub fn total(&self) -> usize {
        self.entities + self.columns.iter().map(ColumnMemory::total).sum::<usize>()
    }
}

impl Memory {
    /// All bytes.
    pub fn total(&self) -> usize {
        let tables = self.tables.iter().map(TableMemory::total).sum::<usize>();
        let sparse = self.sparse.iter().map(SparseMemory::total).sum::<usize>();
        self.entities + self.locations + self.rows + tables + sparse + self.masks + self.signals
    }
}

impl World {
    /// Where the bytes are that the world holds from the allocator for entities and components.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Position([f32; 3]);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..1000).map(|_| Position([0.0; 3])));
    /// let memory = world.memory();
    /// let column = &memory.tables[1].columns[0];
    /// assert!(column.total() >= 12_000 && memory.total() >= 36_000);
    /// println!("{memory}");
    /// ```
    pub fn memory(&self) -> Memory {
        let tables = self.storage.tables.iter().map(|table| TableMemory {
            rows: table.len as usize,
            capacity: table.cap as usize,
            entities: table.entities.bytes(),
            columns: table.columns.iter().map(|column| column_memory(&self.storage, table, column)).collect(),
        });
        // A slot's word and its location lie side by side.
        let slots = self.storage.entities.memory();
        let locations = slots.keys / size_of::<(u32, Location)>() * size_of::<Location>();
        let entities = slots.total() - locations;
        let sparse = self.storage.sparse.iter().map(|side| {
            let (keys, index) = side.overhead();
            SparseMemory {
                component: self.storage.components.info(side.id).name(),
                kind: self.storage.components.info(side.id).kind(),
                len: side.len() as usize,
                capacity: side.capacity() as usize,
                values: side.values().bytes(),
                keys,
                index,
            }
        });
        let (rows, masks, signals) = (
            self.storage.rows.bytes(),
            self.storage.sparse.overhead(),
            self.storage.journal.bytes() + self.observers.bytes(),
        );
        Memory { entities, locations, rows, tables: tables.collect(), sparse: sparse.collect(), masks, signals }
    }
}

/// Returns the memory of a column.
pub(super) fn column_memory(storage: &Storage, table: &Table, column: &Column) -> ColumnMemory {
    let lanes = &table.lane_list()[column.first as usize..][..column.lanes as usize];
    let lane =
        |lane: &Lane| LaneMemory { row: lane.row_size(), capacity: lane.capacity() as usize, bytes: lane.bytes() };
    ColumnMemory { component: storage.components.info(column.id).name(), lanes: lanes.iter().map(lane).collect() }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} bytes", self.total())?;
        writeln!(f, "{:>12} who is alive", self.entities)?;
        writeln!(f, "{:>12} where they are", self.locations)?;
        for (number, table) in self.tables.iter().enumerate().filter(|(_, table)| table.total() > 0) {
            writeln!(f, "{:>12} table {number}: {} rows, room for {}", table.total(), table.rows, table.capacity)?;
            writeln!(f, "{:>12}   entities", table.entities)?;
            for column in &table.columns {
                write!(f, "{:>12}   {}", column.total(), column.component)?;
                if column.lanes.len() > 1 {
                    f.write_str(" (lanes")?;
                    column.lanes.iter().try_for_each(|lane| write!(f, " {}", lane.bytes))?;
                    f.write_str(")")?;
                }
                f.write_str("\n")?;
            }
        }
        for side in &self.sparse {
            let kind = if side.kind == Kind::Pool { "pool" } else { "linear store" };
            let (total, component, len) = (side.total(), side.component, side.len);
            writeln!(f, "{total:>12} {kind} of {component}: {len} values, room for {}", side.capacity)?;
        }
        if !self.sparse.is_empty() {
            writeln!(f, "{:>12} which pools they are in", self.masks)?;
        }
        if self.signals == 0 { Ok(()) } else { writeln!(f, "{:>12} listeners and collectors", self.signals) }
    }
}
