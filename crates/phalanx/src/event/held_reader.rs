//! [`HeldReader`]: a reader of events outside of systems.

use super::Event;
use super::events::{Events, ReaderKey};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

/// A reader of events outside of systems, returned by [`World::event_reader`].
///
/// It sees each event exactly once. Dropping it removes it from the world.
#[doc(alias = "EventCursor")]
#[doc(alias = "MessageCursor")]
pub struct HeldReader<E> {
    /// Events have a weak reference to it, so that they know whether the reader exists.
    _held: Arc<()>,
    key: ReaderKey,
    hint: usize,
    events: PhantomData<fn() -> E>,
}

impl<E: Event> HeldReader<E> {
    pub(super) fn new(held: Arc<()>, key: ReaderKey, hint: usize) -> HeldReader<E> {
        HeldReader { _held: held, key, hint, events: PhantomData }
    }

    pub(super) fn key(&self) -> ReaderKey {
        self.key.clone()
    }

    /// Returns the events that were sent since the last call, oldest first, and marks them as read.
    ///
    /// The list is empty if the world does not have the reader.
    pub fn read<'w>(&mut self, world: &'w World) -> &'w [E] {
        self.find(world).map_or(&[], |(events, reader)| events.read(reader))
    }

    /// Returns the number of events that were discarded before they were read: see [`Event::MAX`].
    pub fn missed(&self, world: &World) -> u64 {
        let events = world.resource::<Events<E>>().ok();
        events.and_then(|events| Some(events.missed(events.find_reader(&self.key, self.hint)?))).unwrap_or(0)
    }

    fn find<'w>(&mut self, world: &'w World) -> Option<(&'w Events<E>, usize)> {
        let events = world.resource::<Events<E>>().ok()?;
        self.hint = events.find_reader(&self.key, self.hint)?;
        Some((events, self.hint))
    }
}

impl<E> fmt::Debug for HeldReader<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldReader<{}>", core::any::type_name::<E>())
    }
}
