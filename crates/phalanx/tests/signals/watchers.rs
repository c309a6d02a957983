//! Observers of queries of every kind, compared with what the queries find before and after each operation.

use crate::parts::*;
use phalanx::query::{AllRows, ExtraRows, Filtered, MainRows};
use phalanx::{Entity, Has, Key, Or, QueryData, Row, With, Without, World};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A row, and the numbers that a query yields for it. A row that is added again under the same key is another row.
type Name = (Key, Option<Row>);
type Numbers = Vec<Option<u32>>;
/// What a query finds.
type Found = BTreeMap<Name, Numbers>;

/// A call of an observer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// How many other events were dispatched before.
    after: usize,
    is_enter: bool,
    query: usize,
    row: Name,
    numbers: Numbers,
}

#[derive(QueryData)]
struct Lines<'a> {
    row: Row,
    lined: &'a Lined,
    owned: Option<&'a Owned>,
}

macro_rules! watched {
    ($($number:literal $name:ident: $data:ty, $filter:ty, |$item:pat_param| $row:expr, $numbers:expr;)*) => {
        /// Connects observers of all queries.
        fn connect(world: &mut World, log: &Log, calls: &Arc<Mutex<Vec<Call>>>) {
            $({
                let (events, calls) = (log.clone(), calls.clone());
                world.observe::<$data, $filter>().on_enter(move |event, world, _| {
                    world.validate().unwrap();
                    let ($item, key) = (event.item, event.key());
                    assert_eq!(key.entity, event.entity);
                    let (row, numbers) = ((key, $row), $numbers);
                    assert!(find::<$data, $filter>(world, key), "it matches now");
                    let after = events.lock().unwrap().len();
                    calls.lock().unwrap().push(Call { after, is_enter: true, query: $number, row, numbers });
                });
            })*
            // In another order.
            $({
                let (events, calls) = (log.clone(), calls.clone());
                world.observe::<$data, $filter>().on_leave(move |event, world, _| {
                    world.validate().unwrap();
                    let ($item, key) = (event.item, event.key());
                    assert_eq!(key.entity, event.entity);
                    let (row, numbers) = ((key, $row), $numbers);
                    let after = events.lock().unwrap().len();
                    calls.lock().unwrap().push(Call { after, is_enter: false, query: $number, row, numbers });
                });
            })*
        }

        /// What all queries find.
        fn find_all(world: &World) -> Vec<Found> {
            vec![$({
                let mut found = Found::new();
                for (key, $item) in world.query_filtered::<($name, $data), $filter>().iter() {
                    let key = Key::from(key);
                    assert!(found.insert((key, $row), $numbers).is_none());
                }
                found
            }),*]
        }
    };
}

fn find<D: phalanx::query::ReadOnlyQueryData, F: phalanx::query::QueryFilter>(world: &World, key: Key) -> bool {
    let row = world.row(key).unwrap().id();
    world.query_filtered::<D, F>().get_row(row).is_ok()
}

/// The number of a component that may be missing.
macro_rules! n {
    ($part:ident $value:expr) => {
        $value.as_ref().map(|value| $part::seen(value))
    };
}

watched! {
    0 Entity: &Plain, (), |plain| None, vec![Some(plain.0)];
    1 Entity: (&Owned, &PooledBox, Option<&LinedBox>), Without<Void>, |(owned, pooled, lined)| None,
        vec![Some(*owned.0), Some(*pooled.0), n!(LinedBox lined)];
    2 Entity: Entity, Without<Pooled>, |entity| None, vec![Some(entity.index())];
    3 Key: (Row, &Split, Has<Lined>), (), |(row, split, has)| Some(row), vec![Some(Split::seen(&split)), Some(u32::from(has))];
    4 Key: (Row, Option<&Owned>), (ExtraRows, Without<Lined>), |(row, owned)| Some(row), vec![n!(Owned owned)];
    5 Entity: Or<(&LinedBox, &PooledVoid)>, (), |(lined, void)| None, vec![n!(LinedBox lined), n!(PooledVoid void)];
    6 Entity: (Option<Filtered<&Owned, With<Pooled>>>, Option<&Split>), Or<(With<LinedVoid>, (With<Plain>, Without<PooledVoid>))>,
        |(owned, split)| None, vec![n!(Owned owned), n!(Split split)];
    7 Key: (Row, Key, Option<&PooledBox>), (), |(row, key, pooled)| Some(row), vec![Some(key.role.0), n!(PooledBox pooled)];
    8 Key: Lines, (AllRows, Without<LinedVoid>), |LinesItem { row, lined, owned }| Some(row),
        vec![Some(u32::from(lined.0)), n!(Owned owned)];
    9 Key: (Row, &Pooled), (MainRows, With<Void>), |(row, pooled)| Some(row), vec![Some(pooled.0 as u32)];
}

/// Observers of a world, and what their queries found after the last operation.
pub(crate) struct Watchers {
    calls: Arc<Mutex<Vec<Call>>>,
    found: Vec<Found>,
}

impl Watchers {
    /// Connects observers. `log` is the list of the world's other events.
    pub(crate) fn new(world: &mut World, log: &Log) -> Watchers {
        let calls = Arc::default();
        connect(world, log, &calls);
        Watchers { calls, found: find_all(world) }
    }

    /// Compares the calls since the last check with what has changed: by one operation, or by several.
    pub(crate) fn check(&mut self, world: &World, events: &[Event], is_one: bool) {
        let calls = core::mem::take(&mut *self.calls.lock().unwrap());
        let before = core::mem::replace(&mut self.found, find_all(world));
        let mut now = before.clone();
        for call in &calls {
            let Call { query, row, numbers, .. } = call;
            let was = match call.is_enter {
                true => now[*query].insert(*row, numbers.clone()),
                false => now[*query].remove(row),
            };
            assert_eq!(was.is_some(), !call.is_enter, "{call:?} of {calls:?}");
            // Called when all other events of the row were. A row without components has none.
            let (key, earlier) = (row.0, &events[..call.after]);
            if earlier.iter().any(|event| key_of(event) == key) {
                assert_eq!(earlier.last().map(key_of), Some(key), "{call:?} after {:?}", earlier.last());
            }
            let later = events[call.after..].iter().any(|event| key_of(event) == key);
            assert!(!is_one || !key.is_main() || !later, "{call:?} before other events of its row");
            if is_one {
                let values = if call.is_enter { &self.found } else { &before };
                assert_eq!(values[*query].get(row), Some(numbers), "{call:?}");
            }
        }
        let is_same = |(now, found): (&Found, &Found)| now.keys().eq(found.keys());
        assert!(now.iter().zip(&self.found).all(is_same), "{calls:?}");
        if is_one {
            let mut seen: Vec<_> = calls.iter().map(|call| (call.query, call.row)).collect();
            seen.sort_unstable();
            assert!(seen.is_sorted_by(|a, b| a < b), "a row is told of once: {calls:?}");
        }
        // Of one row: what it leaves, then what it enters, each in the order of connection.
        let in_order = |pair: &[Call]| {
            let [a, b] = pair else { unreachable!() };
            a.after != b.after || a.row.0 != b.row.0 || (a.is_enter, a.query) < (b.is_enter, b.query)
        };
        assert!(calls.windows(2).all(in_order), "{calls:?}");
    }
}

fn key_of(event: &Event) -> Key {
    match event {
        Event::Spawned(entity) | Event::Despawned(entity, _) => Key::main(*entity),
        Event::Added(key, ..) | Event::Set(key, ..) | Event::Removed(key, ..) => *key,
    }
}
