//! Every way to change a world, at random, against a model that says which events are dispatched.

use crate::parts::*;
use crate::watchers::Watchers;
use phalanx::group::Owned as OwnedPools;
use phalanx::query::AllRows;
use phalanx::signal::Change;
use phalanx::{BundleBuilder, CommandBuffer, Entity, Key, Role, With, Without, World};
use phalanx_testkit::Rng;
use std::collections::BTreeMap;

type Row = BTreeMap<usize, u32>;

#[derive(Default)]
struct Model {
    /// By entity: its rows, the main one first.
    entities: BTreeMap<Entity, Vec<(Key, Row)>>,
    expected: Vec<Event>,
    /// The values before the changes in place, in order.
    patched: Vec<u32>,
}

impl Model {
    fn row(&mut self, key: Key) -> &mut Row {
        &mut self.entities.get_mut(&key.entity).unwrap().iter_mut().find(|row| row.0 == key).unwrap().1
    }

    fn spawn(&mut self, entity: Entity) {
        self.entities.insert(entity, vec![(Key::main(entity), Row::new())]);
        self.expected.push(Event::Spawned(entity));
    }

    fn extend(&mut self, key: Key) {
        self.entities.get_mut(&key.entity).unwrap().push((key, Row::new()));
    }

    fn insert(&mut self, key: Key, parts: &[usize], n: u32) {
        let mut parts = parts.to_vec();
        parts.sort_unstable();
        for part in parts {
            let n = kept(part, n);
            let event = match self.row(key).insert(part, n) {
                None => Event::Added(key, part, n),
                Some(old) => Event::Set(key, part, Some(old), n),
            };
            self.expected.push(event);
        }
    }

    fn remove(&mut self, key: Key, parts: &[usize]) {
        let mut parts = parts.to_vec();
        parts.sort_unstable();
        for part in parts {
            if let Some(n) = self.row(key).remove(&part) {
                self.expected.push(Event::Removed(key, part, n));
            }
        }
    }

    fn end_row(&mut self, key: Key) {
        let rows = self.entities.get_mut(&key.entity).unwrap();
        let at = rows.iter().position(|row| row.0 == key).unwrap();
        let (_, row) = rows.remove(at);
        self.expected.extend(row.into_iter().map(|(part, n)| Event::Removed(key, part, n)));
    }

    fn despawn(&mut self, entity: Entity) -> bool {
        let Some(rows) = self.entities.remove(&entity) else { return false };
        let mut rows = rows.into_iter();
        let (main, row) = rows.next().unwrap();
        for (key, row) in rows {
            self.expected.extend(row.into_iter().map(|(part, n)| Event::Removed(key, part, n)));
        }
        self.expected.extend(row.iter().map(|(part, n)| Event::Removed(main, *part, *n)));
        self.expected.push(Event::Despawned(entity, row.into_iter().collect()));
        true
    }

    /// An entity comes with rows such as these.
    fn arrive(&mut self, entity: Entity, rows: &[(Key, Row)]) {
        self.spawn(entity);
        for (key, row) in rows {
            let key = Key { entity, ..*key };
            if !key.is_main() {
                self.extend(key);
            }
            row.iter().for_each(|(part, n)| self.insert(key, &[*part], *n));
        }
    }

    fn has(&self, key: Key) -> bool {
        self.entities.get(&key.entity).is_some_and(|rows| rows.iter().any(|row| row.0 == key))
    }

    fn keys(&self) -> Vec<Key> {
        self.entities.values().flatten().map(|row| row.0).collect()
    }
}

struct Test {
    world: World,
    log: Log,
    model: Model,
    rng: Rng,
    n: u32,
    watchers: Option<Watchers>,
    /// The events that a listener of ids has seen.
    by_id: Log,
    past: Option<PastValues>,
    /// Whether the step was one operation.
    is_one: bool,
}

/// Does something with one of the bundle types.
macro_rules! with_bundle {
    ($rng:expr, $name:ident => $body:expr) => {
        match $rng.below(6) {
            0 => {
                type $name = A;
                $body
            }
            1 => {
                type $name = B;
                $body
            }
            2 => {
                type $name = C;
                $body
            }
            3 => {
                type $name = D;
                $body
            }
            4 => {
                type $name = E;
                $body
            }
            _ => {
                type $name = F;
                $body
            }
        }
    };
}

impl Test {
    fn pick(&mut self) -> Option<Entity> {
        let count = self.model.entities.len();
        self.model.entities.keys().nth(self.rng.below(count.max(1))).copied()
    }

    fn pick_key(&mut self) -> Option<Key> {
        let keys = self.model.keys();
        keys.get(self.rng.below(keys.len().max(1))).copied()
    }

    fn made(&mut self, entity: Entity, parts: &[usize], n: u32) {
        self.model.spawn(entity);
        self.model.insert(Key::main(entity), parts, n);
    }

    fn some_parts(&mut self) -> Vec<usize> {
        let mut parts: Vec<usize> = (0..PARTS).filter(|_| self.rng.below(3) == 0).collect();
        if self.rng.below(2) == 0 {
            parts.reverse();
        }
        parts
    }

    fn built(&mut self) -> (BundleBuilder, Vec<usize>) {
        let (mut builder, parts) = (BundleBuilder::new(), self.some_parts());
        parts.iter().for_each(|part| add(&mut builder, *part, self.n));
        (builder, parts)
    }

    fn make(&mut self) {
        let n = self.n;
        match self.rng.below(9) {
            0 => with_bundle!(self.rng, X => {
                let e = self.world.spawn(X::of(n));
                self.made(e, X::LIST, n);
            }),
            1 => with_bundle!(self.rng, X => {
                for (e, n) in self.world.spawn_batch((n..n + 3).map(X::of)).into_iter().zip(n..) {
                    self.made(e, X::LIST, n);
                }
            }),
            2 => {
                let columns = (
                    (n..n + 4).map(Pooled::of).collect(),
                    (n..n + 4).map(Plain::of).collect(),
                    (n..n + 4).map(Lined::of).collect(),
                );
                let made = self.world.spawn_columns::<(Vec<Pooled>, Vec<Plain>, Vec<Lined>)>(columns).unwrap().to_vec();
                made.into_iter().zip(n..).for_each(|(e, n)| self.made(e, B::LIST, n));
            }
            3 => {
                let mut spawner = self.world.spawner::<E>();
                let made = [spawner.spawn(E::of(n)), spawner.spawn(E::of(n + 1))];
                made.into_iter().zip(n..).for_each(|(e, n)| self.made(e, E::LIST, n));
            }
            4 => with_bundle!(self.rng, X => {
                let e = self.world.reserve_entity();
                self.world.spawn_at(e, X::of(n)).unwrap();
                self.made(e, X::LIST, n);
            }),
            5 => {
                let (mut builder, parts) = self.built();
                let e = builder.spawn(&mut self.world);
                self.made(e, &parts, n);
            }
            6 => with_bundle!(self.rng, X => {
                let key = self.world.spawn_keyed(None, Role(n), X::of(n)).unwrap();
                self.model.spawn(key.entity);
                self.model.extend(key);
                self.model.insert(key, X::LIST, n);
            }),
            7 => {
                let Some(e) = self.pick() else { return };
                let twin = self.world.entity_mut(e).unwrap().clone_entity().unwrap();
                let rows = self.model.entities[&e].clone();
                self.model.arrive(twin, &rows);
            }
            _ => {
                let Some(e) = self.pick() else { return };
                let key = Key::main(e).with_role(Role(n));
                with_bundle!(self.rng, X => {
                    self.world.add_row(key, X::of(n)).unwrap();
                    self.model.extend(key);
                    self.model.insert(key, X::LIST, n);
                });
            }
        }
    }

    fn change(&mut self) {
        let (Some(e), Some(key)) = (self.pick(), self.pick_key()) else { return };
        let (n, main) = (self.n, Key::main(e));
        match self.rng.below(14) {
            0 => with_bundle!(self.rng, X => {
                self.world.insert(e, X::of(n)).unwrap();
                self.model.insert(main, X::LIST, n);
            }),
            1 => with_bundle!(self.rng, X => {
                self.world.entity_mut(e).unwrap().insert(X::of(n));
                self.model.insert(main, X::LIST, n);
            }),
            2 if self.rng.below(2) == 0 => {
                self.is_one = false;
                let mut access = self.world.component_mut::<Pooled>();
                if access.remove(e).unwrap().is_some() {
                    self.model.remove(main, &[Pooled::NUMBER]);
                }
                for n in [n, n + 1] {
                    access.insert(e, Pooled::of(n)).unwrap();
                    self.model.insert(main, &[Pooled::NUMBER], n);
                }
            }
            2 => {
                let part = self.rng.below(PARTS);
                let old = replace(&mut self.world, e, part, n);
                assert_eq!(old, self.model.row(main).get(&part).copied());
                if old.is_some() {
                    self.model.insert(main, &[part], n);
                }
            }
            3 => {
                if self.world.patch::<Pooled, _>(e, |pooled| pooled.0 = u64::from(n)).is_ok() {
                    let old = self.model.row(main).insert(Pooled::NUMBER, n);
                    self.model.patched.extend(old);
                    self.model.expected.push(Event::Set(main, Pooled::NUMBER, None, n));
                }
                if self
                    .world
                    .patch::<Split, _>(e, |split| (*split.a, *split.b, *split.c) = (n as u8, n, u64::from(n)))
                    .is_ok()
                {
                    let old = self.model.row(main).insert(Split::NUMBER, n);
                    self.model.patched.extend(old);
                    self.model.expected.push(Event::Set(main, Split::NUMBER, None, n));
                }
            }
            4 => with_bundle!(self.rng, X => with_bundle!(self.rng, Y => {
                self.world.exchange::<X, Y>(e, Y::of(n)).unwrap();
                self.model.insert(main, Y::LIST, n);
                let removed: Vec<_> = X::LIST.iter().copied().filter(|part| !Y::LIST.contains(part)).collect();
                self.model.remove(main, &removed);
            })),
            5 => with_bundle!(self.rng, X => {
                self.world.remove::<X>(e).unwrap();
                self.model.remove(main, X::LIST);
            }),
            6 => with_bundle!(self.rng, X => {
                if self.world.take::<X>(e).is_ok() {
                    self.model.remove(main, X::LIST);
                }
            }),
            7 => {
                let parts = self.some_parts();
                let ids = register(&mut self.world);
                let ids: Vec<_> = parts.iter().map(|part| ids[*part]).collect();
                self.world.entity_mut(e).unwrap().remove_by_ids(&ids);
                self.model.remove(main, &parts);
            }
            8 => {
                let (mut builder, parts) = self.built();
                builder.insert(&mut self.world, e).unwrap();
                self.model.insert(main, &parts, n);
            }
            9 => with_bundle!(self.rng, X => {
                self.world.row_mut(key).unwrap().insert(X::of(n));
                self.model.insert(key, X::LIST, n);
            }),
            10 => with_bundle!(self.rng, X => {
                if self.world.row_mut(key).and_then(|mut row| row.take::<X>()).is_ok() {
                    self.model.remove(key, X::LIST);
                }
            }),
            11 => with_bundle!(self.rng, X => with_bundle!(self.rng, Y => {
                self.world.row_mut(key).unwrap().exchange::<X, Y>(Y::of(n)).unwrap();
                self.model.insert(key, Y::LIST, n);
                let removed: Vec<_> = X::LIST.iter().copied().filter(|part| !Y::LIST.contains(part)).collect();
                self.model.remove(key, &removed);
            })),
            12 => {
                if self.world.row_mut(key).and_then(|mut row| row.patch::<Lined, _>(|lined| lined.0 = n as u16)).is_ok()
                {
                    let n = kept(Lined::NUMBER, n);
                    let old = self.model.row(key).insert(Lined::NUMBER, n);
                    self.model.patched.extend(old);
                    self.model.expected.push(Event::Set(key, Lined::NUMBER, None, n));
                }
                if self.world.row_mut(key).and_then(|mut row| row.replace(PooledBox::of(n))).is_ok() {
                    self.model.insert(key, &[PooledBox::NUMBER], n);
                }
            }
            _ => with_bundle!(self.rng, X => {
                self.world.row_mut(key).unwrap().remove::<X>();
                self.model.remove(key, X::LIST);
            }),
        }
    }

    fn end(&mut self) {
        let (Some(e), Some(key)) = (self.pick(), self.pick_key()) else { return };
        match self.rng.below(12) {
            0..6 => {
                self.world.despawn(e).unwrap();
                self.model.despawn(e);
            }
            6..9 if !key.is_main() => {
                self.world.remove_row(key).unwrap();
                self.model.end_row(key);
            }
            9..11 => {
                let list: Vec<_> = (0..4).filter_map(|_| self.pick()).collect();
                let despawned = self.world.despawn_batch(list.iter().copied());
                assert_eq!(despawned, list.iter().filter(|e| self.model.despawn(**e)).count());
            }
            _ if self.rng.below(8) == 0 => {
                self.world.clear();
                let mut all: Vec<_> = self.model.entities.keys().copied().collect();
                all.sort_unstable_by_key(|e| e.index());
                all.into_iter().for_each(|e| assert!(self.model.despawn(e)));
            }
            _ => {}
        }
    }

    fn batch(&mut self) {
        let all: Vec<Key> = self.world.query_filtered::<Key, With<Plain>>().iter().collect();
        let main: Vec<Key> = all.iter().copied().filter(Key::is_main).collect();
        with_bundle!(self.rng, X => {
            match self.rng.below(4) {
                0 => {
                    self.world.insert_where::<With<Plain>, X>(X::of(self.n));
                    main.into_iter().for_each(|key| self.model.insert(key, X::LIST, self.n));
                }
                1 => {
                    self.world.insert_where::<(AllRows, With<Plain>), X>(X::of(self.n));
                    all.into_iter().for_each(|key| self.model.insert(key, X::LIST, self.n));
                }
                2 => {
                    self.world.remove_where::<With<Plain>, X>();
                    main.into_iter().for_each(|key| self.model.remove(key, X::LIST));
                }
                _ => {
                    self.world.remove_where::<(AllRows, With<Plain>), X>();
                    all.into_iter().for_each(|key| self.model.remove(key, X::LIST));
                }
            }
        });
    }

    /// Commands, of which several may be about the same entity.
    fn commands(&mut self) {
        let mut commands = CommandBuffer::new();
        enum Step {
            Make(&'static [usize], u32),
            Insert(Key, &'static [usize], u32),
            Remove(Key, &'static [usize]),
            Despawn(Entity),
            Extend(Key, &'static [usize], u32),
            Delete(Key),
        }
        let mut steps = Vec::new();
        let mut known: Vec<Entity> = (0..3).filter_map(|_| self.pick()).collect();
        let mut reserved = Vec::new();
        for n in self.n..self.n + 12 {
            let e = known.get(self.rng.below(known.len().max(1))).copied();
            let extra = e.map(|e| Key::main(e).with_role(Role(self.rng.below(3) as u32 + 1)));
            match (self.rng.below(12), e) {
                (0, _) => with_bundle!(self.rng, X => {
                    let e = commands.spawn_with(&self.world, X::of(n));
                    known.push(e);
                    reserved.push(e);
                    steps.push(Step::Insert(Key::main(e), X::LIST, n));
                }),
                (1, _) => with_bundle!(self.rng, X => {
                    commands.spawn(X::of(n));
                    steps.push(Step::Make(X::LIST, n));
                }),
                (2..5, Some(e)) => with_bundle!(self.rng, X => {
                    commands.insert(e, X::of(n));
                    steps.push(Step::Insert(Key::main(e), X::LIST, n));
                }),
                (5 | 6, Some(e)) => with_bundle!(self.rng, X => {
                    commands.remove::<X>(e);
                    steps.push(Step::Remove(Key::main(e), X::LIST));
                }),
                (7, _) if extra.is_some() => with_bundle!(self.rng, X => {
                    commands.add_row(extra.unwrap(), X::of(n));
                    steps.push(Step::Extend(extra.unwrap(), X::LIST, n));
                }),
                (8, _) if extra.is_some() => with_bundle!(self.rng, X => {
                    commands.insert_into_row(extra.unwrap(), X::of(n));
                    steps.push(Step::Insert(extra.unwrap(), X::LIST, n));
                }),
                (9, _) if extra.is_some() => with_bundle!(self.rng, X => {
                    commands.remove_from_row::<X>(extra.unwrap());
                    steps.push(Step::Remove(extra.unwrap(), X::LIST));
                }),
                (10, _) if extra.is_some() => {
                    commands.remove_row(extra.unwrap());
                    steps.push(Step::Delete(extra.unwrap()));
                }
                (_, Some(e)) => {
                    commands.despawn(e);
                    steps.push(Step::Despawn(e));
                }
                _ => {}
            }
        }
        commands.apply(&mut self.world);
        reserved.into_iter().for_each(|e| self.model.spawn(e));
        for step in steps {
            match step {
                Step::Make(parts, n) => {
                    let at = self.model.expected.len();
                    let Event::Spawned(e) = self.log.lock().unwrap()[at] else { panic!("an entity is spawned first") };
                    self.made(e, parts, n);
                }
                Step::Insert(key, parts, n) if self.model.has(key) => self.model.insert(key, parts, n),
                Step::Remove(key, parts) if self.model.has(key) => self.model.remove(key, parts),
                Step::Extend(key, parts, n) if self.model.has(Key::main(key.entity)) && !self.model.has(key) => {
                    self.model.extend(key);
                    self.model.insert(key, parts, n);
                }
                Step::Delete(key) if self.model.has(key) => self.model.end_row(key),
                Step::Despawn(e) => {
                    self.model.despawn(e);
                }
                _ => {}
            }
        }
    }

    /// Moves an entity to another world and back.
    fn transfer(&mut self) {
        let Some(e) = self.pick() else { return };
        let mut other = World::new();
        let log = Log::default();
        record(&mut other, &log);
        let mut watchers = Watchers::new(&mut other, &log);
        let rows = self.model.entities[&e].clone();
        self.model.despawn(e);
        let there = self.world.entity_mut(e).unwrap().transfer(&mut other).unwrap();
        let mut far = Model::default();
        far.arrive(there, &rows);
        watchers.check(&other, &log.lock().unwrap(), true);
        let map = other.transfer_all(&mut self.world).unwrap();
        far.despawn(there);
        watchers.check(&other, &log.lock().unwrap(), true);
        assert_eq!(*log.lock().unwrap(), far.expected);
        self.model.arrive(map.get(there).unwrap(), &rows);
    }

    fn step(&mut self) {
        self.n += 20;
        self.is_one = true;
        let kind = self.rng.below(20);
        match kind {
            0..6 => self.make(),
            6..12 => self.change(),
            12..15 => self.end(),
            15 | 16 => self.batch(),
            17 | 18 => self.commands(),
            _ => self.transfer(),
        }
        let event = core::mem::take(&mut *self.log.lock().unwrap());
        if let Some(watchers) = &mut self.watchers {
            watchers.check(&self.world, &event, self.is_one);
        }
        let by_part = |events: &[Event]| -> Vec<Vec<Event>> {
            let part_of = |event: &Event| match event {
                Event::Added(_, part, _) | Event::Set(_, part, ..) | Event::Removed(_, part, _) => Some(*part),
                _ => None,
            };
            (0..PARTS).map(|part| events.iter().filter(|e| part_of(e) == Some(part)).cloned().collect()).collect()
        };
        let by_id = core::mem::take(&mut *self.by_id.lock().unwrap());
        assert_eq!(by_part(&by_id), by_part(&event), "step of kind {kind}");
        if let Some(past) = &self.past {
            let mut expected = vec![Vec::new(); PARTS];
            let mut patched = core::mem::take(&mut self.model.patched).into_iter();
            for event in &event {
                match *event {
                    Event::Set(key, part, old, _) => {
                        expected[part].push((key, Change::Set, old.unwrap_or_else(|| patched.next().unwrap())));
                    }
                    Event::Removed(key, part, old) => expected[part].push((key, Change::Removed, old)),
                    _ => {}
                }
            }
            assert_eq!(past.drain(&mut self.world), expected, "step of kind {kind}");
        }
        assert_eq!(event, core::mem::take(&mut self.model.expected), "step of kind {kind}");
        self.world.validate().unwrap();
    }
}

#[test]
fn every_change_tells_what_the_model_says() {
    for seed in 0..if cfg!(miri) { 1 } else { 30 } {
        let log = Log::default();
        let mut world = World::new();
        record(&mut world, &log);
        if seed % 2 == 1 {
            // Groups exchange values of pools when an entity enters or leaves.
            world.create_group::<(OwnedPools<(Pooled, PooledBox)>, Without<PooledVoid>)>().unwrap();
        }
        let watchers = (seed % 3 != 0).then(|| Watchers::new(&mut world, &log));
        let by_id = Log::default();
        record_by_id(&mut world, &by_id);
        let past = (seed % 2 == 0).then(|| PastValues::new(&mut world));
        let (model, rng) = (Model::default(), Rng::new(seed));
        let mut test = Test { world, log, model, rng, n: 0, watchers, by_id, past, is_one: true };
        for _ in 0..if cfg!(miri) { 60 } else { 250 } {
            test.step();
        }
        for key in test.model.keys() {
            for part in 0..PARTS {
                assert_eq!(value_of(&test.world, key, part), test.model.row(key).get(&part).copied());
            }
        }
    }
}
