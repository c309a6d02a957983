//! The state of a query that is held.
#![allow(unsafe_code)]

use super::iter::Run;
use super::matched::item_of;
use super::walk::{Lead, course};
use super::{Access, AliasError, ChunkFilter, ChunkQuery, Chunks, Filter, Iter, Matched, Query, ReadOnlyQuery};
use super::{is_live, matches_table, set_look};
use crate::error::ComponentError;
use crate::table::Epoch;
use crate::track::{Look, Tick};
use crate::world::World;
use core::fmt;
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
///
/// With a filter, and all that a query can do:
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
/// assert_eq!(retired.of_mut(&mut world).single().unwrap().0, 70);
/// retired.get_mut(&mut world, old).unwrap().0 += 1;
/// assert_eq!(retired.len(&world), 1);
/// ```
pub struct QueryState<Q: Query, F: Filter = ()> {
    /// The world and the epoch that the runs are of.
    seen: Option<(u64, Option<Epoch>)>,
    /// Tables of that world that were looked at.
    tables_seen: usize,
    components_seen: usize,
    ids: Option<(Q::State, F::State)>,
    tables: Vec<u32>,
    runs: Vec<Run<Q::Fetch>>,
    /// The clock and the tick of the last run, of a query that is live.
    looked: Option<(u64, Tick)>,
    /// What leads instead of the runs, and how many rows it has, in a query over components that are not kept in tables.
    walks: Option<(Lead, u64)>,
}

impl<Q: Query, F: Filter> QueryState<Q, F> {
    /// A state that knows no world yet.
    ///
    /// # Panics
    ///
    /// If the query would alias: if it writes a component and names it twice.
    #[track_caller]
    pub fn new() -> Self {
        match Self::try_new() {
            Ok(state) => state,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`new`](QueryState::new), with an error instead of a panic.
    ///
    /// # Errors
    ///
    /// If the query would alias. The error names the component.
    pub fn try_new() -> Result<Self, AliasError> {
        Access::try_of::<Q>()?;
        Ok(QueryState {
            seen: None,
            tables_seen: 0,
            components_seen: 0,
            ids: None,
            tables: Vec::new(),
            runs: Vec::new(),
            walks: None,
            looked: None,
        })
    }

    const LIVE: bool = Q::LIVE || F::LIVE;

    /// Brings the runs up to date with a world, to be run by somebody who does not remember when he looked last.
    #[inline(always)]
    pub(super) fn update(&mut self, world: &World) {
        if Self::LIVE {
            self.update_live(world, world.storage.sides.clock.look_to_run(), true);
        } else if self.seen != Some((world.id(), Some(world.storage.epoch()))) {
            self.update_slow(world, None, false);
        }
    }

    /// Brings the runs up to date with a world, to be run.
    #[inline(always)]
    fn begin(&mut self, world: &World) {
        match Self::LIVE {
            true => {
                let (clock, since) = (&world.storage.sides.clock, self.peek(world).since);
                let now = clock.take();
                self.looked = Some((clock.id, now));
                self.update_live(world, Look { now, since, own: true }, true);
            }
            false => self.update(world),
        }
    }

    /// Brings the runs up to date with a world, to be looked at only.
    fn begin_peek(&mut self, world: &World) {
        match Self::LIVE {
            true => self.update_live(world, self.peek(world), false),
            false => self.update(world),
        }
    }

    /// How a world is looked at without counting as a run.
    fn peek(&self, world: &World) -> Look {
        let clock = &world.storage.sides.clock;
        let since = self.looked.and_then(|look| clock.since(look));
        Look { now: clock.now(), since, own: false }
    }

    #[cold]
    #[inline(never)]
    fn update_live(&mut self, world: &World, look: Look, opens: bool) {
        self.update_slow(world, Some(look), opens);
    }

    /// As [`resolve`](QueryState::resolve), for reaching one entity from the world's own state.
    #[inline]
    pub(super) fn resolve_look(&mut self, world: &World) {
        self.resolve(world);
        if let (true, Some(ids)) = (Self::LIVE, &mut self.ids) {
            set_look::<Q, F>(ids, world.storage.look());
        }
    }

    /// As [`resolve`](QueryState::resolve), for reaching one entity.
    #[inline]
    fn resolve_peek(&mut self, world: &World) -> &(Q::State, F::State) {
        self.resolve(world);
        let look = self.peek(world);
        if let (true, Some(ids)) = (Self::LIVE, &mut self.ids) {
            set_look::<Q, F>(ids, look);
        }
        self.ids()
    }

    #[cold]
    #[inline(never)]
    fn update_slow(&mut self, world: &World, look: Option<Look>, opens: bool) {
        self.resolve(world);
        let Some(ids) = &mut self.ids else { unreachable!("ids were found just now, or before") };
        if let Some(look) = look {
            set_look::<Q, F>(ids, look);
        }
        let ids = &*ids;
        let terms = &ids.0;
        for number in self.tables_seen..world.storage.tables.len() {
            let table = &world.storage.tables[number];
            // A filter may be anybody's, and may panic: a table that is in the list has been counted.
            let matches = matches_table::<Q, F>(ids, &table.signature);
            self.tables_seen = number + 1;
            if matches {
                self.tables.push(number as u32);
            }
        }
        // A table that got its first row since comes after all that had rows.
        let stamp = |number: &u32| world.storage.tables[*number as usize].stamp;
        if !self.tables.is_sorted_by_key(stamp) {
            self.tables.sort_unstable_by_key(stamp);
        }
        self.runs.clear();
        if Q::SIDES || F::SIDES {
            self.walks = None;
            // SAFETY: the ids are this world's.
            let course = unsafe { course::<Q, F>(world, ids, self.tables.iter().copied()) };
            self.walks = course.walks().then_some((course.lead, course.len));
            self.runs.extend(course.run);
            self.seen = Some((world.id(), Some(world.storage.epoch())));
            if Q::LIVE && opens {
                for &number in self.tables.iter().filter(|number| is_live::<Q, F>(ids, world, **number)) {
                    // SAFETY: the ids are this world's.
                    unsafe { Q::mark(terms, world, Some(number)) };
                }
                // SAFETY: the ids are this world's.
                unsafe { Q::mark(terms, world, None) };
            }
            return;
        }
        for &number in &self.tables {
            let len = world.storage.tables[number as usize].len;
            if len > 0 && is_live::<Q, F>(ids, world, number) {
                if Q::LIVE && opens {
                    // SAFETY: the ids are this world's.
                    unsafe { Q::mark(terms, world, Some(number)) };
                }
                // SAFETY: the ids are this world's, and the table matches.
                self.runs.push(Run { fetch: unsafe { Q::fetch(terms, world, number) }, len });
            }
        }
        self.seen = Some((world.id(), Some(world.storage.epoch())));
    }

    /// Brings the ids up to date with a world: all that is needed to reach one entity.
    #[inline]
    pub(super) fn resolve(&mut self, world: &World) -> &(Q::State, F::State) {
        let same_world = self.seen.is_some_and(|(id, _)| id == world.id());
        if !same_world || self.components_seen != world.storage.components.len() {
            // A filter may be anybody's, and may panic: then this is a state that knows no world.
            self.seen = None;
            self.ids = Some((Q::state(&world.storage.components), F::state(&world.storage.components)));
            // Tables that were passed over may have a component that had no id then. The runs are of no epoch.
            (self.tables_seen, self.components_seen) = (0, world.storage.components.len());
            self.tables.clear();
            self.runs.clear();
            self.walks = None;
            self.seen = Some((world.id(), None));
        }
        self.ids()
    }

    /// The ids that were found last.
    #[inline(always)]
    pub(super) fn ids(&self) -> &(Q::State, F::State) {
        match &self.ids {
            Some(ids) => ids,
            None => unreachable!("a state that was brought up to date has ids"),
        }
    }

    /// What the query finds in a world that is borrowed exclusively.
    #[inline]
    pub fn of_mut<'w>(&mut self, world: &'w mut World) -> Matched<'w, '_, Q, F> {
        self.begin(world);
        // SAFETY: the runs are this world's as it is, and the world is borrowed exclusively.
        unsafe { self.matched(world) }
    }

    /// What the query, which writes nothing, finds in a shared world.
    #[inline]
    pub fn of<'w>(&mut self, world: &'w World) -> Matched<'w, '_, Q, F>
    where
        Q: ReadOnlyQuery,
    {
        self.begin(world);
        // SAFETY: the runs are this world's as it is, and a query that writes nothing needs no more.
        unsafe { self.matched(world) }
    }

    /// # Safety
    ///
    /// The state is up to date, and the world is borrowed for `'w` as the query needs it.
    #[inline(always)]
    pub(super) unsafe fn matched<'w>(&self, world: &'w World) -> Matched<'w, '_, Q, F> {
        world.open_for::<Q>(|signature| Q::matches(&self.ids().0, signature));
        // SAFETY: the caller's promise.
        unsafe {
            match Q::SIDES || F::SIDES {
                true => Matched::new(world, self.ids(), &self.runs, &self.tables, self.walks),
                false => Matched::new(world, self.ids(), &self.runs, &[], None),
            }
        }
    }

    /// The items.
    #[inline]
    pub fn iter_mut<'w>(&mut self, world: &'w mut World) -> Iter<'w, '_, Q, F> {
        self.of_mut(world).into_iter()
    }

    /// The items, of a query that writes nothing.
    #[inline]
    pub fn iter<'w>(&mut self, world: &'w World) -> Iter<'w, '_, Q, F>
    where
        Q: ReadOnlyQuery,
    {
        self.of(world).into_iter()
    }

    /// The items, table by table.
    #[inline]
    pub fn chunks_mut<'w>(&mut self, world: &'w mut World) -> Chunks<'w, '_, Q>
    where
        Q: ChunkQuery,
        F: ChunkFilter,
    {
        self.of_mut(world).chunks()
    }

    /// The items of a query that writes nothing, table by table.
    #[inline]
    pub fn chunks<'w>(&mut self, world: &'w World) -> Chunks<'w, '_, Q>
    where
        Q: ReadOnlyQuery + ChunkQuery,
        F: ChunkFilter,
    {
        self.of(world).chunks()
    }

    /// The item of an entity. It does not matter how much of the world has changed.
    ///
    /// # Errors
    ///
    /// If it is not alive, or is not among those that the query asks for.
    #[inline]
    pub fn get_mut<'w>(&mut self, world: &'w mut World, entity: Entity) -> Result<Q::Item<'w>, ComponentError> {
        // SAFETY: the ids are this world's, and the world is borrowed exclusively.
        unsafe { item_of::<Q, F>(world, self.resolve_peek(world), entity) }
    }

    /// The item of an entity, of a query that writes nothing.
    ///
    /// # Errors
    ///
    /// If it is not alive, or is not among those that the query asks for.
    #[inline]
    pub fn get<'w>(&mut self, world: &'w World, entity: Entity) -> Result<Q::Item<'w>, ComponentError>
    where
        Q: ReadOnlyQuery,
    {
        // SAFETY: the ids are this world's, and a query that writes nothing needs no more.
        unsafe { item_of::<Q, F>(world, self.resolve_peek(world), entity) }
    }

    /// How many items there are.
    pub fn len(&mut self, world: &World) -> usize {
        self.begin_peek(world);
        // SAFETY: the state is up to date, and no item is made.
        unsafe { self.matched(world) }.len()
    }

    /// Whether there are none.
    pub fn is_empty(&mut self, world: &World) -> bool {
        self.begin_peek(world);
        // SAFETY: the state is up to date, and no item is made.
        unsafe { self.matched(world) }.is_empty()
    }
}

impl<Q: Query, F: Filter> Default for QueryState<Q, F> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<Q: Query, F: Filter> fmt::Debug for QueryState<Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryState({}, {} tables)", core::any::type_name::<Q>(), self.tables.len())
    }
}

// SAFETY: the ids can go to another thread; the runs are pointers into a world, used only together with a borrow of it.
unsafe impl<Q: Query, F: Filter> Send for QueryState<Q, F> {}
// SAFETY: as above; a shared state is not used at all.
unsafe impl<Q: Query, F: Filter> Sync for QueryState<Q, F> {}
