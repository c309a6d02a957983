//! [`CommandBuffer`]: records commands.
//!
//! # Representation
//!
//! `entries[done..]` are the commands to be executed; each owns its payload in the arena. An entry before `done` owns nothing:
//! its payload was moved into the world, called, or dropped. Outside of [`apply`](CommandBuffer::apply), `done` is zero.
#![allow(unsafe_code)]

use super::apply_report::{CommandError, CommandKind};
use super::resolver::Resolver;
use super::vtable::{
    CommandVtable, DELETE_ROW, DESPAWN, ErasedVtables, LinkPayload, REMOVE_NAME, RowPayload, SET_NAME, Vtables,
};
use crate::bundle::Bundle;
use crate::change_detection::Moment;
use crate::error::{StructuralError, panic_change};
use crate::mutation::arena::Arena;
use crate::names::{Name, NameOf};
use crate::rows::Key;
use crate::world::{BundleBuilder, World};
use core::fmt;
use phalanx_store::raw::{DropGuard, drop_all};
use phalanx_store::{AllocError, Entity};

/// Changes of a world that are recorded now and executed later.
///
/// Recording needs no exclusive access to the world. Only [`spawn_with`](CommandBuffer::spawn_with) needs shared access. So
/// commands can be recorded while a query is iterated, and [applied](CommandBuffer::apply) afterwards.
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
///         commands.spawn(Smoke);
///     }
/// }
/// commands.apply(&mut world);
/// assert!(!world.contains(bombs[1]));
/// assert_eq!(world.query_filtered::<Entity, phalanx::With<Smoke>>().len(), 1);
/// ```
///
/// # Segments
///
/// [Closures](CommandBuffer::queue) divide the commands into segments. A segment is checked, and all the memory it needs is
/// allocated, before it changes anything. So [`try_apply`](CommandBuffer::try_apply) executes all commands of a segment or
/// none. The changes before it stay, including those of the closure that ended the last segment. Values that a segment
/// displaces are dropped when all of it is executed, in the order of the commands.
///
/// # Payloads
///
/// Bundles and closures are in one block of memory that the buffer keeps for the next use. Each is moved into the world or
/// dropped, exactly once. Recording aborts if allocation fails. After a sufficient
/// [`try_reserve`](CommandBuffer::try_reserve) it does not allocate.
#[derive(Default)]
#[doc(alias = "Commands")]
#[doc(alias = "CommandQueue")]
pub struct CommandBuffer {
    pub(super) entries: Vec<Entry>,
    pub(super) done: usize,
    pub(super) arena: Arena,
    /// Entities that are reserved for later spawns, the next one last, and when each was reserved.
    pub(super) reserved: Vec<(Entity, Moment)>,
    /// When the entities of spawns were reserved: those of the entry with this index and of the entries after it.
    pub(super) moments: Vec<(usize, Moment)>,
    /// The identity of the world in which entities were reserved.
    pub(super) world_id: Option<u64>,
    pub(super) resolver: Resolver,
}

/// A recorded command.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) vtable: &'static CommandVtable,
    /// `None` for a closure, and for a spawn whose entity is allocated when it is executed.
    pub(super) entity: Option<Entity>,
    /// The offset of the payload in the arena.
    pub(super) offset: usize,
}

impl Entry {
    /// Returns the error of this command.
    pub(super) fn error(&self, position: usize, error: StructuralError) -> CommandError {
        CommandError { position, command: self.vtable.kind, entity: self.entity, error }
    }

    /// Returns the key of the row that the command is about, if it is about one. The command still owns its payload.
    ///
    /// # Safety
    ///
    /// The payload is that of the command, and is initialised.
    #[inline(always)]
    pub(super) unsafe fn key(&self, payload: *mut u8) -> Option<Key> {
        // SAFETY: the payload of a command about a row begins with a key.
        self.vtable.kind.is_of_row().then(|| unsafe { payload.cast::<Key>().read() })
    }

    /// Returns `true` if this is the spawn of a reserved entity.
    pub(super) fn is_reserved_spawn(&self) -> bool {
        self.vtable.kind == CommandKind::Spawn && self.entity.is_some() && !self.vtable.is_predicted
    }
}

/// Returns when the entity of the spawn at a position was reserved.
pub(super) fn moment_of(moments: &[(usize, Moment)], position: usize) -> Moment {
    moments[moments.partition_point(|(at, _)| *at <= position) - 1].1
}

impl Default for Arena {
    fn default() -> Self {
        Arena::new()
    }
}

impl CommandBuffer {
    /// Creates a buffer without commands. Does not allocate.
    pub fn new() -> CommandBuffer {
        CommandBuffer::default()
    }

    /// Returns the number of recorded commands.
    pub fn len(&self) -> usize {
        self.entries.len() - self.done
    }

    /// Returns `true` if no commands are recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records the spawn of an entity with a bundle. The entity is allocated when the command is executed.
    ///
    /// The buffer does not know a world, so that there is no entity to return. These functions return it:
    ///
    /// - [`spawn_with`](CommandBuffer::spawn_with), where the world is at hand;
    /// - [`spawn_reserved`](CommandBuffer::spawn_reserved), after [`reserve_entities`](CommandBuffer::reserve_entities), for
    ///   instance on another thread;
    /// - [`Commands::spawn`](crate::system::Commands::spawn) in systems.
    pub fn spawn<B: Bundle>(&mut self, bundle: B) {
        self.record(Vtables::<B>::SPAWN, None, bundle);
    }

    /// Records the spawn of an entity with a bundle, and reserves the entity. Later commands can name it.
    ///
    /// The entity is one that [`reserve_entities`](CommandBuffer::reserve_entities) has reserved, if any is left; otherwise it
    /// is reserved in the world now. It is alive, without components, from the next change of the world on, and has the
    /// bundle when the command is executed. If [`apply`](CommandBuffer::apply) does not execute the command, the entity is
    /// despawned. If the buffer is dropped, it stays alive without components.
    ///
    /// ```
    /// use phalanx::{CommandBuffer, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new();
    /// let ann = commands.spawn_with(&world, ());
    /// commands.insert(ann, Name("Ann"));
    /// commands.apply(&mut world);
    /// assert_eq!(world.get::<Name>(ann).unwrap().0, "Ann");
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if all indices of entities are in use, or if this buffer has reserved entities of another world.
    #[track_caller]
    #[doc(alias = "reserve_entity")]
    pub fn spawn_with<B: Bundle>(&mut self, world: &World, bundle: B) -> Entity {
        self.bind_world(Some(world.identity()));
        // Entities that were reserved in a state that was discarded since are not reserved any more.
        while self.reserved.last().is_some_and(|(_, moment)| !world.storage.sparse.clock.includes(*moment)) {
            self.reserved.pop();
        }
        // The moment is read after the entity was reserved: an image of that moment has the reservation.
        let (entity, moment) = match self.reserved.pop() {
            Some(reserved) => reserved,
            None => (world.reserve_entity(), world.moment()),
        };
        self.record_spawn(entity, moment, bundle);
        entity
    }

    /// Records the spawn of an entity that [`reserve_entities`](CommandBuffer::reserve_entities) has reserved, without access
    /// to the world.
    ///
    /// # Errors
    ///
    /// Returns the bundle if no reserved entity is left.
    pub fn spawn_reserved<B: Bundle>(&mut self, bundle: B) -> Result<Entity, B> {
        let Some(&(entity, moment)) = self.reserved.last() else { return Err(bundle) };
        self.record_spawn(entity, moment, bundle);
        self.reserved.pop();
        Ok(entity)
    }

    /// Records the spawn of an entity that the caller has reserved in a world.
    pub(crate) fn spawn_as<B: Bundle>(&mut self, world: &World, entity: Entity, bundle: B) {
        self.bind_world(Some(world.identity()));
        self.record_spawn(entity, world.moment(), bundle);
    }

    /// Records the spawn of an entity that was reserved at a moment.
    fn record_spawn<B: Bundle>(&mut self, entity: Entity, moment: Moment, bundle: B) {
        if self.moments.last().is_none_or(|(_, last)| *last != moment) {
            self.moments.push((self.entries.len(), moment));
        }
        self.record(Vtables::<B>::SPAWN, Some(entity), bundle);
    }

    /// Reserves entities of a world for later spawns. Those that are left when the commands are applied are despawned.
    ///
    /// The entities that [`spawn_with`](CommandBuffer::spawn_with) reserves on several threads at once depend on which thread
    /// comes first. To have the same entities in every run, reserve enough of them before the threads start, one buffer after
    /// another.
    ///
    /// # Panics
    ///
    /// Panics if all indices of entities are in use, or if this buffer has reserved entities of another world.
    #[track_caller]
    pub fn reserve_entities(&mut self, world: &World, count: usize) {
        self.bind_world(Some(world.identity()));
        self.reserved.reserve(count);
        if self.reserved.first().is_none_or(|(_, moment)| *moment != world.moment()) {
            // So that recording these spawns does not allocate.
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
        self.record(Vtables::<B>::INSERT, Some(entity), bundle);
    }

    /// Records the spawn of an entity with the components of a [`BundleBuilder`]. The entity is allocated when the command is
    /// executed.
    ///
    /// ```
    /// use phalanx::{BundleBuilder, CommandBuffer, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let (mut world, mut commands) = (World::new(), CommandBuffer::new());
    /// let mut bundle = BundleBuilder::new();
    /// bundle.add(Health(3));
    /// commands.spawn_dynamic(bundle);
    /// commands.apply(&mut world);
    /// assert_eq!(world.query::<&Health>().single()?.0, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "spawn_builder")]
    pub fn spawn_dynamic(&mut self, bundle: BundleBuilder) {
        self.record(ErasedVtables::<BundleBuilder>::SPAWN, None, bundle);
    }

    /// Records [`BundleBuilder::insert`].
    pub fn insert_dynamic(&mut self, entity: Entity, bundle: BundleBuilder) {
        self.record(ErasedVtables::<BundleBuilder>::INSERT, Some(entity), bundle);
    }

    /// Records [`World::remove`].
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.record(Vtables::<B>::REMOVE, Some(entity), ());
    }

    /// Records [`World::despawn`].
    pub fn despawn(&mut self, entity: Entity) {
        self.record(DESPAWN, Some(entity), ());
    }

    /// Records [`World::add_row`].
    ///
    /// Later commands can name the row by its key. Its entity may be one that [`spawn_with`](CommandBuffer::spawn_with) has
    /// reserved.
    ///
    /// ```
    /// use phalanx::{CommandBuffer, Component, Key, Role, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Ring(&'static str);
    ///
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new();
    /// let elf = commands.spawn_with(&world, ());
    /// let [left, right] = [1, 2].map(|n| Key::main(elf).with_role(Role(n)));
    /// commands.add_row(left, Ring("of air"));
    /// commands.add_row(right, Ring("of fire"));
    /// commands.remove_row(left);
    /// commands.try_apply(&mut world)?;
    /// assert_eq!(world.row(right)?.get::<Ring>()?, &Ring("of fire"));
    /// assert!(world.row(left).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_row<B: Bundle>(&mut self, key: Key, bundle: B) {
        self.record(Vtables::<B>::EXTEND, Some(key.entity), RowPayload { key, bundle });
    }

    /// Records [`RowMut::insert`](crate::RowMut::insert).
    pub fn insert_into_row<B: Bundle>(&mut self, key: Key, bundle: B) {
        self.record(Vtables::<B>::UPDATE, Some(key.entity), RowPayload { key, bundle });
    }

    /// Records [`RowMut::remove`](crate::RowMut::remove).
    pub fn remove_from_row<B: Bundle>(&mut self, key: Key) {
        self.record(Vtables::<B>::REMOVE_FROM_ROW, Some(key.entity), key);
    }

    /// Records [`World::remove_row`].
    pub fn remove_row(&mut self, key: Key) {
        self.record(DELETE_ROW, Some(key.entity), key);
    }

    /// Records a closure, which is called with the world. It ends a [segment](CommandBuffer#segments).
    ///
    /// ```
    /// use phalanx::{CommandBuffer, World};
    ///
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new();
    /// commands.spawn(());
    /// commands.queue(|world| drop(world.insert_resource(world.len())));
    /// commands.apply(&mut world);
    /// assert_eq!(world.resource::<usize>(), Ok(&1));
    /// ```
    pub fn queue<F: FnOnce(&mut World) + Send + 'static>(&mut self, closure: F) {
        self.record(Vtables::<F>::CALL, None, closure);
    }

    /// Sets the world that the buffer's entities belong to.
    ///
    /// # Panics
    ///
    /// Panics if there is another one.
    #[track_caller]
    fn bind_world(&mut self, world: Option<u64>) {
        assert!(
            self.world_id.is_none() || world.is_none() || self.world_id == world,
            "the commands of one buffer reserve entities of two worlds"
        );
        self.world_id = self.world_id.or(world);
    }

    /// Returns `true` if no commands are recorded and no entities are reserved.
    pub(crate) fn is_blank(&self) -> bool {
        self.is_empty() && self.reserved.is_empty()
    }

    /// Records [`World::disconnect`].
    pub fn disconnect(&mut self, listener: crate::ListenerId) {
        self.queue(move |world| {
            world.disconnect(listener);
        });
    }

    /// Moves all commands of another buffer to the end of this one, with the entities that it has reserved.
    ///
    /// # Panics
    ///
    /// Panics if the two buffers have reserved entities of different worlds.
    #[track_caller]
    pub fn append(&mut self, other: &mut CommandBuffer) {
        self.bind_world(other.world_id);
        self.entries.reserve(other.entries.len());
        self.reserved.reserve(other.reserved.len());
        // The next one is last: what was reserved first is used first.
        self.reserved.splice(0..0, other.reserved.drain(..));
        self.moments.reserve(other.moments.len());
        let start = self.arena.try_append(&mut other.arena).unwrap_or_else(|error| panic_change(error.into()));
        let before = self.entries.len();
        self.moments.extend(other.moments.drain(..).map(|(at, moment)| (before + at, moment)));
        self.entries.extend(other.entries.drain(..).map(|entry| Entry { offset: entry.offset + start, ..entry }));
        other.world_id = None;
    }

    /// Reserves capacity for more commands, and for the bytes of their payloads, including padding.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. Nothing has changed then.
    pub fn try_reserve(&mut self, commands: usize, bytes: usize) -> Result<(), AllocError> {
        crate::alloc::try_reserve(&mut self.entries, commands)?;
        let bytes = self.arena.len().checked_add(bytes).ok_or(AllocError::CapacityOverflow)?;
        self.arena.try_reserve(bytes, self.arena.align().max(align_of::<u128>()))
    }

    /// Drops all recorded commands.
    ///
    /// Entities that were reserved stay like any reserved entity: alive without components, from the next change of the world
    /// on.
    pub fn clear(&mut self) {
        let guard = DropGuard::new(self, |commands| {
            commands.reserved.clear();
            commands.world_id = None;
        });
        guard.state.clear_commands();
    }

    /// Drops all recorded commands, and keeps the reserved entities.
    pub(super) fn clear_commands(&mut self) {
        let guard = DropGuard::new(self, |commands| {
            commands.entries.clear();
            commands.moments.clear();
            commands.arena.clear();
            commands.done = 0;
            if commands.reserved.is_empty() {
                commands.world_id = None;
            }
        });
        let CommandBuffer { entries, arena, done, .. } = &mut *guard.state;
        let first = core::mem::replace(done, entries.len());
        drop_all(&entries[first..], |entry| {
            // SAFETY: the entry owned its payload at this offset, which is dropped once.
            unsafe { (entry.vtable.drop)(arena.at(entry.offset, entry.vtable.layout)) };
        });
    }

    /// Returns the bytes that the buffer holds for commands and their payloads.
    pub fn memory(&self) -> usize {
        let lists = self.entries.capacity() * size_of::<Entry>()
            + self.reserved.capacity() * size_of::<(Entity, Moment)>()
            + self.moments.capacity() * size_of::<(usize, Moment)>();
        self.arena.bytes() + lists + self.resolver.bytes()
    }

    /// Records a command that links an entity.
    pub(crate) fn record_link(&mut self, vtable: &'static CommandVtable, source: Entity, payload: LinkPayload) {
        self.record(vtable, Some(source), payload);
    }

    /// Records a command that unlinks an entity.
    pub(crate) fn record_unlink(&mut self, vtable: &'static CommandVtable, source: Entity) {
        self.record(vtable, Some(source), ());
    }

    /// Records a command that gives an entity a name, or removes it.
    pub(crate) fn record_name(&mut self, entity: Entity, name: Option<Name>) {
        match name {
            Some(name) => self.record(SET_NAME, Some(entity), NameOf(name)),
            None => self.record(REMOVE_NAME, Some(entity), ()),
        }
    }

    /// Records a command whose payload is a `P`.
    fn record<P: 'static>(&mut self, vtable: &'static CommandVtable, entity: Option<Entity>, payload: P) {
        self.try_record(vtable, entity, payload).unwrap_or_else(|error| panic_change(error.into()));
    }

    /// Records a command, like [`record`](CommandBuffer::record), but returns an error if allocation fails.
    #[inline]
    pub(super) fn try_record<P: 'static>(
        &mut self,
        vtable: &'static CommandVtable,
        entity: Option<Entity>,
        payload: P,
    ) -> Result<(), AllocError> {
        debug_assert_eq!(vtable.layout, core::alloc::Layout::new::<P>());
        crate::alloc::try_reserve(&mut self.entries, 1)?;
        let offset = self.arena.try_place(vtable.layout)?;
        // SAFETY: the offset was given out for this layout just now, and nothing is there.
        unsafe { self.arena.at(offset, vtable.layout).cast::<P>().write(payload) };
        self.entries.push(Entry { vtable, entity, offset });
        Ok(())
    }
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
            // SAFETY: the entry and the arena are of this buffer.
            let key = unsafe { entry.key(self.arena.at(entry.offset, entry.vtable.layout)) };
            match (entry.vtable.kind, key, entry.entity) {
                (kind, Some(key), _) => list.entry(&format_args!("{kind:?}({key})")),
                (kind, None, Some(entity)) => list.entry(&format_args!("{kind:?}({entity})")),
                (kind, None, None) => list.entry(&kind),
            };
        }
        list.finish()
    }
}
