//! [`Run`]: one run of a model.

use crate::error::EnsembleError;
use phalanx::World;
use phalanx::snapshot::Registry;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One run of a model: its seed, its parameters, and its folder.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) seed: u64,
    pub(crate) parameters: BTreeMap<String, Value>,
    pub(crate) results: Arc<Mutex<BTreeMap<String, Value>>>,
    /// Whether another process has taken the run over.
    pub(crate) lost: Arc<AtomicBool>,
}

impl Run {
    /// Returns the name, which is made of the parameters and the seed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the folder, which exists. Its name is `run=` and that of the run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> &BTreeMap<String, Value> {
        &self.parameters
    }

    /// Returns a parameter.
    ///
    /// # Panics
    ///
    /// Panics if the ensemble has no such parameter, or it is of another type.
    #[track_caller]
    pub fn parameter<T: DeserializeOwned>(&self, name: &str) -> T {
        let Some(value) = self.parameters.get(name) else { panic!("the ensemble has no parameter {name:?}") };
        match serde_json::from_value(value.clone()) {
            Ok(value) => value,
            Err(error) => panic!("parameter {name:?} is {value}: {error}"),
        }
    }

    /// Sets a result, which is written to `outcome.json` when the run is done.
    pub fn set_result(&self, name: &str, value: impl Into<Value>) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.insert(name.to_owned(), value.into());
    }

    /// Returns `true` if another process has taken the run over, because this one did not renew its claim in time. Such a run may
    /// end early: its outcome is not used.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Writes the state of a world as the keyframe of a frame, from which the run goes on if its process is killed.
    ///
    /// A recorder of `phalanx-arrow` writes keyframes itself, and continues with `Recorder::resume`.
    ///
    /// # Errors
    ///
    /// [`EnsembleError::File`] or [`EnsembleError::Keyframe`] if the world cannot be saved, or the file cannot be written.
    pub fn keyframe(&self, registry: &Registry, world: &World, frame: u64) -> Result<(), EnsembleError> {
        let folder = self.folder.join("exact");
        fs::create_dir_all(&folder).map_err(EnsembleError::file("create", &folder))?;
        let path = folder.join(format!("{frame:010}.phx"));
        let failed = |error| EnsembleError::Keyframe { path: path.clone(), problem: format!("{error}") };
        registry.save_to(world, &path).map_err(failed).map(drop)
    }

    /// Returns the last keyframe of a process that was killed, and its frame. Returns `None` if there is none.
    ///
    /// ```no_run
    /// use phalanx::World;
    /// use phalanx::snapshot::Registry;
    /// use phalanx_ensemble::{EnsembleError, Run};
    ///
    /// # fn make(run: &Run) -> World { World::new() }
    /// # fn simulate(world: &mut World) {}
    /// fn model(run: Run, registry: &Registry) -> Result<(), EnsembleError> {
    ///     let (mut world, first) = run.resume(registry)?.unwrap_or_else(|| (make(&run), 0));
    ///     for frame in first..10_000 {
    ///         if frame % 1000 == 0 {
    ///             run.keyframe(registry, &world, frame)?;
    ///         }
    ///         simulate(&mut world);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`EnsembleError::File`] or [`EnsembleError::Keyframe`] if the folder or the keyframe cannot be read.
    pub fn resume(&self, registry: &Registry) -> Result<Option<(World, u64)>, EnsembleError> {
        let folder = self.folder.join("exact");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(EnsembleError::file("read", &folder)(error)),
        };
        let frame_of = |path: &Path| {
            let is_keyframe = path.extension().is_some_and(|extension| extension == "phx");
            path.file_stem().filter(|_| is_keyframe)?.to_str()?.parse::<u64>().ok()
        };
        let frames = entries.flatten().filter_map(|entry| Some((frame_of(&entry.path())?, entry.path())));
        let Some((frame, path)) = frames.max() else { return Ok(None) };
        let failed = |error| EnsembleError::Keyframe { path: path.clone(), problem: format!("{error}") };
        Ok(Some((registry.load_from(&path).map_err(failed)?, frame)))
    }
}
