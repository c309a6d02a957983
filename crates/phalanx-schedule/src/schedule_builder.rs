//! [`ScheduleBuilder`]: the systems of a schedule, before their order is found.

use crate::boxed_system::{BoxedCondition, SystemOutput, boxed};
use crate::build_error::BuildError;
use crate::label::{IntoLabel, Key, Label, SystemSet};
use crate::plan::Plan;
use crate::schedule::Schedule;
use crate::state::{State, StateValue, Transitions};
use crate::system_config::{IntoSystemConfigs, Order, SystemConfig};
use core::fmt;
use phalanx::World;
use phalanx::system::IntoSystem;

/// The systems of a schedule, created by [`Schedule::builder`].
#[must_use = "`build` makes it a schedule"]
pub struct ScheduleBuilder {
    pub(crate) name: String,
    pub(crate) items: Vec<Item>,
    pub(crate) sets: Vec<SetConfig>,
    pub(crate) transitions: Transitions,
    states: Vec<Box<dyn FnOnce(&mut World)>>,
}

/// A system or a sync point, in the order of adding.
pub(crate) enum Item {
    System(Box<SystemConfig>),
    Sync,
}

/// The orders and conditions of a set: see [`ScheduleBuilder::set`].
pub struct SetConfig {
    pub(crate) label: Label,
    pub(crate) orders: Vec<Order>,
    pub(crate) conditions: Vec<BoxedCondition>,
    pub(crate) parents: Vec<Label>,
}

impl ScheduleBuilder {
    pub(crate) fn new(name: String) -> ScheduleBuilder {
        let (items, sets, states) = (Vec::new(), Vec::new(), Vec::new());
        ScheduleBuilder { name, items, sets, transitions: Transitions::default(), states }
    }

    /// Adds a system, or a tuple of systems.
    ///
    /// Systems that conflict and have no order run in the order in which they are added.
    pub fn add<M>(mut self, systems: impl IntoSystemConfigs<M>) -> Self {
        self.items.extend(systems.into_configs().into_iter().map(|config| Item::System(Box::new(config))));
        self
    }

    /// Adds a tuple of systems that run one after another. Each sees what the commands of those before it do.
    pub fn chain<M>(mut self, systems: impl IntoSystemConfigs<M>) -> Self {
        let first = self.items.len();
        for mut config in systems.into_configs() {
            let number = self.items.len();
            if number > first {
                let other = Label { key: Key::Item(number - 1) };
                config.orders.push(Order { is_before: false, other, syncs: true });
            }
            self.items.push(Item::System(Box::new(config)));
        }
        self
    }

    /// Adds orders and conditions to all systems of a set.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx_schedule::{IntoSystemConfig, Schedule};
    ///
    /// fn input() {}
    /// fn gravity() {}
    /// fn collide() {}
    ///
    /// let mut world = World::new();
    /// let frame = Schedule::builder("frame")
    ///     .add((gravity.in_set("physics"), collide.in_set("physics")))
    ///     .add(input)
    ///     .set("physics", |set| set.after(input).run_if(|world: &World| world.len() > 1))
    ///     .build(&mut world)?;
    /// assert!(frame.systems().eq(["input", "gravity", "collide"]));
    /// # Ok::<(), phalanx_schedule::BuildError>(())
    /// ```
    pub fn set(mut self, set: impl SystemSet, configure: impl FnOnce(SetConfig) -> SetConfig) -> Self {
        let label = Label::of_set(&set);
        let config = SetConfig { label, orders: Vec::new(), conditions: Vec::new(), parents: Vec::new() };
        self.sets.push(configure(config));
        self
    }

    /// Adds a point between the systems before it and those after it. All commands are applied there, and
    /// [states](ScheduleBuilder::state) change.
    #[doc(alias = "apply_deferred")]
    #[doc(alias = "ApplyDeferred")]
    pub fn sync(mut self) -> Self {
        self.items.push(Item::Sync);
        self
    }

    /// Adds a [`State`], with the mode that it starts with. The resource is inserted when the schedule is built, if the world
    /// does not have it.
    ///
    /// Changes take effect at the start of each run, and at sync points. First the systems of all modes that are left run, then
    /// those of all modes that are entered, each in the order of adding. A state belongs to one schedule.
    #[doc(alias = "init_state")]
    pub fn state<S: StateValue>(mut self, first: S) -> Self {
        self.transitions.add::<S>();
        self.states.push(Box::new(move |world| {
            world.resources_mut().init(|_| State::new(first));
        }));
        self
    }

    /// Adds a system that runs when a mode is entered, once for each time.
    #[doc(alias = "OnEnter")]
    pub fn on_enter<M, S: StateValue, F: IntoSystem<M, Out: SystemOutput>>(mut self, mode: S, system: F) -> Self {
        self.transitions.on_enter(mode, boxed(system));
        self
    }

    /// Adds a system that runs when a mode is left, once for each time.
    #[doc(alias = "OnExit")]
    pub fn on_exit<M, S: StateValue, F: IntoSystem<M, Out: SystemOutput>>(mut self, mode: S, system: F) -> Self {
        self.transitions.on_exit(mode, boxed(system));
        self
    }

    /// Finds an order for the systems, and creates the states of their parameters for a world.
    ///
    /// The schedule can run in other worlds too.
    ///
    /// # Errors
    ///
    /// - [`BuildError::ParamConflict`] if the parameters of a system conflict.
    /// - [`BuildError::Cycle`] if systems wait for each other.
    /// - [`BuildError::UnknownLabel`] if an order refers to a system or set that is not there.
    /// - [`BuildError::ConditionWrites`] if a condition does not only read.
    /// - [`BuildError::DuplicateName`] if two systems have the same given name.
    pub fn build(mut self, world: &mut World) -> Result<Schedule, BuildError> {
        core::mem::take(&mut self.states).into_iter().for_each(|insert| insert(world));
        Ok(Schedule::new(Plan::new(self, world)?))
    }
}

impl SetConfig {
    /// Runs the systems of the set before others.
    pub fn before<M>(self, other: impl IntoLabel<M>) -> SetConfig {
        self.order(true, other.label())
    }

    /// Runs the systems of the set after others.
    pub fn after<M>(self, other: impl IntoLabel<M>) -> SetConfig {
        self.order(false, other.label())
    }

    /// Runs the systems of the set only if a condition is met. It is tested once in a run, before all of them.
    pub fn run_if<M, C: IntoSystem<M, Out = bool>>(mut self, condition: C) -> SetConfig {
        self.conditions.push(Box::new(condition.into_system()));
        self
    }

    /// Makes the set a part of another one, with its orders and conditions.
    pub fn in_set(mut self, set: impl SystemSet) -> SetConfig {
        self.parents.push(Label::of_set(&set));
        self
    }

    fn order(mut self, is_before: bool, other: Label) -> SetConfig {
        self.orders.push(Order { is_before, other, syncs: true });
        self
    }
}

impl fmt::Debug for ScheduleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScheduleBuilder({}, {} systems)", self.name, self.items.len())
    }
}

impl fmt::Debug for SetConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetConfig({})", self.label)
    }
}
