//! [`BundleInfo`]: the table and columns of a bundle in one world, and its edges between tables.

use crate::alloc::{try_box, try_reserve, try_reserve_at, try_reserve_map};
use crate::bundle::Required;
use crate::component::{ComponentId, Components};
use crate::error::{DuplicateComponent, StructuralError};
use crate::few::Few;
use crate::layout::Kind;
use crate::seeded::NumberMap;
use crate::signature::Signature;
use crate::type_map::{TypeIdHasher, TypeMap};
use core::any::TypeId;
use phalanx_store::AllocError;
use std::collections::HashMap;

/// The cached facts about one bundle in one world.
#[derive(Debug)]
pub(crate) struct BundleInfo {
    key: TypeId,
    /// The table of entities that have these components and no others.
    pub(crate) table: u32,
    /// For each component in the order of the bundle, then for each required one: its first lane in that table, or its number in
    /// `sparse`. [`ABSENT`](crate::bundle::ABSENT) for an optional component that is not there.
    pub(crate) columns: Box<[u16]>,
    /// The components of the bundle in order: [`UNKNOWN`](ComponentId::UNKNOWN) for an optional component that is not there.
    pub(crate) ids: Few<ComponentId>,
    /// The storages of the sparse components, in the order of the bundle, then of the required ones.
    pub(crate) sparse: Box<[u32]>,
    /// The number of storages in `sparse` that are of the bundle itself.
    pub(crate) own_sparse: usize,
    /// The table components of the bundle itself.
    pub(crate) signature: Signature,
    /// The components that are inserted with the bundle, unless the row has them.
    ///
    /// Edges leave out the table components that their source has. For a slot that has sparse ones,
    /// [`World::bundle_for_slot`](crate::World::bundle_for_slot) returns another bundle.
    pub(crate) required: Box<[Required]>,
    /// The edges of inserting the bundle, by source table; `None` until first use.
    insert_edges: Vec<Option<Box<Edge>>>,
    /// The edges of removing the bundle, by source table; `None` until first use.
    remove_edges: Vec<Option<Box<Edge>>>,
}

/// What a bundle is found by.
#[derive(Debug)]
pub(crate) enum BundleKey {
    /// Its type, with all optional components.
    Type(TypeId),
    /// Its type, and a bit for each optional component.
    Present(TypeId, u64),
    /// Its components, by ascending id.
    Ids(Box<[ComponentId]>),
    /// Its components, by ascending id, without those that they require.
    #[cfg(feature = "snapshot")]
    Exactly(Box<[ComponentId]>),
    /// Another bundle, and the sparse components that are not required: of 32 in a row, the number of the first and a bit for
    /// each.
    Without(u32, u32, u32),
}

/// The key of a bundle that is not found by its type.
enum NoType {}

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
    /// For each component in the order of the bundle, then for each of `required`: its first lane, or its number in
    /// `sparse_inserts` or `sparse_removes`.
    ///
    /// Lanes are those of the target for an insertion, and of the source for a removal.
    pub(crate) columns: Box<[u16]>,
    /// The components that are inserted with the bundle, because a component of it requires them.
    pub(crate) required: Box<[Required]>,
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
    types: TypeMap,
    /// The bundles that are not found by their type alone, if there are any.
    variants: Option<Box<Variants>>,
    /// The number of sparse storages of components that a bundle requires.
    required_sparse: u32,
}

/// Bundles that are not found by their type alone: see [`BundleKey`].
#[derive(Debug, Default)]
struct Variants {
    /// By type: the bits of optional components and the bundle with these, in ascending order.
    by_present: HashMap<TypeId, Vec<(u64, u32)>, TypeIdHasher>,
    by_ids: HashMap<Box<[ComponentId]>, u32, TypeIdHasher>,
    #[cfg(feature = "snapshot")]
    by_exact_ids: HashMap<Box<[ComponentId]>, u32, TypeIdHasher>,
    without: NumberMap<(u32, u32, u32), u32>,
    /// The sparse storages of components that a bundle requires, in order of their discovery.
    required_sparse: Vec<u32>,
}

impl BundleInfos {
    /// Creates an empty list.
    pub(crate) fn new() -> BundleInfos {
        BundleInfos { list: Vec::new(), types: TypeMap::new(), variants: None, required_sparse: 0 }
    }

    /// Returns the id of a bundle type, if it was added.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: TypeId) -> Option<usize> {
        let is_of = |at: u32| self.list.get(at as usize).is_some_and(|info| info.key == key);
        self.types.find_mut(key, is_of).map(|at| at as usize)
    }

    /// Returns the id of a bundle type with some of its optional components, if it was added.
    #[inline]
    pub(crate) fn find_present(&self, key: TypeId, present: u64) -> Option<usize> {
        let list = self.variants.as_ref()?.by_present.get(&key)?;
        list.binary_search_by_key(&present, |(bits, _)| *bits).ok().map(|at| list[at].1 as usize)
    }

    /// Returns the id of the bundle of these components, by ascending id, if it was added.
    pub(crate) fn find_ids(&self, ids: &[ComponentId]) -> Option<usize> {
        self.variants.as_ref()?.by_ids.get(ids).map(|at| *at as usize)
    }

    /// Returns the id of the bundle of these components, by ascending id, without those that they require, if it was added.
    #[cfg(feature = "snapshot")]
    pub(crate) fn find_exact_ids(&self, ids: &[ComponentId]) -> Option<usize> {
        self.variants.as_ref()?.by_exact_ids.get(ids).map(|at| *at as usize)
    }

    /// Returns the id of a bundle that does not require some sparse components, if it was added: see [`BundleKey::Without`].
    pub(crate) fn find_without(&self, key: (u32, u32, u32)) -> Option<usize> {
        self.variants.as_ref()?.without.get(&key).map(|at| *at as usize)
    }

    /// Returns the number of sparse storages of components that a bundle requires.
    #[inline(always)]
    pub(crate) fn required_sparse_count(&self) -> u32 {
        self.required_sparse
    }

    /// Returns the sparse storages of components that a bundle requires, in order of their discovery.
    pub(crate) fn required_sparse(&self) -> &[u32] {
        self.variants.as_ref().map_or(&[], |variants| &variants.required_sparse)
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
        *self = BundleInfos::new();
    }

    /// Adds a bundle with its table, columns, components, sparse storages and required components. Returns its id.
    ///
    /// Nothing changes if allocation fails.
    pub(crate) fn add(
        &mut self,
        key: BundleKey,
        (table, columns): (u32, Box<[u16]>),
        ids: Few<ComponentId>,
        (signature, sparse, own_sparse): (Signature, Box<[u32]>, usize),
        required: Box<[Required]>,
    ) -> Result<usize, AllocError> {
        let at = self.list.len();
        try_reserve(&mut self.list, 1)?;
        if self.variants.is_none() && !(matches!(key, BundleKey::Type(_)) && sparse.len() == own_sparse) {
            self.variants = Some(try_box(Variants::default())?);
        }
        if let Some(variants) = &mut self.variants {
            try_reserve(&mut variants.required_sparse, sparse.len() - own_sparse)?;
        }
        let (id, mut type_key) = (at as u32, TypeId::of::<NoType>());
        match (key, &mut self.variants) {
            (BundleKey::Type(key), _) => {
                self.types.try_add(key, id, |other| self.list[other as usize].key)?;
                type_key = key;
            }
            (BundleKey::Present(key, present), Some(variants)) => {
                try_reserve_map(&mut variants.by_present, 1)?;
                let list = variants.by_present.entry(key).or_default();
                try_reserve(list, 1)?;
                list.insert(list.partition_point(|(bits, _)| *bits < present), (present, id));
            }
            (BundleKey::Ids(ids), Some(variants)) => {
                try_reserve_map(&mut variants.by_ids, 1)?;
                variants.by_ids.insert(ids, id);
            }
            #[cfg(feature = "snapshot")]
            (BundleKey::Exactly(ids), Some(variants)) => {
                try_reserve_map(&mut variants.by_exact_ids, 1)?;
                variants.by_exact_ids.insert(ids, id);
            }
            (BundleKey::Without(bundle, first, bits), Some(variants)) => {
                try_reserve_map(&mut variants.without, 1)?;
                variants.without.insert((bundle, first, bits), id);
            }
            (_, None) => unreachable!("allocated above"),
        }
        for storage in &sparse[own_sparse..] {
            if let Some(variants) = &mut self.variants
                && !variants.required_sparse.contains(storage)
            {
                variants.required_sparse.push(*storage);
                self.required_sparse += 1;
            }
        }
        let (insert_edges, remove_edges) = (Vec::new(), Vec::new());
        self.list.push(BundleInfo {
            key: type_key,
            table,
            columns,
            ids,
            sparse,
            own_sparse,
            signature,
            required,
            insert_edges,
            remove_edges,
        });
        Ok(at)
    }
}

/// Returns the signature of the table components among `ids`. Optional components that are not there are skipped.
///
/// # Errors
///
/// Returns [`StructuralError::Duplicate`] if an id occurs twice, and [`StructuralError::Alloc`] if allocation fails.
pub(crate) fn signature(ids: &[ComponentId], components: &Components) -> Result<Signature, StructuralError> {
    let (mut signature, mut highest) = (Signature::EMPTY, ComponentId::UNKNOWN);
    for (at, &id) in ids.iter().enumerate().filter(|(_, id)| **id != ComponentId::UNKNOWN) {
        let info = components.info(id);
        // An id above all others before it is new. Long lists are in ascending order, so they are never searched.
        if highest == ComponentId::UNKNOWN || id > highest {
            highest = id;
        } else if ids[..at].contains(&id) {
            return Err(DuplicateComponent { component: info.name() }.into());
        }
        if info.kind() == Kind::Table {
            signature.try_insert(id)?;
        }
    }
    Ok(signature)
}
