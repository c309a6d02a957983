//! Whether what was read is a state that a world can be in: all that making a world of it relies on.

use super::error::DeltaError;
use super::image::{Image, SideState};
use crate::component::ComponentId;
use crate::room::try_list;
use crate::side::Removal;
use phalanx_store::AllocError;

/// Set in the word of a dead slot, and in the mark of a hole.
const DEAD: u32 = 1 << 31;
/// The bits of a generation.
const GENERATION: u32 = (1 << 30) - 1;

fn damaged(what: &'static str) -> DeltaError {
    DeltaError::Damaged { what }
}

/// A set of slots.
struct Slots(Vec<u64>);

impl Slots {
    fn try_new(count: usize) -> Result<Slots, AllocError> {
        let mut words = try_list(count.div_ceil(64))?;
        words.resize(count.div_ceil(64), 0);
        Ok(Slots(words))
    }

    /// Whether a slot, which is one of them, was not there.
    fn add(&mut self, slot: usize) -> bool {
        let (word, bit) = (&mut self.0[slot / 64], 1 << (slot % 64));
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }
}

/// The index and the generation of each entity in an array, if they can be one.
fn entities(bytes: &[u8]) -> impl Iterator<Item = Option<(usize, u32)>> {
    let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    // The position, which is the index plus one, comes first.
    bytes.chunks_exact(8).map(move |bytes| Some(((word(bytes).checked_sub(1)?) as usize, word(&bytes[4..]))))
}

/// That a world can be made of a state.
pub(super) fn check(image: &Image) -> Result<(), DeltaError> {
    let words: Vec<u32> = {
        let mut list = try_list(image.words.rows() as usize)?;
        list.extend(image.words.words());
        list
    };
    let retired = u32::MAX;
    if words.iter().any(|word| *word != retired && word & !(DEAD | GENERATION) != 0) {
        return Err(damaged("a slot with a generation that there is not, or of an extra row"));
    }
    check_stack(image, &words)?;
    let alive = |at: usize, generation: u32| words.get(at) == Some(&generation) && generation & DEAD == 0;
    let (mut seen, mut rows) = (Slots::try_new(words.len())?, 0);
    for (at, table) in image.tables.iter().enumerate() {
        if table.signature.has(ComponentId::ROW) && table.slots.rows() > 0 {
            return Err(damaged("extra rows"));
        }
        let twice = image.tables[..at].iter().any(|other| other.signature == table.signature);
        if twice || table.signature.is_empty() != (at == 0) {
            return Err(damaged("two tables of one signature, or no first one"));
        }
        for slot in entities(table.slots.bytes()) {
            rows += 1;
            match slot {
                Some((index, generation)) if alive(index, generation) && seen.add(index) => {}
                _ => return Err(damaged("a row of nobody, or of one that has another")),
            }
        }
    }
    if image.tables.is_empty() || rows != words.iter().filter(|word| **word & DEAD == 0).count() {
        return Err(damaged("entities without a row"));
    }
    for (at, side) in image.sides.iter().enumerate() {
        if image.sides[..at].iter().any(|other| other.id == side.id) {
            return Err(damaged("two stores of one component"));
        }
        let SideState::Pool(state) = &side.state else {
            let bits = side.keys.bytes().iter().enumerate().flat_map(|(at, byte)| {
                let at = at / 8 * 8 + if cfg!(target_endian = "little") { at % 8 } else { 7 - at % 8 };
                (0..8).filter(move |bit| byte & 1 << bit != 0).map(move |bit| at * 8 + bit)
            });
            for slot in bits {
                if words.get(slot).is_none_or(|word| word & DEAD != 0) {
                    return Err(damaged("a value of nobody"));
                }
            }
            continue;
        };
        let (mut seen, mut holes, mut first_hole) = (Slots::try_new(words.len())?, 0, None);
        let (gap, low) = &state.compaction;
        let len = side.keys.rows();
        for (at, key) in (0..).zip(entities(side.keys.bytes())) {
            match key {
                Some((index, generation)) if alive(index, generation) && seen.add(index) => {
                    if gap.contains(&at) {
                        return Err(damaged("a gap that is none"));
                    }
                }
                Some((_, generation)) if generation & DEAD != 0 && at + 1 < len => {
                    (holes, first_hole) = (holes + 1, first_hole.or(Some(at)));
                }
                _ => return Err(damaged("a value of nobody, or of one that has another")),
            }
        }
        let fits =
            gap.start <= gap.end && gap.end <= len && first_hole.is_none_or(|first| *low <= first) && *low <= len;
        if !fits || holes > 0 && state.removal != Removal::Deferred {
            return Err(damaged("holes where there are none"));
        }
    }
    Ok(())
}

/// That every free slot is on the stack once.
fn check_stack(image: &Image, words: &[u32]) -> Result<(), DeltaError> {
    let is_free = |word: &u32| word & DEAD != 0 && *word != u32::MAX;
    let mut seen = Slots::try_new(words.len())?;
    for slot in image.stack.words() {
        if !words.get(slot as usize).is_some_and(is_free) || !seen.add(slot as usize) {
            return Err(damaged("a free slot that is no slot, not free, or free twice"));
        }
    }
    match words.iter().filter(|word| is_free(word)).count() == image.stack.rows() as usize {
        true => Ok(()),
        false => Err(damaged("a dead slot that is neither free nor retired")),
    }
}
