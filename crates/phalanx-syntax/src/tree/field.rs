//! What a node can have: the types that stand in a table of kinds.

use super::id::{Name, NodeId, TokenId};
use core::fmt;

/// How the words of a field are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// One child.
    Node,
    /// One child or none.
    OptNode,
    /// Any number of children.
    List,
    /// Any number of pairs of children, the second of which may be missing.
    Pairs,
    /// A token.
    Token,
    /// An interned text.
    Name,
    /// An interned text or none.
    OptName,
    /// A plain number.
    Word,
    /// A character.
    Char,
    /// A number of 64 bits, low word first.
    Wide,
    /// A floating-point number of 64 bits, low word first.
    Real,
}

impl Shape {
    /// Returns the number of words it takes; for lists and pairs, 0.
    pub const fn words(self) -> usize {
        match self {
            Shape::List | Shape::Pairs => 0,
            Shape::Wide | Shape::Real => 2,
            _ => 1,
        }
    }

    /// Returns `true` if its words are stored as a list, with their number.
    pub const fn is_list(self) -> bool {
        matches!(self, Shape::List | Shape::Pairs)
    }
}

/// A type that can be a field of a node.
///
/// Sealed: a tree must know how to read each.
pub trait Field<'t>: Copy + sealed::Sealed {
    /// How its words are read.
    const SHAPE: Shape;
    #[doc(hidden)]
    fn words(self) -> [u32; 2];
    #[doc(hidden)]
    fn list(self) -> &'t [u32];
    /// Reads the field from its words or its list, in a tree of `nodes` nodes.
    #[doc(hidden)]
    fn read(words: [u32; 2], list: &'t [u32], nodes: usize) -> Option<Self>;
}

mod sealed {
    pub trait Sealed {}
}

/// The children in a list field.
///
/// ```
/// use phalanx_syntax::{List, NodeId};
///
/// let nodes = [NodeId::new(3).unwrap(), NodeId::new(5).unwrap()];
/// let words: Vec<u32> = nodes.iter().map(|node| node.word()).collect();
/// let list = List::new(&words);
/// assert_eq!(list.len(), 2);
/// assert_eq!(list.iter().collect::<Vec<_>>(), nodes);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct List<'t>(&'t [u32]);

impl<'t> List<'t> {
    /// Creates a list from the words of its nodes.
    #[inline]
    pub const fn new(words: &'t [u32]) -> List<'t> {
        List(words)
    }

    /// Returns the number of children.
    #[inline]
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no children.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the child at `index`.
    #[inline]
    pub fn get(self, index: usize) -> Option<NodeId> {
        self.0.get(index).copied().and_then(NodeId::from_word)
    }

    /// Returns an iterator over the children, in order.
    #[inline]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = NodeId> + Clone + 't {
        self.0.iter().copied().filter_map(NodeId::from_word)
    }
}

impl fmt::Debug for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl sealed::Sealed for List<'_> {}
impl<'t> Field<'t> for List<'t> {
    const SHAPE: Shape = Shape::List;
    #[inline]
    fn words(self) -> [u32; 2] {
        [0; 2]
    }
    #[inline]
    fn list(self) -> &'t [u32] {
        self.0
    }
    #[inline]
    fn read(_: [u32; 2], list: &'t [u32], nodes: usize) -> Option<Self> {
        list.iter().all(|&word| is_node(word, nodes)).then_some(List(list))
    }
}

/// The children in a field of pairs, such as the patterns and bodies of match arms.
///
/// A pair takes two words and no node of its own. The second child may be missing, as in a pair that could not be parsed. The
/// span of a pair is that of its children.
///
/// ```
/// use phalanx_syntax::{NodeId, Pile};
///
/// let node = |index| NodeId::new(index).unwrap();
/// let mut pile = Pile::new();
/// pile.push_pair(node(3), Some(node(5)))?;
/// pile.push_pair(node(8), None)?;
/// let pairs = pile.pairs_above(0);
/// assert_eq!(pairs.len(), 2);
/// assert_eq!(pairs.get(0), Some((node(3), Some(node(5)))));
/// assert_eq!(pairs.iter().map(|(first, _)| first).collect::<Vec<_>>(), [node(3), node(8)]);
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Pairs<'t>(&'t [u32]);

impl<'t> Pairs<'t> {
    /// Creates a list of pairs from the words of its nodes, two a pair. The word of a missing second node is 0.
    ///
    /// A last word without a second one is not part of the list.
    #[inline]
    pub const fn new(words: &'t [u32]) -> Pairs<'t> {
        let (pairs, _) = words.as_chunks::<2>();
        Pairs(pairs.as_flattened())
    }

    /// Returns the number of pairs.
    #[inline]
    pub const fn len(self) -> usize {
        self.0.len() / 2
    }

    /// Returns `true` if there are no pairs.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the pair at `index`.
    #[inline]
    pub fn get(self, index: usize) -> Option<(NodeId, Option<NodeId>)> {
        self.0.as_chunks::<2>().0.get(index).copied().and_then(pair)
    }

    /// Returns an iterator over the pairs, in order.
    #[inline]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = (NodeId, Option<NodeId>)> + Clone + 't {
        self.0.as_chunks::<2>().0.iter().copied().filter_map(pair)
    }
}

/// Reads the two words of a pair.
#[inline]
fn pair([first, second]: [u32; 2]) -> Option<(NodeId, Option<NodeId>)> {
    Some((NodeId::from_word(first)?, NodeId::from_word(second)))
}

impl fmt::Debug for Pairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl sealed::Sealed for Pairs<'_> {}
impl<'t> Field<'t> for Pairs<'t> {
    const SHAPE: Shape = Shape::Pairs;
    #[inline]
    fn words(self) -> [u32; 2] {
        [0; 2]
    }
    #[inline]
    fn list(self) -> &'t [u32] {
        self.0
    }
    #[inline]
    fn read(_: [u32; 2], list: &'t [u32], nodes: usize) -> Option<Self> {
        let (pairs, rest) = list.as_chunks::<2>();
        let is_pair = |&[first, second]: &[u32; 2]| is_node(first, nodes) && (second == 0 || is_node(second, nodes));
        (rest.is_empty() && pairs.iter().all(is_pair)).then_some(Pairs(list))
    }
}

/// Whether a word stands for one of the first `nodes` nodes.
#[inline]
pub(crate) fn is_node(word: u32, nodes: usize) -> bool {
    word != 0 && word as usize <= nodes
}

macro_rules! fields {
    ($($type:ty: $shape:ident, |$value:ident| $words:expr, |$read:ident, $nodes:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl<'t> Field<'t> for $type {
            const SHAPE: Shape = Shape::$shape;
            #[inline]
            fn words(self) -> [u32; 2] {
                let $value = self;
                $words
            }
            #[inline]
            fn list(self) -> &'t [u32] {
                &[]
            }
            #[inline]
            fn read($read: [u32; 2], _: &'t [u32], $nodes: usize) -> Option<Self> {
                $from
            }
        }
    )*};
}

#[inline]
fn wide(words: [u32; 2]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

#[inline]
fn halves(wide: u64) -> [u32; 2] {
    [wide as u32, (wide >> 32) as u32]
}

fields! {
    NodeId: Node, |it| [it.word(), 0], |words, nodes| NodeId::from_word(words[0]).filter(|it| it.index() < nodes);
    Option<NodeId>: OptNode, |it| [it.map_or(0, NodeId::word), 0], |words, nodes| {
        let node = NodeId::from_word(words[0]);
        node.is_none_or(|it| it.index() < nodes).then_some(node)
    };
    TokenId: Token, |it| [it.word(), 0], |words, _nodes| TokenId::from_word(words[0]);
    Name: Name, |it| [it.word(), 0], |words, _nodes| Name::from_word(words[0]);
    Option<Name>: OptName, |it| [it.map_or(0, Name::word), 0], |words, _nodes| Some(Name::from_word(words[0]));
    u32: Word, |it| [it, 0], |words, _nodes| Some(words[0]);
    char: Char, |it| [it as u32, 0], |words, _nodes| char::from_u32(words[0]);
    u64: Wide, |it| halves(it), |words, _nodes| Some(wide(words));
    f64: Real, |it| halves(it.to_bits()), |words, _nodes| Some(f64::from_bits(wide(words)));
}
