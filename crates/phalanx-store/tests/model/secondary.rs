//! The stores that are keyed from elsewhere: stale keys, takeovers, and indices far apart.

use super::dense::{self, Cells};
use super::item::Item;
use super::op::{Kind, Op, Subject};
use super::primary::Own;
use super::shared::{Order, check_indices, shared};
use phalanx_store::{Entity, Entry, Handle, Key, LinearStore, Rejection, SecondaryStore, SparseSet, StaleKey};
use phalanx_testkit::Tally;
use std::collections::BTreeMap;

/// A key from its two numbers.
pub trait Make: Key {
    fn make(index: u32, generation: u32) -> Self;
}

impl Make for Entity {
    fn make(index: u32, generation: u32) -> Self {
        Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).expect("an index and a generation")
    }
}

impl Make for Handle<Own> {
    fn make(index: u32, generation: u32) -> Self {
        Handle::from_bits(u64::from(generation) << 32 | u64::from(index)).expect("an index and a generation")
    }
}

/// The edges of words, pages, branches and of all indices.
const EDGES: [u32; 20] = [
    0,
    1,
    63,
    64,
    127,
    128,
    1023,
    1024,
    4095,
    4096,
    8191,
    8192,
    100_000,
    (1 << 21) - 1,
    1 << 21,
    (1 << 21) + 1,
    1 << 30,
    u32::MAX - 4096,
    u32::MAX - 2,
    u32::MAX - 1,
];

/// A key that the flavour's palette has for this number.
fn key<K: Make>(flavour: u64, pick: u32, highest: u32) -> K {
    let edges = EDGES.iter().filter(|edge| **edge <= highest).count();
    let at_edge = |pick: u32| EDGES[pick as usize % edges];
    let index = match flavour % 4 {
        0 => pick % 20,
        1 => at_edge(pick / 8),
        2 => [pick % 300, at_edge(pick / 8)][usize::from(pick.is_multiple_of(5))],
        // A cluster that is not at the start.
        _ => [4000 + pick % 200, at_edge(pick / 8)][usize::from(pick.is_multiple_of(7))],
    };
    K::make(index, pick >> 28 & 3)
}

/// What inserting must come to: the value that is displaced, or the generation that is in the way.
fn admission<K: Key>(model: &impl Order<K>, key: K) -> Result<Option<(K, u32)>, StaleKey> {
    match model.live().into_iter().find(|(k, _)| k.index() == key.index()) {
        Some((present, _)) if present.generation() > key.generation() => {
            let (index, generation, present) = (key.index(), key.generation(), present.generation());
            Err(StaleKey { index, generation, present })
        }
        found => Ok(found),
    }
}

/// Does the operations of keyed stores, on any of them.
fn apply_secondary<K: Make, I: Item, S: SecondaryStore<Key = K, Value = I>>(
    store: &mut S,
    model: &mut impl Keys<K>,
    op: Op,
    key: K,
    tally: &Tally,
    entry: impl for<'a> FnOnce(&'a mut S, K) -> Result<Entry<'a, S>, StaleKey>,
) {
    let (n, seen) = (op.n, I::seen(op.n));
    let expected = admission(model, key);
    assert_eq!(store.admits(key), expected.map(drop));
    match op.kind {
        Kind::Entry => {
            let entry = match (entry(store, key), expected) {
                (Ok(entry), Ok(_)) => entry,
                (found, expected) => return assert_eq!(found.map(drop), expected.map(drop)),
            };
            assert_eq!(entry.key(), key);
            let own = model.find(key);
            match (op.pick % 8, entry) {
                (0, entry) => assert_eq!(entry.or_insert(I::make(tally, n)).n(), own.unwrap_or(seen)),
                (1, entry) => assert_eq!(entry.or_insert_with(|| I::make(tally, n)).n(), own.unwrap_or(seen)),
                (2, entry) => {
                    let value = entry.and_modify(|value| value.set(n)).or_insert(I::make(tally, n));
                    assert_eq!(value.n(), seen);
                    return model.put(key, seen);
                }
                (_, Entry::Occupied(mut entry)) => {
                    assert_eq!((entry.key(), Some(entry.get().n())), (key, own));
                    assert_eq!(Some(entry.insert(I::make(tally, n)).n()), own);
                    entry.get_mut().set(n);
                    model.put(key, seen);
                    match op.pick % 3 {
                        0 => assert_eq!(entry.into_mut().n(), seen),
                        _ => {
                            assert_eq!(entry.remove().n(), seen);
                            model.remove(key);
                        }
                    }
                    return;
                }
                (3 | 4, Entry::Vacant(entry)) => {
                    assert_eq!(format!("{entry:?}"), format!("VacantEntry({key:?})"));
                    assert_eq!(entry.insert(I::make(tally, n)).n(), seen);
                }
                (5 | 6, Entry::Vacant(entry)) => {
                    assert_eq!(entry.key(), key);
                    assert_eq!(entry.try_insert(I::make(tally, n)).expect("memory enough").n(), seen);
                }
                // Looking changes nothing.
                (_, Entry::Vacant(_)) => return,
            }
            if own.is_none() {
                model.put(key, seen);
            }
        }
        Kind::Insert if expected.is_ok() => {
            let old = store.insert(key, I::make(tally, n));
            assert_eq!(old.map(|value| value.n()), expected.expect("just looked").map(|(_, n)| n));
            model.put(key, seen);
        }
        Kind::Insert => {
            let caught = phalanx_testkit::catch(|| store.insert(key, I::make(tally, n)).is_some());
            let caught = caught.expect_err("a stale key");
            assert_eq!(caught.message(), expected.expect_err("just looked").to_string());
        }
        _ => match (store.try_insert(key, I::make(tally, n)), expected) {
            (Ok(old), Ok(expected)) => {
                assert_eq!(old.map(|value| value.n()), expected.map(|(_, n)| n));
                model.put(key, seen);
            }
            (Err(rejected), Err(stale)) => {
                assert_eq!((rejected.value.n(), rejected.reason), (seen, Rejection::Stale(stale)));
            }
            (found, expected) => panic!("{key:?} gave {found:?}, not {expected:?}"),
        },
    }
}

/// A model into which keys are put.
trait Keys<K: Key>: Order<K> {
    /// Gives the key a number, in the place of what its index had.
    fn put(&mut self, key: K, n: u32);
}

impl<K: Key> Keys<K> for Cells<K> {
    fn put(&mut self, key: K, n: u32) {
        let same = |cell: &Option<(K, u32)>| cell.is_some_and(|(k, _)| k.index() == key.index());
        match self.cells.iter().position(same) {
            Some(at) => {
                self.cells[at] = Some((key, n));
                self.ever.push(key);
            }
            None => self.push(key, n),
        }
        self.ever.sort();
        self.ever.dedup();
    }
}

/// [`SparseSet`].
pub struct Sparse<K: Key, I> {
    store: SparseSet<K, I>,
    cells: Cells<K>,
    flavour: u64,
}

impl<K: Make, I: Item> Subject for Sparse<K, I> {
    fn new(flavour: u64) -> Self {
        Sparse { store: SparseSet::new(), cells: Cells::new(), flavour }
    }

    fn apply(&mut self, op: Op, tally: &Tally) {
        let key = key::<K>(self.flavour, op.pick, u32::MAX);
        let (store, cells) = (&mut self.store, &mut self.cells);
        match op.kind {
            Kind::Insert | Kind::TryInsert | Kind::InsertWithKey | Kind::Entry => {
                apply_secondary(store, cells, op, key, tally, SparseSet::entry);
            }
            Kind::Extend | Kind::FromIter => {
                let pairs = admissible(cells, self.flavour, op, u32::MAX, op.kind == Kind::FromIter);
                let items = pairs.iter().map(|(key, n)| (*key, I::make(tally, *n)));
                match op.kind {
                    Kind::Extend => store.extend(items),
                    _ => *store = items.collect(),
                }
                pairs.iter().for_each(|(key, n)| cells.put(*key, I::seen(*n)));
            }
            Kind::Clone => {
                let mut copy = store.clone();
                if op.n.is_multiple_of(2) {
                    // In the memory of another store, with values of its own.
                    let keys = (0..op.pick % 40).map(|n| K::make(n * 97, 3));
                    let mut other: SparseSet<K, I> = keys.map(|key| (key, I::make(tally, 1))).collect();
                    other.clone_from(store);
                    copy = other;
                }
                dense::check(&copy, cells, op.n);
                if op.pick.is_multiple_of(2) {
                    *store = copy;
                }
            }
            Kind::Reserve => {
                let more = op.count(100);
                if op.pick.is_multiple_of(2) {
                    store.reserve(more)
                } else {
                    store.try_reserve(more).expect("memory")
                }
                assert!(store.capacity() >= cells.cells.len() + more);
                assert!(store.try_reserve(usize::MAX).is_err());
            }
            Kind::Shrink => {
                store.shrink_to_fit();
                cells.compact();
                let memory = store.memory();
                assert_eq!(memory.values, size_of::<I>() * cells.cells.len());
                assert_eq!(memory.keys, 8 * cells.cells.len());
                assert!(!cells.cells.is_empty() || memory.total() == 0);
                assert!(store.key_slice().iter().copied().eq(cells.live().iter().map(|(key, _)| *key)));
            }
            _ => assert!(dense::apply(store, cells, op, tally), "{op:?} is done by nobody"),
        }
    }

    fn check(&mut self, step: u32) {
        dense::check(&self.store, &self.cells, step);
        check_indices(&self.cells, |index| self.store.key_of_index(index));
    }

    fn counted(&self) -> usize {
        if I::COUNTED { self.cells.live().len() } else { 0 }
    }
}

/// Returns pairs that may be inserted one after another, into the model as it is or, if the flag is set, emptied first.
fn admissible<K: Make>(model: &mut impl Keys<K>, flavour: u64, op: Op, highest: u32, anew: bool) -> Vec<(K, u32)> {
    if anew {
        model.forget();
    }
    let mut pairs: Vec<(K, u32)> = Vec::new();
    for i in 0..op.count(20) as u32 {
        let key = key::<K>(flavour, op.pick.wrapping_mul(2 * i + 1), highest);
        let newest = pairs.iter().filter(|(k, _)| k.index() == key.index()).map(|(k, _)| k.generation()).max();
        if admission(model, key).is_ok() && newest.is_none_or(|newest| newest <= key.generation()) {
            pairs.push((key, op.n ^ i));
        }
    }
    pairs
}

/// The model of a [`LinearStore`]: values by index.
pub struct ByIndex<K> {
    live: BTreeMap<u32, (K, u32)>,
    ever: Vec<K>,
}

impl<K: Key> Order<K> for ByIndex<K> {
    fn live(&self) -> Vec<(K, u32)> {
        self.live.values().copied().collect()
    }
    fn dead(&self) -> Vec<K> {
        let alive = |key: &K| self.live.get(&key.index()).is_some_and(|(k, _)| k == key);
        self.ever.iter().copied().filter(|key| !alive(key)).collect()
    }
    fn set(&mut self, key: K, n: u32) {
        self.live.insert(key.index(), (key, n));
    }
    fn remove(&mut self, key: K) {
        self.live.remove(&key.index());
    }
    fn leave_hole(&mut self, key: K) {
        self.remove(key);
    }
    fn retain(&mut self, mut keep: impl FnMut(K, u32) -> bool) {
        self.live.retain(|_, (key, n)| keep(*key, *n));
    }
    fn clear(&mut self) {
        self.live.clear();
    }
    fn forget(&mut self) {
        *self = ByIndex { live: BTreeMap::new(), ever: Vec::new() };
    }
}

impl<K: Key> Keys<K> for ByIndex<K> {
    fn put(&mut self, key: K, n: u32) {
        self.set(key, n);
        self.ever.push(key);
        self.ever.sort();
        self.ever.dedup();
    }
}

shared!(apply_linear, check_linear, [K: Key, I: Item], LinearStore<K, I>, K);

/// [`LinearStore`]. Its keys stay low: it pays for every index below the highest.
pub struct Linear<K: Key, I> {
    store: LinearStore<K, I>,
    model: ByIndex<K>,
    flavour: u64,
}

const HIGHEST: u32 = 8192;

impl<K: Make, I: Item> Subject for Linear<K, I> {
    fn new(flavour: u64) -> Self {
        let model = ByIndex { live: BTreeMap::new(), ever: Vec::new() };
        Linear { store: LinearStore::new(), model, flavour }
    }

    fn apply(&mut self, op: Op, tally: &Tally) {
        let key = key::<K>(self.flavour, op.pick, HIGHEST);
        let (store, model) = (&mut self.store, &mut self.model);
        match op.kind {
            Kind::Insert | Kind::TryInsert | Kind::InsertWithKey | Kind::Entry => {
                apply_secondary(store, model, op, key, tally, LinearStore::entry);
            }
            Kind::Extend | Kind::FromIter => {
                let pairs = admissible(model, self.flavour, op, HIGHEST, op.kind == Kind::FromIter);
                let items = pairs.iter().map(|(key, n)| (*key, I::make(tally, *n)));
                match op.kind {
                    Kind::Extend => store.extend(items),
                    _ => *store = items.collect(),
                }
                pairs.iter().for_each(|(key, n)| model.put(*key, I::seen(*n)));
            }
            Kind::Clone => {
                let mut copy = store.clone();
                if op.n.is_multiple_of(2) {
                    // In the memory of another store, with values of its own.
                    let keys = (0..op.pick % 40).map(|n| K::make(n * 97, 3));
                    let mut other: LinearStore<K, I> = keys.map(|key| (key, I::make(tally, 1))).collect();
                    other.clone_from(store);
                    copy = other;
                }
                check_linear(&copy, model, op.n);
                if op.pick.is_multiple_of(2) {
                    *store = copy;
                }
            }
            Kind::Reserve => {
                let more = op.count(100);
                store.reserve(more);
                assert!(store.capacity() >= more);
                assert!(store.try_reserve(usize::MAX).is_err());
            }
            Kind::Shrink => {
                store.shrink_to_fit();
                let slots = model.live.keys().next_back().map_or(0, |index| *index as usize + 1);
                assert_eq!(store.capacity(), slots);
                let values = (slots * size_of::<I>()).next_multiple_of(4);
                assert_eq!(store.memory().total(), values + slots * 4 + slots.div_ceil(64) * 8);
            }
            Kind::SwapRemove | Kind::ShiftRemove | Kind::MarkRemoved => {
                apply_linear(store, model, Op { kind: Kind::Remove, ..op }, tally);
            }
            _ => {
                apply_linear(store, model, op, tally);
            }
        }
    }

    fn check(&mut self, step: u32) {
        check_linear(&self.store, &self.model, step);
        check_indices(&self.model, |index| self.store.key_of_index(index));
    }

    fn counted(&self) -> usize {
        if I::COUNTED { self.model.live.len() } else { 0 }
    }
}
