//! [`Comparison`]: the test of a field against a value.

use super::error::{TextQueryError, TextQueryProblem};
use super::names::nearest;
use super::syntax::{Literal, Operator};
use crate::alloc::{try_format, try_text};
use crate::reflect::place::{FieldColumn, Place};
use crate::reflect::scalar_value::ScalarType;
use crate::reflect::{Kind, Scalar, ScalarValue, Shape};
use core::cmp::Ordering;
use core::ops::Range;
use phalanx_store::Entity;

/// The largest number that an integer is compared with.
const LARGEST: i128 = 1 << 126;

/// The test of a field against a value.
#[derive(Clone, Debug)]
pub(super) enum Comparison {
    /// An integer or the number of a variant is in a range, or not in it.
    Integer {
        least: i128,
        most: i128,
        is_in: bool,
    },
    F32(Operator, f32),
    F64(Operator, f64),
    Bool(bool),
    Char(Operator, char),
    Entity(Entity, bool),
    Text(TextComparison),
}

/// The test of a text.
#[derive(Clone, Debug)]
pub(super) struct TextComparison {
    operator: Operator,
    /// In lower case, if it is to be contained.
    text: String,
}

impl Operator {
    /// Returns `true` if the operator holds for values in this order.
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::Unequal => order != Some(Ordering::Equal),
            Operator::Less => order == Some(Ordering::Less),
            Operator::AtMost => order.is_some_and(Ordering::is_le),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::AtLeast => order.is_some_and(Ordering::is_ge),
            Operator::Contains => false,
        }
    }
}

impl TextComparison {
    pub(super) fn new(operator: Operator, literal: &Literal, at: usize) -> Result<TextComparison, TextQueryError> {
        match literal {
            Literal::Text(text) | Literal::Word(text) => {
                let mut text = try_text(text)?;
                if operator == Operator::Contains {
                    text.make_ascii_lowercase();
                }
                Ok(TextComparison { operator, text })
            }
            _ => Err(not_comparable(at, "a text", literal)),
        }
    }

    pub(super) fn holds(&self, text: &str) -> bool {
        match self.operator {
            Operator::Contains => contains_ignoring_case(text, &self.text),
            operator => operator.holds(Some(text.cmp(self.text.as_str()))),
        }
    }
}

/// Returns `true` if a text contains another one, which is in lower case. The case of ASCII letters does not matter.
fn contains_ignoring_case(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    part.is_empty() || text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

fn not_comparable(at: usize, expected: &'static str, literal: &Literal) -> TextQueryError {
    let found = match literal {
        Literal::Number(number) => try_format(format_args!("the number {number}")),
        Literal::Text(text) => try_format(format_args!("the text {text:?}")),
        Literal::Word(word) => try_format(format_args!("`{word}`")),
        Literal::Entity(entity) => try_format(format_args!("the entity {entity}")),
    };
    TextQueryError::not_comparable(at, expected, found)
}

impl Comparison {
    /// Returns the test of fields of a shape.
    pub(super) fn new(
        shape: &'static Shape,
        operator: Operator,
        (at, literal): (usize, &Literal),
        operator_at: usize,
    ) -> Result<Comparison, TextQueryError> {
        let is_equality = matches!(operator, Operator::Equal | Operator::Unequal);
        let only = |expected| TextQueryError::not_comparable(operator_at, expected, try_text("another comparison"));
        if operator == Operator::Contains && !matches!(shape.kind, Kind::Text(_)) {
            return Err(only("a text before `~`"));
        }
        match shape.kind {
            Kind::Scalar(Scalar::F32) => Ok(Comparison::F32(operator, float(at, literal)?)),
            Kind::Scalar(Scalar::F64) => Ok(Comparison::F64(operator, float(at, literal)?)),
            Kind::Scalar(Scalar::Bool) => {
                let value = match literal {
                    Literal::Word(word) if word == "true" => true,
                    Literal::Word(word) if word == "false" => false,
                    _ => return Err(not_comparable(at, "`true` or `false`", literal)),
                };
                match operator {
                    Operator::Equal => Ok(Comparison::Bool(value)),
                    Operator::Unequal => Ok(Comparison::Bool(!value)),
                    _ => Err(only("`=` or `!=`")),
                }
            }
            Kind::Scalar(Scalar::Char) => match literal {
                Literal::Text(text) | Literal::Word(text) if text.chars().count() == 1 => {
                    Ok(Comparison::Char(operator, text.chars().next().unwrap_or_default()))
                }
                _ => Err(not_comparable(at, "one character in quotes", literal)),
            },
            Kind::Scalar(Scalar::Entity) => match literal {
                Literal::Entity(entity) if is_equality => Ok(Comparison::Entity(*entity, operator == Operator::Equal)),
                Literal::Entity(_) => Err(only("`=` or `!=`")),
                _ => Err(not_comparable(at, "an entity", literal)),
            },
            Kind::Scalar(_) => match literal {
                Literal::Number(number) => integer(operator, number, at),
                _ => Err(not_comparable(at, "a number", literal)),
            },
            Kind::Choice(choice) => match literal {
                Literal::Word(name) | Literal::Text(name) => {
                    let same = |(other, _): &&(&str, i64)| other.eq_ignore_ascii_case(name);
                    let number = choice.number(name).or_else(|| choice.variants.iter().find(same).map(|(_, n)| *n));
                    let Some(number) = number else {
                        let nearest = nearest(name, choice.variants.iter().map(|(name, _)| *name))?;
                        let problem = TextQueryProblem::NoSuchVariant { name: try_text(name)?, nearest };
                        return Err(TextQueryError::new(at, problem));
                    };
                    Ok(between(operator, number.into(), number.into()))
                }
                Literal::Number(number) => integer(operator, number, at),
                Literal::Entity(_) => Err(not_comparable(at, "a variant", literal)),
            },
            Kind::Text(_) => TextComparison::new(operator, literal, at).map(Comparison::Text),
            Kind::Struct(_) | Kind::Array(..) => Err(only("a field before it")),
            Kind::Opaque => Err(only("a scalar or a text before it")),
        }
    }

    /// Returns `true` if the value at a place passes.
    pub(super) fn holds(&self, place: Place<'_>) -> bool {
        if let Comparison::Text(test) = self {
            return place.text().is_some_and(|text| test.holds(text));
        }
        match (self, place.scalar()) {
            (Comparison::Integer { least, most, is_in }, Some(value)) => {
                let number = match value {
                    ScalarValue::Unsigned(number) => i128::try_from(number).unwrap_or(i128::MAX),
                    value => value.as_i128().unwrap_or(0),
                };
                (*least <= number && number <= *most) == *is_in
            }
            (Comparison::F32(operator, than), Some(ScalarValue::F32(value))) => operator.holds(value.partial_cmp(than)),
            (Comparison::F64(operator, than), Some(ScalarValue::F64(value))) => operator.holds(value.partial_cmp(than)),
            (Comparison::Bool(is), Some(ScalarValue::Bool(value))) => *is == value,
            (Comparison::Char(operator, than), Some(ScalarValue::Char(value))) => operator.holds(Some(value.cmp(than))),
            (Comparison::Entity(than, is), Some(ScalarValue::Entity(value))) => (value == *than) == *is,
            _ => false,
        }
    }

    /// Tests up to 64 rows of a column, and returns a bit for each.
    pub(super) fn test(&self, column: &FieldColumn<'_>, rows: Range<usize>) -> u64 {
        match (self, column.shape().kind) {
            (Comparison::Integer { least, most, is_in }, Kind::Scalar(scalar)) => {
                macro_rules! integers {
                    ($($scalar:ident $t:ty)*) => {
                        match scalar {
                            $(Scalar::$scalar => test_integer::<$t>(column, rows, *least, *most, *is_in),)*
                            _ => 0,
                        }
                    };
                }
                integers! {
                    U8 u8 U16 u16 U32 u32 U64 u64 U128 u128 Usize usize I8 i8 I16 i16 I32 i32 I64 i64 I128 i128 Isize isize
                }
            }
            (Comparison::F32(operator, than), _) => test_float(column, rows, *operator, *than),
            (Comparison::F64(operator, than), _) => test_float(column, rows, *operator, *than),
            (Comparison::Bool(is), _) => column.test(rows, |value: bool| value == *is),
            (Comparison::Entity(than, is), _) => column.test(rows, |value: Entity| (value == *than) == *is),
            _ => {
                let holds = |row| column.place(row).is_some_and(|place| self.holds(place));
                rows.enumerate().fold(0, |bits, (bit, row)| bits | u64::from(holds(row)) << bit)
            }
        }
    }
}

fn test_float<T: ScalarType + PartialOrd>(
    column: &FieldColumn<'_>,
    rows: Range<usize>,
    operator: Operator,
    than: T,
) -> u64 {
    match operator {
        Operator::Equal => column.test(rows, |value: T| value == than),
        Operator::Unequal => column.test(rows, |value: T| value != than),
        Operator::Less => column.test(rows, |value: T| value < than),
        Operator::AtMost => column.test(rows, |value: T| value <= than),
        Operator::Greater => column.test(rows, |value: T| value > than),
        Operator::AtLeast => column.test(rows, |value: T| value >= than),
        Operator::Contains => 0,
    }
}

/// A type of integers.
trait Integer: ScalarType + PartialOrd {
    /// Returns the part of a range that values of the type can be in.
    fn part(least: i128, most: i128) -> Option<(Self, Self)>;
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Integer for $t {
            fn part(least: i128, most: i128) -> Option<(Self, Self)> {
                let min = i128::try_from(<$t>::MIN).unwrap_or(i128::MIN);
                let max = i128::try_from(<$t>::MAX).unwrap_or(i128::MAX);
                let is_empty = least > most || most < min || least > max;
                let ends = || (
                    if least <= min { <$t>::MIN } else { least as $t },
                    if most >= max { <$t>::MAX } else { most as $t },
                );
                (!is_empty).then(ends)
            }
        }
    )* };
}
integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

fn test_integer<T: Integer>(column: &FieldColumn<'_>, rows: Range<usize>, least: i128, most: i128, is_in: bool) -> u64 {
    match T::part(least, most) {
        Some((least, most)) => column.test(rows, |value: T| (least <= value && value <= most) == is_in),
        None => column.test(rows, |_: T| !is_in),
    }
}

/// Returns the comparison of integers with a number, given the integers next to it, which are not beyond [`LARGEST`].
///
/// The two are equal if the number is an integer itself.
fn between(operator: Operator, floor: i128, ceiling: i128) -> Comparison {
    let (least, most) = match operator {
        // No integer lies between a number and the next one below it or above it.
        Operator::Less => (i128::MIN, ceiling - 1),
        Operator::AtMost => (i128::MIN, floor),
        Operator::Greater => (floor + 1, i128::MAX),
        Operator::AtLeast => (ceiling, i128::MAX),
        // The range is empty unless the number is an integer.
        Operator::Equal | Operator::Unequal | Operator::Contains => (ceiling, floor),
    };
    Comparison::Integer { least, most, is_in: operator != Operator::Unequal }
}

/// Returns the comparison of integers with a number as it is written, which may have a fraction.
fn integer(operator: Operator, number: &str, at: usize) -> Result<Comparison, TextQueryError> {
    if let "+inf" | "-inf" = number {
        let is_above = number == "+inf";
        let holds = match operator {
            Operator::Less | Operator::AtMost => is_above,
            Operator::Greater | Operator::AtLeast => !is_above,
            Operator::Equal | Operator::Unequal | Operator::Contains => false,
        };
        let (least, most) = if holds { (i128::MIN, i128::MAX) } else { (1, 0) };
        return Ok(Comparison::Integer { least, most, is_in: operator != Operator::Unequal });
    }
    match floor_and_ceiling(number) {
        Some((floor, ceiling)) => Ok(between(operator, floor, ceiling)),
        None => {
            let found = try_format(format_args!("the number {number}"));
            Err(TextQueryError::not_comparable(at, "a smaller number", found))
        }
    }
}

/// Returns the integers next to a number as it is written: the number itself twice, if it is one. Returns `None` if they are
/// beyond [`LARGEST`].
///
/// This is exact, other than by way of a float.
fn floor_and_ceiling(number: &str) -> Option<(i128, i128)> {
    let is_negative = number.starts_with('-');
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (decimal, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let digits = || whole.bytes().chain(fraction.bytes()).map(|digit| i128::from(digit - b'0'));
    if digits().all(|digit| digit == 0) {
        return Some((0, 0));
    }
    // An exponent that is not a number of 32 bits moves all digits to one side of the point.
    let limit = if exponent.starts_with('-') { i64::from(i32::MIN) } else { i64::from(i32::MAX) };
    let exponent = exponent.parse::<i32>().map_or(limit, i64::from);
    let point = usize::try_from(whole.len() as i64 + exponent).unwrap_or(0);
    let mut integer = 0_i128;
    // This ends soon: a digit is not zero, and each further one makes the number ten times as large.
    for digit in digits().chain(core::iter::repeat(0)).take(point) {
        integer = integer * 10 + digit;
        if integer > LARGEST {
            return None;
        }
    }
    let has_fraction = i128::from(digits().skip(point).any(|digit| digit != 0));
    Some(if is_negative { (-integer - has_fraction, -integer) } else { (integer, integer + has_fraction) })
}

fn float<T: core::str::FromStr>(at: usize, literal: &Literal) -> Result<T, TextQueryError> {
    let number = match literal {
        Literal::Number(number) => number.parse().ok(),
        Literal::Word(word) if word == "inf" => word.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| not_comparable(at, "a number", literal))
}
