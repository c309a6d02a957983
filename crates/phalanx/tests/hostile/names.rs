//! Names that clash, change while listeners run, or are many.

use phalanx::relation::ChildOf;
use phalanx::{CommandBuffer, Entity, NameError, RelationError, StructuralError, World};
use phalanx_testkit::Rng;
use std::sync::{Arc, Mutex};

/// How many entities a chain or a crowd has.
const MANY: u32 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

#[test]
fn h101_two_commands_of_one_segment_that_give_the_same_name_are_refused() {
    let mut world = World::new();
    let parent = world.spawn_named("parent", ()).unwrap();
    let [a, b, c] = [(); 3].map(|()| world.spawn_empty());
    world.entity_mut(c).unwrap().set_name("x").unwrap();
    type Record = fn(&mut CommandBuffer, [Entity; 4]);
    // Each gives the same name to siblings by its last command: by names, by links, or by a link and a name.
    let ways: [(Record, usize, usize, usize); 6] = [
        (|commands, [_, a, b, _]| [a, b].iter().for_each(|e| commands.set_name(*e, "y").unwrap()), 1, 1, 0),
        (|commands, [_, a, _, _]| commands.set_name(a, "x").unwrap(), 0, 0, 2),
        (
            |commands, [parent, a, b, _]| {
                commands.link::<ChildOf>(a, parent);
                commands.set_name(a, "y").unwrap();
                commands.set_name(b, "y").unwrap();
                commands.link::<ChildOf>(b, parent);
            },
            3,
            1,
            0,
        ),
        (
            |commands, [parent, a, _, _]| {
                commands.link::<ChildOf>(a, parent);
                commands.set_name(a, "x").unwrap();
                commands.unlink::<ChildOf>(a);
            },
            2,
            0,
            2,
        ),
        (
            |commands, [parent, a, _, c]| {
                commands.link::<ChildOf>(c, parent);
                commands.set_name(a, "x").unwrap();
                commands.unlink::<ChildOf>(c);
            },
            2,
            2,
            0,
        ),
        (
            |commands, [_, a, b, c]| {
                commands.despawn(c);
                commands.set_name(a, "x").unwrap();
                commands.remove_name(a);
                commands.set_name(b, "x").unwrap();
                commands.set_name(a, "x").unwrap();
            },
            4,
            0,
            1,
        ),
    ];
    for (record, position, entity, holder) in ways {
        let mut commands = CommandBuffer::new();
        record(&mut commands, [parent, a, b, c]);
        let error = commands.try_apply(&mut world).unwrap_err();
        let [entity, holder] = [entity, holder].map(|at| [a, b, c][at]);
        assert_eq!(error.error, StructuralError::Relation(RelationError::NameTaken { entity, holder }));
        assert_eq!(error.position, position);
        world.validate().unwrap();
        assert_eq!((world.find("x"), world.find("y"), world.len()), (Some(c), None, 4));
        assert_eq!(world.relations::<ChildOf>().iter().count(), 0);
    }
}

#[test]
fn h102_listeners_rename_and_move_what_they_are_called_for() {
    let mut world = World::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let home = world.spawn_named("home", ()).unwrap();
    let seen = log.clone();
    world.on_spawn(move |event, world, commands| {
        seen.lock().unwrap().push(world.path(event.entity));
        // The name that the next one would like to have.
        commands.set_name(event.entity, "first").unwrap();
        commands.link::<ChildOf>(event.entity, home);
    });
    let seen = log.clone();
    world.relations_mut::<ChildOf>().on_link(move |event, world, commands| {
        seen.lock().unwrap().push(world.path(event.source));
        commands.set_name(event.source, "second").unwrap();
    });
    let a = world.spawn_named("guest", ()).unwrap();
    world.validate().unwrap();
    assert_eq!(world.path(a).as_deref(), Some("home/second"));
    // This one is called the same, but cannot have the last name.
    let b = world.spawn_named("guest", ()).unwrap();
    world.validate().unwrap();
    assert_eq!(world.path(b).as_deref(), Some("home/first"));
    // Below the second one the third can have both names, but it cannot be moved while it has the first.
    let c = world.entity_mut(b).unwrap().spawn_child_named("guest", ()).unwrap();
    world.validate().unwrap();
    assert_eq!(world.path(c).as_deref(), Some("home/first/second"));
    assert!(world.find("home/second") == Some(a) && world.find("home/first") == Some(b));
    assert!(log.lock().unwrap().iter().flatten().any(|path| path == "home/first"));
}

#[test]
fn h103_one_of_a_million_names_is_found_as_quickly_as_one_of_ten() {
    let mut world = World::new();
    let parent = world.spawn_named("parent", ()).unwrap();
    let mut text = String::new();
    let mut name = |n: u32| {
        use std::fmt::Write;
        text.clear();
        write!(text, "parent/{n}").unwrap();
        text.clone()
    };
    let mut children = Vec::new();
    for n in 0..MANY {
        let child = world.entity_mut(parent).unwrap().spawn_child_named(&name(n)["parent/".len()..], ()).unwrap();
        children.push(child);
    }
    // If each took a time that grows with the number of siblings, none of this would end.
    let mut rng = Rng::new(1);
    for _ in 0..50_000 {
        let n = rng.below(MANY as usize);
        assert_eq!(world.find(&name(n as u32)), Some(children[n]));
        assert_eq!(world.find(&name((MANY as usize + n) as u32)), None);
    }
    // One name goes from entity to entity, and each of them gets one that was never used.
    for n in 0..50_000 {
        let at = rng.below(MANY as usize);
        let mut child = world.entity_mut(children[at]).unwrap();
        child.set_name("it").unwrap();
        child.set_name(&format!("again {n}")).unwrap();
    }
    // One child is moved to and fro, and others are in its place.
    for n in 0..50_000 {
        let at = rng.below(MANY as usize);
        world.entity_mut(children[at]).unwrap().set_name(&format!("moved {n}")).unwrap();
        world.relations_mut::<ChildOf>().unlink(children[at]).unwrap();
        assert_eq!(world.find(&format!("moved {n}")), Some(children[at]));
        world.relations_mut::<ChildOf>().link(children[at], parent).unwrap();
    }
    world.validate().unwrap();
    let mut commands = CommandBuffer::new();
    for (n, child) in children.iter().enumerate() {
        commands.set_name(*child, &format!("command {n}")).unwrap();
    }
    commands.try_apply(&mut world).unwrap();
    assert_eq!(world.find("parent/command 77"), Some(children[77]));
    world.validate().unwrap();
    world.despawn(parent).unwrap();
    assert_eq!(world.find("parent/command 77"), None);
    world.validate().unwrap();
}

#[test]
fn h104_the_path_of_a_chain_of_a_million_needs_no_stack() {
    let mut world = World::new();
    let mut last = world.spawn_named("e", ()).unwrap();
    let root = last;
    for _ in 1..MANY {
        last = world.entity_mut(last).unwrap().spawn_child_named("e", ()).unwrap();
    }
    let path = world.path(last).unwrap();
    assert_eq!(path.len(), 2 * MANY as usize - 1);
    assert_eq!(world.find(&path), Some(last));
    assert_eq!(world.find(&path[..path.len() - 2]), world.entity(last).unwrap().parent());
    assert_eq!(world.find(&format!("{path}/e")), None);
    let twin = world.relations_mut::<ChildOf>().clone_tree(root).unwrap();
    assert_eq!(world.entity(twin).unwrap().name(), None);
    assert!(world.entity(twin).unwrap().find(&path[2..]).is_some());
    let mut there = World::new();
    let holder = there.spawn_named("e", ()).unwrap();
    assert!(world.transfer_all(&mut there).is_err());
    there.despawn(holder).unwrap();
    let map = world.transfer_all(&mut there).unwrap();
    assert_eq!(there.find(&path), map.get(last));
    there.validate().unwrap();
}

#[test]
fn h105_names_are_refused_for_what_is_not_alive_or_of_another_world() {
    let (mut here, mut there) = (World::new(), World::new());
    let a = here.spawn_named("a", ()).unwrap();
    let stale = there.spawn_named("a", ()).unwrap();
    there.despawn(stale).unwrap();
    let next = there.spawn_named("a", ()).unwrap();
    // The handle of a slot that is used again, and one that is of another world.
    assert!(there.entity_mut(stale).is_err());
    assert_eq!((there.path(stale), there.find("a")), (None, Some(next)));
    let mut commands = CommandBuffer::new();
    commands.set_name(stale, "b").unwrap();
    commands.remove_name(stale);
    assert_eq!(commands.apply(&mut there).skipped().len(), 2);
    assert_eq!((there.find("a"), there.find("b")), (Some(next), None));
    // An entity that was reserved is alive from the next change on, and has no name of the one before.
    let reserved = here.reserve_entity();
    assert_eq!(here.spawn_named("a", ()), Err(NameError::Taken { holder: a }));
    here.entity_mut(reserved).unwrap().set_name("b").unwrap();
    assert_eq!(here.find("b"), Some(reserved));
    here.validate().unwrap();
    there.validate().unwrap();
}
