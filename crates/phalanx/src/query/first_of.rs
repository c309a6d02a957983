//! Alternatives: the terms of a derived enum, of which the first that matches makes the item.
#![allow(unsafe_code)]

use super::{
    Access, AlignedStores, Candidate, ChunkQueryData, ItemRef, ItemRow, ItemRows, Mismatch, QueryData,
    ReadOnlyQueryData, TableRef, VisitedRow, Watched,
};
use crate::change_detection::RunTicks;
use crate::component::{ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::Kind;
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;

/// A term that yields what `A` yields for rows that match `A`, and what `B` yields for other rows that match `B`.
///
/// The derive of an enum nests it: `FirstOf<A, FirstOf<B, C>>`.
#[doc(hidden)]
pub struct FirstOf<A, B>(PhantomData<fn() -> (A, B)>);

impl<A, B> fmt::Debug for FirstOf<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FirstOf")
    }
}

/// What one of two alternatives yields, or finds.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Either<A, B> {
    First(A),
    Second(B),
}

/// Calls `each` with what both functions call it with.
fn common<T: Copy>(
    first: impl FnOnce(&mut dyn FnMut(ComponentId, T)),
    second: impl Fn(&mut dyn FnMut(ComponentId, T)),
    each: &mut dyn FnMut(ComponentId, T),
) {
    first(&mut |id, with| {
        let mut is_common = false;
        second(&mut |other, _| is_common |= other == id);
        if is_common {
            each(id, with);
        }
    });
}

// SAFETY: it touches what `A` touches in rows that `A` matches, and what `B` touches in others. An item of a row is made by one
// of them. If `A` has made a part of an item and does not match, the part is dropped before `B` makes an item.
unsafe impl<A: QueryData, B: QueryData> QueryData for FirstOf<A, B> {
    type Static = FirstOf<A::Static, B::Static>;
    type Item<'w> = Either<A::Item<'w>, B::Item<'w>>;
    type Chunk<'w> = Either<A::Chunk<'w>, B::Chunk<'w>>;
    type State = (A::State, B::State);
    type Fetch = Either<A::Fetch, B::Fetch>;
    type View = (A::View, B::View);
    const IS_DENSE: bool = A::IS_DENSE && B::IS_DENSE;
    const NEEDS_LOCATION: bool = A::NEEDS_LOCATION || B::NEEDS_LOCATION;
    const TRACKS_CHANGES: bool = A::TRACKS_CHANGES || B::TRACKS_CHANGES;

    fn state(components: &Components) -> Self::State {
        (A::state(components), B::state(components))
    }

    fn access(access: &mut Access) {
        access.touch_either::<A, B>();
    }

    fn matches((a, b): &Self::State, signature: &Signature) -> bool {
        A::matches(a, signature) || B::matches(b, signature)
    }

    #[inline(always)]
    fn visits_extra_rows((a, b): &Self::State) -> bool {
        A::visits_extra_rows(a) || B::visits_extra_rows(b)
    }

    fn required((a, b): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        common(|each| A::required(a, each), |each| B::required(b, each), each);
    }

    fn excluded((a, b): &Self::State, each: &mut dyn FnMut(ComponentId)) {
        common(
            |each| A::excluded(a, &mut |id| each(id, ())),
            |each| B::excluded(b, &mut |id| each(id, ())),
            &mut |id, ()| each(id),
        );
    }

    fn set_ticks((a, b): &mut Self::State, ticks: RunTicks) {
        A::set_ticks(a, ticks);
        B::set_ticks(b, ticks);
    }

    fn column_matches((a, b): &Self::State, table: TableRef<'_>) -> bool {
        table.matches::<A>(a) || table.matches::<B>(b)
    }

    fn set_column_ticks((a, b): &Self::State, world: &World, table: Option<u32>) {
        let table_ref = table.map(|table| TableRef { world, table });
        let is_first = table_ref.is_none_or(|table| table.matches::<A>(a));
        if is_first {
            A::set_column_ticks(a, world, table);
        }
        // All rows of a table are of the first alternative if it is dense. Otherwise some may be of the second.
        let may_be_second = !is_first || !A::IS_DENSE || table.is_none();
        if may_be_second && table_ref.is_none_or(|table| table.matches::<B>(b)) {
            B::set_column_ticks(b, world, table);
        }
    }

    fn mismatch((a, b): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        A::mismatch(a, row).filter(|_| B::mismatch(b, row).is_some())
    }

    fn watch(watched: &mut Watched) {
        A::watch(watched);
        B::watch(watched);
    }

    unsafe fn past<'w>((a, b): &Self::State, row: PastRow<'w>) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's contract is that of both.
        unsafe { A::past(a, row).map(Either::First).or_else(|| B::past(b, row).map(Either::Second)) }
    }

    unsafe fn fetch((a, b): &Self::State, world: &World, table: u32) -> Self::Fetch {
        let table_ref = TableRef { world, table };
        let signature = table_ref.signature();
        // A filter in the data may answer differently each time. So an alternative is taken only if it matches now.
        let is_first = table_ref.matches::<A>(a);
        let is_second = !is_first && B::matches(b, signature);
        let is_valid = is_first || is_second || A::matches(a, signature);
        assert!(is_valid, "a filter in query data has changed its mind about a table");
        // SAFETY: the table was just found to match the alternative that is taken. The rest by the caller's contract.
        unsafe {
            match is_second {
                false => Either::First(A::fetch(a, world, table)),
                true => Either::Second(B::fetch(b, world, table)),
            }
        }
    }

    unsafe fn fetch_aligned((a, b): &Self::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        // SAFETY: the state is that of the stores' world, by the caller's contract.
        unsafe {
            if let Some(fetch) = A::fetch_aligned(a, stores) {
                return Some(Either::First(fetch));
            }
            // No row is of the first alternative if all of them lack what it requires, or have what it excludes.
            let mut is_second = false;
            A::required(a, &mut |id, _| is_second |= stores.lacks(id));
            A::excluded(a, &mut |id| is_second |= stores.has(id));
            if is_second { B::fetch_aligned(b, stores).map(Either::Second) } else { None }
        }
    }

    #[inline(always)]
    unsafe fn view((a, b): &Self::State, world: &World, driver: Option<ComponentId>) -> Self::View {
        // SAFETY: the state is the world's, and the view is used in time, by the caller's contract.
        unsafe { (A::view(a, world, driver), B::view(b, world, driver)) }
    }

    #[inline(always)]
    fn settle(view: Self::View, table: u32) -> Self::View {
        (A::settle(view.0, table), B::settle(view.1, table))
    }

    #[inline(always)]
    fn matches_row((a, b): &Self::State, view: Self::View, row: VisitedRow) -> bool {
        A::matches_row(a, view.0, row) || B::matches_row(b, view.1, row)
    }

    #[inline(always)]
    fn at<'w>((a, b): &Self::State, view: Self::View, row: ItemRef<'w>) -> Option<Self::Item<'w>> {
        match A::at(a, view.0, row) {
            Some(item) => Some(Either::First(item)),
            None => B::at(b, view.1, row).map(Either::Second),
        }
    }

    #[inline(always)]
    fn row<'w>(fetch: Self::Fetch, row: ItemRow<'w>) -> Self::Item<'w> {
        match fetch {
            Either::First(fetch) => Either::First(A::row(fetch, row)),
            Either::Second(fetch) => Either::Second(B::row(fetch, row)),
        }
    }

    #[inline(always)]
    fn chunk<'w>(fetch: Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w> {
        match fetch {
            Either::First(fetch) => Either::First(A::chunk(fetch, rows)),
            Either::Second(fetch) => Either::Second(B::chunk(fetch, rows)),
        }
    }
}

// SAFETY: neither writes.
unsafe impl<A: ReadOnlyQueryData, B: ReadOnlyQueryData> ReadOnlyQueryData for FirstOf<A, B> {}

impl<A: ChunkQueryData, B: ChunkQueryData> ChunkQueryData for FirstOf<A, B> {}
