//! Sorting groups.
#![allow(unsafe_code)]

use super::{Group, GroupSpec};
use crate::alloc::unwrap_alloc;
use crate::component::Component;
use crate::layout;
use crate::sparse::ListOrder;
use crate::world::World;
use core::cmp::Ordering;
use phalanx_store::{AllocError, Entity};

impl<S: GroupSpec> Group<S> {
    /// Sorts the members. The sort is stable. Owned sparse sets are sorted together. A group that owns nothing sorts
    /// its own list, and the sparse sets stay as they are.
    ///
    /// If there are groups within this one, each segment is sorted by itself. The members of the innermost group stay
    /// first, and the members of only this group last.
    ///
    /// If the comparison panics, nothing changes. If it is not a total order, the resulting order is unspecified, or
    /// the method panics.
    ///
    /// ```
    /// use phalanx::group::Owned;
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
    /// let drawn = world.create_group::<Owned<(Depth, Sprite)>>()?;
    /// drawn.sort_by(&mut world, |(a, _), (b, _)| a.0.cmp(&b.0));
    /// assert_eq!(drawn.slices(&world).1, [Sprite('a'), Sprite('b'), Sprite('c')]);
    /// # Ok::<(), phalanx::group::GroupError>(())
    /// ```
    #[track_caller]
    pub fn sort_by(&self, world: &mut World, compare: impl FnMut(S::Item<'_>, S::Item<'_>) -> Ordering) {
        unwrap_alloc(self.try_sort_by(world, compare));
    }

    /// Like [`sort_by`](Group::sort_by), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    #[track_caller]
    pub fn try_sort_by(
        &self,
        world: &mut World,
        compare: impl FnMut(S::Item<'_>, S::Item<'_>) -> Ordering,
    ) -> Result<(), AllocError> {
        self.try_sort_first_by(world, usize::MAX, compare)
    }

    /// Sorts the members by a key, like [`sort_by`](Group::sort_by). The key is computed for each comparison.
    #[track_caller]
    pub fn sort_by_key<K: Ord>(&self, world: &mut World, mut key: impl FnMut(S::Item<'_>) -> K) {
        self.sort_by(world, |a, b| key(a).cmp(&key(b)));
    }

    /// Sorts the first `count` members, like [`sort_by`](Group::sort_by), and leaves the others where they are. If there are
    /// fewer members, sorts all.
    ///
    /// ```
    /// use phalanx::group::Observed;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Depth(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([4, 3, 2, 1].map(Depth));
    /// let drawn = world.create_group::<Observed<Depth>>()?;
    /// drawn.sort_first_by(&mut world, 3, |a, b| a.0.cmp(&b.0));
    /// assert!(drawn.iter(&world).map(|depth| depth.0).eq([2, 3, 4, 1]));
    /// assert!(drawn.iter(&world).rev().map(|depth| depth.0).eq([1, 4, 3, 2]));
    /// # Ok::<(), phalanx::group::GroupError>(())
    /// ```
    #[track_caller]
    #[doc(alias = "sort_n")]
    pub fn sort_first_by(
        &self,
        world: &mut World,
        count: usize,
        compare: impl FnMut(S::Item<'_>, S::Item<'_>) -> Ordering,
    ) {
        unwrap_alloc(self.try_sort_first_by(world, count, compare));
    }

    /// Like [`sort_first_by`](Group::sort_first_by), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    #[track_caller]
    #[doc(alias = "sort_n")]
    pub fn try_sort_first_by(
        &self,
        world: &mut World,
        count: usize,
        mut compare: impl FnMut(S::Item<'_>, S::Item<'_>) -> Ordering,
    ) -> Result<(), AllocError> {
        let parts = self.parts(world);
        // SAFETY: positions of the group are less than the number of members, and the world is borrowed.
        let item = |at: u32| unsafe { parts.item(at as usize, false) };
        let order = self.try_order(world, count, |a, b| compare(item(a), item(b)))?;
        self.try_arrange(world, order)
    }

    /// Sorts the members by their entities, like [`sort_by`](Group::sort_by).
    ///
    /// ```
    /// use phalanx::group::Owned;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Depth(u32);
    ///
    /// let mut world = World::new();
    /// let [a, b, c] = [1, 2, 3].map(|depth| world.spawn(Depth(depth)));
    /// let drawn = world.create_group::<Owned<Depth>>()?;
    /// drawn.sort_by_entity(&mut world, |x, y| y.index().cmp(&x.index()));
    /// assert!(drawn.entities(&world).eq([c, b, a]));
    ///
    /// // Members in the order of a list, and those that it does not name after them.
    /// drawn.sort_as(&mut world, [b, a]);
    /// assert!(drawn.entities(&world).eq([b, a, c]));
    /// # Ok::<(), phalanx::group::GroupError>(())
    /// ```
    #[track_caller]
    pub fn sort_by_entity(&self, world: &mut World, compare: impl FnMut(Entity, Entity) -> Ordering) {
        unwrap_alloc(self.try_sort_by_entity(world, compare));
    }

    /// Like [`sort_by_entity`](Group::sort_by_entity), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    #[track_caller]
    pub fn try_sort_by_entity(
        &self,
        world: &mut World,
        mut compare: impl FnMut(Entity, Entity) -> Ordering,
    ) -> Result<(), AllocError> {
        let members = world.storage.sparse.members(self.data(world));
        let entity = |at: u32| members[at as usize];
        let order = self.try_order(world, usize::MAX, |a, b| compare(entity(a), entity(b)))?;
        self.try_arrange(world, order)
    }

    /// Sorts the members into the order of a list of entities. Members that the list does not name come after the others, and
    /// keep their order.
    ///
    /// Of an entity that occurs several times, the first occurrence counts. Entities that are not members are ignored. If
    /// there are groups within this one, each segment is sorted by itself, as [`sort_by`](Group::sort_by) does.
    ///
    /// If the iterator panics, nothing changes.
    #[track_caller]
    pub fn sort_as(&self, world: &mut World, entities: impl IntoIterator<Item = Entity>) {
        unwrap_alloc(self.try_sort_as(world, entities));
    }

    /// Like [`sort_as`](Group::sort_as), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    #[track_caller]
    pub fn try_sort_as(&self, world: &mut World, entities: impl IntoIterator<Item = Entity>) -> Result<(), AllocError> {
        let group = self.data(world);
        let mut list = ListOrder::try_new(world.storage.sparse.members(group).len())?;
        for entity in entities.into_iter().filter(|entity| world.contains(*entity)) {
            world.storage.sparse.position_in_group(group, entity.index()).inspect(|at| list.push(*at));
        }
        let order = self.try_order(world, usize::MAX, |a, b| list.compare(a, b))?;
        self.try_arrange(world, order)
    }

    /// Sorts the members into the order in which the pool of a component has them. Members that are not in the pool come after
    /// the others, and keep their order.
    ///
    /// If there are groups within this one, each segment is sorted by itself, as [`sort_by`](Group::sort_by) does.
    ///
    /// ```
    /// use phalanx::group::Observed;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Depth(u32);
    /// #[derive(Component)]
    /// #[component(layout = "linear")]
    /// struct Sprite(char);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([(Depth(2), Sprite('b')), (Depth(1), Sprite('a'))]);
    /// world.pool_mut::<Depth>().sort_by_key(|depth| depth.0)?;
    /// let drawn = world.create_group::<Observed<Sprite>>()?;
    /// drawn.sort_like::<Depth>(&mut world);
    /// assert!(drawn.iter(&world).map(|sprite| sprite.0).eq(['a', 'b']));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "sort_as")]
    pub fn sort_like<C: Component<Layout = layout::Pool>>(&self, world: &mut World) {
        unwrap_alloc(self.try_sort_like::<C>(world));
    }

    /// Like [`sort_like`](Group::sort_like), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    #[track_caller]
    #[doc(alias = "sort_as")]
    pub fn try_sort_like<C: Component<Layout = layout::Pool>>(&self, world: &mut World) -> Result<(), AllocError> {
        let members = world.storage.sparse.members(self.data(world));
        let Some(pool) = world.storage.sparse.of(world.storage.components.id::<C>()) else { return Ok(()) };
        let position = |at: u32| pool.row(members[at as usize].index()).unwrap_or(u32::MAX);
        let order = self.try_order(world, usize::MAX, |a, b| position(a).cmp(&position(b)))?;
        self.try_arrange(world, order)
    }

    /// Returns the first `count` positions of the group, or all, sorted by a comparison.
    #[track_caller]
    fn try_order(
        &self,
        world: &World,
        count: usize,
        compare: impl FnMut(u32, u32) -> Ordering,
    ) -> Result<Vec<u32>, AllocError> {
        world.storage.sparse.try_sorted_positions(self.data(world), count, compare)
    }

    /// Moves the first members to the positions of an order of this group.
    fn try_arrange(&self, world: &mut World, mut order: Vec<u32>) -> Result<(), AllocError> {
        world.storage.sparse.try_reorder_group(self.id, &mut order)?;
        world.storage.restructured();
        Ok(())
    }
}
