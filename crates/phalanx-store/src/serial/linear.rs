//! [`LinearStore`]: which indices are present, and the generations and values of those.

use super::list::{List, Listed};
use super::record::record;
use crate::entity::checked_key;
use crate::generation::MAX_SLOTS;
use crate::restore::{Refused, counted};
use crate::{Key, LinearStore};
use alloc::vec::Vec;
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Returns the number of bits set in these words, or the largest number if they are not known yet.
fn set(present: Option<&Vec<u64>>) -> usize {
    present.map_or(MAX_SLOTS as usize, |words| words.iter().map(|word| word.count_ones() as usize).sum())
}

record! {
    Form<T> as "LinearStore" {
        present: u64 = List::at_most(MAX_SLOTS.div_ceil(64) as usize, "more indices than there can be"),
        generations: u32 = List::at_most(set(present.as_ref()), "more generations than present indices"),
        values: T = List::at_most(set(present.as_ref()), "more values than present indices"),
    }
}

/// Serialises `present`, `generations` and `values`.
///
/// `present` has 64 indices to a number, the lowest in the lowest bit, up to the highest index that has a value. The other
/// two list the present indices. Slots above the highest value are not saved, so saving has the effect of
/// [`shrink_to_fit`](LinearStore::shrink_to_fit).
impl<K: Key, T: Serialize> Serialize for LinearStore<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let present = self.presence();
        let used = present.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        let mut form = serializer.serialize_struct("LinearStore", 3)?;
        form.serialize_field("present", &present[..used])?;
        form.serialize_field("generations", &Listed { items: self.keys().map(Key::generation), len: self.len() })?;
        form.serialize_field("values", &Listed { items: self.values(), len: self.len() })?;
        form.end()
    }
}

/// Deserialises the same values under the same keys.
///
/// An index takes memory for a value, present or not, and 64 absent ones may be a single byte of input. So loading
/// allocates at most 64 times the value's size and 4 bytes for each word of `present`.
///
/// # Errors
///
/// Returns an error if the last word of `present` is zero, or a generation is never issued. `generations` and `values` must
/// have an element for each present index.
impl<'de, K: Key, T: Deserialize<'de>> Deserialize<'de> for LinearStore<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Form::deserialize(deserializer).and_then(|form| restore(form).map_err(D::Error::custom))
    }
}

fn restore<K: Key, T>(form: Form<T>) -> Result<LinearStore<K, T>, Refused> {
    let Form { present, generations, values } = form;
    let slots = match present.last() {
        None => 0,
        Some(0) => return Err(Refused::Whole("present ends with a word that has no bit set")),
        Some(last) => present.len() as u64 * 64 - u64::from(last.leading_zeros()),
    };
    let slots = u32::try_from(slots).ok().filter(|slots| crate::generation::countable(*slots));
    let slots = slots.ok_or(Refused::Whole("more indices than there can be"))?;
    counted("generations of present indices", generations.len(), set(Some(&present)))?;
    counted("values of present indices", values.len(), generations.len())?;
    let mut store = LinearStore::new();
    store.try_reserve(slots as usize)?;
    let bits = present
        .iter()
        .enumerate()
        .flat_map(|(at, word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at as u32 * 64 + bit));
    for ((index, generation), value) in bits.zip(generations).zip(values) {
        let Some(key) = checked_key(index, generation) else {
            return Err(Refused::Slot { slot: index, what: "has a generation that is never issued" });
        };
        store.try_insert(key, value).map_err(|rejected| rejected.reason)?;
    }
    Ok(store)
}
