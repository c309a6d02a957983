//! The generation word of a slot, and the limits of indices and generations.
//!
//! A slot's word is its generation, with [`DEAD`] set while nothing lives there. A handle has a generation without that
//! bit. So *alive and of this generation* is one comparison of words, and no handle, forged or not, equals a dead word.
//! Releasing a slot raises the generation. A slot that has used all of them is retired: it stays dead, so that no handle
//! is issued twice.
//!
//! Bit 30, [`ROW`], is set in a live slot that a layer above uses as a further row of an entity. It is not part of the
//! generation: a word is freed without it.

/// Set in a slot's word while the slot is dead.
pub(crate) const DEAD: u32 = 1 << 31;

/// Set in a slot's word while a row lives there that is not an entity.
pub(crate) const ROW: u32 = 1 << 30;

/// The number of bits that count generations.
#[cfg(not(any(phalanx_narrow, loom)))]
pub(crate) const GENERATION_BITS: u32 = 30;
/// The number of bits that count generations, in the builds whose limits tests can reach.
#[cfg(any(phalanx_narrow, loom))]
pub(crate) const GENERATION_BITS: u32 = 8;

/// The last generation of a slot.
pub(crate) const MAX_GENERATION: u32 = (1 << GENERATION_BITS) - 1;

/// The largest number of slots. Indices are below it, and `u32::MAX` is never one.
#[cfg(not(any(phalanx_narrow, loom)))]
pub(crate) const MAX_SLOTS: u32 = u32::MAX;
/// The largest number of slots, in the builds whose limits tests can reach.
#[cfg(any(phalanx_narrow, loom))]
pub(crate) const MAX_SLOTS: u32 = 1 << 10;

/// Returns `true` if there can be `slots` slots.
#[inline(always)]
#[allow(clippy::absurd_extreme_comparisons)] // Not absurd in the narrow builds.
pub(crate) const fn countable(slots: u32) -> bool {
    slots <= MAX_SLOTS
}

/// Returns `slots`, or the largest number of slots if that is smaller.
#[inline(always)]
pub(crate) const fn at_most_countable(slots: u32) -> u32 {
    if countable(slots) { slots } else { MAX_SLOTS }
}

/// The word of a slot that has used all its generations.
pub(crate) const RETIRED: u32 = u32::MAX;

/// Returns the word of a slot after its occupant of `generation` was released: dead, with the next generation, or retired.
#[inline(always)]
pub(crate) const fn released(generation: u32) -> u32 {
    debug_assert!(generation <= MAX_GENERATION);
    if generation == MAX_GENERATION { RETIRED } else { DEAD | (generation + 1) }
}

/// Returns the generation in a word: of the occupant, or of the next one if the slot is dead.
#[inline(always)]
pub(crate) const fn generation(word: u32) -> u32 {
    word & !DEAD
}

/// Returns `true` if nothing lives in a slot with this word.
#[inline(always)]
pub(crate) const fn is_dead(word: u32) -> bool {
    word & DEAD != 0
}

/// Returns `true` if an entity, not a row, lives in a slot with this word.
#[inline(always)]
pub(crate) const fn is_entity(word: u32) -> bool {
    word & (DEAD | ROW) == 0
}

const _: () = {
    assert!(generation(released(0)) == 1 && is_dead(released(0)));
    assert!(is_dead(released(MAX_GENERATION - 1)) && released(MAX_GENERATION - 1) != RETIRED);
    assert!(is_dead(RETIRED) && released(MAX_GENERATION) == RETIRED);
    assert!(MAX_GENERATION < ROW && !is_entity(ROW) && !is_entity(RETIRED) && is_entity(MAX_GENERATION));
};
