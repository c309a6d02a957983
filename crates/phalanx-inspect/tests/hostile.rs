//! Values that are meant to do harm, and memory that fails.

use phalanx::{Component, Entity, World};
use phalanx_inspect::{EntitiesRequest, Inspector, Moment, Request};
use phalanx_testkit::{AllocationSweep, quiet_panics};
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component)]
struct Text(String);

struct Panics(u8);
impl fmt::Debug for Panics {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("a Debug of {} that panics", self.0)
    }
}

struct Endless(u8);
impl fmt::Debug for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        loop {
            let _ = self.0;
            // The error is not looked at.
            let _ = f.write_str("and on ");
        }
    }
}

struct Megabyte(u8);
impl fmt::Debug for Megabyte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&"<script>".repeat(usize::from(self.0) << 16))
    }
}

#[derive(Component, Debug)]
struct Bad(Panics);
#[derive(Component, Debug)]
struct Long(Endless);
#[derive(Component, Debug)]
struct Big(Megabyte);
#[derive(Component)]
struct Opaque(fn());

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Health {
    hp: u32,
}

const EVIL: &str = "</script><img src=x onerror=alert(1)>\u{202e}txt.exe\u{2066}\0\"\\\n";

fn entities(columns: &[&str]) -> Request {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    Request::Entities(EntitiesRequest { columns, count: 10, ..EntitiesRequest::default() })
}

#[test]
fn markup_and_bidirectional_text_stay_text() {
    let mut world = World::new();
    let e = world.spawn(Text(EVIL.into()));
    let mut inspector = Inspector::builder().name(EVIL).build();
    for request in [entities(&["Text"]), Request::Entity { entity: e, at: Moment::Now }, Request::World] {
        let answer = inspector.answer(&mut world, request);
        assert_eq!((answer.status, answer.content_type), (200, "application/json"));
        let text = answer.text();
        assert!(!text.contains('<') && !text.contains('\0'), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        let found = [&value["rows"][0][2], &value["components"][0]["value"], &value["name"]];
        assert!(found.iter().any(|found| **found == EVIL), "{value}");
    }
    let query = format!("Text ~ \"{}\"", "<b>");
    let request = Request::Entities(EntitiesRequest { query, count: 1, ..EntitiesRequest::default() });
    assert_eq!(inspector.answer(&mut world, request).status, 200);
    let request = Request::Count { query: EVIL.into(), at: Moment::Now };
    let answer = inspector.answer(&mut world, request);
    assert!(answer.status == 400 && !answer.text().contains('<'), "{}", answer.text());
}

#[test]
fn code_of_values_is_stopped() {
    let mut world = World::new();
    let e = world.spawn((Bad(Panics(1)), Long(Endless(2)), Big(Megabyte(3)), Opaque(|| {})));
    world.insert_resource(Panics(4));
    world.insert_resource(Endless(5));
    let mut inspector = Inspector::builder().resource::<Panics>().resource::<Endless>().build();
    quiet_panics(|| {
        for _ in 0..2 {
            let answer = inspector.answer(&mut world, entities(&["Bad", "Long", "Big", "Opaque"]));
            let value: Value = serde_json::from_slice(&answer.body).unwrap();
            let cell = |at: usize| value["rows"][0][at].as_str().unwrap().to_owned();
            assert_eq!(cell(2), "(its Debug panicked)");
            assert!(cell(3).ends_with('…') && cell(3).len() < 300, "{}", cell(3));
            assert!(cell(4).ends_with('…') && cell(4).len() < 300, "{}", cell(4));
            assert_eq!(cell(5), "(8 bytes)");
        }
        let answer = inspector.answer(&mut world, Request::Entity { entity: e, at: Moment::Now });
        assert!(answer.status == 200 && answer.body.len() < 1 << 20, "{}", answer.body.len());
        let answer = inspector.answer(&mut world, Request::Resources);
        assert!(answer.text().contains("(its Debug panicked)") && answer.text().contains("and on and on"));
        assert!(answer.body.len() < 100_000, "{}", answer.body.len());
    });
}

/// A `Debug` that writes nothing and does not return, until a flag is cleared.
#[derive(Component)]
struct Stuck;
static IS_STUCK: AtomicBool = AtomicBool::new(true);
static CALLS: AtomicU32 = AtomicU32::new(0);

struct Waits(u8);
impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        CALLS.fetch_add(1, Ordering::SeqCst);
        let end = Instant::now() + Duration::from_secs(30);
        while IS_STUCK.load(Ordering::SeqCst) && Instant::now() < end {
            std::hint::spin_loop();
        }
        f.write_str("at last ").and_then(|()| self.0.fmt(f))
    }
}
#[derive(Component, Debug)]
struct Slow(Waits);

#[test]
fn code_that_does_not_return_is_named_and_not_called_again() {
    use std::io::{Read, Write};
    let mut inspector = Inspector::builder().address("127.0.0.1:0").quiet().serve().unwrap();
    let url = inspector.url().unwrap();
    let (address, key) = url.strip_prefix("http://").unwrap().split_once("/#key=").unwrap();
    let (address, key) = (address.to_owned(), key.to_owned());
    let get = move |route: &str| {
        let mut socket = std::net::TcpStream::connect(&address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request = format!(
            "GET /api/1/{route} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    let user = std::thread::spawn(move || {
        let start = Instant::now();
        let answer = get("entities?column=Slow");
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("the code of hostile::Slow, for 0."), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(10));
        // Other requests wait for the same code, and say so.
        let answer = get("world");
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("hostile::Slow"), "{answer}");
        IS_STUCK.store(false, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(50));
        let answer = get("entities?column=Slow");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("(its Debug took too long)"), "{answer}");
    });
    let mut world = World::new();
    world.spawn((Slow(Waits(7)), Stuck));
    while !user.is_finished() {
        inspector.update(&mut world);
        std::thread::sleep(Duration::from_millis(1));
    }
    user.join().unwrap();
    assert_eq!(CALLS.load(Ordering::SeqCst), 1, "it was called again");
}

#[test]
fn code_that_takes_long_is_called_for_some_time_only() {
    struct Lazy(u8);
    impl fmt::Debug for Lazy {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            std::thread::sleep(Duration::from_millis(20));
            self.0.fmt(f)
        }
    }
    #[derive(Component, Debug)]
    struct Idle(Lazy);
    let mut world = World::new();
    world.spawn_batch((0..200).map(|n| Idle(Lazy(n))));
    let mut inspector = Inspector::builder().build();
    let start = Instant::now();
    let list = EntitiesRequest { columns: vec!["Idle".into()], count: 200, ..EntitiesRequest::default() };
    let answer = inspector.answer(&mut world, Request::Entities(list.clone()));
    let value: Value = serde_json::from_slice(&answer.body).unwrap();
    // 200 values would take 4 s.
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(value["rows"][0][2], "Idle(0)");
    assert_eq!(value["rows"][199][2], "(not shown: Debug took too long in all)");
    // The next answer shows some again.
    let value: Value = serde_json::from_slice(&inspector.answer(&mut world, Request::Entities(list)).body).unwrap();
    assert_eq!(value["rows"][0][2], "Idle(0)");
}

#[test]
fn long_queries_and_deep_ones_are_refused() {
    let mut world = World::new();
    world.spawn(Health { hp: 1 });
    let mut inspector = Inspector::builder().build();
    for query in ["(".repeat(4000), "!".repeat(4000), "Health,".repeat(2000), "\u{202e}".repeat(100), "`".into()] {
        let request = Request::Count { query, at: Moment::Now };
        assert_eq!(inspector.answer(&mut world, request).status, 400);
    }
}

/// A world with all that answers are about, an inspector with some frames, and two entities.
struct Setup {
    world: World,
    inspector: Inspector,
    entities: [Entity; 2],
}

#[derive(Component, Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[component(layout = "pool", plain)]
struct Mass {
    kg: f32,
    parts: [u8; 4],
}

#[derive(Component, Clone, Debug)]
#[component(clone)]
struct Route {
    /// To clone it takes no memory. What code of the program allocates is its own matter.
    points: std::sync::Arc<[i32; 2]>,
}

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Marked;

fn registry() -> phalanx::snapshot::Registry {
    let mut registry = phalanx::snapshot::Registry::new();
    registry.plain::<Health>("health").unwrap();
    registry.serde::<Mass>("mass").unwrap();
    registry.plain::<Marked>("marked").unwrap();
    registry.names("name").unwrap();
    registry.relation::<phalanx::relation::ChildOf>("child of").unwrap();
    registry
}

fn setup(has_routes: bool) -> Setup {
    let mut world = World::new();
    let a = world.spawn((Health { hp: 1 }, Mass { kg: 2.5, parts: [1; 4] }));
    world.entity_mut(a).unwrap().set_name("a").unwrap();
    world.spawn_batch((0..20).map(|hp| Health { hp }));
    let b = world.spawn_named("b", (Health { hp: 3 }, Marked)).unwrap();
    world.relations_mut::<phalanx::relation::ChildOf>().link(b, a).unwrap();
    if has_routes {
        world.insert(a, Route { points: [1, 2].into() }).unwrap();
        world.add_row(phalanx::Key::main(a).with_role(phalanx::Role(3)), Health { hp: 5 }).unwrap();
    }
    world.create_group::<phalanx::group::Owned<(Mass,)>>().unwrap();
    world.insert_resource(String::from("a resource"));
    world.set_access_counting(true);
    let builder = Inspector::builder().timeline(4).plot("alive", |world| world.len() as f64).resource::<String>();
    #[cfg(feature = "snapshot")]
    let builder = builder.registry(registry());
    let mut inspector = builder.action("none", |_| {}).build();
    for hp in 0..3 {
        world.get_mut::<Health>(a).unwrap().hp = hp + 40;
        inspector.update(&mut world);
    }
    assert_eq!(inspector.answer(&mut world, Request::Keep).status, 200);
    Setup { world, inspector, entities: [a, b] }
}

/// Answers a request with each allocation failing in turn: then the status is 507, and nothing has changed.
#[track_caller]
fn sweep(before: &[Request], make: impl Fn([Entity; 2]) -> Request) {
    let has_routes = !matches!(make(setup(false).entities), Request::Snapshot | Request::Load { .. });
    let setup = || {
        let mut setup = setup(has_routes);
        for request in before {
            assert_eq!(setup.inspector.answer(&mut setup.world, request.clone()).status, 200, "{request:?}");
        }
        let request = make(setup.entities);
        (setup, Some(request))
    };
    let picture = |world: &mut World| {
        // The values, the structure and the names: by another inspector.
        let mut other = Inspector::builder().build();
        let columns = ["Health", "Mass", "Marked"].map(str::to_owned).to_vec();
        let list = EntitiesRequest { columns, count: 1000, ..EntitiesRequest::default() };
        let list: Value = serde_json::from_slice(&other.answer(world, Request::Entities(list)).body).unwrap();
        list["rows"].to_string()
    };
    let (mut fresh, request) = setup();
    let expected = picture(&mut fresh.world);
    // With memory it succeeds, or is an error of another kind.
    let status = fresh.inspector.answer(&mut fresh.world, request.unwrap()).status;
    assert_ne!(status, 507);
    let failing = AllocationSweep::new().allow_swallowed().run(
        setup,
        |(setup, request)| match setup.inspector.answer(&mut setup.world, request.take().unwrap()) {
            answer if answer.status == 507 => Err(answer),
            answer => Ok(answer),
        },
        |(setup, _), result| {
            setup.world.validate().unwrap();
            match result {
                Ok(answer) => assert_eq!(answer.status, status, "{}", answer.text()),
                Err(answer) => {
                    assert_eq!(answer.text(), r#"{"error":"allocation failed"}"#);
                    assert_eq!(picture(&mut setup.world), expected, "the world has changed");
                }
            }
        },
    );
    assert!(failing > 0, "nothing was allocated");
}

#[test]
fn lists_without_memory_are_errors() {
    let list = |query: &str, columns: &[&str], at: Moment| {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Request::Entities(EntitiesRequest { query: query.into(), columns, count: 10, at, ..EntitiesRequest::default() })
    };
    sweep(&[], |_| list("", &[], Moment::Now));
    sweep(&[], |_| {
        list("Health.hp < 10, ?Mass, (Marked | Name ~ \"a\")", &["Health.hp", "Mass", "`Route`"], Moment::Now)
    });
    sweep(&[], |_| list("Mass, Health sort Health.hp desc limit 5", &[], Moment::Frame(2)));
    sweep(&[], |_| list("Health sort Name", &["Name"], Moment::Copy(1)));
    sweep(&[], |_| list("Helth", &[], Moment::Now));
    sweep(&[], |_| list("", &["Health.none"], Moment::Now));
    sweep(&[], |_| Request::Count { query: "in(a), Health.hp > 0".into(), at: Moment::Now });
    sweep(&[], |[entity, _]| Request::Entity { entity, at: Moment::Now });
    sweep(&[], |[entity, _]| Request::Entity { entity, at: Moment::Frame(1) });
}

#[test]
fn pages_without_memory_are_errors() {
    sweep(&[], |_| Request::World);
    sweep(&[], |_| Request::Tables { at: Moment::Now });
    sweep(&[], |_| Request::Tables { at: Moment::Frame(2) });
    sweep(&[], |_| Request::Components);
    sweep(&[], |_| Request::Resources);
    sweep(&[], |_| Request::Groups);
    sweep(&[], |_| Request::Systems);
    sweep(&[], |_| Request::Plots { since: 0 });
    sweep(&[], |_| Request::Compare { before: Moment::Frame(1), after: Moment::Now, limit: 10 });
    sweep(&[], |_| Request::Compare { before: Moment::Copy(1), after: Moment::Frame(3), limit: 10 });
    sweep(&[], |_| Request::Compare { before: Moment::Copy(9), after: Moment::Now, limit: 10 });
    sweep(&[], |_| Request::Snapshot);
}

#[test]
fn changes_without_memory_are_not_made() {
    let text = |text: &str| text.to_owned();
    let edit = |entity, component: &str, field: &str, value: &str| Request::Edit {
        entity,
        component: text(component),
        field: text(field),
        value: text(value),
    };
    let (a, b) = (setup(true).entities[0], setup(true).entities[1]);
    let insert = |entity, component: &str| Request::Insert { entity, component: text(component), value: None };
    let changes = [
        edit(a, "Health", "hp", "77"),
        edit(a, "Mass", "parts.2", "9"),
        edit(a, "hostile::Mass", "kg", "1.5"),
        insert(a, "Marked"),
        insert(b, "Mass"),
        Request::Rename { entity: a, name: Some(text("another name")) },
        Request::Rename { entity: a, name: None },
        Request::Remove { entity: b, component: text("Marked") },
        Request::Remove { entity: a, component: text("Mass") },
        Request::Despawn { entities: vec![a, b, a] },
        Request::Act { name: text("none") },
    ];
    for change in changes {
        sweep(&[], |_| change.clone());
        // The program is paused, so that removals are taken back by a rewind.
        sweep(&[Request::Pause, change.clone()], |_| Request::Undo);
    }
    sweep(&[], |[a, _]| edit(a, "Health", "hp", "many"));
    sweep(&[], |[a, _]| edit(a, "Nothing", "hp", "1"));
    sweep(&[], |[a, _]| edit(a, "Health", "none", "1"));
    sweep(&[], |_| Request::Pause);
    sweep(&[], |_| Request::Resume);
    sweep(&[], |_| Request::Step { frames: 2 });
    sweep(&[], |_| Request::Rewind { frame: 2 });
    sweep(&[], |_| Request::Rewind { frame: 99 });
    sweep(&[], |_| Request::Keep);
    sweep(&[], |_| Request::Forget { copy: 1 });
}

#[cfg(feature = "snapshot")]
#[test]
fn snapshots_and_json_without_memory_are_errors() {
    let Setup { world, entities: [a, b], .. } = setup(false);
    let mut bytes = Vec::new();
    registry().save(&world, &mut bytes).unwrap();
    sweep(&[], |_| Request::Load { name: "a file".into(), bytes: bytes.clone() });
    sweep(&[], |_| Request::Load { name: "a file".into(), bytes: bytes[..bytes.len() / 2].to_vec() });
    let loaded = Request::Load { name: "a file".into(), bytes: bytes.clone() };
    sweep(&[loaded], |_| Request::Compare { before: Moment::Copy(2), after: Moment::Now, limit: 10 });
    let value = || r#"{"kg":7.5,"parts":[1,2,3,4]}"#.to_owned();
    let edit = |value| Request::Edit { entity: a, component: "Mass".into(), field: String::new(), value };
    sweep(&[], |_| edit(value()));
    sweep(&[], |_| Request::Insert { entity: b, component: "Mass".into(), value: Some(value()) });
    sweep(&[edit(value())], |_| Request::Undo);
}

#[test]
fn the_counts_of_the_program_go_on() {
    let Setup { mut world, mut inspector, .. } = setup(true);
    world.layout_report();
    world.query_mut::<&mut Health>().for_each(|health| health.hp += 1);
    let expected = world.peek_layout_report();
    for request in [Request::Components, Request::Tables { at: Moment::Now }, Request::World, Request::Groups] {
        assert_eq!(inspector.answer(&mut world, request).status, 200);
    }
    let report = world.layout_report();
    assert!(report.of::<Health>(&world).unwrap().visited > 0);
    assert_eq!(report, expected);
}
