//! Operations on many entities and rows, with components of all layouts.

use super::{Burning, Marked, Name, Position};
use phalanx::group::{Observed, Owned};
use phalanx::query::{AllRows, ExtraRows};
use phalanx::{CommandBuffer, Component, Entity, Key, Role, Without, World};
use phalanx_testkit::{Counted, Rng, Tally};

#[derive(Component, Clone, Debug)]
#[component(clone)]
pub(super) struct T(pub(super) Counted);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
pub(super) struct P(pub(super) Counted);
#[derive(Component, Clone, Debug)]
#[component(layout = "linear", clone)]
pub(super) struct L(pub(super) Counted);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
#[repr(align(64))]
pub(super) struct Wide(pub(super) u32);
#[derive(Component, Clone, Debug)]
#[component(layout = "pool", clone)]
pub(super) struct Tag;
#[derive(Component, Clone, Debug)]
#[component(layout = "linear", clone)]
pub(super) struct Seen;

/// A row as it is seen: its key, and all that it has.
pub(super) type Look = (Key, [Option<u32>; 4], bool, bool);

/// All rows of entities from an index on.
pub(super) fn look(world: &World, from: u32) -> Vec<Look> {
    let mut all = Vec::new();
    for e in world.iter().filter(|e| e.index() >= from) {
        for (key, row) in world.rows(e).unwrap() {
            let values = [
                world.row(row).and_then(|row| row.get::<T>()).ok().map(|c| c.0.key()),
                world.row(row).and_then(|row| row.get::<P>()).ok().map(|c| c.0.key()),
                world.row(row).and_then(|row| row.get::<L>()).ok().map(|c| c.0.key()),
                world.row(row).and_then(|row| row.get::<Wide>()).ok().map(|c| c.0),
            ];
            all.push((
                key,
                values,
                world.row(row).and_then(|row| row.get::<Tag>()).is_ok(),
                world.row(row).and_then(|row| row.get::<Seen>()).is_ok(),
            ));
        }
    }
    all
}

/// A change, by number, of an entity or a row of it; made at once, or recorded.
fn change(n: usize, key: Key, value: impl Fn() -> Counted, to: Result<&mut World, &mut CommandBuffer>) {
    let e = key.entity;
    let v = &value;
    // Those that name what is not there are refused, by either.
    match to {
        Ok(world) => drop(match n {
            0 => world.try_spawn((T(v()), P(v()), L(v()))).map(drop).is_ok(),
            1 => world.try_spawn((Tag, P(v()), Wide(v().key()))).map(drop).is_ok(),
            2 => world.despawn(e).is_ok(),
            3 => world.insert(e, (P(v()), Seen)).is_ok(),
            4 => world.insert(e, (T(v()), L(v()), Tag)).is_ok(),
            5 => world.remove::<(P, L)>(e).is_ok(),
            6 => world.remove::<(T, Tag, Seen, Wide)>(e).is_ok(),
            7 => world.add_row(key, (P(v()), T(v()))).is_ok(),
            8 => world.add_row(key, (L(v()), Wide(v().key()))).is_ok(),
            9 => world.row_mut(key).and_then(|mut row| row.try_insert((P(v()), L(v()), Tag))).is_ok(),
            10 => world.row_mut(key).and_then(|mut row| row.try_remove::<(P, Wide)>()).is_ok(),
            11 => world.remove_row(key).is_ok(),
            _ => world.try_spawn(Seen).map(drop).is_ok(),
        }),
        Err(commands) => match n {
            0 => commands.spawn((T(v()), P(v()), L(v()))),
            1 => commands.spawn((Tag, P(v()), Wide(v().key()))),
            2 => commands.despawn(e),
            3 => commands.insert(e, (P(v()), Seen)),
            4 => commands.insert(e, (T(v()), L(v()), Tag)),
            5 => commands.remove::<(P, L)>(e),
            6 => commands.remove::<(T, Tag, Seen, Wide)>(e),
            7 => commands.add_row(key, (P(v()), T(v()))),
            8 => commands.add_row(key, (L(v()), Wide(v().key()))),
            9 => commands.insert_into_row(key, (P(v()), L(v()), Tag)),
            10 => commands.remove_from_row::<(P, Wide)>(key),
            11 => commands.remove_row(key),
            _ => commands.spawn(Seen),
        },
    }
}

/// A group that owns pools, and one that owns nothing.
pub(super) fn group(world: &mut World) {
    world.create_group::<(Owned<(P, Wide)>, Without<Seen>)>().unwrap();
    world.create_group::<Observed<(P, L)>>().unwrap();
}

/// The same changes one by one and recorded, in worlds in which entities begin at an index.
fn recorded_and_direct(seeds: std::ops::Range<u64>, first: u32, with_groups: bool) {
    for seed in seeds {
        let (mut rng, tally) = (Rng::new(seed), Tally::new());
        let [mut direct, mut recorded] = [World::new(), World::new()];
        for world in [&mut direct, &mut recorded] {
            world.spawn_batch((0..first).map(|_| ()));
            if with_groups {
                group(world);
            }
        }
        let mut commands = CommandBuffer::new();
        for round in 0..25 {
            let known: Vec<Entity> = direct.iter().filter(|e| e.index() >= first).collect();
            for step in 0..rng.below(25) as u32 {
                let e = *rng.pick(&known).unwrap_or(&Entity::from_bits(0).unwrap());
                let key = Key::main(e).with_role(Role(rng.below(3) as u32));
                let (n, value) = (rng.below(13), || tally.value(round * 100 + step));
                if known.is_empty() && (2..12).contains(&n) {
                    continue;
                }
                change(n, key, value, Ok(&mut direct));
                change(n, key, value, Err(&mut commands));
            }
            commands.apply(&mut recorded);
            assert_eq!((direct.validate(), recorded.validate()), (Ok(()), Ok(())), "seed {seed}");
            assert_eq!(look(&direct, first), look(&recorded, first), "seed {seed}, round {round}");
            if round % 8 == 7 {
                recorded = recorded.try_clone().unwrap();
                assert_eq!(recorded.validate(), Ok(()));
                while direct.compact(100) > 0 {}
                assert_eq!(direct.validate(), Ok(()));
            }
        }
        drop((direct, recorded, commands));
        tally.assert_no_leaks();
    }
}

#[test]
fn what_is_recorded_is_what_is_done_at_once() {
    recorded_and_direct(0..40, 0, false);
}

#[test]
fn what_is_recorded_keeps_groups_as_what_is_done_at_once_does() {
    recorded_and_direct(200..220, 0, true);
    recorded_and_direct(300..302, 9000, true);
}

#[test]
fn what_is_recorded_far_up_the_index_is_what_is_done_at_once() {
    recorded_and_direct(100..106, 9000, false);
}

#[test]
fn a_slot_without_generations_is_not_taken_again() {
    let mut world = World::new();
    world.spawn(P(Tally::new().value(0)));
    let last = Entity::from_bits((u64::from((1_u32 << 30) - 1) << 32) | 3).unwrap();
    world.spawn_at(last, Wide(1)).unwrap();
    let mut commands = CommandBuffer::new();
    commands.despawn(last);
    commands.spawn(Wide(2));
    commands.spawn((Wide(3), Seen));
    commands.spawn(Wide(4));
    commands.try_apply(&mut world).unwrap();
    world.validate().unwrap();
    let wide: Vec<_> = world.iter().filter_map(|e| Some((e.index(), world.get::<Wide>(e).ok()?.0))).collect();
    assert_eq!(wide, [(1, 2), (2, 3), (4, 4)]);
}

#[test]
fn batches_give_and_take_components_of_all_layouts() {
    let tally = Tally::new();
    let mut world = World::new();
    for n in 0..40 {
        match n % 4 {
            0 => world.spawn(T(tally.value(n))),
            1 => world.spawn((T(tally.value(n)), P(tally.value(n)))),
            2 => world.spawn((T(tally.value(n)), L(tally.value(n)), Tag)),
            _ => world.spawn(Wide(n)),
        };
    }
    let first = world.iter().next().unwrap();
    world.add_row(Key::main(first).with_role(Role(1)), T(tally.value(0))).unwrap();
    let made = tally.made();
    let bundle = || (P(tally.value(100)), L(tally.value(200)), Seen);
    assert_eq!(world.insert_where::<phalanx::With<T>, _>(bundle()), 30);
    assert_eq!(world.insert_where::<(phalanx::With<T>, ExtraRows), _>(bundle()), 1);
    assert_eq!(tally.made(), made + 62);
    world.validate().unwrap();
    for (key, [t, p, l, _], _, seen) in look(&world, 0) {
        assert_eq!((p, l, seen), if t.is_some() { (Some(100), Some(200), true) } else { (None, None, false) }, "{key}");
    }
    assert_eq!(world.insert_where::<AllRows, _>((T(tally.value(7)), Tag)), 41);
    world.validate().unwrap();
    assert!(look(&world, 0).iter().all(|(_, [t, ..], tag, _)| *t == Some(7) && *tag));
    assert_eq!(world.remove_where::<(), (T, P, Seen)>(), 40);
    assert_eq!(world.remove_where::<AllRows, (T, P, Seen)>(), 1);
    assert_eq!(world.remove_where::<AllRows, P>(), 0);
    world.validate().unwrap();
    assert!(look(&world, 0).iter().all(|(_, [t, p, ..], tag, seen)| t.is_none() && p.is_none() && *tag && !seen));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn batches_go_by_filters_over_components_of_all_layouts() {
    use phalanx::{Or, With};
    let tally = Tally::new();
    let mut world = World::new();
    for n in 0..60 {
        let e = world.spawn(Wide(n));
        if n % 2 == 0 {
            world.insert(e, T(tally.value(n))).unwrap();
        }
        if n % 3 == 0 {
            world.insert(e, P(tally.value(n))).unwrap();
        }
        if n % 5 == 0 {
            world.insert(e, L(tally.value(n))).unwrap();
        }
    }
    let count = |world: &World| {
        let rows = look(world, 0);
        [0, 1, 2].map(|at| rows.iter().filter(|row| row.1[at].is_some()).count())
    };
    assert_eq!(count(&world), [30, 20, 12]);
    // Into and out of tables, by what is kept elsewhere.
    assert_eq!(world.insert_where::<(With<P>, Without<L>), _>(T(tally.value(1000))), 16);
    assert_eq!((world.validate(), count(&world)), (Ok(()), [38, 20, 12]));
    for row in look(&world, 0) {
        let n = row.1[3].unwrap();
        let expected = if n % 3 == 0 && n % 5 != 0 { Some(1000) } else { (n % 2 == 0).then_some(n) };
        assert_eq!(row.1[0], expected, "{n}");
    }
    assert_eq!(world.remove_where::<Or<(With<P>, With<L>)>, (T, L)>(), 28);
    assert_eq!((world.validate(), count(&world)), (Ok(()), [16, 20, 0]));
    // What a filter asks for is taken away itself.
    assert_eq!(world.remove_where::<With<P>, P>(), 20);
    assert_eq!(world.remove_where::<With<P>, P>(), 0);
    assert_eq!(world.insert_where::<Without<P>, _>((P(tally.value(5)), L(tally.value(6)))), 60);
    assert_eq!((world.validate(), count(&world)), (Ok(()), [16, 60, 60]));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_filter_that_changes_its_mind_moves_whole_rows() {
    use phalanx::query::QueryFilter;
    use phalanx::{Components, Signature};
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static SEED: AtomicU64 = AtomicU64::new(1);
    struct Moody;
    impl QueryFilter for Moody {
        type State = ();
        fn state(_: &Components) {}
        fn passes((): &(), _: &Signature) -> bool {
            let seed = SEED.load(Relaxed);
            SEED.store(seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407), Relaxed);
            seed >> 40 & 1 == 0
        }
    }
    let tally = Tally::new();
    for _ in 0..50 {
        let mut world = World::new();
        for n in 0..6 {
            let e = world.spawn(Wide(n));
            for _ in 0..2 {
                let _ = world.insert_where::<phalanx::With<T>, _>(L(tally.value(9)));
            }
            if n % 2 == 0 {
                world.insert(e, T(tally.value(n))).unwrap();
            }
        }
        for _ in 0..5 {
            world.insert_where::<Moody, _>(T(tally.value(1)));
            world.validate().unwrap();
            world.insert_where::<Moody, _>((T(tally.value(2)), P(tally.value(3))));
            world.validate().unwrap();
            world.remove_where::<Moody, T>();
            world.validate().unwrap();
        }
    }
    tally.assert_no_leaks();
}

#[test]
fn columns_of_all_layouts_are_moved_in() {
    let tally = Tally::new();
    let mut world = World::new();
    let gone: Vec<_> = (0..10).map(|n| world.spawn((Wide(n), L(tally.value(n))))).collect();
    for e in [3, 7, 1] {
        world.despawn(gone[e]).unwrap();
    }
    for round in 0..2 {
        let keys = || (0..20).map(|n| tally.value(n + 100 * round));
        let columns =
            (keys().map(P).collect::<Vec<_>>(), vec![Tag; 20], (keys().map(T).collect(), keys().map(L).collect()));
        let made = world.spawn_columns::<(_, _, (Vec<T>, Vec<L>))>(columns).unwrap().to_vec();
        world.validate().unwrap();
        if round == 0 {
            assert_eq!(made[..3].iter().map(|e| e.index()).collect::<Vec<_>>(), [1, 7, 3]);
        }
        for (e, n) in made.iter().zip(0..) {
            let key = Some(n + 100 * round);
            let rows = look(&world, 0);
            let row = rows.iter().find(|row| row.0.entity == *e).unwrap();
            assert_eq!((row.1, row.2), ([key, key, key, None], true));
        }
    }
    assert_eq!(world.len(), 47);
    drop(world);
    tally.assert_no_leaks();
}

#[derive(Component)]
#[component(layout = "pool", entities = "Likes::each")]
struct Likes(Entity);
#[derive(Component)]
#[component(layout = "linear", entities = "Follows::each")]
struct Follows(Entity);

impl Likes {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Entity)) {
        visit(&mut self.0);
    }
}

impl Follows {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Entity)) {
        visit(&mut self.0);
    }
}

/// Entities with all there is, and rows.
pub(super) fn populated(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all: Vec<Entity> = (0..6).map(|n| world.spawn((P(tally.value(n)), T(tally.value(n)), Seen))).collect();
    all.extend((6..10).map(|n| world.spawn((L(tally.value(n)), Wide(n)))));
    for (at, role) in [(0, 1), (0, 2), (8, 1)] {
        let key = Key::main(all[at]).with_role(Role(role));
        world.add_row(key, (P(tally.value(50 + role)), L(tally.value(60 + role)), Tag)).unwrap();
    }
    (world, all)
}

#[test]
fn clones_have_clones_of_all_layouts() {
    let tally = Tally::new();
    let (mut world, all) = populated(&tally);
    for e in [all[0], all[8], all[3]] {
        let twin = world.entity_mut(e).unwrap().clone_entity().unwrap();
        world.validate().unwrap();
        let of = |whose: Entity| {
            let rows = look(&world, 0).into_iter().filter(move |row| row.0.entity == whose);
            rows.map(|row| (row.0.role, row.1, row.2, row.3)).collect::<Vec<_>>()
        };
        assert_eq!(of(e), of(twin));
    }
    let copy = world.try_clone().unwrap();
    copy.validate().unwrap();
    assert_eq!(look(&copy, 0), look(&world, 0));
    drop((world, copy));
    tally.assert_no_leaks();
}

#[test]
fn what_cannot_be_cloned_is_named_in_all_layouts() {
    #[derive(Component)]
    #[component(layout = "pool")]
    struct Soul;
    let mut world = World::new();
    let e = world.spawn(Soul);
    let error = world.entity_mut(e).unwrap().clone_entity().unwrap_err();
    assert!(error.to_string().contains("Soul"), "{error}");
    assert_eq!(world.try_clone().unwrap_err(), error);
    world.remove::<Soul>(e).unwrap();
    assert_eq!(world.try_clone().unwrap().len(), 1);
}

#[test]
fn entities_move_with_components_of_all_layouts() {
    let tally = Tally::new();
    let (mut here, all) = populated(&tally);
    let (mut there, _) = populated(&tally);
    [&mut here, &mut there].into_iter().for_each(group);
    here.insert(all[0], (Likes(all[0]), Follows(all[0]))).unwrap();
    here.insert(all[1], (Likes(all[8]), Follows(all[0]))).unwrap();
    let made = tally.made();
    let old: Vec<_> = look(&here, 0).into_iter().filter(|row| row.0.entity == all[0]).collect();
    let new = here.entity_mut(all[0]).unwrap().transfer(&mut there).unwrap();
    assert_eq!((here.validate(), there.validate()), (Ok(()), Ok(())));
    let moved: Vec<_> = look(&there, 0).into_iter().filter(|row| row.0.entity == new).collect();
    assert_eq!(old.len(), 3);
    for (a, b) in old.iter().zip(&moved) {
        assert_eq!((a.0.role, a.1, a.2, a.3), (b.0.role, b.1, b.2, b.3));
    }
    assert_eq!((there.get::<Likes>(new).unwrap().0, there.get::<Follows>(new).unwrap().0), (new, new));
    let (before, had) = (look(&here, 0), look(&there, 0).len());
    let map = here.transfer_all(&mut there).unwrap();
    assert_eq!((here.validate(), there.validate(), here.len()), (Ok(()), Ok(()), 0));
    let after = look(&there, 0);
    assert_eq!(after.len(), had + before.len());
    for row in before {
        let key = Key { entity: map.get(row.0.entity).unwrap(), ..row.0 };
        assert!(after.contains(&(key, row.1, row.2, row.3)), "{key}");
    }
    let friend = map.get(all[1]).unwrap();
    assert_eq!(there.get::<Likes>(friend).unwrap().0, map.get(all[8]).unwrap());
    assert_eq!(tally.made(), made);
    here.spawn((P(tally.value(1)), L(tally.value(2))));
    here.validate().unwrap();
    drop((here, there));
    tally.assert_no_leaks();
}

#[test]
fn a_compacted_world_is_about_as_large_as_a_new_one() {
    let fill = |world: &mut World, count: u32| {
        let made = |n| (Wide(n), Tag, Seen, Likes(Entity::from_bits(0).unwrap()));
        (0..count).map(|n| world.spawn(made(n))).collect::<Vec<_>>()
    };
    let mut world = World::new();
    let all = fill(&mut world, 20_000);
    world.despawn_batch(all[1000..].iter().copied());
    let full = world.memory().total();
    while world.compact(500) > 0 {
        world.validate().unwrap();
    }
    let mut fresh = World::new();
    fill(&mut fresh, 1000);
    while fresh.compact(usize::MAX) > 0 {}
    let [compacted, fresh] = [&world, &fresh].map(|world| {
        // What remains of entities that are gone keeps their handles dead.
        let memory = world.memory();
        memory.total() - memory.entities - memory.locations
    });
    assert!(compacted < full / 10 && compacted * 10 <= fresh * 11, "{full}, {compacted}, {fresh}");
    assert!(look(&world, 0).len() == 1000);
    world.clear();
    while world.compact(500) > 0 {}
    world.validate().unwrap();
    fill(&mut world, 10);
    world.validate().unwrap();
}

#[test]
fn the_memory_report_counts_what_the_allocator_gave() {
    let mut world = World::new();
    for e in [world.spawn((Wide(0), Seen)), world.spawn(Tag)] {
        world.despawn(e).unwrap();
    }
    let before = world.memory();
    let (_, usage) = phalanx_testkit::measure(|| {
        (0..30_000).for_each(|n| _ = world.spawn((Wide(n), Seen)));
        (0..10_000).for_each(|_| _ = world.spawn(Tag));
    });
    let after = world.memory();
    assert_eq!(after.total() - before.total(), usize::try_from(usage.bytes_live_delta).unwrap());
    let wide = after.sparse.iter().find(|side| side.component.ends_with("Wide")).unwrap();
    assert_eq!((wide.len, wide.kind), (30_000, phalanx::layout::Kind::Pool));
    assert!(wide.values >= 30_000 * 64 && wide.keys >= 30_000 * 8 && wide.index >= 30_000 * 8);
    assert!(after.to_string().contains("Wide"), "{after}");
    assert!(format!("{world:?}").contains("30000 × sparse::operations::Wide in a pool"), "{world:?}");
}

#[test]
fn rows_end_with_their_entity_in_the_order_of_their_making() {
    use std::sync::Mutex;
    static ENDED: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    struct Last(u32);
    impl Drop for Last {
        fn drop(&mut self) {
            ENDED.lock().unwrap().push(self.0);
        }
    }
    #[derive(Component)]
    struct A(#[allow(dead_code)] Last);
    #[derive(Component)]
    #[component(layout = "pool")]
    struct B(#[allow(dead_code)] Last);
    #[derive(Component)]
    #[component(layout = "linear")]
    struct C(#[allow(dead_code)] Last);
    for recorded in [false, true] {
        let mut world = World::new();
        let e = world.spawn((A(Last(7)), C(Last(9)), B(Last(8))));
        for role in 1..3 {
            let at = role * 3 - 2;
            world.add_row(Key::main(e).with_role(Role(role)), (B(Last(at + 1)), A(Last(at)), C(Last(at + 2)))).unwrap();
        }
        match recorded {
            false => world.despawn(e).unwrap(),
            true => {
                let mut commands = CommandBuffer::new();
                commands.despawn(e);
                commands.try_apply(&mut world).unwrap();
            }
        }
        assert_eq!(std::mem::take(&mut *ENDED.lock().unwrap()), (1..=9).collect::<Vec<_>>());
    }
}

#[test]
fn a_despawn_moves_the_last_value_wherever_its_entity_is_in_the_index() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..9000).map(|n| world.spawn(Position(n))).collect();
    // The indices of the others are beyond the window of an index with few keys.
    let few = [3, 8999, 5, 8000].map(|n: usize| entities[n]);
    for (n, entity) in (0..).zip(few) {
        world.insert(entity, (Burning(n), Marked)).unwrap();
    }
    for (gone, left) in [(few[0], vec![3, 1, 2]), (few[1], vec![3, 2]), (few[3], vec![2]), (few[2], vec![])] {
        world.despawn(gone).unwrap();
        world.validate().unwrap();
        assert!(world.query::<&Burning>().iter().map(|burning| burning.0).eq(left));
    }
    // The masks of these entities differ from one to the next.
    for (n, entity) in (0..).zip(&entities[..3]) {
        match n {
            0 => world.insert(*entity, (Burning(n), Marked)),
            1 => world.insert(*entity, Name(String::from("one"))),
            _ => world.insert(*entity, Marked),
        }
        .unwrap();
    }
    for entity in &entities[..3] {
        world.despawn(*entity).unwrap();
        world.validate().unwrap();
    }
    assert_eq!((world.query::<&Marked>().len(), world.query::<&Name>().len()), (0, 0));
}
