//! Every error of a text query, with its position.

use phalanx::reflect::{TEXT_QUERY_LEVELS, TEXT_QUERY_LIMIT, TextQuery, TextQueryProblem as Problem};
use phalanx::{Component, Entity, World};

#[derive(Component)]
struct Health {
    #[allow(dead_code)]
    hp: u32,
    #[allow(dead_code)]
    parts: [f32; 2],
}
#[derive(Component)]
enum Team {
    Red,
    #[allow(dead_code)]
    Blue,
}
#[derive(Component)]
struct Opaque(#[allow(dead_code)] Vec<u8>);
#[derive(Component)]
#[component(track = "column")]
struct Tracked(
    #[allow(dead_code)] bool,
    #[allow(dead_code)] char,
    #[allow(dead_code)] Entity,
    #[allow(dead_code)] String,
);
mod one {
    #[derive(phalanx::Component)]
    pub(super) struct Same;
}
mod two {
    #[derive(phalanx::Component)]
    pub(super) struct Same;
}

fn world() -> World {
    let mut world = World::new();
    let e = world.spawn((Health { hp: 1, parts: [0.0; 2] }, Team::Red, Opaque(vec![]), one::Same, two::Same));
    world.insert(e, Tracked(true, 'a', e, "b".into())).unwrap();
    world.spawn_named("sun", ()).unwrap();
    world
}

#[test]
fn errors_of_the_grammar_have_a_position() {
    let cases: &[(&str, usize, &str, &str)] = &[
        (",", 0, "a condition", "`,`"),
        ("A,", 2, "a condition", ""),
        ("A B", 2, "`,`, `sort`, `limit` or the end", "`B`"),
        ("A)", 1, "`,`, `sort`, `limit` or the end", "`)`"),
        ("(A", 2, "`,`, `|` or `)`", ""),
        ("(A | )", 5, "a condition", "`)`"),
        ("()", 1, "a condition", "`)`"),
        ("!", 1, "a condition", ""),
        ("?", 1, "a component", ""),
        ("!?A", 1, "a condition", "`?`"),
        ("(?A)", 1, "a condition", "`?`"),
        ("A.", 2, "the name of a field", ""),
        ("A. <", 3, "the name of a field", "`<`"),
        ("A <", 3, "a value", ""),
        ("A = ,", 4, "a value", "`,`"),
        ("A = 12x", 4, "a number", "`12x`"),
        ("#12", 1, "an entity", "`12`"),
        ("#x", 1, "an entity", "`x`"),
        ("#1v", 1, "an entity", "`1v`"),
        ("#1v99999999999", 1, "an entity", "`1v99999999999`"),
        ("#4294967295v0", 1, "an entity", "`4294967295v0`"),
        ("changed(", 8, "a component", ""),
        ("changed(A", 9, "`)`", ""),
        ("changed(A.x)", 10, "a whole component", "`x`"),
        ("in()", 3, "an entity or its name", "`)`"),
        ("in(a", 4, "`)`", ""),
        ("parent =", 8, "an entity or its name", ""),
        ("sort", 4, "a field to sort by", ""),
        ("A sort B up", 9, "`,`, `sort`, `limit` or the end", "`up`"),
        ("limit", 5, "a number of rows", ""),
        ("limit x", 6, "a number of rows", "`x`"),
        ("limit -1", 6, "a number of rows", "`-`"),
        ("limit 1.5", 6, "a number of rows", "`1`"),
        ("limit 5 sort A", 8, "`,`, `sort`, `limit` or the end", "`sort`"),
        ("A = \"\\x\"", 5, "one of \\n, \\t, \\\" and \\\\", "`\\\\x`"),
        ("A & B", 2, "a condition", "`&`"),
        ("ä €", 3, "a condition", "`€`"),
    ];
    for (text, position, expected, found) in cases {
        let error = TextQuery::parse(text).expect_err(text);
        assert_eq!((error.position(), error.expected()), (*position, Some(*expected)), "{text}");
        let problem = Problem::Unexpected { expected: error_expected(&error), found: (*found).into() };
        assert_eq!(error.problem(), &problem, "{text}");
        assert!(error.to_string().starts_with(&format!("at {position}: ")), "{error}");
    }
    for (text, position, quote) in [("A = \"x", 4, '"'), ("`A", 0, '`'), ("A.`x", 2, '`'), ("A = \"\\\"", 4, '"')] {
        let error = TextQuery::parse(text).unwrap_err();
        assert_eq!((error.position(), error.problem()), (position, &Problem::Unterminated { quote }), "{text}");
    }
}

fn error_expected(error: &phalanx::reflect::TextQueryError) -> &'static str {
    match error.problem() {
        Problem::Unexpected { expected, .. } => expected,
        other => panic!("{other:?}"),
    }
}

#[test]
fn length_and_depth_are_limited() {
    let long = "A,".repeat(TEXT_QUERY_LIMIT / 2);
    assert!(matches!(TextQuery::parse(&format!("{long}A")).unwrap_err().problem(), Problem::TooLong { len: 4097 }));
    assert!(TextQuery::parse(&long[..long.len() - 1]).is_ok());
    for open in ["!", "("] {
        let fits = format!("{}A{}", open.repeat(TEXT_QUERY_LEVELS - 1), ")".repeat(if open == "(" { 31 } else { 0 }));
        assert!(TextQuery::parse(&fits).is_ok(), "{fits}");
        let error = TextQuery::parse(&open.repeat(4000)).unwrap_err();
        assert_eq!((error.position(), error.problem()), (TEXT_QUERY_LEVELS, &Problem::TooDeep));
    }
}

#[test]
fn errors_of_names_have_the_nearest_one() {
    let world = world();
    let of = |text: &str| TextQuery::parse(text).unwrap().bind(&world).map(drop).expect_err(text);
    for (text, position, expected, nearest) in [
        ("Team, Helth", 6, "a component", Some("Health")),
        ("health", 0, "a component", Some("Health")),
        ("Quux", 0, "a component", None),
        ("ealth", 0, "a component", Some("Health")),
        ("Health.ph", 7, "a field", Some("hp")),
        ("Health.hp.x", 10, "a field", None),
        ("Health.parts.2 = 1", 13, "a field", None),
        ("Health.parts.x = 1", 13, "a field", None),
        ("Health.`hp.x` = 1", 7, "a field", None),
        ("Team = rad", 7, "a variant", Some("Red")),
        ("Team = \"Blu\"", 7, "a variant", Some("Blue")),
        ("Opaque.0.x = 1", 9, "a field", None),
        ("`Name`", 0, "a component", Some("Same")),
        ("changed(Health)", 8, "a tracked component", None),
        ("added(Tracked)", 6, "a tracked component", None),
        ("changed(Name)", 8, "a component", Some("Same")),
        ("in(moon)", 3, "an entity", None),
        ("parent = \"sun/earth\"", 9, "an entity", None),
        ("(Team | Health.ph)", 15, "a field", Some("hp")),
        ("Team sort Healt", 10, "a component", Some("Health")),
        ("Team sort Health.h", 17, "a field", Some("hp")),
    ] {
        let error = of(text);
        assert_eq!(
            (error.position(), error.expected(), error.nearest()),
            (position, Some(expected), nearest),
            "{text}: {error}"
        );
    }
    let error = of("Same");
    let Problem::Ambiguous { name, candidates } = error.problem() else { panic!("{error}") };
    assert!(name == "Same" && candidates.iter().all(|name| name.ends_with("::Same")));
    assert!(TextQuery::parse("one::Same, two::Same").unwrap().bind(&world).is_ok());
}

#[test]
fn fields_are_compared_with_values_of_their_type_only() {
    let world = world();
    for (text, position, expected) in [
        ("Health = 1", 0, "a field before it"),
        ("Health.parts = 1", 7, "a field before it"),
        ("Opaque = 1", 0, "a scalar or a text before it"),
        ("Health.hp = red", 12, "a number"),
        ("Health.hp = \"1\"", 12, "a number"),
        ("Health.hp ~ \"1\"", 7, "a text before `~`"),
        ("Health.hp = 1e60", 12, "a smaller number"),
        ("Health.hp < 170141183460469231731687303715884105727", 12, "a smaller number"),
        ("Health.parts.0 < x", 17, "a number"),
        ("Tracked.0 = 1", 12, "`true` or `false`"),
        ("Tracked.0 < true", 8, "`=` or `!=`"),
        ("Tracked.1 = \"ab\"", 12, "one character in quotes"),
        ("Tracked.2 = x", 12, "an entity"),
        ("Tracked.2 < 1v1", 8, "`=` or `!=`"),
        ("Tracked.3 = 1", 12, "a text"),
        ("Team = 1v1", 7, "a variant"),
        ("Name = 1", 7, "a text"),
        ("Team sort Health", 10, "a scalar or a text to sort by"),
        ("Team sort Health.parts", 17, "a scalar or a text to sort by"),
    ] {
        let error = TextQuery::parse(text).unwrap().bind(&world).expect_err(text);
        assert_eq!((error.position(), error.expected()), (position, Some(expected)), "{text}: {error}");
        assert!(matches!(error.problem(), Problem::NotComparable { .. }), "{text}");
    }
}

#[test]
fn another_world_is_refused() {
    let (mut a, mut b) = (world(), world());
    let query = TextQuery::parse("Health").unwrap().bind(&a).unwrap();
    let mut cursor = query.cursor(&a).unwrap();
    assert_eq!(query.count(&b).unwrap_err().problem(), &Problem::AnotherWorld);
    assert!(query.iter(&b).is_err() && query.page(&b, 0, 1).is_err() && query.cursor(&b).is_err());
    assert!(query.scan(&b, &mut cursor, 1, |_| ()).is_err());
    let other = TextQuery::parse("Health").unwrap().bind(&b).unwrap();
    assert!(other.scan(&b, &mut cursor, 1, |_| ()).is_err(), "a cursor of another world");
    a.clear();
    b.clear();
    assert_eq!(query.count(&a).unwrap(), 0);
    // Names of components that the world does not have are not found, whatever their ids are.
    let unknown = phalanx::ComponentId::from_index(4000);
    assert!(TextQuery::parse("Odd").unwrap().bind_with(&a, &[("Odd", unknown)]).is_err());
    let health = a.component_id::<Health>().unwrap();
    assert!(TextQuery::parse("`hit points`.hp < 3").unwrap().bind_with(&a, &[("hit points", health)]).is_ok());
}
