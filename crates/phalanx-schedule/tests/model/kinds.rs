//! The components, resources and events of random systems.

use phalanx::event::Events;
use phalanx::snapshot::Registry;
use phalanx::{Component, Event};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// In tables.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct A(pub u32);
/// In a pool.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
pub struct P(pub u32);
/// In a linear storage.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[component(layout = "linear")]
pub struct L(pub u32);
/// In tables, with ticks of rows.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[component(track = "row")]
pub struct R(pub u32);
/// In a pool, with ticks of rows.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool", track = "row")]
pub struct S(pub u32);
/// In tables, with ticks of columns.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[component(track = "column")]
pub struct C(pub u32);
/// In a table, for filters.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Tag;
/// In a pool, for filters.
#[derive(Component, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
pub struct Loose;

#[derive(Serialize, Deserialize, Default, Clone, Debug, PartialEq)]
pub struct Seed(pub u32);
#[derive(Serialize, Deserialize, Default, Clone, Debug, PartialEq)]
pub struct Log1(pub Vec<u32>);
#[derive(Serialize, Deserialize, Default, Clone, Debug, PartialEq)]
pub struct Log2(pub Vec<u32>);
/// What filters by ticks of columns find. It depends on tables, which the interpreter does not have.
#[derive(Serialize, Deserialize, Default, Clone, Debug, PartialEq)]
pub struct Column(pub Vec<u32>);

#[derive(Event, Serialize, Deserialize, Clone, Debug)]
#[event(clone)]
pub struct Ping(pub u32);
#[derive(Event, Serialize, Deserialize, Clone, Debug)]
pub struct Pong(pub u32);

pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut registry = Registry::new();
        registry.serde::<A>("a").unwrap();
        registry.serde::<P>("p").unwrap();
        registry.serde::<L>("l").unwrap();
        registry.serde::<R>("r").unwrap();
        registry.serde::<S>("s").unwrap();
        registry.serde::<C>("c").unwrap();
        registry.serde::<Tag>("tag").unwrap();
        registry.serde::<Loose>("loose").unwrap();
        registry.serde_resource::<Seed>("seed").unwrap();
        registry.serde_resource::<Log1>("log1").unwrap();
        registry.serde_resource::<Log2>("log2").unwrap();
        registry.serde_resource::<Column>("column").unwrap();
        registry.serde_resource::<Events<Ping>>("ping").unwrap();
        registry.serde_resource::<Events<Pong>>("pong").unwrap();
        registry
    })
}
