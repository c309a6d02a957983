//! [`NameOverlay`]: names as they would be after the commands of a segment so far.

use super::apply_report::CommandKind;
use super::command_buffer::Entry;
use super::resolver::{Resolver, TargetRow};
use super::step::Step;
use crate::alloc::{try_box, try_reserve_map};
use crate::error::{RelationError, StructuralError};
use crate::links::{LinkView, NONE};
use crate::names::{Name, NameKey};
use crate::seeded::NumberMap;
use crate::world::World;
use phalanx_store::{AllocError, Entity};

/// The names that a segment changes, and the entities that get a place among siblings with a name. Each entry has the number of the segment
/// that set it. It counts in that segment only.
#[derive(Debug, Default)]
pub(super) struct NameOverlay {
    /// By slot, with its entity. `None` if the segment has removed the name.
    names: NumberMap<u32, (u32, Entity, Option<Name>)>,
    /// The entity that came to a parent and a name last. It may have left since.
    holders: NumberMap<NameKey, (u32, Entity)>,
}

impl NameOverlay {
    /// Returns the bytes held from the allocator.
    pub(super) fn bytes(&self) -> usize {
        size_of::<NameOverlay>()
            + self.names.capacity() * size_of::<(u32, (u32, Entity, Option<Name>))>()
            + self.holders.capacity() * size_of::<(NameKey, (u32, Entity))>()
    }

    /// Forgets what the segments before have changed.
    pub(super) fn start(&mut self) {
        self.names.clear();
        self.holders.clear();
    }
}

impl Resolver {
    /// Resolves a command that gives an entity a name, or removes it.
    pub(super) fn resolve_name(
        &mut self,
        world: &mut World,
        entry: &Entry,
        name: Option<&Name>,
        id: impl FnOnce(&mut World) -> Result<usize, StructuralError>,
        position: usize,
    ) -> Result<Step, StructuralError> {
        let entity = entry.entity.expect("a command about a name names its entity");
        let table = self.find(world, entity)?;
        let bundle_id = id(world)?;
        if let Some(name) = name {
            let parent = self.pending_parent(world, entity.index());
            self.take_name(world, entity, NameKey { parent, name: *name })?;
            self.named += 1;
        }
        let segment = self.segment;
        let overlay = self.name_overlay()?;
        try_reserve_map(&mut overlay.names, 1)?;
        overlay.names.insert(entity.index(), (segment, entity, name.copied()));
        let inserts = entry.vtable.kind == CommandKind::SetName;
        self.change(world, TargetRow::Main(entity), table, bundle_id, inserts, position)
    }

    /// Resolves that an entity gets another parent, or none, if the relation is that of parents.
    ///
    /// # Errors
    ///
    /// - [`RelationError::NameTaken`] if its name would be that of another entity there.
    /// - [`RelationError::Alloc`] if allocation fails.
    pub(super) fn move_name(
        &mut self,
        world: &World,
        relation: u32,
        entity: Entity,
        parent: u32,
    ) -> Result<(), RelationError> {
        let has_names = world.storage.names.is_some() || self.named > 0;
        if !has_names || world.storage.sparse.tree_of_names() != Some(relation) {
            return Ok(());
        }
        match self.pending_name(world, entity).copied() {
            Some(name) => self.take_name(world, entity, NameKey { parent, name }),
            None => Ok(()),
        }
    }

    /// Lets an entity come to a parent and a name.
    fn take_name(&mut self, world: &World, entity: Entity, key: NameKey) -> Result<(), RelationError> {
        if let Some(holder) = self.pending_holder(world, &key).filter(|holder| *holder != entity) {
            return Err(RelationError::NameTaken { entity, holder });
        }
        let segment = self.segment;
        let overlay = self.name_overlay()?;
        try_reserve_map(&mut overlay.holders, 1)?;
        overlay.holders.insert(key, (segment, entity));
        Ok(())
    }

    /// Returns the entity that would have a parent and a name.
    fn pending_holder(&self, world: &World, key: &NameKey) -> Option<Entity> {
        let came = self.names.as_ref().and_then(|overlay| overlay.holders.get(key));
        let came = came.filter(|(segment, _)| *segment == self.segment).map(|(_, entity)| *entity);
        let was = world.storage.find_named(key.parent, &key.name).and_then(|slot| world.storage.slot(slot));
        // One that was there and did not leave, or the last one that came. No other entity has been there since.
        [came, was].into_iter().flatten().find(|&entity| {
            self.find(world, entity).is_ok()
                && self.pending_name(world, entity) == Some(&key.name)
                && self.pending_parent(world, entity.index()) == key.parent
        })
    }

    /// Returns the name that an entity would have. It may be one that the segment spawns.
    fn pending_name<'a>(&'a self, world: &'a World, entity: Entity) -> Option<&'a Name> {
        match self.names.as_ref().and_then(|overlay| overlay.names.get(&entity.index())) {
            Some((segment, named, name)) if (*segment, *named) == (self.segment, entity) => name.as_ref(),
            _ => world.storage.name_of(entity),
        }
    }

    /// Returns the slot of the parent that a slot would have, or [`NONE`].
    fn pending_parent(&self, world: &World, slot: u32) -> u32 {
        let Some(related) = &self.related else { return world.storage.parent_at(slot) };
        let links = |relation| related.links.of(&world.storage, relation);
        world.storage.sparse.tree_of_names().map_or(NONE, |relation| links(relation).get(slot).target)
    }

    /// Returns the overlay of names, which is created if there is none.
    fn name_overlay(&mut self) -> Result<&mut NameOverlay, AllocError> {
        if self.names.is_none() {
            self.names = Some(try_box(NameOverlay::default())?);
        }
        match &mut self.names {
            Some(overlay) => Ok(overlay),
            None => unreachable!("it was created above"),
        }
    }
}
