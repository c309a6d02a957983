//! Worlds as bytes, and back: snapshots. Behind the feature `snapshot`.
//!
//! A [`Registry`] lists the components and resources to save, their names, and how they are encoded. [`Registry::save`] writes
//! a world and [`Registry::load`] reads it. The loaded world has the same entities with the same generations, spawns the
//! same handles next, and every query has the same order. Equal worlds have equal bytes. `docs/snapshot-format.md` describes
//! the format byte by byte.
//!
//! # Change detection
//!
//! The change ticks of [tracked](crate::change_detection) components are saved. After a load, [`Added`](crate::Added) and
//! [`Changed`](crate::Changed) match the same values as before. A query state that was created for the saved world starts
//! over. Merged values ([`Registry::merge`]) count as added now, like those of [`EntityMut::transfer`](crate::EntityMut::transfer). So
//! do values that are read in [readable form](Registry::serialize), which has no ticks. [`Registry::checksum`] and [`diff`]
//! compare values only; change ticks do not affect them.
//!
//! # Untrusted input
//!
//! A snapshot may come from an untrusted source. Input that does not describe a valid world is rejected with an error that
//! says what is wrong and where. Loading does not panic, and existing worlds stay unchanged. A declared count reserves no
//! memory: lists and columns grow with the bytes that were read, to at most twice their size. Slots, pages and linear
//! storages then cost what they cost in any world. A [`Budget`] bounds the parts of values that take no bytes. A user-defined
//! codec may decode values of any size.
//!
//! # Memory
//!
//! Columns are written from where they are stored, and read into their final location. Beside the world, saving and loading
//! need:
//!
//! - a frame of 64 KiB;
//! - a block of encoded values: 16 KiB, or one value if that is larger;
//! - 4 bytes for each value of one sparse set, and a bit for each slot of one linear storage;
//! - 16 bytes for each extra row while the keys of extra rows are written;
//! - 4 bytes for each slot while the slots are read;
//! - a copy of the entity allocator, if a part of the world is saved or entities are reserved.
//!
//! [`Registry::merge`] holds a whole loaded world before it is moved.
//!
//! A failed allocation is an error, and the world is unchanged, in [`save`](Registry::save),
//! [`save_part`](Registry::save_part), [`checksum`](Registry::checksum), [`load`](Registry::load),
//! [`merge`](Registry::merge), [`insert_value`](Registry::insert_value), [`inspect`], [`diff`] and [`diff_all`]. This does not cover code outside this library:
//!
//! - the codec or `Deserialize` of a value (that of `Vec` and `String` aborts), the writer and the reader;
//! - file names and file buffers in [`save_to`](Registry::save_to) and [`load_from`](Registry::load_from);
//! - the texts of fields in [`diff_all`];
//! - serde formats in [`serialize`](Registry::serialize), [`deserialize`](Registry::deserialize) and
//!   [`insert_value`](Registry::insert_value), and the boxes in which large values are read there.

mod bounded;
mod budget;
mod codec;
mod coded;
mod column;
mod column_builder;
mod column_rows;
mod continuous_loader;
mod declared_count;
mod diff;
mod dynamic;
mod error;
mod field_difference;
mod format;
mod inspect;
mod load;
mod loader;
mod migration;
mod part;
mod readable;
mod reader;
mod registry;
mod restore;
mod save;
mod saver;
mod ticks;
mod value;
mod world_seed;
mod writer;

pub use crate::checksum::checksum;
#[doc(no_inline)]
pub use crate::layout::{PlainLayout, PlainShape};
pub use budget::Budget;
pub use codec::{Codec, Serde};
pub use continuous_loader::{ContinuousLoader, LoadSummary};
pub use diff::{Difference, diff, diff_all};
pub use dynamic::{RawCodec, RegisteredDynamic};
pub use error::{CodecError, LONGEST_NAME, LoadError, Name, Problem, RegistryError, SaveError};
pub use field_difference::{Differences, FieldDifference, FoundDifference};
pub use inspect::{ComponentSummary, Inspection, TableSummary, inspect};
pub use part::Part;
pub use registry::{Registered, RegisteredResource, Registry};
pub use save::Report;
pub use value::{ReadableValue, ValueError};
pub use world_seed::WorldSeed;

/// Returns `true` if the bit at `index` is set.
fn has_bit(bits: &[u64], index: u32) -> bool {
    bits.get(index as usize / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
}
