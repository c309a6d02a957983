//! Three ways to remove from a dense container: every element of a sparse set, one by one, in three orders.

use crate::measuring::random::Random;
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

/// How many values are removed.
pub(crate) const COUNTS: [usize; 3] = [10_000, 100_000, 250_000];

/// One row of the table; the times are for removing all `count` values.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RemovalTime {
    pub(crate) way: Way,
    pub(crate) order: Order,
    pub(crate) count: usize,
    pub(crate) time: Summary,
    /// If the row was not run: the number of values of the run that its time is scaled up from, by the square.
    pub(crate) estimated_from: Option<usize>,
}

/// How much time the table may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For the runs of one row, once it has had the least number.
    share: Duration,
    least_runs: usize,
    most_runs: usize,
    /// A row predicted to take longer than this is run once.
    once: Duration,
    /// What is not run, if anything.
    skip: Option<Skip>,
}

/// Which rows are not run.
#[derive(Clone, Copy, Debug)]
struct Skip {
    /// A row predicted to take longer than this is not run.
    longest: Duration,
    /// When the whole table must be done. A row predicted to go beyond is not run; one that does so all the same is
    /// given up.
    give_up: Instant,
}

impl Limits {
    /// A few seconds for the whole table, with estimates for rows that would take longer.
    pub(crate) fn quick() -> Limits {
        let skip = Skip { longest: Duration::from_millis(300), give_up: Instant::now() + Duration::from_secs(4) };
        let (share, once) = (Duration::from_millis(60), Duration::from_millis(80));
        Limits { share, least_runs: 3, most_runs: 25, once, skip: Some(skip) }
    }

    /// Every row is run.
    pub(crate) fn full() -> Limits {
        let (share, once) = (Duration::from_millis(600), Duration::from_secs(3));
        Limits { share, least_runs: 5, most_runs: 100, once, skip: None }
    }
}

/// The most values of a run from which a row is predicted.
const PILOT: usize = 10_000;

/// Measures the rows of one order and count, one for each way, taking turns.
pub(crate) fn measure(order: Order, count: usize, limits: Limits) -> [RemovalTime; 3] {
    let subject = Subject::new(order, count);
    let mut samples: [Vec<f64>; 3] = Default::default();
    let mut runs = [limits.most_runs; 3];
    let mut spent = [Duration::ZERO; 3];

    // Shifting is the one way whose time must be known before it is spent.
    let mut expected = None;
    let give_up = limits.skip.map(|skip| skip.give_up).filter(|_| order.moves_tails());
    if order.moves_tails() {
        let from = (count / 10).clamp(1000, PILOT);
        let pilot = Subject::new(order, from);
        let pilots: Vec<f64> = (0..3).filter_map(|_| pilot.run(Way::Shift, None)).collect();
        let median = Summary::of(&pilots).map_or(0.0, |pilot| pilot.median) * (count as f64 / from as f64).powi(2);
        expected = Some((from, Summary::estimate(median)));
        let predicted = Duration::from_nanos(median as u64);
        let is_skipped =
            |skip: Skip| predicted > skip.longest || predicted > skip.give_up.saturating_duration_since(Instant::now());
        if limits.skip.is_some_and(is_skipped) {
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
        // Only rows that know what to expect can end without a sample.
        let (estimated_from, time) = match (Summary::of(&samples[way as usize]), expected) {
            (Some(time), _) => (None, time),
            (None, Some((from, time))) => (Some(from), time),
            (None, None) => (None, Summary::estimate(0.0)),
        };
        RemovalTime { way, order, count, time, estimated_from }
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
        let skip = Skip { longest, give_up: Instant::now() + Duration::from_secs(60) };
        let (share, once) = (Duration::from_millis(1), Duration::from_secs(1));
        Limits { share, least_runs: 1, most_runs: 3, once, skip: Some(skip) }
    }

    fn is_measured(row: &RemovalTime) -> bool {
        row.time.runs >= 1 && row.time.median > 0.0 && row.estimated_from.is_none()
    }

    #[test]
    fn every_way_empties_the_set() {
        for order in Order::ALL {
            let rows = measure(order, 1000, limits(Duration::from_secs(5)));
            assert_eq!(rows.map(|row| row.way), Way::ALL);
            assert!(rows.iter().all(is_measured), "{rows:?}");
        }
    }

    #[test]
    fn what_would_take_too_long_is_estimated_and_says_so() {
        let [swap, shift, deferred] = measure(Order::Linear, 10_000, limits(Duration::ZERO));
        assert!(shift.estimated_from == Some(1000) && shift.time.is_estimate() && shift.time.median > 0.0);
        assert!(is_measured(&swap) && is_measured(&deferred));
        // A full run estimates nothing.
        let full = Limits { skip: None, ..limits(Duration::ZERO) };
        assert!(measure(Order::Linear, 3000, full).iter().all(is_measured));
    }

    #[test]
    fn what_takes_longer_than_thought_is_given_up() {
        let subject = Subject::new(Order::Linear, 2000);
        assert_eq!(subject.run(Way::Shift, Some(Instant::now())), None);
        assert!(subject.run(Way::Shift, None).is_some());
        let skip = Skip { longest: Duration::from_secs(60), give_up: Instant::now() };
        let [swap, shift, deferred] =
            measure(Order::Linear, 5000, Limits { skip: Some(skip), ..limits(Duration::ZERO) });
        assert!(shift.estimated_from.is_some() && is_measured(&swap) && is_measured(&deferred));
    }

    #[test]
    fn long_rows_run_once() {
        let limits = Limits { once: Duration::ZERO, ..limits(Duration::from_secs(60)) };
        let [_, shift, _] = measure(Order::Random, 2000, limits);
        assert_eq!(shift.time.runs, 1);
    }
}
