//! [`Storage`]: the entities of a world, their rows and their values.
//!
//! # Representation
//!
//! `entities` has the generation of each slot and the location of its row. Table 0 is the table of entities without components.
//! `directory[component][table]` points at the first lane of the component in that table, or is null. It dangles for a component
//! without data.
#![allow(unsafe_code)]

mod extra_rows;
pub(crate) mod link_pairs;
mod link_validation;
mod names;
pub(crate) mod table;
mod table_index;
pub(crate) mod table_order;

use crate::alloc::{try_reserve, try_reserve_at, try_vec};
use crate::change_detection::{RunTicks, Tick};
use crate::component::{ComponentId, Components};
use crate::error::NoSuchEntity;
use crate::journal::Journal;
use crate::names::NameIndex;
use crate::rows::Rows;
use crate::signature::Signature;
use crate::sparse::{SparseStorages, Store};
use crate::storage::table::{Epoch, Table};
use crate::storage::table_index::TableIndex;
use crate::storage::table_order::TableOrder;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity, EntityPool};

/// The location of a row: the number of its table, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) table: u32,
    pub(crate) row: u32,
}

impl Location {
    /// The location of an entity that has no row yet.
    pub(crate) const NOWHERE: Location = Location { table: u32::MAX, row: u32::MAX };
}

/// The entities of a world, their rows and their values.
///
/// It knows nothing of bundle types, queries and resources: those are in [`World`](crate::World), which finds out what an
/// operation means before the storage carries it out.
pub(crate) struct Storage {
    pub(crate) epoch: Epoch,
    pub(crate) entities: EntityPool<Location>,
    pub(crate) components: Components,
    pub(crate) tables: Vec<Table>,
    /// The order in which tables are visited.
    pub(crate) table_order: TableOrder,
    pub(crate) by_signature: TableIndex,
    pub(crate) directory: Vec<Vec<*mut Lane>>,
    /// The components outside of tables.
    pub(crate) sparse: SparseStorages,
    pub(crate) rows: Rows,
    pub(crate) journal: Journal,
    /// Where entities with a name may be found. `None` while no entity has had one.
    pub(crate) names: Option<Box<NameIndex>>,
    /// The timeline that removed the dirty bits of written rows last. Without one, only lanes that are tracked have them.
    pub(crate) tracker: Option<u64>,
    /// Whether accesses are counted.
    pub(crate) counting: bool,
}

// SAFETY: the directory points at lanes that the tables own, and components are `Send` and `Sync`.
unsafe impl Send for Storage {}
// SAFETY: as above; through a shared reference nothing changes but the counter of reservations, which is atomic.
unsafe impl Sync for Storage {}

impl Storage {
    /// Creates the table of entities without components, and the order of tables.
    pub(crate) fn first_table(components: &Components) -> Result<(Vec<Table>, TableOrder), AllocError> {
        let (mut tables, mut order) = (try_vec(4)?, TableOrder::new());
        order.try_reserve()?;
        order.add();
        tables.push(Table::try_new(Signature::EMPTY, components, 0)?);
        Ok((tables, order))
    }

    /// Creates a storage that knows these components, with its [first table](Storage::first_table) and the id of its clock.
    #[inline(always)]
    pub(crate) fn new(components: Components, (tables, table_order): (Vec<Table>, TableOrder), id: u64) -> Storage {
        Storage {
            epoch: Epoch::default(),
            entities: EntityPool::with_payload(Location::NOWHERE),
            components,
            tables,
            table_order,
            by_signature: TableIndex::default(),
            directory: Vec::new(),
            sparse: SparseStorages::new(id),
            rows: Rows::default(),
            journal: Journal::default(),
            names: None,
            tracker: None,
            counting: false,
        }
    }

    /// Returns the present change tick.
    #[inline(always)]
    pub(crate) fn tick(&self) -> Tick {
        self.sparse.clock.now()
    }

    /// Returns `true` if the slot is alive.
    #[inline]
    pub(crate) fn contains(&self, slot: Entity) -> bool {
        self.entities.contains(slot)
    }

    /// Returns the number of rows: of main rows and of extra ones.
    pub(crate) fn row_count(&self) -> usize {
        self.entities.len() + self.entities.row_count()
    }

    /// Returns `true` if the slot is alive and has the component.
    pub(crate) fn has(&self, slot: Entity, id: ComponentId) -> bool {
        self.try_location(slot).is_ok_and(|at| match self.sparse.of(id) {
            None => !self.lane(id, at.table).is_null(),
            Some(sparse) => !self.components.is_hidden(id) && sparse.row(slot.index()).is_some(),
        })
    }
}

impl Storage {
    /// Returns a number that changes with every structural change.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Advances the epoch after a structural change.
    #[inline(always)]
    pub(crate) fn restructured(&mut self) {
        self.epoch.advance();
    }

    /// Returns the ticks of a query run that does not remember the run before.
    #[inline(always)]
    pub(crate) fn run_ticks(&self) -> RunTicks {
        self.sparse.clock.run_ticks()
    }

    /// Returns the location of an entity, or an error if it is not alive.
    #[inline(always)]
    pub(crate) fn try_location(&self, entity: Entity) -> Result<Location, NoSuchEntity> {
        match self.find_location(entity) {
            Some(location) => Ok(location),
            None => Err(NoSuchEntity { entity }),
        }
    }

    /// Returns the location of an entity, or `None` if it is not alive.
    #[inline(always)]
    pub(crate) fn find_location(&self, entity: Entity) -> Option<Location> {
        self.entities.payload(entity)
    }

    /// Sets the location of a slot.
    ///
    /// # Safety
    ///
    /// The slot is alive.
    #[inline(always)]
    pub(crate) unsafe fn set_location(&mut self, slot: Entity, location: Location) {
        // SAFETY: the slot is alive, by the caller's contract.
        unsafe { self.entities.set_unchecked(slot.index(), location) };
    }

    /// Returns the table of a signature, and creates it if there is none. If allocation fails, nothing has changed.
    pub(crate) fn table_of(&mut self, signature: &Signature) -> Result<u32, AllocError> {
        if let Some(table) = self.by_signature.find(&self.tables, signature) {
            return Ok(table);
        }
        let number = u32::try_from(self.tables.len()).map_err(|_| AllocError::CapacityOverflow)?;
        let table = Table::try_new(signature.try_clone()?, &self.components, number)?;
        let known = self.components.len();
        if self.directory.len() < known {
            try_reserve_at(&mut self.directory, known - 1)?;
            self.directory.resize_with(known, Vec::new);
        }
        for column in &table.columns {
            try_reserve_at(&mut self.directory[column.id.index()], number as usize)?;
        }
        try_reserve(&mut self.tables, 1)?;
        self.table_order.try_reserve()?;
        let entries = self.by_signature.try_reserve(&self.tables, signature)?;
        self.enter(&table, number);
        self.tables.push(table);
        self.table_order.add();
        if let Some(entries) = entries {
            self.by_signature.add(entries);
        }
        self.restructured();
        Ok(number)
    }

    /// Returns the tables that have rows with their numbers, in the order in which they are visited.
    pub(crate) fn tables_in_order(&self) -> impl Iterator<Item = (u32, &Table)> + Clone {
        self.table_order.iter().map(|number| (number, &self.tables[number as usize])).filter(|(_, table)| table.len > 0)
    }

    /// Returns the table of a signature, if there is one.
    #[cfg(feature = "snapshot")]
    pub(crate) fn table_number(&self, signature: &Signature) -> Option<u32> {
        self.by_signature.find(&self.tables, signature)
    }

    /// Adds the columns of a table to the directory. Its number is higher than those of all tables there.
    pub(crate) fn enter(&mut self, table: &Table, number: u32) {
        for column in &table.columns {
            let columns = &mut self.directory[column.id.index()];
            columns.resize(number as usize, core::ptr::null_mut());
            // A component without data has no lane; its entry dangles.
            let lane = match column.lanes {
                0 => core::ptr::NonNull::dangling().as_ptr(),
                _ => table.lanes().wrapping_add(column.first as usize),
            };
            columns.push(lane);
        }
    }

    /// Returns the first lane of a component in a table. It is null if the table lacks the component, and dangles if the
    /// component has no data.
    #[inline(always)]
    pub(crate) fn lane(&self, id: ComponentId, table: u32) -> *mut Lane {
        self.lanes_of(id).get(table as usize).copied().unwrap_or(core::ptr::null_mut())
    }

    /// Returns the lanes of a component in a table, if the table has it.
    pub(crate) fn lanes_in(&self, id: ComponentId, table: u32) -> Option<&[Lane]> {
        let table = self.tables.get(table as usize)?;
        table.column(id).map(|column| table.lanes_of(column))
    }

    /// Returns the first lanes of a component by table. Tables beyond the end lack the component.
    #[inline(always)]
    pub(crate) fn lanes_of(&self, id: ComponentId) -> &[*mut Lane] {
        self.directory.get(id.index()).map_or(&[], |lanes| lanes)
    }

    /// Rebuilds the maps of extra rows from the tables. Capacity for them is reserved.
    pub(crate) fn find_rows(&mut self) {
        for (number, table) in (0..).zip(&self.tables) {
            let Some(columns) = table.row_columns() else { continue };
            if table.columns.len() == 1 {
                self.rows.bare = Some(number);
            }
            for (row, slot) in table.slots().iter().enumerate() {
                let (owner, label) = (columns.owners[row].index(), columns.labels[row]);
                self.rows.by_name.insert((owner, label), slot.index());
                // The link before the first row leads to the last, which has no row after it.
                let before = self.find_extra_row(columns.links[row].prev);
                let is_first = before.is_some_and(|before| before.link.next == crate::rows::NONE);
                if is_first {
                    self.rows.begin(owner, slot.index());
                }
            }
        }
    }

    /// Checks the invariants of sparse storages.
    pub(crate) fn validate_sparse(&self) -> Result<(), &'static str> {
        self.sparse.validate(|slot| self.contains(slot), |index| self.slot(index), self.journal.is_dispatching)?;
        if !self.sparse.has_valid_types(&self.components) {
            return Err("a type that leads to another component's side");
        }
        for linear in self.sparse.iter().filter_map(|side| match &side.store {
            Store::Linear(linear) => Some(linear),
            Store::Pool(_) => None,
        }) {
            let rows = linear.iter().map(|slot| self.slot(slot)).collect::<Option<Vec<_>>>();
            let rows = rows.ok_or("a value of a linear store whose entity is not alive")?;
            if rows.iter().filter(|slot| slot.is_row()).count() != linear.extra_rows as usize {
                return Err("extra rows of a linear store miscounted");
            }
        }
        Ok(())
    }

    /// Returns the entity or extra row that is alive at an index.
    #[inline]
    pub(crate) fn slot(&self, index: u32) -> Option<Entity> {
        Storage::slot_at(&self.entities, &self.tables, index)
    }

    /// Returns the entity or extra row that is alive at an index, given the parts of a storage.
    #[inline]
    pub(crate) fn slot_at(entities: &EntityPool<Location>, tables: &[Table], index: u32) -> Option<Entity> {
        if let Some(entity) = entities.get(index) {
            return Some(entity);
        }
        // The location of a slot that is not alive is that of its last row: whether the row is there is checked.
        let at = entities.payload_at(index)?;
        let slot = *tables.get(at.table as usize)?.slots().get(at.row as usize)?;
        (slot.index() == index).then_some(slot)
    }

    /// Sets the locations of the rows of a table from `first` on.
    pub(crate) fn set_locations(&mut self, table: u32, first: u32) {
        // SAFETY: the names of extra rows stay in tables.
        let mut occupants = unsafe { self.entities.occupants_mut() };
        for (row, slot) in (first..).zip(&self.tables[table as usize].slots()[first as usize..]) {
            let known = occupants.get(slot.index());
            debug_assert!(
                known.as_ref().is_some_and(|(occupant, _)| occupant == slot),
                "the slots of a table are alive"
            );
            if let Some((_, location)) = known {
                *location = Location { table, row };
            }
        }
    }
}
