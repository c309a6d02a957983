//! Connecting and disconnecting listeners.
#![allow(unsafe_code)]

use super::{
    Added, Call, Despawned, Event, KEPT_ERRORS, Listener, ListenerId, Removed, RetiredRow, Set, Spawned, Told, nesting,
};
use crate::alloc::{try_reserve, unwrap_alloc};
use crate::commands::{CommandBuffer, CommandError};
use crate::component::{Component, ComponentId};
use crate::journal::Recording;
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};

impl World {
    /// Calls a function whenever a row gets a component that it did not have. See [the contract](crate::signal).
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
    pub fn on_add<C: Component>(
        &mut self,
        mut listener: impl FnMut(Added<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.connect::<C>(Event::Added, move |told, world, commands| {
            let (entity, key) = (told.note.entity, told.note.key());
            // SAFETY: the note is one of this component; the value stays while signals are told.
            if let Some(value) = unsafe { told.new.get::<C>() } {
                listener(Added { entity, key, value }, world, commands);
            }
        })
    }

    /// Calls a function whenever a component is replaced by an insertion or by [`replace`](World::replace), or was changed
    /// by [`patch`](World::patch). See [the contract](crate::signal).
    pub fn on_set<C: Component>(
        &mut self,
        mut listener: impl FnMut(Set<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.connect::<C>(Event::Set, move |told, world, commands| {
            let (entity, key) = (told.note.entity, told.note.key());
            // SAFETY: the note is one of this component; both values stay while signals are told.
            if let (old, Some(new)) = unsafe { (told.note.old.get::<C>(), told.new.get::<C>()) } {
                listener(Set { entity, key, old, new }, world, commands);
            }
        })
    }

    /// Calls a function whenever a row loses a component, also by its end. See [the contract](crate::signal).
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
    /// let gone = Arc::new(AtomicU32::new(0));
    /// let sum = gone.clone();
    /// world.on_remove::<Weight>(move |removed, world, _| {
    ///     assert!(!world.has::<Weight>(removed.entity));
    ///     sum.fetch_add(removed.value.0, Ordering::Relaxed);
    /// });
    /// let [a, b] = [world.spawn(Weight(2)), world.spawn(Weight(3))];
    /// world.remove::<Weight>(a).unwrap();
    /// world.despawn(b).unwrap();
    /// assert_eq!(gone.load(Ordering::Relaxed), 5);
    /// ```
    pub fn on_remove<C: Component>(
        &mut self,
        mut listener: impl FnMut(Removed<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.connect::<C>(Event::Removed, move |told, world, commands| {
            let (entity, key) = (told.note.entity, told.note.key());
            // SAFETY: the note is one of this component; the value ends when signals have been told.
            if let Some(value) = unsafe { told.note.old.get::<C>() } {
                listener(Removed { entity, key, value }, world, commands);
            }
        })
    }

    /// Calls a function whenever an entity is made, before it is told of its components. See [the contract](crate::signal).
    pub fn on_spawn(
        &mut self,
        mut listener: impl FnMut(Spawned, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.connect_to(Event::Spawned, ComponentId::ROW, move |told, world, commands| {
            listener(Spawned { entity: told.note.entity }, world, commands);
        })
    }

    /// Calls a function whenever an entity has ended, with what it had. See [the contract](crate::signal).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let mut world = World::new();
    /// world.on_despawn(|ended, world, _| {
    ///     assert!(!world.contains(ended.entity));
    ///     assert_eq!(ended.row.get::<Name>().unwrap().0, "Ann");
    /// });
    /// let ann = world.spawn(Name("Ann"));
    /// world.despawn(ann).unwrap();
    /// ```
    pub fn on_despawn(
        &mut self,
        mut listener: impl FnMut(Despawned<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        self.connect_to(Event::Despawned, ComponentId::ROW, move |told, world, commands| {
            let row = RetiredRow { notes: told.row, world };
            listener(Despawned { entity: told.note.entity, row }, world, commands);
        })
    }

    fn connect<C: Component>(
        &mut self,
        event: Event,
        call: impl FnMut(Told<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let id = self.register_component::<C>();
        self.connect_to(event, id, call)
    }

    fn connect_to(
        &mut self,
        event: Event,
        component: ComponentId,
        call: impl FnMut(Told<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        static LISTENERS: AtomicU64 = AtomicU64::new(0);
        let id = ListenerId(LISTENERS.fetch_add(1, Ordering::Relaxed));
        let call: Call = Box::new(call);
        let (recording, observers) = self.listening();
        unwrap_alloc(recording.try_cover(component));
        unwrap_alloc(observers.try_cover(component));
        unwrap_alloc(try_reserve(&mut observers.errors, KEPT_ERRORS));
        if let Some(list) = observers.lists.of(event, component) {
            list.push(Listener { id, call });
        }
        observers.subscribe(recording);
        id
    }

    /// Forgets a listener, which is dropped. Whether there was one of that number.
    pub fn disconnect(&mut self, listener: ListenerId) -> bool {
        let Some(recording) = &mut self.storage.journal.recording else { return false };
        let mut found = None;
        for list in self.observers.lists.all() {
            if let Some(at) = list.iter().position(|known| known.id == listener) {
                found = Some(list.remove(at));
                break;
            }
        }
        self.observers.subscribe(recording);
        self.rest();
        // Dropped when the world is whole: it may be user code.
        found.is_some()
    }

    /// Forgets all about signals if nobody listens or collects.
    pub(super) fn rest(&mut self) {
        let collects = |recording: &Recording| !recording.collectors.is_empty();
        let journal = &self.storage.journal;
        let is_used = journal.recording.as_deref().is_none_or(collects) || !self.observers.is_idle();
        if !is_used && journal.held == 0 && !nesting::is_within(self) {
            self.storage.journal.recording = None;
            self.observers = Default::default();
        }
    }

    /// Returns the commands recorded by listeners that were skipped since the last call, and empties the list.
    ///
    /// The list holds the first 64 of them; the number counts those after them. The position of a command is that among the
    /// commands that were executed together.
    ///
    /// ```
    /// use phalanx::{ChangeError, CommandKind, Component, World};
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
    /// assert!(matches!(skipped[0].error, ChangeError::NoSuchEntity(_)));
    /// assert_eq!((skipped.len(), more), (1, 0));
    /// ```
    pub fn take_signal_errors(&mut self) -> (Vec<CommandError>, usize) {
        let errors = (self.observers.errors.clone(), core::mem::take(&mut self.observers.lost));
        self.observers.errors.clear();
        self.rest();
        errors
    }
}
