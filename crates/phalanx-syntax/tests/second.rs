//! A second language, to show that everything a tree can do comes from the table: a few kinds of a Lisp, with every
//! shape of field and no line of code about trees.

use phalanx_syntax::{
    Event, Fault, Form, Full, Kind, List, Malformed, Name, Names, NodeId, Pairs, Pile, Rebase, Shape, Span, Texts,
    TokenId, Tree, kinds,
};

kinds! {
    /// The kinds of a small Lisp.
    pub enum Lisp in lisp as LispView {
        /// Not yet read.
        Pending {},
        /// Not to be read.
        Wrong {},
        /// `(f a …)`.
        Call<'t> { head: NodeId, arguments: List<'t> },
        /// `(let (name value …) body)`, with what else a table can say.
        Let<'t> { bindings: List<'t>, body: NodeId, rest: List<'t>, note: Option<Name> },
        /// `name`.
        Symbol { name: Name },
        /// `42`.
        Number { value: u64 },
        /// `4.2`.
        Real { value: f64 },
        /// `#\c`.
        Letter { value: char },
        /// `(if a b c)`, `(if a b)`.
        If { condition: NodeId, yes: NodeId, no: Option<NodeId> },
        /// `'x`, and the token of the quote.
        Quote { quote: TokenId, inner: NodeId },
        /// `(case subject (key value) … else)`.
        Case<'t> { subject: NodeId, arms: Pairs<'t>, rest: List<'t> },
        /// `(dict key value …)`.
        Dict<'t> { entries: Pairs<'t> },
        /// A number of 32 bits beside one of 64: too much for the two words of a node.
        Tagged { tag: u32, value: u64 },
    }
}

struct Source {
    text: &'static [u8],
    names: Names,
}

impl Texts for Source {
    fn name(&self, name: Name) -> &str {
        self.names.get(name).unwrap_or_default()
    }

    fn token(&self, token: TokenId) -> &[u8] {
        &self.text[token.index()..=token.index()]
    }
}

/// `(if (f 'x 4.5) 1 #\c)`: places are made up, but they nest.
fn program() -> (Source, Tree<Lisp>) {
    let mut names = Names::new();
    let mut tree = Tree::new();
    let at = Span::new;
    let root = tree.reserve().unwrap();
    let head = tree.alloc(at(5, 6), lisp::Symbol { name: names.intern("f").unwrap() }).unwrap();
    let x = tree.alloc(at(8, 9), lisp::Symbol { name: names.intern("x").unwrap() }).unwrap();
    let quote = tree.alloc(at(7, 9), lisp::Quote { quote: TokenId::new(7).unwrap(), inner: x }).unwrap();
    let real = tree.alloc(at(10, 13), lisp::Real { value: 4.5 }).unwrap();
    let arguments: Pile = [quote, real].into_iter().collect();
    let condition = tree.alloc(at(4, 14), lisp::Call { head, arguments: arguments.list() }).unwrap();
    let yes = tree.alloc(at(15, 16), lisp::Number { value: 1 }).unwrap();
    let no = tree.alloc(at(17, 20), lisp::Letter { value: 'c' }).unwrap();
    tree.set(root, at(0, 21), lisp::If { condition, yes, no: Some(no) }).unwrap();
    (Source { text: b"(if (f 'x 4.5) 1 #\\c)", names }, tree)
}

#[test]
fn the_table_decides_where_fields_are_kept() {
    let forms: Vec<(&str, Form)> = Lisp::ALL.iter().map(|kind| (kind.name(), kind.layout().form)).collect();
    assert_eq!(
        forms,
        [
            ("Pending", Form::Inline),
            ("Wrong", Form::Inline),
            ("Call", Form::Record),
            ("Let", Form::Record),
            ("Symbol", Form::Inline),
            ("Number", Form::Inline),
            ("Real", Form::Inline),
            ("Letter", Form::Inline),
            ("If", Form::Record),
            ("Quote", Form::Inline),
            ("Case", Form::Record),
            ("Dict", Form::Range),
            ("Tagged", Form::Record),
        ]
    );
    let shapes: Vec<Shape> = Lisp::Let.layout().fields.iter().map(|field| field.shape).collect();
    assert_eq!(shapes, [Shape::List, Shape::Node, Shape::List, Shape::OptName]);
    assert!(!Lisp::Number.layout().has_children());
    assert!(Lisp::Dict.layout().has_children());
}

#[test]
fn nodes_are_made_and_decoded() {
    let (_, mut tree) = program();
    let one = tree.alloc(Span::DUMMY, lisp::Number { value: u64::MAX }).unwrap();
    let two = tree.alloc(Span::DUMMY, lisp::Tagged { tag: 7, value: u64::MAX - 1 }).unwrap();
    let (bindings, rest): (Pile, Pile) = ([one, two].into_iter().collect(), [one].into_iter().collect());
    let written = lisp::Let { bindings: bindings.list(), body: two, rest: rest.list(), note: Name::new(3) };
    let id = tree.alloc(Span::DUMMY, written).unwrap();
    assert_eq!(LispView::of(&tree, id), Ok(LispView::Let(written)));
    assert_eq!(LispView::of(&tree, two), Ok(LispView::Tagged(lisp::Tagged { tag: 7, value: u64::MAX - 1 })));
    // Children come in the order of the table, lists between single ones or not.
    assert_eq!(tree.children(id).collect::<Vec<_>>(), [one, two, two, one]);
    assert_eq!(tree.payload::<lisp::Call>(id), Err(Malformed::OtherKind));
}

#[test]
fn walks_checks_and_places_come_with_the_table() {
    let (_, tree) = program();
    tree.validate().unwrap();
    tree.validate_spans().unwrap();
    let kinds: Vec<Lisp> = tree.preorder(NodeId::ROOT).map(|id| tree.kind(id)).collect();
    use Lisp::*;
    assert_eq!(kinds, [If, Call, Symbol, Quote, Symbol, Real, Number, Letter]);
    let mut depth = (0, 0);
    for event in tree.walk(NodeId::ROOT) {
        depth.0 = if let Event::Enter(_) = event { depth.0 + 1 } else { depth.0 - 1 };
        depth.1 = depth.1.max(depth.0);
    }
    assert_eq!(depth, (0, 4));
    assert_eq!(tree.node_at(8).map(|id| tree.kind(id)), Some(Symbol));
    assert_eq!(tree.count_kind(Symbol), 2);

    let mut half = Tree::<Lisp>::new();
    let pending = half.reserve().unwrap();
    assert_eq!(half.validate(), Err(Fault::Node(pending, Malformed::Reserved)));
}

#[test]
fn outlines_show_every_shape() {
    let (source, tree) = program();
    assert_eq!(
        tree.outline(&source).to_string(),
        "\
If 0..21
  condition: Call 4..14
    head: Symbol 5..6 name=`f`
    arguments: Quote 7..9 quote=`\\'`
      inner: Symbol 8..9 name=`x`
    arguments: Real 10..13 value=4.5
  yes: Number 15..16 value=1
  no: Letter 17..20 value='c'
"
    );
}

#[test]
fn trees_are_compared_by_what_they_say() {
    let (source, tree) = program();
    let (mut other, same) = program();
    assert!(tree.equals(&source, &same, &other));
    // Other numbers for the same names make no difference, another text does.
    other.names = Names::new();
    other.names.intern("f").unwrap();
    other.names.intern("y").unwrap();
    let (a, b) = tree.first_difference(&source, &same, &other).unwrap();
    assert_eq!((tree.kind(a), same.kind(b)), (Lisp::Symbol, Lisp::Symbol));
    assert_eq!(tree.span(a), Span::new(8, 9));
}

#[test]
fn trees_are_merged_with_their_names() {
    /// Puts names into another table, and places behind another source.
    struct Behind<'a>(&'a Names, &'a mut Names, u32);
    impl Rebase for Behind<'_> {
        fn name(&mut self, name: Name) -> Result<Name, Full> {
            self.1.intern(self.0.get(name).unwrap_or_default())
        }
        fn span(&mut self, span: Span) -> Span {
            Span::new(span.start + self.2, span.end + self.2)
        }
    }
    let (source, tree) = program();
    let mut names = Names::new();
    names.intern("something else").unwrap();
    let mut all = Tree::new();
    for times in 0..3 {
        let mut behind = Behind(&source.names, &mut names, 21 * times);
        let root = all.append(&tree, &mut behind).unwrap().unwrap();
        assert_eq!(root.index(), times as usize * tree.len());
    }
    all.validate().unwrap();
    assert_eq!(all.count_kind(Lisp::Symbol), 6);
    let texts = Source { text: source.text, names };
    assert!(tree.equals(&source, &all, &texts), "the first of them is at the root");
    let last = all.find_by_kind(Lisp::Letter).last().unwrap();
    assert_eq!(all.span(last), Span::new(59, 62));
}

#[test]
fn trees_go_through_serde() {
    let (source, tree) = program();
    let text = serde_json::to_string(&tree).unwrap();
    let back: Tree<Lisp> = serde_json::from_str(&text).unwrap();
    assert!(back.equals(&source, &tree, &source));
    let names: Names = serde_json::from_str(&serde_json::to_string(&source.names).unwrap()).unwrap();
    assert!(back.equals(&Source { text: source.text, names }, &tree, &source));
    assert!(serde_json::from_str::<Names>(r#"["a", "b", "a"]"#).is_err());
    // A tree of another language is refused.
    assert!(serde_json::from_str::<Tree<phalanx_syntax::ori::Kind>>(&text).is_err());
}

/// `(case 0 (1 2) (3) 4)` and `(dict 5 6)`, under a call.
fn pairs() -> (Tree<Lisp>, NodeId, NodeId) {
    let mut tree = Tree::new();
    let at = Span::new;
    let root = tree.reserve().unwrap();
    let [zero, one, two, three, four, five, six] = [0u32, 1, 2, 3, 4, 5, 6]
        .map(|value| tree.alloc(at(10 * value, 10 * value + 1), lisp::Number { value: value.into() }).unwrap());
    let (mut arms, rest) = (Pile::new(), Pile::from_iter([four]));
    arms.push_pair(one, Some(two)).unwrap();
    arms.push_pair(three, None).unwrap();
    let written = lisp::Case { subject: zero, arms: arms.pairs_above(0), rest: rest.list() };
    let case = tree.alloc(at(0, 42), written).unwrap();
    arms.truncate(0);
    arms.push_pair(five, Some(six)).unwrap();
    let dict = tree.alloc(at(50, 62), lisp::Dict { entries: arms.pairs_above(0) }).unwrap();
    let arguments: Pile = [dict].into_iter().collect();
    tree.set(root, at(0, 70), lisp::Call { head: case, arguments: arguments.list() }).unwrap();
    (tree, case, dict)
}

#[test]
fn pairs_are_stored_flat_and_read_back() {
    let (tree, case, dict) = pairs();
    tree.validate().unwrap();
    tree.validate_spans().unwrap();
    let read: lisp::Case = tree.payload(case).unwrap();
    let indices: Vec<_> = read.arms.iter().map(|(a, b)| (a.index(), b.map(|b| b.index()))).collect();
    assert_eq!(indices, [(2, Some(3)), (4, None)]);
    assert_eq!((read.arms.len(), read.arms.get(1).is_some(), read.arms.get(2)), (2, true, None));
    assert_eq!(tree.children(case).map(NodeId::index).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(tree.payload::<lisp::Dict>(dict).unwrap().entries.len(), 1);
    assert_eq!(format!("{:?}", tree.payload::<lisp::Dict>(dict).unwrap().entries).matches("Some").count(), 1);
    // A case: the other lists after the first word, each with its length. A dict: nothing but its words.
    assert_eq!(tree.extra(), [4, 3, 4, 5, 0, 1, 6, 7, 8, 1, 10]);
    let parents = tree.parents();
    assert!(tree.children(case).all(|child| parents.of(child) == Some(case)));
}

#[test]
fn pairs_are_shown_by_their_places() {
    let (tree, ..) = pairs();
    assert_eq!(
        tree.outline(&()).to_string(),
        "\
Call 0..70
  head: Case 0..42
    subject: Number 0..1 value=0
    arms.0: Number 10..11 value=1
    arms.1: Number 20..21 value=2
    arms.0: Number 30..31 value=3
    rest: Number 40..41 value=4
  arguments: Dict 50..62
    entries.0: Number 50..51 value=5
    entries.1: Number 60..61 value=6
"
    );
    assert!(tree.dump().to_string().contains(" arms=[#2:#3 #4:none] rest=[#5]"));
}

#[test]
fn pairs_are_compared_merged_and_sent() {
    let (tree, case, _) = pairs();
    let mut twice = Tree::new();
    twice.append(&tree, &mut ()).unwrap();
    let second = twice.append(&tree, &mut ()).unwrap().unwrap();
    twice.validate().unwrap();
    assert!(tree.equals(&(), &twice, &()));
    let moved = NodeId::new((second.index() + case.index()) as u32).unwrap();
    let read: lisp::Case = twice.payload(moved).unwrap();
    let expected = tree.payload::<lisp::Case>(case).unwrap();
    let shifted = |id: NodeId| id.index() + second.index();
    assert!(
        read.arms
            .iter()
            .map(|(a, b)| (a.index(), b.map(NodeId::index)))
            .eq(expected.arms.iter().map(|(a, b)| (shifted(a), b.map(shifted))))
    );

    // The same children, but in other places of the pairs, are a difference.
    let (mut other, case, _) = pairs();
    let read: lisp::Case = tree.payload(case).unwrap();
    let mut arms = Pile::new();
    let nodes: Vec<NodeId> = read.arms.iter().flat_map(|(a, b)| [Some(a), b]).flatten().collect();
    arms.push_pair(nodes[0], None).unwrap();
    arms.push_pair(nodes[1], Some(nodes[2])).unwrap();
    let rest: Pile = read.rest.iter().collect();
    other
        .set(case, Span::new(0, 42), lisp::Case { subject: read.subject, arms: arms.pairs_above(0), rest: rest.list() })
        .unwrap();
    assert_eq!(tree.first_difference(&(), &other, &()), Some((case, case)));

    let back: Tree<Lisp> = serde_json::from_str(&serde_json::to_string(&tree).unwrap()).unwrap();
    assert!(back.equals(&(), &tree, &()));
}

#[test]
fn pairs_with_words_that_mean_nothing_are_refused() {
    let (tree, case, dict) = pairs();
    let kinds: Vec<u8> = tree.kinds().iter().map(|kind| kind.index()).collect();
    // An odd number of words, a first word of nothing, a node that is not there.
    for (word, value) in [(0, 3), (1, 0), (3, 0), (2, 99), (1, 99)] {
        let mut extra = tree.extra().to_vec();
        extra[word] = value;
        let broken = Tree::<Lisp>::from_columns(&kinds, tree.spans(), tree.data(), &extra).unwrap();
        assert!(broken.payload::<lisp::Case>(case).is_err(), "{word} {value}");
        assert!(matches!(broken.validate(), Err(Fault::Node(id, _)) if id == case), "{word} {value}");
        assert!(broken.preorder(NodeId::ROOT).count() <= broken.len());
        assert!(Tree::new().append(&broken, &mut ()).is_err());
    }
    let mut data = tree.data().to_vec();
    data[dict.index()][1] = 1;
    let broken = Tree::<Lisp>::from_columns(&kinds, tree.spans(), &data, tree.extra()).unwrap();
    assert_eq!(broken.payload::<lisp::Dict>(dict), Err(Malformed::Word));
}

#[test]
fn a_table_whose_fields_changed_is_another_table() {
    let (tree, ..) = pairs();
    let text = serde_json::to_string(&tree).unwrap();
    let older = text.replace("Dict Pairs", "Dict List");
    assert!(text != older && serde_json::from_str::<Tree<Lisp>>(&older).is_err());
}
