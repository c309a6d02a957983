//! Values that are meant to do harm, and memory that fails.

use phalanx::{Component, Entity, World};
use phalanx_inspect::{EntitiesRequest, Inspector, Moment, Request};
use phalanx_testkit::{AllocationSweep, quiet_panics};
use serde_json::Value;
use std::fmt;

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
    let mut inspector = Inspector::builder().resource::<Panics>().build();
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
        assert!(answer.text().contains("(its Debug panicked)"));
    });
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

#[test]
fn an_answer_without_memory_is_an_error() {
    type Setup = (World, Inspector, Entity);
    let setup = || {
        let mut world = World::new();
        let e = world.spawn(Health { hp: 1 });
        world.spawn_batch((0..50).map(|hp| Health { hp }));
        (world, Inspector::builder().timeline(4).build(), e)
    };
    let sweep = |make: &dyn Fn(Entity) -> Request| {
        let operation = |(world, inspector, e): &mut Setup| match inspector.answer(world, make(*e)) {
            answer if answer.status == 507 || answer.status == 409 => Err(answer.status),
            answer => Ok(answer.body.len()),
        };
        AllocationSweep::new().allow_swallowed().run(setup, operation, |(world, _, _), _| world.validate().unwrap());
    };
    sweep(&|_| Request::World);
    sweep(&|entity| Request::Entity { entity, at: Moment::Now });
    sweep(&|_| Request::Groups);
    sweep(&|_| Request::Plots { since: 0 });
    sweep(&|_| Request::Keep);
    sweep(&|_| Request::Compare { before: Moment::Now, after: Moment::Now, limit: 10 });
    sweep(&|entity| Request::Rename { entity, name: None });
}
