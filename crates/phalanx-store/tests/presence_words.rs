//! Slotted stores with more slots than one word of presence bits has, full words and others: what is done to all values by
//! words must do the same as value by value, also when user code panics between.

use phalanx_store::{Handle, SlotStore};
use phalanx_testkit::Rng;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

thread_local! {
    /// Counts down to the clone, drop or call that panics.
    static FUSE: Cell<u32> = const { Cell::new(u32::MAX) };
}

fn burn() {
    let left = FUSE.get();
    FUSE.set(left.wrapping_sub(1));
    if left == 0 {
        FUSE.set(u32::MAX);
        panic!("as asked");
    }
}

/// Runs `f`, in which the call of [`burn`] number `fuse` panics.
fn with_fuse(fuse: u32, f: impl FnOnce()) -> bool {
    FUSE.set(fuse);
    let panicked = catch_unwind(AssertUnwindSafe(f)).is_err();
    FUSE.set(u32::MAX);
    panicked
}

/// A value whose clones can panic, and whose copies are counted.
#[derive(Debug)]
struct Item(u32, #[allow(dead_code)] Rc<()>);

impl Clone for Item {
    fn clone(&self) -> Item {
        burn();
        Item(self.0, self.1.clone())
    }
}

/// A value whose destructor can panic.
struct Brittle(u32, #[allow(dead_code)] Rc<()>);

impl Drop for Brittle {
    fn drop(&mut self) {
        burn();
    }
}

type Keys<T> = Vec<Handle<T>>;

/// A store of 300 slots: a full word, some with holes, an empty one, two full ones, and the rest of one.
fn store<T>(make: impl Fn(u32) -> T) -> (SlotStore<T>, Keys<T>) {
    let mut store = SlotStore::new();
    let mut rng = Rng::new(11);
    let keys: Keys<T> = (0..300).map(|n| store.insert(make(n))).collect();
    let keys = keys.into_iter().filter(|key| {
        let remove = match key.index() / 64 {
            1 => rng.below(3) == 0,
            2 => true,
            _ => false,
        };
        assert_eq!(remove && store.remove(*key).is_some(), remove);
        !remove
    });
    let keys = keys.collect();
    store.validate().unwrap();
    (store, keys)
}

#[test]
fn a_clone_that_panics_leaves_an_empty_store() {
    let count = Rc::new(());
    let (source, keys) = store(|n| Item(n, count.clone()));
    for fuse in (0..=keys.len() as u32).filter(|fuse| fuse % 7 < 3) {
        let (mut copy, _) = store(|n| Item(1000 + n, count.clone()));
        let panicked = with_fuse(fuse, || copy.try_clone_from(&source).unwrap());
        copy.validate().unwrap();
        assert_eq!(panicked, (fuse as usize) < keys.len());
        assert!(copy.keys().eq(keys.iter().copied().filter(|_| !panicked)));
        assert!(copy.iter().all(|(key, item)| item.0 == key.index()));
        assert_eq!(Rc::strong_count(&count), 1 + source.len() + copy.len());
        if !panicked {
            let (a, b) = (copy.insert(Item(0, count.clone())), source.clone().insert(Item(0, count.clone())));
            assert_eq!(a, b);
        }
        drop(copy);
        assert_eq!(Rc::strong_count(&count), 1 + source.len());
        assert!(with_fuse(fuse.min(keys.len() as u32 - 1), || drop(source.clone())));
        assert_eq!(Rc::strong_count(&count), 1 + source.len());
    }
}

#[test]
fn retaining_with_a_panic_keeps_all_later_values() {
    let count = Rc::new(());
    let all = store(|n| Brittle(n, count.clone())).1;
    for fuse in (0..300).step_by(5) {
        let (mut retained, keys) = store(|n| Brittle(n, count.clone()));
        // A call of the predicate and of a destructor burn alike.
        let panicked = with_fuse(fuse, || {
            retained.retain(|_, item| {
                burn();
                item.0 % 3 != 0
            });
        });
        retained.validate().unwrap();
        let mut left = fuse;
        let mut stopped = false;
        let expected = keys.iter().filter(|key| {
            let ends = key.index() % 3 == 0;
            if stopped || left == 0 {
                // The predicate has panicked: this value and all later ones are kept.
                stopped = true;
                return true;
            }
            left -= 1;
            if ends && left == 0 {
                // The destructor panics: this one has ended.
                stopped = true;
                return false;
            }
            left -= u32::from(ends);
            !ends
        });
        let expected: Keys<Brittle> = expected.copied().collect();
        assert_eq!(stopped, panicked);
        assert!(retained.keys().eq(expected.iter().copied()));
        assert_eq!(Rc::strong_count(&count), 1 + retained.len());
        assert!(all.iter().all(|key| retained.contains(*key) == expected.contains(key)));
    }
}

#[test]
fn clearing_and_dropping_drop_every_value_despite_a_panic() {
    let count = Rc::new(());
    for fuse in (0..300).step_by(9) {
        let (mut cleared, keys) = store(|n| Brittle(n, count.clone()));
        let panics = (fuse as usize) < keys.len();
        assert_eq!(with_fuse(fuse, || cleared.clear()), panics);
        cleared.validate().unwrap();
        assert!(cleared.is_empty() && keys.iter().all(|key| !cleared.contains(*key)));
        assert_eq!(Rc::strong_count(&count), 1);
        let next = cleared.insert(Brittle(0, count.clone()));
        assert_eq!((next.index(), next.generation()), (0, 1));
        let (dropped, _) = store(|n| Brittle(n, count.clone()));
        assert_eq!(with_fuse(fuse, || drop(dropped)), panics);
        assert_eq!(Rc::strong_count(&count), 2);
    }
}

#[test]
fn draining_from_both_ends_agrees_with_a_queue() {
    let count = Rc::new(());
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let (mut drained, keys) = store(|n| Item(n, count.clone()));
        let mut queue: VecDeque<_> = keys.iter().copied().collect();
        let steps = rng.below(keys.len() + 10);
        let back = rng.below(100);
        let mut drain = drained.drain();
        for _ in 0..steps {
            let (taken, expected) = match rng.below(100) < back {
                true => (drain.next_back(), queue.pop_back()),
                false => (drain.next(), queue.pop_front()),
            };
            assert_eq!(taken.map(|(key, item)| (key, item.0)), expected.map(|key| (key, key.index())));
            assert_eq!(drain.len(), queue.len());
        }
        if seed % 2 == 0 {
            drop(drain);
            queue.clear();
        } else {
            std::mem::forget(drain);
        }
        drained.validate().unwrap();
        assert!(drained.keys().eq(queue));
        assert_eq!(Rc::strong_count(&count), 1 + drained.len());
        // The lowest vacant slots are used first, under generations of their own.
        let vacant = (0..300).find(|slot| drained.key_of_index(*slot).is_none());
        let next = drained.insert(Item(0, count.clone()));
        assert_eq!(next.index(), vacant.unwrap_or(300));
        assert!(!keys.contains(&next));
        drained.validate().unwrap();
    }
}
