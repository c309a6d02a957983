//! Filters of users that hold on to the state of another world.

use core::cell::Cell;
use phalanx::query::{Candidate, Filtered, QueryFilter, QueryState};
use phalanx::relation::{ChildOf, Related, Up};
use phalanx::system::{IntoSystem, System};
use phalanx::{Changed, Component, Components, Query, QueryData, Signature, With, Without, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component)]
#[component(track = "row")]
struct There(u32);
#[derive(Component)]
struct Here(u32);
#[derive(Component)]
#[component(track = "column")]
struct Void;
#[derive(Component)]
struct Plain;

type Watching = <Changed<There> as QueryFilter>::State;
std::thread_local! {
    /// Each test has its own.
    static STATE: Cell<Option<Watching>> = const { Cell::new(None) };
}

/// Keeps the state of the first world that it is asked for.
struct Keeper;

impl QueryFilter for Keeper {
    type State = Watching;
    const IS_ARCHETYPAL: bool = false;
    fn state(components: &Components) -> Watching {
        let state = STATE.get().unwrap_or_else(|| <Changed<There> as QueryFilter>::state(components));
        STATE.set(Some(state));
        state
    }
    fn passes(_: &Watching, _: &Signature) -> bool {
        true
    }
    fn passes_row(state: &Watching, row: &Candidate<'_>) -> bool {
        <Changed<There> as QueryFilter>::passes_row(state, row)
    }
}

#[test]
fn the_state_of_another_world_finds_nothing() {
    let mut there = World::new();
    there.spawn(There(1));
    assert_eq!(there.query_filtered::<&There, Keeper>().iter().map(|c| c.0).sum::<u32>(), 1);
    let mut here = World::new();
    here.spawn((Here(7), Void)); // has the number here that the other component has there
    assert_eq!(here.query_filtered::<&Here, Keeper>().iter().map(|d| d.0).sum::<u32>(), 0);
}

#[test]
fn a_filter_of_a_user_runs_beside_no_query_that_writes_a_tracked_component() {
    let mut world = World::new();
    world.spawn((There(1), Here(1), Void, Plain));
    // It may read the ticks of any row, as this one does, whatever the other filters say.
    let run = |world: &mut World| {
        world.queries_mut::<(Query<&Here, (Keeper, With<Void>)>, Query<&mut There, Without<Void>>)>();
    };
    assert!(catch_unwind(AssertUnwindSafe(|| run(&mut world))).is_err());
    // The same with the tick of a column: what it reads would depend on which query comes first.
    let run = |world: &mut World| {
        world.queries_mut::<(Query<&Here, Keeper>, &mut Void)>();
    };
    assert!(catch_unwind(AssertUnwindSafe(|| run(&mut world))).is_err());
    let (here, mut writes) = world.queries_mut::<(Query<&Here, Keeper>, &mut Plain)>();
    assert!(here.len() <= 1 && writes.single_mut().is_ok());
}

#[test]
fn a_system_with_a_filter_of_a_user_runs_beside_none_that_writes_a_tracked_component() {
    let mut world = World::new();
    let mut reads = (|_: Query<&Here, Keeper>| {}).into_system();
    let mut writes_rows = (|_: Query<&mut There>| {}).into_system();
    let mut writes_column = (|_: Query<&mut Void>| {}).into_system();
    let mut writes_untracked = (|_: Query<&mut Plain>| {}).into_system();
    reads.initialize(&mut world, None).unwrap();
    writes_rows.initialize(&mut world, None).unwrap();
    writes_column.initialize(&mut world, None).unwrap();
    writes_untracked.initialize(&mut world, None).unwrap();
    assert!(reads.access().conflict_with(writes_rows.access()).is_some());
    assert!(reads.access().conflict_with(writes_column.access()).is_some());
    assert!(writes_column.access().conflict_with(reads.access()).is_some());
    assert!(reads.access().conflict_with(writes_untracked.access()).is_none());
}

#[test]
fn a_filter_of_a_user_tests_no_other_row_while_the_query_writes_tracked_rows() {
    type OfParent = Up<ChildOf, Filtered<&'static Here, Keeper>>;
    // It may read the ticks of the parent, which another thread writes in a parallel loop.
    assert!(QueryState::<(&mut There, OfParent)>::try_new().is_err());
    assert!(QueryState::<(OfParent, &mut There)>::try_new().is_err());
    assert!(QueryState::<(Option<Related<ChildOf, OfParent>>, &mut There)>::try_new().is_err());
    assert!(QueryState::<(OfParent, &There)>::try_new().is_ok());
    assert!(QueryState::<(OfParent, &mut Void)>::try_new().is_ok());
    // The row that is visited is tested before its item is made.
    assert!(QueryState::<(&mut There, Filtered<&Here, Keeper>)>::try_new().is_ok());
}

/// How often [`Fickle`] was asked about a table.
static ASKED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Passes tables every other time.
struct Fickle;

impl QueryFilter for Fickle {
    type State = ();
    fn state(_: &Components) {}
    fn passes((): &(), _: &Signature) -> bool {
        !ASKED.fetch_add(1, std::sync::atomic::Ordering::Relaxed).is_multiple_of(3)
    }
}

#[test]
fn a_filter_that_changes_its_mind_yields_no_row_twice_from_both_ends() {
    #[derive(Component)]
    struct Other<const N: usize>;
    let mut world = World::new();
    world.spawn(Here(0));
    world.spawn((Here(1), Other::<1>));
    world.spawn((Here(2), Other::<2>));
    world.spawn((Here(3), Other::<3>));
    world.spawn((Here(4), Other::<1>, Other::<2>));
    for start in 0..40 {
        ASKED.store(start, std::sync::atomic::Ordering::Relaxed);
        let query = world.query_filtered::<&Here, Fickle>();
        let (mut rows, mut seen) = (query.iter(), Vec::new());
        let mut turn: usize = start;
        loop {
            turn += 1;
            let row = if turn.is_multiple_of(3) { rows.next() } else { rows.next_back() };
            let Some(row) = row else { break };
            assert!(!seen.contains(&row.0), "{} comes twice", row.0);
            seen.push(row.0);
        }
        assert!(rows.next().is_none() && rows.next_back().is_none());
    }
}

/// What [`Moody`] answers next.
static MOOD: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Passes tables at random.
struct Moody;

impl QueryFilter for Moody {
    type State = ();
    fn state(_: &Components) {}
    fn passes((): &(), _: &Signature) -> bool {
        let next =
            MOOD.load(std::sync::atomic::Ordering::Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        MOOD.store(next, std::sync::atomic::Ordering::Relaxed);
        next >> 63 == 0
    }
}

#[derive(QueryData)]
enum Doubtful {
    First(Filtered<&'static Here, Moody>),
    Second(Filtered<&'static There, Moody>),
}

#[test]
fn a_filter_that_changes_its_mind_makes_no_item_of_another_alternative() {
    let mut world = World::new();
    world.spawn((Here(1), Void));
    world.spawn(There(2));
    let mut refused = 0;
    for seed in 0..60_u64 {
        MOOD.store(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), std::sync::atomic::Ordering::Relaxed);
        // The query may panic, since no alternative matches a table that it has matched. Items are of what their row has.
        let visit = AssertUnwindSafe(|| {
            let mut state = QueryState::<Doubtful>::new();
            for _ in 0..3 {
                for item in state.iter(&world) {
                    match item {
                        DoubtfulItem::First(here) => assert_eq!(here.0, 1),
                        DoubtfulItem::Second(there) => assert_eq!(there.0, 2),
                    }
                }
            }
        });
        let panicked = catch_unwind(visit).err();
        let message = panicked.as_ref().and_then(|panic| panic.downcast_ref::<&str>());
        assert!(panicked.is_none() || message.is_some_and(|text| text.contains("changed its mind")));
        refused += usize::from(panicked.is_some());
    }
    assert!((1..60).contains(&refused));
}
