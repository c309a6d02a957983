//! Saving worlds: [`Registry::save`] and its variants.

use super::error::SaveError;
use super::part::Part;
use super::registry::Registry;
use super::saver::Saver;
use super::writer::Writer;
use crate::world::World;
use phalanx_store::raw::DropGuard;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A summary of what was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of entities.
    pub entities: usize,
    /// The number of extra rows.
    pub rows: usize,
    /// The number of tables that have rows.
    pub tables: usize,
    /// The names of the components, in alphabetical order.
    pub components: Vec<&'static str>,
    /// The names of the resources, in alphabetical order.
    pub resources: Vec<&'static str>,
    /// The type names of the components and resources that were left out because they are not registered.
    pub skipped: Vec<&'static str>,
    /// The number of links that were left out because they lead out of the [part](Part) that was saved.
    pub cut_links: usize,
    /// The number of bytes written.
    pub bytes: u64,
    /// The result of [`Registry::checksum`] for what was written. [Change ticks](crate::change_detection) do not affect it.
    pub checksum: u64,
}

/// # Saving
impl Registry {
    /// Writes all registered components and resources of a world to `writer`.
    ///
    /// Entities that are [reserved](crate::CommandBuffer) are saved as live entities without components.
    ///
    /// # Errors
    ///
    /// - [`SaveError::Unregistered`] if an entity has a component that is not registered, unless
    ///   [`skip_unregistered`](Registry::skip_unregistered) was called.
    /// - [`SaveError::Codec`] if a value has no encoded form.
    /// - [`SaveError::Io`] if the writer fails.
    /// - [`SaveError::Alloc`] if allocation fails.
    ///
    /// On error, the bytes that were written are not a snapshot.
    #[doc(alias = "snapshot")]
    #[doc(alias = "to_json")]
    pub fn save(&self, world: &World, writer: impl Write) -> Result<Report, SaveError> {
        self.save_part(world, &Part::whole(), writer)
    }

    /// Writes a part of a world to `writer`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`save`](Registry::save), and [`SaveError::UnknownName`] if the part names a component that is
    /// not registered.
    #[doc(alias = "DynamicSceneBuilder")]
    pub fn save_part(&self, world: &World, part: &Part, mut writer: impl Write) -> Result<Report, SaveError> {
        let saver = Saver::new(world, self, part)?;
        let mut writer = Writer::new(&mut writer)?;
        let report = saver.write(&mut writer, true)?;
        writer.finish()?;
        Ok(report)
    }

    /// Writes a world to a file and replaces the file atomically.
    ///
    /// The snapshot is written to a temporary file in the same folder, flushed to the disk and renamed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`save`](Registry::save). [`SaveError::Io`] also covers the file. On error, the file is
    /// unchanged.
    pub fn save_to(&self, world: &World, path: impl AsRef<Path>) -> Result<Report, SaveError> {
        let path = path.as_ref();
        let (temporary, file) = create_temporary(path)?;
        let unfinished = DropGuard::new(&temporary, |temporary| drop(std::fs::remove_file(temporary)));
        let mut writer = BufWriter::new(file);
        let report = self.save(world, &mut writer)?;
        let file = writer.into_inner().map_err(|error| error.into_error())?;
        file.sync_all()?;
        drop(file);
        std::fs::rename(&temporary, path)?;
        unfinished.dismiss();
        // The renaming is durable once the folder is flushed. Not every platform can flush a folder.
        if let Some(folder) = path.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(report)
    }

    /// Returns a checksum of a world.
    ///
    /// Equal worlds, with equal orders, have equal checksums. Other worlds very likely have another one.
    /// [Change ticks](crate::change_detection) do not affect the result.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`save`](Registry::save), and [`SaveError::NotCanonical`] if a component or resource is
    /// [not canonical](super::Registered::not_canonical).
    #[doc(alias = "hash")]
    pub fn checksum(&self, world: &World) -> Result<u64, SaveError> {
        let whole = Part::whole();
        let saver = Saver::new(world, self, &whole)?;
        saver.check_canonical()?;
        let mut sink = io::sink();
        let mut writer = Writer::new(&mut sink)?;
        Ok(saver.write(&mut writer, false)?.checksum)
    }
}

/// Creates a file in the same folder as another, under an unused name.
fn create_temporary(path: &Path) -> Result<(PathBuf, File), SaveError> {
    let name = path.file_name().ok_or(SaveError::Io(io::ErrorKind::InvalidInput))?;
    for attempt in 0..u32::MAX {
        let mut other = OsString::from(".");
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
