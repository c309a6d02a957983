//! Random access: how a term finds what a row has, wherever it is kept.
#![allow(unsafe_code)]

use crate::component::{Component, ComponentId};
use crate::layout::{Kind, Layout};
use crate::side::{Linear, Pool, Store};
use crate::signature::Signature;
use crate::track::Look;
use crate::world::{Location, World};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

/// A row that a query looks at.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// The index of its slot.
    pub(super) index: u32,
    /// Its slot, if that was at hand.
    pub(super) key: Option<Entity>,
    /// Its position in the store that is walked, if one is.
    pub(super) position: u32,
    /// Where it is in its table; for queries that are [located](super::Query::LOCATED) only.
    pub(super) location: Location,
}

impl Spot {
    /// A place for queries that do not look at it.
    pub(super) const NOWHERE: Location = Location { table: u32::MAX, row: 0 };

    /// The slot.
    #[inline(always)]
    pub(super) fn key(self, world: &World) -> Entity {
        match self.key.or_else(|| world.storage.slot(self.index)) {
            Some(key) => key,
            None => unreachable!("a row that is looked at is there"),
        }
    }
}

/// Asks the processor for the memory at an address, where it can be asked.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, for which any address will do.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

type Ptr<C> = <<C as Component>::Layout as Layout<C>>::Ptr;

/// Where the values of a component are, resolved for random access.
pub struct Reach<C: Component> {
    /// By table, for a component of tables.
    lanes: NonNull<[*mut Lane]>,
    /// The store of any other, null if nobody ever had it.
    pool: *const Pool,
    linear: *const Linear,
    /// The values of the store, if there is one.
    values: MaybeUninit<Ptr<C>>,
    /// Whether rows come from this store, so that each is in it, at its position.
    walked: bool,
    /// Who looks.
    look: Look,
}

impl<C: Component> Clone for Reach<C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Component> Copy for Reach<C> {}

impl<C: Component> fmt::Debug for Reach<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reach({})", core::any::type_name::<C>())
    }
}

impl<C: Component> Reach<C> {
    /// Whether the component is not kept in tables.
    pub(super) const SIDE: bool = !matches!(C::Layout::KIND, Kind::Table);

    /// Resolves where the values of a component are.
    ///
    /// # Safety
    ///
    /// The id is that of `C` in this world, or one that no component of it has.
    #[inline]
    pub(super) unsafe fn new(id: ComponentId, world: &World, walked: Option<ComponentId>, look: Look) -> Self {
        let mut reach = Reach {
            lanes: NonNull::from(if Self::SIDE { &[] } else { world.storage.lanes_of(id) }),
            pool: core::ptr::null(),
            linear: core::ptr::null(),
            values: MaybeUninit::uninit(),
            walked: walked == Some(id),
            look,
        };
        if Self::SIDE
            && let Some(side) = world.storage.sides.of(id)
        {
            match &side.store {
                Store::Pool(pool) => reach.pool = pool,
                Store::Linear(linear) => reach.linear = linear,
            }
            // SAFETY: the lanes are those of `C`, by the caller's promise.
            reach.values = MaybeUninit::new(unsafe { C::Layout::ptr(side.values().lane(), look) });
        }
        reach
    }

    /// The values that a row's is among, and its place there.
    ///
    /// # Safety
    ///
    /// The world that was resolved is borrowed, and the row is one of its rows, with its location if the component is one
    /// of tables.
    #[inline(always)]
    pub(super) unsafe fn find(&self, spot: Spot) -> Option<(Ptr<C>, usize)> {
        // SAFETY: lanes and stores are those of the world. A row of the store that is walked is in it. Where there is a
        // store there are values.
        unsafe {
            match C::Layout::KIND {
                Kind::Table => {
                    let lane = *self.lanes.as_ref().get(spot.location.table as usize)?;
                    (!lane.is_null()).then(|| (C::Layout::ptr(lane, self.look), spot.location.row as usize))
                }
                Kind::Pool => {
                    let position = match self.walked {
                        true => spot.position,
                        false => self.pool.as_ref()?.position(spot.index)?,
                    };
                    Some((self.values.assume_init(), position as usize))
                }
                Kind::Linear => {
                    let index = spot.index;
                    let there = self.walked || self.linear.as_ref()?.has(index);
                    there.then(|| (self.values.assume_init(), index as usize))
                }
            }
        }
    }

    /// Asks the processor for a row's value.
    ///
    /// # Safety
    ///
    /// As for [`find`](Reach::find).
    #[inline(always)]
    pub(super) unsafe fn warm(&self, spot: Spot) {
        // In a pool the index must be read to know where a value is: that is the wait already.
        // SAFETY: the lanes are the world's, and their headers can be read while it is borrowed.
        unsafe {
            if let Some(&lane) = self.lanes.as_ref().get(spot.location.table as usize)
                && !lane.is_null()
            {
                for lane in (0..C::Layout::LANES).map(|at| &*lane.add(at)) {
                    prefetch(lane.ptr().as_ptr().wrapping_add(spot.location.row as usize * lane.row_size()));
                }
            }
        }
    }

    /// Whether a row has the component.
    ///
    /// # Safety
    ///
    /// As for [`find`](Reach::find).
    #[inline(always)]
    pub(super) unsafe fn has(&self, spot: Spot) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.find(spot) }.is_some()
    }
}

/// A row that a filter is asked about.
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

    /// Returns where the row is in its table.
    #[inline(always)]
    fn location(&self) -> Location {
        // SAFETY: the slot is in use, by the promise of `new`, and stays so while the world is borrowed; so its location is
        // written.
        unsafe { *self.world.storage.entities.places().at(self.slot) }
    }

    /// The components of the row that are kept in tables.
    pub fn signature(&self) -> &'w Signature {
        &self.world.storage.tables[self.location().table as usize].signature
    }

    /// Whether the row has a component, wherever it is kept.
    #[inline]
    pub fn has(&self, id: ComponentId) -> bool {
        self.known == Some(id)
            || match self.world.storage.sides.of(id) {
                Some(side) => side.row(self.slot).is_some(),
                None => self.signature().has(id),
            }
    }

    /// The first lane of a component and the row there, if the row has it.
    #[inline]
    pub(crate) fn lanes_of(&self, id: ComponentId) -> Option<(*const Lane, usize)> {
        if let Some(side) = self.world.storage.sides.of(id) {
            return side.row(self.slot).map(|row| (side.values().lane().cast_const(), row as usize));
        }
        let at = self.location();
        let lane = self.world.storage.lane(id, at.table);
        (!lane.is_null()).then_some((lane.cast_const(), at.row as usize))
    }

    /// As [`has`](Candidate::has), for a type.
    #[inline(always)]
    pub(super) fn has_type<C: Component>(&self, id: ComponentId) -> bool {
        match Reach::<C>::SIDE {
            true => {
                self.known == Some(id) || self.world.storage.sides.of(id).is_some_and(|s| s.row(self.slot).is_some())
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
