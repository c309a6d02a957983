//! Inserts those components of a bundle that an entity does not have.

use super::{BundleBuilder, EntityMut, World};
use crate::bundle::{AddComponent, Bundle};
use crate::component::{Component, ComponentId};
use crate::error::{StructuralError, infallible};
use phalanx_store::Entity;

impl EntityMut<'_> {
    /// Inserts those components of `bundle` that the entity does not have, in one archetype move. The others are dropped, and the
    /// entity keeps the values that it has.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    /// #[derive(Component)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Health(3));
    /// world.entity_mut(e)?.insert_if_new((Health(100), Armour(5)));
    /// assert_eq!(world.get::<Health>(e).unwrap().0, 3);
    /// assert_eq!(world.get::<Armour>(e).unwrap().0, 5);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    ///
    /// To make a value only if it is needed, there is [`entry`](EntityMut::entry).
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[doc(alias = "try_emplace")]
    #[doc(alias = "get_or_emplace")]
    #[track_caller]
    pub fn insert_if_new<B: Bundle>(&mut self, bundle: B) -> &mut Self {
        infallible(self.try_insert_if_new(bundle));
        self
    }

    /// Inserts components that are missing, like [`insert_if_new`](EntityMut::insert_if_new), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn try_insert_if_new<B: Bundle>(&mut self, bundle: B) -> Result<(), StructuralError> {
        insert_new(self.world, self.entity, bundle)
    }
}

fn insert_new<B: Bundle>(world: &mut World, entity: Entity, bundle: B) -> Result<(), StructuralError> {
    let bundle_id = world.bundle_id_of(&bundle)?;
    world.storage.flush()?;
    world.storage.try_location(entity)?;
    let ids = world.bundles.get(bundle_id).ids.iter().filter(|id| **id != ComponentId::UNKNOWN);
    let (count, present) =
        ids.fold((0, 0), |(count, present), id| (count + 1, present + usize::from(world.storage.has(entity, *id))));
    if present == 0 {
        return world.try_insert(entity, bundle);
    }
    // Dropped last, also on error.
    let mut unused = BundleBuilder::new();
    let mut new = BundleBuilder::new();
    unused.try_reserve_bundle::<B>(present)?;
    new.try_reserve_bundle::<B>(count - present)?;
    bundle.add_to(&mut Missing { world, entity, new: &mut new, unused: &mut unused });
    match new.is_empty() {
        true => Ok(()),
        false => new.try_insert(world, entity),
    }
}

/// Receives the components of a bundle: those that an entity does not have, and the others.
struct Missing<'a> {
    world: &'a World,
    entity: Entity,
    new: &'a mut BundleBuilder,
    unused: &'a mut BundleBuilder,
}

impl AddComponent for Missing<'_> {
    fn add_component<C: Component>(&mut self, component: C) {
        let list = if self.world.has::<C>(self.entity) { &mut *self.unused } else { &mut *self.new };
        list.add(component);
    }
}
