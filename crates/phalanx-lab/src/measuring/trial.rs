//! `phalanx advise --measure`: the four layouts at the same work, on this machine.

use crate::measuring::cost::Access;
use crate::measuring::layouts::{Container, Task, Value, population, with_size};
use crate::measuring::random::Random;
use crate::measuring::stats::Summary;
use crate::measuring::timing::{Effort, Run, interleave, mean_of};
use phalanx_store::memory::{Layout, Model};
use phalanx_store::{Entity, LinearStore, PackedStore, SlotStore, SparseSet};
use serde::Serialize;
use std::collections::VecDeque;
use std::hint::black_box;

/// What one layout did.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Trial {
    #[serde(serialize_with = "crate::measuring::footprint::layout_name")]
    pub(crate) layout: Layout,
    /// Nanoseconds for each value in each pass.
    pub(crate) time: Summary,
}

/// The work to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) access: Access,
    /// The share of the values that each pass replaces.
    pub(crate) churn: f64,
}

/// Lets all layouts do the same work, taking turns. In the order of [`Layout::ALL`]; empty if there are no values.
pub(crate) fn measure(model: &Model, work: Work, effort: Effort) -> Vec<Trial> {
    if model.live() == 0 {
        return Vec::new();
    }
    with_size(model.size(), Race { model, work, effort })
}

struct Race<'a> {
    model: &'a Model,
    work: Work,
    effort: Effort,
}

impl Task for Race<'_> {
    type Output = Vec<Trial>;

    fn run<const WORDS: usize>(self) -> Vec<Trial> {
        let (with, without) = population(self.model);
        let mut contenders: [Run<'static>; 4] = [
            contender::<PackedStore<_>, WORDS>(&with, &without, self.work),
            contender::<SlotStore<_>, WORDS>(&with, &without, self.work),
            contender::<SparseSet<_, _>, WORDS>(&with, &without, self.work),
            contender::<LinearStore<_, _>, WORDS>(&with, &without, self.work),
        ];
        let samples = interleave(self.effort, &mut contenders);
        let trials = Layout::ALL.iter().zip(samples);
        trials.filter_map(|(&layout, s)| Some(Trial { layout, time: Summary::of(&s)? })).collect()
    }
}

fn contender<C, const WORDS: usize>(with: &[Entity], without: &[Entity], work: Work) -> Run<'static>
where
    C: Container<Value<WORDS>> + 'static,
    C::Id: 'static,
{
    let mut subject = Subject::<C, WORDS>::new(with, without);
    let count = with.len();
    let replaced = (count as f64 * work.churn).round() as usize;
    // Long enough for the clock, whatever the number of values.
    let passes = (100_000 / count).clamp(1, 10_000);
    Box::new(move || {
        let pass = || {
            if work.access.iterates() {
                black_box(&mut subject.container).for_each(Value::step);
            }
            if work.access.reads() {
                subject.read_all();
            }
            subject.replace(replaced);
        };
        mean_of(passes, pass) / count as f64
    })
}

/// A container at work.
struct Subject<C: Container<Value<WORDS>>, const WORDS: usize> {
    container: C,
    ids: Vec<C::Id>,
    /// The entity of each id: the key of its value in a container keyed by entities.
    entities: Vec<Entity>,
    /// Positions in `ids`, shuffled.
    order: Vec<u32>,
    /// Where in `order` the next replacement is.
    next: usize,
    /// The positions of one replacement.
    leaving: Vec<u32>,
    /// Entities without a value, in the order in which they get one.
    absent: VecDeque<Entity>,
}

impl<C: Container<Value<WORDS>>, const WORDS: usize> Subject<C, WORDS> {
    fn new(with: &[Entity], without: &[Entity]) -> Self {
        let mut random = Random::new(0x5eed);
        let mut container = C::with_room(with.len());
        let ids = with.iter().enumerate().map(|(number, &entity)| container.put(entity, Value::new(number))).collect();
        let mut order: Vec<u32> = (0..with.len() as u32).collect();
        random.shuffle(&mut order);
        let mut absent = without.to_vec();
        random.shuffle(&mut absent);
        Subject { container, ids, entities: with.to_vec(), order, next: 0, leaving: Vec::new(), absent: absent.into() }
    }

    fn read_all(&mut self) {
        let (container, ids) = (&mut self.container, &self.ids);
        let found = self.order.iter().filter_map(|&at| container.at(ids[at as usize]).map(|value| value.first()));
        black_box(found.fold(0, u32::wrapping_add));
    }

    /// Removes `count` values, then inserts as many for entities that have none.
    fn replace(&mut self, count: usize) {
        self.leaving.clear();
        self.leaving.extend(self.order.iter().cycle().skip(self.next).take(count));
        for &at in &self.leaving {
            black_box(self.container.take(self.ids[at as usize]));
            self.absent.push_back(self.entities[at as usize]);
        }
        for &at in &self.leaving {
            if let Some(entity) = self.absent.pop_front() {
                self.ids[at as usize] = self.container.put(entity, Value::new(at as usize));
                self.entities[at as usize] = entity;
            }
        }
        self.next = (self.next + count) % self.order.len().max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::type_name;
    use std::time::Duration;

    fn whole<C: Container<Value<2>>>(utilisation: f64) {
        let model = Model::new(8, 1000, utilisation).unwrap();
        let (with, without) = population(&model);
        let mut subject = Subject::<C, 2>::new(&with, &without);
        for count in [0, 1, with.len() / 3, with.len()] {
            subject.replace(count);
            assert_eq!(subject.absent.len(), without.len());
            for at in 0..with.len() {
                assert!(subject.container.at(subject.ids[at]).is_some(), "{} {count}", type_name::<C>());
            }
            let mut seen = 0;
            subject.container.for_each(|_| seen += 1);
            assert_eq!(seen, with.len(), "{} {count}", type_name::<C>());
        }
    }

    #[test]
    fn replacing_keeps_every_container_whole() {
        for utilisation in [0.01, 0.5, 1.0] {
            whole::<PackedStore<_>>(utilisation);
            whole::<SlotStore<_>>(utilisation);
            whole::<SparseSet<_, _>>(utilisation);
            whole::<LinearStore<_, _>>(utilisation);
        }
    }

    #[test]
    fn every_layout_is_timed() {
        let effort = Effort { least: 1, most: 1, share: Duration::ZERO };
        let work = Work { access: Access::Mixed, churn: 0.1 };
        let trials = measure(&Model::new(12, 500, 0.4).unwrap(), work, effort);
        assert_eq!(trials.iter().map(|t| t.layout).collect::<Vec<_>>(), Layout::ALL);
        assert!(trials.iter().all(|t| t.time.median > 0.0 && t.time.runs == 1));
        assert!(measure(&Model::new(12, 500, 0.0).unwrap(), work, effort).is_empty());
    }
}
