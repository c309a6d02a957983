//! [`ComponentListenerBuilder`]: connects one listener of several components, known by type or by id.
#![allow(unsafe_code)]

use super::listener::{EventArgs, ListenerId, ListenerOptions, connect};
use crate::alloc::unwrap_alloc;
use crate::bundle::Bundle;
use crate::commands::CommandBuffer;
use crate::component::{Component, ComponentId};
use crate::journal::{Change, Event, ValuePtr};
use crate::rows::Key;
use crate::world::{Ref, World};
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// Connects one listener of several components, created by [`ListenerBuilder::components`](super::ListenerBuilder::components)
/// or [`component_ids`](super::ListenerBuilder::component_ids).
///
/// The function is called with each event by itself, with a [`ComponentEvent`]. Of one row, the events of a step come by
/// component, in an order that does not depend on which was registered first.
///
/// ```
/// use phalanx::signal::Change;
/// use phalanx::{Component, World};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Component)]
/// struct Sprite(&'static str);
/// #[derive(Component)]
/// struct Sound(&'static str);
///
/// let mut world = World::new();
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let seen = log.clone();
/// world.listen().components::<(Sprite, Sound)>().added().removed().call(move |event, _, _| {
///     let sprite = event.new_value::<Sprite>().or(event.old_value::<Sprite>()).map(|sprite| sprite.0);
///     let sound = event.new_value::<Sound>().or(event.old_value::<Sound>()).map(|sound| sound.0);
///     seen.lock().unwrap().push((event.change, sprite.or(sound).unwrap()));
/// });
/// let e = world.spawn(Sprite("orc"));
/// world.insert(e, Sound("growl"))?;
/// world.remove::<Sprite>(e)?;
/// assert_eq!(*log.lock().unwrap(), [(Change::Added, "orc"), (Change::Added, "growl"), (Change::Removed, "orc")]);
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
#[must_use = "a listener is connected by `call`"]
pub struct ComponentListenerBuilder<'w> {
    world: &'w mut World,
    options: ListenerOptions,
    ids: Vec<ComponentId>,
    events: Vec<Event>,
}

impl<'w> ComponentListenerBuilder<'w> {
    pub(super) fn new(world: &'w mut World, options: ListenerOptions) -> Self {
        ComponentListenerBuilder { world, options, ids: Vec::new(), events: Vec::new() }
    }

    /// Adds the components of a bundle.
    #[track_caller]
    pub fn components<B: Bundle>(mut self) -> Self {
        let mut ids = Vec::with_capacity(B::LEN);
        unwrap_alloc(B::ids(&mut self.world.storage.components, &mut ids));
        ids.into_iter().for_each(|id| self.add(id));
        self
    }

    /// Adds components that are known by id, such as those that were registered at run time.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use core::ptr::NonNull;
    /// use phalanx::layout::Kind;
    /// use phalanx::{ComponentDescriptor, World};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let mut world = World::new();
    /// let layout = Layout::new::<u32>();
    /// let gold = ComponentDescriptor { name: "gold".into(), layout, kind: Kind::Table, drop: None, clone: None };
    /// // SAFETY: a `u32` needs no destructor.
    /// let gold = unsafe { world.register_component_with_descriptor(gold) };
    /// let sum = Arc::new(AtomicU32::new(0));
    /// let seen = sum.clone();
    /// world.listen().component_ids(&[gold]).added().call(move |event, _, _| {
    ///     let gold = event.new_ptr().unwrap().cast::<u32>();
    ///     // SAFETY: the component is a `u32`, and is not written while listeners run.
    ///     seen.fetch_add(unsafe { gold.read() }, Ordering::Relaxed);
    /// });
    /// let mut value = 7_u32;
    /// // SAFETY: the component is a `u32`.
    /// unsafe { world.spawn_by_ids(&[(gold, NonNull::from(&mut value).cast())])? };
    /// assert_eq!(sum.load(Ordering::Relaxed), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the world has no component with one of the ids.
    #[track_caller]
    #[doc(alias = "with_component")]
    #[doc(alias = "with_components")]
    pub fn component_ids(mut self, ids: &[ComponentId]) -> Self {
        for &id in ids {
            let components = &self.world.storage.components;
            let is_known = id.index() < components.len() && !components.is_hidden(id);
            assert!(is_known, "the world has no component with the id {id:?}");
            self.add(id);
        }
        self
    }

    fn add(&mut self, id: ComponentId) {
        if !self.ids.contains(&id) {
            self.ids.push(id);
        }
    }

    fn on(mut self, event: Event) -> Self {
        if !self.events.contains(&event) {
            self.events.push(event);
        }
        self
    }

    /// Listens to additions. Without `added`, `set` and `removed`, the function is called with all changes.
    pub fn added(self) -> Self {
        self.on(Event::Added)
    }

    /// Listens to replacements, and changes by [`World::patch`].
    pub fn set(self) -> Self {
        self.on(Event::Set)
    }

    /// Listens to removals, also by despawns.
    pub fn removed(self) -> Self {
        self.on(Event::Removed)
    }

    /// Connects a function that is called with each event.
    pub fn call(
        self,
        mut listener: impl FnMut(ComponentEvent<'_>, &World, &mut CommandBuffer) + Send + Sync + 'static,
    ) -> ListenerId {
        let ComponentListenerBuilder { world, options, ids, events } = self;
        let chosen = if events.is_empty() { vec![Event::Added, Event::Set, Event::Removed] } else { events };
        let events = ids.iter().flat_map(|id| chosen.iter().map(|event| (*event, *id))).collect();
        connect(world, options, events, false, move |event, world, commands| {
            let EventArgs { entry, new, .. } = event;
            let (entity, component) = (entry.entity, entry.id);
            let (key, change, old) = (entry.key(), Change::of(entry.event), entry.old);
            listener(ComponentEvent { entity, component, change, key, old, new, world }, world, commands);
        })
    }
}

impl fmt::Debug for ComponentListenerBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentListenerBuilder({:?}, {:?}, {:?})", self.ids, self.events, self.options)
    }
}

/// A change of a component whose type the listener may not know: the event of [`ComponentListenerBuilder::call`].
#[derive(Clone, Copy)]
pub struct ComponentEvent<'a> {
    /// The entity that the row belongs to.
    pub entity: Entity,
    /// The component.
    pub component: ComponentId,
    /// What has happened.
    pub change: Change,
    key: Key,
    old: ValuePtr,
    new: ValuePtr,
    world: &'a World,
}

impl<'a> ComponentEvent<'a> {
    /// Returns the key of the row, which is the main row or an extra row.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Returns the name of the component.
    pub fn name(&self) -> &'static str {
        self.world.storage.components.info(self.component).name()
    }

    /// Returns the displaced value, if the component is `C` and a value was replaced or removed.
    pub fn old_value<C: Component>(&self) -> Option<Ref<'a, C>> {
        // SAFETY: the value is of `C`, because the component is. It is dropped after the listeners have run.
        if self.is::<C>() { unsafe { self.old.get::<C>() } } else { None }
    }

    /// Returns the inserted value, if the component is `C` and was not removed.
    pub fn new_value<C: Component>(&self) -> Option<Ref<'a, C>> {
        // SAFETY: the value is of `C`, because the component is. It is not written or dropped while listeners run.
        if self.is::<C>() { unsafe { self.new.get::<C>() } } else { None }
    }

    fn is<C: Component>(&self) -> bool {
        self.world.storage.components.id::<C>() == self.component
    }

    /// Returns the address of the displaced value, if one was replaced or removed. It is valid while the listener runs.
    ///
    /// For a zero-sized component, the address is aligned and points at nothing. It is `None` for a component whose values are
    /// split over several columns.
    pub fn old_ptr(&self) -> Option<NonNull<u8>> {
        self.address(self.old)
    }

    /// Returns the address of the inserted value, if the component was not removed. It is valid while the listener runs.
    ///
    /// For a zero-sized component, the address is aligned and points at nothing. It is `None` for a component whose values are
    /// split over several columns.
    pub fn new_ptr(&self) -> Option<NonNull<u8>> {
        self.address(self.new)
    }

    fn address(&self, value: ValuePtr) -> Option<NonNull<u8>> {
        let info = self.world.storage.components.info(self.component);
        // SAFETY: the value is in the form that its pointer says, and its lanes live while listeners run.
        unsafe { value.address(info) }
    }
}

impl fmt::Debug for ComponentEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentEvent({}, {}, {:?})", self.key, self.name(), self.change)
    }
}
