//! Queries: all entities that have certain components.
//!
//! A query type is a term or a tuple of terms:
//!
//! | term | matches | yields |
//! |---|---|---|
//! | `&C`, `&mut C` | entities that have `C` | its value: a reference, or for soa components the value and a struct of references |
//! | `Option<T>` | all | what `T` yields, if `T` matches |
//! | [`Has<C>`] | all | whether the entity has `C` |
//! | [`Entity`] | all | the entity |
//!
//! Filters say what else an entity must have or lack: [`With`], [`Without`], tuples of them (all), [`Or`] (one of them).
#![allow(unsafe_code)]

pub(crate) mod cache;
mod filter;
mod iter;
mod run;

pub use filter::{Filter, Or, With, Without};
pub use iter::{Chunks, Iter};
pub use run::{QueryMut, QueryRef, QueryState};

use crate::bundle::all_tuples;
use crate::component::{Component, ComponentId, Components};
use crate::layout::Layout;
use crate::signature::Signature;
use crate::world::World;
use core::any::TypeId;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// What a query asks for. Sealed by being unsafe to implement: use the terms of [the module](self).
///
/// The lifetimes in a query type mean nothing: what is yielded lives as long as the world is borrowed. In the type of a
/// field or the argument of a function they are written `'static`; in a call they need not be written.
///
/// # Safety
///
/// [`access`](Query::access) names every component that [`row`](Query::row) and [`chunk`](Query::chunk) touch, as written
/// or as read; with a fetch of a table that [`matches`](Query::matches), they touch only its rows.
pub unsafe trait Query: 'static {
    /// What is yielded for a row.
    type Item<'w>;
    /// What is yielded for a table.
    type Chunk<'w>;
    /// The ids of the components. The world keeps it, and goes where it wants with it.
    type State: Clone + Send + Sync + 'static;
    /// A table, resolved.
    type Fetch: Copy;

    /// The ids of the components, as far as the world knows them.
    fn state(components: &Components) -> Self::State;
    /// Names the components that are touched.
    fn access(access: &mut Access);
    /// Whether a table with this signature has what is asked for.
    fn matches(state: &Self::State, signature: &Signature) -> bool;

    /// Resolves a table.
    ///
    /// # Safety
    ///
    /// The state is the world's, and the table is one of its tables and matches.
    unsafe fn fetch(state: &Self::State, world: &World, table: u32) -> Self::Fetch;

    /// The item of a row.
    ///
    /// # Safety
    ///
    /// The row is in use, and no other item that is alive touches it in a conflicting way.
    unsafe fn row<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w>;

    /// The rows of the table.
    ///
    /// # Safety
    ///
    /// `len` rows are in use, and no item that is alive touches them in a conflicting way.
    unsafe fn chunk<'w>(fetch: Self::Fetch, len: usize) -> Self::Chunk<'w>;
}

/// A query that writes nothing.
///
/// # Safety
///
/// [`Query::access`] names no component as written, and none is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` writes: a shared world cannot be queried for it",
    note = "use `World::query_mut`, or ask for `&C` instead of `&mut C`"
)]
pub unsafe trait ReadOnlyQuery: Query {}

/// The components that a query reads and writes.
#[derive(Debug, Default)]
pub struct Access {
    touched: Vec<(TypeId, &'static str, bool)>,
    conflict: Option<&'static str>,
}

impl Access {
    /// What a query touches.
    ///
    /// # Panics
    ///
    /// If it would alias: if it writes a component that it names another time.
    #[track_caller]
    pub fn of<Q: Query>() -> Access {
        let mut access = Access::default();
        Q::access(&mut access);
        if let Some(component) = access.conflict {
            let query = core::any::type_name::<Q>();
            panic!("the query {query} would alias: it writes {component} and names it twice");
        }
        access
    }

    fn touch<C: Component>(&mut self, writes: bool) {
        let key = TypeId::of::<C>();
        let name = core::any::type_name::<C>();
        if self.touched.iter().any(|(other, _, written)| *other == key && (*written || writes)) {
            self.conflict.get_or_insert(name);
        }
        self.touched.push((key, name, writes));
    }

    /// The components that are written.
    pub fn writes(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.touched.iter().filter(|t| t.2).map(|t| t.1)
    }

    /// The components that are only read.
    pub fn reads(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.touched.iter().filter(|t| !t.2).map(|t| t.1)
    }
}

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

macro_rules! tuple_query {
    ($($name:ident)*) => {
        // SAFETY: touches what the members touch, all of which are named.
        #[allow(unused_variables, unused_unsafe, non_snake_case, clippy::unused_unit)]
        unsafe impl<$($name: Query),*> Query for ($($name,)*) {
            type Item<'w> = ($($name::Item<'w>,)*);
            type Chunk<'w> = ($($name::Chunk<'w>,)*);
            type State = ($($name::State,)*);
            type Fetch = ($($name::Fetch,)*);

            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }

            fn access(access: &mut Access) {
                $($name::access(access);)*
            }

            fn matches(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as Query>::matches($name, signature))*
            }

            #[inline]
            unsafe fn fetch(($($name,)*): &Self::State, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: a table that matches the tuple matches every member.
                unsafe { ($(<$name as Query>::fetch($name, world, table),)*) }
            }

            #[inline(always)]
            unsafe fn row<'w>(($($name,)*): Self::Fetch, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as Query>::row($name, row),)*) }
            }

            #[inline(always)]
            unsafe fn chunk<'w>(($($name,)*): Self::Fetch, len: usize) -> Self::Chunk<'w> {
                // SAFETY: the caller's promise, for each member.
                unsafe { ($(<$name as Query>::chunk($name, len),)*) }
            }
        }

        // SAFETY: no member writes.
        unsafe impl<$($name: ReadOnlyQuery),*> ReadOnlyQuery for ($($name,)*) {}
    };
}
all_tuples!(tuple_query);
