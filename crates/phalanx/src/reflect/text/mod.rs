//! Queries as text.

mod bind;
mod bound_query;
mod comparison;
mod error;
mod filter;
mod lexer;
mod names;
mod parser;
mod ranking;
mod scan;
mod syntax;

pub use bound_query::{BoundQuery, Matches, ShownColumn};
pub use error::{TextQueryError, TextQueryProblem};
pub use ranking::Ranking;
pub use scan::Cursor;

use crate::component::ComponentId;
use crate::world::World;
use syntax::Syntax;

/// The number of bytes that a text query can have.
pub const TEXT_QUERY_LIMIT: usize = 4096;

/// The number of levels to which conditions of a text query can be nested.
pub const TEXT_QUERY_LEVELS: usize = 32;

/// A query as text, for tools and their users.
///
/// ```text
/// Position, !Burning, ?Name, Health.hp < 10, Team = red, Name ~ "orc", (Sleeping | Stunned),
/// changed(Velocity), parent = 12v3, in(squad), #42v7, `odd name`.`field`  sort Health.hp desc  limit 50
/// ```
///
/// | | matches an entity |
/// |---|---|
/// | `A, B` | for which both conditions hold |
/// | `!A` | for which the condition does not hold |
/// | `(A, B \| C)` | for which one of the alternatives holds |
/// | `Position` | that has the component |
/// | `Health.hp < 10` | that has the component, with such a value; also `=`, `!=`, `<=`, `>`, `>=` |
/// | `Team = red` | with this variant of an enum without fields; upper and lower case do not matter |
/// | `Title ~ "orc"` | whose text contains another one; upper and lower case of ASCII letters do not matter |
/// | `Name`, `Name ~ "orc"` | that has a [name](crate::Name), with such a text; unless there is a component `Name` |
/// | `changed(A)`, `added(A)` | whose component changed or was added, if it is [tracked](crate::change_detection) |
/// | `parent = 12v3`, `parent = none` | with this parent, as a handle or as a path of names, or without a parent |
/// | `in(squad)` | that is below an entity, as a handle or as a path of names |
/// | `#42v7` | that is this one |
/// | `?A` | in any case: the component is [shown](BoundQuery::columns) if it is there |
///
/// A component is named by any ending of the name of its type that is unique: `Health`, or `stats::Health`. What is not a plain
/// name is in backquotes. A newtype is looked through: for `struct Score(i32)`, `Score` and `Score.0` are the number. An element of
/// an array is named by its number. A string in quotes has the escapes `\"`, `\\`, `\n` and `\t`.
///
/// After the conditions, `sort` names the field to sort by and `desc` reverses the order. Rows without the field come last, and so
/// do floats that are not a number. `limit` is the number of rows.
#[derive(Clone, Debug)]
pub struct TextQuery {
    syntax: Syntax,
}

impl TextQuery {
    /// Parses a query. An empty text matches all entities.
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if the text is not a query, or is longer or more deeply nested than
    /// [`TEXT_QUERY_LIMIT`] and [`TEXT_QUERY_LEVELS`] allow.
    pub fn parse(text: &str) -> Result<TextQuery, TextQueryError> {
        if text.len() > TEXT_QUERY_LIMIT {
            let problem = TextQueryProblem::TooLong { len: text.len() };
            return Err(TextQueryError::new(TEXT_QUERY_LIMIT, problem));
        }
        Ok(TextQuery { syntax: parser::Parser::parse(text)? })
    }

    /// Finds the components and fields of the query in a world.
    ///
    /// The world knows the components that were registered, or named by an operation.
    ///
    /// # Errors
    ///
    /// Returns a [`TextQueryError`] if there is no component, field, variant or entity of a name, if several components have it, or
    /// if a field cannot be compared with a value.
    pub fn bind(&self, world: &World) -> Result<BoundQuery, TextQueryError> {
        self.bind_with(world, &[])
    }

    /// Like [`bind`](TextQuery::bind), but components have further names, such as those of a snapshot registry.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`bind`](TextQuery::bind).
    pub fn bind_with(&self, world: &World, names: &[(&str, ComponentId)]) -> Result<BoundQuery, TextQueryError> {
        bind::Binder::new(world, names).bind(&self.syntax)
    }
}
