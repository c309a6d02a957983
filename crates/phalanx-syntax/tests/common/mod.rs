//! What several tests check of any parse.

use phalanx_syntax::NodeId;
use phalanx_syntax::ori::{Ast, Kind, TokenKind, parse, print};
use phalanx_syntax::{Kind as _, Lines};

/// The programs of `tests/dumps`.
#[allow(dead_code)]
pub(crate) fn programs() -> Vec<Vec<u8>> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "ori"));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Every token lies whole in one leaf, or in one inner node and in none of its children.
pub(crate) fn tokens_lie_in_one_node(ast: &Ast<'_>) {
    let tree = &ast.tree;
    let parents = tree.parents();
    for (kind, span) in ast.tokens.iter() {
        if kind == TokenKind::Eof || span.is_empty() {
            continue;
        }
        let shown = || format!("{span:?} {:?}", String::from_utf8_lossy(ast.source));
        // Down from the root: at each step at most one child may touch the token, and then hold all of it. Templates
        // are the exception: the token of a text has a quote or brace at its ends that is the parent's.
        let template = matches!(
            kind,
            TokenKind::TemplateWhole | TokenKind::TemplateHead | TokenKind::TemplateMiddle | TokenKind::TemplateTail
        );
        let mut at = NodeId::ROOT;
        assert!(tree.span(at).covers(span), "{}", shown());
        loop {
            let touching: Vec<NodeId> = tree
                .children(at)
                .filter(|&child| tree.span(child).start < span.end && span.start < tree.span(child).end)
                .collect();
            match touching[..] {
                [] => break,
                [child] if tree.span(child).covers(span) => at = child,
                [child] if template && tree.kind(child) == Kind::TemplateText => break,
                // The bracket of an error can end within what was skipped, never within a token.
                _ => panic!("a token lies in {} children: {}", touching.len(), shown()),
            }
        }
        // What is a leaf by its kind holds the token alone or with the rest of its own source.
        if !tree.kind(at).layout().has_children() && tree.kind(at) != Kind::Error {
            assert!(tree.span(at).covers(span));
        }
        assert!(at == NodeId::ROOT || parents.ancestors(at).last() == Some(NodeId::ROOT), "{}", shown());
    }
}

/// What holds for the parse of any bytes.
pub(crate) fn check(source: &[u8]) {
    let shown = || String::from_utf8_lossy(source).into_owned();
    let ast = parse(source).unwrap();
    assert_eq!(ast.tree.kind(NodeId::ROOT), Kind::Module);
    ast.tree.validate().unwrap_or_else(|fault| panic!("{fault}\n{}", shown()));
    ast.tree.validate_spans().unwrap_or_else(|fault| panic!("{fault}\n{}", shown()));
    tokens_lie_in_one_node(&ast);
    let lines = Lines::new(source);
    for error in &ast.errors {
        assert!(error.span.start <= error.span.end && error.span.end as usize <= source.len(), "{}", shown());
        assert!(error.show("file", source, &lines).to_string().lines().count() == 4, "{}", shown());
    }
    assert!(ast.errors.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start), "{}", shown());
    let errors = ast.tree.count_kind(Kind::Error);
    assert!(errors == 0 || !ast.errors.is_empty(), "an error node without an error\n{}", shown());
    if ast.errors.is_empty() {
        let printed = print(&ast);
        let again = parse(printed.as_bytes()).unwrap();
        assert!(ast.equals(&again), "{}\n---\n{printed}", shown());
        assert_eq!(print(&again), printed, "{}", shown());
    }
}
