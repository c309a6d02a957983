//! Sparse components that rows of a table may have or lack, and filters that are tested in blocks: against a query over tables
//! only, which knows the order, and reads of single entities.

use phalanx::executor::ThreadPool;
use phalanx::query::{AllRows, QueryFilter, QueryState, ReadOnlyQueryData};
use phalanx::{Added, Changed, Component, Entity, Has, Key, Mut, Or, QueryData, Role, Row, With, Without, World};
use phalanx_testkit::Rng;
use std::collections::BTreeSet;
use std::fmt::Debug;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct T(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct U(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct P(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct Z;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear")]
struct L(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(track = "row")]
struct C(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", track = "row")]
struct K(u32);

#[derive(QueryData)]
struct Sided<'a> {
    entity: Entity,
    t: &'a T,
    p: Option<&'a P>,
}

/// All entities with a `T`, in the order of tables and rows, of which `keep` returns something.
fn expected<I>(world: &World, keep: impl Fn(Entity, u32) -> Option<I>) -> Vec<I> {
    world.query::<(Entity, &T)>().iter().filter_map(|(e, t)| keep(e, t.0)).collect()
}

fn get<X>(world: &World, e: Entity) -> Option<X>
where
    X: Copy + Component<Layout: for<'a> phalanx::layout::Layout<X, Ref<'a> = &'a X>>,
{
    world.get::<X>(e).ok().copied()
}

/// Compares all ways to visit the items of a query with a list.
fn check<D, F, I>(
    world: &mut World,
    state: &mut QueryState<D, F>,
    rng: &mut Rng,
    copy: impl Fn(D::Item<'_>) -> I + Sync,
    expected: &[I],
) where
    D: ReadOnlyQueryData,
    F: QueryFilter,
    I: Debug + PartialEq + Clone + Send,
{
    let reversed: Vec<I> = expected.iter().rev().cloned().collect();
    let (front, back) = (rng.below(expected.len() + 1), rng.below(expected.len() + 1));
    let pool = ThreadPool::new(2);
    macro_rules! check_ways {
        ($query:expr) => {{
            assert_eq!($query.into_iter().map(&copy).collect::<Vec<I>>(), expected);
            let (mut seen, mut iter) = (Vec::new(), $query.into_iter());
            while let Some(item) = iter.next() {
                seen.push(copy(item));
            }
            assert_eq!(seen, expected);
            assert_eq!($query.into_iter().rev().map(&copy).collect::<Vec<I>>(), reversed);
            // Some from both ends, then the rest.
            let mut iter = $query.into_iter();
            let mut first: Vec<I> = iter.by_ref().take(front).map(&copy).collect();
            let mut last: Vec<I> = iter.by_ref().rev().take(back).map(&copy).collect();
            first.extend(iter.by_ref().take(front / 2).map(&copy));
            iter.fold((), |(), item| first.push(copy(item)));
            first.extend(last.drain(..).rev());
            assert_eq!(first, expected);
            assert_eq!(($query.len(), $query.is_empty()), (expected.len(), expected.is_empty()));
            let add = |mut list: Vec<I>, item: D::Item<'_>| {
                list.push(copy(item));
                list
            };
            let merge = |mut a: Vec<I>, b: Vec<I>| {
                a.extend(b);
                a
            };
            assert_eq!($query.par_fold_by_on(&pool, 1 + front % 70, Vec::new, add, merge), expected);
            let pairs = $query.combinations::<2>().take(40).map(|[a, b]| (copy(a), copy(b)));
            let all = expected.iter().enumerate();
            let all = all.flat_map(|(at, a)| expected[at + 1..].iter().map(move |b| (a.clone(), b.clone())));
            assert!(pairs.eq(all.take(40)));
        }};
    }
    check_ways!(world.query_filtered::<D, F>());
    check_ways!(world.query_filtered_mut::<D, F>());
    check_ways!(state.query(world));
    check_ways!(state.query_mut(world));
}

type WithoutBoth = (With<T>, Without<P>, Without<Z>);
type Either = Or<(Without<P>, With<U>)>;

#[derive(Default)]
struct States {
    options: QueryState<(Entity, &'static T, Option<&'static P>, Has<L>)>,
    without: QueryState<(Entity, Option<&'static L>), WithoutBoth>,
    derived: QueryState<Sided<'static>, Without<L>>,
    either: QueryState<(Entity, &'static T), Either>,
    having: QueryState<(Entity, &'static T, Option<&'static U>), With<Z>>,
}

#[test]
fn sides_match_single_reads() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let (mut world, mut live, mut states) = (World::new(), Vec::new(), States::default());
        for n in 0..300 {
            live.push(if n % 3 == 0 { world.spawn((T(n), U(n))) } else { world.spawn(T(n)) });
        }
        // How many in 256 operations add a side: then no row has one, few, some, most.
        for add in [0, 6, 40, 200] {
            for step in 0..12 {
                for _ in 0..25 {
                    let (at, n) = (rng.below(live.len()), rng.below(1000) as u32);
                    let e = live[at];
                    if rng.below(256) < add {
                        match rng.below(3) {
                            0 => world.insert(e, P(n)).unwrap(),
                            1 => world.insert(e, L(n)).unwrap(),
                            _ => world.insert(e, Z).unwrap(),
                        }
                        continue;
                    }
                    match rng.below(8) {
                        0 => _ = world.remove::<P>(e),
                        1 => _ = world.remove::<L>(e),
                        2 => _ = world.remove::<Z>(e),
                        3 => world.insert(e, U(n)).unwrap(),
                        4 => _ = world.remove::<U>(e),
                        5 if live.len() > 200 => world.despawn(live.swap_remove(at)).unwrap(),
                        6 => live.push(world.spawn((T(n), Z))),
                        _ => live.push(world.spawn(T(n))),
                    }
                }
                if step == 6 {
                    world.query_mut::<(Entity, Option<&mut P>)>().for_each(|(e, p)| {
                        if let Some(p) = p {
                            p.0 = e.index();
                        }
                    });
                    let is_set = |(e, p): (Entity, &P)| p.0 == e.index();
                    assert!(world.query::<(Entity, &P)>().iter().all(is_set));
                }
                check_sides(&mut world, &mut states, &mut rng);
            }
        }
        world.validate().unwrap();
    }
}

fn check_sides(world: &mut World, states: &mut States, rng: &mut Rng) {
    let is = |has: bool| has.then_some(());
    let all = expected(world, |e, t| Some((e, t, get::<P>(world, e), world.has::<L>(e))));
    check(world, &mut states.options, rng, |(e, t, p, l)| (e, t.0, p.copied(), l), &all);
    let all = expected(world, |e, _| is(!world.has::<P>(e) && !world.has::<Z>(e)).map(|()| (e, get::<L>(world, e))));
    check(world, &mut states.without, rng, |(e, l)| (e, l.copied()), &all);
    let all = expected(world, |e, t| is(!world.has::<L>(e)).map(|()| (e, t, get::<P>(world, e))));
    check(world, &mut states.derived, rng, |item| (item.entity, item.t.0, item.p.copied()), &all);
    let all = expected(world, |e, t| is(!world.has::<P>(e) || world.has::<U>(e)).map(|()| (e, t)));
    check(world, &mut states.either, rng, |(e, t)| (e, t.0), &all);
    // The order is that of the pool.
    let pool: Vec<Entity> = world.query_filtered::<Entity, With<Z>>().iter().collect();
    let item = |e: Entity| (e, get::<T>(world, e).unwrap().0, get::<U>(world, e));
    let all: Vec<_> = match pool.len() < world.query::<&T>().len() {
        true => pool.into_iter().map(item).collect(),
        false => expected(world, |e, _| is(world.has::<Z>(e)).map(|()| item(e))),
    };
    check(world, &mut states.having, rng, |(e, t, u)| (e, t.0, u.copied()), &all);
}

#[test]
fn extra_rows_have_sides_of_their_own() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..200).map(|n| world.spawn(T(n))).collect();
    let tagged = world.add_row(Key::main(entities[3]).with_role(Role(1)), (T(1000), P(7))).unwrap();
    world.add_row(Key::main(entities[4]).with_role(Role(1)), T(1001)).unwrap();
    world.insert(entities[9], P(8)).unwrap();
    let main: Vec<_> = world.query_mut::<(&T, Option<&P>)>().iter().map(|(t, p)| (t.0, p.copied())).collect();
    assert_eq!(main, (0..200).map(|n| (n, (n == 9).then_some(P(8)))).collect::<Vec<_>>());
    let all = world.query_filtered_mut::<(Row, &T, Option<&P>), AllRows>();
    let with: Vec<_> = all.iter().filter_map(|(row, t, p)| Some((row == tagged, t.0, p.copied()?))).collect();
    assert_eq!(with, [(false, 9, P(8)), (true, 1000, P(7))]);
    assert_eq!(world.query_filtered_mut::<&T, (AllRows, Without<P>)>().len(), 200);
}

#[test]
fn sides_that_are_written_are_tracked() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..300).map(|n| world.spawn(T(n))).collect();
    for &at in &[0, 1, 150, 299] {
        world.insert(entities[at], K(0)).unwrap();
    }
    let mut changed = QueryState::<Entity, Changed<K>>::new();
    assert_eq!(changed.query(&world).iter().count(), 4);
    let write = |(t, k): (&T, Option<Mut<K>>)| {
        if let Some(mut k) = k.filter(|_| t.0 > 0) {
            k.0 += t.0;
        }
    };
    world.query_mut::<(&T, Option<&mut K>)>().for_each(write);
    assert!(changed.query(&world).iter().eq([entities[1], entities[150], entities[299]]));
    assert_eq!(changed.query(&world).iter().count(), 0);
    assert_eq!(world.get::<K>(entities[299]).unwrap().0, 299);
}

#[test]
fn changed_rows_match_what_was_written() {
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let mut world = World::new();
        let mut live: Vec<Entity> = (0..333).map(|n| world.spawn((T(n), C(n), K(n)))).collect();
        let mut table = QueryState::<(Entity, &C), Changed<C>>::new();
        let mut pool = QueryState::<(Entity, &K), Changed<K>>::new();
        let mut lacking = QueryState::<Entity, (Changed<C>, Without<Z>)>::new();
        let mut either = QueryState::<Entity, Or<(Added<C>, Changed<K>)>>::new();
        let mut one = BTreeSet::from_iter(live.iter().copied());
        let (mut two, mut fresh) = (one.clone(), one.clone());
        for frame in 0..25 {
            let sort = |found: Vec<Entity>| BTreeSet::from_iter(found);
            let lacks: BTreeSet<Entity> = one.iter().copied().filter(|e| !world.has::<Z>(*e)).collect();
            let any: BTreeSet<Entity> = fresh.union(&two).copied().collect();
            assert_eq!(sort(table.query(&world).iter().map(|(e, _)| e).collect()), one);
            assert_eq!(sort(pool.query(&world).into_iter().map(|(e, _)| e).rev().collect()), two);
            assert_eq!(sort(lacking.query(&world).iter().collect()), lacks);
            assert_eq!(sort(either.query(&world).iter().collect()), any);
            assert!(table.query(&world).is_empty() && pool.query(&world).is_empty());
            (one, two, fresh) = Default::default();
            for _ in 0..rng.below(if frame % 2 == 0 { 6 } else { 200 }) {
                let at = rng.below(live.len());
                let e = live[at];
                match rng.below(6) {
                    0 | 1 => {
                        world.get_mut::<C>(e).unwrap().0 += 1;
                        one.insert(e);
                    }
                    2 => {
                        world.get_mut::<K>(e).unwrap().0 += 1;
                        two.insert(e);
                    }
                    3 if world.has::<Z>(e) => world.remove::<Z>(e).map(|_| ()).unwrap(),
                    3 => world.insert(e, Z).unwrap(),
                    4 if live.len() > 300 => {
                        world.despawn(live.swap_remove(at)).unwrap();
                        [&mut one, &mut two, &mut fresh].into_iter().for_each(|set| _ = set.remove(&e));
                    }
                    _ => {
                        let e = world.spawn((T(0), C(0), K(0)));
                        live.push(e);
                        [&mut one, &mut two, &mut fresh].into_iter().for_each(|set| _ = set.insert(e));
                    }
                }
            }
            world.validate().unwrap();
        }
    }
}
