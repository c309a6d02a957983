//! Groups: the slots that have all of some components and none of others, kept together.
//!
//! # Representation
//!
//! A group requires some sides, of which it may *own* pools, and excludes others. The members of an owning group are the
//! first `len` positions of every pool that it owns, in the same order in each. A group that owns nothing has a sparse set of
//! its members. Owned pools have no holes: a value that is removed is replaced by the last.
//!
//! Members are entities: an extra row is a member of no group, whatever it has.
//!
//! Owning groups that share pools are a *family*: a chain, linked by `outer` and `inner`, in which what the outer one owns,
//! requires and excludes is part of what the inner one does. So the members of the inner are members of the outer, and their
//! positions are the first of the outer's: `len` does not grow from outer to inner.
//!
//! # Keeping it so
//!
//! A member leaves a group when it loses a component that is required, or gets one that is excluded; both are known before
//! they happen. It leaves the inner groups first, each time to the last position of those that are left. Then its value can
//! be taken: it lies after all members. A slot enters when a change is complete, the outer groups first. Only positions in
//! use are exchanged, so a value that is retired, beyond them, stays where it is.
//!
//! Entering and leaving run no user code, and need no memory but for the sparse sets, where it is reserved.
#![allow(unsafe_code)]

use super::{Pool, Removal, SparseStorage, SparseStorages, Store};
use crate::alloc::{try_box, try_clone_slice, try_vec};
use phalanx_store::index::Sparse;
use phalanx_store::raw::{Dense, DenseIndex, LaneOf};
use phalanx_store::{AllocError, Entity};

/// A group, as long as it is there. The number is another for each group that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupId {
    pub(crate) at: u32,
    pub(crate) serial: u64,
}

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) serial: u64,
    pub(crate) what: Draft,
    /// What members have and lack.
    sieve: Sieve,
    /// The next group of the family with more members, and the next with fewer.
    pub(super) outer: Option<u32>,
    pub(super) inner: Option<u32>,
    /// How many members an owning group has.
    pub(super) len: u32,
    /// The members of a group that owns nothing.
    pub(super) list: Dense<Sparse<Entity>, LaneOf<()>>,
}

/// What a group is to be: sides, ascending.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) name: &'static str,
    pub(crate) owned: Vec<u32>,
    /// Those that are owned, too.
    pub(crate) required: Vec<u32>,
    pub(crate) excluded: Vec<u32>,
}

/// What slots are tested for: the first word of their masks, and what else there is.
#[derive(Debug)]
struct Sieve {
    /// Bits that are set, and bits that are not.
    first: [u64; 2],
    more: Option<Box<More>>,
}

/// What a group asks beyond the first 64 pools.
#[derive(Debug)]
struct More {
    /// The next words, as the first.
    words: Vec<[u64; 2]>,
    /// Linear stores that have the slot, and that do not.
    linear: [Vec<u32>; 2],
}

impl Sieve {
    fn try_new(what: &Draft, all: &SparseStorages) -> Result<Sieve, AllocError> {
        let lists = [&what.required, &what.excluded];
        let bits =
            || lists.iter().zip(0..).flat_map(|(list, at)| list.iter().map(move |side| (all.get(*side).bit, at)));
        let last = bits().filter_map(|(bit, _)| bit).max().map_or(0, |bit| bit as usize / 64);
        let mut words = try_vec(last)?;
        words.resize(last, [0; 2]);
        let mut first = [0; 2];
        for (bit, at) in bits() {
            let Some(bit) = bit else { continue };
            let word: &mut [u64; 2] = match (bit as usize / 64).checked_sub(1) {
                None => &mut first,
                Some(word) => &mut words[word],
            };
            word[at] |= 1 << (bit % 64);
        }
        let mut linear = [Vec::new(), Vec::new()];
        for (list, linear) in lists.iter().zip(&mut linear) {
            let others = || list.iter().copied().filter(|side| all.get(*side).bit.is_none());
            *linear = try_vec(others().count())?;
            linear.extend(others());
        }
        let is_more = last > 0 || linear.iter().any(|list| !list.is_empty());
        let more = if is_more { Some(try_box(More { words, linear })?) } else { None };
        Ok(Sieve { first, more })
    }

    fn try_clone(&self) -> Result<Sieve, AllocError> {
        let more = match &self.more {
            None => None,
            Some(more) => {
                let linear = [try_clone_slice(&more.linear[0])?, try_clone_slice(&more.linear[1])?];
                Some(try_box(More { words: try_clone_slice(&more.words)?, linear })?)
            }
        };
        Ok(Sieve { first: self.first, more })
    }

    fn bytes(&self) -> usize {
        self.more.as_ref().map_or(0, |more| {
            size_of::<More>()
                + more.words.capacity() * size_of::<[u64; 2]>()
                + more.linear.iter().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>()
        })
    }
}

fn is_subset(part: &[u32], whole: &[u32]) -> bool {
    part.iter().all(|side| whole.contains(side))
}

impl Draft {
    /// Whether members of `inner` are members of this one, and its pools are pools of `inner`.
    pub(super) fn holds(&self, inner: &Draft) -> bool {
        is_subset(&self.owned, &inner.owned)
            && is_subset(&self.required, &inner.required)
            && is_subset(&self.excluded, &inner.excluded)
    }

    pub(super) fn is_same(&self, other: &Draft) -> bool {
        (&self.owned, &self.required, &self.excluded) == (&other.owned, &other.required, &other.excluded)
    }

    pub(super) fn shares_pools(&self, other: &Draft) -> bool {
        self.owned.iter().any(|side| other.owned.contains(side))
    }
}

impl Group {
    pub(super) fn try_new(what: Draft, serial: u64, sparse: &SparseStorages) -> Result<Group, AllocError> {
        let sieve = Sieve::try_new(&what, sparse)?;
        let list = Dense::new(Sparse::new(), LaneOf::new());
        Ok(Group { serial, what, sieve, outer: None, inner: None, len: 0, list })
    }

    #[inline(always)]
    pub(super) fn owns(&self) -> bool {
        !self.what.owned.is_empty()
    }

    /// Whether a slot, which is alive, is a member.
    #[inline(always)]
    fn has_member(&self, list: &[Box<SparseStorage>], slot: u32) -> bool {
        match self.what.owned.first() {
            Some(&side) => list[side as usize].pool().position(slot).is_some_and(|at| at < self.len),
            None => self.list.index().position_at(slot).is_some(),
        }
    }

    /// Exchanges a slot with the one at the group's length, in all pools that it owns.
    ///
    /// # Safety
    ///
    /// The sides are those of the group. The slot is in all pools that the group owns, and is about to enter it, or counts as
    /// a member no more.
    #[inline(always)]
    pub(super) unsafe fn exchange(&self, list: &mut [Box<SparseStorage>], slot: u32) {
        for &side in &self.what.owned {
            let pool = list[side as usize].pool_mut();
            let Some(position) = pool.position(slot) else {
                unreachable!("whoever enters or leaves has what is owned")
            };
            if position != self.len {
                // SAFETY: both positions are in use, by the caller's promise: there are more slots than members before the one enters, and no fewer
                // than there were members before the other left. Pools that are owned have no holes.
                unsafe { pool.exchange(position, self.len) };
            }
        }
    }

    /// The same group, with the same members.
    fn try_clone(&self) -> Result<Group, AllocError> {
        let Draft { name, owned, required, excluded } = &self.what;
        let (owned, required) = (try_clone_slice(owned)?, try_clone_slice(required)?);
        let what = Draft { name, owned, required, excluded: try_clone_slice(excluded)? };
        // SAFETY: the rows have no size: there is room for them, and they are written.
        let list = unsafe { self.list.try_clone_over(LaneOf::new())? };
        Ok(Group {
            serial: self.serial,
            what,
            sieve: self.sieve.try_clone()?,
            outer: self.outer,
            inner: self.inner,
            len: self.len,
            list,
        })
    }

    fn bytes(&self) -> usize {
        let Draft { owned, required, excluded, .. } = &self.what;
        (owned.capacity() + required.capacity() + excluded.capacity()) * size_of::<u32>()
            + self.sieve.bytes()
            + self.list.index().bytes()
            + self.list.key_bytes()
    }
}

/// The groups of a world.
#[derive(Debug)]
pub(crate) struct Groups {
    /// In the place of a group that was dropped there is none, until the next is made.
    pub(super) list: Vec<Option<Box<Group>>>,
    pub(super) live: u32,
    pub(super) made: u64,
}

impl Groups {
    pub(super) const fn new() -> Groups {
        Groups { list: Vec::new(), live: 0, made: 0 }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Those that are there, with their numbers, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Group)> {
        (0..).zip(&self.list).filter_map(|(at, group)| Some((at, &**group.as_ref()?)))
    }

    #[inline(always)]
    pub(super) fn get(&self, at: u32) -> &Group {
        match &self.list[at as usize] {
            Some(group) => group,
            None => unreachable!("sides and families name groups that are there"),
        }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, at: u32) -> &mut Group {
        match &mut self.list[at as usize] {
            Some(group) => group,
            None => unreachable!("sides and families name groups that are there"),
        }
    }

    /// The same groups, for a copy of their sides.
    pub(super) fn try_clone(&self) -> Result<Groups, AllocError> {
        let mut list = try_vec(self.list.len())?;
        for group in &self.list {
            list.push(match group {
                Some(group) => Some(try_box(group.try_clone()?)?),
                None => None,
            });
        }
        Ok(Groups { list, live: self.live, made: self.made })
    }

    /// Nobody is a member of anything any more.
    pub(super) fn release_all(&mut self) {
        for group in self.list.iter_mut().flatten() {
            group.len = 0;
            group.list.release_all();
        }
    }

    /// Gives back the room of lists that they do not need. How many slots lie in those that did.
    pub(super) fn shrink(&mut self) -> usize {
        let mut done = 0;
        for group in self.list.iter_mut().flatten().filter(|group| group.list.is_loose()) {
            let before = group.bytes();
            group.list.shrink_to_fit();
            done += if group.bytes() < before { group.list.live() as usize + 1 } else { 0 };
        }
        done
    }

    /// Gives up the pages of lists in which nothing is left.
    pub(super) fn release_pages(&mut self) {
        for group in self.list.iter_mut().flatten() {
            group.list.hold_pages(false);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let groups = self.iter().map(|(_, group)| size_of::<Group>() + group.bytes());
        self.list.capacity() * size_of::<Option<Box<Group>>>() + groups.sum::<usize>()
    }
}

impl SparseStorages {
    /// The groups, in the order of their numbers.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().map(|(_, group)| group)
    }

    /// The group, if it is still there.
    #[inline]
    pub(crate) fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.list.get(id.at as usize)?.as_deref().filter(|group| group.serial == id.serial)
    }

    /// The slots of a group's members, in its order: the first of each pool that it owns, or its own list.
    #[inline]
    pub(crate) fn members<'a>(&'a self, group: &'a Group) -> &'a [Entity] {
        let keys = match group.what.owned.first() {
            Some(&pool) => self.pool(pool).dense.keys().map(|keys| &keys[..group.len as usize]),
            None => group.list.keys(),
        };
        keys.unwrap_or_else(|| unreachable!("pools that are owned have no holes"))
    }

    /// The group that owns a pool: of a family, the outermost.
    pub(crate) fn owner(&self, side: u32) -> Option<&Group> {
        let owns = |at: &&u32| {
            let group = self.groups.get(**at);
            group.what.owned.contains(&side)
                && !group.outer.is_some_and(|at| self.groups.get(at).what.owned.contains(&side))
        };
        self.get(side).required_by.iter().find(owns).map(|at| self.groups.get(*at))
    }

    #[inline(always)]
    pub(crate) fn pool(&self, side: u32) -> &Pool {
        self.get(side).pool()
    }

    #[inline(always)]
    pub(crate) fn pool_mut(&mut self, side: u32) -> &mut Pool {
        self.list[side as usize].pool_mut()
    }

    /// Whether what a slot has makes it a member.
    #[inline(always)]
    pub(super) fn belongs(&self, group: &Group, slot: Entity) -> bool {
        !slot.is_row() && self.meets(group, slot.index())
    }

    /// Whether a slot has what members have, and lacks what they lack.
    #[inline(always)]
    fn meets(&self, group: &Group, slot: u32) -> bool {
        let [has, lacks] = group.sieve.first;
        // SAFETY: a mask has one word at least.
        let first = unsafe { self.word(slot, 0) };
        first & (has | lacks) == has && group.sieve.more.as_ref().is_none_or(|more| self.belongs_further(more, slot))
    }

    #[inline(never)]
    fn belongs_further(&self, more: &More, slot: u32) -> bool {
        let words = || more.words.iter().zip(1..);
        let [has, lacks] = &more.linear;
        // A slot that is not covered has no pool component.
        let word = |at: usize| self.mask(slot).get(at).copied().unwrap_or(0);
        words().all(|([has, lacks], at)| word(at) & (has | lacks) == *has)
            && has.iter().all(|side| self.get(*side).row(slot).is_some())
            && lacks.iter().all(|side| self.get(*side).row(slot).is_none())
    }

    /// Whether a slot, which is alive, is a member.
    #[inline]
    pub(crate) fn is_member(&self, group: &Group, slot: u32) -> bool {
        group.has_member(&self.list, slot)
    }

    /// Makes room in the lists of groups that a slot may enter by a change.
    #[inline(never)]
    pub(super) fn try_ready_groups(
        &mut self,
        slot: u32,
        sparse_inserts: &[u32],
        sparse_removes: &[u32],
    ) -> Result<(), AllocError> {
        let required = sparse_inserts.iter().flat_map(|side| &self.list[*side as usize].required_by);
        let excluded = sparse_removes.iter().flat_map(|side| &self.list[*side as usize].excluded_by);
        for at in required.chain(excluded) {
            let group = self.groups.get_mut(*at);
            if !group.owns() {
                group.list.try_ready(slot)?;
            }
        }
        Ok(())
    }

    /// Makes room in the lists of groups for all slots that may enter them by changes of many: each a side and a slot. Pages
    /// of the lists stay until they are [given up](Groups::release_pages).
    pub(super) fn try_ready_lists(
        &mut self,
        sparse_inserts: &[(u32, u32)],
        sparse_removes: &[(u32, u32)],
    ) -> Result<(), AllocError> {
        let mut counts: Vec<u32> = try_vec(self.groups.list.len())?;
        counts.resize(self.groups.list.len(), 0);
        for is_first in [true, false] {
            let required = sparse_inserts.iter().map(|(side, slot)| (&self.list[*side as usize].required_by, *slot));
            let excluded = sparse_removes.iter().map(|(side, slot)| (&self.list[*side as usize].excluded_by, *slot));
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

    /// A slot leaves the groups that require a side.
    #[inline(never)]
    pub(super) fn leave_requiring(&mut self, slot: Entity, side: u32) {
        let mut next = 0;
        while let Some(&at) = self.list[side as usize].required_by.get(next) {
            self.leave(at, slot.index());
            next += 1;
        }
    }

    /// A slot leaves the groups that exclude a side.
    #[inline(never)]
    pub(super) fn leave_excluding(&mut self, slot: Entity, side: u32) {
        let mut next = 0;
        while let Some(&at) = self.list[side as usize].excluded_by.get(next) {
            self.leave(at, slot.index());
            next += 1;
        }
    }

    /// A slot leaves a group, if it is a member, and before that the groups within.
    #[inline(always)]
    fn leave(&mut self, at: u32, slot: u32) {
        let group = self.groups.get_mut(at);
        if !group.has_member(&self.list, slot) {
            return;
        }
        if group.inner.is_some() || !group.owns() {
            return self.leave_slowly(at, slot);
        }
        group.len -= 1;
        // SAFETY: the slot was a member.
        unsafe { group.exchange(&mut self.list, slot) };
    }

    /// As [`leave`](SparseStorages::leave), of a member of a group that has others within or owns nothing.
    #[inline(never)]
    fn leave_slowly(&mut self, at: u32, slot: u32) {
        if let Some(inner) = self.groups.get(at).inner {
            self.leave(inner, slot);
        }
        let group = self.groups.get_mut(at);
        if group.owns() {
            group.len -= 1;
            // SAFETY: the slot was a member: whoever calls this has asked.
            unsafe { group.exchange(&mut self.list, slot) };
        } else if let Some(position) = group.list.index().position_at(slot) {
            // SAFETY: the position is in use, and the list never has holes.
            unsafe { group.list.swap_remove_to_tail(position) };
        }
    }

    /// A slot enters the groups that it belongs to after a change.
    ///
    /// # Safety
    ///
    /// The groups were [made ready](SparseStorages::try_ready_groups) for this change, and nothing left them since but this slot; or
    /// they were for [all changes](SparseStorages::try_ready_lists) of which this is one.
    #[inline(never)]
    pub(super) unsafe fn enter_groups(&mut self, slot: Entity, sparse_inserts: &[u32], sparse_removes: &[u32]) {
        for &side in sparse_inserts {
            // SAFETY: the caller's promise.
            unsafe { self.enter_requiring(slot, side) };
        }
        for &side in sparse_removes {
            let mut next = 0;
            while let Some(&at) = self.list[side as usize].excluded_by.get(next) {
                // SAFETY: the caller's promise.
                unsafe { self.enter(at, slot) };
                next += 1;
            }
        }
    }

    /// A slot enters the groups that require a side, those that it belongs to.
    ///
    /// # Safety
    ///
    /// As for [`enter_groups`](SparseStorages::enter_groups).
    #[inline(always)]
    pub(super) unsafe fn enter_requiring(&mut self, slot: Entity, side: u32) {
        let mut next = 0;
        while let Some(&at) = self.list[side as usize].required_by.get(next) {
            // SAFETY: the caller's promise.
            unsafe { self.enter(at, slot) };
            next += 1;
        }
    }

    /// A slot enters a group, if it belongs there and is no member yet, and before that the groups around.
    ///
    /// # Safety
    ///
    /// As for [`enter_groups`](SparseStorages::enter_groups).
    #[inline(always)]
    unsafe fn enter(&mut self, at: u32, slot: Entity) {
        let group = self.groups.get(at);
        if !self.belongs(group, slot) || group.has_member(&self.list, slot.index()) {
            return;
        }
        if group.outer.is_some() || !group.owns() {
            // SAFETY: the caller's promise.
            return unsafe { self.enter_slowly(at, slot) };
        }
        let group = self.groups.get_mut(at);
        // SAFETY: the slot belongs to the group, so it has what the group owns, and is no member yet.
        unsafe { group.exchange(&mut self.list, slot.index()) };
        group.len += 1;
    }

    /// As [`enter`](SparseStorages::enter), of one that is to be a member of a group that has others around or owns nothing.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(never)]
    unsafe fn enter_slowly(&mut self, at: u32, slot: Entity) {
        if let Some(outer) = self.groups.get(at).outer {
            // SAFETY: the caller's promise.
            unsafe { self.enter(outer, slot) };
        }
        let group = self.groups.get_mut(at);
        if group.owns() {
            // SAFETY: as in `enter`.
            unsafe { group.exchange(&mut self.list, slot.index()) };
            group.len += 1;
        } else {
            // SAFETY: there is room, by the caller's promise, and the slot is no member. A row without size is written.
            unsafe { group.list.admit(slot) };
        }
    }

    /// Checks that groups have the members that they should.
    pub(super) fn validate_groups(&self, slot: impl Fn(u32) -> Option<Entity>) -> Result<(), &'static str> {
        if self.groups().count() != self.groups.live as usize {
            return Err("groups miscounted");
        }
        for (at, group) in self.groups.iter() {
            group.list.validate()?;
            for (number, side) in (0..).zip(self.iter()) {
                if side.required_by.contains(&at) != group.what.required.contains(&number)
                    || side.excluded_by.contains(&at) != group.what.excluded.contains(&number)
                {
                    return Err("a side that does not know its groups");
                }
            }
            for &side in &group.what.owned {
                let pool = self.pool(side);
                if pool.removal != Removal::Swap || group.len > pool.len() {
                    return Err("a pool that cannot be owned");
                }
                if pool.dense.keys().is_none_or(|keys| keys[..group.len as usize] != *self.members(group)) {
                    return Err("pools that a group owns in different orders");
                }
            }
            let link = |other: Option<u32>, back: fn(&Group) -> Option<u32>| {
                other.is_none_or(|other| {
                    self.groups.list[other as usize].as_deref().is_some_and(|g| back(g) == Some(at))
                })
            };
            if !link(group.outer, |g| g.inner) || !link(group.inner, |g| g.outer) {
                return Err("a family that is not a chain");
            }
            if let Some(inner) = group.inner.map(|inner| self.groups.get(inner))
                && (inner.len > group.len || !group.what.holds(&inner.what))
            {
                return Err("a group that is not within the one around it");
            }
            let members = self.members(group);
            if !members.iter().all(|slot| self.belongs(group, *slot)) {
                return Err("a member that does not belong to its group");
            }
            let slots = |side: u32| match &self.get(side).store {
                Store::Pool(pool) => {
                    let keys = (0..pool.dense.positions()).filter_map(|at| pool.dense.key_at(at));
                    keys.filter(|slot| self.belongs(group, *slot)).count()
                }
                Store::Linear(linear) => {
                    linear.iter().filter_map(&slot).filter(|slot| self.belongs(group, *slot)).count()
                }
            };
            if group.what.required.first().is_none_or(|side| slots(*side) != members.len()) {
                return Err("a slot that belongs to a group and is no member");
            }
        }
        Ok(())
    }
}
