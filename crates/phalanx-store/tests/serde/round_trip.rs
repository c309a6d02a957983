//! What is loaded is what was saved.

use super::*;
use phalanx_store::{Handle, Key, PrimaryStore};

/// The store as it comes back from JSON and from postcard; saved again, it is the same text and the same bytes.
fn reloaded<S: Serialize + DeserializeOwned>(store: &S) -> [S; 2] {
    let (json, bytes) = (serde_json::to_string(store).unwrap(), bytes_of(store));
    let loaded: [S; 2] = [from_json(&json), postcard::from_bytes(&bytes).unwrap()];
    for copy in &loaded {
        assert_eq!(serde_json::to_string(copy).unwrap(), json);
        assert_eq!(bytes_of(copy), bytes);
    }
    loaded
}

/// Asserts that the next handles of both are the same, also after removals.
fn assert_same_future<S: PrimaryStore<Value = u32>>(mut a: S, mut b: S) {
    let mut rng = Rng::new(5);
    let mut handles = Vec::new();
    for n in 0..300 {
        let (x, y) = (a.insert(n), b.insert(n));
        assert_eq!(x, y);
        handles.push(x);
        if rng.chance(1, 2) {
            let handle = handles[rng.below(handles.len())];
            assert_eq!(a.remove(handle), b.remove(handle));
        }
    }
}

#[test]
fn handles_are_their_bits() {
    let e = entity(3, 1);
    assert_eq!(serde_json::to_string(&e).unwrap(), "4294967299");
    assert_eq!(from_json::<Entity>("4294967299"), e);
    let mut store: PackedStore<u8, str> = PackedStore::default();
    let handle: Handle<str> = store.insert(1);
    assert_eq!(reloaded(&handle), [handle; 2]);
    assert_eq!(reloaded(&Some(e)), [Some(e); 2]);
}

#[test]
fn forms_are_as_documented() {
    let mut pool = EntityPool::new();
    let [a, b, _] = [pool.alloc(), pool.alloc(), pool.alloc()];
    pool.release_many([b, a]);
    assert_eq!(serde_json::to_string(&pool).unwrap(), r#"{"words":[3,3,0],"free":[0,1]}"#);

    let mut packed = PackedStore::new();
    let [a, _, c] = ["a", "b", "c"].map(|name| packed.insert(name));
    packed.remove(a);
    packed.remove(c);
    assert_eq!(serde_json::to_string(&packed).unwrap(), r#"{"words":[3,0,3],"order":[1,2,0],"values":["b"]}"#);

    let mut slot = SlotStore::new();
    let [a, _, _] = ["a", "b", "c"].map(|name| slot.insert(name));
    slot.remove(a);
    assert_eq!(serde_json::to_string(&slot).unwrap(), r#"{"words":[3,0,0],"values":["b","c"]}"#);

    let pairs = [(entity(64, 1), "x"), (entity(1, 0), "y")];
    let sparse = SparseSet::from_iter(pairs);
    assert_eq!(serde_json::to_string(&sparse).unwrap(), r#"[[4294967360,"x"],[1,"y"]]"#);
    let linear = LinearStore::from_iter(pairs);
    assert_eq!(serde_json::to_string(&linear).unwrap(), r#"{"present":[2,1],"generations":[0,1],"values":["y","x"]}"#);
}

#[test]
fn empty_ones_are_empty() {
    assert!(reloaded(&EntityPool::new()).iter().all(EntityPool::is_empty));
    assert!(reloaded(&PackedStore::<u8>::new()).iter().all(|s| s.is_empty() && s.capacity() == 0));
    assert!(reloaded(&SlotStore::<u8>::new()).iter().all(|s| s.is_empty() && s.capacity() == 0));
    assert!(reloaded(&SparseSet::<Entity, u8>::new()).iter().all(|s| s.is_empty() && s.capacity() == 0));
    assert!(reloaded(&LinearStore::<Entity, u8>::new()).iter().all(|s| s.is_empty() && s.capacity() == 0));
}

#[test]
fn a_pool_comes_back_with_its_future() {
    for (seed, steps) in [(1, 5), (2, 60), (3, 500)] {
        let (pool, entities) = churned_pool(seed, steps);
        for mut copy in reloaded(&pool) {
            copy.validate().unwrap();
            assert_eq!(copy.len(), pool.len());
            assert!((0..pool.slot_count() as u32).all(|slot| copy.slot_state(slot) == pool.slot_state(slot)));
            assert!(entities.iter().all(|e| copy.contains(*e) == pool.contains(*e)));
            let mut pool = pool.clone();
            assert!((0..300).all(|_| copy.alloc() == pool.alloc()));
        }
    }
}

#[test]
fn a_reservation_is_saved_as_flushed() {
    for free in [0, 2] {
        let (mut pool, _) = churned_pool(9, 40);
        while pool.alloc().index() as usize + 1 < pool.slot_count() {}
        let victims: Vec<_> = pool.iter().take(free).collect();
        pool.release_many(victims);
        let reserved: [Entity; 4] = core::array::from_fn(|_| pool.reserve_entity());
        // Some of what is reserved is settled without memory, the rest stays pending; then more is reserved.
        let someone = pool.iter().last().unwrap();
        pool.release(someone);
        let last = pool.reserve_entity();
        let before = (pool.len(), pool.reserved_count());
        let copies = reloaded(&pool);
        assert_eq!((pool.len(), pool.reserved_count()), before, "saving changes nothing");
        pool.flush();
        for mut copy in copies {
            copy.validate().unwrap();
            assert_eq!(copy.reserved_count(), 0);
            assert!(reserved.iter().chain([&last]).all(|e| copy.contains(*e)));
            assert!(copy.iter().eq(pool.iter()));
            let mut pool = pool.clone();
            assert!((0..50).all(|_| copy.alloc() == pool.alloc()));
        }
    }
}

#[test]
fn a_packed_store_comes_back_with_its_future() {
    for (seed, steps) in [(1, 5), (2, 60), (3, 500)] {
        let (store, handles) = churned_packed(seed, steps);
        for copy in reloaded(&store) {
            copy.validate().unwrap();
            assert_eq!(copy.as_slice(), store.as_slice());
            assert!(copy.keys().eq(store.keys()));
            assert!(handles.iter().all(|h| copy.get(*h) == store.get(*h)));
            assert_same_future(copy, store.clone());
        }
    }
}

#[test]
fn holes_are_saved_as_compacted() {
    for seed in 0..40 {
        let (mut store, handles) = churned_packed(seed, 80);
        let mut rng = Rng::new(seed);
        for part in 0..3 {
            for handle in &handles {
                if rng.chance(1, 6) {
                    store.remove_in_place(*handle);
                }
            }
            if part < 2 {
                store.compact_step(rng.below(9));
            }
        }
        let holes = store.holes();
        let copies = reloaded(&store);
        assert_eq!(store.holes(), holes, "saving changes nothing");
        store.compact();
        for copy in copies {
            copy.validate().unwrap();
            assert_eq!((copy.holes(), copy.as_slice()), (0, store.as_slice()));
            assert!(copy.keys().eq(store.keys()));
            assert!(handles.iter().all(|h| copy.get(*h) == store.get(*h)));
            assert_same_future(copy, store.clone());
        }
    }
}

#[test]
fn a_hole_in_a_retired_slot_is_saved_as_retired() {
    let mut store: PackedStore<u32> =
        from_json(&format!(r#"{{"words":[0,{LAST},0],"order":[0,1,2],"values":[7,8,9]}}"#));
    let last = store.key_at(1).unwrap();
    assert!(store.remove_in_place(last) && store.holes() == 1);
    for mut copy in reloaded(&store) {
        copy.validate().unwrap();
        assert_eq!(copy.as_slice(), [7, 9]);
        assert_eq!(copy.insert(1).index(), 3);
    }
}

#[test]
fn a_slot_store_comes_back_with_its_future() {
    for (seed, steps) in [(1, 5), (2, 60), (3, 500)] {
        let (store, handles) = churned_slot(seed, steps);
        for copy in reloaded(&store) {
            copy.validate().unwrap();
            assert!(copy.iter().eq(store.iter()));
            assert!(handles.iter().all(|h| copy.get(*h) == store.get(*h)));
            assert_same_future(copy, store.clone());
        }
    }
}

#[test]
fn a_sparse_set_comes_back_in_its_order() {
    for (seed, steps) in [(1, 5), (2, 60), (3, 500)] {
        let mut set = churned_sparse(seed, steps);
        let key = set.key_at(set.len() / 3).unwrap();
        set.remove_in_place(key);
        for copy in reloaded(&set) {
            copy.validate().unwrap();
            assert!(copy.iter().eq(set.iter()));
            assert!(!copy.contains(key));
        }
    }
}

#[test]
fn a_linear_store_comes_back() {
    for (seed, steps) in [(1, 5), (2, 60), (3, 500)] {
        let store = churned_linear(seed, steps);
        for copy in reloaded(&store) {
            copy.validate().unwrap();
            assert!(copy.iter().eq(store.iter()));
            let highest = copy.keys().next_back().map_or(0, |key| key.index() as usize + 1);
            assert!(copy.capacity() >= highest);
        }
    }
}

#[test]
fn keys_of_another_store_and_values_without_size() {
    let mut meshes: PackedStore<u8> = PackedStore::new();
    let handles = [meshes.insert(1), meshes.insert(2)];
    let visible = SparseSet::from_iter(handles.map(|handle| (handle, ())));
    let hidden: LinearStore<Handle<u8>, ()> = handles.map(|handle| (handle, ())).into_iter().collect();
    assert!(reloaded(&visible).iter().all(|copy| copy.key_slice() == handles));
    assert!(reloaded(&hidden).iter().all(|copy| copy.keys().map(Key::index).eq([0, 1])));
    let units: PackedStore<()> = [(); 70].into_iter().collect();
    assert!(reloaded(&units).iter().all(|copy| copy.len() == 70 && copy.validate().is_ok()));
    let units: SlotStore<()> = [(); 70].into_iter().collect();
    assert!(reloaded(&units).iter().all(|copy| copy.len() == 70 && copy.validate().is_ok()));
}

#[test]
fn a_struct_of_them_is_one_save() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Level {
        entities: EntityPool,
        names: PackedStore<String>,
        name_of: SparseSet<Entity, Handle<String>>,
        hero: Option<Entity>,
    }
    let mut level =
        Level { entities: EntityPool::new(), names: PackedStore::new(), name_of: SparseSet::new(), hero: None };
    let hero = level.entities.alloc();
    level.hero = Some(hero);
    level.name_of.insert(hero, level.names.insert("Ann".into()));
    for copy in reloaded(&level) {
        let name = copy.name_of[copy.hero.unwrap()];
        assert_eq!(copy.names[name], "Ann");
        assert!(copy.entities.contains(hero));
    }
}
