//! [`PackedStore`]: the words of its slots, their order, and the values.

use super::list::{List, Listed};
use super::record::record;
use super::words;
use crate::PackedStore;
use crate::index::Slots;
use crate::raw::DenseIndex;
use serde::de::Error as _;
use serde::ser::{Error as _, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const MOST: u32 = <Slots<()> as DenseIndex>::MAX;

record! {
    Form<T> as "PackedStore" {
        words: u32 = words::list(MOST),
        order: u32 = List::at_most(MOST as usize, "a longer order than there can be slots"),
        values: T = List::at_most(words::live(words.as_ref()), "more values than live slots"),
    }
}

/// Serialises `words`, `order` and `values`.
///
/// `words` has one word a slot: twice the generation of a live handle, twice the next one plus one in a free slot, and
/// `u32::MAX` in a retired one. `order` lists every slot once: live ones in the order of their values, then free ones,
/// the next to be used first, then retired ones.
///
/// A store with holes is saved as [`compact`](PackedStore::compact) would leave it. Its handles and their order are the
/// same; the next handles are those of the compacted store.
///
/// ```
/// use phalanx_store::PackedStore;
///
/// let mut meshes = PackedStore::new();
/// let [cube, ball] = ["cube", "ball"].map(|name| meshes.insert(name));
/// meshes.remove(cube);
/// let saved = serde_json::to_string(&meshes)?;
/// assert_eq!(saved, r#"{"words":[3,0],"order":[1,0],"values":["ball"]}"#);
///
/// let mut loaded: PackedStore<&str> = serde_json::from_str(&saved)?;
/// assert_eq!(loaded[ball], "ball");
/// assert!(!loaded.contains(cube));
/// assert_eq!(loaded.insert("cone"), meshes.insert("cone"));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<T: Serialize, K: ?Sized> Serialize for PackedStore<T, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = &self.core.index;
        let used = index.used() as usize;
        let slots = index.slots()[..used].iter().map(|slot| words::written(slot.word));
        let mut form = serializer.serialize_struct("PackedStore", 3)?;
        form.serialize_field("words", &Listed { items: slots, len: used })?;
        match self.holes() {
            0 => form.serialize_field("order", &Listed { items: self.order(), len: used })?,
            _ => {
                let compacted = self.try_compacted_slots().map_err(S::Error::custom)?;
                form.serialize_field("order", &Listed { items: compacted.order(), len: used })?;
            }
        }
        form.serialize_field("values", &Listed { items: self.values(), len: self.len() })?;
        form.end()
    }
}

/// Deserialises the same values under the same handles in the same order.
///
/// Dead handles stay dead, and the next handles are the same. Loading allocates 12 bytes a slot beside the values.
///
/// # Errors
///
/// Returns an error if no slot can have one of the words, or there is not one value for each live slot. `order` must be a
/// permutation of the slots: live ones, free ones, retired ones.
impl<'de, T: Deserialize<'de>, K: ?Sized> Deserialize<'de> for PackedStore<T, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Form { words, order, values } = Form::deserialize(deserializer)?;
        PackedStore::try_restore(&words::read(words), &order, values).map_err(D::Error::custom)
    }
}
