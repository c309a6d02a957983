//! Queries: all entities that have certain components.
//!
//! A query type is a term or a tuple of terms, which may be tuples:
//!
//! | term | matches | yields |
//! |---|---|---|
//! | `&C`, `&mut C` | entities that have `C` | its value: a reference, or for soa components the value and a struct of references |
//! | `Option<T>` | all | what `T` yields, if `T` matches |
//! | [`Or<(T, U, …)>`](Or) | entities that one of the terms matches | a tuple of what each yields, if it matches |
//! | [`Has<C>`] | all | whether the entity has `C` |
//! | [`Entity`] | all | the entity |
//! | [`Key`](crate::Key), [`Row`](crate::Row) | all, [extra rows](#extra-rows) included | the name and the handle of the row |
//! | [`Filtered<T, F>`](Filtered) | what `T` matches and the filter `F` lets pass | what `T` yields |
//!
//! With `#[derive(Query)]` a struct of terms is a term as well, and yields a struct with the same names:
//!
//! ```
//! use phalanx::{Component, Query, World};
//!
//! #[derive(Component)]
//! struct Position(f32);
//! #[derive(Component)]
//! struct Velocity(f32);
//!
//! #[derive(Query)]
//! struct Movers<'a> {
//!     position: &'a mut Position,
//!     velocity: Option<&'a Velocity>,
//! }
//!
//! let mut world = World::new();
//! world.spawn((Position(0.0), Velocity(2.0)));
//! world.spawn(Position(1.0));
//! for MoversItem { position, velocity } in world.query_mut::<Movers>() {
//!     position.0 += velocity.map_or(0.0, |velocity| velocity.0);
//! }
//! assert!(world.query::<&Position>().iter().map(|p| p.0).eq([2.0, 1.0]));
//! ```
//!
//! Filters say what else an entity must have or lack: [`With`], [`Without`], tuples of them (all), [`Or`] (one of them). Of
//! components whose changes are [tracked](crate::track), [`Added`] and [`Changed`] ask for values that are new.
//!
//! # Extra rows
//!
//! A query is about entities: it visits main rows, so each entity at most once. The [extra rows](crate::Key) of an entity
//! are visited only if the query asks for them, by one of these:
//!
//! - the term [`Key`](crate::Key) or [`Row`](crate::Row);
//! - the filter [`AllRows`]: main rows and extra rows;
//! - the filter [`ExtraRows`]: extra rows only.
//!
//! Then each row is visited by itself, and [`Entity`] is its owner. What one row has is not joined with what another has, and
//! filters look at the row alone. With a `Key` or `Row` term the filter [`MainRows`] leaves main rows only.
//!
//! ```
//! use phalanx::query::ExtraRows;
//! use phalanx::{Component, Entity, Key, Role, Without, World};
//!
//! #[derive(Component)]
//! struct Health(u32);
//! #[derive(Component)]
//! struct Item(&'static str);
//!
//! let mut world = World::new();
//! let tank = world.spawn(Health(100));
//! world.extend(Key::main(tank).with_role(Role(1)), Item("shell"))?;
//! assert!(world.query::<Entity>().filter::<Without<Health>>().is_empty(), "what the tank carries is no entity");
//! assert!(world.query::<(Key, &Item)>().iter().map(|(key, item)| (key.role, item.0)).eq([(Role(1), "shell")]));
//! assert_eq!(world.query::<&Item>().filter::<ExtraRows>().len(), 1);
//! # Ok::<(), phalanx::RowError>(())
//! ```
//!
//! The same rule holds for [groups](crate::group), which have no extra rows as members, for
//! [`insert_batch`](World::insert_batch) and [`remove_batch`](World::remove_batch), and for run-time queries, which have
//! [`all_rows`](QueryBuilder::all_rows) and [`extra_rows`](QueryBuilder::extra_rows). By a name a row is always found:
//! [`QueryRef::get`] leads to the main row of an entity, [`QueryRef::get_row`] to any row.
//!
//! # Pools and linear stores
//!
//! Terms and filters name components of any layout, mixed freely. Where a query is over tables alone, everything is settled
//! table by table; otherwise the shortest source is followed, and each of its rows is asked for the rest:
//!
//! ```
//! use phalanx::{Component, World};
//!
//! #[derive(Component)]
//! struct Health(i32);
//! #[derive(Component)]
//! #[component(layout = "pool")]
//! struct Burning(i32);
//!
//! let mut world = World::new();
//! world.spawn_batch((0..100).map(|_| Health(10)));
//! let e = world.spawn((Health(10), Burning(3)));
//! let mut query = world.query_mut::<(&mut Health, &Burning)>();
//! assert!(query.plan().to_string().contains("walks the pool of"));
//! query.for_each(|(health, burning)| health.0 -= burning.0);
//! assert_eq!(world.get::<Health>(e).unwrap().0, 7);
//! ```
//!
//! A query over one pool and nothing else is a plain loop over its values, and so is one over linear stores; `Entity` may be
//! asked for with a pool. While a store holds values of extra rows that are not asked for, each slot is tested instead. How
//! many items such a query has is not known before it was walked, so `len` walks, and an iterator knows a bound only.
//!
//! # Doors
//!
//! | | needs | keeps its plan |
//! |---|---|---|
//! | [`World::query`] | a shared world; terms that only read | no: tables are matched at each use |
//! | [`World::query_mut`] | the world exclusively | in the world |
//! | [`World::queries_mut`] | the world exclusively; several queries, none of which writes what another touches | in the world |
//! | [`QueryState`] | either | in itself |
//! | [`DynamicQuery`] | either; components by id | no |
//!
//! All of them refuse a query that would alias (`(&mut A, &A)`), with a message that names `A`.
//!
//! # Order
//!
//! The order of the items is a contract:
//!
//! 1. It is a function of the operations on the world so far; never of addresses, type ids, hash seeds, threads or time.
//! 2. Tables are visited in the order in which they came to be, the rows of a table in their present order: new rows come
//!    last, and the last row takes the place of one that goes. Nothing else moves a row.
//! 3. A query that names a component that is not kept in tables follows its *driver*: the shortest of the pools and linear
//!    stores of components that every item has (terms `&C`, `&mut C`, and the filter [`With`]), of the tables that match,
//!    counted together, and of the [groups](crate::group) that require nothing but such components, and exclude nothing but
//!    those of [`Without`]. A query that asks for extra rows follows no group. Among equals it is a group that owns pools, then the store named first, in terms and then in
//!    filters, then a group that owns none, then tables. Pools and groups are visited in their order, a linear store by
//!    ascending index, tables by rule 2. [`Plan`] says which it is.
//! 4. All doors visit in the same order, and so do chunks.
//! 5. Parallel iteration visits each row once, in any order.
#![allow(unsafe_code)]

mod access;
mod aligned;
mod by_ref;
pub(crate) mod cache;
mod chunk;
mod combine;
mod dynamic;
mod dynamic_row;
mod filter;
mod flat;
mod iter;
mod matched;
#[cfg(feature = "parallel")]
mod parallel;
mod plan;
mod reach;
mod ref_iter;
mod rows;
mod run;
mod state;
mod terms;
mod tracking;
mod tuples;
mod walk;

pub use access::{Access, AliasError};
pub use aligned::Aligned;
pub use by_ref::QueryRef;
pub use chunk::{ChunkFilter, ChunkQuery};
pub use combine::Combinations;
pub use dynamic::{DynamicError, DynamicQuery, DynamicTable, QueryBuilder, RawLane};
pub use dynamic_row::DynamicRow;
pub use filter::{Filter, Or, With, Without};
pub use flat::FlatChunk;
pub use iter::{Chunks, Iter};
pub use matched::{Matched, SingleError};
pub use plan::{Driver, Plan, PlanTable};
pub(crate) use reach::prefetch;
pub use reach::{Candidate, Reach, Spot};
pub use ref_iter::{RefChunks, RefIter};
pub use rows::{AllRows, ExtraRows, KeyFetch, Keys, MainRows};
pub use run::{QueryMut, QuerySet};
pub use state::QueryState;
pub use terms::{Filtered, Has, Target};
pub use tracking::{Added, Changed};

use crate::component::{Component, ComponentId, Components};
use crate::error::ComponentError;
use crate::layout::Kind;
use crate::signature::Signature;
use crate::track::Look;
use crate::world::World;
use phalanx_store::Entity;

/// What a query asks for. Sealed by being unsafe to implement: use the terms of [the module](self).
///
/// The lifetimes in a query type mean nothing: what is yielded lives as long as the world is borrowed. In the type of a
/// field or the argument of a function they are written `'static`; in a call they need not be written.
///
/// # Safety
///
/// [`access`](Query::access) names every component that [`row`](Query::row) and [`chunk`](Query::chunk) touch, as written
/// or as read; with a fetch of a table that [`matches`](Query::matches), or of stores that are aligned, they touch only its
/// rows, and so does [`at`](Query::at): the items of two rows never touch the same place, unless for reading. Items can be
/// made and used on any thread. `SIDES` is true if a term is over a component that is not kept in tables.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query",
    label = "not a term of a query",
    note = "a component `C` is asked for as `&C` or `&mut C`; for other terms see `phalanx::query`"
)]
pub unsafe trait Query: 'static {
    /// What is yielded for a row.
    type Item<'w>;
    /// What is yielded for a table.
    type Chunk<'w>;
    /// The ids of the components. The world keeps it, and goes where it wants with it.
    type State: Clone + Send + Sync + 'static;
    /// A table, resolved; or stores whose rows are [aligned](Query::aligned).
    type Fetch: Copy;
    /// Random access, resolved: what finds the components of one row.
    type View: Copy;
    /// Whether rows must be asked one by one: it names a component that is not kept in tables, or a filter that looks at
    /// values. If not, a table that matches is all that there is to know.
    const SIDES: bool;
    /// Whether it writes or filters by a component that is [tracked](crate::track). Then what was resolved is good for one run.
    const LIVE: bool = false;
    /// Whether [`at`](Query::at) and [`holds`](Query::holds) look at where a row is in its table.
    const LOCATED: bool;

    /// The ids of the components, as far as the world knows them.
    fn state(components: &Components) -> Self::State;
    /// Names the components that are touched.
    fn access(access: &mut Access);
    /// Whether a table with this signature has what is asked for, as far as components are concerned that are kept in
    /// tables.
    fn matches(state: &Self::State, signature: &Signature) -> bool;

    /// Returns `true` if [extra rows](crate::Key) are asked for. Otherwise the query visits main rows only, each entity once.
    fn rows(_: &Self::State) -> bool {
        false
    }

    /// Names components that every matching row has.
    fn required(state: &Self::State, each: &mut dyn FnMut(ComponentId, Kind));

    /// Remembers who looks, before each run of a query that is [live](Query::LIVE).
    fn look(_: &mut Self::State, _: Look) {}

    /// Whether a table that matches has what is asked for now, as far as columns are tracked as wholes.
    fn live(_: &Self::State, _: Columns<'_>) -> bool {
        true
    }

    /// Notes that rows of a table may be written, or without one, rows of other stores.
    ///
    /// # Safety
    ///
    /// The state is the world's.
    unsafe fn mark(_: &Self::State, _: &World, _: Option<u32>) {}

    /// Names components that no matching row has.
    fn excluded(_: &Self::State, _: &mut dyn FnMut(ComponentId)) {}

    /// Why a row does not match, if it does not.
    fn mismatch(state: &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        (!Self::matches(state, row.signature())).then(|| Mismatch::Missing(core::any::type_name::<Self>()))
    }

    /// Resolves a table.
    ///
    /// # Safety
    ///
    /// The query has no [`SIDES`](Query::SIDES). The state is the world's, and the table is one of its tables and matches.
    unsafe fn fetch(state: &Self::State, world: &World, table: u32) -> Self::Fetch;

    /// Resolves stores whose rows are aligned, if they are all that is asked for and every row of theirs matches.
    ///
    /// # Safety
    ///
    /// The state is that of the stores' world.
    unsafe fn aligned(state: &Self::State, stores: &Aligned<'_>) -> Option<Self::Fetch>;

    /// Resolves a world for random access. `walked` is the component whose store the rows come from, if they do.
    ///
    /// # Safety
    ///
    /// The state is the world's. The view is used while the world is borrowed, and does not change.
    unsafe fn view(state: &Self::State, world: &World, walked: Option<ComponentId>) -> Self::View;

    /// Whether a row matches. Makes no item.
    ///
    /// # Safety
    ///
    /// State and view are those of the row's world, which is borrowed.
    unsafe fn holds(state: &Self::State, view: Self::View, spot: Spot) -> bool;

    /// The item of a row, if it matches.
    ///
    /// # Safety
    ///
    /// State and view are those of the row's world, and no other item that is alive touches it in a conflicting way.
    unsafe fn at<'w>(state: &Self::State, view: Self::View, spot: Spot) -> Option<Self::Item<'w>>;

    /// Asks the processor for what [`at`](Query::at) will need of a row.
    ///
    /// # Safety
    ///
    /// State and view are those of the row's world, which is borrowed.
    #[inline(always)]
    unsafe fn warm(_: Self::View, _: Spot) {}

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
    message = "`{Self}` is not a query for a shared world",
    label = "not a term that only reads",
    note = "a component `C` is read as `&C`; terms that write (`&mut C`) need `World::query_mut`"
)]
pub unsafe trait ReadOnlyQuery: Query {}

/// Why an entity is not among those that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It lacks this component.
    Missing(&'static str),
    /// It has this component, which a filter excludes.
    Excluded(&'static str),
    /// It has this component, whose value is not new.
    Unchanged(&'static str),
}

impl Mismatch {
    pub(crate) fn missing<C: Component>() -> Mismatch {
        Mismatch::Missing(core::any::type_name::<C>())
    }

    pub(crate) fn excluded<C: Component>() -> Mismatch {
        Mismatch::Excluded(core::any::type_name::<C>())
    }

    /// The error of an entity that was asked for.
    pub(crate) fn of(self, entity: Entity) -> ComponentError {
        match self {
            Mismatch::Missing(component) => ComponentError::MissingComponent { entity, component },
            Mismatch::Excluded(component) => ComponentError::ExcludedComponent { entity, component },
            Mismatch::Unchanged(component) => ComponentError::UnchangedComponent { entity, component },
        }
    }
}

/// The ids of a query and its filter in a world, looked at as those do who do not remember when they looked last.
fn ids_of<Q: Query, F: Filter>(world: &World) -> (Q::State, F::State) {
    let mut ids = (Q::state(&world.storage.components), F::state(&world.storage.components));
    set_look::<Q, F>(&mut ids, world.storage.look());
    ids
}

/// Tells a query and its filter who looks.
fn set_look<Q: Query, F: Filter>((terms, filter): &mut (Q::State, F::State), look: Look) {
    if Q::LIVE {
        Q::look(terms, look);
    }
    if F::LIVE {
        F::look(filter, look);
    }
}

/// Returns `true` if a query or its filter asks for extra rows.
#[inline(always)]
fn asks_for_rows<Q: Query, F: Filter>((terms, filter): &(Q::State, F::State)) -> bool {
    Q::rows(terms) || F::rows(filter)
}

/// Returns `true` if the query visits rows of tables with this signature.
#[inline]
fn matches_table<Q: Query, F: Filter>(ids: &(Q::State, F::State), signature: &Signature) -> bool {
    (!signature.has(ComponentId::ROW) || asks_for_rows::<Q, F>(ids))
        && Q::matches(&ids.0, signature)
        && F::passes(&ids.1, signature)
}

/// Whether a table that matches has what is asked for now.
#[inline(always)]
fn is_live<Q: Query, F: Filter>((terms, filter): &(Q::State, F::State), world: &World, table: u32) -> bool {
    let columns = Columns { world, table };
    (!Q::LIVE || Q::live(terms, columns)) && (!F::LIVE || F::live(filter, columns))
}

/// The columns of a table, for those who know which of them are tracked. There is nothing to be seen here for others: what a
/// table holds may be lent for writing.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'w> {
    world: &'w World,
    table: u32,
}

impl<'w> Columns<'w> {
    pub(crate) fn new(world: &'w World, table: u32) -> Self {
        Columns { world, table }
    }

    /// The components of the table.
    pub fn signature(&self) -> &'w Signature {
        &self.world.storage.tables[self.table as usize].signature
    }
}
