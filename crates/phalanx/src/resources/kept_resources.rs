//! Clones of the resources that a world keeps: for checkpoints, timelines and clones of the world.

use super::{ResetResource, ResourceCell, Resources, Slot, Stored};
use crate::alloc::{try_box, try_vec};
use crate::error::NoSuchResource;
use core::any::{Any, TypeId};
use core::fmt;
use phalanx_store::AllocError;

/// Clones a resource of one type.
pub(crate) type CloneResource = fn(&(dyn Any + Send + Sync)) -> Result<Stored, AllocError>;

/// Clones a resource of type `R`.
pub(crate) fn clone_resource<R: Clone + Send + Sync + 'static>(
    value: &(dyn Any + Send + Sync),
) -> Result<Stored, AllocError> {
    match value.downcast_ref::<ResourceCell<R>>() {
        Some(cell) => Ok(try_box(ResourceCell::new(cell.get().clone()))?),
        None => unreachable!("a slot holds its type"),
    }
}

/// The resources that a world kept at one time: clones of those that were there, and the types of the others.
#[derive(Default)]
pub(crate) struct KeptResources {
    list: Vec<KeptResource>,
}

struct KeptResource {
    type_id: TypeId,
    name: &'static str,
    clone: CloneResource,
    reset: Option<ResetResource>,
    value: Option<Stored>,
}

/// Clones a value that may be missing.
fn try_clone_value(clone: CloneResource, value: &Option<Stored>) -> Result<Option<Stored>, AllocError> {
    value.as_ref().map(|value| clone(&**value)).transpose()
}

impl KeptResources {
    /// Clones the resources once more.
    pub(crate) fn try_clone(&self) -> Result<KeptResources, AllocError> {
        let mut list = try_vec(self.list.len())?;
        for kept in &self.list {
            list.push(KeptResource { value: try_clone_value(kept.clone, &kept.value)?, ..*kept });
        }
        Ok(KeptResources { list })
    }

    /// Returns `true` if resources of this type were kept.
    pub(crate) fn covers(&self, type_id: TypeId) -> bool {
        self.list.iter().any(|kept| kept.type_id == type_id)
    }

    /// Returns the bytes held from the allocator, without what values hold themselves.
    pub(crate) fn memory(&self) -> usize {
        let values = self.list.iter().filter_map(|kept| kept.value.as_ref()).map(|value| size_of_val(&**value));
        self.list.capacity() * size_of::<KeptResource>() + values.sum::<usize>()
    }
}

impl fmt::Debug for KeptResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(|kept| kept.name)).finish()
    }
}

impl Resources {
    /// Returns the slots that are kept, in their order.
    fn kept(&self) -> impl Iterator<Item = (&Slot, CloneResource)> {
        self.list.iter().filter_map(|slot| Some((slot, slot.keep?)))
    }

    /// Clones the resources that are kept.
    ///
    /// [`check_kept`](Resources::check_kept) checks before whether all of them can be cloned.
    pub(crate) fn try_clone_kept(&self) -> Result<KeptResources, AllocError> {
        let mut list = try_vec(self.kept().count())?;
        for (slot, clone) in self.kept() {
            let value = try_clone_value(clone, &slot.value)?;
            list.push(KeptResource { type_id: slot.type_id, name: slot.name, clone, reset: slot.reset, value });
        }
        Ok(KeptResources { list })
    }

    /// Checks that no resource that is kept is taken out by a scope.
    pub(crate) fn check_kept(&self) -> Result<(), NoSuchResource> {
        match self.kept().find(|(slot, _)| slot.in_scope) {
            Some((slot, _)) => Err(NoSuchResource { resource: slot.name, in_scope: true }),
            None => Ok(()),
        }
    }

    /// Swaps the resources with those that were kept once. Those that were not kept then are reset or left alone.
    ///
    /// Allocates nothing, and runs no code of the resources.
    pub(crate) fn swap_kept(&mut self, kept: &mut KeptResources) {
        for kept in &mut kept.list {
            // Slots stay as long as the world lives.
            if let Some(at) = self.by_type.get(&kept.type_id) {
                core::mem::swap(&mut self.list[*at].value, &mut kept.value);
            }
        }
        let is_uncovered = |slot: &&mut Slot| !kept.covers(slot.type_id);
        for slot in self.list.iter_mut().filter(|slot| slot.reset.is_some()).filter(is_uncovered) {
            if let (Some(reset), Some(value)) = (slot.reset, &mut slot.value) {
                reset(&mut **value);
            }
        }
    }

    /// Creates resources from those that were kept. They are kept there, too.
    pub(crate) fn try_from_kept(kept: KeptResources) -> Result<Resources, AllocError> {
        let mut resources = Resources::default();
        resources.try_reserve(kept.list.len())?;
        for KeptResource { type_id, name, clone, reset, value } in kept.list {
            resources.by_type.insert(type_id, resources.list.len());
            resources.list.push(Slot { type_id, name, value, in_scope: false, keep: Some(clone), reset });
        }
        Ok(resources)
    }

    /// Returns the names of the resources that are there and are not covered, in alphabetical order.
    pub(crate) fn uncovered(&self, kept: Option<&KeptResources>) -> Vec<&'static str> {
        let is_covered = |slot: &Slot| kept.map_or(slot.keep.is_some(), |kept| kept.covers(slot.type_id));
        let is_there = |slot: &&Slot| slot.value.is_some() || slot.in_scope;
        let uncovered = self.list.iter().filter(is_there).filter(|slot| !is_covered(slot));
        let mut names: Vec<&'static str> = uncovered.map(|slot| slot.name).collect();
        names.sort_unstable();
        names
    }
}
