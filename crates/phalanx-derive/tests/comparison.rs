//! Arrays compare, order and hash like slices of their rows, and are made of them.
#![forbid(unsafe_code)]

mod adversary;

use adversary::{Fuse, Watched, assert_settled, rows, trials, values};
use phalanx_store::soa::{SoaRow, SoaSlice};
use phalanx_store::{DisjointError, Soa};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash, RandomState};

#[derive(Soa, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Name {
    rank: u8,
    text: String,
    #[soa(nested)]
    place: Place,
}

#[derive(Soa, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place(i16, bool);

#[derive(Soa, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Nothing;

/// A parameter with the name of one that the expansion has.
#[derive(Soa, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Wrapped<H> {
    inner: H,
}

fn name(rank: u8, text: &str, place: i16) -> Name {
    Name { rank, text: text.into(), place: Place(place, place > 0) }
}

fn lists() -> Vec<Vec<Name>> {
    let (a, b, c) = (name(1, "a", 0), name(1, "b", 0), name(1, "a", 5));
    let all = [vec![], vec![a.clone()], vec![b.clone()], vec![c.clone()], vec![a.clone(), b.clone()]];
    all.into_iter().chain([vec![a.clone(), c], vec![b, a]]).collect()
}

#[test]
fn arrays_order_and_hash_like_slices_of_rows() {
    let state = RandomState::new();
    for first in lists() {
        for second in lists() {
            let (mut a, mut b) = (Soa::from(first.clone()), Soa::from(second.clone()));
            assert_eq!(a == b, first == second);
            assert_eq!(a == second, first == second);
            assert_eq!(a.cmp(&b), first.cmp(&second));
            assert_eq!(a.partial_cmp(&b), Some(first.cmp(&second)));
            assert_eq!(a.as_slice().cmp(&b.as_slice()), first.cmp(&second));
            assert_eq!(a.as_mut_slice().cmp(&b.as_mut_slice()), first.cmp(&second));
            assert_eq!(state.hash_one(&a) == state.hash_one(&b), first == second);
            assert_eq!(state.hash_one(&a), state.hash_one(a.as_slice()));
            assert_eq!(state.hash_one(&a), state.hash_one(&first), "as the rows' own derive hashes a list of them");
        }
    }
    let sorted: BTreeSet<Soa<Name>> = lists().into_iter().map(Soa::from).collect();
    let counted: HashMap<Soa<Name>, usize> = lists().into_iter().map(Soa::from).zip(0..).collect();
    assert_eq!((sorted.len(), counted.len()), (7, 7));
}

#[test]
fn arrays_views_arrays_and_lists_compare_with_each_other() {
    let list = [name(1, "a", 0), name(2, "b", 1)];
    let mut soa = Soa::from(list.clone());
    assert_eq!(soa, list);
    assert_eq!(soa, list[..]);
    assert_eq!(soa, &list[..]);
    assert_eq!(soa, list.to_vec());
    assert_eq!(soa.slice(1..), list[1..]);
    assert_ne!(soa.slice(1..), list);
    let mut other = soa.clone();
    assert_eq!(soa.as_slice(), other);
    assert_eq!(soa, other.as_slice());
    assert_eq!(soa.as_mut_slice(), other.as_mut_slice());
    assert_eq!(other.as_mut_slice(), list);
    *other.row_mut(1).rank += 1;
    assert_ne!(soa.as_slice(), other.as_mut_slice());
    assert!(soa < other);
}

#[test]
fn rows_without_fields_differ_in_number_only() {
    let (two, three) = (Soa::from([Nothing; 2]), Soa::from([Nothing; 3]));
    assert!(two != three && two < three && two == [Nothing; 2]);
    assert_eq!(two.chunks(2).len(), 1);
    let state = RandomState::new();
    assert_ne!(state.hash_one(&two), state.hash_one(&three));
}

#[test]
fn numbers_without_an_order_have_none_in_an_array() {
    let (a, b) = (Soa::from([Wrapped { inner: f64::NAN }]), Soa::from([Wrapped { inner: 1.0 }]));
    assert_eq!(a.partial_cmp(&b), None);
    assert!(a != a.clone());
    fn is_ordered<T: Ord + Hash>() {}
    is_ordered::<Soa<Wrapped<u8>>>();
    is_ordered::<SoaSlice<'_, Name>>();
}

#[test]
fn rows_are_borrowed_and_made_of_borrowed_rows() {
    let mut one = name(3, "x", 2);
    assert_eq!((*one.as_row().rank, one.as_row().place.0), (3, &2));
    *one.as_row_mut().place.1 = false;
    one.as_row_mut().text.push('y');
    let soa = Soa::from([one.clone()]);
    assert!(soa.row(0) == one.as_row());
    assert_eq!(Name::from_row(soa.row(0)), one);
    assert_eq!(Name::from_row(one.as_row()).text, "xy");
    assert!(Nothing.as_row() == Soa::from([Nothing]).row(0));
    assert_eq!(Nothing::from_row(Nothing.as_row()), Nothing);
}

#[test]
fn arrays_are_extended_by_references_to_rows_that_are_copied() {
    let mut soa = Soa::from([Place(1, true)]);
    soa.extend(&[Place(2, false), Place(3, true)]);
    soa.extend([Place(4, true)]);
    assert_eq!(soa.lanes().0, [1, 2, 3, 4]);
    let mut views = Vec::new();
    let view = soa.as_slice();
    for row in &view {
        views.push(*row.0);
    }
    assert_eq!(views, [1, 2, 3, 4]);
    let mut view = soa.as_mut_slice();
    for row in &mut view {
        *row.0 += 1;
    }
    assert_eq!(view.lanes().0, [2, 3, 4, 5]);
    assert!(view.get_mut(4).is_none());
}

#[test]
fn the_ends_of_a_mutable_view_are_taken_apart() {
    let mut soa = Soa::from([Place(1, true), Place(2, true), Place(3, true)]);
    let (first, rest) = soa.as_mut_slice().split_first().unwrap();
    let (last, mut middle) = rest.split_last().unwrap();
    core::mem::swap(first.0, last.0);
    *middle.first_mut().unwrap().0 = 9;
    assert_eq!(middle.last_mut().map(|row| *row.0), Some(9));
    assert!(middle.into_slice(1..).split_first().is_none());
    assert_eq!(soa.lanes().0, [3, 9, 1]);
}

#[test]
#[should_panic(expected = "at least one row")]
fn chunks_without_rows_are_refused() {
    let _ = Soa::from([Nothing]).chunks(0);
}

#[test]
#[should_panic(expected = "index 1 is not below the length 1")]
fn a_row_beyond_a_view_is_refused() {
    let soa = Soa::from([Place(0, true), Place(1, true)]);
    let _ = soa.slice(1..).row(1);
}

#[test]
fn rows_of_several_places_are_borrowed_or_the_first_fault_is_named() {
    let mut soa = Soa::from([Nothing; 3]);
    assert!(soa.get_disjoint_mut([0, 2, 1]).is_ok(), "also without size");
    assert!(matches!(soa.get_disjoint_mut([0, 3, 0]), Err(DisjointError::Absent(1))));
    assert!(matches!(soa.get_disjoint_mut([0, 1, 0]), Err(DisjointError::Repeated(0, 2))));
}

#[test]
fn clone_panics_in_resize_and_in_copies_of_views() {
    trials(
        Fuse::Call,
        3,
        |soa| soa.resize(6, Watched::new(9)),
        |left, _| {
            assert_eq!(left[..3], [0, 1, 2]);
            assert!(left[3..].iter().all(|row| *row == 9));
        },
    );
    trials(Fuse::Call, 3, |soa| drop(soa.slice(1..).to_soa()), |left, _| assert_eq!(left, [0, 1, 2]));
    trials(Fuse::Call, 3, |soa| drop(soa.as_slice().to_vec()), |left, _| assert_eq!(left, [0, 1, 2]));
    let other = |soa: &mut Soa<Watched>| {
        let copy = rows(4);
        soa.extend_from_slice(copy.slice(2..));
    };
    trials(Fuse::Call, 3, other, |left, k| assert_eq!(left.len(), if left.len() > 3 { 5 } else { 3 }, "{k}"));
}

#[test]
fn drop_panics_in_resize_and_conversions() {
    trials(Fuse::Drop, 5, |soa| soa.resize(2, Watched::new(9)), |left, _| assert_eq!(left, [0, 1]));
    trials(Fuse::Drop, 5, |soa| drop(Vec::from(std::mem::take(soa))), |left, _| assert!(left.is_empty()));
}

// Forgetting a view is the case under test, whether or not it has a destructor today.
#[allow(clippy::forget_non_drop)]
#[test]
fn chunks_that_are_forgotten_leave_the_array_whole() {
    let mut soa = rows(5);
    let mut chunks = soa.chunks_exact_mut(2);
    let first = chunks.next();
    std::mem::forget((chunks, first));
    assert_eq!(values(&soa), [0, 1, 2, 3, 4]);
    drop(soa);
    assert_settled();
}
