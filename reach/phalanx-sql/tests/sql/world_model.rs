//! SQL over generated worlds gives what typed loops give, for generated predicates.

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use phalanx::store::Soa;
use phalanx::{Component, Entity, World};
use phalanx_arrow::FrozenWorld;
use phalanx_sql::datafusion;
use phalanx_sql::{Rows, Session};
use phalanx_testkit::Rng;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// In archetype tables, as structs.
#[derive(Component, Clone, Copy, Debug)]
struct Position {
    x: f32,
    y: f32,
}

/// In archetype tables, as columns of their own.
#[derive(Soa, Component, Clone, Copy, Debug)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Velocity {
    dx: f64,
    steps: i32,
}

/// In a sparse set.
#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "pool")]
struct Health(u32);

/// In an array by slot.
#[derive(Component, Clone, Copy, Debug)]
#[component(layout = "linear")]
struct Level(i16);

#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Team {
    Red,
    Green,
    Blue,
}

const TEAMS: [Team; 3] = [Team::Red, Team::Green, Team::Blue];

/// Numbers that differ little, so that predicates are true for some rows, and a few special ones.
fn float(rng: &mut Rng) -> f64 {
    match rng.below(20) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => 0.0,
        _ => rng.below(9) as f64 - 4.0 + if rng.chance(1, 2) { 0.5 } else { 0.0 },
    }
}

fn generated_world(rng: &mut Rng) -> World {
    let mut world = World::new();
    world.register_component::<Position>();
    world.register_component::<Velocity>();
    world.register_component::<Health>();
    world.register_component::<Level>();
    world.register_component::<Team>();
    let mut entities = Vec::new();
    for _ in 0..rng.below(400) {
        let entity = world.spawn(());
        entities.push(entity);
        if rng.chance(2, 3) {
            let value = Position { x: float(rng) as f32, y: float(rng) as f32 };
            world.insert(entity, value).unwrap();
        }
        if rng.chance(1, 2) {
            let value = Velocity { dx: float(rng), steps: rng.below(9) as i32 - 4 };
            world.insert(entity, value).unwrap();
        }
        if rng.chance(1, 2) {
            world.insert(entity, Health(rng.below(9) as u32)).unwrap();
        }
        if rng.chance(1, 2) {
            world.insert(entity, Level(rng.below(9) as i16 - 4)).unwrap();
        }
        if rng.chance(1, 2) {
            world.insert(entity, TEAMS[rng.below(3)]).unwrap();
        }
    }
    // Holes and other generations.
    for entity in entities {
        match rng.below(12) {
            0 => world.despawn(entity).unwrap(),
            1 => drop(world.remove::<Health>(entity)),
            2 => drop(world.remove::<Position>(entity)),
            _ => (),
        }
    }
    for _ in 0..rng.below(20) {
        world.spawn((Health(rng.below(9) as u32), Level(0)));
    }
    world
}

/// A row of the components with numbers, as typed code reads it.
type Row = (Entity, Vec<f64>);

/// A table that predicates are generated for: its name, its columns, whether they are floats, and its rows.
struct Model {
    table: &'static str,
    columns: &'static [(&'static str, bool)],
    rows: Vec<Row>,
}

fn models(world: &World) -> Vec<Model> {
    let position = world.query::<(Entity, &Position)>();
    let velocity = world.query::<(Entity, &Velocity)>();
    let health = world.query::<(Entity, &Health)>();
    let level = world.query::<(Entity, &Level)>();
    vec![
        Model {
            table: "position",
            columns: &[("x", true), ("y", true)],
            rows: position.iter().map(|(e, p)| (e, vec![p.x.into(), p.y.into()])).collect(),
        },
        Model {
            table: "velocity",
            columns: &[("dx", true), ("steps", false)],
            rows: velocity.iter().map(|(e, v)| (e, vec![v.dx, v.steps.into()])).collect(),
        },
        Model {
            table: "health",
            columns: &[("value", false)],
            rows: health.iter().map(|(e, h)| (e, vec![h.0.into()])).collect(),
        },
        Model {
            table: "level",
            columns: &[("value", false)],
            rows: level.iter().map(|(e, l)| (e, vec![l.0.into()])).collect(),
        },
    ]
}

/// A condition as SQL and as typed code.
struct Condition {
    sql: String,
    test: Box<dyn Fn(&Row) -> bool>,
}

fn comparison(rng: &mut Rng, model: &Model) -> Condition {
    let column = rng.below(model.columns.len());
    let (name, is_float) = model.columns[column];
    let literal = rng.below(11) as f64 - 5.0 + if is_float && rng.chance(1, 2) { 0.5 } else { 0.0 };
    let (sign, test): (&str, fn(Ordering) -> bool) = match rng.below(6) {
        0 => ("<", Ordering::is_lt),
        1 => ("<=", Ordering::is_le),
        2 => (">", Ordering::is_gt),
        3 => (">=", Ordering::is_ge),
        4 => ("=", Ordering::is_eq),
        _ => ("<>", Ordering::is_ne),
    };
    // Floats are in the total order: NaN is above all numbers.
    let passes = move |row: &Row| test(row.1[column].total_cmp(&literal));
    if rng.chance(1, 5) {
        // The literal first.
        let turned = match sign {
            "<" => ">",
            "<=" => ">=",
            ">" => "<",
            ">=" => "<=",
            same => same,
        };
        return Condition { sql: format!("{literal} {turned} {name}"), test: Box::new(passes) };
    }
    Condition { sql: format!("{name} {sign} {literal}"), test: Box::new(passes) }
}

fn condition(rng: &mut Rng, model: &Model, depth: usize) -> Condition {
    match rng.below(if depth == 0 { 1 } else { 5 }) {
        2 => {
            let (a, b) = (condition(rng, model, depth - 1), condition(rng, model, depth - 1));
            Condition {
                sql: format!("({} and {})", a.sql, b.sql),
                test: Box::new(move |row| (a.test)(row) && (b.test)(row)),
            }
        }
        3 => {
            let (a, b) = (condition(rng, model, depth - 1), condition(rng, model, depth - 1));
            Condition {
                sql: format!("({} or {})", a.sql, b.sql),
                test: Box::new(move |row| (a.test)(row) || (b.test)(row)),
            }
        }
        4 => {
            let a = condition(rng, model, depth - 1);
            Condition { sql: format!("not ({})", a.sql), test: Box::new(move |row| !(a.test)(row)) }
        }
        _ => match rng.below(4) {
            0 if !model.rows.is_empty() => {
                let wanted: Vec<Entity> =
                    (0..1 + rng.below(3)).map(|_| model.rows[rng.below(model.rows.len())].0).collect();
                let list: Vec<String> = wanted.iter().map(|entity| entity.to_bits().to_string()).collect();
                let sql = match &list[..] {
                    [one] => format!("entity = {one}"),
                    _ => format!("entity in ({})", list.join(", ")),
                };
                Condition { sql, test: Box::new(move |row| wanted.contains(&row.0)) }
            }
            _ => comparison(rng, model),
        },
    }
}

fn ask(session: &Session, sql: &str) -> Rows {
    session.blocking_query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn column_of_entities(rows: &Rows, at: usize) -> Vec<u64> {
    let column = |batch: &RecordBatch| batch.column(at).as_primitive::<UInt64Type>().values().to_vec();
    rows.batches().iter().flat_map(column).collect()
}

fn single(rows: &Rows) -> &RecordBatch {
    rows.batches().iter().find(|batch| batch.num_rows() > 0).expect("an aggregate has a row")
}

/// Sums of floats depend on their order.
fn is_near(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || a == b || (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn queries_equal_typed_loops() {
    let mut rng = Rng::new(20);
    let (mut compared, mut found) = (0, 0);
    for _ in 0..25 {
        let world = generated_world(&mut rng);
        let models = models(&world);
        let len = world.len();
        let frozen = FrozenWorld::new(world);
        let session = Session::over(&frozen).unwrap().threads(1 + rng.below(4));
        let all = ask(&session, "select entity from entities");
        assert_eq!(all.len(), len);
        for model in &models {
            let count = ask(&session, &format!("select count(*) from {}", model.table));
            assert_eq!(single(&count).column(0).as_primitive::<Int64Type>().value(0), model.rows.len() as i64);
            for _ in 0..8 {
                let condition = condition(&mut rng, model, 3);
                let table = model.table;
                let expected: Vec<&Row> = model.rows.iter().filter(|row| (condition.test)(row)).collect();

                let mut entities: Vec<u64> = expected.iter().map(|row| row.0.to_bits()).collect();
                entities.sort_unstable();
                let sql = format!("select entity from {table} where {} order by entity", condition.sql);
                assert_eq!(column_of_entities(&ask(&session, &sql), 0), entities, "{sql}");

                let (column, _) = model.columns[rng.below(model.columns.len())];
                let at = model.columns.iter().position(|(name, _)| *name == column).unwrap();
                let sql =
                    format!("select count(*), sum(cast({column} as double)) from {table} where {}", condition.sql);
                let rows = ask(&session, &sql);
                let batch = single(&rows);
                assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), expected.len() as i64, "{sql}");
                let sums = batch.column(1).as_primitive::<Float64Type>();
                let sum: f64 = expected.iter().map(|row| row.1[at]).sum();
                match expected.is_empty() {
                    true => assert!(sums.is_null(0), "{sql}"),
                    false => assert!(is_near(sums.value(0), sum), "{sql}: {} and {sum}", sums.value(0)),
                }

                let limit = rng.below(5);
                let sql = format!("select entity from {table} where {} limit {limit}", condition.sql);
                let some = column_of_entities(&ask(&session, &sql), 0);
                assert_eq!(some.len(), expected.len().min(limit), "{sql}");
                assert!(some.iter().all(|entity| entities.binary_search(entity).is_ok()), "{sql}");
                compared += 1;
                found += expected.len();
            }
        }
    }
    assert!(compared == 800 && found > 10_000, "the test compares something: {compared} queries with {found} rows");
}

#[test]
fn joins_and_groups_equal_typed_loops() {
    let mut rng = Rng::new(21);
    for _ in 0..10 {
        let world = generated_world(&mut rng);
        let mut expected: BTreeMap<String, (i64, u64)> = BTreeMap::new();
        for (team, health) in world.query::<(&Team, &Health)>().iter() {
            let entry = expected.entry(format!("{team:?}")).or_default();
            *entry = (entry.0 + 1, entry.1 + u64::from(health.0));
        }
        let mut hurt: Vec<u64> = Vec::new();
        for (entity, _, health) in
            world.query_filtered::<(Entity, &Position, &Health), phalanx::Without<Level>>().iter()
        {
            if health.0 < 5 {
                hurt.push(entity.to_bits());
            }
        }
        hurt.sort_unstable();
        let frozen = FrozenWorld::new(world);
        let session = Session::over(&frozen).unwrap();
        let sql =
            "select team.value, count(*), sum(health.value) from team join health using (entity) group by 1 order by 1";
        let rows = ask(&session, sql);
        let mut got = BTreeMap::new();
        for batch in rows.batches() {
            let names =
                datafusion::arrow::compute::cast(batch.column(0), &datafusion::arrow::datatypes::DataType::Utf8)
                    .unwrap();
            for row in 0..batch.num_rows() {
                let count = batch.column(1).as_primitive::<Int64Type>().value(row);
                let sum = batch.column(2).as_primitive::<UInt64Type>().value(row);
                got.insert(names.as_string::<i32>().value(row).to_owned(), (count, sum));
            }
        }
        assert_eq!(got, expected);

        session.view("hurt", "Position, Health < 5, !Level").unwrap();
        assert_eq!(column_of_entities(&ask(&session, "select entity from hurt order by entity"), 0), hurt);
    }
}
