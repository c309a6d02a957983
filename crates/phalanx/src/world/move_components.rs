//! Moves and clones selected components from one entity to another.
#![allow(unsafe_code)]

use super::slot_batch::{finish_each, make_required, reserve_each};
use super::{EntityMut, World};
use crate::alloc::try_vec;
use crate::bundle::{Bundle, BundlePtr};
use crate::bundle_info::EdgeKey;
use crate::change_detection::{Track, set_column_tick, write_ticks};
use crate::component::{Cloning, ComponentId, ComponentInfo, DropFn};
use crate::error::StructuralError;
use crate::journal::{MovedValues, ValuePtr};
use crate::layout::Kind;
use crate::mutation::stash::{DropStash, Stash};
use crate::mutation::{MadeRequired, MovedTo, Reserved};
use crate::storage::Storage;
use crate::storage::table::ALIGNED_FOR_ALL;
use phalanx_store::Entity;
use phalanx_store::raw::{DropGuard, Lane, copy_row, row_ptr};

impl EntityMut<'_> {
    /// Moves the components of `B` to another entity: all of them, or nothing changes. Components that the other entity already
    /// has are overwritten, and their old values are dropped.
    ///
    /// No value is cloned, and the moved ones are not dropped. For [listeners](crate::signal), the components are inserted into
    /// the other entity and then removed from this one. If the other entity is the same one, nothing happens.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Sword(String);
    /// #[derive(Component)]
    /// struct Shield;
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn((Sword("Sting".into()), Shield)), world.spawn(())];
    /// world.entity_mut(ann)?.move_components::<Sword>(bob)?;
    /// assert_eq!(world.get::<Sword>(bob).unwrap().0, "Sting");
    /// assert!(!world.has::<Sword>(ann) && world.has::<Shield>(ann));
    /// # Ok::<(), phalanx::StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the other entity is not alive.
    /// - [`StructuralError::Missing`] if this entity does not have all of the components.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    #[doc(alias = "swap_components")]
    pub fn move_components<B: Bundle>(&mut self, to: Entity) -> Result<(), StructuralError> {
        move_components::<B>(self.world, self.entity, to)
    }

    /// Inserts clones of the components of `B` into another entity: of all of them, or nothing changes. Components that the other
    /// entity already has are overwritten, and their old values are dropped.
    ///
    /// Entities in the components stay as they are. To clone a whole entity there is
    /// [`clone_entity`](EntityMut::clone_entity).
    ///
    /// ```
    /// use phalanx::{Component, StructuralError, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(clone)]
    /// struct Language(String);
    /// #[derive(Component)]
    /// struct Soul;
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn((Language("Latin".into()), Soul)), world.spawn(())];
    /// let mut ann = world.entity_mut(ann)?;
    /// ann.clone_components::<Language>(bob)?;
    /// assert!(matches!(ann.clone_components::<Soul>(bob), Err(StructuralError::NotClone { .. })));
    /// assert_eq!(world.get::<Language>(bob).unwrap().0, "Latin");
    /// # Ok::<(), StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the other entity is not alive.
    /// - [`StructuralError::Missing`] if this entity does not have all of the components.
    /// - [`StructuralError::NotClone`] if a component cannot be cloned.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// Nothing has changed on error, and if a clone panics.
    #[doc(alias = "EntityCloner")]
    pub fn clone_components<B: Bundle>(&mut self, to: Entity) -> Result<(), StructuralError> {
        clone_components::<B>(self.world, self.entity, to)
    }
}

fn move_components<B: Bundle>(world: &mut World, from: Entity, to: Entity) -> Result<(), StructuralError> {
    world.storage.flush()?;
    world.storage.try_location(to)?;
    let bundle_id = bundle_id_in::<B>(world, from)?;
    let originals = try_find_values(world, from, bundle_id)?;
    if from == to {
        return Ok(());
    }
    let inserted = world.bundle_for_slot(bundle_id, to.index())?;
    let mut moved: MovedValues = try_vec(originals.len())?;
    let mut stash = Stash::default();
    reserve_each(world, [(to, inserted, true), (from, bundle_id, false)].into_iter(), &mut stash)?;
    let mut required = MadeRequired::default();
    let mut made = make_required(world, core::iter::once((to, inserted)), &mut required)?;
    world.storage.begin_linked_entries();
    let mut ending = DropStash::new(&mut stash);
    let World { bundles, storage, .. } = &mut *world;
    let at = storage.try_location(to)?;
    let edge = bundles.edge(inserted, at.table, true);
    // SAFETY: the entity is at `at`, its edge for this bundle exists, and everything is reserved. The values are copied to the
    // columns of the bundle, in its order, and count as moved out by the next commit.
    unsafe {
        let copy = |ptr| originals.iter().for_each(|value| value.copy(ptr));
        storage.move_row_with(Reserved::new(), (to, at), edge, copy, &mut made, ending.stash());
    }
    moved.extend(originals.iter().map(|value| (value.id, ValuePtr::None)));
    // The row may have taken the position of the other one.
    let at = storage.try_location(from)?;
    let edge = bundles.edge(bundle_id, at.table, false);
    // SAFETY: the entity is at `at`, its edge for this bundle exists, and inserts nothing. Everything is reserved, and the values
    // were moved out.
    unsafe { storage.move_row(Reserved::new(), from, at, edge, &mut MovedTo { slot: to, values: &mut moved }) };
    drop(made);
    storage.sparse.release_pages();
    finish_each(world, ending);
    Ok(())
}

fn clone_components<B: Bundle>(world: &mut World, from: Entity, to: Entity) -> Result<(), StructuralError> {
    world.storage.flush()?;
    let at = world.storage.try_location(to)?;
    let bundle_id = bundle_id_in::<B>(world, from)?;
    let originals = try_find_values(world, from, bundle_id)?;
    if let Some(value) = originals.iter().find(|value| value.clone.is_none()) {
        return Err(StructuralError::NotClone { component: world.storage.components.info(value.id).name() });
    }
    let bundle_id = world.bundle_for_slot(bundle_id, to.index())?;
    world.edge(bundle_id, at.table, true)?;
    let edge = EdgeKey::Cached { bundle_id, insert: true };
    // SAFETY: the entity is at `at`, and the edge inserts the bundle, all of whose components are cloned. The originals do not
    // change before that: their lanes may grow, but stay where they are.
    unsafe { world.insert_along_erased(to, at, edge, &mut |ptr| clone_values(&originals, ptr)) }
}

/// Returns the number of a bundle with those of its optional components that an entity has.
fn bundle_id_in<B: Bundle>(world: &mut World, entity: Entity) -> Result<usize, StructuralError> {
    let all = world.full_bundle_id::<B>()?;
    if B::OPTIONAL == 0 {
        return Ok(all);
    }
    let (ids, mut present, mut bit) = (&world.bundles.get(all).ids, 0, 1);
    B::optional(0, &mut |at| {
        present |= if world.storage.has(entity, ids[at]) { bit } else { 0 };
        bit <<= 1;
    });
    world.bundle_id_with::<B>(present)
}

/// Returns the values of an entity for the components of a bundle, in its order, without optional ones that are not there.
fn try_find_values(world: &World, entity: Entity, bundle_id: usize) -> Result<Vec<Original>, StructuralError> {
    let (storage, ids) = (&world.storage, &world.bundles.get(bundle_id).ids);
    let mut originals = try_vec(ids.len())?;
    for (number, id) in ids.iter().enumerate().filter(|(_, id)| **id != ComponentId::UNKNOWN) {
        let info = storage.components.info(*id);
        let missing = || StructuralError::Missing { entity, component: info.name() };
        originals.push(Original::find(storage, entity, (number, *id), info).ok_or_else(missing)?);
    }
    Ok(originals)
}

/// A value of an entity that is copied or cloned to another one.
struct Original {
    id: ComponentId,
    /// The number of the component in the bundle.
    number: usize,
    kind: Kind,
    /// The first lane of the component, and the row of the value. A lane does not move as long as its storage exists; its rows
    /// do when it grows.
    lanes: *const Lane,
    row: u32,
    /// The number of lanes without those of change ticks.
    value_lanes: usize,
    track: Track,
    clone: Option<Cloning>,
    drop: Option<DropFn>,
}

impl Original {
    /// Returns the value of an entity for a component, given its number in the bundle and its id.
    fn find(
        storage: &Storage,
        entity: Entity,
        (number, id): (usize, ComponentId),
        info: &ComponentInfo,
    ) -> Option<Original> {
        let Some(ValuePtr::Lanes(lanes, row)) = storage.value_ptr(entity, id) else { return None };
        let (kind, track, clone, drop) = (info.kind, info.track, info.clone, info.drop);
        Some(Original { id, number, kind, lanes, row, value_lanes: info.value_lanes(), track, clone, drop })
    }

    /// Copies the value to a row without a value, as one that is added now.
    ///
    /// # Safety
    ///
    /// - The value is where it was found.
    /// - The pointer is valid for a bundle of which this component is the one with this number, and no value is there.
    unsafe fn copy(&self, ptr: BundlePtr) {
        // SAFETY: the lanes are those of the component in both places, the one row is in use and the other within the capacity,
        // by the caller's contract.
        unsafe {
            let (to, row) = ptr.lane(self.number, self.kind);
            for lane in 0..self.value_lanes {
                let (from, to) = (&*self.lanes.add(lane), &*to.add(lane));
                copy_row(row_ptr(from, self.row), row_ptr(to, row as u32), from.row_size());
            }
            self.set_ticks(ptr);
        }
    }

    /// Clones the value to a row without a value, as one that is added now.
    ///
    /// # Safety
    ///
    /// As for [`copy`](Original::copy). The component can be cloned.
    unsafe fn clone(&self, ptr: BundlePtr) {
        // SAFETY: a value that is cloned by a function is in one lane, or has no size and any aligned address. The rest is the
        // caller's contract.
        unsafe {
            match self.clone {
                Some(Cloning::Value(clone)) => {
                    let from = if self.value_lanes > 0 { row_ptr(&*self.lanes, self.row) } else { DANGLING };
                    clone(from, self.address(ptr));
                    self.set_ticks(ptr);
                }
                _ => self.copy(ptr),
            }
        }
    }

    /// Returns the address of a value in its first lane.
    ///
    /// # Safety
    ///
    /// The pointer is valid for a bundle of which this component is the one with this number.
    unsafe fn address(&self, ptr: BundlePtr) -> *mut u8 {
        if self.value_lanes == 0 {
            return DANGLING;
        }
        // SAFETY: the pointer leads to the lanes of the component, by the caller's contract.
        unsafe {
            let (lane, row) = ptr.lane(self.number, self.kind);
            row_ptr(&*lane, row as u32)
        }
    }

    /// Sets the change ticks of a value that is added now.
    ///
    /// # Safety
    ///
    /// The pointer is valid for a bundle of which this component is the one with this number.
    unsafe fn set_ticks(&self, ptr: BundlePtr) {
        // SAFETY: the pointer leads to the lanes of the component, the last of which have its ticks, and to the clock, by the
        // caller's contract.
        unsafe {
            let (lanes, row) = ptr.lane(self.number, self.kind);
            match self.track {
                Track::None => {}
                Track::Column => set_column_tick(&*lanes.add(self.value_lanes), (*ptr.clock).now()),
                Track::Row => {
                    let lanes = core::slice::from_raw_parts(lanes, self.value_lanes + self.track.lanes());
                    write_ticks(lanes, row, (*ptr.clock).now());
                }
            }
        }
    }
}

/// An address that is aligned for any value.
const DANGLING: *mut u8 = core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get());

/// Clones values to a row without values. If a clone panics, those that were made are dropped.
///
/// # Safety
///
/// - The values are where they were found, and can be cloned.
/// - The pointer is valid for their components, in their order, and no values are there.
unsafe fn clone_values(originals: &[Original], ptr: BundlePtr) {
    let mut made = DropGuard::new(0, |made| {
        for value in originals.iter().take(*made) {
            if let Some(drop) = value.drop {
                // SAFETY: the clone was written there, and has no owner.
                unsafe { drop(value.address(ptr)) };
            }
        }
    });
    for value in originals {
        // SAFETY: the caller's contract is that of each value.
        unsafe { value.clone(ptr) };
        made.state += 1;
    }
    made.dismiss();
}
