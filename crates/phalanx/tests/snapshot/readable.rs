//! Worlds in formats of serde.

use crate::kit::*;
use phalanx::World;
use phalanx::snapshot::Registry;

fn json(world: &World) -> String {
    let mut json = Vec::new();
    registry().serialize(world, &mut serde_json::Serializer::pretty(&mut json)).unwrap();
    String::from_utf8(json).unwrap()
}

fn read(json: &str) -> Result<World, serde_json::Error> {
    registry().deserialize(&mut serde_json::Deserializer::from_str(json))
}

#[test]
fn a_world_goes_through_json_and_back() {
    for seed in 0..15 {
        let world = world(seed, 120);
        let copy = read(&json(&world)).unwrap();
        copy.validate().unwrap();
        assert_eq!(registry().checksum(&copy), registry().checksum(&world), "seed {seed}");
    }
}

#[test]
fn what_is_edited_is_checked() {
    let mut world = World::new();
    let ann = world.spawn((Name("Ann".into()), Burning(5)));
    let text = json(&world);
    let renamed = read(&text.replace("Ann", "Bob")).unwrap();
    assert_eq!(renamed.get::<Name>(ann).unwrap().0, "Bob");
    for (from, to) in [
        ("\"name\",", "\"nome\","),
        ("\"format\": 1", "\"format\": 2"),
        ("\"free\": []", "\"free\": [0]"),
        ("\"free\": []", "\"fre\": []"),
        ("\"Ann\"", "7"),
        ("\"Ann\"", "\"Ann\", \"Eve\""),
        ("\"removal\": 0", "\"removal\": 9"),
    ] {
        assert!(text.contains(from), "{from} in {text}");
        assert!(read(&text.replacen(from, to, 1)).is_err(), "{from} to {to}");
    }
}

#[test]
fn formats_without_names_do_as_well() {
    let world = world(4, 80);
    let mut file = Vec::new();
    struct All<'a>(&'a World);
    impl serde::Serialize for All<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            registry().serialize(self.0, serializer)
        }
    }
    file = postcard::to_extend(&All(&world), file).unwrap();
    let copy = registry().deserialize(&mut postcard::Deserializer::from_bytes(&file)).unwrap();
    assert_eq!(registry().checksum(&copy), registry().checksum(&world));
}

#[test]
fn what_has_no_readable_form_is_named() {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap();
    let mut world = World::new();
    world.spawn(Position { x: 0.0, y: 0.0 });
    let error = registry.serialize(&world, &mut serde_json::Serializer::new(Vec::new())).unwrap_err();
    assert!(error.to_string().contains("position has no readable form"), "{error}");
}
