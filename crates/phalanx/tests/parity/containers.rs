//! Cases of slotmap, thunderdome, soa_derive and soa-rs.

use phalanx::store::{DisjointError, EntityPool, Handle, LinearStore, PackedStore, SlotStore, Soa, SparseSet};

macro_rules! over_primary {
    ($(fn $name:ident($store:ident: $item:ty) $body:block)*) => {
        mod slots {
            use super::*;
            type Store<T> = SlotStore<T>;
            $(#[test] fn $name() { let mut $store: Store<$item> = Store::new(); $body $store.validate().unwrap(); })*
        }
        mod packed {
            use super::*;
            type Store<T> = PackedStore<T>;
            $(#[test] fn $name() { let mut $store: Store<$item> = Store::new(); $body $store.validate().unwrap(); })*
        }
    };
}

over_primary! {
    fn a_key_names_one_value_for_ever(store: String) {
        let old = store.insert("old".into());
        assert_eq!(store.remove(old).as_deref(), Some("old"));
        let new = store.insert("new".into());
        assert_eq!((old.index(), old == new), (new.index(), false));
        assert!(store.get(old).is_none() && store.remove(old).is_none() && store[new] == "new");
        assert_eq!(store.key_of_index(old.index()), Some(new));
        assert_eq!(Handle::from_bits(new.to_bits()), Some(new));
    }

    fn several_values_at_once_if_their_keys_differ(store: u32) {
        let keys = [1, 2, 3].map(|n| store.insert(n));
        let [a, b] = store.get_disjoint_mut([keys[2], keys[0]]).unwrap();
        core::mem::swap(a, b);
        assert_eq!(keys.map(|key| store[key]), [3, 2, 1]);
        assert!(matches!(store.get_disjoint_mut([keys[0], keys[1], keys[0]]), Err(DisjointError::Repeated { .. })));
        store.remove(keys[1]);
        assert!(matches!(store.get_disjoint_mut([keys[0], keys[1]]), Err(DisjointError::Absent { .. })));
    }

    fn values_are_kept_drained_and_inserted_by_their_key(store: (u32, u32)) {
        let keys: Vec<_> = (0..10).map(|n| store.insert_with_key(|key| (key.index(), n))).collect();
        assert!(keys.iter().all(|key| store[*key].0 == key.index()));
        store.retain(|_, value| value.1 % 3 == 0);
        assert_eq!(store.len(), 4);
        let mut drained = store.drain();
        let ends = [drained.next().unwrap().1.1, drained.next_back().unwrap().1.1];
        assert_eq!(ends.iter().sum::<u32>() + drained.map(|(_, value)| value.1).sum::<u32>(), 18);
        assert!(store.is_empty() && keys.iter().all(|key| !store.contains(*key)));
    }

    fn clones_have_the_same_keys_and_go_their_own_way(store: Box<u32>) {
        let keys = [1, 2, 3].map(|n| store.insert(Box::new(n)));
        store.remove(keys[1]);
        let mut copy = store.clone();
        assert_eq!(copy, store);
        *copy[keys[0]] = 9;
        assert_ne!(copy, store);
        copy.clone_from(&store);
        assert_eq!((copy == store, *copy[keys[2]]), (true, 3));
        assert_eq!(copy.insert(Box::new(4)), store.insert(Box::new(4)), "the same operations give the same keys");
        copy.validate().unwrap();
    }
}

#[test]
fn a_map_for_the_keys_of_others_refuses_old_keys() {
    macro_rules! check {
        ($($store:ident)*) => {$({
            let mut entities = EntityPool::new();
            let [old, other] = [entities.alloc(), entities.alloc()];
            let mut map = $store::new();
            assert_eq!((map.insert(old, "a"), map.insert(other, "b"), map.insert(old, "c")), (None, None, Some("a")));
            entities.release(old);
            let new = entities.alloc();
            assert_eq!((map.get(new), map.get(old)), (None, Some(&"c")), "a map does not know what has died");
            assert_eq!(map.insert(new, "d"), Some("c"), "a newer key takes the place");
            assert_eq!((map.remove(old), map.get(old), map.len()), (None, None, 2));
            assert!(map.try_insert(old, "e").is_err());
            assert!(map.entry(old).is_err());
            *map.entry(other).unwrap().or_insert("x") = "y";
            assert_eq!(map[other], "y");
            map.validate().unwrap();
        })*};
    }
    check!(SparseSet LinearStore);
}

#[derive(Soa, Clone, Debug, PartialEq, PartialOrd)]
#[soa(crate = "phalanx::store")]
struct Particle {
    name: String,
    mass: f64,
}

fn particle(name: &str, mass: f64) -> Particle {
    Particle { name: name.into(), mass }
}

#[test]
fn a_struct_of_arrays_behaves_like_a_vector() {
    let mut soa = Soa::from(vec![particle("Na", 56.0), particle("Cl", 35.0), particle("Br", 79.0)]);
    let mut vec: Vec<Particle> = soa.as_slice().to_vec();
    assert_eq!(soa, vec);
    assert_eq!((soa.remove(1), soa.len()), (vec.remove(1), 2));
    soa.insert(0, particle("Zn", 65.0));
    vec.insert(0, particle("Zn", 65.0));
    assert_eq!((soa.swap_remove(0), soa.pop()), (vec.swap_remove(0), vec.pop()));
    soa.extend([particle("C", 12.0), particle("O", 16.0), particle("H", 1.0)]);
    vec.extend([particle("C", 12.0), particle("O", 16.0), particle("H", 1.0)]);
    let (mut tail, rest) = (soa.split_off(2), vec.split_off(2));
    assert_eq!((&tail, &soa), (&Soa::from(rest.clone()), &Soa::from(vec.clone())));
    soa.append(&mut tail);
    vec.extend(rest);
    assert!(tail.is_empty());
    soa.retain(|row| *row.mass > 1.0);
    vec.retain(|row| row.mass > 1.0);
    soa.sort_by(|a, b| a.mass.total_cmp(b.mass));
    vec.sort_by(|a, b| a.mass.total_cmp(&b.mass));
    assert_eq!(soa, vec);
    assert_eq!(soa.replace(0, particle("Fe", 55.0)).name, vec[0].name);
    assert_eq!(
        soa.iter().map(|row| row.name.len()).sum::<usize>(),
        2 + vec[1..].iter().map(|row| row.name.len()).sum::<usize>()
    );
    assert!(soa.get(9).is_none() && soa.row(0).name == "Fe");
}

#[test]
fn lanes_and_parts_of_a_struct_of_arrays() {
    let mut soa: Soa<Particle> = (0..7).map(|n| particle(&n.to_string(), f64::from(n))).collect();
    let ParticleLanes { mass, .. } = soa.lanes();
    assert_eq!(mass.iter().sum::<f64>(), 21.0);
    assert_eq!(soa.slice(2..4).iter().map(|row| *row.mass).collect::<Vec<_>>(), [2.0, 3.0]);
    assert_eq!(soa.chunks_exact(3).map(|chunk| chunk.len()).collect::<Vec<_>>(), [3, 3]);
    let (left, right) = soa.as_slice().split_at(3);
    assert_eq!((left.len(), right.first().unwrap().name.as_str()), (3, "3"));
    for row in soa.iter_mut() {
        *row.mass += 1.0;
    }
    let [a, b] = soa.get_disjoint_mut([0, 6]).unwrap();
    core::mem::swap(a.name, b.name);
    assert_eq!((soa.row(0).name.as_str(), *soa.row(6).mass), ("6", 7.0));
    assert!(matches!(soa.get_disjoint_mut([1, 1]), Err(DisjointError::Repeated { .. })));
    let (copy, later) = (soa.clone(), Soa::from([particle("7", 0.0)]));
    assert!(copy == soa && soa < later);
}
