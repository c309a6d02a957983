//! The groups of a world, without their types.

use crate::component::ComponentId;
use crate::sparse::GroupData;
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;

impl World {
    /// Returns the groups, in the order in which they were created.
    pub fn groups(&self) -> impl Iterator<Item = GroupRef<'_>> {
        self.storage.sparse.groups().map(|group| GroupRef { world: self, group })
    }
}

/// A group of a shared world: [`World::groups`].
#[derive(Clone, Copy)]
pub struct GroupRef<'w> {
    world: &'w World,
    group: &'w GroupData,
}

impl<'w> GroupRef<'w> {
    fn ids(&self, storages: &'w [u32]) -> impl Iterator<Item = ComponentId> + use<'w> {
        let sparse = &self.world.storage.sparse;
        storages.iter().map(|storage| sparse.get(*storage).id)
    }

    /// Returns the name of the type that describes the group.
    pub fn name(&self) -> &'static str {
        self.group.desc.name
    }

    /// Returns the components whose sparse sets the group keeps in its order.
    pub fn owned(&self) -> impl Iterator<Item = ComponentId> + use<'w> {
        self.ids(&self.group.desc.owned)
    }

    /// Returns the components that members have, with those that are owned.
    pub fn required(&self) -> impl Iterator<Item = ComponentId> + use<'w> {
        self.ids(&self.group.desc.required)
    }

    /// Returns the components that members do not have.
    pub fn excluded(&self) -> impl Iterator<Item = ComponentId> + use<'w> {
        self.ids(&self.group.desc.excluded)
    }

    /// Returns the members, in the order of the group.
    pub fn entities(&self) -> &'w [Entity] {
        self.world.storage.sparse.members(self.group)
    }
}

impl fmt::Debug for GroupRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupRef({} with {} members)", self.name(), self.entities().len())
    }
}
