//! Sorting by numbers, and lanes seen as numbers.

use phalanx_store::soa::{Scalar, flat, flat_mut};
use phalanx_store::{DisjointError, Flat, Soa};
use std::cmp::Ordering;
use std::fmt::Debug;

#[derive(Soa, Clone, Debug)]
struct Row<K> {
    key: K,
    at: usize,
}

/// Sorts by the key in three ways, each of which must agree with a stable sort of the pairs.
fn agrees<K: Scalar + Debug>(keys: &[K], compare: impl Fn(&K, &K) -> Ordering) {
    // Twice, so that there are equal keys.
    let rows = || keys.iter().chain(keys).enumerate().map(|(at, key)| Row { key: *key, at });
    let mut expected: Vec<Row<K>> = rows().collect();
    expected.sort_by(|a, b| compare(&a.key, &b.key));
    let expected: Vec<usize> = expected.iter().map(|row| row.at).collect();

    let mut soa: Soa<Row<K>> = rows().collect();
    soa.sort_by_scalar(|row| *row.key);
    assert_eq!(soa.lanes().at, expected, "{keys:?}");
    let mut soa: Soa<Row<K>> = rows().collect();
    soa.sort_by(|a, b| compare(a.key, b.key));
    assert_eq!(soa.lanes().at, expected, "{keys:?}");
    // Sorted already: nothing moves.
    soa.sort_by_scalar(|row| *row.key);
    assert_eq!(soa.lanes().at, expected, "{keys:?}");
}

#[test]
fn scalars_sort_in_their_order() {
    agrees(&[true, false], Ord::cmp);
    agrees(&['z', 'a', '\u{10ffff}', '\0'], Ord::cmp);
    agrees(&[3u8, 255, 0, 128], Ord::cmp);
    agrees(&[3u16, u16::MAX, 0], Ord::cmp);
    agrees(&[3u32, u32::MAX, 0, 1 << 31], Ord::cmp);
    agrees(&[3u64, u64::MAX, 0, 1 << 63, 1 << 32], Ord::cmp);
    agrees(&[3usize, usize::MAX, 0], Ord::cmp);
    agrees(&[3i8, -1, i8::MIN, i8::MAX, 0], Ord::cmp);
    agrees(&[3i16, -1, i16::MIN, i16::MAX, 0], Ord::cmp);
    agrees(&[3i32, -1, i32::MIN, i32::MAX, 0], Ord::cmp);
    agrees(&[3i64, -1, i64::MIN, i64::MAX, 0], Ord::cmp);
    agrees(&[3isize, -1, isize::MIN, isize::MAX, 0], Ord::cmp);
}

#[test]
fn floats_sort_in_their_total_order() {
    let narrow =
        [0.0, -0.0, 1.5, -1.5, f32::MIN_POSITIVE, -1e-40, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY];
    agrees(&[&narrow[..], &[f32::NAN, -f32::NAN]].concat(), f32::total_cmp);
    let wide = [0.0, -0.0, 1.5, -1.5, f64::MIN_POSITIVE, -1e-310, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY];
    agrees(&[&wide[..], &[f64::NAN, -f64::NAN]].concat(), f64::total_cmp);
}

#[test]
fn many_rows_are_sorted_whole() {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let mut soa: Soa<Row<u32>> = (0..20_000).map(|at| Row { key: next() % 5000, at }).collect();
    let mut expected: Vec<(u32, usize)> = soa.iter().map(|row| (*row.key, *row.at)).collect();
    expected.sort_unstable();
    soa.sort_by_key(|row| *row.key);
    assert!(soa.iter().map(|row| (*row.key, *row.at)).eq(expected));
}

#[test]
fn many_numbers_are_sorted_by_their_digits() {
    let mut state = 7u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ (state >> 15)
    };
    let words: Vec<u32> = (0..3000).map(|_| next()).collect();
    agrees(&words, Ord::cmp);
    agrees(&words.iter().map(|word| word & 0x00ff_f800).collect::<Vec<_>>(), Ord::cmp);
    agrees(&words.iter().map(|word| *word as i32).collect::<Vec<_>>(), Ord::cmp);
    agrees(&words.iter().map(|word| *word as u8).collect::<Vec<_>>(), Ord::cmp);
    agrees(&words.iter().map(|word| f32::from_bits(*word)).collect::<Vec<_>>(), f32::total_cmp);
    agrees(&words.iter().map(|word| i64::from(*word) << 20).collect::<Vec<_>>(), Ord::cmp);
    agrees(&[5u32; 3000], Ord::cmp);
}

#[derive(Flat, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
    rest: [f32; 2],
}

#[derive(Flat, Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Mass(f32);

#[derive(Soa, Clone, Copy, Debug)]
struct Body {
    at: Point,
    mass: Mass,
    grid: [[u16; 2]; 3],
}

#[test]
fn lanes_of_plain_structs_are_seen_flat() {
    let body =
        |n: f32| Body { at: Point { x: n, y: n + 1.0, rest: [n + 2.0, n + 3.0] }, mass: Mass(n), grid: [[7; 2]; 3] };
    let mut soa: Soa<Body> = [body(0.0), body(4.0)].into_iter().collect();
    assert_eq!(flat(soa.lanes().at), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(flat(soa.lanes().grid), [7; 12]);
    flat_mut(soa.lanes_mut().mass).iter_mut().for_each(|mass| *mass += 1.0);
    assert_eq!(soa.lanes().mass, [Mass(1.0), Mass(5.0)]);
    soa.clear();
    assert!(flat(soa.lanes().at).is_empty());
}

#[test]
fn rows_are_borrowed_apart() {
    let mut soa: Soa<Row<u8>> = (0..4).map(|at| Row { key: at as u8, at }).collect();
    let [a, b] = soa.get_disjoint_mut([3, 1]).unwrap();
    std::mem::swap(a.key, b.key);
    assert_eq!(soa.lanes().key, [0, 3, 2, 1]);
    assert_eq!(soa.get_disjoint_mut([2, 1, 1]).err(), Some(DisjointError::Repeated(1, 2)));
    assert_eq!(
        soa.get_disjoint_mut([0, 4]).err(),
        Some(DisjointError::Absent(1)),
        "within the capacity, beyond the length"
    );
    assert_eq!(soa.get_disjoint_mut([usize::MAX, 0]).err(), Some(DisjointError::Absent(0)));
    assert_eq!(soa.get_disjoint_mut([]).map(|none| none.len()), Ok(0));
    let (left, right) = soa.as_mut_slice().split_at(2);
    left.into_lanes().key.copy_from_slice(right.lanes().key);
    assert_eq!(soa.lanes().key, [2, 1, 2, 1]);
    assert_eq!(soa.slice(1..=2).iter().map(|row| *row.at).collect::<Vec<_>>(), [1, 2]);
}

/// A name that the expansion uses for itself.
#[derive(Flat, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct V {
    x: f32,
    y: f32,
}

#[test]
fn a_flat_struct_may_have_any_name() {
    assert_eq!(phalanx_store::soa::flat(&[V { x: 1.0, y: 2.0 }]), [1.0, 2.0]);
}
