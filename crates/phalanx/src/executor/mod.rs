//! Executors: where parallel loops get their threads from.
//!
//! A parallel loop, such as [`Query::par_for_each_on`](crate::Query::par_for_each_on), takes an [`Executor`]. There is no global
//! pool: a [`ThreadPool`] is a value that you own.
//!
//! | executor | threads |
//! |---|---|
//! | [`Inline`] | the calling thread only |
//! | [`ThreadPool`] | its own threads and the calling thread |
#![cfg_attr(feature = "parallel", doc = "| [`Rayon`] | those of rayon's current pool and the calling thread |")]
//! | your own | [`Executor`] is safe to implement |
//!
//! ```
//! use phalanx::executor::{Executor, Inline, ThreadPool};
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! // Work takes what is left, until nothing is left. Any number of calls on any threads gives the same result.
//! let next = AtomicU32::new(0);
//! let sum = AtomicU32::new(0);
//! let work = || {
//!     while let Ok(number) = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < 100).then_some(n + 1)) {
//!         sum.fetch_add(number, Ordering::Relaxed);
//!     }
//! };
//! let pool = ThreadPool::new(4);
//! pool.run(pool.width(), &work);
//! Inline.run(1, &work);
//! work();
//! assert_eq!(sum.into_inner(), 4950);
//! ```

mod batches;
#[allow(clippy::module_inception)]
mod executor;
mod inline;
mod job_slot;
mod panic_payload;
#[cfg(feature = "parallel")]
mod rayon;
mod sleepers;
mod sync;
mod thread_pool;

pub(crate) use batches::{Pace, map_batches, run_batches};
pub use executor::Executor;
pub use inline::Inline;
#[cfg(feature = "parallel")]
pub use rayon::Rayon;
pub use thread_pool::ThreadPool;
