//! A wrapper whose conversions answer differently each time.

use core::borrow::{Borrow, BorrowMut};
use core::cell::Cell;
use core::ops::{Deref, DerefMut, Index};

/// A value that turns into the next of a list each time it is converted.
///
/// `Deref`, `AsRef`, `Borrow` and `Index<()>` all step through the list, the mutable ones too. An
/// operation that converts twice and trusts the first answer is found that way;
/// [`reads`](Self::reads) returns the number of conversions.
///
/// ```
/// use phalanx_testkit::Fickle;
///
/// let key = Fickle::new(vec![3, 99]);
/// assert_eq!((*key.as_ref(), *key.as_ref(), key.reads()), (3, 99, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Fickle<T> {
    answers: Vec<T>,
    reads: Cell<usize>,
}

impl<T> Fickle<T> {
    /// Creates a value with these answers; the last is repeated.
    ///
    /// # Panics
    /// Panics if there is no answer.
    pub fn new(answers: Vec<T>) -> Self {
        assert!(!answers.is_empty(), "at least one answer is needed");
        Self { answers, reads: Cell::new(0) }
    }

    /// Returns how often the value was converted.
    pub fn reads(&self) -> usize {
        self.reads.get()
    }

    fn step(&self) -> usize {
        let read = self.reads.get();
        self.reads.set(read + 1);
        read.min(self.answers.len() - 1)
    }
}

impl<T> Deref for Fickle<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.answers[self.step()]
    }
}

impl<T> DerefMut for Fickle<T> {
    fn deref_mut(&mut self) -> &mut T {
        let at = self.step();
        &mut self.answers[at]
    }
}

impl<T> AsRef<T> for Fickle<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T> AsMut<T> for Fickle<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T> Borrow<T> for Fickle<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T> BorrowMut<T> for Fickle<T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T> Index<()> for Fickle<T> {
    type Output = T;
    fn index(&self, (): ()) -> &T {
        self
    }
}
