//! A description of what a query iterates over.
#![allow(unsafe_code)]

use super::driver::{Driver, group_of, plan_driver};
use super::table_ref::matches_table;
use super::{Filtered, QueryData, QueryFilter};
use crate::sort::sort_short;
use crate::sparse::{GroupDesc, Store};
use crate::storage::table::Table;
use crate::world::World;
use core::fmt;
use std::borrow::Cow;

/// A description of what a query iterates over: the matching tables, or a shorter store.
///
/// It is made by [`Query::explain`](super::Query::explain), and prints as text.
///
/// ```
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Enemy;
///
/// let mut world = World::new();
/// world.spawn_batch((0..3).map(|n| Position(n as f32)));
/// world.spawn((Position(0.0), Enemy));
/// let plan = world.query_mut::<&Position>().explain();
/// assert_eq!((plan.tables.len(), plan.rows()), (2, 4));
/// assert!(plan.to_string().contains("4 rows"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPlan {
    /// The type of the data.
    pub query: &'static str,
    /// The type of the filter. Without a filter it is `()`.
    pub filter: &'static str,
    /// What the query iterates over.
    pub driver: PlanDriver,
    /// The matching tables that have rows, in the order in which they are visited.
    pub tables: Vec<PlanTable>,
    /// The number of tables of the world that have rows.
    pub tables_in_world: usize,
}

/// What a query iterates over.
///
/// It is the shortest of the stores of components that every item has, of the relations in which every item has a target, of
/// the groups that every item is a member of, and of all matching tables. Among equals it is a group that owns pools, then the store named first, then a group that owns none,
/// then the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanDriver {
    /// The matching tables.
    Tables {
        /// The number of their rows.
        rows: usize,
    },
    /// The pool of a component, in its order.
    Pool {
        /// The component.
        component: &'static str,
        /// The number of slots in it.
        slots: usize,
        /// Whether it is a plain loop over the values, without a test for each row.
        whole: bool,
    },
    /// The linear store of a component, by ascending slot.
    Linear {
        /// The component.
        component: &'static str,
        /// The number of slots in it.
        slots: usize,
    },
    /// The entities that have links in a relation, by ascending slot.
    Relation {
        /// The relation.
        relation: &'static str,
        /// The number of entities that have a target or sources.
        slots: usize,
    },
    /// The members of a group, in its order.
    Group {
        /// What the group owns, observes and excludes.
        group: String,
        /// The number of its members.
        slots: usize,
        /// Whether it is a plain loop over the pools that it owns, without a test for each row.
        whole: bool,
    },
    /// Nothing, because no entity has one of the required components.
    Nothing,
}

impl PlanDriver {
    /// Returns the number of rows that are tested or visited.
    pub fn len(&self) -> usize {
        match self {
            PlanDriver::Tables { rows } => *rows,
            PlanDriver::Pool { slots, .. }
            | PlanDriver::Linear { slots, .. }
            | PlanDriver::Relation { slots, .. }
            | PlanDriver::Group { slots, .. } => *slots,
            PlanDriver::Nothing => 0,
        }
    }

    /// Returns `true` if no row is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table that matches a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanTable {
    /// The components of the table.
    pub components: Vec<&'static str>,
    /// The number of rows.
    pub rows: usize,
}

impl QueryPlan {
    /// Describes what a query iterates over.
    ///
    /// # Safety
    ///
    /// The state is the world's.
    pub(super) unsafe fn new<D: QueryData, F: QueryFilter>(world: &World, state: &(D::State, F::State)) -> QueryPlan {
        let storage = &world.storage;
        let matching =
            || storage.tables_in_order().filter(|(_, table)| matches_table::<Filtered<D, F>>(state, &table.signature));
        // SAFETY: the state is the world's, by the caller's contract.
        let plan = unsafe { plan_driver::<Filtered<D, F>>(world, state, matching().map(|(number, _)| number)) };
        let (slots, whole) = (plan.len as usize, plan.run.is_some());
        let driver = match plan.driver {
            Driver::Tables => PlanDriver::Tables { rows: slots },
            Driver::Empty => PlanDriver::Nothing,
            // A store without values is shown like one that does not exist.
            Driver::SparseStorage(_) if slots == 0 => PlanDriver::Nothing,
            Driver::Group(number) => {
                PlanDriver::Group { group: group_name(world, &group_of(world, number).desc), slots, whole }
            }
            Driver::SparseStorage(number) => {
                let sparse = storage.sparse.get(number);
                let component = storage.components.info(sparse.id).name();
                match (&sparse.store, &sparse.relation) {
                    (_, Some(relation)) => PlanDriver::Relation { relation: relation.name(), slots },
                    (Store::Pool(_), None) => PlanDriver::Pool { component, slots, whole },
                    (Store::Linear(_), None) => PlanDriver::Linear { component, slots },
                }
            }
        };
        let table = |(_, table): (u32, &Table)| PlanTable {
            components: table.columns.iter().map(|column| storage.components.info(column.id).name()).collect(),
            rows: table.len as usize,
        };
        QueryPlan {
            query: core::any::type_name::<D>(),
            filter: core::any::type_name::<F>(),
            driver,
            tables: matching().map(table).collect(),
            tables_in_world: storage.tables_in_order().count(),
        }
    }

    /// Returns the number of rows that are tested or visited.
    pub fn rows(&self) -> usize {
        self.driver.len()
    }
}

/// Returns what a group owns, observes and excludes, by the names of the components.
fn group_name(world: &World, what: &GroupDesc) -> String {
    let name = |number: &u32| {
        let sparse = world.storage.sparse.get(*number);
        (sparse.rank, world.storage.components.info(sparse.id).name())
    };
    let mut parts = Vec::new();
    let observed: Vec<u32> = what.required.iter().copied().filter(|number| !what.owned.contains(number)).collect();
    for (word, sparse) in [("Owned", &what.owned), ("Observed", &observed), ("Without", &what.excluded)] {
        let mut names: Vec<_> = sparse.iter().map(name).collect();
        sort_short(&mut names);
        if !names.is_empty() {
            let names: Vec<&str> = names.into_iter().map(|(_, name)| name).collect();
            parts.push(format!("{word}({})", names.join(", ")));
        }
    }
    parts.join(" + ")
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matching = self.tables.len();
        let query = match self.filter {
            "()" => Cow::Borrowed(self.query),
            filter => format!("{} with {filter}", self.query).into(),
        };
        match &self.driver {
            PlanDriver::Tables { rows } => {
                write!(f, "{query} iterates over {matching} of {} tables, {rows} rows", self.tables_in_world)?;
            }
            PlanDriver::Pool { component, slots, whole } => {
                let how = if *whole { ", as they lie" } else { "" };
                return write!(f, "{query} iterates over the pool of {component}, {slots} slots{how}");
            }
            PlanDriver::Group { group, slots, whole } => {
                let how = if *whole { ", as they lie" } else { "" };
                return write!(f, "{query} iterates over the group {group}, {slots} members{how}");
            }
            PlanDriver::Linear { component, slots } => {
                return write!(f, "{query} iterates over the linear store of {component}, {slots} slots");
            }
            PlanDriver::Relation { relation, slots } => {
                return write!(f, "{query} iterates over the links of {relation}, {slots} slots");
            }
            PlanDriver::Nothing => {
                return write!(f, "{query} iterates over nothing: no entity has a component that it asks for");
            }
        }
        for table in &self.tables {
            let components =
                if table.components.is_empty() { "no components".into() } else { table.components.join(" + ") };
            write!(f, "\n  {} × {components}", table.rows)?;
        }
        Ok(())
    }
}
