//! Whether a tree is one.

use super::kind::Kind;
use super::{Malformed, NodeId, Tree};
use core::fmt;

/// A fault of a tree, found by [`Tree::validate`] or [`Tree::validate_spans`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A node cannot be decoded; [`Malformed::Reserved`] if it was reserved and never set.
    Node(NodeId, Malformed),
    /// A node has two parents, or is a child of one parent twice.
    TwoParents(NodeId),
    /// A node is its own ancestor.
    Cycle(NodeId),
    /// A node ends before it starts.
    Backwards(NodeId),
    /// A node is not within the span of its parent.
    Outside(NodeId),
    /// A node starts before its previous sibling ends.
    Overlap(NodeId),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::Node(id, malformed) => write!(f, "node {}: {malformed}", id.index()),
            Fault::TwoParents(id) => write!(f, "node {} is the child of two", id.index()),
            Fault::Cycle(id) => write!(f, "node {} is its own ancestor", id.index()),
            Fault::Backwards(id) => write!(f, "node {} ends before it starts", id.index()),
            Fault::Outside(id) => write!(f, "node {} reaches out of its parent", id.index()),
            Fault::Overlap(id) => write!(f, "node {} starts before its elder sibling ends", id.index()),
        }
    }
}

impl core::error::Error for Fault {}

impl<K: Kind> Tree<K> {
    /// Checks that every node was set and can be decoded, and that the nodes form trees.
    ///
    /// # Errors
    ///
    /// Returns the first fault: [`Fault::Node`], [`Fault::TwoParents`] or [`Fault::Cycle`].
    pub fn validate(&self) -> Result<(), Fault> {
        let mut parents = vec![None; self.len()];
        for id in self.ids() {
            if self.kind(id) == K::RESERVED {
                return Err(Fault::Node(id, Malformed::Reserved));
            }
            for (_, value) in self.fields(id) {
                value.map_err(|malformed| Fault::Node(id, malformed))?;
            }
            for child in self.children(id) {
                if parents[child.index()].replace(id).is_some() {
                    return Err(Fault::TwoParents(child));
                }
            }
        }
        // With one parent each, the nodes no walk from above reaches are those on a ring and below it.
        let mut reached = vec![false; self.len()];
        for root in self.ids().filter(|id| parents[id.index()].is_none()) {
            self.preorder(root).for_each(|id| reached[id.index()] = true);
        }
        match self.ids().find(|id| !reached[id.index()]) {
            Some(id) => Err(Fault::Cycle(id)),
            None => Ok(()),
        }
    }

    /// Checks that the span of every node is within its parent and after its previous siblings.
    ///
    /// # Errors
    ///
    /// Returns the first fault: [`Fault::Backwards`], [`Fault::Outside`] or [`Fault::Overlap`].
    pub fn validate_spans(&self) -> Result<(), Fault> {
        for id in self.ids() {
            let span = self.span(id);
            if span.start > span.end {
                return Err(Fault::Backwards(id));
            }
            let mut from = span.start;
            for child in self.children(id) {
                let inner = self.span(child);
                if !span.covers(inner) {
                    return Err(Fault::Outside(child));
                }
                if inner.start < from {
                    return Err(Fault::Overlap(child));
                }
                from = inner.end;
            }
        }
        Ok(())
    }
}
