//! [`WriterThread`]: encodes and writes what the loop has copied.

use super::capture::CapturedTable;
use super::change_log::ChangeLog;
use super::entity_log::{self, EntityLog};
use super::error::RecordError;
use super::files::WholeFile;
use super::frames::{Exact, FrameMessage, FrameTables, Message};
use super::part_writer::PartWriter;
use super::run_file::{DeltaPart, Keyframe, RunFile};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::basic::Compression;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// What a file of deltas begins with.
pub(super) const DELTAS_MAGIC: [u8; 8] = *b"PHXDELT1";

/// The state of the thread that writes.
pub(super) struct WriterThread {
    pub(super) folder: PathBuf,
    pub(super) run: RunFile,
    pub(super) compression: Compression,
    /// Tables go back to the loop, which uses their memory again.
    pub(super) spares: Sender<CapturedTable>,
    pub(super) writers: BTreeMap<String, PartWriter>,
    pub(super) deltas: Option<(WholeFile, DeltaPart)>,
    /// The first frame of the part that is being written.
    pub(super) first: u64,
    /// Whether no tables of the part were written yet.
    pub(super) is_first_of_part: bool,
    pub(super) entity_log: EntityLog,
    /// The components whose changes are written, by the names of their tables.
    pub(super) change_logs: BTreeMap<String, ChangeLog>,
}

impl WriterThread {
    /// Writes all frames that come. Returns what is known about the recording.
    pub(super) fn run(mut self, messages: &Receiver<Message>) -> Result<RunFile, RecordError> {
        for message in messages {
            match message {
                Message::Frame(frame) => self.frame(frame)?,
                Message::Finish { frames, skipped } => {
                    self.finish_part()?;
                    (self.run.frames, self.run.skipped, self.run.finished) = (frames, skipped, true);
                    self.remove_others()?;
                    self.run.write(&self.folder)?;
                    return Ok(self.run);
                }
            }
        }
        // The recorder was dropped without an end: the last part stays unfinished.
        Ok(self.run)
    }

    fn frame(&mut self, message: FrameMessage) -> Result<(), RecordError> {
        let FrameMessage { frame, tables, exact } = message;
        match exact {
            Exact::None => {}
            Exact::Keyframe(bytes, checksum) => self.begin_part(frame, &bytes, checksum)?,
            Exact::Delta(bytes) => self.delta(frame, &bytes)?,
        }
        let Some(FrameTables { entities, components }) = tables else { return Ok(()) };
        let Ok(number) = u32::try_from(frame) else {
            return Err(RecordError::World { frame, problem: "tables have the number of a frame as 32 bits".into() });
        };
        if let Some(rows) = self.entity_log.frame(number, entities, self.is_first_of_part)? {
            self.write(entity_log::FOLDER, &entity_log::schema(), &rows)?;
        }
        let mut missing: BTreeSet<String> = self.change_logs.keys().cloned().collect();
        for table in components {
            missing.remove(&table.plan().name);
            self.component(number, &table)?;
            // The loop may be gone.
            let _ = self.spares.send(table);
        }
        for log in missing.iter().filter_map(|name| self.change_logs.remove(name)).collect::<Vec<_>>() {
            let (folder, schema) = (log.plan().folder(), log.plan().file_schema().clone());
            if let Some(rows) = log.end().map_err(table_error(frame))? {
                let rows = with_frame(number, &schema, &rows).map_err(table_error(frame))?;
                self.write(&folder, &schema, &rows)?;
            }
        }
        self.is_first_of_part = false;
        Ok(())
    }

    /// Writes the rows of a component, or those that have changed.
    fn component(&mut self, frame: u32, table: &CapturedTable) -> Result<(), RecordError> {
        let (plan, number) = (table.plan(), u64::from(frame));
        if !self.run.schema.contains_key(&plan.name) {
            let columns = plan.file_schema().fields().iter();
            let schema = columns.map(|field| (field.name().clone(), field.data_type().to_string())).collect();
            self.run.schema.insert(plan.name.clone(), schema);
        }
        let mut rows = table.batch().map_err(RecordError::table(number))?;
        if self.run.has_changes {
            let changed = match self.change_logs.get_mut(&plan.name) {
                Some(log) => log.frame(rows).map_err(table_error(number))?,
                None => {
                    let first = ChangeLog::new(plan, rows, self.is_first_of_part).map_err(table_error(number))?;
                    self.change_logs.insert(plan.name.clone(), first.0);
                    Some(first.1)
                }
            };
            let Some(changed) = changed else { return Ok(()) };
            rows = changed;
        }
        let rows = with_frame(frame, plan.file_schema(), &rows).map_err(table_error(number))?;
        self.write(&plan.folder(), plan.file_schema(), &rows)
    }

    /// Adds rows to the file in a folder, and creates it first.
    fn write(&mut self, folder: &str, schema: &SchemaRef, rows: &RecordBatch) -> Result<(), RecordError> {
        if !self.writers.contains_key(folder) {
            let writer = PartWriter::create(&self.folder, (folder, schema), self.first, self.compression)?;
            self.writers.insert(folder.to_owned(), writer);
        }
        match self.writers.get_mut(folder) {
            Some(writer) => writer.write(rows),
            None => Ok(()),
        }
    }

    /// Finishes the part before, and writes the snapshot that the next one begins with.
    fn begin_part(&mut self, frame: u64, bytes: &[u8], checksum: u64) -> Result<(), RecordError> {
        self.finish_part()?;
        let file = format!("exact/{frame:010}.phx");
        let (bytes, _) = WholeFile::write(&self.folder.join(&file), bytes)?;
        self.run.keyframes.retain(|keyframe| keyframe.frame < frame);
        self.run.keyframes.push(Keyframe { frame, file, bytes, checksum });
        (self.first, self.run.frames, self.is_first_of_part) = (frame, frame, true);
        self.change_logs.clear();
        self.run.write(&self.folder)
    }

    fn finish_part(&mut self) -> Result<(), RecordError> {
        for (_, writer) in std::mem::take(&mut self.writers) {
            let part = writer.finish()?;
            self.run.parts.push(part);
        }
        if let Some((file, mut part)) = self.deltas.take() {
            (part.bytes, part.checksum) = file.finish()?;
            self.run.deltas.push(part);
        }
        Ok(())
    }

    fn delta(&mut self, frame: u64, bytes: &[u8]) -> Result<(), RecordError> {
        let (file, part) = match &mut self.deltas {
            Some(deltas) => deltas,
            none => {
                let name = format!("exact/{:010}.deltas", self.first);
                let mut file = WholeFile::create(&self.folder.join(&name))?;
                let result = file.write_all(&DELTAS_MAGIC);
                file.check(result)?;
                let part = DeltaPart { keyframe: self.first, file: name, ..DeltaPart::default() };
                none.insert((file, part))
            }
        };
        let head = [frame.to_le_bytes(), (bytes.len() as u64).to_le_bytes()];
        let result = file.write_all(head.as_flattened()).and_then(|()| file.write_all(bytes));
        file.check(result)?;
        part.frames += 1;
        Ok(())
    }

    /// Removes Parquet files that are not those of this recording: what an earlier process had begun, and this one did not repeat.
    fn remove_others(&self) -> Result<(), RecordError> {
        let known: BTreeSet<PathBuf> = self.run.parts.iter().map(|part| self.folder.join(&part.file)).collect();
        let list = |folder: &Path| -> Result<Vec<PathBuf>, RecordError> {
            let entries = fs::read_dir(folder).map_err(RecordError::file("read", folder))?;
            Ok(entries.flatten().map(|entry| entry.path()).collect())
        };
        for folder in list(&self.folder)? {
            let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            if name != entity_log::FOLDER && !name.starts_with("component=") && !name.starts_with("changes=") {
                continue;
            }
            for path in list(&folder)? {
                let is_part = path.extension().is_some_and(|extension| extension == "parquet");
                if is_part && !known.contains(&path) {
                    fs::remove_file(&path).map_err(RecordError::file("remove", &path))?;
                }
            }
        }
        Ok(())
    }
}

/// Puts the column of the frame before the others.
fn with_frame(frame: u32, schema: &SchemaRef, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let frames: ArrayRef = Arc::new(UInt32Array::from(vec![frame; rows.num_rows()]));
    RecordBatch::try_new(schema.clone(), [frames].into_iter().chain(rows.columns().iter().cloned()).collect())
}

fn table_error(frame: u64) -> impl Fn(ArrowError) -> RecordError {
    move |error| RecordError::World { frame, problem: error.to_string() }
}
