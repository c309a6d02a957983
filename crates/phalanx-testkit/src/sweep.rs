//! Drivers that fail an operation at each of its points in turn.

use core::fmt::Debug;

use crate::{Site, Tally, catch, fail_from, fail_nth, measure};

const AT_MOST: u64 = 100_000;

/// Runs an operation once for each allocation it makes, with that allocation failing.
///
/// Shorthand for [`AllocationSweep`] as it stands; see [`AllocationSweep::run`].
///
/// # Panics
/// Panics like [`AllocationSweep::run`].
#[track_caller]
pub fn for_every_failing_allocation<S, T, E: Debug>(
    setup: impl FnMut() -> S,
    operation: impl FnMut(&mut S) -> Result<T, E>,
    check: impl FnMut(&mut S, &Result<T, E>),
) -> u64 {
    AllocationSweep::new().run(setup, operation, check)
}

/// Fails the first allocation of an operation, then the second, … until it makes no more.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllocationSweep {
    persistent: bool,
    swallowing: bool,
    leaking: bool,
}

impl AllocationSweep {
    /// Creates a strict sweep: one allocation fails per run, the failure must be returned as an
    /// error, and nothing may leak.
    pub const fn new() -> Self {
        Self { persistent: false, swallowing: false, leaking: false }
    }

    /// Makes every allocation after the failing one fail as well.
    ///
    /// A panic inside the operation would then abort, as its payload cannot be allocated.
    pub const fn persistent(mut self) -> Self {
        self.persistent = true;
        self
    }

    /// Allows the operation to succeed in spite of a failed allocation, for operations that document
    /// it, such as shrinking.
    pub const fn allow_swallowed(mut self) -> Self {
        self.swallowing = true;
        self
    }

    /// Allows a run to leak memory.
    pub const fn allow_leaks(mut self) -> Self {
        self.leaking = true;
        self
    }

    /// Runs the sweep and returns how many allocations could fail.
    ///
    /// Each run calls `setup` with memory enough, `operation` with one allocation failing, then
    /// `check` with memory enough, and drops what `setup` made. The last run has no failure and
    /// must succeed, which proves that the sweep reached the end.
    ///
    /// # Panics
    /// Panics if a failure is not returned as an error, if the last run fails, if a run leaks memory,
    /// if there is no end after 100,000 runs, or if no [`Allocator`](crate::Allocator) is
    /// installed.
    #[track_caller]
    pub fn run<S, T, E: Debug>(
        self,
        mut setup: impl FnMut() -> S,
        mut operation: impl FnMut(&mut S) -> Result<T, E>,
        mut check: impl FnMut(&mut S, &Result<T, E>),
    ) -> u64 {
        for n in 1..=AT_MOST {
            let (fired, usage) = measure(|| {
                let mut state = setup();
                let (outcome, fired) = if self.persistent {
                    fail_from(n, || operation(&mut state))
                } else {
                    fail_nth(n, || operation(&mut state))
                };
                match &outcome {
                    Ok(_) if fired && !self.swallowing => {
                        panic!("allocation {n} failed and the operation did not say so")
                    }
                    Err(error) if !fired => panic!("the operation failed with memory enough: {error:?}"),
                    _ => {}
                }
                check(&mut state, &outcome);
                fired
            });
            assert!(
                self.leaking || (usage.bytes_live_delta == 0 && usage.blocks_live_delta == 0),
                "after failing allocation {n}, {} bytes in {} blocks are left",
                usage.bytes_live_delta,
                usage.blocks_live_delta
            );
            if !fired {
                return n - 1;
            }
        }
        panic!("allocations still fail after {AT_MOST} runs")
    }
}

/// Calls `run` with 1, 2, 3, … until nothing panics. Returns the number of panics.
///
/// For operations that do not fit [`PanicSweep`]: `run` sets everything up, makes the k-th event
/// panic, checks, and returns whether the panic came ([`Dial::fired`](crate::Dial::fired)).
///
/// # Panics
/// Panics if there is no end after 100,000 runs.
#[track_caller]
pub fn for_every_panic(mut run: impl FnMut(u64) -> bool) -> u64 {
    for k in 1..=AT_MOST {
        if !run(k) {
            return k - 1;
        }
    }
    panic!("panics still come after {AT_MOST} runs")
}

/// Makes user code panic at its first call during an operation, then its second, … until the
/// operation makes no more.
#[derive(Clone, Copy, Debug)]
pub struct PanicSweep {
    site: Site,
    swallowing: bool,
    leaking: bool,
}

impl PanicSweep {
    /// Creates a strict sweep over the events at `site`: the panic must reach the caller and every
    /// value must be dropped exactly once.
    pub const fn new(site: Site) -> Self {
        Self { site, swallowing: false, leaking: false }
    }

    /// Allows the operation to catch the panic.
    pub const fn allow_swallowed(mut self) -> Self {
        self.swallowing = true;
        self
    }

    /// Allows a run that panicked to leak values. Double drops are never allowed.
    pub const fn allow_leaks(mut self) -> Self {
        self.leaking = true;
        self
    }

    /// Runs the sweep and returns how many events could panic.
    ///
    /// Each run has a [`Tally`] of its own. `setup` builds the state, `operation` runs with the
    /// k-th event panicking, `check` sees the state afterwards and whether the panic came, then the
    /// state is dropped undisturbed. To consume the state, let it be an `Option` and take it.
    ///
    /// # Panics
    /// Panics if the panic does not reach the caller, if a value is dropped twice or never, or if
    /// there is no end after 100,000 runs. Any other panic in the closures is passed on.
    #[track_caller]
    pub fn run<S>(
        self,
        mut setup: impl FnMut(&Tally) -> S,
        mut operation: impl FnMut(&mut S, &Tally),
        mut check: impl FnMut(&mut S, &Tally, bool),
    ) -> u64 {
        for_every_panic(|k| {
            let tally = Tally::new();
            let mut state = setup(&tally);
            tally.arm(self.site, k);
            let outcome = catch(|| operation(&mut state, &tally));
            let fired = tally.disarm(self.site);
            match outcome {
                Err(caught) if !fired || caught.injected().is_none() => {
                    eprintln!("panic other than the ordered one, with event {k} at {:?}: {caught:?}", self.site);
                    caught.resume()
                }
                Ok(()) if fired && !self.swallowing => {
                    panic!("the panic of event {k} at {:?} did not reach the caller", self.site)
                }
                _ => {}
            }
            check(&mut state, &tally, fired);
            drop(state);
            if fired && self.leaking {
                tally.assert_sound()
            } else {
                tally.assert_no_leaks()
            }
            fired
        })
    }
}
