//! [`EntityMap`]: the entities of a transfer, before and after.

use phalanx_store::Entity;

/// The entities of a transfer, before and after: [`World::transfer_all`](crate::World::transfer_all).
#[derive(Clone, Debug, Default)]
pub struct EntityMap {
    /// The old and the new entity, sorted by the old index.
    pairs: Vec<(Entity, Entity)>,
}

impl EntityMap {
    /// Creates a map of these pairs.
    pub(crate) fn of(mut pairs: Vec<(Entity, Entity)>) -> EntityMap {
        pairs.sort_unstable_by_key(|(old, _)| old.index());
        EntityMap { pairs }
    }

    /// Returns the entity that an old one has become.
    pub fn get(&self, old: Entity) -> Option<Entity> {
        self.at(old.index()).and_then(|(found, new)| (found == old).then_some(new))
    }

    /// Returns the pair of an old index.
    pub(super) fn at(&self, index: u32) -> Option<(Entity, Entity)> {
        let found = self.pairs.binary_search_by_key(&index, |(old, _)| old.index());
        found.ok().map(|at| self.pairs[at])
    }

    /// Returns the old and the new entity of each pair, by the old index.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Entity, Entity)> + '_ {
        self.pairs.iter().copied()
    }

    /// Returns the number of entities.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns `true` if there are no entities.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}
