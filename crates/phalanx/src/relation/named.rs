//! [`Named`]: the name of an entity, as a term of queries.
#![allow(unsafe_code)]

use crate::component::{ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::{Kind, Layout};
use crate::names::{Name, NameOf};
use crate::query::{
    Access, AlignedStores, Candidate, ComponentFetch, ComponentState, ItemRef, ItemRow, ItemRows, Mismatch, QueryData,
    ReadOnlyQueryData, VisitedRow, Watched,
};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;

/// A term that yields the [`Name`] of the entity. It matches entities that have one.
///
/// ```
/// use phalanx::relation::Named;
/// use phalanx::{Component, Entity, World};
///
/// #[derive(Component)]
/// struct Mass(u32);
///
/// let mut world = World::new();
/// let sun = world.spawn_named("sun", Mass(1000))?;
/// world.spawn(Mass(1));
/// let (entity, name, mass) = world.query::<(Entity, Named, &Mass)>().single().unwrap();
/// assert_eq!((entity, name.as_str(), mass.0), (sun, "sun", 1000));
///
/// // An option matches every entity.
/// let named = world.query::<(&Mass, Option<Named>)>();
/// assert!(named.iter().map(|(mass, name)| (mass.0, name.is_some())).eq([(1000, true), (1, false)]));
/// # Ok::<(), phalanx::NameError>(())
/// ```
///
/// Names are not written by queries, so the term conflicts with no other. A query with it can be [observed](World::observe).
#[derive(Debug)]
pub enum Named {}

/// What the term does.
type Term = &'static NameOf;

/// What finds the names of rows.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct NamedView(ComponentFetch<NameOf>);

/// The names of aligned stores.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct NamedFetch(<<NameOf as crate::Component>::Layout as Layout<NameOf>>::Ptr);

impl fmt::Debug for NamedView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NamedView")
    }
}

impl fmt::Debug for NamedFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NamedFetch")
    }
}

// SAFETY: it does what the term of a component does that reads it.
unsafe impl QueryData for Named {
    type Static = Named;
    type Item<'w> = &'w Name;
    type Chunk<'w> = &'w [Name];
    type State = ComponentState;
    type Fetch = NamedFetch;
    type View = NamedView;
    const IS_DENSE: bool = Term::IS_DENSE;
    const NEEDS_LOCATION: bool = Term::NEEDS_LOCATION;

    fn state(components: &Components) -> ComponentState {
        Term::state(components)
    }

    fn access(access: &mut Access) {
        Term::access(access);
    }

    fn matches(state: &ComponentState, signature: &Signature) -> bool {
        Term::matches(state, signature)
    }

    fn required(state: &ComponentState, each: &mut dyn FnMut(ComponentId, Kind)) {
        Term::required(state, each);
    }

    fn mismatch(state: &ComponentState, row: &Candidate<'_>) -> Option<Mismatch> {
        Term::mismatch(state, row).map(|_| Mismatch::Missing(core::any::type_name::<Named>()))
    }

    fn watch(watched: &mut Watched) {
        Term::watch(watched);
    }

    unsafe fn past<'w>(state: &ComponentState, row: PastRow<'w>) -> Option<&'w Name> {
        // SAFETY: the caller's contract is that of the term.
        unsafe { Term::past(state, row) }.map(|name| &name.0)
    }

    unsafe fn fetch(state: &ComponentState, world: &World, table: u32) -> NamedFetch {
        // SAFETY: the caller's contract is that of the term.
        NamedFetch(unsafe { Term::fetch(state, world, table) })
    }

    unsafe fn fetch_aligned(state: &ComponentState, stores: &AlignedStores<'_>) -> Option<NamedFetch> {
        // SAFETY: the caller's contract is that of the term.
        unsafe { Term::fetch_aligned(state, stores) }.map(NamedFetch)
    }

    #[inline(always)]
    unsafe fn view(state: &ComponentState, world: &World, driver: Option<ComponentId>) -> NamedView {
        // SAFETY: the caller's contract is that of the term.
        NamedView(unsafe { Term::view(state, world, driver) })
    }

    #[inline(always)]
    fn settle(view: NamedView, table: u32) -> NamedView {
        NamedView(Term::settle(view.0, table))
    }

    #[inline(always)]
    fn matches_row(state: &ComponentState, view: NamedView, row: VisitedRow) -> bool {
        Term::matches_row(state, view.0, row)
    }

    #[inline(always)]
    fn at<'w>(state: &ComponentState, view: NamedView, row: ItemRef<'w>) -> Option<&'w Name> {
        Term::at(state, view.0, row).map(|name| &name.0)
    }

    #[inline(always)]
    fn prefetch(view: NamedView, row: VisitedRow) {
        Term::prefetch(view.0, row);
    }

    #[inline(always)]
    fn row<'w>(fetch: NamedFetch, row: ItemRow<'w>) -> &'w Name {
        &Term::row(fetch.0, row).0
    }

    #[inline(always)]
    fn chunk<'w>(fetch: NamedFetch, rows: ItemRows<'w>) -> &'w [Name] {
        NameOf::names(Term::chunk(fetch.0, rows))
    }
}

// SAFETY: it only reads.
unsafe impl ReadOnlyQueryData for Named {}
