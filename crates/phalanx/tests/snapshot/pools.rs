//! Pools with holes, and groups.

use crate::forge::Forged;
use crate::kit::*;
use phalanx::group::{Observed, Owned};
use phalanx::snapshot::{Problem, Registry};
use phalanx::timeline::delta;
use phalanx::{Component, Removal, Without, World};
use phalanx_testkit::Rng;

#[test]
fn holes_and_the_way_of_removing_come_back() {
    for removal in [Removal::Swap, Removal::Ordered, Removal::Deferred] {
        let mut world = World::new();
        world.pool_mut::<Burning>().set_removal(removal).unwrap();
        world.pool_mut::<Title>().set_removal(removal).unwrap();
        let list: Vec<_> = (0..10).map(|i| world.spawn((Burning(i), Title(i.to_string())))).collect();
        for at in [0, 3, 4, 7] {
            world.remove::<(Burning, Title)>(list[at]).unwrap();
        }
        world.despawn(list[5]).unwrap();
        let file = bytes(&world);
        let mut copy = load(&file);
        assert!(bytes(&copy) == file);
        let order = |world: &World| {
            world.query::<(&Burning, &Title)>().iter().map(|(b, t)| (b.0, t.0.clone())).collect::<Vec<_>>()
        };
        assert_eq!(order(&copy), order(&world));
        for world in [&mut world, &mut copy] {
            world.remove::<Burning>(list[2]).unwrap();
            world.insert(list[0], (Burning(77), Title("new".into()))).unwrap();
            world.validate().unwrap();
        }
        assert!(bytes(&copy) == bytes(&world));
    }
}

fn grouped(seed: u64) -> World {
    let mut world = World::new();
    let dropped = world.create_group::<Observed<(Marked, Burning)>>().unwrap();
    world.create_group::<(Owned<(Burning, Title)>, Without<Marked>)>().unwrap();
    grow(&mut world, &mut Rng::new(seed), 100);
    let listed = world.create_group::<Observed<(Health, Title)>>().unwrap();
    world.create_group::<Owned<Burning>>().unwrap();
    assert!(world.remove_group(dropped));
    grow(&mut world, &mut Rng::new(seed + 1), 60);
    listed.sort_by(&mut world, |(a, _), (b, _)| b.0.cmp(&a.0));
    world
}

#[test]
fn groups_come_back_with_their_order() {
    for seed in 0..15 {
        let mut world = grouped(seed);
        let file = bytes(&world);
        let mut copy = load(&file);
        assert!(bytes(&copy) == file, "seed {seed}");
        let members = |world: &mut World| {
            let listed = world.create_group::<Observed<(Health, Title)>>().unwrap();
            let owned = world.create_group::<(Owned<(Burning, Title)>, Without<Marked>)>().unwrap();
            (listed.entities(world).collect::<Vec<_>>(), owned.entities(world).collect::<Vec<_>>())
        };
        assert_eq!(members(&mut world), members(&mut copy));
        // They are the groups that were there, and go on as such.
        assert!(bytes(&copy) == file, "finding a group changes nothing");
        grow(&mut world, &mut Rng::new(seed + 2), 60);
        grow(&mut copy, &mut Rng::new(seed + 2), 60);
        for world in [&mut world, &mut copy] {
            world.create_group::<Observed<(Marked, Health)>>().unwrap();
            world.validate().unwrap();
        }
        assert!(bytes(&copy) == bytes(&world), "seed {seed}");
    }
}

#[test]
fn h63_forged_groups_are_refused_by_name() {
    let file = bytes(&grouped(1));
    let section = Forged::of(&file).section(b"grup", 0).clone();
    let (mut refused, mut loaded) = (0, 0);
    for byte in 0..section.bytes.len() {
        for change in [1, 2, 0x80, 0xff] {
            let mut forged = Forged::of(&file);
            forged.section(b"grup", 0).bytes[byte] ^= change;
            match registry().load(&*forged.file()) {
                Ok(world) => {
                    world.validate().unwrap();
                    loaded += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 3 * loaded, "{refused} refused, {loaded} loaded");
    let problem = |at: usize, n: u32| {
        let mut forged = Forged::of(&file);
        forged.put(b"grup", 0, at, n);
        registry().load(&*forged.file()).unwrap_err().problem
    };
    // The count, then the count of the components that the first owns, and the first of them.
    assert!(matches!(problem(0, u32::MAX), Problem::SectionLength));
    assert!(matches!(problem(4, u32::MAX), Problem::SectionLength));
    assert!(matches!(problem(12, 1000), Problem::Invalid(_)));
}

/// A place that a dropped group left behind the others is nothing: a world that a delta led here is the same.
#[test]
fn dropped_groups_make_no_difference_to_who_follows_by_deltas() {
    #[derive(Component, Clone, Copy)]
    #[component(layout = "pool", plain)]
    #[repr(transparent)]
    struct Fire(u32);
    #[derive(Component, Clone, Copy)]
    #[component(layout = "pool", plain)]
    #[repr(transparent)]
    struct Ice(u32);
    let mut registry = Registry::new();
    registry.plain::<Fire>("fire").unwrap();
    registry.plain::<Ice>("ice").unwrap();
    let mut here = World::new();
    here.register_component::<Fire>();
    here.register_component::<Ice>();
    let mut there = here.try_clone().unwrap();
    let before = here.checkpoint().unwrap();
    let groups = (here.create_group::<Observed<Fire>>().unwrap(), here.create_group::<Observed<Ice>>().unwrap());
    here.spawn((Fire(1), Ice(2)));
    here.remove_group(groups.1);
    there.apply_delta(&delta(&before, &here.checkpoint().unwrap()).unwrap()).unwrap();
    assert_eq!(registry.checksum(&here), registry.checksum(&there));
    here.remove_group(groups.0);
    let mut never = World::new();
    never.spawn((Fire(1), Ice(2)));
    assert_eq!(registry.checksum(&here), registry.checksum(&never));
}
