//! [`check`]: compares runs of a schedule on one thread, in other orders, and on several threads.

use crate::run_error::RunError;
use crate::schedule::{Schedule, Threads};
use core::fmt;
use phalanx::World;
use phalanx::executor::ThreadPool;
use phalanx::snapshot::{Difference, Registry, SaveError, diff};

/// How much [`check`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The number of runs of the schedule in each world.
    pub runs: u32,
    /// The number of other orders that are tried on one thread.
    pub orders: u32,
    /// The largest number of threads. All numbers from two on are tried.
    pub threads: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions { runs: 10, orders: 8, threads: 4 }
    }
}

/// How systems were run when the result differed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// On one thread, in the order of the schedule.
    Serial,
    /// On one thread, in another order that the schedule allows.
    Shuffled {
        /// The number of the order.
        seed: u64,
    },
    /// On several threads.
    Threads(usize),
}

/// What [`check`] found.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// The result differs from that of a run on one thread, in the order of the schedule.
    Differs {
        /// How the systems were run.
        variant: Variant,
        /// The number of the run after which the worlds differ, from zero on.
        run: u32,
        /// The first difference. The first world is the one that was run on one thread.
        difference: Difference,
    },
    /// A system failed.
    Run {
        /// How the systems were run.
        variant: Variant,
        /// The system.
        error: RunError,
    },
    /// A world cannot be compared.
    Save(SaveError),
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variant::Serial => f.write_str("on one thread"),
            Variant::Shuffled { seed } => write!(f, "on one thread, in order {seed}"),
            Variant::Threads(count) => write!(f, "on {count} threads"),
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Differs { variant, run, difference } => {
                write!(f, "the result {variant} differs from that on one thread after run {run}: {difference}")
            }
            CheckError::Run { variant, error } => write!(f, "{variant}: {error}"),
            CheckError::Save(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CheckError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            CheckError::Differs { .. } => None,
            CheckError::Run { error, .. } => Some(error),
            CheckError::Save(error) => Some(error),
        }
    }
}

impl From<SaveError> for CheckError {
    fn from(error: SaveError) -> Self {
        CheckError::Save(error)
    }
}

/// Runs a schedule on one thread, in other orders that it allows, and on several threads, and compares the worlds after each run.
///
/// `make` creates a world and its schedule. It is called once for each variant, so that [`Local`](phalanx::system::Local) values
/// start again, too.
///
/// The result of a schedule never depends on threads, as far as systems touch only their parameters. This finds systems that
/// touch something else: a static, a clock, or a value with interior mutability.
///
/// ```
/// use phalanx::snapshot::Registry;
/// use phalanx::{Component, Query, World};
/// use phalanx_schedule::{CheckOptions, Schedule, check};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// #[derive(Component, serde::Serialize, serde::Deserialize)]
/// struct A(u32);
/// #[derive(Component, serde::Serialize, serde::Deserialize)]
/// struct B(u32);
/// static NEXT: AtomicU32 = AtomicU32::new(0);
///
/// let mut registry = Registry::new();
/// registry.serde::<A>("a")?;
/// registry.serde::<B>("b")?;
/// let make = || {
///     NEXT.store(0, Ordering::Relaxed);
///     let mut world = World::new();
///     world.spawn((A(0), B(0)));
///     // Both use a static, which the schedule does not know of.
///     let a = |mut a: Query<&mut A>| a.single_mut().unwrap().0 = NEXT.fetch_add(1, Ordering::Relaxed);
///     let b = |mut b: Query<&mut B>| b.single_mut().unwrap().0 = NEXT.fetch_add(1, Ordering::Relaxed);
///     let schedule = Schedule::builder("frame").add((a, b)).build(&mut world).unwrap();
///     (world, schedule)
/// };
/// let error = check(&registry, make, CheckOptions::default()).unwrap_err();
/// assert!(error.to_string().contains("a of 0v0 differs"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`CheckError::Differs`] names the first entity and component that differ.
/// - [`CheckError::Run`] if a system fails.
/// - [`CheckError::Save`] if the registry cannot compare a world.
pub fn check(
    registry: &Registry,
    make: impl Fn() -> (World, Schedule),
    options: CheckOptions,
) -> Result<(), CheckError> {
    let shuffled = (0..u64::from(options.orders)).map(|seed| Variant::Shuffled { seed });
    for variant in shuffled.chain((2..=options.threads).map(Variant::Threads)) {
        let (mut serial, mut other) = (make(), make());
        other.1.set_threads(Threads::Always);
        let pool = match variant {
            Variant::Threads(count) => ThreadPool::new(count),
            _ => ThreadPool::new(1),
        };
        for run in 0..options.runs {
            let failed = |variant| move |error| CheckError::Run { variant, error };
            serial.1.try_run(&mut serial.0).map_err(failed(Variant::Serial))?;
            match variant {
                Variant::Shuffled { seed } => other.1.run_shuffled(&mut other.0, seed + u64::from(run) * 1000),
                _ => other.1.try_run_on(&pool, &mut other.0),
            }
            .map_err(failed(variant))?;
            if let Some(difference) = diff(registry, &serial.0, &other.0)? {
                return Err(CheckError::Differs { variant, run, difference });
            }
        }
    }
    Ok(())
}
