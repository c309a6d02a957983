//! A bundle that is put together at run time.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::bundle::{Bundle, BundlePtr};
use crate::component::{Component, ComponentId, Components};
use crate::error::{NoSuchEntity, StructuralError, infallible, require_alive};
use core::any::TypeId;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// Components of which only the run shows which they are.
///
/// What is not given to an entity is dropped with the builder.
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
/// let e = world.spawn_built(bundle);
/// assert!(world.has::<Armed>(e) && world.get::<Health>(e).unwrap().0 == 10);
/// ```
#[derive(Default)]
pub struct BundleBuilder {
    values: Vec<Box<dyn Value>>,
}

/// A component whose type is forgotten.
trait Value: Send + Sync {
    fn key(&self) -> TypeId;
    fn name(&self) -> &'static str;
    fn id(&self, components: &mut Components) -> Result<ComponentId, AllocError>;

    /// Moves the value in.
    ///
    /// # Safety
    ///
    /// The place is one for the component, and nothing lives there.
    unsafe fn write(self: Box<Self>, place: BundlePtr);
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

    unsafe fn write(self: Box<Self>, place: BundlePtr) {
        // SAFETY: the caller's promise.
        unsafe { Bundle::write(*self, place) };
    }
}

impl BundleBuilder {
    /// A bundle without components.
    pub fn new() -> BundleBuilder {
        BundleBuilder::default()
    }

    /// Adds a component. One of the same type that was added before is dropped.
    pub fn add<C: Component>(&mut self, component: C) -> &mut Self {
        let value: Box<dyn Value> = Box::new(component);
        match self.values.iter_mut().find(|known| (***known).key() == TypeId::of::<C>()) {
            Some(known) => *known = value,
            None => self.values.push(value),
        }
        self
    }

    /// Whether a component was added.
    pub fn has<C: Component>(&self) -> bool {
        self.values.iter().any(|value| (**value).key() == TypeId::of::<C>())
    }

    /// How many components there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

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
    /// The place is one for the components, in order, and nothing lives there.
    unsafe fn write(self, place: BundlePtr) {
        for (at, value) in self.values.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { value.write(place.skip(at)) };
        }
    }
}

impl fmt::Debug for BundleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.iter().map(|value| (**value).name())).finish()
    }
}

impl World {
    /// Makes an entity with the components of a builder.
    #[track_caller]
    pub fn spawn_built(&mut self, bundle: BundleBuilder) -> Entity {
        infallible(self.try_spawn_built(bundle))
    }

    /// As [`spawn_built`](World::spawn_built).
    ///
    /// # Errors
    ///
    /// If memory cannot be had; the components are dropped, and nothing else happens.
    pub fn try_spawn_built(&mut self, bundle: BundleBuilder) -> Result<Entity, StructuralError> {
        let ids = bundle.ids(&mut self.storage.components)?;
        // SAFETY: the values of the ids are moved in, in the same order.
        unsafe { self.spawn_erased(&ids, |place| bundle.write(place)) }
    }

    /// Gives an entity the components of a builder; those that it has already are replaced.
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the components are dropped, and nothing else happens.
    #[track_caller]
    pub fn insert_built(&mut self, entity: Entity, bundle: BundleBuilder) -> Result<(), NoSuchEntity> {
        require_alive(self.try_insert_built(entity, bundle))
    }

    /// As [`insert_built`](World::insert_built).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or memory cannot be had; the components are dropped, and nothing else happens.
    pub fn try_insert_built(&mut self, entity: Entity, bundle: BundleBuilder) -> Result<(), StructuralError> {
        let ids = bundle.ids(&mut self.storage.components)?;
        // SAFETY: the values of the ids are moved in, in the same order.
        unsafe { self.insert_erased(entity, &ids, |place| bundle.write(place)) }
    }
}
