//! The tree store: columns, the table of kinds, and what follows from the table.

mod check;
mod compare;
mod dump;
mod error;
mod field;
mod id;
mod kind;
mod merge;
mod pile;
#[cfg(feature = "serde")]
mod serial;
mod span;
mod store;
mod walk;

pub use check::Fault;
pub use compare::Texts;
pub use dump::{Dump, Outline};
pub use error::{Full, Malformed};
pub use field::{Field, List, Pairs, Shape};
pub use id::{Name, NodeId, TokenId};
pub use kind::{Decoder, Encoder, FieldInfo, Form, Kind, Layout, Payload};
pub use merge::{MergeError, Rebase};
pub use pile::Pile;
pub use span::Span;
pub use store::{BYTES_PER_NODE, ColumnsError, Extra, Limits, Mark, Tree};
pub use walk::{Children, Event, Fields, Parents, Value, Visitor, Walk};
