//! What a query finds in a world, and all that can be done with it.
#![allow(unsafe_code)]

use super::chunk::assert_chunks;
use super::combine::{Combinations, Cursor, whole};
use super::is_live;
use super::iter::Run;
use super::walk::{Lead, Walk};
use super::{Candidate, ChunkFilter, ChunkQuery, Chunks, Filter, Iter, Plan, Query, ReadOnlyQuery, Spot};
use crate::error::ComponentError;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// What a query finds in a world: the tables that match, resolved.
///
/// From [`World::queries_mut`], [`QueryState::of_mut`](super::QueryState::of_mut) and
/// [`QueryState::of`](super::QueryState::of). [`QueryMut`](super::QueryMut) does the same.
pub struct Matched<'w, 's, Q: Query, F: Filter = ()> {
    world: &'w World,
    ids: &'s (Q::State, F::State),
    runs: &'s [Run<Q::Fetch>],
    /// The tables that match.
    tables: &'s [u32],
    /// What leads instead of the runs, in a query over components that are not kept in tables.
    walks: Option<(Lead, u64)>,
    /// What the query writes is reachable from here alone, so there can be no second one for as long.
    items: PhantomData<&'w mut World>,
}

impl<'w, 's, Q: Query, F: Filter> Matched<'w, 's, Q, F> {
    /// # Safety
    ///
    /// The ids are the world's, and runs, tables and lead are what matches in it as it is. The world is borrowed for `'w` in such a way
    /// that nobody else touches what the query writes, or writes what it touches; the query does not alias.
    #[inline(always)]
    pub(super) unsafe fn new(
        world: &'w World,
        ids: &'s (Q::State, F::State),
        runs: &'s [Run<Q::Fetch>],
        tables: &'s [u32],
        walks: Option<(Lead, u64)>,
    ) -> Self {
        Matched { world, ids, runs, tables, walks, items: PhantomData }
    }

    const SIDES: bool = Q::SIDES || F::SIDES;

    /// What is walked instead of the runs.
    #[inline(always)]
    pub(super) fn walk(&self) -> Option<Walk<'w, 's, Q>> {
        match self.walks {
            Some(lead) if Self::SIDES => {
                // SAFETY: what `new` was promised.
                Some(unsafe { Walk::new::<F>(self.world, self.ids, lead, self.tables.into()) })
            }
            _ => None,
        }
    }

    /// Notes that all rows are about to be visited, if somebody counts.
    #[inline(always)]
    pub(super) fn note(&self) {
        if self.world.storage.counting {
            let rows = self.runs.iter().map(|run| u64::from(run.len)).sum();
            self.world.note_visits::<Q>(self.walks.filter(|_| Self::SIDES).map_or(rows, |(_, len)| len));
        }
    }

    /// The items, with this kept for another use.
    #[inline]
    pub fn iter(&mut self) -> Iter<'_, '_, Q, F> {
        self.note();
        // SAFETY: what `new` was promised, for the time of this borrow.
        unsafe { Iter::new(self.runs, self.walk().map(|walk| (walk, self.ids))) }
    }

    /// Calls `f` with every item, in a plain loop over each table.
    #[inline]
    pub fn for_each(self, f: impl FnMut(Q::Item<'w>)) {
        self.into_iter().for_each(f);
    }

    /// The items table by table, as slices of equal length.
    #[inline]
    pub fn chunks(self) -> Chunks<'w, 's, Q>
    where
        Q: ChunkQuery,
        F: ChunkFilter,
    {
        const { assert_chunks::<Q, F>() };
        self.note();
        // SAFETY: what `new` was promised.
        unsafe { Chunks::new(self.runs) }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        match self.walk() {
            // SAFETY: the walk was made with these ids.
            Some(mut walk) => unsafe { walk.spots::<F>(self.ids) }.count(),
            None => self.runs.iter().map(|run| run.len as usize).sum(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        match self.walk() {
            // SAFETY: the walk was made with these ids.
            Some(mut walk) => unsafe { walk.spots::<F>(self.ids) }.next().is_none(),
            None => self.runs.is_empty(),
        }
    }

    /// Whether an entity is alive and among those that the query asks for.
    pub fn contains(&self, entity: Entity) -> bool {
        // SAFETY: the ids are the world's, as `new` was promised.
        unsafe { contains::<Q, F>(self.world, self.ids, entity) }
    }

    /// The item of an entity.
    ///
    /// # Errors
    ///
    /// If it is not alive, or is not among those that the query asks for.
    #[inline]
    pub fn get(&mut self, entity: Entity) -> Result<Q::Item<'_>, ComponentError> {
        // SAFETY: what `new` was promised, for the time of this borrow.
        unsafe { item_of::<Q, F>(self.world, self.ids, entity) }
    }

    /// The only item.
    ///
    /// # Errors
    ///
    /// If there is none, or if there are several.
    pub fn single(self) -> Result<Q::Item<'w>, SingleError> {
        if let Some(mut walk) = self.walk() {
            // SAFETY: the walk was made with these ids.
            let mut spots = unsafe { walk.spots::<F>(self.ids) };
            return match (spots.next(), spots.next()) {
                (Some(_), None) => {
                    self.into_iter().next().ok_or(SingleError::None { query: core::any::type_name::<Q>() })
                }
                (None, _) => Err(SingleError::None { query: core::any::type_name::<Q>() }),
                _ => Err(SingleError::Several { query: core::any::type_name::<Q>(), count: 2 + spots.count() }),
            };
        }
        match self.runs {
            // SAFETY: the row is in use and the rest is what `new` was promised.
            [run] if run.len == 1 => Ok(unsafe { Q::row(run.fetch, 0) }),
            [] => Err(SingleError::None { query: core::any::type_name::<Q>() }),
            _ => Err(SingleError::Several { query: core::any::type_name::<Q>(), count: self.len() }),
        }
    }

    /// The items of these entities, in the order of the entities, which may come more than once. An entity that is not
    /// alive or that the query does not ask for is an error in its place; `flatten` leaves those out.
    ///
    /// For queries that write there is [`for_each_many`](Matched::for_each_many).
    pub fn iter_many<I>(
        self,
        entities: I,
    ) -> impl Iterator<Item = Result<Q::Item<'w>, ComponentError>> + use<'w, 's, Q, F, I>
    where
        Q: ReadOnlyQuery,
        I: IntoIterator<Item = Entity>,
    {
        let (world, ids) = (self.world, self.ids);
        // SAFETY: what `new` was promised; items of a query that writes nothing can be had any number of times.
        entities.into_iter().map(move |entity| unsafe { item_of::<Q, F>(world, ids, entity) })
    }

    /// Calls `f` with the item of each of these entities, in the order of the entities, which may come more than once.
    ///
    /// # Errors
    ///
    /// At the first entity that is not alive or that the query does not ask for; those before it have been visited.
    pub fn for_each_many(
        &mut self,
        entities: impl IntoIterator<Item = Entity>,
        mut f: impl FnMut(Q::Item<'_>),
    ) -> Result<(), ComponentError> {
        entities.into_iter().try_for_each(|entity| {
            f(self.get(entity)?);
            Ok(())
        })
    }

    /// Every set of `N` different items, once, in the order of the query: `[a, b]`, `[a, c]`, `[b, c]`.
    ///
    /// For queries that write there is [`for_each_combination_mut`](Matched::for_each_combination_mut).
    pub fn combinations<const N: usize>(self) -> Combinations<'w, 's, Q, N>
    where
        Q: ReadOnlyQuery,
    {
        self.note();
        // SAFETY: what `new` was promised.
        unsafe { Combinations::new::<F>(self.runs.into(), self.walk(), self.ids) }
    }

    /// Calls `f` with every set of `N` different items, once, in the order of the query.
    pub fn for_each_combination_mut<const N: usize>(&mut self, mut f: impl FnMut([Q::Item<'_>; N])) {
        self.note();
        if let Some(mut walk) = self.walk() {
            // SAFETY: the walk was made with these ids.
            let (view, spots) = (walk.view(), unsafe { walk.spots::<F>(self.ids) }.collect::<Vec<_>>());
            let rows = Run::of_rows(spots.len());
            let mut cursor = Cursor::<N>::first(rows.as_slice());
            while let Some(places) = cursor.next(rows.as_slice()) {
                // SAFETY: the rows are the world's and differ; the rest as below.
                let items = places.map(|(_, row)| unsafe { Q::at(&self.ids.0, view, spots[row]) });
                // A filter of somebody's may have changed its mind about a row.
                if let Some(items) = whole(items) {
                    f(items);
                }
            }
            return;
        }
        let mut cursor = Cursor::<N>::first(self.runs);
        while let Some(places) = cursor.next(self.runs) {
            // SAFETY: the rows are in use and differ, so their items do not overlap; they end before the next are made,
            // since `f` takes items of any lifetime.
            f(places.map(|(run, row)| unsafe { Q::row(self.runs[run].fetch, row) }));
        }
    }

    /// What the query goes through, in words.
    pub fn plan(&self) -> Plan {
        // SAFETY: the ids are the world's, as `new` was promised.
        unsafe { Plan::new::<Q, F>(self.world, self.ids) }
    }

    #[cfg(feature = "parallel")]
    pub(super) fn runs(&self) -> &'s [Run<Q::Fetch>] {
        self.runs
    }

    #[cfg(feature = "parallel")]
    pub(super) fn ids(&self) -> &'s (Q::State, F::State) {
        self.ids
    }
}

impl<'w, 's, Q: Query, F: Filter> IntoIterator for Matched<'w, 's, Q, F> {
    type Item = Q::Item<'w>;
    type IntoIter = Iter<'w, 's, Q, F>;

    #[inline]
    fn into_iter(self) -> Iter<'w, 's, Q, F> {
        self.note();
        // SAFETY: what `new` was promised.
        unsafe { Iter::new(self.runs, self.walk().map(|walk| (walk, self.ids))) }
    }
}

impl<Q: Query, F: Filter> fmt::Debug for Matched<'_, '_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matched({}, {} items)", core::any::type_name::<Q>(), self.len())
    }
}

/// Why there is not exactly one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingleError {
    /// There is none.
    None {
        /// The query.
        query: &'static str,
    },
    /// There are more.
    Several {
        /// The query.
        query: &'static str,
        /// How many there are.
        count: usize,
    },
}

impl fmt::Display for SingleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SingleError::None { query } => write!(f, "no entity has what {query} asks for"),
            SingleError::Several { query, count } => write!(f, "{count} entities have what {query} asks for"),
        }
    }
}

impl core::error::Error for SingleError {}

/// The item of an entity.
///
/// # Safety
///
/// The ids are the world's. The world is borrowed for `'w` as the query needs it; the query does not alias.
#[inline]
pub(super) unsafe fn item_of<'w, Q: Query, F: Filter>(
    world: &World,
    ids: &(Q::State, F::State),
    entity: Entity,
) -> Result<Q::Item<'w>, ComponentError> {
    #[cfg(feature = "counters")]
    if world.storage.counting {
        world.note_finds::<Q>();
    }
    let (terms, filter) = ids;
    let location = world.storage.locate(entity)?;
    world.mark_for::<Q>(entity.index(), location);
    // SAFETY: the entity is alive.
    let row = unsafe { Candidate::new(world, entity.index(), None) };
    let mismatch = || {
        let mismatch = Q::mismatch(terms, &row).or_else(|| F::mismatch(filter, &row));
        mismatch.unwrap_or(super::Mismatch::Missing(core::any::type_name::<Q>())).of(entity)
    };
    if Q::SIDES || F::SIDES {
        let spot = Spot { index: entity.index(), key: Some(entity), position: 0, location };
        // SAFETY: the row is the world's, and the rest is the caller's promise.
        let item = || unsafe {
            let item = Q::at(terms, Q::view(terms, world, None), spot)?;
            if Q::LIVE {
                Q::mark(terms, world, Some(location.table));
                Q::mark(terms, world, None);
            }
            Some(item)
        };
        return F::passes_row(filter, &row).then(item).flatten().ok_or_else(mismatch);
    }
    let signature = &world.storage.tables[location.table as usize].signature;
    let matches = Q::matches(terms, signature) && F::passes(filter, signature);
    if !(matches && is_live::<Q, F>(ids, world, location.table)) {
        return Err(mismatch());
    }
    if Q::LIVE {
        // SAFETY: the ids are this world's.
        unsafe { Q::mark(terms, world, Some(location.table)) };
    }
    // SAFETY: the table matches, the row is in use, and the rest is the caller's promise.
    Ok(unsafe { Q::row(Q::fetch(terms, world, location.table), location.row as usize) })
}

/// Returns `true` if an entity is alive and matches.
///
/// # Safety
///
/// The ids are the world's.
pub(super) unsafe fn contains<Q: Query, F: Filter>(world: &World, ids: &(Q::State, F::State), entity: Entity) -> bool {
    let (terms, filter) = ids;
    world.storage.locate(entity).is_ok_and(|location| {
        if Q::SIDES || F::SIDES {
            let spot = Spot { index: entity.index(), key: Some(entity), position: 0, location };
            // SAFETY: the ids are the world's, by the caller's promise, and the entity is alive and at this location.
            return unsafe {
                F::passes_row(filter, &Candidate::new(world, spot.index, None))
                    && Q::holds(terms, Q::view(terms, world, None), spot)
            };
        }
        let signature = &world.storage.tables[location.table as usize].signature;
        Q::matches(terms, signature) && F::passes(filter, signature) && is_live::<Q, F>(ids, world, location.table)
    })
}
