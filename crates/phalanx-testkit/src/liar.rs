//! Iterators that lie about their length.

/// A lie that safe code may tell through `size_hint` and `len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// No items are coming: lower 0, upper 0.
    Nothing,
    /// One item fewer than are coming.
    TooFew,
    /// Seven items more than are coming.
    TooMany,
    /// Far more than memory can hold: `usize::MAX` both ways.
    Endless,
    /// The lower bound is above the upper one.
    Inverted,
    /// A true lower bound that says nothing, without an upper one. Legal, and a trap for `len`.
    Unknown,
}

impl Lie {
    /// Every lie, to loop over.
    pub const ALL: [Lie; 6] = [Lie::Nothing, Lie::TooFew, Lie::TooMany, Lie::Endless, Lie::Inverted, Lie::Unknown];

    fn hint(self, left: usize) -> (usize, Option<usize>) {
        let both = |n| (n, Some(n));
        match self {
            Lie::Nothing => both(0),
            Lie::TooFew => both(left.saturating_sub(1)),
            Lie::TooMany => both(left.saturating_add(7)),
            Lie::Endless => both(usize::MAX),
            Lie::Inverted => (left.saturating_add(3), Some(left.saturating_sub(3))),
            Lie::Unknown => (0, None),
        }
    }
}

/// An iterator that yields what it was given and lies about how much that is.
///
/// `len` repeats the lie of `size_hint`'s lower bound.
#[derive(Clone, Debug)]
pub struct Liar<I> {
    items: I,
    lie: Lie,
}

impl<I: ExactSizeIterator> Liar<I> {
    /// Creates an iterator over `items` that tells `lie`.
    pub fn new(items: impl IntoIterator<IntoIter = I>, lie: Lie) -> Self {
        Self { items: items.into_iter(), lie }
    }
}

impl<I: ExactSizeIterator> Iterator for Liar<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.lie.hint(self.items.len())
    }
}

impl<I: ExactSizeIterator + DoubleEndedIterator> DoubleEndedIterator for Liar<I> {
    fn next_back(&mut self) -> Option<I::Item> {
        self.items.next_back()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Liar<I> {
    fn len(&self) -> usize {
        self.lie.hint(self.items.len()).0
    }
}
