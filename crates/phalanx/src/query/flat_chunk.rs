//! Chunks as slices of scalars.

use crate::bundle::all_tuples;
use phalanx_store::soa::{Flat, flat, flat_mut};

/// A chunk that can be viewed as slices of scalars.
///
/// It is implemented for columns of components with `derive(Flat)`, and for tuples and options of such columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be seen as a slice of scalars",
    note = "it takes columns of `repr(C)` components with `#[derive(Flat)]`"
)]
pub trait FlatChunk {
    /// The scalars.
    type Scalars;
    /// Returns the same memory as scalars.
    fn flat(self) -> Self::Scalars;
}

impl<'a, C: Flat> FlatChunk for &'a [C] {
    type Scalars = &'a [C::Scalar];
    #[inline]
    fn flat(self) -> &'a [C::Scalar] {
        flat(self)
    }
}

impl<'a, C: Flat> FlatChunk for &'a mut [C] {
    type Scalars = &'a mut [C::Scalar];
    #[inline]
    fn flat(self) -> &'a mut [C::Scalar] {
        flat_mut(self)
    }
}

impl<T: FlatChunk> FlatChunk for Option<T> {
    type Scalars = Option<T::Scalars>;
    #[inline]
    fn flat(self) -> Option<T::Scalars> {
        self.map(T::flat)
    }
}

/// Whether the entities have a component: [`Has`](super::Has).
impl FlatChunk for bool {
    type Scalars = bool;
    #[inline]
    fn flat(self) -> bool {
        self
    }
}

macro_rules! flat_tuple {
    ($($name:ident)*) => {
        #[allow(non_snake_case, clippy::unused_unit)]
        impl<$($name: FlatChunk),*> FlatChunk for ($($name,)*) {
            type Scalars = ($($name::Scalars,)*);
            #[inline]
            fn flat(self) -> Self::Scalars {
                let ($($name,)*) = self;
                ($($name.flat(),)*)
            }
        }
    };
}
all_tuples!(flat_tuple);
