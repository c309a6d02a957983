//! What a query asks for.
#![allow(unsafe_code)]

use super::{
    Access, AlignedStores, Candidate, CandidateBlock, ItemRef, ItemRow, ItemRows, Mismatch, RowConditions, TableRef,
    VisitedRow, Watched,
};
use crate::change_detection::RunTicks;
use crate::component::{ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::Kind;
use crate::signature::Signature;
use crate::world::World;

/// The data that a [`Query`](super::Query) yields for each matching row.
///
/// It is implemented for the terms listed in [the module](super), for tuples of them, and for structs and enums with
/// `#[derive(QueryData)]`. Do not implement it by hand: the derive does it safely.
///
/// Lifetimes in the type have no meaning. Items live as long as the borrow of the world, so `Query<&A>` in a signature and
/// `world.query::<&A>()` need no lifetimes:
///
/// ```
/// use phalanx::query::{QueryData, ReadOnlyQueryData};
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Mass(u32);
///
/// fn first<'w, D: ReadOnlyQueryData>(world: &'w World) -> Option<D::Item<'w>> {
///     world.query::<D>().iter().next()
/// }
///
/// fn count<D: QueryData>(world: &mut World) -> usize {
///     world.query_mut::<D>().len()
/// }
///
/// let mut world = World::new();
/// world.spawn(Mass(3));
/// assert_eq!(first::<&Mass>(&world).unwrap().0, 3);
/// assert_eq!(count::<&mut Mass>(&mut world), 1);
/// ```
///
/// # Safety
///
/// - `access` names every component that items and chunks touch, as written or as read.
/// - A row (`ItemRow`, `ItemRows`, `VisitedRow`, `ItemRef`) is the permission to touch it. It is good for the fetch or the view
///   that it was passed with, and for those of members of that query. A term makes at most one item of it.
/// - A fetch is that of a table that `matches`, or of aligned stores. Items and chunks made of it touch its rows only.
/// - The item that `at` makes touches its row only, whatever the state says. So items of two rows never overlap, except for
///   reading. A term may also read what its access names as read of other rows, which no term of the query writes.
/// - Items can be made and used on any thread.
/// - `IS_DENSE` is `false` if a term names a component outside of tables.
/// - `Static` is `Self` with `'static` for every lifetime. Two types with the same `Static` have the same `State`, `Fetch`
///   and behaviour, because the world caches what it finds under that type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query",
    label = "not a term of a query",
    note = "a component `C` is asked for as `&C` or `&mut C`; for other terms see `phalanx::query`"
)]
#[doc(alias = "WorldQuery")]
#[doc(alias = "Fetch")]
#[doc(alias = "view")]
pub unsafe trait QueryData {
    /// The same type with `'static` in place of all lifetimes.
    #[doc(hidden)]
    type Static: 'static;
    /// The data of one row.
    type Item<'w>;
    /// The data of all rows of a table.
    type Chunk<'w>;
    /// The ids of the components, and the change ticks of a run.
    #[doc(hidden)]
    type State: Clone + Send + Sync + 'static;
    /// A table, resolved; or [aligned stores](QueryData::fetch_aligned).
    #[doc(hidden)]
    type Fetch: Copy + 'static;
    /// What finds the components of a single row.
    #[doc(hidden)]
    type View: Copy + 'static;
    /// Whether a matching table has matching rows only, so that no row needs a test of its own.
    #[doc(hidden)]
    const IS_DENSE: bool;
    /// Whether it writes, filters by, or reads the ticks of a [tracked](crate::change_detection) component. Then what was resolved is good for one run.
    #[doc(hidden)]
    const TRACKS_CHANGES: bool = false;
    /// Whether `at` and `matches_row` use the location of a row in its table.
    #[doc(hidden)]
    const NEEDS_LOCATION: bool;

    /// Returns the ids of the components, as far as the world knows them.
    #[doc(hidden)]
    fn state(components: &Components) -> Self::State;

    /// Adds the components that are touched.
    #[doc(hidden)]
    fn access(access: &mut Access);

    /// Adds what is certain of the rows of every table that matches.
    ///
    /// # Safety
    ///
    /// `rows` is about data that match no table that these do not match.
    #[doc(hidden)]
    unsafe fn conditions(_rows: &mut RowConditions) {}

    /// Returns `true` if a table with this signature has every required component that is stored in tables.
    #[doc(hidden)]
    fn matches(state: &Self::State, signature: &Signature) -> bool;

    /// Returns `true` if [extra rows](crate::Key) are visited. Otherwise a query visits main rows only.
    #[doc(hidden)]
    fn visits_extra_rows(_: &Self::State) -> bool {
        false
    }

    /// Calls `each` with components that every matching row has.
    #[doc(hidden)]
    fn required(_: &Self::State, _: &mut dyn FnMut(ComponentId, Kind)) {}

    /// Calls `each` with components that no matching row has.
    #[doc(hidden)]
    fn excluded(_: &Self::State, _: &mut dyn FnMut(ComponentId)) {}

    /// Stores the change ticks of a run. Called before each run if `TRACKS_CHANGES`.
    #[doc(hidden)]
    fn set_ticks(_: &mut Self::State, _: RunTicks) {}

    /// Returns `true` if a matching table matches now, as far as columns are tracked as wholes.
    #[doc(hidden)]
    fn column_matches(_: &Self::State, _: TableRef<'_>) -> bool {
        true
    }

    /// Sets the change ticks of columns that are tracked as wholes and may be written: in a table, or without one, in sparse
    /// stores.
    #[doc(hidden)]
    fn set_column_ticks(_: &Self::State, _: &World, _: Option<u32>) {}

    /// Returns why a row does not match, if it does not.
    #[doc(hidden)]
    fn mismatch(state: &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        (!Self::matches(state, row.signature())).then(|| Mismatch::Missing(core::any::type_name::<Self>()))
    }

    /// Adds the components that the data name, or refuses to be [observed](World::observe), as data that write do.
    #[doc(hidden)]
    fn watch(watched: &mut Watched) {
        watched.refuse::<Self>();
    }

    /// Returns the item of a row as it was before an operation, if it matched. The row existed then.
    ///
    /// # Safety
    ///
    /// The state is that of the row's world. The displaced values of the operation are not dropped during `'w`.
    #[doc(hidden)]
    unsafe fn past<'w>(_: &Self::State, _: PastRow<'w>) -> Option<Self::Item<'w>> {
        None
    }

    /// Resolves a table.
    ///
    /// # Safety
    ///
    /// The query [is dense](QueryData::IS_DENSE). The state is the world's, and the table is one of its tables and matches.
    #[doc(hidden)]
    unsafe fn fetch(state: &Self::State, world: &World, table: u32) -> Self::Fetch;

    /// Calls `each` with the *sides*: the sparse components that rows may have or lack, which decide what their items are.
    ///
    /// Returns `false` if rows must be tested one by one for another reason. Otherwise a row that lacks all sides matches, and
    /// [`fetch_rows`](QueryData::fetch_rows) resolves rows.
    #[doc(hidden)]
    fn sides(_: &Self::State, _: &mut dyn FnMut(ComponentId)) -> bool {
        Self::IS_DENSE
    }

    /// Resolves one row of a table, if it matches; or without a row, all rows of the table that lack all sides.
    ///
    /// # Safety
    ///
    /// [`sides`](QueryData::sides) returned `true`. The state is the world's, and the table is one of its tables and matches. The
    /// row is one of the table. The fetch is used only for that row, or for rows that lack all sides.
    #[doc(hidden)]
    unsafe fn fetch_rows(
        state: &Self::State,
        TableRef { world, table }: TableRef<'_>,
        _: Option<VisitedRow>,
    ) -> Option<Self::Fetch> {
        // SAFETY: the query is dense, because this is the default of `sides`; the rest by the caller's contract.
        Some(unsafe { Self::fetch(state, world, table) })
    }

    /// Returns the sparse component of a term that names one and nothing else.
    #[doc(hidden)]
    fn side(_: &Self::State) -> Option<ComponentId> {
        None
    }

    /// Resolves the [side](QueryData::side) of a row, if the row has it: its store, and the row's position there.
    ///
    /// # Safety
    ///
    /// The state is the world's, and the row is one of it.
    #[doc(hidden)]
    unsafe fn fetch_side(_: &Self::State, _: &World, _: VisitedRow) -> Option<(Self::Fetch, usize)> {
        None
    }

    /// Resolves stores whose rows are aligned, if they hold all that is asked for and each of their rows matches.
    ///
    /// # Safety
    ///
    /// The state is that of the stores' world.
    #[doc(hidden)]
    unsafe fn fetch_aligned(state: &Self::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch>;

    /// Resolves a world for random access. `driver` is the component whose store the rows come from, if they do.
    ///
    /// # Safety
    ///
    /// The state is the world's. The view is used only while the world is borrowed and unchanged.
    #[doc(hidden)]
    unsafe fn view(state: &Self::State, world: &World, driver: Option<ComponentId>) -> Self::View;

    /// Resolves a table in a view, so that rows of it are found without asking for the table.
    ///
    /// A term that passes its rows on to another one passes this on too.
    #[inline(always)]
    #[doc(hidden)]
    fn settle(view: Self::View, _table: u32) -> Self::View {
        view
    }

    /// Whether [`matches_block`](QueryData::matches_block) tests rows, so that items of them are made without testing them again.
    #[doc(hidden)]
    const TESTS_BLOCKS: bool = false;

    /// Returns which of some rows may match: a bit for each.
    #[inline(always)]
    #[doc(hidden)]
    fn matches_block(_: &Self::State, _: &CandidateBlock<'_>) -> u64 {
        u64::MAX
    }

    /// Returns the item of a row that [`matches_block`](QueryData::matches_block) has tested, if it matches.
    #[inline(always)]
    #[doc(hidden)]
    fn at_tested<'w>(state: &Self::State, view: Self::View, row: ItemRef<'w>) -> Option<Self::Item<'w>> {
        Self::at(state, view, row)
    }

    /// Returns `true` if a row matches. Makes no item.
    #[doc(hidden)]
    fn matches_row(state: &Self::State, view: Self::View, row: VisitedRow) -> bool;

    /// Returns the item of a row, if it matches.
    #[doc(hidden)]
    fn at<'w>(state: &Self::State, view: Self::View, row: ItemRef<'w>) -> Option<Self::Item<'w>>;

    /// Hints to the processor that [`at`](QueryData::at) will need this row.
    #[inline(always)]
    #[doc(hidden)]
    fn prefetch(_: Self::View, _: VisitedRow) {}

    /// Returns the item of a row.
    #[doc(hidden)]
    fn row<'w>(fetch: Self::Fetch, row: ItemRow<'w>) -> Self::Item<'w>;

    /// Returns all rows of the table.
    #[doc(hidden)]
    fn chunk<'w>(fetch: Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w>;
}

/// [`QueryData`] that only reads, so that a shared world can be queried for it.
///
/// # Safety
///
/// [`QueryData::access`] names no component as written, and none is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not read-only query data",
    label = "this writes",
    note = "a component `C` is read as `&C`",
    note = "data that writes (`&mut C`) needs `World::query_mut`, and `iter_mut`, `get_mut` or `single_mut` of its query",
    note = "`Related` and `Up` only read, because several entities may have the same target"
)]
#[doc(alias = "ReadOnlyQuery")]
pub unsafe trait ReadOnlyQueryData: QueryData {}
