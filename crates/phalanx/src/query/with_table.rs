//! [`WithTable`]: chunks with the other columns of their table.
#![allow(unsafe_code)]

use super::{
    Access, AlignedStores, Candidate, ItemRef, ItemRow, ItemRows, Mismatch, QueryData, ReadOnlyQueryData,
    RowConditions, TableRef, VisitedRow, Watched, WorldView,
};
use crate::change_detection::RunTicks;
use crate::component::{Component, ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::{Kind, Layout, TableLayout};
use crate::signature::Signature;
use crate::world::World;
use core::any::{TypeId, type_name};
use core::fmt;
use core::marker::PhantomData;

/// The data `D`, whose chunks come with the other columns of their table.
///
/// Row by row it is the same as `D`. With [`chunks`](super::Query::chunks), each item is a pair of the chunk of `D` and the
/// [`TableColumns`] of its table, in which any other component can be read.
///
/// ```
/// use phalanx::query::WithTable;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Wind(f32);
///
/// let mut world = World::new();
/// world.spawn_batch((0..3).map(|n| (Position(0.0), Wind(n as f32))));
/// world.spawn(Position(0.0));
/// for (positions, table) in world.query_mut::<WithTable<&mut Position>>().chunks() {
///     match table.column::<Wind>() {
///         Some(winds) => positions.iter_mut().zip(winds).for_each(|(position, wind)| position.0 += wind.0),
///         None => positions.iter_mut().for_each(|position| position.0 -= 1.0),
///     }
/// }
/// assert!(world.query::<&Position>().iter().map(|position| position.0).eq([0.0, 1.0, 2.0, -1.0]));
/// ```
///
/// Such a query may read any component that `D` does not write. So it conflicts with every other query that writes one of
/// those, in [`World::queries_mut`](crate::World::queries_mut) and among the parameters of systems. It also conflicts with terms
/// beside it that write.
#[doc(alias = "Archetype")]
#[doc(alias = "get")]
pub struct WithTable<D>(PhantomData<fn() -> D>);

impl<D> fmt::Debug for WithTable<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WithTable")
    }
}

/// The columns of a table that a query does not write: a part of the chunks of [`WithTable`].
#[derive(Clone, Copy)]
pub struct TableColumns<'w> {
    world: &'w World,
    table: u32,
    len: usize,
    /// Returns `true` if the query writes a component.
    writes: fn(TypeId) -> bool,
}

impl<'w> TableColumns<'w> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no rows, which is never so.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns `true` if the table has a component, whether the query writes it or not.
    pub fn has<C: Component>(&self) -> bool
    where
        C::Layout: TableLayout<C>,
    {
        !self.world.storage.lane(self.world.storage.components.id::<C>(), self.table).is_null()
    }

    /// Returns the values of a component, in the order of the rows, or `None` if the table does not have it.
    ///
    /// A component outside of tables has no column, and does not compile:
    ///
    /// ```compile_fail,E0277
    /// use phalanx::query::WithTable;
    /// use phalanx::{Component, Entity, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Burning;
    ///
    /// let world = World::new();
    /// for (_, table) in world.query::<WithTable<Entity>>().chunks() {
    ///     table.column::<Burning>();
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the query writes the component. Its values are in the chunk.
    #[doc(alias = "get")]
    #[track_caller]
    pub fn column<C: Component>(&self) -> Option<<C::Layout as Layout<C>>::Slice<'w>>
    where
        C::Layout: TableLayout<C>,
    {
        assert!(
            !(self.writes)(TypeId::of::<C>()),
            "the query writes {}: its values are in the chunk",
            type_name::<C>()
        );
        let lane = self.world.storage.lane(self.world.storage.components.id::<C>(), self.table);
        // SAFETY: the table has the component, whose id was found by its type, and the first `len` rows are in use. This query
        // does not write it, and no other one does while this value lives, by the access of `WithTable`.
        (!lane.is_null()).then(|| unsafe { C::Layout::slice(C::Layout::ptr(lane, RunTicks::READ), self.len) })
    }
}

impl fmt::Debug for TableColumns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableColumns({} rows)", self.len)
    }
}

fn writes<D: QueryData>(key: TypeId) -> bool {
    Access::of_data::<D>().writes_type(key)
}

/// The table of a fetch of aligned stores, which are not a table.
const NO_TABLE: u32 = u32::MAX;

// SAFETY: it touches what `D` touches, in rows that `D` matches, and declares that it reads everything else.
unsafe impl<D: QueryData> QueryData for WithTable<D> {
    type Static = WithTable<D::Static>;
    type Item<'w> = D::Item<'w>;
    type Chunk<'w> = (D::Chunk<'w>, TableColumns<'w>);
    type State = D::State;
    type Fetch = (D::Fetch, WorldView, u32);
    type View = D::View;
    const IS_DENSE: bool = D::IS_DENSE;
    const NEEDS_LOCATION: bool = D::NEEDS_LOCATION;
    const TRACKS_CHANGES: bool = D::TRACKS_CHANGES;

    fn state(components: &Components) -> D::State {
        D::state(components)
    }

    fn access(access: &mut Access) {
        D::access(access);
        access.read_unwritten::<D>();
    }

    unsafe fn conditions(rows: &mut RowConditions) {
        // SAFETY: the caller's contract is that of the data.
        unsafe { D::conditions(rows) };
    }

    fn matches(state: &D::State, signature: &Signature) -> bool {
        D::matches(state, signature)
    }

    fn visits_extra_rows(state: &D::State) -> bool {
        D::visits_extra_rows(state)
    }

    fn required(state: &D::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        D::required(state, each);
    }

    fn excluded(state: &D::State, each: &mut dyn FnMut(ComponentId)) {
        D::excluded(state, each);
    }

    fn set_ticks(state: &mut D::State, ticks: RunTicks) {
        D::set_ticks(state, ticks);
    }

    fn column_matches(state: &D::State, table: TableRef<'_>) -> bool {
        D::column_matches(state, table)
    }

    fn set_column_ticks(state: &D::State, world: &World, table: Option<u32>) {
        D::set_column_ticks(state, world, table);
    }

    fn mismatch(state: &D::State, row: &Candidate<'_>) -> Option<Mismatch> {
        D::mismatch(state, row)
    }

    fn watch(watched: &mut Watched) {
        D::watch(watched);
    }

    unsafe fn past<'w>(state: &D::State, row: PastRow<'w>) -> Option<D::Item<'w>> {
        // SAFETY: the caller's contract is that of the data.
        unsafe { D::past(state, row) }
    }

    #[inline]
    unsafe fn fetch(state: &D::State, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the caller's contract is that of the data.
        (unsafe { D::fetch(state, world, table) }, WorldView::new(world), table)
    }

    unsafe fn fetch_aligned(state: &D::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        // SAFETY: the caller's contract is that of the data.
        let fetch = unsafe { D::fetch_aligned(state, stores) }?;
        Some((fetch, WorldView::new(stores.world), NO_TABLE))
    }

    #[inline(always)]
    unsafe fn view(state: &D::State, world: &World, driver: Option<ComponentId>) -> D::View {
        // SAFETY: the caller's contract is that of the data.
        unsafe { D::view(state, world, driver) }
    }

    #[inline(always)]
    fn settle(view: D::View, table: u32) -> D::View {
        D::settle(view, table)
    }

    #[inline(always)]
    fn matches_row(state: &D::State, view: D::View, row: VisitedRow) -> bool {
        D::matches_row(state, view, row)
    }

    #[inline(always)]
    fn at<'w>(state: &D::State, view: D::View, row: ItemRef<'w>) -> Option<D::Item<'w>> {
        D::at(state, view, row)
    }

    #[inline(always)]
    fn prefetch(view: D::View, row: VisitedRow) {
        D::prefetch(view, row);
    }

    #[inline(always)]
    fn row<'w>((fetch, ..): Self::Fetch, row: ItemRow<'w>) -> D::Item<'w> {
        D::row(fetch, row)
    }

    #[inline(always)]
    fn chunk<'w>((fetch, world, table): Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w> {
        let columns = TableColumns { world: world.of_rows(rows), table, len: rows.len(), writes: writes::<D> };
        (D::chunk(fetch, rows), columns)
    }
}

// SAFETY: it reads what `D` reads, and other components.
unsafe impl<D: ReadOnlyQueryData> ReadOnlyQueryData for WithTable<D> {}
