//! The traits of queries that have chunks.

use super::{
    AllRows, Changed, ExtraRows, Filtered, Has, MainRows, Or, QueryData, QueryFilter, With, WithTable, Without,
};
use crate::bundle::all_tuples;
use crate::component::Component;
use crate::layout::{TableLayout, TracksColumns};
use crate::rows::{Key, Row};
use phalanx_store::Entity;

/// [`QueryData`] of table components only, which have [chunks](super::Query::chunks).
///
/// It is implemented for all terms of [the module](super) whose components are stored in tables, and for derived structs and
/// enums of such terms. Code that is generic over query data needs this bound to use chunks:
///
/// ```
/// use phalanx::query::{ChunkQueryData, ReadOnlyQueryData};
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
///
/// fn tables<D: ReadOnlyQueryData + ChunkQueryData>(world: &World) -> usize {
///     world.query::<D>().chunks().count()
/// }
///
/// let mut world = World::new();
/// world.spawn(Position(1.0));
/// assert_eq!(tables::<&Position>(&world), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no chunks",
    label = "this query has no chunks",
    note = "all terms must be of components that are stored in tables; generic code names the bound `ChunkQueryData`"
)]
pub trait ChunkQueryData: QueryData {}

/// A filter that passes all rows of a table or none, so that a query with it has [chunks](super::Query::chunks).
///
/// An [archetypal](QueryFilter::IS_ARCHETYPAL) filter of your own implements it by `impl ChunkFilter for MyFilter {}`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` filters single rows, so a query with it has no chunks",
    label = "this filter has no chunks",
    note = "use `iter` or `for_each`; a filter of your own that only tests signatures may implement `ChunkFilter`"
)]
pub trait ChunkFilter: QueryFilter {}

/// Refuses implementations of [`ChunkQueryData`] and [`ChunkFilter`] for queries that test single rows.
pub(super) const fn assert_chunks<D: ChunkQueryData, F: ChunkFilter>() {
    assert!(D::IS_DENSE, "a `ChunkQueryData` names no component that is stored outside of tables");
    assert!(F::IS_ARCHETYPAL, "a `ChunkFilter` does not test single rows");
}

impl<C: Component> ChunkQueryData for &C where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkQueryData for &mut C where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkQueryData for Has<C> where C::Layout: TableLayout<C> {}
impl<T: ChunkQueryData> ChunkQueryData for Option<T> {}
impl<D: ChunkQueryData, F: ChunkFilter> ChunkQueryData for Filtered<D, F> {}
impl<D: ChunkQueryData> ChunkQueryData for WithTable<D> {}
impl ChunkQueryData for Entity {}
impl ChunkQueryData for Key {}
impl ChunkQueryData for Row {}

impl<C: Component> ChunkFilter for With<C> where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkFilter for Without<C> where C::Layout: TableLayout<C> {}
impl<C: Component> ChunkFilter for Changed<C> where C::Layout: TracksColumns<C> + TableLayout<C> {}
impl ChunkFilter for MainRows {}
impl ChunkFilter for ExtraRows {}
impl ChunkFilter for AllRows {}

macro_rules! tuple_chunks {
    ($($name:ident)*) => {
        impl<$($name: ChunkQueryData),*> ChunkQueryData for ($($name,)*) {}
        impl<$($name: ChunkQueryData),*> ChunkQueryData for Or<($($name,)*)> {}
        impl<$($name: ChunkFilter),*> ChunkFilter for ($($name,)*) {}
        impl<$($name: ChunkFilter),*> ChunkFilter for Or<($($name,)*)> {}
    };
}
all_tuples!(tuple_chunks);
