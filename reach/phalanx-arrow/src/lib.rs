//! Worlds of the entity component system [`phalanx`] as tables: [Arrow](https://arrow.apache.org) record batches and Parquet files.
//!
//! ```
//! use phalanx::{Component, World};
//! use phalanx_arrow::FrozenWorld;
//!
//! #[derive(Component)]
//! struct Position { x: f32, y: f32 }
//! #[derive(Component)]
//! struct Health(u32);
//!
//! let mut world = World::new();
//! world.spawn_batch((0..1000).map(|n| (Position { x: n as f32, y: 0.0 }, Health(n))));
//!
//! // Rows of a living world, selected by a text query, are copied.
//! let wounded = phalanx_arrow::extract(&world, "Position, Health < 10")?;
//! assert_eq!((wounded.num_rows(), wounded.num_columns()), (10, 4));
//!
//! // A frozen world lends its memory.
//! let frozen = FrozenWorld::new(world);
//! let healths = frozen.component::<Health>()?;
//! assert_eq!(healths[0].num_rows(), 1000);
//! # Ok::<(), phalanx_arrow::TableError>(())
//! ```
//!
//! | item | what it does |
//! |---|---|
//! | [`FrozenWorld`], [`ComponentTable`] | record batches over the memory of a world that does not change |
//! | [`extract`](extract()), [`Extract`] | rows of a living world, selected by a [text query](phalanx::reflect::TextQuery), copied |
//! | [`extra_rows`](extra_rows()) | the values of a component in [extra rows](phalanx::Key), copied |
//! | [`spawn`](spawn()), [`Mapping`] | entities from record batches |
//! | [`Recorder`], [`Recording`] | Parquet files and exact snapshots, written while a simulation runs |
//!
//! # Columns
//!
//! The table of a component has a row for each entity that has it. The first column is `entity`, the number that
//! [`Entity::to_bits`](phalanx::Entity::to_bits) returns. Each field is a column. A component that is one value without a name, such as
//! `struct Health(u32)`, has the column `value`. [Extra rows](phalanx::Key) are not in tables: [`extra_rows`](extra_rows()) returns
//! them. Recordings have them in their snapshots only.
//!
//! | field | Arrow | of a frozen world |
//! |---|---|---|
//! | integer, float | integer, float of the same width | lent if values are one after another: newtypes, soa components |
//! | `u128`, `i128` | `FixedSizeBinary(16)`, in the order of bytes of the machine | lent, likewise |
//! | `char` | `UInt32` | lent, likewise |
//! | array such as `[f32; 3]` | `FixedSizeList` | lent, likewise, if of these |
//! | field of a struct with several | `Struct`, or a column each at the top | de-interleaved |
//! | `bool` | `Boolean` | copied |
//! | enum without fields | `Dictionary(Int32, Utf8)` | copied |
//! | [`Entity`](phalanx::Entity) | `UInt64` | copied |
//! | `String`, `&'static str`, `Box<str>` | `Utf8` | copied |
//! | any other type, if a registry knows the component | `Utf8`, with JSON | copied |
//!
//! A field of any other type without a registry has no column. The metadata of the schema name it, under [`OPAQUE_KEY`].
//!
//! A column is named after its field. A number, as the fields of tuples have, has an underscore before it. The names `entity`,
//! `frame`, `run`, `component` and `seed` have one after it, because recordings have such columns. The path of the field, as text
//! queries have it, is in the metadata of the column, under [`PATH_KEY`].
//!
//! # Features
//!
//! - `recording`, on by default: recordings, with Parquet. Without it the crate needs Arrow only.
//! - `zstd`: recordings can be compressed by zstd, which is a library in C.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod component_table;
mod datum;
mod error;
mod extra_rows;
mod extract;
mod frozen_world;
mod lanes;
mod names;
#[cfg(feature = "recording")]
mod recording;
mod shapes;
mod spawn;

pub use component_table::{COMPONENT_KEY, JSON_KEY, OPAQUE_KEY, PATH_KEY};
pub use error::TableError;
pub use extra_rows::extra_rows;
pub use extract::{Extract, extract, extract_with};
pub use frozen_world::{ComponentTable, FrozenWorld, StillInUse};
pub use names::{ENTITY, VALUE};
#[cfg(feature = "recording")]
pub use recording::{DeltaPart, Full, Keyframe, Part, RecordError, Recorder, RecorderBuilder, Recording, RunFile};
pub use spawn::{ImportError, Mapping, spawn};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
