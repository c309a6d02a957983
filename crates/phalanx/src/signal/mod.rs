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
//! An operation is one call that changes the world, such as [`World::spawn`], [`World::spawn_batch`] or [`World::clear`], or
//! one segment of [commands](crate::CommandBuffer). Listeners are called when all of it has been carried out, and before the
//! values end that it has displaced: they see the world as it is after the operation, and what was displaced by reference.
//! An operation that returns an error calls nobody.
//!
//! # In what order
//!
//! 1. Entity by entity, in the order of the operation: that of the bundles, of the list that was given, of the commands;
//!    [`World::clear`] and [`World::transfer_all`] go by index, and changes of all that pass a filter by table and row.
//! 2. For one row `spawned`, then `added` and `set`, then `removed`, then `despawned`. Extra rows of a new entity follow its
//!    main row. Those of a despawned entity come before it. Both are in the order of their creation.
//! 3. Within each of these steps the listeners, whatever component they listen to, in the order in which they were connected.
//!
//! So the order depends on the operation and on the order of connections alone. It does not depend on which component was
//! used first.
//!
//! An entity that was [reserved](World::reserve_entity) is spawned by the next operation, before all else that this one tells.
//! So are those of [`CommandBuffer::spawn`](crate::CommandBuffer::spawn).
//!
//! # What is a change
//!
//! - `added`: a component came to a row that did not have it: spawned with it, given it, cloned, moved in from another world,
//!   merged from a snapshot.
//! - `set`: a component was replaced by an insertion or by [`replace`](World::replace), or changed by [`patch`](World::patch).
//! - `removed`: a row lost a component: by removal, by its own end, or by a move to another world.
//! - `spawned` and `despawned`: for entities only, not for extra rows.
//!
//! Writing through `&mut` access, by [`get_mut`](World::get_mut) or by a query, is no signal. Neither is the end of the
//! world itself. Commands of one segment are told one by one, each with the value that it brought, also if a later one has
//! replaced it; the world that listeners see is the one after all of them.
//!
//! # Changes by listeners
//!
//! A listener has the world shared, so that nothing changes while signals are told. What it wants to change it records.
//! Recorded commands are carried out in the order of recording, when the outermost operation is complete and what it displaced
//! has ended; for [`apply`](crate::CommandBuffer::apply) that is when all of its segments are. They may call listeners again, whose
//! commands come after all that are recorded by then. Nothing ends two listeners that answer each other for ever.
//!
//! A recorded command that cannot be carried out is skipped, and its error kept: [`World::take_signal_errors`].
//!
//! A connection or disconnection is a change as any other: through [`CommandBuffer::add`](crate::CommandBuffer::add) and
//! [`CommandBuffer::disconnect`](crate::CommandBuffer::disconnect). So a listener that disconnects itself is still called for the
//! remaining signals of the operation.
//!
//! # Panics
//!
//! If a listener panics, the operation stands. The remaining signals of the operation are not told, and what its listeners
//! have recorded is dropped; entities that they have reserved stay, without components. What the operation displaced ends,
//! then the panic goes on. Collectors have recorded everything. If a displaced value panics when it ends, what listeners have
//! recorded waits for the end of the next operation.
//!
//! # Which world
//!
//! Listeners and collectors belong to one world, and stay when it is compacted. A clone of the world has none, and neither has
//! one that was loaded.
//!
//! # Back in time
//!
//! Listeners and collectors stay when a world goes [back in time](crate::timeline). The rollback itself is no signal. Afterwards a
//! collector holds what it held at the checkpoint or frame, without what was drained since. What it has recorded since is
//! gone. A [delta](World::apply_delta) does not say which time it discards, so it empties all collectors.

mod collect;
mod emit;
mod event;
mod listen;
pub(crate) mod nesting;
mod note;

pub use collect::{Collector, CollectorBuilder};
pub(crate) use emit::dispatch_events;
pub use event::{Added, Despawned, Removed, RetiredRow, Set, Spawned};
pub(crate) use note::{Note, RowName, Spot};

use crate::commands::{CommandBuffer, CommandError};
use crate::component::ComponentId;
use crate::room::{try_room, try_room_at};
use crate::seeded::NumberMap;
use crate::world::World;
use collect::Collectors;
use core::fmt;
use phalanx_store::{AllocError, Entity};

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

type Call = Box<dyn FnMut(Told<'_>, &World, &mut CommandBuffer) + Send + Sync>;

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
    /// How many operations are under way whose signals are told as one.
    held: u32,
    /// Whether listeners are being called: displaced values have not ended.
    pub(crate) telling: bool,
    /// How many entities collectors have recorded ever. It stays when they are dropped, and when the world goes back in time.
    recorded: u64,
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
    /// From where on an operation of several steps is noting. If it still is when another begins, it has panicked, and
    /// what its notes name is gone.
    open: Option<usize>,
    /// Used to find the values that came and went in one operation.
    links: NumberMap<(u32, u32, u32), Spot>,
    /// What the listeners of the present signals record.
    fresh: CommandBuffer,
    /// What listeners have recorded and is to be executed when `running` has been.
    commands: CommandBuffer,
    /// What is being executed. It is here while one of its closures runs, and goes with the world if that moves the world.
    running: CommandBuffer,
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

    /// Forgets what was noted and not told yet of entities that are not alive. Only reserved entities that have come alive
    /// wait to be told: with the next operation, if one fails.
    pub(crate) fn forget_unless(&mut self, is_alive: impl Fn(Entity) -> bool) {
        if let Some(state) = &mut self.state {
            state.journal.retain(|note| is_alive(note.entity));
        }
    }

    /// Returns the entities whose spawning listeners are still to be told of: those that a failed operation flushed.
    pub(crate) fn untold(&self) -> impl Iterator<Item = Entity> + '_ {
        let journal = self.state.iter().flat_map(|state| &state.journal);
        journal.filter(|note| note.event == Event::Spawned).map(|note| note.entity)
    }

    /// Makes room for so many entities in [`set_untold`](Signals::set_untold).
    pub(crate) fn try_reserve_untold(&mut self, count: usize) -> Result<(), AllocError> {
        self.state.as_mut().map_or(Ok(()), |state| try_room(&mut state.journal, count))
    }

    /// Replaces the entities whose spawning listeners are still to be told of. Allocates nothing if room was reserved.
    pub(crate) fn set_untold(&mut self, entities: &[Entity]) {
        if let Some(state) = &mut self.state {
            state.journal.clear();
            if state.spawns {
                state.journal.extend(entities.iter().map(|entity| Note::spawned(*entity)));
            }
        }
    }

    /// Returns how many entities collectors have recorded so far.
    pub(crate) fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Removes from collectors what they have recorded since they had recorded so many.
    pub(crate) fn forget_since(&mut self, recorded: u64) {
        if let Some(state) = &mut self.state {
            state.collectors.forget_since(recorded);
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
            + state.running.memory()
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

    /// Returns `true` if nothing that listeners have recorded is to be executed.
    fn is_settled(&self) -> bool {
        self.commands.is_blank() && self.running.is_blank()
    }

    fn is_idle(&self) -> bool {
        let lists = self.lists.by_component.iter().flatten().chain([&self.lists.spawned, &self.lists.despawned]);
        lists.map(Vec::len).sum::<usize>() == 0
            && self.collectors.is_empty()
            && self.is_settled()
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
