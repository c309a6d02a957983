//! [`State`]: which of several modes a program is in, and systems that run when it changes.

use crate::boxed_system::{BoxError, BoxedSystem};
use core::any::TypeId;
use core::fmt;
use phalanx::World;
use phalanx::system::Res;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A type whose values are the modes of a program: any type that can be compared and printed.
pub trait StateValue: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {}

impl<S: Clone + PartialEq + fmt::Debug + Send + Sync + 'static> StateValue for S {}

/// A resource that says which mode a program is in. See [`ScheduleBuilder::state`](crate::ScheduleBuilder::state).
///
/// A new mode takes effect at the start of the next run of the schedule, or at its next
/// [sync point](crate::ScheduleBuilder::sync). Then the systems run that were added for leaving the old mode and entering the
/// new one. If one of them fails, the change is tried again in the next run, from the systems for leaving or entering on.
///
/// ```
/// use phalanx::World;
/// use phalanx::system::{Commands, Res, ResMut};
/// use phalanx_schedule::{IntoSystemConfig, Schedule, State, in_state};
///
/// #[derive(Clone, Debug, PartialEq)]
/// enum Mode {
///     Menu,
///     Play,
/// }
/// struct Log(Vec<&'static str>);
///
/// let mut world = World::new();
/// world.insert_resource(Log(Vec::new()));
/// let mut frame = Schedule::builder("frame")
///     .state(Mode::Menu)
///     .on_enter(Mode::Menu, |mut log: ResMut<Log>| log.0.push("enter menu"))
///     .on_exit(Mode::Menu, |mut log: ResMut<Log>| log.0.push("leave menu"))
///     .add((|mut log: ResMut<Log>| log.0.push("play")).run_if(in_state(Mode::Play)))
///     .build(&mut world)?;
/// frame.run(&mut world);
/// world.resource_mut::<State<Mode>>()?.set(Mode::Play);
/// frame.run(&mut world);
/// assert_eq!(world.resource::<Log>()?.0, ["enter menu", "leave menu", "play"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "NextState")]
pub struct State<S> {
    now: S,
    /// Whether the systems for entering the mode have run.
    is_entered: bool,
    next: Option<S>,
}

impl<S: StateValue> State<S> {
    /// Creates a state that is about to enter a mode.
    pub fn new(first: S) -> State<S> {
        State { now: first, is_entered: false, next: None }
    }

    /// Returns the mode.
    pub fn get(&self) -> &S {
        &self.now
    }

    /// Changes the mode at the start of the next run, or at the next sync point. The present mode is entered again if it is
    /// the same.
    pub fn set(&mut self, next: S) {
        self.next = Some(next);
    }

    /// Returns the mode that has been [set](State::set) and has not taken effect yet.
    pub fn next(&self) -> Option<&S> {
        self.next.as_ref()
    }
}

/// Returns a condition that is met while a program is in a mode. It is not met if there is no such state.
pub fn in_state<S: StateValue>(mode: S) -> impl FnMut(Option<Res<'_, State<S>>>) -> bool + Send + 'static {
    move |state: Option<Res<State<S>>>| state.is_some_and(|state| state.now == mode)
}

/// The states of a schedule, and the systems that run when they change.
#[derive(Default)]
pub(crate) struct Transitions {
    states: Vec<Box<dyn AnyState>>,
}

/// A state whose type is not known.
trait AnyState: Send {
    fn key(&self) -> TypeId;
    /// Notes whether the state is about to change, and what it changes to.
    fn begin(&mut self, world: &mut World);
    /// Runs the systems for leaving the present mode, if it is about to change.
    fn exit(&mut self, world: &mut World) -> Result<(), BoxError>;
    /// Changes the mode.
    fn change(&mut self, world: &mut World);
    /// Runs the systems for entering the present mode, if it has changed.
    fn enter(&mut self, world: &mut World) -> Result<(), BoxError>;
    /// Makes the state change again in the next run, as far as it has not changed completely.
    fn retry(&mut self, world: &mut World);
    fn as_any(&mut self) -> &mut dyn core::any::Any;
}

/// The systems of one state.
struct StateSystems<S> {
    exits: Vec<(S, BoxedSystem)>,
    enters: Vec<(S, BoxedSystem)>,
    next: Option<S>,
    enters_first: bool,
}

impl<S: StateValue> StateSystems<S> {
    fn run(systems: &mut [(S, BoxedSystem)], world: &mut World) -> Result<(), BoxError> {
        let Ok(state) = world.resource::<State<S>>() else { return Ok(()) };
        let now = state.now.clone();
        systems.iter_mut().filter(|(mode, _)| *mode == now).try_for_each(|(_, system)| world.run_system(&mut **system))
    }
}

impl<S: StateValue> AnyState for StateSystems<S> {
    fn key(&self) -> TypeId {
        TypeId::of::<S>()
    }

    fn begin(&mut self, world: &mut World) {
        let Ok(mut state) = world.resource_mut::<State<S>>() else { return };
        self.enters_first = !state.is_entered;
        // Setting the next mode has recorded a change. Taking it is none, so that a state at rest is unchanged.
        self.next = state.bypass_change_detection().next.take();
    }

    fn exit(&mut self, world: &mut World) -> Result<(), BoxError> {
        // A mode that was never entered is not left.
        match self.next.is_some() && !self.enters_first {
            true => StateSystems::run(&mut self.exits, world),
            false => Ok(()),
        }
    }

    fn change(&mut self, world: &mut World) {
        self.enters_first |= self.next.is_some();
        if let Ok(mut state) = world.resource_mut::<State<S>>()
            && self.enters_first
        {
            state.is_entered = true;
            state.now = self.next.take().unwrap_or_else(|| state.now.clone());
        }
    }

    fn enter(&mut self, world: &mut World) -> Result<(), BoxError> {
        if self.enters_first {
            StateSystems::run(&mut self.enters, world)?;
            self.enters_first = false;
        }
        Ok(())
    }

    fn retry(&mut self, world: &mut World) {
        let next = self.next.take();
        let Ok(mut state) = world.resource_mut::<State<S>>() else { return };
        state.next = state.next.take().or(next);
        state.is_entered &= !self.enters_first;
    }

    fn as_any(&mut self) -> &mut dyn core::any::Any {
        self
    }
}

impl Transitions {
    /// Returns `true` if there are no states.
    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    fn of<S: StateValue>(&mut self) -> &mut StateSystems<S> {
        let key = TypeId::of::<S>();
        let at = self.states.iter().position(|state| state.key() == key).unwrap_or_else(|| {
            let (exits, enters) = (Vec::new(), Vec::new());
            self.states.push(Box::new(StateSystems::<S> { exits, enters, next: None, enters_first: false }));
            self.states.len() - 1
        });
        self.states[at].as_any().downcast_mut().expect("found by its type")
    }

    /// Adds a state.
    pub(crate) fn add<S: StateValue>(&mut self) {
        self.of::<S>();
    }

    /// Adds a system that runs when a mode is left.
    pub(crate) fn on_exit<S: StateValue>(&mut self, mode: S, system: BoxedSystem) {
        self.of::<S>().exits.push((mode, system));
    }

    /// Adds a system that runs when a mode is entered.
    pub(crate) fn on_enter<S: StateValue>(&mut self, mode: S, system: BoxedSystem) {
        self.of::<S>().enters.push((mode, system));
    }

    /// Changes all states that are about to change: leaves all old modes, then enters all new ones.
    pub(crate) fn run(&mut self, world: &mut World) -> Result<(), BoxError> {
        let states = &mut self.states;
        let result = catch_unwind(AssertUnwindSafe(|| {
            states.iter_mut().for_each(|state| state.begin(world));
            states.iter_mut().try_for_each(|state| state.exit(world))?;
            states.iter_mut().for_each(|state| state.change(world));
            states.iter_mut().try_for_each(|state| state.enter(world))
        }));
        if !matches!(result, Ok(Ok(()))) {
            states.iter_mut().for_each(|state| state.retry(world));
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }
}
