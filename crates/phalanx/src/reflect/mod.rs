//! The fields of components by name, single values, and queries as text. Behind the feature `reflect`.
//!
//! This is for code that looks into a world without knowing its types: inspectors, exports, reports. Every `derive(Component)`
//! says where the fields of the type are, and whether it implements `Debug`. Nothing has to be registered.
//!
//! | type | what it is |
//! |---|---|
//! | [`Shape`], [`Kind`], [`Field`] | the layout of a type; [`ComponentInfo::shape`](crate::ComponentInfo::shape) is that of a component |
//! | [`Reflect`] | types whose shape is known; there is a derive for types that are not components |
//! | [`Value`] | one value of a component, or a part of it: [`EntityRef::value`](crate::EntityRef::value) |
//! | [`FieldPath`], [`FieldColumn`] | one field of many values |
//! | [`TableRef`], [`StoreRef`] | the storages of a world: [`World::tables`](crate::World::tables), [`World::sparse_stores`](crate::World::sparse_stores) |
//! | [`GroupRef`] | the groups of a world: [`World::groups`](crate::World::groups) |
//! | [`TextQuery`], [`BoundQuery`] | queries such as `Position, !Burning, Health.hp < 10 sort Health.hp` |
//!
//! ```
//! use phalanx::reflect::TextQuery;
//! use phalanx::{Component, World};
//!
//! #[derive(Component)]
//! struct Health {
//!     hp: u32,
//! }
//!
//! let mut world = World::new();
//! let entities: Vec<_> = (0..100).map(|hp| world.spawn(Health { hp })).collect();
//! let query = TextQuery::parse("Health.hp < 10 sort Health.hp desc limit 3")?.bind(&world)?;
//! assert!(query.iter(&world)?.eq([entities[9], entities[8], entities[7]]));
//! assert_eq!(query.count(&world)?, 10);
//! # Ok::<(), phalanx::reflect::TextQueryError>(())
//! ```
//!
//! Most of this reads. Fields of plain components are changed by [`EntityMut::set_field`](crate::EntityMut::set_field); with the
//! feature `snapshot`, `Registry::insert_value` inserts a value from a deserializer. Listeners, change ticks and groups see both.

mod edit;
mod field_path;
mod groups;
mod place;
mod scalar_value;
mod shown;
mod tables;
mod text;
mod value;

pub use crate::shape::{Choice, ChoiceFn, Field, Kind, Reflect, Scalar, Shape, ShowFn, TextFn};
pub use edit::EditError;
pub use field_path::{FieldError, FieldPath};
pub use groups::GroupRef;
#[cfg(feature = "derive")]
pub use phalanx_derive::Reflect;
pub use place::FieldColumn;
pub use scalar_value::ScalarValue;
pub use shown::{SHOWN_LIMIT, ShowError, Shown};
pub use tables::{StoreRef, TableRef};
pub use text::{
    BoundQuery, Cursor, Matches, Ranking, ShownColumn, TEXT_QUERY_LEVELS, TEXT_QUERY_LIMIT, TextQuery, TextQueryError,
    TextQueryProblem,
};
pub use value::Value;
