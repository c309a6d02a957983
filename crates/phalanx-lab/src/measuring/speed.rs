//! Stores against maps with two hashers: iteration, random access, churn, and a mixture.

use crate::measuring::random::Random;
use crate::measuring::stats::Summary;
use crate::measuring::timing::{Effort, Run, interleave, mean_of};
use foldhash::fast::FixedState;
use phalanx_store::{Handle, PackedStore, SlotStore};
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;

/// The value that is stored: a position and a velocity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Particle {
    x: f64,
    y: f64,
    vx: f64,
    vy: f64,
}

impl Particle {
    fn new(number: usize) -> Particle {
        let x = number as f64;
        Particle { x, y: -x, vx: 0.5, vy: 0.25 }
    }

    fn step(&mut self) {
        self.x += self.vx;
        self.y += self.vy;
    }
}

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StoreSpeed {
    pub(crate) name: &'static str,
    /// What one nanosecond figure is counted for.
    pub(crate) per: &'static str,
    /// Nanoseconds of the packed store, of the slot store, of std's map as it is by default, and with a fast hasher.
    pub(crate) packed: Summary,
    pub(crate) slot: Summary,
    pub(crate) siphash: Summary,
    pub(crate) foldhash: Summary,
}

impl StoreSpeed {
    /// Returns the times of the contenders, in the order of their names.
    pub(crate) fn times(&self) -> [Summary; 4] {
        [self.packed, self.slot, self.siphash, self.foldhash]
    }
}

/// The names of the contenders, in the order of the columns.
pub(crate) const CONTENDERS: [&str; 4] = ["packed store", "slot store", "map, SipHash", "map, foldhash"];

/// What the contenders have in common.
trait Bag: Default {
    type Id: Copy;
    fn add(&mut self, particle: Particle) -> Self::Id;
    fn at(&mut self, id: Self::Id) -> Option<&mut Particle>;
    fn take(&mut self, id: Self::Id) -> Option<Particle>;
    fn step(&mut self);
}

impl Bag for PackedStore<Particle> {
    type Id = Handle<Particle>;
    fn add(&mut self, particle: Particle) -> Self::Id {
        self.insert(particle)
    }
    fn at(&mut self, id: Self::Id) -> Option<&mut Particle> {
        self.get_mut(id)
    }
    fn take(&mut self, id: Self::Id) -> Option<Particle> {
        self.remove(id)
    }
    fn step(&mut self) {
        self.values_mut().for_each(Particle::step);
    }
}

impl Bag for SlotStore<Particle> {
    type Id = Handle<Particle>;
    fn add(&mut self, particle: Particle) -> Self::Id {
        self.insert(particle)
    }
    fn at(&mut self, id: Self::Id) -> Option<&mut Particle> {
        self.get_mut(id)
    }
    fn take(&mut self, id: Self::Id) -> Option<Particle> {
        self.remove(id)
    }
    fn step(&mut self) {
        self.values_mut().for_each(Particle::step);
    }
}

/// The standard map under keys that it never gives twice: what it takes to have stable ids without a store.
#[derive(Default)]
struct Map<S> {
    particles: HashMap<u64, Particle, S>,
    next: u64,
}

impl<S: BuildHasher + Default> Bag for Map<S> {
    type Id = u64;
    fn add(&mut self, particle: Particle) -> u64 {
        let id = self.next;
        self.next += 1;
        self.particles.insert(id, particle);
        id
    }
    fn at(&mut self, id: u64) -> Option<&mut Particle> {
        self.particles.get_mut(&id)
    }
    fn take(&mut self, id: u64) -> Option<Particle> {
        self.particles.remove(&id)
    }
    fn step(&mut self) {
        self.particles.values_mut().for_each(Particle::step);
    }
}

/// A scenario, with its number of values.
#[derive(Clone, Copy)]
enum Scenario {
    Iterate(usize),
    Access(usize),
    Churn(usize),
    Mixed(usize),
}

/// The rows: name, scenario, what a figure is counted for.
const ROWS: [(&str, Scenario, &str); 5] = [
    ("iterating 10k", Scenario::Iterate(10_000), "value"),
    ("iterating 100k", Scenario::Iterate(100_000), "value"),
    ("random access in 10k", Scenario::Access(10_000), "read"),
    ("churn in 10k", Scenario::Churn(10_000), "removal and insertion"),
    ("mixed work on 50k", Scenario::Mixed(50_000), "value and frame"),
];

/// The names of the rows, in their order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// Measures row `index`.
pub(crate) fn measure(index: usize, effort: Effort) -> Option<StoreSpeed> {
    let (name, scenario, per) = ROWS[index];
    let mut contenders: [Run<'static>; 4] = [
        contender::<PackedStore<Particle>>(scenario),
        contender::<SlotStore<Particle>>(scenario),
        contender::<Map<RandomState>>(scenario),
        contender::<Map<FixedState>>(scenario),
    ];
    let samples = interleave(effort, &mut contenders);
    let [packed, slot, siphash, foldhash] = [0, 1, 2, 3].map(|who: usize| Summary::of(&samples[who]));
    Some(StoreSpeed { name, per, packed: packed?, slot: slot?, siphash: siphash?, foldhash: foldhash? })
}

fn contender<B: Bag + 'static>(scenario: Scenario) -> Run<'static> {
    let (Scenario::Iterate(count) | Scenario::Access(count) | Scenario::Churn(count) | Scenario::Mixed(count)) =
        scenario;
    let mut bag = B::default();
    let mut ids: Vec<B::Id> = (0..count).map(|i| bag.add(Particle::new(i))).collect();
    let mut random = Random::new(0x5eed);
    match scenario {
        // Several passes to a sample, where one would be over before the clock can tell.
        Scenario::Iterate(_) => {
            Box::new(move || mean_of(200_000 / count, || black_box(&mut bag).step()) / count as f64)
        }
        Scenario::Access(_) => {
            random.shuffle(&mut ids);
            Box::new(move || {
                let read = || {
                    // Integers: a sum of floats would wait for each addition, and not for the memory.
                    let sum = ids.iter().filter_map(|&id| bag.at(id).map(|p| p.x.to_bits())).fold(0, u64::wrapping_add);
                    black_box(sum);
                };
                mean_of(200_000 / count, read) / count as f64
            })
        }
        Scenario::Churn(_) => Box::new(move || {
            let replaced = count / 10;
            mean_of(10, || churn(&mut bag, &mut ids, replaced, &mut random)) / replaced as f64
        }),
        Scenario::Mixed(_) => Box::new(move || {
            let frame = || {
                bag.step();
                churn(&mut bag, &mut ids, count / 100, &mut random);
                for _ in 0..count / 20 {
                    if let Some(particle) = bag.at(ids[random.below(count)]) {
                        particle.vx = -particle.vx;
                    }
                }
            };
            mean_of(4, frame) / count as f64
        }),
    }
}

/// Removes `replaced` values at random, then inserts as many.
fn churn<B: Bag>(bag: &mut B, ids: &mut Vec<B::Id>, replaced: usize, random: &mut Random) {
    for _ in 0..replaced {
        let id = ids.swap_remove(random.below(ids.len()));
        black_box(bag.take(id));
    }
    for i in 0..replaced {
        ids.push(bag.add(Particle::new(i)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_row_measures_something() {
        let effort = Effort { least: 1, most: 1, share: Duration::ZERO };
        for index in 0..ROWS.len() {
            let row = measure(index, effort).expect("a sample of each");
            assert!(row.times().iter().all(|time| time.median > 0.0 && time.runs == 1), "{row:?}");
        }
    }

    #[test]
    fn churn_keeps_the_number_of_values() {
        let mut bag = PackedStore::<Particle>::default();
        let mut ids: Vec<_> = (0..100).map(|i| bag.add(Particle::new(i))).collect();
        churn(&mut bag, &mut ids, 30, &mut Random::new(3));
        assert_eq!((ids.len(), bag.len()), (100, 100));
        assert!(ids.iter().all(|&id| bag.at(id).is_some()));
    }
}
