//! SQL over the worlds and recordings of the entity component system [`phalanx`].
//!
//! A [`Session`] has a table for each component. [DataFusion](datafusion) answers the queries.
//!
//! ```
//! use phalanx::{Component, World};
//! use phalanx_arrow::FrozenWorld;
//! use phalanx_sql::Session;
//!
//! #[derive(Component)]
//! struct Health {
//!     hp: u32,
//! }
//! #[derive(Component)]
//! #[component(layout = "pool")]
//! struct Shield(u32);
//!
//! let mut world = World::new();
//! world.spawn_batch((0..100).map(|hp| Health { hp }));
//! world.spawn((Health { hp: 5 }, Shield(1)));
//!
//! let frozen = FrozenWorld::new(world); // it does not change while it is queried
//! let sql = Session::over(&frozen)?;
//! let rows = sql.blocking_query("select hp, count(*) as n from health where hp between 4 and 5 group by hp order by hp")?;
//! assert_eq!(rows.to_string().lines().nth(4), Some("| 5  | 2 |"));
//!
//! // Phalanx joins components faster than SQL does.
//! sql.view("exposed", "Health.hp < 10, !Shield")?;
//! assert_eq!(sql.blocking_query("select * from exposed")?.len(), 10);
//! # Ok::<(), phalanx_sql::SqlError>(())
//! ```
//!
//! # Tables
//!
//! | session | tables | columns |
//! |---|---|---|
//! | [`Session::over`] a frozen world | one for each component | `entity`, and the fields |
//! | | one for the [extra rows](phalanx_arrow::extra_rows()) of each component, such as `item_rows` | `entity`, `about`, `role`, and the fields |
//! | | `entities` | `entity`, `name` |
//! | | [views](Session::view) | `entity`, and what the text query names |
//! | [`Session::recordings`] | one for each component | `frame`, `entity`, the fields, `run`, and the parameters |
//! | | `entities` | `frame`, `entity`, `event`, `archetype`, `run`, and the parameters |
//! | | `runs` | `run`, `seed`, `finished`, `frames`, and the parameters |
//! | | `files` | `run`, `folder`, `file`, `first`, `rows`, `bytes`, `checksum` |
//! | | `keyframes` | `run`, `frame`, `file`, `bytes`, `checksum` |
//!
//! The name of a table is that of the component in lower case with underscores, as in the folders of recordings. The crate
//! [`phalanx_arrow`] says how fields become columns. Names with capital letters need quotes in SQL. A parameter with the name
//! of a field is called `parameter_` and its name.
//!
//! Recordings of [changes](phalanx_arrow::RecorderBuilder::changes) have the same tables: a view repeats the rows that stay as they
//! are. The rows of the files are in tables such as `health_changes`, with the column `op`, and with the first frame of the `part`,
//! that of the next part (`part_end`), and the distance of frames (`every`). They are fewer, so that they are read faster.
//!
//! The checksums in `keyframes` are those of whole worlds. So the first of them that differs tells where two runs with the same seed
//! parted. [`Session::verify`] compares those of files with the bytes.
//!
//! Handles are numbers: [`Entity::from_bits`](phalanx::Entity::from_bits) makes one of them. Floats are compared in the total order
//! of IEEE 754: NaN is greater than all numbers, and -0 is less than 0.
//!
//! # What is read
//!
//! Only the columns that a query names are read, and copied only if their layout is not that of Arrow. Conditions are evaluated
//! while a table is read, and `entity = x` reads one row. In recordings, conditions on runs and parameters choose files. The
//! number of rows is known without reading any.
//!
//! Worlds and recordings are only read: statements that would change something are errors.
//!
//! # Features
//!
//! - `cluster`: sessions whose queries run on a Ballista cluster, in the module `cluster`. About a hundred more crates are built.
//!
//! # The program
//!
//! `phalanx-sql runs/ "select …"` answers a query over recordings as a table, CSV, JSON or Parquet. `phalanx-sql --help` explains the
//! rest.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "cluster")]
pub mod cluster;
mod error;
mod filled_table;
mod nearest;
mod output;
mod planned_table;
mod recorded_table;
mod recordings;
mod row_stream;
mod rows;
mod scan;
mod session;
mod tables;
mod world;

pub use datafusion;
pub use error::SqlError;
pub use output::{Format, RowWriter, UnknownFormat};
pub use row_stream::RowStream;
pub use rows::Rows;
pub use session::Session;
pub use tables::Broken;

/// The listings of a page of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/tables.md")]
mod guide {}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
