//! Whether what was read is a state that a world can be in: all that making a world of it relies on.

use super::array::Array;
use super::column::Column;
use super::error::DeltaError;
use super::image::{Image, SideImage, SideState};
use crate::alloc::try_vec;
use crate::component::ComponentId;
use crate::rows::NONE;
use crate::sparse::Removal;
use phalanx_store::{AllocError, Entity};

/// Set in the word of a dead slot, and in the mark of a hole.
const DEAD: u32 = 1 << 31;
/// Set in the word of a slot in which an extra row lives.
const ROW: u32 = 1 << 30;
/// The bits of a generation.
const GENERATION: u32 = (1 << 30) - 1;

fn damaged(what: &'static str) -> DeltaError {
    DeltaError::Damaged { what }
}

/// A set of slots, or of components.
struct Slots(Vec<u64>);

impl Slots {
    fn try_new(count: usize) -> Result<Slots, AllocError> {
        let mut words = try_vec(count.div_ceil(64))?;
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

/// The slots with a bit in the words of a linear store.
pub(super) fn bits(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().flat_map(|(at, byte)| {
        let at = at / 8 * 8 + if cfg!(target_endian = "little") { at % 8 } else { 7 - at % 8 };
        (0..8).filter(move |bit| byte & 1 << bit != 0).map(move |bit| at * 8 + bit)
    })
}

/// Counts the extra rows that have a value in a side, of which nothing is checked yet.
pub(super) fn count_rows(side: &mut SideImage, words: &Array) {
    let is_row = |word: u32| word & (DEAD | ROW) == ROW;
    match &mut side.state {
        SideState::Pool(state) => {
            let rows = entities(side.keys.bytes()).flatten().filter(|(_, generation)| is_row(*generation));
            state.extra_rows = rows.count() as u32;
        }
        SideState::Linear { rows } => {
            let word = |slot: &usize| {
                words
                    .bytes()
                    .get(slot * 4..slot * 4 + 4)
                    .is_some_and(|word| is_row(u32::from_ne_bytes([word[0], word[1], word[2], word[3]])))
            };
            *rows = bits(side.keys.bytes()).filter(word).count() as u32;
        }
    }
}

/// That a world can be made of a state.
pub(super) fn check(image: &Image, components: usize) -> Result<(), DeltaError> {
    let words: Vec<u32> = {
        let mut list = try_vec(image.words.rows() as usize)?;
        list.extend(image.words.words());
        list
    };
    let retired = u32::MAX;
    let known = |word: u32| {
        word & (DEAD | ROW) != DEAD | ROW && Entity::from_bits(u64::from(word & GENERATION) << 32).is_some()
    };
    if words.iter().any(|word| *word != retired && !known(*word)) {
        return Err(damaged("a slot with a generation that there is not"));
    }
    check_stack(image, &words)?;
    let alive = |at: usize, generation: u32| words.get(at) == Some(&generation) && generation & DEAD == 0;
    let (mut seen, mut rows) = (Slots::try_new(words.len())?, 0);
    // That no table and no store comes twice was seen when they were read.
    for table in &image.tables {
        let of_rows = table.signature.has(ComponentId::ROW);
        for slot in entities(table.slots.bytes()) {
            rows += 1;
            match slot {
                Some((index, generation))
                    if alive(index, generation) && (generation & ROW != 0) == of_rows && seen.add(index) => {}
                _ => return Err(damaged("a row of nobody, or of one that has another")),
            }
        }
    }
    check_rows(image, &words, components)?;
    if rows != words.iter().filter(|word| **word & DEAD == 0).count() {
        return Err(damaged("entities without a row"));
    }
    for side in &image.sparse {
        let SideState::Pool(state) = &side.state else {
            for slot in bits(side.keys.bytes()) {
                if words.get(slot).is_none_or(|word| word & DEAD != 0) {
                    return Err(damaged("a value of nobody"));
                }
            }
            continue;
        };
        let (mut seen, mut holes) = (Slots::try_new(words.len())?, 0);
        let len = side.keys.rows();
        for (at, key) in (0..).zip(entities(side.keys.bytes())) {
            match key {
                Some((index, generation)) if alive(index, generation) && seen.add(index) => {}
                Some((_, generation)) if generation & DEAD != 0 && at + 1 < len => holes += 1,
                _ => return Err(damaged("a value of nobody, or of one that has another")),
            }
        }
        if holes > 0 && state.removal != Removal::Deferred {
            return Err(damaged("holes where there are none"));
        }
    }
    Ok(())
}

/// An extra row, as its lanes have it.
struct Extra {
    slot: u32,
    owner: u32,
    prev: u32,
    next: u32,
}

/// That extra rows have owners, names of their own, and are linked in a list for each owner.
fn check_rows(image: &Image, words: &[u32], components: usize) -> Result<(), DeltaError> {
    let tables = || image.tables.iter().filter(|table| table.signature.has(ComponentId::ROW));
    let count = tables().map(|table| table.slots.rows() as usize).sum();
    let (mut rows, mut names) = (try_vec::<Extra>(count)?, try_vec(count)?);
    for table in tables() {
        // The reserved component is the first of all.
        let [owners, labels, links] = match &table.columns[0].column {
            Column::Plain(arrays) => [arrays[0].bytes(), arrays[1].bytes(), arrays[2].bytes()],
            Column::Cloned(_) => unreachable!("it is plain"),
        };
        let pairs = pairs(labels).zip(pairs(links));
        for ((slot, owner), (label, link)) in entities(table.slots.bytes()).zip(entities(owners)).zip(pairs) {
            let (Some((slot, _)), Some((owner, generation))) = (slot, owner) else {
                return Err(damaged("an extra row of nobody"));
            };
            if words.get(owner) != Some(&generation) || generation & (DEAD | ROW) != 0 {
                return Err(damaged("an extra row of nobody"));
            }
            if label == [0, 0] || label[0] as usize >= components {
                return Err(damaged("an extra row without a name"));
            }
            rows.push(Extra { slot: slot as u32, owner: owner as u32, prev: link[0], next: link[1] });
            names.push((owner as u32, label));
        }
    }
    names.sort_unstable();
    rows.sort_unstable_by_key(|row| row.slot);
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(damaged("two extra rows of one name"));
    }
    let find = |slot: u32| Some(&rows[rows.binary_search_by_key(&slot, |row| row.slot).ok()?]);
    let (mut owners, mut linked) = (Slots::try_new(words.len())?, 0);
    for first in &rows {
        let Some(last) = find(first.prev) else { return Err(damaged("extra rows that are not linked")) };
        if last.next != NONE {
            continue;
        }
        let mut at = first;
        let mut is_list = owners.add(first.owner as usize);
        linked += 1;
        // Each row is the next of one only, and no list comes back to its first: so it ends.
        while is_list && at.next != NONE {
            match find(at.next) {
                Some(next) if next.prev == at.slot && next.owner == at.owner => at = next,
                _ => is_list = false,
            }
            linked += 1;
        }
        if !is_list || at.slot != last.slot {
            return Err(damaged("extra rows that are not linked"));
        }
    }
    match linked == rows.len() {
        true => Ok(()),
        false => Err(damaged("extra rows that are not linked")),
    }
}

/// Numbers two by two.
fn pairs(bytes: &[u8]) -> impl Iterator<Item = [u32; 2]> {
    let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.chunks_exact(8).map(move |bytes| [word(bytes), word(&bytes[4..])])
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
