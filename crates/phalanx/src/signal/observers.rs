//! [`Observers`]: the listeners of a world, and the commands that they have recorded.

use super::listeners::Listeners;
use crate::commands::{CommandBuffer, CommandError};
use crate::journal::{Event, Recording, Watch};
use core::fmt;

/// The listeners of a world, and what they have recorded. It is taken out of the world during a dispatch.
#[derive(Default)]
pub(crate) struct Observers {
    pub(super) listeners: Listeners,
    /// The buffer that listeners record in during a dispatch. It is empty otherwise.
    pub(super) buffer: CommandBuffer,
    /// What listeners have recorded, to be applied when `running` has been.
    pub(super) deferred: CommandBuffer,
    /// What is being applied. It is here while one of its closures runs, so that a closure that moves the world moves it too.
    pub(super) running: CommandBuffer,
    /// The errors of deferred commands, the first [`KEPT_ERRORS`] of them.
    pub(super) errors: Vec<CommandError>,
    /// The number of errors after those.
    pub(super) lost_errors: usize,
}

/// The number of errors of deferred commands that are kept.
pub(super) const KEPT_ERRORS: usize = 64;

impl Observers {
    /// Returns the bytes held from the allocator, without what listeners hold themselves.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Observers>()
            + self.listeners.bytes()
            + self.errors.capacity() * size_of::<CommandError>()
            + self.buffer.memory()
            + self.deferred.memory()
            + self.running.memory()
    }

    /// Determines what the journal records, when a listener or a collector was connected or removed.
    pub(super) fn subscribe(&self, recording: &mut Recording) {
        let watch = self.listeners.observers().map(|observer| observer.watch).max();
        let (spawns, despawns) = self.listeners.listens_to_entities();
        recording.set_watched(spawns, despawns, watch.unwrap_or(Watch::Nothing), |id| {
            match self.listeners.observers().any(|observer| observer.names(id)) {
                true => Event::ALL,
                false => self.listeners.events_of(id),
            }
        });
    }

    /// Returns `true` if commands of listeners are to be applied.
    pub(super) fn has_deferred(&self) -> bool {
        !(self.deferred.is_blank() && self.running.is_blank())
    }

    /// Returns `true` if no commands are to be applied, and no listener is to be removed.
    pub(crate) fn is_idle(&self) -> bool {
        self.listeners.spent.is_empty() && !self.has_deferred()
    }

    /// Returns `true` if there are listeners.
    pub(super) fn has_listeners(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// Returns `true` if there are no listeners, deferred commands or errors.
    pub(super) fn is_unused(&self) -> bool {
        self.listeners.is_empty() && !self.has_deferred() && self.errors.is_empty()
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers").finish_non_exhaustive()
    }
}

/// A world with listeners is `Send` and `Sync`.
const _: () = {
    const fn assert_send_and_sync<T: Send + Sync>() {}
    assert_send_and_sync::<Observers>();
};

/// Determines what the journal records, when a collector was added or removed.
pub(super) fn subscribe(recording: &mut Recording, observers: Option<&Observers>) {
    match observers {
        Some(observers) => observers.subscribe(recording),
        None => recording.set_watched(false, false, Watch::Nothing, |_| 0),
    }
}
