//! [`Entity`] and [`Handle`]: their bits.

use crate::entity::checked_key;
use crate::{Entity, Handle, Key};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A key of either kind, serialised by its bits.
pub(super) struct Bits<K>(pub(super) K);

impl<K: Key> Serialize for Bits<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::from(self.0.generation()) << 32 | u64::from(self.0.index()))
    }
}

impl<'de, K: Key> Deserialize<'de> for Bits<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bits = u64::deserialize(deserializer)?;
        match checked_key(bits as u32, (bits >> 32) as u32) {
            Some(key) => Ok(Bits(key)),
            None => Err(D::Error::invalid_value(
                Unexpected::Unsigned(bits),
                &"the bits of a handle: a generation that is issued, above an index that is",
            )),
        }
    }
}

/// Serialises the number that [`to_bits`](Entity::to_bits) returns.
impl Serialize for Entity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Bits(*self).serialize(serializer)
    }
}

/// Deserialises the number that [`to_bits`](Entity::to_bits) returned. Bits that
/// [`from_bits`](Entity::from_bits) refuses are an error.
impl<'de> Deserialize<'de> for Entity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Bits::deserialize(deserializer).map(|bits| bits.0)
    }
}

/// Serialises the number that [`to_bits`](Handle::to_bits) returns.
impl<K: ?Sized> Serialize for Handle<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Bits(*self).serialize(serializer)
    }
}

/// Deserialises the number that [`to_bits`](Handle::to_bits) returned. Bits that
/// [`from_bits`](Handle::from_bits) refuses are an error.
impl<'de, K: ?Sized> Deserialize<'de> for Handle<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Bits::deserialize(deserializer).map(|bits| bits.0)
    }
}
