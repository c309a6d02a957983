//! Syntax trees as a struct of arrays, at 17 bytes a node.
//!
//! A [`Tree`] keeps kinds, spans and data in three columns. One table, [`kinds!`], declares the nodes of a language; typed
//! access, walks, checks, dumps, comparison, merging and serde follow from it. Malformed trees and sources are errors, never
//! panics or endless loops.
//!
//! The crate is not a parser generator. It is not a lossless tree for editors either: tokens and comments are beside the tree.
//!
//! # Example
//!
//! ```
//! use phalanx_syntax::NodeId;
//! use phalanx_syntax::ori::{Kind, parse, print};
//!
//! let ast = parse(b"@double (x: int) -> int = x*2")?;
//! assert!(ast.errors.is_empty());
//! assert_eq!(ast.tree.kind(NodeId::ROOT), Kind::Module);
//! assert_eq!(ast.tree.count_kind(Kind::BinMul), 1);
//! assert_eq!(print(&ast), "@double (x: int) -> int = x * 2\n");
//! # Ok::<(), phalanx_syntax::Full>(())
//! ```
//!
//! # Modules and types
//!
//! | item | purpose |
//! |---|---|
//! | [`Tree`], [`NodeId`], [`Span`] | the tree, its nodes and their places |
//! | [`kinds!`], [`Kind`], [`Payload`] | the table of node kinds, and what it generates |
//! | [`Children`], [`Walk`], [`Parents`], [`Visitor`] | ways through a tree |
//! | [`Tree::validate`], [`Fault`] | checks |
//! | [`Tree::outline`], [`Tree::dump`] | trees as text |
//! | [`Tree::equals`], [`Tree::append`] | comparison and merging |
//! | [`Pile`], [`List`], [`Pairs`] | lists of nodes and of pairs, while parsing and in a tree |
//! | [`Names`], [`Lines`], [`SyntaxError`] | interned texts, line numbers, errors with their source line |
//! | [`ori`] | a complete front end of a real language: lexer, parser and printer |
//!
//! # Features
//!
//! - `serde`: `Serialize` and `Deserialize` for [`Tree`].

#![cfg_attr(docsrs, feature(doc_cfg))]

mod lines;
mod names;
pub mod ori;
mod report;
mod tree;

pub use lines::{Lines, Place};
pub use names::Names;
pub use report::{Shown, SyntaxError};
pub use tree::{
    BYTES_PER_NODE, Children, ColumnsError, Dump, Event, Fault, Field, FieldInfo, Fields, Form, Full, Kind, Layout,
    Limits, List, Malformed, Mark, MergeError, Name, NodeId, Outline, Pairs, Parents, Payload, Pile, Rebase, Shape,
    Span, Texts, TokenId, Tree, Value, Visitor, Walk,
};
#[doc(hidden)]
pub use tree::{Decoder, Encoder, Extra};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
