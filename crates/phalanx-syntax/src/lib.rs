//! Syntax trees as structure of arrays.
//!
//! For compiler writers: a [`Tree`] takes 17 bytes a node, kinds in one column, places in another, data in a third, and
//! everything about your language's nodes follows from one table, [`kinds!`]. It is not a parser generator and not a
//! lossless editor tree: tokens and comments stay beside the tree, not in it.
//!
//! Ranked goals: no node, however many or however malformed, does harm; small; fast; pleasant.
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
//! [`ori`] is a complete front end on such trees: lexer, parser and printer of a real language.

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
    Limits, List, Malformed, Mark, MergeError, Name, NodeId, Outline, Parents, Payload, Pile, Rebase, Shape, Span,
    Texts, TokenId, Tree, Value, Visitor, Walk,
};
#[doc(hidden)]
pub use tree::{Decoder, Encoder, Extra};
