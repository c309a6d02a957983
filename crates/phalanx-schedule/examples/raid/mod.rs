//! A small game: raiders run to a castle, and towers shoot at them. These are its components and systems.

use phalanx::event::{EventReader, EventWriter};
use phalanx::snapshot::Registry;
use phalanx::system::{Commands, Res, ResMut};
use phalanx::{Component, Entity, Event, Query, With, World};
use serde::{Deserialize, Serialize};

pub(crate) const FRAMES: u64 = 900;
/// The [checksum] after the last frame, with and without a schedule, on any number of threads.
pub(crate) const CHECKSUM: u64 = 0x2122_ba5d_dc1c_aff4;

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Position(f32, f32);
#[derive(Component, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Velocity(f32, f32);
#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Raider;
#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Health(u32);
#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Arrow;
/// The number of steps after which an arrow falls down.
#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Lifetime(u32);
#[derive(Component, Serialize, Deserialize)]
pub(crate) struct Tower {
    target: Option<Position>,
    cooldown: u32,
}

/// An arrow hits a raider.
#[derive(Event)]
pub(crate) struct Hit(Entity);
/// A raider dies.
#[derive(Event)]
pub(crate) struct Death(Entity);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Playing,
    Over,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score {
    pub(crate) sent: u32,
    pub(crate) killed: u32,
    pub(crate) lives: u32,
}

/// What the player hears.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Sounds {
    pub(crate) hits: usize,
    pub(crate) deaths: usize,
}

#[derive(Default)]
pub(crate) struct Screen(pub(crate) String);

#[derive(Serialize, Deserialize)]
pub(crate) struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Creates the world of a new game.
pub(crate) fn new_world() -> World {
    let mut world = World::new();
    world.insert_resource(Dice(7));
    world.insert_resource(Score { sent: 0, killed: 0, lives: 30 });
    world.insert_resource(Sounds::default());
    world.insert_resource(Screen::default());
    world
}

/// Returns the time between two frames, which is not always the same.
pub(crate) fn frame_nanos(frame: u64) -> u64 {
    10_000_000 + frame * 7919 % 13 * 1_000_000
}

/// Returns a number that depends on every entity and every value.
pub(crate) fn checksum(world: &World) -> Result<u64, Box<dyn std::error::Error>> {
    let mut registry = Registry::new();
    registry.serde::<Position>("position")?;
    registry.serde::<Velocity>("velocity")?;
    registry.serde::<Raider>("raider")?;
    registry.serde::<Health>("health")?;
    registry.serde::<Arrow>("arrow")?;
    registry.serde::<Lifetime>("lifetime")?;
    registry.serde::<Tower>("tower")?;
    registry.serde_resource::<Score>("score")?;
    registry.serde_resource::<Sounds>("sounds")?;
    registry.serde_resource::<Dice>("dice")?;
    Ok(registry.checksum(world)?)
}

pub(crate) fn build_towers(mut commands: Commands) {
    for at in [Position(6.0, 5.0), Position(-6.0, 5.0), Position(6.0, -5.0), Position(-6.0, -5.0)] {
        // `spawn` works too, and returns the entity. But it reserves an index early, for which a schedule has its own order. With
        // `spawn_later` entities have the same indices without a schedule.
        commands.spawn_later((Tower { target: None, cooldown: 0 }, at));
    }
}

pub(crate) fn pull_down_towers(towers: Query<Entity, With<Tower>>, mut commands: Commands) {
    towers.iter().for_each(|tower| commands.despawn(tower));
}

/// Sends a raider from the edge of the map towards the castle at its middle.
pub(crate) fn send_raider(mut dice: ResMut<Dice>, mut score: ResMut<Score>, mut commands: Commands) {
    if dice.roll(3) == 0 {
        let (x, y) = (dice.roll(60) as f32 - 30.0, if dice.roll(2) == 0 { 20.0 } else { -20.0 });
        let health = 1 + dice.roll(3) as u32;
        commands.spawn_later((Raider, Position(x, y), Velocity(-x / 100.0, -y / 100.0), Health(health)));
        score.sent += 1;
    }
}

/// Arrows that have flown too far fall down.
pub(crate) fn drop_arrows(mut arrows: Query<(Entity, &mut Lifetime)>, mut commands: Commands) {
    for (arrow, lifetime) in arrows.iter_mut() {
        lifetime.0 -= 1;
        if lifetime.0 == 0 {
            commands.despawn(arrow);
        }
    }
}

pub(crate) fn walk(bodies: Query<(&mut Position, &Velocity)>) {
    bodies.for_each(|(position, velocity)| {
        position.0 += velocity.0;
        position.1 += velocity.1;
    });
}

fn distance(a: &Position, b: &Position) -> f32 {
    // The root is exact on every machine, `hypot` is not.
    ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)).sqrt()
}

/// Each tower takes aim at the nearest raider.
pub(crate) fn aim(mut towers: Query<(&Position, &mut Tower)>, raiders: Query<&Position, With<Raider>>) {
    for (at, tower) in towers.iter_mut() {
        let near = raiders.iter().filter(|raider| distance(at, raider) < 12.0);
        tower.target = near.min_by(|a, b| distance(at, a).total_cmp(&distance(at, b))).copied();
    }
}

pub(crate) fn shoot(mut towers: Query<(&Position, &mut Tower)>, mut commands: Commands) {
    for (at, tower) in towers.iter_mut() {
        tower.cooldown = tower.cooldown.saturating_sub(1);
        if let (Some(target), 0) = (tower.target, tower.cooldown) {
            let velocity = Velocity((target.0 - at.0) / 8.0, (target.1 - at.1) / 8.0);
            commands.spawn_later((Arrow, *at, velocity, Lifetime(12)));
            tower.cooldown = 5;
        }
    }
}

/// An arrow hits the first raider that it comes close to.
pub(crate) fn hit(
    arrows: Query<(Entity, &Position), With<Arrow>>,
    raiders: Query<(Entity, &Position), With<Raider>>,
    mut hits: EventWriter<Hit>,
    mut commands: Commands,
) {
    for (arrow, at) in &arrows {
        if let Some((raider, _)) = raiders.iter().find(|(_, position)| distance(at, position) < 1.0) {
            hits.send(Hit(raider));
            commands.despawn(arrow);
        }
    }
}

pub(crate) fn wound(mut hits: EventReader<Hit>, mut healths: Query<&mut Health>, mut deaths: EventWriter<Death>) {
    for Hit(raider) in hits.read() {
        if let Ok(health) = healths.get_mut(*raider)
            && health.0 > 0
        {
            health.0 -= 1;
            if health.0 == 0 {
                deaths.send(Death(*raider));
            }
        }
    }
}

pub(crate) fn bury(mut deaths: EventReader<Death>, mut score: ResMut<Score>, mut commands: Commands) {
    for Death(raider) in deaths.read() {
        score.killed += 1;
        commands.despawn(*raider);
    }
}

/// Raiders that reach the castle take a life.
pub(crate) fn storm(
    raiders: Query<(Entity, &Position), With<Raider>>,
    mut score: ResMut<Score>,
    mut commands: Commands,
) {
    for (raider, at) in &raiders {
        if distance(at, &Position(0.0, 0.0)) < 1.0 {
            score.lives = score.lives.saturating_sub(1);
            commands.despawn(raider);
        }
    }
}

pub(crate) fn draw(
    towers: Query<&Position, With<Tower>>,
    raiders: Query<&Position, With<Raider>>,
    arrows: Query<&Position, With<Arrow>>,
    score: Res<Score>,
    mut screen: ResMut<Screen>,
) {
    let mut rows = [['.'; 61]; 21];
    let mut put = |at: &Position, sign| {
        let (row, column) = ((at.1 / 2.0 + 10.0).round(), (at.0 + 30.0).round());
        if let Some(place) = rows.get_mut(row as usize).and_then(|row| row.get_mut(column as usize)) {
            *place = sign;
        }
    };
    arrows.iter().for_each(|at| put(at, '-'));
    raiders.iter().for_each(|at| put(at, 'r'));
    towers.iter().for_each(|at| put(at, 'T'));
    put(&Position(0.0, 0.0), 'C');
    let rows: Vec<String> = rows.iter().map(String::from_iter).collect();
    screen.0 = format!("{}\n{} of {} killed, {} lives left", rows.join("\n"), score.killed, score.sent, score.lives);
}
