//! Registries, codecs, versions.

use crate::kit::*;
use phalanx::snapshot::{Codec, CodecError, Problem, Registry, RegistryError, SaveError, Serde};
use phalanx::store::Soa;
use phalanx::{Component, World};
use serde::{Deserialize, Serialize};

fn file_of(registry: &Registry, fill: impl FnOnce(&mut World)) -> Vec<u8> {
    let mut world = World::new();
    fill(&mut world);
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    file
}

#[test]
fn names_and_types_are_registered_once() {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap();
    let twice = registry.plain::<Position>("place").unwrap_err();
    assert!(matches!(twice, RegistryError::TypeTwice { name: "position", .. }), "{twice}");
    let taken = registry.serde::<Name>("position").unwrap_err();
    assert!(matches!(taken, RegistryError::NameTaken { name: "position", .. }), "{taken}");
    assert!(matches!(registry.serde::<Name>("").unwrap_err(), RegistryError::BadName { .. }));
    let long = "a name that is longer than sixty-three bytes, which is too much of it";
    assert!(matches!(registry.serde::<Name>(long).unwrap_err(), RegistryError::BadName { .. }));
    registry.serde_resource::<Score>("position").unwrap();
    assert!(registry.serde_resource::<Score>("score").is_err());
}

#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Swapped {
    y: f32,
    x: f32,
}
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Wide {
    x: f64,
    y: f64,
}
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "pool", plain)]
#[repr(C)]
struct Pooled {
    x: f32,
    y: f32,
}

#[test]
fn h67_another_schema_is_refused() {
    let file = file_of(registry(), |world| drop(world.spawn(Position { x: 1.0, y: 2.0 })));
    let refused = |registry: &Registry| registry.load(&*file).unwrap_err().problem;
    let what = |problem: Problem| match problem {
        Problem::Schema { name: "position", what, .. } => what,
        other => panic!("{other}"),
    };
    let mut other = Registry::new();
    other.plain::<Swapped>("position").unwrap();
    assert_eq!(what(refused(&other)), "schema hash", "the same size, other fields");
    let mut other = Registry::new();
    other.plain::<Wide>("position").unwrap();
    assert_eq!(what(refused(&other)), "schema hash");
    let mut other = Registry::new();
    other.plain::<Pooled>("position").unwrap();
    assert_eq!(what(refused(&other)), "layout");
    let mut other = Registry::new();
    other.serde::<Position>("position").unwrap();
    assert_eq!(what(refused(&other)), "codec");
    let mut other = Registry::new();
    other.plain::<Position>("position").unwrap().version(1);
    assert!(matches!(refused(&other), Problem::OldVersion { name: "position", found: 0, expected: 1 }));
    assert!(matches!(refused(&Registry::new()), Problem::UnknownName { name } if name.as_str() == "position"));
}

#[derive(Component, Soa, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct OldVelocity {
    x: f32,
    y: f32,
}

#[test]
fn older_versions_are_converted() {
    let mut old = Registry::new();
    old.plain::<OldVelocity>("velocity").unwrap().version(3);
    old.serde::<Name>("name").unwrap();
    old.plain::<Pooled>("burning").unwrap();
    old.serde_resource::<Score>("score").unwrap();
    let (mut a, mut b) = (None, None);
    let file = file_of(&old, |world| {
        a = Some(world.spawn((OldVelocity { x: 1.0, y: 2.0 }, Name("ann".into()), Pooled { x: 9.0, y: 0.0 })));
        b = Some(world.spawn((OldVelocity { x: 3.0, y: 4.0 }, Name("bob".into()))));
        world.insert_resource(Score(7, "x".into()));
    });
    let mut new = Registry::new();
    let velocity = new.plain::<Velocity>("velocity").unwrap().version(4);
    velocity.migrate_plain(3, |old: OldVelocity| Velocity { x: old.x, y: old.y as u16 });
    // The text has become a list of letters.
    #[derive(Component, Serialize, Deserialize, Debug, PartialEq)]
    struct Letters(Vec<char>);
    new.serde::<Letters>("name").unwrap().version(1).migrate_serde(0, |old: Name| Letters(old.0.chars().collect()));
    let burning = new.serde::<Burning>("burning").unwrap().version(2);
    burning.migrate_plain(0, |old: Pooled| Burning(old.x as u64)).migrate_serde(1, |old: u64| Burning(old));
    let clock = new.plain_resource::<Clock>("score").unwrap().version(1);
    clock.migrate_codec(0, Serde, |old: Score| Clock(old.0.into()));
    let world = new.load(&*file).unwrap();
    world.validate().unwrap();
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(world.get::<Velocity>(a), Ok(Velocity { x: 1.0, y: 2 }));
    assert_eq!(world.get::<Velocity>(b), Ok(Velocity { x: 3.0, y: 4 }));
    assert_eq!(world.get::<Letters>(b).unwrap().0, ['b', 'o', 'b']);
    assert_eq!(world.get::<Burning>(a), Ok(&Burning(9)));
    assert_eq!(world.resource::<Clock>(), Ok(&Clock(7)));
}

#[test]
fn a_value_without_an_encoded_form_is_named() {
    struct Refuses;
    impl Codec<Name> for Refuses {
        fn name(&self) -> &'static str {
            "refuses"
        }
        fn encode(&self, _: &Name, _: &mut Vec<u8>) -> Result<(), CodecError> {
            Err(CodecError("not today"))
        }
        fn decode(&self, _: &mut &[u8]) -> Result<Name, CodecError> {
            Err(CodecError("not today"))
        }
    }
    let mut registry = Registry::new();
    registry.codec("name", Refuses).unwrap();
    let mut world = World::new();
    world.spawn(Name("x".into()));
    let expected = SaveError::Codec { name: "name", error: CodecError("not today") };
    assert_eq!(registry.save(&world, Vec::new()), Err(expected));
}

#[test]
fn writers_that_fail_are_errors() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if bytes.len() > self.0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let world = world(1, 100);
    let all = bytes(&world).len();
    assert!(registry().save(&world, Full(all)).is_ok());
    for room in (0..all).step_by(7) {
        assert_eq!(registry().save(&world, Full(room)), Err(SaveError::Io(std::io::ErrorKind::StorageFull)));
    }
}
