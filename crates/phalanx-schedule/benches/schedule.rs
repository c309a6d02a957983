//! Schedules against plain loops, events against vectors; every target with its figure.
//!
//! `cargo bench -p phalanx-schedule [-- --only WORD] [--seconds S]`. Ratios of minima over many interleaved rounds. Rows on two
//! threads need a second core that is free.
#![allow(missing_docs)]

use phalanx::commands::CommandBuffer;
use phalanx::event::{EventReader, EventWriter};
use phalanx::executor::ThreadPool;
use phalanx::system::{Commands, Local, Res, ResMut};
use phalanx::{Component, Entity, Event, Query, World};
use phalanx_schedule::{IntoSystemConfig, Schedule, ScheduleBuilder, Threads};
use phalanx_testkit::bench::Bound::{Times, Within};
use phalanx_testkit::bench::{self, Build, Case, Figures, Target, Workload, mix, target, time};
use std::hint::black_box;
use std::time::Duration;

const TARGETS: &[Target] = &[
    target("swaps", "inline", &["limit"], Within(1.05)),
    target("chain of 100, empty", "2 threads", &["inline"], Within(2.0)),
    target("chain of 100, 20 ns each", "2 threads", &["inline"], Within(1.3)),
    target("8 × 100 µs", "2 threads", &["inline"], Times(1.9)),
    target("50 × 20 spawns and despawns", "spawn", &["by hand, spawn_with"], Within(1.15)),
    target("50 × 20 spawns and despawns", "spawn_later", &["by hand, spawn"], Within(1.15)),
    target("send", "EventWriter", &["Vec::push"], Within(1.2)),
    target("send", "World::send", &["Vec::push"], Within(1.2)),
    target("read", "EventReader", &["slice"], Within(1.05)),
    target("read", "HeldReader", &["slice"], Within(1.05)),
];

/// Times that do not depend on another row: workload, row, and at most as many nanoseconds.
const LIMITS: &[(&str, &str, f64)] = &[
    ("empty systems, 1", "no parameters", 8.0),
    ("empty systems, 1", "a query", 8.0),
    ("empty systems, 100", "no parameters", 8.0),
    ("empty systems, 100", "a query", 8.0),
    ("empty systems, 1,000", "no parameters", 8.0),
    ("empty systems, 1,000", "a query", 8.0),
    ("empty systems, 10,000", "no parameters", 8.0),
    ("empty systems, 10,000", "a query", 8.0),
    ("build 1,000 systems", "200 components", 10_000_000.0),
];

#[derive(Clone, Copy, Component)]
struct A(f32);
#[derive(Clone, Copy, Component)]
struct B(f32);
#[derive(Clone, Copy, Component)]
struct C(f32);
#[derive(Clone, Copy, Component)]
struct D(f32);
#[derive(Clone, Copy, Component)]
struct E(f32);

/// A schedule and its world.
struct Game {
    world: World,
    schedule: Schedule,
    pool: Option<ThreadPool>,
}

impl Game {
    fn new(mut world: World, builder: ScheduleBuilder, threads: usize) -> Game {
        let mut schedule = builder.build(&mut world).unwrap();
        schedule.set_threads(Threads::Always);
        let pool = (threads > 1).then(|| ThreadPool::with_spin(threads, Duration::from_micros(50)));
        Game { world, schedule, pool }
    }

    fn run(&mut self) {
        match &self.pool {
            Some(pool) => self.schedule.run_on(pool, &mut self.world),
            None => self.schedule.run(&mut self.world),
        }
    }
}

/// A case that runs `reps` times on a fixture that it keeps.
fn case<S: 'static>(
    label: &'static str,
    make: impl Fn() -> S + 'static,
    reps: usize,
    step: impl Fn(&mut S) + Copy + 'static,
    digest: impl Fn(&mut S) -> u64 + Copy + 'static,
) -> Build {
    Box::new(move || {
        let mut state = make();
        Case::new(label, move |check| {
            step(&mut state);
            let (ns, ()) = time(|| (0..reps).for_each(|_| step(black_box(&mut state))));
            (ns, if check { digest(&mut state) } else { 0 })
        })
    })
}

fn game(label: &'static str, reps: usize, make: impl Fn() -> Game + 'static) -> Build {
    case(label, make, reps, Game::run, |_| 0)
}

/// The workload `ecs_schedule`: A and B, C and D, C and E are swapped.
fn swaps() -> Workload {
    const ROWS: usize = 10_000;
    const REPS: usize = 10;
    fn world() -> World {
        let mut world = World::new();
        for i in 0..ROWS {
            let f = i as f32;
            world.spawn((A(f), B(f + 0.5)));
            world.spawn((A(f), B(f + 0.5), C(f)));
            world.spawn((A(f), B(f + 0.5), C(f), D(f + 0.25)));
            world.spawn((A(f), B(f + 0.5), C(f), E(f + 0.125)));
        }
        world
    }
    fn builder() -> ScheduleBuilder {
        Schedule::builder("swaps").add((
            |query: Query<(&mut A, &mut B)>| query.for_each(|(a, b)| core::mem::swap(&mut a.0, &mut b.0)),
            |query: Query<(&mut C, &mut D)>| query.for_each(|(c, d)| core::mem::swap(&mut c.0, &mut d.0)),
            |query: Query<(&mut C, &mut E)>| query.for_each(|(c, e)| core::mem::swap(&mut c.0, &mut e.0)),
        ))
    }
    let digest = |game: &mut Game| {
        let values = game.world.query::<&A>();
        values.iter().fold(0u64, |sum, a| sum.wrapping_add(mix(a.0.to_bits().into())))
    };
    let plain = || {
        let column = |from: f32| (0..4 * ROWS).map(|i| (i % ROWS) as f32 + from).collect::<Vec<f32>>();
        let part = |from: f32| (0..ROWS).map(|i| i as f32 + from).collect::<Vec<f32>>();
        [[column(0.0), column(0.5)], [part(0.0), part(0.25)], [part(0.0), part(0.125)]]
    };
    Workload {
        name: "swaps",
        ops: (6 * ROWS * REPS) as f64,
        build: vec![
            case(
                "limit",
                plain,
                REPS,
                |pairs| pairs.iter_mut().for_each(|[a, b]| a.swap_with_slice(b)),
                |pairs| pairs[0][0].iter().fold(0u64, |sum, a| sum.wrapping_add(mix(a.to_bits().into()))),
            ),
            case("inline", || Game::new(world(), builder(), 1), REPS, Game::run, digest),
            case("2 threads", || Game::new(world(), builder(), 2), REPS, Game::run, digest),
        ],
    }
}

/// Systems that do nothing, by themselves and as boxed closures in a vector.
fn empty(name: &'static str, count: usize) -> Workload {
    let reps = (10_000 / count).max(1);
    let boxed = move || (0..count).map(|_| Box::new(|| _ = black_box(0)) as Box<dyn Fn()>).collect::<Vec<_>>();
    let none = move |threads| {
        move || Game::new(World::new(), (0..count).fold(Schedule::builder("s"), |s, _| s.add(|| {})), threads)
    };
    let query = move || {
        let add = |schedule: ScheduleBuilder, _| schedule.add(|_: Query<&A>| {});
        Game::new(World::new(), (0..count).fold(Schedule::builder("s"), add), 1)
    };
    Workload {
        name,
        ops: (count * reps) as f64,
        build: vec![
            case("boxed closures", boxed, reps, |list| list.iter().for_each(|f| f()), |_| 0),
            game("no parameters", reps, none(1)),
            game("a query", reps, query),
            game("2 threads", reps, none(2)),
        ],
    }
}

/// Works for about 20 ns.
fn work(mut value: Local<u64>) {
    for _ in 0..35 {
        *value = black_box(value.wrapping_mul(5).wrapping_add(1));
    }
}

/// 100 systems, each of which waits for the one before it. With a system beside them, two threads take part.
fn chain(name: &'static str, is_empty: bool, has_one_beside: bool) -> Workload {
    let make = move |threads| {
        move || {
            let schedule = (0..100).fold(Schedule::builder("chain"), |schedule, number: usize| {
                let config = if is_empty { (|| {}).into_config() } else { work.into_config() };
                let config = config.named(number.to_string());
                schedule.add(match number {
                    0 => config,
                    _ => config.after((number - 1).to_string()),
                })
            });
            let schedule = if has_one_beside { schedule.add((|| {}).named("beside")) } else { schedule };
            Game::new(World::new(), schedule, threads)
        }
    };
    Workload { name, ops: 10_000.0, build: vec![game("inline", 100, make(1)), game("2 threads", 100, make(2))] }
}

/// Eight systems that take 100 µs each.
fn wide() -> Workload {
    let busy = || {
        let mut value = 1u64;
        for _ in 0..160_000 {
            value = black_box(value.wrapping_mul(5).wrapping_add(1));
        }
    };
    let make = move |threads| {
        move || Game::new(World::new(), (0..8).fold(Schedule::builder("wide"), |s, _| s.add(busy)), threads)
    };
    Workload { name: "8 × 100 µs", ops: 1.0, build: vec![game("inline", 1, make(1)), game("2 threads", 1, make(2))] }
}

/// 50 systems, each of which spawns 20 entities and despawns those of the run before.
fn commands() -> Workload {
    const REPS: usize = 20;
    fn spawn(mut mine: Local<Vec<Entity>>, mut commands: Commands) {
        mine.drain(..).for_each(|entity| commands.despawn(entity));
        mine.extend((0..20).map(|i| commands.spawn((A(i as f32), B(1.0)))));
    }
    // Entities that are spawned later are not known to the system. So it despawns what it finds.
    struct Found(Vec<Entity>);
    fn find(entities: Query<Entity>, mut found: ResMut<Found>) {
        found.0.clear();
        found.0.extend(&entities);
    }
    let later = |number: usize| {
        move |found: Res<Found>, mut commands: Commands| {
            found.0.iter().skip(20 * number).take(20).for_each(|entity| commands.despawn(*entity));
            (0..20).for_each(|i| commands.spawn_later((A(i as f32), B(1.0))));
        }
    };
    let len = |game: &mut Game| game.world.len() as u64;
    let spawning = move |threads| {
        move || Game::new(World::new(), (0..50).fold(Schedule::builder("s"), |s, _| s.add(spawn)), threads)
    };
    let spawning_later = move || {
        let mut world = World::new();
        world.insert_resource(Found(Vec::new()));
        Game::new(world, (0..50).fold(Schedule::builder("s").add(find), |s, number| s.add(later(number))), 1)
    };
    let buffers = || {
        let buffers = (0..50).map(|_| (CommandBuffer::new(), Vec::<Entity>::new()));
        (World::new(), buffers.collect::<Vec<_>>())
    };
    let hands = |is_later: bool| {
        move |(world, buffers): &mut (World, Vec<(CommandBuffer, Vec<Entity>)>)| {
            let mut found = Vec::new();
            if is_later {
                found.extend(&world.query::<Entity>());
            }
            for (number, (buffer, mine)) in buffers.iter_mut().enumerate() {
                if is_later {
                    found.iter().skip(20 * number).take(20).for_each(|entity| buffer.despawn(*entity));
                    (0..20).for_each(|i| buffer.spawn((A(i as f32), B(1.0))));
                } else {
                    mine.drain(..).for_each(|entity| buffer.despawn(entity));
                    mine.extend((0..20).map(|i| buffer.spawn_with(world, (A(i as f32), B(1.0)))));
                }
            }
            for (buffer, _) in buffers {
                buffer.apply(world);
            }
        }
    };
    Workload {
        name: "50 × 20 spawns and despawns",
        ops: (50 * 20 * REPS) as f64,
        build: vec![
            case("by hand, spawn_with", buffers, REPS, hands(false), |(world, _)| world.len() as u64),
            case("by hand, spawn", buffers, REPS, hands(true), |(world, _)| world.len() as u64),
            case("spawn", spawning(1), REPS, Game::run, len),
            case("spawn, 2 threads", spawning(2), REPS, Game::run, len),
            case("spawn_later", spawning_later, REPS, Game::run, len),
        ],
    }
}

#[derive(Clone, Copy, Event)]
struct Hit(u32);

const EVENTS: u32 = 10_000;

/// 10,000 events are sent, and dropped by the next run.
fn send() -> Workload {
    const REPS: usize = 4;
    let vec = || (Vec::<Hit>::new(), 0);
    let writing = || {
        let mut world = World::new();
        let reader = world.event_reader::<Hit>();
        let send = |mut hits: EventWriter<Hit>| (0..black_box(EVENTS)).for_each(|n| hits.send(Hit(black_box(n))));
        (Game::new(world, Schedule::builder("s").add(send), 1), reader)
    };
    let sending = || {
        let mut world = World::new();
        let reader = world.event_reader::<Hit>();
        (world, reader)
    };
    Workload {
        name: "send",
        ops: EVENTS as f64 * REPS as f64,
        build: vec![
            case(
                "Vec::push",
                vec,
                REPS,
                |(hits, _)| {
                    hits.clear();
                    (0..black_box(EVENTS)).for_each(|n| hits.push(Hit(black_box(n))));
                },
                |_| 0,
            ),
            case(
                "EventWriter",
                writing,
                REPS,
                |(game, reader)| {
                    game.run();
                    black_box(reader.read(&game.world));
                },
                |_| 0,
            ),
            case(
                "World::send",
                sending,
                REPS,
                |(world, reader)| {
                    let events = world.events_mut::<Hit>();
                    (0..black_box(EVENTS)).for_each(|n| events.send(Hit(black_box(n))));
                    black_box(reader.read(world));
                },
                |_| 0,
            ),
        ],
    }
}

/// 10,000 events are read. Sending them is not timed.
fn read() -> Workload {
    // One loop for all rows, because its speed depends on where the compiler puts it. A step is not vectorised, as when an
    // event is handled.
    #[inline(never)]
    fn sum(hits: &[Hit]) -> u64 {
        hits.iter().fold(0, |sum: u64, hit| black_box(sum ^ u64::from(hit.0)))
    }
    struct Sum(u64);
    let slice = || -> Case {
        let hits: Vec<Hit> = (0..EVENTS).map(Hit).collect();
        Case::new("slice", move |_| time(|| sum(black_box(&hits))))
    };
    let system = || -> Case {
        let mut world = World::new();
        world.insert_resource(Sum(0));
        let read = |mut hits: EventReader<Hit>, mut total: ResMut<Sum>| total.0 = sum(hits.read());
        let mut game = Game::new(world, Schedule::builder("s").add(read), 1);
        Case::new("EventReader", move |_| {
            (0..EVENTS).for_each(|n| game.world.send(Hit(n)));
            let (ns, ()) = time(|| game.run());
            (ns, game.world.resource::<Sum>().unwrap().0)
        })
    };
    let held = || -> Case {
        let mut world = World::new();
        let mut reader = world.event_reader::<Hit>();
        Case::new("HeldReader", move |_| {
            (0..EVENTS).for_each(|n| world.send(Hit(n)));
            time(|| sum(reader.read(&world)))
        })
    };
    Workload { name: "read", ops: EVENTS.into(), build: vec![Box::new(slice), Box::new(system), Box::new(held)] }
}

/// A component with a number.
#[derive(Component)]
struct Numbered<const N: usize>;

/// Adds five systems for a component: two write it, three read it and another one.
fn add_five<const N: usize, const M: usize>(schedule: ScheduleBuilder) -> ScheduleBuilder {
    fn write<const N: usize>(_: Query<&mut Numbered<N>>) {}
    fn read<const N: usize, const M: usize>(_: Query<(&Numbered<N>, &Numbered<M>)>) {}
    schedule.add((write::<N>, read::<N, M>, read::<N, M>, write::<N>, read::<N, M>))
}

macro_rules! add_all {
    ($schedule:ident, $($ten:literal)*) => {$(
        $schedule = add_five::<{ $ten * 10 }, { ($ten * 10 + 7) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 1 }, { ($ten * 10 + 30) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 2 }, { ($ten * 10 + 12) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 3 }, { ($ten * 10 + 2) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 4 }, { ($ten * 10 + 55) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 5 }, { ($ten * 10 + 9) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 6 }, { ($ten * 10 + 81) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 7 }, { ($ten * 10 + 4) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 8 }, { ($ten * 10 + 103) % 200 }>($schedule);
        $schedule = add_five::<{ $ten * 10 + 9 }, { ($ten * 10 + 66) % 200 }>($schedule);
    )*};
}

/// 1,000 systems over 200 components: adding them and finding their order.
fn build() -> Workload {
    let build = || {
        Case::new("200 components", |_| {
            let mut world = World::new();
            let (ns, schedule) = time(|| {
                let mut schedule = Schedule::builder("build");
                add_all!(schedule, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
                schedule.build(&mut world).unwrap()
            });
            assert_eq!(schedule.systems().count(), 1000);
            (ns, 0)
        })
    };
    Workload { name: "build 1,000 systems", ops: 1.0, build: vec![Box::new(build)] }
}

fn print_limits(figures: &[Figures]) {
    println!("\nLimits");
    for (workload, row, most) in LIMITS {
        let Some(figure) = figures.iter().find(|figure| figure.name == *workload) else { continue };
        let ns = figure.of(row);
        let met = if ns <= *most { "met" } else { "MISSED" };
        println!("  {met:<6} {workload:<26} {row:<22} {ns:.1} ns, at most {most}");
    }
}

fn main() {
    bench::settle_allocator();
    let args: Vec<String> = std::env::args().collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|at| args.get(at + 1));
    let only = after("--only");
    let seconds: f64 = after("--seconds").and_then(|s| s.parse().ok()).unwrap_or(3.0);
    let workloads = [
        swaps(),
        empty("empty systems, 1", 1),
        empty("empty systems, 100", 100),
        empty("empty systems, 1,000", 1000),
        empty("empty systems, 10,000", 10_000),
        chain("chain of 100, empty", true, false),
        chain("chain of 100, 20 ns each", false, false),
        chain("chain of 100 and one beside, empty", true, true),
        chain("chain of 100 and one beside, 20 ns each", false, true),
        wide(),
        commands(),
        build(),
        send(),
        read(),
    ];
    let mut figures = Vec::new();
    for workload in workloads {
        if only.is_none_or(|word| workload.name.contains(word.as_str())) {
            let figure = bench::run(&workload, Duration::from_secs_f64(seconds));
            figure.print();
            figures.push(figure);
        }
    }
    bench::print_targets(TARGETS, &figures);
    print_limits(&figures);
}
