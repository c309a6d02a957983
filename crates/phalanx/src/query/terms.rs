//! The terms of a query, one by one.
#![allow(unsafe_code)]

use super::{Access, Aligned, Candidate, Columns, Filter, Mismatch, Query, Reach, ReadOnlyQuery, Spot};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout};
use crate::signature::Signature;
use crate::track::{Look, Track};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::Entity;

// SAFETY: reads the component's lanes.
unsafe impl<C: Component> Query for &'static C {
    type Item<'w> = <C::Layout as Layout<C>>::Ref<'w>;
    type Chunk<'w> = <C::Layout as Layout<C>>::Slice<'w>;
    type State = ComponentId;
    type Fetch = <C::Layout as Layout<C>>::Ptr;
    type View = Reach<C>;
    const SIDES: bool = Reach::<C>::SIDE;
    const LOCATED: bool = !Reach::<C>::SIDE;

    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }

    fn access(access: &mut Access) {
        access.touch::<C>(false);
    }

    fn matches(state: &ComponentId, signature: &Signature) -> bool {
        Self::SIDES || signature.has(*state)
    }

    fn required(state: &ComponentId, each: &mut dyn FnMut(ComponentId, Kind)) {
        each(*state, C::Layout::KIND);
    }

    fn mismatch(state: &ComponentId, row: &Candidate<'_>) -> Option<Mismatch> {
        (!row.has_type::<C>(*state)).then(Mismatch::missing::<C>)
    }

    #[inline]
    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the table has the component, so the directory points at its lanes.
        unsafe { C::Layout::ptr(world.storage.lane(*state, table), Look::READ) }
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::get(fetch, row) }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: Self::Fetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::slice(fetch, len) }
    }

    unsafe fn aligned(state: &ComponentId, stores: &Aligned<'_>) -> Option<Self::Fetch> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { stores.values::<C>(*state, Look::READ) }
    }

    #[inline(always)]
    unsafe fn view(state: &ComponentId, world: &World, walked: Option<ComponentId>) -> Reach<C> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { Reach::new(*state, world, walked, Look::READ) }
    }

    #[inline(always)]
    unsafe fn holds(_: &ComponentId, view: Reach<C>, spot: Spot) -> bool {
        // SAFETY: the caller's promise.
        unsafe { view.has(spot) }
    }

    #[inline(always)]
    unsafe fn at<'w>(_: &ComponentId, view: Reach<C>, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise; what is found is in use.
        unsafe { view.find(spot).map(|(values, row)| C::Layout::get(values, row)) }
    }

    #[inline(always)]
    unsafe fn warm(view: Reach<C>, spot: Spot) {
        // SAFETY: the caller's promise.
        unsafe { view.warm(spot) };
    }
}

// SAFETY: reads only.
unsafe impl<C: Component> ReadOnlyQuery for &'static C {}

/// A component that is written, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    id: ComponentId,
    look: Look,
}

// SAFETY: writes the component's lanes.
unsafe impl<C: Component> Query for &'static mut C {
    type Item<'w> = <C::Layout as Layout<C>>::Mut<'w>;
    type Chunk<'w> = <C::Layout as Layout<C>>::SliceMut<'w>;
    type State = Target;
    type Fetch = <C::Layout as Layout<C>>::Ptr;
    type View = Reach<C>;
    const SIDES: bool = Reach::<C>::SIDE;
    const LOCATED: bool = !Reach::<C>::SIDE;
    const LIVE: bool = !matches!(C::Layout::TRACK, Track::None);

    fn look(state: &mut Target, look: Look) {
        state.look = look;
    }

    unsafe fn mark(state: &Target, world: &World, table: Option<u32>) {
        if C::Layout::TRACK != Track::Column {
            return;
        }
        let lanes = match table {
            Some(table) => world.storage.lane(state.id, table),
            None => world.storage.sides.of(state.id).map_or(core::ptr::null_mut(), |side| side.values().lane()),
        };
        if !lanes.is_null() {
            // SAFETY: the lanes are this component's.
            unsafe { C::Layout::touch(lanes, state.look.now) };
        }
    }

    fn state(components: &Components) -> Target {
        Target { id: components.id::<C>(), look: Look::default() }
    }

    fn access(access: &mut Access) {
        access.touch::<C>(true);
    }

    fn matches(state: &Target, signature: &Signature) -> bool {
        Self::SIDES || signature.has(state.id)
    }

    fn required(state: &Target, each: &mut dyn FnMut(ComponentId, Kind)) {
        each(state.id, C::Layout::KIND);
    }

    fn mismatch(state: &Target, row: &Candidate<'_>) -> Option<Mismatch> {
        (!row.has_type::<C>(state.id)).then(Mismatch::missing::<C>)
    }

    #[inline]
    unsafe fn fetch(state: &Target, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the table has the component, so the directory points at its lanes.
        unsafe { C::Layout::ptr(world.storage.lane(state.id, table), state.look) }
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::get_mut(fetch, row) }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: Self::Fetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::slice_mut(fetch, len) }
    }

    unsafe fn aligned(state: &Target, stores: &Aligned<'_>) -> Option<Self::Fetch> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { stores.values::<C>(state.id, state.look) }
    }

    #[inline(always)]
    unsafe fn view(state: &Target, world: &World, walked: Option<ComponentId>) -> Reach<C> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { Reach::new(state.id, world, walked, state.look) }
    }

    #[inline(always)]
    unsafe fn holds(_: &Target, view: Reach<C>, spot: Spot) -> bool {
        // SAFETY: the caller's promise.
        unsafe { view.has(spot) }
    }

    #[inline(always)]
    unsafe fn at<'w>(_: &Target, view: Reach<C>, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise; what is found is in use.
        unsafe { view.find(spot).map(|(values, row)| C::Layout::get_mut(values, row)) }
    }

    #[inline(always)]
    unsafe fn warm(view: Reach<C>, spot: Spot) {
        // SAFETY: the caller's promise.
        unsafe { view.warm(spot) };
    }
}

// SAFETY: touches what `T` touches, in tables that `T` matches.
unsafe impl<T: Query> Query for Option<T> {
    type Item<'w> = Option<T::Item<'w>>;
    type Chunk<'w> = Option<T::Chunk<'w>>;
    type State = T::State;
    type Fetch = Option<T::Fetch>;
    type View = T::View;
    const SIDES: bool = T::SIDES;
    const LOCATED: bool = T::LOCATED;

    fn state(components: &Components) -> T::State {
        T::state(components)
    }

    fn access(access: &mut Access) {
        T::access(access);
    }

    fn matches(_: &T::State, _: &Signature) -> bool {
        true
    }

    fn rows(state: &T::State) -> bool {
        T::rows(state)
    }

    fn required(_: &T::State, _: &mut dyn FnMut(ComponentId, Kind)) {}

    const LIVE: bool = T::LIVE;

    fn look(state: &mut T::State, look: Look) {
        T::look(state, look);
    }

    unsafe fn mark(state: &T::State, world: &World, table: Option<u32>) {
        let has = |table: u32| {
            T::matches(state, &world.storage.tables[table as usize].signature)
                && T::live(state, Columns { world, table })
        };
        if table.is_none_or(has) {
            // SAFETY: the caller's promise.
            unsafe { T::mark(state, world, table) };
        }
    }

    unsafe fn fetch(state: &T::State, world: &World, table: u32) -> Self::Fetch {
        let matches = T::matches(state, &world.storage.tables[table as usize].signature)
            && (!T::LIVE || T::live(state, Columns { world, table }));
        // SAFETY: the table matches.
        matches.then(|| unsafe { T::fetch(state, world, table) })
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's promise.
        fetch.map(|fetch| unsafe { T::row(fetch, row) })
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: Self::Fetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the caller's promise.
        fetch.map(|fetch| unsafe { T::chunk(fetch, len) })
    }

    unsafe fn aligned(state: &T::State, stores: &Aligned<'_>) -> Option<Self::Fetch> {
        // SAFETY: the caller's promise.
        unsafe { T::aligned(state, stores) }.map(Some)
    }

    #[inline(always)]
    unsafe fn view(state: &T::State, world: &World, walked: Option<ComponentId>) -> T::View {
        // SAFETY: the caller's promise.
        unsafe { T::view(state, world, walked) }
    }

    #[inline(always)]
    unsafe fn holds(_: &T::State, _: T::View, _: Spot) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>(state: &T::State, view: T::View, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise.
        Some(unsafe { T::at(state, view, spot) })
    }
}

// SAFETY: reads what `T` reads.
unsafe impl<T: ReadOnlyQuery> ReadOnlyQuery for Option<T> {}

/// Whether the entity has `C`.
pub struct Has<C>(PhantomData<fn() -> C>);

impl<C> fmt::Debug for Has<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Has")
    }
}

// SAFETY: touches nothing.
unsafe impl<C: Component> Query for Has<C> {
    type Item<'w> = bool;
    type Chunk<'w> = bool;
    type State = ComponentId;
    type Fetch = bool;
    type View = Reach<C>;
    const SIDES: bool = Reach::<C>::SIDE;
    const LOCATED: bool = !Reach::<C>::SIDE;

    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }

    fn access(_: &mut Access) {}

    fn matches(_: &ComponentId, _: &Signature) -> bool {
        true
    }

    fn required(_: &ComponentId, _: &mut dyn FnMut(ComponentId, Kind)) {}

    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> bool {
        world.storage.tables[table as usize].signature.has(*state)
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: bool, _: usize) -> Self::Item<'w> {
        fetch
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: bool, _: usize) -> Self::Chunk<'w> {
        fetch
    }

    unsafe fn aligned(state: &ComponentId, stores: &Aligned<'_>) -> Option<bool> {
        let known = [stores.has(*state), stores.lacks(*state)];
        (known != [false, false]).then_some(known[0])
    }

    #[inline(always)]
    unsafe fn view(state: &ComponentId, world: &World, walked: Option<ComponentId>) -> Reach<C> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { Reach::new(*state, world, walked, Look::READ) }
    }

    #[inline(always)]
    unsafe fn holds(_: &ComponentId, _: Reach<C>, _: Spot) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>(_: &ComponentId, view: Reach<C>, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise.
        Some(unsafe { view.has(spot) })
    }
}

// SAFETY: touches nothing.
unsafe impl<C: Component> ReadOnlyQuery for Has<C> {}

// SAFETY: reads the entity lane, which no query writes.
unsafe impl Query for Entity {
    type Item<'w> = Entity;
    type Chunk<'w> = &'w [Entity];
    type State = ();
    type Fetch = NonNull<Entity>;
    type View = NonNull<World>;
    const SIDES: bool = false;
    const LOCATED: bool = false;

    fn state(_: &Components) {}

    fn access(_: &mut Access) {}

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    fn required((): &(), _: &mut dyn FnMut(ComponentId, Kind)) {}

    unsafe fn fetch((): &(), world: &World, table: u32) -> NonNull<Entity> {
        NonNull::from(world.storage.tables[table as usize].entities()).cast()
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: NonNull<Entity>, row: usize) -> Self::Item<'w> {
        // SAFETY: the row is in use.
        unsafe { *fetch.add(row).as_ptr() }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: NonNull<Entity>, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the rows are in use.
        unsafe { core::slice::from_raw_parts(fetch.as_ptr(), len) }
    }

    unsafe fn aligned((): &(), stores: &Aligned<'_>) -> Option<NonNull<Entity>> {
        stores.entities()
    }

    #[inline(always)]
    unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    #[inline(always)]
    unsafe fn holds((): &(), _: NonNull<World>, _: Spot) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>((): &(), view: NonNull<World>, spot: Spot) -> Option<Self::Item<'w>> {
        // SAFETY: the world is borrowed; where the slot is that of an extra row, it has an owner.
        unsafe { Some(view.as_ref().storage.owner_of(spot.key(view.as_ref()))) }
    }
}

// SAFETY: reads only.
unsafe impl ReadOnlyQuery for Entity {}

/// What `Q` asks for, of entities that pass the filter `F` too: a filter inside a query type.
///
/// [`World::query_mut`] and the others have `filter` for that; this is for places where only a query type fits, such as
/// [`World::queries_mut`], a field of a derived query, or `Option`.
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
pub struct Filtered<Q, F>(PhantomData<fn() -> (Q, F)>);

impl<Q, F> fmt::Debug for Filtered<Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filtered")
    }
}

// SAFETY: touches what `Q` touches, in tables that `Q` matches.
unsafe impl<Q: Query, F: Filter> Query for Filtered<Q, F> {
    type Item<'w> = Q::Item<'w>;
    type Chunk<'w> = Q::Chunk<'w>;
    type State = (Q::State, F::State);
    type Fetch = Q::Fetch;
    /// With the component that is walked.
    type View = (Q::View, NonNull<World>, Option<ComponentId>);
    const SIDES: bool = Q::SIDES || F::SIDES;
    const LOCATED: bool = Q::LOCATED;

    fn state(components: &Components) -> Self::State {
        (Q::state(components), F::state(components))
    }

    fn access(access: &mut Access) {
        Q::access(access);
        access.filter::<Q, F>();
    }

    fn matches((terms, filter): &Self::State, signature: &Signature) -> bool {
        Q::matches(terms, signature) && F::passes(filter, signature)
    }

    fn rows((terms, filter): &Self::State) -> bool {
        Q::rows(terms) || F::rows(filter)
    }

    const LIVE: bool = Q::LIVE || F::LIVE;

    fn look((terms, filter): &mut Self::State, look: Look) {
        Q::look(terms, look);
        F::look(filter, look);
    }

    fn live((terms, filter): &Self::State, columns: Columns<'_>) -> bool {
        Q::live(terms, columns) && F::live(filter, columns)
    }

    unsafe fn mark((terms, _): &Self::State, world: &World, table: Option<u32>) {
        // SAFETY: the caller's promise.
        unsafe { Q::mark(terms, world, table) };
    }

    fn required((terms, filter): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
        Q::required(terms, each);
        F::required(filter, each);
    }

    fn excluded((terms, filter): &Self::State, each: &mut dyn FnMut(ComponentId)) {
        Q::excluded(terms, each);
        F::excluded(filter, each);
    }

    fn mismatch((terms, filter): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        Q::mismatch(terms, row).or_else(|| F::mismatch(filter, row))
    }

    #[inline]
    unsafe fn fetch((terms, _): &Self::State, world: &World, table: u32) -> Q::Fetch {
        // SAFETY: the table matches, so it matches `Q`.
        unsafe { Q::fetch(terms, world, table) }
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: Q::Fetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's promise.
        unsafe { Q::row(fetch, row) }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: Q::Fetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the caller's promise.
        unsafe { Q::chunk(fetch, len) }
    }

    unsafe fn aligned((terms, filter): &Self::State, stores: &Aligned<'_>) -> Option<Q::Fetch> {
        // SAFETY: the caller's promise.
        unsafe { Q::aligned(terms, stores) }.filter(|_| F::settled(filter, stores))
    }

    #[inline(always)]
    unsafe fn view((terms, _): &Self::State, world: &World, walked: Option<ComponentId>) -> Self::View {
        // SAFETY: the caller's promise.
        (unsafe { Q::view(terms, world, walked) }, NonNull::from(world), walked)
    }

    #[inline(always)]
    unsafe fn holds((terms, filter): &Self::State, (view, world, known): Self::View, spot: Spot) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let row = Candidate::new(world.as_ref(), spot.index, known);
            F::passes_row(filter, &row) && Q::holds(terms, view, spot)
        }
    }

    #[inline(always)]
    unsafe fn at<'w>(
        (terms, filter): &Self::State,
        (view, world, known): Self::View,
        spot: Spot,
    ) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise.
        unsafe {
            let row = Candidate::new(world.as_ref(), spot.index, known);
            if F::passes_row(filter, &row) { Q::at(terms, view, spot) } else { None }
        }
    }

    #[inline(always)]
    unsafe fn warm((view, ..): Self::View, spot: Spot) {
        // SAFETY: the caller's promise.
        unsafe { Q::warm(view, spot) };
    }
}

// SAFETY: reads what `Q` reads.
unsafe impl<Q: ReadOnlyQuery, F: Filter> ReadOnlyQuery for Filtered<Q, F> {}
