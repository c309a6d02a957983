//! The same trees in other layouts.
// Boxes in vectors are the layout that is compared with.
#![allow(clippy::vec_box)]

use phalanx_syntax::ori::Kind;
use phalanx_syntax::{NodeId, Span, Tree};

/// A node as one struct, for comparison: 24 bytes of kind and data, 8 of span.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Row {
    kind: Kind,
    #[allow(dead_code)]
    data: [u32; 5],
    #[allow(dead_code)]
    span: Span,
}

pub const ARENA_NODE: usize = size_of::<Row>();
const _: () = assert!(ARENA_NODE == 32);

/// Nodes of 32 bytes in one vector.
pub struct Arena {
    rows: Vec<Row>,
    extra: usize,
}

impl Arena {
    pub fn of(tree: &Tree<Kind>) -> Arena {
        let row = |id: NodeId| {
            let [a, b] = tree.data()[id.index()];
            Row { kind: tree.kind(id), data: [a, b, 0, 0, 0], span: tree.span(id) }
        };
        Arena { rows: tree.ids().map(row).collect(), extra: tree.extra_len() }
    }

    #[inline(never)]
    pub fn count(&self, kind: Kind) -> usize {
        self.rows.iter().filter(|row| row.kind == kind).count()
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + self.extra * 4
    }
}

/// A node by itself on the heap, with its children: what a parser makes that thinks of nothing else.
pub struct Boxed {
    kind: Kind,
    #[allow(dead_code)]
    span: Span,
    #[allow(dead_code)]
    data: [u32; 2],
    children: Vec<Box<Boxed>>,
}

impl Boxed {
    /// The roots of a tree that several were put into.
    pub fn forest(tree: &Tree<Kind>) -> Vec<Box<Boxed>> {
        let parents = tree.parents();
        tree.ids().filter(|&id| parents.of(id).is_none()).map(|id| Boxed::of(tree, id)).collect()
    }

    /// Children first, as a parser makes them. The depth is that of the programs, which is small.
    fn of(tree: &Tree<Kind>, id: NodeId) -> Box<Boxed> {
        let mut children: Vec<Box<Boxed>> = tree.children(id).map(|child| Boxed::of(tree, child)).collect();
        children.shrink_to_fit();
        Box::new(Boxed { kind: tree.kind(id), span: tree.span(id), data: tree.data()[id.index()], children })
    }

    #[inline(never)]
    pub fn count(nodes: &[Box<Boxed>], kind: Kind) -> usize {
        nodes.iter().map(|node| usize::from(node.kind == kind) + Boxed::count(&node.children, kind)).sum()
    }

    pub fn bytes(nodes: &[Box<Boxed>]) -> usize {
        let own = |node: &Boxed| size_of_val(node) + size_of::<Box<Boxed>>();
        nodes.iter().map(|node| own(node) + Boxed::bytes(&node.children)).sum()
    }
}

/// The scan of a byte vector that the tree is compared with.
#[inline(never)]
pub fn count_bytes(bytes: &[u8], wanted: u8) -> usize {
    let count = |chunk: &[u8]| chunk.iter().fold(0u8, |sum, &byte| sum + u8::from(byte == wanted));
    bytes.chunks(224).map(|chunk| usize::from(count(chunk))).sum()
}
