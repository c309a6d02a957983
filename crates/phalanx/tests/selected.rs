//! Operations on selected components and entities: batches of insertions, insertions of what is missing, entries, moves and
//! clones of components, removal by value, despawning by filter.

use phalanx::group::Owned;
use phalanx::query::{AllRows, ExtraRows};
use phalanx::{
    Added, Bundle, Component, Entity, Entry, Key, NoSuchEntity, QueryState, Role, StructuralError, With, Without, World,
};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, for_every_failing_allocation};
use std::sync::{Arc, Mutex};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone)]
#[component(clone)]
struct Table(Counted);
#[derive(Component, Clone)]
#[component(layout = "pool", clone)]
struct Pool(Counted);
#[derive(Component, Clone)]
#[component(layout = "linear", clone)]
struct Line(Counted);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: u32,
    speed: u64,
}
#[derive(Component, Clone)]
#[component(track = "row", clone)]
struct Tracked(Counted);
#[derive(Component, Clone)]
#[component(track = "row", layout = "pool", clone)]
struct TrackedPool(Counted);
#[derive(Component, Clone, Copy)]
#[component(track = "column", clone)]
struct Column(u32);
#[derive(Component, Clone, Copy)]
#[component(clone)]
struct Tag;
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", clone)]
struct Mark;
/// Keeps entities of the same components in different tables.
#[derive(Component, Clone, Copy)]
#[component(clone)]
struct Apart;

type All = (Table, Pool, Line, Spin, Tracked, TrackedPool, Column, Tag, Mark);
const COUNT: u32 = 9;

/// What an entity has: of each component its number, if it is there.
type Seen = [Option<u32>; COUNT as usize];

fn see(world: &World, e: Entity) -> Seen {
    [
        world.get::<Table>(e).ok().map(|value| value.0.key()),
        world.get::<Pool>(e).ok().map(|value| value.0.key()),
        world.get::<Line>(e).ok().map(|value| value.0.key()),
        world.get::<Spin>(e).ok().map(|spin| spin.axis + spin.speed as u32),
        world.get::<Tracked>(e).ok().map(|value| value.0.key()),
        world.get::<TrackedPool>(e).ok().map(|value| value.0.key()),
        world.get::<Column>(e).ok().map(|column| column.0),
        world.get::<Tag>(e).ok().map(|_| 0),
        world.get::<Mark>(e).ok().map(|_| 0),
    ]
}

fn all(tally: &Tally, n: u32) -> All {
    let value = || tally.value(n);
    let spin = Spin { axis: n - 1, speed: 1 };
    (Table(value()), Pool(value()), Line(value()), spin, Tracked(value()), TrackedPool(value()), Column(n), Tag, Mark)
}

/// What `all` looks like.
fn seen(n: u32) -> Seen {
    [Some(n), Some(n), Some(n), Some(n), Some(n), Some(n), Some(n), Some(0), Some(0)]
}

/// Inserts those components of `all` that a set has.
fn insert_set(world: &mut World, tally: &Tally, e: Entity, n: u32, set: u32) {
    let (a, b, c, d, t, u, v, w, x) = all(tally, n);
    let mut entity = world.entity_mut(e).unwrap();
    let has = |at: u32| set >> at & 1 == 1;
    if has(0) {
        entity.insert(a);
    }
    if has(1) {
        entity.insert(b);
    }
    if has(2) {
        entity.insert(c);
    }
    if has(3) {
        entity.insert(d);
    }
    if has(4) {
        entity.insert(t);
    }
    if has(5) {
        entity.insert(u);
    }
    if has(6) {
        entity.insert(v);
    }
    if has(7) {
        entity.insert(w);
    }
    if has(8) {
        entity.insert(x);
    }
}

/// What an entity with a set of the components looks like.
fn seen_set(n: u32, set: u32) -> Seen {
    let all = seen(n);
    core::array::from_fn(|at| all[at].filter(|_| set >> at & 1 == 1))
}

/// A few sets of components: none, all, each alone, all but each, and some mixtures.
fn sets() -> impl Iterator<Item = u32> {
    let full = (1 << COUNT) - 1;
    let single = (0..COUNT).flat_map(move |at| [1 << at, full ^ 1 << at]);
    [0, full].into_iter().chain(single).chain((0..12).map(move |n| (n * 0x9e37) & full))
}

/// A world with an entity that has everything, one that has a set, and others before, between and after them.
fn pair(tally: &Tally, set: u32) -> (World, Entity, Entity, Vec<Entity>) {
    let mut world = World::new();
    let mut others = vec![world.spawn(all(tally, 90)), world.spawn(())];
    let one = world.spawn(all(tally, 1));
    others.push(world.spawn((all(tally, 91), Apart)));
    let two = world.spawn(());
    insert_set(&mut world, tally, two, 2, set);
    let last = world.spawn(());
    insert_set(&mut world, tally, last, 92, set);
    others.extend([last, world.spawn(all(tally, 93))]);
    (world, one, two, others)
}

/// What the listeners of a world have heard: the event, the entity and the number of the value.
type Heard = Arc<Mutex<Vec<(&'static str, Entity, u32)>>>;

fn listen(world: &mut World) -> Heard {
    let heard = Heard::default();
    macro_rules! listen {
        ($($component:ident)*) => {$({
            let (add, set, remove) = (heard.clone(), heard.clone(), heard.clone());
            world.on_add::<$component>(move |event, _, _| {
                add.lock().unwrap().push((concat!("+", stringify!($component)), event.entity, event.value.0.key()));
            });
            world.on_set::<$component>(move |event, _, _| {
                let old = event.old.map_or(0, |old| old.0.key());
                set.lock().unwrap().push((concat!("=", stringify!($component)), event.entity, old * 1000 + event.new.0.key()));
            });
            world.on_remove::<$component>(move |event, _, _| {
                remove.lock().unwrap().push((concat!("-", stringify!($component)), event.entity, event.value.0.key()));
            });
        })*};
    }
    listen!(Table Pool Tracked);
    heard
}

fn take(heard: &Heard) -> Vec<(&'static str, Entity, u32)> {
    std::mem::take(&mut heard.lock().unwrap())
}

#[test]
fn moved_components_are_those_of_the_other_entity() {
    for (set, listens) in sets().flat_map(|set| [(set, false), (set, true)]) {
        let tally = Tally::new();
        let (mut world, one, two, others) = pair(&tally, set);
        let heard = listens.then(|| listen(&mut world));
        let mut added = QueryState::<Entity, Added<Tracked>>::new();
        let mut added_pool = QueryState::<Entity, Added<TrackedPool>>::new();
        assert!(added.iter(&world).count() >= 4 && added_pool.iter(&world).count() >= 4, "the first run finds all");
        let (made, dropped) = (tally.made(), tally.dropped());
        world.entity_mut(one).unwrap().move_components::<All>(two).unwrap();
        world.validate().unwrap();
        assert_eq!((see(&world, one), see(&world, two)), ([None; COUNT as usize], seen(1)), "{set:b}");
        assert_eq!(tally.made(), made, "nothing is cloned");
        let displaced = [0, 1, 2, 4, 5].iter().filter(|at| set >> *at & 1 == 1).count() as u32;
        assert_eq!(tally.dropped() - dropped, displaced, "only old values are dropped");
        // What was not there before is new.
        let is_new = |at: u32| (set >> at & 1 == 0).then_some(two);
        assert!(added.iter(&world).eq(is_new(4)), "{set:b}");
        assert!(added_pool.iter(&world).eq(is_new(5)), "{set:b}");
        for (at, n) in [(0, 90), (2, 91), (4, 93)] {
            assert_eq!(see(&world, others[at]), seen(n));
        }
        assert_eq!(see(&world, others[3]), seen_set(92, set));
        if let Some(heard) = heard {
            let mut expected = Vec::new();
            for (at, add, change) in [(0, "+Table", "=Table"), (1, "+Pool", "=Pool"), (4, "+Tracked", "=Tracked")] {
                expected.push(if set >> at & 1 == 1 { (change, two, 2001) } else { (add, two, 1) });
            }
            expected.extend(["-Table", "-Pool", "-Tracked"].map(|event| (event, one, 1)));
            let mut heard = take(&heard);
            assert!(heard[..3].iter().all(|event| event.1 == two), "first the insertion, then the removal");
            heard.sort();
            expected.sort();
            assert_eq!(heard, expected, "{set:b}");
        }
        drop(world);
        tally.assert_no_leaks();
    }
}

#[test]
fn components_are_moved_all_or_not_at_all() {
    let tally = Tally::new();
    let mut world = World::new();
    let [one, two] = [world.spawn((Table(tally.value(1)), Tag)), world.spawn(Table(tally.value(2)))];
    let dead = world.spawn(());
    world.despawn(dead).unwrap();
    let mut entity = world.entity_mut(one).unwrap();
    assert!(
        matches!(entity.move_components::<(Table, Pool)>(two), Err(StructuralError::Missing { entity, .. }) if entity == one)
    );
    assert!(matches!(entity.clone_components::<(Pool, Table)>(two), Err(StructuralError::Missing { .. })));
    assert_eq!(entity.move_components::<Table>(dead), Err(NoSuchEntity { entity: dead }.into()));
    assert_eq!(entity.clone_components::<Table>(dead), Err(NoSuchEntity { entity: dead }.into()));
    assert!(matches!(entity.move_components::<(Table, Table)>(two), Err(StructuralError::Duplicate(_))));
    assert_eq!(entity.move_components::<(Table, Tag)>(one), Ok(()), "to itself");
    assert_eq!((see(&world, one)[0], see(&world, two)[0]), (Some(1), Some(2)));
    assert_eq!(world.entity_mut(one).unwrap().clone_components::<Table>(one), Ok(()));
    assert_eq!((see(&world, one)[0], tally.live()), (Some(1), 2));
    world.entity_mut(one).unwrap().move_components::<()>(two).unwrap();
    // To an entity that is reserved.
    let reserved = world.reserve_entity();
    world.entity_mut(two).unwrap().move_components::<Table>(reserved).unwrap();
    assert_eq!(see(&world, reserved)[0], Some(2));
    world.validate().unwrap();
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn cloned_components_are_there_twice() {
    for set in sets() {
        let tally = Tally::new();
        let (mut world, one, two, others) = pair(&tally, set);
        let heard = listen(&mut world);
        let mut added = QueryState::<Entity, Added<Tracked>>::new();
        added.iter(&world).count();
        world.entity_mut(one).unwrap().clone_components::<All>(two).unwrap();
        world.validate().unwrap();
        assert_eq!((see(&world, one), see(&world, two)), (seen(1), seen(1)), "{set:b}");
        assert!(added.iter(&world).eq((set >> 4 & 1 == 0).then_some(two)), "{set:b}");
        assert_eq!(see(&world, others[0]), seen(90));
        assert_eq!(take(&heard).len(), 3);
        drop(world);
        tally.assert_no_leaks();
    }
}

/// Runs an operation on a pair of entities with every allocation failing in turn, with listeners and without.
fn without_memory(
    set: u32,
    run: impl Fn(&mut World, &Tally, Entity, Entity) -> Result<(), StructuralError>,
    done: (Seen, Seen),
) {
    for listens in [false, true] {
        let tally = Tally::new();
        for_every_failing_allocation(
            || {
                let (mut world, one, two, others) = pair(&tally, set);
                if listens {
                    // Listeners whose calls allocate nothing.
                    world.on_add::<Table>(|_, _, _| ());
                    world.on_remove::<Pool>(|_, _, _| ());
                }
                (world, one, two, others)
            },
            |(world, one, two, _)| run(world, &tally, *one, *two),
            |(world, one, two, others), outcome| {
                world.validate().unwrap();
                let now = (see(world, *one), see(world, *two));
                assert_eq!(now, if outcome.is_ok() { done } else { (seen(1), seen_set(2, set)) }, "{outcome:?}");
                assert_eq!(see(world, others[4]), seen(93));
                if outcome.is_err() {
                    // It can be done later.
                    run(world, &tally, *one, *two).unwrap();
                    world.validate().unwrap();
                    assert_eq!((see(world, *one), see(world, *two)), done);
                }
            },
        );
        tally.assert_no_leaks();
    }
}

#[test]
fn without_memory_nothing_is_moved_cloned_or_inserted() {
    let none = [None; COUNT as usize];
    for set in [0, 0b1_0101_0101, (1 << COUNT) - 1] {
        without_memory(set, |world, _, one, two| world.entity_mut(one)?.move_components::<All>(two), (none, seen(1)));
        without_memory(
            set,
            |world, _, one, two| world.entity_mut(one)?.clone_components::<All>(two),
            (seen(1), seen(1)),
        );
        let batch = |world: &mut World, tally: &Tally, one, two| {
            world.try_insert_batch([(two, all(tally, 7)), (one, all(tally, 8)), (two, all(tally, 9))])
        };
        without_memory(set, batch, (seen(8), seen(9)));
        let kept: Seen = core::array::from_fn(|at| seen_set(2, set)[at].or(seen(7)[at]));
        let new = |world: &mut World, tally: &Tally, _, two| world.entity_mut(two)?.try_insert_if_new(all(tally, 7));
        without_memory(set, new, (seen(1), kept));
    }
    let vacant = |world: &mut World, tally: &Tally, _, two| match world.entity_mut(two)?.entry::<Pool>() {
        Entry::Vacant(entry) => entry.try_insert(Pool(tally.value(7))).map(drop),
        Entry::Occupied(_) => Ok(()),
    };
    without_memory(0, vacant, (seen(1), core::array::from_fn(|at| (at == 1).then_some(7))));
    let occupied = |world: &mut World, _: &Tally, one, _| match world.entity_mut(one)?.entry::<Table>() {
        Entry::Occupied(entry) => entry.try_remove().map(drop),
        Entry::Vacant(_) => Ok(()),
    };
    without_memory(0, occupied, (core::array::from_fn(|at| seen(1)[at].filter(|_| at != 0)), none));
}

/// Runs an operation with user code that panics. `happens` is whether it has happened then.
fn with_panics(
    site: Site,
    set: u32,
    happens: bool,
    run: impl Fn(&mut World, &Tally, Entity, Entity),
    done: (Seen, Seen),
) {
    let events = PanicSweep::new(site).run(
        |tally| pair(tally, set),
        |(world, one, two, _), tally| run(world, tally, *one, *two),
        |(world, one, two, others), _, panicked| {
            world.validate().unwrap();
            let now = (see(world, *one), see(world, *two));
            assert_eq!(now, if happens || !panicked { done } else { (seen(1), seen_set(2, set)) });
            assert_eq!(see(world, others[4]), seen(93));
        },
    );
    assert!(events > 0, "nothing could panic");
}

#[test]
fn user_code_that_panics_does_so_before_or_after() {
    let (none, set) = ([None; COUNT as usize], 0b1_0011_0111);
    let moved =
        |world: &mut World, _: &Tally, one, two| world.entity_mut(one).unwrap().move_components::<All>(two).unwrap();
    with_panics(Site::Drop, set, true, moved, (none, seen(1)));
    let cloned =
        |world: &mut World, _: &Tally, one, two| world.entity_mut(one).unwrap().clone_components::<All>(two).unwrap();
    with_panics(Site::Clone, set, false, cloned, (seen(1), seen(1)));
    with_panics(Site::Drop, set, true, cloned, (seen(1), seen(1)));
    let batch = |world: &mut World, tally: &Tally, one, two| {
        let pairs = [(two, 7), (one, 8), (two, 9)].into_iter().map(|(e, n)| {
            tally.callback();
            (e, all(tally, n))
        });
        world.insert_batch(pairs).unwrap();
    };
    with_panics(Site::Callback, set, false, batch, (seen(8), seen(9)));
    with_panics(Site::Drop, set, true, batch, (seen(8), seen(9)));
    let kept: Seen = core::array::from_fn(|at| seen_set(2, set)[at].or(seen(7)[at]));
    let new = |world: &mut World, tally: &Tally, _, two| {
        world.entity_mut(two).unwrap().insert_if_new(all(tally, 7));
    };
    with_panics(Site::Drop, set, true, new, (seen(1), kept));
    let made = |world: &mut World, tally: &Tally, _, two| {
        world.entity_mut(two).unwrap().entry::<Line>().or_insert_with(|| {
            tally.callback();
            Line(tally.value(7))
        });
    };
    with_panics(Site::Callback, 0, false, made, (seen(1), core::array::from_fn(|at| (at == 2).then_some(7))));
}

#[test]
fn only_what_is_missing_is_inserted() {
    for (set, listens) in sets().flat_map(|set| [(set, false), (set, true)]) {
        let tally = Tally::new();
        let (mut world, one, two, others) = pair(&tally, set);
        let heard = listens.then(|| listen(&mut world));
        let mut added = QueryState::<Entity, Added<Tracked>>::new();
        added.iter(&world).count();
        world.entity_mut(two).unwrap().insert_if_new(all(&tally, 7)).insert_if_new(Apart);
        world.validate().unwrap();
        let expected: Seen = core::array::from_fn(|at| seen_set(2, set)[at].or(seen(7)[at]));
        assert_eq!((see(&world, one), see(&world, two)), (seen(1), expected), "{set:b}");
        assert_eq!((see(&world, others[3]), see(&world, others[4])), (seen_set(92, set), seen(93)));
        assert!(added.iter(&world).eq((set >> 4 & 1 == 0).then_some(two)), "{set:b}");
        if let Some(heard) = heard {
            let events = [(0, "+Table"), (1, "+Pool"), (4, "+Tracked")];
            let mut expected: Vec<_> =
                events.into_iter().filter(|(at, _)| set >> at & 1 == 0).map(|(_, event)| (event, two, 7)).collect();
            let mut heard = take(&heard);
            heard.sort();
            expected.sort();
            assert_eq!(heard, expected, "{set:b}");
        }
        drop(world);
        tally.assert_no_leaks();
    }
}

#[test]
fn a_batch_of_insertions_is_one_operation() {
    let tally = Tally::new();
    let mut world = World::new();
    let many: Vec<Entity> =
        (0..40).map(|n| if n % 3 == 0 { world.spawn(all(&tally, n + 1)) } else { world.spawn(()) }).collect();
    let heard = listen(&mut world);
    world.insert_batch(many.iter().rev().zip(100..).map(|(e, n)| (*e, all(&tally, n)))).unwrap();
    world.validate().unwrap();
    assert!(many.iter().rev().zip(100..).all(|(e, n)| see(&world, *e) == seen(n)));
    let events = take(&heard);
    assert_eq!((events.len(), events[0].1), (120, many[39]), "in the order of the batch");
    // The last of several bundles counts, in its place.
    let pairs = [(0, 1), (1, 2), (0, 3), (2, 4), (1, 5)];
    world.insert_batch(pairs.map(|(at, n)| (many[at], Table(tally.value(n))))).unwrap();
    assert!([(0, 3), (1, 5), (2, 4)].iter().all(|(at, n)| see(&world, many[*at])[0] == Some(*n)));
    let order: Vec<Entity> = take(&heard).iter().map(|event| event.1).collect();
    assert_eq!(order, [many[0], many[2], many[1]]);
    // Nothing changes if one of them is not alive.
    world.despawn(many[7]).unwrap();
    let before = world.query::<&Table>().iter().map(|table| u64::from(table.0.key())).sum::<u64>();
    let refused = world.insert_batch(many.iter().map(|e| (*e, Table(tally.value(5)))));
    assert_eq!(refused, Err(NoSuchEntity { entity: many[7] }));
    assert_eq!(world.query::<&Table>().iter().map(|table| u64::from(table.0.key())).sum::<u64>(), before);
    world.insert_batch(std::iter::empty::<(Entity, All)>()).unwrap();
    let reserved = world.reserve_entity();
    world.insert_batch([(reserved, Mark)]).unwrap();
    assert!(world.has::<Mark>(reserved));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn an_entry_is_occupied_or_vacant() {
    fn check<C: Component>(value: impl Fn(u32) -> C, key: impl Fn(&World, Entity) -> Option<u32>, tally: &Tally)
    where
        for<'a> phalanx::query::WriteItem<'a, C>: std::ops::DerefMut<Target = C>,
    {
        let mut world = World::new();
        let e = world.spawn(Apart);
        let mut entity = world.entity_mut(e).unwrap();
        let entry = entity.entry::<C>().and_modify(|_| panic!("there is no value"));
        assert!(matches!(entry, Entry::Vacant(_)) && entry.id() == e);
        _ = entity.entry::<C>().or_insert(value(1));
        _ = entity.entry::<C>().or_insert_with(|| panic!("there is a value"));
        *entity.entry::<C>().and_modify(|mut old| *old = value(2)).or_insert(value(9)) = value(3);
        assert_eq!(key(&world, e), Some(3));
        let mut entity = world.entity_mut(e).unwrap();
        let Entry::Occupied(mut entry) = entity.entry::<C>() else { panic!("there is a value") };
        let _ = entry.get();
        *entry.get_mut() = value(4);
        drop(entry.insert(value(5)));
        assert_eq!(key(&world, e), Some(5));
        let mut entity = world.entity_mut(e).unwrap();
        let Entry::Occupied(entry) = entity.entry::<C>() else { panic!("there is a value") };
        drop(entry.remove());
        assert!(matches!(entity.entry::<C>(), Entry::Vacant(_)));
        world.validate().unwrap();
        assert_eq!(tally.live(), 0);
    }
    let tally = Tally::new();
    check(|n| Table(tally.value(n)), |world, e| see(world, e)[0], &tally);
    check(|n| Pool(tally.value(n)), |world, e| see(world, e)[1], &tally);
    check(|n| Tracked(tally.value(n)), |world, e| see(world, e)[4], &tally);
    tally.assert_no_leaks();
}

#[test]
fn a_listener_may_remove_what_an_entry_inserts() {
    let tally = Tally::new();
    let mut world = World::new();
    world.on_add::<Table>(|added, _, commands| commands.remove::<Table>(added.entity));
    let e = world.spawn(());
    let mut entity = world.entity_mut(e).unwrap();
    let Entry::Vacant(entry) = entity.entry::<Table>() else { panic!("there is no value") };
    let outcome = entry.try_insert(Table(tally.value(1))).map(drop);
    assert!(matches!(outcome, Err(StructuralError::Missing { entity, .. }) if entity == e));
    assert!(!world.has::<Table>(e));
    world.validate().unwrap();
    tally.assert_no_leaks();
}

/// A world in which every entity has everything, and so does an extra row of each.
fn rows(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all: Vec<Entity> = (1..=12)
        .map(|n| {
            let e = world.spawn(all(tally, n));
            if n % 4 == 0 {
                world.insert(e, Apart).unwrap();
            }
            world.add_row(Key::main(e).with_role(Role(1)), all(tally, 100 + n)).unwrap();
            e
        })
        .collect();
    (world, all)
}

#[test]
fn components_are_retained_by_value() {
    fn check<C: Component>(key: impl Fn(phalanx::query::ReadItem<'_, C>) -> u32 + Copy, at: usize) {
        let tally = Tally::new();
        let (mut world, all) = rows(&tally);
        let mut visited = Vec::new();
        let removed = world.component_mut::<C>().retain(|entity, value| {
            let n = key(value);
            visited.push((entity, n));
            n.is_multiple_of(2)
        });
        assert_eq!((removed, visited.len()), (12, 24), "main rows and extra rows");
        assert!(visited.iter().all(|(entity, n)| all[(n % 100) as usize - 1] == *entity));
        world.validate().unwrap();
        for (n, e) in (1..).zip(&all) {
            assert_eq!(see(&world, *e)[at], seen(n)[at].filter(|_| n % 2 == 0));
            let extra = world.row(Key::main(*e).with_role(Role(1))).unwrap().has::<C>();
            assert_eq!(extra, n % 2 == 0);
        }
        assert_eq!(world.component_mut::<C>().retain(|_, _| true), 0);
        assert_eq!(world.component_mut::<C>().retain(|_, _| false), 12);
        drop(world);
        tally.assert_no_leaks();
    }
    check::<Table>(|value| value.0.key(), 0);
    check::<Pool>(|value| value.0.key(), 1);
    check::<Line>(|value| value.0.key(), 2);
    check::<Spin>(|spin| spin.axis + 1, 3);
    check::<TrackedPool>(|value| value.0.key(), 5);
}

#[test]
fn retaining_is_all_or_nothing() {
    for listens in [false, true] {
        let tally = Tally::new();
        for_every_failing_allocation(
            || {
                let (mut world, all) = rows(&tally);
                if listens {
                    world.on_remove::<Pool>(|_, _, _| ());
                }
                assert!(world.component_mut::<Pool>().has(all[0]), "the world knows the component");
                world
            },
            |world| world.component_mut::<Pool>().try_retain(|_, value| value.0.key() % 3 != 0),
            |world, outcome| {
                world.validate().unwrap();
                assert_eq!(world.query::<(Key, &Pool)>().iter().count(), if outcome.is_ok() { 16 } else { 24 });
            },
        );
        tally.assert_no_leaks();
    }
    for (site, happens) in [(Site::Callback, false), (Site::Drop, true)] {
        PanicSweep::new(site).run(
            rows,
            |(world, _), tally| {
                world.component_mut::<Table>().retain(|_, value| {
                    tally.callback();
                    value.0.key() % 3 != 0
                });
            },
            |(world, _), _, panicked| {
                world.validate().unwrap();
                let done = happens || !panicked;
                assert_eq!(world.query::<(Key, &Table)>().iter().count(), if done { 16 } else { 24 });
            },
        );
    }
}

#[test]
fn entities_that_pass_a_filter_are_despawned() {
    let tally = Tally::new();
    let (mut world, all) = rows(&tally);
    let heard = listen(&mut world);
    world.remove::<Mark>(all[0]).unwrap();
    assert_eq!(world.despawn_where::<(With<Apart>, With<Mark>)>(), 3);
    assert!([3, 7, 11].iter().all(|at| !world.contains(all[*at])));
    assert_eq!(world.len(), 9);
    assert_eq!(take(&heard).len(), 3 * 3 * 2, "of the extra rows, too");
    // Filters of extra rows are about the entities that own them.
    world.row_mut(Key::main(all[1]).with_role(Role(1))).unwrap().insert(Apart);
    assert_eq!(world.despawn_where::<(ExtraRows, With<Apart>)>(), 1);
    assert!(!world.contains(all[1]));
    assert_eq!(world.despawn_where::<(AllRows, Without<Mark>)>(), 1);
    assert!(!world.contains(all[0]));
    assert_eq!(world.despawn_where::<With<Apart>>(), 0);
    assert_eq!((world.despawn_where::<()>(), world.len(), world.row_count()), (7, 0, 0));
    world.validate().unwrap();
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn despawning_by_filter_is_all_or_nothing() {
    for listens in [false, true] {
        let tally = Tally::new();
        for_every_failing_allocation(
            || {
                let (mut world, _) = rows(&tally);
                if listens {
                    world.on_despawn(|_, _, _| ());
                }
                world
            },
            |world| world.try_despawn_where::<With<Apart>>(),
            |world, outcome| {
                world.validate().unwrap();
                assert_eq!((world.len(), world.row_count()), if outcome.is_ok() { (9, 18) } else { (12, 24) });
            },
        );
        tally.assert_no_leaks();
    }
    PanicSweep::new(Site::Drop).run(
        rows,
        |(world, _), _| assert_eq!(world.despawn_where::<Without<Apart>>(), 9),
        |(world, _), _, _| {
            world.validate().unwrap();
            assert_eq!((world.len(), world.row_count()), (3, 6));
        },
    );
}

#[test]
fn entities_that_relations_protect_or_take_along_are_despawned_as_one_by_one() {
    use phalanx::relation::ChildOf;
    let mut world = World::new();
    let parent = world.spawn(Tag);
    let child = world.spawn(Apart);
    world.relations_mut::<ChildOf>().link(child, parent).unwrap();
    let other = world.spawn(Apart);
    assert_eq!(world.despawn_where::<With<Tag>>(), 1, "the child does not count");
    assert!(world.iter().eq([other]));
    world.validate().unwrap();
}

#[test]
fn groups_follow_the_operations() {
    let tally = Tally::new();
    let mut world = World::new();
    world.create_group::<phalanx::group::Owned<(Pool, TrackedPool)>>().unwrap();
    let [one, two] = [world.spawn(all(&tally, 1)), world.spawn(())];
    let both = |world: &mut World| -> Vec<Entity> {
        world.query::<(Entity, &Pool, &TrackedPool)>().iter().map(|(e, ..)| e).collect()
    };
    world.entity_mut(one).unwrap().move_components::<(Pool, TrackedPool)>(two).unwrap();
    world.validate().unwrap();
    assert_eq!(both(&mut world), [two]);
    world.entity_mut(one).unwrap().insert_if_new((Pool(tally.value(5)), Table(tally.value(5))));
    world.entity_mut(two).unwrap().clone_components::<TrackedPool>(one).unwrap();
    world.validate().unwrap();
    assert_eq!(both(&mut world), [two, one]);
    assert_eq!(world.component_mut::<TrackedPool>().retain(|entity, _| entity == one), 1);
    assert_eq!(both(&mut world), [one]);
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn timelines_see_what_the_operations_write() {
    type Operation = fn(&mut World, &Tally, Entity, Entity);
    let operations: [Operation; 6] = [
        |world, _, one, two| world.entity_mut(one).unwrap().move_components::<All>(two).unwrap(),
        |world, _, one, two| world.entity_mut(one).unwrap().clone_components::<All>(two).unwrap(),
        |world, tally, _, two| _ = world.entity_mut(two).unwrap().insert_if_new(all(tally, 7)),
        |world, tally, one, two| world.insert_batch([(one, all(tally, 5)), (two, all(tally, 6))]).unwrap(),
        |world, _, _, two| _ = world.component_mut::<Pool>().retain(|entity, _| entity != two),
        |world, _, one, two| {
            let mut query = world.query_mut::<(&mut Column, Option<&mut Spin>)>();
            if let Ok([(a, _), (b, _)]) = query.get_many_mut([one, two]) {
                std::mem::swap(a, b);
            }
        },
    ];
    for (set, operation) in sets().flat_map(|set| operations.map(|operation| (set, operation))) {
        let tally = Tally::new();
        let (mut world, one, two, _) = pair(&tally, set);
        let mut timeline = phalanx::timeline::Timeline::new(4);
        timeline.capture(&mut world).unwrap();
        operation(&mut world, &tally, one, two);
        timeline.capture(&mut world).unwrap();
        assert_eq!(timeline.validate(&world), Ok(()), "{set:b}");
        timeline.rewind(&mut world, 1).unwrap();
        world.validate().unwrap();
        assert_eq!((see(&world, one), see(&world, two)), (seen(1), seen_set(2, set)), "{set:b}");
    }
}

#[test]
fn an_entity_retains_some_of_its_components() {
    let tally = Tally::new();
    let (mut world, one, _, others) = pair(&tally, 0);
    world.add_row(Key::main(one).with_role(Role(1)), all(&tally, 50)).unwrap();
    let heard = listen(&mut world);
    assert!(world.entity_mut(one).unwrap().retain::<(Pool, Spin, Mark, Apart)>());
    world.validate().unwrap();
    let kept = [1, 3, 8];
    assert_eq!(see(&world, one), core::array::from_fn(|at| seen(1)[at].filter(|_| kept.contains(&at))));
    assert_eq!(take(&heard).len(), 2, "a table and a tracked component");
    assert!(!world.entity_mut(one).unwrap().retain::<All>());
    assert!(world.entity_mut(one).unwrap().retain::<()>());
    assert_eq!(see(&world, one), [None; COUNT as usize]);
    assert!(world.row(Key::main(one).with_role(Role(1))).unwrap().has::<Table>());
    assert_eq!(see(&world, others[0]), seen(90));
    without_memory(
        0,
        |world, _, one, _| world.entity_mut(one)?.try_retain::<(Line, Tag)>().map(|_| ()),
        (core::array::from_fn(|at| seen(1)[at].filter(|_| at == 2 || at == 7)), [None; COUNT as usize]),
    );
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_bundle_struct_is_selected_as_a_whole() {
    #[derive(Bundle)]
    struct Kit {
        table: Table,
        pool: Pool,
        spin: Spin,
    }
    let tally = Tally::new();
    let mut world = World::new();
    let [one, two] = [world.spawn(all(&tally, 1)), world.spawn(())];
    world.entity_mut(one).unwrap().move_components::<(Kit, Tag)>(two).unwrap();
    assert_eq!(see(&world, two), [Some(1), Some(1), None, Some(1), None, None, None, Some(0), None]);
    let kit = Kit { table: Table(tally.value(2)), pool: Pool(tally.value(2)), spin: Spin { axis: 2, speed: 0 } };
    world.entity_mut(one).unwrap().insert_if_new((kit, Line(tally.value(2))));
    assert_eq!(see(&world, one)[..4], [Some(2), Some(2), Some(1), Some(2)]);
    world.validate().unwrap();
    drop(world);
    tally.assert_no_leaks();
}

#[derive(Component, Debug, PartialEq)]
#[component(layout = "pool")]
struct Left(u32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "pool")]
struct Right(u32);

#[test]
fn listeners_see_the_moved_value_of_a_member_that_leaves_its_group() {
    let mut world = World::new();
    let _group = world.create_group::<Owned<(Left, Right)>>().unwrap();
    let members: Vec<Entity> = (0..4).map(|n| world.spawn((Left(n), Right(n)))).collect();
    (10..13).for_each(|n| _ = world.spawn(Left(n)));
    let to = world.spawn(Right(20));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    world.on_remove::<Left>(move |removed, _, _| sink.lock().unwrap().push((removed.entity, removed.value.0)));
    // The new member takes the place of the old one, and another value that of the new one.
    world.entity_mut(members[1]).unwrap().move_components::<Left>(to).unwrap();
    world.validate().unwrap();
    assert_eq!(*heard.lock().unwrap(), [(members[1], 1)]);
    assert_eq!((world.get::<Left>(to).unwrap().0, world.has::<Left>(members[1])), (1, false));
}

#[derive(Component)]
#[repr(align(64))]
struct Wide(u64);

#[test]
fn a_component_of_a_large_alignment_that_is_new_needs_no_memory_that_was_not_reserved() {
    for_every_failing_allocation(
        || {
            let mut world = World::new();
            let e = world.spawn(Tag);
            world.spawn((Tag, Wide(1), Mark));
            (world, e)
        },
        |(world, e)| world.entity_mut(*e).unwrap().try_insert_if_new((Tag, Wide(2), Mark)),
        |(world, e), result| {
            world.validate().unwrap();
            let wide = world.get::<Wide>(*e).ok().map(|wide| wide.0);
            assert_eq!((wide, world.has::<Mark>(*e)), if result.is_ok() { (Some(2), true) } else { (None, false) });
        },
    );
}
