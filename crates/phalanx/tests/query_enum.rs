//! Derived enums: the first variant whose terms match, over all layouts, against entities asked one by one.

use phalanx::executor::{Inline, ThreadPool};
use phalanx::group::Owned;
use phalanx::query::{Access, Filtered, PlanDriver, QueryState, WithTable, WriteItem};
use phalanx::relation::{ChildOf, Related};
use phalanx::store::Soa;
use phalanx::{
    Added, Changed, Component, ComponentError, Entity, EntityRef, Has, Key, Or, QueryData, Role, With, Without, World,
};
use phalanx_testkit::{Rng, catch};
use std::sync::{Arc, Mutex};

/// Two components of each layout, with the same fields, and a query whose variants mix them.
macro_rules! layouts {
    ($($module:ident: [$($a:meta),*], [$($b:meta),*], |$value:pat_param, $n:ident| $add:expr;)*) => {$(
        mod $module {
            use super::*;

            $(#[$a])*
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub(super) struct A(pub(super) u32);
            $(#[$b])*
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub(super) struct B(pub(super) u32);

            #[derive(QueryData)]
            #[allow(private_interfaces)]
            pub(super) enum Reads<'a> {
                Both { a: &'a A, b: &'a B, marked: Has<Mark> },
                First(&'a A),
                Second(&'a B, Entity),
            }

            #[derive(QueryData)]
            #[allow(private_interfaces)]
            pub(super) enum Writes {
                Both(&'static mut A, &'static B),
                First { a: &'static mut A },
                Marked(&'static mut Mark),
                Rest,
            }

            fn add($value: WriteItem<'_, A>, $n: u32) {
                $add;
            }

            fn fill(world: &mut World, rng: &mut Rng) -> Vec<Entity> {
                let entities: Vec<Entity> = (0..60).map(|_| world.spawn(())).collect();
                for (number, &entity) in (0..).zip(&entities) {
                    let has = rng.below(8);
                    if has & 1 != 0 {
                        world.insert(entity, A(number)).unwrap();
                    }
                    if has & 2 != 0 {
                        world.insert(entity, B(100 + number)).unwrap();
                    }
                    if has & 4 != 0 {
                        world.insert(entity, Mark(number)).unwrap();
                    }
                }
                for _ in 0..10 {
                    let entity = entities[rng.below(60)];
                    let _ = world.remove::<A>(entity);
                }
                entities
            }

            /// What the variants come to, asked of each entity.
            fn expected(world: &World, entity: Entity) -> Option<String> {
                let (a, b) = (world.get::<A>(entity).ok(), world.get::<B>(entity).ok());
                let marked = world.has::<Mark>(entity);
                match (a, b) {
                    (Some(a), Some(b)) => Some(format!("both {} {} {marked}", a.0, b.0)),
                    (Some(a), None) => Some(format!("first {}", a.0)),
                    (None, Some(b)) => Some(format!("second {} {entity}", b.0)),
                    (None, None) => None,
                }
            }

            fn text(item: ReadsItem<'_>) -> String {
                match item {
                    ReadsItem::Both { a, b, marked } => format!("both {} {} {marked}", a.0, b.0),
                    ReadsItem::First(a) => format!("first {}", a.0),
                    ReadsItem::Second(b, entity) => format!("second {} {entity}", b.0),
                }
            }

            #[test]
            fn the_first_variant_that_matches_is_yielded() {
                for seed in 0..20 {
                    let (mut world, mut rng) = (World::new(), Rng::new(seed));
                    let entities = fill(&mut world, &mut rng);
                    let mut wanted: Vec<(Entity, String)> =
                        entities.iter().filter_map(|&entity| Some((entity, expected(&world, entity)?))).collect();
                    wanted.sort();
                    let sorted = |mut found: Vec<(Entity, String)>| {
                        found.sort();
                        found
                    };
                    let query = world.query::<(Entity, Reads)>();
                    assert_eq!(sorted(query.iter().map(|(e, item)| (e, text(item))).collect()), wanted);
                    assert_eq!(query.len(), wanted.len());
                    let mut folded = Vec::new();
                    query.for_each(|(e, item)| folded.push((e, text(item))));
                    assert_eq!(sorted(folded), wanted);
                    for &entity in &entities {
                        let found = world.query::<Reads>().get(entity).map(text);
                        assert_eq!(found.clone().ok(), expected(&world, entity));
                        assert!(!matches!(found, Err(ComponentError::NoSuchEntity { .. })));
                        let optional = world.query::<Option<Reads>>();
                        assert_eq!(optional.get(entity).unwrap().map(text), expected(&world, entity));
                        assert_eq!(world.query::<Reads>().contains(entity), expected(&world, entity).is_some());
                    }
                    let mut state = QueryState::<(Entity, Reads)>::new();
                    assert_eq!(sorted(state.query(&world).iter().map(|(e, i)| (e, text(i))).collect()), wanted);
                    let filtered = world.query_filtered::<(Entity, Reads), (With<A>, Without<Mark>)>();
                    let both = |(e, _): &(Entity, String)| world.has::<A>(*e) && !world.has::<Mark>(*e);
                    let kept: Vec<_> = wanted.iter().filter(|pair| both(pair)).cloned().collect();
                    assert_eq!(sorted(filtered.iter().map(|(e, item)| (e, text(item))).collect()), kept);
                    let pool = ThreadPool::new(2);
                    let found = Mutex::new(Vec::new());
                    world.query::<(Entity, Reads)>().par_for_each_on(&pool, |(e, item)| {
                        found.lock().unwrap().push((e, text(item)));
                    });
                    assert_eq!(sorted(found.into_inner().unwrap()), wanted);
                }
            }

            #[test]
            fn values_are_written_by_the_variant_that_matches() {
                for seed in 0..20 {
                    let (mut world, mut rng) = (World::new(), Rng::new(seed));
                    let entities = fill(&mut world, &mut rng);
                    let state = |world: &World, entity: Entity| {
                        let a = world.get::<A>(entity).ok().map(|a| a.0);
                        let (b, m) = (world.get::<B>(entity).ok().map(|b| b.0), world.get::<Mark>(entity).ok().map(|m| m.0));
                        (a, b, m)
                    };
                    let before: Vec<_> = entities.iter().map(|&entity| state(&world, entity)).collect();
                    let mut kinds = [0; 4];
                    let write = |item: WritesItem<'_>| match item {
                        WritesItem::Both(a, b) => {
                            add(a, b.0 + 1000);
                            0
                        }
                        WritesItem::First { a } => {
                            add(a, 5000);
                            1
                        }
                        WritesItem::Marked(mut mark) => {
                            mark.0 += 7000;
                            2
                        }
                        WritesItem::Rest => 3,
                    };
                    let way = seed % 4;
                    match way {
                        0 => world.query_mut::<Writes>().for_each(|item| kinds[write(item)] += 1),
                        1 => {
                            for item in world.query_mut::<Writes>() {
                                kinds[write(item)] += 1;
                            }
                        }
                        2 => {
                            for &entity in &entities {
                                kinds[write(world.query_mut::<Writes>().get_mut(entity).unwrap())] += 1;
                            }
                        }
                        _ => {
                            let counts = Mutex::new(&mut kinds);
                            world.query_mut::<Writes>().par_for_each_on(&Inline, |item| {
                                let kind = write(item);
                                counts.lock().unwrap()[kind] += 1;
                            });
                        }
                    }
                    let mut expected = [0; 4];
                    for (&entity, &(a, b, m)) in entities.iter().zip(&before) {
                        let (kind, after) = match (a, b, m) {
                            (Some(a), Some(b), m) => (0, (Some(a + b + 1000), Some(b), m)),
                            (Some(a), None, m) => (1, (Some(a + 5000), None, m)),
                            (None, b, Some(m)) => (2, (None, b, Some(m + 7000))),
                            other => (3, other),
                        };
                        expected[kind] += 1;
                        assert_eq!(state(&world, entity), after, "seed {seed}");
                    }
                    assert_eq!(kinds, expected);
                    world.validate().unwrap();
                }
            }
        }
    )*};
}

layouts! {
    tables: [derive(Component)], [derive(Component)], |a, n| a.0 += n;
    lanes: [derive(Component, Soa), soa(crate = "phalanx::store"), component(layout = "soa")],
        [derive(Component)], |a, n| *a.0 += n;
    pools: [derive(Component), component(layout = "pool")],
        [derive(Component), component(layout = "pool")], |a, n| a.0 += n;
    linear: [derive(Component), component(layout = "linear")],
        [derive(Component), component(layout = "linear")], |a, n| a.0 += n;
    table_and_pool: [derive(Component)], [derive(Component), component(layout = "pool")], |a, n| a.0 += n;
    pool_and_linear: [derive(Component), component(layout = "pool")],
        [derive(Component), component(layout = "linear")], |a, n| a.0 += n;
    linear_and_table: [derive(Component), component(layout = "linear")], [derive(Component)], |a, n| a.0 += n;
    tracked_rows: [derive(Component), component(track = "row")],
        [derive(Component), component(layout = "pool", track = "row")], |mut a, n| a.0 += n;
    tracked_columns: [derive(Component), component(track = "column")],
        [derive(Component), component(layout = "linear", track = "column")], |a, n| a.0 += n;
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(track = "row")]
struct Mark(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct T(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct U(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct P(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct Q(u32);

#[derive(QueryData)]
enum Tables<'a> {
    Both(&'a mut T, &'a U),
    One { t: &'a mut T },
    Other(&'a U),
}

#[test]
fn chunks_are_of_the_variant_of_their_table() {
    let mut world = World::new();
    world.spawn_batch((0..3).map(|n| (T(n), U(10))));
    world.spawn_batch((0..2).map(T));
    world.spawn(U(5));
    world.spawn(());
    let mut found = Vec::new();
    for chunk in world.query_mut::<Tables>().chunks() {
        match chunk {
            TablesChunk::Both(t, u) => {
                t.iter_mut().zip(u).for_each(|(t, u)| t.0 += u.0);
                found.push(("both", t.len()));
            }
            TablesChunk::One { t } => found.push(("one", t.len())),
            TablesChunk::Other(u) => found.push(("other", u.len())),
        }
    }
    assert_eq!(found, [("both", 3), ("one", 2), ("other", 1)]);
    assert!(world.query::<&T>().iter().map(|t| t.0).eq([10, 11, 12, 0, 1]));
}

#[derive(QueryData)]
enum Stored<'a> {
    Pair { p: &'a mut P, q: &'a Q },
    Alone(&'a mut P),
}

#[test]
fn what_all_variants_require_drives_the_query() {
    let mut world = World::new();
    world.spawn_batch((0..100).map(T));
    let pair = world.spawn((P(1), Q(2)));
    let alone = world.spawn((T(0), P(5)));
    let query = world.query_mut::<Stored>();
    assert!(matches!(query.explain().driver, PlanDriver::Pool { slots: 2, .. }), "{}", query.explain());
    query.for_each(|item| match item {
        StoredItem::Pair { p, q } => p.0 += q.0,
        StoredItem::Alone(p) => p.0 *= 10,
    });
    assert_eq!((world.get::<P>(pair).unwrap().0, world.get::<P>(alone).unwrap().0), (3, 50));
    // With a group that has both, all its members are of the first variant, and no row is tested.
    world.create_group::<Owned<(P, Q)>>().unwrap();
    let query = world.query_filtered_mut::<Stored, With<Q>>();
    assert!(matches!(query.explain().driver, PlanDriver::Group { slots: 1, whole: true, .. }), "{}", query.explain());
    query.for_each(|item| assert!(matches!(item, StoredItem::Pair { .. })));
    // Rows that lack what the first requires are of the second.
    world.create_group::<(Owned<P>, Without<Q>)>().ok();
    let query = world.query_filtered_mut::<Stored, Without<Q>>();
    query.for_each(|item| assert!(matches!(item, StoredItem::Alone(P(50)))));
}

#[derive(QueryData)]
enum Fresh<'a> {
    New(Filtered<&'a Mark, Added<Mark>>),
    Changed(Filtered<&'a Mark, Changed<Mark>>),
    Old(&'a Mark),
}

#[test]
fn variants_with_filters_are_tested_in_order() {
    let mut world = World::new();
    let mut state = QueryState::<(Entity, Fresh)>::new();
    let kinds = |world: &mut World, state: &mut QueryState<(Entity, Fresh<'static>)>| {
        let kind = |(_, item)| match item {
            FreshItem::New(_) => 'n',
            FreshItem::Changed(_) => 'c',
            FreshItem::Old(_) => 'o',
        };
        state.query_mut(world).iter_mut().map(kind).collect::<String>()
    };
    let [a, _, _] = [1, 2, 3].map(|n| world.spawn(Mark(n)));
    assert_eq!(kinds(&mut world, &mut state), "nnn");
    world.get_mut::<Mark>(a).unwrap().0 += 1;
    world.spawn(Mark(4));
    assert_eq!(kinds(&mut world, &mut state), "coon");
    assert_eq!(kinds(&mut world, &mut state), "oooo");
}

#[derive(Component, Clone, Copy, Debug)]
#[component(track = "column")]
struct Watched(u32);

#[derive(QueryData)]
enum Columns<'a> {
    Read(&'a Watched, &'a T),
    Written(&'a mut Watched),
}

#[test]
fn columns_count_as_changed_where_the_variant_writes() {
    let mut world = World::new();
    world.spawn((Watched(1), T(0)));
    world.spawn(Watched(2));
    let mut changed = QueryState::<&Watched, Changed<Watched>>::new();
    assert_eq!(changed.query(&world).len(), 2);
    world.query_mut::<Columns>().for_each(|item| {
        if let ColumnsItem::Written(watched) = item {
            watched.0 += 1;
        }
    });
    assert!(changed.query(&world).iter().map(|watched| watched.0).eq([3]), "the other table was only read");
}

#[derive(QueryData)]
enum Generic<'a, C, const N: usize>
where
    C: Component + Send,
{
    Value { value: &'a C },
    Other(Entity),
}

#[derive(QueryData)]
#[allow(missing_debug_implementations, missing_docs)]
pub enum Deep<D, C>
where
    D: QueryData,
    C: Component,
{
    /// What another query yields.
    Inner(D),
    /// An enum in an enum, beside a name that is a keyword.
    Nested {
        /// The term.
        r#type: Option<&'static C>,
        nested: Kinds<'static>,
    },
}

#[derive(QueryData, Debug)]
#[allow(missing_docs)]
pub enum Kinds<'a> {
    Table(&'a Kind),
    Entity { entity: Entity },
}

#[derive(Component, Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Kind(pub u8);

#[test]
fn enums_are_generic_nested_and_printed() {
    let mut world = World::new();
    let (kind, bare) = (world.spawn((Kind(7), T(1))), world.spawn(P(1)));
    let query = world.query::<Deep<(&P, Entity), T>>();
    assert!(matches!(query.get(bare), Ok(DeepItem::Inner((P(1), _)))));
    match query.get(kind).unwrap() {
        DeepItem::Nested { r#type: Some(T(1)), nested: KindsItem::Table(Kind(7)) } => {}
        other => panic!("{other:?}"),
    }
    let items: Vec<KindsItem<'_>> = world.query::<Kinds>().iter().collect();
    let copies = items.clone();
    assert_eq!(format!("{copies:?}"), format!("[Table(Kind(7)), Entity {{ entity: {bare:?} }}]"));
    let copied: KindsItem<'_> = items[0];
    assert_eq!(format!("{copied:?}"), "Table(Kind(7))");
    let generic = world.query::<Generic<Kind, 3>>();
    assert!(matches!(generic.get(kind), Ok(GenericItem::Value { value: Kind(7) })));
    assert!(matches!(generic.get(bare), Ok(GenericItem::Other(entity)) if entity == bare));
    let inside = world.query::<Or<(Kinds, &T)>>();
    assert_eq!(inside.iter().filter(|(kinds, t)| kinds.is_some() && t.is_some()).count(), 1);
}

#[test]
fn enums_visit_extra_rows_if_a_variant_does() {
    #[derive(QueryData)]
    enum Rows<'a> {
        Named(Key, &'a T),
        Plain(&'a U),
    }
    let mut world = World::new();
    let owner = world.spawn(U(1));
    world.add_row(Key::main(owner).with_role(Role(1)), T(2)).unwrap();
    let mut found: Vec<(u32, bool)> = world
        .query::<Rows>()
        .iter()
        .map(|item| match item {
            RowsItem::Named(key, t) => (t.0, key.role == Role(1)),
            RowsItem::Plain(u) => (u.0, false),
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, [(1, false), (2, true)]);
}

#[test]
fn enums_are_asked_of_related_entities() {
    let mut world = World::new();
    let (table, pool) = (world.spawn(Kind(1)), world.spawn(P(2)));
    let children = [table, pool].map(|parent| {
        let child = world.spawn(T(0));
        world.relations_mut::<ChildOf>().link(child, parent).unwrap();
        child
    });
    #[derive(QueryData)]
    enum Parent<'a> {
        Kind(&'a Kind),
        Pool(&'a P),
    }
    let query = world.query::<Related<ChildOf, Parent>>();
    assert!(matches!(query.get(children[0]), Ok(ParentItem::Kind(Kind(1)))));
    assert!(matches!(query.get(children[1]), Ok(ParentItem::Pool(P(2)))));
    assert!(query.get(table).is_err());
}

#[test]
fn observers_see_the_variant_as_it_was_and_is() {
    let mut world = World::new();
    let words: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = words.clone();
    world.observe::<Kinds2, ()>().on_enter(move |event, _, _| sink.lock().unwrap().push(format!("+{:?}", event.item)));
    let sink = words.clone();
    world.observe::<Kinds2, ()>().on_leave(move |event, _, _| sink.lock().unwrap().push(format!("-{:?}", event.item)));
    #[derive(QueryData, Debug)]
    enum Kinds2<'a> {
        Table(&'a T),
        Pool(&'a P),
    }
    let entity = world.spawn(P(1));
    world.insert(entity, T(2)).unwrap();
    world.remove::<P>(entity).unwrap();
    world.remove::<T>(entity).unwrap();
    assert_eq!(*words.lock().unwrap(), ["+Pool(P(1))", "-Table(T(2))"]);
}

#[derive(QueryData)]
enum Aliasing<'a> {
    Twice(&'a mut T, &'a T),
    Other(&'a U),
}

#[derive(QueryData)]
enum Elsewhere<'a> {
    Writes(&'a mut T),
    Reads(&'a U, Related<ChildOf, &'static T>),
}

#[derive(QueryData)]
enum Whole<'a> {
    Writes(&'a mut T),
    Reads(&'a U, EntityRef<'a>),
}

#[derive(QueryData)]
enum OtherColumns<'a> {
    Writes(&'a mut T),
    Reads(WithTable<&'static mut U>),
}

#[test]
fn h27_variants_that_read_whole_entities_or_tables_alias_those_that_write() {
    assert!(Access::try_of::<Whole>().is_err(), "an entity is read as a whole while another variant writes");
    assert!(Access::try_of::<OtherColumns>().is_err(), "a column is read while another variant writes it");
}

#[test]
fn h27_enums_alias_within_a_variant_and_beside_others_not_between_variants() {
    assert!(Access::try_of::<Tables>().is_ok(), "two variants write the same");
    assert_eq!(Access::try_of::<Aliasing>().unwrap_err().component, std::any::type_name::<T>());
    assert!(Access::try_of::<(Tables, &T)>().is_err() && Access::try_of::<(&mut U, Tables)>().is_err());
    assert!(Access::try_of::<(Tables, Tables)>().is_err());
    assert!(Access::try_of::<(Kinds, Kinds, &Kind)>().is_ok(), "all of them read");
    assert!(Access::try_of::<Elsewhere>().is_err(), "a row is written while another reads it as its parent");
    let tables = Access::of::<Tables>();
    assert_eq!(tables.writes().collect::<Vec<_>>(), [std::any::type_name::<T>()]);
    assert_eq!(tables.reads().collect::<Vec<_>>(), [std::any::type_name::<U>()]);
    assert!(!tables.is_disjoint(&Access::of::<&T>()) && !tables.is_disjoint(&Access::of::<&mut U>()));
    assert!(tables.is_disjoint(&Access::of::<(&U, &mut P)>()));
    let mut world = World::new();
    assert!(catch(|| world.query_mut::<Aliasing>().len()).is_err());
    assert!(catch(|| world.queries_mut::<(Tables, &T)>()).is_err());
}

#[test]
fn an_entity_that_matches_no_variant_is_an_error_that_names_a_component() {
    let mut world = World::new();
    let entity = world.spawn(P(1));
    let error = world.query_mut::<Tables>().get_mut(entity).map(drop).unwrap_err();
    assert!(matches!(error, ComponentError::MissingComponent { .. }), "{error}");
    assert!(error.to_string().contains("T") && error.to_string().contains("no"), "{error}");
}
