//! Relations: the operations, against a naive model.

use phalanx::relation::ChildOf;
use phalanx::{CommandBuffer, Component, Relation, RelationError, StructuralError, World};

#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone)]
struct Tag(u32);

#[derive(Relation)]
#[relation(one_to_one)]
struct Docked;

#[derive(Relation)]
#[relation(tree, on_despawn = "reparent")]
struct ReportsTo;

#[derive(Relation)]
#[relation(on_despawn = "refuse")]
struct Holds;

#[test]
fn a_despawned_parent_takes_its_tree_with_it() {
    let mut world = World::new();
    let root = world.spawn(Tag(0));
    let children = [1, 2, 3].map(|n| world.entity_mut(root).unwrap().spawn_child(Tag(n)));
    let grandchild = world.entity_mut(children[1]).unwrap().spawn_child(Tag(4));
    let other = world.spawn(Tag(5));
    world.validate().unwrap();
    assert_eq!(world.relations::<ChildOf>().depth(grandchild), 2);
    world.despawn(root).unwrap();
    world.validate().unwrap();
    assert!(world.iter().eq([other]));
}

#[test]
fn a_cycle_is_refused() {
    let mut world = World::new();
    let a = world.spawn_empty();
    let b = world.entity_mut(a).unwrap().spawn_child(());
    let c = world.entity_mut(b).unwrap().spawn_child(());
    for (source, target) in [(a, c), (a, b), (a, a), (b, c)] {
        let error = world.relations_mut::<ChildOf>().link(source, target).unwrap_err();
        assert!(matches!(error, RelationError::Cycle { source: s, target: t, .. } if (s, t) == (source, target)));
    }
    // The other way round is possible.
    world.relations_mut::<ChildOf>().link(c, a).unwrap();
    world.relations_mut::<ChildOf>().link(b, c).unwrap();
    world.validate().unwrap();
    assert!(world.relations::<ChildOf>().ancestors(b).eq([c, a]));
}

#[test]
fn reports_move_to_the_next_manager_in_place() {
    let mut world = World::new();
    let [boss, a, m, z] = [(); 4].map(|()| world.spawn_empty());
    let [x, y] = [(); 2].map(|()| world.spawn_empty());
    let mut staff = world.relations_mut::<ReportsTo>();
    for (who, to) in [(a, boss), (m, boss), (z, boss), (x, m), (y, m)] {
        staff.link(who, to).unwrap();
    }
    world.despawn(m).unwrap();
    world.validate().unwrap();
    assert!(world.relations::<ReportsTo>().children(boss).eq([a, x, y, z]));
    assert_eq!(world.relations::<ReportsTo>().depth(y), 1);
    world.despawn(boss).unwrap();
    world.validate().unwrap();
    assert_eq!(world.relations::<ReportsTo>().iter().count(), 0);
}

#[test]
fn a_held_entity_is_not_despawned() {
    let mut world = World::new();
    let [chest, hand] = [(); 2].map(|()| world.spawn_empty());
    world.relations_mut::<Holds>().link(hand, chest).unwrap();
    let error = world.try_despawn(chest).unwrap_err();
    assert!(
        matches!(error, StructuralError::Relation(RelationError::Refused { entity, count: 1, .. }) if entity == chest)
    );
    assert_eq!(world.despawn_batch([chest]), 0);
    let mut commands = CommandBuffer::new();
    commands.despawn(chest);
    assert_eq!(commands.apply(&mut world).skipped().len(), 1);
    // With its holder it is.
    world.relations_mut::<ChildOf>().link(hand, chest).unwrap();
    world.despawn(chest).unwrap();
    assert!(world.is_empty());
}

#[test]
fn a_berth_is_taken_once() {
    let mut world = World::new();
    let [ship, other, port] = [(); 3].map(|()| world.spawn_empty());
    let mut docked = world.relations_mut::<Docked>();
    docked.link(ship, port).unwrap();
    docked.link(ship, port).unwrap();
    assert!(matches!(docked.link(other, port), Err(RelationError::Occupied { by, .. }) if by == ship));
    assert!(matches!(docked.spawn(port, Tag(1)), Err(RelationError::Occupied { .. })));
    assert_eq!(world.len(), 3);
    world.despawn(ship).unwrap();
    world.relations_mut::<Docked>().link(other, port).unwrap();
    world.validate().unwrap();
}

#[test]
fn a_chain_of_a_million_needs_no_stack() {
    let count = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let mut world = World::new();
    let root = world.spawn(Tag(0));
    let mut last = root;
    for n in 1..count {
        last = world.entity_mut(last).unwrap().spawn_child(Tag(n));
    }
    assert_eq!(world.relations::<ChildOf>().depth(last), count - 1);
    assert_eq!(world.relations::<ChildOf>().descendants(root).count(), count as usize - 1);
    assert_eq!(world.relations::<ChildOf>().descendants(root).leaves_first().next(), Some(last));
    assert_eq!(world.relations::<ChildOf>().descendants(root).breadth_first().last(), Some(last));
    world.validate().unwrap();
    let clone = world.try_clone().unwrap();
    clone.validate().unwrap();
    let mut commands = CommandBuffer::new();
    commands.despawn(root);
    assert!(commands.apply(&mut world).skipped().is_empty());
    assert!(world.is_empty());
    world.validate().unwrap();
    let mut clone = clone;
    clone.despawn(root).unwrap();
    assert!(clone.is_empty());
}

#[derive(Component, Relation, Clone, Debug, PartialEq)]
#[relation(many_to_many)]
#[component(clone)]
struct Owns {
    count: u32,
}

#[derive(Component, Relation)]
#[relation(symmetric, on_despawn = "refuse")]
struct Tied;

#[test]
fn links_of_many_to_many_have_data() {
    let mut world = World::new();
    let [ann, bob] = [(); 2].map(|()| world.spawn_empty());
    let [sword, gold] = [(); 2].map(|()| world.spawn_empty());
    let mut owns = world.links_mut::<Owns>();
    let of_sword = owns.link(ann, sword, Owns { count: 1 }).unwrap();
    owns.link(ann, gold, Owns { count: 30 }).unwrap();
    let of_bob = owns.link(bob, gold, Owns { count: 5 }).unwrap();
    // A second link replaces the data.
    assert_eq!(owns.link(ann, sword, Owns { count: 2 }).unwrap(), of_sword);
    assert!(matches!(
        owns.link(ann, ann, Owns { count: 2 }),
        Err(StructuralError::Relation(RelationError::Cycle { .. }))
    ));
    world.validate().unwrap();
    let owns = world.links::<Owns>();
    assert!(owns.targets(ann).map(|(item, _)| item).eq([sword, gold]));
    assert!(owns.sources(gold).map(|(owner, _)| owner).eq([ann, bob]));
    assert_eq!(owns.find(bob, gold), Some(of_bob));
    assert_eq!((owns.find(gold, bob), owns.find(bob, sword)), (None, None));
    assert_eq!(owns.ends(of_bob), Some((bob, gold)));
    assert_eq!(world.get::<Owns>(of_sword).unwrap(), &Owns { count: 2 });
    assert_eq!(world.query::<&Owns>().iter().map(|owns| owns.count).sum::<u32>(), 37);
    // A clone has the same links.
    let clone = world.try_clone().unwrap();
    assert!(clone.links::<Owns>().targets(ann).eq(world.links::<Owns>().targets(ann)));
    assert!(world.links_mut::<Owns>().unlink(ann, gold).unwrap());
    assert!(!world.links_mut::<Owns>().unlink(ann, gold).unwrap());
    // A link is despawned with either end.
    world.despawn(bob).unwrap();
    assert!(!world.contains(of_bob));
    world.despawn(sword).unwrap();
    assert_eq!(world.len(), 2);
    world.validate().unwrap();
    let mut commands = CommandBuffer::new();
    let link = commands.link_with(&world, ann, gold, Owns { count: 1 });
    commands.despawn(gold);
    commands.try_apply(&mut world).unwrap();
    assert!(!world.contains(link) && world.contains(ann));
    world.validate().unwrap();
}

#[test]
fn what_is_tied_is_not_despawned() {
    let mut world = World::new();
    let [a, b] = [(); 2].map(|()| world.spawn_empty());
    world.links_mut::<Tied>().link(a, b, Tied).unwrap();
    assert!(world.try_despawn(a).is_err() && world.try_despawn(b).is_err());
    assert!(world.links_mut::<Tied>().unlink(b, a).unwrap());
    world.despawn(a).unwrap();
    world.despawn(b).unwrap();
    assert!(world.is_empty());
}

#[test]
fn an_entity_that_loses_its_components_keeps_its_name_and_its_links() {
    let mut world = World::new();
    let fleet = world.spawn_named("fleet", ()).unwrap();
    let ship = world.entity_mut(fleet).unwrap().spawn_child_named("ship", ()).unwrap();
    assert!(!world.entity_mut(ship).unwrap().retain::<()>());
    world.validate().unwrap();
    assert_eq!(world.find("fleet/ship"), Some(ship));
}

#[test]
fn a_name_and_links_do_not_occupy_an_entity_without_components() {
    let mut world = World::new();
    let [parent, child] = [world.spawn_empty(), world.spawn_empty()];
    world.relations_mut::<ChildOf>().link(child, parent).unwrap();
    world.entity_mut(child).unwrap().set_name("child").unwrap();
    world.spawn_at(child, Tag(1)).unwrap();
    assert_eq!(world.entity(parent).unwrap().find("child"), Some(child));
    assert_eq!(world.get::<Tag>(child).unwrap().0, 1);
    let by = Some(child);
    assert_eq!(world.spawn_at(child, Tag(2)), Err(StructuralError::SlotOccupied { entity: child, by }));
    world.validate().unwrap();
}

#[test]
fn each_change_of_a_link_sets_the_tick() {
    for is_captured in [false, true] {
        let mut world = World::new();
        let [root, child, other] = [0, 1, 2].map(|n| world.spawn(Tag(n)));
        world.relations_mut::<ChildOf>().link(child, root).unwrap();
        let mut timeline = phalanx::timeline::Timeline::new(2);
        if is_captured {
            timeline.capture(&mut world).unwrap();
        }
        let mut is_changed = |change: &dyn Fn(&mut World)| {
            world.clear_trackers();
            let before = world.relations::<ChildOf>().last_changed();
            change(&mut world);
            world.validate().unwrap();
            world.relations::<ChildOf>().last_changed() != before
        };
        let link = |world: &mut World, source, target| world.relations_mut::<ChildOf>().link(source, target).unwrap();
        assert!(is_changed(&|world| link(world, other, child)));
        assert!(!is_changed(&|world| link(world, other, child)));
        assert!(is_changed(&|world| _ = world.relations_mut::<ChildOf>().spawn(other, Tag(3)).unwrap()));
        assert!(!is_changed(&|world| _ = world.spawn(Tag(4))));
        // With what is below it.
        assert!(is_changed(&|world| link(world, other, root)));
        assert!(is_changed(&|world| _ = world.relations_mut::<ChildOf>().unlink(other).unwrap()));
        assert!(is_changed(&|world| link(world, other, root)));
        assert!(is_changed(&|world| world.despawn(child).unwrap()));
        assert!(is_changed(&|world| world.despawn(other).unwrap()));
        assert!(!is_changed(&|world| world.despawn(root).unwrap()));
    }
}

#[test]
fn a_child_of_a_reserved_entity_is_spawned() {
    let mut world = World::new();
    let root = world.spawn_empty();
    world.relations_mut::<ChildOf>().spawn(root, Tag(1)).unwrap();
    let reserved = world.reserve_entity();
    let child = world.relations_mut::<ChildOf>().spawn(reserved, Tag(2)).unwrap();
    assert_eq!(world.relations::<ChildOf>().parent(child), Some(reserved));
    world.despawn(reserved).unwrap();
    assert!(world.relations_mut::<ChildOf>().spawn(reserved, Tag(3)).is_err());
    world.validate().unwrap();
    assert_eq!(world.len(), 2);
}
