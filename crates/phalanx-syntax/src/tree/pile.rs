//! A stack of nodes that wait for their parent.

use super::{Full, List, NodeId, Pairs};

/// A parser's stack of nodes without a parent yet, from which [`List`] and [`Pairs`] are made.
///
/// Lists nest. So a parser notes the length before the first element, pushes each element, and takes those above the mark.
///
/// ```
/// use phalanx_syntax::{NodeId, Pile};
///
/// let mut pile = Pile::new();
/// pile.push(NodeId::ROOT)?;
/// let mark = pile.len();
/// pile.push(NodeId::new(1).unwrap())?;
/// pile.push(NodeId::new(2).unwrap())?;
/// assert_eq!(pile.above(mark).len(), 2);
/// pile.truncate(mark);
/// assert_eq!(pile.list().iter().collect::<Vec<_>>(), [NodeId::ROOT]);
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pile(Vec<u32>);

impl Pile {
    /// Creates an empty pile.
    pub const fn new() -> Pile {
        Pile(Vec::new())
    }

    /// Returns the number of nodes. A pair counts as two, also if it has only one.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no nodes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Pushes a node.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Memory`] if allocation fails.
    #[inline]
    pub fn push(&mut self, node: NodeId) -> Result<(), Full> {
        if self.0.len() == self.0.capacity() {
            self.0.try_reserve(1).map_err(|_| Full::Memory)?;
        }
        self.0.push(node.word());
        Ok(())
    }

    /// Pushes a pair of nodes, the second of which may be missing.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Memory`] if allocation fails; nothing is pushed then.
    #[inline]
    pub fn push_pair(&mut self, first: NodeId, second: Option<NodeId>) -> Result<(), Full> {
        if self.0.capacity() - self.0.len() < 2 {
            self.0.try_reserve(2).map_err(|_| Full::Memory)?;
        }
        self.0.extend([first.word(), second.map_or(0, NodeId::word)]);
        Ok(())
    }

    /// Returns the pairs above a mark, if nothing but pairs was pushed since.
    #[inline]
    pub fn pairs_above(&self, mark: usize) -> Pairs<'_> {
        Pairs::new(self.0.get(mark..).unwrap_or_default())
    }

    /// Returns the nodes above a mark.
    #[inline]
    pub fn above(&self, mark: usize) -> List<'_> {
        List::new(self.0.get(mark..).unwrap_or_default())
    }

    /// Returns the nodes between two marks, and those above the second.
    #[inline]
    pub fn split(&self, mark: usize, second: usize) -> (List<'_>, List<'_>) {
        let below = self.0.get(mark..second).unwrap_or_default();
        (List::new(below), self.above(second))
    }

    /// Returns all nodes.
    #[inline]
    pub fn list(&self) -> List<'_> {
        List::new(&self.0)
    }

    /// Removes the nodes above a mark.
    #[inline]
    pub fn truncate(&mut self, mark: usize) {
        self.0.truncate(mark);
    }
}

impl FromIterator<NodeId> for Pile {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Pile {
        Pile(nodes.into_iter().map(NodeId::word).collect())
    }
}
