//! Places in a source.

/// A range of bytes of a source: from `start` up to, but not including, `end`.
///
/// ```
/// use phalanx_syntax::Span;
///
/// let sum = Span::new(4, 5).merge(Span::new(0, 1));
/// assert_eq!((sum.start, sum.end, sum.len()), (0, 5, 5));
/// assert_eq!(Span::new(7, 3).len(), 0); // reversed: empty, not four billion
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

const _: () = assert!(size_of::<Span>() == 8);

impl Span {
    /// The span of a node whose place is not known: empty, at offset 0.
    pub const DUMMY: Span = Span { start: 0, end: 0 };

    /// Creates the span from `start` up to `end`.
    #[inline]
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// Returns the smallest span that covers both.
    #[inline]
    #[must_use]
    pub fn merge(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the number of bytes; 0 if `end` is before `start`.
    #[inline]
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Returns `true` if the span has no bytes.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Returns `true` if the byte at `offset` is in it.
    #[inline]
    pub const fn contains(self, offset: u32) -> bool {
        self.start <= offset && offset < self.end
    }

    /// Returns `true` if all of `other` is in it.
    #[inline]
    pub const fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the bytes of `source` in this span, or an empty slice if the span is not within it.
    #[inline]
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}
