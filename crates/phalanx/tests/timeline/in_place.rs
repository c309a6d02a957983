//! Rewinds in place against whole restores: relations, names, extra rows, groups, and tables that are created and discarded.
//!
//! The fuzz target `rewind` runs the same programs.

use phalanx::group::{Observed, Owned};
use phalanx::relation::ChildOf;
use phalanx::timeline::{FrameSums, Timeline};
use phalanx::{Added, Changed, Component, Entity, Key, QueryState, Removal, Role, World};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Component, Clone, Copy, Debug, PartialEq, Hash)]
#[component(plain)]
struct Mark<const N: u8>(u32);
#[derive(Component, Clone, Debug, PartialEq, Hash)]
#[component(clone)]
struct Text(String);
#[derive(Component, Clone, Copy, Debug, PartialEq, Hash)]
#[component(layout = "pool", plain, track = "row")]
struct Fire(u32);
#[derive(Component, Clone, Debug, PartialEq, Hash)]
#[component(layout = "pool", clone)]
struct Note(String);
#[derive(Component, Clone, Copy, Debug, PartialEq, Hash)]
#[component(layout = "linear", plain)]
struct Mass(u16);
#[derive(Component, Clone, Debug, PartialEq, Hash)]
#[component(layout = "linear", clone, track = "column")]
struct Long(String);

/// One operation. Errors are results like others.
fn act(world: &mut World, pick: &mut dyn FnMut(usize) -> usize) {
    let (kind, n) = (pick(30), pick(1000) as u32);
    let all: Vec<Entity> = world.query::<Entity>().iter().collect();
    if all.is_empty() {
        world.spawn_batch((0..200).map(|n| (Mark::<0>(n), Fire(n), Mass(n as u16))));
        return;
    }
    let (a, b) = (all[pick(all.len())], all[pick(all.len())]);
    let text = || format!("{n}");
    match kind {
        0 => _ = world.spawn((Mark::<0>(n), Mark::<1>(n), Text(text()))),
        1 => _ = world.spawn((Mark::<2>(n), Fire(n), Note(text()), Long(text()))),
        2 => _ = world.spawn_batch((0..n % 150).map(|n| (Mark::<1>(n), Mass(n as u16)))).len(),
        3..6 => _ = world.despawn(a),
        6 => _ = world.insert(a, (Mark::<1>(n), Text(text()))),
        7 => _ = world.insert(a, (Fire(n), Note(text()))),
        8 => _ = world.insert(a, (Mass(n as u16), Long(text()))),
        9 => _ = world.remove::<(Mark<1>, Text)>(a),
        10 => _ = world.remove::<(Fire, Long)>(a),
        11 => _ = world.remove::<(Note, Mass)>(a),
        12 => world.get_mut::<Mark<0>>(a).into_iter().for_each(|mark| mark.0 = n),
        13 => world.get_mut::<Fire>(a).into_iter().for_each(|mut fire| fire.0 = n),
        14 => world.get_mut::<Text>(a).into_iter().for_each(|value| value.0.push('x')),
        15 => world.query_mut::<(&mut Mark<0>, Option<&mut Mass>)>().for_each(|(mark, mass)| {
            mark.0 ^= n;
            mass.into_iter().for_each(|mass| mass.0 ^= 1);
        }),
        16 => world.query_mut::<&mut Long>().for_each(|long| long.0.push('y')),
        17 => _ = world.relations_mut::<ChildOf>().link(a, b),
        18 => _ = world.relations_mut::<ChildOf>().unlink(a),
        19 => _ = world.entity_mut(a).map(|mut entity| entity.set_name(&text()).is_ok()),
        20 => _ = world.entity_mut(a).map(|mut entity| entity.remove_name().is_ok()),
        21 => _ = world.add_row(Key::main(a).with_role(Role(1 + n % 3)), (Mark::<0>(n), Fire(n))),
        22 => _ = world.create_group::<(Owned<Note>, Observed<Mass>)>(),
        23 => _ = world.create_group::<Observed<(Fire, Mass)>>(),
        24 => _ = world.pool_mut::<Note>().set_removal([Removal::Swap, Removal::Deferred][n as usize % 2]),
        25 => _ = world.pool_mut::<Note>().sort_by_key(|note| note.0.clone()),
        26 if n.is_multiple_of(2) => {
            let mut free: Vec<Entity> = world.free_entities().collect();
            free.sort_by_key(|entity| entity.index() ^ (n % 7));
            _ = world.set_free_entities(&free);
        }
        26 => _ = world.reserve_entity(),
        27 if n.is_multiple_of(8) => _ = world.compact(usize::MAX),
        28 if n.is_multiple_of(16) => world.clear(),
        _ => world.clear_trackers(),
    }
}

/// Everything that can be seen of a world, in its order: hashed, and written if there is an `out`.
fn look(world: &mut World, mut out: Option<&mut String>) -> u64 {
    let mut hash = DefaultHasher::new();
    macro_rules! note {
        ($value:expr) => {{
            let value = $value;
            value.hash(&mut hash);
            if let Some(out) = &mut out {
                write!(out, "{value:?} ").unwrap();
            }
        }};
    }
    macro_rules! list {
        ($($data:ty),*) => {$(
            world.query::<(Entity, $data)>().iter().for_each(|item| note!(item));
            note!(stringify!($data));
        )*};
    }
    list!(&Mark<0>, &Mark<1>, &Mark<2>, &Text, &Fire, &Note, &Mass, &Long);
    note!(world.query_filtered::<Entity, Added<Fire>>().iter().collect::<Vec<_>>());
    note!(world.query_filtered::<Entity, Changed<Fire>>().iter().collect::<Vec<_>>());
    note!(world.query_filtered::<Entity, Changed<Long>>().iter().collect::<Vec<_>>());
    note!(world.change_tick());
    for entity in world.iter() {
        let found = world.entity(entity).unwrap();
        note!((entity, found.name()));
        world.rows(entity).unwrap().for_each(|(key, _)| note!(key.role));
        world.relations::<ChildOf>().sources(entity).for_each(|child| note!(child));
    }
    note!(world.pool::<Note>().holes());
    hash.finish()
}

/// Checks that two worlds look the same. They are looked at as text only after a difference.
fn assert_same(world: &mut World, expected: &mut World, what: &str) {
    let [ours, theirs] = [&mut *world, &mut *expected].map(|world| look(world, None));
    if ours != theirs {
        let texts = [world, expected].map(|world| {
            let mut text = String::new();
            look(world, Some(&mut text));
            text
        });
        panic!("{what}:\n{}\n{}", texts[0], texts[1]);
    }
}

/// Returns the sums of a state, without a history.
fn sums(world: &mut World) -> FrameSums {
    let mut timeline = Timeline::with_sums(0);
    timeline.capture(world).unwrap();
    timeline.sums(0).unwrap().clone()
}

/// Runs a program of frames and rewinds. Each rewind is in place, and is compared with a world that is made of the frame as a
/// whole: in what can be seen, and in what the same operations then do.
pub(crate) fn compare(frames: usize, mut pick: impl FnMut(usize) -> usize) {
    let (mut world, mut timeline) = (World::new(), Timeline::with_sums(10));
    let mut changed = QueryState::<Entity, Changed<Fire>>::new();
    world.register_component::<Mark<0>>();
    // The state of each frame, as a world of its own.
    let mut history: Vec<World> = Vec::new();
    for _ in 0..frames {
        for _ in 0..[0, 1, 4, 12][pick(4)] {
            act(&mut world, &mut pick);
        }
        timeline.capture(&mut world).unwrap();
        timeline.validate(&world).unwrap();
        history.push(timeline.at(&world, 0).unwrap());
        if history.len() > 11 {
            history.remove(0);
        }
        if pick(2) == 0 {
            // What is not captured is discarded, too.
            act(&mut world, &mut pick);
        }
        _ = changed.iter(&world).count();
        if pick(3) != 0 {
            continue;
        }
        let back = pick(timeline.len() + 1);
        history.truncate(history.len() - back);
        let report = timeline.rewind_with_report(&mut world, back).unwrap();
        world.validate().unwrap();
        timeline.validate(&world).unwrap();
        assert!(report.restored.iter().all(|entity| world.contains(*entity)));
        assert!(!report.removed.iter().any(|entity| world.contains(*entity)));
        let mut whole = timeline.at(&world, 0).unwrap();
        whole.validate().unwrap();
        assert_eq!(sums(&mut whole), *timeline.sums(0).unwrap(), "{back} back, as a whole");
        // Looking takes ticks, so that each world is looked at once, and the one that goes on goes back once more.
        let expected = history.pop().unwrap();
        assert_same(&mut whole, &mut expected.try_clone().unwrap(), &format!("{back} back, as a whole"));
        assert_same(&mut world, &mut expected.try_clone().unwrap(), &format!("{back} back, in place"));
        history.push(expected);
        timeline.rewind(&mut world, 0).unwrap();
        let mut whole = timeline.at(&world, 0).unwrap();
        let choices: Vec<usize> = (0..64).map(|_| pick(1 << 16)).collect();
        for world in [&mut world, &mut whole] {
            let mut at = 0;
            let mut pick = |bound: usize| {
                at += 1;
                choices[at % choices.len()] % bound
            };
            for _ in 0..6 {
                act(world, &mut pick);
            }
            world.validate().unwrap();
        }
        assert_same(&mut world, &mut whole, &format!("the future, {back} back"));
        assert_eq!(sums(&mut world), sums(&mut whole), "the future, {back} back");
        timeline.rewind(&mut world, 0).unwrap();
    }
}

#[cfg(not(fuzzing))]
#[test]
fn a_rewind_in_place_is_a_whole_restore() {
    for seed in 0..24 {
        println!("seed {seed}");
        let mut rng = phalanx_testkit::Rng::new(seed);
        compare(30, |bound| rng.below(bound));
    }
}
