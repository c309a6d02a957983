//! Asking a world: the query of a moment, and the state that is held.
#![allow(unsafe_code)]

use super::iter::Run;
use super::{Access, Chunks, Filter, Iter, Query, ReadOnlyQuery};
use crate::error::ComponentError;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// A query with what it knows of a world, to be held over many uses.
///
/// It finds out by itself when the world has changed, and when it is another world.
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
pub struct QueryState<Q: Query, F: Filter = ()> {
    /// The world and the epoch that the runs are of.
    seen: Option<(u64, u64)>,
    /// Tables of that world that were looked at.
    tables_seen: usize,
    components_seen: usize,
    ids: Option<(Q::State, F::State)>,
    tables: Vec<u32>,
    runs: Vec<Run<Q::Fetch>>,
}

impl<Q: Query, F: Filter> QueryState<Q, F> {
    /// A state that knows no world yet.
    ///
    /// # Panics
    ///
    /// If the query would alias: if it writes a component and names it twice.
    #[track_caller]
    pub fn new() -> Self {
        Access::of::<Q>();
        QueryState { seen: None, tables_seen: 0, components_seen: 0, ids: None, tables: Vec::new(), runs: Vec::new() }
    }

    /// Brings the runs up to date with a world.
    #[inline(always)]
    fn update(&mut self, world: &World) {
        if self.seen != Some((world.id(), world.epoch())) {
            self.update_slow(world);
        }
    }

    #[cold]
    #[inline(never)]
    fn update_slow(&mut self, world: &World) {
        // A filter may panic; a state that was left half-way knows no world, and begins anew.
        let same_world = self.seen.take().is_some_and(|(id, _)| id == world.id());
        if !same_world || self.components_seen != world.components.len() {
            // Tables that were passed over may have a component that had no id then.
            (self.tables_seen, self.components_seen) = (0, world.components.len());
            self.tables.clear();
            self.ids = Some((Q::state(&world.components), F::state(&world.components)));
        }
        let Some((ids, filter)) = &self.ids else { unreachable!("ids were found just now, or before") };
        for (number, table) in world.tables.iter().enumerate().skip(self.tables_seen) {
            if Q::matches(ids, &table.signature) && F::passes(filter, &table.signature) {
                self.tables.push(number as u32);
            }
        }
        self.tables_seen = world.tables.len();
        self.runs.clear();
        for &number in &self.tables {
            let len = world.tables[number as usize].len;
            if len > 0 {
                // SAFETY: the ids are this world's, and the table matches.
                self.runs.push(Run { fetch: unsafe { Q::fetch(ids, world, number) }, len });
            }
        }
        self.seen = Some((world.id(), world.epoch()));
    }

    /// The items.
    #[inline]
    pub fn iter_mut<'w>(&mut self, world: &'w mut World) -> Iter<'w, '_, Q> {
        self.update(world);
        // SAFETY: the runs are this world's as it is, and the world is borrowed exclusively.
        unsafe { Iter::new(&self.runs) }
    }

    /// The items, of a query that writes nothing.
    #[inline]
    pub fn iter<'w>(&mut self, world: &'w World) -> Iter<'w, '_, Q>
    where
        Q: ReadOnlyQuery,
    {
        self.update(world);
        // SAFETY: the runs are this world's as it is, and a query that writes nothing needs no more.
        unsafe { Iter::new(&self.runs) }
    }

    /// The items, table by table.
    #[inline]
    pub fn chunks_mut<'w>(&mut self, world: &'w mut World) -> Chunks<'w, '_, Q> {
        self.update(world);
        // SAFETY: as for `iter_mut`.
        unsafe { Chunks::new(&self.runs) }
    }

    /// How many items there are.
    pub fn len(&mut self, world: &World) -> usize {
        self.update(world);
        self.runs.iter().map(|run| run.len as usize).sum()
    }
}

impl<Q: Query, F: Filter> Default for QueryState<Q, F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Q: Query, F: Filter> fmt::Debug for QueryState<Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryState({}, {} tables)", core::any::type_name::<Q>(), self.tables.len())
    }
}

// SAFETY: the runs are pointers into a world, used only together with a borrow of that world.
unsafe impl<Q: Query, F: Filter> Send for QueryState<Q, F>
where
    Q::State: Send,
    F::State: Send,
{
}
// SAFETY: as above; a shared state is not used at all.
unsafe impl<Q: Query, F: Filter> Sync for QueryState<Q, F>
where
    Q::State: Sync,
    F::State: Sync,
{
}

/// A query of a world that is borrowed exclusively: [`World::query_mut`].
pub struct QueryMut<'w, Q: Query, F: Filter = ()> {
    world: &'w mut World,
    query: PhantomData<fn() -> (Q, F)>,
}

/// A query of a shared world: [`World::query`].
pub struct QueryRef<'w, Q: Query, F: Filter = ()> {
    world: &'w World,
    query: PhantomData<fn() -> (Q, F)>,
}

impl World {
    /// All entities that have what `Q` asks for.
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

    /// All entities that have what `Q` asks for, which is only read.
    #[inline]
    pub fn query<Q: ReadOnlyQuery>(&self) -> QueryRef<'_, Q> {
        QueryRef { world: self, query: PhantomData }
    }
}

/// The runs of a query in the state that the world keeps for it, brought up to date.
#[inline(always)]
fn cached_runs<Q: Query, F: Filter>(world: &mut World) -> &[Run<Q::Fetch>] {
    // Out of the world while it is looked at. A panic (an aliasing query) leaves it without, and it is made anew.
    let mut cache = world.queries.take().unwrap_or_default();
    let state = cache.state::<Q, F>();
    state.update(world);
    let runs = &raw const *state.runs;
    world.queries = Some(cache);
    // SAFETY: the runs lie in a block of the state, which the world keeps and nobody changes while it is borrowed.
    unsafe { &*runs }
}

impl<'w, Q: Query, F: Filter> QueryMut<'w, Q, F> {
    /// Only those entities that pass a filter too.
    #[inline]
    pub fn filter<G: Filter>(self) -> QueryMut<'w, Q, (F, G)> {
        QueryMut { world: self.world, query: PhantomData }
    }

    /// The items, with the query kept for another use.
    #[inline]
    pub fn iter(&mut self) -> Iter<'_, '_, Q> {
        // SAFETY: the runs are this world's as it is, and the world is borrowed exclusively.
        unsafe { Iter::new(cached_runs::<Q, F>(self.world)) }
    }

    /// Calls `f` with every item, in a plain loop over each table.
    #[inline]
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
    #[inline]
    pub fn chunks(self) -> Chunks<'w, 'w, Q> {
        // SAFETY: the runs are this world's as it is, and the world is borrowed exclusively.
        unsafe { Chunks::new(cached_runs::<Q, F>(self.world)) }
    }

    /// How many items there are.
    pub fn len(&mut self) -> usize {
        cached_runs::<Q, F>(self.world).iter().map(|run| run.len as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&mut self) -> bool {
        cached_runs::<Q, F>(self.world).is_empty()
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
        Access::of::<Q>();
        // SAFETY: the world is borrowed exclusively, and the query does not alias.
        unsafe { item_of::<Q, F>(self.world, entity) }
    }
}

/// The item of an entity.
///
/// # Safety
///
/// The world is borrowed for `'w` as the query needs it.
unsafe fn item_of<'w, Q: Query, F: Filter>(world: &World, entity: Entity) -> Result<Q::Item<'w>, ComponentError> {
    let location = world.locate(entity)?;
    let (ids, filter) = (Q::state(&world.components), F::state(&world.components));
    let signature = &world.tables[location.table as usize].signature;
    if !(Q::matches(&ids, signature) && F::passes(&filter, signature)) {
        return Err(ComponentError::MissingComponent { entity, component: core::any::type_name::<Q>() });
    }
    // SAFETY: the table matches, the row is in use, and the rest is the caller's promise.
    Ok(unsafe { Q::row(Q::fetch(&ids, world, location.table), location.row as usize) })
}

impl<'w, Q: Query, F: Filter> IntoIterator for QueryMut<'w, Q, F> {
    type Item = Q::Item<'w>;
    type IntoIter = Iter<'w, 'w, Q>;

    #[inline]
    fn into_iter(self) -> Iter<'w, 'w, Q> {
        // SAFETY: the runs are this world's as it is, and the world is borrowed exclusively.
        unsafe { Iter::new(cached_runs::<Q, F>(self.world)) }
    }
}

impl<'w, Q: ReadOnlyQuery, F: Filter> QueryRef<'w, Q, F> {
    /// Only those entities that pass a filter too.
    #[inline]
    pub fn filter<G: Filter>(self) -> QueryRef<'w, Q, (F, G)> {
        QueryRef { world: self.world, query: PhantomData }
    }

    /// The items, table by table and row by row.
    pub fn iter(&self) -> impl Iterator<Item = Q::Item<'w>> + use<'w, Q, F> {
        self.runs().flat_map(|run| {
            // SAFETY: the row is in use, and a query that writes nothing needs no more than a shared world.
            (0..run.len as usize).map(move |row| unsafe { Q::row(run.fetch, row) })
        })
    }

    /// Calls `f` with every item.
    pub fn for_each(self, f: impl FnMut(Q::Item<'w>)) {
        self.iter().for_each(f);
    }

    /// The items table by table, as slices of equal length.
    pub fn chunks(&self) -> impl Iterator<Item = Q::Chunk<'w>> + use<'w, Q, F> {
        // SAFETY: the rows are in use, and a query that writes nothing needs no more than a shared world.
        self.runs().map(|run| unsafe { Q::chunk(run.fetch, run.len as usize) })
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.runs().map(|run| run.len as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs().next().is_none()
    }

    /// The item of an entity.
    ///
    /// # Errors
    ///
    /// If it is not alive, or is not among those that the query asks for.
    pub fn get(&self, entity: Entity) -> Result<Q::Item<'w>, ComponentError> {
        // SAFETY: a query that writes nothing needs no more than a shared world.
        unsafe { item_of::<Q, F>(self.world, entity) }
    }

    /// The tables that match and have rows, resolved on the way.
    fn runs(&self) -> impl Iterator<Item = Run<Q::Fetch>> + use<'w, Q, F> {
        let world = self.world;
        let (ids, filter) = (Q::state(&world.components), F::state(&world.components));
        world.tables.iter().zip(0..).filter_map(move |(table, number)| {
            let matches = table.len > 0 && Q::matches(&ids, &table.signature) && F::passes(&filter, &table.signature);
            // SAFETY: the ids are this world's, and the table matches.
            matches.then(|| Run { fetch: unsafe { Q::fetch(&ids, world, number) }, len: table.len })
        })
    }
}

impl<Q: Query, F: Filter> fmt::Debug for QueryMut<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryMut({})", core::any::type_name::<Q>())
    }
}

impl<Q: Query, F: Filter> fmt::Debug for QueryRef<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryRef({})", core::any::type_name::<Q>())
    }
}
