//! One tree after another.

use super::field::Shape;
use super::kind::{Decoder, Form, Kind};
use super::store::Row;
use super::{Full, Malformed, Name, NodeId, Span, TokenId, Tree};

/// Maps the names, tokens and spans of a tree that is appended to another.
pub trait Rebase {
    /// Returns the name in the table of the other tree.
    ///
    /// # Errors
    ///
    /// Returns a [`Full`] error if it cannot be added there.
    fn name(&mut self, name: Name) -> Result<Name, Full> {
        Ok(name)
    }

    /// Returns the token among the tokens of the other tree.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Tokens`] if there are too many.
    fn token(&mut self, token: TokenId) -> Result<TokenId, Full> {
        Ok(token)
    }

    /// Returns the span in the source of the other tree.
    fn span(&mut self, span: Span) -> Span {
        span
    }
}

/// Everything stays as it is: for trees that share their names and tokens.
impl Rebase for () {}

/// A tree cannot be appended to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// The tree cannot grow.
    Full(Full),
    /// A node of it cannot be decoded.
    Malformed(NodeId, Malformed),
}

impl From<Full> for MergeError {
    fn from(full: Full) -> MergeError {
        MergeError::Full(full)
    }
}

impl core::fmt::Display for MergeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            MergeError::Full(full) => full.fmt(f),
            MergeError::Malformed(id, malformed) => write!(f, "node {}: {malformed}", id.index()),
        }
    }
}

impl core::error::Error for MergeError {}

impl<K: Kind> Tree<K> {
    /// Appends all nodes of another tree. Returns the new id of its root, or `None` if it was empty.
    ///
    /// Node `n` of it becomes node `len() + n`. Its names, tokens and spans are mapped by `rebase`.
    ///
    /// # Errors
    ///
    /// Returns [`MergeError::Full`] if this tree cannot grow, and [`MergeError::Malformed`] if a node cannot be decoded. This
    /// tree is unchanged.
    pub fn append(&mut self, other: &Tree<K>, rebase: &mut impl Rebase) -> Result<Option<NodeId>, MergeError> {
        let mark = self.mark();
        let base = self.len();
        match other.ids().try_for_each(|id| self.append_node(other, id, base, rebase)) {
            Ok(()) => Ok(NodeId::new(base as u32).filter(|_| !other.is_empty())),
            Err(error) => {
                self.truncate(mark);
                Err(error)
            }
        }
    }

    fn append_node(
        &mut self,
        other: &Tree<K>,
        id: NodeId,
        base: usize,
        rebase: &mut impl Rebase,
    ) -> Result<(), MergeError> {
        let kind = other.kind(id);
        let layout = kind.layout();
        let malformed = |error| MergeError::Malformed(id, error);
        // Checks every word, so that what follows may take them as they are.
        other.fields(id).try_for_each(|(_, value)| value.map(drop)).map_err(malformed)?;
        let mut decoder = Decoder::new(layout, other.data()[id.index()], other.extra()).map_err(malformed)?;
        let node = |word: u32| word.checked_add(base as u32).ok_or(Full::Nodes);

        let listed: usize = other.fields(id).map(|(_, value)| value.map_or(0, |value| list_len(&value))).sum();
        let need = match layout.form {
            Form::Inline => 0,
            Form::Range => listed,
            Form::Record => layout.words.saturating_sub(1) + layout.lists + listed,
        };
        let start = self.extra.make_room(need)?;
        let mut data = match layout.form {
            Form::Inline => [0; 2],
            Form::Range => [start, listed as u32],
            Form::Record => [0, start],
        };
        let mut at = 0;
        let mut lists = decoder.clone();
        for info in layout.fields.iter().filter(|info| !info.shape.is_list()) {
            let mut words = decoder.words(info.shape);
            words[0] = match info.shape {
                Shape::Node => node(words[0])?,
                Shape::OptNode if words[0] != 0 => node(words[0])?,
                Shape::Name | Shape::OptName => match Name::from_word(words[0]) {
                    Some(name) => rebase.name(name)?.word(),
                    None => 0,
                },
                Shape::Token => TokenId::from_word(words[0]).map_or(Ok(0), |it| rebase.token(it).map(TokenId::word))?,
                _ => words[0],
            };
            for &word in &words[..info.shape.words()] {
                match layout.form {
                    Form::Inline => data[at] = word,
                    _ if at == 0 => data[0] = word,
                    _ => self.extra.put(word),
                }
                at += 1;
            }
        }
        for _ in 0..layout.lists {
            let list = lists.list().map_err(malformed)?;
            if layout.form == Form::Record {
                self.extra.put(list.len() as u32);
            }
            for &word in list {
                // The word 0 is a missing node of a pair.
                self.extra.put(if word == 0 { 0 } else { node(word)? });
            }
        }
        let span = rebase.span(other.span(id));
        self.push(Row { kind, span, data })?;
        Ok(())
    }
}

/// Returns the number of words of a list.
fn list_len(value: &super::walk::Value<'_>) -> usize {
    match value {
        super::walk::Value::List(list) => list.len(),
        super::walk::Value::Pairs(pairs) => 2 * pairs.len(),
        _ => 0,
    }
}
