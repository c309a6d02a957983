//! A filter inside of query data.
//!
//! Internally every query is one: a `Query<D, F>` iterates over what `Filtered<D, F>` matches.
#![allow(unsafe_code)]

use super::{
    Access, AlignedStores, Candidate, CandidateBlock, ItemRef, ItemRow, ItemRows, Mismatch, QueryData, QueryFilter,
    ReadOnlyQueryData, RowConditions, TableRef, VisitedRow, Watched, WorldView,
};
use crate::change_detection::RunTicks;
use crate::component::{ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::Kind;
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;

/// The data `D` of rows that pass the filter `F`: a filter inside of query data.
///
/// A filter of a whole query is the second parameter of [`Query`](super::Query). This is for places where only a term fits,
/// such as `Option` or a field of a derived struct.
///
/// ```
/// use phalanx::query::Filtered;
/// use phalanx::{Component, With, World};
///
/// #[derive(Component)]
/// struct Health(i32);
/// #[derive(Component)]
/// struct Armour(i32);
/// #[derive(Component)]
/// struct Hero;
///
/// let mut world = World::new();
/// world.spawn((Health(5), Armour(2), Hero));
/// world.spawn((Health(5), Armour(2)));
/// let armour_of_heroes = |item: Option<&Armour>| item.map_or(0, |armour| armour.0);
/// let each: Vec<i32> =
///     world.query::<(&Health, Option<Filtered<&Armour, With<Hero>>>)>().iter().map(|(h, a)| h.0 + armour_of_heroes(a)).collect();
/// assert_eq!(each, [7, 5]);
/// ```
pub struct Filtered<D, F>(PhantomData<fn() -> (D, F)>);

impl<D, F> fmt::Debug for Filtered<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filtered")
    }
}

// SAFETY: it touches what `D` touches, in rows that `D` matches.
unsafe impl<D: QueryData, F: QueryFilter> QueryData for Filtered<D, F> {
    type Static = Filtered<D::Static, F>;
    type Item<'w> = D::Item<'w>;
    type Chunk<'w> = D::Chunk<'w>;
    type State = (D::State, F::State);
    type Fetch = D::Fetch;
    /// With the component whose store the rows come from.
    type View = (D::View, WorldView, Option<ComponentId>);
    const IS_DENSE: bool = D::IS_DENSE && F::IS_ARCHETYPAL;
    const NEEDS_LOCATION: bool = D::NEEDS_LOCATION;
    const TRACKS_CHANGES: bool = D::TRACKS_CHANGES || F::TRACKS_CHANGES;

    fn state(components: &Components) -> Self::State {
        (D::state(components), F::state(components))
    }

    fn access(access: &mut Access) {
        D::access(access);
        access.filter::<D, F>();
    }

    unsafe fn conditions(rows: &mut RowConditions) {
        // SAFETY: a table that matches is one that the data match, and whose rows pass the filter; the rest by the caller's
        // contract.
        unsafe { D::conditions(rows) };
        *rows = RowConditions::all([core::mem::take(rows), RowConditions::of::<F>()]);
    }

    fn matches((data, filter): &Self::State, signature: &Signature) -> bool {
        D::matches(data, signature) && F::passes(filter, signature)
    }

    #[inline(always)]
    fn visits_extra_rows((data, filter): &Self::State) -> bool {
        D::visits_extra_rows(data) || F::visits_extra_rows(filter)
    }

    fn set_ticks((data, filter): &mut Self::State, ticks: RunTicks) {
        if D::TRACKS_CHANGES {
            D::set_ticks(data, ticks);
        }
        if F::TRACKS_CHANGES {
            F::set_ticks(filter, ticks);
        }
    }

    #[inline(always)]
    fn column_matches((data, filter): &Self::State, table: TableRef<'_>) -> bool {
        (!D::TRACKS_CHANGES || D::column_matches(data, table))
            && (!F::TRACKS_CHANGES || F::column_matches(filter, table))
    }

    fn set_column_ticks((data, _): &Self::State, world: &World, table: Option<u32>) {
        if D::TRACKS_CHANGES {
            D::set_column_ticks(data, world, table);
        }
    }

    fn required((data, filter): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        D::required(data, each);
        F::required(filter, each);
    }

    fn excluded((data, filter): &Self::State, each: &mut dyn FnMut(ComponentId)) {
        D::excluded(data, each);
        F::excluded(filter, each);
    }

    fn mismatch((data, filter): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        D::mismatch(data, row).or_else(|| F::mismatch(filter, row))
    }

    fn watch(watched: &mut Watched) {
        D::watch(watched);
        F::watch(watched);
    }

    unsafe fn past<'w>((data, filter): &Self::State, row: PastRow<'w>) -> Option<D::Item<'w>> {
        // SAFETY: the caller's contract is that of the data.
        if F::passed(filter, row) { unsafe { D::past(data, row) } } else { None }
    }

    #[inline]
    unsafe fn fetch((data, _): &Self::State, world: &World, table: u32) -> D::Fetch {
        // SAFETY: the table matches, so it matches `D`; the rest by the caller's contract.
        unsafe { D::fetch(data, world, table) }
    }

    fn sides((data, filter): &Self::State, each: &mut dyn FnMut(ComponentId)) -> bool {
        D::sides(data, each) && F::sides(filter, each)
    }

    unsafe fn fetch_rows((data, filter): &Self::State, at: TableRef<'_>, row: Option<VisitedRow>) -> Option<D::Fetch> {
        let passes = |row| F::IS_ARCHETYPAL || F::passes_row(filter, &Candidate::of_row(at.world, row, None));
        // SAFETY: the table matches, so it matches `D`; the rest by the caller's contract.
        if row.is_none_or(passes) { unsafe { D::fetch_rows(data, at, row) } } else { None }
    }

    unsafe fn fetch_aligned((data, filter): &Self::State, stores: &AlignedStores<'_>) -> Option<D::Fetch> {
        // SAFETY: the state is that of the stores' world, by the caller's contract.
        unsafe { D::fetch_aligned(data, stores) }.filter(|_| F::passes_all(filter, stores))
    }

    #[inline(always)]
    unsafe fn view((data, _): &Self::State, world: &World, driver: Option<ComponentId>) -> Self::View {
        // SAFETY: the state is the world's, and the view is used in time, by the caller's contract.
        (unsafe { D::view(data, world, driver) }, WorldView::new(world), driver)
    }

    #[inline(always)]
    fn settle((view, world, known): Self::View, table: u32) -> Self::View {
        (D::settle(view, table), world, known)
    }

    const TESTS_BLOCKS: bool = !F::IS_ARCHETYPAL && F::TESTS_BLOCKS;

    #[inline(always)]
    fn matches_block((_, filter): &Self::State, rows: &CandidateBlock<'_>) -> u64 {
        F::passes_block(filter, rows)
    }

    #[inline(always)]
    fn at_tested<'w>(state: &Self::State, view: Self::View, row: ItemRef<'w>) -> Option<D::Item<'w>> {
        if Self::TESTS_BLOCKS { D::at(&state.0, view.0, row) } else { Self::at(state, view, row) }
    }

    #[inline(always)]
    fn matches_row((data, filter): &Self::State, (view, world, known): Self::View, row: VisitedRow) -> bool {
        F::passes_row(filter, &Candidate::of_row(world.of(&row), row, known)) && D::matches_row(data, view, row)
    }

    #[inline(always)]
    fn at<'w>((data, filter): &Self::State, (view, world, known): Self::View, row: ItemRef<'w>) -> Option<D::Item<'w>> {
        let visited = row.row();
        if F::passes_row(filter, &Candidate::of_row(world.of(&visited), visited, known)) {
            D::at(data, view, row)
        } else {
            None
        }
    }

    #[inline(always)]
    fn prefetch((view, ..): Self::View, row: VisitedRow) {
        D::prefetch(view, row);
    }

    #[inline(always)]
    fn row<'w>(fetch: D::Fetch, row: ItemRow<'w>) -> D::Item<'w> {
        D::row(fetch, row)
    }

    #[inline(always)]
    fn chunk<'w>(fetch: D::Fetch, rows: ItemRows<'w>) -> D::Chunk<'w> {
        D::chunk(fetch, rows)
    }
}

// SAFETY: it reads what `D` reads.
unsafe impl<D: ReadOnlyQueryData, F: QueryFilter> ReadOnlyQueryData for Filtered<D, F> {}
