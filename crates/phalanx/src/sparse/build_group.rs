//! Making and dropping groups, and sorting them.
#![allow(unsafe_code)]

use super::GroupError;
use super::groups::{Draft, Group};
use super::{GroupId, Removal, SparseStorage, SparseStorages, Store};
use crate::alloc::{try_box, try_reserve, try_vec};
use crate::component::Components;
use core::cmp::Ordering;
use phalanx_store::{AllocError, Entity};

/// Returns how many [steps](SparseStorages::group_steps) are spent on the groups of a state that is read from so many bytes. The number of
/// groups times that of entities is not linear in them.
pub(crate) fn most_steps(bytes: u64) -> u64 {
    (1 << 20) + 16 * bytes
}

impl SparseStorages {
    /// The group that is just so, if there is one.
    pub(crate) fn find_group(&self, what: &Draft) -> Option<GroupId> {
        let same = self.groups.iter().find(|(_, group)| group.what.is_same(what));
        same.map(|(at, group)| GroupId { at, serial: group.serial })
    }

    /// Returns how many steps it takes to make a group that requires these sides: it is compared with the other groups, and
    /// the shortest side is walked over.
    pub(crate) fn group_steps(&self, required: &[u32]) -> u64 {
        let shortest =
            required.iter().filter_map(|side| self.list.get(*side as usize)).map(|side| side.len() as u64).min();
        shortest.unwrap_or(0) + self.groups.list.len() as u64
    }

    /// Where a group would be in its family: the next around it, and the next within. An error if it cannot be.
    fn family(&self, what: &Draft, names: &Components) -> Result<(Option<u32>, Option<u32>), GroupError> {
        let (mut outer, mut inner, mut first) = (None, None, None);
        for (at, group) in self.groups.iter().filter(|(_, group)| group.what.shares_pools(what)) {
            let shared = || group.what.owned.iter().find(|side| what.owned.contains(side));
            let conflict = |other: &Group| GroupError::Conflict {
                group: what.name,
                other: other.what.name,
                component: shared().map_or("", |side| names.info(self.get(*side).id).name()),
            };
            let outermost = self.outermost(at);
            if *first.get_or_insert(outermost) != outermost {
                return Err(conflict(group));
            }
            let mut next = Some(outermost);
            while let Some(at) = next {
                let member = self.groups.get(at);
                if member.what.holds(what) {
                    outer = Some(at);
                } else if !what.holds(&member.what) {
                    return Err(conflict(member));
                } else if inner.is_none() {
                    inner = Some(at);
                }
                next = member.inner;
            }
        }
        Ok((outer, inner))
    }

    fn outermost(&self, mut at: u32) -> u32 {
        while let Some(outer) = self.groups.get(at).outer {
            at = outer;
        }
        at
    }

    /// A group of which there is none that is the same, with its place in its family, and its list if it has one. `entity`
    /// says who lives at an index.
    pub(crate) fn try_draft(
        &self,
        what: Draft,
        names: &Components,
        entity: impl Fn(u32) -> Option<Entity>,
    ) -> Result<Box<Group>, GroupError> {
        for &side in &what.owned {
            let removal = self.pool(side).removal;
            if removal != Removal::Swap {
                let component = names.info(self.get(side).id).name();
                return Err(GroupError::Removal { group: what.name, component, removal });
            }
        }
        let (outer, inner) = self.family(&what, names)?;
        let mut group = try_box(Group::try_new(what, self.groups.made, self)?)?;
        (group.outer, group.inner) = (outer, inner);
        if !group.owns() {
            self.try_fill(&mut group, entity)?;
        }
        Ok(group)
    }

    /// Makes a group that was drafted just now. Its members are those that belong to it.
    ///
    /// Nothing has changed if it fails.
    pub(crate) fn try_make(&mut self, group: Box<Group>) -> Result<GroupId, AllocError> {
        let at = self.groups.list.iter().position(Option::is_none).unwrap_or(self.groups.list.len());
        self.try_make_at(group, at)
    }

    /// As [`try_make`](SparseStorages::try_make), with the number of a place in which there is no group.
    pub(crate) fn try_make_at(&mut self, mut group: Box<Group>, at: usize) -> Result<GroupId, AllocError> {
        crate::alloc::try_reserve_at(&mut self.groups.list, at)?;
        for &side in &group.what.required {
            try_reserve(&mut self.list[side as usize].required_by, 1)?;
        }
        for &side in &group.what.excluded {
            try_reserve(&mut self.list[side as usize].excluded_by, 1)?;
        }
        let id = GroupId { at: at as u32, serial: group.serial };
        for &side in &group.what.required {
            self.list[side as usize].required_by.push(id.at);
            self.list[side as usize].settle();
        }
        for &side in &group.what.excluded {
            self.list[side as usize].excluded_by.push(id.at);
            self.list[side as usize].settle();
        }
        let inner = group.inner;
        self.link(group.outer, inner, Some(id.at), Some(id.at));
        // Those of the next group within are members, and lie where they should.
        group.len = inner.map_or(0, |inner| self.groups.get(inner).len);
        while self.groups.list.len() <= at {
            self.groups.list.push(None);
        }
        self.groups.list[at] = Some(group);
        self.groups.live += 1;
        self.groups.made += 1;
        self.gather(id.at);
        Ok(id)
    }

    fn link(&mut self, outer: Option<u32>, inner: Option<u32>, to_inner: Option<u32>, to_outer: Option<u32>) {
        if let Some(outer) = outer {
            self.groups.get_mut(outer).inner = to_inner;
        }
        if let Some(inner) = inner {
            self.groups.get_mut(inner).outer = to_outer;
        }
    }

    /// Moves those that belong to an owning group to the front, in the order of its shortest pool: among equals the first in
    /// canonical order.
    fn gather(&mut self, at: u32) {
        let owned = &self.groups.get(at).what.owned;
        let shortest = |side: &u32| (self.pool(*side).len(), self.get(*side).rank);
        let Some(lead) = owned.iter().copied().min_by_key(shortest) else { return };
        for position in self.groups.get(at).len..self.pool(lead).dense.positions() {
            let Some(slot) = self.pool(lead).dense.key_at(position) else { continue };
            // What comes to lie at this position in exchange was looked at before.
            if self.belongs(self.groups.get(at), slot) {
                // SAFETY: the slot belongs to the group, so it has what the group owns; it lies behind the members.
                unsafe { self.groups.get(at).exchange(&mut self.list, slot.index()) };
                self.groups.get_mut(at).len += 1;
            }
        }
    }

    /// Lists those that belong to a group that owns nothing, in the order of the shortest of its sides.
    fn try_fill(&self, group: &mut Group, entity: impl Fn(u32) -> Option<Entity>) -> Result<(), AllocError> {
        let required = group.what.required.iter().map(|side| self.get(*side));
        let Some(lead) = required.min_by_key(|side| (side.len(), side.rank)) else {
            return Ok(());
        };
        let mut list = |slot: Entity| {
            if self.belongs(group, slot) {
                // SAFETY: no slot comes twice; a row without size is written.
                unsafe { group.list.try_admit(slot)? };
            }
            Ok(())
        };
        match &lead.store {
            Store::Pool(pool) => {
                (0..pool.dense.positions()).filter_map(|at| pool.dense.key_at(at)).try_for_each(&mut list)
            }
            Store::Linear(linear) => linear.iter().filter_map(entity).try_for_each(&mut list),
        }
    }

    /// Compares two groups in canonical order, which does not depend on the order in which they were made: by what they
    /// own, then by what they require, then by what they exclude.
    pub(crate) fn compare_groups(&self, a: &Draft, b: &Draft) -> Ordering {
        // The one with the first side that the other lacks comes first.
        let compare = |a: &[u32], b: &[u32]| {
            let first = |one: &[u32], other: &[u32]| {
                let alone = one.iter().filter(|side| !other.contains(side));
                alone.map(|side| self.get(*side).rank).min().unwrap_or(u32::MAX)
            };
            first(a, b).cmp(&first(b, a))
        };
        let order = compare(&a.owned, &b.owned).then_with(|| compare(&a.required, &b.required));
        order.then_with(|| compare(&a.excluded, &b.excluded))
    }

    /// Whether there is a group in a place.
    pub(crate) fn has_group(&self, at: u32) -> bool {
        self.groups.list.get(at as usize).is_some_and(Option::is_some)
    }

    /// Where a slot is in the list of a group that owns nothing.
    pub(crate) fn position_in_group(&self, group: &Group, slot: u32) -> Option<u32> {
        group.list.index().position_at(slot)
    }

    /// Drops a group. Pools stay as they are.
    pub(crate) fn remove_group(&mut self, id: GroupId) {
        let Some(group) = self.groups.list[id.at as usize].take() else { return };
        self.groups.live -= 1;
        self.link(group.outer, group.inner, group.inner, group.outer);
        let without = |side: &mut SparseStorage| {
            side.required_by.retain(|at| *at != id.at);
            side.excluded_by.retain(|at| *at != id.at);
            side.settle();
        };
        self.list.iter_mut().for_each(|side| without(side));
    }

    /// The order of a group's positions by a comparison: each segment of its family by itself, those of the innermost first.
    /// Equal ones keep their order.
    pub(crate) fn try_order(
        &self,
        group: &Group,
        mut compare: impl FnMut(u32, u32) -> Ordering,
    ) -> Result<Vec<u32>, AllocError> {
        let len = self.members(group).len() as u32;
        let mut order = try_vec(len as usize)?;
        order.extend(0..len);
        let (mut rest, mut inner) = (&mut order[..], group.inner);
        while !rest.is_empty() {
            let next = inner.map(|at| self.groups.get(at));
            let (before, segment) = rest.split_at_mut(next.map_or(0, |next| next.len as usize));
            segment.sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
            (rest, inner) = (before, next.and_then(|next| next.inner));
        }
        Ok(order)
    }

    /// SparseInserts the members of a group into an order that [`try_order`](SparseStorages::try_order) made.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing has changed.
    ///
    /// # Safety
    ///
    /// The order was made for this group as it is.
    pub(crate) unsafe fn try_arrange(&mut self, id: GroupId, order: &mut [u32]) -> Result<(), AllocError> {
        let group = self.groups.get_mut(id.at);
        if !group.owns() {
            // SAFETY: a permutation of all positions of the list, which never has holes.
            unsafe { group.list.permute(order) };
            return Ok(());
        }
        let mut scratch = try_vec(order.len())?;
        let (mut next, mut done) = (Some(id.at), None);
        while let Some(at) = next {
            let len = self.groups.get(at).len as usize;
            for number in 0..self.groups.get(at).what.owned.len() {
                let side = self.groups.get(at).what.owned[number];
                if done.is_some_and(|outer| self.groups.get(outer).what.owned.contains(&side)) {
                    continue;
                }
                scratch.clear();
                scratch.extend_from_slice(&order[..len]);
                // SAFETY: segments are sorted by themselves, so the first positions of each group of the family are a
                // permutation of themselves; they are in use, and pools that are owned have no holes.
                unsafe { self.pool_mut(side).dense.permute(&mut scratch) };
            }
            (next, done) = (self.groups.get(at).inner, Some(at));
        }
        Ok(())
    }
}
