//! [`Outcome`]: what a run has ended with.

use crate::error::EnsembleError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The number of bytes that the file of an outcome can have.
const LIMIT: u64 = 64 << 20;

/// What a run has ended with: the file `outcome.json` of a run that is done.
///
/// It has neither times nor names of machines, so that equal runs have equal files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The name of the run.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// The parameters.
    pub parameters: BTreeMap<String, Value>,
    /// What the run has [set](crate::Run::set_result).
    pub results: BTreeMap<String, Value>,
    /// What went wrong, if the run has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Outcome {
    pub(crate) fn read(path: &Path) -> Result<Option<Outcome>, EnsembleError> {
        let len = match fs::metadata(path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(EnsembleError::file("read", path)(error)),
        };
        let damaged = |problem: String| EnsembleError::Damaged { path: path.to_owned(), problem };
        if len > LIMIT {
            return Err(damaged("it is too long".into()));
        }
        let text = fs::read(path).map_err(EnsembleError::file("read", path))?;
        serde_json::from_slice(&text).map(Some).map_err(|error| damaged(error.to_string()))
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), EnsembleError> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| EnsembleError::Damaged { path: path.to_owned(), problem: error.to_string() })?;
        text.push(b'\n');
        write_whole(path, &text)
    }
}

/// Writes a file that has its name only when it is whole.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), EnsembleError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(EnsembleError::file("create", folder))?;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(EnsembleError::file("write", &temporary))
        .and_then(|()| fs::rename(&temporary, path).map_err(EnsembleError::file("rename to", path)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// What the function of a run returns: nothing, or an error.
pub trait RunResult {
    /// Returns what went wrong.
    fn into_error(self) -> Option<String>;
}

impl RunResult for () {
    fn into_error(self) -> Option<String> {
        None
    }
}

impl<E: Display> RunResult for Result<(), E> {
    fn into_error(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}
