//! Whether a space stands between two tokens.

use super::super::token::TokenKind;
use super::Unit;
use super::role::{APART, OPERATOR, SECOND, TIGHT};
use TokenKind as T;

/// Always with a space on both sides.
fn spaced(kind: TokenKind) -> bool {
    matches!(
        kind,
        T::Eq
            | T::EqEq
            | T::FatArrow
            | T::Arrow
            | T::QuestionQuestion
            | T::BangEq
            | T::Plus
            | T::Star
            | T::Slash
            | T::Percent
            | T::And
            | T::AndAnd
            | T::Or
            | T::OrOr
            | T::Caret
            | T::LessEq
            | T::Shl
    )
}

/// Returns `true` for a word that is neither a name nor a value.
fn keyword(kind: TokenKind) -> bool {
    (T::As..=T::Yield).contains(&kind) && !matches!(kind, T::SelfValue | T::SelfType | T::True | T::False | T::Void)
}

/// Whether a space stands before the unit at `index`, which is not the first.
pub(super) fn between(units: &[Unit], index: usize) -> bool {
    let (a, b) = (units[index - 1], units[index]);
    let before = index.checked_sub(2).map(|at| units[at].kind);
    let after = units.get(index + 1).map(|unit| unit.kind);
    // A keyword after a dot, a sign or an at is a name.
    let named = matches!(before, Some(T::Dot | T::Hash | T::HashBang | T::At | T::Dollar));
    match (a.kind, b.kind) {
        // Together they would be another token.
        (T::Question, T::Question) => true,
        (T::Int, T::Dot) if after == Some(T::Int) && before != Some(T::Dot) => true,
        (_, T::Comma | T::Semicolon | T::Question | T::Dot | T::RParen | T::RBracket | T::Colon) => false,
        (T::LBrace, T::RBrace) | (T::LParen | T::LBracket, _) => false,
        (_, T::RBrace) => b.role & TIGHT == 0,
        (T::LBrace, _) => a.role & TIGHT == 0,
        (T::At, _) => a.role & OPERATOR != 0,
        (T::Dot | T::Dollar | T::HashBang | T::ColonColon | T::Ellipsis | T::Tilde | T::Bang, _) => false,
        (T::Hash, next) if next.is_member() || next == T::LBracket => false,
        _ if b.role & SECOND != 0 => false,
        _ if (a.role | b.role) & OPERATOR != 0 => true,
        (a, b) if spaced(a) || spaced(b) => true,
        (T::Comma | T::Semicolon, _) => true,
        (T::Minus | T::Less, _) | (_, T::Less | T::Greater) => false,
        (T::Colon, next) => {
            let label = matches!(before, Some(T::For | T::Loop | T::Break | T::Continue));
            !(label && next.is_name())
        }
        (a, T::DotDot | T::DotDotEq) => keyword(a) && !named,
        (T::DotDot | T::DotDotEq, b) => keyword(b),
        (T::For, T::LParen) => !named && !is_form(units, index),
        (T::Greater, T::LParen) => b.role & APART != 0,
        (T::Match | T::Loop | T::Unsafe | T::With, T::LParen) => false,
        (a, T::LParen) => b.role & APART != 0 || !(ends_operand(a) || named && keyword(a)),
        (a, T::LBracket) => !(ends_operand(a) || named && keyword(a)),
        _ => true,
    }
}

/// Whether a call or an index can follow at once.
fn ends_operand(kind: TokenKind) -> bool {
    kind.is_name()
        || matches!(
            kind,
            T::RParen | T::RBracket | T::RBrace | T::Question | T::SelfValue | T::SelfType | T::String | T::Void
        )
        || matches!(kind, T::TemplateWhole | T::TemplateHead | T::Char | T::Int | T::Float | T::True | T::False)
}

/// Whether the parenthesis at `index` opens `for(name: …)`.
fn is_form(units: &[Unit], index: usize) -> bool {
    let kind = |at: usize| units.get(at).map(|unit| unit.kind);
    kind(index + 1).is_some_and(TokenKind::is_member) && kind(index + 2) == Some(T::Colon)
}
