//! [`Plain`]: types whose values are nothing but their bytes.
#![allow(unsafe_code)]

use crate::layout::{ColumnTracked, Layout, Linear, Pool, RowTracked, Soa, Table};
use core::fmt::{self, Write};
use core::marker::PhantomData;
use core::num::{NonZero, Saturating, Wrapping};
use phalanx_store::soa::{Leaf, Nested, Shape, SoaRow};
use phalanx_store::{Entity, Handle};

/// A type whose values are nothing but their bytes.
///
/// Plain values can be written as bytes, compared by their bytes, and read back from bytes that are checked first. A plain
/// component can be copied without being `Clone`, saved by `Registry::plain`, and sent in a
/// [delta](crate::timeline::delta). A [`Timeline`](crate::timeline::Timeline) finds its changes by comparing bytes.
///
/// These types are plain:
///
/// - all integers and floats, `bool`, `char`, `()`, and [`PhantomData`];
/// - [`Entity`] and [`Handle`];
/// - [`NonZero`], `Option` of it, [`Wrapping`] and [`Saturating`] of integers;
/// - arrays of plain types;
/// - structs of plain types without padding, and enums without fields that have a `#[repr(u8)]` or the like: by
///   `#[component(plain)]` for a component, by `#[derive(Plain)]` for the type of a field. Both may be generic.
///
/// ```
/// use phalanx::{Component, Entity, Plain};
///
/// #[derive(Plain, Clone, Copy)]
/// #[repr(u8)]
/// enum Gait {
///     Walk,
///     Run,
/// }
///
/// #[derive(Plain, Clone, Copy)]
/// struct Waypoint {
///     at: [f32; 3],
///     zone: u32,
/// }
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Walker {
///     goal: Waypoint,
///     leader: Entity,
///     gaits: [Gait; 8],
/// }
/// # let _ = |w: Walker| (w.goal.at, w.goal.zone, w.leader, w.gaits, Gait::Walk, Gait::Run);
/// ```
///
/// A struct with padding does not compile. Order the fields by their alignment, or add a field that fills the gap:
///
/// ```compile_fail,E0080
/// use phalanx::Component;
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Padded(u8, u32);
/// ```
///
/// In a generic struct, padding is found where the type is used:
///
/// ```compile_fail,E0080
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Both<A, B>(A, B);
///
/// World::new().spawn(Both(1_u8, 2_u32));
/// ```
///
/// Neither does an enum that is larger than its number:
///
/// ```compile_fail,E0080
/// use phalanx::Plain;
///
/// #[derive(Plain, Clone, Copy)]
/// #[repr(u8, align(4))]
/// enum Wide {
///     Only,
///     Other,
/// }
/// ```
///
/// `Option<Entity>` is not plain, because `None` leaves four of its bytes uninitialised. Remove the component instead of
/// storing `None` in it, or use `#[component(clone)]`. Tuples are not plain, because their layout is not specified.
///
/// The fields of a component with `layout = "soa"` lie in lanes of their own. So `#[component(layout = "soa", plain)]` asks
/// only that each field is plain: padding between the fields does not matter, and the struct itself is not `Plain`.
///
/// # Layout
///
/// Snapshots and deltas hold the bytes as they lie in memory. Without `#[repr(C)]` a compiler may reorder the fields of a
/// struct. A snapshot that was saved with another order, or with other fields in a nested struct, is refused.
///
/// # Safety
///
/// No byte of a value is uninitialised: there is no padding. Where a constant cannot be known for all type parameters, the
/// evaluation of [`ANY_BYTES`](Plain::ANY_BYTES) may check this instead and fail to compile. Code that reads the bytes of a
/// value of type `T: Plain` must evaluate it.
///
/// If [`ANY_BYTES`](Plain::ANY_BYTES) is `true`, all bytes of the type's size are a value. If [`is_valid`](Plain::is_valid)
/// returns `true`, these bytes are.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    note = "numbers, `Entity` and arrays of plain data are; `Option<Entity>` is not, since `None` leaves bytes uninitialised",
    note = "add `#[component(plain)]` to a component, or `#[derive(Plain)]` to the type of a field"
)]
pub unsafe trait Plain: Copy + Send + Sync + 'static {
    /// Whether all bytes of the type's size are a value, so that bytes need no check.
    const ANY_BYTES: bool;

    /// Returns `true` if the bytes are a value of this type, and as many as its size.
    fn is_valid(bytes: &[u8]) -> bool;

    /// The name of a type that has no fields.
    #[doc(hidden)]
    const NAME: &'static str = "";

    /// Describes the fields of a struct or enum, in parts.
    #[doc(hidden)]
    fn describe(_: &mut dyn FnMut(&str)) {}
}

macro_rules! any_bytes {
    ($($t:ty)*) => { $(
        // SAFETY: a number, or a type without bytes, has no padding, and any bytes are one. `Option` of a non-zero integer
        // is laid out as the integer, with 0 as `None`; that is documented.
        unsafe impl Plain for $t {
            const ANY_BYTES: bool = true;
            const NAME: &'static str = stringify!($t);

            #[inline(always)]
            fn is_valid(bytes: &[u8]) -> bool {
                bytes.len() == size_of::<$t>()
            }
        }
    )* };
}
any_bytes!(() u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

macro_rules! integers {
    ($($t:ty)*) => {
        any_bytes!($(Option<NonZero<$t>>)*);
        $(
            // SAFETY: laid out as the integer, without padding, and any value but 0 is one; that is documented.
            unsafe impl Plain for NonZero<$t> {
                const ANY_BYTES: bool = false;
                const NAME: &'static str = stringify!(NonZero<$t>);

                #[inline(always)]
                fn is_valid(bytes: &[u8]) -> bool {
                    bytes.len() == size_of::<$t>() && bytes.iter().any(|byte| *byte != 0)
                }
            }
        )*
    };
}
integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! transparent {
    ($(($($bounds:tt)*) $t:ty as $inner:ty;)*) => { $(
        // SAFETY: it is laid out as this type, but may be aligned less, and asks nothing more of it.
        unsafe impl<$($bounds)*> Plain for $t {
            const ANY_BYTES: bool = <$inner as Plain>::ANY_BYTES;
            const NAME: &'static str = <$inner as Plain>::NAME;

            #[inline(always)]
            fn is_valid(bytes: &[u8]) -> bool {
                <$inner as Plain>::is_valid(bytes)
            }

            fn describe(out: &mut dyn FnMut(&str)) {
                <$inner as Plain>::describe(out);
            }
        }
    )* };
}
transparent! {
    (T: Plain) Wrapping<T> as T;
    (T: Plain) Saturating<T> as T;
    (T: Send + Sync + ?Sized + 'static) PhantomData<T> as ();
    (K: ?Sized + 'static) Handle<K> as Entity;
}

// SAFETY: one byte, which is 0 or 1.
unsafe impl Plain for bool {
    const ANY_BYTES: bool = false;
    const NAME: &'static str = "bool";

    #[inline(always)]
    fn is_valid(bytes: &[u8]) -> bool {
        matches!(bytes, [0 | 1])
    }
}

// SAFETY: laid out as a number of 32 bits, which is a Unicode scalar value.
unsafe impl Plain for char {
    const ANY_BYTES: bool = false;
    const NAME: &'static str = "char";

    #[inline(always)]
    fn is_valid(bytes: &[u8]) -> bool {
        <[u8; 4]>::try_from(bytes).is_ok_and(|bytes| char::from_u32(u32::from_ne_bytes(bytes)).is_some())
    }
}

// SAFETY: two numbers of 32 bits in 8 bytes. `is_valid_bytes` rejects what is not an `Entity`. It also rejects the name of
// an extra row, which safe code must not be able to create.
unsafe impl Plain for Entity {
    const ANY_BYTES: bool = false;
    const NAME: &'static str = "Entity";

    #[inline(always)]
    fn is_valid(bytes: &[u8]) -> bool {
        <[u8; 8]>::try_from(bytes).is_ok_and(Entity::is_valid_bytes)
    }
}

// SAFETY: an array has no padding between its values.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const ANY_BYTES: bool = T::ANY_BYTES;
    const NAME: &'static str = T::NAME;

    #[inline]
    fn is_valid(bytes: &[u8]) -> bool {
        bytes.len() == size_of::<[T; N]>() && are_valid::<T>(bytes)
    }

    fn describe(out: &mut dyn FnMut(&str)) {
        T::describe(out);
    }
}

/// Returns `true` if contiguous bytes are values.
#[inline]
fn are_valid<T: Plain>(bytes: &[u8]) -> bool {
    match size_of::<T>() {
        _ if T::ANY_BYTES => true,
        0 => T::is_valid(bytes),
        size => bytes.chunks_exact(size).all(T::is_valid),
    }
}

/// Returns `true` if the bytes of a field of a struct are a value. Used by the derives.
#[doc(hidden)]
#[inline(always)]
pub fn is_valid_field<T: Plain>(bytes: &[u8], offset: usize) -> bool {
    T::ANY_BYTES || bytes.get(offset..offset + size_of::<T>()).is_some_and(T::is_valid)
}

/// Describes the type of a field of a generic struct, whose declaration does not name it. Used by the derives.
#[doc(hidden)]
pub fn describe_parameter<T: Plain>(out: &mut dyn FnMut(&str)) {
    out("<");
    out(T::NAME);
    out(">");
    describe_field::<T>(out);
}

/// Describes the type of a field, if its name does not suffice. Used by the derives.
#[doc(hidden)]
pub fn describe_field<T: Plain>(out: &mut dyn FnMut(&str)) {
    let mut begun = false;
    T::describe(&mut |text| {
        if !core::mem::replace(&mut begun, true) {
            out("{");
        }
        out(text);
    });
    if begun {
        out("}");
    }
}

/// Describes the order of fields, if it is not that of their declaration. The offsets and sizes are in the order of
/// declaration. Used by the derives.
#[doc(hidden)]
pub fn describe_order(fields: &[(usize, usize)], out: &mut dyn FnMut(&str)) {
    struct Out<'a>(&'a mut dyn FnMut(&str));
    impl Write for Out<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            (self.0)(text);
            Ok(())
        }
    }
    let mut end = 0;
    let declared = fields.iter().filter(|(_, size)| *size > 0).all(|(offset, size)| {
        let expected = core::mem::replace(&mut end, offset + size);
        *offset == expected
    });
    if !declared {
        for (offset, _) in fields {
            // `Out` never fails.
            let _ = write!(Out(out), "@{offset}");
        }
    }
}

/// Returns the bytes of some values.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // The evaluation may check that there is no padding.
    let _ = const { T::ANY_BYTES };
    // SAFETY: no byte of the values is uninitialised, and they are not written while they are borrowed.
    unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Returns the bytes of some values for writing.
pub(crate) fn bytes_of_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    const { assert!(T::ANY_BYTES, "whatever is written must be a value") };
    // SAFETY: no byte of the values is uninitialised, and any are values; they are borrowed for writing.
    unsafe { core::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Returns the value with these bytes, if they are one.
pub(crate) fn from_bytes<T: Plain>(bytes: &[u8]) -> Option<T> {
    // SAFETY: the bytes are a value, and as many as its size. They need not be aligned for it.
    T::is_valid(bytes).then(|| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Returns `true` if the bytes of some rows of a lane are values, given the number of the lane.
pub(crate) type ValidFn = fn(usize, &[u8]) -> bool;

/// Describes the fields of a type, in parts.
type DescribeFn = fn(&mut dyn FnMut(&str));

/// Proof that the values of a component are plain data: [`Component::PLAIN`](crate::Component::PLAIN).
pub struct IsPlain<C> {
    /// Whether the proof is about the lanes of a soa component, rather than about whole values.
    of_lanes: bool,
    any: bool,
    valid: ValidFn,
    describe: DescribeFn,
    component: PhantomData<fn() -> C>,
}

impl<C: Plain> IsPlain<C> {
    /// Proves that whole values are plain.
    pub const fn new() -> IsPlain<C> {
        let valid: ValidFn = |_, bytes| are_valid::<C>(bytes);
        IsPlain { of_lanes: false, any: C::ANY_BYTES, valid, describe: C::describe, component: PhantomData }
    }
}

impl<C: SoaRow> IsPlain<C>
where
    C::Shape: PlainShape,
{
    /// Proves that the fields of a component with `layout = "soa"` are plain.
    pub const fn of_lanes() -> IsPlain<C> {
        let any = <C::Shape as PlainShape>::ANY_BYTES;
        let (valid, describe): (ValidFn, DescribeFn) =
            (<C::Shape as PlainShape>::are_valid, <C::Shape as PlainShape>::describe);
        IsPlain { of_lanes: true, any, valid, describe, component: PhantomData }
    }
}

impl<C> IsPlain<C> {
    /// Returns what the proof says of the bytes of a layout: one that splits values into fields if `apart` is set, or one
    /// of whole values. Returns `None` if the proof is about the other kind. `fields` are those that the component
    /// declares.
    pub(crate) fn of(self, apart: bool, fields: &str) -> Option<ByteInfo> {
        let (bytes, valid) = if self.any { (Bytes::Any, None) } else { (Bytes::Whole, Some(self.valid)) };
        (self.of_lanes == apart).then(|| {
            let mut schema = ByteInfo::new(bytes, fields).schema;
            (self.describe)(&mut |text| schema = hash(schema, text));
            ByteInfo { bytes, valid, schema }
        })
    }
}

/// Extends a hash by a text (FNV-1a).
const fn hash(mut sum: u64, text: &str) -> u64 {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at < bytes.len() {
        sum = (sum ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    sum
}

/// What a world knows about the bytes of a component's values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteInfo {
    pub(crate) bytes: Bytes,
    /// Validates bytes, if not all bytes are values.
    pub(crate) valid: Option<ValidFn>,
    /// A hash of the fields, and of their order in plain data.
    pub(crate) schema: u64,
}

impl ByteInfo {
    /// Creates the information without a proof.
    pub(crate) const fn new(bytes: Bytes, fields: &str) -> ByteInfo {
        ByteInfo { bytes, valid: None, schema: hash(0xcbf2_9ce4_8422_2325, fields) }
    }

    /// Returns `true` if values can be written as bytes, and read from bytes that are validated.
    pub(crate) fn is_plain(&self) -> bool {
        self.bytes == Bytes::Any || self.valid.is_some()
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

/// What is known about the bytes of a component's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bytes {
    /// Some bytes may be padding.
    Unknown,
    /// No byte is padding.
    Whole,
    /// No byte is padding, and all bytes are a value.
    Any,
}

/// A layout whose lanes hold [plain](Plain) data. The change ticks of a tracked component are not included.
///
/// Table, pool and linear layouts implement it if the component is [`Plain`], and soa layouts if each field is.
///
/// # Safety
///
/// `ANY_BYTES` and `are_valid` hold for each lane as those of [`Plain`] do for a type.
#[diagnostic::on_unimplemented(
    message = "`{C}` is not plain data",
    note = "add `#[component(plain)]` to it, or register it with `serde`"
)]
pub unsafe trait PlainLayout<C>: Layout<C> {
    /// Whether all bytes are values, in each lane.
    const ANY_BYTES: bool;

    /// Returns `true` if the bytes of some rows of a lane are values.
    #[doc(hidden)]
    fn are_valid(lane: usize, bytes: &[u8]) -> bool;

    /// Describes the fields of the values in the lanes.
    #[doc(hidden)]
    fn describe(out: &mut dyn FnMut(&str));
}

macro_rules! whole {
    ($($layout:ident)*) => { $(
        // SAFETY: one lane of `C`, which is plain.
        unsafe impl<C: Plain> PlainLayout<C> for $layout {
            const ANY_BYTES: bool = C::ANY_BYTES;

            fn are_valid(_: usize, bytes: &[u8]) -> bool {
                are_valid::<C>(bytes)
            }

            fn describe(out: &mut dyn FnMut(&str)) {
                C::describe(out);
            }
        }
    )* };
}
whole!(Table Pool Linear);

// SAFETY: the lanes are the leaves of the shape, which are plain.
unsafe impl<C: SoaRow> PlainLayout<C> for Soa
where
    Soa: Layout<C>,
    C::Shape: PlainShape,
{
    const ANY_BYTES: bool = <C::Shape as PlainShape>::ANY_BYTES;

    fn are_valid(lane: usize, bytes: &[u8]) -> bool {
        <C::Shape as PlainShape>::are_valid(lane, bytes)
    }

    fn describe(out: &mut dyn FnMut(&str)) {
        <C::Shape as PlainShape>::describe(out);
    }
}

macro_rules! tracked {
    ($($layout:ident)*) => { $(
        // SAFETY: the lanes of `L`, and those of the change ticks, which are not included.
        unsafe impl<C, L: PlainLayout<C>> PlainLayout<C> for $layout<L>
        where
            $layout<L>: Layout<C>,
        {
            const ANY_BYTES: bool = L::ANY_BYTES;

            fn are_valid(lane: usize, bytes: &[u8]) -> bool {
                L::are_valid(lane, bytes)
            }

            fn describe(out: &mut dyn FnMut(&str)) {
                L::describe(out);
            }
        }
    )* };
}
tracked!(RowTracked ColumnTracked);

/// The shape of a row type all of whose lanes hold [plain](Plain) data.
///
/// # Safety
///
/// The contract of [`PlainLayout`] holds.
#[diagnostic::on_unimplemented(
    message = "a field of this row type is not plain data",
    note = "numbers, `Entity` and arrays of plain data are",
    note = "add `#[derive(Plain)]` to the type of the field"
)]
pub unsafe trait PlainShape: Shape {
    /// Whether all bytes are values, in each lane.
    const ANY_BYTES: bool;

    /// Returns `true` if the bytes of some rows of a lane are values.
    #[doc(hidden)]
    fn are_valid(lane: usize, bytes: &[u8]) -> bool;

    /// Describes the fields of the types of lanes.
    #[doc(hidden)]
    fn describe(out: &mut dyn FnMut(&str));
}

// SAFETY: there are no lanes.
unsafe impl PlainShape for () {
    const ANY_BYTES: bool = true;

    fn are_valid(_: usize, _: &[u8]) -> bool {
        true
    }

    fn describe(_: &mut dyn FnMut(&str)) {}
}

// SAFETY: one lane of `V`, which is plain.
unsafe impl<V: Plain> PlainShape for Leaf<V> {
    const ANY_BYTES: bool = V::ANY_BYTES;

    fn are_valid(_: usize, bytes: &[u8]) -> bool {
        are_valid::<V>(bytes)
    }

    fn describe(out: &mut dyn FnMut(&str)) {
        describe_field::<V>(out);
    }
}

// SAFETY: the lanes of the nested row.
unsafe impl<R: SoaRow> PlainShape for Nested<R>
where
    R::Shape: PlainShape,
{
    const ANY_BYTES: bool = <R::Shape as PlainShape>::ANY_BYTES;

    fn are_valid(lane: usize, bytes: &[u8]) -> bool {
        <R::Shape as PlainShape>::are_valid(lane, bytes)
    }

    fn describe(out: &mut dyn FnMut(&str)) {
        <R::Shape as PlainShape>::describe(out);
    }
}

// SAFETY: the lanes of the first, then those of the second.
unsafe impl<A: PlainShape, B: PlainShape> PlainShape for (A, B) {
    const ANY_BYTES: bool = A::ANY_BYTES & B::ANY_BYTES;

    fn are_valid(lane: usize, bytes: &[u8]) -> bool {
        match lane.checked_sub(A::LANES) {
            None => A::are_valid(lane, bytes),
            Some(lane) => B::are_valid(lane, bytes),
        }
    }

    fn describe(out: &mut dyn FnMut(&str)) {
        A::describe(out);
        B::describe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::{Plain, describe_order};

    fn order(fields: &[(usize, usize)]) -> String {
        let mut text = String::new();
        describe_order(fields, &mut |part| text.push_str(part));
        text
    }

    #[test]
    fn an_order_of_fields_other_than_the_declared_one_is_described() {
        assert_eq!(order(&[]), "");
        assert_eq!(order(&[(0, 4), (4, 2), (6, 2)]), "");
        assert_eq!(order(&[(0, 4), (0, 0), (4, 4)]), "", "a field without size is anywhere");
        assert_eq!(order(&[(4, 1), (0, 4), (5, 3)]), "@4@0@5");
        assert_eq!(order(&[(2, 2), (0, 2)]), "@2@0");
    }

    #[test]
    #[cfg(feature = "derive")]
    fn a_struct_that_the_compiler_reorders_is_described_as_such() {
        #[derive(crate::Plain, Clone, Copy)]
        struct Loose {
            a: u8,
            b: u32,
            c: [u8; 3],
        }
        #[derive(crate::Plain, Clone, Copy)]
        #[repr(C)]
        struct Fixed {
            b: u32,
            a: u8,
            c: [u8; 3],
        }
        fn described<T: Plain>() -> String {
            let mut text = String::new();
            T::describe(&mut |part| text.push_str(part));
            text
        }
        assert_eq!(described::<Fixed>(), "b:u32,a:u8,c:[u8;3],");
        let places =
            [core::mem::offset_of!(Loose, a), core::mem::offset_of!(Loose, b), core::mem::offset_of!(Loose, c)];
        let [a, b, c] = places;
        assert_eq!(
            described::<Loose>(),
            format!("a:u8,b:u32,c:[u8;3],@{a}@{b}@{c}"),
            "no order without padding is declared"
        );
        let _ = (Loose { a: 0, b: 0, c: [0; 3] }, Fixed { a: 0, b: 0, c: [0; 3] });
    }
}
