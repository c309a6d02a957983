//! [`ListenerBuilder`]: connects listeners of certain entities, with what exists, and that are called once.
#![allow(unsafe_code)]

use super::listener::{ListenerId, ListenerOptions, connect};
use super::{
    Added, ComponentListenerBuilder, Despawned, DespawnedRow, ObserverBuilder, Removed, Replaced, Set, Spawned,
};
use crate::bundle::Bundle;
use crate::commands::CommandBuffer;
use crate::component::{Component, ComponentId};
use crate::journal::Event;
use crate::query::{QueryFilter, ReadOnlyQueryData};
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;

/// Connects a listener, created by [`World::listen`].
#[must_use = "a listener is connected by one of the functions `on_…`"]
pub struct ListenerBuilder<'w> {
    world: &'w mut World,
    options: ListenerOptions,
}

impl World {
    /// Returns a builder that connects a listener: of all entities or [certain ones](ListenerBuilder::entity), also
    /// [with what exists](ListenerBuilder::existing), or [called once](ListenerBuilder::once). See [the contract](crate::signal).
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use std::sync::{Arc, Mutex};
    ///
    /// #[derive(Component)]
    /// struct Shield(u32);
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn(Shield(1)), world.spawn(Shield(2))];
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let seen = log.clone();
    /// world.listen().entity(bob).once().on_remove::<Shield>(move |removed, _, _| seen.lock().unwrap().push(removed.value.0));
    /// for entity in [ann, bob] {
    ///     world.remove::<Shield>(entity)?;
    ///     world.insert(entity, Shield(9))?;
    ///     world.remove::<Shield>(entity)?;
    /// }
    /// assert_eq!(*log.lock().unwrap(), [2]);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[doc(alias = "add_observer")]
    #[doc(alias = "Observer")]
    #[doc(alias = "sink")]
    #[doc(alias = "sigh")]
    pub fn listen(&mut self) -> ListenerBuilder<'_> {
        // The spawns of a failed operation wait for a dispatch. They are events of a time before the connection. This comes
        // first, because a command of a listener may leave another world here.
        self.dispatch();
        ListenerBuilder { world: self, options: ListenerOptions::default() }
    }
}

impl<'w> ListenerBuilder<'w> {
    /// Calls the function with events of this entity only. Called again, it adds another entity.
    ///
    /// Events of extra rows count for their entity, and [links](ListenerBuilder::on_link) for their source. The listener stays when the entity is despawned, and is never called then;
    /// [`World::disconnect_despawned`] removes such listeners. Other entities cost nothing: the listeners of an entity are
    /// found by a hash of the entity.
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let [hero, villain] = [world.spawn(Health(9)), world.spawn(Health(9))];
    /// let hits = Arc::new(AtomicU32::new(0));
    /// let count = hits.clone();
    /// world.listen().entity(hero).on_set::<Health>(move |_, _, _| _ = count.fetch_add(1, Ordering::Relaxed));
    /// for entity in [villain, hero, villain] {
    ///     world.insert(entity, Health(5))?;
    /// }
    /// assert_eq!(hits.load(Ordering::Relaxed), 1);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[doc(alias = "watch_entity")]
    #[doc(alias = "observe")]
    pub fn entity(mut self, entity: Entity) -> Self {
        self.options.add_entity(entity);
        self
    }

    /// Disconnects the listener after its first call.
    ///
    /// It is not called for the other events of the same operation. It is dropped when the operation is complete, before the
    /// commands of listeners are applied. If its function panics, that was its call.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    /// struct Alarm;
    ///
    /// let mut world = World::new();
    /// world.listen().once().on_add::<Enemy>(|_, _, commands| commands.queue(|world| drop(world.insert_resource(Alarm))));
    /// world.spawn_batch([Enemy, Enemy]);
    /// world.remove_resource::<Alarm>()?;
    /// world.spawn(Enemy);
    /// assert!(world.resource::<Alarm>().is_err());
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    #[doc(alias = "RunOnce")]
    pub fn once(mut self) -> Self {
        self.options.is_once = true;
        self
    }

    /// Calls the function also with what exists when it is connected, as if it were added now. Only `on_add`, `on_spawn` and
    /// [`added`](ComponentListenerBuilder::added) components have something that exists.
    ///
    /// The rows come in the [order](crate::query#order) of a query over the component, extra rows included. Of
    /// [certain entities](ListenerBuilder::entity), they come entity by entity. Entities of `on_spawn` come by index.
    ///
    /// If the function panics, the listener is not connected, and the commands that it has recorded are dropped. With
    /// [`once`](ListenerBuilder::once), a call with something that exists is the only one.
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use std::sync::{Arc, Mutex};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([Name("Ann"), Name("Bob")]);
    /// let names = Arc::new(Mutex::new(Vec::new()));
    /// let seen = names.clone();
    /// world.listen().existing().on_add::<Name>(move |added, _, _| seen.lock().unwrap().push(added.value.0));
    /// world.spawn(Name("Cid"));
    /// assert_eq!(*names.lock().unwrap(), ["Ann", "Bob", "Cid"]);
    /// ```
    #[doc(alias = "yield_existing")]
    pub fn existing(mut self) -> Self {
        self.options.is_existing = true;
        self
    }

    /// Connects a function that is called whenever a component is added to a row, like [`World::on_add`].
    #[doc(alias = "on_construct")]
    #[doc(alias = "on_insert")]
    pub fn on_add<C: Component>(
        self,
        mut listener: impl FnMut(Added<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ListenerBuilder { world, options } = self;
        let id = world.register_component::<C>();
        connect(world, options, vec![(Event::Added, id)], false, move |event, world, commands| {
            let (entity, key) = (event.entry.entity, event.entry.key());
            // SAFETY: the entry is of this component. Its value is not written or dropped while listeners run.
            if let Some(value) = unsafe { event.new.get::<C>() } {
                listener(Added { entity, key, value }, world, commands);
            }
        })
    }

    /// Connects a function that is called whenever a component is replaced or patched, like [`World::on_set`].
    #[doc(alias = "on_update")]
    pub fn on_set<C: Component>(
        self,
        mut listener: impl FnMut(Set<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ListenerBuilder { world, options } = self;
        let id = world.register_component::<C>();
        connect(world, options, vec![(Event::Set, id)], false, move |event, world, commands| {
            let (entity, key) = (event.entry.entity, event.entry.key());
            // SAFETY: the entry is of this component. Its values are not written or dropped while listeners run.
            if let (old, Some(new)) = unsafe { (event.entry.old.get::<C>(), event.new.get::<C>()) } {
                listener(Set { entity, key, old, new }, world, commands);
            }
        })
    }

    /// Connects a function that is called whenever a value replaces another one, with both.
    ///
    /// It runs when the operation has made all of its changes, like every [listener](crate::signal#when-listeners-run): the
    /// world has the new value already. The old value is not dropped yet. It is dropped, or returned to the caller, when
    /// the listeners have run.
    ///
    /// It is [`on_set`](ListenerBuilder::on_set) without [`patch`](World::patch), which changes a value in place and so has no
    /// old one. To see every value that ceases to be there, replaced or removed, listen to both events by
    /// [`components`](ListenerBuilder::components).
    ///
    /// ```
    /// use phalanx::{Component, Entity, World};
    /// use std::collections::BTreeMap;
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    /// #[derive(Default)]
    /// struct Index(BTreeMap<&'static str, Entity>);
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Index::default());
    /// world.on_add::<Name>(|added, _, commands| {
    ///     let (name, entity) = (added.value.0, added.entity);
    ///     commands.queue(move |world| _ = world.resource_mut::<Index>().unwrap().0.insert(name, entity));
    /// });
    /// world.listen().on_replace::<Name>(|replaced, _, commands| {
    ///     let (old, new, entity) = (replaced.old.0, replaced.new.0, replaced.entity);
    ///     commands.queue(move |world| {
    ///         let mut index = world.resource_mut::<Index>().unwrap();
    ///         index.0.remove(old);
    ///         index.0.insert(new, entity);
    ///     });
    /// });
    /// let ann = world.spawn(Name("Ann"));
    /// world.insert(ann, Name("Anne"))?;
    /// assert_eq!(world.resource::<Index>()?.0, [("Anne", ann)].into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Replace")]
    #[doc(alias = "Discard")]
    #[doc(alias = "before_replace")]
    pub fn on_replace<C: Component>(
        self,
        mut listener: impl FnMut(Replaced<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ListenerBuilder { world, options } = self;
        let id = world.register_component::<C>();
        connect(world, options, vec![(Event::Set, id)], true, move |event, world, commands| {
            let (entity, key) = (event.entry.entity, event.entry.key());
            // SAFETY: the entry is of this component. Its values are not written or dropped while listeners run.
            if let (Some(old), Some(new)) = unsafe { (event.entry.old.get::<C>(), event.new.get::<C>()) } {
                listener(Replaced { entity, key, old, new }, world, commands);
            }
        })
    }

    /// Connects a function that is called whenever a component is removed from a row, like [`World::on_remove`].
    #[doc(alias = "on_destroy")]
    pub fn on_remove<C: Component>(
        self,
        mut listener: impl FnMut(Removed<'_, C>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ListenerBuilder { world, options } = self;
        let id = world.register_component::<C>();
        connect(world, options, vec![(Event::Removed, id)], false, move |event, world, commands| {
            let (entity, key) = (event.entry.entity, event.entry.key());
            // SAFETY: the entry is of this component. Its value is dropped after the listeners have run.
            if let Some(value) = unsafe { event.entry.old.get::<C>() } {
                listener(Removed { entity, key, value }, world, commands);
            }
        })
    }

    /// Connects a function that is called whenever an entity is spawned, like [`World::on_spawn`].
    pub fn on_spawn(
        self,
        mut listener: impl FnMut(Spawned, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ListenerBuilder { world, options } = self;
        connect(world, options, vec![(Event::Spawned, ComponentId::ROW)], false, move |event, world, commands| {
            listener(Spawned { entity: event.entry.entity }, world, commands);
        })
    }

    /// Connects a function that is called whenever an entity is despawned, like [`World::on_despawn`].
    #[doc(alias = "on_destroy")]
    pub fn on_despawn(
        self,
        mut listener: impl FnMut(Despawned<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ListenerBuilder { world, options } = self;
        connect(world, options, vec![(Event::Despawned, ComponentId::ROW)], false, move |event, world, commands| {
            let row = DespawnedRow { entries: event.row, world };
            listener(Despawned { entity: event.entry.entity, row }, world, commands);
        })
    }

    /// Connects a function that is called with the source and the target of links, by the hidden component of their relation.
    pub(crate) fn on_link_of<C: Component>(
        self,
        event: Event,
        mut listener: impl FnMut((Entity, Entity), &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ListenerBuilder { world, options } = self;
        let id = world.register_component::<C>();
        connect(world, options, vec![(event, id)], false, move |event, world, commands| {
            if let Some(target) = event.entry.target {
                listener((event.entry.entity, target), world, commands);
            }
        })
    }

    /// Returns a builder for a listener of the components of a bundle: one function for several components.
    ///
    /// # Panics
    ///
    /// If allocation fails.
    #[doc(alias = "with_components")]
    #[track_caller]
    pub fn components<B: Bundle>(self) -> ComponentListenerBuilder<'w> {
        ComponentListenerBuilder::new(self.world, self.options).components::<B>()
    }

    /// Returns a builder for a listener of components that are known by id.
    ///
    /// # Panics
    ///
    /// Panics if the world has no component with one of the ids.
    #[doc(alias = "with_component")]
    #[doc(alias = "with_components")]
    #[track_caller]
    pub fn component_ids(self, ids: &[ComponentId]) -> ComponentListenerBuilder<'w> {
        ComponentListenerBuilder::new(self.world, self.options).component_ids(ids)
    }

    /// Returns a builder that connects observers of a query, like [`World::observe`].
    ///
    /// # Panics
    ///
    /// Panics if the query depends on more than the components that a row has.
    #[track_caller]
    pub fn observe<D: ReadOnlyQueryData + 'static, F: QueryFilter>(self) -> ObserverBuilder<'w, D, F> {
        ObserverBuilder::new(self.world, self.options)
    }
}

impl fmt::Debug for ListenerBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListenerBuilder({:?})", self.options)
    }
}
