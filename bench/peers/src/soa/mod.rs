//! Structures of arrays: eight `f32` fields, up to a million rows.
//!
//! A library is a file here with a type that implements [`Rows`].

mod limit;
mod phalanx;
mod soa_derive;
mod soa_rs;
mod structs;

use crate::harness::{BAND, Build, Case, Unit, WIDE_BAND, Ways, Workload};
use phalanx_testkit::bench::mix;

/// Declares the row type, with what a library derives for it.
macro_rules! particle {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        // Some fields are only carried along.
        #[allow(dead_code)]
        pub struct $name {
            pub x: f32,
            pub y: f32,
            pub z: f32,
            pub vx: f32,
            pub vy: f32,
            pub vz: f32,
            pub mass: f32,
            pub life: f32,
        }

        impl $name {
            #[inline(always)]
            pub fn new(i: usize) -> $name {
                let f = i as f32;
                $name { x: f, y: 1.0, z: 2.0, vx: 0.5, vy: 0.25, vz: 0.125, mass: crate::soa::mass(i), life: f }
            }
        }
    };
}
use particle;

/// A scrambled permutation of the numbers of 20 bits: where all masses differ, all sorts agree.
#[inline(always)]
fn mass(i: usize) -> f32 {
    let m = i as u32;
    let m = (m ^ (m >> 10)).wrapping_mul(0x9e37_79b1) & 0xf_ffff;
    let m = (m ^ (m >> 7)).wrapping_mul(0x85eb_ca6b) & 0xf_ffff;
    (m ^ (m >> 11)) as f32
}

/// One container.
pub trait Rows: Default + 'static {
    const NAME: &'static str;
    /// Pushes the rows `0..n`, one by one; the limit may do better.
    fn fill(&mut self, n: usize);
    /// The sum of all masses, in eight partial sums.
    fn sum_mass(&self) -> f32;
    /// `x += vx * 0.5`.
    fn update(&mut self);
    /// Sorts the rows by mass, where the container has a sort.
    fn sort(_ways: &mut Ways<Self>) {}
    /// Of mass and x, which depends on the order.
    fn digest(&self) -> u64;
}

/// Eight partial sums: the form that can be vectorised without changing the result.
#[inline(always)]
fn sum(values: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, v)| *sum += v);
    }
    sums.iter_mut().zip(rest).for_each(|(sum, v)| *sum += v);
    sums.iter().sum()
}

fn digest<'a>(rows: impl Iterator<Item = (&'a f32, &'a f32)>) -> u64 {
    rows.fold(0, |d, (m, x)| mix(d ^ (u64::from(m.to_bits()) << 32) ^ u64::from(x.to_bits())))
}

macro_rules! containers {
    ($f:ident, $n:expr) => {
        containers!(@ $f, $n, limit::Columns, phalanx::Lanes, soa_derive::SoaDerive, soa_rs::SoaRs, structs::Structs)
    };
    (@ $f:ident, $n:expr, $($rows:ty),*) => {{
        let rows: Vec<Build> = vec![$(Box::new(|| $f::<$rows>($n))),*];
        rows
    }};
}

const K10: usize = 10_000;
const K100: usize = 100_000;
const M1: usize = 1_000_000;

pub fn all() -> Vec<Workload> {
    let w = |name: &'static str, about, ops: usize, build| Workload {
        name,
        about,
        ops: ops as f64,
        op: "row",
        band: if name.ends_with("1m") { WIDE_BAND } else { BAND },
        unit: Unit::Nanoseconds,
        build,
    };
    vec![
        w("soa_sum_10k", "sum one of eight f32 fields, 10k rows", M1, containers!(sum_mass, K10)),
        w("soa_sum_100k", "the same, 100k rows", M1, containers!(sum_mass, K100)),
        w("soa_sum_1m", "the same, 1M rows", M1, containers!(sum_mass, M1)),
        w("soa_update_1m", "x += vx * 0.5, 1M rows", M1, containers!(update, M1)),
        w("soa_push_10k", "push 10k rows into a new container", K10, containers!(push, K10)),
        w("soa_push_100k", "push 100k rows into a new container", K100, containers!(push, K100)),
        w("soa_push_1m", "push 1M rows into a new container", M1, containers!(push, M1)),
        w("soa_sort_1m", "sort 1M rows by one field", M1, containers!(sort, M1)),
    ]
}

fn filled<R: Rows>(n: usize) -> R {
    let mut rows = R::default();
    rows.fill(n);
    rows
}

fn of<R: Rows>(rows: &mut R) -> u64 {
    rows.digest()
}

fn sum_mass<R: Rows>(n: usize) -> Vec<Case> {
    let make = move || (filled::<R>(n), 0.0f32);
    let mut ways = Ways::held(R::NAME, make, M1 / n, |(_, sum)| u64::from(sum.to_bits()));
    ways.add("", |(rows, sum)| *sum = rows.sum_mass());
    ways.cases
}

fn update<R: Rows>(n: usize) -> Vec<Case> {
    let mut ways = Ways::held(R::NAME, move || filled::<R>(n), 1, of);
    ways.add("", |rows| rows.update());
    ways.cases
}

fn push<R: Rows>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(R::NAME, R::default, of);
    ways.add("", move |rows| rows.fill(n));
    ways.cases
}

fn sort<R: Rows>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(R::NAME, move || filled::<R>(n), of);
    R::sort(&mut ways);
    ways.cases
}
