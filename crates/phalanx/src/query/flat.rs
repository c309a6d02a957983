//! Chunks as plain numbers.

use super::{Chunks, Query};
use crate::bundle::all_tuples;
use phalanx_store::soa::{Flat, flat, flat_mut};

/// A chunk that can be seen as slices of scalars: columns of components with `derive(Flat)`, and tuples and options of
/// such columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be seen as a slice of scalars",
    note = "it takes columns of `repr(C)` components with `#[derive(Flat)]`"
)]
pub trait FlatChunk {
    /// The scalars.
    type Scalars;
    /// The same memory as scalars.
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

impl<'w, 's, Q: Query> Chunks<'w, 's, Q> {
    /// The chunks as slices of scalars: loops over numbers vectorise on every target, loops over structs of three often do
    /// not.
    ///
    /// ```
    /// use phalanx::store::Flat;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Flat, Clone, Copy)]
    /// #[soa(crate = "phalanx::store")]
    /// #[repr(C)]
    /// struct Position { x: f32, y: f32, z: f32 }
    /// #[derive(Component, Flat, Clone, Copy)]
    /// #[soa(crate = "phalanx::store")]
    /// #[repr(C)]
    /// struct Velocity { x: f32, y: f32, z: f32 }
    ///
    /// let mut world = World::new();
    /// let e = world.spawn((Position { x: 0.0, y: 0.0, z: 0.0 }, Velocity { x: 1.0, y: 2.0, z: 3.0 }));
    /// for (p, v) in world.query_mut::<(&mut Position, &Velocity)>().chunks().flat() {
    ///     p.iter_mut().zip(v).for_each(|(p, v)| *p += v);
    /// }
    /// assert_eq!(world.get::<Position>(e).unwrap().z, 3.0);
    /// ```
    #[inline]
    pub fn flat(self) -> impl ExactSizeIterator<Item = <Q::Chunk<'w> as FlatChunk>::Scalars> + use<'w, 's, Q>
    where
        Q::Chunk<'w>: FlatChunk,
    {
        self.map(FlatChunk::flat)
    }
}
