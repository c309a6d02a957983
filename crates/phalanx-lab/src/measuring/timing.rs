//! Timing contenders against each other.
//!
//! A machine speeds up, slows down and is interrupted while a program measures. Contenders that take turns share that weather.

use std::time::{Duration, Instant};

/// One contender: runs once and says how long it took, in nanoseconds, without its preparation.
pub(crate) type Run<'a> = Box<dyn FnMut() -> f64 + 'a>;

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds that are run whatever they take.
    pub(crate) least: usize,
    /// Rounds after which it is enough.
    pub(crate) most: usize,
    /// Between the two, a round is begun while less than this has passed.
    pub(crate) share: Duration,
}

/// The nanoseconds that `work` takes.
pub(crate) fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// The nanoseconds of one of `passes` runs of `work`, on average: for work too short to be timed alone.
pub(crate) fn mean_of(passes: usize, mut work: impl FnMut()) -> f64 {
    let total = time(|| {
        for _ in 0..passes {
            work();
        }
    });
    total / passes as f64
}

/// Runs all contenders in rounds, each round beginning with another one, and returns the samples of each.
pub(crate) fn interleave(effort: Effort, contenders: &mut [Run<'_>]) -> Vec<Vec<f64>> {
    let mut samples = vec![Vec::new(); contenders.len()];
    let start = Instant::now();
    for round in 0..effort.most {
        if round >= effort.least && start.elapsed() >= effort.share {
            break;
        }
        for turn in 0..contenders.len() {
            let who = (round + turn) % contenders.len();
            samples[who].push(contenders[who]());
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn rounds_rotate_and_stop() {
        let order = RefCell::new(String::new());
        let mut contenders: Vec<Run<'_>> = Vec::new();
        for name in ['a', 'b', 'c'] {
            let order = &order;
            contenders.push(Box::new(move || {
                order.borrow_mut().push(name);
                name as u32 as f64
            }));
        }
        let effort = Effort { least: 1, most: 4, share: Duration::from_secs(60) };
        let samples = interleave(effort, &mut contenders);
        drop(contenders);
        assert_eq!(order.into_inner(), "abcbcacababc");
        assert!(samples.iter().all(|s| s.len() == 4));
        assert_eq!(samples[1], [98.0; 4]);
    }

    #[test]
    fn the_least_rounds_are_run_however_late_it_is() {
        let effort = Effort { least: 3, most: 9, share: Duration::ZERO };
        let samples = interleave(effort, &mut [Box::new(|| 1.0)]);
        assert_eq!(samples[0].len(), 3);
    }
}
