//! [`KeptState`]: what a checkpoint covers beside entities.

use super::error::TimelineError;
use super::rollback_report::RollbackReport;
use crate::alloc::{try_clone_slice, try_vec};
use crate::journal::KeptValues;
use crate::resources::KeptResources;
use crate::world::World;
use phalanx_store::{AllocError, Entity};

/// The kept resources of a world, the position of its collectors, and the spawned entities that are not dispatched yet.
///
/// That of a delta has only the resources that it changes, and nothing that collectors have recorded.
#[derive(Debug, Default)]
pub(super) struct KeptState {
    pub(super) resources: KeptResources,
    recorded: u64,
    /// The spawned entities that listeners have not seen yet. A delta leaves those that are still alive.
    undispatched: Option<Vec<Entity>>,
    /// The values that collectors have kept in a time that is undone. The caller of a rollback drops them.
    undone_values: Vec<Box<dyn KeptValues>>,
}

impl KeptState {
    /// Returns the state of a delta, which covers these resources.
    pub(super) fn of_delta(resources: KeptResources) -> KeptState {
        KeptState { resources, ..Default::default() }
    }

    /// Copies the state of a world.
    pub(super) fn try_new(world: &World) -> Result<KeptState, TimelineError> {
        world.resources.check_kept()?;
        let journal = &world.storage.journal;
        let mut undispatched = try_vec(journal.pending_spawns().count())?;
        undispatched.extend(journal.pending_spawns());
        let resources = world.resources.try_clone_kept()?;
        let (recorded, undispatched) = (journal.collected(), Some(undispatched));
        Ok(KeptState { resources, recorded, undispatched, undone_values: Vec::new() })
    }

    /// Copies the state for a rollback of `world`.
    pub(super) fn try_clone_for(&self, world: &World) -> Result<KeptState, TimelineError> {
        world.resources.check_kept()?;
        let undispatched = self.undispatched.as_deref().map(try_clone_slice).transpose()?;
        Ok(KeptState {
            resources: self.resources.try_clone_for(&world.resources)?,
            recorded: self.recorded,
            undispatched,
            undone_values: Vec::new(),
        })
    }

    /// Returns the number of bytes that are allocated, without what resources own.
    pub(super) fn memory(&self) -> usize {
        let undispatched = self.undispatched.as_ref().map_or(0, Vec::capacity);
        self.resources.memory() + undispatched * size_of::<Entity>()
    }

    /// Replaces the state of `world` by this one and the entities of `restored`, which was restored for it.
    ///
    /// Fills `report`, if there is one. Returns the replaced state, which the caller drops when everything else is done. On
    /// error nothing has changed.
    pub(super) fn try_swap(
        mut self,
        world: &mut World,
        restored: World,
        report: Option<&mut RollbackReport>,
    ) -> Result<(World, KeptState), AllocError> {
        if let Some(report) = report {
            *report = RollbackReport::try_between(world, &restored)?;
        }
        self.try_reserve_in(world)?;
        let old = world.swap_state(restored);
        self.swap_into(world);
        Ok((old, self))
    }

    /// Reserves what [`swap_into`](KeptState::swap_into) needs.
    pub(super) fn try_reserve_in(&mut self, world: &mut World) -> Result<(), AllocError> {
        world.storage.journal.try_reserve_pending_spawns(self.undispatched.as_ref().map_or(0, Vec::len))?;
        self.undone_values = world.storage.journal.try_lists_since(self.recorded)?;
        Ok(())
    }

    /// Exchanges this state and that of a world whose entities are restored. The caller drops it when everything else is done.
    pub(super) fn swap_into(&mut self, world: &mut World) {
        world.resources.swap_kept(&mut self.resources, world.storage.tick());
        world.storage.journal.truncate_collected(self.recorded, &mut self.undone_values);
        if let Some(undispatched) = &self.undispatched {
            world.storage.journal.set_pending_spawns(undispatched);
        }
    }
}
