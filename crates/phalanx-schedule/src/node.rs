//! [`Node`]: a system of a schedule, with its conditions.
#![allow(unsafe_code)]

use crate::boxed_system::{BoxError, BoxedCondition, BoxedSystem};
use crate::run_error::Cause;
use crate::state::Transitions;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use phalanx::World;
use phalanx::system::{Outcome, ParamConflict, RunContext};
use std::time::Instant;

/// A system of a schedule, or a point at which something else happens, with its conditions.
pub(crate) struct Node {
    pub(crate) body: Body,
    pub(crate) conditions: Vec<BoxedCondition>,
    /// The sets whose conditions must be met.
    pub(crate) sets: Vec<u32>,
    /// Whether a condition filters by changes. Then the system has a change tick of its own, after that of the conditions.
    pub(crate) conditions_track_changes: bool,
    /// Why the last run failed.
    pub(crate) failure: Option<Cause>,
    /// When the last run began and ended, if it was timed.
    pub(crate) timing: Option<Timing>,
    pub(crate) has_run: bool,
    #[cfg(feature = "tracing")]
    pub(crate) name: String,
}

/// What a node does.
pub(crate) enum Body {
    /// It runs a system.
    System(BoxedSystem),
    /// It tests the conditions of a set.
    SetConditions(u32),
    /// It does nothing: commands are applied before it, and states change.
    Sync,
    /// Stands for a node that is being built.
    Empty,
}

/// When a node ran, and on which thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    pub(crate) thread: u32,
}

impl Node {
    pub(crate) fn new(body: Body, conditions: Vec<BoxedCondition>) -> Node {
        Node {
            body,
            conditions,
            sets: Vec::new(),
            conditions_track_changes: false,
            failure: None,
            timing: None,
            has_run: false,
            #[cfg(feature = "tracing")]
            name: String::new(),
        }
    }

    /// Creates the states of all parameters for a world, or updates them.
    pub(crate) fn initialize(&mut self, world: &mut World, path: &str) -> Result<(), ParamConflict> {
        for (number, condition) in self.conditions.iter_mut().enumerate() {
            condition.initialize(world, Some(&format!("{path}?{number}")))?;
        }
        match &mut self.body {
            Body::System(system) => system.initialize(world, Some(path)),
            Body::SetConditions(_) | Body::Sync | Body::Empty => Ok(()),
        }
    }

    /// Runs the node if its conditions are met. Returns the error of the system, if there is one.
    ///
    /// # Safety
    ///
    /// - All parameters are initialised for this world, after it was last rolled back.
    /// - The node does not need the world exclusively.
    /// - During the call nothing else touches what the node writes, or writes what it touches.
    #[inline(always)]
    pub(crate) unsafe fn run_shared(
        &mut self,
        world: &World,
        context: &RunContext<'_>,
        met: &[AtomicBool],
    ) -> Result<(), BoxError> {
        #[cfg(feature = "tracing")]
        let _span = tracing::info_span!("system", name = self.name.as_str()).entered();
        match &mut self.body {
            // Most systems have no conditions.
            Body::System(system) if self.sets.is_empty() && self.conditions.is_empty() => {
                self.has_run = true;
                // SAFETY: the contract is the same.
                unsafe { system.run_shared(world, context) }
            }
            // SAFETY: the contract is the same.
            _ => unsafe { self.run_guarded(world, context, met) },
        }
    }

    /// Runs the node if its conditions are met, as [`run_shared`](Node::run_shared) does.
    ///
    /// # Safety
    ///
    /// The contract of [`run_shared`](Node::run_shared).
    #[inline(never)]
    unsafe fn run_guarded(
        &mut self,
        world: &World,
        context: &RunContext<'_>,
        met: &[AtomicBool],
    ) -> Result<(), BoxError> {
        // Relaxed is enough: the conditions of a set are tested by a node before this one.
        self.has_run = self.sets.iter().all(|set| met[*set as usize].load(Ordering::Relaxed))
            // SAFETY: the contract is that of the conditions too.
            && self.conditions.iter_mut().all(|condition| unsafe { condition.run_shared(world, context) });
        match &mut self.body {
            Body::System(system) if self.has_run && self.conditions_track_changes => {
                // SAFETY: the contract is the same.
                unsafe { system.run_shared(world, &context.with_next_tick()) }
            }
            // SAFETY: the contract is the same.
            Body::System(system) if self.has_run => unsafe { system.run_shared(world, context) },
            Body::SetConditions(set) => {
                met[*set as usize].store(self.has_run, Ordering::Relaxed);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Runs a node that needs the world exclusively.
    ///
    /// # Safety
    ///
    /// All parameters are initialised for this world, after it was last rolled back.
    pub(crate) unsafe fn run_exclusive(
        &mut self,
        world: &mut World,
        met: &[AtomicBool],
        transitions: &mut Transitions,
    ) -> Result<(), BoxError> {
        #[cfg(feature = "tracing")]
        let _span = tracing::info_span!("system", name = self.name.as_str()).entered();
        let context = RunContext::new(world);
        self.has_run = self.sets.iter().all(|set| met[*set as usize].load(Ordering::Relaxed))
            // SAFETY: the world is borrowed exclusively; the rest is the caller's contract.
            && self.conditions.iter_mut().all(|condition| unsafe { condition.run_shared(world, &context) });
        match &mut self.body {
            Body::System(system) if self.has_run => system.run_exclusive(world),
            Body::Sync => transitions.run(world),
            _ => Ok(()),
        }
    }

    /// Applies what the system has recorded.
    pub(crate) fn apply(&mut self, world: &mut World, outcome: &mut Outcome) {
        if let Body::System(system) = &mut self.body
            && self.has_run
        {
            system.apply(world, outcome);
        }
    }

    /// Drops what the system has recorded.
    pub(crate) fn discard(&mut self, world: &mut World) {
        if let Body::System(system) = &mut self.body {
            system.discard(world);
        }
    }
}

/// A node that the threads of a stage share. One thread at a time uses it.
pub(crate) struct NodeCell(UnsafeCell<Node>);

// SAFETY: a node is `Send`, and `get` asks that one thread at a time uses it.
unsafe impl Sync for NodeCell {}

impl NodeCell {
    pub(crate) fn new(node: Node) -> NodeCell {
        NodeCell(UnsafeCell::new(node))
    }

    pub(crate) fn get_mut(&mut self) -> &mut Node {
        self.0.get_mut()
    }

    /// Returns the node.
    ///
    /// # Safety
    ///
    /// Nothing else uses the node while the reference is in use.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn get(&self) -> &mut Node {
        // SAFETY: nothing else uses the node, by the caller's contract.
        unsafe { &mut *self.0.get() }
    }
}
