//! [`BatchCommands`]: records commands in parallel loops.

use super::CommandBuffer;
use crate::bundle::Bundle;
use core::fmt;
use phalanx_store::Entity;

/// Records the commands of one batch of a [parallel loop](crate::Query::par_for_each_with_on).
///
/// It has the commands whose result does not depend on threads. Those that return an entity at once are not among them: which
/// entity is next depends on which thread comes first.
#[doc(alias = "ParallelCommands")]
pub struct BatchCommands<'a> {
    buffer: &'a mut CommandBuffer,
}

impl<'a> BatchCommands<'a> {
    pub(crate) fn new(buffer: &'a mut CommandBuffer) -> BatchCommands<'a> {
        BatchCommands { buffer }
    }

    /// Records the spawn of an entity with a bundle, like [`CommandBuffer::spawn`].
    pub fn spawn<B: Bundle>(&mut self, bundle: B) {
        self.buffer.spawn(bundle);
    }

    /// Records [`World::insert`](crate::World::insert).
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        self.buffer.insert(entity, bundle);
    }

    /// Records [`World::remove`](crate::World::remove).
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.buffer.remove::<B>(entity);
    }

    /// Records [`World::despawn`](crate::World::despawn).
    pub fn despawn(&mut self, entity: Entity) {
        self.buffer.despawn(entity);
    }
}

impl fmt::Debug for BatchCommands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.buffer.fmt(f)
    }
}
