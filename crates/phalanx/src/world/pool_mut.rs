//! [`PoolMut`]: the pool of a component, in a world that is borrowed exclusively.
#![allow(unsafe_code)]

use super::slot_batch::remove_each;
use super::{PoolRef, World};
use crate::alloc::try_vec;
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::error::{ComponentError, StructuralError};
use crate::layout::{self, Layout};
use crate::sparse::{ListOrder, PoolError, Removal, SparseSet};
use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

/// The pool of a component, for writing: [`World::pool_mut`].
pub struct PoolMut<'w, C> {
    world: &'w mut World,
    component: PhantomData<fn() -> C>,
}

impl<C> fmt::Debug for PoolMut<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PoolMut({})", core::any::type_name::<C>())
    }
}

impl World {
    /// Returns the pool of a component, to read its values in their order, sort and compact them.
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
        PoolMut { world: self, component: PhantomData }
    }
}

impl<C: Component<Layout = layout::Pool>> PoolMut<'_, C> {
    /// Returns the number of the sparse storage, if there is one yet. Commands of listeners may change it.
    fn number(&self) -> Option<u32> {
        self.world.storage.sparse.storage_id_of::<C>(&self.world.storage.components)
    }

    /// Returns the pool, if there is one yet.
    fn pool(&self) -> Option<&SparseSet> {
        self.number().map(|number| self.world.storage.sparse.sparse_set(number))
    }

    /// Sets what becomes of the positions of values that are removed from the pool. Holes are closed first.
    ///
    /// ```
    /// use phalanx::{Component, Removal, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(layout = "pool")]
    /// struct Line(u32);
    ///
    /// let mut world = World::new();
    /// world.pool_mut::<Line>().set_removal(Removal::Ordered)?;
    /// let lines: Vec<_> = (0..4).map(|n| world.spawn(Line(n))).collect();
    /// world.despawn(lines[1]).unwrap();
    /// assert_eq!(world.pool_mut::<Line>().values(), [Line(0), Line(2), Line(3)]);
    /// # Ok::<(), phalanx::group::PoolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`PoolError::Owned`] if a group owns the pool and `removal` is not [`Removal::Swap`]. Entering and leaving the group
    ///   changes the order.
    /// - [`PoolError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn set_removal(&mut self, removal: Removal) -> Result<(), PoolError> {
        let storage = &mut self.world.storage;
        let id = storage.components.register::<C>()?;
        let number = storage.sparse.try_register(id, &storage.components)?;
        if removal != Removal::Swap {
            self.check_unowned()?;
        }
        self.compact(usize::MAX);
        self.world.storage.sparse.set_removal(number, removal);
        Ok(())
    }

    /// Closes holes that [deferred removal](Removal::Deferred) has left, from the front, by at most `budget` moves of a value.
    /// Returns the number of moves, which is less than `budget` when no hole is left. The order stays.
    pub fn compact(&mut self, budget: usize) -> usize {
        let Some(number) = self.number() else { return 0 };
        let dense = &mut self.world.storage.sparse.sparse_set_mut(number).dense;
        if dense.holes() == 0 {
            return 0;
        }
        let moves = dense.compact(u32::try_from(budget).unwrap_or(u32::MAX));
        self.world.storage.restructured();
        moves as usize
    }

    /// Returns an error if a group owns the pool.
    fn check_unowned(&self) -> Result<(), PoolError> {
        match self.number().and_then(|number| self.world.storage.sparse.owner(number)) {
            Some(group) => Err(PoolError::Owned { component: core::any::type_name::<C>(), group: group.desc.name }),
            None => Ok(()),
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.pool().map_or(0, |pool| pool.len() as usize)
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of holes: positions whose values were removed.
    pub fn holes(&self) -> usize {
        self.pool().map_or(0, |pool| pool.dense.holes() as usize)
    }

    /// Returns what becomes of the positions of values that are removed.
    pub fn removal(&self) -> Removal {
        self.pool().map_or(Removal::Swap, |pool| pool.removal)
    }

    /// Returns the entities that have the component, in the order of the values. For an extra row, this is its owner.
    pub fn entities(&self) -> impl DoubleEndedIterator<Item = Entity> + '_ {
        let slots = self
            .pool()
            .into_iter()
            .flat_map(|pool| (0..pool.dense.positions()).filter_map(|position| pool.dense.key_at(position)));
        slots.map(|slot| self.world.storage.owner_of(slot))
    }

    /// Returns the values as one slice. Closes holes first.
    pub fn values(&mut self) -> &mut [C] {
        let Some(number) = self.number() else { return &mut [] };
        self.compact(usize::MAX);
        let id = self.world.storage.sparse.get(number).id;
        self.world.storage.touch_component(id, |_| false);
        let pool = self.world.storage.sparse.sparse_set(number);
        if self.world.storage.counting {
            self.world.storage.components.count_visit(id, u64::from(pool.len()), false);
        }
        // SAFETY: the pool has that many values and no hole, in lanes of the component, and the world is borrowed exclusively.
        unsafe {
            let ptr = <layout::Pool as Layout<C>>::ptr(pool.values().lane(), RunTicks::READ);
            <layout::Pool as Layout<C>>::slice_mut(ptr, pool.len() as usize)
        }
    }

    /// Returns the value of an entity.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    pub fn get(&self, entity: Entity) -> Result<&C, ComponentError> {
        self.world.get::<C>(entity)
    }

    /// Sorts the values; equal ones keep their order. Closes holes first.
    ///
    /// If the comparison panics, the order is unchanged. If it is not a total order, the result is unspecified, or this panics.
    ///
    /// # Errors
    ///
    /// - [`PoolError::Owned`] if a group owns the pool. Sort the group instead.
    /// - [`PoolError::Alloc`] if allocation fails.
    ///
    /// On error the order is unchanged.
    pub fn sort_by(&mut self, compare: impl FnMut(&C, &C) -> Ordering) -> Result<(), PoolError> {
        self.sort_first_by(usize::MAX, compare)
    }

    /// Sorts the first `count` values, like [`sort_by`](PoolMut::sort_by), and leaves the others where they are. If there are
    /// fewer values, sorts all.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(layout = "pool")]
    /// struct Depth(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([4, 3, 2, 1].map(Depth));
    /// world.pool_mut::<Depth>().sort_first_by(3, |a, b| a.0.cmp(&b.0))?;
    /// assert_eq!(world.pool_mut::<Depth>().values(), [2, 3, 4, 1].map(Depth));
    /// # Ok::<(), phalanx::group::PoolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`sort_by`](PoolMut::sort_by).
    #[doc(alias = "sort_n")]
    pub fn sort_first_by(
        &mut self,
        count: usize,
        mut compare: impl FnMut(&C, &C) -> Ordering,
    ) -> Result<(), PoolError> {
        self.arrange(count, |pool, order| {
            // Holes were closed.
            let values = pool.values().unwrap_or_default();
            order.sort_unstable_by(|&a, &b| compare(&values[a as usize], &values[b as usize]).then(a.cmp(&b)));
            Ok(())
        })
    }

    /// Sorts the values by a key, which is computed for each comparison, like [`sort_by`](PoolMut::sort_by).
    ///
    /// # Errors
    ///
    /// Those of [`sort_by`](PoolMut::sort_by).
    pub fn sort_by_key<K: Ord>(&mut self, mut key: impl FnMut(&C) -> K) -> Result<(), PoolError> {
        self.sort_by(|a, b| key(a).cmp(&key(b)))
    }

    /// Sorts by the index of the entities, so that iterating several pools reads all of them in order. Closes holes first.
    ///
    /// # Errors
    ///
    /// Those of [`sort_by`](PoolMut::sort_by).
    pub fn sort_by_index(&mut self) -> Result<(), PoolError> {
        self.sort_slots(|_, slot| slot)
    }

    /// Sorts by the entities of the values, like [`sort_by`](PoolMut::sort_by). For an extra row, this is its owner.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Depth(u32);
    ///
    /// let mut world = World::new();
    /// let [a, b, c] = [1, 2, 3].map(|depth| world.spawn(Depth(depth)));
    /// let mut depths = world.pool_mut::<Depth>();
    /// depths.sort_by_entity(|x, y| y.index().cmp(&x.index()))?;
    /// assert!(depths.entities().eq([c, b, a]));
    ///
    /// // Entities in the order of a list, and those that it does not name after them.
    /// depths.sort_as([b, a])?;
    /// assert!(depths.entities().eq([b, a, c]));
    /// depths.swap(a, c)?;
    /// assert!(depths.entities().rev().eq([a, c, b]));
    /// # Ok::<(), phalanx::group::PoolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`sort_by`](PoolMut::sort_by).
    pub fn sort_by_entity(&mut self, mut compare: impl FnMut(Entity, Entity) -> Ordering) -> Result<(), PoolError> {
        self.arrange(usize::MAX, |pool, order| {
            let mut entities = try_vec(order.len())?;
            entities.extend(pool.iter().map(|(entity, _)| entity));
            let entity = |at: u32| entities[at as usize];
            order.sort_unstable_by(|&a, &b| compare(entity(a), entity(b)).then(a.cmp(&b)));
            Ok(())
        })
    }

    /// Sorts the values into the order in which another pool has their entities. Closes holes first.
    ///
    /// Values of entities that are not in the other pool are sorted to the end and keep their order.
    ///
    /// # Errors
    ///
    /// Those of [`sort_by`](PoolMut::sort_by).
    #[doc(alias = "sort_as")]
    pub fn sort_like<D: Component<Layout = layout::Pool>>(&mut self) -> Result<(), PoolError> {
        let other = self.world.storage.sparse.storage_id(self.world.storage.components.id::<D>());
        let Some(other) = other else { return Ok(()) };
        self.sort_slots(|world, slot| world.storage.sparse.sparse_set(other).position(slot).unwrap_or(u32::MAX))
    }

    /// Sorts the values into the order of a list of entities. Closes holes first. Values whose entities the list does not name
    /// come after the others and keep their order, and so do those of extra rows.
    ///
    /// Of an entity that occurs several times, the first occurrence counts. Entities without the component are ignored. If the
    /// iterator panics, the order is unchanged.
    ///
    /// # Errors
    ///
    /// Those of [`sort_by`](PoolMut::sort_by).
    pub fn sort_as(&mut self, entities: impl IntoIterator<Item = Entity>) -> Result<(), PoolError> {
        self.arrange(usize::MAX, |pool, order| {
            let mut list = ListOrder::try_new(order.len())?;
            entities.into_iter().filter_map(|entity| pool.position(entity)).for_each(|at| list.push(at));
            order.sort_unstable_by(|&a, &b| list.compare(a, b).then(a.cmp(&b)));
            Ok(())
        })
    }

    /// Exchanges the positions of two entities in the pool. Their values stay theirs.
    ///
    /// # Errors
    ///
    /// - [`PoolError::Component`] if an entity is not alive, or does not have the component.
    /// - [`PoolError::Owned`] if a group owns the pool. Sort the group instead.
    ///
    /// On error nothing has changed.
    #[doc(alias = "swap_elements")]
    pub fn swap(&mut self, a: Entity, b: Entity) -> Result<(), PoolError> {
        self.get(a)?;
        self.get(b)?;
        self.check_unowned()?;
        if let Some(number) = self.number()
            && self.world.storage.sparse.sparse_set_mut(number).swap(a, b)
        {
            self.world.storage.restructured();
        }
        Ok(())
    }

    /// Removes the values for which a function returns `false`, and drops them. Returns their number.
    ///
    /// The function is called with each value and its entity, in the order of the pool; for an extra row, the entity is its
    /// owner. All values are removed after the last call, as one operation. Listeners and groups see it as such.
    ///
    /// If the function panics, no value is removed.
    ///
    /// Here the function may also change the values. [`ComponentViewMut::retain`](crate::ComponentViewMut::retain) only reads them,
    /// and is for components of every layout.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Burning(u32);
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [1, 2].map(|frames| world.spawn(Burning(frames)));
    /// let burnt_out = world.pool_mut::<Burning>().retain(|_, burning| {
    ///     burning.0 -= 1;
    ///     burning.0 > 0
    /// })?;
    /// assert_eq!(burnt_out, 1);
    /// assert!(!world.has::<Burning>(ann) && world.get::<Burning>(bob).unwrap().0 == 1);
    /// # Ok::<(), phalanx::group::PoolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PoolError::Alloc`] if allocation fails. No value has been removed.
    #[doc(alias = "retain_mut")]
    #[doc(alias = "erase_if")]
    pub fn retain(&mut self, mut keep: impl FnMut(Entity, &mut C) -> bool) -> Result<usize, PoolError> {
        let bundle_id = self.world.full_bundle_id::<C>().map_err(alloc_error)?;
        self.world.storage.flush()?;
        let Some(number) = self.number() else { return Ok(0) };
        let storage = &self.world.storage;
        let (id, pool) = (storage.sparse.get(number).id, storage.sparse.sparse_set(number));
        storage.touch_component(id, |_| false);
        if storage.counting {
            storage.components.count_visit(id, u64::from(pool.len()), false);
        }
        let mut slots = try_vec(pool.len() as usize)?;
        for at in 0..pool.dense.positions() {
            let Some(slot) = pool.dense.key_at(at) else { continue };
            // SAFETY: the position has a value, in lanes of the component. The world is borrowed exclusively, and the value is
            // visited once.
            let value = unsafe {
                let values = <layout::Pool as Layout<C>>::ptr(pool.values().lane(), RunTicks::READ);
                <layout::Pool as Layout<C>>::get_mut(values, at as usize)
            };
            if !keep(storage.owner_of(slot), value) {
                slots.push(slot);
            }
        }
        remove_each(self.world, bundle_id, slots).map_err(alloc_error)
    }

    /// Sorts by a number for the index of each slot.
    fn sort_slots(&mut self, key: impl Fn(&World, u32) -> u32) -> Result<(), PoolError> {
        self.arrange(usize::MAX, |pool, order| {
            let mut numbers = try_vec(order.len())?;
            numbers.extend(pool.slots().iter().map(|slot| key(pool.world(), slot.index())));
            order.sort_unstable_by_key(|at| (numbers[*at as usize], *at));
            Ok(())
        })
    }

    /// Arranges the first `count` values, or all, in the order that a function makes of `0, 1, …`. Closes holes first. Panics if
    /// the function does not only rearrange them.
    fn arrange(
        &mut self,
        count: usize,
        sort: impl FnOnce(PoolRef<'_, C>, &mut [u32]) -> Result<(), AllocError>,
    ) -> Result<(), PoolError> {
        let Some(number) = self.number() else { return Ok(()) };
        self.check_unowned()?;
        let count = self.len().min(count);
        let mut order = try_vec(count)?;
        order.extend(0..count as u32);
        self.compact(usize::MAX);
        sort(self.world.pool::<C>(), &mut order)?;
        self.world.storage.sparse.sparse_set_mut(number).dense.permute(&mut order);
        self.world.storage.restructured();
        Ok(())
    }
}

/// Converts the error of removing components from rows that have them.
fn alloc_error(error: StructuralError) -> PoolError {
    match error {
        StructuralError::Alloc(error) => PoolError::Alloc(error),
        _ => unreachable!("{error}"),
    }
}
