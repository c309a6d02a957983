//! Sparse sets and groups, step by step: where each value is after each change.

use crate::kit::{A, C, D, L};
use phalanx::group::{Observed, Owned};
use phalanx::{Entity, Without, World};

fn a(world: &mut World) -> Vec<u64> {
    world.pool_mut::<A>().values().iter().map(|a| a.0).collect()
}

fn c(world: &mut World) -> Vec<u8> {
    world.pool_mut::<C>().values().iter().map(|c| c.0).collect()
}

#[test]
fn a_pool_appends_and_fills_the_place_of_what_goes_with_the_last() {
    let mut world = World::new();
    let e: Vec<Entity> = (0..4).map(|n| world.spawn(A(n))).collect();
    assert_eq!(a(&mut world), [0, 1, 2, 3]);
    // The last takes the place; entities and values stay side by side.
    world.remove::<A>(e[1]).unwrap();
    assert_eq!(a(&mut world), [0, 3, 2]);
    assert!(world.pool_mut::<A>().entities().eq([e[0], e[3], e[2]]));
    // A value that comes is the last.
    world.insert(e[1], A(10)).unwrap();
    assert_eq!(a(&mut world), [0, 3, 2, 10]);
    assert!(world.pool_mut::<A>().entities().eq([e[0], e[3], e[2], e[1]]));
    // An entity that ends goes the same way, and its successor in the slot is another.
    world.despawn(e[0]).unwrap();
    let again = world.spawn(A(20));
    assert_eq!(a(&mut world), [10, 3, 2, 20]);
    assert_eq!((again.index(), world.pool_mut::<A>().get(e[0]).is_err()), (e[0].index(), true));
}

#[test]
fn who_enters_comes_left_of_the_split_and_who_leaves_right_of_it() {
    let mut world = World::new();
    let group = world.create_group::<Owned<(A, C)>>().unwrap();
    let e: Vec<Entity> = (0..5).map(|n| world.spawn(A(n))).collect();
    assert_eq!(group.len(&world), 0);
    // The first member trades places with the first of the pool, and the split moves right.
    world.insert(e[3], C(3)).unwrap();
    assert_eq!((a(&mut world), c(&mut world)), (vec![3, 1, 2, 0, 4], vec![3]));
    world.insert(e[2], C(2)).unwrap();
    assert_eq!((a(&mut world), c(&mut world)), (vec![3, 2, 1, 0, 4], vec![3, 2]));
    world.insert(e[4], C(4)).unwrap();
    assert_eq!((a(&mut world), c(&mut world)), (vec![3, 2, 4, 0, 1], vec![3, 2, 4]));
    assert!(group.entities(&world).eq([e[3], e[2], e[4]]));
    // Who leaves trades places with the last member, the split moves left; then its value goes.
    world.remove::<C>(e[3]).unwrap();
    assert_eq!((a(&mut world), c(&mut world)), (vec![4, 2, 3, 0, 1], vec![4, 2]));
    assert!(group.entities(&world).eq([e[4], e[2]]));
    // Who is no member and gets what the group does not own moves nothing.
    world.insert(e[0], D).unwrap();
    assert_eq!(a(&mut world), [4, 2, 3, 0, 1]);
    // Replacing a value moves nothing.
    world.insert(e[2], (A(22), C(22))).unwrap();
    assert_eq!((a(&mut world), c(&mut world)), (vec![4, 22, 3, 0, 1], vec![4, 22]));
    // Both at once; and an entity that has both from the beginning.
    world.remove::<(A, C)>(e[4]).unwrap();
    assert_eq!((a(&mut world), c(&mut world)), (vec![22, 1, 3, 0], vec![22]));
    world.spawn((C(7), A(7)));
    assert_eq!((a(&mut world), c(&mut world)), (vec![22, 7, 3, 0, 1], vec![22, 7]));
    let (first, second) = group.slices(&world);
    assert_eq!((first, second), (&[A(22), A(7)][..], &[C(22), C(7)][..]));
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn making_a_group_brings_those_that_belong_to_the_front_in_their_order() {
    let mut world = World::new();
    for n in 0..6 {
        let e = world.spawn(A(n));
        if n % 2 == 1 {
            world.insert(e, C(n as u8)).unwrap();
        }
    }
    world.spawn(C(99));
    let group = world.create_group::<Owned<(A, C)>>().unwrap();
    assert_eq!((a(&mut world), c(&mut world)), (vec![1, 3, 5, 0, 4, 2], vec![1, 3, 5, 99]));
    assert_eq!(
        world.create_group::<Owned<(C, A)>>().unwrap().len(&world),
        3,
        "the same group, seen the other way round"
    );
    // Dropping it moves nothing, and nothing is kept from then on.
    assert!(world.remove_group(group));
    assert_eq!(a(&mut world), [1, 3, 5, 0, 4, 2]);
    assert!(!world.remove_group(group) && !group.is_of(&world));
    world.spawn((A(8), C(8)));
    assert_eq!(a(&mut world), [1, 3, 5, 0, 4, 2, 8]);
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn partly_owned_what_is_observed_stays_as_it_is() {
    let mut world = World::new();
    let e: Vec<Entity> = (0..4).map(|n| world.spawn((A(n), C(n as u8)))).collect();
    let group = world.create_group::<(Owned<A>, Observed<(C, L)>)>().unwrap();
    for n in [2, 0, 3] {
        world.insert(e[n], L(n as u16 * 10)).unwrap();
    }
    assert_eq!((a(&mut world), c(&mut world)), (vec![2, 0, 3, 1], vec![0, 1, 2, 3]));
    group.for_each(&mut world, |(a, (c, l))| {
        a.0 += 100 + u64::from(l.0);
        c.0 += 50;
    });
    assert_eq!((a(&mut world), c(&mut world)), (vec![122, 100, 133, 1], vec![50, 1, 52, 53]));
    let seen: Vec<_> = group.iter(&world).map(|(a, (c, l))| (a.0, c.0, l.0)).collect();
    assert_eq!(seen, [(122, 52, 20), (100, 50, 0), (133, 53, 30)]);
}

#[test]
fn owning_nothing_a_group_has_an_order_of_its_own() {
    let mut world = World::new();
    let group = world.create_group::<Observed<(A, C)>>().unwrap();
    let e: Vec<Entity> = (0..4).map(|n| world.spawn(A(n))).collect();
    for n in [2, 0, 3] {
        world.insert(e[n], C(n as u8)).unwrap();
    }
    assert!(group.entities(&world).eq([e[2], e[0], e[3]]));
    group.sort_by_key(&mut world, |(a, _)| a.0);
    assert!(group.entities(&world).eq([e[0], e[2], e[3]]));
    assert_eq!((a(&mut world), c(&mut world)), (vec![0, 1, 2, 3], vec![2, 0, 3]), "the pools stay as they are");
    world.remove::<A>(e[0]).unwrap();
    assert!(group.entities(&world).eq([e[3], e[2]]));
    group.iter_mut(&mut world).for_each(|(a, c)| a.0 += u64::from(c.0));
    assert_eq!(world.get::<A>(e[3]), Ok(&A(6)));
}

#[test]
fn losing_what_is_excluded_lets_in_and_getting_it_puts_out() {
    let mut world = World::new();
    let owning = world.create_group::<(Owned<(A, C)>, Without<D>)>().unwrap();
    let listed = world.create_group::<(Observed<A>, Without<(D, L)>)>().unwrap();
    let e = world.spawn((A(1), C(1), D));
    let other = world.spawn((A(2), C(2)));
    assert!(owning.entities(&world).eq([other]) && listed.entities(&world).eq([other]));
    world.remove::<D>(e).unwrap();
    assert!(owning.entities(&world).eq([other, e]) && listed.entities(&world).eq([other, e]));
    world.insert(other, L(0)).unwrap();
    assert!(owning.contains(&world, other) && !listed.contains(&world, other));
    world.insert(other, D).unwrap();
    assert!(owning.entities(&world).eq([e]));
    world.take::<L>(other).unwrap();
    assert!(!listed.contains(&world, other), "the other one is still there");
    world.exchange::<D, _>(other, ()).unwrap();
    assert!(listed.contains(&world, other) && owning.contains(&world, other));
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn groups_within_groups_in_either_order() {
    for inner_first in [false, true] {
        let mut world = World::new();
        let make = |world: &mut World| {
            let (outer, inner);
            if inner_first {
                inner = world.create_group::<Owned<(A, C, D)>>().unwrap();
                outer = world.create_group::<Owned<(A, C)>>().unwrap();
            } else {
                outer = world.create_group::<Owned<(A, C)>>().unwrap();
                inner = world.create_group::<Owned<(A, C, D)>>().unwrap();
            }
            (outer, inner)
        };
        let e: Vec<Entity> = (0..6).map(|n| world.spawn(A(n))).collect();
        (1..6).for_each(|n| world.insert(e[n], C(n as u8)).unwrap());
        [4, 2].iter().for_each(|n| world.insert(e[*n], D).unwrap());
        let (outer, inner) = make(&mut world);
        assert_eq!((outer.len(&world), inner.len(&world)), (5, 2), "inner first: {inner_first}");
        let innermost: Vec<_> = inner.entities(&world).collect();
        assert!(outer.entities(&world).take(2).eq(innermost), "the first of the outer are the inner's");
        // Into both at once, out of the inner only, out of both at once.
        world.insert(e[0], (D, C(0))).unwrap();
        assert!(inner.contains(&world, e[0]) && outer.contains(&world, e[0]));
        assert_eq!(world.validate(), Ok(()));
        world.remove::<D>(e[4]).unwrap();
        assert!(!inner.contains(&world, e[4]) && outer.contains(&world, e[4]));
        assert_eq!(world.validate(), Ok(()));
        world.remove::<A>(e[2]).unwrap();
        assert!(!inner.contains(&world, e[2]) && !outer.contains(&world, e[2]));
        assert_eq!((outer.len(&world), inner.len(&world)), (5, 1));
        assert_eq!(world.validate(), Ok(()));
        // Either can go without the other.
        world.remove_group(outer);
        world.insert(e[2], A(2)).unwrap();
        assert_eq!(inner.len(&world), 2);
        assert_eq!(world.validate(), Ok(()));
    }
}
