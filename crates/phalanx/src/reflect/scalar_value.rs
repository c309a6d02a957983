//! [`ScalarValue`]: the value of a scalar field.

use super::Scalar;
use core::cmp::Ordering;
use core::fmt;
use phalanx_store::Entity;

/// The value of a scalar field, or of a field that is an enum without fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ScalarValue {
    /// An unsigned integer.
    Unsigned(u128),
    /// A signed integer.
    Signed(i128),
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
    /// A `bool`.
    Bool(bool),
    /// A `char`.
    Char(char),
    /// An entity.
    Entity(Entity),
    /// The number and the name of a variant.
    Choice(i64, &'static str),
}

impl ScalarValue {
    /// Reads a scalar from its bytes in memory. Returns `None` if they are not those of a value.
    pub(super) fn from_bytes(scalar: Scalar, bytes: &[u8]) -> Option<ScalarValue> {
        macro_rules! number {
            ($t:ty, $variant:ident) => {
                ScalarValue::$variant(<$t>::from_ne_bytes(bytes.try_into().ok()?) as _)
            };
        }
        Some(match scalar {
            Scalar::U8 => number!(u8, Unsigned),
            Scalar::U16 => number!(u16, Unsigned),
            Scalar::U32 => number!(u32, Unsigned),
            Scalar::U64 => number!(u64, Unsigned),
            Scalar::U128 => number!(u128, Unsigned),
            Scalar::Usize => number!(usize, Unsigned),
            Scalar::I8 => number!(i8, Signed),
            Scalar::I16 => number!(i16, Signed),
            Scalar::I32 => number!(i32, Signed),
            Scalar::I64 => number!(i64, Signed),
            Scalar::I128 => number!(i128, Signed),
            Scalar::Isize => number!(isize, Signed),
            Scalar::F32 => number!(f32, F32),
            Scalar::F64 => number!(f64, F64),
            Scalar::Bool => ScalarValue::Bool(match bytes {
                [0] => false,
                [1] => true,
                _ => return None,
            }),
            Scalar::Char => ScalarValue::Char(char::from_u32(u32::from_ne_bytes(bytes.try_into().ok()?))?),
            Scalar::Entity => {
                let bytes: [u8; 8] = bytes.try_into().ok().filter(|bytes| Entity::is_valid_bytes(*bytes))?;
                let [position, generation] = [0, 4].map(|at| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
                let index = u64::from(u32::from_ne_bytes(position) - 1);
                ScalarValue::Entity(Entity::from_bits(u64::from(u32::from_ne_bytes(generation)) << 32 | index)?)
            }
        })
    }

    /// Returns a number as an `f64`, which may round it. Other values are not numbers.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            ScalarValue::Unsigned(number) => Some(number as f64),
            ScalarValue::Signed(number) => Some(number as f64),
            ScalarValue::F32(number) => Some(number.into()),
            ScalarValue::F64(number) => Some(number),
            _ => None,
        }
    }

    /// Returns an integer or the number of a variant.
    pub fn as_i128(self) -> Option<i128> {
        match self {
            ScalarValue::Unsigned(number) => i128::try_from(number).ok(),
            ScalarValue::Signed(number) => Some(number),
            ScalarValue::Choice(number, _) => Some(number.into()),
            _ => None,
        }
    }

    /// Compares two values of one field. Floats have a total order: `-0.0` is below `0.0`, and what is not a number comes last.
    pub fn compare(&self, other: &ScalarValue) -> Ordering {
        use ScalarValue::{Bool, Char, Choice, Entity, F32, F64, Signed, Unsigned};
        match (self, other) {
            (Unsigned(a), Unsigned(b)) => a.cmp(b),
            (Signed(a), Signed(b)) => a.cmp(b),
            (F32(a), F32(b)) => a.is_nan().cmp(&b.is_nan()).then_with(|| a.total_cmp(b)),
            (F64(a), F64(b)) => a.is_nan().cmp(&b.is_nan()).then_with(|| a.total_cmp(b)),
            (Bool(a), Bool(b)) => a.cmp(b),
            (Char(a), Char(b)) => a.cmp(b),
            (Entity(a), Entity(b)) => (a.index(), a.generation()).cmp(&(b.index(), b.generation())),
            (Choice(a, _), Choice(b, _)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    /// Returns the position of the variant, so that values of different fields have an order too.
    fn rank(&self) -> u8 {
        match self {
            ScalarValue::Unsigned(_) => 0,
            ScalarValue::Signed(_) => 1,
            ScalarValue::F32(_) => 2,
            ScalarValue::F64(_) => 3,
            ScalarValue::Bool(_) => 4,
            ScalarValue::Char(_) => 5,
            ScalarValue::Entity(_) => 6,
            ScalarValue::Choice(..) => 7,
        }
    }

    /// Returns `true` if the two have the same bits. Other than by `==`, `-0.0` is not `0.0`, and NaN is NaN.
    pub fn is_same(&self, other: &ScalarValue) -> bool {
        match (self, other) {
            (ScalarValue::F32(a), ScalarValue::F32(b)) => a.to_bits() == b.to_bits(),
            (ScalarValue::F64(a), ScalarValue::F64(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarValue::Unsigned(number) => number.fmt(f),
            ScalarValue::Signed(number) => number.fmt(f),
            // With `.0`, so that it is seen to be a float.
            ScalarValue::F32(number) => fmt::Debug::fmt(number, f),
            ScalarValue::F64(number) => fmt::Debug::fmt(number, f),
            ScalarValue::Bool(value) => value.fmt(f),
            ScalarValue::Char(value) => fmt::Debug::fmt(value, f),
            ScalarValue::Entity(entity) => entity.fmt(f),
            ScalarValue::Choice(_, name) => f.pad(name),
        }
    }
}

/// A Rust type of scalars.
///
/// # Safety
///
/// `SCALAR` is the name of the type.
#[allow(unsafe_code)]
pub(super) unsafe trait ScalarType: Copy {
    const SCALAR: Scalar;
    fn value(self) -> ScalarValue;
}

macro_rules! scalar_types {
    ($($t:ty: $scalar:ident $variant:ident)*) => { $(
        // SAFETY: it is the type of that name.
        #[allow(unsafe_code)]
        unsafe impl ScalarType for $t {
            const SCALAR: Scalar = Scalar::$scalar;

            #[inline(always)]
            fn value(self) -> ScalarValue {
                ScalarValue::$variant(self as _)
            }
        }
    )* };
}
scalar_types! {
    u8: U8 Unsigned u16: U16 Unsigned u32: U32 Unsigned u64: U64 Unsigned u128: U128 Unsigned usize: Usize Unsigned
    i8: I8 Signed i16: I16 Signed i32: I32 Signed i64: I64 Signed i128: I128 Signed isize: Isize Signed
    f32: F32 F32 f64: F64 F64 bool: Bool Bool char: Char Char Entity: Entity Entity
}

/// Calls a generic function with the type of a scalar: `by_scalar!(scalar, function::<_>(…))`.
macro_rules! by_scalar {
    ($scalar:expr, $t:ident => $body:expr) => {{
        macro_rules! with {
            ($ty:ty) => {{
                type $t = $ty;
                $body
            }};
        }
        match $scalar {
            Scalar::U8 => with!(u8),
            Scalar::U16 => with!(u16),
            Scalar::U32 => with!(u32),
            Scalar::U64 => with!(u64),
            Scalar::U128 => with!(u128),
            Scalar::Usize => with!(usize),
            Scalar::I8 => with!(i8),
            Scalar::I16 => with!(i16),
            Scalar::I32 => with!(i32),
            Scalar::I64 => with!(i64),
            Scalar::I128 => with!(i128),
            Scalar::Isize => with!(isize),
            Scalar::F32 => with!(f32),
            Scalar::F64 => with!(f64),
            Scalar::Bool => with!(bool),
            Scalar::Char => with!(char),
            Scalar::Entity => with!(Entity),
        }
    }};
}
pub(super) use by_scalar;
