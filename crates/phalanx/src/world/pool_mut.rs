//! A pool by itself: its values in their order, sorted, compacted.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::error::ComponentError;
use crate::layout;
use crate::sparse::{PoolError, Removal, SparseSet};
use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

/// The pool of a component: [`World::pool_mut`].
pub struct PoolMut<'w, C> {
    world: &'w mut World,
    /// None if no entity may have it yet.
    side: Option<u32>,
    component: PhantomData<fn() -> C>,
}

impl<C> fmt::Debug for PoolMut<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PoolMut({})", core::any::type_name::<C>())
    }
}

impl World {
    /// The pool of a component: its values in their order, and ways to sort them.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(layout = "pool")]
    /// struct Depth(u32);
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(layout = "pool")]
    /// struct Sprite(char);
    ///
    /// let mut world = World::new();
    /// for (depth, sprite) in [(3, 'c'), (1, 'a'), (2, 'b')] {
    ///     world.spawn((Depth(depth), Sprite(sprite)));
    /// }
    /// world.pool_mut::<Depth>().sort_by_key(|depth| depth.0)?;
    /// // Any number of pools can follow the order of one.
    /// world.pool_mut::<Sprite>().sort_like::<Depth>()?;
    /// assert_eq!(world.pool_mut::<Sprite>().values(), [Sprite('a'), Sprite('b'), Sprite('c')]);
    /// # Ok::<(), phalanx::group::PoolError>(())
    /// ```
    pub fn pool_mut<C: Component<Layout = layout::Pool>>(&mut self) -> PoolMut<'_, C> {
        let side = self.storage.sparse.storage_id(self.storage.components.id::<C>());
        PoolMut { world: self, side, component: PhantomData }
    }

    /// Says what becomes of the places of values that are removed from a pool. Holes are closed first.
    ///
    /// ```
    /// use phalanx::{Component, Removal, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(layout = "pool")]
    /// struct Line(u32);
    ///
    /// let mut world = World::new();
    /// world.set_removal::<Line>(Removal::Ordered)?;
    /// let lines: Vec<_> = (0..4).map(|n| world.spawn(Line(n))).collect();
    /// world.despawn(lines[1]).unwrap();
    /// assert_eq!(world.pool_mut::<Line>().values(), [Line(0), Line(2), Line(3)]);
    /// # Ok::<(), phalanx::group::PoolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a group owns the pool, and it is to be anything but [`Removal::Swap`]: entering and leaving the group changes the
    /// order. Or if memory cannot be had. Nothing has changed.
    pub fn set_removal<C: Component<Layout = layout::Pool>>(&mut self, removal: Removal) -> Result<(), PoolError> {
        let id = self.storage.components.register::<C>()?;
        let side = self.storage.sparse.try_register(id, &self.storage.components)?;
        if removal != Removal::Swap {
            self.not_owned(side)?;
        }
        self.close_holes(side, u32::MAX);
        self.storage.sparse.set_removal(side, removal);
        Ok(())
    }

    /// Closes holes that [deferred removal](Removal::Deferred) has left in a pool, from the left, with at most so many moves
    /// of a value. Returns how many there were: fewer than allowed when no hole is left. The order stays.
    pub fn compact_pool<C: Component<Layout = layout::Pool>>(&mut self, budget: usize) -> usize {
        let side = self.storage.sparse.storage_id(self.storage.components.id::<C>());
        side.map_or(0, |side| self.close_holes(side, u32::try_from(budget).unwrap_or(u32::MAX)) as usize)
    }

    fn close_holes(&mut self, side: u32, budget: u32) -> u32 {
        let dense = &mut self.storage.sparse.sparse_set_mut(side).dense;
        if dense.holes() == 0 {
            return 0;
        }
        let moves = dense.compact(budget);
        self.storage.restructured();
        moves
    }

    fn not_owned(&self, side: u32) -> Result<(), PoolError> {
        let component = || self.storage.components.info(self.storage.sparse.get(side).id).name();
        match self.storage.sparse.owner(side) {
            Some(group) => Err(PoolError::Owned { component: component(), group: group.desc.name }),
            None => Ok(()),
        }
    }
}

impl<C: Component<Layout = layout::Pool>> PoolMut<'_, C> {
    fn pool(&self) -> Option<&SparseSet> {
        self.side.map(|side| self.world.storage.sparse.sparse_set(side))
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.pool().map_or(0, |pool| pool.len() as usize)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many places of values that were removed are still there.
    pub fn holes(&self) -> usize {
        self.pool().map_or(0, |pool| pool.dense.holes() as usize)
    }

    /// What becomes of the places of values that are removed.
    pub fn removal(&self) -> Removal {
        self.pool().map_or(Removal::Swap, |pool| pool.removal)
    }

    /// The entities that have the component, in the order of the values. That of an extra row is its owner.
    pub fn entities(&self) -> impl DoubleEndedIterator<Item = Entity> + '_ {
        let slots = self
            .pool()
            .into_iter()
            .flat_map(|pool| (0..pool.dense.positions()).filter_map(|position| pool.dense.key_at(position)));
        // SAFETY: the slots in a pool are alive.
        slots.map(|slot| unsafe { self.world.storage.owner_of(slot) })
    }

    /// The values, side by side. Closes holes first.
    pub fn values(&mut self) -> &mut [C] {
        let Some(side) = self.side else { return &mut [] };
        self.world.close_holes(side, u32::MAX);
        self.world.open(self.world.storage.sparse.get(side).id, |_| false);
        let pool = self.world.storage.sparse.sparse_set(side);
        if self.world.storage.counting {
            self.world.count_visit(self.world.storage.sparse.get(side).id, u64::from(pool.len()), false);
        }
        // SAFETY: so many values are there without a hole, in lanes of the component, and the world is borrowed exclusively.
        unsafe {
            let ptr = <layout::Pool as layout::Layout<C>>::ptr(pool.values().lane(), RunTicks::READ);
            <layout::Pool as layout::Layout<C>>::slice_mut(ptr, pool.len() as usize)
        }
    }

    /// The value of an entity.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    pub fn get(&self, entity: Entity) -> Result<&C, ComponentError> {
        self.world.get::<C>(entity)
    }

    /// Sorts the values; equal ones keep their order. Closes holes first.
    ///
    /// A comparison that panics has changed nothing, and one that is no order gives some order, or panics.
    ///
    /// # Errors
    ///
    /// If a group owns the pool (sort the group), or memory cannot be had; the order is as it was.
    pub fn sort_by(&mut self, mut compare: impl FnMut(&C, &C) -> Ordering) -> Result<(), PoolError> {
        let sort = |values: &[C], _: &World, order: &mut [u32]| {
            order.sort_unstable_by(|&a, &b| compare(&values[a as usize], &values[b as usize]).then(a.cmp(&b)));
            Ok(())
        };
        // SAFETY: sorting only rearranges.
        unsafe { self.arrange(sort) }
    }

    /// As [`sort_by`](PoolMut::sort_by), by a key of each value, which is made for each comparison.
    ///
    /// # Errors
    ///
    /// If a group owns the pool, or memory cannot be had; the order is as it was.
    pub fn sort_by_key<K: Ord>(&mut self, mut key: impl FnMut(&C) -> K) -> Result<(), PoolError> {
        self.sort_by(|a, b| key(a).cmp(&key(b)))
    }

    /// Sorts by the index of the entities, so that walks over several pools all run from left to right. Closes holes first.
    ///
    /// # Errors
    ///
    /// If a group owns the pool, or memory cannot be had; the order is as it was.
    pub fn sort_by_index(&mut self) -> Result<(), PoolError> {
        self.sort_slots(|_, slot| slot)
    }

    /// SparseInserts the values into the order in which another pool has their entities; those that it does not have come last and
    /// keep their order. Closes holes first.
    ///
    /// # Errors
    ///
    /// If a group owns the pool, or memory cannot be had; the order is as it was.
    pub fn sort_like<D: Component<Layout = layout::Pool>>(&mut self) -> Result<(), PoolError> {
        let other = self.world.storage.sparse.storage_id(self.world.storage.components.id::<D>());
        let Some(other) = other else { return Ok(()) };
        self.sort_slots(|world, slot| world.storage.sparse.sparse_set(other).position(slot).unwrap_or(u32::MAX))
    }

    /// Sorts by a number for the index of each slot.
    fn sort_slots(&mut self, number: impl Fn(&World, u32) -> u32) -> Result<(), PoolError> {
        let Some(side) = self.side else { return Ok(()) };
        let sort = |_: &[C], world: &World, order: &mut [u32]| {
            let mut numbers = try_vec(order.len())?;
            let keys = world.storage.sparse.sparse_set(side).dense.keys().unwrap_or_default();
            numbers.extend(keys.iter().map(|slot| number(world, slot.index())));
            order.sort_unstable_by_key(|at| (numbers[*at as usize], *at));
            Ok(())
        };
        // SAFETY: sorting only rearranges.
        unsafe { self.arrange(sort) }
    }

    /// SparseInserts the values into the order that a function makes of `0, 1, …`.
    ///
    /// # Safety
    ///
    /// The function only rearranges the numbers.
    unsafe fn arrange(
        &mut self,
        sort: impl FnOnce(&[C], &World, &mut [u32]) -> Result<(), AllocError>,
    ) -> Result<(), PoolError> {
        let Some(side) = self.side else { return Ok(()) };
        self.world.not_owned(side)?;
        let mut order = try_vec(self.len())?;
        order.extend(0..self.len() as u32);
        self.values();
        let world = &*self.world;
        let pool = world.storage.sparse.sparse_set(side);
        // SAFETY: so many values are there without a hole, in lanes of the component, and the world is borrowed.
        let values = unsafe {
            let ptr = <layout::Pool as layout::Layout<C>>::ptr(pool.values().lane(), RunTicks::READ);
            <layout::Pool as layout::Layout<C>>::slice(ptr, order.len())
        };
        sort(values, world, &mut order)?;
        // SAFETY: the order was made of all positions, once each, and only rearranged, by the caller's promise; there are no
        // holes.
        unsafe { self.world.storage.sparse.sparse_set_mut(side).dense.permute(&mut order) };
        self.world.storage.restructured();
        Ok(())
    }
}
