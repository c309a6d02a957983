//! What belongs to a state of a world beside its entities.

use super::error::TimelineError;
use super::rollback_report::RollbackReport;
use crate::alloc::{try_clone_slice, try_vec};
use crate::resources::KeptResources;
use crate::world::World;
use phalanx_store::{AllocError, Entity};

/// What belongs to a state of a world beside its entities: resources, and how far collectors were.
///
/// That of a delta is empty: it covers no resource, and nothing that collectors have recorded.
#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) resources: KeptResources,
    recorded: u64,
    /// The entities whose spawning listeners were still to be told of. A delta leaves those that are still alive.
    untold: Option<Vec<Entity>>,
}

impl Context {
    /// Copies the context of a world as it is.
    pub(super) fn try_new(world: &World) -> Result<Context, TimelineError> {
        world.resources.check_kept()?;
        let mut untold = try_vec(world.storage.journal.pending_spawns().count())?;
        untold.extend(world.storage.journal.pending_spawns());
        let resources = world.resources.try_clone_kept()?;
        Ok(Context { resources, recorded: world.storage.journal.collected(), untold: Some(untold) })
    }

    /// Copies the context for a world that is to be brought back to it.
    pub(super) fn try_clone_for(&self, world: &World) -> Result<Context, TimelineError> {
        world.resources.check_kept()?;
        let untold = self.untold.as_deref().map(try_clone_slice).transpose()?;
        Ok(Context { resources: self.resources.try_clone()?, recorded: self.recorded, untold })
    }

    /// Returns the bytes held from the allocator, without what resources hold themselves.
    pub(super) fn memory(&self) -> usize {
        self.resources.memory() + self.untold.as_ref().map_or(0, |untold| untold.capacity() * size_of::<Entity>())
    }
}

impl World {
    /// Takes over a state that was made for this world, with its context. Reports what it removes and restores, if asked.
    ///
    /// Returns the state that was discarded, to be dropped when nothing else is left to be done. On error nothing has changed.
    pub(super) fn try_take_over(
        &mut self,
        fresh: World,
        mut context: Context,
        report: Option<&mut RollbackReport>,
    ) -> Result<(World, Context), AllocError> {
        if let Some(report) = report {
            *report = RollbackReport::try_between(self, &fresh)?;
        }
        self.storage.journal.try_reserve_pending_spawns(context.untold.as_ref().map_or(0, Vec::len))?;
        let old = self.swap_state(fresh);
        self.resources.swap_kept(&mut context.resources);
        self.storage.journal.truncate_collected(context.recorded);
        if let Some(untold) = &context.untold {
            self.storage.journal.set_pending_spawns(untold);
        }
        Ok((old, context))
    }
}
