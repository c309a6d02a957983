//! Queries of a world that is borrowed exclusively.
#![allow(unsafe_code)]

use super::matched::{contains, item_of};
use super::{
    Access, ChunkFilter, ChunkQuery, Chunks, Filter, Iter, Matched, Plan, Query, QueryState, ReadOnlyQuery, SingleError,
};
use crate::error::ComponentError;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// A query of a world that is borrowed exclusively: [`World::query_mut`].
pub struct QueryMut<'w, Q: Query, F: Filter = ()> {
    pub(super) world: &'w mut World,
    query: PhantomData<fn() -> (Q, F)>,
}

impl World {
    /// Returns a query over all entities that have what `Q` asks for. [Extra rows](super#extra-rows) are visited only if it asks
    /// for them.
    ///
    /// ```
    /// use phalanx::{Component, Entity, With, World};
    ///
    /// #[derive(Component)]
    /// struct Health(i32);
    /// #[derive(Component)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new();
    /// let ann = world.spawn((Health(10), Poisoned));
    /// world.spawn(Health(10));
    /// for health in world.query_mut::<&mut Health>().filter::<With<Poisoned>>() {
    ///     health.0 -= 1;
    /// }
    /// assert_eq!(world.get::<Health>(ann).unwrap().0, 9);
    /// ```
    ///
    /// # Panics
    ///
    /// When it is run, if the query would alias: if it writes a component and names it twice.
    #[inline]
    pub fn query_mut<Q: Query>(&mut self) -> QueryMut<'_, Q> {
        QueryMut { world: self, query: PhantomData }
    }

    /// Several queries at once, none of which writes what another touches: a tuple of two to four.
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
    /// let (heats, mut fires) = world.queries_mut::<(&mut Heat, &Fire)>();
    /// for heat in heats {
    ///     heat.0 += fires.iter().map(|fire| fire.0).sum::<f32>();
    /// }
    /// assert_eq!(world.query::<&Heat>().iter().map(|heat| heat.0).sum::<f32>(), 11.0);
    /// ```
    ///
    /// # Panics
    ///
    /// If a query would alias, with itself or with another.
    #[track_caller]
    pub fn queries_mut<S: QuerySet>(&mut self) -> S::Matched<'_> {
        S::matched(self)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A tuple of two to four queries: [`World::queries_mut`].
pub trait QuerySet: sealed::Sealed {
    /// What each of them finds.
    type Matched<'w>;
    #[doc(hidden)]
    #[track_caller]
    fn matched(world: &mut World) -> Self::Matched<'_>;
}

macro_rules! query_set {
    ($($name:ident)*) => {
        impl<$($name: Query),*> sealed::Sealed for ($($name,)*) {}
        #[allow(non_snake_case)]
        impl<$($name: Query),*> QuerySet for ($($name,)*) {
            type Matched<'w> = ($(Matched<'w, 'w, $name>,)*);

            fn matched(world: &mut World) -> Self::Matched<'_> {
                Access::of::<($($name,)*)>();
                $(cached::<$name, ()>(world, |state, world| state.update(world));)*
                let world: &World = world;
                // SAFETY: the states are up to date. The world is borrowed exclusively for all of them together, and none
                // writes what another touches.
                ($(unsafe { kept::<$name>(world).matched(world) },)*)
            }
        }
    };
}
query_set!(A B);
query_set!(A B C);
query_set!(A B C D);

/// The state that the world keeps for a query, after it was brought up to date. The state lies in a block of its own and
/// stays until the world ends or the next call for the same query.
#[inline(always)]
#[track_caller]
fn cached<Q: Query, F: Filter>(
    world: &mut World,
    update: impl FnOnce(&mut QueryState<Q, F>, &World),
) -> *const QueryState<Q, F> {
    // Out of the world while it is looked at. A panic (an aliasing query) leaves it without, and it is made anew.
    let mut cache = world.queries.take().unwrap_or_default();
    let state = cache.state::<Q, F>();
    update(state, world);
    let state = &raw const *state;
    world.queries = Some(cache);
    state
}

/// The state that the world keeps for a query it has just been asked for.
fn kept<Q: Query>(world: &World) -> &QueryState<Q> {
    let state = world.queries.as_ref().and_then(|cache| cache.peek::<Q, ()>());
    state.expect("a state that was used is kept")
}

impl<'w, Q: Query, F: Filter> QueryMut<'w, Q, F> {
    /// Only those entities that pass a filter too.
    #[inline]
    pub fn filter<G: Filter>(self) -> QueryMut<'w, Q, (F, G)> {
        QueryMut { world: self.world, query: PhantomData }
    }

    /// What the query finds.
    #[inline(always)]
    #[track_caller]
    pub fn matched(self) -> Matched<'w, 'w, Q, F> {
        let state = cached::<Q, F>(self.world, |state, world| state.update(world));
        // SAFETY: the state is up to date and lies in a block of its own, which the world keeps and nobody changes while
        // it is borrowed. The world is borrowed exclusively.
        unsafe { (*state).matched(self.world) }
    }

    /// What the query finds, with the query kept for another use.
    #[inline(always)]
    #[track_caller]
    fn again(&mut self) -> Matched<'_, '_, Q, F> {
        QueryMut::<Q, F> { world: self.world, query: PhantomData }.matched()
    }

    /// The items, with the query kept for another use.
    #[inline]
    #[track_caller]
    pub fn iter(&mut self) -> Iter<'_, '_, Q, F> {
        self.again().into_iter()
    }

    /// Calls `f` with every item, in a plain loop over each table, or over a pool or linear stores if they are all that is
    /// asked for.
    #[inline]
    #[track_caller]
    pub fn for_each(self, f: impl FnMut(Q::Item<'w>)) {
        self.into_iter().for_each(f);
    }

    /// The items table by table, as slices of equal length: for loops that the compiler can vectorise.
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
    /// Components that are not stored in tables have no chunks. A query that names one, in a term or a filter, is not a
    /// [`ChunkQuery`] and does not compile:
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
    /// `for_each` runs as fast where one pool is all that is asked for, and the values of a pool can be had as a slice.
    #[inline]
    #[track_caller]
    pub fn chunks(self) -> Chunks<'w, 'w, Q>
    where
        Q: ChunkQuery,
        F: ChunkFilter,
    {
        self.matched().chunks()
    }

    /// How many items there are.
    #[track_caller]
    pub fn len(&mut self) -> usize {
        self.again().len()
    }

    /// Whether there are none.
    #[track_caller]
    pub fn is_empty(&mut self) -> bool {
        self.again().is_empty()
    }

    /// The ids of the query in this world.
    #[inline]
    #[track_caller]
    pub(super) fn ids(&mut self) -> &(Q::State, F::State) {
        let state = cached::<Q, F>(self.world, |state, world| {
            state.resolve_look(world);
        });
        // SAFETY: the state lies in a block of its own, which the world keeps and nobody changes while it is borrowed.
        unsafe { (*state).ids() }
    }

    /// Whether an entity is alive and among those that the query asks for.
    #[track_caller]
    pub fn contains(&mut self, entity: Entity) -> bool {
        let ids = self.ids().clone();
        // SAFETY: the ids are this world's.
        unsafe { contains::<Q, F>(self.world, &ids, entity) }
    }

    /// The item of an entity.
    ///
    /// # Errors
    ///
    /// If it is not alive, or is not among those that the query asks for.
    ///
    /// # Panics
    ///
    /// If the query would alias.
    #[track_caller]
    pub fn get(&mut self, entity: Entity) -> Result<Q::Item<'_>, ComponentError> {
        let ids = &raw const *self.ids();
        // SAFETY: the ids are this world's and lie in the state that it keeps; the world is borrowed exclusively, and a
        // state is only made of a query that does not alias.
        unsafe { item_of::<Q, F>(self.world, &*ids, entity) }
    }

    /// The only item.
    ///
    /// ```
    /// use phalanx::query::SingleError;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Player(u32);
    ///
    /// let mut world = World::new();
    /// assert!(matches!(world.query_mut::<&Player>().single(), Err(SingleError::None { .. })));
    /// world.spawn(Player(7));
    /// assert_eq!(world.query_mut::<&Player>().single().unwrap().0, 7);
    /// ```
    ///
    /// # Errors
    ///
    /// If there is none, or if there are several.
    #[track_caller]
    pub fn single(self) -> Result<Q::Item<'w>, SingleError> {
        self.matched().single()
    }

    /// The items of these entities: [`Matched::iter_many`].
    #[track_caller]
    pub fn iter_many<I>(
        self,
        entities: I,
    ) -> impl Iterator<Item = Result<Q::Item<'w>, ComponentError>> + use<'w, Q, F, I>
    where
        Q: ReadOnlyQuery,
        I: IntoIterator<Item = Entity>,
    {
        self.matched().iter_many(entities)
    }

    /// Calls `f` with the item of each of these entities: [`Matched::for_each_many`].
    ///
    /// # Errors
    ///
    /// At the first entity that is not alive or that the query does not ask for; those before it have been visited.
    #[track_caller]
    pub fn for_each_many(
        &mut self,
        entities: impl IntoIterator<Item = Entity>,
        f: impl FnMut(Q::Item<'_>),
    ) -> Result<(), ComponentError> {
        self.again().for_each_many(entities, f)
    }

    /// Every set of `N` different items, once: [`Matched::combinations`].
    #[track_caller]
    pub fn combinations<const N: usize>(self) -> super::Combinations<'w, 'w, Q, N>
    where
        Q: ReadOnlyQuery,
    {
        self.matched().combinations()
    }

    /// Calls `f` with every set of `N` different items, once, in the order of the query.
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
    #[track_caller]
    pub fn for_each_combination_mut<const N: usize>(&mut self, f: impl FnMut([Q::Item<'_>; N])) {
        self.again().for_each_combination_mut(f);
    }

    /// What the query goes through, in words.
    #[track_caller]
    pub fn plan(&mut self) -> Plan {
        self.again().plan()
    }
}

impl<'w, Q: Query, F: Filter> IntoIterator for QueryMut<'w, Q, F> {
    type Item = Q::Item<'w>;
    type IntoIter = Iter<'w, 'w, Q, F>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> Iter<'w, 'w, Q, F> {
        self.matched().into_iter()
    }
}

impl<Q: Query, F: Filter> fmt::Debug for QueryMut<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryMut({})", core::any::type_name::<Q>())
    }
}
