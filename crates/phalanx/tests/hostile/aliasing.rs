//! References that must not meet, and pointers that must not outlive what they point at.

use crate::kit::{A, Position, Spin, Tag, Velocity};
use phalanx::query::{Access, QueryState};
use phalanx::{ComponentView, ComponentViewMut, Entity, Spawner, With, World};
use phalanx_testkit::{Tally, catch};

/// Every way to run a query, for one query type.
macro_rules! entry_points {
    ($query:ty) => {
        vec![
            ("QueryState::new", (|_, _| drop(QueryState::<$query>::new())) as fn(&mut World, Entity)),
            ("QueryState::default", |_, _| drop(QueryState::<$query>::default())),
            ("Access::of", |_, _| drop(Access::of::<$query>())),
            ("for_each", |world, _| world.query_mut::<$query>().for_each(drop)),
            ("iter", |world, _| drop(world.query_mut::<$query>().iter_mut().next())),
            ("into_iter", |world, _| drop(world.query_mut::<$query>().into_iter().next())),
            ("chunks", |world, _| drop(world.query_mut::<$query>().chunks().next())),
            ("len", |world, _| drop(world.query_mut::<$query>().len())),
            ("is_empty", |world, _| drop(world.query_mut::<$query>().is_empty())),
            ("get", |world, e| drop(world.query_mut::<$query>().get_mut(e).is_ok())),
            ("filtered", |world, _| drop(world.query_filtered_mut::<$query, With<Tag>>().iter_mut().next())),
        ]
    };
}

#[test]
fn h27_queries_that_would_alias_are_refused_at_every_entry_point() {
    let queries = [
        ("two writes", entry_points!((&'static mut Position, &'static mut Position))),
        ("write, read", entry_points!((&'static mut Position, &'static Position))),
        ("read, write", entry_points!((&'static Position, &'static mut Position))),
        ("option", entry_points!((Option<&'static mut Position>, &'static Position))),
        ("two options", entry_points!((Option<&'static mut Position>, Option<&'static mut Position>))),
        ("nested", entry_points!((Entity, (&'static Velocity, (&'static mut Position,)), &'static Position))),
        ("option of a tuple", entry_points!((Option<(&'static mut Position, Entity)>, &'static mut Position))),
        ("within an option", entry_points!(Option<(&'static mut Position, &'static Position)>)),
        ("soa", entry_points!((&'static mut Spin, &'static Spin))),
        ("zero-sized", entry_points!((&'static mut Tag, &'static mut Tag))),
    ];
    for (query, entries) in queries {
        for (entry, run) in entries {
            let mut world = World::new();
            let e = world.spawn((Position(1.0), Velocity(1.0), Tag, Spin { axis: 1, speed: 1.0 }));
            // Twice: a refusal must not be forgotten.
            for _ in 0..2 {
                let caught = catch(|| run(&mut world, e)).expect_err(&format!("{query} by {entry} was not refused"));
                let message = caught.message();
                assert!(message.contains("would alias"), "{query} by {entry}: {message}");
                let named = ["Position", "Spin", "Tag"].iter().any(|name| message.contains(name));
                assert!(named, "{query} by {entry}: {message}");
            }
            world.validate().unwrap();
        }
    }
}

#[test]
fn h27_queries_that_only_read_may_name_a_component_twice() {
    let mut world = World::new();
    let e = world.spawn((Position(1.0), Velocity(2.0)));
    assert_eq!(world.query::<(&Position, &Position)>().get(e), Ok((&Position(1.0), &Position(1.0))));
    assert_eq!(world.query_mut::<(&mut Velocity, &Position, Option<&Position>)>().len(), 1);
}

#[test]
fn h35_a_state_of_one_world_sees_another_as_it_is() {
    let mut state = QueryState::<(Entity, &mut Position)>::new();
    let mut worlds = [World::new(), World::new(), World::new()];
    // Other ids for the same types in each.
    worlds[1].spawn(Velocity(0.0));
    worlds[2].spawn((Tag, Velocity(0.0)));
    for round in 0..20 {
        for (number, world) in worlds.iter_mut().enumerate() {
            let e = world.spawn((Position(number as f32), Velocity(round as f64)));
            if round % 3 == 0 {
                world.insert(e, Tag).unwrap();
            }
            let items: Vec<_> = state.iter_mut(world).collect();
            assert!(items.iter().all(|(_, p)| p.0 == number as f32));
            assert_eq!(items.len(), round + 1);
        }
        worlds.rotate_left(round % 3);
        worlds.sort_by_key(|world| world.query::<&Position>().iter().next().map(|p| p.0 as u32));
    }
}

#[test]
fn h56_a_held_state_follows_lanes_that_move() {
    let tally = Tally::new();
    let mut world = World::new();
    let mut state = QueryState::<(Entity, &mut A, &mut Spin)>::new();
    let spin = Spin { axis: 1, speed: 1.0 };
    let first = world.spawn((A::new(&tally, 0), spin));
    for n in 1..2000 {
        // Looked at, so that both states have pointers.
        assert_eq!(state.iter_mut(&mut world).count(), n);
        assert_eq!(world.query_mut::<(Entity, &mut A, &mut Spin)>().iter_mut().count(), n);
        match n % 4 {
            // In place: needs a row to trade through, and the table may be full.
            0 => world.insert(first, A::new(&tally, 0)).unwrap(),
            1 => world.insert(first, (A::new(&tally, 0), spin)).unwrap(),
            2 => world.spawner::<(A, Spin)>().reserve(n),
            _ => drop(world.spawn_batch(core::iter::empty::<(A, Spin)>())),
        }
        assert_eq!(state.iter_mut(&mut world).map(|(_, a, _)| a.0.key() as usize).sum::<usize>(), n * (n - 1) / 2);
        assert_eq!(
            world
                .query_mut::<(Entity, &mut A, &mut Spin)>()
                .iter_mut()
                .map(|(_, a, _)| a.0.key() as usize)
                .sum::<usize>(),
            n * (n - 1) / 2
        );
        world.spawn((A::new(&tally, n as u32), spin));
    }
    world.validate().unwrap();
}

fn sent<T: Send>() {}
fn shared<T: Sync>() {}

#[test]
fn h46_worlds_and_states_are_sent_and_shared() {
    sent::<World>();
    shared::<World>();
    sent::<QueryState<(&'static mut Position, Entity), With<Tag>>>();
    shared::<QueryState<(&'static mut Position, Entity), With<Tag>>>();
    sent::<Spawner<'static, Position>>();
    sent::<ComponentViewMut<'static, Position>>();
    fn debug<T: core::fmt::Debug>() {}
    debug::<ComponentView<'static, Position>>();
    // Whatever a world keeps goes with it.
    let tally = Tally::new();
    let mut world = World::new();
    world.spawn((A::new(&tally, 1), Position(2.0)));
    assert_eq!(world.query_mut::<(&mut Position, &A)>().iter_mut().count(), 1);
    let world = std::thread::spawn(move || {
        world.query_mut::<(&mut Position, &A)>().for_each(|(p, _)| p.0 *= 2.0);
        world
    });
    let world = world.join().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(world.query::<&Position>().iter().map(|p| p.0).sum::<f32>(), 4.0));
        }
        scope.spawn(|| world.reserve_entity());
    });
    drop(world);
    tally.assert_no_leaks();
}
