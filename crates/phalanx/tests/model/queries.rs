//! The queries that a world is asked after each step.

use super::kinds::{KINDS, Kind, Large, Mark, Plain, Spin, Tag, Text, Value, Wide};
use super::naive::{Naive, mask};
use phalanx::query::{Or, QueryState};
use phalanx::{Entity, Has, With, Without, World};

pub type Row = (Entity, Vec<Option<u32>>);

/// A query, in states that were held since the world was made and in fresh ones.
pub struct Case {
    name: &'static str,
    /// The items, asked for in one of several ways.
    run: Box<dyn FnMut(&mut World, usize) -> Vec<Row>>,
    /// The item of one entity.
    get: fn(&mut World, Entity) -> Option<Row>,
    passes: fn(&dyn Fn(usize) -> bool) -> bool,
    numbers: &'static [usize],
}

macro_rules! case {
    ($query:ty, $filter:ty, |$item:pat_param| $row:expr, $numbers:expr, |$has:ident| $passes:expr) => {
        case!(@ $query, $filter, |$item| $row, $numbers, |$has| $passes, |world| {
            let rows = |$item: <$query as phalanx::QueryData>::Item<'_>| $row;
            let query = world.query_filtered::<$query, $filter>();
            assert_eq!((query.len(), query.is_empty()), (query.iter().count(), query.iter().next().is_none()));
            query.iter().map(rows).collect()
        })
    };
    (mut $query:ty, $filter:ty, |$item:pat_param| $row:expr, $numbers:expr, |$has:ident| $passes:expr) => {
        case!(@ $query, $filter, |$item| $row, $numbers, |$has| $passes, |world| {
            let rows = |$item: <$query as phalanx::QueryData>::Item<'_>| $row;
            world.query_filtered_mut::<$query, $filter>().into_iter().map(rows).collect()
        })
    };
    (@ $query:ty, $filter:ty, |$item:pat_param| $row:expr, $numbers:expr, |$has:ident| $passes:expr,
     |$world:ident| $fresh:expr) => {{
        let mut held = QueryState::<$query, $filter>::new();
        Case {
            name: stringify!($query, $filter),
            run: Box::new(move |$world: &mut World, way: usize| {
                let rows = |$item: <$query as phalanx::QueryData>::Item<'_>| $row;
                match way % 5 {
                    0 => held.iter_mut($world).map(rows).collect(),
                    1 => {
                        // Item by item, with the length told on the way.
                        let (mut all, mut iter) = (Vec::new(), held.iter_mut($world));
                        for left in (0..iter.size_hint().0).rev() {
                            all.push(rows(iter.next().unwrap()));
                            assert_eq!(iter.size_hint(), (left, Some(left)));
                        }
                        assert!(iter.next().is_none() && iter.next().is_none());
                        all
                    }
                    2 => {
                        // Half by `next`, the rest by `fold`.
                        let mut query = $world.query_filtered_mut::<$query, $filter>();
                        let len = query.len();
                        let mut iter = query.iter_mut();
                        let mut all: Vec<Row> = iter.by_ref().take(len / 2).map(rows).collect();
                        iter.for_each(|item| all.push(rows(item)));
                        all
                    }
                    3 => {
                        let mut all = Vec::new();
                        $world.query_filtered_mut::<$query, $filter>().for_each(|item| all.push(rows(item)));
                        assert_eq!(held.len($world), all.len());
                        all
                    }
                    _ => $fresh,
                }
            }),
            get: |world, e| {
                let rows = |$item: <$query as phalanx::QueryData>::Item<'_>| $row;
                world.query_filtered_mut::<$query, $filter>().get_mut(e).ok().map(rows)
            },
            passes: |$has| $passes,
            numbers: $numbers,
        }
    }};
}

pub fn cases() -> Vec<Case> {
    vec![
        case!(Entity, (), |e| (e, vec![]), &[], |_has| true),
        case!((Entity, &'static Plain), (), |(e, p)| (e, vec![Some(p.key())]), &[0], |has| has(0)),
        case!(
            (Entity, &'static Spin, Option<&'static Value>),
            Without<Tag>,
            |(e, s, v)| (e, vec![Some(s.key()), v.map(Kind::key)]),
            &[7, 4],
            |has| has(7) && !has(2)
        ),
        case!(
            (Entity, Option<&'static Text>, Has<Mark>, &'static Large),
            (),
            |(e, t, m, l)| (e, vec![t.map(Kind::key), m.then_some(0), Some(l.key())]),
            &[1, 3, 5],
            |has| has(5)
        ),
        case!(
            (Entity, &'static Mark, Option<(&'static Wide, &'static Tag)>),
            Or<(With<Tag>, Without<Plain>)>,
            |(e, m, w)| (e, vec![Some(m.key()), w.map(|w| w.0.key() + w.1.key())]),
            &[3, 8],
            |has| has(3) && (has(2) || !has(0))
        ),
        case!(
            mut(Entity, &'static mut Plain, Option<&'static mut Wide>),
            (With<Value>, Without<Mark>),
            |(e, p, w)| (e, vec![Some(p.key()), w.map(|w| w.key())]),
            &[0, 6],
            |has| has(0) && has(4) && !has(3)
        ),
        case!(
            mut(Entity, &'static mut Spin, &'static mut Tag),
            (),
            |(e, s, t)| (e, vec![Some(*s.speed as u32), Some(t.key())]),
            &[7, 2],
            |has| has(7) && has(2)
        ),
        case!(mut(Entity, Option<&'static mut Value>), With<Large>, |(e, v)| (e, vec![v.map(|v| v.key())]), &[4], |has| {
            has(5)
        }),
    ]
}

/// The value of a component in a row of the model; number 8 is a wide value beside a tag.
fn value(naive: &Naive, e: Entity, number: usize) -> Option<u32> {
    let values = &naive.values[&e];
    match number {
        KINDS => values[6].filter(|_| values[2].is_some()),
        _ => values[number],
    }
}

impl Case {
    /// Asks and compares.
    pub fn check(&mut self, world: &mut World, naive: &Naive, way: usize) {
        let mut wanted = Vec::new();
        for (mask, rows) in &naive.tables {
            if (self.passes)(&|number| mask & 1 << number != 0) {
                wanted.extend(rows.iter().map(|e| (*e, self.numbers.iter().map(|n| value(naive, *e, *n)).collect())));
            }
        }
        assert_eq!((self.run)(world, way), wanted, "{}, way {way}", self.name);
        if let Some(e) = naive.all.get(way * 7 % naive.all.len().max(1)) {
            let row: Option<&Row> = wanted.iter().find(|row| row.0 == *e);
            assert_eq!((self.get)(world, *e).as_ref(), row, "{}: {e}", self.name);
        }
    }
}

/// Slices of chunks, which have the same rows in the same order, and equal lengths.
pub fn check_chunks(world: &mut World, naive: &Naive) {
    let wanted = naive.tables.iter().filter(|(table, rows)| table & mask(&[0, 7]) == mask(&[0, 7]) && !rows.is_empty());
    let mut wanted = wanted.map(|(_, rows)| rows);
    for (entities, plains, spins, values) in world.query_mut::<(Entity, &mut Plain, &Spin, Option<&Value>)>().chunks() {
        let rows = wanted.next().expect("a table more than the model has");
        assert_eq!(entities, rows);
        assert_eq!((plains.len(), spins.axis.len(), spins.on.len()), (rows.len(), rows.len(), rows.len()));
        assert!(values.is_none_or(|values| values.len() == rows.len()));
        for (row, e) in rows.iter().enumerate() {
            let of = &naive.values[e];
            assert_eq!((Some(plains[row].0), Some(spins.speed[row] as u32)), (of[0], of[7]));
            assert_eq!(values.map(|values| values[row].key()), of[4]);
        }
    }
    assert!(wanted.next().is_none(), "a table less than the model has");
}
