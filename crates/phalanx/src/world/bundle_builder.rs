//! [`BundleBuilder`]: a bundle that is composed at run time.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::bundle::{Bundle, BundlePtr};
use crate::component::{Component, ComponentId, Components};
use crate::error::{NoSuchEntity, StructuralError, infallible, require_alive};
use core::any::TypeId;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// A bundle whose components are chosen at run time.
///
/// [`spawn`](BundleBuilder::spawn) and [`insert`](BundleBuilder::insert) move the components out, and the builder is empty
/// afterwards. Components that are not moved out are dropped with the builder.
///
/// ```
/// use phalanx::{BundleBuilder, Component, World};
///
/// #[derive(Component)]
/// struct Health(u32);
/// #[derive(Component)]
/// struct Armed;
///
/// let mut world = World::new();
/// let mut bundle = BundleBuilder::new();
/// bundle.add(Health(10));
/// if world.is_empty() {
///     bundle.add(Armed);
/// }
/// let e = bundle.spawn(&mut world);
/// assert!(world.has::<Armed>(e) && world.get::<Health>(e).unwrap().0 == 10);
/// ```
#[derive(Default)]
pub struct BundleBuilder {
    values: Vec<Box<dyn Value>>,
}

/// A component of any type.
trait Value: Send + Sync {
    fn key(&self) -> TypeId;
    fn name(&self) -> &'static str;
    fn id(&self, components: &mut Components) -> Result<ComponentId, AllocError>;

    /// Moves the value in.
    ///
    /// # Safety
    ///
    /// The column is that of the component, and the row has no value.
    unsafe fn write(self: Box<Self>, to: BundlePtr);
}

impl<C: Component> Value for C {
    fn key(&self) -> TypeId {
        TypeId::of::<C>()
    }

    fn name(&self) -> &'static str {
        core::any::type_name::<C>()
    }

    fn id(&self, components: &mut Components) -> Result<ComponentId, AllocError> {
        components.register::<C>()
    }

    unsafe fn write(self: Box<Self>, to: BundlePtr) {
        // SAFETY: the column is that of the component, and the row has no value, by the caller's contract.
        unsafe { Bundle::write(*self, to) };
    }
}

impl BundleBuilder {
    /// Creates a bundle without components.
    pub fn new() -> BundleBuilder {
        BundleBuilder::default()
    }

    /// Adds a component. A component of the same type that was added before is dropped.
    pub fn add<C: Component>(&mut self, component: C) -> &mut Self {
        let value: Box<dyn Value> = Box::new(component);
        match self.values.iter_mut().find(|known| (***known).key() == TypeId::of::<C>()) {
            Some(known) => *known = value,
            None => self.values.push(value),
        }
        self
    }

    /// Returns `true` if the bundle contains the component.
    pub fn has<C: Component>(&self) -> bool {
        self.values.iter().any(|value| (**value).key() == TypeId::of::<C>())
    }

    /// Returns the number of components.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if there are no components.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Spawns an entity with the components, and returns it. The builder is empty afterwards.
    #[track_caller]
    pub fn spawn(&mut self, world: &mut World) -> Entity {
        infallible(self.try_spawn(world))
    }

    /// Spawns an entity with the components, like [`spawn`](BundleBuilder::spawn), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. The components stay in the builder, and nothing has changed.
    pub fn try_spawn(&mut self, world: &mut World) -> Result<Entity, StructuralError> {
        let ids = self.ids(&mut world.storage.components)?;
        // SAFETY: the values of the ids are moved in, in the same order.
        unsafe { world.spawn_erased(&ids, |ptr| self.write(ptr)) }
    }

    /// Inserts the components into an entity, like [`World::insert`]. The builder is empty afterwards.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive. The components stay in the builder, and nothing has changed.
    #[track_caller]
    pub fn insert(&mut self, world: &mut World, entity: Entity) -> Result<(), NoSuchEntity> {
        require_alive(self.try_insert(world, entity))
    }

    /// Inserts the components into an entity, like [`insert`](BundleBuilder::insert), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the components stay in the builder, and nothing has changed.
    pub fn try_insert(&mut self, world: &mut World, entity: Entity) -> Result<(), StructuralError> {
        let ids = self.ids(&mut world.storage.components)?;
        // SAFETY: the values of the ids are moved in, in the same order.
        unsafe { world.insert_erased(entity, &ids, |ptr| self.write(ptr)) }
    }

    /// Returns the ids of the components, which are registered if they are not known yet.
    fn ids(&self, components: &mut Components) -> Result<Vec<ComponentId>, AllocError> {
        let mut ids = try_vec(self.values.len())?;
        for value in &self.values {
            ids.push((**value).id(components)?);
        }
        Ok(ids)
    }

    /// Moves the values in.
    ///
    /// # Safety
    ///
    /// The columns are those of the components, in order, and the row has no values.
    unsafe fn write(&mut self, to: BundlePtr) {
        for (at, value) in core::mem::take(&mut self.values).into_iter().enumerate() {
            // SAFETY: the columns are those of the components, and the row has no values, by the caller's contract.
            unsafe { value.write(to.skip(at)) };
        }
    }
}

impl fmt::Debug for BundleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.iter().map(|value| (**value).name())).finish()
    }
}
