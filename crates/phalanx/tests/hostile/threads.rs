//! Writing one query's rows on several threads: every write is noticed by what follows the world.
//!
//! A lost mark shows in nearly every run of an optimised build (`--profile checked`), and in some of others. ThreadSanitizer
//! reports the race in all of them.

#![allow(unsafe_code)] // Raw pointers to values are used as the query allows it.

use phalanx::query::{DynamicQuery, DynamicRow, DynamicTable, RawLane};
use phalanx::timeline::Timeline;
use phalanx::{Changed, Component, ComponentId, Entity, QueryState, World};
use std::sync::Barrier;

/// Rows that share one mark of a timeline.
const CHUNK: usize = 128;
/// Chunks whose marks share a word.
const CHUNKS: usize = 64;

macro_rules! numbers {
    ($($name:ident($($option:tt)*))*) => {$(
        #[derive(Component, Clone, Copy, Debug, PartialEq)]
        #[component(plain, $($option)*)]
        struct $name(u32);
    )*};
}
numbers! {
    InTable(layout = "table")
    InPool(layout = "pool")
    InLinear(layout = "linear")
    TableRows(track = "row")
    PoolRows(layout = "pool", track = "row")
    LinearColumn(layout = "linear", track = "column")
}

#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Other;

fn world() -> World {
    let numbers = (InTable(0), InPool(0), InLinear(0), TableRows(0), PoolRows(0), LinearColumn(0));
    let mut world = World::new();
    world.spawn_batch((0..CHUNK * CHUNKS).map(|_| numbers));
    world
}

fn id<C: Component>(world: &World) -> ComponentId {
    world.component_id::<C>().unwrap()
}

/// A query that writes `C` and, to be taken first, another component.
fn query<C: Component, First: Component>(world: &World) -> DynamicQuery {
    DynamicQuery::builder().write(id::<C>(world)).write(id::<First>(world)).build(world).unwrap()
}

/// The numbers of all entities.
fn state(world: &World) -> Vec<[u32; 6]> {
    let query = world.query::<(&InTable, &InPool, &InLinear, &TableRows, &PoolRows, &LinearColumn)>();
    query.iter().map(|(a, b, c, d, e, f)| [a.0, b.0, c.0, d.0, e.0, f.0]).collect()
}

/// Calls `write` with all rows of the even chunks on one thread, and with one row of each odd chunk on another.
///
/// The first thread writes the word of the marks all the time, with marks that are set already. A mark of the second that it
/// overwrites is not set again.
fn write_rows<C: Component, First: Component>(world: &mut World, write: impl Fn(&mut DynamicRow<'_, '_>) + Sync) {
    let query = query::<C, First>(world);
    let (mut many, mut few) = (Vec::new(), Vec::new());
    for (at, mut row) in query.rows_mut(world).unwrap().enumerate() {
        let (chunk, at) = (at / CHUNK, at % CHUNK);
        if chunk % 2 == 1 && at != 0 {
            continue;
        }
        // The first component allocates. Threads that wait for the allocator would not meet at the marks.
        let _ = row.take_mut::<First>().unwrap();
        if chunk % 2 == 0 { many.push(row) } else { few.push(row) }
    }
    let (start, write) = (&Barrier::new(2), &write);
    std::thread::scope(|scope| {
        let first = scope.spawn(move || {
            start.wait();
            many.iter_mut().for_each(write);
        });
        let second = scope.spawn(move || {
            start.wait();
            for row in &mut few {
                write(row);
                (0..200).for_each(|_| core::hint::spin_loop());
            }
        });
        // ThreadSanitizer sees what a join orders, and not what the end of a scope does.
        [first, second].into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Adds 1 to rows of each component in turn.
fn add(world: &mut World) {
    write_rows::<InTable, LinearColumn>(world, |row| row.take_mut::<InTable>().unwrap().0 += 1);
    write_rows::<InPool, LinearColumn>(world, |row| row.take_mut::<InPool>().unwrap().0 += 1);
    write_rows::<InLinear, LinearColumn>(world, |row| row.take_mut::<InLinear>().unwrap().0 += 1);
    write_rows::<TableRows, LinearColumn>(world, |row| row.take_mut::<TableRows>().unwrap().0 += 1);
    write_rows::<PoolRows, LinearColumn>(world, |row| row.take_mut::<PoolRows>().unwrap().0 += 1);
    write_rows::<LinearColumn, InTable>(world, |row| row.take_mut::<LinearColumn>().unwrap().0 += 1);
}

#[test]
fn h36_rows_written_on_several_threads_are_all_captured() {
    let mut world = world();
    let mut timeline = Timeline::new(1);
    for round in 1..=20 {
        timeline.capture(&mut world).unwrap();
        let before = state(&world);
        add(&mut world);
        let after = state(&world);
        timeline.capture(&mut world).unwrap();
        timeline.rewind(&mut world, 0).unwrap();
        assert!(state(&world) == after, "round {round}: a write was not captured");
        timeline.rewind(&mut world, 1).unwrap();
        assert!(state(&world) == before, "round {round}: a write was not taken back");
    }
    world.validate().unwrap();
}

/// Raw pointers to a value, on their way to another thread.
struct Sent(Vec<RawLane>);

// SAFETY: the values are numbers, and the one who has these pointers is the only one to use them.
unsafe impl Send for Sent {}

impl Sent {
    /// Adds 1 to each number.
    fn add(self) {
        for lane in self.0 {
            for at in 0..lane.len {
                // SAFETY: a number of the component, which was taken for writing.
                unsafe { *lane.ptr.cast::<u32>().add(at).as_ptr() += 1 };
            }
        }
    }
}

#[test]
fn h36_lanes_and_tables_written_on_several_threads_are_all_captured() {
    let mut world = world();
    // Another table, so that there are two to be written at the same time.
    let numbers = (InTable(0), InPool(0), InLinear(0), TableRows(0), PoolRows(0), LinearColumn(0));
    world.spawn_batch((0..CHUNK).map(|_| (Other, numbers.0, numbers.1, numbers.2, numbers.3, numbers.4, numbers.5)));
    let mut timeline = Timeline::new(1);
    timeline.capture(&mut world).unwrap();
    let before = state(&world);

    let by_row = [id::<InPool>(&world), id::<InLinear>(&world), id::<PoolRows>(&world), id::<LinearColumn>(&world)];
    let rows = by_row.iter().fold(DynamicQuery::builder(), |query, id| query.write(*id)).build(&world).unwrap();
    let mut tasks: [Vec<DynamicRow<'_, '_>>; 2] = Default::default();
    rows.rows_mut(&mut world).unwrap().enumerate().for_each(|(at, row)| tasks[at % 2].push(row));
    std::thread::scope(|scope| {
        let take = |mut row: DynamicRow<'_, '_>| {
            by_row.iter().for_each(|id| Sent(row.take_lanes_mut(*id).unwrap().collect()).add());
        };
        let threads = tasks.map(|rows| scope.spawn(move || rows.into_iter().for_each(take)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });

    let by_table = [id::<InTable>(&world), id::<TableRows>(&world)];
    let tables = by_table.iter().fold(DynamicQuery::builder(), |query, id| query.write(*id)).build(&world).unwrap();
    let tasks: Vec<DynamicTable<'_>> = tables.tables_mut(&mut world).unwrap().collect();
    assert_eq!(tasks.len(), 2);
    std::thread::scope(|scope| {
        let take = |mut table: DynamicTable<'_>| {
            table.take_mut::<InTable>().unwrap().iter_mut().for_each(|number| number.0 += 1);
            Sent(table.take_lanes_mut(by_table[1]).unwrap().collect()).add();
        };
        let threads: Vec<_> = tasks.into_iter().map(|table| scope.spawn(move || take(table))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });

    let after = state(&world);
    assert!(after.iter().flatten().all(|number| *number == 1));
    timeline.capture(&mut world).unwrap();
    timeline.rewind(&mut world, 0).unwrap();
    assert!(state(&world) == after);
    timeline.rewind(&mut world, 1).unwrap();
    assert!(state(&world) == before);
    world.validate().unwrap();
}

#[cfg(feature = "parallel")]
#[test]
fn h36_rows_written_in_parallel_loops_are_all_captured() {
    let mut world = world();
    let mut timeline = Timeline::new(1);
    timeline.capture(&mut world).unwrap();
    let before = state(&world);
    world.query_mut::<(&mut InTable, &mut TableRows)>().par_for_each_by(CHUNK, |(a, mut b)| (a.0, b.0) = (1, 1));
    world.query_mut::<(&mut InPool, &mut PoolRows)>().par_for_each_by(CHUNK, |(a, mut b)| (a.0, b.0) = (1, 1));
    world.query_mut::<(&mut InLinear, &mut LinearColumn)>().par_for_each_by(CHUNK, |(a, b)| (a.0, b.0) = (1, 1));
    let after = state(&world);
    assert!(after.iter().flatten().all(|number| *number == 1));
    timeline.capture(&mut world).unwrap();
    timeline.rewind(&mut world, 0).unwrap();
    assert!(state(&world) == after);
    timeline.rewind(&mut world, 1).unwrap();
    assert!(state(&world) == before);
}

#[test]
fn h36_rows_written_on_several_threads_are_all_changed() {
    let mut world = world();
    let mut in_tables = QueryState::<Entity, Changed<TableRows>>::new();
    let mut in_pools = QueryState::<Entity, Changed<PoolRows>>::new();
    let mut columns = QueryState::<Entity, Changed<LinearColumn>>::new();
    for round in 0..3 {
        let _ = (in_tables.iter(&world).count(), in_pools.iter(&world).count(), columns.iter(&world).count());
        add(&mut world);
        let written = CHUNKS / 2 * (CHUNK + 1);
        assert_eq!(in_tables.iter(&world).count(), written, "round {round}");
        assert_eq!(in_pools.iter(&world).count(), written, "round {round}");
        assert_eq!(columns.iter(&world).count(), CHUNK * CHUNKS, "round {round}");
    }
}

#[test]
fn h36_rows_are_tested_while_other_threads_write_those_before() {
    let mut world = world();
    macro_rules! write_changed {
        ($component:ident) => {
            let mut changed = QueryState::<&mut $component, Changed<$component>>::new();
            std::thread::scope(|scope| {
                let (mut items, mut threads) = (changed.iter_mut(&mut world), Vec::new());
                loop {
                    // The last block of rows that were tested is divided between two threads.
                    let some: Vec<_> = items.by_ref().take(1000).collect();
                    if some.is_empty() {
                        break;
                    }
                    threads.push(scope.spawn(move || some.into_iter().for_each(|mut item| item.0 += 1)));
                }
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            });
            assert!(world.query::<&$component>().iter().all(|item| item.0 == 1));
            assert_eq!(changed.len(&world), 0, "its own writes are not new to the query");
        };
    }
    write_changed!(TableRows);
    write_changed!(PoolRows);
}
