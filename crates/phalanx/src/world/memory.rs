//! [`Memory`]: the bytes that a world has allocated.

use super::{Location, World};
use crate::alloc::{try_collect, unwrap_alloc};
use crate::layout::Kind;
use crate::names::NameIndex;
use crate::sparse::SparseStorage;
use crate::storage::Storage;
use crate::storage::table::{Column, Table};
use core::fmt;
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, Rows};

/// The bytes that a world has allocated for entities and components: [`World::memory`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Generations: 8 bytes a slot.
    pub entities: usize,
    /// Locations: 8 bytes a slot.
    pub locations: usize,
    /// The maps that lead to extra rows, by name and by owner.
    pub rows: usize,
    /// The tables, in order of creation.
    pub tables: Vec<TableMemory>,
    /// The sparse components, in order of first use.
    pub sparse: Vec<SparseMemory>,
    /// Presence bits: 8 bytes a slot for each 64 pools, and the lists that lead from components to their storages.
    pub masks: usize,
    /// The index of [names](crate::Name). The names themselves are among the sparse components.
    pub names: usize,
    /// Listeners, collectors and readers, without what the listeners allocate themselves.
    pub signals: usize,
}

/// The bytes of a sparse component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseMemory {
    /// The component.
    pub component: &'static str,
    /// The kind of its storage: a pool or a linear storage.
    pub kind: Kind,
    /// The number of values.
    pub len: usize,
    /// The capacity: in values for a pool, in slots for a linear storage.
    pub capacity: usize,
    /// Bytes of the values, at this capacity.
    pub values: usize,
    /// Bytes of the keys of a pool, or of the presence bits of a linear storage.
    pub keys: usize,
    /// Bytes of the index of a pool, from slots to positions.
    pub index: usize,
}

impl SparseMemory {
    /// Returns the sum of all bytes.
    pub fn total(&self) -> usize {
        self.values + self.keys + self.index
    }
}

/// The bytes of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMemory {
    /// The number of rows.
    pub rows: usize,
    /// The capacity, in rows.
    pub capacity: usize,
    /// Bytes of the entity column.
    pub entities: usize,
    /// The components by id, with the zero-sized ones.
    pub columns: Vec<ColumnMemory>,
}

/// The bytes of a component in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMemory {
    /// The component.
    pub component: &'static str,
    /// Its lanes: one, or one for each field; none for a zero-sized component.
    pub lanes: Vec<LaneMemory>,
}

/// The bytes of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneMemory {
    /// Bytes in a row.
    pub row: usize,
    /// The capacity, in rows.
    pub capacity: usize,
    /// All bytes.
    pub bytes: usize,
}

impl ColumnMemory {
    /// Returns the bytes of all lanes.
    pub fn total(&self) -> usize {
        self.lanes.iter().map(|lane| lane.bytes).sum()
    }
}

impl TableMemory {
    /// Returns the bytes of all columns.
    pub fn total(&self) -> usize {
        self.entities + self.columns.iter().map(ColumnMemory::total).sum::<usize>()
    }
}

impl Memory {
    /// Returns the sum of all bytes.
    pub fn total(&self) -> usize {
        let tables = self.tables.iter().map(TableMemory::total).sum::<usize>();
        let sparse = self.sparse.iter().map(SparseMemory::total).sum::<usize>();
        self.entities + self.locations + self.rows + tables + sparse + self.masks + self.names + self.signals
    }
}

impl World {
    /// Returns the bytes that the world has allocated for entities and components.
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
        unwrap_alloc(self.try_memory())
    }

    /// Like [`memory`](World::memory), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails.
    pub fn try_memory(&self) -> Result<Memory, AllocError> {
        let tables = self.storage.tables.iter().map(|table| table_memory(&self.storage, table));
        // A slot's word and its location are one entry.
        let slots = self.storage.entities.memory();
        let locations = slots.keys / size_of::<(u32, Location)>() * size_of::<Location>();
        let entities = slots.total() - locations;
        let sparse = self.storage.sparse.iter().map(|sparse| Ok::<_, AllocError>(sparse_memory(&self.storage, sparse)));
        let (tables, sparse) = (try_collect(tables)?, try_collect(sparse)?);
        let (rows, masks, signals) = (
            self.storage.rows.bytes(),
            self.storage.sparse.overhead() + self.despawn_set.bytes(),
            self.storage.journal.bytes() + self.observers.as_ref().map_or(0, |observers| observers.bytes()),
        );
        let names = self.storage.names.as_ref().map_or(0, |index| size_of::<NameIndex>() + index.bytes());
        Ok(Memory { entities, locations, rows, tables, sparse, masks, names, signals })
    }
}

/// Returns the memory of a table.
pub(crate) fn table_memory(storage: &Storage, table: &Table) -> Result<TableMemory, AllocError> {
    Ok(TableMemory {
        rows: table.len as usize,
        capacity: table.cap as usize,
        entities: table.entities.bytes(),
        columns: try_collect(table.columns.iter().map(|column| column_memory(storage, table, column)))?,
    })
}

/// Returns the memory of a sparse component.
pub(crate) fn sparse_memory(storage: &Storage, sparse: &SparseStorage) -> SparseMemory {
    let (info, (keys, index)) = (storage.components.info(sparse.id), sparse.overhead());
    SparseMemory {
        component: info.name(),
        kind: info.kind(),
        len: sparse.len() as usize,
        capacity: sparse.capacity() as usize,
        values: sparse.values().bytes(),
        keys,
        index,
    }
}

/// Returns the memory of a column.
pub(crate) fn column_memory(storage: &Storage, table: &Table, column: &Column) -> Result<ColumnMemory, AllocError> {
    let lane =
        |lane: &Lane| LaneMemory { row: lane.row_size(), capacity: lane.capacity() as usize, bytes: lane.bytes() };
    let lanes = try_collect(lanes_of(table, column).iter().map(|found| Ok::<_, AllocError>(lane(found))))?;
    Ok(ColumnMemory { component: storage.components.info(column.id).name(), lanes })
}

/// Returns the lanes of a column.
pub(crate) fn lanes_of<'t>(table: &'t Table, column: &Column) -> &'t [Lane] {
    &table.lane_list()[column.first as usize..][..column.lanes as usize]
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} bytes", self.total())?;
        writeln!(f, "{:>12} generations", self.entities)?;
        writeln!(f, "{:>12} locations", self.locations)?;
        for (number, table) in self.tables.iter().enumerate().filter(|(_, table)| table.total() > 0) {
            writeln!(f, "{:>12} table {number}: {} rows, capacity {}", table.total(), table.rows, table.capacity)?;
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
        for sparse in &self.sparse {
            let kind = if sparse.kind == Kind::Pool { "pool" } else { "linear storage" };
            let (total, component, len) = (sparse.total(), sparse.component, sparse.len);
            writeln!(f, "{total:>12} {kind} of {component}: {len} values, capacity {}", sparse.capacity)?;
        }
        if !self.sparse.is_empty() {
            writeln!(f, "{:>12} presence bits", self.masks)?;
        }
        if self.names > 0 {
            writeln!(f, "{:>12} index of names", self.names)?;
        }
        if self.signals == 0 { Ok(()) } else { writeln!(f, "{:>12} listeners and collectors", self.signals) }
    }
}
