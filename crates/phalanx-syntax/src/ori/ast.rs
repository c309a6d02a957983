//! [`Ast`]: everything known about one source.

use super::kinds::Kind;
use super::lex::lex;
use super::parse::{Parsed, Parser};
use super::token::Tokens;
use crate::names::Names;
use crate::report::SyntaxError;
use crate::tree::{Full, Name, Span, Texts, TokenId, Tree};

/// A parsed source.
#[derive(Clone, Debug)]
pub struct Ast<'s> {
    /// The source.
    pub source: &'s [u8],
    /// Its tokens and comments.
    pub tokens: Tokens,
    /// Its nodes; the root is a [`Kind::Module`].
    pub tree: Tree<Kind>,
    /// The names and texts in it.
    pub names: Names,
    /// The errors in it, in source order.
    pub errors: Vec<SyntaxError>,
}

/// Parses a source, which may be any bytes.
///
/// ```
/// use phalanx_syntax::ori::{Kind, parse};
///
/// let ast = parse(b"@broken () -> int = (1 +, 2)\n\n@sound () -> int = 3")?;
/// assert_eq!(ast.errors.len(), 1);
/// assert_eq!(ast.tree.count_kind(Kind::Function), 2);
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
///
/// # Errors
///
/// Returns [`Full::Source`] if the source has 4 GiB or more, [`Full::Memory`] if allocation fails, and another [`Full`] at the
/// limits of nodes, words or names. Errors *in* the source are in [`Ast::errors`].
pub fn parse(source: &[u8]) -> Result<Ast<'_>, Full> {
    let (tokens, lexed) = lex(source)?;
    let Parsed { tree, names, mut errors } = Parser::new(&tokens, source)?.finish()?;
    errors.try_reserve(lexed.len() + 1).map_err(|_| Full::Memory)?;
    errors.extend(lexed);
    if let Err(error) = core::str::from_utf8(source) {
        // The lexer reported it in literals and between tokens, but not in comments.
        let at = error.valid_up_to() as u32;
        if !errors.iter().any(|error| error.span.contains(at)) {
            errors.push(SyntaxError::plain(Span::new(at, at + 1), "this is not UTF-8"));
        }
    }
    errors.sort_unstable_by_key(|error| (error.span.start, error.span.end));
    Ok(Ast { source, tokens, tree, names, errors })
}

impl Texts for Ast<'_> {
    fn name(&self, name: Name) -> &str {
        self.names.get(name).unwrap_or_default()
    }

    fn token(&self, token: TokenId) -> &[u8] {
        self.tokens.span(token).of(self.source)
    }
}

impl Ast<'_> {
    /// Returns `true` if two programs are equal except for layout and comments.
    pub fn equals(&self, other: &Ast<'_>) -> bool {
        self.tree.equals(self, &other.tree, other)
    }
}
