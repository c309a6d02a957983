//! [`BundleInfo`]: the table and columns of a bundle in one world, and its edges between tables.

use crate::alloc::{try_box, try_reserve, try_reserve_at, try_reserve_map};
use crate::component::{ComponentId, Components, TypeIdHasher, cache_slot};
use crate::error::{DuplicateComponent, StructuralError};
use crate::layout::Kind;
use crate::signature::Signature;
use core::any::TypeId;
use phalanx_store::AllocError;
use std::collections::HashMap;

/// The cached facts about one bundle type in one world.
#[derive(Debug)]
pub(crate) struct BundleInfo {
    key: TypeId,
    /// The table of entities that have these components and no others.
    pub(crate) table: u32,
    /// For each component in the order of the bundle: its first lane in that table, or its number in `sparse`.
    pub(crate) columns: Box<[u16]>,
    pub(crate) ids: Box<[ComponentId]>,
    /// The storages of the sparse components, in the order of the bundle.
    pub(crate) sparse: Box<[u32]>,
    /// The table components.
    pub(crate) signature: Signature,
    /// The edges of inserting the bundle, by source table; `None` until first use.
    insert_edges: Vec<Option<Box<Edge>>>,
    /// The edges of removing the bundle, by source table; `None` until first use.
    remove_edges: Vec<Option<Box<Edge>>>,
}

/// An archetype move: from one table to another, for one bundle.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) target: u32,
    /// The lanes that are copied: source, target.
    pub(crate) moved: Box<[(u16, u16)]>,
    /// By lane of the source: whether its value is displaced and must be kept until it is dropped.
    pub(crate) keep: Box<[bool]>,
    /// The columns of the source whose values do not come along: they are removed, or overwritten by the bundle.
    pub(crate) displaced: Box<[crate::storage::table::Column]>,
    /// For each component in the order of the bundle: its first lane, or its number in `sparse_inserts` or `sparse_removes`.
    ///
    /// Lanes are those of the target for an insertion, and of the source for a removal.
    pub(crate) columns: Box<[u16]>,
    /// Whether a component of the source or the target is tracked.
    pub(crate) tracked: bool,
    /// The sparse storages that a value is inserted into.
    pub(crate) sparse_inserts: Box<[u32]>,
    /// The sparse storages that a value is removed from.
    pub(crate) sparse_removes: Box<[u32]>,
}

/// The edge that an operation follows: a cached one, found by the entity's table, or one that was built for the operation.
#[derive(Clone, Copy)]
pub(crate) enum EdgeKey<'e> {
    Cached { bundle_id: usize, insert: bool },
    Own(&'e Edge),
}

impl<'e> EdgeKey<'e> {
    /// Returns the edge from the table `source`.
    ///
    /// # Panics
    ///
    /// Panics if a cached edge was not added before.
    #[inline(always)]
    pub(crate) fn find<'a>(self, bundles: &'a BundleInfos, source: u32) -> &'a Edge
    where
        'e: 'a,
    {
        match self {
            EdgeKey::Cached { bundle_id, insert } => bundles.edge(bundle_id, source, insert),
            EdgeKey::Own(edge) => edge,
        }
    }
}

/// The bundles of a world, by type.
#[derive(Debug)]
pub(crate) struct BundleInfos {
    list: Vec<BundleInfo>,
    by_type: HashMap<TypeId, u32, TypeIdHasher>,
    /// A cache of `by_type`, by bits of the type id.
    cache: Box<[u32; 64]>,
}

impl BundleInfos {
    /// Creates an empty list.
    pub(crate) fn try_new() -> Result<BundleInfos, AllocError> {
        Ok(BundleInfos { list: Vec::new(), by_type: HashMap::default(), cache: try_box([u32::MAX; 64])? })
    }

    /// Returns the id of a bundle type, if it was added.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: TypeId) -> Option<usize> {
        let at = self.cache[cache_slot(&key)] as usize;
        match self.list.get(at) {
            Some(info) if info.key == key => Some(at),
            _ => self.find_slow(key),
        }
    }

    #[cold]
    fn find_slow(&mut self, key: TypeId) -> Option<usize> {
        let at = *self.by_type.get(&key)?;
        self.cache[cache_slot(&key)] = at;
        Some(at as usize)
    }

    /// Returns the number of bundles.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the bundle with this id.
    #[inline(always)]
    pub(crate) fn get(&self, bundle_id: usize) -> &BundleInfo {
        &self.list[bundle_id]
    }

    /// Returns the edge of a bundle from the table `source`, if it was added.
    #[inline(always)]
    pub(crate) fn find_edge(&self, bundle_id: usize, source: u32, insert: bool) -> Option<&Edge> {
        let info = self.get(bundle_id);
        let edges = if insert { &info.insert_edges } else { &info.remove_edges };
        edges.get(source as usize)?.as_deref()
    }

    /// Returns the edge of a bundle from the table `source`.
    ///
    /// # Panics
    ///
    /// Panics if it was not added before.
    #[inline(always)]
    pub(crate) fn edge(&self, bundle_id: usize, source: u32, insert: bool) -> &Edge {
        self.find_edge(bundle_id, source, insert).expect("an edge is added before it is used")
    }

    /// Adds the edge of a bundle from the table `source`. Nothing changes if allocation fails.
    pub(crate) fn add_edge(
        &mut self,
        bundle_id: usize,
        source: u32,
        insert: bool,
        edge: Edge,
    ) -> Result<(), AllocError> {
        let info = &mut self.list[bundle_id];
        let edges = if insert { &mut info.insert_edges } else { &mut info.remove_edges };
        try_reserve_at(edges, source as usize)?;
        let edge = try_box(edge)?;
        edges.resize_with(edges.len().max(source as usize + 1), || None);
        edges[source as usize] = Some(edge);
        Ok(())
    }

    /// Removes all bundles and their edges, when tables are renumbered.
    pub(crate) fn clear(&mut self) {
        (self.list, self.by_type) = (Vec::new(), HashMap::default());
        self.cache.fill(u32::MAX);
    }

    /// Adds a bundle with its table, columns, components and sparse storages. Returns its id.
    ///
    /// Nothing changes if allocation fails.
    pub(crate) fn add(
        &mut self,
        key: TypeId,
        (table, columns): (u32, Box<[u16]>),
        ids: Box<[ComponentId]>,
        (signature, sparse): (Signature, Box<[u32]>),
    ) -> Result<usize, AllocError> {
        let at = self.list.len();
        try_reserve(&mut self.list, 1)?;
        try_reserve_map(&mut self.by_type, 1)?;
        let (insert_edges, remove_edges) = (Vec::new(), Vec::new());
        self.list.push(BundleInfo { key, table, columns, ids, sparse, signature, insert_edges, remove_edges });
        self.by_type.insert(key, at as u32);
        self.cache[cache_slot(&key)] = at as u32;
        Ok(at)
    }
}

/// Returns the signature of the table components among `ids`.
///
/// # Errors
///
/// Returns [`StructuralError::Duplicate`] if an id occurs twice, and [`StructuralError::Alloc`] if allocation fails.
pub(crate) fn signature(ids: &[ComponentId], components: &Components) -> Result<Signature, StructuralError> {
    let (mut all, mut signature) = (Signature::EMPTY, Signature::EMPTY);
    for &id in ids {
        let info = components.info(id);
        if all.has(id) {
            return Err(DuplicateComponent { component: info.name() }.into());
        }
        all.try_insert(id)?;
        if info.kind() == Kind::Table {
            signature.try_insert(id)?;
        }
    }
    Ok(signature)
}
