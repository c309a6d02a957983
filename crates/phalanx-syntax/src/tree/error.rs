//! What can go wrong with a tree.

use core::fmt;

/// A tree, or a table beside it, cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Full {
    /// Allocation failed.
    Memory,
    /// There are too many nodes.
    Nodes,
    /// There are too many words in `extra`.
    Extra,
    /// There are too many tokens, or none.
    Tokens,
    /// There are too many names, or too many bytes of text.
    Names,
    /// The source is too long.
    Source,
    /// The node to be set is not in the tree.
    NoSuchNode,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Full::Memory => "out of memory",
            Full::Nodes => "more nodes than indices can count",
            Full::Extra => "more words in extra than indices can count",
            Full::Tokens => "more tokens than indices can count",
            Full::Names => "more names than indices can count",
            Full::Source => "more bytes of source than offsets can count",
            Full::NoSuchNode => "the node is not in the tree",
        })
    }
}

impl core::error::Error for Full {}

/// A node cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// It is not in the tree.
    NoSuchNode,
    /// It was reserved and never set.
    Reserved,
    /// It is of another kind than the requested one.
    OtherKind,
    /// It points past the end of `extra`.
    OutsideExtra,
    /// A word is invalid for its field: a child that is not in the tree, or an invalid character.
    Word,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::NoSuchNode => "the node is not in the tree",
            Malformed::Reserved => "the node was reserved and never set",
            Malformed::OtherKind => "the node is of another kind",
            Malformed::OutsideExtra => "the node points past the end of extra",
            Malformed::Word => "a word of the node does not mean what its kind says",
        })
    }
}

impl core::error::Error for Malformed {}
