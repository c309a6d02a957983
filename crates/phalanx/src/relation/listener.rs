//! [`Linked`] and [`Unlinked`]: the events of links.

use super::{LinkOf, Relation};
use crate::commands::CommandBuffer;
use crate::journal::Event;
use crate::signal::{ListenerBuilder, ListenerId};
use crate::world::World;
use phalanx_store::Entity;

/// An entity was linked to a target: the event of [`RelationsMut::on_link`](super::RelationsMut::on_link).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The source of the link.
    pub source: Entity,
    /// The target of the link.
    pub target: Entity,
}

/// An entity was unlinked from a target: the event of [`RelationsMut::on_unlink`](super::RelationsMut::on_unlink).
///
/// Either may have been despawned since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlinked {
    /// The source of the link.
    pub source: Entity,
    /// The target of the link.
    pub target: Entity,
}

impl ListenerBuilder<'_> {
    /// Connects a function that is called whenever an entity is linked, like
    /// [`RelationsMut::on_link`](super::RelationsMut::on_link).
    ///
    /// [Certain entities](ListenerBuilder::entity) are sources here.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::relation::ChildOf;
    /// use std::sync::{Arc, Mutex};
    ///
    /// let mut world = World::new();
    /// let [port, ship, other] = [(); 3].map(|()| world.spawn_empty());
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let seen = log.clone();
    /// world.listen().entity(ship).once().on_link::<ChildOf>(move |linked, _, _| seen.lock().unwrap().push(linked.target));
    /// let mut tree = world.relations_mut::<ChildOf>();
    /// tree.link(other, port)?;
    /// tree.link(ship, port)?;
    /// tree.link(ship, other)?;
    /// assert_eq!(*log.lock().unwrap(), [port]);
    /// # Ok::<(), phalanx::RelationError>(())
    /// ```
    pub fn on_link<R: Relation>(
        self,
        mut listener: impl FnMut(Linked, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.on_link_of::<LinkOf<R>>(Event::Linked, move |(source, target), world, commands| {
            listener(Linked { source, target }, world, commands);
        })
    }

    /// Connects a function that is called whenever an entity is unlinked, like
    /// [`RelationsMut::on_unlink`](super::RelationsMut::on_unlink).
    ///
    /// [Certain entities](ListenerBuilder::entity) are sources here.
    pub fn on_unlink<R: Relation>(
        self,
        mut listener: impl FnMut(Unlinked, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.on_link_of::<LinkOf<R>>(Event::Unlinked, move |(source, target), world, commands| {
            listener(Unlinked { source, target }, world, commands);
        })
    }
}
