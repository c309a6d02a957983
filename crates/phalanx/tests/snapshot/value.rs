//! Single values in readable form, and lists of differences.

use phalanx::relation::ChildOf;
use phalanx::snapshot::{Difference, Registry, ValueError, diff, diff_all};
use phalanx::store::Soa;
use phalanx::{Component, ComponentError, Entity, NameError, StructuralError, World};
use phalanx_testkit::{catch, for_every_failing_allocation, quiet_panics};
use serde::{Deserialize, Serialize};

#[derive(Component, Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Bag {
    items: Vec<String>,
    weight: f32,
}
#[derive(Soa, Component, Serialize, Deserialize, Debug, PartialEq, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa", plain)]
struct Place {
    x: i32,
    y: u8,
}
#[derive(Component, Serialize, Deserialize, Debug, PartialEq, Clone, Copy)]
#[component(layout = "pool", track = "row", plain)]
struct Score(u32);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "linear", plain)]
struct Bits(u64);
#[derive(Component)]
struct Tag;
#[derive(Component, Serialize, Debug)]
struct Hostile(u8);

impl<'de> Deserialize<'de> for Hostile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        assert!(number < 100, "hostile");
        Ok(Hostile(number))
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.serde::<Bag>("bag").unwrap();
    registry.plain::<Place>("place").unwrap().readable();
    registry.plain::<Score>("score").unwrap().readable();
    registry.plain::<Bits>("bits").unwrap();
    registry.tag("tag", || Tag).unwrap();
    registry.serde::<Hostile>("hostile").unwrap();
    registry.relation::<ChildOf>("child of").unwrap();
    registry.names("name").unwrap();
    registry
}

fn json(registry: &Registry, world: &World, entity: Entity, name: &str) -> Result<String, ValueError> {
    registry.value(world, entity, name).map(|value| serde_json::to_string(&value).unwrap())
}

fn insert(registry: &Registry, world: &mut World, entity: Entity, name: &str, json: &str) -> Result<(), ValueError> {
    registry.insert_value(world, entity, name, &mut serde_json::Deserializer::from_str(json))
}

#[test]
fn one_value_is_written_and_read_in_all_layouts() {
    let (registry, mut world) = (registry(), World::new());
    let e = world.spawn_named("sun", ()).unwrap();
    let child = world.entity_mut(e).unwrap().spawn_child(());
    let texts = [
        ("bag", r#"{"items":["a","b"],"weight":1.5}"#),
        ("place", r#"{"x":-7,"y":200}"#),
        ("score", "12"),
        ("tag", "null"),
        ("hostile", "9"),
        ("name", "\"moon\""),
    ];
    for (name, text) in texts {
        insert(&registry, &mut world, e, name, text).unwrap();
        assert_eq!(json(&registry, &world, e, name).unwrap(), text, "{name}");
        world.validate().unwrap();
    }
    assert_eq!(world.find("moon"), Some(e));
    assert_eq!(world.get::<Bag>(e).unwrap().items, ["a", "b"]);
    assert_eq!(world.get::<Place>(e).unwrap(), Place { x: -7, y: 200 });
    // A second insertion replaces the value, and is a change.
    world.clear_trackers();
    insert(&registry, &mut world, e, "score", "13").unwrap();
    assert!(world.get_ref::<Score>(e).unwrap().is_changed());
    let names: Vec<&str> = registry.names_in(&world).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["bag", "place", "score", "tag", "hostile", "child of", "name"]);
    let id = world.component_id::<Bag>().unwrap();
    assert_eq!(registry.name_of(world.components().info(id)), Some("bag"));
    assert!(json(&registry, &world, child, "child of").is_ok());
}

#[test]
fn what_cannot_be_read_or_inserted_changes_nothing() {
    let (registry, mut world) = (registry(), World::new());
    let e = world.spawn_named("a", (Bag { items: vec![], weight: 0.0 }, Bits(1))).unwrap();
    let other = world.spawn_named("b", ()).unwrap();
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    let before = registry.checksum(&world).unwrap();
    let of = |result: Result<(), ValueError>| result.unwrap_err();
    assert!(matches!(
        of(insert(&registry, &mut world, e, "bag", r#"{"items":3}"#)),
        ValueError::Invalid { name: "bag", .. }
    ));
    assert!(matches!(of(insert(&registry, &mut world, e, "place", r#"{"x":1,"y":300}"#)), ValueError::Invalid { .. }));
    assert!(matches!(of(insert(&registry, &mut world, e, "tag", "1")), ValueError::Invalid { .. }));
    assert!(matches!(of(insert(&registry, &mut world, e, "bits", "1")), ValueError::NotReadable { name: "bits" }));
    assert!(matches!(of(insert(&registry, &mut world, e, "child of", "1")), ValueError::NotReadable { .. }));
    assert!(matches!(of(insert(&registry, &mut world, e, "nothing", "1")), ValueError::NotRegistered { .. }));
    assert!(matches!(of(insert(&registry, &mut world, dead, "score", "1")), ValueError::Entity(_)));
    assert!(matches!(
        of(insert(&registry, &mut world, other, "name", "\"a\"")),
        ValueError::Name(NameError::Taken { .. })
    ));
    assert!(matches!(of(insert(&registry, &mut world, other, "name", "\"a/b\"")), ValueError::Invalid { .. }));
    assert!(quiet_panics(|| catch(|| insert(&registry, &mut world, e, "hostile", "200"))).is_err());
    assert_eq!(registry.checksum(&world).unwrap(), before);
    world.validate().unwrap();
    let missing =
        ValueError::Entity(ComponentError::MissingComponent { entity: e, component: std::any::type_name::<Score>() });
    assert_eq!(json(&registry, &world, e, "score"), Err(missing));
    assert!(matches!(json(&registry, &world, dead, "bag"), Err(ValueError::Entity(ComponentError::NoSuchEntity(_)))));
    assert!(matches!(json(&registry, &world, e, "bits"), Err(ValueError::NotReadable { .. })));
}

#[test]
fn failing_allocations_of_an_insertion_change_nothing() {
    let registry = registry();
    for (name, text) in [("place", r#"{"x":1,"y":2}"#), ("score", "3"), ("tag", "null")] {
        let setup = || {
            let mut world = World::new();
            let e = world.spawn(Bits(7));
            let sum = registry.checksum(&world).unwrap();
            (world, e, sum)
        };
        let points = for_every_failing_allocation(
            setup,
            |(world, e, _)| insert(&registry, world, *e, name, text),
            |(world, e, sum), result| {
                world.validate().unwrap();
                match result {
                    Ok(()) => assert_eq!(json(&registry, world, *e, name).unwrap(), text),
                    Err(error) => {
                        let is_alloc = matches!(error, ValueError::Refused(StructuralError::Alloc(_)));
                        assert!(is_alloc, "{error:?}");
                        assert_eq!(registry.checksum(world).unwrap(), *sum);
                    }
                }
            },
        );
        assert!(points > 0, "{name}");
    }
}

#[test]
fn all_differences_are_listed_up_to_the_limit() {
    let registry = registry();
    let mut a = World::new();
    let e: Vec<Entity> = (0..6).map(|n| a.spawn((Score(n), Place { x: n as i32, y: 1 }, Bits(n.into())))).collect();
    a.insert(e[0], Bag { items: vec!["x".into()], weight: f32::NAN }).unwrap();
    let mut file = Vec::new();
    registry.save(&a, &mut file).unwrap();
    let mut b = registry.load(&*file).unwrap();
    assert!(diff_all(&registry, &a, &b, 10).unwrap().list.is_empty());

    b.get_mut::<Bag>(e[0]).unwrap().items.push("y".into());
    b.get_mut::<Bag>(e[0]).unwrap().weight = f32::from_bits(0x7fc0_0001);
    b.query_mut::<(Entity, &mut Place)>().for_each(|(entity, place)| {
        if entity == e[1] {
            *place.y = 2
        }
    });
    b.remove::<Score>(e[2]).unwrap();
    b.despawn(e[3]).unwrap();
    let again = b.spawn(());
    b.get_mut::<Bits>(e[4]).unwrap().0 = 9;
    let found = diff_all(&registry, &a, &b, 100).unwrap();
    assert!(found.is_complete);
    let differences: Vec<Difference> = found.list.iter().map(|found| found.difference).collect();
    assert_eq!(
        differences,
        [
            Difference::Value { entity: e[0], component: "bag" },
            Difference::Value { entity: e[1], component: "place" },
            Difference::Component { entity: e[2], component: "score", in_first: true },
            Difference::Entity { entity: e[3], in_first: true },
            Difference::Entity { entity: again, in_first: false },
            Difference::Value { entity: e[4], component: "bits" },
        ]
    );
    assert_eq!(diff(&registry, &a, &b).unwrap(), Some(differences[0]));
    for limit in 0..8 {
        let some = diff_all(&registry, &a, &b, limit).unwrap();
        assert_eq!((some.list.len(), some.is_complete), (limit.min(6), limit >= 6));
        assert_eq!(some.list[..], found.list[..limit.min(6)]);
    }
    #[cfg(feature = "reflect")]
    {
        let texts: Vec<String> =
            found.list.iter().flat_map(|found| &found.fields).map(|field| field.to_string()).collect();
        assert_eq!(
            texts,
            [
                r#"items is ["x"] in the first and ["x", "y"] in the second"#,
                "weight is NaN (0x7fc00000) in the first and NaN (0x7fc00001) in the second",
                "y is 1 in the first and 2 in the second",
                "it is 4 in the first and 9 in the second",
            ]
        );
    }
}

#[cfg(feature = "reflect")]
#[test]
fn arrays_without_bytes_take_no_time_to_compare() {
    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    struct Hollow {
        holes: [(); usize::MAX],
        number: u32,
    }
    let mut registry = Registry::new();
    registry.plain::<Hollow>("hollow").unwrap();
    let [a, b] = [1, 2].map(|number| {
        let mut world = World::new();
        world.spawn(Hollow { holes: [(); usize::MAX], number });
        world
    });
    let found = diff_all(&registry, &a, &b, 10).unwrap();
    let paths: Vec<_> = found.list[0].fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!((found.list.len(), paths), (1, vec!["number"]));
}
