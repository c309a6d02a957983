//! [`SlotStore`]: the words of its slots, and the values.

use super::list::{List, Listed};
use super::record::record;
use super::words;
use crate::SlotStore;
use crate::generation::MAX_SLOTS;
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

record! {
    Form<T> as "SlotStore" {
        words: u32 = words::list(MAX_SLOTS),
        values: T = List::at_most(words::live(words.as_ref()), "more values than live slots"),
    }
}

/// Serialises `words`, one a slot, and `values`, in the order of their slots.
///
/// A word is twice the generation of a live handle. In a free slot it is twice the next one plus one, in a retired one
/// `u32::MAX`.
impl<T: Serialize, K: ?Sized> Serialize for SlotStore<T, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let used = self.used_words();
        let slots = used.iter().map(|word| words::written(*word));
        let mut form = serializer.serialize_struct("SlotStore", 2)?;
        form.serialize_field("words", &Listed { items: slots, len: used.len() })?;
        form.serialize_field("values", &Listed { items: self.values(), len: self.len() })?;
        form.end()
    }
}

/// Deserialises the same values under the same handles. Dead handles stay dead, and the next handles are the same.
///
/// A slot takes memory for a value, live or not. So a single byte of input may cost the value's size and 4.1 bytes.
///
/// # Errors
///
/// Returns an error if no slot can have one of the words, or there is not one value for each live slot.
impl<'de, T: Deserialize<'de>, K: ?Sized> Deserialize<'de> for SlotStore<T, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Form { words, values } = Form::deserialize(deserializer)?;
        SlotStore::try_restore(&words::read(words), values).map_err(D::Error::custom)
    }
}
