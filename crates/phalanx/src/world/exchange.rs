//! Several components out and in, in one move; and components that are known by their ids.
#![allow(unsafe_code)]

use super::World;
use crate::bundle::Bundle;
use crate::component::ComponentId;
use crate::error::raise;
use crate::error::{ChangeError, NoSuchEntity};
use crate::plan::{self, EdgeKey};
use crate::room::{try_copy, try_list};
use crate::signature::Signature;
use core::any::TypeId;
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

/// The key of a plan that takes `R` away and brings `I`.
struct Exchange<R, I>(PhantomData<fn(R) -> I>);

impl World {
    /// Takes the components of `R` from an entity and gives it those of a bundle, in one move.
    ///
    /// Those of `R` that it does not have are no error; a component of both is replaced.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Walking;
    /// #[derive(Component)]
    /// struct Sitting(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Walking);
    /// world.exchange::<Walking, _>(e, Sitting(4)).unwrap();
    /// assert!(!world.has::<Walking>(e) && world.has::<Sitting>(e));
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the bundle is dropped, and nothing else happens.
    ///
    /// # Panics
    ///
    /// If a bundle names a component twice.
    #[track_caller]
    pub fn exchange<R: Bundle, I: Bundle>(&mut self, entity: Entity, bundle: I) -> Result<(), NoSuchEntity> {
        match self.try_exchange::<R, I>(entity, bundle) {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => raise(error),
        }
    }

    /// As [`exchange`](World::exchange).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, a bundle names a component twice, or memory cannot be had; the bundle is dropped, and
    /// nothing else happens.
    pub fn try_exchange<R: Bundle, I: Bundle>(&mut self, entity: Entity, bundle: I) -> Result<(), ChangeError> {
        let plan = match self.plans.find(TypeId::of::<Exchange<R, I>>()) {
            Some(plan) => plan,
            None => self.make_exchange::<R, I>()?,
        };
        self.storage.flush()?;
        let from = self.storage.locate(entity)?;
        if self.plans.find_edge(plan, from.table, true).is_none() {
            self.make_exchange_edge::<R>(plan, from.table)?;
        }
        // SAFETY: the entity is at `from`, and the edge is one of that table that inserts this bundle.
        unsafe { self.insert_along(entity, from, EdgeKey::Plan { plan, insert: true }, |place| bundle.write(place)) }
    }

    #[cold]
    fn make_exchange<R: Bundle, I: Bundle>(&mut self) -> Result<usize, ChangeError> {
        let (mut ids, mut gone) = (try_list(I::LEN)?, try_list(R::LEN)?);
        R::ids(&mut self.storage.components, &mut gone)?;
        I::ids(&mut self.storage.components, &mut ids)?;
        plan::signature(&gone, &self.storage.components)?;
        self.storage.sides(&gone)?;
        self.plan_of(TypeId::of::<Exchange<R, I>>(), ids)
    }

    #[cold]
    fn make_exchange_edge<R: Bundle>(&mut self, plan: usize, source: u32) -> Result<(), AllocError> {
        let mut gone = try_list(R::LEN)?;
        R::known_ids(&self.storage.components, &mut gone);
        let plan_sides = &self.plans.get(plan).sides;
        // A component that comes and goes is replaced.
        let taken =
            || gone.iter().filter_map(|id| self.storage.sides.number(*id)).filter(|side| !plan_sides.contains(side));
        let mut takes = try_list(taken().count())?;
        takes.extend(taken());
        let puts = try_copy(plan_sides)?;
        let gone = Signature::try_of(gone)?;
        let (present, bundle) = (&self.storage.tables[source as usize].signature, &self.plans.get(plan).signature);
        let goal = present.try_difference(&gone)?.try_merge(bundle)?;
        let left = gone.try_merge(bundle)?;
        let target = self.storage.table_of(&goal)?;
        let places = self.storage.places(target, &self.plans.get(plan).ids)?;
        let mut edge = self.storage.edge_between(source, target, &left, places)?;
        (edge.puts, edge.takes) = (puts.into(), takes.into());
        self.plans.add_edge(plan, source, true, edge)
    }

    /// Takes components from an entity that are known by their ids, and drops them; those that it does not have are no
    /// error. Whether it had any.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Fire;
    /// #[derive(Component)]
    /// struct Frost;
    ///
    /// let mut world = World::new();
    /// let e = world.spawn((Fire, Frost));
    /// let curable: Vec<_> = world.component_id::<Fire>().into_iter().collect();
    /// assert_eq!(world.remove_ids(e, &curable), Ok(true));
    /// assert_eq!(world.remove_ids(e, &curable), Ok(false));
    /// assert!(world.has::<Frost>(e));
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    #[track_caller]
    pub fn remove_ids(&mut self, entity: Entity, ids: &[ComponentId]) -> Result<bool, NoSuchEntity> {
        match self.try_remove_ids(entity, ids) {
            Ok(removed) => Ok(removed),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => raise(error),
        }
    }

    /// As [`remove_ids`](World::remove_ids).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or memory cannot be had; nothing happens then.
    pub fn try_remove_ids(&mut self, entity: Entity, ids: &[ComponentId]) -> Result<bool, ChangeError> {
        self.storage.flush()?;
        let from = self.storage.locate(entity)?;
        let present = &self.storage.tables[from.table as usize].signature;
        let gone = Signature::try_of(ids.iter().copied().filter(|id| present.has(*id)))?;
        let mut takes = try_list(ids.len())?;
        for side in ids.iter().filter_map(|id| self.storage.sides.number(*id)) {
            if !takes.contains(&side) {
                takes.push(side);
            }
        }
        let goal = present.try_difference(&gone)?;
        let target = self.storage.table_of(&goal)?;
        let mut edge = self.storage.edge_between(from.table, target, &gone, Box::default())?;
        edge.takes = takes.into();
        // SAFETY: the entity is there, and the edge brings nothing.
        unsafe { self.remove_along(entity, from, EdgeKey::Own(&edge)) }
    }
}
