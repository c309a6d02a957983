//! What a bundle means to a world: its table, its places in it, and where it leads from every other table.

use crate::alloc::{try_box, try_reserve, try_reserve_at, try_reserve_map};
use crate::component::{ComponentId, Components, TypeIdHasher, direct_place};
use crate::error::{ChangeError, DuplicateComponent};
use crate::layout::Kind;
use crate::signature::Signature;
use core::any::TypeId;
use phalanx_store::AllocError;
use std::collections::HashMap;

/// The plan of one bundle type in one world.
#[derive(Debug)]
pub(crate) struct BundleInfo {
    key: TypeId,
    /// The table of entities that have these components and no others.
    pub(crate) table: u32,
    /// The first lane of each component in that table, in the order of the bundle; for one that is not kept in tables, its
    /// number in `sparse`.
    pub(crate) places: Box<[u16]>,
    pub(crate) ids: Box<[ComponentId]>,
    /// The sides of the components that are not kept in tables, in the order of the bundle.
    pub(crate) sparse: Box<[u32]>,
    /// The components that are kept in tables.
    pub(crate) signature: Signature,
    /// Where an entity goes that gets these components, by its present table; `None` until it happens.
    pub(crate) inserts: Vec<Option<Box<Edge>>>,
    /// Where an entity goes that loses these components, by its present table.
    pub(crate) removes: Vec<Option<Box<Edge>>>,
}

/// A move from one table to another.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) target: u32,
    /// The lanes that go along: from, to.
    pub(crate) moved: Box<[(u16, u16)]>,
    /// By lane of the source: whether the value stays behind and must be kept for its end.
    pub(crate) keep: Box<[bool]>,
    /// The columns of the source whose values stay behind.
    pub(crate) removed: Box<[crate::storage::table::Column]>,
    /// The first lane of each component of the bundle, in its order: in the target for an insertion, in the source for a
    /// removal; for one that is not kept in tables, its number in `sparse_inserts` or `sparse_removes`.
    pub(crate) places: Box<[u16]>,
    /// Whether a component of either table is tracked.
    pub(crate) tracked: bool,
    /// The sides that get a value.
    pub(crate) sparse_inserts: Box<[u32]>,
    /// The sides that lose theirs.
    pub(crate) sparse_removes: Box<[u32]>,
}

/// Names the edge that an operation follows: that of a plan from the entity's table, or one that was made for it alone.
#[derive(Clone, Copy)]
pub(crate) enum EdgeKey<'e> {
    BundleInfo { bundle_id: usize, insert: bool },
    Own(&'e Edge),
}

impl<'e> EdgeKey<'e> {
    /// Returns the edge from a table.
    #[inline(always)]
    pub(crate) fn find<'a>(self, bundles: &'a BundleInfos, source: u32) -> &'a Edge
    where
        'e: 'a,
    {
        match self {
            EdgeKey::BundleInfo { bundle_id, insert } => bundles.edge(bundle_id, source, insert),
            EdgeKey::Own(edge) => edge,
        }
    }
}

/// The plans of a world.
#[derive(Debug)]
pub(crate) struct BundleInfos {
    list: Vec<BundleInfo>,
    by_type: HashMap<TypeId, u32, TypeIdHasher>,
    /// The plan that was made or used last under these bits of its type id.
    direct: Box<[u32; 64]>,
}

impl BundleInfos {
    pub(crate) fn try_new() -> Result<BundleInfos, AllocError> {
        Ok(BundleInfos { list: Vec::new(), by_type: HashMap::default(), direct: try_box([u32::MAX; 64])? })
    }

    /// The number of a bundle's plan, if it has one.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: TypeId) -> Option<usize> {
        let at = self.direct[direct_place(&key)] as usize;
        match self.list.get(at) {
            Some(info) if info.key == key => Some(at),
            _ => self.find_slow(key),
        }
    }

    #[cold]
    fn find_slow(&mut self, key: TypeId) -> Option<usize> {
        let at = *self.by_type.get(&key)?;
        self.direct[direct_place(&key)] = at;
        Some(at as usize)
    }

    /// Returns the number of plans.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> &BundleInfo {
        &self.list[at]
    }

    /// Returns the edge of a plan from a table, if it was made.
    #[inline(always)]
    pub(crate) fn find_edge(&self, at: usize, source: u32, insert: bool) -> Option<&Edge> {
        let info = self.get(at);
        let edges = if insert { &info.inserts } else { &info.removes };
        edges.get(source as usize)?.as_deref()
    }

    /// Returns the edge of a plan from a table.
    ///
    /// # Panics
    ///
    /// Panics if it was not made before.
    #[inline(always)]
    pub(crate) fn edge(&self, at: usize, source: u32, insert: bool) -> &Edge {
        self.find_edge(at, source, insert).expect("an edge is made before it is used")
    }

    /// Notes where a plan's components lead from a table: with them, or without them.
    pub(crate) fn add_edge(&mut self, at: usize, source: u32, insert: bool, edge: Edge) -> Result<(), AllocError> {
        let info = &mut self.list[at];
        let edges = if insert { &mut info.inserts } else { &mut info.removes };
        try_reserve_at(edges, source as usize)?;
        let edge = try_box(edge)?;
        edges.resize_with(edges.len().max(source as usize + 1), || None);
        edges[source as usize] = Some(edge);
        Ok(())
    }

    /// Forgets all plans and their edges: the numbers of tables that they have mean nothing any more.
    pub(crate) fn clear(&mut self) {
        (self.list, self.by_type) = (Vec::new(), HashMap::default());
        self.direct.fill(u32::MAX);
    }

    /// Adds the plan of a bundle with these components, whose first lanes in its table are `places`.
    pub(crate) fn add(
        &mut self,
        key: TypeId,
        (table, places): (u32, Box<[u16]>),
        ids: Box<[ComponentId]>,
        (signature, sparse): (Signature, Box<[u32]>),
    ) -> Result<usize, AllocError> {
        let at = self.list.len();
        try_reserve(&mut self.list, 1)?;
        try_reserve_map(&mut self.by_type, 1)?;
        let (inserts, removes) = (Vec::new(), Vec::new());
        self.list.push(BundleInfo { key, table, places, ids, sparse, signature, inserts, removes });
        self.by_type.insert(key, at as u32);
        self.direct[direct_place(&key)] = at as u32;
        Ok(at)
    }
}

/// The signature of those of a bundle's components that are kept in tables, unless one of all comes twice.
pub(crate) fn signature(ids: &[ComponentId], components: &Components) -> Result<Signature, ChangeError> {
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
