//! [`EventReader`]: reads events in a system.
#![allow(unsafe_code)]

use super::events::{Events, ReaderKey};
use super::{Event, HeldReader};
use crate::system::{ParamSetup, Res, ResourceNumber, RunContext, SystemParam};
use crate::world::World;
use core::fmt;

/// Reads events in a system: each event exactly once.
///
/// The reader exists from the moment the system is initialised, and sees what is sent from then on. A system that does not
/// run, or does not read, sees the events later: see [the module](crate::event#how-long-events-are-kept).
#[doc(alias = "MessageReader")]
pub struct EventReader<'w, 's, E: Event> {
    events: &'w Events<E>,
    state: &'s ReaderState<E>,
}

/// What a system keeps of a reader.
#[doc(hidden)]
pub struct ReaderState<E: Event> {
    events: ResourceNumber<Events<E>>,
    key: ReaderKey,
    number: usize,
    /// Keeps the reader of a system that is not part of a schedule.
    _held: Option<HeldReader<E>>,
}

impl<E: Event> fmt::Debug for ReaderState<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReaderState({})", self.number)
    }
}

impl<'w, E: Event> EventReader<'w, '_, E> {
    /// Returns the events that were sent since the last call, oldest first, and marks them as read.
    #[inline]
    pub fn read(&mut self) -> &'w [E] {
        self.events.read(self.state.number)
    }

    /// Returns the number of events that are not read yet.
    pub fn len(&self) -> usize {
        self.events.unread_count(self.state.number)
    }

    /// Returns `true` if all events are read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Marks all events as read.
    pub fn clear(&mut self) {
        self.read();
    }

    /// Returns the number of events that were discarded before they were read: see [`Event::MAX`].
    pub fn missed(&self) -> u64 {
        self.events.missed(self.state.number)
    }
}

/// Reads all events that are not read yet.
impl<'w, E: Event> IntoIterator for EventReader<'w, '_, E> {
    type Item = &'w E;
    type IntoIter = core::slice::Iter<'w, E>;

    fn into_iter(mut self) -> Self::IntoIter {
        self.read().iter()
    }
}

impl<E: Event> fmt::Debug for EventReader<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventReader<{}>({} unread)", core::any::type_name::<E>(), self.len())
    }
}

// SAFETY: it declares that it reads the events. Its position is atomic.
unsafe impl<E: Event> SystemParam for EventReader<'_, '_, E> {
    type State = ReaderState<E>;
    type Item<'w, 's> = EventReader<'w, 's, E>;

    fn init(world: &mut World, setup: &mut ParamSetup<'_>) -> ReaderState<E> {
        setup.access.add_events::<E>(false, core::any::type_name::<Self>());
        // The channel is a resource. A writer does not touch it while systems run.
        setup.access.add_resource::<Events<E>>(false, core::any::type_name::<Self>());
        let (key, held) = match setup.reader_path() {
            Some(path) => (ReaderKey::System(path), None),
            None => {
                let held = world.event_reader::<E>();
                (held.key(), Some(held))
            }
        };
        let number = world.events_mut::<E>().reader(&key);
        ReaderState { events: ResourceNumber::new(world), key, number, _held: held }
    }

    fn update(state: &mut ReaderState<E>, world: &mut World) {
        state.number = world.events_mut::<E>().reader(&state.key);
        state.events = ResourceNumber::new(world);
    }

    #[inline(always)]
    unsafe fn get<'w, 's>(
        state: &'s mut ReaderState<E>,
        world: &'w World,
        context: &RunContext<'w>,
    ) -> EventReader<'w, 's, E> {
        // SAFETY: the contract is the same: the channel is declared as a resource that is read.
        let events =
            unsafe { <Res<'w, Events<E>> as SystemParam>::get(&mut state.events, world, context) }.into_inner();
        // Readers that were dropped since are removed, so that the numbers change.
        state.number = events.find_reader(&state.key, state.number).expect("the reader of a system is not removed");
        EventReader { events, state }
    }
}
