//! What is left of discarded time: nothing in collectors and resources, and a report of who came and went. Compared with a model.

use crate::kit::{Burning, Position};
use phalanx::signal::Collector;
use phalanx::timeline::{Checkpoint, RollbackReport, Timeline, delta};
use phalanx::{Component, Entity, World};
use phalanx_testkit::Rng;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(plain)]
struct Flag;
#[derive(Clone, Debug, PartialEq)]
struct Turn(u32);
#[derive(Clone, Debug, PartialEq)]
struct Log(Vec<u32>);
#[derive(Debug, PartialEq)]
struct Free(u32);

/// An entity that something happened to, and a number that no other event has.
type Pending = Vec<(Entity, u32)>;

/// What the world should have beside its entities.
#[derive(Clone, Default)]
struct Model {
    turn: Option<u32>,
    log: Option<Vec<u32>>,
    free: u32,
    /// Of the collector of lives, and of the collector of flags.
    pending: [Pending; 2],
    events: u32,
}

impl Model {
    fn record(&mut self, collector: usize, entity: Entity) {
        self.events += 1;
        if self.pending[collector].iter().all(|(other, _)| *other != entity) {
            self.pending[collector].push((entity, self.events));
        }
    }

    /// Goes back: of what is pending, that remains which was pending then.
    fn roll_back(&mut self, then: &Model) {
        (self.turn, self.log) = (then.turn, then.log.clone());
        for (pending, then) in self.pending.iter_mut().zip(&then.pending) {
            pending.retain(|event| then.contains(event));
        }
    }
}

/// One operation on both.
fn act(world: &mut World, model: &mut Model, collectors: [Collector; 2], rng: &mut Rng) {
    let (n, len) = (rng.below(1000) as u32, world.len());
    let someone = world.iter().nth(rng.below(len.max(1)));
    match (rng.below(14), someone) {
        (0..3, _) | (_, None) => {
            let e = world.spawn(Position([n; 3]));
            model.record(0, e);
        }
        (3, _) => {
            let e = world.spawn((Flag, Burning(n)));
            model.record(0, e);
            model.record(1, e);
        }
        (4 | 5, Some(e)) => {
            if world.has::<Flag>(e) {
                model.record(1, e);
            }
            world.despawn(e).unwrap();
            model.record(0, e);
        }
        (6, Some(e)) => {
            world.insert(e, Flag).unwrap();
            model.record(1, e);
        }
        (7, Some(e)) => {
            if world.has::<Flag>(e) {
                model.record(1, e);
            }
            world.remove::<Flag>(e).unwrap();
        }
        (8, _) => {
            let old = world.insert_resource(Turn(n));
            assert_eq!(old.map(|turn| turn.0), model.turn.replace(n));
        }
        (9, _) => assert_eq!(world.remove_resource::<Turn>().ok().map(|turn| turn.0), model.turn.take()),
        (10, _) => {
            world.resources_mut().init(|_| Log(Vec::new())).0.push(n);
            model.log.get_or_insert_default().push(n);
        }
        (11, _) => assert_eq!(world.remove_resource::<Log>().ok().map(|log| log.0), model.log.take()),
        (12, _) => {
            world.insert_resource(Free(n));
            model.free = n;
        }
        (_, _) => check_drained(world, model, collectors, n as usize % 2),
    }
}

fn check_drained(world: &mut World, model: &mut Model, collectors: [Collector; 2], at: usize) {
    let expected: Vec<Entity> = model.pending[at].drain(..).map(|(entity, _)| entity).collect();
    assert_eq!(collectors[at].drain(world), expected);
}

fn check_resources(world: &World, model: &Model) {
    assert_eq!(world.resource::<Turn>().ok().map(|turn| turn.0), model.turn);
    assert_eq!(world.resource::<Log>().ok().map(|log| log.0.clone()), model.log);
    assert_eq!(world.resource::<Free>().map(|free| free.0), Ok(model.free));
}

/// The report of a way back, by comparing lists.
fn expected(before: &[Entity], after: &[Entity]) -> [Vec<Entity>; 2] {
    let missing = |of: &[Entity], other: &[Entity]| of.iter().filter(|e| !other.contains(e)).copied().collect();
    [missing(before, after), missing(after, before)]
}

/// Goes back, with or without a report.
fn go_back(world: &mut World, back: impl FnOnce(&mut World) -> RollbackReport) {
    let before: Vec<Entity> = world.iter().collect();
    let RollbackReport { removed, restored, .. } = back(world);
    let after: Vec<Entity> = world.iter().collect();
    assert_eq!([removed, restored], expected(&before, &after));
    world.validate().unwrap();
}

fn fresh() -> (World, [Collector; 2]) {
    let mut world = World::new();
    world.insert_resource(Free(0));
    world.resources_mut().keep::<Turn>();
    world.resources_mut().keep::<Log>();
    let lives = world.collector().spawned().despawned().build();
    let flags = world.collector().added::<Flag>().set::<Flag>().removed::<Flag>().build();
    (world, [lives, flags])
}

#[test]
fn resources_collectors_and_reports_are_those_of_a_model() {
    for seed in 0..60 {
        let (mut world, collectors) = fresh();
        let (mut model, mut rng) = (Model::default(), Rng::new(seed));
        let (mut timeline, mut frames) = (Timeline::new(5), Vec::<Model>::new());
        let mut checkpoints = Vec::<(Checkpoint, Model)>::new();
        for _ in 0..120 {
            match rng.below(12) {
                0 => checkpoints.push((world.checkpoint().unwrap(), model.clone())),
                1 if !checkpoints.is_empty() => {
                    let at = rng.below(checkpoints.len());
                    let (checkpoint, then) = &checkpoints[at];
                    if rng.chance(1, 2) {
                        world.rollback(checkpoint).unwrap();
                    } else {
                        go_back(&mut world, |world| world.rollback_with_report(checkpoint).unwrap());
                    }
                    model.roll_back(then);
                }
                2 => {
                    timeline.capture(&mut world).unwrap();
                    frames.push(model.clone());
                }
                3 if !frames.is_empty() => {
                    let back = rng.below(timeline.len() + 1);
                    if rng.chance(1, 2) {
                        timeline.rewind(&mut world, back).unwrap();
                    } else {
                        go_back(&mut world, |world| timeline.rewind_with_report(world, back).unwrap());
                    }
                    frames.truncate(frames.len() - back);
                    model.roll_back(frames.last().unwrap());
                }
                4 if !checkpoints.is_empty() => {
                    // To another state by a delta: collectors are emptied, resources stay.
                    let at = rng.below(checkpoints.len());
                    let bytes = delta(&world.checkpoint().unwrap(), &checkpoints[at].0).unwrap();
                    go_back(&mut world, |world| world.apply_delta_with_report(&bytes).unwrap());
                    model.pending = Default::default();
                }
                _ => (0..rng.below(6)).for_each(|_| act(&mut world, &mut model, collectors, &mut rng)),
            }
            check_resources(&world, &model);
        }
        (0..2).for_each(|at| check_drained(&mut world, &mut model, collectors, at));
    }
}

#[test]
fn what_was_pending_and_not_drained_remains_and_what_came_later_is_gone() {
    let (mut world, [lives, _]) = fresh();
    let [early, drained] = [world.spawn(Flag), world.spawn(Flag)];
    let before = world.checkpoint().unwrap();
    let late = world.spawn(Flag);
    world.despawn(early).unwrap();
    let later = world.collector().spawned().build();
    let _last = world.spawn(Flag);
    world.rollback(&before).unwrap();
    assert_eq!((lives.drain(&mut world), later.drain(&mut world)), (vec![early, drained], vec![]));
    // What was drained since does not come back, and what is made again is new.
    assert_eq!(world.spawn(Flag), late);
    assert_eq!((lives.drain(&mut world), later.drain(&mut world)), (vec![late], vec![late]));
    world.spawn(Flag);
    world.rollback(&before).unwrap();
    assert_eq!((lives.drain(&mut world), later.drain(&mut world)), (vec![], vec![]));
    world.validate().unwrap();
}

#[test]
fn a_collector_made_anew_does_not_remember_an_older_one() {
    let (mut world, collectors) = fresh();
    (0..10).for_each(|_| _ = world.spawn(Flag));
    let before = world.checkpoint().unwrap();
    assert!(collectors.into_iter().all(|collector| collector.remove(&mut world)));
    let again = world.collector().spawned().build();
    world.spawn(Flag);
    world.rollback(&before).unwrap();
    assert_eq!(again.drain(&mut world), []);
}

#[test]
fn a_report_names_both_of_one_slot() {
    let mut world = World::new();
    let old = world.spawn(Flag);
    let before = world.checkpoint().unwrap();
    world.despawn(old).unwrap();
    let [new, other] = [world.spawn(Flag), world.spawn(Flag)];
    assert_eq!(new.index(), old.index());
    let report = world.rollback_with_report(&before).unwrap();
    assert_eq!((report.removed, report.restored), (vec![new, other], vec![old]));
    let report = world.rollback_with_report(&before).unwrap();
    assert_eq!(report, RollbackReport::default());
}

#[test]
fn a_frame_that_runs_again_sees_the_same_changes() {
    use phalanx::{Changed, QueryState};
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(track = "row", plain)]
    struct Hurt(u32);

    let mut world = World::new();
    let all: Vec<_> = (0..50).map(|n| world.spawn(Hurt(n))).collect();
    let mut often = QueryState::<Entity, Changed<Hurt>>::new();
    let mut seldom = QueryState::<Entity, Changed<Hurt>>::new();
    let mut timeline = Timeline::new(16);
    let mut frame = |world: &mut World, n: usize| {
        world.get_mut::<Hurt>(all[n * 7 % 50]).unwrap().0 += 1;
        let mut seen: Vec<_> = often.iter(world).collect();
        world.get_mut::<Hurt>(all[n * 3 % 50]).unwrap().0 += 1;
        seen.extend(often.iter(world));
        if n.is_multiple_of(5) {
            seen.extend(seldom.iter(world));
        }
        seen
    };
    let mut first = Vec::new();
    timeline.capture(&mut world).unwrap();
    for n in 0..60 {
        first.push(frame(&mut world, n));
        timeline.capture(&mut world).unwrap();
        let back = (n * 5 % 12).min(n);
        timeline.rewind(&mut world, back + 1).unwrap();
        for (again, seen) in first.iter().enumerate().skip(n - back) {
            assert_eq!(frame(&mut world, again), *seen, "frame {again}, {back} back from {n}");
            timeline.capture(&mut world).unwrap();
        }
    }
}
