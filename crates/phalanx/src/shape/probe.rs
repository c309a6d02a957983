//! [`Probe`]: finds out whether a type is `Reflect` or `Debug`, without asking for it.
//!
//! An inherent constant hides the constant of a trait that has the same name. So `Probe::<T>::__SHAPE` is the inherent one where
//! `T: Reflect` is known, and that of [`Unprobed`] elsewhere. In a generic impl it follows the bounds that are written there.
#![allow(unsafe_code)]

use super::{Kind, Reflect, Shape, ShowFn};
use core::any::TypeId;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::soa::SoaRow;

/// The constants of a type that expansions of derives ask for.
#[doc(hidden)]
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// The constants of types for which nothing is known.
#[doc(hidden)]
pub trait Unprobed {
    const __SHAPE: Option<&'static Shape> = None;
    const __SHOW: Option<ShowFn> = None;

    /// Returns `true` if the type is a row with these lanes.
    fn __is_row<Lanes>() -> bool {
        false
    }

    /// Returns `true` if the type is a row whose lanes are its fields.
    fn __has_lanes() -> bool {
        false
    }
}

impl<T> Unprobed for Probe<T> {}

impl<T: Reflect> Probe<T> {
    pub const __SHAPE: Option<&'static Shape> = Some(T::SHAPE);

    pub fn __has_lanes() -> bool {
        T::__has_lanes()
    }
}

impl<T: SoaRow<Shape: 'static>> Probe<T> {
    pub fn __is_row<Lanes: 'static>() -> bool {
        TypeId::of::<T::Shape>() == TypeId::of::<Lanes>()
    }
}

impl<T: fmt::Debug> Probe<T> {
    pub const __SHOW: Option<ShowFn> = Some(show::<T>);
}

impl<T> Probe<T> {
    /// Returns the shape of a type that is not `Reflect`.
    pub const fn __opaque(show: Option<ShowFn>) -> Shape {
        Shape { kind: Kind::Opaque, size: size_of::<T>(), align: align_of::<T>(), show }
    }
}

/// Returns the shape that was found, or else the opaque one.
#[doc(hidden)]
pub const fn or_opaque(found: Option<&'static Shape>, opaque: &'static Shape) -> &'static Shape {
    match found {
        Some(shape) => shape,
        None => opaque,
    }
}

/// Formats the value at an address.
///
/// # Safety
///
/// A value of `T` is there, aligned, and is not written during the call.
pub(super) unsafe fn show<T: fmt::Debug>(value: *const u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // SAFETY: there is a value, by the caller's contract.
    unsafe { &*value.cast::<T>() }.fmt(f)
}
