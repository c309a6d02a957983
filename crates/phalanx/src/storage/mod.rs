//! [`Storage`]: the entities of a world, their rows and their values.
//!
//! # Representation
//!
//! `entities` knows which slots are alive, and has the location of each live slot beside its generation. Table 0 is that of
//! entities without components. `directory[component][table]` points at the component's first lane in that table, or is null. It
//! dangles for a component without data.
#![allow(unsafe_code)]

use crate::component::Components;
use crate::rows::Rows;
use crate::side::Sides;
use crate::signal::Signals;
use crate::signature::Signature;
use crate::table::{Epoch, Table};
use crate::table_order::TableOrder;
use phalanx_store::EntityPool;
use phalanx_store::raw::Lane;
use std::collections::HashMap;

/// The location of a row: the number of its table, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) table: u32,
    pub(crate) row: u32,
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
    /// Signatures may come from a file, so that the hash has a seed. No result depends on its order.
    pub(crate) by_signature: HashMap<Signature, u32>,
    pub(crate) directory: Vec<Vec<*mut Lane>>,
    /// The components outside of tables.
    pub(crate) sides: Sides,
    /// For each table, the lanes whose values need a drop.
    pub(crate) ends: Vec<Box<[bool]>>,
    pub(crate) rows: Rows,
    pub(crate) signals: Signals,
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
    /// Creates a storage without tables that knows these components.
    pub(crate) fn new(components: Components) -> Storage {
        Storage {
            epoch: Epoch::default(),
            entities: EntityPool::carrying(),
            components,
            tables: Vec::new(),
            table_order: TableOrder::new(),
            by_signature: HashMap::default(),
            directory: Vec::new(),
            sides: Sides::new(),
            ends: Vec::new(),
            rows: Rows::default(),
            signals: Signals::default(),
            tracker: None,
            counting: false,
        }
    }
}
