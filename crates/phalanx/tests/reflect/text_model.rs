//! Random worlds of all layouts and generated queries, against typed code.

use phalanx::reflect::{Reflect, TextQuery};
use phalanx::relation::ChildOf;
use phalanx::store::Soa;
use phalanx::{Component, Entity, Tick, World};
use phalanx_testkit::Rng;

#[derive(Component, Clone, Copy)]
struct Health {
    hp: i32,
    most: u64,
}
#[derive(Component, Clone, Copy)]
struct Speed(f32);
#[derive(Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Place {
    x: f64,
    small: u8,
    on: bool,
}
#[derive(Component, Clone)]
#[component(layout = "pool", track = "row")]
struct Title(String);
#[derive(Component, Clone, Copy)]
#[component(layout = "pool")]
struct Burning;
#[derive(Component, Clone, Copy)]
#[component(layout = "linear")]
struct Target {
    who: Entity,
    team: Team,
}
#[derive(Component, Clone, Copy)]
#[component(track = "row")]
struct Mark(char);
#[derive(Component)]
struct Stunned;

#[derive(Reflect, Clone, Copy, PartialEq, Debug)]
enum Team {
    Red,
    Green,
    Blue,
}

const TEAMS: [Team; 3] = [Team::Red, Team::Green, Team::Blue];
const TITLES: [&str; 4] = ["Orc", "big orc", "Ann", ""];
const FLOATS: [f32; 6] = [-1.5, 0.0, 2.0, 2.5, f32::NAN, f32::INFINITY];

type Holds = dyn Fn(&World, Entity, Tick) -> bool;

/// A condition as text, and as typed code.
struct Case {
    text: String,
    holds: Box<Holds>,
}

impl Case {
    fn new(text: impl Into<String>, holds: impl Fn(&World, Entity, Tick) -> bool + 'static) -> Case {
        Case { text: text.into(), holds: Box::new(holds) }
    }
}

fn holds<T: PartialOrd>(operator: &str, a: T, b: T) -> bool {
    match operator {
        "=" => a == b,
        "!=" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    }
}

fn simple(rng: &mut Rng, entities: &[Entity]) -> Case {
    let operator = ["=", "!=", "<", "<=", ">", ">="][rng.below(6)];
    let number = rng.below(9) as i32 - 4;
    let entity = entities[rng.below(entities.len())];
    match rng.below(19) {
        0 => Case::new("Health", |w, e, _| w.has::<Health>(e)),
        1 => Case::new("Burning", |w, e, _| w.has::<Burning>(e)),
        2 => Case::new("text_model::Stunned", |w, e, _| w.has::<Stunned>(e)),
        3 => Case::new(format!("Health.hp {operator} {number}"), move |w, e, _| {
            w.get::<Health>(e).is_ok_and(|health| holds(operator, health.hp, number))
        }),
        4 => Case::new(format!("Health.most{operator}{number}.5"), move |w, e, _| {
            let than = if number < 0 { f64::from(number) - 0.5 } else { f64::from(number) + 0.5 };
            w.get::<Health>(e).is_ok_and(|health| holds(operator, health.most as f64, than))
        }),
        5 => {
            let than = FLOATS[rng.below(4)];
            Case::new(format!("Speed {operator} {than}"), move |w, e, _| {
                w.get::<Speed>(e).is_ok_and(|speed| holds(operator, speed.0, than))
            })
        }
        6 => Case::new(format!("Place.x {operator} {number}e-1"), move |w, e, _| {
            w.get::<Place>(e).is_ok_and(|place| holds(operator, place.x, f64::from(number) / 10.0))
        }),
        7 => Case::new(format!("Place.small {operator} {number}"), move |w, e, _| {
            w.get::<Place>(e).is_ok_and(|place| holds(operator, i32::from(place.small), number))
        }),
        8 => Case::new("Place.on = true", |w, e, _| w.get::<Place>(e).is_ok_and(|place| place.on)),
        9 => Case::new("Title ~ \"ORC\"", |w, e, _| {
            w.get::<Title>(e).is_ok_and(|title| title.0.to_lowercase().contains("orc"))
        }),
        10 => {
            let than = TITLES[rng.below(4)];
            Case::new(format!("Title {operator} {than:?}"), move |w, e, _| {
                w.get::<Title>(e).is_ok_and(|title| holds(operator, title.0.as_str(), than))
            })
        }
        11 => {
            let team = TEAMS[rng.below(3)];
            let text = format!("Target.team {operator} {}", format!("{team:?}").to_lowercase());
            Case::new(text, move |w, e, _| {
                w.get::<Target>(e).is_ok_and(|target| holds(operator, target.team as i64, team as i64))
            })
        }
        12 => Case::new(format!("Target.who = {entity}"), move |w, e, _| {
            w.get::<Target>(e).is_ok_and(|target| target.who == entity)
        }),
        13 => {
            let than = ['a', 'b', 'c'][rng.below(3)];
            Case::new(format!("Mark {operator} \"{than}\""), move |w, e, _| {
                w.get::<Mark>(e).is_ok_and(|mark| holds(operator, mark.0, than))
            })
        }
        14 => {
            Case::new(format!("parent = {entity}"), move |w, e, _| w.relations::<ChildOf>().parent(e) == Some(entity))
        }
        15 => Case::new("parent != none", |w, e, _| w.relations::<ChildOf>().parent(e).is_some()),
        16 => Case::new(format!("in({entity})"), move |w, e, _| {
            w.relations::<ChildOf>().ancestors(e).any(|a| a == entity)
        }),
        17 => Case::new("changed(Mark)", |w, e, since| {
            w.get_ref::<Mark>(e).is_ok_and(|mark| mark.last_changed().number() > since.number())
        }),
        _ => Case::new("Name ~ \"1\"", |w, e, _| w.entity(e).unwrap().name().is_some_and(|name| name.contains('1'))),
    }
}

fn list(rng: &mut Rng, entities: &[Entity], level: usize) -> Case {
    let cases: Vec<Case> = (0..1 + rng.below(3)).map(|_| term(rng, entities, level)).collect();
    let text = cases.iter().map(|case| case.text.as_str()).collect::<Vec<_>>().join(", ");
    Case::new(text, move |w, e, t| cases.iter().all(|case| (case.holds)(w, e, t)))
}

fn term(rng: &mut Rng, entities: &[Entity], level: usize) -> Case {
    match rng.below(8) {
        0 if level < 4 => {
            let inner = term(rng, entities, level + 1);
            Case::new(format!("!{}", inner.text), move |w, e, t| !(inner.holds)(w, e, t))
        }
        1 if level < 4 => {
            let any: Vec<Case> = (0..1 + rng.below(3)).map(|_| list(rng, entities, level + 1)).collect();
            let text = any.iter().map(|case| case.text.as_str()).collect::<Vec<_>>().join(" | ");
            Case::new(format!("({text})"), move |w, e, t| any.iter().any(|case| (case.holds)(w, e, t)))
        }
        _ => simple(rng, entities),
    }
}

fn world(rng: &mut Rng) -> (World, Vec<Entity>, Tick) {
    let mut world = World::new();
    let first = world.spawn_empty();
    let mut entities = vec![first];
    // All components are known to the world, also if no entity has them.
    world
        .insert(first, (Health { hp: 0, most: 0 }, Speed(0.0), Place { x: 0.0, small: 0, on: false }, Stunned))
        .unwrap();
    world.insert(first, (Title(String::new()), Burning, Target { who: first, team: Team::Red }, Mark('a'))).unwrap();
    for n in 0..150 + rng.below(200) {
        let e = world.spawn_empty();
        entities.push(e);
        let mut give = |part| rng.chance(part, 10);
        if give(6) {
            world.insert(e, Health { hp: n as i32 % 11 - 5, most: n as u64 % 7 }).unwrap();
        }
        if give(5) {
            world.insert(e, Speed(FLOATS[n % 6])).unwrap();
        }
        if give(5) {
            world.insert(e, Place { x: ((n % 9) as f64 - 4.0) / 10.0, small: n as u8 % 6, on: n % 3 == 0 }).unwrap();
        }
        if give(4) {
            world.insert(e, Title(TITLES[n % 4].into())).unwrap();
        }
        if give(3) {
            world.insert(e, Burning).unwrap();
        }
        if give(6) {
            world.insert(e, Target { who: entities[n / 2], team: TEAMS[n % 3] }).unwrap();
        }
        if give(5) {
            world.insert(e, Mark(['a', 'b', 'c'][n % 3])).unwrap();
        }
        if give(2) {
            world.insert(e, Stunned).unwrap();
        }
        if give(3) {
            world.entity_mut(e).unwrap().set_name(&format!("n{n}")).unwrap();
        }
        if give(3) {
            let parent = entities[n / 3];
            let _ = world.relations_mut::<ChildOf>().link(e, parent);
        }
        if n % 13 == 12 && give(5) {
            let victim = entities.remove(entities.len() / 2);
            world.despawn(victim).unwrap();
            entities.retain(|e| world.contains(*e));
        }
    }
    world.clear_trackers();
    let since = world.change_tick();
    for e in entities.iter().step_by(3) {
        world.query_mut::<&mut Speed>().for_each(|_| ());
        if let Ok(mut mark) = world.get_mut::<Mark>(*e) {
            mark.0 = if mark.0 == 'a' { 'b' } else { 'a' };
        }
    }
    (world, entities, since)
}

#[test]
fn queries_match_what_typed_code_matches() {
    let rounds = if cfg!(miri) { 1 } else { 40 };
    let mut matched = 0;
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        let (world, entities, since) = world(&mut rng);
        world.validate().unwrap();
        for _ in 0..60 {
            let case = list(&mut rng, &entities, 0);
            let query = TextQuery::parse(&case.text).unwrap_or_else(|error| panic!("{}: {error}", case.text));
            let query = query.bind(&world).unwrap_or_else(|error| panic!("{}: {error}", case.text)).since(since);
            let found: Vec<Entity> = query.iter(&world).unwrap().collect();
            let mut sorted = found.clone();
            sorted.sort();
            let mut expected: Vec<Entity> =
                entities.iter().copied().filter(|e| (case.holds)(&world, *e, since)).collect();
            expected.sort();
            assert_eq!(sorted, expected, "seed {seed}: {}", case.text);
            matched += found.len();
            assert_eq!(query.count(&world).unwrap(), found.len());
            for e in &entities {
                assert_eq!(query.matches(&world, *e).unwrap(), expected.binary_search(e).is_ok());
            }
            // Pages and steps of any size give the same list.
            let (from, count) = (rng.below(found.len() + 2), rng.below(20));
            let page = &found[from.min(found.len())..(from + count).min(found.len())];
            assert_eq!(query.page(&world, from, count).unwrap(), page, "{}", case.text);
            let (mut cursor, mut steps) = (query.cursor(&world).unwrap(), Vec::new());
            while !cursor.is_done() {
                query.scan(&world, &mut cursor, 1 + rng.below(200), |e| steps.push(e)).unwrap();
            }
            assert_eq!((steps, cursor.is_torn(), cursor.found()), (found.clone(), false, found.len()));
            let limited = TextQuery::parse(&format!("{} limit {count}", case.text)).unwrap().bind(&world).unwrap();
            assert!(limited.since(since).iter(&world).unwrap().eq(found.iter().copied().take(count)));
        }
    }
    assert!(matched > 0);
}

#[test]
fn sorted_queries_have_the_order_of_typed_code() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let (world, ..) = world(&mut rng);
        let all: Vec<Entity> = TextQuery::parse("").unwrap().bind(&world).unwrap().iter(&world).unwrap().collect();
        for (field, descends) in [("Health.hp", false), ("Health.hp", true), ("Speed", true), ("Title", false)] {
            // Numbers and texts as something that can be compared; what is missing or not a number comes last.
            let key = |e: Entity| -> Option<(f64, String)> {
                match field {
                    "Health.hp" => world.get::<Health>(e).ok().map(|health| (f64::from(health.hp), String::new())),
                    "Speed" => {
                        let speed = world.get::<Speed>(e).ok().map(|speed| f64::from(speed.0));
                        speed.filter(|speed| !speed.is_nan()).map(|speed| (speed, String::new()))
                    }
                    _ => world.get::<Title>(e).ok().map(|title| (0.0, title.0.clone())),
                }
            };
            let is_nan = |e: Entity| field == "Speed" && world.get::<Speed>(e).is_ok_and(|speed| speed.0.is_nan());
            let mut expected = all.clone();
            expected.sort_by(|a, b| match (key(*a), key(*b)) {
                (Some(a), Some(b)) if descends => b.partial_cmp(&a).unwrap(),
                (Some(a), Some(b)) => a.partial_cmp(&b).unwrap(),
                (a, b) => b.is_some().cmp(&a.is_some()),
            });
            // Among the last, those that are not a number come before those without a value.
            let last = expected.iter().position(|e| key(*e).is_none()).unwrap_or(expected.len());
            expected[last..].sort_by_key(|e| !is_nan(*e));
            let text = format!("sort {field}{} limit 1000", if descends { " desc" } else { "" });
            let query = TextQuery::parse(&text).unwrap().bind(&world).unwrap();
            assert!(query.is_sorted() && query.iter(&world).unwrap().eq(expected.iter().copied()), "{text}");
            assert_eq!(query.page(&world, 7, 20).unwrap(), expected[7..27]);
        }
    }
}
