//! Which queries have chunks.

use super::{AllRows, Changed, ExtraRows, Filter, Filtered, Has, MainRows, Or, Query, With, Without};
use crate::bundle::all_tuples;
use crate::component::Component;
use crate::layout::{TableLayout, TracksColumns};
use crate::rows::{Key, Row};
use phalanx_store::Entity;

/// A query over components that are stored in tables, so that its items come in [chunks](super::QueryMut::chunks).
///
/// All terms of [the module](super) are such queries if their components are. So are derived queries, if their fields are.
/// Code that is generic over a query names this trait to use chunks:
///
/// ```
/// use phalanx::query::{ChunkQuery, ReadOnlyQuery};
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
///
/// fn tables<Q: ReadOnlyQuery + ChunkQuery>(world: &World) -> usize {
///     world.query::<Q>().chunks().count()
/// }
///
/// let mut world = World::new();
/// world.spawn(Position(1.0));
/// assert_eq!(tables::<&Position>(&world), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no chunks",
    label = "this query has no chunks",
    note = "all terms must be of components that are stored in tables; generic code names the bound `ChunkQuery`"
)]
pub trait ChunkQuery: Query {}

/// A filter that lets pass all rows of a table or none, so that a query with it has [chunks](super::QueryMut::chunks).
///
/// Filters of your own that leave [`SIDES`](Filter::SIDES) as it is implement it by `impl ChunkFilter for MyFilter {}`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` filters single rows, so a query with it has no chunks",
    label = "this filter has no chunks",
    note = "use `iter` or `for_each`; a filter of your own that only looks at signatures may implement `ChunkFilter`"
)]
pub trait ChunkFilter: Filter {}

/// Refuses implementations of [`ChunkQuery`] and [`ChunkFilter`] for what is asked row by row.
pub(super) const fn assert_chunks<Q: ChunkQuery, F: ChunkFilter>() {
    assert!(!Q::SIDES, "a `ChunkQuery` names no component that is stored outside of tables");
    assert!(!F::SIDES, "a `ChunkFilter` does not look at single rows");
}

impl<C: Component> ChunkQuery for &'static C where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkQuery for &'static mut C where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkQuery for Has<C> where C::Layout: TableLayout<C> {}
impl<T: ChunkQuery> ChunkQuery for Option<T> {}
impl<Q: ChunkQuery, F: ChunkFilter> ChunkQuery for Filtered<Q, F> {}
impl ChunkQuery for Entity {}
impl ChunkQuery for Key {}
impl ChunkQuery for Row {}

impl<C: Component> ChunkFilter for With<C> where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkFilter for Without<C> where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkFilter for Changed<C> where C::Layout: TracksColumns<C> + TableLayout<C> {}
impl ChunkFilter for MainRows {}
impl ChunkFilter for ExtraRows {}
impl ChunkFilter for AllRows {}

macro_rules! tuple_chunks {
    ($($name:ident)*) => {
        impl<$($name: ChunkQuery),*> ChunkQuery for ($($name,)*) {}
        impl<$($name: ChunkQuery),*> ChunkQuery for Or<($($name,)*)> {}
        impl<$($name: ChunkFilter),*> ChunkFilter for ($($name,)*) {}
        impl<$($name: ChunkFilter),*> ChunkFilter for Or<($($name,)*)> {}
    };
}
all_tuples!(tuple_chunks);
