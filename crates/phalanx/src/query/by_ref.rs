//! Queries of a shared world.
#![allow(unsafe_code)]

use super::chunk::assert_chunks;
use super::ids_of;
use super::matched::{contains, item_of};
use super::ref_iter::{RefChunks, RefIter, Runs};
use super::{ChunkFilter, ChunkQuery, Combinations, Filter, Plan, Query, ReadOnlyQuery, SingleError};
use crate::error::ComponentError;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// A query of a shared world: [`World::query`].
pub struct QueryRef<'w, Q: Query, F: Filter = ()> {
    pub(super) world: &'w World,
    query: PhantomData<fn() -> (Q, F)>,
}

impl World {
    /// Returns a query over all entities that have what `Q` asks for, which is only read. [Extra rows](super#extra-rows) are
    /// visited only if it asks for them.
    #[inline]
    pub fn query<Q: ReadOnlyQuery>(&self) -> QueryRef<'_, Q> {
        QueryRef { world: self, query: PhantomData }
    }
}

impl<'w, Q: ReadOnlyQuery, F: Filter> QueryRef<'w, Q, F> {
    /// Only those entities that pass a filter too.
    #[inline]
    pub fn filter<G: Filter>(self) -> QueryRef<'w, Q, (F, G)> {
        QueryRef { world: self.world, query: PhantomData }
    }

    /// The items, table by table and row by row.
    #[inline]
    pub fn iter(&self) -> RefIter<'w, Q, F> {
        let items = self.items();
        if self.world.storage.counting {
            self.world.note_visits::<Q>(items.size_hint().1.unwrap_or(0) as u64);
        }
        items
    }

    /// The items, of which nobody is told.
    #[inline]
    fn items(&self) -> RefIter<'w, Q, F> {
        RefIter::new(self.runs())
    }

    /// Calls `f` with every item.
    #[inline]
    pub fn for_each(self, f: impl FnMut(Q::Item<'w>)) {
        self.iter().for_each(f);
    }

    /// The items table by table, as slices of equal length.
    #[inline]
    pub fn chunks(&self) -> RefChunks<'w, Q, F>
    where
        Q: ChunkQuery,
        F: ChunkFilter,
    {
        const { assert_chunks::<Q, F>() };
        let runs = self.runs();
        if self.world.storage.counting {
            self.world.note_visits::<Q>(runs.rows_left() as u64);
        }
        RefChunks { runs }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items().count_left()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.items().any_left()
    }

    /// The item of an entity.
    ///
    /// # Errors
    ///
    /// If it is not alive, or is not among those that the query asks for.
    pub fn get(&self, entity: Entity) -> Result<Q::Item<'w>, ComponentError> {
        // SAFETY: the ids are this world's, and a query that writes nothing needs no more than a shared world.
        unsafe { item_of::<Q, F>(self.world, &self.ids(), entity) }
    }

    /// Whether an entity is alive and among those that the query asks for.
    pub fn contains(&self, entity: Entity) -> bool {
        // SAFETY: the ids are this world's.
        unsafe { contains::<Q, F>(self.world, &self.ids(), entity) }
    }

    /// The only item.
    ///
    /// # Errors
    ///
    /// If there is none, or if there are several.
    pub fn single(&self) -> Result<Q::Item<'w>, SingleError> {
        let mut items = self.items();
        match (items.next(), items.next()) {
            (Some(item), None) => Ok(item),
            (None, _) => Err(SingleError::None { query: core::any::type_name::<Q>() }),
            _ => Err(SingleError::Several { query: core::any::type_name::<Q>(), count: self.len() }),
        }
    }

    /// The items of these entities, in the order of the entities, which may come more than once. An entity that is not
    /// alive or that the query does not ask for is an error in its place; `flatten` leaves those out.
    pub fn iter_many<I>(
        &self,
        entities: I,
    ) -> impl Iterator<Item = Result<Q::Item<'w>, ComponentError>> + use<'w, Q, F, I>
    where
        I: IntoIterator<Item = Entity>,
    {
        let (world, ids) = (self.world, self.ids());
        // SAFETY: as in `get`.
        entities.into_iter().map(move |entity| unsafe { item_of::<Q, F>(world, &ids, entity) })
    }

    /// Every set of `N` different items, once, in the order of the query: `[a, b]`, `[a, c]`, `[b, c]`.
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
    pub fn combinations<const N: usize>(&self) -> Combinations<'w, 'w, Q, N> {
        // SAFETY: the runs are the world's, which is shared for `'w`: nobody writes.
        unsafe {
            let (runs, walk, ids) = self.iter().into_parts();
            Combinations::new::<F>(runs.into(), walk, &ids)
        }
    }

    /// What the query goes through, in words.
    pub fn plan(&self) -> Plan {
        // SAFETY: the ids are this world's.
        unsafe { Plan::new::<Q, F>(self.world, &self.ids()) }
    }

    pub(super) fn ids(&self) -> (Q::State, F::State) {
        ids_of::<Q, F>(self.world)
    }

    fn runs(&self) -> Runs<'w, Q, F> {
        Runs { world: self.world, ids: self.ids(), last: None, is_done: false }
    }
}

impl<'w, Q: ReadOnlyQuery, F: Filter> IntoIterator for QueryRef<'w, Q, F> {
    type Item = Q::Item<'w>;
    type IntoIter = RefIter<'w, Q, F>;

    #[inline]
    fn into_iter(self) -> RefIter<'w, Q, F> {
        self.iter()
    }
}

impl<Q: Query, F: Filter> fmt::Debug for QueryRef<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryRef({})", core::any::type_name::<Q>())
    }
}
