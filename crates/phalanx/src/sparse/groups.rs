//! [`Groups`]: the groups of a world, and how changes of slots maintain them.
//!
//! # Representation
//!
//! A group requires some sparse components, of which it may *own* sparse sets, and excludes others. The members of an
//! owning group have the first `len` positions of every sparse set that it owns, in the same order in each. A group
//! that owns nothing has a sparse set of its members. Owned sparse sets have no holes: the last value takes the
//! position of a removed one.
//!
//! Members are entities. Extra rows are not members of groups, whatever components they have.
//!
//! Owning groups that share sparse sets are a chain, linked by `outer` and `inner`. What the outer one owns, requires
//! and excludes is part of what the inner one does. So members of the inner group are members of the outer, and have
//! the first positions of the outer's: `len` does not grow from outer to inner.
//!
//! # Maintenance
//!
//! A member leaves a group when it loses a required component, or gets an excluded one; both are known before they
//! happen. It leaves the inner groups first, and moves to the last position among the members each time. Then its value
//! is after all members and can be removed. A slot enters when a change is complete, the outer groups first. Only
//! positions in use are exchanged, so a displaced value, beyond them, stays where it is.
//!
//! Entering and leaving run no user code. Only the sparse sets of groups that own nothing need memory, which is
//! reserved.
#![allow(unsafe_code)]

use super::{GroupData, GroupId, Removal, SparseStorages, Store};
use crate::alloc::{try_box, try_vec};
use phalanx_store::{AllocError, Entity};

/// The groups of a world.
#[derive(Debug)]
pub(crate) struct Groups {
    /// By number. The number of a removed group is used again.
    pub(super) list: Vec<Option<Box<GroupData>>>,
    /// The number of groups.
    pub(super) live: u32,
    /// The serial number of the next group.
    pub(super) next_serial: u64,
}

impl Groups {
    pub(super) const fn new() -> Groups {
        Groups { list: Vec::new(), live: 0, next_serial: 0 }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns the groups with their numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &GroupData)> {
        (0..).zip(&self.list).filter_map(|(at, group)| Some((at, &**group.as_ref()?)))
    }

    /// Returns a group by its number.
    #[inline(always)]
    pub(super) fn get(&self, at: u32) -> &GroupData {
        match &self.list[at as usize] {
            Some(group) => group,
            None => unreachable!("storages and chains name groups that exist"),
        }
    }

    /// Returns a group by its number, for writing.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, at: u32) -> &mut GroupData {
        match &mut self.list[at as usize] {
            Some(group) => group,
            None => unreachable!("storages and chains name groups that exist"),
        }
    }

    /// Clones the groups, for a clone of their storages.
    pub(super) fn try_clone(&self) -> Result<Groups, AllocError> {
        let mut list = try_vec(self.list.len())?;
        for group in &self.list {
            list.push(match group {
                Some(group) => Some(try_box(group.try_clone()?)?),
                None => None,
            });
        }
        Ok(Groups { list, live: self.live, next_serial: self.next_serial })
    }

    /// Removes all members from all groups.
    pub(super) fn clear(&mut self) {
        for group in self.list.iter_mut().flatten() {
            group.len = 0;
            group.list.release_all();
        }
    }

    /// Frees memory that the lists of members do not need, and returns the number of slots in those that shrank.
    pub(super) fn shrink(&mut self) -> usize {
        let mut done = 0;
        for group in self.list.iter_mut().flatten().filter(|group| group.list.is_loose()) {
            let before = group.bytes();
            group.list.shrink_to_fit();
            done += if group.bytes() < before { group.list.live() as usize + 1 } else { 0 };
        }
        done
    }

    /// Frees the empty pages of the lists of members.
    pub(super) fn release_pages(&mut self) {
        for group in self.list.iter_mut().flatten() {
            group.list.hold_pages(false);
        }
    }

    /// Returns the number of bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        let groups = self.iter().map(|(_, group)| size_of::<GroupData>() + group.bytes());
        self.list.capacity() * size_of::<Option<Box<GroupData>>>() + groups.sum::<usize>()
    }
}

impl SparseStorages {
    /// Returns the groups, in the order of their numbers.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &GroupData> {
        self.groups.iter().map(|(_, group)| group)
    }

    /// Returns a group, if it exists.
    #[inline]
    pub(crate) fn group(&self, id: GroupId) -> Option<&GroupData> {
        self.groups.list.get(id.at as usize)?.as_deref().filter(|group| group.serial == id.serial)
    }

    /// Returns the members of a group, in its order: the first of each sparse set that it owns, or its own list.
    #[inline]
    pub(crate) fn members<'a>(&'a self, group: &'a GroupData) -> &'a [Entity] {
        let keys = match group.desc.owned.first() {
            Some(&owned) => self.sparse_set(owned).dense.keys().map(|keys| &keys[..group.len as usize]),
            None => group.list.keys(),
        };
        keys.unwrap_or_else(|| unreachable!("owned sparse sets have no holes"))
    }

    /// Returns the group that owns a sparse set: the outermost of a chain.
    pub(crate) fn owner(&self, storage_id: u32) -> Option<&GroupData> {
        let owns = |at: &u32| self.groups.get(*at).desc.owned.contains(&storage_id);
        let is_owner = |at: &&u32| owns(at) && !self.groups.get(**at).outer.is_some_and(|outer| owns(&outer));
        self.get(storage_id).required_by.iter().find(is_owner).map(|at| self.groups.get(*at))
    }

    /// Returns the position of a slot, which is alive, among the members of a group, if it is one.
    #[inline]
    pub(crate) fn position_in_group(&self, group: &GroupData, slot: u32) -> Option<u32> {
        group.position(&self.storages, slot)
    }

    /// Reserves capacity in the groups that a slot may enter by a change.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no members change.
    #[inline(never)]
    pub(super) fn try_reserve_groups(
        &mut self,
        slot: u32,
        sparse_inserts: &[u32],
        sparse_removes: &[u32],
    ) -> Result<(), AllocError> {
        let required = sparse_inserts.iter().flat_map(|at| &self.storages[*at as usize].required_by);
        let excluded = sparse_removes.iter().flat_map(|at| &self.storages[*at as usize].excluded_by);
        for at in required.chain(excluded) {
            let group = self.groups.get_mut(*at);
            if !group.owns() {
                group.list.try_ready(slot)?;
            }
        }
        Ok(())
    }

    /// Reserves capacity in the groups that slots may enter by many changes: each a storage id and a slot. Pages of the
    /// lists are held until they are [released](Groups::release_pages).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no members change.
    pub(super) fn try_reserve_groups_for_all(
        &mut self,
        sparse_inserts: &[(u32, u32)],
        sparse_removes: &[(u32, u32)],
    ) -> Result<(), AllocError> {
        let mut counts: Vec<u32> = try_vec(self.groups.list.len())?;
        counts.resize(self.groups.list.len(), 0);
        for is_first in [true, false] {
            let required = sparse_inserts.iter().map(|(at, slot)| (&self.storages[*at as usize].required_by, *slot));
            let excluded = sparse_removes.iter().map(|(at, slot)| (&self.storages[*at as usize].excluded_by, *slot));
            for (groups, slot) in required.chain(excluded) {
                for at in groups {
                    let (group, count) = (self.groups.get_mut(*at), &mut counts[*at as usize]);
                    if !is_first && !group.owns() {
                        group.list.try_prepare(slot, *count)?;
                    }
                    *count = count.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
                }
            }
            if is_first {
                for (group, count) in self.groups.list.iter_mut().zip(&mut counts) {
                    let count = core::mem::take(count);
                    if let Some(group) = group.as_mut().filter(|group| count > 0 && !group.owns()) {
                        group.list.try_reserve(count)?;
                        group.list.hold_pages(true);
                    }
                }
            }
        }
        Ok(())
    }

    /// Reserves capacity in the groups that slots without values enter when each gets a value in these storages. Pages of the
    /// lists are held until they are [released](Groups::release_pages).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no members change.
    pub(super) fn try_reserve_groups_for_spawns(
        &mut self,
        storage_ids: &[u32],
        slots: &[u32],
    ) -> Result<(), AllocError> {
        let is_named = |storage_id: &u32| storage_ids.contains(storage_id);
        for group in self.groups.list.iter_mut().flatten().filter(|group| !group.owns()) {
            if group.desc.required.iter().all(is_named) && !group.desc.excluded.iter().any(is_named) {
                group.list.try_ready_all(slots)?;
            }
        }
        Ok(())
    }

    /// Removes a slot from the groups that require a component.
    #[inline(never)]
    pub(super) fn leave_requiring(&mut self, slot: Entity, storage_id: u32) {
        let mut next = 0;
        while let Some(&at) = self.storages[storage_id as usize].required_by.get(next) {
            self.leave(at, slot.index());
            next += 1;
        }
    }

    /// Removes a slot from the groups that exclude a component.
    #[inline(never)]
    pub(super) fn leave_excluding(&mut self, slot: Entity, storage_id: u32) {
        let mut next = 0;
        while let Some(&at) = self.storages[storage_id as usize].excluded_by.get(next) {
            self.leave(at, slot.index());
            next += 1;
        }
    }

    /// Removes a slot from a group, if it is a member, and before that from the groups within.
    #[inline(always)]
    fn leave(&mut self, at: u32, slot: u32) {
        let group = self.groups.get_mut(at);
        if !group.has_member(&self.storages, slot) {
            return;
        }
        if group.inner.is_some() || !group.owns() {
            return self.leave_slow(at, slot);
        }
        group.leave_owned(&mut self.storages, slot);
    }

    /// Like [`leave`](SparseStorages::leave), for a member of a group that has others within, or owns nothing.
    #[inline(never)]
    fn leave_slow(&mut self, at: u32, slot: u32) {
        if let Some(inner) = self.groups.get(at).inner {
            self.leave(inner, slot);
        }
        let group = self.groups.get_mut(at);
        if group.owns() { group.leave_owned(&mut self.storages, slot) } else { group.remove_listed(slot) }
    }

    /// Adds a slot to the groups that it belongs to after a change. Capacity is reserved.
    #[inline(never)]
    pub(super) fn enter_groups(&mut self, slot: Entity, sparse_inserts: &[u32], sparse_removes: &[u32]) {
        for &storage_id in sparse_inserts {
            self.enter_requiring(slot, storage_id);
        }
        for &storage_id in sparse_removes {
            let mut next = 0;
            while let Some(&at) = self.storages[storage_id as usize].excluded_by.get(next) {
                self.enter(at, slot);
                next += 1;
            }
        }
    }

    /// Adds a slot to the groups that require a component, where it belongs to them. Capacity is reserved.
    #[inline(always)]
    pub(super) fn enter_requiring(&mut self, slot: Entity, storage_id: u32) {
        let mut next = 0;
        while let Some(&at) = self.storages[storage_id as usize].required_by.get(next) {
            self.enter(at, slot);
            next += 1;
        }
    }

    /// Adds a slot to a group, if it belongs there and is not a member yet, and before that to the groups around.
    #[inline(always)]
    fn enter(&mut self, at: u32, slot: Entity) {
        let group = self.groups.get(at);
        if !group.matches(self, slot) || group.has_member(&self.storages, slot.index()) {
            return;
        }
        if group.outer.is_some() || !group.owns() {
            return self.enter_slow(at, slot);
        }
        self.groups.get_mut(at).enter_owned(&mut self.storages, slot.index());
    }

    /// Like [`enter`](SparseStorages::enter), for a group that has others around, or owns nothing.
    #[inline(never)]
    fn enter_slow(&mut self, at: u32, slot: Entity) {
        if let Some(outer) = self.groups.get(at).outer {
            self.enter(outer, slot);
        }
        let group = self.groups.get_mut(at);
        if group.owns() { group.enter_owned(&mut self.storages, slot.index()) } else { group.add_listed(slot) }
    }

    /// Checks that groups have the members that they should.
    pub(super) fn validate_groups(&self, slot: impl Fn(u32) -> Option<Entity>) -> Result<(), &'static str> {
        if self.groups().count() != self.groups.live as usize {
            return Err("groups miscounted");
        }
        for (at, group) in self.groups.iter() {
            group.list.validate()?;
            for (storage_id, storage) in (0..).zip(self.iter()) {
                if storage.required_by.contains(&at) != group.desc.required.contains(&storage_id)
                    || storage.excluded_by.contains(&at) != group.desc.excluded.contains(&storage_id)
                {
                    return Err("a sparse storage that does not know its groups");
                }
            }
            for &storage_id in &group.desc.owned {
                let set = self.sparse_set(storage_id);
                if set.removal != Removal::Swap || group.len > set.len() {
                    return Err("a sparse set that cannot be owned");
                }
                if set.dense.keys().is_none_or(|keys| keys[..group.len as usize] != *self.members(group)) {
                    return Err("sparse sets that a group owns in different orders");
                }
            }
            let link = |other: Option<u32>, back: fn(&GroupData) -> Option<u32>| {
                other.is_none_or(|other| {
                    self.groups.list[other as usize].as_deref().is_some_and(|g| back(g) == Some(at))
                })
            };
            if !link(group.outer, |g| g.inner) || !link(group.inner, |g| g.outer) {
                return Err("groups whose links are not a chain");
            }
            if let Some(inner) = group.inner.map(|inner| self.groups.get(inner))
                && (inner.len > group.len || !group.desc.contains(&inner.desc))
            {
                return Err("a group that is not within the one around it");
            }
            let members = self.members(group);
            if !members.iter().all(|slot| group.matches(self, *slot)) {
                return Err("a member that does not belong to its group");
            }
            let matching =
                |slots: &mut dyn Iterator<Item = Entity>| slots.filter(|slot| group.matches(self, *slot)).count();
            let count = |storage_id: u32| match &self.get(storage_id).store {
                Store::Pool(set) => matching(&mut set.keys()),
                Store::Linear(linear) => matching(&mut linear.iter().filter_map(&slot)),
            };
            if group.desc.required.first().is_none_or(|at| count(*at) != members.len()) {
                return Err("a slot that belongs to a group and is not a member");
            }
        }
        Ok(())
    }
}
