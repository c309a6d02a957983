//! [`Listener`]: a function that is called with events. The methods of [`World`] that connect and disconnect listeners.
#![allow(unsafe_code)]

use super::deferred::stop_if_unused;
use super::observer::Observer;
use super::observers::KEPT_ERRORS;
use super::{Added, Despawned, DespawnedRow, Removed, Set, Spawned};
use crate::alloc::{try_reserve, try_reserve_at, unwrap_alloc};
use crate::commands::{CommandBuffer, CommandError};
use crate::component::{Component, ComponentId};
use crate::journal::{Event, JournalEntry, ValuePtr};
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::{AllocError, Entity};

/// The id of a listener, for [`World::disconnect`]. It is unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "Observer")]
pub struct ListenerId(u64);

impl ListenerId {
    /// Returns a new id, greater than all before it.
    pub(super) fn next() -> ListenerId {
        static LISTENERS: AtomicU64 = AtomicU64::new(0);
        ListenerId(LISTENERS.fetch_add(1, Ordering::Relaxed))
    }
}

/// The arguments of a call of a listener, before they are given types.
pub(super) struct EventArgs<'a> {
    pub(super) entry: &'a JournalEntry,
    /// The inserted value.
    pub(super) new: ValuePtr,
    /// For a despawned entity: an entry for each component that it had.
    pub(super) row: &'a [JournalEntry],
}

type Call = Box<dyn FnMut(EventArgs<'_>, &World, &mut CommandBuffer) + Send + Sync>;

/// A connected listener.
pub(super) struct Listener {
    pub(super) id: ListenerId,
    pub(super) call: Call,
}

/// The listeners of a world, by event and component.
#[derive(Default)]
pub(super) struct Listeners {
    pub(super) spawned: Vec<Listener>,
    pub(super) despawned: Vec<Listener>,
    /// By component: those of `added`, `set` and `removed`.
    pub(super) by_component: Vec<[Vec<Listener>; 3]>,
    /// The observers of queries that rows enter.
    pub(super) entered: Vec<Observer>,
    /// The observers of queries that rows leave.
    pub(super) left: Vec<Observer>,
}

impl Listeners {
    /// Returns the listeners of an event of a component.
    pub(super) fn list_mut(&mut self, event: Event, id: ComponentId) -> Option<&mut Vec<Listener>> {
        let at = match event {
            Event::Spawned => return Some(&mut self.spawned),
            Event::Despawned => return Some(&mut self.despawned),
            // The hidden component of a relation is neither added nor removed.
            Event::Added | Event::Linked => 0,
            Event::Set => 1,
            Event::Removed | Event::Unlinked => 2,
            Event::Row => return None,
        };
        self.by_component.get_mut(id.index()).map(|lists| &mut lists[at])
    }

    /// Iterates over all lists.
    fn lists(&self) -> impl Iterator<Item = &Vec<Listener>> {
        self.by_component.iter().flatten().chain([&self.spawned, &self.despawned])
    }

    /// Iterates over all observers of queries.
    pub(super) fn observers(&self) -> impl Iterator<Item = &Observer> {
        self.left.iter().chain(&self.entered)
    }

    /// Returns `true` if there are no listeners.
    pub(super) fn is_empty(&self) -> bool {
        self.lists().all(Vec::is_empty) && self.observers().next().is_none()
    }

    /// Returns the bytes held from the allocator, without what listeners hold themselves.
    pub(super) fn bytes(&self) -> usize {
        self.lists().map(|list| list.capacity() * size_of::<Listener>()).sum::<usize>()
            + self.by_component.capacity() * size_of::<[Vec<Listener>; 3]>()
            + (self.entered.capacity() + self.left.capacity()) * size_of::<Observer>()
            + self.observers().map(Observer::bytes).sum::<usize>()
    }

    /// Creates the lists of a component.
    fn try_cover(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_reserve_at(&mut self.by_component, id.index())?;
        let len = self.by_component.len().max(id.index() + 1);
        self.by_component.resize_with(len, Default::default);
        Ok(())
    }

    /// Removes a listener from its list.
    fn remove(&mut self, id: ListenerId) -> Option<Disconnected> {
        let mut lists = self.by_component.iter_mut().flatten().chain([&mut self.spawned, &mut self.despawned]);
        let listener = lists.find_map(|list| {
            let at = list.iter().position(|listener| listener.id == id)?;
            Some(Disconnected::Listener(list.remove(at)))
        });
        listener.or_else(|| {
            [&mut self.left, &mut self.entered].into_iter().find_map(|list| {
                let at = list.iter().position(|observer| observer.id == id)?;
                Some(Disconnected::Observer(list.remove(at)))
            })
        })
    }
}

/// A listener or an observer that was removed from its list. Only its drop matters.
#[allow(dead_code)]
enum Disconnected {
    Listener(Listener),
    Observer(Observer),
}

/// Connects a listener.
fn connect(
    world: &mut World,
    event: Event,
    component: ComponentId,
    call: impl FnMut(EventArgs<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
) -> ListenerId {
    let id = ListenerId::next();
    let call: Call = Box::new(call);
    let (recording, observers) = (world.storage.journal.recording.get_or_insert_default(), &mut world.observers);
    unwrap_alloc(recording.try_cover(component));
    unwrap_alloc(observers.listeners.try_cover(component));
    unwrap_alloc(try_reserve(&mut observers.errors, KEPT_ERRORS));
    if let Some(list) = observers.listeners.list_mut(event, component) {
        list.push(Listener { id, call });
    }
    observers.subscribe(recording);
    id
}

/// Connects a listener of links, which is called with the source and the target.
pub(crate) fn connect_link(
    world: &mut World,
    event: Event,
    id: ComponentId,
    mut listener: impl FnMut((Entity, Entity), &World, &mut CommandBuffer) + Send + Sync + 'static,
) -> ListenerId {
    connect(world, event, id, move |event, world, commands| {
        if let Some(target) = event.entry.target {
            listener((event.entry.entity, target), world, commands);
        }
    })
}

impl World {
    /// Calls a function whenever a component is added to a row that did not have it. See [the contract](crate::signal).
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use std::sync::{Arc, Mutex};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let mut world = World::new();
    /// let names = Arc::new(Mutex::new(Vec::new()));
    /// let seen = names.clone();
    /// let listener = world.on_add::<Name>(move |added, _, _| seen.lock().unwrap().push(added.value.0));
    /// world.spawn(Name("Ann"));
    /// assert!(world.disconnect(listener));
    /// world.spawn(Name("Bob"));
    /// assert_eq!(*names.lock().unwrap(), ["Ann"]);
    /// ```
    #[doc(alias = "on_construct")]
    #[doc(alias = "observe")]
    pub fn on_add<C: Component>(
        &mut self,
        mut listener: impl FnMut(Added<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let id = self.register_component::<C>();
        connect(self, Event::Added, id, move |event, world, commands| {
            let (entity, key) = (event.entry.entity, event.entry.key());
            // SAFETY: the entry is of this component. Its value is not written or dropped while listeners run.
            if let Some(value) = unsafe { event.new.get::<C>() } {
                listener(Added { entity, key, value }, world, commands);
            }
        })
    }

    /// Calls a function whenever a component is replaced by an insertion or by [`replace`](World::replace), or changed by
    /// [`patch`](World::patch). See [the contract](crate::signal).
    #[doc(alias = "on_update")]
    #[doc(alias = "on_replace")]
    pub fn on_set<C: Component>(
        &mut self,
        mut listener: impl FnMut(Set<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let id = self.register_component::<C>();
        connect(self, Event::Set, id, move |event, world, commands| {
            let (entity, key) = (event.entry.entity, event.entry.key());
            // SAFETY: the entry is of this component. Its values are not written or dropped while listeners run.
            if let (old, Some(new)) = unsafe { (event.entry.old.get::<C>(), event.new.get::<C>()) } {
                listener(Set { entity, key, old, new }, world, commands);
            }
        })
    }

    /// Calls a function whenever a component is removed from a row, also when the row is despawned. See [the
    /// contract](crate::signal).
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// #[derive(Component)]
    /// struct Weight(u32);
    ///
    /// let mut world = World::new();
    /// let removed_weight = Arc::new(AtomicU32::new(0));
    /// let sum = removed_weight.clone();
    /// world.on_remove::<Weight>(move |removed, world, _| {
    ///     assert!(!world.has::<Weight>(removed.entity));
    ///     sum.fetch_add(removed.value.0, Ordering::Relaxed);
    /// });
    /// let [a, b] = [world.spawn(Weight(2)), world.spawn(Weight(3))];
    /// world.remove::<Weight>(a).unwrap();
    /// world.despawn(b).unwrap();
    /// assert_eq!(removed_weight.load(Ordering::Relaxed), 5);
    /// ```
    #[doc(alias = "on_destroy")]
    pub fn on_remove<C: Component>(
        &mut self,
        mut listener: impl FnMut(Removed<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let id = self.register_component::<C>();
        connect(self, Event::Removed, id, move |event, world, commands| {
            let (entity, key) = (event.entry.entity, event.entry.key());
            // SAFETY: the entry is of this component. Its value is dropped after the listeners have run.
            if let Some(value) = unsafe { event.entry.old.get::<C>() } {
                listener(Removed { entity, key, value }, world, commands);
            }
        })
    }

    /// Calls a function whenever an entity is spawned, before the listeners of its components. See [the
    /// contract](crate::signal).
    pub fn on_spawn(
        &mut self,
        mut listener: impl FnMut(Spawned, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        connect(self, Event::Spawned, ComponentId::ROW, move |event, world, commands| {
            listener(Spawned { entity: event.entry.entity }, world, commands);
        })
    }

    /// Calls a function whenever an entity is despawned, with the components that it had. See [the contract](crate::signal).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let mut world = World::new();
    /// world.on_despawn(|despawned, world, _| {
    ///     assert!(!world.contains(despawned.entity));
    ///     assert_eq!(despawned.row.get::<Name>().unwrap().0, "Ann");
    /// });
    /// let ann = world.spawn(Name("Ann"));
    /// world.despawn(ann).unwrap();
    /// ```
    pub fn on_despawn(
        &mut self,
        mut listener: impl FnMut(Despawned<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        connect(self, Event::Despawned, ComponentId::ROW, move |event, world, commands| {
            let row = DespawnedRow { entries: event.row, world };
            listener(Despawned { entity: event.entry.entity, row }, world, commands);
        })
    }

    /// Removes a listener and drops it. Returns `true` if the world had it.
    pub fn disconnect(&mut self, listener: ListenerId) -> bool {
        let Some(recording) = &mut self.storage.journal.recording else { return false };
        let found = self.observers.listeners.remove(listener);
        self.observers.subscribe(recording);
        stop_if_unused(self);
        // Dropped last, when the world is consistent: a destructor is user code.
        found.is_some()
    }

    /// Returns the commands recorded by listeners that were skipped since the last call, and empties the list.
    ///
    /// The list holds the first 64 of them. The number counts those after them. The position of a command is its position among
    /// the commands that were executed together.
    ///
    /// ```
    /// use phalanx::commands::CommandKind;
    /// use phalanx::{Component, StructuralError, World};
    ///
    /// #[derive(Component)]
    /// struct Fuse;
    /// #[derive(Component)]
    /// struct Smoke;
    ///
    /// let mut world = World::new();
    /// world.on_add::<Fuse>(|added, _, commands| commands.despawn(added.entity));
    /// world.on_add::<Fuse>(|added, _, commands| commands.insert(added.entity, Smoke));
    /// let bomb = world.spawn(Fuse);
    /// let (skipped, more) = world.take_signal_errors();
    /// assert_eq!((skipped[0].position, skipped[0].command, skipped[0].entity), (1, CommandKind::Insert, Some(bomb)));
    /// assert!(matches!(skipped[0].error, StructuralError::NoSuchEntity(_)));
    /// assert_eq!((skipped.len(), more), (1, 0));
    /// ```
    pub fn take_signal_errors(&mut self) -> (Vec<CommandError>, usize) {
        let errors = (self.observers.errors.clone(), core::mem::take(&mut self.observers.lost_errors));
        self.observers.errors.clear();
        stop_if_unused(self);
        errors
    }
}
