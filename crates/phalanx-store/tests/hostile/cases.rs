//! The containers as the tests see them: one trait, the states a container can be in, and the operations that end
//! values. Every test that drives "each operation" takes them from here.

use phalanx_store::{
    AllocError, DisjointError, Entity, Entry, Handle, Key, LinearStore, PackedStore, PrimaryStore, Rejection,
    SecondaryStore, SlotStore, SparseSet, StaleKey, Store, TryInsertError,
};
use phalanx_testkit::{Counted, Tally};

/// What the four stores can all do.
pub(crate) trait Container:
    Store + Default + IntoIterator<Item = (<Self as Store>::Key, <Self as Store>::Value)>
{
    const NAME: &'static str;
    /// Whether keys come from elsewhere.
    const KEYED: bool;
    /// Whether a key far away costs little.
    const SPARSE: bool = false;

    fn key(bits: u64) -> Option<Self::Key>;
    /// Adds a value: under a handle of its own, or under the key with these bits.
    fn try_put(&mut self, bits: u64, value: Self::Value) -> Result<Self::Key, TryInsertError<Self::Value>>;
    fn put(&mut self, bits: u64, value: Self::Value) -> Self::Key;
    /// Adds what a closure makes.
    fn put_with(&mut self, bits: u64, make: impl FnOnce() -> Self::Value);
    /// Gives the key a value if it has none; for issued handles, if it has one.
    fn put_by_entry(&mut self, key: Self::Key, value: Self::Value) -> bool;
    /// Removes in the way that leaves a hole, where there is such a way.
    fn leave_hole(&mut self, key: Self::Key) -> bool;
    /// Closes some holes.
    fn tidy(&mut self, moves: usize);
    /// Puts values into another order, in one of several ways; some remove the value of the key.
    fn rearrange(&mut self, way: usize, key: Self::Key);
    fn replace(&mut self, key: Self::Key, value: Self::Value) -> Option<Self::Value>;
    fn retain(&mut self, keep: impl FnMut(Self::Key, &mut Self::Value) -> bool);
    fn drain(&mut self) -> impl DoubleEndedIterator<Item = (Self::Key, Self::Value)> + ExactSizeIterator;
    fn disjoint<const N: usize>(&mut self, keys: [Self::Key; N]) -> Result<[&mut Self::Value; N], DisjointError>;
    fn iter(&self) -> impl DoubleEndedIterator<Item = (Self::Key, &Self::Value)> + ExactSizeIterator;
    fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Self::Value> + ExactSizeIterator;
    fn keys(&self) -> impl DoubleEndedIterator<Item = Self::Key> + ExactSizeIterator;
    fn pour(&mut self, first: u64, values: impl Iterator<Item = Self::Value>);
    fn capacity(&self) -> usize;
    fn reserve(&mut self, additional: usize);
    fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError>;
    fn shrink(&mut self);
    fn validate(&self) -> Result<(), &'static str>;
    fn try_copy(&self) -> Result<Self, AllocError>
    where
        Self::Value: Clone;
    fn try_become(&mut self, source: &Self) -> Result<(), AllocError>
    where
        Self::Value: Clone;
}

/// A container of counted values, with the operations that only it has.
pub(crate) trait Driven: Container<Value = Counted> {
    /// Those that end values.
    fn own_endings() -> Vec<Ending<Self>>;
    /// Those that allocate.
    fn own_allocations() -> Vec<Allocating<Self>>;
}

/// An operation that ends values of a [`Scene`].
pub(crate) type Ending<S> = (&'static str, fn(&mut Scene<S>, &Tally));
/// An operation that allocates, in its `try_` form.
pub(crate) type Allocating<S> = (&'static str, fn(&mut S, &Tally) -> Result<(), AllocError>);

macro_rules! common {
    () => {
        fn replace(&mut self, key: Self::Key, value: T) -> Option<T> {
            self.replace(key, value)
        }
        fn retain(&mut self, keep: impl FnMut(Self::Key, &mut T) -> bool) {
            self.retain(keep);
        }
        fn drain(&mut self) -> impl DoubleEndedIterator<Item = (Self::Key, T)> + ExactSizeIterator {
            self.drain()
        }
        fn disjoint<const N: usize>(&mut self, keys: [Self::Key; N]) -> Result<[&mut T; N], DisjointError> {
            self.get_disjoint_mut(keys)
        }
        fn iter(&self) -> impl DoubleEndedIterator<Item = (Self::Key, &T)> + ExactSizeIterator {
            self.iter()
        }
        fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> + ExactSizeIterator {
            self.values_mut()
        }
        fn keys(&self) -> impl DoubleEndedIterator<Item = Self::Key> + ExactSizeIterator {
            self.keys()
        }
        fn capacity(&self) -> usize {
            self.capacity()
        }
        fn reserve(&mut self, additional: usize) {
            self.reserve(additional);
        }
        fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
            self.try_reserve(additional)
        }
        fn shrink(&mut self) {
            self.shrink_to_fit();
        }
        fn validate(&self) -> Result<(), &'static str> {
            self.validate()
        }
        fn try_copy(&self) -> Result<Self, AllocError>
        where
            T: Clone,
        {
            self.try_clone()
        }
        fn try_become(&mut self, source: &Self) -> Result<(), AllocError>
        where
            T: Clone,
        {
            self.try_clone_from(source)
        }
    };
    (primary) => {
        const KEYED: bool = false;
        common!();
        fn key(bits: u64) -> Option<Self::Key> {
            Handle::from_bits(bits)
        }
        fn try_put(&mut self, _: u64, value: T) -> Result<Self::Key, TryInsertError<T>> {
            PrimaryStore::try_insert(self, value)
        }
        fn put(&mut self, _: u64, value: T) -> Self::Key {
            PrimaryStore::insert(self, value)
        }
        fn put_with(&mut self, _: u64, make: impl FnOnce() -> T) {
            self.insert_with_key(|_| make());
        }
        fn put_by_entry(&mut self, key: Self::Key, value: T) -> bool {
            self.entry(key).map(|mut entry| drop(entry.insert(value))).is_some()
        }
        fn pour(&mut self, _: u64, values: impl Iterator<Item = T>) {
            self.extend(values);
        }
    };
    (secondary) => {
        const KEYED: bool = true;
        common!();
        fn key(bits: u64) -> Option<Self::Key> {
            Entity::from_bits(bits)
        }
        fn try_put(&mut self, bits: u64, value: T) -> Result<Self::Key, TryInsertError<T>> {
            let key = Entity::from_bits(bits).unwrap();
            SecondaryStore::try_insert(self, key, value).map(|_| key)
        }
        fn put(&mut self, bits: u64, value: T) -> Self::Key {
            let key = Entity::from_bits(bits).unwrap();
            SecondaryStore::insert(self, key, value);
            key
        }
        fn put_with(&mut self, bits: u64, make: impl FnOnce() -> T) {
            self.entry(Entity::from_bits(bits).unwrap()).unwrap().or_insert_with(make);
        }
        fn put_by_entry(&mut self, key: Self::Key, value: T) -> bool {
            self.entry(key).map(|entry| entry.or_insert(value)).is_ok()
        }
        fn pour(&mut self, first: u64, values: impl Iterator<Item = T>) {
            let mut bits = first..;
            self.extend(values.map(move |value| (Entity::from_bits(bits.next().unwrap()).unwrap(), value)));
        }
    };
    (dense) => {
        fn leave_hole(&mut self, key: Self::Key) -> bool {
            self.remove_in_place(key)
        }
        fn tidy(&mut self, moves: usize) {
            self.compact_step(moves);
        }
        fn rearrange(&mut self, way: usize, key: Self::Key) {
            match way % 5 {
                0 => drop(self.shift_remove(key)),
                1 => self.sort_by_index(),
                2 => drop(self.key_at(way).map(|other| self.swap_keys(key, other))),
                3 => self.insertion_sort_by(|_, _| std::cmp::Ordering::Greater),
                _ => self.compact(),
            }
        }
    };
    (slotted) => {
        fn leave_hole(&mut self, key: Self::Key) -> bool {
            self.remove(key).is_some()
        }
        fn tidy(&mut self, _: usize) {}
        fn rearrange(&mut self, way: usize, key: Self::Key) {
            if way.is_multiple_of(5) {
                drop(self.remove(key));
            }
        }
    };
}

/// The operations of both dense stores.
macro_rules! dense_endings {
    () => {
        vec![
            ("remove_in_place", |scene, _| {
                let (store, keys) = scene.parts();
                for key in keys {
                    store.remove_in_place(key);
                }
            }),
            ("swap_remove", |scene, _| {
                let (store, keys) = scene.parts();
                keys.iter().for_each(|key| drop(store.swap_remove(*key)));
            }),
            ("shift_remove", |scene, _| {
                let (store, keys) = scene.parts();
                keys.iter().rev().for_each(|key| drop(store.shift_remove(*key)));
            }),
            ("remove_in_place and compact in turn", |scene, _| {
                let (store, keys) = scene.parts();
                for key in keys {
                    store.remove_in_place(key);
                    store.compact_step(1);
                }
            }),
            ("a sort whose keys end", |scene, _| scene.store().sort_by_key(|value| value.clone())),
        ]
    };
}

macro_rules! dense_allocations {
    () => {
        vec![
            ("try_sort_by", |store, _| store.try_sort_by(|a, b| b.key().cmp(&a.key()))),
            ("try_sort_by_key", |store, _| store.try_sort_by_key(|value| !value.key())),
            ("try_sort_by_index", |store, _| store.try_sort_by_index()),
            ("try_sort_like", |store, _| {
                let other = Self::default();
                store.try_sort_like(&other)
            }),
        ]
    };
}

impl<T> Container for PackedStore<T> {
    const NAME: &'static str = "PackedStore";
    common!(primary);
    common!(dense);
}

impl<T> Container for SlotStore<T> {
    const NAME: &'static str = "SlotStore";
    common!(primary);
    common!(slotted);
}

impl<T> Container for SparseSet<Entity, T> {
    const NAME: &'static str = "SparseSet";
    const SPARSE: bool = true;
    common!(secondary);
    common!(dense);
}

impl<T> Container for LinearStore<Entity, T> {
    const NAME: &'static str = "LinearStore";
    common!(secondary);
    common!(slotted);
}

/// Keys given values: the one that is displaced ends.
fn secondary_endings<S: Driven + SecondaryStore<Key = Entity>>() -> Vec<Ending<S>> {
    vec![
        ("insert under the same keys", |scene, tally| {
            let (store, keys) = scene.parts();
            for key in keys {
                if store.admits(key).is_ok() {
                    drop(store.insert(key, tally.value(90)));
                }
            }
        }),
        ("insert under later keys", |scene, tally| {
            let (store, keys) = scene.parts();
            for key in keys {
                let later = Entity::from_bits(key.to_bits() + (7 << 32)).unwrap();
                if store.admits(later).is_ok() {
                    drop(store.insert(later, tally.value(90)));
                }
            }
        }),
    ]
}

impl Driven for PackedStore<Counted> {
    fn own_endings() -> Vec<Ending<Self>> {
        dense_endings!()
    }
    fn own_allocations() -> Vec<Allocating<Self>> {
        let mut all: Vec<Allocating<Self>> = dense_allocations!();
        all.push(("try_insert_with_key", |store, tally| store.try_insert_with_key(|_| tally.value(7)).map(drop)));
        all
    }
}

impl Driven for SlotStore<Counted> {
    fn own_endings() -> Vec<Ending<Self>> {
        vec![]
    }
    fn own_allocations() -> Vec<Allocating<Self>> {
        vec![("try_insert_with_key", |store, tally| store.try_insert_with_key(|_| tally.value(7)).map(drop))]
    }
}

impl Driven for SparseSet<Entity, Counted> {
    fn own_endings() -> Vec<Ending<Self>> {
        [secondary_endings::<Self>(), dense_endings!()].concat()
    }
    fn own_allocations() -> Vec<Allocating<Self>> {
        let mut all: Vec<Allocating<Self>> = dense_allocations!();
        all.push(("entry().try_insert", |store, tally| vacant(store.entry(at(5_000)), tally)));
        all.push(("entry().try_insert far away", |store, tally| vacant(store.entry(at(4_000_000_000)), tally)));
        all
    }
}

impl Driven for LinearStore<Entity, Counted> {
    fn own_endings() -> Vec<Ending<Self>> {
        secondary_endings()
    }
    fn own_allocations() -> Vec<Allocating<Self>> {
        vec![("entry().try_insert", |store, tally| vacant(store.entry(at(5_000)), tally))]
    }
}

fn at(bits: u64) -> Entity {
    Entity::from_bits(bits).unwrap()
}

fn vacant<S: SecondaryStore<Value = Counted>>(
    entry: Result<Entry<'_, S>, StaleKey>,
    tally: &Tally,
) -> Result<(), AllocError> {
    match entry.unwrap() {
        Entry::Occupied(_) => panic!("the key has a value"),
        Entry::Vacant(entry) => entry.try_insert(tally.value(7)).map(drop).map_err(alloc_error),
    }
}

/// The reason why a value was not stored, which must be memory; the value is dropped.
pub(crate) fn alloc_error(rejected: TryInsertError<Counted>) -> AllocError {
    match rejected.reason {
        Rejection::Alloc(error) => error,
        other => panic!("refused for another reason: {other}"),
    }
}

/// A container, and every key that ever was in it with the number of its value.
pub(crate) struct Scene<S: Container> {
    pub(crate) store: Option<S>,
    pub(crate) keys: Vec<(S::Key, u32)>,
}

impl<S: Driven> Scene<S> {
    /// The container and all its keys, dead ones too.
    pub(crate) fn parts(&mut self) -> (&mut S, Vec<S::Key>) {
        (self.store.as_mut().unwrap(), self.keys.iter().map(|(key, _)| *key).collect())
    }

    pub(crate) fn store(&mut self) -> &mut S {
        self.store.as_mut().unwrap()
    }

    fn put(&mut self, bits: u64, number: u32, tally: &Tally) {
        let key = self.store().put(bits, tally.value(number));
        self.keys.push((key, number));
    }

    /// The scene has a whole container, if it has one: every key is dead or leads to the value it was given (or to one
    /// that a test gave it later, numbered from 90), and the container can be used.
    pub(crate) fn check(&mut self, tally: &Tally) {
        let Some(store) = &mut self.store else { return };
        store.validate().unwrap();
        let mut found = 0;
        for (key, number) in &self.keys {
            assert_eq!(store.get(*key).is_some(), store.contains(*key));
            if let Some(value) = store.get(*key) {
                assert!(value.key() == *number || value.key() >= 90, "{key:?} leads to {value:?}");
                found += 1;
            }
        }
        let news = store.iter().filter(|(key, _)| self.keys.iter().all(|(old, _)| old != key)).count();
        assert_eq!(found + news, store.len());
        assert_eq!(store.iter().rev().count(), store.len());
        let bits = 10 << 32 | 3;
        let key = store.put(bits, tally.value(91));
        assert_eq!(store.get(key).unwrap().key(), 91);
        store.validate().unwrap();
        drop(store.remove(key).unwrap());
        store.validate().unwrap();
    }
}

/// The states that an operation is tried in.
pub(crate) fn states<S: Driven>() -> Vec<(&'static str, fn(&Tally) -> Scene<S>)> {
    fn full<S: Driven>(tally: &Tally) -> Scene<S> {
        let mut scene = Scene { store: Some(S::default()), keys: vec![] };
        (0..6).for_each(|n| scene.put(n.into(), n, tally));
        scene
    }
    fn reused<S: Driven>(tally: &Tally) -> Scene<S> {
        let mut scene = full::<S>(tally);
        for at in [1, 4] {
            let key = scene.keys[at].0;
            drop(scene.store().remove(key));
            scene.put(key.index() as u64 | 1 << 32, 10 + at as u32, tally);
        }
        scene
    }
    fn holed<S: Driven>(tally: &Tally) -> Scene<S> {
        let mut scene = full::<S>(tally);
        for at in [0, 2, 3] {
            let key = scene.keys[at].0;
            assert!(scene.store().leave_hole(key));
        }
        scene
    }
    fn half_compacted<S: Driven>(tally: &Tally) -> Scene<S> {
        let mut scene = holed::<S>(tally);
        scene.store().tidy(1);
        scene.put(20, 20, tally);
        scene
    }
    fn far<S: Driven>(tally: &Tally) -> Scene<S> {
        let mut scene = full::<S>(tally);
        (0..3).for_each(|n| {
            scene.put(if S::SPARSE { 3_000_000 * (1 + u64::from(n)) } else { 130 + u64::from(n) }, 30 + n, tally)
        });
        scene
    }
    fn leaked<S: Driven>(tally: &Tally) -> Scene<S> {
        let mut scene = full::<S>(tally);
        let mut drain = scene.store().drain();
        drop((drain.next(), drain.next()));
        std::mem::forget(drain);
        scene
    }
    vec![
        ("full", full),
        ("with slots used again", reused),
        ("with holes", holed),
        ("half compacted", half_compacted),
        ("with keys far away", far),
        ("after a leaked drain", leaked),
    ]
}

/// Every operation that ends values, for any container.
pub(crate) fn endings<S: Driven>() -> Vec<Ending<S>> {
    let mut all: Vec<Ending<S>> = vec![
        ("clear", |scene, _| scene.store().clear()),
        ("drop", |scene, _| drop(scene.store.take())),
        ("assignment", |scene, _| *scene.store() = S::default()),
        ("retain none", |scene, _| scene.store().retain(|_, _| false)),
        ("retain every other", |scene, _| scene.store().retain(|_, value| value.key() % 2 == 0)),
        ("drain, dropped", |scene, _| drop(scene.store().drain())),
        ("drain, half", |scene, _| drop(scene.store().drain().take(3).collect::<Vec<_>>())),
        ("drain, whole", |scene, _| scene.store().drain().for_each(drop)),
        ("drain, from both ends", |scene, _| {
            let mut drain = scene.store().drain();
            drop((drain.next_back(), drain.next(), drain.next_back()));
        }),
        ("drain, from the back", |scene, _| scene.store().drain().rev().for_each(drop)),
        ("clone_from", |scene, tally| {
            let mut other = S::default();
            other.pour(0, tally.values(3));
            scene.store().try_become(&other).unwrap();
            scene.keys = other.iter().map(|(key, value)| (key, value.key())).collect();
        }),
        ("into_iter, dropped", |scene, _| drop(scene.store.take().unwrap().into_iter())),
        ("into_iter, half", |scene, _| drop(scene.store.take().unwrap().into_iter().nth(2))),
        ("into_iter, whole", |scene, _| scene.store.take().unwrap().into_iter().for_each(drop)),
        ("remove", |scene, _| {
            let (store, keys) = scene.parts();
            keys.iter().for_each(|key| drop(store.remove(*key)));
        }),
        ("replace", |scene, tally| {
            let (store, keys) = scene.parts();
            keys.iter().for_each(|key| drop(store.replace(*key, tally.value(90))));
        }),
        ("entry", |scene, tally| {
            let (store, keys) = scene.parts();
            for key in keys {
                store.put_by_entry(key, tally.value(90));
            }
        }),
        ("values_mut", |scene, tally| scene.store().values_mut().for_each(|value| *value = tally.value(90))),
        ("for_each_mut", |scene, tally| scene.store().for_each_mut(|_, value| *value = tally.value(90))),
        ("extend", |scene, tally| {
            scene.store().pour(
                9 << 32,
                tally.values(3).map(|mut value| {
                    value.set_key(93);
                    value
                }),
            )
        }),
        ("try_clone, dropped", |scene, _| drop(scene.store().try_copy().unwrap())),
    ];
    all.extend(S::own_endings());
    all
}

/// Calls a function, generic over the container, for each of the four with values of one type.
macro_rules! for_each_store {
    ($function:ident::<$value:ty>($($argument:expr),*)) => {{
        $function::<phalanx_store::PackedStore<$value>>($($argument),*);
        $function::<phalanx_store::SlotStore<$value>>($($argument),*);
        $function::<phalanx_store::SparseSet<phalanx_store::Entity, $value>>($($argument),*);
        $function::<phalanx_store::LinearStore<phalanx_store::Entity, $value>>($($argument),*);
    }};
}
pub(crate) use for_each_store;
