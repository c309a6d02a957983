//! [`GroupData`]: one group, its description and its members.
#![allow(unsafe_code)]

use super::{SparseStorage, SparseStorages};
use crate::alloc::{try_box, try_clone_slice, try_vec};
use phalanx_store::index::{KeySlot, Sparse};
use phalanx_store::raw::{Dense, DenseIndex, LaneOf};
use phalanx_store::{AllocError, Entity};

/// The id of a group. The serial number tells apart the successive groups with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupId {
    pub(crate) at: u32,
    pub(crate) serial: u64,
}

/// The components of a group: storage ids, ascending.
#[derive(Debug)]
pub(crate) struct GroupDesc {
    pub(crate) name: &'static str,
    pub(crate) owned: Vec<u32>,
    /// What members have. Includes what is owned.
    pub(crate) required: Vec<u32>,
    /// What members lack.
    pub(crate) excluded: Vec<u32>,
}

fn is_subset(part: &[u32], whole: &[u32]) -> bool {
    part.iter().all(|storage_id| whole.contains(storage_id))
}

impl GroupDesc {
    /// Returns `true` if `inner` can be within this group: its members are members here, and it owns what this group
    /// owns.
    pub(super) fn contains(&self, inner: &GroupDesc) -> bool {
        is_subset(&self.owned, &inner.owned)
            && is_subset(&self.required, &inner.required)
            && is_subset(&self.excluded, &inner.excluded)
    }

    /// Returns `true` if both have the same components, whatever their names.
    pub(super) fn is_same(&self, other: &GroupDesc) -> bool {
        (&self.owned, &self.required, &self.excluded) == (&other.owned, &other.required, &other.excluded)
    }

    /// Returns `true` if both own a sparse set.
    pub(super) fn shares_owned(&self, other: &GroupDesc) -> bool {
        self.owned.iter().any(|storage_id| other.owned.contains(storage_id))
    }

    fn try_clone(&self) -> Result<GroupDesc, AllocError> {
        Ok(GroupDesc {
            name: self.name,
            owned: try_clone_slice(&self.owned)?,
            required: try_clone_slice(&self.required)?,
            excluded: try_clone_slice(&self.excluded)?,
        })
    }
}

/// The test whether a slot belongs to a group: the first word of its mask, and what does not fit there.
#[derive(Debug)]
struct MaskFilter {
    /// The bits that are set, and the bits that are not.
    first: [u64; 2],
    rest: Option<Box<MaskFilterRest>>,
}

/// The test beyond the first 64 sparse sets.
#[derive(Debug)]
struct MaskFilterRest {
    /// The next words, like the first.
    words: Vec<[u64; 2]>,
    /// Linear storages that have the slot, and that do not.
    linear: [Vec<u32>; 2],
}

impl MaskFilter {
    fn try_new(desc: &GroupDesc, sparse: &SparseStorages) -> Result<MaskFilter, AllocError> {
        let lists = [&desc.required, &desc.excluded];
        let bits = || lists.iter().zip(0..).flat_map(|(list, at)| list.iter().map(move |id| (sparse.get(*id).bit, at)));
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
            let others = || list.iter().copied().filter(|storage_id| sparse.get(*storage_id).bit.is_none());
            *linear = try_vec(others().count())?;
            linear.extend(others());
        }
        let has_rest = last > 0 || linear.iter().any(|list| !list.is_empty());
        let rest = if has_rest { Some(try_box(MaskFilterRest { words, linear })?) } else { None };
        Ok(MaskFilter { first, rest })
    }

    fn try_clone(&self) -> Result<MaskFilter, AllocError> {
        let rest = match &self.rest {
            None => None,
            Some(rest) => {
                let linear = [try_clone_slice(&rest.linear[0])?, try_clone_slice(&rest.linear[1])?];
                Some(try_box(MaskFilterRest { words: try_clone_slice(&rest.words)?, linear })?)
            }
        };
        Ok(MaskFilter { first: self.first, rest })
    }

    fn bytes(&self) -> usize {
        self.rest.as_ref().map_or(0, |rest| {
            size_of::<MaskFilterRest>()
                + rest.words.capacity() * size_of::<[u64; 2]>()
                + rest.linear.iter().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>()
        })
    }
}

impl MaskFilterRest {
    #[inline(never)]
    fn matches(&self, sparse: &SparseStorages, slot: u32) -> bool {
        let mask = sparse.masks.get(slot);
        let [has, lacks] = &self.linear;
        // A slot that is not covered is in no sparse set.
        let word = |at: usize| mask.get(at).copied().unwrap_or(0);
        self.words.iter().zip(1..).all(|([has, lacks], at)| word(at) & (has | lacks) == *has)
            && has.iter().all(|storage_id| sparse.get(*storage_id).row(slot).is_some())
            && lacks.iter().all(|storage_id| sparse.get(*storage_id).row(slot).is_none())
    }
}

/// A group of a world.
#[derive(Debug)]
pub(crate) struct GroupData {
    pub(crate) serial: u64,
    pub(crate) desc: GroupDesc,
    filter: MaskFilter,
    /// The next group around this one, and the next within.
    pub(super) outer: Option<u32>,
    pub(super) inner: Option<u32>,
    /// The number of members of an owning group.
    pub(super) len: u32,
    /// The number of times that members came, went or were reordered. Cascades depend on it.
    pub(crate) changes: u64,
    /// The members of a group that owns nothing. There are no holes.
    pub(super) list: Dense<Sparse<Entity>, LaneOf<()>>,
}

impl GroupData {
    pub(super) fn try_new(desc: GroupDesc, serial: u64, sparse: &SparseStorages) -> Result<GroupData, AllocError> {
        let filter = MaskFilter::try_new(&desc, sparse)?;
        let list = Dense::new(Sparse::new(), LaneOf::new());
        Ok(GroupData { serial, desc, filter, outer: None, inner: None, len: 0, changes: 0, list })
    }

    /// Clones the group, with the same members.
    pub(super) fn try_clone(&self) -> Result<GroupData, AllocError> {
        // SAFETY: zero-sized rows need no capacity, and are initialised.
        let list = unsafe { self.list.try_clone_over(LaneOf::new())? };
        let (desc, filter) = (self.desc.try_clone()?, self.filter.try_clone()?);
        Ok(GroupData { desc, filter, list, ..*self })
    }

    /// Returns `true` if the group owns sparse sets.
    #[inline(always)]
    pub(super) fn owns(&self) -> bool {
        !self.desc.owned.is_empty()
    }

    /// Returns `true` if a slot belongs to the group: it is an entity, has what members have, and lacks what they lack.
    #[inline(always)]
    pub(super) fn matches(&self, sparse: &SparseStorages, slot: Entity) -> bool {
        let [has, lacks] = self.filter.first;
        !slot.is_row()
            && sparse.masks.first_word(slot.index()) & (has | lacks) == has
            && self.filter.rest.as_ref().is_none_or(|rest| rest.matches(sparse, slot.index()))
    }

    /// Returns the position of a slot, which is alive, if it is a member.
    #[inline(always)]
    pub(super) fn position(&self, storages: &[Box<SparseStorage>], slot: u32) -> Option<u32> {
        match self.desc.owned.first() {
            Some(&owned) => storages[owned as usize].sparse_set().position(slot).filter(|at| *at < self.len),
            None => self.list.index().position_at(slot),
        }
    }

    /// Returns `true` if a slot, which is alive, is a member.
    #[inline(always)]
    pub(super) fn has_member(&self, storages: &[Box<SparseStorage>], slot: u32) -> bool {
        self.position(storages, slot).is_some()
    }

    /// Returns `true` if a slot can become a member without allocating.
    #[inline(always)]
    pub(super) fn has_capacity(&self, slot: Entity) -> bool {
        self.owns() || self.list_has_capacity(slot)
    }

    #[inline(never)]
    fn list_has_capacity(&self, slot: Entity) -> bool {
        self.list.key_slot(slot) != KeySlot::Unmapped
    }

    /// Moves a member of an owning group behind the other members. It is in no group within.
    #[inline(always)]
    pub(super) fn leave_owned(&mut self, storages: &mut [Box<SparseStorage>], slot: u32) {
        self.changes += 1;
        self.len -= 1;
        self.exchange(storages, slot);
    }

    /// Moves a slot that belongs to an owning group behind its members, and makes it one. It is in the groups around.
    #[inline(always)]
    pub(super) fn enter_owned(&mut self, storages: &mut [Box<SparseStorage>], slot: u32) {
        self.exchange(storages, slot);
        self.len += 1;
        self.changes += 1;
    }

    /// Exchanges a slot with the one at position `len`, in all sparse sets that the group owns. The slot has a value in
    /// each.
    #[inline(never)]
    fn exchange(&self, storages: &mut [Box<SparseStorage>], slot: u32) {
        for &owned in &self.desc.owned {
            storages[owned as usize].sparse_set_mut().move_to(slot, self.len);
        }
    }

    /// Adds a member to the list of a group that owns nothing. Capacity is reserved, and nothing is allocated.
    ///
    /// # Panics
    ///
    /// Panics if capacity is not reserved.
    pub(super) fn add_listed(&mut self, slot: Entity) {
        if self.list.index().position_at(slot.index()).is_none() {
            assert!(self.list.is_ready(slot.index()), "capacity for members is reserved");
            // SAFETY: the list does not have the slot, and is ready for it, as just tested. A zero-sized row is initialised.
            unsafe { self.list.admit(slot) };
        }
    }

    /// Removes a member from the list of a group that owns nothing.
    pub(super) fn remove_listed(&mut self, slot: u32) {
        if let Some(position) = self.list.index().position_at(slot) {
            // SAFETY: the position is in use, and the list has no holes.
            unsafe { self.list.swap_remove_to_tail(position) };
        }
    }

    /// Returns the number of bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        let GroupDesc { owned, required, excluded, .. } = &self.desc;
        (owned.capacity() + required.capacity() + excluded.capacity()) * size_of::<u32>()
            + self.filter.bytes()
            + self.list.index().bytes()
            + self.list.key_bytes()
    }
}
