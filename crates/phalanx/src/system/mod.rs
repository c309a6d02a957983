//! Systems: functions whose parameters come from a world.
//!
//! ```
//! use phalanx::system::{Commands, IntoSystem, Res};
//! use phalanx::{Component, Entity, Query, World};
//!
//! #[derive(Component)]
//! struct Age(u32);
//! struct OldAge(u32);
//!
//! fn grow(mut ages: Query<&mut Age>) {
//!     ages.iter_mut().for_each(|age| age.0 += 1);
//! }
//!
//! fn die(ages: Query<(Entity, &Age)>, limit: Res<OldAge>, mut commands: Commands) {
//!     for (entity, age) in &ages {
//!         if age.0 > limit.0 {
//!             commands.despawn(entity);
//!         }
//!     }
//! }
//!
//! let mut world = World::new();
//! world.insert_resource(OldAge(80));
//! world.spawn_batch([Age(30), Age(80)]);
//! let (mut grow, mut die) = (grow.into_system(), die.into_system());
//! world.run_system(&mut grow);
//! world.run_system(&mut die);
//! assert_eq!(world.len(), 1);
//! ```
//!
//! The [parameters](SystemParam) of a system say what it touches. So the crate `phalanx-schedule` knows which systems can run
//! at the same time.

mod commands;
mod function_system;
mod local;
mod outcome;
mod param_set;
mod query_param;
mod res;
mod run_context;
mod short_name;
mod stage_start;
#[allow(clippy::module_inception)]
mod system;
mod system_access;
mod system_param;
mod world_param;

pub use crate::event::{EventReader, EventWriter};
pub use crate::resources::{Res, ResMut};
pub use commands::Commands;
#[doc(hidden)]
pub use function_system::{ExclusiveMarker, FunctionMarker, SystemMarker};
pub use function_system::{ExclusiveSystem, FunctionSystem, SystemFunction};
pub use local::Local;
pub use outcome::Outcome;
pub use param_set::ParamSet;
#[doc(hidden)]
pub use res::ResourceNumber;
pub use run_context::{Reservations, RunContext, Turn};
pub use short_name::ShortName;
pub use stage_start::StageStart;
pub use system::{IntoSystem, System, state_id};
pub use system_access::{AccessKey, Conflict, ParamConflict, SystemAccess, WorldAccess};
pub use system_param::{ParamSetup, SystemParam};
