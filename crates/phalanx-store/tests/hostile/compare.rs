//! Comparison, hashing and cloning over values whose code panics or lies.

use crate::cases::{Driven, for_each_store, states};
use phalanx_store::{Entity, LinearStore, SlotStore};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally};
use std::hash::{DefaultHasher, Hash};

#[test]
fn h24_comparisons_that_panic_or_lie_leave_both_stores_whole() {
    fn run<S: Driven + PartialEq>() {
        for (state, setup) in states::<S>() {
            let values = setup(&Tally::new()).store().len() as u64;
            let points = PanicSweep::new(Site::Compare).run(
                |tally| (setup(tally), setup(tally)),
                |(a, b), _| assert!(a.store() == b.store(), "{}, {state}", S::NAME),
                |(a, b), tally, _| {
                    a.check(tally);
                    b.check(tally);
                },
            );
            assert_eq!(points, values, "each value is compared once: {}, {state}", S::NAME);
            for seed in 0..20 {
                let tally = Tally::new();
                let (mut a, mut b) = (setup(&tally), setup(&tally));
                tally.lie(seed);
                let _ = a.store() == b.store();
                tally.be_honest();
                a.check(&tally);
                b.check(&tally);
            }
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h24_hashes_that_panic_leave_the_store_whole() {
    fn run<S: Driven + Hash>() {
        for (state, setup) in states::<S>() {
            let values = setup(&Tally::new()).store().len() as u64;
            let points = PanicSweep::new(Site::Hash).run(
                setup,
                |scene, _| scene.store().hash(&mut DefaultHasher::new()),
                |scene, tally, _| scene.check(tally),
            );
            assert_eq!(points, values, "{}, {state}", S::NAME);
        }
    }
    run::<SlotStore<Counted>>();
    run::<LinearStore<Entity, Counted>>();
}

/// The target has values of its own, more or fewer than the source.
#[test]
fn h17_clone_from_over_values_leaves_no_half_store() {
    fn run<S: Driven + Clone>() {
        for (state, setup) in states::<S>() {
            for (other, target) in states::<S>() {
                let values = setup(&Tally::new()).store().len() as u64;
                let clone = |source: &mut crate::cases::Scene<S>, target: &mut crate::cases::Scene<S>| {
                    target.store().clone_from(source.store.as_ref().unwrap());
                    target.keys = source.keys.clone();
                };
                let points = PanicSweep::new(Site::Clone).run(
                    |tally| (setup(tally), target(tally)),
                    |(source, target), _| clone(source, target),
                    |(source, target), tally, fired| {
                        if fired {
                            assert!(target.store().is_empty(), "{}: {state} over {other}", S::NAME);
                            target.keys = source.keys.clone();
                        }
                        source.check(tally);
                        target.check(tally);
                    },
                );
                assert_eq!(points, values, "{}: {state} over {other}", S::NAME);
                PanicSweep::new(Site::Drop).run(
                    |tally| (setup(tally), target(tally)),
                    |(source, target), _| clone(source, target),
                    |(source, target), tally, fired| {
                        source.check(tally);
                        assert_eq!(target.store().is_empty(), fired, "{}: {state} over {other}", S::NAME);
                        target.check(tally);
                    },
                );
            }
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h17_a_store_that_was_cloned_over_has_the_same_future() {
    fn run<S: Driven + PartialEq>() {
        let tally = Tally::new();
        for (state, setup) in states::<S>() {
            for (other, target) in states::<S>() {
                let (mut source, mut copy) = (setup(&tally), target(&tally));
                copy.store().try_become(source.store()).unwrap();
                copy.store().validate().unwrap();
                assert!(source.store() == copy.store());
                let in_order = |store: &S| store.iter().map(|(k, v)| (k, v.key())).collect::<Vec<_>>();
                assert_eq!(in_order(source.store()), in_order(copy.store()), "{}: {state} over {other}", S::NAME);
                for n in 0..12 {
                    let (a, b) = (source.store().put(40 + n, tally.value(1)), copy.store().put(40 + n, tally.value(1)));
                    assert_eq!(a, b, "{}: {state} over {other}", S::NAME);
                }
                copy.store().validate().unwrap();
            }
        }
    }
    for_each_store!(run::<Counted>());
}
