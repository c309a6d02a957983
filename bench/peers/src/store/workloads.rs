//! The workloads, written once for all containers.

use super::{Body, Store, generational_arena, limit, maps, phalanx, slab, slotmap, thunderdome};
use crate::harness::{BAND, Build, Case, Sample, Unit, WIDE_BAND, Ways, Workload};
use crate::memory;
use phalanx_testkit::Rng;
use phalanx_testkit::bench::mix;
use std::hint::black_box;

/// The rows of a function over every container. The limit is the one that the workload suits; where it is the slots,
/// the store packed by hand is shown as well.
macro_rules! stores {
    (packed; $f:ident $(, $arg:expr)*) => { stores!(@ $f ($($arg),*) limit::Packed<true>) };
    (slots; $f:ident $(, $arg:expr)*) => { stores!(@ $f ($($arg),*) limit::Slots, limit::Packed<false>) };
    (@ $f:ident $args:tt $($limit:ty),*) => {
        stores!(# $f $args $($limit,)* phalanx::Packed, phalanx::Slot, phalanx::Sparse, phalanx::Linear,
            slotmap::Slot, slotmap::Dense, slotmap::Hop, thunderdome::Thunderdome,
            generational_arena::GenerationalArena, slab::Slab, maps::Std, maps::Fx, maps::Brown, maps::Index)
    };
    (# $f:ident $args:tt $($store:ty),*) => {{
        let rows: Vec<Build> = vec![$(Box::new(move || stores!(! $f $store, $args))),*];
        rows
    }};
    (! $f:ident $store:ty, ($($arg:expr),*)) => { $f::<$store>($($arg),*) };
}

const K10: usize = 10_000;
const K50: usize = 50_000;
const K100: usize = 100_000;
const M1: usize = 1_000_000;
const FRAMES: usize = 20;

pub fn all() -> Vec<Workload> {
    let w = |name, about, ops: usize, op, band, build| Workload {
        name,
        about,
        ops: ops as f64,
        op,
        band,
        unit: Unit::Nanoseconds,
        build,
    };
    let walk = |name, about, left: usize, reps: usize, band, build| w(name, about, left * reps, "value", band, build);
    vec![
        walk("store_iter_10k", "x += vx, y += vy over 10k values", K10, 20, BAND, stores!(packed; iterate, K10, 20, 0)),
        walk("store_iter_100k", "the same over 100k", K100, 4, BAND, stores!(packed; iterate, K100, 4, 0)),
        walk("store_iter_1m", "the same over 1M", M1, 1, WIDE_BAND, stores!(packed; iterate, M1, 1, 0)),
        walk(
            "store_iter_holes_100k",
            "the same over 100k values left of 200k after random removal",
            K100,
            4,
            BAND,
            stores!(packed; iterate, 2 * K100, 4, 50),
        ),
        walk(
            "store_iter_sparse_100k",
            "the same over 100k values left of 1M after random removal",
            K100,
            4,
            BAND,
            stores!(packed; iterate, M1, 4, 90),
        ),
        w(
            "store_get_10k",
            "read x by key in random order, 10k values",
            K10 * 10,
            "get",
            BAND,
            stores!(slots; get, K10, 10),
        ),
        w("store_get_100k", "the same with 100k", K100, "get", BAND, stores!(slots; get, K100, 1)),
        w("store_get_1m", "the same with 1M", M1, "get", WIDE_BAND, stores!(slots; get, M1, 1)),
        w("store_insert_10k", "insert 10k into a new store", K10, "insert", BAND, stores!(slots; insert, K10)),
        w("store_insert_100k", "insert 100k into a new store", K100, "insert", BAND, stores!(slots; insert, K100)),
        w("store_remove_100k", "remove 100k by key in random order", K100, "remove", BAND, stores!(slots; remove)),
        w(
            "store_churn_100k",
            "100k live; a frame removes 10% at random and inserts as many; 20 frames",
            FRAMES * K10,
            "remove + insert",
            WIDE_BAND,
            stores!(slots; churn),
        ),
        w(
            "store_mixed_50k",
            "50k live; a frame steps all, removes 1%, inserts 1%, changes 5% at random; 20 frames",
            FRAMES,
            "frame",
            BAND,
            stores!(slots; mixed),
        ),
        Workload {
            unit: Unit::Bytes,
            ..w(
                "memory_store_100k",
                "memory allocated for 100k to 200k values of 32 bytes, inserted one by one",
                1,
                "value",
                1.001,
                stores!(slots; held_memory),
            )
        },
    ]
}

fn digest<S: Store>(store: &mut S) -> u64 {
    let mut digest = 0u64;
    store.for_each_mut(|b| digest = digest.wrapping_add(mix(b.x.to_bits() ^ mix(b.y.to_bits()))));
    digest
}

/// A store with keys, and what was read from it so far.
struct Filled<S: Store> {
    store: S,
    keys: Vec<S::Key>,
    sum: f64,
}

impl<S: Store> Filled<S> {
    fn new(n: usize) -> Self {
        let mut store = S::default();
        let keys = (0..n).map(|i| store.insert(Body::new(i))).collect();
        Filled { store, keys, sum: 0.0 }
    }

    fn shuffled(n: usize, seed: u64) -> Self {
        let mut filled = Self::new(n);
        Rng::new(seed).shuffle(&mut filled.keys);
        filled
    }

    fn digest(&mut self) -> u64 {
        digest(&mut self.store) ^ self.sum.to_bits()
    }

    /// Removes `n` values at random, then inserts as many, numbered from `serial` on.
    #[inline(always)]
    fn exchange(&mut self, n: usize, rng: &mut Rng, serial: usize) {
        for _ in 0..n {
            let k = rng.below(self.keys.len());
            black_box(self.store.remove(self.keys.swap_remove(k)));
        }
        for i in serial..serial + n {
            self.keys.push(self.store.insert(Body::new(i)));
        }
    }
}

fn iterate<S: Store>(n: usize, reps: usize, removed_percent: usize) -> Vec<Case> {
    let make = move || {
        let Filled { mut store, keys, .. } = Filled::<S>::shuffled(n, 3);
        for &key in &keys[..n * removed_percent / 100] {
            store.remove(key);
        }
        store
    };
    let mut ways = Ways::held(S::NAME, make, reps, digest).warm();
    ways.add("", |store| store.for_each_mut(Body::step));
    ways.cases
}

fn get<S: Store>(n: usize, reps: usize) -> Vec<Case> {
    let mut ways = Ways::held(S::NAME, move || Filled::<S>::shuffled(n, 5), reps, |filled| filled.sum.to_bits());
    if reps > 1 {
        ways = ways.warm();
    }
    ways.add("", |f| f.sum += f.keys.iter().map(|&key| f.store.get(key).unwrap().x).sum::<f64>());
    ways.cases
}

fn insert<S: Store>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(S::NAME, S::default, digest);
    ways.add("", move |store| (0..n).for_each(|i| _ = black_box(store.insert(Body::new(i)))));
    ways.cases
}

fn remove<S: Store>() -> Vec<Case> {
    let make = || {
        let mut filled = Filled::<S>::shuffled(K100, 13);
        // One stays, so that the digest has something to say.
        filled.keys.pop();
        filled
    };
    let mut ways = Ways::fresh(S::NAME, make, Filled::digest);
    ways.add("", |f| f.sum = f.keys.iter().map(|&key| f.store.remove(key).unwrap().x).sum::<f64>());
    ways.cases
}

fn churn<S: Store>() -> Vec<Case> {
    let mut ways = Ways::fresh(S::NAME, || Filled::<S>::new(K100), Filled::digest);
    ways.add("", |f| {
        let mut rng = Rng::new(17);
        for frame in 0..FRAMES {
            f.exchange(K10, &mut rng, K100 + frame * K10);
        }
    });
    ways.cases
}

fn mixed<S: Store>() -> Vec<Case> {
    let mut ways = Ways::fresh(S::NAME, || Filled::<S>::new(K50), Filled::digest);
    ways.add("", |f| {
        let mut rng = Rng::new(19);
        for frame in 0..FRAMES {
            f.store.for_each_mut(Body::step);
            f.exchange(K50 / 100, &mut rng, K50 + frame * K50 / 100);
            for _ in 0..K50 / 20 {
                let key = f.keys[rng.below(f.keys.len())];
                let body = f.store.get_mut(key).unwrap();
                body.vx += 0.5;
                f.sum += body.x;
            }
        }
    });
    ways.cases
}

fn held_memory<S: Store>() -> Vec<Case> {
    let make = |n| {
        let mut store = S::default();
        (0..n).for_each(|i| _ = store.insert(Body::new(i)));
        store
    };
    vec![Case::new(S::NAME, move |_| {
        let (amount, digest) = memory::average(make, digest);
        Sample { amount, digest }
    })]
}
