//! The tables of a frozen world.

use crate::SqlError;
use crate::planned_table::{Planned, PlannedTable};
use crate::scan::{Pieces, Scan};
use crate::tables::{Tables, add_unless_named};
use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session as PlanSession;
use datafusion::common::cast::as_uint64_array;
use datafusion::datasource::MemTable;
use datafusion::datasource::listing::helpers::expr_applicable_for_cols;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use phalanx::Entity;
use phalanx_arrow::{ComponentTable, FrozenWorld, TableError};
use std::ops::Range;
use std::sync::Arc;

/// Adds a table for each component, one for its extra rows if there are any, and `entities`.
pub(crate) fn add_tables(frozen: &FrozenWorld, tables: &Tables) -> Result<(), SqlError> {
    for (name, id) in frozen.components() {
        let table = frozen.table(id)?;
        let lens = (0..table.parts()).map(|part| table.part_len(part)).collect::<Result<_, _>>()?;
        let pieces = ComponentPieces { frozen: frozen.clone(), schema: table.schema(), table, lens };
        tables.add(&name, WorldTable::new(pieces))?;
    }
    add_extra_rows(frozen, tables)?;
    let batches = BatchPieces::new(FrozenWorld::entities_schema(), frozen.entities()?);
    add_unless_named(tables.add("entities", WorldTable::new(batches)))
}

/// Adds a table of the extra rows that have a component, for each component that any of them has.
fn add_extra_rows(frozen: &FrozenWorld, tables: &Tables) -> Result<(), SqlError> {
    if frozen.world().row_count() == frozen.world().len() {
        return Ok(());
    }
    for (name, id) in frozen.components() {
        let rows = phalanx_arrow::extra_rows(frozen.world(), frozen.registry(), id)?;
        if rows.num_rows() > 0 {
            // An entity may have several of them. The scan of other tables stops at the first.
            let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
            add_unless_named(tables.add(&format!("{name}_rows"), Arc::new(table)))?;
        }
    }
    Ok(())
}

/// Adds the entities that match a text query, as they are now.
pub(crate) fn add_view(frozen: &FrozenWorld, tables: &Tables, name: &str, query: &str) -> Result<(), SqlError> {
    let batch = phalanx_arrow::extract(frozen.world(), query)?;
    let pieces = BatchPieces::new(batch.schema(), vec![batch]);
    tables.add(name, WorldTable::new(pieces))
}

impl From<TableError> for SqlError {
    fn from(error: TableError) -> SqlError {
        match error {
            TableError::Query(error) => SqlError::View(error),
            other => SqlError::Query(Box::new(DataFusionError::External(Box::new(other)))),
        }
    }
}

/// A table of rows in memory.
#[derive(Debug)]
struct WorldTable(Arc<dyn Pieces>);

impl WorldTable {
    fn new(pieces: impl Pieces + 'static) -> Arc<PlannedTable<WorldTable>> {
        Arc::new(PlannedTable(Arc::new(WorldTable(Arc::new(pieces)))))
    }
}

impl Planned for WorldTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn support(&self, filter: &Expr) -> TableProviderFilterPushDown {
        let schema = self.0.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        // The scan evaluates the same expressions as a filter above it would, so that rows which pass are exact.
        match expr_applicable_for_cols(&names, filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        }
    }

    fn plan(
        &self,
        session: &dyn PlanSession,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Scan::plan(&self.0, session, projection, filters, limit)
    }
}

/// The values of a component. A piece is an archetype table, or a whole sparse storage.
#[derive(Debug)]
struct ComponentPieces {
    frozen: FrozenWorld,
    table: ComponentTable,
    schema: SchemaRef,
    lens: Vec<usize>,
}

impl Pieces for ComponentPieces {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn lens(&self) -> &[usize] {
        &self.lens
    }

    fn read(&self, piece: usize, columns: &[usize], rows: Range<usize>) -> PlanResult<Vec<ArrayRef>> {
        let batch = self.table.batch(piece, Some(columns), rows).map_err(SqlError::from)?;
        Ok(batch.columns().to_vec())
    }

    fn find(&self, entity: u64) -> PlanResult<Option<(usize, usize)>> {
        let id = self.table.component();
        let has = |entity| self.frozen.world().entity(entity).is_ok_and(|entity| entity.value(id).is_ok());
        if !Entity::from_bits(entity).is_some_and(has) {
            return Ok(None);
        }
        find(self, entity)
    }
}

/// Batches that were made before.
#[derive(Debug)]
struct BatchPieces {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    lens: Vec<usize>,
}

impl BatchPieces {
    fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> BatchPieces {
        let lens = batches.iter().map(RecordBatch::num_rows).collect();
        BatchPieces { schema, batches, lens }
    }
}

impl Pieces for BatchPieces {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn lens(&self) -> &[usize] {
        &self.lens
    }

    fn read(&self, piece: usize, columns: &[usize], rows: Range<usize>) -> PlanResult<Vec<ArrayRef>> {
        let read = |column: &usize| self.batches[piece].column(*column).slice(rows.start, rows.len());
        Ok(columns.iter().map(read).collect())
    }

    fn find(&self, entity: u64) -> PlanResult<Option<(usize, usize)>> {
        find(self, entity)
    }
}

/// Searches the column of entities, which is the first.
fn find(pieces: &impl Pieces, entity: u64) -> PlanResult<Option<(usize, usize)>> {
    for (piece, len) in pieces.lens().iter().enumerate() {
        let columns = pieces.read(piece, &[0], 0..*len)?;
        let entities: &UInt64Array = as_uint64_array(&columns[0])?;
        if let Some(row) = entities.values().iter().position(|bits| *bits == entity) {
            return Ok(Some((piece, row)));
        }
    }
    Ok(None)
}
