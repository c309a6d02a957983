//! What a program written for each workload alone does with plain vectors: lists of siblings whose links are in the nodes,
//! bodies without holes, and nodes that are sorted by depth where transforms are computed.

use super::Tree;
use crate::data::*;
use crate::harness::{LIMIT, Ways};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    row: u32,
    parent: u32,
    prev: u32,
    next: u32,
    first: u32,
    last: u32,
}

#[derive(Default)]
pub struct Limit {
    body: Vec<Body>,
    /// The slot of each row; nodes know the row of each slot.
    slot: Vec<u32>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// The nodes of transforms, by depth.
    parent: Vec<u32>,
    local: Vec<Matrix>,
    global: Vec<Matrix>,
}

impl Limit {
    #[inline]
    fn link(&mut self, child: u32, parent: u32) {
        let last = std::mem::replace(&mut self.nodes[parent as usize].last, child);
        match last {
            NONE => self.nodes[parent as usize].first = child,
            last => self.nodes[last as usize].next = child,
        }
        let node = &mut self.nodes[child as usize];
        (node.parent, node.prev, node.next) = (parent, last, NONE);
    }

    #[inline]
    fn unlink(&mut self, child: u32) {
        let Node { parent, prev, next, .. } = self.nodes[child as usize];
        match prev {
            NONE => self.nodes[parent as usize].first = next,
            prev => self.nodes[prev as usize].next = next,
        }
        match next {
            NONE => self.nodes[parent as usize].last = prev,
            next => self.nodes[next as usize].prev = prev,
        }
    }

    /// Ends a node and all below it. Links within the tree are not kept.
    fn end(&mut self, e: u32) {
        let mut child = self.nodes[e as usize].first;
        while child != NONE {
            let next = self.nodes[child as usize].next;
            self.end(child);
            child = next;
        }
        let row = self.nodes[e as usize].row;
        self.body.swap_remove(row as usize);
        self.slot.swap_remove(row as usize);
        if let Some(&moved) = self.slot.get(row as usize) {
            self.nodes[moved as usize].row = row;
        }
        self.free.push(e);
    }
}

impl Tree for Limit {
    const NAME: &'static str = LIMIT;
    type Entity = u32;

    fn new() -> Self {
        Self::default()
    }

    #[inline]
    fn spawn_root(&mut self, i: usize) -> u32 {
        let row = self.body.len() as u32;
        let node = Node { row, parent: NONE, prev: NONE, next: NONE, first: NONE, last: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.nodes[slot as usize] = node;
                slot
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.body.push(body(i));
        self.slot.push(slot);
        slot
    }

    #[inline]
    fn spawn_child(&mut self, parent: u32, i: usize) -> u32 {
        let child = self.spawn_root(i);
        self.link(child, parent);
        child
    }

    fn reparent(&mut self, moves: &[(u32, u32)]) {
        for &(child, parent) in moves {
            if self.nodes[child as usize].parent != parent {
                self.unlink(child);
                self.link(child, parent);
            }
        }
    }

    #[inline]
    fn despawn(&mut self, e: u32) {
        if self.nodes[e as usize].parent != NONE {
            self.unlink(e);
        }
        self.end(e);
    }

    fn spawn_node(&mut self, parent: Option<u32>, i: usize) -> u32 {
        self.parent.push(parent.unwrap_or(NONE));
        self.local.push(local(i));
        self.global.push(Matrix::default());
        self.parent.len() as u32 - 1
    }

    fn propagate(ways: &mut Ways<Self>) {
        ways.add("", |w| {
            for (node, (&parent, local)) in w.parent.iter().zip(&w.local).enumerate() {
                w.global[node] = match parent {
                    NONE => *local,
                    parent => multiply(&w.global[parent as usize], local),
                };
            }
        });
    }

    fn digest(&mut self) -> u64 {
        let mut d = Digest::default();
        for (body, &slot) in self.body.iter().zip(&self.slot) {
            let parent = self.nodes.get(self.nodes[slot as usize].parent as usize);
            d.link(&body.v, parent.map(|parent| &self.body[parent.row as usize].v));
        }
        d.0
    }

    fn digest_nodes(&mut self) -> u64 {
        let mut d = Digest::default();
        self.global.iter().for_each(|m| d.matrix(m));
        d.0
    }
}
