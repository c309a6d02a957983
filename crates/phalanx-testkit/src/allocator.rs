//! The checking allocator.
//!
//! Each block carries its own record, because no table can be kept without allocating:
//!
//! ```text
//! base                                  block
//! | padding | Header | front guard (16) | size bytes | back guard (16) |
//! ```
//!
//! Invariants:
//! - `base` comes from `System` with twice the requested alignment and `block = base + offset` is
//!   an odd multiple of the requested one, so a block is never aligned better than asked for.
//! - `Header::seal` is a function of the state (live or freed), the block's address and the other
//!   fields. A header is trusted only after its seal matched.
//! - A freed block in the quarantine belongs to this module alone until it is released to `System`,
//!   exactly once: by eviction from the ring or by the ring's own destructor.
//! - Nothing here allocates or unwinds: misuse is written to standard error and aborts, except
//!   inside [`detect`], where it is noted and the true layout is used to go on safely.

// The one place that implements `GlobalAlloc`, whose methods are unsafe by definition.
#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::fmt::{self, Write as _};
use core::{mem, ptr, slice};
use std::alloc::System;
use std::io::Write as _;

use crate::meter;

const GUARD: usize = 16;
const GUARD_BYTE: u8 = 0xFB;
const FRESH_BYTE: u8 = 0xCD;
const FREED_BYTE: u8 = 0xDD;
const FRONT: usize = mem::size_of::<Header>() + GUARD;

/// Beyond this many bytes only the two ends are filled, so that huge reservations stay lazy.
const FILL_EDGE: usize = 1 << 20;
/// Larger blocks go straight back to the system; quarantining them would cost more than it finds.
const QUARANTINE_BLOCK: usize = 1 << 14;
const QUARANTINE_BLOCKS: usize = 64;

const LIVE: usize = 0x6C69_7665;
const FREED: usize = 0x6672_6565;

/// Whether blocks pass straight through to the system, only counted.
///
/// AddressSanitizer and valgrind know blocks by their system boundaries; a header, a quarantine and
/// a fill would hide from them what they look for.
const PLAIN: bool = cfg!(phalanx_plain_alloc);

/// A global allocator that checks its callers, counts per thread, and fails on demand.
///
/// Install it in a test binary:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
/// # let (_, usage) = phalanx_testkit::measure(|| drop(vec![1, 2, 3]));
/// # assert_eq!(usage.allocations, 1);
/// ```
///
/// Every misuse (see [`Misuse`]) is reported on standard error and aborts the process. Fresh memory
/// reads 0xCD, freed memory 0xDD; addresses are aligned to what was asked and never better; a
/// reallocation always moves. A build with `--cfg phalanx_plain_alloc` only counts and fails,
/// leaving the checks to a memory tool.
#[derive(Debug, Default)]
pub struct Allocator(());

impl Allocator {
    /// Creates the allocator, for a `static`. All state is per thread, so all instances are equal.
    pub const fn new() -> Self {
        Self(())
    }
}

/// A way in which code used the allocator against its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// Zero bytes were requested, from `alloc` or as the new size of a `realloc`.
    ZeroSize,
    /// A block was freed or reallocated with another layout than it was allocated with.
    WrongLayout {
        /// The layout the block was allocated with.
        allocated: Layout,
        /// The layout the caller named.
        given: Layout,
    },
    /// A block was freed or reallocated after it had been freed.
    DoubleFree,
    /// The address is not a block of this allocator, or the record in front of it was overwritten.
    NotABlock,
    /// Bytes directly in front of the block were overwritten.
    Underrun,
    /// Bytes directly behind the block were overwritten.
    Overrun,
    /// A block was written to after it had been freed.
    WrittenAfterFree,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::ZeroSize => f.write_str("zero-size allocation"),
            Misuse::WrongLayout { allocated, given } => write!(
                f,
                "wrong layout: allocated with size {} align {}, given back with size {} align {}",
                allocated.size(),
                allocated.align(),
                given.size(),
                given.align()
            ),
            Misuse::DoubleFree => f.write_str("double free"),
            Misuse::NotABlock => f.write_str("not a block of this allocator, or its record was overwritten"),
            Misuse::Underrun => f.write_str("bytes in front of the block were overwritten"),
            Misuse::Overrun => f.write_str("bytes behind the block were overwritten"),
            Misuse::WrittenAfterFree => f.write_str("block was written to after it was freed"),
        }
    }
}

#[derive(Clone, Copy)]
enum Trap {
    Off,
    Armed,
    Caught(Misuse),
}

thread_local! {
    static TRAP: Cell<Trap> = const { Cell::new(Trap::Off) };
    static QUARANTINE: Quarantine = const { Quarantine::new() };
}

/// Runs `f` and returns the first misuse on this thread, instead of aborting.
///
/// This is how the allocator's own checks are tested. A misused block is ignored or given back with
/// its true layout, so going on afterwards is safe.
pub fn detect(f: impl FnOnce()) -> Option<Misuse> {
    struct Disarm(Trap);
    impl Drop for Disarm {
        fn drop(&mut self) {
            TRAP.set(self.0);
        }
    }
    let disarm = Disarm(TRAP.replace(Trap::Armed));
    f();
    check_quarantine();
    let caught = TRAP.get();
    drop(disarm);
    match caught {
        Trap::Caught(misuse) => Some(misuse),
        Trap::Off | Trap::Armed => None,
    }
}

/// Checks that no block recently freed by this thread was written to since.
pub fn check_quarantine() {
    // The ring is gone only while the thread ends, and its destructor has checked it then.
    let _ = QUARANTINE.try_with(Quarantine::check);
}

#[cold]
fn report(misuse: Misuse, block: *const u8) {
    match TRAP.get() {
        Trap::Armed => return TRAP.set(Trap::Caught(misuse)),
        Trap::Caught(_) => return,
        Trap::Off => {}
    }
    // Formatted on the stack: `eprintln!` would go through the test harness' capture buffer, which
    // allocates, and is lost on abort.
    let mut line = Line { bytes: [0; 256], len: 0 };
    let _ = writeln!(line, "phalanx-testkit allocator: {misuse} (block {block:p})");
    let _ = std::io::stderr().write_all(&line.bytes[..line.len]);
    std::process::abort();
}

struct Line {
    bytes: [u8; 256],
    len: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let count = s.len().min(room.len());
        room[..count].copy_from_slice(&s.as_bytes()[..count]);
        self.len += count;
        Ok(())
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Header {
    seal: usize,
    size: usize,
    align: usize,
    offset: usize,
}

impl Header {
    fn seal(&self, state: usize, block: *const u8) -> usize {
        let mut seal = state;
        for word in [block.addr(), self.size, self.align, self.offset] {
            seal = (seal ^ word).wrapping_mul(0x9E37_79B1).rotate_left(13);
        }
        seal
    }

    /// # Safety
    /// `FRONT` bytes in front of `block` are readable.
    unsafe fn read(block: *const u8) -> Header {
        // SAFETY: the header lies within the `FRONT` readable bytes; any bits are a valid `Header`;
        // the read does not assume alignment.
        unsafe { block.sub(FRONT).cast::<Header>().read_unaligned() }
    }

    /// # Safety
    /// `FRONT` bytes in front of `block` are writable.
    unsafe fn write(mut self, state: usize, block: *mut u8) {
        self.seal = self.seal(state, block);
        // SAFETY: the header lies within the `FRONT` writable bytes; the write does not assume alignment.
        unsafe { block.sub(FRONT).cast::<Header>().write_unaligned(self) }
    }

    fn layout(&self) -> Layout {
        Layout::from_size_align(self.size, self.align).expect("a sealed header holds a layout that was valid")
    }
}

/// The offset of the block from its base, and the layout asked of the system.
fn outer(layout: Layout) -> Option<(usize, Layout)> {
    let align = layout.align();
    let step = align.checked_mul(2)?;
    let offset = align.checked_add(FRONT.saturating_sub(align).div_ceil(step).checked_mul(step)?)?;
    let total = offset.checked_add(layout.size())?.checked_add(GUARD)?;
    Some((offset, Layout::from_size_align(total, step).ok()?))
}

/// # Safety
/// `size` bytes at `block` are writable.
unsafe fn fill(block: *mut u8, size: usize, byte: u8) {
    if size <= 2 * FILL_EDGE {
        // SAFETY: the caller's condition.
        unsafe { ptr::write_bytes(block, byte, size) }
    } else {
        // SAFETY: both edges lie within the `size` writable bytes, as `2 * FILL_EDGE < size`.
        unsafe {
            ptr::write_bytes(block, byte, FILL_EDGE);
            ptr::write_bytes(block.add(size - FILL_EDGE), byte, FILL_EDGE);
        }
    }
}

/// # Safety
/// `len` bytes at `start` are readable and initialised.
unsafe fn all_equal(start: *const u8, len: usize, byte: u8) -> bool {
    // SAFETY: the caller's condition; the slice is dropped here, before the next write.
    unsafe { slice::from_raw_parts(start, len) }.iter().all(|&b| b == byte)
}

/// Allocates a block with its record and guards; null if the system has no memory.
///
/// # Safety
/// `layout` has a size above zero.
unsafe fn acquire(layout: Layout, zeroed: bool) -> *mut u8 {
    let Some((offset, outer)) = outer(layout) else { return ptr::null_mut() };
    // SAFETY: `outer` is larger than `layout`, so not empty.
    let base = unsafe { if zeroed { System.alloc_zeroed(outer) } else { System.alloc(outer) } };
    if base.is_null() {
        return base;
    }
    // SAFETY: `outer` spans `offset + size + GUARD` bytes and `offset >= FRONT`, so the block, both
    // guards and the header are inside the fresh allocation.
    unsafe {
        let block = base.add(offset);
        if !zeroed {
            fill(block, layout.size(), FRESH_BYTE);
        }
        ptr::write_bytes(block.sub(GUARD), GUARD_BYTE, GUARD);
        ptr::write_bytes(block.add(layout.size()), GUARD_BYTE, GUARD);
        Header { seal: 0, size: layout.size(), align: layout.align(), offset }.write(LIVE, block);
        block
    }
}

/// The record of a live block that its caller describes rightly; otherwise reports.
///
/// In [`detect`], a wrong layout or damaged guard still yields the record, and anything that is not
/// a live block yields nothing.
///
/// # Safety
/// `FRONT` bytes in front of `block` are readable: so it is for every live or quarantined block. For
/// other addresses this is the best that a check without a table can do.
unsafe fn verify(block: *mut u8, given: Layout) -> Option<Header> {
    // SAFETY: the caller's condition.
    let header = unsafe { Header::read(block) };
    if header.seal != header.seal(LIVE, block) {
        let freed = header.seal == header.seal(FREED, block);
        report(if freed { Misuse::DoubleFree } else { Misuse::NotABlock }, block);
        return None;
    }
    let allocated = header.layout();
    if allocated != given {
        report(Misuse::WrongLayout { allocated, given }, block);
    }
    // SAFETY: the seal matched, so this is a block of `acquire` with a guard at each end.
    unsafe { check_guards(block, &header) };
    Some(header)
}

/// Reports a damaged guard and makes it whole, so that one write is one report.
///
/// # Safety
/// `header` is the record of `block`, which has not been released to the system.
unsafe fn check_guards(block: *mut u8, header: &Header) {
    // SAFETY: `acquire` initialised `GUARD` bytes on either side of the block.
    unsafe {
        for (guard, misuse) in [(block.sub(GUARD), Misuse::Underrun), (block.add(header.size), Misuse::Overrun)] {
            if !all_equal(guard, GUARD, GUARD_BYTE) {
                report(misuse, block);
                ptr::write_bytes(guard, GUARD_BYTE, GUARD);
            }
        }
    }
}

/// # Safety
/// `header` is the verified record of the live `block`, which is not used any more.
unsafe fn retire(block: *mut u8, header: Header) {
    // SAFETY: the block is ours from here on and as large as its record says.
    unsafe {
        fill(block, header.size, FREED_BYTE);
        header.write(FREED, block);
    }
    let mut out = block;
    if header.size <= QUARANTINE_BLOCK {
        // While the thread ends the ring may be gone already; then the block is released at once.
        out = QUARANTINE.try_with(|ring| ring.push(block)).unwrap_or(block);
    }
    if !out.is_null() {
        // SAFETY: `out` is freed and in no ring: it was just evicted, or never entered.
        unsafe { release(out) };
    }
}

/// # Safety
/// `block` is freed, was not released before, and is reachable from no ring.
unsafe fn release(block: *mut u8) {
    // SAFETY: a freed block that was not released is still mapped.
    let Some(header) = (unsafe { check_freed(block) }) else {
        // The record is damaged, so the base is unknown: leaking is the only safe way on.
        return;
    };
    let (_, outer) = outer(header.layout()).expect("computed before, when the block was made");
    // SAFETY: the sealed record gives the base and layout `acquire` got from the system.
    unsafe { System.dealloc(block.sub(header.offset), outer) };
}

/// # Safety
/// `block` is freed and was not released to the system.
unsafe fn check_freed(block: *mut u8) -> Option<Header> {
    // SAFETY: the block is still mapped, with its record in front.
    let header = unsafe { Header::read(block) };
    if header.seal != header.seal(FREED, block) {
        report(Misuse::WrittenAfterFree, block);
        return None;
    }
    let size = header.size;
    let edge = if size <= 2 * FILL_EDGE { size } else { FILL_EDGE };
    // SAFETY: `fill` wrote both edges of the block, or all of it, when it was freed.
    let intact = unsafe { all_equal(block, edge, FREED_BYTE) && all_equal(block.add(size - edge), edge, FREED_BYTE) };
    if !intact {
        report(Misuse::WrittenAfterFree, block);
        // SAFETY: the block is ours and as large as its record says.
        unsafe { fill(block, size, FREED_BYTE) };
    }
    // SAFETY: the seal matched and the block was not released.
    unsafe { check_guards(block, &header) };
    Some(header)
}

/// The blocks a thread freed last, kept unreused so that late writes are seen.
struct Quarantine {
    ring: [Cell<*mut u8>; QUARANTINE_BLOCKS],
    next: Cell<usize>,
}

impl Quarantine {
    const fn new() -> Self {
        Self { ring: [const { Cell::new(ptr::null_mut()) }; QUARANTINE_BLOCKS], next: Cell::new(0) }
    }

    /// Takes a freed block in and hands the oldest out, or null while the list is not full.
    fn push(&self, block: *mut u8) -> *mut u8 {
        let next = self.next.get();
        self.next.set((next + 1) % QUARANTINE_BLOCKS);
        self.ring[next].replace(block)
    }

    fn check(&self) {
        for block in self.ring.iter().map(Cell::get).filter(|block| !block.is_null()) {
            // SAFETY: blocks in the ring are freed and not yet released.
            let _ = unsafe { check_freed(block) };
        }
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        for slot in &self.ring {
            let block = slot.replace(ptr::null_mut());
            if !block.is_null() {
                // SAFETY: taken out of the ring on the line above, so released once.
                unsafe { release(block) };
            }
        }
    }
}

/// # Safety
/// As `GlobalAlloc::alloc`.
unsafe fn allocate(layout: Layout, zeroed: bool) -> *mut u8 {
    if layout.size() == 0 {
        report(Misuse::ZeroSize, ptr::null());
        return ptr::null_mut();
    }
    if meter::refuses() {
        return ptr::null_mut();
    }
    let block = match (PLAIN, zeroed) {
        // SAFETY: the size was checked to be above zero.
        (false, _) => unsafe { acquire(layout, zeroed) },
        // SAFETY: as above.
        (true, false) => unsafe { System.alloc(layout) },
        // SAFETY: as above.
        (true, true) => unsafe { System.alloc_zeroed(layout) },
    };
    if !block.is_null() {
        meter::allocated(layout.size());
    }
    block
}

// SAFETY:
// - Blocks are valid for their layout: `acquire` reserves the size at an offset that is a multiple
//   of the alignment, inside one system allocation that is private to this module.
// - A block stays valid until it is given back; `release` runs only after that, once.
// - No method unwinds: failures return null, misuse aborts, counting uses plain thread-local cells.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's condition.
        unsafe { allocate(layout, false) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's condition.
        unsafe { allocate(layout, true) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if PLAIN {
            meter::freed(layout.size());
            // SAFETY: in this build every block is the system's own.
            return unsafe { System.dealloc(block, layout) };
        }
        // SAFETY: the caller promises a live block of this allocator; `verify` checks as far as it can.
        if let Some(header) = unsafe { verify(block, layout) } {
            meter::freed(header.size);
            // SAFETY: verified above, and the caller gives the block up.
            unsafe { retire(block, header) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if new_size == 0 {
            report(Misuse::ZeroSize, block);
            return ptr::null_mut();
        }
        if PLAIN {
            if new_size > layout.size() && meter::refuses() {
                return ptr::null_mut();
            }
            // SAFETY: in this build every block is the system's own; the size is above zero.
            let moved = unsafe { System.realloc(block, layout, new_size) };
            if !moved.is_null() {
                meter::freed(layout.size());
                meter::allocated(new_size);
            }
            return moved;
        }
        // SAFETY: the caller promises a live block of this allocator; `verify` checks as far as it can.
        let Some(header) = (unsafe { verify(block, layout) }) else { return ptr::null_mut() };
        let Ok(new) = Layout::from_size_align(new_size, header.align) else { return ptr::null_mut() };
        if new_size > header.size && meter::refuses() {
            return ptr::null_mut();
        }
        // SAFETY: the new size is above zero.
        let moved = unsafe { acquire(new, false) };
        if moved.is_null() {
            return moved;
        }
        // SAFETY: both blocks hold at least the smaller size and are distinct, the new one being fresh.
        unsafe { ptr::copy_nonoverlapping(block, moved, header.size.min(new_size)) };
        meter::freed(header.size);
        meter::allocated(new_size);
        // SAFETY: verified above, and a successful `realloc` gives the old block up.
        unsafe { retire(block, header) };
        moved
    }
}
