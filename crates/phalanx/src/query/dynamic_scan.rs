//! What a scan of a run-time query needs that stops and goes on later.

use super::driver::{Driver, choose_driver, group_of};
use super::dynamic_query::DynamicQuery;
use super::dynamic_row::Rows;
use crate::component::ComponentId;
use crate::signature::Signature;
use crate::world::World;
use phalanx_store::Entity;

/// What a scan iterates over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanDriver {
    /// The tables that match.
    Tables,
    /// The storage of this component.
    Store(ComponentId),
    /// The members of this group, by its position among all groups.
    Group(u32),
    /// Nothing: a required component has no storage.
    Empty,
}

impl DynamicQuery {
    /// Returns `true` if the query was built for this world.
    pub(crate) fn is_of(&self, world: &World) -> bool {
        self.check(world).is_ok()
    }

    /// Returns the driver, which gives the scan the [order](super#order) of queries.
    pub(crate) fn scan_driver(&self, world: &World) -> ScanDriver {
        let numbered = world.storage.tables_in_order();
        let matching = numbered.filter(|(_, table)| self.matches_table(&table.signature)).map(|(number, _)| number);
        match choose_driver::<Rows>(world, &self.states.0, matching).0 {
            Driver::Tables => ScanDriver::Tables,
            Driver::SparseStorage(number) => ScanDriver::Store(world.storage.sparse.get(number).id),
            Driver::Group(number) => ScanDriver::Group(number),
            Driver::Empty => ScanDriver::Empty,
        }
    }

    /// Returns `true` if rows of a table may match. They do, unless [rows are tested](DynamicQuery::tests_rows).
    pub(crate) fn matches_table(&self, signature: &Signature) -> bool {
        self.asked().matches(signature)
    }

    /// Returns `true` if the query names components outside of tables, so that the rows of a table may differ.
    pub(crate) fn tests_rows(&self) -> bool {
        self.asked().sparse().is_some()
    }

    /// Returns `true` if the row of a slot matches, given the signature of its table.
    pub(crate) fn matches_slot(&self, world: &World, slot: u32, signature: &Signature) -> bool {
        let sparse = &world.storage.sparse;
        let has_sparse = |id| Some(sparse.of(id).is_some_and(|sparse| sparse.row(slot).is_some()));
        self.asked().conditions.matches(signature, &has_sparse)
    }
}

/// Returns the members of a group, by its position among all groups. There are none if there is no such group.
pub(crate) fn group_members(world: &World, number: u32) -> &[Entity] {
    match (number as usize) < world.storage.sparse.groups().count() {
        true => world.storage.sparse.members(group_of(world, number)),
        false => &[],
    }
}
