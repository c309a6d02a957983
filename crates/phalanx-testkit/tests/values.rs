//! The values, iterators and callbacks of the kit do what they threaten.

use std::collections::HashSet;
use std::mem;

use phalanx_testkit::{
    Align1, Align64, Align4096, Aligned, Dial, Fickle, Liar, Lie, PanicSweep, Rng, Site, Tally, Zst, catch,
    for_every_panic, measure_zst, quiet_panics,
};

#[test]
fn a_tally_counts_values_and_clones() {
    let tally = Tally::new();
    let values: Vec<_> = tally.values(3).collect();
    let copies = values.clone();
    assert_eq!((tally.made(), tally.dropped(), tally.live()), (6, 0, 6));
    assert_eq!(values, copies);
    assert_ne!(values[0].id(), copies[0].id());
    drop(values);
    assert_eq!((tally.dropped(), tally.live()), (3, 3));
    drop(copies);
    tally.assert_no_leaks();
}

#[test]
fn a_leak_is_reported_with_its_id() {
    let tally = Tally::new();
    drop(tally.value(1));
    mem::forget(tally.value(2));
    tally.assert_sound();
    let caught = catch(|| tally.assert_no_leaks()).unwrap_err();
    assert_eq!(caught.message(), "1 of 2 values were never dropped, the first with ids [1]");
}

#[test]
#[expect(unsafe_code, reason = "safe code cannot drop a value twice, which is what must be found")]
fn a_double_drop_is_found() {
    let drop_twice = |tally: &Tally| {
        let mut value = mem::ManuallyDrop::new(tally.value(1));
        // SAFETY: a `Counted` owns nothing, so its destructor may run any number of times.
        unsafe {
            mem::ManuallyDrop::drop(&mut value);
            mem::ManuallyDrop::drop(&mut value);
        }
        value
    };
    let tally = Tally::new();
    let value = drop_twice(&tally);
    assert_eq!((tally.dropped(), tally.double_drops()), (1, 1));
    assert!(catch(|| value.key()).unwrap_err().message().contains("used after it was dropped"));
    assert!(catch(|| tally.assert_sound()).unwrap_err().message().starts_with("1 drops of values"));
    // The verdict cannot be forgotten: it comes with the end of the tally at the latest.
    assert!(catch(|| drop(tally)).unwrap_err().message().starts_with("1 drops of values"));
}

#[test]
fn a_value_may_outlive_its_tally() {
    let tally = Tally::new();
    let value = tally.value(5);
    drop(tally);
    // The arena is likely handed out again here; the old value must not be counted in it.
    let next = Tally::new();
    drop(next.value(0));
    assert_eq!(value.key(), 5);
    drop(value);
    next.assert_no_leaks();
}

#[test]
fn tallies_of_threads_are_apart() {
    let worker = |_| {
        std::thread::spawn(|| {
            let tally = Tally::new();
            (0..50).for_each(|_| drop(tally.values(20).collect::<Vec<_>>()));
            tally.assert_no_leaks();
            assert_eq!(tally.made(), 1000);
        })
    };
    let workers: Vec<_> = (0..8).map(worker).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

#[test]
fn each_site_panics_at_the_ordered_event() {
    for site in Site::ALL {
        let tally = Tally::new();
        let value = tally.value(1);
        let other = tally.value(1);
        tally.arm(site, 3);
        let mut done = 0;
        let outcome = catch(|| {
            for _ in 0..5 {
                match site {
                    Site::Drop => drop(tally.value(0)),
                    Site::Clone => mem::forget(value.clone()),
                    Site::Compare => assert!(value == other),
                    Site::Hash => drop(HashSet::from([&value])),
                    Site::Callback => tally.callback(),
                }
                done += 1;
            }
        });
        assert!(outcome.unwrap_err().injected().is_some(), "{site:?}");
        assert_eq!(done, 2, "{site:?}");
        assert!(tally.disarm(site));
    }
}

#[test]
fn a_drop_is_not_made_to_panic_during_a_panic() {
    let tally = Tally::new();
    tally.arm(Site::Drop, 1);
    let outcome = catch(|| {
        let _value = tally.value(0);
        panic!("first");
    });
    assert_eq!(outcome.unwrap_err().message(), "first");
    assert!(!tally.disarm(Site::Drop));
    tally.assert_no_leaks();
}

#[test]
fn the_value_whose_drop_panics_counts_as_dropped() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| tally.values(4).collect::<Vec<_>>(),
        |values, _| values.clear(),
        |values, tally, _| assert_eq!((values.len(), tally.live()), (0, 0)),
    );
    assert_eq!(points, 4);
}

#[test]
fn a_panic_that_does_not_come_out_is_reported_unless_allowed() {
    let swallow = |values: &mut Vec<_>, _: &Tally| drop(catch(|| values.clear()));
    let setup = |tally: &Tally| tally.values(2).collect::<Vec<_>>();
    let caught = catch(|| PanicSweep::new(Site::Drop).run(setup, swallow, |_, _, _| ())).unwrap_err();
    assert!(caught.message().contains("did not reach the caller"), "{caught:?}");
    assert_eq!(PanicSweep::new(Site::Drop).allow_swallowed().run(setup, swallow, |_, _, _| ()), 2);
}

#[test]
fn a_leak_by_panic_is_reported_unless_allowed() {
    // The value is out of its place while the callback runs: a panic there leaks it.
    let careless = |place: &mut Option<_>, tally: &Tally| {
        let hand = mem::ManuallyDrop::new(place.take());
        tally.callback();
        *place = mem::ManuallyDrop::into_inner(hand);
    };
    let setup = |tally: &Tally| Some(tally.value(1));
    let caught = catch(|| PanicSweep::new(Site::Callback).run(setup, careless, |_, _, _| ())).unwrap_err();
    assert!(caught.message().starts_with("1 of 1 values were never dropped"), "{caught:?}");
    assert_eq!(PanicSweep::new(Site::Callback).allow_leaks().run(setup, careless, |_, _, _| ()), 1);
}

#[test]
fn an_assertion_inside_an_operation_goes_through() {
    let caught = catch(|| {
        PanicSweep::new(Site::Clone).run(
            |tally| tally.value(1),
            |value, _| {
                let _copy = value.clone();
                panic!("a bug");
            },
            |_, _, _| (),
        )
    });
    assert_eq!(caught.unwrap_err().message(), "a bug");
}

#[test]
fn every_panic_is_visited_until_none_comes() {
    let points = for_every_panic(|k| {
        let dial = Dial::at(k);
        let outcome = catch(|| (0..6).for_each(|_| dial.tick_or_panic("callback")));
        assert_eq!(outcome.is_err(), dial.fired());
        dial.fired()
    });
    assert_eq!(points, 6);
}

#[test]
fn lies_make_comparisons_and_hashes_inconsistent() {
    let tally = Tally::new();
    let (a, b) = (tally.value(1), tally.value(2));
    tally.lie(7);
    let orders: HashSet<_> = (0..60).map(|_| a.cmp(&b)).collect();
    assert_eq!(orders.len(), 3);
    assert_eq!((0..60).map(|_| a == b).collect::<HashSet<_>>().len(), 2);
    tally.be_honest();
    assert!((0..60).all(|_| a < b && a != b));
}

#[test]
fn liars_yield_everything_and_lie_about_it() {
    for lie in Lie::ALL {
        assert_eq!(Liar::new([1, 2, 3], lie).sum::<i32>(), 6, "{lie:?}");
        assert_ne!(Liar::new([1, 2, 3], lie).len(), 3, "{lie:?}");
    }
    let hint = |lie| Liar::new(0..10, lie).size_hint();
    assert_eq!(hint(Lie::TooFew), (9, Some(9)));
    assert_eq!(hint(Lie::TooMany), (17, Some(17)));
    assert_eq!(hint(Lie::Inverted), (13, Some(7)));
    assert_eq!(hint(Lie::Endless), (usize::MAX, Some(usize::MAX)));
}

#[test]
fn fickle_values_change_at_each_conversion() {
    use std::borrow::Borrow;
    let fickle = Fickle::new(vec![1, 2, 3, 4, 5]);
    let borrowed: &i32 = fickle.borrow();
    assert_eq!((*fickle, *fickle.as_ref(), *borrowed, fickle[()]), (2, 3, 1, 4));
    assert_eq!(fickle.reads(), 4);
}

#[test]
fn zero_sized_values_are_counted() {
    let (_, usage) = measure_zst(|| {
        let values = vec![Zst::<Align4096>::new(), Zst::new()];
        mem::forget(values.clone());
        values.iter().for_each(Zst::touch);
        drop(Zst::<Align1>::new());
    });
    assert_eq!((usage.made, usage.dropped, usage.misaligned), (5, 3, 0));
}

#[test]
fn over_aligned_values_stand_aligned() {
    fn grow<A: Clone>(tally: &Tally) {
        let mut values = Vec::new();
        for key in 0..20 {
            values.push(Aligned::<A>::new(tally, key));
            assert!(values.iter().map(Aligned::key).eq(0..=key));
        }
        values.shrink_to_fit();
        assert_eq!(values.clone().len(), 20);
    }
    let tally = Tally::new();
    grow::<Align1>(&tally);
    grow::<Align64>(&tally);
    grow::<Align4096>(&tally);
    tally.assert_no_leaks();
}

#[test]
fn the_generator_is_fixed_and_fair_enough() {
    let mut rng = Rng::new(42);
    let mut again = rng.clone();
    let mut counts = [0_u32; 10];
    for _ in 0..10_000 {
        counts[rng.below(10)] += 1;
    }
    assert!(counts.iter().all(|&count| (800..1200).contains(&count)), "{counts:?}");
    assert_eq!((0..10_000).map(|_| again.below(10)).filter(|&n| n == 3).count() as u32, counts[3]);

    let mut items: Vec<_> = (0..100).collect();
    rng.shuffle(&mut items);
    assert_ne!(items, (0..100).collect::<Vec<_>>());
    assert!(rng.pick(&items).is_some() && rng.pick::<u8>(&[]).is_none());
    items.sort_unstable();
    assert_eq!(items, (0..100).collect::<Vec<_>>());
    let hits = (0..10_000).filter(|_| rng.chance(1, 4)).count();
    assert!((2300..2700).contains(&hits), "{hits}");
}

#[test]
fn quiet_is_per_thread_and_nests() {
    let output = phalanx_testkit::in_child("quiet_is_per_thread_and_nests", || {
        quiet_panics(|| {
            let _ = catch(|| panic!("silent one"));
            let _ = catch(|| panic!("silent two"));
            let _ = std::thread::spawn(|| panic!("loud one")).join();
        });
        let _ = std::panic::catch_unwind(|| panic!("loud two"));
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success());
    assert!(!said.contains("silent"), "{said}");
    assert!(said.contains("loud one") && said.contains("loud two"), "{said}");
}

#[test]
fn measuring_without_the_allocator_is_refused() {
    let caught = catch(|| phalanx_testkit::measure(|| ())).unwrap_err();
    assert!(caught.message().contains("has not installed the allocator"), "{caught:?}");
}
