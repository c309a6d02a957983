//! [`Datum`]: a value of an Arrow array, to be deserialized.

use crate::component_table::Source;
use crate::shapes::has_data;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use phalanx::Entity;
use phalanx::reflect::{Field, Kind, Scalar, Shape};
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// A value, in the form that serde gives the type of its shape.
#[derive(Clone, Debug)]
pub(crate) enum Datum {
    Unit,
    Bool(bool),
    Char(char),
    Unsigned(u128),
    Signed(i128),
    F32(f32),
    F64(f64),
    Text(String),
    List(Vec<Datum>),
    Map(Vec<(String, Datum)>),
    Json(serde_json::Value),
}

impl Datum {
    /// Returns a component at a row of its columns.
    pub(crate) fn of_component(
        shape: Option<&'static Shape>,
        columns: &[(Source, ArrayRef)],
        row: usize,
    ) -> Result<Datum, String> {
        let fields = match shape.map(|shape| shape.kind) {
            Some(Kind::Struct([field])) => {
                return Datum::of_component(Some(field.shape), columns, row).map(|datum| Datum::of_only(field, datum));
            }
            Some(Kind::Struct(fields)) => fields,
            _ => {
                return match columns {
                    [(source, array)] => Datum::of_column(source, shape, array, row),
                    _ => Ok(Datum::Unit),
                };
            }
        };
        let (mut members, mut columns) = (Vec::new(), columns.iter());
        for field in fields {
            let column = if has_data(field.shape) { columns.next() } else { None };
            let datum = match column {
                Some((source, array)) => Datum::of_column(source, Some(field.shape), array, row)?,
                None => Datum::Unit,
            };
            members.push((field.name.to_owned(), datum));
        }
        Ok(Datum::of_members(members))
    }

    fn of_column(
        source: &Source,
        shape: Option<&'static Shape>,
        array: &ArrayRef,
        row: usize,
    ) -> Result<Datum, String> {
        match (source, shape) {
            (Source::Json(_), _) if array.is_null(row) => Ok(Datum::Unit),
            (Source::Json(_), _) => {
                let text = array.as_string_opt::<i32>().ok_or("it is not a text")?.value(row);
                serde_json::from_str(text).map(Datum::Json).map_err(|error| format!("it is not JSON: {error}"))
            }
            (_, Some(shape)) => Datum::of_shape(shape, array.as_ref(), row),
            _ => Err("its shape is not known".into()),
        }
    }

    /// Returns a struct with one field: that field if the struct is a newtype, and otherwise a map with its name.
    fn of_only(field: &Field, datum: Datum) -> Datum {
        match field.name.parse::<usize>() {
            Ok(_) => datum,
            Err(_) => Datum::Map(vec![(field.name.to_owned(), datum)]),
        }
    }

    /// Returns a struct: a list if its fields have numbers for names, as those of a tuple, and otherwise a map.
    fn of_members(members: Vec<(String, Datum)>) -> Datum {
        match members.first() {
            Some((name, _)) if name == "0" => Datum::List(members.into_iter().map(|(_, datum)| datum).collect()),
            Some(_) => Datum::Map(members),
            None => Datum::Unit,
        }
    }

    fn of_shape(shape: &'static Shape, array: &dyn Array, row: usize) -> Result<Datum, String> {
        let other = || "it is of another type".to_owned();
        macro_rules! number {
            ($t:ty, $variant:ident) => {
                Datum::$variant(array.as_primitive_opt::<$t>().ok_or_else(other)?.value(row) as _)
            };
        }
        Ok(match shape.kind {
            Kind::Struct([field]) => Datum::of_only(field, Datum::of_shape(field.shape, array, row)?),
            Kind::Scalar(scalar) => match scalar {
                Scalar::U8 => number!(UInt8Type, Unsigned),
                Scalar::U16 => number!(UInt16Type, Unsigned),
                Scalar::U32 => number!(UInt32Type, Unsigned),
                Scalar::U64 | Scalar::Usize => number!(UInt64Type, Unsigned),
                Scalar::I8 => number!(Int8Type, Signed),
                Scalar::I16 => number!(Int16Type, Signed),
                Scalar::I32 => number!(Int32Type, Signed),
                Scalar::I64 | Scalar::Isize => number!(Int64Type, Signed),
                Scalar::F32 => number!(Float32Type, F32),
                Scalar::F64 => number!(Float64Type, F64),
                Scalar::Bool => Datum::Bool(array.as_boolean_opt().ok_or_else(other)?.value(row)),
                Scalar::Char => {
                    let number = array.as_primitive_opt::<UInt32Type>().ok_or_else(other)?.value(row);
                    Datum::Char(char::from_u32(number).ok_or_else(|| format!("{number} is not a character"))?)
                }
                Scalar::Entity => {
                    let bits = array.as_primitive_opt::<UInt64Type>().ok_or_else(other)?.value(row);
                    let entity = Entity::from_bits(bits).ok_or_else(|| format!("{bits} is not an entity"))?;
                    Datum::Json(serde_json::to_value(entity).map_err(|error| error.to_string())?)
                }
                scalar => {
                    let bytes = array.as_fixed_size_binary_opt().ok_or_else(other)?.value(row);
                    let bytes = bytes.try_into().map_err(|_| other())?;
                    match scalar {
                        Scalar::U128 => Datum::Unsigned(u128::from_ne_bytes(bytes)),
                        _ => Datum::Signed(i128::from_ne_bytes(bytes)),
                    }
                }
            },
            Kind::Choice(_) => {
                let keys = array.as_dictionary_opt::<Int32Type>().ok_or_else(other)?;
                let names = keys.values().as_string_opt::<i32>().ok_or_else(other)?;
                let key = keys.key(row).ok_or("there is no value")?;
                Datum::Text(names.value(key).to_owned())
            }
            Kind::Text(_) => Datum::Text(array.as_string_opt::<i32>().ok_or_else(other)?.value(row).to_owned()),
            Kind::Struct(fields) => {
                let (of, mut members) = (array.as_struct_opt().ok_or_else(other)?, Vec::new());
                let mut parts = of.columns().iter();
                for field in fields {
                    let datum = match has_data(field.shape) {
                        true => Datum::of_shape(field.shape, parts.next().ok_or_else(other)?.as_ref(), row)?,
                        false => Datum::Unit,
                    };
                    members.push((field.name.to_owned(), datum));
                }
                Datum::of_members(members)
            }
            Kind::Array(element, len) => {
                let values = array.as_fixed_size_list_opt().ok_or_else(other)?.values();
                let datum = |at| Datum::of_shape(element, values.as_ref(), row * len + at);
                Datum::List((0..len).map(datum).collect::<Result<_, _>>()?)
            }
            _ => return Err("its shape is not known".into()),
        })
    }
}

impl<'de> IntoDeserializer<'de, Error> for Datum {
    type Deserializer = Datum;

    fn into_deserializer(self) -> Datum {
        self
    }
}

impl<'de> Deserializer<'de> for Datum {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Datum::Unit => visitor.visit_unit(),
            Datum::Bool(value) => visitor.visit_bool(value),
            Datum::Char(value) => visitor.visit_char(value),
            Datum::Unsigned(number) => match u64::try_from(number) {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => visitor.visit_u128(number),
            },
            Datum::Signed(number) => match i64::try_from(number) {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => visitor.visit_i128(number),
            },
            Datum::F32(number) => visitor.visit_f32(number),
            Datum::F64(number) => visitor.visit_f64(number),
            Datum::Text(text) => visitor.visit_string(text),
            Datum::List(list) => {
                let mut list = SeqDeserializer::new(list.into_iter());
                let value = visitor.visit_seq(&mut list)?;
                list.end().map(|()| value)
            }
            Datum::Map(members) => visitor.visit_map(MapDeserializer::new(members.into_iter())),
            Datum::Json(value) => value.deserialize_any(visitor).map_err(Error::custom),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Datum::Unit | Datum::Json(serde_json::Value::Null) => visitor.visit_none(),
            datum => visitor.visit_some(datum),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Datum::Text(text) => visitor.visit_enum(text.into_deserializer()),
            Datum::Json(value) => value.deserialize_enum(name, variants, visitor).map_err(Error::custom),
            _ => Err(Error::custom("it is not a variant")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
