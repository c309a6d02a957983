//! Tuples of terms, of which all must match, and `Or`, of which one must.
#![allow(unsafe_code)]

use super::{Access, AlignedStores, Candidate, Mismatch, Or, QueryData, ReadOnlyQueryData, RowRef, TableRef};
use crate::change_detection::RunTicks;
use crate::component::{ComponentId, Components};
use crate::layout::Kind;
use crate::signature::Signature;
use crate::world::World;

macro_rules! tuple_query {
    ($($name:ident $n:tt)*) => {
        // SAFETY: it touches what the members touch, all of which are named.
        #[allow(unused_variables, unused_unsafe, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: QueryData),*> QueryData for ($($name,)*) {
            type Static = ($($name::Static,)*);
            type Item<'w> = ($($name::Item<'w>,)*);
            type Chunk<'w> = ($($name::Chunk<'w>,)*);
            type State = ($($name::State,)*);
            type Fetch = ($($name::Fetch,)*);
            type View = ($($name::View,)*);
            const IS_DENSE: bool = true $(&& $name::IS_DENSE)*;
            const NEEDS_LOCATION: bool = false $(|| $name::NEEDS_LOCATION)*;

            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }

            fn access(access: &mut Access) {
                $($name::access(access);)*
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as QueryData>::matches($name, signature))*
            }

            #[inline(always)]
            fn visits_extra_rows(($($name,)*): &Self::State) -> bool {
                false $(|| <$name as QueryData>::visits_extra_rows($name))*
            }

            const TRACKS_CHANGES: bool = false $(|| $name::TRACKS_CHANGES)*;

            fn set_ticks(($($name,)*): &mut Self::State, look: RunTicks) {
                $(<$name as QueryData>::set_ticks($name, look);)*
            }

            fn column_matches(($($name,)*): &Self::State, table: TableRef<'_>) -> bool {
                true $(&& <$name as QueryData>::column_matches($name, table))*
            }

            unsafe fn mark(($($name,)*): &Self::State, world: &World, table: Option<u32>) {
                // SAFETY: the caller's promise, for each member.
                $(unsafe { <$name as QueryData>::mark($name, world, table) };)*
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

            #[inline]
            unsafe fn fetch(($($name,)*): &Self::State, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: a table that matches the tuple matches every member.
                unsafe { ($(<$name as QueryData>::fetch($name, world, table),)*) }
            }

            #[inline(always)]
            unsafe fn row<'w>(($($name,)*): Self::Fetch, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as QueryData>::row($name, row),)*) }
            }

            #[inline(always)]
            unsafe fn chunk<'w>(($($name,)*): Self::Fetch, len: usize) -> Self::Chunk<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as QueryData>::chunk($name, len),)*) }
            }

            unsafe fn fetch_aligned(($($name,)*): &Self::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
                // SAFETY: the caller's promise, for each member.
                Some(($(unsafe { <$name as QueryData>::fetch_aligned($name, stores)? },)*))
            }

            #[inline(always)]
            unsafe fn view(($($name,)*): &Self::State, world: &World, driver: Option<ComponentId>) -> Self::View {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as QueryData>::view($name, world, driver),)*) }
            }

            #[inline(always)]
            unsafe fn matches_row(state: &Self::State, view: Self::View, row: RowRef) -> bool {
                // SAFETY: the caller's promise, for each member.
                unsafe { true $(&& <$name as QueryData>::matches_row(&state.$n, view.$n, row))* }
            }

            #[inline(always)]
            unsafe fn at<'w>(state: &Self::State, view: Self::View, row: RowRef) -> Option<Self::Item<'w>> {
                // SAFETY: the caller's promise, for each member.
                unsafe { Some(($(<$name as QueryData>::at(&state.$n, view.$n, row)?,)*)) }
            }

            #[inline(always)]
            unsafe fn prefetch(view: Self::View, row: RowRef) {
                // SAFETY: the caller's promise, for each member.
                unsafe { $(<$name as QueryData>::prefetch(view.$n, row);)* }
            }
        }

        // SAFETY: no member writes.
        unsafe impl<$($name: ReadOnlyQueryData),*> ReadOnlyQueryData for ($($name,)*) {}

        // SAFETY: it touches what the members touch, all of which are named, each in tables that it matches.
        #[allow(unused_variables, unused_unsafe, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: QueryData),*> QueryData for Or<($($name,)*)> {
            type Static = Or<($($name::Static,)*)>;
            type Item<'w> = ($(Option<$name::Item<'w>>,)*);
            type Chunk<'w> = ($(Option<$name::Chunk<'w>>,)*);
            type State = ($($name::State,)*);
            type Fetch = ($(Option<$name::Fetch>,)*);
            type View = ($($name::View,)*);
            const IS_DENSE: bool = true $(&& $name::IS_DENSE)*;
            const NEEDS_LOCATION: bool = false $(|| $name::NEEDS_LOCATION)*;

            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }

            fn access(access: &mut Access) {
                $($name::access(access);)*
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                false $(|| <$name as QueryData>::matches($name, signature))*
            }

            #[inline(always)]
            fn visits_extra_rows(($($name,)*): &Self::State) -> bool {
                false $(|| <$name as QueryData>::visits_extra_rows($name))*
            }

            const TRACKS_CHANGES: bool = false $(|| $name::TRACKS_CHANGES)*;

            fn set_ticks(($($name,)*): &mut Self::State, look: RunTicks) {
                $(<$name as QueryData>::set_ticks($name, look);)*
            }

            fn column_matches(($($name,)*): &Self::State, table: TableRef<'_>) -> bool {
                let signature = table.signature();
                false $(|| <$name as QueryData>::matches($name, signature) && <$name as QueryData>::column_matches($name, table))*
            }

            unsafe fn mark(($($name,)*): &Self::State, world: &World, table: Option<u32>) {
                // SAFETY: the caller's promise, for each member.
                $(unsafe { <Option<$name> as QueryData>::mark($name, world, table) };)*
            }

            fn required(_: &Self::State, _: &mut dyn FnMut(ComponentId, Kind)) {}

            unsafe fn fetch(($($name,)*): &Self::State, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: the table is one of the world's, and `Option` asks of it whether the member matches.
                unsafe { ($(<Option<$name> as QueryData>::fetch($name, world, table),)*) }
            }

            #[inline(always)]
            unsafe fn row<'w>(($($name,)*): Self::Fetch, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<Option<$name> as QueryData>::row($name, row),)*) }
            }

            #[inline(always)]
            unsafe fn chunk<'w>(($($name,)*): Self::Fetch, len: usize) -> Self::Chunk<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<Option<$name> as QueryData>::chunk($name, len),)*) }
            }

            unsafe fn fetch_aligned(($($name,)*): &Self::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
                // SAFETY: the caller's promise, for each member.
                let fetch: Self::Fetch = ($(Some(unsafe { <$name as QueryData>::fetch_aligned($name, stores)? }),)*);
                // An empty tuple matches nothing.
                (false $(|| fetch.$n.is_some())*).then_some(fetch)
            }

            #[inline(always)]
            unsafe fn view(($($name,)*): &Self::State, world: &World, driver: Option<ComponentId>) -> Self::View {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as QueryData>::view($name, world, driver),)*) }
            }

            #[inline(always)]
            unsafe fn matches_row(state: &Self::State, view: Self::View, row: RowRef) -> bool {
                // SAFETY: the caller's promise, for each member.
                unsafe { false $(|| <$name as QueryData>::matches_row(&state.$n, view.$n, row))* }
            }

            #[inline(always)]
            unsafe fn at<'w>(state: &Self::State, view: Self::View, row: RowRef) -> Option<Self::Item<'w>> {
                // SAFETY: the caller's promise, for each member.
                let items: Self::Item<'w> = unsafe { ($(<$name as QueryData>::at(&state.$n, view.$n, row),)*) };
                (false $(|| items.$n.is_some())*).then_some(items)
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
all_tuples_of_terms!([] A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14);
