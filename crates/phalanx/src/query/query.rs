//! A query over a world, and all that can be done with it.
#![allow(unsafe_code)]

use super::chunk::assert_chunks;
use super::combinations::Combinations;
use super::iter::{Peek, Run, StateRef};
use super::lookup::{Lookup, contains, item_of};
use super::query_matches::MatchesOf;
use super::table_ref::state_of;
use super::{
    ChunkFilter, ChunkQueryData, Chunks, Filtered, Iter, QueryData, QueryFilter, QueryPlan, ReadOnlyQueryData,
    SingleError,
};
use crate::error::{ComponentError, RowError};
use crate::world::{RowId, World};
use core::fmt;
use phalanx_store::Entity;
use std::borrow::Cow;

/// A query over a world: the rows that match data `D` and pass a filter `F`.
///
/// It is returned by [`World::query`], [`World::query_mut`] and their filtered forms, by [`World::queries_mut`], and by
/// [`QueryState`](super::QueryState). Functions take it as a parameter; lifetimes can be left out:
///
/// ```
/// use phalanx::{Component, Query, With, World};
///
/// #[derive(Component)]
/// struct Mass(f32);
/// #[derive(Component)]
/// struct Velocity(f32);
/// #[derive(Component)]
/// struct Frozen;
///
/// fn momentum(bodies: Query<(&Mass, &Velocity)>) -> f32 {
///     bodies.iter().map(|(mass, velocity)| mass.0 * velocity.0).sum()
/// }
///
/// fn stop(mut frozen: Query<&mut Velocity, With<Frozen>>) {
///     frozen.iter_mut().for_each(|velocity| velocity.0 = 0.0);
/// }
///
/// let mut world = World::new();
/// world.spawn((Mass(2.0), Velocity(3.0)));
/// world.spawn((Mass(1.0), Velocity(5.0), Frozen));
/// assert_eq!(momentum(world.query()), 11.0);
/// stop(world.query_filtered_mut());
/// assert_eq!(momentum(world.query()), 6.0);
/// ```
///
/// If the data are read-only, the query is `Copy`, and `iter`, `get` and `single` return items that live as long as the
/// borrow of the world. Otherwise `iter_mut`, `get_mut` and `single_mut` borrow the query, and items live as long as that
/// borrow. A query is `Send` and `Sync`, so two queries of [`World::queries_mut`] can be used on two threads.
#[doc(alias = "QueryBorrow")]
#[doc(alias = "QueryMut")]
#[doc(alias = "view")]
#[doc(alias = "View")]
pub struct Query<'w, 's, D: QueryData, F: QueryFilter = ()> {
    pub(super) world: &'w World,
    /// What was found. Without it, tables are matched on the way.
    matches: Option<&'s MatchesOf<D, F>>,
}

impl<D: ReadOnlyQueryData, F: QueryFilter> Clone for Query<'_, '_, D, F> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: ReadOnlyQueryData, F: QueryFilter> Copy for Query<'_, '_, D, F> {}

impl<'w, 's, D: QueryData, F: QueryFilter> Query<'w, 's, D, F> {
    /// Takes what was found. Without it, tables are matched on the way.
    ///
    /// # Safety
    ///
    /// - The matches are those of the world as it is.
    /// - For `'w` nothing else touches what the query writes, or writes what it touches, in rows that the query visits.
    /// - The query does not alias.
    #[inline(always)]
    pub(super) unsafe fn new(world: &'w World, matches: Option<&'s MatchesOf<D, F>>) -> Self {
        Query { world, matches }
    }

    /// Like [`new`](Query::new), but records for timelines that what the query writes may change.
    ///
    /// # Safety
    ///
    /// Like [`new`](Query::new).
    #[inline(always)]
    pub(super) unsafe fn with_matches(world: &'w World, matches: &'s MatchesOf<D, F>) -> Self {
        world.storage.touch_written::<D>(|signature| D::matches(&matches.state().0, signature));
        Query { world, matches: Some(matches) }
    }

    #[inline(always)]
    pub(super) fn state(&self) -> StateRef<'s, (D::State, F::State)> {
        match self.matches {
            Some(matches) => StateRef::Kept(matches.state()),
            None => StateRef::Own(state_of::<Filtered<D, F>>(self.world)),
        }
    }

    /// Returns an iterator over the items, without counting the access.
    #[inline(always)]
    fn into_items(self) -> Iter<'w, 's, D, F> {
        // SAFETY: the contract of `new`. The query is used up; or it is a copy, and read-only items do not conflict.
        unsafe { Iter::new(self.world, self.matches) }
    }

    /// Returns the query for finding items one by one.
    pub(crate) fn into_lookup(self) -> Lookup<'w, 's, D, F> {
        // SAFETY: the state is the world's. The contract of `new`: the query is used up; or it is a copy, and read-only items do
        // not conflict.
        unsafe { Lookup::new(self.world, self.state()) }
    }

    /// Returns the rows of the query, of which no items are made.
    #[inline(always)]
    pub(super) fn peek(&self) -> Peek<'w, 's, D, F> {
        // SAFETY: the contract of `new`; and no items are made.
        Peek::new(unsafe { Iter::new(self.world, self.matches) })
    }

    /// Returns all runs.
    pub(super) fn runs(&self) -> Cow<'s, [Run<D::Fetch>]> {
        match self.matches {
            Some(matches) => Cow::Borrowed(&matches.runs),
            None => Cow::Owned(self.peek().runs()),
        }
    }

    /// Counts a visit of all rows, if the world counts accesses.
    #[inline(always)]
    pub(super) fn count_visits(&self) {
        if self.world.storage.counting {
            self.world.storage.components.count_visits::<D>(self.peek().max_len() as u64);
        }
    }

    /// Returns this query for a shorter time.
    ///
    /// With it, a query that writes can be passed to a function by value and used again:
    ///
    /// ```
    /// use phalanx::{Component, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Age(u32);
    ///
    /// fn grow(ages: Query<&mut Age>) {
    ///     ages.for_each(|age| age.0 += 1);
    /// }
    ///
    /// let mut world = World::new();
    /// world.spawn(Age(1));
    /// let mut ages = world.query_mut::<&mut Age>();
    /// grow(ages.reborrow());
    /// grow(ages);
    /// assert_eq!(world.query::<&Age>().single().unwrap().0, 3);
    /// ```
    #[inline]
    pub fn reborrow(&mut self) -> Query<'_, 's, D, F> {
        Query { world: self.world, matches: self.matches }
    }

    /// Returns an iterator over the items, table by table and row by row.
    ///
    /// For data that write there is [`iter_mut`](Query::iter_mut). The [order](super#order) is defined.
    #[doc(alias = "each")]
    #[inline]
    pub fn iter(&self) -> Iter<'w, 's, D, F>
    where
        D: ReadOnlyQueryData,
    {
        (*self).into_iter()
    }

    /// Returns an iterator over the items, table by table and row by row.
    #[doc(alias = "each")]
    #[inline]
    pub fn iter_mut(&mut self) -> Iter<'_, 's, D, F> {
        self.reborrow().into_iter()
    }

    /// Calls `f` with each item, in a plain loop over each table.
    ///
    /// If one pool or several linear stores hold all that is asked for, it is a plain loop over those.
    #[inline]
    pub fn for_each(self, f: impl FnMut(D::Item<'w>)) {
        self.into_iter().for_each(f);
    }

    /// Returns an iterator over the tables, with their rows as slices of equal length.
    ///
    /// The compiler can vectorise loops over the slices. With the term [`WithTable`](super::WithTable), other columns of each
    /// table can be read, too.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct X(f32);
    /// #[derive(Component)]
    /// struct V(f32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..100).map(|n| (X(0.0), V(n as f32))));
    /// for (xs, vs) in world.query_mut::<(&mut X, &V)>().chunks() {
    ///     for (x, v) in xs.iter_mut().zip(vs) {
    ///         x.0 += v.0;
    ///     }
    /// }
    /// ```
    ///
    /// Components outside of tables have no chunks. A query that names one, in its data or its filter, does not compile
    /// with `chunks`:
    ///
    /// ```compile_fail,E0277
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Burning(f32);
    ///
    /// World::new().query_mut::<&mut Burning>().chunks();
    /// ```
    ///
    /// For these, [`for_each`](Query::for_each) is as fast if one pool holds all that is asked for.
    #[doc(alias = "tables")]
    #[inline]
    pub fn chunks(self) -> Chunks<'w, 's, D, F>
    where
        D: ChunkQueryData,
        F: ChunkFilter,
    {
        const { assert_chunks::<D, F>() };
        self.count_visits();
        Chunks::new(self.into_items())
    }

    /// Returns the number of items.
    ///
    /// It visits the tables only, unless components outside of tables are named. Then it visits the rows.
    #[doc(alias = "count")]
    pub fn len(&self) -> usize {
        self.peek().count()
    }

    /// Returns `true` if there are no items.
    pub fn is_empty(&self) -> bool {
        !self.peek().any()
    }

    /// Returns `true` if an entity is alive and matches.
    #[doc(alias = "matches")]
    pub fn contains(&self, entity: Entity) -> bool {
        // SAFETY: the state is the world's.
        unsafe { contains::<Filtered<D, F>>(self.world, self.state().get(), entity) }
    }

    /// Returns the item of an entity.
    ///
    /// For data that write there is [`get_mut`](Query::get_mut).
    ///
    /// # Errors
    ///
    /// Returns [`ComponentError::NoSuchEntity`] if the entity is not alive. Returns
    /// [`MissingComponent`](ComponentError::MissingComponent), [`ExcludedComponent`](ComponentError::ExcludedComponent) or
    /// [`UnchangedComponent`](ComponentError::UnchangedComponent) if it does not match.
    #[doc(alias = "QueryOne")]
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<D::Item<'w>, ComponentError>
    where
        D: ReadOnlyQueryData,
    {
        // SAFETY: the state is the world's; the contract of `new`; and read-only items do not conflict.
        unsafe { item_of::<D, F, false>(self.world, self.state().get(), entity) }
    }

    /// Returns the item of an entity.
    ///
    /// For a single entity, [`World::query_one_mut`] is cheaper than [`World::query_mut`] with this.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Query::get).
    #[doc(alias = "QueryOne")]
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<D::Item<'_>, ComponentError> {
        // SAFETY: the state is the world's; the contract of `new`; and the item borrows the query.
        unsafe { item_of::<D, F, true>(self.world, self.state().get(), entity) }
    }

    /// Returns the item of a row, named by its key or its handle.
    ///
    /// # Errors
    ///
    /// Returns [`RowError`] if the row does not exist or does not match.
    pub fn get_row(&self, row: impl RowId) -> Result<D::Item<'w>, RowError>
    where
        D: ReadOnlyQueryData,
    {
        let row = row.find(self.world)?;
        self.get(row.0).map_err(|error| self.world.storage.row_error(row, error))
    }

    /// Returns the item of a row, named by its key or its handle.
    ///
    /// # Errors
    ///
    /// Returns [`RowError`] if the row does not exist or does not match.
    pub fn get_row_mut(&mut self, row: impl RowId) -> Result<D::Item<'_>, RowError> {
        let (world, row) = (self.world, row.find(self.world)?);
        self.get_mut(row.0).map_err(|error| world.storage.row_error(row, error))
    }

    /// Returns the only item.
    ///
    /// For data that write there is [`single_mut`](Query::single_mut).
    ///
    /// ```
    /// use phalanx::query::SingleError;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Player(u32);
    ///
    /// let mut world = World::new();
    /// assert!(matches!(world.query::<&Player>().single(), Err(SingleError::None { .. })));
    /// world.spawn(Player(7));
    /// assert_eq!(world.query::<&Player>().single().unwrap().0, 7);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`SingleError::None`] if there is no item, and [`SingleError::Several`] if there is more than one.
    #[doc(alias = "first")]
    #[doc(alias = "get_single")]
    pub fn single(&self) -> Result<D::Item<'w>, SingleError>
    where
        D: ReadOnlyQueryData,
    {
        (*self).into_single()
    }

    /// Returns the only item.
    ///
    /// # Errors
    ///
    /// Returns [`SingleError::None`] if there is no item, and [`SingleError::Several`] if there is more than one.
    #[doc(alias = "get_single_mut")]
    pub fn single_mut(&mut self) -> Result<D::Item<'_>, SingleError> {
        self.reborrow().into_single()
    }

    fn into_single(self) -> Result<D::Item<'w>, SingleError> {
        let query = core::any::type_name::<D>();
        match self.len() {
            1 => self.into_items().next().ok_or(SingleError::None { query }),
            0 => Err(SingleError::None { query }),
            count => Err(SingleError::Several { query, count }),
        }
    }

    /// Returns an iterator over the items of these entities, in the order of the entities, which may repeat.
    ///
    /// An entity that is not alive or does not match is an error in its place; `flatten` leaves errors out. For data that
    /// write there is [`for_each_many`](Query::for_each_many).
    #[doc(alias = "get_many")]
    #[doc(alias = "get_many_unique")]
    pub fn iter_many<I>(
        &self,
        entities: I,
    ) -> impl Iterator<Item = Result<D::Item<'w>, ComponentError>> + use<'w, 's, D, F, I>
    where
        D: ReadOnlyQueryData,
        I: IntoIterator<Item = Entity>,
    {
        let (world, state) = (self.world, self.state());
        // SAFETY: as in `get`.
        entities.into_iter().map(move |entity| unsafe { item_of::<D, F, false>(world, state.get(), entity) })
    }

    /// Calls `f` with the item of each of these entities, in the order of the entities, which may repeat.
    ///
    /// # Errors
    ///
    /// Returns the error of [`get`](Query::get) for the first entity that is not alive or does not match. The entities
    /// before it have been visited.
    #[doc(alias = "iter_many_mut")]
    pub fn for_each_many(
        &mut self,
        entities: impl IntoIterator<Item = Entity>,
        mut f: impl FnMut(D::Item<'_>),
    ) -> Result<(), ComponentError> {
        entities.into_iter().try_for_each(|entity| {
            f(self.get_mut(entity)?);
            Ok(())
        })
    }

    /// Returns an iterator over all sets of `N` different items, in the order of the query: `[a, b]`, `[a, c]`, `[b, c]`.
    ///
    /// For data that write there is [`for_each_combination_mut`](Query::for_each_combination_mut).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Mass(i32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([Mass(1), Mass(2), Mass(3)]);
    /// let products = world.query::<&Mass>().combinations().map(|[a, b]| a.0 * b.0);
    /// assert!(products.eq([2, 3, 6]));
    /// ```
    #[doc(alias = "iter_combinations")]
    pub fn combinations<const N: usize>(&self) -> Combinations<'w, 's, D, N>
    where
        D: ReadOnlyQueryData,
    {
        self.count_visits();
        // SAFETY: runs and rows are those of the world, which is borrowed as the query needs it, by the contract of `new`.
        unsafe { Combinations::new(self.runs(), self.peek().sparse_rows()) }
    }

    /// Calls `f` with every set of `N` different items, in the order of the query.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Pull(i32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([Pull(1), Pull(2), Pull(3)]);
    /// world.query_mut::<&mut Pull>().for_each_combination_mut(|[a, b]| {
    ///     a.0 += 10;
    ///     b.0 += 10;
    /// });
    /// assert!(world.query::<&Pull>().iter().map(|pull| pull.0).eq([21, 22, 23]));
    /// ```
    #[doc(alias = "iter_combinations_mut")]
    pub fn for_each_combination_mut<const N: usize>(&mut self, mut f: impl FnMut([D::Item<'_>; N])) {
        self.count_visits();
        // SAFETY: as in `combinations`.
        let mut sets = unsafe { Combinations::<D, N>::new(self.runs(), self.peek().sparse_rows()) };
        // SAFETY: the query is borrowed, so no other items of it are in use. The lifetime of a set is over before the next is
        // made, because `f` takes items of any lifetime.
        while let Some(items) = unsafe { sets.next_set() } {
            f(items);
        }
    }

    /// Returns what the query iterates over: the matching tables, or a shorter store.
    #[doc(alias = "plan")]
    pub fn explain(&self) -> QueryPlan {
        // SAFETY: the state is the world's.
        unsafe { QueryPlan::new::<D, F>(self.world, self.state().get()) }
    }
}

impl<'w, 's, D: QueryData, F: QueryFilter> IntoIterator for Query<'w, 's, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = Iter<'w, 's, D, F>;

    #[inline]
    fn into_iter(self) -> Iter<'w, 's, D, F> {
        self.count_visits();
        self.into_items()
    }
}

impl<'w, 's, D: ReadOnlyQueryData, F: QueryFilter> IntoIterator for &Query<'w, 's, D, F> {
    type Item = D::Item<'w>;
    type IntoIter = Iter<'w, 's, D, F>;

    #[inline]
    fn into_iter(self) -> Iter<'w, 's, D, F> {
        self.iter()
    }
}

impl<'a, 's, D: QueryData, F: QueryFilter> IntoIterator for &'a mut Query<'_, 's, D, F> {
    type Item = D::Item<'a>;
    type IntoIter = Iter<'a, 's, D, F>;

    #[inline]
    fn into_iter(self) -> Iter<'a, 's, D, F> {
        self.iter_mut()
    }
}

impl<D: QueryData, F: QueryFilter> fmt::Debug for Query<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({}, {} items)", core::any::type_name::<D>(), self.len())
    }
}
