//! [`ResourceId`], and access to resources whose types are known only at run time.

use super::{ResourceCell, Resources, Slot, Stored};
use crate::change_detection::Tick;
use crate::error::NoSuchResource;
use core::any::{Any, TypeId};
use core::fmt;

/// The number of a resource type in one world, in the order in which the types became known.
///
/// [`World::register_resource`](crate::World::register_resource) assigns it, and
/// [`World::resource_id`](crate::World::resource_id) returns it. It never changes, also if the resource is removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u32);

impl ResourceId {
    /// Returns the id with the number `index`.
    pub const fn from_index(index: u32) -> ResourceId {
        ResourceId(index)
    }

    /// Returns the number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "resource {}", self.0)
    }
}

/// A value of any type.
type AnyResource = dyn Any + Send + Sync;

/// A type of resources: its identity, and how values are reached without it.
#[derive(Clone, Copy)]
pub(crate) struct ResourceType {
    pub(crate) type_id: TypeId,
    pub(crate) name: &'static str,
    get: fn(&AnyResource) -> Option<&AnyResource>,
    get_mut: fn(&mut AnyResource) -> Option<&mut AnyResource>,
    store: fn(Box<AnyResource>) -> Result<Stored, Box<AnyResource>>,
    take: fn(Stored) -> Box<AnyResource>,
}

impl ResourceType {
    /// Returns the description of a type.
    pub(crate) fn of<R: Send + Sync + 'static>() -> ResourceType {
        ResourceType {
            type_id: TypeId::of::<R>(),
            name: core::any::type_name::<R>(),
            get: |cell| Some(cell.downcast_ref::<ResourceCell<R>>()?.get()),
            get_mut: |cell| Some(cell.downcast_mut::<ResourceCell<R>>()?.get_mut()),
            store: |value| value.downcast::<R>().map(|value| Box::new(ResourceCell::new(*value)) as Stored),
            take: |stored| Box::new(super::unboxed::<R>(stored)),
        }
    }
}

impl Slot {
    /// Returns the name of the type.
    pub(crate) fn name(&self) -> &'static str {
        self.resource.name
    }

    fn missing(&self) -> NoSuchResource {
        NoSuchResource { resource: self.name(), in_scope: self.in_scope }
    }

    /// Returns the value, if there is one.
    pub(crate) fn value_dyn(&self) -> Result<&AnyResource, NoSuchResource> {
        self.value.as_ref().and_then(|value| (self.resource.get)(&**value)).ok_or_else(|| self.missing())
    }

    /// Returns the value, if there is one, for writing. It counts as changed now.
    pub(crate) fn value_dyn_mut(&mut self, now: Tick) -> Result<&mut AnyResource, NoSuchResource> {
        let missing = self.missing();
        if self.value.is_some() {
            self.ticks.by_ref().set_changed(now);
        }
        self.value.as_mut().and_then(|value| (self.resource.get_mut)(&mut **value)).ok_or(missing)
    }

    /// Replaces the value, and returns the old one. Returns the new one if it is of another type.
    pub(crate) fn insert_dyn(
        &mut self,
        value: Box<AnyResource>,
        now: Tick,
    ) -> Result<Option<Box<AnyResource>>, Box<AnyResource>> {
        let value = (self.resource.store)(value)?;
        Ok(self.insert(value, now).map(self.resource.take))
    }

    /// Removes the value, and returns it.
    pub(crate) fn remove_dyn(&mut self) -> Result<Box<AnyResource>, NoSuchResource> {
        self.value.take().map(self.resource.take).ok_or_else(|| self.missing())
    }
}

impl Resources {
    /// Returns the number of the slot of a type, if there is one.
    pub(crate) fn number_of_type(&self, type_id: TypeId) -> Option<usize> {
        self.by_type.get(&type_id).copied()
    }

    /// Returns all slots, in the order of their numbers.
    pub(crate) fn slots(&self) -> impl ExactSizeIterator<Item = &Slot> {
        self.list.iter()
    }

    /// Returns the slot with an id.
    pub(crate) fn slot_by_id(&self, id: ResourceId) -> Result<&Slot, NoSuchResource> {
        self.list.get(id.index()).ok_or(UNKNOWN)
    }

    /// Returns the slot with an id, for writing.
    pub(crate) fn slot_by_id_mut(&mut self, id: ResourceId) -> Result<&mut Slot, NoSuchResource> {
        self.list.get_mut(id.index()).ok_or(UNKNOWN)
    }
}

/// The error for an id that the world has not assigned.
const UNKNOWN: NoSuchResource = NoSuchResource { resource: "with an id that it has not assigned", in_scope: false };
