//! Several queries at once.
#![allow(unsafe_code)]

use super::cache::{kept_matches, update_matches};
use super::{Access, AliasError, Filtered, Query, QueryData, QueryFilter};
use crate::world::World;

mod sealed {
    use super::{Access, AliasError, World};

    pub trait Set {}

    /// A query of a set: data alone, or a `Query` with its filter.
    pub trait Member {
        type Query<'w>;

        fn access() -> Result<Access, AliasError>;

        /// Updates what the world keeps for the query.
        fn update(world: &mut World);

        /// Returns the query.
        ///
        /// # Safety
        ///
        /// The query was updated to the world as it is. For `'w` nothing else touches what it writes, or writes what it
        /// touches, in rows that it visits.
        unsafe fn query(world: &World) -> Self::Query<'_>;
    }
}
use sealed::Member;

impl<D: QueryData, F: QueryFilter> Member for Query<'_, '_, D, F> {
    type Query<'w> = Query<'w, 'w, D, F>;

    fn access() -> Result<Access, AliasError> {
        Access::try_of_filtered::<D, F>()
    }

    fn update(world: &mut World) {
        update_matches::<D, F>(world, |matches, world| matches.update::<Filtered<D, F>>(world));
    }

    unsafe fn query(world: &World) -> Self::Query<'_> {
        // SAFETY: the matches were updated; and the caller's promise. `access` refuses queries that alias.
        unsafe { Query::with_matches(world, kept_matches::<D, F>(world)) }
    }
}

impl<D: QueryData> Member for D {
    type Query<'w> = Query<'w, 'w, D>;

    fn access() -> Result<Access, AliasError> {
        <Query<'_, '_, D> as Member>::access()
    }

    fn update(world: &mut World) {
        <Query<'_, '_, D> as Member>::update(world);
    }

    unsafe fn query(world: &World) -> Self::Query<'_> {
        // SAFETY: the caller's promise.
        unsafe { <Query<'_, '_, D> as Member>::query(world) }
    }
}

/// A tuple of two to four queries for [`World::queries_mut`].
///
/// A member is either [`QueryData`] or a [`Query`] type with a filter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of queries",
    label = "not a tuple of two to four queries",
    note = "a member is query data such as `&mut C`, or `Query<&mut C, With<T>>`"
)]
pub trait QuerySet: sealed::Set {
    /// The queries.
    type Queries<'w>;
    #[doc(hidden)]
    #[track_caller]
    fn queries(world: &mut World) -> Self::Queries<'_>;
}

/// Panics if one of these queries aliases another.
#[track_caller]
fn assert_disjoint<S, const N: usize>(queries: [Result<Access, AliasError>; N]) {
    let mut seen: Vec<Access> = Vec::new();
    for access in queries {
        // Not in a closure: the panic names the line of the caller.
        let access = match access {
            Ok(access) => access,
            Err(error) => panic!("{error}"),
        };
        if let Some(component) = seen.iter().find_map(|other| other.conflict_with(&access)) {
            panic!("{}", AliasError { query: core::any::type_name::<S>(), component });
        }
        seen.push(access);
    }
}

macro_rules! query_set {
    ($($name:ident)*) => {
        impl<$($name: Member),*> sealed::Set for ($($name,)*) {}
        impl<$($name: Member),*> QuerySet for ($($name,)*) {
            type Queries<'w> = ($($name::Query<'w>,)*);

            fn queries(world: &mut World) -> Self::Queries<'_> {
                assert_disjoint::<Self, _>([$($name::access()),*]);
                $($name::update(world);)*
                let world: &World = world;
                // SAFETY: each query was updated. The world is borrowed exclusively for all of them together. Of two queries
                // one of these holds:
                // - Neither writes what the other touches.
                // - The filter of one has `With<T>` and that of the other `Without<T>`, each by itself or as a member of a
                //   tuple, so that no row passes both. A table component `T` is in the signature of a row's table or is not,
                //   and all rows of that table are visited by one query at most. A sparse component `T` is in a store under
                //   the slot of a row or is not, and that row is visited by one query at most. Neither can change, because
                //   the world is borrowed and queries insert and remove nothing. A query makes an item of a row only after
                //   its filter passed the table, the row, or all rows of aligned stores; so the items, and the references
                //   that are made on the way to them, are of rows of its own.
                // - In the second case filters still read the change ticks of any row. So a query that filters by a
                //   component's ticks is refused beside one that writes that component, and a filter of a user, which may
                //   wrap such a filter, beside one that writes a component with ticks in its rows.
                // Ticks of whole columns and marks for timelines, which queries of the same column share, are atomic.
                ($(unsafe { $name::query(world) },)*)
            }
        }
    };
}
query_set!(A B);
query_set!(A B C);
query_set!(A B C D);
