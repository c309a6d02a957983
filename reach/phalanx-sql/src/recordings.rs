//! The tables of recordings: folders with a `run.json` and Parquet files for each component.

use crate::filled_table::PART_COLUMNS;
use crate::recorded_table::RecordedFile;
use crate::tables::{Notes, Recorded, Tables, add_unless_named};
use crate::{Broken, SqlError};
use datafusion::arrow::array::{ArrayRef, RecordBatch, new_empty_array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as PlanResult};
use phalanx_arrow::{DeltaPart, Part, RecordError, RunFile};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A recording.
struct Run {
    folder: PathBuf,
    /// What follows `run=` in the name of the folder, or else all of it.
    name: String,
    file: RunFile,
}

impl From<RecordError> for SqlError {
    fn from(error: RecordError) -> SqlError {
        match error {
            RecordError::Damaged { path, problem } => SqlError::broken(&path, problem),
            RecordError::File { path, error, .. } => SqlError::io(&path, std::io::Error::new(error.kind(), error)),
            other => SqlError::Query(Box::new(DataFusionError::External(Box::new(other)))),
        }
    }
}

/// Adds a table for each component of the recordings, `entities`, `runs`, `files` and `keyframes`.
pub(crate) fn add_tables(path: &Path, broken: Broken, tables: &Tables, notes: &Notes) -> Result<(), SqlError> {
    let path = std::path::absolute(path).map_err(|error| SqlError::io(path, error))?;
    let runs = find_runs(&path, broken, notes)?;
    for run in runs.iter().filter(|run| !run.file.finished) {
        notes.add(format!("{} is not finished", run.folder.display()));
    }
    let constants = Constants::of(&runs);
    let mut files: BTreeMap<String, Files> = BTreeMap::new();
    let mut entities = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let mut listed = BTreeSet::new();
        for part in &run.file.parts {
            let wrong = |what| SqlError::broken(&run.folder.join("run.json"), format!("{what}: `{}`", part.file));
            let (table, kind) = table_of(&part.file).ok_or_else(|| wrong("not the path of a part"))?;
            if !listed.insert(&part.file) {
                return Err(wrong("a part is listed twice"));
            }
            let mut constants = constants.row(at);
            let list = match kind {
                Kind::All => &mut files.entry(table).or_default().all,
                Kind::Changes => {
                    constants.extend(part_constants(&run.file, part));
                    &mut files.entry(table).or_default().changes
                }
                Kind::Entities => &mut entities,
            };
            list.push(RecordedFile { folder: run.folder.clone(), part: part.clone(), constants });
        }
    }
    for (table, Files { all, changes }) in files {
        let all = (!all.is_empty()).then(|| Recorded::new(all, constants.fields.clone()));
        if changes.is_empty() {
            all.map_or(Ok(()), |all| tables.add_recorded(&table, all))?;
            continue;
        }
        let changes = Recorded::new(changes, constants.with_part_columns());
        tables.add_filled(&table, all, Arc::clone(&changes))?;
        add_unless_named(tables.add_recorded(&format!("{table}_changes"), changes))?;
    }
    if !entities.is_empty() {
        add_unless_named(tables.add_recorded("entities", Recorded::new(entities, constants.fields.clone())))?;
    }
    add_unless_named(tables.add("runs", Arc::new(constants.table(&runs)?)))?;
    add_unless_named(tables.add("files", Arc::new(files_table(&runs, &constants)?)))?;
    add_unless_named(tables.add("keyframes", Arc::new(keyframes_table(&runs, &constants)?)))
}

/// The files of a table.
#[derive(Default)]
struct Files {
    all: Vec<RecordedFile>,
    changes: Vec<RecordedFile>,
}

/// Which rows a file has.
enum Kind {
    All,
    /// Those that differ from the frame before.
    Changes,
    /// What has happened to entities.
    Entities,
}

/// Returns the first frame of a part, the frame after it, and the distance of frames.
fn part_constants(run: &RunFile, part: &Part) -> [ScalarValue; 3] {
    let next = run.keyframes.iter().map(|keyframe| keyframe.frame).find(|frame| *frame > part.first);
    let number = |number: u64| ScalarValue::Int64(Some(i64::try_from(number).unwrap_or(i64::MAX)));
    [number(part.first), number(next.unwrap_or(run.frames)), number(run.every.max(1))]
}

/// Returns the table `keyframes`, with the checksums of the worlds.
fn keyframes_table(runs: &[Run], constants: &Constants) -> Result<MemTable, SqlError> {
    let rows = || runs.iter().enumerate().flat_map(|(at, run)| run.file.keyframes.iter().map(move |row| (at, row)));
    let text = |text: String| ScalarValue::Utf8(Some(text));
    memory_table(vec![
        constants.runs_column(rows().map(|(at, _)| at)),
        column("frame", DataType::UInt64, rows().map(|(_, row)| ScalarValue::UInt64(Some(row.frame)))),
        column("file", DataType::Utf8, rows().map(|(_, row)| text(row.file.clone()))),
        column("bytes", DataType::UInt64, rows().map(|(_, row)| ScalarValue::UInt64(Some(row.bytes)))),
        column("checksum", DataType::Utf8, rows().map(|(_, row)| text(format!("{:016x}", row.checksum)))),
    ])
}

/// Returns the table `files`: Parquet files and those of deltas, with the checksums of their bytes.
fn files_table(runs: &[Run], constants: &Constants) -> Result<MemTable, SqlError> {
    let mut rows: Vec<(usize, Part, bool)> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        rows.extend(run.file.parts.iter().map(|part| (at, part.clone(), true)));
        rows.extend(run.file.deltas.iter().cloned().map(|deltas| {
            let DeltaPart { keyframe: first, file, bytes, checksum, .. } = deltas;
            (at, Part { file, first, rows: 0, bytes, checksum }, false)
        }));
    }
    let text = |text: String| ScalarValue::Utf8(Some(text));
    let folder = |file: &str| file.split_once('/').map_or("", |(folder, _)| folder).to_owned();
    memory_table(vec![
        constants.runs_column(rows.iter().map(|(at, ..)| *at)),
        column("folder", DataType::Utf8, rows.iter().map(|(_, part, _)| text(folder(&part.file)))),
        column("file", DataType::Utf8, rows.iter().map(|(_, part, _)| text(part.file.clone()))),
        column("first", DataType::UInt64, rows.iter().map(|(_, part, _)| ScalarValue::UInt64(Some(part.first)))),
        column(
            "rows",
            DataType::UInt64,
            rows.iter().map(|(_, part, has)| ScalarValue::UInt64(has.then_some(part.rows))),
        ),
        column("bytes", DataType::UInt64, rows.iter().map(|(_, part, _)| ScalarValue::UInt64(Some(part.bytes)))),
        column("checksum", DataType::Utf8, rows.iter().map(|(_, part, _)| text(format!("{:016x}", part.checksum)))),
    ])
}

type NamedColumn = PlanResult<(FieldRef, ArrayRef)>;

fn column(name: &str, kind: DataType, values: impl Iterator<Item = ScalarValue>) -> NamedColumn {
    let mut values = values.peekable();
    let array = if values.peek().is_none() { new_empty_array(&kind) } else { ScalarValue::iter_to_array(values)? };
    Ok((Arc::new(Field::new(name, kind, true)), array))
}

fn memory_table(columns: Vec<NamedColumn>) -> Result<MemTable, SqlError> {
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().collect::<PlanResult<Vec<_>>>()?.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(DataFusionError::from)?;
    Ok(MemTable::try_new(schema, vec![vec![batch]])?)
}

/// Returns the recording, or those within the folder, in the order of their names: numbers by value.
fn find_runs(path: &Path, broken: Broken, notes: &Notes) -> Result<Vec<Run>, SqlError> {
    if path.join("run.json").is_file() {
        return read_run(path).map(|run| vec![run]);
    }
    let mut runs = Vec::new();
    for folder in folders(path)? {
        if !folder.join("run.json").is_file() {
            if folder_name(&folder).starts_with("run=") {
                notes.add(format!("skipped {}: it has no run.json", folder.display()));
            }
            continue;
        }
        match read_run(&folder) {
            Ok(run) => runs.push(run),
            Err(error) if broken == Broken::Skip => notes.add(format!("skipped {error}")),
            Err(error) => return Err(error),
        }
    }
    if runs.is_empty() {
        return Err(SqlError::NoRecordings(path.to_owned()));
    }
    runs.sort_by_cached_key(|run| (run.name.parse::<u64>().unwrap_or(u64::MAX), run.name.clone()));
    Ok(runs)
}

/// Returns the folders within a folder, by name.
fn folders(path: &Path) -> Result<Vec<PathBuf>, SqlError> {
    let mut folders: Vec<PathBuf> = entries(path)?.into_iter().filter(|entry| entry.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, SqlError> {
    let read = fs::read_dir(path).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    read.map_err(|error| SqlError::io(path, error))
}

fn folder_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads `run.json`.
fn read_run(folder: &Path) -> Result<Run, SqlError> {
    let file = RunFile::read(folder)?;
    let name = folder_name(folder);
    Ok(Run { folder: folder.to_owned(), name: name.strip_prefix("run=").unwrap_or(&name).to_owned(), file })
}

/// Returns the table of a Parquet file, by its path in the recording. Other paths could lead out of it.
fn table_of(path: &str) -> Option<(String, Kind)> {
    let mut components = Path::new(path).components();
    let (Some(Component::Normal(folder)), Some(Component::Normal(_)), None) =
        (components.next(), components.next(), components.next())
    else {
        return None;
    };
    let folder = folder.to_str()?;
    let (table, kind) = match folder.split_once('=') {
        Some(("component", table)) => (table, Kind::All),
        Some(("changes", table)) => (table, Kind::Changes),
        Some(_) => return None,
        None if folder == "entity" => ("entity", Kind::Entities),
        None => return None,
    };
    (!table.is_empty()).then(|| (table.to_owned(), kind))
}

/// What all rows of a run have in common: its name and its parameters.
struct Constants {
    fields: Vec<FieldRef>,
    /// The values of each run.
    rows: Vec<Vec<ScalarValue>>,
}

impl Constants {
    fn of(runs: &[Run]) -> Constants {
        let is_numbered = runs.iter().all(|run| run.name.parse::<u64>().is_ok());
        let kind = if is_numbered { DataType::UInt64 } else { DataType::Utf8 };
        let mut fields = vec![Arc::new(Field::new("run", kind, false))];
        let name = |run: &Run| match run.name.parse::<u64>() {
            Ok(number) if is_numbered => ScalarValue::UInt64(Some(number)),
            _ => ScalarValue::Utf8(Some(run.name.clone())),
        };
        let mut rows: Vec<Vec<ScalarValue>> = runs.iter().map(|run| vec![name(run)]).collect();
        let parameters: BTreeSet<&String> = runs.iter().flat_map(|run| run.file.parameters.keys()).collect();
        for parameter in parameters {
            let values: Vec<&Value> =
                runs.iter().map(|run| run.file.parameters.get(parameter).unwrap_or(&Value::Null)).collect();
            let kind = kind_of(&values);
            for (row, value) in rows.iter_mut().zip(values) {
                row.push(scalar(value, &kind));
            }
            let mut column = parameter.clone();
            while ["run", "frame", "entity", "component"].contains(&column.as_str()) {
                column.push('_');
            }
            fields.push(Arc::new(Field::new(column, kind, true)));
        }
        Constants { fields, rows }
    }

    /// Returns the columns, and those that files of changes have besides.
    fn with_part_columns(&self) -> Vec<FieldRef> {
        let mut fields = self.fields.clone();
        for name in PART_COLUMNS {
            let mut name = name.to_owned();
            while fields.iter().any(|field| *field.name() == name) {
                name.push('_');
            }
            fields.push(Arc::new(Field::new(name, DataType::Int64, false)));
        }
        fields
    }

    /// Returns the column `run` of a table whose rows belong to these runs.
    fn runs_column(&self, runs: impl Iterator<Item = usize>) -> NamedColumn {
        column("run", self.fields[0].data_type().clone(), runs.map(|at| self.rows[at][0].clone()))
    }

    fn row(&self, run: usize) -> Vec<ScalarValue> {
        self.rows[run].clone()
    }

    /// Returns the table `runs`: name, seed, whether it is finished, frames, and parameters.
    fn table(&self, runs: &[Run]) -> Result<MemTable, SqlError> {
        let column = |at: usize| ScalarValue::iter_to_array(self.rows.iter().map(|row| row[at].clone()));
        let mut fields = self.fields.clone();
        let mut columns = (0..fields.len()).map(column).collect::<Result<Vec<_>, _>>()?;
        let seeds = runs.iter().map(|run| ScalarValue::UInt64(run.file.seed));
        let finished = runs.iter().map(|run| ScalarValue::Boolean(Some(run.file.finished)));
        let frames = runs.iter().map(|run| ScalarValue::UInt64(Some(run.file.frames)));
        for (at, (name, kind, values)) in [
            ("seed", DataType::UInt64, ScalarValue::iter_to_array(seeds)?),
            ("finished", DataType::Boolean, ScalarValue::iter_to_array(finished)?),
            ("frames", DataType::UInt64, ScalarValue::iter_to_array(frames)?),
        ]
        .into_iter()
        .enumerate()
        {
            let mut name = name.to_owned();
            while fields.iter().any(|field| *field.name() == name) {
                name.push('_');
            }
            fields.insert(at + 1, Arc::new(Field::new(name, kind, true)));
            columns.insert(at + 1, values);
        }
        memory_table(fields.into_iter().zip(columns).map(Ok).collect())
    }
}

/// Returns the type that has all values of a parameter.
fn kind_of(values: &[&Value]) -> DataType {
    let mut known = values.iter().filter(|value| !value.is_null()).peekable();
    if known.peek().is_none() {
        return DataType::Utf8;
    }
    if known.clone().all(|value| value.is_boolean()) {
        DataType::Boolean
    } else if known.clone().all(|value| value.is_i64()) {
        DataType::Int64
    } else if known.all(|value| value.is_number()) {
        DataType::Float64
    } else {
        DataType::Utf8
    }
}

fn scalar(value: &Value, kind: &DataType) -> ScalarValue {
    match kind {
        DataType::Boolean => ScalarValue::Boolean(value.as_bool()),
        DataType::Int64 => ScalarValue::Int64(value.as_i64()),
        DataType::Float64 => ScalarValue::Float64(value.as_f64()),
        _ => ScalarValue::Utf8(match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }),
    }
}
