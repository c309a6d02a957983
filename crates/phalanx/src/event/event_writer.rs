//! [`EventWriter`]: sends events from a system.
#![allow(unsafe_code)]

use super::Event;
use crate::system::{Outcome, ParamSetup, RunContext, SystemParam};
use crate::world::World;
use core::fmt;

/// Sends events from a system.
///
/// Systems that send events of the same type can run at the same time. Readers get the events in the order of the systems.
///
/// ```
/// use phalanx::event::{EventReader, EventWriter};
/// use phalanx::system::IntoSystem;
/// use phalanx::{Event, World};
///
/// #[derive(Event)]
/// struct Tick(u32);
///
/// fn send(mut ticks: EventWriter<Tick>) {
///     ticks.send(Tick(1));
///     ticks.send(Tick(2));
/// }
///
/// fn sum(mut ticks: EventReader<Tick>) -> u32 {
///     ticks.read().iter().map(|tick| tick.0).sum()
/// }
///
/// let mut world = World::new();
/// let (mut send, mut sum) = (send.into_system(), sum.into_system());
/// assert_eq!(world.run_system(&mut sum), 0); // it reads from now on
/// world.run_system(&mut send);
/// assert_eq!(world.run_system(&mut sum), 3);
/// assert_eq!(world.run_system(&mut sum), 0);
/// ```
#[doc(alias = "MessageWriter")]
pub struct EventWriter<'s, E: Event> {
    sent: &'s mut Vec<E>,
}

impl<E: Event> EventWriter<'_, E> {
    /// Sends an event.
    #[doc(alias = "write")]
    #[inline(always)]
    pub fn send(&mut self, event: E) {
        self.sent.push(event);
    }

    /// Sends several events.
    pub fn send_batch(&mut self, events: impl IntoIterator<Item = E>) {
        self.sent.extend(events);
    }
}

impl<E: Event> fmt::Debug for EventWriter<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventWriter<{}>({} sent)", core::any::type_name::<E>(), self.sent.len())
    }
}

// SAFETY: it touches nothing but its state until it is applied.
unsafe impl<E: Event> SystemParam for EventWriter<'_, E> {
    type State = Vec<E>;
    type Item<'w, 's> = EventWriter<'s, E>;

    fn init(world: &mut World, setup: &mut ParamSetup<'_>) -> Vec<E> {
        setup.access.add_events::<E>(true, core::any::type_name::<Self>());
        world.events_mut::<E>();
        Vec::new()
    }

    #[inline(always)]
    unsafe fn get<'w, 's>(state: &'s mut Vec<E>, _: &'w World, _: &RunContext<'w>) -> EventWriter<'s, E> {
        EventWriter { sent: state }
    }

    #[inline(always)]
    fn apply(state: &mut Vec<E>, world: &mut World, _: &mut Outcome) {
        if !state.is_empty() {
            world.events_mut().send_all(state);
        }
    }

    fn discard(state: &mut Vec<E>, _: &mut World) {
        state.clear();
    }
}
