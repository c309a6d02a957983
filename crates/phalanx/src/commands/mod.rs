//! Commands: changes of a world that are recorded now and executed later.

mod apply;
mod apply_report;
mod batch_commands;
mod command_buffer;
mod command_inbox;
#[cfg(feature = "snapshot")]
mod erased;
mod name_overlay;
mod reserve;
mod resolver;
mod row_overlay;
mod slot_predictor;
mod step;
mod vtable;

pub(crate) use apply::Closure;
pub use apply_report::{ApplyReport, CommandError, CommandKind};
pub use batch_commands::BatchCommands;
pub use command_buffer::CommandBuffer;
pub use command_inbox::{CommandInbox, DuplicateKey, InboxError, InboxReport};
#[cfg(feature = "snapshot")]
pub(crate) use vtable::ErasedBundle;
pub(crate) use vtable::{CommandVtable, LinkPayload};
