//! Random access: finding the component of a row, wherever it is stored.
#![allow(unsafe_code)]

use crate::change_detection::RunTicks;
use crate::component::{Component, ComponentId};
use crate::layout::{Kind, Layout};
use crate::prefetch::prefetch;
use crate::signature::Signature;
use crate::sparse::{LinearStorage, SparseSet, Store};
use crate::world::{Location, World};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

/// A row that a query visits or tests.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RowRef {
    /// The index of its slot.
    pub(super) index: u32,
    /// Its slot, if it is known already.
    pub(super) key: Option<Entity>,
    /// Its position in the store that drives the query, if one does.
    pub(super) position: u32,
    /// Its location in its table, if the query [needs it](super::QueryData::NEEDS_LOCATION).
    pub(super) location: Location,
}

impl RowRef {
    /// The location for queries that do not need it.
    pub(super) const NOWHERE: Location = Location { table: u32::MAX, row: 0 };

    /// Returns the slot.
    #[inline(always)]
    pub(super) fn key(self, world: &World) -> Entity {
        match self.key.or_else(|| world.storage.slot(self.index)) {
            Some(key) => key,
            None => unreachable!("a row that is visited exists"),
        }
    }
}

type Ptr<C> = <<C as Component>::Layout as Layout<C>>::Ptr;

/// The storage of a component, resolved for random access.
#[doc(hidden)]
pub struct ComponentFetch<C: Component> {
    /// The columns by table, for a table component.
    lanes: NonNull<[*mut Lane]>,
    /// The store of a sparse component, null if no entity ever had it.
    pool: *const SparseSet,
    linear: *const LinearStorage,
    /// The values of the store, if there is one.
    values: MaybeUninit<Ptr<C>>,
    /// Whether this store drives the query, so that each row is in it at its position.
    is_driver: bool,
    /// The change ticks of the run.
    look: RunTicks,
}

impl<C: Component> Clone for ComponentFetch<C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Component> Copy for ComponentFetch<C> {}

impl<C: Component> fmt::Debug for ComponentFetch<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentFetch({})", core::any::type_name::<C>())
    }
}

impl<C: Component> ComponentFetch<C> {
    /// Whether the component is stored in tables.
    pub(super) const IS_DENSE: bool = matches!(C::Layout::KIND, Kind::Table);

    /// Resolves the storage of a component. `driver` is the component whose store drives the query.
    ///
    /// # Safety
    ///
    /// The id is that of `C` in this world, or one that no component of it has.
    #[inline]
    pub(super) unsafe fn new(id: ComponentId, world: &World, driver: Option<ComponentId>, look: RunTicks) -> Self {
        let mut fetch = ComponentFetch {
            lanes: NonNull::from(if Self::IS_DENSE { world.storage.lanes_of(id) } else { &[] }),
            pool: core::ptr::null(),
            linear: core::ptr::null(),
            values: MaybeUninit::uninit(),
            is_driver: driver == Some(id),
            look,
        };
        if !Self::IS_DENSE
            && let Some(side) = world.storage.sparse.of(id)
        {
            match &side.store {
                Store::Pool(pool) => fetch.pool = pool,
                Store::Linear(linear) => fetch.linear = linear,
            }
            // SAFETY: the lanes are those of `C`, by the caller's promise.
            fetch.values = MaybeUninit::new(unsafe { C::Layout::ptr(side.values().lane(), look) });
        }
        fetch
    }

    /// Returns the values of the store or table of a row, and the row's position among them.
    ///
    /// # Safety
    ///
    /// The world that was resolved is borrowed, and the row is one of its rows, with its location if the component is one
    /// of tables.
    #[inline(always)]
    pub(super) unsafe fn find(&self, row: RowRef) -> Option<(Ptr<C>, usize)> {
        // SAFETY: lanes and stores are those of the world. A row of the driver is in its store. Where there is a
        // store there are values.
        unsafe {
            match C::Layout::KIND {
                Kind::Table => {
                    let lane = *self.lanes.as_ref().get(row.location.table as usize)?;
                    (!lane.is_null()).then(|| (C::Layout::ptr(lane, self.look), row.location.row as usize))
                }
                Kind::Pool => {
                    let position = match self.is_driver {
                        true => row.position,
                        false => self.pool.as_ref()?.position(row.index)?,
                    };
                    Some((self.values.assume_init(), position as usize))
                }
                Kind::Linear => {
                    let index = row.index;
                    let there = self.is_driver || self.linear.as_ref()?.has(index);
                    there.then(|| (self.values.assume_init(), index as usize))
                }
            }
        }
    }

    /// Asks the processor to load a row's value.
    ///
    /// # Safety
    ///
    /// As for [`find`](ComponentFetch::find).
    #[inline(always)]
    pub(super) unsafe fn prefetch(&self, row: RowRef) {
        // The position in a pool is known only after its index was read, which is what one would wait for.
        // SAFETY: the lanes are the world's, and their headers can be read while it is borrowed.
        unsafe {
            if let Some(&lane) = self.lanes.as_ref().get(row.location.table as usize)
                && !lane.is_null()
            {
                for lane in (0..C::Layout::LANES).map(|at| &*lane.add(at)) {
                    prefetch(lane.ptr().as_ptr().wrapping_add(row.location.row as usize * lane.row_size()));
                }
            }
        }
    }

    /// Returns `true` if a row has the component.
    ///
    /// # Safety
    ///
    /// As for [`find`](ComponentFetch::find).
    #[inline(always)]
    pub(super) unsafe fn has(&self, row: RowRef) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.find(row) }.is_some()
    }
}

/// A row that a filter tests.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Candidate<'w> {
    world: &'w World,
    /// The index of its slot, which is in use: it has a location.
    slot: u32,
    /// A component that it is known to have.
    known: Option<ComponentId>,
}

impl<'w> Candidate<'w> {
    /// Returns the row of a slot, of which one component may be known to be there.
    ///
    /// # Safety
    ///
    /// The slot is in use, by an entity or by an extra row.
    #[inline(always)]
    pub(crate) unsafe fn new(world: &'w World, slot: u32, known: Option<ComponentId>) -> Candidate<'w> {
        Candidate { world, slot, known }
    }

    /// Returns the world of the row.
    #[inline(always)]
    pub(super) fn world(&self) -> &'w World {
        self.world
    }

    /// Sets the change ticks of a value that may be written.
    ///
    /// # Safety
    ///
    /// The id is one of the world. No other thread reads or writes the marks of the value.
    pub(crate) unsafe fn mark_written(self, id: ComponentId) {
        let storage = &self.world().storage;
        let info = storage.components.info(id);
        let Some((lanes, row)) = self.lanes_of(id).filter(|_| info.track != crate::change_detection::Track::None)
        else {
            return;
        };
        // SAFETY: the lanes are the component's, the last of which is that of its marks; the row is in use, and its marks may
        // be written, by the caller's promise.
        unsafe {
            let lane = lanes.add(info.lanes.len() - 1);
            match info.track {
                crate::change_detection::Track::Row => {
                    (*crate::change_detection::marks(&*lane, row)).changed = storage.tick()
                }
                _ => crate::change_detection::mark_column(&*lane, storage.tick()),
            }
        }
    }

    /// Returns where the row is in its table.
    #[inline(always)]
    fn location(&self) -> Location {
        // SAFETY: the slot is in use, by the promise of `new`, and stays so while the world is borrowed; so its location is
        // written.
        unsafe { *self.world.storage.entities.places().at(self.slot) }
    }

    /// Returns the table components of the row.
    pub fn signature(&self) -> &'w Signature {
        &self.world.storage.tables[self.location().table as usize].signature
    }

    /// Returns `true` if the row has a component, wherever it is stored.
    #[inline]
    pub fn has(&self, id: ComponentId) -> bool {
        self.known == Some(id)
            || match self.world.storage.sparse.of(id) {
                Some(side) => side.row(self.slot).is_some(),
                None => self.signature().has(id),
            }
    }

    /// Returns the first lane of a component and the row's position there, if the row has it.
    #[inline]
    pub(crate) fn lanes_of(&self, id: ComponentId) -> Option<(*const Lane, usize)> {
        if let Some(side) = self.world.storage.sparse.of(id) {
            return side.row(self.slot).map(|row| (side.values().lane().cast_const(), row as usize));
        }
        let at = self.location();
        let lane = self.world.storage.lane(id, at.table);
        (!lane.is_null()).then_some((lane.cast_const(), at.row as usize))
    }

    /// Like [`has`](Candidate::has), but for a type.
    #[inline(always)]
    pub(super) fn has_type<C: Component>(&self, id: ComponentId) -> bool {
        match !ComponentFetch::<C>::IS_DENSE {
            true => {
                self.known == Some(id) || self.world.storage.sparse.of(id).is_some_and(|s| s.row(self.slot).is_some())
            }
            false => self.signature().has(id),
        }
    }
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Candidate(slot {})", self.slot)
    }
}
