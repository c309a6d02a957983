//! [`RowStream`]: the rows of an answer as they arrive.

use crate::SqlError;
use crate::tables::Tables;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The batches of an answer, as they arrive: [`Session::stream`](crate::Session::stream).
pub struct RowStream {
    batches: SendableRecordBatchStream,
    tables: Arc<Tables>,
    names: Vec<String>,
}

impl RowStream {
    pub(crate) fn new(batches: SendableRecordBatchStream, tables: Arc<Tables>, names: Vec<String>) -> RowStream {
        RowStream { batches, tables, names }
    }

    /// Returns the names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }

    /// Waits for the next batch. Returns `None` after the last one.
    ///
    /// # Errors
    ///
    /// [`SqlError::Broken`] if a file is damaged, [`SqlError::Query`] or [`SqlError::Cluster`] if the query cannot be answered.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, SqlError>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for RowStream {
    type Item = Result<RecordBatch, SqlError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.batches.as_mut().poll_next(context));
        Poll::Ready(next.map(|batch| batch.map_err(|error| name_file(error.into(), &self.tables, &self.names))))
    }
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").field("schema", &self.schema()).finish_non_exhaustive()
    }
}

/// Returns the error with the name of the file that is damaged, if a file is: errors of readers do not have it.
pub(crate) fn name_file(error: SqlError, tables: &Tables, names: &[String]) -> SqlError {
    let is_of_file = match &error {
        SqlError::Query(error) => matches!(
            error.find_root(),
            DataFusionError::ParquetError(_)
                | DataFusionError::ArrowError(..)
                | DataFusionError::ObjectStore(_)
                | DataFusionError::IoError(_)
                | DataFusionError::External(_)
        ),
        SqlError::Cluster(text) => ["Parquet", "Arrow", "ObjectStore"].iter().any(|word| text.contains(word)),
        _ => false,
    };
    if is_of_file { tables.find_broken(names).unwrap_or(error) } else { error }
}
