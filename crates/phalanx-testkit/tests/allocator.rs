//! The allocator as test binaries use it: installed, through safe code.

use std::hint::black_box;
use std::panic::catch_unwind;
use std::sync::Barrier;

use phalanx_testkit::{
    AllocationSweep, Allocator, assert_balanced, catch, detect, fail_from, fail_nth, for_every_failing_allocation,
    in_child, measure,
};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new();

/// Drops a value that the optimiser could otherwise prove unused and never allocate.
fn spend<T>(value: T) {
    drop(black_box(value));
}

/// Whether one small allocation succeeds.
fn reserves() -> bool {
    let mut bytes = Vec::<u8>::new();
    let reserved = bytes.try_reserve_exact(10).is_ok();
    spend(bytes);
    reserved
}

#[test]
fn std_collections_use_it_rightly() {
    let misuse = detect(|| {
        let mut map = std::collections::HashMap::new();
        let mut tree = std::collections::BTreeMap::new();
        for i in 0..2000_u32 {
            map.insert(i, vec![i; i as usize % 17]);
            tree.insert(i.to_string(), Box::new(i));
        }
        map.retain(|k, _| k % 3 == 0);
        map.shrink_to_fit();
        std::thread::spawn(move || drop((map, tree))).join().unwrap();
    });
    assert_eq!(misuse, None);
}

#[test]
fn usage_counts_bytes_blocks_and_peak() {
    let (kept, usage) = measure(|| {
        let kept = Vec::<u64>::with_capacity(10);
        spend(vec![0_u8; 1000]);
        kept
    });
    assert_eq!(usage.allocations, 2);
    assert_eq!(usage.bytes_allocated, 1080);
    assert_eq!((usage.bytes_live_delta, usage.blocks_live_delta), (80, 1));
    assert_eq!((usage.peak_bytes, usage.largest), (1080, 1000));

    let ((), usage) = measure(|| drop(kept));
    assert_eq!((usage.allocations, usage.bytes_live_delta, usage.blocks_live_delta), (0, -80, -1));
    assert_eq!((usage.peak_bytes, usage.largest), (0, 0));
}

#[test]
fn measures_nest() {
    let ((_, inner), outer) = measure(|| {
        spend(vec![0_u8; 500]);
        measure(|| spend(vec![0_u8; 100]))
    });
    assert_eq!((inner.peak_bytes, inner.largest), (100, 100));
    assert_eq!((outer.peak_bytes, outer.largest), (500, 500));
}

#[test]
fn other_threads_do_not_disturb_the_count() {
    let noise = std::thread::spawn(|| (0..20_000).for_each(|i| spend(vec![0_u8; 1 + i % 100])));
    for _ in 0..200 {
        let (_, usage) = measure(|| spend(Box::new(1_u32)));
        assert_eq!((usage.allocations, usage.peak_bytes), (1, 4));
    }
    noise.join().unwrap();
}

#[test]
fn balance_is_asserted() {
    assert_balanced(|| spend(vec![String::from("a")]));
    let mut kept = Vec::new();
    let caught = catch(|| assert_balanced(|| kept.push(1_u64))).unwrap_err();
    assert!(caught.message().starts_with("out of balance by"), "{caught:?}");
}

#[test]
fn the_ordered_allocation_fails_and_no_other() {
    let three = || [0; 3].map(|_| reserves());
    assert_eq!(fail_nth(1, three), ([false, true, true], true));
    assert_eq!(fail_nth(3, three), ([true, true, false], true));
    assert_eq!(fail_nth(4, three), ([true, true, true], false));
    assert_eq!(fail_from(2, three), ([true, false, false], true));
    assert_eq!(three(), [true; 3]);
}

#[test]
fn growing_a_block_counts_and_shrinking_does_not() {
    let mut values = Vec::<u8>::with_capacity(10);
    values.push(7);
    let (grown, fired) = fail_nth(1, || values.try_reserve_exact(100).is_ok());
    assert!(!grown && fired);
    assert_eq!((values.capacity(), values[0]), (10, 7));

    let ((), fired) = fail_nth(1, || values.shrink_to_fit());
    assert!(!fired);
    assert_eq!((values.capacity(), values[0]), (1, 7));
}

#[test]
fn only_the_arming_thread_fails() {
    let gate = Barrier::new(2);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            gate.wait();
            let fine = (0..100).all(|_| reserves());
            gate.wait();
            fine
        });
        let (mine, fired) = fail_from(1, || {
            gate.wait();
            gate.wait();
            reserves()
        });
        assert!(!mine && fired);
        assert!(worker.join().unwrap());
    });
}

#[test]
fn an_order_ends_with_its_scope_even_by_panic() {
    let outcome = catch(|| fail_nth(5, || panic!("out")));
    assert_eq!(outcome.unwrap_err().message(), "out");
    assert!((0..10).all(|_| reserves()));
}

#[test]
fn a_plain_failure_aborts_the_process() {
    let output = in_child("a_plain_failure_aborts_the_process", || {
        fail_nth(1, || spend(Vec::<u8>::with_capacity(10)));
    });
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("memory allocation of 10 bytes failed"));
}

/// Reserves two vectors, leaving the first grown when the second fails.
fn reserve_both(pair: &mut (Vec<u8>, Vec<u16>)) -> Result<(), std::collections::TryReserveError> {
    pair.0.try_reserve(10)?;
    pair.1.try_reserve(10)
}

#[test]
fn the_sweep_visits_each_allocation() {
    // Reserved beforehand: growing inside of the sweep would count as left behind.
    let mut seen = Vec::with_capacity(3);
    let points = for_every_failing_allocation(
        || (Vec::new(), Vec::new()),
        reserve_both,
        |pair, outcome| seen.push((pair.0.capacity() > 0, pair.1.capacity() > 0, outcome.is_ok())),
    );
    assert_eq!(points, 2);
    assert_eq!(seen, [(false, false, false), (true, false, false), (true, true, true)]);
    let persistent = AllocationSweep::new().persistent().run(|| (Vec::new(), Vec::new()), reserve_both, |_, _| ());
    assert_eq!(persistent, 2);
}

fn swallow(values: &mut Vec<u8>) -> Result<(), ()> {
    let _ = values.try_reserve(10);
    Ok(())
}

#[test]
fn a_swallowed_failure_is_reported_unless_allowed() {
    let caught = catch(|| for_every_failing_allocation(Vec::new, swallow, |_, _| ())).unwrap_err();
    assert_eq!(caught.message(), "allocation 1 failed and the operation did not say so");
    assert_eq!(AllocationSweep::new().allow_swallowed().run(Vec::new, swallow, |_, _| ()), 1);
}

#[test]
fn a_leak_on_the_way_out_is_reported() {
    // Kept rather than forgotten, with capacity reserved beforehand: out of balance, but no leak to a sanitizer.
    let mut kept = Vec::with_capacity(4);
    let mut leaky = |values: &mut Vec<u8>| {
        let mut extra = Vec::<u8>::new();
        extra.try_reserve_exact(3)?;
        values.try_reserve(10).inspect_err(|_| kept.push(extra))
    };
    let caught = catch(|| for_every_failing_allocation(Vec::new, &mut leaky, |_, _| ())).unwrap_err();
    assert_eq!(caught.message(), "after failing allocation 2, 3 bytes in 1 blocks are left");
    assert_eq!(AllocationSweep::new().allow_leaks().run(Vec::new, &mut leaky, |_, _| ()), 2);
}

#[test]
fn a_sweep_over_what_always_fails_is_reported() {
    let caught = catch(|| for_every_failing_allocation(|| (), |()| Err::<(), _>("no"), |_, _| ())).unwrap_err();
    assert!(caught.message().contains("failed with memory enough: \"no\""), "{caught:?}");
}

#[test]
fn a_caught_panic_is_balanced() {
    assert_balanced(|| {
        let outcome = catch_unwind(|| phalanx_testkit::quiet_panics(|| panic!("{} text", "formatted")));
        assert!(outcome.is_err());
    });
}
