//! Loading forged and damaged bytes.

use crate::forge::{Forged, Section};
use crate::kit::*;
use phalanx::snapshot::{Codec, CodecError, LoadError, Problem, Registry, inspect};
use phalanx::{Component, Key, Role, World};
use phalanx_testkit::{Rng, Site, Tally, catch, measure};
use serde::{Deserialize, Serialize};
use std::num::Wrapping;
use std::sync::Arc;

/// One of everything, small.
pub(crate) fn small() -> World {
    let mut world = World::new();
    let a = world.spawn((Position { x: 1.0, y: 2.0 }, Name("ann".into()), Burning(1)));
    let b = world.spawn((Velocity { x: 1.0, y: 2 }, Health(1), Title("sir".into())));
    let c = world.spawn((Enemy, Marked, Seen, Path(vec![1, 2])));
    world.insert(b, Burning(2)).unwrap();
    world.add_row(Key::main(a).with_role(Role(1)), Position { x: 3.0, y: 4.0 }).unwrap();
    world.add_row(Key::main(a).with_role(Role(2)), Name("row".into())).unwrap();
    world.despawn(c).unwrap();
    world.spawn(Likes(vec![Some(a), None]));
    let d = world.spawn_empty();
    world.spawn_empty();
    world.despawn(d).unwrap();
    world.insert_resource(Score(1, "points".into()));
    world.insert_resource(Clock(5));
    world
}

/// Loads in bounded memory, without a panic. What is loaded is a world.
#[track_caller]
pub(crate) fn attempt(file: &[u8], bound: usize) -> Result<World, LoadError> {
    let registry = registry();
    let (loaded, usage) = measure(|| catch(|| registry.load(file)));
    let loaded = loaded.unwrap_or_else(|caught| panic!("{} from {file:?}", caught.message()));
    assert!(usage.peak_bytes <= bound as u64, "{} bytes from {}", usage.peak_bytes, file.len());
    if let Ok(world) = &loaded {
        world.validate().unwrap();
    }
    // Bytes in memory are read in another way, with the same outcome.
    let (from_bytes, usage) = measure(|| catch(|| registry.load_bytes(file)));
    let from_bytes = from_bytes.unwrap_or_else(|caught| panic!("{} from {file:?}", caught.message()));
    assert!(usage.peak_bytes <= bound as u64, "{} bytes from {}", usage.peak_bytes, file.len());
    match (&loaded, &from_bytes) {
        (Ok(world), Ok(other)) => assert_eq!(bytes(world), bytes(other)),
        (loaded, from_bytes) => assert_eq!(loaded.as_ref().err(), from_bytes.as_ref().err()),
    }
    loaded
}

pub(crate) const BOUND: usize = 1 << 20;

#[test]
fn h62_truncation_at_every_byte_is_refused() {
    let file = bytes(&small());
    assert!(attempt(&file, BOUND).is_ok());
    for len in 0..file.len() {
        let error = attempt(&file[..len], BOUND).unwrap_err();
        assert!(matches!(error.problem, Problem::Truncated | Problem::NotASnapshot), "{len}: {error}");
        assert!(inspect(&file[..len]).is_err());
    }
}

#[test]
fn h62_every_flipped_bit_is_refused() {
    let mut world = World::new();
    let a = world.spawn((Position { x: 1.0, y: 2.0 }, Burning(1), Name("a".into())));
    world.add_row(Key::main(a).with_role(Role(1)), Enemy).unwrap();
    let b = world.spawn((Health(1), Marked));
    world.despawn(b).unwrap();
    let file = bytes(&world);
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(attempt(&damaged, BOUND).is_err(), "bit {bit}");
        assert!(inspect(&*damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn h62_random_bytes_are_refused() {
    let mut rng = Rng::new(7);
    let file = bytes(&small());
    for _ in 0..2000 {
        let mut random: Vec<u8> = (0..rng.below(200)).map(|_| rng.below(256) as u8).collect();
        assert!(attempt(&random, BOUND).is_err());
        random.splice(0..0, file[..16 + rng.below(64)].iter().copied());
        assert!(attempt(&random, BOUND).is_err());
    }
}

#[derive(Component, Clone, Copy)]
#[component(plain)]
#[repr(C)]
struct Wide([u8; 64]);

/// Four small changes, 64 bytes apart, that leave a sum of additions as it was.
#[test]
fn h62_structured_changes_of_values_give_other_checksums() {
    let mut registry = Registry::new();
    registry.plain::<Wide>("wide").unwrap();
    let world = |column: &[u8]| {
        let mut world = World::new();
        column.as_chunks().0.iter().for_each(|row| drop(world.spawn(Wide(*row))));
        world
    };
    let column: Vec<u8> = (0..10 * 64).map(|i| (i * i / 7) as u8).collect();
    let whole = registry.checksum(&world(&column)).unwrap();
    let mut file = Vec::new();
    registry.save(&world(&column), &mut file).unwrap();
    let start = file.windows(column.len()).position(|bytes| bytes == column).unwrap();
    let patterns = (0..64).step_by(5).flat_map(|bit| {
        let (one, turned) = (Wrapping(1_u64 << bit), Wrapping(1_u64.rotate_left(bit + 32)));
        let two = turned + turned;
        [[one, -one, -two, turned], [Wrapping(0), one, -(one + two), one + turned]]
    });
    let mut guesses = 0;
    for (from, pattern) in
        patterns.flat_map(|pattern| (0..column.len() - 200).step_by(3).map(move |from| (from, pattern)))
    {
        let change = |bytes: &mut [u8]| {
            for (i, change) in pattern.iter().enumerate() {
                let word = bytes[from + 64 * i..].first_chunk_mut::<8>().unwrap();
                *word = (Wrapping(u64::from_le_bytes(*word)) + *change).0.to_le_bytes();
            }
        };
        let mut other = column.clone();
        change(&mut other);
        assert_ne!(registry.checksum(&world(&other)), Ok(whole), "{pattern:?} from {from}");
        let mut damaged = file.clone();
        change(&mut damaged[start..start + column.len()]);
        assert_eq!(registry.load(&*damaged).unwrap_err().problem, Problem::Checksum, "{pattern:?} from {from}");
        guesses += 1;
    }
    assert!(guesses > 3000, "{guesses}");
}

/// Contents that are changed at random under checksums that fit: most are refused, and what is not is a world.
#[test]
fn h62_forged_contents_are_refused_or_a_world() {
    let forged = Forged::of(&bytes(&small()));
    let mut refused = 0;
    for (at, section) in forged.sections.iter().enumerate() {
        for byte in 0..section.bytes.len() {
            for change in [1, 0x40, 0x80, 0xff] {
                let mut other = forged.clone();
                other.sections[at].bytes[byte] ^= change;
                refused += u32::from(attempt(&other.file(), BOUND).is_err());
                let _ = inspect(&*other.file());
            }
        }
    }
    assert!(refused > 500, "{refused}");
    let mut rng = Rng::new(11);
    for _ in 0..3000 {
        let mut other = forged.clone();
        for _ in 0..1 + rng.below(3) {
            let count = other.sections.len();
            let at = rng.below(count);
            match rng.below(5) {
                0 => drop(other.sections.remove(at)),
                1 => {
                    let copy = other.sections[at].clone();
                    other.sections.insert(rng.below(count), copy);
                }
                2 => other.sections.swap(at, rng.below(count)),
                3 => other.sections[at].bytes.truncate(rng.below(100)),
                _ => {
                    let bytes = &mut other.sections[at].bytes;
                    let len = bytes.len();
                    if len >= 4 {
                        let place = rng.below(len - 3);
                        bytes[place..place + 4].copy_from_slice(&[0xff; 4]);
                    }
                }
            }
            if other.sections.is_empty() {
                break;
            }
        }
        let _ = attempt(&other.file(), BOUND);
    }
}

fn problem(change: impl FnOnce(&mut Forged)) -> Problem {
    let mut forged = Forged::of(&bytes(&small()));
    change(&mut forged);
    match attempt(&forged.file(), BOUND) {
        Err(error) => error.problem,
        Ok(_) => panic!("it was loaded"),
    }
}

fn slot(change: impl FnOnce(&mut Forged)) -> (u32, &'static str) {
    match problem(change) {
        Problem::Slot { slot, what } => (slot, what),
        other => panic!("{other}"),
    }
}

/// The words of the slots begin after their count; the free list after them.
const WORDS: usize = 4;

#[test]
fn h63_forged_slots_are_refused_by_name() {
    let world = small();
    let slots = 8;
    assert_eq!(inspect(&*bytes(&world)).unwrap().slots, slots as u32 - 1, "the tests below go by it");
    let dead = 1 << 31;
    // A generation that is never issued, an extra row that is dead, a free slot that is not listed.
    assert_eq!(slot(|f| drop(f.put(b"slot", 0, WORDS, dead | 1 << 30 | 5))).0, 0);
    assert!(matches!(problem(|f| drop(f.put(b"slot", 0, WORDS, dead | 5))), Problem::Invalid(_)));
    // A retired slot that still has rows.
    assert_eq!(slot(|f| drop(f.put(b"slot", 0, WORDS, u32::MAX))), (0, "has a row in a table and is not alive"));
    // An entity marked as an extra row, and the other way round.
    let (at, what) = slot(|f| drop(f.put(b"slot", 0, WORDS, 1 << 30)));
    assert_eq!((at, what), (0, "is an extra row in a table of entities"));
    // More slots than the section has.
    let many = problem(|f| drop(f.put(b"slot", 0, 0, u32::MAX)));
    assert_eq!(many, Problem::SectionLength);
    // The free list: a slot that is not free, does not exist, comes twice; too long.
    let free = WORDS + 4 * (slots - 1) + 4;
    assert_eq!(slot(|f| drop(f.put(b"slot", 0, free, 0))).1, "is among the free ones and is not free");
    assert_eq!(slot(|f| drop(f.put(b"slot", 0, free, u32::MAX))).1, "is among the free ones and does not exist");
    assert_eq!(problem(|f| drop(f.put(b"slot", 0, free - 4, u32::MAX))), Problem::SectionLength);
}

#[test]
fn h63_forged_tables_are_refused_by_name() {
    // Entities without components were the last to get rows, before extra rows: the table has one row, from byte 9 on.
    let world = Forged::of(&bytes(&small()));
    let tables = world.sections.iter().filter(|section| section.kind == *b"tabl");
    let bare = tables.clone().position(|section| section.bytes[..5] == [0; 5]).unwrap();
    let rows = 9;
    assert_eq!(slot(|f| drop(f.put(b"tabl", bare, rows, 1000))).1, "has a row in a table and is not alive");
    assert_eq!(slot(|f| drop(f.put(b"tabl", bare, rows, u32::MAX))).1, "has a row in a table and is not alive");
    assert_eq!(slot(|f| drop(f.put(b"tabl", bare, rows, 0))).1, "has a row in a table twice");
    assert_eq!(problem(|f| drop(f.put(b"tabl", bare, 5, u32::MAX))), Problem::SectionLength);
    let empty = problem(|f| {
        f.put(b"tabl", bare, 5, 0);
        f.section(b"tabl", bare).bytes.truncate(9);
    });
    assert_eq!(empty, Problem::Invalid("a table without rows"));
    let lost = slot(|f| {
        let at = f.sections.iter().position(|s| s.kind == *b"tabl").unwrap();
        f.sections.remove(at + bare);
    });
    assert_eq!(lost.1, "is alive and has no row in any table");
    assert!(matches!(problem(|f| drop(f.put(b"tabl", 0, 1, 10_000))), Problem::Count { .. }));
    assert!(matches!(problem(|f| drop(f.put(b"tabl", 0, 5, 10_000))), Problem::Invalid(_)));
    for table in 0..tables.count() {
        let twice = problem(|f| {
            let copy = f.section(b"tabl", table).clone();
            let at = f.sections.iter().position(|s| s.kind == *b"tabl").unwrap();
            f.sections.insert(at + 1, copy);
        });
        assert!(matches!(twice, Problem::Slot { .. } | Problem::Invalid(_)), "{twice}");
    }
    assert!(matches!(problem(|f| f.section(b"tabl", bare).bytes[0] = 2), Problem::Invalid(_)));
    assert!(matches!(slot(|f| f.section(b"tabl", bare).bytes[0] = 1).1, "is an entity in a table of extra rows"));
}

#[test]
fn h63_forged_rows_are_refused_by_name() {
    // Slot, owner, component, role of each.
    let at = |row: usize, field: usize| 4 + row * 16 + field * 4;
    assert!(matches!(problem(|f| drop(f.put(b"rows", 0, 0, 1))), Problem::Count { .. }));
    assert_eq!(slot(|f| drop(f.put(b"rows", 0, at(0, 0), 0))).1, "has a name of a row and is none");
    assert_eq!(slot(|f| drop(f.put(b"rows", 0, at(0, 0), u32::MAX))).1, "has a name of a row and is none");
    assert_eq!(slot(|f| drop(f.put(b"rows", 0, at(0, 1), u32::MAX))).1, "owns a row and is not an entity");
    assert_eq!(slot(|f| drop(f.put(b"rows", 0, at(0, 3), 0))).1, "has the name of a main row");
    assert_eq!(slot(|f| drop(f.put(b"rows", 0, at(1, 3), 1))).1, "has the name of another row");
    assert_eq!(slot(|f| drop(f.put(b"rows", 0, at(0, 1), 1))).1, "owns a row and does not come in its order");
    assert!(matches!(problem(|f| drop(f.put(b"rows", 0, at(0, 2), 100))), Problem::Invalid(_)));
    let first = Forged::of(&bytes(&small())).section(b"rows", 0).bytes[4..8].try_into().unwrap();
    let twice = slot(|f| drop(f.put(b"rows", 0, at(1, 0), u32::from_le_bytes(first))));
    assert_eq!(twice.1, "has two names");
    let missing = problem(|f| f.sections.retain(|section| section.kind != *b"rows"));
    assert_eq!(missing, Problem::Invalid("the names of extra rows are missing"));
}

#[test]
fn h63_forged_pools_are_refused_by_name() {
    // The first side is the pool of `burning`: component, removal, positions, keys.
    assert_eq!(slot(|f| drop(f.put(b"side", 0, 9, 1000))).1, "has a value and is not alive");
    assert_eq!(slot(|f| drop(f.put(b"side", 0, 9, 1))).1, "is in a pool twice");
    assert!(matches!(problem(|f| drop(f.put(b"side", 0, 9, u32::MAX))), Problem::Invalid(_)), "a hole");
    assert!(matches!(problem(|f| f.section(b"side", 0).bytes[4] = 7), Problem::Invalid(_)));
    assert_eq!(problem(|f| drop(f.put(b"side", 0, 5, u32::MAX))), Problem::SectionLength);
    assert!(matches!(problem(|f| drop(f.put(b"side", 0, 0, 99))), Problem::Invalid(_)));
    // Position is kept in tables.
    assert!(matches!(problem(|f| drop(f.put(b"side", 0, 0, 4))), Problem::Invalid(_)));
    // The second is the linear store of `health`: component, words.
    assert!(matches!(problem(|f| drop(f.put(b"side", 1, 4, u32::MAX))), Problem::Count { .. }));
    assert_eq!(slot(|f| f.section(b"side", 1).bytes[15] = 0x80).1, "has a value and is not alive");
}

#[test]
fn h63_names_versions_and_sections_are_refused_by_name() {
    let component = |f: &mut Forged| f.section(b"comp", 0).bytes[5] = b'q';
    assert!(matches!(problem(component), Problem::UnknownName { name } if name.as_str().starts_with('q')));
    let twice = problem(|f| {
        let section = f.section(b"comp", 0);
        let first = section.bytes[4..].to_vec();
        section.bytes.truncate(4);
        // The name, the layout, the codec, the version, the fields, a lane.
        section.bytes.extend_from_slice(&first[..1 + 7 + 1 + 6 + 4 + 8 + 4 + 8]);
        section.bytes.extend_from_slice(&first[..1 + 7 + 1 + 6 + 4 + 8 + 4 + 8]);
        section.bytes[..4].copy_from_slice(&2_u32.to_le_bytes());
    });
    assert!(matches!(twice, Problem::RepeatedName { name } if name.as_str() == "burning"));
    assert_eq!(problem(|f| drop(f.put(b"comp", 0, 0, u32::MAX))), Problem::SectionLength);
    assert!(matches!(problem(|f| f.head[0] = b'Q'), Problem::NotASnapshot));
    assert!(matches!(problem(|f| f.head[8] = 9), Problem::Version { found: 9, supported: 2 }));
    assert!(matches!(problem(|f| f.head[12] = 1), Problem::Invalid(_)));
    assert!(matches!(problem(|f| f.section(b"rsrc", 0).bytes[1] = b'q'), Problem::UnknownName { .. }));
    let twice = problem(|f| {
        let copy = f.section(b"rsrc", 0).clone();
        let at = f.sections.len() - 1;
        f.sections.insert(at, copy);
    });
    assert!(matches!(twice, Problem::RepeatedName { name } if name.as_str() == "clock"));
    assert!(matches!(problem(|f| f.section(b"rsrc", 1).bytes.truncate(18)), Problem::Value { name: "score", .. }));
    assert_eq!(problem(|f| f.section(b"end ", 0).bytes.push(0)), Problem::SectionLength);
    let mut trailing = bytes(&small());
    trailing.push(0);
    assert_eq!(attempt(&trailing, BOUND).unwrap_err().problem, Problem::Trailing);
}

#[test]
fn sections_that_are_not_known_are_skipped_if_they_may_be() {
    let mut forged = Forged::of(&bytes(&small()));
    for at in (0..=forged.sections.len() - 1).rev() {
        forged.sections.insert(at, Section { kind: *b"view", flags: 1, bytes: vec![7; 100_000] });
    }
    let world = attempt(&forged.file(), BOUND).unwrap();
    assert!(bytes(&world) == bytes(&small()));
    assert!(inspect(&*forged.file()).is_ok());
    let required = problem(|f| f.sections.insert(3, Section { kind: *b"view", flags: 0, bytes: vec![] }));
    assert_eq!(required, Problem::Section { found: *b"view" });
    assert!(matches!(problem(|f| f.section(b"tabl", 0).flags = 1), Problem::Invalid(_)));
}

#[derive(Component, Serialize, Deserialize, Debug)]
struct Chain(Option<Box<Chain>>);

#[test]
fn h64_a_million_levels_do_not_overflow_the_stack() {
    let mut registry = Registry::new();
    registry.serde::<Chain>("chain").unwrap();
    let nested = |levels: usize| {
        let mut world = World::new();
        world.spawn(Chain(None));
        let mut file = Vec::new();
        registry.save(&world, &mut file).unwrap();
        let mut forged = Forged::of(&file);
        // One row: its slot, then a block of one value.
        let section = forged.section(b"tabl", 0);
        section.bytes.truncate(1 + 4 + 4 + 4 + 4);
        section.bytes.extend(1_u32.to_le_bytes());
        section.bytes.extend((levels as u32 + 1).to_le_bytes());
        section.bytes.extend(std::iter::repeat_n(1, levels));
        section.bytes.push(0);
        registry.load(&*forged.file()).map(drop)
    };
    assert!(nested(20).is_ok());
    let error = nested(1_000_000).unwrap_err();
    assert!(matches!(error.problem, Problem::Value { name: "chain", .. }), "{error}");
}

#[derive(Component, Serialize, Deserialize, Debug)]
struct Units(Vec<()>);

#[test]
fn h62_a_list_of_nothing_a_billion_times_is_refused() {
    let mut registry = Registry::new();
    registry.serde::<Units>("units").unwrap();
    let mut world = World::new();
    world.spawn(Units(vec![(); 1000]));
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    assert!(registry.load(&*file).is_ok());
    let mut forged = Forged::of(&file);
    let bytes = &mut forged.section(b"tabl", 0).bytes;
    let len = bytes.len();
    bytes.truncate(len - 6);
    bytes.extend(10_u32.to_le_bytes());
    bytes.extend([0xff; 9]);
    bytes.push(1);
    let error = registry.load(&*forged.file()).unwrap_err();
    assert!(matches!(error.problem, Problem::Value { .. }), "{error}");
}

/// Values that count their ends.
#[derive(Component)]
struct Token(#[allow(dead_code)] phalanx_testkit::Counted);
#[derive(Component)]
#[component(layout = "pool")]
struct PoolToken(#[allow(dead_code)] phalanx_testkit::Counted);
#[derive(Component)]
#[component(layout = "linear")]
struct LinearToken(#[allow(dead_code)] phalanx_testkit::Counted);

#[derive(Clone)]
struct Tokens(Arc<Tally>);
macro_rules! token {
    ($($type:ident)*) => {$(
        impl Codec<$type> for Tokens {
            fn name(&self) -> &'static str {
                "token"
            }
            fn encode(&self, value: &$type, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
                bytes.extend(value.0.key().to_le_bytes());
                Ok(())
            }
            fn decode(&self, bytes: &mut &[u8]) -> Result<$type, CodecError> {
                let (word, rest) = bytes.split_first_chunk::<4>().ok_or(CodecError("short"))?;
                *bytes = rest;
                self.0.callback();
                match u32::from_le_bytes(*word) {
                    key @ 0..1000 => Ok($type(self.0.value(key))),
                    _ => Err(CodecError("no token")),
                }
            }
        }
    )*};
}
token!(Token PoolToken LinearToken);

/// Tokens of every layout in a world, and how they are read.
fn tokens() -> (Arc<Tally>, Registry, World) {
    let (tally, mut registry, mut world) = (Arc::new(Tally::new()), Registry::new(), World::new());
    registry.codec::<Token>("a", Tokens(tally.clone())).unwrap();
    registry.codec::<PoolToken>("b", Tokens(tally.clone())).unwrap();
    registry.codec::<LinearToken>("c", Tokens(tally.clone())).unwrap();
    for key in 0..4 {
        world.spawn((Token(tally.value(key)), PoolToken(tally.value(key)), LinearToken(tally.value(key))));
    }
    (tally, registry, world)
}

#[test]
fn h65_values_that_were_read_before_an_error_end_once() {
    let (tally, registry, world) = tokens();
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    let forged = Forged::of(&file);
    let before = tally.live();
    for (at, section) in forged.sections.iter().enumerate() {
        for byte in 0..section.bytes.len() {
            let mut other = forged.clone();
            other.sections[at].bytes[byte] ^= 0xff;
            drop(registry.load(&*other.file()));
            assert_eq!(tally.live(), before, "section {at}, byte {byte}");
        }
    }
    for len in 0..file.len() {
        assert!(registry.load(&file[..len]).is_err());
        assert_eq!(tally.live(), before);
    }
    drop(registry.load(&*file).unwrap());
    drop(world);
    tally.assert_sound();
    tally.assert_no_leaks();
}

#[test]
fn h65_values_that_were_read_before_a_panic_end_once() {
    let (tally, registry, world) = tokens();
    let mut file = Vec::new();
    registry.save(&world, &mut file).unwrap();
    let before = tally.live();
    // The codec panics, or the function that converts what it has read.
    let mut newer = Registry::new();
    let convert = |tally: &Arc<Tally>| {
        let tally = tally.clone();
        move |key: u32| {
            tally.callback();
            tally.value(key)
        }
    };
    let (a, b, c) = (convert(&tally), convert(&tally), convert(&tally));
    let entry = newer.codec::<Token>("a", Tokens(tally.clone())).unwrap().version(1);
    entry.migrate_codec(0, Tokens(tally.clone()), move |old: Token| Token(a(old.0.key())));
    let entry = newer.codec::<PoolToken>("b", Tokens(tally.clone())).unwrap().version(1);
    entry.migrate_codec(0, Tokens(tally.clone()), move |old: PoolToken| PoolToken(b(old.0.key())));
    let entry = newer.codec::<LinearToken>("c", Tokens(tally.clone())).unwrap().version(1);
    entry.migrate_codec(0, Tokens(tally.clone()), move |old: LinearToken| LinearToken(c(old.0.key())));
    for (registry, calls) in [(&registry, 12), (&newer, 24)] {
        for n in 1..=calls {
            tally.arm(Site::Callback, n);
            assert!(catch(|| registry.load(&*file)).is_err(), "call {n}");
            assert!(tally.disarm(Site::Callback));
            assert_eq!(tally.live(), before, "call {n}");
        }
        assert!(registry.load(&*file).is_ok());
        assert_eq!(tally.live(), before);
    }
    // A destructor panics, of what was read before an error: the others end all the same.
    for n in 1..=12 {
        tally.arm(Site::Drop, n);
        assert!(catch(|| registry.load(&file[..file.len() - 1])).is_err(), "destructor {n}");
        assert!(tally.disarm(Site::Drop));
        assert_eq!(tally.live(), before, "destructor {n}");
    }
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn h62_counts_that_are_only_declared_take_no_memory() {
    for (kind, at) in [(b"slot", 0), (b"tabl", 5), (b"side", 5)] {
        for count in [u32::MAX, 1 << 30, 1 << 24] {
            let mut forged = Forged::of(&bytes(&small()));
            forged.put(kind, 0, at, count);
            attempt(&forged.file(), 300_000).unwrap_err();
        }
    }
}

#[test]
fn readers_that_fail_are_errors() {
    struct Broken<'a>(&'a [u8]);
    impl std::io::Read for Broken<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(bytes)? {
                0 => Err(std::io::ErrorKind::ConnectionReset.into()),
                count => Ok(count),
            }
        }
    }
    let file = bytes(&small());
    for len in (0..file.len()).step_by(11) {
        let error = registry().load(Broken(&file[..len])).unwrap_err();
        assert_eq!(error.problem, Problem::Io(std::io::ErrorKind::ConnectionReset));
    }
}

/// There is one way to cut a section into frames.
#[test]
fn h62_frames_that_are_cut_otherwise_are_refused() {
    let forged = Forged::of(&bytes(&small()));
    assert!(attempt(&forged.cut(1 << 16), BOUND).is_ok());
    for len in [1, 7, 100, (1 << 16) - 1] {
        let mut world = small();
        world.spawn_batch((0..20_000).map(|n| Position { x: n as f32, y: 0.0 }));
        let file = Forged::of(&bytes(&world)).cut(len);
        let error = attempt(&file, 2 * BOUND).unwrap_err();
        assert_eq!(error.problem, Problem::Invalid("a frame after one that is not full"), "{len}");
        assert_eq!(inspect(&*file).unwrap_err().problem, error.problem);
    }
}
