//! Links that are deep, wide, in a ring, of dead entities, or cut in a bad order.

use phalanx::relation::{ChildOf, CutLink, Position};
use phalanx::timeline::Timeline;
use phalanx::{CommandBuffer, Component, Entity, Relation, RelationError, StructuralError, With, World};
use phalanx_testkit::Rng;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Number(u32);

#[derive(Relation)]
#[relation(tree, on_despawn = "reparent")]
struct ReportsTo;
#[derive(Relation)]
#[relation(tree)]
struct PartOf;
#[derive(Relation)]
#[relation(one_to_many, on_despawn = "despawn")]
struct Follows;
#[derive(Relation)]
#[relation(one_to_many, on_despawn = "refuse")]
struct Holds;

/// How many entities a chain or a crowd has.
const MANY: u32 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// A world with a chain of children, each of the one before it.
fn chain() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = vec![world.spawn(Number(0))];
    for n in 1..MANY {
        let child = world.entity_mut(all[n as usize - 1]).unwrap().spawn_child(Number(n));
        all.push(child);
    }
    (world, all)
}

/// Asserts that all entities below a root are a chain with ascending numbers.
#[track_caller]
fn assert_chain(world: &World, root: Entity) {
    world.validate().unwrap();
    let tree = world.relations::<ChildOf>();
    let below = tree.descendants(root).zip(1..);
    let last = below.inspect(|(e, n)| assert_eq!(world.get::<Number>(*e).unwrap().0, *n)).last().unwrap();
    assert_eq!((last.1, tree.depth(last.0), tree.root(last.0)), (MANY - 1, MANY - 1, root));
    assert_eq!(tree.descendants(root).leaves_first().last(), tree.children(root).next());
}

#[test]
fn h90_a_chain_of_a_million_is_despawned_without_a_stack() {
    let (mut world, all) = chain();
    let mut copy = world.try_clone().unwrap();
    assert_chain(&copy, all[0]);
    world.despawn(all[0]).unwrap();
    assert!(world.is_empty());
    world.validate().unwrap();
    let mut commands = CommandBuffer::new();
    commands.despawn(all[1]);
    commands.try_apply(&mut copy).unwrap();
    assert!(copy.iter().eq([all[0]]));
    copy.validate().unwrap();
}

#[test]
fn h90_a_chain_of_a_million_is_cloned_and_moved_without_a_stack() {
    let (mut here, all) = chain();
    let twin = here.relations_mut::<ChildOf>().clone_tree(all[0]).unwrap();
    assert_chain(&here, twin);
    let mut there = World::new();
    let moved = here.relations_mut::<ChildOf>().transfer_tree(twin, &mut there).unwrap();
    assert_eq!((moved.cut.len(), moved.map.len()), (0, MANY as usize));
    assert_chain(&there, moved.root);
    assert_chain(&here, all[0]);
    let map = there.transfer_all(&mut here).unwrap();
    assert!(there.is_empty());
    assert_chain(&here, map.get(moved.root).unwrap());
}

#[cfg(feature = "snapshot")]
#[test]
fn h90_a_chain_of_a_million_is_saved_and_loaded_without_a_stack() {
    let (world, all) = chain();
    let mut registry = phalanx::snapshot::Registry::new();
    registry.plain::<Number>("number").unwrap();
    registry.relation::<ChildOf>("child of").unwrap();
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    let loaded = registry.load(&*file).unwrap();
    assert_chain(&loaded, all[0]);
    // Every link leads out of half of the entities.
    let part = phalanx::snapshot::Part::of(all.iter().copied().step_by(2));
    file.clear();
    let report = registry.save_part(&world, &part, &mut file).unwrap();
    assert_eq!(report.cut_links, MANY as usize - 1);
    let half = registry.load(&*file).unwrap();
    assert_eq!((half.len(), half.relations::<ChildOf>().iter().count()), (MANY as usize / 2, 0));
    half.validate().unwrap();
}

#[test]
fn h90_a_chain_goes_back_in_time_and_by_deltas_without_a_stack() {
    let (mut world, all) = chain();
    let mut timeline = Timeline::new(2);
    timeline.capture(&mut world).unwrap();
    let before = world.checkpoint().unwrap();
    let mut follower = world.try_clone().unwrap();
    let mut tree = world.relations_mut::<ChildOf>();
    // The lower half becomes the upper one.
    tree.unlink(all[all.len() / 2]).unwrap();
    tree.link(all[0], all[all.len() - 1]).unwrap();
    assert_eq!(tree.as_ref().depth(all[0]), MANY / 2);
    let delta = phalanx::timeline::delta(&before, &world.checkpoint().unwrap()).unwrap();
    follower.apply_delta(&delta).unwrap();
    follower.validate().unwrap();
    assert_eq!(follower.relations::<ChildOf>().root(all[0]), all[all.len() / 2]);
    timeline.capture(&mut world).unwrap();
    timeline.rewind(&mut world, 1).unwrap();
    assert_chain(&world, all[0]);
}

#[test]
fn h91_one_of_a_million_children_is_despawned_as_quickly_as_one_of_ten() {
    let mut world = World::new();
    let parent = world.spawn(Number(0));
    let mut children: Vec<Entity> =
        (0..MANY).map(|n| world.entity_mut(parent).unwrap().spawn_child(Number(n))).collect();
    let mut rng = Rng::new(1);
    // If each took a time that grows with the number of children, this would not end.
    for _ in 0..10_000 {
        let child = children.swap_remove(rng.below(children.len()));
        world.despawn(child).unwrap();
    }
    for _ in 0..10_000 {
        let [a, b] = [(); 2].map(|()| children[rng.below(children.len())]);
        world.relations_mut::<ChildOf>().link_at(a, parent, Position::Before(b)).unwrap();
    }
    let mut commands = CommandBuffer::new();
    for _ in 0..10_000 {
        commands.despawn(children.swap_remove(rng.below(children.len())));
    }
    commands.try_apply(&mut world).unwrap();
    world.validate().unwrap();
    assert_eq!(world.relations::<ChildOf>().children(parent).len(), children.len());
    world.despawn(parent).unwrap();
    assert!(world.is_empty());
}

#[test]
fn h92_a_ring_by_commands_of_one_segment_is_refused() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..5).map(|n| world.spawn(Number(n))).collect();
    let ring = |commands: &mut CommandBuffer| {
        (0..5).for_each(|n| commands.link::<ChildOf>(all[n], all[(n + 1) % 5]));
    };
    let mut commands = CommandBuffer::new();
    ring(&mut commands);
    let error = commands.try_apply(&mut world).unwrap_err();
    assert_eq!((error.position, error.entity), (4, Some(all[4])));
    assert!(matches!(
        error.error,
        StructuralError::Relation(RelationError::Cycle { source, target, .. }) if (source, target) == (all[4], all[0])
    ));
    assert_eq!(world.relations::<ChildOf>().iter().count(), 0);
    world.validate().unwrap();
    // The last one is skipped.
    ring(&mut commands);
    let report = commands.apply(&mut world);
    assert_eq!((report.executed(), report.skipped().len()), (4, 1));
    assert_eq!(world.relations::<ChildOf>().depth(all[0]), 4);
    // It is a ring only for as long as the links before it stand.
    commands.unlink::<ChildOf>(all[0]);
    commands.link::<ChildOf>(all[4], all[0]);
    commands.try_apply(&mut world).unwrap();
    assert!(world.relations::<ChildOf>().ancestors(all[1]).eq([all[2], all[3], all[4], all[0]]));
    world.validate().unwrap();
}

#[test]
fn h92_a_ring_of_followers_is_despawned_as_a_whole() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..MANY).map(|n| world.spawn(Number(n))).collect();
    let mut follows = world.relations_mut::<Follows>();
    all.windows(2).for_each(|pair| follows.link(pair[1], pair[0]).unwrap());
    follows.link(all[0], all[all.len() - 1]).unwrap();
    world.validate().unwrap();
    let mut copy = world.try_clone().unwrap();
    world.despawn(all[all.len() / 2]).unwrap();
    assert!(world.is_empty());
    let mut commands = CommandBuffer::new();
    commands.despawn(all[7]);
    commands.try_apply(&mut copy).unwrap();
    assert!(copy.is_empty());
    copy.validate().unwrap();
}

#[test]
fn h93_listeners_of_links_despawn_both_ends() {
    for both in [false, true] {
        let mut world = World::new();
        world.relations_mut::<ChildOf>().on_link(move |event, _, commands| {
            commands.despawn(event.source);
            if both {
                commands.despawn(event.target);
            }
        });
        world.relations_mut::<ChildOf>().on_unlink(|event, world, commands| {
            // The operation is complete.
            assert_eq!(world.relations::<ChildOf>().target(event.source), None);
            commands.despawn(event.target);
        });
        let [parent, child] = [(); 2].map(|()| world.spawn(Number(0)));
        let others: Vec<Entity> = (0..3).map(|n| world.spawn(Number(n))).collect();
        world.relations_mut::<ChildOf>().link(child, parent).unwrap();
        world.validate().unwrap();
        assert!(world.iter().eq(others.iter().copied()));
        // A child that is despawned as soon as it is spawned takes its parent with it.
        world.entity_mut(others[0]).unwrap().spawn_child(Number(9));
        world.validate().unwrap();
        assert_eq!(world.len(), 2);
        assert!(world.take_signal_errors().0.is_empty());
    }
}

#[test]
fn h93_a_listener_despawns_the_parent_of_all_that_leave() {
    let mut world = World::new();
    world.relations_mut::<ReportsTo>().on_unlink(|event, _, commands| commands.despawn(event.source));
    let boss = world.spawn(Number(0));
    let mut staff = world.relations_mut::<ReportsTo>();
    let middle = staff.spawn(boss, Number(1)).unwrap();
    let leaves: Vec<Entity> = (0..20).map(|n| staff.spawn(middle, Number(n)).unwrap()).collect();
    // The leaves get another target, and are despawned all the same: each of them has left one.
    world.despawn(middle).unwrap();
    assert!(world.iter().eq([boss]) && leaves.iter().all(|leaf| !world.contains(*leaf)));
    world.validate().unwrap();
}

#[test]
fn h94_a_parent_and_its_child_in_one_batch() {
    for listens in [false, true] {
        let mut world = World::new();
        if listens {
            world.relations_mut::<ChildOf>().on_unlink(|_, _, _| {});
        }
        let mut family = || {
            let parent = world.spawn(Number(0));
            let child = world.entity_mut(parent).unwrap().spawn_child(Number(1));
            let grandchild = world.entity_mut(child).unwrap().spawn_child(Number(2));
            [parent, child, grandchild]
        };
        let [[a, b, c], [d, e, f], [g, h, i]] = [(); 3].map(|()| family());
        // Those that were despawned with another one before do not count.
        assert_eq!(world.despawn_batch([a, b, c, a]), 1);
        assert_eq!(world.despawn_batch([f, e, d, d, f]), 3);
        assert_eq!(world.despawn_batch([h, g, i, a]), 2);
        assert!(world.is_empty());
        world.validate().unwrap();
    }
}

#[test]
fn h95_a_target_of_two_relations_with_different_policies() {
    let mut world = World::new();
    let [root, chest, hand, part, child, staff] = [0, 1, 2, 3, 4, 5].map(|n| world.spawn(Number(n)));
    world.relations_mut::<ChildOf>().link(chest, root).unwrap();
    world.relations_mut::<ChildOf>().link(child, chest).unwrap();
    world.relations_mut::<Holds>().link(hand, chest).unwrap();
    world.relations_mut::<PartOf>().link(part, chest).unwrap();
    world.relations_mut::<ReportsTo>().link(staff, chest).unwrap();
    world.relations_mut::<ReportsTo>().link(chest, hand).unwrap();
    // What holds the chest refuses the whole operation.
    let error = world.try_despawn(root).unwrap_err();
    assert!(matches!(
        error,
        StructuralError::Relation(RelationError::Refused { entity, count: 1, .. }) if entity == chest
    ));
    assert_eq!(world.len(), 6);
    let mut commands = CommandBuffer::new();
    commands.despawn(root);
    assert!(commands.try_apply(&mut world).is_err());
    world.validate().unwrap();
    // In one segment the hand lets go first.
    commands.unlink::<Holds>(hand);
    commands.despawn(root);
    commands.try_apply(&mut world).unwrap();
    world.validate().unwrap();
    assert!(world.iter().eq([hand, part, staff]), "{:?}", world.iter().collect::<Vec<_>>());
    assert_eq!(world.relations::<PartOf>().target(part), None);
    assert_eq!(world.relations::<ReportsTo>().target(staff), Some(hand));
}

#[test]
fn h96_a_slot_that_is_used_again_has_no_links() {
    let mut world = World::new();
    let parent = world.spawn(Number(0));
    for round in 0..50 {
        let child = world.entity_mut(parent).unwrap().spawn_child(Number(round));
        world.relations_mut::<PartOf>().link(parent, child).unwrap();
        world.despawn(child).unwrap();
        let other = world.spawn(Number(round));
        assert_eq!((other.index(), world.contains(child)), (child.index(), false));
        let (tree, parts) = (world.relations::<ChildOf>(), world.relations::<PartOf>());
        assert_eq!((tree.target(other), tree.target(child), tree.depth(other)), (None, None, 0));
        assert_eq!((parts.sources(other).len(), parts.sources(child).len(), parts.target(parent)), (0, 0, None));
        assert_eq!(tree.children(parent).len(), 0);
        assert!(!tree.is_ancestor(parent, other) && tree.root(child) == child);
        // An old handle is neither a source, nor a target, nor a neighbour.
        let mut tree = world.relations_mut::<ChildOf>();
        assert!(matches!(tree.link(child, parent), Err(RelationError::NoSuchEntity(_))));
        assert!(matches!(tree.link(parent, child), Err(RelationError::NoSuchEntity(_))));
        assert!(matches!(tree.unlink(child), Err(RelationError::NoSuchEntity(_))));
        tree.link(other, parent).unwrap();
        let next = tree.spawn(parent, Number(1)).unwrap();
        assert!(matches!(tree.link_at(next, parent, Position::Before(child)), Err(RelationError::NotSource { .. })));
        world.validate().unwrap();
        world.despawn_batch([other, next]);
    }
}

#[test]
fn h98_a_rollback_over_changed_parents() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..40).map(|n| world.spawn(Number(n))).collect();
    let mut tree = world.relations_mut::<ReportsTo>();
    all.windows(2).for_each(|pair| tree.link(pair[1], pair[0]).unwrap());
    let links = |world: &World| {
        let tree = world.relations::<ReportsTo>();
        all.iter().map(|e| (tree.target(*e), tree.sources(*e).collect(), tree.depth(*e))).collect::<Vec<_>>()
            as Vec<(Option<Entity>, Vec<Entity>, u32)>
    };
    let (before, checkpoint) = (links(&world), world.checkpoint().unwrap());
    let mut rng = Rng::new(5);
    for _ in 0..20 {
        for _ in 0..30 {
            let [a, b] = [(); 2].map(|()| all[rng.below(all.len())]);
            match rng.below(5) {
                0 => drop(world.try_despawn(a)),
                1 => drop(world.relations_mut::<ReportsTo>().unlink(a)),
                2 => drop(world.relations_mut::<ChildOf>().link(a, b)),
                _ => drop(world.relations_mut::<ReportsTo>().link_at(a, b, Position::First)),
            }
        }
        world.validate().unwrap();
        world.rollback(&checkpoint).unwrap();
        world.validate().unwrap();
        assert_eq!(links(&world), before);
        assert_eq!(world.relations::<ChildOf>().iter().count(), 0);
    }
}

#[test]
fn h99_half_a_tree_is_moved() {
    let (mut here, mut there) = (World::new(), World::new());
    let root = here.spawn(Number(0));
    let middle = here.entity_mut(root).unwrap().spawn_child(Number(1));
    let leaves: Vec<Entity> = (2..6).map(|n| here.entity_mut(middle).unwrap().spawn_child(Number(n))).collect();
    here.relations_mut::<PartOf>().link(leaves[3], leaves[0]).unwrap();
    here.relations_mut::<PartOf>().link(root, leaves[1]).unwrap();
    // Its children stay, each without a parent.
    let alone = here.entity_mut(leaves[3]).unwrap().transfer(&mut there).unwrap();
    assert_eq!(there.relations::<PartOf>().target(alone), None);
    let moved = here.relations_mut::<ChildOf>().transfer_tree(middle, &mut there).unwrap();
    let mut cut: Vec<(Entity, Entity)> =
        moved.cut.iter().map(|CutLink { source, target, .. }| (*source, *target)).collect();
    cut.sort();
    assert_eq!(cut, [(root, leaves[1]), (middle, root)]);
    assert!(here.iter().eq([root]));
    let children = there.relations::<ChildOf>().children(moved.root);
    assert!(children.eq(leaves[..3].iter().map(|leaf| moved.map.get(*leaf).unwrap())));
    here.validate().unwrap();
    there.validate().unwrap();
}

/// A tree of children in which the links of another relation run from the first to the last.
fn crossed() -> (World, Vec<Entity>) {
    let (mut world, mut all) = (World::new(), Vec::new());
    all.push(world.spawn(Number(0)));
    for n in 1..MANY / 2 {
        let child = world.entity_mut(all[n as usize - 1]).unwrap().spawn_child(Number(n));
        all.push(child);
    }
    for pair in all.windows(2).rev() {
        world.relations_mut::<PartOf>().link(pair[0], pair[1]).unwrap();
        world.relations_mut::<ReportsTo>().link(pair[0], pair[1]).unwrap();
    }
    (world, all)
}

#[test]
fn h90_depths_are_not_kept_while_a_tree_ends() {
    // If each link that is cut changed the depths of all below it, this would not end.
    let (world, all) = crossed();
    world.validate().unwrap();
    let mut one = world.try_clone().unwrap();
    one.despawn(all[0]).unwrap();
    assert!(one.is_empty());
    let mut two = world.try_clone().unwrap();
    let mut commands = CommandBuffer::new();
    commands.despawn(all[0]);
    commands.try_apply(&mut two).unwrap();
    assert!(two.is_empty());
    let (mut three, mut there) = (world, World::new());
    three.relations_mut::<PartOf>().on_unlink(|_, _, _| {});
    let moved = three.relations_mut::<ChildOf>().transfer_tree(all[10], &mut there).unwrap();
    assert_eq!((three.len(), moved.cut.len()), (10, 3));
    three.despawn(all[0]).unwrap();
    there.despawn(moved.root).unwrap();
    [one, two, three, there].iter().for_each(|world| world.validate().unwrap());
}

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Leaving;

#[test]
fn h90_half_of_a_chain_of_managers_leaves_bottom_first() {
    // If each that goes changed the depths of all below it, this would not end.
    let mut world = World::new();
    let all: Vec<Entity> = (0..MANY).map(|n| world.spawn(Number(n))).collect();
    for pair in all.windows(2).rev() {
        world.relations_mut::<ReportsTo>().link(pair[0], pair[1]).unwrap();
    }
    for entity in all.iter().skip(1).step_by(2) {
        world.insert(*entity, Leaving).unwrap();
    }
    let mut listening = world.try_clone().unwrap();
    listening.relations_mut::<ReportsTo>().on_unlink(|_, _, _| {});
    for mut world in [world, listening] {
        assert_eq!(world.despawn_where::<With<Leaving>>(), MANY as usize / 2);
        world.validate().unwrap();
        let (tree, left) = (world.relations::<ReportsTo>(), &all[..all.len() - 1]);
        assert_eq!(tree.root(all[0]), left[left.len() - 1]);
        assert!(tree.ancestors(all[0]).eq(left.iter().copied().step_by(2).skip(1)));
        assert_eq!(tree.depth(all[0]), MANY / 2 - 1);
    }
}

/// A world with two entities, in which the relations are registered in this or in the other order.
fn two_relations(children_first: bool) -> (World, [Entity; 4]) {
    let mut world = World::new();
    let all = [(); 4].map(|()| world.spawn_empty());
    for is_child in [children_first, !children_first] {
        match is_child {
            true => world.relations_mut::<ChildOf>().unlink(all[0]).map(drop).unwrap(),
            false => world.relations_mut::<Follows>().unlink(all[0]).map(drop).unwrap(),
        }
    }
    (world, all)
}

#[test]
fn h93_a_listener_leaves_another_world_under_a_handle_of_links() {
    type Way = fn(&mut phalanx::relation::RelationsMut<'_, ChildOf>, [Entity; 4]);
    let ways: [Way; 5] = [
        |tree, [a, b, ..]| tree.link(b, a).unwrap(),
        |tree, [.., c, _]| _ = tree.unlink(c).unwrap(),
        |tree, [a, ..]| _ = tree.spawn(a, ()).unwrap(),
        |tree, [a, ..]| _ = tree.clone_tree(a).unwrap(),
        |tree, [a, ..]| drop(tree.transfer_tree(a, &mut World::new()).unwrap()),
    ];
    for way in ways {
        let (mut world, all) = two_relations(true);
        world.relations_mut::<ChildOf>().link(all[2], all[3]).unwrap();
        let leave = |_: &World, commands: &mut CommandBuffer| {
            commands.queue(|world| {
                // Storages have other ids there.
                *world = two_relations(false).0;
            });
        };
        world.on_spawn(move |_, world, commands| leave(world, commands));
        world.on_despawn(move |_, world, commands| leave(world, commands));
        world.relations_mut::<ChildOf>().on_link(move |_, world, commands| leave(world, commands));
        world.relations_mut::<ChildOf>().on_unlink(move |_, world, commands| leave(world, commands));
        let mut tree = world.relations_mut::<ChildOf>();
        way(&mut tree, all);
        for pair in all.windows(2) {
            tree.link(pair[1], pair[0]).unwrap();
        }
        assert!(tree.link(all[0], all[3]).is_err());
        let child = tree.spawn(all[3], ()).unwrap();
        assert!(tree.as_ref().ancestors(child).eq(all.into_iter().rev()));
        world.validate().unwrap();
        assert_eq!(world.relations::<Follows>().iter().count(), 0);
    }
}
