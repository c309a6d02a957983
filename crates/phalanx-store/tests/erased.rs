//! The dense core over lanes whose types are known at run time only, step for step with the typed set.
//!
//! The rows are several [`Lane`]s with a size and a destructor each; the index is the crate's own [`Sparse`] or a flat
//! one written here. What the typed [`SparseSet`] does by its methods, the erased store does by those of the core: same
//! operations, same order, same positions, holes included.
#![cfg(not(any(phalanx_narrow, loom)))]
#![allow(unsafe_code)] // The core trusts its caller; this is one.

use phalanx_store::index::Sparse;
use phalanx_store::raw::{Dense, DenseIndex, Lane, LaneOf, Rows};
use phalanx_store::{AllocError, Entity, SparseSet};
use phalanx_testkit::{Align64, Aligned, Counted, Rng, Tally};
use std::alloc::Layout;
use std::ops::Range;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

/// The destructor of a lane's rows, where they have one.
type End = Option<unsafe fn(*mut u8)>;

/// Lanes of equal length, each with the destructor of its rows.
struct Lanes(Vec<(Lane, End)>);

impl Lanes {
    fn of<T>() -> (Lane, End) {
        /// # Safety
        ///
        /// `row` points to a `T`, which the caller gives up.
        unsafe fn end<T>(row: *mut u8) {
            // SAFETY: by the caller's contract, `row` points to a `T` that is not used again.
            unsafe { row.cast::<T>().drop_in_place() };
        }
        (Lane::new(Layout::new::<T>()), std::mem::needs_drop::<T>().then_some(end::<T> as _))
    }

    /// # Safety
    ///
    /// The row is within the capacity.
    unsafe fn at(&self, lane: usize, row: u32) -> *mut u8 {
        let (lane, _) = &self.0[lane];
        // SAFETY: within the lane's block.
        unsafe { lane.ptr().as_ptr().add(row as usize * lane.row_size()) }
    }
}

// SAFETY: the capacity is that of the smallest lane, and every method is a copy of whole rows in each lane.
unsafe impl Rows for Lanes {
    fn capacity(&self) -> u32 {
        self.0.iter().map(|(lane, _)| lane.capacity()).min().unwrap_or(u32::MAX)
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(lane, _)| lane.bytes()).sum()
    }

    fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        self.0.iter_mut().try_for_each(|(lane, _)| lane.try_grow(needed))
    }

    unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError> {
        // SAFETY: by the caller's contract, no row at or above `cap` is in use.
        self.0.iter_mut().try_for_each(|(lane, _)| unsafe { lane.try_resize(cap) })
    }

    unsafe fn swap(&mut self, a: u32, b: u32) {
        for i in 0..self.0.len() {
            let size = self.0[i].0.row_size();
            // SAFETY: both rows are within the capacity and differ, so they do not overlap.
            unsafe { self.at(i, a).swap_with(self.at(i, b), size) };
        }
    }

    unsafe fn shift(&mut self, from: u32, to: u32) {
        for i in 0..self.0.len() {
            // SAFETY: as above.
            unsafe { self.at(i, from).copy_to_nonoverlapping(self.at(i, to), self.0[i].0.row_size()) };
        }
    }

    unsafe fn shift_down(&mut self, gap: u32, len: u32) {
        for i in 0..self.0.len() {
            let bytes = (len - gap - 1) as usize * self.0[i].0.row_size();
            // SAFETY: both ranges are within the capacity; they may overlap.
            unsafe { self.at(i, gap + 1).copy_to(self.at(i, gap), bytes) };
        }
    }

    unsafe fn drop_rows(&mut self, range: Range<u32>) {
        for (i, (_, end)) in self.0.iter().enumerate() {
            if let Some(end) = end {
                // SAFETY: by the caller's contract, the rows are initialised and not used again.
                range.clone().for_each(|row| unsafe { end(self.at(i, row)) });
            }
        }
    }
}

/// Exchanges blocks of bytes that may be uninitialised and do not overlap.
trait SwapWith {
    unsafe fn swap_with(self, other: Self, size: usize);
}

impl SwapWith for *mut u8 {
    unsafe fn swap_with(self, other: *mut u8, size: usize) {
        type Byte = std::mem::MaybeUninit<u8>;
        // SAFETY: by the caller's contract, both blocks have `size` bytes and do not overlap.
        unsafe { std::ptr::swap_nonoverlapping(self.cast::<Byte>(), other.cast::<Byte>(), size) };
    }
}

/// An index of one's own: an entry for every index up to the highest.
#[derive(Default)]
struct Flat(Vec<Option<(Entity, u32)>>);

// SAFETY: a position is returned for the very key that it was stored for, until that is released.
unsafe impl DenseIndex for Flat {
    type Key = Entity;
    type DenseKey = (Entity, bool);
    const MAX: u32 = u32::MAX;

    fn position(&self, key: Entity) -> Option<u32> {
        self.0.get(key.index() as usize).copied().flatten().filter(|(k, _)| *k == key).map(|(_, at)| at)
    }
    unsafe fn key(&self, (key, _): Self::DenseKey) -> Entity {
        key
    }
    unsafe fn relocate(&mut self, (key, _): Self::DenseKey, position: u32) {
        self.0[key.index() as usize] = Some((key, position));
    }
    unsafe fn release(&mut self, (key, _): Self::DenseKey) -> bool {
        self.0[key.index() as usize] = None;
        false
    }
    fn dense_key(key: Entity) -> Self::DenseKey {
        (key, false)
    }
    unsafe fn on_released(&mut self, _: &mut LaneOf<Self::DenseKey>, _: u32) {}
    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Option<(Entity, u32)>>()
    }
    unsafe fn validate(&self, _: &LaneOf<Self::DenseKey>, _: u32, live: u32) -> Result<(), &'static str> {
        let known = self.0.iter().flatten().count() as u32;
        if known == live { Ok(()) } else { Err("the index has other keys than the container") }
    }
    fn hole((key, _): Self::DenseKey) -> Self::DenseKey {
        (key, true)
    }
    fn is_hole((_, hole): Self::DenseKey) -> bool {
        hole
    }
    fn filled((key, _): Self::DenseKey) -> Self::DenseKey {
        (key, false)
    }
}

/// How an index takes in a key, which is all that differs between them.
trait Admits: DenseIndex<Key = Entity> + Default {
    fn occupant(&self, index: u32) -> Option<Entity>;
    /// # Safety
    ///
    /// The key's index has no occupant, and the row is written next.
    unsafe fn try_admit(core: &mut Dense<Self, Lanes>, key: Entity) -> Result<u32, AllocError>
    where
        Self: Sized;
}

impl Admits for Sparse<Entity> {
    fn occupant(&self, index: u32) -> Option<Entity> {
        Sparse::occupant(self, index)
    }
    unsafe fn try_admit(core: &mut Dense<Self, Lanes>, key: Entity) -> Result<u32, AllocError> {
        // SAFETY: by the caller's contract, the key's index has no occupant, and the row is written next.
        unsafe { core.try_admit(key) }
    }
}

impl Admits for Flat {
    fn occupant(&self, index: u32) -> Option<Entity> {
        self.0.get(index as usize).copied().flatten().map(|(key, _)| key)
    }
    unsafe fn try_admit(core: &mut Dense<Self, Lanes>, key: Entity) -> Result<u32, AllocError> {
        core.try_reserve(1)?;
        let at = core.positions();
        // SAFETY: the key is stored with the position that is pushed next, and capacity for it is reserved.
        unsafe {
            let entries = &mut core.index_mut().0;
            let index = key.index() as usize;
            entries.resize(entries.len().max(index + 1), None);
            entries[index] = Some((key, at));
            Ok(core.push((key, false)))
        }
    }
}

/// What a row consists of: a word, a counted value, nothing, three bytes, and a value aligned to 64.
type Row = (u64, Counted, (), [u8; 3], Aligned<Align64>);

fn row(tally: &Tally, n: u32) -> Row {
    (n.into(), tally.value(n), (), [n as u8, (n >> 8) as u8, 7], Aligned::new(tally, n))
}

fn numbers((word, counted, (), bytes, aligned): &Row) -> [u32; 4] {
    [*word as u32, counted.key(), u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]), aligned.key()]
}

/// The erased store: it knows layouts and destructors, and this test knows the rest.
struct Erased<X: Admits>(Dense<X, Lanes>);

impl<X: Admits> Erased<X> {
    fn new() -> Self {
        let lanes = vec![
            Lanes::of::<u64>(),
            Lanes::of::<Counted>(),
            Lanes::of::<()>(),
            Lanes::of::<[u8; 3]>(),
            Lanes::of::<Aligned<Align64>>(),
        ];
        Erased(Dense::new(X::default(), Lanes(lanes)))
    }

    /// The row at a position, taken out.
    unsafe fn read(&self, at: u32) -> Row {
        let rows = self.0.rows();
        // SAFETY: the position is in use and no hole, and the caller treats the row as moved out.
        unsafe {
            (
                rows.at(0, at).cast::<u64>().read(),
                rows.at(1, at).cast::<Counted>().read(),
                (),
                rows.at(3, at).cast::<[u8; 3]>().read(),
                rows.at(4, at).cast::<Aligned<Align64>>().read(),
            )
        }
    }

    /// Writes a row where none is.
    unsafe fn write(&mut self, at: u32, row: Row) {
        // SAFETY: the position is within the capacity; the lanes have these types.
        unsafe {
            let rows = self.0.rows_mut();
            rows.at(0, at).cast::<u64>().write(row.0);
            rows.at(1, at).cast::<Counted>().write(row.1);
            rows.at(3, at).cast::<[u8; 3]>().write(row.3);
            rows.at(4, at).cast::<Aligned<Align64>>().write(row.4);
            rows.0.iter_mut().for_each(|(lane, _)| lane.set_dirty(at));
        }
    }

    fn insert(&mut self, key: Entity, row: Row) {
        // SAFETY: the index has no occupant, or the one it has is this key, whose row is replaced.
        unsafe {
            match self.0.index().occupant(key.index()) {
                None => {
                    let at = X::try_admit(&mut self.0, key).unwrap();
                    self.write(at, row);
                }
                Some(present) => {
                    assert_eq!(present, key, "takeovers are tried elsewhere");
                    let at = self.0.index().position(key).unwrap();
                    drop(self.read(at));
                    self.write(at, row);
                }
            }
        }
    }

    fn swap_remove(&mut self, key: Entity) -> Option<Row> {
        let at = self.0.index().position(key)?;
        // SAFETY: in use and no hole; the row is moved out first.
        unsafe {
            let row = self.read(at);
            self.0.swap_remove(at, X::dense_key(key));
            Some(row)
        }
    }

    fn shift_remove(&mut self, key: Entity) -> Option<Row> {
        self.0.index().position(key)?;
        self.0.compact(u32::MAX);
        let at = self.0.index().position(key)?;
        // SAFETY: in use, without holes; the row is moved out first.
        unsafe {
            let row = self.read(at);
            self.0.shift_remove(at);
            Some(row)
        }
    }

    /// Through a tail that still owns the row: the way of containers that keep removed rows for a while.
    fn retire(&mut self, key: Entity) -> Option<Row> {
        self.0.index().position(key)?;
        self.0.compact(u32::MAX);
        let at = self.0.index().position(key)?;
        // SAFETY: in use, without holes; the row lies behind the last one then, and is moved out of there.
        unsafe {
            let tail = self.0.swap_remove_to_tail(at);
            assert_eq!(tail, self.0.positions());
            Some(self.read(tail))
        }
    }

    fn remove_in_place(&mut self, key: Entity) -> bool {
        let Some(at) = self.0.index().position(key) else { return false };
        // SAFETY: the position is in use and not a hole. When the hole is made, the row belongs to this function.
        unsafe {
            self.0.leave_hole(at);
            self.0.rows_mut().drop_rows(at..at + 1);
        }
        true
    }

    fn clear(&mut self) {
        let len = self.0.release_all();
        // SAFETY: the rows are initialised, and the container no longer uses them.
        unsafe { self.0.rows_mut().drop_rows(0..len) };
    }
}

impl<X: Admits> Drop for Erased<X> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn compare<X: Admits>(erased: &Erased<X>, typed: &SparseSet<Entity, Row>) {
    let core = &erased.0;
    core.validate().unwrap();
    typed.validate().unwrap();
    assert_eq!((core.live() as usize, core.holes() as usize), (typed.len(), typed.holes()));
    for (at, dense_key) in (0..).zip(core.dense_keys()) {
        // SAFETY: a dense key that is not a hole is alive.
        let key = (!X::is_hole(*dense_key)).then(|| unsafe { core.index().key(*dense_key) });
        assert_eq!(key, typed.key_at(at as usize), "the key at position {at}");
        let Some(key) = key else { continue };
        assert_eq!(core.index().position(key), Some(at));
        // SAFETY: in use and no hole; the copy is forgotten, so the row stays where it is.
        let row = std::mem::ManuallyDrop::new(unsafe { erased.read(at) });
        // The aligned one is looked at in its place, where it must stand aligned.
        // SAFETY: in use and no hole.
        let aligned = unsafe { &*core.rows().at(4, at).cast::<Aligned<Align64>>() };
        let found = [row.0 as u32, row.1.key(), u32::from_le_bytes([row.3[0], row.3[1], row.3[2], 0]), aligned.key()];
        assert_eq!(found, numbers(&typed[key]), "the row of {key:?}");
    }
}

/// Random operations on both, up to `highest` as index.
fn in_step<X: Admits>(seed: u64, highest: u32) {
    let tally = Tally::new();
    let (mut erased, mut typed) = (Erased::<X>::new(), SparseSet::<Entity, Row>::new());
    let mut rng = Rng::new(seed);
    for n in 0..400 {
        let pick = rng.below(40) as u64;
        let index = if pick < 30 { pick } else { u64::from(highest) - (pick - 30) };
        let key = Entity::from_bits(index).unwrap();
        match rng.below(24) {
            0..11 => {
                erased.insert(key, row(&tally, n));
                typed.insert(key, row(&tally, n));
            }
            11..14 => {
                let (a, b) = (erased.swap_remove(key), typed.swap_remove(key));
                assert_eq!(a.as_ref().map(numbers), b.as_ref().map(numbers));
            }
            14 | 15 => {
                let (a, b) = (erased.shift_remove(key), typed.shift_remove(key));
                assert_eq!(a.as_ref().map(numbers), b.as_ref().map(numbers));
            }
            16 => {
                if typed.contains(key) {
                    typed.compact();
                }
                let (a, b) = (erased.retire(key), typed.swap_remove(key));
                assert_eq!(a.as_ref().map(numbers), b.as_ref().map(numbers));
            }
            17..20 => assert_eq!(erased.remove_in_place(key), typed.remove_in_place(key)),
            20 => {
                let budget = rng.below(8);
                assert_eq!(erased.0.compact(budget as u32) as usize, typed.compact_step(budget));
            }
            21 => {
                // Reversed, by a permutation here and a sort there.
                erased.0.compact(u32::MAX);
                typed.compact();
                let len = typed.len() as u32;
                let mut order: Vec<u32> = (0..len).rev().collect();
                erased.0.permute(&mut order);
                let mut place = len;
                typed.sort_by_key(|_| {
                    place -= 1;
                    place
                });
            }
            22 => {
                let other = Entity::from_bits(rng.below(30) as u64).unwrap();
                if let (true, true) = (typed.contains(key), typed.contains(other)) {
                    erased.0.compact(u32::MAX);
                    let places = (erased.0.index().position(key).unwrap(), erased.0.index().position(other).unwrap());
                    // SAFETY: both are in use, and there are no holes.
                    unsafe { erased.0.swap(places.0, places.1) };
                    typed.swap_keys(key, other);
                }
            }
            _ if n % 5 == 0 => {
                erased.clear();
                typed.clear();
            }
            _ => {
                erased.0.compact(u32::MAX);
                typed.shrink_to_fit();
                let len = erased.0.positions();
                // SAFETY: neither index keeps dense keys of its own.
                unsafe { erased.0.try_shrink(len) }.unwrap();
                assert_eq!(erased.0.rows().bytes(), len as usize * (8 + size_of::<Counted>() + 3 + 64));
            }
        }
        compare(&erased, &typed);
    }
    drop((erased, typed));
    tally.assert_no_leaks();
}

#[test]
fn erased_lanes_under_the_sparse_index_move_as_typed_rows_do() {
    for seed in 0..12 {
        in_step::<Sparse<Entity>>(seed, if seed % 2 == 0 { 200 } else { u32::MAX - 1 });
    }
}

#[test]
fn erased_lanes_under_an_index_of_ones_own_move_as_typed_rows_do() {
    for seed in 0..12 {
        in_step::<Flat>(seed, 200);
    }
}

#[test]
fn a_later_key_takes_a_row_over() {
    let tally = Tally::new();
    let mut erased = Erased::<Sparse<Entity>>::new();
    let [old, new] = [0, 1_u64 << 32].map(|generation| Entity::from_bits(generation | 7).unwrap());
    erased.insert(old, row(&tally, 1));
    let at = erased.0.index().position(old).unwrap();
    // SAFETY: the position is in use and no hole, and both keys have the index 7.
    unsafe { erased.0.replace_key(at, new) };
    erased.0.validate().unwrap();
    let index = erased.0.index();
    assert_eq!((index.position(old), index.position(new), index.occupant(7)), (None, Some(at), Some(new)));
    assert_eq!(
        erased.swap_remove(new).as_ref().map(numbers),
        Some([1; 4]).map(|[a, b, _, d]| [a, b, (7 << 16) | 1, d])
    );
    assert_eq!(erased.0.index().occupant(7), None);
}

#[test]
fn lanes_of_a_container_are_tracked_each_for_itself() {
    let tally = Tally::new();
    let mut erased = Erased::<Sparse<Entity>>::new();
    let key = |index: u32| Entity::from_bits(index.into()).unwrap();
    for n in 0..1000 {
        erased.insert(key(n), row(&tally, n));
    }
    // SAFETY: tracking and dirty bits do not touch the rows.
    let lanes = unsafe { &mut erased.0.rows_mut().0 };
    let word = &mut lanes[0].0;
    word.try_track().unwrap();
    word.dirty_mut().fill(0);
    erased.insert(key(300), row(&tally, 0));
    // SAFETY: as above.
    let lanes = unsafe { &mut erased.0.rows_mut().0 };
    assert_eq!(lanes[0].0.dirty_mut(), [1 << (300 / Lane::CHUNK)]);
    assert!(lanes[1].0.dirty_mut().is_empty(), "the other lanes are not tracked");
}

#[test]
fn keys_are_found_between_holes_and_positions_by_a_lookup() {
    let mut dense: Dense<Sparse<Entity>, LaneOf<()>> = Dense::new(Sparse::new(), LaneOf::new());
    // The last is beyond the window of the index.
    let keys: Vec<Entity> = (0..9).chain([1 << 20]).map(|n| Entity::from_bits(n).unwrap()).collect();
    for key in &keys {
        // SAFETY: the container does not have the key, and a row without size is initialised.
        unsafe { dense.try_admit(*key).unwrap() };
    }
    let lookup = dense.index().lookup();
    for (at, key) in (0..).zip(&keys) {
        // SAFETY: the key is linked.
        assert_eq!(unsafe { lookup.position_unchecked(key.index()) }, at);
    }
    // SAFETY: the positions are in use and not holes.
    unsafe {
        dense.leave_hole(3);
        dense.leave_hole(6);
        dense.swap(2, 4);
    }
    assert_eq!((dense.keys_from(0), dense.keys_from(3)), (&[keys[0], keys[1], keys[4]][..], &[][..]));
    assert_eq!((dense.keys_from(7), dense.keys_from(10), dense.keys_from(99)), (&keys[7..], &[][..], &[][..]));
    assert_eq!((dense.keys_before(6), dense.keys_before(4)), (&[keys[2], keys[5]][..], &[][..]));
    assert_eq!((dense.keys_before(2), dense.keys_before(0), dense.keys_before(10)), (&keys[..2], &[][..], &keys[7..]));
    assert_eq!(dense.validate(), Ok(()));
}
