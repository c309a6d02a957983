//! Removes and inserts components in one archetype move.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::{try_clone_slice, try_vec};
use crate::bundle::Bundle;
use crate::bundle_info::{self, EdgeKey};
use crate::error::StructuralError;
use crate::signature::Signature;
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
        unsafe { self.insert_along(entity, from, EdgeKey::Cached { bundle_id, insert: true }, |ptr| bundle.write(ptr)) }
    }

    /// Resolves the bundle of an exchange.
    #[cold]
    fn make_exchange<R: Bundle, I: Bundle>(&mut self) -> Result<usize, StructuralError> {
        let (mut ids, mut removed) = (try_vec(I::LEN)?, try_vec(R::LEN)?);
        R::ids(&mut self.storage.components, &mut removed)?;
        I::ids(&mut self.storage.components, &mut ids)?;
        bundle_info::signature(&removed, &self.storage.components)?;
        self.storage.register_sparse(&removed)?;
        self.bundle_of(TypeId::of::<Exchange<R, I>>(), ids)
    }

    /// Creates the edge of an exchange from a table.
    #[cold]
    fn make_exchange_edge<R: Bundle>(&mut self, bundle_id: usize, source: u32) -> Result<(), AllocError> {
        let mut removed = try_vec(R::LEN)?;
        R::known_ids(&self.storage.components, &mut removed);
        let bundle_sparse = &self.bundles.get(bundle_id).sparse;
        // A component that is both removed and inserted is overwritten.
        let numbers = || {
            removed.iter().filter_map(|id| self.storage.sparse.storage_id(*id)).filter(|id| !bundle_sparse.contains(id))
        };
        let mut sparse_removes = try_vec(numbers().count())?;
        sparse_removes.extend(numbers());
        let sparse_inserts = try_clone_slice(bundle_sparse)?;
        let removed = Signature::try_of(removed)?;
        let (present, bundle) =
            (&self.storage.tables[source as usize].signature, &self.bundles.get(bundle_id).signature);
        let goal = present.try_difference(&removed)?.try_merge(bundle)?;
        let left = removed.try_merge(bundle)?;
        let target = self.storage.table_of(&goal)?;
        let columns = self.storage.bundle_columns(target, &self.bundles.get(bundle_id).ids)?;
        let mut edge = self.storage.edge_between(source, target, &left, columns)?;
        (edge.sparse_inserts, edge.sparse_removes) = (sparse_inserts.into(), sparse_removes.into());
        self.bundles.add_edge(bundle_id, source, true, edge)
    }
}
