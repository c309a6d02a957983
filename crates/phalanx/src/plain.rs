//! Components whose values are nothing but their bytes.
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;

/// A type whose values are nothing but bytes: numbers, arrays of them, and structs of these without padding.
///
/// `#[component(plain)]` implements it for a component: every field must be plain, and there must be no padding between
/// them. Such components need not be `Clone` to be copied with their world, and a [`Timeline`](crate::timeline::Timeline)
/// can tell by their bytes which have changed.
///
/// ```
/// use phalanx::Component;
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Position {
///     at: [f32; 3],
///     zone: u32,
/// }
/// # let _ = |p: Position| (p.at, p.zone);
/// ```
///
/// A struct with padding does not build:
///
/// ```compile_fail,E0080
/// use phalanx::Component;
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Padded(u8, u32);
/// ```
///
/// # Safety
///
/// No byte of a value is padding, and any bytes are a value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    note = "numbers are, arrays of plain data, and components with `#[component(plain)]`"
)]
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty)*) => { $(
        // SAFETY: a number has no padding, and any bytes are one.
        unsafe impl Plain for $t {}
    )* };
}
plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

// SAFETY: values side by side, without anything between them.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// That a type is [`Plain`], as a value.
pub struct IsPlain<C>(PhantomData<fn() -> C>);

impl<C: Plain> IsPlain<C> {
    /// It is.
    pub const fn new() -> IsPlain<C> {
        IsPlain(PhantomData)
    }
}

impl<C: Plain> Default for IsPlain<C> {
    fn default() -> Self {
        IsPlain::new()
    }
}

impl<C> fmt::Debug for IsPlain<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IsPlain({})", core::any::type_name::<C>())
    }
}

/// What is known of the bytes of a component's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bytes {
    /// Nothing: some may be padding.
    Unknown,
    /// None is padding.
    Whole,
    /// None is padding, and any are a value.
    Any,
}
