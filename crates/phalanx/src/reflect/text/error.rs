//! [`TextQueryError`]: what is wrong with a text query, and where.

use core::fmt;
use phalanx_store::AllocError;

/// What is wrong with a text query, and where: the error of [`TextQuery`](super::TextQuery) and [`BoundQuery`](super::BoundQuery).
///
/// ```
/// use phalanx::World;
/// use phalanx::reflect::TextQuery;
///
/// let error = TextQuery::parse("Health.hp <").unwrap_err();
/// assert_eq!((error.position(), error.expected()), (11, Some("a value")));
/// assert_eq!(error.to_string(), "at 11: a value is expected, but the text ends");
///
/// #[derive(phalanx::Component)]
/// struct Health;
/// let mut world = World::new();
/// world.spawn(Health);
/// let error = TextQuery::parse("!Helth")?.bind(&world).unwrap_err();
/// assert_eq!((error.position(), error.nearest()), (1, Some("Health")));
/// # Ok::<(), phalanx::reflect::TextQueryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextQueryError {
    position: usize,
    problem: TextQueryProblem,
}

/// What is wrong with a text query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextQueryProblem {
    /// The text has more than [`TEXT_QUERY_LIMIT`](super::TEXT_QUERY_LIMIT) bytes.
    TooLong {
        /// The number of bytes.
        len: usize,
    },
    /// Conditions are nested more than [`TEXT_QUERY_LEVELS`](super::TEXT_QUERY_LEVELS) levels deep.
    TooDeep,
    /// Something else was expected here.
    Unexpected {
        /// What was expected.
        expected: &'static str,
        /// What is there. It is empty at the end of the text.
        found: String,
    },
    /// A text or a name has no end.
    Unterminated {
        /// The character that is missing.
        quote: char,
    },
    /// There is no component of this name.
    NoSuchComponent {
        /// The name.
        name: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
    /// There are several components of this name.
    Ambiguous {
        /// The name.
        name: String,
        /// Two of the components.
        candidates: [String; 2],
    },
    /// There is no field of this name.
    NoSuchField {
        /// The name.
        name: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
    /// There is no variant of this name.
    NoSuchVariant {
        /// The name.
        name: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
    /// The fields of the component are not known.
    Opaque {
        /// The component.
        component: String,
    },
    /// The field cannot be compared in this way.
    NotComparable {
        /// What could be written here.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The changes of the component are not tracked.
    NotTracked {
        /// The component.
        component: String,
    },
    /// No entity has this name.
    NoSuchEntity {
        /// The name or path.
        path: String,
    },
    /// The query was bound to another world.
    AnotherWorld,
    /// Allocation failed.
    Alloc(AllocError),
}

impl TextQueryError {
    pub(super) fn new(position: usize, problem: TextQueryProblem) -> TextQueryError {
        TextQueryError { position, problem }
    }

    /// Returns the error of a comparison that is not possible.
    pub(super) fn not_comparable(
        position: usize,
        expected: &'static str,
        found: Result<String, AllocError>,
    ) -> TextQueryError {
        match found {
            Ok(found) => TextQueryError::new(position, TextQueryProblem::NotComparable { expected, found }),
            Err(error) => error.into(),
        }
    }

    pub(super) fn another_world() -> TextQueryError {
        TextQueryError::new(0, TextQueryProblem::AnotherWorld)
    }

    /// Returns the position in the text, in bytes.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns what is wrong.
    pub fn problem(&self) -> &TextQueryProblem {
        &self.problem
    }

    /// Returns what was expected at the position, if something is missing or cannot be there.
    pub fn expected(&self) -> Option<&str> {
        match &self.problem {
            TextQueryProblem::Unexpected { expected, .. } | TextQueryProblem::NotComparable { expected, .. } => {
                Some(expected)
            }
            TextQueryProblem::NoSuchComponent { .. } | TextQueryProblem::Ambiguous { .. } => Some("a component"),
            TextQueryProblem::NoSuchField { .. } | TextQueryProblem::Opaque { .. } => Some("a field"),
            TextQueryProblem::NoSuchVariant { .. } => Some("a variant"),
            TextQueryProblem::NotTracked { .. } => Some("a tracked component"),
            TextQueryProblem::NoSuchEntity { .. } => Some("an entity"),
            _ => None,
        }
    }

    /// Returns the most similar name that there is, if a name is not known.
    pub fn nearest(&self) -> Option<&str> {
        match &self.problem {
            TextQueryProblem::NoSuchComponent { nearest, .. }
            | TextQueryProblem::NoSuchField { nearest, .. }
            | TextQueryProblem::NoSuchVariant { nearest, .. } => nearest.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for TextQueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TextQueryProblem as Problem;
        match &self.problem {
            Problem::AnotherWorld => return f.write_str("the query was bound to another world"),
            Problem::Alloc(error) => return error.fmt(f),
            _ => write!(f, "at {}: ", self.position)?,
        }
        match &self.problem {
            Problem::TooLong { len } => write!(f, "a query has at most {} bytes, not {len}", super::TEXT_QUERY_LIMIT),
            Problem::TooDeep => write!(f, "conditions are nested more than {} levels deep", super::TEXT_QUERY_LEVELS),
            Problem::Unexpected { expected, found } if found.is_empty() => {
                write!(f, "{expected} is expected, but the text ends")
            }
            Problem::Unexpected { expected, found } => write!(f, "{expected} is expected, not {found}"),
            Problem::Unterminated { quote } => write!(f, "a closing {quote} is missing"),
            Problem::NoSuchComponent { name, .. } => write!(f, "there is no component `{name}`"),
            Problem::Ambiguous { name, candidates: [a, b] } => {
                write!(f, "`{name}` is not unique: it may be `{a}` or `{b}`")
            }
            Problem::NoSuchField { name, .. } => write!(f, "there is no field `{name}`"),
            Problem::NoSuchVariant { name, .. } => write!(f, "there is no variant `{name}`"),
            Problem::Opaque { component } => write!(f, "the fields of {component} are not known"),
            Problem::NotComparable { expected, found } => write!(f, "{expected} is expected, not {found}"),
            Problem::NotTracked { component } => write!(f, "changes of {component} are not tracked"),
            Problem::NoSuchEntity { path } => write!(f, "there is no entity `{path}`"),
            Problem::AnotherWorld | Problem::Alloc(_) => Ok(()),
        }?;
        match self.nearest() {
            Some(nearest) => write!(f, "; the nearest name is `{nearest}`"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for TextQueryError {}

impl From<AllocError> for TextQueryError {
    fn from(error: AllocError) -> Self {
        TextQueryError::new(0, TextQueryProblem::Alloc(error))
    }
}
