//! [`EntityPool`]: the words of its slots, and its free list.

use super::list::{List, Listed};
use super::record::record;
use super::words;
use crate::EntityPool;
use crate::generation::MAX_SLOTS;
use serde::de::Error as _;
use serde::ser::{Error as _, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

record! {
    Form as "EntityPool" {
        words: u32 = words::list(MAX_SLOTS),
        free: u32 = List::at_most(MAX_SLOTS as usize, "more free slots than there can be slots"),
    }
}

/// Serialises `words`, one a slot, and `free`: the free slots, the next to be used first.
///
/// A word is twice the generation of a live entity. In a free slot it is twice the next one plus one, in a retired one
/// `u32::MAX`.
///
/// Reservations are saved as if they had been [flushed](EntityPool::flush), so reserved entities are alive after loading.
///
/// # Errors
///
/// Returns an error if there are [rows](EntityPool::alloc_row), which only the layer above can save.
impl Serialize for EntityPool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.row_count() > 0 {
            return Err(S::Error::custom("a pool with rows can only be saved by the layer that made them"));
        }
        let flushed;
        let pool = match self.reserved_count() {
            0 => self,
            _ => {
                flushed = self.try_flushed().map_err(S::Error::custom)?;
                &flushed
            }
        };
        let (slots, free) = (pool.each_word().map(words::written), pool.free_list().iter().rev());
        let mut form = serializer.serialize_struct("EntityPool", 2)?;
        form.serialize_field("words", &Listed { items: slots, len: pool.slot_count() })?;
        form.serialize_field("free", &Listed { items: free, len: pool.free_list().len() })?;
        form.end()
    }
}

/// Deserialises the same entities, alive or dead, with the same ones to come. Loading allocates 8 bytes a slot.
///
/// # Errors
///
/// Returns an error if a word is one that no slot can have, or `free` does not list every free slot once.
impl<'de> Deserialize<'de> for EntityPool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Form { words, free } = Form::deserialize(deserializer)?;
        EntityPool::try_restore(&words::read(words), &free).map_err(D::Error::custom)
    }
}
