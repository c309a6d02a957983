//! Measurements of containers and worlds on this machine.

pub(crate) mod cost;
pub(crate) mod footprint;
pub(crate) mod layouts;
pub(crate) mod placement;
pub(crate) mod random;
pub(crate) mod removal;
pub(crate) mod simulation;
pub(crate) mod speed;
pub(crate) mod stats;
pub(crate) mod timing;
pub(crate) mod trial;
