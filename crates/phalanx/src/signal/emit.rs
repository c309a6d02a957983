//! Telling what was noted, and executing what listeners recorded: phase 4, and what comes after phase 5.
#![allow(unsafe_code)]

use super::{Event, KEPT_ERRORS, Lists, Note, Spot, Told, nesting};
use crate::commands::{CommandBuffer, CommandError};
use crate::world::World;
use core::any::Any;
use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How telling went: a panic of a listener goes on when what the operation displaced has ended.
#[must_use = "the operation is completed with it"]
pub(crate) struct Notified(Option<Box<dyn Any + Send>>);

impl Notified {
    /// Nobody was told anything.
    pub(crate) const NOBODY: Notified = Notified(None);
}

/// Listeners at work. Whatever becomes of them, the world has its lists again.
struct Telling<'a> {
    world: &'a mut World,
    lists: Lists,
    journal: Vec<Note>,
    fresh: CommandBuffer,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.world.storage.signals.telling = false;
        let Some(state) = &mut self.world.storage.signals.state else { return };
        self.journal.clear();
        state.lists = core::mem::take(&mut self.lists);
        state.journal = core::mem::take(&mut self.journal);
        // Of commands that are still there, a listener has panicked: they are dropped.
        let mut fresh = core::mem::take(&mut self.fresh);
        if !fresh.is_blank() {
            fresh.clear();
        }
        state.fresh = fresh;
    }
}

impl Lists {
    /// Calls the listeners of some notes, which are of one row and of one phase, in the order of their connection.
    fn call(&mut self, world: &World, journal: &[Note], notes: Range<usize>, commands: &mut CommandBuffer) {
        let mut called = None;
        loop {
            let next = notes.clone().filter_map(|at| {
                let list = self.of(journal[at].event, journal[at].id)?;
                // Listeners of one list are in the order of their connection, and so are their numbers.
                let first = called.map_or(0, |last| list.partition_point(|listener| listener.id <= last));
                Some((list.get(first)?.id, at, first))
            });
            let Some((id, at, first)) = next.min_by_key(|(id, ..)| *id) else { return };
            let note = &journal[at];
            let new = match (note.event, note.new) {
                (Event::Added | Event::Set, Spot::None) => world.storage.spot(note.slot, note.id).unwrap_or(Spot::None),
                (_, new) => new,
            };
            let row = &journal[at - note.before as usize..at];
            if let Some(list) = self.of(note.event, note.id) {
                (list[first].call)(Told { note, new, row }, world, commands);
            }
            called = Some(id);
        }
    }
}

impl World {
    /// Tells listeners what was noted. If one panics, the rest is not told.
    #[cold]
    #[inline(never)]
    pub(crate) fn notify(&mut self) -> Notified {
        // What a listener leaves behind when it panics is its own; the world is whole, and its lists come back.
        Notified(catch_unwind(AssertUnwindSafe(|| self.tell())).err())
    }

    /// Ends an operation, when all that it displaced has ended: a listener's panic goes on, or what listeners have recorded
    /// is carried out.
    #[cold]
    #[inline(never)]
    pub(crate) fn complete(&mut self, notified: Notified) {
        match notified.0 {
            Some(panic) => resume_unwind(panic),
            None => self.settle(),
        }
    }

    /// Like [`complete`](World::complete), but returns the panic of a listener or of a command that a listener has recorded.
    #[cold]
    #[inline(never)]
    pub(crate) fn try_complete(&mut self, notified: Notified) -> Result<(), Box<dyn Any + Send>> {
        match notified.0 {
            Some(panic) => Err(panic),
            // A panic leaves the world whole, as it does where it goes on.
            None => catch_unwind(AssertUnwindSafe(|| self.settle())),
        }
    }

    /// An operation without anything displaced is told and complete.
    #[cold]
    #[inline(never)]
    pub(crate) fn announce(&mut self) {
        self.tell();
        self.settle();
    }

    /// A slot has come, which was the whole operation. There is room for its notes.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, slot: phalanx_store::Entity) {
        if self.storage.signals.is_active() {
            self.storage.note_arrival(slot);
            self.announce();
        }
    }

    /// As [`notify`](World::notify); panics go on at once.
    pub(crate) fn tell(&mut self) {
        if self.storage.signals.held > 0 {
            return;
        }
        let Some(state) = &mut self.storage.signals.state else { return };
        state.close();
        if state.journal.is_empty() {
            return;
        }
        let (lists, journal) = (core::mem::take(&mut state.lists), core::mem::take(&mut state.journal));
        let fresh = core::mem::take(&mut state.fresh);
        self.storage.signals.telling = true;
        let mut telling = Telling { world: self, lists, journal, fresh };
        let Telling { world, lists, journal, fresh } = &mut telling;
        let mut at = 0;
        while at < journal.len() {
            let phase = journal[at].phase();
            let together = journal[at + 1..].iter().take_while(|note| !note.starts && note.phase() == phase).count();
            lists.call(world, journal, at..at + 1 + together, fresh);
            at += 1 + together;
        }
        if let Some(state) = &mut telling.world.storage.signals.state {
            match state.commands.is_blank() {
                true => core::mem::swap(&mut state.commands, &mut telling.fresh),
                false => state.commands.append(&mut telling.fresh),
            }
        }
    }

    /// Executes what listeners have recorded, and what is recorded meanwhile, unless the world is part of an operation that
    /// is under way.
    pub(crate) fn settle(&mut self) {
        let Some(state) = &self.storage.signals.state else { return };
        if self.storage.signals.held > 0 {
            return;
        }
        if !state.is_settled() {
            if nesting::is_within(self) {
                return;
            }
            // A closure may leave another world in this place, which is settled then.
            nesting::run(self, |world| while world.settle_segment() {});
        }
        self.rest();
    }

    /// Executes what listeners have recorded up to the next closure, and the closure. Returns `false` if there is nothing.
    fn settle_segment(&mut self) -> bool {
        let Some(state) = &mut self.storage.signals.state else { return false };
        if state.running.is_blank() {
            // All of it was executed: the last command was a closure.
            state.running.clear();
            if state.commands.is_blank() {
                return false;
            }
            core::mem::swap(&mut state.running, &mut state.commands);
            state.running.start();
        }
        let rest = Rest { identity: self.identity(), world: self };
        let mut segment = Segment::take_out(rest.world);
        segment.execute();
        let closure = segment.commands.next_closure();
        if closure.is_none() {
            segment.commands.finish(segment.world);
        }
        drop(segment);
        match closure {
            // SAFETY: the closure was not called yet, and the commands that it was recorded among are in the world.
            Some(closure) => unsafe { closure.call(rest.world) },
            // Entities that were put aside and not used have come and gone.
            None => rest.world.tell(),
        }
        core::mem::forget(rest);
        true
    }
}

/// A segment of what listeners have recorded, being executed. Whatever becomes of it, the world has the commands again.
struct Segment<'a> {
    world: &'a mut World,
    commands: CommandBuffer,
    errors: Vec<CommandError>,
    lost: usize,
}

impl<'a> Segment<'a> {
    fn take_out(world: &'a mut World) -> Segment<'a> {
        let state = world.storage.signals.state();
        let (commands, errors) = (core::mem::take(&mut state.running), core::mem::take(&mut state.errors));
        Segment { world, commands, errors, lost: 0 }
    }

    fn execute(&mut self) {
        let Segment { world, commands, errors, lost } = self;
        commands.apply_recorded(world, &mut |error| match errors.len() < KEPT_ERRORS.min(errors.capacity()) {
            true => errors.push(error),
            false => *lost += 1,
        });
    }
}

impl Drop for Segment<'_> {
    fn drop(&mut self) {
        let state = self.world.storage.signals.state();
        state.running = core::mem::take(&mut self.commands);
        state.errors = core::mem::take(&mut self.errors);
        state.lost += self.lost;
    }
}

/// Drops the commands after one that panics. If that has moved its world away, they stay with their world.
struct Rest<'a> {
    world: &'a mut World,
    identity: u64,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        if self.world.identity() != self.identity {
            return;
        }
        let Some(state) = &mut self.world.storage.signals.state else { return };
        let mut commands = core::mem::take(&mut state.running);
        commands.finish(self.world);
        // For the next time: the block of the payloads stays.
        self.world.storage.signals.state().running = commands;
    }
}
