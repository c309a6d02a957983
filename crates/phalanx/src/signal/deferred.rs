//! Deferred commands: what listeners have recorded, applied when the outermost operation is complete.
#![allow(unsafe_code)]

use super::observers::{KEPT_ERRORS, subscribe};
use super::{Observers, apply_scope, dispatch_catch};
use crate::commands::Closure;
use crate::world::World;
use phalanx_store::raw::DropGuard;

/// Applies what listeners have recorded, and what is recorded meanwhile. Does nothing within an operation that is under way.
pub(crate) fn apply_deferred(world: &mut World) {
    if world.storage.journal.deferrals > 0 {
        return;
    }
    if world.observers.as_ref().is_some_and(|observers| observers.has_deferred()) {
        if apply_scope::contains(world) {
            return;
        }
        // A closure may leave another world here, whose commands are applied from then on.
        apply_scope::run(world, |world| while apply_segment(world) {});
    }
    stop_if_unused(world);
}

/// Stops recording if there are no listeners, collectors or deferred commands.
pub(super) fn stop_if_unused(world: &mut World) {
    let journal = &mut world.storage.journal;
    if let Some(recording) = &mut journal.recording
        && recording.collectors.remove_dropped()
    {
        subscribe(recording, world.observers.as_deref());
    }
    let has_collectors = journal.recording.as_deref().is_none_or(|recording| !recording.collectors.is_empty());
    let has_listeners = world.observers.as_ref().is_some_and(|observers| !observers.is_unused());
    if !has_collectors && !has_listeners && journal.deferrals == 0 && !apply_scope::contains(world) {
        world.storage.journal.recording = None;
        world.observers = None;
    }
}

/// Applies deferred commands up to the next closure, and calls the closure. Returns `false` if there are none.
fn apply_segment(world: &mut World) -> bool {
    let Some(observers) = &mut world.observers else { return false };
    if observers.running.is_blank() {
        // The last command may have been a closure.
        observers.running.clear();
        if observers.deferred.is_blank() {
            return false;
        }
        core::mem::swap(&mut observers.running, &mut observers.deferred);
        observers.running.start();
    }
    let identity = world.identity();
    // Drops the commands after one that panics. If that has moved its world away, they stay with their world.
    let guard = DropGuard::new(world, |world| {
        if world.identity() == identity
            && let Some(observers) = &mut world.observers
        {
            let mut commands = core::mem::take(&mut observers.running);
            commands.finish(world);
            // Its memory is used again.
            world.observers.get_or_insert_default().running = commands;
        }
    });
    let closure = apply_running(guard.state);
    match closure {
        // SAFETY: the closure was not called yet, and the buffer that it was recorded in was put back unchanged.
        Some(closure) => unsafe { closure.call(guard.state) },
        // Reserved entities that were not used have been spawned and despawned.
        None => dispatch_catch!(guard.state).resume(),
    }
    guard.dismiss();
    true
}

/// Applies the running commands up to the next closure, which is returned. Keeps the errors of those that are skipped.
///
/// The commands are taken out of the world meanwhile, and put back also if one panics.
fn apply_running(world: &mut World) -> Option<Closure> {
    let Observers { running, errors, .. } = &mut **world.observers.get_or_insert_default();
    let taken = (core::mem::take(running), core::mem::take(errors), 0, world);
    let mut guard = DropGuard::new(taken, |(commands, errors, lost_errors, world)| {
        let observers = world.observers.get_or_insert_default();
        observers.running = core::mem::take(commands);
        observers.errors = core::mem::take(errors);
        observers.lost_errors += *lost_errors;
    });
    let (commands, errors, lost_errors, world) = &mut guard.state;
    commands.apply_deferred(world, &mut |error| match errors.len() < KEPT_ERRORS.min(errors.capacity()) {
        true => errors.push(error),
        false => *lost_errors += 1,
    });
    let closure = commands.next_closure();
    if closure.is_none() {
        commands.finish(world);
    }
    closure
}
