//! [`Scan`]: a source of rows that lie in memory in pieces, and do not change.

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{filter_record_batch, prep_null_mask_filter};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session as PlanSession;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, ScalarValue, Statistics, project_schema};
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan, Partitioning};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The rows of a batch: enough to make its overhead small, few enough to stay in the cache of a core.
const BATCH: usize = 64 << 10;

/// The column of handles, which rows are found by.
pub(crate) const ENTITY: &str = "entity";

/// Rows in memory that do not change, in pieces.
pub(crate) trait Pieces: fmt::Debug + Send + Sync {
    /// Returns the columns.
    fn schema(&self) -> &SchemaRef;

    /// Returns the number of rows of each piece.
    fn lens(&self) -> &[usize];

    /// Returns some rows of some columns, at best without copying them.
    fn read(&self, piece: usize, columns: &[usize], rows: Range<usize>) -> PlanResult<Vec<ArrayRef>>;

    /// Returns the piece and the row of an entity, by the bits of its handle. An entity has at most one row.
    fn find(&self, entity: u64) -> PlanResult<Option<(usize, usize)>>;
}

/// A part of a piece.
#[derive(Clone, Debug)]
struct Span {
    piece: usize,
    rows: Range<usize>,
}

/// A scan of some columns of the rows that pass a filter. Only these columns are read, and only rows that pass leave the scan.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pieces: Arc<dyn Pieces>,
    schema: SchemaRef,
    projection: Vec<usize>,
    filter: Option<Filter>,
    partitions: Arc<Vec<Vec<Span>>>,
    fetch: Option<usize>,
}

/// A condition, and the columns that it is about.
#[derive(Clone, Debug)]
struct Filter {
    condition: Arc<dyn PhysicalExpr>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Scan {
    /// Plans a scan.
    pub(crate) fn plan(
        pieces: &Arc<dyn Pieces>,
        session: &dyn PlanSession,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        fetch: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let all = pieces.schema();
        let schema = project_schema(all, projection)?;
        let projection = projection.cloned().unwrap_or_else(|| (0..all.fields().len()).collect());
        let spans = match filters.iter().find_map(entities) {
            Some(entities) => points(&entities, pieces.as_ref())?,
            None => whole(pieces.lens()),
        };
        let filter = match conjunction(filters.iter().cloned()) {
            Some(condition) => Some(Filter::new(condition, all, session)?),
            None => None,
        };
        let partitions = Arc::new(deal(spans, session.config().target_partitions()));
        let scan = Scan { pieces: Arc::clone(pieces), schema, projection, filter, partitions, fetch };
        Ok(DataSourceExec::from_data_source(scan))
    }

    /// Returns the rows of a span that pass. Columns of the filter are read first, the others only if a row passes.
    fn batch(&self, span: &Span) -> PlanResult<Option<RecordBatch>> {
        let read = |columns: &[usize]| self.pieces.read(span.piece, columns, span.rows.clone());
        let rows = span.rows.len();
        let Some(filter) = &self.filter else { return batch(&self.schema, read(&self.projection)?, rows).map(Some) };
        let tested = read(&filter.columns)?;
        let passed = filter.test(&batch(&filter.schema, tested.clone(), rows)?)?;
        let count = passed.true_count();
        if count == 0 {
            return Ok(None);
        }
        let is_tested = |column: &usize| filter.columns.contains(column);
        let others: Vec<usize> = self.projection.iter().copied().filter(|column| !is_tested(column)).collect();
        let mut others = read(&others)?.into_iter();
        let columns = self.projection.iter().filter_map(|column| {
            let tested = filter.columns.iter().position(|other| other == column).map(|at| Arc::clone(&tested[at]));
            tested.or_else(|| others.next())
        });
        let all = batch(&self.schema, columns.collect(), rows)?;
        if count == rows { Ok(Some(all)) } else { Ok(Some(filter_record_batch(&all, &passed)?)) }
    }

    fn rows(&self, partition: Option<usize>) -> usize {
        let spans = |spans: &Vec<Span>| spans.iter().map(|span| span.rows.len()).sum::<usize>();
        match partition {
            Some(at) => self.partitions.get(at).map_or(0, spans),
            None => self.partitions.iter().map(spans).sum(),
        }
    }
}

impl Filter {
    fn new(condition: Expr, all: &SchemaRef, session: &dyn PlanSession) -> PlanResult<Filter> {
        let names = condition.column_refs();
        let is_used = |at: &usize| names.iter().any(|column| column.name() == all.field(*at).name());
        let columns: Vec<usize> = (0..all.fields().len()).filter(is_used).collect();
        let schema = Arc::new(all.project(&columns)?);
        let condition = session.create_physical_expr(condition, &DFSchema::try_from(Arc::clone(&schema))?)?;
        Ok(Filter { condition, columns, schema })
    }

    /// Returns which rows pass. Those for which the condition is null do not.
    fn test(&self, batch: &RecordBatch) -> PlanResult<BooleanArray> {
        let passed = self.condition.evaluate(batch)?.into_array(batch.num_rows())?;
        let passed = as_boolean_array(&passed)?;
        Ok(if passed.null_count() > 0 { prep_null_mask_filter(passed) } else { passed.clone() })
    }
}

impl DataSource for Scan {
    fn open(&self, partition: usize, _context: Arc<TaskContext>) -> PlanResult<SendableRecordBatchStream> {
        let scan = self.clone();
        let spans = Arc::clone(&self.partitions);
        let mut left = self.fetch.unwrap_or(usize::MAX);
        let mut next = 0;
        let batches = std::iter::from_fn(move || {
            while left > 0
                && let Some(span) = spans.get(partition).and_then(|spans| spans.get(next))
            {
                next += 1;
                match scan.batch(span) {
                    Ok(None) => (),
                    Ok(Some(batch)) => {
                        let batch = batch.slice(0, batch.num_rows().min(left));
                        left -= batch.num_rows();
                        return Some(Ok(batch));
                    }
                    Err(error) => {
                        left = 0;
                        return Some(Err(error));
                    }
                }
            }
            None
        });
        let stream = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches));
        Ok(Box::pin(cooperative(stream)))
    }

    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "world, rows={}, partitions={}", self.rows(None), self.partitions.len())?;
        if let Some(filter) = &self.filter {
            write!(f, ", filter={}", filter.condition)?;
        }
        if let Some(fetch) = self.fetch { write!(f, ", fetch={fetch}") } else { Ok(()) }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions.len())
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn scheduling_type(&self) -> SchedulingType {
        SchedulingType::Cooperative
    }

    fn partition_statistics(&self, partition: Option<usize>) -> PlanResult<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        let mut rows = self.rows(partition);
        if let Some(fetch) = self.fetch {
            rows = rows.min(fetch.saturating_mul(if partition.is_some() { 1 } else { self.partitions.len() }));
        }
        statistics.num_rows = if self.filter.is_some() { Precision::Inexact(rows) } else { Precision::Exact(rows) };
        for (column, field) in statistics.column_statistics.iter_mut().zip(self.schema.fields()) {
            if !field.is_nullable() {
                column.null_count = Precision::Exact(0);
            }
        }
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(Scan { fetch, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn try_swapping_with_projection(&self, _: &ProjectionExprs) -> PlanResult<Option<Arc<dyn DataSource>>> {
        Ok(None)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        match &self.filter {
            Some(filter) => f(&filter.condition),
            None => Ok(TreeNodeRecursion::Continue),
        }
    }
}

/// Returns all rows.
fn whole(lens: &[usize]) -> Vec<Span> {
    lens.iter().enumerate().map(|(piece, len)| Span { piece, rows: 0..*len }).collect()
}

/// Returns a batch, which may have no columns.
fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> PlanResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Returns the entities of `entity = x` and `entity in (x, y)`, if that is what the filter says.
fn entities(filter: &Expr) -> Option<Vec<u64>> {
    let is_entity = |expr: &Expr| matches!(expr, Expr::Column(column) if column.name() == ENTITY);
    let entities = match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_entity(left) => vec![literal(right)?],
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) if is_entity(right) => vec![literal(left)?],
        Expr::InList(list) if !list.negated && is_entity(&list.expr) => {
            list.list.iter().map(literal).collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    let mut entities: Vec<u64> = entities.into_iter().flatten().collect();
    // A list may name an entity twice, and its row is read once.
    entities.sort_unstable();
    entities.dedup();
    Some(entities)
}

/// Returns the bits of a handle. Null is equal to no entity.
fn literal(expr: &Expr) -> Option<Option<u64>> {
    match expr {
        Expr::Literal(ScalarValue::UInt64(bits), _) => Some(*bits),
        _ => None,
    }
}

/// Returns the rows of entities.
fn points(entities: &[u64], pieces: &dyn Pieces) -> PlanResult<Vec<Span>> {
    let mut spans = Vec::new();
    for entity in entities {
        spans.extend(pieces.find(*entity)?.map(|(piece, row)| Span { piece, rows: row..row + 1 }));
    }
    Ok(spans)
}

/// Splits spans into batches, and deals them to at most `count` partitions with about as many rows each, in order.
fn deal(spans: Vec<Span>, count: usize) -> Vec<Vec<Span>> {
    let batches = |span: Span| {
        let Range { start, end } = span.rows;
        (start..end).step_by(BATCH).map(move |from| Span { piece: span.piece, rows: from..end.min(from + BATCH) })
    };
    let spans: Vec<Span> = spans.into_iter().flat_map(batches).collect();
    let total: usize = spans.iter().map(|span| span.rows.len()).sum();
    let count = count.clamp(1, spans.len().max(1));
    let mut partitions: Vec<Vec<Span>> = vec![Vec::new()];
    let mut before = 0;
    for span in spans {
        // The partition that the middle of the span is in.
        let partition = (before + span.rows.len() / 2) as u128 * count as u128 / (total.max(1) as u128);
        before += span.rows.len();
        if partition as usize >= partitions.len() && partitions.last().is_some_and(|last| !last.is_empty()) {
            partitions.push(Vec::new());
        }
        if let Some(last) = partitions.last_mut() {
            last.push(span);
        }
    }
    partitions
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::UInt64Array;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::logical_expr::{col, lit};
    use datafusion::physical_plan::collect;
    use datafusion::prelude::SessionContext;
    use std::sync::Mutex;

    #[test]
    fn each_row_is_dealt_once_and_in_order() {
        for (lens, count) in [
            (vec![], 4),
            (vec![1], 4),
            (vec![0, 3, 0], 2),
            (vec![BATCH * 5 + 1, 7, 1], 3),
            (vec![1; 1000], 4),
            (vec![BATCH * 100], 8),
        ] {
            let partitions = deal(whole(&lens), count);
            assert!((1..=count).contains(&partitions.len()), "{lens:?}: {} partitions", partitions.len());
            let rows = partitions.iter().flatten().flat_map(|span| span.rows.clone().map(|row| (span.piece, row)));
            assert!(rows.eq((0..lens.len()).flat_map(|piece| (0..lens[piece]).map(move |row| (piece, row)))));
            assert!(partitions.iter().flatten().all(|span| (1..=BATCH).contains(&span.rows.len())));
        }
        let even = deal(whole(&[BATCH * 100]), 4);
        assert!(even.iter().all(|spans| spans.len() == 25));
    }

    /// A piece, columns and rows that were read.
    type Read = (usize, Vec<usize>, Range<usize>);

    /// Numbers of which each column and row has its own, and a list of what was read.
    #[derive(Debug)]
    struct Numbers {
        schema: SchemaRef,
        lens: Vec<usize>,
        read: Mutex<Vec<Read>>,
    }

    impl Numbers {
        fn new(lens: &[usize]) -> Arc<Numbers> {
            let fields = [ENTITY, "a", "b", "c"].map(|name| Field::new(name, DataType::UInt64, false));
            Arc::new(Numbers {
                schema: Arc::new(Schema::new(fields.to_vec())),
                lens: lens.to_vec(),
                read: Mutex::default(),
            })
        }
    }

    impl Pieces for Numbers {
        fn schema(&self) -> &SchemaRef {
            &self.schema
        }

        fn lens(&self) -> &[usize] {
            &self.lens
        }

        fn read(&self, piece: usize, columns: &[usize], rows: Range<usize>) -> PlanResult<Vec<ArrayRef>> {
            self.read.lock().unwrap().push((piece, columns.to_vec(), rows.clone()));
            let number = |column: &usize, row: usize| match column {
                0 => (piece * 1_000_000 + row) as u64,
                column => (row % (10 * column)) as u64,
            };
            let array =
                |column| Arc::new(rows.clone().map(|row| number(column, row)).collect::<UInt64Array>()) as ArrayRef;
            Ok(columns.iter().map(array).collect())
        }

        fn find(&self, entity: u64) -> PlanResult<Option<(usize, usize)>> {
            let (piece, row) = ((entity / 1_000_000) as usize, (entity % 1_000_000) as usize);
            Ok(self.lens.get(piece).filter(|len| row < **len).map(|_| (piece, row)))
        }
    }

    fn run(pieces: &Arc<Numbers>, projection: &[usize], filters: &[Expr], fetch: Option<usize>) -> (usize, Vec<Read>) {
        let state = SessionContext::new().state();
        let shared: Arc<dyn Pieces> = Arc::clone(pieces) as _;
        let plan = Scan::plan(&shared, &state, Some(&projection.to_vec()), filters, fetch).unwrap();
        pieces.read.lock().unwrap().clear();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches = runtime.block_on(collect(plan, state.task_ctx())).unwrap();
        let names: Vec<String> = projection.iter().map(|at| pieces.schema.field(*at).name().clone()).collect();
        for batch in &batches {
            assert!(batch.schema().fields().iter().map(|field| field.name()).eq(&names));
        }
        (batches.iter().map(RecordBatch::num_rows).sum(), pieces.read.lock().unwrap().clone())
    }

    #[test]
    fn only_what_is_needed_is_read() {
        let pieces = Numbers::new(&[100, 50]);
        let (rows, read) = run(&pieces, &[2], &[], None);
        assert_eq!((rows, read), (150, vec![(0, vec![2], 0..100), (1, vec![2], 0..50)]));
        // Without columns there is still a number of rows.
        assert_eq!(run(&pieces, &[], &[], None).0, 150);

        // The columns of the filter first, and the others only if a row passes.
        let (rows, read) = run(&pieces, &[3, 1], &[col("a").eq(lit(3u64))], None);
        assert_eq!(rows, 15);
        assert_eq!(read, [(0, vec![1], 0..100), (0, vec![3], 0..100), (1, vec![1], 0..50), (1, vec![3], 0..50)]);
        let (rows, read) = run(&pieces, &[3, 1], &[col("a").gt(lit(99u64))], None);
        assert_eq!((rows, read), (0, vec![(0, vec![1], 0..100), (1, vec![1], 0..50)]));

        // One row for one entity, whatever else is asked.
        let (rows, read) = run(&pieces, &[2], &[col("a").lt(lit(99u64)), lit(1_000_007u64).eq(col(ENTITY))], None);
        assert_eq!(rows, 1);
        assert!(read.iter().all(|(piece, _, rows)| (*piece, rows.clone()) == (1, 7..8)), "{read:?}");
        let two = col(ENTITY).in_list(vec![lit(5u64), lit(77_000_000u64), lit(5u64), lit(1_000_000u64)], false);
        assert_eq!(run(&pieces, &[0], std::slice::from_ref(&two), None).0, 2);
        assert_eq!(run(&pieces, &[0], &[two, col(ENTITY).eq(lit(5u64))], None).0, 1);

        // No more pieces than a limit needs.
        let (rows, read) = run(&pieces, &[1], &[], Some(10));
        assert!(rows >= 10 && read.len() <= 2, "{rows} {read:?}");
    }
}
