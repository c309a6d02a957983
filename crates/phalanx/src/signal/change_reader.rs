//! [`ChangeReader`]: reads which entities were changed, through a shared world.

use crate::world::World;
use core::sync::atomic::AtomicU64;
use phalanx_store::Entity;
use std::sync::Arc;

/// Reads the entities of events through a shared world, created by
/// [`CollectorBuilder::build_reader`](super::CollectorBuilder::build_reader).
///
/// Unlike a [`Collector`](super::Collector), it needs no exclusive world, and lists an entity for each of its events. Readers do not
/// depend on each other. Each reads every event once, in the [order](super#order) in which the operations have changed the rows.
///
/// Events are kept until the reader has read them, or is dropped. The world removes them during later operations.
#[derive(Debug)]
#[doc(alias = "RemovedComponents")]
pub struct ChangeReader {
    /// The number of events that were read. Shared with the world, which removes those.
    read: Arc<AtomicU64>,
}

impl ChangeReader {
    pub(super) fn new() -> ChangeReader {
        ChangeReader { read: Arc::default() }
    }

    pub(super) fn read_count(&self) -> &Arc<AtomicU64> {
        &self.read
    }

    /// Returns the entities of the events since the last call, in order.
    ///
    /// Entities that were despawned since are among them; see [`World::contains`]. An entity is listed once for each event.
    /// The list is empty if the reader was created by another world.
    #[doc(alias = "drain")]
    pub fn read<'w>(&mut self, world: &'w World) -> &'w [Entity] {
        let recording = world.storage.journal.recording.as_deref();
        recording.and_then(|recording| recording.collectors.log(&self.read)).map_or(&[], |log| log.read())
    }
}
