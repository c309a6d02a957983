//! What tokens are where their kinds do not tell, from the tree.

use super::super::ast::Ast;
use super::super::kinds::{Kind, node};
use super::super::token::TokenKind;
use crate::tree::{List, NodeId};

/// An operator with a space on both sides.
pub(super) const OPERATOR: u8 = 1;
/// The second token of an operator that has two.
pub(super) const SECOND: u8 = 2;
/// A brace without spaces inside.
pub(super) const TIGHT: u8 = 4;
/// A parenthesis with a space before it.
pub(super) const APART: u8 = 8;
/// The first of its line.
pub(super) const LINE: u8 = 16;
/// A brace whose members stand in lines of their own.
pub(super) const MEMBERS: u8 = 32;

/// A comma after which the line goes on.
pub(super) const FLOW: u8 = 64;

/// A role for each token.
pub(super) struct Roles(Vec<u8>);

impl Roles {
    pub(super) fn of_token(&self, token: usize) -> u8 {
        self.0[token]
    }

    pub(super) fn of(ast: &Ast<'_>) -> Roles {
        let mut roles = Roles(vec![0; ast.tokens.len()]);
        let tree = &ast.tree;
        for id in tree.ids() {
            let span = tree.span(id);
            match tree.kind(id) {
                Kind::BinLt | Kind::BinGt | Kind::BinSub | Kind::RangeBy => {
                    roles.mark_operator(ast, id, false);
                }
                Kind::BinGe | Kind::BinShr => roles.mark_operator(ast, id, true),
                Kind::PatAt => roles.mark(token_at(ast, span.start) + 1, OPERATOR),
                Kind::LetMut | Kind::LetMutTyped => roles.mark(token_at(ast, span.start) + 1, OPERATOR),
                Kind::TypeListMax => {
                    if let Some(element) = tree.children(id).next() {
                        roles.mark(token_at(ast, tree.span(element).end) + 1, OPERATOR);
                    }
                }
                Kind::MapEmpty | Kind::MapOne | Kind::MapTwo | Kind::MapMany | Kind::TypeMap => {
                    roles.mark(token_at(ast, span.start), TIGHT);
                    roles.mark(token_at(ast, span.end) - 1, TIGHT);
                }
                Kind::WithIn => {
                    let bindings = tree.payload::<node::WithIn>(id).map(|it| it.bindings);
                    roles.mark_flow(ast, bindings.unwrap_or_default());
                }
                Kind::TypeImpl => {
                    let constraints = tree.payload::<node::TypeImpl>(id).map(|it| it.constraints);
                    roles.mark_flow(ast, constraints.unwrap_or_default());
                }
                Kind::Module => roles.mark_lines(ast, id),
                Kind::Attributed => roles.mark_lines(ast, id),
                Kind::TraitDef
                | Kind::ImplDef
                | Kind::ImplTrait
                | Kind::ImplDefault
                | Kind::ExtendDef
                | Kind::Extern => {
                    roles.mark_members(ast, id);
                }
                Kind::FunctionFull | Kind::Function | Kind::Test | Kind::ConfigFunction | Kind::ExternFunction => {
                    roles.mark_parameters(ast, id);
                }
                _ => {}
            }
        }
        roles
    }

    fn mark(&mut self, token: usize, role: u8) {
        if let Some(roles) = self.0.get_mut(token) {
            *roles |= role;
        }
    }

    /// The commas between the elements of a list that no bracket holds together.
    fn mark_flow(&mut self, ast: &Ast<'_>, list: List<'_>) {
        for element in list.iter().skip(1) {
            self.mark(token_at(ast, ast.tree.span(element).start) - 1, FLOW);
        }
    }

    /// The operator after the first child.
    fn mark_operator(&mut self, ast: &Ast<'_>, id: NodeId, two: bool) {
        let Some(left) = ast.tree.children(id).next() else { return };
        let token = token_at(ast, ast.tree.span(left).end);
        self.mark(token, OPERATOR);
        if two {
            self.mark(token + 1, OPERATOR | SECOND);
        }
    }

    /// Each child begins a line.
    fn mark_lines(&mut self, ast: &Ast<'_>, id: NodeId) {
        for child in ast.tree.children(id) {
            let span = ast.tree.span(child);
            self.mark(token_at(ast, span.start), LINE);
        }
    }

    /// The last brace of an item, and the members in it.
    fn mark_members(&mut self, ast: &Ast<'_>, id: NodeId) {
        let span = ast.tree.span(id);
        let close = token_at(ast, span.end) - 1;
        let kinds = ast.tokens.kinds();
        // Backwards to the brace that the last one closes.
        let (mut at, mut depth) = (close, 0usize);
        loop {
            match kinds[at] {
                TokenKind::RBrace | TokenKind::TemplateTail => depth += 1,
                TokenKind::LBrace | TokenKind::TemplateHead => depth -= 1,
                _ => {}
            }
            if depth == 0 || at == 0 {
                break;
            }
            at -= 1;
        }
        self.mark(at, MEMBERS);
        let inside = ast.tokens.columns.lanes().start[at];
        for child in ast.tree.children(id).filter(|&child| ast.tree.span(child).start > inside) {
            self.mark(token_at(ast, ast.tree.span(child).start), LINE);
        }
    }

    /// The parenthesis of the parameters: the first after the name, the generics and the targets.
    fn mark_parameters(&mut self, ast: &Ast<'_>, id: NodeId) {
        let tree = &ast.tree;
        let after = match tree.kind(id) {
            Kind::FunctionFull => tree.payload::<node::FunctionFull>(id).ok().and_then(|it| it.generics.iter().last()),
            Kind::Test => tree.payload::<node::Test>(id).ok().and_then(|it| it.targets.iter().last()),
            _ => None,
        };
        let from = after.map_or(tree.span(id).start, |last| tree.span(last).end);
        let kinds = ast.tokens.kinds();
        let first = token_at(ast, from);
        if let Some(ahead) = kinds[first..].iter().position(|&kind| kind == TokenKind::LParen) {
            self.mark(first + ahead, APART);
        }
    }
}

/// The first token that starts at an offset or after it.
fn token_at(ast: &Ast<'_>, offset: u32) -> usize {
    ast.tokens.columns.lanes().start.partition_point(|&start| start < offset)
}
