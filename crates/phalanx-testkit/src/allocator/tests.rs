//! Each misuse is committed here and must be named.
//!
//! The allocator is called directly, not installed: the compiler knows the rules of the global one
//! and may assume that they are kept.
#![cfg(not(phalanx_plain_alloc))]

use super::*;

const A: Allocator = Allocator::new();

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the tests ask for sizes above zero, but for the one whose point is zero, which is
    // refused without touching memory.
    unsafe { A.alloc(layout) }
}

fn free(block: *mut u8, layout: Layout) {
    // SAFETY: the block is live or quarantined, hence mapped, which is what the checks need.
    unsafe { A.dealloc(block, layout) }
}

fn poke(block: *mut u8, offset: isize) {
    // SAFETY: the tests poke the block, its guards or its record, all inside one system allocation
    // that is live or quarantined.
    unsafe { block.offset(offset).write(0x11) }
}

#[test]
fn rightful_use_is_not_reported() {
    let misuse = detect(|| {
        for align in [1, 2, 8, 16, 64, 4096] {
            for size in [1, 7, 64, 5000, 3 << 20] {
                let layout = layout(size, align);
                free(alloc(layout), layout);
            }
        }
    });
    assert_eq!(misuse, None);
}

#[test]
fn zero_size_is_refused() {
    assert_eq!(detect(|| assert!(alloc(layout(0, 8)).is_null())), Some(Misuse::ZeroSize));

    let eight = layout(8, 8);
    let block = alloc(eight);
    // SAFETY: a live block; the new size is the misuse under test.
    assert_eq!(detect(|| assert!(unsafe { A.realloc(block, eight, 0) }.is_null())), Some(Misuse::ZeroSize));
    free(block, eight);
}

#[test]
fn another_layout_is_named_with_both_sides() {
    let allocated = layout(24, 8);
    for given in [layout(16, 8), layout(24, 4), layout(25, 8)] {
        let block = alloc(allocated);
        assert_eq!(detect(|| free(block, given)), Some(Misuse::WrongLayout { allocated, given }));

        let block = alloc(allocated);
        // SAFETY: a live block; the layout is the misuse under test.
        let misuse = detect(|| free(unsafe { A.realloc(block, given, 64) }, layout(64, 8)));
        assert_eq!(misuse, Some(Misuse::WrongLayout { allocated, given }));
    }
}

#[test]
fn double_free_is_found() {
    let layout = layout(32, 8);
    let block = alloc(layout);
    free(block, layout);
    assert_eq!(detect(|| free(block, layout)), Some(Misuse::DoubleFree));
    // SAFETY: the block is quarantined, hence mapped.
    assert_eq!(detect(|| assert!(unsafe { A.realloc(block, layout, 64) }.is_null())), Some(Misuse::DoubleFree));
}

#[test]
fn an_address_inside_a_block_is_no_block() {
    let layout = layout(256, 8);
    let block = alloc(layout);
    // SAFETY: 128 is within the block.
    let inside = unsafe { block.add(128) };
    assert_eq!(detect(|| free(inside, layout)), Some(Misuse::NotABlock));
    free(block, layout);
}

#[test]
fn writes_past_either_end_are_found() {
    let layout = layout(10, 1);
    for (offset, expected) in
        [(-1, Misuse::Underrun), (-(GUARD as isize), Misuse::Underrun), (10, Misuse::Overrun), (25, Misuse::Overrun)]
    {
        let block = alloc(layout);
        poke(block, offset);
        assert_eq!(detect(|| free(block, layout)), Some(expected), "write at {offset}");
    }
}

#[test]
fn an_overwritten_record_is_found() {
    let layout = layout(10, 1);
    let block = alloc(layout);
    let record = FRONT as isize;
    // SAFETY: the record lies in front of the block; its first byte is put back afterwards.
    let byte = unsafe { block.offset(-record).read() };
    poke(block, -record);
    assert_eq!(detect(|| free(block, layout)), Some(Misuse::NotABlock));
    // SAFETY: as above.
    unsafe { block.offset(-record).write(byte) };
    free(block, layout);
}

#[test]
fn writes_after_free_are_found_wherever_they_land() {
    let layout = layout(40, 8);
    for offset in [0, 20, 39] {
        let block = alloc(layout);
        free(block, layout);
        assert_eq!(detect(|| poke(block, offset)), Some(Misuse::WrittenAfterFree), "write at {offset}");
    }
}

#[test]
fn fresh_and_freed_memory_is_filled() {
    let layout = layout(100, 4);
    let block = alloc(layout);
    // SAFETY: the block is live; then quarantined, still mapped; both times all bytes are written.
    unsafe {
        assert!(all_equal(block, 100, 0xCD));
        free(block, layout);
        assert!(all_equal(block, 100, 0xDD));
        let zeroed = A.alloc_zeroed(layout);
        assert!(all_equal(zeroed, 100, 0));
        free(zeroed, layout);
    }
}

#[test]
fn addresses_are_aligned_as_asked_and_not_better() {
    for align in (0..=16).map(|shift| 1_usize << shift) {
        for size in [1, 24, 4096] {
            let layout = layout(size, align);
            let block = alloc(layout);
            assert_eq!(block.addr() % (2 * align), align, "size {size}, align {align}");
            free(block, layout);
        }
    }
}

#[test]
fn a_reallocation_moves_and_keeps_the_bytes() {
    for new_size in [1, 9, 10, 11, 5000] {
        let old = layout(10, 4);
        let block = alloc(old);
        // SAFETY: a live block of ten bytes, then one of `new_size`.
        unsafe {
            ptr::write_bytes(block, 7, 10);
            let moved = A.realloc(block, old, new_size);
            assert_ne!(moved, block);
            assert!(all_equal(moved, new_size.min(10), 7));
            assert!(all_equal(block, 10, 0xDD));
            free(moved, layout(new_size, 4));
        }
    }
}

#[test]
fn a_request_beyond_the_address_space_gives_null() {
    assert!(alloc(layout(isize::MAX as usize - 7, 8)).is_null());
    assert!(alloc(layout(1, 1 << 62)).is_null());
}

#[test]
fn the_quarantine_holds_more_frees_than_it_has_room_for() {
    let layout = layout(48, 16);
    let misuse = detect(|| (0..10 * QUARANTINE_BLOCKS).for_each(|_| free(alloc(layout), layout)));
    assert_eq!(misuse, None);
}

#[test]
fn misuse_outside_of_detect_aborts_with_its_name() {
    let output = crate::in_child("allocator::tests::misuse_outside_of_detect_aborts_with_its_name", || {
        let layout = layout(32, 8);
        let block = alloc(layout);
        free(block, layout);
        free(block, layout);
    });
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("phalanx-testkit allocator: double free"), "{said}");
}

#[test]
fn a_write_after_free_is_found_at_the_latest_when_the_thread_ends() {
    let name = "allocator::tests::a_write_after_free_is_found_at_the_latest_when_the_thread_ends";
    let output = crate::in_child(name, || {
        let late = || {
            let layout = layout(32, 8);
            let block = alloc(layout);
            free(block, layout);
            poke(block, 3);
        };
        let _ = std::thread::spawn(late).join();
    });
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("written to after it was freed"), "{said}");
}
