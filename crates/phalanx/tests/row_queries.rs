//! Queries, filters and batches are about entities; extra rows are visited only when they are asked for.

use phalanx::group::Owned;
use phalanx::query::{
    AllRows, DynamicQuery, ExtraRows, Filtered, MainRows, PlanDriver, QueryFilter, QueryState, ReadOnlyQueryData,
};
use phalanx::{Component, ComponentId, Entity, Has, Key, Or, QueryData, Removal, Role, Row, With, Without, World};
use phalanx_testkit::Rng;
use std::collections::BTreeMap;

/// Components of all layouts. A value is the number of its row.
#[derive(Component, Clone, Debug, PartialEq)]
struct T(u32);
#[derive(Component, Clone, Debug, PartialEq)]
struct Tag;
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct S {
    number: u32,
    other: u8,
}
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool")]
struct P(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool")]
struct Q(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "linear")]
struct L(u32);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "linear")]
struct M(u32);

const TABLE: usize = 0;
const TAG: usize = 1;
const SOA: usize = 2;
const POOL: usize = 3;
const QOOL: usize = 4;
const LINEAR: usize = 5;
const MINEAR: usize = 6;

#[test]
fn what_an_entity_carries_does_not_end_it() {
    #[derive(Component)]
    struct Health(u32);
    let mut world = World::new();
    let tank = world.spawn((Health(100), T(0)));
    let wreck = world.spawn(T(1));
    for role in 1..4 {
        world.add_row(Key::main(tank).with_role(Role(role)), T(2)).unwrap();
    }
    let dead: Vec<Entity> = world.query_filtered::<Entity, Without<Health>>().iter().collect();
    assert_eq!(dead, [wreck]);
    assert_eq!(world.query_filtered_mut::<Entity, Without<Health>>().len(), 1);
    assert_eq!(world.query_filtered::<(Entity, &T), Without<Health>>().single().unwrap().0, wreck);
    assert_eq!(world.insert_where::<Without<Health>, _>(Tag), 1);
    assert_eq!(world.remove_where::<(), Tag>(), 1);
    dead.into_iter().for_each(|e| world.despawn(e).unwrap());
    assert_eq!((world.get::<Health>(tank).unwrap().0, world.row_count()), (100, 4));
}

/// Rows with some of the components each, by number.
struct Scene {
    world: World,
    rows: BTreeMap<u32, (Key, [bool; 7])>,
    next: u32,
}

/// Which rows are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Main,
    Extra,
    All,
}

impl Scene {
    fn new() -> Scene {
        Scene { world: World::new(), rows: BTreeMap::new(), next: 0 }
    }

    fn step(&mut self, rng: &mut Rng) {
        let has: [bool; 7] = std::array::from_fn(|_| rng.chance(1, 2));
        let n = self.next;
        self.next += 1;
        let some = self.rows.values().nth(rng.below(self.rows.len().max(1))).map(|(key, _)| *key);
        let key = match (rng.below(7), some) {
            (0..2, _) | (_, None) => Key::main(self.world.spawn_empty()),
            (2..5, Some(key)) => {
                let key = Key::main(key.entity).with_role(Role(n + 1));
                self.world.add_row(key, ()).unwrap();
                key
            }
            (5, Some(key)) => {
                match key.is_main() {
                    true => self.world.despawn(key.entity).unwrap(),
                    false => self.world.remove_row(key).unwrap(),
                }
                self.rows
                    .retain(|_, (other, _)| if key.is_main() { other.entity != key.entity } else { *other != key });
                return;
            }
            (_, Some(key)) => {
                // A row that exists gets other components.
                let world = &mut self.world;
                world.row_mut(key).unwrap().remove::<(T, Tag, S, P, Q, L, M)>();
                self.rows.retain(|_, (other, _)| *other != key);
                key
            }
        };
        self.rows.insert(n, (key, has));
        self.give(key, has, n);
    }

    fn give(&mut self, key: Key, has: [bool; 7], n: u32) {
        let world = &mut self.world;
        if has[TABLE] {
            world.row_mut(key).unwrap().insert(T(n));
        }
        if has[TAG] {
            world.row_mut(key).unwrap().insert(Tag);
        }
        if has[SOA] {
            world.row_mut(key).unwrap().insert(S { number: n, other: 0 });
        }
        if has[POOL] {
            world.row_mut(key).unwrap().insert(P(n));
        }
        if has[QOOL] {
            world.row_mut(key).unwrap().insert(Q(n));
        }
        if has[LINEAR] {
            world.row_mut(key).unwrap().insert(L(n));
        }
        if has[MINEAR] {
            world.row_mut(key).unwrap().insert(M(n));
        }
    }

    /// The numbers of the rows that pass, ascending.
    fn expected(&self, asked: Asked, passes: fn(&[bool; 7]) -> bool) -> Vec<u32> {
        let visited = |key: &Key| asked == Asked::All || key.is_main() == (asked == Asked::Main);
        let found = self.rows.iter().filter(|(_, (key, has))| visited(key) && passes(has));
        found.map(|(number, _)| *number).collect()
    }
}

/// A query that tells the number of each row.
trait Case {
    type Terms: ReadOnlyQueryData;
    fn number(item: <Self::Terms as QueryData>::Item<'_>) -> u32;
}

/// All doors to a query find the same rows.
fn doors<C: Case, F: QueryFilter>(
    scene: &mut Scene,
    held: &mut QueryState<C::Terms, F>,
    expected: &[u32],
    asked: Asked,
) {
    let sorted = |mut found: Vec<u32>| {
        found.sort_unstable();
        found
    };
    let world = &mut scene.world;
    let shared = || world.query_filtered::<C::Terms, F>();
    let ordered: Vec<u32> = shared().iter().map(C::number).collect();
    assert_eq!(sorted(ordered.clone()), expected, "{asked:?}: {}", shared().explain());
    let mut folded = Vec::new();
    shared().for_each(|item| folded.push(C::number(item)));
    assert_eq!(folded, ordered);
    assert_eq!((shared().len(), shared().is_empty()), (expected.len(), expected.is_empty()));
    assert_eq!(shared().single().ok().map(C::number), Some(ordered.clone()).filter(|o| o.len() == 1).map(|o| o[0]));
    assert!(shared().combinations().map(|[item]| C::number(item)).eq(ordered.iter().copied()));
    assert!(shared().iter().size_hint().1.is_none_or(|most| most >= expected.len()));
    for (key, has) in scene.rows.values() {
        // One entity, or one row, is found by its name, whatever the query visits.
        if key.is_main() && asked == Asked::Main {
            let found = shared().get(key.entity).ok().map(C::number);
            assert_eq!(found.is_some(), shared().contains(key.entity));
            assert_eq!(found.is_some(), expected.iter().any(|n| scene.rows[n] == (*key, *has)));
        }
    }
    let mut exclusive = world.query_filtered_mut::<C::Terms, F>();
    assert_eq!((exclusive.len(), exclusive.is_empty()), (expected.len(), expected.is_empty()));
    assert!(exclusive.iter().map(C::number).eq(ordered.iter().copied()));
    let mut sets = Vec::new();
    exclusive.for_each_combination_mut(|[item]| sets.push(C::number(item)));
    assert_eq!(sets, ordered);
    let mut folded = Vec::new();
    exclusive.for_each(|item| folded.push(C::number(item)));
    assert_eq!(folded, ordered);
    assert_eq!(world.query_filtered_mut::<C::Terms, F>().single().is_ok(), ordered.len() == 1);
    assert!(held.iter(world).map(C::number).eq(ordered.iter().copied()));
    assert_eq!((held.len(world), held.is_empty(world)), (expected.len(), expected.is_empty()));
    #[cfg(feature = "parallel")]
    {
        let found = std::sync::Mutex::new(Vec::new());
        world
            .query_filtered_mut::<C::Terms, F>()
            .par_for_each_by(3, |item| found.lock().unwrap().push(C::number(item)));
        assert_eq!(sorted(found.into_inner().unwrap()), expected);
    }
    let (inner, _) = world.queries_mut::<(Filtered<C::Terms, F>, Entity)>();
    assert!(inner.iter().map(C::number).eq(ordered.iter().copied()));
    let (inner, _) = world.queries_mut::<(Filtered<(Option<Entity>, C::Terms), F>, ())>();
    assert!(inner.iter().map(|(_, item)| C::number(item)).eq(ordered.iter().copied()));
    assert_eq!(world.query_filtered::<(), F>().iter().count(), world.query_filtered_mut::<(), F>().len());
}

macro_rules! cases {
    ($scene:ident, $held:ident: $($name:ident: $query:ty, $filter:ty, |$item:pat_param| $number:expr, |$has:ident| $passes:expr;)*) => {
        /// The states that are held while the world changes.
        #[derive(Default)]
        struct $held {
            $($name: (
                QueryState<$query, $filter>,
                QueryState<$query, (ExtraRows, $filter)>,
                QueryState<$query, ($filter, AllRows)>,
                QueryState<$query, (AllRows, $filter, MainRows)>,
            ),)*
        }

        $(
            #[allow(non_camel_case_types)]
            struct $name;
            impl Case for $name {
                type Terms = $query;
                fn number($item: <$query as QueryData>::Item<'_>) -> u32 {
                    $number
                }
            }
        )*

        impl $held {
            fn check(&mut self, $scene: &mut Scene) {
                $({
                    let passes: fn(&[bool; 7]) -> bool = |$has| $passes;
                    let [main, extra, all] = [Asked::Main, Asked::Extra, Asked::All].map(|a| $scene.expected(a, passes));
                    doors::<$name, _>($scene, &mut self.$name.0, &main, Asked::Main);
                    doors::<$name, _>($scene, &mut self.$name.1, &extra, Asked::Extra);
                    doors::<$name, _>($scene, &mut self.$name.2, &all, Asked::All);
                    doors::<$name, _>($scene, &mut self.$name.3, &main, Asked::Main);
                    // A term that names rows asks for them.
                    let named = $scene.world.query_filtered::<(Key, Row, $query), $filter>();
                    let mut found: Vec<u32> = named.iter().map(|(key, row, item)| {
                        assert_eq!(($scene.world.row(key).map(|row| row.id()), row.is_main()), (Ok(row), key.is_main()));
                        let n = $name::number(item);
                        assert_eq!($scene.rows[&n].0, key);
                        n
                    }).collect();
                    found.sort_unstable();
                    assert_eq!(found, all);
                    assert_eq!($scene.world.query_filtered::<($query, Option<Key>), $filter>().len(), all.len());
                    assert_eq!($scene.world.query_filtered_mut::<(Row, $query), $filter>().len(), all.len());
                    assert_eq!(
                        $scene.world.query_filtered_mut::<(Row, $query), ($filter, MainRows)>().len(),
                        main.len()
                    );
                })*
            }
        }
    };
}

cases! { scene, Held:
    plain: &'static T, (), |t| t.0, |has| has[TABLE];
    plain_without: &'static T, Without<Tag>, |t| t.0, |has| has[TABLE] && !has[TAG];
    soa: (&'static S, Has<T>), (), |(s, _)| s.number, |has| has[SOA];
    pool: &'static P, (), |p| p.0, |has| has[POOL];
    pool_entity: (Entity, &'static P), (), |(_, p)| p.0, |has| has[POOL];
    pools: (&'static P, &'static Q), (), |(p, _)| p.0, |has| has[POOL] && has[QOOL];
    pools_without: (&'static P, Option<&'static Q>), Without<L>, |(p, _)| p.0, |has| has[POOL] && !has[LINEAR];
    pool_table: (&'static P, &'static T), (), |(p, _)| p.0, |has| has[POOL] && has[TABLE];
    linear: &'static L, (), |l| l.0, |has| has[LINEAR];
    linears: (&'static L, &'static M), (), |(l, _)| l.0, |has| has[LINEAR] && has[MINEAR];
    linear_entity: (&'static L, Entity, Has<P>), With<M>, |(l, ..)| l.0, |has| has[LINEAR] && has[MINEAR];
    either: Or<(&'static P, &'static T)>, (), |(p, t)| p.map_or_else(|| t.unwrap().0, |p| p.0), |has| {
        has[POOL] || has[TABLE]
    };
    or_filter: &'static T, Or<(With<Q>, Without<M>)>, |t| t.0, |has| has[TABLE] && (has[QOOL] || !has[MINEAR]);
}

#[test]
fn every_door_visits_extra_rows_only_when_they_are_asked_for() {
    for seed in 0..8 {
        let (mut scene, mut held, mut rng) = (Scene::new(), Held::default(), Rng::new(seed));
        if seed % 4 == 1 {
            scene.world.create_group::<Owned<(P, Q)>>().unwrap();
        }
        if seed % 4 == 2 {
            scene.world.pool_mut::<P>().set_removal(Removal::Deferred).unwrap();
        }
        for step in 0..120 {
            scene.step(&mut rng);
            if step % 4 == 0 {
                held.check(&mut scene);
                scene.world.validate().unwrap();
            }
        }
        // Stores that are left without extra rows.
        let extra: Vec<Key> = scene.rows.values().map(|(key, _)| *key).filter(|key| !key.is_main()).collect();
        extra.iter().for_each(|key| scene.world.remove_row(*key).unwrap());
        scene.rows.retain(|_, (key, _)| key.is_main());
        held.check(&mut scene);
    }
}

#[test]
fn run_time_queries_visit_extra_rows_only_when_they_are_asked_for() {
    let ids = |world: &mut World| -> [ComponentId; 7] {
        [
            world.register_component::<T>(),
            world.register_component::<Tag>(),
            world.register_component::<S>(),
            world.register_component::<P>(),
            world.register_component::<Q>(),
            world.register_component::<L>(),
            world.register_component::<M>(),
        ]
    };
    for seed in 0..4 {
        let (mut scene, mut rng) = (Scene::new(), Rng::new(seed));
        let ids = ids(&mut scene.world);
        if seed == 1 {
            scene.world.create_group::<Owned<(P, Q)>>().unwrap();
        }
        for _ in 0..100 {
            scene.step(&mut rng);
        }
        type Passes = fn(&[bool; 7]) -> bool;
        let cases: [(&[usize], &[usize], Passes); 6] = [
            (&[TABLE], &[], |has| has[TABLE]),
            (&[TABLE], &[TAG], |has| has[TABLE] && !has[TAG]),
            (&[POOL], &[], |has| has[POOL]),
            (&[POOL, QOOL], &[], |has| has[POOL] && has[QOOL]),
            (&[LINEAR, SOA], &[QOOL], |has| has[LINEAR] && has[SOA] && !has[QOOL]),
            (&[], &[TAG], |has| !has[TAG]),
        ];
        for (read, without, passes) in cases {
            for asked in [Asked::Main, Asked::Extra, Asked::All] {
                let builder = read.iter().fold(DynamicQuery::builder(), |builder, at| builder.read(ids[*at]));
                let builder = without.iter().fold(builder, |builder, at| builder.without(ids[*at]));
                let builder = match asked {
                    Asked::Main => builder,
                    Asked::Extra => builder.all_rows().extra_rows(),
                    Asked::All => builder.extra_rows().all_rows(),
                };
                let query = builder.build(&scene.world).unwrap();
                let numbers = scene.expected(asked, passes);
                let mut expected: Vec<Key> = numbers.iter().map(|n| scene.rows[n].0).collect();
                let mut found: Vec<Key> = query.rows(&scene.world).unwrap().map(|row| row.key()).collect();
                let mut written: Vec<Key> = query.rows_mut(&mut scene.world).unwrap().map(|row| row.key()).collect();
                assert_eq!(found, written);
                for keys in [&mut expected, &mut found, &mut written] {
                    keys.sort_unstable();
                }
                assert_eq!(found, expected, "{read:?} without {without:?}, {asked:?}");
                assert_eq!(query.len(&scene.world), Ok(expected.len()));
                assert_eq!(query.is_empty(&scene.world), Ok(expected.is_empty()));
                if let Ok(tables) = query.tables(&scene.world) {
                    let mut owners: Vec<Entity> = tables.flat_map(|each| each.entities().to_vec()).collect();
                    owners.sort_unstable();
                    assert!(owners.iter().copied().eq(expected.iter().map(|key| key.entity)));
                }
                if let Some(key) = expected.iter().find(|key| key.is_main()) {
                    assert_eq!(query.get(&scene.world, key.entity).unwrap().key(), *key);
                }
            }
        }
    }
}

#[test]
fn chunks_are_of_main_rows_unless_extra_ones_are_asked_for() {
    let mut world = World::new();
    let e = world.spawn((T(1), S { number: 1, other: 0 }));
    world.add_row(Key::main(e).with_role(Role(1)), (T(2), S { number: 2, other: 0 })).unwrap();
    let numbers = |chunks: Vec<&[T]>| chunks.concat().iter().map(|t| t.0).collect::<Vec<_>>();
    assert_eq!(numbers(world.query::<&T>().chunks().collect()), [1]);
    assert_eq!(numbers(world.query_mut::<&T>().chunks().collect()), [1]);
    assert_eq!(numbers(QueryState::<&T>::new().query(&world).chunks().collect()), [1]);
    assert_eq!(numbers(world.query_filtered::<&T, ExtraRows>().chunks().collect()), [2]);
    assert_eq!(numbers(world.query_filtered_mut::<&T, AllRows>().chunks().collect()), [1, 2]);
    let keyed = world.query_mut::<(Key, &S)>().chunks().map(|(keys, s)| (keys.len(), s.number.to_vec()));
    assert!(keyed.eq([(1, vec![1]), (1, vec![2])]));
    assert_eq!(world.query_mut::<&mut S>().chunks().map(|s| s.number.len()).sum::<usize>(), 1);
}

#[test]
fn a_derived_query_asks_for_rows_if_one_of_its_terms_does() {
    #[derive(QueryData)]
    struct Plain<'a> {
        entity: Entity,
        t: &'a T,
    }
    #[derive(QueryData)]
    struct Named<'a> {
        key: Key,
        plain: Plain<'a>,
    }
    let mut world = World::new();
    let e = world.spawn(T(1));
    let key = Key::main(e).with_role(Role(1));
    world.add_row(key, T(2)).unwrap();
    assert!(world.query::<Plain>().iter().map(|item| (item.entity, item.t.0)).eq([(e, 1)]));
    let named = world.query_mut::<Named>().into_iter().map(|item| (item.key, item.plain.t.0));
    assert!(named.eq([(Key::main(e), 1), (key, 2)]));
}

#[test]
fn batches_change_main_rows_unless_extra_ones_are_asked_for() {
    for listens in [false, true] {
        let mut world = World::new();
        if listens {
            // Then batches go slot by slot.
            world.on_add::<Tag>(|_, _, _| ());
        }
        let e = world.spawn((T(1), P(1)));
        let key = Key::main(e).with_role(Role(1));
        let row = world.add_row(key, (T(2), P(2))).unwrap();
        let has = |world: &World| (world.has::<Tag>(e), world.row(row).and_then(|row| row.get::<Tag>()).is_ok());
        assert_eq!((world.insert_where::<(), _>(Tag), has(&world)), (1, (true, false)));
        assert_eq!((world.remove_where::<AllRows, Tag>(), has(&world)), (1, (false, false)));
        assert_eq!((world.insert_where::<ExtraRows, _>(Tag), has(&world)), (1, (false, true)));
        assert_eq!((world.remove_where::<With<P>, Tag>(), has(&world)), (0, (false, true)));
        assert_eq!((world.insert_where::<(With<P>, AllRows), _>(Tag), has(&world)), (2, (true, true)));
        assert_eq!((world.remove_where::<(With<P>, With<T>), Tag>(), has(&world)), (1, (false, true)));
        assert_eq!((world.insert_where::<Without<Tag>, _>((L(7), Tag)), has(&world)), (1, (true, true)));
        assert_eq!(world.row(row).and_then(|row| row.get::<L>()).ok(), None);
        // A component can be cleared wherever it is.
        assert_eq!((world.component_mut::<Tag>().clear(), has(&world)), (2, (false, false)));
        assert_eq!(world.component_mut::<P>().clear(), 2);
        world.validate().unwrap();
    }
}

#[test]
fn a_pool_is_one_loop_while_it_holds_no_extra_row() {
    let mut world = World::new();
    world.spawn_batch((0..100).map(|n| (P(n), Q(n))));
    let e = world.spawn((P(100), T(100)));
    let whole = |world: &World| match world.query::<(Entity, &P)>().explain().driver {
        PlanDriver::Pool { whole, slots, .. } => (whole, slots),
        other => panic!("{other:?}"),
    };
    assert_eq!(whole(&world), (true, 101));
    // Rows elsewhere do not concern it.
    world.add_row(Key::main(e).with_role(Role(1)), (Q(1), T(1))).unwrap();
    assert_eq!(whole(&world), (true, 101));
    // More entities without it, so that the pool stays the shortest.
    world.spawn_batch((0..10).map(T));
    let row = world.add_row(Key::main(e).with_role(Role(2)), P(1000)).unwrap();
    assert_eq!(whole(&world), (false, 102));
    assert_eq!(world.query::<(Entity, &P)>().len(), 101);
    let plan = world.query::<(Row, &P)>().explain();
    assert!(matches!(plan.driver, PlanDriver::Pool { whole: true, slots: 102, .. }), "{plan}");
    world.remove_row(row).unwrap();
    assert_eq!(whole(&world), (true, 101));
}

#[test]
fn a_group_serves_queries_beside_extra_rows() {
    let mut world = World::new();
    let all = world.spawn_batch((0..10).map(|n| (P(n), Q(n))));
    for (n, e) in (100..).zip(&all) {
        world.add_row(Key::main(*e).with_role(Role(1)), (P(n), Q(n))).unwrap();
    }
    let group = world.create_group::<Owned<(P, Q)>>().unwrap();
    assert_eq!((group.len(&world), group.slices(&world).0.len()), (10, 10));
    let plan = world.query::<(Entity, &P, &Q)>().explain();
    assert!(matches!(plan.driver, PlanDriver::Group { whole: true, slots: 10, .. }), "{plan}");
    assert!(world.query::<(Entity, &P, &Q)>().iter().map(|(e, ..)| e).eq(group.entities(&world)));
    // The group has no extra rows, so a query that asks for them goes elsewhere.
    let plan = world.query::<(Row, &P, &Q)>().explain();
    assert!(matches!(plan.driver, PlanDriver::Pool { slots: 20, .. }), "{plan}");
    assert_eq!(world.query::<(Row, &P, &Q)>().len(), 20);
    assert_eq!(world.query_filtered::<(&P, &Q), ExtraRows>().len(), 10);
}
