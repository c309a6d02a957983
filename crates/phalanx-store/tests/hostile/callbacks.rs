//! Code of the user's that panics or lies while a container runs it: clones, constructors, predicates, comparisons,
//! iterators.

use crate::cases::{Driven, Scene, for_each_store, states};
use phalanx_store::memory::Usage;
use phalanx_store::{Entity, EntityPool, Key, LinearStore, PackedStore, SlotStore, SparseSet, Store};
use phalanx_testkit::{Counted, Liar, Lie, PanicSweep, Site, Tally, assert_balanced, catch, measure};
use std::cell::Cell;
use std::cmp::Ordering;

#[test]
fn h17_clone_panics_leave_no_half_store() {
    fn run<S: Driven + Clone>() {
        for (state, setup) in states::<S>() {
            let values = setup(&Tally::new()).store().len() as u64;
            for clone in [
                |s: &S| drop(s.clone()),
                |s: &S| drop(s.try_copy().unwrap()),
                |s: &S| {
                    let mut target = S::default();
                    target.clone_from(s);
                    target.validate().unwrap();
                },
            ] {
                let points = PanicSweep::new(Site::Clone).run(
                    setup,
                    |scene, _| clone(scene.store()),
                    |scene, tally, _| scene.check(tally),
                );
                assert_eq!(points, values, "{}, {state}", S::NAME);
            }
            // And the other way round: the clone is whole when a destructor of the old value panics.
            PanicSweep::new(Site::Drop).run(
                |tally| (setup(tally), setup(tally)),
                |(from, to), _| to.store().clone_from(from.store.as_ref().unwrap()),
                |(from, to), tally, _| {
                    from.check(tally);
                    to.check(tally);
                },
            );
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h17_a_clone_has_the_same_future() {
    fn run<S: Driven>() {
        let tally = Tally::new();
        for (state, setup) in states::<S>() {
            let mut scene = setup(&tally);
            let mut copy = scene.store().try_copy().unwrap();
            copy.validate().unwrap();
            let store = scene.store();
            assert!(store.iter().map(|(k, v)| (k, v.key())).eq(copy.iter().map(|(k, v)| (k, v.key()))));
            for n in 0..10 {
                let bits = 40 + n;
                assert_eq!(store.put(bits, tally.value(1)), copy.put(bits, tally.value(1)), "{}, {state}", S::NAME);
            }
            copy.clear();
            store.validate().unwrap();
            copy.validate().unwrap();
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h18_constructor_panics_leave_nothing_behind() {
    fn run<S: Driven>() {
        for (state, setup) in states::<S>() {
            let points = PanicSweep::new(Site::Callback).run(
                setup,
                |scene, tally| {
                    scene.store().put_with(50, || {
                        tally.callback();
                        let value = tally.value(95);
                        tally.callback();
                        value
                    });
                },
                |scene, tally, fired| {
                    let new = scene.store().iter().filter(|(_, value)| value.key() == 95).count();
                    assert_eq!(new, usize::from(!fired), "{}, {state}", S::NAME);
                    scene.check(tally);
                },
            );
            assert_eq!(points, 2);
        }
    }
    for_each_store!(run::<Counted>());
}

#[test]
fn h18_a_panic_in_and_modify_or_default_changes_nothing_else() {
    #[derive(Debug)]
    struct NoDefault;
    impl Default for NoDefault {
        fn default() -> Self {
            panic!("no default")
        }
    }
    let key = Entity::from_bits(3).unwrap();
    let mut sparse: SparseSet<Entity, NoDefault> = SparseSet::new();
    assert!(catch(|| sparse.entry(key).unwrap().or_default()).is_err());
    assert!(sparse.is_empty() && sparse.validate().is_ok());
    let mut linear: LinearStore<Entity, NoDefault> = LinearStore::new();
    assert!(catch(|| linear.entry(key).unwrap().or_default()).is_err());
    assert!(linear.is_empty() && linear.validate().is_ok());
    sparse.insert(key, NoDefault);
    assert!(catch(|| sparse.entry(key).unwrap().and_modify(|_| panic!("half-way"))).is_err());
    assert!(sparse.contains(key) && sparse.validate().is_ok());
    let mut packed: PackedStore<u32> = PackedStore::new();
    let told = Cell::new(None);
    let outcome = catch(|| {
        packed.insert_with_key(|handle| {
            told.set(Some(handle));
            panic!("no value")
        })
    });
    assert!(outcome.is_err() && packed.is_empty() && !packed.contains(told.get().unwrap()));
    assert_eq!(packed.insert(1), told.get().unwrap());
}

#[test]
fn h19_predicate_panics_keep_or_remove_once() {
    fn run<S: Driven>() {
        for (state, setup) in states::<S>() {
            let values = setup(&Tally::new()).store().len() as u64;
            let points = PanicSweep::new(Site::Callback).run(
                setup,
                |scene, tally| {
                    scene.store().retain(|_, value| {
                        tally.callback();
                        value.key() % 2 == 0
                    });
                },
                |scene, tally, fired| {
                    if !fired {
                        assert!(scene.store().iter().all(|(_, value)| value.key() % 2 == 0));
                    }
                    scene.check(tally);
                },
            );
            assert_eq!(points, values, "{}, {state}", S::NAME);
        }
    }
    for_each_store!(run::<Counted>());
}

/// Every sort of both dense stores, as a function of the store.
macro_rules! sorts {
    ($store:ty) => {{
        let sorts: Vec<(&str, fn(&mut $store))> = vec![
            ("sort_by", |store| store.sort_by(|a, b| a.cmp(b))),
            ("try_sort_by", |store| store.try_sort_by(|a, b| b.cmp(a)).unwrap()),
            ("sort_by_key", |store| store.sort_by_key(|value| value.clone())),
            ("insertion_sort_by", |store| store.insertion_sort_by(|a, b| a.cmp(b))),
            ("no order", |store| {
                let turn = Cell::new(0_u32);
                store.insertion_sort_by(|_, _| {
                    turn.set(turn.get().wrapping_mul(5) + 3);
                    [Ordering::Less, Ordering::Greater][turn.get() as usize / 4 % 2]
                });
            }),
        ];
        sorts
    }};
}

fn is_permutation<S: Driven>(scene: &mut Scene<S>, before: &[(S::Key, u32)]) {
    let store = scene.store();
    assert_eq!(store.len(), before.len());
    assert!(before.iter().all(|(key, id)| store.get(*key).is_some_and(|value| value.id() == *id)));
}

#[test]
fn h20_sort_with_bad_comparator_is_a_permutation() {
    fn run<S: Driven>(sorts: Vec<(&str, fn(&mut S))>) {
        for (state, setup) in states::<S>() {
            for (name, sort) in &sorts {
                // Values know by their numbers who they are, whatever they answer.
                let remembered = |tally: &Tally| {
                    let mut scene = setup(tally);
                    let ids = scene.store().iter().map(|(key, value)| (key, value.id())).collect::<Vec<_>>();
                    (scene, ids)
                };
                for site in [Site::Compare, Site::Clone, Site::Drop] {
                    PanicSweep::new(site).run(
                        remembered,
                        |(scene, _), _| sort(scene.store()),
                        |(scene, ids), tally, _| {
                            is_permutation(scene, ids);
                            scene.check(tally);
                        },
                    );
                }
                for seed in 0..20 {
                    let tally = Tally::new();
                    let (mut scene, ids) = remembered(&tally);
                    tally.lie(seed);
                    // The sorts of std may say that they were given no order; nothing has happened then.
                    let _ = catch(|| sort(scene.store()));
                    tally.be_honest();
                    is_permutation(&mut scene, &ids);
                    scene.check(&tally);
                    drop(scene);
                    tally.assert_no_leaks();
                    assert!(!state.is_empty() && !name.is_empty());
                }
            }
        }
    }
    run(sorts!(PackedStore<Counted>));
    run(sorts!(SparseSet<Entity, Counted>));
}

#[test]
fn h20_a_long_lying_sort_is_a_permutation() {
    for seed in 0..30 {
        let tally = Tally::new();
        let mut store: PackedStore<Counted> = tally.values(300).collect();
        let handles: Vec<_> = store.keys().collect();
        tally.lie(seed);
        let _ = catch(|| store.sort_by(|a, b| a.cmp(b)));
        let _ = catch(|| store.sort_by_key(|value| value.clone()));
        tally.be_honest();
        store.validate().unwrap();
        assert!((0..).zip(&handles).all(|(n, handle)| store[*handle].key() == n));
        drop(store);
        tally.assert_no_leaks();
    }
}

#[test]
fn h21_iterator_panics_in_extend() {
    fn run<S: Driven>() {
        for (_, setup) in states::<S>() {
            let points = PanicSweep::new(Site::Callback).run(
                setup,
                |scene, tally| {
                    scene.store().pour(
                        9 << 32,
                        (0..4).map(|n| {
                            tally.callback();
                            tally.value(90 + n)
                        }),
                    );
                },
                |scene, tally, _| scene.check(tally),
            );
            assert_eq!(points, 4);
        }
    }
    for_each_store!(run::<Counted>());
    // Collecting: the values that the iterator yielded before the panic are dropped.
    let points = PanicSweep::new(Site::Callback).run(
        |_| (),
        |(), tally| {
            let step = |n| {
                tally.callback();
                tally.value(n)
            };
            drop((0..3).map(step).collect::<PackedStore<_>>());
            drop((0..3).map(step).collect::<SlotStore<_>>());
            let key = |n: u32| Entity::from_bits(n.into()).unwrap();
            drop((0..3).map(|n| (key(n), step(n))).collect::<SparseSet<_, _>>());
            drop((0..3).map(|n| (key(n), step(n))).collect::<LinearStore<_, _>>());
        },
        |(), _, _| {},
    );
    assert_eq!(points, 12);
    let mut pool = EntityPool::new();
    let all: Vec<_> = pool.alloc_many(4).collect();
    let mut turn = 0;
    let outcome = catch(|| {
        pool.release_many(all.iter().map(|entity| {
            turn += 1;
            assert!(turn < 3, "enough");
            *entity
        }))
    });
    assert!(outcome.is_err());
    assert_eq!(pool.len(), 2);
    pool.validate().unwrap();
}

#[test]
fn h22_lying_size_hints_do_no_harm() {
    fn run<S: Driven>() {
        for lie in Lie::ALL {
            let tally = Tally::new();
            let ((), usage) = measure(|| {
                let mut store = S::default();
                store.pour(0, Liar::new(tally.values(10).collect::<Vec<_>>(), lie));
                assert_eq!(store.len(), 10, "{}, {lie:?}", S::NAME);
                store.validate().unwrap();
                assert!(store.iter().map(|(_, value)| value.key()).eq(0..10));
                store.pour(1 << 32, Liar::new(Vec::new(), lie));
                store.validate().unwrap();
            });
            assert!(usage.largest <= 1 << 18, "{}, {lie:?}: {} bytes for ten values", S::NAME, usage.largest);
            tally.assert_no_leaks();
        }
    }
    for_each_store!(run::<Counted>());
    // A hint for large values is worth less: no gigabytes are had for a lie.
    let (_, usage) = measure(|| {
        let mut store: PackedStore<[u8; 1 << 16]> = PackedStore::new();
        store.extend(Liar::new([[0; 1 << 16]; 2], Lie::Endless));
        assert_eq!(store.len(), 2);
    });
    assert!(usage.largest <= 1 << 20, "{} bytes for two values", usage.largest);
}

#[test]
fn h25_conversions_are_asked_once() {
    struct Once<'a>(&'a Cell<u32>, Vec<(Entity, u32)>);
    impl IntoIterator for Once<'_> {
        type Item = (Entity, u32);
        type IntoIter = std::vec::IntoIter<(Entity, u32)>;
        fn into_iter(self) -> Self::IntoIter {
            self.0.set(self.0.get() + 1);
            self.1.into_iter()
        }
    }
    let asked = Cell::new(0);
    let pairs = || Once(&asked, vec![(Entity::from_bits(1).unwrap(), 1)]);
    let mut sparse: SparseSet<Entity, u32> = pairs().into_iter().collect();
    asked.set(0);
    sparse.extend(pairs());
    let mut linear = LinearStore::from_iter(pairs());
    linear.extend(pairs());
    assert_eq!(asked.get(), 3);
}

/// A store that lies: it contains everything and finds nothing.
struct Lying(u32);

impl Store for Lying {
    type Key = Entity;
    type Value = u32;
    fn len(&self) -> usize {
        usize::MAX
    }
    fn contains(&self, _: Entity) -> bool {
        true
    }
    fn get(&self, key: Entity) -> Option<&u32> {
        (key.index() % 2 == 1).then_some(&self.0)
    }
    fn get_mut(&mut self, _: Entity) -> Option<&mut u32> {
        None
    }
    fn remove(&mut self, _: Entity) -> Option<u32> {
        None
    }
    fn clear(&mut self) {}
    fn for_each<'a>(&'a self, _: impl FnMut(Entity, &'a u32)) {}
    fn for_each_mut<'a>(&'a mut self, _: impl FnMut(Entity, &'a mut u32)) {}
    fn memory(&self) -> Usage {
        Usage { values: usize::MAX, keys: 0, index: 0 }
    }
}

#[test]
fn h26_hostile_implementations_of_safe_traits() {
    // `Store` is open to anybody. Nothing in the crate takes one but entries, and those are made by its own containers
    // only (tests/compile_fail/h26_entry_of_a_foreign_store.rs), so a lie stays with its author.
    let liar = Lying(3);
    assert!(!liar.is_empty() && liar.get(Entity::from_bits(0).unwrap()).is_none());
    // The other open traits are std's, for values: Clone, Ord, Drop, Default, IntoIterator, Debug, in the tests above.
    struct Unprintable;
    impl std::fmt::Debug for Unprintable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("not to be printed")
        }
    }
    assert_balanced(|| {
        let store: PackedStore<Unprintable> = [Unprintable].into_iter().collect();
        assert!(catch(|| format!("{store:?}")).is_err());
        store.validate().unwrap();
    });
    let key = Entity::from_bits(5).unwrap();
    assert_eq!(Key::index(key), 5);
}
