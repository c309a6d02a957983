//! Finds the cached information of bundles and of their edges.

use super::World;
use crate::alloc::{try_clone_slice, try_vec};
use crate::bundle::{Bundle, Required};
use crate::bundle_info::{self, BundleKey};
use crate::component::ComponentId;
use crate::error::StructuralError;
use crate::few::Few;
use crate::layout::Kind;
use crate::signature::Signature;
use core::any::TypeId;
use phalanx_store::AllocError;

impl World {
    /// Returns the number of a bundle with all of its optional components, which is resolved if it is not known yet. It is for
    /// removals.
    #[inline(always)]
    pub(crate) fn full_bundle_id<B: Bundle>(&mut self) -> Result<usize, StructuralError> {
        match self.bundles.find(TypeId::of::<B>()) {
            Some(bundle_id) => Ok(bundle_id),
            None => self.make_bundle::<B>(),
        }
    }

    /// Returns the number of a bundle that is to be inserted, which is resolved if it is not known yet.
    #[inline(always)]
    pub(crate) fn bundle_id_of<B: Bundle>(&mut self, bundle: &B) -> Result<usize, StructuralError> {
        match const { B::OPTIONAL } {
            0 => self.full_bundle_id::<B>(),
            _ => self.bundle_id_with::<B>(bundle.present()),
        }
    }

    /// Returns the number of a bundle with some of its optional components.
    pub(crate) fn bundle_id_with<B: Bundle>(&mut self, present: u64) -> Result<usize, StructuralError> {
        const { assert!(B::OPTIONAL <= 64, "a bundle has at most 64 optional members") };
        match self.bundles.find_present(TypeId::of::<B>(), present) {
            Some(bundle_id) => Ok(bundle_id),
            None => {
                let ids = self.present_ids::<B>(present)?;
                self.bundle_of(BundleKey::Present(TypeId::of::<B>(), present), ids)
            }
        }
    }

    /// Returns the ids of a bundle with some of its optional components.
    pub(super) fn present_ids<B: Bundle>(&mut self, present: u64) -> Result<Vec<ComponentId>, AllocError> {
        let mut ids = try_vec(B::LEN)?;
        B::ids(&mut self.storage.components, &mut ids)?;
        let mut bits = present;
        B::optional(0, &mut |at| {
            if bits & 1 == 0 {
                ids[at] = ComponentId::UNKNOWN;
            }
            bits >>= 1;
        });
        Ok(ids)
    }

    /// Resolves a bundle that is not known yet.
    #[cold]
    #[inline(never)]
    fn make_bundle<B: Bundle>(&mut self) -> Result<usize, StructuralError> {
        let mut ids = try_vec(B::LEN)?;
        B::ids(&mut self.storage.components, &mut ids)?;
        self.bundle_of(BundleKey::Type(TypeId::of::<B>()), ids)
    }

    /// Returns the number of the bundle of these components, which are in ascending order.
    ///
    /// # Panics
    ///
    /// Panics if the world has no component with one of the ids, or if rows cannot have it.
    #[track_caller]
    pub(crate) fn bundle_id_of_ids(&mut self, ids: &[ComponentId]) -> Result<usize, StructuralError> {
        match self.bundles.find_ids(ids) {
            Some(bundle_id) => Ok(bundle_id),
            None => {
                let components = &self.storage.components;
                assert!(!ids.iter().any(|id| components.is_hidden(*id)), "a component that rows cannot have");
                let ids = try_clone_slice(ids)?;
                self.bundle_of(BundleKey::Ids(try_clone_slice(&ids)?.into()), ids)
            }
        }
    }

    /// Returns the number of the bundle of these components, which are in ascending order, without those that they require.
    #[cfg(feature = "snapshot")]
    pub(crate) fn bundle_id_of_exact_ids(&mut self, ids: &[ComponentId]) -> Result<usize, StructuralError> {
        if let Some(bundle_id) = self.bundles.find_exact_ids(ids) {
            return Ok(bundle_id);
        }
        let signature = bundle_info::signature(ids, &self.storage.components)?;
        let table = self.storage.table_of(&signature)?;
        let (key, ids) = (BundleKey::Exactly(try_clone_slice(ids)?.into()), Few::try_copy(ids)?);
        Ok(self.add_bundle(key, table, ids, signature, Box::default())?)
    }

    /// Adds the information of a bundle with these components, under a key.
    pub(super) fn bundle_of(&mut self, key: BundleKey, ids: Vec<ComponentId>) -> Result<usize, StructuralError> {
        let signature = bundle_info::signature(&ids, &self.storage.components)?;
        let required = Required::try_of(&ids, &mut self.storage.components)?;
        let table = self.storage.table_of(&with_required(&signature, &required)?)?;
        Ok(self.add_bundle(key, table, ids.into(), signature, required)?)
    }

    /// Adds the information of a bundle whose table is known.
    fn add_bundle(
        &mut self,
        key: BundleKey,
        table: u32,
        ids: Few<ComponentId>,
        signature: Signature,
        required: Box<[Required]>,
    ) -> Result<usize, AllocError> {
        let all = ids.iter().chain(required.iter().map(|required| &required.id));
        let columns = self.storage.bundle_columns(table, all.clone())?;
        let sparse = self.storage.register_sparse(all)?;
        let is_required = |storage_id: &&u32| {
            let id = self.storage.sparse.get(**storage_id).id;
            required.iter().any(|required| required.id == id)
        };
        let own_sparse = sparse.len() - sparse.iter().rev().take_while(is_required).count();
        self.bundles.add(key, (table, columns), ids, (signature, sparse, own_sparse), required)
    }

    /// Returns the bundle that is inserted into a slot in place of a bundle: without the required sparse components that the slot
    /// has.
    #[inline]
    pub(crate) fn bundle_for_slot(&mut self, bundle_id: usize, slot: u32) -> Result<usize, AllocError> {
        self.bundle_without(bundle_id, |world, storage_id| world.storage.sparse.get(storage_id).row(slot).is_some())
    }

    /// Returns the bundle that does not require those sparse components for which the function returns `true`, given their
    /// storages.
    #[inline]
    pub(crate) fn bundle_without(
        &mut self,
        bundle_id: usize,
        has: impl Fn(&World, u32) -> bool,
    ) -> Result<usize, AllocError> {
        let info = self.bundles.get(bundle_id);
        match info.sparse.len() == info.own_sparse {
            true => Ok(bundle_id),
            false => self.bundle_without_some(bundle_id, &has),
        }
    }

    #[cold]
    #[inline(never)]
    fn bundle_without_some(
        &mut self,
        bundle_id: usize,
        has: &dyn Fn(&World, u32) -> bool,
    ) -> Result<usize, AllocError> {
        let info = self.bundles.get(bundle_id);
        let (own_sparse, count) = (info.own_sparse, info.sparse.len() - info.own_sparse);
        let mut reduced = bundle_id;
        for first in (0..count).step_by(32) {
            let storages = self.bundles.get(bundle_id).sparse[own_sparse + first..].iter().take(32);
            let bits = storages.rev().fold(0, |bits, storage_id| bits << 1 | u32::from(has(self, *storage_id)));
            if bits != 0 {
                let key = (reduced as u32, first as u32, bits);
                reduced = match self.bundles.find_without(key) {
                    Some(reduced) => reduced,
                    None => self.make_bundle_without(bundle_id, reduced, first, bits)?,
                };
            }
        }
        Ok(reduced)
    }

    /// Adds the bundle `reduced` without some of the required sparse components of a bundle: see [`BundleKey::Without`].
    fn make_bundle_without(
        &mut self,
        bundle_id: usize,
        reduced: usize,
        first: usize,
        bits: u32,
    ) -> Result<usize, AllocError> {
        let (all, info) = (self.bundles.get(bundle_id), self.bundles.get(reduced));
        let (ids, table) = (Few::try_copy(&info.ids)?, info.table);
        let mut required = try_vec(info.required.len())?;
        required.extend(info.required.iter().copied().filter(|required| {
            let storage_id = self.storage.sparse.storage_id(required.id);
            let at = all.sparse[all.own_sparse + first..].iter().take(32).position(|other| Some(*other) == storage_id);
            required.requirement.kind() == Kind::Table || at.is_none_or(|at| bits & 1 << at == 0)
        }));
        let signature = info.signature.try_clone()?;
        let key = BundleKey::Without(reduced as u32, first as u32, bits);
        self.add_bundle(key, table, ids, signature, required.into())
    }

    /// Creates the edge of a bundle from a table, if it does not exist.
    #[inline(always)]
    pub(crate) fn edge(&mut self, bundle_id: usize, source: u32, insert: bool) -> Result<(), AllocError> {
        match self.bundles.find_edge(bundle_id, source, insert) {
            Some(_) => Ok(()),
            None if insert => self.make_insert_edge(bundle_id, source, None),
            None => self.make_remove_edge(bundle_id, source),
        }
    }

    /// Creates the edge that removes a bundle from a table.
    #[cold]
    #[inline(never)]
    fn make_remove_edge(&mut self, bundle_id: usize, source: u32) -> Result<(), AllocError> {
        let info = self.bundles.get(bundle_id);
        let goal = self.storage.tables[source as usize].signature.try_difference(&info.signature)?;
        let target = self.storage.table_of(&goal)?;
        let columns = self.storage.bundle_columns(source, info.ids.iter())?;
        let mut edge = self.storage.edge_between(source, target, &info.signature, columns)?;
        edge.sparse_removes = try_clone_slice(&info.sparse[..info.own_sparse])?.into();
        self.bundles.add_edge(bundle_id, source, false, edge)
    }

    /// Creates the edge that inserts a bundle into the rows of a table, and removes other components.
    #[cold]
    #[inline(never)]
    pub(super) fn make_insert_edge(
        &mut self,
        bundle_id: usize,
        source: u32,
        removed: Option<&[ComponentId]>,
    ) -> Result<(), AllocError> {
        let info = self.bundles.get(bundle_id);
        let removed = removed.unwrap_or(&[]);
        let storages = || {
            let numbers = removed.iter().filter_map(|id| self.storage.sparse.storage_id(*id));
            // A component that is both removed and inserted is overwritten.
            numbers.filter(|number| !info.sparse.contains(number))
        };
        let mut sparse_removes = try_vec(storages().count())?;
        sparse_removes.extend(storages());
        let removed = Signature::try_of(removed.iter().copied())?;
        let kept = self.storage.tables[source as usize].signature.try_difference(&removed)?;
        let mut required = try_vec(info.required.len())?;
        let is_absent = |one: &Required| one.requirement.kind() != Kind::Table || !kept.has(one.id);
        required.extend(info.required.iter().copied().filter(is_absent));
        let goal = with_required(&kept.try_merge(&info.signature)?, &required)?;
        let left = removed.try_merge(&info.signature)?;
        let target = self.storage.table_of(&goal)?;
        let all = info.ids.iter().chain(required.iter().map(|required| &required.id));
        let columns = self.storage.bundle_columns(target, all)?;
        let mut edge = self.storage.edge_between(source, target, &left, columns)?;
        edge.sparse_inserts = try_clone_slice(&info.sparse)?.into();
        edge.sparse_removes = sparse_removes.into();
        edge.required = required.into();
        self.bundles.add_edge(bundle_id, source, true, edge)
    }
}

/// Returns a signature with the table components of a list.
fn with_required(signature: &Signature, required: &[Required]) -> Result<Signature, AllocError> {
    let mut all = signature.try_clone()?;
    let tables = required.iter().filter(|required| required.requirement.kind() == Kind::Table);
    tables.into_iter().try_for_each(|required| all.try_insert(required.id))?;
    Ok(all)
}
