//! Loops over queries on several threads.
#![cfg(not(loom))]

use phalanx::executor::{Executor, Inline, ThreadPool};
use phalanx::group::Owned;
use phalanx::query::{AllRows, ReadOnlyQueryData};
use phalanx::{
    Added, Changed, CommandBuffer, Component, Entity, Has, Key, Or, Query, QueryData, QueryState, Role, With, Without,
    World,
};
use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

macro_rules! components {
    ($($name:ident($option:literal))*) => {$(
        #[derive(Component, Clone, Copy, Debug, PartialEq)]
        #[component(layout = $option)]
        struct $name(u64);
    )*};
}
components! { Table("table") Other("table") Pool("pool") Rare("pool") Linear("linear") Line("linear") }

#[derive(Component, phalanx::store::Soa, Clone, Copy, Debug, PartialEq)]
#[component(layout = "soa")]
struct Soa {
    x: u64,
    y: u64,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(track = "row")]
struct Tracked(u64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", track = "row")]
struct TrackedPool(u64);

/// A world of `size` entities, some of which lack some components, with holes in all orders and extra rows.
fn world(size: u64) -> World {
    let mut world = World::new();
    let mut all = Vec::new();
    for n in 0..size {
        let e = world.spawn((Table(n), Tracked(n)));
        if n % 2 == 0 {
            world.insert(e, (Pool(n), Soa { x: n, y: n + 1 })).unwrap();
        }
        if n % 3 != 0 {
            world.insert(e, (Linear(n), TrackedPool(n))).unwrap();
        }
        if n % 5 != 0 {
            world.insert(e, Line(n)).unwrap();
        }
        if n % 7 == 0 {
            world.insert(e, Rare(n)).unwrap();
        }
        if n % 4 == 0 {
            world.insert(e, Other(n)).unwrap();
        }
        if n % 50 == 3 {
            let row = (Table(n), Pool(n), Linear(n), Line(n));
            world.add_row(Key::main(e).with_role(Role(1)), row).unwrap();
        }
        all.push(e);
    }
    // Rows and positions are moved, and slots of linear stores are left empty.
    all.iter().step_by(11).for_each(|e| world.despawn(*e).unwrap());
    world
}

fn pools() -> Vec<ThreadPool> {
    (1..=8).map(ThreadPool::new).collect()
}

/// Executors that no sane program has.
#[derive(Debug)]
enum Hostile {
    Never,
    Once,
    Often,
    Nested,
    Threads,
    OneAfterAnother,
    /// Claims a width of zero.
    Nothing,
    /// Claims every thread that can be counted.
    Everything,
    Panics,
}

impl Hostile {
    const ALL: [Hostile; 8] = [
        Hostile::Never,
        Hostile::Once,
        Hostile::Often,
        Hostile::Nested,
        Hostile::Threads,
        Hostile::OneAfterAnother,
        Hostile::Nothing,
        Hostile::Everything,
    ];
}

impl Executor for Hostile {
    fn run(&self, _: usize, work: &(dyn Fn() + Sync)) {
        match self {
            Hostile::Never => {}
            Hostile::Once | Hostile::Nothing | Hostile::Everything => work(),
            Hostile::Often => (0..100).for_each(|_| work()),
            Hostile::Nested => {
                let twice = || {
                    work();
                    Hostile::Threads.run(1, &|| work());
                };
                Hostile::Threads.run(1, &twice);
            }
            Hostile::Threads => thread::scope(|scope| {
                let threads = [0; 3].map(|_| scope.spawn(|| (0..2).for_each(|_| work())));
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }),
            Hostile::OneAfterAnother => {
                for _ in 0..3 {
                    thread::scope(|scope| scope.spawn(work).join().unwrap());
                }
            }
            Hostile::Panics => {
                thread::scope(|scope| scope.spawn(work).join().unwrap());
                panic!("of the executor");
            }
        }
    }

    fn width(&self) -> usize {
        match self {
            Hostile::Nothing => 0,
            Hostile::Everything => usize::MAX,
            _ => 4,
        }
    }
}

fn each_executor(mut f: impl FnMut(&str, &dyn Executor)) {
    pools().iter().for_each(|pool| f(&format!("{pool:?}"), pool));
    Hostile::ALL.iter().for_each(|hostile| f(&format!("{hostile:?}"), hostile));
    f("Inline", &Inline);
}

const BATCHES: [usize; 4] = [0, 3, 64, usize::MAX];

/// Visits a query in all ways, and compares with a loop on one thread: the same items, those of a batch in order.
fn check<D: ReadOnlyQueryData, F: phalanx::query::QueryFilter>(world: &mut World, executor: &dyn Executor, name: &str)
where
    for<'w> D::Item<'w>: Debug,
{
    let expected: Vec<String> = world.query_filtered::<D, F>().iter().map(|item| format!("{item:?}")).collect();
    let mut sorted = expected.clone();
    sorted.sort();
    let mut state = QueryState::<D, F>::new();
    for batch in [None].into_iter().chain(BATCHES.map(Some)) {
        for known in [false, true] {
            let query = |found: &Mutex<Vec<String>>, query: Query<D, F>| {
                let visit = |item: D::Item<'_>| found.lock().unwrap().push(format!("{item:?}"));
                match batch {
                    None => query.par_for_each_on(executor, visit),
                    Some(batch) => query.par_for_each_by_on(executor, batch, visit),
                }
            };
            let fold = |query: Query<D, F>| {
                let push = |mut list: Vec<String>, item: D::Item<'_>| {
                    list.push(format!("{item:?}"));
                    list
                };
                let merge = |mut a: Vec<String>, mut b: Vec<String>| {
                    a.append(&mut b);
                    a
                };
                match batch {
                    None => query.par_fold_on(executor, Vec::new, push, merge),
                    Some(batch) => query.par_fold_by_on(executor, batch, Vec::new, push, merge),
                }
            };
            let found = Mutex::new(Vec::new());
            let folded = if known {
                query(&found, state.query_mut(world));
                fold(state.query_mut(world))
            } else {
                query(&found, world.query_filtered());
                fold(world.query_filtered())
            };
            let mut found = found.into_inner().unwrap();
            found.sort();
            let what = std::any::type_name::<(D, F)>();
            assert!(found == sorted, "{what} by {batch:?} on {name}: {} of {}", found.len(), sorted.len());
            assert!(folded == expected, "{what} by {batch:?} on {name}");
        }
    }
}

/// Calls [`check`] with queries of each layout and each driver.
fn check_all(world: &mut World, executor: &dyn Executor, name: &str) {
    check::<(Entity, &Table), ()>(world, executor, name);
    check::<(&Table, Option<&Other>, &Tracked), Without<Soa>>(world, executor, name);
    check::<(&Soa, Has<Other>), ()>(world, executor, name);
    check::<&Pool, ()>(world, executor, name);
    check::<(Entity, &Pool), ()>(world, executor, name);
    check::<(&Table, &Rare), ()>(world, executor, name);
    check::<(&Table, &Pool, &Linear), ()>(world, executor, name);
    check::<(Entity, &Table, Option<&Pool>), ()>(world, executor, name);
    check::<&Table, Without<Pool>>(world, executor, name);
    check::<&Table, (With<Other>, Without<Linear>)>(world, executor, name);
    check::<&Linear, ()>(world, executor, name);
    check::<(&Linear, &Line), ()>(world, executor, name);
    check::<(Entity, &Line, &Table), With<Pool>>(world, executor, name);
    check::<(Key, &Table), AllRows>(world, executor, name);
    check::<(Key, &Pool), AllRows>(world, executor, name);
    check::<(Key, &Line), AllRows>(world, executor, name);
    check::<&Tracked, Or<(With<Pool>, With<Line>)>>(world, executor, name);
    check::<(&Pool, &Rare), ()>(world, executor, name);
}

#[test]
fn h36_loops_on_all_executors_visit_what_a_loop_on_one_thread_visits() {
    for size in if cfg!(miri) { vec![40] } else { vec![0, 1, 65, 200] } {
        let mut world = world(size);
        each_executor(|name, executor| check_all(&mut world, executor, name));
        // With groups there are other drivers, and pools are in another order.
        world.create_group::<Owned<(Pool, Rare)>>().unwrap();
        each_executor(|name, executor| check_all(&mut world, executor, name));
        world.validate().unwrap();
    }
}

#[test]
fn large_loops_visit_what_a_loop_on_one_thread_visits() {
    let mut world = world(if cfg!(miri) { 100 } else { 3000 });
    let pool = ThreadPool::new(3);
    check_all(&mut world, &pool, "3 threads");
    check_all(&mut world, &Hostile::Nested, "nested");
}

/// A pool with holes.
#[test]
fn holes_are_skipped() {
    let mut world = world(if cfg!(miri) { 50 } else { 700 });
    world.pool_mut::<Pool>().set_removal(phalanx::Removal::Deferred).unwrap();
    let some: Vec<Entity> = world.query_filtered::<Entity, With<Pool>>().iter().step_by(3).collect();
    assert!(some.into_iter().all(|e| world.remove::<Pool>(e).unwrap()));
    each_executor(|name, executor| {
        check::<&Pool, ()>(&mut world, executor, name);
        check::<(Entity, &Pool), ()>(&mut world, executor, name);
        check::<(&Table, &Pool), ()>(&mut world, executor, name);
    });
}

/// Adds 1 to all values of a query, and compares with a loop on one thread.
fn check_writes<D: QueryData, F: phalanx::query::QueryFilter>(size: u64, write: impl Fn(D::Item<'_>) + Sync) {
    let mut expected = world(size);
    expected.query_filtered_mut::<D, F>().for_each(&write);
    each_executor(|name, executor| {
        for batch in [1, 64, 1000] {
            let mut world = world(size);
            world.query_filtered_mut::<D, F>().par_for_each_by_on(executor, batch, &write);
            let what = std::any::type_name::<(D, F)>();
            assert!(values(&world) == values(&expected), "{what} by {batch} on {name}");
            world.validate().unwrap();
        }
    });
}

fn values(world: &World) -> Vec<String> {
    let query =
        world.query::<(Entity, &Table, &Tracked, Option<&Pool>, Option<&Linear>, Option<&Soa>, Option<&TrackedPool>)>();
    query.iter().map(|item| format!("{item:?}")).collect()
}

#[test]
fn h26_hostile_executors_write_each_row_once() {
    let size = if cfg!(miri) { 20 } else { 200 };
    check_writes::<&mut Table, ()>(size, |table| table.0 += 1);
    check_writes::<(&mut Pool, &mut Table), ()>(size, |(pool, table)| (pool.0, table.0) = (pool.0 + 1, table.0 + 2));
    check_writes::<(&mut Linear, &Line), ()>(size, |(linear, line)| linear.0 += line.0);
    check_writes::<(&mut Table, Option<&mut Pool>), Without<Rare>>(size, |(table, pool)| {
        table.0 += pool.map_or(1, |pool| std::mem::replace(&mut pool.0, 5));
    });
    check_writes::<&mut Soa, With<Linear>>(size, |soa| *soa.x += *soa.y);
    check_writes::<(&mut Tracked, &mut TrackedPool), ()>(size, |(mut a, mut b)| (a.0, b.0) = (a.0 + b.0, b.0 + 1));
}

/// Filters by change ticks ask each row on the thread that visits it.
#[test]
fn changes_are_found_and_marked_on_all_threads() {
    for pool in pools() {
        let mut world = world(300);
        let mut reader = QueryState::<Entity, Changed<TrackedPool>>::new();
        let mut writer = QueryState::<(Entity, &mut TrackedPool), Changed<TrackedPool>>::new();
        let mut added = QueryState::<&Tracked, Added<Tracked>>::new();
        let all = reader.iter(&world).count();
        let visits = AtomicUsize::new(0);
        let write = |(_, mut value): (Entity, phalanx::Mut<'_, TrackedPool>)| {
            visits.fetch_add(1, Ordering::Relaxed);
            if value.0 % 10 == 0 {
                value.0 += 10;
            }
        };
        writer.query_mut(&mut world).par_for_each_by_on(&pool, 8, write);
        assert_eq!(visits.load(Ordering::Relaxed), all);
        let changed = world.query::<&TrackedPool>().iter().filter(|value| value.0 % 10 == 0).count();
        assert_eq!(reader.iter(&world).count(), changed);
        writer.query_mut(&mut world).par_for_each_by_on(&pool, 8, write);
        assert_eq!(visits.into_inner(), all, "own writes are not changes");
        let count = |query: Query<&Tracked, Added<Tracked>>| {
            query.par_fold_by_on(&pool, 8, || 0, |count, _| count + 1, |a, b| a + b)
        };
        let tracked = world.query::<&Tracked>().len();
        assert_eq!((count(added.query_mut(&mut world)), count(added.query_mut(&mut world))), (tracked, 0));
    }
}

#[test]
fn sums_of_floats_are_the_same_to_the_bit_on_any_number_of_threads() {
    #[derive(Component)]
    struct F(f32);
    #[derive(Component)]
    #[component(layout = "linear")]
    struct G(f32);
    let mut world = World::new();
    let value = |n: u32| 1.0 / (n as f32 + 0.1);
    let size = if cfg!(miri) { 300 } else { 100_000 };
    world.spawn_batch((0..size).map(|n| (F(value(n)), G(value(n)))));
    world.spawn_batch((0..size / 3).map(|n| (F(-value(n)), Table(0))));
    let tables = |executor: &dyn Executor| {
        world.query::<&F>().par_fold_on(executor, || 0.0f32, |sum, f| sum + f.0, |a, b| a + b).to_bits()
    };
    let linear = |executor: &dyn Executor| {
        let query = world.query::<(&F, &G)>();
        query.par_fold_by_on(executor, 100, || 0.0f32, |sum, (f, g)| sum + f.0 * g.0, |a, b| a + b).to_bits()
    };
    // The merges are not associative: another order would show.
    let order = |executor: &dyn Executor| {
        world.query::<Entity>().par_fold_on(
            executor,
            || 1.0f64,
            |x, e| (x + f64::from(e.index())).sqrt(),
            |a, b| a / 3.0 + b,
        )
    };
    let expected = (tables(&Inline), linear(&Inline), order(&Inline).to_bits());
    each_executor(|name, executor| {
        for _ in 0..3 {
            assert_eq!((tables(executor), linear(executor), order(executor).to_bits()), expected, "{name}");
        }
    });
    let serial: f32 = world.query::<&F>().iter().map(|f| f.0).sum();
    assert!((f32::from_bits(expected.0) - serial).abs() < 1e-2, "batches change the rounding only");
}

#[test]
fn a_fold_over_nothing_is_the_initial_value() {
    let world = World::new();
    each_executor(|name, executor| {
        let sum = world.query::<&Table>().par_fold_on(executor, || 7, |_, _| 0, |_, _| 0);
        assert_eq!(sum, 7, "{name}");
        let sum = world.query::<(&Pool, &Linear)>().par_fold_by_on(executor, 0, || 7, |_, _| 0, |_, _| 0);
        assert_eq!(sum, 7, "{name}");
    });
}

#[test]
fn commands_are_those_of_a_loop_on_one_thread() {
    let size = if cfg!(miri) { 50 } else { 3000 };
    let mut expected = world(size);
    let mut commands = CommandBuffer::new();
    commands.spawn(Other(1));
    for (e, table) in expected.query::<(Entity, &Table)>().iter() {
        match table.0 % 5 {
            0 => commands.despawn(e),
            1 => commands.insert(e, Rare(table.0)),
            2 => commands.remove::<Pool>(e),
            3 => (0..3).for_each(|n| commands.spawn((Table(table.0), Rare(n)))),
            _ => {}
        }
    }
    let recorded = format!("{commands:?}");
    commands.apply(&mut expected);
    let entities = |world: &World| {
        world.query::<(Entity, Option<&Rare>)>().iter().map(|item| format!("{item:?}")).collect::<Vec<_>>()
    };
    each_executor(|name, executor| {
        let mut world = world(size);
        let mut commands = CommandBuffer::new();
        commands.spawn(Other(1));
        world.query::<(Entity, &Table)>().par_for_each_with_on(executor, &mut commands, |commands, (e, table)| {
            if table.0 % 64 == 0 {
                thread::yield_now();
            }
            match table.0 % 5 {
                0 => commands.despawn(e),
                1 => commands.insert(e, Rare(table.0)),
                2 => commands.remove::<Pool>(e),
                3 => (0..3).for_each(|n| commands.spawn((Table(table.0), Rare(n)))),
                _ => {}
            }
        });
        assert_eq!(format!("{commands:?}"), recorded, "{name}");
        commands.apply(&mut world);
        assert!(entities(&world) == entities(&expected), "{name}");
        world.validate().unwrap();
    });
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload.downcast_ref::<String>().map_or_else(|| payload.downcast_ref::<&str>().unwrap(), String::as_str)
}

#[test]
fn the_panic_of_the_lowest_batch_is_resumed_after_all_threads_are_out() {
    let mut world = World::new();
    let (batch, batches) = (4, 12);
    world.spawn_batch((0..batch * batches).map(Table));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let result = catch_unwind(AssertUnwindSafe(|| {
        each_executor(|name, executor| {
            for first in 0..batches {
                let (inside, visited) = (AtomicUsize::new(0), AtomicUsize::new(0));
                // Each batch from this one on panics, and so do all of another.
                let visit = |table: &Table| {
                    inside.fetch_add(1, Ordering::SeqCst);
                    if table.0 / batch >= first && table.0 % batch == 2 {
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        panic!("at {}", table.0);
                    }
                    if table.0 / batch < first {
                        visited.fetch_add(1, Ordering::SeqCst);
                    }
                    inside.fetch_sub(1, Ordering::SeqCst);
                };
                let run = || world.query::<&Table>().par_for_each_by_on(executor, batch as usize, visit);
                let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
                assert_eq!(message(&*payload), format!("at {}", first * batch + 2), "{name}");
                assert_eq!(inside.into_inner(), 0, "{name}");
                assert_eq!(visited.into_inner() as u64, first * batch, "{name}: all lower batches were visited");
            }
        });
    }));
    std::panic::set_hook(hook);
    result.unwrap();
    world.validate().unwrap();
}

#[test]
fn no_command_is_appended_if_a_batch_panics() {
    let mut world = World::new();
    world.spawn_batch((0..500).map(Table));
    each_executor(|name, executor| {
        let mut commands = CommandBuffer::new();
        commands.spawn(Other(0));
        let result = catch_unwind(AssertUnwindSafe(|| {
            world.query::<(Entity, &Table)>().par_for_each_with_on(executor, &mut commands, |commands, (e, table)| {
                commands.insert(e, (Other(table.0), Noisy(String::from("a payload that is dropped"))));
                if table.0 == 250 {
                    std::panic::resume_unwind(Box::new("stop"));
                }
            });
        }));
        assert_eq!(message(&*result.unwrap_err()), "stop", "{name}");
        assert_eq!(commands.len(), 1, "{name}");
    });
}

#[derive(Component)]
struct Noisy(#[allow(dead_code)] String);

#[test]
fn an_executor_that_panics_leaves_a_world_that_can_be_used() {
    let mut world = World::new();
    world.spawn_batch((0..500).map(Table));
    let result = catch_unwind(AssertUnwindSafe(|| {
        world.query_mut::<&mut Table>().par_for_each_by_on(&Hostile::Panics, 10, |table| table.0 += 1);
    }));
    assert_eq!(message(&*result.unwrap_err()), "of the executor");
    world.validate().unwrap();
    world.query_mut::<&mut Table>().par_for_each_by_on(&Hostile::Threads, 10, |table| table.0 += 1);
}

/// A loop inside of a loop, and loops of two threads, on the same pool.
#[test]
fn loops_inside_of_loops_are_done() {
    let pool = ThreadPool::new(3);
    let mut world = World::new();
    world.spawn_batch((0..50).map(|n| (Table(n), Other(0))));
    let (mut second, mut reader) = (World::new(), World::new());
    second.spawn_batch((0..50).map(|n| (Table(n), Other(0))));
    reader.spawn_batch((0..50).map(Table));
    let write = |world: &mut World| {
        world.query_mut::<(&Table, &mut Other)>().par_for_each_by_on(&pool, 1, |(table, other)| {
            let add = |sum, table: &Table| sum + table.0;
            other.0 += table.0 * reader.query::<&Table>().par_fold_by_on(&pool, 7, || 0, add, |a, b| a + b);
        });
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| (0..20).for_each(|_| write(&mut second)));
        (0..20).for_each(|_| write(&mut world));
        other.join().unwrap();
    });
    for world in [&world, &second] {
        assert!(world.query::<(&Table, &Other)>().iter().all(|(table, other)| other.0 == table.0 * 1225 * 20));
    }
}

/// Loops with batches of the default size ask for help when rows take long, and only then.
#[test]
fn long_loops_are_shared_and_short_loops_are_not() {
    let pool = ThreadPool::new(2);
    let mut world = World::new();
    world.spawn_batch((0..640).map(Table));
    let caller = thread::current().id();
    // The caller cannot finish alone: it waits for the other thread.
    let helped = AtomicBool::new(false);
    world.query::<&Table>().par_for_each_on(&pool, |table| {
        if thread::current().id() != caller {
            helped.store(true, Ordering::Release);
        } else if table.0 >= 320 {
            while !helped.load(Ordering::Acquire) {
                thread::yield_now();
            }
        } else {
            thread::sleep(std::time::Duration::from_micros(100));
        }
    });
    assert!(helped.into_inner());
    world.clear();
    world.spawn_batch((0..100).map(Table));
    let asked = AtomicUsize::new(0);
    struct Asked<'a>(&'a AtomicUsize);
    impl Executor for Asked<'_> {
        fn run(&self, _: usize, _: &(dyn Fn() + Sync)) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn width(&self) -> usize {
            8
        }
    }
    for _ in 0..100 {
        world.query::<&Table>().par_for_each_on(&Asked(&asked), |_| ());
    }
    // A loop that another program interrupts may ask.
    assert!(asked.into_inner() < 50, "loops of a microsecond stay on one thread");
}
