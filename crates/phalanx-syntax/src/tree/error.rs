//! What can go wrong with a tree.

use core::fmt;

/// A tree, or what a parser needs beside it, cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Full {
    /// Memory cannot be had.
    Memory,
    /// There are as many nodes as indices can count.
    Nodes,
    /// There are as many words in `extra` as indices can count.
    Extra,
    /// There are as many tokens as indices can count.
    Tokens,
    /// There are as many names as indices can count.
    Names,
    /// The source has more bytes than offsets can count.
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
    /// It is of another kind than was asked for.
    OtherKind,
    /// It points past the end of `extra`.
    OutsideExtra,
    /// A word does not stand for what the table of kinds says: a child that is not in the tree, or no character.
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
