//! What all containers have: written once as a macro, since the containers share methods and not a trait for them.

use phalanx_store::{DisjointError, Key};

/// The naive side: which keys have which number, in which order.
pub trait Order<K: Key> {
    /// Keys and numbers, in order.
    fn live(&self) -> Vec<(K, u32)>;
    /// Keys that name nothing.
    fn dead(&self) -> Vec<K>;
    fn set(&mut self, key: K, n: u32);
    /// Takes out in the container's cheapest way.
    fn remove(&mut self, key: K);
    /// Takes out without moving anything.
    fn leave_hole(&mut self, key: K);
    /// Closes holes, where a container can have some.
    fn compact(&mut self) {}
    /// Keeps those for which it is true, without holes.
    fn retain(&mut self, keep: impl FnMut(K, u32) -> bool);
    fn clear(&mut self);
    /// Everything of a container that was consumed.
    fn forget(&mut self);

    fn find(&self, key: K) -> Option<u32> {
        self.live().into_iter().find(|(k, _)| *k == key).map(|(_, n)| n)
    }

    /// A key that was ever used, mostly one that has a value.
    fn choose(&self, pick: u32) -> Option<K> {
        let (live, dead) = (self.live(), self.dead());
        let at = pick as usize / 4;
        match pick.is_multiple_of(4) || live.is_empty() {
            true => (!dead.is_empty()).then(|| dead[at % dead.len()]),
            false => Some(live[at % live.len()].0),
        }
    }
}

/// What borrowing these keys together must come to.
pub fn disjointness<K: Key>(order: &impl Order<K>, keys: &[K]) -> Result<(), DisjointError> {
    for (at, key) in keys.iter().enumerate() {
        if order.find(*key).is_none() {
            return Err(DisjointError::Absent(at));
        }
        if let Some(first) = keys[..at].iter().position(|other| other == key) {
            return Err(DisjointError::Repeated(first, at));
        }
    }
    Ok(())
}

/// Compares the keys that are found by their index.
pub fn check_indices<K: Key>(order: &impl Order<K>, find: impl Fn(u32) -> Option<K>) {
    for (key, _) in order.live() {
        assert_eq!(find(key.index()), Some(key));
    }
    for key in order.dead() {
        assert_ne!(find(key.index()), Some(key));
    }
}

/// Makes `$apply`, which does an operation that all containers have and tells whether it was one, and `$check`.
macro_rules! shared {
    ($apply:ident, $check:ident, [$($generics:tt)*], $store:ty, $key:ty) => {
        pub fn $apply<$($generics)*>(
            store: &mut $store,
            model: &mut impl $crate::model::shared::Order<$key>,
            op: $crate::model::op::Op,
            tally: &phalanx_testkit::Tally,
        ) -> bool
        where
            $store: Default,
        {
            use $crate::model::op::Kind;
            let live = model.live();
            let chosen = model.choose(op.pick);
            let (n, seen) = (op.n, I::seen(op.n));
            match op.kind {
                Kind::GetMut => {
                    let Some(key) = chosen else { return true };
                    match (store.get_mut(key), model.find(key)) {
                        (Some(value), Some(_)) => value.set(n),
                        (None, None) => return true,
                        (found, expected) => panic!("get_mut({key:?}) is {found:?}, not {expected:?}"),
                    }
                    model.set(key, seen);
                    assert_eq!(store[key].n(), seen);
                    store[key].set(n);
                }
                Kind::Disjoint => {
                    let keys = [op.pick, op.n, op.pick.rotate_left(9)].map(|pick| model.choose(pick));
                    let [Some(a), Some(b), Some(c)] = keys else { return true };
                    let expected = $crate::model::shared::disjointness(model, &[a, b, c]);
                    match store.get_disjoint_mut([a, b, c]) {
                        Ok(values) => {
                            assert_eq!(expected, Ok(()));
                            for (value, (key, n)) in values.into_iter().zip([(a, n), (b, n ^ 1), (c, n ^ 2)]) {
                                value.set(n);
                                model.set(key, I::seen(n));
                            }
                        }
                        Err(error) => assert_eq!(expected, Err(error)),
                    }
                    let expected = $crate::model::shared::disjointness(model, &[b, a]);
                    assert_eq!(store.get_disjoint_mut([b, a]).map(drop), expected);
                    assert!(store.get_disjoint_mut([]).is_ok());
                }
                Kind::Replace => {
                    let Some(key) = chosen else { return true };
                    match (store.replace(key, I::make(tally, n)), model.find(key)) {
                        (Some(old), Some(expected)) => assert_eq!(old.n(), expected),
                        (None, None) => return true,
                        (found, expected) => panic!("replace({key:?}) is {found:?}, not {expected:?}"),
                    }
                    model.set(key, seen);
                }
                Kind::Remove => {
                    let Some(key) = chosen else { return true };
                    let expected = model.find(key);
                    assert_eq!(store.remove(key).map(|value| value.n()), expected);
                    if expected.is_some() {
                        model.remove(key);
                    }
                    assert!(store.remove(key).is_none(), "removed twice");
                }
                Kind::Retain => {
                    let keep = |n: u32| (n ^ op.pick) % 3 != 0;
                    let mut visited = Vec::new();
                    store.retain(|key, value| {
                        visited.push((key, value.n()));
                        keep(value.n())
                    });
                    assert_eq!(visited, live, "retain looks at each value once, in order");
                    model.retain(|_, n| keep(n));
                }
                Kind::DrainAll | Kind::DrainSome | Kind::DrainLeak => {
                    let take = if op.kind == Kind::DrainAll { live.len() } else { op.count(live.len() as u32) };
                    let mut drain = store.drain();
                    model.compact();
                    assert_eq!(drain.len(), live.len());
                    let taken = $crate::model::walk::ends(&live, take, op.pick);
                    for (at, (is_last, (key, n))) in taken.iter().enumerate() {
                        let next = if *is_last { drain.next_back() } else { drain.next() };
                        let (found, value) = next.expect("as many as there are");
                        assert_eq!((found, value.n()), (*key, *n));
                        assert_eq!(drain.len(), live.len() - at - 1);
                    }
                    assert_eq!(format!("{drain:?}"), format!("Drain({} left)", live.len() - take));
                    if op.kind == Kind::DrainLeak {
                        std::mem::forget(drain);
                        taken.iter().for_each(|(_, (key, _))| model.leave_hole(*key));
                    } else {
                        if op.kind == Kind::DrainAll {
                            assert!(drain.next().is_none() && drain.next_back().is_none() && drain.next().is_none());
                        }
                        drop(drain);
                        model.clear();
                    }
                }
                Kind::Clear => {
                    store.clear();
                    model.clear();
                }
                Kind::IntoIter => {
                    let take = op.count(live.len() as u32);
                    let mut values = std::mem::take(store).into_iter();
                    for (is_last, pair) in $crate::model::walk::ends(&live, take, op.pick) {
                        let next = if is_last { values.next_back() } else { values.next() };
                        assert_eq!(next.map(|(key, value)| (key, value.n())), Some(pair));
                    }
                    assert_eq!(values.len(), live.len() - take);
                    model.forget();
                }
                Kind::WalkMut => {
                    let numbers: Vec<u32> = live.iter().map(|(_, n)| *n).collect();
                    $crate::model::walk::walk(store.iter_mut().map(|(key, value)| (key, value.n())), &live, op.pick);
                    $crate::model::walk::walk(store.values_mut().map(|value| value.n()), &numbers, op.n);
                    for (key, value) in &mut *store {
                        value.set(value.n() ^ 0x55);
                        model.set(key, value.n());
                    }
                    store.values_mut().rev().for_each(|value| value.set(value.n() ^ 0x55));
                    live.iter().for_each(|(key, n)| model.set(*key, *n));
                }
                Kind::Through => {
                    // The same by way of the traits.
                    use phalanx_store::Store;
                    let mut visited = Vec::new();
                    Store::for_each(store, |key, value| visited.push((key, value.n())));
                    assert_eq!(visited, live);
                    Store::for_each_mut(store, |_, value| value.set(n));
                    live.iter().for_each(|(key, _)| model.set(*key, seen));
                    assert_eq!((Store::len(store), Store::is_empty(store)), (live.len(), live.is_empty()));
                    assert_eq!(Store::memory(store), store.memory());
                    let Some(key) = chosen else { return true };
                    assert_eq!(Store::contains(store, key), model.find(key).is_some());
                    assert_eq!(Store::get(store, key).map(I::n), model.find(key));
                    assert_eq!(Store::get_mut(store, key).map(|value| value.n()), model.find(key));
                    assert_eq!(Store::remove(store, key).map(|value| value.n()), model.find(key));
                    if model.find(key).is_some() {
                        model.remove(key);
                    }
                }
                Kind::Debug => {
                    let pairs: Vec<String> = live.iter().map(|(key, _)| format!("{key:?}: {:?}", store[*key])).collect();
                    assert_eq!(format!("{store:?}"), format!("{{{}}}", pairs.join(", ")));
                    let left = live.len();
                    assert_eq!(format!("{:?}", store.iter()), format!("Iter({left} left)"));
                    assert_eq!(format!("{:?}", store.keys()), format!("Keys({left} left)"));
                    assert_eq!(format!("{:?}", store.values_mut()), format!("ValuesMut({left} left)"));
                    if let Some(key) = chosen.filter(|key| model.find(*key).is_none()) {
                        let caught = phalanx_testkit::catch(|| store[key].n()).expect_err("a dead key");
                        assert_eq!(caught.message(), format!("no value under the key {key:?}"));
                    }
                }
                _ => return false,
            }
            true
        }

        pub fn $check<$($generics)*>(
            store: &$store,
            model: &impl $crate::model::shared::Order<$key>,
            step: u32,
        ) {
            assert_eq!(store.validate(), Ok(()));
            let live = model.live();
            assert_eq!((store.len(), store.is_empty()), (live.len(), live.is_empty()));
            for (key, n) in &live {
                assert!(store.contains(*key), "{key:?} is missing");
                assert_eq!(store.get(*key).map(I::n), Some(*n), "under {key:?}");
                assert_eq!(store[*key].n(), *n);
            }
            for key in model.dead() {
                assert!(!store.contains(key) && store.get(key).is_none(), "{key:?} lives again");
            }
            let numbers: Vec<u32> = live.iter().map(|(_, n)| *n).collect();
            let keys: Vec<$key> = live.iter().map(|(key, _)| *key).collect();
            let plan = step.wrapping_mul(0x9E37_79B9) ^ step;
            $crate::model::walk::walk(store.iter().map(|(key, value)| (key, value.n())), &live, plan);
            $crate::model::walk::walk(store.values().map(I::n), &numbers, plan >> 3);
            $crate::model::walk::walk(store.keys(), &keys, plan >> 5);
            let mut walked = store.iter();
            walked.next();
            assert!(walked.clone().map(|(key, _)| key).eq(keys.iter().copied().skip(1)), "a clone goes on from there");
            assert!(store.into_iter().map(|(key, _)| key).eq(keys.iter().copied()));
        }
    };
}
pub(crate) use shared;
