//! Guards for user code that may panic: [`drop_all`] and [`DropGuard`].

/// Calls `f` with every item, even if a call panics.
///
/// The first panic continues after the last item. A second panic aborts, as any panic in a destructor does while another
/// one unwinds.
///
/// ```
/// use phalanx_store::raw::drop_all;
/// use std::panic::{AssertUnwindSafe, catch_unwind};
///
/// let mut seen = Vec::new();
/// let result = catch_unwind(AssertUnwindSafe(|| {
///     drop_all(0..4, |n| {
///         seen.push(n);
///         assert_ne!(n, 1);
///     });
/// }));
/// assert!(result.is_err());
/// assert_eq!(seen, [0, 1, 2, 3]);
/// ```
#[inline]
pub fn drop_all<I: IntoIterator>(items: I, f: impl FnMut(I::Item)) {
    struct Rest<I: Iterator, F: FnMut(I::Item)> {
        items: I,
        f: F,
    }
    impl<I: Iterator, F: FnMut(I::Item)> Rest<I, F> {
        #[inline]
        fn run(&mut self) {
            for item in self.items.by_ref() {
                (self.f)(item);
            }
        }
    }
    impl<I: Iterator, F: FnMut(I::Item)> Drop for Rest<I, F> {
        #[inline]
        fn drop(&mut self) {
            // Nothing is left, unless a call has panicked.
            self.run();
        }
    }
    Rest { items: items.into_iter().fuse(), f }.run();
}

/// Calls a function when it goes out of scope, also while a panic unwinds.
///
/// ```
/// use phalanx_store::raw::DropGuard;
///
/// let mut calls = 0;
/// drop(DropGuard::new(&mut calls, |calls| **calls += 1));
/// DropGuard::new(&mut calls, |calls| **calls += 1).dismiss();
/// assert_eq!(calls, 1);
/// ```
#[derive(Debug)]
pub struct DropGuard<T, F: FnMut(&mut T)> {
    /// The state that the function gets.
    pub state: T,
    f: F,
    armed: bool,
}

impl<T, F: FnMut(&mut T)> DropGuard<T, F> {
    /// Creates a guard that calls `f` with `state`.
    #[inline]
    pub const fn new(state: T, f: F) -> Self {
        DropGuard { state, f, armed: true }
    }

    /// Drops the guard without calling its function.
    #[inline]
    pub fn dismiss(mut self) {
        self.armed = false;
    }
}

impl<T, F: FnMut(&mut T)> Drop for DropGuard<T, F> {
    #[inline]
    fn drop(&mut self) {
        if self.armed {
            (self.f)(&mut self.state);
        }
    }
}
