//! Worlds as bytes, and back: snapshots. Behind the feature `snapshot`.
//!
//! A [`Registry`] says which components and resources are saved, under which names, and how. [`World::save`] writes a world,
//! [`World::load`] reads it: the same entities with the same generations, the same handles to come, the same order of every
//! query. Equal worlds are equal bytes. `docs/snapshot-format.md` describes the format byte by byte.
//!
//! # When values were changed
//!
//! The clock of a world and the marks of [tracked](crate::change_detection) components are saved too: after a load
//! [`Added`](crate::Added) and [`Changed`](crate::Changed) let through what they let through before. A held state begins anew, as
//! with any other world. What is [merged](World::merge) is new, as are values that come from another world by
//! [`transfer`](crate::EntityMut::transfer); and so is what is read in [readable form](World::serialize), which has no marks.
//! [`World::checksum`] and [`diff`] are about values, however they came to be: marks make no difference.
//!
//! # What loading promises
//!
//! Bytes may be anybody's. What no world can have been is refused with an error that says what is wrong and where; nothing
//! panics, and the world that was there stays as it was. A count that is only declared reserves nothing: lists and columns
//! grow with what was really read, to twice that at most. What a slot, a page or a place of a linear store then costs is
//! what it costs in a world. Parts of values that take no bytes are bounded by a [`Budget`] for the whole load. Values that are
//! read by a codec of the user's may be as large as it makes them.
//!
//! # Memory
//!
//! Columns are written from where they lie and read to where they will. Beside the world both sides hold a frame of 64 KiB, a
//! block of encoded values (16 KiB, or one value if that is larger), and numbers: 4 bytes for each value of one pool, a bit for
//! each slot of one linear store, 16 bytes for each extra row while their names are written, 4 bytes for each slot while those are
//! read. Where only some entities are saved, or some are reserved, there is also a copy of what says who is alive. [`World::merge`]
//! holds all that it reads before it is moved over.
//!
//! Where memory cannot be had, that is an error, and the world is as it was: in [`save`](World::save),
//! [`save_part`](World::save_part), [`checksum`](World::checksum), [`load`](World::load), [`merge`](World::merge), [`inspect`] and
//! [`diff`]. It does not reach into code that is not of this library: what a value's own codec or `Deserialize` does (that of
//! `Vec` and `String` aborts), the writer or reader; names and buffers of files, in [`save_to`](World::save_to) and
//! [`load_from`](World::load_from); and formats of serde, in [`serialize`](World::serialize) and
//! [`deserialize`](World::deserialize).

mod budget;
mod codec;
mod coded;
mod column;
mod depth;
mod diff;
mod error;
mod frame;
mod inspect;
mod load;
mod part;
mod readable;
mod registry;
mod restore;
mod run_time;
mod runs;
mod save;
mod times;

pub use crate::checksum::checksum;
#[doc(no_inline)]
pub use crate::layout::{PlainLayout, PlainShape};
pub use budget::Budget;
pub use codec::{Codec, Serde};
pub use diff::diff;
pub use error::{CodecError, Difference, LONGEST_NAME, LoadError, Name, Problem, RegistryError, SaveError};
pub use inspect::{ComponentSummary, Inspection, TableSummary, inspect};
pub use part::Part;
pub use readable::WorldSeed;
pub use registry::{Registered, RegisteredResource, Registry};
pub use run_time::{RawCodec, RegisteredDynamic};

use crate::journal::Journal;
use crate::world::{EntityMap, World};
use frame::Out;
use save::Saving;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

fn has_bit(bits: &[u64], index: u32) -> bool {
    bits.get(index as usize / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
}

/// What was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entities.
    pub entities: usize,
    /// Extra rows.
    pub rows: usize,
    /// Tables, those without rows too.
    pub tables: usize,
    /// The names of the components, in the order of their ids.
    pub components: Vec<&'static str>,
    /// The names of the resources, in alphabetical order.
    pub resources: Vec<&'static str>,
    /// The types of what was left out because it is not registered.
    pub skipped: Vec<&'static str>,
    /// Bytes written.
    pub bytes: u64,
    /// The number that [`World::checksum`] gives, of what was written but for [times of changes](crate::change_detection).
    pub checksum: u64,
}

/// Snapshots: see [`snapshot`](crate::snapshot).
impl World {
    /// Writes the world: everything that is registered.
    ///
    /// Entities that are [reserved](crate::CommandBuffer) are saved as if they had been made already, without components.
    ///
    /// # Errors
    ///
    /// If an entity has a component that is not registered (unless [that was allowed](Registry::skip_unregistered)), a value
    /// has no encoded form, the writer fails, or memory cannot be had. What was written until then is no snapshot.
    pub fn save(&self, registry: &Registry, writer: impl Write) -> Result<Report, SaveError> {
        self.save_part(registry, &Part::whole(), writer)
    }

    /// Writes a part of the world.
    ///
    /// # Errors
    ///
    /// As [`save`](World::save), and if the part names a component that is not registered.
    pub fn save_part(&self, registry: &Registry, part: &Part, mut writer: impl Write) -> Result<Report, SaveError> {
        let saving = Saving::new(self, registry, part)?;
        let mut out = Out::new(&mut writer)?;
        let report = saving.write(&mut out, true)?;
        out.finish()?;
        Ok(report)
    }

    /// Writes the world to a file, which it replaces as a whole or not at all: it is written under another name beside it,
    /// flushed to the disk and renamed.
    ///
    /// # Errors
    ///
    /// As [`save`](World::save); the file is as it was then.
    pub fn save_to(&self, registry: &Registry, path: impl AsRef<Path>) -> Result<Report, SaveError> {
        let path = path.as_ref();
        let (temporary, file) = beside(path)?;
        /// Removes what is not finished.
        struct Remove<'a>(&'a Path);
        impl Drop for Remove<'_> {
            fn drop(&mut self) {
                let _ = std::fs::remove_file(self.0);
            }
        }
        let remove = Remove(&temporary);
        let mut writer = BufWriter::new(file);
        let report = self.save(registry, &mut writer)?;
        let file = writer.into_inner().map_err(|error| error.into_error())?;
        file.sync_all()?;
        drop(file);
        std::fs::rename(&temporary, path)?;
        core::mem::forget(remove);
        // The renaming itself is on the disk when the folder is; where folders cannot be flushed, that is as good as it gets.
        if let Some(folder) = path.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(report)
    }

    /// Reads a world.
    ///
    /// Entities, rows, stores, groups and their orders are exactly those that were saved, and so are the entities to come, times
    /// of changes, and the resources that are registered. An entity that was reserved is alive, without components.
    ///
    /// The world has no other resources, keeps [none](crate::ResourcesMut::keep), and has no listeners and no collectors. Components
    /// may have other ids than in the world that was saved.
    ///
    /// # Errors
    ///
    /// If the input is no snapshot of what is registered, or memory cannot be had: see [`Problem`].
    pub fn load(registry: &Registry, mut reader: impl Read) -> Result<World, LoadError> {
        load::load(registry, &mut reader)
    }

    /// Reads a world from a file.
    ///
    /// # Errors
    ///
    /// As [`load`](World::load), and if the file cannot be read.
    pub fn load_from(registry: &Registry, path: impl AsRef<Path>) -> Result<World, LoadError> {
        let file = File::open(path).map_err(|error| LoadError {
            section: *b"head",
            offset: 0,
            problem: Problem::Io(error.kind()),
        })?;
        World::load(registry, io::BufReader::new(file))
    }

    /// Reads a world and joins it to this one. Its entities become others, which the map tells; entities in components
    /// ([`Component::ENTITIES`](crate::Component::ENTITIES)) are changed along. Resources that are here already stay. Values of
    /// [tracked](crate::change_detection) components count as added now.
    ///
    /// [Listeners and collectors](crate::signal) are told that the entities were spawned and their components added, by
    /// ascending index in the snapshot, when all of it is in place, resources too. [`merge_quietly`](World::merge_quietly) tells
    /// nobody. ([`load`](World::load) makes a world that has no listeners yet: connect them to a new one and merge into it, if
    /// they are to be told.)
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
    /// scene.save(&registry, &mut file)?;
    ///
    /// let mut world = World::new();
    /// world.spawn_empty();
    /// let map = world.merge(&registry, &*file)?;
    /// let (ann, bob) = (map.get(ann).unwrap(), map.get(bob).unwrap());
    /// assert_eq!(world.get::<Likes>(bob)?, &Likes(vec![ann]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`load`](World::load), and if memory cannot be had; this world is as it was then, and nobody is told anything.
    pub fn merge(&mut self, registry: &Registry, reader: impl Read) -> Result<EntityMap, LoadError> {
        let mut loaded = World::load(registry, reader)?;
        let map = self.merge_from(&mut loaded)?;
        loaded.announce_moves(self);
        Ok(map)
    }

    /// [`merge`](World::merge), of which no listener and no collector is told.
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
    /// scene.save(&registry, &mut file)?;
    ///
    /// let mut world = World::new();
    /// let orcs = world.collector().added::<Orc>().build();
    /// world.merge_quietly(&registry, &*file)?;
    /// assert_eq!(world.drain(orcs).len(), 0);
    /// world.merge(&registry, &*file)?;
    /// assert_eq!(world.drain(orcs).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`merge`](World::merge).
    pub fn merge_quietly(&mut self, registry: &Registry, reader: impl Read) -> Result<EntityMap, LoadError> {
        /// A world without its listeners, which come back.
        struct Quiet<'a>(&'a mut World, Journal);
        impl Drop for Quiet<'_> {
            fn drop(&mut self) {
                core::mem::swap(&mut self.0.storage.journal, &mut self.1);
            }
        }
        let mut loaded = World::load(registry, reader)?;
        // Entities that were reserved come by this operation, and are none of its.
        self.storage.flush().map_err(|error| refused(error.into()))?;
        let signals = core::mem::take(&mut self.storage.journal);
        let quiet = Quiet(self, signals);
        let map = quiet.0.merge_from(&mut loaded);
        drop(quiet);
        self.dispatch();
        map
    }

    /// Takes over all that another world has. Nobody is told yet.
    fn merge_from(&mut self, other: &mut World) -> Result<EntityMap, LoadError> {
        self.resources.try_reserve_for(&other.resources).map_err(|error| refused(error.into()))?;
        let map = other.move_all(self).map_err(refused)?;
        self.resources.absorb(&mut other.resources);
        Ok(map)
    }

    /// A number for the world: the same for equal worlds, orders included, and most likely another for others. When values
    /// came and were changed ([`track`](crate::change_detection)) makes no difference.
    ///
    /// # Errors
    ///
    /// As [`save`](World::save), and if a component is [not canonical](Registered::not_canonical).
    pub fn checksum(&self, registry: &Registry) -> Result<u64, SaveError> {
        let whole = Part::whole();
        let saving = Saving::new(self, registry, &whole)?;
        saving.check_canonical()?;
        let mut sink = io::sink();
        let mut out = Out::new(&mut sink)?;
        Ok(saving.write(&mut out, false)?.checksum)
    }
}

/// What was read cannot join a world.
fn refused(error: crate::ChangeError) -> LoadError {
    LoadError { section: frame::END, offset: 0, problem: Problem::Merge(error) }
}

/// A new file beside another, under a name that nobody has.
fn beside(path: &Path) -> Result<(std::path::PathBuf, File), SaveError> {
    let name = path.file_name().ok_or(SaveError::Io(io::ErrorKind::InvalidInput))?;
    for attempt in 0..u32::MAX {
        let mut other = std::ffi::OsString::from(".");
        other.push(name);
        other.push(format!(".{}-{attempt}", std::process::id()));
        let other = path.with_file_name(other);
        match File::options().write(true).create_new(true).open(&other) {
            Ok(file) => return Ok((other, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(SaveError::Io(io::ErrorKind::AlreadyExists))
}
