//! [`TableRef`] and [`StoreRef`]: the storages of a world, to look at.

use super::Value;
use super::place::ComponentRow;
use crate::alloc::unwrap_alloc;
use crate::component::ComponentId;
use crate::layout::Kind;
use crate::memory::{ColumnMemory, SparseMemory, TableMemory};
use crate::signature::Signature;
use crate::sparse::SparseStorage;
use crate::storage::Storage;
use crate::storage::table::Table;
use crate::world::World;
use core::fmt;
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Returns the tables that have rows, in the [order](crate::query#order) of queries.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Position(f32, f32);
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Burning;
    ///
    /// let mut world = World::new();
    /// let e = world.spawn((Position(1.0, 2.0), Burning));
    /// let table = world.tables().next().unwrap();
    /// assert_eq!(table.entities(), [e]);
    /// assert!(table.signature().has(world.component_id::<Position>().unwrap()));
    /// assert_eq!(table.value(world.component_id::<Position>().unwrap(), 0).unwrap().to_string(), "(1.0, 2.0)");
    ///
    /// let burning = world.sparse_stores().next().unwrap();
    /// assert!(burning.entities().eq([e]));
    /// ```
    pub fn tables(&self) -> impl Iterator<Item = TableRef<'_>> {
        self.storage.tables_in_order().map(|(_, table)| TableRef { world: self, table })
    }

    /// Returns the sparse sets and linear storages that exist, in alphabetical order of their components.
    ///
    /// Those of relations and names are not among them; [`World::memory`] has their bytes.
    pub fn sparse_stores(&self) -> impl Iterator<Item = StoreRef<'_>> {
        let shown = self.storage.sparse.in_order().filter(|sparse| !self.storage.components.is_hidden(sparse.id));
        shown.map(|sparse| StoreRef { world: self, sparse })
    }
}

/// A table of a shared world: [`World::tables`].
#[derive(Clone, Copy)]
pub struct TableRef<'w> {
    world: &'w World,
    table: &'w Table,
}

impl<'w> TableRef<'w> {
    pub(super) fn new(world: &'w World, table: &'w Table) -> TableRef<'w> {
        TableRef { world, table }
    }

    pub(super) fn parts(&self) -> (&'w Storage, &'w Table) {
        (&self.world.storage, self.table)
    }

    /// Returns the set of the components. Tables of extra rows have one more, with number zero.
    pub fn signature(&self) -> &'w Signature {
        &self.table.signature
    }

    /// Returns the components in alphabetical order, without that of extra rows.
    pub fn components(&self) -> impl Iterator<Item = ComponentId> + use<'w> {
        self.table.columns.iter().map(|column| column.id).filter(|id| *id != ComponentId::ROW)
    }

    /// Returns `true` if the rows are [extra rows](crate::Key).
    pub fn is_extra(&self) -> bool {
        self.table.is_extra()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.table.len as usize
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.table.len == 0
    }

    /// Returns the number of rows that there is memory for.
    pub fn capacity(&self) -> usize {
        self.table.cap as usize
    }

    /// Returns the entities by row. Those of extra rows are their owners.
    pub fn entities(&self) -> &'w [Entity] {
        self.table.entities()
    }

    /// Returns the bytes of the table and of each column.
    pub fn memory(&self) -> TableMemory {
        unwrap_alloc(self.try_memory())
    }

    /// Like [`memory`](TableRef::memory), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails.
    pub fn try_memory(&self) -> Result<TableMemory, AllocError> {
        crate::world::table_memory(&self.world.storage, self.table)
    }

    /// Returns the number of bytes of a column, if the table has it.
    pub fn column_bytes(&self, id: ComponentId) -> Option<usize> {
        Some(crate::world::lanes_of(self.table, self.table.column(id)?).iter().map(|lane| lane.bytes()).sum())
    }

    /// Returns the bytes of each lane of a column, if the table has it.
    pub fn column_memory(&self, id: ComponentId) -> Option<ColumnMemory> {
        let column = self.table.column(id)?;
        Some(unwrap_alloc(crate::world::column_memory(&self.world.storage, self.table, column)))
    }

    /// Returns the value of a component at a row. Returns `None` if the table does not have the component or the row.
    pub fn value(&self, id: ComponentId, row: usize) -> Option<Value<'w>> {
        let row = u32::try_from(row).ok().filter(|_| id != ComponentId::ROW)?;
        ComponentRow::in_table(&self.world.storage, self.table, id, row).map(Value::of_component)
    }
}

impl fmt::Debug for TableRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)
    }
}

/// The sparse set or linear storage of a component, in a shared world: [`World::sparse_stores`].
#[derive(Clone, Copy)]
pub struct StoreRef<'w> {
    world: &'w World,
    sparse: &'w SparseStorage,
}

impl<'w> StoreRef<'w> {
    pub(super) fn parts(&self) -> (&'w Storage, &'w SparseStorage) {
        (&self.world.storage, self.sparse)
    }

    /// Returns ranges of rows that have the values of main rows, without a gap, in the order of the storage.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u32>> + use<'w> {
        let entities = &self.world.storage.entities;
        let whole = self.sparse.rows_of_entities();
        let mut rows = self.sparse.slots_and_rows().filter(|(slot, _)| entities.get(*slot).is_some());
        let mut next = rows.next().filter(|_| whole.is_none());
        let runs = core::iter::from_fn(move || {
            let (_, first) = next?;
            let mut end = first + 1;
            loop {
                next = rows.next();
                match next {
                    Some((_, row)) if row == end => end += 1,
                    _ => return Some(first..end),
                }
            }
        });
        whole.into_iter().chain(runs)
    }

    /// Returns the component.
    pub fn component(&self) -> ComponentId {
        self.sparse.id
    }

    /// Returns the kind of storage.
    pub fn kind(&self) -> Kind {
        self.world.storage.components.info(self.sparse.id).kind()
    }

    /// Returns the number of values, with those of extra rows.
    pub fn len(&self) -> usize {
        self.sparse.len() as usize
    }

    /// Returns the number of values without those of extra rows. For a linear storage this takes time for its values.
    pub fn entity_count(&self) -> usize {
        match self.sparse.extra_values() {
            Some(extra) => self.len() - extra as usize,
            None => self.entities().count(),
        }
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.sparse.len() == 0
    }

    /// Returns the bytes and the capacity.
    pub fn memory(&self) -> SparseMemory {
        crate::world::sparse_memory(&self.world.storage, self.sparse)
    }

    /// Returns the entities that have a value in their main row, in the order of the storage.
    pub fn entities(&self) -> impl Iterator<Item = Entity> + use<'w> {
        let entities = &self.world.storage.entities;
        self.sparse.slots_and_rows().filter_map(|(slot, _)| entities.get(slot))
    }

    /// Returns the value of an entity, if it is alive and has one.
    pub fn value(&self, entity: Entity) -> Option<Value<'w>> {
        ComponentRow::of_slot(&self.world.storage, entity, self.sparse.id).map(Value::of_component)
    }
}

impl fmt::Debug for StoreRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreRef({} values of {:?})", self.len(), self.sparse.id)
    }
}
