//! [`PartWriter`]: a Parquet file that is being written.

use super::error::RecordError;
use super::files::WholeFile;
use super::run_file::Part;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The greatest number of rows of a row group.
const GROUP_ROWS: usize = 1 << 20;
/// The number of rows that are encoded at a time.
const WRITE_ROWS: usize = 8 << 10;

/// A file that the writer of Parquet and its owner both use.
#[derive(Clone)]
struct SharedFile(Arc<Mutex<Option<WholeFile>>>);

impl SharedFile {
    fn lock(&self) -> MutexGuard<'_, Option<WholeFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.lock() {
            Some(file) => file.write(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A Parquet file of the frames of one part, in a folder that says what it has.
pub(super) struct PartWriter {
    writer: ArrowWriter<SharedFile>,
    file: SharedFile,
    part: Part,
}

impl PartWriter {
    pub(super) fn create(
        folder: &Path,
        (kind, schema): (&str, &SchemaRef),
        first: u64,
        compression: Compression,
    ) -> Result<PartWriter, RecordError> {
        let name = format!("{kind}/part-{first:010}.parquet");
        let path = folder.join(&name);
        let file = SharedFile(Arc::new(Mutex::new(Some(WholeFile::create(&path)?))));
        let properties = properties(schema, compression);
        let writer = ArrowWriter::try_new(file.clone(), schema.clone(), Some(properties))
            .map_err(|error| RecordError::damaged(&path, error))?;
        Ok(PartWriter { writer, file, part: Part { file: name, first, ..Part::default() } })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        let result = self.writer.write(batch);
        self.part.rows += batch.num_rows() as u64;
        self.check(result)
    }

    fn check<T>(&self, result: Result<T, parquet::errors::ParquetError>) -> Result<T, RecordError> {
        match &mut *self.file.lock() {
            Some(file) => file.check(result),
            None => result.map_err(|error| RecordError::damaged(Path::new(&self.part.file), error)),
        }
    }

    /// Finishes the file, which gets its name.
    pub(super) fn finish(mut self) -> Result<Part, RecordError> {
        let result = self.writer.finish();
        self.check(result)?;
        let file = self.file.lock().take();
        if let Some(file) = file {
            (self.part.bytes, self.part.checksum) = file.finish()?;
        }
        Ok(self.part)
    }
}

fn properties(schema: &Schema, compression: Compression) -> WriterProperties {
    let sorted = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("phalanx-arrow ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_write_batch_size(WRITE_ROWS)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(vec![KeyValue::new("phalanx.sorted".to_owned(), "frame, entity".to_owned())]))
        .set_sorting_columns(Some(vec![sorted(0), sorted(1)]));
    for field in schema.fields() {
        builder = encode(builder, field, vec![field.name().clone()]);
    }
    builder.build()
}

/// Chooses the encoding of each leaf of a column.
fn encode(builder: WriterPropertiesBuilder, field: &Field, path: Vec<String>) -> WriterPropertiesBuilder {
    let column = ColumnPath::new(path.clone());
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().fold(builder, |builder, field| {
            let path = path.iter().cloned().chain([field.name().clone()]).collect();
            encode(builder, field, path)
        }),
        DataType::FixedSizeList(element, _) => {
            let path = path.iter().cloned().chain(["list".to_owned(), element.name().clone()]).collect();
            encode(builder, element, path)
        }
        DataType::Float32 | DataType::Float64 => builder.set_column_encoding(column, Encoding::BYTE_STREAM_SPLIT),
        DataType::UInt64 | DataType::Int64 | DataType::UInt32 | DataType::Int32 => {
            builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
        }
        DataType::Boolean | DataType::FixedSizeBinary(_) => builder,
        _ => builder.set_column_dictionary_enabled(column, true),
    }
}
