//! [`Tree`]: the columns.

use super::kind::{Kind, Payload};
use super::{Full, Malformed, NodeId, Span};
use phalanx_store::Soa;

/// Two words, whose meaning follows from the kind.
pub(crate) type Words = [u32; 2];

/// One node, as it is pushed. In the tree its three parts lie in three columns.
#[derive(Clone, Copy, Debug, Soa)]
pub(crate) struct Row<K: Copy> {
    pub(crate) kind: K,
    pub(crate) span: Span,
    pub(crate) data: Words,
}

/// The bytes of one node: 1 of kind, 8 of span, 8 of data.
pub const BYTES_PER_NODE: usize = size_of::<u8>() + size_of::<Span>() + size_of::<Words>();
const _: () = assert!(BYTES_PER_NODE == 17);

/// The maximum size of a tree. Indices have 32 bits; tests use fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of nodes.
    pub nodes: u32,
    /// The maximum number of words in `extra`.
    pub extra: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: NodeId::LIMIT, extra: u32::MAX }
    }
}

/// What does not fit the two words of a node: lists, and the fields of kinds that have many.
#[derive(Clone, Debug)]
pub struct Extra {
    pub(crate) words: Vec<u32>,
    limit: u32,
}

impl Extra {
    /// Reserves capacity for `need` words. Returns the position of the first.
    #[inline]
    pub(crate) fn make_room(&mut self, need: usize) -> Result<u32, Full> {
        let start = self.words.len();
        if need > self.limit as usize - start {
            return Err(Full::Extra);
        }
        if need > self.words.capacity() - start {
            self.words.try_reserve(need).map_err(|_| Full::Memory)?;
        }
        Ok(start as u32)
    }

    /// Appends a word, for which capacity is reserved.
    #[inline]
    pub(crate) fn put(&mut self, word: u32) {
        self.words.push(word);
    }

    #[inline]
    pub(crate) fn put_all(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }
}

/// A syntax tree: nodes of the kinds `K` in three columns.
///
/// A node takes [`BYTES_PER_NODE`] bytes: its kind, its [`Span`], and two words that are read as the table of kinds
/// ([`kinds!`](crate::kinds)) says. Further words are in `extra`. Nodes are created from the leaves up with
/// [`alloc`](Tree::alloc). A node that must come before its children is [reserved](Tree::reserve) and
/// [set](Tree::set) later. By convention the root is [`NodeId::ROOT`].
///
/// Neither walks nor the destructor are recursive, so the depth of a tree is not limited.
///
/// ```
/// use phalanx_syntax::ori::{Kind, View, node};
/// use phalanx_syntax::{Span, Tree};
///
/// let mut tree = Tree::new();
/// let left = tree.alloc(Span::new(0, 2), node::IntLit { value: 42 })?;
/// let right = tree.alloc(Span::new(5, 6), node::IntLit { value: 3 })?;
/// let sum = tree.alloc(Span::new(0, 6), node::BinAdd { left, right })?;
/// assert_eq!(View::of(&tree, sum)?, View::BinAdd(node::BinAdd { left, right }));
/// assert_eq!(tree.find_by_kind(Kind::IntLit).collect::<Vec<_>>(), [left, right]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tree<K: Kind> {
    pub(crate) nodes: Soa<Row<K>>,
    pub(crate) extra: Extra,
    limit: u32,
}

/// The size of a tree at some moment; see [`Tree::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    nodes: usize,
    extra: usize,
}

impl<K: Kind> Tree<K> {
    /// Creates an empty tree.
    pub fn new() -> Tree<K> {
        Tree::with_limits(Limits::default())
    }

    /// Creates an empty tree with these limits.
    pub fn with_limits(limits: Limits) -> Tree<K> {
        Tree { nodes: Soa::new(), extra: Extra { words: Vec::new(), limit: limits.extra }, limit: limits.nodes }
    }

    /// Creates a tree with capacity for a source of this many bytes.
    ///
    /// The ratios were measured on 488 programs of the language of [`ori`](crate::ori), 1.8 MB: see
    /// [`Tree::estimate`].
    ///
    /// # Errors
    ///
    /// Returns [`Full::Memory`] if allocation fails.
    pub fn with_estimated_capacity(source: usize) -> Result<Tree<K>, Full> {
        let mut tree = Tree::new();
        tree.reserve_estimate(source)?;
        Ok(tree)
    }

    /// Returns how many nodes and words of `extra` a source of this many bytes is likely to need.
    ///
    /// This is somewhat more than the measured node for every 10.4 bytes and word for every 16.1.
    pub const fn estimate(source: usize) -> (usize, usize) {
        (source / 8, source / 12)
    }

    pub(crate) fn reserve_estimate(&mut self, source: usize) -> Result<(), Full> {
        let (nodes, extra) = Tree::<K>::estimate(source);
        self.nodes.try_reserve_exact(nodes.min(self.limit as usize)).map_err(|_| Full::Memory)?;
        self.extra.words.try_reserve_exact(extra.min(self.extra.limit as usize)).map_err(|_| Full::Memory)
    }

    #[inline]
    pub(crate) fn push(&mut self, row: Row<K>) -> Result<NodeId, Full> {
        let len = self.nodes.len();
        if len >= self.limit as usize {
            return Err(Full::Nodes);
        }
        if len == self.nodes.capacity() {
            self.nodes.try_reserve(1).map_err(|_| Full::Memory)?;
        }
        self.nodes.push(row);
        NodeId::from_word(len as u32 + 1).ok_or(Full::Nodes)
    }

    /// Creates a node.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Nodes`] or [`Full::Extra`] at a limit, and [`Full::Memory`] if allocation fails. The tree is
    /// unchanged.
    #[inline]
    pub fn alloc<'a, P: Payload<'a, Kind = K>>(&mut self, span: Span, payload: P) -> Result<NodeId, Full> {
        let mark = self.extra.words.len();
        let data = payload.encode(&mut self.extra)?;
        let made = self.push(Row { kind: P::KIND, span, data });
        if made.is_err() {
            self.extra.words.truncate(mark);
        }
        made
    }

    /// Creates a node of `kind` with the payload of another kind that has the same fields, such as another operator.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`alloc`](Tree::alloc).
    ///
    /// # Panics
    ///
    /// If the two kinds do not have the same fields.
    #[inline]
    pub fn alloc_as<'a, P: Payload<'a, Kind = K>>(&mut self, kind: K, span: Span, payload: P) -> Result<NodeId, Full> {
        assert!(alike(kind, P::KIND), "the kinds have different fields");
        let mark = self.extra.words.len();
        let data = payload.encode(&mut self.extra)?;
        let made = self.push(Row { kind, span, data });
        if made.is_err() {
            self.extra.words.truncate(mark);
        }
        made
    }

    /// Creates a node without content. Its kind is [`Kind::RESERVED`] until [`set`](Tree::set) changes it.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Nodes`] at the limit, and [`Full::Memory`] if allocation fails.
    pub fn reserve(&mut self) -> Result<NodeId, Full> {
        self.push(Row { kind: K::RESERVED, span: Span::DUMMY, data: [0; 2] })
    }

    /// Sets the content of a node, of any kind.
    ///
    /// Words of `extra` that the node had before stay there, unused.
    ///
    /// # Errors
    ///
    /// Returns [`Full::NoSuchNode`] if the node is not in the tree, [`Full::Extra`] at the limit, and [`Full::Memory`] if
    /// allocation fails. The tree is unchanged.
    pub fn set<'a, P: Payload<'a, Kind = K>>(&mut self, id: NodeId, span: Span, payload: P) -> Result<(), Full> {
        if id.index() >= self.len() {
            return Err(Full::NoSuchNode);
        }
        let data = payload.encode(&mut self.extra)?;
        let lanes = self.nodes.lanes_mut();
        lanes.kind[id.index()] = P::KIND;
        lanes.span[id.index()] = span;
        lanes.data[id.index()] = data;
        Ok(())
    }

    /// Removes a reserved node if it is the last one, and makes it an error node otherwise.
    ///
    /// Returns `true` if it was reserved. A node with content is unchanged.
    pub fn unreserve(&mut self, id: NodeId) -> bool {
        if self.get_kind(id) != Some(K::RESERVED) {
            return false;
        }
        if id.index() + 1 == self.len() {
            self.nodes.truncate(id.index());
        } else {
            self.nodes.lanes_mut().kind[id.index()] = K::ERROR;
        }
        true
    }

    /// Changes the kind of a node to one with the same fields. Returns `true` if that was possible.
    ///
    /// For facts that a parser learns late, such as that a name was a parameter.
    pub fn retag(&mut self, id: NodeId, kind: K) -> bool {
        let Some(old) = self.get_kind(id) else { return false };
        if alike(old, kind) && old != K::RESERVED && kind != K::RESERVED {
            self.nodes.lanes_mut().kind[id.index()] = kind;
            return true;
        }
        false
    }

    /// Sets the span of a node, for a parser that finds more of it later.
    pub fn set_span(&mut self, id: NodeId, span: Span) {
        if let Some(old) = self.nodes.lanes_mut().span.get_mut(id.index()) {
            *old = span;
        }
    }

    /// Returns the present size, for [`truncate`](Tree::truncate).
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { nodes: self.len(), extra: self.extra.words.len() }
    }

    /// Removes all nodes, and all of `extra`, that were created since a mark. A larger mark changes nothing.
    ///
    /// A node that was reserved before the mark and set after it keeps its content, which
    /// [`validate`](Tree::validate) then finds cut off.
    pub fn truncate(&mut self, mark: Mark) {
        self.nodes.truncate(mark.nodes);
        self.extra.words.truncate(mark.extra);
    }

    /// Returns the number of nodes.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns `true` if there are no nodes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the capacity in nodes.
    pub fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    /// Returns the number of words in `extra`.
    pub fn extra_len(&self) -> usize {
        self.extra.words.len()
    }

    /// Returns the bytes of nodes and `extra`, without spare capacity.
    pub fn bytes(&self) -> usize {
        self.len() * BYTES_PER_NODE + self.extra_len() * size_of::<u32>()
    }

    /// Returns an iterator over all nodes, in order of creation.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<K> {
        (0..self.len() as u32).map(|index| NodeId::new(index).unwrap_or(NodeId::ROOT))
    }

    /// Returns the kinds of all nodes: a column of bytes.
    #[inline]
    pub fn kinds(&self) -> &[K] {
        self.nodes.lanes().kind
    }

    /// Returns the spans of all nodes.
    #[inline]
    pub fn spans(&self) -> &[Span] {
        self.nodes.lanes().span
    }

    /// Returns the words of all nodes.
    #[inline]
    pub fn data(&self) -> &[[u32; 2]] {
        self.nodes.lanes().data
    }

    /// Returns the words of `extra`.
    #[inline]
    pub fn extra(&self) -> &[u32] {
        &self.extra.words
    }

    /// Returns the kind of a node.
    ///
    /// # Panics
    ///
    /// If the node is not in this tree.
    #[inline]
    pub fn kind(&self, id: NodeId) -> K {
        self.kinds()[id.index()]
    }

    /// Returns the kind of a node, or `None` if it is not in this tree.
    #[inline]
    pub fn get_kind(&self, id: NodeId) -> Option<K> {
        self.kinds().get(id.index()).copied()
    }

    /// Returns the span of a node.
    ///
    /// # Panics
    ///
    /// If the node is not in this tree.
    #[inline]
    pub fn span(&self, id: NodeId) -> Span {
        self.spans()[id.index()]
    }

    /// Returns the content of a node whose kind is known. The view of [`kinds!`](crate::kinds) reads nodes of any kind.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed::NoSuchNode`] if the node is not in the tree, [`Malformed::OtherKind`] if it is of another kind,
    /// [`Malformed::Reserved`] if it was never set, and [`Malformed::OutsideExtra`] or [`Malformed::Word`] if its words are
    /// invalid.
    #[inline]
    pub fn payload<'t, P: Payload<'t, Kind = K>>(&'t self, id: NodeId) -> Result<P, Malformed> {
        let kind = self.get_kind(id).ok_or(Malformed::NoSuchNode)?;
        if kind != P::KIND {
            return Err(if kind == K::RESERVED { Malformed::Reserved } else { Malformed::OtherKind });
        }
        P::decode(self.data()[id.index()], self.extra(), self.len())
    }

    /// Returns the number of nodes of a kind. Reads one byte a node.
    #[inline]
    pub fn count_kind(&self, kind: K) -> usize {
        // In chunks whose count fits a byte, and of whole vectors: the compiler needs nothing more to make vector code.
        let wanted = kind.index();
        let count = |chunk: &[K]| chunk.iter().fold(0u8, |sum, it| sum + u8::from(it.index() == wanted));
        self.kinds().chunks(224).map(|chunk| usize::from(count(chunk))).sum()
    }

    /// Returns an iterator over the nodes of a kind, in order of creation. Reads one byte a node.
    pub fn find_by_kind(&self, kind: K) -> impl Iterator<Item = NodeId> + '_ {
        let found = self.kinds().iter().zip(self.ids());
        found.filter(move |&(&it, _)| it == kind).map(|(_, id)| id)
    }

    /// Creates a tree from columns, with the kinds as bytes.
    ///
    /// Only the columns are checked. Call [`validate`](Tree::validate) to check the nodes. Until then decoding returns errors
    /// where words are invalid, and walks end.
    ///
    /// # Errors
    ///
    /// Returns [`ColumnsError::Lengths`] if the columns differ in length, [`ColumnsError::NoSuchKind`] if a byte is not a
    /// kind, and [`ColumnsError::Full`] if the columns are too long or allocation fails.
    pub fn from_columns(
        kinds: &[u8],
        spans: &[Span],
        data: &[[u32; 2]],
        extra: &[u32],
    ) -> Result<Tree<K>, ColumnsError> {
        if kinds.len() != spans.len() || kinds.len() != data.len() {
            return Err(ColumnsError::Lengths);
        }
        let mut tree = Tree::new();
        tree.nodes.try_reserve_exact(kinds.len()).map_err(|_| Full::Memory)?;
        for ((&kind, &span), &data) in kinds.iter().zip(spans).zip(data) {
            let kind = K::from_index(kind).ok_or(ColumnsError::NoSuchKind(kind))?;
            tree.push(Row { kind, span, data })?;
        }
        tree.extra.make_room(extra.len())?;
        tree.extra.put_all(extra);
        Ok(tree)
    }
}

/// Whether nodes of two kinds have the same words.
#[inline]
fn alike<K: Kind>(a: K, b: K) -> bool {
    let (a, b) = (a.layout().fields, b.layout().fields);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.shape == b.shape)
}

/// The reason why columns do not make a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// The columns are not equally long.
    Lengths,
    /// A byte is not a kind of the language.
    NoSuchKind(u8),
    /// They are too long, or allocation failed.
    Full(Full),
}

impl From<Full> for ColumnsError {
    fn from(full: Full) -> ColumnsError {
        ColumnsError::Full(full)
    }
}

impl core::fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ColumnsError::Lengths => f.write_str("the columns are not equally long"),
            ColumnsError::NoSuchKind(byte) => write!(f, "{byte} is not a kind of the language"),
            ColumnsError::Full(full) => full.fmt(f),
        }
    }
}

impl core::error::Error for ColumnsError {}

impl<K: Kind> Default for Tree<K> {
    fn default() -> Tree<K> {
        Tree::new()
    }
}

impl<K: Kind> core::fmt::Debug for Tree<K> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tree").field("nodes", &self.len()).field("extra", &self.extra_len()).finish()
    }
}
