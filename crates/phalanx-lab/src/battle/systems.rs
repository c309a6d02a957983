//! The systems of the battle. They hold no state of their own, so that the world alone says how it goes on.

use super::components::{
    Burning, Clock, Dice, Flag, Gun, Hull, Log, Position, Score, Shell, Side, Strength, Targets, Velocity, Weather,
};
use phalanx::relation::{ChildOf, Relations};
use phalanx::system::{Commands, Res, ResMut};
use phalanx::{Bundle, Entity, Query, With, Without};

/// The sea is a square with sides of this length.
pub(super) const SEA: f32 = 2000.0;
const RELOAD: u32 = 240;
const FLIGHT: u32 = 90;
const DAMAGE: u32 = 18;
/// Frames between two convoys of a side.
const CONVOY_PERIOD: u64 = 600;
const TOP_SPEED: f32 = 1.5;
/// The number of lines that a log keeps.
const LOG_LINES: usize = 8;
/// Frames between two lines.
const LOG_PERIOD: u64 = 300;

/// Returns a ship of a side at a random position.
pub(super) fn ship(side: Side, dice: &mut Dice) -> impl Bundle + use<> {
    let [x, y] = [0; 2].map(|_| dice.0.below(SEA as usize) as f32);
    let max = 60 + dice.0.below(60) as u32;
    let velocity = Velocity { x: dice.swing(), y: dice.swing() };
    (Position { x, y }, velocity, Flag { side }, Hull { hp: max, max })
}

/// Returns a gun that fires within the time that it takes to reload.
pub(super) fn gun(dice: &mut Dice) -> Gun {
    Gun { reload: dice.0.below(RELOAD as usize) as u32, fired: 0 }
}

pub(super) fn count_frame(mut clock: ResMut<Clock>) {
    clock.frame += 1;
}

pub(super) fn turn_wind(mut weather: ResMut<Weather>, mut dice: ResMut<Dice>) {
    if weather.steady == 0 {
        *weather = Weather { wind: [dice.swing(), dice.swing()], steady: 120 + dice.0.below(240) as u32 };
    }
    weather.steady = weather.steady.saturating_sub(1);
}

/// Ships follow the wind, and turn back at the edges of the sea.
pub(super) fn steer(ships: Query<(&mut Velocity, &Position), With<Hull>>, weather: Res<Weather>) {
    let back = |at: f32| if at < 0.0 { 0.05 } else { -0.05 * f32::from(at > SEA) };
    let [east, north] = weather.wind.map(|wind| wind * 0.01);
    ships.for_each(|(velocity, at)| {
        *velocity.x = (*velocity.x + east + back(at.x)).clamp(-TOP_SPEED, TOP_SPEED);
        *velocity.y = (*velocity.y + north + back(at.y)).clamp(-TOP_SPEED, TOP_SPEED);
    });
}

/// Moves ships and shells.
pub(super) fn move_all(bodies: Query<(&mut Position, &Velocity)>) {
    bodies.for_each(|(at, velocity)| {
        *at.x += velocity.x;
        *at.y += velocity.y;
    });
}

/// Ships without a target choose one of another side.
pub(super) fn take_aim(
    ships: Query<(Entity, &Flag), With<Hull>>,
    targets: Relations<Targets>,
    mut dice: ResMut<Dice>,
    mut commands: Commands,
) {
    let mut idle = ships.iter().filter(|(ship, _)| targets.target(*ship).is_none()).peekable();
    if idle.peek().is_none() {
        return;
    }
    let all: Vec<(Entity, Side)> = ships.iter().map(|(ship, flag)| (ship, flag.side)).collect();
    for (ship, flag) in idle {
        // A ship that meets its own side three times waits for the next frame.
        let mut tries = (0..3).map(|_| all[dice.0.below(all.len())]);
        if let Some((enemy, _)) = tries.find(|(_, side)| *side != flag.side) {
            commands.link::<Targets>(ship, enemy);
        }
    }
}

/// Guns that are loaded fire at the target of their ship.
pub(super) fn fire(
    mut guns: Query<(Entity, &mut Gun)>,
    positions: Query<&Position>,
    ships: Relations<ChildOf>,
    targets: Relations<Targets>,
    mut score: ResMut<Score>,
    mut commands: Commands,
) {
    for (gun, state) in guns.iter_mut() {
        state.reload = state.reload.saturating_sub(1);
        if state.reload > 0 {
            continue;
        }
        let Some(ship) = ships.parent(gun) else { continue };
        let Some(target) = targets.target(ship) else { continue };
        let (Ok(from), Ok(to)) = (positions.get(ship), positions.get(target)) else { continue };
        let flight = FLIGHT as f32;
        let velocity = Velocity { x: (to.x - from.x) / flight, y: (to.y - from.y) / flight };
        let shell = Shell { target, fuse: FLIGHT, damage: DAMAGE };
        commands.spawn_later((shell, Position { x: from.x, y: from.y }, velocity));
        (state.reload, state.fired) = (RELOAD, state.fired.saturating_add(1));
        score.shells += 1;
    }
}

/// Shells strike after their flight. Some set the ship on fire.
pub(super) fn strike(
    mut shells: Query<(Entity, &mut Shell)>,
    mut hulls: Query<&mut Hull>,
    mut dice: ResMut<Dice>,
    mut commands: Commands,
) {
    for (entity, shell) in shells.iter_mut() {
        shell.fuse = shell.fuse.saturating_sub(1);
        if shell.fuse > 0 {
            continue;
        }
        commands.despawn(entity);
        // The target may have sunk meanwhile.
        if let Ok(hull) = hulls.get_mut(shell.target) {
            hull.hp = hull.hp.saturating_sub(shell.damage);
            if dice.0.below(4) == 0 {
                commands.insert(shell.target, Burning { left: 180 });
            }
        }
    }
}

/// Fires do damage until they are out.
pub(super) fn burn(mut fires: Query<(Entity, &mut Burning, &mut Hull)>, clock: Res<Clock>, mut commands: Commands) {
    for (ship, fire, hull) in fires.iter_mut() {
        fire.left = fire.left.saturating_sub(1);
        hull.hp = hull.hp.saturating_sub(u32::from(clock.frame.is_multiple_of(15)));
        if fire.left == 0 {
            commands.remove::<Burning>(ship);
        }
    }
}

/// Crews repair ships that do not burn.
pub(super) fn repair(ships: Query<&mut Hull, Without<Burning>>, clock: Res<Clock>) {
    if clock.frame.is_multiple_of(60) {
        // A ship with nothing left is not repaired: it sinks.
        ships.for_each(|hull| hull.hp = hull.hp.saturating_add(u32::from(hull.hp > 0)).min(hull.max));
    }
}

/// Despawns ships with nothing left, and their guns with them.
pub(super) fn sink(ships: Query<(Entity, &Hull, &Flag)>, mut score: ResMut<Score>, mut commands: Commands) {
    for (ship, _, flag) in ships.iter().filter(|(_, hull, _)| hull.hp == 0) {
        score.lost[flag.side as usize] += 1;
        commands.despawn(ship);
    }
}

/// Each side gets the ships back that it has lost, now and then and one side after another.
pub(super) fn reinforce(
    fleets: Query<(Entity, &Flag), With<Log>>,
    ships: Query<&Flag, With<Hull>>,
    strength: Res<Strength>,
    clock: Res<Clock>,
    mut dice: ResMut<Dice>,
    mut commands: Commands,
) {
    let is_due = |side: Side| clock.frame % CONVOY_PERIOD == side as u64 * CONVOY_PERIOD / 3;
    if !Side::ALL.into_iter().any(is_due) {
        return;
    }
    let mut at_sea = [0_u32; 3];
    ships.iter().for_each(|flag| at_sea[flag.side as usize] += 1);
    for (fleet, flag) in fleets.iter().filter(|(_, flag)| is_due(flag.side)) {
        let missing = strength.0[flag.side as usize].saturating_sub(at_sea[flag.side as usize]);
        for _ in 0..missing {
            let ship = commands.spawn_related::<ChildOf, _>(fleet, ship(flag.side, &mut dice));
            commands.spawn_related::<ChildOf, _>(ship, gun(&mut dice));
        }
    }
}

/// Each fleet writes down what it has lost, now and then.
pub(super) fn write_logs(mut logs: Query<(&mut Log, &Flag)>, clock: Res<Clock>, score: Res<Score>) {
    if !clock.frame.is_multiple_of(LOG_PERIOD) {
        return;
    }
    for (log, flag) in logs.iter_mut() {
        let excess = (log.lines.len() + 1).saturating_sub(LOG_LINES);
        log.lines.drain(..excess);
        log.lines.push(format!("frame {}: {} ships lost", clock.frame, score.lost[flag.side as usize]));
    }
}
