//! From a node to its children, and through the whole tree. Nothing here recurses.

use super::field::{Shape, is_node};
use super::kind::{Decoder, FieldInfo, Kind};
use super::{Malformed, Name, NodeId, Span, TokenId, Tree};
use core::slice;

/// The value of one field of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'t> {
    /// A child, or none where the kind allows it.
    Node(Option<NodeId>),
    /// Children.
    List(super::List<'t>),
    /// Pairs of children.
    Pairs(super::Pairs<'t>),
    /// A token.
    Token(TokenId),
    /// A text, or none where the kind allows it.
    Name(Option<Name>),
    /// A number.
    Word(u32),
    /// A character.
    Char(char),
    /// A number of 64 bits.
    Wide(u64),
    /// A floating-point number.
    Real(f64),
}

/// The fields of a node; see [`Tree::fields`].
#[derive(Clone, Debug)]
pub struct Fields<'t> {
    infos: slice::Iter<'static, FieldInfo>,
    decoder: Option<Decoder<'t>>,
    nodes: usize,
}

impl<'t> Fields<'t> {
    fn read(&mut self, shape: Shape) -> Result<Value<'t>, Malformed> {
        let nodes = self.nodes;
        let decoder = self.decoder.as_mut().ok_or(Malformed::OutsideExtra)?;
        Ok(match shape {
            Shape::Node => Value::Node(Some(decoder.field(nodes)?)),
            Shape::OptNode => Value::Node(decoder.field(nodes)?),
            Shape::List => Value::List(decoder.field(nodes)?),
            Shape::Pairs => Value::Pairs(decoder.field(nodes)?),
            Shape::Token => Value::Token(decoder.field(nodes)?),
            Shape::Name => Value::Name(Some(decoder.field(nodes)?)),
            Shape::OptName => Value::Name(decoder.field(nodes)?),
            Shape::Word => Value::Word(decoder.field(nodes)?),
            Shape::Char => Value::Char(decoder.field(nodes)?),
            Shape::Wide => Value::Wide(decoder.field(nodes)?),
            Shape::Real => Value::Real(decoder.field(nodes)?),
        })
    }
}

impl<'t> Iterator for Fields<'t> {
    type Item = (&'static FieldInfo, Result<Value<'t>, Malformed>);

    fn next(&mut self) -> Option<Self::Item> {
        let info = self.infos.next()?;
        Some((info, self.read(info.shape)))
    }
}

/// The children of a node in source order; see [`Tree::children`].
#[derive(Clone, Debug)]
pub struct Children<'t> {
    infos: slice::Iter<'static, FieldInfo>,
    decoder: Option<Decoder<'t>>,
    list: slice::Iter<'t, u32>,
    nodes: usize,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        loop {
            for &word in self.list.by_ref() {
                if is_node(word, self.nodes) {
                    return NodeId::from_word(word);
                }
            }
            let decoder = self.decoder.as_mut()?;
            match self.infos.next()?.shape {
                Shape::List | Shape::Pairs => self.list = decoder.list().unwrap_or_default().iter(),
                shape @ (Shape::Node | Shape::OptNode) => {
                    let word = decoder.words(shape)[0];
                    if is_node(word, self.nodes) {
                        return NodeId::from_word(word);
                    }
                }
                other => {
                    decoder.words(other);
                }
            }
        }
    }
}

/// A step of a [`Walk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node is entered, before its children.
    Enter(NodeId),
    /// A node is left, after its children.
    Leave(NodeId),
}

/// Every node under one, each entered and left; see [`Tree::walk`].
#[derive(Clone, Debug)]
pub struct Walk<'t, K: Kind> {
    tree: &'t Tree<K>,
    stack: Vec<Event>,
    /// How many nodes may still be met: in a tree no more than there are, and so a walk over nonsense ends.
    left: usize,
}

impl<K: Kind> Walk<'_, K> {
    /// Skips the children of the node just entered.
    pub fn skip_children(&mut self) {
        while let Some(Event::Enter(_)) = self.stack.last() {
            self.stack.pop();
        }
    }

    /// Returns the number of nodes that were entered and not left.
    pub fn depth(&self) -> usize {
        self.stack.iter().filter(|event| matches!(event, Event::Leave(_))).count()
    }
}

impl<K: Kind> Iterator for Walk<'_, K> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let event = self.stack.pop()?;
        if let Event::Enter(id) = event {
            self.left = self.left.checked_sub(1)?;
            self.stack.push(Event::Leave(id));
            let mark = self.stack.len();
            self.stack.extend(self.tree.children(id).map(Event::Enter));
            self.stack[mark..].reverse();
        }
        Some(event)
    }
}

/// The parent of every node; see [`Tree::parents`].
#[derive(Clone, Debug)]
pub struct Parents(Vec<Option<NodeId>>);

impl Parents {
    /// Returns the parent of a node, or `None` for the root and for unreferenced nodes.
    pub fn of(&self, id: NodeId) -> Option<NodeId> {
        self.0.get(id.index()).copied().flatten()
    }

    /// Returns an iterator over the parent, its parent, and so on up to the root.
    pub fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        core::iter::successors(self.of(id), |&id| self.of(id)).take(self.0.len())
    }
}

/// Receives nodes from [`Tree::visit_all`] and [`Tree::visit_children`].
pub trait Visitor<K: Kind> {
    /// Visits a node.
    fn visit(&mut self, tree: &Tree<K>, id: NodeId);
}

impl<K: Kind, F: FnMut(&Tree<K>, NodeId)> Visitor<K> for F {
    fn visit(&mut self, tree: &Tree<K>, id: NodeId) {
        self(tree, id);
    }
}

impl<K: Kind> Tree<K> {
    /// Returns an iterator over the fields of a node, with their names. A node that is not in the tree, or is reserved, has
    /// none.
    pub fn fields(&self, id: NodeId) -> Fields<'_> {
        let layout = self.get_kind(id).map(Kind::layout);
        let decoder = layout.and_then(|layout| Decoder::new(layout, self.data()[id.index()], self.extra()).ok());
        Fields { infos: layout.map_or(&[][..], |layout| layout.fields).iter(), decoder, nodes: self.len() }
    }

    /// Returns an iterator over the children of a node, in source order.
    ///
    /// The table of kinds says which words are children, so no kind can be forgotten.
    #[inline]
    pub fn children(&self, id: NodeId) -> Children<'_> {
        let layout = self.get_kind(id).map(Kind::layout);
        let decoder = layout.and_then(|layout| Decoder::new(layout, self.data()[id.index()], self.extra()).ok());
        Children {
            infos: layout.map_or(&[][..], |layout| layout.fields).iter(),
            decoder,
            list: Default::default(),
            nodes: self.len(),
        }
    }

    /// Returns an iterator that enters and leaves `root` and every node under it, in source order.
    pub fn walk(&self, root: NodeId) -> Walk<'_, K> {
        let stack = if root.index() < self.len() { vec![Event::Enter(root)] } else { Vec::new() };
        Walk { tree: self, stack, left: self.len() }
    }

    /// Returns an iterator over `root` and every node under it, each before its children.
    ///
    /// ```
    /// use phalanx_syntax::NodeId;
    /// use phalanx_syntax::ori::{Kind, parse};
    ///
    /// let ast = parse(b"$n = 1 + 2")?;
    /// let kinds: Vec<Kind> = ast.tree.preorder(NodeId::ROOT).map(|id| ast.tree.kind(id)).collect();
    /// assert_eq!(kinds, [Kind::Module, Kind::ConfigDef, Kind::BinAdd, Kind::IntLit, Kind::IntLit]);
    /// # Ok::<(), phalanx_syntax::Full>(())
    /// ```
    pub fn preorder(&self, root: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.walk(root).filter_map(|event| match event {
            Event::Enter(id) => Some(id),
            Event::Leave(_) => None,
        })
    }

    /// Returns an iterator over `root` and every node under it, each after its children.
    pub fn postorder(&self, root: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.walk(root).filter_map(|event| match event {
            Event::Leave(id) => Some(id),
            Event::Enter(_) => None,
        })
    }

    /// Returns the parent of every node. Takes one pass and four bytes a node.
    pub fn parents(&self) -> Parents {
        let mut parents = vec![None; self.len()];
        for id in self.ids() {
            for child in self.children(id) {
                parents[child.index()] = Some(id);
            }
        }
        Parents(parents)
    }

    /// Calls a visitor with every node, in order of creation.
    pub fn visit_all(&self, visitor: &mut impl Visitor<K>) {
        self.ids().for_each(|id| visitor.visit(self, id));
    }

    /// Calls a visitor with the children of a node.
    pub fn visit_children(&self, id: NodeId, visitor: &mut impl Visitor<K>) {
        self.children(id).for_each(|child| visitor.visit(self, child));
    }

    /// Returns the innermost node under the root whose span contains the byte at `offset`.
    pub fn node_at(&self, offset: u32) -> Option<NodeId> {
        let holds = |&id: &NodeId| self.spans().get(id.index()).is_some_and(|span: &Span| span.contains(offset));
        let mut at = Some(NodeId::ROOT).filter(holds)?;
        // No path in a tree is longer than it has nodes.
        for _ in 0..self.len() {
            match self.children(at).find(holds) {
                Some(child) => at = child,
                None => break,
            }
        }
        Some(at)
    }
}
