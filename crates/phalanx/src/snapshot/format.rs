//! The outer format of a snapshot: sections that are cut into frames, each with a checksum.
//!
//! Checksums are chained. Each is seeded by the one before, the first by the head of the file. So frames cannot be lost,
//! repeated or exchanged.

use crate::checksum::checksum;

/// The first bytes of a snapshot.
pub(super) const MAGIC: [u8; 8] = *b"PHALANX\x1a";
/// The version of the format.
pub(super) const VERSION: u32 = 2;
/// The number of bytes of a frame. The last frame of a section may be shorter.
pub(super) const FRAME: usize = 1 << 16;

/// The number of bytes that are read or written, and summed, at a time: few enough to stay in the cache.
pub(super) const PIECE: usize = 1 << 14;

/// The kinds of sections, in the order of a snapshot.
pub(super) const COMPONENTS: [u8; 4] = *b"comp";
pub(super) const SLOTS: [u8; 4] = *b"slot";
pub(super) const TABLE: [u8; 4] = *b"tabl";
pub(super) const ROWS: [u8; 4] = *b"rows";
pub(super) const SPARSE: [u8; 4] = *b"side";
pub(super) const GROUPS: [u8; 4] = *b"grup";
pub(super) const RESOURCE: [u8; 4] = *b"rsrc";
pub(super) const TICKS: [u8; 4] = *b"tick";
pub(super) const END: [u8; 4] = *b"end ";

/// Set in the flags of a section that a reader may skip if it does not know the kind.
pub(super) const OPTIONAL: u32 = 1;

pub(super) fn mix_section(chain: u64, kind: [u8; 4], flags: u32) -> u64 {
    let [a, b, c, d] = kind;
    let [e, f, g, h] = flags.to_le_bytes();
    checksum(chain, &[a, b, c, d, e, f, g, h])
}
