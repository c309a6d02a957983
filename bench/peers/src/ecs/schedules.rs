//! Systems in schedules, and events: what the libraries have that run systems.
//!
//! Each library runs the same systems in its own scheduler, with its default settings, and on one thread where it can be told
//! to. The limit is a vector of boxed closures, buffers applied by hand, or a vector.

use super::Ecs;
use super::bevy::Bevy;
use super::phalanx::Table;
use crate::harness::{BAND, Build, Unit, WIDE_BAND, Ways, Workload};
use ::phalanx::event::{EventReader, EventWriter};
use ::phalanx::executor::ThreadPool;
use phalanx_schedule::{Schedule, Threads};
use std::hint::black_box;

const SYSTEMS: usize = 100;
const EMPTY_RUNS: usize = 10;
const SPAWNERS: usize = 50;
const SPAWNS: usize = 20;
const EVENTS: u32 = 10_000;
const EVENT_RUNS: usize = 4;

pub fn all() -> Vec<Workload> {
    let w = |name, about, ops: usize, op, band, build| Workload {
        name,
        about,
        ops: ops as f64,
        op,
        band,
        unit: Unit::Nanoseconds,
        build,
    };
    vec![
        w("schedule_empty_100", "run 100 systems that do nothing", SYSTEMS * EMPTY_RUNS, "system", BAND, empty()),
        w(
            "schedule_commands",
            "50 systems that each spawn 20 entities of 2 components and despawn those of the run before",
            SPAWNERS * SPAWNS,
            "spawn + despawn",
            WIDE_BAND,
            commands(),
        ),
        w(
            "events_send_read",
            "send 10k events of 4 bytes in one system, read them in another",
            EVENTS as usize * EVENT_RUNS,
            "event",
            BAND,
            events(),
        ),
    ]
}

/// A world of Phalanx and its schedule.
pub struct Game {
    pub world: ::phalanx::World,
    pub schedule: Schedule,
    pub pool: ThreadPool,
}

impl Game {
    pub fn new(mut world: ::phalanx::World, schedule: phalanx_schedule::ScheduleBuilder) -> Game {
        let schedule = schedule.build(&mut world).unwrap();
        Game { world, schedule, pool: ThreadPool::default() }
    }

    pub fn run(&mut self) {
        self.schedule.run(&mut self.world);
    }

    /// Uses threads where that has been faster, as is the default.
    pub fn run_on_threads(&mut self) {
        self.schedule.run_on(&self.pool, &mut self.world);
    }

    /// Uses threads even for the smallest systems.
    pub fn run_on_threads_always(&mut self) {
        self.schedule.set_threads(Threads::Always);
        self.schedule.run_on(&self.pool, &mut self.world);
    }
}

type BevyGame = (bevy_ecs::world::World, bevy_ecs::schedule::Schedule);

fn bevy_game(is_single: bool, add: impl FnOnce(&mut BevyGame)) -> BevyGame {
    bevy_tasks::ComputeTaskPool::get_or_init(bevy_tasks::TaskPool::default);
    let mut game = BevyGame::default();
    if is_single {
        game.1.set_executor(bevy_ecs::schedule::SingleThreadedExecutor::new());
    }
    add(&mut game);
    game
}

fn run_bevy((world, schedule): &mut BevyGame) {
    schedule.run(world);
}

/// The rows of one library.
fn ways<S: 'static>(
    library: &'static str,
    make: impl Fn() -> S + Copy + 'static,
    reps: usize,
    digest: fn(&mut S) -> u64,
    add: impl Fn(&mut Ways<S>) + 'static,
) -> Build {
    Box::new(move || {
        let mut ways = Ways::held(library, make, reps, digest).warm();
        add(&mut ways);
        ways.cases
    })
}

fn empty() -> Vec<Build> {
    struct Nothing;
    impl<'a> specs::System<'a> for Nothing {
        type SystemData = ();
        fn run(&mut self, (): ()) {}
    }
    let boxed = || (0..SYSTEMS).map(|_| Box::new(|| _ = black_box(0)) as Box<dyn FnMut()>).collect::<Vec<_>>();
    let ours = || Game::new(::phalanx::World::new(), (0..SYSTEMS).fold(Schedule::builder("s"), |s, _| s.add(|| {})));
    let legion = || {
        let mut builder = legion::Schedule::builder();
        for _ in 0..SYSTEMS {
            builder.add_system(legion::SystemBuilder::new("nothing").build(|_, _, _, _| {}));
        }
        (legion::World::default(), legion::Resources::default(), builder.build())
    };
    let shipyard = || {
        let world = shipyard::World::new();
        let workload = (0..SYSTEMS).fold(shipyard::Workload::new("s"), |workload, _| workload.with_system(|| {}));
        workload.add_to_world(&world).unwrap();
        world
    };
    let specs = || {
        let named = (0..SYSTEMS).map(|n| n.to_string());
        let builder = named.fold(specs::DispatcherBuilder::new(), |builder, name| builder.with(Nothing, &name, &[]));
        (<specs::World as specs::WorldExt>::new(), builder.build())
    };
    let bevy =
        |is_single| move || bevy_game(is_single, |game| (0..SYSTEMS).for_each(|_| _ = game.1.add_systems(|| {})));
    vec![
        ways("limit", boxed, EMPTY_RUNS, |_| 0, |ways| ways.add("", |list| list.iter_mut().for_each(|f| f()))),
        ways(
            Table::NAME,
            ours,
            EMPTY_RUNS,
            |_| 0,
            |ways| {
                ways.add("one thread", Game::run);
                ways.add("auto", Game::run_on_threads);
                ways.add("always threads", Game::run_on_threads_always);
            },
        ),
        ways(Bevy::<false>::NAME, bevy(true), EMPTY_RUNS, |_| 0, |ways| ways.add("one thread", run_bevy)),
        ways(Bevy::<false>::NAME, bevy(false), EMPTY_RUNS, |_| 0, |ways| ways.add("", run_bevy)),
        ways(
            "legion",
            legion,
            EMPTY_RUNS,
            |_| 0,
            |ways| {
                ways.add("", |(world, resources, schedule)| schedule.execute(world, resources));
            },
        ),
        ways(
            "shipyard",
            shipyard,
            EMPTY_RUNS,
            |_| 0,
            |ways| ways.add("", |world| world.run_default_workload().unwrap()),
        ),
        ways(
            "specs",
            specs,
            EMPTY_RUNS,
            |_| 0,
            |ways| {
                ways.add("one thread", |(world, dispatcher)| dispatcher.dispatch_seq(world));
                ways.add("", |(world, dispatcher)| dispatcher.dispatch(world));
            },
        ),
    ]
}

mod bundle {
    #[derive(Clone, Copy, ::phalanx::Component, bevy_ecs::component::Component)]
    pub struct A(#[allow(dead_code)] pub f32);
    #[derive(Clone, Copy, ::phalanx::Component, bevy_ecs::component::Component)]
    pub struct B(#[allow(dead_code)] pub f32);

    pub fn bundle(i: usize) -> (A, B) {
        (A(i as f32), B(1.0))
    }
}
use bundle::bundle;

fn commands() -> Vec<Build> {
    use ::phalanx::commands::CommandBuffer;
    use ::phalanx::system::{Commands, Local};
    fn spawn(mut mine: Local<Vec<::phalanx::Entity>>, mut commands: Commands) {
        mine.drain(..).for_each(|entity| commands.despawn(entity));
        mine.extend((0..SPAWNS).map(|i| commands.spawn(bundle(i))));
    }
    fn spawn_bevy(
        mut mine: bevy_ecs::system::Local<Vec<bevy_ecs::entity::Entity>>,
        mut commands: bevy_ecs::system::Commands,
    ) {
        mine.drain(..).for_each(|entity| commands.entity(entity).despawn());
        mine.extend((0..SPAWNS).map(|i| commands.spawn(bundle(i)).id()));
    }
    let by_hand = || {
        let buffers = (0..SPAWNERS).map(|_| (CommandBuffer::new(), Vec::<::phalanx::Entity>::new()));
        (::phalanx::World::new(), buffers.collect::<Vec<_>>())
    };
    let ours = || Game::new(::phalanx::World::new(), (0..SPAWNERS).fold(Schedule::builder("s"), |s, _| s.add(spawn)));
    let bevy =
        |is_single| move || bevy_game(is_single, |game| (0..SPAWNERS).for_each(|_| _ = game.1.add_systems(spawn_bevy)));
    let count = |game: &mut BevyGame| game.0.query::<&bundle::A>().iter(&game.0).count() as u64;
    vec![
        ways(
            "limit",
            by_hand,
            1,
            |(world, _)| world.len() as u64,
            |ways| {
                ways.add("", |(world, buffers)| {
                    for (buffer, mine) in &mut *buffers {
                        mine.drain(..).for_each(|entity| buffer.despawn(entity));
                        mine.extend((0..SPAWNS).map(|i| buffer.spawn_with(world, bundle(i))));
                    }
                    for (buffer, _) in buffers {
                        buffer.apply(world);
                    }
                });
            },
        ),
        ways(
            Table::NAME,
            ours,
            1,
            |game| game.world.len() as u64,
            |ways| {
                ways.add("one thread", Game::run);
                ways.add("auto", Game::run_on_threads);
            },
        ),
        ways(Bevy::<false>::NAME, bevy(true), 1, count, |ways| ways.add("one thread", run_bevy)),
        ways(Bevy::<false>::NAME, bevy(false), 1, count, |ways| ways.add("", run_bevy)),
    ]
}

#[derive(Clone, Copy, ::phalanx::Event, bevy_ecs::message::Message)]
struct Hit(u32);

fn events() -> Vec<Build> {
    #[derive(bevy_ecs::resource::Resource)]
    struct Sum(u64);
    fn add(sum: &mut u64, hit: &Hit) {
        *sum = black_box(sum.wrapping_add(u64::from(hit.0)));
    }
    let vec = || (Vec::<Hit>::new(), 0);
    let ours = || {
        let mut world = ::phalanx::World::new();
        world.insert_resource(Sum(0));
        let send = |mut hits: EventWriter<Hit>| (0..black_box(EVENTS)).for_each(|n| hits.send(Hit(n)));
        let read = |hits: EventReader<Hit>, mut sum: ::phalanx::system::ResMut<Sum>| {
            hits.into_iter().for_each(|hit| add(&mut sum.0, hit));
        };
        Game::new(world, Schedule::builder("s").chain((send, read)))
    };
    let bevy = || {
        bevy_game(true, |(world, schedule)| {
            use bevy_ecs::prelude::{IntoScheduleConfigs, MessageReader, MessageWriter, ResMut};
            world.init_resource::<bevy_ecs::message::Messages<Hit>>();
            world.insert_resource(Sum(0));
            let send = |mut hits: MessageWriter<Hit>| (0..black_box(EVENTS)).for_each(|n| _ = hits.write(Hit(n)));
            let read = |mut hits: MessageReader<Hit>, mut sum: ResMut<Sum>| {
                hits.read().for_each(|hit| add(&mut sum.0, hit));
            };
            let update = |mut hits: ResMut<bevy_ecs::message::Messages<Hit>>| hits.update();
            schedule.add_systems((update, send, read).chain());
        })
    };
    vec![
        ways(
            "limit",
            vec,
            EVENT_RUNS,
            |(_, sum)| *sum,
            |ways| {
                ways.add("", |(hits, sum)| {
                    hits.clear();
                    (0..black_box(EVENTS)).for_each(|n| hits.push(Hit(n)));
                    black_box(&mut *hits).iter().for_each(|hit| add(sum, hit));
                });
            },
        ),
        ways(
            Table::NAME,
            ours,
            EVENT_RUNS,
            |game| game.world.resource::<Sum>().unwrap().0,
            |ways| ways.add("", Game::run),
        ),
        ways(
            Bevy::<false>::NAME,
            bevy,
            EVENT_RUNS,
            |(world, _)| world.resource::<Sum>().0,
            |ways| ways.add("", run_bevy),
        ),
    ]
}
