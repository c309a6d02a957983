//! Run-time queries with alternatives, against a naive evaluation of the same conditions.

use phalanx::query::{DynamicError, DynamicQuery, QueryBuilder};
use phalanx::{Component, ComponentError, ComponentId, Entity, Key, Role, World};
use phalanx_testkit::Rng;

#[derive(Component, Debug, PartialEq)]
struct A(u32);
#[derive(Component, Debug, PartialEq)]
struct B(u32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "pool")]
struct C(u32);
#[derive(Component, Debug, PartialEq)]
#[component(layout = "linear")]
struct D(u32);

/// A world with an entity, and an extra row, for each set of the four components.
fn world() -> (World, [ComponentId; 4], Vec<Entity>) {
    let mut world = World::new();
    let ids = [
        world.register_component::<A>(),
        world.register_component::<B>(),
        world.register_component::<C>(),
        world.register_component::<D>(),
    ];
    let mut all = Vec::new();
    for set in 0..16_u32 {
        let e = world.spawn(());
        let key = Key::main(e).with_role(Role(1));
        world.add_row(key, ()).unwrap();
        for slot in [Key::main(e), key] {
            let mut row = world.row_mut(slot).unwrap();
            (0..4).filter(|n| set >> n & 1 == 1).for_each(|n| match n {
                0 => drop(row.insert(A(set))),
                1 => drop(row.insert(B(set))),
                2 => drop(row.insert(C(set))),
                _ => drop(row.insert(D(set))),
            });
        }
        all.push(e);
    }
    (world, ids, all)
}

/// A condition on a set of components.
#[derive(Debug, Default)]
struct Naive {
    with: Vec<usize>,
    without: Vec<usize>,
    any: Vec<Vec<Naive>>,
}

impl Naive {
    fn random(rng: &mut Rng, depth: usize) -> Naive {
        let mut list = |chance: usize| (0..4).filter(|_| rng.chance(1, chance)).collect::<Vec<_>>();
        let (with, without) = (list(4), list(5));
        let groups = if depth == 0 { 0 } else { rng.below(3) };
        let mut group =
            || (0..rng.below(3) + usize::from(rng.chance(9, 10))).map(|_| Naive::random(rng, depth - 1)).collect();
        let any = (0..groups).map(|_| group()).collect();
        Naive { with, without, any }
    }

    fn matches(&self, set: u32) -> bool {
        let has = |n: &usize| set >> n & 1 == 1;
        self.with.iter().all(has)
            && !self.without.iter().any(has)
            && self.any.iter().all(|list| list.iter().any(|other| other.matches(set)))
    }

    fn builder(&self, ids: &[ComponentId; 4], reads: bool) -> QueryBuilder {
        let mut builder = DynamicQuery::builder();
        for n in &self.with {
            builder = if reads { builder.read(ids[*n]) } else { builder.with(ids[*n]) };
        }
        for n in &self.without {
            builder = builder.without(ids[*n]);
        }
        for list in &self.any {
            builder = builder.or(list.iter().map(|other| other.builder(ids, reads)));
        }
        builder
    }

    fn names(&self, n: usize) -> bool {
        self.with.contains(&n) || self.any.iter().flatten().any(|other| other.names(n))
    }
}

#[test]
fn alternatives_match_what_their_conditions_say() {
    let (mut world, ids, all) = world();
    let mut rng = Rng::new(16);
    for round in 0..600 {
        let (naive, reads) = (Naive::random(&mut rng, 2), round % 2 == 0);
        let expected: Vec<Entity> = (0..16).filter(|set| naive.matches(*set)).map(|set| all[set as usize]).collect();
        let query = naive.builder(&ids, reads).build(&world).unwrap();
        let sorted = |mut found: Vec<Entity>| {
            found.sort();
            found
        };
        let found = query.rows(&world).unwrap().map(|row| {
            let named =
                (0..4).filter(|n| reads && naive.names(*n) && world.entity(row.entity()).unwrap().has_by_id(ids[*n]));
            assert_eq!(row.components().count(), named.count(), "{naive:?}");
            row.entity()
        });
        assert_eq!(sorted(found.collect()), expected, "{naive:?}");
        assert_eq!(query.len(&world), Ok(expected.len()), "{naive:?}");
        assert_eq!(query.is_empty(&world), Ok(expected.is_empty()));
        for (set, entity) in (0..).zip(&all) {
            match query.get(&world, *entity) {
                Ok(row) => assert!(naive.matches(set) && row.entity() == *entity),
                Err(DynamicError::Entity(
                    ComponentError::MissingComponent { entity: e, .. }
                    | ComponentError::ExcludedComponent { entity: e, .. },
                )) => assert!(!naive.matches(set) && e == *entity),
                Err(error) => panic!("{error}"),
            }
        }
        match query.tables(&world) {
            Ok(tables) => {
                let found = tables.flat_map(|table| table.entities().to_vec()).collect();
                assert_eq!(sorted(found), expected, "{naive:?}");
            }
            Err(error) => assert!(matches!(error, DynamicError::NotInTables { .. })),
        }
        // The kinds of rows are those of the whole query.
        let rows = naive.builder(&ids, reads).all_rows().build(&world).unwrap();
        assert_eq!(rows.len(&world), Ok(2 * expected.len()));
        assert_eq!(rows.rows_mut(&mut world).unwrap().count(), 2 * expected.len());
    }
}

#[test]
fn alternatives_name_components_as_optional_ones() {
    let (mut world, [a, b, c, d_id], all) = world();
    let builder = DynamicQuery::builder;
    let query =
        builder().read(d_id).or([builder().write(a).without(b), builder().write(c).read(d_id)]).build(&world).unwrap();
    for mut row in query.rows_mut(&mut world).unwrap() {
        let d = row.get::<D>().unwrap().0;
        assert_eq!(row.components().filter(|(id, _)| *id == d_id).count(), 1, "read twice, listed once");
        match (row.take_mut::<A>(), row.take_mut::<C>()) {
            (Ok(a), Ok(c)) => (a.0, c.0) = (d + 100, d + 100),
            (Ok(a), Err(_)) => a.0 = d + 100,
            (Err(_), Ok(c)) => c.0 = d + 100,
            (Err(_), Err(_)) => panic!("neither alternative"),
        }
    }
    for (set, e) in (0_u32..).zip(&all) {
        let has = |n: u32| set >> n & 1 == 1;
        let matches = has(3) && (has(0) && !has(1) || has(2));
        let expected = if matches { set + 100 } else { set };
        assert_eq!(world.get::<A>(*e).ok(), has(0).then_some(&A(expected)));
        assert_eq!(world.get::<C>(*e).ok(), has(2).then_some(&C(expected)));
    }
}

#[test]
fn alternatives_that_would_alias_are_refused() {
    let (world, [a, b, ..], _) = world();
    let builder = DynamicQuery::builder;
    let alias = |builder: QueryBuilder| matches!(builder.build(&world), Err(DynamicError::Alias { .. }));
    assert!(alias(builder().or([builder().write(a), builder().write(a)])));
    assert!(alias(builder().read(a).or([builder().write(a)])));
    assert!(alias(builder().or([builder().write(a).or([builder().read(a)])])));
    assert!(!alias(builder().write(a).or([builder().with(a), builder().without(b).read(b)])));
    let unknown = ComponentId::from_index(1000);
    assert!(matches!(
        builder().or([builder().or([builder().without(unknown)])]).build(&world),
        Err(DynamicError::NoSuchComponent { id }) if id == unknown
    ));
    assert_eq!(builder().or([]).build(&world).unwrap().len(&world), Ok(0), "one of no alternatives");
    assert_eq!(builder().or([builder()]).build(&world).unwrap().len(&world), Ok(16));
}
