//! Text queries, made by a fuzzer: each is refused with a position in the text, or all its ways to find entities agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phalanx::reflect::{Reflect, TextQuery};
use phalanx::store::Soa;
use phalanx::{Component, Entity, World};
use std::sync::LazyLock;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component)]
struct Health {
    hp: i32,
    most: u128,
    parts: [f32; 3],
}
#[derive(Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "column")]
struct Place {
    x: f64,
    on: bool,
}
#[derive(Component)]
#[component(layout = "pool", track = "row")]
struct Title(String);
#[derive(Component)]
#[component(layout = "linear")]
struct Target(Entity, Team, char);
#[derive(Reflect, Clone, Copy)]
enum Team {
    Red,
    Blue = -9,
}
#[derive(Component)]
struct Tag;

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut world = World::new();
    let root = world.spawn_named("squad", Tag).unwrap();
    for n in 0..200_i32 {
        let e = match n % 4 {
            0 => world.entity_mut(root).unwrap().spawn_child(Health { hp: n - 100, most: n as u128, parts: [0.5; 3] }),
            1 => world.spawn((Place { x: f64::from(n) / 8.0, on: n % 3 == 0 }, Tag)),
            2 => world.spawn(Title(format!("orc {n}"))),
            _ => world.spawn_named(&format!("n{n}"), ()).unwrap(),
        };
        if n % 5 == 0 {
            world.insert(e, Target(root, if n % 2 == 0 { Team::Red } else { Team::Blue }, 'x')).unwrap();
        }
        if n % 7 == 0 {
            world.insert(e, (Title("Ann".into()), Tag)).unwrap();
        }
    }
    world
});

fuzz_target!(|text: &str| {
    let query = match TextQuery::parse(text) {
        Ok(query) => query,
        Err(error) => {
            assert!(error.position() <= text.len() && text.is_char_boundary(error.position()) && !error.to_string().is_empty());
            return;
        }
    };
    let world = &*WORLD;
    let query = match query.bind(world) {
        Ok(query) => query,
        Err(error) => {
            assert!(text.is_char_boundary(error.position()) && !error.to_string().is_empty());
            return;
        }
    };
    let found: Vec<Entity> = query.iter(world).unwrap().collect();
    let matching = world.iter().filter(|e| query.matches(world, *e).unwrap()).count();
    assert_eq!(query.count(world).unwrap(), matching);
    assert_eq!(found.len(), matching.min(query.limit().unwrap_or(usize::MAX)));
    assert!(found.iter().all(|e| query.matches(world, *e).unwrap()));
    assert_eq!(query.page(world, 3, 50).unwrap(), &found[found.len().min(3)..found.len().min(53)]);
    let (mut cursor, mut ranking) = (query.cursor(world).unwrap(), query.ranking(query.limit().unwrap_or(usize::MAX)));
    while !cursor.is_done() {
        query.scan(world, &mut cursor, 1, |e| ranking.add(world, e)).unwrap();
    }
    assert!(!cursor.is_torn() && ranking.finish().unwrap() == found);
});
