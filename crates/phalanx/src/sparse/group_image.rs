//! [`GroupImage`]: the groups of a world at some time, and how they are restored.
#![allow(unsafe_code)]

use super::groups::Groups;
use super::{GroupData, GroupDesc, GroupError, SparseStorages, Store};
use crate::alloc::{try_clone_slice, try_vec};
use crate::checksum::Sum;
use crate::component::{ComponentId, Components};
use phalanx_store::{AllocError, Entity};

/// The groups of a world with their members, and by storage the groups that require and that exclude it.
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

    /// Calls `each` with the storage id of each component that a group names. Some come more than once.
    pub(crate) fn for_each_storage(&self, mut each: impl FnMut(u32)) {
        for (_, group) in self.groups.iter() {
            group.desc.required.iter().chain(&group.desc.excluded).for_each(|storage_id| each(*storage_id));
        }
    }

    /// Returns the number of bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        let links = self.links.iter().flatten().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>();
        self.groups.bytes() + links + self.links.capacity() * size_of::<[Vec<u32>; 2]>()
    }

    /// Returns the groups in the form in which they are saved.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_saved_groups(&self) -> Result<Vec<SavedGroup>, AllocError> {
        let mut saved = try_vec(self.groups.live as usize)?;
        for (number, group) in self.groups.iter() {
            let GroupDesc { name, owned, required, excluded } = &group.desc;
            let sparse = [try_clone_slice(owned)?, try_clone_slice(required)?, try_clone_slice(excluded)?];
            let listed = group.list.keys().unwrap_or(&[]);
            let mut members = try_vec(listed.len())?;
            members.extend(listed.iter().map(|slot| slot.index()));
            saved.push(SavedGroup { name, number, serial: Some(group.serial), sparse, members });
        }
        Ok(saved)
    }
}

/// A group without what follows from the values of its components.
#[derive(Debug)]
pub(crate) struct SavedGroup {
    pub(crate) name: &'static str,
    pub(crate) number: u32,
    /// `None` for a group that is new to the world.
    pub(crate) serial: Option<u64>,
    /// The storage ids of what it owns, requires and excludes.
    pub(crate) sparse: [Vec<u32>; 3],
    /// The slots of the members of a group that owns nothing, in their order.
    pub(crate) members: Vec<u32>,
}

impl Groups {
    /// Returns `true` if both have the same groups, with the same members in the same order.
    fn is_same(&self, other: &Groups) -> bool {
        let same = |((number, a), (other_number, b)): ((u32, &GroupData), (u32, &GroupData))| {
            (number, a.serial, a.len, a.outer, a.inner) == (other_number, b.serial, b.len, b.outer, b.inner)
                && a.list.keys() == b.list.keys()
        };
        self.live == other.live && self.list.len() == other.list.len() && self.iter().zip(other.iter()).all(same)
    }
}

/// Why groups could not be restored.
#[derive(Debug)]
pub(crate) enum RegroupError {
    /// There cannot be such groups; the text says why.
    Invalid(&'static str),
    Alloc(AllocError),
}

impl From<AllocError> for RegroupError {
    fn from(error: AllocError) -> Self {
        RegroupError::Alloc(error)
    }
}

impl SparseStorages {
    /// Returns `true` if the groups are those of the image, with the same members.
    pub(crate) fn has_groups(&self, image: &GroupImage) -> bool {
        self.groups.is_same(&image.groups)
    }

    /// Returns a checksum of the groups and their members. `fingerprint` identifies a component in other worlds.
    pub(crate) fn group_sum(&self, fingerprint: impl Fn(ComponentId) -> u64) -> u64 {
        self.groups.iter().fold(0, |total, (_, group)| {
            let GroupDesc { owned, required, excluded, .. } = &group.desc;
            let mut sum = Sum::default();
            for list in [owned, required, excluded] {
                // The order of storages depends on that of their registration.
                let ids = list.iter().map(|storage| fingerprint(self.get(*storage).id));
                sum.number(ids.fold(0, |sum, id| sum.wrapping_add(id.rotate_left(7).wrapping_mul(id | 1))));
            }
            sum.number(u64::from(group.len));
            for member in group.list.keys().unwrap_or(&[]) {
                sum.number(member.to_bits());
            }
            sum.finish().wrapping_add(total)
        })
    }

    /// Returns an image of the groups.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_group_image(&self) -> Result<GroupImage, AllocError> {
        let mut links = try_vec(self.storages.len())?;
        for storage in self.iter() {
            links.push([try_clone_slice(&storage.required_by)?, try_clone_slice(&storage.excluded_by)?]);
        }
        Ok(GroupImage { groups: self.groups.try_clone()?, links })
    }

    /// Replaces the groups by those of an image. Storages that were added since belong to no group.
    ///
    /// # Safety
    ///
    /// The values are those that the storages had when the image was made.
    pub(crate) unsafe fn restore_groups(&mut self, image: GroupImage) {
        let links = image.links.into_iter().chain(core::iter::repeat_with(Default::default));
        for (storage, [required_by, excluded_by]) in self.storages.iter_mut().zip(links) {
            (storage.required_by, storage.excluded_by) = (required_by, excluded_by);
            storage.update_cached();
        }
        self.groups = image.groups;
    }

    /// Checks which storages a group owns, requires and excludes, if they come from a file or a delta.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with them.
    pub(crate) fn check_group(&self, [owned, required, excluded]: [&[u32]; 3]) -> Result<(), &'static str> {
        let is_hidden = |at: &u32| self.get(*at).relation.is_some() || self.names() == Some(*at);
        for list in [owned, required, excluded] {
            if list.windows(2).any(|pair| pair[0] >= pair[1])
                || list.iter().any(|at| *at as usize >= self.storages.len())
            {
                return Err("a group of storages that do not exist, or are not in their order");
            }
            // Links are changed without telling groups.
            if list.iter().any(is_hidden) {
                return Err("a group of links or names");
            }
        }
        if required.is_empty() || owned.iter().any(|at| !required.contains(at)) {
            return Err("a group that requires nothing, or not what it owns");
        }
        if excluded.iter().any(|at| required.contains(at)) {
            return Err("a group that excludes what it requires");
        }
        if owned.iter().any(|at| matches!(self.get(*at).store, Store::Linear(_))) {
            return Err("a group that owns a linear storage");
        }
        Ok(())
    }

    /// Replaces the groups by those of an image in place. Serial numbers and counts of changes continue.
    ///
    /// # Safety
    ///
    /// The values are those that the storages had when the image was made.
    pub(crate) unsafe fn rewrite_groups(&mut self, mut image: GroupImage) {
        image.groups.next_serial = image.groups.next_serial.max(self.groups.next_serial);
        let most = self.groups.iter().map(|(_, group)| group.changes).max().unwrap_or(0);
        image.groups.list.iter_mut().flatten().for_each(|group| group.changes = group.changes.max(most) + 1);
        // SAFETY: the values are those of the image, by the caller's contract.
        unsafe { self.restore_groups(image) };
    }

    /// Creates groups where there are none, in at most `max_steps` steps. New groups get serial numbers that no group
    /// of `before` has. `entity` returns the slot of an index.
    ///
    /// # Errors
    ///
    /// Returns [`RegroupError::Invalid`] if there cannot be such groups, or [`RegroupError::Alloc`] if allocation
    /// fails. Some groups may have been created.
    pub(crate) fn try_regroup(
        &mut self,
        groups: Vec<SavedGroup>,
        before: &SparseStorages,
        names: &Components,
        max_steps: u64,
        entity: impl Fn(u32) -> Option<Entity>,
    ) -> Result<(), RegroupError> {
        self.groups.next_serial = before.groups.next_serial;
        let mut steps = 0;
        for SavedGroup { name, number, serial, sparse: [owned, required, excluded], members } in groups {
            self.check_group([&owned, &required, &excluded]).map_err(RegroupError::Invalid)?;
            steps += self.group_steps(&required);
            if steps > max_steps {
                return Err(RegroupError::Invalid("more groups than a world of this size may have"));
            }
            let desc = GroupDesc { name, owned, required, excluded };
            if self.find_group(&desc).is_some() || self.has_group(number) {
                return Err(RegroupError::Invalid("a group that exists already"));
            }
            let owns = !desc.owned.is_empty();
            let group = self.try_build_group(desc, names, &entity).map_err(|error| match error {
                GroupError::Alloc(error) => RegroupError::Alloc(error),
                _ => RegroupError::Invalid("groups that conflict"),
            })?;
            let id = self.try_add_group_at(group, number as usize)?;
            if !owns {
                let group = self.groups.get(id.at);
                let mut order = try_vec(members.len())?;
                let mut seen = try_vec(members.len())?;
                seen.resize(members.len(), false);
                for slot in members {
                    let at = self.position_in_group(group, slot).filter(|at| (*at as usize) < seen.len());
                    match at {
                        Some(at) if !core::mem::replace(&mut seen[at as usize], true) => order.push(at),
                        _ => {
                            return Err(RegroupError::Invalid(
                                "a member that does not belong to its group, or comes twice",
                            ));
                        }
                    }
                }
                if self.members(group).len() != order.len() {
                    return Err(RegroupError::Invalid("a group that misses members"));
                }
                self.try_reorder_group(id, &mut order)?;
            } else if !members.is_empty() {
                return Err(RegroupError::Invalid("a group that owns sparse sets and lists its members"));
            }
            if let Some(serial) = serial {
                self.groups.get_mut(id.at).serial = serial;
            }
        }
        Ok(())
    }

    /// Continues the serial numbers of groups and the counts of removed values from those of another state of the
    /// world.
    pub(crate) fn bump_group_serial(&mut self, other: &SparseStorages) {
        self.groups.next_serial = self.groups.next_serial.max(other.groups.next_serial);
        for storage in &mut self.storages {
            storage.removed_counts = other.of(storage.id).map_or(storage.removed_counts, |other| other.removed_counts);
        }
    }
}
