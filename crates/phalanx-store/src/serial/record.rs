//! Structs of lists, read as a derive would read them, with a bound on each list.

use core::fmt;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, Visitor};

/// Reads the name of a field: one of these, or `None` for an unknown one, which is ignored.
pub(super) struct FieldOf(pub(super) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for FieldOf {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldOf {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_u64<E>(self, at: u64) -> Result<Self::Value, E> {
        Ok(usize::try_from(at).ok().and_then(|at| self.0.get(at).copied()))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        self.visit_bytes(name.as_bytes())
    }

    fn visit_bytes<E>(self, name: &[u8]) -> Result<Self::Value, E> {
        Ok(self.0.iter().copied().find(|field| field.as_bytes() == name))
    }
}

/// Defines a struct of lists and implements `Deserialize` for it.
///
/// It is read as a map or as a sequence of the fields in order. In a map, unknown fields are ignored and each field must
/// come once. The expression behind a field is the [`List`](super::list::List) that reads it. It may use the other
/// fields, each an `Option` that is set when the field has been read.
macro_rules! record {
    ($name:ident $(<$t:ident>)? as $noun:literal { $($field:ident: $element:ty = $list:expr),+ $(,)? }) => {
        struct $name $(<$t>)? {
            $($field: alloc::vec::Vec<$element>,)+
        }

        impl<'de $(, $t: serde::Deserialize<'de>)?> serde::Deserialize<'de> for $name $(<$t>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use core::marker::PhantomData;
                use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

                const FIELDS: &[&str] = &[$(stringify!($field)),+];

                struct Reading<R>(PhantomData<fn() -> R>);

                impl<'de $(, $t: serde::Deserialize<'de>)?> Visitor<'de> for Reading<$name $(<$t>)?> {
                    type Value = $name $(<$t>)?;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(concat!("struct ", $noun, " with", $(" ", stringify!($field)),+))
                    }

                    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                        let mut read = 0;
                        $(
                            let $field = seq.next_element_seed($list)?;
                            if $field.is_none() {
                                return Err(A::Error::invalid_length(read, &self));
                            }
                            read += 1;
                        )+
                        let _ = read;
                        Ok($name { $($field: $field.unwrap_or_default()),+ })
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        $(let mut $field: Option<alloc::vec::Vec<$element>> = None;)+
                        while let Some(name) = map.next_key_seed($crate::serial::record::FieldOf(FIELDS))? {
                            $(
                                if name == Some(stringify!($field)) {
                                    if $field.is_some() {
                                        return Err(A::Error::duplicate_field(stringify!($field)));
                                    }
                                    $field = Some(map.next_value_seed($list)?);
                                    continue;
                                }
                            )+
                            map.next_value::<IgnoredAny>()?;
                        }
                        Ok($name { $($field: $field.ok_or_else(|| A::Error::missing_field(stringify!($field)))?),+ })
                    }
                }

                deserializer.deserialize_struct($noun, FIELDS, Reading(PhantomData))
            }
        }
    };
}
pub(super) use record;
