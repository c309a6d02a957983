//! Sessions over frozen worlds.

use phalanx::{Component, Key, Role, World};
use phalanx_arrow::FrozenWorld;
use phalanx_sql::{Session, SqlError};

#[derive(Component)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component)]
#[component(layout = "pool")]
struct Shield(u32);

#[derive(Component)]
struct Health(u32);

fn session(rows: u32) -> Session {
    let mut world = World::new();
    world.register_component::<Shield>();
    for n in 0..rows {
        let entity = world.spawn((Position { x: n as f32, y: -(n as f32) }, Health(n % 100)));
        if n % 3 == 0 {
            world.insert(entity, Shield(n)).unwrap();
        }
    }
    Session::over(&FrozenWorld::new(world)).unwrap()
}

fn plan(session: &Session, sql: &str) -> String {
    session.blocking_query(&format!("explain format indent {sql}")).unwrap().to_string()
}

#[test]
fn each_component_is_a_table() {
    let session = session(10);
    assert_eq!(session.tables(), ["entities", "health", "position", "shield"]);
    let columns = |table| session.columns(table).unwrap().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
    assert_eq!(columns("position"), ["entity", "x", "y"]);
    assert_eq!(columns("shield"), ["entity", "value"]);
    let shown = session.blocking_query("select x, y from position where x > 7 order by x").unwrap();
    assert_eq!(shown.len(), 2);
    assert_eq!(
        shown.to_string(),
        "+-----+------+\n| x   | y    |\n+-----+------+\n| 8.0 | -8.0 |\n| 9.0 | -9.0 |\n+-----+------+"
    );
    let listed =
        session.blocking_query("select table_name from information_schema.tables where table_schema = 'public'");
    assert_eq!(listed.unwrap().len(), 4);
}

#[test]
fn extra_rows_are_tables_of_their_own() {
    let mut world = World::new();
    let entities: Vec<_> = (0..6).map(|n| world.spawn(Health(n))).collect();
    for (n, entity) in entities.iter().enumerate() {
        for role in 1..=3 {
            world.add_row(Key::main(*entity).with_role(Role(role)), Health(n as u32 * 10 + role)).unwrap();
        }
    }
    let session = Session::over(&FrozenWorld::new(world)).unwrap();
    assert_eq!(session.tables(), ["entities", "health", "health_rows"]);
    assert_eq!(session.blocking_query("select * from health").unwrap().len(), 6);
    let sql =
        format!("select value from health_rows where entity = {} and role > 1 order by role", entities[2].to_bits());
    let rows = session.blocking_query(&sql).unwrap().to_string();
    assert!(rows.contains("| 22    |\n| 23    |"), "{rows}");
    let sql = "select sum(r.value) as total from health h join health_rows r using (entity) where h.value >= 4";
    let rows = session.blocking_query(sql).unwrap().to_string();
    assert!(rows.contains(&format!("| {}   |", 3 * 40 + 3 * 50 + 2 * 6)), "{rows}");
}

#[test]
fn filters_limits_and_counts_reach_the_scan() {
    let session = session(1000);
    let filtered = plan(&session, "select x from position where y < -5 and x < 100 limit 3");
    assert!(
        filtered.contains("world, rows=1000") && filtered.contains("filter=y") && filtered.contains("fetch=3"),
        "{filtered}"
    );
    assert!(!filtered.contains("FilterExec"), "the scan's filter is exact: {filtered}");
    let counted = plan(&session, "select count(*) from position");
    assert!(!counted.contains("DataSourceExec"), "the number of rows is known: {counted}");

    let entity = session.blocking_query("select entity from health where value = 42 limit 1").unwrap();
    let entity = datafusion_cell(&entity);
    let one = plan(&session, &format!("select x from position where entity = {entity}"));
    assert!(one.contains("rows=1,"), "{one}");
    let none = plan(&session, &format!("select value from shield where entity = {entity}"));
    assert!(none.contains("rows=1,") || none.contains("rows=0,"), "{none}");
    let unknown = session.blocking_query("select * from position where entity = 18446744073709551615").unwrap();
    assert!(unknown.is_empty());
}

fn datafusion_cell(rows: &phalanx_sql::Rows) -> u64 {
    use phalanx_sql::datafusion::arrow::array::AsArray;
    use phalanx_sql::datafusion::arrow::datatypes::UInt64Type;
    rows.batches()[0].column(0).as_primitive::<UInt64Type>().value(0)
}

#[test]
fn errors_name_the_nearest_table_and_column() {
    let session = session(10);
    let error = |sql: &str| session.blocking_query(sql).unwrap_err();
    match error("select * from postion") {
        SqlError::NoSuchTable { name, nearest, tables } => {
            assert_eq!((name.as_str(), nearest.as_deref()), ("postion", Some("position")));
            assert_eq!(tables.len(), 4);
        }
        other => panic!("{other:?}"),
    }
    match error("select valeu from health") {
        SqlError::NoSuchColumn { name, nearest, .. } => {
            assert_eq!((name.as_str(), nearest.as_deref()), ("valeu", Some("value")));
        }
        other => panic!("{other:?}"),
    }
    match error("select h.valeu from health h join position p using (entity)") {
        SqlError::NoSuchColumn { name, nearest, .. } => {
            assert_eq!((name.as_str(), nearest.as_deref()), ("h.valeu", Some("value")));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(error("select * from zzz").to_string(), "no table `zzz`; tables: entities, health, position, shield");
    assert!(matches!(error("selct 1"), SqlError::Query(_)));
    assert!(matches!(error(""), SqlError::Query(_)));
    assert!(matches!(error("select 1; select 2"), SqlError::Query(_)));
    // Deep nesting is an error, not an overflow of the stack.
    let deep = format!("select {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    assert!(matches!(error(&deep), SqlError::Query(_)));
}

#[test]
fn a_world_is_only_read() {
    let session = session(10);
    for sql in [
        "create table t (a int)",
        "create view v as select 1",
        "create external table t stored as parquet location '/tmp/x'",
        "drop table position",
        "insert into position values (1, 2, 3)",
        "delete from position",
        "update health set value = 1",
        "copy position to '/tmp/never.csv'",
        "set datafusion.execution.batch_size = 1",
    ] {
        let error = session.blocking_query(sql).unwrap_err();
        assert!(
            matches!(error, SqlError::NotAQuery(_) | SqlError::Query(_) | SqlError::NoSuchTable { .. }),
            "{sql}: {error:?}"
        );
    }
    assert!(!std::path::Path::new("/tmp/never.csv").exists());
    assert_eq!(session.tables().len(), 4);
    assert_eq!(session.blocking_query("select * from position").unwrap().len(), 10);
}

#[test]
fn views_are_text_queries() {
    let session = session(30);
    session.view("open", "Position, Health, !Shield").unwrap();
    assert_eq!(session.blocking_query("select * from open").unwrap().len(), 20);
    let names: Vec<String> = session.columns("open").unwrap().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["entity", "position_x", "position_y", "health"]);
    assert!(matches!(session.view("open", "Position"), Err(SqlError::TableExists(name)) if name == "open"));
    assert!(matches!(session.view("position", "Position"), Err(SqlError::TableExists(_))));
    let error = session.view("other", "Positoin").unwrap_err();
    assert!(error.to_string().contains("Position"), "{error}");
    assert!(!session.tables().contains(&"other".to_owned()));
}

#[test]
fn a_world_can_be_thawed_after_its_sessions() {
    let mut world = World::new();
    world.spawn(Health(1));
    let frozen = FrozenWorld::new(world);
    let session = Session::over(&frozen).unwrap();
    let rows = session.blocking_query("select * from health").unwrap();
    let frozen = frozen.thaw().unwrap_err().into_inner();
    drop(session);
    drop(rows);
    // The threads of the session end in the background.
    let mut frozen = Err(frozen);
    for _ in 0..200 {
        match frozen.map_or_else(|frozen: FrozenWorld| frozen.thaw().map_err(|still| still.into_inner()), Ok) {
            Ok(world) => {
                assert_eq!(world.len(), 1);
                return;
            }
            Err(still) => frozen = Err(still),
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("a share of the world is left");
}

#[test]
fn an_empty_world_has_tables_without_rows() {
    let mut world = World::new();
    world.register_component::<Position>();
    let session = Session::over(&FrozenWorld::new(world)).unwrap();
    assert!(session.blocking_query("select * from position").unwrap().is_empty());
    assert!(session.blocking_query("select * from entities").unwrap().is_empty());
    assert_eq!(session.blocking_query("select count(*), sum(x) from position").unwrap().len(), 1);
}

#[tokio::test]
async fn queries_run_on_the_runtime_of_a_program() {
    let session = session(1000);
    let (a, b) = tokio::join!(session.query("select sum(x) from position"), session.query("select * from shield"));
    assert_eq!((a.unwrap().len(), b.unwrap().len()), (1, 334));
    let mut rows = session.stream("select * from health").await.unwrap();
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        count += batch.unwrap().num_rows();
    }
    assert_eq!(count, 1000);
    // A session is dropped within a task.
    drop(session);
}
