//! Components of every layout and codec, and worlds with histories.

use phalanx::snapshot::Registry;
use phalanx::store::Soa;
use phalanx::{Added, Changed, Component, Entity, Key, Role, World};
use phalanx_testkit::Rng;
use serde::{Deserialize, Serialize};

#[derive(Component, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[component(plain)]
#[repr(C)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
}
#[derive(Component, Soa, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
pub(crate) struct Velocity {
    pub(crate) x: f32,
    pub(crate) y: u16,
}
#[derive(Component, Debug, PartialEq, Clone, Serialize, Deserialize)]
pub(crate) struct Name(pub(crate) String);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
pub(crate) struct Enemy;
#[derive(Component, Debug, PartialEq, Clone, Serialize, Deserialize)]
#[component(entities)]
pub(crate) struct Likes(pub(crate) Vec<Option<Entity>>);
#[derive(Component, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[component(layout = "pool", plain)]
#[repr(transparent)]
pub(crate) struct Burning(pub(crate) u64);
#[derive(Component, Debug, PartialEq, Clone, Serialize, Deserialize)]
#[component(layout = "pool")]
pub(crate) struct Title(pub(crate) String);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "pool")]
pub(crate) struct Marked;
#[derive(Component, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[component(layout = "linear", plain)]
#[repr(transparent)]
pub(crate) struct Health(pub(crate) u16);
#[derive(Component, Debug, PartialEq, Clone, Serialize, Deserialize)]
#[component(layout = "linear")]
pub(crate) struct Path(pub(crate) Vec<u8>);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "linear")]
pub(crate) struct Seen;

#[derive(Component, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[component(track = "row", plain)]
#[repr(transparent)]
pub(crate) struct Armor(pub(crate) u32);
#[derive(Component, Debug, PartialEq, Clone, Serialize, Deserialize)]
#[component(track = "column")]
pub(crate) struct Mana(pub(crate) String);
#[derive(Component, Debug, PartialEq, Clone, Serialize, Deserialize)]
#[component(layout = "pool", track = "row")]
pub(crate) struct Rage(pub(crate) Vec<u8>);
#[derive(Component, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[component(layout = "linear", track = "column", plain)]
#[repr(transparent)]
pub(crate) struct Breath(pub(crate) u16);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "linear", track = "row")]
pub(crate) struct Alert;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score(pub(crate) u32, pub(crate) String);
#[derive(phalanx::Plain, Debug, PartialEq, Clone, Copy, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Clock(pub(crate) u64);

/// Everything above, in readable form too.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: std::sync::OnceLock<Registry> = std::sync::OnceLock::new();
    REGISTRY.get_or_init(new_registry)
}

/// The same, to be changed.
pub(crate) fn new_registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap().readable();
    registry.plain::<Velocity>("velocity").unwrap().readable();
    registry.serde::<Name>("name").unwrap();
    registry.tag("enemy", || Enemy).unwrap();
    registry.serde::<Likes>("likes").unwrap();
    registry.plain::<Burning>("burning").unwrap().readable();
    registry.serde::<Title>("title").unwrap();
    registry.tag("marked", || Marked).unwrap();
    registry.plain::<Health>("health").unwrap().readable();
    registry.serde::<Path>("path").unwrap();
    registry.tag("seen", || Seen).unwrap();
    registry.plain::<Armor>("armor").unwrap().readable();
    registry.serde::<Mana>("mana").unwrap();
    registry.serde::<Rage>("rage").unwrap();
    registry.plain::<Breath>("breath").unwrap().readable();
    registry.tag("alert", || Alert).unwrap();
    registry.serde_resource::<Score>("score").unwrap();
    registry.plain_resource::<Clock>("clock").unwrap().readable();
    registry
}

/// A world with a history, and who is alive.
pub(crate) fn world(seed: u64, steps: usize) -> World {
    let mut world = World::new();
    grow(&mut world, &mut Rng::new(seed), steps);
    world
}

/// Goes on with a world: the same from the same state and seed.
pub(crate) fn grow(world: &mut World, rng: &mut Rng, steps: usize) {
    for step in 0..steps as u32 {
        let alive: Vec<Entity> = world.iter().collect();
        let pick = rng.pick(&alive).copied();
        let position = Position { x: step as f32, y: -1.0 };
        let velocity = Velocity { x: 0.5, y: step as u16 };
        match (rng.below(34), pick) {
            (0, _) => drop(world.spawn((position, velocity))),
            (1, _) => drop(world.spawn((Name(format!("n{step}")), Enemy, position))),
            (2, _) => drop(world.spawn((Burning(step.into()), position))),
            (3, _) => drop(world.spawn((Health(step as u16), Title("sir".repeat(step as usize % 4))))),
            (4, _) => drop(world.spawn_empty()),
            (5, _) => drop(world.spawn((Marked, Seen, Path(vec![step as u8; step as usize % 5])))),
            (6 | 7, Some(e)) => world.despawn(e).unwrap(),
            (8, Some(e)) => world.insert(e, velocity).unwrap(),
            (9, Some(e)) => world.insert(e, (Name(format!("x{step}")), Marked)).unwrap(),
            (10, Some(e)) => world.insert(e, Likes(vec![Some(e), None, alive.first().copied()])).unwrap(),
            (11, Some(e)) => drop(world.remove::<Position>(e)),
            (12, Some(e)) => drop(world.remove::<Name>(e)),
            (13, Some(e)) => drop(world.remove::<Burning>(e)),
            (14, Some(e)) => drop(world.remove::<Health>(e)),
            (15, Some(e)) => drop(world.remove::<Marked>(e)),
            (16, Some(e)) => drop(world.add_row(Key::main(e).with_role(Role(rng.below(3) as u32 + 1)), position)),
            (17, Some(e)) => {
                let name = world.register_component::<Name>();
                drop(world.add_row(Key::main(e).with_component(name), (Enemy, Name("row".into()))));
            }
            (18, Some(e)) => drop(world.remove_row(Key::main(e).with_role(Role(1)))),
            (19, Some(e)) => world.insert(e, (Burning(7), Seen)).unwrap(),
            (20, _) => drop(world.insert_resource(Score(step, "points".into()))),
            (21, _) => drop(world.insert_resource(Clock(step.into()))),
            (22, Some(e)) => drop(world.remove::<Seen>(e)),
            (23, Some(e)) => world.insert(e, Path(vec![1, 2, 3])).unwrap(),
            (24, _) => drop(world.spawn((Armor(step), Rage(vec![step as u8]), Alert))),
            (25, _) => drop(world.spawn((Mana("m".repeat(step as usize % 3)), Breath(step as u16), position))),
            (26, Some(e)) => world.insert(e, (Armor(step), Breath(9))).unwrap(),
            (27, Some(e)) => drop(world.add_row(Key::main(e).with_role(Role(5)), (Armor(1), Mana("row".into())))),
            (28, Some(e)) => drop(world.remove::<(Rage, Breath)>(e)),
            (29, Some(e)) => drop(world.get_mut::<Armor>(e).map(|mut armor| armor.0 += 1)),
            (30, Some(e)) => drop(world.get_mut::<Rage>(e).map(|mut rage| rage.0.push(1))),
            (31, _) => world.query_mut::<&mut Breath>().for_each(|breath| breath.0 ^= 1),
            (32, _) => world.query_mut::<(&mut Mana, Option<&mut Armor>)>().for_each(|(_, armor)| {
                if let Some(mut armor) = armor {
                    armor.0 += 2;
                }
            }),
            (33, _) => world.clear_trackers(),
            _ => {}
        }
    }
}

pub(crate) fn bytes(world: &World) -> Vec<u8> {
    let mut file = Vec::new();
    let report = registry().save(world, &mut file).unwrap();
    assert_eq!(report.bytes, file.len() as u64);
    assert_eq!(registry().checksum(world), Ok(report.checksum));
    file
}

#[track_caller]
pub(crate) fn load(file: &[u8]) -> World {
    let world = registry().load(file).unwrap();
    world.validate().unwrap();
    world
}

/// A key, with the name of its component instead of the id, which may be another in another world.
pub(crate) fn named(world: &World, key: Key) -> String {
    let component = key.component.map(|id| world.components().info(id).name());
    format!("{} {component:?} {:?}", key.entity, key.role)
}

/// What the queries of a user see, in their order.
pub(crate) fn seen(world: &World) -> Vec<String> {
    let mut seen = Vec::new();
    let mut note = |line: String| seen.push(line);
    let name = |key| named(world, key);
    world.query::<(Key, &Position)>().for_each(|(key, x)| note(format!("{} {x:?}", name(key))));
    world.query::<(Key, &Velocity, Option<&Position>)>().for_each(|(k, x, y)| note(format!("{} {x:?} {y:?}", name(k))));
    world.query::<(Key, &Name)>().for_each(|(key, x)| note(format!("{} {x:?}", name(key))));
    world.query::<(Entity, &Likes)>().for_each(|x| note(format!("{x:?}")));
    world.query::<Key>().for_each(|key| note(name(key)));
    for e in world.iter() {
        note(format!("{e} {:?} {:?}", world.get::<Burning>(e).ok(), world.get::<Title>(e).ok()));
        note(format!("{:?} {:?}", world.get::<Health>(e).ok(), world.get::<Path>(e).ok()));
        note(format!("{} {}", world.has::<Marked>(e), world.has::<Seen>(e)));
        note(format!("{:?}", world.rows(e).unwrap().map(|(key, _)| name(key)).collect::<Vec<_>>()));
    }
    note(format!("{:?} {:?}", world.resource::<Score>(), world.resource::<Clock>()));
    seen.extend(news(world));
    seen
}

/// What is new since the world was settled.
pub(crate) fn news(world: &World) -> Vec<String> {
    let mut news = Vec::new();
    let mut note = |line: String| news.push(line);
    world.query_filtered::<Key, Added<Armor>>().for_each(|key| note(format!("armor of {} came", named(world, key))));
    world
        .query_filtered::<Key, Changed<Armor>>()
        .for_each(|key| note(format!("armor of {} changed", named(world, key))));
    world.query_filtered::<Key, Changed<Mana>>().for_each(|key| note(format!("mana of {} changed", named(world, key))));
    world.query_filtered::<Key, Added<Rage>>().for_each(|key| note(format!("rage of {} came", named(world, key))));
    world.query_filtered::<Key, Changed<Rage>>().for_each(|key| note(format!("rage of {} changed", named(world, key))));
    world
        .query_filtered::<Key, Changed<Breath>>()
        .for_each(|key| note(format!("breath of {} changed", named(world, key))));
    world.query_filtered::<Key, Added<Alert>>().for_each(|key| note(format!("alert of {} came", named(world, key))));
    news
}
