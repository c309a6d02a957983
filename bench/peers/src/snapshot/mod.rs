//! Snapshots: a world of 10k entities with four components (100 B) to bytes and back.
//!
//! A library is a file here with a type that implements [`Snapshot`].

mod hecs;
mod limit;
mod phalanx;
mod shipyard;

use crate::harness::{BAND, Build, Case, Unit, Ways, Workload};

/// A world that can be written to bytes and read back.
pub trait Snapshot: Sized + 'static {
    const NAME: &'static str;
    /// A world of entities `data::row(i)`.
    fn filled(n: usize) -> Self;
    /// Appends the snapshot to a buffer, which has room.
    fn save(&self, out: &mut Vec<u8>);
    fn load(bytes: &[u8]) -> Self;
    /// Of all positions.
    fn digest(&mut self) -> u64;
}

macro_rules! worlds {
    ($f:ident) => {
        worlds!(@ $f limit::Columns, phalanx::Table, phalanx::Pool, phalanx::Linear, hecs::Bincode, hecs::Postcard, shipyard::Postcard)
    };
    (@ $f:ident $($world:ty),*) => {{
        let rows: Vec<Build> = vec![$(Box::new($f::<$world>)),*];
        rows
    }};
}

const K10: usize = 10_000;

pub fn all() -> Vec<Workload> {
    let w = |name, about, build| Workload {
        name,
        about,
        ops: K10 as f64,
        op: "entity",
        band: BAND,
        unit: Unit::Nanoseconds,
        build,
    };
    vec![
        w("snapshot_save_10k", "a world of 10k entities to bytes, in a buffer that has room", worlds!(save)),
        w("snapshot_load_10k", "bytes to a new world of 10k entities", worlds!(load)),
    ]
}

fn save<S: Snapshot>() -> Vec<Case> {
    let make = || (S::filled(K10), Vec::with_capacity(4 << 20));
    let mut ways = Ways::held(S::NAME, make, 1, |(_, bytes)| S::load(bytes).digest());
    ways.add("", |(world, bytes)| {
        bytes.clear();
        world.save(bytes);
    });
    ways.cases
}

fn load<S: Snapshot>() -> Vec<Case> {
    let make = || {
        let mut bytes = Vec::new();
        S::filled(K10).save(&mut bytes);
        (bytes, None::<S>)
    };
    let mut ways = Ways::fresh(S::NAME, make, |(_, world)| world.as_mut().map_or(0, S::digest));
    ways.add("", |(bytes, world)| *world = Some(S::load(bytes)));
    ways.cases
}
