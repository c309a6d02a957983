//! The commands that change links.

use super::{LinkOf, Position, Relation};
use crate::bundle::Bundle;
use crate::commands::{CommandBuffer, CommandKind, CommandVtable, LinkPayload};
use crate::error::StructuralError;
use crate::system::Commands;
use crate::world::World;
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

/// Registers a relation. Returns its storage id.
pub(super) fn register<R: Relation>(world: &mut World) -> Result<u32, AllocError> {
    let storage = &mut world.storage;
    if let Some(storage_id) = storage.sparse.storage_id_of::<LinkOf<R>>(&storage.components) {
        return Ok(storage_id);
    }
    let id = storage.components.register::<LinkOf<R>>()?;
    storage.sparse.try_register(id, &storage.components)
}

/// Returns the storage id of a relation. The payload is not read.
fn storage_id<R: Relation>(_: *mut u8, world: &mut World) -> Result<usize, StructuralError> {
    Ok(register::<R>(world)? as usize)
}

/// The vtables of a relation.
struct Vtables<R>(PhantomData<R>);

impl<R: Relation> Vtables<R> {
    const LINK: &'static CommandVtable = &CommandVtable::of_relation(CommandKind::Link, storage_id::<R>);
    const UNLINK: &'static CommandVtable = &CommandVtable::of_relation(CommandKind::Unlink, storage_id::<R>);
}

impl CommandBuffer {
    /// Records that an entity is linked to a target, like [`RelationsMut::link`](super::RelationsMut::link).
    ///
    /// ```
    /// use phalanx::relation::ChildOf;
    /// use phalanx::{CommandBuffer, World};
    ///
    /// let mut world = World::new();
    /// let [parent, child] = [world.spawn_empty(), world.spawn_empty()];
    /// let mut commands = CommandBuffer::new();
    /// commands.link::<ChildOf>(child, parent);
    /// commands.apply(&mut world);
    /// assert_eq!(world.relations::<ChildOf>().parent(child), Some(parent));
    /// ```
    pub fn link<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.link_at::<R>(source, target, Position::Last);
    }

    /// Records that an entity is linked to a target at a position, like
    /// [`RelationsMut::link_at`](super::RelationsMut::link_at).
    pub fn link_at<R: Relation>(&mut self, source: Entity, target: Entity, position: Position) {
        self.record_link(Vtables::<R>::LINK, source, LinkPayload { target, position });
    }

    /// Records that an entity is unlinked from its target, like [`RelationsMut::unlink`](super::RelationsMut::unlink).
    pub fn unlink<R: Relation>(&mut self, source: Entity) {
        self.record_unlink(Vtables::<R>::UNLINK, source);
    }
}

impl Commands<'_, '_> {
    /// Records the spawn of an entity with a bundle that is linked to a target, and returns the entity.
    ///
    /// ```
    /// use phalanx::relation::ChildOf;
    /// use phalanx::system::{Commands, IntoSystem};
    /// use phalanx::{Component, Entity, Query, With, World};
    ///
    /// #[derive(Component)]
    /// struct Ship;
    /// #[derive(Component)]
    /// struct Turret;
    ///
    /// fn arm(ships: Query<Entity, With<Ship>>, mut commands: Commands) {
    ///     for ship in &ships {
    ///         commands.spawn_related::<ChildOf, _>(ship, Turret);
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// let ship = world.spawn(Ship);
    /// world.run_system(&mut arm.into_system());
    /// assert_eq!(world.relations::<ChildOf>().children(ship).len(), 1);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if all indices of entities are in use.
    #[track_caller]
    pub fn spawn_related<R: Relation, B: Bundle>(&mut self, target: Entity, bundle: B) -> Entity {
        let source = self.spawn(bundle);
        self.buffer().link::<R>(source, target);
        source
    }

    /// Records [`RelationsMut::link`](super::RelationsMut::link).
    pub fn link<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.buffer().link::<R>(source, target);
    }

    /// Records [`RelationsMut::unlink`](super::RelationsMut::unlink).
    pub fn unlink<R: Relation>(&mut self, source: Entity) {
        self.buffer().unlink::<R>(source);
    }
}
