//! [`Tables`]: the tables of a session by name. Those of recordings are opened when a query names them.

use crate::SqlError;
use crate::filled_table::filled;
use crate::planned_table::PlannedTable;
use crate::recorded_table::{RecordedFile, RecordedTable};
use datafusion::arrow::datatypes::FieldRef;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result as PlanResult};
use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// What a session does with files of recordings that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    /// The query fails with an error that names the file.
    #[default]
    Fail,
    /// The file is left out, and [`Session::notes`](crate::Session::notes) says so.
    Skip,
}

/// Sentences about what was left out or is not finished.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn add(&self, note: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    pub(crate) fn to_vec(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The tables of a session.
pub(crate) struct Tables {
    entries: RwLock<BTreeMap<String, Entry>>,
    broken: Broken,
    /// Whether the checksums of files are compared when they are opened.
    has_sums: AtomicBool,
    notes: Notes,
}

#[derive(Clone)]
enum Entry {
    Ready(Arc<dyn TableProvider>),
    Recorded(Arc<Recorded>),
    /// All rows of a component: those of recordings that have all, and those that follow from changes.
    Filled(Option<Arc<Recorded>>, Arc<Recorded>),
}

/// A table of recordings whose files are opened when a query first names it.
pub(crate) struct Recorded {
    files: Vec<RecordedFile>,
    constants: Vec<FieldRef>,
    loaded: OnceLock<Arc<RecordedTable>>,
}

impl Recorded {
    /// Creates the table of some files, and the columns that are constant in each of them.
    pub(crate) fn new(files: Vec<RecordedFile>, constants: Vec<FieldRef>) -> Arc<Recorded> {
        Arc::new(Recorded { files, constants, loaded: OnceLock::new() })
    }
}

impl Tables {
    pub(crate) fn new(broken: Broken, notes: Notes) -> Tables {
        Tables { entries: RwLock::default(), broken, has_sums: AtomicBool::new(false), notes }
    }

    /// Adds a table. Returns an error if the name is taken.
    pub(crate) fn add(&self, name: &str, table: Arc<dyn TableProvider>) -> Result<(), SqlError> {
        self.insert(name, Entry::Ready(table))
    }

    /// Adds a table of recordings.
    pub(crate) fn add_recorded(&self, name: &str, table: Arc<Recorded>) -> Result<(), SqlError> {
        self.insert(name, Entry::Recorded(table))
    }

    /// Adds the table of a component of which recordings have changes, and some may have all rows.
    pub(crate) fn add_filled(
        &self,
        name: &str,
        all: Option<Arc<Recorded>>,
        changes: Arc<Recorded>,
    ) -> Result<(), SqlError> {
        self.insert(name, Entry::Filled(all, changes))
    }

    /// Makes tables compare the checksums of the files that they open from now on.
    pub(crate) fn verify(&self) {
        self.has_sums.store(true, Ordering::Relaxed);
    }

    fn insert(&self, name: &str, entry: Entry) -> Result<(), SqlError> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.contains_key(name) {
            return Err(SqlError::TableExists(name.to_owned()));
        }
        entries.insert(name.to_owned(), entry);
        Ok(())
    }

    fn entry(&self, name: &str) -> Option<Entry> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns a table, and opens its files the first time.
    pub(crate) fn open(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, SqlError> {
        match self.entry(name) {
            None => Ok(None),
            Some(Entry::Ready(table)) => Ok(Some(table)),
            Some(Entry::Recorded(table)) => Ok(Some(Arc::new(PlannedTable(self.load(&table)?)))),
            Some(Entry::Filled(all, changes)) => {
                let all = all.map(|all| self.load(&all)).transpose()?;
                Ok(Some(filled(all, self.load(&changes)?)?))
            }
        }
    }

    fn load(&self, recorded: &Recorded) -> Result<Arc<RecordedTable>, SqlError> {
        if let Some(table) = recorded.loaded.get() {
            return Ok(Arc::clone(table));
        }
        let (files, constants) = (recorded.files.clone(), recorded.constants.clone());
        let mut skip = |error: SqlError| self.notes.add(format!("skipped {error}"));
        let skip: Option<&mut dyn FnMut(SqlError)> = if self.broken == Broken::Skip { Some(&mut skip) } else { None };
        let has_sums = self.has_sums.load(Ordering::Relaxed);
        let table = Arc::new(RecordedTable::load(files, constants, has_sums, skip)?);
        Ok(Arc::clone(recorded.loaded.get_or_init(|| table)))
    }

    /// Returns the first file of some tables whose rows cannot be read, and why.
    pub(crate) fn find_broken(&self, names: &[String]) -> Option<SqlError> {
        let broken = |table: &Recorded| table.loaded.get()?.find_broken();
        names.iter().find_map(|name| match self.entry(name)? {
            Entry::Ready(_) => None,
            Entry::Recorded(table) => broken(&table),
            Entry::Filled(all, changes) => all.and_then(|all| broken(&all)).or_else(|| broken(&changes)),
        })
    }
}

/// Leaves a table out if a component has its name, which is more particular.
pub(crate) fn add_unless_named(added: Result<(), SqlError>) -> Result<(), SqlError> {
    match added {
        Err(SqlError::TableExists(_)) => Ok(()),
        added => added,
    }
}

impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn table<'life0, 'life1, 'async_trait>(
        &'life0 self,
        name: &'life1 str,
    ) -> Pin<Box<dyn Future<Output = PlanResult<Option<Arc<dyn TableProvider>>, DataFusionError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(ready(self.open(name).map_err(DataFusionError::from)))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tables").field(&self.table_names()).finish()
    }
}
