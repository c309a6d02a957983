//! The terms of a query, one by one.
#![allow(unsafe_code)]

use super::{Access, Filter, Mismatch, Query, ReadOnlyQuery};
use crate::component::{Component, ComponentId, Components};
use crate::layout::Layout;
use crate::signature::Signature;
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

    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }

    fn access(access: &mut Access) {
        access.touch::<C>(false);
    }

    fn matches(state: &ComponentId, signature: &Signature) -> bool {
        signature.has(*state)
    }

    fn mismatch(state: &ComponentId, signature: &Signature) -> Option<Mismatch> {
        (!signature.has(*state)).then(Mismatch::missing::<C>)
    }

    #[inline]
    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the table has the component, so the directory points at its lanes.
        unsafe { C::Layout::ptr(world.lane(*state, table)) }
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
}

// SAFETY: reads only.
unsafe impl<C: Component> ReadOnlyQuery for &'static C {}

// SAFETY: writes the component's lanes.
unsafe impl<C: Component> Query for &'static mut C {
    type Item<'w> = <C::Layout as Layout<C>>::Mut<'w>;
    type Chunk<'w> = <C::Layout as Layout<C>>::SliceMut<'w>;
    type State = ComponentId;
    type Fetch = <C::Layout as Layout<C>>::Ptr;

    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }

    fn access(access: &mut Access) {
        access.touch::<C>(true);
    }

    fn matches(state: &ComponentId, signature: &Signature) -> bool {
        signature.has(*state)
    }

    fn mismatch(state: &ComponentId, signature: &Signature) -> Option<Mismatch> {
        (!signature.has(*state)).then(Mismatch::missing::<C>)
    }

    #[inline]
    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the table has the component, so the directory points at its lanes.
        unsafe { C::Layout::ptr(world.lane(*state, table)) }
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
}

// SAFETY: touches what `T` touches, in tables that `T` matches.
unsafe impl<T: Query> Query for Option<T> {
    type Item<'w> = Option<T::Item<'w>>;
    type Chunk<'w> = Option<T::Chunk<'w>>;
    type State = T::State;
    type Fetch = Option<T::Fetch>;

    fn state(components: &Components) -> T::State {
        T::state(components)
    }

    fn access(access: &mut Access) {
        T::access(access);
    }

    fn matches(_: &T::State, _: &Signature) -> bool {
        true
    }

    unsafe fn fetch(state: &T::State, world: &World, table: u32) -> Self::Fetch {
        let matches = T::matches(state, &world.tables[table as usize].signature);
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

    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }

    fn access(_: &mut Access) {}

    fn matches(_: &ComponentId, _: &Signature) -> bool {
        true
    }

    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> bool {
        world.tables[table as usize].signature.has(*state)
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: bool, _: usize) -> Self::Item<'w> {
        fetch
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: bool, _: usize) -> Self::Chunk<'w> {
        fetch
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

    fn state(_: &Components) {}

    fn access(_: &mut Access) {}

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    unsafe fn fetch((): &(), world: &World, table: u32) -> NonNull<Entity> {
        NonNull::from(world.tables[table as usize].entities()).cast()
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

    fn state(components: &Components) -> Self::State {
        (Q::state(components), F::state(components))
    }

    fn access(access: &mut Access) {
        Q::access(access);
    }

    fn matches((terms, filter): &Self::State, signature: &Signature) -> bool {
        Q::matches(terms, signature) && F::passes(filter, signature)
    }

    fn mismatch((terms, filter): &Self::State, signature: &Signature) -> Option<Mismatch> {
        Q::mismatch(terms, signature).or_else(|| F::mismatch(filter, signature))
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
}

// SAFETY: reads what `Q` reads.
unsafe impl<Q: ReadOnlyQuery, F: Filter> ReadOnlyQuery for Filtered<Q, F> {}
