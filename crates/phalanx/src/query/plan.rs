//! A query's plan, for people.

use super::{Filter, Query};
use crate::world::World;
use core::fmt;

/// What a query goes through: the tables that match, in the order of visit.
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
    /// The tables that match, with rows or without.
    pub tables: Vec<PlanTable>,
    /// How many tables the world has.
    pub tables_in_world: usize,
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
    pub(super) fn new<Q: Query, F: Filter>(world: &World, (terms, filter): &(Q::State, F::State)) -> Plan {
        let matching =
            world.tables.iter().filter(|t| Q::matches(terms, &t.signature) && F::passes(filter, &t.signature));
        let tables = matching.map(|table| PlanTable {
            components: table.signature.iter().map(|id| world.components.info(id).name()).collect(),
            rows: table.len as usize,
        });
        Plan { query: core::any::type_name::<Q>(), tables: tables.collect(), tables_in_world: world.tables.len() }
    }

    /// How many rows are visited.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (matching, rows) = (self.tables.len(), self.rows());
        write!(f, "{} walks {matching} of {} tables, {rows} rows", self.query, self.tables_in_world)?;
        for table in &self.tables {
            let components =
                if table.components.is_empty() { "no components".into() } else { table.components.join(" + ") };
            write!(f, "\n  {} × {components}", table.rows)?;
        }
        Ok(())
    }
}
