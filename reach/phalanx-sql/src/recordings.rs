//! The tables of recordings: folders with a `run.json` and Parquet files for each component.

use crate::recorded_table::RecordedFile;
use crate::tables::{Notes, Tables};
use crate::{Broken, SqlError};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use phalanx_arrow::{RecordError, RunFile};
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

/// Adds a table for each component of the recordings, `entities` and `runs`.
pub(crate) fn add_tables(path: &Path, broken: Broken, tables: &Tables, notes: &Notes) -> Result<(), SqlError> {
    let path = std::path::absolute(path).map_err(|error| SqlError::io(path, error))?;
    let runs = find_runs(&path, broken, notes)?;
    for run in runs.iter().filter(|run| !run.file.finished) {
        notes.add(format!("{} is not finished", run.folder.display()));
    }
    let constants = Constants::of(&runs);
    let mut files: BTreeMap<String, Vec<RecordedFile>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let mut listed = BTreeSet::new();
        for part in &run.file.parts {
            let wrong = |what| SqlError::broken(&run.folder.join("run.json"), format!("{what}: `{}`", part.file));
            let table = table_of(&part.file).ok_or_else(|| wrong("not the path of a part"))?;
            if !listed.insert(&part.file) {
                return Err(wrong("a part is listed twice"));
            }
            let path = run.folder.join(&part.file);
            let recorded = RecordedFile { path, bytes: part.bytes, rows: part.rows, constants: constants.row(at) };
            files.entry(table).or_default().push(recorded);
        }
    }
    for (table, files) in files {
        tables.add_recorded(&table, files, constants.fields.clone())?;
    }
    match tables.add("runs", Arc::new(constants.table(&runs)?)) {
        // A component may be called `Runs`.
        Err(SqlError::TableExists(_)) => Ok(()),
        added => added,
    }
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
    let file = RunFile::read(folder).map_err(|error| match error {
        RecordError::Damaged { path, problem } => SqlError::broken(&path, problem),
        RecordError::File { path, error, .. } => SqlError::io(&path, std::io::Error::new(error.kind(), error)),
        other => SqlError::broken(folder, other),
    })?;
    let name = folder_name(folder);
    Ok(Run { folder: folder.to_owned(), name: name.strip_prefix("run=").unwrap_or(&name).to_owned(), file })
}

/// Returns the table of a Parquet file, by its path in the recording. Other paths could lead out of it.
fn table_of(path: &str) -> Option<String> {
    let mut components = Path::new(path).components();
    let (Some(Component::Normal(folder)), Some(Component::Normal(_)), None) =
        (components.next(), components.next(), components.next())
    else {
        return None;
    };
    match folder.to_str()? {
        "entity" => Some("entities".to_owned()),
        folder => folder.strip_prefix("component=").filter(|table| !table.is_empty()).map(str::to_owned),
    }
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
        let schema = Arc::new(Schema::new(fields));
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), columns).map_err(datafusion::error::DataFusionError::from)?;
        Ok(MemTable::try_new(schema, vec![vec![batch]])?)
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
