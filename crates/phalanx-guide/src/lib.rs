//! Compiles and runs the listings of the guide.
//!
//! Each module has a page of `docs/guide` as its documentation, so that the listings are doc tests. A test of `phalanx-testkit`
//! checks that no page is missing here.

#[doc = include_str!("../../../docs/guide/src/introduction.md")]
mod introduction {}
#[doc = include_str!("../../../docs/guide/src/questions.md")]
mod questions {}
#[doc = include_str!("../../../docs/guide/src/first-world.md")]
mod first_world {}
#[doc = include_str!("../../../docs/guide/src/entities.md")]
mod entities {}
#[doc = include_str!("../../../docs/guide/src/layouts.md")]
mod layouts {}
#[doc = include_str!("../../../docs/guide/src/queries.md")]
mod queries {}
#[doc = include_str!("../../../docs/guide/src/changes.md")]
mod changes {}
#[doc = include_str!("../../../docs/guide/src/systems.md")]
mod systems {}
#[doc = include_str!("../../../docs/guide/src/events.md")]
mod events {}
#[doc = include_str!("../../../docs/guide/src/relations.md")]
mod relations {}
#[doc = include_str!("../../../docs/guide/src/tracking.md")]
mod tracking {}
#[doc = include_str!("../../../docs/guide/src/saving.md")]
mod saving {}
#[doc = include_str!("../../../docs/guide/src/rewinding.md")]
mod rewinding {}
#[doc = include_str!("../../../docs/guide/src/inspecting.md")]
mod inspecting {}
#[doc = include_str!("../../../docs/guide/src/containers.md")]
mod containers {}
#[doc = include_str!("../../../docs/guide/src/syntax.md")]
mod syntax {}
#[doc = include_str!("../../../docs/guide/src/determinism.md")]
mod determinism {}
#[doc = include_str!("../../../docs/guide/src/errors.md")]
mod errors {}
#[doc = include_str!("../../../docs/guide/src/performance.md")]
mod performance {}
#[doc = include_str!("../../../docs/guide/src/coming-from.md")]
mod coming_from {}
#[doc = include_str!("../../../docs/guide/src/from-hecs.md")]
mod from_hecs {}
#[doc = include_str!("../../../docs/guide/src/from-bevy.md")]
mod from_bevy {}
#[doc = include_str!("../../../docs/guide/src/from-entt.md")]
mod from_entt {}
#[doc = include_str!("../../../docs/guide/src/from-flecs.md")]
mod from_flecs {}
#[doc = include_str!("../../../docs/guide/src/from-unity.md")]
mod from_unity {}
#[doc = include_str!("../../../docs/guide/src/from-slotmap.md")]
mod from_slotmap {}
