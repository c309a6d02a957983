//! Entities that are made by their numbers.

use phalanx_store::{Entity, EntityPool};
use phalanx_testkit::Rng;
use std::collections::HashSet;

fn entity(index: u32, generation: u32) -> Entity {
    Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).unwrap()
}

#[test]
fn no_entity_is_made_twice() {
    for seed in 0..50 {
        let (mut pool, mut rng) = (EntityPool::new(), Rng::new(seed));
        let (mut had, mut alive) = (HashSet::new(), HashSet::new());
        for _ in 0..300 {
            match rng.below(4) {
                0 => {
                    let made = pool.alloc();
                    assert!(had.insert(made) && alive.insert(made));
                }
                1 => {
                    if let Some(&gone) = rng.pick(&pool.iter().collect::<Vec<_>>()) {
                        assert!(pool.release(gone) && alive.remove(&gone));
                    }
                }
                2 => {
                    let reserved = pool.reserve_entity();
                    assert!(had.insert(reserved) && alive.insert(reserved));
                    pool.flush();
                }
                _ => {
                    let wanted = entity(rng.below(40) as u32, rng.below(6) as u32);
                    let later =
                        had.iter().any(|e| e.index() == wanted.index() && e.generation() >= wanted.generation());
                    let taken = pool.get(wanted.index()).is_some();
                    assert_eq!(pool.try_claim(wanted), Ok(!later && !taken));
                    if !later && !taken {
                        assert!(had.insert(wanted) && alive.insert(wanted));
                    }
                }
            }
            pool.validate().unwrap();
            assert!(pool.len() == alive.len() && alive.iter().all(|e| pool.contains(*e)));
        }
    }
}

#[test]
fn slots_below_a_claimed_one_are_used_from_the_lowest() {
    let mut pool = EntityPool::new();
    assert_eq!(pool.try_claim(entity(3, 0)), Ok(true));
    assert_eq!([(); 4].map(|()| pool.alloc().index()), [0, 1, 2, 4]);
}
