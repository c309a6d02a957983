//! Tests of `Tree` alone: reading and writing nodes, encodings that are easy to get wrong, and walks.

use phalanx_syntax::ori::{Kind, View, node};
use phalanx_syntax::{
    BYTES_PER_NODE, Fault, Full, Kind as _, Limits, List, Malformed, Name, NodeId, Pile, Shape, Span, TokenId, Tree,
};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

fn pile(nodes: &[NodeId]) -> Pile {
    nodes.iter().copied().collect()
}

fn int(tree: &mut Tree<Kind>, value: u64) -> NodeId {
    let at = value as u32;
    tree.alloc(Span::new(at, at + 1), node::IntLit { value }).unwrap()
}

#[test]
fn capacity_follows_from_the_source_length() {
    let tree = Tree::<Kind>::with_estimated_capacity(1024).unwrap();
    assert!(tree.capacity() >= 60, "{}", tree.capacity());
    assert_eq!(Tree::<Kind>::with_estimated_capacity(usize::MAX).unwrap_err(), Full::Memory);
}

#[test]
fn a_binary_node_has_its_two_children() {
    let mut tree = Tree::new();
    let left = tree.alloc(Span::new(0, 1), node::IntLit { value: 42 }).unwrap();
    let right = tree.alloc(Span::new(4, 5), node::IntLit { value: 3 }).unwrap();
    let add = tree.alloc(Span::new(0, 5), node::BinAdd { left, right }).unwrap();
    assert_eq!(tree.kind(add), Kind::BinAdd);
    assert_eq!(View::of(&tree, add), Ok(View::BinAdd(node::BinAdd { left, right })));
    assert_eq!(tree.children(add).collect::<Vec<_>>(), [left, right]);
}

#[test]
fn a_reserved_node_is_set_later() {
    let mut tree = Tree::new();
    let function = tree.reserve().unwrap();
    assert_eq!(tree.kind(function), Kind::Placeholder);
    let body = int(&mut tree, 1);
    let name = Name::new(0).unwrap();
    let content = node::Function { name, parameters: List::default(), result: None, body: Some(body) };
    tree.set(function, Span::new(0, 100), content).unwrap();
    assert_eq!(tree.kind(function), Kind::Function);
    assert_eq!(tree.span(function).end, 100);
    tree.validate().unwrap();
    assert_eq!(tree.set(NodeId::new(9).unwrap(), Span::DUMMY, node::Unit {}), Err(Full::NoSuchNode));
}

#[test]
fn small_calls_need_no_extra() {
    let mut tree = Tree::new();
    let callee = tree.alloc(Span::new(0, 3), node::Ident { name: Name::new(0).unwrap() }).unwrap();
    let argument = int(&mut tree, 1);
    tree.alloc(Span::new(0, 6), node::FunctionCallOne { callee, argument }).unwrap();
    assert_eq!(tree.extra_len(), 0);
    let three = pile(&[argument, int(&mut tree, 2), int(&mut tree, 3)]);
    let call = tree.alloc(Span::new(0, 11), node::FunctionCall { callee, arguments: three.list() }).unwrap();
    assert_eq!(tree.extra_len(), 4);
    assert_eq!(tree.children(call).count(), 4);
}

#[test]
fn a_match_has_its_subject_and_arms() {
    let mut tree = Tree::new();
    let subject = int(&mut tree, 0);
    let mut arms = Pile::new();
    for value in 1..=3 {
        let pattern = tree.alloc(Span::DUMMY, node::PatWildcard {}).unwrap();
        let body = int(&mut tree, value);
        arms.push_pair(pattern, Some(body)).unwrap();
    }
    let id = tree.alloc(Span::DUMMY, node::Match { subject, arms: arms.pairs_above(0) }).unwrap();
    let read: node::Match = tree.payload(id).unwrap();
    assert_eq!(read.subject, subject);
    let bodies: Vec<_> = read.arms.iter().filter_map(|(_, body)| body).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|&body| tree.kind(body) == Kind::IntLit));
}

#[test]
fn five_match_arms_take_44_bytes_beside_their_patterns_and_bodies() {
    let of = |arms: &str| {
        let source = format!("$x = match(v, {arms})");
        let ast = phalanx_syntax::ori::parse(source.as_bytes()).unwrap();
        assert!(ast.errors.is_empty());
        (ast.tree.bytes(), ast.tree.extra_len(), ast.tree.count_kind(Kind::MatchArm))
    };
    let (few, one) = (of("_ -> v"), of("_ -> v, _ -> v, _ -> v, _ -> v, _ -> v"));
    // The module's list has one word; the match has the number of words, and two a pair.
    assert_eq!((few.1, one.1), (1 + 1 + 2, 1 + 1 + 10));
    assert_eq!((few.2, one.2), (0, 0));
    let others = 2 * BYTES_PER_NODE;
    assert_eq!(one.0 - few.0, 4 * (others + 8));
    // As nodes of their own in a list, the arms would take 5 nodes and 6 words: 109 bytes.
    assert_eq!((11 * 4, 5 * BYTES_PER_NODE + 6 * 4), (44, 109));
}

#[test]
fn source_that_is_skipped_among_arms_is_a_pair_without_a_body() {
    for source in [&b"$x = match(v, 1 -> 2 3, 4 -> 5)"[..], b"$x = v.match(1 -> 2 3, 4 -> 5)"] {
        let ast = phalanx_syntax::ori::parse(source).unwrap();
        assert_eq!(ast.errors.len(), 1);
        ast.tree.validate().unwrap();
        ast.tree.validate_spans().unwrap();
        let arms = ast.tree.ids().find_map(|id| match View::of(&ast.tree, id) {
            Ok(View::Match(it)) => Some(it.arms),
            Ok(View::MethodMatch(it)) => Some(it.arms),
            _ => None,
        });
        let kinds: Vec<_> = arms.unwrap().iter().map(|(a, b)| (ast.tree.kind(a), b.is_some())).collect();
        assert_eq!(kinds, [(Kind::PatLiteral, true), (Kind::Error, false), (Kind::PatLiteral, true)]);
    }
}

#[test]
fn sizes_are_what_they_are_said_to_be() {
    assert_eq!(size_of::<Kind>(), 1);
    assert_eq!(size_of::<Span>(), 8);
    assert_eq!(size_of::<[u32; 2]>(), 8);
    assert_eq!((size_of::<NodeId>(), size_of::<Option<NodeId>>()), (4, 4));
    assert_eq!((size_of::<TokenId>(), size_of::<Name>()), (4, 4));
    assert_eq!(BYTES_PER_NODE, 17);

    // And what the allocator says: 17 bytes a node, and the block's rounding.
    let usage = phalanx_testkit::measure(|| {
        let mut tree = Tree::<Kind>::with_estimated_capacity(80_000).unwrap();
        let (nodes, extra) = Tree::<Kind>::estimate(80_000);
        for value in 0..nodes as u64 {
            int(&mut tree, value);
        }
        (tree.capacity(), extra, tree)
    });
    let ((capacity, extra, tree), usage) = usage;
    assert_eq!(capacity, tree.len());
    let bytes = usage.bytes_live_delta as usize - extra * 4;
    assert!((capacity * 17..capacity * 17 + 256).contains(&bytes), "{bytes} for {capacity} nodes");
}

#[test]
fn kinds_are_counted_and_found() {
    let mut tree = Tree::new();
    let ints: Vec<NodeId> = (0..10).map(|value| int(&mut tree, value)).collect();
    for name in 0..5 {
        tree.alloc(Span::DUMMY, node::StringLit { value: Name::new(name).unwrap() }).unwrap();
    }
    assert_eq!(tree.count_kind(Kind::IntLit), 10);
    assert_eq!(tree.count_kind(Kind::StringLit), 5);
    assert_eq!(tree.count_kind(Kind::Error), 0);
    assert_eq!(tree.find_by_kind(Kind::IntLit).collect::<Vec<_>>(), ints);
    let mut seen = 0;
    tree.visit_all(&mut |_: &Tree<Kind>, _: NodeId| seen += 1);
    assert_eq!(seen, 15);
}

#[test]
fn counts_are_right_around_every_chunk_size() {
    let mut tree = Tree::new();
    for len in 0..1030usize {
        assert_eq!(tree.count_kind(Kind::Unit), len);
        tree.alloc(Span::DUMMY, node::Unit {}).unwrap();
    }
}

// Encodings that are easy to get wrong.

/// An arm of 12 bytes in a union of 8: here whatever does not fit two words is in `extra`, by the same rule for all.
#[test]
fn no_kind_needs_more_than_two_words_in_the_node() {
    let mut tree = Tree::new();
    let parts: Vec<NodeId> = (0..4).map(|value| int(&mut tree, value)).collect();
    let written = node::ForIf { pattern: parts[0], iterable: parts[1], guard: parts[2], body: parts[3] };
    let id = tree.alloc(Span::DUMMY, written).unwrap();
    assert_eq!(tree.payload::<node::ForIf>(id), Ok(written));
    assert_eq!(size_of_val(&tree.data()[id.index()]), 8);
    assert_eq!(tree.extra_len(), 3);
}

/// One call kind for two encodings: here calls with none, one and more arguments are three kinds.
#[test]
fn calls_of_different_shape_are_of_different_kinds() {
    let mut tree = Tree::new();
    let callee = int(&mut tree, 0);
    let other = int(&mut tree, 1);
    let none = tree.alloc(Span::DUMMY, node::FunctionCallZero { callee }).unwrap();
    let one = tree.alloc(Span::DUMMY, node::FunctionCallOne { callee, argument: other }).unwrap();
    let two = tree.alloc(Span::DUMMY, node::FunctionCall { callee, arguments: pile(&[other, other]).list() }).unwrap();
    let counts: Vec<usize> = [none, one, two].iter().map(|&call| tree.children(call).count()).collect();
    assert_eq!(counts, [1, 2, 3]);
    assert_eq!(tree.payload::<node::FunctionCall>(one), Err(Malformed::OtherKind));
}

/// Casts of counts to 32 bits without a check, and an optional id whose "some" is "none".
#[test]
fn ids_end_before_their_none() {
    assert_eq!(NodeId::new(u32::MAX), None);
    let last = NodeId::new(u32::MAX - 1).unwrap();
    assert_eq!(NodeId::from_word(last.word()), Some(last));
    assert_ne!(Some(last).map_or(0, NodeId::word), 0);
    assert_eq!(NodeId::from_word(0), None);
    let mut tree = Tree::<Kind>::with_limits(Limits { nodes: 2, extra: 3 });
    int(&mut tree, 0);
    int(&mut tree, 1);
    assert_eq!(tree.alloc(Span::DUMMY, node::Unit {}), Err(Full::Nodes));
    assert_eq!(tree.reserve(), Err(Full::Nodes));
}

/// A length that underflows.
#[test]
fn a_span_turned_round_is_empty() {
    assert_eq!(Span::new(9, 2).len(), 0);
    assert!(Span::new(9, 2).is_empty());
    assert_eq!(Span::new(2, 9).len(), 7);
    assert_eq!(Span::new(5, 7).merge(Span::new(1, 2)), Span::new(1, 7));
}

/// `unreserve` on an empty store took one from zero.
#[test]
fn unreserving_is_harmless_anywhere() {
    let mut tree = Tree::<Kind>::new();
    assert!(!tree.unreserve(NodeId::ROOT));
    let first = tree.reserve().unwrap();
    let value = int(&mut tree, 1);
    assert!(!tree.unreserve(value), "a node with content is not reserved");
    assert!(tree.unreserve(first));
    assert_eq!(tree.kind(first), Kind::Error);
    let last = tree.reserve().unwrap();
    assert!(tree.unreserve(last));
    assert_eq!(tree.len(), 2);
    assert!(!tree.unreserve(last));
}

/// Rollback that forgets extra.
#[test]
fn truncating_restores_extra() {
    let mut tree = Tree::new();
    let value = int(&mut tree, 1);
    let list = pile(&[value, value, value]);
    tree.alloc(Span::DUMMY, node::ListMany { elements: list.list() }).unwrap();
    let mark = tree.mark();
    let before = tree.dump().to_string();
    tree.alloc(Span::DUMMY, node::ListMany { elements: list.list() }).unwrap();
    assert_eq!(tree.extra_len(), 6);
    tree.truncate(mark);
    assert_eq!((tree.len(), tree.extra_len()), (2, 3));
    assert_eq!(tree.dump().to_string(), before);
    let later = tree.mark();
    tree.truncate(mark);
    tree.truncate(later);
    assert_eq!(tree.len(), 2);
}

/// Kinds with three fields and no encoding, and a visitor with a catch-all: the table has an encoding for each kind, and
/// every field that can hold children is visited.
#[test]
fn every_kind_has_an_encoding_and_its_children_are_visited() {
    for &kind in Kind::ALL {
        let layout = kind.layout();
        // Words 1, 2, 3, … for every field, lists of two; children must come out exactly where the table has them.
        let nodes = 64;
        let bytes = vec![kind.index(); nodes];
        let mut extra: Vec<u32> = (2..1 + layout.words.max(1) as u32).collect();
        for list in 0..layout.lists as u32 {
            extra.extend([2, 40 + 2 * list, 41 + 2 * list]);
        }
        let data = match layout.form {
            phalanx_syntax::Form::Inline => [1, 2],
            phalanx_syntax::Form::Range => [1, 2],
            phalanx_syntax::Form::Record => [1, 0],
        };
        let tree = Tree::<Kind>::from_columns(&bytes, &vec![Span::DUMMY; nodes], &vec![data; nodes], &extra).unwrap();
        let expected: usize = layout
            .fields
            .iter()
            .map(|field| match field.shape {
                Shape::Node | Shape::OptNode => 1,
                Shape::List | Shape::Pairs => 2,
                _ => 0,
            })
            .sum();
        assert_eq!(tree.children(NodeId::ROOT).count(), expected, "{kind:?}");
        let mut visited = 0;
        tree.visit_children(NodeId::ROOT, &mut |_: &Tree<Kind>, _: NodeId| visited += 1);
        assert_eq!(visited, expected, "{kind:?}");
    }
}

/// "About 80" kinds that were 110: the number is what it is, and fits a byte.
#[test]
fn the_number_of_kinds_is_known() {
    assert_eq!(Kind::ALL.len(), 197);
    for (index, kind) in Kind::ALL.iter().enumerate() {
        assert_eq!(usize::from(kind.index()), index);
        assert_eq!(Kind::from_index(kind.index()), Some(*kind));
    }
    assert_eq!(Kind::from_index(Kind::ALL.len() as u8), None);
    assert_eq!((Kind::RESERVED, Kind::ERROR), (Kind::Placeholder, Kind::Error));
}

// Walks, comparison and merging.

#[test]
fn walks_parents_and_places_agree() {
    let mut tree = Tree::new();
    let root = tree.reserve().unwrap();
    let left = tree.alloc(Span::new(0, 1), node::IntLit { value: 1 }).unwrap();
    let right = tree.alloc(Span::new(4, 5), node::IntLit { value: 2 }).unwrap();
    let sum = tree.alloc(Span::new(0, 5), node::BinAdd { left, right }).unwrap();
    tree.set(root, Span::new(0, 9), node::Module { items: pile(&[sum]).list() }).unwrap();
    tree.validate().unwrap();
    tree.validate_spans().unwrap();
    assert_eq!(tree.preorder(root).collect::<Vec<_>>(), [root, sum, left, right]);
    assert_eq!(tree.postorder(root).collect::<Vec<_>>(), [left, right, sum, root]);
    let parents = tree.parents();
    assert_eq!(parents.of(right), Some(sum));
    assert_eq!(parents.ancestors(left).collect::<Vec<_>>(), [sum, root]);
    assert_eq!(parents.of(root), None);
    let at = |offset| tree.node_at(offset);
    assert_eq!([at(0), at(2), at(4), at(8), at(9)], [Some(left), Some(sum), Some(right), Some(root), None]);
}

#[test]
fn what_is_no_tree_is_reported() {
    let mut tree = Tree::new();
    let value = int(&mut tree, 1);
    tree.alloc(Span::DUMMY, node::BinAdd { left: value, right: value }).unwrap();
    assert_eq!(tree.validate(), Err(Fault::TwoParents(value)));

    let mut ring = Tree::new();
    let first = ring.reserve().unwrap();
    let second = ring.alloc(Span::DUMMY, node::Paren { inner: first }).unwrap();
    ring.set(first, Span::DUMMY, node::Paren { inner: second }).unwrap();
    assert_eq!(ring.validate(), Err(Fault::Cycle(first)));
    assert!(ring.preorder(first).count() <= 2, "a walk over a ring ends");

    let mut outside = Tree::new();
    let value = int(&mut outside, 9);
    outside.alloc(Span::new(0, 5), node::Paren { inner: value }).unwrap();
    assert_eq!(outside.validate_spans(), Err(Fault::Outside(value)));
}

#[test]
fn trees_are_merged_and_compared() {
    let build = |from: u64| {
        let mut tree = Tree::new();
        let root = tree.reserve().unwrap();
        let all: Pile = (from..from + 4).map(|value| int(&mut tree, value)).collect();
        tree.set(root, Span::new(0, 20), node::Module { items: all.list() }).unwrap();
        tree
    };
    let (one, two) = (build(0), build(10));
    assert!(!one.equals(&(), &two, &()));
    let mut both = one.clone();
    assert!(both.equals(&(), &one, &()));
    let moved = both.append(&two, &mut ()).unwrap().unwrap();
    assert_eq!(moved.index(), one.len());
    both.validate().unwrap();
    let values: Vec<u64> =
        both.children(moved).map(|child| both.payload::<node::IntLit>(child).unwrap().value).collect();
    assert_eq!(values, [10, 11, 12, 13]);
    assert_eq!(both.append(&Tree::new(), &mut ()), Ok(None));
}

#[test]
fn trees_go_through_serde() {
    let mut tree = Tree::new();
    let value = int(&mut tree, 7);
    tree.alloc(Span::new(7, 9), node::ListMany { elements: pile(&[value]).list() }).unwrap();
    let text = serde_json::to_string(&tree).unwrap();
    let back: Tree<Kind> = serde_json::from_str(&text).unwrap();
    assert_eq!(back.dump().to_string(), tree.dump().to_string());
    assert_eq!(back.spans(), tree.spans());
    assert!(serde_json::from_str::<Tree<Kind>>(&text.replace("\"IntLit ", "\"Int ")).is_err());
    assert!(serde_json::from_str::<Tree<Kind>>(&text.replace("\"extra\":[1]", "\"extra\":[9]")).is_err());
}
