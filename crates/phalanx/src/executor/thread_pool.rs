//! Threads that help with jobs.

use super::Executor;
use super::job_slot::{JobNumber, JobSlot};
use super::sleepers::Sleepers;
use super::sync::{AtomicBool, Builder, JoinHandle, Ordering, spin};
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

/// A pool of threads that help with jobs.
///
/// The thread that starts a job works on it, too. The threads of the pool, its *helpers*, join while the job is open. A
/// helper that comes too late finds it closed, and the job never waits for a helper that has not joined. So a job takes hardly
/// longer than without helpers, even if the machine is busy.
///
/// Helpers spin for about 2 µs after a job, and then sleep. [`with_spin`](ThreadPool::with_spin) chooses another time.
///
/// Jobs can be started from several threads at once, and inside of other jobs. Helpers join any job that is open.
///
/// # Panics in work
///
/// If `work` panics on some thread, [`run`](Executor::run) waits until all threads are out of it, and panics with the same
/// payload. The panic of the calling thread goes first.
///
/// # Targets without threads
///
/// Where threads cannot be started, as on `wasm32-unknown-unknown`, a pool has the calling thread only.
#[doc(alias = "TaskPool")]
#[doc(alias = "ThreadPoolBuilder")]
pub struct ThreadPool {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
}

/// What the helpers share.
struct Shared {
    sleepers: Sleepers,
    jobs: Box<[JobSlot]>,
    is_over: AtomicBool,
    spin: Duration,
}

impl ThreadPool {
    /// Creates a pool in which `threads` threads work on a job, the calling thread included: it starts one thread less.
    ///
    /// Threads that the system does not start are left out. [`width`](Executor::width) returns how many there are.
    pub fn new(threads: usize) -> ThreadPool {
        ThreadPool::with_spin(threads, Duration::from_micros(2))
    }

    /// Like [`new`](ThreadPool::new), but helpers spin for this time after a job, before they sleep.
    ///
    /// A helper that spins joins within 0.2 µs. One that sleeps needs 5 µs and more, of which the calling thread pays about 3 µs.
    /// On the other hand, a helper that spins takes the processor from other threads.
    pub fn with_spin(threads: usize, spin: Duration) -> ThreadPool {
        let most = threads.saturating_sub(1).min(JobSlot::MOST_HELPERS);
        let shared = Arc::new(Shared {
            sleepers: Sleepers::new(most),
            // For a job of each thread, and one inside of each. Further ones have no helpers.
            jobs: (0..if most == 0 { 0 } else { 2 * (most + 1) }).map(|_| JobSlot::new()).collect(),
            is_over: AtomicBool::new(false),
            spin,
        });
        let mut pool = ThreadPool { shared, helpers: Vec::with_capacity(most) };
        for number in 0..most {
            let shared = Arc::clone(&pool.shared);
            match Builder::new().name(format!("phalanx-{}", number + 1)).spawn(move || shared.help(number)) {
                Ok(helper) => pool.helpers.push(helper),
                Err(_) => break,
            }
        }
        pool
    }
}

impl Default for ThreadPool {
    /// Creates a pool with as many threads as [`std::thread::available_parallelism`] returns.
    fn default() -> ThreadPool {
        ThreadPool::new(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Executor for ThreadPool {
    fn run(&self, width: usize, work: &(dyn Fn() + Sync)) {
        let helpers = width.min(self.width()).saturating_sub(1);
        let has_run = helpers > 0
            && self.shared.jobs.iter().any(|job| job.offer(helpers, work, || self.shared.sleepers.notify_one()));
        if !has_run {
            work();
        }
    }

    fn width(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Helpers join jobs only between jobs, and the owner of a job only waits.
    fn may_nest(&self) -> bool {
        false
    }
}

impl Shared {
    /// Joins open jobs until the pool is dropped.
    fn help(&self, number: usize) {
        let mut last = vec![JobNumber::NONE; self.jobs.len()];
        loop {
            let now = self.sleepers.now();
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let mut has_joined = false;
            for (job, last) in self.jobs.iter().zip(&mut last) {
                has_joined |= job.join(last, |openings| {
                    // Each helper wakes the next, so that the owner of the job wakes only one.
                    if openings > 0 && self.sleepers.any() {
                        self.sleepers.wake_one();
                    }
                });
            }
            if !has_joined && !spin(self.spin, || self.sleepers.now() != now) {
                self.sleepers.sleep(number, now);
            }
        }
    }
}

impl Drop for ThreadPool {
    /// Waits until all threads have ended.
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.sleepers.notify_all();
        for helper in self.helpers.drain(..) {
            // A helper catches all panics of work.
            let _ = helper.join();
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("width", &self.width()).finish()
    }
}
