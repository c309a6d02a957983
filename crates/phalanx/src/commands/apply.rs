//! Carrying commands out, segment by segment.
//!
//! A segment goes through the phases of every change. *Resolve* walks the commands and follows each entity that they touch
//! through the tables, without moving it: the overlay says where it would be. What each command will do is noted as a step,
//! and how many rows, slots and bytes all of them need is counted. *Reserve* gets exactly that. *Commit* carries the steps
//! out: it copies and stores, runs no user code, and cannot fail. Displaced values go to a stash, and *drop* ends them.
//!
//! # What must stay true
//!
//! - Between resolving and committing a segment nobody else changes the world, so that the entity of a step is in the
//!   table that the overlay said, and the edge of a step is one of that table.
//! - The stash has room for every value that the steps displace before the first is carried out; it does not move while it
//!   holds values. Values beside tables go there right after the step that displaces them: the next may write where they
//!   lie.
//! - The slots of new entities and rows are known while resolving, so that places beside tables are made ready for them;
//!   pages of pools stay until all commands have been applied.
//! - The payloads of skipped commands end with the stash, where they lie in the arena.
#![allow(unsafe_code)]

use super::report::{ApplyReport, CommandError, CommandKind};
use super::resolve::Step;
use super::{CommandBuffer, Entry};
use crate::bundle::BundlePtr;
use crate::change_detection::Moment;
use crate::error::ChangeError;
use crate::mutation::stash::{Ending, Stash};
use crate::rows::Key;
use crate::signal::nesting;
use crate::world::{Location, World};
use phalanx_store::{AllocError, Entity};

/// Receives the commands that are skipped.
pub(crate) type Report<'a> = &'a mut dyn FnMut(CommandError);

impl CommandBuffer {
    /// Executes the commands in order, skips those that cannot be executed, and empties the buffer.
    ///
    /// The report names each skipped command and the reason. A command is skipped if the entity it names is not alive by
    /// then; if the entity has no row under the key it names, or already has the row it adds; or if its bundle contains a
    /// component twice. Despawning an entity that is not alive does nothing, and is not reported. A skipped command drops its payload. If it
    /// is a [`spawn`](CommandBuffer::spawn), its entity is despawned, unless other commands gave it components or rows.
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
    /// The memory for a [segment](CommandBuffer#segments) is allocated before the segment changes anything. If that fails, `apply` aborts
    /// like other operations that allocate; [`try_apply`](CommandBuffer::try_apply) returns an error instead.
    ///
    /// # Panics
    ///
    /// Panics if a closure, a listener or the destructor of a displaced value panics. The segments before it stand, and so does the segment
    /// that called it; the commands after it are dropped, and the entities that they would have spawned are despawned.
    /// If the type of a soa component panics while a value is split into its fields, the commands before that one stand.
    pub fn apply(&mut self, world: &mut World) -> ApplyReport {
        let mut report = ApplyReport { executed: self.len(), skipped: Vec::new() };
        nesting::run(world, |world| {
            let run = Run::new(self, world);
            while run.commands.done < run.commands.entries.len() {
                let end = run.commands.segment_end();
                let skip: Report<'_> = &mut |error| report.skipped.push(error);
                if let Err(error) = run.commands.segment(run.world, end, Some(skip)) {
                    crate::error::panic_change(error.error);
                }
                run.commands.call(run.world);
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
    /// use phalanx::{ChangeError, CommandBuffer, Component, World};
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
    /// assert!(matches!(error.error, ChangeError::NoSuchEntity(_)));
    /// assert_eq!(world.get::<Purse>(alice)?.0, 3); // nothing happened
    /// assert!(commands.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first command that cannot be executed, with the reason: [`ChangeError::NoSuchEntity`] if its entity is not alive by
    /// then, also for a [`despawn`](CommandBuffer::despawn); [`ChangeError::Row`] if the entity has no row under the key it
    /// names, or already has the row it adds; [`ChangeError::Duplicate`] if its bundle contains a component twice; or
    /// [`ChangeError::Alloc`] if allocation fails.
    ///
    /// The segments before it stand. Nothing of its own segment happened, and listeners are not called for it. All other
    /// commands are dropped. Entities that [`spawn`](CommandBuffer::spawn) has reserved for them stay as after
    /// [`clear`](CommandBuffer::clear): alive without components, from the next change of the world on. Entities that
    /// [`reserve_entities`](CommandBuffer::reserve_entities) has put aside stay put aside.
    ///
    /// # Panics
    ///
    /// Panics like [`apply`](CommandBuffer::apply).
    pub fn try_apply(&mut self, world: &mut World) -> Result<(), CommandError> {
        let outcome = nesting::run(world, |world| self.try_apply_all(world));
        match outcome {
            Ok(()) => world.dispatch(),
            // What the failed segment flushed is announced by the next operation.
            Err(_) => world.settle(),
        }
        outcome
    }

    fn try_apply_all(&mut self, world: &mut World) -> Result<(), CommandError> {
        let mut run = Run::new(self, world);
        while run.commands.done < run.commands.entries.len() {
            let end = run.commands.segment_end();
            if let Err(error) = run.commands.segment(run.world, end, None) {
                run.is_failed = true;
                return Err(error);
            }
            run.commands.call(run.world);
        }
        Ok(())
    }

    /// Executes the next segment of commands that listeners have recorded, and skips those that cannot be executed, also
    /// for lack of memory.
    ///
    /// If the memory for the whole segment cannot be allocated, its commands are executed one by one.
    pub(crate) fn apply_recorded(&mut self, world: &mut World, report: Report<'_>) {
        let end = self.segment_end();
        if self.segment(world, end, Some(report)).is_err() {
            while self.done < end {
                let next = self.done + 1;
                if let Err(error) = self.segment(world, next, Some(report)) {
                    self.skip(world);
                    report(error);
                }
            }
        }
    }

    /// Begins an application.
    pub(crate) fn start(&mut self) {
        self.scratch.start();
    }

    /// Returns the end of the next segment.
    fn segment_end(&self) -> usize {
        let rest = &self.entries[self.done..];
        self.done + rest.iter().position(|entry| entry.verb.kind == CommandKind::Closure).unwrap_or(rest.len())
    }

    /// Takes the closure that is next, if one is.
    pub(crate) fn next_closure(&mut self) -> Option<Closure> {
        let entry = self.entries.get(self.done).filter(|entry| entry.verb.kind == CommandKind::Closure)?;
        self.done += 1;
        // SAFETY: the payload is where it was placed. From here on the entry does not own it.
        let payload = unsafe { self.arena.at(entry.offset, entry.verb.layout) };
        Some(Closure { call: entry.verb.call, payload })
    }

    /// Calls the closure that is next, if one is.
    fn call(&mut self, world: &mut World) {
        if let Some(closure) = self.next_closure() {
            // SAFETY: it was taken just now, and the buffer stays as it is.
            unsafe { closure.call(world) };
        }
    }

    /// Drops the next command.
    fn skip(&mut self, world: &mut World) {
        let (position, entry) = (self.done, self.entries[self.done]);
        self.done += 1;
        // Without memory to note it, or to make entities that are reserved, the entity stays, without components.
        if self.is_reserved(position, world)
            && world.storage.flush().is_ok()
            && world.storage.reserve_entries(1).is_ok()
        {
            world.end_promise(&entry);
        }
        // SAFETY: the entry owned its payload, which ends here.
        unsafe { (entry.verb.drop)(self.arena.at(entry.offset, entry.verb.layout)) };
    }

    /// Returns `true` if the entity that a spawn names was reserved in this world, in what is part of its present state.
    fn is_reserved(&self, position: usize, world: &World) -> bool {
        self.home == Some(world.identity()) && world.storage.sparse.clock.includes(moment_of(&self.moments, position))
    }

    /// Drops the commands that are left, and despawns what was reserved for them in this world, or put aside.
    pub(crate) fn finish(&mut self, world: &mut World) {
        let notes = self.entries.len() + self.reserved.len();
        // Without memory to flush them, entities stay reserved, and are alive later, without components.
        if self.home == Some(world.identity())
            && world.storage.flush().is_ok()
            && world.storage.reserve_entries(notes).is_ok()
        {
            for position in self.done..self.entries.len() {
                if self.entries[position].is_promise() && self.is_reserved(position, world) {
                    world.end_promise(&self.entries[position]);
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
    /// Without a report, all of them are executed or none. With one, commands that cannot be resolved are skipped. On
    /// error, which with a report is a failed allocation, nothing changed.
    fn segment(&mut self, world: &mut World, end: usize, report: Option<Report<'_>>) -> Result<(), CommandError> {
        let first = self.done;
        if first == end {
            return Ok(());
        }
        let CommandBuffer { entries, arena, scratch, done, home, moments, .. } = self;
        let entries = &*entries;
        let at = |position: usize| move |error: AllocError| entries[position].error(position, error.into());
        scratch.begin(end - first, report.is_some()).map_err(at(first))?;
        scratch.find_lost(world, entries, moments, *home).map_err(at(first))?;
        world.storage.flush().map_err(at(first))?;
        for (position, entry) in (first..end).zip(&entries[first..end]) {
            let key = CommandBuffer::key(arena, entry);
            let step = match scratch.resolve(world, entry, key, position) {
                Ok(step) => step,
                Err(error) if report.is_none() || matches!(error, ChangeError::Alloc(_)) => {
                    return Err(entry.error(position, error));
                }
                Err(error) => Step::Skip(error, scratch.forsake(world, entry, position).map_err(at(position))?),
            };
            scratch.steps.push(step);
        }
        scratch.reserve(world, first).map_err(|(position, error)| at(position)(error))?;
        world.storage.begin_notes();
        let mut ending = Ending::of(&mut scratch.stash);
        for (entry, step) in entries[first..end].iter().zip(&scratch.steps) {
            // Taking a bundle apart may be user code: if it panics, what was displaced ends, and so does the rest.
            *done += 1;
            let key = CommandBuffer::key(arena, entry);
            // SAFETY: the entry owned its payload, and does not from here on. The segment is resolved and reserved, and its
            // steps are carried out in order.
            unsafe {
                let payload = arena.at(entry.offset, entry.verb.layout);
                world.carry_out(entry, key, *step, payload, ending.stash());
            }
        }
        world.storage.link_notes();
        world.tell();
        if let Some(report) = report {
            for ((position, entry), step) in (first..).zip(&entries[first..end]).zip(&scratch.steps) {
                if let Step::Skip(error, _) = *step {
                    report(entry.error(position, error));
                }
            }
        }
        ending.run();
        Ok(())
    }
}

impl Entry {
    /// Returns the error of this command.
    fn error(&self, position: usize, error: ChangeError) -> CommandError {
        CommandError { position, command: self.verb.kind, entity: self.entity, error }
    }

    /// Returns `true` if this is the spawn of an entity that was reserved.
    pub(super) fn is_promise(&self) -> bool {
        self.verb.kind == CommandKind::Spawn && self.entity.is_some()
    }
}

/// Returns when the entity of the spawn at a position was reserved.
pub(super) fn moment_of(moments: &[(usize, Moment)], position: usize) -> Moment {
    moments[moments.partition_point(|(at, _)| *at <= position) - 1].1
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
    /// The buffer, wherever it is, was neither cleared nor appended to since.
    pub(crate) unsafe fn call(self, world: &mut World) {
        // SAFETY: the payload is where it was recorded, and moves out once, before anything else happens.
        unsafe { (self.call)(self.payload, world) };
    }
}

/// Drops what is left of a buffer, however its application ends.
struct Run<'a> {
    commands: &'a mut CommandBuffer,
    world: &'a mut World,
    /// Whether a command could not be executed, so that entities stay reserved.
    is_failed: bool,
}

impl<'a> Run<'a> {
    fn new(commands: &'a mut CommandBuffer, world: &'a mut World) -> Run<'a> {
        commands.start();
        Run { commands, world, is_failed: false }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if self.is_failed {
            self.world.storage.sparse.release_pages();
            self.commands.clear_commands();
        } else {
            self.commands.finish(self.world);
        }
    }
}

impl World {
    /// Phase 3, for one command.
    ///
    /// # Safety
    ///
    /// The step was resolved for this entry, all steps before it were carried out, and what they need is reserved. The
    /// payload is initialised and counts as moved out.
    unsafe fn carry_out(&mut self, entry: &Entry, key: Option<Key>, step: Step, payload: *mut u8, stash: &mut Stash) {
        let entity = entry.entity;
        let known = || entity.expect("only a spawn has no entity");
        match step {
            Step::Nothing => {}
            Step::Skip(_, ends) => {
                if ends {
                    self.storage.remove_empty(known());
                }
                // SAFETY: the payload is the entry's, which gives it up, and was expected when the command was skipped.
                unsafe { stash.take_payload(entry.verb.drop, payload) };
            }
            Step::Make(bundle_id) => {
                let info = self.bundles.get(bundle_id);
                self.storage.sparse.find_insert_ptrs(self.storage.entities.next_index(), &info.sparse);
                let tail = self.storage.tables[info.table as usize].len;
                let place = self.storage.place(info.table, info.places.as_ptr(), tail);
                // SAFETY: the row, the slot and its sparse values are reserved; the place is that of the bundle in its table.
                // Splitting a bundle may be user code, so it is written before anything is committed.
                unsafe {
                    (entry.verb.write)(payload, place);
                    let entity = self.storage.entities.alloc();
                    self.storage.spawn_row::<true>(entity, info.table, &info.sparse);
                }
            }
            Step::Extend { bundle_id, bare, label } => {
                let edge = self.bundles.edge(bundle_id, bare, true);
                self.storage.sparse.find_insert_ptrs(self.storage.entities.next_index(), &edge.sparse_inserts);
                let tail = self.storage.tables[edge.target as usize].len;
                let place = self.storage.place(edge.target, edge.places.as_ptr(), tail);
                // SAFETY: the row, the slot, its name and its sparse values are reserved, and the place is that of the bundle in
                // the edge's target, a table of extra rows. The owner is alive and has no row with this label.
                unsafe {
                    (entry.verb.write)(payload, place);
                    self.storage.spawn_extra_row::<true>(known(), label, edge.target, &edge.sparse_inserts);
                }
            }
            Step::Delete => {
                let (slot, at) = self.whereabouts(known(), key);
                // SAFETY: the row is there, and the stash has room for its values.
                unsafe { self.storage.remove_row(slot, at, stash) };
            }
            Step::Insert(bundle_id) | Step::Remove(bundle_id) => {
                let insert = matches!(step, Step::Insert(_));
                let (slot, from) = self.whereabouts(known(), key);
                let write = |place: BundlePtr| {
                    // SAFETY: the payload is the bundle of the plan, and the place is one for it.
                    insert.then(|| unsafe { (entry.verb.write)(payload, place) });
                };
                // SAFETY: the slot is there, and what the edge needs is reserved, in the stash too.
                unsafe { self.move_reserved(slot, from, (bundle_id, insert), write, stash) };
            }
            // SAFETY: the entity is alive, and the stash has room for the values of all its rows.
            Step::Despawn => unsafe { self.storage.remove_entity(known(), stash) },
        }
    }

    /// Moves a slot along the edge of a plan. Everything it needs was reserved for several moves at once.
    ///
    /// # Safety
    ///
    /// The slot is alive and at `from`, and the edge was made. What it needs is reserved, and the stash has room for what it
    /// displaces. `write` moves the values of the plan's bundle in, if the edge inserts it.
    pub(crate) unsafe fn move_reserved(
        &mut self,
        slot: Entity,
        from: Location,
        (bundle_id, insert): (usize, bool),
        write: impl FnOnce(BundlePtr),
        stash: &mut Stash,
    ) {
        let edge = self.bundles.edge(bundle_id, from.table, insert);
        self.storage.sparse.find_insert_ptrs(slot.index(), &edge.sparse_inserts);
        let tail = self.storage.tables[edge.target as usize].len;
        write(self.storage.place(edge.target, edge.places.as_ptr(), tail));
        // SAFETY: the slot is there, everything is reserved, and the values are written.
        unsafe { self.storage.move_row(slot, from, edge, stash) };
    }

    /// The slot of an entity's row, the main one if no key names another, and where it is. It was found while resolving.
    fn whereabouts(&self, entity: Entity, key: Option<Key>) -> (Entity, Location) {
        let slot = key.map_or(entity, |key| self.row(key).expect("found while resolving").0);
        (slot, self.storage.try_location(slot).expect("found alive while resolving"))
    }

    /// Ends the entity that a spawn has promised and will not make.
    fn end_promise(&mut self, entry: &Entry) {
        if let Some(entity) = entry.entity.filter(|_| entry.is_promise()) {
            self.storage.remove_empty(entity);
        }
    }

    /// Whether an entity has components that are not kept in tables.
    pub(super) fn has_sparse(&self, entity: Entity) -> bool {
        self.storage.sparse.storages_of(entity.index()).next().is_some()
    }
}
