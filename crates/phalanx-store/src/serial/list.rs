//! Lists: written with their length, read without trusting it.

use super::BELIEVED;
use crate::AllocError;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes an iterator as a list of `len` elements.
pub(super) struct Listed<I> {
    pub(super) items: I,
    pub(super) len: usize,
}

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Listed<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len))?;
        self.items.clone().try_for_each(|item| list.serialize_element(&item))?;
        list.end()
    }
}

/// Returns the number of elements of `T` to reserve for a declared length.
pub(super) fn believed<T>(declared: Option<usize>) -> usize {
    declared.unwrap_or(0).min(BELIEVED / size_of::<T>().max(1))
}

/// Reads a list of at most `most` elements.
///
/// The bound is not only about memory: an element that takes no bytes could otherwise be declared 2⁶⁴ times.
pub(super) struct List<E> {
    most: usize,
    refusal: &'static str,
    elements: PhantomData<fn() -> E>,
}

impl<E> List<E> {
    pub(super) fn at_most(most: usize, refusal: &'static str) -> List<E> {
        List { most, refusal, elements: PhantomData }
    }
}

impl<'de, E: Deserialize<'de>> DeserializeSeed<'de> for List<E> {
    type Value = Vec<E>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<E>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, E: Deserialize<'de>> Visitor<'de> for List<E> {
    type Value = Vec<E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<E>, A::Error> {
        let mut list = Vec::new();
        try_reserve(&mut list, believed::<E>(seq.size_hint()).min(self.most))?;
        while let Some(element) = seq.next_element()? {
            if list.len() >= self.most {
                return Err(A::Error::custom(self.refusal));
            }
            if list.len() == list.capacity() {
                try_reserve(&mut list, 1)?;
            }
            list.push(element);
        }
        Ok(list)
    }
}

/// Reserves capacity for `additional` more elements, at least doubling it.
fn try_reserve<T, E: Error>(list: &mut Vec<T>, additional: usize) -> Result<(), E> {
    list.try_reserve(additional).map_err(|_| {
        let bytes = (list.len() + additional).saturating_mul(size_of::<T>());
        E::custom(AllocError::OutOfMemory { bytes, align: align_of::<T>() })
    })
}
