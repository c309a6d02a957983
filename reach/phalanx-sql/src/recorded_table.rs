//! [`RecordedTable`]: one component of many recordings, as a table.

use crate::SqlError;
use crate::planned_table::Planned;
use datafusion::arrow::array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::prep_null_mask_filter;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session as PlanSession;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, DFSchema, ScalarValue, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::listing::helpers::expr_applicable_for_cols;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result as PlanResult;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{ColumnarValue, Expr, TableProviderFilterPushDown};
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use phalanx_arrow::Part;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A Parquet file of a recording, and what all its rows have in common: the run and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct RecordedFile {
    /// The folder of the recording.
    pub(crate) folder: PathBuf,
    /// What `run.json` says about the file.
    pub(crate) part: Part,
    pub(crate) constants: Vec<ScalarValue>,
}

impl RecordedFile {
    fn path(&self) -> PathBuf {
        self.folder.join(&self.part.file)
    }
}

/// The rows of a component in some recordings. Columns of the files are followed by constants of the runs.
pub(crate) struct RecordedTable {
    schema: TableSchema,
    files: Vec<TableFile>,
}

struct TableFile {
    path: PathBuf,
    location: object_store::path::Path,
    size: u64,
    constants: Vec<ScalarValue>,
    statistics: Statistics,
}

/// What a footer says.
struct Footer {
    size: u64,
    schema: Schema,
    metadata: ParquetMetaData,
}

impl RecordedTable {
    /// Reads the footers of the files, and compares checksums if asked to. A file that cannot be read is an error, or goes to
    /// `skip`.
    pub(crate) fn load(
        files: Vec<RecordedFile>,
        constants: Vec<FieldRef>,
        has_sums: bool,
        mut skip: Option<&mut dyn FnMut(SqlError)>,
    ) -> Result<RecordedTable, SqlError> {
        let mut read = Vec::with_capacity(files.len());
        for (file, footer) in footers(files, has_sums) {
            match (footer, &mut skip) {
                (Ok(footer), _) => read.push((file.path(), file.constants, footer)),
                (Err(error), Some(skip)) => skip(error),
                (Err(error), None) => return Err(error),
            }
        }
        let schema = Arc::new(common_schema(read.iter().map(|(path, _, footer)| (path.as_path(), &footer.schema)))?);
        let mut files = Vec::with_capacity(read.len());
        for (path, constants, footer) in read {
            let location =
                object_store::path::Path::from_absolute_path(&path).map_err(|e| SqlError::broken(&path, e))?;
            let statistics =
                statistics(&footer.metadata, &schema, &constants).map_err(|e| SqlError::broken(&path, e))?;
            files.push(TableFile { path, location, size: footer.size, constants, statistics });
        }
        let constants: Vec<FieldRef> = constants.into_iter().map(|field| renamed(field, &schema)).collect();
        let schema = TableSchema::builder(schema).with_table_partition_cols(constants).build();
        Ok(RecordedTable { schema, files })
    }

    /// Returns the first file whose rows cannot be read, and why. Reads all of them, so it is for errors of a query.
    pub(crate) fn find_broken(&self) -> Option<SqlError> {
        self.files.iter().find_map(|file| read_whole(&file.path).err())
    }

    /// Returns the names of the columns, those of the constants last.
    pub(crate) fn column_names(&self) -> Vec<String> {
        self.schema.table_schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    pub(crate) fn names_of_constants(&self) -> Vec<&str> {
        self.schema.table_partition_cols().iter().map(|field| field.name().as_str()).collect()
    }

    /// Returns the files whose constants pass the filters.
    fn chosen(&self, session: &dyn PlanSession, filters: &[Expr]) -> PlanResult<Vec<&TableFile>> {
        let names = self.names_of_constants();
        let on_constants = filters.iter().filter(|filter| expr_applicable_for_cols(&names, filter)).cloned();
        let Some(filter) = conjunction(on_constants) else { return Ok(self.files.iter().collect()) };
        if self.files.is_empty() {
            return Ok(Vec::new());
        }
        // A row for each file: the filters are evaluated for all files at once.
        let fields = self.schema.table_partition_cols();
        let schema = Arc::new(Schema::new(fields.clone()));
        let column = |at: usize| ScalarValue::iter_to_array(self.files.iter().map(|file| file.constants[at].clone()));
        let columns = (0..fields.len()).map(column).collect::<PlanResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.files.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
        let filter = session.create_physical_expr(filter, &DFSchema::try_from(schema)?)?;
        let passed = match filter.evaluate(&batch)? {
            ColumnarValue::Array(array) => array,
            ColumnarValue::Scalar(value) => value.to_array_of_size(self.files.len())?,
        };
        let passed = datafusion::common::cast::as_boolean_array(&passed)?;
        let passed: BooleanArray = if passed.null_count() > 0 { prep_null_mask_filter(passed) } else { passed.clone() };
        Ok(self.files.iter().zip(passed.values()).filter(|(_, passed)| *passed).map(|(file, _)| file).collect())
    }
}

impl Planned for RecordedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn support(&self, filter: &Expr) -> TableProviderFilterPushDown {
        // Filters of constants choose files. The others skip row groups and pages, and are evaluated again.
        match expr_applicable_for_cols(&self.names_of_constants(), filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        }
    }

    fn plan(
        &self,
        session: &dyn PlanSession,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let files = self.chosen(session, filters)?;
        if files.is_empty() {
            let schema = datafusion::common::project_schema(self.schema.table_schema(), projection)?;
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let store = ObjectStoreUrl::local_filesystem();
        let runtime = session.runtime_env();
        let cache = runtime.cache_manager.get_file_metadata_cache();
        let reader = CachedParquetFileReaderFactory::new(runtime.object_store(&store)?, cache);
        let source = ParquetSource::new(self.schema.clone())
            .with_table_parquet_options(session.default_table_options().parquet)
            .with_parquet_file_reader_factory(Arc::new(reader));
        let statistics =
            Statistics::try_merge_iter(files.iter().map(|file| &file.statistics), self.schema.table_schema())?;
        let config = FileScanConfigBuilder::new(store, Arc::new(source))
            .with_file_groups(groups(&files, session.config().target_partitions()))
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

impl fmt::Debug for RecordedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedTable({} files)", self.files.len())
    }
}

/// Gives a parameter another name if a column has it.
fn renamed(field: FieldRef, columns: &Schema) -> FieldRef {
    if columns.column_with_name(field.name()).is_none() {
        return field;
    }
    let mut name = format!("parameter_{}", field.name());
    while columns.column_with_name(&name).is_some() {
        name.push('_');
    }
    Arc::new(field.as_ref().clone().with_name(name))
}

/// Splits files into at most `count` groups of about the same size, in order.
fn groups(files: &[&TableFile], count: usize) -> Vec<FileGroup> {
    let total: u128 = files.iter().map(|file| u128::from(file.size)).sum();
    let count = count.clamp(1, files.len()) as u128;
    let mut groups = BTreeMap::<u128, Vec<PartitionedFile>>::new();
    let mut before = 0;
    for file in files {
        // The group that the middle of the file is in.
        let middle = before + u128::from(file.size) / 2;
        let group = (middle * count).checked_div(total).unwrap_or(0).min(count - 1);
        before += u128::from(file.size);
        let mut part = PartitionedFile::new("", file.size).with_partition_values(file.constants.clone());
        part.object_meta.location = file.location.clone();
        groups.entry(group).or_default().push(part);
    }
    groups.into_values().map(FileGroup::new).collect()
}

/// Reads the footers of files, on several threads, and returns them in order.
fn footers(files: Vec<RecordedFile>, has_sums: bool) -> Vec<(RecordedFile, Result<Footer, SqlError>)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len().div_ceil(8)).max(1);
    let next = AtomicUsize::new(0);
    let mut read: Vec<Option<Result<Footer, SqlError>>> = files.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(at) else { return done };
                done.push((at, footer(file, has_sums)));
            }
        };
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let all = others.into_iter().flat_map(|thread| thread.join().expect("the parser does not panic"));
        for (at, footer) in own.into_iter().chain(all) {
            read[at] = Some(footer);
        }
    });
    files.into_iter().zip(read).map(|(file, footer)| (file, footer.expect("each index is taken once"))).collect()
}

/// Reads a footer, and compares it with what the recording says about the file.
fn footer(file: &RecordedFile, has_sums: bool) -> Result<Footer, SqlError> {
    let (path, part) = (file.path(), &file.part);
    let path = path.as_path();
    let kind = std::fs::metadata(path).map_err(|error| SqlError::io(path, error))?;
    // Something else, such as a pipe, could block for ever.
    if !kind.is_file() {
        return Err(SqlError::broken(path, "not a file"));
    }
    let size = kind.len();
    if size != part.bytes {
        return Err(SqlError::broken(path, format!("it has {size} bytes, and should have {}", part.bytes)));
    }
    if has_sums {
        part.verify(&file.folder)?;
    }
    let source = File::open(path).map_err(|error| SqlError::io(path, error))?;
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(&source).map_err(|error| SqlError::broken(path, error))?;
    let of_file = metadata.file_metadata();
    let schema = parquet_to_arrow_schema(of_file.schema_descr(), of_file.key_value_metadata())
        .map_err(|error| SqlError::broken(path, error))?;
    let rows = metadata.row_groups().iter().map(|group| i128::from(group.num_rows())).sum::<i128>();
    if rows != i128::from(part.rows) || metadata.row_groups().iter().any(|group| group.num_rows() < 0) {
        return Err(SqlError::broken(path, format!("it has {rows} rows, and should have {}", part.rows)));
    }
    Ok(Footer { size, schema, metadata })
}

/// Reads all rows of a file.
fn read_whole(path: &Path) -> Result<(), SqlError> {
    let file = File::open(path).map_err(|error| SqlError::io(path, error))?;
    // Queries read the index of pages, too.
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let reader =
        ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).and_then(|builder| builder.build());
    for batch in reader.map_err(|error| SqlError::broken(path, error))? {
        batch.map_err(|error| SqlError::broken(path, error))?;
    }
    Ok(())
}

/// Returns all columns of the files. A column that a file does not have is null there.
fn common_schema<'a>(files: impl ExactSizeIterator<Item = (&'a Path, &'a Schema)>) -> Result<Schema, SqlError> {
    let count = files.len();
    let mut order: Vec<(String, DataType, bool, usize)> = Vec::new();
    for (path, schema) in files {
        for field in schema.fields() {
            match order.iter_mut().find(|(name, ..)| name == field.name()) {
                None => order.push((field.name().clone(), field.data_type().clone(), field.is_nullable(), 1)),
                Some((name, kind, nullable, seen)) => {
                    if kind != field.data_type() {
                        let reason = format!("column `{name}` is {}, and {kind} in other runs", field.data_type());
                        return Err(SqlError::broken(path, reason));
                    }
                    *nullable |= field.is_nullable();
                    *seen += 1;
                }
            }
        }
    }
    let field = |(name, kind, nullable, seen)| Field::new(name, kind, nullable || seen < count);
    Ok(Schema::new(order.into_iter().map(field).collect::<Vec<_>>()))
}

/// Returns the number of rows and the ranges of the columns, those of the constants included.
fn statistics(metadata: &ParquetMetaData, schema: &SchemaRef, constants: &[ScalarValue]) -> PlanResult<Statistics> {
    let mut statistics = DFParquetMetadata::statistics_from_parquet_metadata(metadata, schema)?;
    for (column, field) in statistics.column_statistics.iter_mut().zip(schema.fields()) {
        if field.data_type().is_floating() {
            // Files leave NaN out of their ranges, and SQL does not.
            column.min_value = std::mem::take(&mut column.min_value).to_inexact();
            column.max_value = std::mem::take(&mut column.max_value).to_inexact();
        }
    }
    let rows = statistics.num_rows;
    for value in constants {
        statistics.column_statistics.push(match value.is_null() {
            true => ColumnStatistics { null_count: rows, ..ColumnStatistics::new_unknown() },
            false => ColumnStatistics {
                null_count: Precision::Exact(0),
                min_value: Precision::Exact(value.clone()),
                max_value: Precision::Exact(value.clone()),
                ..ColumnStatistics::new_unknown()
            },
        });
    }
    Ok(statistics)
}
