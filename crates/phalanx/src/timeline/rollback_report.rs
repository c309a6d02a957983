//! [`RollbackReport`]: the entities that a rollback removed and restored.

use crate::alloc::try_vec;
use crate::world::World;
use phalanx_store::{AllocError, Entity};

/// The entities that a rollback, a rewind or a delta removed and restored.
///
/// Entities are compared by their handles. An entity that was alive before and is alive afterwards is in neither list, also
/// if it was despawned and spawned again in between. Both lists are in ascending order of index.
///
/// ```
/// use phalanx::World;
///
/// let mut world = World::new();
/// let [ann, bob] = [world.spawn_empty(), world.spawn_empty()];
/// let before = world.checkpoint()?;
/// world.despawn(ann).unwrap();
/// let eve = world.spawn_empty();
/// let report = world.rollback_with_report(&before)?;
/// assert_eq!((report.removed, report.restored), (vec![eve], vec![ann]));
/// assert!(world.contains(bob));
/// # Ok::<(), phalanx::timeline::TimelineError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RollbackReport {
    /// The entities that were alive, and are dead now.
    pub removed: Vec<Entity>,
    /// The entities that are alive, and were not before.
    pub restored: Vec<Entity>,
}

impl RollbackReport {
    /// Compares the entities of two states.
    pub(super) fn try_between(before: &World, after: &World) -> Result<RollbackReport, AllocError> {
        Ok(RollbackReport { removed: try_missing(before, after)?, restored: try_missing(after, before)? })
    }
}

/// Returns the entities of one world that another does not have.
fn try_missing(of: &World, other: &World) -> Result<Vec<Entity>, AllocError> {
    let missing = || of.iter().filter(|entity| !other.contains(*entity));
    let mut list = try_vec(missing().count())?;
    list.extend(missing());
    Ok(list)
}
