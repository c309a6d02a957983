//! [`SetConfig`]: the orders and conditions of a set of systems.

use crate::boxed_system::BoxedCondition;
use crate::label::{IntoLabels, Label, SystemSet};
use crate::system_config::Order;
use core::fmt;
use phalanx::system::IntoSystem;

/// The orders and conditions of a set: see [`ScheduleBuilder::set`](crate::ScheduleBuilder::set).
pub struct SetConfig {
    pub(crate) label: Label,
    pub(crate) orders: Vec<Order>,
    pub(crate) conditions: Vec<BoxedCondition>,
    pub(crate) parents: Vec<Label>,
}

impl SetConfig {
    pub(crate) fn new(label: Label) -> SetConfig {
        SetConfig { label, orders: Vec::new(), conditions: Vec::new(), parents: Vec::new() }
    }

    /// Runs the systems of the set before others.
    pub fn before<M>(self, other: impl IntoLabels<M>) -> SetConfig {
        self.order(true, &other.labels())
    }

    /// Runs the systems of the set after others.
    pub fn after<M>(self, other: impl IntoLabels<M>) -> SetConfig {
        self.order(false, &other.labels())
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

    fn order(mut self, is_before: bool, others: &[Label]) -> SetConfig {
        self.orders.extend(others.iter().map(|other| Order { is_before, other: other.clone(), syncs: true }));
        self
    }
}

impl fmt::Debug for SetConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetConfig({})", self.label)
    }
}
