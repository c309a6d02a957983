//! [`Dispatch`]: calls the listeners of recorded events.

use super::listener::{EventArgs, Listeners};
use super::{Observers, apply_deferred};
use crate::commands::CommandBuffer;
use crate::journal::{Event, Journal, JournalEntry, PastRow, ValuePtr};
use crate::world::World;
use core::any::Any;
use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Calls the listeners of all recorded events, and evaluates to a [`DispatchOutcome`]. A panic of a listener is caught.
///
/// A macro, so that other fields of the world can stay borrowed meanwhile.
macro_rules! dispatch_catch {
    ($world:expr) => {
        match crate::signal::Dispatch::begin(&mut $world.storage.journal, &mut $world.observers) {
            Err(outcome) => outcome,
            Ok(mut dispatch) => {
                let outcome = dispatch.run(&*$world);
                dispatch.end(&mut $world.storage.journal, &mut $world.observers);
                outcome
            }
        }
    };
}
pub(crate) use dispatch_catch;

/// The outcome of a dispatch. The operation drops what it displaced, then finishes with it.
#[must_use = "an operation finishes with it"]
pub(crate) enum DispatchOutcome {
    /// There are no listeners or collectors.
    Inactive,
    /// No listener has panicked. Events of a deferred dispatch are still recorded.
    Called,
    /// A listener has panicked, and those after it were not called.
    Panicked(Box<dyn Any + Send>),
}

impl DispatchOutcome {
    /// Finishes an operation whose displaced values are dropped: resumes a listener's panic, or applies what listeners have
    /// recorded.
    #[inline(always)]
    pub(crate) fn finish(self, world: &mut World) {
        if !matches!(self, DispatchOutcome::Inactive) {
            self.finish_called(world);
        }
    }

    #[cold]
    #[inline(never)]
    fn finish_called(self, world: &mut World) {
        self.resume();
        apply_deferred(world);
    }

    /// Finishes an operation like [`finish`](DispatchOutcome::finish), but returns the panic of a listener, or of a command
    /// that a listener has recorded.
    pub(crate) fn try_finish(self, world: &mut World) -> std::thread::Result<()> {
        match self {
            DispatchOutcome::Panicked(panic) => Err(panic),
            // A panic of a command leaves the world consistent.
            outcome => catch_unwind(AssertUnwindSafe(|| outcome.finish(world))),
        }
    }

    /// Resumes a listener's panic, if there is one.
    pub(crate) fn resume(self) {
        if let DispatchOutcome::Panicked(panic) = self {
            resume_unwind(panic);
        }
    }
}

/// A dispatch under way: the listeners and the events, taken out of the world.
pub(crate) struct Dispatch {
    listeners: Listeners,
    entries: Vec<JournalEntry>,
    /// What the listeners record.
    commands: CommandBuffer,
}

impl Dispatch {
    /// Takes the listeners and the events out. Returns the outcome instead if there is nothing to dispatch.
    #[inline(always)]
    pub(crate) fn begin(journal: &mut Journal, observers: &mut Observers) -> Result<Dispatch, DispatchOutcome> {
        if journal.is_active() {
            Dispatch::take(journal, observers).ok_or(DispatchOutcome::Called)
        } else {
            Err(DispatchOutcome::Inactive)
        }
    }

    #[cold]
    #[inline(never)]
    fn take(journal: &mut Journal, observers: &mut Observers) -> Option<Dispatch> {
        if journal.deferrals > 0 {
            return None;
        }
        let recording = journal.recording.as_mut()?;
        recording.discard_unlinked();
        if recording.entries.is_empty() {
            return None;
        }
        recording.link_rows();
        journal.is_dispatching = true;
        Some(Dispatch {
            listeners: core::mem::take(&mut observers.listeners),
            entries: core::mem::take(&mut recording.entries),
            commands: core::mem::take(&mut observers.buffer),
        })
    }

    /// Calls the listeners. If one panics, those after it are not called, and all recorded commands are dropped.
    pub(crate) fn run(&mut self, world: &World) -> DispatchOutcome {
        // A listener has only shared access, so a panic leaves the world consistent.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let Dispatch { listeners, entries, commands } = self;
            let (mut at, mut first) = (0, 0);
            while at < entries.len() {
                if entries[at].starts {
                    first = at;
                }
                let phase = entries[at].phase();
                let more = entries[at + 1..].iter().take_while(|entry| !entry.starts && entry.phase() == phase).count();
                listeners.call(world, entries, at..at + 1 + more, commands);
                at += 1 + more;
                // After the last change of a row. Without observers, no entry is marked.
                if entries[first].is_last && entries.get(at).is_none_or(|next| next.starts) {
                    listeners.call_observers(world, entries, first, commands);
                }
            }
        }));
        let Err(panic) = outcome else { return DispatchOutcome::Called };
        // Drops user values. If one panics too, the world must still get its listeners back; the first panic is resumed.
        let _ = catch_unwind(AssertUnwindSafe(|| self.commands.clear()));
        DispatchOutcome::Panicked(panic)
    }

    /// Gives the listeners back to the world, and defers what they have recorded.
    pub(crate) fn end(self, journal: &mut Journal, observers: &mut Observers) {
        let Dispatch { listeners, mut entries, mut commands } = self;
        journal.is_dispatching = false;
        entries.clear();
        if let Some(recording) = &mut journal.recording {
            recording.entries = entries;
        }
        observers.listeners = listeners;
        // Listeners mostly record nothing.
        match (commands.is_blank(), observers.deferred.is_blank()) {
            (true, _) => {}
            (false, true) => core::mem::swap(&mut observers.deferred, &mut commands),
            (false, false) => observers.deferred.append(&mut commands),
        }
        observers.buffer = commands;
    }
}

impl Listeners {
    /// Calls the listeners of some entries, which are of one row and one phase, in the order of their connection.
    fn call(&mut self, world: &World, entries: &[JournalEntry], range: Range<usize>, commands: &mut CommandBuffer) {
        let mut called = None;
        loop {
            let next = range.clone().filter_map(|at| {
                let list = self.list_mut(entries[at].event, entries[at].id)?;
                // A list is in the order of connection, which is the order of the ids.
                let first = called.map_or(0, |last| list.partition_point(|listener| listener.id <= last));
                Some((list.get(first)?.id, at, first))
            });
            let Some((id, at, first)) = next.min_by_key(|(id, ..)| *id) else { return };
            let entry = &entries[at];
            let new = match (entry.event, entry.new) {
                (Event::Added | Event::Set, ValuePtr::None) => {
                    world.storage.value_ptr(entry.slot, entry.id).unwrap_or(ValuePtr::None)
                }
                (_, new) => new,
            };
            let row = &entries[at - entry.before as usize..at];
            if let Some(list) = self.list_mut(entry.event, entry.id) {
                (list[first].call)(EventArgs { entry, new, row }, world, commands);
            }
            called = Some(id);
        }
    }
}

impl Listeners {
    /// Calls the observers of a row whose last change begins at `last`: those of queries that it leaves, then those of queries
    /// that it enters, each in the order of their connection.
    fn call_observers(&mut self, world: &World, entries: &[JournalEntry], last: usize, commands: &mut CommandBuffer) {
        let row = PastRow::new(&world.storage, entries, last);
        for observer in self.left.iter_mut().chain(&mut self.entered) {
            if observer.is_concerned(row) {
                (observer.call)(row, world, commands);
            }
        }
    }
}

impl World {
    /// Dispatches the recorded events of an operation that has displaced nothing, and finishes it.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self) {
        if self.storage.journal.is_active() {
            dispatch_recorded(self);
        }
    }
}

#[cold]
#[inline(never)]
fn dispatch_recorded(world: &mut World) {
    dispatch_catch!(world).finish(world);
}
