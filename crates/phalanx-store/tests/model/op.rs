//! One operation enum for all containers, sequences of it from a seed, and the search for a smallest failing one.

use phalanx_testkit::{Rng, Tally, catch};

macro_rules! kinds {
    ($($kind:ident $weight:literal,)*) => {
        /// What is done. A container that has no such operation does the nearest thing, or nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind { $($kind,)* }

        const WEIGHTS: &[(Kind, usize)] = &[$((Kind::$kind, $weight),)*];
    };
}

kinds! {
    Insert 60, TryInsert 20, InsertWithKey 15, Extend 6, FromIter 1,
    GetMut 10, Disjoint 12, Replace 10, Entry 20,
    Remove 10, SwapRemove 14, ShiftRemove 12, MarkRemoved 30,
    Compact 4, CompactSome 16, Retain 4, DrainAll 1, DrainSome 1, DrainLeak 2, Clear 1, IntoIter 1,
    Clone 4, WalkMut 6, RunsMut 6, SliceMut 4, Through 4, Debug 4,
    SortBy 2, SortByKey 2, SortByIndex 2, SortLike 3, InsertionSort 2, SwapPlaces 4,
    Reserve 4, Shrink 5,
}

/// An operation: what, on which key, and with which number.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub kind: Kind,
    pub pick: u32,
    pub n: u32,
}

impl Op {
    /// Up to `most`, small numbers being as likely as all others together.
    pub fn count(self, most: u32) -> usize {
        let n = self.n >> 8;
        (if n.is_multiple_of(2) { (n / 2) % 4 } else { (n / 2) % (most + 1) }).min(most) as usize
    }
}

/// A container beside its model.
pub trait Subject {
    /// An empty one; the flavour chooses among key palettes and the like.
    fn new(flavour: u64) -> Self;
    /// Does the operation on both sides and compares what it returned.
    fn apply(&mut self, op: Op, tally: &Tally);
    /// Compares everything that can be looked at.
    fn check(&mut self, step: u32);
    /// How many counted values there are.
    fn counted(&self) -> usize;
}

fn sequence(seed: u64, steps: usize) -> Vec<Op> {
    let mut rng = Rng::new(seed);
    let total = WEIGHTS.iter().map(|(_, weight)| weight).sum();
    let mut draw = || {
        let mut ticket = rng.below(total);
        let mut kinds = WEIGHTS.iter();
        let kind = loop {
            let (kind, weight) = kinds.next().expect("the ticket is below the total");
            match ticket.checked_sub(*weight) {
                Some(rest) => ticket = rest,
                None => break *kind,
            }
        };
        Op { kind, pick: rng.next_u64() as u32, n: rng.next_u64() as u32 }
    };
    (0..steps).map(|_| draw()).collect()
}

fn run<S: Subject>(ops: &[Op], flavour: u64) {
    let tally = Tally::new();
    let mut subject = S::new(flavour);
    for (step, op) in (0..).zip(ops) {
        subject.apply(*op, &tally);
        subject.check(step);
        assert_eq!(tally.live() as usize, subject.counted(), "values alive after {op:?}");
    }
    drop(subject);
    tally.assert_no_leaks();
}

/// Leaves out ever smaller stretches of a failing sequence while it goes on failing.
fn smallest<S: Subject>(mut ops: Vec<Op>, flavour: u64) -> Vec<Op> {
    let mut stretch = ops.len() / 2;
    while stretch > 0 {
        let mut at = 0;
        while at < ops.len() {
            let mut fewer = ops.clone();
            fewer.drain(at..(at + stretch).min(ops.len()));
            if catch(|| run::<S>(&fewer, flavour)).is_err() {
                ops = fewer;
            } else {
                at += stretch;
            }
        }
        stretch /= 2;
    }
    ops
}

/// Runs `cases` sequences of `steps` operations, from successive seeds.
///
/// `PHALANX_CASES` multiplies the number of cases (in percent), `PHALANX_SEED` runs that one alone.
pub fn explore<S: Subject>(cases: u64, steps: usize) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let cases = cases * number("PHALANX_CASES").unwrap_or(100) / 100;
    let seeds = match number("PHALANX_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..cases.max(1),
    };
    for seed in seeds {
        let ops = sequence(seed, steps);
        if catch(|| run::<S>(&ops, seed)).is_err() {
            let ops = smallest::<S>(ops, seed);
            let message =
                catch(|| run::<S>(&ops, seed)).map_or_else(|caught| caught.message().to_owned(), |()| "?".into());
            panic!("PHALANX_SEED={seed}: {message}\nafter {ops:#?}");
        }
    }
}
