//! Events: values that are sent by one part of a program and read by others, each exactly once.
//!
//! ```
//! use phalanx::{Entity, Event, World};
//!
//! #[derive(Event)]
//! struct Hit {
//!     target: Entity,
//!     damage: u32,
//! }
//!
//! let mut world = World::new();
//! let mut reader = world.event_reader::<Hit>();
//! let target = world.spawn_empty();
//! world.send(Hit { target, damage: 3 });
//! world.send(Hit { target, damage: 4 });
//! assert_eq!(reader.read(&world).iter().map(|hit| hit.damage).sum::<u32>(), 7);
//! assert!(reader.read(&world).is_empty());
//! ```
//!
//! In systems, [`EventWriter`] sends events and [`EventReader`] reads them.
//!
//! # How long events are kept
//!
//! An event is kept until every reader has read it. Then it is dropped when a later event needs its memory. An event that is
//! sent while there are no readers is dropped at once. A reader sees the events that are sent after it was created.
//!
//! So a system that runs several times a frame, or not in every frame, sees each event exactly once. A reader that never
//! reads holds all events back. `#[event(max = 1000)]` limits how many are kept: the oldest are discarded, and
//! [`EventReader::missed`] counts them. [`Events::readers`] names the readers and how many events each has still to read.
//!
//! # Order
//!
//! Events are read in the order in which they were sent. Those that systems of a schedule send are in the order of the
//! systems, whatever threads run them. A system sees the events of systems before it in the same run, and those of systems
//! after it in the next run.
//!
//! # Events and time
//!
//! Events are part of the world. With `#[event(clone)]`, they and the positions of the readers are part of
//! [checkpoints](World::checkpoint), [timelines](crate::timeline::Timeline) and [clones](World::try_clone). With `#[event(plain)]`,
//! they are also part of [deltas](crate::timeline::delta()). Other events are discarded by a rollback or a delta, so that no event
//! of the discarded time is read. With the feature `snapshot`, events are saved
//! if they are [registered](crate::event::Events) as a resource.
//!
//! A reader that was created in a discarded time stays. It reads the events that are sent from then on.

mod event_reader;
mod event_writer;
mod events;
mod held_reader;
mod plain_events;

pub use event_reader::EventReader;
pub use event_writer::EventWriter;
pub use events::{Events, ReaderInfo};
pub use held_reader::HeldReader;
#[doc(hidden)]
pub use plain_events::PlainEvents;

use crate::resources::{Replacement, ResourceCell};
use crate::world::World;
use core::any::Any;
use phalanx_store::AllocError;

/// A type whose values are sent and read as events. Use `#[derive(Event)]`.
///
/// # Options
///
/// - `#[event(clone)]`: events are cloned into checkpoints, timelines and clones of the world.
/// - `#[event(plain)]`: the same for [plain](crate::Plain) events, which are also part of [deltas](crate::timeline::delta).
/// - `#[event(max = 1000)]`: at most as many events are kept; the oldest are discarded.
/// - `#[event(crate = "path")]`: the path of the crate `phalanx`, by default `::phalanx`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "add `#[derive(Event)]` to the type"
)]
#[doc(alias = "Message")]
pub trait Event: Sized + Send + Sync + 'static {
    /// Clones an event, if events are part of checkpoints, timelines and clones of the world.
    const CLONE: Option<fn(&Self) -> Self> = None;
    /// Writes and reads events as bytes, if they are part of deltas.
    #[doc(hidden)]
    const PLAIN: Option<PlainEvents<Self>> = None;
    /// The largest number of events that are kept.
    const MAX: usize = usize::MAX;
}

/// Clones the events of one type. Only types with [`Event::CLONE`] are kept.
fn clone_events<E: Event>(value: &(dyn Any + Send + Sync)) -> Result<Box<dyn Any + Send + Sync>, AllocError> {
    match (value.downcast_ref::<ResourceCell<Events<E>>>(), E::CLONE) {
        (Some(cell), Some(clone)) => Ok(crate::alloc::try_box(ResourceCell::new(cell.get().try_clone_with(clone)?))?),
        _ => unreachable!("a slot has its type, and only events that can be cloned are kept"),
    }
}

/// Discards the events of one type.
fn reset_events<E: Event>(value: &mut (dyn Any + Send + Sync)) {
    if let Some(cell) = value.downcast_mut::<ResourceCell<Events<E>>>() {
        cell.get_mut().discard();
    }
}

/// Adds readers to a channel that another one has, and it has not.
fn carry_readers<E: Event>(
    value: &mut (dyn Any + Send + Sync),
    present: &(dyn Any + Send + Sync),
) -> Result<(), AllocError> {
    match (value.downcast_mut::<ResourceCell<Events<E>>>(), present.downcast_ref::<ResourceCell<Events<E>>>()) {
        (Some(value), Some(present)) => value.get_mut().try_carry_readers(present.get()),
        _ => unreachable!("a slot has its type"),
    }
}

/// Events of a world, without a schedule. See [`event`](crate::event).
impl World {
    /// Sends an event to all readers.
    #[doc(alias = "write_message")]
    #[doc(alias = "enqueue")]
    #[doc(alias = "trigger")]
    pub fn send<E: Event>(&mut self, event: E) {
        self.events_mut().send(event);
    }

    /// Returns a reader of the events that are sent from now on.
    ///
    /// The reader is removed when it is dropped. It also reads the events of clones of the world.
    pub fn event_reader<E: Event>(&mut self) -> HeldReader<E> {
        self.events_mut().hold_reader()
    }

    /// Returns the events of a type, for writing. The channel is created if there is none.
    ///
    /// The channel is a resource, so `world.resource::<Events<E>>()` returns it too.
    pub fn events_mut<E: Event>(&mut self) -> &mut Events<E> {
        let slot = self.resources.slot_mut::<Events<E>>();
        slot.keep = E::CLONE.map(|_| clone_events::<E> as _);
        slot.replacement = Some(Replacement { reset: reset_events::<E>, carry: carry_readers::<E> });
        slot.plain = E::PLAIN.map(PlainEvents::of_resource);
        slot.value.get_or_insert_with(|| Box::new(ResourceCell::new(Events::<E>::default())));
        match slot.get_mut() {
            Ok(events) => events,
            Err(_) => unreachable!("inserted above"),
        }
    }
}
