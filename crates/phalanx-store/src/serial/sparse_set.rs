//! [`SparseSet`]: keys and values, in order.

use super::key::Bits;
use super::list::{Listed, believed};
use crate::restore::Refused;
use crate::{Key, SparseSet};
use core::fmt;
use core::marker::PhantomData;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serialises a list of pairs of a key's bits and its value, in order. Holes are left out.
impl<K: Key, T: Serialize> Serialize for SparseSet<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Listed { items: self.iter().map(|(key, value)| (Bits(key), value)), len: self.len() }.serialize(serializer)
    }
}

/// Deserialises the same values under the same keys in the same order.
///
/// A key far from all others costs pages of the index: up to 40 KiB for a pair of six bytes, and 16 KiB once. If the
/// pairs reach every page, that is 32 GiB in all.
///
/// # Errors
///
/// Returns an error if a key is never issued, or two keys have the same index.
impl<'de, K: Key, T: Deserialize<'de>> Deserialize<'de> for SparseSet<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Pairs(PhantomData))
    }
}

struct Pairs<K, T>(PhantomData<fn() -> (K, T)>);

impl<'de, K: Key, T: Deserialize<'de>> Visitor<'de> for Pairs<K, T> {
    type Value = SparseSet<K, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pairs of a key and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut set = SparseSet::new();
        set.try_reserve(believed::<(K, T)>(seq.size_hint())).map_err(A::Error::custom)?;
        while let Some((Bits(key), value)) = seq.next_element::<(Bits<K>, T)>()? {
            add(&mut set, key, value).map_err(A::Error::custom)?;
        }
        Ok(set)
    }
}

/// Inserts the value of a key whose index has none.
fn add<K: Key, T>(set: &mut SparseSet<K, T>, key: K, value: T) -> Result<(), Refused> {
    if !set.core.index.entry(key.index()).is_vacant() {
        return Err(Refused::Slot { slot: key.index(), what: "comes twice" });
    }
    set.try_insert(key, value).map_err(|rejected| rejected.reason)?;
    Ok(())
}
