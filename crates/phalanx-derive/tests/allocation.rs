//! What is asked of the allocator: exact layouts, no empty blocks, nothing changed when it refuses.
#![allow(unsafe_code)]

use phalanx_store::soa::{ColumnsError, LANE_ALIGN, Shape, SoaRow};
use phalanx_store::{AllocError, Soa};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::ptr;

thread_local! {
    /// How many allocations are granted before one is refused.
    static GRANTED: Cell<Option<usize>> = const { Cell::new(None) };
    static REFUSED: Cell<usize> = const { Cell::new(0) };
    static ASKED: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Gives blocks that are aligned to what was asked and to no more, filled with 0xCD, and remembers their layouts.
struct Pedant;

#[global_allocator]
static ALLOCATOR: Pedant = Pedant;

impl Pedant {
    /// The outer block, for the header and for an address that is an odd multiple of the alignment.
    fn outer(layout: Layout) -> Layout {
        let align = layout.align().max(16);
        Layout::from_size_align(layout.size() + 2 * align, 2 * align).unwrap()
    }

    fn start(layout: Layout) -> usize {
        layout.align().max(16)
    }
}

// SAFETY: every block is one of the system's, larger than asked, and the address given out lies `start` bytes into it,
// which is a multiple of the alignment. The 16 bytes before that address hold the layout.
unsafe impl GlobalAlloc for Pedant {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() == 0 {
            std::process::abort();
        }
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
        let refuse = GRANTED.try_with(|granted| match granted.get() {
            Some(0) => true,
            Some(n) => {
                granted.set(Some(n - 1));
                false
            }
            None => false,
        });
        if refuse == Ok(true) {
            let _ = REFUSED.try_with(|refused| refused.set(refused.get() + 1));
            return ptr::null_mut();
        }
        let _ = HELD.try_with(|held| held.set(held.get() + layout.size() as isize));
        // SAFETY: the outer layout is not empty; the header and the block lie within it.
        unsafe {
            let outer = System.alloc(Self::outer(layout));
            if outer.is_null() {
                return outer;
            }
            let block = outer.add(Self::start(layout));
            block.cast::<usize>().sub(1).write(layout.size());
            block.cast::<usize>().sub(2).write(layout.align());
            block.write_bytes(0xCD, layout.size());
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` is from `alloc`, so the header stands before it.
        unsafe {
            let header = (block.cast::<usize>().sub(1).read(), block.cast::<usize>().sub(2).read());
            if header != (layout.size(), layout.align()) {
                std::process::abort();
            }
            block.write_bytes(0xDD, layout.size());
            let _ = HELD.try_with(|held| held.set(held.get() - layout.size() as isize));
            System.dealloc(block.sub(Self::start(layout)), Self::outer(layout));
        }
    }
}

#[derive(Soa, Clone, Debug, PartialEq)]
struct Row {
    a: u8,
    b: [u32; 3],
    c: (),
    d: u64,
}

fn row(n: usize) -> Row {
    Row { a: n as u8, b: [n as u32; 3], c: (), d: n as u64 }
}

fn filled(count: usize) -> Soa<Row> {
    (0..count).map(row).collect()
}

/// Runs `operation` on a fresh array, refusing the n-th allocation for each n, until none is refused.
fn refuse_each<R, E: Into<AllocError>>(make: impl Fn() -> Soa<Row>, operation: impl Fn(&mut Soa<Row>) -> Result<R, E>) {
    for n in 0.. {
        let mut soa = make();
        let before: Vec<Row> = (0..soa.len()).map(|i| soa.get_cloned(i).unwrap()).collect();
        let (capacity, memory) = (soa.capacity(), soa.memory());
        REFUSED.set(0);
        GRANTED.set(Some(n));
        let result = operation(&mut soa).map(drop).map_err(Into::into);
        GRANTED.set(None);
        soa.validate().unwrap();
        if REFUSED.get() == 0 {
            assert_eq!(result, Ok(()));
            assert!(n > 0, "the operation never allocated");
            return;
        }
        assert!(matches!(result, Err(AllocError::OutOfMemory { .. })), "a refusal was swallowed: {result:?}");
        assert_eq!((soa.capacity(), soa.memory()), (capacity, memory));
        let after: Vec<Row> = soa.iter().map(|r| Row { a: *r.a, b: *r.b, c: *r.c, d: *r.d }).collect();
        assert_eq!(after, before);
    }
}

#[test]
fn a_refused_allocation_changes_nothing() {
    let held = HELD.get();
    // Below and above the size from which blocks are extended in place.
    for count in [0, 3, 64, 10_000] {
        let full = || {
            let mut soa = filled(count);
            soa.shrink_to_fit();
            soa
        };
        refuse_each(full, |soa| soa.try_push(row(1)));
        refuse_each(full, |soa| soa.try_insert(0, row(1)));
        refuse_each(full, |soa| soa.try_reserve(10));
        refuse_each(full, |soa| soa.try_reserve_exact(10));
        refuse_each(full, |soa| soa.try_extend((0..5).map(row)));
        let other = RefCell::new(filled(3));
        refuse_each(full, |soa| soa.try_extend_from(&other.borrow()));
        refuse_each(full, |soa| soa.try_extend_from_slice(other.borrow().slice(1..)));
        refuse_each(full, |soa| soa.try_resize(count + 4, row(7)));
        refuse_each(full, |_| other.borrow().slice(..2).try_to_soa());
        refuse_each(full, |soa| soa.try_append(&mut other.borrow_mut()));
        refuse_each(full, |_| Soa::<Row>::try_with_capacity(5));
        if count > 0 {
            refuse_each(full, |soa| soa.try_clone());
            refuse_each(full, |soa| soa.try_split_off(1));
            refuse_each(full, |soa| soa.try_sort_by(|a, b| b.d.cmp(a.d)));
            refuse_each(full, |soa| soa.try_sort_by_key(|row| std::cmp::Reverse(*row.d)));
            refuse_each(full, |soa| soa.try_sort_unstable_by_key(|row| std::cmp::Reverse(*row.d)));
            refuse_each(full, |soa| soa.try_sort_unstable_by(|a, b| b.d.cmp(a.d)));
            refuse_each(full, |soa| soa.try_sort_by_scalar(|row| !*row.d));
            let half = || {
                let mut soa = filled(count + 1);
                soa.truncate(1);
                soa
            };
            refuse_each(half, Soa::try_shrink_to_fit);
            refuse_each(half, |soa| soa.try_shrink_to(2));
        }
    }
    assert_eq!(HELD.get(), held, "memory was lost");
}

#[test]
fn columns_that_find_no_room_change_nothing() {
    let mut soa = filled(3);
    soa.shrink_to_fit();
    let columns = || RowColumns { a: vec![1; 2], b: vec![[1; 3]; 2], c: vec![(); 2], d: vec![1; 2] };
    let refused = columns();
    GRANTED.set(Some(0));
    let rejected = soa.try_extend_columns(refused).unwrap_err();
    GRANTED.set(None);
    assert!(matches!(rejected.reason, ColumnsError::Alloc(AllocError::OutOfMemory { .. })));
    let RowColumns { a, b, c, d } = rejected.into_inner();
    assert_eq!((a, b, c, d), (vec![1; 2], vec![[1; 3]; 2], vec![(); 2], vec![1; 2]));
    let unequal = RowColumns { d: vec![9], ..columns() };
    let error = ColumnsError::UnequalLengths { first: 2, lane: 3, found: 1, row: "Row" };
    let rejected = soa.try_extend_columns(unequal).unwrap_err();
    assert_eq!((rejected.reason, rejected.value.d), (error, vec![9]));
    assert_eq!(soa, filled(3));
    soa.try_extend_columns(columns()).unwrap();
    assert_eq!(soa.len(), 5);
}

#[test]
fn rows_that_find_no_room_are_given_back() {
    let mut soa = filled(3);
    soa.shrink_to_fit();
    let mut refuse = |operation: &mut dyn FnMut(&mut Soa<Row>)| {
        GRANTED.set(Some(0));
        operation(&mut soa);
        GRANTED.set(None);
        assert_eq!(soa, filled(3));
    };
    refuse(&mut |soa| assert_eq!(soa.try_push(row(7)).unwrap_err().into_inner(), row(7)));
    refuse(&mut |soa| assert_eq!(soa.try_insert(1, row(8)).unwrap_err().into_inner(), row(8)));
    // An iterator that promises rows is not asked for any, one that promises none has given one.
    let mut promised = (0..5).map(row);
    refuse(&mut |soa| assert_eq!(soa.try_extend(&mut promised).unwrap_err().value, None));
    assert_eq!(promised.next(), Some(row(0)));
    let mut unpromised = (0..5).map(row).filter(|_| true);
    refuse(&mut |soa| assert_eq!(soa.try_extend(&mut unpromised).unwrap_err().value, Some(row(0))));
    assert_eq!(unpromised.next(), Some(row(1)));
}

#[test]
fn memory_is_what_is_held() {
    let before = HELD.get();
    let held = || usize::try_from(HELD.get() - before).unwrap();
    let mut soa: Soa<Row> = Soa::new();
    assert_eq!((soa.memory(), held()), (0, 0));
    for n in 0..5_000 {
        soa.push(row(n));
        assert_eq!(soa.memory(), held());
    }
    assert!(soa.memory() >= soa.capacity() * <Row as SoaRow>::Shape::ROW);
    assert!(soa.memory() <= soa.capacity() * <Row as SoaRow>::Shape::ROW + 512);
    soa.truncate(17);
    soa.shrink_to_fit();
    assert_eq!((soa.capacity(), soa.memory()), (17, held()));
    soa.clear();
    soa.shrink_to_fit();
    assert_eq!((soa.capacity(), soa.memory(), held()), (0, 0, 0));
}

#[test]
fn requests_that_cannot_be_counted_do_not_reach_the_allocator() {
    let size = <Row as SoaRow>::Shape::ROW;
    let mut soa = filled(3);
    let capacity = soa.capacity();
    let asked = ASKED.get();
    for request in [usize::MAX, usize::MAX - 3, isize::MAX as usize, isize::MAX as usize / size, usize::MAX / size + 1]
    {
        assert_eq!(soa.try_reserve(request), Err(AllocError::CapacityOverflow));
        assert_eq!(soa.try_reserve_exact(request), Err(AllocError::CapacityOverflow));
        assert!(Soa::<Row>::try_with_capacity(request).is_err());
    }
    assert_eq!((ASKED.get(), soa.len(), soa.capacity()), (asked, 3, capacity));
    for request in [0, 1, capacity - 3] {
        soa.reserve(request);
    }
    assert_eq!((ASKED.get(), soa.capacity()), (asked, capacity));
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Line(u8);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(4096))]
struct Page(u8);

#[derive(Clone, Copy, Debug)]
#[repr(align(4096))]
struct Nothing;

#[derive(Soa, Clone, Copy, Debug)]
struct Aligned {
    byte: u8,
    line: Line,
    page: Page,
    nothing: Nothing,
}

#[test]
fn alignments_up_to_4096_are_kept_through_growth_and_shrinking() {
    let mut soa: Soa<Aligned> = Soa::new();
    let check = |soa: &Soa<Aligned>| {
        soa.validate().unwrap();
        let lanes = soa.lanes();
        assert!(lanes.byte.as_ptr().addr().is_multiple_of(LANE_ALIGN) || soa.capacity() == 0);
        assert!(lanes.line.as_ptr().is_aligned() && lanes.page.as_ptr().is_aligned());
        assert!(lanes.nothing.as_ptr().is_aligned());
        for (n, row) in soa.iter().enumerate() {
            assert_eq!((*row.byte, row.line.0, row.page.0), (n as u8, n as u8, n as u8));
            assert!(ptr::from_ref(row.nothing).is_aligned());
        }
    };
    check(&soa);
    for n in 0..200 {
        soa.push(Aligned { byte: n, line: Line(n), page: Page(n), nothing: Nothing });
        check(&soa);
    }
    soa.sort_by(|a, b| a.byte.cmp(b.byte));
    for n in (0..200).rev() {
        soa.truncate(n);
        if n % 20 == 0 {
            soa.shrink_to_fit();
        }
        check(&soa);
    }
}

#[derive(Soa, Clone, Copy, Debug)]
struct Hollow {
    nothing: Nothing,
    unit: (),
}

#[test]
fn rows_without_size_never_allocate() {
    let asked = ASKED.get();
    let mut soa: Soa<Hollow> = Soa::with_capacity(1 << 40);
    for _ in 0..1000 {
        soa.push(Hollow { nothing: Nothing, unit: () });
    }
    assert!(soa.lanes().nothing.as_ptr().is_aligned());
    soa.retain(|_| true);
    soa.insert(3, Hollow { nothing: Nothing, unit: () });
    soa.shrink_to_fit();
    assert_eq!((soa.len(), soa.clone().len(), soa.drain(1..).count(), soa.memory()), (1001, 1001, 1000, 0));
    assert_eq!(ASKED.get(), asked);
}

/// Fields whose types forbid bit patterns, which fresh memory is full of.
#[derive(Soa, Clone, Copy, Debug, PartialEq)]
struct Choosy {
    reference: &'static str,
    number: std::num::NonZeroU32,
    flag: bool,
    order: std::cmp::Ordering,
    letter: char,
}

#[test]
fn forbidden_patterns_are_never_formed() {
    let row = |n: u32| Choosy {
        reference: ["", "a"][n as usize % 2],
        number: std::num::NonZeroU32::new(n + 1).unwrap(),
        flag: n.is_multiple_of(3),
        order: n.cmp(&50),
        letter: char::from_u32(n + 65).unwrap(),
    };
    let mut soa: Soa<Choosy> = (0..100).map(row).collect();
    soa.retain(|row| *row.flag);
    soa.reserve(1000);
    soa.sort_by_key(|row| std::cmp::Reverse(*row.number));
    let expected: Vec<Choosy> = (0..100).filter(|n| n % 3 == 0).rev().map(row).collect();
    assert_eq!(soa.into_iter().collect::<Vec<_>>(), expected);
}

#[derive(Soa)]
struct Large {
    bytes: [u8; 1 << 20],
    tag: u8,
}

/// Each call in a frame of its own, as unoptimised frames hold all temporaries of a function.
fn step(soa: &mut Soa<Large>, work: impl FnOnce(&mut Soa<Large>)) {
    work(soa);
}

#[test]
fn rows_of_a_mebibyte_fit_the_stack() {
    let work = || {
        let mut soa: Soa<Large> = Soa::new();
        for tag in 0..3 {
            step(&mut soa, |soa| soa.push(Large { bytes: [tag; 1 << 20], tag }));
        }
        step(&mut soa, |soa| soa.insert(1, Large { bytes: [9; 1 << 20], tag: 9 }));
        step(&mut soa, |soa| assert_eq!(soa.remove(0).bytes[77], 0));
        step(&mut soa, |soa| assert_eq!(soa.swap_remove(0).tag, 9));
        soa.swap(0, 1);
        assert_eq!(soa.lanes().tag, [1, 2]);
        soa.extend_columns(LargeColumns { bytes: vec![[5; 1 << 20]], tag: vec![5] }).unwrap();
        assert_eq!(soa.lanes().bytes[2][1], 5);
    };
    // A row is moved by value, and each move is a copy on the stack where nothing is optimised.
    let stack = if cfg!(debug_assertions) { 32 << 20 } else { 8 << 20 };
    std::thread::Builder::new().stack_size(stack).spawn(work).unwrap().join().unwrap();
}
