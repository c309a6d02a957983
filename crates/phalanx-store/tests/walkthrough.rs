//! The containers step by step: handles, free list, order of values and sparse indices after each operation.
#![cfg(not(any(phalanx_narrow, loom)))]

use phalanx_store::{Entity, EntityPool, LinearStore, PackedStore, SlotState, SparseSet};

fn entity(index: u32, generation: u32) -> Entity {
    Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Particle {
    x: f64,
    y: f64,
    vx: f64,
    vy: f64,
}

/// Create, add, get, set, remove, ask, iterate over the data and with handles.
#[test]
fn packed_store_by_its_reference() {
    let mut particles = PackedStore::new();
    let handle = particles.insert(Particle { x: 0.0, y: 0.0, vx: 1.0, vy: 0.0 });
    let p = *particles.get(handle).unwrap();
    assert_eq!(particles.replace(handle, Particle { x: 10.0, ..p }), Some(p));
    assert_eq!(particles[handle].x, 10.0);

    assert!(particles.remove(handle).is_some());
    assert!(!particles.contains(handle), "the handle is invalid after removal");
    assert_eq!(particles.get(handle), None);
    assert_eq!(particles.remove(handle), None);
    assert_eq!(particles.replace(handle, p), None);

    let other = particles.insert(p);
    assert_eq!((other.index(), other.generation()), (handle.index(), handle.generation() + 1));
    for p in particles.as_mut_slice() {
        p.x += p.vx;
        p.y += p.vy;
    }
    let mut seen = Vec::new();
    particles.iter().for_each(|(handle, particle)| seen.push((handle, particle.x)));
    assert_eq!(seen, [(other, 1.0)]);
}

/// Adding places the value at `data[size]` under a new index; removing exchanges with the last and bumps the generation.
#[test]
fn three_vectors_add_and_remove() {
    let mut store = PackedStore::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|value| {
        let size = store.len();
        let handle = store.insert(value);
        // dataIndex[newIndex] = size, id[size] = newIndex.
        assert_eq!((store.position(handle), store.key_at(size)), (Some(size), Some(handle)));
        assert_eq!((handle.index() as usize, handle.generation()), (size, 0));
        handle
    });
    assert_eq!(store.as_slice(), ["a", "b", "c", "d"]);

    assert_eq!(store.swap_remove(b), Some("b"));
    assert_eq!(store.as_slice(), ["a", "d", "c"]);
    // The mappings of the one that was moved are updated, the others stand.
    assert_eq!([a, d, c].map(|handle| store.position(handle)), [Some(0), Some(1), Some(2)]);
    assert_eq!([0, 1, 2, 3].map(|at| store.key_at(at)), [Some(a), Some(d), Some(c), None]);
    assert_eq!(store.position(b), None);

    // The last one is exchanged with itself.
    assert_eq!(store.swap_remove(c), Some("c"));
    assert_eq!(store.as_slice(), ["a", "d"]);

    // The freed slots come back, the last one first, each under its next generation.
    let (e, f, g) = (store.insert("e"), store.insert("f"), store.insert("g"));
    assert_eq!([e, f, g].map(|handle| (handle.index(), handle.generation())), [(2, 1), (1, 1), (4, 0)]);
    assert_eq!(store.as_slice(), ["a", "d", "e", "f", "g"]);
    store.validate().unwrap();
}

#[test]
fn entity_pool_by_its_reference() {
    let mut pool = EntityPool::new();
    let first = pool.alloc();
    assert_eq!((first.index(), first.generation()), (0, 0));
    assert!(pool.contains(first));
    assert!(pool.release(first));
    assert!(!pool.contains(first));
    let second = pool.alloc();
    assert_eq!((second.index(), second.generation()), (0, 1));
    assert!(!pool.contains(first) && !pool.release(first), "use after free is found out");
}

/// What the list of entities shows for a slot: alive, or where the list of the dead goes on.
#[derive(Debug, PartialEq)]
enum Shown {
    /// `(E|V)`: an entity of this version.
    E(u32),
    /// `(INVALID|V)`: dead, the next one will have this version, and it is the end of the list.
    Invalid(u32),
    /// `(PTR|V)`: dead, and the list goes on there.
    Ptr(u32, u32),
}

fn shown(pool: &EntityPool) -> Vec<Shown> {
    let show = |index| match pool.slot_state(index).unwrap() {
        SlotState::Alive { generation } => Shown::E(generation),
        SlotState::Free { generation, next: None } => Shown::Invalid(generation),
        SlotState::Free { generation, next: Some(next) } => Shown::Ptr(next, generation),
        SlotState::Retired => panic!("nothing is retired here"),
    };
    (0..pool.slot_count() as u32).map(show).collect()
}

/// Ten steps; `destroyed` is the slot that is used next.
#[test]
fn entities_are_recycled_through_a_list_of_the_dead() {
    use Shown::{E, Invalid, Ptr};
    let mut pool = EntityPool::new();
    let [e0, e1, e2] = [(); 3].map(|()| pool.alloc());
    assert_eq!([e0, e1, e2], [entity(0, 0), entity(1, 0), entity(2, 0)]);
    assert_eq!((pool.next_free(), shown(&pool)), (None, vec![E(0), E(0), E(0)]));

    assert!(pool.release(e1));
    assert_eq!((pool.next_free(), shown(&pool)), (Some(1), vec![E(0), Invalid(1), E(0)]));

    let e1 = pool.alloc();
    assert_eq!(e1, entity(1, 1));
    assert_eq!((pool.next_free(), shown(&pool)), (None, vec![E(0), E(1), E(0)]));

    assert!(pool.release(e1));
    assert_eq!((pool.next_free(), shown(&pool)), (Some(1), vec![E(0), Invalid(2), E(0)]));

    assert!(pool.release(e0));
    assert_eq!((pool.next_free(), shown(&pool)), (Some(0), vec![Ptr(1, 1), Invalid(2), E(0)]));

    assert!(pool.release(e2));
    assert_eq!((pool.next_free(), shown(&pool)), (Some(2), vec![Ptr(1, 1), Invalid(2), Ptr(0, 1)]));

    assert_eq!(pool.alloc(), entity(2, 1));
    assert_eq!((pool.next_free(), shown(&pool)), (Some(0), vec![Ptr(1, 1), Invalid(2), E(1)]));

    assert_eq!(pool.alloc(), entity(0, 1));
    assert_eq!((pool.next_free(), shown(&pool)), (Some(1), vec![E(1), Invalid(2), E(1)]));

    assert_eq!(pool.alloc(), entity(1, 2));
    assert_eq!((pool.next_free(), shown(&pool)), (None, vec![E(1), E(2), E(1)]));

    assert_eq!(pool.alloc(), entity(3, 0));
    assert_eq!((pool.next_free(), shown(&pool)), (None, vec![E(1), E(2), E(1), E(0)]));
    pool.validate().unwrap();
}

/// A pool of one component: EntityIndices is [`SparseSet::position`], EntityList the keys, ComponentList the values.
#[test]
fn a_pool_is_three_arrays_that_stay_aligned() {
    let mut pool = SparseSet::new();
    let e = |id| entity(id, 0);
    for (length, id) in [(0, 4), (1, 1), (2, 7), (3, 2)] {
        assert_eq!(pool.position(e(id)), None);
        pool.insert(e(id), id * 10);
        assert_eq!(pool.position(e(id)), Some(length), "filled with the length of the list");
    }
    assert_eq!((pool.key_slice(), pool.as_slice()), (&[e(4), e(1), e(7), e(2)][..], &[40, 10, 70, 20][..]));

    // Removed: a hole in the indices, and both lists repacked by swap and pop.
    assert_eq!(pool.remove(e(1)), Some(10));
    assert_eq!((pool.key_slice(), pool.as_slice()), (&[e(4), e(2), e(7)][..], &[40, 20, 70][..]));
    let indices = (0..8).map(|id| pool.position(e(id))).collect::<Vec<_>>();
    assert_eq!(indices, [None, None, Some(1), None, Some(0), None, None, Some(2)]);

    // It can be sorted, and stays aligned.
    pool.sort_by_index();
    assert_eq!((pool.key_slice(), pool.as_slice()), (&[e(2), e(4), e(7)][..], &[20, 40, 70][..]));
    assert!(pool.key_slice().iter().enumerate().all(|(at, key)| pool.position(*key) == Some(at)));
    pool.validate().unwrap();
}

/// One component of one entity far away: a page and the way to it, not the range.
#[test]
fn an_entity_far_away_costs_a_page() {
    const PAGE: usize = 32 << 10;
    for index in [100_000, u32::MAX - 1] {
        let mut set = SparseSet::new();
        set.insert(entity(index, 0), 1_u64);
        let usage = set.memory();
        assert!(usage.total() <= 8 << 20, "{usage:?}");
        // A branch of 512 pages, a root of at most 2048 branches, and no second page.
        assert!((PAGE..PAGE + (24 << 10)).contains(&usage.index), "{usage:?}");
        assert_eq!(set.get(entity(index, 0)), Some(&1));

        // A neighbour shares the page.
        set.insert(entity(index - 1, 0), 2);
        assert_eq!(set.memory().index, usage.index);
        set.validate().unwrap();

        // The page goes with the last entry in it.
        assert_eq!(set.remove(entity(index, 0)), Some(1));
        assert_eq!(set.memory().index, usage.index);
        assert_eq!(set.remove(entity(index - 1, 0)), Some(2));
        assert_eq!(set.memory().index, 0);
        set.validate().unwrap();
    }
}

/// The list approach: the tail moves down by one, and the order stays.
#[test]
fn removal_from_a_list_keeps_the_order() {
    let mut set: SparseSet<Entity, char> =
        "abcde".chars().zip([3, 0, 4, 1, 2]).map(|(c, i)| (entity(i, 0), c)).collect();
    assert_eq!(set.shift_remove(entity(0, 0)), Some('b'));
    assert_eq!(set.as_slice(), ['a', 'c', 'd', 'e']);
    // sparse[dense[i + 1]] = i, for all behind it; sparse[removed] = none.
    assert_eq!([3, 0, 4, 1, 2].map(|i| set.position(entity(i, 0))), [Some(0), None, Some(1), Some(2), Some(3)]);
    // Removing the first value moves all others. Removing the last moves none.
    assert_eq!(set.shift_remove(entity(3, 0)), Some('a'));
    assert_eq!(set.shift_remove(entity(2, 0)), Some('e'));
    assert_eq!(set.as_slice(), ['c', 'd']);
    set.validate().unwrap();
}

/// Removes by swapping back: the last value moves into the gap, and no other value moves.
#[test]
fn removal_by_swap_back_moves_one() {
    let mut set: SparseSet<Entity, char> =
        "abcde".chars().zip([3, 0, 4, 1, 2]).map(|(c, i)| (entity(i, 0), c)).collect();
    assert_eq!(set.swap_remove(entity(0, 0)), Some('b'));
    assert_eq!(set.as_slice(), ['a', 'e', 'c', 'd']);
    assert_eq!([3, 2, 4, 1, 0].map(|i| set.position(entity(i, 0))), [Some(0), Some(1), Some(2), Some(3), None]);
    // The last one replaces itself, and its own index is not left behind.
    assert_eq!(set.swap_remove(entity(1, 0)), Some('d'));
    assert_eq!(set.as_slice(), ['a', 'e', 'c']);
    assert_eq!(set.position(entity(1, 0)), None);
    set.validate().unwrap();
}

/// Deferred compaction keeps the order of what is left, in one go or a few moves at a time.
#[test]
fn removal_that_is_made_good_later_keeps_the_order() {
    let mut set: SparseSet<Entity, u32> = (0..10).map(|i| (entity(i, 0), i)).collect();
    for i in [1, 4, 8] {
        assert!(set.remove_in_place(entity(i, 0)));
    }
    assert_eq!((set.len(), set.holes(), set.position(entity(9, 0))), (7, 3, Some(9)));
    while set.holes() > 0 {
        set.compact_step(2);
        assert!(set.values().eq(&[0, 2, 3, 5, 6, 7, 9]));
        set.validate().unwrap();
    }
    assert_eq!(set.as_slice(), [0, 2, 3, 5, 6, 7, 9]);
}

/// The three ways in which a count kept by hand goes wrong, on each of the two keyed stores.
macro_rules! counts {
    ($store:expr) => {
        let mut store = $store;
        // Adding what is there replaces, and counts once.
        assert_eq!(store.insert(entity(3, 0), 'a'), None);
        assert_eq!(store.insert(entity(3, 0), 'b'), Some('a'));
        assert_eq!((store.len(), store.get(entity(3, 0))), (1, Some(&'b')));

        // Removing what is not there does nothing, also when the slot exists, and twice is once.
        assert_eq!(store.remove(entity(1, 0)), None);
        assert_eq!((store.len(), store.remove(entity(3, 0)), store.len()), (1, Some('b'), 0));
        assert_eq!((store.remove(entity(3, 0)), store.len()), (None, 0));

        // An index that is out of range of everything so far is absent, not an error, for reading and removing.
        let far = entity(1_000_000, 0);
        assert!(!store.contains(far) && store.get(far).is_none() && store.get_mut(far).is_none());
        assert_eq!((store.remove(far), store.len(), store.iter().count()), (None, 0, 0));
        store.validate().unwrap();
    };
}

#[test]
fn counts_stay_right_in_a_linear_store() {
    counts!(LinearStore::new());
}

#[test]
fn counts_stay_right_in_a_sparse_set() {
    counts!(SparseSet::new());
}

/// `All()` and `AllEntities()`, which the linear form could not give.
#[test]
fn all_values_and_all_entities() {
    let mut linear = LinearStore::new();
    let mut sparse = SparseSet::new();
    for i in [40, 2, 77] {
        linear.insert(entity(i, 0), i);
        sparse.insert(entity(i, 0), i);
    }
    assert!(linear.keys().eq([2, 40, 77].map(|i| entity(i, 0))) && linear.values().eq(&[2, 40, 77]));
    assert_eq!((sparse.as_slice(), sparse.key_slice()), (&[40, 2, 77][..], &[40, 2, 77].map(|i| entity(i, 0))[..]));
}
