//! Operations, how they are made up, and what is checked after each.

use super::kinds::{KINDS, Pile, Plain, Single, Spin, Text, Value, piles, singles};
use super::naive::{Naive, given, mask};
use super::queries::{Case, cases, check_chunks};
use phalanx::{Entity, StructuralError, World};
use phalanx_testkit::{Rng, Tally, catch, measure_zst};

/// An operation. Who it is done to is a number, taken modulo everyone that there was.
#[derive(Clone, Copy, Debug)]
enum Op {
    Spawn { pile: usize, key: u32 },
    TrySpawn { pile: usize, key: u32 },
    Batch { pile: usize, key: u32, count: u32 },
    Spawner { pile: usize, key: u32, count: u32 },
    Insert { who: usize, pile: usize, key: u32 },
    Remove { who: usize, pile: usize },
    Take { who: usize, pile: usize },
    Replace { who: usize, number: usize, key: u32 },
    Write { who: usize, key: u32 },
    WriteAll { add: u32 },
    Despawn { who: usize },
    DespawnBatch { who: usize, count: usize },
    Reserve { count: usize },
    Clear,
}

fn any_op(rng: &mut Rng, piles: usize) -> Op {
    let (who, pile, key) = (rng.below(1 << 20), rng.below(piles), rng.below(1 << 16) as u32);
    match rng.below(100) {
        0..14 => Op::Spawn { pile, key },
        14..17 => Op::TrySpawn { pile, key },
        17..23 => Op::Batch { pile, key, count: rng.below(6) as u32 },
        23..28 => Op::Spawner { pile, key, count: rng.below(20) as u32 },
        28..50 => Op::Insert { who, pile, key },
        50..62 => Op::Remove { who, pile },
        62..70 => Op::Take { who, pile },
        70..76 => Op::Replace { who, number: rng.below(KINDS), key },
        76..79 => Op::Write { who, key },
        79..82 => Op::WriteAll { add: rng.below(5) as u32 },
        82..92 => Op::Despawn { who },
        92..94 => Op::DespawnBatch { who, count: rng.below(8) },
        94..99 => Op::Reserve { count: rng.below(4) },
        _ => Op::Clear,
    }
}

/// A world beside its model.
struct Pair<'t> {
    world: World,
    naive: Naive,
    tally: &'t Tally,
    piles: Vec<Pile>,
    singles: [Single; KINDS],
    cases: Vec<Case>,
}

impl<'t> Pair<'t> {
    fn new(tally: &'t Tally) -> Self {
        Pair { world: World::new(), naive: Naive::new(), tally, piles: piles(), singles: singles(), cases: cases() }
    }

    /// Mostly one that is alive.
    fn pick(&self, who: usize) -> Option<Entity> {
        let (alive, all) = (self.naive.order(), &self.naive.all);
        match who % 8 {
            0 => all.get(who / 8 % all.len().max(1)).copied(),
            _ => alive.get(who / 8 % alive.len().max(1)).copied(),
        }
    }

    fn spawned(&mut self, e: Entity, pile: usize, key: u32) {
        let mut values = [None; KINDS];
        given(&self.piles[pile].numbers, &self.singles, key, &mut values);
        self.naive.add(e, values);
    }

    fn step(&mut self, op: Op) {
        let tally = self.tally;
        match op {
            Op::Spawn { pile, key } | Op::TrySpawn { pile, key } => {
                let kit = &self.piles[pile];
                self.naive.flush();
                let e = match op {
                    Op::Spawn { .. } => (kit.spawn)(&mut self.world, tally, key),
                    _ => (kit.try_spawn)(&mut self.world, tally, key).unwrap(),
                };
                self.spawned(e, pile, key);
            }
            Op::Batch { pile, key, count } | Op::Spawner { pile, key, count } => {
                let kit = &self.piles[pile];
                let made = match op {
                    Op::Batch { .. } => {
                        self.naive.flush();
                        (kit.batch)(&mut self.world, tally, key, count)
                    }
                    _ => (kit.spawner)(&mut self.world, tally, key, count),
                };
                if count > 0 {
                    self.naive.flush();
                }
                assert_eq!(made.len(), count as usize);
                for (at, e) in made.into_iter().enumerate() {
                    self.spawned(e, pile, key + at as u32);
                }
            }
            Op::Insert { who, pile, key } => {
                let Some(e) = self.pick(who) else { return };
                let (kit, singles) = (&self.piles[pile], &self.singles);
                let outcome = (kit.insert)(&mut self.world, e, tally, key);
                self.naive.flush();
                assert_eq!(outcome.is_ok(), self.naive.values.contains_key(&e), "{e}");
                if outcome.is_ok() {
                    self.naive.change(e, |values| given(&kit.numbers, singles, key, values));
                }
            }
            Op::Remove { who, pile } => {
                let Some(e) = self.pick(who) else { return };
                let kit = &self.piles[pile];
                let outcome = (kit.remove)(&mut self.world, e);
                let gone = mask(&kit.numbers);
                self.naive.flush();
                assert_eq!(outcome.ok(), self.naive.mask_of(e).map(|had| had & gone != 0), "{e}");
                if self.naive.values.contains_key(&e) {
                    self.naive.change(e, |values| kit.numbers.iter().for_each(|n| values[*n] = None));
                }
            }
            Op::Take { who, pile } => {
                let Some(e) = self.pick(who) else { return };
                let kit = &self.piles[pile];
                let outcome = (kit.take)(&mut self.world, e);
                self.naive.flush();
                let had: Option<Option<Vec<u32>>> =
                    self.naive.values.get(&e).map(|values| kit.numbers.iter().map(|n| values[*n]).collect());
                match had {
                    None => assert!(matches!(outcome, Err(StructuralError::NoSuchEntity(error)) if error.entity == e)),
                    Some(None) => {
                        let Err(StructuralError::Missing { entity, component }) = outcome else {
                            panic!("{outcome:?}")
                        };
                        let missing = |n: &&usize| self.naive.values[&e][**n].is_none();
                        let first = kit.numbers.iter().find(missing).unwrap();
                        assert_eq!((entity, component), (e, self.singles[*first].name));
                    }
                    Some(Some(keys)) => {
                        assert_eq!(outcome, Ok(keys));
                        self.naive.change(e, |values| kit.numbers.iter().for_each(|n| values[*n] = None));
                    }
                }
            }
            Op::Replace { who, number, key } => {
                let Some(e) = self.pick(who) else { return };
                let single = &self.singles[number];
                let outcome = (single.replace)(&mut self.world, e, tally, key).ok();
                self.naive.flush();
                let place = self.naive.values.get_mut(&e).and_then(|values| values[number].as_mut());
                assert_eq!(outcome, place.map(|place| core::mem::replace(place, (single.kept)(key))));
            }
            Op::Write { who, key } => {
                let Some(e) = self.pick(who) else { return };
                let mut none = [None; KINDS];
                let values = self.naive.values.get_mut(&e).unwrap_or(&mut none);
                assert_eq!(self.world.get_mut::<Plain>(e).map(|p| p.0 = key).is_ok(), values[0].is_some());
                let mut view = self.world.component_mut::<Value>();
                assert_eq!(view.get(e).ok().map(|v| v.0.key()), values[4]);
                assert_eq!(view.get_mut(e).map(|v| v.0.set_key(key)).is_ok(), values[4].is_some());
                let spin = self.world.get_mut::<Spin>(e).map(|spin| {
                    (*spin.axis, *spin.speed, *spin.on) = (key as u8, key.into(), key % 2 == 1);
                });
                assert_eq!(spin.is_ok(), values[7].is_some());
                for number in [0, 4, 7] {
                    values[number] = values[number].map(|_| key);
                }
            }
            Op::WriteAll { add } => {
                let query = self.world.query_mut::<(&mut Plain, Option<&mut Text>)>();
                query.for_each(|(plain, text)| {
                    plain.0 += add;
                    if let Some(text) = text {
                        text.0 = plain.0.to_string();
                    }
                });
                for values in self.naive.values.values_mut() {
                    if let Some(plain) = &mut values[0] {
                        *plain += add;
                        let sum = *plain;
                        values[1] = values[1].map(|_| sum);
                    }
                }
            }
            Op::Despawn { who } => {
                let Some(e) = self.pick(who) else { return };
                self.naive.flush();
                let alive = self.naive.values.contains_key(&e);
                assert_eq!(self.world.despawn(e).is_ok(), alive);
                if alive {
                    self.naive.remove(e);
                }
            }
            Op::DespawnBatch { who, count } => {
                let batch: Vec<Entity> = (0..count).filter_map(|n| self.pick(who + n * 3)).collect();
                let ended = self.world.despawn_batch(batch.iter().copied());
                self.naive.flush();
                let before = self.naive.values.len();
                for e in batch {
                    if self.naive.values.contains_key(&e) {
                        self.naive.remove(e);
                    }
                }
                assert_eq!(ended, before - self.naive.values.len());
            }
            Op::Reserve { count } => {
                for _ in 0..count {
                    let e = self.world.reserve_entity();
                    assert!(!self.naive.all.contains(&e), "{e} comes a second time");
                    self.naive.all.push(e);
                    self.naive.reserved.push(e);
                }
            }
            Op::Clear => {
                self.world.clear();
                self.naive.clear();
            }
        }
    }

    fn check(&mut self, way: usize) {
        let Pair { world, naive, .. } = self;
        world.validate().unwrap();
        assert_eq!((world.len(), world.is_empty()), (naive.values.len(), naive.values.is_empty()));
        assert!(world.iter().eq({
            let mut all: Vec<Entity> = naive.values.keys().copied().collect();
            all.sort_by_key(|e| e.index());
            all
        }));
        for e in &naive.all {
            let values = naive.values.get(e);
            assert_eq!(world.contains(*e), values.is_some(), "{e}");
            let Some(values) = values else {
                assert!(
                    world.entity(*e).map(|entity| entity.component_names()).is_err()
                        && (self.singles[way % KINDS].get)(world, *e).is_err()
                );
                continue;
            };
            for (single, value) in self.singles.iter().zip(values) {
                assert_eq!((single.get)(world, *e).ok(), *value, "{} of {e}", single.name);
                assert_eq!((single.view)(world, *e).ok(), *value);
                assert_eq!((single.has)(world, *e), value.is_some());
            }
            let mut names: Vec<&str> = world.entity(*e).unwrap().component_names().collect();
            names.sort_unstable();
            let has = self.singles.iter().zip(values).filter(|(_, value)| value.is_some());
            let mut wanted: Vec<&str> = has.map(|(single, _)| single.name).collect();
            wanted.sort_unstable();
            assert_eq!(names, wanted);
        }
        let counted = naive.values.values().flat_map(|values| [values[4], values[6]]).flatten().count();
        assert_eq!(self.tally.live() as usize, counted, "values that are alive");
        for case in &mut self.cases {
            case.check(world, naive, way);
        }
        check_chunks(world, naive);
    }
}

/// Runs a sequence; drops everything and checks that it ended.
fn run(ops: &[Op]) {
    let ((), usage) = measure_zst(|| {
        let tally = Tally::new();
        let mut pair = Pair::new(&tally);
        for (way, op) in ops.iter().enumerate() {
            pair.step(*op);
            pair.check(way);
        }
        drop(pair);
        tally.assert_no_leaks();
    });
    assert_eq!((usage.made, usage.misaligned), (usage.dropped, 0), "values without size end once, aligned");
}

fn sequence(seed: u64, steps: usize) -> Vec<Op> {
    let (mut rng, piles) = (Rng::new(seed), piles().len());
    (0..steps).map(|_| any_op(&mut rng, piles)).collect()
}

/// The order of everyone after a sequence, without any check.
pub fn order_after(seed: u64) -> Vec<Entity> {
    let tally = Tally::new();
    let mut pair = Pair::new(&tally);
    sequence(seed, 200).into_iter().for_each(|op| pair.step(op));
    pair.world.query::<Entity>().iter().collect()
}

fn fails(ops: &[Op]) -> bool {
    catch(|| run(ops)).is_err()
}

/// Leaves out whatever is not needed to fail.
fn shrink(mut ops: Vec<Op>) -> Vec<Op> {
    let mut size = ops.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < ops.len() {
            let mut fewer = ops.clone();
            fewer.drain(at..(at + size).min(ops.len()));
            if fails(&fewer) {
                ops = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    ops
}

/// Runs `cases` sequences of `steps` steps.
pub fn explore(cases: u64, steps: usize, first: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("PHALANX_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("PHALANX_CASES").unwrap_or(cases),
    };
    for seed in seeds {
        let ops = sequence(seed, steps);
        if fails(&ops) {
            let ops = shrink(ops);
            eprintln!("PHALANX_SEED={seed} fails after {} steps:\n{ops:#?}", ops.len());
            run(&ops);
            panic!("seed {seed} failed, and then did not");
        }
    }
}
