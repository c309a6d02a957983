//! Random access: finding the component of a row, wherever it is stored.
#![allow(unsafe_code)]

use super::VisitedRow;
use crate::change_detection::{RunTicks, Track, set_column_tick, ticks_at};
use crate::component::{Component, ComponentId};
use crate::layout::{Kind, Layout};
use crate::signature::Signature;
use crate::sparse::{LinearStorage, SparseSet, Store};
use crate::world::{Location, World};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;
use phalanx_store::raw::prefetch;

type Ptr<C> = <<C as Component>::Layout as Layout<C>>::Ptr;

/// The storage of a component, resolved for random access.
#[doc(hidden)]
pub struct ComponentFetch<C: Component> {
    /// The columns by table, for a table component.
    lanes: NonNull<[*mut Lane]>,
    /// Whether the values are those of the table that was settled, for a table component.
    settled: bool,
    /// The store of a sparse component, null if no entity ever had it.
    pool: *const SparseSet,
    linear: *const LinearStorage,
    /// The values of the store or of the settled table, if there is one.
    values: MaybeUninit<Ptr<C>>,
    /// Whether this store drives the query, so that each row is in it at its position.
    is_driver: bool,
    /// The change ticks of the run.
    ticks: RunTicks,
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
    pub(super) unsafe fn new(id: ComponentId, world: &World, driver: Option<ComponentId>, ticks: RunTicks) -> Self {
        let mut fetch = ComponentFetch {
            lanes: NonNull::from(if Self::IS_DENSE { world.storage.lanes_of(id) } else { &[] }),
            settled: false,
            pool: core::ptr::null(),
            linear: core::ptr::null(),
            values: MaybeUninit::uninit(),
            is_driver: driver == Some(id),
            ticks,
        };
        if !Self::IS_DENSE
            && let Some(sparse) = world.storage.sparse.of(id)
        {
            match &sparse.store {
                Store::Pool(pool) => fetch.pool = pool,
                Store::Linear(linear) => fetch.linear = linear,
            }
            // SAFETY: the id is that of `C`, by the caller's contract, and so are the lanes.
            fetch.values = MaybeUninit::new(unsafe { C::Layout::ptr(sparse.values().lane(), ticks) });
        }
        fetch
    }

    /// Resolves the values of a table, for a table component.
    #[inline(always)]
    pub(super) fn settle(mut self, table: u32) -> Self {
        // SAFETY: the view is that of a world that is borrowed and unchanged, by the contract of `QueryData::view`, so the lanes
        // are there. A lane that is not null is that of `C`.
        unsafe {
            let lane = self.lanes.as_ref().get(table as usize).filter(|lane| !lane.is_null());
            self.settled = lane.is_some();
            if let Some(&lane) = lane {
                self.values = MaybeUninit::new(C::Layout::ptr(lane, self.ticks));
            }
        }
        self
    }

    /// Returns the values of the store or table of a row, and the row's position among them.
    #[inline(always)]
    pub(super) fn find(&self, row: VisitedRow) -> Option<(Ptr<C>, usize)> {
        // SAFETY: the row is one of the world that was resolved and is borrowed, by the contract of `VisitedRow`, so lanes and
        // stores are there. A row of the driver is in its store. Where there is a store or a settled table there are values, and
        // a settled row is one of that table.
        unsafe {
            match C::Layout::KIND {
                Kind::Table => {
                    if row.is_settled() {
                        return self.settled.then(|| (self.values.assume_init(), row.location().row as usize));
                    }
                    let lane = *self.lanes.as_ref().get(row.location().table as usize)?;
                    (!lane.is_null()).then(|| (C::Layout::ptr(lane, self.ticks), row.location().row as usize))
                }
                Kind::Pool => {
                    let position = match self.is_driver {
                        true => row.position(),
                        false => self.pool.as_ref()?.position(row.index())?,
                    };
                    Some((self.values.assume_init(), position as usize))
                }
                Kind::Linear => {
                    let has = self.is_driver || self.linear.as_ref()?.has(row.index());
                    has.then(|| (self.values.assume_init(), row.index() as usize))
                }
            }
        }
    }

    /// Asks the processor to load a row's value.
    #[inline(always)]
    pub(super) fn prefetch(&self, row: VisitedRow) {
        // The position in a pool is known only after its index was read, which is what one would wait for.
        // SAFETY: the lanes are the world's, which is borrowed, by the contract of `VisitedRow`, so their headers can be read.
        unsafe {
            if let Some(&lane) = self.lanes.as_ref().get(row.location().table as usize)
                && !lane.is_null()
            {
                for lane in (0..C::Layout::LANES).map(|at| &*lane.add(at)) {
                    prefetch(lane.ptr().as_ptr().wrapping_add(row.location().row as usize * lane.row_size()));
                }
            }
        }
    }
}

/// A row that a filter tests.
///
/// While a filter has it, no other thread sets change ticks of the row that the filter may read: what a filter of this crate
/// reads is named in the [access](super::Access) of the query, and one of a user conflicts with all that sets ticks of rows.
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
    /// Returns the row of an entity, or an extra row. Returns `None` if it is not alive.
    #[inline]
    pub(crate) fn find(world: &'w World, slot: Entity) -> Option<Candidate<'w>> {
        world.storage.contains(slot).then_some(Candidate { world, slot: slot.index(), known: None })
    }

    /// Returns a row that a query visits.
    #[inline(always)]
    pub(super) fn of_row(world: &'w World, row: VisitedRow, known: Option<ComponentId>) -> Candidate<'w> {
        // The slot is in use, by the contract of `VisitedRow`.
        Candidate { world, slot: row.index(), known }
    }

    /// Returns the world of the row.
    #[inline(always)]
    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    /// Returns the index of its slot.
    #[inline(always)]
    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }

    /// Returns the main row of the entity at another slot of the world, if there is one.
    #[inline]
    pub(crate) fn entity_at(&self, slot: u32) -> Option<Candidate<'w>> {
        self.world.storage.entities.get(slot).map(|_| Candidate { world: self.world, slot, known: None })
    }

    /// Sets the change ticks of a value that may be written.
    pub(crate) fn mark_written(self, id: ComponentId) {
        let storage = &self.world.storage;
        let track = storage.components.info(id).track;
        let Some((lanes, row)) = self.value_lanes(id) else { return };
        match (track, lanes.last()) {
            // SAFETY: they are the lanes of the component, and the row is in use.
            (Track::Row, _) => unsafe { ticks_at(lanes, row as usize) }.set_changed(storage.tick()),
            (Track::Column, Some(lane)) => set_column_tick(lane, storage.tick()),
            _ => {}
        }
    }

    /// Returns the lanes of a component and the row's position there, if the row has it.
    pub(crate) fn value_lanes(&self, id: ComponentId) -> Option<(&'w [Lane], u32)> {
        let storage = &self.world.storage;
        if let Some(sparse) = storage.sparse.of(id) {
            return sparse.row(self.slot).map(|row| (sparse.values().lanes(), row));
        }
        let at = self.location();
        storage.lanes_in(id, at.table).map(|lanes| (lanes, at.row))
    }

    /// Returns where the row is in its table.
    #[inline(always)]
    fn location(&self) -> Location {
        // SAFETY: the slot is in use, by the invariant of the type, and stays so while the world is borrowed; so its location
        // is written.
        unsafe { self.world.storage.entities.payload_unchecked(self.slot) }
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
                Some(sparse) => sparse.row(self.slot).is_some(),
                None => self.signature().has(id),
            }
    }

    /// Returns the first lane of a component and the row's position there, if the row has it.
    #[inline]
    pub(crate) fn lanes_of(&self, id: ComponentId) -> Option<(*const Lane, usize)> {
        lanes_at(self.world, id, self.slot, || self.location())
    }

    /// Like [`has`](Candidate::has), but for a type.
    #[inline(always)]
    pub(crate) fn has_type<C: Component>(&self, id: ComponentId) -> bool {
        if ComponentFetch::<C>::IS_DENSE {
            return self.signature().has(id);
        }
        self.known == Some(id) || self.world.storage.sparse.of(id).is_some_and(|sparse| sparse.row(self.slot).is_some())
    }
}

/// Returns the first lane of a component and the position of a row there, if the row has it.
#[inline(always)]
pub(super) fn lanes_at(
    world: &World,
    id: ComponentId,
    slot: u32,
    location: impl FnOnce() -> Location,
) -> Option<(*const Lane, usize)> {
    if let Some(sparse) = world.storage.sparse.of(id) {
        return sparse.row(slot).map(|row| (sparse.values().lane().cast_const(), row as usize));
    }
    let at = location();
    let lane = world.storage.lane(id, at.table);
    (!lane.is_null()).then_some((lane.cast_const(), at.row as usize))
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Candidate(slot {})", self.slot)
    }
}
