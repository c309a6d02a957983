//! Schedules under hostile executors, panics, errors, other worlds, and odd configurations.
#![allow(clippy::type_complexity, clippy::manual_is_multiple_of)]
use phalanx::change_detection::RunTicks;
use phalanx::event::{EventReader, EventWriter, Events};
use phalanx::executor::{Executor, Inline, Rayon, ThreadPool};
use phalanx::query::{Candidate, QueryFilter, WithTable};
use phalanx::system::{Commands, IntoSystem, Local, ParamSet, Res, ResMut};
use phalanx::{Changed, Component, Components, Entity, Event, Query, Signature, With, Without, World};
use phalanx_schedule::{
    BuildError, Cause, FixedStep, IntoSystemConfig, Schedule, State, SystemSet, Threads, in_state, resource_changed,
};
use phalanx_testkit::{catch, quiet_panics};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
struct A(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
struct B(u32);
#[derive(Component, Clone, Debug)]
#[component(track = "row", clone)]
struct Tracked(u32);
#[derive(Event, Clone, Debug, PartialEq)]
#[event(clone)]
struct Ping(u32);
#[derive(Debug, Default, PartialEq)]
struct Log(Vec<u32>);

/// Fails if a test takes longer: it waits for something that never happens.
fn within<R: Send + 'static>(seconds: u64, test: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || sender.send(test()));
    match receiver.recv_timeout(Duration::from_secs(seconds)) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the test did not end in {seconds} s"),
        Err(mpsc::RecvTimeoutError::Disconnected) => resume_unwind(thread.join().err().unwrap()),
    }
}

/// Panics with a text, without a message on the screen.
fn stop(text: impl Into<String>) -> ! {
    resume_unwind(Box::new(text.into()))
}

/// How an executor calls its work.
#[derive(Clone, Copy, Debug)]
enum Calls {
    Never,
    Once,
    Hundred,
    Threads(usize),
    PanicsFirst,
    PanicsAfter,
    PanicsInWidth,
}

struct Hostile(Calls, bool, AtomicBool);

impl Executor for Hostile {
    fn run(&self, _: usize, work: &(dyn Fn() + Sync)) {
        self.2.store(true, Ordering::Relaxed);
        match self.0 {
            Calls::Never => {}
            Calls::Once | Calls::PanicsInWidth => work(),
            Calls::Hundred => (0..100).for_each(|_| work()),
            Calls::Threads(count) => std::thread::scope(|scope| (0..count).for_each(|_| _ = scope.spawn(work))),
            Calls::PanicsFirst => stop("the executor"),
            Calls::PanicsAfter => {
                work();
                stop("the executor");
            }
        }
    }

    fn width(&self) -> usize {
        if matches!(self.0, Calls::PanicsInWidth) && self.2.load(Ordering::Relaxed) {
            stop("the executor");
        }
        if matches!(self.0, Calls::PanicsInWidth) {
            self.2.store(true, Ordering::Relaxed);
        }
        4
    }

    fn may_nest(&self) -> bool {
        self.1
    }
}

fn hostile(calls: Calls, may_nest: bool) -> Hostile {
    Hostile(calls, may_nest, AtomicBool::new(false))
}

/// A world and a schedule with edges, commands, events, exhausted reservations and a set.
fn busy() -> (World, Schedule) {
    let mut world = World::new();
    world.insert_resource(Log::default());
    world.spawn_batch((0..10).map(|n| (A(n), B(n))));
    let spawn = |count: u32| {
        move |mut commands: Commands, mut pings: EventWriter<Ping>| {
            for n in 0..count {
                let entity = commands.spawn(A(n));
                commands.insert(entity, B(entity.index()));
            }
            pings.send(Ping(count));
        }
    };
    let schedule = Schedule::builder("busy")
        .add(spawn(3).named("s0").reserve_spawns(2))
        .add((|a: Query<&mut A>| a.for_each(|a| a.0 += 1)).named("a"))
        .add(spawn(70).named("s1"))
        .add((|b: Query<(&A, &mut B)>| b.for_each(|(a, b)| b.0 ^= a.0)).named("b"))
        .add(spawn(5).named("s2").reserve_spawns(0))
        .add((|mut log: ResMut<Log>, a: Query<&A>| log.0.push(a.iter().map(|a| a.0).sum())).named("log"))
        .add(
            (|pings: EventReader<Ping>, mut log: ResMut<Log>| log.0.extend(pings.into_iter().map(|p| p.0)))
                .named("read"),
        )
        .add(
            (|mut commands: Commands, a: Query<(Entity, &A)>| {
                a.iter().filter(|(_, a)| a.0 % 7 == 0).for_each(|(entity, _)| commands.despawn(entity));
            })
            .named("despawn")
            .after("read"),
        )
        .build(&mut world)
        .unwrap();
    (world, schedule)
}

/// What a world looks like.
fn image(world: &World) -> (Vec<Entity>, Vec<(Entity, u32)>, Vec<(Entity, u32)>, Vec<u32>) {
    world.validate().unwrap();
    let a = world.query::<(Entity, &A)>().iter().map(|(entity, a)| (entity, a.0)).collect();
    let b = world.query::<(Entity, &B)>().iter().map(|(entity, b)| (entity, b.0)).collect();
    (world.iter().collect(), a, b, world.resource::<Log>().map(|log| log.0.clone()).unwrap_or_default())
}

fn expected(runs: usize) -> (Vec<Entity>, Vec<(Entity, u32)>, Vec<(Entity, u32)>, Vec<u32>) {
    let (mut world, mut schedule) = busy();
    (0..runs).for_each(|_| schedule.run(&mut world));
    image(&world)
}

#[test]
fn executors_may_call_the_work_as_they_like() {
    within(120, || {
        let expected = expected(3);
        for may_nest in [false, true] {
            for calls in [Calls::Never, Calls::Once, Calls::Hundred, Calls::Threads(1), Calls::Threads(7)] {
                let (mut world, mut schedule) = busy();
                schedule.set_threads(Threads::Always);
                (0..3).for_each(|_| schedule.run_on(&hostile(calls, may_nest), &mut world));
                assert_eq!(image(&world), expected, "{calls:?} {may_nest}");
            }
        }
        for pool in [1, 2, 3, 8].map(ThreadPool::new) {
            let (mut world, mut schedule) = busy();
            schedule.set_threads(Threads::Always);
            (0..3).for_each(|_| schedule.run_on(&pool, &mut world));
            assert_eq!(image(&world), expected);
        }
    });
}

#[test]
fn executors_that_panic_leave_a_valid_world_and_nothing_recorded() {
    within(60, || {
        for may_nest in [false, true] {
            for calls in [Calls::PanicsFirst, Calls::PanicsAfter, Calls::PanicsInWidth] {
                let (mut world, mut schedule) = busy();
                schedule.set_threads(Threads::Always);
                let len = world.len();
                let error = catch(|| schedule.run_on(&hostile(calls, may_nest), &mut world)).unwrap_err();
                assert_eq!(error.message(), "the executor");
                world.validate().unwrap();
                world.spawn_empty();
                assert_eq!(world.len(), len + 1, "{calls:?}");
                // What the failed run has recorded is not applied by the next one.
                assert!(!world.events_mut::<Ping>().readers().any(|reader| reader.unread > 0));
                schedule.run(&mut world);
                assert_eq!(world.query::<&B>().len(), 88 - despawned(&world));
            }
        }
    });
}

/// The number of entities of `busy` that its first complete run despawns, whatever was written before.
fn despawned(world: &World) -> usize {
    10 + 3 + 70 + 5 - world.query::<&B>().len()
}

#[test]
fn rayon_may_run_the_work_inside_of_systems() {
    // Systems that use rayon inside of rayon's pool. A thread that waits for a part of a system takes another call of the work.
    within(120, || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        pool.install(|| {
            for round in 0..300 {
                let mut world = World::new();
                let mut builder = Schedule::builder("frame");
                for n in 0..12u32 {
                    let system = move |mut commands: Commands| {
                        let part = |n: u32| (0..n % 5 * 200).fold(n, |a, b| a.wrapping_mul(31).wrapping_add(b));
                        let (a, b) = rayon::join(|| part(n), || rayon::join(|| part(n + 1), || part(n + 2)));
                        std::hint::black_box((a, b));
                        // More than are reserved.
                        (0..3).for_each(|_| _ = commands.spawn(A(n)));
                    };
                    builder = builder.add(system.named(format!("{n}")).reserve_spawns(round % 3));
                    builder = builder.add((move || _ = rayon::join(|| n, || n)).named(format!("{n} free")));
                }
                let mut schedule = builder.build(&mut world).unwrap();
                schedule.set_threads(Threads::Always);
                schedule.run_on(&Rayon, &mut world);
                assert_eq!(world.len(), 36);
                let values: Vec<u32> = world.query::<&A>().iter().map(|a| a.0).collect();
                assert!(values.is_sorted());
                world.validate().unwrap();
            }
        });
    });
}

#[test]
fn rayon_may_run_the_work_above_a_system() {
    within(60, || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        // The other threads are busy, so that calls of the work are left for the thread of the schedule.
        let (is_over, busy) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        for _ in 0..2 {
            let (is_over, busy) = (Arc::clone(&is_over), Arc::clone(&busy));
            pool.spawn(move || {
                busy.fetch_add(1, Ordering::Relaxed);
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            });
        }
        while busy.load(Ordering::Relaxed) < 2 {
            std::thread::yield_now();
        }
        let nested = Arc::new(AtomicU32::new(0));
        pool.install(|| {
            let mut world = World::new();
            let mut builder = Schedule::builder("frame");
            for n in 0..4 {
                let nested = Arc::clone(&nested);
                let system = move |mut commands: Commands| {
                    // Runs what is left for this thread: other calls of the work.
                    while rayon::yield_now() == Some(rayon::Yield::Executed) {
                        nested.fetch_add(1, Ordering::Relaxed);
                    }
                    commands.spawn(A(n));
                };
                builder =
                    builder.add(system.named(n.to_string()).reserve_spawns(0)).add((|| {}).named(format!("free {n}")));
            }
            let mut schedule = builder.build(&mut world).unwrap();
            schedule.set_threads(Threads::Always);
            schedule.run_on(&Rayon, &mut world);
            assert!(world.query::<&A>().iter().map(|a| a.0).eq(0..4));
        });
        assert!(nested.load(Ordering::Relaxed) > 0);
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn schedules_run_inside_of_exclusive_systems_of_others() {
    within(60, || {
        let pool = Arc::new(ThreadPool::new(3));
        let (mut world, mut inner) = busy();
        inner.set_threads(Threads::Always);
        let inner_pool = Arc::clone(&pool);
        let run = move |world: &mut World| inner.run_on(&*inner_pool, world);
        let mut outer = Schedule::builder("outer")
            .add(|a: Query<&mut A>| a.for_each(|a| a.0 += 0))
            .add(run)
            .add(|b: Query<&mut B>| b.for_each(|b| b.0 += 0))
            .build(&mut world)
            .unwrap();
        outer.set_threads(Threads::Always);
        (0..3).for_each(|_| outer.run_on(&*pool, &mut world));
        assert_eq!(image(&world), expected(3));
    });
}

/// Ten systems, of which some fail.
fn failing(is_armed: &Arc<AtomicBool>, fails: impl Fn(u32) -> bool) -> (World, Schedule) {
    let mut world = World::new();
    world.spawn((A(0), B(0)));
    world.insert_resource(Log::default());
    let mut builder = Schedule::builder("failing");
    for n in 0..10 {
        let (is_failing, is_armed) = (fails(n), Arc::clone(is_armed));
        let system = move |mut commands: Commands, mut pings: EventWriter<Ping>| {
            commands.spawn(A(n));
            commands.spawn_later(B(n));
            commands.queue(move |world| world.resource_mut::<Log>().unwrap().0.push(n));
            pings.send(Ping(n));
            if is_failing && is_armed.load(Ordering::Relaxed) {
                stop(n.to_string());
            }
            for _ in 0..70 {
                commands.spawn(A(n));
            }
        };
        builder = builder.add(system.named(format!("{n}")).reserve_spawns(n * 8));
    }
    let read = |mut pings: EventReader<Ping>, mut log: ResMut<Log>| log.0.push(pings.read().len() as u32);
    let schedule = builder.add(read).build(&mut world).unwrap();
    (world, schedule)
}

#[test]
fn a_panic_in_each_system_in_turn_and_in_two_at_once() {
    within(300, || {
        {
            let is_armed = Arc::new(AtomicBool::new(false));
            let pools: Vec<Box<dyn Executor>> = vec![
                Box::new(Inline),
                Box::new(ThreadPool::new(2)),
                Box::new(ThreadPool::new(3)),
                Box::new(ThreadPool::new(8)),
                Box::new(hostile(Calls::Threads(4), true)),
            ];
            for first in 0..10u32 {
                for second in first..10 {
                    for pool in &pools {
                        let (mut world, mut schedule) = failing(&is_armed, |n| n == first || n == second);
                        schedule.set_threads(Threads::Always);
                        schedule.try_run_on(pool, &mut world).unwrap();
                        let (len, log) = (world.len(), world.resource::<Log>().unwrap().0.clone());
                        is_armed.store(true, Ordering::Relaxed);
                        let error = schedule.try_run_on(pool, &mut world).unwrap_err();
                        is_armed.store(false, Ordering::Relaxed);
                        assert_eq!((error.system.clone(), error.message()), (first.to_string(), first.to_string()));
                        assert!(matches!(error.cause, Cause::Panic(_)));
                        world.validate().unwrap();
                        // Nothing is left of what the stage has recorded.
                        let probe = world.spawn_empty();
                        assert_eq!(world.len(), len + 1);
                        world.despawn(probe).unwrap();
                        assert_eq!(world.resource::<Log>().unwrap().0, log);
                        assert!(world.events_mut::<Ping>().readers().all(|reader| reader.unread == 0));
                        schedule.try_run_on(pool, &mut world).unwrap();
                        assert_eq!(world.len(), len + 720);
                        assert_eq!(world.resource::<Log>().unwrap().0.len(), log.len() * 2);
                        assert_eq!(world.resource::<Log>().unwrap().0.last(), Some(&10));
                        world.validate().unwrap();
                    }
                }
            }
        }
    });
}

/// Panics when it is dropped, with a payload that does so too.
struct Bomb(Arc<AtomicU32>);

impl Drop for Bomb {
    fn drop(&mut self) {
        let left = self.0.load(Ordering::Relaxed);
        if left > 0 {
            self.0.store(left - 1, Ordering::Relaxed);
            resume_unwind(Box::new(Bomb(Arc::clone(&self.0))));
        }
    }
}

// Payloads whose destructors panic again and again are leaked on purpose.
#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn payloads_that_panic_when_they_are_dropped_keep_nothing_back() {
    #[derive(Component)]
    struct Mine(#[allow(dead_code)] Bomb);
    #[derive(Event)]
    struct Shell(#[allow(dead_code)] Bomb);

    within(60, || {
        for threads in [1, 2, 4] {
            for bombs in 1..6 {
                let fuse = Arc::new(AtomicU32::new(0));
                let armed = Arc::new(AtomicBool::new(true));
                let mut world = World::new();
                let _reader = world.event_reader::<Shell>();
                let mut builder = Schedule::builder("mines");
                for n in 0..4 {
                    let (fuse, armed) = (Arc::clone(&fuse), Arc::clone(&armed));
                    let system = move |mut commands: Commands, mut shells: EventWriter<Shell>| {
                        if !armed.load(Ordering::Relaxed) {
                            return;
                        }
                        commands.spawn(Mine(Bomb(Arc::clone(&fuse))));
                        shells.send(Shell(Bomb(Arc::clone(&fuse))));
                        fuse.store(bombs, Ordering::Relaxed);
                        resume_unwind(Box::new(Bomb(Arc::clone(&fuse))));
                    };
                    builder = builder.add(system.named(format!("{n}")));
                }
                let mut schedule = builder.build(&mut world).unwrap();
                schedule.set_threads(Threads::Always);
                let pool = ThreadPool::new(threads);
                for _ in 0..3 {
                    let error = schedule.try_run_on(&pool, &mut world).unwrap_err();
                    assert_eq!(error.system, "0");
                    fuse.store(0, Ordering::Relaxed);
                    drop(error);
                    world.validate().unwrap();
                    world.spawn_empty();
                    world.clear();
                }
                armed.store(false, Ordering::Relaxed);
                schedule.try_run_on(&pool, &mut world).unwrap();
                assert!(world.is_empty());
                assert!(world.events_mut::<Shell>().as_slice().is_empty());
            }
        }
    });
}

#[test]
fn panics_in_conditions_commands_and_errors_name_the_system() {
    within(60, || {
        for threads in 1..5 {
            let pool = ThreadPool::new(threads);
            let mut world = World::new();
            let run = |builder: phalanx_schedule::ScheduleBuilder, world: &mut World, system: &str, message: &str| {
                let mut schedule = builder.build(world).unwrap();
                schedule.set_threads(Threads::Always);
                for _ in 0..2 {
                    let error = schedule.try_run_on(&pool, world).unwrap_err();
                    assert_eq!((&*error.system, &*error.message()), (system, message));
                    world.validate().unwrap();
                    world.spawn_empty();
                    assert_eq!(world.len(), 1);
                    world.clear();
                }
            };
            let spawn = |mut commands: Commands| _ = commands.spawn(A(1));
            let stops = || -> bool { stop("stop") };
            run(
                Schedule::builder("1").add(spawn.run_if(stops).named("x")).add(spawn.named("y")),
                &mut world,
                "x",
                "stop",
            );
            let set = |set: phalanx_schedule::SetConfig| set.run_if(stops);
            let builder = Schedule::builder("2").add((spawn.in_set("s"), spawn.in_set("s"), spawn)).set("s", set);
            run(builder, &mut world, "conditions of s", "stop");
            let closure = |mut commands: Commands| {
                commands.spawn(A(2));
                commands.queue(|_| stop("queued"));
                commands.spawn(A(3));
            };
            // The first system's commands and those before the closure have been applied.
            let mut schedule =
                Schedule::builder("3").add((spawn, closure.named("closure"), spawn)).build(&mut world).unwrap();
            for _ in 0..2 {
                let error = schedule.try_run_on(&pool, &mut world).unwrap_err();
                assert_eq!((&*error.system, &*error.message()), ("closure", "queued"));
                world.validate().unwrap();
                world.spawn_empty();
                assert_eq!(world.len(), 3);
                world.clear();
            }
            let fails = |mut commands: Commands| -> Result<(), String> {
                commands.spawn(A(1));
                Err("no".into())
            };
            run(Schedule::builder("4").add((spawn, fails.named("f"), fails.named("g"))), &mut world, "f", "no");
            let exclusive = |world: &mut World| -> Result<(), std::fmt::Error> {
                world.clear();
                Err(std::fmt::Error)
            };
            let message = std::fmt::Error.to_string();
            run(Schedule::builder("5").add((spawn, exclusive.named("e"), spawn)), &mut world, "e", &message);
            run(Schedule::builder("6").add(exclusive.run_if(stops).named("e")), &mut world, "e", "stop");
            let missing = |_: Res<Log>| {};
            let text = format!(
                "the resource {} is missing; insert it before the system runs, or use `Option<Res<…>>`",
                std::any::type_name::<Log>()
            );
            quiet_panics(|| {
                let mut schedule = Schedule::builder("7").add((missing.named("m"), spawn)).build(&mut world).unwrap();
                let error = schedule.try_run(&mut world).unwrap_err();
                assert_eq!((&*error.system, &*error.message()), ("m", &*text));
            });
        }
    });
}

#[test]
fn a_panic_while_a_single_system_is_applied_drops_the_rest() {
    let mut world = World::new();
    let mut reader = world.event_reader::<Ping>();
    let mut system = (|mut commands: Commands, mut pings: EventWriter<Ping>, mut runs: Local<u32>| {
        *runs += 1;
        commands.spawn(A(*runs));
        if *runs == 1 {
            commands.queue(|_| stop("queued"));
            commands.spawn(A(100));
        }
        pings.send(Ping(*runs));
    })
    .into_system();
    assert_eq!(catch(|| world.run_system(&mut system)).unwrap_err().message(), "queued");
    world.validate().unwrap();
    world.run_system(&mut system);
    assert_eq!(reader.read(&world), [Ping(2)]);
    assert_eq!(world.len(), 2);
    world.validate().unwrap();
}

#[test]
fn build_errors_name_what_is_wrong() {
    #[derive(Debug)]
    struct Group(#[allow(dead_code)] &'static str);
    impl SystemSet for Group {}
    fn a() {}
    fn b() {}
    fn c() {}
    let build = |builder: phalanx_schedule::ScheduleBuilder| builder.build(&mut World::new()).unwrap_err().to_string();
    assert_eq!(
        build(Schedule::builder("x").add((a.before(b), b.before(c), c.before(a)))),
        "systems wait for each other: a before b before c before a"
    );
    assert_eq!(build(Schedule::builder("x").add(a.before(a))), "systems wait for each other: a before a");
    // Through a set that is a part of another one, and a chain.
    let cycle = Schedule::builder("x")
        .add(c.in_set(Group("inner")))
        .chain((a, b.before(Group("outer"))))
        .add((|| {}).named("d").in_set(Group("other")).before(a))
        .set(Group("inner"), |set| set.in_set(Group("outer")))
        .set(Group("outer"), |set| set.before(Group("other")));
    assert_eq!(build(cycle), "systems wait for each other: c before d before a before b before c");
    let itself = Schedule::builder("x").add((a.in_set("s"), b.in_set("s"))).set("s", |set| set.before("s"));
    assert!(build(itself).starts_with("systems wait for each other: "));
    let nested =
        Schedule::builder("x").add(a.in_set("s")).set("s", |set| set.in_set("t")).set("t", |set| set.in_set("s"));
    nested.build(&mut World::new()).unwrap();
    assert_eq!(
        build(Schedule::builder("x").add(a.after("nobody"))),
        "a refers to nobody, but no system of the schedule has that name or is in that set"
    );
    assert!(build(Schedule::builder("x").add(a.after(b))).starts_with("a refers to b"));
    assert!(build(Schedule::builder("x").set(Group("empty"), |set| set)).contains("empty"));
    let twice = Schedule::builder("x").add((a.named("n"), b.named("n")));
    assert_eq!(twice.build(&mut World::new()).unwrap_err(), BuildError::DuplicateName { name: "n".into() });
    let given = Schedule::builder("x").add((a, a, a, b.named("a"), c.named("a#2"))).build(&mut World::new()).unwrap();
    let mut names: Vec<&str> = given.systems().collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 5);
    let writes = Schedule::builder("x").add(a.run_if(|_: ResMut<Log>| true));
    assert!(build(writes).contains("a condition only reads"));
    let records = Schedule::builder("x").add(a.run_if(|_: Commands| true));
    assert!(build(records).contains("a condition only reads"));
    let sends = Schedule::builder("x").add(a.run_if(|_: EventWriter<Ping>| true));
    assert!(build(sends).contains("a condition only reads"));
    let exclusive = Schedule::builder("x").add(a.run_if(|_: &mut World| true));
    assert!(build(exclusive).contains("a condition only reads"));
}

#[test]
fn parameters_within_a_member_of_a_set_must_not_alias() {
    fn two(mut set: ParamSet<((Query<&mut A>, Query<&mut A>), Query<&A>)>) {
        let (mut first, mut second) = set.p0();
        // Would be two exclusive references to one value.
        if let (Some(a), Some(b)) = (first.iter_mut().next(), second.iter_mut().next()) {
            std::mem::swap(a, b);
        }
    }
    fn resources(_: ParamSet<((ResMut<Log>, Res<Log>), Res<Log>)>) {}
    fn deep(_: ParamSet<(ParamSet<(Query<&mut A>, (Query<&A>, Query<&mut A>))>, Query<&A>)>) {}
    fn beside(_: ParamSet<((Query<&mut A>, ParamSet<(Query<&A>, Query<&B>)>), Query<&A>)>) {}
    fn after(_: ParamSet<(Query<&mut A>, Query<&A>)>, _: Query<&mut A>) {}
    fn fine(
        _: Query<&mut A, With<B>>,
        _: ParamSet<(Query<&mut A, Without<B>>, (Query<&A, Without<B>>, ParamSet<(ResMut<Log>, Res<Log>)>))>,
        _: Option<Res<State<u8>>>,
    ) {
    }
    let mut world = World::new();
    world.spawn(A(1));
    let refused = |builder: phalanx_schedule::ScheduleBuilder| {
        let error = builder.build(&mut World::new()).unwrap_err();
        assert!(matches!(error, BuildError::ParamConflict { .. }), "{error}");
    };
    refused(Schedule::builder("x").add(two));
    refused(Schedule::builder("x").add(resources));
    refused(Schedule::builder("x").add(deep));
    refused(Schedule::builder("x").add(beside));
    refused(Schedule::builder("x").add(after));
    assert!(catch(|| world.run_system(&mut two.into_system())).is_err());
    world.insert_resource(Log::default());
    Schedule::builder("x").add(fine).build(&mut world).unwrap().run(&mut world);
}

#[test]
fn readers_of_systems_with_odd_names_are_different_readers() {
    fn three(mut a: EventReader<Ping>, mut b: EventReader<Ping>, mut c: EventReader<Ping>, mut log: ResMut<Log>) {
        log.0.extend([a.read().len(), b.read().len(), c.read().len()].map(|count| count as u32));
    }
    let some = |mut pings: EventReader<Ping>| !pings.read().is_empty();
    let mut world = World::new();
    world.insert_resource(Log::default());
    let count = |mut pings: EventReader<Ping>, mut log: ResMut<Log>| log.0.push(pings.read().len() as u32);
    let mut one = Schedule::builder("a/b")
        .add((three, three, three))
        .add((count.named("x").run_if(some), count.named("x?0"), count.named("x@1"), count.named("three@1")))
        .add((count.named("c"), count.named("c#1").in_set("c"), count.named("conditions of c?0").run_if(some)))
        .set("c", |set| set.run_if(some))
        .set("c", |set| set.run_if(some))
        .build(&mut world)
        .unwrap();
    let mut two = Schedule::builder("a").add((count.named("b/c"), count.named("b/x"))).build(&mut world).unwrap();
    for n in 0..3 {
        world.resource_mut::<Log>().unwrap().0.clear();
        world.send(Ping(n));
        world.send(Ping(n));
        one.run(&mut world);
        two.run(&mut world);
        assert!(world.resource::<Log>().unwrap().0.iter().all(|count| *count == 2));
        assert_eq!(world.resource::<Log>().unwrap().0.len(), 9 + 4 + 3 + 2);
    }
}

#[test]
fn ten_thousand_systems_are_built_and_run() {
    within(300, || {
        let mut world = World::new();
        world.insert_resource(Log::default());
        world.spawn((A(0), B(0)));
        let count =
            if cfg!(debug_assertions) && std::env::var_os("PHALANX_CASES").is_none() { 2_000 } else { 10_000u32 };
        let mut builder = Schedule::builder("many");
        for n in 0..count {
            builder = match n % 5 {
                0 => builder.add((|a: Query<&mut A>| a.for_each(|a| a.0 += 1)).named(n.to_string())),
                1 => builder.add(
                    (|a: Query<&A>, b: Query<&mut B>| {
                        let sum = a.iter().map(|a| a.0).sum::<u32>();
                        b.for_each(|b| b.0 = b.0.wrapping_mul(31).wrapping_add(sum));
                    })
                    .named(n.to_string()),
                ),
                2 => builder
                    .add((|mut commands: Commands| _ = commands.spawn(())).named(n.to_string()).reserve_spawns(0)),
                _ => builder.add((|| {}).named(n.to_string())),
            };
        }
        let mut schedule = builder.build(&mut world).unwrap();
        schedule.run(&mut world);
        let mut other = World::new();
        other.insert_resource(Log::default());
        other.spawn((A(0), B(0)));
        schedule.set_threads(Threads::Always);
        schedule.run_on(&ThreadPool::new(3), &mut other);
        assert_eq!(image(&world), image(&other));
        assert_eq!(world.len(), 1 + count as usize / 5);
    });
}

#[test]
fn two_large_sets_in_order_are_built() {
    within(120, || {
        let mut world = World::new();
        let mut builder = Schedule::builder("sets");
        for n in 0..600 {
            builder =
                builder.add((|| {}).named(format!("a{n}")).in_set("a")).add((|| {}).named(format!("b{n}")).in_set("b"));
        }
        let schedule = builder.set("b", |set| set.after("a")).build(&mut world).unwrap();
        let order: Vec<&str> = schedule.systems().collect();
        assert!(order[..600].iter().all(|name| name.starts_with('a')));
    });
}

#[test]
fn reservations_that_are_used_up_in_each_system() {
    within(120, || {
        let build = |counts: [u32; 4], reserved: [u32; 4]| {
            let mut world = World::new();
            let free: Vec<Entity> = (0..20).map(|n| world.spawn(A(n))).collect();
            free.iter().skip(1).step_by(2).for_each(|entity| world.despawn(*entity).unwrap());
            let mut builder = Schedule::builder("spawn");
            for (n, (count, reserved)) in counts.into_iter().zip(reserved).enumerate() {
                let system = move |mut commands: Commands| {
                    (0..count).for_each(|k| _ = commands.spawn(A(1000 * n as u32 + k)));
                };
                builder = builder.add(system.named(n.to_string()).reserve_spawns(reserved));
            }
            let mut schedule = builder.build(&mut world).unwrap();
            schedule.set_threads(Threads::Always);
            (world, schedule)
        };
        let cases = [
            ([100, 1, 1, 1], [64; 4]),
            ([1, 1, 1, 100], [64; 4]),
            ([100; 4], [64; 4]),
            ([3, 0, 5, 2], [0; 4]),
            ([10; 4], [u32::MAX, 1, u32::MAX, 0]),
            ([10; 4], [0, u32::MAX, 5, 1 << 31]),
        ];
        for (counts, reserved) in cases {
            let (mut serial, mut schedule) = build(counts, reserved);
            (0..3).for_each(|_| schedule.run(&mut serial));
            assert_eq!(serial.len(), 10 + 3 * counts.iter().sum::<u32>() as usize);
            for executor in
                [&ThreadPool::new(2) as &dyn Executor, &ThreadPool::new(5), &hostile(Calls::Threads(3), true)]
            {
                let (mut world, mut schedule) = build(counts, reserved);
                (0..3).for_each(|_| schedule.run_on(executor, &mut world));
                assert_eq!(image(&world), image(&serial));
            }
        }
    });
}

#[test]
fn other_worlds_and_exchanged_worlds() {
    within(60, || {
        let pool = ThreadPool::new(2);
        let (mut world, mut schedule) = busy();
        schedule.set_threads(Threads::Always);
        schedule.run(&mut world);
        // Another world, in which resources and components have other numbers.
        let mut other = World::new();
        other.insert_resource(1u8);
        other.spawn((B(1), Tracked(1)));
        other.spawn_batch((0..9).map(|n| (A(n), B(n))));
        other.insert_resource(Log::default());
        for _ in 0..3 {
            schedule.run_on(&pool, &mut other);
            schedule.run_on(&pool, &mut world);
        }
        other.validate().unwrap();
        assert_eq!(image(&world), expected(4));
        // A world without the resource: the error names the system and the resource.
        let error = quiet_panics(|| schedule.try_run(&mut World::new())).unwrap_err();
        assert_eq!(error.system, "log");
        assert!(error.message().contains("Log is missing"));
        schedule.run_on(&pool, &mut world);
        assert_eq!(image(&world), expected(5));

        // Exchanged by an exclusive system, and by a command.
        let exchange = |world: &mut World| {
            *world = {
                let mut other = World::new();
                other.insert_resource(Log(vec![7]));
                other.spawn(A(70));
                other
            }
        };
        let later = move |mut commands: Commands| {
            commands.spawn(A(5));
            commands.queue(exchange);
            commands.spawn_later(A(6));
        };
        let count = |a: Query<&A>, mut log: ResMut<Log>| log.0.push(a.iter().map(|a| a.0).sum());
        let spawn = |mut commands: Commands, mut pings: EventWriter<Ping>| {
            commands.spawn_later(A(1));
            pings.send(Ping(1));
        };
        for threads in 1..4 {
            let mut world = World::new();
            world.insert_resource(Log::default());
            let mut schedule = Schedule::builder("exchange")
                .chain((spawn, count.named("one"), exchange, count.named("two")))
                .add((later.named("later").after("two"), spawn.named("beside").after("two")))
                .add(count.named("three").after("later").after("beside"))
                .build(&mut world)
                .unwrap();
            schedule.set_threads(Threads::Always);
            for _ in 0..2 {
                schedule.run_on(&ThreadPool::new(threads), &mut world);
                // Commands after the closure go to the new world.
                assert_eq!(world.resource::<Log>().unwrap().0, [7, 77]);
                world.validate().unwrap();
            }
        }
        // A spawn with a handle of the world that is gone is reported.
        let gone = move |mut commands: Commands| {
            commands.queue(exchange);
            commands.spawn(A(6));
        };
        let beside = |mut commands: Commands| _ = commands.spawn(A(1));
        let mut world = World::new();
        let mut schedule = Schedule::builder("gone").add((gone, beside)).build(&mut world).unwrap();
        let result = quiet_panics(|| schedule.try_run(&mut world));
        world.validate().unwrap();
        assert_eq!(world.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 70);
        assert!(result.is_err() || schedule.skipped_commands().count() == 2);
    });
}

#[test]
fn changes_and_events_across_rollbacks() {
    within(60, || {
        for threads in 1..4 {
            let pool = ThreadPool::new(threads);
            let mut world = World::new();
            world.insert_resource(Log::default());
            world.spawn_batch((0..5).map(Tracked));
            let mut schedule = Schedule::builder("frame")
                .add(
                    (|mut pings: EventWriter<Ping>, t: Query<&Tracked>| pings.send(Ping(t.len() as u32))).named("send"),
                )
                .add((|mut t: Query<&mut Tracked>| t.iter_mut().next().unwrap().0 += 1).named("write"))
                .add(
                    (|t: Query<&Tracked, Changed<Tracked>>, mut log: ResMut<Log>| log.0.push(t.len() as u32))
                        .named("changed"),
                )
                .add((|mut commands: Commands| _ = commands.spawn(Tracked(0))).named("spawn"))
                .build(&mut world)
                .unwrap();
            schedule.set_threads(Threads::Always);
            let mut late = Schedule::builder("late")
                .add(|mut pings: EventReader<Ping>, mut log: ResMut<Log>| {
                    log.0.extend(pings.read().iter().map(|p| 100 + p.0))
                })
                .build(&mut world)
                .unwrap();
            schedule.run_on(&pool, &mut world);
            let checkpoint = world.checkpoint().unwrap();
            schedule.run_on(&pool, &mut world);
            // Two pings are unread. The rollback undoes the second.
            world.rollback(&checkpoint).unwrap();
            world.validate().unwrap();
            late.run_on(&pool, &mut world);
            assert_eq!(world.resource::<Log>().unwrap().0, [5, 2, 105]);
            schedule.run_on(&pool, &mut world);
            late.run_on(&pool, &mut world);
            assert_eq!(world.len(), 7);
            // The system continues from its run before the checkpoint, and sees what the undone run saw.
            assert_eq!(world.resource::<Log>().unwrap().0[3..], [2, 106]);
            world.validate().unwrap();
        }
    });
}

#[test]
fn fixed_steps_see_each_event_once() {
    let mut world = World::new();
    world.insert_resource(Log::default());
    let mut reader = world.event_reader::<Ping>();
    let send = |mut pings: EventWriter<Ping>, mut next: Local<u32>| {
        pings.send_batch([Ping(*next), Ping(*next + 1)]);
        *next += 2;
    };
    let mut frame = Schedule::builder("frame").add(send).build(&mut world).unwrap();
    let read =
        |mut pings: EventReader<Ping>, mut log: ResMut<Log>| log.0.extend(pings.read().iter().map(|ping| ping.0));
    let mut fixed = Schedule::builder("fixed").add(read).build(&mut world).unwrap();
    let mut step = FixedStep::from_nanos(10).with_max(5);
    let (mut steps, mut held) = (0, Vec::new());
    for elapsed in [0, 3, 9, 50, 0, 25, 10, 4, 47, 20] {
        frame.run(&mut world);
        for _ in 0..step.advance(elapsed).count {
            steps += 1;
            fixed.run(&mut world);
        }
        held.extend(reader.read(&world).iter().map(|ping| ping.0));
    }
    assert_eq!(steps, 168 / 10);
    assert!(world.resource::<Log>().unwrap().0.iter().copied().eq(0..20));
    assert!(held.into_iter().eq(0..20));
    // A schedule that comes late sees what is sent from then on.
    let mut late = Schedule::builder("late").add(read).build(&mut world).unwrap();
    world.resource_mut::<Log>().unwrap().0.clear();
    late.run(&mut world);
    assert!(world.resource::<Log>().unwrap().0.is_empty());
    frame.run(&mut world);
    late.run(&mut world);
    assert_eq!(world.resource::<Log>().unwrap().0, [20, 21]);
    // Built again under the same name, it goes on where it was.
    let mut again = Schedule::builder("late").add(read).build(&mut world).unwrap();
    again.run(&mut world);
    frame.run(&mut world);
    again.run(&mut world);
    assert_eq!(world.resource::<Log>().unwrap().0, [20, 21, 22, 23]);
}

#[test]
fn states_leave_before_they_enter_and_are_tried_again() {
    #[derive(Clone, Debug, PartialEq)]
    enum Mode {
        Menu,
        Play,
    }
    #[derive(Clone, Debug, PartialEq)]
    struct Level(u32);
    let log = |n: u32| move |mut log: ResMut<Log>| log.0.push(n);
    let mut world = World::new();
    world.insert_resource(Log::default());
    world.insert_resource(false);
    let fails = |fail: Res<bool>| if *fail { Err("failed") } else { Ok(()) };
    let mut schedule = Schedule::builder("frame")
        .state(Mode::Menu)
        .state(Level(1))
        .on_enter(Mode::Menu, log(1))
        .on_exit(Mode::Menu, log(2))
        .on_exit(Mode::Menu, fails)
        .on_enter(Mode::Play, log(3))
        .on_enter(Mode::Play, |mut level: ResMut<State<Level>>| level.set(Level(2)))
        .on_enter(Mode::Play, fails)
        .on_exit(Mode::Play, log(4))
        .on_exit(Level(1), log(5))
        .on_enter(Level(1), log(6))
        .on_enter(Level(2), log(7))
        .add(log(10).run_if(in_state(Mode::Play)))
        .sync()
        .add(log(11).run_if(in_state(Level(2))))
        .build(&mut world)
        .unwrap();
    let mut run = |world: &mut World, expected: &[u32]| {
        world.resource_mut::<Log>().unwrap().0.clear();
        let result = schedule.try_run(world).map_err(|error| error.system);
        assert_eq!(world.resource::<Log>().unwrap().0, expected);
        result
    };
    run(&mut world, &[1, 6]).unwrap();
    run(&mut world, &[]).unwrap();
    world.resource_mut::<State<Mode>>().unwrap().set(Mode::Menu);
    run(&mut world, &[2, 1]).unwrap();
    // The level is set while a mode is entered. It changes at the next sync point.
    world.resource_mut::<State<Mode>>().unwrap().set(Mode::Play);
    run(&mut world, &[2, 3, 10, 5, 7, 11]).unwrap();
    world.resource_mut::<State<Mode>>().unwrap().set(Mode::Menu);
    run(&mut world, &[4, 1, 11]).unwrap();
    // A change that fails is tried again.
    world.insert_resource(true);
    world.resource_mut::<State<Mode>>().unwrap().set(Mode::Play);
    assert_eq!(run(&mut world, &[2]).unwrap_err(), "state changes");
    assert_eq!(*world.resource::<State<Mode>>().unwrap().get(), Mode::Menu);
    assert_eq!(run(&mut world, &[2]).unwrap_err(), "state changes");
    world.insert_resource(false);
    run(&mut world, &[2, 3, 10, 7, 11]).unwrap();
    world.resource_mut::<State<Mode>>().unwrap().set(Mode::Play);
    world.insert_resource(true);
    assert_eq!(run(&mut world, &[4, 3]).unwrap_err(), "state changes");
    world.insert_resource(false);
    // The level was set by the failed attempt, too.
    run(&mut world, &[3, 7, 10, 7, 11]).unwrap();
}

#[test]
fn conditions_see_the_writes_of_their_own_system_and_sets_wait_for_outer_sets() {
    let mut world = World::new();
    world.insert_resource(Log::default());
    world.spawn(Tracked(0));
    let changed = |t: Query<Entity, Changed<Tracked>>| t.iter().count() > 0;
    let write = |mut t: Query<&mut Tracked>, mut log: ResMut<Log>| {
        t.iter_mut().for_each(|mut t| t.0 += 1);
        log.0.push(1);
    };
    let mut schedule = Schedule::builder("frame").add(write.run_if(changed)).build(&mut world).unwrap();
    for run in 1..6 {
        schedule.run(&mut world);
        // The write of each run is newer than the condition's look.
        assert_eq!(world.resource::<Log>().unwrap().0.len(), run);
    }
    // The condition of the inner set is tested after what the outer set waits for.
    let mut world = World::new();
    world.insert_resource(Log::default());
    world.insert_resource(false);
    let mut schedule = Schedule::builder("frame")
        .add((|mut log: ResMut<Log>| log.0.push(2)).in_set("inner"))
        .add((|mut on: ResMut<bool>| *on = true).named("on"))
        .set("inner", |set| set.in_set("outer").run_if(|on: Res<bool>| *on))
        .set("outer", |set| set.after("on"))
        .build(&mut world)
        .unwrap();
    schedule.run(&mut world);
    assert_eq!(world.resource::<Log>().unwrap().0, [2]);
}

// Payloads whose destructors panic again and again are leaked on purpose.
#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn events_that_panic_when_they_are_dropped_or_are_replaced() {
    #[derive(Event)]
    struct Shell(#[allow(dead_code)] Bomb);
    let fuse = Arc::new(AtomicU32::new(0));
    let mut world = World::new();
    let sender = Arc::clone(&fuse);
    let mut schedule = Schedule::builder("frame")
        .add(
            (move |mut shells: EventWriter<Shell>| (0..8).for_each(|_| shells.send(Shell(Bomb(Arc::clone(&sender))))))
                .named("send"),
        )
        .add((|mut shells: EventReader<Shell>| _ = shells.read()).named("read"))
        .build(&mut world)
        .unwrap();
    quiet_panics(|| {
        for _ in 0..20 {
            fuse.store(1, Ordering::Relaxed);
            if let Err(error) = schedule.try_run(&mut world) {
                assert_eq!(error.system, "send");
                std::mem::forget(error);
            }
            world.validate().unwrap();
        }
        fuse.store(0, Ordering::Relaxed);
    });
    schedule.run(&mut world);
    assert!(world.events_mut::<Shell>().readers().all(|reader| reader.unread == 0));
    // A channel that is exchanged for a new one has no readers. The schedule says so, and the world is valid.
    *world.events_mut::<Shell>() = Events::default();
    let error = quiet_panics(|| schedule.try_run(&mut world)).unwrap_err();
    assert_eq!(error.system, "read");
    world.validate().unwrap();
}

#[test]
fn a_depth_of_nothing() {
    // Empty schedules, stages without systems, and executors without threads.
    let mut world = World::new();
    let mut empty = Schedule::builder("").build(&mut world).unwrap();
    empty.run_on(&ThreadPool::new(0), &mut world);
    let mut syncs = Schedule::builder("").sync().sync().build(&mut world).unwrap();
    syncs.run_on(&hostile(Calls::Hundred, true), &mut world);
}

#[test]
fn writers_of_a_column_tick_wait_for_each_other() {
    #[derive(Component)]
    #[component(track = "column")]
    struct Wide(u32);
    #[derive(Component)]
    #[component(layout = "pool")]
    struct Loose;
    fn one(wide: Query<&mut Wide, With<Loose>>) {
        wide.for_each(|wide| wide.0 += 1);
    }
    fn two(wide: Query<&mut Wide, Without<Loose>>) {
        wide.for_each(|wide| wide.0 += 1);
    }
    fn three(tracked: Query<&mut Tracked, With<Loose>>) {
        tracked.for_each(|mut tracked| tracked.0 += 1);
    }
    fn four(tracked: Query<&mut Tracked, Without<Loose>>) {
        tracked.for_each(|mut tracked| tracked.0 += 1);
    }
    let schedule = Schedule::builder("x").add((one, two, three, four)).build(&mut World::new()).unwrap();
    // The rows of both are in one table, whose column has one tick.
    assert_eq!(schedule.explain("one", "two").unwrap().to_string(), "one before two (Wide)");
    assert_eq!(schedule.explain("three", "four").unwrap().to_string(), "they can run at the same time");
}

#[test]
fn starts_of_stages_that_are_misused() {
    use phalanx::system::StageStart;
    let mut world = World::new();
    world.spawn_batch((0..5).map(A));
    // Not finished: the entities are alive without components.
    let _ = StageStart::new(&mut world, 3, 10);
    world.spawn_empty();
    assert_eq!(world.len(), 16);
    world.validate().unwrap();
    let wrong: [&[(u32, u32)]; 6] =
        [&[(0, 11)], &[(5, 3)], &[(3, 6), (5, 7)], &[(6, 8), (1, 2)], &[(u32::MAX, u32::MAX)], &[(0, u32::MAX)]];
    for unused in wrong {
        let unused: Vec<_> = unused.iter().map(|(start, end)| *start..*end).collect();
        let start = StageStart::new(&mut world, 0, 10);
        assert!(catch(|| start.finish(&mut world, &unused)).is_err(), "{unused:?}");
        world.validate().unwrap();
        let mut other = World::new();
        let start = StageStart::new(&mut world, 0, 10);
        assert!(catch(|| start.finish(&mut other, std::slice::from_ref(&(2..5)))).is_err());
        other.validate().unwrap();
    }
    // More than there are indices: none is reserved.
    let start = StageStart::new(&mut world, 0, u32::MAX);
    assert_eq!(start.numbers(), 0..0);
    start.finish(&mut world, &[]);
    world.spawn_empty();
    world.validate().unwrap();
}

#[test]
fn systems_that_are_used_in_odd_order() {
    use phalanx::system::{Outcome, System};
    let spawn = |mut commands: Commands, a: Query<&A>, mut pings: EventWriter<Ping>| {
        commands.spawn(A(a.len() as u32));
        pings.send(Ping(1));
    };
    let (mut one, mut two) = (World::new(), World::new());
    let mut system = spawn.into_system();
    // Before it is initialised, and without a run.
    system.apply(&mut one, &mut Outcome::default());
    system.discard(&mut one);
    assert!(catch(|| system.run_exclusive(&mut one)).is_err());
    system.initialize(&mut one, Some("a")).unwrap();
    system.initialize(&mut two, Some("b")).unwrap();
    system.apply(&mut one, &mut Outcome::default());
    system.discard(&mut two);
    one.run_system(&mut system);
    two.run_system(&mut system);
    // One that has run elsewhere becomes part of a schedule of another world.
    let mut schedule = Schedule::builder("x").add(system).build(&mut two).unwrap();
    schedule.run(&mut two);
    schedule.run(&mut one);
    assert_eq!((one.len(), two.len()), (2, 2));
    one.validate().unwrap();
    two.validate().unwrap();
    let mut exclusive = (|world: &mut World| world.len()).into_system();
    exclusive.discard(&mut one);
    assert_eq!(exclusive.run_exclusive(&mut one), 2);
}

#[test]
fn saved_readers_that_cannot_be_are_refused() {
    #[derive(Event, serde::Serialize, serde::Deserialize)]
    struct Saved(u32);
    let is_loaded = |first: u64, cursor: u64| {
        let readers = vec![("a/b".to_string(), cursor, 0u64)];
        let bytes = postcard::to_allocvec(&(first, Vec::<Saved>::new(), readers)).unwrap();
        postcard::from_bytes::<Events<Saved>>(&bytes).is_ok()
    };
    assert!(is_loaded(7, 7) && is_loaded(7, 3));
    // A reader that has read what was not sent would miss what is sent next.
    assert!(!is_loaded(7, 8));
    // Numbers that the next events would exceed.
    assert!(!is_loaded(u64::MAX, 0) && !is_loaded(u64::MAX - 1, 0));
}

/// A system that reads a resource before another one writes it sees the write in its next run, on any number of threads.
#[test]
fn no_change_of_a_resource_is_missed_or_seen_twice() {
    struct Source(u32);
    #[derive(Default)]
    struct Seen([Vec<u32>; 3]);
    within(60, || {
        for threads in 1..4 {
            let pool = ThreadPool::new(threads);
            let mut world = World::new();
            world.insert_resource(Source(0));
            world.insert_resource(Seen::default());
            let note = |at: usize| {
                move |source: Res<Source>, mut seen: ResMut<Seen>| {
                    if source.is_changed() {
                        seen.0[at].push(source.0);
                    }
                }
            };
            let mut schedule = Schedule::builder("frame")
                .add(note(0).named("before"))
                .add(
                    (|mut source: ResMut<Source>, mut runs: Local<u32>| {
                        *runs += 1;
                        if *runs % 2 == 0 {
                            source.0 = *runs;
                        }
                    })
                    .named("write")
                    .after("before"),
                )
                .add(note(1).named("after").after("write"))
                .add(
                    (|source: Res<Source>, mut seen: ResMut<Seen>| seen.0[2].push(source.0))
                        .named("guarded")
                        .after("after")
                        .run_if(resource_changed::<Source>()),
                )
                .build(&mut world)
                .unwrap();
            schedule.set_threads(Threads::Always);
            (0..6).for_each(|_| schedule.run_on(&pool, &mut world));
            let seen = &world.resource::<Seen>().unwrap().0;
            assert_eq!(*seen, [vec![0, 2, 4], vec![0, 2, 4, 6], vec![0, 2, 4, 6]]);
        }
    });
}

#[test]
fn a_state_at_rest_is_unchanged() {
    let mut world = World::new();
    #[derive(Clone, Debug, PartialEq)]
    struct Mode(u32);
    #[derive(Default)]
    struct Changes(u32);
    world.insert_resource(Changes(0));
    let mut schedule = Schedule::builder("frame")
        .state(Mode(0))
        .add((|mut changes: ResMut<Changes>| changes.0 += 1).run_if(resource_changed::<State<Mode>>()))
        .build(&mut world)
        .unwrap();
    (0..3).for_each(|_| schedule.run(&mut world));
    assert_eq!(world.resource::<Changes>().unwrap().0, 1);
    world.resource_mut::<State<Mode>>().unwrap().set(Mode(1));
    (0..3).for_each(|_| schedule.run(&mut world));
    assert_eq!(world.resource::<Changes>().unwrap().0, 2);
}

#[derive(Event, Clone, serde::Serialize, serde::Deserialize)]
#[event(clone)]
struct Sent(u32);

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Frames(u32);

/// Events that all readers have read are dropped when memory is needed. When that is depends on capacities, which differ after
/// a load and after a rewind.
#[test]
fn events_that_were_read_are_not_part_of_the_state() {
    use phalanx::snapshot::Registry;
    use phalanx::timeline::Timeline;
    fn receive(mut events: EventReader<Sent>) {
        events.read();
    }
    fn send(mut events: EventWriter<Sent>, mut frames: ResMut<Frames>) {
        frames.0 += 1;
        (0..frames.0 * 7919 % 23).for_each(|n| events.send(Sent(n)));
    }
    let schedule = |world: &mut World| Schedule::builder("frame").add(receive).add(send.after(receive)).build(world);
    let mut registry = Registry::new();
    registry.serde_resource::<Events<Sent>>("events").unwrap();
    registry.serde_resource::<Frames>("frames").unwrap();
    for frames in [1, 2, 3, 5, 8, 20] {
        let mut world = World::new();
        world.insert_resource(Frames(0));
        world.resources_mut().keep::<Frames>();
        let mut here = schedule(&mut world).unwrap();
        (0..frames).for_each(|_| here.run(&mut world));
        let mut bytes = Vec::new();
        registry.save(&world, &mut bytes).unwrap();
        let mut loaded = registry.load(&*bytes).unwrap();
        let mut there = schedule(&mut loaded).unwrap();
        let mut timeline = Timeline::new(40);
        timeline.capture(&mut world).unwrap();
        let mut sums = vec![registry.checksum(&world).unwrap()];
        for frame in 1..=30 {
            here.run(&mut world);
            there.run(&mut loaded);
            timeline.capture(&mut world).unwrap();
            sums.push(registry.checksum(&world).unwrap());
            assert_eq!(registry.checksum(&loaded).unwrap(), sums[frame], "frame {frame} after a load at {frames}");
        }
        timeline.rewind(&mut world, 30).unwrap();
        for (frame, sum) in sums.iter().enumerate() {
            assert_eq!(registry.checksum(&world).unwrap(), *sum, "frame {frame} after a rewind to {frames}");
            here.run(&mut world);
        }
    }
}

/// Passes the same rows as `Changed<C>`, without saying so.
struct Unsaid<C>(std::marker::PhantomData<fn() -> C>);

impl<C: 'static> QueryFilter for Unsaid<C>
where
    Changed<C>: QueryFilter,
{
    type State = <Changed<C> as QueryFilter>::State;
    const IS_ARCHETYPAL: bool = false;
    const TRACKS_CHANGES: bool = true;
    fn state(components: &Components) -> Self::State {
        Changed::<C>::state(components)
    }
    fn set_ticks(state: &mut Self::State, ticks: RunTicks) {
        Changed::<C>::set_ticks(state, ticks);
    }
    fn passes(state: &Self::State, signature: &Signature) -> bool {
        Changed::<C>::passes(state, signature)
    }
    fn passes_row(state: &Self::State, row: &Candidate<'_>) -> bool {
        Changed::<C>::passes_row(state, row)
    }
}

#[derive(Component, Clone)]
#[component(track = "column", clone)]
struct Heat;

#[test]
fn a_system_with_a_filter_of_a_user_waits_for_those_that_write_tracked_components() {
    let mut world = World::new();
    let mut writes = (0..3).map(|n| world.spawn((A(n), Tracked(n), Heat))).collect::<Vec<_>>();
    world.insert_resource(Log::default());
    let mut frame = Schedule::builder("frame")
        .add(|rows: Query<&A, Unsaid<Tracked>>, mut log: ResMut<Log>| log.0.push(rows.iter().count() as u32))
        .add(move |mut rows: Query<&mut Tracked>| {
            if let Some(entity) = writes.pop() {
                rows.get_mut(entity).unwrap().0 += 1;
            }
        })
        .build(&mut world)
        .unwrap();
    assert_eq!(frame.graph().edges.len(), 1);
    (0..5).for_each(|_| frame.run(&mut world));
    // Each sees what was written after its run before.
    assert_eq!(world.resource::<Log>().unwrap().0, [3, 1, 1, 1, 0]);

    let column = Schedule::builder("frame")
        .add(|_: Query<&mut Heat>| {})
        .add(|_: Query<&A, Unsaid<Heat>>| {})
        .add(|_: Query<&mut B>| {})
        .build(&mut world)
        .unwrap();
    assert_eq!(column.graph().edges.len(), 1);
}

#[test]
fn a_system_that_reads_columns_without_naming_them_waits_for_those_that_write() {
    let mut world = World::new();
    let frame = Schedule::builder("frame")
        .add(|_: Query<&mut B>| {})
        .add(|_: Query<WithTable<&A>>| {})
        .add(|_: Query<&mut Tracked>| {})
        .build(&mut world)
        .unwrap();
    assert_eq!(frame.graph().edges.len(), 2);
}
