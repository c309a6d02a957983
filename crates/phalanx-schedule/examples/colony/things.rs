//! What there is in the colony: components, resources, events and relations.

use phalanx::{Component, Entity, Event, Relation};
use std::collections::VecDeque;

/// A tile of the map.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[component(plain)]
pub(crate) struct At {
    pub(crate) x: i16,
    pub(crate) y: i16,
}

impl At {
    pub(crate) fn distance(self, other: At) -> i16 {
        (self.x - other.x).abs().max((self.y - other.y).abs())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Good {
    Wood,
    Stone,
    Food,
}

/// A tree, a rock or a bush: what goods come from.
#[derive(Component)]
pub(crate) struct Source {
    pub(crate) good: Good,
    pub(crate) amount: u32,
}

#[derive(Component)]
pub(crate) struct Building {
    pub(crate) kind: Kind,
    /// The work that is still to be done. Nothing is left of a finished building.
    pub(crate) work_left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Store,
    Hut,
    Tower,
}

impl Kind {
    /// Wood and stone.
    pub(crate) fn price(self) -> (u32, u32) {
        match self {
            Kind::Store => (0, 0),
            Kind::Hut => (8, 0),
            Kind::Tower => (4, 10),
        }
    }
}

/// A hut that is finished, in which colonists can live.
#[derive(Component)]
pub(crate) struct Beds(pub(crate) usize);

#[derive(Component)]
pub(crate) struct Colonist {
    pub(crate) name: &'static str,
}

/// Grows with time. It is looked up by entity and all colonists have it.
#[derive(Component)]
#[component(layout = "linear")]
pub(crate) struct Hunger(pub(crate) u32);

/// What a colonist does now. Tasks change all the time, so they are in a pool.
#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "pool")]
pub(crate) enum Task {
    Gather,
    Build,
    Deliver,
    Eat,
    Sleep,
}

/// The way that a colonist still has to go, until the tile beside the goal.
#[derive(Component)]
#[component(layout = "pool")]
pub(crate) struct Walk(pub(crate) VecDeque<At>);

#[derive(Component)]
#[component(layout = "pool")]
pub(crate) struct Carries(pub(crate) Good);

/// Wolves do not get colonists who are indoors.
#[derive(Component)]
#[component(layout = "pool")]
pub(crate) struct Indoors;

#[derive(Component)]
pub(crate) struct Wolf;

/// From a colonist to what it works on. One source is worked on by one colonist.
#[derive(Relation)]
#[relation(one_to_one)]
pub(crate) struct WorksOn;

/// From a colonist to its hut.
#[derive(Relation)]
#[relation(one_to_many)]
pub(crate) struct LivesIn;

/// What the chronicle tells.
#[derive(Event)]
pub(crate) enum News {
    Founded(usize),
    Built(Kind),
    Born(&'static str),
    Died { name: &'static str, cause: &'static str },
    WolfShot,
}

/// A colonist is about to die: the systems that notice it do not despawn, so that it happens once.
#[derive(Event)]
pub(crate) struct Death {
    pub(crate) entity: Entity,
    pub(crate) cause: &'static str,
}

#[derive(Default)]
pub(crate) struct Stock {
    pub(crate) wood: u32,
    pub(crate) stone: u32,
    pub(crate) food: u32,
}

impl Stock {
    pub(crate) fn of(&mut self, good: Good) -> &mut u32 {
        match good {
            Good::Wood => &mut self.wood,
            Good::Stone => &mut self.stone,
            Good::Food => &mut self.food,
        }
    }
}

#[derive(Default)]
pub(crate) struct Clock {
    pub(crate) hour: u32,
    pub(crate) day: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    Day,
    Night,
}

/// The lines of the chronicle, each with how often it was repeated, and the numbers of colonists and of wolves each day.
#[derive(Default)]
pub(crate) struct Chronicle {
    pub(crate) lines: Vec<(String, usize)>,
    pub(crate) census: Vec<(usize, usize)>,
}

/// Random numbers that are the same in each run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound.max(1)
    }
}

pub(crate) const NAMES: [&str; 24] = [
    "Ada", "Bo", "Cleo", "Dirk", "Edda", "Finn", "Gro", "Hans", "Ida", "Jon", "Kaia", "Lars", "Mia", "Nils", "Ola",
    "Pia", "Quin", "Runa", "Sven", "Tove", "Ulf", "Vera", "Wim", "Yrsa",
];
