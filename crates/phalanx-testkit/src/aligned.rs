//! Counted values with unusual layouts: zero-sized and over-aligned.

use core::cell::Cell;
use core::mem;

use crate::{Counted, Tally};

/// Alignment 1, for [`Zst`] and [`Aligned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Align1;

/// Alignment 64, for [`Zst`] and [`Aligned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(align(64))]
pub struct Align64;

/// Alignment 4096, for [`Zst`] and [`Aligned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(align(4096))]
pub struct Align4096;

const _: () = assert!(mem::size_of::<Zst<Align1>>() == 0 && mem::align_of::<Zst<Align1>>() == 1);
const _: () = assert!(mem::size_of::<Zst<Align4096>>() == 0 && mem::align_of::<Zst<Align4096>>() == 4096);
const _: () = assert!(mem::size_of::<Aligned<Align64>>() == 64 && mem::align_of::<Aligned<Align64>>() == 64);
const _: () = assert!(mem::align_of::<Aligned<Align4096>>() == 4096);

/// Whether the compiler's promise holds, asked in a way that it does not fold away.
fn stands_aligned<T>(value: &T) -> bool {
    core::hint::black_box(core::ptr::from_ref(value).addr()).is_multiple_of(mem::align_of::<T>())
}

/// A [`Counted`] value aligned like `A`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aligned<A> {
    value: Counted,
    align: [A; 0],
}

impl<A> Aligned<A> {
    /// Creates a value of the tally. Its alignment is checked when it is read and when it is
    /// dropped ([`Tally::assert_sound`]).
    pub fn new(tally: &Tally, key: u32) -> Self {
        Self { value: tally.value(key), align: [] }
    }

    /// Returns the key of the value.
    ///
    /// # Panics
    /// Panics if the value was dropped or is misaligned.
    pub fn key(&self) -> u32 {
        assert!(stands_aligned(self), "value stands misaligned");
        self.value.key()
    }
}

impl<A> Drop for Aligned<A> {
    fn drop(&mut self) {
        if !stands_aligned(self) {
            self.value.note_misaligned();
        }
    }
}

/// How many zero-sized values a thread made and dropped during [`measure_zst`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZstUsage {
    /// Values made, clones included.
    pub made: u64,
    /// Drops. More than `made` means that a value was dropped twice.
    pub dropped: u64,
    /// Values that were read or dropped at a misaligned address.
    pub misaligned: u64,
}

thread_local! {
    static ZST: Cell<ZstUsage> = const { Cell::new(ZstUsage { made: 0, dropped: 0, misaligned: 0 }) };
}

fn note(change: impl FnOnce(&mut ZstUsage)) {
    let mut usage = ZST.get();
    change(&mut usage);
    ZST.set(usage);
}

/// A zero-sized value aligned like `A`, counted per thread, because it has no bytes for its owner.
#[derive(Debug)]
pub struct Zst<A>([A; 0]);

impl<A> Zst<A> {
    /// Creates a value and counts it.
    #[expect(clippy::new_without_default, reason = "making one is counted, so it is always asked for")]
    pub fn new() -> Self {
        note(|usage| usage.made += 1);
        Self([])
    }

    /// Reads the value, and counts it if it is misaligned.
    pub fn touch(&self) {
        if !stands_aligned(self) {
            note(|usage| usage.misaligned += 1);
        }
    }
}

impl<A> Clone for Zst<A> {
    fn clone(&self) -> Self {
        self.touch();
        Self::new()
    }
}

impl<A> Drop for Zst<A> {
    fn drop(&mut self) {
        self.touch();
        note(|usage| usage.dropped += 1);
    }
}

/// Runs `f` and returns what happened to the zero-sized values of this thread.
///
/// ```
/// use phalanx_testkit::{Align4096, Zst, measure_zst};
///
/// let (_, usage) = measure_zst(|| drop(vec![Zst::<Align4096>::new(), Zst::new()]));
/// assert_eq!((usage.made, usage.dropped, usage.misaligned), (2, 2, 0));
/// ```
pub fn measure_zst<R>(f: impl FnOnce() -> R) -> (R, ZstUsage) {
    let before = ZST.get();
    let result = f();
    let after = ZST.get();
    let usage = ZstUsage {
        made: after.made - before.made,
        dropped: after.dropped - before.dropped,
        misaligned: after.misaligned - before.misaligned,
    };
    (result, usage)
}
