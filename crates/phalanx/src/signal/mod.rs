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

pub use crate::journal::Collector;
pub use collect::CollectorBuilder;
pub(crate) use emit::{Dispatch, dispatch_events};
pub use event::{Added, Despawned, Removed, RetiredRow, Set, Spawned};

use crate::alloc::try_reserve_at;
use crate::commands::{CommandBuffer, CommandError};
use crate::component::ComponentId;
use crate::journal::{Event, JournalEntry, Recording, Spot};
use crate::world::World;
use core::fmt;
use phalanx_store::AllocError;

/// The number of a listener: for [`World::disconnect`]. No other listener of the process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(u64);

/// What a listener is called with, whatever its type.
struct Told<'a> {
    note: &'a JournalEntry,
    /// Where the value is that came.
    new: Spot,
    /// Of an entity that ended: a note for each component that it had.
    row: &'a [JournalEntry],
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

/// The listeners of a world, and what they have recorded.
#[derive(Default)]
pub(crate) struct Observers {
    lists: Lists,
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

impl Observers {
    /// Returns the bytes held from the allocator, without what listeners hold themselves.
    pub(crate) fn bytes(&self) -> usize {
        let lists = self.lists.by_component.iter().flatten().chain([&self.lists.spawned, &self.lists.despawned]);
        lists.map(|list| list.capacity() * size_of::<Listener>()).sum::<usize>()
            + self.lists.by_component.capacity() * size_of::<[Vec<Listener>; 3]>()
            + self.errors.capacity() * size_of::<CommandError>()
            + self.fresh.memory()
            + self.commands.memory()
            + self.running.memory()
    }

    /// Determines what the journal records, when listeners or collectors have come or gone.
    fn subscribe(&self, recording: &mut Recording) {
        let Lists { spawned, despawned, by_component } = &self.lists;
        recording.set_watched(!spawned.is_empty(), !despawned.is_empty(), |id| {
            by_component.get(id).is_some_and(|lists| lists.iter().any(|list| !list.is_empty()))
        });
    }

    /// Makes room for the listeners of a component.
    fn try_cover(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_reserve_at(&mut self.lists.by_component, id.index())?;
        let len = self.lists.by_component.len().max(id.index() + 1);
        self.lists.by_component.resize_with(len, Default::default);
        Ok(())
    }

    /// Returns `true` if nothing that listeners have recorded is to be executed.
    fn is_settled(&self) -> bool {
        self.commands.is_blank() && self.running.is_blank()
    }

    /// Returns `true` if there are no listeners, and nothing of them is left.
    fn is_idle(&self) -> bool {
        let lists = self.lists.by_component.iter().flatten().chain([&self.lists.spawned, &self.lists.despawned]);
        lists.map(Vec::len).sum::<usize>() == 0 && self.is_settled() && self.errors.is_empty()
    }
}

impl World {
    /// Returns the journal's recording, which is started if it was not, and the listeners.
    fn listening(&mut self) -> (&mut Recording, &mut Observers) {
        (self.storage.journal.recording.get_or_insert_default(), &mut self.observers)
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers").finish_non_exhaustive()
    }
}

/// Worlds with listeners are sent and shared as worlds are.
const _: () = {
    const fn sent_and_shared<T: Send + Sync>() {}
    sent_and_shared::<Observers>();
};
