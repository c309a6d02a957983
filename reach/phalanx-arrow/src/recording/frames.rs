//! [`FrameMessage`]: what the loop sends to the thread that writes.

use super::capture::CapturedTable;

/// What is recorded of one frame.
pub(super) struct FrameMessage {
    pub(super) frame: u64,
    /// The tables, if the frame has any.
    pub(super) tables: Vec<CapturedTable>,
    pub(super) exact: Exact,
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
