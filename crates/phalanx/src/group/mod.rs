//! Groups: entities that have all of some components and none of others, kept together.
//!
//! A query over pools looks each entity up in every pool but one. A group does that when a component comes or goes, and
//! never while iterating. The pools that it *owns* have its members first, in the same order: they are plain slices, as fast
//! as a table. Those that it only *observes* stay as they are. A pool has one owner, or a family of groups one within the
//! other; [`GroupError::Conflict`] names both groups otherwise.
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
//! // What comes and goes keeps the group.
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

/// A group of a world: [`World::create_group`]. What it is of is in `S`, see [`GroupSpec`].
///
/// It is a number that only the world it was made in understands. Its methods take that world, and panic if they get
/// another, or if the group was dropped.
///
/// Members are entities, by what their main rows have. [Extra rows](crate::Key) are no members.
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

/// The parts of a group, found.
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
    /// The member at a position.
    ///
    /// # Safety
    ///
    /// There is one, and it is not written while the item lives.
    #[inline(always)]
    unsafe fn item(self, at: usize) -> S::Item<'w> {
        // SAFETY: members have all that is required; what is owned is at their position.
        unsafe { S::item(S::Owned::refs(self.owned, at), S::Observed::refs_of(self.observed, self.slots[at].index())) }
    }

    /// The member at a position, for writing.
    ///
    /// # Safety
    ///
    /// There is one, and it is not used otherwise while the item lives.
    #[inline(always)]
    unsafe fn item_mut(self, at: usize) -> S::ItemMut<'w> {
        // SAFETY: members have all that is required; what is owned is at their position. No component is named twice.
        unsafe {
            S::item_mut(S::Owned::muts(self.owned, at), S::Observed::muts_of(self.observed, self.slots[at].index()))
        }
    }
}

impl<S: GroupSpec> Group<S> {
    #[track_caller]
    fn data<'w>(&self, world: &'w World) -> &'w GroupData {
        let group = (self.space == world.storage.components.space.number())
            .then(|| world.storage.sparse.group(self.id))
            .flatten();
        match group {
            Some(group) => group,
            None => panic!("{self:?} is of another world, or was dropped"),
        }
    }

    #[inline]
    #[track_caller]
    fn parts<'w>(&self, world: &'w World) -> Parts<'w, S> {
        let slots = world.storage.sparse.members(self.data(world));
        match (S::Owned::find(world), S::Observed::find(world)) {
            (Some(owned), Some(observed)) => Parts { owned, observed, slots },
            _ => unreachable!("the components of a group have their stores"),
        }
    }

    /// The parts, of which all are about to be visited.
    #[inline]
    #[track_caller]
    fn walked<'w>(&self, world: &'w World) -> Parts<'w, S> {
        let parts = self.parts(world);
        if world.storage.counting {
            for side in &self.data(world).desc.required {
                // SparseStorage by side, as if each were alone.
                world.count_visit(world.storage.sparse.get(*side).id, parts.slots.len() as u64, false);
            }
        }
        parts
    }

    /// How many members there are.
    ///
    /// # Panics
    ///
    /// As all methods: if the group is of another world, or was dropped.
    #[track_caller]
    pub fn len(&self, world: &World) -> usize {
        world.storage.sparse.members(self.data(world)).len()
    }

    /// Whether there is none.
    #[track_caller]
    pub fn is_empty(&self, world: &World) -> bool {
        self.len(world) == 0
    }

    /// Whether the group is one of this world, and was not dropped.
    pub fn is_of(&self, world: &World) -> bool {
        self.space == world.storage.components.space.number() && world.storage.sparse.group(self.id).is_some()
    }

    /// Whether an entity is a member.
    #[track_caller]
    pub fn contains(&self, world: &World, entity: Entity) -> bool {
        let group = self.data(world);
        world.contains(entity) && world.storage.sparse.is_member(group, entity.index())
    }

    /// The members, in the order of the group.
    #[track_caller]
    pub fn entities<'w>(&self, world: &'w World) -> impl ExactSizeIterator<Item = Entity> + DoubleEndedIterator + 'w {
        world.storage.sparse.members(self.data(world)).iter().copied()
    }

    /// The values of the members that are owned, side by side, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn slices<'w>(&self, world: &'w World) -> <S::Owned as Members>::Slices<'w> {
        let parts = self.walked(world);
        // SAFETY: the members are the first in each pool that is owned, and the world is borrowed.
        unsafe { S::Owned::slices(parts.owned, parts.slots.len()) }
    }

    /// The values of the members that are owned, for writing.
    #[inline]
    #[track_caller]
    pub fn slices_mut<'w>(&self, world: &'w mut World) -> <S::Owned as Members>::SlicesMut<'w> {
        let parts = self.walked(world);
        world.open_group(self.id);
        // SAFETY: the members are the first in each pool that is owned; no component is named twice, and the world is
        // borrowed exclusively.
        unsafe { S::Owned::slices_mut(parts.owned, parts.slots.len()) }
    }

    /// The members, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn iter<'w>(
        &self,
        world: &'w World,
    ) -> impl ExactSizeIterator<Item = S::Item<'w>> + DoubleEndedIterator + use<'w, S> {
        let parts = self.walked(world);
        // SAFETY: there are so many members, and the world is borrowed.
        (0..parts.slots.len()).map(move |at| unsafe { parts.item(at) })
    }

    /// The members, for writing, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn iter_mut<'w>(
        &self,
        world: &'w mut World,
    ) -> impl ExactSizeIterator<Item = S::ItemMut<'w>> + DoubleEndedIterator + use<'w, S> {
        let parts = self.walked(world);
        world.open_group(self.id);
        // SAFETY: there are so many members, none comes twice, and the world is borrowed exclusively.
        (0..parts.slots.len()).map(move |at| unsafe { parts.item_mut(at) })
    }

    /// Calls a function with each member, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn for_each<'w>(&self, world: &'w mut World, each: impl FnMut(S::ItemMut<'w>)) {
        self.iter_mut(world).for_each(each);
    }

    /// Sorts the members; equal ones keep their order. Pools that are owned are sorted together; a group that owns nothing
    /// sorts its own list, and the pools stay as they are.
    ///
    /// With groups within this one, each segment is sorted by itself: first the members of the innermost, and so on, at last
    /// those that are members of this one only.
    ///
    /// A comparison that panics has changed nothing, and one that is no order gives some order, or panics.
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

    /// As [`sort_by`](Group::sort_by).
    ///
    /// # Errors
    ///
    /// If memory for the order cannot be had; nothing has changed.
    #[track_caller]
    pub fn try_sort_by(
        &self,
        world: &mut World,
        mut compare: impl FnMut(S::Item<'_>, S::Item<'_>) -> Ordering,
    ) -> Result<(), AllocError> {
        let (group, parts) = (self.data(world), self.parts(world));
        // SAFETY: there are so many members, and the world is borrowed.
        let item = |at: u32| unsafe { parts.item(at as usize) };
        let mut order = world.storage.sparse.try_sorted_positions(group, |a, b| compare(item(a), item(b)))?;
        // SAFETY: the order was made just now.
        unsafe { world.storage.sparse.try_reorder_group(self.id, &mut order)? };
        world.storage.restructured();
        Ok(())
    }

    /// As [`sort_by`](Group::sort_by), by a key of each member, which is made for each comparison.
    #[track_caller]
    pub fn sort_by_key<K: Ord>(&self, world: &mut World, mut key: impl FnMut(S::Item<'_>) -> K) {
        self.sort_by(world, |a, b| key(a).cmp(&key(b)));
    }
}

impl World {
    /// Makes a group of the entities that have what it names, now and from now on. If there is one that is the same, it is
    /// that one.
    ///
    /// Making a group that owns pools changes the order of these. See [`group`](crate::group) for what groups are.
    ///
    /// # Errors
    ///
    /// - [`GroupError::Table`]: a component is kept in tables;
    /// - [`GroupError::Linear`]: a component that was to be owned is not kept in a pool;
    /// - [`GroupError::Duplicate`], [`GroupError::Empty`]: a component is named twice, or none is required;
    /// - [`GroupError::Conflict`]: another group owns a pool. Groups may own the same pools if one is within the other: what
    ///   the outer owns, requires and excludes, the inner does, too;
    /// - [`GroupError::Removal`]: a pool that was to be owned is not [`Removal::Swap`](crate::Removal::Swap);
    /// - [`GroupError::Alloc`]: memory cannot be had.
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
        let sparse = self.storage.sparse(&ids)?;
        let sorted = |sparse: &[u32]| {
            let mut sparse = crate::alloc::try_clone_slice(sparse)?;
            sparse.sort_unstable();
            Ok::<_, AllocError>(sparse)
        };
        let (owned, required) = (sorted(&sparse[..own])?, sorted(&sparse[..own + see])?);
        let what = GroupDesc { name, owned, required, excluded: sorted(&sparse[own + see..])? };
        let id = match self.storage.sparse.find_group(&what) {
            Some(id) => id,
            None => {
                let group = self
                    .storage
                    .sparse
                    .try_build_group(what, &self.storage.components, |index| self.storage.slot(index))?;
                self.storage.restructured();
                self.storage.sparse.try_add_group(group)?
            }
        };
        Ok(Group { space: self.storage.components.space.number(), id, spec: PhantomData })
    }

    /// Drops a group. Its pools stay as they are, and can be owned by others. Whether it was there.
    pub fn remove_group<S: GroupSpec>(&mut self, group: Group<S>) -> bool {
        let is_there = group.is_of(self);
        if is_there {
            self.storage.sparse.remove_group(group.id);
            self.storage.restructured();
        }
        is_there
    }
}
