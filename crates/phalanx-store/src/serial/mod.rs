//! The feature `serde`: containers and handles as data, and back.
//!
//! # Forms
//!
//! Each is a struct of lists, or a list; formats without field names see the fields in this order.
//!
//! | | form |
//! |---|---|
//! | `Entity`, `Handle` | the number that `to_bits` gives |
//! | `EntityPool` | `words`: one a slot; `free`: the free slots, the next to be used first |
//! | `PackedStore` | `words`; `order`: every slot once, live ones in order, then free ones, then retired ones; `values` |
//! | `SlotStore` | `words`; `values` in the order of their slots |
//! | `SparseSet` | a list of pairs of a key's bits and its value, in order |
//! | `LinearStore` | `present`: 64 indices to a number, the lowest in the lowest bit; `generations` and `values` of those that are present |
//!
//! A *word* is twice the generation in a live slot, so usually a small number. It is twice the next generation plus one in
//! a free slot, and `u32::MAX` in a retired one.
//!
//! # What loading promises
//!
//! The saved state is restored whole: the same values under the same handles in the same order, dead handles dead, and
//! the same handles to come. Saving it again gives the same bytes.
//!
//! Data that no container can have saved is refused with a sentence that says why. What was loaded so far is dropped.
//! Nothing panics, and a failed allocation is an error too. A length that the input only declares reserves at most
//! [`BELIEVED`] bytes; the rest grows with the data that was read. A stored slot, page or presence word then costs what
//! it costs in the container. Each impl names its factor.

mod key;
mod linear;
mod list;
mod packed;
mod pool;
mod record;
mod slot;
mod sparse_set;
mod words;

/// The number of bytes reserved for a list because of its declared length alone.
const BELIEVED: usize = 4096;
