//! [`Listener`]: a function that is called with events. The methods of [`World`] that connect and disconnect listeners.
#![allow(unsafe_code)]

use super::deferred::{apply_deferred, stop_if_unused};
use super::dispatch::set_dispatcher;
use super::existing::call_existing;
use super::observers::{KEPT_ERRORS, Observers};
use super::{Added, Despawned, Removed, Set, Spawned};
use crate::alloc::{try_reserve, unwrap_alloc};
use crate::commands::{CommandBuffer, CommandError};
use crate::component::{Component, ComponentId};
use crate::journal::{Event, JournalEntry, ValuePtr};
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::Entity;

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

    /// Returns the id as a key of maps.
    pub(super) fn key(self) -> (u32, u32) {
        ((self.0 >> 32) as u32, self.0 as u32)
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

/// The function of a listener, before its arguments are given types.
pub(super) type Call = Box<dyn FnMut(EventArgs<'_>, &World, &mut CommandBuffer) + Send + Sync>;

/// What is asked of a listener beside its events.
#[derive(Clone, Debug, Default)]
pub(super) struct ListenerOptions {
    /// Calls the function with events of these entities only.
    pub(super) entities: Option<Vec<Entity>>,
    /// Disconnects the listener after its first call.
    pub(super) is_once: bool,
    /// Calls the function with what exists already.
    pub(super) is_existing: bool,
}

impl ListenerOptions {
    /// Adds an entity.
    pub(super) fn add_entity(&mut self, entity: Entity) {
        let entities = self.entities.get_or_insert_default();
        if !entities.contains(&entity) {
            entities.push(entity);
        }
    }
}

/// A connected listener.
pub(super) struct Listener {
    pub(super) id: ListenerId,
    /// The events and components that it is called with, without repetitions.
    pub(super) events: Vec<(Event, ComponentId)>,
    /// The entities that it is called with, without repetitions, or all.
    pub(super) entities: Option<Vec<Entity>>,
    /// Whether it is only called if a value has replaced another one.
    pub(super) is_of_replacements: bool,
    pub(super) is_once: bool,
    /// Whether it is called once, and was.
    pub(super) is_spent: bool,
    pub(super) call: Call,
}

impl Listener {
    /// Returns `true` if an entry is to be passed to the function.
    #[inline]
    pub(super) fn accepts(&self, entry: &JournalEntry) -> bool {
        !(self.is_spent || self.is_of_replacements && matches!(entry.old, ValuePtr::None))
    }

    /// Returns the bytes held from the allocator, without what the function holds.
    pub(super) fn bytes(&self) -> usize {
        self.events.capacity() * size_of::<(Event, ComponentId)>()
            + self.entities.as_ref().map_or(0, |entities| entities.capacity() * size_of::<Entity>())
    }
}

/// Connects a listener of events and components, which do not repeat. Calls it with what exists, if it asks for that.
pub(super) fn connect(
    world: &mut World,
    options: ListenerOptions,
    events: Vec<(Event, ComponentId)>,
    is_of_replacements: bool,
    call: impl FnMut(EventArgs<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
) -> ListenerId {
    let id = ListenerId::next();
    let ListenerOptions { entities, is_once, is_existing } = options;
    let mut call: Call = Box::new(call);
    let mut commands = CommandBuffer::new();
    let calls = match is_existing {
        true => call_existing(world, &entities, &events, is_once, &mut call, &mut commands),
        false => 0,
    };
    if !(is_once && calls > 0) {
        let listener = Listener { id, events, entities, is_of_replacements, is_once, is_spent: false, call };
        add(world, listener);
    }
    if !commands.is_blank() {
        set_dispatcher(world);
        world.observers.get_or_insert_default().deferred.append(&mut commands);
        apply_deferred(world);
    }
    id
}

/// Adds a listener, and records its events from now on.
fn add(world: &mut World, listener: Listener) {
    set_dispatcher(world);
    let recording = world.storage.journal.recording.get_or_insert_default();
    let observers = world.observers.get_or_insert_default();
    for (_, component) in &listener.events {
        unwrap_alloc(recording.try_cover(*component));
    }
    unwrap_alloc(try_reserve(&mut observers.errors, KEPT_ERRORS));
    unwrap_alloc(observers.listeners.try_add(listener).map_err(|(_, error)| error));
    observers.subscribe(recording);
}

/// Removes listeners, and drops them when the world is consistent. Returns the number of those that the world had.
fn disconnect_all(world: &mut World, ids: &[ListenerId]) -> usize {
    let Some(observers) = &mut world.observers else { return 0 };
    let removed: Vec<_> = ids.iter().filter_map(|id| observers.listeners.remove(*id)).collect();
    if let Some(recording) = &mut world.storage.journal.recording {
        observers.subscribe(recording);
    }
    stop_if_unused(world);
    // They are dropped last: a destructor is user code.
    removed.len()
}

/// Disconnects the listeners that are called once and were. Each is dropped when the world is consistent.
pub(super) fn disconnect_spent(world: &mut World) {
    while let Some(observers) = &mut world.observers
        && let Some(id) = observers.listeners.spent.pop()
    {
        let removed = observers.listeners.remove(id);
        if let Some(recording) = &mut world.storage.journal.recording {
            observers.subscribe(recording);
        }
        drop(removed);
    }
}

impl World {
    /// Calls a function whenever a component is added to a row that did not have it. See [the contract](crate::signal).
    ///
    /// [`listen`](World::listen) has more choices: listeners of one entity, of several components, or that are called once.
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
    #[doc(alias = "on_insert")]
    #[doc(alias = "observe")]
    pub fn on_add<C: Component>(
        &mut self,
        listener: impl FnMut(Added<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.listen().on_add(listener)
    }

    /// Calls a function whenever a component is replaced by an insertion or by [`replace`](World::replace), or changed by
    /// [`patch`](World::patch). See [the contract](crate::signal).
    #[doc(alias = "on_update")]
    #[doc(alias = "on_insert")]
    pub fn on_set<C: Component>(
        &mut self,
        listener: impl FnMut(Set<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.listen().on_set(listener)
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
        listener: impl FnMut(Removed<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.listen().on_remove(listener)
    }

    /// Calls a function whenever an entity is spawned, before the listeners of its components. See [the
    /// contract](crate::signal).
    pub fn on_spawn(
        &mut self,
        listener: impl FnMut(Spawned, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.listen().on_spawn(listener)
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
        listener: impl FnMut(Despawned<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.listen().on_despawn(listener)
    }

    /// Removes a listener and drops it. Returns `true` if the world had it.
    pub fn disconnect(&mut self, listener: ListenerId) -> bool {
        disconnect_all(self, &[listener]) > 0
    }

    /// Removes the listeners of [certain entities](super::ListenerBuilder::entity) that are no longer alive, and drops them.
    /// Returns their number.
    ///
    /// Listeners of an entity stay when it is despawned, because a [rollback](crate::timeline) may bring it back. A program that
    /// connects many of them calls this from time to time.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Shield;
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn(Shield), world.spawn(Shield)];
    /// world.listen().entity(ann).on_remove::<Shield>(|_, _, _| ());
    /// world.listen().entity(ann).entity(bob).on_remove::<Shield>(|_, _, _| ());
    /// world.despawn(ann)?;
    /// assert_eq!(world.disconnect_despawned(), 1);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    pub fn disconnect_despawned(&mut self) -> usize {
        let Some(observers) = &self.observers else { return 0 };
        // A reserved entity is alive soon.
        let ids = observers.listeners.of_despawned(|entity| self.storage.entities.contains(entity));
        disconnect_all(self, &ids)
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
        let Some(Observers { errors, lost_errors, .. }) = self.observers.as_deref_mut() else { return (Vec::new(), 0) };
        let taken = (errors.clone(), core::mem::take(lost_errors));
        errors.clear();
        stop_if_unused(self);
        taken
    }
}
