//! Cursors, pages, columns and failing allocations of text queries.

use phalanx::reflect::{ShownColumn, TextQuery, TextQueryProblem};
use phalanx::{Component, Entity, Key, Role, World};
use phalanx_testkit::for_every_failing_allocation;

#[derive(Component)]
struct A(u32);
#[derive(Component)]
struct B(#[allow(dead_code)] u32);
#[derive(Component)]
#[component(layout = "pool")]
struct P(u32);

fn query(world: &World, text: &str) -> phalanx::reflect::BoundQuery {
    TextQuery::parse(text).unwrap().bind(world).unwrap()
}

#[test]
fn a_scan_knows_when_it_is_torn() {
    let mut world = World::new();
    let entities: Vec<_> = (0..300).map(|n| world.spawn(A(n))).collect();
    world.spawn((A(300), B(0), P(0)));
    let all = query(&world, "A");
    let mut found = Vec::new();
    let mut cursor = all.cursor(&world).unwrap();
    all.scan(&world, &mut cursor, 100, |e| found.push(e)).unwrap();
    assert_eq!((cursor.visited(), cursor.is_torn(), cursor.is_done()), (128, false, false));
    // Written values do not tear a scan.
    world.get_mut::<A>(entities[200]).unwrap().0 = 7;
    all.scan(&world, &mut cursor, 1, |e| found.push(e)).unwrap();
    assert!(!cursor.is_torn() && cursor.visited() == 192);
    let changes: [fn(&mut World, Entity); 4] = [
        |world, _| drop(world.spawn_batch([A(0)])),
        |world, e| world.despawn(e).unwrap(),
        |world, e| world.insert(e, P(1)).unwrap(),
        |world, e| world.insert(e, B(1)).unwrap(),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let mut torn = cursor.clone();
        change(&mut world, entities[10 + n]);
        let mut rest = 0;
        while !torn.is_done() {
            all.scan(&world, &mut torn, 64, |e| {
                assert!(world.contains(e));
                rest += 1;
            })
            .unwrap();
        }
        assert!(torn.is_torn() && rest > 0, "change {n}");
    }
    // All rows are gone, and so are tables.
    let mut torn = cursor.clone();
    world.clear();
    world.compact(usize::MAX);
    all.scan(&world, &mut torn, 1000, |_| panic!("nothing is there")).unwrap();
    assert!(torn.is_torn() && torn.is_done());
}

#[test]
fn pages_of_tables_are_found_by_their_lengths() {
    let mut world = World::new();
    world.spawn_batch((0..1000).map(A));
    world.spawn_batch((0..500).map(|n| (A(n), B(n))));
    world.spawn_batch((0..10).map(B));
    let e = world.spawn((A(1), P(1)));
    world.add_row(Key::main(e).with_role(Role(1)), A(9)).unwrap();
    let all = query(&world, "A");
    let list: Vec<_> = all.iter(&world).unwrap().collect();
    assert_eq!((list.len(), all.count(&world).unwrap()), (1501, 1501));
    for (from, count) in [(0, 10), (995, 10), (999, 2), (1000, 501), (1400, 500), (1501, 3), (usize::MAX, usize::MAX)] {
        let end = from.saturating_add(count).min(list.len());
        assert_eq!(all.page(&world, from, count).unwrap(), &list[from.min(list.len())..end]);
    }
    let only = query(&world, &format!("A, #{e}"));
    assert!(only.iter(&world).unwrap().eq([e]) && only.count(&world).unwrap() == 1);
    assert_eq!(query(&world, &format!("B, #{e}")).count(&world).unwrap(), 0);
    assert_eq!(query(&world, "#900000v3").count(&world).unwrap(), 0);
    assert_eq!(query(&world, "limit 0").iter(&world).unwrap().count(), 0);
}

#[test]
fn columns_are_what_is_named() {
    let mut world = World::new();
    world.spawn((A(1), B(1), P(1)));
    let [a, b, p] =
        [world.component_id::<A>(), world.component_id::<B>(), world.component_id::<P>()].map(Option::unwrap);
    let shown = query(&world, "?Name, A, ?P.0, !B, A, A.0 > 3, (B | P), B sort P");
    let columns: Vec<_> = shown.columns().iter().map(ShownColumn::component).collect();
    assert_eq!(columns, [None, Some(a), Some(p), Some(a), Some(b)]);
    assert!(matches!(&shown.columns()[2], ShownColumn::Field(path) if path.as_str() == "0"));
    assert!(matches!(&shown.columns()[1], ShownColumn::Component(_)));
}

#[test]
fn failing_allocations_are_errors_and_change_nothing() {
    let mut world = World::new();
    world.spawn_batch((0..500).map(|n| (A(n), P(n % 7))));
    let before = world.memory();
    for text in ["A", "A.0 > 100", "P > 3", "A sort P desc"] {
        let query = query(&world, text);
        let expected = query.page(&world, 3, 200).unwrap();
        let points = for_every_failing_allocation(
            || (),
            |()| query.page(&world, 3, 200),
            |(), result| match result {
                Ok(list) => assert_eq!(list, &expected),
                Err(error) => assert!(matches!(error.problem(), TextQueryProblem::Alloc(_))),
            },
        );
        assert!(points > 0, "{text}");
    }
    assert_eq!(world.memory(), before);
    world.validate().unwrap();
    let _ = P(0).0;
}

#[derive(Component)]
struct Wide {
    unsigned: u64,
    signed: i64,
}

#[test]
fn integers_are_compared_exactly() {
    // Doubles have 53 bits.
    let odd = (1 << 53) + 1;
    let mut world = World::new();
    for number in [0, 1, odd - 1, odd, odd + 1, u64::MAX] {
        world.spawn(Wide { unsigned: number, signed: number.cast_signed() });
    }
    let count = |text: &str| query(&world, text).count(&world).unwrap();
    for (text, expected) in [
        ("Wide.unsigned = 9007199254740993.0", 1),
        ("Wide.unsigned = 9007199254740993.5", 0),
        ("Wide.unsigned < 9007199254740993.0", 3),
        ("Wide.unsigned <= 9007199254740993.5", 4),
        ("Wide.unsigned >= 9007199254740993.5", 2),
        ("Wide.unsigned != 9007199254740993.5", 6),
        ("Wide.unsigned = 9007199254740993e0", 1),
        ("Wide.unsigned = 9_007_199_254_740.993e3", 1),
        ("Wide.unsigned = 90071992547409930e-1", 1),
        ("Wide.unsigned = 18446744073709551615.0", 1),
        ("Wide.unsigned < 18446744073709551615.5", 6),
        ("Wide.unsigned = 1.0000000000000000000000000000000000001", 0),
        ("Wide.unsigned < 1e-999999999999999999999", 1),
        ("Wide.unsigned = 0e999999999999999999999", 1),
        ("Wide.unsigned = 0.000e-5", 1),
        ("Wide.signed = -1.0", 1),
        ("Wide.signed > -1.5", 6),
        ("Wide.signed < -0.5", 1),
        ("Wide.signed >= -0.5", 5),
        ("Wide.signed = -0.0", 1),
        ("Wide.signed <= 10000000000000000000000000000000000000e-37", 3),
        ("Wide.unsigned > -inf", 6),
        ("Wide.unsigned < +inf", 6),
        ("Wide.unsigned = +inf", 0),
    ] {
        assert_eq!(count(text), expected, "{text}");
    }
    for text in ["Wide.signed < 1e39", "Wide.signed < -1e999999999999999999999", "Wide.signed < 1e38"] {
        let error = TextQuery::parse(text).unwrap().bind(&world).unwrap_err();
        assert!(
            matches!(error.problem(), TextQueryProblem::NotComparable { expected: "a smaller number", .. }),
            "{text}"
        );
    }
}
