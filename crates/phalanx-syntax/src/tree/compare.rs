//! Whether two trees say the same.

use super::kind::Kind;
use super::walk::Value;
use super::{Name, NodeId, TokenId, Tree};

/// Looks up the texts of a tree's names and tokens.
pub trait Texts {
    /// Returns the text of a name.
    fn name(&self, name: Name) -> &str;
    /// Returns the bytes of a token.
    fn token(&self, token: TokenId) -> &[u8];
}

/// For trees without names and tokens.
impl Texts for () {
    fn name(&self, _: Name) -> &str {
        ""
    }

    fn token(&self, _: TokenId) -> &[u8] {
        b""
    }
}

impl<K: Kind> Tree<K> {
    /// Returns the first pair of nodes, in source order, in which two trees differ, or `None` if they are equal.
    ///
    /// Kinds, texts and values are compared, spans are not. `NaN` equals itself.
    pub fn first_difference(
        &self,
        texts: &impl Texts,
        other: &Tree<K>,
        other_texts: &impl Texts,
    ) -> Option<(NodeId, NodeId)> {
        match (self.is_empty(), other.is_empty()) {
            (true, true) => return None,
            (false, false) => {}
            _ => return Some((NodeId::ROOT, NodeId::ROOT)),
        }
        let mut stack = vec![(NodeId::ROOT, NodeId::ROOT)];
        // No more nodes can be met than there are.
        for _ in 0..self.len() {
            let Some((a, b)) = stack.pop() else { break };
            if self.kind(a) != other.kind(b) || !self.fields_alike(a, texts, other, b, other_texts) {
                return Some((a, b));
            }
            let mark = stack.len();
            stack.extend(self.children(a).zip(other.children(b)));
            stack[mark..].reverse();
        }
        stack.pop()
    }

    /// Returns `true` if two trees are equal except for spans; see [`first_difference`](Tree::first_difference).
    pub fn equals(&self, texts: &impl Texts, other: &Tree<K>, other_texts: &impl Texts) -> bool {
        self.first_difference(texts, other, other_texts).is_none()
    }

    /// Whether two nodes of one kind have the same fields, and as many children in each.
    fn fields_alike(
        &self,
        a: NodeId,
        texts: &impl Texts,
        other: &Tree<K>,
        b: NodeId,
        other_texts: &impl Texts,
    ) -> bool {
        self.fields(a).zip(other.fields(b)).all(|((_, a), (_, b))| match (a, b) {
            (Ok(Value::Node(a)), Ok(Value::Node(b))) => a.is_some() == b.is_some(),
            (Ok(Value::List(a)), Ok(Value::List(b))) => a.len() == b.len(),
            (Ok(Value::Pairs(a)), Ok(Value::Pairs(b))) => {
                a.iter().map(|(_, second)| second.is_some()).eq(b.iter().map(|(_, second)| second.is_some()))
            }
            (Ok(Value::Token(a)), Ok(Value::Token(b))) => texts.token(a) == other_texts.token(b),
            (Ok(Value::Name(a)), Ok(Value::Name(b))) => {
                a.map(|name| texts.name(name)) == b.map(|name| other_texts.name(name))
            }
            (Ok(Value::Real(a)), Ok(Value::Real(b))) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        })
    }
}
