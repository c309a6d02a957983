//! The dense stores against a vector of cells.

use super::item::Item;
use super::op::{Kind, Op};
use super::shared::{Order, shared};
use phalanx_store::raw::DenseIndex;
use phalanx_store::{DenseStore, Key, SparseSet};
use phalanx_testkit::{Rng, Tally, catch};
use std::cmp::Ordering;

/// What there is at each position, holes being `None`; the last one is never a hole. And all keys that ever were.
pub struct Cells<K> {
    pub cells: Vec<Option<(K, u32)>>,
    pub ever: Vec<K>,
}

impl<K: Key> Cells<K> {
    pub fn new() -> Self {
        Cells { cells: Vec::new(), ever: Vec::new() }
    }

    pub fn holes(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_none()).count()
    }

    pub fn push(&mut self, key: K, n: u32) {
        self.cells.push(Some((key, n)));
        self.ever.push(key);
    }

    pub fn position(&self, key: K) -> Option<usize> {
        self.cells.iter().position(|cell| cell.is_some_and(|(k, _)| k == key))
    }

    fn trim(&mut self) {
        while let Some(None) = self.cells.last() {
            self.cells.pop();
        }
    }

    fn sort_by(&mut self, mut compare: impl FnMut(&(K, u32), &(K, u32)) -> Ordering) {
        let mut live = self.live();
        live.sort_by(|a, b| compare(a, b));
        self.cells = live.into_iter().map(Some).collect();
    }
}

impl<K: Key> Order<K> for Cells<K> {
    fn live(&self) -> Vec<(K, u32)> {
        self.cells.iter().copied().flatten().collect()
    }

    fn dead(&self) -> Vec<K> {
        self.ever.iter().copied().filter(|key| self.position(*key).is_none()).collect()
    }

    fn set(&mut self, key: K, n: u32) {
        let at = self.position(key).expect("a key that has a value");
        self.cells[at] = Some((key, n));
    }

    fn remove(&mut self, key: K) {
        let at = self.position(key).expect("a key that has a value");
        self.cells.swap_remove(at);
        self.trim();
    }

    fn leave_hole(&mut self, key: K) {
        let at = self.position(key).expect("a key that has a value");
        self.cells[at] = None;
        self.trim();
    }

    fn compact(&mut self) {
        self.cells.retain(Option::is_some);
    }

    fn retain(&mut self, mut keep: impl FnMut(K, u32) -> bool) {
        self.cells.retain(|cell| cell.is_some_and(|(key, n)| keep(key, n)));
    }

    fn clear(&mut self) {
        self.cells.clear();
    }

    fn forget(&mut self) {
        *self = Cells::new();
    }
}

shared!(apply_any, check_any, [X: DenseIndex, I: Item], DenseStore<X, I>, X::Key);

/// Does what both dense stores can do; tells whether it was such an operation.
pub fn apply<X: DenseIndex, I: Item>(
    store: &mut DenseStore<X, I>,
    model: &mut Cells<X::Key>,
    op: Op,
    tally: &Tally,
) -> bool
where
    DenseStore<X, I>: Default,
{
    let chosen = model.choose(op.pick);
    let n_of = |value: &I| value.n() % 5;
    match op.kind {
        Kind::SwapRemove | Kind::ShiftRemove => {
            let Some(key) = chosen else { return true };
            let expected = model.find(key);
            let removed = match op.kind {
                Kind::SwapRemove => store.swap_remove(key),
                _ => store.shift_remove(key),
            };
            assert_eq!(removed.map(|value| value.n()), expected);
            match (expected, op.kind) {
                (None, _) => {}
                (_, Kind::SwapRemove) => model.remove(key),
                _ => {
                    model.compact();
                    let at = model.position(key).expect("it has a value");
                    model.cells.remove(at);
                }
            }
        }
        Kind::MarkRemoved => {
            let Some(key) = chosen else { return true };
            let there = model.find(key).is_some();
            assert_eq!(store.remove_in_place(key), there);
            if there {
                model.leave_hole(key);
            }
            assert!(!store.remove_in_place(key), "removed twice");
        }
        Kind::Compact => {
            store.compact();
            model.compact();
        }
        Kind::CompactSome => {
            let budget = op.count(12);
            let before = model.live();
            let moved = store.compact_step(budget);
            assert!(moved <= budget && (moved == budget || store.holes() == 0), "{moved} of {budget} moves");
            // Where the holes are on the way is the store's business; the order is not.
            let positions = store.len() + store.holes();
            model.cells = (0..positions).map(|at| store.key_at(at).map(|key| (key, store[key].n()))).collect();
            assert_eq!(model.live(), before, "compacting keeps the order");
        }
        Kind::RunsMut => {
            let mut numbers = Vec::new();
            for run in store.runs_mut() {
                assert!(!run.is_empty());
                run.iter_mut().for_each(|value| {
                    value.set(op.n);
                    numbers.push(value.n());
                });
            }
            assert_eq!(numbers.len(), model.live().len());
            for (key, _) in model.live() {
                model.set(key, I::seen(op.n));
            }
        }
        Kind::SliceMut => {
            if model.holes() > 0 {
                let caught = catch(|| store.as_slice().len()).expect_err("no slice over holes");
                assert!(caught.message().contains("holes"), "{}", caught.message());
                assert!(catch(|| store.as_mut_slice().len()).is_err());
                return true;
            }
            store.as_mut_slice().iter_mut().for_each(|value| value.set(op.n));
            for (key, _) in model.live() {
                model.set(key, I::seen(op.n));
            }
        }
        Kind::SortBy => {
            store.sort_by(|a, b| n_of(a).cmp(&n_of(b)));
            model.sort_by(|(_, a), (_, b)| (a % 5).cmp(&(b % 5)));
        }
        Kind::SortByKey => {
            store.sort_by_key(n_of);
            model.sort_by(|(_, a), (_, b)| (a % 5).cmp(&(b % 5)));
        }
        Kind::InsertionSort => {
            store.insertion_sort_by(|a, b| n_of(b).cmp(&n_of(a)));
            model.sort_by(|(_, a), (_, b)| (b % 5).cmp(&(a % 5)));
        }
        Kind::SortByIndex => {
            store.sort_by_index();
            model.sort_by(|(a, _), (b, _)| a.index().cmp(&b.index()));
        }
        Kind::SortLike => {
            // Another store that has some of the keys, in another order, with a hole in it.
            let mut keys: Vec<X::Key> = model.live().iter().map(|(key, _)| *key).collect();
            let mut rng = Rng::new(op.n.into());
            rng.shuffle(&mut keys);
            keys.truncate(rng.below(keys.len() + 1));
            let mut other: SparseSet<X::Key, ()> = keys.iter().map(|key| (*key, ())).collect();
            if let Some(first) = keys.first() {
                other.remove_in_place(*first);
                keys.remove(0);
            }
            store.sort_like(&other);
            let rank = |key: X::Key| keys.iter().position(|k| *k == key).unwrap_or(usize::MAX);
            model.sort_by(|(a, _), (b, _)| rank(*a).cmp(&rank(*b)));
        }
        Kind::SwapPlaces => {
            let (Some(a), Some(b)) = (chosen, model.choose(op.n)) else { return true };
            let swapped = store.swap_keys(a, b);
            model.compact();
            let places = (model.position(a), model.position(b));
            assert_eq!(swapped, places.0.is_some() && places.1.is_some());
            if let (Some(a), Some(b)) = places {
                model.cells.swap(a, b);
            }
        }
        _ => return apply_any(store, model, op, tally),
    }
    true
}

pub fn check<X: DenseIndex, I: Item>(store: &DenseStore<X, I>, model: &Cells<X::Key>, step: u32) {
    check_any(store, model, step);
    assert_eq!(store.holes(), model.holes());
    assert!(store.capacity() >= model.cells.len());
    for (at, cell) in model.cells.iter().enumerate() {
        assert_eq!(store.key_at(at), cell.map(|(key, _)| key), "the key at position {at}");
        if let Some((key, _)) = cell {
            assert_eq!(store.position(*key), Some(at));
        }
    }
    assert_eq!(store.key_at(model.cells.len()), None);
    let numbers = |run: &[Option<(X::Key, u32)>]| run.iter().map(|cell| cell.map(|(_, n)| n)).collect::<Vec<_>>();
    let runs: Vec<_> = model.cells.split(Option::is_none).filter(|run| !run.is_empty()).map(numbers).collect();
    let found: Vec<_> = store.runs().map(|run| run.iter().map(|value| Some(value.n())).collect::<Vec<_>>()).collect();
    assert_eq!(found, runs, "slices between holes");
    if model.holes() == 0 {
        assert!(store.as_slice().iter().map(I::n).eq(model.live().iter().map(|(_, n)| *n)));
    }
}
