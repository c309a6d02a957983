//! What the containers implement of the standard library: comparison, hashing, conversions, iteration from both ends.

use phalanx_store::{DisjointError, Entity, EntityPool, LinearStore, PackedStore, SlotStore, SparseSet, Store};
use phalanx_testkit::{Counted, Liar, Lie, Site, Tally, catch, measure};
use std::hash::{BuildHasher, Hash, RandomState};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

fn entities<const N: usize>() -> [Entity; N] {
    let mut pool = EntityPool::new();
    [(); N].map(|()| pool.alloc())
}

#[test]
fn stores_are_equal_if_the_same_keys_have_equal_values_in_any_order() {
    let [a, b, c] = entities();
    let forwards = SparseSet::from([(a, 1), (b, 2)]);
    let mut backwards = SparseSet::from([(b, 2), (a, 1)]);
    assert_eq!(forwards, backwards);
    assert!(!forwards.iter().eq(backwards.iter()), "in another order");
    *backwards.get_mut(a).unwrap() = 5;
    assert_ne!(forwards, backwards);
    assert_ne!(forwards, SparseSet::from([(a, 1)]));
    assert_ne!(forwards, SparseSet::from([(a, 1), (c, 2)]));
    // Holes and capacity do not count.
    let mut holed = SparseSet::from([(c, 0), (a, 1), (b, 2)]);
    holed.reserve(100);
    assert!(holed.remove_in_place(c) && holed.holes() == 1);
    assert_eq!(forwards, holed);
    assert_eq!(LinearStore::from([(a, 1), (b, 2)]), LinearStore::from([(b, 2), (a, 1)]));
}

#[test]
fn an_older_generation_of_a_key_is_another_key() {
    let mut pool = EntityPool::new();
    let old = pool.alloc();
    pool.release(old);
    let new = pool.alloc();
    assert_eq!(old.index(), new.index());
    assert_ne!(SparseSet::from([(old, 1)]), SparseSet::from([(new, 1)]));
    assert_ne!(LinearStore::from([(old, 1)]), LinearStore::from([(new, 1)]));
    let mut reused = PackedStore::from([7, 1]);
    let first = reused.keys().next().unwrap();
    reused.remove(first);
    reused.insert(7);
    assert_ne!(reused, PackedStore::from([7, 1]), "the handle of 7 has another generation");
}

#[test]
fn a_value_that_is_not_equal_to_itself_makes_stores_unequal() {
    let store = PackedStore::from([1.0, f64::NAN]);
    assert_ne!(store, store.clone());
}

#[test]
fn equal_stores_have_equal_hashes() {
    let state = RandomState::new();
    let hash = |value: &dyn Fn(&RandomState) -> u64| value(&state);
    let [a, b] = entities();
    let (one, two) = (LinearStore::from([(a, 1), (b, 2)]), LinearStore::from([(b, 2), (a, 1)]));
    assert_eq!(one, two);
    assert_eq!(hash(&|s| s.hash_one(&one)), hash(&|s| s.hash_one(&two)));
    assert_ne!(hash(&|s| s.hash_one(&one)), hash(&|s| s.hash_one(LinearStore::from([(a, 1)]))));
    // Slots that were used and are vacant do not count, nor does capacity.
    let mut slots = SlotStore::from(["a", "b", "c"]);
    let last = slots.keys().next_back().unwrap();
    slots.reserve(500);
    slots.remove(last);
    assert_eq!(slots, SlotStore::from(["a", "b"]));
    assert_eq!(hash(&|s| s.hash_one(&slots)), hash(&|s| s.hash_one(SlotStore::from(["a", "b"]))));
    // Two stores one after the other are not confused with one.
    let pairs = |first: &[u8], second: &[u8]| {
        let stores: [SlotStore<u8>; 2] = [first.iter().copied().collect(), second.iter().copied().collect()];
        hash(&|s| s.hash_one(&stores))
    };
    assert_ne!(pairs(&[1, 2], &[]), pairs(&[1], &[2]));
    fn is_eq<T: Eq + Hash>() {}
    is_eq::<SlotStore<String>>();
    is_eq::<LinearStore<Entity, String>>();
}

#[test]
fn stores_are_made_of_vecs_and_arrays() {
    let packed = PackedStore::from(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(packed.as_slice(), ["a", "b"]);
    assert_eq!(packed, PackedStore::from(["a".to_owned(), "b".to_owned()]));
    let slots = SlotStore::from([1, 2, 3]);
    assert!(slots.values().eq(&[1, 2, 3]));
    assert_eq!(slots, SlotStore::from(vec![1, 2, 3]));
    assert!(PackedStore::<u8>::from([]).is_empty() && SlotStore::<u8>::from(vec![]).is_empty());
    let [a, b] = entities();
    let sparse = SparseSet::from(vec![(b, "b"), (a, "a"), (b, "again")]);
    assert_eq!(sparse.as_slice(), ["again", "a"]);
    let linear: LinearStore<Entity, &str> = vec![(b, "b"), (a, "a")].into();
    assert!(linear.values().eq(&["a", "b"]));
}

#[test]
fn stores_are_extended_by_references_to_values_that_are_copied() {
    let mut packed = PackedStore::from([1]);
    packed.extend(&[2, 3]);
    packed.extend([4]);
    assert_eq!(packed.as_slice(), [1, 2, 3, 4]);
    let mut slots = SlotStore::from([1]);
    slots.extend(packed.as_slice());
    assert_eq!(slots.len(), 5);
    let [a, b] = entities();
    let source = SparseSet::from([(a, 1), (b, 2)]);
    let mut linear = LinearStore::from([(a, 0)]);
    linear.extend(&source);
    assert_eq!(linear, LinearStore::from([(a, 1), (b, 2)]));
    let mut sparse = SparseSet::new();
    sparse.extend(&linear);
    assert_eq!(sparse, source);
    for lie in Lie::ALL {
        let (store, usage) = measure(|| {
            let mut store = PackedStore::<u32>::new();
            store.extend(Liar::new(&[1, 2, 3], lie));
            store
        });
        assert_eq!(store.as_slice(), [1, 2, 3]);
        assert!(usage.largest <= 1 << 18, "{lie:?}");
    }
}

#[test]
#[should_panic(expected = "is stale")]
fn a_vec_with_a_stale_key_is_refused() {
    let mut pool = EntityPool::new();
    let old = pool.alloc();
    pool.release(old);
    let new = pool.alloc();
    let _ = SparseSet::from(vec![(new, 1), (old, 2)]);
}

#[test]
fn stores_are_emptied_from_both_ends() {
    let packed = PackedStore::from([1, 2, 3, 4]);
    let values: Vec<_> = packed.into_iter().rev().map(|(_, value)| value).collect();
    assert_eq!(values, [4, 3, 2, 1]);
    // More than a word of slots, with gaps.
    let mut slots: SlotStore<u32> = (0..300).collect();
    slots.retain(|_, value| *value % 7 == 3);
    let expected: Vec<u32> = slots.values().copied().collect();
    let mut drain = slots.drain();
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while let Some((_, value)) = drain.next() {
        front.push(value);
        back.extend(drain.next_back().map(|(_, value)| value));
    }
    assert!(drain.next_back().is_none() && drain.next().is_none());
    drop(drain);
    front.extend(back.into_iter().rev());
    assert_eq!(front, expected);
    assert!(slots.is_empty());
    slots.validate().unwrap();
    // A leaked drain leaves what is between.
    let mut packed = PackedStore::from([1, 2, 3, 4, 5]);
    let mut drain = packed.drain();
    let _ = (drain.next(), drain.next_back(), drain.next_back());
    std::mem::forget(drain);
    packed.validate().unwrap();
    assert!(packed.values().eq(&[2, 3]));
}

#[test]
fn cloning_over_a_store_allocates_nothing_if_it_is_large_enough() {
    fn check<S: Clone + PartialEq + core::fmt::Debug>(source: &S, mut target: S) {
        let ((), usage) = measure(|| target.clone_from(source));
        assert_eq!(&target, source);
        assert_eq!(usage.allocations, 0);
    }
    let few: PackedStore<u32> = (0..10).collect();
    check(&few, (0..500).collect());
    let few: SlotStore<u32> = (0..10).collect();
    check(&few, (0..500).collect());
    let keys = entities::<200>();
    check(&keys[..9].iter().map(|e| (*e, 1)).collect::<LinearStore<_, _>>(), keys.iter().map(|e| (*e, 2)).collect());
    // A sparse set has memory for keys and values; its index is made again.
    let few: SparseSet<Entity, [u64; 8]> = keys[..9].iter().map(|e| (*e, [1; 8])).collect();
    let mut many: SparseSet<Entity, [u64; 8]> = keys.iter().map(|e| (*e, [2; 8])).collect();
    let before = many.memory();
    let ((), usage) = measure(|| many.clone_from(&few));
    assert_eq!((many.memory().values, many.memory().keys), (before.values, before.keys));
    assert!(usage.largest < 512, "{} bytes", usage.largest);
    assert_eq!(many, few);
}

#[test]
fn keys_of_the_store_before_are_dead_in_a_clone() {
    let [a, b] = entities();
    let mut linear = LinearStore::from([(a, 1)]);
    linear.clone_from(&LinearStore::from([(b, 2)]));
    linear.validate().unwrap();
    assert_eq!((linear.get(a), linear.get(b)), (None, Some(&2)));
}

#[test]
fn keys_are_found_by_their_index() {
    let mut packed = PackedStore::from(["a", "b"]);
    let [a, b] = [0, 1].map(|index| packed.key_of_index(index).unwrap());
    assert_eq!((packed[a], packed[b]), ("a", "b"));
    packed.remove_in_place(a);
    assert_eq!([0, 1, 2, u32::MAX].map(|index| packed.key_of_index(index)), [None, Some(b), None, None]);
    let again = packed.insert("c");
    assert_eq!(packed.key_of_index(0).or(packed.key_of_index(2)), Some(again));
    let [a, b] = entities();
    let (sparse, linear) = (SparseSet::from([(b, 1)]), LinearStore::from([(b, 1)]));
    assert_eq!([sparse.key_of_index(a.index()), sparse.key_of_index(b.index())], [None, Some(b)]);
    assert_eq!([linear.key_of_index(a.index()), linear.key_of_index(b.index())], [None, Some(b)]);
    assert_eq!((sparse.key_of_index(u32::MAX), linear.key_of_index(u32::MAX)), (None, None));
}

#[test]
fn a_value_that_cannot_be_made_leaves_no_trace() {
    let mut packed: PackedStore<u32> = PackedStore::new();
    let mut told = None;
    let refused = packed.insert_with_key_fallible(|handle| {
        told = Some(handle);
        Err::<u32, _>("no")
    });
    assert_eq!((refused, packed.len()), (Err("no"), 0));
    assert_eq!(packed.insert_with_key_fallible(|_| Ok::<_, ()>(5)).ok(), told, "the handle was not used up");
    let mut slots: SlotStore<u32> = SlotStore::from([1]);
    assert!(slots.insert_with_key_fallible(Err).is_err_and(|handle| !slots.contains(handle)));
    slots.validate().unwrap();
}

#[test]
fn entries_give_their_key_and_value_back() {
    let [a, b] = entities();
    let mut sparse = SparseSet::from([(a, 1)]);
    assert_eq!(*sparse.entry(b).unwrap().or_insert_with_key(|key| key.index() + 10), b.index() + 10);
    let mut packed = PackedStore::from(["x"]);
    let key = packed.keys().next().unwrap();
    assert_eq!(packed.entry(key).unwrap().remove_entry(), (key, "x"));
    assert!(packed.is_empty());
}

#[test]
fn errors_of_disjoint_borrows_are_one_type() {
    fn absent<S: Store<Key = Entity, Value = u8>>(_: &S, error: Result<(), DisjointError>) {
        assert_eq!(error, Err(DisjointError::Absent(1)));
    }
    let [a, b] = entities();
    let (mut sparse, mut linear) = (SparseSet::from([(a, 1u8)]), LinearStore::from([(a, 1u8)]));
    let error = sparse.get_disjoint_mut([a, b]).map(drop);
    absent(&sparse, error);
    let error = linear.get_disjoint_mut([a, b]).map(drop);
    absent(&linear, error);
}

#[test]
fn a_clone_that_panics_brings_no_handle_of_the_store_back() {
    macro_rules! check {
        ($($store:ident)*) => {$(
            for n in [1, 2, 40, 70] {
                let tally = Tally::new();
                let mut store = $store::<Counted>::new();
                let mut keys: Vec<_> = (0..90).map(|key| store.insert(tally.value(key))).collect();
                keys.drain(70..).for_each(|key| drop(store.remove(key)));
                let mut source = store.clone();
                keys.extend((0..30).map(|key| store.insert(tally.value(key))));
                source.shrink_to_fit();
                tally.arm(Site::Clone, n);
                assert!(catch(|| store.clone_from(&source)).is_err());
                tally.disarm(Site::Clone);
                store.validate().unwrap();
                assert_eq!((store.len(), tally.live()), (0, 70), "only the source has values");
                for key in 0..150 {
                    let new = store.insert(tally.value(key));
                    assert!(!keys.contains(&new), "{new:?} named another value before");
                }
                drop((store, source));
                tally.assert_no_leaks();
            }
        )*};
    }
    check!(SlotStore PackedStore);
}
