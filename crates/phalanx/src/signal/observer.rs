//! [`ObserverBuilder`] and [`Observer`]: functions that are called with rows that enter or leave a query.
#![allow(unsafe_code)]

use super::deferred::apply_deferred;
use super::dispatch::set_dispatcher;
use super::existing::call_or_clear;
use super::listener::{ListenerId, ListenerOptions};
use super::observers::KEPT_ERRORS;
use super::{Entered, Left};
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

/// The function of an observer, before its arguments are given types. It tells before it calls the function of the user.
type Call = Box<dyn FnMut(PastRow<'_>, &World, &mut CommandBuffer, OnCall<'_>) + Send + Sync>;

/// Notes that an observer that is called once is called.
struct OnCall<'a> {
    id: ListenerId,
    is_once: bool,
    is_spent: &'a mut bool,
    spent: &'a mut Vec<ListenerId>,
}

impl OnCall<'_> {
    fn note(self) {
        if self.is_once {
            *self.is_spent = true;
            self.spent.push(self.id);
        }
    }
}

/// A connected observer of a query.
pub(super) struct Observer {
    pub(super) id: ListenerId,
    /// The components that the query names, sorted.
    ids: Vec<ComponentId>,
    pub(super) watch: Watch,
    /// The entities whose rows it is called with, without repetitions, or all.
    pub(super) entities: Option<Vec<Entity>>,
    pub(super) is_once: bool,
    /// Whether it is called once, and was.
    is_spent: bool,
    call: Call,
}

impl Observer {
    /// Returns `true` if the query names the component with this index.
    pub(super) fn names(&self, index: usize) -> bool {
        self.ids.binary_search_by_key(&index, |id| id.index()).is_ok()
    }

    /// Calls the function if a row enters or leaves the query. Adds the observer to `spent` if it is called once and was.
    pub(super) fn call(
        &mut self,
        row: PastRow<'_>,
        world: &World,
        commands: &mut CommandBuffer,
        spent: &mut Vec<ListenerId>,
    ) {
        if !self.is_spent && self.is_concerned(row) {
            let on_call = OnCall { id: self.id, is_once: self.is_once, is_spent: &mut self.is_spent, spent };
            (self.call)(row, world, commands, on_call);
        }
    }

    /// Returns `true` if the changes of a row may have changed whether it matches.
    fn is_concerned(&self, row: PastRow<'_>) -> bool {
        if self.entities.as_ref().is_some_and(|entities| !entities.contains(&row.entity())) {
            return false;
        }
        row.entries().any(|entry| {
            let is_new = self.watch == Watch::Rows && entry.change != RowChange::Changed;
            is_new || matches!(entry.event, Event::Added | Event::Removed) && self.names(entry.id.index())
        })
    }

    /// Returns the bytes held from the allocator, without what the function holds.
    pub(super) fn bytes(&self) -> usize {
        self.ids.capacity() * size_of::<ComponentId>()
            + self.entities.as_ref().map_or(0, |entities| entities.capacity() * size_of::<Entity>())
    }
}

/// Connects observers of a query, created by [`World::observe`].
pub struct ObserverBuilder<'w, D: ReadOnlyQueryData, F: QueryFilter> {
    world: &'w mut World,
    query: ObservedQuery<D, F>,
    ids: Vec<ComponentId>,
    options: ListenerOptions,
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
        self.listen().observe()
    }
}

impl<'w, D: ReadOnlyQueryData + 'static, F: QueryFilter> ObserverBuilder<'w, D, F> {
    #[track_caller]
    pub(super) fn new(world: &'w mut World, options: ListenerOptions) -> Self {
        let (query, ids) = ObservedQuery::new(world);
        ObserverBuilder { world, query, ids, options }
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
    pub fn existing(mut self) -> Self {
        self.options.is_existing = true;
        self
    }

    /// Calls the function with rows of this entity only. Called again, it adds another entity. See
    /// [`ListenerBuilder::entity`](super::ListenerBuilder::entity).
    #[must_use]
    #[doc(alias = "watch_entity")]
    pub fn entity(mut self, entity: Entity) -> Self {
        self.options.add_entity(entity);
        self
    }

    /// Disconnects the observer after its first call. See [`ListenerBuilder::once`](super::ListenerBuilder::once).
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use std::sync::{Arc, Mutex};
    ///
    /// #[derive(Component)]
    /// struct Unit(u32);
    ///
    /// let mut world = World::new();
    /// let units = Arc::new(Mutex::new(Vec::new()));
    /// let seen = units.clone();
    /// world.observe::<&Unit, ()>().once().on_enter(move |entered, _, _| seen.lock().unwrap().push(entered.item.0));
    /// world.spawn_batch([Unit(1), Unit(2)]);
    /// world.spawn(Unit(3));
    /// assert_eq!(*units.lock().unwrap(), [1]);
    /// ```
    #[must_use]
    pub fn once(mut self) -> Self {
        self.options.is_once = true;
        self
    }

    /// Calls a function with each row that starts to match the query. The item has the values after the operation.
    ///
    /// If the function panics while it is called with [existing](ObserverBuilder::existing) rows, it is not connected, and the
    /// commands that it has recorded are dropped.
    pub fn on_enter(
        self,
        mut observer: impl FnMut(Entered<'_, D>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ObserverBuilder { world, query, ids, options } = self;
        let ListenerOptions { entities, is_once, is_existing } = &options;
        let mut commands = CommandBuffer::new();
        let mut calls = 0;
        if *is_existing {
            call_or_clear(&mut commands, |commands| {
                let is_asked = |key: Key| entities.as_ref().is_none_or(|entities| entities.contains(&key.entity));
                for_each_match::<D, F>(world, query.visits_extra_rows(), |key, item| {
                    if is_asked(key) && !(*is_once && calls > 0) {
                        calls += 1;
                        observer(Entered { entity: key.entity, key, item }, world, commands);
                    }
                });
            });
        }
        let id = ListenerId::next();
        if !(*is_once && calls > 0) {
            let watch = watch_for(&query);
            let call = move |row: PastRow<'_>, world: &World, commands: &mut CommandBuffer, on_call: OnCall<'_>| {
                // SAFETY: an observer is called by the world that it was connected to, with rows of this world. The
                // displaced values are dropped after the dispatch.
                let entered =
                    unsafe { if query.item_before(row).is_some() { None } else { query.item_after(world, row) } };
                if let Some(item) = entered {
                    on_call.note();
                    observer(Entered { entity: row.entity(), key: row.key(), item }, world, commands);
                }
            };
            connect(world, id, ids, watch, options, Box::new(call), false);
        }
        if !commands.is_blank() {
            set_dispatcher(world);
            world.observers.get_or_insert_default().deferred.append(&mut commands);
        }
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
        let ObserverBuilder { world, query, ids, options } = self;
        let (id, watch) = (ListenerId::next(), watch_for(&query));
        let call = move |row: PastRow<'_>, world: &World, commands: &mut CommandBuffer, on_call: OnCall<'_>| {
            // SAFETY: an observer is called by the world that it was connected to, with rows of this world. The displaced
            // values are dropped after the dispatch.
            let left = unsafe { if query.matches_after(world, row) { None } else { query.item_before(row) } };
            if let Some(item) = left {
                on_call.note();
                observer(Left { entity: row.entity(), key: row.key(), item }, world, commands);
            }
        };
        connect(world, id, ids, watch, options, Box::new(call), true);
        id
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
fn connect(
    world: &mut World,
    id: ListenerId,
    ids: Vec<ComponentId>,
    watch: Watch,
    options: ListenerOptions,
    call: Call,
    leaves: bool,
) {
    set_dispatcher(world);
    let recording = world.storage.journal.recording.get_or_insert_default();
    let observers = world.observers.get_or_insert_default();
    for component in &ids {
        unwrap_alloc(recording.try_cover(*component));
    }
    unwrap_alloc(try_reserve(&mut observers.errors, KEPT_ERRORS));
    let ListenerOptions { entities, is_once, .. } = options;
    if is_once {
        unwrap_alloc(observers.listeners.try_reserve_spent());
        observers.listeners.count_once();
    }
    let list = if leaves { &mut observers.listeners.left } else { &mut observers.listeners.entered };
    list.push(Observer { id, ids, watch, entities, is_once, is_spent: false, call });
    observers.subscribe(recording);
}

impl<D: ReadOnlyQueryData, F: QueryFilter> fmt::Debug for ObserverBuilder<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObserverBuilder({}, {:?})", type_name::<(D, F)>(), self.options)
    }
}
