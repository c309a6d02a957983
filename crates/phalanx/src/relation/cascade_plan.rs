//! [`CascadePlan`]: the entities of a cascade by depth, with the positions of their parents.

use crate::alloc::{try_reserve, try_vec};
use crate::component::ComponentId;
use crate::links::{LinkView, NONE};
use crate::sparse::GroupId;
use crate::storage::Storage;
use crate::storage::table::Epoch;
use crate::world::World;
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

/// The most words that are searched for a parent that was computed, instead of asking for each node.
const MOST_WORDS: u32 = 8;

/// The entities of a cascade by depth.
///
/// # Invariants
///
/// The parent of a node is a node of a lower depth, or none. `dirty` has no bits beyond the last node.
#[derive(Debug, Default)]
pub(super) struct CascadePlan {
    entities: Vec<Entity>,
    /// By node: that of its parent, or none.
    parents: Vec<u32>,
    /// The first node of each depth, and the number of nodes.
    starts: Vec<u32>,
    /// A bit for each node: whether it has another parent than when its value was computed, or was not computed.
    dirty: Vec<u64>,
    /// By word of `dirty`: the words that have the bits of its nodes' parents, or `None` if there are many.
    parent_words: Vec<Option<(u32, u32)>>,
    /// The group whose members are the nodes, in the same order.
    group: Option<GroupId>,
    version: Option<Version>,
    /// Whether all values were computed since the plan was made.
    is_propagated: bool,
}

/// What a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    world: u64,
    /// The number of changes of links.
    links: u64,
    group: Option<GroupId>,
    /// The number of changes of the group's order.
    order: u64,
    /// Without a group: any structural change.
    epoch: Option<Epoch>,
    /// Without a group, for sparse components: the numbers of values, and of removed ones.
    values: [(u32, u64); 2],
}

impl CascadePlan {
    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.entities.len()
    }

    /// Returns the entities, by node.
    pub(super) fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// Returns the node of each node's parent, or none.
    pub(super) fn parents(&self) -> &[u32] {
        &self.parents
    }

    /// Marks nodes that must be computed. `changed` returns a bit for each node of a range.
    pub(super) fn mark(&mut self, mut changed: impl FnMut(Range<usize>) -> u64) {
        let len = self.parents.len();
        for (at, word) in self.dirty.iter_mut().enumerate() {
            *word |= changed(at * 64..len.min(at * 64 + 64));
        }
    }

    /// Calls a function with each node that is marked, or is below one that is, and its parent: parents first. Returns the number
    /// of those nodes, which are marked then.
    pub(super) fn visit_marked(&mut self, mut visit: impl FnMut(usize, u32)) -> usize {
        let CascadePlan { parents, dirty, parent_words, .. } = self;
        let is_marked = |dirty: &[u64], node: u32| dirty[node as usize / 64] & 1 << (node % 64) != 0;
        let mut count = 0;
        for (at, words) in parent_words.iter().enumerate() {
            let is_below = match *words {
                Some((first, last)) => dirty[first as usize..last as usize].iter().any(|word| *word != 0),
                None => true,
            };
            if is_below {
                // A parent may be in the same word, before its child.
                for (node, &parent) in (at as u32 * 64..).zip(&parents[at * 64..parents.len().min(at * 64 + 64)]) {
                    if parent != NONE && is_marked(dirty, parent) {
                        dirty[at] |= 1 << (node % 64);
                    }
                }
            }
            let mut bits = dirty[at];
            while bits != 0 {
                let node = at * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                count += 1;
                visit(node, parents[node]);
            }
        }
        count
    }

    /// Returns the nodes of each depth.
    pub(super) fn depths(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
    }

    /// Returns the group whose members are the nodes, if there is one.
    pub(super) fn group(&self) -> Option<GroupId> {
        self.group
    }

    /// Records that all values were computed.
    pub(super) fn set_propagated(&mut self) {
        self.dirty.fill(0);
        self.is_propagated = true;
    }

    /// Makes the plan again if links or members have changed.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. The next update makes the plan again.
    pub(super) fn try_update(
        &mut self,
        world: &mut World,
        relation: Option<u32>,
        ids: [ComponentId; 2],
    ) -> Result<(), AllocError> {
        let group = find_group(&world.storage, ids);
        if self.version == Some(version(world, group, ids)) {
            return Ok(());
        }
        self.version = None;
        let old = core::mem::take(self);
        self.group = group;
        self.try_list(&world.storage, relation, ids)?;
        if let Some(group) = group {
            self.try_sort_group(world, group)?;
        }
        self.try_find_parents(&world.storage, relation)?;
        self.try_compare(&old, &world.storage)?;
        // Sorting a group has changed the order.
        self.version = Some(version(world, group, ids));
        Ok(())
    }

    /// Lists the members by depth.
    fn try_list(&mut self, storage: &Storage, relation: Option<u32>, ids: [ComponentId; 2]) -> Result<(), AllocError> {
        let mut found = Vec::new();
        match self.group.and_then(|group| storage.sparse.group(group)) {
            Some(group) => {
                let members = storage.sparse.members(group);
                found = try_vec(members.len())?;
                found.extend_from_slice(members);
            }
            None => storage.try_list_entities(ids, &mut found)?,
        }
        let links = storage.sparse.links(relation);
        let depth = |entity: &Entity| links.get(entity.index()).depth as usize;
        let depths = found.iter().map(depth).max().map_or(0, |deepest| deepest + 1);
        self.starts = try_vec(depths + 1)?;
        self.starts.resize(depths + 1, 0);
        for entity in &found {
            self.starts[depth(entity) + 1] += 1;
        }
        for at in 1..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        let mut next = try_vec(depths)?;
        next.extend_from_slice(&self.starts[..depths]);
        self.entities = try_vec(found.len())?;
        self.entities.extend_from_slice(&found);
        for entity in found {
            let at = &mut next[depth(&entity)];
            self.entities[*at as usize] = entity;
            *at += 1;
        }
        Ok(())
    }

    /// Sorts the members of the group like the plan.
    fn try_sort_group(&mut self, world: &mut World, id: GroupId) -> Result<(), AllocError> {
        let sparse = &world.storage.sparse;
        let Some(group) = sparse.group(id) else { unreachable!("a group that was found") };
        if sparse.members(group) == self.entities {
            return Ok(());
        }
        let mut order = try_vec(self.entities.len())?;
        let owned = sparse.get(group.desc.owned[0]);
        order.extend(self.entities.iter().filter_map(|entity| owned.row(entity.index())));
        world.storage.sparse.try_reorder_group(id, &mut order)?;
        world.storage.restructured();
        Ok(())
    }

    /// Finds the nodes of the parents.
    fn try_find_parents(&mut self, storage: &Storage, relation: Option<u32>) -> Result<(), AllocError> {
        let nodes = try_nodes_by_slot(storage, &self.entities)?;
        let links = storage.sparse.links(relation);
        self.parents = try_vec(self.entities.len())?;
        for depth in self.starts.windows(2) {
            let entities = &self.entities[depth[0] as usize..depth[1] as usize];
            self.parents.extend(entities.iter().map(|entity| {
                let target = links.get(entity.index()).target;
                let parent = nodes.get(target as usize).copied().unwrap_or(NONE);
                // A parent is of a lower depth. Parallel loops rely on that, whatever a hand-written relation says.
                if parent < depth[0] { parent } else { NONE }
            }));
        }
        self.parent_words = try_vec(self.parents.len().div_ceil(64))?;
        self.parent_words.extend(self.parents.chunks(64).map(|parents| {
            let words = || parents.iter().filter(|parent| **parent != NONE).map(|parent| parent / 64);
            let (first, end) = (words().min().unwrap_or(0), words().max().map_or(0, |last| last + 1));
            (end - first <= MOST_WORDS).then_some((first, end))
        }));
        Ok(())
    }

    /// Finds the nodes whose parent is another than in an old plan, or whose value was not computed.
    fn try_compare(&mut self, old: &CascadePlan, storage: &Storage) -> Result<(), AllocError> {
        let words = self.entities.len().div_ceil(64);
        let mut dirty = try_vec(words)?;
        if !old.is_propagated {
            // The bits beyond the last node stay zero.
            dirty.resize(words, u64::MAX);
            if let (Some(last), rest @ 1..) = (dirty.last_mut(), self.entities.len() % 64) {
                *last = (1 << rest) - 1;
            }
            self.dirty = dirty;
            return Ok(());
        }
        self.is_propagated = true;
        let nodes = try_nodes_by_slot(storage, &old.entities)?;
        let parent = |plan: &CascadePlan, node: usize| plan.entities.get(plan.parents[node] as usize).copied();
        let is_dirty = |node: usize, entity: &Entity| {
            let before = nodes.get(entity.index() as usize).map_or(NONE, |node| *node) as usize;
            let is_known = old.entities.get(before) == Some(entity) && old.dirty[before / 64] & 1 << (before % 64) == 0;
            !is_known || parent(old, before) != parent(self, node)
        };
        dirty.extend(self.entities.chunks(64).enumerate().map(|(at, entities)| {
            let bits =
                entities.iter().enumerate().map(|(bit, entity)| u64::from(is_dirty(at * 64 + bit, entity)) << bit);
            bits.fold(0, |word, bit| word | bit)
        }));
        self.dirty = dirty;
        Ok(())
    }
}

/// Returns the node of each slot, or none.
fn try_nodes_by_slot(storage: &Storage, entities: &[Entity]) -> Result<Vec<u32>, AllocError> {
    let slots = entities.iter().map(|entity| entity.index() as usize + 1).max().unwrap_or(0);
    let mut nodes = try_vec(slots.max(storage.entities.slot_count()))?;
    nodes.resize(slots.max(storage.entities.slot_count()), NONE);
    for (node, entity) in (0..).zip(entities) {
        nodes[entity.index() as usize] = node;
    }
    Ok(nodes)
}

/// Returns the group that owns both components and requires nothing else, if no group is within it.
fn find_group(storage: &Storage, ids: [ComponentId; 2]) -> Option<GroupId> {
    let [a, b] = [storage.sparse.storage_id(ids[0])?, storage.sparse.storage_id(ids[1])?];
    storage.sparse.find_plain_group(&[a.min(b), a.max(b)])
}

/// Returns what a plan of these members depends on.
fn version(world: &World, group: Option<GroupId>, ids: [ComponentId; 2]) -> Version {
    let sparse = &world.storage.sparse;
    let values = ids.map(|id| match sparse.of(id) {
        Some(storage) if group.is_none() => (storage.len(), storage.removed_counts.iter().sum()),
        _ => (0, 0),
    });
    let epoch = group.is_none().then(|| world.storage.epoch());
    let order = group.and_then(|group| sparse.group(group)).map_or(0, |group| group.changes);
    Version { world: world.id(), links: sparse.link_changes(), group, order, epoch, values }
}

impl Storage {
    /// Lists the entities that have both components, in the order of queries.
    fn try_list_entities(&self, ids: [ComponentId; 2], list: &mut Vec<Entity>) -> Result<(), AllocError> {
        for (_, table) in self.tables_in_order().filter(|(_, table)| !table.is_extra()) {
            for &entity in table.slots() {
                let has = |id: ComponentId| match self.sparse.of(id) {
                    Some(sparse) => sparse.row(entity.index()).is_some(),
                    None => table.signature.has(id),
                };
                if ids.into_iter().all(has) {
                    try_reserve(list, 1)?;
                    list.push(entity);
                }
            }
        }
        Ok(())
    }
}
