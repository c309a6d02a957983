//! Three ways to remove from a dense container: every element of a sparse set, one by one, in three orders.

use crate::measuring::random::Random;
use crate::measuring::reference;
use crate::measuring::stats::Summary;
use crate::measuring::timing::time;
use phalanx_store::{Entity, EntityPool, SparseSet};
use serde::Serialize;
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How a value leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Way {
    /// The last value takes the place.
    Swap,
    /// All behind it move up.
    Shift,
    /// It is marked, and all holes are closed at the end.
    Deferred,
}

/// In which order they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    Reverse,
    Linear,
    Random,
}

impl Way {
    pub(crate) const ALL: [Way; 3] = [Way::Swap, Way::Shift, Way::Deferred];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Swap => "swap",
            Way::Shift => "shift",
            Way::Deferred => "deferred",
        }
    }
}

impl Order {
    pub(crate) const ALL: [Order; 3] = [Order::Reverse, Order::Linear, Order::Random];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Order::Reverse => "reverse",
            Order::Linear => "linear",
            Order::Random => "random",
        }
    }

    /// Whether shifting has a tail to move in this order: then the whole is quadratic.
    fn moves_tails(self) -> bool {
        self != Order::Reverse
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How many values are removed: the counts of the reference figures.
pub(crate) const COUNTS: [usize; 3] = [10_000, 100_000, 250_000];

/// What is known of a row.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// It was run.
    Measured(Summary),
    /// It would have taken too long: scaled up from a run over `from` values.
    Estimated {
        /// The expected nanoseconds.
        mean: f64,
        /// How many values the run had that this comes from.
        from: usize,
    },
}

/// One row of the table; the times are for removing all `count` values.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RemovalTime {
    pub(crate) way: Way,
    pub(crate) order: Order,
    pub(crate) count: usize,
    pub(crate) outcome: Outcome,
    /// The reference mean, in nanoseconds.
    pub(crate) reference_mean: Option<f64>,
}

impl RemovalTime {
    /// The mean in nanoseconds, measured or estimated.
    pub(crate) fn mean(&self) -> f64 {
        match self.outcome {
            Outcome::Measured(summary) => summary.mean,
            Outcome::Estimated { mean, .. } => mean,
        }
    }

    /// Returns how far runs lie from the mean. One run, or an estimate, does not tell.
    fn spread(&self) -> f64 {
        match self.outcome {
            Outcome::Measured(summary) => summary.std_dev.unwrap_or(0.0),
            Outcome::Estimated { .. } => 0.0,
        }
    }

    /// Returns whether the difference from another row is within the noise: the means are no further apart than the standard
    /// deviations reach.
    pub(crate) fn is_level_with(&self, other: &RemovalTime) -> bool {
        (self.mean() - other.mean()).abs() <= self.spread() + other.spread()
    }

    pub(crate) fn is_estimated(&self) -> bool {
        matches!(self.outcome, Outcome::Estimated { .. })
    }

    /// What a reader must know about the row beside its figures.
    pub(crate) fn note(&self) -> String {
        match self.outcome {
            Outcome::Measured(Summary { runs: 1, .. }) => "one run".to_string(),
            Outcome::Measured(Summary { runs, .. }) => format!("{runs} runs"),
            Outcome::Estimated { from, .. } => format!("not run, from {}k", from / 1000),
        }
    }
}

/// How much time the table may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For the runs of one row, once it has had the least number.
    pub(crate) share: Duration,
    pub(crate) least_runs: usize,
    pub(crate) most_runs: usize,
    /// The most values of the run from which a row is predicted.
    pub(crate) pilot: usize,
    /// A row predicted to take longer than this is run once.
    pub(crate) once: Duration,
    /// A row predicted to take longer than this is not run.
    pub(crate) longest: Duration,
    /// When the whole table must be done. A row predicted to go beyond is not run; one that does so all the same is
    /// given up.
    pub(crate) give_up: Instant,
}

/// The rows of one order and count, one for each way, taking turns.
pub(crate) fn measure(order: Order, count: usize, limits: Limits) -> [RemovalTime; 3] {
    let subject = Subject::new(order, count);
    let mut samples: [Vec<f64>; 3] = Default::default();
    let mut runs = [limits.most_runs; 3];
    let mut spent = [Duration::ZERO; 3];

    // Shifting is the one way whose time must be known before it is spent.
    // Only rows that know what to expect can end without a sample.
    let mut expected = Outcome::Estimated { mean: 0.0, from: 0 };
    let mut give_up = None;
    if order.moves_tails() {
        let from = (count / 10).clamp(1000, limits.pilot);
        let pilot = Subject::new(order, from).run(Way::Shift, None).unwrap_or_default();
        let mean = pilot * (count as f64 / from as f64).powi(2);
        expected = Outcome::Estimated { mean, from };
        give_up = Some(limits.give_up);
        let predicted = Duration::from_nanos(mean as u64);
        if predicted > limits.longest || predicted > limits.give_up.saturating_duration_since(Instant::now()) {
            runs[Way::Shift as usize] = 0;
        } else if predicted > limits.once {
            runs[Way::Shift as usize] = 1;
        }
    }

    // The first run of each way warms up and is not counted, unless it is to be the only one.
    for way in Way::ALL {
        if runs[way as usize] > 1 {
            subject.run(way, give_up);
        }
    }
    let mut begun = true;
    while begun {
        begun = false;
        for way in Way::ALL {
            let who = way as usize;
            if samples[who].len() < runs[who] && (samples[who].len() < limits.least_runs || spent[who] < limits.share) {
                let start = Instant::now();
                match subject.run(way, give_up) {
                    Some(nanos) => samples[who].push(nanos),
                    None => runs[who] = 0,
                }
                // Refilling counts here: it is the table's time, if not the row's.
                spent[who] += start.elapsed();
                begun = true;
            }
        }
    }
    Way::ALL.map(|way| {
        let measured = Summary::of(&samples[way as usize]).map(Outcome::Measured);
        let outcome = measured.unwrap_or(expected);
        RemovalTime { way, order, count, outcome, reference_mean: reference::removal_mean(way, order, count) }
    })
}

/// The entities of one run, as they come and as they go.
struct Subject {
    entities: Vec<Entity>,
    leaving: Vec<Entity>,
}

impl Subject {
    fn new(order: Order, count: usize) -> Subject {
        let mut pool = EntityPool::new();
        let entities: Vec<Entity> = (0..count).map(|_| pool.alloc()).collect();
        let mut leaving = entities.clone();
        match order {
            Order::Reverse => leaving.reverse(),
            Order::Linear => {}
            Order::Random => Random::new(0x5eed).shuffle(&mut leaving),
        }
        Subject { entities, leaving }
    }

    fn filled(&self) -> SparseSet<Entity, u64> {
        let mut set = SparseSet::new();
        for (number, &entity) in self.entities.iter().enumerate() {
            set.insert(entity, number as u64);
        }
        set
    }

    /// The nanoseconds of removing everything from a set filled for the purpose. `None` if shifting was
    /// not done by `give_up`.
    fn run(&self, way: Way, give_up: Option<Instant>) -> Option<f64> {
        let mut set = self.filled();
        let nanos = time(|| {
            let set = black_box(&mut set);
            match way {
                Way::Swap => self.leaving.iter().for_each(|&entity| _ = set.swap_remove(entity)),
                Way::Shift => {
                    // The clock is looked at so rarely that it does not show in the time.
                    for some in self.leaving.chunks(1000) {
                        if give_up.is_some_and(|late| Instant::now() > late) {
                            break;
                        }
                        some.iter().for_each(|&entity| _ = set.shift_remove(entity));
                    }
                }
                Way::Deferred => {
                    self.leaving.iter().for_each(|&entity| _ = set.remove_in_place(entity));
                    set.compact();
                }
            }
        });
        set.is_empty().then_some(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(longest: Duration) -> Limits {
        Limits {
            share: Duration::from_millis(1),
            least_runs: 1,
            most_runs: 3,
            pilot: 1000,
            once: Duration::from_secs(1),
            longest,
            give_up: Instant::now() + Duration::from_secs(60),
        }
    }

    #[test]
    fn every_way_empties_the_set() {
        for order in Order::ALL {
            let rows = measure(order, 1000, limits(Duration::from_secs(5)));
            assert_eq!(rows.map(|row| row.way), Way::ALL);
            assert!(rows.iter().all(|row| matches!(row.outcome, Outcome::Measured(s) if s.runs >= 1 && s.mean > 0.0)));
        }
    }

    #[test]
    fn what_would_take_too_long_is_estimated_and_says_so() {
        let [swap, shift, deferred] = measure(Order::Linear, 10_000, limits(Duration::ZERO));
        assert!(matches!(shift.outcome, Outcome::Estimated { mean, from: 1000 } if mean > 0.0));
        assert_eq!(shift.note(), "not run, from 1k");
        assert!(matches!(swap.outcome, Outcome::Measured(_)) && matches!(deferred.outcome, Outcome::Measured(_)));
    }

    #[test]
    fn what_takes_longer_than_thought_is_given_up() {
        let subject = Subject::new(Order::Linear, 2000);
        assert_eq!(subject.run(Way::Shift, Some(Instant::now())), None);
        assert!(subject.run(Way::Shift, None).is_some());
        let limits = Limits { give_up: Instant::now(), ..limits(Duration::from_secs(60)) };
        let [swap, shift, deferred] = measure(Order::Linear, 5000, limits);
        assert!(matches!(shift.outcome, Outcome::Estimated { .. }));
        assert!(matches!(swap.outcome, Outcome::Measured(_)) && matches!(deferred.outcome, Outcome::Measured(_)));
    }

    #[test]
    fn long_rows_run_once_and_say_so() {
        let limits = Limits { once: Duration::ZERO, ..limits(Duration::from_secs(60)) };
        let [_, shift, _] = measure(Order::Random, 2000, limits);
        assert_eq!(shift.note(), "one run");
    }
}
