//! Sparse components of a world: against a model, and what else a user relies on.

use phalanx::store::Entity;
use phalanx::{Component, World};
use phalanx_testkit::{Rng, Tally};
use std::collections::BTreeMap;

mod failures;
mod operations;
mod spawned_together;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Debug, PartialEq, Clone, Copy)]
struct Position(u32);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "pool")]
struct Burning(u64);
#[derive(Component, Debug, PartialEq, Clone)]
#[component(layout = "pool")]
struct Name(String);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "linear")]
struct Health(u16);
#[derive(Component, Debug, PartialEq, Clone)]
#[component(layout = "linear")]
struct Path(Vec<u8>);
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "pool")]
struct Marked;
#[derive(Component, Debug, PartialEq, Clone, Copy)]
#[component(layout = "linear")]
struct Seen;

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    position: Option<Position>,
    burning: Option<Burning>,
    name: Option<Name>,
    health: Option<Health>,
    path: Option<Path>,
    marked: bool,
    seen: bool,
}

fn look(world: &World, e: Entity) -> Model {
    Model {
        position: world.get::<Position>(e).ok().copied(),
        burning: world.get::<Burning>(e).ok().copied(),
        name: world.get::<Name>(e).ok().cloned(),
        health: world.get::<Health>(e).ok().copied(),
        path: world.get::<Path>(e).ok().cloned(),
        marked: world.has::<Marked>(e),
        seen: world.has::<Seen>(e),
    }
}

#[test]
fn all_layouts_together_are_what_the_model_says() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (mut world, mut model) = (World::new(), BTreeMap::<Entity, Model>::new());
        for step in 0..300_u64 {
            let pick = |rng: &mut Rng| model.keys().nth(rng.below(model.len().max(1))).copied();
            match (rng.below(14), pick(&mut rng)) {
                (0, _) => {
                    let e = world.spawn((Burning(step), Position(step as u32), Seen));
                    let (position, burning) = (Some(Position(step as u32)), Some(Burning(step)));
                    model.insert(e, Model { position, burning, seen: true, ..Model::default() });
                }
                (1, _) => {
                    let e = world.spawn((Name(step.to_string()), (Health(7), Marked)));
                    let (name, health) = (Some(Name(step.to_string())), Some(Health(7)));
                    model.insert(e, Model { name, health, marked: true, ..Model::default() });
                }
                (_, None) => {}
                (2, Some(e)) => {
                    world.despawn(e).unwrap();
                    model.remove(&e);
                    assert!(world.get::<Burning>(e).is_err() && world.get::<Health>(e).is_err());
                }
                (3, Some(e)) => {
                    world.insert(e, Burning(step)).unwrap();
                    model.get_mut(&e).unwrap().burning = Some(Burning(step));
                }
                (4, Some(e)) => {
                    world.insert(e, (Name(format!("n{step}")), Path(vec![step as u8; 3]), Position(1))).unwrap();
                    let m = model.get_mut(&e).unwrap();
                    (m.name, m.path) = (Some(Name(format!("n{step}"))), Some(Path(vec![step as u8; 3])));
                    m.position = Some(Position(1));
                }
                (5, Some(e)) => {
                    let had = model[&e].burning.is_some() || model[&e].path.is_some();
                    assert_eq!(world.remove::<(Burning, Path)>(e), Ok(had));
                    let m = model.get_mut(&e).unwrap();
                    (m.burning, m.path) = (None, None);
                }
                (6, Some(e)) => {
                    let m = model.get_mut(&e).unwrap();
                    match world.take::<(Name, Position, Health)>(e) {
                        Ok((name, position, health)) => {
                            assert_eq!(m.name.take(), Some(name));
                            assert_eq!(m.position.take(), Some(position));
                            assert_eq!(m.health.take(), Some(health));
                        }
                        Err(_) => assert!(m.name.is_none() || m.position.is_none() || m.health.is_none()),
                    }
                }
                (7, Some(e)) => {
                    world.exchange::<(Name, Seen, Burning), _>(e, (Health(9), Burning(1))).unwrap();
                    let m = model.get_mut(&e).unwrap();
                    (m.name, m.seen, m.burning, m.health) = (None, false, Some(Burning(1)), Some(Health(9)));
                }
                (8, Some(e)) => {
                    world.insert(e, (Seen, Marked)).unwrap();
                    let m = model.get_mut(&e).unwrap();
                    (m.seen, m.marked) = (true, true);
                }
                (9, Some(e)) => {
                    world.remove::<(Marked, Seen)>(e).unwrap();
                    let m = model.get_mut(&e).unwrap();
                    (m.seen, m.marked) = (false, false);
                }
                (10, Some(e)) => {
                    let m = model.get_mut(&e).unwrap();
                    let old = m
                        .burning
                        .map(|old| std::mem::replace(m.burning.as_mut().unwrap_or(&mut { old }), Burning(step)));
                    assert_eq!(world.replace(e, Burning(step)).ok(), old);
                }
                (11, Some(e)) => {
                    if let Ok(health) = world.get_mut::<Health>(e) {
                        health.0 += 1;
                        model.get_mut(&e).unwrap().health.as_mut().unwrap().0 += 1;
                    }
                }
                (12, Some(_)) if step % 97 == 0 => {
                    world.clear();
                    model.clear();
                }
                _ => {}
            }
            assert_eq!(world.validate(), Ok(()));
            assert_eq!(world.len(), model.len());
            for (e, m) in &model {
                assert_eq!(look(&world, *e), *m, "seed {seed}, step {step}, {e}");
            }
        }
    }
}

#[test]
fn every_value_of_every_layout_ends_once() {
    #[derive(Component)]
    #[component(layout = "pool")]
    struct P(#[allow(dead_code)] phalanx_testkit::Counted);
    #[derive(Component)]
    #[component(layout = "linear")]
    struct L(#[allow(dead_code)] phalanx_testkit::Counted);
    let tally = Tally::new();
    {
        let mut world = World::new();
        let all: Vec<_> = (0..100).map(|_| world.spawn((P(tally.value(0)), L(tally.value(0))))).collect();
        for (n, &e) in all.iter().enumerate() {
            match n % 4 {
                0 => world.insert(e, P(tally.value(0))).unwrap(),
                1 => drop(world.remove::<(P, L)>(e).unwrap()),
                2 => world.despawn(e).unwrap(),
                _ => drop(world.take::<L>(e).unwrap()),
            }
        }
        world.validate().unwrap();
    }
    tally.assert_sound();
    tally.assert_no_leaks();
}
