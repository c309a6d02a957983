//! Several queries at once.
#![allow(unsafe_code)]

use super::cache::{kept_matches, update_matches};
use super::{Access, AliasError, Filtered, Query, QueryData, QueryFilter};
use crate::world::World;

mod sealed {
    use super::{QueryData, QueryFilter};

    pub trait Set {}

    /// A query of a set: data alone, or a `Query` with its filter.
    pub trait Member {
        type Data: QueryData;
        type Filter: QueryFilter;
    }
}
use sealed::Member;

impl<D: QueryData, F: QueryFilter> Member for Query<'_, '_, D, F> {
    type Data = D;
    type Filter = F;
}

impl<D: QueryData> Member for D {
    type Data = D;
    type Filter = ();
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
            type Queries<'w> = ($(Query<'w, 'w, $name::Data, $name::Filter>,)*);

            fn queries(world: &mut World) -> Self::Queries<'_> {
                assert_disjoint::<Self, _>([$(Access::try_of_filtered::<$name::Data, $name::Filter>()),*]);
                $(update_matches::<$name::Data, $name::Filter>(world, |matches, world| {
                    matches.update::<Filtered<$name::Data, $name::Filter>>(world);
                });)*
                let world: &World = world;
                // SAFETY: the matches were updated, and queries that alias were refused. The world is borrowed exclusively for
                // all queries together. Of two queries
                // one of these holds:
                // - Neither writes what the other touches.
                // - The filter of one has `With<T>` and that of the other `Without<T>`, each by itself or as a member of a
                //   tuple, so that no row passes both. In a dense query a term of a table component `T` counts as `With<T>`,
                //   because items are made only of tables that match. A table component `T` is in the signature of a row's table or is not,
                //   and all rows of that table are visited by one query at most. A sparse component `T` is in a store under
                //   the slot of a row or is not, and that row is visited by one query at most. Neither can change, because
                //   the world is borrowed and queries insert and remove nothing. A query makes an item of a row only after
                //   its filter passed the table, the row, or all rows of aligned stores; so the items, and the references
                //   that are made on the way to them, are of rows of its own.
                // - In the second case some terms still read other rows than those that are visited. So a query with such a term is
                //   refused beside one that writes what the term reads.
                // - In the second case filters still read the change ticks of any row. So a query that filters by a
                //   component's ticks is refused beside one that writes that component, and a filter of a user, which may
                //   wrap such a filter, beside one that writes a tracked component.
                // Ticks of whole columns and dirty bits for timelines, which queries of the same column share, are atomic.
                ($(unsafe { Query::with_matches(world, kept_matches::<$name::Data, $name::Filter>(world)) },)*)
            }
        }
    };
}
query_set!(A B);
query_set!(A B C);
query_set!(A B C D);
