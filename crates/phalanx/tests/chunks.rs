//! Which queries have chunks, through every entry point.
// Values are only carried along.
#![allow(dead_code)]

use phalanx::query::{ChunkFilter, ChunkQueryData, ExtraRows, Filtered, MainRows, QueryFilter, ReadOnlyQueryData};
use phalanx::store::Soa;
use phalanx::{
    Added, Changed, Component, Components, Entity, Has, Key, Or, QueryData, QueryState, Role, Row, Signature, With,
    Without, World,
};

#[derive(Component)]
struct Position(f32);

#[derive(Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f32,
}

#[derive(Component)]
#[component(track = "row")]
struct Health(u32);

#[derive(Component)]
#[component(track = "column")]
struct Heat(u32);

#[derive(Component)]
struct Enemy;

#[derive(QueryData)]
struct Movers<'a> {
    position: &'a Position,
    spin: Option<&'a Spin>,
}

#[derive(QueryData)]
struct Generic<'a, C: Component> {
    value: &'a C,
}

/// A filter of a user, over signatures alone.
struct Rich;

impl QueryFilter for Rich {
    type State = ();
    fn state(_: &Components) {}
    fn passes((): &(), signature: &Signature) -> bool {
        signature.iter().count() > 1
    }
}

impl ChunkFilter for Rich {}

fn world() -> World {
    let mut world = World::new();
    for n in 0..5 {
        world.spawn(Position(1.0));
        world.spawn((Position(2.0), Spin { axis: 0.0, speed: 1.0 }));
        world.spawn((Position(3.0), Health(n), Heat(n)));
        let entity = world.spawn((Position(4.0), Enemy));
        world.add_row(Key::main(entity).with_role(Role(n + 1)), Position(5.0)).unwrap();
    }
    world
}

/// Compares the rows of the chunks with the items, through every entry point.
fn agree<Q: ReadOnlyQueryData + ChunkQueryData, F: ChunkFilter>() {
    let mut world = world();
    let name = std::any::type_name::<(Q, F)>();
    let mut state = QueryState::<(Row, Q), F>::new();
    let counts = [
        world.query_filtered::<(Row, Q), F>().iter().count(),
        world.query_filtered::<(Row, Q), F>().chunks().map(|(rows, _)| rows.len()).sum(),
        world.query_filtered_mut::<(Row, Q), F>().chunks().map(|(rows, _)| rows.len()).sum(),
        world.query_filtered_mut::<(Row, Q), F>().reborrow().chunks().map(|(rows, _)| rows.len()).sum(),
        world.query::<(Row, Filtered<Q, F>)>().chunks().map(|(rows, _)| rows.len()).sum(),
        world.queries_mut::<((Row, Filtered<Q, F>), Entity)>().0.chunks().map(|(rows, _)| rows.len()).sum(),
        state.query(&world).chunks().map(|(rows, _)| rows.len()).sum(),
        QueryState::<(Row, Q), F>::new().query_mut(&mut world).chunks().map(|(rows, _)| rows.len()).sum(),
    ];
    assert!(counts[0] > 0 && counts.iter().all(|count| *count == counts[0]), "{name}: {counts:?}");
}

#[test]
fn queries_over_tables_have_chunks_of_all_their_rows() {
    agree::<&Position, ()>();
    agree::<&Spin, ()>();
    agree::<&Health, ()>();
    agree::<&Heat, ()>();
    agree::<(Key, Row, Has<Enemy>, Option<&Spin>), ()>();
    agree::<Or<(&Spin, &Health)>, ()>();
    agree::<Movers, ()>();
    agree::<Generic<Spin>, ()>();
    agree::<Filtered<&Position, Without<Enemy>>, With<Position>>();
}

#[test]
fn filters_by_signatures_and_columns_have_chunks() {
    agree::<&Position, MainRows>();
    agree::<&Position, ExtraRows>();
    agree::<&Position, (With<Enemy>, Without<Spin>)>();
    agree::<&Position, Or<(With<Enemy>, With<Spin>)>>();
    agree::<&Position, Changed<Heat>>();
    agree::<&Position, (Rich, MainRows)>();
}

/// What is asked for by a generic function needs no bound but this one.
fn fastest<Q: ChunkQueryData>(world: &mut World) -> usize {
    world.query_mut::<Q>().chunks().count()
}

#[test]
fn code_generic_over_a_query_names_one_bound() {
    assert_eq!(fastest::<&mut Position>(&mut world()), 4);
    assert_eq!(fastest::<(&mut Spin, Entity)>(&mut world()), 1);
    // Rows are looked at one by one here, and there are only items.
    assert_eq!(world().query_filtered::<&Position, Added<Health>>().iter().count(), 5);
}
