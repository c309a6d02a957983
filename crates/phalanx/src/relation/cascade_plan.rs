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

/// The entities of a cascade by depth.
///
/// # Invariants
///
/// The parent of a node is a node of a lower depth, or none.
#[derive(Debug, Default)]
pub(super) struct CascadePlan {
    entities: Vec<Entity>,
    /// By node: that of its parent, or none.
    parents: Vec<u32>,
    /// The first node of each depth, and the number of nodes.
    starts: Vec<u32>,
    /// By node: whether it has another parent than when its value was computed, or was not computed.
    dirty: Vec<bool>,
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
    /// The number of changes of the order of groups.
    groups: u64,
    group: Option<GroupId>,
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

    /// Returns the parents, and which nodes must be computed.
    pub(super) fn parents_and_dirty(&mut self) -> (&[u32], &mut [bool]) {
        (&self.parents, &mut self.dirty)
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
        self.dirty.fill(false);
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
        Ok(())
    }

    /// Finds the nodes whose parent is another than in an old plan, or whose value was not computed.
    fn try_compare(&mut self, old: &CascadePlan, storage: &Storage) -> Result<(), AllocError> {
        let mut dirty = try_vec(self.entities.len())?;
        if !old.is_propagated {
            dirty.resize(self.entities.len(), true);
            self.dirty = dirty;
            return Ok(());
        }
        self.is_propagated = true;
        let nodes = try_nodes_by_slot(storage, &old.entities)?;
        let parent = |plan: &CascadePlan, node: usize| plan.entities.get(plan.parents[node] as usize).copied();
        dirty.extend(self.entities.iter().enumerate().map(|(node, entity)| {
            let before = nodes.get(entity.index() as usize).map_or(NONE, |node| *node) as usize;
            let is_known = old.entities.get(before) == Some(entity) && !old.dirty[before];
            !is_known || parent(old, before) != parent(self, node)
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
    let mut owned = [storage.sparse.storage_id(ids[0])?, storage.sparse.storage_id(ids[1])?];
    owned.sort_unstable();
    storage.sparse.find_plain_group(&owned)
}

/// Returns what a plan of these members depends on.
fn version(world: &World, group: Option<GroupId>, ids: [ComponentId; 2]) -> Version {
    let sparse = &world.storage.sparse;
    let values = ids.map(|id| match sparse.of(id) {
        Some(storage) if group.is_none() => (storage.len(), storage.removed_counts.iter().sum()),
        _ => (0, 0),
    });
    let epoch = group.is_none().then(|| world.storage.epoch());
    Version { world: world.id(), links: sparse.link_changes(), groups: sparse.group_changes(), group, epoch, values }
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
