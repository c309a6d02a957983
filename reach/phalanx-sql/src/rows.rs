//! [`Rows`]: the answer to a query.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;
use std::fmt;
use std::sync::Arc;

/// The rows of an answer, as Arrow record batches. `Display` prints them as a table.
#[derive(Clone, Debug)]
pub struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Rows {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Rows {
        Rows { schema, batches }
    }

    /// Returns the names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the batches, in order.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Returns the batches, in order.
    pub fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match pretty_format_batches_with_schema(Arc::clone(&self.schema), &self.batches) {
            Ok(table) => write!(f, "{table}"),
            Err(_) => Err(fmt::Error),
        }
    }
}
