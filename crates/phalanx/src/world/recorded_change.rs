//! Inserts and removes one sparse component of one entity by type, in a world that records events.
//!
//! These are the [fast paths](super::insert) with an event each: the typed storage changes, the event is recorded, listeners are
//! called, and the displaced value is dropped. Where they cannot be taken, nothing has changed, and the general path is.
#![allow(unsafe_code)]

use super::World;
use crate::component::{Component, ComponentId};
use crate::journal::{Event, JournalEntry, ValuePtr};
use crate::signal::{DispatchOutcome, dispatch_catch, dispatch_direct};
use crate::sparse::{FastInsert, has_fast_path};
use phalanx_store::{AllocError, Entity};

/// The size of the largest value that is moved to the stack. Larger values are dropped where they are.
pub(super) const MAX_ON_STACK: usize = 4096;

/// Returns `true` if a component is inserted and removed by type also where events are recorded.
pub(super) const fn has_recorded_path<C: Component>() -> bool {
    has_fast_path::<C>() && size_of::<C>() <= MAX_ON_STACK
}

/// How an event is dispatched.
enum Route {
    /// Not at all: nothing asks for it, and nothing is left to do for listeners.
    Quiet,
    /// To listeners, without being recorded. These events have listeners.
    Direct(u8),
    /// By the journal. Capacity for it is reserved.
    Recorded,
}

impl World {
    /// Returns `true` if none of these events of a component would be recorded, and nothing is left to do for listeners.
    #[inline]
    fn is_quiet(&self, id: ComponentId, events: u8) -> bool {
        self.storage.journal.is_quiet(id, events)
            && self.observers.as_deref().is_none_or(|observers| observers.is_idle())
    }

    /// Returns `true` if changes of a component may take the fast path, though events are recorded: none of its own are.
    pub(super) fn is_quiet_path<C: Component>(&self) -> bool {
        self.storage.entities.reserved_count() == 0 && self.is_quiet(self.storage.components.id::<C>(), Event::ALL)
    }

    /// Returns the id and the storage of a component, if events are recorded and nothing forbids a change by type.
    #[inline]
    fn recorded_path<C: Component>(&self) -> Option<(ComponentId, u32)> {
        let journal = &self.storage.journal;
        if !journal.is_active() || journal.deferrals > 0 || self.storage.entities.reserved_count() > 0 {
            return None;
        }
        let number = self.storage.sparse.storage_id_of::<C>(&self.storage.components)?;
        Some((self.storage.components.id::<C>(), number))
    }

    /// Inserts a component into an entity, and dispatches the event. Returns `false` if the general path has to be taken.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails; nothing changes.
    ///
    /// # Safety
    ///
    /// `value` points to a value, which counts as moved out if this returns `true` or panics.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn insert_recorded<C: Component>(
        &mut self,
        entity: Entity,
        value: *const C,
    ) -> Result<bool, AllocError> {
        let Some((id, number)) = self.recorded_path::<C>() else { return Ok(false) };
        let route = self.route(id, const { Event::Added.bit() | Event::Set.bit() })?;
        self.storage.restructured();
        let entities = &self.storage.entities;
        // SAFETY: the storage is the component's. The value may be moved out, by the caller's contract.
        let put = unsafe { self.storage.sparse.typed(number).insert(entity, value, || entities.contains(entity)) };
        let FastInsert::Done(old) = put else { return Ok(false) };
        let event = if old.is_some() { Event::Set } else { Event::Added };
        self.dispatch_value(route, event, (entity, id), old);
        Ok(true)
    }

    /// Removes a component from an entity and drops it, and dispatches the event. Returns `None` if the general path has to be
    /// taken, and otherwise whether the entity had the component.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails; nothing changes.
    #[cold]
    #[inline(never)]
    pub(super) fn remove_recorded<C: Component>(&mut self, entity: Entity) -> Result<Option<bool>, AllocError> {
        let Some((id, number)) = self.recorded_path::<C>() else { return Ok(None) };
        let route = self.route(id, Event::Removed.bit())?;
        self.storage.restructured();
        let entities = &self.storage.entities;
        // SAFETY: the storage is the component's.
        let old = unsafe { self.storage.sparse.typed::<C>(number) }.remove(entity, || entities.contains(entity));
        let Some(old) = old else { return Ok(None) };
        let removed = old.is_some();
        if removed {
            self.dispatch_value(route, Event::Removed, (entity, id), old);
        }
        Ok(Some(removed))
    }

    /// Decides how an event is dispatched, and reserves what that needs.
    #[inline]
    fn route(&mut self, id: ComponentId, events: u8) -> Result<Route, AllocError> {
        match self.storage.journal.watched_directly(id) {
            Some(watched) if watched & events != 0 => return Ok(Route::Direct(watched)),
            _ if self.is_quiet(id, events) => return Ok(Route::Quiet),
            Some(watched) => return Ok(Route::Direct(watched)),
            None => {}
        }
        self.storage.reserve_entries(1).map(|()| Route::Recorded)
    }

    /// Dispatches an event of one value, drops the value that was displaced, and finishes the operation.
    #[inline]
    fn dispatch_value<C: Component>(
        &mut self,
        route: Route,
        event: Event,
        (entity, id): (Entity, ComponentId),
        old: Option<C>,
    ) {
        let ptr = old.as_ref().map_or(ValuePtr::None, |old| ValuePtr::Value((&raw const *old).cast()));
        let outcome = match route {
            Route::Quiet => return,
            Route::Direct(watched) if watched & event.bit() == 0 => DispatchOutcome::Called,
            Route::Direct(_) => dispatch_direct(self, &JournalEntry::single(entity, event, id, ptr)),
            Route::Recorded => {
                self.storage.record_value(event, entity, id, ptr);
                dispatch_catch!(self)
            }
        };
        drop(old);
        outcome.finish(self);
    }
}
