//! Groups that cannot be, and handles that lead nowhere.

use crate::kit::{A, B, C, D, L, Table};
use phalanx::group::{GroupError, Observed, Owned, PoolError};
use phalanx::{Component, Removal, Without, World};
use phalanx_testkit::catch;

#[test]
fn conflicting_owners_are_named_both() {
    let mut world = World::new();
    world.create_group::<Owned<(A, B)>>().unwrap();
    let error = world.create_group::<Owned<(B, C)>>().unwrap_err();
    let GroupError::Conflict { group, other, component } = error else { panic!("{error}") };
    assert!(group.contains("B") && group.contains("C") && other.contains("A"), "{group}, {other}");
    assert_eq!(component, core::any::type_name::<B>());
    let message = error.to_string();
    assert!(message.contains(group) && message.contains(other) && message.contains(component), "{message}");
    // What each excludes or observes must be nested, too.
    assert!(world.create_group::<(Owned<(A, B)>, Without<D>)>().is_ok());
    assert!(matches!(world.create_group::<Owned<(A, B, C)>>(), Err(GroupError::Conflict { .. })));
    assert!(world.create_group::<(Owned<(A, B, C)>, Without<D>)>().is_ok());
    assert!(matches!(world.create_group::<(Owned<A>, Observed<L>)>(), Err(GroupError::Conflict { .. })));
    // Two that share nothing do not become one family by a third.
    let mut world = World::new();
    world.create_group::<Owned<A>>().unwrap();
    world.create_group::<Owned<B>>().unwrap();
    assert!(matches!(world.create_group::<Owned<(A, B)>>(), Err(GroupError::Conflict { .. })));
    // Nor does one join a family of which it shares pools with the innermost only.
    let mut world = World::new();
    world.create_group::<Owned<A>>().unwrap();
    world.create_group::<Owned<(A, B)>>().unwrap();
    assert!(matches!(world.create_group::<Owned<B>>(), Err(GroupError::Conflict { .. })));
    // Groups that only observe conflict with no other group.
    assert!(world.create_group::<Observed<(A, B, C)>>().is_ok());
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn a_group_that_is_dropped_gives_its_pools_free() {
    let mut world = World::new();
    let first = world.create_group::<Owned<(A, B)>>().unwrap();
    assert!(world.create_group::<Owned<(B, C)>>().is_err());
    world.remove_group(first);
    let second = world.create_group::<Owned<(B, C)>>().unwrap();
    assert!(!first.is_of(&world) && second.is_of(&world));
}

#[test]
fn components_that_cannot_be_in_a_group_are_named() {
    #[derive(phalanx::store::Soa, Component, Clone, Copy)]
    #[soa(crate = "phalanx::store")]
    #[component(layout = "soa")]
    struct Wide {
        _x: f32,
        _y: f32,
    }
    let mut world = World::new();
    let error = world.create_group::<(Owned<A>, Observed<Table>)>().unwrap_err();
    assert!(matches!(error, GroupError::Table { component, .. } if component == core::any::type_name::<Table>()));
    assert!(error.to_string().contains("a table is that already"), "{error}");
    assert!(matches!(world.create_group::<Owned<Wide>>(), Err(GroupError::Table { .. })));
    assert!(matches!(world.create_group::<(Owned<A>, Without<Table>)>(), Err(GroupError::Table { .. })));
    assert!(matches!(world.create_group::<Owned<(A, L)>>(), Err(GroupError::Linear { .. })));
    assert!(matches!(world.create_group::<Owned<(A, A)>>(), Err(GroupError::Duplicate { .. })));
    assert!(matches!(world.create_group::<(Owned<A>, Without<A>)>(), Err(GroupError::Duplicate { .. })));
    assert!(matches!(world.create_group::<(Owned<A>, Observed<(C, A)>)>(), Err(GroupError::Duplicate { .. })));
    assert!(matches!(world.create_group::<Owned<()>>(), Err(GroupError::Empty { .. })));
    assert!(matches!(world.create_group::<(Observed<()>, Without<A>)>(), Err(GroupError::Empty { .. })));
    assert_eq!(world.validate(), Ok(()));
}

#[test]
fn deferred_removal_and_ownership_exclude_each_other_by_name() {
    for removal in [Removal::Deferred, Removal::Ordered] {
        let mut world = World::new();
        world.pool_mut::<A>().set_removal(removal).unwrap();
        let error = world.create_group::<Owned<(A, B)>>().unwrap_err();
        let a = core::any::type_name::<A>();
        assert!(matches!(error, GroupError::Removal { component, removal: r, .. } if component == a && r == removal));
        assert!(error.to_string().contains(&format!("{removal:?}")), "{error}");
        world.create_group::<(Owned<B>, Observed<A>)>().expect("holes in what is observed do no harm");
        world.pool_mut::<A>().set_removal(Removal::Swap).unwrap();
        let mut world = World::new();
        world.create_group::<Owned<(A, B)>>().unwrap();
        let error = world.pool_mut::<A>().set_removal(removal).unwrap_err();
        let PoolError::Owned { component, group } = error else { panic!("{error}") };
        assert!(component == a && error.to_string().contains(group), "{error}");
        assert_eq!(world.pool_mut::<A>().set_removal(Removal::Swap), Ok(()));
        assert_eq!(world.pool_mut::<A>().removal(), Removal::Swap);
    }
}

#[test]
fn h06_handles_of_other_worlds_and_of_dropped_groups_panic_and_do_nothing_else() {
    let (mut world, mut other) = (World::new(), World::new());
    let group = world.create_group::<Owned<A>>().unwrap();
    let foreign = other.create_group::<Owned<A>>().unwrap();
    world.spawn(A(1));
    assert_ne!(group, foreign);
    assert!(!foreign.is_of(&world) && !world.remove_group(foreign) && group.is_of(&world));
    let caught = catch(|| foreign.slices(&world).len()).unwrap_err();
    assert!(caught.message().contains("of another world"), "{}", caught.message());
    // A handle of a removed group is not valid for the group that reuses its slot.
    world.remove_group(group);
    let next = world.create_group::<Owned<A>>().unwrap();
    assert_ne!(group, next);
    assert!(catch(|| group.len(&world)).is_err());
    assert!(catch(|| group.sort_by(&mut world, |a, b| a.0.cmp(&b.0))).is_err());
    assert_eq!((next.len(&world), world.validate()), (1, Ok(())));
}

#[test]
fn h01_old_entities_are_in_no_group() {
    let mut world = World::new();
    let (owning, listed) = (world.create_group::<Owned<A>>().unwrap(), world.create_group::<Observed<A>>().unwrap());
    let old = world.spawn(A(1));
    world.despawn(old).unwrap();
    let new = world.spawn(A(2));
    assert_eq!(old.index(), new.index());
    assert!(!owning.contains(&world, old) && !listed.contains(&world, old));
    assert!(owning.contains(&world, new) && listed.contains(&world, new));
}
