//! [`DespawnSet`]: the entities that are despawned together, because relations say so.

use crate::alloc::{try_reserve, try_reserve_map};
use crate::error::{RelationError, StructuralError};
use crate::links::{LinkView, NONE, OnDespawn, RelationKind};
use crate::seeded::NumberMap;
use crate::storage::Storage;
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

/// The links of all relations, as they are or as they would be.
pub(crate) trait LinkGraph {
    /// Returns the links of a relation.
    fn of(&self, relation: u32) -> impl LinkView;
}

impl LinkGraph for &Storage {
    #[inline(always)]
    fn of(&self, relation: u32) -> impl LinkView {
        self.sparse.links(Some(relation))
    }
}

/// The capacity for entities that is kept for the next despawn.
const KEPT: usize = 1024;

/// Entities that are despawned together: each comes after those that are despawned because of it.
#[derive(Debug, Default)]
pub(crate) struct DespawnSet {
    entities: Vec<Entity>,
    /// Entities that are not listed yet, and whether their sources are on the stack or listed.
    stack: Vec<(Entity, bool)>,
    /// The slots of the entities. Empty while no entity can be reached twice.
    slots: NumberMap<u32, ()>,
    /// The relation, if the entities are one tree of it and no other relation despawns any.
    tree: Option<u32>,
}

impl DespawnSet {
    /// Returns the entities, in the order in which they are despawned.
    pub(crate) fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// Returns the relation, if the entities are one tree of it and no other relation despawns any. The root is the last.
    pub(crate) fn tree(&self) -> Option<u32> {
        self.tree
    }

    /// Removes all entities.
    pub(crate) fn clear(&mut self) {
        self.entities.clear();
        self.slots.clear();
        self.tree = None;
    }

    /// Removes all entities, and frees memory beyond what a set of [`KEPT`] entities takes.
    pub(crate) fn clear_and_shrink(&mut self) {
        match self.entities.capacity().max(self.stack.capacity()).max(self.slots.capacity()) > KEPT {
            true => *self = DespawnSet::default(),
            false => self.clear(),
        }
    }

    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        self.entities.capacity() * size_of::<Entity>()
            + self.stack.capacity() * size_of::<(Entity, bool)>()
            + self.slots.capacity() * size_of::<(u32, ())>()
    }

    /// Adds a live entity, and those that are despawned because of it. Returns the range of the new entities, which is empty
    /// if the set has it already.
    ///
    /// With `is_only`, no other entity is added before the set is cleared.
    ///
    /// # Errors
    ///
    /// - [`RelationError::Refused`] if a relation refuses it.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the set is unchanged.
    pub(crate) fn try_add(
        &mut self,
        storage: &Storage,
        links: &impl LinkGraph,
        root: Entity,
        is_only: bool,
    ) -> Result<Range<usize>, StructuralError> {
        let start = self.entities.len();
        let despawning = || storage.sparse.relations().filter(|(_, info)| info.on_despawn == OnDespawn::Despawn);
        let refusing = || storage.sparse.relations().filter(|(_, info)| info.on_despawn == OnDespawn::Refuse);
        let is_tree = despawning().all(|(_, info)| info.kind == RelationKind::Tree) && despawning().count() < 2;
        // In one tree nothing is reached twice.
        let remembers = !(is_only && is_tree && refusing().next().is_none());
        if !remembers {
            self.tree = despawning().next().map(|(relation, _)| relation);
            return match self.tree {
                Some(relation) => self.try_list_tree(storage, links, root, relation),
                None => self.try_push(root),
            }
            .map(|()| start..self.entities.len())
            .map_err(|error| {
                self.entities.truncate(start);
                error.into()
            });
        }
        let found = self.try_list(storage, links, root, despawning().map(|(relation, _)| relation));
        let refused = found.map_err(StructuralError::from).and_then(|()| {
            for &entity in self.entities[start..].iter().rev() {
                for (relation, info) in refusing() {
                    let others =
                        sources_back(links, relation, entity.index()).filter(|slot| !self.slots.contains_key(slot));
                    match others.count() {
                        0 => {}
                        count => return Err(RelationError::Refused { relation: info.name(), entity, count }.into()),
                    }
                }
            }
            Ok(())
        });
        if let Err(error) = refused {
            let begun = self.stack.drain(..).filter(|(_, is_begun)| *is_begun).map(|(entity, _)| entity);
            for entity in self.entities.drain(start..).chain(begun) {
                self.slots.remove(&entity.index());
            }
            return Err(error);
        }
        Ok(start..self.entities.len())
    }

    /// Lists an entity and those that are despawned because of it: each after those, and sources of one target in their order.
    fn try_list(
        &mut self,
        storage: &Storage,
        links: &impl LinkGraph,
        root: Entity,
        relations: impl DoubleEndedIterator<Item = u32> + Clone,
    ) -> Result<(), AllocError> {
        self.try_push_stack(root, false)?;
        loop {
            // Before an entity leaves the stack, so that none is lost if this fails.
            try_reserve(&mut self.entities, 1)?;
            let Some((entity, is_begun)) = self.stack.pop() else { return Ok(()) };
            if !is_begun {
                // It may have been reached by another way since it was put on the stack.
                if self.slots.contains_key(&entity.index()) {
                    continue;
                }
                let height = self.stack.len();
                self.try_push_stack(entity, true)?;
                try_reserve_map(&mut self.slots, 1)?;
                self.slots.insert(entity.index(), ());
                // The first one is on top.
                for relation in relations.clone().rev() {
                    for slot in sources_back(links, relation, entity.index()) {
                        if let Some(source) =
                            storage.slot(slot).filter(|source| !self.slots.contains_key(&source.index()))
                        {
                            self.try_push_stack(source, false)?;
                        }
                    }
                }
                if self.stack.len() > height + 1 {
                    continue;
                }
                self.stack.pop();
            }
            self.entities.push(entity);
        }
    }

    /// Lists an entity and those below it in a tree, each after its own sources.
    fn try_list_tree(
        &mut self,
        storage: &Storage,
        links: &impl LinkGraph,
        root: Entity,
        relation: u32,
    ) -> Result<(), AllocError> {
        let links = links.of(relation);
        let (mut slot, mut link) = links.first_leaf(root.index());
        while slot != root.index() {
            if let Some(entity) = storage.slot(slot) {
                self.try_push(entity)?;
            }
            (slot, link) = match link.next {
                NONE => (link.target, links.get(link.target)),
                next => links.first_leaf(next),
            };
        }
        self.try_push(root)
    }

    /// Adds an entity to the list.
    #[inline]
    fn try_push(&mut self, entity: Entity) -> Result<(), AllocError> {
        try_reserve(&mut self.entities, 1)?;
        self.entities.push(entity);
        Ok(())
    }

    /// Puts an entity on the stack.
    fn try_push_stack(&mut self, entity: Entity, is_begun: bool) -> Result<(), AllocError> {
        try_reserve(&mut self.stack, 1)?;
        self.stack.push((entity, is_begun));
        Ok(())
    }
}

/// Returns the slots of the sources of a slot, in the reverse order.
fn sources_back(links: &impl LinkGraph, relation: u32, slot: u32) -> impl Iterator<Item = u32> {
    let links = links.of(relation);
    let mut next = links.get(slot).last;
    core::iter::from_fn(move || {
        let slot = Some(next).filter(|slot| *slot != NONE)?;
        next = links.get(slot).prev;
        Some(slot)
    })
}
