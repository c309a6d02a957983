//! Tuples of terms, of which all must match, and `Or`, of which one must.
#![allow(unsafe_code)]

use super::filter::members;
use super::{
    Access, AlignedStores, Candidate, ItemRef, ItemRow, ItemRows, Mismatch, Or, QueryData, ReadOnlyQueryData,
    RowConditions, TableRef, VisitedRow, Watched,
};
use crate::change_detection::RunTicks;
use crate::component::{ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::Kind;
use crate::signature::Signature;
use crate::world::World;

macro_rules! tuple_query {
    ($($name:ident $n:tt)*) => {
        // SAFETY: it touches what the members touch, all of which are named.
        #[allow(unused_variables, unused_unsafe, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: QueryData),*> QueryData for ($($name,)*) {
            members!(QueryData $($name)*);
            type Static = ($($name::Static,)*);
            type Item<'w> = ($($name::Item<'w>,)*);
            type Chunk<'w> = ($($name::Chunk<'w>,)*);
            type Fetch = ($($name::Fetch,)*);
            type View = ($($name::View,)*);
            const IS_DENSE: bool = true $(&& $name::IS_DENSE)*;
            const NEEDS_LOCATION: bool = false $(|| $name::NEEDS_LOCATION)*;

            unsafe fn conditions(rows: &mut RowConditions) {
                // SAFETY: a table that matches the tuple matches every member; the rest by the caller's contract.
                unsafe { $($name::conditions(rows);)* }
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as QueryData>::matches($name, signature))*
            }

            fn column_matches(($($name,)*): &Self::State, table: TableRef<'_>) -> bool {
                true $(&& <$name as QueryData>::column_matches($name, table))*
            }

            fn set_column_ticks(($($name,)*): &Self::State, world: &World, table: Option<u32>) {
                $(<$name as QueryData>::set_column_ticks($name, world, table);)*
            }

            fn required(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
                $(<$name as QueryData>::required($name, each);)*
            }

            fn excluded(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId)) {
                $(<$name as QueryData>::excluded($name, each);)*
            }

            fn mismatch(($($name,)*): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
                None$(.or_else(|| <$name as QueryData>::mismatch($name, row)))*
            }

            fn watch(watched: &mut Watched) {
                $($name::watch(watched);)*
            }

            unsafe fn past<'w>(state: &Self::State, row: PastRow<'w>) -> Option<Self::Item<'w>> {
                // SAFETY: the caller's contract is that of the members.
                unsafe { Some(($(<$name as QueryData>::past(&state.$n, row)?,)*)) }
            }

            #[inline]
            unsafe fn fetch(($($name,)*): &Self::State, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: a table that matches the tuple matches every member; the rest by the caller's contract.
                unsafe { ($(<$name as QueryData>::fetch($name, world, table),)*) }
            }

            fn sides(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId)) -> bool {
                true $(&& <$name as QueryData>::sides($name, each))*
            }

            unsafe fn fetch_rows(
                ($($name,)*): &Self::State,
                at: TableRef<'_>,
                row: Option<VisitedRow>,
            ) -> Option<Self::Fetch> {
                // SAFETY: a table that matches the tuple matches every member; the rest by the caller's contract.
                unsafe { Some(($(<$name as QueryData>::fetch_rows($name, at, row)?,)*)) }
            }

            unsafe fn fetch_aligned(($($name,)*): &Self::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
                // SAFETY: the state is that of the stores' world, by the caller's contract.
                unsafe { Some(($(<$name as QueryData>::fetch_aligned($name, stores)?,)*)) }
            }

            #[inline(always)]
            unsafe fn view(($($name,)*): &Self::State, world: &World, driver: Option<ComponentId>) -> Self::View {
                // SAFETY: the state is the world's, and the view is used in time, by the caller's contract.
                unsafe { ($(<$name as QueryData>::view($name, world, driver),)*) }
            }

            #[inline(always)]
            fn settle(view: Self::View, table: u32) -> Self::View {
                ($(<$name as QueryData>::settle(view.$n, table),)*)
            }

            #[inline(always)]
            fn matches_row(state: &Self::State, view: Self::View, row: VisitedRow) -> bool {
                true $(&& <$name as QueryData>::matches_row(&state.$n, view.$n, row))*
            }

            #[inline(always)]
            fn at<'w>(state: &Self::State, view: Self::View, row: ItemRef<'w>) -> Option<Self::Item<'w>> {
                Some(($(<$name as QueryData>::at(&state.$n, view.$n, row)?,)*))
            }

            #[inline(always)]
            fn prefetch(view: Self::View, row: VisitedRow) {
                $(<$name as QueryData>::prefetch(view.$n, row);)*
            }

            #[inline(always)]
            fn row<'w>(($($name,)*): Self::Fetch, row: ItemRow<'w>) -> Self::Item<'w> {
                ($(<$name as QueryData>::row($name, row),)*)
            }

            #[inline(always)]
            fn chunk<'w>(($($name,)*): Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w> {
                ($(<$name as QueryData>::chunk($name, rows),)*)
            }
        }

        // SAFETY: no member writes.
        unsafe impl<$($name: ReadOnlyQueryData),*> ReadOnlyQueryData for ($($name,)*) {}

        // SAFETY: it touches what a tuple of options touches.
        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: QueryData),*> QueryData for Or<($($name,)*)> {
            members!(QueryData $($name)*);
            type Static = Or<($($name::Static,)*)>;
            type Item<'w> = ($(Option<$name::Item<'w>>,)*);
            type Chunk<'w> = ($(Option<$name::Chunk<'w>>,)*);
            type Fetch = ($(<Option<$name> as QueryData>::Fetch,)*);
            type View = ($($name::View,)*);
            const IS_DENSE: bool = true $(&& $name::IS_DENSE)*;
            const NEEDS_LOCATION: bool = false $(|| $name::NEEDS_LOCATION)*;

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                false $(|| <$name as QueryData>::matches($name, signature))*
            }

            fn column_matches(($($name,)*): &Self::State, table: TableRef<'_>) -> bool {
                false $(|| table.matches::<$name>($name))*
            }

            fn set_column_ticks(state: &Self::State, world: &World, table: Option<u32>) {
                <($(Option<$name>,)*) as QueryData>::set_column_ticks(state, world, table);
            }

            fn watch(watched: &mut Watched) {
                $($name::watch(watched);)*
            }

            unsafe fn past<'w>(state: &Self::State, row: PastRow<'w>) -> Option<Self::Item<'w>> {
                // SAFETY: the caller's contract is that of a tuple of options.
                let items = unsafe { <($(Option<$name>,)*) as QueryData>::past(state, row)? };
                (false $(|| items.$n.is_some())*).then_some(items)
            }

            unsafe fn fetch(state: &Self::State, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: any table matches a tuple of options; the rest by the caller's contract.
                unsafe { <($(Option<$name>,)*) as QueryData>::fetch(state, world, table) }
            }

            unsafe fn fetch_aligned(state: &Self::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
                // SAFETY: the state is that of the stores' world, by the caller's contract.
                let fetch = unsafe { <($(Option<$name>,)*) as QueryData>::fetch_aligned(state, stores)? };
                // An empty tuple matches nothing.
                (false $(|| fetch.$n.is_some())*).then_some(fetch)
            }

            #[inline(always)]
            unsafe fn view(state: &Self::State, world: &World, driver: Option<ComponentId>) -> Self::View {
                // SAFETY: the state is the world's, and the view is used in time, by the caller's contract.
                unsafe { <($($name,)*) as QueryData>::view(state, world, driver) }
            }

            #[inline(always)]
            fn settle(view: Self::View, table: u32) -> Self::View {
                ($(<$name as QueryData>::settle(view.$n, table),)*)
            }

            #[inline(always)]
            fn matches_row(state: &Self::State, view: Self::View, row: VisitedRow) -> bool {
                false $(|| <$name as QueryData>::matches_row(&state.$n, view.$n, row))*
            }

            #[inline(always)]
            fn at<'w>(state: &Self::State, view: Self::View, row: ItemRef<'w>) -> Option<Self::Item<'w>> {
                let items: Self::Item<'w> = ($(<$name as QueryData>::at(&state.$n, view.$n, row),)*);
                (false $(|| items.$n.is_some())*).then_some(items)
            }

            #[inline(always)]
            fn row<'w>(fetch: Self::Fetch, row: ItemRow<'w>) -> Self::Item<'w> {
                <($(Option<$name>,)*) as QueryData>::row(fetch, row)
            }

            #[inline(always)]
            fn chunk<'w>(fetch: Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w> {
                <($(Option<$name>,)*) as QueryData>::chunk(fetch, rows)
            }
        }

        // SAFETY: no member writes.
        unsafe impl<$($name: ReadOnlyQueryData),*> ReadOnlyQueryData for Or<($($name,)*)> {}
    };
}

macro_rules! all_tuples_of_terms {
    ([$($done:tt)*] $next:ident $n:tt $($rest:tt)*) => {
        tuple_query!($($done)*);
        all_tuples_of_terms!([$($done)* $next $n] $($rest)*);
    };
    ([$($done:tt)*]) => { tuple_query!($($done)*); };
}
all_tuples_of_terms!([] A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);
