//! [`ObserverBuilder`] and [`Observer`]: functions that are called with rows that enter or leave a query.
#![allow(unsafe_code)]

use super::listener::ListenerId;
use super::observers::KEPT_ERRORS;
use super::{Entered, Left, apply_deferred};
use crate::alloc::{try_reserve, unwrap_alloc};
use crate::commands::CommandBuffer;
use crate::component::ComponentId;
use crate::journal::{Event, PastRow, RowChange, Watch};
use crate::query::{ObservedQuery, QueryFilter, ReadOnlyQueryData};
use crate::rows::Key;
use crate::world::World;
use core::any::type_name;
use core::fmt;
use phalanx_store::Entity;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

type Call = Box<dyn FnMut(PastRow<'_>, &World, &mut CommandBuffer) + Send + Sync>;

/// A connected observer of a query.
pub(super) struct Observer {
    pub(super) id: ListenerId,
    /// The components that the query names, sorted.
    ids: Vec<ComponentId>,
    pub(super) watch: Watch,
    pub(super) call: Call,
}

impl Observer {
    /// Returns `true` if the query names the component with this index.
    pub(super) fn names(&self, index: usize) -> bool {
        self.ids.binary_search_by_key(&index, |id| id.index()).is_ok()
    }

    /// Returns `true` if the changes of a row may have changed whether it matches.
    pub(super) fn is_concerned(&self, row: PastRow<'_>) -> bool {
        row.entries().any(|entry| {
            let is_new = self.watch == Watch::Rows && entry.change != RowChange::Changed;
            is_new || matches!(entry.event, Event::Added | Event::Removed) && self.names(entry.id.index())
        })
    }

    /// Returns the bytes held from the allocator, without what the function holds.
    pub(super) fn bytes(&self) -> usize {
        self.ids.capacity() * size_of::<ComponentId>()
    }
}

/// Connects observers of a query, created by [`World::observe`].
pub struct ObserverBuilder<'w, D: ReadOnlyQueryData, F: QueryFilter> {
    world: &'w mut World,
    query: ObservedQuery<D, F>,
    ids: Vec<ComponentId>,
    existing: bool,
}

impl World {
    /// Returns a builder that connects observers of a query. They are called with each row that starts to match, or ceases to.
    ///
    /// A row *enters* the query if it matches after an operation and did not before. It *leaves* if it matched before and does
    /// not after. So a row enters by a spawn, by the insertion of a required component, or by the removal of an excluded one. See
    /// [the contract](crate::signal#observers-of-queries).
    ///
    /// ```
    /// use phalanx::{Component, Without, World};
    /// use std::sync::{Arc, Mutex};
    ///
    /// #[derive(Component)]
    /// struct Ship(&'static str);
    /// #[derive(Component)]
    /// struct Hull(u32);
    /// #[derive(Component)]
    /// struct Wreck;
    ///
    /// let mut world = World::new();
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let (enter, leave) = (log.clone(), log.clone());
    /// world.observe::<(&Ship, &Hull), Without<Wreck>>().on_enter(move |entered, _, _| {
    ///     let (ship, hull) = entered.item;
    ///     enter.lock().unwrap().push(format!("{} enters with hull {}", ship.0, hull.0));
    /// });
    /// world.observe::<(&Ship, &Hull), Without<Wreck>>().on_leave(move |left, _, _| {
    ///     let (ship, hull) = left.item;
    ///     leave.lock().unwrap().push(format!("{} leaves with hull {}", ship.0, hull.0));
    /// });
    /// let [swift, brave] = [world.spawn((Ship("Swift"), Hull(9))), world.spawn(Ship("Brave"))];
    /// world.insert(swift, Wreck)?;
    /// world.insert(brave, Hull(5))?;
    /// world.despawn(brave)?;
    /// assert_eq!(
    ///     *log.lock().unwrap(),
    ///     ["Swift enters with hull 9", "Swift leaves with hull 9", "Brave enters with hull 5", "Brave leaves with hull 5"]
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the query depends on more than the components that a row has. That is so with the filters
    /// [`Changed`](crate::Changed) and [`Added`](crate::Added), with all terms and filters of
    /// [relations](crate::relation#queries), and with every [filter of your own](QueryFilter).
    ///
    /// ```should_panic
    /// use phalanx::{Changed, Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(track = "row")]
    /// struct Hull(u32);
    ///
    /// World::new().observe::<&Hull, Changed<Hull>>();
    /// ```
    #[doc(alias = "Observer")]
    #[doc(alias = "monitor")]
    #[doc(alias = "on_enter")]
    #[doc(alias = "on_leave")]
    #[track_caller]
    pub fn observe<D: ReadOnlyQueryData + 'static, F: QueryFilter>(&mut self) -> ObserverBuilder<'_, D, F> {
        // The spawns of a failed operation wait for a dispatch. They are events of a time before the connection. This comes
        // first, because a command of a listener may leave another world here.
        self.dispatch();
        let (query, ids) = ObservedQuery::new(self);
        ObserverBuilder { world: self, query, ids, existing: false }
    }
}

impl<D: ReadOnlyQueryData + 'static, F: QueryFilter> ObserverBuilder<'_, D, F> {
    /// Makes [`on_enter`](ObserverBuilder::on_enter) call its function also with the rows that match already, in the
    /// [order](crate::query#order) of the query. [`on_leave`](ObserverBuilder::on_leave) ignores it.
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use std::sync::{Arc, Mutex};
    ///
    /// #[derive(Component)]
    /// struct Unit(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([Unit(1), Unit(2)]);
    /// let units = Arc::new(Mutex::new(Vec::new()));
    /// let seen = units.clone();
    /// world.observe::<&Unit, ()>().existing().on_enter(move |entered, _, _| seen.lock().unwrap().push(entered.item.0));
    /// world.spawn(Unit(3));
    /// assert_eq!(*units.lock().unwrap(), [1, 2, 3]);
    /// ```
    #[must_use]
    #[doc(alias = "yield_existing")]
    pub fn existing(self) -> Self {
        Self { existing: true, ..self }
    }

    /// Calls a function with each row that starts to match the query. The item has the values after the operation.
    ///
    /// If the function panics while it is called with [existing](ObserverBuilder::existing) rows, it is not connected, and the
    /// commands that it has recorded are dropped.
    pub fn on_enter(
        self,
        mut observer: impl FnMut(Entered<'_, D>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ObserverBuilder { world, query, ids, existing } = self;
        let mut commands = CommandBuffer::new();
        if existing {
            let told = catch_unwind(AssertUnwindSafe(|| {
                for_each_match::<D, F>(world, query.visits_extra_rows(), |key, item| {
                    observer(Entered { entity: key.entity, key, item }, world, &mut commands);
                });
            }));
            if let Err(panic) = told {
                // Drops user values. If one panics too, the first panic is resumed.
                let _ = catch_unwind(AssertUnwindSafe(|| commands.clear()));
                resume_unwind(panic);
            }
        }
        let watch = watch_for(&query);
        let call = move |row: PastRow<'_>, world: &World, commands: &mut CommandBuffer| {
            // SAFETY: an observer is called by the world that it was connected to, with rows of this world. The displaced
            // values are dropped after the dispatch.
            let entered = unsafe { if query.item_before(row).is_some() { None } else { query.item_after(world, row) } };
            if let Some(item) = entered {
                observer(Entered { entity: row.entity(), key: row.key(), item }, world, commands);
            }
        };
        let id = connect(world, ids, watch, Box::new(call), false);
        world.observers.deferred.append(&mut commands);
        apply_deferred(world);
        id
    }

    /// Calls a function with each row that ceases to match the query, also when it is despawned.
    ///
    /// The item has the values before the operation, of all terms. Removed and replaced values are dropped when the function
    /// has returned, and others are those that the row still has.
    pub fn on_leave(
        self,
        mut observer: impl FnMut(Left<'_, D>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ObserverBuilder { world, query, ids, .. } = self;
        let watch = watch_for(&query);
        let call = move |row: PastRow<'_>, world: &World, commands: &mut CommandBuffer| {
            // SAFETY: an observer is called by the world that it was connected to, with rows of this world. The displaced
            // values are dropped after the dispatch.
            let left = unsafe { if query.matches_after(world, row) { None } else { query.item_before(row) } };
            if let Some(item) = left {
                observer(Left { entity: row.entity(), key: row.key(), item }, world, commands);
            }
        };
        connect(world, ids, watch, Box::new(call), true)
    }
}

/// Returns what must be recorded for a query.
fn watch_for<D: ReadOnlyQueryData, F: QueryFilter>(query: &ObservedQuery<D, F>) -> Watch {
    // Without a required component, a row without any watched component may match.
    if query.requires_component() { Watch::Components } else { Watch::Rows }
}

/// Calls a function with each row that matches a query, in the order of the query.
fn for_each_match<'w, D: ReadOnlyQueryData, F: QueryFilter>(
    world: &'w World,
    visits_extra_rows: bool,
    mut each: impl FnMut(Key, D::Item<'w>),
) {
    match visits_extra_rows {
        // The term `Key` would ask for extra rows.
        false => world
            .query_filtered::<(Entity, D), F>()
            .into_iter()
            .for_each(|(entity, item)| each(Key::main(entity), item)),
        true => world.query_filtered::<(Key, D), F>().into_iter().for_each(|(key, item)| each(key, item)),
    }
}

/// Connects an observer.
fn connect(world: &mut World, ids: Vec<ComponentId>, watch: Watch, call: Call, leaves: bool) -> ListenerId {
    let id = ListenerId::next();
    let (recording, observers) = (world.storage.journal.recording.get_or_insert_default(), &mut world.observers);
    for component in &ids {
        unwrap_alloc(recording.try_cover(*component));
    }
    unwrap_alloc(try_reserve(&mut observers.errors, KEPT_ERRORS));
    let list = if leaves { &mut observers.listeners.left } else { &mut observers.listeners.entered };
    list.push(Observer { id, ids, watch, call });
    observers.subscribe(recording);
    id
}

impl<D: ReadOnlyQueryData, F: QueryFilter> fmt::Debug for ObserverBuilder<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObserverBuilder({}, existing: {})", type_name::<(D, F)>(), self.existing)
    }
}
