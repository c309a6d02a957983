//! What requests are answered with, without a network.

use phalanx::relation::ChildOf;
use phalanx::{Component, Entity, Key, Plain, Role, World};
use phalanx_inspect::{EntitiesRequest, Flow, Inspector, Moment, Request};
use serde_json::Value;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Health {
    hp: u32,
}

#[derive(phalanx::reflect::Reflect, Plain, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Gait {
    Walk,
    Run,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", plain)]
struct Moving {
    gait: Gait,
}

#[derive(Component, Clone, Debug)]
#[component(clone)]
struct Title(String);

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Tag;

fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities: Vec<_> = (0..1000)
        .map(|n| {
            let position = Position { x: n as f32, y: 0.5 };
            match n % 3 {
                0 => world.spawn((position, Health { hp: n % 100 })),
                1 => world.spawn((position, Health { hp: n % 100 }, Moving { gait: Gait::Walk })),
                _ => world.spawn((position, Tag, Title(format!("number {n}")))),
            }
        })
        .collect();
    (world, entities)
}

fn ask(inspector: &mut Inspector, world: &mut World, request: Request) -> Value {
    let answer = inspector.answer(world, request.clone());
    assert_eq!(answer.status, 200, "{request:?}: {}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

fn status(inspector: &mut Inspector, world: &mut World, request: Request) -> u16 {
    inspector.answer(world, request).status
}

fn list(query: &str, from: usize, count: usize) -> Request {
    Request::Entities(EntitiesRequest { query: query.into(), from, count, ..EntitiesRequest::default() })
}

#[test]
fn pages_of_a_list_are_the_list() {
    let (mut world, _) = world();
    let mut inspector = Inspector::builder().build();
    for query in [
        "",
        "Position",
        "Health.hp < 10",
        "Moving",
        "!Title, Health.hp >= 50",
        "Health sort Health.hp desc",
        "Title ~ \"9\"",
    ] {
        let bound = phalanx::reflect::TextQuery::parse(query).unwrap().bind(&world).unwrap();
        let expected: Vec<String> = bound.iter(&world).unwrap().map(|entity| entity.to_string()).collect();
        let (mut found, mut from) = (Vec::new(), 0);
        loop {
            let answer = ask(&mut inspector, &mut world, list(query, from, 37));
            let rows = answer["rows"].as_array().unwrap();
            found.extend(rows.iter().map(|row| row[0].as_str().unwrap().to_owned()));
            if rows.len() < 37 {
                assert_eq!(answer["total"], expected.len(), "{query}");
                break;
            }
            from += 37;
        }
        assert_eq!(found, expected, "{query}");
        let counted = ask(&mut inspector, &mut world, Request::Count { query: query.into(), at: Moment::Now });
        assert_eq!(counted["total"], expected.len(), "{query}");
    }
}

#[test]
fn a_list_has_the_columns_that_are_asked_for() {
    let (mut world, entities) = world();
    let mut inspector = Inspector::builder().build();
    let columns = vec!["Position.x".to_owned(), "Moving".to_owned(), "Tag".to_owned(), "Title".to_owned()];
    let request = EntitiesRequest { columns, count: 1000, ..EntitiesRequest::default() };
    let answer = ask(&mut inspector, &mut world, Request::Entities(request));
    let names: Vec<_> =
        answer["columns"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Position.x", "Moving", "Tag", "Title"]);
    let row = |n: usize| {
        let entity = entities[n].to_string();
        answer["rows"].as_array().unwrap().iter().find(|row| row[0] == entity.as_str()).unwrap().clone()
    };
    assert_eq!(row(1).as_array().unwrap()[2..], [Value::from("1.0"), Value::from("Walk"), Value::Null, Value::Null]);
    assert_eq!(
        row(2).as_array().unwrap()[2..],
        [Value::from("2.0"), Value::Null, Value::from("✓"), Value::from("number 2")]
    );
}

#[test]
fn errors_of_a_query_say_where_and_what() {
    let (mut world, _) = world();
    let answer = Inspector::builder().build().answer(&mut world, list("Position, Helth.hp < 10", 0, 10));
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, &body["position"], &body["nearest"]), (400, &Value::from(10), &Value::from("Health")));
}

#[test]
fn an_entity_is_shown_whole() {
    let (mut world, entities) = world();
    let e = entities[1];
    world.entity_mut(e).unwrap().set_name("one").unwrap();
    world.relations_mut::<ChildOf>().link(entities[4], e).unwrap();
    world.add_row(Key::main(e).with_role(Role(3)), Health { hp: 5 }).unwrap();
    let mut inspector = Inspector::builder().build();
    let answer = ask(&mut inspector, &mut world, Request::Entity { entity: e, at: Moment::Now });
    assert_eq!(answer["name"], "one");
    let components = answer["components"].as_array().unwrap();
    let find = |name: &str| components.iter().find(|component| component["short"] == name).unwrap();
    assert_eq!(find("Position")["fields"][0]["value"], "1.0");
    assert_eq!(find("Moving")["fields"][0]["choices"], serde_json::json!(["Walk", "Run"]));
    assert_eq!((&find("Moving")["layout"], &find("Moving")["editable"]), (&Value::from("pool"), &Value::from(true)));
    assert_eq!(answer["rows"][0]["role"], 3);
    assert_eq!(answer["rows"][0]["components"][0]["value"], "5");
    assert_eq!(answer["relations"][0]["sources"][0][0], entities[4].to_string());
    let title = ask(&mut inspector, &mut world, Request::Entity { entity: entities[2], at: Moment::Now });
    let title = title["components"]
        .as_array()
        .unwrap()
        .iter()
        .find(|component| component["short"] == "Title")
        .cloned()
        .unwrap();
    assert_eq!(title["editable"], false);
    assert!(title["why"].as_str().unwrap().contains("plain"));
    world.despawn(e).unwrap();
    assert_eq!(status(&mut inspector, &mut world, Request::Entity { entity: e, at: Moment::Now }), 404);
}

fn edit(entity: Entity, component: &str, field: &str, value: &str) -> Request {
    Request::Edit { entity, component: component.into(), field: field.into(), value: value.into() }
}

#[test]
fn edits_are_made_and_taken_back() {
    let (mut world, entities) = world();
    let e = entities[1];
    let mut inspector = Inspector::builder().build();
    ask(&mut inspector, &mut world, edit(e, "Position", "x", "7.25"));
    ask(&mut inspector, &mut world, edit(e, "Moving", "gait", "Run"));
    ask(&mut inspector, &mut world, Request::Rename { entity: e, name: Some("ann".into()) });
    ask(&mut inspector, &mut world, Request::Insert { entity: e, component: "Tag".into(), value: None });
    assert_eq!(*world.get::<Position>(e).unwrap(), Position { x: 7.25, y: 0.5 });
    assert_eq!(*world.get::<Moving>(e).unwrap(), Moving { gait: Gait::Run });
    assert!(world.has::<Tag>(e) && world.find("ann") == Some(e));
    // What is not possible changes nothing, and leaves nothing to take back.
    for (request, expected) in [
        (edit(e, "Position", "x", "far"), 400),
        (edit(e, "Position", "z", "1"), 409),
        (edit(e, "Nothing", "x", "1"), 400),
        (edit(entities[2], "Title", "", "x"), 400),
        (edit(entities[2], "Health", "hp", "1"), 409),
        (Request::Insert { entity: e, component: "Tag".into(), value: None }, 409),
        (Request::Insert { entity: e, component: "Title".into(), value: None }, 409),
        (Request::Remove { entity: e, component: "Title".into() }, 409),
        (Request::Act { name: "none".into() }, 404),
        (Request::Rewind { frame: 1 }, 409),
    ] {
        assert_eq!(status(&mut inspector, &mut world, request.clone()), expected, "{request:?}");
    }
    for _ in 0..4 {
        ask(&mut inspector, &mut world, Request::Undo);
    }
    assert_eq!(status(&mut inspector, &mut world, Request::Undo), 409);
    assert_eq!(*world.get::<Position>(e).unwrap(), Position { x: 1.0, y: 0.5 });
    assert_eq!(*world.get::<Moving>(e).unwrap(), Moving { gait: Gait::Walk });
    assert!(!world.has::<Tag>(e) && world.find("ann").is_none());
    ask(&mut inspector, &mut world, Request::Remove { entity: e, component: "Moving".into() });
    ask(&mut inspector, &mut world, Request::Despawn { entities: vec![entities[3], entities[3], entities[4]] });
    assert!(!world.has::<Moving>(e) && world.len() == 998);
    assert_eq!(status(&mut inspector, &mut world, Request::Undo), 409, "there is no timeline");
    world.validate().unwrap();
}

#[test]
fn earlier_frames_are_looked_at_compared_and_returned_to() {
    let mut world = World::new();
    let e = world.spawn((Position { x: 0.0, y: 0.0 }, Title("a".into())));
    let mut inspector = Inspector::builder().timeline(10).build();
    for _ in 0..20 {
        world.get_mut::<Position>(e).unwrap().x += 1.0;
        assert_eq!(inspector.update(&mut world), Flow::Run);
    }
    let about = ask(&mut inspector, &mut world, Request::World);
    assert_eq!((&about["timeline"]["first"], &about["timeline"]["last"]), (&Value::from(10), &Value::from(20)));
    let x = |inspector: &mut Inspector, world: &mut World, at: Moment| {
        let request = EntitiesRequest { query: "Position.x".into(), count: 1, at, ..EntitiesRequest::default() };
        ask(inspector, world, Request::Entities(request))["rows"][0][2].as_str().unwrap().to_owned()
    };
    for frame in [10, 13, 20, 11] {
        assert_eq!(x(&mut inspector, &mut world, Moment::Frame(frame)), format!("{frame}.0"));
    }
    assert_eq!(x(&mut inspector, &mut world, Moment::Now), "20.0");
    assert_eq!(status(&mut inspector, &mut world, Request::Entity { entity: e, at: Moment::Frame(9) }), 410);
    let kept = ask(&mut inspector, &mut world, Request::Keep);
    assert_eq!(kept["copy"], 1);
    let other = world.spawn(Health { hp: 1 });
    let compare = |before, after| Request::Compare { before, after, limit: 100 };
    let answer = ask(&mut inspector, &mut world, compare(Moment::Frame(15), Moment::Now));
    assert_eq!((&answer["spawned"], &answer["changed"]), (&Value::from(1), &Value::from(1)));
    let change =
        answer["differences"].as_array().unwrap().iter().find(|one| one["what"] == "changed").cloned().unwrap();
    assert_eq!(
        (&change["field"], &change["before"], &change["after"]),
        (&Value::from("x"), &Value::from("15.0"), &Value::from("20.0"))
    );
    // Frames back are counted from the last frame.
    let back = ask(&mut inspector, &mut world, compare(Moment::Back(5), Moment::Now));
    assert_eq!((&back["before"], &back["differences"]), (&"frame-15".into(), &answer["differences"]));
    assert_eq!(x(&mut inspector, &mut world, Moment::Back(0)), "20.0");
    assert_eq!(status(&mut inspector, &mut world, compare(Moment::Back(11), Moment::Now)), 410);
    let answer = ask(&mut inspector, &mut world, compare(Moment::Copy(1), Moment::Now));
    assert_eq!((&answer["spawned"], &answer["changed"]), (&Value::from(1), &Value::from(0)));
    // The despawn in the pause is taken back as a whole.
    ask(&mut inspector, &mut world, Request::Despawn { entities: vec![e] });
    ask(&mut inspector, &mut world, Request::Undo);
    assert!(world.contains(e) && !world.contains(other));
    ask(&mut inspector, &mut world, Request::Rewind { frame: 14 });
    assert_eq!(world.get::<Position>(e).unwrap().x, 14.0);
    assert_eq!(status(&mut inspector, &mut world, Request::Rewind { frame: 15 }), 410);
    ask(&mut inspector, &mut world, Request::Forget { copy: 1 });
    assert_eq!(status(&mut inspector, &mut world, compare(Moment::Copy(1), Moment::Now)), 410);
    world.validate().unwrap();
}

#[test]
fn a_pause_holds_the_program_and_steps_let_it_go_on() {
    let mut world = World::new();
    let mut inspector = Inspector::builder().plot("frames", |_| 1.0).build();
    let mut frames = 0;
    let mut run = |inspector: &mut Inspector, world: &mut World, updates: usize| {
        for _ in 0..updates {
            if inspector.update(world) == Flow::Run {
                frames += 1;
            }
        }
        core::mem::take(&mut frames)
    };
    assert_eq!(run(&mut inspector, &mut world, 5), 5);
    ask(&mut inspector, &mut world, Request::Pause);
    assert_eq!(run(&mut inspector, &mut world, 5), 0);
    ask(&mut inspector, &mut world, Request::Step { frames: 3 });
    assert_eq!(run(&mut inspector, &mut world, 9), 3);
    let about = ask(&mut inspector, &mut world, Request::World);
    assert_eq!((&about["paused"], &about["frame"]), (&Value::from(true), &Value::from(9)));
    ask(&mut inspector, &mut world, Request::Resume);
    assert_eq!(run(&mut inspector, &mut world, 4), 4);
    let plots = ask(&mut inspector, &mut world, Request::Plots { since: 0 });
    let about = ask(&mut inspector, &mut world, Request::World);
    assert_eq!(plots["plots"][0]["values"].as_array().unwrap().len() as u64, about["frame"].as_u64().unwrap());
}

#[test]
fn storages_components_resources_and_groups_are_listed() {
    #[derive(Debug)]
    #[expect(dead_code, reason = "it is shown")]
    struct Shown(u32);
    struct Hidden;
    let (mut world, _) = world();
    world.insert_resource(Shown(7));
    world.insert_resource(Hidden);
    world.create_group::<phalanx::group::Owned<(Moving,)>>().unwrap();
    let mut inspector = Inspector::builder().resource::<Shown>().action("go", |world| _ = world.spawn(Tag)).build();
    let tables = ask(&mut inspector, &mut world, Request::Tables { at: Moment::Now });
    assert_eq!(
        tables["tables"].as_array().unwrap().iter().map(|table| table["rows"].as_u64().unwrap()).sum::<u64>(),
        1000
    );
    assert_eq!(tables["bytes"], world.memory().total());
    assert_eq!(
        (&tables["stores"][0]["short"], &tables["stores"][0]["rows"]),
        (&Value::from("Moving"), &Value::from(333))
    );
    let components = ask(&mut inspector, &mut world, Request::Components);
    let health = components["components"].as_array().unwrap().iter().find(|one| one["short"] == "Health").unwrap();
    assert_eq!((&health["values"], &health["fields"][0]["path"]), (&Value::from(667), &Value::from("hp")));
    let resources = ask(&mut inspector, &mut world, Request::Resources);
    let value = |name: &str| {
        resources["resources"].as_array().unwrap().iter().find(|one| one["short"] == name).unwrap()["value"].clone()
    };
    assert!(value("Shown").as_str().unwrap().contains('7') && value("Hidden").is_null());
    let groups = ask(&mut inspector, &mut world, Request::Groups);
    assert_eq!(
        (&groups["groups"][0]["members"], &groups["groups"][0]["owned"][0]),
        (&Value::from(333), &Value::from("Moving"))
    );
    ask(&mut inspector, &mut world, Request::Act { name: "go".into() });
    assert_eq!(world.len(), 1001);
    assert_eq!(status(&mut inspector, &mut world, Request::Systems), 409, "there is no run yet");
}

#[cfg(feature = "snapshot")]
#[test]
fn registered_components_are_edited_as_json() {
    use phalanx::snapshot::Registry;
    #[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Bag {
        items: Vec<String>,
    }
    let mut registry = Registry::new();
    registry.serde::<Bag>("bag").unwrap();
    let mut world = World::new();
    let e = world.spawn(Bag { items: vec!["rope".into()] });
    let mut inspector = Inspector::builder().registry(registry).build();
    let answer = ask(&mut inspector, &mut world, Request::Entity { entity: e, at: Moment::Now });
    assert_eq!(answer["components"][0]["json"], r#"{"items":["rope"]}"#);
    assert!(answer["components"][0]["why"].is_null());
    ask(&mut inspector, &mut world, edit(e, "Bag", "", r#"{"items":["rope","lamp"]}"#));
    assert_eq!(world.get::<Bag>(e).unwrap().items.len(), 2);
    assert_eq!(status(&mut inspector, &mut world, edit(e, "Bag", "", r#"{"items":7}"#)), 400);
    ask(&mut inspector, &mut world, Request::Undo);
    assert_eq!(world.get::<Bag>(e).unwrap().items, ["rope"]);
    let saved = inspector.answer(&mut world, Request::Snapshot);
    assert_eq!((saved.status, saved.content_type), (200, "application/octet-stream"));
}

#[cfg(feature = "snapshot")]
#[test]
fn json_is_read_to_its_end() {
    use phalanx::snapshot::Registry;
    #[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Age(u32);
    let mut registry = Registry::new();
    registry.serde::<Age>("age").unwrap();
    let mut world = World::new();
    let (e, empty) = (world.spawn(Age(1)), world.spawn(()));
    let mut inspector = Inspector::builder().registry(registry).build();
    for value in ["7 8", "7,", "7]", "", "7 // years"] {
        assert_eq!(status(&mut inspector, &mut world, edit(e, "Age", "", value)), 400, "{value}");
        let insert = Request::Insert { entity: empty, component: "Age".into(), value: Some(value.into()) };
        assert_eq!(status(&mut inspector, &mut world, insert), 400, "{value}");
    }
    assert!(*world.get::<Age>(e).unwrap() == Age(1) && !world.has::<Age>(empty));
    ask(&mut inspector, &mut world, edit(e, "Age", "", " 7\n"));
    assert_eq!(*world.get::<Age>(e).unwrap(), Age(7));
}

#[cfg(feature = "snapshot")]
#[test]
fn an_edit_whose_listener_panics_can_be_taken_back() {
    use phalanx::snapshot::Registry;
    #[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Age(u32);
    let mut registry = Registry::new();
    registry.serde::<Age>("age").unwrap();
    let mut world = World::new();
    let (e, empty) = (world.spawn(Age(1)), world.spawn(()));
    world.listen().on_set::<Age>(|set, _, _| assert!(set.new.0 != 13, "an unlucky number"));
    world.listen().on_add::<Age>(|added, _, _| assert!(added.value.0 != 13, "an unlucky number"));
    let mut inspector = Inspector::builder().registry(registry).build();
    let insert = Request::Insert { entity: empty, component: "Age".into(), value: Some("13".into()) };
    let (edited, inserted) = phalanx_testkit::quiet_panics(|| {
        (inspector.answer(&mut world, edit(e, "Age", "", "13")), inspector.answer(&mut world, insert))
    });
    // The operation stands, as after any panic of a listener.
    assert_eq!((edited.status, inserted.status), (500, 500), "{} {}", edited.text(), inserted.text());
    assert!(*world.get::<Age>(e).unwrap() == Age(13) && world.has::<Age>(empty));
    ask(&mut inspector, &mut world, Request::Undo);
    ask(&mut inspector, &mut world, Request::Undo);
    assert!(*world.get::<Age>(e).unwrap() == Age(1) && !world.has::<Age>(empty));
    world.validate().unwrap();
}

#[test]
fn edits_of_another_world_are_not_taken_back() {
    let (mut world, entities) = world();
    let e = entities[1];
    let mut inspector = Inspector::builder().build();
    let insert = Request::Insert { entity: e, component: "Tag".into(), value: None };
    ask(&mut inspector, &mut world, insert.clone());
    // A program that loads a game replaces the world. The same entity is alive there.
    let mut other = World::new();
    other.spawn_batch([(), ()]);
    assert!(other.contains(e));
    assert_eq!(status(&mut inspector, &mut other, Request::Undo), 409, "no component has the id");
    let (mut inspector, mut world) = (Inspector::builder().build(), world);
    world.entity_mut(e).unwrap().remove::<Tag>();
    ask(&mut inspector, &mut world, insert);
    let mut other = World::new();
    #[derive(Component)]
    struct Filler<const N: usize>;
    let replaced: Vec<_> = (0..3).map(|_| other.spawn((Filler::<0>, Filler::<1>, Filler::<2>, Filler::<3>))).collect();
    other.entity_mut(replaced[1]).unwrap().insert((Filler::<4>, Filler::<5>, Filler::<6>, Filler::<7>, Filler::<8>));
    assert_eq!(replaced[1], e);
    let before = other.entity(e).unwrap().component_ids().count();
    assert_eq!(status(&mut inspector, &mut other, Request::Undo), 409, "another component has the id");
    assert_eq!(other.entity(e).unwrap().component_ids().count(), before);
}

#[test]
fn components_that_only_the_first_moment_knows_are_compared() {
    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    struct Late(u32);
    let (mut world, entities) = world();
    let mut inspector = Inspector::builder().build();
    ask(&mut inspector, &mut world, Request::Keep);
    world.insert(entities[0], Late(7)).unwrap();
    let compare = |before, after| Request::Compare { before, after, limit: 100 };
    let answer = ask(&mut inspector, &mut world, compare(Moment::Copy(1), Moment::Now));
    assert_eq!((&answer["changed"], &answer["differences"][0]["what"]), (&1.into(), &"inserted".into()));
    let answer = ask(&mut inspector, &mut world, compare(Moment::Now, Moment::Copy(1)));
    assert_eq!((&answer["changed"], &answer["differences"][0]["what"]), (&1.into(), &"removed".into()));
    assert_eq!(answer["differences"][0]["component"], "Late");
    assert_eq!(answer["components"][0]["count"], 1);
    let _ = world.get::<Late>(entities[0]).unwrap().0;
}

#[test]
fn arrays_without_bytes_take_no_time_to_compare() {
    #[derive(Component, Clone, Copy)]
    #[component(plain)]
    struct Hollow {
        holes: [(); usize::MAX],
        number: u32,
    }
    let mut world = World::new();
    let e = world.spawn(Hollow { holes: [(); usize::MAX], number: 1 });
    let mut inspector = Inspector::builder().build();
    ask(&mut inspector, &mut world, Request::Keep);
    world.get_mut::<Hollow>(e).unwrap().number = 2;
    let compare = Request::Compare { before: Moment::Copy(1), after: Moment::Now, limit: 100 };
    let answer = ask(&mut inspector, &mut world, compare);
    assert_eq!((&answer["changed"], &answer["differences"][0]["field"]), (&1.into(), &"number".into()));
    ask(&mut inspector, &mut world, Request::Entity { entity: e, at: Moment::Now });
    ask(&mut inspector, &mut world, list("Hollow.number = 2", 0, 10));
    let Hollow { holes, number } = *world.get::<Hollow>(e).unwrap();
    assert_eq!((holes.len(), number), (usize::MAX, 2));
}

#[cfg(feature = "snapshot")]
#[test]
fn snapshots_are_loaded_and_compared() {
    use phalanx::snapshot::Registry;
    let registry = || {
        let mut registry = Registry::new();
        registry.plain::<Position>("position").unwrap();
        registry.plain::<Health>("health").unwrap();
        registry.plain::<Moving>("moving").unwrap();
        registry
    };
    let save = |world: &World| {
        let mut bytes = Vec::new();
        registry().save(world, &mut bytes).unwrap();
        bytes
    };
    // The components of the program are known in another order than those of the snapshots.
    let mut program = World::new();
    program.register_component::<Moving>();
    program.register_component::<Title>();
    let mut past = World::new();
    let [a, b, c] = [1.0, 2.0, 3.0].map(|x| past.spawn((Position { x, y: 0.0 }, Health { hp: 7 })));
    let first = save(&past);
    past.get_mut::<Position>(a).unwrap().x = 1.5;
    past.remove::<Health>(b).unwrap();
    past.insert(b, Moving { gait: Gait::Run }).unwrap();
    past.despawn(c).unwrap();
    let d = past.spawn(Tag);
    past.remove::<Tag>(d).unwrap();
    let second = save(&past);
    let mut inspector = Inspector::builder().registry(registry()).build();
    let load = |name: &str, bytes: &[u8]| Request::Load { name: name.into(), bytes: bytes.to_vec() };
    let answer = ask(&mut inspector, &mut program, load("first.phx", &first));
    assert_eq!((&answer["copy"], &answer["entities"]), (&1.into(), &3.into()));
    ask(&mut inspector, &mut program, load("<second>", &second));
    let about = ask(&mut inspector, &mut program, Request::World);
    assert_eq!((&about["copies"][0]["file"], &about["entities"]), (&"first.phx".into(), &0.into()));
    assert_eq!(about["copies"][1]["file"], "<second>");
    let compare = |before, after| Request::Compare { before, after, limit: 100 };
    let answer = ask(&mut inspector, &mut program, compare(Moment::Copy(1), Moment::Copy(2)));
    assert_eq!(
        (&answer["spawned"], &answer["despawned"], &answer["changed"]),
        (&1.into(), &1.into(), &2.into()),
        "{answer}"
    );
    let found = |entity: Entity, component: &str| {
        let entity = entity.to_string();
        let mut all = answer["differences"].as_array().unwrap().iter();
        all.find(|one| one["entity"] == entity.as_str() && one["component"] == component).cloned().unwrap()
    };
    let change = found(a, "Position");
    assert_eq!((&change["field"], &change["before"], &change["after"]), (&"x".into(), &"1.0".into(), &"1.5".into()));
    assert_eq!(found(b, "Health")["what"], "removed");
    assert_eq!((&found(b, "Moving")["what"], &found(b, "Moving")["after"]), (&"inserted".into(), &"Run".into()));
    // A snapshot is also compared with the world as it is, and looked at.
    let answer = ask(&mut inspector, &mut program, compare(Moment::Copy(1), Moment::Now));
    assert_eq!(answer["despawned"], 3);
    let at = Moment::Copy(2);
    let list = EntitiesRequest { query: "Moving".into(), count: 5, at, ..EntitiesRequest::default() };
    assert_eq!(ask(&mut inspector, &mut program, Request::Entities(list))["rows"][0][2], "Run");
    // What is not a snapshot leaves nothing behind.
    for (bytes, expected) in [(&first[..first.len() - 1], 400), (&b"not a snapshot"[..], 400), (&[], 400)] {
        assert_eq!(status(&mut inspector, &mut program, load("bad", bytes)), expected);
    }
    let about = ask(&mut inspector, &mut program, Request::World);
    assert_eq!(about["copies"].as_array().unwrap().len(), 2);
    for _ in 2..8 {
        ask(&mut inspector, &mut program, load(&"long ".repeat(1000), &second));
    }
    assert_eq!(status(&mut inspector, &mut program, load("one more", &second)), 409);
    let mut without = Inspector::builder().build();
    assert_eq!(status(&mut without, &mut program, load("x", &second)), 409, "there is no registry");
}

#[cfg(feature = "schedule")]
#[test]
fn the_last_run_of_a_schedule_is_shown() {
    use phalanx_schedule::Schedule;
    fn fall(mut all: phalanx::Query<&mut Position>) {
        all.iter_mut().for_each(|at| at.y -= 1.0);
    }
    fn heal(mut all: phalanx::Query<&mut Health>) {
        all.iter_mut().for_each(|health| health.hp += 1);
    }
    let (mut world, _) = world();
    let mut schedule = Schedule::builder("frame").add(fall).add(heal).build(&mut world).unwrap();
    let report = schedule.run_with_report(&phalanx::executor::Inline, &mut world).unwrap();
    let mut inspector = Inspector::builder().build();
    inspector.set_run_report(report);
    let answer = ask(&mut inspector, &mut world, Request::Systems);
    let names: Vec<_> = answer["systems"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2);
    assert!(names[0].ends_with("fall") && names[1].ends_with("heal"), "{names:?}");
    assert!(answer["duration"].as_f64().unwrap() > 0.0);
}
