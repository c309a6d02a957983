//! [`Tables`]: the tables of a session by name. Those of recordings are opened when a query names them.

use crate::SqlError;
use crate::recorded_table::{RecordedFile, RecordedTable};
use datafusion::arrow::datatypes::FieldRef;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result as PlanResult};
use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::pin::Pin;
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
    notes: Notes,
}

#[derive(Clone)]
enum Entry {
    Ready(Arc<dyn TableProvider>),
    Recorded(Arc<Recorded>),
}

/// A table of recordings whose files are not opened yet.
struct Recorded {
    files: Vec<RecordedFile>,
    constants: Vec<FieldRef>,
    loaded: OnceLock<Arc<RecordedTable>>,
}

impl Tables {
    pub(crate) fn new(broken: Broken, notes: Notes) -> Tables {
        Tables { entries: RwLock::default(), broken, notes }
    }

    /// Adds a table. Returns an error if the name is taken.
    pub(crate) fn add(&self, name: &str, table: Arc<dyn TableProvider>) -> Result<(), SqlError> {
        self.insert(name, Entry::Ready(table))
    }

    /// Adds a table of recordings.
    pub(crate) fn add_recorded(
        &self,
        name: &str,
        files: Vec<RecordedFile>,
        constants: Vec<FieldRef>,
    ) -> Result<(), SqlError> {
        self.insert(name, Entry::Recorded(Arc::new(Recorded { files, constants, loaded: OnceLock::new() })))
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
            Some(Entry::Recorded(recorded)) => match recorded.loaded.get() {
                Some(table) => Ok(Some(Arc::clone(table) as _)),
                None => self.load(&recorded).map(|table| Some(table as _)),
            },
        }
    }

    fn load(&self, recorded: &Recorded) -> Result<Arc<RecordedTable>, SqlError> {
        let (files, constants) = (recorded.files.clone(), recorded.constants.clone());
        let mut skip = |error: SqlError| self.notes.add(format!("skipped {error}"));
        let skip: Option<&mut dyn FnMut(SqlError)> = if self.broken == Broken::Skip { Some(&mut skip) } else { None };
        let table = Arc::new(RecordedTable::load(files, constants, skip)?);
        Ok(Arc::clone(recorded.loaded.get_or_init(|| table)))
    }

    /// Returns the first file of some tables whose rows cannot be read, and why.
    pub(crate) fn find_broken(&self, names: &[String]) -> Option<SqlError> {
        names.iter().find_map(|name| match self.entry(name) {
            Some(Entry::Recorded(recorded)) => recorded.loaded.get()?.find_broken(),
            _ => None,
        })
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
