//! Resources: values of which a world has one for each type.
//!
//! They are stored in the order in which they were first inserted or [kept](crate::ResourcesMut::keep), and dropped in that
//! order, which does not depend on type ids.
//!
//! Systems write resources through a shared world, so each value is in a [`ResourceCell`].
#![allow(unsafe_code)]

mod kept_resources;
mod res;
mod resource_cell;
mod resource_id;

pub(crate) use kept_resources::PlainResource;
#[cfg(feature = "timeline")]
pub(crate) use kept_resources::{KeptResources, ReadError, ResourceBytes, fingerprint};
pub use res::{Res, ResMut};
pub(crate) use resource_cell::ResourceCell;
pub use resource_id::ResourceId;
pub(crate) use resource_id::ResourceType;

#[cfg(feature = "snapshot")]
use crate::change_detection::ComponentTicks;
use crate::change_detection::{AtomicTicks, RunTicks, Tick};
use crate::error::NoSuchResource;
use crate::type_map::TypeIdHasher;
use core::any::{Any, TypeId};
use core::fmt;
use kept_resources::CloneResource;
pub(crate) use kept_resources::clone_resource;
use phalanx_store::AllocError;
use std::collections::HashMap;

/// The resources of a world.
#[derive(Default)]
pub(crate) struct Resources {
    list: Vec<Slot>,
    by_type: HashMap<TypeId, usize, TypeIdHasher>,
}

/// The [`ResourceCell`] of a type that its slot knows.
pub(crate) type Stored = Box<dyn Any + Send + Sync>;

/// What happens to a resource of one type when the world goes to another state.
#[derive(Clone, Copy)]
pub(crate) struct Replacement {
    /// Resets the value if the other state does not cover it. Drops and allocates nothing.
    pub(crate) reset: fn(&mut (dyn Any + Send + Sync)),
    /// Adds to the value of the other state what must not be lost of the present one.
    pub(crate) carry: CarryResource,
}

/// Adds to a value, the first, what must not be lost of another one.
pub(crate) type CarryResource = fn(&mut (dyn Any + Send + Sync), &(dyn Any + Send + Sync)) -> Result<(), AllocError>;

/// The slot of a type. It stays when the value is removed.
pub(crate) struct Slot {
    resource: ResourceType,
    pub(crate) value: Option<Stored>,
    /// When the value was inserted and changed. Systems set it through a shared world.
    pub(crate) ticks: AtomicTicks,
    pub(crate) in_scope: bool,
    /// Clones the value, if it is part of checkpoints and clones of the world.
    pub(crate) keep: Option<CloneResource>,
    /// What happens to the value when the world goes to another state, beside being replaced.
    pub(crate) replacement: Option<Replacement>,
    /// Writes and reads the value as bytes, if it is part of deltas.
    pub(crate) plain: Option<PlainResource>,
}

impl Slot {
    /// Creates the slot of a type that is not kept, without a value.
    fn new(resource: ResourceType) -> Slot {
        let ticks = AtomicTicks::new(Tick::default());
        Slot { resource, value: None, ticks, in_scope: false, keep: None, replacement: None, plain: None }
    }

    /// Inserts a value, and returns the old one.
    pub(crate) fn insert(&mut self, value: Stored, now: Tick) -> Option<Stored> {
        // While a scope has taken the value out, it is still the one that was added.
        self.ticks.by_ref().set_inserted(self.value.is_some() || self.in_scope, now);
        self.value.replace(value)
    }

    /// Returns the cell of the value, if there is a value of type `R`.
    pub(crate) fn cell<R: 'static>(&self) -> Result<&ResourceCell<R>, NoSuchResource> {
        let cell = self.value.as_ref().and_then(|value| value.downcast_ref());
        cell.ok_or_else(|| missing::<R>(self.in_scope))
    }

    /// Returns the value with its ticks, if there is one of type `R`.
    pub(crate) fn get_ref<R: 'static>(&self, run: RunTicks) -> Result<Res<'_, R>, NoSuchResource> {
        Ok(Res::new(self.cell::<R>()?.get(), self.ticks.by_ref(), run))
    }

    /// Returns the value for writing, with its ticks, if there is one of type `R`.
    pub(crate) fn get_tracked<R: 'static>(&mut self, run: RunTicks) -> Result<ResMut<'_, R>, NoSuchResource> {
        let cell = self.value.as_mut().and_then(|value| value.downcast_mut::<ResourceCell<R>>());
        let cell = cell.ok_or(missing::<R>(self.in_scope))?;
        Ok(ResMut::new(cell.get_mut(), self.ticks.by_mut(), run))
    }

    /// Returns the value, if there is one of type `R`. No change is recorded.
    pub(crate) fn get_mut<R: 'static>(&mut self) -> Result<&mut R, NoSuchResource> {
        let cell = self.value.as_mut().and_then(|value| value.downcast_mut::<ResourceCell<R>>());
        cell.map(ResourceCell::get_mut).ok_or(missing::<R>(self.in_scope))
    }
}

impl Resources {
    /// Returns the slot of a type.
    pub(crate) fn find<R: 'static>(&self) -> Result<&Slot, NoSuchResource> {
        self.by_type.get(&TypeId::of::<R>()).map(|at| &self.list[*at]).ok_or_else(|| missing::<R>(false))
    }

    /// Returns the slot of a type, for writing.
    pub(crate) fn find_mut<R: 'static>(&mut self) -> Result<&mut Slot, NoSuchResource> {
        self.by_type.get(&TypeId::of::<R>()).map(|at| &mut self.list[*at]).ok_or_else(|| missing::<R>(false))
    }

    /// Returns the number of the slot of a type, which is created if there is none. It never changes.
    pub(crate) fn number_of<R: Send + Sync + 'static>(&mut self) -> usize {
        self.slot_mut::<R>();
        self.by_type[&TypeId::of::<R>()]
    }

    /// Returns the slot with a number.
    pub(crate) fn slot(&self, number: usize) -> &Slot {
        &self.list[number]
    }

    /// Returns the types of the resources that are there, and their names, in the order of the slots.
    #[cfg(feature = "snapshot")]
    pub(crate) fn types(&self) -> impl Iterator<Item = (TypeId, &'static str)> + '_ {
        self.list.iter().filter(|slot| slot.value.is_some()).map(|slot| (slot.resource.type_id, slot.resource.name))
    }

    /// Reserves capacity for `additional` more slots.
    pub(crate) fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        crate::alloc::try_reserve(&mut self.list, additional)?;
        crate::alloc::try_reserve_map(&mut self.by_type, additional)
    }

    /// Inserts a resource, and drops the old one.
    #[cfg(feature = "snapshot")]
    pub(crate) fn try_insert<R: Send + Sync + 'static>(&mut self, value: R, now: Tick) -> Result<(), AllocError> {
        let value = crate::alloc::try_box(ResourceCell::new(value))?;
        self.try_reserve(1)?;
        drop(self.slot_mut::<R>().insert(value, now));
        Ok(())
    }

    /// Reserves capacity for [those of another world](Resources::absorb).
    #[cfg(feature = "snapshot")]
    pub(crate) fn try_reserve_for(&mut self, other: &Resources) -> Result<(), AllocError> {
        self.try_reserve(other.list.len())
    }

    /// Moves resources here from another world, except for types of which there is one here. Allocates nothing if capacity was
    /// reserved.
    #[cfg(feature = "snapshot")]
    pub(crate) fn absorb(&mut self, other: &mut Resources, now: Tick) {
        for slot in &mut other.list {
            if slot.value.is_none() {
                continue;
            }
            let target = self.slot_of(slot.resource);
            if target.value.is_none() && !target.in_scope {
                target.value = slot.value.take();
                target.ticks.by_ref().set(ComponentTicks::new(now));
            }
        }
    }

    /// Makes all resources count as inserted now.
    #[cfg(feature = "snapshot")]
    pub(crate) fn renew(&self, now: Tick) {
        self.list.iter().for_each(|slot| slot.ticks.by_ref().set(ComponentTicks::new(now)));
    }

    /// Swaps the resources that another world has with those here, which count as inserted now. Allocates nothing if capacity was reserved.
    #[cfg(feature = "snapshot")]
    pub(crate) fn swap_those_of(&mut self, other: &mut Resources, now: Tick) {
        for slot in other.list.iter_mut().filter(|slot| slot.value.is_some()) {
            let target = self.slot_of(slot.resource);
            if !target.in_scope {
                target.ticks.by_ref().set_inserted(target.value.is_some(), now);
                core::mem::swap(&mut target.value, &mut slot.value);
            }
        }
    }

    /// Returns the slot of a type, which is created if there is none.
    pub(crate) fn slot_mut<R: Send + Sync + 'static>(&mut self) -> &mut Slot {
        self.slot_of(ResourceType::of::<R>())
    }

    /// Returns the slot of a type, which is created if there is none.
    fn slot_of(&mut self, resource: ResourceType) -> &mut Slot {
        let at = *self.by_type.entry(resource.type_id).or_insert(self.list.len());
        if at == self.list.len() {
            self.list.push(Slot::new(resource));
        }
        &mut self.list[at]
    }
}

/// Returns the value of a slot of type `R`.
pub(crate) fn unboxed<R: 'static>(value: Stored) -> R {
    match value.downcast::<ResourceCell<R>>() {
        Ok(value) => value.into_inner(),
        Err(_) => unreachable!("a slot holds its type"),
    }
}

/// Returns the error for a resource that is not there.
pub(crate) fn missing<R>(in_scope: bool) -> NoSuchResource {
    NoSuchResource { resource: core::any::type_name::<R>(), in_scope }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().filter(|slot| slot.value.is_some()).map(Slot::name)).finish()
    }
}
