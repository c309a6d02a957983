//! Failing allocations: each allocation of each operation fails in turn.

use crate::cases::{Allocating, Container, Driven, Scene, alloc_error, for_each_store, states};
use phalanx_store::{AllocError, Entity, EntityPool, LinearStore, PackedStore, SlotStore, SparseSet};
use phalanx_testkit::{AllocationSweep, Counted, Tally, catch, fail_from, measure};
use std::process::Command;

/// Every operation that allocates, for any container, in its `try_` form.
fn allocations<S: Driven>() -> Vec<Allocating<S>> {
    let mut all: Vec<Allocating<S>> = vec![
        ("try_insert", |store, tally| {
            let value = tally.value(7);
            let id = value.id();
            // Far enough that whatever grows with the keys grows.
            store.try_put(9_000, value).map(drop).map_err(|rejected| {
                assert_eq!(rejected.value.id(), id, "another value was given back");
                alloc_error(rejected)
            })
        }),
        ("try_insert, many", |store, tally| {
            let before = store.len();
            for n in 0..40 {
                if let Err(rejected) = store.try_put(60 + n, tally.value(7)) {
                    assert_eq!(store.len() as u64, before as u64 + n, "a refused value was counted");
                    // Back to what was there, for the comparison.
                    store.retain(|_, value| value.key() != 7);
                    return Err(alloc_error(rejected));
                }
            }
            Ok(())
        }),
        ("try_reserve(1000)", |store, _| store.try_reserve(1000)),
        ("try_clone", |store, _| store.try_copy().map(drop)),
        ("try_clone_from", |store, tally| {
            let mut other = S::default();
            // If this fails, so would the operation.
            for n in 0..200 {
                other.try_put(n, tally.value(7)).map_err(alloc_error)?;
            }
            store.try_become(&other)
        }),
    ];
    all.extend(S::own_allocations());
    all
}

fn contents<S: Driven>(store: &S) -> Vec<(S::Key, u32)> {
    store.iter().map(|(key, value)| (key, value.id())).collect()
}

#[test]
fn h60_every_failing_allocation_is_an_error() {
    fn run<S: Driven>() {
        let mut points = 0;
        for (state, setup) in states::<S>() {
            for (name, operation) in allocations::<S>() {
                for (sweep, tight) in [
                    (AllocationSweep::new(), true),
                    (AllocationSweep::new(), false),
                    (AllocationSweep::new().persistent(), true),
                ] {
                    let tally = Tally::new();
                    let found = sweep.run(
                        || {
                            let mut scene: Scene<S> = setup(&tally);
                            // Tight, there is more to allocate; otherwise there may be holes.
                            if tight {
                                scene.store().shrink();
                            }
                            let before = contents(scene.store());
                            let copy = scene.store().try_copy().unwrap();
                            (scene, before, copy)
                        },
                        |(scene, _, _)| operation(scene.store(), &tally),
                        |(scene, before, copy), outcome| {
                            let store = scene.store();
                            store.validate().unwrap();
                            if outcome.is_ok() {
                                return;
                            }
                            assert_eq!(contents(store), *before, "{}, {state}: {name}", S::NAME);
                            // The next keys are the same too, unless holes were closed or values were removed again.
                            if !name.contains("many") && (tight || !name.contains("sort")) {
                                for n in 0..5 {
                                    let key = store.put(70 + n, tally.value(91));
                                    assert_eq!(key, copy.put(70 + n, tally.value(91)), "{name}");
                                }
                            }
                            scene.check(&tally);
                        },
                    );
                    points += found;
                    tally.assert_no_leaks();
                }
            }
        }
        assert!(points > 100, "{}: {points} allocations are too few to be all", S::NAME);
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h60_shrinking_is_a_wish() {
    fn run<S: Driven>() {
        let tally = Tally::new();
        for (_, setup) in states::<S>() {
            AllocationSweep::new().allow_swallowed().run(
                || {
                    let mut scene: Scene<S> = setup(&tally);
                    let before = contents(scene.store());
                    (scene, before)
                },
                |(scene, _)| {
                    scene.store().shrink();
                    Ok::<(), ()>(())
                },
                |(scene, before), _| {
                    assert_eq!(contents(scene.store()), *before);
                    scene.check(&tally);
                },
            );
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn values_of_any_size_keep_their_keys_when_their_block_cannot_be_changed() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct Wide(u8);
    fn run<T: Copy + PartialEq + core::fmt::Debug>(value: impl Fn(u8) -> T) {
        let setup = |count: u8| {
            let mut slots = SlotStore::new();
            let mut entities = EntityPool::new();
            let mut linear = LinearStore::new();
            let keys: Vec<_> = (0..count).map(|n| (slots.insert(value(n)), entities.alloc())).collect();
            for ((_, entity), n) in keys.iter().zip(0..) {
                linear.insert(*entity, value(n));
            }
            slots.remove(keys[1].0);
            (slots, linear, keys)
        };
        for count in [2, 7, 9, 40, 65, 129] {
            for reserve in [0, 1, 300] {
                AllocationSweep::new().allow_swallowed().run(
                    || setup(count),
                    |(slots, linear, _)| {
                        let _ = slots.try_reserve(reserve);
                        let _ = linear.try_reserve(reserve);
                        slots.shrink_to_fit();
                        linear.shrink_to_fit();
                        Ok::<(), ()>(())
                    },
                    |(slots, linear, keys), _| {
                        assert_eq!((slots.validate(), linear.validate()), (Ok(()), Ok(())));
                        for ((slot, entity), n) in keys.iter().zip(0..) {
                            assert_eq!(slots.get(*slot), (n != 1).then(|| value(n)).as_ref());
                            assert_eq!(linear.get(*entity), Some(&value(n)));
                        }
                        let next = slots.insert(value(0));
                        assert_eq!((next.index(), next.generation(), slots.len()), (1, 1, keys.len()));
                    },
                );
            }
        }
    }
    run(|_| ());
    run(|n| n);
    run(|n| [n; 3]);
    run(u64::from);
    run(|n| [u16::from(n); 9]);
    run(Wide);
}

#[test]
fn h60_an_iterator_may_be_poured_in_without_the_room_it_hinted_at() {
    let (len, refused) = phalanx_testkit::fail_nth(1, || {
        let mut store: PackedStore<u32> = PackedStore::new();
        store.extend([1, 2, 3]);
        store.len()
    });
    assert!(refused && len == 3);
}

/// The plain forms, by name.
fn plain_forms() -> Vec<(String, fn())> {
    fn of<S: Driven>(all: &mut Vec<(String, fn())>) {
        fn with<S: Driven>(run: impl FnOnce(&mut S, &Tally)) {
            let tally = Tally::new();
            let mut store = S::default();
            store.put(0, tally.value(0));
            store.shrink();
            fail_from(1, || run(&mut store, &tally));
        }
        let mut add = |name: &str, run: fn()| all.push((format!("{} {name}", S::NAME), run));
        add("insert", || with::<S>(|store, tally| _ = store.put(5_000, tally.value(1))));
        add("insert_with", || with::<S>(|store, tally| store.put_with(5_000, || tally.value(1))));
        add("reserve", || with::<S>(|store, _| store.reserve(1000)));
        add("extend", || with::<S>(|store, tally| store.pour(5_000, tally.values(3))));
    }
    fn plain<S: Default>(fill: impl FnOnce(&mut S), run: impl FnOnce(&mut S)) {
        let mut subject = S::default();
        fill(&mut subject);
        fail_from(1, || run(&mut subject));
    }
    fn three(store: &mut PackedStore<u32>) {
        store.extend([3, 1, 2]);
    }
    let mut all = Vec::new();
    for_each_store!(of::<Counted>(&mut all));
    let more: [(&str, fn()); 11] = [
        ("PackedStore sort_by", || plain(three, |store| store.sort_by(|a, b| a.cmp(b)))),
        ("PackedStore sort_by_key", || plain(three, |store| store.sort_by_key(|n| !*n))),
        ("PackedStore sort_by_index", || plain(three, |store| store.sort_by_index())),
        ("PackedStore clone", || plain(three, |store| drop(store.clone()))),
        ("SlotStore clone", || plain(|s: &mut SlotStore<u32>| s.extend([1]), |store| drop(store.clone()))),
        ("SparseSet clone", || {
            plain(|s: &mut SparseSet<Entity, u32>| _ = s.insert(Entity::from_bits(1).unwrap(), 1), |s| drop(s.clone()))
        }),
        ("LinearStore clone", || {
            plain(
                |s: &mut LinearStore<Entity, u32>| _ = s.insert(Entity::from_bits(1).unwrap(), 1),
                |s| drop(s.clone()),
            )
        }),
        ("EntityPool alloc", || plain(|_: &mut EntityPool| {}, |pool| _ = pool.alloc())),
        ("EntityPool alloc_many", || plain(|_: &mut EntityPool| {}, |pool| drop(pool.alloc_many(9)))),
        ("EntityPool flush", || plain(|p: &mut EntityPool| _ = p.reserve_entity(), |pool| drop(pool.flush()))),
        ("EntityPool clear", || plain(|p: &mut EntityPool| _ = p.reserve_entity(), |pool| pool.clear())),
    ];
    all.extend(more.map(|(name, run)| (name.to_string(), run)));
    all
}

#[test]
fn h60_plain_forms_abort() {
    const CASE: &str = "PHALANX_PLAIN_FORM";
    let forms = plain_forms();
    if let Ok(name) = std::env::var(CASE) {
        forms.iter().find(|form| form.0 == name).unwrap().1();
        std::process::exit(0);
    }
    for (name, _) in &forms {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "allocation::h60_plain_forms_abort", "--nocapture"])
            .env(CASE, name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name} hid that memory was refused");
        assert!(said.contains("memory allocation of"), "{name} ended otherwise: {said}");
    }
}

#[test]
fn h61_failed_growth_leaves_all_columns_alike() {
    fn run<S: Container<Value = u64>>() {
        let fill = || {
            let mut store = S::default();
            (0..10).for_each(|n| assert!(store.try_put(n, n).is_ok()));
            store.shrink();
            let before = store.capacity();
            (store, before)
        };
        let points = AllocationSweep::new().run(
            fill,
            |(store, _)| store.try_reserve(500),
            |(store, capacity), outcome| {
                store.validate().unwrap();
                if outcome.is_err() {
                    assert_eq!(store.capacity(), *capacity, "{}: one column claims more room than another", S::NAME);
                } else {
                    // A linear store reserves capacity for the indices below 500, the others for 500 more values.
                    assert!(store.capacity() >= 500);
                }
                for n in 0..600 {
                    store.put(n | 1 << 32, n);
                }
                store.validate().unwrap();
                store.shrink();
                store.validate().unwrap();
            },
        );
        assert!(points >= 2, "{}: {points} columns", S::NAME);
    }
    for_each_store!(run::<u64>());
}

#[test]
fn h39_absurd_reservations_allocate_nothing() {
    fn run<S: Container>() {
        let size = size_of::<S::Value>();
        let most = isize::MAX as usize / size.max(1);
        for additional in [usize::MAX, usize::MAX - 1, usize::MAX / 2, most, most + 1, 1 << 32, u32::MAX as usize] {
            let mut store = S::default();
            let ((outcome, usage), asked) = fail_from(1, || measure(|| store.try_reserve(additional)));
            assert!(outcome.is_err(), "{}: room for {additional}", S::NAME);
            assert_eq!(usage.bytes_allocated, 0);
            if additional > u32::MAX as usize || (size > 0 && additional > most) {
                assert_eq!(outcome, Err(AllocError::CapacityOverflow));
                assert!(!asked, "{}: the allocator was asked for what cannot be", S::NAME);
                assert!(catch(|| store.reserve(additional)).unwrap_err().message().contains("capacity overflow"));
            }
            store.validate().unwrap();
            assert!(store.capacity() == 0 || size == 0);
        }
    }
    for_each_store!(run::<u8>());
    for_each_store!(run::<u64>());
    for_each_store!(run::<[u64; 600]>());
    for_each_store!(run::<()>());
    // Rows so large that their number alone is harmless: no column grows for what another cannot hold.
    #[cfg(target_pointer_width = "64")]
    for_each_store!(run::<[u8; u32::MAX as usize]>());
    for additional in [usize::MAX, 1 << 32] {
        let mut pool = EntityPool::new();
        assert_eq!(pool.try_reserve(additional), Err(AllocError::CapacityOverflow));
        assert!(pool.try_alloc_many(additional).is_err());
        assert_eq!((pool.capacity(), pool.len()), (0, 0));
    }
}
