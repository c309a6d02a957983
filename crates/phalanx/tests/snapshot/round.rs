//! There and back.

use crate::kit::*;
use phalanx::snapshot::{Difference, Registry, SaveError, diff};
use phalanx::{Component, Entity, Key, Role, World};
use phalanx_testkit::Rng;

#[test]
fn what_is_loaded_is_what_was_saved() {
    for seed in 0..40 {
        let world = world(seed, 150);
        let copy = load(&bytes(&world));
        assert_eq!(seen(&world), seen(&copy), "seed {seed}");
        assert_eq!(diff(registry(), &world, &copy), Ok(None));
    }
}

#[test]
fn h66_saving_what_was_loaded_gives_the_same_bytes() {
    for seed in 0..40 {
        let world = world(seed, 200);
        let file = bytes(&world);
        assert!(file == bytes(&world), "saved twice");
        assert!(file == bytes(&load(&file)), "loaded and saved");
    }
}

#[test]
fn h66_equal_histories_are_equal_bytes_whatever_memory_was_reserved() {
    let (a, mut b) = (world(3, 150), World::new());
    for _ in 0..100 {
        let e = b.spawn_empty();
        b.despawn(e).unwrap();
    }
    grow(&mut b, &mut Rng::new(3), 150);
    assert!(bytes(&a) != bytes(&b), "another history");
    // The same, with spare capacity.
    let mut c = world(3, 150);
    c.spawner::<(Position, Velocity)>().reserve(1000);
    assert!(bytes(&c) == bytes(&a));
}

#[test]
fn the_future_is_the_same() {
    for seed in 0..20 {
        let mut world = world(seed, 120);
        let mut copy = load(&bytes(&world));
        grow(&mut world, &mut Rng::new(seed + 1000), 120);
        grow(&mut copy, &mut Rng::new(seed + 1000), 120);
        copy.validate().unwrap();
        assert_eq!(seen(&world), seen(&copy), "seed {seed}");
        assert!(bytes(&world) == bytes(&copy), "seed {seed}");
    }
}

#[test]
fn reserved_entities_are_saved_as_if_they_had_been_made() {
    let mut world = world(5, 60);
    let reserved: Vec<Entity> = (0..5).map(|_| world.reserve_entity()).collect();
    let copy = load(&bytes(&world));
    assert!(reserved.iter().all(|e| !world.contains(*e) && copy.contains(*e)));
    // They come to the world at its next change; then it is what was saved.
    let e = world.spawn_empty();
    world.despawn(e).unwrap();
    let mut copy = copy;
    assert_eq!(copy.spawn_empty(), e);
    copy.despawn(e).unwrap();
    assert!(bytes(&world) == bytes(&copy));
}

#[test]
fn a_world_of_nothing_is_saved_too() {
    let copy = load(&bytes(&World::new()));
    assert!(copy.is_empty());
}

#[test]
fn columns_longer_than_a_frame_come_back() {
    let mut world = World::new();
    for i in 0..50_000_u32 {
        let e = world.spawn((Position { x: i as f32, y: 1.0 }, Velocity { x: 1.0, y: i as u16 }, Name(i.to_string())));
        if i % 3 == 0 {
            world.insert(e, (Burning(i.into()), Health(i as u16))).unwrap();
        }
        if i % 7 == 0 {
            world.despawn(e).unwrap();
        }
    }
    let file = bytes(&world);
    let copy = load(&file);
    assert!(file == bytes(&copy));
    assert_eq!(diff(registry(), &world, &copy), Ok(None));
}

#[test]
fn components_that_are_not_registered_are_named() {
    #[derive(Component)]
    struct Secret;
    let mut world = World::new();
    let e = world.spawn((Secret, Position { x: 1.0, y: 2.0 }));
    let f = world.spawn(Position { x: 3.0, y: 4.0 });
    let error = registry().save(&world, Vec::new()).unwrap_err();
    assert!(matches!(error, SaveError::Unregistered { component } if component.ends_with("Secret")));
    let mut registry = new_registry();
    registry.skip_unregistered();
    let mut file = Vec::new();
    let report = registry.save(&world, &mut file).unwrap();
    assert!(report.skipped.len() == 1 && report.skipped[0].ends_with("Secret"));
    // Two tables that differ in nothing else have become one.
    let copy = load(&file);
    assert_eq!(
        copy.query::<(Entity, &Position)>().iter().map(|(e, p)| (e, p.x)).collect::<Vec<_>>(),
        [(e, 1.0), (f, 3.0)]
    );
}

#[test]
fn the_first_difference_is_named() {
    let registry = registry();
    let base = || {
        let mut world = World::new();
        let a = world.spawn((Position { x: 1.0, y: 2.0 }, Burning(1)));
        let b = world.spawn(Name("b".into()));
        world.insert_resource(Clock(1));
        (world, a, b)
    };
    let (one, a, b) = base();
    let changed = |change: &dyn Fn(&mut World)| {
        let (mut other, ..) = base();
        change(&mut other);
        diff(registry, &one, &other).unwrap()
    };
    assert_eq!(changed(&|_| {}), None);
    assert_eq!(
        changed(&|w| w.get_mut::<Burning>(a).unwrap().0 = 2),
        Some(Difference::Value { entity: a, component: "burning" })
    );
    let lost = Difference::Component { entity: b, component: "name", in_first: true };
    assert_eq!(changed(&|w| drop(w.remove::<Name>(b))), Some(lost));
    assert_eq!(changed(&|w| w.despawn(b).unwrap()), Some(Difference::Entity { entity: b, in_first: true }));
    assert_eq!(changed(&|w| drop(w.insert_resource(Clock(2)))), Some(Difference::Resource { name: "clock" }));
    assert_eq!(
        changed(&|w| drop(w.add_row(Key::main(a).with_role(Role(1)), Enemy))),
        Some(Difference::Rows { entity: a })
    );
    // The same values; another slot is free.
    let order = changed(&|w| {
        let e = w.spawn_empty();
        w.despawn(e).unwrap();
    });
    assert_eq!(order, Some(Difference::Order));
}

#[test]
fn values_without_a_canonical_form_are_named() {
    let mut registry = Registry::new();
    registry.serde::<Name>("name").unwrap().not_canonical();
    let mut world = World::new();
    assert!(registry.checksum(&world).is_ok(), "nobody has it");
    world.spawn(Name("x".into()));
    assert_eq!(registry.checksum(&world), Err(SaveError::NotCanonical { name: "name" }));
    assert_eq!(diff(&registry, &world, &world), Err(SaveError::NotCanonical { name: "name" }));
    assert!(registry.save(&world, Vec::new()).is_ok());
}

#[test]
fn a_file_is_replaced_as_a_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("phalanx-snapshot-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("world.phalanx");
    let (first, second) = (world(1, 50), world(2, 50));
    registry().save_to(&first, &path).unwrap();
    registry().save_to(&second, &path).unwrap();
    let copy = registry().load_from(&path).unwrap();
    assert_eq!(seen(&copy), seen(&second));
    #[derive(Component)]
    struct Secret;
    let mut third = world(3, 50);
    third.spawn(Secret);
    assert!(registry().save_to(&third, &path).is_err());
    assert_eq!(seen(&registry().load_from(&path).unwrap()), seen(&second));
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["world.phalanx"], "nothing is left over");
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(registry().load_from(&path).is_err());
}

#[test]
fn a_snapshot_is_inspected_without_its_types() {
    let mut world = World::new();
    world.spawn((Position { x: 1.0, y: 2.0 }, Burning(1), Health(3)));
    world.spawn(Position { x: 1.0, y: 2.0 });
    let e = world.spawn_empty();
    world.add_row(Key::main(e).with_role(Role(4)), Enemy).unwrap();
    world.insert_resource(Clock(1));
    let file = bytes(&world);
    let found = phalanx::snapshot::inspect(&*file).unwrap();
    assert_eq!((found.slots, found.entities, found.extra_rows, found.free, found.retired), (4, 3, 1, 0, 0));
    let names: Vec<_> = found.components.iter().map(|c| (&*c.name, c.layout, &*c.codec, c.values)).collect();
    let expected = [
        ("burning", "pool", "plain", 1),
        ("enemy", "table", "tag", 1),
        ("health", "linear", "plain", 1),
        ("position", "table", "plain", 2),
    ];
    assert_eq!(names, expected);
    assert_eq!(found.resources, [("clock".to_string(), 8)]);
    assert_eq!(found.tables.iter().map(|t| (t.rows, t.extra)).collect::<Vec<_>>(), [(2, false), (1, false), (1, true)]);
    assert_eq!((found.bytes, Ok(found.checksum)), (file.len() as u64, registry().checksum(&world)));
}

#[test]
fn h01_old_handles_are_dead_in_what_is_loaded() {
    for reuses in [1, 2, 1000] {
        let mut world = World::new();
        let old = world.spawn((Name("old".into()), Burning(1), Health(1)));
        let mut last = old;
        for _ in 0..reuses {
            world.despawn(last).unwrap();
            last = world.spawn((Name("new".into()), Burning(2), Health(2)));
            assert_eq!(last.index(), old.index());
        }
        let mut copy = load(&bytes(&world));
        assert!(!copy.contains(old) && copy.contains(last));
        assert!(
            copy.get::<Name>(old).is_err() && copy.get::<Burning>(old).is_err() && copy.get::<Health>(old).is_err()
        );
        assert!(copy.despawn(old).is_err());
        assert_eq!(copy.get::<Burning>(last), Ok(&Burning(2)));
    }
}
