//! Commands: changes of a world that are recorded now and carried out later.
//!
//! # Representation
//!
//! `entries[done..]` are the commands that are still to be carried out; each owns its payload in the arena. An entry before
//! `done` owns nothing: its payload was moved into the world, called, or ended. Outside of [`apply`](CommandBuffer::apply),
//! `done` is zero.
#![allow(unsafe_code)]

mod apply;
mod buffer;
mod report;
mod resolve;
mod row_overlay;
mod slots;
mod threads;

pub use report::{ApplyReport, CommandError, CommandKind};
pub use threads::{CommandQueue, QueueError, QueueReport, TakenKey};

use crate::bundle::Bundle;
use crate::change_detection::Moment;
use crate::mutation::arena::Arena;
use crate::rows::Key;
use crate::world::World;
use buffer::{DELETE_ROW, DESPAWN, Of, OfRow, Verb};
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// Changes of a world, recorded to be carried out later.
///
/// Recording needs no exclusive world, and none at all but for the entity of a [`spawn`](CommandBuffer::spawn): record while you
/// iterate, then [`apply`](CommandBuffer::apply).
///
/// ```
/// use phalanx::{CommandBuffer, Component, Entity, World};
///
/// #[derive(Component)]
/// struct Fuse(u32);
/// #[derive(Component)]
/// struct Smoke;
///
/// let mut world = World::new();
/// let bombs = [3, 0, 1].map(|n| world.spawn(Fuse(n)));
/// let mut commands = CommandBuffer::new();
/// for (bomb, fuse) in world.query::<(Entity, &Fuse)>().iter() {
///     if fuse.0 == 0 {
///         commands.despawn(bomb);
///         commands.spawn(&world, Smoke);
///     }
/// }
/// commands.apply(&mut world);
/// assert!(!world.contains(bombs[1]));
/// assert_eq!(world.query_filtered::<Entity, phalanx::With<Smoke>>().len(), 1);
/// ```
///
/// # Segments
///
/// Closures divide the commands into segments. A segment is checked and all the memory it needs is had before it changes
/// anything: either all of its commands are carried out, or, if one of them cannot be, none. What came before, up to and
/// with the closure that ended the segment before, stands. Values that a segment displaces end when all of it has been
/// carried out, in the order of the commands.
///
/// # Payloads
///
/// Bundles and closures lie in one block that the buffer keeps for the next use. Each is moved into the world or ends
/// exactly once: carried out, refused, dropped with the buffer, or passed by a panic. Recording aborts if memory cannot be
/// had, before anything is recorded; after a sufficient [`try_reserve`](CommandBuffer::try_reserve) it needs none.
#[derive(Default)]
pub struct CommandBuffer {
    entries: Vec<Entry>,
    done: usize,
    arena: Arena,
    /// Entities that are put aside for later spawns, the next one last, and when each was reserved.
    reserved: Vec<(Entity, Moment)>,
    /// When the entities of spawns were reserved: those of the entry with this index and of the ones after it.
    moments: Vec<(usize, Moment)>,
    /// The identity of the world in which entities were reserved.
    home: Option<u64>,
    scratch: resolve::Scratch,
}

/// A recorded command.
#[derive(Clone, Copy)]
struct Entry {
    verb: &'static Verb,
    /// `None` for a spawn whose entity is chosen when it is carried out, and for a closure.
    entity: Option<Entity>,
    /// Of the payload, in the arena.
    offset: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Arena::new()
    }
}

impl CommandBuffer {
    /// A buffer without commands, which allocates nothing.
    pub fn new() -> CommandBuffer {
        CommandBuffer::default()
    }

    /// How many commands are recorded.
    pub fn len(&self) -> usize {
        self.entries.len() - self.done
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records the making of an entity, which is reserved at once: later commands can name it.
    ///
    /// It is taken from those that [`reserve_entities`](CommandBuffer::reserve_entities) has put aside, if any are left, else
    /// from the world. It is alive, without components, from the next change of the world on, and has the bundle when the
    /// command has been carried out. If the command is not carried out by [`apply`](CommandBuffer::apply), the entity ends; if
    /// the buffer is dropped, it stays as it is.
    ///
    /// # Panics
    ///
    /// If all indices of entities are used up, or this buffer has reserved entities of another world.
    #[track_caller]
    pub fn spawn<B: Bundle>(&mut self, world: &World, bundle: B) -> Entity {
        self.settle_in(Some(world.identity()));
        // What was put aside in a state that was discarded since is reserved no longer.
        while self.reserved.last().is_some_and(|(_, moment)| !world.storage.sparse.clock.includes(*moment)) {
            self.reserved.pop();
        }
        if self.reserved.is_empty() {
            self.reserve_entities(world, 1);
        }
        self.spawn_reserved(bundle).unwrap_or_else(|_| unreachable!("reserved just now"))
    }

    /// Records the making of an entity that was put aside by [`reserve_entities`](CommandBuffer::reserve_entities), without a
    /// look at the world.
    ///
    /// # Errors
    ///
    /// The bundle, if none is left.
    pub fn spawn_reserved<B: Bundle>(&mut self, bundle: B) -> Result<Entity, B> {
        let Some(&(entity, moment)) = self.reserved.last() else { return Err(bundle) };
        if self.moments.last().is_none_or(|(_, last)| *last != moment) {
            self.moments.push((self.entries.len(), moment));
        }
        self.record(Of::<B>::SPAWN, Some(entity), bundle);
        self.reserved.pop();
        Ok(entity)
    }

    /// Records the making of an entity that is chosen when the command is carried out.
    pub fn spawn_later<B: Bundle>(&mut self, bundle: B) {
        self.record(Of::<B>::SPAWN, None, bundle);
    }

    /// SparseInserts entities of a world aside for later spawns. Those that are left when the commands are applied end.
    ///
    /// What [`spawn`](CommandBuffer::spawn) reserves from several threads at once depends on who comes first. To have the same
    /// entities in every run, put enough of them aside before the threads start, one buffer after another.
    ///
    /// # Panics
    ///
    /// If all indices of entities are used up, or this buffer has reserved entities of another world.
    #[track_caller]
    pub fn reserve_entities(&mut self, world: &World, count: usize) {
        self.settle_in(Some(world.identity()));
        self.reserved.reserve(count);
        if self.reserved.first().is_none_or(|(_, moment)| *moment != world.moment()) {
            // Recording these spawns allocates nothing.
            self.moments.reserve(self.reserved.chunk_by(|a, b| a.1 == b.1).count() + 1);
        }
        let before = self.reserved.len();
        for _ in 0..count {
            let entity = world.reserve_entity();
            // The moment is read after the entity was reserved: an image of that moment has the reservation.
            self.reserved.push((entity, world.moment()));
        }
        self.reserved[before..].reverse();
        self.reserved.rotate_left(before);
    }

    /// Records [`World::insert`].
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) {
        self.record(Of::<B>::INSERT, Some(entity), bundle);
    }

    /// Records [`World::remove`].
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.record(Of::<B>::REMOVE, Some(entity), ());
    }

    /// Records [`World::despawn`].
    pub fn despawn(&mut self, entity: Entity) {
        self.record(DESPAWN, Some(entity), ());
    }

    /// Records [`World::add_row`].
    ///
    /// Later commands can name the row by its key, and it may be one of an entity that [`spawn`](CommandBuffer::spawn) has
    /// promised.
    ///
    /// ```
    /// use phalanx::{CommandBuffer, Component, Key, Role, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Ring(&'static str);
    ///
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new();
    /// let elf = commands.spawn(&world, ());
    /// let [left, right] = [1, 2].map(|n| Key::main(elf).with_role(Role(n)));
    /// commands.extend(left, Ring("of air"));
    /// commands.extend(right, Ring("of fire"));
    /// commands.delete_row(left);
    /// commands.try_apply(&mut world)?;
    /// assert_eq!(world.row(right)?.get::<Ring>()?, &Ring("of fire"));
    /// assert!(world.row(left).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend<B: Bundle>(&mut self, key: Key, bundle: B) {
        self.record(Of::<B>::EXTEND, Some(key.entity), OfRow { key, bundle });
    }

    /// Records [`RowMut::insert`](crate::RowMut::insert).
    pub fn update<B: Bundle>(&mut self, key: Key, bundle: B) {
        self.record(Of::<B>::UPDATE, Some(key.entity), OfRow { key, bundle });
    }

    /// Records [`RowMut::remove`](crate::RowMut::remove).
    pub fn remove_row_components<B: Bundle>(&mut self, key: Key) {
        self.record(Of::<B>::REMOVE_FROM_ROW, Some(key.entity), key);
    }

    /// Records [`World::remove_row`].
    pub fn delete_row(&mut self, key: Key) {
        self.record(DELETE_ROW, Some(key.entity), key);
    }

    /// Records a closure, which gets the world when its turn comes. It ends a segment.
    ///
    /// ```
    /// use phalanx::{CommandBuffer, World};
    ///
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new();
    /// commands.spawn_later(());
    /// commands.add(|world| drop(world.insert_resource(world.len())));
    /// commands.apply(&mut world);
    /// assert_eq!(world.resource::<usize>(), Ok(&1));
    /// ```
    pub fn add(&mut self, closure: impl FnOnce(&mut World) + Send + 'static) {
        fn verb<F: FnOnce(&mut World) + Send + 'static>(_: &F) -> &'static Verb {
            Of::<F>::CALL
        }
        self.record(verb(&closure), None, closure);
    }

    /// The buffer's entities are of one world.
    #[track_caller]
    fn settle_in(&mut self, world: Option<u64>) {
        assert!(
            self.home.is_none() || world.is_none() || self.home == world,
            "the commands of one buffer reserve entities of two worlds"
        );
        self.home = self.home.or(world);
    }

    /// Whether nothing is recorded or put aside.
    pub(crate) fn is_blank(&self) -> bool {
        self.is_empty() && self.reserved.is_empty()
    }

    /// Records [`World::disconnect`].
    pub fn disconnect(&mut self, listener: crate::ListenerId) {
        self.add(move |world| {
            world.disconnect(listener);
        });
    }

    /// Moves all commands of another buffer to the end of this one, with the entities that it has put aside.
    ///
    /// # Panics
    ///
    /// If the two have reserved entities of different worlds.
    #[track_caller]
    pub fn append(&mut self, other: &mut CommandBuffer) {
        self.settle_in(other.home);
        self.entries.reserve(other.entries.len());
        self.reserved.reserve(other.reserved.len());
        // The next one is last: what was put aside first is used first.
        self.reserved.splice(0..0, other.reserved.drain(..));
        self.moments.reserve(other.moments.len());
        let start = self.arena.try_append(&mut other.arena).unwrap_or_else(|error| panic_change(error));
        let before = self.entries.len();
        self.moments.extend(other.moments.drain(..).map(|(at, moment)| (before + at, moment)));
        self.entries.extend(other.entries.drain(..).map(|entry| Entry { offset: entry.offset + start, ..entry }));
        other.home = None;
    }

    /// Makes room for so many more commands, and so many bytes of their payloads, padding included.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    pub fn try_reserve(&mut self, commands: usize, bytes: usize) -> Result<(), AllocError> {
        crate::alloc::try_reserve(&mut self.entries, commands)?;
        let bytes = self.arena.len().checked_add(bytes).ok_or(AllocError::CapacityOverflow)?;
        self.arena.try_reserve(bytes, self.arena.align().max(align_of::<u128>()))
    }

    /// Drops all recorded commands.
    ///
    /// Entities that were reserved for them, or put aside, stay like any reserved entity: alive without components, from
    /// the next change of the world on.
    pub fn clear(&mut self) {
        /// Forgets what was put aside, even if a payload panics.
        struct Reserved<'a>(&'a mut CommandBuffer);
        impl Drop for Reserved<'_> {
            fn drop(&mut self) {
                self.0.reserved.clear();
                self.0.home = None;
            }
        }
        Reserved(self).0.clear_commands();
    }

    /// Drops all recorded commands, and keeps the entities that were put aside.
    fn clear_commands(&mut self) {
        /// Goes on after a panic; a second one aborts.
        struct Rest<'a>(&'a mut CommandBuffer);
        impl Rest<'_> {
            fn run(&mut self) {
                let commands = &mut *self.0;
                while let Some(&entry) = commands.entries.get(commands.done) {
                    commands.done += 1;
                    // SAFETY: the entry owned its payload, and does not from here on.
                    unsafe { (entry.verb.drop)(commands.arena.at(entry.offset, entry.verb.layout)) };
                }
                commands.entries.clear();
                commands.moments.clear();
                commands.arena.clear();
                commands.done = 0;
                if commands.reserved.is_empty() {
                    commands.home = None;
                }
            }
        }
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Rest(self).run();
    }

    /// Bytes that the buffer holds for commands and their payloads.
    pub fn memory(&self) -> usize {
        let lists = self.entries.capacity() * size_of::<Entry>()
            + self.reserved.capacity() * size_of::<(Entity, Moment)>()
            + self.moments.capacity() * size_of::<(usize, Moment)>();
        self.arena.bytes() + lists + self.scratch.bytes()
    }

    /// The key of the row that a command is about, if it is about one. The command still owns its payload.
    fn key(arena: &Arena, entry: &Entry) -> Option<Key> {
        // SAFETY: the payload is where it was placed; one of these kinds begins with a key.
        let payload = || unsafe { arena.at(entry.offset, entry.verb.layout).cast::<Key>().read() };
        entry.verb.kind.is_of_row().then(payload)
    }

    /// The verb's payload is a `P`, or the verb has none and `P` is `()`.
    fn record<P: 'static>(&mut self, verb: &'static Verb, entity: Option<Entity>, payload: P) {
        debug_assert_eq!(verb.layout, core::alloc::Layout::new::<P>());
        let placed = crate::alloc::try_reserve(&mut self.entries, 1).and_then(|()| self.arena.try_place(verb.layout));
        let offset = placed.unwrap_or_else(|error| panic_change(error));
        // SAFETY: the place was made for this layout, and nothing lives there.
        unsafe { self.arena.at(offset, verb.layout).cast::<P>().write(payload) };
        self.entries.push(Entry { verb, entity, offset });
    }
}

#[cold]
fn panic_change(error: AllocError) -> ! {
    crate::error::panic_change(error.into())
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for CommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for entry in &self.entries[self.done..] {
            match (entry.verb.kind, CommandBuffer::key(&self.arena, entry), entry.entity) {
                (kind, Some(key), _) => list.entry(&format_args!("{kind:?}({key})")),
                (kind, None, Some(entity)) => list.entry(&format_args!("{kind:?}({entity})")),
                (kind, None, None) => list.entry(&kind),
            };
        }
        list.finish()
    }
}
