//! What kinds of structs can be rows.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

use phalanx_store::Soa;
use phalanx_store::soa::{Shape, SoaRow};
use std::fmt::Debug;
use std::marker::PhantomData;

#[derive(Soa, Clone, Copy, Debug, PartialEq)]
struct Named {
    x: f32,
    flag: bool,
}

#[derive(Soa, Clone, Debug, PartialEq)]
struct Pair(u8, String);

#[derive(Soa, Clone, Copy, Debug, PartialEq)]
struct Unit;

#[derive(Soa, Debug)]
struct NoFields {}

#[derive(Soa, Debug)]
struct NoNumbers();

#[derive(Soa, Debug)]
struct One {
    only: Vec<u8>,
}

#[derive(Soa, Debug, Clone, PartialEq)]
struct Generic<'a, 'b: 'a, T: Clone, U, const N: usize>
where
    U: Iterator,
    U::Item: Debug,
{
    text: &'a str,
    more: &'b [u8],
    value: T,
    item: Option<U::Item>,
    array: [u8; N],
    marker: PhantomData<U>,
}

#[derive(Soa, Clone, Copy, Debug, PartialEq)]
struct Inner {
    a: u16,
    b: (),
}

#[derive(Soa, Clone, Copy, Debug, PartialEq)]
struct Tuple(#[soa(nested)] Inner, f64);

#[derive(Soa, Clone, Copy, Debug, PartialEq)]
struct Outer<T: SoaRow> {
    first: u8,
    #[soa(nested)]
    inner: T,
    #[soa(nested)]
    tuple: Tuple,
}

#[derive(Soa, Clone, Debug, PartialEq)]
struct Raw {
    r#type: u8,
    r#match: u16,
}

struct Opaque;

#[derive(Soa)]
struct OfOpaque {
    opaque: Opaque,
}

#[test]
fn named_fields_are_lanes() {
    let mut soa = Soa::new();
    soa.push(Named { x: 1.0, flag: true });
    soa.push(Named { x: 2.0, flag: false });
    assert_eq!(soa.lanes(), NamedLanes { x: &[1.0, 2.0], flag: &[true, false] });
    let NamedMut { x, .. } = soa.row_mut(1);
    *x = 5.0;
    assert_eq!(soa.get(1), Some(NamedRef { x: &5.0, flag: &false }));
    assert_eq!(format!("{soa:?}"), "[Named { x: 1.0, flag: true }, Named { x: 5.0, flag: false }]");
}

#[test]
fn numbered_fields_are_lanes() {
    let soa: Soa<Pair> = [Pair(1, "one".into()), Pair(2, "two".into())].into_iter().collect();
    assert_eq!(soa.lanes().1, ["one", "two"]);
    let PairRef(number, text) = soa.row(1);
    assert_eq!((*number, text.as_str()), (2, "two"));
    assert_eq!(format!("{:?}", soa.row(0)), "Pair(1, \"one\")");
}

#[test]
fn rows_without_fields_are_counted() {
    let mut soa: Soa<Unit> = Soa::new();
    for _ in 0..5 {
        soa.push(Unit);
    }
    assert_eq!((soa.len(), soa.memory(), soa.capacity()), (5, 0, usize::MAX));
    assert_eq!(soa.iter().count(), 5);
    assert_eq!(soa.pop(), Some(Unit));
    let _: Soa<NoFields> = [NoFields {}].into_iter().collect();
    let _: Soa<NoNumbers> = [NoNumbers()].into_iter().collect();
}

#[test]
fn a_single_field_is_a_lane() {
    let mut soa = Soa::new();
    soa.push(One { only: vec![1] });
    soa.lanes_mut().only[0].push(2);
    assert_eq!(soa.pop().unwrap().only, [1, 2]);
}

#[test]
fn generics_and_where_clauses_are_kept() {
    type Row<'a> = Generic<'a, 'a, String, std::ops::Range<u32>, 3>;
    let text = String::from("borrowed");
    let row: Row<'_> = Generic {
        text: &text,
        more: text.as_bytes(),
        value: "v".into(),
        item: Some(7),
        array: [1, 2, 3],
        marker: PhantomData,
    };
    let mut soa: Soa<Row<'_>> = Soa::new();
    soa.push(row.clone());
    soa.push(Generic { item: None, ..row.clone() });
    soa.retain(|row| row.item.is_some());
    soa.sort_by(|a, b| a.text.cmp(b.text));
    soa.sort_by_key(|row| row.text.len());
    assert_eq!(soa.clone(), soa);
    assert!(format!("{soa:?}").contains("borrowed"));
    assert_eq!(soa.lanes().array, [[1, 2, 3]]);
    assert_eq!(soa.into_iter().next(), Some(row));
}

#[test]
fn nested_rows_have_lanes_of_their_own() {
    assert_eq!(<Outer<Inner> as SoaRow>::Shape::LANES, 6);
    assert_eq!(<Outer<Inner> as SoaRow>::Shape::FIELDS, 3);
    let inner = Inner { a: 3, b: () };
    let row = Outer { first: 1, inner, tuple: Tuple(Inner { a: 4, b: () }, 5.0) };
    let mut soa = Soa::new();
    soa.push(row);
    soa.push(Outer { first: 2, ..row });
    assert_eq!(soa.lanes().inner.a, [3, 3]);
    assert_eq!(soa.lanes().tuple.0.a, [4, 4]);
    *soa.row_mut(0).tuple.0.a = 9;
    assert_eq!(soa.row(0).tuple.0.a, &9);
    soa.lanes_mut().tuple.1[1] = 6.0;
    assert_eq!(soa.pop().map(|row| row.tuple.1), Some(6.0));
    let columns = OuterColumns {
        first: vec![7],
        inner: InnerColumns { a: vec![8], b: vec![()] },
        tuple: TupleColumns(InnerColumns { a: vec![9], b: vec![()] }, vec![1.5]),
    };
    soa.extend_columns(columns).unwrap();
    assert_eq!(
        soa.pop(),
        Some(Outer { first: 7, inner: Inner { a: 8, b: () }, tuple: Tuple(Inner { a: 9, b: () }, 1.5) })
    );
}

#[test]
fn raw_identifiers_are_fields() {
    let soa: Soa<Raw> = [Raw { r#type: 1, r#match: 2 }].into_iter().collect();
    assert_eq!(soa.lanes().r#type, [1]);
    assert_eq!(Raw::FIELDS, ["type", "match"]);
    assert_eq!(format!("{:?}", soa.row(0)), "Raw { type: 1, match: 2 }");
}

#[test]
fn fields_need_no_traits() {
    let mut soa = Soa::new();
    soa.push(OfOpaque { opaque: Opaque });
    assert_eq!(soa.lanes().opaque.len(), 1);
}

/// A crate that re-exports the store under another name.
mod facade {
    pub(crate) mod store {
        pub(crate) use phalanx_store::*;
    }
}

#[derive(Soa, Debug)]
#[soa(crate = "crate::facade::store")]
struct Elsewhere {
    x: u8,
}

#[test]
fn the_store_may_be_found_elsewhere() {
    let mut soa: facade::store::Soa<Elsewhere> = facade::store::Soa::new();
    soa.push(Elsewhere { x: 1 });
    assert_eq!(soa.row(0).x, &1);
}

mod visible {
    //! Fields keep their visibility in the views.
    use phalanx_store::Soa;

    /// A row with a secret.
    #[derive(Soa, Debug, Default)]
    #[allow(unreachable_pub)]
    pub struct Partly {
        /// Seen by all.
        pub open: u8,
        pub(crate) near: u8,
        secret: u8,
    }

    pub(crate) fn secrets(soa: &Soa<Partly>) -> &[u8] {
        soa.lanes().secret
    }
}

#[test]
fn visibility_follows_the_struct() {
    let soa: Soa<visible::Partly> = [visible::Partly::default()].into_iter().collect();
    let lanes: visible::PartlyLanes<'_> = soa.lanes();
    assert_eq!((lanes.open, lanes.near, visible::secrets(&soa)), (&[0][..], &[0][..], &[0][..]));
}

#[test]
fn many_fields_do_not_nest_deeply() {
    macro_rules! wide {
        ($($field:ident)*) => {
            #[derive(Soa, Clone, Debug, PartialEq, Default)]
            struct Wide { $($field: u8,)* }
        };
    }
    wide! {
        a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4 d5 d6 d7 d8 d9
        e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9 h0 h1 h2 h3 h4 h5 h6 h7 h8 h9
        i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 j0 j1 j2 j3 j4 j5 j6 j7 j8 j9 k0 k1 k2 k3 k4 k5 k6 k7 k8 k9 l0 l1 l2 l3 l4 l5 l6 l7 l8 l9
        m0 m1 m2 m3 m4 m5 m6 m7 m8 m9
    }
    let mut soa = Soa::new();
    soa.push(Wide { m9: 1, ..Wide::default() });
    assert_eq!((<Wide as SoaRow>::Shape::LANES, soa.lanes().m9), (130, &[1][..]));
    assert_eq!(soa.pop(), Some(Wide { m9: 1, ..Wide::default() }));
}
