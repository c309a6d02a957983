//! [`FrameMessage`]: what the loop sends to the thread that writes.

use super::capture::CapturedTable;
use super::entity_lists::EntityList;
use std::sync::Arc;

/// What is recorded of one frame.
pub(super) struct FrameMessage {
    pub(super) frame: u64,
    /// The tables, if those of the frame are recorded.
    pub(super) tables: Option<FrameTables>,
    pub(super) exact: Exact,
}

/// The tables of a frame.
pub(super) struct FrameTables {
    /// The entities of each table of the world, with the name of its archetype.
    pub(super) entities: Vec<(Arc<str>, EntityList)>,
    /// The values of each component that any entity has.
    pub(super) components: Vec<CapturedTable>,
}

/// The exact state of a frame.
pub(super) enum Exact {
    None,
    /// A snapshot, and the checksum of the world. A new part begins.
    Keyframe(Vec<u8>, u64),
    /// The way from the frame before.
    Delta(Vec<u8>),
}

pub(super) enum Message {
    Frame(FrameMessage),
    /// No more frames come. The fields are the number of frames, and of those that were skipped.
    Finish {
        frames: u64,
        skipped: u64,
    },
}
