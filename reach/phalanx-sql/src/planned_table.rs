//! [`PlannedTable`]: a table that DataFusion can scan, whose plans are made at once.

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session as PlanSession, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

/// A table whose plans are made without waiting for anything.
pub(crate) trait Planned: fmt::Debug + Send + Sync + 'static {
    /// Returns the columns.
    fn schema(&self) -> SchemaRef;

    /// Returns how far a scan takes a filter into account.
    fn support(&self, filter: &Expr) -> TableProviderFilterPushDown;

    /// Returns the plan of a scan.
    fn plan(
        &self,
        session: &dyn PlanSession,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>>;
}

/// A [`Planned`] table for DataFusion. Its future is written by hand, because compilers take long for that of an `async fn`.
#[derive(Debug)]
pub(crate) struct PlannedTable<T>(pub(crate) Arc<T>);

impl<T: Planned> TableProvider for PlannedTable<T> {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| self.0.support(filter)).collect())
    }

    fn scan<'life0, 'life1, 'life2, 'life3, 'async_trait>(
        &'life0 self,
        session: &'life1 dyn PlanSession,
        projection: Option<&'life2 Vec<usize>>,
        filters: &'life3 [Expr],
        limit: Option<usize>,
    ) -> Pin<Box<dyn Future<Output = PlanResult<Arc<dyn ExecutionPlan>>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        'life3: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(ready(self.0.plan(session, projection, filters, limit)))
    }
}
