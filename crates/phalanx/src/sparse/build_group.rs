//! Creating, removing and sorting groups.
#![allow(unsafe_code)]

use super::{GroupData, GroupDesc, GroupError, GroupId, Removal, SparseStorages, Store};
use crate::alloc::{try_box, try_reserve, try_reserve_at, try_vec};
use crate::component::Components;
use core::cmp::Ordering;
use phalanx_store::{AllocError, Entity};

/// Returns the number of [steps](SparseStorages::group_steps) that creating the groups of a state may take, by its size
/// in bytes. The number of groups times the number of entities is not linear in the bytes.
pub(crate) fn max_group_steps(bytes: u64) -> u64 {
    (1 << 20) + 16 * bytes
}

impl SparseStorages {
    /// Returns the group with these components, if there is one.
    pub(crate) fn find_group(&self, desc: &GroupDesc) -> Option<GroupId> {
        let same = self.groups.iter().find(|(_, group)| group.desc.is_same(desc));
        same.map(|(at, group)| GroupId { at, serial: group.serial })
    }

    /// Returns the number of steps to create a group that requires these storages: the group is compared with all
    /// others, and the shortest storage is iterated.
    pub(crate) fn group_steps(&self, required: &[u32]) -> u64 {
        let lens = required.iter().filter_map(|at| self.storages.get(*at as usize)).map(|storage| storage.len().into());
        lens.min().unwrap_or(0) + self.groups.list.len() as u64
    }

    /// Returns the position of a group in its chain: the next group around it, and the next within.
    ///
    /// # Errors
    ///
    /// Returns [`GroupError::Conflict`] if groups own the same sparse sets, and it is not in a chain with them.
    fn chain_links(&self, desc: &GroupDesc, names: &Components) -> Result<(Option<u32>, Option<u32>), GroupError> {
        let (mut outer, mut inner, mut first) = (None, None, None);
        for (at, group) in self.groups.iter().filter(|(_, group)| group.desc.shares_owned(desc)) {
            let shared = || group.desc.owned.iter().find(|storage_id| desc.owned.contains(storage_id));
            let conflict = |other: &GroupData| GroupError::Conflict {
                group: desc.name,
                other: other.desc.name,
                component: shared().map_or("", |storage_id| names.info(self.get(*storage_id).id).name()),
            };
            let outermost = self.outermost(at);
            if *first.get_or_insert(outermost) != outermost {
                return Err(conflict(group));
            }
            let mut next = Some(outermost);
            while let Some(at) = next {
                let member = self.groups.get(at);
                if member.desc.contains(desc) {
                    outer = Some(at);
                } else if !desc.contains(&member.desc) {
                    return Err(conflict(member));
                } else if inner.is_none() {
                    inner = Some(at);
                }
                next = member.inner;
            }
        }
        Ok((outer, inner))
    }

    /// Returns the outermost group of a chain.
    fn outermost(&self, mut at: u32) -> u32 {
        while let Some(outer) = self.groups.get(at).outer {
            at = outer;
        }
        at
    }

    /// Builds a group with components that no other group has, linked into its chain. A group that owns nothing gets
    /// its members. `entity` returns the slot of an index.
    ///
    /// # Errors
    ///
    /// - [`GroupError::Removal`]: an owned sparse set does not remove by swapping.
    /// - [`GroupError::Conflict`]: another group owns a sparse set, and neither is within the other.
    /// - [`GroupError::Alloc`]: allocation fails.
    pub(crate) fn try_build_group(
        &self,
        desc: GroupDesc,
        names: &Components,
        entity: impl Fn(u32) -> Option<Entity>,
    ) -> Result<Box<GroupData>, GroupError> {
        for &storage_id in &desc.owned {
            let removal = self.sparse_set(storage_id).removal;
            if removal != Removal::Swap {
                let component = names.info(self.get(storage_id).id).name();
                return Err(GroupError::Removal { group: desc.name, component, removal });
            }
        }
        let (outer, inner) = self.chain_links(&desc, names)?;
        let mut group = try_box(GroupData::try_new(desc, self.groups.next_serial, self)?)?;
        (group.outer, group.inner) = (outer, inner);
        if !group.owns() {
            self.try_list_members(&mut group, entity)?;
        }
        Ok(group)
    }

    /// Adds a group that was just [built](SparseStorages::try_build_group). All slots that belong to it become members.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    pub(crate) fn try_add_group(&mut self, group: Box<GroupData>) -> Result<GroupId, AllocError> {
        let at = self.groups.list.iter().position(Option::is_none).unwrap_or(self.groups.list.len());
        self.try_add_group_at(group, at)
    }

    /// Like [`try_add_group`](SparseStorages::try_add_group), with a number that no group has.
    pub(super) fn try_add_group_at(&mut self, mut group: Box<GroupData>, at: usize) -> Result<GroupId, AllocError> {
        try_reserve_at(&mut self.groups.list, at)?;
        for &storage_id in &group.desc.required {
            try_reserve(&mut self.get_mut(storage_id).required_by, 1)?;
        }
        for &storage_id in &group.desc.excluded {
            try_reserve(&mut self.get_mut(storage_id).excluded_by, 1)?;
        }
        let id = GroupId { at: at as u32, serial: group.serial };
        for &storage_id in &group.desc.required {
            self.get_mut(storage_id).required_by.push(id.at);
            self.get_mut(storage_id).update_cached();
        }
        for &storage_id in &group.desc.excluded {
            self.get_mut(storage_id).excluded_by.push(id.at);
            self.get_mut(storage_id).update_cached();
        }
        let inner = group.inner;
        self.link(group.outer, inner, Some(id.at), Some(id.at));
        // The members of the next group within are members, and at the first positions.
        group.len = inner.map_or(0, |inner| self.groups.get(inner).len);
        while self.groups.list.len() <= at {
            self.groups.list.push(None);
        }
        self.groups.list[at] = Some(group);
        self.groups.live += 1;
        self.groups.next_serial += 1;
        self.gather_members(id.at);
        Ok(id)
    }

    /// Links the neighbours in a chain: `outer` to `to_inner`, and `inner` to `to_outer`.
    fn link(&mut self, outer: Option<u32>, inner: Option<u32>, to_inner: Option<u32>, to_outer: Option<u32>) {
        if let Some(outer) = outer {
            self.groups.get_mut(outer).inner = to_inner;
        }
        if let Some(inner) = inner {
            self.groups.get_mut(inner).outer = to_outer;
        }
    }

    /// Moves the slots that belong to an owning group to the front, in the order of its shortest sparse set. Of equal
    /// ones, the first in canonical order counts.
    fn gather_members(&mut self, at: u32) {
        let owned = &self.groups.get(at).desc.owned;
        let by_len = |storage_id: &u32| (self.sparse_set(*storage_id).len(), self.get(*storage_id).rank);
        let Some(shortest) = owned.iter().copied().min_by_key(by_len) else { return };
        for position in self.groups.get(at).len..self.sparse_set(shortest).dense.positions() {
            let Some(slot) = self.sparse_set(shortest).dense.key_at(position) else { continue };
            // The slot that moves here in exchange was tested before.
            if self.groups.get(at).matches(self, slot) {
                self.groups.get_mut(at).enter_owned(&mut self.storages, slot.index());
            }
        }
    }

    /// Lists the members of a group that owns nothing, in the order of the shortest storage that it requires.
    fn try_list_members(
        &self,
        group: &mut GroupData,
        entity: impl Fn(u32) -> Option<Entity>,
    ) -> Result<(), AllocError> {
        let required = group.desc.required.iter().map(|storage_id| self.get(*storage_id));
        let Some(shortest) = required.min_by_key(|storage| (storage.len(), storage.rank)) else {
            return Ok(());
        };
        let mut list = |slot: Entity| {
            if group.matches(self, slot) {
                // SAFETY: a storage has each slot once, so the list does not have it yet. A zero-sized row is
                // initialised.
                unsafe { group.list.try_admit(slot)? };
            }
            Ok(())
        };
        match &shortest.store {
            Store::Pool(set) => set.keys().try_for_each(&mut list),
            Store::Linear(linear) => linear.iter().filter_map(entity).try_for_each(&mut list),
        }
    }

    /// Compares two groups in canonical order, which does not depend on the order of creation: by what they own, then
    /// by what they require, then by what they exclude.
    pub(crate) fn compare_groups(&self, a: &GroupDesc, b: &GroupDesc) -> Ordering {
        // The one with the first component that the other lacks comes first.
        let compare = |a: &[u32], b: &[u32]| {
            let first = |one: &[u32], other: &[u32]| {
                let alone = one.iter().filter(|storage_id| !other.contains(storage_id));
                alone.map(|storage_id| self.get(*storage_id).rank).min().unwrap_or(u32::MAX)
            };
            first(a, b).cmp(&first(b, a))
        };
        let order = compare(&a.owned, &b.owned).then_with(|| compare(&a.required, &b.required));
        order.then_with(|| compare(&a.excluded, &b.excluded))
    }

    /// Returns `true` if there is a group with this number.
    pub(super) fn has_group(&self, at: u32) -> bool {
        self.groups.list.get(at as usize).is_some_and(Option::is_some)
    }

    /// Returns the group that owns these sparse sets, requires and excludes nothing else, and has no group within.
    pub(crate) fn find_plain_group(&self, owned: &[u32]) -> Option<GroupId> {
        let is_plain = |group: &GroupData| {
            let GroupDesc { owned: has, required, excluded, .. } = &group.desc;
            (&**has, &**required) == (owned, owned) && excluded.is_empty() && group.inner.is_none()
        };
        let (at, group) = self.groups.iter().find(|(_, group)| is_plain(group))?;
        Some(GroupId { at, serial: group.serial })
    }

    /// Removes a group. Its sparse sets stay as they are.
    pub(crate) fn remove_group(&mut self, id: GroupId) {
        let Some(group) = self.groups.list[id.at as usize].take() else { return };
        self.groups.live -= 1;
        self.link(group.outer, group.inner, group.inner, group.outer);
        for storage in self.iter_mut() {
            storage.required_by.retain(|at| *at != id.at);
            storage.excluded_by.retain(|at| *at != id.at);
            storage.update_cached();
        }
    }

    /// Sorts the first `count` positions of a group, or all, by a comparison, and returns them. Each segment of its chain is
    /// sorted by itself, that of the innermost group first. The sort is stable.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_sorted_positions(
        &self,
        group: &GroupData,
        count: usize,
        mut compare: impl FnMut(u32, u32) -> Ordering,
    ) -> Result<Vec<u32>, AllocError> {
        let len = self.members(group).len().min(count);
        let mut order = try_vec(len)?;
        order.extend(0..len as u32);
        let (mut rest, mut inner) = (&mut order[..], group.inner);
        while !rest.is_empty() {
            let next = inner.map(|at| self.groups.get(at));
            let first = next.map_or(0, |next| rest.len().min(next.len as usize));
            let (before, segment) = rest.split_at_mut(first);
            segment.sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
            (rest, inner) = (before, next.and_then(|next| next.inner));
        }
        Ok(order)
    }

    /// Reorders the first members of a group: as many as `order` has positions.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    ///
    /// # Panics
    ///
    /// Panics if `order` is not a permutation of the first positions of the group's members. If the group owns sparse sets, so
    /// are its first positions for each group within, as [`try_sorted_positions`](SparseStorages::try_sorted_positions)
    /// returns them.
    pub(crate) fn try_reorder_group(&mut self, id: GroupId, order: &mut [u32]) -> Result<(), AllocError> {
        let group = self.groups.get_mut(id.at);
        group.changes += 1;
        if !group.owns() {
            group.list.permute(order);
            return Ok(());
        }
        let mut within = Some(id.at);
        while let Some(at) = within {
            let group = self.groups.get(at);
            let first = &order[..order.len().min(group.len as usize)];
            assert!(first.iter().all(|at| *at < group.len), "an order across the groups within");
            within = group.inner;
        }
        let mut scratch = try_vec(order.len())?;
        let (mut next, mut done) = (Some(id.at), None);
        while let Some(at) = next {
            let len = order.len().min(self.groups.get(at).len as usize);
            for nth in 0..self.groups.get(at).desc.owned.len() {
                let storage_id = self.groups.get(at).desc.owned[nth];
                if done.is_some_and(|outer| self.groups.get(outer).desc.owned.contains(&storage_id)) {
                    continue;
                }
                scratch.clear();
                scratch.extend_from_slice(&order[..len]);
                self.sparse_set_mut(storage_id).dense.permute(&mut scratch);
            }
            (next, done) = (self.groups.get(at).inner, Some(at));
        }
        Ok(())
    }
}
