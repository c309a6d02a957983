//! Applying the commands of a buffer, segment by segment.
//!
//! A segment goes through the phases of every change.
//!
//! 1. *Resolve*: the [resolver](super::resolver) goes through the commands and determines for each entity in which table it
//!    would be, without moving it. Each command becomes a [`Step`]. It counts the rows, slots and bytes that all steps need.
//! 2. *Reserve*: exactly that is allocated.
//!    Then the values of required components are created, which is user code.
//! 3. *Commit*: the steps are executed. They copy and store, run no user code but the splitting of soa values, and cannot fail.
//! 4. *Drop*: displaced values were moved to a stash, and are dropped after the listeners have run.
//!
//! # Invariants
//!
//! - Nothing else changes the world between resolving and committing. So the entity of a step is in the table that was
//!   resolved, and the edge of a step is one of that table.
//! - Before the first step is committed, the stash has capacity for every value that the steps displace. It does not
//!   move while it holds values. Each step moves the sparse values that it displaces there, because the next step may
//!   overwrite them.
//! - The slots of new entities and rows are predicted while resolving, so that capacity for their sparse values can be
//!   reserved. Pages of sparse sets are held until all commands are applied.
//! - The payloads of skipped commands stay in the arena, and are dropped with the stash.
#![allow(unsafe_code)]

use super::apply_report::{ApplyReport, CommandError, CommandKind};
use super::command_buffer::{CommandBuffer, moment_of};
use crate::error::StructuralError;
use crate::mutation::stash::DropStash;
use crate::mutation::{Made, MadeRequired};
use crate::signal::{apply_scope, dispatch_catch};
use crate::world::World;
use phalanx_store::{AllocError, Entity};

/// Receives the commands that are skipped.
pub(crate) type Report<'a> = &'a mut dyn FnMut(CommandError);

impl CommandBuffer {
    /// Executes the commands in order, skips those that cannot be executed, and empties the buffer.
    ///
    /// The report names each skipped command and the reason. A command is skipped if the entity it names is not alive by
    /// then; if the entity has no row under the key it names, or already has the row it adds; or if its bundle contains a
    /// component twice. Despawning an entity that is not alive does nothing, and is not reported. A skipped command drops its
    /// payload. If it is a [`spawn_with`](CommandBuffer::spawn_with), its entity is despawned, unless other commands gave it
    /// components or rows.
    ///
    /// ```
    /// use phalanx::{CommandBuffer, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Scar;
    ///
    /// let mut world = World::new();
    /// let [victim, witness] = [world.spawn_empty(), world.spawn_empty()];
    /// let mut commands = CommandBuffer::new();
    /// // Two bullets hit the same victim in one frame, a third one grazes it.
    /// commands.despawn(victim);
    /// commands.despawn(victim);
    /// commands.insert(victim, Scar);
    /// commands.insert(witness, Scar);
    /// let report = commands.apply(&mut world);
    /// assert_eq!(report.executed(), 3);
    /// assert_eq!(report.skipped()[0].position, 2);
    /// assert!(world.has::<Scar>(witness));
    /// ```
    ///
    /// The memory for a [segment](CommandBuffer#segments) is allocated before the segment changes anything. If that fails,
    /// `apply` aborts like other operations that allocate; [`try_apply`](CommandBuffer::try_apply) returns an error instead.
    ///
    /// # Panics
    ///
    /// Panics if a closure, a listener or the destructor of a displaced value panics. The changes of the segments before it
    /// stay, and so do those of the segment that called it. The commands after it are dropped, and the entities that they would
    /// have spawned are despawned. If creating a [required component](crate::Component#required-components) panics, its segment has
    /// changed nothing. If splitting a soa component into its fields panics, the changes of the commands before that one stay.
    pub fn apply(&mut self, world: &mut World) -> ApplyReport {
        let mut report = ApplyReport { executed: self.len(), skipped: Vec::new() };
        apply_scope::run(world, |world| {
            let run = Application::new(self, world);
            while run.commands.done < run.commands.entries.len() {
                let end = run.commands.segment_end();
                let skip: Report<'_> = &mut |error| report.skipped.push(error);
                if let Err(error) = run.commands.apply_segment(run.world, end, Some(skip)) {
                    crate::error::panic_change(error.error);
                }
                run.commands.call_closure(run.world);
            }
        });
        world.dispatch();
        report.executed -= report.skipped.len();
        report
    }

    /// Executes the commands in order, stops at the first [segment](CommandBuffer#segments) with a command that cannot be
    /// executed, and empties the buffer.
    ///
    /// ```
    /// use phalanx::{StructuralError, CommandBuffer, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let [alice, bob] = [world.spawn(Purse(3)), world.spawn_empty()];
    /// let mut commands = CommandBuffer::new();
    /// commands.remove::<Purse>(alice);
    /// commands.insert(bob, Purse(3));
    /// world.despawn(bob)?;
    /// let error = commands.try_apply(&mut world).unwrap_err();
    /// assert_eq!((error.position, error.entity), (1, Some(bob)));
    /// assert!(matches!(error.error, StructuralError::NoSuchEntity(_)));
    /// assert_eq!(world.get::<Purse>(alice)?.0, 3); // nothing happened
    /// assert!(commands.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first command that cannot be executed, with the reason:
    ///
    /// - [`StructuralError::NoSuchEntity`] if its entity is not alive by then, also for a [`despawn`](CommandBuffer::despawn).
    /// - [`StructuralError::AnotherWorld`] or [`StructuralError::RolledBack`] if its entity was reserved in another world, or in a time
    ///   that the world went back over.
    /// - [`StructuralError::Row`] if the entity has no row under the key it names, or already has the row it adds.
    /// - [`StructuralError::Duplicate`] if its bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// The changes of the segments before it stay. Its own segment has changed nothing, and calls no listener. All other
    /// commands are dropped. Entities that [`spawn_with`](CommandBuffer::spawn_with) has reserved for them stay as after
    /// [`clear`](CommandBuffer::clear): alive without components, from the next change of the world on. Entities that
    /// [`reserve_entities`](CommandBuffer::reserve_entities) has reserved stay reserved for this buffer.
    ///
    /// # Panics
    ///
    /// Panics like [`apply`](CommandBuffer::apply).
    pub fn try_apply(&mut self, world: &mut World) -> Result<(), CommandError> {
        let outcome = apply_scope::run(world, |world| self.try_apply_all(world));
        match outcome {
            Ok(()) => world.dispatch(),
            // The spawns of entities that the failed segment flushed are dispatched by the next operation.
            Err(_) => world.apply_deferred(),
        }
        outcome
    }

    fn try_apply_all(&mut self, world: &mut World) -> Result<(), CommandError> {
        let mut run = Application::new(self, world);
        while run.commands.done < run.commands.entries.len() {
            let end = run.commands.segment_end();
            if let Err(error) = run.commands.apply_segment(run.world, end, None) {
                run.is_failed = true;
                return Err(error);
            }
            run.commands.call_closure(run.world);
        }
        Ok(())
    }

    /// Executes the next segment of commands that listeners have recorded, and skips those that cannot be executed, also
    /// for lack of memory.
    ///
    /// If the memory for the whole segment cannot be allocated, its commands are executed one by one.
    pub(crate) fn apply_deferred(&mut self, world: &mut World, report: Report<'_>) {
        let end = self.segment_end();
        if self.apply_segment(world, end, Some(report)).is_err() {
            while self.done < end {
                let next = self.done + 1;
                if let Err(error) = self.apply_segment(world, next, Some(report)) {
                    self.skip(world);
                    report(error);
                }
            }
        }
    }

    /// Begins an application.
    pub(crate) fn start(&mut self) {
        self.resolver.start();
    }

    /// Returns the end of the next segment.
    fn segment_end(&self) -> usize {
        let rest = &self.entries[self.done..];
        self.done + rest.iter().position(|entry| entry.vtable.kind == CommandKind::Closure).unwrap_or(rest.len())
    }

    /// Takes the next command, if it is a closure.
    pub(crate) fn next_closure(&mut self) -> Option<Closure> {
        let entry = self.entries.get(self.done).filter(|entry| entry.vtable.kind == CommandKind::Closure)?;
        self.done += 1;
        // SAFETY: the arena placed the payload at this offset. From here on the entry does not own it.
        let payload = unsafe { self.arena.at(entry.offset, entry.vtable.layout) };
        Some(Closure { call: entry.vtable.call, payload })
    }

    /// Calls the next command, if it is a closure.
    fn call_closure(&mut self, world: &mut World) {
        if let Some(closure) = self.next_closure() {
            // SAFETY: the closure was taken just now, and the buffer is borrowed.
            unsafe { closure.call(world) };
        }
    }

    /// Drops the next command.
    fn skip(&mut self, world: &mut World) {
        let (position, entry) = (self.done, self.entries[self.done]);
        self.done += 1;
        // If allocation fails, the reserved entity stays, without components.
        if let Some(entity) = self.reserved_entity(position, world)
            && world.storage.flush().is_ok()
            && world.storage.reserve_entries(1).is_ok()
        {
            world.storage.remove_empty(entity);
        }
        // SAFETY: the entry owned its payload at this offset, which is dropped here.
        unsafe { (entry.vtable.drop)(self.arena.at(entry.offset, entry.vtable.layout)) };
    }

    /// Returns the entity of a spawn that was reserved in this world, at a time that its present state includes.
    fn reserved_entity(&self, position: usize, world: &World) -> Option<Entity> {
        let entity = self.entries[position].entity.filter(|_| self.entries[position].is_reserved_spawn())?;
        let is_reserved = self.world_id == Some(world.identity())
            && world.storage.sparse.clock.includes(moment_of(&self.moments, position));
        is_reserved.then_some(entity)
    }

    /// Drops the remaining commands, and despawns the entities that were reserved in this world and not used.
    pub(crate) fn finish(&mut self, world: &mut World) {
        let events = self.entries.len() + self.reserved.len();
        // If allocation fails, the entities stay reserved, and are alive later, without components.
        if self.world_id == Some(world.identity())
            && world.storage.flush().is_ok()
            && world.storage.reserve_entries(events).is_ok()
        {
            for position in self.done..self.entries.len() {
                if let Some(entity) = self.reserved_entity(position, world) {
                    world.storage.remove_empty(entity);
                }
            }
            for &(entity, moment) in self.reserved.iter().rev() {
                if world.storage.sparse.clock.includes(moment) {
                    world.storage.remove_empty(entity);
                }
            }
        }
        world.storage.sparse.release_pages();
        self.clear();
    }

    /// Executes the commands up to `end`, none of which is a closure.
    ///
    /// Without a report, all of them are executed or none. With a report, commands that cannot be resolved are skipped, and an
    /// error is a failed allocation. On error, nothing has changed.
    fn apply_segment(&mut self, world: &mut World, end: usize, report: Option<Report<'_>>) -> Result<(), CommandError> {
        let first = self.done;
        if first == end {
            return Ok(());
        }
        let CommandBuffer { entries, arena, resolver, done, world_id, moments, .. } = self;
        let entries = &*entries;
        let at = |position: usize| move |error: AllocError| entries[position].error(position, error.into());
        resolver.begin(end - first, report.is_some(), world.bundles.required_sparse_count()).map_err(at(first))?;
        resolver.find_lost(world, entries, moments, *world_id).map_err(at(first))?;
        world.storage.flush().map_err(at(first))?;
        let mut position = first;
        while let Some(entry) = entries[..end].get(position) {
            // SAFETY: the entry and the arena are of one buffer, and the entry owns its payload.
            let resolved = unsafe {
                let payload = arena.at(entry.offset, entry.vtable.layout);
                resolver.resolve(world, entry, payload, position)
            };
            let step = match resolved {
                Ok(step) => step,
                Err(error) if report.is_none() || matches!(error, StructuralError::Alloc(_)) => {
                    return Err(entry.error(position, error));
                }
                Err(error) => resolver.skip(world, entry, position, error).map_err(at(position))?,
            };
            resolver.steps.push(step);
            position += 1;
            let required_sparse = world.bundles.required_sparse_count();
            if resolver.required_sparse != required_sparse {
                // The first bundle that requires a sparse component: the commands before it may insert or remove the component.
                resolver.begin(end - first, report.is_some(), required_sparse).map_err(at(first))?;
                position = first;
            }
        }
        let reserved = resolver.reserve(world, first).map_err(|(position, error)| at(position)(error))?;
        // User code, before anything changes.
        let mut made = resolver.made.as_deref_mut().map_or_else(Made::none, MadeRequired::make);
        world.storage.begin_linked_entries();
        let mut related = resolver.related.as_deref_mut();
        let mut ending = DropStash::new(&mut resolver.stash);
        for (entry, step) in entries[first..end].iter().zip(&resolver.steps) {
            // Splitting a bundle may be user code. If it panics, displaced values and the remaining commands are dropped.
            *done += 1;
            // SAFETY: the entry owned its payload at this offset, and does not from here on. The segment is resolved and
            // reserved, and its steps are committed in order.
            unsafe {
                let payload = arena.at(entry.offset, entry.vtable.layout);
                step.commit(world, entry, payload, related.as_deref_mut(), (reserved, &mut made, ending.stash()));
            }
        }
        drop(made);
        world.storage.link_entries();
        dispatch_catch!(world).resume();
        if let Some(report) = report {
            for &(position, error) in &resolver.skipped {
                report(entries[position].error(position, error));
            }
        }
        ending.run();
        Ok(())
    }
}

/// A closure that was taken from a buffer.
pub(crate) struct Closure {
    call: unsafe fn(*mut u8, &mut World),
    payload: *mut u8,
}

impl Closure {
    /// Moves the closure out of the buffer and calls it.
    ///
    /// # Safety
    ///
    /// The buffer was neither cleared nor appended to since the closure was taken. It may have moved.
    pub(crate) unsafe fn call(self, world: &mut World) {
        // SAFETY: the payload is where it was recorded, by the caller's contract, and moves out once.
        unsafe { (self.call)(self.payload, world) };
    }
}

/// An application of a buffer. Drops the remaining commands, also if a command panics.
struct Application<'a> {
    commands: &'a mut CommandBuffer,
    world: &'a mut World,
    /// Whether a command could not be executed. Entities stay reserved then.
    is_failed: bool,
}

impl<'a> Application<'a> {
    fn new(commands: &'a mut CommandBuffer, world: &'a mut World) -> Application<'a> {
        commands.start();
        Application { commands, world, is_failed: false }
    }
}

impl Drop for Application<'_> {
    fn drop(&mut self) {
        if self.is_failed {
            self.world.storage.sparse.release_pages();
            self.commands.clear_commands();
        } else {
            self.commands.finish(self.world);
        }
    }
}
