//! [`LinkPair`] and [`CutLink`]: links of entities that are cloned, or moved to another world.

use super::Storage;
use crate::alloc::{try_reserve, try_reserve_map};
use crate::links::{LinkView, NONE};
use crate::seeded::NumberMap;
use phalanx_store::{AllocError, Entity};

/// A link of entities that are cloned or moved to another world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkPair {
    /// The storage id of the relation.
    pub(crate) relation: u32,
    /// The depth of the target.
    depth: u32,
    /// The position among the links of the same depth.
    number: usize,
    pub(crate) source: Entity,
    pub(crate) target: Entity,
    /// Whether both entities are cloned or moved.
    pub(crate) is_inside: bool,
}

/// A link that was cut, because only one of its entities was moved to another world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutLink {
    /// The relation.
    pub relation: &'static str,
    /// The source of the link, in the world that it was in.
    pub source: Entity,
    /// The target of the link, in the world that it was in.
    pub target: Entity,
}

/// The links of some entities.
#[derive(Debug, Default)]
pub(crate) struct LinkPairs {
    /// Those of the entities, in an order in which they can be made again: targets before their sources, and sources of a
    /// target in their order.
    pub(crate) own: Vec<LinkPair>,
    /// The links of other entities to one of these.
    pub(crate) others: Vec<LinkPair>,
}

impl Storage {
    /// Returns the links of some entities.
    pub(crate) fn try_link_pairs(&self, entities: &[Entity]) -> Result<LinkPairs, AllocError> {
        let mut pairs = LinkPairs::default();
        if !self.sparse.has_relations() {
            return Ok(pairs);
        }
        let mut inside = NumberMap::default();
        try_reserve_map(&mut inside, entities.len())?;
        inside.extend(entities.iter().map(|entity| (entity.index(), ())));
        let mut number = 0;
        for (relation, _) in self.sparse.relations() {
            let links = self.sparse.links(Some(relation));
            for &entity in entities {
                let link = links.get(entity.index());
                let mut add = |list: &mut Vec<LinkPair>, source, target, is_inside| {
                    if let (Some(source), Some(target)) = (self.slot(source), self.slot(target)) {
                        try_reserve(list, 1)?;
                        let depth = links.get(target.index()).depth;
                        list.push(LinkPair { relation, depth, number, source, target, is_inside });
                        number += 1;
                    }
                    Ok::<(), AllocError>(())
                };
                if link.target != NONE && !inside.contains_key(&link.target) {
                    add(&mut pairs.own, entity.index(), link.target, false)?;
                }
                let mut source = link.first;
                while source != NONE {
                    let is_inside = inside.contains_key(&source);
                    let list = if is_inside { &mut pairs.own } else { &mut pairs.others };
                    add(list, source, entity.index(), is_inside)?;
                    source = links.get(source).next;
                }
            }
        }
        pairs.own.sort_unstable();
        Ok(pairs)
    }

    /// Unlinks the sources of these links. Capacity for the journal entries is reserved before.
    pub(crate) fn unlink_pairs(&mut self, pairs: &LinkPairs) {
        for pair in &pairs.others {
            self.unlink(pair.relation, pair.source);
            self.index_name(pair.source.index());
        }
        // The deepest first, so that each depth is set once.
        pairs.own.iter().rev().for_each(|pair| self.unlink(pair.relation, pair.source));
    }
}
