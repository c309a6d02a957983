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

mod member_iter;
mod sort;
mod spec;

pub use crate::sparse::{GroupError, PoolError};
#[doc(hidden)]
pub use spec::Member;
pub use spec::{GroupSpec, Members, Observed, Owned};

use crate::alloc::try_vec;
use crate::bundle::Bundle as _;
use crate::error::ComponentError;
use crate::layout::Kind;
use crate::sort::sort_short;
use crate::sparse::{GroupData, GroupDesc, GroupId};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use member_iter::MemberIter;
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
    /// The position is less than the number of members. If `aligned`, the observed values are known to be at it. The values are
    /// not written while the item lives.
    #[inline(always)]
    unsafe fn item(self, at: usize, aligned: bool) -> S::Item<'w> {
        // SAFETY: members have all that is required, and what is owned is at their position. The position is less than the
        // number of members, and the values are not written, by the caller's contract.
        unsafe {
            let observed = match aligned {
                true => Member::Position(at),
                false => Member::Slot(at, self.slots.get_unchecked(at).index()),
            };
            S::item(S::Owned::refs(self.owned, Member::Position(at)), S::Observed::refs(self.observed, observed))
        }
    }

    /// Returns the values of the member at a position, for writing.
    ///
    /// # Safety
    ///
    /// The position is less than the number of members. If `aligned`, the observed values are known to be at it. The values are
    /// not used otherwise while the item lives.
    #[inline(always)]
    unsafe fn item_mut(self, at: usize, aligned: bool) -> S::ItemMut<'w> {
        // SAFETY: members have all that is required, and what is owned is at their position. No component is named
        // twice. The position is less than the number of members, and the values are not used otherwise, by the caller's contract.
        unsafe {
            let observed = match aligned {
                true => Member::Position(at),
                false => Member::Slot(at, self.slots.get_unchecked(at).index()),
            };
            S::item_mut(S::Owned::muts(self.owned, Member::Position(at)), S::Observed::muts(self.observed, observed))
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
        world.contains(entity) && world.storage.sparse.position_in_group(group, entity.index()).is_some()
    }

    /// Returns the position of a member.
    ///
    /// # Errors
    ///
    /// Those of [`get`](Group::get).
    #[inline]
    #[track_caller]
    fn position(&self, world: &World, entity: Entity) -> Result<usize, ComponentError> {
        let group = self.data(world);
        world.storage.try_location(entity)?;
        match world.storage.sparse.position_in_group(group, entity.index()) {
            Some(at) => Ok(at as usize),
            None => Err(mismatch(world, &group.desc, entity)),
        }
    }

    /// Returns the values of a member.
    ///
    /// ```
    /// use phalanx::group::Owned;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Position(f32);
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Velocity(f32);
    ///
    /// let mut world = World::new();
    /// let moving = world.create_group::<Owned<(Position, Velocity)>>().unwrap();
    /// let [ball, wall] = [world.spawn((Position(0.0), Velocity(2.0))), world.spawn(Position(5.0))];
    /// let (position, velocity) = moving.get_mut(&mut world, ball)?;
    /// position.0 += velocity.0;
    /// assert_eq!(moving.get(&world, ball)?.0.0, 2.0);
    /// assert!(moving.contains(&world, ball) && moving.get(&world, wall).is_err());
    /// # Ok::<(), phalanx::ComponentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it lacks a component that the group requires.
    /// - [`ComponentError::ExcludedComponent`] if it has a component that the group excludes.
    #[inline]
    #[track_caller]
    #[doc(alias = "find")]
    pub fn get<'w>(&self, world: &'w World, entity: Entity) -> Result<S::Item<'w>, ComponentError> {
        let at = self.position(world, entity)?;
        // SAFETY: the position is that of a member, and the world is borrowed.
        Ok(unsafe { self.parts(world).item(at, false) })
    }

    /// Returns the values of a member, for writing.
    ///
    /// # Errors
    ///
    /// Those of [`get`](Group::get).
    #[inline]
    #[track_caller]
    #[doc(alias = "find")]
    pub fn get_mut<'w>(&self, world: &'w mut World, entity: Entity) -> Result<S::ItemMut<'w>, ComponentError> {
        let at = self.position(world, entity)?;
        world.storage.touch_member(self.id, entity.index());
        // SAFETY: the position is that of a member, and the world is borrowed exclusively.
        Ok(unsafe { self.parts(world).item_mut(at, false) })
    }

    /// Returns the members, in the order of the group, or with `rev` in the reverse order.
    #[track_caller]
    pub fn entities<'w>(&self, world: &'w World) -> impl ExactSizeIterator<Item = Entity> + DoubleEndedIterator + 'w {
        world.storage.sparse.members(self.data(world)).iter().copied()
    }

    /// Returns the owned values of all members as slices, in the order of the group.
    ///
    /// An entity that leaves the group moves behind the members, and keeps the values that it still has. So a group with
    /// `Without<Disabled>` has the values of enabled entities in one slice, and those of disabled ones after it.
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

    /// Iterates over the values of the members, in the order of the group, or with `rev` in the reverse order.
    #[inline]
    #[track_caller]
    #[doc(alias = "each")]
    pub fn iter<'w>(
        &self,
        world: &'w World,
    ) -> impl ExactSizeIterator<Item = S::Item<'w>> + DoubleEndedIterator + use<'w, S> {
        let parts = self.visited_parts(world);
        // SAFETY: the position is less than the number of members, and was tested if it is aligned. The world is borrowed.
        MemberIter::new(parts).map(move |(parts, at, aligned)| unsafe { parts.item(at, aligned) })
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
        // SAFETY: the position is less than the number of members and comes once, and was tested if it is aligned. The world is
        // borrowed exclusively.
        MemberIter::new(parts).map(move |(parts, at, aligned)| unsafe { parts.item_mut(at, aligned) })
    }

    /// Calls a function with the values of each member, in the order of the group.
    #[inline]
    #[track_caller]
    pub fn for_each<'w>(&self, world: &'w mut World, each: impl FnMut(S::ItemMut<'w>)) {
        self.iter_mut(world).for_each(each);
    }
}

/// Returns why an entity that is alive is not a member of a group.
#[cold]
fn mismatch(world: &World, desc: &GroupDesc, entity: Entity) -> ComponentError {
    let sparse = &world.storage.sparse;
    // The first in the canonical order, which does not depend on the order of registration.
    let first = |list: &[u32], present: bool| {
        let storages = list.iter().map(|storage_id| sparse.get(*storage_id));
        let found = storages.filter(|storage| storage.row(entity.index()).is_some() == present);
        found.min_by_key(|storage| storage.rank).map(|storage| world.storage.components.info(storage.id).name())
    };
    match (first(&desc.required, false), first(&desc.excluded, true)) {
        (Some(component), _) => ComponentError::MissingComponent { entity, component },
        (None, Some(component)) => ComponentError::ExcludedComponent { entity, component },
        (None, None) => unreachable!("an entity that belongs to a group is a member"),
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
            sort_short(&mut sparse);
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
