//! The parser: tokens to nodes.
//!
//! Recursive descent with a depth limit; binary operators by precedence. An error in the source is reported, the source that
//! could not be parsed becomes an error node, and parsing continues. Only a failed allocation or a limit ends it. Every loop
//! consumes a token or ends.

mod bracket;
mod expr;
mod form;
mod function;
mod item;
mod literal;
mod pattern;
mod types;

use super::kinds::{Kind, node};
use super::token::{TokenKind, Tokens};
use crate::names::Names;
use crate::report::SyntaxError;
use crate::tree::{Full, Limits, Mark, Name, NodeId, Payload, Pile, Span, Tree};
use TokenKind as T;

/// The maximum nesting of expressions, patterns and types. Deeper nesting is an error, not a stack overflow.
pub const DEPTH: u32 = 256;

/// The maximum number of errors that the lexer and the parser each report for one source. A file that is not a program, such
/// as a picture, would have millions. Error nodes are created beyond the limit, too.
pub const ERRORS: usize = 1_000;

/// A node, or the reason why the tree cannot grow.
type Made = Result<NodeId, Full>;

/// An element of a list, with the second node of a pair.
type Element = (NodeId, Option<NodeId>);

/// The result of a parser.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The nodes.
    pub tree: Tree<Kind>,
    /// The names and texts in them.
    pub names: Names,
    /// The errors, in source order.
    pub errors: Vec<SyntaxError>,
}

/// Parses tokens into a tree.
///
/// ```
/// use phalanx_syntax::ori::{Parser, lex};
///
/// let source = b"@one () -> int = 1";
/// let (tokens, _) = lex(source)?;
/// let parsed = Parser::new(&tokens, source)?.finish()?;
/// assert!(parsed.errors.is_empty());
/// parsed.tree.validate().unwrap();
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
#[derive(Debug)]
pub struct Parser<'s> {
    source: &'s [u8],
    kinds: &'s [TokenKind],
    starts: &'s [u32],
    ends: &'s [u32],
    /// The token that comes next.
    at: usize,
    kind: TokenKind,
    tree: Tree<Kind>,
    names: Names,
    errors: Vec<SyntaxError>,
    pile: Pile,
    /// Offsets and tokens that wait as the nodes of the pile do.
    marks: Vec<u32>,
    text: String,
    depth: u32,
    /// The token after the one of the last error: there is one error for each token.
    blamed: usize,
    /// How many mistakes were noticed, noted or not: whether what was tried went well.
    faults: u32,
    /// Whether a type is only being tried, so that a mistake in it ends the attempt: nothing is passed over.
    trying: bool,
    /// Whether `Name {` is not a struct literal here.
    no_struct: bool,
    /// Whether `| "text"` is not an operator here.
    no_bar: bool,
    /// How many indices are open, in which `#` is the length.
    indices: u32,
}

/// A state of a parser to roll back to; see [`Parser::checkpoint`].
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    at: usize,
    tree: Mark,
    errors: usize,
    pile: usize,
    marks: usize,
    blamed: usize,
    faults: u32,
}

impl<'s> Parser<'s> {
    /// Creates a parser for the tokens of a source, with an estimated capacity.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Memory`] if allocation fails, and [`Full::Tokens`] if there are no tokens.
    pub fn new(tokens: &'s Tokens, source: &'s [u8]) -> Result<Parser<'s>, Full> {
        Parser::with_limits(tokens, source, Limits::default())
    }

    /// Creates a parser whose tree has these limits.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Memory`] if allocation fails, and [`Full::Tokens`] if there are no tokens.
    pub fn with_limits(tokens: &'s Tokens, source: &'s [u8], limits: Limits) -> Result<Parser<'s>, Full> {
        let lanes = tokens.columns.lanes();
        let mut tree = Tree::with_limits(limits);
        tree.reserve_estimate(source.len())?;
        let &kind = lanes.kind.first().ok_or(Full::Tokens)?;
        Ok(Parser {
            source,
            kinds: lanes.kind,
            starts: lanes.start,
            ends: lanes.end,
            at: 0,
            kind,
            tree,
            names: Names::new(),
            errors: Vec::new(),
            pile: Pile::new(),
            marks: Vec::new(),
            text: String::new(),
            depth: 0,
            blamed: 0,
            faults: 0,
            trying: false,
            no_struct: false,
            no_bar: false,
            indices: 0,
        })
    }

    /// Parses all tokens.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Nodes`], [`Full::Extra`] or [`Full::Names`] at a limit, and [`Full::Memory`] if allocation fails.
    pub fn finish(mut self) -> Result<Parsed, Full> {
        self.module()?;
        // What was complained about after more had been read is out of order.
        self.errors.sort_unstable_by_key(|error| (error.span.start, error.span.end));
        Ok(Parsed { tree: self.tree, names: self.names, errors: self.errors })
    }

    /// Returns the present state. [`rollback`](Parser::rollback) restores nodes, spans, data, `extra` and errors. Names stay,
    /// because unused names are not visible.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            at: self.at,
            tree: self.tree.mark(),
            errors: self.errors.len(),
            pile: self.pile.len(),
            marks: self.marks.len(),
            blamed: self.blamed,
            faults: self.faults,
        }
    }

    /// Restores the state of a checkpoint.
    pub fn rollback(&mut self, to: Checkpoint) {
        self.at = to.at;
        self.kind = self.kinds[to.at];
        self.tree.truncate(to.tree);
        self.errors.truncate(to.errors);
        self.pile.truncate(to.pile);
        self.marks.truncate(to.marks);
        self.blamed = to.blamed;
        self.faults = to.faults;
    }

    /// Parses one expression, for callers that control the parser themselves.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`finish`](Parser::finish).
    pub fn expression(&mut self) -> Result<NodeId, Full> {
        self.expr()
    }

    /// Returns the tree so far.
    pub fn tree(&self) -> &Tree<Kind> {
        &self.tree
    }

    /// Returns the errors so far.
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }

    // Tokens.

    /// Passes over a token; stays at the end of the file.
    #[inline]
    fn bump(&mut self) {
        if self.at + 1 < self.kinds.len() {
            self.at += 1;
            self.kind = self.kinds[self.at];
        }
    }

    #[inline]
    fn peek(&self, ahead: usize) -> TokenKind {
        self.kinds.get(self.at + ahead).copied().unwrap_or(T::Eof)
    }

    /// Whether the next token touches the one after it.
    #[inline]
    fn touches_next(&self) -> bool {
        self.starts.get(self.at + 1) == Some(&self.ends[self.at])
    }

    /// Whether the last token touches the next one.
    #[inline]
    fn touches_last(&self) -> bool {
        self.at > 0 && self.ends[self.at - 1] == self.starts[self.at]
    }

    #[inline]
    fn eat(&mut self, kind: TokenKind) -> bool {
        let is = self.kind == kind;
        if is {
            self.bump();
        }
        is
    }

    /// Passes over a token that must come here, or says that it does not.
    #[inline]
    fn expect(&mut self, kind: TokenKind) -> Result<bool, Full> {
        if self.eat(kind) {
            return Ok(true);
        }
        self.blame(kind.describe())?;
        Ok(false)
    }

    #[inline]
    fn start(&self) -> u32 {
        self.starts[self.at]
    }

    /// The end of the last token.
    #[inline]
    fn end(&self) -> u32 {
        self.at.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    #[inline]
    fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.end().max(start))
    }

    fn bytes_of(&self, token: usize) -> &'s [u8] {
        Span::new(self.starts[token], self.ends[token]).of(self.source)
    }

    /// Whether the next token is a name with this text.
    #[inline]
    fn at_word(&self, word: &str) -> bool {
        self.kind == T::Ident && self.bytes_of(self.at) == word.as_bytes()
    }

    // Errors.

    /// Notes that something else was expected here; once for each token.
    #[cold]
    fn blame(&mut self, expected: &'static str) -> Result<(), Full> {
        self.faults += 1;
        if self.blamed > self.at {
            return Ok(());
        }
        self.blamed = self.at + 1;
        // Of a token that is none the lexer has spoken.
        if self.kind == T::Unknown {
            return Ok(());
        }
        // At the end of the file the place is behind the last token, not after blank lines.
        let span = match self.kind {
            T::Eof => Span::new(self.end(), self.end()),
            _ => Span::new(self.starts[self.at], self.ends[self.at]),
        };
        self.note(SyntaxError::expected(span, expected, self.kind.describe()))
    }

    #[cold]
    fn complain(&mut self, span: Span, message: &'static str) -> Result<(), Full> {
        self.faults += 1;
        self.note(SyntaxError::plain(span, message))
    }

    fn note(&mut self, error: SyntaxError) -> Result<(), Full> {
        if self.errors.len() >= ERRORS {
            return Ok(());
        }
        self.errors.try_reserve(1).map_err(|_| Full::Memory)?;
        self.errors.push(error);
        Ok(())
    }

    /// Notes that something else was expected here, and makes a node for what is missing.
    #[cold]
    fn missing(&mut self, expected: &'static str) -> Made {
        self.blame(expected)?;
        let at = self.end().max(if self.at == 0 { 0 } else { self.end() });
        self.tree.alloc(Span::new(at, at), node::Error {})
    }

    /// One level deeper; an error node if that is too deep, with what is nested there passed over.
    #[inline]
    fn nested(&mut self, inside: impl FnOnce(&mut Self) -> Made) -> Made {
        if self.depth >= DEPTH {
            return self.too_deep();
        }
        self.depth += 1;
        let made = inside(self);
        self.depth -= 1;
        made
    }

    #[cold]
    fn too_deep(&mut self) -> Made {
        let start = self.start();
        if self.blamed <= self.at {
            self.blamed = self.at + 1;
            self.complain(Span::new(start, self.ends[self.at]), "nested too deeply")?;
        }
        self.skip();
        self.blamed = self.blamed.max(self.at + 1);
        self.make(start, node::Error {})
    }

    // Nodes.

    #[inline]
    fn make<'a, P: Payload<'a, Kind = Kind>>(&mut self, start: u32, payload: P) -> Made {
        let span = self.span_from(start);
        self.tree.alloc(span, payload)
    }

    /// A node of one token.
    #[inline]
    fn leaf<'a, P: Payload<'a, Kind = Kind>>(&mut self, payload: P) -> Made {
        let start = self.start();
        self.bump();
        self.make(start, payload)
    }

    #[inline]
    fn intern(&mut self, token: usize) -> Result<Name, Full> {
        // Names are ASCII; the lexer made sure of it.
        let bytes = self.bytes_of(token);
        self.names.intern(core::str::from_utf8(bytes).unwrap_or_default())
    }

    /// The next token as a name; says so if it is none.
    #[inline]
    fn name(&mut self) -> Result<Name, Full> {
        if self.kind.is_name() {
            let name = self.intern(self.at);
            self.bump();
            return name;
        }
        self.blame("a name")?;
        self.names.intern("")
    }

    /// The next token as a name where every keyword is one.
    fn member_name(&mut self) -> Result<Name, Full> {
        if self.kind.is_member() {
            let name = self.intern(self.at);
            self.bump();
            return name;
        }
        self.blame("a name")?;
        self.names.intern("")
    }

    // Lists and recovery.

    /// Elements with commas between them, up to a closing bracket, which is passed over; trailing commas are allowed.
    ///
    /// The elements are on the pile, above the height that is returned. An element that ends in neither a comma nor the
    /// bracket is an error, and everything up to one of them is passed over.
    #[inline]
    fn list(&mut self, close: TokenKind, element: fn(&mut Self) -> Made) -> Result<usize, Full> {
        self.elements(close, |parser| element(parser).map(|made| (made, None)), |pile, (made, _)| pile.push(made))
    }

    /// Pairs with commas between them, like [`list`](Self::list). What could not be parsed is a pair without a second node.
    fn pairs(
        &mut self,
        close: TokenKind,
        pair: fn(&mut Self) -> Result<(NodeId, NodeId), Full>,
    ) -> Result<usize, Full> {
        let made = |parser: &mut Self| pair(parser).map(|(first, second)| (first, Some(second)));
        self.elements(close, made, |pile, (first, second)| pile.push_pair(first, second))
    }

    #[inline]
    fn elements(
        &mut self,
        close: TokenKind,
        element: impl Fn(&mut Self) -> Result<Element, Full>,
        push: fn(&mut Pile, Element) -> Result<(), Full>,
    ) -> Result<usize, Full> {
        let mark = self.pile.len();
        let outside = (self.no_struct, self.no_bar);
        (self.no_struct, self.no_bar) = (false, false);
        while self.kind != close && self.kind != T::Eof {
            let made = element(self)?;
            push(&mut self.pile, made)?;
            if self.kind == T::Comma {
                self.bump();
            } else if self.kind != close && !self.recover(close, push)? {
                break;
            }
        }
        self.expect(close)?;
        (self.no_struct, self.no_bar) = outside;
        Ok(mark)
    }

    /// Says that a comma or a bracket was expected, and passes over everything before one. Whether the list goes on.
    #[cold]
    fn recover(&mut self, close: TokenKind, push: fn(&mut Pile, Element) -> Result<(), Full>) -> Result<bool, Full> {
        self.blame(match close {
            T::RParen => "`,` or `)`",
            T::RBracket => "`,` or `]`",
            T::RBrace => "`,` or `}`",
            _ => "`,` or `>`",
        })?;
        let (before, start) = (self.at, self.start());
        self.skip();
        if self.at > before {
            let made = self.make(start, node::Error {})?;
            push(&mut self.pile, (made, None))?;
        }
        Ok(self.eat(T::Comma) || self.kind == close)
    }

    /// Passes over tokens up to a comma or a bracket that closes what was open before, or to where an item starts.
    fn skip(&mut self) {
        let mut open = 0u32;
        while !self.trying {
            match self.kind {
                T::Eof => return,
                T::Comma if open == 0 => return,
                T::LParen | T::LBracket | T::LBrace | T::TemplateHead => open += 1,
                T::RParen | T::RBracket | T::RBrace | T::TemplateTail => match open.checked_sub(1) {
                    Some(less) => open = less,
                    None => return,
                },
                T::TemplateMiddle if open == 0 => return,
                _ if self.starts_item() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether an item starts here, as far as its line tells: nothing stands before it, not even space, unless it is
    /// clearly a function.
    fn starts_item(&self) -> bool {
        let line = match self.kind {
            T::At if self.peek(1).is_name() => {
                matches!(self.peek(2), T::LParen | T::Less | T::Tests)
            }
            T::Hash | T::Dollar | T::Let | T::Type | T::Trait | T::Impl | T::Def | T::Extend => false,
            T::Extension | T::Use | T::Pub | T::Extern | T::Capset | T::At => false,
            _ => return false,
        };
        let before = &self.source[..self.start() as usize];
        let start = before.iter().rposition(|&byte| byte != b' ' && byte != b'\t').map_or(0, |at| at + 1);
        let first = start == 0 || before[start - 1] == b'\n';
        first && (line || start == before.len())
    }

    /// Forgets the nodes of the pile that have found their parent.
    #[inline]
    fn drop_pile(&mut self, mark: usize, made: Made) -> Made {
        self.pile.truncate(mark);
        made
    }
}
