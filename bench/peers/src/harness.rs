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
    pub most_rounds: usize,
}

pub struct Row {
    pub label: String,
    pub min: f64,
    pub median: f64,
    pub samples: usize,
}

/// Runs a workload: its rows, and the labels of those whose digest is not the first one's.
///
/// Each pass makes all states anew and in another order: where the allocator happens to put a column is worth ten
/// percent and more, and should not stick to one library.
pub fn run(workload: &Workload, effort: Effort) -> (Vec<Row>, Vec<String>) {
    let mut samples: Vec<(String, Vec<f64>)> = Vec::new();
    let mut disagree = Vec::new();
    let passes = if workload.unit == Unit::Bytes { 1 } else { effort.passes };
    for pass in 0..passes {
        let libraries = workload.build.len();
        let order = (0..libraries).map(|k| (k + pass * libraries / passes) % libraries);
        let mut cases: Vec<Case> = order.flat_map(|k| (workload.build[k])()).collect();
        let places: Vec<usize> = cases
            .iter()
            .map(|case| {
                samples.iter().position(|(label, _)| *label == case.label).unwrap_or_else(|| {
                    samples.push((case.label.clone(), Vec::new()));
                    samples.len() - 1
                })
            })
            .collect();
        check(&mut cases, &mut disagree);
        // A round without digests, to learn how many there is time for.
        let start = Instant::now();
        cases.iter_mut().for_each(|case| drop((case.run)(false)));
        let round = start.elapsed().as_secs_f64().max(1e-6);
        let rounds = (effort.budget.as_secs_f64() / passes as f64 / round) as usize;
        let rounds = if workload.unit == Unit::Bytes { 1 } else { rounds.clamp(3, effort.most_rounds) };
        for round in 0..rounds {
            for k in 0..cases.len() {
                let at = (round + k) % cases.len();
                samples[places[at]].1.push((cases[at].run)(false).amount / workload.ops);
            }
        }
        check(&mut cases, &mut disagree);
    }
    let rows = samples.into_iter().map(|(label, mut samples)| {
        samples.sort_by(f64::total_cmp);
        Row { label, min: samples[0], median: samples[samples.len() / 2], samples: samples.len() }
    });
    (rows.collect(), disagree)
}

fn check(cases: &mut [Case], disagree: &mut Vec<String>) {
    let digests: Vec<u64> = cases.iter_mut().map(|case| (case.run)(true).digest).collect();
    for (case, digest) in cases.iter().zip(&digests) {
        if *digest != digests[0] && !disagree.contains(&case.label) {
            disagree.push(case.label.clone());
        }
    }
}
