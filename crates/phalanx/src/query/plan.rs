//! A query's plan, for people.
#![allow(unsafe_code)]

use super::walk::{Lead, course, group_of};
use super::{Filter, Query, matches_table};
use crate::side::{Draft, Store};
use crate::table::Table;
use crate::world::World;
use core::fmt;

/// What a query goes through: the tables that match, in the order of visit, or a store that is shorter.
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
/// let plan = world.query_mut::<&Position>().plan();
/// assert_eq!((plan.tables.len(), plan.rows()), (2, 4));
/// assert!(plan.to_string().contains("4 rows"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The query.
    pub query: &'static str,
    /// What is walked.
    pub driver: Driver,
    /// The tables that match and have rows, in the order in which they are visited.
    pub tables: Vec<PlanTable>,
    /// The number of tables with rows that the world has.
    pub tables_in_world: usize,
}

/// What a query walks: the shortest of the stores of components that every item has, of the groups that every item is a
/// member of, and of all tables that match. Among equals a group that owns pools, then the store named first, then a group
/// that owns none, then tables.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Driver {
    /// The tables that match.
    Tables {
        /// How many rows they have.
        rows: usize,
    },
    /// The pool of a component, in its order.
    Pool {
        /// The component.
        component: &'static str,
        /// How many slots are in it.
        slots: usize,
        /// Whether its values are the items: a plain loop over them.
        whole: bool,
    },
    /// The linear store of a component, by ascending slot.
    Linear {
        /// The component.
        component: &'static str,
        /// How many slots are in it.
        slots: usize,
    },
    /// The members of a group, in its order.
    Group {
        /// What the group owns, observes and excludes.
        group: String,
        /// How many members it has.
        slots: usize,
        /// Whether the pools that it owns are the items: a plain loop over them.
        whole: bool,
    },
    /// Nothing: no entity has a component that every item has.
    Nothing,
}

impl Driver {
    /// How many rows are looked at.
    pub fn len(&self) -> usize {
        match self {
            Driver::Tables { rows } => *rows,
            Driver::Pool { slots, .. } | Driver::Linear { slots, .. } | Driver::Group { slots, .. } => *slots,
            Driver::Nothing => 0,
        }
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table that a query matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanTable {
    /// What its entities have.
    pub components: Vec<&'static str>,
    /// How many there are.
    pub rows: usize,
}

impl Plan {
    /// Returns what a query goes through.
    ///
    /// # Safety
    ///
    /// The ids are the world's.
    pub(super) unsafe fn new<Q: Query, F: Filter>(world: &World, ids: &(Q::State, F::State)) -> Plan {
        let matching =
            world.storage.tables_in_order().filter(|(_, table)| matches_table::<Q, F>(ids, &table.signature));
        let tables = matching.map(|(_, table)| PlanTable {
            components: table.columns.iter().map(|column| world.storage.components.info(column.id).name()).collect(),
            rows: table.len as usize,
        });
        // SAFETY: the caller's promise.
        let driver = unsafe { Plan::driver::<Q, F>(world, ids) };
        Plan {
            query: core::any::type_name::<Q>(),
            driver,
            tables: tables.collect(),
            tables_in_world: world.storage.tables_in_order().count(),
        }
    }

    /// # Safety
    ///
    /// The ids are the world's.
    unsafe fn driver<Q: Query, F: Filter>(world: &World, ids: &(Q::State, F::State)) -> Driver {
        let matches = |(_, table): &(u32, &Table)| matches_table::<Q, F>(ids, &table.signature);
        let tables = world.storage.tables_in_order().filter(matches).map(|(number, _)| number);
        // SAFETY: the caller's promise.
        let course = unsafe { course::<Q, F>(world, ids, tables) };
        let slots = course.len as usize;
        match course.lead {
            // A store that was never made is no different from one without values.
            Lead::Side(_) if slots == 0 => Driver::Nothing,
            Lead::Tables => Driver::Tables { rows: slots },
            Lead::Nobody => Driver::Nothing,
            Lead::Group(number) => {
                let group = group_name(world, &group_of(world, number).what);
                Driver::Group { group, slots, whole: course.run.is_some() }
            }
            Lead::Side(side) => {
                let side = world.storage.sides.get(side);
                let component = world.storage.components.info(side.id).name();
                match side.store {
                    Store::Pool(_) => Driver::Pool { component, slots, whole: course.run.is_some() },
                    Store::Linear(_) => Driver::Linear { component, slots },
                }
            }
        }
    }

    /// How many rows are visited, or looked at.
    pub fn rows(&self) -> usize {
        self.driver.len()
    }
}

/// Returns what a group owns, observes and excludes, by the names of the components.
fn group_name(world: &World, what: &Draft) -> String {
    let name = |side: &u32| {
        let side = world.storage.sides.get(*side);
        (side.rank, world.storage.components.info(side.id).name())
    };
    let mut parts = Vec::new();
    let observed: Vec<u32> = what.required.iter().copied().filter(|side| !what.owned.contains(side)).collect();
    for (word, sides) in [("Owned", &what.owned), ("Observed", &observed), ("Without", &what.excluded)] {
        let mut names: Vec<_> = sides.iter().map(name).collect();
        names.sort_unstable();
        if !names.is_empty() {
            let names: Vec<&str> = names.into_iter().map(|(_, name)| name).collect();
            parts.push(format!("{word}({})", names.join(", ")));
        }
    }
    parts.join(" + ")
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (matching, query) = (self.tables.len(), self.query);
        match &self.driver {
            Driver::Tables { rows } => {
                write!(f, "{query} walks {matching} of {} tables, {rows} rows", self.tables_in_world)?;
            }
            Driver::Pool { component, slots, whole } => {
                let how = if *whole { ", as they lie" } else { "" };
                return write!(f, "{query} walks the pool of {component}, {slots} slots{how}");
            }
            Driver::Group { group, slots, whole } => {
                let how = if *whole { ", as they lie" } else { "" };
                return write!(f, "{query} walks the group {group}, {slots} members{how}");
            }
            Driver::Linear { component, slots } => {
                return write!(f, "{query} walks the linear store of {component}, {slots} slots");
            }
            Driver::Nothing => return write!(f, "{query} walks nothing: no entity has a component that it asks for"),
        }
        for table in &self.tables {
            let components =
                if table.components.is_empty() { "no components".into() } else { table.components.join(" + ") };
            write!(f, "\n  {} × {components}", table.rows)?;
        }
        Ok(())
    }
}
