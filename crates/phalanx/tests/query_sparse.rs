//! Queries over components of every layout, mixed: against a model that knows the order, and what else a user relies on.

use phalanx::group::{Observed, Owned};
use phalanx::layout::Kind;
use phalanx::query::{
    AlignedStores, AllRows, Candidate, DynamicError, DynamicQuery, ExtraRows, Filtered, MainRows, PlanDriver,
    QueryFilter, QueryState, ReadOnlyQueryData, SingleError,
};
use phalanx::{
    Component, ComponentError, ComponentId, Components, Entity, Has, Key, Or, QueryData, Removal, Role, Row, Signature,
    With, Without, World,
};
use phalanx_testkit::Rng;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct T(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct U(u32);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct S {
    x: u32,
    y: u32,
}
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct P(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool")]
struct R(String);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct Z;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear")]
struct L(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear")]
struct M(u64);

#[derive(QueryData)]
struct Both<'a> {
    entity: Entity,
    p: &'a P,
    t: Option<&'a T>,
}

#[derive(QueryData)]
struct Deep {
    both: Both<'static>,
    rest: (Has<Z>, Option<&'static L>),
}

/// The components, by number.
const TABLE: usize = 0;
const UTABLE: usize = 1;
const SOA: usize = 2;
const POOL: usize = 3;
const RPOOL: usize = 4;
const ZPOOL: usize = 5;
const LINEAR: usize = 6;
const MLINEAR: usize = 7;
const KINDS: usize = 8;

type Has8 = [Option<u32>; KINDS];

#[derive(Default)]
struct Naive {
    all: BTreeMap<Entity, Has8>,
    /// By component: who has it, in the order of its pool.
    pools: [Vec<Entity>; KINDS],
}

fn insert(world: &mut World, e: Entity, kind: usize, n: u32) {
    match kind {
        TABLE => world.insert(e, T(n)),
        UTABLE => world.insert(e, U(n)),
        SOA => world.insert(e, S { x: n, y: n + 1 }),
        POOL => world.insert(e, P(n)),
        RPOOL => world.insert(e, R(n.to_string())),
        ZPOOL => world.insert(e, Z),
        LINEAR => world.insert(e, L(n)),
        _ => world.insert(e, M(n.into())),
    }
    .unwrap();
}

fn remove(world: &mut World, e: Entity, kind: usize) {
    match kind {
        TABLE => world.remove::<T>(e),
        UTABLE => world.remove::<U>(e),
        SOA => world.remove::<S>(e),
        POOL => world.remove::<P>(e),
        RPOOL => world.remove::<R>(e),
        ZPOOL => world.remove::<Z>(e),
        LINEAR => world.remove::<L>(e),
        _ => world.remove::<M>(e),
    }
    .unwrap();
}

impl Naive {
    fn take(&mut self, e: Entity, kind: usize) {
        self.all.get_mut(&e).unwrap()[kind] = None;
        if let Some(at) = self.pools[kind].iter().position(|other| *other == e) {
            self.pools[kind].swap_remove(at);
        }
    }

    fn step(&mut self, world: &mut World, rng: &mut Rng, n: u32) {
        let any = self.all.keys().nth(rng.below(self.all.len().max(1))).copied();
        match (rng.below(10), any) {
            (0..3, _) | (_, None) => {
                let e = world.spawn(());
                self.all.insert(e, Has8::default());
                for kind in 0..KINDS {
                    if rng.chance(1, 3) {
                        self.put(world, e, kind, n);
                    }
                }
            }
            (3..7, Some(e)) => self.put(world, e, rng.below(KINDS), n),
            (7..9, Some(e)) => {
                let kind = rng.below(KINDS);
                remove(world, e, kind);
                self.take(e, kind);
            }
            (_, Some(e)) => {
                world.despawn(e).unwrap();
                (0..KINDS).for_each(|kind| self.take(e, kind));
                self.all.remove(&e);
            }
        }
    }

    fn put(&mut self, world: &mut World, e: Entity, kind: usize, n: u32) {
        insert(world, e, kind, n);
        if self.all.get_mut(&e).unwrap()[kind].replace(n).is_none() {
            self.pools[kind].push(e);
        }
    }

    /// The entities that are visited, by the contract: those of the shortest source, in its order.
    fn order(&self, world: &World, required: &[usize], tables: impl Fn(&Has8) -> bool) -> (Option<usize>, Vec<Entity>) {
        let in_tables: Vec<Entity> = world.query::<Entity>().iter().filter(|e| tables(&self.all[e])).collect();
        let mut best: Option<usize> = None;
        for &kind in required {
            if best.is_none_or(|best| self.pools[kind].len() < self.pools[best].len()) {
                best = Some(kind);
            }
        }
        match best {
            Some(kind) if self.pools[kind].len() <= in_tables.len() => {
                let mut order = self.pools[kind].clone();
                if kind >= LINEAR {
                    order.sort_by_key(|e| e.index());
                }
                (Some(kind), order)
            }
            _ => (None, in_tables),
        }
    }
}

/// A case: what is required of pools and linear stores, in order of declaration; what a table must have; what an entity
/// must have; what is yielded.
struct Case<'a> {
    required: &'a [usize],
    tables: fn(&Has8) -> bool,
    passes: fn(&Has8) -> bool,
    item: &'a dyn Fn(Entity, &Has8) -> String,
}

fn check<Q: ReadOnlyQueryData, F: QueryFilter>(
    world: &mut World,
    naive: &Naive,
    held: &mut QueryState<Q, F>,
    case: Case<'_>,
) where
    for<'w> Q::Item<'w>: Debug,
{
    let name = std::any::type_name::<(Q, F)>();
    let (driver, order) = naive.order(world, case.required, case.tables);
    let visited: Vec<Entity> = order.iter().copied().filter(|e| (case.passes)(&naive.all[e])).collect();
    let expected: Vec<String> = visited.iter().map(|e| (case.item)(*e, &naive.all[e])).collect();

    let shared = || world.query_filtered::<Q, F>();
    let by_next = |mut items: &mut dyn Iterator<Item = String>| {
        let (mut all, (least, most)) = (Vec::new(), items.size_hint());
        for item in &mut items {
            all.push(item);
        }
        assert!(least <= all.len() && most.is_some_and(|most| most >= all.len()), "{name}");
        all
    };
    assert_eq!(by_next(&mut shared().iter().map(|item| format!("{item:?}"))), expected, "{name}");
    let mut folded = Vec::new();
    shared().for_each(|item| folded.push(format!("{item:?}")));
    assert_eq!(folded, expected, "{name}");
    assert_eq!((shared().len(), shared().is_empty()), (expected.len(), expected.is_empty()), "{name}");
    for (e, has) in &naive.all {
        let passes = (case.passes)(has);
        assert_eq!((shared().contains(*e), shared().get(*e).is_ok()), (passes, passes), "{name}");
        if passes {
            assert_eq!(format!("{:?}", shared().get(*e).unwrap()), (case.item)(*e, has), "{name}");
            assert_eq!(format!("{:?}", shared().get_row(Key::main(*e)).unwrap()), (case.item)(*e, has), "{name}");
        }
    }
    match shared().single() {
        Ok(item) => assert_eq!([format!("{item:?}")].as_slice(), expected, "{name}"),
        Err(SingleError::None { .. }) => assert!(expected.is_empty(), "{name}"),
        Err(SingleError::Several { count, .. }) => assert_eq!(count, expected.len(), "{name}"),
    }
    let pairs: Vec<String> = shared().combinations().take(50).map(|[a, b]| format!("{a:?} {b:?}")).collect();
    let all_pairs = (0..expected.len()).flat_map(|a| (a + 1..expected.len()).map(move |b| (a, b)));
    let wanted = all_pairs.map(|(a, b)| format!("{} {}", expected[a], expected[b]));
    assert_eq!(pairs, wanted.take(50).collect::<Vec<_>>(), "{name}");

    let walked = shared().explain().driver;
    match (walked, driver) {
        (PlanDriver::Tables { rows }, None) => assert_eq!(rows, order.len(), "{name}"),
        (PlanDriver::Pool { component, slots, .. }, Some(kind)) if kind < LINEAR => {
            assert!(component.ends_with(["P", "R", "Z"][kind - POOL]), "{name}: {component}");
            assert_eq!(slots, order.len(), "{name}");
        }
        (PlanDriver::Linear { component, slots }, Some(kind)) => {
            assert!(component.ends_with(["L", "M"][kind - LINEAR]), "{name}: {component}");
            assert_eq!(slots, order.len(), "{name}");
        }
        (PlanDriver::Nothing, Some(kind)) => assert!(naive.pools[kind].is_empty(), "{name}"),
        (walked, driver) => panic!("{name}: {walked:?} instead of {driver:?}"),
    }

    let items: Vec<String> = held.iter_mut(world).map(|item| format!("{item:?}")).collect();
    assert_eq!((items, held.len(world), held.is_empty(world)), (expected.clone(), expected.len(), expected.is_empty()));
    let query = world.query_filtered_mut::<Q, F>();
    assert_eq!((query.len(), query.is_empty()), (expected.len(), expected.is_empty()), "{name}");
    let (mut all, mut iter) = (Vec::new(), query.iter());
    all.extend(iter.by_ref().take(expected.len() / 2).map(|item| format!("{item:?}")));
    iter.for_each(|item| all.push(format!("{item:?}")));
    assert_eq!(all, expected, "{name}");
    let many: Vec<_> =
        query.iter_many(visited.iter().rev().copied()).map(|item| format!("{:?}", item.unwrap())).collect();
    assert!(many.iter().rev().eq(&expected), "{name}");
    let mut sets = Vec::new();
    held.query_mut(world).for_each_combination_mut(|[a]| sets.push(format!("{a:?}")));
    assert_eq!(sets, expected, "{name}");
    #[cfg(feature = "parallel")]
    {
        let all = std::sync::Mutex::new(Vec::new());
        held.query_mut(world).par_for_each_by(3, |item| all.lock().unwrap().push(format!("{item:?}")));
        let (mut all, mut expected) = (all.into_inner().unwrap(), expected.clone());
        all.sort();
        expected.sort();
        assert_eq!(all, expected, "{name}");
    }
}

macro_rules! cases {
    ($world:ident $naive:ident $at:ident; $($query:ty, $filter:ty, $required:expr, |$t:ident| $tables:expr, |$h:ident| $passes:expr,
        |$e:ident, $i:ident| $item:expr;)*) => {
        let mut cases: Vec<Box<dyn FnMut(&mut World, &Naive)>> = Vec::new();
        $({
            let mut held = QueryState::<$query, $filter>::new();
            cases.push(Box::new(move |world, naive| {
                let item = |$e: Entity, $i: &Has8| format!("{:?}", $item);
                let (tables, passes) = (|$t: &Has8| $tables, |$h: &Has8| $passes);
                check::<$query, $filter>(world, naive, &mut held, Case { required: $required, tables, passes, item: &item });
            }));
        })*
        #[allow(unused_mut)]
        let mut $at = cases;
    };
}

fn t(h: &Has8) -> Option<T> {
    h[TABLE].map(T)
}
fn u(h: &Has8) -> Option<U> {
    h[UTABLE].map(U)
}
fn s(h: &Has8) -> Option<S> {
    h[SOA].map(|n| S { x: n, y: n + 1 })
}
fn p(h: &Has8) -> Option<P> {
    h[POOL].map(P)
}
fn r(h: &Has8) -> Option<R> {
    h[RPOOL].map(|n| R(n.to_string()))
}
fn l(h: &Has8) -> Option<L> {
    h[LINEAR].map(L)
}
fn m(h: &Has8) -> Option<M> {
    h[MLINEAR].map(|n| M(n.into()))
}

#[test]
fn queries_over_all_layouts_find_what_the_model_finds_in_the_order_of_the_driver() {
    for seed in 0..if cfg!(miri) { 1 } else { 12 } {
        let mut rng = Rng::new(seed);
        let (mut world, mut naive) = (World::new(), Naive::default());
        cases! { world naive cases;
            &'static P, (), &[POOL], |_h| true, |h| h[POOL].is_some(), |_e, h| p(h).unwrap();
            (Entity, &'static P), (), &[POOL], |_h| true, |h| h[POOL].is_some(), |e, h| (e, p(h).unwrap());
            (&'static R, &'static P), (), &[RPOOL, POOL], |_h| true, |h| h[POOL].is_some() && h[RPOOL].is_some(),
                |_e, h| (r(h).unwrap(), p(h).unwrap());
            (&'static T, &'static P), (), &[POOL], |h| h[TABLE].is_some(), |h| h[POOL].is_some() && h[TABLE].is_some(),
                |_e, h| (t(h).unwrap(), p(h).unwrap());
            (&'static P, &'static S, Option<&'static U>), (), &[POOL], |h| h[SOA].is_some(),
                |h| h[POOL].is_some() && h[SOA].is_some(), |_e, h| (p(h).unwrap(), s(h).unwrap(), u(h));
            &'static L, (), &[LINEAR], |_h| true, |h| h[LINEAR].is_some(), |_e, h| l(h).unwrap();
            (&'static M, &'static L), (), &[MLINEAR, LINEAR], |_h| true, |h| h[LINEAR].is_some() && h[MLINEAR].is_some(),
                |_e, h| (m(h).unwrap(), l(h).unwrap());
            (Entity, &'static M, &'static R, &'static U), (), &[MLINEAR, RPOOL], |h| h[UTABLE].is_some(),
                |h| h[UTABLE].is_some() && h[MLINEAR].is_some() && h[RPOOL].is_some(),
                |e, h| (e, m(h).unwrap(), r(h).unwrap(), u(h).unwrap());
            Option<&'static P>, (), &[], |_h| true, |_h| true, |_e, h| p(h);
            (Has<P>, Has<L>, Has<T>, Key), (), &[], |_h| true, |_h| true,
                |e, h| (h[POOL].is_some(), h[LINEAR].is_some(), h[TABLE].is_some(), Key::main(e));
            Or<(&'static P, &'static T, &'static L)>, (), &[], |_h| true,
                |h| h[POOL].is_some() || h[TABLE].is_some() || h[LINEAR].is_some(), |_e, h| (p(h), t(h), l(h));
            (Or<(&'static P, &'static U)>, &'static R), (), &[RPOOL], |_h| true,
                |h| (h[POOL].is_some() || h[UTABLE].is_some()) && h[RPOOL].is_some(), |_e, h| ((p(h), u(h)), r(h).unwrap());
            Entity, With<P>, &[POOL], |_h| true, |h| h[POOL].is_some(), |e, _h| e;
            Entity, Without<P>, &[], |_h| true, |h| h[POOL].is_none(), |e, _h| e;
            &'static T, Without<L>, &[], |h| h[TABLE].is_some(), |h| h[TABLE].is_some() && h[LINEAR].is_none(),
                |_e, h| t(h).unwrap();
            &'static T, (With<Z>, With<R>), &[ZPOOL, RPOOL], |h| h[TABLE].is_some(),
                |h| h[TABLE].is_some() && h[ZPOOL].is_some() && h[RPOOL].is_some(), |_e, h| t(h).unwrap();
            &'static P, Or<(With<T>, Without<R>)>, &[POOL], |_h| true,
                |h| h[POOL].is_some() && (h[TABLE].is_some() || h[RPOOL].is_none()), |_e, h| p(h).unwrap();
            (&'static P, &'static Z), (With<T>, Without<U>), &[POOL, ZPOOL], |h| h[TABLE].is_some() && h[UTABLE].is_none(),
                |h| h[POOL].is_some() && h[ZPOOL].is_some() && h[TABLE].is_some() && h[UTABLE].is_none(),
                |_e, h| (p(h).unwrap(), Z);
            (Entity, Option<Filtered<&'static P, With<L>>>), (), &[], |_h| true, |_h| true,
                |e, h| (e, p(h).filter(|_| h[LINEAR].is_some()));
            (Filtered<&'static L, (Without<P>, With<M>)>, Has<Z>), MainRows, &[LINEAR, MLINEAR], |_h| true,
                |h| h[LINEAR].is_some() && h[POOL].is_none() && h[MLINEAR].is_some(),
                |_e, h| (l(h).unwrap(), h[ZPOOL].is_some());
            &'static P, ExtraRows, &[POOL], |_h| false, |_h| false, |_e, _h| ();
            &'static L, With<M>, &[LINEAR, MLINEAR], |_h| true, |h| h[LINEAR].is_some() && h[MLINEAR].is_some(),
                |_e, h| l(h).unwrap();
            (&'static P, Option<&'static P>, Has<P>), With<P>, &[POOL], |_h| true, |h| h[POOL].is_some(),
                |_e, h| (p(h).unwrap(), p(h), true);
        }
        let mut both = QueryState::<Both<'static>>::new();
        let mut deep = QueryState::<Deep, Without<R>>::new();
        for n in 0..if cfg!(miri) { 40 } else { 150 } {
            naive.step(&mut world, &mut rng, n);
            world.validate().unwrap();
            if n % 5 != 0 {
                continue;
            }
            cases.iter_mut().for_each(|case| case(&mut world, &naive));
            let (_, order) = naive.order(&world, &[POOL], |_| true);
            let has = |e: &Entity| &naive.all[e];
            let found: Vec<_> = both.iter(&world).map(|item| (item.entity, *item.p, item.t.copied())).collect();
            assert_eq!(found, order.iter().map(|e| (*e, p(has(e)).unwrap(), t(has(e)))).collect::<Vec<_>>());
            let found: Vec<_> =
                deep.iter(&world).map(|item| (item.both.entity, item.rest.0, item.rest.1.copied())).collect();
            run_time(&world, &naive, &mut rng);
            let without = order.iter().filter(|e| has(e)[RPOOL].is_none());
            assert_eq!(found, without.map(|e| (*e, has(e)[ZPOOL].is_some(), l(has(e)))).collect::<Vec<_>>());
        }
    }
}

/// A query by ids that is made of dice, against the model.
fn run_time(world: &World, naive: &Naive, rng: &mut Rng) {
    let ids = [
        world.component_id::<T>(),
        world.component_id::<U>(),
        world.component_id::<S>(),
        world.component_id::<P>(),
        world.component_id::<R>(),
        world.component_id::<Z>(),
        world.component_id::<L>(),
        world.component_id::<M>(),
    ];
    let (mut builder, mut required, mut excluded, mut named) =
        (DynamicQuery::builder(), Vec::new(), Vec::new(), Vec::new());
    for (kind, id) in ids.into_iter().enumerate() {
        let Some(id) = id else { continue };
        match rng.below(8) {
            0 | 1 => {
                builder = builder.read(id);
                required.push(kind);
                named.push((kind, id));
            }
            2 => {
                builder = builder.optional(id);
                named.push((kind, id));
            }
            3 if rng.chance(1, 2) => {
                builder = builder.without(id);
                excluded.push(kind);
            }
            _ => {}
        }
    }
    let query = builder.build(world).unwrap();
    let beside: Vec<usize> = required.iter().copied().filter(|kind| *kind >= POOL).collect();
    let in_table = |h: &Has8| {
        let of_tables =
            |kinds: &[usize], wanted: bool| kinds.iter().all(|kind| *kind >= POOL || h[*kind].is_some() == wanted);
        of_tables(&required, true) && of_tables(&excluded, false)
    };
    let passes = |h: &Has8| required.iter().all(|k| h[*k].is_some()) && excluded.iter().all(|k| h[*k].is_none());
    let (_, order) = naive.order(world, &beside, in_table);
    let expected: Vec<Entity> = order.into_iter().filter(|e| passes(&naive.all[e])).collect();
    let rows: Vec<_> = query.rows(world).unwrap().collect();
    assert!(rows.iter().map(|row| row.entity()).eq(expected.iter().copied()));
    assert_eq!((query.len(world), query.is_empty(world)), (Ok(rows.len()), Ok(rows.is_empty())));
    for row in rows {
        let has = &naive.all[&row.entity()];
        assert!(row.components().map(|(id, _)| id).eq(named.iter().filter(|n| has[n.0].is_some()).map(|n| n.1)));
        if named.iter().any(|(kind, _)| *kind == POOL) {
            assert_eq!(row.get::<P>().ok().copied(), p(has));
        }
        if named.iter().any(|(kind, _)| *kind == SOA) {
            assert_eq!(row.get::<S>().ok(), s(has));
        }
        if named.iter().any(|(kind, _)| *kind == MLINEAR) {
            assert_eq!(row.get::<M>().ok().copied(), m(has));
        }
    }
    for (e, has) in &naive.all {
        assert_eq!(query.get(world, *e).is_ok(), passes(has));
    }
    let any_beside = named.iter().any(|(kind, _)| *kind >= POOL) || excluded.iter().any(|kind| *kind >= POOL);
    assert_eq!(query.tables(world).is_err(), any_beside);
}

#[test]
fn run_time_queries_write_each_value_once() {
    let mut world = World::new();
    let e = world.spawn((T(1), P(2), L(3)));
    world.spawn((T(1), L(3)));
    let [t, p, l] =
        [world.component_id::<T>(), world.component_id::<P>(), world.component_id::<L>()].map(Option::unwrap);
    let query = DynamicQuery::builder().write(p).optional_mut(l).read(t).build(&world).unwrap();
    for mut row in query.rows_mut(&mut world).unwrap() {
        row.take_mut::<P>().unwrap().0 += row.get::<T>().unwrap().0;
        assert!(matches!(row.take_mut::<P>(), Err(DynamicError::Taken { component }) if component.ends_with("P")));
        assert!(matches!(row.get::<P>(), Err(DynamicError::Writes { .. })));
        assert!(matches!(row.take_mut::<T>(), Err(DynamicError::OnlyRead { .. })));
        assert!(matches!(row.get::<R>(), Err(DynamicError::NotNamed { .. })));
        let lane = row.take_lanes_mut(l).unwrap().next().unwrap();
        assert_eq!((lane.len, lane.layout.size()), (1, 4));
    }
    assert_eq!(world.get::<P>(e).unwrap().0, 3);
    query.get_mut(&mut world, e).unwrap().take_mut::<L>().unwrap().0 = 9;
    assert_eq!(world.get::<L>(e).unwrap().0, 9);
    assert!(matches!(query.rows(&world).map(|_| ()), Err(DynamicError::Writes { .. })));
    assert!(matches!(query.tables_mut(&mut world).map(|_| ()), Err(DynamicError::NotInTables { .. })));
    let f = world.spawn(T(1));
    let error = query.get_mut(&mut world, f).unwrap_err();
    assert!(matches!(error, DynamicError::Entity(ComponentError::MissingComponent { entity, component })
        if entity == f && component.ends_with("P")));
}

fn asked<T>(_: T) {}

fn message(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("refused");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// Every way to run a query that aliases over a pool must refuse it, naming `P`.
fn refused_everywhere<Q: QueryData>() {
    let mut world = World::new();
    let e = world.spawn((P(1), T(1)));
    let mut check = |f: &mut dyn FnMut(&mut World)| {
        let message = message(|| f(&mut world));
        assert!(message.contains("would alias: it writes query_sparse::P "), "{message:?}");
    };
    check(&mut |w| for _ in w.query_mut::<Q>() {});
    check(&mut |w| w.query_filtered_mut::<Q, With<L>>().for_each(drop));
    check(&mut |w| asked(w.query_mut::<Q>().get_mut(e).is_ok()));
    check(&mut |w| asked(w.query_mut::<Q>().get_row_mut(Key::main(e)).is_ok()));
    check(&mut |w| asked(w.query_mut::<Q>().single_mut().is_ok()));
    check(&mut |w| assert!(w.query_mut::<Q>().contains(e)));
    check(&mut |w| assert_eq!(w.query_mut::<Q>().len(), 1));
    check(&mut |w| w.query_mut::<Q>().for_each_combination_mut(|[_, _]| ()));
    check(&mut |w| w.query_mut::<Q>().for_each_many([e], |_| ()).unwrap_or_default());
    check(&mut |w| asked(w.query_mut::<Q>().explain()));
    check(&mut |_| drop(QueryState::<Q, Without<P>>::new()));
    check(&mut |w| asked(w.queries_mut::<(&T, Q)>().0.len()));
    world.validate().unwrap();
}

#[test]
fn h27_queries_that_alias_in_a_pool_are_refused_on_every_entry_point() {
    refused_everywhere::<(&mut P, &P)>();
    refused_everywhere::<(&T, Option<&P>, &mut P)>();
    refused_everywhere::<Or<(&L, &mut P, &P)>>();
    refused_everywhere::<(Filtered<&mut P, With<L>>, Filtered<&mut P, Without<L>>)>();
    refused_everywhere::<(Both<'static>, &mut P)>();
}

#[test]
fn h30_queries_at_once_are_disjoint_in_pools_too() {
    let mut world = World::new();
    world.spawn((P(1), L(2), T(3)));
    for message in [
        message(|| asked(world.queries_mut::<(&mut P, &P)>().0.len())),
        message(|| asked(world.queries_mut::<((&T, &P), (&L, &mut P))>().0.len())),
    ] {
        assert!(message.contains("would alias: it writes query_sparse::P "), "{message}");
    }
    let (ps, ls, ts) = world.queries_mut::<(&mut P, (&L, Has<P>), (&T, Has<P>))>();
    for p in ps {
        p.0 += ls.iter().map(|(l, _)| l.0).sum::<u32>() + ts.iter().map(|(t, _)| t.0).sum::<u32>();
    }
    assert_eq!(world.query::<&P>().single().unwrap().0, 6);
}

/// A filter that says anything: about what it needs, about what is settled, about each row.
struct Liar<const REQUIRES: usize, const SETTLED: bool>;

thread_local! {
    static LIES: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

impl<const REQUIRES: usize, const SETTLED: bool> QueryFilter for Liar<REQUIRES, SETTLED> {
    type State = (ComponentId, Kind);
    const IS_ARCHETYPAL: bool = false;
    fn state(_: &Components) -> Self::State {
        (ComponentId::from_index(REQUIRES as u32), if REQUIRES.is_multiple_of(2) { Kind::Pool } else { Kind::Linear })
    }
    fn passes(_: &Self::State, _: &Signature) -> bool {
        true
    }
    fn passes_row(_: &Self::State, row: &Candidate<'_>) -> bool {
        LIES.set(LIES.get() + 1);
        let has = row.has(ComponentId::from_index(LIES.get() % 12));
        assert!(!LIES.get().is_multiple_of(97), "tired");
        has || !LIES.get().is_multiple_of(3)
    }
    fn passes_all(_: &Self::State, _: &AlignedStores<'_>) -> bool {
        SETTLED
    }
    fn required(state: &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        each(state.0, state.1);
        each(ComponentId::from_index(state.0.index() as u32 + 1), Kind::Linear);
    }
}

fn lied_to<F: QueryFilter>() {
    let mut world = World::new();
    let all: Vec<_> = (0..70).map(|n| world.spawn((T(n), P(n), L(n), M(n.into())))).collect();
    for (n, &e) in all.iter().enumerate() {
        match n % 4 {
            0 => asked(world.remove::<P>(e)),
            1 => asked(world.remove::<(L, T)>(e)),
            2 => asked(world.insert(e, R(n.to_string()))),
            _ => {}
        }
    }
    let mut held = QueryState::<(Entity, &'static mut P, Option<&'static mut L>, &'static M), F>::new();
    for _ in 0..20 {
        let mut seen = Vec::new();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            held.iter_mut(&mut world).for_each(|(e, p, l, m)| {
                seen.push(e);
                p.0 = m.0 as u32;
                if let Some(l) = l {
                    l.0 = m.0 as u32;
                }
            });
        }));
        let _ = catch_unwind(AssertUnwindSafe(|| {
            world.query_mut::<Filtered<&mut R, F>>().for_each_combination_mut(|[a, b]| std::mem::swap(a, b));
            world.query::<(Filtered<&P, F>, &M)>().combinations().for_each(|[a, b]| assert_ne!(a.1, b.1));
            world.query_filtered_mut::<(&mut L, &M), F>().for_each(|(l, m)| l.0 = m.0 as u32);
        }));
        assert!(seen.iter().all(|e| world.has::<P>(*e)));
        seen.sort();
        seen.dedup();
        world.validate().unwrap();
        assert!(world.query::<(&P, &M)>().iter().all(|(p, m)| u64::from(p.0) == m.0));
        assert!(world.query::<(&L, &M)>().iter().all(|(l, m)| u64::from(l.0) == m.0));
    }
}

#[test]
fn h26_filters_that_lie_about_stores_reach_nothing_that_is_not_asked_for() {
    lied_to::<Liar<0, true>>();
    lied_to::<Liar<1, false>>();
    lied_to::<Liar<2, false>>();
    lied_to::<Liar<2, true>>();
    lied_to::<Liar<3, true>>();
    lied_to::<Liar<4, true>>();
    lied_to::<Liar<5, true>>();
    lied_to::<Liar<9, false>>();
}

#[test]
fn groups_serve_the_queries_whose_items_are_their_members() {
    for seed in 0..if cfg!(miri) { 1 } else { 10 } {
        let mut rng = Rng::new(seed);
        let (mut world, mut naive) = (World::new(), Naive::default());
        let owning = world.create_group::<(Owned<(P, R)>, Without<Z>)>().unwrap();
        let listing = world.create_group::<Observed<(L, M)>>().unwrap();
        let mut held = QueryState::<(Entity, &'static mut P, &'static R), Without<Z>>::new();
        for n in 0..if cfg!(miri) { 40 } else { 200 } {
            naive.step(&mut world, &mut rng, n);
            let members: Vec<Entity> = owning.entities(&world).collect();
            let served = |e: &Entity| naive.all[e][POOL].is_some() && naive.all[e][RPOOL].is_some();
            // Everything that is asked for is owned: the pools as they lie.
            let whole = world.query_filtered::<(Entity, &P, &R), Without<Z>>();
            assert!(whole.iter().map(|item| item.0).eq(members.iter().copied()));
            assert!(whole.iter().all(|(e, p, r)| p == world.get::<P>(e).unwrap() && r == world.get::<R>(e).unwrap()));
            let group = |driver: PlanDriver| matches!(driver, PlanDriver::Group { slots, whole, .. } if slots == members.len() && (whole || slots == 0));
            assert!(group(whole.explain().driver));
            assert!(held.iter_mut(&mut world).map(|item| item.0).eq(members.iter().copied()));
            assert!(held.iter_mut(&mut world).all(|(e, p, _)| naive.all[&e][POOL] == Some(p.0)));
            // More is asked for: the group is the driver at most.
            let more = world.query_filtered::<(Entity, &R, &P, Option<&T>, &L), (Without<Z>, With<U>)>();
            let mut found: Vec<Entity> = more.iter().map(|item| item.0).collect();
            let fits = |e: &Entity| naive.all[e][LINEAR].is_some() && naive.all[e][UTABLE].is_some();
            let mut expected: Vec<Entity> = members.iter().copied().filter(fits).collect();
            if !matches!(more.explain().driver, PlanDriver::Group { whole: false, .. }) {
                assert!(more.explain().driver.len() <= members.len());
                found.sort();
                expected.sort();
            }
            assert_eq!(found, expected);
            // Less is asked for: the group does not know all items.
            let mut found: Vec<Entity> = world.query::<(Entity, &P, &R)>().iter().map(|item| item.0).collect();
            assert!(!matches!(world.query::<(&P, &R)>().explain().driver, PlanDriver::Group { .. }));
            found.sort();
            assert!(found.into_iter().eq(naive.all.keys().copied().filter(served)));
            // A group that owns nothing leads where it is shorter than the stores.
            let mut found: Vec<Entity> = world.query::<(Entity, &M, &L)>().iter().map(|item| item.0).collect();
            let listed: Vec<Entity> = listing.entities(&world).collect();
            match world.query::<(&M, &L)>().explain().driver {
                PlanDriver::Group { slots, whole, .. } => {
                    assert_eq!((slots, whole), (listed.len(), false));
                    assert_eq!(found, listed);
                }
                driver => {
                    let by_index = |e: &Entity| e.index();
                    let mut listed = listed;
                    assert_eq!(driver.len(), listed.len());
                    found.sort_by_key(by_index);
                    listed.sort_by_key(by_index);
                    assert_eq!(found, listed);
                }
            }
        }
    }
}

#[test]
fn extra_rows_in_stores_are_their_owners() {
    let mut world = World::new();
    let (e, f) = (world.spawn((T(1), P(1), L(1))), world.spawn((P(2), L(2), M(2))));
    let key = Key::main(e).with_role(Role(7));
    let row = world.add_row(key, (P(3), L(3), M(3), U(9))).unwrap();
    let found: Vec<_> = world.query::<(Entity, Key, Row, &P)>().iter().map(|(e, k, r, p)| (e, k, r, p.0)).collect();
    let [main_e, main_f] = [e, f].map(|e| world.row(Key::main(e)).unwrap().id());
    assert_eq!(found, [(e, Key::main(e), main_e, 1), (f, Key::main(f), main_f, 2), (e, key, row, 3)]);
    let linear: Vec<_> = world.query::<(Entity, Key, Row, &L)>().iter().map(|(e, k, r, l)| (e, k, r, l.0)).collect();
    assert_eq!(linear, found);
    let marks: Vec<_> = world.query_mut::<(Entity, &M)>().iter().map(|(e, m)| (e, m.0)).collect();
    assert_eq!(marks, [(f, 2)], "not asked for extra rows");
    assert!(world.query_filtered::<(Entity, &M), AllRows>().iter().map(|(e, m)| (e, m.0)).eq([(f, 2), (e, 3)]));
    assert!(world.query_filtered::<&P, ExtraRows>().iter().map(|p| p.0).eq([3]));
    // Fewer main rows than rows in the pool: the tables lead, in the order in which they got rows.
    assert!(world.query::<&P>().iter().map(|p| p.0).eq([1, 2]));
    assert!(world.query_filtered::<&P, MainRows>().iter().map(|p| p.0).eq([1, 2]));
    assert!(world.query_filtered::<&L, (ExtraRows, With<U>)>().iter().map(|l| l.0).eq([3]));
    assert!(world.query_filtered::<(&L, &M), MainRows>().iter().map(|(l, _)| l.0).eq([2]));
    assert_eq!(world.query::<(&P, &U)>().get_row(key).unwrap(), (&P(3), &U(9)));
    assert!(world.query::<(&P, &T)>().get_row(row).is_err());
    world.query_mut::<&mut P>().get_row_mut(row).unwrap().0 = 30;
    let rows = world.query_filtered_mut::<(Entity, &P), AllRows>();
    assert!(rows.iter().map(|(e, p)| (e, p.0)).eq([(e, 1), (f, 2), (e, 30)]));
    let pool = world.component_id::<P>().unwrap();
    let dynamic = DynamicQuery::builder().read(pool).all_rows().build(&world).unwrap();
    assert!(dynamic.rows(&world).unwrap().map(|row| row.key()).eq([Key::main(e), Key::main(f), key]));
    let dynamic = DynamicQuery::builder().read(pool).build(&world).unwrap();
    assert!(dynamic.rows(&world).unwrap().map(|row| row.key()).eq([Key::main(e), Key::main(f)]));
    world.remove_row(key).unwrap();
    assert!(world.query::<(Entity, &P)>().iter().map(|(e, _)| e).eq([e, f]));
    world.validate().unwrap();
}

#[test]
fn holes_in_a_pool_are_passed_over() {
    let mut world = World::new();
    world.pool_mut::<P>().set_removal(Removal::Deferred).unwrap();
    let all: Vec<_> = (0..100).map(|n| world.spawn((P(n), T(n)))).collect();
    for &e in all.iter().step_by(3) {
        world.remove::<P>(e).unwrap();
    }
    let left = || (0..100_u32).filter(|n| n % 3 != 0);
    assert!(world.query::<&P>().iter().map(|p| p.0).eq(left()));
    assert!(matches!(world.query::<&P>().explain().driver, PlanDriver::Pool { slots: 66, whole: false, .. }));
    assert_eq!((world.pool::<P>().len(), world.pool::<P>().values()), (66, None));
    assert!(world.pool::<P>().iter().rev().map(|(e, p)| (e, p.0)).eq(left().rev().map(|n| (all[n as usize], n))));
    let mut seen = Vec::new();
    world.query_mut::<(Entity, &mut P)>().for_each(|(e, p)| seen.push((e, p.0)));
    assert!(seen.into_iter().eq(left().map(|n| (all[n as usize], n))));
    world.pool_mut::<P>().compact(usize::MAX);
    assert!(matches!(world.query::<&P>().explain().driver, PlanDriver::Pool { slots: 66, whole: true, .. }));
    assert!(world.query::<&P>().iter().map(|p| p.0).eq(left()));
}

#[test]
fn items_for_writing_are_the_values_themselves() {
    let mut world = World::new();
    let all: Vec<_> = (0..200).map(|n| world.spawn((T(n), P(n), L(n)))).collect();
    for (n, &e) in all.iter().enumerate() {
        if n % 3 == 0 {
            world.remove::<P>(e).unwrap();
        }
        if n % 5 == 0 {
            world.remove::<L>(e).unwrap();
        }
    }
    world.query_mut::<&mut P>().for_each(|p| p.0 += 1000);
    world.query_mut::<&mut L>().for_each(|l| l.0 += 1000);
    for (t, p, l) in world.query_mut::<(&mut T, &mut P, Option<&mut L>)>() {
        t.0 += 5000;
        p.0 += 1;
        if let Some(l) = l {
            l.0 += 1;
        }
    }
    world.query_filtered_mut::<(&mut L, &mut T), Without<P>>().for_each(|(l, t)| (l.0, t.0) = (7, 7));
    for (n, &e) in all.iter().enumerate() {
        let (has_p, has_l, n) = (n % 3 != 0, n % 5 != 0, n as u32);
        assert_eq!(world.get::<P>(e).ok().map(|p| p.0), has_p.then_some(n + 1001));
        let l = has_l.then_some(if has_p { n + 1001 } else { 7 });
        assert_eq!(world.get::<L>(e).ok().map(|l| l.0), l);
        let t = if has_p {
            n + 5000
        } else if has_l {
            7
        } else {
            n
        };
        assert_eq!(world.get::<T>(e).unwrap().0, t);
    }
    let (heats, marks) = world.queries_mut::<(&mut P, (&L, &T))>();
    let marks: u32 = marks.iter().map(|(l, _)| l.0).sum();
    heats.for_each(|p| p.0 = marks);
    assert!(world.query::<&P>().iter().all(|p| p.0 == marks));
}

#[test]
fn the_plan_names_the_shortest_driver() {
    let mut world = World::new();
    assert_eq!(world.query::<(&T, &P)>().explain().driver, PlanDriver::Nothing);
    let all: Vec<_> = (0..100).map(|n| world.spawn((T(n), L(n)))).collect();
    for &e in &all[..10] {
        world.insert(e, P(1)).unwrap();
    }
    let plan = |world: &mut World| world.query_mut::<(&T, &P, &L)>().explain();
    let text = plan(&mut world).to_string();
    assert!(text.contains("iterates over the pool of") && text.ends_with("P, 10 slots"), "{text}");
    for &e in &all[..95] {
        world.remove::<L>(e).unwrap();
    }
    assert!(matches!(plan(&mut world).driver, PlanDriver::Linear { slots: 5, .. }));
    for &e in &all[..97] {
        world.remove::<T>(e).unwrap();
    }
    assert_eq!(plan(&mut world).driver, PlanDriver::Tables { rows: 3 });
    assert!(plan(&mut world).to_string().contains("iterates over 1 of"));
    assert!(matches!(world.query::<(Entity, &P)>().explain().driver, PlanDriver::Pool { slots: 10, whole: true, .. }));
    assert!(matches!(world.query_filtered::<&P, With<T>>().explain().driver, PlanDriver::Tables { rows: 3 }));
    assert!(matches!(world.query::<(&P, Has<L>)>().explain().driver, PlanDriver::Pool { whole: false, .. }));
}

#[test]
fn among_equals_the_first_that_is_named_leads() {
    let mut world = World::new();
    let [a, b] = [world.spawn(()), world.spawn(())];
    world.insert(a, P(1)).unwrap();
    world.insert(b, P(2)).unwrap();
    world.insert(b, R("2".into())).unwrap();
    world.insert(a, R("1".into())).unwrap();
    assert!(world.query::<(&P, &R)>().iter().map(|(p, _)| p.0).eq([1, 2]));
    assert!(world.query::<(&R, &P)>().iter().map(|(_, p)| p.0).eq([2, 1]));
    assert!(world.query_filtered::<&P, With<R>>().iter().map(|p| p.0).eq([1, 2]));
}

#[test]
fn h56_held_states_follow_pools_that_move_and_worlds() {
    let (mut world, mut other, mut empty) = (World::new(), World::new(), World::new());
    let mut state = QueryState::<(Entity, &'static mut P, &'static T)>::new();
    assert_eq!(state.len(&empty), 0);
    let e = world.spawn((T(1), P(2)));
    // The ids differ from those of the other world.
    let f = other.spawn((R(String::new()), L(3), P(4), T(5)));
    for _ in 0..3 {
        assert_eq!(state.iter_mut(&mut world).map(|(e, p, t)| (e, p.0, t.0)).collect::<Vec<_>>(), [(e, 2, 1)]);
        assert_eq!(state.iter_mut(&mut other).map(|(e, p, t)| (e, p.0, t.0)).collect::<Vec<_>>(), [(f, 4, 5)]);
        assert_eq!(state.iter_mut(&mut empty).count(), 0);
        assert_eq!(state.get_mut(&mut other, f).unwrap().1.0, 4);
    }
    for n in 0..100 {
        world.spawn((P(n), T(n)));
        assert_eq!(state.len(&world), n as usize + 2);
    }
    world.clear();
    assert!(state.is_empty(&world) && state.iter_mut(&mut world).next().is_none());
}

#[test]
fn errors_name_what_is_missing_from_a_pool() {
    let mut world = World::new();
    let e = world.spawn((T(1), P(1)));
    let missing = |name: &'static str, error: ComponentError| matches!(error, ComponentError::MissingComponent { component, entity } if component.ends_with(name) && entity == e);
    assert!(missing("L", world.query::<(&T, &P, &L)>().get(e).unwrap_err()));
    assert!(missing("U", world.query::<(&P, &U)>().get(e).unwrap_err()));
    assert!(missing("R", world.query_filtered::<&P, With<R>>().get(e).unwrap_err()));
    let excluded = world.query_filtered_mut::<&T, Without<P>>().get(e).unwrap_err();
    assert!(matches!(excluded, ComponentError::ExcludedComponent { component, .. } if component.ends_with("P")));
}
