//! Signals: what changed in a world, told to listeners and gathered by collectors.
//!
//! ```
//! use phalanx::{Component, World};
//!
//! #[derive(Component)]
//! struct Health(i32);
//! #[derive(Component)]
//! struct Grave(i32);
//!
//! let mut world = World::new();
//! world.on_set::<Health>(|set, _, commands| {
//!     if set.new.0 <= 0 {
//!         commands.insert(set.entity, Grave(set.new.0));
//!     }
//! });
//! let hero = world.spawn(Health(10));
//! world.insert(hero, Health(-2)).unwrap();
//! assert!(world.has::<Grave>(hero));
//! ```
//!
//! # When
//!
//! An operation is one call that changes the world, such as [`World::spawn`], [`World::insert_batch`] or
//! [`World::clear`], or one segment of [commands](crate::Commands). Listeners are called when all of it has been carried
//! out, and before the values end that it has displaced: they see the world as it is after the operation, and what was
//! displaced by reference. An operation that returns an error calls nobody.
//!
//! # In what order
//!
//! 1. Entity by entity, in the order of the operation: the order of the rows, of the list that was given, of the commands. [`World::clear`]
//!    and [`World::transfer_all`] go by index; changes of all entities that pass a filter by table and row.
//! 2. For one entity `spawned`, then `added` and `set` by ascending [component id](crate::ComponentId), then `removed` by
//!    ascending id, then `despawned`. Extra rows of an entity that ends come before its main row, in the order of their making.
//! 3. For one signal the listeners, in the order in which they were connected.
//!
//! An entity that was [reserved](World::reserve_entity) is spawned by the next operation: its signal comes before the others
//! of that one.
//!
//! # What is a change
//!
//! - `added`: a component came to a row that did not have it: spawned with it, given it, cloned, moved in from another world.
//! - `set`: a component was replaced by an insertion, by [`replace`](World::replace), or changed by [`patch`](World::patch).
//! - `removed`: a row lost a component: by removal, by its own end, or by a move to another world.
//! - `spawned` and `despawned`: entities only, not extra rows.
//!
//! Writing through `&mut` access, by [`get_mut`](World::get_mut) or by a query, is no signal. Neither is the end of the
//! world itself.
//!
//! # Changes by listeners
//!
//! A listener has the world shared, so that nothing changes while signals are told. What it wants to change it records.
//! Recorded commands are carried out in the order of recording when the outermost operation is complete and what it displaced has ended;
//! the outermost one is the whole of an [`apply`](crate::Commands::apply). They may call listeners again, whose commands come after all that are recorded by
//! then. Nothing ends two listeners that answer each other for ever.
//!
//! A recorded command that cannot be carried out is skipped, and its error kept: [`World::take_signal_errors`].
//!
//! A connection or disconnection is a change as any other: through [`Commands::add`](crate::Commands::add) and
//! [`Commands::disconnect`](crate::Commands::disconnect). So a listener that disconnects itself is still called for the
//! remaining signals of the operation.
//!
//! # Panics
//!
//! If a listener panics, the operation stands. The remaining signals of the operation are not told, and what its listeners have
//! recorded is dropped; entities that they have reserved stay, without components. What the operation displaced ends, then
//! the panic goes on. Collectors have recorded everything. If a displaced value panics when it ends, the commands of the listeners wait for the
//! end of the next operation.
//!
//! # Which world
//!
//! Listeners and collectors belong to one world, and stay when it is compacted. A clone of the world has none.
#![allow(unsafe_code)]

mod collect;
mod emit;
mod note;

pub use collect::{Collector, CollectorBuilder};
pub(crate) use emit::Notified;
pub(crate) use note::{Note, RowName, Spot};

use crate::commands::{CommandError, Commands};
use crate::component::{Component, ComponentId};
use crate::room::{had, try_room, try_room_at};
use crate::rows::{Key, Mixer};
use crate::world::{Ref, World};
use collect::Collectors;
use core::fmt;
use core::hash::BuildHasherDefault;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::{AllocError, Entity};
use std::collections::HashMap;

/// A component came to a row: [`World::on_add`].
pub struct Added<'a, C: Component> {
    /// Whose row it is.
    pub entity: Entity,
    pub(crate) key: Key,
    /// The value.
    pub value: Ref<'a, C>,
}

/// A component was replaced, or changed by [`World::patch`]: [`World::on_set`].
pub struct Set<'a, C: Component> {
    /// Whose row it is.
    pub entity: Entity,
    pub(crate) key: Key,
    /// What it was; none if it was changed in its place, by [`World::patch`].
    pub old: Option<Ref<'a, C>>,
    /// What it is.
    pub new: Ref<'a, C>,
}

/// A row lost a component: [`World::on_remove`].
pub struct Removed<'a, C: Component> {
    /// Whose row it is.
    pub entity: Entity,
    pub(crate) key: Key,
    /// What it was.
    pub value: Ref<'a, C>,
}

/// An entity was made: [`World::on_spawn`].
#[derive(Clone, Copy, Debug)]
pub struct Spawned {
    /// The entity.
    pub entity: Entity,
}

/// An entity has ended: [`World::on_despawn`].
#[derive(Clone, Copy, Debug)]
pub struct Despawned<'a> {
    /// The entity, which is not alive any more.
    pub entity: Entity,
    /// What its main row had.
    pub row: RetiredRow<'a>,
}

macro_rules! keyed {
    ($($name:ident)*) => {$(
        impl<C: Component> $name<'_, C> {
            /// The key of the row: that of the main row, or of an extra one.
            pub fn key(&self) -> Key {
                self.key
            }
        }

        impl<C: Component> fmt::Debug for $name<'_, C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({}, {})", stringify!($name), self.key, core::any::type_name::<C>())
            }
        }
    )*};
}
keyed!(Added Set Removed);

/// The components that an entity had when it ended.
#[derive(Clone, Copy)]
pub struct RetiredRow<'a> {
    /// A note for each component of the row.
    notes: &'a [Note],
    world: &'a World,
}

impl<'a> RetiredRow<'a> {
    /// A component that the entity had.
    pub fn get<C: Component>(&self) -> Option<Ref<'a, C>> {
        let id = self.world.components.id::<C>();
        let note = self.notes.iter().find(|note| note.id == id)?;
        // SAFETY: the note is one of this component, and what it names does not end while signals are told.
        unsafe { note.old.get::<C>() }
    }

    /// Whether the entity had a component.
    pub fn has<C: Component>(&self) -> bool {
        let id = self.world.components.id::<C>();
        self.notes.iter().any(|note| note.id == id)
    }

    /// The names of the components, by id.
    pub fn components(&self) -> impl Iterator<Item = &'static str> + 'a {
        let components = &self.world.components;
        self.notes.iter().map(|note| components.info(note.id).name())
    }
}

impl fmt::Debug for RetiredRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.components()).finish()
    }
}

/// The number of a listener: for [`World::disconnect`]. No other listener of the process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(u64);

/// What a signal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Spawned,
    Added,
    Set,
    Removed,
    Despawned,
}

/// What a listener is called with, whatever its type.
struct Told<'a> {
    note: &'a Note,
    /// Where the value is that came.
    new: Spot,
    /// Of an entity that ended: a note for each component that it had.
    row: &'a [Note],
}

type Call = Box<dyn FnMut(Told<'_>, &World, &mut Commands) + Send + Sync>;

struct Listener {
    id: ListenerId,
    call: Call,
}

/// The listeners of a world, by what they listen to.
#[derive(Default)]
struct Lists {
    spawned: Vec<Listener>,
    despawned: Vec<Listener>,
    /// By component: those of `added`, `set` and `removed`.
    by_component: Vec<[Vec<Listener>; 3]>,
}

impl Lists {
    fn of(&mut self, event: Event, id: ComponentId) -> Option<&mut Vec<Listener>> {
        let at = match event {
            Event::Spawned => return Some(&mut self.spawned),
            Event::Despawned => return Some(&mut self.despawned),
            Event::Added => 0,
            Event::Set => 1,
            Event::Removed => 2,
        };
        self.by_component.get_mut(id.index()).map(|lists| &mut lists[at])
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Vec<Listener>> {
        [&mut self.spawned, &mut self.despawned].into_iter().chain(self.by_component.iter_mut().flatten())
    }
}

/// The signals of a world.
#[derive(Default)]
pub(crate) struct Signals {
    /// How many operations are under way that others are part of: commands wait for the outermost.
    depth: u32,
    /// How many of them tell their signals as one.
    held: u32,
    /// Whether listeners are being called: displaced values have not ended.
    pub(crate) telling: bool,
    /// The entities that were made of columns, which listeners' commands may have changed since.
    pub(crate) made: Vec<Entity>,
    state: Option<Box<State>>,
}

/// What there is while there are listeners or collectors.
#[derive(Default)]
struct State {
    lists: Lists,
    collectors: Collectors,
    /// By component: whether its changes are noted.
    watched: Vec<bool>,
    /// Whether the making of entities is noted, and whether their ends are.
    spawns: bool,
    ends: bool,
    /// What is to be told, in order.
    journal: Vec<Note>,
    /// An operation of several steps is noting. If it still is when another begins, it has panicked, and what its notes name is gone.
    open: bool,
    /// Used to find the values that came and went in one operation.
    links: HashMap<(u32, u32, u32), Spot, BuildHasherDefault<Mixer>>,
    /// What the listeners of the present signals record.
    fresh: Commands,
    /// What listeners have recorded and is to be carried out.
    commands: Commands,
    errors: Vec<CommandError>,
    lost: usize,
}

/// How many errors of listeners' commands are kept.
const KEPT_ERRORS: usize = 64;

impl Signals {
    /// Whether there are listeners or collectors: the one test that operations make.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.state.is_some()
    }

    /// An operation begins that others are part of.
    #[inline(always)]
    pub(crate) fn enter(&mut self) {
        self.depth += 1;
    }

    /// It is complete.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Operations begin whose signals are told as one.
    #[inline(always)]
    pub(crate) fn hold(&mut self) {
        self.held += 1;
    }

    /// They are complete.
    #[inline(always)]
    pub(crate) fn let_go(&mut self) {
        self.held -= 1;
    }

    /// The world has another number: what listeners have recorded is still of it.
    pub(crate) fn rename(&mut self, old: u64, new: u64) {
        if let Some(state) = &mut self.state {
            state.commands.move_home(old, new);
        }
    }

    /// Bytes held from the allocator, without what listeners hold themselves.
    pub(crate) fn bytes(&self) -> usize {
        let made = self.made.capacity() * size_of::<Entity>();
        let Some(state) = &self.state else { return made };
        let lists = state.lists.by_component.iter().flatten().chain([&state.lists.spawned, &state.lists.despawned]);
        made + size_of::<State>()
            + lists.map(|list| list.capacity() * size_of::<Listener>()).sum::<usize>()
            + state.lists.by_component.capacity() * size_of::<[Vec<Listener>; 3]>()
            + state.watched.capacity()
            + state.journal.capacity() * size_of::<Note>()
            + state.errors.capacity() * size_of::<CommandError>()
            + state.fresh.memory()
            + state.commands.memory()
            + state.collectors.bytes()
    }

    fn state(&mut self) -> &mut State {
        self.state.get_or_insert_default()
    }
}

impl State {
    /// Whether changes of a component are noted.
    fn watches(&self, id: ComponentId) -> bool {
        self.watched.get(id.index()).is_some_and(|watched| *watched)
    }

    /// Finds out what is to be noted, when listeners or collectors have come or gone. There is room for it.
    fn look(&mut self) {
        self.spawns = !self.lists.spawned.is_empty();
        self.ends = !self.lists.despawned.is_empty();
        self.watched.fill(false);
        for (watched, lists) in self.watched.iter_mut().zip(&self.lists.by_component) {
            *watched = lists.iter().any(|list| !list.is_empty());
        }
        self.collectors.look(|event, id| match event {
            Event::Spawned => self.spawns = true,
            Event::Despawned => self.ends = true,
            Event::Added | Event::Set | Event::Removed => self.watched[id.index()] = true,
        });
    }

    /// Makes room for what is to be known of a component.
    fn try_cover(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_room_at(&mut self.watched, id.index())?;
        try_room_at(&mut self.lists.by_component, id.index())?;
        let len = self.watched.len().max(id.index() + 1);
        self.watched.resize(len, false);
        self.lists.by_component.resize_with(len, Default::default);
        Ok(())
    }

    fn is_idle(&self) -> bool {
        let lists = self.lists.by_component.iter().flatten().chain([&self.lists.spawned, &self.lists.despawned]);
        lists.map(Vec::len).sum::<usize>() == 0
            && self.collectors.is_empty()
            && self.commands.is_empty()
            && self.errors.is_empty()
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signals").field("active", &self.is_active()).finish_non_exhaustive()
    }
}

/// Worlds with listeners are sent and shared as worlds are.
const _: () = {
    const fn sent_and_shared<T: Send + Sync>() {}
    sent_and_shared::<Signals>();
};

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
        mut listener: impl FnMut(Added<'_, C>, &World, &mut Commands) + Send + Sync + 'static,
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
        mut listener: impl FnMut(Set<'_, C>, &World, &mut Commands) + Send + Sync + 'static,
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
        mut listener: impl FnMut(Removed<'_, C>, &World, &mut Commands) + Send + Sync + 'static,
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
        mut listener: impl FnMut(Spawned, &World, &mut Commands) + Send + Sync + 'static,
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
        mut listener: impl FnMut(Despawned<'_>, &World, &mut Commands) + Send + Sync + 'static,
    ) -> ListenerId {
        self.connect_to(Event::Despawned, ComponentId::ROW, move |told, world, commands| {
            let row = RetiredRow { notes: told.row, world };
            listener(Despawned { entity: told.note.entity, row }, world, commands);
        })
    }

    fn connect<C: Component>(
        &mut self,
        event: Event,
        call: impl FnMut(Told<'_>, &World, &mut Commands) + Send + Sync + 'static,
    ) -> ListenerId {
        let id = self.register::<C>();
        self.connect_to(event, id, call)
    }

    fn connect_to(
        &mut self,
        event: Event,
        component: ComponentId,
        call: impl FnMut(Told<'_>, &World, &mut Commands) + Send + Sync + 'static,
    ) -> ListenerId {
        static LISTENERS: AtomicU64 = AtomicU64::new(0);
        let id = ListenerId(LISTENERS.fetch_add(1, Ordering::Relaxed));
        let call: Call = Box::new(call);
        let state = self.signals.state();
        had(state.try_cover(component));
        had(try_room(&mut state.errors, KEPT_ERRORS));
        if let Some(list) = state.lists.of(event, component) {
            list.push(Listener { id, call });
        }
        state.look();
        id
    }

    /// Forgets a listener, which is dropped. Whether there was one of that number.
    pub fn disconnect(&mut self, listener: ListenerId) -> bool {
        let Some(state) = &mut self.signals.state else { return false };
        let mut found = None;
        for list in state.lists.all() {
            if let Some(at) = list.iter().position(|known| known.id == listener) {
                found = Some(list.remove(at));
                break;
            }
        }
        state.look();
        self.rest();
        // Dropped when the world is whole: it may be user code.
        found.is_some()
    }

    /// Forgets all about signals if nobody listens or collects.
    fn rest(&mut self) {
        let idle = self.signals.state.as_ref().is_some_and(|state| state.is_idle());
        if idle && self.signals.depth == 0 && self.signals.held == 0 {
            self.signals.state = None;
        }
    }

    /// The errors of commands that listeners recorded and that could not be carried out, since they were last taken: the
    /// first 64, and how many came after them.
    ///
    /// The position of an error is that among the commands that were carried out together.
    ///
    /// ```
    /// use phalanx::{ChangeError, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Fuse;
    ///
    /// let mut world = World::new();
    /// world.on_add::<Fuse>(|added, _, commands| commands.despawn(added.entity));
    /// world.on_add::<Fuse>(|added, _, commands| commands.despawn(added.entity));
    /// let bomb = world.spawn(Fuse);
    /// let (errors, more) = world.take_signal_errors();
    /// assert!(matches!(errors[0].error, ChangeError::NoSuchEntity(e) if e.entity == bomb));
    /// assert_eq!((errors.len(), more), (1, 0));
    /// ```
    pub fn take_signal_errors(&mut self) -> (Vec<CommandError>, usize) {
        let Some(state) = &mut self.signals.state else { return (Vec::new(), 0) };
        let errors = (state.errors.clone(), core::mem::take(&mut state.lost));
        state.errors.clear();
        self.rest();
        errors
    }
}
