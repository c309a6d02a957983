//! [`SqlError`]: why a session cannot be opened, or a query not be answered.

use crate::nearest::nearest;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use phalanx::reflect::TextQueryError;
use std::fmt;
use std::path::{Path, PathBuf};

/// An error of a [`Session`](crate::Session).
#[derive(Debug)]
#[non_exhaustive]
pub enum SqlError {
    /// A file or a folder cannot be read or written.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// A folder is neither a recording nor a folder of recordings.
    NoRecordings(PathBuf),
    /// A file of a recording is damaged, or is not what its name says.
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The query names a table that does not exist.
    NoSuchTable {
        /// The name in the query.
        name: String,
        /// The table with the most similar name.
        nearest: Option<String>,
        /// All tables, in alphabetical order.
        tables: Vec<String>,
    },
    /// The query names a column that does not exist.
    NoSuchColumn {
        /// The name in the query, with that of its table if the query has it.
        name: String,
        /// The column with the most similar name.
        nearest: Option<String>,
        /// All columns that the query could name at that place.
        columns: Vec<String>,
    },
    /// The name of a view is that of another table.
    TableExists(String),
    /// The query changes something. Worlds and recordings are only read.
    NotAQuery(String),
    /// A view cannot be made of a text query.
    View(TextQueryError),
    /// The session has no world: views by text query are for worlds.
    NoWorld,
    /// The session is over a world. A cluster answers queries over recordings only.
    NotRecorded,
    /// A cluster cannot be reached, or could not answer.
    Cluster(String),
    /// The query is wrong, or could not be answered.
    Query(Box<DataFusionError>),
}

impl SqlError {
    pub(crate) fn io(path: &Path, error: std::io::Error) -> SqlError {
        SqlError::Io { path: path.to_owned(), error }
    }

    pub(crate) fn broken(path: &Path, reason: impl fmt::Display) -> SqlError {
        SqlError::Broken { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(crate) fn no_such_table(name: &str, mut tables: Vec<String>) -> SqlError {
        tables.sort();
        SqlError::NoSuchTable { name: name.to_owned(), nearest: nearest(name, &tables), tables }
    }
}

/// Errors of the crate travel through DataFusion as external errors, and are taken out again here.
impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> SqlError {
        if let DataFusionError::SchemaError(schema, _) = error.find_root()
            && let SchemaError::FieldNotFound { field, valid_fields } = &**schema
        {
            let columns: Vec<String> = valid_fields.iter().map(|column| column.name.clone()).collect();
            return SqlError::NoSuchColumn {
                name: field.flat_name(),
                nearest: nearest(&field.name, &columns),
                columns,
            };
        }
        match error {
            DataFusionError::External(inner) => match inner.downcast::<SqlError>() {
                Ok(own) => *own,
                Err(other) => SqlError::Query(Box::new(DataFusionError::External(other))),
            },
            DataFusionError::Context(text, inner) => match SqlError::from(*inner) {
                SqlError::Query(inner) => SqlError::Query(Box::new(DataFusionError::Context(text, inner))),
                own => own,
            },
            DataFusionError::Diagnostic(_, inner) => SqlError::from(*inner),
            other => SqlError::Query(Box::new(other)),
        }
    }
}

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> DataFusionError {
        match error {
            SqlError::Query(error) => *error,
            other => DataFusionError::External(Box::new(other)),
        }
    }
}

impl From<TextQueryError> for SqlError {
    fn from(error: TextQueryError) -> SqlError {
        SqlError::View(error)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlError::Io { path, error } => write!(f, "{}: {error}", path.display()),
            SqlError::NoRecordings(path) => {
                write!(f, "{} is neither a recording nor a folder of recordings: no run.json", path.display())
            }
            SqlError::Broken { path, reason } => write!(f, "{}: {reason}", path.display()),
            SqlError::NoSuchTable { name, nearest, tables } => {
                write!(f, "no table `{name}`")?;
                suggest(f, nearest.as_deref(), "tables", tables)
            }
            SqlError::NoSuchColumn { name, nearest, columns } => {
                write!(f, "no column `{name}`")?;
                suggest(f, nearest.as_deref(), "columns", columns)
            }
            SqlError::TableExists(name) => write!(f, "there is a table `{name}` already"),
            SqlError::NotAQuery(what) => write!(f, "worlds and recordings are only read: {what}"),
            SqlError::View(error) => write!(f, "text query: {error}"),
            SqlError::NoWorld => f.write_str("views by text query need a world, and this session has recordings"),
            SqlError::NotRecorded => {
                f.write_str("a cluster answers queries over recordings, not over a world in memory")
            }
            SqlError::Cluster(reason) => write!(f, "cluster: {reason}"),
            SqlError::Query(error) => f.write_str(&error.strip_backtrace()),
        }
    }
}

/// Writes the nearest name or, if none is near, the known ones: at most twenty.
fn suggest(f: &mut fmt::Formatter<'_>, nearest: Option<&str>, what: &str, known: &[String]) -> fmt::Result {
    const SHOWN: usize = 20;
    if let Some(nearest) = nearest {
        return write!(f, "; did you mean `{nearest}`?");
    }
    if known.is_empty() {
        return write!(f, "; there are none");
    }
    write!(f, "; {what}: {}", known[..known.len().min(SHOWN)].join(", "))?;
    if known.len() > SHOWN { write!(f, " and {} more", known.len() - SHOWN) } else { Ok(()) }
}

impl std::error::Error for SqlError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SqlError::Io { error, .. } => Some(error),
            SqlError::View(error) => Some(error),
            SqlError::Query(error) => Some(error),
            _ => None,
        }
    }
}
