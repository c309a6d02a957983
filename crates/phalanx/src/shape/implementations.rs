//! The shapes of types of the standard library and of Phalanx.
#![allow(unsafe_code)]

use super::probe::show;
use super::{Field, Kind, Reflect, Scalar, Shape, ShowFn, TextFn};
use core::marker::PhantomData;
use core::num::{NonZero, Saturating, Wrapping};
use phalanx_store::Entity;

const fn shape<T>(kind: Kind, show: Option<ShowFn>) -> Shape {
    Shape { kind, size: size_of::<T>(), align: align_of::<T>(), show }
}

macro_rules! scalars {
    ($($t:ty: $scalar:ident)*) => { $(
        // SAFETY: it is the scalar type itself, or laid out as that, which is documented. Its values are values of that type.
        unsafe impl Reflect for $t {
            const SHAPE: &'static Shape = &shape::<$t>(Kind::Scalar(Scalar::$scalar), Some(show::<$t>));
        }
    )* };
}
scalars! { bool: Bool char: Char f32: F32 f64: F64 Entity: Entity }

macro_rules! integers {
    ($($t:ty: $scalar:ident)*) => { scalars! { $(
        $t: $scalar NonZero<$t>: $scalar Wrapping<$t>: $scalar Saturating<$t>: $scalar
    )* } };
}
integers! {
    u8: U8 u16: U16 u32: U32 u64: U64 u128: U128 usize: Usize
    i8: I8 i16: I16 i32: I32 i64: I64 i128: I128 isize: Isize
}

/// Returns the shape of a type whose values are texts.
pub(crate) const fn text_shape<T: AsRef<str> + core::fmt::Debug>() -> Shape {
    shape::<T>(Kind::Text(text::<T> as TextFn), Some(show::<T>))
}

/// Returns the text of a value.
///
/// # Safety
///
/// A value of `T` is at the address, aligned. The text is used only while the value is not written.
unsafe fn text<T: AsRef<str>>(value: *const u8) -> *const str {
    // SAFETY: there is a value, by the caller's contract.
    unsafe { &*value.cast::<T>() }.as_ref()
}

macro_rules! texts {
    ($($t:ty)*) => { $(
        // SAFETY: the function is for values of this type.
        unsafe impl Reflect for $t {
            const SHAPE: &'static Shape = &text_shape::<$t>();
        }
    )* };
}
texts!(String &'static str Box<str>);

// SAFETY: it has no fields.
unsafe impl Reflect for () {
    const SHAPE: &'static Shape = &shape::<()>(Kind::Struct(&[]), Some(show::<()>));
}
// SAFETY: it has no fields.
unsafe impl<T: ?Sized + 'static> Reflect for PhantomData<T> {
    const SHAPE: &'static Shape = &shape::<PhantomData<T>>(Kind::Struct(&[]), Some(show::<PhantomData<T>>));
}

// SAFETY: an array has its elements one after another.
unsafe impl<T: Reflect, const N: usize> Reflect for [T; N] {
    const SHAPE: &'static Shape = &shape::<[T; N]>(Kind::Array(T::SHAPE, N), None);
}

macro_rules! tuples {
    ($(($($t:ident $n:tt)+))*) => { $(
        // SAFETY: the fields are at their offsets.
        unsafe impl<$($t: Reflect),+> Reflect for ($($t,)+) {
            const SHAPE: &'static Shape = &Shape {
                kind: Kind::Struct(&[$(Field {
                    name: stringify!($n),
                    offset: core::mem::offset_of!(Self, $n),
                    shape: $t::SHAPE,
                    is_nested: false,
                }),+]),
                size: size_of::<Self>(),
                align: align_of::<Self>(),
                show: None,
            };
        }
    )* };
}
tuples! { (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) }
