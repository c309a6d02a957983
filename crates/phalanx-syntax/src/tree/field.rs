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
    /// Returns the number of words it takes; for a list, 0.
    pub const fn words(self) -> usize {
        match self {
            Shape::List => 0,
            Shape::Wide | Shape::Real => 2,
            _ => 1,
        }
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
