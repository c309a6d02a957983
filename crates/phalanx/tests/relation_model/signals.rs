//! The events of links among those of components and entities.

use crate::kit::{Fire, Holds, Id, ReportsTo};
use phalanx::relation::{ChildOf, Position};
use phalanx::{CommandBuffer, Entity, World};
use phalanx_testkit::catch;
use std::sync::{Arc, Mutex};

type Lines = Arc<Mutex<Vec<String>>>;

/// A world that writes down all events. Listeners are connected in an order that is not that of events.
fn listening() -> (World, Lines) {
    let (mut world, lines) = (World::new(), Lines::default());
    macro_rules! connect {
        ($($call:expr => $text:expr),* $(,)?) => {$(
            let to = lines.clone();
            $call(Box::new(move |line: String| to.lock().unwrap().push(format!("{} {line}", $text))));
        )*};
    }
    type Write = Box<dyn Fn(String) + Send + Sync>;
    connect! {
        |write: Write| world.on_despawn(move |event, _, _| write(event.entity.to_string())) => "despawned",
        |write: Write| world.on_remove::<Fire>(move |event, _, _| write(event.entity.to_string())) => "removed",
        |write: Write| world.relations_mut::<ChildOf>().on_link(move |event, _, _| {
            write(format!("{} {}", event.source, event.target));
        }) => "linked",
        |write: Write| world.relations_mut::<ChildOf>().on_unlink(move |event, _, _| {
            write(format!("{} {}", event.source, event.target));
        }) => "unlinked",
        |write: Write| world.on_set::<Fire>(move |event, _, _| write(event.entity.to_string())) => "set",
        |write: Write| world.on_add::<Fire>(move |event, _, _| write(event.entity.to_string())) => "added",
        |write: Write| world.on_spawn(move |event, _, _| write(event.entity.to_string())) => "spawned",
    }
    (world, lines)
}

#[track_caller]
fn assert_lines(lines: &Lines, expected: &[String]) {
    assert_eq!(*core::mem::take(&mut *lines.lock().unwrap()), *expected);
}

#[test]
fn events_of_links_follow_added_and_precede_removed() {
    let (mut world, lines) = listening();
    let [a, b] = [(); 2].map(|()| world.spawn(Id(0)));
    lines.lock().unwrap().clear();
    let c = world.relations_mut::<ChildOf>().spawn(a, Fire(1)).unwrap();
    assert_lines(&lines, &[format!("spawned {c}"), format!("added {c}"), format!("linked {c} {a}")]);
    world.relations_mut::<ChildOf>().link(c, b).unwrap();
    assert_lines(&lines, &[format!("unlinked {c} {a}"), format!("linked {c} {b}")]);
    let mut commands = CommandBuffer::new();
    commands.insert(c, Fire(2));
    commands.unlink::<ChildOf>(c);
    commands.link::<ChildOf>(c, a);
    commands.apply(&mut world);
    let changed = [format!("set {c}"), format!("unlinked {c} {b}"), format!("linked {c} {a}")];
    assert_lines(&lines, &changed);
    world.despawn(a).unwrap();
    let despawned = [format!("unlinked {c} {a}"), format!("removed {c}"), format!("despawned {c}")];
    assert_lines(&lines, &[&despawned[..], &[format!("despawned {a}")]].concat());
}

#[test]
fn places_among_sources_have_no_events() {
    let (mut world, lines) = listening();
    let [parent, a, b, c] = [0, 1, 2, 3].map(|n| world.spawn((Id(n), Fire(9 - n))));
    let mut tree = world.relations_mut::<ChildOf>();
    [a, b, c].iter().for_each(|child| tree.link(*child, parent).unwrap());
    lines.lock().unwrap().clear();
    tree.link_at(c, parent, Position::First).unwrap();
    tree.link_at(a, parent, Position::After(b)).unwrap();
    tree.link(b, parent).unwrap();
    tree.sort_by::<&Fire>(parent, |a, b| a.0.cmp(&b.0)).unwrap();
    assert!(tree.link(parent, a).is_err() && tree.unlink(parent).unwrap().is_none());
    assert!(tree.as_ref().children(parent).eq([c, b, a]));
    assert_lines(&lines, &[]);
}

#[test]
fn a_segment_that_fails_has_no_events_of_links() {
    let (mut world, lines) = listening();
    let [a, b] = [(); 2].map(|()| world.spawn(Id(0)));
    world.relations_mut::<Holds>().link(a, b).unwrap();
    lines.lock().unwrap().clear();
    let mut commands = CommandBuffer::new();
    commands.link::<ChildOf>(a, b);
    commands.despawn(b);
    commands.link::<ChildOf>(b, a);
    let error = commands.try_apply(&mut world).unwrap_err();
    // The child holds its parent, and is despawned with it: only the last command fails.
    assert_eq!(error.position, 2);
    assert_lines(&lines, &[]);
    world.validate().unwrap();
    assert!(world.try_despawn(b).is_err());
    assert_lines(&lines, &[]);
}

#[test]
fn transfers_and_clears_unlink_what_they_take() {
    let (mut here, lines) = listening();
    let (mut there, lines_there) = listening();
    let [a, b] = [(); 2].map(|()| here.spawn(Id(0)));
    here.relations_mut::<ChildOf>().link(b, a).unwrap();
    lines.lock().unwrap().clear();
    let map = here.transfer_all(&mut there).unwrap();
    let [x, y] = [a, b].map(|entity| map.get(entity).unwrap());
    let left = [format!("unlinked {b} {a}"), format!("despawned {a}"), format!("despawned {b}")];
    assert_lines(&lines, &left);
    assert_lines(&lines_there, &[format!("spawned {x}"), format!("spawned {y}"), format!("linked {y} {x}")]);
    there.clear();
    assert_lines(&lines_there, &[format!("unlinked {y} {x}"), format!("despawned {x}"), format!("despawned {y}")]);
}

#[test]
fn a_listener_of_links_that_panics_lets_the_links_stand() {
    let mut world = World::new();
    world.relations_mut::<ReportsTo>().on_link(|event, _, commands| {
        commands.despawn(event.target);
        panic!("listener");
    });
    let [boss, middle, leaf] = [(); 3].map(|()| world.spawn(Id(0)));
    for (source, target) in [(middle, boss), (leaf, middle)] {
        assert!(catch(|| world.relations_mut::<ReportsTo>().link(source, target)).is_err());
        world.validate().unwrap();
        assert_eq!(world.relations::<ReportsTo>().target(source), Some(target));
    }
    // The leaf is linked to the boss while its own target is despawned.
    assert!(catch(|| world.despawn(middle)).is_err());
    world.validate().unwrap();
    assert!(world.relations::<ReportsTo>().sources(boss).eq([leaf]));
    assert_eq!(world.len(), 2);
}

#[test]
fn listeners_that_despawn_are_followed_until_nothing_is_left() {
    let mut world = World::new();
    world.relations_mut::<ReportsTo>().on_unlink(|event, _, commands| commands.despawn(event.target));
    let all: Vec<Entity> = (0..60).map(|n| world.spawn(Id(n))).collect();
    let mut staff = world.relations_mut::<ReportsTo>();
    all.windows(2).for_each(|pair| staff.link(pair[1], pair[0]).unwrap());
    // Each despawn unlinks one from the next above.
    world.despawn(all[59]).unwrap();
    assert!(world.is_empty());
    world.validate().unwrap();
}

#[test]
fn listeners_of_links_are_of_certain_sources_and_called_once() {
    let mut world = World::new();
    let [a, b, c, d] = [(); 4].map(|()| world.spawn(Id(0)));
    let lines = Lines::default();
    let write = |text: &'static str| {
        let lines = lines.clone();
        move |source: Entity, target: Entity| lines.lock().unwrap().push(format!("{text} {source} {target}"))
    };
    let (linked, once, unlinked) = (write("linked"), write("once"), write("unlinked"));
    world.listen().entity(b).entity(c).on_link::<ChildOf>(move |event, _, _| linked(event.source, event.target));
    world.listen().once().on_link::<ChildOf>(move |event, _, _| once(event.source, event.target));
    world.listen().entity(c).once().on_unlink::<ChildOf>(move |event, _, _| unlinked(event.source, event.target));
    // Of another relation, and of another source.
    world.relations_mut::<Holds>().link(b, a).unwrap();
    world.relations_mut::<ChildOf>().link(d, a).unwrap();
    assert_lines(&lines, &[format!("once {d} {a}")]);
    world.relations_mut::<ChildOf>().link(b, a).unwrap();
    world.relations_mut::<ChildOf>().link(c, b).unwrap();
    assert_lines(&lines, &[format!("linked {b} {a}"), format!("linked {c} {b}")]);
    world.relations_mut::<ChildOf>().link(c, d).unwrap();
    assert_lines(&lines, &[format!("unlinked {c} {b}"), format!("linked {c} {d}")]);
    world.despawn(a).unwrap();
    assert_lines(&lines, &[]);
    world.validate().unwrap();
}
