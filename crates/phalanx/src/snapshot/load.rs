//! Loading worlds: [`Registry::load`] and [`Registry::merge`].

use super::error::{LoadError, Problem};
use super::format::END;
use super::loader;
use super::reader::Source;
use super::registry::Registry;
use crate::error::StructuralError;
use crate::journal::Journal;
use crate::world::{EntityMap, World};
use phalanx_store::raw::DropGuard;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// # Loading
impl Registry {
    /// Reads a world from a snapshot.
    ///
    /// Entities, rows, storages and groups are exactly those that were saved, in the same orders. So are the next entities to
    /// be spawned, the change ticks and the registered resources. An entity that was reserved is alive, without components.
    ///
    /// The world has no other resources, [keeps](crate::ResourcesMut::keep) none, and has no listeners or collectors. Component
    /// ids may differ from those of the saved world.
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the input is not a snapshot of registered types, if the reader fails, or if allocation
    /// fails. Its [`Problem`] names the cause.
    #[doc(alias = "restore")]
    #[doc(alias = "snapshot_loader")]
    pub fn load(&self, mut reader: impl Read) -> Result<World, LoadError> {
        loader::load(self, Source::Reader(&mut reader))
    }

    /// Reads a world from the bytes of a snapshot, like [`load`](Registry::load).
    ///
    /// Bytes in memory are neither buffered nor copied to initialised memory first, so this takes less time.
    ///
    /// ```
    /// use phalanx::snapshot::Registry;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(plain)]
    /// struct Mass(f32);
    ///
    /// let mut registry = Registry::new();
    /// registry.plain::<Mass>("mass")?;
    /// let (mut world, mut bytes) = (World::new(), Vec::new());
    /// let stone = world.spawn(Mass(2.5));
    /// registry.save(&world, &mut bytes)?;
    /// let loaded = registry.load_bytes(&bytes)?;
    /// assert_eq!(loaded.get::<Mass>(stone)?.0, 2.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load`](Registry::load).
    pub fn load_bytes(&self, bytes: &[u8]) -> Result<World, LoadError> {
        loader::load(self, Source::Bytes(bytes))
    }

    /// Reads a world from a file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load`](Registry::load). [`Problem::Io`] also covers the file.
    pub fn load_from(&self, path: impl AsRef<Path>) -> Result<World, LoadError> {
        let file = File::open(path).map_err(|error| LoadError {
            section: *b"head",
            offset: 0,
            problem: Problem::Io(error.kind()),
        })?;
        self.load(BufReader::new(file))
    }

    /// Reads a world from a snapshot and moves all of it into another world.
    ///
    /// The entities get new handles, which the returned map contains. Entities inside components are remapped
    /// ([`Component::ENTITIES`](crate::Component::ENTITIES)). A resource that `world` already has is not replaced. Values of
    /// [tracked](crate::change_detection) components count as added now.
    ///
    /// [Listeners and collectors](crate::signal) receive the spawned entities and added components, by ascending index in the
    /// snapshot, after everything is in place. [`merge_silent`](Registry::merge_silent) skips them. To let listeners see a whole
    /// loaded world, connect them to a new world and merge into it.
    ///
    /// ```
    /// use phalanx::snapshot::Registry;
    /// use phalanx::{Component, Entity, World};
    ///
    /// #[derive(Component, serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// #[component(entities)]
    /// struct Likes(Vec<Entity>);
    ///
    /// let mut registry = Registry::new();
    /// registry.serde::<Likes>("likes")?;
    /// let mut scene = World::new();
    /// let ann = scene.spawn_empty();
    /// let bob = scene.spawn(Likes(vec![ann]));
    /// let mut file = Vec::new();
    /// registry.save(&scene, &mut file)?;
    ///
    /// let mut world = World::new();
    /// world.spawn_empty();
    /// let map = registry.merge(&mut world, &*file)?;
    /// let (ann, bob) = (map.get(ann).unwrap(), map.get(bob).unwrap());
    /// assert_eq!(world.get::<Likes>(bob)?, &Likes(vec![ann]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load`](Registry::load), and [`Problem::Merge`] if `world` cannot take the entities. On error,
    /// `world` is unchanged and no listener is called.
    ///
    /// Every merge creates new entities. A [`ContinuousLoader`](super::ContinuousLoader) updates those of its last load.
    #[doc(alias = "write_to_world")]
    pub fn merge(&self, world: &mut World, reader: impl Read) -> Result<EntityMap, LoadError> {
        let mut loaded = self.load(reader)?;
        let map = move_into(&mut loaded, world)?;
        loaded.dispatch_moves(world);
        Ok(map)
    }

    /// Does the same as [`merge`](Registry::merge), but calls no listener and fills no collector.
    ///
    /// ```
    /// use phalanx::snapshot::Registry;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, serde::Serialize, serde::Deserialize)]
    /// struct Orc;
    ///
    /// let mut registry = Registry::new();
    /// registry.tag("orc", || Orc)?;
    /// let (mut scene, mut file) = (World::new(), Vec::new());
    /// scene.spawn(Orc);
    /// registry.save(&scene, &mut file)?;
    ///
    /// let mut world = World::new();
    /// let orcs = world.collector().added::<Orc>().build();
    /// registry.merge_silent(&mut world, &*file)?;
    /// assert_eq!(orcs.drain(&mut world).len(), 0);
    /// registry.merge(&mut world, &*file)?;
    /// assert_eq!(orcs.drain(&mut world).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`merge`](Registry::merge).
    #[doc(alias = "merge_quietly")]
    pub fn merge_silent(&self, world: &mut World, reader: impl Read) -> Result<EntityMap, LoadError> {
        let mut loaded = self.load(reader)?;
        // Listeners still have to see entities that were reserved before the merge.
        world.storage.flush().map_err(|error| cannot_merge(error.into()))?;
        let journal: Journal = core::mem::take(&mut world.storage.journal);
        let silent = DropGuard::new((&mut *world, journal), |(world, journal)| {
            core::mem::swap(&mut world.storage.journal, journal);
        });
        let map = move_into(&mut loaded, silent.state.0);
        drop(silent);
        world.dispatch();
        map
    }
}

/// Moves all entities and resources of one world into another. Calls no listener.
fn move_into(from: &mut World, to: &mut World) -> Result<EntityMap, LoadError> {
    to.resources.try_reserve_for(&from.resources).map_err(|error| cannot_merge(error.into()))?;
    let map = from.move_all(to).map_err(cannot_merge)?;
    to.resources.absorb(&mut from.resources, to.storage.tick());
    Ok(map)
}

/// Returns the error for a loaded world that cannot be moved into another.
pub(super) fn cannot_merge(error: StructuralError) -> LoadError {
    LoadError { section: END, offset: 0, problem: Problem::Merge(error) }
}
