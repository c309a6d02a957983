//! [`Queue`]: requests on their way to the loop of the program.

use crate::request::Request;
use crate::response::Response;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The number of requests that can wait.
pub(crate) const JOB_LIMIT: usize = 64;

/// A request and where its answer goes.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) reply: oneshot::Sender<Response>,
}

/// Requests on their way to the loop of the program, shared with the thread of the server.
///
/// The loop looks at `work` only, until there is something to do.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Whether there may be something to do.
    work: AtomicBool,
    /// The number of updates that did something.
    beats: AtomicU64,
    jobs: Mutex<VecDeque<Job>>,
    arrived: Condvar,
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, VecDeque<Job>> {
        // A list of jobs is whole at any time.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job. Returns it if there are too many.
    pub(crate) fn push(&self, job: Job) -> Result<(), Job> {
        let mut jobs = self.jobs();
        jobs.retain(|job| !job.reply.is_closed());
        if jobs.len() >= JOB_LIMIT {
            return Err(job);
        }
        jobs.push_back(job);
        self.work.store(true, Ordering::Release);
        drop(jobs);
        self.arrived.notify_one();
        Ok(())
    }

    /// Returns `true` if there may be something to do.
    #[inline(always)]
    pub(crate) fn has_work(&self) -> bool {
        self.work.load(Ordering::Relaxed)
    }

    /// Takes the next job whose client still waits.
    pub(crate) fn pop(&self) -> Option<Job> {
        let mut jobs = self.jobs();
        let job = loop {
            match jobs.pop_front() {
                Some(job) if job.reply.is_closed() => drop(job),
                job => break job,
            }
        };
        if jobs.is_empty() {
            self.work.store(false, Ordering::Relaxed);
        }
        job
    }

    /// Makes the next update look for work, because a job is not done.
    pub(crate) fn keep_working(&self) {
        self.work.store(true, Ordering::Relaxed);
    }

    /// Records that an update did something.
    pub(crate) fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of updates that did something.
    pub(crate) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Waits for a job, for some time.
    pub(crate) fn wait(&self, time: Duration) {
        let jobs = self.jobs();
        if jobs.is_empty() {
            drop(self.arrived.wait_timeout(jobs, time));
        }
    }
}
