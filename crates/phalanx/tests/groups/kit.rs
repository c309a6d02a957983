//! The components that the cases are made of.

use phalanx::Component;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", clone)]
pub(crate) struct A(pub(crate) u64);
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool", clone)]
pub(crate) struct B(pub(crate) String);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", clone)]
pub(crate) struct C(pub(crate) u8);
/// Without size.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", clone)]
pub(crate) struct D;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", clone)]
pub(crate) struct L(pub(crate) u16);
/// Without size.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear", clone)]
pub(crate) struct M;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
pub(crate) struct Table(pub(crate) u32);
