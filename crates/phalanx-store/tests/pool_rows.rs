//! Slots of the pool that are rows: marked, counted apart, and recycled with the others.
#![allow(unsafe_code)]

use phalanx_store::{Entity, EntityPool, SlotState};
use phalanx_testkit::Rng;

fn alloc_row(pool: &mut EntityPool) -> Entity {
    // SAFETY: no other layer sees what these tests make.
    unsafe { pool.alloc_row() }
}

#[test]
fn rows_are_contained_and_released_but_not_listed() {
    let mut pool = EntityPool::new();
    let [a, row, b] = [pool.alloc(), alloc_row(&mut pool), pool.alloc()];
    assert_eq!([a, row, b].map(Entity::is_row), [false, true, false]);
    assert!([a, row, b].iter().all(|e| pool.contains(*e)));
    assert_eq!((pool.len(), pool.row_count(), pool.slot_count()), (2, 1, 3));
    assert!(pool.iter().eq([a, b]) && pool.get(row.index()).is_none());
    assert_eq!(pool.slot_state(row.index()), Some(SlotState::Alive { generation: 0 }));
    assert!(pool.release(row) && !pool.release(row) && !pool.contains(row));
    // As an entity of the same slot, then as a row again: a generation each.
    let entity = pool.alloc();
    assert_eq!((entity.index(), entity.generation()), (row.index(), 1));
    assert!(pool.release(entity));
    let again = alloc_row(&mut pool);
    assert!(again.is_row() && again.index() == row.index() && ![row, entity].contains(&again));
    pool.validate().unwrap();
    let copy = pool.clone();
    assert!(copy.contains(again) && copy.row_count() == 1);
    copy.validate().unwrap();
}

#[test]
fn no_bits_lead_to_a_row() {
    let mut pool = EntityPool::new();
    let row = alloc_row(&mut pool);
    assert_eq!(Entity::from_bits(row.to_bits()), None);
    let forged = Entity::from_bits(row.to_bits() & !(1 << 62)).unwrap();
    assert!(!pool.contains(forged) && !pool.release(forged));
}

#[test]
fn random_operations_keep_rows_and_entities_apart() {
    for seed in 0..20 {
        let (mut pool, mut rng) = (EntityPool::new(), Rng::new(seed));
        let (mut alive, mut reserved, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..400 {
            match rng.below(9) {
                0..=2 => alive.push(pool.alloc()),
                3 | 4 => alive.push(alloc_row(&mut pool)),
                5 => reserved.push(pool.reserve_entity()),
                6 if rng.chance(1, 20) => {
                    pool.clear();
                    ended.append(&mut alive);
                    ended.append(&mut reserved);
                }
                _ if !alive.is_empty() => {
                    let gone = alive.swap_remove(rng.below(alive.len()));
                    assert!(pool.release(gone));
                    ended.push(gone);
                }
                _ => {}
            }
            if pool.reserved_count() == 0 {
                alive.append(&mut reserved);
            }
            pool.validate().unwrap();
            assert!(alive.iter().all(|e| pool.contains(*e)) && !ended.iter().any(|e| pool.contains(*e)));
            let settled = reserved.iter().filter(|e| pool.contains(**e)).count();
            let rows = alive.iter().filter(|e| e.is_row()).count();
            assert_eq!((pool.row_count(), pool.len()), (rows, alive.len() - rows + settled));
            assert!(pool.iter().all(|e| !e.is_row()));
        }
    }
}
