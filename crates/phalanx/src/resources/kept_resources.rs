//! Clones of the resources that a world keeps: for checkpoints, timelines and clones of the world.

use super::{Replacement, ResourceCell, ResourceType, Resources, Slot, Stored};
use crate::alloc::{try_box, try_reserve, try_vec};
use crate::change_detection::{AtomicTicks, ComponentTicks, Tick};
#[cfg(feature = "timeline")]
use crate::checksum::Sum;
use crate::error::NoSuchResource;
use crate::plain::{Plain, bytes_of, from_bytes};
use crate::sort::sort_short_by_key;
use core::any::{Any, TypeId};
use core::fmt;
use phalanx_store::AllocError;

/// Clones a resource of one type.
pub(crate) type CloneResource = fn(&(dyn Any + Send + Sync)) -> Result<Stored, AllocError>;

/// The fingerprint of a resource, and its bytes if it is there.
#[cfg(feature = "timeline")]
pub(crate) type ResourceBytes<B> = (u64, Option<B>);

/// Writes and reads a resource of one type as bytes, for deltas.
#[derive(Clone, Copy)]
pub(crate) struct PlainResource {
    /// Identifies the type in deltas.
    #[cfg(feature = "timeline")]
    pub(crate) fingerprint: u64,
    pub(crate) write: fn(&(dyn Any + Send + Sync), &mut Vec<u8>) -> Result<(), AllocError>,
    /// Returns `None` if the bytes are not a value of the type.
    pub(crate) read: fn(&[u8]) -> Result<Option<Stored>, AllocError>,
}

impl PlainResource {
    /// Returns the functions of a plain resource.
    pub(crate) fn new<R: Plain>() -> PlainResource {
        PlainResource {
            #[cfg(feature = "timeline")]
            fingerprint: fingerprint::<R>(),
            write: |value, bytes| {
                let Some(cell) = value.downcast_ref::<ResourceCell<R>>() else { unreachable!("a slot holds its type") };
                try_reserve(bytes, size_of::<R>())?;
                bytes.extend_from_slice(bytes_of(core::slice::from_ref(cell.get())));
                Ok(())
            },
            read: |bytes| match from_bytes::<R>(bytes) {
                Some(value) => Ok(Some(try_box(ResourceCell::new(value))?)),
                None => Ok(None),
            },
        }
    }
}

/// Returns a number that identifies a type in deltas.
#[cfg(feature = "timeline")]
pub(crate) fn fingerprint<R>() -> u64 {
    let mut sum = Sum::default();
    sum.add(core::any::type_name::<R>().as_bytes());
    sum.number(size_of::<R>() as u64);
    sum.finish()
}

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
    /// Whether resources that are part of deltas stay as they are if they are not in the list.
    is_of_delta: bool,
}

struct KeptResource {
    resource: ResourceType,
    clone: CloneResource,
    replacement: Option<Replacement>,
    plain: Option<PlainResource>,
    value: Option<Stored>,
    ticks: ComponentTicks,
}

/// Clones a value that may be missing.
fn try_clone_value(clone: CloneResource, value: &Option<Stored>) -> Result<Option<Stored>, AllocError> {
    value.as_ref().map(|value| clone(&**value)).transpose()
}

/// Adds to a value that replaces the present one what must not be lost.
#[cfg(feature = "timeline")]
fn try_carry(
    replacement: Option<Replacement>,
    mut value: Option<Stored>,
    present: Option<&Stored>,
) -> Result<Option<Stored>, AllocError> {
    if let (Some(replacement), Some(value), Some(present)) = (replacement, &mut value, present) {
        (replacement.carry)(&mut **value, &**present)?;
    }
    Ok(value)
}

#[cfg(feature = "timeline")]
impl KeptResources {
    /// Clones the resources once more, to replace the present ones.
    pub(crate) fn try_clone_for(&self, present: &Resources) -> Result<KeptResources, AllocError> {
        let mut list = try_vec(self.list.len())?;
        for kept in &self.list {
            let value = try_clone_value(kept.clone, &kept.value)?;
            let slot = present.by_type.get(&kept.resource.type_id).map(|at| &present.list[*at]);
            let value = try_carry(kept.replacement, value, slot.and_then(|slot| slot.value.as_ref()))?;
            list.push(KeptResource { value, ..*kept });
        }
        Ok(KeptResources { list, is_of_delta: self.is_of_delta })
    }

    /// Returns the resources that are part of deltas, by fingerprint: each with its bytes, or `None` if it was not there.
    pub(crate) fn try_bytes(&self) -> Result<Vec<ResourceBytes<Vec<u8>>>, AllocError> {
        let mut list = try_vec(self.list.len())?;
        for kept in &self.list {
            let Some(plain) = kept.plain else { continue };
            let mut bytes = None;
            if let Some(value) = &kept.value {
                (plain.write)(&**value, bytes.insert(Vec::new()))?;
            }
            list.push((plain.fingerprint, bytes));
        }
        sort_short_by_key(&mut list, |(fingerprint, _)| *fingerprint);
        Ok(list)
    }

    /// Calls a function with each resource: its name, its fingerprint, and the hash of its bytes if it is plain.
    pub(crate) fn try_sums(
        &self,
        mut each: impl FnMut(&'static str, Option<(u64, u64)>) -> Result<(), AllocError>,
    ) -> Result<(), AllocError> {
        let mut bytes = Vec::new();
        for kept in &self.list {
            let Some(plain) = kept.plain else {
                each(kept.resource.name, None)?;
                continue;
            };
            let mut sum = Sum::default();
            bytes.clear();
            if let Some(value) = &kept.value {
                (plain.write)(&**value, &mut bytes)?;
                sum.add(&bytes);
            }
            each(kept.resource.name, Some((plain.fingerprint, sum.finish())))?;
        }
        Ok(())
    }

    /// Calls a function with each plain resource: its name, its fingerprint, and its bytes if it is there.
    pub(crate) fn for_each_plain(&self, mut each: impl FnMut(&'static str, u64, Option<Vec<u8>>)) {
        for kept in &self.list {
            let Some(plain) = kept.plain else { continue };
            let bytes = kept.value.as_ref().and_then(|value| {
                let mut bytes = Vec::new();
                (plain.write)(&**value, &mut bytes).is_ok().then_some(bytes)
            });
            each(kept.resource.name, plain.fingerprint, bytes);
        }
    }

    /// Calls a function with each plain resource that differs in another state: its name, and its bytes in both.
    pub(crate) fn for_each_difference(
        &self,
        other: &KeptResources,
        mut each: impl FnMut(&'static str, [Option<Vec<u8>>; 2]),
    ) {
        let bytes = |kept: &KeptResource| {
            let (plain, value) = (kept.plain?, kept.value.as_ref()?);
            let mut bytes = Vec::new();
            (plain.write)(&**value, &mut bytes).ok().map(|()| bytes)
        };
        for kept in self.list.iter().filter(|kept| kept.plain.is_some()) {
            let found = other.list.iter().find(|other| other.resource.type_id == kept.resource.type_id);
            let both = [bytes(kept), found.and_then(bytes)];
            if both[0] != both[1] {
                each(kept.resource.name, both);
            }
        }
        // Those that are kept in the other state only.
        for kept in other.list.iter().filter(|kept| !self.covers(kept.resource.type_id)) {
            if let Some(bytes) = bytes(kept) {
                each(kept.resource.name, [None, Some(bytes)]);
            }
        }
    }

    /// Returns `true` if resources of this type were kept.
    pub(crate) fn covers(&self, type_id: TypeId) -> bool {
        self.list.iter().any(|kept| kept.resource.type_id == type_id)
    }

    /// Returns the bytes held from the allocator, without what values hold themselves.
    pub(crate) fn memory(&self) -> usize {
        let values = self.list.iter().filter_map(|kept| kept.value.as_ref()).map(|value| size_of_val(&**value));
        self.list.capacity() * size_of::<KeptResource>() + values.sum::<usize>()
    }
}

#[cfg(feature = "timeline")]
/// Why the resources of a delta cannot be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The world does not keep a resource of the delta.
    Unknown,
    /// Bytes are not a value of a resource.
    Invalid(&'static str),
}

impl fmt::Debug for KeptResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(|kept| kept.resource.name)).finish()
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
            let Slot { resource, replacement, plain, .. } = *slot;
            list.push(KeptResource { resource, clone, replacement, plain, value, ticks: slot.ticks.by_ref().get() });
        }
        Ok(KeptResources { list, is_of_delta: false })
    }

    /// Checks that no resource that is kept is taken out by a scope.
    pub(crate) fn check_kept(&self) -> Result<(), NoSuchResource> {
        match self.kept().find(|(slot, _)| slot.in_scope) {
            Some((slot, _)) => Err(NoSuchResource { resource: slot.name(), in_scope: true }),
            None => Ok(()),
        }
    }

    /// Creates resources from those that were kept. They are kept there, too.
    pub(crate) fn try_from_kept(kept: KeptResources) -> Result<Resources, AllocError> {
        let mut resources = Resources::default();
        resources.try_reserve(kept.list.len())?;
        for KeptResource { resource, clone, replacement, plain, value, ticks } in kept.list {
            resources.by_type.insert(resource.type_id, resources.list.len());
            let (ticks, keep) = (AtomicTicks::from(ticks), Some(clone));
            resources.list.push(Slot { resource, value, ticks, in_scope: false, keep, replacement, plain });
        }
        Ok(resources)
    }
}

#[cfg(feature = "timeline")]
impl Resources {
    /// Reads resources of a delta, by fingerprint. They count as changed now. Those that are not among them stay as they are.
    ///
    /// Returns the reason if a resource is not known, or bytes are not a value.
    pub(crate) fn try_read(
        &self,
        changed: &[ResourceBytes<&[u8]>],
        now: Tick,
    ) -> Result<Result<KeptResources, ReadError>, AllocError> {
        let mut list = try_vec(changed.len())?;
        for (fingerprint, bytes) in changed {
            let mut known = self.kept().filter_map(|(slot, clone)| Some((slot, clone, slot.plain?)));
            let found = known.find(|(_, _, plain)| plain.fingerprint == *fingerprint);
            let Some((slot, clone, plain)) = found else { return Ok(Err(ReadError::Unknown)) };
            let value = bytes.map(plain.read).transpose()?;
            if value.as_ref().is_some_and(Option::is_none) {
                return Ok(Err(ReadError::Invalid(slot.name())));
            }
            let Slot { resource, replacement, .. } = *slot;
            let value = try_carry(replacement, value.flatten(), slot.value.as_ref())?;
            let added = if slot.value.is_some() { slot.ticks.by_ref().added() } else { now };
            let ticks = ComponentTicks { added, changed: now };
            list.push(KeptResource { resource, clone, replacement, plain: Some(plain), value, ticks });
        }
        Ok(Ok(KeptResources { list, is_of_delta: true }))
    }

    /// Swaps the resources with those that were kept once. Those that were not kept then are reset or left alone; if they were
    /// changed after `now`, they count as changed now.
    ///
    /// Allocates nothing, and runs no code of the resources.
    pub(crate) fn swap_kept(&mut self, kept: &mut KeptResources, now: Tick) {
        for kept in &mut kept.list {
            // Slots stay as long as the world lives.
            if let Some(at) = self.by_type.get(&kept.resource.type_id) {
                core::mem::swap(&mut self.list[*at].value, &mut kept.value);
                self.list[*at].ticks.by_ref().set(kept.ticks);
            }
        }
        for slot in &self.list {
            let ComponentTicks { added, changed } = slot.ticks.by_ref().get();
            let until_now = |tick: Tick| if tick.is_until(now) { tick } else { now };
            slot.ticks.by_ref().set(ComponentTicks { added: until_now(added), changed: until_now(changed) });
        }
        let is_uncovered =
            |slot: &&mut Slot| !(kept.covers(slot.resource.type_id) || kept.is_of_delta && slot.plain.is_some());
        for slot in self.list.iter_mut().filter(|slot| slot.replacement.is_some()).filter(is_uncovered) {
            if let (Some(replacement), Some(value)) = (slot.replacement, &mut slot.value) {
                (replacement.reset)(&mut **value);
            }
        }
    }

    /// Returns the names of the resources that are there and are not covered, in alphabetical order.
    pub(crate) fn uncovered(&self, kept: Option<&KeptResources>) -> Vec<&'static str> {
        let is_covered = |slot: &Slot| kept.map_or(slot.keep.is_some(), |kept| kept.covers(slot.resource.type_id));
        let is_there = |slot: &&Slot| slot.value.is_some() || slot.in_scope;
        let uncovered = self.list.iter().filter(is_there).filter(|slot| !is_covered(slot));
        let mut names: Vec<&'static str> = uncovered.map(|slot| slot.name()).collect();
        names.sort_unstable();
        names
    }
}
