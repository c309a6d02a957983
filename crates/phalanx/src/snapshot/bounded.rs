//! [`Bounded`]: a deserializer that fails if values are nested too deeply, or have too many parts without bytes.
//!
//! Hostile bytes may describe a million nested lists, which would overflow the stack. Or they describe a list of a billion
//! values without bytes, which would take very long.

use super::budget::Budget;
use core::fmt;
use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

/// The maximal depth of nested values.
pub(super) const DEEPEST: u32 = 128;

/// A deserializer, visitor, seed or access, with the remaining levels and the budget of the load.
#[derive(Clone, Copy)]
pub(super) struct Bounded<'f, T> {
    inner: T,
    levels: u32,
    /// Whether this is a list whose length is given by the input, not by the type.
    is_list: bool,
    budget: &'f Budget,
}

impl<'f, T> Bounded<'f, T> {
    pub(super) fn new(inner: T, budget: &'f Budget) -> Self {
        Bounded { inner, levels: DEEPEST, is_list: false, budget }
    }

    fn with<U>(&self, inner: U) -> Bounded<'f, U> {
        Bounded { inner, levels: self.levels, is_list: self.is_list, budget: self.budget }
    }

    /// Returns a wrapper of `inner` that is one level deeper.
    fn below<U, E: Error>(&self, inner: U) -> Result<Bounded<'f, U>, E> {
        match self.levels.checked_sub(1) {
            Some(levels) => Ok(Bounded { levels, ..self.with(inner) }),
            None => Err(E::custom("nested too deeply")),
        }
    }

    /// Reads a part, and charges it to the budget if it took no bytes.
    ///
    /// An item of a list costs its size. A part of a value with a fixed number of parts costs 1, because the size of that
    /// value is charged where it is an item.
    fn part<V, E: Error>(&self, read: impl FnOnce() -> Result<Option<V>, E>) -> Result<Option<V>, E> {
        let before = self.budget.taken();
        let part = read()?;
        let cost = if self.is_list { size_of::<V>().max(1) } else { 1 };
        match part.is_none() || self.budget.taken() > before || self.budget.spend(cost as u64) {
            true => Ok(part),
            false => Err(E::custom("too many parts without bytes")),
        }
    }
}

macro_rules! forward {
    ($is_list:literal: $($method:ident($($argument:ident: $type:ty),*)),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = Bounded { is_list: $is_list, ..self.with(visitor) };
            self.inner.$method($($argument,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Bounded<'_, D> {
    type Error = D::Error;

    forward! { true: deserialize_seq(), deserialize_map() }
    forward! {
        false:
        deserialize_any(), deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(), deserialize_i64(),
        deserialize_i128(), deserialize_u8(), deserialize_u16(), deserialize_u32(), deserialize_u64(), deserialize_u128(),
        deserialize_f32(), deserialize_f64(), deserialize_char(), deserialize_str(), deserialize_string(),
        deserialize_bytes(), deserialize_byte_buf(), deserialize_option(), deserialize_unit(),
        deserialize_unit_struct(name: &'static str), deserialize_newtype_struct(name: &'static str),
        deserialize_tuple(len: usize), deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
        deserialize_identifier(), deserialize_ignored_any(),
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bounded<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool, visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64, visit_i128: i128, visit_u8: u8,
        visit_u16: u16, visit_u32: u32, visit_u64: u64, visit_u128: u128, visit_f32: f32, visit_f64: f64, visit_char: char,
        visit_str: &str, visit_borrowed_str: &'de str, visit_string: String, visit_bytes: &[u8],
        visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let below = self.below(deserializer)?;
        self.inner.visit_some(below)
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let below = self.below(deserializer)?;
        self.inner.visit_newtype_struct(below)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let below = self.below(access)?;
        self.inner.visit_seq(below)
    }
    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let below = self.below(access)?;
        self.inner.visit_map(below)
    }
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let below = self.below(access)?;
        self.inner.visit_enum(below)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Bounded<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let (bound, seed) = (self.with(()), self.with(seed));
        bound.part(|| self.inner.next_element_seed(seed))
    }
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let (bound, seed) = (self.with(()), self.with(seed));
        bound.part(|| self.inner.next_key_seed(seed))
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.next_value_seed(seed)
    }
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'f, A: EnumAccess<'de>> EnumAccess<'de> for Bounded<'f, A> {
    type Error = A::Error;
    type Variant = Bounded<'f, A::Variant>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant), A::Error> {
        let (bound, seed) = (self.with(()), self.with(seed));
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, bound.with(inner)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        let seed = self.below(seed)?;
        self.inner.newtype_variant_seed(seed)
    }
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.below(visitor)?;
        self.inner.tuple_variant(len, visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.below(visitor)?;
        self.inner.struct_variant(fields, visitor)
    }
}
