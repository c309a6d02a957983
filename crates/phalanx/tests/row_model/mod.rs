//! Random operations on rows, against a model that keeps them in lists.

use super::{Item, LEFT, Value};
use phalanx::query::{AllRows, ExtraRows};
use phalanx::{CommandBuffer, Component, ComponentId, Entity, Key, Role, Row, With, Without, World};
use phalanx_testkit::{Rng, Tally};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Depth(u32);

/// What a row has.
#[derive(Clone, Debug, Default, PartialEq)]
struct Has {
    item: Option<u32>,
    value: Option<u32>,
    depth: Option<u32>,
}

/// An entity: its rows in the order of their making, the main row first.
#[derive(Debug)]
struct Model {
    entity: Entity,
    rows: Vec<(Key, Row, Has)>,
}

struct Run {
    world: World,
    tally: Tally,
    rng: Rng,
    alive: Vec<Model>,
    ended: Vec<(Key, Row)>,
    about: ComponentId,
}

/// A world whose ids of components are others with each number.
fn new_world(n: u32) -> (World, ComponentId) {
    let mut world = World::new();
    if n % 2 == 1 {
        world.register_component::<Value>();
        world.register_component::<Item>();
    }
    let about = world.register_component::<Depth>();
    (world, about)
}

impl Run {
    fn new(seed: u64) -> Run {
        let (world, about) = new_world(0);
        Run { world, tally: Tally::new(), rng: Rng::new(seed), alive: Vec::new(), ended: Vec::new(), about }
    }

    fn key(&mut self, entity: Entity) -> Key {
        let key = Key::main(entity).with_role(Role(self.rng.below(5) as u32));
        if self.rng.chance(1, 3) { key.with_component(self.about) } else { key }
    }

    fn value(&mut self, n: u32) -> Value {
        Value(self.tally.value(n))
    }

    /// A row of an entity that is alive.
    fn any_row(&mut self) -> Option<(usize, usize)> {
        if self.alive.is_empty() {
            return None;
        }
        let at = self.rng.below(self.alive.len());
        Some((at, self.rng.below(self.alive[at].rows.len())))
    }

    fn step(&mut self, n: u32) {
        match self.rng.below(18) {
            0 => {
                let entity = self.world.spawn(Item(n));
                let row = self.world.row(Key::main(entity)).unwrap().id();
                let has = Has { item: Some(n), ..Has::default() };
                self.alive.push(Model { entity, rows: vec![(Key::main(entity), row, has)] });
            }
            1 => {
                let value = self.value(n);
                let key = self.world.spawn_keyed(self.about, LEFT, (Item(n), value)).unwrap();
                let rows = [Key::main(key.entity), key].map(|key| (key, self.world.row(key).unwrap().id()));
                let has = Has { item: Some(n), value: Some(n), depth: None };
                let rows = rows.into_iter().zip([Has::default(), has]).map(|((key, row), has)| (key, row, has));
                self.alive.push(Model { entity: key.entity, rows: rows.collect() });
            }
            2..=5 => self.extend(n),
            6 | 7 => self.update(n),
            8 => self.remove(),
            9 | 10 => self.delete(),
            11 => self.exchange(n),
            12 | 13 => self.apply(n),
            14 => self.move_away(n),
            15 | 16 => self.batch(n),
            _ => {
                if self.rng.chance(1, 2) && !self.alive.is_empty() {
                    let at = self.rng.below(self.alive.len());
                    let gone = self.alive.swap_remove(at);
                    self.world.despawn(gone.entity).unwrap();
                    self.ended.extend(gone.rows.iter().map(|(key, row, _)| (*key, *row)));
                }
            }
        }
    }

    fn extend(&mut self, n: u32) {
        let Some((at, _)) = self.any_row() else { return };
        let key = self.key(self.alive[at].entity);
        let known = self.alive[at].rows.iter().any(|(other, ..)| *other == key);
        let value = self.value(n);
        let (made, has) = match self.rng.below(3) {
            0 => (self.world.add_row(key, ()), Has::default()),
            1 => (self.world.add_row(key, (value, Depth(n))), Has { value: Some(n), depth: Some(n), item: None }),
            _ => (self.world.add_row(key, (Item(n), value)), Has { value: Some(n), depth: None, item: Some(n) }),
        };
        assert_eq!(made.is_err(), known, "{key}: {made:?}");
        if let Ok(row) = made {
            self.alive[at].rows.push((key, row, has));
        }
    }

    fn update(&mut self, n: u32) {
        let Some((at, row)) = self.any_row() else { return };
        let (key, handle, _) = self.alive[at].rows[row].clone();
        let by_key = self.rng.chance(1, 2);
        let value = self.value(n);
        let done = match by_key {
            true => self.world.row_mut(key).and_then(|mut row| row.try_insert((Depth(n), value))),
            false => self.world.row_mut(handle).and_then(|mut row| row.try_insert((Depth(n), value))),
        };
        done.unwrap();
        let has = &mut self.alive[at].rows[row].2;
        (has.depth, has.value) = (Some(n), Some(n));
    }

    fn remove(&mut self) {
        let Some((at, row)) = self.any_row() else { return };
        let (key, handle, has) = self.alive[at].rows[row].clone();
        if self.rng.chance(1, 2) {
            let had = self.world.row_mut(key).unwrap().remove::<(Value, Item)>();
            assert_eq!(had, has.value.is_some() || has.item.is_some());
            let has = &mut self.alive[at].rows[row].2;
            (has.value, has.item) = (None, None);
        } else {
            let taken = self.world.row_mut(handle).and_then(|mut row| row.take::<(Depth, Value)>());
            assert_eq!(taken.is_ok(), has.value.is_some() && has.depth.is_some());
            if let Ok((depth, value)) = taken {
                let has = &mut self.alive[at].rows[row].2;
                assert_eq!((Some(depth.0), Some(value.0.key())), (has.depth.take(), has.value.take()));
            }
        }
    }

    fn delete(&mut self) {
        let Some((at, row)) = self.any_row() else { return };
        let (key, handle, _) = self.alive[at].rows[row].clone();
        let done = if self.rng.chance(1, 2) { self.world.remove_row(key) } else { self.world.remove_row(handle) };
        assert_eq!(done.is_err(), row == 0);
        if row > 0 {
            self.alive[at].rows.remove(row);
            assert!(self.world.row(handle).is_err() && self.world.row(key).is_err());
            self.ended.push((key, handle));
        }
    }

    fn exchange(&mut self, n: u32) {
        let Some((at, row)) = self.any_row() else { return };
        let (key, handle, has) = self.alive[at].rows[row].clone();
        let value = self.value(n);
        match self.rng.below(3) {
            0 => {
                self.world.row_mut(key).unwrap().exchange::<(Depth, Item), _>((value, Item(n))).unwrap();
                self.alive[at].rows[row].2 = Has { item: Some(n), value: Some(n), depth: None };
            }
            1 => {
                let old = self.world.row_mut(handle).and_then(|mut row| row.replace(value)).ok().map(|old| old.0.key());
                assert_eq!(old, has.value);
                self.alive[at].rows[row].2.value = has.value.and(Some(n));
            }
            _ => {
                let old = self
                    .world
                    .row_mut(key)
                    .and_then(|mut row| row.patch::<Depth, _>(|depth| std::mem::replace(&mut depth.0, n)))
                    .ok();
                assert_eq!(old, has.depth);
                self.alive[at].rows[row].2.depth = has.depth.and(Some(n));
            }
        }
    }

    /// The same change for all rows of a kind.
    fn batch(&mut self, n: u32) {
        let rows = || self.alive.iter().flat_map(|model| &model.rows);
        let mains = rows().filter(|(key, _, has)| key.is_main() && has.item.is_some()).count();
        let extras = rows().filter(|(key, _, has)| !key.is_main() && has.depth.is_some()).count();
        let change = |alive: &mut [Model], main: bool, each: fn(&mut Has, u32)| {
            let rows = alive.iter_mut().flat_map(|model| &mut model.rows);
            rows.filter(|(key, ..)| key.is_main() == main).for_each(|(_, _, has)| each(has, n));
        };
        match self.rng.below(3) {
            0 => {
                assert_eq!(self.world.insert_where::<With<Item>, _>((Depth(n), Item(n))), mains);
                change(&mut self.alive, true, |has, n| {
                    if has.item.is_some() {
                        (has.depth, has.item) = (Some(n), Some(n));
                    }
                });
            }
            1 => {
                assert_eq!(self.world.remove_where::<ExtraRows, Depth>(), extras);
                change(&mut self.alive, false, |has, _| has.depth = None);
            }
            _ => {
                let changed = rows().filter(|(.., has)| has.depth.is_none()).count();
                assert_eq!(self.world.insert_where::<(AllRows, Without<Depth>), _>(Depth(n)), changed);
                for main in [true, false] {
                    change(&mut self.alive, main, |has, n| _ = has.depth.get_or_insert(n));
                }
            }
        }
    }

    /// Some changes of one entity, recorded.
    fn apply(&mut self, n: u32) {
        let Some((at, _)) = self.any_row() else { return };
        let mut rows = std::mem::take(&mut self.alive[at].rows);
        let (mut commands, mut refused) = (CommandBuffer::new(), 0);
        for n in n..n + 6 {
            let key = self.key(self.alive[at].entity);
            let found = rows.iter().position(|(other, ..)| *other == key);
            let value = self.value(n);
            match (self.rng.below(4), found) {
                (0 | 1, found) => {
                    commands.add_row(key, (Depth(n), value));
                    let has = Has { item: None, value: Some(n), depth: Some(n) };
                    match found {
                        // Its handle is not known yet.
                        None => rows.push((key, rows[0].1, has)),
                        Some(_) => refused += 1,
                    }
                }
                (2, found) => {
                    commands.insert_into_row(key, (Item(n), value));
                    match found {
                        Some(row) => (rows[row].2.item, rows[row].2.value) = (Some(n), Some(n)),
                        None => refused += 1,
                    }
                }
                (_, found) => {
                    commands.remove_row(key);
                    match found {
                        Some(row) if row > 0 => drop(rows.remove(row)),
                        _ => refused += 1,
                    }
                }
            }
        }
        assert_eq!(commands.apply(&mut self.world).skipped().len(), refused);
        rows.iter_mut().for_each(|(key, row, _)| *row = self.world.row(*key).unwrap().id());
        self.alive[at].rows = rows;
    }

    /// An entity goes to another world and comes back; or all go, and stay there.
    fn move_away(&mut self, n: u32) {
        let (mut there, about) = new_world(n);
        if self.rng.chance(1, 4) {
            let map = self.world.transfer_all(&mut there).unwrap();
            self.world.validate().unwrap();
            assert_eq!((self.world.row_count(), map.len()), (0, self.alive.len()));
            (self.world, self.about) = (there, about);
            self.ended.clear();
            (0..self.alive.len()).for_each(|at| self.rename(at, map.get(self.alive[at].entity).unwrap()));
        } else if let Some((at, _)) = self.any_row() {
            let old = self.alive[at].entity;
            there.spawn_keyed(about, LEFT, Item(0)).unwrap();
            let away = self.world.entity_mut(old).unwrap().transfer(&mut there).unwrap();
            self.world.validate().unwrap();
            there.validate().unwrap();
            assert!(!self.world.contains(old));
            assert_eq!(there.rows(away).unwrap().count(), self.alive[at].rows.len());
            self.ended.extend(self.alive[at].rows.iter().map(|(key, row, _)| (*key, *row)));
            let back = there.entity_mut(away).unwrap().transfer(&mut self.world).unwrap();
            there.validate().unwrap();
            self.rename(at, back);
        }
    }

    /// What an entity has become, in a world whose ids are the present ones.
    fn rename(&mut self, at: usize, entity: Entity) {
        self.alive[at].entity = entity;
        for (key, row, _) in &mut self.alive[at].rows {
            *key = Key { entity, component: key.component.map(|_| self.about), role: key.role };
            *row = self.world.row(*key).unwrap().id();
        }
    }

    fn check(&self) {
        let world = &self.world;
        world.validate().unwrap();
        assert_eq!(world.len(), self.alive.len());
        assert_eq!(world.row_count(), self.alive.iter().map(|m| m.rows.len()).sum::<usize>());
        let mut values = 0;
        for model in &self.alive {
            let rows = model.rows.iter().map(|(key, row, _)| (*key, *row));
            assert!(world.rows(model.entity).unwrap().eq(rows));
            for (key, row, has) in &model.rows {
                values += u32::from(has.value.is_some());
                let seen = Has {
                    item: world.row(*key).and_then(|row| row.get::<Item>()).ok().map(|item| item.0),
                    value: world.row(*row).and_then(|row| row.get::<Value>()).ok().map(|value| value.0.key()),
                    depth: world.row(*row).and_then(|row| row.get::<Depth>()).ok().map(|depth| depth.0),
                };
                assert_eq!(&seen, has, "{key}");
            }
        }
        assert_eq!(self.tally.live(), values);
        assert!(self.ended.iter().all(|(_, row)| row.is_main() || world.row(*row).is_err()));
        let mut queried: Vec<(Key, Row, Option<u32>)> =
            world.query::<(Key, Row, Option<&Item>)>().iter().map(|(k, r, i)| (k, r, i.map(|i| i.0))).collect();
        let mut expected: Vec<_> =
            self.alive.iter().flat_map(|m| m.rows.iter().map(|(k, r, has)| (*k, *r, has.item))).collect();
        queried.sort();
        expected.sort();
        assert_eq!(queried, expected);
        // Without a term or a filter that asks for rows, each entity comes once.
        let of = |kind: fn(&Key) -> bool, passes: fn(&Has) -> bool| {
            let rows = self.alive.iter().flat_map(|model| &model.rows);
            let mut owners: Vec<Entity> =
                rows.filter(|(key, _, has)| kind(key) && passes(has)).map(|(key, ..)| key.entity).collect();
            owners.sort();
            owners
        };
        let sorted = |mut found: Vec<Entity>| {
            found.sort();
            found
        };
        assert_eq!(sorted(world.query::<Entity>().iter().collect()), of(Key::is_main, |_| true));
        let shallow = || world.query_filtered::<Entity, Without<Depth>>();
        assert_eq!(sorted(shallow().iter().collect()), of(Key::is_main, |has| has.depth.is_none()));
        let extra = world.query_filtered::<Entity, (Without<Depth>, ExtraRows)>().iter().collect();
        assert_eq!(sorted(extra), of(|key| !key.is_main(), |has| has.depth.is_none()));
        let all = world.query_filtered::<(Entity, &Item), (With<Value>, AllRows)>();
        let all = all.iter().map(|(entity, _)| entity).collect();
        assert_eq!(sorted(all), of(|_| true, |has| has.item.is_some() && has.value.is_some()));
    }
}

#[test]
fn random_operations_agree_with_a_model() {
    for seed in 0..6 {
        let mut run = Run::new(seed);
        for n in 0..500 {
            run.step(n);
            run.check();
        }
        run.world.clear();
        run.alive.clear();
        run.check();
        run.tally.assert_sound();
    }
}

#[test]
fn equal_histories_give_equal_orders() {
    let order = || {
        let mut run = Run::new(77);
        (0..400).for_each(|n| run.step(n));
        run.world.query::<(Key, Row)>().iter().collect::<Vec<_>>()
    };
    assert_eq!(order(), order());
}
