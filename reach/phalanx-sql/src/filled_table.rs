//! Recordings that have only the rows that differ: all rows of all frames, as a view.

use crate::planned_table::PlannedTable;
use crate::recorded_table::RecordedTable;
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, TableReference};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::Result as PlanResult;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_nested::expr_fn::range;
use datafusion::functions_window::lead_lag::lead;
use datafusion::logical_expr::{Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, cast, lit};
use std::sync::Arc;

/// The columns before the fields in files of changes: those of the frame, the entity, and the operation.
const BEFORE_FIELDS: usize = 3;
/// The constants of files of changes that come last: the first frame of the part, that of the next part, and the distance of frames.
pub(crate) const PART_COLUMNS: [&str; 3] = ["part", "part_end", "every"];

/// Returns the table of a component of which some recordings have all rows, and others those that differ.
pub(crate) fn filled(
    all: Option<Arc<RecordedTable>>,
    changes: Arc<RecordedTable>,
) -> PlanResult<Arc<dyn TableProvider>> {
    let mut plan = fill(changes)?;
    if let Some(all) = all {
        let all = LogicalPlanBuilder::scan("all_rows", provider_as_source(Arc::new(PlannedTable(all))), None)?;
        plan = all.union_by_name(plan)?.build()?;
    }
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// Repeats each row in the frames in which it stays as it is: until the next row of the entity, or the end of the part.
fn fill(changes: Arc<RecordedTable>) -> PlanResult<LogicalPlan> {
    let table = TableReference::bare("changes");
    let names: Vec<String> = changes.column_names();
    let column = |name: &str| Expr::Column(Column::new(Some(table.clone()), name));
    let (constants, fields) = (changes.names_of_constants(), &names[BEFORE_FIELDS..]);
    let [frame, entity, op] = [0, 1, 2].map(|at| column(&names[at]));
    let [part_end, every] = [2, 1].map(|behind| column(constants[constants.len() - behind]));
    // The run and the part would do. Filters on what else is constant reach the files only if it is named, too.
    let of_part = constants[..constants.len() - 2].iter().map(|name| column(name));
    let next = lead(frame.clone(), Some(1), None)
        .partition_by(of_part.chain([entity.clone()]).collect())
        .order_by(vec![frame.clone().sort(true, false)])
        .build()?;
    let next_frame = Expr::Column(Column::new_unqualified(next.schema_name().to_string()));
    let as_number = |expr: Expr| cast(expr, DataType::Int64);
    let frames = range(as_number(frame), coalesce(vec![as_number(next_frame), part_end]), every).alias(&names[0]);
    let kept = [&names[1]].into_iter().chain(&fields[..fields.len() - PART_COLUMNS.len()]);
    // A filter on a union names columns without a table. It reaches the files if these are named so, too.
    let unqualified: Vec<Expr> = kept.clone().map(|name| column(name).alias(name)).collect();
    let kept = kept.map(|name| column(name));
    let source = provider_as_source(Arc::new(PlannedTable(changes.clone())));
    let filled_frame = Expr::Column(Column::new_unqualified(names[0].clone()));
    LogicalPlanBuilder::scan(table.clone(), source, None)?
        .window([next])?
        .filter(op.not_eq(lit("removed")))?
        .project([frames].into_iter().chain(kept))?
        .unnest_column(Column::new_unqualified(names[0].clone()))?
        .project([cast(filled_frame, DataType::UInt32).alias(&names[0])].into_iter().chain(unqualified))?
        .build()
}
