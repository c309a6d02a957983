//! Failing allocations, and clones and destructors that panic.

use crate::kit::{run, rush, seen, world};
use phalanx::timeline::TimelineError;
use phalanx_testkit::{AllocationSweep, PanicSweep, Rng, Site, Tally};

#[test]
fn h60_a_checkpoint_or_rollback_without_memory_is_an_error_and_changes_nothing() {
    let tally = Tally::new();
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        let mut points = 0;
        for seed in 0..2 {
            points += sweep.run(
                || {
                    let mut world = world();
                    rush(&mut world, &mut Rng::new(seed), &tally, 60);
                    let checkpoint = world.checkpoint().unwrap();
                    rush(&mut world, &mut Rng::new(100 + seed), &tally, 20);
                    let now = seen(&mut world);
                    (world, checkpoint, now)
                },
                |(world, checkpoint, _)| {
                    drop(world.checkpoint()?);
                    world.rollback(checkpoint)
                },
                |(world, _, before), outcome| {
                    world.validate().unwrap();
                    if let Err(error) = outcome {
                        assert!(matches!(error, TimelineError::Alloc(_)));
                        assert_eq!(seen(world), *before);
                    }
                    run(world, &mut Rng::new(9), &tally, 5);
                },
            );
        }
        assert!(points > 100, "{points} allocations failed");
    }
    tally.assert_no_leaks();
}

#[test]
fn a_clone_that_panics_changes_nothing_and_a_destructor_that_panics_comes_last() {
    for site in [Site::Clone, Site::Drop] {
        let points = PanicSweep::new(site).run(
            |tally| {
                let mut world = world();
                rush(&mut world, &mut Rng::new(4), tally, 80);
                let then = seen(&mut world);
                let checkpoint = world.checkpoint().unwrap();
                rush(&mut world, &mut Rng::new(5), tally, 20);
                let now = seen(&mut world);
                (world, checkpoint, then, now)
            },
            |(world, checkpoint, ..), _| world.rollback(checkpoint).unwrap(),
            |(world, _, then, now), _, panicked| {
                world.validate().unwrap();
                let expected = if panicked && site == Site::Clone { now } else { then };
                assert_eq!(seen(world), *expected);
            },
        );
        assert!(points > 5, "{points} panics");
    }
}
