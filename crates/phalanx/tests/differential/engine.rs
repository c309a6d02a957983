//! Operations made of bytes, carried out on a world and on a naive model of it.
//!
//! The bytes come from a generator (`tests/differential.rs`) or from a fuzzer; any bytes are a program. Before an operation
//! one of three dials may be set: the n-th allocation fails, the n-th callback panics, the n-th destructor panics. What the
//! world promises then is what the model does: an error means that nothing happened, a panic of a callback before the commit
//! too, a panic of a destructor or of a listener means that the operation stands.

use super::kinds::{
    ConstructorPanicked, Heard, KINDS, ListenerPanicked, NAMES, PILES, Pile, REQUIRED, add, arm_constructors, enter,
    keep, listen, prepare, read, read_row, register, replace, requires, retain,
};
use super::squads::{CULLS, RETAINS, SEARCHES, SQUADS, removal, reorder};
use phalanx::group::PoolError;
use phalanx::store::{Entity, FreeListError};
use phalanx::{BundleBuilder, CommandBuffer, CommandError, Key, Role, RowError, StructuralError, World};
use phalanx_testkit::{Site, Tally, catch, fail_nth, quiet_panics};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The bytes of a program.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The components of one row, by kind: what is left of the key of each.
type Bag = [Option<u32>; KINDS];

fn give(bag: &mut Bag, pile: &Pile, key: u32) {
    give_kinds(bag, pile.given(key), key);
}

fn give_kinds(bag: &mut Bag, kinds: impl Iterator<Item = usize>, key: u32) {
    let kinds: Vec<usize> = kinds.collect();
    kinds.iter().for_each(|kind| bag[*kind] = Some(keep(*kind, key)));
    for required in kinds.iter().flat_map(|kind| requires(*kind)) {
        bag[*required] = bag[*required].or(Some(keep(*required, REQUIRED)));
    }
}

fn rob(bag: &mut Bag, kinds: &[usize]) -> bool {
    let before = bag.iter().flatten().count();
    kinds.iter().for_each(|kind| bag[*kind] = None);
    bag.iter().flatten().count() < before
}

/// What there should be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    entities: BTreeMap<Entity, Bag>,
    rows: BTreeMap<(Entity, u32), Bag>,
    /// The groups that there are, by number.
    squads: BTreeSet<usize>,
}

impl Model {
    fn end(&mut self, entity: Entity) -> bool {
        self.rows.retain(|(owner, _), _| *owner != entity);
        self.entities.remove(&entity).is_some()
    }
}

/// How an operation on the world ended.
enum Outcome<T> {
    /// It returned.
    Returned(T),
    /// The destructor of a value panicked, or a listener: the operation stands.
    LatePanic,
    /// A callback panicked.
    CallbackPanicked,
}

/// Which dials an operation can be tried with.
#[derive(Clone, Copy, PartialEq)]
enum Dials {
    All,
    /// The operation has no form that returns an error if allocation fails.
    NoMemory,
    None,
}

pub(crate) struct Engine<'t> {
    world: World,
    model: Model,
    tally: &'t Tally,
    /// All entities that ever existed.
    all: Vec<Entity>,
    key: u32,
    /// What listeners hear, if there are any.
    heard: Option<Arc<Heard>>,
    /// For each query and each kind of rows, the rows that observers have seen enter and not leave.
    matched: Vec<BTreeSet<Key>>,
    /// A listener has panicked: not everything was heard.
    deaf: bool,
    /// Used again and again.
    builder: BundleBuilder,
}

impl<'t> Engine<'t> {
    /// An engine whose world has listeners, or has none.
    pub(crate) fn new(tally: &'t Tally, listens: bool) -> Self {
        // What catches panics needs memory when it is used first, which is none of the world's.
        quiet_panics(|| ());
        let mut world = World::new();
        register(&mut world);
        let heard = listens.then(Heard::new);
        if let Some(heard) = &heard {
            listen(&mut world, heard);
            let ways = SEARCHES.iter().flat_map(|search| &search.ways);
            ways.enumerate().for_each(|(number, ways)| (ways.observe)(&mut world, number, heard));
        }
        let (model, matched) = (Model::default(), vec![BTreeSet::new(); SEARCHES.len() * 3]);
        Engine {
            world,
            model,
            tally,
            all: Vec::new(),
            key: 1,
            heard,
            matched,
            deaf: false,
            builder: BundleBuilder::new(),
        }
    }

    /// Carries out a whole program.
    pub(crate) fn run(mut self, input: &mut Input<'_>) {
        while !input.is_empty() {
            self.step(input);
            self.check();
        }
    }

    fn who(&self, input: &mut Input<'_>) -> Option<Entity> {
        let n = input.byte();
        match n % 8 {
            // Often one that is dead by now.
            0 => self.all.get(usize::from(n / 8) % self.all.len().max(1)).copied(),
            _ => self.model.entities.keys().nth(usize::from(n) % self.model.entities.len().max(1)).copied(),
        }
    }

    /// Some entities, dead ones among them.
    fn some(&self, input: &mut Input<'_>) -> Vec<Entity> {
        (0..input.below(9)).filter_map(|_| self.who(input)).collect()
    }

    fn fresh_key(&mut self) -> u32 {
        self.key += 1;
        self.key
    }

    /// Runs an operation on the world with a dial set as the input says.
    fn attempt<T>(&mut self, input: &mut Input<'_>, dials: Dials, run: impl FnOnce(&mut World) -> T) -> Outcome<T> {
        let (dial, n) = (input.byte() % 16, u64::from(input.byte() % 12) + 1);
        let (world, tally) = (&mut self.world, self.tally);
        let caught = match dial {
            0..3 if dials == Dials::All => fail_nth(n, || catch(|| run(world))).0,
            3..6 if dials != Dials::None => {
                tally.arm(Site::Drop, n);
                catch(|| run(world))
            }
            7 if dials != Dials::None => {
                if let Some(heard) = &self.heard {
                    heard.arm(n as i64);
                }
                catch(|| run(world))
            }
            6 if dials != Dials::None => {
                tally.arm(Site::Callback, n % 2 + 1);
                arm_constructors(n % 5 + 1);
                catch(|| run(world))
            }
            _ => catch(|| run(world)),
        };
        tally.disarm(Site::Drop);
        tally.disarm(Site::Callback);
        arm_constructors(0);
        if let Some(heard) = &self.heard {
            heard.arm(0);
        }
        match caught {
            Ok(value) => Outcome::Returned(value),
            Err(panic) if panic.is::<ListenerPanicked>() => {
                self.deaf = true;
                Outcome::LatePanic
            }
            Err(panic) if panic.is::<ConstructorPanicked>() => Outcome::CallbackPanicked,
            Err(panic) => match panic.injected() {
                Some(injected) if injected.site == "drop" => Outcome::LatePanic,
                Some(_) => Outcome::CallbackPanicked,
                None => panic.resume(),
            },
        }
    }

    /// An operation that either is carried out or changes nothing. `valid` is whether it can be carried out with memory
    /// enough. Whether it was.
    fn all_or_nothing<T, E: Refused>(
        &mut self,
        input: &mut Input<'_>,
        valid: bool,
        run: impl FnOnce(&mut World) -> Result<T, E>,
    ) -> (bool, Option<T>) {
        match self.attempt(input, Dials::All, run) {
            Outcome::Returned(Ok(value)) => {
                assert!(valid, "carried out what cannot be");
                (true, Some(value))
            }
            Outcome::Returned(Err(error)) => {
                assert!(error.is_memory() || !valid, "refused: {error:?}");
                (false, None)
            }
            // The destructor may be that of a bundle that was not inserted.
            Outcome::LatePanic => (valid, None),
            Outcome::CallbackPanicked => (false, None),
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let (tally, key) = (self.tally, self.fresh_key());
        let op = input.below(35);
        let pile = &PILES[input.below(PILES.len())];
        let who = self.who(input);
        let mut with = [None; KINDS];
        give(&mut with, pile, key);
        match (op, who) {
            (0..3, _) => {
                let (done, made) = self.all_or_nothing(input, true, |world| (pile.spawn)(world, tally, key));
                if done {
                    let entity = made.unwrap_or_else(|| self.newcomer());
                    self.born(entity, with);
                }
            }
            (3, _) => {
                let count = input.below(6) as u32;
                let made = self.attempt(input, Dials::None, |world| (pile.spawner)(world, tally, key, count));
                let Outcome::Returned(made) = made else { unreachable!("no dial is set") };
                for (n, entity) in (0..).zip(made) {
                    let mut with = [None; KINDS];
                    give(&mut with, pile, key + n);
                    self.born(entity, with);
                }
                self.key += count;
            }
            (4, _) => {
                let mut builder = core::mem::take(&mut self.builder);
                builder.clear();
                let kinds: Vec<usize> = (0..input.below(5)).map(|_| input.below(KINDS)).collect();
                kinds.iter().for_each(|kind| add(&mut builder, tally, *kind, key));
                let mut with = [None; KINDS];
                give_kinds(&mut with, kinds.iter().copied(), key);
                match who.filter(|_| input.below(2) == 0) {
                    None => {
                        let (done, made) = self.all_or_nothing(input, true, |world| builder.try_spawn(world));
                        if done {
                            let entity = made.unwrap_or_else(|| self.newcomer());
                            self.born(entity, with);
                        }
                    }
                    Some(e) => {
                        let alive = self.model.entities.contains_key(&e);
                        let (done, _) = self.all_or_nothing(input, alive, |world| builder.try_insert(world, e));
                        if done {
                            give_kinds(self.model.entities.get_mut(&e).unwrap(), kinds.iter().copied(), key);
                        }
                    }
                }
                self.builder = builder;
            }
            (24, _) => {
                let number = input.below(SQUADS.len());
                match self.model.squads.contains(&number) {
                    true if input.below(3) == 0 => {
                        self.model.squads.remove(&number);
                        assert!((SQUADS[number].end)(&mut self.world));
                    }
                    true => {
                        let (how, list) = (input.below(5), self.some(input));
                        // Sorting changes no more than the order, whether there is memory or not.
                        self.attempt(input, Dials::All, |world| (SQUADS[number].sort)(world, how, &list));
                    }
                    // Two that would own a pool, one of another's kind of removal, no memory: refused, and nothing happens.
                    false => {
                        let made = self.attempt(input, Dials::All, |world| (SQUADS[number].make)(world));
                        if let Outcome::Returned(Ok(())) = made {
                            self.model.squads.insert(number);
                        }
                    }
                }
            }
            (25, _) => {
                let choice = input.below(3);
                removal(&mut self.world, choice);
            }
            (26, _) => {
                let (choice, list) = (input.below(9), self.some(input));
                self.attempt(input, Dials::All, |world| reorder(world, choice, &list));
            }
            (32, _) => {
                let (kind, retain) = RETAINS[input.below(RETAINS.len())];
                let (done, removed) = self.all_or_nothing(input, true, |world| retain(world, tally));
                if done {
                    let bags = self.model.entities.values_mut().chain(self.model.rows.values_mut());
                    let count = bags.filter_map(|bag| bag[kind].take_if(|key| *key % 2 == 1)).count();
                    assert!(removed.is_none_or(|removed| removed == count));
                }
            }
            (34, _) => {
                // The order in which free slots are used, which nothing else depends on.
                let mut free: Vec<Entity> = self.world.free_entities().collect();
                free.reverse();
                let set = |world: &mut World| match world.set_free_entities(&free) {
                    Err(FreeListError::Alloc(error)) => Err(StructuralError::Alloc(error)),
                    set => {
                        set.expect("the free entities");
                        Ok(())
                    }
                };
                if self.all_or_nothing(input, true, set).0 {
                    assert!(self.world.free_entities().eq(free));
                }
            }
            (27, _) => self.batch(input, pile),
            (28, _) => {
                let (kind, parity) = (input.below(KINDS), input.below(2) as u32);
                prepare(&mut self.world, kind);
                let bags = || self.model.entities.values().chain(self.model.rows.values());
                let removed = bags().filter(|bag| bag[kind].is_some_and(|value| value % 2 != parity)).count();
                let (done, count) = self.all_or_nothing(input, true, |world| retain(world, tally, kind, parity));
                assert!(count.is_none_or(|count| count == removed));
                if done {
                    for bag in self.model.entities.values_mut().chain(self.model.rows.values_mut()) {
                        bag[kind] = bag[kind].filter(|value| value % 2 == parity);
                    }
                }
            }
            (29, _) if input.byte() < 64 => {
                let cull = &CULLS[input.below(CULLS.len())];
                let main =
                    self.model.entities.iter().filter(|(_, bag)| (cull.finds)(&bag[..])).map(|(entity, _)| *entity);
                let rows = self.model.rows.iter().filter(|(_, bag)| cull.extra && (cull.finds)(&bag[..]));
                let found: BTreeSet<Entity> = main.chain(rows.map(|((owner, _), _)| *owner)).collect();
                let (done, count) = self.all_or_nothing(input, true, cull.run);
                assert!(count.is_none_or(|count| count == found.len()));
                if done {
                    found.into_iter().for_each(|entity| assert!(self.model.end(entity)));
                }
            }
            (_, None) => {}
            (29..31, Some(e)) => {
                let alive = self.model.entities.contains_key(&e);
                if self.all_or_nothing(input, alive, |world| (pile.insert_new)(world, tally, e, key)).0 {
                    let bag = self.model.entities.get_mut(&e).unwrap();
                    let new: Vec<usize> = pile.given(key).filter(|kind| bag[*kind].is_none()).collect();
                    give_kinds(bag, new.into_iter(), key);
                }
            }
            (31, Some(e)) => {
                let Some(to) = self.who(input) else { return };
                let bag = self.model.entities.get(&e);
                let is_there = |bag: &Bag, kind: &usize| bag[*kind].is_some() || pile.optional.contains(kind);
                let has_all = bag.is_some_and(|bag| pile.kinds.iter().all(|kind| is_there(bag, kind)));
                let valid = has_all && self.model.entities.contains_key(&to);
                let moved = bag.copied();
                let (done, _) = self.all_or_nothing(input, valid, |world| (pile.move_to)(world, e, to));
                if done && e != to {
                    rob(self.model.entities.get_mut(&e).unwrap(), pile.kinds);
                    let (bag, moved) = (self.model.entities.get_mut(&to).unwrap(), moved.unwrap());
                    let kinds = pile.kinds.iter().filter(|kind| moved[**kind].is_some());
                    kinds.clone().for_each(|kind| bag[*kind] = moved[*kind]);
                    for required in kinds.flat_map(|kind| requires(*kind)) {
                        bag[*required] = bag[*required].or(Some(keep(*required, REQUIRED)));
                    }
                }
            }
            (33, Some(e)) => {
                let (kind, bag) = (input.below(KINDS), self.model.entities.get(&e));
                let old = bag.map(|bag| bag[kind]);
                let (done, removed) =
                    self.all_or_nothing(input, old.is_some(), |world| enter(world, e, tally, kind, key));
                assert!(removed.is_none_or(|removed| Some(removed) == old));
                if let (true, Some(bag)) = (done, self.model.entities.get_mut(&e)) {
                    match bag[kind].take() {
                        Some(_) => {}
                        None => give_kinds(bag, core::iter::once(kind), key),
                    }
                }
            }
            (5..9, Some(e)) => {
                let alive = self.model.entities.contains_key(&e);
                let run = if op == 8 { pile.insert_with } else { pile.insert };
                if self.all_or_nothing(input, alive, |world| run(world, tally, e, key)).0 {
                    give(self.model.entities.get_mut(&e).unwrap(), pile, key);
                }
            }
            (9..11, Some(e)) => {
                let bag = self.model.entities.get(&e);
                let had = bag.is_some_and(|bag| pile.kinds.iter().any(|kind| bag[*kind].is_some()));
                let (done, removed) = self.all_or_nothing(input, bag.is_some(), |world| (pile.remove)(world, e));
                assert!(removed.is_none_or(|removed| removed == had));
                if done {
                    rob(self.model.entities.get_mut(&e).unwrap(), pile.kinds);
                }
            }
            (11, Some(e)) => {
                let bag = self.model.entities.get(&e);
                let has = |bag: &Bag, kind: &usize| bag[*kind].is_some() || pile.optional.contains(kind);
                let valid = bag.is_some_and(|bag| pile.kinds.iter().all(|kind| has(bag, kind)));
                let expected: Bag = core::array::from_fn(|kind| bag.filter(|_| pile.kinds.contains(&kind))?[kind]);
                let (done, taken) = self.all_or_nothing(input, valid, |world| (pile.take)(world, e));
                if let Some(taken) = taken {
                    assert_eq!(taken, expected);
                }
                if done {
                    rob(self.model.entities.get_mut(&e).unwrap(), pile.kinds);
                }
            }
            (12, Some(e)) => {
                let kind = pile.kinds[0];
                let old = self.model.entities.get(&e).and_then(|bag| bag[kind]);
                let outcome = self.attempt(input, Dials::NoMemory, |world| replace(world, e, tally, kind, key));
                if let Outcome::Returned(replaced) = outcome {
                    assert_eq!(replaced, old);
                }
                if old.is_some() {
                    self.model.entities.get_mut(&e).unwrap()[kind] = Some(keep(kind, key));
                }
            }
            (13, Some(e)) => {
                let alive = self.model.entities.contains_key(&e);
                let kinds: Vec<usize> = (0..input.below(4)).map(|_| input.below(KINDS)).collect();
                let ids: Vec<_> = kinds.iter().map(|kind| phalanx::ComponentId::from_index(1 + *kind as u32)).collect();
                if self
                    .all_or_nothing(input, alive, |world| {
                        world
                            .entity_mut(e)
                            .map_err(StructuralError::from)
                            .and_then(|mut entity| entity.try_remove_by_ids(&ids))
                    })
                    .0
                {
                    rob(self.model.entities.get_mut(&e).unwrap(), &kinds);
                }
            }
            (14..17, Some(e)) => {
                let alive = self.model.entities.contains_key(&e);
                if self.all_or_nothing(input, alive, |world| world.try_despawn(e)).0 {
                    self.model.end(e);
                }
            }
            (17, Some(_)) if input.byte() < 16 => {
                if self.all_or_nothing(input, true, World::try_clear).0 {
                    self.model.entities.clear();
                    self.model.rows.clear();
                }
            }
            (17..20, Some(e)) => self.row(input, e, pile, with, key),
            (20, Some(e)) => {
                // An entity that was despawned, or whose slot never existed.
                let bag = self.model.entities.get(&e);
                let bare = bag.is_some_and(|bag| *bag == [None; KINDS]);
                let outcome = self.attempt(input, Dials::All, |world| (pile.spawn_at)(world, tally, e, key));
                match outcome {
                    Outcome::Returned(Ok(())) if bag_is(&self.model, e) => {
                        assert!(bare, "made an entity that was there");
                        give(self.model.entities.get_mut(&e).unwrap(), pile, key);
                    }
                    Outcome::Returned(Ok(())) => panic!("an entity that was dead is alive again"),
                    Outcome::Returned(Err(error)) => assert!(error.is_memory() || !bare, "refused: {error:?}"),
                    Outcome::LatePanic if bare => give(self.model.entities.get_mut(&e).unwrap(), pile, key),
                    Outcome::LatePanic => {}
                    Outcome::CallbackPanicked => {}
                }
            }
            (_, Some(_)) => self.commands(input),
        }
    }

    /// Bundles for several entities, which may repeat or be dead.
    fn batch(&mut self, input: &mut Input<'_>, pile: &'static Pile) {
        let mut pairs = Vec::new();
        for _ in 0..input.below(6) {
            let key = self.fresh_key();
            pairs.extend(self.who(input).map(|entity| (entity, key)));
        }
        let (tally, valid) = (self.tally, pairs.iter().all(|(entity, _)| self.model.entities.contains_key(entity)));
        let done = self.all_or_nothing(input, valid, |world| (pile.insert_batch)(world, tally, &pairs)).0;
        if done {
            let last: BTreeMap<Entity, u32> = pairs.into_iter().collect();
            for (entity, key) in last {
                give(self.model.entities.get_mut(&entity).unwrap(), pile, key);
            }
        }
    }

    /// The entity that the model does not know: it was made by an operation that a panic kept from saying so.
    fn newcomer(&self) -> Entity {
        let mut new = self.world.iter().filter(|e| !self.model.entities.contains_key(e));
        let entity = new.next().expect("an operation that stands has made an entity");
        assert!(new.next().is_none());
        entity
    }

    fn born(&mut self, entity: Entity, with: Bag) {
        assert!(!self.all.contains(&entity), "a handle that was given out before");
        self.all.push(entity);
        self.model.entities.insert(entity, with);
    }

    /// Something with an extra row.
    fn row(&mut self, input: &mut Input<'_>, e: Entity, pile: &'static Pile, with: Bag, value: u32) {
        let tally = self.tally;
        let role = 1 + input.below(3) as u32;
        let key = Key::main(e).with_role(Role(role));
        let (alive, there) = (self.model.entities.contains_key(&e), self.model.rows.contains_key(&(e, role)));
        match input.below(6) {
            0..3 => {
                let valid = alive && !there;
                if self.all_or_nothing(input, valid, |world| (pile.extend)(world, tally, key, value)).0 {
                    self.model.rows.insert((e, role), with);
                }
            }
            3 => {
                if self.all_or_nothing(input, there, |world| (pile.update)(world, tally, key, value)).0 {
                    give(self.model.rows.get_mut(&(e, role)).unwrap(), pile, value);
                }
            }
            4 => {
                if self.all_or_nothing(input, there, |world| (pile.remove_row)(world, key)).0 {
                    rob(self.model.rows.get_mut(&(e, role)).unwrap(), pile.kinds);
                }
            }
            _ => {
                if self.all_or_nothing(input, there, |world| world.remove_row(key)).0 {
                    self.model.rows.remove(&(e, role));
                }
            }
        }
    }

    /// A few recorded commands, applied at once: all of them, or none.
    fn commands(&mut self, input: &mut Input<'_>) {
        let (mut commands, mut model, mut valid) = (CommandBuffer::new(), self.model.clone(), true);
        let (mut promised, mut later) = (Vec::new(), None);
        for _ in 0..1 + input.below(6) {
            let (key, pile) = (self.fresh_key(), &PILES[input.below(PILES.len())]);
            let mut with = [None; KINDS];
            give(&mut with, pile, key);
            match (input.below(9), self.who(input)) {
                (0, _) => {
                    let entity = (pile.record_spawn)(&mut commands, &self.world, self.tally, key);
                    promised.push(entity);
                    model.entities.insert(entity, with);
                }
                (1, _) if later.is_none() => {
                    (pile.record_make)(&mut commands, self.tally, key);
                    later = Some(with);
                }
                (_, None) => {}
                (2..5, Some(e)) => {
                    (pile.record_insert)(&mut commands, self.tally, e, key);
                    match model.entities.get_mut(&e) {
                        Some(bag) => give(bag, pile, key),
                        None => valid = false,
                    }
                }
                (5..7, Some(e)) => {
                    (pile.record_remove)(&mut commands, e);
                    match model.entities.get_mut(&e) {
                        Some(bag) => drop(rob(bag, pile.kinds)),
                        None => valid = false,
                    }
                }
                (7, Some(e)) => {
                    let mut builder = BundleBuilder::new();
                    let kinds: Vec<usize> = (0..input.below(4)).map(|_| input.below(KINDS)).collect();
                    kinds.iter().for_each(|kind| add(&mut builder, self.tally, *kind, key));
                    commands.insert_dynamic(e, builder);
                    match model.entities.get_mut(&e) {
                        Some(bag) => give_kinds(bag, kinds.into_iter(), key),
                        None => valid = false,
                    }
                }
                (_, Some(e)) => {
                    commands.despawn(e);
                    valid &= model.end(e);
                }
            }
        }
        let before: Vec<Entity> = self.world.iter().collect();
        let (done, _) = self.all_or_nothing(input, valid, |world| commands.try_apply(world));
        self.all.extend(&promised);
        if done {
            if let Some(with) = later {
                let new = |e: &Entity| !before.contains(e) && !promised.contains(e) && !model.entities.contains_key(e);
                let made: Vec<Entity> = self.world.iter().filter(new).collect();
                assert_eq!(made.len(), 1, "one entity was to be made");
                self.all.push(made[0]);
                model.entities.insert(made[0], with);
            }
            self.model = model;
        } else {
            // Entities that were reserved are alive from the next change on, without components.
            self.world.despawn_batch([]);
            for entity in promised.into_iter().filter(|e| self.world.contains(*e)) {
                self.model.entities.insert(entity, [None; KINDS]);
            }
        }
    }

    /// Compares everything.
    fn check(&mut self) {
        assert_eq!(self.world.validate(), Ok(()));
        assert!(self.world.iter().eq(self.by_index()), "other entities than there should be");
        for (entity, bag) in &self.model.entities {
            for (kind, value) in bag.iter().enumerate() {
                assert_eq!(read(&self.world, *entity, kind), *value, "{} of {entity}", NAMES[kind]);
            }
        }
        for ((owner, role), bag) in &self.model.rows {
            for (kind, value) in bag.iter().enumerate() {
                let key = Key::main(*owner).with_role(Role(*role));
                assert_eq!(read_row(&self.world, key, kind), *value, "{} of {key:?}", NAMES[kind]);
            }
        }
        assert_eq!(self.world.row_count(), self.model.entities.len() + self.model.rows.len());
        self.check_sets();
        self.check_heard();
        if let Some(dead) = self.all.iter().rev().find(|e| !self.model.entities.contains_key(e)) {
            assert!((0..KINDS).all(|kind| read(&self.world, *dead, kind).is_none()), "{dead} is dead");
        }
    }

    /// What came and did not go is what there is.
    fn check_heard(&mut self) {
        let Some(heard) = &self.heard else { return };
        let bags = || self.model.entities.values().chain(self.model.rows.values());
        for (kind, name) in NAMES.iter().enumerate() {
            let there = bags().filter(|bag| bag[kind].is_some()).count() as i64;
            match self.deaf {
                true => heard.set(kind, there),
                false => assert_eq!(heard.count(kind), there, "signals of {name}"),
            }
        }
        self.check_matches();
        self.deaf = false;
    }

    /// The rows that have entered a query and not left it are those that match.
    fn check_matches(&mut self) {
        let Some(heard) = &self.heard else { return };
        for (number, enters, key) in heard.take_matches() {
            let matched = &mut self.matched[number];
            let is_news = if enters { matched.insert(key) } else { matched.remove(&key) };
            assert!(is_news || self.deaf, "{key} enters ({enters}) query {number} twice");
        }
        let main = self.model.entities.iter().map(|(entity, bag)| (Key::main(*entity), bag));
        let extra = self.model.rows.iter().map(|((owner, role), bag)| (Key::main(*owner).with_role(Role(*role)), bag));
        let all: Vec<(Key, &Bag)> = main.chain(extra).collect();
        for (number, matched) in self.matched.iter_mut().enumerate() {
            let (search, kind) = (&SEARCHES[number / 3], number % 3);
            let visits = |key: &Key| kind == 2 || key.is_main() == (kind == 0);
            let finds = |(key, bag): &&(Key, &Bag)| visits(key) && (search.finds)(&bag[..]);
            let right: BTreeSet<Key> = all.iter().filter(finds).map(|(key, _)| *key).collect();
            match self.deaf {
                true => *matched = right,
                false => assert_eq!(*matched, right, "observers of query {number}"),
            }
        }
    }

    /// Compares groups and queries: who is in them, each row once. Extra rows are in no group, and a query finds them if it
    /// asks for them.
    fn check_sets(&mut self) {
        let expected = |model: &Model, [main, extra]: [bool; 2], finds: &dyn Fn(&Bag) -> bool| {
            let entities = model.entities.iter().filter(|_| main).map(|(entity, bag)| (*entity, bag));
            let rows = model.rows.iter().filter(|_| extra).map(|((owner, _), bag)| (*owner, bag));
            let all = entities.chain(rows);
            let mut found: Vec<Entity> = all.filter(|(_, bag)| finds(bag)).map(|(entity, _)| entity).collect();
            found.sort();
            found
        };
        let sorted = |mut found: Vec<Entity>| {
            found.sort();
            found
        };
        for number in self.model.squads.iter().copied() {
            let squad = &SQUADS[number];
            let is_in = |bag: &Bag| {
                squad.required.iter().all(|kind| bag[*kind].is_some())
                    && squad.excluded.iter().all(|kind| bag[*kind].is_none())
            };
            let members = expected(&self.model, [true, false], &is_in);
            assert_eq!(sorted((squad.members)(&mut self.world)), members, "group {number}");
            for entity in self.all.iter().rev().take(8) {
                assert_eq!(
                    (squad.contains)(&mut self.world, *entity),
                    [members.contains(entity); 3],
                    "{entity} in {number}"
                );
            }
        }
        let orphans = expected(&self.model, [true, false], &|bag| *bag == [None; KINDS]);
        assert_eq!(sorted(self.world.orphans().collect()), orphans, "orphans");
        for (number, search) in SEARCHES.iter().enumerate() {
            for (rows, ways) in [[true, false], [false, true], [true, true]].into_iter().zip(&search.ways) {
                let right = expected(&self.model, rows, &|bag| (search.finds)(bag));
                let (shared, exclusive) = ((ways.shared)(&self.world), (ways.exclusive)(&mut self.world));
                assert_eq!(shared, exclusive, "the doors of query {number} differ");
                assert_eq!(sorted(shared), right, "query {number} over rows {rows:?}");
            }
        }
    }

    fn by_index(&self) -> impl Iterator<Item = Entity> {
        let mut all: Vec<Entity> = self.model.entities.keys().copied().collect();
        all.sort_by_key(|e| e.index());
        all.into_iter()
    }
}

fn bag_is(model: &Model, entity: Entity) -> bool {
    model.entities.contains_key(&entity)
}

/// Errors that may be for lack of memory.
trait Refused: std::fmt::Debug {
    fn is_memory(&self) -> bool;
}
impl Refused for StructuralError {
    fn is_memory(&self) -> bool {
        matches!(self, StructuralError::Alloc(_))
    }
}
impl Refused for RowError {
    fn is_memory(&self) -> bool {
        matches!(self, RowError::Alloc(_))
    }
}
impl Refused for PoolError {
    fn is_memory(&self) -> bool {
        matches!(self, PoolError::Alloc(_))
    }
}
impl Refused for CommandError {
    fn is_memory(&self) -> bool {
        self.error.is_memory()
    }
}
