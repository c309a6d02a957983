//! The methods that give names to entities, and find entities by them.

use super::{ChildOf, Relations};
use crate::alloc::{try_vec, unwrap_alloc};
use crate::bundle::Bundle;
use crate::commands::CommandBuffer;
use crate::error::{NameError, StructuralError, panic_change};
use crate::links::NONE;
use crate::names::{Name, NameOf};
use crate::storage::Storage;
use crate::system::Commands;
use crate::world::{EntityMut, EntityRef, World};
use phalanx_store::{AllocError, Entity};

/// Returns the error of a name that an entity cannot have, where the caller has handled bundles.
#[track_caller]
fn name_error(error: StructuralError) -> NameError {
    match error {
        StructuralError::NoSuchEntity(error) => error.into(),
        StructuralError::Alloc(error) => error.into(),
        error => panic_change(error),
    }
}

impl Storage {
    /// Returns the name of an entity, if it is alive and has one.
    pub(crate) fn name_of(&self, entity: Entity) -> Option<&Name> {
        self.name_at(entity.index()).filter(|_| self.contains(entity))
    }

    /// Returns the names from the root down to an entity, if all of them have one.
    fn path_of(&self, entity: Entity) -> Result<Option<String>, AllocError> {
        if !self.contains(entity) || self.names_above(entity.index()).any(|name| name.is_none()) {
            return Ok(None);
        }
        let names = self.names_above(entity.index()).flatten();
        let mut path = try_vec(names.clone().map(|name| name.as_str().len() + 1).sum())?;
        // From the entity up to the root, backwards.
        for name in names {
            path.extend(name.as_str().bytes().rev());
            path.push(b'/');
        }
        path.pop();
        path.reverse();
        Ok(String::from_utf8(path).ok())
    }

    /// Prepares a name for an entity that is spawned, as a child of a slot or without a parent.
    fn prepare_name(&mut self, parent: u32, name: &str) -> Result<NameOf, NameError> {
        let name = Name::new(name)?;
        if let Some(holder) = self.find_holder(NONE, parent, &name) {
            return Err(NameError::Taken { holder });
        }
        self.try_reserve_names(1)?;
        Ok(NameOf(name))
    }
}

impl World {
    /// Returns the entity at the end of a path: the names of entities, each a child of the one before it, separated by `/`.
    ///
    /// The first is the [name](Name) of an entity without a parent.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// let mut world = World::new();
    /// let fleet = world.spawn_named("fleet", ())?;
    /// let ship = world.entity_mut(fleet)?.spawn_child_named("flagship", ())?;
    /// assert_eq!(world.find("fleet"), Some(fleet));
    /// assert_eq!(world.find("fleet/flagship"), Some(ship));
    /// assert_eq!(world.find("flagship"), None);
    /// # Ok::<(), phalanx::NameError>(())
    /// ```
    ///
    /// It takes a look-up in a hash table for each name, however many siblings there are.
    #[doc(alias = "lookup")]
    #[doc(alias = "get_by_name")]
    #[inline]
    pub fn find(&self, path: &str) -> Option<Entity> {
        self.storage.find_path(NONE, path).and_then(|slot| self.storage.slot(slot))
    }

    /// Returns the path that leads to an entity: the [names](Name) from its root down to it, separated by `/`.
    ///
    /// Returns `None` if the entity is not alive, or if it or one above it has no name.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// let mut world = World::new();
    /// let fleet = world.spawn_named("fleet", ())?;
    /// let ship = world.entity_mut(fleet)?.spawn_child_named("flagship", ())?;
    /// assert_eq!(world.path(ship).as_deref(), Some("fleet/flagship"));
    /// world.entity_mut(fleet)?.remove_name()?;
    /// assert_eq!(world.path(ship), None);
    /// # Ok::<(), phalanx::NameError>(())
    /// ```
    #[doc(alias = "full_name")]
    pub fn path(&self, entity: Entity) -> Option<String> {
        unwrap_alloc(self.try_path(entity))
    }

    /// Like [`path`](World::path), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns an error if allocation fails.
    pub fn try_path(&self, entity: Entity) -> Result<Option<String>, AllocError> {
        self.storage.path_of(entity)
    }

    /// Spawns an entity without a parent that has a [name](Name) and the components of `bundle`, and returns it.
    ///
    /// ```
    /// use phalanx::{NameError, World};
    ///
    /// let mut world = World::new();
    /// let sun = world.spawn_named("sun", ())?;
    /// assert_eq!(world.spawn_named("sun", ()), Err(NameError::Taken { holder: sun }));
    /// assert_eq!(world.len(), 1);
    /// # Ok::<(), NameError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`NameError::Empty`], [`NameError::Slash`] or [`NameError::TooLong`] if the text is not a name.
    /// - [`NameError::Taken`] if another entity without a parent has the name.
    /// - [`NameError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    ///
    /// # Panics
    ///
    /// Panics if the bundle contains a component twice.
    #[track_caller]
    pub fn spawn_named<B: Bundle>(&mut self, name: &str, bundle: B) -> Result<Entity, NameError> {
        self.storage.flush()?;
        let name = self.storage.prepare_name(NONE, name)?;
        let spawned = self.spawn_then((bundle, name), 0, |storage, entity| storage.index_name(entity.index()));
        spawned.map_err(name_error)
    }

    /// Registers names, so that [`apply_delta`](World::apply_delta) can bring some to a world that has had none.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::timeline::delta;
    ///
    /// let (mut here, mut there) = (World::new(), World::new());
    /// here.register_names();
    /// there.register_names();
    /// let before = here.checkpoint()?;
    /// let sun = here.spawn_named("sun", ())?;
    /// there.apply_delta(&delta(&before, &here.checkpoint()?)?)?;
    /// assert_eq!(there.find("sun"), Some(sun));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_names(&mut self) {
        self.register_component::<NameOf>();
    }
}

impl<'w> EntityRef<'w> {
    /// Returns the [name](Name) of the entity, if it has one.
    pub fn name(&self) -> Option<&'w Name> {
        self.world.storage.name_of(self.entity)
    }

    /// Returns the entity at the end of a path that begins among the children of this one. See [`World::find`].
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// let mut world = World::new();
    /// let tank = world.spawn_empty();
    /// let turret = world.entity_mut(tank)?.spawn_child_named("turret", ())?;
    /// let gun = world.entity_mut(turret)?.spawn_child_named("gun", ())?;
    /// assert_eq!(world.entity(tank)?.find("turret/gun"), Some(gun));
    /// # Ok::<(), phalanx::NameError>(())
    /// ```
    #[doc(alias = "lookup")]
    pub fn find(&self, path: &str) -> Option<Entity> {
        self.world.relations::<ChildOf>().find_below(self.entity, path)
    }
}

impl EntityMut<'_> {
    /// Returns the [name](Name) of the entity, if it has one.
    pub fn name(&self) -> Option<&Name> {
        self.world.storage.name_of(self.entity)
    }

    /// Gives the entity a [name](Name), in place of the one that it has.
    ///
    /// ```
    /// use phalanx::{NameError, World};
    ///
    /// let mut world = World::new();
    /// let [a, b] = [world.spawn_empty(), world.spawn_empty()];
    /// world.entity_mut(a)?.set_name("ann")?;
    /// let error = world.entity_mut(b)?.set_name("ann").unwrap_err();
    /// assert_eq!(error, NameError::Taken { holder: a });
    /// world.entity_mut(a)?.set_name("anna")?;
    /// world.entity_mut(b)?.set_name("ann")?;
    /// assert_eq!((world.find("anna"), world.find("ann")), (Some(a), Some(b)));
    /// # Ok::<(), NameError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`NameError::Empty`], [`NameError::Slash`] or [`NameError::TooLong`] if the text is not a name.
    /// - [`NameError::Taken`] if another entity with the same parent has the name, or another one without a parent.
    /// - [`NameError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    #[doc(alias = "rename")]
    pub fn set_name(&mut self, name: &str) -> Result<&mut Self, NameError> {
        let (storage, slot) = (&mut self.world.storage, self.entity.index());
        let name = Name::new(name)?;
        if let Some(holder) = storage.find_holder(slot, storage.parent_at(slot), &name) {
            return Err(NameError::Taken { holder });
        }
        storage.try_reserve_names(1)?;
        // The index may have slots in vain, so it does not matter if this fails.
        storage.index_name_at(slot, storage.parent_at(slot), &name);
        self.world.try_insert(self.entity, NameOf(name)).map_err(name_error)?;
        Ok(self)
    }

    /// Removes the [name](Name) of the entity, and returns it.
    ///
    /// # Errors
    ///
    /// [`NameError::Alloc`] if allocation fails. Nothing has changed.
    pub fn remove_name(&mut self) -> Result<Option<Name>, NameError> {
        let name = self.name().copied();
        if name.is_some() {
            self.world.try_remove::<NameOf>(self.entity).map_err(name_error)?;
        }
        Ok(name)
    }

    /// Spawns a child of the entity that has a [name](Name) and the components of `bundle`, and returns it.
    ///
    /// # Errors
    ///
    /// - [`NameError::Empty`], [`NameError::Slash`] or [`NameError::TooLong`] if the text is not a name.
    /// - [`NameError::Taken`] if another child has the name.
    /// - [`NameError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    ///
    /// # Panics
    ///
    /// Panics if the bundle contains a component twice.
    #[track_caller]
    pub fn spawn_child_named<B: Bundle>(&mut self, name: &str, bundle: B) -> Result<Entity, NameError> {
        let name = self.world.storage.prepare_name(self.entity.index(), name)?;
        self.world.relations_mut::<ChildOf>().try_spawn(self.entity, (bundle, name)).map_err(name_error)
    }
}

impl<'w> Relations<'w, ChildOf> {
    /// Returns the [name](Name) of an entity, if it is alive and has one.
    pub fn name(self, entity: Entity) -> Option<&'w Name> {
        self.storage.name_of(entity)
    }

    /// Returns the entity at the end of a path, like [`World::find`].
    ///
    /// ```
    /// use phalanx::relation::{ChildOf, Relations};
    /// use phalanx::system::IntoSystem;
    /// use phalanx::World;
    ///
    /// fn look(tree: Relations<ChildOf>) {
    ///     let sun = tree.find("sun").unwrap();
    ///     let earth = tree.find_below(sun, "earth").unwrap();
    ///     assert_eq!(tree.name(earth).unwrap(), "earth");
    ///     assert_eq!(tree.path(earth).unwrap(), "sun/earth");
    /// }
    ///
    /// let mut world = World::new();
    /// let sun = world.spawn_named("sun", ())?;
    /// world.entity_mut(sun)?.spawn_child_named("earth", ())?;
    /// world.run_system(&mut look.into_system());
    /// # Ok::<(), phalanx::NameError>(())
    /// ```
    pub fn find(self, path: &str) -> Option<Entity> {
        self.storage.find_path(NONE, path).and_then(|slot| self.storage.slot(slot))
    }

    /// Returns the entity at the end of a path that begins among the children of an entity, like
    /// [`EntityRef::find`](EntityRef::find).
    pub fn find_below(self, entity: Entity, path: &str) -> Option<Entity> {
        let found = self.storage.find_path(entity.index(), path).filter(|_| self.storage.contains(entity));
        found.and_then(|slot| self.storage.slot(slot))
    }

    /// Returns the path that leads to an entity, like [`World::path`].
    pub fn path(self, entity: Entity) -> Option<String> {
        unwrap_alloc(self.storage.path_of(entity))
    }
}

impl CommandBuffer {
    /// Records that an entity gets a [name](Name), like [`EntityMut::set_name`].
    ///
    /// The name is looked up among the siblings that the entity has by then, with the names that they have by then. To swap
    /// two names, remove one of them first. A name that is taken is reported as
    /// [`RelationError::NameTaken`](crate::RelationError::NameTaken).
    ///
    /// ```
    /// use phalanx::{CommandBuffer, World};
    ///
    /// let mut world = World::new();
    /// let [a, b] = [world.spawn_named("a", ())?, world.spawn_named("b", ())?];
    /// let mut commands = CommandBuffer::new();
    /// commands.remove_name(a);
    /// commands.set_name(b, "a")?;
    /// commands.set_name(a, "b")?;
    /// commands.try_apply(&mut world).unwrap();
    /// assert_eq!((world.find("a"), world.find("b")), (Some(b), Some(a)));
    /// # Ok::<(), phalanx::NameError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NameError::Empty`], [`NameError::Slash`] or [`NameError::TooLong`] if the text is not a name. Nothing is recorded.
    pub fn set_name(&mut self, entity: Entity, name: &str) -> Result<(), NameError> {
        let name = Name::new(name)?;
        self.record_name(entity, Some(name));
        Ok(())
    }

    /// Records that an entity loses its [name](Name), like [`EntityMut::remove_name`].
    pub fn remove_name(&mut self, entity: Entity) {
        self.record_name(entity, None);
    }
}

impl Commands<'_, '_> {
    /// Records that an entity gets a [name](Name), like [`CommandBuffer::set_name`].
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::relation::ChildOf;
    /// use phalanx::system::{Commands, IntoSystem};
    ///
    /// fn build(mut commands: Commands) {
    ///     let ship = commands.spawn(());
    ///     commands.set_name(ship, "ship").unwrap();
    ///     let gun = commands.spawn_related::<ChildOf, _>(ship, ());
    ///     commands.set_name(gun, "gun").unwrap();
    /// }
    ///
    /// let mut world = World::new();
    /// world.run_system(&mut build.into_system());
    /// assert!(world.find("ship/gun").is_some());
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`CommandBuffer::set_name`]. Nothing is recorded.
    pub fn set_name(&mut self, entity: Entity, name: &str) -> Result<(), NameError> {
        self.buffer().set_name(entity, name)
    }

    /// Records that an entity loses its [name](Name), like [`CommandBuffer::remove_name`].
    pub fn remove_name(&mut self, entity: Entity) {
        self.buffer().remove_name(entity);
    }
}
