//! [`Session`]: tables, and queries over them.

#[cfg(feature = "cluster")]
use crate::cluster::Cluster;
use crate::row_stream::{RowStream, name_file};
use crate::tables::{Notes, Tables};
use crate::{Broken, Rows, SqlError, recordings, world};
use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, SchemaProvider};
use datafusion::execution::context::SQLOptions;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use phalanx_arrow::FrozenWorld;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::runtime::Runtime;

const CATALOG: &str = "phalanx";
const SCHEMA: &str = "public";

/// The tables of a frozen world or of recordings, and queries over them.
///
/// A query needs the threads of a tokio runtime: [`query`](Session::query) is for programs that have one, and
/// [`blocking_query`](Session::blocking_query) for those that do not.
pub struct Session {
    context: SessionContext,
    tables: Arc<Tables>,
    world: Option<FrozenWorld>,
    notes: Notes,
    #[cfg(feature = "cluster")]
    cluster: Option<Cluster>,
    runtime: Own,
}

/// The runtime of blocking queries. A runtime may not be dropped where blocking is forbidden, so it ends in the background.
#[derive(Default)]
struct Own(OnceLock<Runtime>);

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Session {
    /// Opens a session over a frozen world: a table for each component, and the table `entities`.
    ///
    /// # Errors
    ///
    /// [`SqlError::Query`] if a component cannot be made a table.
    pub fn over(frozen: &FrozenWorld) -> Result<Session, SqlError> {
        let tables = Tables::new(Broken::Fail, Notes::default());
        world::add_tables(frozen, &tables)?;
        Ok(Session::new(tables, Some(frozen.clone()), Notes::default()))
    }

    /// Opens a session over one recording, such as `runs/run=42`: a table for each component, `entities`, and `runs`.
    ///
    /// # Errors
    ///
    /// [`SqlError::Io`] and [`SqlError::NoRecordings`] if it cannot be read, [`SqlError::Broken`] if `run.json` is damaged.
    pub fn recording(path: impl AsRef<Path>) -> Result<Session, SqlError> {
        Session::open(path, Broken::Fail)
    }

    /// Opens a session over all recordings of a folder: a table for each component, `entities`, and `runs`.
    ///
    /// # Errors
    ///
    /// As [`recording`](Session::recording).
    pub fn recordings(folder: impl AsRef<Path>) -> Result<Session, SqlError> {
        Session::open(folder, Broken::Fail)
    }

    /// Opens a session over a recording or a folder of recordings.
    ///
    /// # Errors
    ///
    /// As [`recording`](Session::recording). With [`Broken::Skip`], damaged files are left out instead.
    pub fn open(path: impl AsRef<Path>, broken: Broken) -> Result<Session, SqlError> {
        let notes = Notes::default();
        let tables = Tables::new(broken, notes.clone());
        recordings::add_tables(path.as_ref(), broken, &tables, &notes)?;
        Ok(Session::new(tables, None, notes))
    }

    fn new(tables: Tables, world: Option<FrozenWorld>, notes: Notes) -> Session {
        let tables = Arc::new(tables);
        let state = SessionStateBuilder::new().with_default_features().with_config(named(SessionConfig::new())).build();
        Session {
            context: context(state, &tables),
            tables,
            world,
            notes,
            #[cfg(feature = "cluster")]
            cluster: None,
            runtime: Own::default(),
        }
    }

    /// Sets the number of threads that a query uses. The default is the number of cores.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Session {
        let config = self.context.copied_config().with_target_partitions(threads.max(1));
        let state = SessionStateBuilder::new_from_existing(self.context.state()).with_config(config).build();
        self.context = context(state, &self.tables);
        self
    }

    /// Makes the session compare the checksum of each file with that in `run.json`, before a query first reads it. That takes time for
    /// the whole file. Without it, a file whose bytes have changed may be read with other values.
    #[must_use]
    pub fn verify(self) -> Session {
        self.tables.verify();
        self
    }

    /// Sends queries to a cluster. All machines of it must have the recordings at the same path.
    ///
    /// # Errors
    ///
    /// [`SqlError::NotRecorded`] if the session is over a world.
    #[cfg(feature = "cluster")]
    pub fn on(mut self, cluster: Cluster) -> Result<Session, SqlError> {
        if self.world.is_some() {
            return Err(SqlError::NotRecorded);
        }
        self.context = context(cluster.state(named)?, &self.tables);
        self.cluster = Some(cluster);
        Ok(self)
    }

    /// Adds a table of the entities that match a [text query](phalanx::reflect::TextQuery), with the columns that it names.
    ///
    /// Phalanx joins the components when the view is made, which is faster than a join in SQL.
    ///
    /// # Errors
    ///
    /// [`SqlError::View`] if the query is wrong, [`SqlError::TableExists`] if the name is taken, [`SqlError::NoWorld`] if the
    /// session is over recordings.
    pub fn view(&self, name: &str, query: &str) -> Result<(), SqlError> {
        let frozen = self.world.as_ref().ok_or(SqlError::NoWorld)?;
        world::add_view(frozen, &self.tables, name, query)
    }

    /// Returns the names of the tables and views, in alphabetical order.
    pub fn tables(&self) -> Vec<String> {
        self.tables.table_names()
    }

    /// Returns the columns of a table.
    ///
    /// # Errors
    ///
    /// [`SqlError::NoSuchTable`], and those of files that cannot be read.
    pub fn columns(&self, table: &str) -> Result<datafusion::arrow::datatypes::SchemaRef, SqlError> {
        let found = self.tables.open(table)?;
        found.map(|table| table.schema()).ok_or_else(|| SqlError::no_such_table(table, self.tables()))
    }

    /// Returns sentences about what was left out, or is not finished. Files are opened by the queries that need them.
    pub fn notes(&self) -> Vec<String> {
        self.notes.to_vec()
    }

    /// Answers a query.
    ///
    /// # Errors
    ///
    /// [`SqlError::NoSuchTable`] and [`SqlError::NoSuchColumn`] with the nearest name; [`SqlError::NotAQuery`] if it would change
    /// something; [`SqlError::Broken`] if a file is damaged; [`SqlError::Cluster`] and [`SqlError::Query`] for all else.
    pub async fn query(&self, sql: &str) -> Result<Rows, SqlError> {
        let mut stream = self.stream(sql).await?;
        let schema = stream.schema();
        let mut batches = Vec::new();
        while let Some(batch) = stream.next().await {
            batches.push(batch?);
        }
        Ok(Rows::new(schema, batches))
    }

    /// Answers a query, on threads of the session's own.
    ///
    /// # Errors
    ///
    /// As [`query`](Session::query), and [`SqlError::Io`] if threads cannot be started.
    ///
    /// # Panics
    ///
    /// Panics if it is called by an asynchronous task, which must not block.
    pub fn blocking_query(&self, sql: &str) -> Result<Rows, SqlError> {
        let runtime = match self.runtime.0.get() {
            Some(runtime) => runtime,
            None => {
                let made = tokio::runtime::Builder::new_multi_thread().enable_all().build();
                let made = made.map_err(|error| SqlError::io(Path::new("threads"), error))?;
                self.runtime.0.get_or_init(|| made)
            }
        };
        runtime.block_on(self.query(sql))
    }

    /// Answers a query, and returns the rows as they arrive. They need not fit into memory.
    ///
    /// # Errors
    ///
    /// As [`query`](Session::query).
    pub async fn stream(&self, sql: &str) -> Result<RowStream, SqlError> {
        let state = self.context.state();
        let statement = state.sql_to_statement(sql, &state.config_options().sql_parser.dialect)?;
        let mut names = Vec::new();
        for reference in state.resolve_table_references(&statement)? {
            let is_own = reference.catalog().is_none_or(|name| name == CATALOG)
                && reference.schema().is_none_or(|name| name == SCHEMA);
            if is_own && !self.tables.table_exist(reference.table()) {
                return Err(SqlError::no_such_table(reference.table(), self.tables()));
            }
            names.push(reference.table().to_owned());
        }
        let plan = state.statement_to_plan(statement).await?;
        let only_read = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        only_read.verify_plan(&plan).map_err(|error| SqlError::NotAQuery(error.strip_backtrace()))?;
        let plan = state.create_physical_plan(&plan).await?;
        let batches = self.run(plan, &state).await.map_err(|error| name_file(error, &self.tables, &names))?;
        Ok(RowStream::new(batches, Arc::clone(&self.tables), names))
    }

    async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        state: &SessionState,
    ) -> Result<datafusion::execution::SendableRecordBatchStream, SqlError> {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster
            && is_for_cluster(&plan)
        {
            return cluster.run(plan, state).await;
        }
        Ok(execute_stream(plan, state.task_ctx())?)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("tables", &self.tables).finish_non_exhaustive()
    }
}

/// Sets what all sessions have in common.
fn named(config: SessionConfig) -> SessionConfig {
    config.with_information_schema(true).with_default_catalog_and_schema(CATALOG, SCHEMA)
}

/// Returns a context whose only tables are these.
fn context(state: SessionState, tables: &Arc<Tables>) -> SessionContext {
    let context = SessionContext::new_with_state(state);
    let catalog = MemoryCatalogProvider::new();
    let schema: Arc<dyn SchemaProvider> = Arc::clone(tables) as _;
    catalog.register_schema(SCHEMA, schema).expect("a new catalog takes any schema");
    context.register_catalog(CATALOG, Arc::new(catalog));
    context
}

/// Returns `true` if a cluster gives the same answer. Other plans run here.
///
/// Leaves must be what other processes can read, which the tables that describe the session are not. Ballista 55.0 loses rows of a
/// union, or waits for ever, if one input is the result of another stage and one is not. It cannot send the function that repeats
/// the rows of changes.
#[cfg(feature = "cluster")]
fn is_for_cluster(plan: &Arc<dyn ExecutionPlan>) -> bool {
    use datafusion::datasource::source::DataSourceExec;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
    use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
    use datafusion::physical_plan::unnest::UnnestExec;
    let children = plan.children();
    if children.is_empty() {
        return plan.is::<DataSourceExec>() || plan.is::<EmptyExec>() || plan.is::<PlaceholderRowExec>();
    }
    let runs_here = plan.is::<UnionExec>() || plan.is::<InterleaveExec>() || plan.is::<UnnestExec>();
    !runs_here && children.into_iter().all(is_for_cluster)
}
