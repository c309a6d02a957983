//! [`Recorder`]: writes a recording while a simulation runs.

use super::Recording;
use super::capture::{CapturePlan, CapturedTable, Spares};
use super::entity_lists::EntityLists;
use super::entity_log::EntityLog;
use super::error::RecordError;
use super::files::remove_unfinished;
use super::frames::{Exact, FrameMessage, FrameTables, Message};
use super::run_file::{RUN_FILE, RunFile};
use super::writer_thread::WriterThread;
use crate::names;
use parquet::basic::Compression;
use phalanx::World;
use phalanx::snapshot::Registry;
use phalanx::timeline::Timeline;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;

/// What happens to a frame if the thread that writes is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Full {
    /// The loop waits.
    #[default]
    Block,
    /// The tables of the frame are left out, and the frame is counted in `run.json`. Keyframes are never left out.
    Skip,
}

/// The settings of a recording: [`Recorder::create`].
#[derive(Clone, Debug)]
pub struct RecorderBuilder<'r> {
    folder: PathBuf,
    registry: &'r Registry,
    run: RunFile,
    queue: usize,
    full: Full,
    compression: Compression,
    /// Whether an unfinished recording goes on.
    is_resumed: bool,
}

impl<'r> RecorderBuilder<'r> {
    /// Sets the seed of the run, which is written to `run.json`.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.run.seed = Some(seed);
        self
    }

    /// Sets a parameter of the run, which is written to `run.json`.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.run.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Writes the tables of each `frames`-th frame only. The default is 1.
    #[must_use]
    pub fn every(mut self, frames: u64) -> Self {
        self.run.every = frames.max(1);
        self
    }

    /// Writes a snapshot each `frames` frames, and begins a new part with it. The default is 600.
    #[must_use]
    pub fn keyframes(mut self, frames: u64) -> Self {
        self.run.keyframe_every = frames.max(1);
        self
    }

    /// Writes the difference from each frame to the next, so that [`Recording::world_at`] knows all frames. All components that have
    /// values must be plain data. It takes the loop time for the whole world in each frame.
    #[must_use]
    pub fn deltas(mut self) -> Self {
        self.run.has_deltas = true;
        self
    }

    /// Writes only the rows of components that differ from the frame before. Each part begins with all rows.
    ///
    /// The files are in folders such as `changes=position`. They have a column `op`, after that of the entity:
    ///
    /// | `op` | the row |
    /// |---|---|
    /// | `state` | is in the first frame of a part, which has all rows |
    /// | `added` | was not there in the frame before |
    /// | `changed` | has another value; floats are compared by their bits |
    /// | `removed` | is gone, and has its last values |
    ///
    /// The loop copies as much as without it. In SQL, the table of the component has the rows of all frames nevertheless.
    #[must_use]
    pub fn changes(mut self) -> Self {
        self.run.has_changes = true;
        self
    }

    /// Writes the tables of these components only, by the names of their [tables](crate::FrozenWorld::components). Snapshots have all
    /// components.
    #[must_use]
    pub fn tables<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.run.tables = Some(names.into_iter().map(str::to_owned).collect());
        self
    }

    /// Sets the number of frames that wait to be written, and what happens if there are more. The default is two, and that the loop
    /// waits.
    #[must_use]
    pub fn queue(mut self, frames: usize, full: Full) -> Self {
        (self.queue, self.full) = (frames.max(1), full);
        self
    }

    /// Compresses by zstd, which is slower than LZ4 and makes smaller files.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn zstd(mut self) -> Self {
        self.compression = Compression::ZSTD(parquet::basic::ZstdLevel::default());
        self
    }

    /// Creates the folder and starts the thread that writes.
    ///
    /// # Errors
    ///
    /// - [`RecordError::Exists`] if there is a recording in the folder, finished or with a keyframe.
    /// - [`RecordError::Settings`] if frames may be skipped, and deltas or changes are asked for, which need all frames.
    /// - [`RecordError::File`] if the folder or `run.json` cannot be written, or the thread cannot be started.
    pub fn start(mut self) -> Result<Recorder<'r>, RecordError> {
        if (self.run.has_deltas || self.run.has_changes) && self.full == Full::Skip {
            let problem = "deltas and changes need all frames, so that none can be skipped";
            return Err(RecordError::Settings { problem });
        }
        fs::create_dir_all(&self.folder).map_err(RecordError::file("create", &self.folder))?;
        if !self.is_resumed && self.folder.join(RUN_FILE).exists() {
            // A process that was killed before its first keyframe has left nothing but the settings.
            let is_empty = RunFile::read(&self.folder).is_ok_and(|run| !run.finished && run.keyframes.is_empty());
            if !is_empty {
                return Err(RecordError::Exists { path: self.folder });
            }
        }
        remove_unfinished(&self.folder)?;
        let frame = self.run.frames;
        self.run.parts.retain(|part| part.first < frame);
        self.run.deltas.retain(|part| part.keyframe < frame);
        let entity_log = EntityLog::resume(&self.folder, &self.run)?;
        self.run.write(&self.folder)?;
        let (sender, receiver) = sync_channel(self.queue);
        let (spare_sender, spares) = channel();
        let thread = WriterThread {
            folder: self.folder.clone(),
            run: self.run.clone(),
            compression: self.compression,
            spares: spare_sender,
            writers: BTreeMap::new(),
            deltas: None,
            first: frame,
            is_first_of_part: true,
            entity_log,
            change_logs: BTreeMap::new(),
        };
        let spawned = std::thread::Builder::new().name("phalanx-recorder".into()).spawn(move || thread.run(&receiver));
        let thread = spawned.map_err(RecordError::file("start the thread that writes", &self.folder))?;
        let timeline = self.run.has_deltas.then(|| Timeline::new(1));
        Ok(Recorder {
            settings: self,
            sender: Some(sender),
            thread: Some(thread),
            returned: spares,
            spares: Spares::default(),
            lists: EntityLists::default(),
            plans: BTreeMap::new(),
            planned: 0,
            timeline,
            frame,
            skipped: 0,
            is_first: true,
            failed: None,
        })
    }
}

/// Writes a recording while a simulation runs.
///
/// [`frame`](Recorder::frame) copies the columns of a world. A thread encodes and writes them. The folder is
///
/// ```text
/// runs/run=42/run.json                                       seed, parameters, schema, checksums, finished or not
/// runs/run=42/component=position/part-0000000600.parquet     frame, entity, x, y, z of 600 frames
/// runs/run=42/entity/part-0000000600.parquet                 frame, entity, event, archetype
/// runs/run=42/exact/0000000600.phx                           a snapshot, exact
/// runs/run=42/exact/0000000600.deltas                        the frames after it, if asked for
/// ```
///
/// The files in `entity` say what has happened to entities between two frames: `event` is `born`, `moved` to the table of another
/// archetype, or `ended`. In the first frame of a part, all other entities have a row, too, with `alive`. `archetype` is the list of
/// the components in the table of the entity, without those in sparse storages.
///
/// All files get their names when they are whole. A process that is killed loses the part that it was writing, and nothing else.
///
/// ```
/// use phalanx::snapshot::Registry;
/// use phalanx::{Component, World};
/// use phalanx_arrow::{Recorder, Recording};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// #[component(plain)]
/// struct Height(f32);
///
/// let mut registry = Registry::new();
/// registry.plain::<Height>("height")?;
/// let mut world = World::new();
/// let stone = world.spawn(Height(100.0));
///
/// # let folder = std::env::temp_dir().join(format!("phalanx-doc-{}", std::process::id()));
/// # let folder = folder.to_str().unwrap();
/// let mut recorder = Recorder::create(folder, &registry).seed(7).parameter("speed", 1.5).deltas().start()?;
/// for _ in 0..100 {
///     recorder.frame(&mut world)?;
///     world.query_mut::<&mut Height>().for_each(|height| height.0 -= 1.5);
/// }
/// recorder.finish()?;
///
/// let recording = Recording::open(folder)?;
/// assert_eq!(recording.world_at(&registry, 42)?.get::<Height>(stone)?, &Height(37.0));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder<'r> {
    settings: RecorderBuilder<'r>,
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<RunFile, RecordError>>>,
    returned: Receiver<CapturedTable>,
    spares: Spares,
    lists: EntityLists,
    plans: BTreeMap<String, Arc<CapturePlan>>,
    /// The number of components that the world knew when the plans were made.
    planned: usize,
    timeline: Option<Timeline>,
    frame: u64,
    skipped: u64,
    is_first: bool,
    failed: Option<RecordError>,
}

impl<'r> Recorder<'r> {
    /// Returns the settings of a new recording in a folder, which need not exist.
    pub fn create(folder: impl AsRef<Path>, registry: &'r Registry) -> RecorderBuilder<'r> {
        let run = RunFile { every: 1, keyframe_every: 600, ..RunFile::new() };
        let folder = folder.as_ref().to_owned();
        let compression = Compression::LZ4_RAW;
        RecorderBuilder { folder, registry, run, queue: 2, full: Full::Block, compression, is_resumed: false }
    }

    /// Continues a recording that was not finished, from its last keyframe. Returns the world in the state of that frame, and the
    /// settings, of which those in `run.json` are as they were.
    ///
    /// Returns `None` if there is no recording in the folder, or one without a keyframe.
    ///
    /// ```
    /// # use phalanx::snapshot::Registry;
    /// # use phalanx::{Component, World};
    /// use phalanx_arrow::Recorder;
    /// # #[derive(Component, Clone, Copy)]
    /// # #[component(plain)]
    /// # struct Height(f32);
    /// # fn simulate(world: &mut World) {}
    ///
    /// # let mut registry = Registry::new();
    /// # registry.plain::<Height>("height")?;
    /// # let folder = std::env::temp_dir().join(format!("phalanx-doc-resume-{}", std::process::id()));
    /// let (mut world, mut recorder) = match Recorder::resume(&folder, &registry)? {
    ///     Some((world, recorder)) => (world, recorder.start()?),
    ///     None => (World::new(), Recorder::create(&folder, &registry).start()?),
    /// };
    /// for _ in recorder.next_frame()..1000 {
    ///     recorder.frame(&mut world)?;
    ///     simulate(&mut world);
    /// }
    /// recorder.finish()?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`RecordError::Exists`] if the recording is finished.
    /// - [`RecordError::File`] and [`RecordError::Damaged`] if `run.json` or the snapshot cannot be read.
    pub fn resume(
        folder: impl AsRef<Path>,
        registry: &'r Registry,
    ) -> Result<Option<(World, RecorderBuilder<'r>)>, RecordError> {
        let folder = folder.as_ref();
        if !folder.join(RUN_FILE).exists() {
            return Ok(None);
        }
        let recording = Recording::open(folder)?;
        let run = recording.run();
        if run.finished {
            return Err(RecordError::Exists { path: folder.to_owned() });
        }
        let Some(keyframe) = run.keyframes.last() else { return Ok(None) };
        let world = recording.world_at(registry, keyframe.frame)?;
        let run = RunFile { frames: keyframe.frame, ..run.clone() };
        let settings = Recorder::create(folder, registry);
        Ok(Some((world, RecorderBuilder { run, is_resumed: true, ..settings })))
    }

    /// Returns the number of the frame that [`frame`](Recorder::frame) records next.
    pub fn next_frame(&self) -> u64 {
        self.frame
    }

    /// Returns the number of frames whose tables were left out, because the queue was full.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Records the state of the world as the next frame.
    ///
    /// # Errors
    ///
    /// - [`RecordError::World`] if a component cannot be saved, or with deltas is not plain data.
    /// - The error of the thread that writes, if it has failed with a frame before.
    ///
    /// After an error nothing more is recorded, and the same error is returned again.
    pub fn frame(&mut self, world: &mut World) -> Result<(), RecordError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.try_frame(world);
        if let Err(error) = &result {
            self.failed = Some(error.clone());
            self.sender = None;
        }
        result
    }

    fn try_frame(&mut self, world: &mut World) -> Result<(), RecordError> {
        let frame = self.frame;
        let registry = self.settings.registry;
        if self.is_first {
            let wrong = |error: phalanx::store::AllocError| RecordError::World { frame, problem: error.to_string() };
            registry.register_in(world).map_err(wrong)?;
        }
        let exact = match self.is_first || frame.is_multiple_of(self.settings.run.keyframe_every) {
            true => {
                let mut bytes = Vec::new();
                let wrong =
                    |error: phalanx::snapshot::SaveError| RecordError::World { frame, problem: error.to_string() };
                let report = registry.save(world, &mut bytes).map_err(wrong)?;
                Exact::Keyframe(bytes, report.checksum)
            }
            false => Exact::None,
        };
        let exact = self.capture_delta(world, frame, exact)?;
        let is_due = frame.is_multiple_of(self.settings.run.every);
        let can_skip = self.settings.full == Full::Skip && matches!(exact, Exact::None);
        if is_due || !matches!(exact, Exact::None) {
            self.returned.try_iter().for_each(|table| self.spares.put(table));
            let tables = if is_due { Some(self.capture(world)?) } else { None };
            self.send(Message::Frame(FrameMessage { frame, tables, exact }), can_skip)?;
        }
        (self.frame, self.is_first) = (frame + 1, false);
        Ok(())
    }

    fn capture_delta(&mut self, world: &mut World, frame: u64, exact: Exact) -> Result<Exact, RecordError> {
        let Some(timeline) = &mut self.timeline else { return Ok(exact) };
        let wrong = |problem: String| RecordError::World { frame, problem };
        timeline.capture(world).map_err(|error| wrong(error.to_string()))?;
        match exact {
            Exact::None => match timeline.step(world, 0).map_err(|error| wrong(error.to_string()))? {
                Some(bytes) => Ok(Exact::Delta(bytes)),
                None => Err(wrong("the frame before is not kept".into())),
            },
            keyframe => Ok(keyframe),
        }
    }

    /// Copies the entities, and the columns of all components.
    fn capture(&mut self, world: &World) -> Result<FrameTables, RecordError> {
        let registry = self.settings.registry;
        let wrong = RecordError::table(self.frame);
        if self.planned != world.components().len() {
            self.planned = world.components().len();
            self.lists.name_components(world, registry);
            let has_changes = self.settings.run.has_changes;
            for (name, id) in names::tables(world, Some(registry)) {
                let is_wanted = self.settings.run.tables.as_ref().is_none_or(|tables| tables.contains(&name));
                if is_wanted && !self.plans.contains_key(&name) {
                    let plan = CapturePlan::new(world, registry, name.clone(), id, has_changes).map_err(&wrong)?;
                    self.plans.insert(name, Arc::new(plan));
                }
            }
        }
        let listed = self.lists.tables(world);
        let mut components = Vec::with_capacity(self.plans.len());
        for plan in self.plans.values() {
            let table = CapturedTable::new(world, registry, plan, &listed, &mut self.lists, &mut self.spares);
            components.extend(table.map_err(&wrong)?);
        }
        let entities = listed.into_iter().map(|listed| (listed.archetype, listed.entities)).collect();
        Ok(FrameTables { entities, components })
    }

    fn send(&mut self, message: Message, can_skip: bool) -> Result<(), RecordError> {
        let Some(sender) = &self.sender else { return Err(self.join_failed()) };
        let gone = match can_skip {
            true => match sender.try_send(message) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(message)) => {
                    if let Message::Frame(FrameMessage { tables: Some(tables), .. }) = message {
                        tables.components.into_iter().for_each(|table| self.spares.put(table));
                    }
                    self.skipped += 1;
                    return Ok(());
                }
                Err(TrySendError::Disconnected(_)) => true,
            },
            false => sender.send(message).is_err(),
        };
        if gone { Err(self.join_failed()) } else { Ok(()) }
    }

    /// Returns the error of the thread, which has ended.
    fn join_failed(&mut self) -> RecordError {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error,
            _ => RecordError::Panicked,
        }
    }

    /// Waits until everything is written, and finishes the recording.
    ///
    /// A recorder that is dropped instead leaves a recording that is not finished: its last part is missing.
    ///
    /// # Errors
    ///
    /// - [`RecordError::File`] if a file cannot be written.
    /// - The error of an earlier frame, if there was one.
    pub fn finish(mut self) -> Result<RunFile, RecordError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.send(Message::Finish { frames: self.frame, skipped: self.skipped }, false)?;
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(RecordError::Panicked),
        }
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // What it has failed with is of no interest any more.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({}, frame {})", self.settings.folder.display(), self.frame)
    }
}
