//! Inserts a bundle into each of many entities.

use super::World;
use super::slot_batch::insert_each;
use crate::alloc::{try_reserve, try_vec};
use crate::bundle::Bundle;
use crate::error::{NoSuchEntity, StructuralError, require_alive};
use phalanx_store::{AllocError, Entity};

impl World {
    /// Inserts a bundle into each of many entities: into all of them, or nothing changes. Components that an entity already has
    /// are overwritten.
    ///
    /// The iterator is exhausted before anything changes. If an entity occurs more than once, its last bundle is inserted and the
    /// others are dropped. [Listeners](crate::signal) are called once, at the end, and overwritten values are dropped after that.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Ship;
    /// #[derive(Component)]
    /// struct Target(f32);
    ///
    /// let mut world = World::new();
    /// let ships: Vec<_> = (0..3).map(|_| world.spawn(Ship)).collect();
    /// world.insert_batch((0..).zip(&ships).map(|(n, ship)| (*ship, Target(n as f32))))?;
    /// assert_eq!(world.get::<Target>(ships[2]).unwrap().0, 2.0);
    ///
    /// world.despawn(ships[1])?;
    /// assert!(world.insert_batch(ships.iter().map(|ship| (*ship, Target(7.0)))).is_err());
    /// assert_eq!(world.get::<Target>(ships[0]).unwrap().0, 0.0, "nothing has changed");
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    ///
    /// To insert clones of one bundle into all entities that pass a filter, there is [`insert_where`](World::insert_where).
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] for the first entity that is not alive. The bundles are dropped, and nothing else changes.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice. If creating a [required component](crate::Component#required-components) panics,
    /// nothing has changed.
    #[doc(alias = "insert_or_spawn_batch")]
    #[track_caller]
    pub fn insert_batch<B: Bundle>(
        &mut self,
        bundles: impl IntoIterator<Item = (Entity, B)>,
    ) -> Result<(), NoSuchEntity> {
        require_alive(self.try_insert_batch(bundles))
    }

    /// Inserts a bundle into each of many entities, like [`insert_batch`](World::insert_batch), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] for the first entity that is not alive.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundles are dropped, and nothing else changes.
    pub fn try_insert_batch<B: Bundle>(
        &mut self,
        bundles: impl IntoIterator<Item = (Entity, B)>,
    ) -> Result<(), StructuralError> {
        let (mut slots, mut list) = (Vec::new(), Vec::new());
        for (entity, bundle) in bundles {
            try_reserve(&mut slots, 1)?;
            try_reserve(&mut list, 1)?;
            slots.push(entity);
            list.push(bundle);
        }
        // A bundle that contains a component twice is refused, also if there are no entities.
        self.full_bundle_id::<B>()?;
        self.storage.flush()?;
        for slot in &slots {
            self.storage.try_location(*slot)?;
        }
        // Dropped after everything else, also on error.
        let _overridden = try_keep_last(&mut slots, &mut list)?;
        insert_each(self, slots, list)
    }
}

/// Removes all but the last bundle of each entity, and returns the removed ones.
fn try_keep_last<B>(slots: &mut Vec<Entity>, bundles: &mut Vec<B>) -> Result<Vec<B>, AllocError> {
    let mut sorted = try_vec(slots.len())?;
    sorted.extend(slots.iter().copied().zip(0_usize..));
    sorted.sort_unstable();
    let is_repeated = |pair: &&[(Entity, usize)]| pair[0].0 == pair[1].0;
    let repeated = sorted.windows(2).filter(is_repeated).count();
    let mut removed = try_vec(repeated)?;
    if repeated > 0 {
        let mut is_last = try_vec(slots.len())?;
        is_last.resize(slots.len(), true);
        sorted.windows(2).filter(is_repeated).for_each(|pair| is_last[pair[0].1] = false);
        let mut kept = try_vec(slots.len() - repeated)?;
        for (bundle, is_last) in bundles.drain(..).zip(&is_last) {
            if *is_last { &mut kept } else { &mut removed }.push(bundle);
        }
        *bundles = kept;
        let mut is_last = is_last.iter();
        slots.retain(|_| is_last.next().is_some_and(|is_last| *is_last));
    }
    Ok(removed)
}
