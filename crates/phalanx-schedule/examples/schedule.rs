//! A schedule of a small factory: what it looks like, why systems wait, and when each ran:
//! `cargo run -p phalanx-schedule --example schedule [graph.svg [run.svg]]`.

use phalanx::event::{EventReader, EventWriter};
use phalanx::executor::ThreadPool;
use phalanx::system::{Commands, Local, Res, ResMut};
use phalanx::{Component, Entity, Event, Query, World};
use phalanx_schedule::{IntoSystemConfig, Schedule, State, in_state};

#[derive(Component)]
struct Belt(f32);
#[derive(Component)]
struct Heat(f32);
#[derive(Component)]
struct Crate {
    at: f32,
}
#[derive(Event)]
struct Delivered;
struct Speed(f32);
#[derive(Default)]
struct Ledger {
    delivered: u32,
    breaks: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Shift {
    Work,
    Break,
}

fn feed(mut commands: Commands, mut count: Local<u32>) {
    *count += 1;
    if count.is_multiple_of(2) {
        commands.spawn(Crate { at: 0.0 });
    }
}

fn run_belts(mut belts: Query<&mut Belt>, speed: Res<Speed>) {
    belts.iter_mut().for_each(|belt| belt.0 = speed.0);
}

fn carry(mut crates: Query<&mut Crate>, belts: Query<&Belt>) {
    let speed: f32 = belts.iter().map(|belt| belt.0).sum();
    crates.iter_mut().for_each(|item| item.at += speed);
}

fn deliver(crates: Query<(Entity, &Crate)>, mut commands: Commands, mut delivered: EventWriter<Delivered>) {
    for (entity, item) in crates.iter().filter(|(_, item)| item.at > 10.0) {
        println!("{entity} leaves the belt at {:.1}", item.at);
        commands.despawn(entity);
        delivered.send(Delivered);
    }
}

fn warm_up(mut machines: Query<&mut Heat>) {
    machines.iter_mut().for_each(|heat| heat.0 += 1.0);
}

fn cool_down(mut machines: Query<&mut Heat>) {
    machines.iter_mut().for_each(|heat| heat.0 *= 0.5);
}

fn keep_books(delivered: EventReader<Delivered>, mut ledger: ResMut<Ledger>) {
    ledger.delivered += delivered.into_iter().count() as u32;
}

/// A break when machines are hot, and back to work when they are cool.
fn supervise(machines: Query<&Heat>, mut shift: ResMut<State<Shift>>) {
    let hottest = machines.iter().map(|heat| heat.0).fold(0.0, f32::max);
    match shift.get() {
        Shift::Work if hottest > 5.0 => shift.set(Shift::Break),
        Shift::Break if hottest < 1.0 => shift.set(Shift::Work),
        _ => {}
    }
}

fn build(world: &mut World) -> Result<Schedule, phalanx_schedule::BuildError> {
    Schedule::builder("factory")
        .state(Shift::Work)
        .on_enter(Shift::Break, |mut ledger: ResMut<Ledger>| ledger.breaks += 1)
        .add((feed.in_set("work"), run_belts.in_set("work"), warm_up.in_set("work")))
        .add((carry.in_set("work").after(feed).after(run_belts), deliver.in_set("work").after(carry)))
        .set("work", |set| set.run_if(in_state(Shift::Work)))
        .add(cool_down.run_if(in_state(Shift::Break)).after("work"))
        .add(keep_books.after(deliver))
        .add(supervise.after(warm_up).after(cool_down))
        .build(world)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    world.insert_resource(Speed(1.5));
    world.insert_resource(Ledger::default());
    world.spawn_batch([(Belt(0.0), Heat(0.0)), (Belt(0.0), Heat(1.0))]);
    let mut frame = build(&mut world)?;

    println!("{frame}");
    for (a, b) in [("carry", "run_belts"), ("warm_up", "carry"), ("deliver", "keep_books")] {
        println!("{}", frame.explain(a, b).ok_or("both are systems of the schedule")?);
    }
    println!("{} pairs of systems conflict and have no order.", frame.ambiguities().len());

    let pool = ThreadPool::new(4);
    for _ in 0..40 {
        frame.run_on(&pool, &mut world);
    }
    let report = frame.run_with_report(&pool, &mut world)?;
    for system in &report.systems {
        println!("{:<12} in stage {} on thread {}", system.name, system.stage, system.thread);
    }
    let ledger = world.resource::<Ledger>()?;
    println!("{} crates, {} breaks", ledger.delivered, ledger.breaks);
    assert!(ledger.delivered > 5 && ledger.breaks > 0);

    let mut paths = std::env::args_os().skip(1).map(std::path::PathBuf::from);
    for (name, svg) in [("graph", frame.graph().to_svg()), ("run", report.to_svg())] {
        let path = paths.next().unwrap_or_else(|| std::env::temp_dir().join(format!("phalanx-{name}.svg")));
        std::fs::write(&path, svg)?;
        println!("{}", path.display());
    }
    Ok(())
}
