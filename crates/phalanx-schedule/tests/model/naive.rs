//! The interpreter: runs systems one after another, on lists and maps.

use super::kinds::{A, C, L, Log1, Log2, Loose, P, R, S, Seed, Tag};
use super::real::spawn_count;
use super::spec::{Condition, Kind, Spec, SystemSpec, mix};
use phalanx::{Entity, World};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// An index and a generation.
type Handle = (u32, u32);

/// A value with the ticks of its addition and its last change.
type Ticked = (u32, u64, u64);

#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    a: Option<u32>,
    p: Option<u32>,
    l: Option<u32>,
    c: Option<u32>,
    r: Option<Ticked>,
    s: Option<Ticked>,
    tag: bool,
    loose: bool,
}

/// What is inserted into a row.
#[derive(Clone, Debug, Default)]
struct Values {
    a: Option<u32>,
    p: Option<u32>,
    l: Option<u32>,
    c: Option<u32>,
    r: Option<u32>,
    s: Option<u32>,
    tag: bool,
    loose: bool,
}

#[derive(Clone, Debug)]
enum Command {
    Spawn(Option<Handle>, Values),
    Insert(Handle, Values),
    RemoveTag(Handle),
    RemoveR(Handle),
    RemoveLoose(Handle),
    Despawn(Handle),
    Seed(u32),
}

/// The handles in the order in which they are given out.
#[derive(Default)]
struct Pool {
    free: VecDeque<Handle>,
    next: u32,
}

impl Pool {
    /// The handle that is given out after `n` others.
    fn nth(&mut self, n: usize) -> Handle {
        while self.free.len() <= n {
            self.free.push_back((self.next, 0));
            self.next += 1;
        }
        self.free[n]
    }

    fn take(&mut self) -> Handle {
        let handle = self.nth(0);
        self.free.pop_front();
        handle
    }
}

pub struct Naive {
    stages: Vec<Vec<String>>,
    rows: BTreeMap<u32, (u32, Row)>,
    pool: Pool,
    clock: u64,
    last_run: HashMap<String, u64>,
    seed: u32,
    logs: [Vec<u32>; 2],
    pings: Vec<u32>,
    pongs: Vec<u32>,
    cursors: HashMap<String, usize>,
    met: [bool; 2],
}

/// What a system has recorded.
#[derive(Default)]
struct Recorded {
    commands: Vec<Command>,
    pings: Vec<u32>,
    pongs: Vec<u32>,
}

/// The numbers of entities that a system has for itself, and those that all have taken beyond.
struct Numbers<'a> {
    own: std::ops::Range<usize>,
    used: &'a mut Vec<usize>,
    next: &'a mut usize,
}

fn sum(values: impl Iterator<Item = u32>) -> u32 {
    values.fold(0, |sum, value| sum.wrapping_add(mix(value, 1)))
}

impl Naive {
    /// Takes the order from what the schedule prints.
    pub fn new(spec: &Spec, printed: &str) -> Naive {
        let stage = |line: &str| line.split_once(": ").unwrap().1.split(", ").map(String::from).collect();
        let mut naive = Naive {
            stages: printed.lines().skip(1).map(stage).collect(),
            rows: BTreeMap::new(),
            pool: Pool::default(),
            clock: 1,
            last_run: HashMap::new(),
            seed: spec.seed as u32,
            logs: [Vec::new(), Vec::new()],
            pings: Vec::new(),
            pongs: Vec::new(),
            cursors: HashMap::new(),
            met: [false; 2],
        };
        for n in 0..spec.entities {
            let (even, third) = (n % 2 == 0, n % 3 == 0);
            let values = Values {
                a: Some(n),
                r: Some(n),
                c: Some(n),
                p: even.then_some(n),
                l: even.then_some(n),
                s: third.then_some(n),
                tag: third,
                loose: n % 5 == 0,
            };
            naive.apply(Command::Spawn(None, values));
        }
        (3..spec.entities).step_by(4).for_each(|n| naive.apply(Command::Despawn((n, 0))));
        naive
    }

    fn rank(&self, id: u32) -> (usize, usize) {
        let name = format!("n{id}");
        let stages = self.stages.iter().enumerate();
        let mut places = stages.filter_map(|(at, stage)| Some((at, stage.iter().position(|other| *other == name)?)));
        places.next().expect("each system is printed")
    }

    /// The printed order is one that was asked for.
    pub fn check_order(&self, spec: &Spec) {
        let check = |first: &SystemSpec, second: &SystemSpec, syncs: bool| {
            let (a, b) = (self.rank(first.id), self.rank(second.id));
            assert!(a < b, "{} before {} in {:?}", first.id, second.id, self.stages);
            assert!(!syncs || !first.kind.has_commands() || a.0 < b.0, "{} and {}", first.id, second.id);
        };
        let systems = || spec.systems.iter().filter(|system| system.kind != Kind::Sync);
        for system in systems() {
            for (other, syncs) in &system.after {
                check(&spec.systems[*other as usize], system, *syncs);
            }
            for other in &system.before {
                check(system, &spec.systems[*other as usize], true);
            }
            for other in systems().filter(|other| other.kind.reads_pings() && system.kind.sends_pings()) {
                assert_ne!(
                    (self.rank(system.id).0, true),
                    (self.rank(other.id).0, self.rank(system.id) < self.rank(other.id))
                );
            }
        }
    }

    pub fn run(&mut self, spec: &Spec) {
        for stage in self.stages.clone() {
            let system = |name: &String| {
                let id: Option<usize> = name.strip_prefix('n').and_then(|id| id.parse().ok());
                id.map(|id| &spec.systems[id])
            };
            let (mut used, mut own, mut recorded) = (Vec::new(), 0, Vec::new());
            let reserve = |system: &SystemSpec| match system.kind.has_commands() {
                true => system.reserve.unwrap_or(64) as usize,
                false => 0,
            };
            let mut next: usize = stage.iter().filter_map(system).map(reserve).sum();
            for name in &stage {
                if let Some(set) = name.strip_prefix("conditions of s") {
                    let set: usize = set.parse().unwrap();
                    self.met[set] = self.are_met(&spec.sets[set], name);
                }
                let Some(system) = system(name) else { continue };
                let numbers = own..own + reserve(system);
                own = numbers.end;
                let nested = spec.is_nested && system.sets.contains(&1);
                let in_set = |set: usize| system.sets.contains(&set) || set == 0 && nested;
                let sets_are_met = (0..2).all(|set| !in_set(set) || spec.sets[set].is_empty() || self.met[set]);
                if sets_are_met && self.are_met(&system.conditions, name) {
                    let numbers = Numbers { own: numbers, used: &mut used, next: &mut next };
                    recorded.push(self.run_system(system, name, numbers));
                }
            }
            // What was used is alive now.
            used.sort_unstable();
            let handles: Vec<Handle> = used.iter().map(|number| self.pool.nth(*number)).collect();
            self.pool.free.retain(|handle| !handles.contains(handle));
            for (index, generation) in handles {
                self.rows.insert(index, (generation, Row::default()));
            }
            for Recorded { commands, pings, pongs } in recorded {
                self.clock += 1;
                commands.into_iter().for_each(|command| self.apply(command));
                self.pings.extend(pings);
                self.pongs.extend(pongs);
            }
        }
    }

    fn are_met(&mut self, conditions: &[Condition], name: &str) -> bool {
        conditions.iter().enumerate().all(|(number, condition)| {
            let key = format!("{name}?{number}");
            match condition {
                Condition::Seed(n) => !self.seed.is_multiple_of(*n),
                Condition::EvenA => self.rows.values().filter(|(_, row)| row.a.is_some()).count().is_multiple_of(2),
                Condition::ChangedR => {
                    let since = self.since(&key);
                    self.rows.values().any(|(_, row)| row.r.is_some_and(|r| r.2 > since))
                }
                Condition::HasPing => !self.read_pings(&key).is_empty(),
                Condition::World => self.rows.len() % 2 == 1,
            }
        })
    }

    /// The tick of the last run of a query. It runs now.
    fn since(&mut self, key: &str) -> u64 {
        self.clock += 1;
        self.last_run.insert(key.into(), self.clock).unwrap_or(0)
    }

    fn read_pings(&mut self, key: &str) -> Vec<u32> {
        let cursor = self.cursors.insert(key.into(), self.pings.len()).unwrap_or(0);
        self.pings[cursor..].to_vec()
    }

    fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.values_mut().map(|(_, row)| row)
    }

    /// The sum of the values that a filter finds.
    fn found(&self, find: impl Fn(&Row) -> Option<u32>) -> u32 {
        sum(self.rows.iter().filter_map(|(index, (_, row))| Some(mix(*index, find(row)?))))
    }

    fn run_system(&mut self, system: &SystemSpec, name: &str, numbers: Numbers<'_>) -> Recorded {
        let id = system.id;
        let mut recorded = Recorded::default();
        self.clock += 1;
        let now = self.clock;
        let write = move |(value, _, changed): &mut Ticked| {
            if (*value ^ id) & 1 == 0 {
                (*value, *changed) = (mix(*value, id), now);
            }
        };
        match system.kind {
            Kind::WriteA => self.rows().filter_map(|row| row.a.as_mut()).for_each(|a| *a = mix(*a, id)),
            Kind::CopyAToP => {
                self.rows().filter_map(|row| Some((row.a?, row.p.as_mut()?))).for_each(|(a, p)| *p = mix(*p, a));
            }
            Kind::CopyPToL => {
                self.rows().filter_map(|row| Some((row.p?, row.l.as_mut()?))).for_each(|(p, l)| *l = mix(*l, p));
            }
            Kind::WriteR(tag) => {
                self.rows().filter(|row| row.tag == tag).filter_map(|row| row.r.as_mut()).for_each(write)
            }
            Kind::WriteS(loose) => {
                self.rows().filter(|row| row.loose == loose).filter_map(|row| row.s.as_mut()).for_each(write);
            }
            Kind::WriteC(loose) => {
                let rows = self.rows().filter(|row| row.loose == loose);
                rows.filter_map(|row| row.c.as_mut()).for_each(|c| *c = mix(*c, id));
            }
            Kind::ChangedR => {
                let since = self.since(name);
                let sum = self.found(|row| row.r.filter(|r| r.2 > since).map(|r| r.0));
                self.logs[0].extend([id, sum]);
            }
            Kind::AddedR => {
                let since = self.since(name);
                let sum = self.found(|row| row.r.filter(|r| r.1 > since).map(|r| r.0));
                self.logs[1].extend([id, sum]);
            }
            Kind::ChangedS => {
                let since = self.since(name);
                let sum = self.found(|row| row.s.filter(|s| s.2 > since).map(|s| s.0));
                self.logs[1].extend([id, sum]);
            }
            Kind::ChangedC => {}
            Kind::WriteChangedR => {
                let since = self.since(name);
                let now = self.clock;
                for row in self.rows() {
                    if let (Some(a), Some(r)) = (row.a, &mut row.r)
                        && r.2 > since
                        && a % 3 != 0
                    {
                        (r.0, r.2) = (mix(r.0, a), now);
                    }
                }
            }
            Kind::Spawn => self.spawn(id, numbers, &mut recorded),
            Kind::SpawnLater => {
                for n in 0..id % 5 {
                    let values = Values { a: Some(n), r: Some(n), s: Some(n), l: Some(id), ..Default::default() };
                    recorded.commands.push(Command::Spawn(None, values));
                }
            }
            Kind::Despawn => {
                let rows = self.rows.iter().filter(|(_, (_, row))| row.a.is_some_and(|a| mix(a, id) % 5 == 0));
                recorded.commands.extend(rows.map(|(index, (generation, _))| Command::Despawn((*index, *generation))));
            }
            Kind::Insert => {
                for (index, (generation, row)) in &self.rows {
                    let (handle, Some(a)) = ((*index, *generation), row.a) else { continue };
                    let value = mix(a, id);
                    recorded.commands.push(match value % 9 {
                        0 if row.tag => Command::RemoveTag(handle),
                        0 => Command::Insert(handle, Values { tag: true, loose: true, ..Default::default() }),
                        1 => Command::Insert(handle, Values { r: Some(value), p: Some(value), ..Default::default() }),
                        2 => Command::RemoveR(handle),
                        3 => Command::RemoveLoose(handle),
                        4 => Command::Insert(handle, Values { s: Some(value), c: Some(value), ..Default::default() }),
                        5 => Command::Seed(value),
                        _ => continue,
                    });
                }
            }
            Kind::Send => recorded.pings.extend((0..mix(self.seed, id) % 4).map(|n| mix(n, id))),
            Kind::ReadPing => {
                let pings = self.read_pings(name);
                self.logs[0].push(id);
                self.logs[0].extend(pings);
            }
            Kind::Relay => recorded.pongs.extend(self.read_pings(name).into_iter().map(|ping| mix(ping, id))),
            Kind::ReadPong => {
                let cursor = self.cursors.insert(name.into(), self.pongs.len()).unwrap_or(0);
                self.logs[1].push(id);
                self.logs[1].extend_from_slice(&self.pongs[cursor..]);
            }
            Kind::WriteSeed => self.seed = mix(self.seed, id),
            Kind::ReadWorld => recorded.pongs.push(self.found(|row| row.a)),
            Kind::Set => {
                let sum = sum(self.rows.values().filter_map(|(_, row)| row.a));
                self.rows().filter_map(|row| row.a.as_mut()).filter(|a| **a % 4 == 0).for_each(|a| *a = mix(*a, sum));
                self.logs[0].push(sum);
            }
            Kind::Exclusive => {
                self.seed = mix(self.seed, id);
                let values = Values { a: Some(id), r: Some(id), loose: true, ..Default::default() };
                self.apply(Command::Spawn(None, values));
                self.clock += 1;
                let now = self.clock;
                for r in self.rows().filter_map(|row| row.r.as_mut()).filter(|r| (r.0 ^ id) & 3 == 0) {
                    (r.0, r.2) = (mix(r.0, id), now);
                }
                self.pings.push(id);
            }
            Kind::Sync => {}
        }
        recorded
    }

    fn spawn(&mut self, id: u32, numbers: Numbers<'_>, recorded: &mut Recorded) {
        let Numbers { mut own, used, next } = numbers;
        for n in 0..spawn_count(self.seed, id) {
            let number = own.next().unwrap_or_else(|| {
                *next += 1;
                *next - 1
            });
            used.push(number);
            let handle = self.pool.nth(number);
            let values = Values { a: Some(n), r: Some(mix(n, id)), ..Default::default() };
            recorded.commands.push(Command::Spawn(Some(handle), values));
            match n % 4 {
                0 => {
                    let values = Values { p: Some(id), tag: true, ..Default::default() };
                    recorded.commands.push(Command::Insert(handle, values));
                }
                1 => {
                    let values = Values { s: Some(id), c: Some(id), ..Default::default() };
                    recorded.commands.push(Command::Insert(handle, values));
                }
                2 if n % 8 == 2 => recorded.commands.push(Command::Despawn(handle)),
                _ => {}
            }
            if n % 16 == 0 {
                recorded.pings.push(handle.0);
            }
        }
    }

    fn apply(&mut self, command: Command) {
        let now = self.clock;
        let find = |rows: &mut BTreeMap<u32, (u32, Row)>, handle: Handle, change: &dyn Fn(&mut Row)| {
            if let Some((generation, row)) = rows.get_mut(&handle.0)
                && *generation == handle.1
            {
                change(row);
            }
        };
        let rows = &mut self.rows;
        match command {
            Command::Spawn(handle, values) => {
                let (index, generation) = handle.unwrap_or_else(|| self.pool.take());
                let (_, row) = rows.entry(index).or_insert((generation, Row::default()));
                values.insert(row, now);
            }
            Command::Insert(handle, values) => find(rows, handle, &|row| values.insert(row, now)),
            Command::RemoveTag(handle) => find(rows, handle, &|row| row.tag = false),
            Command::RemoveR(handle) => find(rows, handle, &|row| row.r = None),
            Command::RemoveLoose(handle) => find(rows, handle, &|row| row.loose = false),
            Command::Despawn((index, generation)) => {
                if rows.get(&index).is_some_and(|row| row.0 == generation) {
                    rows.remove(&index);
                    self.pool.free.push_front((index, generation + 1));
                }
            }
            Command::Seed(value) => self.seed ^= value,
        }
    }

    /// Compares everything that the interpreter knows.
    pub fn compare(&self, world: &World) -> Result<(), String> {
        let handle = |entity: Entity| (entity.index(), entity.generation());
        let equal = |what: &str, expected: Vec<(Handle, u32)>, mut found: Vec<(Handle, u32)>| {
            found.sort_unstable();
            match expected == found {
                true => Ok(()),
                false => Err(format!("{what}: expected {expected:?}, found {found:?}")),
            }
        };
        let expected = |find: &dyn Fn(&Row) -> Option<u32>| {
            let rows =
                self.rows.iter().filter_map(|(index, (generation, row))| Some(((*index, *generation), find(row)?)));
            rows.collect::<Vec<_>>()
        };
        let entities = world.iter().map(|entity| (handle(entity), 0)).collect();
        equal("entities", expected(&|_| Some(0)), entities)?;
        macro_rules! compare {
            ($($component:ident $row:ident => $expected:expr, $found:expr;)*) => {$(
                let $row = world.query::<(Entity, &$component)>();
                let found = $row.iter().map(|(entity, value)| (handle(entity), $found(value))).collect();
                equal(stringify!($component), expected(&$expected), found)?;
            )*};
        }
        compare! {
            A row => |row| row.a, |a: &A| a.0;
            P row => |row| row.p, |p: &P| p.0;
            L row => |row| row.l, |l: &L| l.0;
            C row => |row| row.c, |c: &C| c.0;
            R row => |row| row.r.map(|r| r.0), |r: &R| r.0;
            S row => |row| row.s.map(|s| s.0), |s: &S| s.0;
            Tag row => |row| row.tag.then_some(0), |_: &Tag| 0;
            Loose row => |row| row.loose.then_some(0), |_: &Loose| 0;
        }
        let logs = [&world.resource::<Log1>().unwrap().0, &world.resource::<Log2>().unwrap().0];
        for (expected, found) in self.logs.iter().zip(logs) {
            if expected != found {
                return Err(format!("log: expected {expected:?}, found {found:?}"));
            }
        }
        match world.resource::<Seed>().unwrap().0 == self.seed {
            true => Ok(()),
            false => Err("seed".into()),
        }
    }
}

impl Values {
    fn insert(&self, row: &mut Row, now: u64) {
        let set = |value: &mut Option<u32>, new: Option<u32>| *value = new.or(*value);
        set(&mut row.a, self.a);
        set(&mut row.p, self.p);
        set(&mut row.l, self.l);
        set(&mut row.c, self.c);
        let set = |value: &mut Option<Ticked>, new: Option<u32>| {
            if let Some(new) = new {
                *value = Some((new, value.map_or(now, |old| old.1), now));
            }
        };
        set(&mut row.r, self.r);
        set(&mut row.s, self.s);
        row.tag |= self.tag;
        row.loose |= self.loose;
    }
}
