//! [`Scalar`]: numbers that sort as integers, and [`Flat`]: values that consist of numbers only.
//!
//! # Invariants
//!
//! - [`Scalar`] is sealed. [`Flat`] is an `unsafe trait`: its contract is what the two casts below rest on.
#![allow(unsafe_code)]

use super::radix::sort_packed;
use crate::AllocError;
use alloc::vec::Vec;
use core::any::TypeId;
use core::marker::PhantomData;
use core::slice;

mod sealed {
    pub trait Sealed {}
}

/// A primitive number, `bool` or `char`: a sort key of [`Soa::sort_by_scalar`](super::Soa::sort_by_scalar).
pub trait Scalar: Copy + sealed::Sealed + 'static {
    /// The value and a row number in one integer, ordered by the value first.
    #[doc(hidden)]
    type Packed: Copy + Ord;

    /// Packs a row number below 2³² with the value. Floats have their total order: `-NaN` first, `-0.0` before `0.0`, `NaN`
    /// last.
    #[doc(hidden)]
    fn pack(self, row: u32) -> Self::Packed;

    /// Returns the row number.
    #[doc(hidden)]
    fn row(packed: Self::Packed) -> u32;

    /// Sorts entries that were packed in the order of their rows.
    #[doc(hidden)]
    fn sort(packed: &mut Vec<Self::Packed>) -> Result<(), AllocError>;
}

macro_rules! scalar {
    ($($t:ty as $packed:ty, $sort:expr, $bits:expr;)*) => { $(
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            type Packed = $packed;
            #[inline(always)]
            fn pack(self, row: u32) -> $packed {
                let bits = $bits;
                (<$packed>::from(bits(self)) << 32) | <$packed>::from(row)
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)]
            fn row(packed: $packed) -> u32 {
                packed as u32
            }
            #[inline]
            fn sort(packed: &mut Vec<$packed>) -> Result<(), AllocError> {
                $sort(packed)
            }
        }
        // SAFETY: a scalar is one scalar.
        unsafe impl Flat for $t {
            type Scalar = $t;
        }
    )* };
}

/// Numbers of 64 bits have too many digits to be worth counting.
fn compare_packed(packed: &mut [u128]) -> Result<(), AllocError> {
    packed.sort_unstable();
    Ok(())
}

scalar! {
    bool as u64, sort_packed, u32::from;
    char as u64, sort_packed, u32::from;
    u8 as u64, sort_packed, u32::from;
    u16 as u64, sort_packed, u32::from;
    u32 as u64, sort_packed, u32::from;
    i8 as u64, sort_packed, |v: i8| (i32::from(v) as u32) ^ (1 << 31);
    i16 as u64, sort_packed, |v: i16| (i32::from(v) as u32) ^ (1 << 31);
    i32 as u64, sort_packed, |v: i32| (v as u32) ^ (1 << 31);
    // Negative floats order against their bits, the others with them and above.
    f32 as u64, sort_packed, |v: f32| { let b = v.to_bits(); b ^ (((b as i32 >> 31) as u32) | (1 << 31)) };
    u64 as u128, compare_packed, u64::from;
    i64 as u128, compare_packed, |v: i64| (v as u64) ^ (1 << 63);
    usize as u128, compare_packed, |v: usize| v as u64;
    isize as u128, compare_packed, |v: isize| (v as i64 as u64) ^ (1 << 63);
    f64 as u128, compare_packed, |v: f64| { let b = v.to_bits(); b ^ (((b as i64 >> 63) as u64) | (1 << 63)) };
}

/// A value that consists of scalars of one type: a number, an array of them, or a `repr(C)` struct with `derive(Flat)`.
///
/// # Safety
///
/// The bytes of the type are those of an array of `Scalar`, without padding; each such array is a valid value; and the
/// alignment is that of `Scalar`.
pub unsafe trait Flat: Copy {
    /// The type of the scalars.
    type Scalar: Scalar;
}

// SAFETY: an array of arrays of scalars is an array of scalars, with the same alignment.
unsafe impl<V: Flat, const N: usize> Flat for [V; N] {
    type Scalar = V::Scalar;
}

/// Returns the number of scalars in one value. Fails to compile if size or alignment break the contract of `Flat`.
const fn scalars_in<V: Flat>() -> usize {
    let (value, scalar) = (size_of::<V>(), size_of::<V::Scalar>());
    assert!(value % scalar == 0 && align_of::<V>() == align_of::<V::Scalar>(), "a `Flat` type has no padding");
    value / scalar
}

/// Returns a lane of flat values as a lane of their scalars: `[[f32; 3]]` as `[f32]`.
///
/// Loops over numbers vectorise on every target; loops over three of them at a time often do not.
///
/// ```
/// use phalanx_store::soa::flat;
///
/// let positions = [[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// assert_eq!(flat(&positions).iter().sum::<f32>(), 21.0);
/// ```
#[inline]
pub fn flat<V: Flat>(lane: &[V]) -> &[V::Scalar] {
    let count = const { scalars_in::<V>() };
    // SAFETY: the bytes are those of `count` scalars per value, aligned for them, by the contract of `Flat`; the slice
    // has the size and the lifetime of the one given.
    unsafe { slice::from_raw_parts(lane.as_ptr().cast(), lane.len() * count) }
}

/// Returns a mutable lane of flat values as a lane of their scalars.
///
/// ```
/// use phalanx_store::soa::flat_mut;
///
/// let mut positions = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// flat_mut(&mut positions).iter_mut().for_each(|x| *x *= 2.0);
/// assert_eq!(positions, [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]);
/// ```
#[inline]
pub fn flat_mut<V: Flat>(lane: &mut [V]) -> &mut [V::Scalar] {
    let count = const { scalars_in::<V>() };
    // SAFETY: as in `flat`; any scalars that are written are a valid value, by the contract of `Flat`.
    unsafe { slice::from_raw_parts_mut(lane.as_mut_ptr().cast(), lane.len() * count) }
}

/// Returns whether a type is a scalar, and whether it is a number.
pub(super) fn known<V>() -> (bool, bool) {
    /// The id of a type without its lifetimes.
    trait Identified {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T> Identified for PhantomData<T> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let phantom = PhantomData::<V>;
    let here: &dyn Identified = &phantom;
    // SAFETY: the method reads nothing that has the lifetime. Its result is compared with ids of types without lifetimes.
    let id = Identified::id(unsafe { core::mem::transmute::<&dyn Identified, &(dyn Identified + 'static)>(here) });
    macro_rules! is {
        ($($t:ty)*) => { false $(|| id == TypeId::of::<$t>())* };
    }
    let number = is!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);
    (number || is!(bool char), number)
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn scalars_are_known_and_others_are_not() {
        assert_eq!(known::<f32>(), (true, true));
        assert_eq!(known::<bool>(), (true, false));
        assert_eq!(known::<(u8, u32)>(), (false, false));
        assert_eq!(known::<&u32>(), (false, false));
    }
}
