//! [`Links`] and [`LinksMut`]: the links of a many-to-many relation.

use super::many_to_many::{ManyToMany, SourceOf, TargetOf};
use super::{RelationsMut, commands};
use crate::commands::CommandBuffer;
use crate::error::{NoSuchEntity, RelationError, StructuralError};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// The links of a [many-to-many relation](ManyToMany) in a shared world: [`World::links`].
///
/// To the methods, an entity that is not alive has no links. A link that has lost an end, because that end was moved to another
/// world, is not listed.
pub struct Links<'w, R> {
    world: &'w World,
    relation: PhantomData<fn() -> R>,
}

/// The links of a [many-to-many relation](ManyToMany) in a world that is borrowed exclusively: [`World::links_mut`].
pub struct LinksMut<'w, R> {
    world: &'w mut World,
    relation: PhantomData<fn() -> R>,
}

impl<R> Clone for Links<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Links<'_, R> {}

impl World {
    /// Returns the links of a [many-to-many relation](ManyToMany).
    pub fn links<R: ManyToMany>(&self) -> Links<'_, R> {
        Links { world: self, relation: PhantomData }
    }

    /// Returns a handle that changes the links of a [many-to-many relation](ManyToMany).
    pub fn links_mut<R: ManyToMany>(&mut self) -> LinksMut<'_, R> {
        LinksMut { world: self, relation: PhantomData }
    }
}

impl<'w, R: ManyToMany> Links<'w, R> {
    /// Returns the targets that an entity is linked to, with the entities that are the links. They are in the order of linking.
    pub fn targets(self, source: Entity) -> impl DoubleEndedIterator<Item = (Entity, Entity)> + Clone + use<'w, R> {
        let targets = self.world.relations::<TargetOf<R>>();
        let links = self.world.relations::<SourceOf<R>>().sources(source);
        links.filter_map(move |link| Some((targets.target(link)?, link)))
    }

    /// Returns the sources that are linked to an entity, with the entities that are the links. They are in the order of linking.
    pub fn sources(self, target: Entity) -> impl DoubleEndedIterator<Item = (Entity, Entity)> + Clone + use<'w, R> {
        let sources = self.world.relations::<SourceOf<R>>();
        let links = self.world.relations::<TargetOf<R>>().sources(target);
        links.filter_map(move |link| Some((sources.target(link)?, link)))
    }

    /// Returns the entities that are linked to an entity, in either direction: its targets, then its sources.
    pub fn neighbours(self, entity: Entity) -> impl Iterator<Item = Entity> + Clone + use<'w, R> {
        self.targets(entity).chain(self.sources(entity)).map(|(other, _)| other)
    }

    /// Returns the entity that is the link from a source to a target. In a symmetric relation the link may also lead back.
    ///
    /// The time is linear in the number of links of the one that has fewer.
    pub fn find(self, source: Entity, target: Entity) -> Option<Entity> {
        let found = self.find_one_way(source, target);
        if R::SYMMETRIC { found.or_else(|| self.find_one_way(target, source)) } else { found }
    }

    fn find_one_way(self, source: Entity, target: Entity) -> Option<Entity> {
        let out = self.world.relations::<SourceOf<R>>().sources(source).len();
        let into = self.world.relations::<TargetOf<R>>().sources(target).len();
        let is_one = |(other, link): (Entity, Entity), wanted| (other == wanted).then_some(link);
        match out <= into {
            true => self.targets(source).find_map(|found| is_one(found, target)),
            false => self.sources(target).find_map(|found| is_one(found, source)),
        }
    }

    /// Returns the source and the target of a link.
    pub fn ends(self, link: Entity) -> Option<(Entity, Entity)> {
        let source = self.world.relations::<SourceOf<R>>().target(link)?;
        Some((source, self.world.relations::<TargetOf<R>>().target(link)?))
    }
}

impl<R: ManyToMany> LinksMut<'_, R> {
    /// Returns the links.
    pub fn as_ref(&self) -> Links<'_, R> {
        Links { world: self.world, relation: PhantomData }
    }

    /// Links a source to a target, and returns the entity that is the link. If they are linked already, the data is replaced.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if one of them is not alive.
    /// - [`StructuralError::Relation`] with [`RelationError::Cycle`] if they are the same entity.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the data is dropped, and nothing else changes.
    pub fn link(&mut self, source: Entity, target: Entity, data: R) -> Result<Entity, StructuralError> {
        self.world.storage.flush()?;
        for entity in [source, target] {
            if !self.world.contains(entity) {
                return Err(NoSuchEntity { entity }.into());
            }
        }
        if source == target {
            let relation = core::any::type_name::<R>();
            return Err(RelationError::Cycle { relation, source, target }.into());
        }
        if let Some(link) = self.as_ref().find(source, target) {
            self.world.try_insert(link, data)?;
            return Ok(link);
        }
        let relations =
            [commands::register::<SourceOf<R>>(self.world)?, commands::register::<TargetOf<R>>(self.world)?];
        let slot = self.world.storage.entities.next_index();
        let ends = [source, target];
        let mut reserved = self.world.storage.reserve_link(relations[0], slot, source.index())?;
        reserved = self.world.storage.reserve_link(relations[1], slot, target.index()).map(|_| reserved)?;
        self.world.spawn_then(data, 4, |storage, link| {
            for (relation, end) in relations.into_iter().zip(ends) {
                storage.link(reserved, relation, link, end.index(), None);
            }
        })
    }

    /// Unlinks a source from a target, and drops the data. Returns `true` if they were linked.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn unlink(&mut self, source: Entity, target: Entity) -> Result<bool, StructuralError> {
        match self.as_ref().find(source, target) {
            Some(link) => self.world.try_despawn(link).map(|()| true),
            None => Ok(false),
        }
    }

    /// Returns a handle of the links to their sources, for [listeners](RelationsMut::on_link).
    pub fn source_relation(&mut self) -> RelationsMut<'_, SourceOf<R>> {
        self.world.relations_mut()
    }

    /// Returns a handle of the links to their targets, for [listeners](RelationsMut::on_link).
    pub fn target_relation(&mut self) -> RelationsMut<'_, TargetOf<R>> {
        self.world.relations_mut()
    }
}

impl CommandBuffer {
    /// Records that a source is linked to a target by a [many-to-many relation](ManyToMany), and returns the entity that will be the
    /// link.
    ///
    /// Unlike [`LinksMut::link`], this does not look for a link between them that exists already.
    pub fn link_with<R: ManyToMany>(&mut self, world: &World, source: Entity, target: Entity, data: R) -> Entity {
        let link = self.spawn_with(world, data);
        self.link::<SourceOf<R>>(link, source);
        self.link::<TargetOf<R>>(link, target);
        link
    }
}

impl<R> fmt::Debug for Links<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Links").field(&core::any::type_name::<R>()).finish()
    }
}

impl<R> fmt::Debug for LinksMut<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LinksMut").field(&core::any::type_name::<R>()).finish()
    }
}
