//! A battle at sea: the world that the program runs without a command.
//!
//! Three fleets sail with the wind, fire at each other, burn, sink and are reinforced. It uses what the inspector can show: all four
//! layouts, a tree of fleets, ships and guns with names, a relation between ships, resources, and a schedule of systems. All of its
//! state is in the world, so that a frame that runs again after a rewind ends the same.

mod components;
mod systems;

use crate::measuring::random::Random;
use crate::presenting::figures::thousands;
use components::{
    Burning, Clock, Dice, Flag, Gun, Hull, Log, Position, Score, Shell, Side, Strength, Targets, Velocity, Weather,
};
use phalanx::executor::ThreadPool;
use phalanx::relation::ChildOf;
use phalanx::snapshot::{Registry, RegistryError};
use phalanx::{Entity, NameError, NoSuchEntity, With, World};
use phalanx_inspect::Builder;
use phalanx_schedule::{RunError, RunReport, Schedule};
use std::error::Error;

/// The fewest entities: a fleet, a ship and a gun of each side.
pub(crate) const FEWEST_ENTITIES: u64 = 9;
/// The most entities.
pub(crate) const MOST_ENTITIES: u64 = 10_000_000;

/// The battle: a world, and the systems of a frame.
pub(crate) struct Battle {
    pub(crate) world: World,
    frame: Schedule,
    pool: ThreadPool,
}

impl Battle {
    /// Creates a battle with about `entities` entities, of which shells in the air are extra.
    pub(crate) fn new(entities: usize) -> Result<Battle, Box<dyn Error>> {
        let mut world = World::new();
        fill(&mut world, entities)?;
        // The inspector advises layouts by these counts.
        world.set_access_counting(true);
        let frame = Schedule::builder("frame")
            .add((systems::count_frame, systems::turn_wind, systems::steer, systems::move_all))
            .add((systems::take_aim, systems::fire, systems::strike, systems::burn, systems::repair))
            .chain((systems::sink, systems::reinforce, systems::write_logs))
            .build(&mut world)?;
        Ok(Battle { world, frame, pool: ThreadPool::default() })
    }

    /// Runs a frame.
    pub(crate) fn step(&mut self) -> Result<RunReport, RunError> {
        self.frame.run_with_report(&self.pool, &mut self.world)
    }

    /// Returns what runs, in a line.
    pub(crate) fn describe(&self) -> String {
        let [red, blue, green] = Side::ALL.map(|side| thousands(afloat(&self.world, side) as u64));
        let (shells, fires) = (self.world.query::<&Shell>().len(), self.world.query::<&Burning>().len());
        let [shells, fires] = [shells, fires].map(|count| thousands(count as u64));
        format!("{red} red, {blue} blue and {green} green ships; {shells} shells in the air, {fires} fires")
    }

    /// Returns the number of systems of a frame.
    pub(crate) fn systems(&self) -> usize {
        self.frame.systems().count()
    }

    /// Returns the number of threads that systems can run on.
    pub(crate) fn threads(&self) -> usize {
        phalanx::executor::Executor::width(&self.pool)
    }
}

/// Spawns the fleets.
fn fill(world: &mut World, entities: usize) -> Result<(), NameError> {
    let mut dice = Dice(Random::new(7));
    // A ship has a gun.
    let ships = entities.saturating_sub(Side::ALL.len()) / 2;
    let mut strength = [0; 3];
    for (index, side) in Side::ALL.into_iter().enumerate() {
        let fleet = world.spawn_named(side.name(), (Flag { side }, Log::default()))?;
        let count = ((ships + index) / Side::ALL.len()).max(1);
        strength[side as usize] = count as u32;
        let flagship = launch(world, fleet, side, &mut dice)?;
        world.entity_mut(flagship)?.set_name("flagship")?;
        for _ in 1..count {
            launch(world, fleet, side, &mut dice)?;
        }
    }
    keep(world, Clock { frame: 0 });
    keep(world, Score::default());
    keep(world, Strength(strength));
    keep(world, Weather { wind: [0.6, -0.2], steady: 300 });
    keep(world, dice);
    Ok(())
}

/// Inserts a resource that is part of timelines.
fn keep<R: Clone + Send + Sync + 'static>(world: &mut World, resource: R) {
    world.insert_resource(resource);
    world.resources_mut().keep::<R>();
}

/// Spawns a ship of a fleet, with its gun.
fn launch(world: &mut World, fleet: Entity, side: Side, dice: &mut Dice) -> Result<Entity, NoSuchEntity> {
    let ship = world.entity_mut(fleet)?.spawn_child(systems::ship(side, dice));
    world.entity_mut(ship)?.spawn_child(systems::gun(dice));
    Ok(ship)
}

fn afloat(world: &World, side: Side) -> usize {
    world.query_filtered::<&Flag, With<Hull>>().iter().filter(|flag| flag.side == side).count()
}

/// Says what the inspector shows of the battle beside its entities.
pub(crate) fn inspected(builder: Builder) -> Result<Builder, RegistryError> {
    let builder = builder
        .name("phalanx")
        .registry(registry()?)
        .relation::<Targets>("targets")
        .resource::<Clock>()
        .resource::<Dice>()
        .resource::<Score>()
        .resource::<Strength>()
        .resource::<Weather>()
        .plot("entities", |world| world.len() as f64)
        .plot("red ships", |world| afloat(world, Side::Red) as f64)
        .plot("blue ships", |world| afloat(world, Side::Blue) as f64)
        .plot("green ships", |world| afloat(world, Side::Green) as f64)
        .plot("shells in the air", |world| world.query::<&Shell>().len() as f64)
        .plot("fires", |world| world.query::<&Burning>().len() as f64)
        .action("set every ship on fire", |world| {
            let ships: Vec<Entity> = world.query_filtered::<Entity, With<Hull>>().iter().collect();
            for ship in ships {
                // It was just found.
                let _ = world.insert(ship, Burning { left: 180 });
            }
        })
        .action("storm", |world| {
            if let Ok(mut weather) = world.resource_mut::<Weather>() {
                *weather = Weather { wind: [6.0, 6.0], steady: 240 };
            }
        });
    Ok(builder)
}

/// Returns what snapshots of the battle know.
pub(crate) fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::new();
    registry.serde::<Position>("position")?.readable();
    registry.serde::<Velocity>("velocity")?.readable();
    registry.serde::<Flag>("flag")?.readable();
    registry.serde::<Hull>("hull")?.readable();
    registry.serde::<Gun>("gun")?.readable();
    registry.serde::<Shell>("shell")?.readable();
    registry.serde::<Burning>("burning")?.readable();
    registry.serde::<Log>("log")?.readable();
    registry.relation::<ChildOf>("child of")?;
    registry.relation::<Targets>("targets")?;
    registry.names("name")?;
    registry.serde_resource::<Clock>("clock")?;
    registry.serde_resource::<Score>("score")?;
    registry.serde_resource::<Strength>("strength")?;
    registry.serde_resource::<Weather>("weather")?;
    registry.serde_resource::<Dice>("dice")?;
    Ok(registry)
}

#[cfg(test)]
mod tests;
