//! The methods of a world that return queries.
#![allow(unsafe_code)]

use super::cache::update_matches;
use super::lookup::item_of;
use super::{Filtered, Query, QueryData, QueryFilter, QuerySet, ReadOnlyQueryData};
use crate::error::ComponentError;
use crate::world::World;
use phalanx_store::Entity;

impl World {
    /// Returns a query over the entities that match `D`, which only reads.
    ///
    /// Tables are matched at each use, and nothing is allocated. [Extra rows](crate::query#extra-rows) are visited only if
    /// `D` asks for them.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(i32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([Health(10), Health(5)]);
    /// assert_eq!(world.query::<&Health>().iter().map(|health| health.0).sum::<i32>(), 15);
    /// ```
    #[doc(alias = "view")]
    #[inline]
    pub fn query<D: ReadOnlyQueryData>(&self) -> Query<'_, '_, D> {
        self.query_filtered::<D, ()>()
    }

    /// Returns a query over the entities that match `D` and pass the filter `F`, which only reads.
    ///
    /// ```
    /// use phalanx::{Component, Entity, World, Without};
    ///
    /// #[derive(Component)]
    /// struct Health(i32);
    /// #[derive(Component)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new();
    /// world.spawn((Health(10), Poisoned));
    /// let bob = world.spawn(Health(10));
    /// assert_eq!(world.query_filtered::<Entity, Without<Poisoned>>().single(), Ok(bob));
    /// ```
    #[doc(alias = "with")]
    #[doc(alias = "without")]
    #[inline]
    pub fn query_filtered<D: ReadOnlyQueryData, F: QueryFilter>(&self) -> Query<'_, '_, D, F> {
        // SAFETY: the tables are matched on the way. Read-only data alias nothing, and need no more than a shared world.
        unsafe { Query::new(self, None) }
    }

    /// Returns a query over the entities that match `D`, which may write.
    ///
    /// The world keeps what the query finds, so that the next call for the same query is cheap.
    /// [Extra rows](crate::query#extra-rows) are visited only if `D` asks for them.
    ///
    /// All matching tables are resolved by this call, and written columns of components with `track = "column"` are marked
    /// as changed. To write one entity, use [`query_one_mut`](World::query_one_mut).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(i32);
    ///
    /// let mut world = World::new();
    /// let ann = world.spawn(Health(10));
    /// for health in world.query_mut::<&mut Health>() {
    ///     health.0 -= 1;
    /// }
    /// assert_eq!(world.get::<Health>(ann).unwrap().0, 9);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the query would alias: if it writes a component and names it twice.
    #[doc(alias = "view_mut")]
    #[inline]
    #[track_caller]
    pub fn query_mut<D: QueryData>(&mut self) -> Query<'_, '_, D> {
        self.query_filtered_mut::<D, ()>()
    }

    /// Returns a query over the entities that match `D` and pass the filter `F`, which may write.
    ///
    /// ```
    /// use phalanx::{Component, With, World};
    ///
    /// #[derive(Component)]
    /// struct Health(i32);
    /// #[derive(Component)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new();
    /// let ann = world.spawn((Health(10), Poisoned));
    /// world.spawn(Health(10));
    /// for health in world.query_filtered_mut::<&mut Health, With<Poisoned>>() {
    ///     health.0 -= 1;
    /// }
    /// assert_eq!(world.get::<Health>(ann).unwrap().0, 9);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the query would alias: if it writes a component and names it twice.
    #[doc(alias = "with")]
    #[doc(alias = "without")]
    #[inline]
    #[track_caller]
    pub fn query_filtered_mut<D: QueryData, F: QueryFilter>(&mut self) -> Query<'_, '_, D, F> {
        let (world, matches) = update_matches::<D, F>(self, |matches, world| matches.update::<Filtered<D, F>>(world));
        // SAFETY: the matches were updated to this world, which is borrowed exclusively. The cache refuses queries that alias.
        unsafe { Query::with_matches(world, matches) }
    }

    /// Returns the item of one entity.
    ///
    /// The cost does not depend on the number of tables, unlike that of [`query_mut`](World::query_mut).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(i32);
    /// #[derive(Component)]
    /// struct Armour(i32);
    ///
    /// let mut world = World::new();
    /// let ann = world.spawn((Health(10), Armour(2)));
    /// let (health, armour) = world.query_one_mut::<(&mut Health, &Armour)>(ann)?;
    /// health.0 -= 5 - armour.0;
    /// assert_eq!(world.get::<Health>(ann)?.0, 7);
    /// # Ok::<(), phalanx::ComponentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ComponentError::NoSuchEntity`] if the entity is not alive, and
    /// [`ComponentError::MissingComponent`] if it does not match. With a [`Filtered`](crate::query::Filtered) term
    /// [`ExcludedComponent`](ComponentError::ExcludedComponent) and
    /// [`UnchangedComponent`](ComponentError::UnchangedComponent) are possible, too.
    ///
    /// # Panics
    ///
    /// Panics if the query would alias: if it writes a component and names it twice.
    #[doc(alias = "QueryOne")]
    #[doc(alias = "get_many")]
    #[inline]
    #[track_caller]
    pub fn query_one_mut<D: QueryData>(&mut self, entity: Entity) -> Result<D::Item<'_>, ComponentError> {
        let (world, matches) = update_matches::<D, ()>(self, |matches, world| {
            matches.state_to_find::<Filtered<D, ()>>(world, false);
        });
        // SAFETY: the state was updated to this world, which is borrowed exclusively. The cache refuses queries that alias.
        unsafe { item_of::<D, (), true>(world, matches.state(), entity) }
    }

    /// Returns several queries at once, none of which touches what another writes: a tuple of two to four.
    ///
    /// Each is given by its data, or as a [`Query`] with a filter.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Heat(f32);
    /// #[derive(Component)]
    /// struct Fire(f32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([Heat(0.0), Heat(1.0)]);
    /// world.spawn_batch([Fire(2.0), Fire(3.0)]);
    /// let (heats, fires) = world.queries_mut::<(&mut Heat, &Fire)>();
    /// for heat in heats {
    ///     heat.0 += fires.iter().map(|fire| fire.0).sum::<f32>();
    /// }
    /// assert_eq!(world.query::<&Heat>().iter().map(|heat| heat.0).sum::<f32>(), 11.0);
    /// ```
    ///
    /// Two queries may write the same component if the filter of one has `With<T>` and that of the other `Without<T>`:
    ///
    /// ```
    /// use phalanx::{Component, Query, With, Without, World};
    ///
    /// #[derive(Component)]
    /// struct Position(f32);
    /// #[derive(Component)]
    /// struct Player;
    ///
    /// let mut world = World::new();
    /// world.spawn((Position(5.0), Player));
    /// world.spawn_batch([Position(0.0), Position(1.0)]);
    /// let (mut player, others) =
    ///     world.queries_mut::<(Query<&mut Position, With<Player>>, Query<&mut Position, Without<Player>>)>();
    /// let player = player.single_mut()?;
    /// for other in others {
    ///     other.0 += player.0;
    ///     player.0 -= 1.0;
    /// }
    /// assert!(world.query::<&Position>().iter().map(|p| p.0).eq([3.0, 5.0, 5.0]));
    /// # Ok::<(), phalanx::query::SingleError>(())
    /// ```
    ///
    /// Queries can be moved to other threads:
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct A(u32);
    /// #[derive(Component)]
    /// struct B(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn((A(1), B(2)));
    /// let (a, b) = world.queries_mut::<(&mut A, &mut B)>();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| a.for_each(|a| a.0 += 1));
    ///     scope.spawn(|| b.for_each(|b| b.0 += 1));
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if a query would alias, with itself or with another.
    #[doc(alias = "ParamSet")]
    #[track_caller]
    pub fn queries_mut<S: QuerySet>(&mut self) -> S::Queries<'_> {
        S::queries(self)
    }
}
