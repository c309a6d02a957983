//! Unusual sizes, alignments and bit patterns.

use crate::kit::{A, Name, Page, Position, Spin, Tag, Velocity, Wide};
use core::num::NonZeroU64;
use phalanx::{Component, Entity, World};
use phalanx_testkit::{
    Align1, Align64, Align4096, Aligned, Rng, Tally, Zst, assert_balanced, check_quarantine, measure, measure_zst,
};

macro_rules! marks {
    ($($name:ident $align:ty;)*) => {$(
        #[derive(Component)]
        struct $name(Zst<$align>);
    )*};
}
marks! {
    Mark1 Align1;
    Mark64 Align64;
    Mark4096 Align4096;
}

#[test]
fn h37_components_without_size_are_counted_and_aligned() {
    let (_, usage) = measure_zst(|| {
        let mut world = World::new();
        let marks = || (Mark1(Zst::new()), Mark4096(Zst::new()));
        let made: Vec<Entity> =
            (0..100).map(|n| world.spawn((Position(n as f32), marks(), Mark64(Zst::new())))).collect();
        let bare = world.spawn(marks());
        for (n, e) in made.iter().enumerate() {
            match n % 6 {
                0 => world.insert(*e, Mark64(Zst::new())).unwrap(),
                1 => world.insert(*e, (marks(), Velocity(1.0))).unwrap(),
                2 => assert!(world.remove::<(Mark1, Mark64)>(*e).unwrap()),
                3 => drop(world.take::<(Mark4096, Position)>(*e).unwrap()),
                4 => drop(world.replace(*e, Mark4096(Zst::new())).unwrap()),
                _ => world.despawn(*e).unwrap(),
            }
            world.validate().unwrap();
        }
        // References to them stand aligned, whichever way they are had.
        world.query::<&Mark4096>().iter().for_each(|m| m.0.touch());
        world.query_mut::<(&mut Mark64, &Mark1)>().for_each(|(a, b)| (a.0.touch(), b.0.touch()).0);
        world.query::<&Mark64>().chunks().flatten().for_each(|m| m.0.touch());
        world.get::<Mark4096>(bare).unwrap().0.touch();
        world.get_mut::<Mark1>(bare).unwrap().0.touch();
        assert_eq!(world.query::<&Mark64>().chunks().map(<[_]>::len).sum::<usize>(), world.query::<&Mark64>().len());
        world.despawn_batch(made.iter().copied().take(40));
        world.clear();
        world.spawn_batch((0..10).map(|_| marks()));
    });
    assert_eq!((usage.dropped, usage.misaligned), (usage.made, 0));
    assert!(usage.made > 300);
}

#[test]
fn h37_components_without_size_take_no_memory() {
    let mut world = World::new();
    let mut other = World::new();
    world.spawn_batch((0..1000).map(|_| (Tag, Position(0.0))));
    other.spawn_batch((0..1000).map(|_| Position(0.0)));
    assert_eq!(world.memory().total(), other.memory().total());
}

#[test]
fn h38_over_aligned_components_stay_aligned() {
    let tally = Tally::new();
    let mut world = World::new();
    let mut rng = Rng::new(3);
    let mut made = Vec::new();
    for n in 0..600 {
        let wide = || Wide(Aligned::new(&tally, n));
        let page = || Page(Aligned::new(&tally, n));
        match rng.below(5) {
            0 => made.push(world.spawn((wide(), Position(0.0)))),
            1 if n < 300 => made.push(world.spawn((page(), Name("n"), wide()))),
            2 => drop(rng.pick(&made).map(|e| world.insert(*e, (wide(), Tag)))),
            3 => drop(rng.pick(&made).map(|e| world.remove::<(Position, Tag)>(*e))),
            _ => drop(rng.pick(&made).map(|e| world.despawn(*e))),
        }
        world.validate().unwrap();
        // `key` asserts that the value stands aligned.
        assert!(world.query::<&Wide>().iter().all(|w| w.0.key() <= n));
        assert!(world.query::<(&Page, &Wide)>().iter().all(|(p, _)| p.0.key() <= n));
    }
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn h42_forbidden_bit_patterns_are_never_formed() {
    #[derive(Component, Clone, Copy, PartialEq, Debug)]
    enum Mood {
        Calm = 3,
        Wild = 200,
    }
    #[derive(Component, Clone, Copy)]
    struct Strict(bool, NonZeroU64, char, &'static str);
    let strict = |n: u64| Strict(n.is_multiple_of(2), NonZeroU64::new(n + 1).unwrap(), 'x', "text");
    let mut world = World::new();
    let mut rng = Rng::new(11);
    let mut made = Vec::new();
    for n in 0..1500 {
        let any = rng.pick(&made).copied();
        match (rng.below(6), any) {
            (0 | 1, _) | (_, None) => made.push(world.spawn((strict(n), Mood::Calm))),
            (2, Some(e)) => drop(world.insert(e, (Name("n"), Mood::Wild))),
            (3, Some(e)) => drop(world.remove::<Strict>(e)),
            (4, Some(e)) => drop(world.insert(e, strict(n))),
            (_, Some(e)) => drop(world.despawn(e)),
        }
        for (s, mood, name) in world.query::<(&Strict, Option<&Mood>, Option<&Name>)>().iter() {
            assert!(s.3 == "text" && s.2 == 'x' && s.0 == (s.1.get() % 2 == 1));
            assert!(mood.is_none_or(|m| [Mood::Calm, Mood::Wild].contains(m)) && name.is_none_or(|n| n.0 == "n"));
        }
    }
}

#[test]
fn h43_blocks_are_returned_with_their_layout() {
    // The allocator of this binary aborts at a wrong layout, a block of size zero, or a write beyond one.
    assert_balanced(|| {
        let tally = Tally::new();
        let mut world = World::new();
        let made = world.spawn_batch((0..300).map(|n| (A::new(&tally, n), Spin { axis: 1, speed: 2.0 }, Tag)));
        for (n, e) in made.iter().enumerate() {
            match n % 4 {
                0 => world.despawn(*e).unwrap(),
                1 => world.insert(*e, (Position(1.0), Name("n"))).unwrap(),
                2 => assert!(world.remove::<Spin>(*e).unwrap()),
                _ => drop(world.take::<(A, Tag, Spin)>(*e).unwrap()),
            }
        }
        world.query_mut::<(Entity, &mut Spin)>().for_each(drop);
        world.clear();
        world.spawn_batch((0..40).map(|_| ()));
    });
    check_quarantine();
}

#[test]
fn h43_a_world_without_entities_holds_no_rows() {
    let (world, _) = measure(World::new);
    assert_eq!(world.memory().total(), 0);
}

const MIB: usize = 1 << 20;

#[derive(Component)]
struct Huge([u8; MIB]);

#[derive(Component)]
struct Absent(#[allow(dead_code)] [u8; MIB]);

#[derive(Component)]
#[component(layout = "pool")]
struct HugePool(#[allow(dead_code)] [u8; MIB]);

#[derive(Component)]
#[component(layout = "linear")]
struct HugeLinear(#[allow(dead_code)] [u8; MIB]);

#[test]
fn h44_huge_components_do_not_overflow_the_stack() {
    // A value passes through the frames of its caller and of a few functions here; that there are few is the test. An
    // unoptimised build makes a copy in each of them.
    const STACK: usize = if cfg!(debug_assertions) { 24 * MIB } else { 8 * MIB };
    #[inline(never)]
    fn run() {
        let mut world = World::new();
        let made: Vec<Entity> = (0..3).map(|n| world.spawn((Huge([n; MIB]), Position(n.into())))).collect();
        // What has no need to pass over the stack does not.
        world.insert(made[0], Tag).unwrap();
        world.remove::<Position>(made[1]).unwrap();
        world.despawn(made[0]).unwrap();
        assert_eq!(world.get::<Huge>(made[1]).unwrap().0[77], 1);
        world.insert(made[1], Huge([9; MIB])).unwrap();
        assert_eq!(world.take::<Huge>(made[1]).unwrap().0[MIB - 1], 9);
        assert_eq!(world.get::<Huge>(made[2]).unwrap().0[MIB - 1], 2);
        world.validate().unwrap();
        assert!(world.memory().total() < 16 * MIB, "few rows of large components are not given room for many");
    }
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

#[test]
fn h44_moving_a_huge_component_needs_no_stack_for_it() {
    let mut world = Box::new(World::new());
    std::thread::Builder::new()
        .stack_size(128 * MIB)
        .spawn(move || {
            let e = [1, 2].map(|n| world.spawn((Huge([n; MIB]), Position(1.0))));
            world.insert(e[0], HugePool([3; MIB])).unwrap();
            world.insert(e[0], HugeLinear([4; MIB])).unwrap();
            world.insert(e[0], Tag).unwrap();
            world.remove::<Tag>(e[0]).unwrap();
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || {
                    world.insert(e[0], Tag).unwrap();
                    world.remove::<Tag>(e[0]).unwrap();
                    world.query_mut::<&mut Huge>().for_each(|h| h.0[5] += 1);
                    assert_eq!(world.remove::<Absent>(e[0]), Ok(false));
                    assert_eq!(world.remove::<HugePool>(e[1]), Ok(false));
                    assert_eq!(world.remove::<HugePool>(e[0]), Ok(true));
                    assert_eq!(world.remove::<HugeLinear>(e[1]), Ok(false));
                    assert_eq!(world.remove::<HugeLinear>(e[0]), Ok(true));
                    assert_eq!(world.remove::<Huge>(e[1]), Ok(true));
                    world.despawn(e[1]).unwrap();
                    assert_eq!(world.get::<Huge>(e[0]).unwrap().0[5], 2);
                })
                .unwrap()
                .join()
                .unwrap();
        })
        .unwrap()
        .join()
        .unwrap();
}

/// Twelve types of one size and alignment, and what says which is which.
macro_rules! twins {
    ($($name:ident $number:literal)*) => {
        $(
            #[derive(Component, Clone, Copy)]
            struct $name(u64);
        )*
        const TWINS: &[(fn(&mut World, Entity, u64), fn(&World, Entity) -> Option<u64>, fn(&mut World, Entity), u64)] = &[$((
            |world, e, n| world.insert(e, $name($number << 32 | n)).unwrap(),
            |world, e| world.get::<$name>(e).ok().map(|value| value.0),
            |world, e| drop(world.remove::<$name>(e).unwrap()),
            $number,
        )),*];
    };
}
twins!(T1 1 T2 2 T3 3 T4 4 T5 5 T6 6 T7 7 T8 8 T9 9 T10 10 T11 11 T12 12);

#[test]
fn h45_types_of_equal_size_are_never_confused() {
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let mut world = World::new();
        // In another order of registration each time.
        let mut order: Vec<usize> = (0..TWINS.len()).collect();
        rng.shuffle(&mut order);
        let entities: Vec<Entity> = (0..8).map(|_| world.spawn_empty()).collect();
        let mut model = vec![[None; 12]; entities.len()];
        for step in 0..200 {
            let (at, twin) = (rng.below(entities.len()), order[rng.below(1 + step.min(11))]);
            let (insert, _, remove, number) = TWINS[twin];
            if rng.chance(2, 3) {
                insert(&mut world, entities[at], step as u64);
                model[at][twin] = Some(number << 32 | step as u64);
            } else {
                remove(&mut world, entities[at]);
                model[at][twin] = None;
            }
            for (e, wanted) in entities.iter().zip(&model) {
                for ((_, get, _, _), wanted) in TWINS.iter().zip(wanted) {
                    assert_eq!(get(&world, *e), *wanted, "seed {seed}");
                }
            }
        }
        for (a, b) in world.query::<(&T3, &T7)>().iter() {
            assert_eq!((a.0 >> 32, b.0 >> 32), (3, 7));
        }
        world.validate().unwrap();
    }
}
