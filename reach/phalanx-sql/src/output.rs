//! [`Format`] and [`RowWriter`]: answers as text and files.

use crate::rows::Rows;
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A table with borders, to read.
    Table,
    /// Comma-separated values with a header. Lists and structs are written as text.
    Csv,
    /// One JSON array of objects.
    Json,
    /// One JSON object a line.
    JsonLines,
    /// A Parquet file.
    Parquet,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(&'static str, Format); 5] = [
        ("table", Format::Table),
        ("csv", Format::Csv),
        ("json", Format::Json),
        ("jsonl", Format::JsonLines),
        ("parquet", Format::Parquet),
    ];

    /// Returns the format that the ending of a file name says, such as `csv`.
    pub fn of_path(path: &std::path::Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "txt" => Some(Format::Table),
            "ndjson" => Some(Format::JsonLines),
            ending => ending.parse().ok().filter(|format| *format != Format::Table),
        }
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let known = Format::ALL.into_iter().find(|(known, _)| *known == name);
        known.map(|(_, format)| format).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Format::ALL.into_iter().find(|(_, format)| format == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// The name is not that of a [`Format`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Format::ALL.map(|(name, _)| name).join(", ");
        write!(f, "no format `{}`; formats: {known}", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

/// Writes batches in one of the formats, as they arrive. Only [`Format::Table`] keeps them until the end.
///
/// ```
/// use phalanx_sql::{Format, RowWriter};
/// # use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch};
/// # use std::sync::Arc;
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)])?;
/// let mut text = Vec::new();
/// let mut writer = RowWriter::new(Format::Csv, batch.schema(), &mut text)?;
/// writer.write(&batch)?;
/// writer.finish()?;
/// assert_eq!(text, b"n\n1\n2\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RowWriter<W: Write + Send> {
    schema: SchemaRef,
    target: Target<W>,
}

enum Target<W: Write + Send> {
    Table(Vec<RecordBatch>, W),
    Csv(Box<csv::Writer<W>>),
    Json(json::ArrayWriter<W>),
    JsonLines(json::LineDelimitedWriter<W>),
    Parquet(Box<ArrowWriter<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Creates a writer of rows with these columns.
    ///
    /// # Errors
    ///
    /// [`io::Error`] if the format has no such columns, or the header cannot be written.
    pub fn new(format: Format, schema: SchemaRef, out: W) -> io::Result<RowWriter<W>> {
        let nulls = || json::WriterBuilder::new().with_explicit_nulls(true);
        let target = match format {
            Format::Table => Target::Table(Vec::new(), out),
            Format::Csv => {
                let mut writer = csv::WriterBuilder::new().build(out);
                // The header is written with the first batch, and there may be none.
                writer.write(&flat(&RecordBatch::new_empty(Arc::clone(&schema)))?).map_err(arrow)?;
                Target::Csv(Box::new(writer))
            }
            Format::Json => Target::Json(nulls().build(out)),
            Format::JsonLines => Target::JsonLines(nulls().build(out)),
            Format::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::LZ4_RAW).build();
                let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties)).map_err(parquet)?;
                Target::Parquet(Box::new(writer))
            }
        };
        Ok(RowWriter { schema, target })
    }

    /// Writes a batch.
    ///
    /// # Errors
    ///
    /// [`io::Error`] if the batch has other columns, or cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match &mut self.target {
            Target::Table(batches, _) => batches.push(batch.clone()),
            Target::Csv(writer) => writer.write(&flat(batch)?).map_err(arrow)?,
            Target::Json(writer) => writer.write(batch).map_err(arrow)?,
            Target::JsonLines(writer) => writer.write(batch).map_err(arrow)?,
            Target::Parquet(writer) => writer.write(batch).map_err(parquet)?,
        }
        Ok(())
    }

    /// Writes what is left, and returns what was written to.
    ///
    /// # Errors
    ///
    /// [`io::Error`] if it cannot be written.
    pub fn finish(self) -> io::Result<W> {
        let mut out = match self.target {
            Target::Table(batches, mut out) => {
                writeln!(out, "{}", Rows::new(self.schema, batches))?;
                out
            }
            Target::Csv(writer) => writer.into_inner(),
            Target::Json(mut writer) => {
                writer.finish().map_err(arrow)?;
                let mut out = writer.into_inner();
                writeln!(out)?;
                out
            }
            Target::JsonLines(mut writer) => {
                writer.finish().map_err(arrow)?;
                writer.into_inner()
            }
            Target::Parquet(writer) => writer.into_inner().map_err(parquet)?,
        };
        out.flush()?;
        Ok(out)
    }
}

impl<W: Write + Send> fmt::Debug for RowWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowWriter").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Returns the batch with lists and structs as text, for CSV.
fn flat(batch: &RecordBatch) -> io::Result<RecordBatch> {
    if !batch.schema().fields().iter().any(|field| field.data_type().is_nested()) {
        return Ok(batch.clone());
    }
    let options = FormatOptions::default();
    let text = |column: &ArrayRef| -> Result<ArrayRef, ArrowError> {
        let shown = ArrayFormatter::try_new(column, &options)?;
        let cells = (0..column.len()).map(|row| column.is_valid(row).then(|| shown.value(row).to_string()));
        Ok(Arc::new(cells.collect::<StringArray>()))
    };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if field.data_type().is_nested() {
            fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
            columns.push(text(column).map_err(arrow)?);
        } else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(arrow)
}

fn arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

fn parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
