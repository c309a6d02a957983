//! Files that get their names when they are whole.

use super::error::RecordError;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// What the names of unfinished files begin and end with. Readers of folders of Parquet files skip them.
const TEMPORARY: (&str, &str) = (".", ".tmp");

/// A file that has its name only when it is [finished](WholeFile::finish). Until then it has a temporary one in the same folder, and
/// is removed if it is dropped.
pub(super) struct WholeFile {
    file: Option<File>,
    path: PathBuf,
    temporary: PathBuf,
    bytes: u64,
    sum: XxHash3_64,
    /// The first error of writing, which a writer around this may have hidden.
    failed: Option<io::Error>,
}

impl WholeFile {
    /// Creates a file, and the folder that it is in.
    pub(super) fn create(path: &Path) -> Result<WholeFile, RecordError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(RecordError::file("create", folder))?;
        }
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let temporary = path.with_file_name(format!("{}{name}{}", TEMPORARY.0, TEMPORARY.1));
        let file = File::create(&temporary).map_err(RecordError::file("create", &temporary))?;
        let sum = XxHash3_64::with_seed(0);
        Ok(WholeFile { file: Some(file), path: path.to_owned(), temporary, bytes: 0, sum, failed: None })
    }

    /// Writes a whole file.
    pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(u64, u64), RecordError> {
        let mut file = WholeFile::create(path)?;
        let result = file.write_all(bytes);
        file.check(result)?;
        file.finish()
    }

    /// Turns the result of a write to this file into an error that names it.
    pub(super) fn check<T>(&mut self, result: Result<T, impl std::fmt::Display>) -> Result<T, RecordError> {
        let path = self.temporary.clone();
        result.map_err(|error| match self.failed.take() {
            Some(error) => RecordError::file("write", &path)(error),
            None => RecordError::file("write", &path)(io::Error::other(error.to_string())),
        })
    }

    /// Flushes the file to the disk and gives it its name. Returns the number of bytes and their checksum.
    pub(super) fn finish(mut self) -> Result<(u64, u64), RecordError> {
        use std::hash::Hasher;
        if let Some(file) = self.file.take() {
            let synced = file.sync_all();
            drop(file);
            if let Err(error) = synced {
                self.remove();
                return Err(RecordError::file("write", &self.temporary)(error));
            }
        }
        if let Err(error) = fs::rename(&self.temporary, &self.path) {
            self.remove();
            return Err(RecordError::file("rename to", &self.path)(error));
        }
        // The renaming is durable once the folder is flushed. Not every platform can flush a folder.
        if let Some(folder) = self.path.parent() {
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok((self.bytes, self.sum.finish()))
    }

    fn remove(&mut self) {
        let _ = fs::remove_file(&self.temporary);
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotConnected.into()) };
        match file.write(bytes) {
            Ok(count) => {
                use std::hash::Hasher;
                self.sum.write(&bytes[..count]);
                self.bytes += count as u64;
                Ok(count)
            }
            Err(error) => {
                let kind = error.kind();
                if kind != io::ErrorKind::Interrupted {
                    self.failed.get_or_insert(error);
                }
                Err(kind.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            self.remove();
        }
    }
}

/// Removes the unfinished files of a folder and its folders, which a process that was killed has left.
pub(super) fn remove_unfinished(folder: &Path) -> Result<(), RecordError> {
    let entries = fs::read_dir(folder).map_err(RecordError::file("read", folder))?;
    for entry in entries {
        let entry = entry.map_err(RecordError::file("read", folder))?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_unfinished(&path)?;
        } else if name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1) {
            fs::remove_file(&path).map_err(RecordError::file("remove", &path))?;
        }
    }
    Ok(())
}

/// Returns the checksum of bytes, as that of a file.
pub(super) fn sum_of(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(0, bytes)
}

/// Returns the checksum of a file, a piece at a time.
pub(super) fn sum_of_file(path: &Path) -> io::Result<u64> {
    use std::hash::Hasher;
    let (mut file, mut sum) = (File::open(path)?, XxHash3_64::with_seed(0));
    let mut piece = vec![0; 1 << 18];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(sum.finish()),
            Ok(count) => sum.write(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
