//! Calls a listener with the components and entities that exist when it is connected.

use super::listener::{Call, EventArgs};
use crate::commands::CommandBuffer;
use crate::component::ComponentId;
use crate::journal::{Event, JournalEntry, RowChange, RowName, ValuePtr};
use crate::query::DynamicQuery;
use crate::rows::Row;
use crate::world::World;
use core::ops::ControlFlow;
use phalanx_store::Entity;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Calls a function of user code that records commands. If it panics, the commands are dropped.
pub(super) fn call_or_clear<R>(commands: &mut CommandBuffer, call: impl FnOnce(&mut CommandBuffer) -> R) -> R {
    match catch_unwind(AssertUnwindSafe(|| call(commands))) {
        Ok(out) => out,
        Err(panic) => {
            // Drops user values. If one panics too, the first panic is resumed.
            let _ = catch_unwind(AssertUnwindSafe(|| commands.clear()));
            resume_unwind(panic)
        }
    }
}

/// Calls a function as if everything that exists were added or spawned now: event by event, for all entities or for some, once
/// or for each. Returns the number of calls.
pub(super) fn call_existing(
    world: &World,
    entities: &Option<Vec<Entity>>,
    events: &[(Event, ComponentId)],
    is_once: bool,
    call: &mut Call,
    commands: &mut CommandBuffer,
) -> usize {
    let mut calls = 0;
    call_or_clear(commands, |commands| {
        for &(event, id) in events {
            let flow = for_each_existing(world, entities.as_deref(), event, id, |name, new| {
                calls += 1;
                let entry = JournalEntry::new(name, RowChange::Changed, event, id, ValuePtr::None);
                call(EventArgs { entry: &entry, new, row: &[] }, world, commands);
                if is_once { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if flow.is_break() {
                break;
            }
        }
    });
    calls
}

/// Calls a function with each row that has a component, and its value, or with each entity.
///
/// Of all entities, they come in the order of a query. Of some, each comes with its rows in the order of their creation.
fn for_each_existing(
    world: &World,
    entities: Option<&[Entity]>,
    event: Event,
    id: ComponentId,
    mut each: impl FnMut(RowName, ValuePtr) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let storage = &world.storage;
    let mut row = |slot: Entity| match storage.value_ptr(slot, id) {
        Some(value) => each(storage.row_name(slot), value),
        None => ControlFlow::Continue(()),
    };
    match (event, entities) {
        (Event::Spawned, None) => world.iter().try_for_each(|entity| each(RowName::main(entity), ValuePtr::None)),
        (Event::Spawned, Some(entities)) => entities
            .iter()
            .filter(|entity| world.contains(**entity))
            .try_for_each(|entity| each(RowName::main(*entity), ValuePtr::None)),
        (Event::Added, None) => {
            let query = DynamicQuery::builder().read(id).all_rows().build(world);
            let rows = query.as_ref().ok().and_then(|query| query.rows(world).ok());
            rows.into_iter().flatten().try_for_each(|found| row(found.row().0))
        }
        (Event::Added, Some(entities)) => {
            entities.iter().filter(|entity| world.contains(**entity)).try_for_each(|&entity| {
                let extra = storage.extra_rows(entity.index()).map(|(Row(slot), _)| slot);
                core::iter::once(entity).chain(extra).try_for_each(&mut row)
            })
        }
        _ => ControlFlow::Continue(()),
    }
}
