//! Telling what was noted, and executing what listeners recorded: phase 4, and what comes after phase 5.
#![allow(unsafe_code)]

use super::{KEPT_ERRORS, Lists, Observers, Told, nesting};
use crate::commands::{CommandBuffer, CommandError};
use crate::journal::{Event, Journal, JournalEntry, Spot};
use crate::world::World;
use core::any::Any;
use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Calls the listeners of all recorded events, and evaluates to how that went.
///
/// A macro, so that other fields of the world may stay borrowed meanwhile.
macro_rules! dispatch_events {
    ($world:expr) => {
        match crate::signal::Dispatch::begin(&mut $world.storage.journal, &mut $world.observers) {
            Err(notified) => notified,
            Ok(mut dispatch) => {
                let notified = dispatch.run(&*$world);
                dispatch.end(&mut $world.storage.journal, &mut $world.observers);
                notified
            }
        }
    };
}
pub(crate) use dispatch_events;

/// How a dispatch went: a panic of a listener goes on when what the operation displaced is dropped.
#[must_use = "the operation is completed with it"]
pub(crate) enum Notified {
    /// There are no listeners.
    Silent,
    /// All listeners were called, or one of them panicked.
    Called(Option<Box<dyn Any + Send>>),
}

/// The listeners and the events that are dispatched to them, taken out of the world while they run.
pub(crate) struct Dispatch {
    lists: Lists,
    journal: Vec<JournalEntry>,
    /// What the listeners record.
    fresh: CommandBuffer,
}

impl Dispatch {
    /// Calls the listeners. If one panics, the rest is not called.
    pub(crate) fn run(&mut self, world: &World) -> Notified {
        // What a listener leaves behind when it panics is its own; the world is whole, and gets its lists back.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let Dispatch { lists, journal, fresh } = self;
            let mut at = 0;
            while at < journal.len() {
                let phase = journal[at].phase();
                let together =
                    journal[at + 1..].iter().take_while(|note| !note.starts && note.phase() == phase).count();
                lists.call(world, journal, at..at + 1 + together, fresh);
                at += 1 + together;
            }
        }));
        if outcome.is_err() {
            // Drops user values: a second panic must not keep the world from getting its listeners back. The first goes on.
            let _ = catch_unwind(AssertUnwindSafe(|| self.fresh.clear()));
        }
        Notified::Called(outcome.err())
    }
}

impl Dispatch {
    /// Takes the listeners out, if there is an event to dispatch to them now. Returns how the dispatch went otherwise.
    #[inline(always)]
    pub(crate) fn begin(journal: &mut Journal, observers: &mut Observers) -> Result<Dispatch, Notified> {
        if journal.is_active() {
            Dispatch::take(journal, observers).ok_or(Notified::Called(None))
        } else {
            Err(Notified::Silent)
        }
    }

    #[cold]
    #[inline(never)]
    fn take(journal: &mut Journal, observers: &mut Observers) -> Option<Dispatch> {
        if journal.held > 0 {
            return None;
        }
        let recording = journal.recording.as_mut()?;
        recording.close();
        if recording.notes.is_empty() {
            return None;
        }
        let (lists, journal_notes) = (core::mem::take(&mut observers.lists), core::mem::take(&mut recording.notes));
        journal.telling = true;
        Some(Dispatch { lists, journal: journal_notes, fresh: core::mem::take(&mut observers.fresh) })
    }

    /// SparseInserts the listeners back, and keeps what they have recorded.
    pub(crate) fn end(self, journal: &mut Journal, observers: &mut Observers) {
        let Dispatch { lists, journal: mut notes, mut fresh } = self;
        journal.telling = false;
        notes.clear();
        if let Some(recording) = &mut journal.recording {
            recording.notes = notes;
        }
        observers.lists = lists;
        match observers.commands.is_blank() {
            true => core::mem::swap(&mut observers.commands, &mut fresh),
            false => observers.commands.append(&mut fresh),
        }
        observers.fresh = fresh;
    }
}

impl Lists {
    /// Calls the listeners of some notes, which are of one row and of one phase, in the order of their connection.
    fn call(&mut self, world: &World, journal: &[JournalEntry], notes: Range<usize>, commands: &mut CommandBuffer) {
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
    /// Calls the listeners of all recorded events. If one panics, the rest is not called.
    pub(crate) fn notify(&mut self) -> Notified {
        dispatch_events!(self)
    }

    /// Completes an operation, when all that it displaced is dropped: a listener's panic goes on, or else what listeners have
    /// recorded is executed.
    #[inline(always)]
    pub(crate) fn complete(&mut self, notified: Notified) {
        if let Notified::Called(panic) = notified {
            self.complete_called(panic);
        }
    }

    #[cold]
    #[inline(never)]
    fn complete_called(&mut self, panic: Option<Box<dyn Any + Send>>) {
        match panic {
            Some(panic) => resume_unwind(panic),
            None => self.settle(),
        }
    }

    /// Completes an operation like [`complete`](World::complete), but returns the panic of a listener or of a command that a
    /// listener has recorded.
    pub(crate) fn try_complete(&mut self, notified: Notified) -> Result<(), Box<dyn Any + Send>> {
        match notified {
            Notified::Silent => Ok(()),
            Notified::Called(Some(panic)) => Err(panic),
            // A panic leaves the world whole, as it does where it goes on.
            Notified::Called(None) => catch_unwind(AssertUnwindSafe(|| self.settle())),
        }
    }

    /// Dispatches the recorded events of an operation that has displaced nothing, and completes it.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self) {
        if self.storage.journal.is_active() {
            self.announce();
        }
    }

    #[cold]
    #[inline(never)]
    fn announce(&mut self) {
        let notified = self.notify();
        self.complete(notified);
    }

    /// Calls the listeners of all recorded events. A panic goes on at once.
    pub(crate) fn tell(&mut self) {
        if let Notified::Called(Some(panic)) = self.notify() {
            resume_unwind(panic);
        }
    }

    /// Executes what listeners have recorded, and what is recorded meanwhile, unless the world is part of an operation that
    /// is under way.
    pub(crate) fn settle(&mut self) {
        if !self.storage.journal.is_active() || self.storage.journal.held > 0 {
            return;
        }
        if !self.observers.is_settled() {
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
        let state = &mut self.observers;
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
        let state = &mut world.observers;
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
        let state = &mut self.world.observers;
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
        let mut commands = core::mem::take(&mut self.world.observers.running);
        commands.finish(self.world);
        // For the next time: the block of the payloads stays.
        self.world.observers.running = commands;
    }
}
