//! [`Spawner`]: spawns entities of one bundle.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::unwrap_alloc;
use crate::bundle::Bundle;
use crate::error::infallible;
use core::marker::PhantomData;
use phalanx_store::raw::DropGuard;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Returns a spawner, which spawns many entities of one bundle, one by one. The bundle is resolved once.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Age(u32);
    ///
    /// let mut world = World::new();
    /// let mut spawner = world.spawner::<Age>();
    /// let ages: Vec<_> = (0..10).map(|n| spawner.spawn(Age(n))).collect();
    /// assert_eq!(world.get::<Age>(ages[7]).unwrap().0, 7);
    /// ```
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn spawner<B: Bundle>(&mut self) -> Spawner<'_, B> {
        let bundle_id = infallible(self.full_bundle_id::<B>());
        Spawner { id: self.id(), world: self, bundle_id, bundle: PhantomData }
    }
}

/// Spawns entities of one bundle: [`World::spawner`].
#[derive(Debug)]
pub struct Spawner<'w, B> {
    world: &'w mut World,
    /// The id that the world had when the bundle was resolved.
    id: u64,
    /// [`STALE`] if the world has forgotten its bundles since.
    bundle_id: usize,
    bundle: PhantomData<fn(B)>,
}

/// The number of no bundle.
const STALE: usize = usize::MAX;

impl<B: Bundle> Spawner<'_, B> {
    /// Spawns an entity with the components of `bundle`, and returns it.
    #[inline]
    #[track_caller]
    pub fn spawn(&mut self, bundle: B) -> Entity {
        if const { B::OPTIONAL > 0 } {
            return self.world.spawn(bundle);
        }
        // The same comparison that finding the bundle makes.
        if self.bundle_id >= self.world.bundles.len() {
            self.resolve();
        }
        let World { storage, bundles, .. } = &mut *self.world;
        // SAFETY: the number is that of the bundle in this world.
        let entity = unwrap_alloc(unsafe { storage.spawn(bundles.get(self.bundle_id), bundle) });
        if self.world.storage.journal.is_active() {
            self.dispatch();
        }
        entity
    }

    /// Calls listeners, whose commands may make the world forget its bundles.
    ///
    /// The function does not get the bundle or the entity: they would have to be in memory on the path without listeners.
    #[cold]
    #[inline(never)]
    fn dispatch(&mut self) {
        // The bundle is resolved again by the next call, because resolving allocates. Also if a listener panics.
        let guard = DropGuard::new(self, |spawner| {
            if spawner.id != spawner.world.id() {
                spawner.bundle_id = STALE;
            }
        });
        guard.state.world.dispatch();
    }

    /// Resolves the bundle again, after the world has forgotten its bundles.
    #[cold]
    #[inline(never)]
    fn resolve(&mut self) {
        self.bundle_id = infallible(self.world.full_bundle_id::<B>());
        self.id = self.world.id();
    }

    /// Reserves capacity for `additional` more entities.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if self.bundle_id == STALE {
            self.resolve();
        }
        let table = self.world.bundles.get(self.bundle_id).table;
        let count = u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow);
        unwrap_alloc(count.and_then(|count| self.world.storage.reserve_spawns(table, count)));
    }
}
