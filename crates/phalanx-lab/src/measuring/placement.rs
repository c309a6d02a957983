//! One component in a table, in a pool and in a linear store: what each kind of work costs where.
//!
//! Three worlds differ in one line: where the component is kept that half of the entities have. Their rounds are
//! interleaved.

use crate::measuring::random::Random;
use crate::measuring::stats::{Summary, Verdict};
use crate::measuring::timing::{Effort, Run, interleave, time};
use phalanx::report::Placement;
use phalanx::{Component, Entity, World};
use serde::Serialize;
use std::cell::RefCell;
use std::hint::black_box;

/// The places that are compared, in the order of the columns.
pub(crate) const PLACES: [Placement; 3] = [Placement::Table, Placement::Pool, Placement::Linear];

/// A place in a sentence.
pub(crate) fn name(place: Placement) -> &'static str {
    if place == Placement::Linear { "linear store" } else { place.name() }
}

/// What a kind of work took in each place.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WorkTime {
    pub(crate) work: &'static str,
    /// What is divided by: an entity, a value, a look-up.
    pub(crate) per: &'static str,
    pub(crate) count: usize,
    /// Nanoseconds in a table, in a pool, in a linear store.
    pub(crate) table: Summary,
    pub(crate) pool: Summary,
    pub(crate) linear: Summary,
}

impl WorkTime {
    pub(crate) fn times(&self) -> [Summary; 3] {
        [self.table, self.pool, self.linear]
    }

    /// Returns the places that no other is quicker than, beyond the noise.
    pub(crate) fn quickest(&self) -> Vec<usize> {
        let times = self.times();
        let is_beaten = |at: usize| times.iter().any(|other| times[at].against(other).verdict == Verdict::Slower);
        (0..PLACES.len()).filter(|at| !is_beaten(*at)).collect()
    }
}

/// How many entities there are; every other one has the component.
pub(crate) const ENTITIES: usize = if cfg!(debug_assertions) { 4_000 } else { 100_000 };

#[derive(Component, Clone, Copy)]
struct Position([f32; 3]);
#[derive(Component, Clone, Copy)]
#[allow(dead_code, reason = "it moves with the row, but is never read")]
struct Velocity([f32; 3]);
#[derive(Component, Clone, Copy)]
#[allow(dead_code, reason = "it moves with the row, but is never read")]
struct Orientation([f32; 4]);
#[derive(Component, Clone, Copy)]
#[allow(dead_code, reason = "it moves with the row, but is never read")]
struct Skills([u32; 8]);
/// Makes two tables of them, as entities of a real world have several.
#[derive(Component, Clone, Copy)]
struct Armed;

/// What every entity has, in tables: what moves with a row.
type Body = (Position, Velocity, Orientation, Skills);

/// Bytes of it.
pub(crate) const BODY: usize = size_of::<Body>();

fn body(n: usize) -> Body {
    (Position([n as f32, 0.0, 0.0]), Velocity([1.0; 3]), Orientation([0.5; 4]), Skills([n as u32; 8]))
}

/// The component, in one of the places: what is left of a burn, and how hot it is.
trait Burn: Component {
    const PLACE: Placement;
    fn new(left: f32) -> Self;
    fn burn(world: &mut World) -> usize;
    fn move_on(world: &mut World) -> usize;
    fn look(world: &World, entities: &[Entity]) -> f32;
    fn follow(world: &World, entities: &[Entity]) -> usize;
}

macro_rules! burn {
    ($name:ident, $layout:literal, $place:expr) => {
        #[derive(Component, Clone, Copy)]
        #[component(layout = $layout)]
        struct $name {
            left: f32,
            heat: [f32; 3],
        }

        impl Burn for $name {
            const PLACE: Placement = $place;
            fn new(left: f32) -> Self {
                $name { left, heat: [1.0, 0.5, 0.25] }
            }
            fn burn(world: &mut World) -> usize {
                let mut count = 0;
                world.query_mut::<&mut $name>().for_each(|burn| {
                    burn.left -= 0.001 * burn.heat[0];
                    count += 1;
                });
                count
            }
            fn move_on(world: &mut World) -> usize {
                let mut count = 0;
                world.query_mut::<(&mut Position, &$name)>().for_each(|(position, burn)| {
                    position.0[1] += burn.heat[1] * burn.left;
                    count += 1;
                });
                count
            }
            fn look(world: &World, entities: &[Entity]) -> f32 {
                let burns = world.component::<$name>();
                entities.iter().filter_map(|entity| burns.get(*entity).ok()).map(|burn| burn.left).sum()
            }
            fn follow(world: &World, entities: &[Entity]) -> usize {
                let burns = world.component::<$name>();
                // A division would show up in the timings.
                let (mut at, mask) = (0, (entities.len() / 2 + 1).next_power_of_two() - 1);
                for _ in 0..entities.len() {
                    // Who is next is in the value, as it is with links between entities.
                    let step = burns.get(entities[at]).map_or(2, |burn| 1 + usize::from(burn.heat[2] > 1.0));
                    at = (at + step) & mask;
                }
                at
            }
        }
    };
}
burn!(InTable, "table", Placement::Table);
burn!(InPool, "pool", Placement::Pool);
burn!(InLinear, "linear", Placement::Linear);

/// A world, and who in it burns.
struct Stage {
    world: World,
    burning: Vec<Entity>,
    others: Vec<Entity>,
    random: Random,
}

fn stage<B: Burn>(entities: usize) -> Stage {
    let mut world = World::new();
    let (mut burning, mut others) = (Vec::new(), Vec::new());
    for n in 0..entities {
        let entity = if n % 5 == 0 { world.spawn((body(n), Armed)) } else { world.spawn(body(n)) };
        if n % 2 == 0 { &mut burning } else { &mut others }.push(entity);
    }
    // In no order, as in a world that has run for a while.
    let mut random = Random::new(5);
    random.shuffle(&mut burning);
    random.shuffle(&mut others);
    for entity in &burning {
        // It was made above.
        let _ = world.insert(*entity, B::new(1.0));
    }
    // Values lie in the order in which they were given: they are to be looked up in another.
    random.shuffle(&mut burning);
    Stage { world, burning, others, random }
}

/// Work: its name, what is divided by, and itself; it says how many of these there were, and the nanoseconds.
type Work = (&'static str, &'static str, fn(&mut Stage) -> (usize, f64));

fn works<B: Burn>() -> Vec<Work> {
    /// Who changes in a round.
    fn some(stage: &mut Stage) -> Vec<Entity> {
        stage.random.shuffle(&mut stage.others);
        stage.others[..stage.others.len() / 10].to_vec()
    }
    vec![
        ("inserting it", "entity", |stage| {
            let who = some(stage);
            let took = time(|| {
                for entity in &who {
                    let _ = stage.world.insert(*entity, B::new(1.0));
                }
            });
            for entity in &who {
                let _ = stage.world.remove::<B>(*entity);
            }
            (who.len(), took)
        }),
        ("removing it", "entity", |stage| {
            let who = some(stage);
            for entity in &who {
                let _ = stage.world.insert(*entity, B::new(1.0));
            }
            let took = time(|| {
                for entity in &who {
                    let _ = stage.world.remove::<B>(*entity);
                }
            });
            (who.len(), took)
        }),
        ("iterating over it alone", "value", |stage| {
            let mut count = 0;
            let took = time(|| count = B::burn(&mut stage.world));
            (count, took)
        }),
        ("iterating over it with a table", "value", |stage| {
            let mut count = 0;
            let took = time(|| count = B::move_on(&mut stage.world));
            (count, took)
        }),
        ("random access", "look-up", |stage| {
            let took = time(|| {
                black_box(B::look(&stage.world, &stage.burning));
            });
            (stage.burning.len(), took)
        }),
        ("following it through entities", "look-up", |stage| {
            let took = time(|| {
                black_box(B::follow(&stage.world, &stage.burning));
            });
            (stage.burning.len(), took)
        }),
        ("spawning entities with it", "entity", |stage| {
            let count = stage.burning.len() / 10;
            let mut made = Vec::with_capacity(count);
            let took = time(|| {
                for n in 0..count {
                    made.push(stage.world.spawn((body(n), B::new(1.0))));
                }
            });
            stage.world.despawn_batch(made.into_iter().rev());
            (count, took)
        }),
        ("despawning entities with it", "entity", |stage| {
            let count = stage.burning.len() / 10;
            let bundle = |n: usize| (body(n), B::new(1.0));
            let mut made: Vec<Entity> = (0..count).map(|n| stage.world.spawn(bundle(n))).collect();
            stage.random.shuffle(&mut made);
            let took = time(|| {
                stage.world.despawn_batch(made.iter().copied());
            });
            (count, took)
        }),
    ]
}

/// A world with its work and the samples, nanoseconds each.
struct Lab {
    stage: Stage,
    works: Vec<Work>,
    samples: Vec<Vec<f64>>,
    counts: Vec<usize>,
}

impl Lab {
    fn new<B: Burn>(entities: usize) -> Lab {
        debug_assert!(PLACES.contains(&B::PLACE));
        let works = works::<B>();
        Lab { stage: stage::<B>(entities), samples: vec![Vec::new(); works.len()], counts: vec![0; works.len()], works }
    }

    fn round(&mut self) -> f64 {
        for (at, (_, _, work)) in self.works.iter().enumerate() {
            let (count, took) = work(&mut self.stage);
            self.samples[at].push(took / count.max(1) as f64);
            self.counts[at] = count;
        }
        0.0
    }
}

/// Runs rounds of all three worlds in turns.
pub(crate) fn measure(entities: usize, effort: Effort, step: impl Fn()) -> Vec<WorkTime> {
    let labs = [Lab::new::<InTable>(entities), Lab::new::<InPool>(entities), Lab::new::<InLinear>(entities)];
    let labs = labs.map(RefCell::new);
    let mut rounds: Vec<Run<'_>> = Vec::new();
    for lab in &labs {
        let step = &step;
        rounds.push(Box::new(move || {
            step();
            lab.borrow_mut().round()
        }));
    }
    interleave(effort, &mut rounds);
    drop(rounds);
    let [table, pool, linear] = labs.map(RefCell::into_inner);
    let row = |at: usize, (work, per, _): &Work| {
        let [in_table, in_pool, in_linear] = [&table, &pool, &linear].map(|lab| Summary::of(&lab.samples[at]));
        let (table_time, pool, linear) = (in_table?, in_pool?, in_linear?);
        Some(WorkTime { work, per, count: table.counts[at], table: table_time, pool, linear })
    };
    table.works.iter().enumerate().filter_map(|(at, work)| row(at, work)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_place_does_the_same_work() {
        fn burnt<B: Burn>() -> (usize, f32) {
            let mut lab = Lab::new::<B>(1000);
            for _ in 0..3 {
                lab.round();
                lab.stage.world.validate().expect("a valid world");
                assert_eq!(lab.stage.world.len(), 1000);
            }
            (B::burn(&mut lab.stage.world), B::look(&lab.stage.world, &lab.stage.burning).round())
        }
        assert_eq!(burnt::<InTable>(), burnt::<InPool>());
        assert_eq!(burnt::<InTable>(), burnt::<InLinear>());
        assert_eq!(burnt::<InTable>().0, 500);
    }

    #[test]
    fn a_measurement_has_every_row() {
        let rows = measure(600, Effort { least: 2, most: 2, share: Duration::ZERO }, || {});
        assert_eq!(rows.len(), works::<InTable>().len());
        assert!(rows.iter().all(|row| row.count > 0 && row.times().iter().all(|time| time.runs == 2)));
    }
}
