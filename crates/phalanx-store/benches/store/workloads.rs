//! The workloads, generic over the container.

use crate::contenders::{
    Body, Contender, DenseSlotMap, HandPacked, Linear, Map, Packed, PackedValues, Slot, SlotMap, Sparse, SparseValues,
    Thunderdome,
};
use phalanx_testkit::Rng;
use phalanx_testkit::bench::{Build, Case, Workload, mix, time};
use std::hint::black_box;

fn digest<S: Contender>(s: &mut S) -> u64 {
    let mut d = 0u64;
    s.for_each_mut(|b| d = d.wrapping_add(mix(b.x.to_bits() ^ mix(b.y.to_bits()))));
    d
}

pub fn filled<S: Contender>(n: usize) -> (S, Vec<S::Key>) {
    let mut s = S::default();
    let keys = (0..n).map(|i| s.insert(Body::new(i))).collect();
    (s, keys)
}

fn iterate<S: Contender>(n: usize, reps: usize, remove_percent: usize) -> Case {
    let (mut s, mut keys) = filled::<S>(n);
    if remove_percent > 0 {
        Rng::new(3).shuffle(&mut keys);
        for &k in &keys[..n * remove_percent / 100] {
            s.remove(k);
        }
    }
    drop(keys);
    Case::new(S::NAME, move |check| {
        s.for_each_mut(Body::step);
        let (ns, ()) = time(|| (0..reps).for_each(|_| black_box(&mut s).for_each_mut(Body::step)));
        (ns, if check { digest(&mut s) } else { 0 })
    })
}

fn get<S: Contender>(n: usize, reps: usize) -> Case {
    let (s, mut keys) = filled::<S>(n);
    Rng::new(5).shuffle(&mut keys);
    let sum = move || keys.iter().map(|&k| black_box(&s).get(k).unwrap().x).sum::<f64>();
    Case::new(S::NAME, move |check| {
        if reps > 1 {
            black_box(sum());
        }
        let (ns, x) = time(|| (0..reps).map(|_| sum()).sum::<f64>());
        (ns, if check { x.to_bits() } else { 0 })
    })
}

fn insert<S: Contender>(n: usize) -> Case {
    Case::new(S::NAME, move |check| {
        let (ns, mut s) = time(|| {
            let mut s = S::default();
            for i in 0..n {
                black_box(s.insert(Body::new(i)));
            }
            s
        });
        (ns, if check { digest(&mut s) } else { 0 })
    })
}

fn remove<S: Contender>(n: usize) -> Case {
    Case::new(S::NAME, move |check| {
        let (mut s, mut keys) = filled::<S>(n);
        Rng::new(13).shuffle(&mut keys);
        keys.pop();
        let (ns, sum) = time(|| keys.iter().map(|&k| s.remove(k).unwrap().x).sum::<f64>());
        (ns, if check { digest(&mut s) ^ sum.to_bits() } else { 0 })
    })
}

fn churn<S: Contender>() -> Case {
    const LIVE: usize = 100_000;
    Case::new(S::NAME, move |check| {
        let (mut s, mut keys) = filled::<S>(LIVE);
        let mut rng = Rng::new(17);
        let mut serial = LIVE;
        let (ns, ()) = time(|| {
            for _ in 0..20 {
                for _ in 0..LIVE / 10 {
                    let k = rng.below(keys.len());
                    black_box(s.remove(keys.swap_remove(k)));
                }
                for _ in 0..LIVE / 10 {
                    keys.push(s.insert(Body::new(serial)));
                    serial += 1;
                }
            }
        });
        (ns, if check { digest(&mut s) } else { 0 })
    })
}

fn mixed<S: Contender>() -> Case {
    const LIVE: usize = 50_000;
    Case::new(S::NAME, move |check| {
        let (mut s, mut keys) = filled::<S>(LIVE);
        let mut rng = Rng::new(19);
        let mut serial = LIVE;
        let (ns, sum) = time(|| {
            let mut sum = 0.0;
            for _ in 0..20 {
                s.for_each_mut(Body::step);
                for _ in 0..LIVE / 100 {
                    let k = rng.below(keys.len());
                    black_box(s.remove(keys.swap_remove(k)));
                }
                for _ in 0..LIVE / 100 {
                    keys.push(s.insert(Body::new(serial)));
                    serial += 1;
                }
                for _ in 0..LIVE / 20 {
                    let k = rng.below(keys.len());
                    let b = s.get_mut(keys[k]).unwrap();
                    b.vx += 0.5;
                    sum += b.x;
                }
            }
            sum
        });
        (ns, if check { digest(&mut s) ^ sum.to_bits() } else { 0 })
    })
}

macro_rules! over {
    ($f:ident $args:tt; $($contender:ident)*) => {
        vec![$( Box::new(|| over!(@ $f $contender $args)) as Build ),*]
    };
    (@ $f:ident $contender:ident ($($arg:expr),*)) => { $f::<$contender>($($arg),*) };
}
macro_rules! workload {
    ($name:literal, $ops:expr, $($build:tt)*) => {
        Workload { name: $name, ops: $ops as f64, build: over!($($build)*) }
    };
}

/// All of them. `hand-packed` iterates a plain `Vec<T>`.
pub fn all() -> Vec<Workload> {
    const K10: usize = 10_000;
    const K100: usize = 100_000;
    const M1: usize = 1_000_000;
    vec![
        workload!("iterate 10k", K10 * 20, iterate(K10, 20, 0);
            HandPacked Packed PackedValues Sparse SparseValues Slot Linear DenseSlotMap SlotMap Map),
        workload!("iterate 100k", K100 * 4, iterate(K100, 4, 0);
            HandPacked Packed PackedValues Sparse SparseValues Slot Linear DenseSlotMap SlotMap Map),
        workload!("iterate 1M", M1, iterate(M1, 1, 0);
            HandPacked Packed PackedValues Sparse SparseValues Slot Linear DenseSlotMap SlotMap),
        workload!("iterate half of 200k", K100 * 4, iterate(2 * K100, 4, 50);
            HandPacked Packed PackedValues Sparse SparseValues Slot Linear DenseSlotMap SlotMap),
        workload!("get 10k", K10 * 10, get(K10, 10);
            HandPacked Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome Map),
        workload!("get 100k", K100, get(K100, 1);
            HandPacked Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome Map),
        workload!("get 1M", M1, get(M1, 1); HandPacked Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome),
        workload!("insert 10k", K10, insert(K10);
            HandPacked Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome),
        workload!("insert 100k", K100, insert(K100);
            HandPacked Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome),
        workload!("remove 100k", K100, remove(K100);
            HandPacked Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome),
        workload!("churn 100k", 20 * K10, churn();
            HandPacked Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome Map),
        workload!("mixed 50k", 20, mixed();
            HandPacked Packed PackedValues Slot Sparse Linear DenseSlotMap SlotMap Thunderdome Map),
    ]
}
