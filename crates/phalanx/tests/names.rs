//! Names of entities: how they are given, and how entities are found by them.

use phalanx::relation::{ChildOf, Named};
use phalanx::timeline::{Timeline, delta};
use phalanx::{CommandBuffer, Component, Entity, Name, NameError, NoSuchEntity, RelationError, StructuralError, World};
use phalanx_testkit::for_every_failing_allocation;
use std::sync::{Arc, Mutex};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone)]
struct Mass(u32);

/// A fleet with a ship, which has a gun.
fn fleet() -> (World, [Entity; 3]) {
    let mut world = World::new();
    let fleet = world.spawn_named("fleet", Mass(3)).unwrap();
    let ship = world.entity_mut(fleet).unwrap().spawn_child_named("ship", Mass(2)).unwrap();
    let gun = world.entity_mut(ship).unwrap().spawn_child_named("gun", Mass(1)).unwrap();
    (world, [fleet, ship, gun])
}

#[track_caller]
fn taken(error: RelationError) -> (Entity, Entity) {
    match error {
        RelationError::NameTaken { entity, holder } => (entity, holder),
        error => panic!("{error}"),
    }
}

#[test]
fn only_texts_that_can_be_part_of_a_path_are_names() {
    let mut world = World::new();
    let entity = world.spawn_empty();
    let long = "x".repeat(64);
    for (text, error) in [
        ("", NameError::Empty),
        ("a/b", NameError::Slash),
        ("/", NameError::Slash),
        (&long, NameError::TooLong { len: 64 }),
    ] {
        assert_eq!(world.entity_mut(entity).unwrap().set_name(text).unwrap_err(), error);
        assert_eq!(world.spawn_named(text, ()).unwrap_err(), error);
        assert_eq!(world.entity_mut(entity).unwrap().spawn_child_named(text, ()).unwrap_err(), error);
        assert_eq!(CommandBuffer::new().set_name(entity, text).unwrap_err(), error);
        assert_eq!(world.find(text), None);
    }
    assert_eq!((world.len(), world.entity(entity).unwrap().name()), (1, None));
    world.entity_mut(entity).unwrap().set_name(&long[1..]).unwrap();
    assert_eq!(world.find(&long[1..]), Some(entity));
    assert_eq!(world.find(&long), None);
    for text in ["", "/", "//", "fleet/", "/fleet"] {
        assert_eq!(world.find(text), None, "{text:?}");
    }
}

#[test]
fn names_follow_links_unlinks_and_despawns() {
    let (mut world, [fleet, ship, gun]) = fleet();
    assert_eq!(world.find("fleet/ship/gun"), Some(gun));
    let mut tree = world.relations_mut::<ChildOf>();
    assert_eq!(tree.unlink(gun), Ok(Some(ship)));
    assert_eq!(world.find("gun"), Some(gun));
    assert_eq!(world.find("fleet/ship/gun"), None);
    world.relations_mut::<ChildOf>().link(gun, fleet).unwrap();
    assert_eq!(world.find("fleet/gun"), Some(gun));
    // A subtree moves with its root.
    world.relations_mut::<ChildOf>().link(ship, gun).unwrap();
    assert_eq!(world.path(ship).as_deref(), Some("fleet/gun/ship"));
    world.despawn(gun).unwrap();
    assert_eq!(world.find("fleet/gun"), None);
    let other = world.entity_mut(fleet).unwrap().spawn_child_named("gun", ()).unwrap();
    assert_eq!(world.find("fleet/gun"), Some(other));
    world.validate().unwrap();
}

#[test]
fn a_link_or_unlink_to_siblings_with_the_same_name_is_refused() {
    let (mut world, [fleet, ship, gun]) = fleet();
    let other = world.spawn_named("gun", ()).unwrap();
    let mut tree = world.relations_mut::<ChildOf>();
    assert_eq!(taken(tree.unlink(gun).unwrap_err()), (gun, other));
    assert_eq!(taken(tree.link(other, ship).unwrap_err()), (other, gun));
    assert_eq!(tree.as_ref().parent(gun), Some(ship));
    tree.link(other, fleet).unwrap();
    assert_eq!((world.find("fleet/gun"), world.find("fleet/ship/gun")), (Some(other), Some(gun)));
    // Another position among the same siblings does not clash.
    world.relations_mut::<ChildOf>().link_at(other, fleet, phalanx::relation::Position::First).unwrap();
    world.validate().unwrap();
}

#[test]
fn a_name_can_be_given_again_and_removed() {
    let (mut world, [fleet, ship, _]) = fleet();
    let mut handle = world.entity_mut(ship).unwrap();
    handle.set_name("ship").unwrap().set_name("boat").unwrap();
    assert_eq!(handle.name(), Some(&Name::new("boat").unwrap()));
    assert_eq!(handle.remove_name().unwrap().as_deref(), Some("boat"));
    assert_eq!(handle.remove_name(), Ok(None));
    assert_eq!((world.find("fleet/boat"), world.find("fleet/ship")), (None, None));
    assert_eq!(world.entity(fleet).unwrap().name().map(Name::as_str), Some("fleet"));
    world.validate().unwrap();
}

#[test]
fn the_hidden_component_of_names_is_not_one_of_the_entity() {
    let (mut world, [fleet, ..]) = fleet();
    let entity = world.entity(fleet).unwrap();
    assert_eq!(entity.component_names().count(), 1);
    let hidden: Vec<_> = world.components().iter().filter(|(_, info)| info.name().contains("NameOf")).collect();
    let [(id, _)] = hidden[..] else { panic!("one component") };
    assert!(!entity.has_by_id(id) && entity.get_by_id(id).is_err());
    assert!(!world.entity_mut(fleet).unwrap().remove_by_ids(&[id]));
    assert_eq!(world.find("fleet"), Some(fleet));
}

#[test]
fn swaps_in_a_segment_are_fine_or_refused_by_the_order_of_commands() {
    let mut world = World::new();
    let [a, b] = ["a", "b"].map(|name| world.spawn_named(name, ()).unwrap());
    let mut commands = CommandBuffer::new();
    commands.set_name(a, "b").unwrap();
    commands.set_name(b, "a").unwrap();
    let error = commands.try_apply(&mut world).unwrap_err();
    let reason = StructuralError::Relation(RelationError::NameTaken { entity: a, holder: b });
    assert_eq!((error.position, error.error), (0, reason));
    assert_eq!((world.find("a"), world.find("b")), (Some(a), Some(b)));
    // The second command is skipped too, because the first was.
    commands.set_name(a, "b").unwrap();
    commands.set_name(b, "a").unwrap();
    assert_eq!(commands.apply(&mut world).skipped().len(), 2);
    for (entity, name) in [(a, "c"), (b, "a"), (a, "b"), (b, "b")] {
        commands.set_name(entity, name).unwrap();
    }
    assert_eq!(commands.try_apply(&mut world).unwrap_err().position, 3);
    assert_eq!((world.find("a"), world.find("b")), (Some(a), Some(b)));
    commands.set_name(a, "c").unwrap();
    commands.set_name(b, "a").unwrap();
    commands.set_name(a, "b").unwrap();
    commands.try_apply(&mut world).unwrap();
    assert_eq!((world.find("a"), world.find("b")), (Some(b), Some(a)));
    world.validate().unwrap();
}

#[test]
fn a_segment_sees_the_names_and_links_before_in_it() {
    let (mut world, [fleet, ship, gun]) = fleet();
    let mut commands = CommandBuffer::new();
    // The name is free once the holder is despawned, and once it is moved.
    commands.despawn(gun);
    let second = commands.spawn_with(&world, ());
    commands.set_name(second, "gun").unwrap();
    commands.link::<ChildOf>(second, ship);
    let third = commands.spawn_with(&world, ());
    commands.link::<ChildOf>(second, fleet);
    commands.link::<ChildOf>(third, ship);
    commands.set_name(third, "gun").unwrap();
    commands.try_apply(&mut world).unwrap();
    assert_eq!((world.find("fleet/gun"), world.find("fleet/ship/gun")), (Some(second), Some(third)));
    // One that came in the segment holds the name.
    commands.link::<ChildOf>(ship, third);
    let fourth = commands.spawn_with(&world, ());
    commands.unlink::<ChildOf>(second);
    commands.set_name(fourth, "gun").unwrap();
    let error = commands.try_apply(&mut world).unwrap_err();
    assert_eq!(error.position, 0, "a cycle");
    commands.unlink::<ChildOf>(second);
    commands.set_name(fourth, "gun").unwrap();
    let error = commands.try_apply(&mut world).unwrap_err().error;
    assert_eq!(error, StructuralError::Relation(RelationError::NameTaken { entity: fourth, holder: second }));
    assert_eq!(world.find("fleet/gun"), Some(second));
    world.validate().unwrap();
}

#[test]
fn a_clone_has_a_name_only_below_a_parent_that_is_cloned() {
    let (mut world, [fleet, ship, gun]) = fleet();
    let twin = world.relations_mut::<ChildOf>().clone_tree(ship).unwrap();
    assert_eq!(world.entity(twin).unwrap().name(), None);
    assert_eq!(world.relations::<ChildOf>().parent(twin), Some(fleet));
    let below = world.entity(twin).unwrap().find("gun").unwrap();
    assert!(below != gun && world.find("fleet/ship/gun") == Some(gun));
    let alone = world.entity_mut(gun).unwrap().clone_entity().unwrap();
    assert_eq!((world.entity(alone).unwrap().name(), world.entity(alone).unwrap().parent()), (None, Some(ship)));
    world.entity_mut(twin).unwrap().set_name("sister").unwrap();
    assert_eq!(world.find("fleet/sister/gun"), Some(below));
    world.validate().unwrap();
    let copy = world.try_clone().unwrap();
    assert_eq!(copy.find("fleet/sister/gun"), Some(below));
    copy.validate().unwrap();
}

#[test]
fn transfers_that_make_a_clash_are_refused_and_name_the_holder() {
    let (mut here, [fleet, ship, gun]) = fleet();
    let mut there = World::new();
    let other = there.spawn_named("ship", ()).unwrap();
    let error = here.relations_mut::<ChildOf>().transfer_tree(ship, &mut there).unwrap_err();
    assert_eq!(error, StructuralError::Relation(RelationError::NameTaken { entity: ship, holder: other }));
    assert_eq!((here.find("fleet/ship/gun"), there.len()), (Some(gun), 1));
    // The gun would be without a parent, like another one.
    let stray = here.spawn_named("gun", ()).unwrap();
    there.entity_mut(other).unwrap().set_name("boat").unwrap();
    let error = here.entity_mut(ship).unwrap().transfer(&mut there).unwrap_err();
    assert_eq!(error, StructuralError::Relation(RelationError::NameTaken { entity: gun, holder: stray }));
    here.despawn(stray).unwrap();
    let moved = here.entity_mut(ship).unwrap().transfer(&mut there).unwrap();
    assert_eq!((there.find("ship"), here.find("gun"), here.find("fleet")), (Some(moved), Some(gun), Some(fleet)));
    // All of a world.
    there.spawn_named("gun", ()).unwrap();
    assert!(here.transfer_all(&mut there).is_err());
    assert_eq!((here.len(), there.len()), (2, 3));
    here.entity_mut(gun).unwrap().remove_name().unwrap();
    let map = here.transfer_all(&mut there).unwrap();
    assert_eq!(there.find("fleet"), map.get(fleet));
    assert_eq!(here.find("fleet"), None);
    here.validate().unwrap();
    there.validate().unwrap();
}

#[test]
fn states_that_a_world_returns_to_have_their_names() {
    let (mut world, [fleet, ship, gun]) = fleet();
    let mut follower = world.try_clone().unwrap();
    let checkpoint = world.checkpoint().unwrap();
    let mut timeline = Timeline::new(3);
    timeline.capture(&mut world).unwrap();
    world.entity_mut(gun).unwrap().set_name("mast").unwrap();
    world.relations_mut::<ChildOf>().link(gun, fleet).unwrap();
    world.entity_mut(ship).unwrap().remove_name().unwrap();
    let bytes = delta(&checkpoint, &world.checkpoint().unwrap()).unwrap_err();
    assert!(bytes.to_string().contains("Mass"), "the component is not plain");
    timeline.capture(&mut world).unwrap();
    timeline.rewind(&mut world, 1).unwrap();
    assert_eq!((world.find("fleet/ship/gun"), world.find("fleet/mast")), (Some(gun), None));
    timeline.detach(&mut world);
    world.despawn(fleet).unwrap();
    world.rollback(&checkpoint).unwrap();
    assert_eq!(world.find("fleet/ship/gun"), Some(gun));
    world.validate().unwrap();
    world.clear();
    assert_eq!(world.find("fleet"), None);
    world.spawn_named("fleet", ()).unwrap();
    world.validate().unwrap();
    // Without other components, a delta brings names.
    for entity in [fleet, ship, gun] {
        follower.remove::<Mass>(entity).unwrap();
    }
    let (mut replica, before) = (follower.try_clone().unwrap(), follower.checkpoint().unwrap());
    follower.entity_mut(gun).unwrap().set_name("mast").unwrap();
    replica.apply_delta(&delta(&before, &follower.checkpoint().unwrap()).unwrap()).unwrap();
    assert_eq!(replica.find("fleet/ship/mast"), Some(gun));
    replica.validate().unwrap();
}

#[test]
fn listeners_see_the_index_as_the_world_is() {
    let mut world = World::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    world.on_spawn(move |event, world, _| log.lock().unwrap().push((world.find("a/b"), event.entity)));
    let log = seen.clone();
    world.relations_mut::<ChildOf>().on_link(move |event, world, _| {
        log.lock().unwrap().push((world.find("a/b"), event.source));
    });
    let a = world.spawn_named("a", ()).unwrap();
    let b = world.entity_mut(a).unwrap().spawn_child_named("b", ()).unwrap();
    assert_eq!(*seen.lock().unwrap(), [(None, a), (Some(b), b), (Some(b), b)]);
    let observed = Arc::new(Mutex::new(Vec::new()));
    let log = observed.clone();
    world.observe::<Named, ()>().on_enter(move |event, _, _| log.lock().unwrap().push(event.entity));
    let c = world.spawn_empty();
    world.entity_mut(c).unwrap().set_name("c").unwrap();
    assert_eq!(*observed.lock().unwrap(), [c]);
}

#[test]
fn names_without_memory_are_not_given() {
    let setup = || {
        let mut world = World::new();
        let all: Vec<Entity> = (0..4).map(|n| world.spawn_named(&format!("e{n}"), ()).unwrap()).collect();
        (world, all)
    };
    for_every_failing_allocation(
        setup,
        |(world, all)| -> Result<(), NameError> {
            world.entity_mut(all[0])?.set_name("z")?;
            world.entity_mut(all[1])?.spawn_child_named("child", Mass(1)).map(drop)
        },
        |(world, all), outcome| {
            world.validate().unwrap();
            match outcome {
                Ok(()) => assert!(world.find("e1/child").is_some()),
                Err(error) => assert!(matches!(error, NameError::Alloc(_)) && world.len() == 4),
            }
            assert!(world.find("z") == Some(all[0]) || world.find("e0") == Some(all[0]));
        },
    );
}

#[test]
fn the_index_forgets_names_that_are_gone_and_its_memory_is_counted() {
    let mut world = World::new();
    assert_eq!(world.memory().names, 0);
    let all: Vec<Entity> = (0..1000).map(|n| world.spawn_named(&format!("entity {n}"), ()).unwrap()).collect();
    let full = world.memory().names;
    assert!(full >= 2 * 8 * 1000, "{full}");
    // Names that are never used again do not make the index grow.
    for n in 0..20_000 {
        world.entity_mut(all[n % 10]).unwrap().set_name(&format!("number {n}")).unwrap();
    }
    assert_eq!(world.memory().names, full);
    world.validate().unwrap();
    world.despawn_batch(all[10..].iter().copied());
    while world.compact(usize::MAX) > 0 {}
    assert!(world.memory().names < full / 10);
    assert_eq!(world.find("number 19999"), Some(all[9]));
    world.clear();
    while world.compact(usize::MAX) > 0 {}
    assert_eq!(world.memory().names, 0);
    world.validate().unwrap();
}

#[test]
fn dead_entities_have_no_name_and_no_path() {
    let (mut world, [fleet, ship, _]) = fleet();
    world.despawn(ship).unwrap();
    assert_eq!((world.path(ship), world.relations::<ChildOf>().name(ship)), (None, None));
    assert_eq!(world.relations::<ChildOf>().find_below(ship, "gun"), None);
    let mut commands = CommandBuffer::new();
    commands.set_name(ship, "ghost").unwrap();
    let error = commands.try_apply(&mut world).unwrap_err().error;
    assert_eq!(error, StructuralError::NoSuchEntity(NoSuchEntity { entity: ship }));
    // A slot that is used again is another entity.
    let next = world.entity_mut(fleet).unwrap().spawn_child(());
    assert_eq!((world.entity(next).unwrap().name(), world.find("fleet/ship")), (None, None));
}
