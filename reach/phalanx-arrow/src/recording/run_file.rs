//! [`RunFile`]: what is known about a recording, `run.json`.

use super::error::RecordError;
use super::files::{WholeFile, sum_of_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name of the file.
pub(super) const RUN_FILE: &str = "run.json";
/// The number of bytes that the file can have.
const LIMIT: u64 = 256 << 20;
/// The version of the layout of folders.
const FORMAT: u32 = 1;

/// What is known about a recording: the file `run.json`.
///
/// It is replaced as a whole whenever a part is finished. It has no times and no names of machines, so that equal runs have equal files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunFile {
    /// The version of the layout of folders.
    pub format: u32,
    /// The seed of the run.
    pub seed: Option<u64>,
    /// The parameters of the run.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// The distance of the frames that tables have.
    pub every: u64,
    /// The distance of keyframes, and the number of frames of a part.
    pub keyframe_every: u64,
    /// Whether the state of all frames can be restored, and not only that of keyframes.
    pub has_deltas: bool,
    /// Whether tables have only the rows that differ from the frame before.
    #[serde(default)]
    pub has_changes: bool,
    /// The components that have tables, if not all of them do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<Vec<String>>,
    /// The number of frames that were recorded, without those of a part that is not finished.
    pub frames: u64,
    /// The number of frames that are missing in tables, because the queue was full.
    pub skipped: u64,
    /// Whether the recording was finished.
    pub finished: bool,
    /// The columns of the files of each component, with their types.
    pub schema: BTreeMap<String, Vec<(String, String)>>,
    /// The finished Parquet files.
    pub parts: Vec<Part>,
    /// The finished snapshots.
    pub keyframes: Vec<Keyframe>,
    /// The finished files of deltas.
    pub deltas: Vec<DeltaPart>,
}

/// A finished Parquet file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The path within the folder of the recording.
    pub file: String,
    /// The first frame that may be in it.
    pub first: u64,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The 64-bit XXH3 of the bytes.
    #[serde(with = "hex")]
    pub checksum: u64,
}

impl Part {
    /// Reads the file in the folder of a recording, and compares its checksum.
    ///
    /// # Errors
    ///
    /// [`RecordError::File`] if it cannot be read, and [`RecordError::Damaged`] if it has another checksum.
    pub fn verify(&self, folder: impl AsRef<Path>) -> Result<(), RecordError> {
        verify(&folder.as_ref().join(&self.file), self.checksum)
    }
}

/// Compares the checksum of a file.
pub(super) fn verify(path: &Path, checksum: u64) -> Result<(), RecordError> {
    match sum_of_file(path).map_err(RecordError::file("read", path))? {
        sum if sum == checksum => Ok(()),
        _ => Err(RecordError::damaged(path, "it has another checksum")),
    }
}

/// A finished snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Keyframe {
    /// The frame.
    pub frame: u64,
    /// The path within the folder of the recording.
    pub file: String,
    /// The number of bytes.
    pub bytes: u64,
    /// The checksum of the world: [`Registry::checksum`](phalanx::snapshot::Registry::checksum).
    #[serde(with = "hex")]
    pub checksum: u64,
}

/// A finished file of deltas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeltaPart {
    /// The keyframe that the first delta begins with.
    pub keyframe: u64,
    /// The number of deltas.
    pub frames: u64,
    /// The path within the folder of the recording.
    pub file: String,
    /// The number of bytes.
    pub bytes: u64,
    /// The 64-bit XXH3 of the bytes.
    #[serde(with = "hex")]
    pub checksum: u64,
}

/// Checksums as text, because most readers of JSON round large numbers.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

impl RunFile {
    pub(super) fn new() -> RunFile {
        RunFile { format: FORMAT, ..RunFile::default() }
    }

    /// Reads the file of a recording.
    ///
    /// # Errors
    ///
    /// - [`RecordError::File`] if it cannot be read.
    /// - [`RecordError::Damaged`] if it is not such a file, or that of another version.
    pub fn read(folder: impl AsRef<Path>) -> Result<RunFile, RecordError> {
        let path = folder.as_ref().join(RUN_FILE);
        let len = fs::metadata(&path).map_err(RecordError::file("read", &path))?.len();
        if len > LIMIT {
            return Err(RecordError::damaged(&path, "it is too long"));
        }
        let text = fs::read(&path).map_err(RecordError::file("read", &path))?;
        let run: RunFile = serde_json::from_slice(&text).map_err(|error| RecordError::damaged(&path, error))?;
        match run.format {
            FORMAT => Ok(run),
            other => Err(RecordError::damaged(&path, format!("it has version {other}, and not {FORMAT}"))),
        }
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), RecordError> {
        let path = folder.join(RUN_FILE);
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| RecordError::damaged(&path, error))?;
        text.push(b'\n');
        WholeFile::write(&path, &text).map(drop)
    }
}
