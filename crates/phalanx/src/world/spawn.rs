//! Making entities.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::bundle::{Bundle, BundlePtr};
use crate::bundle_info;
use crate::component::ComponentId;
use crate::error::{ChangeError, infallible, panic_change};
use crate::prefetch::prefetch;
use core::any::TypeId;
use phalanx_store::{AllocError, Entity};

impl World {
    /// The number of a bundle's plan.
    #[inline(always)]
    pub(crate) fn bundle_id<B: Bundle>(&mut self) -> Result<usize, ChangeError> {
        match self.bundles.find(TypeId::of::<B>()) {
            Some(bundle_id) => Ok(bundle_id),
            None => self.make_bundle::<B>(),
        }
    }

    #[cold]
    #[inline(never)]
    fn make_bundle<B: Bundle>(&mut self) -> Result<usize, ChangeError> {
        let mut ids = try_vec(B::LEN)?;
        B::ids(&mut self.storage.components, &mut ids)?;
        self.bundle_of(TypeId::of::<B>(), ids)
    }

    /// Makes the plan of a bundle with these components.
    pub(super) fn bundle_of(&mut self, key: TypeId, ids: Vec<ComponentId>) -> Result<usize, ChangeError> {
        let signature = bundle_info::signature(&ids, &self.storage.components)?;
        let table = self.storage.table_of(&signature)?;
        let places = self.storage.places(table, &ids)?;
        let sparse = self.storage.sparse(&ids)?;
        Ok(self.bundles.add(key, (table, places), ids.into(), (signature, sparse))?)
    }

    /// Makes an entity with these components.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[inline]
    #[track_caller]
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        match self.try_spawn(bundle) {
            Ok(entity) => entity,
            Err(error) => panic_change(error),
        }
    }

    /// Makes an entity with these components.
    ///
    /// # Errors
    ///
    /// If the bundle names a component twice, or memory cannot be had; the bundle is dropped, and nothing else happens.
    #[inline(always)]
    pub fn try_spawn<B: Bundle>(&mut self, bundle: B) -> Result<Entity, ChangeError> {
        let bundle_id = self.bundle_id::<B>()?;
        self.reserve_spawn::<B>(bundle_id)?;
        // SAFETY: reserved just now.
        let entity = unsafe { self.commit_spawn(bundle_id, bundle) };
        self.dispatch();
        Ok(entity)
    }

    /// Makes an entity without components.
    #[track_caller]
    pub fn spawn_empty(&mut self) -> Entity {
        self.spawn(())
    }

    /// Makes room for one entity of a bundle.
    #[inline(always)]
    fn reserve_spawn<B: Bundle>(&mut self, bundle_id: usize) -> Result<(), AllocError> {
        let table = &self.storage.tables[self.bundles.get(bundle_id).table as usize];
        if table.len == table.cap || !self.storage.entities.is_ready() {
            self.reserve_rows(bundle_id, 1)?;
        }
        if B::SPARSE > 0 {
            self.reserve_spawn_sparse(bundle_id)?;
        }
        self.storage.reserve_row_entries(self.bundles.get(bundle_id).table, 1)
    }

    /// Makes room for the components of the next entity that are not kept in tables.
    #[inline]
    fn reserve_spawn_sparse(&mut self, bundle_id: usize) -> Result<(), AllocError> {
        // Values may move, even if one of several stores cannot grow.
        self.storage.restructured();
        // Slots that are used again lie anywhere: one that comes soon is announced, not the next, which is to be had at once.
        if self.storage.sparse.should_prefetch()
            && let [.., slot, _, _, _, _] = self.storage.entities.free_list()
        {
            // SAFETY: slots on the stack exist.
            prefetch(unsafe { self.storage.entities.places().at(*slot) });
            self.storage.sparse.prefetch_spawn(*slot, &self.bundles.get(bundle_id).sparse);
        }
        let slot = self.storage.entities.next_index();
        self.storage.sparse.try_reserve::<true>(slot, &self.bundles.get(bundle_id).sparse, &[])
    }

    /// Makes room for so many entities, in a plan's table too.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve_rows(&mut self, bundle_id: usize, count: u32) -> Result<(), AllocError> {
        self.storage.flush()?;
        self.storage.reserve_entities(count)?;
        self.storage.reserve_table(self.bundles.get(bundle_id).table, count)
    }

    /// Reserves an entity through a shared reference, from any thread.
    ///
    /// It is alive, without components, from the next operation on that spawns or despawns, or inserts, removes, replaces or
    /// patches a component. Writing through [`get_mut`](World::get_mut) or a query is no such operation.
    #[track_caller]
    pub fn reserve_entity(&self) -> Entity {
        self.storage.entities.reserve_entity()
    }

    /// # Safety
    ///
    /// There is room for one more entity, one more row of the plan's table and a value of each of its sides, and nothing is
    /// reserved by others.
    #[inline(always)]
    unsafe fn commit_spawn<B: Bundle>(&mut self, bundle_id: usize, bundle: B) -> Entity {
        let info = self.bundles.get(bundle_id);
        let tail = self.storage.tables[info.table as usize].len;
        // SAFETY: room for the row is reserved, and for the values of sparse storages; the places are those of the bundle in its
        // table. Splitting a soa value is code of its type, which may panic: so the slot is allocated when the row is whole.
        unsafe {
            bundle.write(self.storage.place(info.table, info.places.as_ptr(), tail));
            let entity = self.storage.entities.alloc_ready();
            self.storage.spawn_row::<true>(entity, info.table, if B::SPARSE > 0 { &info.sparse } else { &[] });
            entity
        }
    }

    /// A way to make many entities of one bundle, one by one, with the bundle resolved once.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Age(u32);
    ///
    /// let mut world = World::new();
    /// let mut spawner = world.spawner::<Age>();
    /// let ages: Vec<_> = (0..10).map(|n| spawner.spawn(Age(n))).collect();
    /// assert_eq!(world.get::<Age>(ages[7]).unwrap().0, 7);
    /// ```
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn spawner<B: Bundle>(&mut self) -> Spawner<'_, B> {
        match self.bundle_id::<B>() {
            Ok(bundle_id) => Spawner { id: self.id(), world: self, bundle_id, bundle: core::marker::PhantomData },
            Err(error) => panic_change(error),
        }
    }

    /// Makes an entity of each bundle, and returns them.
    ///
    /// If the iterator panics, the entities that it has yielded bundles for are there. [Listeners](crate::signal) are told of
    /// all of them at the end, also then.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn spawn_batch<B: Bundle>(&mut self, bundles: impl IntoIterator<Item = B>) -> Vec<Entity> {
        let bundles = bundles.into_iter();
        if B::SPARSE > 0 || self.storage.journal.is_active() {
            return self.spawn_each(bundles);
        }
        let bundle_id = infallible(self.bundle_id::<B>());
        // A wish: the hint may be a lie, and rows that come find room or an error of their own.
        let wish = bundles.size_hint().0.min(1 << 16);
        let _ = self.reserve_rows(bundle_id, wish as u32);
        let table = self.bundles.get(bundle_id).table as usize;
        let first = self.storage.tables[table].len as usize;
        let mut batch = Batch { bundle_id, row: 0, end: 0, world: self };
        batch.open();
        let mut place = batch.place();
        bundles.for_each(|bundle| {
            if batch.row == batch.end {
                place = batch.grow();
            }
            // SAFETY: the row is beyond the last and within the capacity; the places are the bundle's in its table.
            unsafe { bundle.write(BundlePtr { row: batch.row as usize, ..place }) };
            batch.row += 1;
        });
        drop(batch);
        self.storage.tables[table].slots()[first..].to_vec()
    }

    /// Makes an entity of each bundle, one after another, and tells listeners of all of them at the end.
    #[track_caller]
    fn spawn_each<B: Bundle>(&mut self, bundles: impl Iterator<Item = B>) -> Vec<Entity> {
        /// Tells the signals of the entities that were made, also if the iterator panics.
        struct Held<'w>(&'w mut World);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                self.0.storage.journal.let_go();
                self.0.dispatch();
            }
        }
        self.storage.journal.hold();
        let held = Held(self);
        let mut spawner = held.0.spawner::<B>();
        let mut entities = Vec::new();
        bundles.for_each(|bundle| entities.push(spawner.spawn(bundle)));
        // Before the list is handed out: where a listener panics, it is still somebody's.
        drop(held);
        entities
    }
}

/// Rows of one table that are written, whose entities are made later, all at once: when there is no room for more, or the
/// batch ends, by a panic too.
struct Batch<'a> {
    world: &'a mut World,
    bundle_id: usize,
    /// The next row. Those from the table's last on to this one are written.
    row: u32,
    /// Up to this row there is room, for their entities too.
    end: u32,
}

impl Batch<'_> {
    fn table(&self) -> u32 {
        self.world.bundles.get(self.bundle_id).table
    }

    /// The place of the next row.
    fn place(&self) -> BundlePtr {
        self.world.storage.place(self.table(), self.world.bundles.get(self.bundle_id).places.as_ptr(), self.row)
    }

    /// Counts the rows for which there is room.
    fn open(&mut self) {
        let table = &self.world.storage.tables[self.table() as usize];
        // Nothing is ready while anything is reserved, which is where a wish was not granted.
        let ready = if self.world.storage.entities.is_ready() { self.world.storage.entities.ready_count() } else { 0 };
        let ready = u32::try_from(ready).unwrap_or(u32::MAX);
        (self.row, self.end) = (table.len, table.len + ready.min(table.cap - table.len));
    }

    /// Makes the entities of the rows that are written, and room for more rows.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> BundlePtr {
        self.commit();
        if let Err(error) = self.world.reserve_rows(self.bundle_id, 1) {
            panic_change(error.into());
        }
        self.open();
        self.place()
    }

    fn commit(&mut self) {
        // SAFETY: there is room for so many rows and slots, and the rows are written.
        unsafe { self.world.storage.spawn_rows(self.table(), self.row) };
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.commit();
    }
}

/// Makes entities of one bundle: [`World::spawner`].
#[derive(Debug)]
pub struct Spawner<'w, B> {
    world: &'w mut World,
    /// Of the world, when the bundle was resolved.
    id: u64,
    /// [`STALE`] if the world has forgotten its plans since.
    bundle_id: usize,
    bundle: core::marker::PhantomData<fn(B)>,
}

/// The number of no plan.
const STALE: usize = usize::MAX;

impl<B: Bundle> Spawner<'_, B> {
    /// Makes an entity.
    #[inline]
    #[track_caller]
    pub fn spawn(&mut self, bundle: B) -> Entity {
        // The same comparison that finding the plan makes.
        if self.bundle_id >= self.world.bundles.len() {
            self.resolve();
        }
        if let Err(error) = self.world.reserve_spawn::<B>(self.bundle_id) {
            panic_change(error.into());
        }
        // SAFETY: there is room, for the row and for the entity.
        let entity = unsafe { self.world.commit_spawn(self.bundle_id, bundle) };
        if self.world.storage.journal.is_active() {
            self.dispatch();
        }
        entity
    }

    /// Calls listeners. What these record may make the world forget its plans.
    ///
    /// Not given the bundle, nor is anything beside the way of those without listeners: it would have to lie in memory for it.
    #[cold]
    #[inline(never)]
    fn dispatch(&mut self) {
        /// Notes that the bundle is to be resolved again, also if a listener panics. Resolving allocates, which is for the
        /// next call.
        struct Told<'a, 'w, B>(&'a mut Spawner<'w, B>);
        impl<B> Drop for Told<'_, '_, B> {
            fn drop(&mut self) {
                if self.0.id != self.0.world.id() {
                    self.0.bundle_id = STALE;
                }
            }
        }
        Told(self).0.world.dispatch();
    }

    /// Resolves the bundle again, when the world has forgotten its plans.
    #[cold]
    #[inline(never)]
    fn resolve(&mut self) {
        self.bundle_id = infallible(self.world.bundle_id::<B>());
        self.id = self.world.id();
    }

    /// Makes room for so many more.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if self.bundle_id == STALE {
            self.resolve();
        }
        let reserved = u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow);
        if let Err(error) = reserved.and_then(|n| self.world.reserve_rows(self.bundle_id, n)) {
            panic_change(error.into());
        }
    }
}
