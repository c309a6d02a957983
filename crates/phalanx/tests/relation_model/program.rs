//! Operations on two worlds with relations and on a naive model of each, compared after every step.

use super::kit::{Event, Fire, Id, Log, Mass, RELATIONS, Spin, fresh, listen, register, registry};
use super::model::{Model, Node, Refusal};
use super::names::{compare_names, pick_name};
use phalanx::relation::Position;
use phalanx::snapshot::{Part, Problem, Registry, SaveError, diff};
use phalanx::store::Entity;
use phalanx::timeline::{Checkpoint, Timeline, delta};
use phalanx::{Key, RelationError, Role, StructuralError, World};
use phalanx_testkit::fail_nth;
use std::collections::BTreeSet;

/// What decides: a number below a bound.
pub(crate) type Pick<'a> = &'a mut dyn FnMut(usize) -> usize;

/// How many entities a world may have before operations that copy many are left out.
const MANY: usize = 120;

/// Two worlds, their models, and what has become of them.
pub(crate) struct Engine {
    registry: Registry,
    pub(crate) worlds: [World; 2],
    pub(crate) models: [Model; 2],
    logs: Option<[Log; 2]>,
    /// A state of each world to which it may go back.
    checkpoints: [Option<(Checkpoint, Model)>; 2],
    /// All entities that ever were, in either world.
    all: Vec<Entity>,
    next: u32,
    /// The checksum of the world that an operation has changed, for each operation.
    pub(crate) sums: Vec<u64>,
}

fn is_memory(error: &RelationError) -> bool {
    matches!(error, RelationError::Alloc(_))
}

fn is_change_memory(error: &StructuralError) -> bool {
    matches!(error, StructuralError::Alloc(_) | StructuralError::Relation(RelationError::Alloc(_)))
}

/// How the events of an operation are compared.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    Exact,
    Any,
    /// The world has no events for what the operation does.
    Silent,
}

impl Engine {
    /// Creates two worlds, with listeners or without.
    pub(crate) fn new(listens: bool) -> Engine {
        let logs = listens.then(|| [Log::default(), Log::default()]);
        let worlds = [0, 1].map(|at| fresh(at * 3, logs.as_ref().map(|logs| &logs[at])));
        Engine {
            registry: registry(),
            worlds,
            models: Default::default(),
            logs,
            checkpoints: [None, None],
            all: vec![Entity::from_bits(1 << 20).unwrap()],
            next: 0,
            sums: Vec::new(),
        }
    }

    /// Runs operations, and compares the worlds with their models after each.
    pub(crate) fn run(&mut self, steps: usize, pick: Pick<'_>) {
        for _ in 0..steps {
            let at = usize::from(pick(4) == 0);
            self.step(at, pick);
            self.check(at, pick);
            self.sums.push(self.checksum(at));
        }
        (0..2).for_each(|at| self.check(at, pick));
    }

    pub(crate) fn checksum(&self, at: usize) -> u64 {
        self.registry.checksum(&self.worlds[at]).unwrap()
    }

    pub(crate) fn fresh_id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Returns an entity, sometimes a dead one or one of the other world.
    pub(crate) fn someone(&self, at: usize, pick: Pick<'_>) -> Entity {
        let nodes = &self.models[at].nodes;
        match pick(12) {
            0 => self.all[pick(self.all.len())],
            _ if nodes.is_empty() => self.all[pick(self.all.len())],
            _ => *nodes.keys().nth(pick(nodes.len())).unwrap(),
        }
    }

    fn alive(&self, at: usize, pick: Pick<'_>) -> Option<Entity> {
        let nodes = &self.models[at].nodes;
        nodes.keys().nth(pick(nodes.len().max(1))).copied()
    }

    /// Returns a position among the sources of a target, sometimes beside an entity that is none of them.
    pub(crate) fn position(&self, at: usize, relation: usize, target: Entity, pick: Pick<'_>) -> Position {
        let sources = self.models[at].links[relation].sources(target);
        let beside = match sources.len() {
            0 => self.someone(at, pick),
            _ if pick(6) == 0 => self.someone(at, pick),
            len => sources[pick(len)],
        };
        [Position::Last, Position::First, Position::Before(beside), Position::After(beside)][pick(4)]
    }

    pub(crate) fn born(&mut self, at: usize, entity: Entity, node: Node) {
        assert!(self.models[at].nodes.insert(entity, node).is_none(), "{entity} is alive already");
        self.all.push(entity);
    }

    /// Compares a result with that of the model. On error the world must be what it was.
    #[track_caller]
    pub(crate) fn same<T: PartialEq + core::fmt::Debug>(
        &self,
        at: usize,
        sum: u64,
        result: Result<T, Refusal>,
        expected: Result<T, Refusal>,
    ) {
        assert_eq!(result, expected);
        if result.is_err() {
            assert_eq!(self.checksum(at), sum, "an operation that failed has changed the world");
        }
    }

    /// Runs an operation, sometimes first with an allocation that fails: then the world is what it was.
    pub(crate) fn attempt<T, E>(
        &mut self,
        at: usize,
        pick: Pick<'_>,
        is_memory: fn(&E) -> bool,
        mut run: impl FnMut(&mut World) -> Result<T, E>,
    ) -> Result<T, E> {
        if pick(3) == 0 {
            if let Some(logs) = &self.logs {
                // What a listener allocates must not fail.
                logs[at].lock().unwrap().reserve(10_000);
            }
            let sum = self.checksum(at);
            let (result, _) = fail_nth(1 + pick(6) as u64, || run(&mut self.worlds[at]));
            match result {
                Err(error) if is_memory(&error) => {
                    self.worlds[at].validate().unwrap();
                    assert_eq!(self.checksum(at), sum, "an operation without memory has changed the world");
                }
                result => return result,
            }
        }
        run(&mut self.worlds[at])
    }

    fn step(&mut self, at: usize, pick: Pick<'_>) {
        let order = match pick(30) {
            _ if self.models[at].nodes.len() < 12 && pick(4) > 0 => self.grow(at, pick),
            0..19 => self.basic(at, pick),
            19..22 => self.clone_or_transfer(at, pick),
            22 => self.load(at, pick),
            23 => self.merge(at, pick),
            24 => self.replace(at, pick),
            25 => self.take_back(at, pick),
            26 => self.timeline(at, pick),
            27 => self.delta(at, pick),
            _ => self.buffer(at, pick),
        };
        self.settle(order);
    }

    /// Spawns entities with links in all relations, most of which are deep.
    fn grow(&mut self, at: usize, pick: Pick<'_>) -> Order {
        for _ in 0..8 + pick(16) {
            let n = self.fresh_id();
            let entity = self.worlds[at].spawn((Id(n), Fire(n % 9)));
            self.born(at, entity, Node { id: Some(n), fire: Some(n % 9), ..Node::default() });
        }
        let few: Vec<Entity> = self.models[at].nodes.keys().copied().collect();
        for (relation, methods) in RELATIONS.iter().enumerate() {
            // How far away a target may be: one behind the other, or anywhere.
            let reach = [1, 2, few.len()][pick(3)];
            for number in 0..few.len() {
                let (source, target) = (few[number], few[(number + 1 + pick(reach)) % few.len()]);
                if pick(5) > 0 {
                    let result = (methods.link)(&mut self.worlds[at], source, target, Position::First);
                    let expected = self.models[at].link(relation, source, target, Position::First);
                    assert_eq!(result.map_err(Refusal::of), expected);
                }
            }
        }
        for &entity in &few {
            if pick(3) == 0 {
                let name = pick_name(pick);
                let result = self.worlds[at].entity_mut(entity).unwrap().set_name(name).map(|_| ());
                let expected = self.models[at].set_name(entity, Some(name));
                assert_eq!(result.map_err(|error| super::names::refusal(entity, error)), expected);
            }
        }
        Order::Exact
    }

    /// Compares the events of an operation with those of the models.
    fn settle(&mut self, order: Order) {
        for (at, model) in self.models.iter_mut().enumerate() {
            let mut expected: Vec<Event> = core::mem::take(&mut model.events);
            let Some(logs) = &self.logs else { continue };
            let mut seen = core::mem::take(&mut *logs[at].lock().unwrap());
            match order {
                Order::Exact => {}
                Order::Any => {
                    seen.sort();
                    expected.sort();
                }
                Order::Silent => expected.clear(),
            }
            assert_eq!(seen, expected, "the events of world {at}");
        }
    }

    /// An operation on one world that leaves it the same world.
    fn basic(&mut self, at: usize, pick: Pick<'_>) -> Order {
        let (relation, sum) = (pick(RELATIONS.len()), self.checksum(at));
        let methods = &RELATIONS[relation];
        let (source, target) = (self.someone(at, pick), self.someone(at, pick));
        let (world, model) = (&mut self.worlds[at], &mut self.models[at]);
        match pick(27) {
            0 | 1 => {
                let n = self.fresh_id();
                let world = &mut self.worlds[at];
                let mut node = Node { id: Some(n), ..Node::default() };
                let entity = match pick(4) {
                    0 => world.spawn(Id(n)),
                    1 => {
                        (node.fire, node.mass) = (Some(n % 7), Some(n));
                        world.spawn((Id(n), Fire(n % 7), Mass(n)))
                    }
                    2 => {
                        (node.spin, node.fire) = (Some(n), Some(n % 5));
                        world.spawn((Id(n), Spin { axis: n, speed: !n }, Fire(n % 5)))
                    }
                    _ => {
                        node = Node::default();
                        world.spawn_empty()
                    }
                };
                self.born(at, entity, node);
            }
            2 | 3 => {
                let n = self.fresh_id();
                let expected = self.models[at].can_spawn(relation, target);
                let result = self.attempt(at, pick, is_change_memory, |world| (methods.spawn)(world, target, Id(n)));
                let result = result.map_err(Refusal::of_change);
                self.same(at, sum, result.map(|_| ()), expected);
                if let Ok(entity) = result {
                    self.born(at, entity, Node { id: Some(n), ..Node::default() });
                    self.models[at].link(relation, entity, target, Position::Last).unwrap();
                }
            }
            4..9 => {
                let position = self.position(at, relation, target, pick);
                let link = |world: &mut World| (methods.link)(world, source, target, position);
                let result = self.attempt(at, pick, is_memory, link).map_err(Refusal::of);
                let expected = self.models[at].link(relation, source, target, position);
                self.same(at, sum, result, expected);
            }
            9 => {
                let result = self.attempt(at, pick, is_memory, |world| (methods.unlink)(world, source));
                let result = result.map_err(Refusal::of);
                let expected = self.models[at].unlink(relation, source);
                self.same(at, sum, result, expected);
            }
            10 => {
                let result = self.attempt(at, pick, is_change_memory, |world| world.try_despawn(source));
                let result = result.map_err(Refusal::of_change);
                let expected = self.models[at].despawn(source);
                self.same(at, sum, result, expected);
            }
            11 => {
                let list: Vec<Entity> = (0..pick(5)).map(|_| self.someone(at, pick)).collect();
                let expected = self.models[at].despawn_batch(&list);
                assert_eq!(self.worlds[at].despawn_batch(list), expected);
            }
            12 => {
                // A query has no form that returns an error if allocation fails.
                let result = (methods.sort)(world, target).map_err(Refusal::of);
                let expected = model.sort(relation, target);
                self.same(at, sum, result, expected);
            }
            13 if pick(6) == 0 => {
                model.clear();
                world.clear();
                return Order::Any;
            }
            14 => {
                // A reserved entity is alive from the next operation on.
                let entity = world.reserve_entity();
                let result = (methods.link)(world, entity, target, Position::Last).map_err(Refusal::of);
                self.born(at, entity, Node::default());
                assert_eq!(result, self.models[at].link(relation, entity, target, Position::Last));
            }
            15 => {
                let n = self.fresh_id();
                let (world, model) = (&mut self.worlds[at], &mut self.models[at]);
                let Some(node) = model.nodes.get_mut(&source) else { return Order::Exact };
                (node.fire, node.spin) = (Some(n % 6), Some(n));
                world.insert(source, (Fire(n % 6), Spin { axis: n, speed: !n })).unwrap();
            }
            16 => {
                let Some(node) = model.nodes.get_mut(&source) else { return Order::Exact };
                (node.fire, node.mass) = (None, None);
                world.remove::<(Fire, Mass)>(source).unwrap();
            }
            17 => {
                let n = self.fresh_id();
                let (world, model) = (&mut self.worlds[at], &mut self.models[at]);
                let Some(node) = model.nodes.get_mut(&source) else { return Order::Exact };
                node.rows.push(n);
                world.add_row(Key::main(source).with_role(Role(n)), (Fire(n), Mass(n), Id(0))).unwrap();
            }
            18 => drop(world.compact(usize::MAX)),
            19..24 => return self.name(at, pick),
            _ => return self.buffer(at, pick),
        }
        Order::Exact
    }

    /// Finds the clones of entities by their numbers, and gives them their own.
    fn find_clones(&mut self, at: usize, originals: &[Entity]) -> Vec<(Entity, Entity)> {
        let known: BTreeSet<Entity> = self.models[at].nodes.keys().copied().collect();
        let new: Vec<Entity> = self.worlds[at].iter().filter(|entity| !known.contains(entity)).collect();
        assert_eq!(new.len(), originals.len());
        let mut map = Vec::new();
        for &old in originals {
            let id = self.models[at].nodes[&old].id;
            let is_twin = |entity: &&Entity| self.worlds[at].get::<Id>(**entity).ok().map(|id| id.0) == id;
            map.push((old, *new.iter().find(is_twin).unwrap()));
        }
        map
    }

    fn clone_or_transfer(&mut self, at: usize, pick: Pick<'_>) -> Order {
        let Some(entity) = self.alive(at, pick) else { return Order::Exact };
        let trees: Vec<usize> = (0..RELATIONS.len()).filter(|at| RELATIONS[*at].tree.is_some()).collect();
        let relation = trees[pick(trees.len())];
        let tree = RELATIONS[relation].tree.as_ref().unwrap();
        let entities = self.models[at].tree(relation, entity);
        let sums = [self.checksum(0), self.checksum(1)];
        let [left, right] = &mut self.worlds;
        let [model_left, model_right] = &mut self.models;
        let (here, there, model, other) = match at {
            0 => (left, right, model_left, model_right),
            _ => (right, left, model_right, model_left),
        };
        let map = match pick(6) {
            // Clones are found by their numbers.
            0..3 if entities.iter().any(|entity| model.nodes[entity].id.is_none()) || model.nodes.len() > MANY => {
                return Order::Exact;
            }
            0 => {
                let twin = here.entity_mut(entity).unwrap().clone_entity().unwrap();
                self.cloned(at, vec![(entity, twin)]);
                return Order::Any;
            }
            1 | 2 => {
                let twin = (tree.clone_tree)(here, entity).unwrap();
                let map = self.find_clones(at, &entities);
                assert_eq!(map[0], (entity, twin));
                self.cloned(at, map);
                return Order::Any;
            }
            3 => {
                let result = here.entity_mut(entity).unwrap().transfer(there);
                if let Some(order) = unmoved(&result, model, &[entity], other) {
                    return self.unchanged(order, sums);
                }
                let new = result.unwrap();
                model.transfer(other, &[(entity, new)]);
                vec![(entity, new)]
            }
            4 => {
                let result = (tree.transfer_tree)(here, entity, there);
                if let Some(order) = unmoved(&result, model, &entities, other) {
                    return self.unchanged(order, sums);
                }
                let (root, map, mut cut) = result.unwrap();
                assert!(map.contains(&(entity, root)));
                assert_eq!(map.len(), entities.len());
                let mut expected = model.transfer(other, &map);
                cut.sort();
                expected.sort();
                assert_eq!(cut, expected);
                map
            }
            _ if pick(4) == 0 => {
                let all: Vec<Entity> = model.nodes.keys().copied().collect();
                let result = here.transfer_all(there);
                if let Some(order) = unmoved(&result, model, &all, other) {
                    return self.unchanged(order, sums);
                }
                let map: Vec<(Entity, Entity)> = result.unwrap().iter().collect();
                assert_eq!(map.len(), model.nodes.len());
                assert_eq!(model.transfer(other, &map), []);
                map
            }
            _ => return Order::Exact,
        };
        self.all.extend(map.iter().map(|(_, new)| *new));
        self.check(1 - at, pick);
        Order::Any
    }

    /// Asserts that a transfer that was refused has changed nothing.
    fn unchanged(&self, order: Order, sums: [u64; 2]) -> Order {
        assert_eq!([self.checksum(0), self.checksum(1)], sums, "a transfer that was refused has changed a world");
        order
    }

    /// Adds clones to the model, and gives them numbers of their own.
    fn cloned(&mut self, at: usize, map: Vec<(Entity, Entity)>) {
        self.models[at].clone_all(&map);
        for (_, new) in map {
            let n = self.fresh_id();
            self.models[at].nodes.get_mut(&new).unwrap().id = Some(n);
            self.worlds[at].get_mut::<Id>(new).unwrap().0 = n;
            self.all.push(new);
        }
    }

    /// Saves a part of a world, if names allow it.
    fn saved(&self, at: usize, kept: &BTreeSet<Entity>) -> Option<(Vec<u8>, usize)> {
        let (part, _) = self.models[at].part(|entity| kept.contains(&entity));
        let mut bytes = Vec::new();
        let result = self.registry.save_part(&self.worlds[at], &Part::of(kept.iter().copied()), &mut bytes);
        match result {
            Err(SaveError::NameTaken { entity, holder }) => {
                assert!(part.has_clash() && entity != holder && part.name(entity) == part.name(holder));
                None
            }
            result => {
                assert!(!part.has_clash());
                Some((bytes, result.unwrap().cut_links))
            }
        }
    }

    /// Compares another world with a model.
    fn compare(&self, world: &World, model: &Model) {
        compare(world, model, &self.all);
    }

    /// Puts another world in the place of one that is in the same state.
    fn exchange(&mut self, at: usize, mut world: World) {
        assert_eq!(self.registry.checksum(&world).unwrap(), self.checksum(at));
        assert_eq!(diff(&self.registry, &world, &self.worlds[at]).unwrap(), None);
        // One that was loaded knows only what it has.
        register(&mut world, 2);
        if let Some(logs) = &self.logs {
            listen(&mut world, &logs[at]);
        }
        self.worlds[at] = world;
        self.checkpoints[at] = None;
    }

    /// Saves a world or a part of it, and loads it.
    fn load(&mut self, at: usize, pick: Pick<'_>) -> Order {
        if pick(2) == 0 {
            let mut bytes = Vec::new();
            let report = self.registry.save_part(&self.worlds[at], &Part::all(), &mut bytes).unwrap();
            assert_eq!(report.cut_links, 0);
            let loaded = self.registry.load(&*bytes).unwrap();
            self.compare(&loaded, &self.models[at]);
            let mut json = Vec::new();
            self.registry.serialize(&self.worlds[at], &mut serde_json::Serializer::new(&mut json)).unwrap();
            let read = self.registry.deserialize(&mut serde_json::Deserializer::from_slice(&json)).unwrap();
            self.compare(&read, &self.models[at]);
            self.exchange(at, loaded);
            return Order::Silent;
        }
        let kept: BTreeSet<Entity> = self.models[at].nodes.keys().copied().filter(|_| pick(2) == 0).collect();
        let Some((bytes, cut)) = self.saved(at, &kept) else { return Order::Silent };
        let loaded = self.registry.load(&*bytes).unwrap();
        let (part, expected) = self.models[at].part(|entity| kept.contains(&entity));
        self.compare(&loaded, &part);
        assert_eq!(cut, expected);
        Order::Silent
    }

    /// Merges a part of one world into the other.
    fn merge(&mut self, at: usize, pick: Pick<'_>) -> Order {
        if self.models[1 - at].nodes.len() > MANY {
            return Order::Exact;
        }
        let kept: BTreeSet<Entity> = self.models[at].nodes.keys().copied().filter(|_| pick(3) > 0).collect();
        let Some((bytes, _)) = self.saved(at, &kept) else { return Order::Exact };
        let (mut part, _) = self.models[at].part(|entity| kept.contains(&entity));
        let sum = self.checksum(1 - at);
        let merged = self.registry.merge(&mut self.worlds[1 - at], &*bytes);
        let all: Vec<Entity> = kept.iter().copied().collect();
        let merged = merged.map_err(|error| match error.problem {
            Problem::Merge(error) => error,
            problem => panic!("{problem}"),
        });
        if let Some(order) = unmoved(&merged, &part, &all, &self.models[1 - at]) {
            assert_eq!(self.checksum(1 - at), sum, "a merge that was refused has changed the world");
            return order;
        }
        let map: Vec<_> = merged.unwrap().iter().collect();
        part.transfer(&mut self.models[1 - at], &map);
        for (_, new) in map {
            let n = self.fresh_id();
            let node = self.models[1 - at].nodes.get_mut(&new).unwrap();
            if let Some(id) = &mut node.id {
                *id = n;
                self.worlds[1 - at].get_mut::<Id>(new).unwrap().0 = n;
            }
            self.all.push(new);
        }
        self.check(1 - at, pick);
        Order::Any
    }

    /// Puts a clone in the place of a world.
    fn replace(&mut self, at: usize, _: Pick<'_>) -> Order {
        let clone = self.worlds[at].try_clone().unwrap();
        self.compare(&clone, &self.models[at]);
        self.exchange(at, clone);
        Order::Silent
    }

    /// Makes a checkpoint, or goes back to it.
    fn take_back(&mut self, at: usize, pick: Pick<'_>) -> Order {
        match &self.checkpoints[at] {
            Some((checkpoint, model)) if pick(3) > 0 => {
                self.worlds[at].rollback(checkpoint).unwrap();
                self.models[at] = model.clone();
            }
            _ => self.checkpoints[at] = Some((self.worlds[at].checkpoint().unwrap(), self.models[at].clone())),
        }
        Order::Silent
    }

    /// Runs several operations, without a comparison of events.
    fn some(&mut self, at: usize, pick: Pick<'_>) {
        for _ in 0..pick(6) {
            let order = self.basic(at, pick);
            self.settle(order);
        }
    }

    /// Captures frames with a timeline, and goes back by some of them.
    fn timeline(&mut self, at: usize, pick: Pick<'_>) -> Order {
        let (mut timeline, mut models) = (Timeline::new(4), Vec::new());
        for _ in 0..2 + pick(5) {
            timeline.capture(&mut self.worlds[at]).unwrap();
            models.push(self.models[at].clone());
            self.some(at, pick);
        }
        let back = pick(timeline.len() + 1);
        timeline.rewind(&mut self.worlds[at], back).unwrap();
        self.models[at] = models[models.len() - 1 - back].clone();
        self.check(at, pick);
        self.some(at, pick);
        timeline.detach(&mut self.worlds[at]);
        Order::Silent
    }

    /// Lets a clone follow by a delta.
    fn delta(&mut self, at: usize, pick: Pick<'_>) -> Order {
        let before = self.worlds[at].checkpoint().unwrap();
        let mut follower = self.worlds[at].try_clone().unwrap();
        self.some(at, pick);
        let bytes = delta(&before, &self.worlds[at].checkpoint().unwrap()).unwrap();
        follower.apply_delta(&bytes).unwrap();
        self.compare(&follower, &self.models[at]);
        assert_eq!(self.registry.checksum(&follower).unwrap(), self.checksum(at));
        Order::Silent
    }

    fn check(&self, at: usize, pick: Pick<'_>) {
        let (world, model) = (&self.worlds[at], &self.models[at]);
        compare(world, model, &self.all);
        let (a, b) = (self.someone(at, pick), self.someone(at, pick));
        for (links, methods) in model.links.iter().zip(&RELATIONS) {
            if let Some(tree) = &methods.tree {
                let is_ancestor = model.contains(a) && model.contains(b) && links.ancestors(b).contains(&a);
                assert_eq!((tree.is_ancestor)(world, a, b), is_ancestor);
            }
        }
    }
}

/// Compares whether a transfer was refused with what the models say. Returns the order of its events if it was.
#[track_caller]
fn unmoved<T>(result: &Result<T, StructuralError>, from: &Model, entities: &[Entity], to: &Model) -> Option<Order> {
    let error = result.as_ref().err();
    assert_eq!(error.is_some(), from.has_clash_after(entities, to), "{error:?}");
    let error = error?;
    assert!(from.explains(*error, to), "{error}");
    Some(Order::Exact)
}

/// Compares a world with its model.
#[track_caller]
pub(crate) fn compare(world: &World, model: &Model, all: &[Entity]) {
    world.validate().unwrap();
    let alive: BTreeSet<Entity> = world.iter().collect();
    assert!(alive.iter().eq(model.nodes.keys()), "{:?} is not {:?}", alive, model.nodes.keys());
    for (&entity, node) in &model.nodes {
        let rows = world.rows(entity).unwrap().map(|(key, _)| key.role).filter(|role| role.0 > 0);
        let seen = Node {
            id: world.get::<Id>(entity).ok().map(|id| id.0),
            fire: world.get::<Fire>(entity).ok().map(|fire| fire.0),
            mass: world.get::<Mass>(entity).ok().map(|mass| mass.0),
            spin: world.get::<Spin>(entity).ok().map(|spin| spin.axis),
            name: node.name,
            rows: rows.map(|role| role.0).collect(),
        };
        assert_eq!(&seen, node, "{entity}");
    }
    compare_names(world, model);
    for (links, methods) in model.links.iter().zip(&RELATIONS) {
        let mut pairs: Vec<(Entity, Entity)> = links.target.iter().map(|(source, target)| (*source, *target)).collect();
        pairs.sort_by_key(|(source, _)| source.index());
        assert_eq!((methods.pairs)(world), pairs, "{}", (methods.name)());
        let dead = all.iter().filter(|entity| !alive.contains(entity)).take(8);
        for &entity in alive.iter().chain(dead) {
            let is_alive = alive.contains(&entity);
            let target = links.target.get(&entity).copied().filter(|_| is_alive);
            assert_eq!((methods.target)(world, entity), target);
            let sources = if is_alive { links.sources(entity) } else { &[] };
            assert_eq!((methods.sources)(world, entity), sources, "{} {entity}", (methods.name)());
            let Some(tree) = methods.tree.as_ref().filter(|_| is_alive) else { continue };
            let ancestors = links.ancestors(entity);
            assert_eq!((tree.depth)(world, entity), ancestors.len() as u32, "{} {entity}", (methods.name)());
            assert_eq!((tree.root)(world, entity), *ancestors.last().unwrap_or(&entity));
            assert_eq!((tree.ancestors)(world, entity), ancestors);
            let [mut depth_first, mut leaves_first] = [Vec::new(), Vec::new()];
            links.descendants(entity, false, &mut depth_first);
            links.descendants(entity, true, &mut leaves_first);
            let mut breadth_first = Vec::new();
            let mut level = links.sources(entity).to_vec();
            while !level.is_empty() {
                let below = level.iter().flat_map(|above| links.sources(*above)).copied().collect();
                breadth_first.append(&mut core::mem::replace(&mut level, below));
            }
            assert_eq!((tree.descendants)(world, entity), [depth_first, leaves_first, breadth_first]);
        }
    }
}
