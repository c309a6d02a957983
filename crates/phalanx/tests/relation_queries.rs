//! Terms and filters of relations, against a naive model over random forests; and what queries with them declare and refuse.

use phalanx::executor::ThreadPool;
use phalanx::query::{Access, AllRows, Filtered, Or, PlanDriver, QueryState, SingleError};
use phalanx::relation::{ChildOf, Depth, HasRelation, IsLeaf, IsRoot, Related, Relations, Up, WithUp, WithoutUp};
use phalanx::system::{AccessKey, IntoSystem, System};
use phalanx::timeline::Timeline;
use phalanx::{
    Changed, Component, ComponentError, Entity, Has, Key, Query, QueryData, Relation, Role, SystemParam, With, Without,
    World,
};
use phalanx_testkit::{Rng, panics_here};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone)]
struct T(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone, layout = "pool")]
struct P(u32);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(clone, layout = "soa")]
struct S {
    number: u32,
    half: u8,
}
#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone, layout = "linear")]
struct L(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(clone, track = "row")]
struct Hot(u32);

#[derive(Relation)]
struct Likes;
#[derive(Relation)]
#[relation(one_to_one)]
struct Docked;

const TABLE: usize = 0;
const POOL: usize = 1;
const SOA: usize = 2;
const LINEAR: usize = 3;

/// An entity of the model: its values, and its links in `ChildOf` and `Likes`.
#[derive(Clone, Default)]
struct Node {
    values: [Option<u32>; 4],
    parent: Option<Entity>,
    children: Vec<Entity>,
    likes: Option<Entity>,
}

#[derive(Clone, Default)]
struct Model {
    nodes: BTreeMap<Entity, Node>,
}

impl Model {
    fn value(&self, entity: Option<Entity>, kind: usize) -> Option<u32> {
        self.nodes[&entity?].values[kind]
    }

    fn has(&self, entity: Entity, kind: usize) -> bool {
        self.nodes[&entity].values[kind].is_some()
    }

    fn parent(&self, entity: Entity) -> Option<Entity> {
        self.nodes[&entity].parent
    }

    fn likes(&self, entity: Entity) -> Option<Entity> {
        self.nodes[&entity].likes
    }

    fn above(&self, entity: Entity) -> impl Iterator<Item = Entity> {
        std::iter::successors(self.parent(entity), |above| self.parent(*above))
    }

    /// The value of the nearest ancestor that has one.
    fn up(&self, entity: Entity, kind: usize) -> Option<u32> {
        self.above(entity).find_map(|above| self.value(Some(above), kind))
    }

    fn unparent(&mut self, child: Entity) {
        if let Some(parent) = self.nodes.get_mut(&child).unwrap().parent.take() {
            self.nodes.get_mut(&parent).unwrap().children.retain(|other| *other != child);
        }
    }

    fn set_parent(&mut self, child: Entity, parent: Entity) {
        if self.parent(child) != Some(parent) {
            self.unparent(child);
            self.nodes.get_mut(&child).unwrap().parent = Some(parent);
            self.nodes.get_mut(&parent).unwrap().children.push(child);
        }
    }

    fn despawn(&mut self, entity: Entity) {
        self.unparent(entity);
        let mut left = vec![entity];
        while let Some(entity) = left.pop() {
            left.extend(self.nodes.remove(&entity).unwrap().children);
            self.nodes.values_mut().filter(|node| node.likes == Some(entity)).for_each(|node| node.likes = None);
        }
    }
}

type Found = Vec<(Entity, String)>;
/// Finds the items in one of several ways.
type Run = Box<dyn FnMut(&mut World, usize) -> Found>;

/// A query, in states that are kept over all worlds, and what it is expected to find of an entity.
struct Case {
    name: &'static str,
    run: Run,
    get: fn(&mut World, Entity) -> Option<String>,
    expected: fn(&Model, Entity) -> Option<String>,
}

/// Runs queries on another thread too.
static POOL_OF_TWO: std::sync::LazyLock<ThreadPool> = std::sync::LazyLock::new(|| ThreadPool::new(2));

const WAYS: usize = 8;

macro_rules! case {
    ($data:ty, $filter:ty, |$item:pat_param| $text:expr, |$model:ident, $entity:ident| $expected:expr) => {{
        fn text(($entity, $item): <(Entity, $data) as QueryData>::Item<'_>) -> (Entity, String) {
            ($entity, format!("{:?}", $text))
        }
        fn system(mut query: Query<(Entity, $data), $filter>) -> Found {
            query.iter_mut().map(text).collect()
        }
        let mut kept = QueryState::<(Entity, $data), $filter>::new();
        let mut system = system.into_system();
        Case {
            name: stringify!($data, $filter),
            run: Box::new(move |world, way| {
                let mut found = Vec::new();
                match way {
                    0 => found.extend(world.query_filtered_mut::<(Entity, $data), $filter>().into_iter().map(text)),
                    1 => found.extend(kept.iter_mut(world).map(text)),
                    2 => kept.query_mut(world).for_each(|item| found.push(text(item))),
                    3 => {
                        let mut query = world.query_filtered_mut::<(Entity, $data), $filter>();
                        let len = query.len();
                        assert_eq!(query.is_empty(), len == 0);
                        let mut iter = query.iter_mut();
                        found.extend(iter.by_ref().take(len / 2).map(text));
                        assert!(iter.size_hint().1.unwrap() >= len - len / 2);
                        iter.for_each(|item| found.push(text(item)));
                    }
                    4 => found = world.run_system(&mut system),
                    5 => {
                        let all = Mutex::new(Vec::new());
                        let query = world.query_filtered_mut::<(Entity, $data), $filter>();
                        query.par_for_each_by_on(&*POOL_OF_TWO, 3, |item| all.lock().unwrap().push(text(item)));
                        let all: BTreeMap<_, _> = all.into_inner().unwrap().into_iter().collect();
                        // In the order of the query, as the others.
                        let order: Vec<Entity> = kept.iter_mut(world).map(|(entity, _)| entity).collect();
                        assert_eq!(order.len(), all.len());
                        found.extend(order.into_iter().map(|entity| (entity, all[&entity].clone())));
                    }
                    6 => {
                        let mut sets = 0;
                        kept.query_mut(world).for_each_combination_mut(|[a, b]| {
                            assert_ne!(text(a).0, text(b).0);
                            sets += 1;
                        });
                        let len = kept.len(world);
                        assert_eq!(sets, len * len.saturating_sub(1) / 2);
                        found.extend(kept.iter_mut(world).map(text));
                    }
                    _ => {
                        let mut query = kept.query_mut(world);
                        let len = query.len();
                        match query.single_mut() {
                            Ok(item) => found.push(text(item)),
                            Err(SingleError::None { .. }) => assert_eq!(len, 0),
                            Err(SingleError::Several { count, .. }) => {
                                assert_eq!((count, len > 1), (len, true));
                                found.extend(query.iter_mut().map(text));
                            }
                        }
                    }
                }
                found
            }),
            get: |world, entity| {
                let mut query = world.query_filtered_mut::<(Entity, $data), $filter>();
                let contains = query.contains(entity);
                let found = match query.get_mut(entity) {
                    Ok(item) => Some(text(item).1),
                    Err(error) => {
                        assert!(!matches!(error, ComponentError::NoSuchEntity(_)));
                        None
                    }
                };
                assert_eq!(contains, found.is_some());
                let mut fresh = QueryState::<(Entity, $data), $filter>::new();
                assert_eq!(fresh.get_mut(world, entity).ok().map(|item| text(item).1), found);
                found
            },
            expected: |$model, $entity| $expected.map(|value| format!("{value:?}")),
        }
    }};
}

/// An item that matches any entity that passes the filter.
macro_rules! filter {
    ($filter:ty, |$model:ident, $entity:ident| $passes:expr) => {
        case!(Has<T>, $filter, |has| has, |$model, $entity| ($passes).then(|| $model.has($entity, TABLE)))
    };
}

fn cases() -> Vec<Case> {
    vec![
        case!(Related<ChildOf, &T>, (), |t| t.0, |m, e| m.value(m.parent(e), TABLE)),
        case!(Related<ChildOf, &P>, (), |p| p.0, |m, e| m.value(m.parent(e), POOL)),
        case!(Related<ChildOf, &S>, (), |s| s.number, |m, e| m.value(m.parent(e), SOA)),
        case!(Related<ChildOf, &L>, (), |l| l.0, |m, e| m.value(m.parent(e), LINEAR)),
        case!((&P, Related<Likes, &T>), (), |(p, t)| (p.0, t.0), |m, e| {
            Option::zip(m.value(Some(e), POOL), m.value(m.likes(e), TABLE))
        }),
        case!((&T, Related<ChildOf, (Entity, Option<&P>)>), (), |(t, (on, p))| (t.0, on, p.map(|p| p.0)), |m, e| {
            m.parent(e).and_then(|on| Some((m.value(Some(e), TABLE)?, on, m.value(Some(on), POOL))))
        }),
        case!(Option<Related<Likes, &L>>, (), |l| l.map(|l| l.0), |m, e| Some(m.value(m.likes(e), LINEAR))),
        case!(Related<Likes, Entity>, (), |on| on, |m, e| m.likes(e)),
        case!(Related<ChildOf, Related<ChildOf, Entity>>, (), |on| on, |m, e| m.above(e).nth(1)),
        case!(Related<Likes, Up<ChildOf, &T>>, (), |t| t.0, |m, e| m.likes(e).and_then(|on| m.up(on, TABLE))),
        case!(Up<ChildOf, &T>, (), |t| t.0, |m, e| m.up(e, TABLE)),
        case!(Up<ChildOf, &P>, (), |p| p.0, |m, e| m.up(e, POOL)),
        case!(Up<ChildOf, &S>, (), |s| s.number, |m, e| m.up(e, SOA)),
        case!(Up<ChildOf, &L>, (), |l| l.0, |m, e| m.up(e, LINEAR)),
        case!((&L, Up<ChildOf, &P>), With<T>, |(l, p)| (l.0, p.0), |m, e| {
            Option::zip(m.value(Some(e), LINEAR), m.up(e, POOL)).filter(|_| m.has(e, TABLE))
        }),
        case!(Option<Up<ChildOf, (&T, &L)>>, (), |found| found.map(|(t, l)| (t.0, l.0)), |m, e| {
            let both = |above| Option::zip(m.value(Some(above), TABLE), m.value(Some(above), LINEAR));
            Some(m.above(e).find_map(both))
        }),
        case!(Up<ChildOf, Filtered<&P, Without<T>>>, (), |p| p.0, |m, e| {
            m.above(e).filter(|above| !m.has(*above, TABLE)).find_map(|above| m.value(Some(above), POOL))
        }),
        case!(Up<ChildOf, Entity>, (), |on| on, |m, e| m.parent(e)),
        case!(Depth<ChildOf>, (), |depth| depth, |m, e| Some(m.above(e).count())),
        case!((&mut L, Depth<ChildOf>), (), |(l, depth)| (l.0, depth), |m, e| {
            m.value(Some(e), LINEAR).map(|l| (l, m.above(e).count()))
        }),
        case!((&mut P, Related<ChildOf, &T>, &mut S), (), |(p, t, s)| (p.0, t.0, *s.number), |m, e| {
            Option::zip(Option::zip(m.value(Some(e), POOL), m.value(m.parent(e), TABLE)), m.value(Some(e), SOA))
                .map(|((p, t), s)| (p, t, s))
        }),
        case!(Or<(Related<ChildOf, &T>, Up<ChildOf, &P>)>, (), |(t, p)| (t.map(|t| t.0), p.map(|p| p.0)), |m, e| {
            let found = (m.value(m.parent(e), TABLE), m.up(e, POOL));
            (found != (None, None)).then_some(found)
        }),
        filter!(IsRoot<ChildOf>, |m, e| m.parent(e).is_none()),
        filter!(IsRoot<Likes>, |m, e| m.likes(e).is_none()),
        filter!(IsLeaf<ChildOf>, |m, e| m.nodes[&e].children.is_empty()),
        filter!(IsLeaf<Likes>, |m, e| m.nodes.values().all(|other| other.likes != Some(e))),
        filter!(HasRelation<ChildOf>, |m, e| m.parent(e).is_some()),
        filter!(HasRelation<Likes>, |m, e| m.likes(e).is_some()),
        filter!(WithUp<ChildOf, T>, |m, e| m.up(e, TABLE).is_some()),
        filter!(WithUp<ChildOf, P>, |m, e| m.up(e, POOL).is_some()),
        filter!(WithUp<ChildOf, S>, |m, e| m.up(e, SOA).is_some()),
        filter!(WithUp<ChildOf, L>, |m, e| m.up(e, LINEAR).is_some()),
        filter!(WithoutUp<ChildOf, S>, |m, e| m.up(e, SOA).is_none()),
        filter!(WithoutUp<ChildOf, P>, |m, e| m.up(e, POOL).is_none()),
        filter!((With<T>, Without<P>, IsLeaf<ChildOf>), |m, e| {
            m.has(e, TABLE) && !m.has(e, POOL) && m.nodes[&e].children.is_empty()
        }),
        filter!(Or<(IsRoot<ChildOf>, WithUp<ChildOf, P>)>, |m, e| m.parent(e).is_none() || m.up(e, POOL).is_some()),
        filter!(Or<(With<L>, HasRelation<Likes>)>, |m, e| m.has(e, LINEAR) || m.likes(e).is_some()),
        filter!((HasRelation<ChildOf>, HasRelation<Likes>, With<L>), |m, e| {
            m.parent(e).is_some() && m.likes(e).is_some() && m.has(e, LINEAR)
        }),
    ]
}

/// Compares all cases with the model, each in one of several ways.
fn check(world: &mut World, model: &Model, cases: &mut [Case], step: usize) {
    world.validate().unwrap();
    for (at, case) in cases.iter_mut().enumerate() {
        let expected: Found =
            model.nodes.keys().filter_map(|&entity| Some((entity, (case.expected)(model, entity)?))).collect();
        let order = (case.run)(world, 0);
        let mut found = order.clone();
        found.sort();
        assert_eq!(found, expected, "{} in step {step}", case.name);
        let way = (step + at) % WAYS;
        assert_eq!((case.run)(world, way), order, "{} in step {step}, way {way}", case.name);
        if step % 3 == at % 3 {
            for &entity in model.nodes.keys() {
                assert_eq!((case.get)(world, entity), (case.expected)(model, entity), "{} in step {step}", case.name);
            }
        }
    }
    for (&entity, node) in &model.nodes {
        let children = node.children.iter().filter_map(|child| Some((*child, model.value(Some(*child), TABLE)?)));
        let found = world.query::<(Entity, &T)>().iter_sources::<ChildOf>(entity).map(|(child, t)| (child, t.0));
        assert!(found.eq(children));
        let mut query = world.query_filtered_mut::<(Entity, &mut P, &mut S), Without<T>>();
        // All of them at a time.
        let found: Vec<_> = query.iter_sources_mut::<ChildOf>(entity).collect();
        let matches =
            |child: &&Entity| model.has(**child, POOL) && model.has(**child, SOA) && !model.has(**child, TABLE);
        assert!(found.iter().map(|(child, ..)| child).eq(node.children.iter().filter(matches)));
        for (_, p, s) in found {
            p.0 ^= 1;
            p.0 ^= 1;
            *s.half = s.half.wrapping_add(1);
        }
    }
}

/// Changes one thing in the world and in the model.
fn change(world: &mut World, model: &mut Model, rng: &mut Rng) {
    let entities: Vec<Entity> = model.nodes.keys().copied().collect();
    let pick = |rng: &mut Rng| rng.pick(&entities).copied();
    let value = rng.below(1000) as u32;
    match (rng.below(14), pick(rng), pick(rng)) {
        (0..=2, parent, _) => {
            let entity = world.spawn_empty();
            model.nodes.insert(entity, Node::default());
            if let Some(parent) = parent.filter(|_| !value.is_multiple_of(4)) {
                world.relations_mut::<ChildOf>().link(entity, parent).unwrap();
                model.set_parent(entity, parent);
            }
            for kind in 0..4 {
                if rng.chance(1, 2) {
                    insert(world, model, entity, kind, value + kind as u32);
                }
            }
        }
        (3, Some(entity), _) if model.nodes.len() > 6 => {
            world.despawn(entity).unwrap();
            model.despawn(entity);
        }
        (4..=5, Some(entity), _) => insert(world, model, entity, value as usize % 4, value),
        (6, Some(entity), _) => {
            match value % 4 {
                0 => drop(world.remove::<T>(entity)),
                1 => drop(world.remove::<P>(entity)),
                2 => drop(world.remove::<S>(entity)),
                _ => drop(world.remove::<L>(entity)),
            }
            model.nodes.get_mut(&entity).unwrap().values[value as usize % 4] = None;
        }
        (7..=8, Some(child), Some(parent)) => {
            let is_cycle = child == parent || model.above(parent).any(|above| above == child);
            let linked = world.relations_mut::<ChildOf>().link(child, parent);
            assert_eq!(linked.is_err(), is_cycle);
            if !is_cycle {
                model.set_parent(child, parent);
            }
        }
        (9, Some(child), _) => {
            world.relations_mut::<ChildOf>().unlink(child).unwrap();
            model.unparent(child);
        }
        (10..=11, Some(source), Some(target)) if source != target => {
            world.relations_mut::<Likes>().link(source, target).unwrap();
            model.nodes.get_mut(&source).unwrap().likes = Some(target);
        }
        (12, Some(source), _) => {
            world.relations_mut::<Likes>().unlink(source).unwrap();
            model.nodes.get_mut(&source).unwrap().likes = None;
        }
        (13, Some(owner), _) => {
            // Extra rows are not visited, whatever they have.
            let key = Key::main(owner).with_role(Role(value % 3 + 1));
            let _ = world.add_row(key, (T(value), P(value), L(value)));
        }
        _ => {}
    }
}

fn insert(world: &mut World, model: &mut Model, entity: Entity, kind: usize, value: u32) {
    match kind {
        TABLE => world.insert(entity, T(value)).unwrap(),
        POOL => world.insert(entity, P(value)).unwrap(),
        SOA => world.insert(entity, S { number: value, half: 0 }).unwrap(),
        _ => world.insert(entity, L(value)).unwrap(),
    };
    model.nodes.get_mut(&entity).unwrap().values[kind] = Some(value);
}

#[test]
fn terms_and_filters_find_what_a_model_finds() {
    let (seeds, steps) = if cfg!(miri) { (1, 12) } else { (12, 120) };
    let mut cases = cases();
    for seed in 0..seeds {
        let mut rng = Rng::new(seed);
        let (mut world, mut model) = (World::new(), Model::default());
        let mut timeline = Timeline::new(4);
        let mut frames = Vec::new();
        check(&mut world, &model, &mut cases, 0);
        for step in 0..steps {
            match rng.below(12) {
                0 => {
                    timeline.capture(&mut world).unwrap();
                    frames.push(model.clone());
                    timeline.validate(&world).unwrap();
                }
                1 if !timeline.is_empty() => {
                    let back = rng.below(timeline.len());
                    timeline.rewind(&mut world, back).unwrap();
                    frames.truncate(frames.len() - back);
                    model = frames.last().unwrap().clone();
                }
                2 => {
                    // The same states, in another world and back.
                    let (mut copy, mut other) = (world.try_clone().unwrap(), model.clone());
                    (0..3).for_each(|_| change(&mut copy, &mut other, &mut rng));
                    check(&mut copy, &other, &mut cases, step + 1);
                }
                _ => change(&mut world, &mut model, &mut rng),
            }
            check(&mut world, &model, &mut cases, step);
        }
    }
}

/// Adds `count` entities with links from each to the one before.
fn chain(world: &mut World, count: u32) -> Vec<Entity> {
    let chain: Vec<Entity> = (0..count).map(|n| world.spawn(T(n))).collect();
    for pair in chain.windows(2) {
        world.relations_mut::<ChildOf>().link(pair[1], pair[0]).unwrap();
    }
    chain
}

#[test]
fn states_notice_a_relation_that_the_world_gets_to_know() {
    let mut related = QueryState::<(Entity, Related<ChildOf, &T>)>::new();
    let mut roots = QueryState::<Entity, IsRoot<ChildOf>>::new();
    let mut depths = QueryState::<Depth<ChildOf>>::new();
    fn system(query: Query<Entity, HasRelation<ChildOf>>, tree: Relations<ChildOf>) -> (usize, usize) {
        (query.len(), tree.iter().count())
    }
    let mut system = system.into_system();
    let mut world = World::new();
    let [a, b] = [world.spawn(T(1)), world.spawn(T(2))];
    assert_eq!((related.len(&world), roots.len(&world), depths.len(&world)), (0, 2, 2));
    assert!(depths.iter(&world).all(|depth| depth == 0));
    assert!(related.get(&world, b).is_err());
    assert_eq!(world.run_system(&mut system), (0, 0));
    assert!(world.query::<&T>().iter_sources::<ChildOf>(a).next().is_none());
    world.relations_mut::<ChildOf>().link(b, a).unwrap();
    assert_eq!(related.iter(&world).map(|(entity, t)| (entity, t.0)).collect::<Vec<_>>(), [(b, 1)]);
    assert_eq!(related.get(&world, b).unwrap().1.0, 1);
    assert!(roots.iter(&world).eq([a]));
    assert!(depths.iter(&world).eq([0, 1]));
    assert_eq!(world.run_system(&mut system), (1, 1));

    // In another world the relation has another id, and a component has its id.
    let mut other = World::new();
    other.register_component::<L>();
    let lone = other.spawn((L(1), P(1)));
    assert_eq!((related.len(&other), roots.len(&other)), (0, 1));
    assert!(related.get(&other, lone).is_err());
    assert_eq!(other.run_system(&mut system), (0, 0));
    assert_eq!((related.len(&world), roots.len(&world)), (1, 1));
}

#[test]
fn unlinking_is_rolled_back() {
    let mut world = World::new();
    let chain = chain(&mut world, 3);
    let mut linked = QueryState::<Entity, HasRelation<ChildOf>>::new();
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    world.relations_mut::<ChildOf>().unlink(chain[1]).unwrap();
    world.relations_mut::<ChildOf>().unlink(chain[2]).unwrap();
    assert!(linked.is_empty(&world));
    timeline.capture(&mut world).unwrap();
    timeline.validate(&world).unwrap();
    timeline.rewind(&mut world, 1).unwrap();
    world.validate().unwrap();
    assert!(linked.iter(&world).eq(chain[1..].iter().copied()));
}

#[test]
fn a_query_iterates_over_the_links_if_they_are_few() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..300).map(|n| world.spawn(T(n))).collect();
    world.relations_mut::<Docked>().link(ids[200], ids[7]).unwrap();
    let query = world.query::<(Entity, Related<Docked, &T>)>();
    let plan = query.explain();
    assert!(matches!(plan.driver, PlanDriver::Relation { slots: 2, .. }), "{plan}");
    let text = plan.to_string();
    assert!(
        text.contains("Related<") && text.contains("iterates over the links of") && text.contains("Docked"),
        "{text}"
    );
    assert!(query.iter().map(|(entity, t)| (entity, t.0)).eq([(ids[200], 7)]));
    let roots = world.query_filtered::<Entity, IsRoot<Docked>>();
    assert!(roots.explain().to_string().contains("IsRoot<"), "{}", roots.explain());
    assert!(matches!(roots.explain().driver, PlanDriver::Tables { rows: 300 }));
    assert_eq!(roots.len(), 299);
    // Nothing has a target in a relation that the world does not know.
    assert_eq!(world.query::<Related<Likes, Entity>>().explain().driver, PlanDriver::Nothing);
}

#[test]
fn a_kept_driver_is_chosen_again_when_links_change() {
    let mut world = World::new();
    let ids: Vec<Entity> = (0..4).map(|n| world.spawn(L(n))).collect();
    let mut kept = QueryState::<Entity, (With<L>, HasRelation<Likes>)>::new();
    let driver = |kept: &mut QueryState<Entity, (With<L>, HasRelation<Likes>)>, world: &World| {
        let plan = kept.query(world).explain();
        assert_eq!(plan, world.query_filtered::<Entity, (With<L>, HasRelation<Likes>)>().explain());
        assert!(kept.iter(world).eq(world.query_filtered::<Entity, (With<L>, HasRelation<Likes>)>().iter()));
        plan.driver
    };
    for pair in ids.windows(2) {
        world.relations_mut::<Likes>().link(pair[0], pair[1]).unwrap();
    }
    assert!(matches!(driver(&mut kept, &world), PlanDriver::Linear { slots: 4, .. }));
    world.relations_mut::<Likes>().unlink(ids[0]).unwrap();
    assert!(matches!(driver(&mut kept, &world), PlanDriver::Relation { slots: 3, .. }));
    for source in &ids[1..3] {
        world.relations_mut::<Likes>().unlink(*source).unwrap();
    }
    assert!(matches!(driver(&mut kept, &world), PlanDriver::Nothing));
}

#[test]
fn extra_rows_have_no_links() {
    let mut world = World::new();
    let parent = world.spawn((T(1), P(1)));
    let child = world.entity_mut(parent).unwrap().spawn_child((T(2), P(2), L(2)));
    for owner in [parent, child] {
        world.add_row(Key::main(owner).with_role(Role(1)), (T(3), P(3), L(3))).unwrap();
    }
    let extra = |keys: Vec<Key>| keys.iter().filter(|key| key.role != Role::NONE).count();
    let rows = world.query_filtered::<(Key, &P), (AllRows, IsRoot<ChildOf>)>();
    assert_eq!((rows.len(), extra(rows.iter().map(|(key, _)| key).collect())), (3, 2));
    assert_eq!(world.query_filtered::<(Key, &T), IsLeaf<ChildOf>>().len(), 3);
    assert_eq!(world.query_filtered::<Key, HasRelation<ChildOf>>().len(), 1);
    assert_eq!(world.query_filtered::<Key, WithUp<ChildOf, T>>().len(), 1);
    assert_eq!(world.query_filtered::<Key, WithoutUp<ChildOf, T>>().len(), 3);
    assert!(world.query::<(Key, Related<ChildOf, &T>)>().iter().map(|(key, _)| key).eq([Key::main(child)]));
    assert_eq!(world.query::<(Key, Depth<ChildOf>)>().iter().map(|(_, depth)| depth).sum::<u32>(), 1);
    // The data of a target do not make a query visit extra rows.
    assert_eq!(world.query::<Related<ChildOf, Key>>().iter().collect::<Vec<_>>(), [Key::main(parent)]);
    world
        .query_filtered::<Entity, (AllRows, With<L>)>()
        .iter()
        .for_each(|owner| assert!([parent, child].contains(&owner)));
}

#[test]
fn a_mismatch_names_the_term() {
    let mut world = World::new();
    let chain = chain(&mut world, 2);
    let name = |error: ComponentError| error.to_string();
    let missing = name(world.query::<Related<ChildOf, &T>>().get(chain[0]).unwrap_err());
    assert!(missing.contains("has no") && missing.contains("Related<"), "{missing}");
    let missing = name(world.query::<(&T, Up<ChildOf, &P>)>().get(chain[1]).unwrap_err());
    assert!(missing.contains("Up<"), "{missing}");
    let missing = name(world.query_filtered::<&T, HasRelation<ChildOf>>().get(chain[0]).unwrap_err());
    assert!(missing.contains("has no") && missing.contains("ChildOf"), "{missing}");
    let excluded = world.query_filtered::<&T, IsRoot<ChildOf>>().get(chain[1]).unwrap_err();
    assert!(matches!(excluded, ComponentError::ExcludedComponent { component, .. } if component.contains("ChildOf")));
    let missing = name(world.query_filtered::<&T, IsLeaf<ChildOf>>().get(chain[0]).unwrap_err());
    assert!(missing.contains("IsLeaf"), "{missing}");
    // The term matches, so it is another one that is named.
    let missing = name(world.query::<(Related<ChildOf, &T>, &P)>().get(chain[1]).unwrap_err());
    assert!(missing.ends_with("::P"), "{missing}");
}

#[test]
fn a_query_that_writes_what_it_reads_of_others_is_refused() {
    type Aliasing = (&'static mut T, Related<ChildOf, &'static T>);
    let mut world = World::new();
    panics_here(|| world.query_mut::<Aliasing>());
    panics_here(|| QueryState::<Aliasing>::new());
    assert!(Access::try_of::<(&mut T, Up<ChildOf, &T>)>().is_err());
    assert!(Access::try_of::<(Option<Up<ChildOf, (&P, &T)>>, &mut T)>().is_err());
    assert!(Access::try_of::<(&mut T, Related<Likes, Related<ChildOf, &T>>)>().is_err());
    assert!(Access::try_of::<(&mut Hot, Related<Likes, Filtered<Entity, Changed<Hot>>>)>().is_err());
    // Names of entities and presence are not written by queries.
    assert!(Access::try_of::<(&mut T, Related<ChildOf, (Entity, Has<T>)>)>().is_ok());
    assert!(Access::try_of_filtered::<&mut T, WithUp<ChildOf, T>>().is_ok());
    assert!(Access::try_of::<(&T, Related<ChildOf, &T>)>().is_ok());
}

#[test]
fn reads_of_other_entities_conflict_whatever_the_filters_are() {
    let above = Access::try_of_filtered::<Up<ChildOf, &T>, With<P>>().unwrap();
    assert!(above.reads().eq([std::any::type_name::<T>()]));
    assert!(above.relations().eq([std::any::type_name::<ChildOf>()]));
    assert!(!above.is_disjoint(&Access::try_of_filtered::<&mut T, Without<P>>().unwrap()));
    assert!(!Access::try_of_filtered::<&mut T, Without<P>>().unwrap().is_disjoint(&above));
    assert!(above.is_disjoint(&Access::of::<&mut P>()));
    // The filters of the visited rows say nothing about their targets, and those of the targets nothing about other rows.
    let filtered = Access::of::<Related<ChildOf, Filtered<&T, With<P>>>>();
    assert!(!filtered.is_disjoint(&Access::try_of_filtered::<&mut T, Without<P>>().unwrap()));
    // A query that reads rows of its own only is another matter.
    let own = Access::try_of_filtered::<(&T, Depth<ChildOf>), With<P>>().unwrap();
    assert!(own.is_disjoint(&Access::try_of_filtered::<&mut T, Without<P>>().unwrap()));

    let mut world = World::new();
    world.spawn((T(1), P(1)));
    panics_here(|| {
        world.queries_mut::<(Query<Related<ChildOf, &T>, With<P>>, Query<&mut T, Without<P>>)>();
    });
}

#[test]
fn systems_declare_relations_and_what_they_read_through_them() {
    fn propagates(_: Query<&mut T>) {}
    fn inherits(_: Query<Up<ChildOf, &T>, With<P>>) {}
    fn filters(_: Query<&P, (IsRoot<ChildOf>, WithoutUp<ChildOf, T>)>, _: Relations<Likes>) {}
    fn both(_: Query<&mut T, Without<P>>, _: Query<Related<ChildOf, &T>, With<P>>) {}

    let mut world = World::new();
    let access = |world: &mut World, system: &mut dyn System<Out = ()>| {
        system.initialize(world, None).unwrap();
        system.access().clone()
    };
    let writer = access(&mut world, &mut propagates.into_system());
    let reader = access(&mut world, &mut inherits.into_system());
    let filter = access(&mut world, &mut filters.into_system());
    assert!(writer.conflict_with(&reader).is_some() && reader.conflict_with(&writer).is_some());
    assert!(writer.conflict_with(&filter).is_none() && reader.conflict_with(&filter).is_none());
    let relations = |access: &phalanx::system::SystemAccess| {
        let keys = access.keys().filter(|(key, ..)| matches!(key, AccessKey::Relation(_)));
        keys.map(|(_, writes, name)| (writes, name)).collect::<Vec<_>>()
    };
    assert!(
        reader.keys().any(|key| key == (AccessKey::Component(TypeId::of::<T>()), false, std::any::type_name::<T>()))
    );
    assert_eq!(relations(&reader), [(false, std::any::type_name::<ChildOf>())]);
    let [tree, likes] = [std::any::type_name::<ChildOf>(), std::any::type_name::<Likes>()];
    assert_eq!(relations(&filter), [(false, tree), (false, likes)]);
    assert!(filter.is_read_only());
    let conflict = both.into_system().initialize(&mut world, None).unwrap_err().to_string();
    assert!(conflict.contains("one writes T"), "{conflict}");
}

#[derive(SystemParam)]
struct Tree<'w, 's> {
    parts: Query<'w, 's, (Entity, &'static T)>,
    links: Relations<'w, ChildOf>,
}

#[test]
fn systems_walk_trees() {
    fn system(Tree { parts, links }: Tree, mut depths: Query<(Entity, &mut P)>) -> Vec<u32> {
        depths.iter_mut().for_each(|(entity, p)| p.0 = links.depth(entity));
        let roots = parts.iter().filter(|(entity, _)| links.parent(*entity).is_none());
        roots.flat_map(|(root, _)| parts.iter_many(links.descendants(root)).flatten().map(|(_, t)| t.0)).collect()
    }
    let mut world = World::new();
    let chain = chain(&mut world, 5);
    world.insert(chain[3], P(0)).unwrap();
    let mut system = system.into_system();
    assert_eq!(world.run_system(&mut system), [1, 2, 3, 4]);
    assert_eq!(world.get::<P>(chain[3]).unwrap().0, 3);
    world.relations_mut::<ChildOf>().unlink(chain[2]).unwrap();
    assert_eq!(world.run_system(&mut system), [1, 3, 4]);
}

#[test]
fn changes_of_targets_are_found() {
    let mut world = World::new();
    let [a, b] = [world.spawn(Hot(1)), world.spawn(Hot(2))];
    let on = [a, a, b].map(|target| {
        let source = world.spawn(T(0));
        world.relations_mut::<Likes>().link(source, target).unwrap();
        source
    });
    let mut changed = QueryState::<(Entity, Related<Likes, Filtered<&Hot, Changed<Hot>>>)>::new();
    let mut run = |world: &mut World| changed.iter(world).map(|(entity, hot)| (entity, hot.0)).collect::<Vec<_>>();
    assert_eq!(run(&mut world), [(on[0], 1), (on[1], 1), (on[2], 2)]);
    assert_eq!(run(&mut world), []);
    world.get_mut::<Hot>(b).unwrap().0 = 5;
    assert_eq!(run(&mut world), [(on[2], 5)]);
}

#[derive(QueryData)]
struct Part<'a> {
    own: &'a mut P,
    ship: Related<ChildOf, &'a T>,
    depth: Depth<ChildOf>,
}

#[test]
fn derived_data_have_related_terms() {
    let mut world = World::new();
    let ship = world.spawn(T(7));
    let part = world.entity_mut(ship).unwrap().spawn_child(P(1));
    for PartItem { own, ship, depth } in world.query_mut::<Part>() {
        own.0 += ship.0 + depth;
    }
    assert_eq!(world.get::<P>(part).unwrap().0, 9);
}

#[test]
fn relation_terms_are_not_observed() {
    let mut world = World::new();
    fn refused<D: phalanx::query::ReadOnlyQueryData + 'static, F: phalanx::query::QueryFilter>(world: &mut World) {
        let observe = AssertUnwindSafe(|| drop(world.observe::<D, F>()));
        let panic = catch_unwind(observe).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("cannot be observed") && message.contains("phalanx::relation"), "{message}");
    }
    refused::<Related<ChildOf, &T>, ()>(&mut world);
    refused::<(&T, Option<Up<ChildOf, &T>>), ()>(&mut world);
    refused::<(&T, Depth<ChildOf>), ()>(&mut world);
    refused::<&T, IsRoot<ChildOf>>(&mut world);
    refused::<&T, IsLeaf<ChildOf>>(&mut world);
    refused::<&T, (With<P>, HasRelation<ChildOf>)>(&mut world);
    refused::<&T, Or<(With<P>, WithUp<ChildOf, T>)>>(&mut world);
    refused::<&T, WithoutUp<ChildOf, T>>(&mut world);
    panics_here(|| drop(world.observe::<Depth<ChildOf>, ()>()));
}

#[test]
fn filters_of_links_choose_what_is_inserted_into() {
    let mut world = World::new();
    let chain = chain(&mut world, 4);
    assert_eq!(world.insert_where::<HasRelation<ChildOf>, _>(P(1)), 3);
    assert_eq!(world.remove_where::<IsLeaf<ChildOf>, P>(), 1);
    assert!(world.query_filtered::<Entity, With<P>>().iter().eq([chain[1], chain[2]]));
    world.validate().unwrap();
}
