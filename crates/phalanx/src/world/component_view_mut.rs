//! [`ComponentViewMut`]: one component, resolved once for a loop that changes it.
#![allow(unsafe_code)]

use super::World;
use super::get::{Mut, Ref};
use super::slot_batch::remove_each;
use crate::alloc::try_reserve;
use crate::bundle::{Bundle, WriteOnce};
use crate::bundle_info::EdgeKey;
use crate::component::Component;
use crate::error::{ComponentError, NoSuchEntity, StructuralError, infallible, require_alive};
use crate::layout::ComponentRef;
use crate::query::{AllRows, With};
use crate::rows::Row;
use crate::sparse::{FastInsert, has_fast_path};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use phalanx_store::Entity;

impl World {
    /// Returns access to one component of any entity, to read, write, insert and remove it in a loop.
    ///
    /// The component is resolved once. An archetype move is resolved once for consecutive entities of the same table.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Ship;
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Burning(u32);
    ///
    /// let mut world = World::new();
    /// let ships: Vec<_> = (0..4).map(|_| world.spawn(Ship)).collect();
    /// let mut fires = world.component_mut::<Burning>();
    /// for ship in &ships {
    ///     assert_eq!(fires.insert(*ship, Burning(3))?, None);
    /// }
    /// fires.get_mut(ships[1]).unwrap().0 -= 3;
    /// assert_eq!(fires.insert(ships[2], Burning(9))?, Some(Burning(3)));
    /// assert_eq!(fires.remove(ships[1])?, Some(Burning(0)));
    /// assert_eq!(fires.remove(ships[1])?, None);
    /// assert!(!world.has::<Burning>(ships[1]) && world.has::<Ship>(ships[1]));
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[doc(alias = "storage")]
    #[track_caller]
    pub fn component_mut<C: Component>(&mut self) -> ComponentViewMut<'_, C> {
        let bundle_id = infallible(self.full_bundle_id::<C>());
        let id = self.id();
        let mut view = ComponentViewMut { world: self, id, bundle_id, sparse: 0, fast: false, component: PhantomData };
        view.find_fast_path();
        view
    }
}

/// Access to one component of any entity: [`World::component_mut`].
pub struct ComponentViewMut<'w, C> {
    world: &'w mut World,
    /// The id that the world had when the bundle was resolved.
    id: u64,
    bundle_id: usize,
    /// The number of the sparse storage, while `fast` is set.
    sparse: u32,
    /// Whether the fast path may be tried: it exists and is open, and `sparse` is valid. Nothing else changes the world
    /// meanwhile, except commands that listeners record.
    fast: bool,
    component: PhantomData<fn(C) -> C>,
}

impl<C: Component> ComponentViewMut<'_, C> {
    /// Returns the component of an entity.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<Ref<'_, C>, ComponentError> {
        Ok(self.world.storage.find::<C>(entity)?.get())
    }

    /// Returns the component of an entity, for writing.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<Mut<'_, C>, ComponentError> {
        let value = self.world.storage.find::<C>(entity)?;
        // SAFETY: the view has the world exclusively.
        Ok(unsafe { value.get_mut::<false>(&self.world.storage.sparse.clock) })
    }

    /// Returns the components of several entities, for writing all at once.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let [thief, victim] = [world.spawn(Purse(0)), world.spawn(Purse(9))];
    /// let mut purses = world.component_mut::<Purse>();
    /// let [to, from] = purses.get_many_mut([thief, victim]).unwrap();
    /// std::mem::swap(&mut to.0, &mut from.0);
    /// assert_eq!(purses.get(thief).unwrap().0, 9);
    /// assert!(purses.get_many_mut([thief, thief]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// The first error in the order of the entities:
    ///
    /// - [`ComponentError::NoSuchEntity`] if an entity is not alive.
    /// - [`ComponentError::MissingComponent`] if an entity does not have the component.
    /// - [`ComponentError::DuplicateEntity`] if an entity occurs twice.
    pub fn get_many_mut<const N: usize>(&mut self, entities: [Entity; N]) -> Result<[Mut<'_, C>; N], ComponentError> {
        let mut found = [(core::ptr::null(), 0); N];
        for (at, &entity) in entities.iter().enumerate() {
            let row = self.world.storage.find::<C>(entity)?.location();
            if entities[..at].contains(&entity) {
                return Err(ComponentError::DuplicateEntity { entity });
            }
            found[at] = row;
        }
        // SAFETY: each lane is the component's and each row in use. The entities differ, so the rows do, and the world is
        // borrowed exclusively.
        Ok(found.map(|(lane, row)| unsafe {
            ComponentRef::<C>::new(lane, row).get_mut::<false>(&self.world.storage.sparse.clock)
        }))
    }

    /// Returns `true` if the entity is alive and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.world.has::<C>(entity)
    }

    /// Runs a change on the slow path, and finds out whether the next change may take the fast path.
    ///
    /// The component is resolved again if the world has forgotten its bundles: commands of listeners may have compacted it.
    #[inline(always)]
    fn slow_path<R>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<R, StructuralError>,
    ) -> Result<R, StructuralError> {
        if self.id != self.world.id() {
            self.bundle_id = self.world.full_bundle_id::<C>()?;
            self.id = self.world.id();
        }
        let outcome = change(self);
        self.find_fast_path();
        outcome
    }

    /// Finds out whether the next change may take the fast path.
    fn find_fast_path(&mut self) {
        self.fast = has_fast_path::<C>()
            && self.id == self.world.id()
            && (self.world.storage.is_fast_path_open() || self.world.is_quiet_path::<C>());
        if self.fast {
            self.sparse = self.world.bundles.get(self.bundle_id).sparse[0];
        }
    }

    /// Inserts the component into an entity, and returns the value that it had.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive. The value is dropped, and nothing else changes.
    #[inline(always)]
    #[track_caller]
    pub fn insert(&mut self, entity: Entity, value: C) -> Result<Option<C>, NoSuchEntity> {
        require_alive(self.try_insert(entity, value))
    }

    /// Inserts the component into an entity, like [`insert`](ComponentViewMut::insert), but returns an error if allocation
    /// fails.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the value is dropped, and nothing else changes.
    #[inline(always)]
    pub fn try_insert(&mut self, entity: Entity, value: C) -> Result<Option<C>, StructuralError> {
        if const { has_fast_path::<C>() } {
            let value = ManuallyDrop::new(value);
            if self.fast {
                self.world.storage.restructured();
                let entities = &self.world.storage.entities;
                let is_alive = || entities.contains(entity);
                // SAFETY: the storage is the component's; the value is moved out once, here or below.
                let put =
                    unsafe { self.world.storage.sparse.typed(self.sparse).insert(entity, &raw const *value, is_alive) };
                if let FastInsert::Done(old) = put {
                    return Ok(old);
                }
            }
            return self.insert_sparse(entity, ManuallyDrop::into_inner(value));
        }
        self.insert_table(entity, value)
    }

    /// Inserts a component that has no fast path.
    #[inline]
    fn insert_table(&mut self, entity: Entity, value: C) -> Result<Option<C>, StructuralError> {
        self.slow_path(|view| view.insert_slow(entity, value))
    }

    /// Inserts a component whose fast path is closed.
    #[cold]
    #[inline(never)]
    fn insert_sparse(&mut self, entity: Entity, value: C) -> Result<Option<C>, StructuralError> {
        self.slow_path(|view| view.insert_slow(entity, value))
    }

    #[inline(always)]
    fn insert_slow(&mut self, entity: Entity, value: C) -> Result<Option<C>, StructuralError> {
        self.world.storage.flush()?;
        if const { !C::REQUIRES.is_empty() } {
            return self.insert_with_required(entity, value);
        }
        if self.world.has::<C>(entity) {
            self.world.storage.reserve_entries(1)?;
            return Ok(self.world.replace(entity, value).ok());
        }
        let from = self.world.storage.try_location(entity)?;
        self.world.edge(self.bundle_id, from.table, true)?;
        let edge = EdgeKey::Cached { bundle_id: self.bundle_id, insert: true };
        // SAFETY: the entity is at `from`, and the edge is one of that table that inserts the component.
        unsafe { self.world.insert_along::<false>(entity, from, edge, |ptr| value.write(ptr))? };
        Ok(None)
    }

    /// Inserts a component that requires others, with those that the entity lacks. Returns the old value.
    #[cold]
    #[inline(never)]
    fn insert_with_required(&mut self, entity: Entity, value: C) -> Result<Option<C>, StructuralError> {
        let from = self.world.storage.try_location(entity)?;
        let bundle_id = self.world.bundle_for_slot(self.bundle_id, entity.index())?;
        self.world.edge(bundle_id, from.table, true)?;
        let edge = EdgeKey::Cached { bundle_id, insert: true };
        match self.world.has::<C>(entity) {
            // SAFETY: the entity is at `from` and has the component, which the edge of that table inserts.
            true => unsafe { self.world.replace_along(entity, from, edge, value).map(Some) },
            false => {
                let mut value = WriteOnce::new(value);
                // SAFETY: the entity is at `from`, and the edge is one of that table that inserts the component.
                unsafe { self.world.insert_along_erased(entity, from, edge, &mut |ptr| value.write(ptr))? };
                Ok(None)
            }
        }
    }

    /// Removes the component from an entity, and returns it. Returns `None` if the entity does not have it.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive.
    #[inline(always)]
    #[track_caller]
    pub fn remove(&mut self, entity: Entity) -> Result<Option<C>, NoSuchEntity> {
        require_alive(self.try_remove(entity))
    }

    /// Removes the component from an entity, like [`remove`](ComponentViewMut::remove), but returns an error if allocation
    /// fails.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    #[inline(always)]
    pub fn try_remove(&mut self, entity: Entity) -> Result<Option<C>, StructuralError> {
        if const { has_fast_path::<C>() } {
            if self.fast {
                self.world.storage.restructured();
                let entities = &self.world.storage.entities;
                // SAFETY: the storage is the component's.
                let taken = unsafe { self.world.storage.sparse.typed(self.sparse) }
                    .remove(entity, || entities.contains(entity));
                if let Some(taken) = taken {
                    return Ok(taken);
                }
            }
            return self.remove_sparse(entity);
        }
        self.remove_table(entity)
    }

    /// Removes a component that has no fast path.
    #[inline]
    fn remove_table(&mut self, entity: Entity) -> Result<Option<C>, StructuralError> {
        self.slow_path(|view| view.remove_slow(entity))
    }

    /// Removes a component whose fast path is closed.
    #[cold]
    #[inline(never)]
    fn remove_sparse(&mut self, entity: Entity) -> Result<Option<C>, StructuralError> {
        self.slow_path(|view| view.remove_slow(entity))
    }

    #[inline(always)]
    fn remove_slow(&mut self, entity: Entity) -> Result<Option<C>, StructuralError> {
        self.world.storage.flush()?;
        let from = self.world.storage.try_location(entity)?;
        if !self.world.has::<C>(entity) {
            return Ok(None);
        }
        self.world.edge(self.bundle_id, from.table, false)?;
        // SAFETY: the entity is at `from` and has the component, which is the bundle of that number.
        unsafe { self.world.take_along(entity, from, self.bundle_id).map(Some) }
    }

    /// Removes the component from the rows for whose value a closure returns `false`, and drops those values. Returns their
    /// number.
    ///
    /// The closure is called with the entity and the value of every row, main or [extra](crate::Key), in the
    /// [order](crate::query#order) of queries. Rows are changed after that. If the closure panics, nothing has changed.
    ///
    /// To change values of a pool on the way, there is [`PoolMut::retain`](crate::PoolMut::retain).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Burning(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..4).map(Burning));
    /// assert_eq!(world.component_mut::<Burning>().retain(|_, burning| burning.0 > 0), 1);
    /// assert_eq!((world.query::<&Burning>().len(), world.len()), (3, 4));
    /// ```
    #[doc(alias = "erase_if")]
    #[track_caller]
    pub fn retain(&mut self, keep: impl FnMut(Entity, Ref<'_, C>) -> bool) -> usize {
        infallible(self.try_retain(keep))
    }

    /// Removes the component from some rows, like [`retain`](ComponentViewMut::retain), but returns an error if allocation
    /// fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn try_retain(&mut self, mut keep: impl FnMut(Entity, Ref<'_, C>) -> bool) -> Result<usize, StructuralError> {
        self.world.storage.flush()?;
        let mut removed = Vec::new();
        for (Row(slot), entity, value) in self.world.query::<(Row, Entity, &C)>() {
            if !keep(entity, value) {
                try_reserve(&mut removed, 1)?;
                removed.push(slot);
            }
        }
        self.slow_path(|view| remove_each(view.world, view.bundle_id, removed))
    }

    /// Removes the component from every row, main or [extra](crate::Key), and drops its values. Returns their number.
    ///
    /// It is for components that live for a moment, such as events.
    ///
    /// The removal visits only the component's own storage if that is a pool or a linear storage, no listener exists, and no
    /// group names the component. No row is moved then. Otherwise this is
    /// [`remove_where::<(AllRows, With<C>), C>`](World::remove_where).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(layout = "pool")]
    /// struct Damaged(u32);
    ///
    /// let mut world = World::new();
    /// let [ann, bob] = [world.spawn_empty(), world.spawn_empty()];
    /// world.insert(ann, Damaged(3))?;
    /// world.insert(bob, Damaged(4))?;
    /// assert_eq!(world.query::<&Damaged>().iter().map(|damage| damage.0).sum::<u32>(), 7);
    /// assert_eq!(world.component_mut::<Damaged>().clear(), 2); // the frame is over
    /// assert!(!world.has::<Damaged>(ann));
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[track_caller]
    pub fn clear(&mut self) -> usize {
        infallible(self.try_clear())
    }

    /// Removes the component from every row, like [`clear`](ComponentViewMut::clear), but returns an error if allocation
    /// fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn try_clear(&mut self) -> Result<usize, StructuralError> {
        let storage = &mut self.world.storage;
        if let Some(sparse) = storage.sparse.storage_id(storage.components.id::<C>())
            && storage.allows_bulk()
        {
            let count = storage.sparse.get(sparse).len() as usize;
            storage.restructured();
            if storage.sparse.clear_storage(sparse) {
                return Ok(count);
            }
        }
        self.slow_path(|view| view.world.try_remove_where::<(AllRows, With<C>), C>())
    }
}

impl<C> fmt::Debug for ComponentViewMut<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentViewMut({})", core::any::type_name::<C>())
    }
}
