//! The version and the chunk marks of a lane, through growth, shrinking and an empty spell.
#![cfg(not(loom))]
#![allow(unsafe_code)] // A lane trusts its caller; the tests are one.

use phalanx_store::raw::{Lane, LaneOf};
use std::alloc::Layout;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

const CHUNK: u32 = Lane::CHUNK;

/// Returns a tracked lane of words with capacity for `cap` rows, in which no chunk is marked.
fn clean(cap: u32) -> Lane {
    let mut lane = Lane::new(Layout::new::<u64>());
    resize(&mut lane, cap);
    lane.try_track().unwrap();
    wipe(&mut lane);
    lane
}

fn resize(lane: &mut Lane, cap: u32) {
    // SAFETY: no row is in use, and no pointer into the lane is kept.
    unsafe { lane.try_resize(cap) }.unwrap();
}

fn wipe(lane: &mut Lane) {
    lane.dirty_mut().fill(0);
}

fn mark(lane: &mut Lane, row: u32) {
    assert!(row < lane.capacity());
    // SAFETY: the row is below the capacity.
    unsafe { lane.set_dirty(row) };
}

/// The marked chunks among those that have rows.
fn marked(lane: &mut Lane) -> Vec<u32> {
    let chunks = lane.capacity().div_ceil(CHUNK);
    let words = lane.dirty_mut();
    (0..chunks).filter(|chunk| words.get(*chunk as usize / 64).is_some_and(|w| w >> (chunk % 64) & 1 == 1)).collect()
}

#[test]
fn version_changes_with_every_announcement() {
    let lane = Lane::new(Layout::new::<u64>());
    let first = lane.version();
    lane.touch();
    let second = lane.version();
    lane.touch();
    assert!(first != second && second != lane.version());
    let mut typed: LaneOf<u32> = LaneOf::new();
    // SAFETY: the lane is not exchanged for another.
    let lane = unsafe { typed.erased() };
    lane.touch();
    assert_ne!(lane.version(), 0);
}

#[test]
fn a_lane_that_is_not_tracked_marks_nothing() {
    let mut lane = Lane::new(Layout::new::<u64>());
    resize(&mut lane, 1000);
    mark(&mut lane, 999);
    assert!(lane.dirty_mut().is_empty());
}

#[test]
fn tracking_begins_with_all_chunks_marked() {
    let mut lane = clean(10 * CHUNK);
    lane.untrack();
    assert!(lane.dirty_mut().is_empty());
    lane.try_track().unwrap();
    assert_eq!(marked(&mut lane), (0..10).collect::<Vec<_>>());
}

#[test]
fn tracking_twice_keeps_the_marks() {
    let mut lane = clean(10 * CHUNK);
    mark(&mut lane, 3 * CHUNK);
    lane.try_track().unwrap();
    assert_eq!(marked(&mut lane), [3]);
}

#[test]
fn a_mark_is_the_chunk_of_its_row() {
    let mut lane = clean(130 * CHUNK);
    for row in [0, CHUNK - 1, CHUNK, 63 * CHUNK + 5, 64 * CHUNK, 130 * CHUNK - 1] {
        mark(&mut lane, row);
    }
    assert_eq!(marked(&mut lane), [0, 1, 63, 64, 129]);
}

#[test]
fn a_mark_beside_other_threads_is_the_chunk_of_its_row() {
    let mut lane = clean(200 * CHUNK);
    let rows = [0, CHUNK - 1, CHUNK, 31 * CHUNK, 32 * CHUNK, 63 * CHUNK + 5, 64 * CHUNK, 129 * CHUNK, 199 * CHUNK];
    for row in rows {
        // SAFETY: the row is below the capacity, and no other code reads the marks.
        unsafe { lane.set_dirty_shared(row) };
    }
    assert_eq!(marked(&mut lane), [0, 1, 31, 32, 63, 64, 129, 199]);
    let mut untracked = Lane::new(Layout::new::<u64>());
    resize(&mut untracked, 1000);
    // SAFETY: as above.
    unsafe { untracked.set_dirty_shared(999) };
    assert!(untracked.dirty().is_empty());
}

#[test]
fn no_mark_is_lost_among_threads() {
    const STEPS: u32 = if cfg!(miri) { 1 } else { 200 };
    for _ in 0..STEPS {
        let lane = &mut clean(64 * 16 * CHUNK);
        let shared = &*lane;
        std::thread::scope(|scope| {
            let mark = move |first: u32| {
                // Neighbours, so that threads change the same words.
                for chunk in (first..64 * 16).step_by(4) {
                    // SAFETY: the row is below the capacity, and the marks are not read before all threads are done.
                    unsafe { shared.set_dirty_shared(chunk * CHUNK) };
                }
            };
            let threads = [0, 1, 2, 3].map(|first| scope.spawn(move || mark(first)));
            // ThreadSanitizer sees what a join orders, and not what the end of a scope does.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_eq!(marked(lane), (0..64 * 16).collect::<Vec<_>>());
    }
}

#[test]
fn growth_keeps_marks_and_marks_what_is_new() {
    // Within a word of the bitmap, across words, and from the middle of a chunk.
    for (cap, more) in
        [(2 * CHUNK, 5 * CHUNK), (60 * CHUNK, 200 * CHUNK), (64 * CHUNK, 65 * CHUNK), (CHUNK + 9, CHUNK + 10)]
    {
        let mut lane = clean(cap);
        mark(&mut lane, 0);
        resize(&mut lane, more);
        let new = cap / CHUNK..more.div_ceil(CHUNK);
        let expected: Vec<u32> = std::iter::once(0).chain(new).collect();
        assert_eq!(marked(&mut lane), expected, "from {cap} to {more} rows");
    }
}

#[test]
fn shrinking_keeps_the_marks_below() {
    let mut lane = clean(200 * CHUNK);
    for chunk in [1, 70, 71, 150] {
        mark(&mut lane, chunk * CHUNK);
    }
    resize(&mut lane, 70 * CHUNK + 1);
    assert_eq!(marked(&mut lane), [1, 70]);
    resize(&mut lane, 80 * CHUNK);
    assert_eq!(marked(&mut lane), [1].into_iter().chain(70..80).collect::<Vec<_>>());
}

#[test]
fn a_tracked_lane_stays_tracked_while_it_has_no_room() {
    let mut lane = clean(CHUNK);
    resize(&mut lane, 0);
    assert!(lane.dirty_mut().is_empty());
    resize(&mut lane, 3 * CHUNK);
    assert_eq!(marked(&mut lane), [0, 1, 2], "rows that came while nobody looked");
    wipe(&mut lane);
    mark(&mut lane, CHUNK);
    assert_eq!(marked(&mut lane), [1]);
}

#[test]
fn a_lane_can_be_tracked_before_it_has_room() {
    let mut lane = Lane::new(Layout::new::<u64>());
    lane.try_track().unwrap();
    lane.try_grow(300).unwrap();
    assert_eq!(marked(&mut lane), (0..lane.capacity().div_ceil(CHUNK)).collect::<Vec<_>>());
}

#[test]
fn untracked_lanes_stay_so_through_growth() {
    let mut lane = clean(CHUNK);
    lane.untrack();
    resize(&mut lane, 5 * CHUNK);
    assert!(lane.dirty_mut().is_empty());
}

#[test]
fn zero_sized_rows_need_no_bitmap() {
    let mut lane = Lane::new(Layout::new::<()>());
    lane.try_track().unwrap();
    assert_eq!((lane.capacity(), lane.bytes()), (u32::MAX, 0));
    mark(&mut lane, u32::MAX - 1);
    assert!(lane.dirty_mut().is_empty());
}

#[test]
fn a_bitmap_that_cannot_be_had_changes_nothing() {
    use phalanx_testkit::for_every_failing_allocation;
    let points = for_every_failing_allocation(
        || clean(100),
        // SAFETY: no row is in use.
        |lane| unsafe { lane.try_resize(64 * 2 * CHUNK) },
        |lane, outcome| match outcome {
            Ok(()) => assert_eq!(lane.capacity(), 128 * CHUNK),
            Err(_) => assert_eq!((lane.capacity(), marked(lane)), (100, vec![])),
        },
    );
    assert_eq!(points, 2, "the block and its bitmap");
    let points = for_every_failing_allocation(
        || {
            let mut lane = Lane::new(Layout::new::<u64>());
            resize(&mut lane, 100);
            lane
        },
        Lane::try_track,
        |lane, outcome| assert_eq!(lane.dirty_mut().is_empty(), outcome.is_err()),
    );
    assert_eq!(points, 1);
}
