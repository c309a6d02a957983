//! Failing allocations, and clones and destructors that panic.

use crate::kit::{Burning, Mass, Position, run, rush, seen, world};
use core::cell::Cell;
use phalanx::timeline::{Timeline, TimelineError};
use phalanx::{Component, Entity, QueryState, World};
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

thread_local! {
    static PANICS: Cell<bool> = const { Cell::new(false) };
}

/// A value whose clone panics on demand.
#[derive(Component, Debug)]
#[component(layout = "pool", clone)]
struct Fragile(u8);

impl Clone for Fragile {
    fn clone(&self) -> Fragile {
        assert!(!PANICS.get(), "a clone");
        Fragile(self.0)
    }
}

#[test]
fn a_rewind_that_fails_after_storages_have_grown_is_seen_by_queries() {
    let mut world = World::new();
    let all: Vec<Entity> =
        world.spawn_batch((0..2000).map(|n| (Position([n; 3]), Burning(n), Mass(n as u16)))).to_vec();
    world.insert(all[0], Fragile(0)).unwrap();
    let mut timeline = Timeline::new(1);
    timeline.capture(&mut world).unwrap();
    for entity in &all[10..] {
        world.remove::<(Burning, Mass)>(*entity).unwrap();
    }
    world.get_mut::<Fragile>(all[0]).unwrap().0 = 1;
    world.compact(usize::MAX);
    let (mut burning, mut mass) = (QueryState::<&Burning>::new(), QueryState::<&Mass>::new());
    let mut both = QueryState::<(&Burning, &Mass)>::new();
    let mut sums = |world: &World| {
        let burning: u32 = burning.iter(world).map(|burning| burning.0).sum();
        let mass: u32 = mass.iter(world).map(|mass| u32::from(mass.0)).sum();
        let both: u32 = both.iter(world).map(|(burning, mass)| burning.0 + u32::from(mass.0)).sum();
        [burning, mass, both]
    };
    assert_eq!(sums(&world), [45, 45, 90]);
    let capacity = world.memory().sparse[0].capacity;
    PANICS.set(true);
    let outcome = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| timeline.rewind(&mut world, 0)));
    PANICS.set(false);
    assert!(outcome.is_err() && world.memory().sparse[0].capacity > capacity);
    assert_eq!(sums(&world), [45, 45, 90]);
    timeline.rewind(&mut world, 0).unwrap();
    world.validate().unwrap();
    assert_eq!(sums(&world)[0], (0..2000).sum());
}
