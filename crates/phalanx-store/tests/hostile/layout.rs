//! Sizes, alignments and arithmetic: values without a size, over-aligned, huge, or with forbidden bit patterns.

use crate::cases::{Container, for_each_store};
use phalanx_store::{AllocError, Entity, LinearStore, PackedStore, SlotStore, SparseSet};
use phalanx_testkit::{Align1, Align64, Align4096, Aligned, Tally, Zst, assert_balanced, detect, measure_zst};
use std::num::NonZeroU8;

/// Tries every operation of a container with values of any type. After each step, calls `look` with each remaining
/// value and the number it was made from.
fn exercise<S: Container>(make: impl Fn(u32) -> S::Value, look: impl Fn(&S::Value, u32))
where
    S::Value: Clone,
{
    let mut store = S::default();
    let mut left: Vec<(S::Key, u32)> = Vec::new();
    let add = |store: &mut S, left: &mut Vec<_>, bits: u64, n: u32| {
        let key = store.put(bits, make(n));
        left.push((key, n));
    };
    let check = |store: &S, left: &[(S::Key, u32)]| {
        store.validate().unwrap();
        assert_eq!(store.len(), left.len());
        left.iter().for_each(|(key, n)| look(store.get(*key).unwrap(), *n));
        store.for_each(|key, value| look(value, left.iter().find(|(other, _)| *other == key).unwrap().1));
    };
    for n in 0..70 {
        add(&mut store, &mut left, n.into(), n);
        check(&store, &left);
    }
    for at in (0..60).rev().step_by(3) {
        let (key, n) = left.remove(at);
        match at % 2 {
            0 => look(&store.remove(key).unwrap(), n),
            _ => assert!(store.leave_hole(key)),
        }
        store.tidy(2);
        check(&store, &left);
    }
    store.shrink();
    check(&store, &left);
    for n in 70..90 {
        add(&mut store, &mut left, u64::from(n) | 1 << 32, n);
    }
    check(&store, &left);
    check(&store.try_copy().unwrap(), &left);
    let keep: Vec<_> = left.iter().filter(|(_, n)| n % 4 != 0).copied().collect();
    store.retain(|key, _| keep.iter().any(|(other, _)| *other == key));
    left = keep;
    check(&store, &left);
    store.reserve(200);
    check(&store, &left);
    let (key, n) = left[3];
    look(&store.replace(key, make(200)).unwrap(), n);
    left[3].1 = 200;
    check(&store, &left);
    store.values_mut().for_each(|value| *value = value.clone());
    for (key, value) in store.drain().take(5) {
        let at = left.iter().position(|(other, _)| *other == key).unwrap();
        look(&value, left.remove(at).1);
    }
    assert!(store.is_empty());
    left.clear();
    (0..9).for_each(|n| add(&mut store, &mut left, u64::from(n) | 5 << 32, n));
    for (key, value) in store.into_iter().take(5) {
        look(&value, left.iter().find(|(other, _)| *other == key).unwrap().1);
    }
}

#[test]
fn h37_zero_sized_values_are_counted_and_aligned() {
    fn run<A>() {
        let ((), usage) = measure_zst(|| {
            for_each_store!(exercise::<Zst<A>>(|_| Zst::new(), |value, _| value.touch()));
            let mut sorted: PackedStore<Zst<A>> = (0..40).map(|_| Zst::new()).collect();
            sorted.sort_by(|a, _| {
                a.touch();
                std::cmp::Ordering::Less
            });
            assert_eq!(sorted.as_slice().len(), 40);
            sorted.as_mut_slice().iter().for_each(Zst::touch);
        });
        assert_eq!(usage.made, usage.dropped);
        assert!(usage.made > 400 && usage.misaligned == 0);
    }
    run::<Align1>();
    run::<Align64>();
    run::<Align4096>();
}

#[test]
fn h38_over_aligned_values_stay_aligned() {
    fn run<A: Clone + 'static>() {
        let tally = Tally::new();
        for_each_store!(exercise::<Aligned<A>>(|n| Aligned::new(&tally, n), |value, n| assert_eq!(value.key(), n)));
        tally.assert_no_leaks();
    }
    run::<Align1>();
    run::<Align64>();
    run::<Align4096>();
}

#[test]
fn h40_small_reservations_change_nothing() {
    fn run<S: Container<Value = u64>>() {
        let mut empty = S::default();
        empty.reserve(0);
        empty.shrink();
        assert_eq!((empty.capacity(), empty.memory().total()), (0, 0), "{}", S::NAME);
        let mut store = S::default();
        let key = store.put(0, 7);
        let address = |store: &S| std::ptr::from_ref(store.get(key).unwrap()).addr();
        let (capacity, place) = (store.capacity(), address(&store));
        let usage = store.memory();
        for additional in [0, 1, capacity - 1] {
            store.reserve(additional);
            assert_eq!((store.capacity(), address(&store)), (capacity, place), "{}", S::NAME);
            assert_eq!(store.memory(), usage);
        }
        store.shrink();
        assert_eq!(store.get(key), Some(&7));
        let usage = store.memory();
        store.shrink();
        store.reserve(0);
        assert_eq!(store.memory(), usage);
        store.validate().unwrap();
    }
    for_each_store!(run::<u64>());
    assert_eq!(PackedStore::<u8>::with_capacity(0).memory().total(), 0);
    assert_eq!(LinearStore::<Entity, u8>::with_capacity(0).memory().total(), 0);
    let mut pool = phalanx_store::EntityPool::with_capacity(0);
    pool.reserve(0);
    pool.shrink_to_fit();
    assert_eq!((pool.capacity(), pool.memory().total()), (0, 0));
}

#[test]
fn h41_length_arithmetic_is_checked() {
    // `len + additional` and `size × capacity` beyond what can be counted, in a store that has something.
    fn run<S: Container>(value: S::Value) {
        let mut store = S::default();
        let key = store.put(0, value);
        store.shrink();
        let most = isize::MAX as usize / size_of::<S::Value>().max(1);
        for additional in [u32::MAX as usize, u32::MAX as usize + 1, usize::MAX, most, most + 1] {
            let (outcome, asked) = phalanx_testkit::fail_from(1, || store.try_reserve(additional));
            // Capacity for all `u32::MAX` indices is possible, but only a linear store is asked for exactly that here.
            match S::NAME == "LinearStore" && additional == u32::MAX as usize && most >= additional {
                true => assert!(asked && outcome.is_err()),
                false => assert_eq!(outcome, Err(AllocError::CapacityOverflow), "{} {additional}", S::NAME),
            }
            store.validate().unwrap();
            assert!(store.contains(key) && store.len() == 1);
        }
    }
    for_each_store!(run::<()>(()));
    for_each_store!(run::<u8>(1));
    for_each_store!(run::<[u64; 100]>([1; 100]));
    // The last index there is: its slot is the one before `u32::MAX`.
    let last = Entity::from_bits(u64::from(u32::MAX) - 1).unwrap();
    let mut far: SparseSet<Entity, u8> = SparseSet::new();
    assert_eq!(far.insert(last, 1), None);
    assert_eq!(far.get(last), Some(&1));
    assert_eq!(far.remove(last), Some(1));
    far.validate().unwrap();
    let mut linear: LinearStore<Entity, u8> = LinearStore::new();
    let (refused, asked) = phalanx_testkit::fail_from(1, || linear.try_insert(last, 1).unwrap_err());
    assert!(asked && refused.value == 1 && linear.capacity() == 0);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Suit {
    Spades = 1,
    Hearts = 77,
}

#[test]
fn h42_forbidden_bit_patterns_are_never_formed() {
    // Fresh memory is 0xCD and freed memory 0xDD here, which none of these types can be.
    const NAMES: [&str; 3] = ["ann", "bob", "eve"];
    for_each_store!(exercise::<&'static str>(
        |n| NAMES[n as usize % 3],
        |name, n| assert_eq!(*name, NAMES[n as usize % 3])
    ));
    for_each_store!(exercise::<bool>(|n| n % 2 == 0, |even, n| assert!(*even == (n % 2 == 0) && (*even as u8) < 2)));
    for_each_store!(exercise::<NonZeroU8>(
        |n| NonZeroU8::MIN.saturating_add(n as u8),
        |one, n| {
            assert_eq!(u32::from(one.get()), 1 + n);
        }
    ));
    let suit = |n: u32| if n.is_multiple_of(2) { Suit::Spades } else { Suit::Hearts };
    for_each_store!(exercise::<Suit>(suit, |found, n| assert!(*found == suit(n) && [1, 77].contains(&(*found as u8)))));
    for_each_store!(exercise::<char>(|n| char::from(n as u8), |c, n| assert_eq!(u32::from(*c), n)));
    for_each_store!(exercise::<Option<Box<u32>>>(
        |n| (n % 3 > 0).then(|| Box::new(n)),
        |boxed, n| {
            assert_eq!(boxed.as_deref().copied(), (n % 3 > 0).then_some(n));
        }
    ));
}

#[test]
fn h43_blocks_are_returned_with_their_layout() {
    fn run<T: Clone + PartialEq + std::fmt::Debug>(make: impl Fn(u32) -> T + Copy) {
        let misuse = detect(|| {
            assert_balanced(|| {
                for_each_store!(exercise::<T>(make, |value, n| assert_eq!(*value, make(n))));
            });
        });
        assert_eq!(misuse, None);
    }
    run(|_| ());
    run(|n| n as u8);
    run(|n| [n as u8; 3]);
    run(u64::from);
    run(|n| [n; 25]);
    run(|n| [n as u8; 4097]);
    run(|n| n.to_string());
    assert_balanced(|| {
        let mut sparse: SparseSet<Entity, String> = SparseSet::new();
        // Pages and branches come and go.
        for round in 0..3_u64 {
            let keys = (0..40).map(|n| Entity::from_bits((round << 32) | (n * 1_000_003 % 4_000_000_000)).unwrap());
            sparse.extend(keys.map(|key| (key, key.to_string())));
            sparse.validate().unwrap();
            sparse.retain(|key, _| key.index() % 3 == 0);
            sparse.shrink_to_fit();
            sparse.validate().unwrap();
        }
        let keys: Vec<_> = sparse.keys().collect();
        keys.iter().for_each(|key| drop(sparse.remove(*key)));
        sparse.shrink_to_fit();
        assert_eq!(sparse.memory().total(), 0);
    });
}

const MIB: usize = 1 << 20;

#[test]
fn h44_huge_values_do_not_overflow_the_stack() {
    // A value passes through the frames of its caller and of a few functions here; that there are few is the test. An
    // unoptimised build makes a copy in each of them.
    const STACK: usize = if cfg!(debug_assertions) { 12 * MIB } else { 8 * MIB };
    #[inline(never)]
    fn run<S: Container<Value = [u8; MIB]>>() {
        let mut store = S::default();
        let keys: Vec<_> = (0..4).map(|n| store.put(n, [n as u8; MIB])).collect();
        assert!(store.leave_hole(keys[0]));
        store.tidy(10);
        assert_eq!(store.remove(keys[1]).unwrap()[MIB - 1], 1);
        store.retain(|key, _| key == keys[3]);
        store.validate().unwrap();
        assert_eq!(store.get(keys[3]).unwrap()[77], 3);
        assert_eq!(store.drain().count(), 1);
    }
    for store in
        [run::<PackedStore<_>>, run::<SlotStore<_>>, run::<SparseSet<Entity, _>>, run::<LinearStore<Entity, _>>]
    {
        std::thread::Builder::new().stack_size(STACK).spawn(store).unwrap().join().unwrap();
    }
}

#[test]
fn h44_pages_do_not_pass_over_the_stack() {
    // A page of the sparse index has 32 KiB and a branch 5: neither fits into this stack beside the rest.
    let work = || {
        let mut sparse: SparseSet<Entity, u8> = SparseSet::new();
        for n in 0..100_000_u64 {
            sparse.insert(Entity::from_bits(n * 37).unwrap(), 1);
        }
        sparse.len()
    };
    let thread = std::thread::Builder::new().stack_size(20 << 10).spawn(work).unwrap();
    assert_eq!(thread.join().unwrap(), 100_000);
}
