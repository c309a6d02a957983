//! The stores that make their handles: which handle comes next, and that none comes twice.

use super::dense::{self, Cells};
use super::item::Item;
use super::op::{Kind, Op, Subject};
use super::shared::{Order, check_indices, shared};
use phalanx_store::{Handle, PackedStore, PrimaryStore, SlotStore, Store};
use phalanx_testkit::Tally;
use std::collections::{BTreeMap, HashSet};
use std::marker::PhantomData;

/// The kind of the handles: another type than the values'.
pub enum Own {}

type H = Handle<Own>;

/// Every handle that was ever made.
#[derive(Default)]
struct Ledger {
    issued: HashSet<H>,
    /// The last generation of each slot, by index.
    last: Vec<u32>,
}

impl Ledger {
    /// Notes a handle; `free` slots could be used again.
    fn note(&mut self, handle: H, free: usize) {
        assert!(self.issued.insert(handle), "{handle:?} was issued twice");
        let (index, slots) = (handle.index() as usize, self.last.len());
        if free > 0 {
            assert!(index < slots, "{handle:?} is a new slot while {free} are free");
            assert_eq!(handle.generation(), self.last[index] + 1);
            self.last[index] += 1;
        } else {
            assert_eq!((index, handle.generation()), (slots, 0), "a new slot is the next one");
            self.last.push(0);
        }
    }
}

/// [`PackedStore`], whose free slots are used again the last one first, as long as no hole has disturbed the order.
pub struct Packed<I> {
    store: PackedStore<I, Own>,
    cells: Cells<H>,
    ledger: Ledger,
    /// Free slots, the next one last; unknown after operations that leave it to the store.
    stack: Option<Vec<u32>>,
}

impl<I: Item> Packed<I> {
    fn free(&self) -> usize {
        self.ledger.last.len() - self.cells.cells.len()
    }

    fn minted(&mut self, handle: H, n: u32) {
        let free = self.free();
        self.ledger.note(handle, free);
        if let Some(slot) = self.stack.as_mut().and_then(Vec::pop) {
            assert_eq!(handle.index(), slot, "the slot that was freed last is used first");
        }
        self.cells.push(handle, I::seen(n));
    }
}

impl<I: Item> Subject for Packed<I> {
    fn new(_: u64) -> Self {
        Packed {
            store: PackedStore::default(),
            cells: Cells::new(),
            ledger: Ledger::default(),
            stack: Some(Vec::new()),
        }
    }

    fn apply(&mut self, op: Op, tally: &Tally) {
        let n = op.n;
        match op.kind {
            Kind::Insert => {
                let handle = self.store.insert(I::make(tally, n));
                self.minted(handle, n);
            }
            Kind::TryInsert => {
                let store = &mut self.store;
                let handle = match op.pick % 2 {
                    0 => store.try_insert(I::make(tally, n)).expect("memory enough"),
                    _ => PrimaryStore::try_insert(store, I::make(tally, n)).expect("memory enough"),
                };
                self.minted(handle, n);
            }
            Kind::InsertWithKey => {
                let mut told = None;
                let handle = self.store.insert_with_key(|handle| {
                    told = Some(handle);
                    I::make(tally, n)
                });
                assert_eq!(told, Some(handle));
                self.minted(handle, n);
            }
            Kind::Extend => {
                let (before, count) = (self.store.len(), op.count(20) as u32);
                self.store.extend((0..count).map(|i| I::make(tally, n ^ i)));
                let handles: Vec<H> = self.store.keys().skip(before).collect();
                assert_eq!(handles.len(), count as usize);
                (0..).zip(handles).for_each(|(i, handle)| self.minted(handle, n ^ i));
            }
            Kind::FromIter => {
                *self = Self::new(0);
                self.store = (0..op.count(20) as u32).map(|i| I::make(tally, n ^ i)).collect();
                let handles: Vec<H> = self.store.keys().collect();
                (0..).zip(handles).for_each(|(i, handle)| self.minted(handle, n ^ i));
            }
            Kind::Entry => {
                let Some(key) = self.cells.choose(op.pick) else { return };
                let expected = self.cells.find(key);
                let Some(mut entry) = self.store.entry(key) else { return assert_eq!(expected, None) };
                assert_eq!((entry.key(), Some(entry.get().n())), (key, expected));
                assert_eq!(format!("{entry:?}"), format!("OccupiedEntry({key:?})"));
                assert_eq!(Some(entry.insert(I::make(tally, n)).n()), expected);
                entry.get_mut().set(n ^ 7);
                self.cells.set(key, I::seen(n ^ 7));
                match op.n % 2 {
                    0 => entry.into_mut().set(n ^ 7),
                    _ => {
                        assert_eq!(entry.remove().n(), I::seen(n ^ 7));
                        self.stack = freed(self.stack.take(), &self.cells, key);
                        self.cells.remove(key);
                    }
                }
            }
            Kind::Clone => {
                let mut copy = self.store.clone();
                if op.n.is_multiple_of(2) {
                    // In the memory of another store, with values and dead handles of its own.
                    let mut other: PackedStore<I, Own> = (0..op.pick % 40).map(|n| I::make(tally, n)).collect();
                    other.retain(|handle, _| handle.index() % 3 != 0);
                    other.clone_from(&self.store);
                    copy = other;
                }
                dense::check(&copy, &self.cells, n);
                let (theirs, ours) = (copy.insert(I::make(tally, n)), self.store.insert(I::make(tally, n)));
                assert_eq!(theirs, ours, "the same future");
                self.minted(ours, n);
                if op.pick.is_multiple_of(2) {
                    self.store = copy;
                }
            }
            Kind::Reserve => {
                let more = op.count(100);
                if op.pick.is_multiple_of(2) {
                    self.store.reserve(more)
                } else {
                    self.store.try_reserve(more).expect("memory")
                }
                assert!(self.store.capacity() >= self.cells.cells.len() + more);
                assert!(
                    self.store.try_reserve(usize::MAX).is_err() && self.store.try_reserve(u32::MAX as usize).is_err()
                );
            }
            Kind::Shrink => {
                self.store.shrink_to_fit();
                self.cells.compact();
                self.stack = None;
                let memory = self.store.memory();
                assert_eq!(memory.values, size_of::<I>() * self.store.len());
                assert_eq!(memory.keys + memory.index, 12 * self.ledger.last.len());
            }
            _ => {
                let last = self.cells.cells.last().copied().flatten();
                let chosen = self.cells.choose(op.pick).filter(|key| self.cells.find(*key).is_some());
                let pushes = match op.kind {
                    Kind::SwapRemove | Kind::ShiftRemove | Kind::Remove | Kind::Through => chosen,
                    Kind::MarkRemoved => chosen.filter(|key| last.is_some_and(|(k, _)| k == *key)),
                    _ => None,
                };
                let order: Vec<H> = self.cells.live().iter().rev().map(|(key, _)| *key).collect();
                self.stack = match (self.stack.take(), op.kind) {
                    (_, Kind::IntoIter) => Some(Vec::new()),
                    (Some(mut stack), Kind::Clear | Kind::DrainAll | Kind::DrainSome) if self.cells.holes() == 0 => {
                        stack.extend(order.iter().map(|key| key.index()));
                        Some(stack)
                    }
                    (stack, _) => match pushes {
                        Some(key) => freed(stack, &self.cells, key),
                        None => stack,
                    },
                };
                let slots_before = self.free() + self.cells.holes();
                assert!(dense::apply(&mut self.store, &mut self.cells, op, tally), "{op:?} is done by nobody");
                if op.kind == Kind::IntoIter {
                    self.ledger = Ledger::default();
                } else if self.stack.as_ref().is_some_and(|stack| stack.len() != self.free()) || self.cells.holes() > 0
                {
                    // Freed some other way.
                    self.stack = None;
                } else {
                    assert!(self.free() + self.cells.holes() >= slots_before);
                }
            }
        }
        if self.free() == 0 && self.cells.holes() == 0 {
            self.stack = Some(Vec::new());
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

/// The stack after this key's slot was freed, if it is known.
fn freed(stack: Option<Vec<u32>>, cells: &Cells<H>, key: H) -> Option<Vec<u32>> {
    let mut stack = stack.filter(|_| cells.holes() == 0)?;
    stack.push(key.index());
    Some(stack)
}

/// The model of a [`SlotStore`]: values by slot.
#[derive(Default)]
struct Slots {
    live: BTreeMap<u32, (H, u32)>,
    ever: Vec<H>,
}

impl Order<H> for Slots {
    fn live(&self) -> Vec<(H, u32)> {
        self.live.values().copied().collect()
    }
    fn dead(&self) -> Vec<H> {
        let alive = |key: &H| self.live.get(&key.index()).is_some_and(|(k, _)| k == key);
        self.ever.iter().copied().filter(|key| !alive(key)).collect()
    }
    fn set(&mut self, key: H, n: u32) {
        self.live.insert(key.index(), (key, n));
    }
    fn remove(&mut self, key: H) {
        self.live.remove(&key.index());
    }
    fn leave_hole(&mut self, key: H) {
        self.remove(key);
    }
    fn retain(&mut self, mut keep: impl FnMut(H, u32) -> bool) {
        self.live.retain(|_, (key, n)| keep(*key, *n));
    }
    fn clear(&mut self) {
        self.live.clear();
    }
    fn forget(&mut self) {
        *self = Slots::default();
    }
}

shared!(apply_slot, check_slot, [I: Item], SlotStore<I, Own>, H);

/// [`SlotStore`], whose free slots are used again the lowest first.
pub struct Slot<I> {
    store: SlotStore<I, Own>,
    model: Slots,
    ledger: Ledger,
    item: PhantomData<I>,
}

impl<I: Item> Slot<I> {
    fn minted(&mut self, handle: H, n: u32) {
        let slots = self.ledger.last.len();
        let lowest = (0..slots as u32).find(|slot| !self.model.live.contains_key(slot));
        assert_eq!(handle.index(), lowest.unwrap_or(slots as u32), "the lowest free slot is used first");
        self.ledger.note(handle, slots - self.model.live.len());
        self.model.set(handle, I::seen(n));
        self.model.ever.push(handle);
    }
}

impl<I: Item> Subject for Slot<I> {
    fn new(_: u64) -> Self {
        Slot { store: SlotStore::default(), model: Slots::default(), ledger: Ledger::default(), item: PhantomData }
    }

    fn apply(&mut self, op: Op, tally: &Tally) {
        let n = op.n;
        match op.kind {
            Kind::Insert => {
                let handle = self.store.insert(I::make(tally, n));
                self.minted(handle, n);
            }
            Kind::TryInsert => {
                let store = &mut self.store;
                let handle = match op.pick % 2 {
                    0 => store.try_insert(I::make(tally, n)).expect("memory enough"),
                    _ => PrimaryStore::try_insert(store, I::make(tally, n)).expect("memory enough"),
                };
                self.minted(handle, n);
            }
            Kind::InsertWithKey => {
                let mut told = None;
                let handle = self.store.insert_with_key(|handle| {
                    told = Some(handle);
                    I::make(tally, n)
                });
                assert_eq!(told, Some(handle));
                self.minted(handle, n);
            }
            Kind::Extend | Kind::FromIter => {
                let values: Vec<I> = (0..op.count(150) as u32).map(|i| I::make(tally, n ^ i)).collect();
                let before: HashSet<H> = match op.kind {
                    Kind::Extend => self.model.live().into_iter().map(|(key, _)| key).collect(),
                    _ => {
                        *self = Self::new(0);
                        HashSet::new()
                    }
                };
                match op.kind {
                    Kind::Extend => self.store.extend(values),
                    _ => self.store = values.into_iter().collect(),
                }
                // The lowest first, so in the order of the slots.
                let new: Vec<H> = self.store.keys().filter(|key| !before.contains(key)).collect();
                (0..).zip(new).for_each(|(i, handle)| self.minted(handle, n ^ i));
            }
            Kind::Entry => {
                let Some(key) = self.model.choose(op.pick) else { return };
                let expected = self.model.find(key);
                let Some(mut entry) = self.store.entry(key) else { return assert_eq!(expected, None) };
                assert_eq!((entry.key(), Some(entry.get().n())), (key, expected));
                assert_eq!(Some(entry.insert(I::make(tally, n)).n()), expected);
                self.model.set(key, I::seen(n));
                if n.is_multiple_of(2) {
                    assert_eq!(entry.remove().n(), I::seen(n));
                    self.model.remove(key);
                }
            }
            Kind::Clone => {
                let mut copy = self.store.clone();
                if op.n.is_multiple_of(2) {
                    // In the memory of another store, with values and dead handles of its own.
                    let mut other: SlotStore<I, Own> = (0..op.pick % 40).map(|n| I::make(tally, n)).collect();
                    other.retain(|handle, _| handle.index() % 3 != 0);
                    other.clone_from(&self.store);
                    copy = other;
                }
                check_slot(&copy, &self.model, n);
                let (theirs, ours) = (copy.insert(I::make(tally, n)), self.store.insert(I::make(tally, n)));
                assert_eq!(theirs, ours, "the same future");
                self.minted(ours, n);
                if op.pick.is_multiple_of(2) {
                    self.store = copy;
                }
            }
            Kind::Reserve => {
                let more = op.count(100);
                self.store.reserve(more);
                assert!(self.store.capacity() >= self.model.live.len() + more);
                assert!(self.store.try_reserve(usize::MAX).is_err());
            }
            Kind::Shrink => {
                self.store.shrink_to_fit();
                assert_eq!(self.store.capacity(), self.ledger.last.len());
                assert_eq!(self.store.memory().values, size_of::<I>() * self.ledger.last.len());
            }
            Kind::SwapRemove | Kind::ShiftRemove | Kind::MarkRemoved => {
                apply_slot(&mut self.store, &mut self.model, Op { kind: Kind::Remove, ..op }, tally);
            }
            _ => {
                apply_slot(&mut self.store, &mut self.model, op, tally);
                if op.kind == Kind::IntoIter {
                    self.ledger = Ledger::default();
                }
            }
        }
    }

    fn check(&mut self, step: u32) {
        check_slot(&self.store, &self.model, step);
        check_indices(&self.model, |index| self.store.key_of_index(index));
        assert!(self.store.capacity() >= self.ledger.last.len());
        assert_eq!(Store::len(&self.store), self.model.live.len());
    }

    fn counted(&self) -> usize {
        if I::COUNTED { self.model.live.len() } else { 0 }
    }
}
