//! Components that are known only at run time, and values by their addresses.
//!
//! # Invariants
//!
//! What a component of run time is, is said once, when it is registered; from then on its values are moved as bytes and
//! ended by its destructor, as those of any other.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::{try_vec, unwrap_alloc};
use crate::bundle::BundlePtr;
use crate::bundle_info::{self, EdgeKey};
use crate::change_detection::Track;
use crate::component::{Cloning, ComponentId, ComponentInfo};
use crate::error::panic_change;
use crate::error::{ChangeError, ComponentError, NoSuchEntity};
use crate::layout::{Kind, put_bytes, put_nothing};
use crate::query::Candidate;
use core::alloc::Layout;
use core::ptr::NonNull;
use phalanx_store::Entity;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What a component is that has no type in the program: [`World::register_component_with_descriptor`].
#[derive(Clone, Debug)]
pub struct ComponentDescriptor {
    /// Its name, for messages. Kept for the life of the process, each name once.
    pub name: Cow<'static, str>,
    /// The layout of a value. Its size is rounded up to its alignment.
    pub layout: Layout,
    /// Where the values are kept.
    pub kind: Kind,
    /// What ends a value, if anything must be done.
    pub drop: Option<unsafe fn(*mut u8)>,
    /// What writes a clone of the first value to the place of the second, if they can be cloned.
    pub clone: Option<unsafe fn(*const u8, *mut u8)>,
}

/// The one copy of a name.
fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = String::from(name).leak();
    names.insert(name);
    name
}

impl ComponentDescriptor {
    /// What a world knows of the component.
    pub(crate) fn into_info(self) -> ComponentInfo {
        let layout = self.layout.pad_to_align();
        let empty = layout.size() == 0;
        ComponentInfo {
            name: intern(&self.name),
            type_id: None,
            lanes: if empty { Box::default() } else { Box::new([layout]) },
            drop: self.drop,
            clone: self.clone.map(Cloning::Value),
            put: if empty { put_nothing } else { put_bytes },
            visit: None,
            kind: self.kind,
            whole: true,
            bytes: crate::plain::ByteInfo::new(crate::plain::Bytes::Unknown, ""),
            track: Track::None,
            usage: Default::default(),
        }
    }
}

impl World {
    /// Gives an id to a component that has no type in the program. One that is known already, with the same name, layout
    /// and destructor, keeps its id.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use core::ptr::NonNull;
    /// use phalanx::layout::Kind;
    /// use phalanx::{ComponentDescriptor, World};
    ///
    /// let mut world = World::new();
    /// let layout = Layout::new::<u64>();
    /// let descriptor = ComponentDescriptor { name: "score".into(), layout, kind: Kind::Table, drop: None, clone: None };
    /// // SAFETY: numbers can be sent and shared, and need no destructor.
    /// let score = unsafe { world.register_component_with_descriptor(descriptor) };
    /// let e = world.spawn_empty();
    /// let mut value = 5_u64;
    /// // SAFETY: the value is what the component was registered for.
    /// unsafe { world.insert_by_id(e, score, NonNull::from(&mut value).cast()) }.unwrap();
    /// let found = world.get_by_id(e, score).unwrap();
    /// // SAFETY: the value is there while the world is not changed.
    /// assert_eq!(unsafe { found.cast::<u64>().read() }, 5);
    /// ```
    ///
    /// # Safety
    ///
    /// Values of the component may be sent to and shared with other threads. They may be moved as bytes of the layout, and
    /// live as long as any world. The destructor, given an aligned pointer to a value, ends it; the clone function reads
    /// the first value and writes another to the second place. In all worlds of the process, components of run time with
    /// the same name, layout and destructor have values of the same type.
    ///
    /// # Panics
    ///
    /// If a value takes 4 GiB or more, or is aligned to more than 2 GiB.
    #[track_caller]
    pub unsafe fn register_component_with_descriptor(&mut self, descriptor: ComponentDescriptor) -> ComponentId {
        let layout = descriptor.layout.pad_to_align();
        assert!(
            layout.size() <= u32::MAX as usize && layout.align() <= 1 << 31,
            "a value of {} takes {} bytes, aligned to {}: more than a component can have",
            descriptor.name,
            layout.size(),
            layout.align(),
        );
        let info = descriptor.into_info();
        self.storage.components.find_run_time(&info).unwrap_or_else(|| unwrap_alloc(self.storage.components.add(info)))
    }

    /// The address of a component's value. It is good until the world is changed or the value written.
    ///
    /// For a component without data it is an aligned address of nothing.
    ///
    /// # Errors
    ///
    /// If the entity is not alive or does not have the component, or its values lie in several lanes.
    pub fn get_by_id(&self, entity: Entity, id: ComponentId) -> Result<NonNull<u8>, ComponentError> {
        let location = self.storage.try_location(entity)?;
        let (lane, row) = match self.storage.sparse.of(id) {
            None => (self.storage.lane(id, location.table), location.row),
            Some(side) => match side.row(entity.index()) {
                None => (core::ptr::null_mut(), 0),
                Some(row) => (side.values().lane(), row),
            },
        };
        if lane.is_null() {
            let info = self.storage.components.iter().nth(id.index());
            let component = info.map_or("an unknown component", |(_, info)| info.name());
            return Err(ComponentError::MissingComponent { entity, component });
        }
        let info = self.storage.components.info(id);
        match (info.whole, info.is_void()) {
            (false, _) => Err(ComponentError::NoAddress { component: info.name() }),
            (true, true) => Ok(NonNull::without_provenance(crate::storage::table::ALIGNED_FOR_ALL)),
            // SAFETY: the lane is the component's, the row is in use, and a lane's block is not at zero.
            (true, false) => unsafe { Ok(NonNull::new_unchecked(crate::storage::table::row_ptr(&*lane, row))) },
        }
    }

    /// The address of a component's value, for writing. It is good until the world is used otherwise.
    ///
    /// # Errors
    ///
    /// As [`get_by_id`](World::get_by_id).
    pub fn get_mut_by_id(&mut self, entity: Entity, id: ComponentId) -> Result<NonNull<u8>, ComponentError> {
        let address = self.get_by_id(entity, id)?;
        self.open(id, |_| true);
        // SAFETY: the entity is alive, and the world is borrowed exclusively.
        unsafe { Candidate::new(self, entity.index(), None).mark_written(id) };
        Ok(address)
    }

    /// Whether an entity is alive and has a component.
    pub fn has_id(&self, entity: Entity, id: ComponentId) -> bool {
        self.storage.has(entity, id)
    }

    /// Gives an entity a component by its id. The value is moved out of where it is; an old one is dropped.
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the value is not moved then.
    ///
    /// # Panics
    ///
    /// If the world has no component of that id.
    ///
    /// # Safety
    ///
    /// `value` points at a value of the component, which the caller gives up.
    #[track_caller]
    pub unsafe fn insert_by_id(
        &mut self,
        entity: Entity,
        id: ComponentId,
        value: NonNull<u8>,
    ) -> Result<(), NoSuchEntity> {
        // SAFETY: the caller's promise.
        match unsafe { self.try_insert_by_ids(entity, &[(id, value)]) } {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => panic_change(error),
        }
    }

    /// Gives an entity components by their ids, in one move. The values are moved out of where they are; old ones are
    /// dropped.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, an id comes twice, or memory cannot be had; no value is moved then, and nothing
    /// happens.
    ///
    /// # Panics
    ///
    /// If the world has no component of one of the ids.
    ///
    /// # Safety
    ///
    /// Each address is that of a value of its component, which the caller gives up if this succeeds.
    #[track_caller]
    pub unsafe fn try_insert_by_ids(
        &mut self,
        entity: Entity,
        values: &[(ComponentId, NonNull<u8>)],
    ) -> Result<(), ChangeError> {
        let (mut ids, mut sparse_inserts) = (try_vec(values.len())?, try_vec(values.len())?);
        ids.extend(values.iter().map(|(id, _)| *id));
        for id in &ids {
            let info = self.storage.components.info(*id);
            sparse_inserts.push((info.put, info.kind()));
        }
        let write = |place: BundlePtr| {
            for (at, ((_, value), (put, kind))) in values.iter().zip(&sparse_inserts).enumerate() {
                // SAFETY: the places are those of the ids, in their order; the rest is the caller's promise.
                unsafe {
                    let (lane, row) = place.lane(at, *kind);
                    put(lane, row, value.as_ptr(), place.clock);
                }
            }
        };
        // SAFETY: the values of the ids are moved in.
        unsafe { self.insert_erased(entity, &ids, write) }
    }

    /// Gives an entity the components of these ids.
    ///
    /// # Safety
    ///
    /// As for [`follow`](World::follow): `write` moves in a value of each component.
    #[track_caller]
    pub(super) unsafe fn insert_erased(
        &mut self,
        entity: Entity,
        ids: &[ComponentId],
        write: impl FnOnce(BundlePtr),
    ) -> Result<(), ChangeError> {
        assert!(!ids.contains(&ComponentId::ROW), "the reserved component is not for users");
        let bundle = bundle_info::signature(ids, &self.storage.components)?;
        let sparse_inserts = self.storage.sparse(ids)?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        let goal = self.storage.tables[from.table as usize].signature.try_merge(&bundle)?;
        let target = self.storage.table_of(&goal)?;
        let mut edge = self.storage.edge_between(from.table, target, &bundle, self.storage.places(target, ids)?)?;
        edge.sparse_inserts = sparse_inserts;
        // SAFETY: the entity is there, the edge leads to the table that has the ids beside what comes along.
        unsafe { self.insert_along(entity, from, EdgeKey::Own(&edge), write) }
    }

    /// Makes an entity with the components of these ids.
    ///
    /// # Safety
    ///
    /// As for [`insert_erased`](World::insert_erased).
    #[track_caller]
    pub(super) unsafe fn spawn_erased(
        &mut self,
        ids: &[ComponentId],
        write: impl FnOnce(BundlePtr),
    ) -> Result<Entity, ChangeError> {
        assert!(!ids.contains(&ComponentId::ROW), "the reserved component is not for users");
        let signature = bundle_info::signature(ids, &self.storage.components)?;
        let table = self.storage.table_of(&signature)?;
        let places = self.storage.places(table, ids)?;
        let sparse = self.storage.sparse(ids)?;
        self.storage.flush()?;
        self.storage.reserve_entities(1)?;
        self.storage.reserve_table(table, 1)?;
        self.storage.reserve_row_entries(table, 1)?;
        self.storage.reserve_sparse(0, &sparse)?;
        // Splitting a value may be user code: it is done before anything is committed.
        write(self.storage.place(table, places.as_ptr(), self.storage.tables[table as usize].len));
        let entity = self.storage.entities.alloc();
        // SAFETY: everything is reserved, and the values are written.
        unsafe { self.storage.spawn_row::<true>(entity, table, &sparse) };
        self.dispatch();
        Ok(entity)
    }

    /// Makes an entity with components by their ids. The values are moved out of where they are.
    ///
    /// # Errors
    ///
    /// If an id comes twice, or memory cannot be had; no value is moved then, and nothing happens.
    ///
    /// # Panics
    ///
    /// If the world has no component of one of the ids.
    ///
    /// # Safety
    ///
    /// Each address is that of a value of its component, which the caller gives up if this succeeds.
    #[track_caller]
    pub unsafe fn try_spawn_by_ids(&mut self, values: &[(ComponentId, NonNull<u8>)]) -> Result<Entity, ChangeError> {
        let (mut ids, mut sparse_inserts) = (try_vec(values.len())?, try_vec(values.len())?);
        ids.extend(values.iter().map(|(id, _)| *id));
        for id in &ids {
            let info = self.storage.components.info(*id);
            sparse_inserts.push((info.put, info.kind()));
        }
        let write = |place: BundlePtr| {
            for (at, ((_, value), (put, kind))) in values.iter().zip(&sparse_inserts).enumerate() {
                // SAFETY: the places are those of the ids, in their order; the rest is the caller's promise.
                unsafe {
                    let (lane, row) = place.lane(at, *kind);
                    put(lane, row, value.as_ptr(), place.clock);
                }
            }
        };
        // SAFETY: the values of the ids are moved in.
        unsafe { self.spawn_erased(&ids, write) }
    }
}
