//! Iteration over a group gives what a look-up of each member gives, wherever its sparse sets leave the order of the group.

use crate::kit::{A, C, L};
use phalanx::group::{GroupSpec, Observed, Owned};
use phalanx::{Entity, Group, Removal, World};

const COUNT: u64 = 2500;

/// Creates entities. The positions of this one and of the last are exchanged in the sparse set of `C`, in that of `A` or in both.
fn world(exchanged: usize, in_a: bool, in_c: bool) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities: Vec<_> = (0..COUNT).map(|n| world.spawn((A(n), C(n as u8), L(n as u16)))).collect();
    if in_a {
        world.remove::<A>(entities[exchanged]).unwrap();
        world.insert(entities[exchanged], A(exchanged as u64)).unwrap();
    }
    if in_c {
        world.remove::<C>(entities[exchanged]).unwrap();
        world.insert(entities[exchanged], C(exchanged as u8)).unwrap();
    }
    (world, entities)
}

/// Compares ways to visit all members with a look-up of each.
fn check<S: GroupSpec, T: PartialEq + std::fmt::Debug>(
    world: &mut World,
    group: Group<S>,
    read: impl Fn(S::Item<'_>) -> T,
    written: impl Fn(S::ItemMut<'_>) -> T,
) {
    let members: Vec<_> = group.entities(world).collect();
    let expected: Vec<T> = members.iter().map(|e| read(group.get(world, *e).unwrap())).collect();

    let mut visited = Vec::new();
    group.for_each(world, |item| visited.push(written(item)));
    assert_eq!(visited, expected, "for_each");
    visited.clear();
    for item in group.iter_mut(world) {
        visited.push(written(item));
    }
    assert_eq!(visited, expected, "for");
    visited.clear();
    visited.extend(group.iter_mut(world).rev().map(&written));
    visited.reverse();
    assert_eq!(visited, expected, "in reverse");

    for steps in [1, 63, 64, 65, 400, 1500] {
        // From both ends: single steps, some from the back in between, then the rest at once.
        let (mut front, mut back) = (Vec::new(), Vec::new());
        let mut iter = group.iter(world);
        for step in 0..steps {
            front.extend(iter.next().map(&read));
            if step % 2 == 0 {
                back.extend(iter.next_back().map(&read));
            }
            assert_eq!(iter.len(), members.len() - front.len() - back.len());
        }
        iter.for_each(|item| front.push(read(item)));
        front.extend(back.into_iter().rev());
        assert_eq!(front, expected, "from both ends, after {steps} steps");
        // Until both ends meet.
        let (mut front, mut back) = (Vec::new(), Vec::new());
        let mut iter = group.iter(world);
        front.extend(iter.by_ref().take(steps).map(&read));
        while let Some(item) = iter.next_back() {
            back.push(read(item));
        }
        assert!(iter.next().is_none());
        front.extend(back.into_iter().rev());
        assert_eq!(front, expected, "the rest from the back, after {steps} steps");
    }
}

#[test]
fn members_are_visited_where_sparse_sets_have_the_same_order_and_where_not() {
    for exchanged in [0, 1, 63, 64, 100, 127, 128, 1000, 2400] {
        for (in_a, in_c) in [(false, false), (false, true), (true, false), (true, true)] {
            let (mut world, entities) = world(exchanged, in_a, in_c);
            let list = world.create_group::<Observed<(A, C)>>().unwrap();
            check(&mut world, list, |(a, c)| (*a, *c), |(a, c)| (*a, *c));
            let linear = world.create_group::<Observed<(A, L, C)>>().unwrap();
            check(&mut world, linear, |(a, l, c)| (*a, *l, *c), |(a, l, c)| (*a, *l, *c));
            // Sorted otherwise than the sparse sets, from a member on.
            let rank = |a: &A| if a.0 < 500 { 0 } else { 1 + a.0 % 7 };
            list.sort_by_key(&mut world, |(a, _)| rank(a));
            check(&mut world, list, |(a, c)| (*a, *c), |(a, c)| (*a, *c));
            // Fewer members than values.
            for n in [200, 2000] {
                world.remove::<A>(entities[n]).unwrap();
            }
            check(&mut world, linear, |(a, l, c)| (*a, *l, *c), |(a, l, c)| (*a, *l, *c));
            let partly = world.create_group::<(Owned<A>, Observed<C>)>().unwrap();
            check(&mut world, partly, |(a, c)| (*a, *c), |(a, c)| (*a, *c));
            let owning = world.create_group::<Owned<(A, C)>>();
            check(&mut world, owning.unwrap(), |(a, c)| (*a, *c), |(a, c)| (*a, *c));
        }
    }
}

#[test]
fn a_sparse_set_with_holes_is_looked_up() {
    let (mut world, entities) = world(0, false, false);
    world.pool_mut::<C>().set_removal(Removal::Deferred).unwrap();
    world.remove::<C>(entities[COUNT as usize - 1]).unwrap();
    world.remove::<C>(entities[300]).unwrap();
    let list = world.create_group::<Observed<(A, C)>>().unwrap();
    check(&mut world, list, |(a, c)| (*a, *c), |(a, c)| (*a, *c));
}

#[test]
fn a_panic_in_a_loop_over_members_leaves_the_group_valid() {
    let (mut world, _) = world(700, false, true);
    let list = world.create_group::<Observed<(A, C)>>().unwrap();
    let mut visited = 0;
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        list.for_each(&mut world, |(a, _)| {
            visited += 1;
            assert!(visited < 900);
            a.0 += 1;
        });
    }));
    assert!(panic.is_err());
    world.validate().unwrap();
    assert_eq!(list.iter(&world).filter(|(a, c)| a.0 as u8 != c.0).count(), 899);
}
