//! The operations on whole trees: clone, and transfer to another world.

use super::{RelationsMut, TreeRelation};
use crate::alloc::try_vec;
use crate::error::{NoSuchEntity, StructuralError};
use crate::storage::link_pairs::CutLink;
use crate::world::{EntityMap, Transfer, World, clone_all};
use phalanx_store::Entity;

/// A tree that was moved to another world: [`RelationsMut::transfer_tree`].
#[derive(Clone, Debug)]
pub struct TransferredTree {
    /// What the root has become.
    pub root: Entity,
    /// Which entities have become which.
    pub map: EntityMap,
    /// The links that were cut.
    pub cut: Vec<CutLink>,
}

impl<R: TreeRelation> RelationsMut<'_, R> {
    /// Returns an entity and all below it, depth first.
    fn try_tree(&mut self, root: Entity) -> Result<Vec<Entity>, StructuralError> {
        self.world.storage.flush()?;
        if !self.world.contains(root) {
            return Err(NoSuchEntity { entity: root }.into());
        }
        let mut entities = try_vec(1 + self.as_ref().descendants(root).count())?;
        entities.push(root);
        entities.extend(self.as_ref().descendants(root));
        Ok(entities)
    }

    /// Clones an entity and all below it, and returns the clone of that entity.
    ///
    /// Links within the tree become links between the clones, in all relations. Links to other entities are made for the clones
    /// too, so that the new root is the last child of the same parent. Relations with `#[relation(no_clone)]`, and one-to-one links to
    /// other entities, are left out. A clone has the [name](crate::Name) of its original if its parent was cloned too: the new root
    /// has no name. Entities in components ([`Component::ENTITIES`](crate::Component::ENTITIES)) are
    /// changed to their clones.
    ///
    /// ```
    /// use phalanx::relation::ChildOf;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// #[component(clone)]
    /// struct Part(&'static str);
    ///
    /// let mut world = World::new();
    /// let ship = world.spawn(Part("ship"));
    /// world.entity_mut(ship)?.spawn_child(Part("gun"));
    /// let twin = world.relations_mut::<ChildOf>().clone_tree(ship)?;
    /// let gun = world.relations::<ChildOf>().children(twin).next().unwrap();
    /// assert_eq!(world.get::<Part>(gun)?, &Part("gun"));
    /// assert_eq!(world.len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::NotClone`] if an entity has a component that cannot be cloned.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    ///
    /// # Panics
    ///
    /// Panics if the clone of a component does. Nothing has changed then.
    #[doc(alias = "clone_and_spawn")]
    #[doc(alias = "instantiate")]
    pub fn clone_tree(&mut self, root: Entity) -> Result<Entity, StructuralError> {
        let entities = self.try_tree(root)?;
        let map = self.dispatching(|world| clone_all(world, &entities, true))?;
        map.get(root).ok_or_else(|| unreachable!("a cloned entity has a clone"))
    }

    /// Moves an entity and all below it to another world, like [`EntityMut::transfer`](crate::EntityMut::transfer).
    ///
    /// Links within the tree go along, in all relations. Links between the tree and other entities are cut, and returned.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::relation::ChildOf;
    ///
    /// let (mut here, mut there) = (World::new(), World::new());
    /// let fleet = here.spawn_empty();
    /// let ship = here.entity_mut(fleet)?.spawn_child(());
    /// let gun = here.entity_mut(ship)?.spawn_child(());
    /// let moved = here.relations_mut::<ChildOf>().transfer_tree(ship, &mut there)?;
    /// assert_eq!(moved.cut.len(), 1);
    /// assert_eq!((moved.cut[0].source, moved.cut[0].target), (ship, fleet));
    /// assert_eq!(there.relations::<ChildOf>().children(moved.root).next(), moved.map.get(gun));
    /// assert_eq!((here.len(), there.len()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Relation`] if two entities without a parent would have the same [name](crate::Name), there or here.
    ///   [`NameTaken`](crate::RelationError::NameTaken) names both.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn transfer_tree(&mut self, root: Entity, other: &mut World) -> Result<TransferredTree, StructuralError> {
        let entities = self.try_tree(root)?;
        let (map, cut) = Transfer::new(self.world, other).entities(&entities)?;
        self.dispatching(|world| world.dispatch_moves(other));
        match map.get(root) {
            Some(root) => Ok(TransferredTree { root, map, cut }),
            None => unreachable!("an entity that was moved has become another"),
        }
    }
}
