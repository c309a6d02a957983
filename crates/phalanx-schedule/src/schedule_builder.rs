//! [`ScheduleBuilder`]: the systems of a schedule, before their order is found.

use crate::boxed_system::{SystemOutput, boxed};
use crate::build_error::BuildError;
use crate::label::{Key, Label, SystemSet};
use crate::plan::{Item, Plan};
use crate::schedule::Schedule;
use crate::set_config::SetConfig;
use crate::state::{State, StateValue, Transitions};
use crate::system_config::{IntoSystemConfigs, Order};
use core::fmt;
use phalanx::World;
use phalanx::system::IntoSystem;

/// The systems of a schedule, created by [`Schedule::builder`].
#[must_use = "`build` makes it a schedule"]
pub struct ScheduleBuilder {
    name: String,
    items: Vec<Item>,
    sets: Vec<SetConfig>,
    transitions: Transitions,
    /// Insert the states that a world does not have.
    states: Vec<InsertState>,
}

/// Inserts a state into a world that does not have it.
type InsertState = Box<dyn FnOnce(&mut World)>;

impl Schedule {
    /// Returns a builder for a schedule. The name distinguishes it from other schedules of the same world.
    pub fn builder(name: impl Into<String>) -> ScheduleBuilder {
        ScheduleBuilder::new(name.into())
    }
}

impl ScheduleBuilder {
    fn new(name: String) -> ScheduleBuilder {
        let (items, sets, states) = (Vec::new(), Vec::new(), Vec::new());
        ScheduleBuilder { name, items, sets, transitions: Transitions::default(), states }
    }

    /// Adds a system, or a tuple of systems.
    ///
    /// Systems that conflict and have no order run in the order in which they are added.
    #[allow(clippy::should_implement_trait)]
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
        self.sets.push(configure(SetConfig::new(Label::of_set(&set))));
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
    pub fn build(self, world: &mut World) -> Result<Schedule, BuildError> {
        let ScheduleBuilder { name, items, sets, transitions, states } = self;
        states.into_iter().for_each(|insert| insert(world));
        Ok(Schedule::new(Plan::new(name, items, sets, transitions, world)?))
    }
}

impl fmt::Debug for ScheduleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScheduleBuilder({}, {} systems)", self.name, self.items.len())
    }
}
