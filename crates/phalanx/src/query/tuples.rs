//! Tuples of terms: all of them, or one at least.
#![allow(unsafe_code)]

use super::{Access, Mismatch, Or, Query, ReadOnlyQuery};
use crate::bundle::all_tuples;
use crate::component::Components;
use crate::signature::Signature;
use crate::world::World;

macro_rules! tuple_query {
    ($($name:ident)*) => {
        // SAFETY: touches what the members touch, all of which are named.
        #[allow(unused_variables, unused_unsafe, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: Query),*> Query for ($($name,)*) {
            type Item<'w> = ($($name::Item<'w>,)*);
            type Chunk<'w> = ($($name::Chunk<'w>,)*);
            type State = ($($name::State,)*);
            type Fetch = ($($name::Fetch,)*);

            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }

            fn access(access: &mut Access) {
                $($name::access(access);)*
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as Query>::matches($name, signature))*
            }

            fn mismatch(($($name,)*): &Self::State, signature: &Signature) -> Option<Mismatch> {
                None$(.or_else(|| <$name as Query>::mismatch($name, signature)))*
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

            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }

            fn access(access: &mut Access) {
                $($name::access(access);)*
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                false $(|| <$name as Query>::matches($name, signature))*
            }

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
        }

        // SAFETY: no member writes.
        unsafe impl<$($name: ReadOnlyQuery),*> ReadOnlyQuery for Or<($($name,)*)> {}
    };
}
all_tuples!(tuple_query);
