//! The iterators of all containers.
//!
//! Each is written once, over a [`Cursor`] that knows the positions of its container. `for_each`, `fold`, `sum` and the
//! like run at the speed of a loop over a slice where the container has no gaps; `next` makes one test more.
#![allow(unsafe_code)]

pub use crate::cursor::{BitCursor, Cursor, DenseCursor};
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

/// Implements the iterator traits for a struct with a cursor, given how it makes an item of a position.
macro_rules! over_cursor {
    ($name:ident<'a $(, $t:ident)?>, $item:ty, |$self:ident, $at:ident| $make:expr) => {
        impl<'a, C: Cursor $(, $t)?> Iterator for $name<'a, C $(, $t)?> {
            type Item = $item;

            #[inline(always)]
            fn next(&mut self) -> Option<Self::Item> {
                let $at = self.cursor.next()?;
                let $self = &*self;
                Some($make)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.cursor.remaining(), Some(self.cursor.remaining()))
            }

            #[inline(always)]
            fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
                let cursor = self.cursor.clone();
                let $self = &self;
                cursor.fold(init, |acc, $at| f(acc, $make))
            }
        }

        impl<'a, C: Cursor $(, $t)?> DoubleEndedIterator for $name<'a, C $(, $t)?> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let $at = self.cursor.next_back()?;
                let $self = &*self;
                Some($make)
            }
        }

        impl<C: Cursor $(, $t)?> ExactSizeIterator for $name<'_, C $(, $t)?> {}
        impl<C: Cursor $(, $t)?> FusedIterator for $name<'_, C $(, $t)?> {}

        impl<C: Cursor $(, $t)?> fmt::Debug for $name<'_, C $(, $t)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({} left)"), self.cursor.remaining())
            }
        }
    };
}

/// An iterator over references to the values of a container, in its order.
pub struct Values<'a, C, T> {
    cursor: C,
    values: *const T,
    borrow: PhantomData<&'a T>,
}

/// An iterator over mutable references to the values of a container, in its order.
pub struct ValuesMut<'a, C, T> {
    cursor: C,
    values: *mut T,
    borrow: PhantomData<&'a mut T>,
}

/// An iterator over the keys of a container and references to its values, in its order.
pub struct Iter<'a, C, T> {
    cursor: C,
    values: *const T,
    borrow: PhantomData<&'a T>,
}

/// An iterator over the keys of a container and mutable references to its values, in its order.
pub struct IterMut<'a, C, T> {
    cursor: C,
    values: *mut T,
    borrow: PhantomData<&'a mut T>,
}

/// An iterator over the keys of a container, in its order.
pub struct Keys<'a, C> {
    cursor: C,
    borrow: PhantomData<&'a ()>,
}

over_cursor! { Values<'a, T>, &'a T, |s, at| {
    // SAFETY: an occupied position is within the values' block and initialised, and they are borrowed for `'a`.
    unsafe { &*s.values.add(at as usize) }
} }
over_cursor! { ValuesMut<'a, T>, &'a mut T, |s, at| {
    // SAFETY: as for `Values`; exclusively borrowed, and no position comes twice.
    unsafe { &mut *s.values.add(at as usize) }
} }
over_cursor! { Iter<'a, T>, (C::Key, &'a T), |s, at| {
    // SAFETY: as for `Values`; the position is the cursor's own.
    unsafe { (s.cursor.key(at), &*s.values.add(at as usize)) }
} }
over_cursor! { IterMut<'a, T>, (C::Key, &'a mut T), |s, at| {
    // SAFETY: as for `ValuesMut`; the position is the cursor's own.
    unsafe { (s.cursor.key(at), &mut *s.values.add(at as usize)) }
} }
over_cursor! { Keys<'a>, C::Key, |s, at| {
    // SAFETY: the position is the cursor's own.
    unsafe { s.cursor.key(at) }
} }

impl<C, T> Values<'_, C, T> {
    /// # Safety
    ///
    /// `values` are those of the cursor's container, borrowed for the lifetime.
    pub(crate) unsafe fn new(cursor: C, values: *const T) -> Self {
        Values { cursor, values, borrow: PhantomData }
    }
}
impl<C, T> ValuesMut<'_, C, T> {
    /// # Safety
    ///
    /// `values` are those of the cursor's container, exclusively borrowed for the lifetime.
    pub(crate) unsafe fn new(cursor: C, values: *mut T) -> Self {
        ValuesMut { cursor, values, borrow: PhantomData }
    }
}
impl<C, T> Iter<'_, C, T> {
    /// # Safety
    ///
    /// `values` are those of the cursor's container, borrowed for the lifetime.
    pub(crate) unsafe fn new(cursor: C, values: *const T) -> Self {
        Iter { cursor, values, borrow: PhantomData }
    }
}
impl<C, T> IterMut<'_, C, T> {
    /// # Safety
    ///
    /// `values` are those of the cursor's container, exclusively borrowed for the lifetime.
    pub(crate) unsafe fn new(cursor: C, values: *mut T) -> Self {
        IterMut { cursor, values, borrow: PhantomData }
    }
}
impl<C> Keys<'_, C> {
    pub(crate) fn new(cursor: C) -> Self {
        Keys { cursor, borrow: PhantomData }
    }
}

impl<C: Clone, T> Clone for Values<'_, C, T> {
    fn clone(&self) -> Self {
        Values { cursor: self.cursor.clone(), ..*self }
    }
}
impl<C: Clone, T> Clone for Iter<'_, C, T> {
    fn clone(&self) -> Self {
        Iter { cursor: self.cursor.clone(), ..*self }
    }
}
impl<C: Clone> Clone for Keys<'_, C> {
    fn clone(&self) -> Self {
        Keys { cursor: self.cursor.clone(), ..*self }
    }
}

// SAFETY: a shared reference to each value, and a cursor that shares the container's index.
unsafe impl<C: Send, T: Sync> Send for Values<'_, C, T> {}
// SAFETY: as above.
unsafe impl<C: Sync, T: Sync> Sync for Values<'_, C, T> {}
// SAFETY: as above.
unsafe impl<C: Send, T: Sync> Send for Iter<'_, C, T> {}
// SAFETY: as above.
unsafe impl<C: Sync, T: Sync> Sync for Iter<'_, C, T> {}
// SAFETY: an exclusive reference to each value.
unsafe impl<C: Send, T: Send> Send for ValuesMut<'_, C, T> {}
// SAFETY: behind a shared reference nothing of it can be used but the count.
unsafe impl<C: Sync, T: Sync> Sync for ValuesMut<'_, C, T> {}
// SAFETY: an exclusive reference to each value.
unsafe impl<C: Send, T: Send> Send for IterMut<'_, C, T> {}
// SAFETY: behind a shared reference nothing of it can be used but the count.
unsafe impl<C: Sync, T: Sync> Sync for IterMut<'_, C, T> {}

/// A container that can be emptied from both ends, one value after another. Sealed.
///
/// A place belongs to a container if [`start`](Emptying::start) has returned it, also when the other methods have changed it. It
/// does so until something else changes the container, or it is started again.
pub trait Emptying: sealed::Sealed {
    /// The key that names a value.
    type Key;
    /// The type of the values.
    type Value;
    /// How far the container was emptied.
    type Place;
    /// Prepares the container for being emptied. Returns the place before anything is removed.
    fn start(&mut self) -> Self::Place;
    /// Removes and returns the first value, and notes the place. The container stays valid.
    ///
    /// # Safety
    ///
    /// The place belongs to this container.
    unsafe fn take_first(&mut self, place: &mut Self::Place) -> Option<(Self::Key, Self::Value)>;
    /// Removes and returns the last value, and notes the place. The container stays valid.
    ///
    /// # Safety
    ///
    /// The place belongs to this container.
    unsafe fn take_last(&mut self, place: &mut Self::Place) -> Option<(Self::Key, Self::Value)>;
    /// Removes and drops all values that are left, even if a destructor panics.
    ///
    /// # Safety
    ///
    /// The place belongs to this container.
    unsafe fn drop_rest(&mut self, place: &mut Self::Place);
    /// Returns the number of values that are left.
    fn left(&self) -> usize;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// An iterator that removes all values of a container, in its order. Values that are not taken are dropped with it.
pub struct Drain<'a, S: Emptying> {
    store: &'a mut S,
    place: S::Place,
}

impl<'a, S: Emptying> Drain<'a, S> {
    pub(crate) fn new(store: &'a mut S) -> Self {
        let place = store.start();
        Drain { store, place }
    }
}

impl<S: Emptying> Drop for Drain<'_, S> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the container is borrowed exclusively, so that only this iterator has changed it since the start.
        unsafe { self.store.drop_rest(&mut self.place) };
    }
}

/// An iterator that moves keys and values out of a container, in its order.
pub struct IntoIter<S: Emptying> {
    store: S,
    place: S::Place,
}

impl<S: Emptying> IntoIter<S> {
    pub(crate) fn new(mut store: S) -> Self {
        let place = store.start();
        IntoIter { store, place }
    }
}

macro_rules! emptying {
    ($name:ident<$($args:tt),*>) => {
        impl<S: Emptying> Iterator for $name<$($args),*> {
            type Item = (S::Key, S::Value);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                // SAFETY: the container is owned or borrowed exclusively, so that only this iterator has changed it since the start.
                unsafe { self.store.take_first(&mut self.place) }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.store.left(), Some(self.store.left()))
            }
        }
        impl<S: Emptying> DoubleEndedIterator for $name<$($args),*> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                // SAFETY: as in `next`.
                unsafe { self.store.take_last(&mut self.place) }
            }
        }
        impl<S: Emptying> ExactSizeIterator for $name<$($args),*> {}
        impl<S: Emptying> FusedIterator for $name<$($args),*> {}
        impl<S: Emptying> fmt::Debug for $name<$($args),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({} left)"), self.store.left())
            }
        }
    };
}
emptying!(Drain<'_, S>);
emptying!(IntoIter<S>);
