//! [`Dispatch`]: calls the listeners of recorded events.
#![allow(unsafe_code)]

use super::Observers;
use super::deferred::apply_deferred;
use super::listener::{EventArgs, disconnect_spent};
use super::listeners::{ListenerRef, Listeners};
use crate::commands::CommandBuffer;
use crate::journal::{Event, Journal, JournalEntry, PastRow, ValueCollectorState, ValuePtr};
use crate::world::World;
use core::any::Any;
use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Calls the listeners of all recorded events, and evaluates to a [`DispatchOutcome`]. A panic of a listener is caught.
///
/// A macro, so that other fields of the world can stay borrowed meanwhile.
macro_rules! dispatch_catch {
    ($world:expr) => {
        match $world.dispatcher.filter(|_| $world.storage.journal.is_active()) {
            None => crate::signal::DispatchOutcome::Inactive,
            Some(dispatcher) => match (dispatcher.begin)(&mut $world.storage.journal, &mut $world.observers) {
                None => crate::signal::DispatchOutcome::Called,
                Some(mut dispatch) => {
                    let outcome = (dispatcher.run)(&mut dispatch, &*$world);
                    (dispatcher.end)(dispatch, &mut $world.storage.journal, &mut $world.observers);
                    outcome
                }
            },
        }
    };
}
pub(crate) use dispatch_catch;

/// The outcome of a dispatch. The operation drops what it displaced, then finishes with it.
#[must_use = "an operation finishes with it"]
pub(crate) enum DispatchOutcome {
    /// There are no listeners or collectors, or nothing is left to do for them.
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
        if !matches!(self, DispatchOutcome::Inactive)
            && let Some(dispatcher) = world.dispatcher
        {
            (dispatcher.finish)(self, world);
        }
    }

    #[cold]
    #[inline(never)]
    fn finish_called(self, world: &mut World) {
        self.resume();
        if !is_settled(world) {
            disconnect_spent(world);
            apply_deferred(world);
        }
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

/// Returns `true` if there are listeners, and nothing is left to do after they were called.
fn is_settled(world: &World) -> bool {
    let observers =
        world.observers.as_deref().is_some_and(|observers| observers.is_idle() && observers.has_listeners());
    observers && world.storage.journal.recording.as_deref().is_some_and(|recording| recording.collectors.is_empty())
}

/// The functions that call listeners and apply what they record.
///
/// A world has them from its first listener, observer or collector on, and calls them through pointers. So a program without
/// any of these contains no function of this module, nor the application of commands.
pub(crate) struct Dispatcher {
    pub(crate) begin: fn(&mut Journal, &mut Option<Box<Observers>>) -> Option<Dispatch>,
    pub(crate) run: fn(&mut Dispatch, &World) -> DispatchOutcome,
    pub(crate) end: fn(Dispatch, &mut Journal, &mut Option<Box<Observers>>),
    recorded: fn(&mut World),
    direct: fn(&mut World, &JournalEntry) -> DispatchOutcome,
    finish: fn(DispatchOutcome, &mut World),
    deferred: fn(&mut World),
}

/// The one [`Dispatcher`].
static DISPATCHER: Dispatcher = Dispatcher {
    begin: Dispatch::take,
    run: Dispatch::run,
    end: Dispatch::end,
    recorded: dispatch_recorded,
    direct: call_direct,
    finish: DispatchOutcome::finish_called,
    deferred: apply_deferred,
};

/// Lets a world dispatch events from now on.
pub(super) fn set_dispatcher(world: &mut World) {
    world.dispatcher = Some(&DISPATCHER);
}

/// A dispatch under way: the listeners and the events, taken out of the world.
pub(crate) struct Dispatch {
    observers: Option<Box<Observers>>,
    entries: Vec<JournalEntry>,
    /// The collectors of values, which clone what was displaced.
    values: Vec<ValueCollectorState>,
}

impl Dispatch {
    /// Takes the listeners and the events out, if there is something to dispatch.
    #[cold]
    #[inline(never)]
    fn take(journal: &mut Journal, observers: &mut Option<Box<Observers>>) -> Option<Dispatch> {
        if journal.deferrals > 0 {
            return None;
        }
        let recording = journal.recording.as_mut()?;
        recording.discard_unlinked();
        if recording.entries.is_empty() {
            return None;
        }
        if observers.is_none() && recording.collectors.values.is_empty() {
            // Collectors have everything already.
            recording.entries.clear();
            return None;
        }
        recording.link_rows();
        journal.is_dispatching = true;
        Some(Dispatch {
            observers: observers.take(),
            entries: core::mem::take(&mut recording.entries),
            values: core::mem::take(&mut recording.collectors.values),
        })
    }

    /// Calls the listeners. If one panics, those after it are not called, and all recorded commands are dropped.
    fn run(&mut self, world: &World) -> DispatchOutcome {
        if !self.values.is_empty()
            && let Err(panic) = self.keep_values()
        {
            return DispatchOutcome::Panicked(panic);
        }
        match self {
            Dispatch { observers: Some(observers), entries, .. } => observers.call(world, entries),
            _ => DispatchOutcome::Called,
        }
    }

    /// Clones the displaced values that collectors keep. Goes on after a panic, and returns the first one.
    #[cold]
    fn keep_values(&mut self) -> std::thread::Result<()> {
        let Dispatch { entries, values, .. } = self;
        let mut outcome = Ok(());
        for state in values {
            // SAFETY: the entries are those of the operation, which drops what it displaced after the dispatch.
            match (&outcome, unsafe { state.keep(entries) }) {
                (Ok(()), kept) => outcome = kept,
                // The destructor of the payload may panic.
                (Err(_), Err(panic)) => core::mem::forget(panic),
                (Err(_), Ok(())) => {}
            }
        }
        outcome
    }

    /// Gives the listeners back to the world, and defers what they have recorded.
    fn end(self, journal: &mut Journal, observers: &mut Option<Box<Observers>>) {
        let Dispatch { observers: mut given_back, mut entries, values } = self;
        journal.is_dispatching = false;
        entries.clear();
        if let Some(recording) = &mut journal.recording {
            recording.entries = entries;
            recording.collectors.values = values;
        }
        if let Some(observers) = given_back.as_deref_mut() {
            observers.defer();
        }
        *observers = given_back;
    }
}

impl Observers {
    /// Calls the listeners of all entries. If one panics, those after it are not called, and all recorded commands are dropped.
    #[inline]
    fn call(&mut self, world: &World, entries: &[JournalEntry]) -> DispatchOutcome {
        let Observers { listeners, buffer, .. } = self;
        // A listener has only shared access, so a panic leaves the world consistent.
        let outcome = catch_unwind(AssertUnwindSafe(|| match entries {
            [entry] if !entry.is_last => listeners.call(world, entries, 0..1, buffer),
            _ => listeners.call_in_order(world, entries, buffer),
        }));
        let Err(panic) = outcome else { return DispatchOutcome::Called };
        // Drops user values. If one panics too, the world must still get its listeners back; the first panic is resumed.
        let _ = catch_unwind(AssertUnwindSafe(|| buffer.clear()));
        DispatchOutcome::Panicked(panic)
    }

    /// Defers what listeners have recorded.
    #[inline]
    fn defer(&mut self) {
        let Observers { buffer, deferred, .. } = self;
        if !buffer.is_blank() {
            match deferred.is_blank() {
                true => core::mem::swap(deferred, buffer),
                false => deferred.append(buffer),
            }
        }
    }
}

/// Dispatches an event that no collector and no observer of queries needs, and that is dispatched at once: see
/// [`Journal::watched_directly`]. It need not be recorded.
pub(crate) fn dispatch_direct(world: &mut World, entry: &JournalEntry) -> DispatchOutcome {
    match world.dispatcher {
        Some(dispatcher) => (dispatcher.direct)(world, entry),
        None => DispatchOutcome::Called,
    }
}

fn call_direct(world: &mut World, entry: &JournalEntry) -> DispatchOutcome {
    let Some(mut observers) = world.observers.take() else { return DispatchOutcome::Called };
    world.storage.journal.is_dispatching = true;
    let outcome = observers.call(world, core::slice::from_ref(entry));
    world.storage.journal.is_dispatching = false;
    observers.defer();
    let is_idle = observers.is_idle();
    world.observers = Some(observers);
    match outcome {
        // There are listeners, and no collectors: nothing is left to do.
        DispatchOutcome::Called if is_idle => DispatchOutcome::Inactive,
        outcome => outcome,
    }
}

/// Returns the address of the value that an entry's row was given.
#[inline]
fn new_value(world: &World, entry: &JournalEntry) -> ValuePtr {
    match (entry.event, entry.new) {
        (Event::Added | Event::Set, ValuePtr::None) => {
            world.storage.value_ptr(entry.slot, entry.id).unwrap_or(ValuePtr::None)
        }
        (_, new) => new,
    }
}

impl Listeners {
    /// Calls the listeners of all entries: change by change, and phase by phase.
    fn call_in_order(&mut self, world: &World, entries: &[JournalEntry], commands: &mut CommandBuffer) {
        let (mut at, mut first) = (0, 0);
        while at < entries.len() {
            if entries[at].starts {
                first = at;
            }
            let phase = entries[at].phase();
            let more = entries[at + 1..].iter().take_while(|entry| !entry.starts && entry.phase() == phase).count();
            self.call(world, entries, at..at + 1 + more, commands);
            at += 1 + more;
            // After the last change of a row. Without observers, no entry is marked.
            if entries[first].is_last && entries.get(at).is_none_or(|next| next.starts) {
                self.call_observers(world, entries, first, commands);
            }
        }
    }

    /// Calls the listeners of some entries, which are of one row and one phase, in the order of their connection.
    #[inline(always)]
    fn call(&mut self, world: &World, entries: &[JournalEntry], range: Range<usize>, commands: &mut CommandBuffer) {
        match range.len() == 1 && !self.has_own() {
            true => self.call_all(world, entries, range.start, commands),
            false => self.call_merged(world, entries, range, commands),
        }
    }

    /// Calls the listeners of some entries, where lists have to be merged.
    #[inline(never)]
    fn call_merged(
        &mut self,
        world: &World,
        entries: &[JournalEntry],
        range: Range<usize>,
        commands: &mut CommandBuffer,
    ) {
        let mut called = None;
        loop {
            let next = range.clone().filter_map(|number| self.next(&entries[number], number, called)).min();
            let Some((id, number, place)) = next else { return };
            called = Some((id, number));
            let entry = &entries[number];
            let Some(listener) = self.at(place).filter(|listener| listener.accepts(entry)) else { continue };
            let (new, row) = (new_value(world, entry), &entries[number - entry.before as usize..number]);
            if listener.is_once {
                // It stays spent if it panics.
                listener.is_spent = true;
                self.spent.push(id);
            }
            if let Some(listener) = self.at(place) {
                (listener.call)(EventArgs { entry, new, row }, world, commands);
            }
        }
    }

    /// Calls the listeners of an entry, given its number, where none is of certain entities.
    #[inline]
    fn call_all(&mut self, world: &World, entries: &[JournalEntry], number: usize, commands: &mut CommandBuffer) {
        let entry = &entries[number];
        // The list does not change while they are called.
        let (list, listeners, spent) = self.parts(entry.event, entry.id);
        if list.is_empty() {
            return;
        }
        let (new, row) = (new_value(world, entry), &entries[number - entry.before as usize..number]);
        for &ListenerRef { id, place } in list {
            let Some(Some(listener)) = listeners.get_mut(place as usize) else { continue };
            if !listener.accepts(entry) {
                continue;
            }
            if listener.is_once {
                // It stays spent if it panics.
                listener.is_spent = true;
                spent.push(id);
            }
            (listener.call)(EventArgs { entry, new, row }, world, commands);
        }
    }

    /// Calls the observers of a row whose last change begins at `last`: those of queries that it leaves, then those of queries
    /// that it enters, each in the order of their connection.
    fn call_observers(&mut self, world: &World, entries: &[JournalEntry], last: usize, commands: &mut CommandBuffer) {
        let row = PastRow::new(&world.storage, entries, last);
        let Listeners { left, entered, spent, .. } = self;
        for observer in left.iter_mut().chain(entered) {
            observer.call(row, world, commands, spent);
        }
    }
}

impl World {
    /// Dispatches the recorded events of an operation that has displaced nothing, and finishes it.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self) {
        if self.storage.journal.is_active()
            && let Some(dispatcher) = self.dispatcher
        {
            (dispatcher.recorded)(self);
        }
    }

    /// Applies what listeners have recorded, unless an operation is under way.
    pub(crate) fn apply_deferred(&mut self) {
        if let Some(dispatcher) = self.dispatcher {
            (dispatcher.deferred)(self);
        }
    }
}

#[cold]
#[inline(never)]
fn dispatch_recorded(world: &mut World) {
    let outcome = match world.storage.journal.take_single() {
        Some(entry) => dispatch_direct(world, &entry),
        None => dispatch_catch!(world),
    };
    outcome.finish(world);
}
