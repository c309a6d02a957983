//! [`Filter`]: what a text query asks of a row, beyond its components.

use super::comparison::{Comparison, TextComparison};
use crate::alloc::try_vec;
use crate::change_detection::{RunTicks, Tick};
use crate::component::ComponentId;
use crate::query::QueryBuilder;
use crate::reflect::place::ComponentRow;
use crate::reflect::{FieldPath, TableRef};
use crate::relation::ChildOf;
use crate::storage::table::Table;
use crate::world::World;
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

/// A condition on a row.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Present(ComponentId),
    Field(FieldPath, Comparison),
    /// The entity has a name, which passes the test if there is one.
    Name(Option<TextComparison>),
    Changed(ComponentId),
    Added(ComponentId),
    /// The parent is this entity, or there is none.
    Parent(Option<Entity>),
    Below(Entity),
    Is(Entity),
}

/// The world in which rows are tested.
#[derive(Clone, Copy)]
pub(super) struct FilterContext<'w> {
    pub(super) world: &'w World,
    /// Changes that are newer than `since` are new.
    pub(super) ticks: RunTicks,
}

impl Filter {
    /// Adds what the condition asks of the components of a row to a query. Returns `true` if that is all it asks.
    ///
    /// The query matches at least the rows for which the condition holds.
    pub(super) fn narrow(&self, query: &mut QueryBuilder) -> Result<bool, AllocError> {
        Ok(match self {
            Filter::Present(id) => {
                query.try_with(*id)?;
                true
            }
            Filter::Field(path, _) => {
                query.try_with(path.component())?;
                false
            }
            Filter::Changed(id) | Filter::Added(id) => {
                query.try_with(*id)?;
                false
            }
            Filter::Not(inner) => match **inner {
                Filter::Present(id) => {
                    query.try_without(id)?;
                    true
                }
                _ => false,
            },
            Filter::All(list) => {
                let mut is_exact = true;
                for filter in list {
                    is_exact &= filter.narrow(query)?;
                }
                is_exact
            }
            Filter::Any(list) => {
                let (mut alternatives, mut is_exact) = (try_vec(list.len())?, true);
                for filter in list {
                    let mut alternative = QueryBuilder::default();
                    is_exact &= filter.narrow(&mut alternative)?;
                    alternatives.push(alternative);
                }
                query.try_or(alternatives)?;
                is_exact
            }
            Filter::Name(_) | Filter::Parent(_) | Filter::Below(_) | Filter::Is(_) => false,
        })
    }

    /// Returns which of up to 64 rows of a table pass, of those whose bit is set.
    pub(super) fn test_rows(&self, context: FilterContext<'_>, table: &Table, rows: Range<usize>, bits: u64) -> u64 {
        match self {
            Filter::All(list) => list.iter().fold(bits, |bits, filter| match bits {
                0 => 0,
                bits => filter.test_rows(context, table, rows.clone(), bits),
            }),
            Filter::Any(list) => list.iter().fold(0, |found, filter| {
                // What passed before is not tested again.
                found | filter.test_rows(context, table, rows.clone(), bits & !found)
            }),
            Filter::Not(inner) => bits & !inner.test_rows(context, table, rows, bits),
            Filter::Present(id) if table.signature.has(*id) => bits,
            Filter::Field(path, comparison) if table.signature.has(path.component()) => {
                let column = path.column(&TableRef::new(context.world, table));
                column.map_or(0, |column| bits & comparison.test(&column, rows))
            }
            _ => {
                let (mut left, mut found) = (bits, 0);
                while left != 0 {
                    let row = left.trailing_zeros();
                    left &= left - 1;
                    let slot = table.slots()[rows.start + row as usize];
                    found |= u64::from(self.test(context, slot)) << row;
                }
                found
            }
        }
    }

    /// Returns `true` if the row of an entity passes.
    pub(super) fn test(&self, context: FilterContext<'_>, slot: Entity) -> bool {
        let storage = &context.world.storage;
        let component = |id| ComponentRow::of_slot(storage, slot, id);
        let is_new = |tick: Option<Tick>| tick.is_some_and(|tick| context.ticks.is_new(tick));
        match self {
            Filter::All(list) => list.iter().all(|filter| filter.test(context, slot)),
            Filter::Any(list) => list.iter().any(|filter| filter.test(context, slot)),
            Filter::Not(inner) => !inner.test(context, slot),
            Filter::Present(id) => storage.has(slot, *id),
            Filter::Field(path, comparison) => {
                let place = component(path.component()).and_then(|row| path.place(row));
                place.is_some_and(|place| comparison.holds(place))
            }
            Filter::Name(test) => {
                let name = storage.name_at(slot.index());
                name.is_some_and(|name| test.as_ref().is_none_or(|test| test.holds(name)))
            }
            Filter::Changed(id) => is_new(component(*id).and_then(|row| row.ticks()).map(|(_, changed)| changed)),
            Filter::Added(id) => is_new(component(*id).and_then(|row| row.ticks()).and_then(|(added, _)| added)),
            Filter::Parent(parent) => context.world.relations::<ChildOf>().parent(slot) == *parent,
            Filter::Below(above) => context.world.relations::<ChildOf>().is_ancestor(*above, slot),
            Filter::Is(entity) => *entity == slot,
        }
    }
}
