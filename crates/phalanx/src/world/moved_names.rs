//! The names of entities that are moved to another world.

use super::EntityMap;
use crate::alloc::try_reserve_map;
use crate::error::{RelationError, StructuralError};
use crate::links::NONE;
use crate::names::{Name, NameKey};
use crate::seeded::NumberMap;
use crate::storage::Storage;
use crate::storage::link_pairs::{LinkPair, LinkPairs};
use phalanx_store::Entity;

/// The entities that would be without a parent and have a name, by name.
#[derive(Default)]
struct Roots(NumberMap<NameKey, Entity>);

impl Roots {
    /// Adds an entity of a storage, if it has a name.
    ///
    /// # Errors
    ///
    /// - [`RelationError::NameTaken`] if another one has the name, or the entity that `find` returns for it.
    /// - [`RelationError::Alloc`] if allocation fails.
    fn try_add(
        &mut self,
        storage: &Storage,
        entity: Entity,
        find: impl Fn(&Name) -> Option<Entity>,
    ) -> Result<(), RelationError> {
        let Some(&name) = storage.name_at(entity.index()) else { return Ok(()) };
        try_reserve_map(&mut self.0, 1)?;
        let other = self.0.insert(NameKey { parent: NONE, name }, entity);
        match other.or_else(|| find(&name)) {
            Some(holder) => Err(RelationError::NameTaken { entity, holder }),
            None => Ok(()),
        }
    }
}

/// Checks that entities can be moved with their names, and reserves capacity for them in the index there. The links are those of
/// the entities.
///
/// An entity whose parent is not moved has no parent afterwards. It may be one that is moved, or a child of one that is.
///
/// # Errors
///
/// - [`RelationError::NameTaken`] if two entities without a parent would have the same name.
/// - [`StructuralError::Alloc`] if allocation fails.
pub(super) fn try_move_names(
    from: &Storage,
    to: &mut Storage,
    entities: &[Entity],
    links: &LinkPairs,
) -> Result<(), StructuralError> {
    if from.names.is_none() {
        return Ok(());
    }
    let is_of_tree = |pair: &&LinkPair| Some(pair.relation) == from.sparse.tree_of_names();
    let find = |storage: &Storage, name: &Name| storage.find_named(NONE, name).and_then(|slot| storage.slot(slot));
    let mut arriving = Roots::default();
    let roots = entities.iter().filter(|entity| from.parent_at(entity.index()) == NONE).copied();
    let cut = links.own.iter().filter(is_of_tree).filter(|pair| !pair.is_inside).map(|pair| pair.source);
    for entity in roots.chain(cut) {
        arriving.try_add(from, entity, |name| find(to, name))?;
    }
    if links.others.iter().any(|pair| is_of_tree(&pair)) {
        let mut moved = NumberMap::default();
        try_reserve_map(&mut moved, entities.len())?;
        moved.extend(entities.iter().map(|entity| (entity.index(), ())));
        let mut staying = Roots::default();
        for pair in links.others.iter().filter(is_of_tree) {
            let stays = |holder: &Entity| !moved.contains_key(&holder.index());
            staying.try_add(from, pair.source, |name| find(from, name).filter(stays))?;
        }
    }
    let names = entities.iter().filter(|entity| from.name_at(entity.index()).is_some()).count();
    Ok(to.try_reserve_names(names)?)
}

/// Adds the entities that have arrived to the index.
pub(super) fn index_arrived(to: &mut Storage, map: &EntityMap) {
    map.iter().for_each(|(_, new)| to.index_name(new.index()));
}
