//! The map: terrain, what stands where, and the way to the nearest thing.

use crate::things::{At, Building, Dice, Good, Source};
use phalanx::{Component, Entity, With, World};
use std::collections::VecDeque;

pub(crate) const WIDTH: i16 = 48;
pub(crate) const HEIGHT: i16 = 32;
pub(crate) const CENTRE: At = At { x: WIDTH / 2, y: HEIGHT / 2 };

pub(crate) struct Map {
    water: Vec<bool>,
    /// What stands on a tile. It is kept by observers, so that no code can forget it.
    things: Vec<Option<Entity>>,
    /// How often a tile was stepped on: the paths in the picture.
    pub(crate) steps: Vec<u32>,
}

fn index(at: At) -> Option<usize> {
    let is_inside = (0..WIDTH).contains(&at.x) && (0..HEIGHT).contains(&at.y);
    is_inside.then(|| at.y as usize * WIDTH as usize + at.x as usize)
}

pub(crate) fn tiles() -> impl Iterator<Item = At> {
    (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| At { x, y }))
}

fn neighbours(at: At) -> impl Iterator<Item = At> {
    [(1, 0), (0, 1), (-1, 0), (0, -1)].into_iter().map(move |(x, y)| At { x: at.x + x, y: at.y + y })
}

impl Map {
    fn new() -> Map {
        let river = |at: At| {
            let bend = (f32::from(at.y) * 0.35).sin() * 3.0 + f32::from(at.y) * 0.3;
            (f32::from(at.x) - 6.0 - bend).abs() < 1.2 && at.y % 11 != 5
        };
        let lake = |at: At| (at.x - 39).pow(2) + 2 * (at.y - 7).pow(2) < 22;
        let size = WIDTH as usize * HEIGHT as usize;
        Map { water: tiles().map(|at| river(at) || lake(at)).collect(), things: vec![None; size], steps: vec![0; size] }
    }

    pub(crate) fn is_water(&self, at: At) -> bool {
        index(at).is_none_or(|tile| self.water[tile])
    }

    pub(crate) fn is_free(&self, at: At) -> bool {
        index(at).is_some_and(|tile| !self.water[tile] && self.things[tile].is_none())
    }

    pub(crate) fn thing_at(&self, at: At) -> Option<Entity> {
        index(at).and_then(|tile| self.things[tile])
    }

    fn set(&mut self, at: At, thing: Option<Entity>) {
        if let Some(tile) = index(at) {
            self.things[tile] = thing;
        }
    }

    pub(crate) fn step_on(&mut self, at: At) {
        if let Some(tile) = index(at) {
            self.steps[tile] += 1;
        }
    }

    /// Returns the nearest thing that is wanted, and the way to a tile beside it.
    pub(crate) fn nearest(&self, from: At, wanted: impl Fn(Entity) -> bool) -> Option<(Entity, VecDeque<At>)> {
        self.search(from, |at| neighbours(at).find_map(|next| self.thing_at(next).filter(|thing| wanted(*thing))))
    }

    /// Returns the first step of the way to a tile.
    pub(crate) fn step_towards(&self, from: At, to: At) -> Option<At> {
        self.search(from, |at| (at.distance(to) <= 1).then_some(())).and_then(|((), way)| way.front().copied())
    }

    /// Searches tiles by their distance, until one is a goal. Returns what was found there, and the way.
    fn search<T>(&self, from: At, goal: impl Fn(At) -> Option<T>) -> Option<(T, VecDeque<At>)> {
        let mut came_from: Vec<Option<At>> = vec![None; self.things.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            if let Some(found) = goal(at) {
                let mut way = VecDeque::new();
                let mut tile = at;
                while tile != from {
                    way.push_front(tile);
                    tile = came_from[index(tile)?]?;
                }
                return Some((found, way));
            }
            for next in neighbours(at).filter(|next| *next != from && self.is_free(*next)) {
                let before = &mut came_from[index(next)?];
                if before.is_none() {
                    *before = Some(at);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// Keeps the map true for everything that stands on a tile and has a component `C`, whatever code spawns and despawns it.
fn connect<C: Component>(world: &mut World) {
    let set = |world: &mut World, at, thing| world.resource_mut::<Map>().expect("there is a map").set(at, thing);
    world.observe::<&At, With<C>>().on_enter(move |entered, _, commands| {
        let (at, thing) = (*entered.item, entered.entity);
        commands.queue(move |world| set(world, at, Some(thing)));
    });
    // The item has the values before the operation, also those of a thing that was despawned.
    world.observe::<&At, With<C>>().on_leave(move |left, _, commands| {
        let at = *left.item;
        commands.queue(move |world| set(world, at, None));
    });
}

/// Creates the map, and what grows on it.
pub(crate) fn create(world: &mut World, dice: &mut Dice) {
    world.insert_resource(Map::new());
    connect::<Source>(world);
    connect::<Building>(world);
    for at in tiles().filter(|at| at.distance(CENTRE) > 2) {
        if !world.resource::<Map>().expect("it was inserted").is_free(at) {
            continue;
        }
        let is_forest = (f32::from(at.x) * 0.3).sin() + (f32::from(at.y) * 0.4).cos() > 0.55;
        let (good, amount) = match dice.below(100) {
            0..45 if is_forest => (Good::Wood, 4),
            0..5 => (Good::Wood, 4),
            5..8 => (Good::Stone, 10),
            8..12 => (Good::Food, 6),
            _ => continue,
        };
        world.spawn((at, Source { good, amount }));
    }
}
