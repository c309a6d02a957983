//! [`Link`]: what a relation stores for a slot.

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// What a relation stores for a slot: its target, its neighbours among the sources of that target, and its own sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub(crate) struct Link {
    pub(crate) target: u32,
    /// The source of the same target before this one.
    pub(crate) prev: u32,
    /// The source of the same target after this one.
    pub(crate) next: u32,
    /// The first source.
    pub(crate) first: u32,
    /// The last source.
    pub(crate) last: u32,
    /// The number of sources.
    pub(crate) count: u32,
    /// The number of targets above it, in a tree.
    pub(crate) depth: u32,
    /// Always 0. With it, a record is within one cache line.
    pub(crate) unused: u32,
}

impl Link {
    /// The record of a slot without links.
    pub(crate) const EMPTY: Link =
        Link { target: NONE, prev: NONE, next: NONE, first: NONE, last: NONE, count: 0, depth: 0, unused: 0 };

    /// Returns `true` if the slot has neither a target nor sources.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.target & self.first == NONE
    }
}
