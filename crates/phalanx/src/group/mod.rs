//! Groups: the entities that have certain sparse components and lack others.
//!
//! A query over several sparse sets looks each entity up in all of them but one. A group does that when a component is
//! inserted or removed, and never while iterating. The sparse sets that it *owns* have its members first, in the same
//! order: they are slices, as fast as a table. Sparse sets that it only *observes* stay as they are. A sparse set has
//! one owner, or a chain of owners, each within the next. Otherwise [`GroupError::Conflict`] names both groups.
//!
//! ```
//! use phalanx::group::{Observed, Owned};
//! use phalanx::{Component, Without, World};
//!
//! #[derive(Component)]
//! #[component(layout = "pool")]
//! struct Position(f32);
//! #[derive(Component)]
//! #[component(layout = "pool")]
//! struct Velocity(f32);
//! #[derive(Component)]
//! #[component(layout = "linear")]
//! struct Mass(f32);
//! #[derive(Component)]
//! #[component(layout = "pool")]
//! struct Frozen;
//!
//! let mut world = World::new();
//! let ball = world.spawn((Position(0.0), Velocity(2.0), Mass(1.0)));
//! world.spawn((Position(0.0), Mass(1.0)));
//!
//! let moving = world.create_group::<(Owned<(Position, Velocity)>, Without<Frozen>)>()?;
//! let (positions, velocities) = moving.slices_mut(&mut world);
//! positions.iter_mut().zip(velocities).for_each(|(p, v)| p.0 += v.0);
//! assert_eq!(world.get::<Position>(ball)?.0, 2.0);
//!
//! // Inserting and removing components maintains the group.
//! world.insert(ball, Frozen)?;
//! assert!(moving.is_empty(&world));
//! world.remove::<Frozen>(ball)?;
//! assert!(moving.contains(&world, ball));
//!
//! // A group that owns nothing has an order of its own.
//! let heavy = world.create_group::<Observed<(Mass, Position)>>()?;
//! heavy.sort_by(&mut world, |(a, _), (b, _)| b.0.total_cmp(&a.0));
//! heavy.for_each(&mut world, |(mass, position)| position.0 += mass.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![allow(unsafe_code)]

mod spec;

pub use crate::sparse::{GroupError, PoolError};
#[doc(hidden)]
pub use spec::Member;
pub use spec::{GroupSpec, Members, Observed, Owned};

use crate::alloc::{try_vec, unwrap_alloc};
use crate::bundle::Bundle as _;
use crate::layout::Kind;
use crate::sparse::{GroupData, GroupDesc, GroupId};
use crate::world::World;
use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

/// A group of a world, created by [`World::create_group`]. `S` names its components, see [`GroupSpec`].
///
/// It is an id that is valid in the world it was created in. Its methods take that world. They panic if they get
/// another world, or if the group was removed.
///
/// Members are entities, by the components of their main rows. [Extra rows](crate::Key) are not members.
#[doc(alias = "basic_group")]
pub struct Group<S> {
    space: u64,
    id: GroupId,
    spec: PhantomData<fn() -> S>,
}

impl<S> Clone for Group<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Group<S> {}

impl<S> PartialEq for Group<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.space, self.id) == (other.space, other.id)
    }
}
impl<S> Eq for Group<S> {}

impl<S> fmt::Debug for Group<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group({})", core::any::type_name::<S>())
    }
}

/// The values and the members of a group.
struct Parts<'w, S: GroupSpec> {
    owned: <S::Owned as Members>::Found<'w>,
    observed: <S::Observed as Members>::Found<'w>,
    slots: &'w [Entity],
}

impl<S: GroupSpec> Clone for Parts<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: GroupSpec> Copy for Parts<'_, S> {}

impl<'w, S: GroupSpec> Parts<'w, S> {
    /// Returns the values of the member at a position.
    ///
    /// # Safety
    ///
    /// The position is less than the number of members. The values are not written while the item lives.
    #[inline(always)]
    unsafe fn item(self, at: usize) -> S::Item<'w> {
        // SAFETY: members have all that is required, and what is owned is at their position. The values are not
        // written, by the caller's contract.
        unsafe {
            let slot = Member::Slot(self.slots[at].index());
            S::item(S::Owned::refs(self.owned, Member::Position(at)), S::Observed::refs(self.observed, slot))
        }
    }

    /// Returns the values of the member at a position, for writing.
    ///
    /// # Safety
    ///
    /// The position is less than the number of members. The values are not used otherwise while the item lives.
    #[inline(always)]
    unsafe fn item_mut(self, at: usize) -> S::ItemMut<'w> {
        // SAFETY: members have all that is required, and what is owned is at their position. No component is named
        // twice, and the values are not used otherwise, by the caller's contract.
        unsafe {
            let slot = Member::Slot(self.slots[at].index());
            S::item_mut(S::Owned::muts(self.owned, Member::Position(at)), S::Observed::muts(self.observed, slot))
        }
    }
}

impl<S: GroupSpec> Group<S> {
    #[track_caller]
    fn data<'w>(&self, world: &'w World) -> &'w GroupData {
        let group = (self.space == world.storage.components.registry_id.number())
            .then(|| world.storage.sparse.group(self.id))
            .flatten();
        match group {
            Some(group) => group,
            None => panic!("{self:?} is of another world, or was removed"),
        }
    }

    #[inline]
    #[track_caller]
    fn parts<'w>(&self, world: &'w World) -> Parts<'w, S> {
        let slots = world.storage.sparse.members(self.data(world));
        match (S::Owned::find(world), S::Observed::find(world)) {
            (Some(owned), Some(observed)) => Parts { owned, observed, slots },
            _ => unreachable!("the components of a group have storages"),
        }
    }

    /// Like [`parts`](Group::parts), but counts a visit of all members, if the world counts accesses.
    #[inline]
    #[track_caller]
    fn visited_parts<'w>(&self, world: &'w World) -> Parts<'w, S> {
        let parts = self.parts(world);
        if world.storage.counting {
            for storage_id in &self.data(world).desc.required {
                world.storage.components.count_visit(
                    world.storage.sparse.get(*storage_id).id,
                    parts.slots.len() as u64,
                    false,
                );
            }
        }
        parts
    }

    /// Returns the number of members.
    ///
    /// # Panics
    ///
    /// Like all methods, panics if the group is of another world, or was removed.
    #[track_caller]
    pub fn len(&self, world: &World) -> usize {
        world.storage.sparse.members(self.data(world)).len()
    }

    /// Returns `true` if there are no members.
    #[track_caller]
    pub fn is_empty(&self, world: &World) -> bool {
        self.len(world) == 0
    }

    /// Returns `true` if the group is one of this world, and was not removed.
    pub fn is_of(&self, world: &World) -> bool {
        self.space == world.storage.components.registry_id.number() && world.storage.sparse.group(self.id).is_some()
    }

    /// Returns `true` if an entity is alive and a member.
    #[track_caller]
    pub fn contains(&self, world: &World, entity: Entity) -> bool {
        let group = self.data(world);
        world.contains(entity) && world.storage.sparse.is_member(group, entity.index())
    }

    /// Returns the members, in the order of the group.
    #[track_caller]
    pub fn entities<'w>(&self, world: &'w World) -> impl ExactSizeIterator<Item = Entity> + DoubleEndedIterator + 'w {
        world.storage.sparse.members(self.data(world)).iter().copied()
    }

    /// Returns the owned values of all members as slices, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn slices<'w>(&self, world: &'w World) -> <S::Owned as Members>::Slices<'w> {
        let parts = self.visited_parts(world);
        // SAFETY: the members are the first in each owned sparse set, and the world is borrowed.
        unsafe { S::Owned::slices(parts.owned, parts.slots.len()) }
    }

    /// Returns the owned values of all members as slices, for writing.
    #[inline]
    #[track_caller]
    pub fn slices_mut<'w>(&self, world: &'w mut World) -> <S::Owned as Members>::SlicesMut<'w> {
        let parts = self.visited_parts(world);
        world.storage.touch_group(self.id);
        // SAFETY: the members are the first in each owned sparse set. No component is named twice, and the world is
        // borrowed exclusively.
        unsafe { S::Owned::slices_mut(parts.owned, parts.slots.len()) }
    }

    /// Iterates over the values of the members, in the order of the group.
    #[inline]
    #[track_caller]
    #[doc(alias = "each")]
    pub fn iter<'w>(
        &self,
        world: &'w World,
    ) -> impl ExactSizeIterator<Item = S::Item<'w>> + DoubleEndedIterator + use<'w, S> {
        let parts = self.visited_parts(world);
        // SAFETY: the position is less than the number of members, and the world is borrowed.
        (0..parts.slots.len()).map(move |at| unsafe { parts.item(at) })
    }

    /// Iterates over the values of the members for writing, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn iter_mut<'w>(
        &self,
        world: &'w mut World,
    ) -> impl ExactSizeIterator<Item = S::ItemMut<'w>> + DoubleEndedIterator + use<'w, S> {
        let parts = self.visited_parts(world);
        world.storage.touch_group(self.id);
        // SAFETY: the position is less than the number of members and comes once. The world is borrowed exclusively.
        (0..parts.slots.len()).map(move |at| unsafe { parts.item_mut(at) })
    }

    /// Calls a function with the values of each member, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn for_each<'w>(&self, world: &'w mut World, each: impl FnMut(S::ItemMut<'w>)) {
        self.iter_mut(world).for_each(each);
    }

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
        mut compare: impl FnMut(S::Item<'_>, S::Item<'_>) -> Ordering,
    ) -> Result<(), AllocError> {
        let (group, parts) = (self.data(world), self.parts(world));
        // SAFETY: positions of the group are less than the number of members, and the world is borrowed.
        let item = |at: u32| unsafe { parts.item(at as usize) };
        let mut order = world.storage.sparse.try_sorted_positions(group, |a, b| compare(item(a), item(b)))?;
        world.storage.sparse.try_reorder_group(self.id, &mut order)?;
        world.storage.restructured();
        Ok(())
    }

    /// Sorts the members by a key, like [`sort_by`](Group::sort_by). The key is computed for each comparison.
    #[track_caller]
    pub fn sort_by_key<K: Ord>(&self, world: &mut World, mut key: impl FnMut(S::Item<'_>) -> K) {
        self.sort_by(world, |a, b| key(a).cmp(&key(b)));
    }
}

impl World {
    /// Creates a group of the entities that have, and lack, the components of `S`. Returns the existing group if there
    /// is one with the same components.
    ///
    /// Creating a group that owns sparse sets changes their order. See [`group`](crate::group).
    ///
    /// # Errors
    ///
    /// - [`GroupError::Table`]: a component is stored in tables.
    /// - [`GroupError::Linear`]: an owned component is stored in a linear storage.
    /// - [`GroupError::Duplicate`]: a component is named twice.
    /// - [`GroupError::Empty`]: no component is required.
    /// - [`GroupError::Conflict`]: another group owns the same sparse set, and neither group is within the other. A
    ///   group is within another if it owns, requires and excludes what the other does.
    /// - [`GroupError::Removal`]: an owned sparse set does not have [`Removal::Swap`](crate::Removal::Swap).
    /// - [`GroupError::Alloc`]: allocation fails.
    ///
    /// ```
    /// use phalanx::group::{GroupError, Owned};
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct A;
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct B;
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct C;
    ///
    /// let mut world = World::new();
    /// world.create_group::<Owned<(A, B)>>()?;
    /// world.create_group::<Owned<(A, B, C)>>()?; // within the first
    /// assert!(matches!(world.create_group::<Owned<(B, C)>>(), Err(GroupError::Conflict { .. })));
    /// # Ok::<(), GroupError>(())
    /// ```
    #[doc(alias = "group")]
    pub fn create_group<S: GroupSpec>(&mut self) -> Result<Group<S>, GroupError> {
        let name = core::any::type_name::<S>();
        let (own, see, not) = (S::Owned::LEN, S::Observed::LEN, S::Excluded::LEN);
        let mut ids = try_vec(own + see + not)?;
        S::Owned::ids(&mut self.storage.components, &mut ids)?;
        S::Observed::ids(&mut self.storage.components, &mut ids)?;
        S::Excluded::ids(&mut self.storage.components, &mut ids)?;
        for (at, id) in ids.iter().enumerate() {
            let info = self.storage.components.info(*id);
            let component = info.name();
            match info.kind() {
                Kind::Table => return Err(GroupError::Table { group: name, component }),
                Kind::Linear if at < own => return Err(GroupError::Linear { group: name, component }),
                Kind::Linear | Kind::Pool => {}
            }
            if ids[..at].contains(id) {
                return Err(GroupError::Duplicate { group: name, component });
            }
        }
        if own + see == 0 {
            return Err(GroupError::Empty { group: name });
        }
        let sparse = self.storage.register_sparse(ids.iter())?;
        let sorted = |sparse: &[u32]| {
            let mut sparse = crate::alloc::try_clone_slice(sparse)?;
            sparse.sort_unstable();
            Ok::<_, AllocError>(sparse)
        };
        let (owned, required) = (sorted(&sparse[..own])?, sorted(&sparse[..own + see])?);
        let desc = GroupDesc { name, owned, required, excluded: sorted(&sparse[own + see..])? };
        let id = match self.storage.sparse.find_group(&desc) {
            Some(id) => id,
            None => {
                let group = self
                    .storage
                    .sparse
                    .try_build_group(desc, &self.storage.components, |index| self.storage.slot(index))?;
                self.storage.restructured();
                self.storage.sparse.try_add_group(group)?
            }
        };
        Ok(Group { space: self.storage.components.registry_id.number(), id, spec: PhantomData })
    }

    /// Removes a group, and returns whether it existed. Its sparse sets keep their values and order, and other groups
    /// can own them.
    pub fn remove_group<S: GroupSpec>(&mut self, group: Group<S>) -> bool {
        let is_there = group.is_of(self);
        if is_there {
            self.storage.sparse.remove_group(group.id);
            self.storage.restructured();
        }
        is_there
    }
}
