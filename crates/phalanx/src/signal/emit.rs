//! Telling what was noted, and carrying out what listeners recorded: phase 4, and what comes after phase 5.

use super::{Event, KEPT_ERRORS, Lists, Note, Spot, Told};
use crate::commands::{CommandBuffer, CommandError};
use crate::world::World;
use core::any::Any;
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
        self.world.signals.telling = false;
        let Some(state) = &mut self.world.signals.state else { return };
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
        if self.signals.is_active() {
            self.note_arrival(slot);
            self.announce();
        }
    }

    /// As [`notify`](World::notify); panics go on at once.
    pub(crate) fn tell(&mut self) {
        if self.signals.held > 0 {
            return;
        }
        let Some(state) = &mut self.signals.state else { return };
        state.close();
        if state.journal.is_empty() {
            return;
        }
        let (lists, journal) = (core::mem::take(&mut state.lists), core::mem::take(&mut state.journal));
        let fresh = core::mem::take(&mut state.fresh);
        self.signals.telling = true;
        let mut telling = Telling { world: self, lists, journal, fresh };
        let Telling { world, lists, journal, fresh } = &mut telling;
        for (at, note) in journal.iter().enumerate() {
            let Some(list) = lists.of(note.event, note.id).filter(|list| !list.is_empty()) else { continue };
            let new = match (note.event, note.new) {
                (Event::Added | Event::Set, Spot::None) => world.spot(note.slot, note.id).unwrap_or(Spot::None),
                (_, new) => new,
            };
            for listener in list.iter_mut() {
                (listener.call)(Told { note, new, row: &journal[at - note.before as usize..at] }, world, fresh);
            }
        }
        if let Some(state) = &mut telling.world.signals.state {
            match state.commands.is_blank() {
                true => core::mem::swap(&mut state.commands, &mut telling.fresh),
                false => state.commands.append(&mut telling.fresh),
            }
        }
    }

    /// Carries out what listeners have recorded, and what is recorded meanwhile, unless an operation is under way that this
    /// was part of.
    pub(crate) fn settle(&mut self) {
        while self.signals.depth == 0 && self.signals.held == 0 {
            let Some(state) = &mut self.signals.state else { return };
            if state.commands.is_blank() {
                return self.rest();
            }
            let commands = core::mem::take(&mut state.commands);
            let errors = core::mem::take(&mut state.errors);
            self.signals.depth += 1;
            let mut settling = Settling { world: self, commands, errors, lost: 0 };
            let Settling { world, commands, errors, lost } = &mut settling;
            commands.apply_recorded(world, &mut |error| match errors.len() < KEPT_ERRORS.min(errors.capacity()) {
                true => errors.push(error),
                false => *lost += 1,
            });
        }
    }
}

/// What listeners have recorded, being carried out.
struct Settling<'a> {
    world: &'a mut World,
    commands: CommandBuffer,
    errors: Vec<CommandError>,
    lost: usize,
}

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        self.world.signals.depth -= 1;
        if let Some(state) = &mut self.world.signals.state {
            state.errors = core::mem::take(&mut self.errors);
            state.lost += self.lost;
            // For the next time: the block of the payloads stays.
            if state.commands.is_blank() && self.commands.is_blank() {
                state.commands = core::mem::take(&mut self.commands);
            }
        }
    }
}
