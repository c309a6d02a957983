//! The figures that the inspector is accepted by: `cargo bench -p phalanx-inspect`.

use phalanx::{Component, World};
use phalanx_inspect::{EntitiesRequest, Inspector, Moment, Request};
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Velocity {
    x: f32,
    y: f32,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Health {
    hp: u32,
    max: u32,
    armour: u32,
    level: u32,
}
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Burning {
    since: u32,
}

const MILLION: usize = 1_000_000;

fn world() -> World {
    let mut world = World::new();
    world.spawn_batch((0..MILLION as u32).map(|n| {
        let hp = n.wrapping_mul(2_654_435_761) >> 16 & 1023;
        let speed = Velocity { x: 1.0, y: 0.5 };
        (Position { x: n as f32, y: 0.0 }, speed, Health { hp, max: 1023, armour: 3, level: n % 7 })
    }));
    let some: Vec<_> = world.iter().step_by(4).collect();
    for entity in some {
        world.insert(entity, Burning { since: 1 }).expect("it is alive");
    }
    world
}

fn list(query: &str, from: usize) -> Request {
    let columns = [
        "Position.x",
        "Position.y",
        "Velocity.x",
        "Velocity.y",
        "Health.hp",
        "Health.max",
        "Health.armour",
        "Health.level",
    ];
    let columns = columns.map(str::to_owned).into();
    Request::Entities(EntitiesRequest { query: query.into(), from, count: 100, columns, ..EntitiesRequest::default() })
}

/// Returns the least time of some runs.
fn best(runs: usize, mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap_or_default()
}

fn print(name: &str, figure: &str, target: &str, is_met: bool) {
    let mark = if is_met { "met" } else { "MISSED" };
    println!("{name:<58} {figure:>14}   target {target:<14} {mark}");
}

fn print_time(name: &str, time: Duration, target: Duration) {
    print(name, &format!("{time:.2?}"), &format!("{target:?}"), time <= target);
}

fn main() {
    // The harness of cargo may ask for a list of tests.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    if std::env::args().any(|argument| argument == "--idle") {
        return idle();
    }
    instructions();
    let mut world = world();
    let mut inspector = Inspector::builder().address("127.0.0.1:0").quiet().serve().expect("a port is free");
    let (updates, runs) = (1_000_000, 20);
    let mut all = Duration::ZERO;
    let time = best(runs, || {
        let start = Instant::now();
        (0..updates).for_each(|_| _ = black_box(inspector.update(black_box(&mut world))));
        all += start.elapsed();
    });
    let each = |time: Duration, count: u64| time.as_nanos() as f64 / count as f64;
    let (least, mean) = (each(time, updates), each(all, updates * runs as u64));
    let figure = format!("{least:.2} ns ({mean:.2})");
    print("update, attached and idle: least (mean)", &figure, "30 ns", mean <= 30.0);
    // None of them was left out.
    let about = inspector.answer(&mut world, Request::World);
    assert!(about.text().contains(&format!("\"frame\":{},", updates * runs as u64)), "{}", about.text());

    let mut answer = |request: Request| {
        let answer = inspector.answer(&mut world, request);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    };
    for from in [0, MILLION / 2, MILLION - 100] {
        let time = best(50, || drop(answer(list("Position, Velocity, Health", from))));
        print_time(&format!("100 rows × 8 fields at {from} of a million, tables"), time, Duration::from_micros(300));
    }
    let time = best(10, || drop(answer(list("Burning", MILLION / 4 - 100))));
    print_time("100 rows × 8 fields at the end of 250,000, a pool leads", time, Duration::from_millis(6));
    let time = best(10, || drop(answer(Request::Count { query: "Health.hp < 10".into(), at: Moment::Now })));
    print_time("Health.hp < 10 over a million, whole scan", time, Duration::from_millis(12));
    let time = best(5, || drop(answer(list("Health.hp < 900 sort Health.hp desc", 0))));
    println!("{:<58} {:>14}", "sorted by Health.hp, first 100", format!("{time:.2?}"));
    drop(inspector);
    live(&mut world);
}

/// Measures updates at 60 frames per second, while a page asks at 10 Hz and scans are made.
fn live(world: &mut World) {
    let budget = Duration::from_millis(1);
    let mut inspector =
        Inspector::builder().address("127.0.0.1:0").quiet().budget(budget).serve().expect("a port is free");
    let url = inspector.url().expect("there is a server");
    let (address, key) =
        url.strip_prefix("http://").and_then(|url| url.split_once("/#key=")).expect("it is an address");
    let (address, key): (SocketAddr, String) = (address.parse().expect("it is an address"), key.into());
    for (name, path, period) in [
        ("a page of tables at 10 Hz", "entities?q=Position&from=500000&count=50", 100),
        ("scans of Health.hp < 10, one after another", "count?q=Health.hp+%3C+10", 0),
    ] {
        let (is_done, answers) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut times = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut socket = TcpStream::connect(address).expect("the server listens");
                let request =
                    format!("GET /api/1/{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\r\n");
                let mut buffer = vec![0; 1 << 16];
                while !is_done.load(Ordering::Relaxed) {
                    socket.write_all(request.as_bytes()).expect("the server reads");
                    let mut text = Vec::new();
                    while !text.ends_with(b"}") {
                        let count = socket.read(&mut buffer).expect("the server answers");
                        text.extend_from_slice(&buffer[..count]);
                    }
                    answers.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(period));
                }
            });
            for _ in 0..300 {
                let start = Instant::now();
                black_box(inspector.update(world));
                times.push(start.elapsed());
                std::thread::sleep(Duration::from_micros(16_700).saturating_sub(start.elapsed()));
            }
            is_done.store(true, Ordering::Relaxed);
            // The last request is answered, so that the client ends.
            let end = Instant::now();
            while end.elapsed() < Duration::from_millis(400) {
                inspector.update(world);
            }
        });
        times.sort_unstable();
        let mean = times.iter().sum::<Duration>() / times.len() as u32;
        let (p99, count) = (times[times.len() * 99 / 100], answers.load(Ordering::Relaxed));
        if period > 0 {
            print_time(&format!("{name}: mean update, {count} answers"), mean, Duration::from_micros(167));
        }
        print_time(&format!("{name}: p99 of an update, {count} answers"), p99, budget * 11 / 10);
    }
}

/// Makes a number of idle updates, for callgrind. With `--empty`, the loop alone.
fn idle() {
    let count = std::env::args().filter_map(|argument| argument.parse::<u32>().ok()).next().unwrap_or(0);
    let is_empty = std::env::args().any(|argument| argument == "--empty");
    let mut world = World::new();
    let mut inspector = Inspector::builder().address("127.0.0.1:0").quiet().serve().expect("a port is free");
    if is_empty {
        (0..count).for_each(|_| _ = black_box(std::ptr::from_mut(black_box(&mut world))));
    } else {
        (0..count).for_each(|_| _ = black_box(inspector.update(black_box(&mut world))));
    }
}

/// Prints the instructions of an idle update, if valgrind is there.
fn instructions() {
    let count = |updates: u32, more: &str| {
        let program = std::env::current_exe().ok()?;
        let output = std::process::Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(["--idle", &updates.to_string(), more])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().find(|line| line.contains("Collected :"))?;
        line.rsplit(' ').next()?.parse::<f64>().ok()
    };
    let each = |more: &str| Some((count(1_001_000, more)? - count(1000, more)?) / 1e6);
    match (each(""), each("--empty")) {
        (Some(full), Some(empty)) => {
            let own = full - empty;
            print("update, no client: instructions", &format!("{own:.1}"), "10", own <= 10.5);
            println!("{:<58} {:>14}", "  with a loop that does nothing else", format!("{full:.1}"));
        }
        _ => println!("update, no client: valgrind is not there"),
    }
}
