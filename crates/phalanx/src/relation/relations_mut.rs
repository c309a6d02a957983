//! [`RelationsMut`]: changes the links of a relation.
#![allow(unsafe_code)]

use super::commands::register;
use super::{LinkOf, Linked, Relation, Relations, Unlinked};
use crate::alloc::try_vec;
use crate::bundle::Bundle;
use crate::commands::CommandBuffer;
use crate::error::{NoSuchEntity, RelationError, StructuralError, panic_change};
use crate::links::{LinkStore, LinkView, NONE, RelationInfo, RelationKind};
use crate::mutation::Position;
use crate::query::ReadOnlyQueryData;
use crate::signal::ListenerId;
use crate::world::World;
use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

/// The links of a relation in a world that is borrowed exclusively: [`World::relations_mut`].
pub struct RelationsMut<'w, R> {
    pub(super) world: &'w mut World,
    /// The storage id of the relation, or `None` if it is not known, or the world does not know the relation.
    storage_id: Option<u32>,
    relation: PhantomData<fn() -> R>,
}

impl World {
    /// Returns a handle that changes the links of a [relation](crate::relation).
    #[doc(alias = "set_parent")]
    #[doc(alias = "add_child")]
    pub fn relations_mut<R: Relation>(&mut self) -> RelationsMut<'_, R> {
        let storage_id = self.storage.sparse.storage_id_of::<LinkOf<R>>(&self.storage.components);
        RelationsMut { world: self, storage_id, relation: PhantomData }
    }
}

impl<R: Relation> RelationsMut<'_, R> {
    /// Returns the links.
    pub fn as_ref(&self) -> Relations<'_, R> {
        Relations::new(&self.world.storage)
    }

    /// Returns the storage id of the relation, which is registered if the world does not know it.
    #[inline(always)]
    fn register(&mut self) -> Result<u32, AllocError> {
        self.storage_id.map_or_else(|| self.register_new(), Ok)
    }

    /// Calls an operation that may dispatch events. Commands of listeners may leave another world here, with other storage ids.
    #[inline(always)]
    pub(super) fn dispatching<T>(&mut self, operation: impl FnOnce(&mut World) -> T) -> T {
        if self.world.storage.journal.is_active() {
            self.storage_id = None;
        }
        operation(self.world)
    }

    #[cold]
    #[inline(never)]
    fn register_new(&mut self) -> Result<u32, AllocError> {
        let storage_id = register::<R>(self.world)?;
        self.storage_id = Some(storage_id);
        Ok(storage_id)
    }

    /// Links an entity to a target, after the other sources of that target.
    ///
    /// If the entity is linked to another target, it is unlinked from that one. If it is linked to this target already, nothing
    /// changes.
    ///
    /// # Errors
    ///
    /// - [`RelationError::NoSuchEntity`] if one of them is not alive.
    /// - [`RelationError::Cycle`] if they are the same entity, or if the target is below the entity in a tree.
    /// - [`RelationError::Occupied`] if the relation is one-to-one, and the target has another source.
    /// - [`RelationError::NameTaken`] if the relation is [`ChildOf`](super::ChildOf), and another child has the
    ///   [name](crate::Name) of the entity.
    /// - [`RelationError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    #[inline]
    pub fn link(&mut self, source: Entity, target: Entity) -> Result<(), RelationError> {
        self.try_link(source, target, Position::Last)
    }

    /// Links an entity to a target, like [`link`](RelationsMut::link), at a position among the sources of that target.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::relation::{ChildOf, Position};
    ///
    /// let mut world = World::new();
    /// let [parent, a, b, c] = [(); 4].map(|()| world.spawn_empty());
    /// let mut tree = world.relations_mut::<ChildOf>();
    /// tree.link(a, parent)?;
    /// tree.link_at(b, parent, Position::First)?;
    /// tree.link_at(c, parent, Position::Before(a))?;
    /// assert!(tree.as_ref().children(parent).eq([b, c, a]));
    /// tree.link_at(b, parent, Position::After(a))?;
    /// assert!(tree.as_ref().children(parent).eq([c, a, b]));
    /// # Ok::<(), phalanx::RelationError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`link`](RelationsMut::link), and [`RelationError::NotSource`] if the entity that the position names is not linked
    /// to the target.
    #[inline]
    pub fn link_at(&mut self, source: Entity, target: Entity, position: Position) -> Result<(), RelationError> {
        self.try_link(source, target, position)
    }

    #[inline(always)]
    fn try_link(&mut self, source: Entity, target: Entity, position: Position) -> Result<(), RelationError> {
        let relation = self.register()?;
        let storage = &mut self.world.storage;
        storage.flush()?;
        if !(storage.contains(source) && storage.contains(target)) {
            let entity = if storage.contains(source) { target } else { source };
            return Err(NoSuchEntity { entity }.into());
        }
        storage.try_link(relation, &RelationInfo::of::<R>(), source, target, position)?;
        self.dispatching(World::dispatch);
        Ok(())
    }

    /// Unlinks an entity from its target. Returns the target, or `None` if it has none.
    ///
    /// # Errors
    ///
    /// - [`RelationError::NoSuchEntity`] if the entity is not alive.
    /// - [`RelationError::NameTaken`] if the relation is [`ChildOf`](super::ChildOf), and an entity without a parent has the
    ///   [name](crate::Name) of the entity.
    /// - [`RelationError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn unlink(&mut self, source: Entity) -> Result<Option<Entity>, RelationError> {
        let relation = self.register()?;
        self.world.storage.flush()?;
        if !self.world.contains(source) {
            return Err(NoSuchEntity { entity: source }.into());
        }
        let slot = self.world.storage.sparse.links(Some(relation)).get(source.index()).target;
        let target = self.world.storage.slot(slot).filter(|_| slot != NONE);
        if R::HAS_NAMES.is_so && self.world.storage.names.is_some() {
            self.world.storage.claim_name(relation, source, NONE)?;
        }
        self.world.storage.reserve_entries(1)?;
        self.world.storage.unlink(relation, source);
        self.dispatching(World::dispatch);
        Ok(target)
    }

    /// Spawns an entity with a bundle, and links it to a target, after the other sources of that target.
    ///
    /// # Errors
    ///
    /// - [`RelationError::NoSuchEntity`] if the target is not alive.
    /// - [`RelationError::Occupied`] if the relation is one-to-one, and the target has a source.
    /// - [`RelationError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    ///
    /// # Panics
    ///
    /// Panics if the bundle contains a component twice.
    #[doc(alias = "spawn_related")]
    #[doc(alias = "with_child")]
    #[inline(always)]
    #[track_caller]
    pub fn spawn<B: Bundle>(&mut self, target: Entity, bundle: B) -> Result<Entity, RelationError> {
        self.try_spawn(target, bundle).map_err(relation_error)
    }

    /// Spawns an entity, like [`spawn`](RelationsMut::spawn), but returns an error if the bundle contains a component twice.
    ///
    /// # Errors
    ///
    /// Those of `spawn`, and [`StructuralError::Duplicate`].
    #[inline(always)]
    pub fn try_spawn<B: Bundle>(&mut self, target: Entity, bundle: B) -> Result<Entity, StructuralError> {
        // The common case by itself: nothing is recorded, and no row or slot grows.
        if R::KIND != RelationKind::OneToOne
            && B::SPARSE == 0
            && B::OPTIONAL == 0
            && !B::REQUIRES
            && let Some(relation) = self.storage_id
        {
            let bundle_id = self.world.full_bundle_id::<B>()?;
            let (info, storage) = (self.world.bundles.get(bundle_id), &mut self.world.storage);
            if storage.is_ready(info.table) && storage.contains(target) {
                let is_tree = R::KIND == RelationKind::Tree;
                // SAFETY: the bundle was resolved in this world, has no sparse or optional components, and requires none. The
                // storage is ready.
                let spawned = unsafe { storage.spawn_linked(info, bundle, relation, is_tree, target.index()) };
                return spawned.map_err(StructuralError::from);
            }
        }
        self.try_spawn_slow(target, bundle)
    }

    #[inline(never)]
    fn try_spawn_slow<B: Bundle>(&mut self, target: Entity, bundle: B) -> Result<Entity, StructuralError> {
        let relation = self.register()?;
        let storage = &mut self.world.storage;
        storage.flush()?;
        if !storage.contains(target) {
            return Err(NoSuchEntity { entity: target }.into());
        }
        if R::KIND == RelationKind::OneToOne
            && let Some(by) = self.as_ref().sources(target).next()
        {
            return Err(RelationError::Occupied { relation: core::any::type_name::<R>(), target, by }.into());
        }
        let storage = &mut self.world.storage;
        let reserved = storage.reserve_link(relation, storage.entities.next_index(), target.index())?;
        self.dispatching(|world| {
            world.spawn_then(bundle, 2, |storage, source| {
                storage.link(reserved, relation, source, target.index(), None);
                if R::HAS_NAMES.is_so {
                    storage.index_name(source.index());
                }
            })
        })
    }

    /// Sorts the sources of a target by a query. Sources that do not match it come last. Equal ones keep their order.
    ///
    /// ```
    /// use phalanx::relation::ChildOf;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Layer(i32);
    ///
    /// let mut world = World::new();
    /// let parent = world.spawn_empty();
    /// let [a, b, c] = [3, 1, 2].map(|n| world.entity_mut(parent).unwrap().spawn_child(Layer(n)));
    /// world.relations_mut::<ChildOf>().sort_by::<&Layer>(parent, |a, b| a.0.cmp(&b.0))?;
    /// assert!(world.relations::<ChildOf>().children(parent).eq([b, c, a]));
    /// # Ok::<(), phalanx::RelationError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`RelationError::NoSuchEntity`] if the target is not alive.
    /// - [`RelationError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    ///
    /// # Panics
    ///
    /// Panics if `compare` does. Nothing has changed then.
    #[doc(alias = "sort_children_by")]
    pub fn sort_by<D: ReadOnlyQueryData>(
        &mut self,
        target: Entity,
        mut compare: impl FnMut(D::Item<'_>, D::Item<'_>) -> Ordering,
    ) -> Result<(), RelationError> {
        let relation = self.register()?;
        self.world.storage.flush()?;
        if !self.world.contains(target) {
            return Err(NoSuchEntity { entity: target }.into());
        }
        let mut sources = try_vec(self.as_ref().sources(target).len())?;
        sources.extend(self.as_ref().sources(target).zip(0..));
        {
            let query = self.world.query::<D>();
            let matching = |entity: &Entity| query.get(*entity).ok();
            // With the position, so that the sort is stable and does not allocate.
            sources.sort_unstable_by(|(a, first): &(Entity, usize), (b, second)| {
                let order = match (matching(a), matching(b)) {
                    (Some(a), Some(b)) => compare(a, b),
                    (a, b) => b.is_some().cmp(&a.is_some()),
                };
                order.then(first.cmp(second))
            });
        }
        let mut links = self.world.storage.sparse.links_mut(relation);
        for (source, _) in &sources {
            links.move_to_end(source.index());
        }
        Ok(())
    }

    /// Calls a function whenever an entity is linked. See [the contract](crate::signal).
    ///
    /// [`World::listen`] has more choices: listeners of one source, or that are called once.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::relation::ChildOf;
    /// use std::sync::{Arc, Mutex};
    ///
    /// let mut world = World::new();
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let (linked, unlinked) = (log.clone(), log.clone());
    /// world.relations_mut::<ChildOf>().on_link(move |event, _, _| linked.lock().unwrap().push(('+', event.source)));
    /// world.relations_mut::<ChildOf>().on_unlink(move |event, _, _| unlinked.lock().unwrap().push(('-', event.source)));
    /// let parent = world.spawn_empty();
    /// let child = world.entity_mut(parent)?.spawn_child(());
    /// world.despawn(parent)?;
    /// assert_eq!(*log.lock().unwrap(), [('+', child), ('-', child)]);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    pub fn on_link(
        &mut self,
        listener: impl FnMut(Linked, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.dispatching(|world| world.listen().on_link::<R>(listener))
    }

    /// Calls a function whenever an entity is unlinked, also because one of the two is despawned. See [the
    /// contract](crate::signal).
    pub fn on_unlink(
        &mut self,
        listener: impl FnMut(Unlinked, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.dispatching(|world| world.listen().on_unlink::<R>(listener))
    }
}

/// Returns the error of an operation that returns no others.
///
/// # Panics
///
/// Panics if the error is another one.
#[cold]
#[inline(never)]
#[track_caller]
fn relation_error(error: StructuralError) -> RelationError {
    match error {
        StructuralError::NoSuchEntity(error) => error.into(),
        StructuralError::Relation(error) => error,
        StructuralError::Alloc(error) => error.into(),
        error => panic_change(error),
    }
}

impl<R> fmt::Debug for RelationsMut<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RelationsMut").field(&core::any::type_name::<R>()).finish()
    }
}
