//! The workloads, written once for all containers, sizes and counts.

use super::libraries::{Dense, Linear, Packed, Secondary, Slot, SlotMapOf, Sparse, SparseSecondary, Thunderdome};
use super::{Container, Second, Value, limit};
use crate::harness::{BAND, Build, Case, Unit, WIDE_BAND, Ways, Workload};
use phalanx_testkit::Rng;
use phalanx_testkit::bench::mix;
use std::hint::black_box;

const COUNTS: [(usize, &str); 3] = [(10_000, "10k"), (100_000, "100k"), (1_000_000, "1m")];

pub fn all() -> Vec<Workload> {
    let mut list = Vec::new();
    of_size::<u32>("4b", &mut list);
    of_size::<[u64; 2]>("16b", &mut list);
    of_size::<[u64; 4]>("32b", &mut list);
    of_size::<[u64; 16]>("128b", &mut list);
    list
}

/// The rows of a function over every container.
macro_rules! containers {
    ($f:ident::<$v:ty>, $n:expr $(, $arg:expr)*) => {
        containers!(@ $f $v, $n, ($($arg),*) limit::Slots<$v>, Packed<$v>, Slot<$v>, SlotMapOf<$v>, Dense<$v>, Thunderdome<$v>)
    };
    (second $f:ident::<$v:ty>, $n:expr) => {
        containers!(@ $f $v, $n, () limit::Following<$v>, Linear<$v>, Sparse<$v>, Secondary<$v>, SparseSecondary<$v>)
    };
    (@ $f:ident $v:ty, $n:expr, $args:tt $($c:ty),*) => {{
        let n = $n;
        let rows: Vec<Build> = vec![$(Box::new(move || containers!(! $f $v, $c, n, $args))),*];
        rows
    }};
    (! $f:ident $v:ty, $c:ty, $n:ident, ($($arg:expr),*)) => { $f::<$v, $c>($n $(, $arg)*) };
}

fn of_size<V: Value>(size: &str, list: &mut Vec<Workload>) {
    for (n, count) in COUNTS {
        let mut add = |what: &str, about: &'static str, op, ops: usize, build| {
            // A few hundred short names, for as long as the program runs.
            let name = String::leak(format!("store_{what}_{size}_{count}"));
            let band = if n == 1_000_000 { WIDE_BAND } else { BAND };
            list.push(Workload { name, about, ops: ops as f64, op, band, unit: Unit::Nanoseconds, build });
        };
        let reps = 100_000 / n.min(100_000);
        add("each", "add to every value", "value", n * reps, containers!(each::<V>, n));
        add("get", "read by key in random order", "get", n * reps, containers!(get::<V>, n, true));
        add("get_in_order", "read by key in order of insertion", "get", n * reps, containers!(get::<V>, n, false));
        add("grow", "insert into a new container", "insert", n, containers!(grow::<V>, n));
        add("refill", "insert where all were removed in random order", "insert", n, containers!(refill::<V>, n));
        add("remove", "remove by key in random order", "remove", n, containers!(remove::<V>, n, true));
        add("remove_in_order", "remove in order of insertion", "remove", n, containers!(remove::<V>, n, false));
        add("retain", "keep every other value", "value", n, containers!(retain::<V>, n));
        add("drain", "drain all values", "value", n, containers!(drain::<V>, n));
        add("clear", "clear, the capacity is kept", "value", n, containers!(clear::<V>, n));
        add("clone", "clone the container, and free the copy", "value", n * reps, containers!(clone::<V>, n));
        add("second_get", "read by key of another, at random", "get", n * reps, containers!(second second_get::<V>, n));
        add("second_grow", "insert under keys of another", "insert", n, containers!(second second_grow::<V>, n));
        add("second_remove", "remove by key of another", "remove", n, containers!(second second_remove::<V>, n));
    }
}

/// A container with its keys, and what was read from it so far.
struct Filled<V: Value, C: Container<V>> {
    container: C,
    keys: Vec<C::Key>,
    sum: u64,
}

impl<V: Value, C: Container<V>> Filled<V, C> {
    fn new(n: usize, shuffled: bool) -> Self {
        let mut container = C::default();
        let mut keys: Vec<_> = (0..n).map(|i| container.insert(V::new(i))).collect();
        if shuffled {
            Rng::new(5).shuffle(&mut keys);
        }
        Filled { container, keys, sum: 0 }
    }
}

/// The sum of what is left, by way of a copy: the limit cannot be walked over while slots are free.
fn digest<V: Value, C: Container<V>>(filled: &mut Filled<V, C>) -> u64 {
    filled.container.drain(|value| filled.sum = filled.sum.wrapping_add(mix(value.number())));
    filled.sum
}

fn sum<V: Value, C: Container<V>>(filled: &mut Filled<V, C>) -> u64 {
    filled.sum
}

fn reps(n: usize) -> usize {
    100_000 / n.min(100_000)
}

fn each<V: Value, C: Container<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::held(C::NAME, move || Filled::<V, C>::new(n, false), reps(n), sum);
    ways.add("", |f| {
        let mut sum = 0;
        f.container.for_each(|value| sum += value.number());
        f.sum += sum;
    });
    ways.cases
}

fn get<V: Value, C: Container<V>>(n: usize, shuffled: bool) -> Vec<Case> {
    let mut ways = Ways::held(C::NAME, move || Filled::<V, C>::new(n, shuffled), reps(n), sum);
    ways.add("", |f| f.sum += f.keys.iter().map(|&key| f.container.get(key).unwrap().number()).sum::<u64>());
    ways.cases
}

fn grow<V: Value, C: Container<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(C::NAME, || Filled::<V, C>::new(0, false), digest);
    ways.add("", move |f| (0..n).for_each(|i| _ = black_box(f.container.insert(V::new(i)))));
    ways.cases
}

fn refill<V: Value, C: Container<V>>(n: usize) -> Vec<Case> {
    let make = move || {
        let mut filled = Filled::<V, C>::new(n, true);
        filled.keys.iter().for_each(|&key| _ = filled.container.remove(key));
        filled
    };
    let mut ways = Ways::fresh(C::NAME, make, digest);
    ways.add("", move |f| (0..n).for_each(|i| _ = black_box(f.container.insert(V::new(i)))));
    ways.cases
}

fn remove<V: Value, C: Container<V>>(n: usize, shuffled: bool) -> Vec<Case> {
    let mut ways = Ways::fresh(C::NAME, move || Filled::<V, C>::new(n, shuffled), sum);
    ways.add("", |f| f.sum = f.keys.iter().map(|&key| f.container.remove(key).unwrap().number()).sum());
    ways.cases
}

fn retain<V: Value, C: Container<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(C::NAME, move || Filled::<V, C>::new(n, false), digest);
    ways.add("", |f| f.container.retain(|value| value.number() % 2 == 0));
    ways.cases
}

fn drain<V: Value, C: Container<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(C::NAME, move || Filled::<V, C>::new(n, false), sum);
    ways.add("", |f| {
        let mut sum = 0;
        f.container.drain(|value| sum += value.number());
        f.sum = sum;
    });
    ways.cases
}

fn clear<V: Value, C: Container<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(C::NAME, move || Filled::<V, C>::new(n, false), digest);
    ways.add("", |f| f.container.clear());
    ways.cases
}

fn clone<V: Value, C: Container<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::held(
        C::NAME,
        move || Filled::<V, C>::new(n, false),
        reps(n),
        |filled| {
            let mut copy = Filled { container: filled.container.clone(), keys: Vec::new(), sum: 0 };
            digest::<V, C>(&mut copy)
        },
    );
    ways.add("", |f| _ = black_box(f.container.clone()));
    ways.cases
}

/// A second container, keys of the first in random order, and what was read so far.
struct Pair<V: Value, S: Second<V>> {
    second: S,
    first: Filled<V, S::First>,
}

impl<V: Value, S: Second<V>> Pair<V, S> {
    fn new(n: usize) -> Self {
        Pair { second: S::default(), first: Filled::new(n, false) }
    }

    fn filled(n: usize) -> Self {
        let mut pair = Self::new(n);
        for (&key, i) in pair.first.keys.iter().zip(0..) {
            pair.second.insert(key, V::new(i));
        }
        Rng::new(7).shuffle(&mut pair.first.keys);
        pair
    }
}

fn second_sum<V: Value, S: Second<V>>(pair: &mut Pair<V, S>) -> u64 {
    pair.first.sum
}

fn second_get<V: Value, S: Second<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::held(S::NAME, move || Pair::<V, S>::filled(n), reps(n), second_sum);
    ways.add("", |p| p.first.sum += p.first.keys.iter().map(|&key| p.second.get(key).unwrap().number()).sum::<u64>());
    ways.cases
}

fn second_grow<V: Value, S: Second<V>>(n: usize) -> Vec<Case> {
    let digest = |p: &mut Pair<V, S>| p.first.keys.iter().map(|&key| mix(p.second.get(key).unwrap().number())).sum();
    let mut ways = Ways::fresh(S::NAME, move || Pair::<V, S>::new(n), digest);
    ways.add("", |p| p.first.keys.iter().zip(0..).for_each(|(&key, i)| p.second.insert(key, V::new(i))));
    ways.cases
}

fn second_remove<V: Value, S: Second<V>>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(S::NAME, move || Pair::<V, S>::filled(n), second_sum);
    ways.add("", |p| p.first.sum = p.first.keys.iter().map(|&key| p.second.remove(key).unwrap().number()).sum());
    ways.cases
}
