//! Plain data with forbidden bytes, saved, and loaded from forged bytes.

use crate::forge::Forged;
use phalanx::snapshot::{Problem, Registry};
use phalanx::store::Soa;
use phalanx::{Component, Entity, Plain, World};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain, entities)]
struct Target(Entity);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", track = "row", plain, entities)]
struct Owner([Entity; 2]);
#[derive(Plain, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Mood {
    Calm = 3,
    Wild = 7,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", plain)]
struct Held {
    letter: char,
    flags: [bool; 3],
    mood: Mood,
}
#[derive(Component, Soa, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", track = "column", plain)]
struct Aim {
    on: bool,
    at: Entity,
}
#[derive(Plain, Clone, Copy, Debug, PartialEq)]
struct Leader(Entity);

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Target>("target").unwrap();
    registry.plain::<Owner>("owner").unwrap();
    registry.plain::<Held>("held").unwrap();
    registry.plain::<Aim>("aim").unwrap();
    registry.plain_resource::<Leader>("leader").unwrap();
    registry
}

fn held(n: u8) -> Held {
    Held { letter: 'q', flags: [n == 0, true, false], mood: if n > 1 { Mood::Wild } else { Mood::Calm } }
}

fn world() -> World {
    let mut world = World::new();
    let all: Vec<Entity> = (0..4).map(|_| world.spawn_empty()).collect();
    world.despawn(all[1]).unwrap();
    let b = world.spawn_empty();
    world.insert(all[0], (Target(b), Owner([b, all[3]]), held(0))).unwrap();
    world.insert(b, (Target(all[2]), Aim { on: true, at: all[0] })).unwrap();
    world.insert(all[3], (Owner([all[0], b]), Aim { on: false, at: b }, held(2))).unwrap();
    world.insert_resource(Leader(b));
    world
}

fn file(world: &World) -> Vec<u8> {
    let mut file = Vec::new();
    registry().save(world, &mut file).unwrap();
    file
}

#[test]
fn plain_data_of_all_kinds_comes_back() {
    let world = world();
    let copy = registry().load(&*file(&world)).unwrap();
    copy.validate().unwrap();
    for e in world.iter() {
        assert_eq!(copy.get::<Target>(e).ok(), world.get::<Target>(e).ok());
        assert_eq!(copy.get::<Owner>(e).ok(), world.get::<Owner>(e).ok());
        assert_eq!(copy.get::<Held>(e).ok(), world.get::<Held>(e).ok());
        assert_eq!(copy.get::<Aim>(e).ok(), world.get::<Aim>(e).ok());
    }
    assert_eq!(copy.resource::<Leader>(), world.resource::<Leader>());
    assert_eq!(file(&copy), file(&world));
}

/// The bytes of a value, which may be no value.
#[allow(unsafe_code)]
fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: plain data has no padding. The value is not looked at but by its bytes.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) }
}

#[test]
fn h63_no_bytes_of_a_snapshot_make_a_value_that_cannot_be() {
    let (registry, forged) = (registry(), Forged::of(&file(&world())));
    let (mut refused, mut loaded) = (0, 0);
    for (at, section) in forged.sections.iter().enumerate() {
        for byte in 0..section.bytes.len() {
            for value in [0, 1, 2, 3, 7, 8, 0x10, 0x11, 0x3f, 0x40, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xd7, 0xd8, 0xff] {
                let mut other = forged.clone();
                other.sections[at].bytes[byte] = value;
                let Ok(world) = registry.load(&*other.file()) else {
                    refused += 1;
                    continue;
                };
                loaded += 1;
                world.validate().unwrap();
                world.query::<&Target>().for_each(|target| assert!(Target::is_valid(bytes_of(target))));
                world.query::<&Owner>().for_each(|owner| assert!(Owner::is_valid(bytes_of(owner))));
                world.query::<&Held>().for_each(|held| assert!(Held::is_valid(bytes_of(held))));
                for aim in world.query::<&Aim>().chunks() {
                    aim.on.iter().for_each(|on| assert!(bool::is_valid(bytes_of(on))));
                    aim.at.iter().for_each(|at| assert!(Entity::is_valid(bytes_of(at))));
                }
                if let Ok(leader) = world.resource::<Leader>() {
                    assert!(Leader::is_valid(bytes_of(leader)));
                }
            }
        }
    }
    assert!(refused > 1000 && loaded > 1000, "{refused} {loaded}");
}

/// Which value of which column it is, is said.
#[test]
fn a_value_that_cannot_be_is_named() {
    let file = file(&world());
    let registry = registry();
    let problem = |kind: &[u8; 4], find: &dyn Fn(&[u8]) -> Option<usize>, value: u8| {
        let mut forged = Forged::of(&file);
        let sections = forged.sections.iter_mut().filter(|section| section.kind == *kind);
        let (section, at) = sections.filter_map(|s| find(&s.bytes).map(|at| (s, at))).next().unwrap();
        section.bytes[at] = value;
        registry.load(&*forged.file()).unwrap_err().problem
    };
    let letter = |bytes: &[u8]| bytes.windows(4).rposition(|four| four == [b'q', 0, 0, 0]).map(|at| at + 3);
    let found = problem(b"side", &letter, 1);
    assert!(matches!(found, Problem::Value { name: "held", row: 1, .. }), "{found}");
    let leader = |bytes: &[u8]| Some(bytes.len() - 1);
    let found = problem(b"rsrc", &leader, 0x40);
    assert!(matches!(found, Problem::Value { name: "leader", .. }), "{found}");
}

mod before {
    use super::*;
    #[derive(Plain, Clone, Copy)]
    pub(super) struct Place {
        pub(super) x: f32,
        pub(super) y: f32,
    }
    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    pub(super) struct Route {
        pub(super) places: [Place; 2],
    }
    #[derive(Component, Soa, Clone, Copy)]
    #[soa(crate = "phalanx::store")]
    #[component(layout = "soa", plain)]
    pub(super) struct Lanes {
        pub(super) place: Place,
    }
}

mod after {
    use super::*;
    #[derive(Plain, Clone, Copy)]
    pub(super) struct Place {
        pub(super) y: f32,
        pub(super) x: f32,
    }
    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    pub(super) struct Route {
        pub(super) places: [Place; 2],
    }
    #[derive(Component, Soa, Clone, Copy)]
    #[soa(crate = "phalanx::store")]
    #[component(layout = "soa", plain)]
    pub(super) struct Lanes {
        pub(super) place: Place,
    }
}

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Both<T>(T, T);

#[test]
fn h67_other_fields_of_a_nested_struct_are_refused() {
    fn refused<Old: Component, New: Component>(value: Old) -> bool
    where
        Old::Layout: phalanx::snapshot::PlainLayout<Old>,
        New::Layout: phalanx::snapshot::PlainLayout<New>,
    {
        let (mut old, mut new, mut same) = (Registry::new(), Registry::new(), Registry::new());
        old.plain::<Old>("value").unwrap();
        same.plain::<Old>("value").unwrap();
        new.plain::<New>("value").unwrap();
        let (mut world, mut file) = (World::new(), Vec::new());
        world.spawn(value);
        old.save(&world, &mut file).unwrap();
        assert!(same.load(&*file).is_ok());
        let error = new.load(&*file).map(drop);
        matches!(error, Err(error) if matches!(error.problem, Problem::Schema { what: "schema hash", .. }))
    }
    let place = before::Place { x: 1.0, y: 2.0 };
    assert!(refused::<_, after::Route>(before::Route { places: [place; 2] }));
    assert!(refused::<_, after::Lanes>(before::Lanes { place }));
    let after = after::Place { x: 1.0, y: 2.0 };
    assert!(refused::<_, before::Route>(after::Route { places: [after; 2] }));
    assert!(refused::<_, before::Lanes>(after::Lanes { place: after }));
    // A parameter is part of the schema, which its declaration does not name.
    assert!(refused::<_, Both<f32>>(Both(1_u32, 2)));
    let values = (place.x, place.y, after.x, after.y);
    assert_eq!(values, (1.0, 2.0, 1.0, 2.0));
}
