//! Random sequences of operations against a model, with destructors, predicates and allocations failing on the way.

use crate::cases::{Driven, for_each_store};
use phalanx_store::{Key, Rejection};
use phalanx_testkit::{Counted, Rng, Site, Tally, catch, fail_nth};
use std::collections::{BTreeMap, HashSet};

/// A key for a keyed container: near, in the reach of a window, or far away, of one of a few generations.
fn some_bits(rng: &mut Rng, sparse: bool) -> u64 {
    let near = rng.below(40) as u64;
    let index = match rng.below(8) {
        0 if sparse => 3_000_000_000 + near * 5000,
        1 if sparse => 4000 + near * 60,
        2 => 100 + near * 3,
        _ => near,
    };
    (rng.below(4) as u64) << 32 | index
}

/// Runs one operation, and changes the model to what must hold if nothing panics.
fn step<S: Driven>(store: &mut S, model: &mut BTreeMap<S::Key, u32>, rng: &mut Rng, tally: &Tally) {
    let known: Vec<S::Key> = model.keys().copied().collect();
    let key = rng.pick(&known).copied().or_else(|| S::key(0)).unwrap();
    match rng.below(16) {
        0..=5 => {
            let (bits, number) = (some_bits(rng, S::SPARSE), tally.made());
            let outcome = match rng.chance(1, 5) {
                true => fail_nth(1 + rng.below(3) as u64, || store.try_put(bits, tally.value(number))),
                false => (store.try_put(bits, tally.value(number)), false),
            };
            let same = |other: &S::Key| S::KEYED && other.index() == bits as u32;
            match outcome {
                (Ok(key), _) => {
                    model.retain(|other, _| !same(other));
                    model.insert(key, number);
                }
                (Err(rejected), refused) => match rejected.reason {
                    Rejection::Stale(stale) => assert!(known.iter().any(|other| {
                        same(other) && other.generation() == stale.present && stale.present > stale.generation
                    })),
                    reason => assert!(refused, "{reason}"),
                },
            }
        }
        6 => drop(store.remove(key).inspect(|value| assert_eq!(model.remove(&key), Some(value.key())))),
        7 | 8 => assert_eq!(store.leave_hole(key), model.remove(&key).is_some()),
        9 => store.tidy(rng.below(6)),
        10 => {
            let (way, part) = (rng.below(50), rng.below(5));
            if way.is_multiple_of(5) {
                model.remove(&key);
            }
            store.rearrange(way, key);
            store.tidy(part);
        }
        11 => {
            let keep: HashSet<S::Key> = known.iter().filter(|_| rng.chance(3, 4)).copied().collect();
            model.retain(|key, _| keep.contains(key));
            store.retain(|key, _| {
                tally.callback();
                keep.contains(&key)
            });
        }
        12 => {
            store.shrink();
            if rng.chance(1, 3) {
                *store = store.try_copy().unwrap();
            }
        }
        13 => {
            if let Some(old) = store.replace(key, tally.value(tally.made())) {
                assert_eq!(model.insert(key, store.get(key).unwrap().key()), Some(old.key()));
            }
        }
        14 => {
            let mut drain = store.drain();
            for _ in 0..rng.below(4) {
                let Some((key, value)) = drain.next() else { break };
                assert_eq!(model.remove(&key), Some(value.key()));
            }
            match rng.chance(2, 3) {
                true => std::mem::forget(drain),
                false => {
                    model.clear();
                    drop(drain);
                }
            }
        }
        _ if rng.chance(1, 4) => {
            model.clear();
            store.clear();
        }
        _ => {
            let (_, refused) = fail_nth(1, || store.try_reserve(50).is_err());
            let _ = refused;
        }
    }
}

#[test]
fn h15_random_mixes_with_panics_keep_every_invariant() {
    fn run<S: Driven>(seeds: u64) {
        for seed in 0..seeds {
            let mut rng = Rng::new(seed);
            let tally = Tally::new();
            let (mut store, mut model) = (S::default(), BTreeMap::new());
            let mut ever = HashSet::new();
            for turn in 0..250 {
                let before: HashSet<S::Key> = model.keys().copied().collect();
                if rng.chance(1, 5) {
                    tally.arm([Site::Drop, Site::Callback][rng.below(2)], 1 + rng.below(4) as u64);
                }
                let outcome = catch(|| step(&mut store, &mut model, &mut rng, &tally));
                let fired = [Site::Drop, Site::Callback].map(|site| tally.disarm(site)).contains(&true);
                if let Err(caught) = outcome {
                    if caught.injected().is_none() {
                        eprintln!("{}, seed {seed}, turn {turn}: {caught:?}", S::NAME);
                        caught.resume();
                    }
                    // Whatever was under way is done for some values and not for others.
                    model = store.iter().map(|(key, value)| (key, value.key())).collect();
                }
                store.validate().unwrap_or_else(|fault| panic!("{}, seed {seed}, turn {turn}: {fault}", S::NAME));
                let found: BTreeMap<S::Key, u32> = store.iter().map(|(key, value)| (key, value.key())).collect();
                assert_eq!(found, model, "{}, seed {seed}, turn {turn}, panic: {fired}", S::NAME);
                assert_eq!(u64::from(tally.live()), store.len() as u64, "{}, seed {seed}, turn {turn}", S::NAME);
                for key in store.keys().filter(|key| !before.contains(key)) {
                    assert!(ever.insert(key) || S::KEYED, "{}: {key:?} came twice", S::NAME);
                }
                assert!(before.iter().all(|key| store.get(*key).map(Counted::key) == found.get(key).copied()));
            }
            drop(store);
            tally.assert_no_leaks();
        }
    }
    let seeds = if cfg!(phalanx_plain_alloc) { 12 } else { 60 };
    for_each_store!(run::<Counted>(seeds));
}
