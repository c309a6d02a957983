//! [`Shape`]: where the fields of a type are, and what they hold. [`crate::reflect`] has the interface.
#![allow(unsafe_code)]

mod implementations;
mod probe;

pub(crate) use implementations::text_shape;
pub use probe::{Probe, Unprobed, or_opaque};

use core::fmt;
use core::marker::PhantomData;

/// The layout of a type in memory, with the names and types of its fields.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// What a value consists of.
    pub kind: Kind,
    /// The size of a value in bytes.
    pub size: usize,
    /// The alignment of a value in bytes.
    pub align: usize,
    /// Formats the value at an address by `Debug`, if the type implements it.
    pub show: Option<ShowFn>,
}

/// What a value consists of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A number, `bool`, `char` or `Entity`.
    Scalar(Scalar),
    /// A struct or tuple: its fields in the order of their declaration.
    Struct(&'static [Field]),
    /// An array: the shape of its elements, and how many there are.
    Array(&'static Shape, usize),
    /// An enum without fields.
    Choice(Choice),
    /// A text: the function that finds it.
    Text(TextFn),
    /// A type of which nothing is known but its size.
    Opaque,
}

/// A field of a struct.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name, or the number of a field of a tuple struct.
    pub name: &'static str,
    /// The distance from the beginning of the struct, in bytes.
    pub offset: usize,
    /// The shape of the field.
    pub shape: &'static Shape,
    /// Whether the field has `#[soa(nested)]`. Then its own fields are lanes of a soa component.
    pub is_nested: bool,
}

/// An enum without fields.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The names of the variants and their numbers, in the order of their declaration.
    pub variants: &'static [(&'static str, i64)],
    /// Returns the number of the value at an address.
    pub read: ChoiceFn,
}

impl Choice {
    /// Returns the name of the variant with a number.
    pub fn name(&self, number: i64) -> Option<&'static str> {
        self.variants.iter().find(|(_, other)| *other == number).map(|(name, _)| *name)
    }

    /// Returns the number of the variant with a name.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.variants.iter().find(|(other, _)| *other == name).map(|(_, number)| *number)
    }
}

/// The type of a [scalar](Kind::Scalar).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are named after the types")]
pub enum Scalar {
    U8,
    U16,
    U32,
    U64,
    U128,
    Usize,
    I8,
    I16,
    I32,
    I64,
    I128,
    Isize,
    F32,
    F64,
    Bool,
    Char,
    Entity,
}

impl Scalar {
    /// Returns the name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::U8 => "u8",
            Scalar::U16 => "u16",
            Scalar::U32 => "u32",
            Scalar::U64 => "u64",
            Scalar::U128 => "u128",
            Scalar::Usize => "usize",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::I128 => "i128",
            Scalar::Isize => "isize",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
            Scalar::Bool => "bool",
            Scalar::Char => "char",
            Scalar::Entity => "Entity",
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Formats the value at an address by `Debug`. There is a value of the shape's type, which is not written during the call.
pub type ShowFn = unsafe fn(*const u8, &mut fmt::Formatter<'_>) -> fmt::Result;

/// Returns the number of the variant at an address. There is a value of the shape's type, which is not written during the call.
pub type ChoiceFn = unsafe fn(*const u8) -> i64;

/// Returns the text of the value at an address. There is a value of the shape's type, and the text is valid while that is not
/// written.
pub type TextFn = unsafe fn(*const u8) -> *const str;

impl Shape {
    /// Returns the fields of a struct. All other shapes have none.
    pub fn fields(&self) -> &'static [Field] {
        match self.kind {
            Kind::Struct(fields) => fields,
            _ => &[],
        }
    }

    /// Returns the shape of the only field of a newtype, or the shape itself. Newtypes within each other are all looked through.
    pub fn inner(&'static self) -> &'static Shape {
        let mut shape = self;
        while let Kind::Struct([field]) = shape.kind {
            shape = field.shape;
        }
        shape
    }
}

/// A type whose [shape](Shape) is known.
///
/// These types are:
///
/// - all integers and floats, `bool`, `char`, `()`, and [`PhantomData`];
/// - [`Entity`](crate::Entity), [`Name`](crate::Name), `String`, `&'static str` and `Box<str>`;
/// - [`NonZero`](core::num::NonZero), [`Wrapping`](core::num::Wrapping) and [`Saturating`](core::num::Saturating) of integers;
/// - arrays and tuples of up to four of such types;
/// - every component with `derive(Component)`, and other types with `derive(Reflect)`.
///
/// A type that is not `Reflect` can be the type of a field. The field is [opaque](Kind::Opaque) then.
///
/// ```
/// use phalanx::reflect::{Kind, Reflect};
///
/// #[derive(Reflect, Debug)]
/// struct Waypoint {
///     at: [f32; 3],
///     zone: u32,
///     notes: Vec<String>, // opaque, but shown by `Debug`
/// }
///
/// let [at, zone, notes] = Waypoint::SHAPE.fields() else { panic!("three fields") };
/// assert!((at.name, zone.name, notes.name) == ("at", "zone", "notes"));
/// assert!(matches!(notes.shape.kind, Kind::Opaque) && notes.shape.show.is_some());
/// ```
///
/// # Safety
///
/// The shape is that of the type:
///
/// - Size and alignment are the type's, and the functions are for its values.
/// - A scalar is a value of that scalar type, and an array has as many elements of that shape, one after another.
/// - At the offset of each field is a value of the field's shape, aligned, in every value of the type. Fields do not overlap.
/// - If `__has_lanes` returns `true`, the lanes of the type's `SoaRow` are its fields in order. Those with `is_nested` have the lanes
///   of their own type instead, of which the same holds.
/// - All parts of a value that are not [opaque](Kind::Opaque) may be read while the value is borrowed: there is no interior
///   mutability in them.
#[diagnostic::on_unimplemented(
    message = "the shape of `{Self}` is not known",
    note = "add `#[derive(Reflect)]` to the type, or `#[derive(Component)]` if it is a component"
)]
pub unsafe trait Reflect: Sized + 'static {
    /// The shape of the type.
    const SHAPE: &'static Shape;

    /// Returns `true` if the type is a row of a struct of arrays whose lanes are its fields.
    ///
    /// An implementation of `SoaRow` that is not derived may have any lanes.
    #[doc(hidden)]
    fn __has_lanes() -> bool {
        false
    }
}

/// The shape of a component, which is known to be that of its type.
#[doc(hidden)]
#[derive(Debug)]
pub struct ShapeOf<C> {
    shape: &'static Shape,
    has_lanes: fn() -> bool,
    component: PhantomData<fn() -> C>,
}

impl<C> Clone for ShapeOf<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for ShapeOf<C> {}

impl<C: Reflect> ShapeOf<C> {
    /// Returns the shape of a component that is `Reflect`.
    pub const fn new() -> ShapeOf<C> {
        ShapeOf { shape: C::SHAPE, has_lanes: C::__has_lanes, component: PhantomData }
    }
}

impl<C: Reflect> Default for ShapeOf<C> {
    fn default() -> Self {
        ShapeOf::new()
    }
}

impl<C> ShapeOf<C> {
    /// Returns the shape, and the function that returns `true` if the component is split into the lanes that its shape says.
    pub(crate) const fn parts(self) -> (&'static Shape, fn() -> bool) {
        (self.shape, self.has_lanes)
    }
}
