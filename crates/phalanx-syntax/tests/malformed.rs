//! Programs that are not of the language: where that is noticed, what is said, and that the rest is still read.

use phalanx_syntax::ori::{Kind, parse};
use phalanx_syntax::{Lines, NodeId};

/// A program and its errors, each as `line:column message`.
const PROGRAMS: &[(&str, &[&str])] = &[
    // Items.
    ("stray", &["1:1 expected an item, found a name"]),
    ("@f () -> int", &["1:13 expected `=` and a body, found the end of the file"]),
    ("@f () -> int =", &["1:15 expected an expression, found the end of the file"]),
    ("@ () = 1", &["1:3 expected a name, found `(`"]),
    ("@f = 1", &["1:4 expected `(`, found `=`"]),
    ("@f () -> = 1", &["1:10 expected a type, found `=`"]),
    ("@f (x: ) -> int = x", &["1:8 expected a type, found `)`"]),
    ("@f (x int) -> int = x", &["1:7 expected `,` or `)`, found a name"]),
    ("@f (x: int = ) = x", &["1:14 expected an expression, found `)`"]),
    ("@t tests f () = 1", &["1:10 expected `@`, found a name"]),
    ("@f () = 1; @g () = 2", &["1:10 expected an item, found `;`"]),
    ("@f () = 1\n;\n@g () = 2", &["2:1 expected an item, found `;`"]),
    ("@f () where T: A uses B = 1", &["1:18 expected `uses` before `where`, found `uses`"]),
    ("@f () = 1\nuse std.math", &["2:1 imports come before everything else"]),
    ("use \"./x\" { a b }", &["1:15 expected `,` or `}`, found a name"]),
    ("use { a }", &["1:5 expected a name, found `{`"]),
    ("use x { y without z }", &["1:19 expected `def`, found a name"]),
    ("type = int", &["1:6 expected a name, found `=`"]),
    ("type T = { a: }", &["1:15 expected a type, found `}`"]),
    ("type T = { a, b: int }", &["1:13 expected `:`, found `,`"]),
    ("type T = A(int)", &["1:15 expected `:`, found `)`"]),
    ("type T = A |", &["1:13 expected a name, found the end of the file"]),
    ("trait T { let x = 1 }", &["1:11 expected a function, a type or `}`, found `let`"]),
    ("impl T { @f () -> int }", &["1:23 expected `=` and a body, found `}`"]),
    ("impl T for { }", &["1:14 expected a type, found `}`", "1:15 expected `{`, found the end of the file"]),
    ("let x = 1", &["1:5 expected `$`, found a name"]),
    ("extern \"c\" { x }", &["1:14 expected a function or `}`, found a name"]),
    ("#derive(Eq)", &["1:12 expected an item, found the end of the file"]),
    // Expressions.
    ("$x = 1 +", &["1:9 expected an expression, found the end of the file"]),
    ("$x = (1, 2", &["1:11 expected `,` or `)`, found the end of the file"]),
    ("$x = [1, 2)", &["1:11 expected `,` or `]`, found `)`"]),
    ("$x = [1 2]", &["1:9 expected `,` or `]`, found an integer"]),
    ("$x = f(1,, 2)", &["1:10 expected an expression, found `,`"]),
    ("$x = f(a: )", &["1:11 expected an expression, found `)`"]),
    ("$x = if a b", &["1:11 expected `then`, found a name"]),
    ("$x = if a then", &["1:15 expected an expression, found the end of the file"]),
    ("$x = if P { a: 1 } then 2", &["1:11 expected `then`, found `{`", "1:20 expected an item, found `then`"]),
    ("$x = for y ys do z", &["1:12 expected `in`, found a name"]),
    ("$x = for y in ys z", &["1:18 expected `do` or `yield`, found a name"]),
    ("$x = match(v)", &["1:6 a match has at least one arm"]),
    ("$x = match(v, 1 => 2)", &["1:17 expected `->`, found `=>`"]),
    ("$x = match(v, + -> 2)", &["1:15 expected a pattern, found `+`"]),
    ("$x = run()", &["1:6 a sequence has at least one step"]),
    ("$x = run(let = 1)", &["1:14 expected a pattern, found `=`"]),
    ("$x = run(let y 1)", &["1:16 expected `=`, found an integer"]),
    ("$x = run(1 + 2 = 3, 4)", &["1:10 nothing can be assigned to this"]),
    ("$x = timeout(slow(), after: 1s)", &["1:14 expected a named argument, found a name"]),
    ("$x = a..b..c", &["1:6 a range has two ends"]),
    ("$x = _", &["1:6 expected an expression, found `_`"]),
    ("$x = (_, 1)", &["1:12 expected `->`, found the end of the file"]),
    ("$x = # + 1", &["1:6 expected an expression, found `#`", "1:8 expected a name, found `+`"]),
    ("$x = (a + b) -> c", &["1:7 a parameter of a lambda is a name"]),
    ("$x = a.", &["1:8 expected a name, found the end of the file"]),
    ("$x = a as", &["1:10 expected a type, found the end of the file"]),
    ("$x = {a 1}", &["1:9 expected `:`, found an integer"]),
    ("$x = P { 1 }", &["1:10 expected a field, found an integer"]),
    ("$x = with Http mock in f()", &["1:16 expected `=`, found a name"]),
    ("$x = p.999999999999", &["1:8 no tuple is that long"]),
    // Literals.
    ("$x = \"open", &["1:6 this string is not closed"]),
    ("$x = \"a\\qb\"", &["1:8 this escape is not known"]),
    ("$x = 'ab'", &["1:6 a character is one between two quotes"]),
    ("$x = '\\q'", &["1:6 this escape is not known"]),
    ("$x = `open", &["1:6 this template is not closed"]),
    ("$x = `a {b", &["1:11 expected `}`, found the end of the file", "1:11 a template is not closed"]),
    ("$x = `{a:zz}`", &["1:9 this format is not known"]),
    ("$x = 12q", &["1:8 no number has this suffix"]),
    ("$x = 0x", &["1:6 this is not a number"]),
    ("$x = 99999999999999999999", &["1:6 this integer has more than 64 bits"]),
    ("$x = 1.5ns", &["1:6 this is not a whole number of the smallest unit, or too large"]),
    ("$x = 1 \\ 2", &["1:8 this character means nothing here"]),
    ("$x = ä", &["1:6 these characters mean nothing here"]),
];

fn errors_of(source: &str) -> Vec<String> {
    let ast = parse(source.as_bytes()).unwrap();
    let lines = Lines::new(source.as_bytes());
    let show = |error: &phalanx_syntax::SyntaxError| {
        let place = lines.place(source.as_bytes(), error.span.start);
        format!("{}:{} {error}", place.line, place.column)
    };
    ast.errors.iter().map(show).collect()
}

#[test]
fn errors_are_where_they_belong() {
    assert!(PROGRAMS.len() >= 30);
    let mut wrong = Vec::new();
    for (source, expected) in PROGRAMS {
        let found = errors_of(source);
        if found != *expected {
            wrong.push(format!("{source:?}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_malformed_program_has_a_sound_tree() {
    for (source, _) in PROGRAMS {
        let ast = parse(source.as_bytes()).unwrap();
        ast.tree.validate().unwrap_or_else(|fault| panic!("{source:?}: {fault}"));
        ast.tree.validate_spans().unwrap_or_else(|fault| panic!("{source:?}: {fault}"));
    }
}

/// Whatever is wrong with one function, the next is read; and one mistake is not blamed on what follows.
#[test]
fn the_next_item_is_read() {
    for (source, expected) in PROGRAMS {
        // A template that is open has no end, and what follows it in a file is its text.
        if source.contains('`') {
            continue;
        }
        let source = format!("{source}\n\n@sound () -> int = 12321\n");
        let ast = parse(source.as_bytes()).unwrap();
        let last = ast.tree.children(NodeId::ROOT).last().unwrap();
        let shown = || format!("{source}\n{}", ast.tree.outline(&ast));
        // An attribute is followed by the function it belongs to.
        if !source.starts_with('#') {
            assert_eq!(ast.tree.kind(last), Kind::Function, "{}", shown());
        }
        assert!(ast.errors.len() <= expected.len() + 1, "{:?} in {}", ast.errors, shown());
    }
}

#[test]
fn several_errors_are_found_in_one_file() {
    let source = "@a () = (1 +)\n@b () = [2 3]\n@c () = match(x)\n@d () = 4\ntype E = {f}\n";
    assert_eq!(
        errors_of(source),
        [
            "1:13 expected an expression, found `)`",
            "2:12 expected `,` or `]`, found an integer",
            "3:9 a match has at least one arm",
            "5:12 expected `:`, found `}`"
        ]
    );
}
