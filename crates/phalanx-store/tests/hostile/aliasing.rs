//! References: which can exist together, which types can be copied or sent, and what is left when a guard is forgotten.

use crate::cases::{Container, Driven, for_each_store, states};
use phalanx_store::{
    DisjointError, Entities, Entity, EntityPool, Entry, Handle, LinearStore, OccupiedEntry, PackedStore, RunsMut,
    SlotStore, SparseSet, VacantEntry,
};
use phalanx_testkit::{Counted, Tally, catch};
use std::cell::Cell;
use std::mem;
use std::rc::Rc;

/// Asserts that types do not implement a trait: there would be two answers to the question then, and no compiling.
macro_rules! none_is {
    ($trait:path: $($type:ty),+ $(,)?) => {{
        trait Question<Answer> {
            fn ask() {}
        }
        struct Yes;
        impl<T: ?Sized> Question<()> for T {}
        impl<T: ?Sized + $trait> Question<Yes> for T {}
        $(<$type as Question<_>>::ask();)+
    }};
}

fn all_are<T: Send + Sync>() {}

type Packed<T> = PackedStore<T>;
type Slot<T> = SlotStore<T>;
type Sparse<T> = SparseSet<Entity, T>;
type Linear<T> = LinearStore<Entity, T>;

/// The iterator that a method of a store returns.
type IterMutOf<'a, S> = <&'a mut S as IntoIterator>::IntoIter;
type IterOf<'a, S> = <&'a S as IntoIterator>::IntoIter;
type IntoIterOf<S> = <S as IntoIterator>::IntoIter;
type DrainOf<'a, S> = phalanx_store::iter::Drain<'a, S>;
type RunsMutOf<'a, T> = RunsMut<'a, phalanx_store::index::Slots<T>, T>;

#[test]
fn h31_exclusive_views_cannot_be_copied() {
    none_is!(Clone:
        IterMutOf<'static, Packed<u8>>, IterMutOf<'static, Slot<u8>>,
        IterMutOf<'static, Sparse<u8>>, IterMutOf<'static, Linear<u8>>,
        DrainOf<'static, Packed<u8>>, DrainOf<'static, Slot<u8>>,
        DrainOf<'static, Sparse<u8>>, DrainOf<'static, Linear<u8>>,
        IntoIterOf<Packed<u8>>, IntoIterOf<Slot<u8>>,
        RunsMutOf<'static, u8>,
        Entry<'static, Sparse<u8>>, Entry<'static, Linear<u8>>,
        VacantEntry<'static, Sparse<u8>>, OccupiedEntry<'static, Packed<u8>>, OccupiedEntry<'static, Slot<u8>>,
    );
    none_is!(Copy: IterOf<'static, Packed<u8>>, Entities<'static>, EntityPool, Packed<u8>, Linear<u8>);
}

#[test]
fn h46_stores_are_sent_and_shared_as_their_values_are() {
    all_are::<(Packed<u8>, Slot<u8>, Sparse<u8>, Linear<u8>, EntityPool)>();
    all_are::<(IterOf<'static, Packed<u8>>, IterMutOf<'static, Slot<u8>>, RunsMutOf<'static, u8>)>();
    // Keys are but numbers, whatever they are keys of.
    all_are::<(Entity, Handle<Rc<u8>>, Handle<Cell<u8>>, SparseSet<Handle<Rc<u8>>, u8>)>();

    none_is!(Send:
        Packed<Rc<u8>>, Slot<Rc<u8>>, Sparse<Rc<u8>>, Linear<Rc<u8>>, Packed<*const u8>, Linear<*mut u8>,
        Packed<std::sync::MutexGuard<'static, u8>>,
        IterMutOf<'static, Packed<Rc<u8>>>, IterOf<'static, Packed<Rc<u8>>>, IntoIterOf<Packed<Rc<u8>>>,
        DrainOf<'static, Slot<Rc<u8>>>, RunsMutOf<'static, Rc<u8>>, Entry<'static, Sparse<Rc<u8>>>,
        // A shared view of what is not shared cannot be sent either.
        IterOf<'static, Packed<Cell<u8>>>, IterOf<'static, Linear<Cell<u8>>>,
        phalanx_store::Runs<'static, phalanx_store::index::Slots<Cell<u8>>, Cell<u8>>,
        phalanx_store::iter::Values<'static, phalanx_store::iter::BitCursor<'static, Entity>, Cell<u8>>,
    );
    none_is!(Sync:
        Packed<Cell<u8>>, Slot<Cell<u8>>, Sparse<Cell<u8>>, Linear<Cell<u8>>, Packed<Rc<u8>>,
        IterMutOf<'static, Packed<Cell<u8>>>, IterOf<'static, Slot<Cell<u8>>>, IntoIterOf<Linear<Cell<u8>>>,
        DrainOf<'static, Packed<Cell<u8>>>, RunsMutOf<'static, Cell<u8>>, Entry<'static, Linear<Cell<u8>>>,
        phalanx_store::raw::LaneOf<Cell<u8>>,
    );
    // What may be sent and not shared stays so.
    fn sent<T: Send>() {}
    sent::<(Packed<Cell<u8>>, IterMutOf<'static, Packed<Cell<u8>>>, RunsMutOf<'static, Cell<u8>>)>();
}

#[test]
fn h28_disjoint_access_refuses_doubles_and_dead() {
    fn run<S: Container<Value = u64>>() {
        let mut store = S::default();
        store.reserve(100);
        let keys: Vec<_> = (0..10).map(|n| store.put(n, n)).collect();
        let [a, b, c] = [keys[0], keys[4], keys[9]];
        assert!(store.leave_hole(keys[5]) && store.remove(keys[6]).is_some());
        {
            let [x, y, z] = store.disjoint([c, a, b]).unwrap();
            assert_eq!((*x, *y, *z), (9, 0, 4));
            mem::swap(x, y);
            *z = 44;
        }
        assert_eq!((store.get(a), store.get(b), store.get(c)), (Some(&9), Some(&44), Some(&0)));
        assert_eq!(store.disjoint([a, b, a]), Err(DisjointError::Repeated(0, 2)));
        assert_eq!(store.disjoint([a, a]), Err(DisjointError::Repeated(0, 1)));
        assert_eq!(store.disjoint([a, keys[5]]), Err(DisjointError::Absent(1)));
        assert_eq!(store.disjoint([keys[6], a]), Err(DisjointError::Absent(0)));
        // Within the capacity, beyond what is there.
        for beyond in [10, 50, 99, 100, 4_000_000_000] {
            assert_eq!(store.disjoint([a, S::key(beyond).unwrap()]), Err(DisjointError::Absent(1)));
        }
        assert!(store.disjoint([]).is_ok());
        store.clear();
        assert_eq!(store.disjoint([a]), Err(DisjointError::Absent(0)));
    }
    for_each_store!(run::<u64>());
    // Values without a size all lie at one address; they are different values all the same.
    let mut units: PackedStore<()> = PackedStore::new();
    let [a, b] = [units.insert(()), units.insert(())];
    assert!(units.get_disjoint_mut([a, b]).is_ok());
    assert_eq!(units.get_disjoint_mut([b, b]).err(), Some(DisjointError::Repeated(0, 1)));
}

#[test]
fn h28_every_reference_of_a_walk_is_to_another_value() {
    fn run<S: Driven>() {
        let tally = Tally::new();
        for (state, setup) in states::<S>() {
            let mut scene = setup(&tally);
            let store = scene.store();
            let expected = store.len();
            for backward in 0..=expected {
                // All references at once, from both ends, written through.
                let mut walk = store.values_mut();
                let mut all: Vec<&mut Counted> = walk.by_ref().rev().take(backward).collect();
                all.extend(walk);
                assert_eq!(all.len(), expected, "{}, {state}", S::NAME);
                let mut places: Vec<_> = all.iter().map(|value| std::ptr::from_ref::<Counted>(value).addr()).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), expected);
                for value in &mut all {
                    let key = value.key();
                    value.set_key(key);
                }
            }
            scene.check(&tally);
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h32_swapping_public_parts_is_harmless() {
    // Whole containers and whole iterators are all that can be had by `&mut`; exchanged, they are each other's.
    fn run<S: Container<Value = u64>>() {
        let (mut a, mut b) = (S::default(), S::default());
        let of_a: Vec<_> = (0..3).map(|n| a.put(n, n)).collect();
        let of_b: Vec<_> = (0..9).map(|n| b.put(n, 100 + n)).collect();
        b.leave_hole(of_b[4]);
        mem::swap(&mut a, &mut b);
        a.validate().unwrap();
        b.validate().unwrap();
        assert_eq!((a.get(of_b[8]), b.get(of_a[2])), (Some(&108), Some(&2)));
        let taken = mem::take(&mut a);
        assert_eq!((a.len(), taken.len()), (0, 8));
        a.put(0, 1);
        a.validate().unwrap();
        let (mut left, mut right) = (taken, b);
        {
            let (mut x, mut y) = (left.values_mut(), right.values_mut());
            x.next();
            mem::swap(&mut x, &mut y);
            assert_eq!((x.len(), y.len()), (3, 7));
            x.for_each(|value| *value += 1);
            y.for_each(|value| *value += 1);
        }
        let (mut x, mut y) = (left.drain(), right.drain());
        mem::swap(&mut x, &mut y);
        assert_eq!((x.next().unwrap().1, y.next().unwrap().1), (1, 100));
        drop((x, y));
        left.validate().unwrap();
        right.validate().unwrap();
    }
    for_each_store!(run::<u64>());
    let (mut a, mut b) = (EntityPool::new(), EntityPool::new());
    let entity = a.alloc();
    b.reserve_entity();
    mem::swap(&mut a, &mut b);
    assert!(b.contains(entity) && a.flush().len() == 1);
    // The parts that the crate hands out by `&mut` are values: a value can be exchanged for another.
    let mut store: PackedStore<String> = ["a", "b"].map(String::from).into_iter().collect();
    let [x, y] = store.as_mut_slice() else { panic!("two values") };
    mem::swap(x, y);
    assert_eq!(store.as_slice(), ["b", "a"]);
}

#[test]
fn h33_forgotten_drains_leave_a_safe_store() {
    fn run<S: Driven>() {
        for (_, setup) in states::<S>() {
            for taken in 0..5 {
                let tally = Tally::new();
                let mut scene = setup(&tally);
                let mut drain = scene.store().drain();
                drop(drain.by_ref().take(taken).collect::<Vec<_>>());
                mem::forget(drain);
                scene.check(&tally);
                // Views for writing, forgotten half-way.
                let mut walk = scene.store().values_mut();
                walk.next();
                mem::forget(walk);
                let mut walk = scene.store().values_mut();
                walk.next_back();
                mem::forget(walk);
                scene.check(&tally);
                scene.store().retain(|_, value| value.key() % 3 != 0);
                scene.check(&tally);
                drop(scene);
                tally.assert_no_leaks();
                // A container taken apart and forgotten leaks, and that is all.
                let mut scene = setup(&tally);
                let mut parts = scene.store.take().unwrap().into_iter();
                drop(parts.next());
                // A memory tool would report it.
                if !cfg!(phalanx_plain_alloc) {
                    mem::forget(parts);
                }
                tally.assert_sound();
            }
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h33_forgotten_entries_and_runs_leave_a_safe_store() {
    let key = |n| Entity::from_bits(n).unwrap();
    let mut sparse: SparseSet<Entity, String> = SparseSet::new();
    mem::forget(sparse.entry(key(1)).unwrap());
    assert!(sparse.is_empty() && sparse.memory().total() == 0);
    sparse.insert(key(1), "one".into());
    mem::forget(sparse.entry(key(1)).unwrap());
    let mut linear: LinearStore<Entity, String> = LinearStore::new();
    mem::forget(linear.entry(key(70)).unwrap());
    assert!(linear.is_empty());
    let mut packed: PackedStore<String> = ["a", "b", "c", "d"].map(String::from).into_iter().collect();
    let second = packed.keys().nth(1).unwrap();
    mem::forget(packed.entry(second));
    assert!(packed.remove_in_place(second));
    let mut runs = packed.runs_mut();
    runs.next().unwrap()[0].push('!');
    mem::forget(runs);
    assert!(catch(|| packed.as_slice().len()).is_err(), "a slice over a hole");
    assert!(catch(|| packed.as_mut_slice().len()).is_err(), "a slice over a hole");
    assert_eq!(packed.runs().map(<[String]>::len).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(packed.runs().clone().count(), 2);
    packed.compact();
    assert_eq!(packed.as_slice(), ["a!", "c", "d"]);
    for valid in [packed.validate(), sparse.validate(), linear.validate()] {
        valid.unwrap();
    }
}
