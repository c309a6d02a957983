//! Serialises an array as the sequence of its rows, like a `Vec` of them.
//!
//! A row goes through its own `Serialize` and `Deserialize`, so its serde attributes (names, defaults, checks) apply here
//! too. An array can be read back as a `Vec` and the other way round. To be serialised, a row is made of clones of its
//! fields.

use super::array::Soa;
use super::row::SoaRow;
use super::shape::{CloneLanes, Shape};
use core::fmt;
use core::marker::PhantomData;
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// The largest number of bytes reserved for a declared length. Beyond it the array grows as rows are read.
const TRUSTED_BYTES: usize = 64 * 1024;

impl<T: SoaRow + Serialize> Serialize for Soa<T>
where
    T::Shape: CloneLanes,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.len()))?;
        for index in 0..self.len() {
            match self.get_cloned(index) {
                Some(row) => rows.serialize_element(&row)?,
                None => break,
            }
        }
        rows.end()
    }
}

impl<'de, T: SoaRow + Deserialize<'de>> Deserialize<'de> for Soa<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Rows(PhantomData))
    }
}

/// The largest number of zero-sized rows that are loaded.
const MOST_WITHOUT_BYTES: usize = 1 << 20;

struct Rows<T>(PhantomData<T>);

impl<'de, T: SoaRow + Deserialize<'de>> Visitor<'de> for Rows<T> {
    type Value = Soa<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a sequence of {}", T::NAME)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Soa<T>, A::Error> {
        let trusted = TRUSTED_BYTES / T::Shape::ROW.max(1);
        let hint = rows.size_hint().unwrap_or(0).min(trusted);
        let mut soa = Soa::try_with_capacity(hint).map_err(A::Error::custom)?;
        while let Some(row) = rows.next_element()? {
            // Zero-sized rows may cost no input either, so a few bytes could declare practically endless ones.
            if T::Shape::ROW == 0 && soa.len() >= MOST_WITHOUT_BYTES {
                return Err(A::Error::custom("more rows without data than are believed"));
            }
            soa.try_push(row).map_err(A::Error::custom)?;
        }
        Ok(soa)
    }
}
