//! The components, the relation and the resources of the battle.

use crate::measuring::random::Random;
use phalanx::reflect::Reflect;
use phalanx::{Component, Entity, Plain, Relation};
use phalanx_store::Soa;
use serde::{Deserialize, Serialize};

/// Where something is. Iterated field by field.
#[derive(Component, Soa, Clone, Copy, Debug, Serialize, Deserialize)]
#[component(layout = "soa")]
pub(super) struct Position {
    pub(super) x: f32,
    pub(super) y: f32,
}

/// The distance that something moves in a frame.
#[derive(Component, Soa, Clone, Copy, Debug, Serialize, Deserialize)]
#[component(layout = "soa")]
pub(super) struct Velocity {
    pub(super) x: f32,
    pub(super) y: f32,
}

/// One of the sides.
#[derive(Reflect, Plain, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub(super) enum Side {
    Red,
    Blue,
    Green,
}

impl Side {
    pub(super) const ALL: [Side; 3] = [Side::Red, Side::Blue, Side::Green];

    pub(super) fn name(self) -> &'static str {
        match self {
            Side::Red => "red",
            Side::Blue => "blue",
            Side::Green => "green",
        }
    }
}

/// The side of a fleet or ship.
#[derive(Component, Clone, Copy, Debug, Serialize, Deserialize)]
#[component(plain)]
pub(super) struct Flag {
    pub(super) side: Side,
}

/// How much a ship withstands. Shells look it up by entity.
#[derive(Component, Clone, Copy, Debug, Serialize, Deserialize)]
#[component(layout = "linear", plain)]
pub(super) struct Hull {
    pub(super) hp: u32,
    pub(super) max: u32,
}

/// A gun, a child of its ship.
#[derive(Component, Clone, Copy, Debug, Serialize, Deserialize)]
#[component(plain)]
pub(super) struct Gun {
    /// Frames until it can fire.
    pub(super) reload: u32,
    pub(super) fired: u32,
}

/// A shell in the air.
#[derive(Component, Clone, Copy, Debug, Serialize, Deserialize)]
#[component(plain)]
pub(super) struct Shell {
    pub(super) target: Entity,
    /// Frames until it strikes.
    pub(super) fuse: u32,
    pub(super) damage: u32,
}

/// A fire on board: inserted and removed often.
#[derive(Component, Clone, Copy, Debug, Serialize, Deserialize)]
#[component(layout = "pool", plain)]
pub(super) struct Burning {
    /// Frames until it is out.
    pub(super) left: u32,
}

/// The last lines of the log of a fleet.
#[derive(Component, Clone, Debug, Default, Serialize, Deserialize)]
#[component(clone)]
pub(super) struct Log {
    pub(super) lines: Vec<String>,
}

/// From a ship to the ship that it fires at.
#[derive(Relation)]
pub(super) struct Targets;

/// The wind, the same for all ships.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Weather {
    pub(super) wind: [f32; 2],
    /// Frames until it turns.
    pub(super) steady: u32,
}

/// The number of the frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Clock {
    pub(super) frame: u64,
}

/// What happened so far, by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Score {
    pub(super) lost: [u32; 3],
    pub(super) shells: u64,
}

/// How many ships each side keeps at sea.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Strength(pub(super) [u32; 3]);

/// The random numbers of the battle. They are kept with the world, so that a frame that runs again ends the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Dice(pub(super) Random);

impl Dice {
    /// Returns a number from -1 to 1.
    pub(super) fn swing(&mut self) -> f32 {
        self.0.below(2001) as f32 / 1000.0 - 1.0
    }
}
