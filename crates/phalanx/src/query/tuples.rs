//! Tuples of terms: all of them, or one at least.
#![allow(unsafe_code)]

use super::{Access, Aligned, Candidate, Columns, Mismatch, Or, Query, ReadOnlyQuery, Spot};
use crate::component::{ComponentId, Components};
use crate::layout::Kind;
use crate::signature::Signature;
use crate::track::Look;
use crate::world::World;

macro_rules! tuple_query {
    ($($name:ident $n:tt)*) => {
        // SAFETY: touches what the members touch, all of which are named.
        #[allow(unused_variables, unused_unsafe, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: Query),*> Query for ($($name,)*) {
            type Item<'w> = ($($name::Item<'w>,)*);
            type Chunk<'w> = ($($name::Chunk<'w>,)*);
            type State = ($($name::State,)*);
            type Fetch = ($($name::Fetch,)*);
            type View = ($($name::View,)*);
            const SIDES: bool = false $(|| $name::SIDES)*;
            const LOCATED: bool = false $(|| $name::LOCATED)*;

            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }

            fn access(access: &mut Access) {
                $($name::access(access);)*
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as Query>::matches($name, signature))*
            }

            #[inline(always)]
            fn rows(($($name,)*): &Self::State) -> bool {
                false $(|| <$name as Query>::rows($name))*
            }

            const LIVE: bool = false $(|| $name::LIVE)*;

            fn look(($($name,)*): &mut Self::State, look: Look) {
                $(<$name as Query>::look($name, look);)*
            }

            fn live(($($name,)*): &Self::State, columns: Columns<'_>) -> bool {
                true $(&& <$name as Query>::live($name, columns))*
            }

            unsafe fn mark(($($name,)*): &Self::State, world: &World, table: Option<u32>) {
                // SAFETY: the caller's promise, for each member.
                $(unsafe { <$name as Query>::mark($name, world, table) };)*
            }

            fn required(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
                $(<$name as Query>::required($name, each);)*
            }

            fn excluded(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId)) {
                $(<$name as Query>::excluded($name, each);)*
            }

            fn mismatch(($($name,)*): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
                None$(.or_else(|| <$name as Query>::mismatch($name, row)))*
            }

            #[inline]
            unsafe fn fetch(($($name,)*): &Self::State, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: a table that matches the tuple matches every member.
                unsafe { ($(<$name as Query>::fetch($name, world, table),)*) }
            }

            #[inline(always)]
            unsafe fn row<'w>(($($name,)*): Self::Fetch, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as Query>::row($name, row),)*) }
            }

            #[inline(always)]
            unsafe fn chunk<'w>(($($name,)*): Self::Fetch, len: usize) -> Self::Chunk<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as Query>::chunk($name, len),)*) }
            }

            unsafe fn aligned(($($name,)*): &Self::State, stores: &Aligned<'_>) -> Option<Self::Fetch> {
                // SAFETY: the caller's promise, for each member.
                Some(($(unsafe { <$name as Query>::aligned($name, stores)? },)*))
            }

            #[inline(always)]
            unsafe fn view(($($name,)*): &Self::State, world: &World, walked: Option<ComponentId>) -> Self::View {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as Query>::view($name, world, walked),)*) }
            }

            #[inline(always)]
            unsafe fn holds(state: &Self::State, view: Self::View, spot: Spot) -> bool {
                // SAFETY: the caller's promise, for each member.
                unsafe { true $(&& <$name as Query>::holds(&state.$n, view.$n, spot))* }
            }

            #[inline(always)]
            unsafe fn at<'w>(state: &Self::State, view: Self::View, spot: Spot) -> Option<Self::Item<'w>> {
                // SAFETY: the caller's promise, for each member.
                unsafe { Some(($(<$name as Query>::at(&state.$n, view.$n, spot)?,)*)) }
            }

            #[inline(always)]
            unsafe fn warm(view: Self::View, spot: Spot) {
                // SAFETY: the caller's promise, for each member.
                unsafe { $(<$name as Query>::warm(view.$n, spot);)* }
            }
        }

        // SAFETY: no member writes.
        unsafe impl<$($name: ReadOnlyQuery),*> ReadOnlyQuery for ($($name,)*) {}

        // SAFETY: touches what the members touch, all of which are named, each in tables that it matches.
        #[allow(unused_variables, unused_unsafe, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: Query),*> Query for Or<($($name,)*)> {
            type Item<'w> = ($(Option<$name::Item<'w>>,)*);
            type Chunk<'w> = ($(Option<$name::Chunk<'w>>,)*);
            type State = ($($name::State,)*);
            type Fetch = ($(Option<$name::Fetch>,)*);
            type View = ($($name::View,)*);
            const SIDES: bool = false $(|| $name::SIDES)*;
            const LOCATED: bool = false $(|| $name::LOCATED)*;

            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }

            fn access(access: &mut Access) {
                $($name::access(access);)*
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                false $(|| <$name as Query>::matches($name, signature))*
            }

            #[inline(always)]
            fn rows(($($name,)*): &Self::State) -> bool {
                false $(|| <$name as Query>::rows($name))*
            }

            const LIVE: bool = false $(|| $name::LIVE)*;

            fn look(($($name,)*): &mut Self::State, look: Look) {
                $(<$name as Query>::look($name, look);)*
            }

            fn live(($($name,)*): &Self::State, columns: Columns<'_>) -> bool {
                let signature = columns.signature();
                false $(|| <$name as Query>::matches($name, signature) && <$name as Query>::live($name, columns))*
            }

            unsafe fn mark(($($name,)*): &Self::State, world: &World, table: Option<u32>) {
                // SAFETY: the caller's promise, for each member.
                $(unsafe { <Option<$name> as Query>::mark($name, world, table) };)*
            }

            fn required(_: &Self::State, _: &mut dyn FnMut(ComponentId, Kind)) {}

            unsafe fn fetch(($($name,)*): &Self::State, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: the table is one of the world's, and `Option` asks of it whether the member matches.
                unsafe { ($(<Option<$name> as Query>::fetch($name, world, table),)*) }
            }

            #[inline(always)]
            unsafe fn row<'w>(($($name,)*): Self::Fetch, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<Option<$name> as Query>::row($name, row),)*) }
            }

            #[inline(always)]
            unsafe fn chunk<'w>(($($name,)*): Self::Fetch, len: usize) -> Self::Chunk<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<Option<$name> as Query>::chunk($name, len),)*) }
            }

            unsafe fn aligned(($($name,)*): &Self::State, stores: &Aligned<'_>) -> Option<Self::Fetch> {
                // SAFETY: the caller's promise, for each member.
                let fetch: Self::Fetch = ($(Some(unsafe { <$name as Query>::aligned($name, stores)? }),)*);
                // Without members nothing matches.
                (false $(|| fetch.$n.is_some())*).then_some(fetch)
            }

            #[inline(always)]
            unsafe fn view(($($name,)*): &Self::State, world: &World, walked: Option<ComponentId>) -> Self::View {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as Query>::view($name, world, walked),)*) }
            }

            #[inline(always)]
            unsafe fn holds(state: &Self::State, view: Self::View, spot: Spot) -> bool {
                // SAFETY: the caller's promise, for each member.
                unsafe { false $(|| <$name as Query>::holds(&state.$n, view.$n, spot))* }
            }

            #[inline(always)]
            unsafe fn at<'w>(state: &Self::State, view: Self::View, spot: Spot) -> Option<Self::Item<'w>> {
                // SAFETY: the caller's promise, for each member.
                let items: Self::Item<'w> = unsafe { ($(<$name as Query>::at(&state.$n, view.$n, spot),)*) };
                (false $(|| items.$n.is_some())*).then_some(items)
            }
        }

        // SAFETY: no member writes.
        unsafe impl<$($name: ReadOnlyQuery),*> ReadOnlyQuery for Or<($($name,)*)> {}
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
