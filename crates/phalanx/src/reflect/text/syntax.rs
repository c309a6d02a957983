//! The syntax tree of a text query.

use phalanx_store::Entity;

/// A query as it was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Syntax {
    pub(super) terms: Vec<Term>,
    pub(super) sort: Option<(Path, bool)>,
    pub(super) limit: Option<usize>,
}

/// A component by name, or one of its fields.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The position of the name in the text.
    pub(super) at: usize,
    pub(super) name: String,
    /// Whether the name is in backquotes. Then it is not that of something built in.
    pub(super) is_quoted: bool,
    /// The fields with their positions.
    pub(super) fields: Vec<(usize, String)>,
}

/// An operator between a field and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Contains,
}

impl Operator {
    pub(super) fn of(symbol: &str) -> Option<Operator> {
        Some(match symbol {
            "=" => Operator::Equal,
            "!=" => Operator::Unequal,
            "<" => Operator::Less,
            "<=" => Operator::AtMost,
            ">" => Operator::Greater,
            ">=" => Operator::AtLeast,
            "~" => Operator::Contains,
            _ => return None,
        })
    }
}

/// A value as it was written.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    Number(String),
    Text(String),
    Word(String),
    Entity(Entity),
}

/// An entity by its handle or its path.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Entity(Entity),
    Path(usize, String),
    /// No entity: `none`.
    Nothing,
}

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum Term {
    /// `?A`: shown if it is there.
    Show(Path),
    Present(Path),
    /// The position is that of the value.
    Compare(Path, Operator, usize, Literal),
    Not(Box<Term>),
    /// Alternatives, each of which is a list of conditions.
    Any(Vec<Vec<Term>>),
    Changed(Path),
    Added(Path),
    Parent(bool, Target),
    Below(Target),
    Is(Entity),
}
