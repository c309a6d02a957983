//! SparseStorages taken apart and put together again, for copies of a world's state.
#![allow(unsafe_code)]

use super::GroupError;
use super::groups::Groups;
use super::{Draft, Linear, Pool, Removal, SparseStorage, SparseStorages, Store, Values};
use crate::alloc::{try_clone_slice, try_vec};
use crate::component::Components;
use phalanx_store::raw::{Dense, DenseIndex, Lane, LaneOf};
use phalanx_store::{AllocError, Entity};

/// The groups of a world with their members, and by side the groups that require it and those that exclude it.
#[derive(Debug)]
pub(crate) struct GroupImage {
    groups: Groups,
    links: Vec<[Vec<u32>; 2]>,
}

impl GroupImage {
    pub(crate) fn try_clone(&self) -> Result<GroupImage, AllocError> {
        let mut links = try_vec(self.links.len())?;
        for [required_by, excluded_by] in &self.links {
            links.push([try_clone_slice(required_by)?, try_clone_slice(excluded_by)?]);
        }
        Ok(GroupImage { groups: self.groups.try_clone()?, links })
    }

    /// Calls a function with the number of each side that a group names. Some come more than once.
    pub(crate) fn each_side(&self, mut each: impl FnMut(u32)) {
        for (_, group) in self.groups.iter() {
            group.what.required.iter().chain(&group.what.excluded).for_each(|side| each(*side));
        }
    }

    /// Bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        let links = self.links.iter().flatten().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>();
        self.groups.bytes() + links + self.links.capacity() * size_of::<[Vec<u32>; 2]>()
    }
}

/// A group, without anything that follows from the rest.
#[derive(Debug)]
pub(crate) struct Sketch {
    pub(crate) name: &'static str,
    pub(crate) place: u32,
    /// None for one that is new to the world.
    pub(crate) serial: Option<u64>,
    /// The sides that it owns, requires and excludes.
    pub(crate) sparse: [Vec<u32>; 3],
    /// The slots of the members of one that owns nothing, in their order.
    pub(crate) members: Vec<u32>,
}

impl GroupImage {
    /// Returns the groups.
    pub(crate) fn try_sketches(&self) -> Result<Vec<Sketch>, AllocError> {
        let mut sketches = try_vec(self.groups.live as usize)?;
        for (place, group) in self.groups.iter() {
            let what = &group.what;
            let sparse =
                [try_clone_slice(&what.owned)?, try_clone_slice(&what.required)?, try_clone_slice(&what.excluded)?];
            let listed = group.list.keys().unwrap_or(&[]);
            let mut members = try_vec(listed.len())?;
            members.extend(listed.iter().map(|slot| slot.index()));
            sketches.push(Sketch { name: what.name, place, serial: Some(group.serial), sparse, members });
        }
        Ok(sketches)
    }
}

impl Groups {
    /// Whether there are the same groups, with the same members in the same order.
    fn is_same(&self, other: &Groups) -> bool {
        let same = |(a, b): ((u32, &super::GroupData), (u32, &super::GroupData))| {
            let (x, y) = (a.1, b.1);
            let links = (x.outer, x.inner) == (y.outer, y.inner);
            (a.0, x.serial, x.len) == (b.0, y.serial, y.len) && links && x.list.keys() == y.list.keys()
        };
        self.live == other.live && self.list.len() == other.list.len() && self.iter().zip(other.iter()).all(same)
    }
}

/// Why groups could not be made anew.
#[derive(Debug)]
pub(crate) enum Regroup {
    Wrong(&'static str),
    Alloc(AllocError),
}

impl From<AllocError> for Regroup {
    fn from(error: AllocError) -> Self {
        Regroup::Alloc(error)
    }
}

impl SparseStorage {
    /// The lane that says who has a value, to be tracked, and those of the values.
    ///
    /// # Safety
    ///
    /// They are not exchanged for others or resized.
    pub(crate) unsafe fn lanes_mut(&mut self) -> (&mut Lane, &mut [Lane]) {
        // SAFETY: the caller's promise.
        unsafe {
            match &mut self.store {
                Store::Pool(pool) => {
                    let (keys, values) = pool.dense.parts_mut();
                    (keys, values.lanes_mut())
                }
                Store::Linear(linear) => linear.lanes_mut(),
            }
        }
    }
}

/// What a pool is, beside its keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolState {
    pub(crate) removal: Removal,
    pub(crate) rows: u32,
}

impl Pool {
    pub(crate) fn state(&self) -> PoolState {
        PoolState { removal: self.removal, rows: self.rows }
    }
}

impl SparseStorages {
    pub(crate) fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut SparseStorage> {
        self.list.iter_mut().map(|side| &mut **side)
    }

    /// Whether the groups are as they were.
    pub(crate) fn has_groups(&self, image: &GroupImage) -> bool {
        self.groups.is_same(&image.groups)
    }

    pub(crate) fn try_group_image(&self) -> Result<GroupImage, AllocError> {
        let mut links = try_vec(self.list.len())?;
        for side in self.iter() {
            links.push([try_clone_slice(&side.required_by)?, try_clone_slice(&side.excluded_by)?]);
        }
        Ok(GroupImage { groups: self.groups.try_clone()?, links })
    }

    /// Makes a pool of what its keys were and of values, which are asked for when nothing can fail any more. `empty` has none.
    ///
    /// # Safety
    ///
    /// The side has no values. The bytes are those of the marks of a pool in this state. The values are of the component,
    /// with room for all positions, and initialised at all that are no holes.
    pub(crate) unsafe fn try_restore_pool(
        &mut self,
        side: u32,
        marks: &[u8],
        state: &PoolState,
        empty: Values,
        values: impl FnOnce() -> Values,
    ) -> Result<(), AllocError> {
        let len = (marks.len() / size_of::<Entity>()) as u32;
        let Store::Pool(pool) = &mut self.list[side as usize].store else { unreachable!("a pool as it was") };
        // SAFETY: the caller's promise; the rows are there before anybody asks for them.
        unsafe {
            let mut dense: Dense<_, Values> = Dense::try_rebuild(empty, marks.as_ptr(), len)?;
            *dense.rows_mut() = values();
            *pool = Pool { dense, removal: state.removal, rows: state.rows };
            self.list[side as usize].settle();
        }
        Ok(())
    }

    /// Makes a linear store.
    ///
    /// # Safety
    ///
    /// The side has no values. They are initialised at all slots that have a bit, and there is room for a spare row.
    pub(crate) unsafe fn restore_linear(
        &mut self,
        side: u32,
        bits: LaneOf<u64>,
        words: u32,
        rows: u32,
        values: Values,
    ) {
        // SAFETY: so many words are initialised.
        let len = unsafe { bits.slice(words) }.iter().map(|word| word.count_ones()).sum();
        let Store::Linear(linear) = &mut self.list[side as usize].store else {
            unreachable!("a linear store as it was")
        };
        *linear = Linear::of(values, bits, words * 64, (len, rows));
    }

    /// Finds the masks of so many slots anew.
    ///
    /// # Safety
    ///
    /// No key of a pool has a higher index.
    pub(crate) unsafe fn try_restore_masks(&mut self, slots: u32) -> Result<(), AllocError> {
        if slots == 0 || self.by_bit.is_empty() {
            return Ok(());
        }
        self.try_cover(slots - 1)?;
        for at in 0..self.list.len() {
            let (Store::Pool(pool), Some(bit)) = (&self.list[at].store, self.list[at].bit) else { continue };
            let (dense, stride, masks) = (&pool.dense, self.stride, self.masks.ptr());
            for key in (0..dense.positions()).filter_map(|at| dense.key_at(at)) {
                // SAFETY: the slots of keys are covered, by the caller's promise, and a mask has a word for each bit.
                unsafe { *masks.add((key.index() * stride + bit / 64) as usize) |= 1 << (bit % 64) };
            }
        }
        Ok(())
    }

    /// SparseInserts groups in the place of what there are, for sides that are as they were with them.
    pub(crate) fn restore_groups(&mut self, image: GroupImage) {
        for (side, [required_by, excluded_by]) in self.list.iter_mut().zip(image.links) {
            (side.required_by, side.excluded_by) = (required_by, excluded_by);
            side.settle();
        }
        self.groups = image.groups;
    }

    /// Makes groups where there are none, in `most` steps. Those that are new get numbers that no group of `before` has.
    /// `entity` returns who lives at an index.
    ///
    /// # Errors
    ///
    /// If there cannot be such groups, or memory cannot be had; some may have been made.
    pub(crate) fn try_regroup(
        &mut self,
        sketches: Vec<Sketch>,
        before: &SparseStorages,
        names: &Components,
        most: u64,
        entity: impl Fn(u32) -> Option<Entity>,
    ) -> Result<(), Regroup> {
        self.groups.made = before.groups.made;
        let mut steps = 0;
        for Sketch { name, place, serial, sparse: [owned, required, excluded], members } in sketches {
            let ascending = |list: &[u32]| list.windows(2).all(|pair| pair[0] < pair[1]);
            let known = |list: &[u32]| list.iter().all(|side| (*side as usize) < self.list.len());
            if [&owned, &required, &excluded].into_iter().any(|list| !ascending(list) || !known(list)) {
                return Err(Regroup::Wrong("a group of stores that there are not, or not in their order"));
            }
            if required.is_empty() || owned.iter().any(|side| !required.contains(side)) {
                return Err(Regroup::Wrong("a group that requires nothing, or not what it owns"));
            }
            if excluded.iter().any(|side| required.contains(side)) {
                return Err(Regroup::Wrong("a group that excludes what it requires"));
            }
            if owned.iter().any(|side| matches!(self.get(*side).store, Store::Linear(_))) {
                return Err(Regroup::Wrong("a group that owns a linear store"));
            }
            steps += self.group_steps(&required);
            if steps > most {
                return Err(Regroup::Wrong("more groups than a world of this size may have"));
            }
            let what = Draft { name, owned, required, excluded };
            if self.find_group(&what).is_some() || self.has_group(place) {
                return Err(Regroup::Wrong("a group that there is already"));
            }
            let owns = !what.owned.is_empty();
            let draft = self.try_draft(what, names, &entity).map_err(|error| match error {
                GroupError::Alloc(error) => Regroup::Alloc(error),
                _ => Regroup::Wrong("groups that cannot be beside one another"),
            })?;
            let id = self.try_make_at(draft, place as usize)?;
            if !owns {
                let group = self.groups.get(id.at);
                let mut order = try_vec(members.len())?;
                let mut seen = try_vec(members.len())?;
                seen.resize(members.len(), false);
                for slot in members {
                    let at = self.position_in_group(group, slot).filter(|at| (*at as usize) < seen.len());
                    match at {
                        Some(at) if !core::mem::replace(&mut seen[at as usize], true) => order.push(at),
                        _ => return Err(Regroup::Wrong("a member of a group that is none, or is twice")),
                    }
                }
                if self.members(group).len() != order.len() {
                    return Err(Regroup::Wrong("a group that misses members"));
                }
                // SAFETY: a permutation of the positions of the group, of which each comes once.
                unsafe { self.try_arrange(id, &mut order)? };
            } else if !members.is_empty() {
                return Err(Regroup::Wrong("a group that owns pools and lists its members"));
            }
            if let Some(serial) = serial {
                self.groups.get_mut(id.at).serial = serial;
            }
        }
        Ok(())
    }

    /// Goes on to count from where another past has come to: no group gets the number of one that was made there.
    pub(crate) fn bump_group_serial(&mut self, other: &SparseStorages) {
        self.groups.made = self.groups.made.max(other.groups.made);
        for side in &mut self.list {
            side.gone = other.of(side.id).map_or(side.gone, |other| other.gone);
        }
    }

    /// Who has a value, as rows of bytes: the first, how many, and the size of one.
    pub(crate) fn key_bytes(store: &Store) -> (*const u8, u32, usize) {
        match store {
            Store::Pool(pool) => (pool.dense.dense_keys().as_ptr().cast(), pool.dense.positions(), size_of::<Entity>()),
            Store::Linear(linear) => (linear.words().as_ptr().cast(), linear.used_words(), size_of::<u64>()),
        }
    }
}

const _: () = {
    const fn index<X: DenseIndex>() -> usize {
        size_of::<X::DenseKey>()
    }
    assert!(index::<phalanx_store::index::Sparse<Entity>>() == size_of::<Entity>());
};
