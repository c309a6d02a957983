//! Removes and inserts components in one archetype move.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::bundle::{Bundle, WriteOnce};
use crate::bundle_info::{self, BundleKey, EdgeKey};
use crate::error::StructuralError;
use core::any::TypeId;
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

/// The key of a bundle that inserts `I` and removes `R`.
struct Exchange<R, I>(PhantomData<fn(R) -> I>);

impl World {
    /// Removes the components of `R` from `entity` and inserts those of `bundle`, in one archetype move.
    ///
    /// Components of `R` that the entity does not have are ignored. A component of both is overwritten.
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
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Duplicate`] if a bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn exchange<R: Bundle, I: Bundle>(&mut self, entity: Entity, bundle: I) -> Result<(), StructuralError> {
        let key = TypeId::of::<Exchange<R, I>>();
        let present = bundle.present();
        let bundle_id = match const { I::OPTIONAL } {
            0 => self.bundles.find(key),
            _ => self.bundles.find_present(key, present),
        };
        let mut bundle_id = match bundle_id {
            Some(bundle_id) => bundle_id,
            None => self.make_exchange::<R, I>(present)?,
        };
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        if const { I::REQUIRES } {
            bundle_id = self.exchange_for_slot::<R>(bundle_id, entity.index())?;
        }
        if self.bundles.find_edge(bundle_id, from.table, true).is_none() {
            let mut removed = try_vec(R::LEN)?;
            R::known_ids(&self.storage.components, &mut removed);
            self.make_insert_edge(bundle_id, from.table, Some(&removed))?;
        }
        // SAFETY: the entity is at `from`, and the edge is one of that table that inserts this bundle.
        unsafe {
            let edge = EdgeKey::Cached { bundle_id, insert: true };
            let mut bundle = WriteOnce::new(bundle);
            self.insert_along_erased(entity, from, edge, &mut |ptr| bundle.write(ptr))
        }
    }

    /// Resolves the bundle of an exchange, with some of its optional components.
    #[cold]
    fn make_exchange<R: Bundle, I: Bundle>(&mut self, present: u64) -> Result<usize, StructuralError> {
        const { assert!(I::OPTIONAL <= 64, "a bundle has at most 64 optional members") };
        let mut removed = try_vec(R::LEN)?;
        R::ids(&mut self.storage.components, &mut removed)?;
        let ids = self.present_ids::<I>(present)?;
        bundle_info::signature(&removed, &self.storage.components)?;
        self.storage.register_sparse(removed.iter())?;
        let key = TypeId::of::<Exchange<R, I>>();
        let key = if I::OPTIONAL == 0 { BundleKey::Type(key) } else { BundleKey::Present(key, present) };
        self.bundle_of(key, ids)
    }

    /// Returns the bundle of an exchange without the required sparse components that a slot has and that are not removed.
    #[cold]
    fn exchange_for_slot<R: Bundle>(&mut self, bundle_id: usize, slot: u32) -> Result<usize, AllocError> {
        let mut removed = try_vec(R::LEN)?;
        R::known_ids(&self.storage.components, &mut removed);
        self.bundle_without(bundle_id, |world, storage_id| {
            let storage = world.storage.sparse.get(storage_id);
            storage.row(slot).is_some() && !removed.contains(&storage.id)
        })
    }
}
