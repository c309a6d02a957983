//! [`FrameSums`]: the checksums of a frame.

use super::image::{ComponentImage, scatter};
use crate::alloc::{try_reserve, try_vec};
use crate::component::ComponentId;
use phalanx_store::AllocError;

/// The checksums of a frame of a [`Timeline`](super::Timeline): of the whole, of the entities, and of each component.
///
/// They are a function of the state. Two worlds that are in the same state have the same sums, whatever happened before and in
/// whatever order components were registered. Change ticks do not affect them. A sum detects a difference with a probability of
/// nearly one. It is not a signature: states with equal sums can be constructed.
///
/// ```
/// use phalanx::timeline::Timeline;
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Height(i32);
///
/// let mut world = World::new();
/// let stone = world.spawn(Height(100));
/// let mut timeline = Timeline::with_sums(8);
/// timeline.capture(&mut world)?;
/// let before = timeline.sums(0).unwrap().clone();
///
/// world.get_mut::<Height>(stone).unwrap().0 -= 1;
/// timeline.capture(&mut world)?;
/// assert_ne!(timeline.sums(0).unwrap().world(), before.world());
///
/// world.get_mut::<Height>(stone).unwrap().0 += 1;
/// timeline.capture(&mut world)?;
/// assert_eq!(timeline.sums(0), Some(&before));
/// # Ok::<(), phalanx::timeline::TimelineError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSums {
    world: u64,
    entities: u64,
    components: Vec<ComponentSum>,
    resources: Vec<ResourceSum>,
    uncovered: Vec<&'static str>,
}

/// The checksum of the values of a component. Equality does not depend on the id, which another world may have assigned.
#[derive(Clone, Copy, Debug)]
pub struct ComponentSum {
    /// The id of the component in its world.
    pub component: ComponentId,
    /// The type name of the component.
    pub name: &'static str,
    /// The sum of all values.
    pub sum: u64,
}

impl PartialEq for ComponentSum {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.sum) == (other.name, other.sum)
    }
}

impl Eq for ComponentSum {}

/// The checksum of a kept resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceSum {
    /// The type name of the resource.
    pub name: &'static str,
    /// The sum of its bytes, or of nothing if the resource is absent.
    pub sum: u64,
}

impl FrameSums {
    /// Returns sums of nothing, with capacity for the components of a world.
    pub(super) fn try_with_capacity(components: usize) -> Result<FrameSums, AllocError> {
        Ok(FrameSums { components: try_vec(components)?, uncovered: try_vec(components)?, ..Default::default() })
    }

    /// Adds the values of a component in one table or storage. `None` says that they are not covered.
    pub(super) fn add(&mut self, component: ComponentId, image: &ComponentImage, sum: Option<u64>) {
        let Some(sum) = sum else {
            if !self.uncovered.contains(&image.name) {
                self.uncovered.push(image.name);
            }
            return;
        };
        self.world = self.world.wrapping_add(sum);
        match self.components.iter_mut().find(|entry| entry.component == component) {
            Some(entry) => entry.sum = entry.sum.wrapping_add(sum),
            None => self.components.push(ComponentSum { component, name: image.name, sum }),
        }
    }

    /// Sets the sum of the entities.
    pub(super) fn set_entities(&mut self, sum: u64) {
        self.entities = sum;
        self.world = self.world.wrapping_add(scatter(sum));
    }

    /// Adds a kept resource: its fingerprint and the hash of its bytes, or `None` if it is not covered.
    pub(super) fn try_add_resource(&mut self, name: &'static str, bytes: Option<(u64, u64)>) -> Result<(), AllocError> {
        let Some((fingerprint, hash)) = bytes else {
            try_reserve(&mut self.uncovered, 1)?;
            self.uncovered.push(name);
            return Ok(());
        };
        try_reserve(&mut self.resources, 1)?;
        let sum = scatter(hash ^ scatter(fingerprint));
        self.resources.push(ResourceSum { name, sum });
        self.world = self.world.wrapping_add(sum);
        Ok(())
    }

    /// Sorts the lists, so that equal states have equal lists.
    pub(super) fn sort(&mut self) {
        self.components.sort_unstable_by_key(|entry| (entry.name, entry.component));
        self.resources.sort_unstable_by_key(|entry| entry.name);
        self.uncovered.sort_unstable();
    }

    /// Returns the sum of everything that is covered.
    pub fn world(&self) -> u64 {
        self.world
    }

    /// Returns the sum of the entities: which are alive, in which rows and order they are, the free list, and groups.
    pub fn entities(&self) -> u64 {
        self.entities
    }

    /// Returns the sums of the components that have values, sorted by name.
    pub fn components(&self) -> &[ComponentSum] {
        &self.components
    }

    /// Returns the sums of the [plain](crate::ResourcesMut::keep_plain) kept resources, sorted by name.
    pub fn resources(&self) -> &[ResourceSum] {
        &self.resources
    }

    /// Returns the type names of the components and kept resources that are not covered, because they are not plain.
    pub fn uncovered(&self) -> &[&'static str] {
        &self.uncovered
    }

    /// Returns the names of the components and resources whose sums differ, sorted. An absent one has no sum.
    pub fn differing(&self, other: &FrameSums) -> Vec<&'static str> {
        let all = |sums: &FrameSums| {
            let components = sums.components.iter().map(|entry| (entry.name, entry.sum));
            components.chain(sums.resources.iter().map(|entry| (entry.name, entry.sum))).collect::<Vec<_>>()
        };
        let (ours, theirs) = (all(self), all(other));
        let mut names: Vec<_> = ours.iter().filter(|entry| !theirs.contains(entry)).map(|entry| entry.0).collect();
        names.extend(theirs.iter().filter(|entry| !ours.contains(entry)).map(|entry| entry.0));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the number of bytes that are allocated.
    pub(super) fn memory(&self) -> usize {
        self.components.capacity() * size_of::<ComponentSum>()
            + self.resources.capacity() * size_of::<ResourceSum>()
            + self.uncovered.capacity() * size_of::<&str>()
    }
}
