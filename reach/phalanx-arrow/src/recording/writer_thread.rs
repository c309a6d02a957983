//! [`WriterThread`]: encodes and writes what the loop has copied.

use super::capture::CapturedTable;
use super::error::RecordError;
use super::files::WholeFile;
use super::frames::{Exact, FrameMessage, Message};
use super::part_writer::PartWriter;
use super::run_file::{DeltaPart, Keyframe, RunFile};
use parquet::basic::Compression;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
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
        let Ok(number) = u32::try_from(frame) else {
            return Err(RecordError::World { frame, problem: "tables have the number of a frame as 32 bits".into() });
        };
        for table in tables {
            let plan = table.plan();
            if !self.writers.contains_key(&plan.name) {
                let columns = plan.schema.fields().iter();
                let schema = columns.map(|field| (field.name().clone(), field.data_type().to_string())).collect();
                self.run.schema.insert(plan.name.clone(), schema);
                let writer = PartWriter::create(&self.folder, plan, self.first, self.compression)?;
                self.writers.insert(plan.name.clone(), writer);
            }
            if let Some(writer) = self.writers.get_mut(&plan.name) {
                writer.write(&table.batch(number).map_err(RecordError::table(frame))?)?;
            }
            // The loop may be gone.
            let _ = self.spares.send(table);
        }
        Ok(())
    }

    /// Finishes the part before, and writes the snapshot that the next one begins with.
    fn begin_part(&mut self, frame: u64, bytes: &[u8], checksum: u64) -> Result<(), RecordError> {
        self.finish_part()?;
        let file = format!("exact/{frame:010}.phx");
        let (bytes, _) = WholeFile::write(&self.folder.join(&file), bytes)?;
        self.run.keyframes.retain(|keyframe| keyframe.frame < frame);
        self.run.keyframes.push(Keyframe { frame, file, bytes, checksum });
        (self.first, self.run.frames) = (frame, frame);
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
            let is_component = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("component="));
            if !is_component {
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
