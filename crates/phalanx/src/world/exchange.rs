//! Several components out and in, in one move; and components that are known by their ids.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::{try_clone_slice, try_vec};
use crate::bundle::Bundle;
use crate::bundle_info::{self, EdgeKey};
use crate::component::ComponentId;
use crate::error::panic_change;
use crate::error::{ChangeError, NoSuchEntity};
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
            Err(error) => panic_change(error),
        }
    }

    /// As [`exchange`](World::exchange).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, a bundle names a component twice, or memory cannot be had; the bundle is dropped, and
    /// nothing else happens.
    pub fn try_exchange<R: Bundle, I: Bundle>(&mut self, entity: Entity, bundle: I) -> Result<(), ChangeError> {
        let bundle_id = match self.bundles.find(TypeId::of::<Exchange<R, I>>()) {
            Some(bundle_id) => bundle_id,
            None => self.make_exchange::<R, I>()?,
        };
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        if self.bundles.find_edge(bundle_id, from.table, true).is_none() {
            self.make_exchange_edge::<R>(bundle_id, from.table)?;
        }
        // SAFETY: the entity is at `from`, and the edge is one of that table that inserts this bundle.
        unsafe {
            self.insert_along(entity, from, EdgeKey::BundleInfo { bundle_id, insert: true }, |place| {
                bundle.write(place)
            })
        }
    }

    #[cold]
    fn make_exchange<R: Bundle, I: Bundle>(&mut self) -> Result<usize, ChangeError> {
        let (mut ids, mut gone) = (try_vec(I::LEN)?, try_vec(R::LEN)?);
        R::ids(&mut self.storage.components, &mut gone)?;
        I::ids(&mut self.storage.components, &mut ids)?;
        bundle_info::signature(&gone, &self.storage.components)?;
        self.storage.sparse(&gone)?;
        self.bundle_of(TypeId::of::<Exchange<R, I>>(), ids)
    }

    #[cold]
    fn make_exchange_edge<R: Bundle>(&mut self, bundle_id: usize, source: u32) -> Result<(), AllocError> {
        let mut gone = try_vec(R::LEN)?;
        R::known_ids(&self.storage.components, &mut gone);
        let bundle_sparse = &self.bundles.get(bundle_id).sparse;
        // A component that comes and goes is replaced.
        let taken = || {
            gone.iter()
                .filter_map(|id| self.storage.sparse.storage_id(*id))
                .filter(|side| !bundle_sparse.contains(side))
        };
        let mut sparse_removes = try_vec(taken().count())?;
        sparse_removes.extend(taken());
        let sparse_inserts = try_clone_slice(bundle_sparse)?;
        let gone = Signature::try_of(gone)?;
        let (present, bundle) =
            (&self.storage.tables[source as usize].signature, &self.bundles.get(bundle_id).signature);
        let goal = present.try_difference(&gone)?.try_merge(bundle)?;
        let left = gone.try_merge(bundle)?;
        let target = self.storage.table_of(&goal)?;
        let places = self.storage.places(target, &self.bundles.get(bundle_id).ids)?;
        let mut edge = self.storage.edge_between(source, target, &left, places)?;
        (edge.sparse_inserts, edge.sparse_removes) = (sparse_inserts.into(), sparse_removes.into());
        self.bundles.add_edge(bundle_id, source, true, edge)
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
            Err(error) => panic_change(error),
        }
    }

    /// As [`remove_ids`](World::remove_ids).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or memory cannot be had; nothing happens then.
    pub fn try_remove_ids(&mut self, entity: Entity, ids: &[ComponentId]) -> Result<bool, ChangeError> {
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        let present = &self.storage.tables[from.table as usize].signature;
        let gone = Signature::try_of(ids.iter().copied().filter(|id| present.has(*id)))?;
        let mut sparse_removes = try_vec(ids.len())?;
        for side in ids.iter().filter_map(|id| self.storage.sparse.storage_id(*id)) {
            if !sparse_removes.contains(&side) {
                sparse_removes.push(side);
            }
        }
        let goal = present.try_difference(&gone)?;
        let target = self.storage.table_of(&goal)?;
        let mut edge = self.storage.edge_between(from.table, target, &gone, Box::default())?;
        edge.sparse_removes = sparse_removes.into();
        // SAFETY: the entity is there, and the edge brings nothing.
        unsafe { self.remove_along(entity, from, EdgeKey::Own(&edge)) }
    }
}
