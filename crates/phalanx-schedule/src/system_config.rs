//! [`SystemConfig`]: a system with its orders, sets and conditions.

use crate::boxed_system::{BoxedCondition, BoxedSystem, SystemOutput, boxed};
use crate::label::{IntoLabels, Key, Label, SystemSet};
use core::any::{TypeId, type_name};
use core::fmt;
use phalanx::system::IntoSystem;

/// A system with its orders, sets and conditions, made by [`IntoSystemConfig`].
pub struct SystemConfig {
    pub(crate) system: BoxedSystem,
    pub(crate) function: Label,
    pub(crate) name: Option<String>,
    pub(crate) orders: Vec<Order>,
    pub(crate) sets: Vec<Label>,
    pub(crate) conditions: Vec<BoxedCondition>,
    pub(crate) reservations: u32,
}

/// An order between a system or a set and others.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) is_before: bool,
    pub(crate) other: Label,
    /// Whether commands of the first are applied before the second runs.
    pub(crate) syncs: bool,
}

impl fmt::Debug for SystemConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.clone().unwrap_or_else(|| self.function.to_string());
        f.debug_struct("SystemConfig").field("name", &name).field("orders", &self.orders).finish_non_exhaustive()
    }
}

/// A function that can be added to a schedule, or one that has orders, sets and conditions already.
///
/// ```
/// use phalanx::World;
/// use phalanx_schedule::{IntoSystemConfig, Schedule};
///
/// fn input() {}
/// fn walk() {}
/// fn draw() {}
///
/// let mut world = World::new();
/// let frame = Schedule::builder("frame")
///     .add(draw.after(walk))
///     .add(walk.after(input).run_if(|world: &World| !world.is_empty()))
///     .add(input)
///     .build(&mut world)?;
/// assert!(frame.systems().eq(["input", "walk", "draw"]));
/// # Ok::<(), phalanx_schedule::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added to a schedule",
    label = "not a system of a schedule",
    note = "a system is a function or closure with at most 12 parameters, each of which is a `SystemParam`: `Query`, `Res`, `ResMut`, `Commands`, `Local`, `EventReader`, `EventWriter`, `&World` and so on, or with the only parameter `&mut World`",
    note = "it returns nothing or `Result<(), E>`",
    note = "several systems are added as a tuple of at most 12"
)]
pub trait IntoSystemConfig<Marker>: Sized {
    /// Returns the system, without orders, sets and conditions if it is a function.
    fn into_config(self) -> SystemConfig;

    /// Runs the system before others. The others see what its commands do.
    fn before<M>(self, other: impl IntoLabels<M>) -> SystemConfig {
        self.into_config().order(true, &other.labels(), true)
    }

    /// Runs the system after others. It sees what their commands do.
    fn after<M>(self, other: impl IntoLabels<M>) -> SystemConfig {
        self.into_config().order(false, &other.labels(), true)
    }

    /// Runs the system after others, which may have recorded commands that are not applied yet.
    fn after_unsynced<M>(self, other: impl IntoLabels<M>) -> SystemConfig {
        self.into_config().order(false, &other.labels(), false)
    }

    /// Makes the system a member of a set.
    fn in_set(self, set: impl SystemSet) -> SystemConfig {
        let mut config = self.into_config();
        config.sets.push(Label::of_set(&set));
        config
    }

    /// Runs the system only if a condition is met. The condition is a system that returns `bool` and only reads.
    ///
    /// The condition is tested right before the system would run. With several, all must be met. Those after one that is
    /// not met are not tested.
    #[doc(alias = "distributive_run_if")]
    fn run_if<M, C: IntoSystem<M, Out = bool>>(self, condition: C) -> SystemConfig {
        let mut config = self.into_config();
        config.conditions.push(Box::new(condition.into_system()));
        config
    }

    /// Gives the system a name. By default it has that of its function.
    fn named(self, name: impl Into<String>) -> SystemConfig {
        let mut config = self.into_config();
        config.name = Some(name.into());
        config
    }

    /// Sets how many entities the system can spawn without waiting for the systems before it. The default is 64.
    ///
    /// A system that spawns more waits until the systems before it in its stage have run that record commands. The result
    /// does not depend on the number of threads, but it depends on this number: it decides which indices entities get.
    fn reserve_spawns(self, count: u32) -> SystemConfig {
        let mut config = self.into_config();
        config.reservations = count;
        config
    }
}

impl SystemConfig {
    fn order(mut self, is_before: bool, others: &[Label], syncs: bool) -> SystemConfig {
        self.orders.extend(others.iter().map(|other| Order { is_before, other: other.clone(), syncs }));
        self
    }
}

impl IntoSystemConfig<()> for SystemConfig {
    fn into_config(self) -> SystemConfig {
        self
    }
}

/// Tells functions from systems with orders.
#[doc(hidden)]
#[derive(Debug)]
pub struct FunctionMarker;

impl<M, F: IntoSystem<M, Out: SystemOutput> + 'static> IntoSystemConfig<(FunctionMarker, M)> for F {
    fn into_config(self) -> SystemConfig {
        SystemConfig {
            system: boxed(self),
            function: Label { key: Key::Function(TypeId::of::<F>(), type_name::<F>()) },
            name: None,
            orders: Vec::new(),
            sets: Vec::new(),
            conditions: Vec::new(),
            reservations: 64,
        }
    }
}

/// A system, or a tuple of systems.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added to a schedule",
    label = "not a system of a schedule",
    note = "a system is a function or closure with at most 12 parameters, each of which is a `SystemParam`: `Query`, `Res`, `ResMut`, `Commands`, `Local`, `EventReader`, `EventWriter`, `&World` and so on, or with the only parameter `&mut World`",
    note = "it returns nothing or `Result<(), E>`",
    note = "several systems are added as a tuple of at most 12"
)]
pub trait IntoSystemConfigs<Marker> {
    /// Returns the systems.
    fn into_configs(self) -> Vec<SystemConfig>;
}

/// Tells one system from a tuple.
#[doc(hidden)]
#[derive(Debug)]
pub struct OneMarker;

impl<M, S: IntoSystemConfig<M>> IntoSystemConfigs<(OneMarker, M)> for S {
    fn into_configs(self) -> Vec<SystemConfig> {
        vec![self.into_config()]
    }
}

/// Tells a tuple from one system.
#[doc(hidden)]
#[derive(Debug)]
pub struct TupleMarker;

macro_rules! tuple {
    ($($name:ident $marker:ident)*) => {
        impl<$($marker, $name: IntoSystemConfigs<$marker>),*> IntoSystemConfigs<(TupleMarker, $($marker),*)> for ($($name,)*) {
            #[allow(non_snake_case)]
            fn into_configs(self) -> Vec<SystemConfig> {
                let ($($name,)*) = self;
                let mut configs = Vec::new();
                $(configs.extend($name.into_configs());)*
                configs
            }
        }
    };
}
tuple!(A MA);
tuple!(A MA B MB);
tuple!(A MA B MB C MC);
tuple!(A MA B MB C MC D MD);
tuple!(A MA B MB C MC D MD E ME);
tuple!(A MA B MB C MC D MD E ME F MF);
tuple!(A MA B MB C MC D MD E ME F MF G MG);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI J MJ);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI J MJ K MK);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI J MJ K MK L ML);
