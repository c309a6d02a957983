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

use super::buffer::Kind;
use super::resolve::Step;
use super::stash::{Ending, Stash};
use super::{CommandBuffer, CommandError, Entry};
use crate::bundle::Place;
use crate::error::ChangeError;
use crate::rows::Key;
use crate::signal::RowName;
use crate::world::{Location, World};
use phalanx_store::{AllocError, Entity};

impl CommandBuffer {
    /// Carries out all commands, in order, and empties the buffer.
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
    /// let error = commands.apply(&mut world).unwrap_err();
    /// assert_eq!(error.position, 1);
    /// assert!(matches!(error.error, ChangeError::NoSuchEntity(e) if e.entity == bob));
    /// assert_eq!(world.get::<Purse>(alice)?.0, 3); // nothing happened, and nothing is recorded any more
    /// assert!(commands.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first command that could not be carried out: its entity is not alive by then (or was reserved by
    /// [`spawn`](CommandBuffer::spawn) in another world), has no row under its key by then, or has one that was to be made
    /// ([`ChangeError::Row`]); its bundle names a component twice; or memory cannot be had. Nothing of its segment happened, segments before it stand, and no command after it
    /// is carried out; all payloads end.
    ///
    /// # Panics
    ///
    /// If a closure or the destructor of a displaced value does. The segments before a closure that panics stand, and a
    /// segment whose displaced value panics stands, too. The commands after it are dropped. If a soa component's type panics
    /// while a value of it is taken apart, the commands before that one stand, and the others are dropped.
    pub fn apply(&mut self, world: &mut World) -> Result<(), CommandError> {
        let outcome = self.apply_all(world);
        if world.signals.is_active() {
            world.announce();
        }
        outcome
    }

    fn apply_all(&mut self, world: &mut World) -> Result<(), CommandError> {
        let run = Run::new(self, world);
        while run.commands.done < run.commands.entries.len() {
            let end = run.commands.segment_end();
            run.commands.segment(run.world, end, None)?;
            run.commands.call(run.world);
        }
        Ok(())
    }

    /// Carries out all commands that can be, in order, and empties the buffer. Those that cannot be are skipped and
    /// reported, segment by segment, each segment after it has been carried out.
    ///
    /// If there is not enough memory for a segment as a whole, its commands are carried out one by one.
    ///
    /// ```
    /// use phalanx::{CommandBuffer, World};
    ///
    /// let mut world = World::new();
    /// let [a, b] = [world.spawn_empty(), world.spawn_empty()];
    /// let mut commands = CommandBuffer::new();
    /// for e in [a, b, a] {
    ///     commands.despawn(e);
    /// }
    /// let mut refused = Vec::new();
    /// commands.apply_lossy(&mut world, |error| refused.push(error.position));
    /// assert_eq!((world.len(), refused), (0, vec![2]));
    /// ```
    ///
    /// # Panics
    ///
    /// As [`apply`](CommandBuffer::apply), and if `report` does.
    pub fn apply_lossy(&mut self, world: &mut World, mut report: impl FnMut(CommandError)) {
        let run = Run::new(self, world);
        while run.commands.done < run.commands.entries.len() {
            let end = run.commands.segment_end();
            if run.commands.segment(run.world, end, Some(&mut report)).is_err() {
                while run.commands.done < end {
                    let next = run.commands.done + 1;
                    if let Err(error) = run.commands.segment(run.world, next, Some(&mut report)) {
                        run.commands.skip(run.world);
                        report(error);
                    }
                }
            }
            run.commands.call(run.world);
        }
        drop(run);
        if world.signals.is_active() {
            world.announce();
        }
    }

    /// The end of the segment that is next.
    fn segment_end(&self) -> usize {
        let rest = &self.entries[self.done..];
        self.done + rest.iter().position(|entry| entry.verb.kind == Kind::Call).unwrap_or(rest.len())
    }

    /// Calls the closure that is next, if one is.
    fn call(&mut self, world: &mut World) {
        if let Some(&entry) = self.entries.get(self.done).filter(|entry| entry.verb.kind == Kind::Call) {
            self.done += 1;
            // SAFETY: the entry owned its closure, which moves out.
            unsafe { (entry.verb.call)(self.arena.at(entry.offset, entry.verb.layout), world) };
        }
    }

    /// Drops the command that is next.
    fn skip(&mut self, world: &mut World) {
        let entry = self.entries[self.done];
        self.done += 1;
        // Without memory to note it, or to make entities that are reserved, the entity stays, without components.
        if self.home == Some(world.id())
            && world.flush().is_ok()
            && (!world.signals.is_active() || world.reserve_notes(1).is_ok())
        {
            world.end_promise(&entry);
        }
        // SAFETY: the entry owned its payload, which ends here.
        unsafe { (entry.verb.drop)(self.arena.at(entry.offset, entry.verb.layout)) };
    }

    /// Carries out the commands up to `end`, none of which is a closure; or none of them. With a report, commands that
    /// cannot be resolved are skipped.
    fn segment(
        &mut self,
        world: &mut World,
        end: usize,
        report: Option<&mut dyn FnMut(CommandError)>,
    ) -> Result<(), CommandError> {
        let first = self.done;
        if first == end {
            return Ok(());
        }
        let CommandBuffer { entries, arena, scratch, done, home, .. } = self;
        let at_home = home.is_none_or(|home| home == world.id());
        let at = |position| move |error: AllocError| CommandError { position, error: error.into() };
        scratch.begin(end - first, at_home).map_err(at(first))?;
        world.flush().map_err(at(first))?;
        for (position, entry) in (first..end).zip(&entries[first..end]) {
            let key = CommandBuffer::key(arena, entry);
            let step = match scratch.resolve(world, entry, key, position) {
                Ok(step) => step,
                Err(error) if report.is_none() || matches!(error, ChangeError::Alloc(_)) => {
                    return Err(CommandError { position, error });
                }
                Err(error) => Step::Skip(error, scratch.forsake(world, entry, position).map_err(at(position))?),
            };
            scratch.steps.push(step);
        }
        scratch.reserve(world, first)?;
        world.begin_notes();
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
        if world.signals.is_active() {
            world.link_notes();
            world.tell();
        }
        if let Some(report) = report {
            for (at, step) in scratch.steps.iter().enumerate() {
                if let Step::Skip(error, _) = *step {
                    report(CommandError { position: first + at, error });
                }
            }
        }
        ending.run();
        Ok(())
    }
}

/// Ends what is left of a buffer, however its application ends.
struct Run<'a> {
    commands: &'a mut CommandBuffer,
    world: &'a mut World,
}

impl<'a> Run<'a> {
    fn new(commands: &'a mut CommandBuffer, world: &'a mut World) -> Run<'a> {
        commands.scratch.start();
        world.signals.enter();
        Run { commands, world }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.world.signals.leave();
        let CommandBuffer { entries, done, reserved, home, .. } = &mut *self.commands;
        // Without memory to flush them, entities stay reserved, and are alive later, without components.
        let notes = entries.len() + reserved.len();
        let is_noted = |world: &mut World| !world.signals.is_active() || world.reserve_notes(notes).is_ok();
        if *home == Some(self.world.id()) && self.world.flush().is_ok() && is_noted(self.world) {
            entries[*done..].iter().for_each(|entry| self.world.end_promise(entry));
            reserved.iter().rev().for_each(|entity| self.world.end_empty(*entity));
        }
        self.world.sides.release_pages();
        self.commands.clear();
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
                // SAFETY: the payload is the entry's, which gives it up, and was expected when the command was skipped. An
                // entity that ends was found alive and without anything.
                unsafe {
                    if ends {
                        let (entity, at) = self.whereabouts(known(), None);
                        self.end_row(entity, at);
                        self.note_carried_end(RowName::main(entity), stash);
                    }
                    stash.take_payload(entry.verb.drop, payload);
                }
            }
            Step::Make(plan) => {
                let (plan, clock) = (self.plans.get(plan), &raw const self.sides.clock);
                let table = &mut self.tables[plan.table as usize];
                // SAFETY: the row, the slot, its location and its values beside tables are reserved; the places are those of
                // the bundle in this table. Taking a bundle apart may be user code, so it is written before anything is
                // committed.
                unsafe {
                    self.sides.find_places(self.entities.next_index(), &plan.sides);
                    let (lanes, row, places) = (table.lanes(), table.len as usize, plan.places.as_ptr());
                    (entry.verb.write)(payload, Place { lanes, row, places, sides: self.sides.places(), clock });
                    let entity = self.entities.alloc();
                    let row = table.push(entity);
                    self.entities.places().at(entity.index()).write(Location { table: plan.table, row });
                    self.sides.commit(entity, &plan.sides, &[]);
                    self.restructured();
                    if self.signals.is_active() {
                        self.note_arrival(entity);
                    }
                }
            }
            Step::Extend(edge, label) => {
                // SAFETY: the row, the slot, its location, its name and its values beside tables are reserved, and the places
                // are those of the bundle in the edge's target, a table of extra rows. The owner is alive and has no row with
                // this label.
                unsafe {
                    let (target, places, sides) = ((*edge).target, (*edge).places.as_ptr(), &*(*edge).puts);
                    self.sides.find_places(self.entities.next_index(), sides);
                    (entry.verb.write)(payload, self.place(target, places, self.tables[target as usize].len));
                    let row = self.commit_row(known(), label, target, sides);
                    if self.signals.is_active() {
                        self.note_arrival(row.0);
                    }
                }
            }
            Step::Delete => {
                let (slot, _) = self.whereabouts(known(), key);
                let name = self.row_name(slot);
                // SAFETY: it is an extra row, and there; what needs an end is at the tail, and goes to the stash.
                unsafe {
                    let tail = self.retire_row(slot);
                    let table = &self.tables[tail.table as usize];
                    stash.take(self, table, tail.row, &table.columns);
                    stash.take_retired(&mut self.sides, &self.signals);
                    self.note_carried_end(name, stash);
                }
            }
            Step::Insert(edge) => {
                let (slot, from) = self.whereabouts(known(), key);
                // SAFETY: the edge is one of the slot's table, what it needs is reserved, and the payload is its bundle.
                unsafe { self.bring(slot, from, edge, |place| (entry.verb.write)(payload, place), stash) };
            }
            Step::Remove(edge) => {
                let (slot, from) = self.whereabouts(known(), key);
                // SAFETY: as above.
                unsafe { self.take_away(slot, from, edge, stash) };
            }
            Step::Despawn => {
                let (entity, from) = self.whereabouts(known(), None);
                // SAFETY: the entity is there, and so are its extra rows; what needs an end is at the tail each time, and
                // goes to the stash, where there is room for it.
                unsafe {
                    while let Some((name, tail)) = self.retire_first_row(entity.index()) {
                        let table = &self.tables[tail.table as usize];
                        stash.take(self, table, tail.row, &table.columns);
                        stash.take_retired(&mut self.sides, &self.signals);
                        self.note_carried_end(name, stash);
                    }
                    self.end_row(entity, from);
                    let table = &self.tables[from.table as usize];
                    stash.take(self, table, table.len, &table.columns);
                    stash.take_retired(&mut self.sides, &self.signals);
                    self.note_carried_end(RowName::main(entity), stash);
                }
            }
        }
    }

    /// The slot of an entity's row, the main one if no key names another, and where it is. It was found while resolving.
    fn whereabouts(&self, entity: Entity, key: Option<Key>) -> (Entity, Location) {
        let slot = key.map_or(entity, |key| self.row(key).expect("found while resolving").0);
        (slot, self.locate(slot).expect("found alive while resolving"))
    }

    /// Ends an entity. What needs an end in its row comes to lie at the table's tail, nobody's, and what it has beside tables
    /// is retired.
    ///
    /// # Safety
    ///
    /// It is alive, and there.
    unsafe fn end_row(&mut self, entity: Entity, at: Location) {
        debug_assert_eq!(self.entities.reserved_count(), 0, "what is reserved has no row yet");
        self.entities.release(entity);
        if !self.sides.is_empty() {
            self.sides.take_all(entity);
        }
        // SAFETY: the row is in use, and the flags are those of its lanes.
        unsafe { self.close_row(at) };
        self.restructured();
    }

    /// Ends the entity that a spawn has promised and will not make.
    fn end_promise(&mut self, entry: &Entry) {
        if let (Kind::Spawn, Some(entity)) = (entry.verb.kind, entry.entity) {
            self.end_empty(entity);
        }
    }

    /// Whether an entity has components that are not kept in tables.
    pub(super) fn has_sides(&self, entity: Entity) -> bool {
        self.sides.sides_of(entity.index()).next().is_some()
    }

    /// Ends an entity that has no components; otherwise nothing happens.
    fn end_empty(&mut self, entity: Entity) {
        if let Ok(at @ Location { table: 0, .. }) = self.locate(entity)
            && !self.rows.owns(entity.index())
            && !self.has_sides(entity)
        {
            // SAFETY: it is there, a row of table 0 has no values, and the entity has none elsewhere.
            unsafe { self.end_row(entity, at) };
            if self.signals.is_active() {
                self.note_end_step(RowName::main(entity), &[]);
            }
        }
    }
}
