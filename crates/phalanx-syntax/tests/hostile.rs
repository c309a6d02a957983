//! The rows of `tests/hostile.md` that concern syntax trees.

mod common;

use common::{check, programs, tokens_lie_in_one_node};
use phalanx_syntax::ori::{ERRORS, Kind, Parser, View, lex, lex_within, node, parse};
use phalanx_syntax::{Fault, Full, Kind as _, Limits, Malformed, NodeId, Pile, Span, Tree};
use phalanx_testkit::{Rng, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[test]
fn h68_lists_of_any_length_read_back_whole() {
    for len in [0usize, 1, 2, 3, 65_535, 65_536, 70_000] {
        let mut tree = Tree::new();
        let nodes: Vec<NodeId> =
            (0..len).map(|value| tree.alloc(Span::DUMMY, node::IntLit { value: value as u64 }).unwrap()).collect();
        let pile: Pile = nodes.iter().copied().collect();
        // Alone in its node, and in a record behind another field.
        let alone = tree.alloc(Span::DUMMY, node::ListMany { elements: pile.list() }).unwrap();
        let callee = tree.alloc(Span::DUMMY, node::Unit {}).unwrap();
        let call = tree.alloc(Span::DUMMY, node::FunctionCall { callee, arguments: pile.list() }).unwrap();
        assert!(tree.payload::<node::ListMany>(alone).unwrap().elements.iter().eq(nodes.iter().copied()));
        assert!(tree.payload::<node::FunctionCall>(call).unwrap().arguments.iter().eq(nodes.iter().copied()));
        assert!(tree.children(alone).eq(nodes.iter().copied()));
        assert_eq!(tree.children(call).count(), 1 + len);

        let source = format!("$list = [{}]", "1,".repeat(len));
        let ast = parse(source.as_bytes()).unwrap();
        assert!(ast.errors.is_empty());
        assert_eq!(ast.tree.count_kind(Kind::IntLit), len);
        ast.tree.validate().unwrap();
    }
}

#[test]
fn h69_what_indices_cannot_count_is_an_error() {
    let source = b"$list = [1, 2, 3, 4, 5]";
    let (tokens, _) = lex(source).unwrap();
    let within = |nodes, extra| {
        let parser = Parser::with_limits(&tokens, source, Limits { nodes, extra }).unwrap();
        parser.finish().map(|parsed| (parsed.tree.len(), parsed.tree.extra_len()))
    };
    assert_eq!(within(u32::MAX, u32::MAX), Ok((8, 6)));
    assert_eq!(within(8, 6), Ok((8, 6)));
    for nodes in 0..8 {
        assert_eq!(within(nodes, 6), Err(Full::Nodes));
    }
    for extra in 0..6 {
        assert_eq!(within(8, extra), Err(Full::Extra));
    }
    // Tokens and names are no more than bytes, and of these there are fewer than 2³².
    assert_eq!(lex_within(source, source.len() as u32 + 1).map(|(tokens, _)| tokens.len()), Ok(tokens.len()));
    assert_eq!(lex_within(source, source.len() as u32).map(drop), Err(Full::Source));

    // An allocation that does not fit leaves the tree as it was.
    let mut tree = Tree::with_limits(Limits { nodes: 2, extra: 1 });
    let first = tree.alloc(Span::DUMMY, node::Unit {}).unwrap();
    let two: Pile = [first, first].into_iter().collect();
    assert_eq!(tree.alloc(Span::DUMMY, node::ListMany { elements: two.list() }), Err(Full::Extra));
    tree.alloc(Span::DUMMY, node::Unit {}).unwrap();
    let one: Pile = [first].into_iter().collect();
    assert_eq!(tree.alloc(Span::DUMMY, node::ListMany { elements: one.list() }), Err(Full::Nodes));
    assert_eq!((tree.len(), tree.extra_len()), (2, 0));
}

#[test]
fn h70_a_million_nested_brackets_do_not_overflow_the_stack() {
    const MANY: usize = 1_000_000;
    const SOME: usize = 100_000;
    let deep = [
        format!("$x = {}", "(".repeat(MANY)),
        format!("$x = {}1{}", "(".repeat(MANY), ")".repeat(MANY)),
        format!("$x = {}1{}", "[".repeat(MANY), "]".repeat(MANY)),
        format!("$x = {}1{}", "f(".repeat(MANY), ")".repeat(MANY)),
        format!("$x = {}1{}", "{k: ".repeat(MANY), "}".repeat(MANY)),
        format!("$x = {}1", "(]".repeat(MANY)),
        format!("$x = {}1", "-".repeat(MANY)),
        format!("$x = {}1", "!-~".repeat(MANY / 3)),
        format!("$x = {}1", "a ?? ".repeat(SOME)),
        format!("$x = {}1", "a + ".repeat(SOME)),
        format!("$x = {}1", "x -> ".repeat(SOME)),
        format!("$x = {}1", "if a then ".repeat(SOME)),
        format!("$x = {}1", "if a then b else ".repeat(SOME)),
        format!("$x = {}1", "let y = ".repeat(SOME)),
        format!("$x = a{}", ".b".repeat(SOME)),
        format!("$x = a{}", "?[0]()".repeat(SOME / 3)),
        format!("$x = {}", "`{".repeat(SOME)),
        format!("$x = 1 as {}int", "Option<".repeat(SOME)),
        format!("@f (x: {}int", "[".repeat(SOME)),
        format!("@f (x: {}int", "() -> ".repeat(SOME)),
        format!("@f ({}", "(".repeat(SOME)),
        format!("@f ({}", "Some(".repeat(SOME)),
        format!("$x = {}1", "() -> ".repeat(SOME)),
        format!("$x = {}1", "(a: A<-".repeat(SOME)),
        format!("$x = {}1", "A<-".repeat(SOME)),
        format!("$x = {}1", "() -> A<$x + (".repeat(SOME)),
        format!("$x = {}1", "(x: [A, max (".repeat(SOME)),
        format!("$x = f({}1)", "A<b, ".repeat(SOME)),
        format!("$x = f({}1)", "a.b<c, ".repeat(SOME)),
        format!("$x = match(a, {}", "b @ ".repeat(SOME)),
        format!("$x = match(a, {}1 -> 2)", "0 | ".repeat(SOME)),
    ];
    for source in deep {
        let start = &source[..source.len().min(24)];
        let ast = parse(source.as_bytes()).unwrap();
        ast.tree.validate().unwrap_or_else(|fault| panic!("{start}: {fault}"));
        ast.tree.validate_spans().unwrap_or_else(|fault| panic!("{start}: {fault}"));
        let reached = ast.tree.preorder(NodeId::ROOT).count();
        assert!(reached > 1 && reached <= ast.tree.len(), "{start}");
        assert!(ast.errors.len() < 20, "{start}: {} errors", ast.errors.len());
        assert!(ast.equals(&ast), "{start}");
    }
    // Depth only to the right or to the left of operators is not an error.
    for sound in ["-", "if a then b else "] {
        assert!(parse(format!("$x = {}1", sound.repeat(MANY)).as_bytes()).unwrap().errors.is_empty(), "{sound}");
    }
}

#[test]
fn h71_any_kind_with_any_words_decodes_or_errs() {
    let mut rng = Rng::new(71);
    for round in 0..3_000 {
        let len = rng.below(24);
        let small = round % 2 == 0;
        let mut word = || if small { rng.below(30) as u32 } else { rng.next_u64() as u32 };
        let data: Vec<[u32; 2]> = (0..len).map(|_| [word(), word()]).collect();
        let extra: Vec<u32> = (0..len).map(|_| word()).collect();
        let spans: Vec<Span> = (0..len).map(|_| Span::new(word(), word())).collect();
        let kinds: Vec<u8> = (0..len).map(|_| rng.below(Kind::ALL.len()) as u8).collect();
        let mut tree = Tree::<Kind>::from_columns(&kinds, &spans, &data, &extra).unwrap();
        let mut sound = true;
        for id in tree.ids() {
            sound &= View::of(&tree, id).is_ok();
            assert!(tree.children(id).all(|child| child.index() < tree.len()));
            assert!(tree.fields(id).count() <= 10);
        }
        let valid = tree.validate();
        assert!(sound || valid.is_err());
        let _ = tree.validate_spans();
        assert!(tree.preorder(NodeId::ROOT).count() <= tree.len());
        let _ = (tree.dump().to_string(), tree.node_at(5), tree.equals(&(), &tree, &()));
        if valid.is_ok() {
            tree.outline(&()).to_string();
        }
        let parents = tree.parents();
        tree.ids().for_each(|id| assert!(parents.ancestors(id).count() <= len));
        let copy = tree.clone();
        let appended = tree.append(&copy, &mut ());
        assert!(appended.is_ok() || tree.len() == copy.len());
    }
    assert!(Tree::<Kind>::from_columns(&[255], &[Span::DUMMY], &[[0; 2]], &[]).is_err());
    assert!(Tree::<Kind>::from_columns(&[0, 0], &[Span::DUMMY], &[[0; 2]], &[]).is_err());
}

#[test]
fn h72_a_reserved_node_is_reported_not_decoded() {
    let mut tree = Tree::<Kind>::new();
    let reserved = tree.reserve().unwrap();
    assert_eq!(View::of(&tree, reserved), Err(Malformed::Reserved));
    assert_eq!(tree.payload::<node::Unit>(reserved), Err(Malformed::Reserved));
    assert_eq!(tree.validate(), Err(Fault::Node(reserved, Malformed::Reserved)));
    assert!(!tree.retag(reserved, Kind::Unit), "it has no content to be read another way");
    tree.set(reserved, Span::DUMMY, node::Unit {}).unwrap();
    assert_eq!(tree.validate(), Ok(()));
    assert_eq!(View::of(&tree, reserved), Ok(View::Unit(node::Unit {})));
}

#[test]
fn h73_rolling_back_restores_all_arrays_together() {
    let source = b"[1, 2, 3] [4, 5, (6 7), 8] -x";
    let (tokens, _) = lex(source).unwrap();
    let mut parser = Parser::new(&tokens, source).unwrap();
    let first = parser.expression().unwrap();
    let state = |parser: &Parser<'_>| {
        let tree = parser.tree();
        (tree.dump().to_string(), tree.spans().to_vec(), tree.extra().to_vec(), parser.errors().to_vec())
    };
    // The list and the index after it are one expression, with an error in it.
    assert_eq!(parser.tree().kind(first), Kind::BinSub);
    assert_eq!(parser.errors().len(), 1);

    let mut parser = Parser::new(&tokens, source).unwrap();
    let before = state(&parser);
    let checkpoint = parser.checkpoint();
    parser.expression().unwrap();
    let after = state(&parser);
    assert_ne!(before, after);
    parser.rollback(checkpoint);
    assert_eq!(state(&parser), before);
    // And the second attempt gives what the first one gave.
    parser.expression().unwrap();
    assert_eq!(state(&parser), after);

    // The parser itself tries: a comparison that looks like type arguments leaves nothing behind.
    let tried = parse(b"$x = Limit<Most && a").unwrap();
    let plain = parse(b"$x = Limit < Most && a").unwrap();
    assert!(tried.errors.is_empty());
    assert!(tried.equals(&plain));
    assert_eq!((tried.tree.len(), tried.tree.extra_len()), (plain.tree.len(), plain.tree.extra_len()));
}

#[test]
fn h74_every_byte_string_ends_in_a_tree_and_errors() {
    let fixed: &[&[u8]] = &[
        b"",
        b"\0",
        b"\xef\xbb\xbf$x = 1",
        b"$x = \xff\xfe",
        b"$x = \"\xff\"",
        b"// \xff\n$x = 1",
        b"\"",
        b"'",
        b"`",
        b"`{",
        b"`{a:",
        b"`{`{`{",
        b"}`",
        b"'\\",
        b"\"\\",
        b"@",
        b"#!",
        b"#[",
        b"$x = 1 \0 2",
        b"@f () = `\xff{x}\xff`",
        b"\r\n\r\n",
    ];
    fixed.iter().for_each(|source| check(source));
    for byte in 0..=255u8 {
        check(&[byte]);
        check(&[b'$', b'x', b'=', byte, b'y']);
    }
    let mut rng = Rng::new(74);
    for _ in 0..2_000 {
        let len = rng.below(60);
        let bytes: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
        check(&bytes);
        let alphabet = b"@$#()[]{}<>,.:;=+-*/|&!?`'\"\\ \n_aAx10letrunmatchiftypeuse";
        let likely: Vec<u8> = (0..len).map(|_| alphabet[rng.below(alphabet.len())]).collect();
        check(&likely);
    }
    for source in programs() {
        (0..source.len()).for_each(|end| check(&source[..end]));
    }
    // Nothing but mistakes: errors are noted up to a number, nodes are made for all.
    for mistake in ["@ ", "# ", "\\ ", "'a ", "pub ", "use \n", "@f (\n", "trait T {\n", ") ", "} ", "1 ", "`{a b}` "] {
        let source = mistake.repeat(20_000);
        let ast = parse(source.as_bytes()).unwrap();
        ast.tree.validate().unwrap();
        ast.tree.validate_spans().unwrap();
        assert!((1..=2 * ERRORS).contains(&ast.errors.len()), "{mistake}: {}", ast.errors.len());
    }
    // Four gigabytes and more are refused before anything is read; here the limit is lower, and the rule the same.
    assert_eq!(lex_within(&[b'x'; 100], 100).map(drop), Err(Full::Source));
}

/// Not a row of its own, but of the same kind: programs with tokens missing, doubled and exchanged.
#[test]
fn tokens_of_mutated_programs_lie_in_one_node() {
    let mut rng = Rng::new(75);
    for source in programs() {
        let (tokens, _) = lex(&source).unwrap();
        let spans: Vec<Span> = tokens.iter().map(|(_, span)| span).collect();
        for _ in 0..60 {
            let mut chosen = spans.clone();
            for _ in 0..=rng.below(3) {
                let (a, b) = (rng.below(chosen.len()), rng.below(chosen.len()));
                match rng.below(3) {
                    0 => drop(chosen.remove(a)),
                    1 => chosen.insert(a, chosen[b]),
                    _ => chosen.swap(a, b),
                }
                if chosen.is_empty() {
                    chosen = spans.clone();
                }
            }
            let mut text = Vec::new();
            for span in chosen {
                text.extend_from_slice(span.of(&source));
                text.push(if rng.chance(1, 8) { b'\n' } else { b' ' });
            }
            check(&text);
        }
        let ast = parse(&source).unwrap();
        tokens_lie_in_one_node(&ast);
    }
}

#[test]
fn every_allocation_of_a_parse_may_fail() {
    for source in programs() {
        let points = for_every_failing_allocation(
            || (),
            |()| parse(&source).map(drop),
            |(), outcome| assert!(matches!(outcome, Ok(()) | Err(Full::Memory))),
        );
        assert!(points > 3);
    }
    // Long enough that every array has to grow again and again.
    let long = format!("@f () = [{} (1 +)]", "[a, `{b}`, \"\\n\", -- 1, if a then b else c], ".repeat(40));
    let points = for_every_failing_allocation(|| (), |()| parse(long.as_bytes()).map(drop), |(), _| ());
    assert!(points > 8, "{points}");
}
