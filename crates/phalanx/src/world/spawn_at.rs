//! Spawns an entity with a given handle.
#![allow(unsafe_code)]

use super::World;
use crate::bundle::{Bundle, BundleGuard, Required};
use crate::error::StructuralError;
use crate::mutation::Reserved;
use crate::storage::Storage;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Spawns exactly this entity with the components of `bundle`. It is for entities whose handles come from elsewhere.
    ///
    /// The entity is one of these:
    ///
    /// - It is alive and has no components, like one that was [reserved](World::reserve_entity) or spawned by
    ///   [`spawn_empty`](World::spawn_empty). It keeps its [name](crate::Name) and its links, if it has any.
    /// - Its slot is free, and had neither this generation nor a later one. So no handle that was ever valid becomes valid
    ///   again. Lower slots that were never used become free: memory is allocated for all of them.
    ///
    /// ```
    /// use phalanx::{StructuralError, Component, Entity, World};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let (mut server, mut client) = (World::new(), World::new());
    /// let ann = server.spawn(Name("Ann"));
    /// client.spawn_at(ann, Name("Ann"))?;
    /// assert!(matches!(client.spawn_at(ann, Name("Bob")), Err(StructuralError::SlotOccupied { .. })));
    /// # Ok::<(), StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::SlotOccupied`] if the entity is neither of these.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn spawn_at<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), StructuralError> {
        let bundle_id = self.bundle_id_of(&bundle)?;
        self.storage.flush()?;
        if let Ok(location) = self.storage.try_location(entity) {
            let Storage { sparse, components, .. } = &self.storage;
            let has_none = sparse.storages_of(entity.index()).all(|storage| components.is_hidden(storage.id));
            return match location.table {
                0 if has_none => self.try_insert(entity, bundle),
                _ => Err(StructuralError::SlotOccupied { entity, by: Some(entity) }),
            };
        }
        let by = self.storage.entities.get(entity.index());
        if by.is_some() {
            return Err(StructuralError::SlotOccupied { entity, by });
        }
        let table = self.bundles.get(bundle_id).table;
        self.storage.reserve_table(table, 1)?;
        let slots = self.storage.entities.slot_count();
        if entity.index() as usize >= slots {
            // Beside the free ones, new slots are needed up to this one.
            let fresh = entity.index() as usize + 1 - slots;
            let count =
                u32::try_from(fresh + slots - self.storage.entities.len()).map_err(|_| AllocError::CapacityOverflow)?;
            self.storage.reserve_entities(count)?;
        }
        self.storage.reserve_row_entries(table, 1)?;
        // Values may move, even if one of several storages cannot grow.
        self.storage.restructured();
        let info = self.bundles.get(bundle_id);
        self.storage.sparse.try_reserve::<false>(entity.index(), &info.sparse, &[])?;
        let row = self.storage.tables[table as usize].len;
        let ptr = self.storage.bundle_ptr(table, info.columns.as_ptr(), row);
        // Splitting a value and creating a required one may be user code: it is done before anything is committed.
        // SAFETY: capacity is reserved for the row and the sparse values. The columns are the bundle's in its table, then those of
        // the components that it requires.
        let (required, written) = unsafe {
            let required = Required::write_all(&info.required, ptr.skip(B::LEN));
            bundle.write(ptr);
            (required, BundleGuard::<B>::new(ptr))
        };
        let claimed = self.storage.entities.try_claim(entity);
        if claimed != Ok(true) {
            drop((written, required));
            claimed?;
            return Err(StructuralError::SlotOccupied { entity, by: None });
        }
        written.release();
        required.release();
        // SAFETY: everything is reserved. The slot was claimed just now; the row is written, and so are its sparse values.
        unsafe { self.storage.spawn_row_of::<true>(Reserved::new(), entity, table, &info.sparse) };
        self.dispatch();
        Ok(())
    }
}
