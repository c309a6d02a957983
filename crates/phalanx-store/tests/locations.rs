//! Panics of the containers name the line of their caller, not one of this crate.
#![cfg(not(any(phalanx_narrow, loom)))]

use core::alloc::Layout;
use core::ops::Bound;
use phalanx_store::raw::Lane;
use phalanx_store::{
    Entity, EntityPool, LinearStore, PackedStore, PrimaryStore, SecondaryStore, SlotStore, Soa, SparseSet,
};
use phalanx_testkit::panics_here;

#[derive(Soa, Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f32,
    y: f32,
}

const POINT: Point = Point { x: 1.0, y: 2.0 };

/// A key, and one of the same index that is older.
fn young_and_old() -> (Entity, Entity) {
    let mut pool = EntityPool::new();
    let old = pool.alloc();
    pool.release(old);
    (pool.alloc(), old)
}

#[test]
fn keys_without_a_value_are_reported_in_the_line_that_indexes() {
    let mut packed = PackedStore::new();
    let gone = packed.insert(1);
    packed.remove(gone);
    panics_here(|| packed[gone]);
    panics_here(|| packed[gone] = 2);
    let mut slots = SlotStore::new();
    let gone = slots.insert(1);
    slots.remove(gone);
    panics_here(|| slots[gone]);
    panics_here(|| slots[gone] = 2);
    let (young, _) = young_and_old();
    let mut set: SparseSet<Entity, u32> = SparseSet::new();
    panics_here(|| set[young]);
    panics_here(|| set[young] = 2);
    let mut linear: LinearStore<Entity, u32> = LinearStore::new();
    panics_here(|| linear[young]);
    panics_here(|| linear[young] = 2);
}

#[test]
fn stale_keys_are_reported_in_the_line_that_inserts() {
    fn insert<S: SecondaryStore<Key = Entity, Value = u32>>(store: &mut S, key: Entity) {
        panics_here(|| store.insert(key, 7));
    }
    let (young, old) = young_and_old();
    let mut set = SparseSet::new();
    set.insert(young, 1);
    panics_here(|| set.insert(old, 2));
    panics_here(|| set.extend([(old, 2)]));
    panics_here(|| SparseSet::from_iter([(young, 1), (old, 2)]));
    insert(&mut set, old);
    assert_eq!(set.iter().collect::<Vec<_>>(), [(young, &1)]);
    let mut linear = LinearStore::new();
    linear.insert(young, 1);
    panics_here(|| linear.insert(old, 2));
    panics_here(|| linear.extend([(old, 2)]));
    panics_here(|| LinearStore::from_iter([(young, 1), (old, 2)]));
    insert(&mut linear, old);
    assert_eq!(linear.iter().collect::<Vec<_>>(), [(young, &1)]);
}

#[test]
fn slices_of_a_store_with_holes_are_reported_in_the_line_that_asks() {
    let mut packed = PackedStore::new();
    let first = packed.insert(1);
    packed.insert(2);
    packed.remove_in_place(first);
    panics_here(|| packed.as_slice().len());
    panics_here(|| packed.as_mut_slice().len());
    let mut pool = EntityPool::new();
    let keys = [pool.alloc(), pool.alloc()];
    let mut set: SparseSet<Entity, u32> = keys.into_iter().map(|key| (key, 1)).collect();
    set.remove_in_place(keys[0]);
    panics_here(|| set.key_slice().len());
}

#[test]
fn capacities_that_cannot_be_are_reported_in_the_line_that_asks() {
    fn mint<S: PrimaryStore<Value = u32>>(store: &mut S) -> S::Key {
        store.insert(1)
    }
    panics_here(|| PackedStore::<u32>::with_capacity(usize::MAX));
    panics_here(|| SlotStore::<u32>::with_capacity(usize::MAX));
    panics_here(|| SparseSet::<Entity, u32>::with_capacity(usize::MAX));
    panics_here(|| LinearStore::<Entity, u32>::with_capacity(usize::MAX));
    panics_here(|| EntityPool::with_capacity(usize::MAX));
    panics_here(|| Soa::<Point>::with_capacity(usize::MAX));
    let mut packed = PackedStore::<u32>::new();
    panics_here(|| packed.reserve(usize::MAX));
    mint(&mut packed);
    let mut slots = SlotStore::<u32>::new();
    panics_here(|| slots.reserve(usize::MAX));
    mint(&mut slots);
    panics_here(|| SparseSet::<Entity, u32>::new().reserve(usize::MAX));
    panics_here(|| LinearStore::<Entity, u32>::new().reserve(usize::MAX));
    panics_here(|| Soa::<Point>::new().reserve(usize::MAX));
    let mut pool = EntityPool::new();
    panics_here(|| pool.reserve(usize::MAX));
    panics_here(|| pool.alloc_many(usize::MAX).len());
    panics_here(|| pool.words_in(0..1).len());
}

#[test]
fn rows_that_are_not_there_are_reported_in_the_line_that_names_them() {
    let mut points: Soa<Point> = [POINT; 3].into_iter().collect();
    panics_here(|| points.insert(4, POINT));
    panics_here(|| points.try_insert(4, POINT).is_ok());
    panics_here(|| points.remove(3));
    panics_here(|| points.swap_remove(3));
    panics_here(|| points.replace(3, POINT));
    panics_here(|| points.swap(0, 3));
    panics_here(|| points.row(3));
    panics_here(|| *points.row_mut(3).x);
    panics_here(|| points.slice(2..4).len());
    panics_here(|| points.slice(..=usize::MAX).len());
    panics_here(|| points.slice((Bound::Excluded(usize::MAX), Bound::Unbounded)).len());
    panics_here(|| points.slice_mut(2..4).len());
    panics_here(|| points.slice(1..).slice(..3).len());
    panics_here(|| points.slice(1..).split_at(3));
    panics_here(|| points.slice_mut(1..).into_slice(..3).len());
    panics_here(|| points.slice_mut(1..).split_at(3).0.len());
    panics_here(|| points.slice_mut(..).swap(0, 3));
    panics_here(|| points.split_off(4));
    panics_here(|| points.try_split_off(4).is_ok());
    panics_here(|| points.drain(2..4).len());
    assert_eq!(points.len(), 3);
}

#[test]
fn rows_that_no_lane_holds_are_reported_in_the_line_that_makes_the_lane() {
    panics_here(|| Lane::new(Layout::from_size_align(1 << 33, 8).unwrap()));
    panics_here(|| Lane::new(Layout::from_size_align(12, 8).unwrap()));
}
