//! [`BundleBuilder`]: a bundle that is composed at run time.
#![allow(unsafe_code)]

mod values;

use super::World;
use crate::alloc::{try_clone_slice, try_reserve, try_vec, unwrap_alloc};
use crate::bundle::{AddComponent, Bundle, BundlePtr};
use crate::component::{Component, ComponentId};
use crate::error::{NoSuchEntity, StructuralError, infallible, require_alive};
use crate::sort::{sort_short, sort_short_by_key};
use core::any::TypeId;
use core::fmt;
use phalanx_store::raw::DropGuard;
use phalanx_store::{AllocError, Entity};
use values::Values;

/// A bundle whose components are chosen at run time.
///
/// [`spawn`](BundleBuilder::spawn) and [`insert`](BundleBuilder::insert) move the components out, and the builder is empty
/// afterwards. [`spawn_clone`](BundleBuilder::spawn_clone) and [`insert_clone`](BundleBuilder::insert_clone) leave them in the
/// builder, which serves as a prefab then. Components that are not moved out are dropped with the builder.
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
///
/// # Reuse
///
/// The components are in one block of memory. The builder keeps it, and remembers where the components of its last spawn or
/// insertion go. If the same components are added again, in the same order, nothing is allocated and nothing is looked up.
///
/// # Combination
///
/// If a component is added of a type that the builder has, the new one replaces the old one, which is dropped. So the last one
/// counts: of [`add`](BundleBuilder::add), of [`add_bundle`](BundleBuilder::add_bundle), and of the other builder of
/// [`append`](BundleBuilder::append).
///
/// ```
/// use phalanx::{BundleBuilder, Component, World};
///
/// #[derive(Component, Clone, Debug, PartialEq)]
/// #[component(clone)]
/// struct Health(u32);
/// #[derive(Component, Clone)]
/// #[component(clone)]
/// struct Name(&'static str);
///
/// let mut world = World::new();
/// let mut orc = BundleBuilder::new();
/// orc.add_bundle((Health(10), Name("orc")));
///
/// let mut chief = orc.try_clone()?;
/// chief.get_mut::<Health>().unwrap().0 *= 3;
/// let mut title = BundleBuilder::new();
/// title.add(Name("chief"));
/// chief.append(&mut title);
///
/// let orcs = [orc.spawn_clone(&mut world)?, orc.spawn_clone(&mut world)?];
/// let chief = chief.spawn(&mut world);
/// assert_eq!(world.get::<Health>(orcs[1])?, &Health(10));
/// assert_eq!((world.get::<Health>(chief)?, world.get::<Name>(chief)?.0), (&Health(30), "chief"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`CommandBuffer::spawn_dynamic`](crate::CommandBuffer::spawn_dynamic) spawns a builder's components later. Run-time
/// components, which have no type, are spawned by [`World::spawn_by_ids`].
#[derive(Default)]
#[doc(alias = "EntityBuilder")]
#[doc(alias = "EntityBuilderClone")]
#[doc(alias = "BuiltEntity")]
#[doc(alias = "DynamicBundle")]
#[doc(alias = "prefab")]
pub struct BundleBuilder {
    values: Values,
    /// Clones of the values, while they are moved into a world.
    clones: Values,
    resolved: Resolved,
    /// Whether the components are the first ones of `resolved`, in its order.
    follows: bool,
}

/// Where the components go that were spawned or inserted last.
#[derive(Default)]
struct Resolved {
    /// The components, in the order in which they were added.
    types: Vec<TypeId>,
    /// For each component: its position in the bundle, which is ordered by id.
    positions: Vec<u16>,
    bundle_id: usize,
    /// The number under which the world stored the bundle. `None` if the bundle is not known.
    world: Option<u64>,
}

impl BundleBuilder {
    /// Creates a bundle without components. Does not allocate.
    pub fn new() -> BundleBuilder {
        BundleBuilder::default()
    }

    /// Adds a component. A component of the same type that was added before is dropped.
    ///
    /// After a sufficient [`try_reserve`](BundleBuilder::try_reserve) this does not allocate.
    #[inline]
    pub fn add<C: Component>(&mut self, component: C) -> &mut Self {
        let next = self.resolved.types.get(self.values.entries.len());
        // The components that were resolved are of different types, so this one is not among those before it.
        if self.follows && next == Some(&TypeId::of::<C>()) {
            unwrap_alloc(self.values.try_push(component));
        } else {
            self.add_slow(component);
        }
        self
    }

    #[inline(never)]
    fn add_slow<C: Component>(&mut self, component: C) {
        match self.get_mut::<C>() {
            Some(known) => drop(core::mem::replace(known, component)),
            None => {
                self.follows = false;
                unwrap_alloc(self.values.try_push(component));
            }
        }
    }

    /// Adds all components of a bundle, like [`add`](BundleBuilder::add). Optional components that are not there are skipped.
    ///
    /// ```
    /// use phalanx::{BundleBuilder, Component};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    /// #[derive(Component)]
    /// struct Name(&'static str);
    ///
    /// let mut bundle = BundleBuilder::new();
    /// bundle.add_bundle((Health(3), None::<Name>));
    /// assert!(bundle.has::<Health>() && !bundle.has::<Name>());
    /// ```
    pub fn add_bundle<B: Bundle>(&mut self, bundle: B) -> &mut Self {
        bundle.add_to(self);
        self
    }

    /// Moves all components of another builder to this one. Components that both have are those of the other builder
    /// afterwards, and the old ones are dropped.
    ///
    /// ```
    /// use phalanx::{BundleBuilder, Component};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    /// #[derive(Component)]
    /// struct Armed;
    ///
    /// let (mut ann, mut weapon) = (BundleBuilder::new(), BundleBuilder::new());
    /// ann.add(Health(3));
    /// weapon.add(Armed).add(Health(1));
    /// ann.append(&mut weapon);
    /// assert_eq!((ann.len(), ann.get::<Health>().unwrap().0), (2, 1));
    /// assert!(weapon.is_empty());
    /// ```
    #[doc(alias = "extend")]
    #[doc(alias = "merge")]
    pub fn append(&mut self, other: &mut BundleBuilder) {
        unwrap_alloc(self.values.try_reserve_for(&other.values));
        // The other builder is empty afterwards, also if dropping an old component panics.
        (self.follows, other.follows) = (false, true);
        self.values.append(&mut other.values);
    }

    /// Removes a component, and returns it.
    ///
    /// ```
    /// use phalanx::{BundleBuilder, Component};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut bundle = BundleBuilder::new();
    /// bundle.add(Health(3));
    /// assert_eq!(bundle.remove::<Health>().unwrap().0, 3);
    /// assert!(bundle.remove::<Health>().is_none() && bundle.is_empty());
    /// ```
    pub fn remove<C: Component>(&mut self) -> Option<C> {
        let removed = self.values.remove::<C>()?;
        self.follows = self.is_empty();
        Some(removed)
    }

    /// Returns `true` if the bundle contains the component.
    pub fn has<C: Component>(&self) -> bool {
        self.values.find(TypeId::of::<C>()).is_some()
    }

    /// Returns a component, if the bundle contains it.
    ///
    /// ```
    /// use phalanx::{BundleBuilder, Component};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut bundle = BundleBuilder::new();
    /// assert!(bundle.get::<Health>().is_none());
    /// bundle.add(Health(3));
    /// bundle.get_mut::<Health>().unwrap().0 += 1;
    /// assert_eq!(bundle.get::<Health>().unwrap().0, 4);
    /// ```
    pub fn get<C: Component>(&self) -> Option<&C> {
        // SAFETY: the builder owns the value and is borrowed.
        self.values.get::<C>().map(|value| unsafe { &*value })
    }

    /// Returns a component, if the bundle contains it, for writing.
    pub fn get_mut<C: Component>(&mut self) -> Option<&mut C> {
        // SAFETY: the builder owns the value and is borrowed exclusively.
        self.values.get::<C>().map(|value| unsafe { &mut *value })
    }

    /// Returns the types of the components, in the order in which they were added.
    ///
    /// ```
    /// use core::any::TypeId;
    /// use phalanx::{BundleBuilder, Component};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut bundle = BundleBuilder::new();
    /// bundle.add(Health(3));
    /// assert!(bundle.component_types().eq([TypeId::of::<Health>()]));
    /// ```
    pub fn component_types(&self) -> impl ExactSizeIterator<Item = TypeId> + '_ {
        self.values.entries.iter().map(|value| value.type_id)
    }

    /// Returns the ids of the components in a world, in the order in which they were added. Registers those that the world
    /// does not know.
    ///
    /// ```
    /// use phalanx::{BundleBuilder, Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let mut bundle = BundleBuilder::new();
    /// bundle.add(Health(3));
    /// assert_eq!(bundle.ids(&mut world), [world.component_id::<Health>().unwrap()]);
    /// ```
    pub fn ids(&self, world: &mut World) -> Vec<ComponentId> {
        unwrap_alloc(self.try_ids(world))
    }

    fn try_ids(&self, world: &mut World) -> Result<Vec<ComponentId>, AllocError> {
        let mut ids = try_vec(self.len())?;
        for value in &self.values.entries {
            ids.push((value.vtable.register)(&mut world.storage.components)?);
        }
        Ok(ids)
    }

    /// Returns the number of components.
    pub fn len(&self) -> usize {
        self.values.entries.len()
    }

    /// Returns `true` if there are no components.
    pub fn is_empty(&self) -> bool {
        self.values.entries.is_empty()
    }

    /// Drops all components, and keeps the memory.
    pub fn clear(&mut self) {
        self.follows = true;
        self.values.clear();
    }

    /// Reserves capacity for more components, and for their bytes, including padding.
    ///
    /// A component that is aligned to more than 16 bytes may still allocate when it is added.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. Nothing has changed then.
    pub fn try_reserve(&mut self, components: usize, bytes: usize) -> Result<(), AllocError> {
        self.values.try_reserve(components, bytes, align_of::<u128>())
    }

    /// Reserves capacity for `components` of the components of a bundle.
    pub(super) fn try_reserve_bundle<B: Bundle>(&mut self, components: usize) -> Result<(), AllocError> {
        // A bundle is a struct of its components, so it has at least their sizes together, and the greatest of their alignments.
        self.values.try_reserve(components, size_of::<B>() + B::LEN * align_of::<B>(), align_of::<B>())
    }

    /// Returns a builder with clones of all components. They are cloned as for [`EntityMut::clone_entity`].
    ///
    /// [`EntityMut::clone_entity`]: crate::EntityMut::clone_entity
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NotClone`] if a component cannot be cloned: it lacks `#[component(clone)]`.
    /// - [`StructuralError::Alloc`] if allocation fails.
    pub fn try_clone(&self) -> Result<BundleBuilder, StructuralError> {
        let mut clone = BundleBuilder::new();
        self.values.try_clone_to(&mut clone.values)?;
        clone.resolved = Resolved {
            types: try_clone_slice(&self.resolved.types)?,
            positions: try_clone_slice(&self.resolved.positions)?,
            ..self.resolved
        };
        clone.follows = self.follows;
        Ok(clone)
    }

    /// Spawns an entity with the components, and returns it. The builder is empty afterwards.
    #[track_caller]
    #[inline]
    pub fn spawn(&mut self, world: &mut World) -> Entity {
        infallible(self.try_spawn(world))
    }

    /// Spawns an entity with the components, like [`spawn`](BundleBuilder::spawn), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. The components stay in the builder, and nothing has changed.
    #[inline]
    pub fn try_spawn(&mut self, world: &mut World) -> Result<Entity, StructuralError> {
        let bundle_id = self.bundle_id(world)?;
        let BundleBuilder { values, resolved, .. } = self;
        // SAFETY: the values of the bundle are moved in, each to its position.
        unsafe { world.spawn_erased(bundle_id, &mut |ptr| values.write(&resolved.positions, ptr)) }
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
        let bundle_id = self.bundle_id(world)?;
        let BundleBuilder { values, resolved, .. } = self;
        // SAFETY: the values of the bundle are moved in, each to its position.
        unsafe { world.insert_erased(entity, bundle_id, &mut |ptr| values.write(&resolved.positions, ptr)) }
    }

    /// Spawns an entity with clones of the components, and returns it. The components stay in the builder.
    ///
    /// All clones are made before the world changes.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NotClone`] if a component cannot be cloned: it lacks `#[component(clone)]`.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn spawn_clone(&mut self, world: &mut World) -> Result<Entity, StructuralError> {
        self.with_clones(world, |world, bundle_id, clones, positions| {
            // SAFETY: the values of the bundle are moved in, each to its position.
            unsafe { world.spawn_erased(bundle_id, &mut |ptr| clones.write(positions, ptr)) }
        })
    }

    /// Inserts clones of the components into an entity, like [`World::insert`]. The components stay in the builder.
    ///
    /// All clones are made before the world changes.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::NotClone`] if a component cannot be cloned: it lacks `#[component(clone)]`.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn insert_clone(&mut self, world: &mut World, entity: Entity) -> Result<(), StructuralError> {
        self.with_clones(world, |world, bundle_id, clones, positions| {
            // SAFETY: the values of the bundle are moved in, each to its position.
            unsafe { world.insert_erased(entity, bundle_id, &mut |ptr| clones.write(positions, ptr)) }
        })
    }

    /// Calls a function with clones of the components, which are dropped afterwards unless it has moved them out.
    fn with_clones<R>(
        &mut self,
        world: &mut World,
        run: impl FnOnce(&mut World, usize, &mut Values, &[u16]) -> Result<R, StructuralError>,
    ) -> Result<R, StructuralError> {
        let bundle_id = self.bundle_id(world)?;
        let BundleBuilder { values, clones, resolved, .. } = self;
        let guard = DropGuard::new(clones, |clones| clones.clear());
        values.try_clone_to(guard.state)?;
        run(world, bundle_id, guard.state, &resolved.positions)
    }

    /// Returns the number of the bundle in a world, which is resolved if it is not known.
    #[inline]
    pub(crate) fn bundle_id(&mut self, world: &mut World) -> Result<usize, StructuralError> {
        let is_known = self.follows && self.len() == self.resolved.types.len();
        match self.resolved.world == Some(world.id()) && is_known {
            true => Ok(self.resolved.bundle_id),
            false => self.resolve(world),
        }
    }

    #[cold]
    #[inline(never)]
    fn resolve(&mut self, world: &mut World) -> Result<usize, StructuralError> {
        // What was resolved before is not valid if this fails.
        (self.follows, self.resolved.world) = (false, None);
        let (mut ids, count) = (self.try_ids(world)?, self.len());
        let mut order: Vec<u16> = try_vec(count)?;
        order.extend((0..count).map(|at| at as u16));
        sort_short_by_key(&mut order, |at| ids[*at as usize]);
        let Resolved { types, positions, .. } = &mut self.resolved;
        types.clear();
        positions.clear();
        try_reserve(types, count)?;
        try_reserve(positions, count)?;
        types.extend(self.values.entries.iter().map(|value| value.type_id));
        positions.resize(count, 0);
        (0..).zip(&order).for_each(|(position, at)| positions[*at as usize] = position);
        sort_short(&mut ids);
        self.resolved.bundle_id = world.bundle_id_of_ids(&ids)?;
        self.resolved.world = Some(world.id());
        self.follows = true;
        Ok(self.resolved.bundle_id)
    }

    /// Moves all components to `to`.
    ///
    /// # Safety
    ///
    /// The builder was [resolved](BundleBuilder::bundle_id) since it was changed. The pointer is valid for the components of its
    /// bundle, and no values are there.
    pub(crate) unsafe fn write_to(&mut self, to: BundlePtr) {
        // SAFETY: each component has its position in the bundle, for which the pointer is valid.
        unsafe { self.values.write(&self.resolved.positions, to) };
    }
}

impl AddComponent for BundleBuilder {
    fn add_component<C: Component>(&mut self, component: C) {
        self.add(component);
    }
}

impl fmt::Debug for BundleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.entries.iter().map(|value| (value.vtable.name)())).finish()
    }
}
