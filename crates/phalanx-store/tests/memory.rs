//! What `memory()` says against what the allocator saw, and what the model says against `memory()`.
#![cfg(not(any(phalanx_narrow, loom)))]

use phalanx_store::memory::{Layout, Model};
use phalanx_store::{Entity, EntityPool, LinearStore, PackedStore, SlotStore, SparseSet, Store};
use phalanx_testkit::{Align64, Rng, Zst, measure};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

fn entity(index: u32) -> Entity {
    Entity::from_bits(index.into()).unwrap()
}

/// Runs `steps` steps on a store and compares, after each, what it says it holds with what it took and gave back.
fn follow<S: Clone + Default>(total: impl Fn(&S) -> usize, steps: u32, mut step: impl FnMut(&mut S, u32)) {
    let mut store = S::default();
    assert_eq!(total(&store), 0, "an empty container holds nothing");
    let mut held = 0;
    for n in 0..steps {
        let ((), usage) = measure(|| step(&mut store, n));
        held += usage.bytes_live_delta;
        assert_eq!(total(&store) as i64, held, "after step {n}");
        if n % 16 == 0 {
            let (copy, usage) = measure(|| store.clone());
            assert_eq!(total(&copy) as i64, usage.bytes_live_delta, "a copy after step {n}");
            let ((), dropped) = measure(|| drop(copy));
            assert_eq!(usage.bytes_live_delta + dropped.bytes_live_delta, 0, "a copy gives back what it took");
        }
    }
    let ((), usage) = measure(|| drop(store));
    assert_eq!(held + usage.bytes_live_delta, 0, "all is given back");
}

fn of<S: Store>(store: &S) -> usize {
    store.memory().total()
}

#[test]
fn packed_store_says_what_it_holds() {
    let mut rng = Rng::new(1);
    follow::<PackedStore<[u32; 5]>>(of, 600, |store, n| {
        let some = store.keys().nth(rng.below(store.len() + 1));
        match (rng.below(30), some) {
            (0, _) => store.shrink_to_fit(),
            (1, _) => store.clear(),
            (2, _) => store.reserve(rng.below(300)),
            (3, _) => store.extend((0..40).map(|i| [i; 5])),
            (4, _) => store.sort_by_key(|value| value[0]),
            (5, _) => store.retain(|_, value| value[0] % 3 != 0),
            (6..12, Some(key)) => drop(store.remove(key)),
            (12..14, Some(key)) => assert!(store.remove_in_place(key)),
            (14, _) => store.compact(),
            _ => drop(store.insert([n; 5])),
        }
    });
}

#[test]
fn slot_store_says_what_it_holds() {
    let mut rng = Rng::new(2);
    follow::<SlotStore<u16>>(of, 600, |store, n| {
        let some = store.keys().nth(rng.below(store.len() + 1));
        match (rng.below(30), some) {
            (0, _) => store.shrink_to_fit(),
            (1, _) => store.clear(),
            (2, _) => store.reserve(rng.below(300)),
            (3, _) => store.extend(0..70),
            (4, _) => drop(store.drain().next()),
            (5..12, Some(key)) => drop(store.remove(key)),
            _ => drop(store.insert(n as u16)),
        }
    });
}

#[test]
fn sparse_set_says_what_it_holds() {
    let mut rng = Rng::new(3);
    // Low indices, pages, branches, and back.
    let far = [4096, 100_000, 1 << 21, 1 << 25, u32::MAX - 1];
    follow::<SparseSet<Entity, [u64; 3]>>(of, 800, |store, n| {
        let some = store.keys().nth(rng.below(store.len() + 1));
        match (rng.below(30), some) {
            (0, _) => store.shrink_to_fit(),
            (1, _) => store.clear(),
            (2, _) => store.reserve(rng.below(300)),
            (3, _) => store.extend((0..50).map(|i| (entity(i), [0; 3]))),
            (4..9, _) => drop(store.insert(entity(far[rng.below(5)]), [0; 3])),
            (9..18, Some(key)) => drop(store.remove(key)),
            (18..20, Some(key)) => assert!(store.remove_in_place(key)),
            _ => drop(store.insert(entity(rng.below(n as usize * 10 + 1) as u32), [1; 3])),
        }
    });
}

#[test]
fn linear_store_says_what_it_holds() {
    let mut rng = Rng::new(4);
    follow::<LinearStore<Entity, u64>>(of, 600, |store, n| {
        let some = store.keys().nth(rng.below(store.len() + 1));
        match (rng.below(30), some) {
            (0, _) => store.shrink_to_fit(),
            (1, _) => store.clear(),
            (2, _) => store.reserve(rng.below(300)),
            (3..15, Some(key)) => drop(store.remove(key)),
            _ => drop(store.insert(entity(rng.below(n as usize * 10 + 1) as u32), 1)),
        }
    });
}

#[test]
fn entity_pool_says_what_it_holds() {
    let mut rng = Rng::new(5);
    follow::<EntityPool>(
        |pool| pool.memory().total(),
        600,
        |pool, _| {
            let some = pool.iter().nth(rng.below(pool.len() + 1));
            match (rng.below(20), some) {
                (0, _) => pool.shrink_to_fit(),
                (1, _) => pool.clear(),
                (2, _) => pool.reserve(rng.below(300)),
                (3, _) => drop(pool.alloc_many(30)),
                (4, _) => drop(pool.reserve_entity()),
                (5, _) => drop(pool.flush()),
                (6..12, Some(entity)) => assert!(pool.release(entity)),
                _ => drop(pool.alloc()),
            }
        },
    );
}

/// The figures of the table in the crate's documentation, at exact capacity.
#[test]
fn bytes_beyond_the_value() {
    const N: usize = 100_000;
    let exact = |total: usize| total as f64 / N as f64 - 8.0;

    let mut packed: PackedStore<u64> = (0..N as u64).collect();
    packed.shrink_to_fit();
    assert_eq!(exact(of(&packed)), 12.0);

    let mut slot: SlotStore<u64> = (0..N as u64).collect();
    slot.shrink_to_fit();
    assert!((4.12..4.13).contains(&exact(of(&slot))), "{}", exact(of(&slot)));

    let mut sparse: SparseSet<Entity, u64> = (0..N as u32).map(|i| (entity(i), 0)).collect();
    sparse.shrink_to_fit();
    assert_eq!(exact(of(&sparse)), 16.0);

    let mut linear: LinearStore<Entity, u64> = (0..N as u32).map(|i| (entity(i), 0)).collect();
    linear.shrink_to_fit();
    assert!((4.12..4.13).contains(&exact(of(&linear))), "{}", exact(of(&linear)));

    let mut pool = EntityPool::new();
    pool.alloc_many(N);
    pool.shrink_to_fit();
    assert_eq!(pool.memory().total(), 8 * N);
}

/// Capacity that is requested in advance is exact too, so that building needs no growth.
#[test]
fn with_capacity_is_exact_and_enough() {
    const N: usize = 1000;
    let (packed, usage) = measure(|| {
        let mut store = PackedStore::with_capacity(N);
        store.extend(0..N as u64);
        store
    });
    assert_eq!((of(&packed), usage.bytes_allocated), (20 * N, 20 * N as u64));
    let (slot, usage) = measure(|| {
        let mut store = SlotStore::with_capacity(N);
        store.extend(0..N as u64);
        store
    });
    assert_eq!((of(&slot) as u64, usage.allocations), (usage.bytes_allocated, 4));
    let (linear, usage) = measure(|| {
        let mut store: LinearStore<Entity, u64> = LinearStore::with_capacity(N);
        (0..N as u32).for_each(|i| assert!(store.insert(entity(i), 0).is_none()));
        store
    });
    assert_eq!((of(&linear) as u64, usage.allocations), (usage.bytes_allocated, 2));
    let (pool, usage) = measure(|| {
        let mut pool = EntityPool::with_capacity(N);
        (0..N).for_each(|_| assert!(pool.alloc().generation() == 0));
        pool
    });
    assert_eq!((pool.memory().total(), usage.bytes_allocated), (8 * N, 8 * N as u64));
}

/// Slots that are used by reservations do not count as spare capacity.
#[test]
fn room_in_the_pool_counts_what_is_reserved() {
    for (free, reserved, settled) in [(0, 10, false), (10, 10, false), (5, 20, false), (5, 20, true)] {
        let mut pool = EntityPool::new();
        let all: Vec<Entity> = pool.alloc_many(free + 1).collect();
        pool.release_many(all[..free].iter().copied());
        (0..reserved).for_each(|_| _ = pool.reserve_entity());
        if settled {
            pool.release(all[free]);
        }
        pool.shrink_to_fit();
        pool.reserve(30);
        let (made, usage) = measure(|| pool.alloc_many(30).len());
        assert_eq!((made, usage.allocations), (30, 0), "{free} free, {reserved} reserved");
    }
}

#[test]
fn zero_sized_values_take_no_memory() {
    type Nothing = Zst<Align64>;
    let mut packed: PackedStore<Nothing> = (0..100).map(|_| Zst::new()).collect();
    let slot: SlotStore<Nothing> = (0..100).map(|_| Zst::new()).collect();
    let sparse: SparseSet<Entity, Nothing> = (0..100).map(|i| (entity(i), Zst::new())).collect();
    let linear: LinearStore<Entity, Nothing> = (0..100).map(|i| (entity(i), Zst::new())).collect();
    let values = [packed.memory(), slot.memory(), sparse.memory(), linear.memory()].map(|usage| usage.values);
    assert_eq!(values, [0; 4]);
    packed.shrink_to_fit();
    assert_eq!(of(&packed), 1200);
}

#[test]
fn removal_and_clear_keep_room_and_shrink_gives_it_back() {
    let mut store: SparseSet<Entity, u64> = (0..5000).map(|i| (entity(i), 0)).collect();
    let full = of(&store);
    (0..4900).for_each(|i| assert!(store.remove(entity(i)).is_some()));
    assert_eq!(of(&store), full);
    store.clear();
    assert_eq!(of(&store), full);
    store.shrink_to_fit();
    assert_eq!(of(&store), 0);

    let mut store: LinearStore<Entity, u64> = (0..5000).map(|i| (entity(i), 0)).collect();
    store.retain(|key, _| key.index() < 10);
    store.shrink_to_fit();
    assert_eq!(of(&store), 10 * 12 + 8);

    // Slots of dead handles stay: they keep them dead.
    let mut store: PackedStore<u64> = (0..5000).collect();
    store.clear();
    store.shrink_to_fit();
    assert_eq!(of(&store), 5000 * 12);
    let mut pool = EntityPool::new();
    pool.alloc_many(5000);
    pool.clear();
    pool.shrink_to_fit();
    assert_eq!(pool.memory().total(), 5000 * 8);
}

/// The indices that the model means by *evenly spread*: the last of each equal share, so that the highest is in use.
fn spread(entities: u32, live: u32) -> impl Iterator<Item = Entity> {
    (1..=u64::from(live)).map(move |k| entity((k * u64::from(entities) / u64::from(live)) as u32 - 1))
}

/// What each container really holds for this many values of `N` bytes.
fn real<const N: usize>(entities: u32, live: u32) -> [u64; 4] {
    let value = [0_u8; N];
    let mut packed: PackedStore<_> = (0..live).map(|_| value).collect();
    let mut slot: SlotStore<_> = (0..live).map(|_| value).collect();
    let mut sparse: SparseSet<Entity, _> = spread(entities, live).map(|key| (key, value)).collect();
    let mut linear: LinearStore<Entity, _> = spread(entities, live).map(|key| (key, value)).collect();
    packed.shrink_to_fit();
    slot.shrink_to_fit();
    sparse.shrink_to_fit();
    linear.shrink_to_fit();
    sparse.validate().unwrap();
    [of(&packed), of(&slot), of(&sparse), of(&linear)].map(|total| total as u64)
}

fn compare<const N: usize>(entities: u32, utilisation: f64) {
    let model = Model::new(N as u64, entities.into(), utilisation).unwrap();
    let live = model.live() as u32;
    if live == 0 {
        return;
    }
    let said = Layout::ALL.map(|layout| model.bytes(layout));
    assert_eq!(said, real::<N>(entities, live), "{live} values of {N} bytes at {entities} indices");
}

#[test]
fn the_model_is_exact() {
    let mut rng = Rng::new(9);
    for case in 0..60 {
        let entities = match case % 4 {
            0 => 1 + rng.below(100),
            1 => 1 + rng.below(5_000),
            2 => 1 + rng.below(50_000),
            _ => 4096 * (1 + rng.below(12)),
        } as u32;
        let utilisation = match case % 5 {
            0 => 1.0,
            // Where the window gives way to pages.
            1 => 0.25 - rng.below(100) as f64 / 2_000.0,
            2 => rng.below(100) as f64 / 10_000.0,
            _ => rng.below(1001) as f64 / 1_000.0,
        };
        compare::<0>(entities, utilisation);
        compare::<3>(entities, utilisation);
        compare::<24>(entities, utilisation);
    }
}

/// The sparse side alone, with more indices than the other layouts could be tried with.
#[test]
fn the_model_is_exact_for_keys_far_apart() {
    let mut rng = Rng::new(10);
    let most = u32::MAX;
    let cases = [(most, 1), (most, 2), (most, 300), (5_000_000, 3), (1 << 21, 1), ((1 << 21) + 1, 1), (3 << 21, 700)];
    let drawn = (0..10).map(|_| (1 + rng.below(most as usize - 1) as u32, 1 + rng.below(200) as u32));
    for (entities, live) in cases.into_iter().chain(drawn) {
        let live = live.min(entities);
        let model = Model::new(8, entities.into(), f64::from(live) / f64::from(entities)).unwrap();
        assert_eq!(model.live(), live.into());
        let mut set: SparseSet<Entity, u64> = spread(entities, live).map(|key| (key, 0)).collect();
        set.shrink_to_fit();
        assert_eq!(model.bytes(Layout::Sparse), of(&set) as u64, "{live} of {entities}");
    }
}
