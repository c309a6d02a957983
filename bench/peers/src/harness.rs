//! Interleaved sampling: what is measured, and how.
//!
//! A [`Workload`] has rows from several libraries. All of them live in one process and are called once a round, round
//! after round, each round starting at another one, so that a noisy moment of the machine falls on all alike. A row
//! measures only its timed section; making its state and digesting it stay outside.

use phalanx_testkit::bench::time;
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The label of the row written by hand for one workload alone.
pub const LIMIT: &str = "limit";
/// A store written by hand, shown beside the limit.
pub const HAND_PACKED: &str = "hand-packed";

/// One call of a row.
pub struct Sample {
    /// Nanoseconds, or bytes where the workload counts bytes.
    pub amount: f64,
    /// A digest of the state that does not depend on order; only when asked for.
    pub digest: u64,
}

/// One row of a workload. `run` is told whether a digest is wanted: it often takes longer than what is timed.
pub struct Case {
    pub label: String,
    pub run: Box<dyn FnMut(bool) -> Sample>,
}

impl Case {
    pub fn new(label: impl Into<String>, run: impl FnMut(bool) -> Sample + 'static) -> Case {
        Case { label: label.into(), run: Box::new(run) }
    }
}

/// Makes the rows of one library, with their states.
pub type Build = Box<dyn Fn() -> Vec<Case>>;

pub struct Workload {
    pub name: &'static str,
    pub about: &'static str,
    /// Operations in a sample.
    pub ops: f64,
    pub op: &'static str,
    /// Rows closer together than this factor are level.
    pub band: f64,
    pub unit: Unit,
    pub build: Vec<Build>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    /// The same in every round: one is enough.
    Bytes,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
        }
    }
}

/// Runs do not tell rows closer than this apart, at 10k and 100k.
pub const BAND: f64 = 1.05;
/// The same at a million rows, and where things come and go at random.
pub const WIDE_BAND: f64 = 1.15;

/// The rows of one library in one workload: the same work on equal states, in one way or in several.
pub struct Ways<S> {
    library: &'static str,
    make: Rc<dyn Fn() -> S>,
    digest: fn(&mut S) -> u64,
    /// Whether each sample gets a new state.
    fresh: bool,
    /// Whether the work is done once before it is timed.
    warm: bool,
    reps: usize,
    pub cases: Vec<Case>,
}

impl<S: 'static> Ways<S> {
    /// Rows that keep their state over all samples and do their work `reps` times in each.
    pub fn held(library: &'static str, make: impl Fn() -> S + 'static, reps: usize, digest: fn(&mut S) -> u64) -> Self {
        Ways { library, make: Rc::new(make), digest, fresh: false, warm: false, reps, cases: Vec::new() }
    }

    /// Rows that start each sample with a new state.
    pub fn fresh(library: &'static str, make: impl Fn() -> S + 'static, digest: fn(&mut S) -> u64) -> Self {
        Ways { fresh: true, ..Ways::held(library, make, 1, digest) }
    }

    /// Does the work once before it is timed: what is in cache then stays there.
    pub fn warm(self) -> Self {
        Ways { warm: true, ..self }
    }

    pub fn reps(self, reps: usize) -> Self {
        Ways { reps, ..self }
    }

    /// Adds a row. The label is the library's name, and the way if it has one.
    pub fn add(&mut self, way: &str, work: impl Fn(&mut S) + 'static) {
        let label = format!("{} {way}", self.library);
        let (make, digest, warm, reps) = (self.make.clone(), self.digest, self.warm, self.reps);
        let mut held = (!self.fresh).then(|| make());
        self.cases.push(Case::new(label.trim_end(), move |check| {
            let mut fresh;
            let state = match &mut held {
                Some(state) => state,
                None => {
                    fresh = make();
                    &mut fresh
                }
            };
            if warm {
                work(state);
            }
            let (amount, ()) = time(|| (0..reps).for_each(|_| work(black_box(&mut *state))));
            Sample { amount, digest: if check { digest(state) } else { 0 } }
        }));
    }
}

/// How long, and how often.
#[derive(Clone, Copy)]
pub struct Effort {
    /// For one workload, without making its states.
    pub budget: Duration,
    /// In each of which all states are made anew.
    pub passes: usize,
    /// How many rounds there are at least and at most in a pass, beside the first and the last.
    pub rounds: (usize, usize),
}

pub struct Row {
    pub label: String,
    pub min: f64,
    pub median: f64,
    pub samples: usize,
}

/// Runs a workload: its rows, and the labels of those whose digest is not that of most.
///
/// Each pass makes all states anew and in another order: where the allocator happens to put a column is worth ten
/// percent and more, and should not stick to one library. Its first round warms up and is not counted; results are
/// compared in the first and in the last.
pub fn run(workload: &Workload, effort: Effort) -> (Vec<Row>, Vec<String>) {
    let mut sampled = Sampled::default();
    let passes = if workload.unit == Unit::Bytes { 1 } else { effort.passes };
    for pass in 0..passes {
        let libraries = workload.build.len();
        let order = (0..libraries).map(|k| (k + pass * libraries / passes) % libraries);
        let mut cases: Vec<Case> = order.flat_map(|k| (workload.build[k])()).collect();
        sampled.compare(&cases.iter_mut().map(|case| (case.run)(true)).collect::<Vec<_>>(), &cases);
        let mut round = |first: usize, check: bool| {
            let mut samples: Vec<Sample> = Vec::new();
            for k in 0..cases.len() {
                let at = (first + k) % cases.len();
                samples.push((cases[at].run)(check));
                sampled.add(&cases[at].label, samples[k].amount / workload.ops);
            }
            if check {
                sampled.compare(&samples, &cases);
            }
        };
        let start = Instant::now();
        round(0, false);
        let (least, most) = effort.rounds;
        let share = effort.budget.as_secs_f64() / passes as f64;
        let rounds = (share / start.elapsed().as_secs_f64().max(1e-6)) as usize;
        let rounds = if workload.unit == Unit::Bytes { 0 } else { rounds.clamp(least, most) };
        (1..=rounds).for_each(|first| round(first, false));
        round(0, true);
    }
    sampled.finish()
}

/// What was sampled so far, by label.
#[derive(Default)]
struct Sampled {
    rows: Vec<(String, Vec<f64>)>,
    disagree: Vec<String>,
}

impl Sampled {
    fn add(&mut self, label: &str, amount: f64) {
        match self.rows.iter_mut().find(|row| row.0 == label) {
            Some(row) => row.1.push(amount),
            None => self.rows.push((label.to_owned(), vec![amount])),
        }
    }

    /// Notes whose digest is not that of most rows.
    fn compare(&mut self, samples: &[Sample], cases: &[Case]) {
        let alike = |digest: u64| samples.iter().filter(|sample| sample.digest == digest).count();
        let common = samples.iter().map(|sample| sample.digest).max_by_key(|digest| alike(*digest));
        for (case, sample) in cases.iter().zip(samples) {
            if Some(sample.digest) != common && !self.disagree.contains(&case.label) {
                self.disagree.push(case.label.clone());
            }
        }
    }

    fn finish(self) -> (Vec<Row>, Vec<String>) {
        let rows = self.rows.into_iter().map(|(label, mut samples)| {
            samples.sort_by(f64::total_cmp);
            Row { label, min: samples[0], median: samples[samples.len() / 2], samples: samples.len() }
        });
        (rows.collect(), self.disagree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(build: Vec<Build>) -> Workload {
        Workload { name: "w", about: "", ops: 2.0, op: "op", band: BAND, unit: Unit::Nanoseconds, build }
    }

    const EFFORT: Effort = Effort { budget: Duration::ZERO, passes: 3, rounds: (4, 4) };

    #[test]
    fn every_row_is_sampled_equally_often() {
        let row = |label: &'static str, amount: f64| -> Build {
            Box::new(move || vec![Case::new(label, move |_| Sample { amount, digest: 7 })])
        };
        let (rows, disagree) = run(&workload(vec![row("a", 10.0), row("b", 20.0)]), EFFORT);
        assert!(disagree.is_empty());
        assert_eq!(rows.iter().map(|row| (row.min, row.samples)).collect::<Vec<_>>(), [(5.0, 18), (10.0, 18)]);
    }

    #[test]
    fn a_row_with_another_result_is_named() {
        let library = |name: &'static str, step: u64| -> Build {
            Box::new(move || {
                let mut ways = Ways::held(name, || 0u64, 3, |sum| *sum);
                ways.add("by hand", move |sum| *sum += step);
                ways.cases
            })
        };
        let (_, disagree) = run(&workload(vec![library("a", 1), library("b", 1), library("c", 2)]), EFFORT);
        assert_eq!(disagree, ["c by hand"]);
    }
}
