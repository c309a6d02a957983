//! Random operations, checked against a `Vec` of the same structs.

use phalanx_store::Soa;
use phalanx_store::soa::{SoaRow, SoaSlice};
use proptest::prelude::*;

#[derive(Soa, Clone, Debug, PartialEq, PartialOrd)]
struct Row {
    key: u8,
    text: String,
    wide: [u64; 3],
    none: (),
    #[soa(nested)]
    inner: Inner,
}

#[derive(Soa, Clone, Debug, PartialEq, PartialOrd)]
struct Inner {
    half: f32,
    boxed: Box<u8>,
}

fn row(n: u8) -> Row {
    let half = if n.is_multiple_of(3) { -f32::from(n) } else { f32::from(n) / 2.0 };
    Row {
        key: n % 7,
        text: format!("{n}"),
        wide: [u64::from(n); 3],
        none: (),
        inner: Inner { half, boxed: Box::new(n) },
    }
}

fn columns(rows: &[Row]) -> RowColumns {
    RowColumns {
        key: rows.iter().map(|row| row.key).collect(),
        text: rows.iter().map(|row| row.text.clone()).collect(),
        wide: rows.iter().map(|row| row.wide).collect(),
        none: vec![(); rows.len()],
        inner: InnerColumns {
            half: rows.iter().map(|row| row.inner.half).collect(),
            boxed: rows.iter().map(|row| row.inner.boxed.clone()).collect(),
        },
    }
}

/// One operation; numbers are taken modulo what is there.
#[derive(Clone, Debug)]
enum Op {
    Push(u8),
    Pop,
    Insert(usize, u8),
    Remove(usize),
    SwapRemove(usize),
    Replace(usize, u8),
    Swap(usize, usize),
    Truncate(usize),
    Clear,
    Retain(u8),
    RetainMut(u8),
    Drain(usize, usize, usize),
    Extend(Vec<u8>),
    ExtendColumns(Vec<u8>),
    ExtendLanes(usize, usize),
    AppendSplit(usize),
    SortBy,
    SortByKey,
    SortByScalar,
    SortUnstable,
    Reserve(usize),
    ReserveExact(usize),
    Shrink,
    Clone,
    CloneFrom(usize),
    IntoIter(usize),
    Write(usize),
    Chunks(usize, usize),
    Resize(usize, u8),
    ExtendFromSlice(usize, usize),
    Convert,
    Compare(usize, usize),
    ShrinkTo(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let n = 0usize..400;
    let bytes = || proptest::collection::vec(any::<u8>(), 0..150);
    prop_oneof![
        4 => any::<u8>().prop_map(Op::Push),
        1 => Just(Op::Pop),
        2 => (n.clone(), any::<u8>()).prop_map(|(i, v)| Op::Insert(i, v)),
        2 => n.clone().prop_map(Op::Remove),
        2 => n.clone().prop_map(Op::SwapRemove),
        1 => (n.clone(), any::<u8>()).prop_map(|(i, v)| Op::Replace(i, v)),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Op::Swap(a, b)),
        1 => n.clone().prop_map(Op::Truncate),
        1 => Just(Op::Clear),
        1 => (1u8..5).prop_map(Op::Retain),
        1 => (1u8..5).prop_map(Op::RetainMut),
        2 => (n.clone(), n.clone(), n.clone()).prop_map(|(a, b, c)| Op::Drain(a, b, c)),
        3 => bytes().prop_map(Op::Extend),
        2 => bytes().prop_map(Op::ExtendColumns),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Op::ExtendLanes(a, b)),
        1 => n.clone().prop_map(Op::AppendSplit),
        1 => Just(Op::SortBy),
        1 => Just(Op::SortByKey),
        1 => Just(Op::SortByScalar),
        1 => Just(Op::SortUnstable),
        1 => n.clone().prop_map(Op::Reserve),
        1 => n.clone().prop_map(Op::ReserveExact),
        2 => Just(Op::Shrink),
        1 => Just(Op::Clone),
        1 => n.clone().prop_map(Op::CloneFrom),
        1 => n.clone().prop_map(Op::IntoIter),
        1 => n.clone().prop_map(Op::Write),
        2 => (n.clone(), 1usize..40).prop_map(|(a, b)| Op::Chunks(a, b)),
        1 => (n.clone(), any::<u8>()).prop_map(|(n, v)| Op::Resize(n, v)),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Op::ExtendFromSlice(a, b)),
        1 => Just(Op::Convert),
        2 => (n.clone(), n.clone()).prop_map(|(a, b)| Op::Compare(a, b)),
        1 => n.prop_map(Op::ShrinkTo),
    ]
}

fn apply(op: Op, soa: &mut Soa<Row>, model: &mut Vec<Row>) {
    let len = model.len();
    let span = |a: usize, b: usize| {
        let (a, b) = (a % (len + 1), b % (len + 1));
        a.min(b)..a.max(b)
    };
    match op {
        Op::Push(v) => {
            soa.push(row(v));
            model.push(row(v));
        }
        Op::Pop => assert_eq!(soa.pop(), model.pop()),
        Op::Insert(i, v) => {
            soa.insert(i % (len + 1), row(v));
            model.insert(i % (len + 1), row(v));
        }
        Op::Truncate(n) => {
            soa.truncate(n);
            model.truncate(n);
        }
        Op::Clear => {
            soa.clear();
            model.clear();
        }
        Op::Retain(n) => {
            soa.retain(|row| row.key % n != 0);
            model.retain(|row| row.key % n != 0);
        }
        Op::RetainMut(n) => {
            soa.retain_mut(|row| {
                *row.key += 1;
                *row.key % n != 0
            });
            model.retain_mut(|row| {
                row.key += 1;
                row.key % n != 0
            });
        }
        Op::Drain(a, b, take) => {
            let (mut ours, mut theirs) = (soa.drain(span(a, b)), model.drain(span(a, b)));
            for _ in 0..take % 5 {
                assert_eq!(ours.len(), theirs.len());
                assert_eq!(ours.next(), theirs.next());
                assert_eq!(ours.next_back(), theirs.next_back());
            }
        }
        Op::Extend(values) => {
            soa.extend(values.iter().map(|v| row(*v)));
            model.extend(values.iter().map(|v| row(*v)));
        }
        Op::ExtendColumns(values) => {
            let rows: Vec<Row> = values.iter().map(|v| row(*v)).collect();
            soa.extend_columns(columns(&rows)).unwrap();
            model.extend(rows);
        }
        Op::ExtendLanes(a, b) => {
            let copy = soa.clone();
            soa.extend_lanes(copy.slice(span(a, b)).lanes()).unwrap();
            model.extend_from_within(span(a, b));
        }
        Op::AppendSplit(n) => {
            let mut tail = soa.split_off(n % (len + 1));
            tail.validate().unwrap();
            tail.append(soa);
            assert!(soa.is_empty());
            *soa = tail;
            model.rotate_left(n % (len + 1));
        }
        Op::SortBy => {
            soa.sort_by(|a, b| a.text.cmp(b.text));
            model.sort_by(|a, b| a.text.cmp(&b.text));
        }
        Op::SortByKey => {
            soa.sort_by_key(|row| *row.key);
            model.sort_by_key(|row| row.key);
        }
        Op::SortByScalar => {
            soa.sort_by_scalar(|row| *row.inner.half);
            model.sort_by(|a, b| a.inner.half.total_cmp(&b.inner.half));
        }
        Op::SortUnstable => {
            soa.sort_unstable_by(|a, b| a.inner.half.total_cmp(b.inner.half).then(a.text.cmp(b.text)));
            // All that tells rows apart is in the key, so there is one right answer.
            soa.sort_unstable_by_key(|row| (row.text.clone(), *row.key, *row.wide));
            model.sort_by_key(|row| (row.text.clone(), row.key, row.wide));
        }
        Op::Reserve(n) => {
            soa.reserve(n);
            assert!(soa.capacity() >= len + n);
        }
        Op::ReserveExact(n) => {
            let before = soa.capacity();
            soa.try_reserve_exact(n).unwrap();
            assert_eq!(soa.capacity(), before.max(len + n));
        }
        Op::Shrink => {
            soa.shrink_to_fit();
            assert_eq!(soa.capacity(), len);
        }
        Op::Clone => *soa = soa.clone(),
        Op::CloneFrom(n) => {
            let source: Soa<Row> = (0..n as u8).map(row).collect();
            soa.clone_from(&source);
            assert_eq!(*soa, source);
            *model = (0..n as u8).map(row).collect();
        }
        Op::IntoIter(n) => {
            let mut rows = std::mem::take(soa).into_iter();
            assert_eq!(rows.nth(n), model.get(n).cloned());
            *soa = rows.rev().collect();
            model.drain(..(n + 1).min(len));
            model.reverse();
        }
        Op::Chunks(plan, size) => chunks(soa, model, plan, size),
        Op::Resize(n, v) => {
            soa.resize(n, row(v));
            model.resize(n, row(v));
        }
        Op::ExtendFromSlice(a, b) => {
            let copy = soa.slice(span(a, b)).to_soa();
            assert_eq!(copy.capacity(), copy.len());
            soa.extend_from_slice(copy.as_slice());
            model.extend_from_within(span(a, b));
        }
        Op::Convert => {
            let rows = Vec::from(std::mem::take(soa));
            assert_eq!(rows, *model);
            *soa = if len.is_multiple_of(2) { Soa::from(rows) } else { Soa::from(&rows[..]) };
        }
        Op::Compare(a, b) => {
            let (ours, theirs) = (soa.slice(span(a, b)), &model[span(a, b)]);
            let others = [soa.slice(..len / 2), soa.slice(len / 2..)];
            for (other, slice) in others.into_iter().zip([&model[..len / 2], &model[len / 2..]]) {
                assert_eq!(ours == other, theirs == slice);
                assert_eq!(ours == *slice, theirs == slice);
                assert_eq!(ours.partial_cmp(&other), theirs.partial_cmp(slice));
            }
            assert_eq!(ours, theirs);
            assert_eq!(ours.to_vec(), theirs);
            assert_eq!(*soa, *model);
            let firsts = (ours.split_first(), ours.split_last(), ours.first(), ours.last());
            let rows = |rest: &[Row], view: SoaSlice<'_, Row>| assert_eq!(view, rest);
            match (firsts, theirs.split_first(), theirs.split_last()) {
                ((None, None, None, None), None, None) => {}
                ((Some((a, rest)), Some((b, front)), Some(_), Some(_)), Some((x, others)), Some((y, before))) => {
                    assert!(a == x.as_row() && b == y.as_row());
                    rows(others, rest);
                    rows(before, front);
                }
                other => panic!("{other:?}"),
            }
        }
        Op::ShrinkTo(n) => {
            let before = soa.capacity();
            soa.shrink_to(n);
            assert_eq!(soa.capacity(), before.min(n.max(len)));
        }
        _ if len == 0 => {}
        Op::Remove(i) => assert_eq!(soa.remove(i % len), model.remove(i % len)),
        Op::SwapRemove(i) => assert_eq!(soa.swap_remove(i % len), model.swap_remove(i % len)),
        Op::Replace(i, v) => assert_eq!(soa.replace(i % len, row(v)), std::mem::replace(&mut model[i % len], row(v))),
        Op::Swap(a, b) => {
            soa.swap(a % len, b % len);
            model.swap(a % len, b % len);
        }
        Op::Write(i) => {
            soa.row_mut(i % len).text.push('!');
            model[i % len].text.push('!');
            for row in &mut *soa {
                row.wide[1] += 1;
            }
            model.iter_mut().for_each(|row| row.wide[1] += 1);
            let half = soa.slice_mut(len / 2..);
            half.into_lanes().key.fill(3);
            model[len / 2..].iter_mut().for_each(|row| row.key = 3);
        }
    }
}

/// Compares chunks with those of a slice, taken from both ends.
fn chunks(soa: &mut Soa<Row>, model: &mut [Row], plan: usize, size: usize) {
    macro_rules! walk {
        ($ours:expr, $theirs:expr) => {{
            let (mut ours, mut theirs) = ($ours, $theirs);
            for step in 0.. {
                assert_eq!(ours.len(), theirs.len());
                let (a, b) = match (plan >> (step % 8)) % 4 {
                    0 => (ours.next_back(), theirs.next_back()),
                    1 => (ours.nth(step % 3), theirs.nth(step % 3)),
                    _ => (ours.next(), theirs.next()),
                };
                match (a, b) {
                    (Some(a), Some(b)) => assert_eq!(a, *b),
                    (None, None) => break,
                    other => panic!("{other:?}"),
                }
            }
            (ours, theirs)
        }};
    }
    let _ = walk!(soa.chunks(size), model.chunks(size));
    let (ours, theirs) = walk!(soa.chunks_exact(size), model.chunks_exact(size));
    assert_eq!(ours.remainder(), theirs.remainder());
    let (ours, theirs) = walk!(soa.chunks_mut(size), model.chunks_mut(size));
    drop((ours, theirs));
    let (ours, theirs) = walk!(soa.chunks_exact_mut(size), model.chunks_exact_mut(size));
    assert_eq!(ours.into_remainder(), *theirs.into_remainder());
    for (chunk, rows) in soa.chunks_mut(size).zip(model.chunks_mut(size)) {
        chunk.into_lanes().key.fill(size as u8);
        rows.iter_mut().for_each(|row| row.key = size as u8);
    }
}

fn check(soa: &Soa<Row>, model: &[Row]) {
    soa.validate().unwrap();
    assert_eq!(soa.len(), model.len());
    for (index, (ours, theirs)) in soa.iter().zip(model).enumerate() {
        assert_eq!(
            (ours.key, ours.text, ours.wide, ours.inner.half, ours.inner.boxed),
            (&theirs.key, &theirs.text, &theirs.wide, &theirs.inner.half, &theirs.inner.boxed)
        );
        assert_eq!(soa.get(index), Some(ours));
        assert_eq!(soa.get_cloned(index).as_ref(), Some(theirs));
    }
    assert_eq!(soa.get(model.len()), None);
    let lanes = soa.lanes();
    let starts = [lanes.key.as_ptr().addr(), lanes.text.as_ptr().addr(), lanes.wide.as_ptr().addr()];
    assert!(soa.capacity() == 0 || starts.iter().all(|start| start % 64 == 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_array_does_what_a_vec_does(ops in proptest::collection::vec(op(), 1..40)) {
        let (mut soa, mut model) = (Soa::new(), Vec::new());
        for op in ops {
            apply(op, &mut soa, &mut model);
            check(&soa, &model);
        }
    }
}

#[test]
fn growth_beyond_the_pages_keeps_every_row() {
    let (mut soa, mut model) = (Soa::new(), Vec::new());
    for n in 0..20_000u32 {
        soa.push(row(n as u8));
        model.push(row(n as u8));
        if n.is_power_of_two() {
            check(&soa, &model);
        }
    }
    check(&soa, &model);
    soa.shrink_to_fit();
    check(&soa, &model);
}
