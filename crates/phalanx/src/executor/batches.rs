//! Jobs of numbered batches.

use super::Executor;
use super::panic_payload::{PanicPayload, discard};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

/// When other threads are asked for help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At once.
    Parallel,
    /// When the rest is expected to take longer than [`WORTH`]. Until then the caller works alone.
    Measured,
}

/// The time from which on it pays to ask other threads for help.
///
/// Measured with two threads: a helper that spins pays from 5 to 10 µs on, one that sleeps from 25 to 35 µs on.
const WORTH: Duration = Duration::from_micros(25);

/// The most batches between two measurements.
const MOST_BATCHES: usize = 16;

/// Calls `visit` with ranges of the numbers below `count`, so that each number is in one range.
///
/// Ranges of several numbers are visited by the caller only, in order, before other threads start.
///
/// No number is visited twice, whatever the executor does. Unsafe code relies on that.
///
/// # Panics
///
/// Panics if a call of `visit` does, with the payload of the lowest number that panics. No other call is running then. Numbers
/// above it may not have been visited.
pub(crate) fn run_batches<E>(executor: &E, count: usize, pace: Pace, visit: impl Fn(Range<usize>) + Sync)
where
    E: Executor + ?Sized,
{
    let width = executor.width().min(count);
    if width <= 1 {
        return if count > 0 {
            visit(0..count)
        };
    }
    let first = if pace == Pace::Measured { visit_alone(count, &visit) } else { 0 };
    let width = width.min(count - first);
    if width == 0 {
        return;
    }
    let claims = Claims { next: AtomicUsize::new(first), count };
    let panics = LowestPanic { number: AtomicUsize::new(usize::MAX), payload: Mutex::new(None) };
    let work = || {
        while let Some(number) = claims.claim() {
            // All lower numbers have been claimed before. So the lowest that panics is always visited.
            if number < panics.number.load(Ordering::Relaxed)
                && let Err(payload) = catch_unwind(AssertUnwindSafe(|| visit(number..number + 1)))
            {
                panics.carry(number, payload);
            }
        }
    };
    executor.run(width, &work);
    work();
    if let Some((_, payload)) = panics.payload.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(payload);
    }
}

/// Returns the results of `visit` for the numbers below `count`, in order.
///
/// # Panics
///
/// Panics like [`run_batches`].
pub(crate) fn map_batches<E, T>(executor: &E, count: usize, pace: Pace, visit: impl Fn(usize) -> T + Sync) -> Vec<T>
where
    E: Executor + ?Sized,
    T: Send,
{
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    run_batches(executor, count, pace, |numbers| {
        for number in numbers {
            let result = visit(number);
            *results[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    });
    let take = |result: Mutex<Option<T>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(take).collect()
}

/// Visits numbers on this thread as long as the rest is expected to take less than [`WORTH`]. Returns the next number.
fn visit_alone(count: usize, visit: impl Fn(Range<usize>)) -> usize {
    // There is no clock on such targets, and asking for the time panics.
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        return 0;
    }
    let start = std::time::Instant::now();
    let (mut next, mut step) = (0, 1);
    while next < count {
        let end = count.min(next + step);
        visit(next..end);
        next = end;
        let rest = start.elapsed().as_nanos() * (count - next) as u128 / next as u128;
        if rest > WORTH.as_nanos() {
            break;
        }
        step = MOST_BATCHES.min(step * 4);
    }
    next
}

/// Numbers that are given out once.
struct Claims {
    next: AtomicUsize,
    count: usize,
}

impl Claims {
    fn claim(&self) -> Option<usize> {
        // Threads that find all numbers taken add nothing. Otherwise many calls of hostile executors could wrap the counter.
        if self.next.load(Ordering::Relaxed) >= self.count {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }
}

/// The panic of the lowest number.
struct LowestPanic {
    number: AtomicUsize,
    payload: Mutex<Option<(usize, PanicPayload)>>,
}

impl LowestPanic {
    fn carry(&self, number: usize, payload: PanicPayload) {
        self.number.fetch_min(number, Ordering::Relaxed);
        let higher = {
            let mut lowest = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
            if lowest.as_ref().is_none_or(|(lowest, _)| number < *lowest) {
                lowest.replace((number, payload)).map(|(_, payload)| payload)
            } else {
                Some(payload)
            }
        };
        higher.into_iter().for_each(discard);
    }
}
