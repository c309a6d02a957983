//! The methods of entity handles that are about links.

use super::{ChildOf, Relation, Sources};
use crate::bundle::Bundle;
use crate::error::{RelationError, infallible};
use crate::world::{EntityMut, EntityRef};
use phalanx_store::Entity;

impl<'w> EntityRef<'w> {
    /// Returns the parent of the entity: see [`ChildOf`](crate::relation::ChildOf).
    pub fn parent(&self) -> Option<Entity> {
        self.world.relations::<ChildOf>().parent(self.entity)
    }

    /// Returns the children of the entity, in order: see [`ChildOf`](crate::relation::ChildOf).
    pub fn children(&self) -> Sources<'w> {
        self.world.relations::<ChildOf>().children(self.entity)
    }
}

impl EntityMut<'_> {
    /// Spawns a child of the entity with the components of `bundle`, and returns it: see [`ChildOf`](crate::relation::ChildOf).
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[doc(alias = "with_child")]
    #[track_caller]
    pub fn spawn_child<B: Bundle>(&mut self, bundle: B) -> Entity {
        infallible(self.world.relations_mut::<ChildOf>().try_spawn(self.entity, bundle))
    }

    /// Links the entity to a target, like [`RelationsMut::link`](crate::relation::RelationsMut::link).
    ///
    /// # Errors
    ///
    /// Those of `RelationsMut::link`. On error nothing has changed.
    #[doc(alias = "set_parent")]
    pub fn link<R: Relation>(&mut self, target: Entity) -> Result<&mut Self, RelationError> {
        self.world.relations_mut::<R>().link(self.entity, target)?;
        Ok(self)
    }

    /// Unlinks the entity from its target, like [`RelationsMut::unlink`](crate::relation::RelationsMut::unlink). Returns the target,
    /// or `None` if it has none.
    ///
    /// # Errors
    ///
    /// [`RelationError::Alloc`] if allocation fails.
    pub fn unlink<R: Relation>(&mut self) -> Result<Option<Entity>, RelationError> {
        self.world.relations_mut::<R>().unlink(self.entity)
    }
}
