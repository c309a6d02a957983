//! Queries: iteration over all entities that have certain components.
//!
//! A [`Query<D, F>`](Query) has *data* `D` and a *filter* `F`. The data are a term, or a tuple of terms, which may be tuples:
//!
//! | term | matches | yields |
//! |---|---|---|
//! | `&C`, `&mut C` | entities that have `C` | its value: [a reference](ReadItem), or for soa components the value and a struct of references |
//! | [`Ref<C>`](crate::Ref) | entities that have `C`, which is [tracked](crate::change_detection) | its value, and whether it is new since the last run |
//! | `Option<T>` | all | what `T` yields, if `T` matches |
//! | [`Or<(T, U, …)>`](Or) | entities that match one of the terms | a tuple of what each yields, if it matches |
//! | [`Has<C>`] | all | whether the entity has `C` |
//! | [`Entity`](crate::Entity) | all | the entity |
//! | [`Key`](crate::Key), [`Row`](crate::Row) | all, [extra rows](#extra-rows) included | the name and the handle of the row |
//! | [`EntityRef`](crate::EntityRef) | all | the entity with all its components, for reading; no query beside it may write |
//! | [`WithTable<T>`](WithTable) | what `T` matches | what `T` yields; its chunks come with other columns of their table |
//! | [`Filtered<T, F>`](Filtered) | what `T` matches and the filter `F` passes | what `T` yields |
//! | [`Related<R, T>`](crate::relation::Related) | entities whose target in the relation `R` matches `T` | what `T` yields for the target |
//! | [`Up<R, T>`](crate::relation::Up) | entities that have an ancestor that matches `T` | what `T` yields for the nearest one |
//! | [`Depth<R>`](crate::relation::Depth) | all | the depth of the entity in a tree |
//!
//! With `#[derive(QueryData)]` a struct of terms is a term as well, and yields a struct with the same names:
//!
//! ```
//! use phalanx::{Component, QueryData, World};
//!
//! #[derive(Component)]
//! struct Position(f32);
//! #[derive(Component)]
//! struct Velocity(f32);
//!
//! #[derive(QueryData)]
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
//! An enum of terms is a term too. It yields the first variant whose terms all match:
//!
//! ```
//! use phalanx::{Component, QueryData, World};
//!
//! #[derive(Component)]
//! struct Position(f32);
//! #[derive(Component)]
//! struct Velocity(f32);
//! #[derive(Component)]
//! #[component(layout = "pool")]
//! struct Path(Vec<f32>);
//!
//! #[derive(QueryData)]
//! enum Mover<'a> {
//!     OnRails { position: &'a mut Position, path: &'a mut Path },
//!     Free(&'a mut Position, &'a Velocity),
//! }
//!
//! let mut world = World::new();
//! world.spawn((Position(0.0), Velocity(1.0), Path(vec![5.0])));
//! world.spawn((Position(0.0), Velocity(2.0)));
//! world.spawn(Position(9.0));
//! for mover in world.query_mut::<Mover>() {
//!     match mover {
//!         MoverItem::OnRails { position, path } => position.0 = path.0.pop().unwrap_or(position.0),
//!         MoverItem::Free(position, velocity) => position.0 += velocity.0,
//!     }
//! }
//! assert!(world.query::<&Position>().iter().map(|position| position.0).eq([5.0, 2.0, 9.0]));
//! ```
//!
//! Filters say what else an entity must have or lack: [`With`], [`Without`], tuples of filters (all), [`Or`] (one of them).
//! [`Added`] and [`Changed`] pass values of [tracked](crate::change_detection) components that are new since the last run.
//! There are also filters by the links of [relations](crate::relation#queries).
//!
//! # Extra rows
//!
//! A query visits the main rows of entities, so each entity at most once. The [extra rows](crate::Key) of an entity are
//! visited only if the query has one of these:
//!
//! - the term [`Key`](crate::Key) or [`Row`](crate::Row);
//! - the filter [`AllRows`]: main rows and extra rows;
//! - the filter [`ExtraRows`]: extra rows only.
//!
//! Then each row is visited by itself, and the term [`Entity`](crate::Entity) is its owner. Components of different rows are
//! not joined, and filters test the row alone. With a `Key` or `Row` term the filter [`MainRows`] leaves main rows only.
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
//! world.add_row(Key::main(tank).with_role(Role(1)), Item("shell"))?;
//! assert!(world.query_filtered::<Entity, Without<Health>>().is_empty(), "the item is not an entity");
//! assert!(world.query::<(Key, &Item)>().iter().map(|(key, item)| (key.role, item.0)).eq([(Role(1), "shell")]));
//! assert_eq!(world.query_filtered::<&Item, ExtraRows>().len(), 1);
//! # Ok::<(), phalanx::RowError>(())
//! ```
//!
//! The same rule holds for [groups](crate::group), which have no extra rows as members, for
//! [`insert_where`](crate::World::insert_where) and [`remove_where`](crate::World::remove_where), and for run-time queries,
//! which have [`all_rows`](QueryBuilder::all_rows) and [`extra_rows`](QueryBuilder::extra_rows). Lookups find any row:
//! [`Query::get`] returns the item of the main row of an entity, [`Query::get_row`] that of any row.
//!
//! # Pools and linear stores
//!
//! Terms and filters name components of any layout, mixed freely. If all of them are stored in tables, tables are matched and
//! no row is tested. Otherwise the query iterates over the shortest source, and tests each of its rows for the rest:
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
//! let query = world.query_mut::<(&mut Health, &Burning)>();
//! assert!(query.explain().to_string().contains("iterates over the pool of"));
//! query.for_each(|(health, burning)| health.0 -= burning.0);
//! assert_eq!(world.get::<Health>(e).unwrap().0, 7);
//! ```
//!
//! A query over one pool and nothing else is a plain loop over its values, and so is one over linear stores. `Entity` may be
//! asked for with a pool. While a store holds values of extra rows that the query does not visit, each slot is tested instead.
//! The number of items of such a query is not known before it was iterated. So `len` visits the rows, and an iterator knows an
//! upper bound only.
//!
//! # Where queries come from
//!
//! | | needs | keeps what it found |
//! |---|---|---|
//! | [`World::query`], [`query_filtered`](crate::World::query_filtered) | a shared world; read-only data | no: tables are matched at each use |
//! | [`World::query_mut`], [`query_filtered_mut`](crate::World::query_filtered_mut) | an exclusive world | in the world |
//! | [`World::queries_mut`] | an exclusive world; several queries that do not conflict | in the world |
//! | [`World::query_one_mut`] | an exclusive world; one entity | in the world |
//! | [`QueryState`] | either | in itself |
//! | [`DynamicQuery`] | either; components by id | no |
//!
//! All but the last return a [`Query`]. All of them refuse a query that would alias (`(&mut A, &A)`), with a message that names
//! `A`.
//!
//! [`World::query`]: crate::World::query
//! [`World::query_mut`]: crate::World::query_mut
//! [`World::queries_mut`]: crate::World::queries_mut
//! [`World::query_one_mut`]: crate::World::query_one_mut
//!
//! # Parallel loops
//!
//! [`Query::par_for_each_on`] and its variants visit the rows on the threads of an [executor](crate::executor). The rows are
//! divided into batches, in the order of the query. A batch has a 64th of the rows, but at least 32 and at most 8192 of them;
//! `par_for_each_by_on` and `par_fold_by_on` take another size. Batches may reach over several tables. In a query that iterates
//! over a pool or a linear store, its positions count as rows, whether they match or not, and linear stores are divided at
//! multiples of 64.
//!
//! So batches do not depend on threads, and neither do results that are made batch by batch: those of
//! [`par_fold_on`](Query::par_fold_on) and the commands of [`par_for_each_with_on`](Query::par_for_each_with_on).
//!
//! With batches of the default size, the caller starts alone and measures. It asks other threads for help when the rest is
//! expected to take more than 25 µs. Below that, waking a thread costs more than it gains.
//!
//! # Order
//!
//! The order of the items is a contract:
//!
//! 1. It is a function of the operations on the world so far; never of addresses, type ids, hash seeds, threads or time.
//! 2. Tables are visited in the order in which they got their first row, the rows of a table in their present order. New rows
//!    come last, and the last row takes the place of one that is removed. Nothing else moves a row.
//! 3. A query that names a component outside of tables iterates over its *driver*. That is the shortest of: the pools and linear
//!    stores of components that every item has (terms `&C`, `&mut C`, and the filter [`With`]); the links of
//!    [relations](crate::relation#queries) in which every item has a target, as linear stores; the matching tables, counted
//!    together; the [groups](crate::group) that require nothing but such components and exclude nothing but those of
//!    [`Without`]. A query that visits extra rows uses no group. Among equals it is a group that owns pools, then the store
//!    named first, in data and then in filters, then a group that owns none, then tables. Pools and groups are visited in their
//!    order, a linear store by ascending index, tables by rule 2. [`Query::explain`] tells which it is.
//! 4. All queries of the same data and filter visit in the same order, wherever they come from, and so do chunks.
//! 5. Parallel iteration visits each row once, in any order; the rows of a batch in the order of the query.
#![allow(unsafe_code)]

mod access;
mod aligned_stores;
mod batches;
pub(crate) mod cache;
mod candidate_block;
mod chunk;
mod chunks;
mod combinations;
mod driver;
mod driver_rows;
mod dynamic_query;
mod dynamic_row;
#[cfg(feature = "reflect")]
pub(crate) mod dynamic_scan;
mod entity_term;
mod fetch;
mod filter;
mod filtered;
mod first_of;
mod flat_chunk;
mod iter;
mod lookup;
mod many;
mod mismatch;
mod other_rows;
mod parallel;
mod plan;
#[allow(clippy::module_inception)]
mod query;
mod query_data;
mod query_matches;
mod query_set;
mod ref_term;
mod row_ranges;
mod row_terms;
mod side_runs;
mod single_error;
mod sorted;
mod span;
mod sparse_iter;
mod state;
mod system_matches;
mod table_ref;
mod terms;
mod tracking;
mod tuples;
mod usage;
mod visited_row;
mod watched;
mod with_table;
mod world_queries;

#[doc(hidden)]
pub use access::RowConditions;
pub use access::{Access, AliasError};
#[doc(hidden)]
pub use aligned_stores::AlignedStores;
pub use batches::Batches;
#[doc(hidden)]
pub use candidate_block::CandidateBlock;
pub use chunk::{ChunkFilter, ChunkQueryData};
pub use chunks::Chunks;
pub use combinations::Combinations;
pub use dynamic_query::{DynamicError, DynamicQuery, DynamicTable, QueryBuilder, RawLane};
pub use dynamic_row::DynamicRow;
#[doc(hidden)]
pub use fetch::{Candidate, ComponentFetch};
pub use filter::{Or, QueryFilter, With, Without};
pub use filtered::Filtered;
#[doc(hidden)]
pub use first_of::{Either, FirstOf};
pub use flat_chunk::FlatChunk;
pub use iter::Iter;
pub(crate) use lookup::Lookup;
#[doc(hidden)]
pub use mismatch::Mismatch;
#[doc(hidden)]
pub use other_rows::OtherRows;
pub use plan::{PlanDriver, PlanTable, QueryPlan};
pub use query::Query;
pub use query_data::{QueryData, ReadOnlyQueryData};
pub use query_set::QuerySet;
#[doc(hidden)]
pub use row_terms::KeyFetch;
pub use row_terms::{AllRows, ExtraRows, IsEmpty, Keys, MainRows};
pub use single_error::SingleError;
pub use sorted::Sorted;
pub use state::QueryState;
#[doc(hidden)]
pub use system_matches::SystemMatches;
#[doc(hidden)]
pub use table_ref::TableRef;
#[doc(hidden)]
pub use terms::ComponentState;
pub use terms::Has;
#[doc(hidden)]
pub use tracking::TrackedState;
pub use tracking::{Added, Changed};
#[doc(hidden)]
pub use visited_row::{ColumnPtr, ItemRef, ItemRow, ItemRows, VisitedRow, WorldView};
pub(crate) use watched::ObservedQuery;
#[doc(hidden)]
pub use watched::Watched;
pub use with_table::{TableColumns, WithTable};

#[doc(hidden)]
pub use crate::journal::PastRow;

use crate::component::Component;
use crate::layout::Layout;

/// What a query yields for `&C`: `&'w C`, or for soa components the value.
///
/// Code that is generic over a component names the item with it:
///
/// ```
/// use phalanx::query::{ReadItem, WriteItem};
/// use phalanx::{Component, Query, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn count<C: Component>(query: Query<&C>) -> usize {
///     query.len()
/// }
///
/// fn change<C: Component>(mut query: Query<&mut C>, mut f: impl FnMut(WriteItem<'_, C>)) {
///     query.iter_mut().for_each(|value| f(value));
/// }
///
/// fn first<C: Component>(world: &World) -> Option<ReadItem<'_, C>> {
///     world.query::<&C>().iter().next()
/// }
///
/// let mut world = World::new();
/// world.spawn_batch([Health(1), Health(2)]);
/// change::<Health>(world.query_mut(), |health| health.0 += 1);
/// assert_eq!(count::<Health>(world.query()), 2);
/// assert_eq!(first::<Health>(&world).unwrap().0, 2);
/// ```
///
/// With the bound `Component<Layout = Table>` the items are plain references, so that traits of the component can be used:
///
/// ```
/// use phalanx::layout::Table;
/// use phalanx::{Component, Query, World};
///
/// #[derive(Component)]
/// struct Gold(u32);
///
/// impl Gold {
///     const NONE: Gold = Gold(0);
/// }
///
/// impl<'a> std::iter::Sum<&'a Gold> for Gold {
///     fn sum<I: Iterator<Item = &'a Gold>>(gold: I) -> Gold {
///         gold.fold(Gold::NONE, |sum, gold| Gold(sum.0 + gold.0))
///     }
/// }
///
/// fn sum<C>(query: Query<&C>) -> C
/// where
///     C: Component<Layout = Table> + for<'a> std::iter::Sum<&'a C>,
/// {
///     query.iter().sum()
/// }
///
/// let mut world = World::new();
/// world.spawn_batch([Gold(3), Gold(4)]);
/// assert_eq!(sum::<Gold>(world.query()).0, 7);
/// ```
pub type ReadItem<'w, C> = <<C as Component>::Layout as Layout<C>>::Ref<'w>;

/// What a query yields for `&mut C`: `&'w mut C`, a struct of references for soa components, or
/// [`Mut`](crate::Mut) for components with tracked rows. See [`ReadItem`] for an example.
pub type WriteItem<'w, C> = <<C as Component>::Layout as Layout<C>>::Mut<'w>;
