//! Sequences of operations on every container, against models that are too simple to be wrong.
//!
//! All containers are driven by one operation enum. After each step every invariant is validated, every value is looked
//! up, every key that ever was is tried again, and the container is walked in every way. A failure prints its seed and
//! the smallest sequence that still fails; `PHALANX_SEED=n` runs that one alone, `PHALANX_CASES=1000` ten times as many.
#![cfg(not(any(phalanx_narrow, loom)))]
#![allow(unreachable_pub)] // The modules of a test binary are not visible outside it.

mod model {
    pub mod dense;
    pub mod item;
    pub mod op;
    pub mod pool;
    pub mod primary;
    pub mod secondary;
    pub mod shared;
    pub mod walk;
}

use model::item::Large;
use model::op::explore;
use model::pool::Pool;
use model::primary::{Own, Packed, Slot};
use model::secondary::{Linear, Sparse};
use phalanx_store::{Entity, Handle, LinearStore, PackedStore, SlotStore, SparseSet};
use phalanx_testkit::{Align64, Counted, Rng, Zst, measure_zst};
use std::collections::BTreeSet;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

/// Zero-sized values have no bytes for an identity, so they are counted for each thread.
fn zst_balance(run: impl FnOnce()) {
    let ((), usage) = measure_zst(run);
    assert_eq!((usage.made, usage.misaligned), (usage.dropped, 0), "every value is dropped once, aligned");
}

#[test]
fn packed_store_of_counted_values() {
    explore::<Packed<Counted>>(50, 120);
}

#[test]
fn packed_store_of_large_values() {
    explore::<Packed<Large>>(20, 100);
}

#[test]
fn packed_store_of_plain_bytes() {
    explore::<Packed<u8>>(20, 100);
}

#[test]
fn packed_store_of_zero_sized_values() {
    zst_balance(|| explore::<Packed<Zst<Align64>>>(20, 100));
}

#[test]
fn slot_store_of_counted_values() {
    explore::<Slot<Counted>>(30, 120);
}

#[test]
fn slot_store_of_large_values() {
    explore::<Slot<Large>>(20, 100);
}

#[test]
fn slot_store_of_plain_bytes() {
    explore::<Slot<u8>>(20, 100);
}

#[test]
fn slot_store_of_zero_sized_values() {
    zst_balance(|| explore::<Slot<Zst<Align64>>>(20, 100));
}

#[test]
fn sparse_set_keyed_by_entities() {
    explore::<Sparse<Entity, Counted>>(36, 120);
}

#[test]
fn sparse_set_keyed_by_handles_of_another_store() {
    explore::<Sparse<Handle<Own>, Counted>>(16, 120);
}

#[test]
fn sparse_set_of_large_values() {
    explore::<Sparse<Entity, Large>>(12, 100);
}

#[test]
fn sparse_set_of_zero_sized_values() {
    zst_balance(|| explore::<Sparse<Entity, Zst<Align64>>>(12, 100));
}

#[test]
fn linear_store_keyed_by_entities() {
    explore::<Linear<Entity, Counted>>(24, 120);
}

#[test]
fn linear_store_keyed_by_handles_of_another_store() {
    explore::<Linear<Handle<Own>, u8>>(16, 120);
}

#[test]
fn linear_store_of_large_values() {
    explore::<Linear<Entity, Large>>(12, 100);
}

#[test]
fn linear_store_of_zero_sized_values() {
    zst_balance(|| explore::<Linear<Entity, Zst<Align64>>>(20, 100));
}

#[test]
fn entity_pool_with_reservations() {
    explore::<Pool>(80, 150);
}

/// More slots than one word of the highest summary counts, so that all three levels have seams.
#[test]
fn slot_store_uses_the_lowest_of_very_many_slots_first() {
    const SLOTS: u32 = (1 << 18) + 4096 + 70;
    let mut store: SlotStore<u8> = (0..SLOTS).map(|n| n as u8).collect();
    let handles: Vec<_> = store.keys().collect();
    let mut rng = Rng::new(1);
    let mut free: BTreeSet<u32> = [0, 63, 64, 4095, 4096, 1 << 17, (1 << 18) - 1, 1 << 18, SLOTS - 1].into();
    free.extend((0..500).map(|_| rng.below(SLOTS as usize) as u32));
    let mut order: Vec<u32> = free.iter().copied().collect();
    rng.shuffle(&mut order);
    for index in order {
        assert_eq!(store.remove(handles[index as usize]), Some(index as u8));
    }
    store.validate().unwrap();
    while let Some(lowest) = free.pop_first() {
        assert_eq!(store.insert(1).index(), lowest);
        if rng.chance(1, 4) {
            // One that is lower than all that are free, or higher than most.
            let index = rng.below(SLOTS as usize) as u32;
            if !free.contains(&index) && store.remove(handles[index as usize]).is_some() {
                free.insert(index);
            }
        }
    }
    store.validate().unwrap();
    assert_eq!(store.insert(0).index(), SLOTS);
}

/// The keys of one store's values in two others, through removal and reuse of its slots.
#[test]
fn keys_follow_the_store_that_minted_them() {
    let mut bodies: PackedStore<u32> = PackedStore::new();
    let mut names: SparseSet<Handle<u32>, u32> = SparseSet::new();
    let mut sizes: LinearStore<Handle<u32>, u32> = LinearStore::new();
    let (mut rng, mut dead) = (Rng::new(7), Vec::new());
    for n in 0..2000 {
        let body = bodies.insert(n);
        // The previous user of the slot may have left a value in both.
        let displaced = names.insert(body, n);
        assert_eq!(displaced, sizes.insert(body, n));
        if n % 3 != 0 {
            let body = bodies.keys().nth(rng.below(bodies.len())).unwrap();
            assert_eq!(bodies.remove(body), names.get(body).copied());
            if n % 2 == 0 {
                assert_eq!(names.remove(body), sizes.remove(body));
            }
            dead.push(body);
        }
    }
    for (body, n) in &bodies {
        assert_eq!((names.get(body), sizes.get(body)), (Some(n), Some(n)));
    }
    for body in dead {
        if let Some(present) = bodies.keys().find(|key| key.index() == body.index()) {
            assert!(names.get(body).is_none() && sizes.get(body).is_none());
            let stale = names.try_insert(body, 0).unwrap_err().reason;
            assert_eq!(sizes.try_insert(body, 0).unwrap_err().reason, stale);
            let named = format!("the key {body:?} is stale: {present:?} has a value here");
            assert_eq!(stale.to_string(), named);
        }
    }
    names.validate().unwrap();
    sizes.validate().unwrap();
}
