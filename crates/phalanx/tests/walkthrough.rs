//! Archetypes step by step: kinds of entities, signature bits, columns, and where rows move.

use phalanx::{Component, ComponentId, Entity, Signature, With, Without, World};

macro_rules! components {
    ($($name:ident)*) => {$(
        #[derive(Component, Clone, Copy, Debug, PartialEq)]
        struct $name(f32);
    )*};
}
components!(Acceleration Orientation Mass Health Mana Joystick Planner Intensity);

#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Position {
    x: f32,
    y: f32,
}

#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Velocity {
    x: f32,
    y: f32,
}

fn p(n: usize) -> Position {
    Position { x: n as f32, y: -(n as f32) }
}
fn v(n: usize) -> Velocity {
    Velocity { x: 10.0 + n as f32, y: 0.5 }
}
fn a(n: usize) -> Acceleration {
    Acceleration(100.0 + n as f32)
}
fn m(n: usize) -> Mass {
    Mass(1000.0 + n as f32)
}

/// "Entity overview": six kinds of entities, and what they have.
#[test]
fn six_kinds_of_entities_and_their_components() {
    let mut world = World::new();
    let moving = || (p(0), v(0), a(0));
    let body = || (moving(), Orientation(0.0), Mass(1.0));
    let [player, cart, waypoint, npc, bullet, light] = [
        world.spawn((body(), Health(1.0), Mana(1.0), Joystick(0.0))),
        world.spawn(body()),
        world.spawn(p(0)),
        world.spawn((body(), Health(1.0), Mana(1.0), Planner(0.0))),
        world.spawn(moving()),
        world.spawn((p(0), Orientation(0.0), Intensity(1.0))),
    ];
    let names = |e: Entity| -> Vec<String> {
        let mut names: Vec<String> =
            world.entity(e).unwrap().component_names().map(|n| n.rsplit("::").next().unwrap().to_lowercase()).collect();
        names.sort();
        names
    };
    let sorted = |text: &str| -> Vec<String> {
        let mut names: Vec<String> = text.split(", ").map(str::to_string).collect();
        names.sort();
        names
    };
    let shared = "position, velocity, acceleration, orientation, mass";
    assert_eq!(names(player), sorted(&format!("{shared}, health, mana, joystick")));
    assert_eq!(names(cart), sorted(shared));
    assert_eq!(names(waypoint), ["position"]);
    assert_eq!(names(npc), sorted(&format!("{shared}, health, mana, planner")));
    assert_eq!(names(bullet), sorted("position, velocity, acceleration"));
    assert_eq!(names(light), sorted("position, orientation, intensity"));

    // What a query asks for decides whom it finds, in the order in which the kinds were made.
    let found = |it: &mut dyn Iterator<Item = Entity>| it.collect::<Vec<_>>();
    assert_eq!(found(&mut world.query::<(Entity, &Position)>().iter().map(|i| i.0)).len(), 6);
    assert_eq!(
        found(&mut world.query::<(Entity, &Velocity)>().iter().map(|i| i.0)),
        [player, cart, npc, bullet],
        "what moves"
    );
    assert_eq!(found(&mut world.query_filtered::<Entity, With<Health>>().iter()), [player, npc]);
    assert_eq!(found(&mut world.query_filtered::<Entity, (With<Orientation>, Without<Mass>)>().iter()), [light]);
    world.validate().unwrap();
}

/// "Relation between bits within an archetype and component positions": 00101101.
#[test]
fn bits_lead_to_columns() {
    let [position, velocity, acceleration, mass] = [0, 2, 3, 5].map(ComponentId::from_index);
    let archetype = Signature::of([position, velocity, acceleration, mass]);
    let none = Signature::EMPTY;
    assert_eq!([position, velocity, acceleration, mass].map(|id| archetype.index(id, &none)), [0, 1, 2, 3]);
    assert_eq!((archetype.count(&none), archetype.len()), (4, 4));
    assert_eq!([1, 4, 6, 7].map(|bit| archetype.index_of(ComponentId::from_index(bit), &none)), [None; 4]);

    // Components without data are masked out: those above move up, and the masked one has no column.
    let void = Signature::of([velocity]);
    assert_eq!([position, acceleration, mass].map(|id| archetype.index(id, &void)), [0, 1, 2]);
    assert_eq!((archetype.index_of(velocity, &void), archetype.count(&void)), (None, 3));
}

/// "Deriving archetypes", "Subtypes and membership".
#[test]
fn archetypes_are_sets() {
    let [a, b, c] = [1, 70, 700].map(ComponentId::from_index);
    let ab = Signature::EMPTY.with(a).with(b);
    assert_eq!(ab, Signature::of([b, a]));
    assert!(ab.has(a) && !ab.has(c) && ab.contains(&Signature::of([a])) && !Signature::of([a]).contains(&ab));
    assert!(ab.contains(&Signature::EMPTY) && ab.contains(&ab));
    let bc = Signature::of([b, c]);
    assert_eq!(ab.merge(&bc), Signature::of([a, b, c]));
    assert_eq!(ab.intersection(&bc), Signature::of([b]));
    assert_eq!(ab.difference(&bc), Signature::of([a]));
    assert_eq!(ab.with(c).without(c), ab);
    assert!(ab.merge(&bc).iter().eq([a, b, c]), "by ascending bit");
}

/// A slot is given out again, the last one first; here under another generation, so that the old name stays dead.
#[test]
fn ended_entities_are_reclaimed_last_in_first_out() {
    let mut world = World::new();
    let [a, b, c] = [world.spawn_empty(), world.spawn_empty(), world.spawn_empty()];
    assert_eq!([a, b, c].map(|e| e.index()), [0, 1, 2]);
    world.despawn(a).unwrap();
    world.despawn(c).unwrap();
    let [d, e, f] = [world.spawn_empty(), world.spawn_empty(), world.spawn_empty()];
    assert_eq!([d, e, f].map(|e| (e.index(), e.generation())), [(2, 1), (0, 1), (3, 0)]);
    assert!(!world.contains(a) && !world.contains(c) && world.contains(b));
}

/// "Archetype storage overview": an entity leads to a table and a row, components to packed lanes of x and of y.
#[test]
fn components_are_packed_lanes() {
    let mut world = World::new();
    let entities = world.spawn_batch((0..5).map(|n| (v(n), p(n), a(n))));
    let mut tables = 0;
    for (rows, positions, velocities, accelerations) in
        world.query::<(Entity, &Position, &Velocity, &Acceleration)>().chunks()
    {
        tables += 1;
        assert_eq!(rows, entities);
        assert_eq!(positions.x, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(positions.y, [0.0, -1.0, -2.0, -3.0, -4.0]);
        assert_eq!(velocities.x, [10.0, 11.0, 12.0, 13.0, 14.0]);
        assert_eq!(velocities.y, [0.5; 5]);
        assert!(accelerations.iter().map(|a| a.0).eq([100.0, 101.0, 102.0, 103.0, 104.0]));
    }
    assert_eq!(tables, 1);
}

/// The rows of the entities with and without a mass, in order.
fn rows(world: &World) -> (Vec<Entity>, Vec<Entity>) {
    let light = world.query_filtered::<Entity, (With<Position>, Without<Mass>)>().iter().collect();
    (light, world.query_filtered::<Entity, With<Mass>>().iter().collect())
}

/// That a row's values went with it.
fn assert_values(world: &World, e: Entity, n: usize) {
    assert_eq!((world.get::<Position>(e), world.get::<Velocity>(e)), (Ok(p(n)), Ok(v(n))));
    assert_eq!(world.get::<Acceleration>(e), Ok(&a(n)));
}

/// "Moving an entity from one bucket to another": row n-1 moves behind the last of the new table, row n replaces it.
#[test]
fn migrating_an_entity() {
    let mut world = World::new();
    let old = world.spawn_batch((0..4).map(|n| (p(n), v(n), a(n))));
    let new = world.spawn_batch((4..7).map(|n| (p(n), v(n), a(n), m(n))));
    world.insert(old[2], m(2)).unwrap();
    assert_eq!(rows(&world), (vec![old[0], old[1], old[3]], vec![new[0], new[1], new[2], old[2]]));
    old.iter().zip(0..).chain(new.iter().zip(4..)).for_each(|(e, n)| assert_values(&world, *e, n));
    assert_eq!(world.get::<Mass>(old[2]), Ok(&m(2)));
    assert_eq!(world.get::<Mass>(new[2]), Ok(&m(6)));
    // The last of a table leaves no gap to fill.
    world.insert(old[3], m(3)).unwrap();
    assert_eq!(rows(&world).0, [old[0], old[1]]);
    world.validate().unwrap();
}

/// "Removing a component from an entity": the same way back.
#[test]
fn removing_a_component() {
    let mut world = World::new();
    let light = world.spawn_batch((0..3).map(|n| (p(n), v(n), a(n))));
    let heavy = world.spawn_batch((3..7).map(|n| (p(n), v(n), a(n), m(n))));
    assert_eq!(world.remove::<Mass>(heavy[2]), Ok(true));
    assert_eq!(rows(&world), (vec![light[0], light[1], light[2], heavy[2]], vec![heavy[0], heavy[1], heavy[3]]));
    light.iter().zip(0..).chain(heavy.iter().zip(3..)).for_each(|(e, n)| assert_values(&world, *e, n));
    assert!(world.get::<Mass>(heavy[2]).is_err());
    assert_eq!(world.get::<Mass>(heavy[3]), Ok(&m(6)));
    // Removing an absent component is not an error, and moves no entity.
    assert_eq!(world.remove::<Mass>(heavy[2]), Ok(false));
    world.validate().unwrap();
}

/// "Deleting entities": the last row replaces the one that goes.
#[test]
fn deleting_an_entity() {
    let mut world = World::new();
    let all = world.spawn_batch((0..5).map(|n| (p(n), v(n), a(n))));
    world.despawn(all[3]).unwrap();
    assert_eq!(rows(&world).0, [all[0], all[1], all[2], all[4]]);
    world.despawn(all[0]).unwrap();
    assert_eq!(rows(&world).0, [all[4], all[1], all[2]]);
    world.despawn(all[2]).unwrap();
    assert_eq!(rows(&world).0, [all[4], all[1]]);
    assert_values(&world, all[4], 4);
    assert_values(&world, all[1], 1);
    world.validate().unwrap();
}

/// A system runs over a player, the player's only component is removed, the system runs again, and the player is still alive.
#[test]
fn an_entity_outlives_its_last_component() {
    #[derive(Component, Debug, PartialEq)]
    struct Hp(u32);
    fn update(world: &mut World) -> usize {
        let mut updated = 0;
        for healths in world.query_mut::<&mut Hp>().chunks() {
            healths.iter_mut().for_each(|health| health.0 = 1);
            updated += healths.len();
        }
        updated
    }
    let mut game = World::new();
    let player = game.spawn(Hp(100));
    assert_eq!(update(&mut game), 1);
    assert_eq!(game.get::<Hp>(player), Ok(&Hp(1)));
    assert_eq!(game.remove::<Hp>(player), Ok(true));
    assert_eq!(update(&mut game), 0);
    assert!(game.contains(player), "lives on after its last component is gone");
    assert_eq!(game.entity(player).unwrap().component_names().count(), 0);
    game.despawn(player).unwrap();
    assert!(game.is_empty());
    game.validate().unwrap();
}
