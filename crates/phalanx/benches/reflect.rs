//! The time of text queries over one million rows; every target with its figure.
//!
//! `cargo bench -p phalanx --features reflect --bench reflect`. Minima of 20 rounds.
#![allow(missing_docs)]

use phalanx::reflect::TextQuery;
use phalanx::{Component, World};
use std::hint::black_box;
use std::time::Instant;

#[derive(Component)]
struct Health {
    hp: u32,
    #[allow(dead_code, reason = "it is only carried along")]
    most: u32,
}
#[derive(Component)]
#[allow(dead_code, reason = "it is only carried along")]
struct Position([f32; 3]);
#[derive(Component)]
#[component(layout = "pool")]
struct Burning(f32);

const ROWS: u32 = 1_000_000;

fn main() {
    let mut world = World::new();
    world.spawn_batch(
        (0..ROWS).map(|n| (Health { hp: n.wrapping_mul(2_654_435_761) % 1000, most: 1000 }, Position([0.0; 3]))),
    );
    let some: Vec<_> = world.iter().step_by(2).collect();
    for (n, entity) in some.into_iter().enumerate() {
        world.insert(entity, Burning(n as f32)).unwrap();
    }
    println!("{:<44} {:>10} {:>10}", "one million rows", "ms", "at most");
    let report = |label: &str, limit: Option<f64>, run: &mut dyn FnMut() -> usize| {
        let round = |_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed().as_secs_f64() * 1e3
        };
        let best = (0..20).map(round).fold(f64::INFINITY, f64::min);
        let verdict = limit
            .map_or(String::new(), |limit| format!("{limit:>10.2}{}", if best <= limit { "" } else { "  missed" }));
        println!("{label:<44} {best:>10.3} {verdict}");
    };
    let bind = |text: &str| TextQuery::parse(text).unwrap().bind(&world).unwrap();
    for (text, limit) in [
        ("Health.hp < 10", Some(12.0)),
        ("Health.hp < 500, Position.0.0 >= 0", None),
        ("Burning > 1000, Health.hp < 10", None),
        ("Burning, Health.hp < 10", None),
        ("!Burning, Health.hp < 10", None),
        ("(Health.hp < 10 | Burning < 10)", None),
    ] {
        let query = bind(text);
        report(text, limit, &mut || query.count(&world).unwrap());
    }
    let query = bind("Health sort Health.hp desc limit 50");
    report("Health sort Health.hp desc limit 50", None, &mut || query.iter(&world).unwrap().count());
    let query = bind("Health");
    report("100 rows from 900,000 on", Some(0.3), &mut || query.page(&world, 900_000, 100).unwrap().len());
    let (query, all) = (bind("Health.hp < 10"), 16_384);
    let mut cursor = query.cursor(&world).unwrap();
    report("a step of 16,384 rows, Health.hp < 10", None, &mut || {
        if cursor.is_done() {
            cursor = query.cursor(&world).unwrap();
        }
        let mut found = 0;
        query.scan(&world, &mut cursor, all, |_| found += 1).unwrap();
        found
    });
}
