//! Destructors, clones, closures and iterators that panic or lie, at every point where they can.
#![forbid(unsafe_code)]

mod adversary;

use adversary::{Fuse, Inner, InnerColumns, Token, Tracked, Watched, WatchedColumns};
use adversary::{assert_settled, call, forget_the_lost, rows, trials, values};
use phalanx_store::Soa;
use phalanx_store::soa::{Leaf, SoaRow, Views};
use std::cmp::Ordering;
use std::mem;

fn is_subsequence(part: &[u32], whole: impl IntoIterator<Item = u32>) -> bool {
    let mut whole = whole.into_iter();
    part.iter().all(|p| whole.any(|w| w == *p))
}

#[test]
fn drop_panics_in_clear() {
    trials(Fuse::Drop, 5, Soa::clear, |left, _| assert!(left.is_empty()));
}

#[test]
fn drop_panics_in_truncate() {
    trials(Fuse::Drop, 5, |soa| soa.truncate(2), |left, _| assert_eq!(left, [0, 1]));
}

#[test]
fn drop_panics_in_drop_of_the_array() {
    trials(Fuse::Drop, 5, |soa| drop(mem::take(soa)), |left, _| assert!(left.is_empty()));
}

#[test]
fn drop_panics_in_retain() {
    let odd = |soa: &mut Soa<Watched>| soa.retain(|row| row.plain % 2 == 1);
    trials(Fuse::Drop, 6, odd, |left, _| {
        assert!(is_subsequence(left, 0..6));
        assert!([1, 3, 5].iter().all(|kept| left.contains(kept)));
    });
}

#[test]
fn drop_panics_in_drain() {
    trials(Fuse::Drop, 6, |soa| drop(soa.drain(1..4)), |left, _| assert_eq!(left, [0, 4, 5]));
    let halfway = |soa: &mut Soa<Watched>| {
        let mut drain = soa.drain(1..5);
        drop(drain.next());
        drop(drain.next_back());
    };
    trials(Fuse::Drop, 6, halfway, |left, _| assert_eq!(left, [0, 5]));
}

#[test]
fn drop_panics_in_into_iter() {
    let some = |soa: &mut Soa<Watched>| {
        let mut rows = mem::take(soa).into_iter();
        drop(rows.next());
        drop(rows.nth(1));
        drop(rows.next_back());
    };
    trials(Fuse::Drop, 6, some, |left, _| assert!(left.is_empty()));
}

#[test]
fn drop_panics_when_one_row_goes() {
    trials(Fuse::Drop, 4, |soa| drop(soa.pop()), |left, _| assert_eq!(left, [0, 1, 2]));
    trials(Fuse::Drop, 4, |soa| drop(soa.remove(1)), |left, _| assert_eq!(left, [0, 2, 3]));
    trials(Fuse::Drop, 4, |soa| drop(soa.swap_remove(1)), |left, _| assert_eq!(left, [0, 3, 2]));
}

#[test]
fn drop_panics_when_a_row_is_overwritten() {
    let replace = |soa: &mut Soa<Watched>| drop(soa.replace(1, Watched::new(9)));
    trials(Fuse::Drop, 3, replace, |left, _| assert_eq!(left, [0, 9, 2]));
}

#[test]
fn drop_panics_in_clone_from() {
    trials(Fuse::Drop, 3, |soa| soa.clone_from(&rows(2)), |left, _| assert!(left.is_empty() || left == [0, 1]));
}

#[test]
fn drop_panics_when_columns_are_refused() {
    let refused = |soa: &mut Soa<Watched>| {
        let tracked = |n: u32| (0..n).map(Tracked::new).collect::<Vec<_>>();
        let columns = WatchedColumns {
            first: tracked(2),
            token: vec![Token::new()],
            plain: vec![1, 2],
            inner: InnerColumns { second: tracked(2), third: tracked(3) },
        };
        assert!(soa.extend_columns(columns).is_err());
    };
    trials(Fuse::Drop, 2, refused, |left, _| assert_eq!(left, [0, 1]));
}

#[test]
fn clone_panics() {
    trials(Fuse::Call, 4, |soa| drop(soa.clone()), |left, _| assert_eq!(left, [0, 1, 2, 3]));
    trials(Fuse::Call, 4, |soa| drop(soa.get_cloned(2)), |left, _| assert_eq!(left, [0, 1, 2, 3]));
    trials(Fuse::Call, 1, |soa| soa.clone_from(&rows(3)), |left, _| assert!(left.is_empty() || left == [0, 1, 2]));
    let extend = |soa: &mut Soa<Watched>| soa.extend_lanes(rows(3).lanes()).unwrap();
    trials(Fuse::Call, 2, extend, |left, _| assert!(left == [0, 1] || left == [0, 1, 0, 1, 2]));
}

#[test]
fn predicate_panics() {
    let retain = |soa: &mut Soa<Watched>| {
        soa.retain(|row| {
            call();
            row.plain % 3 == 0
        });
    };
    trials(Fuse::Call, 7, retain, |left, k| {
        let expected: Vec<u32> = (0..7).filter(|n| n % 3 == 0 || *n as usize >= k).collect();
        assert_eq!(left, expected);
    });
    let retain_mut = |soa: &mut Soa<Watched>| {
        soa.retain_mut(|row| {
            call();
            *row.plain % 2 == 0
        });
    };
    trials(Fuse::Call, 5, retain_mut, |left, _| assert!(is_subsequence(left, 0..5)));
}

#[test]
fn comparison_panics() {
    let unchanged = |left: &[u32], k: usize| assert!(left == [0, 1, 2, 3, 4] || left == [4, 3, 2, 1, 0], "trial {k}");
    let by = |a: &u32, b: &u32| {
        call();
        b.cmp(a)
    };
    trials(Fuse::Call, 5, |soa| soa.sort_by(|a, b| by(a.plain, b.plain)), unchanged);
    trials(Fuse::Call, 5, |soa| soa.sort_unstable_by(|a, b| by(a.plain, b.plain)), unchanged);
    let key = |plain: &u32| {
        call();
        9 - *plain
    };
    trials(Fuse::Call, 5, |soa| soa.sort_by_key(|row| key(row.plain)), unchanged);
    trials(Fuse::Call, 5, |soa| soa.sort_unstable_by_key(|row| key(row.plain)), unchanged);
    trials(Fuse::Call, 5, |soa| soa.sort_by_scalar(|row| key(row.plain)), unchanged);
}

#[test]
fn a_comparison_that_is_no_order_permutes() {
    for seed in 0..40u32 {
        let mut soa = rows(60);
        let mut state = seed;
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            soa.sort_by(|_, _| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                [Ordering::Less, Ordering::Equal, Ordering::Greater][(state >> 16) as usize % 3]
            });
        }));
        let mut left = values(&soa);
        if result.is_err() {
            assert_eq!(left, (0..60).collect::<Vec<_>>());
        }
        left.sort_unstable();
        assert_eq!(left, (0..60).collect::<Vec<_>>());
        drop(soa);
        assert_settled();
    }
}

#[test]
fn an_iterator_panics() {
    let extend = |soa: &mut Soa<Watched>| {
        soa.extend((10..90).map(|n| {
            call();
            Watched::new(n)
        }));
    };
    trials(Fuse::Call, 2, extend, |left, k| {
        let expected: Vec<u32> = (0..2).chain((10..90).take(k)).collect();
        assert_eq!(left, expected);
    });
}

/// An iterator that says something else about its length.
struct Liar<I>(I, (usize, Option<usize>));

impl<I: Iterator> Iterator for Liar<I> {
    type Item = I::Item;
    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1
    }
}

#[test]
fn a_hint_is_only_a_hint() {
    let hints =
        [(0, Some(0)), (usize::MAX, None), (usize::MAX, Some(usize::MAX)), (10, Some(3)), (1, None), (200, None)];
    for hint in hints {
        let mut soa = rows(3);
        soa.extend(Liar((3..100).map(Watched::new), hint));
        assert_eq!(values(&soa), (0..100).collect::<Vec<_>>());
        let soa: Soa<Watched> = Liar((0..3).map(Watched::new), hint).collect();
        assert_eq!(values(&soa), [0, 1, 2]);
    }
    assert_settled();
}

#[test]
fn forgotten_iterators_leave_a_whole_array() {
    let mut soa = rows(6);
    let mut drain = soa.drain(2..4);
    drop(drain.next());
    mem::forget(drain);
    assert_eq!(values(&soa), [0, 1]);
    soa.push(Watched::new(5));
    assert_eq!(values(&soa), [0, 1, 5]);
    drop(soa);
    forget_the_lost();
}

#[test]
fn values_without_size_are_dropped_as_often_as_inserted() {
    let inner = || Inner { second: Tracked::new(0), third: Tracked::new(0) };
    let row = || Watched { first: Tracked::new(0), token: Token::new(), plain: 0, inner: inner() };
    let mut soa: Soa<Watched> = std::iter::repeat_with(row).take(100).collect();
    soa.truncate(50);
    soa.drain(..10).for_each(drop);
    soa.shrink_to_fit();
    drop(soa);
    assert_settled();
}

/// A row type written by hand that keeps none of the trait's manners: the parts change places, names are missing, and
/// taking apart or putting together may panic.
#[derive(Debug)]
struct Rude(String, Tracked);

impl<'a> Views<'a> for Rude {
    type Ref = (&'a Tracked, &'a String);
    type Mut = &'a mut String;
    type Lanes = &'a [String];
    type LanesMut = ();
}

impl SoaRow for Rude {
    type Shape = (Leaf<String>, Leaf<Tracked>);
    type Columns = Vec<String>;
    const NAME: &'static str = "";
    const FIELDS: &'static [&'static str] = &[];

    fn split(self) -> (String, Tracked) {
        call();
        (self.0 + "!", self.1)
    }
    fn join((text, tracked): (String, Tracked)) -> Self {
        call();
        Rude(text, tracked)
    }
    fn as_row(&self) -> (&Tracked, &String) {
        call();
        (&self.1, &self.0)
    }
    fn as_row_mut(&mut self) -> &mut String {
        &mut self.0
    }
    fn split_row<'a>((tracked, text): (&'a Tracked, &'a String)) -> (&'a String, &'a Tracked)
    where
        Self: 'a,
    {
        call();
        (text, tracked)
    }
    fn row<'a>((text, tracked): (&'a String, &'a Tracked)) -> (&'a Tracked, &'a String)
    where
        Self: 'a,
    {
        call();
        (tracked, text)
    }
    fn row_mut<'a>((text, _): (&'a mut String, &'a mut Tracked)) -> &'a mut String
    where
        Self: 'a,
    {
        text
    }
    fn lanes<'a>((texts, _): (&'a [String], &'a [Tracked])) -> &'a [String]
    where
        Self: 'a,
    {
        texts
    }
    fn lanes_mut<'a>(_: (&'a mut [String], &'a mut [Tracked]))
    where
        Self: 'a,
    {
    }
    fn split_lanes<'a>(texts: &'a [String]) -> (&'a [String], &'a [Tracked])
    where
        Self: 'a,
    {
        (texts, &[])
    }
    fn join_columns((texts, _): (Vec<String>, Vec<Tracked>)) -> Vec<String> {
        texts
    }
    fn split_columns(texts: Vec<String>) -> (Vec<String>, Vec<Tracked>) {
        (texts, Vec::new())
    }
}

#[test]
fn a_rude_row_type_gets_nonsense_and_never_an_invalid_row() {
    let mut k = 0;
    loop {
        let mut soa: Soa<Rude> = (0..4).map(|n| Rude(n.to_string(), Tracked::new(n))).collect();
        let whole = adversary::with_call_fuse(k, || {
            soa.insert(1, Rude("new".into(), Tracked::new(9)));
            drop(soa.replace(0, Rude("other".into(), Tracked::new(8))));
            soa.retain(|row| row.0.value != 2);
            soa.sort_by(|a, b| b.1.cmp(a.1));
            let other = soa.as_slice().to_soa();
            assert!(soa == other.as_slice());
            soa.resize(6, Rude("six".into(), Tracked::new(6)));
            let copy: Vec<Rude> = soa.slice(4..).to_vec();
            assert!(soa.slice(4..) == copy);
            drop(soa.swap_remove(1));
            drop(soa.remove(0));
            drop(soa.drain(..1).next());
            drop(soa.pop());
            assert!(soa.extend_columns(vec!["x".into()]).is_err());
            let texts = vec!["x".to_owned()];
            assert!(soa.extend_lanes(&texts).is_err());
        });
        soa.validate().unwrap();
        drop(soa);
        assert_settled();
        if whole {
            break;
        }
        k += 1;
    }
    assert!(k > 10);
}
