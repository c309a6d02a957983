//! Parts of worlds.

use crate::kit::*;
use phalanx::snapshot::{Part, SaveError};
use phalanx::{Entity, Key, Role, With, World};

fn part(world: &World, part: &Part) -> World {
    let mut file = Vec::new();
    registry().save_part(world, part, &mut file).unwrap();
    load(&file)
}

#[test]
fn a_part_has_the_entities_that_match_and_no_others() {
    for seed in 0..20 {
        let world = world(seed, 150);
        let copy = part(&world, &Part::matching::<With<Position>>(&world));
        let mut expected: Vec<Entity> = world.query_filtered::<Entity, With<Position>>().iter().collect();
        expected.sort();
        expected.dedup();
        assert_eq!(copy.iter().collect::<Vec<_>>(), expected);
        for e in expected {
            assert_eq!(copy.get::<Name>(e).ok(), world.get::<Name>(e).ok());
            assert_eq!(copy.get::<Burning>(e).ok(), world.get::<Burning>(e).ok());
            assert_eq!(copy.get::<Path>(e).ok(), world.get::<Path>(e).ok());
            assert_eq!(copy.rows(e).unwrap().count(), world.rows(e).unwrap().count());
        }
        assert!(copy.resource::<Score>().is_err());
        // Who was left out is dead: new entities do not come under old names.
        let (mut copy, mut made) = (copy, Vec::new());
        for _ in 0..300 {
            made.push(copy.spawn_empty());
        }
        assert!(made.iter().all(|e| !world.contains(*e) || e.index() as usize >= world.len()));
    }
}

#[test]
fn a_part_has_the_components_that_it_names() {
    let mut world = World::new();
    let a = world.spawn((Position { x: 1.0, y: 1.0 }, Name("a".into()), Burning(3)));
    let b = world.spawn((Position { x: 2.0, y: 2.0 }, Velocity { x: 1.0, y: 1 }));
    let copy = part(&world, &Part::all().components(["position", "burning"]));
    assert_eq!(copy.get::<Position>(b).unwrap().x, 2.0);
    assert_eq!(copy.get::<Burning>(a), Ok(&Burning(3)));
    assert!(!copy.has::<Name>(a) && !copy.has::<Velocity>(b));
    let unknown = registry().save_part(&world, &Part::all().components(["size"]), Vec::new());
    assert_eq!(unknown, Err(SaveError::UnknownName { name: "size" }));
}

#[test]
fn extra_rows_go_with_their_entity() {
    let mut world = World::new();
    let [a, b] = [world.spawn_empty(), world.spawn_empty()];
    for (e, x) in [(a, 1.0), (b, 2.0)] {
        world.add_row(Key::main(e).with_role(Role(1)), Position { x, y: 0.0 }).unwrap();
    }
    let copy = part(&world, &Part::of([b]).with_resources());
    assert!(!copy.contains(a));
    assert_eq!(copy.row(Key::main(b).with_role(Role(1))).unwrap().get::<Position>().unwrap().x, 2.0);
    assert_eq!(copy.row_count(), 2);
}
