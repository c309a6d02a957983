//! A query that remembers what it found.
#![allow(unsafe_code)]

use super::iter::Peek;
use super::lookup::item_of;
use super::query_matches::{MatchesOf, QueryMatches};
use super::{Access, AliasError, Filtered, Iter, Query, QueryData, QueryFilter, ReadOnlyQueryData};
use crate::error::ComponentError;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// A query that is kept over many uses, with what it found in a world.
///
/// It notices by itself when the world has changed, and when it is another world.
///
/// ```
/// use phalanx::{Component, World, query::QueryState};
///
/// #[derive(Component)]
/// struct Age(u32);
///
/// let mut world = World::new();
/// let mut ages = QueryState::<&mut Age>::new();
/// world.spawn(Age(1));
/// ages.iter_mut(&mut world).for_each(|age| age.0 += 1);
/// world.spawn(Age(5));
/// assert_eq!(ages.iter_mut(&mut world).map(|age| age.0).sum::<u32>(), 7);
/// ```
///
/// [`query_mut`](QueryState::query_mut) and [`query`](QueryState::query) return a [`Query`], which does the rest:
///
/// ```
/// use phalanx::{Component, With, World, query::QueryState};
///
/// #[derive(Component)]
/// struct Age(u32);
/// #[derive(Component)]
/// struct Retired;
///
/// let mut world = World::new();
/// let old = world.spawn((Age(70), Retired));
/// world.spawn(Age(30));
/// let mut retired = QueryState::<&mut Age, With<Retired>>::new();
/// assert_eq!(retired.query_mut(&mut world).single_mut().unwrap().0, 70);
/// retired.get_mut(&mut world, old).unwrap().0 += 1;
/// assert_eq!(retired.len(&world), 1);
/// ```
#[doc(alias = "PreparedQuery")]
#[doc(alias = "cached query")]
pub struct QueryState<D: QueryData, F: QueryFilter = ()> {
    matches: MatchesOf<D, F>,
    query: PhantomData<fn() -> (D, F)>,
}

impl<D: QueryData, F: QueryFilter> QueryState<D, F> {
    /// Creates a state that knows no world yet.
    ///
    /// # Panics
    ///
    /// Panics if the query would alias: if it writes a component and names it twice.
    #[track_caller]
    pub fn new() -> Self {
        match Self::try_new() {
            Ok(state) => state,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`new`](QueryState::new), but returns an error if the query would alias.
    ///
    /// # Errors
    ///
    /// Returns [`AliasError`] if the query writes a component and names it twice.
    pub fn try_new() -> Result<Self, AliasError> {
        Access::try_of_data::<D>()?;
        Ok(QueryState { matches: QueryMatches::new(), query: PhantomData })
    }

    /// Returns the query over a world that is borrowed exclusively.
    ///
    /// If the query [tracks changes](crate::change_detection), this is its next run.
    #[inline]
    pub fn query_mut<'w>(&mut self, world: &'w mut World) -> Query<'w, '_, D, F> {
        self.matches.begin_run::<Filtered<D, F>>(world);
        // SAFETY: the matches are those of this world as it is, which is borrowed exclusively. `try_new` checked that the
        // query does not alias.
        unsafe { Query::with_matches(world, &self.matches) }
    }

    /// Returns the query over a shared world.
    ///
    /// If the query [tracks changes](crate::change_detection), this is its next run.
    #[inline]
    pub fn query<'w>(&mut self, world: &'w World) -> Query<'w, '_, D, F>
    where
        D: ReadOnlyQueryData,
    {
        self.matches.begin_run::<Filtered<D, F>>(world);
        // SAFETY: the matches are those of this world as it is, and read-only data need no more than a shared world.
        unsafe { Query::with_matches(world, &self.matches) }
    }

    /// Returns an iterator over the items in a world that is borrowed exclusively.
    #[inline]
    pub fn iter_mut<'w>(&mut self, world: &'w mut World) -> Iter<'w, '_, D, F> {
        self.query_mut(world).into_iter()
    }

    /// Returns an iterator over the items in a shared world.
    #[inline]
    pub fn iter<'w>(&mut self, world: &'w World) -> Iter<'w, '_, D, F>
    where
        D: ReadOnlyQueryData,
    {
        self.query(world).into_iter()
    }

    /// Returns the item of an entity. The cost does not depend on how much of the world has changed.
    ///
    /// This does not count as a run of the query.
    ///
    /// # Errors
    ///
    /// Returns [`ComponentError::NoSuchEntity`] if the entity is not alive. Returns
    /// [`MissingComponent`](ComponentError::MissingComponent), [`ExcludedComponent`](ComponentError::ExcludedComponent) or
    /// [`UnchangedComponent`](ComponentError::UnchangedComponent) if it does not match.
    #[inline]
    pub fn get_mut<'w>(&mut self, world: &'w mut World, entity: Entity) -> Result<D::Item<'w>, ComponentError> {
        // SAFETY: the state is this world's, which is borrowed exclusively, and the query does not alias.
        unsafe { item_of::<D, F, true>(world, self.matches.state_to_find::<Filtered<D, F>>(world, true), entity) }
    }

    /// Returns the item of an entity in a shared world.
    ///
    /// This does not count as a run of the query.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get_mut`](QueryState::get_mut).
    #[inline]
    pub fn get<'w>(&mut self, world: &'w World, entity: Entity) -> Result<D::Item<'w>, ComponentError>
    where
        D: ReadOnlyQueryData,
    {
        // SAFETY: the state is this world's, and read-only data need no more than a shared world.
        unsafe { item_of::<D, F, false>(world, self.matches.state_to_find::<Filtered<D, F>>(world, true), entity) }
    }

    /// Returns the number of items. This does not count as a run of the query.
    pub fn len(&mut self, world: &World) -> usize {
        self.peek(world).count()
    }

    /// Returns `true` if there are no items. This does not count as a run of the query.
    pub fn is_empty(&mut self, world: &World) -> bool {
        !self.peek(world).any()
    }

    fn peek<'w>(&mut self, world: &'w World) -> Peek<'w, '_, D, F> {
        self.matches.begin_peek::<Filtered<D, F>>(world);
        // SAFETY: the matches are those of this world as it is, and no items are made.
        Peek::new(unsafe { Iter::new(world, Some(&self.matches)) })
    }
}

impl<D: QueryData, F: QueryFilter> Default for QueryState<D, F> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<D: QueryData, F: QueryFilter> fmt::Debug for QueryState<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryState({}, {} tables)", core::any::type_name::<D>(), self.matches.tables.len())
    }
}
