//! [`Recording`]: a recording that is read.

use super::error::RecordError;
use super::files::sum_of;
use super::run_file::{DeltaPart, Keyframe, RunFile, verify};
use super::writer_thread::DELTAS_MAGIC;
use phalanx::World;
use phalanx::snapshot::{Registry, SaveError};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A recording that was written by a [`Recorder`](super::Recorder).
#[derive(Clone, Debug)]
pub struct Recording {
    folder: PathBuf,
    run: RunFile,
}

impl Recording {
    /// Opens the recording in a folder, finished or not.
    ///
    /// # Errors
    ///
    /// [`RecordError::File`] or [`RecordError::Damaged`] if `run.json` cannot be read, or names files outside of the folder.
    pub fn open(folder: impl AsRef<Path>) -> Result<Recording, RecordError> {
        let (folder, run) = (folder.as_ref().to_owned(), RunFile::read(folder)?);
        let files = run.parts.iter().map(|part| &part.file).chain(run.keyframes.iter().map(|keyframe| &keyframe.file));
        for file in files.chain(run.deltas.iter().map(|part| &part.file)) {
            let is_inside = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
            if !is_inside || file.is_empty() {
                return Err(RecordError::damaged(&folder, format!("{file:?} is not a file of a recording")));
            }
        }
        Ok(Recording { folder, run })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns what is known about the recording.
    pub fn run(&self) -> &RunFile {
        &self.run
    }

    /// Returns the names of the components that have tables.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.run.schema.keys().map(String::as_str)
    }

    /// Returns the finished Parquet files of a component, in the order of their frames: those of its rows, or of its
    /// [changes](super::RecorderBuilder::changes).
    pub fn parts(&self, component: &str) -> impl Iterator<Item = PathBuf> + use<'_> {
        let kind = if self.run.has_changes { "changes" } else { "component" };
        self.in_folder(format!("{kind}={component}/"))
    }

    /// Returns the finished Parquet files of entities, in the order of their frames.
    pub fn entity_parts(&self) -> impl Iterator<Item = PathBuf> + use<'_> {
        self.in_folder("entity/".to_owned())
    }

    fn in_folder(&self, prefix: String) -> impl Iterator<Item = PathBuf> + use<'_> {
        let parts = self.run.parts.iter().filter(move |part| part.file.starts_with(&prefix));
        parts.map(|part| self.folder.join(&part.file))
    }

    /// Returns the world as it was at a frame. With deltas this is any frame of a finished part, and otherwise a keyframe.
    ///
    /// # Errors
    ///
    /// - [`RecordError::NoSuchFrame`] if the state of the frame was not recorded.
    /// - [`RecordError::File`] and [`RecordError::Damaged`] if a file cannot be read, or does not have its checksum.
    pub fn world_at(&self, registry: &Registry, frame: u64) -> Result<World, RecordError> {
        self.world_at_with(registry, frame, |_| {})
    }

    /// Like [`world_at`](Recording::world_at), and calls a function with the world of the keyframe before deltas are applied.
    ///
    /// Deltas have the resources that the world [keeps](phalanx::ResourcesMut::keep_plain). The function must keep the same ones.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`world_at`](Recording::world_at).
    pub fn world_at_with(
        &self,
        registry: &Registry,
        frame: u64,
        prepare: impl FnOnce(&mut World),
    ) -> Result<World, RecordError> {
        let none = RecordError::NoSuchFrame { frame, nearest: None };
        let keyframe = self.run.keyframes.iter().rfind(|keyframe| keyframe.frame <= frame).ok_or(none)?;
        let nearest = || RecordError::NoSuchFrame { frame, nearest: Some(keyframe.frame) };
        if keyframe.frame == frame {
            let mut world = self.keyframe(registry, keyframe)?;
            prepare(&mut world);
            return Ok(world);
        }
        let part = self.run.deltas.iter().find(|part| part.keyframe == keyframe.frame).ok_or_else(nearest)?;
        if frame - keyframe.frame > part.frames {
            return Err(nearest());
        }
        let mut world = self.keyframe(registry, keyframe)?;
        let path = self.folder.join(&keyframe.file);
        registry.register_in(&mut world).map_err(|error| RecordError::damaged(&path, error))?;
        prepare(&mut world);
        self.apply_deltas(&mut world, part, frame)?;
        Ok(world)
    }

    fn keyframe(&self, registry: &Registry, keyframe: &Keyframe) -> Result<World, RecordError> {
        let path = self.folder.join(&keyframe.file);
        let world = registry.load_from(&path).map_err(|error| RecordError::damaged(&path, error))?;
        match registry.checksum(&world) {
            Ok(checksum) if checksum != keyframe.checksum => {
                Err(RecordError::damaged(&path, "the world has another checksum"))
            }
            // Without a canonical form there is no checksum to compare.
            Ok(_) | Err(SaveError::NotCanonical { .. }) => Ok(world),
            Err(error) => Err(RecordError::damaged(&path, error)),
        }
    }

    fn apply_deltas(&self, world: &mut World, part: &DeltaPart, frame: u64) -> Result<(), RecordError> {
        let path = self.folder.join(&part.file);
        let bytes = fs::read(&path).map_err(RecordError::file("read", &path))?;
        if sum_of(&bytes) != part.checksum {
            return Err(RecordError::damaged(&path, "it has another checksum"));
        }
        let end = || RecordError::damaged(&path, "it ends early");
        let mut rest = bytes.strip_prefix(&DELTAS_MAGIC).ok_or_else(end)?;
        for expected in part.keyframe + 1..=frame {
            let (head, behind) = rest.split_first_chunk::<16>().ok_or_else(end)?;
            let [number, len] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|n| head[at + n])));
            let len = usize::try_from(len).ok().filter(|len| *len <= behind.len()).ok_or_else(end)?;
            if number != expected {
                return Err(RecordError::damaged(&path, format!("frame {number} is in the place of {expected}")));
            }
            let (delta, behind) = behind.split_at(len);
            let wrong = |error| RecordError::damaged(&path, format!("frame {number}: {error}"));
            world.apply_delta(delta).map_err(wrong)?;
            rest = behind;
        }
        Ok(())
    }

    /// Reads all finished Parquet files and files of deltas, and compares their checksums.
    ///
    /// # Errors
    ///
    /// [`RecordError::File`] or [`RecordError::Damaged`] for the first file that is missing or changed.
    pub fn verify(&self) -> Result<(), RecordError> {
        self.run.parts.iter().try_for_each(|part| part.verify(&self.folder))?;
        self.run.deltas.iter().try_for_each(|part| verify(&self.folder.join(&part.file), part.checksum))
    }
}
