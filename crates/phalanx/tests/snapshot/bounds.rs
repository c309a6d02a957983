//! Time and memory are linear in the bytes that are read, whatever they say.
//!
//! Memory is counted by the allocator. Time is counted by what takes it: allocations, and values that are decoded.

use crate::fields::{fields, number, set};
use crate::forge::{Forged, Section};
use crate::hostile::small;
use crate::kit::*;
use phalanx::group::Observed;
use phalanx::snapshot::{Budget, Codec, CodecError, Problem, Registry, Serde, checksum};
use phalanx::timeline::{DeltaError, delta};
use phalanx::{Component, Entity, Key, Role, Without, World};
use phalanx_testkit::{Rng, catch, measure};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// How many mutations of each kind are tried.
const MUTATIONS: usize = 10_000;

/// Runs a function whose input has `input` bytes. It must not panic, and must use memory and allocations in proportion.
#[track_caller]
fn within<R>(input: usize, run: impl FnOnce() -> R) -> R {
    let (result, usage) = measure(|| catch(run));
    let result = result.unwrap_or_else(|caught| panic!("{}", caught.message()));
    let input = input as u64;
    assert!(usage.peak_bytes <= (1 << 20) + 64 * input, "a peak of {} for {input} bytes", usage.peak_bytes);
    assert!(usage.bytes_allocated <= (4 << 20) + 256 * input, "{} allocated for {input}", usage.bytes_allocated);
    assert!(usage.allocations <= 4096 + input, "{} allocations for {input} bytes", usage.allocations);
    result
}

#[track_caller]
fn load_within(registry: &Registry, file: &[u8]) -> Result<World, Problem> {
    within(file.len(), || registry.load(file)).map_err(|error| error.problem)
}

/// A number that is put in the place of another one.
fn other(rng: &mut Rng, number: u64, beside: u64) -> u64 {
    match rng.below(10) {
        0 => 0,
        1 => 1,
        2 => number.wrapping_add(1),
        3 => number.wrapping_sub(1),
        4 => number.wrapping_mul(2),
        5 => u64::MAX,
        6 => 1 << 24,
        7 => 1 << 31,
        8 => beside,
        _ => rng.below(64) as u64,
    }
}

/// A world with everything that a snapshot can have, groups and ticks included.
fn full() -> World {
    let mut world = small();
    world.create_group::<Observed<(Burning, Title)>>().unwrap();
    world.create_group::<(Observed<Burning>, Without<Marked>)>().unwrap();
    world.spawn((Armor(1), Mana("m".into()), Rage(vec![1]), Breath(3), Alert));
    world.clear_trackers();
    world.spawn((Armor(2), Burning(4), Title("lady".into()), Alert));
    world
}

#[test]
fn h62_mutated_fields_of_a_snapshot_take_linear_memory() {
    let valid = Forged::of(&bytes(&full()));
    let fields = fields(&valid);
    assert!(fields.len() > 200, "{}", fields.len());
    let attempt = |forged: &Forged| match load_within(registry(), &forged.file()) {
        Ok(world) => world.validate().map(|()| 0).unwrap(),
        Err(_) => 1,
    };
    let (mut tried, mut refused) = (0, 0);
    // Each field with numbers that are never right, or nearly so.
    for field in &fields {
        for wrong in [0, 1, 1 << 16, 1 << 24, 1 << 31, u64::MAX] {
            let mut forged = valid.clone();
            set(&mut forged, *field, wrong);
            refused += attempt(&forged);
            tried += 1;
        }
    }
    let mut rng = Rng::new(1);
    while tried < MUTATIONS {
        let mut forged = valid.clone();
        for _ in 0..1 + rng.below(3) {
            let (field, beside) = (fields[rng.below(fields.len())], fields[rng.below(fields.len())]);
            let wrong = other(&mut rng, number(&forged, field), number(&valid, beside));
            set(&mut forged, field, wrong);
        }
        if rng.chance(1, 8) {
            let (a, b) = (rng.below(forged.sections.len()), rng.below(forged.sections.len()));
            match rng.below(4) {
                0 => drop(forged.sections.remove(a)),
                1 => forged.sections.swap(a, b),
                2 => forged.sections[a].kind = valid.sections[b].kind,
                _ => forged.sections[a].flags = rng.below(4) as u32,
            }
        }
        refused += attempt(&forged);
        tried += 1;
    }
    assert!(refused > tried / 2 && refused < tried, "{refused} of {tried}");
}

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Place([u32; 2]);
#[derive(Component, Clone, Copy)]
#[component(track = "column", plain)]
struct Speed(u32);
#[derive(Component, Clone, Copy)]
#[component(track = "row", plain)]
struct Watch(u32);
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Flag;
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Heat(u64);
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", track = "row", plain)]
struct Fear(u32);
#[derive(Component, Clone, Copy)]
#[component(layout = "linear", plain)]
struct Load(u32);
#[derive(Component, Clone, Copy)]
#[component(layout = "linear", track = "row", plain)]
struct Felt;

/// The first state of a world, and the delta to a second one in which there is something new of every kind.
fn a_delta() -> (World, Vec<u8>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..12).map(|n| (Place([n; 2]), Speed(n), Heat(n.into()))));
    world.insert(all[1], (Watch(1), Fear(1), Load(1), Felt, Flag)).unwrap();
    world.add_row(Key::main(all[2]).with_role(Role(1)), Place([7; 2])).unwrap();
    world.create_group::<Observed<(Heat, Fear)>>().unwrap();
    let (first, base) = (world.checkpoint().unwrap(), world.try_clone().unwrap());
    world.insert(all[3], (Watch(3), Fear(3), Load(3), Felt, Flag)).unwrap();
    world.insert(all[1], (Place([9; 2]), Heat(9))).unwrap();
    world.despawn(all[4]).unwrap();
    world.add_row(Key::main(all[2]).with_role(Role(2)), (Watch(2), Load(2))).unwrap();
    world.spawn_batch((0..5).map(|n| (Watch(n), Fear(n), Felt)));
    world.create_group::<(Observed<Heat>, Without<Fear>)>().unwrap();
    let bytes = delta(&first, &world.checkpoint().unwrap()).unwrap();
    (base, bytes)
}

#[test]
fn h62_mutated_fields_of_a_delta_take_linear_memory() {
    let (base, valid) = a_delta();
    let before = base.checkpoint().unwrap();
    let mut world = base.try_clone().unwrap();
    // What the world has is copied. It is small beside what is allowed for the bytes.
    let mut apply = |bytes: &[u8]| {
        let done = within(bytes.len(), || world.apply_delta(bytes));
        if done.is_ok() {
            world.validate().unwrap();
            world = base.try_clone().unwrap();
        }
        done
    };
    assert_eq!(apply(&valid), Ok(()));
    let end = valid.len() - 8;
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    // All numbers have 4 bytes or are pairs of such. Values have whole words, too, but for flags of rows: every place
    // is that of a number for some of the starts.
    let put = |bytes: &mut [u8], at: usize, number: u64| {
        bytes[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
    };
    let fit = |bytes: &mut Vec<u8>| {
        let sum = checksum(0, &bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
    };
    let (mut rng, mut refused) = (Rng::new(2), 0);
    for _ in 0..MUTATIONS {
        let mut bytes = valid.clone();
        for _ in 0..1 + rng.below(3) {
            let at = if rng.chance(3, 4) { rng.below(end / 4) * 4 } else { rng.below(end - 3) };
            let beside = word(&valid, rng.below(end - 3));
            let wrong = other(&mut rng, word(&bytes, at).into(), beside.into());
            put(&mut bytes, at, wrong);
        }
        fit(&mut bytes);
        refused += usize::from(apply(&bytes).is_err());
    }
    assert!(refused > MUTATIONS / 2 && refused < MUTATIONS, "{refused}");
    // After all that was refused, the world is still in the state that deltas are for.
    assert_eq!(apply(&delta(&before, &before).unwrap()), Ok(()));
    assert!(matches!(apply(&[]), Err(DeltaError::Damaged { .. })));
}

thread_local! {
    static DECODED: Cell<u64> = const { Cell::new(0) };
}

/// A value that takes no bytes, and counts how often it is decoded.
#[derive(Debug)]
struct Nothing;

impl Serialize for Nothing {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Nothing {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Nothing, D::Error> {
        DECODED.set(DECODED.get() + 1);
        <()>::deserialize(deserializer).map(|()| Nothing)
    }
}

#[derive(Component, Serialize, Deserialize, Debug)]
struct Nothings(Vec<Nothing>);

/// A value that takes no bytes, and a lot of memory.
#[derive(Clone, Serialize, Deserialize, Debug)]
struct Skipped {
    #[serde(skip)]
    _cache: [u64; 16],
}

#[derive(Component, Serialize, Deserialize, Debug)]
struct Caches(Vec<Skipped>);

/// Returns a snapshot of `values` lists whose elements take no bytes, each of which declares `len` elements.
fn of_nothing(registry: &Registry, world: &World, values: usize, len: u32) -> Vec<u8> {
    let mut file = Vec::new();
    registry.save(world, &mut file).unwrap();
    let mut forged = Forged::of(&file);
    let bytes = &mut forged.section(b"tabl", 0).bytes;
    // The kind of table, its component, and its slots.
    bytes.truncate(1 + 8 + 4 + 4 * values);
    let value = postcard::to_allocvec(&len).unwrap();
    bytes.extend((values as u32).to_le_bytes());
    bytes.extend((values as u32 * value.len() as u32).to_le_bytes());
    (0..values).for_each(|_| bytes.extend(&value));
    forged.file()
}

/// What one value is refused, many are refused together.
#[test]
fn h62_values_without_bytes_are_bounded_by_the_load() {
    let mut registry = Registry::new();
    registry.serde::<Nothings>("nothings").unwrap();
    for values in [1, 10, 400] {
        let mut world = World::new();
        (0..values).for_each(|_| drop(world.spawn(Nothings(Vec::new()))));
        // In all, less than a million is what anybody may have.
        let file = of_nothing(&registry, &world, values, 1_000_000 / values as u32);
        assert!(load_within(&registry, &file).is_ok(), "{values}");
        for len in [2_000_000, 1 << 24, u32::MAX] {
            let file = of_nothing(&registry, &world, values, len);
            DECODED.set(0);
            let error = load_within(&registry, &file).unwrap_err();
            assert!(matches!(&error, Problem::Value { name: "nothings", .. }), "{error}");
            assert!(error.to_string().contains("too many parts that take no bytes"), "{error}");
            let decoded = DECODED.get();
            assert!(decoded <= (1 << 20) + 64 * file.len() as u64 + 1, "{decoded} for {} bytes", file.len());
        }
    }
}

#[test]
fn h62_values_without_bytes_are_bounded_by_their_size_in_memory() {
    let mut registry = Registry::new();
    registry.serde::<Caches>("caches").unwrap();
    let mut world = World::new();
    world.spawn(Caches(vec![Skipped { _cache: [0; 16] }; 4000]));
    let file = of_nothing(&registry, &world, 1, 4000);
    assert_eq!(registry.load(&*file).unwrap().query::<&Caches>().iter().next().unwrap().0.len(), 4000);
    for len in [10_000, 1 << 24] {
        let file = of_nothing(&registry, &world, 1, len);
        let (loaded, usage) = measure(|| registry.load(&*file));
        let error = loaded.unwrap_err().to_string();
        assert!(error.contains("too many parts that take no bytes"), "{error}");
        // A list that grows is there twice for a moment.
        assert!(usage.peak_bytes < 4 << 20, "{}", usage.peak_bytes);
    }
}

/// A codec that calls `Serde`, and hands on the budget or does not.
struct Wrapped<const HANDS_ON: bool>;

impl<const HANDS_ON: bool> Codec<Nothings> for Wrapped<HANDS_ON> {
    fn name(&self) -> &'static str {
        "wrapped"
    }
    fn encode(&self, value: &Nothings, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        Serde.encode(value, bytes)
    }
    fn decode(&self, bytes: &mut &[u8]) -> Result<Nothings, CodecError> {
        Serde.decode(bytes)
    }
    fn decode_within(&self, bytes: &mut &[u8], budget: &Budget) -> Result<Nothings, CodecError> {
        if HANDS_ON { Serde.decode_within(bytes, budget) } else { self.decode(bytes) }
    }
}

/// Without the budget of the load each value has a small one of its own.
#[test]
fn codecs_around_serde_are_bounded_too() {
    let load = |registry: &Registry, values: usize, len: u32| {
        let mut world = World::new();
        (0..values).for_each(|_| drop(world.spawn(Nothings(Vec::new()))));
        load_within(registry, &of_nothing(registry, &world, values, len)).is_ok()
    };
    let (mut alone, mut within) = (Registry::new(), Registry::new());
    alone.codec("nothings", Wrapped::<false>).unwrap();
    within.codec("nothings", Wrapped::<true>).unwrap();
    assert!(load(&alone, 300, 4000) && !load(&alone, 1, 5000));
    assert!(!load(&within, 300, 4000) && load(&within, 1, 5000));
}

/// Lists that have ended, and types with fields that take no bytes, cost nothing or little.
#[test]
fn values_with_bytes_are_not_charged() {
    #[derive(Component, Serialize, Deserialize, Debug, PartialEq, Clone)]
    struct Mixed(Vec<Part>);
    type Part = (u8, Vec<[u64; 8]>, (), Option<u8>);
    let mut registry = Registry::new();
    registry.serde::<Mixed>("mixed").unwrap();
    let value = Mixed(vec![(1, Vec::new(), (), None); 100_000]);
    let mut world = World::new();
    let e = world.spawn(value.clone());
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    assert_eq!(registry.load(&*file).unwrap().get::<Mixed>(e).unwrap(), &value);
}

macro_rules! many {
    ($($name:ident)*) => {
        $(
            #[derive(Component, Clone, Copy)]
            #[component(plain)]
            struct $name(u32);
        )*
        /// A world with a table for each set of these components, each with `rows` rows.
        fn tables(rows: usize) -> (Registry, World) {
            let (mut registry, mut world) = (Registry::new(), World::new());
            $(registry.plain::<$name>(stringify!($name)).unwrap();)*
            let inserts: &[fn(&mut World, Entity)] = &[$(|world, e| world.insert(e, $name(1)).unwrap()),*];
            for set in 0..1_usize << inserts.len() {
                for _ in 0..rows.max(1) {
                    let e = world.spawn_empty();
                    let some = inserts.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
                    some.for_each(|(_, insert)| insert(&mut world, e));
                }
            }
            if rows == 0 {
                world.clear();
            }
            (registry, world)
        }
    };
}
many!(C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10);

#[test]
fn h62_many_tables_take_linear_memory() {
    let (registry, world) = tables(1);
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    assert!(load_within(&registry, &file).is_ok());
}

/// A delta between states of a world with many tables without rows is small, and takes what the world does.
#[test]
fn h62_deltas_of_many_empty_tables_take_linear_memory() {
    let (_, mut world) = tables(0);
    let first = world.checkpoint().unwrap();
    let mut other = world.try_clone().unwrap();
    world.spawn(C0(1));
    let bytes = delta(&first, &world.checkpoint().unwrap()).unwrap();
    within(bytes.len() + 32 * 2048, || other.apply_delta(&bytes)).unwrap();
    assert_eq!(other.len(), 1);
}

/// Names of extra rows that a fixed hash of theirs would put into one bucket.
#[test]
fn h62_names_that_may_collide_take_linear_memory() {
    let mut world = World::new();
    let e = world.spawn_empty();
    for n in 0..20_000 {
        world.add_row(Key::main(e).with_role(Role((n + 1_u32).rotate_left(16))), Burning(1)).unwrap();
    }
    let file = bytes(&world);
    assert!(load_within(registry(), &file).is_ok());
}

/// Groups over eight stores, of which each is not named, required, or excluded. No entity has two of the components: they have no
/// members.
fn group_lists() -> Vec<[Vec<u32>; 4]> {
    let lists = (0..3_u32.pow(8)).map(|n| {
        let named = |digit: u32| (0..8).filter(move |at| n / 3_u32.pow(*at) % 3 == digit).collect::<Vec<u32>>();
        [Vec::new(), named(1), named(2), Vec::new()]
    });
    lists.filter(|[_, required, ..]| required.len() > 1).collect()
}

fn put_lists(lists: &[Vec<u32>; 4], bytes: &mut Vec<u8>) {
    for list in lists {
        bytes.extend((list.len() as u32).to_le_bytes());
        bytes.extend(list.iter().flat_map(|n| n.to_le_bytes()));
    }
}

const TOO_MANY: &str = "more groups than a world of this size may have";

/// Each group costs a walk over the shortest store that it requires. A file with very many is refused before that is done.
#[test]
fn h62_many_groups_of_a_snapshot_are_refused() {
    let mut world = World::new();
    let stores: [fn(&mut World); 8] = [
        |world| drop(world.spawn(Burning(1))),
        |world| drop(world.spawn(Title(String::new()))),
        |world| drop(world.spawn(Marked)),
        |world| drop(world.spawn(Rage(Vec::new()))),
        |world| drop(world.spawn(Health(1))),
        |world| drop(world.spawn(Seen)),
        |world| drop(world.spawn(Breath(1))),
        |world| drop(world.spawn(Alert)),
    ];
    (0..4000).for_each(|n| stores[n % 8](&mut world));
    let (mut forged, lists) = (Forged::of(&bytes(&world)), group_lists());
    let mut file = |count: usize| {
        forged.sections.retain(|section| section.kind != *b"grup");
        let mut bytes = (count as u32).to_le_bytes().to_vec();
        lists[..count].iter().for_each(|lists| put_lists(lists, &mut bytes));
        let end = forged.sections.len() - 1;
        forged.sections.insert(end, Section { kind: *b"grup", flags: 0, bytes });
        forged.file()
    };
    assert!(load_within(registry(), &file(100)).is_ok());
    assert_eq!(load_within(registry(), &file(lists.len())).unwrap_err(), Problem::Invalid(TOO_MANY));
}

macro_rules! pools {
    ($($name:ident)*) => {
        $(
            #[derive(Component, Clone, Copy)]
            #[component(layout = "pool", plain)]
            struct $name(u32);
        )*
        const POOLS: &[fn(&mut World)] = &[$(|world| drop(world.spawn($name(1)))),*];
    };
}
pools!(P0 P1 P2 P3 P4 P5 P6 P7);

#[test]
fn h62_many_groups_of_a_delta_are_refused() {
    let mut world = World::new();
    (0..400).for_each(|n| POOLS[n % 8](&mut world));
    let (first, base, lists) = (world.checkpoint().unwrap(), world.try_clone().unwrap(), group_lists());
    let valid = delta(&first, &first).unwrap();
    let apply = |count: usize| {
        // The last two numbers are those of the groups and of the resources, of which there are none.
        let mut bytes = valid[..valid.len() - 16].to_vec();
        bytes.extend((count as u32).to_le_bytes());
        for lists in &lists[..count] {
            bytes.extend([0; 4]);
            put_lists(lists, &mut bytes);
        }
        bytes.extend([0; 4]);
        let sum = checksum(0, &bytes);
        bytes.extend(sum.to_le_bytes());
        let mut world = base.try_clone().unwrap();
        within(bytes.len(), || world.apply_delta(&bytes))
    };
    assert_eq!(apply(100), Ok(()));
    assert_eq!(apply(lists.len()), Err(DeltaError::Damaged { what: TOO_MANY }));
}
