//! Operations on one entity, or a few, that stand on the plain ones.
#![allow(unsafe_code)]

use super::World;
use super::access::Mut;
use crate::alloc::unwrap_alloc;
use crate::bundle::Bundle;
use crate::component::Component;
use crate::error::panic_change;
use crate::error::{ChangeError, ComponentError, NoSuchEntity};
use crate::journal::Spot;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Gives components to an entity that a closure makes, if the entity is alive.
    ///
    /// The closure runs before anything changes: if it panics, nothing has happened.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Path(Vec<u32>);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn_empty();
    /// world.insert_with(e, || Path((0..100).collect())).unwrap();
    /// world.despawn(e).unwrap();
    /// assert!(world.insert_with::<Path>(e, || unreachable!("nobody to give it to")).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the closure is not called then.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn insert_with<B: Bundle>(&mut self, entity: Entity, bundle: impl FnOnce() -> B) -> Result<(), NoSuchEntity> {
        match self.try_insert_with(entity, bundle) {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => panic_change(error),
        }
    }

    /// As [`insert_with`](World::insert_with).
    ///
    /// # Errors
    ///
    /// If the entity is not alive (the closure is not called then), the bundle names a component twice, or memory cannot
    /// be had; nothing happens.
    pub fn try_insert_with<B: Bundle>(
        &mut self,
        entity: Entity,
        bundle: impl FnOnce() -> B,
    ) -> Result<(), ChangeError> {
        self.storage.flush()?;
        self.storage.try_location(entity)?;
        self.try_insert(entity, bundle())
    }

    /// Changes a component in its place, and returns what the closure returns.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Purse(3));
    /// let before = world.patch::<Purse, _>(e, |purse| std::mem::replace(&mut purse.0, 10)).unwrap();
    /// assert_eq!((before, world.get::<Purse>(e).unwrap().0), (3, 10));
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component; the closure is not called then.
    #[track_caller]
    pub fn patch<C: Component, R>(
        &mut self,
        entity: Entity,
        change: impl FnOnce(Mut<'_, C>) -> R,
    ) -> Result<R, ComponentError> {
        unwrap_alloc(self.storage.flush());
        unwrap_alloc(self.storage.reserve_entries(1));
        let outcome = change(self.get_mut::<C>(entity)?);
        self.storage.record_set::<C>(entity, Spot::None);
        self.dispatch();
        Ok(outcome)
    }

    /// A component of several entities, for writing all at once.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let [thief, victim] = [world.spawn(Purse(0)), world.spawn(Purse(9))];
    /// let [to, from] = world.get_many_mut::<Purse, 2>([thief, victim]).unwrap();
    /// std::mem::swap(&mut to.0, &mut from.0);
    /// assert_eq!(world.get::<Purse>(thief).unwrap().0, 9);
    /// assert!(world.get_many_mut::<Purse, 2>([thief, thief]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If an entity is not alive or does not have the component, or comes twice; the first in order is named.
    pub fn get_many_mut<C: Component, const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[Mut<'_, C>; N], ComponentError> {
        let mut places = [(core::ptr::null(), 0); N];
        for (at, &entity) in entities.iter().enumerate() {
            let place = self.find::<C>(entity)?;
            if entities[..at].contains(&entity) {
                return Err(ComponentError::NamedTwice { entity });
            }
            places[at] = place;
        }
        // SAFETY: each lane is the component's and each row in use; the entities differ, so the rows do, and the world
        // is borrowed exclusively.
        Ok(places.map(|(lane, row)| unsafe { self.item_mut::<C>(lane, row) }))
    }

    /// Makes exactly this entity, with these components: for entities whose numbers come from elsewhere.
    ///
    /// The entity is one of these:
    ///
    /// - alive and without components, as one that was [reserved](World::reserve_entity) or made by
    ///   [`spawn_empty`](World::spawn_empty);
    /// - of a slot that is free and has had neither this generation nor a later one, so that no handle that was ever
    ///   valid comes back to life (slots below it that were never used become free: memory is needed for all of them).
    ///
    /// ```
    /// use phalanx::{ChangeError, Component, Entity, World};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let (mut server, mut client) = (World::new(), World::new());
    /// let ann = server.spawn(Name("Ann"));
    /// client.spawn_at(ann, Name("Ann"))?;
    /// assert!(matches!(client.spawn_at(ann, Name("Bob")), Err(ChangeError::Taken { .. })));
    /// # Ok::<(), ChangeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ChangeError::Taken`] otherwise; or if the bundle names a component twice, or memory cannot be had. The bundle is
    /// dropped then, and nothing else happens.
    pub fn spawn_at<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), ChangeError> {
        let bundle_id = self.bundle_id::<B>()?;
        self.storage.flush()?;
        if let Ok(location) = self.storage.try_location(entity) {
            let has_none = self.storage.sparse.storages_of(entity.index()).next().is_none();
            return match location.table {
                0 if has_none => self.try_insert(entity, bundle),
                _ => Err(ChangeError::Taken { entity, by: Some(entity) }),
            };
        }
        let by = self.storage.entities.get(entity.index());
        if by.is_some() {
            return Err(ChangeError::Taken { entity, by });
        }
        let table = self.bundles.get(bundle_id).table;
        self.storage.reserve_table(table, 1)?;
        let slots = self.storage.entities.slot_count();
        if entity.index() as usize >= slots {
            // Beside those that are free: new ones are needed up to this one.
            let fresh = entity.index() as usize + 1 - slots;
            let count =
                u32::try_from(fresh + slots - self.storage.entities.len()).map_err(|_| AllocError::CapacityOverflow)?;
            self.storage.reserve_entities(count)?;
        }
        self.storage.reserve_row_entries(table, 1)?;
        // Values may move, even if one of several stores cannot grow.
        self.storage.restructured();
        let info = self.bundles.get(bundle_id);
        self.storage.sparse.try_reserve::<false>(entity.index(), &info.sparse, &[])?;
        let row = self.storage.tables[table as usize].len;
        let place = self.storage.place(table, info.places.as_ptr(), row);
        // Taking a bundle apart may be user code: it is done before anything is committed.
        // SAFETY: there is room for the row and beside it, and the places are the bundle's in its table.
        unsafe { bundle.write(place) };
        let claimed = self.storage.entities.try_claim(entity);
        if claimed != Ok(true) {
            // SAFETY: the values beyond what counts are nobody's, and end.
            drop(unsafe { B::read(place) });
            claimed?;
            return Err(ChangeError::Taken { entity, by: None });
        }
        // SAFETY: the slot was claimed just now; the row is written, and so are its sparse values.
        unsafe { self.storage.spawn_row::<true>(entity, table, &info.sparse) };
        self.dispatch();
        Ok(())
    }
}
